/*
 * beside FOLDER: goes to FOLDER before anything is loaded, then loads both engines by the search order, with no variable set.
 * Prints for each engine where it came from, or the status and the text of the failure.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zerobind.h>

static void load(int32_t runtime)
{
    char text[4096] = "";
    zb_runtime_info info = ZB_RUNTIME_INFO_INIT;
    zb_status status = zb_runtime_load(runtime, NULL);
    if (status == ZB_OK && zb_runtime_get_info(runtime, &info) == ZB_OK) {
        printf("loaded %s\n", info.path);
        return;
    }
    (void)zb_last_error(text, sizeof text, NULL);
    printf("%s: %s\n", zb_status_name(status), text);
}

int main(int argc, char **argv)
{
    if (argc != 2 || chdir(argv[1]) != 0) {
        fputs("beside FOLDER\n", stderr);
        return EXIT_FAILURE;
    }
    load(ZB_RUNTIME_TFLITE);
    load(ZB_RUNTIME_ONNXRUNTIME);
    return EXIT_SUCCESS;
}
