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

/* Memory of zerobind's own for a slot, zeroed; from here on only the binding holds it. */
static float *bind_new(zb_context *context, zb_slot slot)
{
    zb_tensor *tensor;
    void *data;
    check(zb_tensor_alloc_for(context, slot, &tensor));
    check(zb_tensor_bind(tensor, context, slot));
    check(zb_tensor_get_data(tensor, &data, NULL));
    zb_tensor_destroy(tensor);
    return data;
}

/* What a run wrote to `next` is the next run's `state`: two pieces of memory take turns, and nothing is copied. */
static void run_steps(zb_context *context, float *x, const float *y)
{
    for (int step = 0; step < 4; step++) {
        x[0] = 1;
        check(zb_infer(context, NULL));
        printf("%g\n", y[0]);
        check(zb_context_swap(context, ZB_INPUT(1), ZB_OUTPUT(1)));
    }
}

int main(int argc, char **argv) /* recurrent.onnx or recurrent.tflite: y = x + 2 * state, next = x + state / 2 */
{
    zb_model *model;
    zb_context *context;
    if (argc != 2) {
        fputs("usage: recurrent recurrent.onnx|recurrent.tflite\n", stderr);
        return EXIT_FAILURE;
    }
    check(zb_model_open(argv[1], NULL, &model));
    check(zb_context_create(model, NULL, &context));
    float *x = bind_new(context, ZB_INPUT(0)), *y = bind_new(context, ZB_OUTPUT(0));
    bind_new(context, ZB_INPUT(1));
    bind_new(context, ZB_OUTPUT(1));
    run_steps(context, x, y);
    zb_context_destroy(context);
    zb_model_destroy(model);
}
