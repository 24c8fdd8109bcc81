/* What queues and events are called with that is no handle: NULL, stale, of another kind, made up. Nothing is done then. */
#include "harness.h"

/* NULL that a compiler does not see, since passing it openly is a warning where the header says so. */
static void *nothing(void)
{
    return NULL;
}

/* One of each kind. */
typedef struct objects {
    zb_model *model;
    zb_context *context;
    zb_tensor *tensor;
    zb_queue *queue;
    zb_event *event;
} objects;

static zb_status ending(zb_event *event)
{
    zb_status result = -1;
    REQUIRE_OK(zb_event_wait(event, UINT64_MAX, &result));
    return result;
}

static objects make_objects(void)
{
    objects made;
    zb_tensor_desc desc = F32(4);
    made.model = zt_open("add4");
    made.context = zt_context(made.model);
    REQUIRE_OK(zb_tensor_alloc(&desc, 64, &made.tensor));
    REQUIRE_OK(zb_tensor_bind(made.tensor, made.context, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_bind(made.tensor, made.context, ZB_INPUT(1)));
    REQUIRE_OK(zb_queue_create(NULL, &made.queue));
    REQUIRE_OK(zb_queue_infer(made.queue, made.context, NULL, &made.event));
    CHECK_EQ(ending(made.event), ZB_OK);
    return made;
}

/* Nothing that was tried did them any harm, or put anything into the queue. */
static void free_objects(const objects *made)
{
    zb_event *event = NULL;
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    CHECK_EQ(ending(made->event), ZB_OK);
    REQUIRE_OK(zb_queue_infer(made->queue, made->context, NULL, &event));
    CHECK_EQ(ending(event), ZB_OK);
    CHECK_OK(zb_context_get_stats(made->context, &stats));
    CHECK_EQ(stats.runs, 2);
    CHECK_OK(zb_event_destroy(event));
    CHECK_OK(zb_event_destroy(made->event));
    CHECK_OK(zb_queue_destroy(made->queue));
    CHECK_OK(zb_tensor_destroy(made->tensor));
    CHECK_OK(zb_context_destroy(made->context));
    CHECK_OK(zb_model_destroy(made->model));
}

static void count_call(void *user_data, zb_event *event, zb_status result)
{
    (void)event;
    (void)result;
    *(int *)user_data += 1;
}

/* Everything that takes a queue, with all else right. */
static void check_no_queue(void *handle, const objects *good, zb_status expected)
{
    zb_queue *queue = handle;
    zb_event *event = NULL;
    float bytes[4] = {5, 5, 5, 5};
    zb_slot_tensor with;
    with.slot = ZB_INPUT(0);
    with.flags = 0;
    with.tensor = good->tensor;
    CHECK_STATUS(zb_queue_infer(queue, good->context, NULL, &event), expected);
    CHECK_STATUS(zb_queue_infer_with(queue, good->context, &with, 1, NULL, &event), expected);
    CHECK_STATUS(zb_queue_write(queue, good->tensor, 0, bytes, sizeof bytes, &event), expected);
    CHECK_STATUS(zb_queue_read(queue, good->tensor, 0, bytes, sizeof bytes, &event), expected);
    CHECK_STATUS(zb_queue_fence(queue, &event), expected);
    CHECK_STATUS(zb_queue_wait_event(queue, good->event), expected);
    CHECK_STATUS(zb_queue_finish(queue, 0), expected);
    CHECK_STATUS(zb_queue_finish(queue, UINT64_MAX), expected);
    CHECK_STATUS(zb_queue_destroy(queue), handle == NULL ? ZB_OK : expected);
    CHECK(event == NULL && bytes[0] == 5);
}

static void check_no_event(void *handle, const objects *good, zb_status expected)
{
    zb_event *event = handle;
    int fd = 77, calls = 0;
    char text[8] = "same";
    size_t size = 77;
    zb_status result = 77;
    zb_tensor_desc desc = F32(1);
    CHECK_STATUS(zb_event_wait(event, 0, &result), expected);
    CHECK_STATUS(zb_event_wait(event, UINT64_MAX, &result), expected);
    CHECK_STATUS(zb_event_on_complete(event, count_call, &calls), expected);
    CHECK_STATUS(zb_event_get_error(event, text, sizeof text, NULL), expected);
    CHECK_STATUS(zb_event_get_slot_desc(event, ZB_INPUT(0), &desc, &size), expected);
    CHECK_STATUS(zb_event_get_fd(event, &fd), expected);
    CHECK_STATUS(zb_event_cancel(event), expected);
    CHECK_STATUS(zb_queue_wait_event(good->queue, event), expected);
    CHECK_STATUS(zb_event_destroy(event), handle == NULL ? ZB_OK : expected);
    CHECK(fd == 77 && calls == 0 && size == 77 && result == 77 && desc.dims[0] == 1 && strcmp(text, "same") == 0);
}

/* Queues with something else that is no handle. */
static void check_no_context_or_tensor(void *handle, const objects *good, zb_status expected)
{
    zb_event *event = NULL;
    float bytes[4] = {5, 5, 5, 5};
    zb_slot_tensor with;
    with.slot = ZB_INPUT(0);
    with.flags = 0;
    with.tensor = handle;
    CHECK_STATUS(zb_queue_infer(good->queue, handle, NULL, &event), expected);
    CHECK_STATUS(zb_queue_infer_with(good->queue, handle, NULL, 0, NULL, &event), expected);
    CHECK_STATUS(zb_queue_infer_with(good->queue, good->context, &with, 1, NULL, &event), expected);
    CHECK_STATUS(zb_queue_write(good->queue, handle, 0, bytes, sizeof bytes, &event), expected);
    CHECK_STATUS(zb_queue_read(good->queue, handle, 0, bytes, sizeof bytes, &event), expected);
    CHECK_STATUS(zb_tensor_sync(handle, ZB_SYNC_TO_HOST, 0), expected);
    CHECK_STATUS(zb_tensor_sync(handle, ZB_SYNC_TO_DEVICE, UINT64_MAX), expected);
    CHECK(event == NULL && bytes[0] == 5);
}

static void check_is_nothing(void *handle, const objects *good)
{
    check_no_queue(handle, good, ZB_ERROR_INVALID_HANDLE);
    check_no_event(handle, good, ZB_ERROR_INVALID_HANDLE);
    check_no_context_or_tensor(handle, good, ZB_ERROR_INVALID_HANDLE);
}

static void null(void)
{
    objects made = make_objects();
    check_no_queue(nothing(), &made, ZB_ERROR_NULL_ARGUMENT);
    check_no_event(nothing(), &made, ZB_ERROR_NULL_ARGUMENT);
    check_no_context_or_tensor(nothing(), &made, ZB_ERROR_NULL_ARGUMENT);
    free_objects(&made);
}

static void destroyed(void)
{
    objects made = make_objects(), gone = make_objects();
    CHECK_OK(zb_queue_destroy(gone.queue));
    CHECK_OK(zb_event_destroy(gone.event));
    CHECK_OK(zb_context_destroy(gone.context));
    CHECK_OK(zb_tensor_destroy(gone.tensor));
    for (int times = 0; times < 2; times++) {
        check_no_queue(gone.queue, &made, ZB_ERROR_INVALID_HANDLE);
        check_no_event(gone.event, &made, ZB_ERROR_INVALID_HANDLE);
        check_no_context_or_tensor(gone.context, &made, ZB_ERROR_INVALID_HANDLE);
        check_no_context_or_tensor(gone.tensor, &made, ZB_ERROR_INVALID_HANDLE);
    }
    CHECK_OK(zb_model_destroy(gone.model));
    free_objects(&made);
}

static void of_another_kind(void)
{
    objects made = make_objects();
    check_is_nothing(made.model, &made);
    check_no_queue(made.context, &made, ZB_ERROR_INVALID_HANDLE);
    check_no_queue(made.tensor, &made, ZB_ERROR_INVALID_HANDLE);
    check_no_queue(made.event, &made, ZB_ERROR_INVALID_HANDLE);
    check_no_event(made.context, &made, ZB_ERROR_INVALID_HANDLE);
    check_no_event(made.tensor, &made, ZB_ERROR_INVALID_HANDLE);
    check_no_event(made.queue, &made, ZB_ERROR_INVALID_HANDLE);
    check_no_context_or_tensor(made.queue, &made, ZB_ERROR_INVALID_HANDLE);
    check_no_context_or_tensor(made.event, &made, ZB_ERROR_INVALID_HANDLE);
    free_objects(&made);
}

static void made_up(void)
{
    static const uintptr_t numbers[] = {1, 2, 4, 5, 7, 8, 16, 0xFF, 0x1000, UINTPTR_MAX, UINTPTR_MAX - 1, UINTPTR_MAX / 2};
    int on_stack = 0;
    objects made = make_objects();
    uintptr_t live[5];
    live[0] = (uintptr_t)made.model;
    live[1] = (uintptr_t)made.context;
    live[2] = (uintptr_t)made.tensor;
    live[3] = (uintptr_t)made.queue;
    live[4] = (uintptr_t)made.event;
    check_is_nothing(&on_stack, &made);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        check_is_nothing((void *)numbers[i], &made);
    }
    /* each that differs in one bit from a good one */
    for (size_t kind = 3; kind < 5; kind++) {
        for (size_t bit = 0; bit < sizeof(uintptr_t) * 8; bit++) {
            uintptr_t number = live[kind] ^ (uintptr_t)1 << bit;
            int is_live = 0;
            for (size_t i = 0; i < 5; i++) {
                is_live |= number == live[i];
            }
            if (!is_live) {
                check_is_nothing((void *)number, &made);
            }
        }
    }
    free_objects(&made);
}

