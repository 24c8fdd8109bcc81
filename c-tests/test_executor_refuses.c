/*
 * Queues on an executor of the host's that refuses, calls zerobind itself, or ends.
 */
#include "executor.h"

/* --- an executor that refuses --- */

static void an_enqueue_that_is_refused(void)
{
    executor made;
    memory bytes;
    gated run;
    unsigned char read[BYTES] = {3};
    zb_event *event = NULL;
    zt_watchdog(20);
    make_executor(&made);
    make_memory(&bytes);
    gated_make(&run, "runs");
    zb_queue *queue = queue_on(&made, 0);
    made.refuse = 5;
    CHECK_STATUS(zb_queue_write(queue, bytes.tensor, 0, ones, BYTES, &event), ZB_ERROR_BUSY);
    CHECK_ERROR_SAYS("executor");
    CHECK_STATUS(zb_queue_write(queue, bytes.tensor, 0, ones, BYTES, NULL), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_queue_read(queue, bytes.tensor, 0, read, BYTES, &event), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_queue_infer(queue, run.context, NULL, &event), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_queue_fence(queue, &event), ZB_ERROR_BUSY);
    CHECK(event == NULL && read[0] == 3 && zt_is_untouched(&bytes.buffer));
    CHECK_EQ(zb_live_objects(ZB_KIND_EVENT), 0);
    CHECK_EQ(made.count, 0);
    /* nothing is left behind: the context is free, and what the write would have written is not invalid */
    gated_run(&run);
    CHECK_OK(gated_end_run(&run));
    REQUIRE_OK(zb_queue_read(queue, bytes.tensor, 0, read, BYTES, &event));
    run_all(&made);
    CHECK_OK(zt_end_of(event));
    CHECK_BYTES(read, bytes.buffer.data, BYTES);
    CHECK_OK(zb_queue_destroy(queue));
    gated_free(&run);
    free_memory(&bytes);
    free_executor(&made);
}

/* With a capacity of 1 nothing that was refused may take the place. */
static void room_after_refusals(void)
{
    executor made;
    memory bytes;
    zb_event *event = NULL;
    zt_watchdog(20);
    make_executor(&made);
    make_memory(&bytes);
    zb_queue *queue = queue_on(&made, 1);
    made.refuse = 100;
    for (int i = 0; i < 100; i++) {
        CHECK_STATUS(zb_queue_fence(queue, &event), ZB_ERROR_BUSY);
    }
    REQUIRE_OK(zb_queue_fence(queue, &event));
    CHECK_STATUS(zb_queue_fence(queue, &event), ZB_ERROR_QUEUE_FULL);
    run_all(&made);
    CHECK_OK(zt_end_of(event));
    CHECK_OK(zb_queue_destroy(queue));
    free_memory(&bytes);
    free_executor(&made);
}

/* The first task is taken, the one after it is not: nobody would ever do the rest. */
static void a_resubmission_that_is_refused(void)
{
    enum { EVENTS = 4 };
    executor made;
    memory bytes, other;
    zb_event *events[EVENTS];
    witness witnesses[EVENTS];
    char text[256] = "";
    zt_watchdog(20);
    make_executor(&made);
    make_memory(&bytes);
    make_memory(&other);
    memset(witnesses, 0, sizeof witnesses);
    zb_queue *queue = queue_on(&made, 0);
    made.accept_first = 1;
    made.refuse = 1;
    for (int i = 0; i < EVENTS; i++) {
        events[i] = write_ones(queue, i == 0 ? &bytes : &other);
        witness_watch(&witnesses[i], events[i]);
    }
    CHECK(step(&made));
    for (int i = 0; i < EVENTS; i++) {
        CHECK_EQ(witness_count(&witnesses[i]), 1);
        CHECK_SETTLED(events[i], i == 0 ? ZB_OK : ZB_ERROR_CANCELLED);
    }
    CHECK_OK(zb_event_get_error(events[1], text, sizeof text, NULL));
    CHECK(strstr(text, "executor") != NULL);
    CHECK(zt_is_untouched(&other.buffer));
    CHECK_EQ(made.count, 0);
    /* and the queue goes on when its executor does */
    zb_event *next = write_ones(queue, &other);
    run_all(&made);
    CHECK_OK(zt_end_of(next));
    CHECK_BYTES(other.buffer.data, ones, BYTES);
    for (int i = 0; i < EVENTS; i++) {
        CHECK_OK(zb_event_destroy(events[i]));
    }
    CHECK_OK(zb_queue_destroy(queue));
    free_memory(&bytes);
    free_memory(&other);
    free_executor(&made);
}

