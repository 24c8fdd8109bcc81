/* Runs that are asked to stop: by another thread, by a deadline, by a destroy. */
#include "harness.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

/* long_chain: y = x + 300 in 300 operators over 2^20 floats; no engine stops inside one of them */
#define COUNT ((size_t)1 << 20)
#define BYTES (COUNT * sizeof(float))
#define MILLISECOND UINT64_C(1000000)

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void sleep_ns(uint64_t time)
{
    struct timespec left = {(time_t)(time / 1000000000u), (long)(time % 1000000000u)};
    nanosleep(&left, NULL);
}

/* --- a context with memory bound to it --- */

typedef struct chain {
    zb_model *model;
    zb_context *context;
    zt_buffer x, y;
    /* how long a whole run takes */
    uint64_t whole;
} chain;

static zb_context *stoppable_context(zb_model *model)
{
    /* XNNPACK takes over the whole chain as one operator */
    zb_option option = {"tflite.xnnpack", "false"};
    zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
    zb_context *context = NULL;
    options.options = &option;
    options.option_count = 1;
    REQUIRE_OK(zb_context_create(model, &options, &context));
    return context;
}

static void check_sums(const chain *made)
{
    size_t wrong = 0;
    for (size_t i = 0; i < COUNT; i++) {
        wrong += zt_floats(&made->y)[i] != zt_floats(&made->x)[i] + 300;
    }
    CHECK_EQ(wrong, 0);
    CHECK_GUARDS(&made->y);
}

static void make_chain(chain *made, int with_xnnpack)
{
    made->model = zt_open("long_chain");
    made->context = with_xnnpack ? zt_context(made->model) : stoppable_context(made->model);
    made->x = zt_buffer_new(BYTES);
    made->y = zt_buffer_new(BYTES);
    /* small whole numbers, so that every sum is exact */
    for (size_t i = 0; i < COUNT; i++) {
        zt_floats(&made->x)[i] = (float)(i % 1000);
    }
    zt_bind(made->context, ZB_INPUT(0), F32((int64_t)COUNT), &made->x);
    zt_bind(made->context, ZB_OUTPUT(0), F32((int64_t)COUNT), &made->y);
    REQUIRE_OK(zb_context_prepare(made->context));
    uint64_t start = now_ns();
    REQUIRE_OK(zb_infer(made->context, NULL));
    made->whole = now_ns() - start;
    check_sums(made);
}

static void check_next_run(chain *made)
{
    memset(made->y.data, 0xCD, BYTES);
    REQUIRE_OK(zb_infer(made->context, NULL));
    check_sums(made);
}

static void free_chain(chain *made)
{
    zb_context_destroy(made->context);
    zb_model_destroy(made->model);
    FREE_BUFFER(&made->x);
    FREE_BUFFER(&made->y);
}

/* --- a run on another thread --- */

typedef struct run {
    pthread_t thread;
    zb_context *context;
    const zb_loan *loans;
    size_t loan_count;
    zb_status status;
    char error[300];
} run;

static void *run_body(void *argument)
{
    run *own = argument;
    size_t needed = 0;
    own->status = zb_infer_with(own->context, own->loans, own->loan_count, NULL);
    if (own->status != ZB_OK) {
        CHECK(zb_last_error(own->error, sizeof own->error, &needed) != ZB_ERROR_NULL_ARGUMENT);
    }
    return NULL;
}

static run start_run(zb_context *context)
{
    run made;
    memset(&made, 0, sizeof made);
    made.context = context;
    return made;
}

static void start(run *own)
{
    REQUIRE(pthread_create(&own->thread, NULL, run_body, own) == 0);
}

static void join(run *own)
{
    REQUIRE(pthread_join(own->thread, NULL) == 0);
}

/* Cancels in the middle of a run, again until it was met: a thread may start late. */
static zb_status cancel_in_the_middle(chain *made)
{
    zb_status status = ZB_OK;
    for (int attempt = 0; attempt < 20 && status == ZB_OK; attempt++) {
        run own = start_run(made->context);
        start(&own);
        sleep_ns(made->whole / 4);
        CHECK_OK(zb_context_cancel(made->context));
        join(&own);
        status = own.status;
        if (status == ZB_ERROR_CANCELLED) {
            CHECK(strstr(own.error, "cancelled during the run") != NULL);
        }
    }
    return status;
}

