/*
 * What waits for what on queues, what may be called meanwhile, and what a failed operation takes along: decided by gates and
 * failures of the mock engine, so every step happens in the order that is written here.
 */
#include "mock.h"

#include <pthread.h>

#define BYTES 16u
#define PATIENCE (UINT64_C(50) * 1000 * 1000 * 1000)
/* in which a library that does not wait where it has to would go on */
#define MOMENT (UINT64_C(5) * 1000 * 1000)

/* --- gates: a run stands at "wait NAME" until another run says "open NAME" --- */

static void run_line(const char *line)
{
    zb_model *model = mock_open("output done f32 1\n");
    zb_context *context = mock_context(model, line);
    REQUIRE_OK(zb_infer(context, NULL));
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void await_door(void)
{
    run_line("run await door");
}

static void open_door(void)
{
    run_line("run open door");
}

/* --- queues and events --- */

static zb_queue *new_queue(void)
{
    zb_queue *queue = NULL;
    REQUIRE_OK(zb_queue_create(NULL, &queue));
    return queue;
}

static zb_status result_of(zb_event *event)
{
    zb_status result = -1;
    REQUIRE_OK(zb_event_wait(event, PATIENCE, &result));
    return result;
}

#define ENDS_WITH(event, expected) ends_with((event), (expected), NULL, __LINE__)
#define ENDS_WELL(event) ends_with((event), ZB_OK, NULL, __LINE__)
/* How it ends, and what the text says. */
#define ENDS_SAYING(event, expected, part) ends_with((event), (expected), (part), __LINE__)

/* Waits, and lets the event go. */
static void ends_with(zb_event *event, zb_status expected, const char *part, int line)
{
    char text[1024] = "";
    zt_check_status(result_of(event), expected, __FILE__, line, "the operation");
    CHECK_OK(zb_event_get_error(event, text, sizeof text, NULL));
    zt_check(expected == ZB_OK ? text[0] == '\0' : text[0] != '\0', __FILE__, line, "a text if and only if it failed");
    if (part != NULL && strstr(text, part) == NULL) {
        fprintf(stderr, "    the event says: %s\n", text);
        zt_check(0, __FILE__, line, part);
    }
    CHECK_OK(zb_event_destroy(event));
}

/* Not over, and not about to be. */
#define IS_PENDING(event) is_pending((event), __LINE__)

static void is_pending(zb_event *event, int line)
{
    zb_status result = -1;
    zt_check_status(zb_event_wait(event, MOMENT, &result), ZB_ERROR_TIMEOUT, __FILE__, line, "the wait");
    zt_check(result == -1, __FILE__, line, "the result is not written");
}

static void end_queue(zb_queue *queue)
{
    REQUIRE_OK(zb_queue_finish(queue, PATIENCE));
    CHECK_OK(zb_queue_destroy(queue));
}

static zb_event *infer(zb_queue *queue, zb_context *context)
{
    zb_event *event = NULL;
    REQUIRE_OK(zb_queue_infer(queue, context, NULL, &event));
    return event;
}

static zb_event *write(zb_queue *queue, zb_tensor *tensor, const float *source)
{
    zb_event *event = NULL;
    REQUIRE_OK(zb_queue_write(queue, tensor, 0, source, BYTES, &event));
    return event;
}

static zb_event *read_into(zb_queue *queue, zb_tensor *tensor, float *destination)
{
    zb_event *event = NULL;
    REQUIRE_OK(zb_queue_read(queue, tensor, 0, destination, BYTES, &event));
    return event;
}

static zb_event *fence(zb_queue *queue)
{
    zb_event *event = NULL;
    REQUIRE_OK(zb_queue_fence(queue, &event));
    return event;
}

static zb_slot_tensor at(zb_slot slot, zb_tensor *tensor)
{
    zb_slot_tensor given;
    given.slot = slot;
    given.flags = 0;
    given.tensor = tensor;
    return given;
}

/* --- z = x + y --- */

/* a line for a context that just runs */
#define NOTHING_SPECIAL "run log debug a run"

static const zb_slot slots[3] = {ZB_INPUT(0), ZB_INPUT(1), ZB_OUTPUT(0)};

typedef struct adder {
    zb_model *model;
    zb_context *context;
    float x[4], y[4], z[4];
    zt_releases releases[3];
    zb_tensor *tensors[3];
} adder;

static void make_adder_of(adder *made, const char *model, const char *line)
{
    zb_tensor_desc desc = F32(4);
    memset(made, 0, sizeof *made);
    made->model = mock_open(model);
    made->context = mock_context(made->model, line);
    float *memory[3] = {made->x, made->y, made->z};
    for (int i = 0; i < 3; i++) {
        for (int n = 0; n < 4; n++) {
            memory[i][n] = i == 2 ? -1.0f : (i == 0 ? 1.0f : 10.0f) * (float)(n + 1);
        }
        REQUIRE_OK(zb_tensor_wrap(&desc, memory[i], BYTES, 0, zt_count_release, &made->releases[i], &made->tensors[i]));
        REQUIRE_OK(zb_tensor_bind(made->tensors[i], made->context, slots[i]));
    }
}

static void make_adder(adder *made, const char *line)
{
    make_adder_of(made, MOCK_ADD4, line);
}

static const float sums[4] = {11, 22, 33, 44};
static const float untouched[4] = {-1, -1, -1, -1};

#define CHECK_SUM(made) CHECK_FLOATS((made)->z, sums, 4, 0)
#define CHECK_UNTOUCHED(values) CHECK_FLOATS((values), untouched, 4, 0)

static void drop_adder(adder *made)
{
    CHECK_OK(zb_context_destroy(made->context));
    CHECK_OK(zb_model_destroy(made->model));
    for (int i = 0; i < 3; i++) {
        CHECK_OK(zb_tensor_destroy(made->tensors[i]));
    }
}

/* The last of a test. */
static void free_adder(adder *made)
{
    drop_adder(made);
    /* the last use may go a moment after the event */
    CHECK(zt_soon_nothing_is_alive());
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(zt_release_count(&made->releases[i]), 1);
    }
}

