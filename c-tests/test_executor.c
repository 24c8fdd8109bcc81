/*
 * Queues on an executor of the host's: who is called when, and what a task does, also one that is late, repeated or made up.
 */
#include "executor.h"

/* --- step by step on the main thread --- */

static void one_step_at_a_time(void)
{
    enum { EVENTS = 5 };
    executor made;
    memory bytes;
    zb_event *events[EVENTS];
    unsigned char read[BYTES];
    zb_tensor_desc desc = F32(4);
    int threads = zt_threads();
    zt_watchdog(20);
    make_executor(&made);
    make_memory(&bytes);
    zb_queue *queue = queue_on(&made, 0);
    zb_model *model = mock_open("input x f32 4\noutput y f32 4\n");
    zb_context *context = zt_context(model);
    zb_slot_tensor slots[2];
    memset(slots, 0, sizeof slots);
    slots[0].tensor = bytes.tensor;
    slots[1].slot = ZB_OUTPUT(0);
    REQUIRE_OK(zb_tensor_alloc(&desc, 0, &slots[1].tensor));
    CHECK_EQ(made.submitted, 0);
    events[0] = write_ones(queue, &bytes);
    REQUIRE_OK(zb_queue_infer_with(queue, context, slots, 2, NULL, &events[1]));
    REQUIRE_OK(zb_queue_read(queue, slots[1].tensor, 0, read, BYTES, &events[2]));
    REQUIRE_OK(zb_queue_fence(queue, &events[3]));
    REQUIRE_OK(zb_queue_write(queue, bytes.tensor, 0, NULL, 0, &events[4]));
    for (int i = 0; i < EVENTS; i++) {
        /* one task for one operation, and the next only when that is done */
        CHECK_EQ(made.count, 1);
        CHECK_EQ(made.submitted, i + 1);
        for (int j = i; j < EVENTS; j++) {
            CHECK_PENDING(events[j]);
        }
        CHECK(step(&made));
        CHECK_SETTLED(events[i], ZB_OK);
    }
    CHECK(!step(&made));
    CHECK_BYTES(read, ones, BYTES);
    CHECK_EQ(zt_threads(), threads);
    for (int i = 0; i < EVENTS; i++) {
        CHECK_OK(zb_event_destroy(events[i]));
    }
    CHECK_OK(zb_queue_finish(queue, 0));
    CHECK_OK(zb_queue_destroy(queue));
    CHECK_OK(zb_tensor_destroy(slots[1].tensor));
    CHECK_OK(zb_context_destroy(context));
    CHECK_OK(zb_model_destroy(model));
    free_memory(&bytes);
    CHECK_EQ(zt_threads(), threads);
    free_executor(&made);
}

/* --- a pool of two threads, four queues --- */

static void *serve(void *argument)
{
    executor *made = argument;
    pthread_mutex_lock(&made->lock);
    for (;;) {
        while (made->count == 0 && !made->is_closed) {
            pthread_cond_wait(&made->changed, &made->lock);
        }
        if (made->count == 0) {
            break;
        }
        void *task = take_locked(made);
        zb_task_fn run = made->run;
        pthread_mutex_unlock(&made->lock);
        run(task);
        pthread_mutex_lock(&made->lock);
    }
    pthread_mutex_unlock(&made->lock);
    return NULL;
}

typedef struct order {
    int next, errors;
} order;

typedef struct expected_turn {
    order *order;
    int turn;
} expected_turn;

/* Operations that were all put there before the first was done: one at a time, in their order, each with its callback. No lock is
   needed then, and a race detector would say so if one were. (What is put in during a callback may be done beside it.) */
static void note_turn(void *user_data, zb_event *event, zb_status result)
{
    expected_turn *turn = user_data;
    (void)event;
    turn->order->errors += turn->order->next++ != turn->turn || result != ZB_OK;
}

