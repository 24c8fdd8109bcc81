/*
 * The log callback: what arrives, at which level, what may be called inside, and that a replaced one is over. The lines that
 * a test orders come from the mock engine, the others from the engine of the arguments.
 */
#include "mock.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

enum { MOST_LINES = 64 };

/* The lines that came, for one callback. */
typedef struct lines {
    pthread_mutex_t lock;
    int count;
    int32_t levels[MOST_LINES];
    char texts[MOST_LINES][512];
} lines;

static void clear(lines *kept)
{
    memset(kept, 0, sizeof *kept);
    pthread_mutex_init(&kept->lock, NULL);
}

static void keep(void *user_data, int32_t level, const char *text)
{
    lines *kept = user_data;
    pthread_mutex_lock(&kept->lock);
    if (kept->count < MOST_LINES) {
        kept->levels[kept->count] = level;
        snprintf(kept->texts[kept->count], sizeof kept->texts[0], "%s", text);
        kept->count++;
    }
    pthread_mutex_unlock(&kept->lock);
}

static int has_line(const lines *kept, int32_t level, const char *part)
{
    for (int i = 0; i < kept->count; i++) {
        if (kept->levels[i] == level && strstr(kept->texts[i], part) != NULL) {
            return 1;
        }
    }
    return 0;
}

static void stop_logging(void)
{
    REQUIRE_OK(zb_set_log_callback(NULL, NULL, ZB_LOG_ERROR));
}

