#define _POSIX_C_SOURCE 200112L
#include <stdio.h>
#include <stdlib.h>
#include <zerobind.h>

static void check(zb_status status)
{
    char text[1024];
    if (status != ZB_OK) {
        zb_last_error(text, sizeof text, NULL);
        fprintf(stderr, "%s\n", text);
        exit(EXIT_FAILURE);
    }
}

int main(int argc, char **argv) /* add4.onnx or add4.tflite: z = x + y, four floats each */
{
    void *memory; /* our own, at a multiple of 64 bytes (16 floats) as engines ask */
    if (argc != 2 || posix_memalign(&memory, 64, 4 * 64) != 0) {
        fputs(argc == 2 ? "out of memory\n" : "usage: add add4.onnx|add4.tflite\n", stderr);
        return EXIT_FAILURE;
    }
    float *x = memory, *z = x + 16, *y[2] = {x + 32, x + 48};
    for (int i = 0; i < 4; i++) {
        x[i] = (float)i, y[0][i] = 10, y[1][i] = 20;
    }
    const zb_tensor_desc four = {ZB_DTYPE_F32, 1, {4}};
    zb_model *model;
    zb_context *context;
    zb_tensor *sum;
    check(zb_model_open(argv[1], NULL, &model));
    check(zb_context_create(model, NULL, &context));
    check(zb_tensor_wrap(&four, z, 16, 64, NULL, NULL, &sum)); /* z keeps its place: bind it once */
    check(zb_tensor_bind(sum, context, ZB_OUTPUT(0)));
    for (int i = 0; i < 2; i++) { /* the inputs move: lend them for one call */
        zb_loan lent[2] = {zb_loan_input(ZB_INPUT(0), x, 16, 64, NULL), zb_loan_input(ZB_INPUT(1), y[i], 16, 64, NULL)};
        check(zb_infer_with(context, lent, 2, NULL));
        printf("%g %g %g %g\n", z[0], z[1], z[2], z[3]);
    }
    zb_tensor_destroy(sum); /* in any order; the last of them gives z back */
    zb_context_destroy(context);
    zb_model_destroy(model);
    free(memory);
}
