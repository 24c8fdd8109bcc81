/*
 * What may be called while a run is in progress, and what that run then does: decided by gates in the mock engine, so every
 * step happens in the order that is written here. test_threads asks the same of the real engines, by chance and number.
 */
#include "mock.h"

#include <pthread.h>

#define BYTES 16u

/* --- gates: a run stands at "wait NAME" until another run says "open NAME" --- */

static void run_line(const char *line)
{
    zb_model *model = mock_open("output done f32 1\n");
    zb_context *context = mock_context(model, line);
    REQUIRE_OK(zb_infer(context, NULL));
    zb_context_destroy(context);
    zb_model_destroy(model);
}

/* Returns when somebody stands at the gate. */
static void await_door(void)
{
    run_line("run await door");
}

static void open_door(void)
{
    run_line("run open door");
}

/* --- a call on a thread of its own --- */

typedef struct call {
    pthread_t thread;
    zb_context *context;
    const zb_loan *loans;
    size_t loan_count;
    /* what to call instead of a run, if anything */
    zb_status (*instead)(zb_context *);
    zb_status status;
    char error[512];
} call;

static void *make_call(void *argument)
{
    call *made = argument;
    if (made->instead != NULL) {
        made->status = made->instead(made->context);
    } else if (made->loans != NULL) {
        made->status = zb_infer_with(made->context, made->loans, made->loan_count, NULL);
    } else {
        made->status = zb_infer(made->context, NULL);
    }
    zb_last_error(made->error, sizeof made->error, NULL);
    return NULL;
}

/* Starts the call, and returns when it stands at the door. */
static void start(call *made)
{
    made->status = -1;
    REQUIRE(pthread_create(&made->thread, NULL, make_call, made) == 0);
    await_door();
}

static void finish(call *made)
{
    open_door();
    REQUIRE(pthread_join(made->thread, NULL) == 0);
}

static call call_of(zb_context *context)
{
    call made;
    memset(&made, 0, sizeof made);
    made.context = context;
    return made;
}

/* --- z = x + y with memory, releases counted --- */

typedef struct adder {
    zb_model *model;
    zb_context *context;
    zt_buffer x, y, z;
    zt_releases releases;
    zb_tensor *tensors[3];
} adder;

static void make_adder_of(adder *made, const char *model, const char *line)
{
    zb_tensor_desc desc = F32(4);
    zt_buffer *buffers[3];
    const zb_slot slots[3] = {ZB_INPUT(0), ZB_INPUT(1), ZB_OUTPUT(0)};
    made->model = mock_open(model);
    made->context = mock_context(made->model, line);
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
        REQUIRE_OK(zb_tensor_bind(made->tensors[i], made->context, slots[i]));
    }
}

static void make_adder(adder *made, const char *line)
{
    make_adder_of(made, MOCK_ADD4, line);
}

/* on an engine that cannot stop a run */
static void make_stubborn_adder(adder *made, const char *line)
{
    make_adder_of(made, MOCK_ADD4 "unstoppable\n", line);
}

static void check_sum(adder *made)
{
    static const float sums[4] = {11, 22, 33, 44};
    CHECK_FLOATS(zt_floats(&made->z), sums, 4, 0);
}

static void destroy_tensors(adder *made)
{
    for (int i = 0; i < 3; i++) {
        CHECK_OK(zb_tensor_destroy(made->tensors[i]));
    }
}

static void free_adder(adder *made)
{
    CHECK_EQ(zt_release_count(&made->releases), 3);
    FREE_BUFFER(&made->x);
    FREE_BUFFER(&made->y);
    FREE_BUFFER(&made->z);
}

/* --- the context itself --- */

static void check_all_calls_are_busy(zb_context *context, zb_tensor *tensor)
{
    const int64_t dims[1] = {4};
    const void *view = NULL;
    size_t size = 77;
    zb_tensor *made = NULL;
    zb_tensor_desc desc = F32(1);
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    zb_requirements requirements = ZB_REQUIREMENTS_INIT;
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_BUSY);
    CHECK_ERROR_SAYS("context is running");
    CHECK_STATUS(zb_infer_with(context, NULL, 0, NULL), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_tensor_bind(tensor, context, ZB_INPUT(0)), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_tensor_alloc_for(context, ZB_INPUT(0), &made), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_context_resize_input(context, ZB_INPUT(0), dims, 1), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_context_prepare(context), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_context_unbind(context, ZB_INPUT(0)), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_context_swap(context, ZB_INPUT(0), ZB_INPUT(1)), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_context_swap(context, ZB_OUTPUT(0), ZB_OUTPUT(0)), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_context_reset_state(context), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_context_get_slot_info(context, ZB_INPUT(0), &info), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_context_get_slot_desc(context, ZB_INPUT(0), &desc, &size), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_context_get_requirements(context, ZB_INPUT(0), &requirements), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_context_get_binding_report(context, ZB_INPUT(0), &report), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_context_get_stats(context, &stats), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_context_output_view(context, ZB_OUTPUT(0), &view, &size, &desc), ZB_ERROR_BUSY);
    CHECK(view == NULL && made == NULL && size == 77 && desc.dims[0] == 1 && info.name == NULL && stats.runs == 0);
}

