/* Ways to open a model, options that must not change results, and contexts side by side. */
#include "harness.h"

#include <unistd.h>

/* A column of the model's matrix: what a row of ones gives. */
static float column_sum(int column)
{
    float sum = 0;
    for (int k = 0; k < 64; k++) {
        sum += (float)((column * 7 + k * 3) % 11 - 5);
    }
    return sum;
}

/* --- options --- */

static void check_matmul64_with(int32_t threads, const zb_option *option)
{
    zb_model *model = zt_open("matmul64");
    zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
    zb_context *context = NULL;
    zt_buffer x = zt_buffer_new(64 * 64 * 4), y = zt_buffer_new(64 * 64 * 4);
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
    options.threads = threads;
    options.options = option;
    options.option_count = option == NULL ? 0 : 1;
    REQUIRE_OK(zb_context_create(model, &options, &context));
    zt_fill_floats(&x, 1, 0);
    for (int run = 0; run < 3; run++) {
        memset(y.data, 0xCD, y.size);
        REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
        for (int i = 0; i < 64 * 64; i++) {
            CHECK(zt_floats(&y)[i] == column_sum(i % 64));
        }
        CHECK_GUARDS(&y);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void options_do_not_change_results(void)
{
    const zb_option options[] = {
        {"tflite.xnnpack", "false"}, {"tflite.xnnpack", "true"},   {"optimization", "none"},
        {"optimization", "basic"},   {"optimization", "extended"}, {"optimization", "all"},
        {"ort.session.session.disable_prepacking", "1"},
    };
    check_matmul64_with(2, NULL);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        check_matmul64_with(0, &options[i]);
        check_matmul64_with(2, &options[i]);
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
        CHECK(zt_floats(&y)[c] == column_sum(c));
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

/* --- SHA-256 --- */

static void the_hash_is_checked(void)
{
    char *path = zt_model_path("add4");
    size_t size = 0;
    void *bytes = zt_read(path, &size);
    zt_releases releases = {0, NULL, 0};
    zb_model_options options = ZB_MODEL_OPTIONS_INIT;
    zb_model *model = NULL;
    zt_hash(path, options.sha256);
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
    zt_hash(path, options.sha256);
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
    ON_BOTH(options_do_not_change_results),
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
    ON_TFLITE(both_engines_in_one_process),
};

ZT_MAIN(tests)
