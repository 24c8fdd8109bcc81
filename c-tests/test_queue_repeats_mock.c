/*
 * The same inference many times in a row, without events, at moments that only the mock engine can hold on to: room, waits,
 * ends, failures, changes in between. test_queue_repeats asks the real engines for their results.
 */
#include "gated.h"

static zb_tensor *bound(zb_context *context, zb_slot slot)
{
    zb_tensor *tensor = NULL;
    REQUIRE_OK(zb_tensor_alloc_for(context, slot, &tensor));
    REQUIRE_OK(zb_tensor_bind(tensor, context, slot));
    return tensor;
}

static uint64_t runs_of(zb_context *context)
{
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    REQUIRE_OK(zb_context_get_stats(context, &stats));
    return stats.runs;
}

static void put(zb_queue *queue, gated *run, int times)
{
    for (int i = 0; i < times; i++) {
        REQUIRE_OK(zb_queue_infer(queue, run->context, NULL, NULL));
    }
}

/* Runs that wait take room, each of them, and give it back as they end. */
static void each_takes_room(void)
{
    enum { ROOM = 9 };
    gated run;
    zb_queue *queue = NULL;
    zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
    zb_event *event = NULL;
    zt_watchdog(20);
    gated_make(&run, "repeats");
    options.capacity = ROOM;
    REQUIRE_OK(zb_queue_create(&options, &queue));
    put(queue, &run, ROOM);
    gate_await("repeats");
    CHECK_STATUS(zb_queue_infer(queue, run.context, NULL, NULL), ZB_ERROR_QUEUE_FULL);
    CHECK_STATUS(zb_queue_fence(queue, &event), ZB_ERROR_QUEUE_FULL);
    for (int i = 1; i < ROOM; i++) {
        gate_open("repeats");
        gate_await("repeats");
    }
    /* the last one is running, the others are over and give their places back */
    put(queue, &run, ROOM - 1);
    CHECK_STATUS(zb_queue_infer(queue, run.context, NULL, NULL), ZB_ERROR_QUEUE_FULL);
    CHECK_STATUS(zb_queue_finish(queue, 0), ZB_ERROR_TIMEOUT);
    for (int i = 1; i < ROOM; i++) {
        gate_open("repeats");
        gate_await("repeats");
    }
    gate_open("repeats");
    REQUIRE_OK(zb_queue_finish(queue, UINT64_MAX));
    CHECK_EQ(runs_of(run.context), 2 * ROOM - 1);
    CHECK_OK(zb_queue_destroy(queue));
    gated_free(&run);
}

/* Whoever waits for the queue, or for a tensor, waits for what is there, not for what is put there afterwards. */
static void a_wait_is_not_made_longer(void)
{
    gated run;
    zb_event *fence = NULL;
    zt_watchdog(20);
    gated_make(&run, "longer");
    zb_queue *queue = zt_queue();
    put(queue, &run, 3);
    gate_await("longer");
    REQUIRE_OK(zb_queue_fence(queue, &fence));
    put(queue, &run, 3);
    for (int i = 0; i < 2; i++) {
        gate_open("longer");
        gate_await("longer");
        CHECK_PENDING(fence);
    }
    gate_open("longer");
    gate_await("longer");
    CHECK_OK(zt_end_of(fence));
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(zb_queue_finish(queue, 0), ZB_ERROR_TIMEOUT);
        gate_open("longer");
        if (i < 2) {
            gate_await("longer");
        }
    }
    REQUIRE_OK(zb_queue_finish(queue, UINT64_MAX));
    CHECK_EQ(runs_of(run.context), 6);
    CHECK_OK(zb_queue_destroy(queue));
    gated_free(&run);
}

/* A queue that is destroyed runs nothing more, and its tensors are not what they should be. */
static void end_with_the(int what)
{
    float result[4];
    gated run;
    zb_event *event = NULL;
    zb_tensor *output = NULL;
    zt_watchdog(20);
    gated_make(&run, "ends");
    zb_queue *queue = zt_queue(), *other = zt_queue();
    REQUIRE_OK(zb_tensor_alloc_for(run.context, ZB_OUTPUT(0), &output));
    REQUIRE_OK(zb_tensor_bind(output, run.context, ZB_OUTPUT(0)));
    put(queue, &run, 20);
    gate_await("ends");
    REQUIRE_OK(zb_queue_read(other, output, 0, result, sizeof result, &event));
    /* what follows is an operation of its own, since something waits for the first ones */
    put(queue, &run, 5);
    if (what == ZB_KIND_QUEUE) {
        CHECK_OK(zb_queue_destroy(queue));
    } else {
        CHECK_OK(zb_context_destroy(run.context));
    }
    gate_open("ends");
    zb_status status = zt_end_of(event);
    CHECK_EQ(status, ZB_ERROR_DEPENDENCY);
    if (what == ZB_KIND_QUEUE) {
        CHECK(runs_of(run.context) <= 1);
        gated_free(&run);
    } else {
        CHECK_OK(zb_queue_finish(queue, UINT64_MAX));
        CHECK_OK(zb_queue_destroy(queue));
    }
    CHECK_OK(zb_tensor_destroy(output));
    CHECK_OK(zb_queue_destroy(other));
    CHECK(zt_soon_nothing_is_alive());
}