static void every_call_during_a_run(void)
{
    adder made;
    make_adder(&made, "run wait door");
    call run = call_of(made.context);
    start(&run);
    check_all_calls_are_busy(made.context, made.tensors[0]);
    CHECK(zt_is_untouched(&made.z));
    finish(&run);
    CHECK_EQ(run.status, ZB_OK);
    check_sum(&made);
    /* and then all is as before */
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    CHECK_OK(zb_context_get_stats(made.context, &stats));
    CHECK_EQ(stats.runs, 1);
    destroy_tensors(&made);
    CHECK_OK(zb_context_destroy(made.context));
    CHECK_OK(zb_model_destroy(made.model));
    free_adder(&made);
}

static void every_call_during_a_run_with_loans(void)
{
    adder made;
    zt_buffer lent = zt_buffer_new(BYTES);
    zb_loan loan = zt_lend_output(0, &lent);
    make_adder(&made, "run wait door");
    call run = call_of(made.context);
    run.loans = &loan;
    run.loan_count = 1;
    start(&run);
    check_all_calls_are_busy(made.context, made.tensors[0]);
    finish(&run);
    CHECK_EQ(run.status, ZB_OK);
    CHECK(zt_floats(&lent)[3] == 44);
    CHECK(zt_is_untouched(&made.z));
    destroy_tensors(&made);
    CHECK_OK(zb_context_destroy(made.context));
    CHECK_OK(zb_model_destroy(made.model));
    FREE_BUFFER(&lent);
    free_adder(&made);
}

static void every_call_while_planning(void)
{
    adder made;
    make_adder(&made, "plan wait door");
    call plan = call_of(made.context);
    plan.instead = zb_context_prepare;
    start(&plan);
    check_all_calls_are_busy(made.context, made.tensors[0]);
    finish(&plan);
    CHECK_EQ(plan.status, ZB_OK);
    CHECK_OK(zb_infer(made.context, NULL));
    check_sum(&made);
    destroy_tensors(&made);
    CHECK_OK(zb_context_destroy(made.context));
    CHECK_OK(zb_model_destroy(made.model));
    free_adder(&made);
}

/* Runs once, so that there is something to reset, and looks at the sum. */
static void run_once(adder *made)
{
    REQUIRE_OK(zb_infer(made->context, NULL));
    check_sum(made);
    memset(made->z.data, 0xCD, BYTES);
}

static void every_call_during_a_reset(void)
{
    adder made;
    make_adder(&made, "reset wait door");
    run_once(&made);
    call reset = call_of(made.context);
    reset.instead = zb_context_reset_state;
    start(&reset);
    check_all_calls_are_busy(made.context, made.tensors[0]);
    /* a reset uses no tensor: another context may */
    zb_context *second = zt_context(made.model);
    for (uint32_t i = 0; i < 2; i++) {
        REQUIRE_OK(zb_tensor_bind(made.tensors[i], second, ZB_INPUT(i)));
    }
    REQUIRE_OK(zb_tensor_bind(made.tensors[2], second, ZB_OUTPUT(0)));
    CHECK_OK(zb_infer(second, NULL));
    check_sum(&made);
    CHECK_OK(zb_context_destroy(second));
    memset(made.z.data, 0xCD, BYTES);
    finish(&reset);
    CHECK_EQ(reset.status, ZB_OK);
    CHECK(zt_is_untouched(&made.z));
    CHECK_OK(zb_infer(made.context, NULL));
    check_sum(&made);
    destroy_tensors(&made);
    CHECK_OK(zb_context_destroy(made.context));
    CHECK_OK(zb_model_destroy(made.model));
    free_adder(&made);
}