/* A run that logs these lines. */
static void log_lines(const char *rules)
{
    char text[512];
    snprintf(text, sizeof text, "output z f32 1\n%s\n", rules);
    zb_model *model = mock_open(text);
    zb_context *context = zt_context(model);
    REQUIRE_OK(zb_infer(context, NULL));
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static const char all_levels[] = "run log error e 1\nrun log warn w 2\nrun log info i 3\nrun log debug d 4";

/* Has to be the first test: the engine is loaded once. */
static void loading_is_told(void)
{
    static lines kept;
    const char *variable = zt_is_tflite() ? "ZEROBIND_TFLITE_LIB" : "ZEROBIND_ONNXRUNTIME_LIB";
    clear(&kept);
    REQUIRE_OK(zb_set_log_callback(keep, &kept, ZB_LOG_DEBUG));
    zb_model_destroy(zt_open("add4"));
    stop_logging();
    CHECK(has_line(&kept, ZB_LOG_INFO, getenv(variable)));
}

static void levels(void)
{
    static const char *const texts[4] = {"e 1", "w 2", "i 3", "d 4"};
    for (int32_t least = ZB_LOG_ERROR; least <= ZB_LOG_DEBUG; least++) {
        static lines kept;
        clear(&kept);
        REQUIRE_OK(zb_set_log_callback(keep, &kept, least));
        log_lines(all_levels);
        stop_logging();
        CHECK_EQ(kept.count, least);
        for (int i = 0; i < least; i++) {
            CHECK_EQ(kept.levels[i], i + 1);
            CHECK(strcmp(kept.texts[i], texts[i]) == 0);
        }
    }
}

static void without_a_callback_lines_are_dropped(void)
{
    static lines kept;
    clear(&kept);
    REQUIRE_OK(zb_set_log_callback(keep, &kept, ZB_LOG_DEBUG));
    stop_logging();
    log_lines(all_levels);
    CHECK_EQ(kept.count, 0);
    stop_logging();
}

static void the_last_callback_gets_the_lines(void)
{
    static lines first, second;
    clear(&first);
    clear(&second);
    REQUIRE_OK(zb_set_log_callback(keep, &first, ZB_LOG_DEBUG));
    REQUIRE_OK(zb_set_log_callback(keep, &second, ZB_LOG_ERROR));
    log_lines(all_levels);
    /* a refused call leaves the old one in place */
    CHECK_STATUS(zb_set_log_callback(keep, &first, 9), ZB_ERROR_INVALID_ARGUMENT);
    log_lines(all_levels);
    stop_logging();
    CHECK_EQ(first.count, 0);
    CHECK_EQ(second.count, 2);
}

/* --- inside the callback --- */

typedef struct inside {
    zb_model *model;
    zb_context *context;
    zb_tensor *tensor;
    zb_queue *queue;
    zb_event *event;
    int calls;
} inside;

static int32_t take_no_task(void *user_data, zb_task_fn run, void *task)
{
    (void)user_data;
    (void)run;
    (void)task;
    return 1;
}

static void never_called(void *user_data, zb_event *event, zb_status result)
{
    (void)event;
    (void)result;
    *(int *)user_data += 1;
}

static void call_everything_of_queues(const inside *found)
{
    float value = 0;
    char text[16];
    int fd = 77, completed = 0;
    size_t size = 77;
    zb_status result = 77;
    zb_queue *queue = NULL;
    zb_event *event = NULL;
    zb_tensor_desc desc = F32(1);
    zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
    options.submit = take_no_task;
    CHECK_EQ(zb_queue_options_init(&options, sizeof options), ZB_ERROR_BUSY);
    CHECK_EQ(zb_queue_create(&options, &queue), ZB_ERROR_BUSY);
    CHECK_EQ(zb_queue_infer(found->queue, found->context, NULL, &event), ZB_ERROR_BUSY);
    CHECK_EQ(zb_queue_infer_with(found->queue, found->context, NULL, 0, NULL, &event), ZB_ERROR_BUSY);
    CHECK_EQ(zb_queue_write(found->queue, found->tensor, 0, &value, sizeof value, &event), ZB_ERROR_BUSY);
    CHECK_EQ(zb_queue_read(found->queue, found->tensor, 0, &value, sizeof value, &event), ZB_ERROR_BUSY);
    CHECK_EQ(zb_queue_fence(found->queue, &event), ZB_ERROR_BUSY);
    CHECK_EQ(zb_queue_wait_event(found->queue, found->event), ZB_ERROR_BUSY);
    CHECK_EQ(zb_queue_finish(found->queue, 0), ZB_ERROR_BUSY);
    CHECK_EQ(zb_event_wait(found->event, 0, &result), ZB_ERROR_BUSY);
    CHECK_EQ(zb_event_on_complete(found->event, never_called, &completed), ZB_ERROR_BUSY);
    CHECK_EQ(zb_event_get_error(found->event, text, sizeof text, &size), ZB_ERROR_BUSY);
    CHECK_EQ(zb_event_get_slot_desc(found->event, ZB_OUTPUT(0), &desc, NULL), ZB_ERROR_BUSY);
    CHECK_EQ(zb_event_get_fd(found->event, &fd), ZB_ERROR_BUSY);
    CHECK_EQ(zb_event_cancel(found->event), ZB_ERROR_BUSY);
    CHECK_EQ(zb_tensor_sync(found->tensor, ZB_SYNC_TO_HOST, 0), ZB_ERROR_BUSY);
    CHECK_EQ(zb_event_destroy(found->event), ZB_ERROR_BUSY);
    CHECK_EQ(zb_queue_destroy(found->queue), ZB_ERROR_BUSY);
    CHECK(queue == NULL && event == NULL && fd == 77 && result == 77 && completed == 0);
}

static void call_everything(void *user_data, int32_t level, const char *text)
{
    inside *found = user_data;
    const int64_t dims[1] = {1};
    char error[16];
    size_t size = 77;
    uint32_t count = 77;
    zb_slot slot = 77;
    const void *view = NULL;
    zb_model *model = NULL;
    zb_context *context = NULL;
    zb_tensor *tensor = NULL;
    zb_tensor_desc desc = F32(1);
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    zb_runtime_info runtime = ZB_RUNTIME_INFO_INIT;
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
    (void)level;
    (void)text;
    found->calls++;
    /* what returns no status may be called */
    CHECK(zb_version() == ZB_HEADER_VERSION);
    CHECK(zb_version_string()[0] != '\0');
    CHECK(strcmp(zb_status_name(ZB_ERROR_BUSY), "ZB_ERROR_BUSY") == 0);
    CHECK(strcmp(zb_dtype_name(ZB_DTYPE_F32), "f32") == 0);
    CHECK(zb_dtype_bits(ZB_DTYPE_F32) == 32);
    CHECK_EQ(zb_live_objects(ZB_KIND_CONTEXT), 1);
    /* all else is BUSY, destroy too */
    CHECK_EQ(zb_last_error(error, sizeof error, &size), ZB_ERROR_BUSY);
    CHECK_EQ(zb_set_log_callback(NULL, NULL, ZB_LOG_ERROR), ZB_ERROR_BUSY);
    CHECK_EQ(zb_tensor_desc_size(&desc, &size), ZB_ERROR_BUSY);
    CHECK_EQ(zb_runtime_load(zt_engine(), NULL), ZB_ERROR_BUSY);
    CHECK_EQ(zb_runtime_get_info(zt_engine(), &runtime), ZB_ERROR_BUSY);
    CHECK_EQ(zb_context_options_init(&options, sizeof options), ZB_ERROR_BUSY);
    CHECK_EQ(zb_model_open("/no/such/file", NULL, &model), ZB_ERROR_BUSY);
    CHECK_EQ(zb_model_open_bytes_copy("x", 1, NULL, &model), ZB_ERROR_BUSY);
    CHECK_EQ(zb_model_get_slot_counts(found->model, &count, NULL), ZB_ERROR_BUSY);
    CHECK_EQ(zb_model_get_slot_info(found->model, ZB_OUTPUT(0), &info), ZB_ERROR_BUSY);
    CHECK_EQ(zb_model_find_output(found->model, "z", &slot), ZB_ERROR_BUSY);
    CHECK_EQ(zb_context_create(found->model, NULL, &context), ZB_ERROR_BUSY);
    CHECK_EQ(zb_context_resize_input(found->context, ZB_INPUT(0), dims, 1), ZB_ERROR_BUSY);
    CHECK_EQ(zb_context_prepare(found->context), ZB_ERROR_BUSY);
    CHECK_EQ(zb_context_get_stats(found->context, &stats), ZB_ERROR_BUSY);
    CHECK_EQ(zb_context_output_view(found->context, ZB_OUTPUT(0), &view, NULL, NULL), ZB_ERROR_BUSY);
    CHECK_EQ(zb_infer(found->context, NULL), ZB_ERROR_BUSY);
    CHECK_EQ(zb_infer_with(found->context, NULL, 0, NULL), ZB_ERROR_BUSY);
    CHECK_EQ(zb_tensor_alloc(&desc, 0, &tensor), ZB_ERROR_BUSY);
    CHECK_EQ(zb_tensor_get_desc(found->tensor, &desc), ZB_ERROR_BUSY);
    CHECK_EQ(zb_tensor_bind(found->tensor, found->context, ZB_OUTPUT(0)), ZB_ERROR_BUSY);
    CHECK_EQ(zb_tensor_destroy(found->tensor), ZB_ERROR_BUSY);
    CHECK_EQ(zb_context_destroy(found->context), ZB_ERROR_BUSY);
    CHECK_EQ(zb_model_destroy(found->model), ZB_ERROR_BUSY);
    call_everything_of_queues(found);
    CHECK(count == 77 && slot == 77 && view == NULL && model == NULL && context == NULL && tensor == NULL);
}

static void what_may_be_called_inside(void)
{
    zb_tensor_desc desc = F32(1);
    inside found;
    memset(&found, 0, sizeof found);
    found.model = mock_open("output z f32 1\nrun log warn now\n");
    found.context = zt_context(found.model);
    REQUIRE_OK(zb_tensor_alloc(&desc, 0, &found.tensor));
    REQUIRE_OK(zb_queue_create(NULL, &found.queue));
    REQUIRE_OK(zb_queue_fence(found.queue, &found.event));
    REQUIRE_OK(zb_set_log_callback(call_everything, &found, ZB_LOG_DEBUG));
    CHECK_OK(zb_infer(found.context, NULL));
    CHECK_EQ(found.calls, 1);
    /* on the thread of a queue too */
    zb_event *run = NULL;
    zb_status result = 77;
    REQUIRE_OK(zb_queue_infer(found.queue, found.context, NULL, &run));
    CHECK_OK(zb_event_wait(run, UINT64_MAX, &result));
    CHECK_EQ(result, ZB_OK);
    CHECK_OK(zb_event_destroy(run));
    stop_logging();
    CHECK_EQ(found.calls, 2);
    /* and outside of it, all of it works again */
    CHECK_OK(zb_infer(found.context, NULL));
    CHECK_OK(zb_event_wait(found.event, UINT64_MAX, &result));
    CHECK_OK(zb_event_destroy(found.event));
    CHECK_OK(zb_queue_destroy(found.queue));
    CHECK_OK(zb_tensor_destroy(found.tensor));
    CHECK_OK(zb_context_destroy(found.context));
    CHECK_OK(zb_model_destroy(found.model));
}

/* --- replacing a callback that another thread is in --- */

typedef struct slow {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int is_inside;
    int may_leave;
    int has_left;
} slow;

static void stay_inside(void *user_data, int32_t level, const char *text)
{
    slow *state = user_data;
    (void)level;
    (void)text;
    pthread_mutex_lock(&state->lock);
    state->is_inside = 1;
    pthread_cond_broadcast(&state->changed);
    while (!state->may_leave) {
        pthread_cond_wait(&state->changed, &state->lock);
    }
    state->has_left = 1;
    pthread_mutex_unlock(&state->lock);
}

static void *log_one_line(void *nothing)
{
    (void)nothing;
    log_lines("run log error slowly");
    return NULL;
}

static void *let_it_leave(void *argument)
{
    /* long enough for a set that does not wait to return too early */
    const struct timespec pause = {0, 100000000};
    slow *state = argument;
    nanosleep(&pause, NULL);
    pthread_mutex_lock(&state->lock);
    state->may_leave = 1;
    pthread_cond_broadcast(&state->changed);
    pthread_mutex_unlock(&state->lock);
    return NULL;
}

static void a_replaced_callback_is_over(void)
{
    pthread_t logs, releases;
    slow state;
    memset(&state, 0, sizeof state);
    pthread_mutex_init(&state.lock, NULL);
    pthread_cond_init(&state.changed, NULL);
    REQUIRE_OK(zb_set_log_callback(stay_inside, &state, ZB_LOG_DEBUG));
    REQUIRE(pthread_create(&logs, NULL, log_one_line, NULL) == 0);
    pthread_mutex_lock(&state.lock);
    while (!state.is_inside) {
        pthread_cond_wait(&state.changed, &state.lock);
    }
    pthread_mutex_unlock(&state.lock);
    REQUIRE(pthread_create(&releases, NULL, let_it_leave, &state) == 0);
    stop_logging();
    pthread_mutex_lock(&state.lock);
    CHECK(state.has_left);
    pthread_mutex_unlock(&state.lock);
    pthread_join(releases, NULL);
    pthread_join(logs, NULL);
}

/* While one thread stays in the callback, others are not BUSY: only what is called inside it is. */
static void other_threads_go_on(void)
{
    pthread_t logs;
    slow state;
    size_t size = 0;
    zb_tensor_desc desc = F32(4);
    memset(&state, 0, sizeof state);
    pthread_mutex_init(&state.lock, NULL);
    pthread_cond_init(&state.changed, NULL);
    REQUIRE_OK(zb_set_log_callback(stay_inside, &state, ZB_LOG_DEBUG));
    REQUIRE(pthread_create(&logs, NULL, log_one_line, NULL) == 0);
    pthread_mutex_lock(&state.lock);
    while (!state.is_inside) {
        pthread_cond_wait(&state.changed, &state.lock);
    }
    pthread_mutex_unlock(&state.lock);
    CHECK_OK(zb_tensor_desc_size(&desc, &size));
    zb_model *model = mock_open("output z f32 1\n");
    zb_context *context = zt_context(model);
    CHECK_OK(zb_infer(context, NULL));
    zb_context_destroy(context);
    zb_model_destroy(model);
    pthread_mutex_lock(&state.lock);
    state.may_leave = 1;
    pthread_cond_broadcast(&state.changed);
    pthread_mutex_unlock(&state.lock);
    pthread_join(logs, NULL);
    stop_logging();
}

/* Callbacks that come and go while lines arrive; each one's user data is gone right after its end. */
static void *log_many(void *argument)
{
    int *stop = argument;
    while (!__atomic_load_n(stop, __ATOMIC_ACQUIRE)) {
        log_lines(all_levels);
    }
    return NULL;
}

static int line_count(lines *kept)
{
    pthread_mutex_lock(&kept->lock);
    int count = kept->count;
    pthread_mutex_unlock(&kept->lock);
    return count;
}

static void callbacks_come_and_go(void)
{
    pthread_t threads[2];
    int stop = 0, rounds = zt_rounds(500, 20);
    for (int i = 0; i < 2; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, log_many, &stop) == 0);
    }
    for (int i = 0; i < rounds; i++) {
        lines *kept = malloc(sizeof *kept);
        REQUIRE(kept != NULL);
        clear(kept);
        REQUIRE_OK(zb_set_log_callback(keep, kept, ZB_LOG_DEBUG));
        /* some are over at once, some in the midst of lines */
        while (i % 4 == 0 && line_count(kept) == 0) {
            sched_yield();
        }
        stop_logging();
        memset(kept, 0xEE, sizeof *kept);
        free(kept);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
}