static void with_the_queue(void)
{
    end_with_the(ZB_KIND_QUEUE);
}

static void with_the_context(void)
{
    end_with_the(ZB_KIND_CONTEXT);
}

/* One of them that fails is made good by the next. */
static void a_failure_in_the_middle(void)
{
    static const struct {
        const char *line;
        zb_status expected;
    } cases[] = {
        {"run fail RUNTIME no luck @3", ZB_OK},
        {"run fail RUNTIME no luck @1", ZB_OK},
        {"run fail RUNTIME no luck @6", ZB_ERROR_DEPENDENCY},
        {"run fail RUNTIME no luck @2+", ZB_ERROR_DEPENDENCY},
        {"run panic on purpose @4", ZB_ERROR_DEPENDENCY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float result[4];
        zb_event *event = NULL;
        gated before;
        zt_watchdog(20);
        zb_model *model = mock_open(MOCK_ADD4);
        zb_context *context = mock_context(model, cases[i].line);
        zb_queue *queue = zt_queue();
        zb_tensor *x = bound(context, ZB_INPUT(0)), *y = bound(context, ZB_INPUT(1)), *z = bound(context, ZB_OUTPUT(0));
        /* so that all six are there before the first begins */
        gated_make(&before, "before");
        gated_block(&before, queue);
        for (int run = 0; run < 6; run++) {
            REQUIRE_OK(zb_queue_infer(queue, context, NULL, NULL));
        }
        REQUIRE_OK(zb_queue_read(queue, z, 0, result, sizeof result, &event));
        CHECK_OK(gated_let_go(&before));
        CHECK_EQ(zt_end_of(event), cases[i].expected);
        CHECK_OK(zb_queue_destroy(queue));
        CHECK_OK(zb_tensor_destroy(x));
        CHECK_OK(zb_tensor_destroy(y));
        CHECK_OK(zb_tensor_destroy(z));
        CHECK_OK(zb_context_destroy(context));
        CHECK_OK(zb_model_destroy(model));
        gated_free(&before);
        CHECK(zt_soon_nothing_is_alive());
    }
}

/* zb_context_cancel is for the run in progress, not for those that come after it. */
static void cancel_is_for_one_run(void)
{
    gated run;
    zt_watchdog(20);
    gated_make(&run, "cancel");
    zb_queue *queue = zt_queue();
    put(queue, &run, 3);
    gate_await("cancel");
    CHECK_OK(zb_context_cancel(run.context));
    gate_open("cancel");
    gate_await("cancel");
    gate_open("cancel");
    gate_await("cancel");
    gate_open("cancel");
    REQUIRE_OK(zb_queue_finish(queue, UINT64_MAX));
    CHECK_EQ(runs_of(run.context), 2);
    CHECK_OK(zb_queue_destroy(queue));
    gated_free(&run);
}

/* What the host changes, or asks, while many short runs are in the queue reaches the context in between. */
static void the_context_stays_open(void)
{
    gated run;
    zb_tensor *other = NULL;
    zb_tensor_desc desc = F32(4);
    zt_watchdog(20);
    gated_make(&run, "open");
    zb_queue *queue = zt_queue();
    put(queue, &run, 4);
    gate_await("open");
    gate_open("open");
    gate_await("open");
    /* the second runs, so the first is told of */
    CHECK(runs_of(run.context) >= 1);
    REQUIRE_OK(zb_tensor_alloc(&desc, 0, &other));
    REQUIRE_OK(zb_tensor_bind(other, run.context, ZB_OUTPUT(0)));
    for (int i = 0; i < 2; i++) {
        gate_open("open");
        gate_await("open");
    }
    gate_open("open");
    REQUIRE_OK(zb_queue_finish(queue, UINT64_MAX));
    CHECK_EQ(runs_of(run.context), 4);
    put(queue, &run, 1);
    gate_await("open");
    gate_open("open");
    REQUIRE_OK(zb_queue_finish(queue, UINT64_MAX));
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    void *data = NULL;
    REQUIRE_OK(zb_context_get_binding_report(run.context, ZB_OUTPUT(0), &report));
    REQUIRE_OK(zb_tensor_get_data(other, &data, NULL));
    CHECK_ADDRESS(report.host_address, data);
    CHECK_OK(zb_tensor_destroy(other));
    CHECK_OK(zb_queue_destroy(queue));
    gated_free(&run);
}

/* A queue that stands still, with an inference that can be repeated last in it. */
typedef struct stalled {
    gated before;
    zb_queue *queue;
    zb_model *model;
    zb_context *context;
    zb_tensor *x, *y;
} stalled;

static stalled make_stalled(const char *model, const char *line)
{
    stalled made;
    zt_watchdog(20);
    made.queue = zt_queue();
    made.model = mock_open(model);
    made.context = line != NULL ? mock_context(made.model, line) : zt_context(made.model);
    made.x = bound(made.context, ZB_INPUT(0));
    made.y = bound(made.context, ZB_OUTPUT(0));
    gated_make(&made.before, "stalled");
    gated_block(&made.before, made.queue);
    return made;
}

static void free_stalled(stalled *made)
{
    CHECK_OK(zb_queue_destroy(made->queue));
    CHECK_OK(zb_tensor_destroy(made->x));
    CHECK_OK(zb_tensor_destroy(made->y));
    CHECK_OK(zb_context_destroy(made->context));
    CHECK_OK(zb_model_destroy(made->model));
    gated_free(&made->before);
}

/* What was put there in between and is gone again may have spoilt what the repeat reads, or left what it cures. */
static void nothing_was_in_between(void)
{
    for (int is_input = 0; is_input < 2; is_input++) {
        const float ones[4] = {1, 1, 1, 1};
        float result[4];
        zb_event *write = NULL, *read = NULL;
        stalled made = make_stalled("input x f32 4\noutput y f32 4\n", NULL);
        REQUIRE_OK(zb_queue_infer(made.queue, made.context, NULL, NULL));
        REQUIRE_OK(zb_queue_write(made.queue, is_input ? made.x : made.y, 0, ones, sizeof ones, &write));
        REQUIRE_OK(zb_event_cancel(write));
        CHECK_EQ(zt_end_of(write), ZB_ERROR_CANCELLED);
        REQUIRE_OK(zb_queue_infer(made.queue, made.context, NULL, NULL));
        REQUIRE_OK(zb_queue_read(made.queue, made.y, 0, result, sizeof result, &read));
        CHECK_OK(gated_let_go(&made.before));
        CHECK_EQ(zt_end_of(read), is_input ? ZB_ERROR_DEPENDENCY : ZB_OK);
        free_stalled(&made);
    }
}

/* Each of them runs with the shapes of its moment, also after one whose shapes failed. */
static void shapes_that_cannot_be_planned(void)
{
    const int64_t seven = 7;
    float result[4];
    zb_event *read = NULL;
    stalled made = make_stalled("input x f32 n=4\noutput y f32 n\n", "plan fail SHAPE_MISMATCH not so @2+");
    REQUIRE_OK(zb_context_resize_input(made.context, ZB_INPUT(0), &seven, 1));
    for (int i = 0; i < 20; i++) {
        REQUIRE_OK(zb_queue_infer(made.queue, made.context, NULL, NULL));
    }
    REQUIRE_OK(zb_queue_read(made.queue, made.y, 0, result, sizeof result, &read));
    CHECK_OK(gated_let_go(&made.before));
    CHECK_EQ(zt_end_of(read), ZB_ERROR_DEPENDENCY);
    CHECK_EQ(runs_of(made.context), 0);
    free_stalled(&made);
}

/* Runs that were not to be leave the view of the last one that was. */
static void a_view_outlives_the_queue(void)
{
    const void *data = NULL;
    zt_watchdog(20);
    zb_model *model = mock_open("input x f32 4\noutput y f32 4\nunstoppable\n");
    zb_context *context = mock_context(model, "run wait view @40");
    zb_tensor *x = bound(context, ZB_INPUT(0));
    zb_queue *queue = NULL;
    zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
    options.capacity = 1000;
    REQUIRE_OK(zb_queue_create(&options, &queue));
    for (int i = 0; i < 500; i++) {
        REQUIRE_OK(zb_queue_infer(queue, context, NULL, NULL));
    }
    gate_await("view");
    CHECK_OK(zb_queue_destroy(queue));
    gate_open("view");
    REQUIRE(zt_live_soon(ZB_KIND_QUEUE, 0));
    CHECK_EQ(runs_of(context), 40);
    CHECK_OK(zb_context_output_view(context, ZB_OUTPUT(0), &data, NULL, NULL));
    CHECK_OK(zb_tensor_destroy(x));
    CHECK_OK(zb_context_destroy(context));
    CHECK_OK(zb_model_destroy(model));
}

static const zt_test tests[] = {
    ON_BOTH(nothing_was_in_between),
    ON_BOTH(shapes_that_cannot_be_planned),
    ON_BOTH(a_view_outlives_the_queue),
    ON_BOTH(each_takes_room),
    ON_BOTH(a_wait_is_not_made_longer),
    ON_BOTH(with_the_queue),
    ON_BOTH(with_the_context),
    ON_BOTH(a_failure_in_the_middle),
    ON_BOTH(cancel_is_for_one_run),
    ON_BOTH(the_context_stays_open),
};

ZT_MAIN(tests)
