#include "executor.h"

void make_executor(executor *made)
{
    memset(made, 0, sizeof *made);
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
}

void free_executor(executor *made)
{
    CHECK_EQ(made->count, 0);
    for (int i = 0; i < made->lane_count; i++) {
        CHECK(made->lanes[i].most <= 1);
    }
    pthread_cond_destroy(&made->changed);
    pthread_mutex_destroy(&made->lock);
}

static int is_refused(executor *made)
{
    if (made->refuse == 0) {
        return 0;
    }
    if (made->accept_first > 0) {
        made->accept_first--;
        return 0;
    }
    made->refuse--;
    return 1;
}

static void keep(lane *from, zb_task_fn run, void *task)
{
    executor *made = from->executor;
    entry *place = &made->tasks[(made->first + made->count) % MOST_TASKS];
    REQUIRE(made->count < MOST_TASKS);
    made->run = run;
    made->count++;
    made->submitted++;
    place->lane = from;
    place->task = task;
    if (++from->outstanding > from->most) {
        from->most = from->outstanding;
    }
    pthread_cond_broadcast(&made->changed);
}

static int32_t submit(void *user_data, zb_task_fn run, void *task)
{
    lane *from = user_data;
    executor *made = from->executor;
    if (made->inside != NULL) {
        made->inside(made);
    }
    pthread_mutex_lock(&made->lock);
    int refused = is_refused(made);
    if (!refused) {
        keep(from, run, task);
    }
    pthread_mutex_unlock(&made->lock);
    return refused ? 7 : 0;
}

zb_queue *queue_on(executor *made, uint32_t capacity)
{
    zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
    zb_queue *queue = NULL;
    REQUIRE(made->lane_count < MOST_QUEUES);
    made->lanes[made->lane_count].executor = made;
    options.capacity = capacity;
    options.submit = submit;
    options.user_data = &made->lanes[made->lane_count++];
    REQUIRE_OK(zb_queue_create(&options, &queue));
    return queue;
}

void *take_locked(executor *made)
{
    if (made->count == 0) {
        return NULL;
    }
    entry *oldest = &made->tasks[made->first];
    made->first = (made->first + 1) % MOST_TASKS;
    made->count--;
    oldest->lane->outstanding--;
    return oldest->task;
}

void *take(executor *made)
{
    pthread_mutex_lock(&made->lock);
    void *task = take_locked(made);
    pthread_mutex_unlock(&made->lock);
    return task;
}

int step(executor *made)
{
    void *task = take(made);
    if (task != NULL) {
        made->run(task);
    }
    return task != NULL;
}

void run_all(executor *made)
{
    while (step(made)) {
    }
}

const float ones[4] = {1, 1, 1, 1};

void make_memory(memory *made)
{
    zb_tensor_desc desc = F32(4);
    memset(made, 0, sizeof *made);
    made->buffer = zt_buffer_new(BYTES);
    REQUIRE_OK(zb_tensor_wrap(&desc, made->buffer.data, BYTES, 0, zt_count_release, &made->releases, &made->tensor));
}

void free_memory(memory *made)
{
    CHECK_OK(zb_tensor_destroy(made->tensor));
    REQUIRE(zt_release_count(&made->releases) == 1);
    FREE_BUFFER(&made->buffer);
}

zb_event *write_ones(zb_queue *queue, memory *made)
{
    zb_event *event = NULL;
    REQUIRE_OK(zb_queue_write(queue, made->tensor, 0, ones, BYTES, &event));
    return event;
}
