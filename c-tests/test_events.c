/*
 * Events: waiting for them and being called when they are settled. What stands still and when is decided by gates in the mock
 * engine, so that the order is the one written here.
 */
#include "plug.h"

#include <pthread.h>
#include <unistd.h>

static zb_event *fence(zb_queue *queue)
{
    zb_event *event = NULL;
    REQUIRE_OK(zb_queue_fence(queue, &event));
    return event;
}

/* An operation that ends with RUNTIME, "no luck". */
typedef struct failure {
    zb_model *model;
    zb_context *context;
    zb_event *event;
} failure;

static void put_failure(failure *made, zb_queue *queue)
{
    made->model = mock_open("output done f32 1\nrun fail RUNTIME no luck\n");
    made->context = zt_context(made->model);
    made->event = NULL;
    REQUIRE_OK(zb_queue_infer(queue, made->context, NULL, &made->event));
}

static void free_failure(failure *made)
{
    zb_event_destroy(made->event);
    zb_context_destroy(made->context);
    zb_model_destroy(made->model);
}

/* --- waiting --- */

static void a_wait_that_is_over_leaves_the_operation_alone(void)
{
    plug stopper;
    zb_status result = 77;
    zb_queue *queue = new_queue();
    plug_queue(&stopper, queue);
    zb_event *event = fence(queue);
    CHECK_STATUS(zb_event_wait(event, 0, &result), ZB_ERROR_TIMEOUT);
    CHECK_STATUS(zb_event_wait(event, 1, &result), ZB_ERROR_TIMEOUT);
    uint64_t start = now_ns();
    CHECK_STATUS(zb_event_wait(event, 20 * MILLISECOND, &result), ZB_ERROR_TIMEOUT);
    CHECK(now_ns() - start >= 20 * MILLISECOND);
    CHECK_EQ(result, 77);
    /* the running one too */
    CHECK_STATUS(zb_event_wait(stopper.event, 0, &result), ZB_ERROR_TIMEOUT);
    CHECK_STATUS(zb_event_wait(stopper.event, MILLISECOND, &result), ZB_ERROR_TIMEOUT);
    CHECK_EQ(result, 77);
    pull_plug(&stopper);
    CHECK_EQ(last_ending(event), ZB_OK);
    CHECK_OK(zb_queue_destroy(queue));
}

static void the_wait_and_the_work_end_each_for_itself(void)
{
    static const uint64_t times[] = {0, 1, SECOND, UINT64_MAX / 2, UINT64_MAX - 1, UINT64_MAX};
    failure failed;
    char text[64] = "";
    size_t needed = 77;
    zb_queue *queue = new_queue();
    put_failure(&failed, queue);
    CHECK_EQ(ending(failed.event), ZB_ERROR_RUNTIME);
    zb_event *good = fence(queue);
    CHECK_EQ(ending(good), ZB_OK);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        zb_status bad_result = 77, good_result = 77;
        CHECK_OK(zb_event_wait(failed.event, times[i], &bad_result));
        CHECK_OK(zb_event_wait(good, times[i], &good_result));
        CHECK(bad_result == ZB_ERROR_RUNTIME && good_result == ZB_OK);
    }
    CHECK_OK(zb_event_get_error(failed.event, text, sizeof text, NULL));
    CHECK(strstr(text, "no luck") != NULL);
    CHECK_OK(zb_event_get_error(good, text, sizeof text, &needed));
    CHECK(text[0] == '\0' && needed == 1);
    CHECK_OK(zb_queue_destroy(queue));
    /* how it ended is known as long as the event */
    CHECK_EQ(ending(failed.event), ZB_ERROR_RUNTIME);
    CHECK_EQ(last_ending(good), ZB_OK);
    free_failure(&failed);
}

typedef struct waiter {
    pthread_t thread;
    zb_event *event;
    uint64_t time;
    int *entered;
    zb_status status;
    zb_status result;
} waiter;

static void *wait_body(void *argument)
{
    waiter *own = argument;
    __atomic_add_fetch(own->entered, 1, __ATOMIC_RELEASE);
    own->status = zb_event_wait(own->event, own->time, &own->result);
    return NULL;
}

enum { WAITERS = 12 };