static void a_cancel_stops_a_run(void)
{
    const void *data = NULL;
    chain made;
    make_chain(&made, 0);
    for (int i = 0; i < zt_rounds(5, 1); i++) {
        CHECK_EQ(cancel_in_the_middle(&made), ZB_ERROR_CANCELLED);
        CHECK_GUARDS(&made.y);
        CHECK_STATUS(zb_context_output_view(made.context, ZB_OUTPUT(0), &data, NULL, NULL), ZB_ERROR_UNBOUND);
        check_next_run(&made);
    }
    free_chain(&made);
}

static void a_cancel_stops_a_run_with_loans(void)
{
    chain made;
    zb_status status = ZB_OK;
    make_chain(&made, 0);
    zt_buffer lent = zt_buffer_new(BYTES);
    zb_loan loan = zt_lend_output(0, &lent);
    for (int attempt = 0; attempt < 20 && status == ZB_OK; attempt++) {
        run own = start_run(made.context);
        own.loans = &loan;
        own.loan_count = 1;
        start(&own);
        sleep_ns(made.whole / 4);
        CHECK_OK(zb_context_cancel(made.context));
        join(&own);
        status = own.status;
    }
    CHECK_EQ(status, ZB_ERROR_CANCELLED);
    /* what was lent is not known any more, and the binding is back */
    FREE_BUFFER(&lent);
    check_next_run(&made);
    free_chain(&made);
}

