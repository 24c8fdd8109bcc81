/*
 * A host that frees memory which it lent until a release: a bug on purpose, for fuzz/controls.sh. The engine that reads it is
 * not built for any sanitizer, so only memcheck can tell.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zerobind.h>

int main(int argc, char **argv)
{
    zb_model *model = NULL;
    zb_context *context = NULL;
    const char *models = getenv("ZB_TEST_MODELS");
    char path[4096];
    if (argc != 2 || models == NULL) {
        fputs("usage: freed_host tflite|onnxruntime, with ZB_TEST_MODELS set\n", stderr);
        return 2;
    }
    snprintf(path, sizeof path, "%s/add4.%s", models, strcmp(argv[1], "tflite") == 0 ? "tflite" : "onnx");
    const zb_tensor_desc four = {ZB_DTYPE_F32, 1, {4}};
    if (zb_model_open(path, NULL, &model) != ZB_OK || zb_context_create(model, NULL, &context) != ZB_OK) {
        return 2;
    }
    void *memory[3] = {NULL, NULL, NULL};
    const zb_slot slots[3] = {ZB_INPUT(0), ZB_INPUT(1), ZB_OUTPUT(0)};
    for (int i = 0; i < 3; i++) {
        zb_tensor *tensor = NULL;
        if (posix_memalign(&memory[i], 64, 64) != 0 ||
            zb_tensor_wrap(&four, memset(memory[i], 0, 64), 16, 64, NULL, NULL, &tensor) != ZB_OK ||
            zb_tensor_bind(tensor, context, slots[i]) != ZB_OK) {
            return 2;
        }
        zb_tensor_destroy(tensor);
    }
    /* as the control of the control: without the name of the bug, nothing is freed too early */
    if (getenv("ZEROBIND_PLANTED_BUG") != NULL) {
        free(memory[0]);
        memory[0] = NULL;
    }
    const zb_status status = zb_infer(context, NULL);
    zb_context_destroy(context);
    zb_model_destroy(model);
    for (int i = 0; i < 3; i++) {
        free(memory[i]);
    }
    return status == ZB_OK ? 0 : 1;
}
