/*
 * Bugs, made on purpose in the mock engine at every step: the call gives PANIC with the bug's own words, the object that it
 * happened in can only be destroyed, and everything else goes on.
 */
#include "mock.h"

#define BYTES 16u

/* Memory and tensors for one adder. */
typedef struct memory {
    zt_buffer x, y, z;
    zt_releases releases;
    zb_tensor *tensors[3];
} memory;

static void make_memory(memory *made)
{
    zb_tensor_desc desc = F32(4);
    zt_buffer *buffers[3];
    made->x = zt_buffer_new(BYTES);
    made->y = zt_buffer_new(BYTES);
    made->z = zt_buffer_new(BYTES);
    zt_fill_floats(&made->x, 1, 1);
    zt_fill_floats(&made->y, 10, 10);
    memset(&made->releases, 0, sizeof made->releases);
    buffers[0] = &made->x;
    buffers[1] = &made->y;
    buffers[2] = &made->z;
    for (int i = 0; i < 3; i++) {
        made->tensors[i] = NULL;
        REQUIRE_OK(zb_tensor_wrap(&desc, buffers[i]->data, BYTES, 0, zt_count_release, &made->releases, &made->tensors[i]));
    }
}

static void bind_all(memory *made, zb_context *context)
{
    REQUIRE_OK(zb_tensor_bind(made->tensors[0], context, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_bind(made->tensors[1], context, ZB_INPUT(1)));
    REQUIRE_OK(zb_tensor_bind(made->tensors[2], context, ZB_OUTPUT(0)));
}

static void check_runs(memory *made, zb_context *context)
{
    static const float sums[4] = {11, 22, 33, 44};
    memset(made->z.data, 0, BYTES);
    REQUIRE_OK(zb_infer(context, NULL));
    CHECK_FLOATS(zt_floats(&made->z), sums, 4, 0);
}

static void free_memory(memory *made)
{
    for (int i = 0; i < 3; i++) {
        CHECK_OK(zb_tensor_destroy(made->tensors[i]));
    }
    CHECK_EQ(made->releases.count, 3);
    FREE_BUFFER(&made->x);
    FREE_BUFFER(&made->y);
    FREE_BUFFER(&made->z);
}

/* Every call but destroy; none of them enters what is broken. */
static void check_is_poisoned(zb_context *context, zb_tensor *tensor)
{
    const int64_t dims[1] = {4};
    const void *view = NULL;
    zb_tensor *made = NULL;
    zb_tensor_desc desc;
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    zb_requirements requirements = ZB_REQUIREMENTS_INIT;
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_PANIC);
    CHECK_ERROR_SAYS("destroyed");
    CHECK_STATUS(zb_infer_with(context, NULL, 0, NULL), ZB_ERROR_PANIC);
    CHECK_STATUS(zb_tensor_bind(tensor, context, ZB_INPUT(0)), ZB_ERROR_PANIC);
    CHECK_STATUS(zb_tensor_alloc_for(context, ZB_INPUT(0), &made), ZB_ERROR_PANIC);
    CHECK_STATUS(zb_context_resize_input(context, ZB_INPUT(0), dims, 1), ZB_ERROR_PANIC);
    CHECK_STATUS(zb_context_prepare(context), ZB_ERROR_PANIC);
    CHECK_STATUS(zb_context_unbind(context, ZB_INPUT(0)), ZB_ERROR_PANIC);
    CHECK_STATUS(zb_context_swap(context, ZB_INPUT(0), ZB_INPUT(1)), ZB_ERROR_PANIC);
    CHECK_STATUS(zb_context_reset_state(context), ZB_ERROR_PANIC);
    CHECK_STATUS(zb_context_get_slot_info(context, ZB_INPUT(0), &info), ZB_ERROR_PANIC);
    CHECK_STATUS(zb_context_get_slot_desc(context, ZB_INPUT(0), &desc, NULL), ZB_ERROR_PANIC);
    CHECK_STATUS(zb_context_get_requirements(context, ZB_INPUT(0), &requirements), ZB_ERROR_PANIC);
    CHECK_STATUS(zb_context_get_binding_report(context, ZB_INPUT(0), &report), ZB_ERROR_PANIC);
    CHECK_STATUS(zb_context_get_stats(context, &stats), ZB_ERROR_PANIC);
    CHECK_STATUS(zb_context_output_view(context, ZB_OUTPUT(0), &view, NULL, NULL), ZB_ERROR_PANIC);
    CHECK(view == NULL && made == NULL);
}