/* A swap that is refused during a run does not come late: what is bound where is as before. */
static void a_swap_during_a_run_is_forgotten(void)
{
    adder made;
    make_adder(&made, "run wait door @1");
    call run = call_of(made.context);
    start(&run);
    CHECK_STATUS(zb_context_swap(made.context, ZB_INPUT(0), ZB_OUTPUT(0)), ZB_ERROR_BUSY);
    CHECK_ERROR_SAYS("context is running");
    finish(&run);
    CHECK_EQ(run.status, ZB_OK);
    check_sum(&made);
    /* z = x + y, then with x and z in each other's place x = z + y */
    CHECK_OK(zb_infer(made.context, NULL));
    check_sum(&made);
    CHECK_OK(zb_context_swap(made.context, ZB_INPUT(0), ZB_OUTPUT(0)));
    CHECK_OK(zb_infer(made.context, NULL));
    static const float more[4] = {21, 42, 63, 84};
    CHECK_FLOATS(zt_floats(&made.x), more, 4, 0);
    check_sum(&made);
    destroy_tensors(&made);
    CHECK_OK(zb_context_destroy(made.context));
    CHECK_OK(zb_model_destroy(made.model));
    free_adder(&made);
}

/* --- destroy during a run --- */

/* Nothing waits, the run is asked to stop, and when it has ended everything goes, once. */
static void check_destroy_during(adder *made, call *run)
{
    start(run);
    CHECK_OK(zb_context_destroy(made->context));
    CHECK_STATUS(zb_context_destroy(made->context), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_infer(made->context, NULL), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_tensor_bind(made->tensors[0], made->context, ZB_INPUT(0)), ZB_ERROR_INVALID_HANDLE);
    CHECK_OK(zb_model_destroy(made->model));
    destroy_tensors(made);
    CHECK_EQ(zt_release_count(&made->releases), 0);
    CHECK_EQ(zb_live_objects(ZB_KIND_CONTEXT), 1);
    CHECK_EQ(zb_live_objects(ZB_KIND_MODEL), 1);
    CHECK_EQ(zb_live_objects(ZB_KIND_TENSOR), 3);
    finish(run);
    CHECK(zt_nothing_is_alive());
}

static void destroy_during_a_run(void)
{
    adder made;
    make_adder(&made, "run wait door");
    call run = call_of(made.context);
    check_destroy_during(&made, &run);
    CHECK_EQ(run.status, ZB_ERROR_CANCELLED);
    CHECK(zt_is_untouched(&made.z));
    free_adder(&made);
}

static void destroy_during_a_run_that_cannot_stop(void)
{
    adder made;
    make_stubborn_adder(&made, "run wait door");
    call run = call_of(made.context);
    check_destroy_during(&made, &run);
    CHECK_EQ(run.status, ZB_OK);
    check_sum(&made);
    free_adder(&made);
}

static void destroy_during_a_run_with_loans(void)
{
    adder made;
    zt_buffer lent = zt_buffer_new(BYTES);
    zb_loan loan = zt_lend_output(0, &lent);
    make_stubborn_adder(&made, "run wait door");
    call run = call_of(made.context);
    run.loans = &loan;
    run.loan_count = 1;
    check_destroy_during(&made, &run);
    CHECK_EQ(run.status, ZB_OK);
    CHECK(zt_floats(&lent)[0] == 11);
    FREE_BUFFER(&lent);
    free_adder(&made);
}

static void destroy_during_a_run_that_fails(void)
{
    adder made;
    make_stubborn_adder(&made, "run panic never reached");
    zb_context_destroy(made.context);
    made.context = NULL;
    zb_option options[2] = {{"mock.line", "run wait door"}, {"mock.line", "finish fail RUNTIME no luck today"}};
    zb_context_options with = ZB_CONTEXT_OPTIONS_INIT;
    with.options = options;
    with.option_count = 2;
    REQUIRE_OK(zb_context_create(made.model, &with, &made.context));
    for (uint32_t i = 0; i < 2; i++) {
        REQUIRE_OK(zb_tensor_bind(made.tensors[i], made.context, ZB_INPUT(i)));
    }
    REQUIRE_OK(zb_tensor_bind(made.tensors[2], made.context, ZB_OUTPUT(0)));
    call run = call_of(made.context);
    check_destroy_during(&made, &run);
    CHECK_EQ(run.status, ZB_ERROR_RUNTIME);
    CHECK(strstr(run.error, "no luck today") != NULL);
    free_adder(&made);
}

static void destroy_while_planning(void)
{
    adder made;
    make_adder(&made, "plan wait door");
    call plan = call_of(made.context);
    plan.instead = zb_context_prepare;
    check_destroy_during(&made, &plan);
    CHECK_EQ(plan.status, ZB_OK);
    free_adder(&made);
}

