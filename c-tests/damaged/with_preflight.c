/* What a careful host does with models from elsewhere: each is tried in another process first. */
#include "with_zerobind.h"

enum { TRIAL_SECONDS = 20 };

/* The helper loads the engine, which this process does when it runs a model. */
static void preload_nothing(int engine)
{
    (void)engine;
}

/* Whether the trial says that the model can be run with these options. */
static int is_cleared(const subject *subject, const unsigned char *bytes, size_t size, const zb_context_options *context,
                      outcome *told)
{
    zb_slot_shape shapes[MOST_SHAPES];
    zb_model_options options = model_options(subject);
    zb_preflight_options preflight = ZB_PREFLIGHT_OPTIONS_INIT;
    for (uint32_t i = 0; i < MOST_SHAPES && subject->shapes[i].rank > 0; i++) {
        shapes[i].slot = ZB_INPUT(i);
        shapes[i].rank = subject->shapes[i].rank;
        shapes[i].dims = subject->shapes[i].dims;
        preflight.shape_count = i + 1;
    }
    preflight.shapes = preflight.shape_count > 0 ? shapes : NULL;
    preflight.timeout_ns = TRIAL_SECONDS * UINT64_C(1000000000);
    preflight.context = context;
    told->stage = STAGE_OPEN;
    return done(zb_model_preflight_bytes(bytes, size, &options, &preflight), told);
}

static int run_cleared(const subject *subject, const unsigned char *bytes, size_t size, const zb_context_options *context,
                       outcome *told)
{
    zb_model *model = NULL;
    zb_model_options options = model_options(subject);
    if (!is_cleared(subject, bytes, size, context, told) ||
        !done(zb_model_open_bytes(bytes, size, NULL, NULL, &options, &model), told)) {
        return 0;
    }
    int works = run_configured(subject, model, context, told);
    zb_model_destroy(model);
    return works;
}

static void run_with_preflight(const subject *subject, const unsigned char *bytes, size_t size, outcome *told)
{
    int works = run_cleared(subject, bytes, size, NULL, told);
    if (subject->engine == ENGINE_TFLITE) {
        const zb_context_options plain = without_xnnpack();
        works |= run_cleared(subject, bytes, size, &plain, told);
    }
    if (works) {
        told->ended = ENDED_RAN;
    }
}

const lane lane_preflight = {"preflight", preload_nothing, run_with_preflight};