static void a_cancel_without_a_run_is_forgotten(void)
{
    zb_model *model = zt_open("chain");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(4096), y = zt_buffer_new(4096);
    zt_fill_floats(&x, 0, 1);
    CHECK_OK(zb_context_cancel(context));
    zt_bind(context, ZB_INPUT(0), F32(1024), &x);
    zt_bind(context, ZB_OUTPUT(0), F32(1024), &y);
    for (int i = 0; i < 5; i++) {
        CHECK_OK(zb_context_cancel(context));
        memset(y.data, 0, y.size);
        REQUIRE_OK(zb_infer(context, NULL));
        CHECK(zt_floats(&y)[0] == 40 && zt_floats(&y)[1023] == 1063);
    }
    CHECK_OK(zb_context_destroy(context));
    CHECK_STATUS(zb_context_cancel(context), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_context_cancel((zb_context *)model), ZB_ERROR_INVALID_HANDLE);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

/* TFLite looks between two operators, and a model of one has no such place; there it does not pay for looking. */
static void a_model_of_one_operator(void)
{
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    CHECK_STATUS(zb_context_cancel(context), zt_is_tflite() ? ZB_ERROR_UNSUPPORTED : ZB_OK);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

typedef struct nagger {
    zb_context *context;
    int stop;
    int64_t calls;
} nagger;

static void *nag(void *argument)
{
    nagger *own = argument;
    while (!__atomic_load_n(&own->stop, __ATOMIC_ACQUIRE)) {
        CHECK_OK(zb_context_cancel(own->context));
        own->calls++;
        sched_yield();
    }
    return NULL;
}

/* Requests that come at any moment never reach a later run than the one they were made in. */
static void requests_at_every_moment(void)
{
    zb_model *model = zt_open("chain");
    nagger own = {stoppable_context(model), 0, 0};
    zt_buffer x = zt_buffer_new(4096), y = zt_buffer_new(4096);
    pthread_t thread;
    int completed = 0, cancelled = 0;
    zt_fill_floats(&x, 0, 1);
    zt_bind(own.context, ZB_INPUT(0), F32(1024), &x);
    zt_bind(own.context, ZB_OUTPUT(0), F32(1024), &y);
    REQUIRE_OK(zb_infer(own.context, NULL));
    REQUIRE(pthread_create(&thread, NULL, nag, &own) == 0);
    for (int i = 0; i < zt_rounds(4000, 100); i++) {
        zb_status status = zb_infer(own.context, NULL);
        CHECK(status == ZB_OK || status == ZB_ERROR_CANCELLED);
        completed += status == ZB_OK;
        cancelled += status == ZB_ERROR_CANCELLED;
    }
    __atomic_store_n(&own.stop, 1, __ATOMIC_RELEASE);
    REQUIRE(pthread_join(thread, NULL) == 0);
    CHECK(own.calls > 0 && completed + cancelled > 0);
    for (int i = 0; i < 100; i++) {
        REQUIRE_OK(zb_infer(own.context, NULL));
    }
    for (size_t i = 0; i < 1024; i++) {
        CHECK(zt_floats(&y)[i] == zt_floats(&x)[i] + 40);
    }
    zb_context_destroy(own.context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void a_destroy_stops_a_run(void)
{
    chain made;
    zb_status status = ZB_OK;
    make_chain(&made, 0);
    for (int attempt = 0; attempt < 20 && status != ZB_ERROR_CANCELLED; attempt++) {
        run own = start_run(made.context);
        start(&own);
        sleep_ns(made.whole / 4);
        CHECK_OK(zb_context_destroy(made.context));
        join(&own);
        status = own.status;
        /* a thread that was late finds no context at all, or one that had finished */
        CHECK(status == ZB_ERROR_CANCELLED || status == ZB_ERROR_INVALID_HANDLE || status == ZB_OK);
        made.context = stoppable_context(made.model);
        zt_bind(made.context, ZB_INPUT(0), F32((int64_t)COUNT), &made.x);
        zt_bind(made.context, ZB_OUTPUT(0), F32((int64_t)COUNT), &made.y);
    }
    CHECK_EQ(status, ZB_ERROR_CANCELLED);
    check_next_run(&made);
    free_chain(&made);
}

/* The request is granted and has no effect, and the run says so. */
static void what_a_delegate_has_taken_over_runs_to_its_end(void)
{
    chain made;
    make_chain(&made, 1);
    run own = start_run(made.context);
    start(&own);
    sleep_ns(made.whole / 4);
    CHECK_OK(zb_context_cancel(made.context));
    join(&own);
    /* cancelled only when the request came before the engine was started */
    CHECK(own.status == ZB_OK || strstr(own.error, "before the engine was started") != NULL);
    if (own.status == ZB_OK) {
        check_sums(&made);
    }
    check_next_run(&made);
    free_chain(&made);
}

/* --- deadlines --- */

static void a_deadline_that_has_passed_starts_nothing(void)
{
    zb_infer_options options = ZB_INFER_OPTIONS_INIT;
    chain made;
    make_chain(&made, 0);
    memset(made.y.data, 0xCD, BYTES);
    options.deadline_ns = 1;
    CHECK_STATUS(zb_infer(made.context, &options), ZB_ERROR_DEADLINE_EXCEEDED);
    CHECK_ERROR_SAYS("nothing was written");
    CHECK(zt_is_untouched(&made.y));
    check_next_run(&made);
    free_chain(&made);
}

static void a_deadline_ends_a_run(void)
{
    zb_infer_options options = ZB_INFER_OPTIONS_INIT;
    uint64_t best = UINT64_MAX;
    chain made;
    make_chain(&made, 0);
    options.deadline_ns = made.whole / 3;
    for (int i = 0; i < zt_rounds(5, 1); i++) {
        uint64_t start = now_ns();
        CHECK_STATUS(zb_infer(made.context, &options), ZB_ERROR_DEADLINE_EXCEEDED);
        uint64_t late = now_ns() - start - options.deadline_ns;
        best = late < best ? late : best;
        CHECK_ERROR_SAYS("deadline");
        check_next_run(&made);
    }
    if (!CHECK(zt_under_memcheck() || best <= 20 * MILLISECOND)) {
        fprintf(stderr, "    at best %llu ns after the deadline\n", (unsigned long long)best);
    }
    free_chain(&made);
}

static void a_deadline_that_is_kept_changes_nothing(void)
{
    static const uint64_t deadlines[] = {60000 * MILLISECOND, UINT64_MAX, UINT64_MAX / 2};
    zb_infer_options options = ZB_INFER_OPTIONS_INIT;
    chain made;
    make_chain(&made, 0);
    for (size_t i = 0; i < sizeof deadlines / sizeof *deadlines; i++) {
        options.deadline_ns = deadlines[i];
        memset(made.y.data, 0xCD, BYTES);
        CHECK_OK(zb_infer(made.context, &options));
        check_sums(&made);
    }
    free_chain(&made);
}

/* A deadline that passes right after its run does not hit the next one. */
static void deadlines_around_the_end_of_a_run(void)
{
    zb_infer_options options = ZB_INFER_OPTIONS_INIT;
    zb_model *model = zt_open("chain");
    zb_context *context = stoppable_context(model);
    zt_buffer x = zt_buffer_new(4096), y = zt_buffer_new(4096);
    zt_fill_floats(&x, 0, 1);
    zt_bind(context, ZB_INPUT(0), F32(1024), &x);
    zt_bind(context, ZB_OUTPUT(0), F32(1024), &y);
    for (int i = 0; i < zt_rounds(2000, 50); i++) {
        options.deadline_ns = 1000 + (uint64_t)(i % 100) * 1000;
        zb_status status = zb_infer(context, &options);
        CHECK(status == ZB_OK || status == ZB_ERROR_DEADLINE_EXCEEDED);
        REQUIRE_OK(zb_infer(context, NULL));
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

/* --- on a queue --- */

/* An executor that does nothing of its own accord: the test runs the task when it likes. */
typedef struct by_hand {
    zb_task_fn run;
    void *task;
    int submitted;
} by_hand;

static int32_t keep_task(void *user_data, zb_task_fn run, void *task)
{
    by_hand *kept = user_data;
    kept->run = run;
    kept->task = task;
    kept->submitted++;
    return 0;
}

static zb_queue *queue_by_hand(by_hand *kept)
{
    zb_queue *queue = NULL;
    zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
    memset(kept, 0, sizeof *kept);
    options.submit = keep_task;
    options.user_data = kept;
    REQUIRE_OK(zb_queue_create(&options, &queue));
    return queue;
}

static zb_queue *queue_with_a_thread(void)
{
    zb_queue *queue = NULL;
    REQUIRE_OK(zb_queue_create(NULL, &queue));
    return queue;
}

static zb_event *enqueue(zb_queue *queue, zb_context *context, uint64_t deadline_ns)
{
    zb_event *event = NULL;
    zb_infer_options options = ZB_INFER_OPTIONS_INIT;
    options.deadline_ns = deadline_ns;
    REQUIRE_OK(zb_queue_infer(queue, context, &options, &event));
    return event;
}

static zb_status ending(zb_event *event)
{
    zb_status result = -1;
    REQUIRE_OK(zb_event_wait(event, UINT64_MAX, &result));
    return result;
}

static int says(zb_event *event, const char *part)
{
    char text[512] = "";
    CHECK_OK(zb_event_get_error(event, text, sizeof text, NULL));
    return strstr(text, part) != NULL;
}

static uint64_t runs_of(zb_context *context)
{
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    REQUIRE_OK(zb_context_get_stats(context, &stats));
    return stats.runs;
}

static void queued_and_cancelled_is_never_run(void)
{
    chain made;
    by_hand kept;
    make_chain(&made, 0);
    memset(made.y.data, 0xCD, BYTES);
    zb_queue *queue = queue_by_hand(&kept);
    uint64_t runs = runs_of(made.context);
    zb_event *event = enqueue(queue, made.context, 0);
    CHECK_EQ(kept.submitted, 1);
    CHECK_OK(zb_event_cancel(event));
    CHECK_EQ(ending(event), ZB_ERROR_CANCELLED);
    /* the task that is still out there finds nothing to do */
    kept.run(kept.task);
    CHECK_EQ(ending(event), ZB_ERROR_CANCELLED);
    CHECK(zt_is_untouched(&made.y));
    CHECK_EQ(runs_of(made.context), runs);
    CHECK_OK(zb_event_destroy(event));
    check_next_run(&made);
    CHECK_OK(zb_queue_destroy(queue));
    free_chain(&made);
}

/* Cancels a queued run in its middle, again until it was met. */
static zb_status cancel_queued_in_the_middle(chain *made, zb_queue *queue)
{
    zb_status result = ZB_OK;
    for (int attempt = 0; attempt < 20 && result == ZB_OK; attempt++) {
        zb_event *event = enqueue(queue, made->context, 0);
        sleep_ns(made->whole / 4);
        CHECK_OK(zb_event_cancel(event));
        result = ending(event);
        CHECK(result == ZB_OK || (result == ZB_ERROR_CANCELLED && says(event, "cancelled")));
        CHECK_OK(zb_event_destroy(event));
    }
    return result;
}

static void a_cancel_stops_a_queued_run(void)
{
    chain made;
    make_chain(&made, 0);
    zb_queue *queue = queue_with_a_thread();
    for (int i = 0; i < zt_rounds(4, 1); i++) {
        CHECK_EQ(cancel_queued_in_the_middle(&made, queue), ZB_ERROR_CANCELLED);
        CHECK_GUARDS(&made.y);
        check_next_run(&made);
        memset(made.y.data, 0xCD, BYTES);
        zb_event *event = enqueue(queue, made.context, 0);
        CHECK_EQ(ending(event), ZB_OK);
        check_sums(&made);
        CHECK_OK(zb_event_destroy(event));
    }
    CHECK_OK(zb_queue_destroy(queue));
    free_chain(&made);
}

/* The request is granted, has no effect, and the event says so. */
static void what_a_delegate_has_taken_over_ends_well_on_a_queue(void)
{
    chain made;
    make_chain(&made, 1);
    zb_queue *queue = queue_with_a_thread();
    memset(made.y.data, 0xCD, BYTES);
    zb_event *event = enqueue(queue, made.context, 0);
    sleep_ns(made.whole / 4);
    zb_status asked = zb_event_cancel(event);
    CHECK(asked == ZB_OK || asked == ZB_ERROR_UNSUPPORTED);
    zb_status result = ending(event);
    /* cancelled only when the request came before the engine was started */
    CHECK(result == ZB_OK || says(event, "before"));
    if (result == ZB_OK) {
        check_sums(&made);
    }
    CHECK_OK(zb_event_destroy(event));
    check_next_run(&made);
    CHECK_OK(zb_queue_destroy(queue));
    free_chain(&made);
}

typedef struct canceller {
    zb_event *next;
    int stop;
} canceller;

static void *cancel_events(void *argument)
{
    canceller *own = argument;
    while (!__atomic_load_n(&own->stop, __ATOMIC_ACQUIRE)) {
        zb_event *event = __atomic_exchange_n(&own->next, NULL, __ATOMIC_ACQ_REL);
        if (event != NULL) {
            CHECK_OK(zb_event_cancel(event));
            CHECK_OK(zb_event_destroy(event));
        } else {
            sched_yield();
        }
    }
    return NULL;
}

/* Each request is for one run: the one behind it, of the same context, always ends well. */
static void cancelled_at_every_moment(void)
{
    zb_model *model = zt_open("chain");
    zb_context *context = stoppable_context(model);
    zb_queue *queue = queue_with_a_thread();
    zt_buffer x = zt_buffer_new(4096), y = zt_buffer_new(4096);
    canceller own = {NULL, 0};
    pthread_t thread;
    zt_fill_floats(&x, 0, 1);
    zt_bind(context, ZB_INPUT(0), F32(1024), &x);
    zt_bind(context, ZB_OUTPUT(0), F32(1024), &y);
    REQUIRE(pthread_create(&thread, NULL, cancel_events, &own) == 0);
    for (int i = 0; i < zt_rounds(2000, 50); i++) {
        zb_event *first = enqueue(queue, context, 0), *second = enqueue(queue, context, 0);
        sleep_ns((uint64_t)(i % 8) * 10000);
        __atomic_store_n(&own.next, first, __ATOMIC_RELEASE);
        CHECK_EQ(ending(second), ZB_OK);
        CHECK(zt_floats(&y)[0] == 40 && zt_floats(&y)[1023] == 1063);
        CHECK_OK(zb_event_destroy(second));
        memset(y.data, 0xCD, y.size);
        while (__atomic_load_n(&own.next, __ATOMIC_ACQUIRE) != NULL) {
            sched_yield();
        }
    }
    __atomic_store_n(&own.stop, 1, __ATOMIC_RELEASE);
    REQUIRE(pthread_join(thread, NULL) == 0);
    CHECK_OK(zb_queue_destroy(queue));
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

/* --- deadlines on a queue: they count from the moment when the operation was put there --- */

static void a_deadline_that_passes_in_line(void)
{
    chain made;
    by_hand kept;
    make_chain(&made, 0);
    memset(made.y.data, 0xCD, BYTES);
    zb_queue *queue = queue_by_hand(&kept);
    /* longer than a run, so that only the time in line can be what was too long */
    uint64_t deadline = 5 * made.whole + 5 * MILLISECOND;
    uint64_t runs = runs_of(made.context);
    zb_event *event = enqueue(queue, made.context, deadline);
    sleep_ns(deadline + MILLISECOND);
    kept.run(kept.task);
    CHECK_EQ(ending(event), ZB_ERROR_DEADLINE_EXCEEDED);
    CHECK(says(event, "nothing was written"));
    CHECK(zt_is_untouched(&made.y));
    CHECK_EQ(runs_of(made.context), runs);
    CHECK_OK(zb_event_destroy(event));
    check_next_run(&made);
    CHECK_OK(zb_queue_destroy(queue));
    free_chain(&made);
}

static void a_deadline_ends_a_queued_run(void)
{
    uint64_t best = UINT64_MAX;
    chain made;
    make_chain(&made, 0);
    zb_queue *queue = queue_with_a_thread();
    for (int i = 0; i < zt_rounds(8, 1); i++) {
        /* far from the end of the run, also if the machine was slow when it was timed and is quick now */
        uint64_t deadline = made.whole / 8, start = now_ns();
        zb_event *event = enqueue(queue, made.context, deadline);
        CHECK_EQ(ending(event), ZB_ERROR_DEADLINE_EXCEEDED);
        uint64_t late = now_ns() - start - deadline;
        best = late < best ? late : best;
        CHECK(says(event, "deadline"));
        CHECK_OK(zb_event_destroy(event));
        check_next_run(&made);
    }
    if (!CHECK(zt_under_memcheck() || best <= 20 * MILLISECOND)) {
        fprintf(stderr, "    at best %llu ns after the deadline\n", (unsigned long long)best);
    }
    CHECK_OK(zb_queue_destroy(queue));
    free_chain(&made);
}

static void a_deadline_that_is_kept_on_a_queue(void)
{
    static const uint64_t deadlines[] = {60000 * MILLISECOND, UINT64_MAX, UINT64_MAX / 2};
    chain made;
    make_chain(&made, 0);
    zb_queue *queue = queue_with_a_thread();
    for (size_t i = 0; i < sizeof deadlines / sizeof *deadlines; i++) {
        memset(made.y.data, 0xCD, BYTES);
        zb_event *event = enqueue(queue, made.context, deadlines[i]);
        CHECK_EQ(ending(event), ZB_OK);
        check_sums(&made);
        CHECK_OK(zb_event_destroy(event));
    }
    CHECK_OK(zb_queue_destroy(queue));
    free_chain(&made);
}

static const zt_test tests[] = {
    ON_BOTH(a_cancel_stops_a_run),
    ON_BOTH(a_cancel_stops_a_run_with_loans),
    ON_BOTH(a_cancel_without_a_run_is_forgotten),
    ON_BOTH(a_model_of_one_operator),
    ON_BOTH(requests_at_every_moment),
    ON_BOTH(a_destroy_stops_a_run),
    ON_TFLITE(what_a_delegate_has_taken_over_runs_to_its_end),
    ON_BOTH(a_deadline_that_has_passed_starts_nothing),
    ON_BOTH(a_deadline_ends_a_run),
    ON_BOTH(a_deadline_that_is_kept_changes_nothing),
    ON_BOTH(deadlines_around_the_end_of_a_run),
    ON_BOTH(queued_and_cancelled_is_never_run),
    ON_BOTH(a_cancel_stops_a_queued_run),
    ON_TFLITE(what_a_delegate_has_taken_over_ends_well_on_a_queue),
    ON_BOTH(cancelled_at_every_moment),
    ON_BOTH(a_deadline_that_passes_in_line),
    ON_BOTH(a_deadline_ends_a_queued_run),
    ON_BOTH(a_deadline_that_is_kept_on_a_queue),
};

ZT_MAIN(tests)
