/*
 * Cancelling what a queue is to do: before it starts, while it runs, when it is over, and at any moment between these. Gates
 * of the mock engine decide when that is. test_cancel asks the same of the real engines.
 */
#include "plug.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#define A_WHILE (20 * MILLISECOND)

static const float ones[4] = {1, 1, 1, 1}, twos[4] = {2, 2, 2, 2}, threes[4] = {3, 3, 3, 3};

static zb_tensor *new_tensor(void)
{
    zb_tensor *tensor = NULL;
    zb_tensor_desc desc = F32(4);
    REQUIRE_OK(zb_tensor_alloc(&desc, 64, &tensor));
    return tensor;
}

static zb_event *put_write(zb_queue *queue, zb_tensor *tensor, const float *values)
{
    zb_event *event = NULL;
    REQUIRE_OK(zb_queue_write(queue, tensor, 0, values, 16, &event));
    return event;
}

static zb_event *put_read(zb_queue *queue, zb_tensor *tensor, float *destination)
{
    zb_event *event = NULL;
    REQUIRE_OK(zb_queue_read(queue, tensor, 0, destination, 16, &event));
    return event;
}

static zb_event *put_infer(zb_queue *queue, zb_context *context)
{
    zb_event *event = NULL;
    REQUIRE_OK(zb_queue_infer(queue, context, NULL, &event));
    return event;
}

static const float *data_of(zb_tensor *tensor)
{
    void *data = NULL;
    REQUIRE_OK(zb_tensor_get_data(tensor, &data, NULL));
    return data;
}

static uint64_t runs_of(zb_context *context)
{
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    REQUIRE_OK(zb_context_get_stats(context, &stats));
    return stats.runs;
}

/* It is settled with this, right now. */
static void check_is(zb_event *event, zb_status expected)
{
    zb_status result = 77;
    CHECK_OK(zb_event_wait(event, 0, &result));
    CHECK_EQ(result, expected);
}

/* It has not ended, and does not within a while. */
static void check_waits(zb_event *event)
{
    zb_status result = 77;
    CHECK_STATUS(zb_event_wait(event, A_WHILE, &result), ZB_ERROR_TIMEOUT);
}

static void check_says(zb_event *event, const char *part)
{
    char text[512] = "";
    CHECK_OK(zb_event_get_error(event, text, sizeof text, NULL));
    if (!CHECK(strstr(text, part) != NULL)) {
        fprintf(stderr, "    %s\n", text);
    }
}

/* --- before the start --- */

static void what_has_not_started_never_does(void)
{
    plug stopper;
    sum made;
    zb_queue *queue = new_queue();
    /* a run would panic, and a plan too */
    make_sum(&made, "run panic it ran @1");
    plug_queue(&stopper, queue);
    zb_event *event = put_infer(queue, made.context);
    CHECK_OK(zb_event_cancel(event));
    check_is(event, ZB_ERROR_CANCELLED);
    check_says(event, "cancelled");
    /* as if it had never been there: the context is free, its tensors too */
    CHECK_OK(zb_tensor_sync(made.tensors[2], ZB_SYNC_TO_HOST, 0));
    CHECK_OK(zb_context_prepare(made.context));
    pull_plug(&stopper);
    CHECK_OK(zb_queue_finish(queue, FOREVER));
    check_is(event, ZB_ERROR_CANCELLED);
    CHECK(zt_is_untouched(&made.z));
    CHECK_EQ(runs_of(made.context), 0);
    CHECK_OK(zb_event_destroy(event));
    free_sum(&made);
    CHECK_OK(zb_queue_destroy(queue));
}

static void the_next_run_is_right(void)
{
    plug stopper;
    sum made;
    zb_queue *queue = new_queue();
    make_sum(&made, NULL);
    plug_queue(&stopper, queue);
    zb_event *cancelled = put_infer(queue, made.context), *next = put_infer(queue, made.context);
    CHECK_OK(zb_event_cancel(cancelled));
    check_is(cancelled, ZB_ERROR_CANCELLED);
    check_waits(next);
    pull_plug(&stopper);
    CHECK_EQ(last_ending(next), ZB_OK);
    CHECK_SUM(&made);
    CHECK_EQ(runs_of(made.context), 1);
    forget_sum(&made);
    CHECK_OK(zb_infer(made.context, NULL));
    CHECK_SUM(&made);
    CHECK_OK(zb_event_destroy(cancelled));
    free_sum(&made);
    CHECK_OK(zb_queue_destroy(queue));
}