static zb_tensor *tensor_at(float *memory)
{
    zb_tensor_desc desc = F32(4);
    zb_tensor *tensor = NULL;
    REQUIRE_OK(zb_tensor_wrap(&desc, memory, BYTES, 0, NULL, NULL, &tensor));
    return tensor;
}

/* --- order --- */

static void queues_without_a_common_tensor(void)
{
    adder held, free;
    float seen[4] = {0, 0, 0, 0};
    const float source[4] = {5, 5, 5, 5};
    zb_queue *first = new_queue(), *second = new_queue();
    make_adder(&held, "run wait door");
    make_adder(&free, NOTHING_SPECIAL);
    zb_event *behind_the_door = infer(first, held.context);
    await_door();
    for (int round = 0; round < 20; round++) {
        ENDS_WELL(write(second, free.tensors[0], source));
        zb_event *run = infer(second, free.context);
        ENDS_WELL(read_into(second, free.tensors[2], seen));
        ENDS_WELL(run);
        CHECK(seen[0] == 15 && seen[3] == 45);
    }
    REQUIRE_OK(zb_queue_finish(second, PATIENCE));
    CHECK_STATUS(zb_queue_finish(first, 0), ZB_ERROR_TIMEOUT);
    IS_PENDING(behind_the_door);
    CHECK_UNTOUCHED(held.z);
    open_door();
    ENDS_WELL(behind_the_door);
    CHECK_SUM(&held);
    end_queue(first);
    end_queue(second);
    drop_adder(&free);
    free_adder(&held);
}

static void queues_with_a_common_tensor(void)
{
    adder held;
    float x[4] = {0, 0, 0, 0}, z[4] = {0, 0, 0, 0};
    const float late[4] = {1000, 1000, 1000, 1000};
    zb_queue *first = new_queue(), *second = new_queue(), *third = new_queue(), *fourth = new_queue();
    make_adder(&held, "run wait door");
    zb_event *run = infer(first, held.context);
    await_door();
    /* two may read what the run reads; what it writes is waited for, and so is a write to what it reads */
    ENDS_WELL(read_into(second, held.tensors[0], x));
    CHECK(x[0] == 1 && x[3] == 4);
    zb_event *read = read_into(second, held.tensors[2], z);
    zb_event *written = write(third, held.tensors[0], late);
    /* and who comes after that write reads what it wrote */
    zb_event *again = read_into(fourth, held.tensors[0], x);
    IS_PENDING(read);
    IS_PENDING(written);
    IS_PENDING(again);
    CHECK(x[0] == 1 && z[0] == 0);
    open_door();
    ENDS_WELL(run);
    ENDS_WELL(read);
    ENDS_WELL(written);
    ENDS_WELL(again);
    CHECK_FLOATS(z, sums, 4, 0);
    CHECK_FLOATS(x, late, 4, 0);
    end_queue(first);
    end_queue(second);
    end_queue(third);
    end_queue(fourth);
    free_adder(&held);
}

static void zero_bytes_take_their_place(void)
{
    adder held;
    char byte = 0;
    zb_queue *queue = new_queue();
    zb_event *written = NULL, *read = NULL;
    make_adder(&held, "run wait door");
    zb_event *run = infer(queue, held.context);
    await_door();
    REQUIRE_OK(zb_queue_write(queue, held.tensors[1], 16, NULL, 0, &written));
    REQUIRE_OK(zb_queue_read(queue, held.tensors[0], 0, &byte, 0, &read));
    IS_PENDING(written);
    IS_PENDING(read);
    open_door();
    ENDS_WELL(run);
    ENDS_WELL(written);
    ENDS_WELL(read);
    end_queue(queue);
    free_adder(&held);
}

/* The second run of the context is at the door only when the first has passed it. */
static void one_context_on_two_queues(void)
{
    adder held;
    float memory[4] = {-1, -1, -1, -1};
    zb_tensor *other = tensor_at(memory);
    zb_slot_tensor given = at(ZB_OUTPUT(0), other);
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    zb_queue *first = new_queue(), *second = new_queue();
    zb_event *later = NULL;
    make_adder(&held, "run wait door");
    zb_event *run = infer(first, held.context);
    await_door();
    REQUIRE_OK(zb_queue_infer_with(second, held.context, &given, 1, NULL, &later));
    IS_PENDING(later);
    open_door();
    ENDS_WELL(run);
    CHECK_SUM(&held);
    await_door();
    CHECK_UNTOUCHED(memory);
    CHECK_OK(zb_context_get_stats(held.context, &stats));
    CHECK_EQ(stats.runs, 1);
    open_door();
    ENDS_WELL(later);
    CHECK_FLOATS(memory, sums, 4, 0);
    end_queue(first);
    end_queue(second);
    CHECK_OK(zb_tensor_destroy(other));
    free_adder(&held);
}

