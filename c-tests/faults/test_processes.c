/*
 * Processes that fork with everything running, and processes that end so: runs on queues, an executor that never runs its
 * tasks, events with callbacks and descriptors, the thread that watches deadlines, a log callback, loans of a thread in the
 * middle of a run. The program starts itself again for each way to end.
 */
#include "../harness.h"

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CODE = 7, SECONDS = 60 };

/* --- everything at once --- */

typedef struct everything {
    zb_model *model;
    zb_context *queued, *direct, *waiting;
    zb_queue *queue, *never;
    zb_event *event, *last;
    zb_tensor *tensor;
    pthread_t thread;
    int descriptor;
} everything;

static volatile int is_running;

static void ignore_line(void *user_data, int32_t level, const char *text)
{
    (void)user_data;
    (void)level;
    (void)text;
}

static int32_t take(void *user_data, zb_task_fn run, void *task)
{
    (void)user_data;
    (void)run;
    (void)task;
    return 0;
}

static void ignore_end(void *user_data, zb_event *event, zb_status result)
{
    (void)user_data;
    (void)event;
    (void)result;
}

static void never_called(void *user_data, void *data, size_t size)
{
    (void)user_data;
    (void)data;
    (void)size;
    /* a release does not come at the end of a process */
    _exit(96);
}

static void *lend_for_good(void *context)
{
    static float memory[3][256 + 16] __attribute__((aligned(64)));
    zb_loan loans[3];
    loans[0] = zb_loan_input(ZB_INPUT(0), memory[0], 1024, sizeof memory[0], NULL);
    loans[1] = zb_loan_input(ZB_INPUT(1), memory[1], 1024, sizeof memory[1], NULL);
    loans[2] = zb_loan_output(ZB_OUTPUT(0), memory[2], 1024, NULL);
    while (zb_infer_with(context, loans, 3, NULL) == ZB_OK) {
        is_running = 1;
    }
    /* the process ends: ONNX Runtime's destructors have taken away what the run needs */
    for (;;) {
        pause();
    }
    return NULL;
}

static void bind_to(zb_context *context, zb_tensor *tensor, zb_tensor *result)
{
    REQUIRE_OK(zb_tensor_bind(tensor, context, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_bind(tensor, context, ZB_INPUT(1)));
    REQUIRE_OK(zb_tensor_bind(result, context, ZB_OUTPUT(0)));
}

static void start_everything(everything *all)
{
    static float memory[256 + 16] __attribute__((aligned(64)));
    const zb_tensor_desc desc = F32(256);
    zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
    zb_infer_options deadline = ZB_INFER_OPTIONS_INIT;
    zb_tensor *result = NULL;
    REQUIRE_OK(zb_set_log_callback(ignore_line, NULL, ZB_LOG_DEBUG));
    all->model = zt_open("add256");
    all->queued = zt_context(all->model);
    all->direct = zt_context(all->model);
    all->waiting = zt_context(all->model);
    REQUIRE_OK(zb_tensor_wrap(&desc, memory, 1024, sizeof memory, never_called, NULL, &all->tensor));
    REQUIRE_OK(zb_tensor_alloc(&desc, 64, &result));
    bind_to(all->queued, all->tensor, result);
    bind_to(all->waiting, all->tensor, result);
    options.capacity = 1 << 20;
    REQUIRE_OK(zb_queue_create(&options, &all->queue));
    options.submit = take;
    REQUIRE_OK(zb_queue_create(&options, &all->never));
    /* far away: only the thread that watches is to be there */
    deadline.deadline_ns = 3600ull * 1000000000u;
    for (int i = 0; i < zt_rounds(100000, 300); i++) {
        REQUIRE_OK(zb_queue_infer(all->queue, all->queued, NULL, NULL));
    }
    REQUIRE_OK(zb_queue_infer(all->queue, all->queued, &deadline, &all->last));
    REQUIRE_OK(zb_queue_infer(all->never, all->waiting, &deadline, &all->event));
    REQUIRE_OK(zb_event_on_complete(all->last, ignore_end, NULL));
    REQUIRE_OK(zb_event_get_fd(all->event, &all->descriptor));
    REQUIRE_OK(zb_tensor_destroy(result));
    REQUIRE(pthread_create(&all->thread, NULL, lend_for_good, all->direct) == 0);
    while (!is_running) {
        const struct timespec pause = {0, 100000};
        nanosleep(&pause, NULL);
    }
}

/* --- ways to end --- */

static void *exit_from_here(void *unused)
{
    (void)unused;
    exit(zt_under_memcheck() ? 0 : CODE);
}

static int end(const char *way)
{
    everything all;
    alarm(zt_under_memcheck() ? 10 * SECONDS : SECONDS);
    start_everything(&all);
    /* under memcheck the status is that of the checker */
    const int code = zt_under_memcheck() ? 0 : CODE;
    if (strcmp(way, "exit") == 0) {
        exit(code);
    } else if (strcmp(way, "quick_exit") == 0) {
        quick_exit(code);
    } else if (strcmp(way, "_Exit") == 0) {
        _Exit(code);
    } else if (strcmp(way, "elsewhere") == 0) {
        pthread_t thread;
        zb_status result;
        REQUIRE(pthread_create(&thread, NULL, exit_from_here, NULL) == 0);
        REQUIRE_OK(zb_event_wait(all.event, UINT64_MAX, &result));
        return 94;
    }
    return code;
}

/* --- a second program --- */

static int run_a_model(void)
{
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(16), z = zt_buffer_new(16);
    zt_fill_floats(&x, 1, 1);
    zb_loan loans[3] = {zt_lend_input(0, &x), zt_lend_input(1, &x), zt_lend_output(0, &z)};
    int is_right = zb_infer_with(context, loans, 3, NULL) == ZB_OK && zt_floats(&z)[3] == 8;
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&z);
    return is_right && zt_nothing_is_alive() ? CODE : 93;
}