static void copies_and_fences(void)
{
    plug stopper;
    float destination[4] = {7, 7, 7, 7};
    static const float sevens[4] = {7, 7, 7, 7};
    zb_event *fenced = NULL;
    zb_queue *queue = new_queue();
    zb_tensor *tensor = new_tensor(), *other = new_tensor();
    CHECK_EQ(last_ending(put_write(queue, tensor, ones)), ZB_OK);
    plug_queue(&stopper, queue);
    zb_event *read = put_read(queue, tensor, destination);
    zb_event *write = put_write(queue, other, twos);
    REQUIRE_OK(zb_queue_fence(queue, &fenced));
    zb_event *last = put_write(queue, tensor, threes);
    CHECK_OK(zb_event_cancel(read));
    CHECK_OK(zb_event_cancel(write));
    CHECK_OK(zb_event_cancel(fenced));
    check_is(read, ZB_ERROR_CANCELLED);
    check_is(write, ZB_ERROR_CANCELLED);
    check_is(fenced, ZB_ERROR_CANCELLED);
    check_waits(last);
    pull_plug(&stopper);
    CHECK_EQ(last_ending(last), ZB_OK);
    CHECK_FLOATS(destination, sevens, 4, 0);
    CHECK(data_of(other)[0] == 0);
    CHECK_FLOATS(data_of(tensor), threes, 4, 0);
    CHECK_OK(zb_event_destroy(read));
    CHECK_OK(zb_event_destroy(write));
    CHECK_OK(zb_event_destroy(fenced));
    CHECK_OK(zb_tensor_destroy(tensor));
    CHECK_OK(zb_tensor_destroy(other));
    CHECK_OK(zb_queue_destroy(queue));
}

/* A queue that is full has room again. */
static void the_place_is_free_again(void)
{
    plug stopper;
    zb_event *events[3] = {NULL, NULL, NULL};
    zb_queue *queue = NULL;
    zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
    options.capacity = 3;
    REQUIRE_OK(zb_queue_create(&options, &queue));
    plug_queue(&stopper, queue);
    REQUIRE_OK(zb_queue_fence(queue, &events[0]));
    REQUIRE_OK(zb_queue_fence(queue, &events[1]));
    CHECK_STATUS(zb_queue_fence(queue, &events[2]), ZB_ERROR_QUEUE_FULL);
    CHECK_OK(zb_event_cancel(events[0]));
    CHECK_OK(zb_queue_fence(queue, &events[2]));
    pull_plug(&stopper);
    CHECK_EQ(last_ending(events[0]), ZB_ERROR_CANCELLED);
    CHECK_EQ(last_ending(events[1]), ZB_OK);
    CHECK_EQ(last_ending(events[2]), ZB_OK);
    CHECK_OK(zb_queue_destroy(queue));
}

/* --- while it runs --- */

static void what_runs_stops_where_the_engine_can(void)
{
    plug stopper;
    sum made;
    zb_queue *queue = new_queue();
    make_sum(&made, NULL);
    plug_queue(&stopper, queue);
    zb_event *behind = put_infer(queue, made.context);
    for (int times = 0; times < 3; times++) {
        CHECK_OK(zb_event_cancel(stopper.event));
    }
    check_waits(stopper.event);
    open_plug(&stopper);
    CHECK_EQ(ending(stopper.event), ZB_ERROR_CANCELLED);
    check_says(stopper.event, "cancelled");
    /* and nothing else does */
    CHECK_EQ(last_ending(behind), ZB_OK);
    CHECK_SUM(&made);
    /* its context is good again, and no request is left over */
    zb_event *again = put_infer(queue, stopper.context);
    await_plug(&stopper);
    open_plug(&stopper);
    CHECK_EQ(last_ending(again), ZB_OK);
    free_plug(&stopper);
    free_sum(&made);
    CHECK_OK(zb_queue_destroy(queue));
}

