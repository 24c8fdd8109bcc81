/*
 * The smallest program with a queue: write, infer, read, in that order, while this thread does something else.
 *
 *     queue add4.onnx|add4.tflite          z = x + y, four floats each
 */
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

/* Puts one sum into the queue: x is copied now, z is written when the event is settled. */
static zb_event *add_later(zb_queue *queue, zb_context *context, zb_tensor *input, zb_tensor *output, const float x[4],
                           float z[4])
{
    zb_event *done;
    check(zb_queue_write(queue, input, 0, x, 4 * sizeof *x, NULL));
    check(zb_queue_infer(queue, context, NULL, NULL));
    check(zb_queue_read(queue, output, 0, z, 4 * sizeof *z, &done));
    return done;
}

/* Waits for one sum. What zb_event_wait returns is about the wait, `result` about the work. */
static void wait_for(zb_event *done)
{
    char text[1024];
    zb_status result;
    check(zb_event_wait(done, UINT64_MAX, &result));
    if (result != ZB_OK) {
        check(zb_event_get_error(done, text, sizeof text, NULL));
        fprintf(stderr, "%s\n", text);
        exit(EXIT_FAILURE);
    }
    zb_event_destroy(done);
}

/* Memory of zerobind's own for a slot; the binding holds it. */
static zb_tensor *bind_new(zb_context *context, zb_slot slot)
{
    zb_tensor *tensor;
    check(zb_tensor_alloc_for(context, slot, &tensor));
    check(zb_tensor_bind(tensor, context, slot));
    return tensor;
}

int main(int argc, char **argv)
{
    zb_model *model;
    zb_context *context;
    zb_queue *queue;
    if (argc != 2) {
        fputs("usage: queue add4.onnx|add4.tflite\n", stderr);
        return EXIT_FAILURE;
    }
    check(zb_model_open(argv[1], NULL, &model));
    check(zb_context_create(model, NULL, &context));
    check(zb_queue_create(NULL, &queue));
    zb_tensor *x = bind_new(context, ZB_INPUT(0)), *y = bind_new(context, ZB_INPUT(1));
    zb_tensor *z = bind_new(context, ZB_OUTPUT(0));

    const float ten[4] = {10, 10, 10, 10};
    check(zb_queue_write(queue, y, 0, ten, sizeof ten, NULL));
    float sums[3][4];
    zb_event *done[3];
    for (int i = 0; i < 3; i++) {
        float input[4] = {(float)i, (float)(i + 1), (float)(i + 2), (float)(i + 3)};
        done[i] = add_later(queue, context, x, z, input, sums[i]); /* `input` may go: it was copied */
    }
    for (int i = 0; i < 3; i++) {
        wait_for(done[i]);
        printf("%g %g %g %g\n", sums[i][0], sums[i][1], sums[i][2], sums[i][3]);
    }

    zb_tensor_destroy(x); /* in any order */
    zb_tensor_destroy(y);
    zb_tensor_destroy(z);
    zb_queue_destroy(queue);
    zb_context_destroy(context);
    zb_model_destroy(model);
}