static void a_pool_of_two_threads(void)
{
    enum { QUEUES = 4, ROUNDS = 50 };
    executor made;
    pthread_t threads[2];
    zb_queue *queues[QUEUES];
    memory bytes[QUEUES];
    order orders[QUEUES];
    static expected_turn turns[QUEUES][ROUNDS];
    zt_watchdog(20);
    make_executor(&made);
    memset(orders, 0, sizeof orders);
    for (int i = 0; i < QUEUES; i++) {
        queues[i] = queue_on(&made, ROUNDS);
        make_memory(&bytes[i]);
    }
    for (int turn = 0; turn < ROUNDS; turn++) {
        for (int i = 0; i < QUEUES; i++) {
            zb_event *event = write_ones(queues[i], &bytes[i]);
            turns[i][turn].order = &orders[i];
            turns[i][turn].turn = turn;
            REQUIRE_OK(zb_event_on_complete(event, note_turn, &turns[i][turn]));
            CHECK_OK(zb_event_destroy(event));
        }
    }
    for (int i = 0; i < 2; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, serve, &made) == 0);
    }
    /* only now: a sanitizer starts a thread of its own beside the first */
    int with_pool = zt_threads();
    for (int i = 0; i < QUEUES; i++) {
        CHECK_OK(zb_queue_finish(queues[i], UINT64_MAX));
    }
    CHECK_EQ(zt_threads(), with_pool);
    pthread_mutex_lock(&made.lock);
    made.is_closed = 1;
    pthread_cond_broadcast(&made.changed);
    pthread_mutex_unlock(&made.lock);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK_EQ(made.submitted, QUEUES * ROUNDS);
    for (int i = 0; i < QUEUES; i++) {
        CHECK_EQ(orders[i].next, ROUNDS);
        CHECK_EQ(orders[i].errors, 0);
        CHECK_OK(zb_queue_destroy(queues[i]));
        free_memory(&bytes[i]);
    }
    free_executor(&made);
}

/* --- an executor that runs the task at once --- */

static int32_t run_inline(void *user_data, zb_task_fn run, void *task)
{
    int *calls = user_data;
    ++*calls;
    run(task);
    return 0;
}

static zb_queue *inline_queue(int *calls)
{
    zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
    zb_queue *queue = NULL;
    options.submit = run_inline;
    options.user_data = calls;
    REQUIRE_OK(zb_queue_create(&options, &queue));
    return queue;
}

static void inside_submit(void)
{
    int calls = 0;
    memory bytes;
    zt_watchdog(20);
    zb_queue *queue = inline_queue(&calls);
    make_memory(&bytes);
    for (int i = 1; i <= 100; i++) {
        zb_event *event = write_ones(queue, &bytes);
        CHECK_SETTLED(event, ZB_OK);
        CHECK_OK(zb_event_destroy(event));
        CHECK_EQ(calls, i);
    }
    CHECK_BYTES(bytes.buffer.data, ones, BYTES);
    CHECK_OK(zb_queue_finish(queue, 0));
    CHECK_OK(zb_queue_finish(queue, UINT64_MAX));
    CHECK_OK(zb_queue_destroy(queue));
    free_memory(&bytes);
}

/* Operations that come all at once, when what they waited for on another queue has ended. */
static void a_chain_inside_submit(void)
{
    enum { EVENTS = 60 };
    int calls = 0;
    memory bytes;
    gated before;
    witness witnesses[EVENTS];
    zb_event *event = NULL;
    zt_watchdog(20);
    zb_queue *other = zt_queue();
    zb_queue *queue = inline_queue(&calls);
    make_memory(&bytes);
    gated_make(&before, "before");
    gated_block(&before, other);
    memset(witnesses, 0, sizeof witnesses);
    REQUIRE_OK(zb_queue_wait_event(queue, before.event));
    for (int i = 0; i < EVENTS; i++) {
        event = write_ones(queue, &bytes);
        witness_watch(&witnesses[i], event);
        CHECK_OK(zb_event_destroy(event));
    }
    CHECK_EQ(calls, 0);
    CHECK_OK(gated_let_go(&before));
    for (int i = 0; i < EVENTS; i++) {
        CHECK_OK(witness_wait(&witnesses[i]));
    }
    CHECK_OK(zb_queue_finish(other, UINT64_MAX));
    CHECK_OK(zb_queue_destroy(queue));
    CHECK_OK(zb_queue_destroy(other));
    free_memory(&bytes);
    gated_free(&before);
    /* then the other queue's thread has returned from the last call */
    REQUIRE(zt_soon_nothing_is_alive());
    CHECK_EQ(calls, EVENTS + 1);
}

