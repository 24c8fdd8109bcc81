/*
 * A real network against references from Python and the bare engine: basic_pitch, which is published in both formats.
 *
 * The published TFLite file computes constant shapes in the run, and from there on the engine uses memory of its own;
 * `basic_pitch_static` is the same network with these shapes written down.
 */
#include "harness.h"

#include "raw_tflite.h"


#define SAMPLES 43844u
#define FRAMES 172u

typedef struct pitch_output {
    const char *name;
    size_t columns;
} pitch_output;

static const pitch_output pitch_outputs[3] = {{"onset", 88}, {"note", 88}, {"contour", 264}};

static const char *pitch_model(void)
{
    return zt_is_tflite() ? "basic_pitch_static" : "basic_pitch";
}

static size_t pitch_size(size_t output)
{
    return FRAMES * pitch_outputs[output].columns * sizeof(float);
}

/* The recorded result of `engine` ("onnxruntime", "tflite-plain", "tflite-xnnpack") for "music" or "noise". */
static float *read_pitch_reference(const char *sound, const char *engine, size_t output)
{
    char file[128];
    snprintf(file, sizeof file, "basic_pitch.%s.%s.%s.bin", sound, engine, pitch_outputs[output].name);
    return zt_read_reference(file, pitch_size(output));
}

static float *read_pitch_input(const char *sound)
{
    char file[128];
    snprintf(file, sizeof file, "basic_pitch.%s.input.bin", sound);
    return zt_read_reference(file, SAMPLES * sizeof(float));
}

/* Runs a window of sound with input and outputs lent; the outputs are the caller's to free. */
static void run_pitch(zb_context *context, const float *sound, zt_buffer outputs[3])
{
    zb_tensor_desc in = F32(1, SAMPLES, 1);
    zt_buffer x = zt_buffer_new(SAMPLES * sizeof(float));
    zb_loan loans[4];
    zb_tensor_desc out[3];
    memcpy(x.data, sound, x.size);
    loans[0] = zt_lend_input(0, &x);
    loans[0].desc = &in;
    for (uint32_t i = 0; i < 3; i++) {
        outputs[i] = zt_buffer_new(pitch_size(i));
        out[i] = F32(1, FRAMES, (int64_t)pitch_outputs[i].columns);
        loans[i + 1] = zt_lend_output(i, &outputs[i]);
        loans[i + 1].desc = &out[i];
    }
    REQUIRE_OK(zb_infer_with(context, loans, 4, NULL));
    CHECK_BYTES(x.data, sound, x.size);
    FREE_BUFFER(&x);
}

static void check_all_direct(zb_context *context)
{
    const zb_slot slots[4] = {ZB_INPUT(0), ZB_OUTPUT(0), ZB_OUTPUT(1), ZB_OUTPUT(2)};
    for (size_t i = 0; i < 4; i++) {
        zb_binding_report report = ZB_BINDING_REPORT_INIT;
        REQUIRE_OK(zb_context_get_binding_report(context, slots[i], &report));
        CHECK_EQ(report.path, ZB_PATH_DIRECT);
        CHECK_ADDRESS(report.engine_address, report.host_address);
        CHECK_EQ(report.bytes_copied, 0);
    }
}

