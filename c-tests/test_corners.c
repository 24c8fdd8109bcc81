/* Corners that hostile use found: each was once a wrong result, a hang or a crash. */
#include "harness.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

static void check_doubled(const zt_buffer *x, const zt_buffer *y)
{
    for (size_t i = 0; i < x->size / 4; i++) {
        CHECK(zt_floats(y)[i] == 2 * zt_floats(x)[i]);
    }
    CHECK_GUARDS(y);
}

/* --- shapes that are asked for and not yet planned, while memory is lent in the shape of the old plan --- */

static void lend_and_check(zb_context *context, zb_tensor_desc desc, const zt_buffer *x)
{
    zt_buffer y = zt_buffer_new(x->size);
    zb_loan loans[2] = {zt_lend_input(0, x), zt_lend_output(0, &y)};
    loans[0].desc = &desc;
    zt_fill_floats(x, 3, 1);
    REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
    check_doubled(x, &y);
    FREE_BUFFER(&y);
}

/* The plan is for `planned`, a tensor of `pending` is bound, and memory of the planned shape is lent. */
static void lend_over_a_pending_binding(int64_t planned, int64_t pending)
{
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    zt_buffer first = zt_buffer_new((size_t)planned * 16), second = zt_buffer_new((size_t)pending * 16);
    zt_bind(context, ZB_INPUT(0), F32(planned, 4), &first);
    REQUIRE_OK(zb_infer(context, NULL));
    zt_bind(context, ZB_INPUT(0), F32(pending, 4), &second);
    lend_and_check(context, F32(planned, 4), &first);
    /* the loan asked for its shape last, so the binding no longer fits */
    CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_SHAPE_MISMATCH);
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), (const int64_t[]){pending, 4}, 2));
    REQUIRE_OK(zb_infer(context, NULL));
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&first);
    FREE_BUFFER(&second);
}

static void a_loan_of_the_planned_shape_over_a_pending_one(void)
{
    lend_over_a_pending_binding(3, 1);
    lend_over_a_pending_binding(1, 3);
}

static void a_loan_of_the_planned_shape_after_a_resize(void)
{
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(32);
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), (const int64_t[]){2, 4}, 2));
    REQUIRE_OK(zb_context_prepare(context));
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), (const int64_t[]){3, 4}, 2));
    lend_and_check(context, F32(2, 4), &x);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
}

/* Memory of ours for a copy is made for a plan, and a loan of another shape must not leave a wrong one behind. */
static void copies_follow_the_shape(void)
{
    zb_model *model = zt_open("batch");
    zb_context *context = zt_copying_context(model);
    zt_buffer one = zt_buffer_at(16, 1), three = zt_buffer_at(48, 1);
    zt_bind(context, ZB_INPUT(0), F32(1, 4), &one);
    REQUIRE_OK(zb_infer(context, NULL));
    zt_bind(context, ZB_INPUT(0), F32(3, 4), &three);
    lend_and_check(context, F32(1, 4), &one);
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), (const int64_t[]){3, 4}, 2));
    REQUIRE_OK(zb_infer(context, NULL));
    lend_and_check(context, F32(3, 4), &three);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&one);
    FREE_BUFFER(&three);
}