/* --- a callback that waits for a queue which this thread is about to give a task for --- */

typedef struct waiter {
    zb_event *other;
    zb_status told, waited, result;
    int calls;
} waiter;

static void wait_for_other(void *user_data, zb_event *event, zb_status result)
{
    waiter *made = user_data;
    (void)event;
    made->told = result;
    made->waited = zb_event_wait(made->other, UINT64_C(5) * 1000 * 1000 * 1000, &made->result);
    made->calls++;
}

static void close_pool(executor *pool, pthread_t thread)
{
    pthread_mutex_lock(&pool->lock);
    pool->is_closed = 1;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
    pthread_join(thread, NULL);
}

/* The callback comes inside submit of an executor that runs tasks at once. What it waits for was set free by its own
   operation (`is_after`), or together with that. */
static void callback_waits_inside_submit(int is_after)
{
    int calls = 0;
    executor made, pool;
    pthread_t thread;
    memory bytes;
    waiter waits;
    float seen[4] = {0};
    zb_event *gate = NULL;
    make_executor(&made);
    make_executor(&pool);
    make_memory(&bytes);
    memset(&waits, 0, sizeof waits);
    waits.waited = waits.result = -1;
    zb_queue *first = queue_on(&made, 0);
    zb_queue *queue = inline_queue(&calls);
    zb_queue *other = queue_on(&pool, 0);
    REQUIRE(pthread_create(&thread, NULL, serve, &pool) == 0);
    REQUIRE_OK(zb_queue_fence(first, &gate));
    REQUIRE_OK(zb_queue_wait_event(queue, gate));
    zb_event *event = write_ones(queue, &bytes);
    if (is_after) {
        REQUIRE_OK(zb_queue_read(other, bytes.tensor, 0, seen, BYTES, &waits.other));
    } else {
        REQUIRE_OK(zb_queue_wait_event(other, gate));
        REQUIRE_OK(zb_queue_fence(other, &waits.other));
    }
    REQUIRE_OK(zb_event_on_complete(event, wait_for_other, &waits));
    CHECK(step(&made));
    CHECK_EQ(waits.calls, 1);
    CHECK_EQ(waits.told, ZB_OK);
    CHECK_EQ(waits.waited, ZB_OK);
    CHECK_EQ(waits.result, ZB_OK);
    CHECK_OK(zb_queue_finish(other, UINT64_MAX));
    CHECK(!is_after || memcmp(seen, ones, BYTES) == 0);
    close_pool(&pool, thread);
    zb_event *events[] = {gate, event, waits.other};
    for (int i = 0; i < 3; i++) {
        CHECK_OK(zb_event_destroy(events[i]));
    }
    zb_queue *queues[] = {first, queue, other};
    for (int i = 0; i < 3; i++) {
        CHECK_OK(zb_queue_destroy(queues[i]));
    }
    free_memory(&bytes);
    free_executor(&made);
    free_executor(&pool);
}

static void a_callback_that_waits_inside_submit(void)
{
    zt_watchdog(20);
    callback_waits_inside_submit(0);
    callback_waits_inside_submit(1);
}

/* A destroyed context settles operations of two queues; the callback of one waits for what comes next in the other. */
static void a_callback_that_waits_for_the_other_queue(void)
{
    executor made, pool;
    pthread_t thread;
    waiter waits;
    zb_event *gate = NULL, *event = NULL;
    zt_watchdog(20);
    make_executor(&made);
    make_executor(&pool);
    memset(&waits, 0, sizeof waits);
    waits.waited = waits.result = -1;
    zb_model *model = mock_open("output done f32 1\n");
    zb_context *context = mock_context(model, "run open nothing");
    zb_queue *first = queue_on(&made, 0);
    zb_queue *queue = queue_on(&pool, 0);
    zb_queue *other = queue_on(&pool, 0);
    REQUIRE(pthread_create(&thread, NULL, serve, &pool) == 0);
    REQUIRE_OK(zb_queue_fence(first, &gate));
    REQUIRE_OK(zb_queue_wait_event(queue, gate));
    REQUIRE_OK(zb_queue_infer(queue, context, NULL, &event));
    REQUIRE_OK(zb_queue_infer(other, context, NULL, NULL));
    REQUIRE_OK(zb_queue_fence(other, &waits.other));
    REQUIRE_OK(zb_event_on_complete(event, wait_for_other, &waits));
    CHECK_OK(zb_context_destroy(context));
    CHECK_EQ(waits.calls, 1);
    CHECK_EQ(waits.told, ZB_ERROR_DESTROYED);
    CHECK_EQ(waits.waited, ZB_OK);
    CHECK_EQ(waits.result, ZB_OK);
    run_all(&made);
    CHECK_OK(zb_queue_finish(queue, UINT64_MAX));
    close_pool(&pool, thread);
    zb_event *events[] = {gate, event, waits.other};
    zb_queue *queues[] = {first, queue, other};
    for (int i = 0; i < 3; i++) {
        CHECK_OK(zb_event_destroy(events[i]));
        CHECK_OK(zb_queue_destroy(queues[i]));
    }
    CHECK_OK(zb_model_destroy(model));
    free_executor(&made);
    free_executor(&pool);
}

