/*
 * Threads that do at random whatever may be done with queues, contexts, tensors and events that they share. Each event is
 * settled, each callback comes once, a read that succeeds sees what one write or one run left, and nothing is left alive.
 * sanitize.sh runs this one too.
 */
#include "mock.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
#define QUEUES 3
#define CONTEXTS 2
#define TENSORS 4
#define FLOATS 4
#define SIZE (FLOATS * sizeof(float))
#define PATIENCE_NS UINT64_C(20000000000)

static zb_queue *queues[QUEUES];
static zb_context *contexts[CONTEXTS];
static zb_tensor *tensors[TENSORS];
static zb_model *model;
static unsigned asked;
static unsigned called;

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static uint32_t below(uint32_t *state, uint32_t limit)
{
    return next_random(state) % limit;
}

/* What an operation may end with here. */
static int is_expected(zb_status status)
{
    switch (status) {
    case ZB_OK:
    case ZB_ERROR_CANCELLED:
    case ZB_ERROR_DESTROYED:
    case ZB_ERROR_DEPENDENCY:
    case ZB_ERROR_ALIASED:
        return 1;
    default:
        return 0;
    }
}

static void count_call(void *user_data, zb_event *event, zb_status status)
{
    (void)user_data;
    (void)event;
    CHECK(is_expected(status));
    __atomic_fetch_add(&called, 1, __ATOMIC_RELAXED);
}

/* What a call that puts something into a queue gave; 1 if there is an event. */
static int is_queued(zb_status status)
{
    CHECK(status == ZB_OK || status == ZB_ERROR_QUEUE_FULL || status == ZB_ERROR_BUSY || status == ZB_ERROR_UNBOUND);
    return status == ZB_OK;
}

/* Sometimes asks for a call and sometimes for the end, then waits, and gives how it ended. */
static zb_status end_event(zb_event *event, uint32_t *state)
{
    zb_status result = -1;
    if (below(state, 2) == 0) {
        __atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED);
        CHECK_OK(zb_event_on_complete(event, count_call, NULL));
    }
    if (below(state, 4) == 0) {
        CHECK_OK(zb_event_cancel(event));
    }
    REQUIRE_OK(zb_event_wait(event, PATIENCE_NS, &result));
    CHECK(is_expected(result));
    CHECK_OK(zb_event_destroy(event));
    return result;
}

static void write_tensor(zb_queue *queue, zb_tensor *tensor, uint32_t *state)
{
    float value = (float)below(state, 1000);
    float values[FLOATS] = {value, value, value, value};
    zb_event *event = NULL;
    if (is_queued(zb_queue_write(queue, tensor, 0, values, SIZE, &event))) {
        end_event(event, state);
    }
}

static void read_tensor(zb_queue *queue, zb_tensor *tensor, uint32_t *state)
{
    float values[FLOATS] = {-1.0f, -1.0f, -1.0f, -1.0f};
    zb_event *event = NULL;
    if (!is_queued(zb_queue_read(queue, tensor, 0, values, SIZE, &event))) {
        return;
    }
    float expected = end_event(event, state) == ZB_OK ? values[0] : -1.0f;
    for (size_t i = 0; i < FLOATS; i++) {
        CHECK(values[i] == expected);
    }
}

static void infer(zb_queue *queue, zb_context *context, uint32_t *state)
{
    zb_event *event = NULL;
    if (is_queued(zb_queue_infer(queue, context, NULL, &event))) {
        end_event(event, state);
    }
}

/* Tensors change places. */
static void rebind(zb_context *context, uint32_t *state)
{
    zb_status status;
    switch (below(state, 3)) {
    case 0:
        status = zb_context_swap(context, ZB_INPUT(0), ZB_OUTPUT(0));
        break;
    case 1:
        status = zb_tensor_bind(tensors[below(state, TENSORS)], context, ZB_INPUT(below(state, 2)));
        break;
    default:
        status = zb_tensor_bind(tensors[below(state, TENSORS)], context, ZB_OUTPUT(0));
        break;
    }
    /* another thread may be running it without a queue */
    CHECK(status == ZB_OK || status == ZB_ERROR_BUSY);
}

static void infer_directly(zb_context *context)
{
    zb_status status = zb_infer(context, NULL);
    CHECK(status == ZB_OK || status == ZB_ERROR_BUSY || status == ZB_ERROR_ALIASED);
}

/* A tensor whose handle goes while a queue has work for it. */
static void lose_a_tensor(zb_queue *queue, uint32_t *state)
{
    zb_tensor_desc desc = F32(FLOATS);
    zb_tensor *tensor = NULL;
    float values[FLOATS] = {0};
    zb_event *events[2] = {NULL, NULL};
    REQUIRE_OK(zb_tensor_alloc(&desc, 0, &tensor));
    int written = is_queued(zb_queue_write(queue, tensor, 0, values, SIZE, &events[0]));
    int read = is_queued(zb_queue_read(queue, tensor, 0, values, SIZE, &events[1]));
    CHECK_OK(zb_tensor_destroy(tensor));
    if (written) {
        end_event(events[0], state);
    }
    if (read) {
        end_event(events[1], state);
    }
}

static void bind_all(zb_context *context)
{
    CHECK_OK(zb_tensor_bind(tensors[0], context, ZB_INPUT(0)));
    CHECK_OK(zb_tensor_bind(tensors[1], context, ZB_INPUT(1)));
    CHECK_OK(zb_tensor_bind(tensors[2], context, ZB_OUTPUT(0)));
}