/* The refusal comes on the thread of another queue, whose operation was waited for. */
static void a_late_submission_that_is_refused(void)
{
    executor made;
    memory bytes;
    gated before;
    witness ended;
    zt_watchdog(20);
    make_executor(&made);
    make_memory(&bytes);
    memset(&ended, 0, sizeof ended);
    gated_make(&before, "before");
    zb_queue *other = zt_queue();
    zb_queue *queue = queue_on(&made, 0);
    gated_block(&before, other);
    REQUIRE_OK(zb_queue_wait_event(queue, before.event));
    zb_event *event = write_ones(queue, &bytes);
    witness_watch(&ended, event);
    CHECK_EQ(made.submitted, 0);
    made.refuse = 1;
    CHECK_OK(gated_let_go(&before));
    CHECK_EQ(witness_wait(&ended), ZB_ERROR_CANCELLED);
    CHECK_OK(zb_event_destroy(event));
    CHECK_OK(zb_queue_destroy(other));
    CHECK_OK(zb_queue_destroy(queue));
    free_memory(&bytes);
    gated_free(&before);
    free_executor(&made);
}

/* --- waiting where only this thread could end the wait --- */

typedef struct waiting {
    zb_queue *queue, *idle;
    zb_event *own, *later;
    zb_tensor *tensor;
    int called;
} waiting;

static void wait_inside(void *user_data, zb_event *event, zb_status status)
{
    waiting *made = user_data;
    zb_status result = -1;
    (void)status;
    made->called++;
    CHECK_STATUS(zb_queue_finish(made->queue, UINT64_MAX), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_queue_finish(made->queue, 1000000), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_event_wait(made->later, UINT64_MAX, &result), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_tensor_sync(made->tensor, ZB_SYNC_TO_HOST, UINT64_MAX), ZB_ERROR_BUSY);
    CHECK_EQ(result, -1);
    /* asking is no waiting, and what is settled is not waited for */
    CHECK_PENDING(made->later);
    CHECK_SETTLED(event, ZB_OK);
    CHECK_OK(zb_event_wait(event, UINT64_MAX, &result));
    /* another queue is another matter */
    CHECK_OK(zb_queue_finish(made->idle, UINT64_MAX));
}

static void wait_in_a_callback(int on_executor)
{
    executor made;
    memory bytes;
    gated before;
    waiting waits;
    memset(&waits, 0, sizeof waits);
    make_executor(&made);
    make_memory(&bytes);
    gated_make(&before, "before");
    waits.idle = zt_queue();
    waits.queue = on_executor ? queue_on(&made, 0) : zt_queue();
    waits.tensor = bytes.tensor;
    if (!on_executor) {
        gated_block(&before, waits.queue);
    }
    waits.own = write_ones(waits.queue, &bytes);
    waits.later = write_ones(waits.queue, &bytes);
    REQUIRE_OK(zb_event_on_complete(waits.own, wait_inside, &waits));
    if (on_executor) {
        int submitted = made.submitted;
        CHECK(step(&made));
        CHECK_EQ(waits.called, 1);
        /* a refused wait leaves nothing in the queue */
        run_all(&made);
        CHECK_EQ(made.submitted, submitted + 1);
    } else {
        CHECK_OK(gated_let_go(&before));
    }
    CHECK_OK(zt_end_of(waits.later));
    CHECK_EQ(waits.called, 1);
    CHECK_OK(zb_event_destroy(waits.own));
    CHECK_OK(zb_queue_destroy(waits.queue));
    CHECK_OK(zb_queue_destroy(waits.idle));
    gated_free(&before);
    free_memory(&bytes);
    free_executor(&made);
}

static void waiting_inside(void)
{
    zt_watchdog(20);
    wait_in_a_callback(1);
    wait_in_a_callback(0);
}

/* --- calls inside submit --- */