static void start_waiters(waiter *waiters, zb_event *event, int *entered)
{
    static const uint64_t times[3] = {UINT64_MAX, UINT64_MAX - 1, 50 * SECOND};
    *entered = 0;
    for (int i = 0; i < WAITERS; i++) {
        waiter fresh = {0, event, times[i % 3], entered, -1, 77};
        waiters[i] = fresh;
        REQUIRE(pthread_create(&waiters[i].thread, NULL, wait_body, &waiters[i]) == 0);
    }
    while (__atomic_load_n(entered, __ATOMIC_ACQUIRE) < WAITERS) {
        sched_yield();
    }
}

static void many_threads_hear_the_same(void)
{
    plug stopper;
    failure failed;
    waiter waiters[WAITERS];
    int entered = 0;
    zb_queue *queue = new_queue();
    plug_queue(&stopper, queue);
    put_failure(&failed, queue);
    start_waiters(waiters, failed.event, &entered);
    pull_plug(&stopper);
    for (int i = 0; i < WAITERS; i++) {
        REQUIRE(pthread_join(waiters[i].thread, NULL) == 0);
        CHECK_EQ(waiters[i].status, ZB_OK);
        CHECK_EQ(waiters[i].result, ZB_ERROR_RUNTIME);
    }
    free_failure(&failed);
    CHECK_OK(zb_queue_destroy(queue));
}

/* Whoever waits already gets the result; whoever comes too late finds no handle. */
static void destroying_the_handle_under_those_who_wait(void)
{
    int all_waited = 0;
    for (useconds_t attempt = 0; attempt < 20 && !all_waited; attempt++) {
        plug stopper;
        waiter waiters[WAITERS];
        int entered = 0, waited = 0;
        zb_queue *queue = new_queue();
        plug_queue(&stopper, queue);
        zb_event *event = fence(queue);
        start_waiters(waiters, event, &entered);
        /* nothing tells when a thread has got from its mark into the wait; a longer pause each time */
        usleep(attempt * 5000);
        CHECK_OK(zb_event_destroy(event));
        CHECK_STATUS(zb_event_wait(event, 0, &waiters[0].result), ZB_ERROR_INVALID_HANDLE);
        pull_plug(&stopper);
        for (int i = 0; i < WAITERS; i++) {
            REQUIRE(pthread_join(waiters[i].thread, NULL) == 0);
            CHECK(waiters[i].status == ZB_OK || waiters[i].status == ZB_ERROR_INVALID_HANDLE);
            CHECK_EQ(waiters[i].result, waiters[i].status == ZB_OK ? ZB_OK : 77);
            waited += waiters[i].status == ZB_OK;
        }
        all_waited = waited == WAITERS;
        CHECK_OK(zb_queue_destroy(queue));
    }
    CHECK(all_waited);
}

static void destroying_an_event_early_changes_nothing(void)
{
    plug stopper;
    sum made;
    zb_event *event = NULL;
    zb_queue *queue = new_queue();
    make_sum(&made, NULL);
    plug_queue(&stopper, queue);
    REQUIRE_OK(zb_queue_infer(queue, made.context, NULL, &event));
    CHECK_OK(zb_event_destroy(event));
    CHECK_STATUS(zb_event_destroy(event), ZB_ERROR_INVALID_HANDLE);
    /* and without one at all */
    float eleven = 11;
    REQUIRE_OK(zb_queue_write(queue, made.tensors[1], 0, &eleven, sizeof eleven, NULL));
    REQUIRE_OK(zb_queue_infer(queue, made.context, NULL, NULL));
    pull_plug(&stopper);
    REQUIRE_OK(zb_queue_finish(queue, FOREVER));
    CHECK(zt_floats(&made.z)[0] == 12 && zt_floats(&made.z)[3] == 44);
    free_sum(&made);
    CHECK_OK(zb_queue_destroy(queue));
}

/* --- being called --- */

typedef struct told {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int count;
    zb_event *event;
    zb_status result;
    pthread_t thread;
    /* the number of the call among those that share a clock */
    int *clock;
    int time;
} told;

static void clear(told *state)
{
    memset(state, 0, sizeof *state);
    state->result = 77;
    pthread_mutex_init(&state->lock, NULL);
    pthread_cond_init(&state->changed, NULL);
}