/* --- lines of the engines --- */

/* A failure that the engine has words for: an image that is smaller than the kernel. */
static void engines_are_heard(void)
{
    static lines kept;
    const int64_t dims[4] = {1, 1, 1, 1};
    zt_buffer x = zt_buffer_new(4);
    zb_loan loan = zt_lend_input(0, &x);
    zb_model *model = zt_open("conv_dyn");
    zb_context *context = zt_context(model);
    clear(&kept);
    REQUIRE_OK(zb_set_log_callback(keep, &kept, ZB_LOG_DEBUG));
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), dims, 4));
    zb_status status = zb_infer_with(context, &loan, 1, NULL);
    stop_logging();
    CHECK(status != ZB_OK);
    CHECK(kept.count > 0);
    for (int i = 0; i < kept.count; i++) {
        CHECK(kept.levels[i] >= ZB_LOG_ERROR && kept.levels[i] <= ZB_LOG_DEBUG);
        CHECK(kept.texts[i][0] != '\0');
    }
    /* TFLite does not say how grave its lines are */
    CHECK(has_line(&kept, zt_is_tflite() ? ZB_LOG_WARN : ZB_LOG_ERROR, zt_is_tflite() ? "CONV_2D" : "Conv"));
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
}

static const zt_test tests[] = {
    ON_BOTH(loading_is_told),
    ON_BOTH(levels),
    ON_BOTH(without_a_callback_lines_are_dropped),
    ON_BOTH(the_last_callback_gets_the_lines),
    ON_BOTH(what_may_be_called_inside),
    ON_BOTH(a_replaced_callback_is_over),
    ON_BOTH(other_threads_go_on),
    ON_BOTH(callbacks_come_and_go),
    ON_BOTH(engines_are_heard),
};

ZT_MAIN(tests)