static void an_engine_that_cannot_stop(void)
{
    plug stopper;
    sum made;
    zb_queue *queue = new_queue();
    make_sum(&made, "unstoppable");
    plug_queue_with(&stopper, queue, "unstoppable\n");
    /* before it starts, anything can be taken back */
    zb_event *event = put_infer(queue, made.context);
    CHECK_OK(zb_event_cancel(event));
    check_is(event, ZB_ERROR_CANCELLED);
    CHECK_STATUS(zb_event_cancel(stopper.event), ZB_ERROR_UNSUPPORTED);
    CHECK_ERROR_SAYS("cannot stop");
    check_waits(stopper.event);
    open_plug(&stopper);
    CHECK_EQ(ending(stopper.event), ZB_OK);
    CHECK_OK(zb_event_cancel(stopper.event));
    CHECK_EQ(ending(stopper.event), ZB_OK);
    CHECK(zt_is_untouched(&made.z));
    CHECK_OK(zb_event_destroy(event));
    free_plug(&stopper);
    free_sum(&made);
    CHECK_OK(zb_queue_destroy(queue));
}

/* --- when it is over --- */

static void what_is_over_stays_as_it_is(void)
{
    sum made;
    char text[64] = "";
    zb_queue *queue = new_queue();
    zb_model *model = mock_open("output done f32 1\nrun fail RUNTIME no luck\n");
    zb_context *context = zt_context(model);
    make_sum(&made, NULL);
    zb_event *good = put_infer(queue, made.context), *bad = put_infer(queue, context);
    CHECK_EQ(ending(good), ZB_OK);
    CHECK_EQ(ending(bad), ZB_ERROR_RUNTIME);
    for (int times = 0; times < 2; times++) {
        CHECK_OK(zb_event_cancel(good));
        CHECK_OK(zb_event_cancel(bad));
        check_is(good, ZB_OK);
        check_is(bad, ZB_ERROR_RUNTIME);
    }
    CHECK_OK(zb_event_get_error(good, text, sizeof text, NULL));
    CHECK(text[0] == '\0');
    check_says(bad, "no luck");
    CHECK_SUM(&made);
    /* nothing of it reaches what comes later */
    forget_sum(&made);
    CHECK_EQ(last_ending(put_infer(queue, made.context)), ZB_OK);
    CHECK_SUM(&made);
    CHECK_OK(zb_event_destroy(good));
    CHECK_OK(zb_event_destroy(bad));
    free_sum(&made);
    CHECK_OK(zb_context_destroy(context));
    CHECK_OK(zb_model_destroy(model));
    CHECK_OK(zb_queue_destroy(queue));
}

/* --- one that leaves the line before its turn leaves the order of the others alone --- */

typedef struct three {
    zb_queue *queues[3];
    plug stopper;
    zb_tensor *tensor;
} three;

/* Three queues; the first stands still. */
static void make_three(three *made)
{
    for (int i = 0; i < 3; i++) {
        made->queues[i] = new_queue();
    }
    plug_queue(&made->stopper, made->queues[0]);
    made->tensor = new_tensor();
}

static void free_three(three *made)
{
    CHECK_OK(zb_tensor_destroy(made->tensor));
    for (int i = 0; i < 3; i++) {
        CHECK_OK(zb_queue_destroy(made->queues[i]));
    }
}