static void tell(void *user_data, zb_event *event, zb_status result)
{
    told *state = user_data;
    pthread_mutex_lock(&state->lock);
    state->count++;
    state->event = event;
    state->result = result;
    state->thread = pthread_self();
    if (state->clock != NULL) {
        state->time = __atomic_add_fetch(state->clock, 1, __ATOMIC_ACQ_REL);
    }
    pthread_cond_broadcast(&state->changed);
    pthread_mutex_unlock(&state->lock);
}

/* Being settled is heard by those who wait before the callback is over. */
static void await_told(told *state)
{
    pthread_mutex_lock(&state->lock);
    while (state->count == 0) {
        pthread_cond_wait(&state->changed, &state->lock);
    }
    pthread_mutex_unlock(&state->lock);
}

static int told_count(told *state)
{
    pthread_mutex_lock(&state->lock);
    int count = state->count;
    pthread_mutex_unlock(&state->lock);
    return count;
}

static void a_callback_set_before_the_end(void)
{
    plug stopper;
    told first, second;
    zb_queue *queue = new_queue();
    clear(&first);
    clear(&second);
    plug_queue(&stopper, queue);
    zb_event *event = fence(queue);
    CHECK_OK(zb_event_on_complete(event, tell, &first));
    CHECK_STATUS(zb_event_on_complete(event, tell, &second), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(told_count(&first), 0);
    pull_plug(&stopper);
    await_told(&first);
    CHECK(first.event == event && first.result == ZB_OK);
    CHECK(!pthread_equal(first.thread, pthread_self()));
    CHECK_STATUS(zb_event_on_complete(event, tell, &second), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_OK(zb_queue_finish(queue, FOREVER));
    CHECK(told_count(&first) == 1 && told_count(&second) == 0);
    CHECK_OK(zb_event_destroy(event));
    CHECK_OK(zb_queue_destroy(queue));
}

static void a_callback_set_after_the_end(void)
{
    told first, second;
    failure failed;
    zb_queue *queue = new_queue();
    clear(&first);
    clear(&second);
    put_failure(&failed, queue);
    CHECK_EQ(ending(failed.event), ZB_ERROR_RUNTIME);
    CHECK_OK(zb_event_on_complete(failed.event, tell, &first));
    CHECK_EQ(told_count(&first), 1);
    CHECK(first.event == failed.event && first.result == ZB_ERROR_RUNTIME);
    CHECK(pthread_equal(first.thread, pthread_self()));
    CHECK_STATUS(zb_event_on_complete(failed.event, tell, &second), ZB_ERROR_INVALID_ARGUMENT);
    CHECK(told_count(&first) == 1 && told_count(&second) == 0);
    free_failure(&failed);
    CHECK_OK(zb_queue_destroy(queue));
}

static void a_callback_outlives_the_handle(void)
{
    plug stopper;
    told state;
    zb_status result = 77;
    zb_queue *queue = new_queue();
    clear(&state);
    plug_queue(&stopper, queue);
    zb_event *event = fence(queue);
    CHECK_OK(zb_event_on_complete(event, tell, &state));
    CHECK_OK(zb_event_destroy(event));
    pull_plug(&stopper);
    await_told(&state);
    /* the number that it was set with, and a handle no more */
    CHECK(state.event == event && state.result == ZB_OK);
    CHECK_STATUS(zb_event_wait(state.event, 0, &result), ZB_ERROR_INVALID_HANDLE);
    CHECK_OK(zb_queue_finish(queue, FOREVER));
    CHECK_EQ(told_count(&state), 1);
    CHECK_OK(zb_queue_destroy(queue));
}

static void a_callback_hears_every_kind_of_end(void)
{
    plug stopper;
    failure failed;
    told states[3];
    zb_event *events[3];
    zb_queue *queue = new_queue();
    plug_queue(&stopper, queue);
    put_failure(&failed, queue);
    events[0] = failed.event;
    events[1] = fence(queue);
    events[2] = fence(queue);
    for (int i = 0; i < 3; i++) {
        clear(&states[i]);
        CHECK_OK(zb_event_on_complete(events[i], tell, &states[i]));
    }
    /* on the thread that settles it, which is the one that cancels, or destroys */
    CHECK_OK(zb_event_cancel(events[1]));
    CHECK_EQ(told_count(&states[1]), 1);
    CHECK_EQ(states[1].result, ZB_ERROR_CANCELLED);
    CHECK(pthread_equal(states[1].thread, pthread_self()));
    open_plug(&stopper);
    await_told(&states[0]);
    CHECK_EQ(states[0].result, ZB_ERROR_RUNTIME);
    await_told(&states[2]);
    CHECK_EQ(states[2].result, ZB_OK);
    free_plug(&stopper);
    plug_queue(&stopper, queue);
    told destroyed;
    clear(&destroyed);
    zb_event *event = fence(queue);
    CHECK_OK(zb_event_on_complete(event, tell, &destroyed));
    CHECK_OK(zb_queue_destroy(queue));
    CHECK_EQ(told_count(&destroyed), 1);
    CHECK_EQ(destroyed.result, ZB_ERROR_DESTROYED);
    CHECK_EQ(last_ending(event), ZB_ERROR_DESTROYED);
    open_plug(&stopper);
    CHECK_EQ(ending(stopper.event), ZB_ERROR_CANCELLED);
    free_plug(&stopper);
    free_failure(&failed);
    CHECK_OK(zb_event_destroy(events[1]));
    CHECK_OK(zb_event_destroy(events[2]));
}

static void callbacks_come_in_the_order_of_the_queue(void)
{
    enum { MOST = 300 };
    static told states[MOST];
    static zb_event *events[MOST];
    plug stopper;
    int clock = 0, count = zt_rounds(MOST, 60);
    zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
    zb_queue *queue = NULL;
    options.capacity = MOST + 1;
    REQUIRE_OK(zb_queue_create(&options, &queue));
    plug_queue(&stopper, queue);
    for (int i = 0; i < count; i++) {
        clear(&states[i]);
        states[i].clock = &clock;
        events[i] = fence(queue);
    }
    /* set in another order than that of the operations */
    for (int i = 0; i < count; i++) {
        int chosen = i % 2 == 0 ? i / 2 : count - 1 - i / 2;
        CHECK_OK(zb_event_on_complete(events[chosen], tell, &states[chosen]));
    }
    pull_plug(&stopper);
    for (int i = 0; i < count; i++) {
        await_told(&states[i]);
        CHECK_EQ(states[i].time, i + 1);
        CHECK_OK(zb_event_destroy(events[i]));
    }
    CHECK_OK(zb_queue_destroy(queue));
}

/* Set while the event is being settled: called once, whoever was first. */
static void callbacks_at_the_moment_of_the_end(void)
{
    zb_queue *queue = new_queue();
    int inline_calls = 0, rounds = zt_rounds(2000, 100);
    for (int i = 0; i < rounds; i++) {
        told state;
        clear(&state);
        zb_event *event = fence(queue);
        for (volatile int spin = i % 50 * 20; spin > 0; spin--) {
        }
        CHECK_OK(zb_event_on_complete(event, tell, &state));
        await_told(&state);
        CHECK_EQ(last_ending(event), ZB_OK);
        CHECK(told_count(&state) == 1 && state.event == event && state.result == ZB_OK);
        inline_calls += pthread_equal(state.thread, pthread_self()) != 0;
    }
    CHECK_OK(zb_queue_destroy(queue));
    if (inline_calls == 0 || inline_calls == rounds) {
        printf("        %d of %d were settled when the callback was set\n", inline_calls, rounds);
    }
}

/* --- what a callback may do --- */

typedef struct relay {
    zb_queue *queue;
    int left;
    told done;
} relay;

static void pass_on(void *user_data, zb_event *event, zb_status result)
{
    relay *state = user_data;
    zb_event *next = NULL;
    CHECK_EQ(result, ZB_OK);
    CHECK_OK(zb_event_destroy(event));
    if (state->left == 0) {
        tell(&state->done, event, result);
        return;
    }
    state->left--;
    REQUIRE_OK(zb_queue_fence(state->queue, &next));
    REQUIRE_OK(zb_event_on_complete(next, pass_on, state));
}

static void a_callback_puts_more_into_the_queue(void)
{
    relay state;
    clear(&state.done);
    state.queue = new_queue();
    state.left = zt_rounds(1000, 100);
    REQUIRE_OK(zb_event_on_complete(fence(state.queue), pass_on, &state));
    await_told(&state.done);
    CHECK_EQ(state.left, 0);
    CHECK_OK(zb_queue_destroy(state.queue));
}

typedef struct demolition {
    zb_queue *queue;
    sum made;
    zb_event *pending;
    told done;
} demolition;

static void destroy_it_all(void *user_data, zb_event *event, zb_status result)
{
    demolition *state = user_data;
    CHECK_EQ(result, ZB_OK);
    CHECK_OK(zb_queue_destroy(state->queue));
    CHECK_EQ(last_ending(state->pending), ZB_ERROR_DESTROYED);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(zb_tensor_destroy(state->made.tensors[i]));
    }
    CHECK_OK(zb_context_destroy(state->made.context));
    CHECK_OK(zb_model_destroy(state->made.model));
    CHECK_OK(zb_event_destroy(event));
    tell(&state->done, event, result);
}

static void a_callback_destroys_everything(void)
{
    demolition state;
    plug stopper;
    zb_event *event = NULL;
    state.queue = new_queue();
    clear(&state.done);
    make_sum(&state.made, NULL);
    plug_queue(&stopper, state.queue);
    REQUIRE_OK(zb_queue_infer(state.queue, state.made.context, NULL, &event));
    REQUIRE_OK(zb_queue_infer(state.queue, state.made.context, NULL, &state.pending));
    CHECK_OK(zb_event_on_complete(event, destroy_it_all, &state));
    pull_plug(&stopper);
    await_told(&state.done);
    CHECK_SUM(&state.made);
    FREE_BUFFER(&state.made.x);
    FREE_BUFFER(&state.made.y);
    FREE_BUFFER(&state.made.z);
}

typedef struct setter {
    zb_event *settled;
    zb_event *pending;
    told of_settled, of_pending, done;
} setter;

static void set_others(void *user_data, zb_event *event, zb_status result)
{
    setter *state = user_data;
    CHECK_STATUS(zb_event_on_complete(event, tell, &state->done), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_OK(zb_event_on_complete(state->settled, tell, &state->of_settled));
    CHECK_EQ(told_count(&state->of_settled), 1);
    CHECK_OK(zb_event_on_complete(state->pending, tell, &state->of_pending));
    CHECK_EQ(told_count(&state->of_pending), 0);
    tell(&state->done, event, result);
}

static void a_callback_sets_others(void)
{
    setter state;
    plug stopper;
    zb_queue *queue = new_queue();
    clear(&state.of_settled);
    clear(&state.of_pending);
    clear(&state.done);
    state.settled = fence(queue);
    CHECK_EQ(ending(state.settled), ZB_OK);
    plug_queue(&stopper, queue);
    zb_event *event = fence(queue);
    state.pending = fence(queue);
    CHECK_OK(zb_event_on_complete(event, set_others, &state));
    pull_plug(&stopper);
    await_told(&state.of_pending);
    CHECK_EQ(told_count(&state.done), 1);
    CHECK_EQ(last_ending(event), ZB_OK);
    CHECK_EQ(last_ending(state.settled), ZB_OK);
    CHECK_EQ(last_ending(state.pending), ZB_OK);
    CHECK_OK(zb_queue_destroy(queue));
}

static const zt_test tests[] = {
    ON_BOTH(a_wait_that_is_over_leaves_the_operation_alone),
    ON_BOTH(the_wait_and_the_work_end_each_for_itself),
    ON_BOTH(many_threads_hear_the_same),
    ON_BOTH(destroying_the_handle_under_those_who_wait),
    ON_BOTH(destroying_an_event_early_changes_nothing),
    ON_BOTH(a_callback_set_before_the_end),
    ON_BOTH(a_callback_set_after_the_end),
    ON_BOTH(a_callback_outlives_the_handle),
    ON_BOTH(a_callback_hears_every_kind_of_end),
    ON_BOTH(callbacks_come_in_the_order_of_the_queue),
    ON_BOTH(callbacks_at_the_moment_of_the_end),
    ON_BOTH(a_callback_puts_more_into_the_queue),
    ON_BOTH(a_callback_destroys_everything),
    ON_BOTH(a_callback_sets_others),
};

ZT_MAIN(tests)
