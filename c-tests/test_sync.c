/*
 * zb_tensor_sync; and waiting, syncing and finishing where only the calling thread could end the wait: refused instead of
 * waiting for good. Waits that must be refused have a time, so that a missing refusal shows as TIMEOUT.
 */
#include "plug.h"

#include <pthread.h>
#include <unistd.h>

#define A_WHILE (20 * MILLISECOND)
#define LONG (20 * SECOND)

static const float numbers[4] = {1, 2, 3, 4};

static zb_tensor *new_tensor(void)
{
    zb_tensor *tensor = NULL;
    zb_tensor_desc desc = F32(4);
    REQUIRE_OK(zb_tensor_alloc(&desc, 64, &tensor));
    return tensor;
}

static zb_event *put_write(zb_queue *queue, zb_tensor *tensor)
{
    zb_event *event = NULL;
    REQUIRE_OK(zb_queue_write(queue, tensor, 0, numbers, sizeof numbers, &event));
    return event;
}

static zb_event *put_read(zb_queue *queue, zb_tensor *tensor, float *destination)
{
    zb_event *event = NULL;
    REQUIRE_OK(zb_queue_read(queue, tensor, 0, destination, sizeof numbers, &event));
    return event;
}

static const float *data_of(zb_tensor *tensor)
{
    void *data = NULL;
    REQUIRE_OK(zb_tensor_get_data(tensor, &data, NULL));
    return data;
}

/* Work on the tensor is not over, in either direction. */
static void check_is_in_work(zb_tensor *tensor)
{
    for (int32_t direction = ZB_SYNC_TO_HOST; direction <= ZB_SYNC_TO_DEVICE; direction++) {
        CHECK_STATUS(zb_tensor_sync(tensor, direction, 0), ZB_ERROR_TIMEOUT);
        uint64_t start = now_ns();
        CHECK_STATUS(zb_tensor_sync(tensor, direction, A_WHILE), ZB_ERROR_TIMEOUT);
        CHECK(now_ns() - start >= A_WHILE);
    }
}

static void check_is_free(zb_tensor *tensor)
{
    static const uint64_t times[] = {0, 1, SECOND, UINT64_MAX - 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        CHECK_OK(zb_tensor_sync(tensor, ZB_SYNC_TO_HOST, times[i]));
        CHECK_OK(zb_tensor_sync(tensor, ZB_SYNC_TO_DEVICE, times[i]));
    }
}

/* --- what is waited for --- */

static void a_tensor_without_work(void)
{
    zb_tensor *tensor = new_tensor();
    zb_queue *queue = new_queue();
    check_is_free(tensor);
    CHECK_EQ(last_ending(put_write(queue, tensor)), ZB_OK);
    CHECK_OK(zb_tensor_sync(tensor, ZB_SYNC_TO_HOST, FOREVER));
    check_is_free(tensor);
    CHECK_OK(zb_queue_destroy(queue));
    check_is_free(tensor);
    CHECK_OK(zb_tensor_destroy(tensor));
}

static void directions_that_there_are_not(void)
{
    static const int32_t bad[] = {2, 3, -1, INT32_MAX, INT32_MIN};
    zb_tensor *tensor = new_tensor();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_STATUS(zb_tensor_sync(tensor, bad[i], 0), ZB_ERROR_INVALID_ARGUMENT);
        CHECK_STATUS(zb_tensor_sync(tensor, bad[i], UINT64_MAX), ZB_ERROR_INVALID_ARGUMENT);
        CHECK_ERROR_SAYS("ZB_SYNC_TO_HOST");
    }
    CHECK_OK(zb_tensor_destroy(tensor));
}

static void every_operation_on_the_tensor_is_waited_for(void)
{
    plug stopper;
    sum made;
    float seen[4] = {0, 0, 0, 0};
    zb_event *events[4];
    zb_queue *queue = new_queue();
    make_sum(&made, NULL);
    plug_queue(&stopper, queue);
    events[0] = put_write(queue, made.tensors[0]);
    REQUIRE_OK(zb_queue_infer(queue, made.context, NULL, &events[1]));
    events[2] = put_read(queue, made.tensors[2], seen);
    events[3] = put_read(queue, made.tensors[1], seen);
    for (int i = 0; i < 3; i++) {
        check_is_in_work(made.tensors[i]);
    }
    pull_plug(&stopper);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(zb_tensor_sync(made.tensors[i], ZB_SYNC_TO_HOST, LONG));
    }
    CHECK_SUM(&made);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(last_ending(events[i]), ZB_OK);
    }
    for (int i = 0; i < 3; i++) {
        check_is_free(made.tensors[i]);
    }
    free_sum(&made);
    CHECK_OK(zb_queue_destroy(queue));
}