typedef struct inside_calls {
    zb_queue *queue, *other;
    memory *bytes;
    zb_event *event;
    int depth, called;
} inside_calls;

/* Were a lock held, the first of these would never return. */
static void call_inside_submit(executor *made)
{
    inside_calls *calls = made->user_data;
    void *data = NULL;
    size_t size = 0;
    if (calls->depth++ > 0) {
        return;
    }
    calls->called++;
    CHECK_OK(zb_tensor_get_data(calls->bytes->tensor, &data, &size));
    CHECK(zb_live_objects(ZB_KIND_TENSOR) > 0);
    zb_event *elsewhere = write_ones(calls->other, calls->bytes);
    /* behind the operation that is being put into this queue */
    zb_event *again = write_ones(calls->queue, calls->bytes);
    CHECK_PENDING(again);
    CHECK_OK(zb_event_cancel(again));
    CHECK_SETTLED(again, ZB_ERROR_CANCELLED);
    CHECK_OK(zb_event_destroy(again));
    CHECK_OK(zb_event_destroy(elsewhere));
    zb_queue *passing = zt_queue();
    CHECK_OK(zb_queue_destroy(passing));
}

static void every_call_inside_submit(void)
{
    executor made;
    memory bytes, own;
    inside_calls calls;
    zt_watchdog(20);
    memset(&calls, 0, sizeof calls);
    make_executor(&made);
    make_memory(&bytes);
    make_memory(&own);
    calls.queue = queue_on(&made, 0);
    calls.other = zt_queue();
    calls.bytes = &bytes;
    made.user_data = &calls;
    made.inside = call_inside_submit;
    zb_event *event = write_ones(calls.queue, &own);
    CHECK_EQ(calls.called, 1);
    made.inside = NULL;
    run_all(&made);
    CHECK_OK(zt_end_of(event));
    CHECK_OK(zb_queue_finish(calls.other, UINT64_MAX));
    CHECK_OK(zb_queue_destroy(calls.queue));
    CHECK_OK(zb_queue_destroy(calls.other));
    free_memory(&bytes);
    free_memory(&own);
    free_executor(&made);
}

static void destroy_queue_inside(executor *made)
{
    inside_calls *calls = made->user_data;
    if (calls->depth++ == 0) {
        CHECK_OK(zb_queue_destroy(calls->queue));
    }
}

/* The queue goes while its executor is being asked: the operation is settled, and the task does nothing. */
static void a_queue_destroyed_inside_submit(void)
{
    executor made;
    memory bytes;
    inside_calls calls;
    zb_event *event = NULL;
    zt_watchdog(20);
    memset(&calls, 0, sizeof calls);
    make_executor(&made);
    make_memory(&bytes);
    calls.queue = queue_on(&made, 0);
    made.user_data = &calls;
    made.inside = destroy_queue_inside;
    REQUIRE_OK(zb_queue_write(calls.queue, bytes.tensor, 0, ones, BYTES, &event));
    CHECK_SETTLED(event, ZB_ERROR_DESTROYED);
    CHECK_OK(zb_event_destroy(event));
    run_all(&made);
    CHECK(zt_is_untouched(&bytes.buffer));
    free_memory(&bytes);
    free_executor(&made);
}

/* --- the end of a queue --- */

static void destroy_with_tasks_outstanding(void)
{
    executor made;
    memory bytes;
    witness witnesses[3];
    zb_event *events[3];
    zt_watchdog(20);
    make_executor(&made);
    make_memory(&bytes);
    memset(witnesses, 0, sizeof witnesses);
    zb_queue *queue = queue_on(&made, 0);
    for (int i = 0; i < 3; i++) {
        events[i] = write_ones(queue, &bytes);
        witness_watch(&witnesses[i], events[i]);
    }
    CHECK_OK(zb_queue_destroy(queue));
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(witness_count(&witnesses[i]), 1);
        CHECK_EQ(zt_end_of(events[i]), ZB_ERROR_DESTROYED);
    }
    CHECK_EQ(zb_live_objects(ZB_KIND_QUEUE), 0);
    CHECK_EQ(made.submitted, 1);
    run_all(&made);
    CHECK_EQ(made.submitted, 1);
    CHECK(zt_is_untouched(&bytes.buffer));
    free_memory(&bytes);
    free_executor(&made);
}

