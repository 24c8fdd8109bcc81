/* Real models against references, the ways to open one, and options that must not change results. */
#include "harness.h"

#include "raw_tflite.h"

#include <unistd.h>

/* --- basic_pitch: the same network in both formats --- */

#define SAMPLES 43844u
#define FRAMES 172u

typedef struct pitch_output {
    const char *name;
    size_t columns;
} pitch_output;

static const pitch_output pitch_outputs[3] = {{"onset", 88}, {"note", 88}, {"contour", 264}};

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
    zb_model *model = zt_open("basic_pitch");
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

static void bits_are_those_of_the_bare_engine(void)
{
    zb_model *model = zt_open("basic_pitch");
    for (int xnnpack = 0; xnnpack < 2; xnnpack++) {
        const zb_option off = {"tflite.xnnpack", "false"};
        zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
        zb_context *context = NULL;
        zt_buffer outputs[3];
        float *input = read_pitch_input("music");
        char *path = zt_model_path("basic_pitch");
        options.options = &off;
        options.option_count = xnnpack ? 0 : 1;
        REQUIRE_OK(zb_context_create(model, &options, &context));
        run_pitch(context, input, outputs);

        raw_tflite *raw = raw_tflite_open(path, xnnpack);
        raw_tflite_allocate(raw);
        raw_tflite_write(raw, 0, input, SAMPLES * sizeof(float));
        raw_tflite_invoke(raw);
        for (int i = 0; i < 3; i++) {
            size_t size = 0;
            const void *expected = raw_tflite_output(raw, i, &size);
            REQUIRE(size == outputs[i].size);
            CHECK_BYTES(outputs[i].data, expected, size);
            FREE_BUFFER(&outputs[i]);
        }
        raw_tflite_close(raw);
        free(path);
        free(input);
        zb_context_destroy(context);
    }
    zb_model_destroy(model);
}

/* --- options --- */