static void check_pitch(const char *sound, const char *engine, float tolerance)
{
    zb_model *model = zt_open(pitch_model());
    zb_context *context = zt_context(model);
    float *input = read_pitch_input(sound);
    zt_buffer outputs[3];
    run_pitch(context, input, outputs);
    check_all_direct(context);
    for (size_t i = 0; i < 3; i++) {
        float *reference = read_pitch_reference(sound, engine, i);
        CHECK_FLOATS(zt_floats(&outputs[i]), reference, pitch_size(i) / sizeof(float), tolerance);
        free(reference);
        FREE_BUFFER(&outputs[i]);
    }
    free(input);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void notes_in_music_match_the_reference(void)
{
    /* the reference may come from a processor with other kernels */
    check_pitch("music", zt_is_tflite() ? "tflite-xnnpack" : "onnxruntime", 1e-4f);
}

static void notes_in_noise_match_the_reference(void)
{
    check_pitch("noise", zt_is_tflite() ? "tflite-xnnpack" : "onnxruntime", 1e-4f);
}

static void both_engines_hear_the_same_notes(void)
{
    /* one network, two files, two engines: the other engine's reference */
    check_pitch("music", zt_is_tflite() ? "onnxruntime" : "tflite-xnnpack", 1e-3f);
}

/* Runs a model file by the bare engine, which copies; the outputs are the caller's to free. */
static void run_raw_pitch(const char *name, int xnnpack, const float *sound, zt_buffer outputs[3])
{
    char *path = zt_model_path(name);
    raw_tflite *raw = raw_tflite_open(path, xnnpack);
    raw_tflite_allocate(raw);
    raw_tflite_write(raw, 0, sound, SAMPLES * sizeof(float));
    raw_tflite_invoke(raw);
    for (int i = 0; i < 3; i++) {
        size_t size = 0;
        const void *found = raw_tflite_output(raw, i, &size);
        REQUIRE(size == pitch_size((size_t)i));
        outputs[i] = zt_buffer_new(size);
        memcpy(outputs[i].data, found, size);
    }
    raw_tflite_close(raw);
    free(path);
}

static void bits_are_those_of_the_bare_engine(void)
{
    zb_model *model = zt_open("basic_pitch_static");
    float *input = read_pitch_input("music");
    for (int xnnpack = 0; xnnpack < 2; xnnpack++) {
        const zb_option off = {"tflite.xnnpack", "false"};
        zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
        zb_context *context = NULL;
        zt_buffer outputs[3], expected[3];
        options.options = &off;
        options.option_count = xnnpack ? 0 : 1;
        REQUIRE_OK(zb_context_create(model, &options, &context));
        run_pitch(context, input, outputs);
        check_all_direct(context);
        run_raw_pitch("basic_pitch_static", xnnpack, input, expected);
        for (size_t i = 0; i < 3; i++) {
            CHECK_BYTES(outputs[i].data, expected[i].data, expected[i].size);
            FREE_BUFFER(&outputs[i]);
            FREE_BUFFER(&expected[i]);
        }
        zb_context_destroy(context);
    }
    free(input);
    zb_model_destroy(model);
}

static void outputs_behind_a_computed_shape_are_read_by_view(void)
{
    zb_model *model = zt_open("basic_pitch");
    zb_context *context = zt_context(model), *copying = zt_copying_context(model);
    float *input = read_pitch_input("music");
    zt_buffer x = zt_buffer_new(SAMPLES * sizeof(float)), expected[3], note = zt_buffer_new(pitch_size(1));
    zb_tensor_desc desc = F32(1, FRAMES, 88);
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(1, &note)};
    loans[1].desc = &desc;
    memcpy(x.data, input, x.size);
    run_raw_pitch("basic_pitch", 1, input, expected);

    CHECK_STATUS(zb_infer_with(context, loans, 2, NULL), ZB_ERROR_COPY_REQUIRED);
    CHECK(zt_is_untouched(&note));
    REQUIRE_OK(zb_infer_with(context, loans, 1, NULL));
    for (uint32_t i = 0; i < 3; i++) {
        const void *view = NULL;
        size_t size = 0;
        REQUIRE_OK(zb_context_output_view(context, ZB_OUTPUT(i), &view, &size, NULL));
        REQUIRE(size == expected[i].size);
        CHECK_BYTES(view, expected[i].data, size);
    }

    /* or copied, and said so */
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    REQUIRE_OK(zb_infer_with(copying, loans, 2, NULL));
    CHECK_BYTES(note.data, expected[1].data, note.size);
    REQUIRE_OK(zb_context_get_binding_report(copying, ZB_OUTPUT(1), &report));
    CHECK_EQ(report.path, ZB_PATH_STAGED);
    CHECK_EQ(report.bytes_copied, note.size);
    REQUIRE_OK(zb_context_get_binding_report(copying, ZB_INPUT(0), &report));
    CHECK_EQ(report.path, ZB_PATH_DIRECT);
    for (size_t i = 0; i < 3; i++) {
        FREE_BUFFER(&expected[i]);
    }
    free(input);
    zb_context_destroy(context);
    zb_context_destroy(copying);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&note);
}

/* --- options --- */

/* A context with one option and a number of threads still computes what the references say. */
static void check_pitch_with(const char *key, const char *value, int32_t threads, const char *engine)
{
    zb_model *model = zt_open(pitch_model());
    zb_option option = {key, value};
    zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
    zb_context *context = NULL;
    float *input = read_pitch_input("music");
    zt_buffer outputs[3];
    options.threads = threads;
    options.options = &option;
    options.option_count = key == NULL ? 0 : 1;
    REQUIRE_OK(zb_context_create(model, &options, &context));
    for (int run = 0; run < 2; run++) {
        run_pitch(context, input, outputs);
        for (size_t i = 0; i < 3; i++) {
            float *reference = read_pitch_reference("music", engine, i);
            CHECK_FLOATS(zt_floats(&outputs[i]), reference, pitch_size(i) / sizeof(float), 1e-4f);
            free(reference);
            FREE_BUFFER(&outputs[i]);
        }
    }
    check_all_direct(context);
    free(input);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void two_threads(void)
{
    check_pitch_with(NULL, NULL, 2, zt_is_tflite() ? "tflite-xnnpack" : "onnxruntime");
}

static void plain_kernels(void)
{
    check_pitch_with("tflite.xnnpack", "false", 0, "tflite-plain");
}

static void no_optimization(void)
{
    check_pitch_with("optimization", "none", 0, zt_is_tflite() ? "tflite-plain" : "onnxruntime");
}

static void full_optimization(void)
{
    check_pitch_with("optimization", "all", 0, zt_is_tflite() ? "tflite-xnnpack" : "onnxruntime");
}

static void a_session_entry(void)
{
    check_pitch_with("ort.session.session.disable_prepacking", "1", 0, "onnxruntime");
}

static void options_of_the_other_engine_are_passed_over(void)
{
    if (zt_is_tflite()) {
        check_pitch_with("ort.session.session.disable_prepacking", "1", 0, "tflite-xnnpack");
    } else {
        check_pitch_with("tflite.xnnpack", "false", 0, "onnxruntime");
    }
}

static const zt_test tests[] = {
    ON_BOTH(notes_in_music_match_the_reference),
    ON_BOTH(notes_in_noise_match_the_reference),
    ON_BOTH(both_engines_hear_the_same_notes),
    ON_TFLITE(bits_are_those_of_the_bare_engine),
    ON_TFLITE(outputs_behind_a_computed_shape_are_read_by_view),
    ON_BOTH(two_threads),
    ON_TFLITE(plain_kernels),
    ON_BOTH(no_optimization),
    ON_BOTH(full_optimization),
    ON_ONNXRUNTIME(a_session_entry),
    ON_BOTH(options_of_the_other_engine_are_passed_over),
};

ZT_MAIN(tests)