static void waiting_for_an_event(void)
{
    adder held;
    zb_queue *first = new_queue(), *second = new_queue();
    zb_event *behind = NULL;
    make_adder(&held, "run wait door @1");
    zb_event *run = infer(first, held.context);
    await_door();
    ENDS_WELL(fence(second));
    REQUIRE_OK(zb_queue_wait_event(second, run));
    behind = fence(second);
    IS_PENDING(behind);
    open_door();
    ENDS_WELL(behind);
    /* it is settled now, also for those who ask only once */
    zb_status result = -1;
    CHECK_OK(zb_event_wait(run, 0, &result));
    CHECK_EQ(result, ZB_OK);
    /* of a settled event, of one of the same queue, of one whose handle goes */
    REQUIRE_OK(zb_queue_wait_event(second, run));
    ENDS_WELL(fence(second));
    zb_event *own = fence(second);
    REQUIRE_OK(zb_queue_wait_event(second, own));
    CHECK_OK(zb_event_destroy(own));
    ENDS_WELL(fence(second));
    CHECK_OK(zb_event_destroy(run));
    end_queue(first);
    end_queue(second);
    free_adder(&held);
}

/* However it ends: the queue goes on. */
static void waiting_for_an_event_that_fails(void)
{
    adder held, failing;
    zb_queue *first = new_queue(), *second = new_queue();
    make_adder(&held, "run wait door");
    make_adder(&failing, "run fail RUNTIME no luck");
    zb_event *run = infer(first, held.context);
    await_door();
    zb_event *fails = infer(first, failing.context);
    REQUIRE_OK(zb_queue_wait_event(second, fails));
    zb_event *behind = fence(second);
    IS_PENDING(behind);
    open_door();
    ENDS_WELL(run);
    ENDS_WELL(behind);
    REQUIRE_OK(zb_queue_wait_event(second, fails));
    ENDS_WELL(fence(second));
    ENDS_SAYING(fails, ZB_ERROR_RUNTIME, "no luck");
    /* and one that never happens */
    run = infer(first, held.context);
    await_door();
    zb_event *cancelled = fence(first);
    REQUIRE_OK(zb_queue_wait_event(second, cancelled));
    behind = fence(second);
    IS_PENDING(behind);
    CHECK_OK(zb_event_cancel(cancelled));
    ENDS_WELL(behind);
    ENDS_WITH(cancelled, ZB_ERROR_CANCELLED);
    open_door();
    ENDS_WELL(run);
    end_queue(first);
    end_queue(second);
    drop_adder(&failing);
    free_adder(&held);
}

/* Nothing that waits for an event is over before the event is. */
static void an_event_is_settled_before_what_waits_for_it(void)
{
    const int rounds = zt_rounds(20000, 200);
    zb_queue *first = new_queue(), *second = new_queue();
    int early = 0;
    for (int round = 0; round < rounds; round++) {
        zb_event *event = fence(first);
        zb_status result = -1;
        REQUIRE_OK(zb_queue_wait_event(second, event));
        zb_event *behind = fence(second);
        REQUIRE_OK(zb_event_wait(behind, PATIENCE, &result));
        early += zb_event_wait(event, 0, &result) != ZB_OK;
        zb_event_destroy(event);
        zb_event_destroy(behind);
    }
    CHECK_EQ(early, 0);
    end_queue(first);
    end_queue(second);
}

typedef struct cancelling {
    zb_event *event;
    pthread_t thread;
} cancelling;

static void *cancel(void *argument)
{
    cancelling *made = argument;
    CHECK_OK(zb_event_cancel(made->event));
    return NULL;
}

/* A fence is not over before an operation before it that another thread cancels just then. */
static void a_fence_and_a_cancelled_operation(void)
{
    const int rounds = zt_rounds(2000, 50);
    float memory[4] = {0, 0, 0, 0};
    const float source[4] = {1, 1, 1, 1};
    zb_tensor *tensor = tensor_at(memory);
    zb_queue *queue = new_queue();
    int early = 0;
    for (int round = 0; round < rounds; round++) {
        cancelling made;
        zb_status result = -1;
        zb_event *first = write(queue, tensor, source);
        made.event = write(queue, tensor, source);
        zb_event *last = fence(queue);
        REQUIRE(pthread_create(&made.thread, NULL, cancel, &made) == 0);
        REQUIRE_OK(zb_event_wait(last, PATIENCE, &result));
        early += zb_event_wait(made.event, 0, &result) != ZB_OK;
        REQUIRE(pthread_join(made.thread, NULL) == 0);
        zb_event_destroy(first);
        zb_event_destroy(made.event);
        zb_event_destroy(last);
    }
    CHECK_EQ(early, 0);
    end_queue(queue);
    CHECK_OK(zb_tensor_destroy(tensor));
}

/* --- calls while a context has queued work --- */

static void check_excluded(adder *made)
{
    const int64_t dims[1] = {4};
    zt_buffer lent = zt_buffer_new(BYTES);
    zb_loan loan = zt_lend_output(0, &lent);
    CHECK_STATUS(zb_infer(made->context, NULL), ZB_ERROR_BUSY);
    CHECK_ERROR_SAYS("queue");
    CHECK_STATUS(zb_infer_with(made->context, NULL, 0, NULL), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_infer_with(made->context, &loan, 1, NULL), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_context_resize_input(made->context, ZB_INPUT(0), dims, 1), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_context_prepare(made->context), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_context_reset_state(made->context), ZB_ERROR_BUSY);
    CHECK(zt_is_untouched(&lent));
    FREE_BUFFER(&lent);
}

