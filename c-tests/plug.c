#include "plug.h"

#include <time.h>

uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void run_line(const char *action, const char *door)
{
    char line[64];
    zb_model *model = mock_open("output done f32 1\n");
    snprintf(line, sizeof line, "run %s %s", action, door);
    zb_context *context = mock_context(model, line);
    REQUIRE_OK(zb_infer(context, NULL));
    zb_context_destroy(context);
    zb_model_destroy(model);
}

void await_plug(const plug *made)
{
    run_line("await", made->door);
}

void open_plug(const plug *made)
{
    run_line("open", made->door);
}

void plug_queue_with(plug *made, zb_queue *queue, const char *line)
{
    static int doors;
    char text[128];
    memset(made, 0, sizeof *made);
    snprintf(made->door, sizeof made->door, "plug%d", __atomic_add_fetch(&doors, 1, __ATOMIC_RELAXED));
    snprintf(text, sizeof text, "output done f32 1\nrun wait %s\n%s", made->door, line);
    made->model = mock_open(text);
    made->context = zt_context(made->model);
    REQUIRE_OK(zb_queue_infer(queue, made->context, NULL, &made->event));
    await_plug(made);
}

void plug_queue(plug *made, zb_queue *queue)
{
    plug_queue_with(made, queue, "");
}

void free_plug(plug *made)
{
    zb_event_destroy(made->event);
    zb_context_destroy(made->context);
    zb_model_destroy(made->model);
}

void pull_plug(plug *made)
{
    open_plug(made);
    CHECK_EQ(ending(made->event), ZB_OK);
    free_plug(made);
}

zb_queue *new_queue(void)
{
    zb_queue *queue = NULL;
    REQUIRE_OK(zb_queue_create(NULL, &queue));
    return queue;
}

zb_status ending(zb_event *event)
{
    zb_status result = -1;
    REQUIRE_OK(zb_event_wait(event, FOREVER, &result));
    return result;
}

zb_status last_ending(zb_event *event)
{
    zb_status result = ending(event);
    CHECK_OK(zb_event_destroy(event));
    return result;
}

static const float sums[4] = {11, 22, 33, 44};

void make_sum(sum *made, const char *line)
{
    char text[256];
    zb_tensor_desc desc = F32(4);
    zt_buffer *const buffers[3] = {&made->x, &made->y, &made->z};
    const zb_slot slots[3] = {ZB_INPUT(0), ZB_INPUT(1), ZB_OUTPUT(0)};
    memset(made, 0, sizeof *made);
    snprintf(text, sizeof text, "%s%s\n", MOCK_ADD4, line == NULL ? "" : line);
    made->model = mock_open(text);
    made->context = zt_context(made->model);
    for (int i = 0; i < 3; i++) {
        *buffers[i] = zt_buffer_new(16);
        made->tensors[i] = zt_wrap(&desc, buffers[i]);
        REQUIRE_OK(zb_tensor_bind(made->tensors[i], made->context, slots[i]));
    }
    zt_fill_floats(&made->x, 1, 1);
    zt_fill_floats(&made->y, 10, 10);
}

int sum_is_there(const sum *made)
{
    return memcmp(made->z.data, sums, sizeof sums) == 0;
}

void forget_sum(sum *made)
{
    memset(made->z.data, 0xCD, made->z.size);
}

void free_sum(sum *made)
{
    for (int i = 0; i < 3; i++) {
        CHECK_OK(zb_tensor_destroy(made->tensors[i]));
    }
    CHECK_OK(zb_context_destroy(made->context));
    CHECK_OK(zb_model_destroy(made->model));
    FREE_BUFFER(&made->x);
    FREE_BUFFER(&made->y);
    FREE_BUFFER(&made->z);
}