static void other_tensors_are_not_waited_for(void)
{
    plug stopper;
    zb_queue *stuck = new_queue(), *other = new_queue();
    zb_tensor *busy = new_tensor(), *tensor = new_tensor();
    plug_queue(&stopper, stuck);
    zb_event *waiting = put_write(stuck, busy);
    /* without work, and with work elsewhere */
    check_is_free(tensor);
    zb_event *event = put_write(other, tensor);
    CHECK_OK(zb_tensor_sync(tensor, ZB_SYNC_TO_HOST, LONG));
    CHECK_FLOATS(data_of(tensor), numbers, 4, 0);
    CHECK_EQ(last_ending(event), ZB_OK);
    check_is_in_work(busy);
    pull_plug(&stopper);
    CHECK_OK(zb_tensor_sync(busy, ZB_SYNC_TO_HOST, LONG));
    CHECK_EQ(last_ending(waiting), ZB_OK);
    CHECK_OK(zb_tensor_destroy(busy));
    CHECK_OK(zb_tensor_destroy(tensor));
    CHECK_OK(zb_queue_destroy(stuck));
    CHECK_OK(zb_queue_destroy(other));
}

static void all_queues_are_waited_for(void)
{
    enum { QUEUES = 3 };
    plug stoppers[QUEUES];
    zb_queue *queues[QUEUES];
    zb_event *events[QUEUES];
    float seen[QUEUES][4];
    zb_tensor *tensor = new_tensor();
    for (int i = 0; i < QUEUES; i++) {
        queues[i] = new_queue();
        plug_queue(&stoppers[i], queues[i]);
        events[i] = put_read(queues[i], tensor, seen[i]);
    }
    /* the first in line is not the last to go */
    static const int order[QUEUES] = {1, 2, 0};
    for (int i = 0; i < QUEUES; i++) {
        check_is_in_work(tensor);
        pull_plug(&stoppers[order[i]]);
        CHECK_EQ(last_ending(events[order[i]]), ZB_OK);
    }
    CHECK_OK(zb_tensor_sync(tensor, ZB_SYNC_TO_DEVICE, LONG));
    for (int i = 0; i < QUEUES; i++) {
        CHECK_OK(zb_queue_destroy(queues[i]));
    }
    CHECK_OK(zb_tensor_destroy(tensor));
}

/* The last one in line is taken out; those before it are still there. */
static void what_was_before_a_cancelled_one_is_waited_for(void)
{
    plug first_stopper, second_stopper;
    zb_queue *first = new_queue(), *second = new_queue();
    zb_tensor *tensor = new_tensor();
    plug_queue(&first_stopper, first);
    plug_queue(&second_stopper, second);
    zb_event *kept = put_write(first, tensor), *cancelled = put_write(second, tensor);
    CHECK_OK(zb_event_cancel(cancelled));
    CHECK_EQ(last_ending(cancelled), ZB_ERROR_CANCELLED);
    check_is_in_work(tensor);
    pull_plug(&second_stopper);
    check_is_in_work(tensor);
    pull_plug(&first_stopper);
    CHECK_OK(zb_tensor_sync(tensor, ZB_SYNC_TO_HOST, LONG));
    CHECK_EQ(last_ending(kept), ZB_OK);
    CHECK_OK(zb_queue_destroy(first));
    CHECK_OK(zb_queue_destroy(second));
    CHECK_OK(zb_tensor_destroy(tensor));
}

typedef struct syncer {
    pthread_t thread;
    zb_tensor *tensor;
    int32_t direction;
    zb_status status;
    float seen[4];
} syncer;

static void *sync_body(void *argument)
{
    syncer *own = argument;
    own->status = zb_tensor_sync(own->tensor, own->direction, FOREVER);
    memcpy(own->seen, data_of(own->tensor), sizeof own->seen);
    return NULL;
}