/* What changes nothing in the end. */
static void check_allowed(adder *made)
{
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    zb_tensor_desc desc, expected = F32(4);
    size_t size = 0;
    for (int i = 0; i < 3; i++) {
        CHECK_OK(zb_context_get_slot_info(made->context, slots[i], &info));
        CHECK(zt_same_desc(&info.desc, &expected) && info.size == BYTES);
        CHECK_OK(zb_context_get_slot_desc(made->context, slots[i], &desc, &size));
        CHECK(zt_same_desc(&desc, &expected) && size == BYTES);
    }
    CHECK_STATUS(zb_context_get_slot_desc(made->context, ZB_INPUT(2), &desc, &size), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_OK(zb_context_swap(made->context, ZB_INPUT(0), ZB_INPUT(1)));
    CHECK_OK(zb_context_swap(made->context, ZB_INPUT(0), ZB_INPUT(1)));
    CHECK_OK(zb_context_unbind(made->context, ZB_INPUT(1)));
    CHECK_STATUS(zb_context_swap(made->context, ZB_INPUT(0), ZB_INPUT(1)), ZB_ERROR_UNBOUND);
    CHECK_OK(zb_tensor_bind(made->tensors[1], made->context, ZB_INPUT(1)));
    CHECK_STATUS(zb_tensor_bind(made->tensors[1], made->context, ZB_INPUT(2)), ZB_ERROR_INVALID_ARGUMENT);
}

static void check_report(zb_context *context, int32_t path, const float *address, uint64_t runs)
{
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    CHECK_OK(zb_context_get_binding_report(context, ZB_OUTPUT(0), &report));
    CHECK_EQ(report.path, path);
    CHECK_ADDRESS(report.host_address, address);
    CHECK_ADDRESS(report.engine_address, address);
    CHECK_OK(zb_context_get_stats(context, &stats));
    CHECK_EQ(stats.runs, runs);
}

static void calls_while_it_waits(void)
{
    adder held, made;
    zb_queue *queue = new_queue();
    make_adder(&held, "run wait door");
    make_adder(&made, NOTHING_SPECIAL);
    zb_event *first = infer(queue, held.context);
    await_door();
    zb_event *waiting = infer(queue, made.context);
    check_excluded(&made);
    check_allowed(&made);
    check_report(made.context, ZB_PATH_UNBOUND, NULL, 0);
    /* for the run in progress, which is none of this context */
    CHECK_OK(zb_context_cancel(made.context));
    open_door();
    ENDS_WELL(first);
    ENDS_WELL(waiting);
    CHECK_SUM(&made);
    check_report(made.context, ZB_PATH_DIRECT, made.z, 1);
    /* and then all is as before */
    CHECK_OK(zb_context_prepare(made.context));
    CHECK_OK(zb_context_reset_state(made.context));
    CHECK_OK(zb_infer(made.context, NULL));
    check_report(made.context, ZB_PATH_DIRECT, made.z, 2);
    end_queue(queue);
    drop_adder(&held);
    free_adder(&made);
}

static void calls_while_it_runs(void)
{
    adder made;
    float memory[4] = {-1, -1, -1, -1};
    zb_tensor *other = tensor_at(memory);
    const void *view = NULL;
    zb_queue *queue = new_queue();
    make_adder(&made, "run wait door @2+");
    /* planning and a run before tell apart what is told of which run */
    ENDS_WELL(infer(queue, made.context));
    CHECK_SUM(&made);
    check_report(made.context, ZB_PATH_DIRECT, made.z, 1);
    CHECK_OK(zb_tensor_bind(other, made.context, ZB_OUTPUT(0)));
    zb_event *run = infer(queue, made.context);
    await_door();
    check_excluded(&made);
    check_allowed(&made);
    /* of the last run that is over */
    check_report(made.context, ZB_PATH_DIRECT, made.z, 1);
    CHECK(zb_context_output_view(made.context, ZB_OUTPUT(0), &view, NULL, NULL) != ZB_OK && view == NULL);
    CHECK_UNTOUCHED(memory);
    open_door();
    ENDS_WELL(run);
    check_report(made.context, ZB_PATH_DIRECT, memory, 2);
    CHECK_FLOATS(memory, sums, 4, 0);
    /* a run in progress can be stopped by its context */
    run = infer(queue, made.context);
    await_door();
    CHECK_OK(zb_context_cancel(made.context));
    open_door();
    ENDS_WITH(run, ZB_ERROR_CANCELLED);
    CHECK_OK(zb_context_unbind(made.context, ZB_OUTPUT(0)));
    end_queue(queue);
    CHECK_OK(zb_tensor_destroy(other));
    free_adder(&made);
}

/* Seen by the next operation, and by the next direct run; not by the one that is at the door. */
static void bindings_changed_while_it_runs(void)
{
    adder made;
    float x[4] = {100, 200, 300, 400}, z[4] = {-1, -1, -1, -1};
    static const float others[4] = {110, 220, 330, 440};
    zb_tensor *other_x = tensor_at(x), *other_z = tensor_at(z);
    zb_queue *queue = new_queue();
    make_adder(&made, "run wait door @1");
    zb_event *run = infer(queue, made.context);
    await_door();
    CHECK_OK(zb_tensor_bind(other_x, made.context, ZB_INPUT(0)));
    CHECK_OK(zb_context_swap(made.context, ZB_INPUT(0), ZB_INPUT(1)));
    CHECK_OK(zb_tensor_bind(other_z, made.context, ZB_OUTPUT(0)));
    zb_event *next = infer(queue, made.context);
    open_door();
    ENDS_WELL(run);
    ENDS_WELL(next);
    CHECK_SUM(&made);
    CHECK_FLOATS(z, others, 4, 0);
    memcpy(z, untouched, sizeof z);
    CHECK_OK(zb_infer(made.context, NULL));
    CHECK_FLOATS(z, others, 4, 0);
    CHECK_OK(zb_context_unbind(made.context, ZB_INPUT(1)));
    CHECK_OK(zb_context_unbind(made.context, ZB_OUTPUT(0)));
    end_queue(queue);
    CHECK_OK(zb_tensor_destroy(other_x));
    CHECK_OK(zb_tensor_destroy(other_z));
    free_adder(&made);
}

static void memory_let_go_while_it_runs(void)
{
    adder made;
    zb_queue *queue = new_queue();
    make_adder(&made, "run wait door");
    zb_event *run = infer(queue, made.context);
    await_door();
    for (int i = 0; i < 3; i++) {
        CHECK_OK(zb_context_unbind(made.context, slots[i]));
        CHECK_OK(zb_tensor_destroy(made.tensors[i]));
        CHECK_EQ(zt_release_count(&made.releases[i]), 0);
    }
    open_door();
    ENDS_WELL(run);
    CHECK_SUM(&made);
    /* what the operation held goes before anybody hears of its end */
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(zt_release_count(&made.releases[i]), 1);
    }
    CHECK_STATUS(zb_infer(made.context, NULL), ZB_ERROR_UNBOUND);
    end_queue(queue);
    CHECK_OK(zb_context_destroy(made.context));
    CHECK_OK(zb_model_destroy(made.model));
}