static void destroy_during_a_reset(void)
{
    adder made;
    make_adder(&made, "reset wait door");
    run_once(&made);
    call reset = call_of(made.context);
    reset.instead = zb_context_reset_state;
    check_destroy_during(&made, &reset);
    CHECK_EQ(reset.status, ZB_OK);
    CHECK(zt_is_untouched(&made.z));
    free_adder(&made);
}

/* The thread that ends the last use calls the release. */
static void remember_thread(void *user_data, void *data, size_t size)
{
    (void)data;
    (void)size;
    *(pthread_t *)user_data = pthread_self();
}

static void release_is_called_by_the_last_user(void)
{
    adder made;
    zb_tensor_desc desc = F32(4);
    zb_tensor *tensor = NULL;
    zt_buffer other = zt_buffer_new(BYTES);
    pthread_t released_by = pthread_self();
    make_adder(&made, "run wait door");
    REQUIRE_OK(zb_tensor_wrap(&desc, other.data, BYTES, 0, remember_thread, &released_by, &tensor));
    REQUIRE_OK(zb_tensor_bind(tensor, made.context, ZB_INPUT(0)));
    call run = call_of(made.context);
    start(&run);
    CHECK_OK(zb_tensor_destroy(tensor));
    CHECK_OK(zb_context_destroy(made.context));
    CHECK_OK(zb_model_destroy(made.model));
    destroy_tensors(&made);
    finish(&run);
    CHECK(pthread_equal(released_by, run.thread));
    FREE_BUFFER(&other);
    free_adder(&made);
}

/* --- tensors that a run in progress uses --- */