/* A process that has not used zerobind may fork, and its child use it. */
static int fork_before_the_first_use(void)
{
    pid_t child = fork();
    int status = 0;
    if (child == 0) {
        exit(run_a_model());
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != CODE) {
        return 92;
    }
    return run_a_model();
}

static void become(const char *role, const char *way)
{
    const char *engine = zt_is_tflite() ? "tflite" : "onnxruntime";
    execl("/proc/self/exe", "faults_processes", engine, role, way, (char *)NULL);
    _exit(91);
}

static void check_ended(pid_t child, const char *how)
{
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    if (!CHECK(WIFEXITED(status) && WEXITSTATUS(status) == CODE)) {
        printf("%s: %s %d\n", how, WIFEXITED(status) ? "status" : "signal",
               WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    }
}

static void check_program(const char *role, const char *way)
{
    fflush(stdout);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        become(role, way);
    }
    check_ended(child, way);
}

static void every_way_to_end(void)
{
    static const char *const ways[] = {"return", "exit", "quick_exit", "_Exit", "elsewhere"};
    for (size_t i = 0; i < 2 * sizeof ways / sizeof *ways; i++) {
        check_program("end", ways[i / 2]);
    }
}

static void before_the_first_use(void)
{
    check_program("first", "use");
}

/* --- forks in the middle of everything --- */

/* What a child gets that calls zerobind before exec. */
static int call_from_child(const everything *all)
{
    const zb_tensor_desc desc = F32(4);
    zb_tensor *tensor = NULL;
    char text[1024];
    zb_status result;
    const int is_refused = zb_tensor_alloc(&desc, 0, &tensor) == ZB_ERROR_UNSUPPORTED
                           && zb_infer(all->direct, NULL) == ZB_ERROR_UNSUPPORTED
                           && zb_event_wait(all->last, UINT64_MAX, &result) == ZB_ERROR_UNSUPPORTED
                           && zb_queue_destroy(all->queue) == ZB_ERROR_UNSUPPORTED
                           && zb_set_log_callback(NULL, NULL, ZB_LOG_ERROR) == ZB_ERROR_UNSUPPORTED;
    const int is_told = zb_last_error(text, sizeof text, NULL) == ZB_OK && strstr(text, "forked") != NULL;
    return is_refused && is_told && zb_version() == ZB_HEADER_VERSION ? CODE : 90;
}

static void fork_with_everything(const char *what)
{
    everything all;
    zb_status result = ZB_ERROR_PANIC;
    start_everything(&all);
    for (int i = 0; i < 20; i++) {
        fflush(stdout);
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            alarm(SECONDS);
            if (strcmp(what, "exec") == 0) {
                become("run", "a model");
            }
            _exit(strcmp(what, "call") == 0 ? call_from_child(&all) : CODE);
        }
        check_ended(child, what);
        if (strcmp(what, "exec") == 0 && i == 2) {
            break;
        }
    }
    /* the parent is none the worse for it */
    CHECK_OK(zb_event_wait(all.last, UINT64_MAX, &result));
    CHECK_EQ(result, ZB_OK);
    fflush(stdout);
    _exit(zt_failures() == 0 ? CODE : 89);
}

static void forks(void)
{
    check_program("fork", "exit");
    check_program("fork", "exec");
    check_program("fork", "call");
}

int main(int argc, char **argv)
{
    static const zt_test tests[] = {ON_BOTH(every_way_to_end), ON_BOTH(before_the_first_use), ON_BOTH(forks)};
    if (argc == 4) {
        zt_choose_engine(argv[1]);
        if (strcmp(argv[2], "end") == 0) {
            return end(argv[3]);
        } else if (strcmp(argv[2], "first") == 0) {
            return fork_before_the_first_use();
        } else if (strcmp(argv[2], "run") == 0) {
            return run_a_model();
        } else if (strcmp(argv[2], "fork") == 0) {
            fork_with_everything(argv[3]);
        }
        return 88;
    }
    return zt_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