static void *infer_directly(void *context)
{
    CHECK_OK(zb_infer(context, NULL));
    return NULL;
}

/* The other way round: while a run outside of queues is in progress, its tensors are waited for and its context is refused. */
static void a_direct_run_excludes_queues(void)
{
    adder made;
    pthread_t thread;
    float seen[4] = {0, 0, 0, 0};
    zb_queue *queue = new_queue();
    zb_event *event = NULL;
    make_adder(&made, "run wait door @1");
    REQUIRE(pthread_create(&thread, NULL, infer_directly, made.context) == 0);
    await_door();
    CHECK_STATUS(zb_queue_infer(queue, made.context, NULL, &event), ZB_ERROR_BUSY);
    CHECK(event == NULL);
    zb_event *read = read_into(queue, made.tensors[2], seen);
    IS_PENDING(read);
    open_door();
    REQUIRE(pthread_join(thread, NULL) == 0);
    ENDS_WELL(read);
    CHECK_FLOATS(seen, sums, 4, 0);
    ENDS_WELL(infer(queue, made.context));
    end_queue(queue);
    free_adder(&made);
}

/* An operation that waits for a direct run's tensor does not wait longer than its deadline. */
static void a_deadline_while_a_direct_run_has_the_tensor(void)
{
    adder made[2];
    pthread_t thread;
    zb_queue *queue = new_queue();
    zb_event *event = NULL;
    zb_infer_options options = ZB_INFER_OPTIONS_INIT;
    make_adder(&made[0], "run wait door @1");
    make_adder(&made[1], NOTHING_SPECIAL);
    REQUIRE_OK(zb_tensor_bind(made[0].tensors[2], made[1].context, ZB_INPUT(0)));
    REQUIRE(pthread_create(&thread, NULL, infer_directly, made[0].context) == 0);
    await_door();
    options.deadline_ns = 20000000;
    REQUIRE_OK(zb_queue_infer(queue, made[1].context, &options, &event));
    /* settled while the other is still at the door */
    ENDS_SAYING(event, ZB_ERROR_DEADLINE_EXCEEDED, "nothing was written");
    CHECK_UNTOUCHED(made[1].z);
    open_door();
    REQUIRE(pthread_join(thread, NULL) == 0);
    ENDS_WELL(infer(queue, made[1].context));
    end_queue(queue);
    drop_adder(&made[0]);
    drop_adder(&made[1]);
    CHECK(zt_soon_nothing_is_alive());
}

/* --- what a failed operation takes along --- */

static zb_event *read_part(zb_queue *queue, zb_tensor *tensor, float *destination)
{
    zb_event *event = NULL;
    REQUIRE_OK(zb_queue_read(queue, tensor, 4, destination, 8, &event));
    return event;
}

/* Reads end with DEPENDENCY, wherever they are, and leave their destination alone. */
#define CHECK_INVALID(queue, tensor, cause) check_invalid((queue), (tensor), (cause), __LINE__)

static void check_invalid(zb_queue *queue, zb_tensor *tensor, const char *cause, int line)
{
    float seen[4] = {-1, -1, -1, -1};
    ends_with(read_into(queue, tensor, seen), ZB_ERROR_DEPENDENCY, cause, line);
    ends_with(read_part(queue, tensor, seen), ZB_ERROR_DEPENDENCY, cause, line);
    CHECK_UNTOUCHED(seen);
}

#define CHECK_VALID(queue, tensor, first) check_valid((queue), (tensor), (first), __LINE__)

static void check_valid(zb_queue *queue, zb_tensor *tensor, float first, int line)
{
    float seen[4] = {-1, -1, -1, -1};
    ends_with(read_into(queue, tensor, seen), ZB_OK, NULL, line);
    zt_check(seen[0] == first, __FILE__, line, "the first element");
}