static void many_threads_sync(void)
{
    enum { THREADS = 4 };
    plug stopper;
    zb_queue *queue = new_queue();
    for (int round = 0; round < zt_rounds(100, 5); round++) {
        syncer threads[THREADS];
        zb_tensor *tensor = new_tensor();
        plug_queue(&stopper, queue);
        zb_event *event = put_write(queue, tensor);
        for (int i = 0; i < THREADS; i++) {
            syncer fresh = {0, tensor, i % 2, -1, {0, 0, 0, 0}};
            threads[i] = fresh;
            REQUIRE(pthread_create(&threads[i].thread, NULL, sync_body, &threads[i]) == 0);
        }
        pull_plug(&stopper);
        for (int i = 0; i < THREADS; i++) {
            REQUIRE(pthread_join(threads[i].thread, NULL) == 0);
            CHECK_EQ(threads[i].status, ZB_OK);
            CHECK_FLOATS(threads[i].seen, numbers, 4, 0);
        }
        CHECK_EQ(last_ending(event), ZB_OK);
        CHECK_OK(zb_tensor_destroy(tensor));
    }
    CHECK_OK(zb_queue_destroy(queue));
}

static void *sync_for_a_while(void *argument)
{
    syncer *own = argument;
    own->status = zb_tensor_sync(own->tensor, own->direction, 2 * SECOND);
    return NULL;
}

/* What is put there while a thread waits is not waited for. Nothing tells when it has begun to; a longer pause each time. */
static void later_work_is_not_waited_for(void)
{
    zb_status status = ZB_ERROR_TIMEOUT;
    for (useconds_t attempt = 1; attempt < 8 && status != ZB_OK; attempt++) {
        plug first_stopper, second_stopper;
        zb_queue *first = new_queue(), *second = new_queue();
        zb_tensor *tensor = new_tensor();
        syncer own = {0, tensor, ZB_SYNC_TO_HOST, -1, {0, 0, 0, 0}};
        plug_queue(&first_stopper, first);
        plug_queue(&second_stopper, second);
        zb_event *early = put_write(first, tensor);
        REQUIRE(pthread_create(&own.thread, NULL, sync_for_a_while, &own) == 0);
        usleep(attempt * 20000);
        zb_event *late = put_write(second, tensor);
        pull_plug(&first_stopper);
        CHECK_EQ(last_ending(early), ZB_OK);
        REQUIRE(pthread_join(own.thread, NULL) == 0);
        status = own.status;
        pull_plug(&second_stopper);
        CHECK_EQ(last_ending(late), ZB_OK);
        CHECK_OK(zb_queue_destroy(first));
        CHECK_OK(zb_queue_destroy(second));
        CHECK_OK(zb_tensor_destroy(tensor));
    }
    CHECK_EQ(status, ZB_OK);
}

/* --- where only this thread could end the wait --- */

typedef struct scene {
    /* the queue of the callback, with one operation that waits behind it */
    zb_queue *own;
    zb_tensor *own_tensor;
    zb_event *own_pending;
    zb_event *own_settled;
    /* another, with an operation that is free to go */
    zb_queue *other;
    zb_tensor *other_tensor;
    zb_event *other_event;
    zb_tensor *idle_tensor;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int calls;
} scene;

static void make_scene(scene *made)
{
    memset(made, 0, sizeof *made);
    made->own = new_queue();
    made->other = new_queue();
    made->own_tensor = new_tensor();
    made->other_tensor = new_tensor();
    made->idle_tensor = new_tensor();
    made->own_settled = put_write(made->own, made->idle_tensor);
    CHECK_EQ(ending(made->own_settled), ZB_OK);
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
}

static void free_scene(scene *made)
{
    CHECK_EQ(last_ending(made->own_pending), ZB_OK);
    CHECK_EQ(last_ending(made->own_settled), ZB_OK);
    CHECK_EQ(last_ending(made->other_event), ZB_OK);
    CHECK_OK(zb_tensor_destroy(made->own_tensor));
    CHECK_OK(zb_tensor_destroy(made->other_tensor));
    CHECK_OK(zb_tensor_destroy(made->idle_tensor));
    CHECK_OK(zb_queue_destroy(made->own));
    CHECK_OK(zb_queue_destroy(made->other));
}