/* A second context of the same model, with these tensors. */
static zb_context *bind_second(adder *made, zb_tensor *x, zb_tensor *y, zb_tensor *z)
{
    zb_context *context = zt_context(made->model);
    REQUIRE_OK(zb_tensor_bind(x, context, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_bind(y, context, ZB_INPUT(1)));
    if (z != NULL) {
        REQUIRE_OK(zb_tensor_bind(z, context, ZB_OUTPUT(0)));
    }
    return context;
}

static void tensors_of_a_run_in_progress(void)
{
    adder made;
    zb_tensor_desc desc = F32(4);
    zt_buffer spare = zt_buffer_new(BYTES);
    void *data = NULL;
    make_adder(&made, "run wait door");
    zb_tensor *out = zt_wrap(&desc, &spare);
    zb_tensor *x = made.tensors[0], *y = made.tensors[1], *z = made.tensors[2];
    /* bound before the run, and while it runs */
    zb_context *reads_inputs = bind_second(&made, x, y, out);
    zb_context *writes_output = bind_second(&made, x, y, z);
    call run = call_of(made.context);
    start(&run);
    zb_context *reads_output = bind_second(&made, z, y, NULL);
    zb_context *writes_input = bind_second(&made, y, y, x);
    /* what is read can be read by others; what is written can be used by nobody, and what is read not be written */
    CHECK_OK(zb_infer(reads_inputs, NULL));
    CHECK(zt_floats(&spare)[0] == 11);
    CHECK_STATUS(zb_infer(writes_output, NULL), ZB_ERROR_BUSY);
    CHECK_ERROR_SAYS("output 0 'z'");
    CHECK_ERROR_SAYS("another context");
    CHECK_STATUS(zb_infer(reads_output, NULL), ZB_ERROR_BUSY);
    CHECK_ERROR_SAYS("input 0 'x'");
    CHECK_STATUS(zb_infer(writes_input, NULL), ZB_ERROR_BUSY);
    CHECK(zt_is_untouched(&made.z));
    CHECK(zt_floats(&made.x)[0] == 1);
    /* that somebody was refused changes nothing for others */
    CHECK_OK(zb_infer(reads_inputs, NULL));
    /* questions and destroys are always possible */
    CHECK_OK(zb_tensor_get_data(z, &data, NULL));
    CHECK_ADDRESS(data, made.z.data);
    CHECK_OK(zb_tensor_get_desc(z, &desc));
    destroy_tensors(&made);
    CHECK_STATUS(zb_tensor_get_data(z, &data, NULL), ZB_ERROR_INVALID_HANDLE);
    finish(&run);
    CHECK_EQ(run.status, ZB_OK);
    check_sum(&made);
    CHECK_OK(zb_infer(writes_output, NULL));
    CHECK_OK(zb_infer(reads_output, NULL));
    CHECK_OK(zb_infer(writes_input, NULL));
    CHECK_OK(zb_tensor_destroy(out));
    CHECK_OK(zb_context_destroy(reads_inputs));
    CHECK_OK(zb_context_destroy(writes_output));
    CHECK_OK(zb_context_destroy(reads_output));
    CHECK_OK(zb_context_destroy(writes_input));
    CHECK_OK(zb_context_destroy(made.context));
    CHECK_OK(zb_model_destroy(made.model));
    FREE_BUFFER(&spare);
    free_adder(&made);
}

/* A loan in the place of the binding leaves the bound tensor free. */
static void a_shadowed_tensor_is_free(void)
{
    adder made;
    zt_buffer lent = zt_buffer_new(BYTES);
    zb_loan loan = zt_lend_output(0, &lent);
    make_adder(&made, "run wait door");
    zb_context *second = bind_second(&made, made.tensors[0], made.tensors[1], made.tensors[2]);
    call run = call_of(made.context);
    run.loans = &loan;
    run.loan_count = 1;
    start(&run);
    CHECK_OK(zb_infer(second, NULL));
    check_sum(&made);
    finish(&run);
    CHECK_EQ(run.status, ZB_OK);
    destroy_tensors(&made);
    CHECK_OK(zb_context_destroy(second));
    CHECK_OK(zb_context_destroy(made.context));
    CHECK_OK(zb_model_destroy(made.model));
    FREE_BUFFER(&lent);
    free_adder(&made);
}

/* --- everything else goes on --- */

static void the_model_and_its_other_contexts(void)
{
    adder made;
    uint32_t inputs = 0;
    zb_slot slot = 0;
    make_adder(&made, "run wait door");
    call run = call_of(made.context);
    start(&run);
    CHECK_OK(zb_model_get_slot_counts(made.model, &inputs, NULL));
    CHECK_OK(zb_model_find_input(made.model, "y", &slot));
    zb_context *second = bind_second(&made, made.tensors[0], made.tensors[1], NULL);
    CHECK_OK(zb_infer(second, NULL));
    CHECK_OK(zb_context_destroy(second));
    finish(&run);
    CHECK_EQ(run.status, ZB_OK);
    destroy_tensors(&made);
    CHECK_OK(zb_context_destroy(made.context));
    CHECK_OK(zb_model_destroy(made.model));
    free_adder(&made);
}

/* A refused run has to leave tensors as free as it found them, also those that it had taken already. */
static void a_refused_run_takes_nothing(void)
{
    adder made;
    zb_tensor_desc desc = F32(4);
    zt_buffer spare = zt_buffer_new(BYTES);
    zt_fill_floats(&spare, 0, 0);
    make_adder(&made, "run wait door");
    zb_tensor *own = zt_wrap(&desc, &spare);
    /* takes its own tensor, then wants the one that is being written */
    zb_context *refused = bind_second(&made, own, made.tensors[0], made.tensors[2]);
    zb_context *writes_own = bind_second(&made, made.tensors[0], made.tensors[1], own);
    call run = call_of(made.context);
    start(&run);
    for (int i = 0; i < 10; i++) {
        CHECK_STATUS(zb_infer(refused, NULL), ZB_ERROR_BUSY);
        CHECK_OK(zb_infer(writes_own, NULL));
    }
    finish(&run);
    CHECK_OK(zb_infer(refused, NULL));
    CHECK_OK(zb_tensor_destroy(own));
    destroy_tensors(&made);
    CHECK_OK(zb_context_destroy(refused));
    CHECK_OK(zb_context_destroy(writes_own));
    CHECK_OK(zb_context_destroy(made.context));
    CHECK_OK(zb_model_destroy(made.model));
    FREE_BUFFER(&spare);
    free_adder(&made);
}

static const zt_test tests[] = {
    ON_BOTH(every_call_during_a_run),
    ON_BOTH(every_call_during_a_run_with_loans),
    ON_BOTH(every_call_while_planning),
    ON_BOTH(every_call_during_a_reset),
    ON_BOTH(a_swap_during_a_run_is_forgotten),
    ON_BOTH(destroy_during_a_run),
    ON_BOTH(destroy_during_a_run_that_cannot_stop),
    ON_BOTH(destroy_during_a_run_with_loans),
    ON_BOTH(destroy_during_a_run_that_fails),
    ON_BOTH(destroy_while_planning),
    ON_BOTH(destroy_during_a_reset),
    ON_BOTH(release_is_called_by_the_last_user),
    ON_BOTH(tensors_of_a_run_in_progress),
    ON_BOTH(a_shadowed_tensor_is_free),
    ON_BOTH(the_model_and_its_other_contexts),
    ON_BOTH(a_refused_run_takes_nothing),
};

ZT_MAIN(tests)