/* Three runs, each reading what the one before writes; the first fails. */
static void a_failure_goes_down_the_chain(void)
{
    adder made[3];
    zb_queue *first = new_queue(), *second = new_queue();
    zb_event *runs[3];
    float seen[3][4];
    zb_event *reads[3];
    make_adder(&made[0], "run fail RUNTIME no luck @1");
    make_adder(&made[1], NOTHING_SPECIAL);
    make_adder(&made[2], NOTHING_SPECIAL);
    for (int i = 1; i < 3; i++) {
        REQUIRE_OK(zb_tensor_bind(made[i - 1].tensors[2], made[i].context, ZB_INPUT(0)));
    }
    for (int i = 0; i < 3; i++) {
        memcpy(seen[i], untouched, sizeof untouched);
        runs[i] = infer(i == 1 ? second : first, made[i].context);
        reads[i] = read_into(i == 2 ? second : first, made[i].tensors[2], seen[i]);
    }
    ENDS_SAYING(runs[0], ZB_ERROR_RUNTIME, "no luck");
    for (int i = 0; i < 3; i++) {
        if (i > 0) {
            ENDS_SAYING(runs[i], ZB_ERROR_DEPENDENCY, "no luck");
        }
        ENDS_SAYING(reads[i], ZB_ERROR_DEPENDENCY, "no luck");
        CHECK_UNTOUCHED(seen[i]);
        CHECK_UNTOUCHED(made[i].z);
        CHECK_INVALID(second, made[i].tensors[2], "no luck");
        /* what it read is as good as before */
        CHECK_VALID(first, made[i].tensors[1], 10);
    }
    /* runs that succeed cure one after the other */
    for (int i = 0; i < 3; i++) {
        ENDS_WELL(infer(first, made[i].context));
        CHECK_VALID(second, made[i].tensors[2], 11.0f + 10.0f * (float)i);
    }
    end_queue(first);
    end_queue(second);
    for (int i = 0; i < 3; i++) {
        drop_adder(&made[i]);
    }
    CHECK(zt_soon_nothing_is_alive());
}

static void what_cures(void)
{
    adder made;
    const float source[4] = {7, 7, 7, 7};
    zb_queue *queue = new_queue();
    zb_event *event = NULL;
    make_adder(&made, "run fail RUNTIME no luck");
    ENDS_WITH(infer(queue, made.context), ZB_ERROR_RUNTIME);
    CHECK_INVALID(queue, made.tensors[2], "no luck");
    /* no part, whichever, nor all parts, nor nothing at all */
    for (size_t offset = 0; offset < BYTES; offset += 4) {
        REQUIRE_OK(zb_queue_write(queue, made.tensors[2], offset, source, 4, &event));
        ENDS_WELL(event);
    }
    REQUIRE_OK(zb_queue_write(queue, made.tensors[2], 0, source, 0, &event));
    ENDS_WELL(event);
    CHECK_INVALID(queue, made.tensors[2], "no luck");
    /* nor reading it did */
    ENDS_WELL(write(queue, made.tensors[2], source));
    CHECK_VALID(queue, made.tensors[2], 7);
    /* and it can be spoiled again */
    ENDS_WITH(infer(queue, made.context), ZB_ERROR_RUNTIME);
    CHECK_INVALID(queue, made.tensors[2], "no luck");
    end_queue(queue);
    free_adder(&made);
}

/* A run outside of queues that writes all of it is as good as one inside. */
static void a_direct_run_cures(void)
{
    adder made;
    zb_queue *queue = new_queue();
    make_adder(&made, "run fail RUNTIME no luck @1");
    ENDS_WITH(infer(queue, made.context), ZB_ERROR_RUNTIME);
    CHECK_INVALID(queue, made.tensors[2], "no luck");
    REQUIRE_OK(zb_queue_finish(queue, UINT64_MAX));
    REQUIRE_OK(zb_infer(made.context, NULL));
    CHECK_VALID(queue, made.tensors[2], 11);
    end_queue(queue);
    free_adder(&made);
}

/* And so is the host itself, when it says so. */
static void the_host_cures(void)
{
    adder made;
    const float source[4] = {7, 7, 7, 7};
    zb_queue *queue = new_queue();
    make_adder(&made, "run fail RUNTIME no luck @1");
    ENDS_WITH(infer(queue, made.context), ZB_ERROR_RUNTIME);
    memcpy(made.z, source, sizeof source);
    REQUIRE_OK(zb_tensor_sync(made.tensors[2], ZB_SYNC_TO_HOST, UINT64_MAX));
    CHECK_INVALID(queue, made.tensors[2], "no luck");
    REQUIRE_OK(zb_tensor_sync(made.tensors[2], ZB_SYNC_TO_DEVICE, UINT64_MAX));
    CHECK_VALID(queue, made.tensors[2], 7);
    end_queue(queue);
    free_adder(&made);
}

/* Wherever a run fails. */
static void every_way_to_fail(void)
{
    static const struct {
        const char *line;
        zb_status status;
        const char *part;
    } ways[] = {
        {"plan fail SHAPE_MISMATCH no plan", ZB_ERROR_SHAPE_MISMATCH, "no plan"},
        {"attach fail MISALIGNED no place", ZB_ERROR_MISALIGNED, "no place"},
        {"run fail RUNTIME no luck", ZB_ERROR_RUNTIME, "no luck"},
        {"finish fail RUNTIME no end", ZB_ERROR_RUNTIME, "no end"},
        {"run fail BUSY no time", ZB_ERROR_BUSY, "no time"},
        {"run panic no nerves", ZB_ERROR_PANIC, "no nerves"},
        {"run fail OUT_OF_MEMORY no room", ZB_ERROR_OUT_OF_MEMORY, "no room"},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        adder made;
        zb_queue *queue = new_queue();
        zb_tensor_desc desc;
        zb_event *event = NULL;
        make_adder(&made, ways[i].line);
        event = infer(queue, made.context);
        CHECK_EQ(result_of(event), ways[i].status);
        CHECK_STATUS(zb_event_get_slot_desc(event, ZB_OUTPUT(0), &desc, NULL), ZB_ERROR_UNBOUND);
        ENDS_SAYING(event, ways[i].status, ways[i].part);
        CHECK_INVALID(queue, made.tensors[2], ways[i].part);
        end_queue(queue);
        free_adder(&made);
    }
}

