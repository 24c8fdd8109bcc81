/*
 * The same inference many times in a row, without events: a queue does several of those at once, which nobody may notice.
 * Counts, results, room, order, ends and failures are those of as many operations.
 */
#include "harness.h"

#include <sched.h>

/* --- z = x + y --- */

typedef struct adder {
    zb_model *model;
    zb_context *context;
    zb_tensor *x, *y, *z;
    float *z_data;
} adder;

static zb_tensor *bound(zb_context *context, zb_slot slot)
{
    zb_tensor *tensor = NULL;
    REQUIRE_OK(zb_tensor_alloc_for(context, slot, &tensor));
    REQUIRE_OK(zb_tensor_bind(tensor, context, slot));
    return tensor;
}

/* Waits, destroys the handle, gives how the operation ended. */
static zb_status end_of(zb_event *event)
{
    zb_status result = -1;
    REQUIRE_OK(zb_event_wait(event, UINT64_MAX, &result));
    CHECK_OK(zb_event_destroy(event));
    return result;
}

static void make_adder(adder *made)
{
    void *data = NULL;
    made->model = zt_open("add4");
    made->context = zt_context(made->model);
    made->x = bound(made->context, ZB_INPUT(0));
    made->y = bound(made->context, ZB_INPUT(1));
    made->z = bound(made->context, ZB_OUTPUT(0));
    REQUIRE_OK(zb_tensor_get_data(made->z, &data, NULL));
    made->z_data = data;
}

static void free_adder(adder *made)
{
    CHECK_OK(zb_tensor_destroy(made->x));
    CHECK_OK(zb_tensor_destroy(made->y));
    CHECK_OK(zb_tensor_destroy(made->z));
    CHECK_OK(zb_context_destroy(made->context));
    CHECK_OK(zb_model_destroy(made->model));
}

static zb_queue *queue_of(uint32_t capacity)
{
    zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
    zb_queue *queue = NULL;
    options.capacity = capacity;
    REQUIRE_OK(zb_queue_create(&options, &queue));
    return queue;
}

static uint64_t runs_of(zb_context *context)
{
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    REQUIRE_OK(zb_context_get_stats(context, &stats));
    return stats.runs;
}

/* Waits for room as long as it takes. */
static void infer_when_there_is_room(zb_queue *queue, zb_context *context)
{
    zb_status status;
    while ((status = zb_queue_infer(queue, context, NULL, NULL)) == ZB_ERROR_QUEUE_FULL) {
        sched_yield();
    }
    REQUIRE_OK(status);
}

/* Each one that was accepted is run, whatever it is counted as on the way. */
static void every_run_is_done(void)
{
    const int count = zt_rounds(20000, 400);
    adder add;
    make_adder(&add);
    zb_queue *queue = queue_of(0);
    for (int i = 0; i < count; i++) {
        infer_when_there_is_room(queue, add.context);
    }
    REQUIRE_OK(zb_queue_finish(queue, UINT64_MAX));
    CHECK_EQ(runs_of(add.context), count);
    CHECK_OK(zb_queue_destroy(queue));
    free_adder(&add);
}

/* Writes and reads between runs of any number see what was before them, and nothing of what is after. */
static void writes_and_reads_keep_their_places(void)
{
    enum { ROUNDS = 600 };
    static float results[ROUNDS][4];
    static zb_event *events[ROUNDS];
    uint64_t expected_runs = 0;
    adder add;
    make_adder(&add);
    zb_queue *queue = queue_of(8 * ROUNDS);
    for (int round = 0; round < ROUNDS; round++) {
        const float x[4] = {(float)round, 1, 2, (float)-round};
        REQUIRE_OK(zb_queue_write(queue, add.x, 0, x, sizeof x, NULL));
        for (int i = 0; i <= round % 5; i++) {
            REQUIRE_OK(zb_queue_infer(queue, add.context, NULL, NULL));
            expected_runs++;
        }
        REQUIRE_OK(zb_queue_read(queue, add.z, 0, results[round], sizeof results[round], &events[round]));
    }
    for (int round = 0; round < ROUNDS; round++) {
        const float expected[4] = {(float)round, 1, 2, (float)-round};
        CHECK_OK(end_of(events[round]));
        CHECK_FLOATS(results[round], expected, 4, 0);
    }
    CHECK_EQ(runs_of(add.context), expected_runs);
    CHECK_OK(zb_queue_destroy(queue));
    free_adder(&add);
}