/* `last` was put into the line before the middle one left, or after. */
static void check_last_write_wins(int is_early, int middle_queue, int last_queue)
{
    three made;
    make_three(&made);
    zb_event *first = put_write(made.queues[0], made.tensor, ones);
    zb_event *middle = put_write(made.queues[middle_queue], made.tensor, twos);
    zb_event *last = is_early ? put_write(made.queues[last_queue], made.tensor, threes) : NULL;
    CHECK_OK(zb_event_cancel(middle));
    check_is(middle, ZB_ERROR_CANCELLED);
    if (!is_early) {
        last = put_write(made.queues[last_queue], made.tensor, threes);
    }
    check_waits(last);
    CHECK(data_of(made.tensor)[0] == 0);
    pull_plug(&made.stopper);
    CHECK_EQ(last_ending(last), ZB_OK);
    CHECK_EQ(last_ending(first), ZB_OK);
    CHECK_FLOATS(data_of(made.tensor), threes, 4, 0);
    CHECK_OK(zb_event_destroy(middle));
    free_three(&made);
}

static void writes_keep_their_order(void)
{
    for (int is_early = 0; is_early < 2; is_early++) {
        check_last_write_wins(is_early, 1, 2);
        check_last_write_wins(is_early, 1, 1);
        check_last_write_wins(is_early, 0, 1);
        check_last_write_wins(is_early, 1, 0);
        check_last_write_wins(is_early, 0, 0);
    }
}

/* Two that left, one behind the other. */
static void two_that_leave(void)
{
    for (int order = 0; order < 2; order++) {
        three made;
        make_three(&made);
        zb_event *first = put_write(made.queues[0], made.tensor, ones);
        zb_event *middle[2];
        middle[0] = put_write(made.queues[1], made.tensor, twos);
        middle[1] = put_write(made.queues[1 + order], made.tensor, twos);
        zb_event *last = put_write(made.queues[2], made.tensor, threes);
        CHECK_OK(zb_event_cancel(middle[order]));
        check_waits(last);
        CHECK_OK(zb_event_cancel(middle[1 - order]));
        check_waits(last);
        pull_plug(&made.stopper);
        CHECK_EQ(last_ending(last), ZB_OK);
        CHECK_EQ(last_ending(first), ZB_OK);
        CHECK_FLOATS(data_of(made.tensor), threes, 4, 0);
        CHECK_OK(zb_event_destroy(middle[0]));
        CHECK_OK(zb_event_destroy(middle[1]));
        free_three(&made);
    }
}

static void runs_of_a_context_keep_their_order(void)
{
    for (int is_early = 0; is_early < 2; is_early++) {
        three made;
        make_three(&made);
        /* the first run of the context is the one that stands still */
        zb_context *context = made.stopper.context;
        zb_event *middle = put_infer(made.queues[1], context);
        zb_event *last = is_early ? put_infer(made.queues[2], context) : NULL;
        CHECK_OK(zb_event_cancel(middle));
        check_is(middle, ZB_ERROR_CANCELLED);
        if (!is_early) {
            last = put_infer(made.queues[2], context);
        }
        check_waits(last);
        check_waits(made.stopper.event);
        open_plug(&made.stopper);
        CHECK_EQ(ending(made.stopper.event), ZB_OK);
        await_plug(&made.stopper);
        open_plug(&made.stopper);
        CHECK_EQ(last_ending(last), ZB_OK);
        CHECK_EQ(runs_of(context), 2);
        CHECK_OK(zb_event_destroy(middle));
        free_plug(&made.stopper);
        free_three(&made);
    }
}

/* It would have written after this read, so it takes nothing from it; but from those that come after it. */
static void only_later_reads_are_refused(void)
{
    three made;
    plug middle_stopper;
    float early[4] = {0, 0, 0, 0}, late[4] = {7, 7, 7, 7}, good[4] = {0, 0, 0, 0};
    make_three(&made);
    plug_queue(&middle_stopper, made.queues[1]);
    CHECK_EQ(last_ending(put_write(made.queues[2], made.tensor, ones)), ZB_OK);
    zb_event *before = put_read(made.queues[0], made.tensor, early);
    zb_event *cancelled = put_write(made.queues[1], made.tensor, twos);
    CHECK_OK(zb_event_cancel(cancelled));
    zb_event *after = put_read(made.queues[0], made.tensor, late);
    pull_plug(&made.stopper);
    CHECK_EQ(last_ending(before), ZB_OK);
    CHECK_FLOATS(early, ones, 4, 0);
    CHECK_EQ(ending(after), ZB_ERROR_DEPENDENCY);
    check_says(after, "cancelled");
    CHECK(late[0] == 7);
    pull_plug(&middle_stopper);
    /* until something writes it all */
    CHECK_EQ(last_ending(put_write(made.queues[0], made.tensor, threes)), ZB_OK);
    CHECK_EQ(last_ending(put_read(made.queues[0], made.tensor, good)), ZB_OK);
    CHECK_FLOATS(good, threes, 4, 0);
    CHECK_OK(zb_event_destroy(cancelled));
    CHECK_OK(zb_event_destroy(after));
    free_three(&made);
}