static void a_deadline_that_passes(void)
{
    adder held, made;
    zb_infer_options options = ZB_INFER_OPTIONS_INIT;
    zb_queue *queue = new_queue();
    zb_event *late = NULL;
    options.deadline_ns = 1;
    make_adder(&held, "run wait door");
    make_adder(&made, NOTHING_SPECIAL);
    zb_event *first = infer(queue, held.context);
    await_door();
    REQUIRE_OK(zb_queue_infer(queue, made.context, &options, &late));
    open_door();
    ENDS_WELL(first);
    ENDS_WITH(late, ZB_ERROR_DEADLINE_EXCEEDED);
    CHECK_UNTOUCHED(made.z);
    CHECK_INVALID(queue, made.tensors[2], "deadline");
    end_queue(queue);
    drop_adder(&made);
    free_adder(&held);
}

/* What never starts spoils what it would have written just as well. */
static void cancelled_and_destroyed(void)
{
    adder held, made;
    const float source[4] = {7, 7, 7, 7};
    float seen[4] = {-1, -1, -1, -1};
    zb_queue *first = new_queue(), *second = new_queue(), *third = new_queue();
    zb_context *context = NULL;
    make_adder(&held, "run wait door");
    make_adder(&made, NOTHING_SPECIAL);
    REQUIRE_OK(zb_context_create(made.model, NULL, &context));
    for (int i = 0; i < 3; i++) {
        REQUIRE_OK(zb_tensor_bind(made.tensors[i], context, slots[i]));
    }
    zb_event *run = infer(first, held.context);
    await_door();
    /* a cancelled run */
    zb_event *waiting = infer(first, made.context);
    zb_event *read = read_into(third, made.tensors[2], seen);
    IS_PENDING(read);
    CHECK_OK(zb_event_cancel(waiting));
    ENDS_WITH(waiting, ZB_ERROR_CANCELLED);
    ENDS_SAYING(read, ZB_ERROR_DEPENDENCY, "cancelled");
    CHECK_UNTOUCHED(seen);
    ENDS_WELL(write(third, made.tensors[2], source));
    /* a cancelled write, also of a part */
    waiting = write(first, made.tensors[2], source);
    CHECK_OK(zb_event_cancel(waiting));
    ENDS_WITH(waiting, ZB_ERROR_CANCELLED);
    CHECK_INVALID(third, made.tensors[2], "cancelled");
    ENDS_WELL(write(third, made.tensors[2], source));
    REQUIRE_OK(zb_queue_write(first, made.tensors[2], 4, source, 4, &waiting));
    CHECK_OK(zb_event_cancel(waiting));
    ENDS_WITH(waiting, ZB_ERROR_CANCELLED);
    CHECK_INVALID(third, made.tensors[2], "cancelled");
    ENDS_WELL(write(third, made.tensors[2], source));
    /* a cancelled read spoils nothing */
    waiting = read_into(first, made.tensors[2], seen);
    CHECK_OK(zb_event_cancel(waiting));
    ENDS_WITH(waiting, ZB_ERROR_CANCELLED);
    CHECK_UNTOUCHED(seen);
    CHECK_VALID(third, made.tensors[2], 7);
    /* a context that goes */
    waiting = infer(first, context);
    read = read_into(third, made.tensors[2], seen);
    CHECK_OK(zb_context_destroy(context));
    ENDS_WITH(waiting, ZB_ERROR_DESTROYED);
    ENDS_SAYING(read, ZB_ERROR_DEPENDENCY, "destroyed");
    CHECK_UNTOUCHED(seen);
    ENDS_WELL(write(third, made.tensors[2], source));
    /* a queue that goes */
    REQUIRE_OK(zb_queue_wait_event(second, run));
    waiting = write(second, made.tensors[2], source);
    read = read_into(third, made.tensors[2], seen);
    CHECK_OK(zb_queue_destroy(second));
    ENDS_WITH(waiting, ZB_ERROR_DESTROYED);
    ENDS_SAYING(read, ZB_ERROR_DEPENDENCY, "destroyed");
    CHECK_UNTOUCHED(seen);
    open_door();
    ENDS_WELL(run);
    end_queue(first);
    end_queue(third);
    drop_adder(&held);
    free_adder(&made);
}

/* A run that is stopped has written who knows what. */
static void cancelled_while_it_runs(void)
{
    adder made;
    zb_queue *queue = new_queue(), *other = new_queue();
    float seen[4] = {-1, -1, -1, -1};
    make_adder(&made, "run wait door");
    zb_event *run = infer(queue, made.context);
    await_door();
    zb_event *read = read_into(other, made.tensors[2], seen);
    CHECK_OK(zb_event_cancel(run));
    IS_PENDING(read);
    open_door();
    ENDS_WITH(run, ZB_ERROR_CANCELLED);
    ENDS_SAYING(read, ZB_ERROR_DEPENDENCY, "cancelled");
    CHECK_UNTOUCHED(seen);
    end_queue(queue);
    end_queue(other);
    free_adder(&made);
}