/* Breaks a context in one call, and looks at what is left. */
static void check_broken_by(const char *line, zb_status (*call)(zb_context *))
{
    memory made;
    zb_model *model = mock_open(MOCK_ADD4);
    zb_context *broken = mock_context(model, line), *other = zt_context(model);
    make_memory(&made);
    bind_all(&made, broken);
    bind_all(&made, other);
    CHECK_STATUS(call(broken), ZB_ERROR_PANIC);
    CHECK_ERROR_SAYS("on purpose");
    CHECK_ERROR_SAYS("bug");
    check_is_poisoned(broken, made.tensors[0]);
    /* the tensors are free, and contexts of the same model work, old and new */
    check_runs(&made, other);
    zb_context *later = zt_context(model);
    bind_all(&made, later);
    check_runs(&made, later);
    CHECK_OK(zb_context_destroy(broken));
    CHECK_STATUS(zb_infer(broken, NULL), ZB_ERROR_INVALID_HANDLE);
    CHECK_OK(zb_context_destroy(other));
    CHECK_OK(zb_context_destroy(later));
    CHECK_OK(zb_model_destroy(model));
    CHECK_EQ(made.releases.count, 0);
    free_memory(&made);
}

static zb_status run(zb_context *context)
{
    return zb_infer(context, NULL);
}

static zb_status run_lent(zb_context *context)
{
    static float x[4], z[4];
    zb_loan loans[2];
    loans[0] = zb_loan_input(ZB_INPUT(0), x, BYTES, 0, NULL);
    loans[1] = zb_loan_output(ZB_OUTPUT(0), z, BYTES, NULL);
    return zb_infer_with(context, loans, 2, NULL);
}

static zb_status ask_requirements(zb_context *context)
{
    zb_requirements requirements = ZB_REQUIREMENTS_INIT;
    return zb_context_get_requirements(context, ZB_INPUT(0), &requirements);
}

static zb_status allocate(zb_context *context)
{
    zb_tensor *tensor = NULL;
    return zb_tensor_alloc_for(context, ZB_INPUT(0), &tensor);
}

static zb_status view(zb_context *context)
{
    const void *data = NULL;
    zb_status status = zb_context_unbind(context, ZB_OUTPUT(0));
    if (status == ZB_OK) {
        status = zb_infer(context, NULL);
    }
    return status != ZB_OK ? status : zb_context_output_view(context, ZB_OUTPUT(0), &data, NULL, NULL);
}

static void while_planning(void)
{
    check_broken_by("plan panic on purpose", zb_context_prepare);
    check_broken_by("plan panic on purpose", run);
    check_broken_by("plan panic on purpose", run_lent);
    check_broken_by("plan panic on purpose", ask_requirements);
    check_broken_by("plan panic on purpose", allocate);
}

static void while_attaching(void)
{
    check_broken_by("attach panic on purpose", run);
    check_broken_by("attach panic on purpose @3", run_lent);
}

static void while_running(void)
{
    check_broken_by("run panic on purpose", run);
    check_broken_by("run panic on purpose", run_lent);
    check_broken_by("finish panic on purpose", run);
}

static void while_viewing(void)
{
    check_broken_by("output panic on purpose", view);
}

static zb_status run_and_reset(zb_context *context)
{
    zb_status status = zb_infer(context, NULL);
    return status != ZB_OK ? status : zb_context_reset_state(context);
}

static void while_resetting(void)
{
    check_broken_by("reset panic on purpose", run_and_reset);
}

static void in_a_later_run(void)
{
    memory made;
    zb_model *model = mock_open(MOCK_ADD4);
    zb_context *context = mock_context(model, "run panic on purpose @3");
    make_memory(&made);
    bind_all(&made, context);
    check_runs(&made, context);
    check_runs(&made, context);
    CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_PANIC);
    check_is_poisoned(context, made.tensors[0]);
    CHECK_OK(zb_context_destroy(context));
    CHECK_OK(zb_model_destroy(model));
    free_memory(&made);
}

/* A poisoned context still holds what is bound to it, and gives it back when it goes. */
static void bindings_of_a_broken_context(void)
{
    memory made;
    zb_model *model = mock_open(MOCK_ADD4);
    zb_context *context = mock_context(model, "run panic on purpose");
    make_memory(&made);
    bind_all(&made, context);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(zb_tensor_destroy(made.tensors[i]));
    }
    CHECK_OK(zb_model_destroy(model));
    CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_PANIC);
    CHECK_EQ(made.releases.count, 0);
    CHECK_EQ(zb_live_objects(ZB_KIND_TENSOR), 3);
    CHECK_OK(zb_context_destroy(context));
    CHECK_EQ(made.releases.count, 3);
    FREE_BUFFER(&made.x);
    FREE_BUFFER(&made.y);
    FREE_BUFFER(&made.z);
}

