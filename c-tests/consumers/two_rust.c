/*
 * zerobind and another Rust library, both static, in one program. Both panic and catch, in turn.
 * zerobind's panics are those that the mock engine makes on demand; without it (no argument "mock") it fails without a panic.
 */
#include <stdio.h>
#include <string.h>
#include <zerobind.h>

extern int other_rust(size_t n);
extern int other_rust_thread(size_t n);

static int failures;

static void check(int passed, const char *what)
{
    if (!passed) {
        failures++;
        fprintf(stderr, "failed: %s\n", what);
    }
}

static void zerobind_panics(void)
{
    static const char panics[] = "zerobind-mock 1\ninput x f32 4\noutput z f32 4\nopen panic on purpose\n";
    char text[256] = "";
    zb_model *model = NULL;
    check(zb_model_open_bytes_copy(panics, sizeof panics - 1, NULL, &model) == ZB_ERROR_PANIC, "zerobind catches its panic");
    check(zb_last_error(text, sizeof text, NULL) == ZB_OK && strstr(text, "on purpose") != NULL, "with the panic's words");
}

static void zerobind_fails(void)
{
    zb_model *model = NULL;
    check(zb_model_open_bytes_copy("nonsense", 8, NULL, &model) == ZB_ERROR_MODEL_INVALID, "zerobind refuses nonsense");
}

static void other_panics(void)
{
    check(other_rust(1) == 20, "the other library computes");
    check(other_rust(9) == -1, "the other library catches its panic");
    check(other_rust_thread(2) == 30, "the other library computes on a thread");
    check(other_rust_thread(9) == -1, "the other library catches its panic on a thread");
}

int main(int argc, char **argv)
{
    int mock = argc == 2 && strcmp(argv[1], "mock") == 0;
    for (int round = 0; round < 3; round++) {
        if (mock) {
            zerobind_panics();
        } else {
            zerobind_fails();
        }
        other_panics();
    }
    check(zb_version() == ZB_HEADER_VERSION, "zerobind has its version");
    return failures == 0 ? 0 : 1;
}