/* A context with one option and a number of threads still computes what the references say. */
static void check_pitch_with(const char *key, const char *value, int32_t threads, const char *engine)
{
    zb_model *model = zt_open("basic_pitch");
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

/* --- ways to open --- */

static void check_add4(zb_model *model)
{
    const float sums[4] = {11, 22, 33, 44};
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(16), y = zt_buffer_new(16), z = zt_buffer_new(16);
    zb_loan loans[3] = {zt_lend_input(0, &x), zt_lend_input(1, &y), zt_lend_output(0, &z)};
    zt_fill_floats(&x, 1, 1);
    zt_fill_floats(&y, 10, 10);
    REQUIRE_OK(zb_infer_with(context, loans, 3, NULL));
    CHECK_FLOATS(zt_floats(&z), sums, 4, 0);
    zb_context_destroy(context);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
    FREE_BUFFER(&z);
}

static void *read_model(const char *name, size_t *size)
{
    char *path = zt_model_path(name);
    void *bytes = zt_read(path, size);
    free(path);
    return bytes;
}

/* Writes bytes to a new file that says nothing in its name. */
static char *write_nameless_file(const void *bytes, size_t size)
{
    const char *folder = getenv("TMPDIR");
    char *path = malloc(4096);
    REQUIRE(path != NULL);
    snprintf(path, 4096, "%s/zerobind-XXXXXX", folder == NULL ? "/tmp" : folder);
    int file = mkstemp(path);
    REQUIRE(file >= 0);
    REQUIRE(write(file, bytes, size) == (ssize_t)size);
    REQUIRE(close(file) == 0);
    return path;
}

static void the_content_tells_the_engine(void)
{
    size_t size = 0;
    void *bytes = read_model("add4", &size);
    char *path = write_nameless_file(bytes, size);
    zb_model *model = NULL;
    int32_t runtime = 0;
    zb_model_options options = ZB_MODEL_OPTIONS_INIT;
    REQUIRE_OK(zb_model_open(path, NULL, &model));
    REQUIRE_OK(zb_model_get_runtime(model, &runtime));
    CHECK_EQ(runtime, zt_engine());
    check_add4(model);
    zb_model_destroy(model);
    /* or the host says it */
    options.runtime = zt_engine();
    REQUIRE_OK(zb_model_open(path, &options, &model));
    check_add4(model);
    zb_model_destroy(model);
    /* a wrong word is not believed */
    options.runtime = zt_is_tflite() ? ZB_RUNTIME_ONNXRUNTIME : ZB_RUNTIME_TFLITE;
    model = NULL;
    CHECK_STATUS(zb_model_open(path, &options, &model), ZB_ERROR_MODEL_INVALID);
    CHECK(model == NULL);
    REQUIRE(unlink(path) == 0);
    free(path);
    free(bytes);
}

static void a_file_may_be_unlinked_while_open(void)
{
    size_t size = 0;
    void *bytes = read_model("add4", &size);
    char *path = write_nameless_file(bytes, size);
    zb_model *model = NULL;
    REQUIRE_OK(zb_model_open(path, NULL, &model));
    REQUIRE(unlink(path) == 0);
    check_add4(model);
    zb_model_destroy(model);
    free(path);
    free(bytes);
}

static void borrowed_bytes_return_after_the_last_context(void)
{
    size_t size = 0;
    void *bytes = read_model("add4", &size);
    zt_releases releases = {0, NULL, 0};
    zb_model *model = NULL;
    REQUIRE_OK(zb_model_open_bytes(bytes, size, zt_count_release, &releases, NULL, &model));
    check_add4(model);
    zb_context *context = zt_context(model), *other = zt_context(model);
    CHECK_EQ(zb_live_objects(ZB_KIND_MODEL), 1);
    zb_model_destroy(model);
    CHECK_EQ(zt_release_count(&releases), 0);
    zb_context_destroy(other);
    CHECK_EQ(zt_release_count(&releases), 0);
    /* still good without the model's handle */
    zt_buffer x = zt_buffer_new(16), z = zt_buffer_new(16);
    zb_loan loans[3] = {zt_lend_input(0, &x), zt_lend_input(1, &x), zt_lend_output(0, &z)};
    zt_fill_floats(&x, 1, 1);
    REQUIRE_OK(zb_infer_with(context, loans, 3, NULL));
    CHECK(zt_floats(&z)[3] == 8);
    zb_context_destroy(context);
    CHECK_EQ(zt_release_count(&releases), 1);
    CHECK_ADDRESS(releases.data, bytes);
    CHECK_EQ(releases.size, size);
    CHECK_EQ(zb_live_objects(ZB_KIND_MODEL), 0);
    free(bytes);
    FREE_BUFFER(&x);
    FREE_BUFFER(&z);
}

static void borrowed_bytes_without_contexts_return_at_once(void)
{
    size_t size = 0;
    void *bytes = read_model("basic_pitch", &size);
    zt_releases releases = {0, NULL, 0};
    zb_model *model = NULL;
    REQUIRE_OK(zb_model_open_bytes(bytes, size, zt_count_release, &releases, NULL, &model));
    CHECK_EQ(zt_release_count(&releases), 0);
    zb_model_destroy(model);
    CHECK_EQ(zt_release_count(&releases), 1);
    free(bytes);
}

static void refused_bytes_stay_the_callers(void)
{
    size_t size = 0;
    unsigned char *bytes = read_model("add4", &size), *odd = NULL;
    void *block = NULL;
    zt_releases releases = {0, NULL, 0};
    zb_model *model = NULL;
    CHECK_STATUS(zb_model_open_bytes(bytes, 20, zt_count_release, &releases, NULL, &model), ZB_ERROR_MODEL_INVALID);
    REQUIRE(posix_memalign(&block, 64, size + 16) == 0);
    odd = (unsigned char *)block + 8;
    memcpy(odd, bytes, size);
    CHECK_STATUS(zb_model_open_bytes(odd, size, zt_count_release, &releases, NULL, &model), ZB_ERROR_MISALIGNED);
    CHECK(model == NULL);
    CHECK_EQ(zt_release_count(&releases), 0);
    /* a copy is made from any place */
    REQUIRE_OK(zb_model_open_bytes_copy(odd, size, NULL, &model));
    check_add4(model);
    zb_model_destroy(model);
    free(block);
    free(bytes);
}

static void copied_bytes_are_the_callers_again(void)
{
    size_t size = 0;
    void *bytes = read_model("matmul64", &size);
    zb_model *model = NULL;
    REQUIRE_OK(zb_model_open_bytes_copy(bytes, size, NULL, &model));
    /* weights and all are gone here */
    memset(bytes, 0, size);
    free(bytes);
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(64 * 64 * 4), y = zt_buffer_new(64 * 64 * 4);
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
    zt_fill_floats(&x, 1, 0);
    REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
    for (int c = 0; c < 64; c++) {
        float sum = 0;
        for (int k = 0; k < 64; k++) {
            sum += (float)((c * 7 + k * 3) % 11 - 5);
        }
        CHECK(zt_floats(&y)[c] == sum);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

/* --- SHA-256 --- */

/* The hash of a file by the system's own tool. */
static void hash_by_tool(const char *path, uint8_t hash[32])
{
    char command[4200];
    snprintf(command, sizeof command, "sha256sum '%s'", path);
    FILE *tool = popen(command, "r");
    REQUIRE(tool != NULL);
    for (int i = 0; i < 32; i++) {
        unsigned value = 0;
        REQUIRE(fscanf(tool, "%2x", &value) == 1);
        hash[i] = (uint8_t)value;
    }
    /* read to the end, or the tool may be stopped while it writes */
    while (fgetc(tool) != EOF) {
    }
    REQUIRE(pclose(tool) == 0);
}

static void the_hash_is_checked(void)
{
    char *path = zt_model_path("add4");
    size_t size = 0;
    void *bytes = zt_read(path, &size);
    zt_releases releases = {0, NULL, 0};
    zb_model_options options = ZB_MODEL_OPTIONS_INIT;
    zb_model *model = NULL;
    hash_by_tool(path, options.sha256);
    REQUIRE_OK(zb_model_open(path, &options, &model));
    check_add4(model);
    zb_model_destroy(model);
    REQUIRE_OK(zb_model_open_bytes(bytes, size, NULL, NULL, &options, &model));
    check_add4(model);
    zb_model_destroy(model);
    REQUIRE_OK(zb_model_open_bytes_copy(bytes, size, &options, &model));
    check_add4(model);
    zb_model_destroy(model);

    model = NULL;
    options.sha256[31] ^= 1;
    CHECK_STATUS(zb_model_open(path, &options, &model), ZB_ERROR_MODEL_INVALID);
    CHECK_ERROR_SAYS("SHA-256");
    CHECK_STATUS(zb_model_open_bytes(bytes, size, zt_count_release, &releases, &options, &model), ZB_ERROR_MODEL_INVALID);
    CHECK_STATUS(zb_model_open_bytes_copy(bytes, size, &options, &model), ZB_ERROR_MODEL_INVALID);
    CHECK(model == NULL);
    CHECK_EQ(zt_release_count(&releases), 0);
    free(bytes);
    free(path);
}

/* --- weights in another file --- */

static void external_weights_are_found_next_to_the_model(void)
{
    zb_model *model = zt_open("external");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(4096), y = zt_buffer_new(4096);
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
    zt_fill_floats(&x, 5, 0);
    REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
    for (int i = 0; i < 1024; i++) {
        CHECK(zt_floats(&y)[i] == (float)(5 + i));
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void external_weights_need_a_path(void)
{
    size_t size = 0;
    void *bytes = read_model("external", &size);
    char *path = zt_model_path("external");
    zb_model *model = NULL;
    zb_model_options options = ZB_MODEL_OPTIONS_INIT;
    CHECK_STATUS(zb_model_open_bytes_copy(bytes, size, NULL, &model), ZB_ERROR_UNSUPPORTED);
    CHECK_STATUS(zb_model_open_bytes(bytes, size, NULL, NULL, NULL, &model), ZB_ERROR_UNSUPPORTED);
    /* what is hashed is the whole of the model */
    hash_by_tool(path, options.sha256);
    CHECK_STATUS(zb_model_open(path, &options, &model), ZB_ERROR_UNSUPPORTED);
    CHECK(model == NULL);
    free(path);
    free(bytes);
}

/* --- many contexts --- */

static void contexts_of_one_model_are_apart(void)
{
    enum { CONTEXTS = 4 };
    zb_model *model = zt_open("batch");
    zb_context *contexts[CONTEXTS];
    zt_buffer x[CONTEXTS], y[CONTEXTS];
    for (int i = 0; i < CONTEXTS; i++) {
        const int64_t dims[2] = {i + 1, 4};
        zb_tensor_desc desc = F32(i + 1, 4);
        contexts[i] = zt_context(model);
        x[i] = zt_buffer_new((size_t)(i + 1) * 16);
        y[i] = zt_buffer_new((size_t)(i + 1) * 16);
        zt_fill_floats(&x[i], (float)(100 * i), 1);
        zb_tensor *in = zt_wrap(&desc, &x[i]), *out = zt_wrap(&desc, &y[i]);
        REQUIRE_OK(zb_context_resize_input(contexts[i], ZB_INPUT(0), dims, 2));
        REQUIRE_OK(zb_tensor_bind(in, contexts[i], ZB_INPUT(0)));
        REQUIRE_OK(zb_tensor_bind(out, contexts[i], ZB_OUTPUT(0)));
        zb_tensor_destroy(in);
        zb_tensor_destroy(out);
    }
    for (int run = 0; run < 3; run++) {
        for (int i = CONTEXTS - 1; i >= 0; i--) {
            REQUIRE_OK(zb_infer(contexts[i], NULL));
        }
    }
    for (int i = 0; i < CONTEXTS; i++) {
        for (int j = 0; j < 4 * (i + 1); j++) {
            CHECK(zt_floats(&y[i])[j] == 2 * (float)(100 * i + j));
        }
        zb_context_destroy(contexts[i]);
        FREE_BUFFER(&x[i]);
        FREE_BUFFER(&y[i]);
    }
    zb_model_destroy(model);
}

static void both_engines_in_one_process(void)
{
    char *tflite = zt_model_file("chain.tflite"), *onnx = zt_model_file("chain.onnx");
    zb_model *models[2] = {NULL, NULL};
    zb_context *contexts[2];
    zb_tensor_desc desc = F32(1024);
    zt_buffer memory[3];
    REQUIRE_OK(zb_model_open(tflite, NULL, &models[0]));
    REQUIRE_OK(zb_model_open(onnx, NULL, &models[1]));
    for (int i = 0; i < 3; i++) {
        memory[i] = zt_buffer_new(4096);
    }
    zt_fill_floats(&memory[0], 0, 1);
    /* the one engine's output is the other's input, in place */
    zb_tensor *between = zt_wrap(&desc, &memory[1]);
    contexts[0] = zt_context(models[0]);
    contexts[1] = zt_context(models[1]);
    REQUIRE_OK(zb_tensor_bind(between, contexts[0], ZB_OUTPUT(0)));
    REQUIRE_OK(zb_tensor_bind(between, contexts[1], ZB_INPUT(0)));
    zb_tensor_destroy(between);
    zb_loan in = zt_lend_input(0, &memory[0]), out = zt_lend_output(0, &memory[2]);
    REQUIRE_OK(zb_infer_with(contexts[0], &in, 1, NULL));
    REQUIRE_OK(zb_infer_with(contexts[1], &out, 1, NULL));
    for (int i = 0; i < 1024; i++) {
        CHECK(zt_floats(&memory[2])[i] == (float)(i + 80));
    }
    for (int i = 0; i < 2; i++) {
        zb_context_destroy(contexts[i]);
        zb_model_destroy(models[i]);
    }
    for (int i = 0; i < 3; i++) {
        FREE_BUFFER(&memory[i]);
    }
    free(tflite);
    free(onnx);
}

static const zt_test tests[] = {
    ON_BOTH(notes_in_music_match_the_reference),
    ON_BOTH(notes_in_noise_match_the_reference),
    ON_BOTH(both_engines_hear_the_same_notes),
    ON_TFLITE(bits_are_those_of_the_bare_engine),
    ON_BOTH(two_threads),
    ON_TFLITE(plain_kernels),
    ON_BOTH(no_optimization),
    ON_BOTH(full_optimization),
    ON_ONNXRUNTIME(a_session_entry),
    ON_BOTH(options_of_the_other_engine_are_passed_over),
    ON_BOTH(the_content_tells_the_engine),
    ON_BOTH(a_file_may_be_unlinked_while_open),
    ON_BOTH(borrowed_bytes_return_after_the_last_context),
    ON_BOTH(borrowed_bytes_without_contexts_return_at_once),
    ON_BOTH(refused_bytes_stay_the_callers),
    ON_BOTH(copied_bytes_are_the_callers_again),
    ON_BOTH(the_hash_is_checked),
    ON_ONNXRUNTIME(external_weights_are_found_next_to_the_model),
    ON_ONNXRUNTIME(external_weights_need_a_path),
    ON_BOTH(contexts_of_one_model_are_apart),
    ON_BOTH(both_engines_in_one_process),
};

ZT_MAIN(tests)