static void wait_for_everything(scene *here)
{
    zb_status result = 77;
    /* what comes after this: only this thread could do it */
    CHECK_STATUS(zb_event_wait(here->own_pending, 2 * SECOND, &result), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_tensor_sync(here->own_tensor, ZB_SYNC_TO_HOST, 2 * SECOND), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_queue_finish(here->own, 2 * SECOND), ZB_ERROR_BUSY);
    CHECK_EQ(result, 77);
    /* asking waits for nothing */
    CHECK_STATUS(zb_event_wait(here->own_pending, 0, &result), ZB_ERROR_TIMEOUT);
    CHECK_STATUS(zb_tensor_sync(here->own_tensor, ZB_SYNC_TO_HOST, 0), ZB_ERROR_TIMEOUT);
    CHECK_STATUS(zb_queue_finish(here->own, 0), ZB_ERROR_TIMEOUT);
    /* what is settled, and what others do */
    CHECK_OK(zb_event_wait(here->own_settled, 2 * SECOND, &result));
    CHECK_EQ(result, ZB_OK);
    CHECK_OK(zb_tensor_sync(here->idle_tensor, ZB_SYNC_TO_HOST, 2 * SECOND));
    CHECK_OK(zb_event_wait(here->other_event, LONG, &result));
    CHECK_OK(zb_tensor_sync(here->other_tensor, ZB_SYNC_TO_HOST, LONG));
    CHECK_OK(zb_queue_finish(here->other, LONG));
    pthread_mutex_lock(&here->lock);
    here->calls++;
    pthread_cond_broadcast(&here->changed);
    pthread_mutex_unlock(&here->lock);
}

static void await_call(scene *here)
{
    pthread_mutex_lock(&here->lock);
    while (here->calls == 0) {
        pthread_cond_wait(&here->changed, &here->lock);
    }
    pthread_mutex_unlock(&here->lock);
}

static void on_complete(void *user_data, zb_event *event, zb_status result)
{
    (void)event;
    CHECK_EQ(result, ZB_OK);
    wait_for_everything(user_data);
}

static void inside_a_callback(void)
{
    scene here;
    plug stopper, other_stopper;
    make_scene(&here);
    plug_queue(&stopper, here.own);
    plug_queue(&other_stopper, here.other);
    CHECK_OK(zb_event_on_complete(stopper.event, on_complete, &here));
    here.own_pending = put_write(here.own, here.own_tensor);
    here.other_event = put_write(here.other, here.other_tensor);
    open_plug(&stopper);
    /* the wait for the other queue is a real one, most times */
    usleep(10000);
    pull_plug(&other_stopper);
    await_call(&here);
    CHECK_EQ(last_ending(stopper.event), ZB_OK);
    stopper.event = NULL;
    free_plug(&stopper);
    free_scene(&here);
}

static void on_release(void *user_data, void *data, size_t size)
{
    (void)data;
    (void)size;
    wait_for_everything(user_data);
}

/* Memory that an operation was the last to hold is released by the thread that did it. */
static void inside_a_release(void)
{
    static float memory[4];
    scene here;
    plug stopper;
    zb_tensor *held = NULL;
    zb_tensor_desc desc = F32(4);
    make_scene(&here);
    REQUIRE_OK(zb_tensor_wrap(&desc, memory, sizeof memory, 0, on_release, &here, &held));
    plug_queue(&stopper, here.own);
    zb_event *event = put_write(here.own, held);
    CHECK_OK(zb_tensor_destroy(held));
    here.own_pending = put_write(here.own, here.own_tensor);
    here.other_event = put_write(here.other, here.other_tensor);
    pull_plug(&stopper);
    await_call(&here);
    CHECK_EQ(last_ending(event), ZB_OK);
    CHECK_FLOATS(memory, numbers, 4, 0);
    free_scene(&here);
}

/* --- inside one callback inside another --- */

typedef struct nest {
    zb_event *outer_pending;
    zb_event *inner;
    int calls;
    pthread_mutex_t lock;
    pthread_cond_t changed;
} nest;

