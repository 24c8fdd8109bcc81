/*
 * Queues that end while a real engine works for them, also with the process. What the mock decides by gates
 * (test_queue_destroy) happens here as it comes: each end that the rules allow is right, any other is not.
 */
#include "harness.h"

#include <sys/wait.h>
#include <unistd.h>

#define COUNT ((size_t)1 << 20)
#define RUNS 3

/* Says to a program started by the test what to do. */
#define CHILD "ZB_TEST_CHILD"

/* long_chain: y = x + 300 in 300 operators over 2^20 floats */
typedef struct chain {
    zb_model *model;
    zb_context *context;
    zb_queue *queue;
    zb_tensor *x, *y;
    zt_buffer x_memory, y_memory, copy;
    zt_releases releases;
    zb_event *runs[RUNS];
    zb_event *read;
} chain;

static zb_tensor *wrap(chain *made, zt_buffer *memory)
{
    zb_tensor_desc desc = F32((int64_t)COUNT);
    zb_tensor *tensor = NULL;
    REQUIRE_OK(zb_tensor_wrap(&desc, memory->data, memory->size, memory->capacity, zt_count_release, &made->releases, &tensor));
    return tensor;
}

/* Enough work for the queue to be busy for a while: runs, and a read of what they wrote. */
static void enqueue(chain *made)
{
    for (int i = 0; i < RUNS; i++) {
        REQUIRE_OK(zb_queue_infer(made->queue, made->context, NULL, &made->runs[i]));
    }
    REQUIRE_OK(zb_queue_read(made->queue, made->y, 0, made->copy.data, made->copy.size, &made->read));
}