/* A write from before it, done after it was cancelled, is not what the later read was to see. */
static void an_earlier_write_does_not_make_up_for_it(void)
{
    three made;
    float seen[4] = {7, 7, 7, 7};
    make_three(&made);
    zb_event *first = put_write(made.queues[0], made.tensor, ones);
    zb_event *cancelled = put_write(made.queues[1], made.tensor, twos);
    zb_event *read = put_read(made.queues[0], made.tensor, seen);
    CHECK_OK(zb_event_cancel(cancelled));
    pull_plug(&made.stopper);
    CHECK_EQ(last_ending(first), ZB_OK);
    CHECK_EQ(last_ending(read), ZB_ERROR_DEPENDENCY);
    CHECK(seen[0] == 7);
    CHECK_OK(zb_event_destroy(cancelled));
    free_three(&made);
}

/* --- at any moment --- */

typedef struct canceller {
    pthread_t thread;
    zb_event *next;
    int is_over;
    int pause;
} canceller;

static void *cancel_each(void *argument)
{
    canceller *own = argument;
    while (!__atomic_load_n(&own->is_over, __ATOMIC_ACQUIRE)) {
        zb_event *event = __atomic_exchange_n(&own->next, NULL, __ATOMIC_ACQ_REL);
        if (event == NULL) {
            sched_yield();
            continue;
        }
        for (volatile int i = __atomic_load_n(&own->pause, __ATOMIC_RELAXED); i > 0; i--) {
        }
        CHECK_OK(zb_event_cancel(event));
        CHECK_OK(zb_event_destroy(event));
    }
    return NULL;
}

typedef struct told {
    int count;
    zb_status result;
} told;

static void tell(void *user_data, zb_event *event, zb_status result)
{
    told *state = user_data;
    (void)event;
    state->result = result;
    __atomic_add_fetch(&state->count, 1, __ATOMIC_RELEASE);
}

/* Each ends well or is cancelled; and the one behind it, on the same context, always ends well. */
static void at_any_moment(void)
{
    sum made;
    canceller own;
    int well = 0, cancelled = 0;
    zb_queue *queue = new_queue();
    make_sum(&made, "run slowly");
    memset(&own, 0, sizeof own);
    REQUIRE(pthread_create(&own.thread, NULL, cancel_each, &own) == 0);
    for (int i = 0; i < zt_rounds(2000, 100); i++) {
        told first = {0, 77};
        zb_event *event = put_infer(queue, made.context);
        CHECK_OK(zb_event_on_complete(event, tell, &first));
        __atomic_store_n(&own.pause, i % 64 * 500, __ATOMIC_RELAXED);
        __atomic_store_n(&own.next, event, __ATOMIC_RELEASE);
        zb_event *second = put_infer(queue, made.context);
        CHECK_EQ(last_ending(second), ZB_OK);
        CHECK_SUM(&made);
        forget_sum(&made);
        while (__atomic_load_n(&first.count, __ATOMIC_ACQUIRE) == 0 || __atomic_load_n(&own.next, __ATOMIC_ACQUIRE) != NULL) {
            sched_yield();
        }
        CHECK(first.count == 1 && (first.result == ZB_OK || first.result == ZB_ERROR_CANCELLED));
        well += first.result == ZB_OK;
        cancelled += first.result == ZB_ERROR_CANCELLED;
    }
    __atomic_store_n(&own.is_over, 1, __ATOMIC_RELEASE);
    REQUIRE(pthread_join(own.thread, NULL) == 0);
    if (well == 0 || cancelled == 0) {
        printf("        %d ended well, %d were cancelled\n", well, cancelled);
    }
    CHECK_OK(zb_infer(made.context, NULL));
    CHECK_SUM(&made);
    free_sum(&made);
    CHECK_OK(zb_queue_destroy(queue));
}