/* z becomes the input and the input z, so that each run must find just the tensors of its moment: x doubles. */
static void a_change_of_tensors_is_between_two_runs(void)
{
    enum { DOUBLINGS = 20 };
    const float one[4] = {1, 2, 3, 4};
    adder add;
    make_adder(&add);
    zb_queue *queue = queue_of(0);
    zb_tensor *from = add.x, *to = add.z;
    REQUIRE_OK(zb_queue_write(queue, from, 0, one, sizeof one, NULL));
    for (int i = 0; i < DOUBLINGS; i++) {
        zb_tensor *other = from;
        REQUIRE_OK(zb_tensor_bind(from, add.context, ZB_INPUT(0)));
        REQUIRE_OK(zb_tensor_bind(from, add.context, ZB_INPUT(1)));
        REQUIRE_OK(zb_tensor_bind(to, add.context, ZB_OUTPUT(0)));
        /* three times the same: no more than once */
        for (int again = 0; again < 3; again++) {
            infer_when_there_is_room(queue, add.context);
        }
        from = to;
        to = other;
    }
    float result[4];
    zb_event *event = NULL;
    REQUIRE_OK(zb_queue_finish(queue, UINT64_MAX));
    REQUIRE_OK(zb_queue_read(queue, from, 0, result, sizeof result, &event));
    CHECK_OK(end_of(event));
    const float scale = (float)(1 << DOUBLINGS), expected[4] = {scale, 2 * scale, 3 * scale, 4 * scale};
    CHECK_FLOATS(result, expected, 4, 0);
    CHECK_EQ(runs_of(add.context), 3 * DOUBLINGS);
    CHECK_OK(zb_queue_destroy(queue));
    free_adder(&add);
}

/* A tensor that is unbound is let go when the runs that were enqueued with it are over, and no later. */
static void tensors_are_let_go_in_time(void)
{
    adder add;
    zt_releases released = {0};
    zt_buffer memory = zt_buffer_new(16);
    zb_tensor *mine = NULL;
    zb_tensor_desc desc = F32(4);
    make_adder(&add);
    zb_queue *queue = queue_of(0);
    memset(memory.data, 0, memory.size);
    REQUIRE_OK(zb_tensor_wrap(&desc, memory.data, 16, memory.capacity, zt_count_release, &released, &mine));
    REQUIRE_OK(zb_tensor_bind(mine, add.context, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_destroy(mine));
    for (int i = 0; i < 50; i++) {
        REQUIRE_OK(zb_queue_infer(queue, add.context, NULL, NULL));
    }
    REQUIRE_OK(zb_context_unbind(add.context, ZB_INPUT(0)));
    CHECK_STATUS(zb_queue_infer(queue, add.context, NULL, NULL), ZB_ERROR_UNBOUND);
    REQUIRE_OK(zb_queue_finish(queue, UINT64_MAX));
    CHECK_EQ(zt_release_count(&released), 1);
    CHECK_EQ(runs_of(add.context), 50);
    CHECK_OK(zb_queue_destroy(queue));
    free_adder(&add);
    FREE_BUFFER(&memory);
}

static const zt_test tests[] = {
    ON_BOTH(every_run_is_done),
    ON_BOTH(writes_and_reads_keep_their_places),
    ON_BOTH(a_change_of_tensors_is_between_two_runs),
    ON_BOTH(tensors_are_let_go_in_time),
};

ZT_MAIN(tests)