/* --- NULL for what is not a handle --- */

/* no callback, unseen by a compiler that would warn */
static zb_complete_fn nobody(void)
{
    return NULL;
}

static void null_places(void)
{
    objects made = make_objects();
    float bytes[4] = {5, 5, 5, 5};
    zb_event *event = NULL;
    zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
    CHECK_STATUS(zb_queue_create(NULL, nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_queue_create(&options, nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_queue_options_init(nothing(), sizeof options), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_queue_write(made.queue, made.tensor, 0, nothing(), 16, &event), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_queue_read(made.queue, made.tensor, 0, nothing(), 16, &event), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_queue_read(made.queue, made.tensor, 0, bytes, sizeof bytes, nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_queue_infer_with(made.queue, made.context, nothing(), 1, NULL, &event), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_queue_fence(made.queue, nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_event_wait(made.event, 0, nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_event_wait(made.event, UINT64_MAX, nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_event_on_complete(made.event, nobody(), bytes), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_event_get_error(made.event, NULL, 5, NULL), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_event_get_slot_desc(made.event, ZB_INPUT(0), nothing(), NULL), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_event_get_fd(made.event, nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK(event == NULL && bytes[0] == 5);
    free_objects(&made);
}

static void what_may_be_null(void)
{
    int calls = 0;
    objects made = make_objects();
    zb_tensor_desc desc = F32(1);
    /* a callback that was refused leaves room for one */
    CHECK_STATUS(zb_event_on_complete(made.event, nobody(), NULL), ZB_ERROR_NULL_ARGUMENT);
    CHECK_OK(zb_event_on_complete(made.event, count_call, &calls));
    CHECK_EQ(calls, 1);
    CHECK_OK(zb_event_get_slot_desc(made.event, ZB_OUTPUT(0), &desc, NULL));
    CHECK_EQ(desc.dims[0], 4);
    CHECK_OK(zb_queue_write(made.queue, made.tensor, 16, NULL, 0, NULL));
    CHECK_OK(zb_queue_finish(made.queue, UINT64_MAX));
    CHECK_OK(zb_queue_destroy(NULL));
    CHECK_OK(zb_event_destroy(NULL));
    free_objects(&made);
}

/* Places are used again, handles are not. */
static void stale_events_stay_stale(void)
{
    enum { MANY = 2000 };
    static zb_event *past[MANY];
    objects made = make_objects();
    size_t count = (size_t)zt_rounds(MANY, 100);
    for (size_t i = 0; i < count; i++) {
        zb_status result = 77;
        REQUIRE_OK(zb_queue_fence(made.queue, &past[i]));
        CHECK_EQ(ending(past[i]), ZB_OK);
        REQUIRE_OK(zb_event_destroy(past[i]));
        CHECK_STATUS(zb_event_wait(past[i / 2], UINT64_MAX, &result), ZB_ERROR_INVALID_HANDLE);
        CHECK_STATUS(zb_event_destroy(past[i]), ZB_ERROR_INVALID_HANDLE);
    }
    for (size_t i = 1; i < count; i++) {
        CHECK(past[i] != past[i - 1]);
        CHECK_STATUS(zb_event_cancel(past[i]), ZB_ERROR_INVALID_HANDLE);
    }
    free_objects(&made);
}

static const zt_test tests[] = {
    ON_BOTH(null),
    ON_BOTH(destroyed),
    ON_BOTH(of_another_kind),
    ON_BOTH(made_up),
    ON_BOTH(null_places),
    ON_BOTH(what_may_be_null),
    ON_BOTH(stale_events_stay_stale),
};

ZT_MAIN(tests)