static void make_chain(chain *made)
{
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    memset(made, 0, sizeof *made);
    made->model = zt_open("long_chain");
    made->context = zt_context(made->model);
    REQUIRE_OK(zb_queue_create(NULL, &made->queue));
    REQUIRE_OK(zb_model_get_slot_info(made->model, ZB_INPUT(0), &info));
    REQUIRE(info.size == COUNT * sizeof(float));
    made->x_memory = zt_buffer_new(COUNT * sizeof(float));
    made->y_memory = zt_buffer_new(COUNT * sizeof(float));
    made->copy = zt_buffer_new(COUNT * sizeof(float));
    zt_fill_floats(&made->x_memory, 1, 0);
    made->x = wrap(made, &made->x_memory);
    made->y = wrap(made, &made->y_memory);
    REQUIRE_OK(zb_tensor_bind(made->x, made->context, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_bind(made->y, made->context, ZB_OUTPUT(0)));
}

static int is_301(const zt_buffer *buffer)
{
    const float *values = zt_floats(buffer);
    for (size_t i = 0; i < COUNT; i++) {
        if (!(values[i] == 301.0f)) {
            return 0;
        }
    }
    return 1;
}

static zb_status end_of(zb_event *event)
{
    zb_status result = -1;
    REQUIRE_OK(zb_event_wait(event, UINT64_MAX, &result));
    CHECK_OK(zb_event_destroy(event));
    return result;
}

static void free_chain(chain *made)
{
    CHECK_OK(zb_queue_destroy(made->queue));
    CHECK_OK(zb_context_destroy(made->context));
    CHECK_OK(zb_model_destroy(made->model));
    CHECK_OK(zb_tensor_destroy(made->x));
    CHECK_OK(zb_tensor_destroy(made->y));
    REQUIRE(zt_soon_nothing_is_alive());
    CHECK_EQ(zt_release_count(&made->releases), 2);
    FREE_BUFFER(&made->x_memory);
    FREE_BUFFER(&made->y_memory);
    FREE_BUFFER(&made->copy);
}

/* The one that runs may be any, those before it are done, those after it never start. */
static void check_cut_off(chain *made)
{
    int is_cut = 0;
    for (int i = 0; i < RUNS; i++) {
        zb_status result = end_of(made->runs[i]);
        CHECK(result == ZB_OK || result == ZB_ERROR_CANCELLED || result == ZB_ERROR_DESTROYED);
        CHECK(!is_cut || result == ZB_ERROR_DESTROYED);
        is_cut |= result != ZB_OK;
    }
    CHECK(is_cut);
}

static void a_queue_that_is_busy(void)
{
    chain made;
    make_chain(&made);
    enqueue(&made);
    CHECK_OK(zb_queue_destroy(made.queue));
    made.queue = NULL;
    zb_status read = end_of(made.read);
    CHECK_EQ(read, ZB_ERROR_DESTROYED);
    CHECK(zt_is_untouched(&made.copy));
    check_cut_off(&made);
    /* the context is free again */
    CHECK_OK(zb_infer(made.context, NULL));
    CHECK(is_301(&made.y_memory));
    free_chain(&made);
}

static void a_context_that_runs(void)
{
    chain made;
    make_chain(&made);
    enqueue(&made);
    CHECK_OK(zb_context_destroy(made.context));
    made.context = NULL;
    check_cut_off(&made);
    /* what the last run would have written is not there */
    CHECK_EQ(end_of(made.read), ZB_ERROR_DEPENDENCY);
    CHECK(zt_is_untouched(&made.copy));
    free_chain(&made);
}

static void tensors_that_are_in_use(void)
{
    chain made;
    make_chain(&made);
    enqueue(&made);
    REQUIRE_OK(zb_context_unbind(made.context, ZB_INPUT(0)));
    REQUIRE_OK(zb_context_unbind(made.context, ZB_OUTPUT(0)));
    CHECK_OK(zb_tensor_destroy(made.x));
    CHECK_OK(zb_tensor_destroy(made.y));
    made.x = NULL;
    made.y = NULL;
    CHECK_EQ(end_of(made.read), ZB_ERROR_DESTROYED);
    CHECK(zt_is_untouched(&made.copy));
    for (int i = 0; i < RUNS; i++) {
        CHECK_OK(end_of(made.runs[i]));
    }
    CHECK(is_301(&made.y_memory));
    free_chain(&made);
}

static void a_model_and_events(void)
{
    chain made;
    make_chain(&made);
    enqueue(&made);
    CHECK_OK(zb_model_destroy(made.model));
    made.model = NULL;
    for (int i = 0; i < RUNS; i++) {
        CHECK_OK(zb_event_destroy(made.runs[i]));
    }
    CHECK_OK(end_of(made.read));
    CHECK(is_301(&made.copy));
    free_chain(&made);
}

static void everything_at_once(void)
{
    chain made;
    make_chain(&made);
    enqueue(&made);
    CHECK_OK(zb_tensor_destroy(made.x));
    CHECK_OK(zb_model_destroy(made.model));
    CHECK_OK(zb_context_destroy(made.context));
    CHECK_OK(zb_queue_destroy(made.queue));
    CHECK_OK(zb_tensor_destroy(made.y));
    for (int i = 0; i < RUNS; i++) {
        CHECK_OK(zb_event_destroy(made.runs[i]));
    }
    CHECK_OK(zb_event_destroy(made.read));
    made.model = NULL;
    made.context = NULL;
    made.queue = NULL;
    made.x = NULL;
    made.y = NULL;
    /* with the last run its memory comes back, and then nobody writes it */
    free_chain(&made);
}

/* --- the end of the process --- */

static void exit_here(void *user_data, zb_event *event, zb_status result)
{
    (void)user_data;
    (void)event;
    exit(result == ZB_OK ? 0 : 3);
}

static int32_t take_and_forget(void *user_data, zb_task_fn run, void *task)
{
    (void)user_data;
    (void)run;
    (void)task;
    return 0;
}

static void leave_an_executor(chain *made)
{
    zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
    options.submit = take_and_forget;
    REQUIRE_OK(zb_queue_destroy(made->queue));
    REQUIRE_OK(zb_queue_create(&options, &made->queue));
}

/* Another process, which leaves with all that is in it. The exit code tells. */
static int be_a_child(const char *how)
{
    static chain made;
    alarm(50);
    make_chain(&made);
    if (strcmp(how, "executor") == 0) {
        leave_an_executor(&made);
    }
    enqueue(&made);
    if (strcmp(how, "callback") == 0) {
        REQUIRE_OK(zb_event_on_complete(made.runs[0], exit_here, NULL));
        for (;;) {
            pause();
        }
    }
    if (strcmp(how, "running") == 0) {
        /* it has begun for sure, and the second has not ended */
        REQUIRE(end_of(made.runs[0]) == ZB_OK);
    }
    return 0;
}

static void check_child(const char *how)
{
    int status = -1;
    char *arguments[3] = {NULL, NULL, NULL};
    /* read, and not used as it is: under valgrind that would be valgrind */
    char name[4096] = "";
    REQUIRE(readlink("/proc/self/exe", name, sizeof name - 1) > 0);
    char tflite[] = "tflite", onnxruntime[] = "onnxruntime";
    arguments[0] = name;
    arguments[1] = zt_is_tflite() ? tflite : onnxruntime;
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        setenv(CHILD, how, 1);
        execv(name, arguments);
        _exit(127);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    if (!CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
        fprintf(stderr, "    %s: wait status 0x%x\n", how, (unsigned)status);
    }
}

static void a_process_that_leaves(void)
{
    int rounds = zt_rounds(3, 1);
    for (int i = 0; i < rounds; i++) {
        check_child("at once");
        check_child("running");
        check_child("executor");
        check_child("callback");
    }
}

static void child(void)
{
    exit(be_a_child(getenv(CHILD)));
}

static const zt_test child_only[] = {ON_BOTH(child)};

static const zt_test tests[] = {
    ON_BOTH(a_queue_that_is_busy),
    ON_BOTH(a_context_that_runs),
    ON_BOTH(tensors_that_are_in_use),
    ON_BOTH(a_model_and_events),
    ON_BOTH(everything_at_once),
    ON_BOTH(a_process_that_leaves),
};

int main(int argc, char **argv)
{
    if (getenv(CHILD) != NULL) {
        return zt_main(argc, argv, child_only, 1);
    }
    return zt_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