/* A tensor that is passed through is both read and written by one run. */
static void a_spoiled_tensor_passed_through(void)
{
    adder held;
    float memory[4] = {3, 3, 3, 3};
    zb_model *model = mock_open("input x f32 4\noutput z f32 4\noutput same f32 4 twin=input:0\n");
    zb_context *context = zt_context(model);
    zb_tensor *tensor = tensor_at(memory);
    zb_queue *queue = new_queue();
    make_adder(&held, "run fail RUNTIME no luck");
    REQUIRE_OK(zb_tensor_bind(tensor, context, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_bind(tensor, context, ZB_OUTPUT(1)));
    ENDS_WELL(infer(queue, context));
    REQUIRE_OK(zb_tensor_bind(tensor, held.context, ZB_OUTPUT(0)));
    ENDS_WITH(infer(queue, held.context), ZB_ERROR_RUNTIME);
    ENDS_SAYING(infer(queue, context), ZB_ERROR_DEPENDENCY, "no luck");
    CHECK_INVALID(queue, tensor, "no luck");
    end_queue(queue);
    CHECK_OK(zb_context_destroy(context));
    CHECK_OK(zb_model_destroy(model));
    CHECK_OK(zb_context_unbind(held.context, ZB_OUTPUT(0)));
    CHECK_OK(zb_tensor_destroy(tensor));
    free_adder(&held);
}

/* --- an executor that takes nothing --- */

static int32_t take_nothing(void *user_data, zb_task_fn run, void *task)
{
    (void)user_data;
    (void)run;
    (void)task;
    return 1;
}

static void an_executor_that_refuses(void)
{
    adder made;
    const float source[4] = {7, 7, 7, 7};
    zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
    zb_queue *refusing = NULL, *queue = new_queue();
    zb_event *event = NULL;
    options.submit = take_nothing;
    REQUIRE_OK(zb_queue_create(&options, &refusing));
    make_adder(&made, NOTHING_SPECIAL);
    CHECK_STATUS(zb_queue_infer(refusing, made.context, NULL, &event), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_queue_write(refusing, made.tensors[2], 0, source, BYTES, &event), ZB_ERROR_BUSY);
    CHECK(event == NULL);
    CHECK_VALID(queue, made.tensors[2], -1);
    CHECK_OK(zb_infer(made.context, NULL));
    CHECK_SUM(&made);
    CHECK_OK(zb_queue_destroy(refusing));
    end_queue(queue);
    free_adder(&made);
}

/* --- events --- */

static void what_an_event_tells(void)
{
    adder made;
    zb_tensor_desc desc = F32(1), expected = F32(4);
    zb_queue *queue = new_queue();
    char text[16] = "as it was";
    size_t needed = 7, size = 7;
    make_adder(&made, "run wait door");
    zb_event *run = infer(queue, made.context);
    await_door();
    CHECK_STATUS(zb_event_get_error(run, text, sizeof text, &needed), ZB_ERROR_BUSY);
    CHECK_STATUS(zb_event_get_slot_desc(run, ZB_OUTPUT(0), &desc, &size), ZB_ERROR_BUSY);
    CHECK(strcmp(text, "as it was") == 0 && size == 7 && desc.dims[0] == 1);
    open_door();
    CHECK_EQ(result_of(run), ZB_OK);
    CHECK_OK(zb_event_get_error(run, text, sizeof text, &needed));
    CHECK(text[0] == '\0' && needed == 1);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(zb_event_get_slot_desc(run, slots[i], &desc, &size));
        CHECK(zt_same_desc(&desc, &expected) && size == BYTES);
    }
    CHECK_OK(zb_event_destroy(run));
    /* only inferences have slots */
    zb_event *other = fence(queue);
    CHECK_EQ(result_of(other), ZB_OK);
    CHECK_STATUS(zb_event_get_slot_desc(other, ZB_OUTPUT(0), &desc, NULL), ZB_ERROR_UNBOUND);
    CHECK_OK(zb_event_destroy(other));
    end_queue(queue);
    free_adder(&made);
}

static const zt_test tests[] = {
    ON_BOTH(queues_without_a_common_tensor),
    ON_BOTH(queues_with_a_common_tensor),
    ON_BOTH(zero_bytes_take_their_place),
    ON_BOTH(one_context_on_two_queues),
    ON_BOTH(waiting_for_an_event),
    ON_BOTH(waiting_for_an_event_that_fails),
    ON_BOTH(an_event_is_settled_before_what_waits_for_it),
    ON_BOTH(a_fence_and_a_cancelled_operation),
    ON_BOTH(calls_while_it_waits),
    ON_BOTH(calls_while_it_runs),
    ON_BOTH(bindings_changed_while_it_runs),
    ON_BOTH(memory_let_go_while_it_runs),
    ON_BOTH(a_direct_run_excludes_queues),
    ON_BOTH(a_deadline_while_a_direct_run_has_the_tensor),
    ON_BOTH(a_failure_goes_down_the_chain),
    ON_BOTH(what_cures),
    ON_BOTH(a_direct_run_cures),
    ON_BOTH(the_host_cures),
    ON_BOTH(every_way_to_fail),
    ON_BOTH(a_deadline_that_passes),
    ON_BOTH(cancelled_and_destroyed),
    ON_BOTH(cancelled_while_it_runs),
    ON_BOTH(a_spoiled_tensor_passed_through),
    ON_BOTH(an_executor_that_refuses),
    ON_BOTH(what_an_event_tells),
};

ZT_MAIN(tests)