static void in_the_inner_one(void *user_data, zb_event *event, zb_status result)
{
    nest *here = user_data;
    zb_status never = 77;
    (void)event;
    CHECK_EQ(result, ZB_ERROR_CANCELLED);
    CHECK_STATUS(zb_event_wait(here->outer_pending, 2 * SECOND, &never), ZB_ERROR_BUSY);
}

static void in_the_outer_one(void *user_data, zb_event *event, zb_status result)
{
    nest *here = user_data;
    zb_status never = 77;
    (void)event;
    CHECK_EQ(result, ZB_OK);
    CHECK_OK(zb_event_cancel(here->inner));
    CHECK_STATUS(zb_event_wait(here->outer_pending, 2 * SECOND, &never), ZB_ERROR_BUSY);
    pthread_mutex_lock(&here->lock);
    here->calls++;
    pthread_cond_broadcast(&here->changed);
    pthread_mutex_unlock(&here->lock);
}

static void inside_two_callbacks(void)
{
    nest here;
    plug outer_stopper, inner_stopper;
    zb_queue *outer = new_queue(), *inner = new_queue();
    memset(&here, 0, sizeof here);
    pthread_mutex_init(&here.lock, NULL);
    pthread_cond_init(&here.changed, NULL);
    plug_queue(&outer_stopper, outer);
    plug_queue(&inner_stopper, inner);
    REQUIRE_OK(zb_queue_fence(outer, &here.outer_pending));
    REQUIRE_OK(zb_queue_fence(inner, &here.inner));
    CHECK_OK(zb_event_on_complete(here.inner, in_the_inner_one, &here));
    CHECK_OK(zb_event_on_complete(outer_stopper.event, in_the_outer_one, &here));
    pull_plug(&outer_stopper);
    pthread_mutex_lock(&here.lock);
    while (here.calls == 0) {
        pthread_cond_wait(&here.changed, &here.lock);
    }
    pthread_mutex_unlock(&here.lock);
    CHECK_EQ(last_ending(here.outer_pending), ZB_OK);
    CHECK_EQ(last_ending(here.inner), ZB_ERROR_CANCELLED);
    pull_plug(&inner_stopper);
    CHECK_OK(zb_queue_destroy(outer));
    CHECK_OK(zb_queue_destroy(inner));
}

/* --- a release on the thread that cancels --- */

typedef struct last_use {
    zb_event *event;
    int calls;
} last_use;

static void wait_for_what_is_being_cancelled(void *user_data, void *data, size_t size)
{
    last_use *here = user_data;
    zb_status never = 77, status = zb_event_wait(here->event, 2 * SECOND, &never);
    (void)data;
    (void)size;
    /* it is settled, or this thread is about to */
    CHECK(status == ZB_ERROR_BUSY || (status == ZB_OK && never == ZB_ERROR_CANCELLED));
    here->calls++;
}

static void inside_a_release_by_a_cancel(void)
{
    static float memory[4];
    plug stopper;
    last_use here = {NULL, 0};
    zb_tensor *held = NULL;
    zb_tensor_desc desc = F32(4);
    zb_queue *queue = new_queue();
    REQUIRE_OK(zb_tensor_wrap(&desc, memory, sizeof memory, 0, wait_for_what_is_being_cancelled, &here, &held));
    plug_queue(&stopper, queue);
    here.event = put_write(queue, held);
    CHECK_OK(zb_tensor_destroy(held));
    CHECK_OK(zb_event_cancel(here.event));
    CHECK_EQ(here.calls, 1);
    CHECK_EQ(last_ending(here.event), ZB_ERROR_CANCELLED);
    pull_plug(&stopper);
    CHECK_OK(zb_queue_destroy(queue));
}

/* --- a callback that waits for what an executor of the host's is to do next --- */

typedef struct task {
    zb_task_fn run;
    void *task;
} task;

static void *task_body(void *argument)
{
    task *own = argument;
    own->run(own->task);
    free(own);
    return NULL;
}

/* A thread for each task. */
static int32_t submit(void *user_data, zb_task_fn run, void *given)
{
    pthread_t thread;
    pthread_attr_t detached;
    task *own = malloc(sizeof *own);
    (void)user_data;
    REQUIRE(own != NULL);
    own->run = run;
    own->task = given;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    REQUIRE(pthread_create(&thread, &detached, task_body, own) == 0);
    pthread_attr_destroy(&detached);
    return 0;
}

