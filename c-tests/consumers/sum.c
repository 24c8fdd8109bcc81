/*
 * A program of somebody else, built against the installed tree: runs add4 (z = x + y) and checks that header, library and
 * package are of one version. Plain C99; also compiled as every later C and as C++.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zerobind.h>

/* What the package says of itself, in quotes. */
#ifndef PACKAGE_VERSION
#error "-DPACKAGE_VERSION is missing"
#endif

static void fail(const char *what)
{
    fprintf(stderr, "failed: %s\n", what);
    exit(EXIT_FAILURE);
}

static void check(zb_status status)
{
    char text[1024];
    if (status != ZB_OK) {
        (void)zb_last_error(text, sizeof text, NULL);
        fprintf(stderr, "failed: %s: %s\n", zb_status_name(status), text);
        exit(EXIT_FAILURE);
    }
}

static void check_versions(void)
{
    unsigned major = 0, minor = 0, patch = 0;
    if (sscanf(PACKAGE_VERSION, "%u.%u.%u", &major, &minor, &patch) != 3) {
        fail("the package's version is not a.b.c: " PACKAGE_VERSION);
    }
    if (strcmp(zb_version_string(), PACKAGE_VERSION) != 0) {
        fail("zb_version_string() is not the package's version " PACKAGE_VERSION);
    }
    if (ZB_VERSION_MAJOR != major || ZB_VERSION_MINOR != minor || ZB_VERSION_PATCH != patch) {
        fail("the header's version macros are not the package's version " PACKAGE_VERSION);
    }
    if (zb_version() != (major << 22 | minor << 12 | patch) || zb_version() != ZB_HEADER_VERSION) {
        fail("zb_version() is not the combined number of header and package");
    }
}

/* 64 bytes for each of x, y and z, at a multiple of 64 as engines ask */
static float *aligned_floats(void *memory)
{
    return (float *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
}

static void run(const char *path)
{
    void *memory = calloc(4, 64);
    float *x = aligned_floats(memory), *y = x + 16, *z = x + 32;
    zb_model *model = NULL;
    zb_context *context = NULL;
    zb_loan lent[3];
    for (int i = 0; i < 4; i++) {
        x[i] = (float)i;
        y[i] = 10;
    }
    check(zb_model_open(path, NULL, &model));
    check(zb_context_create(model, NULL, &context));
    lent[0] = zb_loan_input(ZB_INPUT(0), x, 16, 64, NULL);
    lent[1] = zb_loan_input(ZB_INPUT(1), y, 16, 64, NULL);
    lent[2] = zb_loan_output(ZB_OUTPUT(0), z, 16, NULL);
    check(zb_infer_with(context, lent, 3, NULL));
    for (int i = 0; i < 4; i++) {
        if (z[i] < 9.5f + (float)i || z[i] > 10.5f + (float)i) {
            fail("the sum is wrong");
        }
    }
    check(zb_context_destroy(context));
    check(zb_model_destroy(model));
    free(memory);
}

int main(int argc, char **argv)
{
    check_versions();
    for (int i = 1; i < argc; i++) {
        run(argv[i]);
    }
    return EXIT_SUCCESS;
}