/* A context that goes while queues have work for it. */
static void lose_a_context(uint32_t *state)
{
    zb_context *context = mock_context(model, "run slowly");
    zb_event *events[2] = {NULL, NULL};
    int queued[2];
    bind_all(context);
    for (size_t i = 0; i < 2; i++) {
        queued[i] = is_queued(zb_queue_infer(queues[below(state, QUEUES)], context, NULL, &events[i]));
    }
    CHECK_OK(zb_context_destroy(context));
    for (size_t i = 0; i < 2; i++) {
        if (queued[i]) {
            end_event(events[i], state);
        }
    }
}

/* A queue that goes with what is in it. */
static void lose_a_queue(uint32_t *state)
{
    zb_queue *queue = NULL;
    zb_event *event = NULL;
    REQUIRE_OK(zb_queue_create(NULL, &queue));
    int queued = is_queued(zb_queue_infer(queue, contexts[below(state, CONTEXTS)], NULL, &event));
    zb_event *fence = NULL;
    CHECK_OK(zb_queue_fence(queue, &fence));
    CHECK_OK(zb_queue_destroy(queue));
    if (queued) {
        end_event(event, state);
    }
    end_event(fence, state);
}

static void wait_for_another(uint32_t *state)
{
    zb_event *fence = NULL;
    if (!is_queued(zb_queue_fence(queues[below(state, QUEUES)], &fence))) {
        return;
    }
    zb_status status = zb_queue_wait_event(queues[below(state, QUEUES)], fence);
    CHECK(status == ZB_OK || status == ZB_ERROR_QUEUE_FULL);
    end_event(fence, state);
    status = zb_queue_finish(queues[below(state, QUEUES)], 1000);
    CHECK(status == ZB_OK || status == ZB_ERROR_TIMEOUT);
    status = zb_tensor_sync(tensors[below(state, TENSORS)], ZB_SYNC_TO_HOST, 1000);
    CHECK(status == ZB_OK || status == ZB_ERROR_TIMEOUT);
}

static void step(uint32_t *state)
{
    zb_queue *queue = queues[below(state, QUEUES)];
    zb_context *context = contexts[below(state, CONTEXTS)];
    zb_tensor *tensor = tensors[below(state, TENSORS)];
    switch (below(state, 12)) {
    case 0:
    case 1:
        write_tensor(queue, tensor, state);
        break;
    case 2:
    case 3:
        read_tensor(queue, tensor, state);
        break;
    case 4:
    case 5:
        infer(queue, context, state);
        break;
    case 6:
        rebind(context, state);
        break;
    case 7:
        infer_directly(context);
        break;
    case 8:
        lose_a_tensor(queue, state);
        break;
    case 9:
        lose_a_context(state);
        break;
    case 10:
        lose_a_queue(state);
        break;
    default:
        wait_for_another(state);
        break;
    }
}

static void *work(void *seed)
{
    uint32_t state = *(const uint32_t *)seed;
    for (int round = 0; round < zt_rounds(50000, 1000); round++) {
        step(&state);
    }
    return NULL;
}

/* An executor that runs each task at once. */
static int32_t run_at_once(void *user_data, zb_task_fn run, void *task)
{
    (void)user_data;
    run(task);
    return 0;
}

static void open_all(void)
{
    zb_tensor_desc desc = F32(FLOATS);
    zb_queue_options at_once = ZB_QUEUE_OPTIONS_INIT;
    at_once.submit = run_at_once;
    for (size_t i = 0; i < QUEUES; i++) {
        REQUIRE_OK(zb_queue_create(i == 0 ? &at_once : NULL, &queues[i]));
    }
    for (size_t i = 0; i < TENSORS; i++) {
        REQUIRE_OK(zb_tensor_alloc(&desc, 0, &tensors[i]));
    }
    model = mock_open(MOCK_ADD4);
    for (size_t i = 0; i < CONTEXTS; i++) {
        contexts[i] = mock_context(model, "run slowly");
        bind_all(contexts[i]);
    }
}

static void close_all(void)
{
    for (size_t i = 0; i < QUEUES; i++) {
        CHECK_OK(zb_queue_finish(queues[i], PATIENCE_NS));
        CHECK_OK(zb_queue_destroy(queues[i]));
    }
    for (size_t i = 0; i < CONTEXTS; i++) {
        CHECK_OK(zb_context_destroy(contexts[i]));
    }
    for (size_t i = 0; i < TENSORS; i++) {
        CHECK_OK(zb_tensor_destroy(tensors[i]));
    }
    CHECK_OK(zb_model_destroy(model));
}

static void anything_at_any_time(void)
{
    static const uint32_t seeds[THREADS] = {12345, 67890, 424242, 99991};
    pthread_t threads[THREADS];
    alarm(300);
    open_all();
    for (size_t i = 0; i < THREADS; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)&seeds[i]) == 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    }
    close_all();
    /* the last callbacks come a moment after their events are settled */
    for (int i = 0; i < 2000 && __atomic_load_n(&called, __ATOMIC_RELAXED) < asked; i++) {
        struct timespec moment = {0, 1000000};
        nanosleep(&moment, NULL);
    }
    CHECK_EQ(__atomic_load_n(&called, __ATOMIC_RELAXED), asked);
    alarm(0);
}

static const zt_test tests[] = {
    ON_BOTH(anything_at_any_time),
};

ZT_MAIN(tests)