typedef struct follower {
    zb_event *event;
    int calls;
    pthread_mutex_t lock;
    pthread_cond_t changed;
} follower;

static void wait_for_the_follower(void *user_data, zb_event *event, zb_status result)
{
    follower *here = user_data;
    zb_status of_follower = 77;
    (void)event;
    CHECK_EQ(result, ZB_OK);
    CHECK_OK(zb_event_wait(here->event, 5 * SECOND, &of_follower));
    CHECK_EQ(of_follower, ZB_OK);
    pthread_mutex_lock(&here->lock);
    here->calls++;
    pthread_cond_broadcast(&here->changed);
    pthread_mutex_unlock(&here->lock);
}

/* The follower may start because of what has just ended, so it must not be left waiting for the callback of that. */
static void a_callback_waits_for_what_it_let_go(void)
{
    plug stopper;
    follower here;
    float seen[4] = {0, 0, 0, 0};
    zb_tensor *tensor = new_tensor();
    zb_queue *first = new_queue(), *second = NULL;
    zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
    options.submit = submit;
    REQUIRE_OK(zb_queue_create(&options, &second));
    memset(&here, 0, sizeof here);
    pthread_mutex_init(&here.lock, NULL);
    pthread_cond_init(&here.changed, NULL);
    plug_queue(&stopper, first);
    zb_event *event = put_write(first, tensor);
    here.event = put_read(second, tensor, seen);
    CHECK_OK(zb_event_on_complete(event, wait_for_the_follower, &here));
    pull_plug(&stopper);
    pthread_mutex_lock(&here.lock);
    while (here.calls == 0) {
        pthread_cond_wait(&here.changed, &here.lock);
    }
    pthread_mutex_unlock(&here.lock);
    CHECK_FLOATS(seen, numbers, 4, 0);
    CHECK_EQ(last_ending(event), ZB_OK);
    CHECK_EQ(last_ending(here.event), ZB_OK);
    CHECK_OK(zb_queue_destroy(first));
    CHECK_OK(zb_queue_destroy(second));
    CHECK_OK(zb_tensor_destroy(tensor));
}

/* --- finish, as far as it is like the others --- */

static void finish_only_looks(void)
{
    plug stopper;
    zb_event *event = NULL;
    zb_queue *queue = NULL;
    zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
    options.capacity = 2;
    REQUIRE_OK(zb_queue_create(&options, &queue));
    CHECK_OK(zb_queue_finish(queue, 0));
    plug_queue(&stopper, queue);
    /* asking takes no place in the queue */
    for (int i = 0; i < 5; i++) {
        CHECK_STATUS(zb_queue_finish(queue, 0), ZB_ERROR_TIMEOUT);
        CHECK_STATUS(zb_queue_finish(queue, MILLISECOND), ZB_ERROR_TIMEOUT);
    }
    REQUIRE_OK(zb_queue_fence(queue, &event));
    pull_plug(&stopper);
    CHECK_OK(zb_queue_finish(queue, LONG));
    CHECK_OK(zb_queue_finish(queue, 0));
    CHECK_EQ(last_ending(event), ZB_OK);
    CHECK_OK(zb_queue_destroy(queue));
}

static const zt_test tests[] = {
    ON_BOTH(a_tensor_without_work),
    ON_BOTH(directions_that_there_are_not),
    ON_BOTH(every_operation_on_the_tensor_is_waited_for),
    ON_BOTH(other_tensors_are_not_waited_for),
    ON_BOTH(all_queues_are_waited_for),
    ON_BOTH(what_was_before_a_cancelled_one_is_waited_for),
    ON_BOTH(many_threads_sync),
    ON_BOTH(later_work_is_not_waited_for),
    ON_BOTH(inside_a_callback),
    ON_BOTH(inside_a_release),
    ON_BOTH(inside_two_callbacks),
    ON_BOTH(inside_a_release_by_a_cancel),
    ON_BOTH(a_callback_waits_for_what_it_let_go),
    ON_BOTH(finish_only_looks),
};

ZT_MAIN(tests)