/* --- tasks that come late, twice, from elsewhere, or never were --- */

static void *run_elsewhere(void *argument)
{
    executor *made = argument;
    step(made);
    return NULL;
}

static void tasks_that_are_none(void)
{
    executor made;
    memory bytes;
    zt_watchdog(20);
    make_executor(&made);
    make_memory(&bytes);
    zb_queue *queue = queue_on(&made, 0);
    zb_event *first = write_ones(queue, &bytes);
    zb_event *second = write_ones(queue, &bytes);
    /* garbage, and numbers near a real one */
    uintptr_t real = (uintptr_t)made.tasks[made.first].task;
    const uintptr_t garbage[] = {0, UINTPTR_MAX, 0xdeadbeef, (uintptr_t)&made, (uintptr_t)queue, (uintptr_t)first,
                                 real + 1, real ^ 0x8000, ~real};
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        union {
            uintptr_t number;
            void *pointer;
        } token;
        token.number = garbage[i];
        made.run(token.pointer);
        CHECK_PENDING(first);
        CHECK(zt_is_untouched(&bytes.buffer));
    }
    /* twice: the second does not do what the next task is for */
    void *task = take(&made);
    made.run(task);
    CHECK_SETTLED(first, ZB_OK);
    made.run(task);
    CHECK_PENDING(second);
    CHECK_EQ(made.count, 1);
    /* from another thread */
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, run_elsewhere, &made) == 0);
    pthread_join(thread, NULL);
    CHECK_SETTLED(second, ZB_OK);
    /* late: what it was for was cancelled, or is gone with its queue */
    zb_event *third = write_ones(queue, &bytes);
    CHECK_OK(zb_event_cancel(third));
    CHECK_SETTLED(third, ZB_ERROR_CANCELLED);
    zb_event *fourth = write_ones(queue, &bytes);
    CHECK(made.count <= 1);
    run_all(&made);
    CHECK_SETTLED(fourth, ZB_OK);
    zb_event *fifth = write_ones(queue, &bytes);
    task = take(&made);
    CHECK_OK(zb_queue_destroy(queue));
    CHECK_SETTLED(fifth, ZB_ERROR_DESTROYED);
    made.run(task);
    zb_queue *next = queue_on(&made, 0);
    zb_event *sixth = write_ones(next, &bytes);
    made.run(task);
    CHECK_PENDING(sixth);
    run_all(&made);
    CHECK_SETTLED(sixth, ZB_OK);
    CHECK_OK(zb_queue_destroy(next));
    zb_event *events[] = {first, second, third, fourth, fifth, sixth};
    for (int i = 0; i < 6; i++) {
        CHECK_OK(zb_event_destroy(events[i]));
    }
    free_memory(&bytes);
    free_executor(&made);
}

static const zt_test tests[] = {
    ON_BOTH(one_step_at_a_time),
    ON_BOTH(a_pool_of_two_threads),
    ON_BOTH(inside_submit),
    ON_BOTH(a_chain_inside_submit),
    ON_BOTH(a_callback_that_waits_inside_submit),
    ON_BOTH(a_callback_that_waits_for_the_other_queue),
    ON_BOTH(tasks_that_are_none),
};

ZT_MAIN(tests)
