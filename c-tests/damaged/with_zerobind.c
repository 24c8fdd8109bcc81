/* The same through zerobind: its checks come before the engine's. */
#include "with_zerobind.h"

#include "engine.h"

#include <string.h>

zb_context_options without_xnnpack(void)
{
    static const zb_option plain = {"tflite.xnnpack", "false"};
    zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
    options.options = &plain;
    options.option_count = 1;
    return options;
}

/* Only the file of the engine: a child that is forked after zerobind was used is not let in. */
static void zerobind_preload(int engine)
{
    engine_library(engine == ENGINE_TFLITE ? "ZEROBIND_TFLITE_LIB" : "ZEROBIND_ONNXRUNTIME_LIB");
}

int done(zb_status status, outcome *told)
{
    char text[sizeof told->text] = "";
    if (status != ZB_OK) {
        zb_last_error(text, sizeof text, NULL);
        refuse(told, status, text);
    }
    return status == ZB_OK;
}

zb_model_options model_options(const subject *model)
{
    zb_model_options options = ZB_MODEL_OPTIONS_INIT;
    options.runtime = model->engine == ENGINE_TFLITE ? ZB_RUNTIME_TFLITE : ZB_RUNTIME_ONNXRUNTIME;
    options.max_tensor_bytes = MOST_TENSOR_BYTES;
    return options;
}

static int settle_shapes(const subject *subject, zb_model *model, zb_context *context, uint32_t inputs, outcome *told)
{
    for (uint32_t i = 0; i < inputs; i++) {
        zb_slot_info info = ZB_SLOT_INFO_INIT;
        int is_open = 0;
        if (!done(zb_model_get_slot_info(model, ZB_INPUT(i), &info), told)) {
            return 0;
        }
        for (uint32_t dim = 0; dim < info.desc.rank; dim++) {
            if (info.desc.dims[dim] < 0) {
                is_open = 1;
                info.desc.dims[dim] = open_dim(subject, i, dim);
            }
        }
        if (is_open && !done(zb_context_resize_input(context, ZB_INPUT(i), info.desc.dims, info.desc.rank), told)) {
            return 0;
        }
    }
    return done(zb_context_prepare(context), told);
}

static int run_on(const subject *subject, zb_context *context, uint32_t inputs, uint32_t outputs, int value, outcome *told)
{
    for (uint32_t i = 0; i < inputs; i++) {
        zb_tensor *tensor = NULL;
        zb_tensor_desc desc;
        void *data = NULL;
        size_t size = 0;
        if (!done(zb_tensor_alloc_for(context, ZB_INPUT(i), &tensor), told) ||
            !done(zb_tensor_get_desc(tensor, &desc), told) || !done(zb_tensor_get_data(tensor, &data, &size), told)) {
            return 0;
        }
        fill(subject, data, size, desc.dtype, value);
        if (!done(zb_tensor_bind(tensor, context, ZB_INPUT(i)), told)) {
            return 0;
        }
        zb_tensor_destroy(tensor);
    }
    if (!done(zb_infer(context, NULL), told)) {
        return 0;
    }
    for (uint32_t i = 0; i < outputs; i++) {
        const void *data = NULL;
        size_t size = 0;
        if (zb_context_output_view(context, ZB_OUTPUT(i), &data, &size, NULL) == ZB_OK) {
            look_at(data, size);
        }
    }
    return 1;
}

int run_configured(const subject *subject, zb_model *model, const zb_context_options *options, outcome *told)
{
    zb_context *context = NULL;
    uint32_t inputs = 0, outputs = 0;
    told->stage = STAGE_CONTEXT;
    if (!done(zb_context_create(model, options, &context), told) ||
        !done(zb_model_get_slot_counts(model, &inputs, &outputs), told)) {
        return 0;
    }
    told->stage = STAGE_PREPARE;
    int works = settle_shapes(subject, model, context, inputs, told);
    for (int value = 0; value < 2 && works; value++) {
        told->stage = value == 0 ? STAGE_ZEROS : STAGE_ONES;
        works = run_on(subject, context, inputs, outputs, value, told);
    }
    zb_context_destroy(context);
    return works;
}

void run_with_zerobind(const subject *subject, const unsigned char *bytes, size_t size, outcome *told)
{
    zb_model *model = NULL;
    zb_model_options options = model_options(subject);
    if (!done(zb_model_open_bytes(bytes, size, NULL, NULL, &options, &model), told)) {
        return;
    }
    int works = run_configured(subject, model, NULL, told);
    if (subject->engine == ENGINE_TFLITE) {
        const zb_context_options plain = without_xnnpack();
        works |= run_configured(subject, model, &plain, told);
    }
    zb_model_destroy(model);
    if (works) {
        told->ended = ENDED_RAN;
    }
}

const lane lane_validator = {"validator", zerobind_preload, run_with_zerobind};
