#include "load_child.h"

static void check(zb_status status)
{
    char text[1024] = "";
    if (status != ZB_OK) {
        zb_last_error(text, sizeof text, NULL);
        REQUIRE(0, "%s: %s", zb_status_name(status), text);
    }
}

typedef struct opened_model {
    zb_model *model;
    zb_context *context;
} opened_model;

void load_engine(const load_job *job)
{
    check(zb_runtime_load(job->is_tflite ? ZB_RUNTIME_TFLITE : ZB_RUNTIME_ONNXRUNTIME, NULL));
}

void *load_open_and_run(const load_job *job)
{
    opened_model *opened = malloc(sizeof *opened);
    const model_spec *spec = job->memory->spec;
    REQUIRE(opened != NULL, "out of memory");
    if (job->bytes == NULL) {
        check(zb_model_open(job->path, NULL, &opened->model));
    } else if (strcmp(job->how, "copy") == 0) {
        check(zb_model_open_bytes_copy(job->bytes, job->size, NULL, &opened->model));
    } else {
        check(zb_model_open_bytes(job->bytes, job->size, NULL, NULL, NULL, &opened->model));
    }
    check(zb_context_create(opened->model, NULL, &opened->context));
    for (size_t slot = 0; slot < model_slot_count(spec); slot++) {
        zb_tensor *tensor;
        check(zb_tensor_wrap(&spec->slots[slot], job->memory->data[0][slot], job->memory->sizes[slot],
                             job->memory->sizes[slot] + 64, NULL, NULL, &tensor));
        check(zb_tensor_bind(tensor, opened->context, model_slot(spec, slot)));
        check(zb_tensor_destroy(tensor));
    }
    check(zb_infer(opened->context, NULL));
    return opened;
}

void load_close(void *opened_pointer)
{
    opened_model *opened = opened_pointer;
    check(zb_context_destroy(opened->context));
    check(zb_model_destroy(opened->model));
    free(opened);
}