static void while_opening(void)
{
    zb_model *model = NULL;
    CHECK_STATUS(mock_try_open(MOCK_ADD4 "open panic on purpose\n", &model), ZB_ERROR_PANIC);
    CHECK_ERROR_SAYS("on purpose");
    CHECK(model == NULL && zt_nothing_is_alive());
    REQUIRE_OK(mock_try_open(MOCK_ADD4, &model));
    CHECK_OK(zb_model_destroy(model));
}

/* Ownership of the bytes did not pass. */
static void while_opening_bytes_of_the_host(void)
{
    static const char text[] = "zerobind-mock 1\n" MOCK_ADD4 "open panic on purpose\n";
    zt_releases releases = {0, NULL, 0};
    zt_buffer bytes = zt_buffer_new(sizeof text - 1);
    zb_model *model = NULL;
    memcpy(bytes.data, text, bytes.size);
    CHECK_STATUS(zb_model_open_bytes(bytes.data, bytes.size, zt_count_release, &releases, NULL, &model), ZB_ERROR_PANIC);
    CHECK(model == NULL && releases.count == 0 && zt_nothing_is_alive());
    FREE_BUFFER(&bytes);
}

/* The context is the object that it happens in, and there is none yet; the model is as good as before. */
static void while_making_a_context(void)
{
    zb_context *context = NULL;
    uint32_t inputs = 0;
    zb_model *model = mock_open(MOCK_ADD4);
    CHECK_STATUS(mock_try_context(model, "context panic on purpose", &context), ZB_ERROR_PANIC);
    CHECK_ERROR_SAYS("on purpose");
    CHECK(context == NULL);
    CHECK_OK(zb_model_get_slot_counts(model, &inputs, NULL));
    REQUIRE_OK(zb_context_create(model, NULL, &context));
    CHECK_OK(zb_context_destroy(context));
    CHECK_OK(zb_model_destroy(model));
}

/* Destroy may say PANIC too; the handle is dead all the same, and what it held is given back. */
static void while_destroying(void)
{
    memory made;
    zb_model *model = mock_open(MOCK_ADD4 "model-drop panic on purpose\n");
    zb_context *context = mock_context(model, "context-drop panic on purpose");
    make_memory(&made);
    bind_all(&made, context);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(zb_tensor_destroy(made.tensors[i]));
    }
    CHECK_STATUS(zb_context_destroy(context), ZB_ERROR_PANIC);
    CHECK_ERROR_SAYS("on purpose");
    CHECK_EQ(made.releases.count, 3);
    CHECK_STATUS(zb_context_destroy(context), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_model_destroy(model), ZB_ERROR_PANIC);
    CHECK_STATUS(zb_model_destroy(model), ZB_ERROR_INVALID_HANDLE);
    FREE_BUFFER(&made.x);
    FREE_BUFFER(&made.y);
    FREE_BUFFER(&made.z);
}

/* Many of them: nothing piles up, and the process lives. */
static void over_and_over(void)
{
    zb_model *model = mock_open(MOCK_ADD4 "run panic on purpose\n");
    int rounds = zt_rounds(300, 20);
    for (int i = 0; i < rounds; i++) {
        memory made;
        zb_context *context = zt_context(model);
        make_memory(&made);
        bind_all(&made, context);
        CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_PANIC);
        CHECK_OK(zb_context_destroy(context));
        free_memory(&made);
    }
    CHECK_OK(zb_model_destroy(model));
}

static const zt_test tests[] = {
    ON_BOTH(while_planning),
    ON_BOTH(while_attaching),
    ON_BOTH(while_running),
    ON_BOTH(while_viewing),
    ON_BOTH(while_resetting),
    ON_BOTH(in_a_later_run),
    ON_BOTH(bindings_of_a_broken_context),
    ON_BOTH(while_opening),
    ON_BOTH(while_opening_bytes_of_the_host),
    ON_BOTH(while_making_a_context),
    ON_BOTH(while_destroying),
    ON_BOTH(over_and_over),
};

int main(int argc, char **argv)
{
    /* the bugs are meant: nobody wants to see where they are, and finding out takes long */
    REQUIRE(setenv("RUST_BACKTRACE", "0", 1) == 0);
    return zt_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
