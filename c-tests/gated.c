#include "gated.h"

#include <dirent.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t told = PTHREAD_COND_INITIALIZER;

void zt_watchdog(unsigned seconds)
{
    alarm(zt_under_memcheck() ? seconds * 12 : seconds);
}

/* --- gates --- */

static void run_line(const char *verb, const char *gate)
{
    char line[64];
    zb_model *model = mock_open("output done f32 1\n");
    snprintf(line, sizeof line, "run %s %s", verb, gate);
    zb_context *context = mock_context(model, line);
    REQUIRE_OK(zb_infer(context, NULL));
    zb_context_destroy(context);
    zb_model_destroy(model);
}

void gate_await(const char *gate)
{
    run_line("await", gate);
}

void gate_open(const char *gate)
{
    run_line("open", gate);
}

/* --- contexts --- */

static void bind_own(zb_context *context, zb_slot slot)
{
    zb_tensor *tensor = NULL;
    zb_tensor_desc desc = F32(4);
    REQUIRE_OK(zb_tensor_alloc(&desc, 0, &tensor));
    REQUIRE_OK(zb_tensor_bind(tensor, context, slot));
    zb_tensor_destroy(tensor);
}

void gated_make(gated *made, const char *gate)
{
    char line[64];
    memset(made, 0, sizeof *made);
    made->gate = gate;
    snprintf(line, sizeof line, "run wait %s", gate);
    zb_model *model = mock_open("input x f32 4\noutput y f32 4\n");
    made->context = mock_context(model, line);
    zb_model_destroy(model);
    bind_own(made->context, ZB_INPUT(0));
    bind_own(made->context, ZB_OUTPUT(0));
}

void gated_free(gated *made)
{
    CHECK_OK(zb_context_destroy(made->context));
}

void gated_block(gated *made, zb_queue *queue)
{
    REQUIRE_OK(zb_queue_infer(queue, made->context, NULL, &made->event));
    gate_await(made->gate);
}

zb_status gated_let_go(gated *made)
{
    gate_open(made->gate);
    return zt_end_of(made->event);
}

static void *infer(void *argument)
{
    gated *made = argument;
    made->status = zb_infer(made->context, NULL);
    return NULL;
}

void gated_run(gated *made)
{
    REQUIRE(pthread_create(&made->thread, NULL, infer, made) == 0);
    gate_await(made->gate);
}

zb_status gated_end_run(gated *made)
{
    gate_open(made->gate);
    REQUIRE(pthread_join(made->thread, NULL) == 0);
    return made->status;
}

/* --- witnesses --- */

static void on_end(void *user_data, zb_event *event, zb_status result)
{
    witness *watched = user_data;
    if (watched->act != NULL) {
        watched->act(watched->user_data, result);
    }
    pthread_mutex_lock(&lock);
    watched->count++;
    watched->result = result;
    CHECK_ADDRESS(event, watched->event);
    pthread_cond_broadcast(&told);
    pthread_mutex_unlock(&lock);
}

void witness_watch(witness *watched, zb_event *event)
{
    watched->count = 0;
    watched->result = -1;
    watched->event = event;
    REQUIRE_OK(zb_event_on_complete(event, on_end, watched));
}

zb_status witness_wait(witness *watched)
{
    pthread_mutex_lock(&lock);
    while (watched->count == 0) {
        pthread_cond_wait(&told, &lock);
    }
    zb_status result = watched->result;
    pthread_mutex_unlock(&lock);
    return result;
}

int witness_count(witness *watched)
{
    pthread_mutex_lock(&lock);
    int count = watched->count;
    pthread_mutex_unlock(&lock);
    return count;
}

void zt_check_settled(zb_event *event, zb_status expected, const char *file, int line)
{
    zb_status result = -1;
    if (zt_check_status(zb_event_wait(event, 0, &result), ZB_OK, file, line, "zb_event_wait(event, 0, &result)")) {
        zt_check_status(result, expected, file, line, "the operation");
    }
}

void zt_check_pending(zb_event *event, const char *file, int line)
{
    zb_status result = -1;
    zt_check_status(zb_event_wait(event, 0, &result), ZB_ERROR_TIMEOUT, file, line, "zb_event_wait(event, 0, &result)");
    zt_check_equal(result, -1, file, line, "result is not written");
}

zb_status zt_end_of(zb_event *event)
{
    zb_status result = -1;
    REQUIRE_OK(zb_event_wait(event, UINT64_MAX, &result));
    CHECK_OK(zb_event_destroy(event));
    return result;
}

zb_queue *zt_queue(void)
{
    zb_queue *queue = NULL;
    REQUIRE_OK(zb_queue_create(NULL, &queue));
    return queue;
}

/* --- what is there --- */

int zt_threads(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    REQUIRE(folder != NULL);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        count += entry->d_name[0] != '.';
    }
    closedir(folder);
    return count;
}

int zt_threads_soon(int count)
{
    for (int i = 0; i < 2000 && zt_threads() != count; i++) {
        usleep(1000);
    }
    return zt_threads() == count;
}

int zt_live_soon(int32_t kind, uint64_t count)
{
    for (int i = 0; i < 2000 && zb_live_objects(kind) != count; i++) {
        usleep(1000);
    }
    return zb_live_objects(kind) == count;
}