static void an_open_output_has_the_models_rank(void)
{
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    zb_tensor_desc desc;
    CHECK_OK(zb_context_get_slot_info(context, ZB_OUTPUT(0), &info));
    CHECK_EQ(info.desc.rank, 2);
    CHECK_OK(zb_context_get_slot_desc(context, ZB_OUTPUT(0), &desc, NULL));
    CHECK_EQ(desc.rank, 2);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

/* --- a tensor whose last use is a call that refuses it --- */

typedef struct meeting {
    zb_context *context;
    zb_tensor *tensor;
    pthread_barrier_t start;
    int rounds;
    int releases;
} meeting;

/* Uses the context that the refused call was about: it must be free by then. */
static void use_the_context(void *user_data, void *data, size_t size)
{
    meeting *met = user_data;
    (void)data;
    (void)size;
    CHECK_OK(zb_context_unbind(met->context, ZB_INPUT(0)));
    met->releases++;
}

static void *destroy_each_tensor(void *argument)
{
    meeting *met = argument;
    for (int round = 0; round < met->rounds; round++) {
        pthread_barrier_wait(&met->start);
        zb_tensor_destroy(met->tensor);
        pthread_barrier_wait(&met->start);
    }
    return NULL;
}

static void a_refused_bind_is_over_before_the_release(void)
{
    zb_model *model = zt_open("add4");
    meeting met = {.context = zt_context(model), .rounds = zt_rounds(5000, 100)};
    zb_tensor_desc wrong = DESC(ZB_DTYPE_F64, 4);
    zt_buffer x = zt_buffer_new(32);
    pthread_t other;
    alarm(60); /* the bug was a hang */
    pthread_barrier_init(&met.start, NULL, 2);
    REQUIRE(pthread_create(&other, NULL, destroy_each_tensor, &met) == 0);
    for (int round = 0; round < met.rounds; round++) {
        zb_status status;
        REQUIRE_OK(zb_tensor_wrap(&wrong, x.data, x.size, 0, use_the_context, &met, &met.tensor));
        pthread_barrier_wait(&met.start);
        status = zb_tensor_bind(met.tensor, met.context, ZB_INPUT(0));
        CHECK(status == ZB_ERROR_DTYPE_MISMATCH || status == ZB_ERROR_INVALID_HANDLE);
        pthread_barrier_wait(&met.start);
    }
    pthread_join(other, NULL);
    alarm(0);
    CHECK_EQ(met.releases, met.rounds);
    pthread_barrier_destroy(&met.start);
    zb_context_destroy(met.context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
}

/* --- outputs that are one tensor --- */

static void a_twin_of_memory_that_was_lent_has_no_value(void)
{
    zb_model *model = zt_open("duplicate");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(32), y = zt_buffer_new(32);
    zb_loan loan = zt_lend_output(0, &y);
    const void *data;
    zt_fill_floats(&x, 1, 0);
    zt_bind(context, ZB_INPUT(0), F32(8), &x);
    REQUIRE_OK(zb_infer(context, NULL));
    CHECK_OK(zb_context_output_view(context, ZB_OUTPUT(1), &data, NULL, NULL));
    zt_fill_floats(&x, 10, 0);
    REQUIRE_OK(zb_infer_with(context, &loan, 1, NULL));
    CHECK(zt_floats(&y)[0] == 11);
    /* what the engine still has is from the run before */
    CHECK_STATUS(zb_context_output_view(context, ZB_OUTPUT(1), &data, NULL, NULL), ZB_ERROR_UNBOUND);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void a_twin_at_a_copied_address_is_reported_as_copied(void)
{
    zb_model *model = zt_open("duplicate");
    zb_context *context = zt_copying_context(model);
    zt_buffer x = zt_buffer_new(32), y = zt_buffer_at(32, 1);
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    zt_fill_floats(&x, 1, 1);
    zt_bind(context, ZB_INPUT(0), F32(8), &x);
    zt_bind(context, ZB_OUTPUT(0), F32(8), &y);
    zt_bind(context, ZB_OUTPUT(1), F32(8), &y);
    REQUIRE_OK(zb_infer(context, NULL));
    CHECK_OK(zb_context_get_binding_report(context, ZB_OUTPUT(0), &report));
    CHECK_EQ(report.path, ZB_PATH_STAGED);
    CHECK_EQ(report.bytes_copied, 32);
    CHECK_OK(zb_context_get_binding_report(context, ZB_OUTPUT(1), &report));
    CHECK_EQ(report.path, ZB_PATH_STAGED);
    CHECK(report.reason != NULL);
    CHECK_GUARDS(&y);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

/* --- loans on the wrong side --- */

static void a_loan_tells_its_side(void)
{
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(16), y = zt_buffer_new(16), z = zt_buffer_new(16);
    zb_loan loans[3] = {zt_lend_input(0, &x), zt_lend_input(1, &y), zt_lend_output(0, &z)};
    loans[2] = zb_loan_input(ZB_OUTPUT(0), z.data, 16, 0, NULL);
    CHECK_STATUS(zb_infer_with(context, loans, 3, NULL), ZB_ERROR_READ_ONLY);
    CHECK(zt_is_untouched(&z));
    loans[1] = zb_loan_output(ZB_INPUT(1), y.data, 16, NULL);
    loans[2] = zt_lend_output(0, &z);
    CHECK_STATUS(zb_infer_with(context, loans, 3, NULL), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_ERROR_SAYS("was ZB_OUTPUT(1) meant");
    CHECK(zt_is_untouched(&z));
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
    FREE_BUFFER(&z);
}

/* --- files that are no files, or not the same any more --- */

static void a_pipe_is_no_model(void)
{
    char path[] = "/tmp/zerobind-test-XXXXXX";
    zb_model *model = NULL;
    REQUIRE(mkdtemp(path) != NULL);
    char pipe_path[64];
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", path);
    REQUIRE(mkfifo(pipe_path, 0600) == 0);
    alarm(60); /* the bug was to wait for a writer */
    CHECK_STATUS(zb_model_open(pipe_path, NULL, &model), ZB_ERROR_IO);
    alarm(0);
    unlink(pipe_path);
    rmdir(path);
}

static void write_file(const char *path, const char *model_file)
{
    char *from = zt_model_file(model_file);
    size_t size;
    void *bytes = zt_read(from, &size);
    FILE *file = fopen(path, "wb");
    REQUIRE(file != NULL && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
    free(bytes);
    free(from);
}

/* ONNX Runtime reads the file again for a context with other options. */
static void a_file_that_became_another_model(void)
{
    char folder[] = "/tmp/zerobind-test-XXXXXX";
    char path[64], other[64];
    zb_model *model = NULL;
    zb_context *context = NULL;
    zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
    REQUIRE(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    snprintf(other, sizeof other, "%s/other.onnx", folder);
    write_file(path, "add4.onnx");
    write_file(other, "add_f64.onnx");
    REQUIRE_OK(zb_model_open(path, NULL, &model));
    REQUIRE(rename(other, path) == 0);
    options.threads = 2;
    CHECK_STATUS(zb_context_create(model, &options, &context), ZB_ERROR_MODEL_INVALID);
    CHECK_ERROR_SAYS("changed");
    unlink(path);
    CHECK_STATUS(zb_context_create(model, &options, &context), ZB_ERROR_IO);
    zb_model_destroy(model);
    rmdir(folder);
}

/* The engine does not notice that it got no memory for what is inside the model, and crashes in the run. */
static void a_plan_without_memory_is_no_plan(void)
{
    zb_model *model = zt_open("embedding");
    zb_context *context = NULL;
    zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
    const zb_option plain = {"tflite.xnnpack", "false"};
    zb_status status;
    options.options = &plain;
    options.option_count = 1;
    REQUIRE_OK(zb_context_create(model, &options, &context));
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), (const int64_t[]){60000, 76, 32, 1}, 4));
    status = zb_context_prepare(context);
    /* a system that promises any amount of memory plans it; then there is nothing to see here */
    CHECK(status == ZB_ERROR_OUT_OF_MEMORY || status == ZB_OK);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void a_model_for_the_other_engine_is_told(void)
{
    zb_model *model = NULL;
    zb_model_options options = ZB_MODEL_OPTIONS_INIT;
    char *path = zt_model_path("add4");
    options.runtime = zt_is_tflite() ? ZB_RUNTIME_ONNXRUNTIME : ZB_RUNTIME_TFLITE;
    CHECK_STATUS(zb_model_open(path, &options, &model), ZB_ERROR_MODEL_INVALID);
    CHECK_ERROR_SAYS("this is a model of");
    free(path);
}

static const zt_test tests[] = {
    ON_BOTH(a_loan_of_the_planned_shape_over_a_pending_one),
    ON_BOTH(a_loan_of_the_planned_shape_after_a_resize),
    ON_BOTH(copies_follow_the_shape),
    ON_BOTH(an_open_output_has_the_models_rank),
    ON_BOTH(a_refused_bind_is_over_before_the_release),
    ON_BOTH(a_twin_of_memory_that_was_lent_has_no_value),
    ON_BOTH(a_twin_at_a_copied_address_is_reported_as_copied),
    ON_BOTH(a_loan_tells_its_side),
    ON_BOTH(a_pipe_is_no_model),
    ON_ONNXRUNTIME(a_file_that_became_another_model),
    ON_TFLITE(a_plan_without_memory_is_no_plan),
    ON_BOTH(a_model_for_the_other_engine_is_told),
};

ZT_MAIN(tests)