/* When a queue is destroyed and its operations are settled, its executor may go: nothing is submitted any more, although the
   first operation, which was waiting for another queue, ends before the second. */
static void nothing_is_submitted_after_the_end(void)
{
    executor made;
    memory bytes;
    gated before;
    zb_event *events[2];
    zt_watchdog(20);
    make_executor(&made);
    make_memory(&bytes);
    gated_make(&before, "before");
    zb_queue *other = zt_queue();
    zb_queue *queue = queue_on(&made, 0);
    gated_block(&before, other);
    REQUIRE_OK(zb_queue_wait_event(queue, before.event));
    events[0] = write_ones(queue, &bytes);
    events[1] = write_ones(queue, &bytes);
    CHECK_OK(zb_queue_destroy(queue));
    CHECK_EQ(made.submitted, 0);
    CHECK_OK(gated_let_go(&before));
    CHECK_OK(zb_queue_finish(other, UINT64_MAX));
    CHECK_EQ(made.submitted, 0);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(zt_end_of(events[i]), ZB_ERROR_DESTROYED);
    }
    CHECK_OK(zb_queue_destroy(other));
    free_memory(&bytes);
    gated_free(&before);
    free_executor(&made);
}

typedef struct last_call {
    zb_queue *queue;
    executor *executor;
} last_call;

static void destroy_the_other(void *user_data, zb_event *event, zb_status result)
{
    last_call *made = user_data;
    (void)event;
    (void)result;
    CHECK_OK(zb_queue_destroy(made->queue));
    pthread_mutex_lock(&made->executor->lock);
    made->executor->is_closed = 1;
    pthread_cond_broadcast(&made->executor->changed);
    pthread_mutex_unlock(&made->executor->lock);
}

static int32_t submit_while_open(void *user_data, zb_task_fn run, void *task)
{
    executor *made = user_data;
    (void)run;
    (void)task;
    CHECK(!made->is_closed);
    made->submitted++;
    return 0;
}

/* The callback of what an operation waited for destroys that operation's queue, which is just told to go on: before the
   callback or not at all. */
static void a_queue_destroyed_before_it_is_told(void)
{
    executor made;
    memory bytes;
    gated before;
    last_call last;
    zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
    zt_watchdog(20);
    make_executor(&made);
    make_memory(&bytes);
    gated_make(&before, "before");
    options.submit = submit_while_open;
    options.user_data = &made;
    zb_queue *other = zt_queue();
    REQUIRE_OK(zb_queue_create(&options, &last.queue));
    last.executor = &made;
    gated_block(&before, other);
    REQUIRE_OK(zb_event_on_complete(before.event, destroy_the_other, &last));
    REQUIRE_OK(zb_queue_wait_event(last.queue, before.event));
    zb_event *event = write_ones(last.queue, &bytes);
    CHECK_OK(gated_let_go(&before));
    CHECK_EQ(zt_end_of(event), ZB_ERROR_DESTROYED);
    CHECK_OK(zb_queue_finish(other, UINT64_MAX));
    /* the callback may still be at it */
    pthread_mutex_lock(&made.lock);
    while (!made.is_closed) {
        pthread_cond_wait(&made.changed, &made.lock);
    }
    pthread_mutex_unlock(&made.lock);
    CHECK(made.submitted <= 1);
    CHECK_OK(zb_queue_destroy(other));
    gated_free(&before);
    free_memory(&bytes);
    free_executor(&made);
}

static const zt_test tests[] = {
    ON_BOTH(an_enqueue_that_is_refused),
    ON_BOTH(room_after_refusals),
    ON_BOTH(a_resubmission_that_is_refused),
    ON_BOTH(a_late_submission_that_is_refused),
    ON_BOTH(waiting_inside),
    ON_BOTH(every_call_inside_submit),
    ON_BOTH(a_queue_destroyed_inside_submit),
    ON_BOTH(destroy_with_tasks_outstanding),
    ON_BOTH(nothing_is_submitted_after_the_end),
    ON_BOTH(a_queue_destroyed_before_it_is_told),
};

ZT_MAIN(tests)
