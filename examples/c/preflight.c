/*
 * preflight MODEL...: tries each model in a process of its own, and opens those that pass. For models from elsewhere, which may
 * crash an engine or never come to an end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <zerobind.h>

/* 0: the model can be opened; 1: it was refused, and said why. */
static int try_model(const char *path)
{
    char text[4096];
    zb_preflight_options trial = ZB_PREFLIGHT_OPTIONS_INIT;
    trial.timeout_ns = 10u * 1000000000ull; /* 10 s; 0 is 30 s */
    trial.max_memory_bytes = 1u << 30;      /* 1 GiB; 0 is half of the machine's */
    if (zb_model_preflight(path, NULL, &trial) == ZB_OK) {
        return 0;
    }
    zb_last_error(text, sizeof text, NULL);
    fprintf(stderr, "%s\n", text);
    return 1;
}

int main(int argc, char **argv)
{
    int refused = 0;
    for (int i = 1; i < argc; i++) {
        zb_model *model = NULL;
        if (try_model(argv[i]) != 0 || zb_model_open(argv[i], NULL, &model) != ZB_OK) {
            refused = 1;
            continue;
        }
        printf("%s: open\n", argv[i]);
        zb_model_destroy(model);
    }
    return refused;
}