/* From inside its own callback, and from that of the one before. */
static void cancel_in_callback(void *user_data, zb_event *event, zb_status result)
{
    (void)result;
    CHECK_OK(zb_event_cancel(event));
    if (user_data != NULL) {
        CHECK_OK(zb_event_cancel(user_data));
        check_is(user_data, ZB_ERROR_CANCELLED);
    }
}

static void inside_callbacks(void)
{
    plug stopper;
    zb_event *event = NULL, *last = NULL, *end = NULL;
    zb_queue *queue = new_queue();
    plug_queue(&stopper, queue);
    REQUIRE_OK(zb_queue_fence(queue, &event));
    REQUIRE_OK(zb_queue_fence(queue, &last));
    /* settled when the callbacks before it are over */
    REQUIRE_OK(zb_queue_fence(queue, &end));
    CHECK_OK(zb_event_on_complete(stopper.event, cancel_in_callback, event));
    CHECK_OK(zb_event_on_complete(event, cancel_in_callback, NULL));
    CHECK_OK(zb_event_on_complete(last, cancel_in_callback, NULL));
    open_plug(&stopper);
    CHECK_EQ(last_ending(end), ZB_OK);
    CHECK_EQ(last_ending(last), ZB_OK);
    CHECK_EQ(last_ending(event), ZB_ERROR_CANCELLED);
    CHECK_EQ(ending(stopper.event), ZB_OK);
    free_plug(&stopper);
    CHECK_OK(zb_queue_destroy(queue));
}

/* --- deadlines --- */

static void a_deadline_that_passes_in_line(void)
{
    plug stopper;
    sum made;
    zb_event *late = NULL, *kept = NULL;
    zb_infer_options options = ZB_INFER_OPTIONS_INIT;
    zb_queue *queue = new_queue();
    make_sum(&made, "run panic it ran @2+");
    plug_queue(&stopper, queue);
    options.deadline_ns = 60 * SECOND;
    REQUIRE_OK(zb_queue_infer(queue, made.context, &options, &kept));
    CHECK_OK(zb_event_on_complete(kept, cancel_in_callback, NULL));
    options.deadline_ns = 10 * MILLISECOND;
    REQUIRE_OK(zb_queue_infer(queue, made.context, &options, &late));
    /* the time of the first in line, not that of the run */
    check_waits(late);
    pull_plug(&stopper);
    CHECK_EQ(ending(kept), ZB_OK);
    CHECK_EQ(ending(late), ZB_ERROR_DEADLINE_EXCEEDED);
    check_says(late, "nothing was written");
    CHECK_SUM(&made);
    CHECK_EQ(runs_of(made.context), 1);
    CHECK_OK(zb_event_destroy(kept));
    CHECK_OK(zb_event_destroy(late));
    free_sum(&made);
    CHECK_OK(zb_queue_destroy(queue));
}

static const zt_test tests[] = {
    ON_BOTH(what_has_not_started_never_does),
    ON_BOTH(the_next_run_is_right),
    ON_BOTH(copies_and_fences),
    ON_BOTH(the_place_is_free_again),
    ON_BOTH(what_runs_stops_where_the_engine_can),
    ON_BOTH(an_engine_that_cannot_stop),
    ON_BOTH(what_is_over_stays_as_it_is),
    ON_BOTH(writes_keep_their_order),
    ON_BOTH(two_that_leave),
    ON_BOTH(runs_of_a_context_keep_their_order),
    ON_BOTH(only_later_reads_are_refused),
    ON_BOTH(an_earlier_write_does_not_make_up_for_it),
    ON_BOTH(at_any_moment),
    ON_BOTH(inside_callbacks),
    ON_BOTH(a_deadline_that_passes_in_line),
};

ZT_MAIN(tests)
