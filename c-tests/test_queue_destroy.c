/*
 * What is destroyed while a queue has work for it: each operation ends once and as it should, nothing is written for it
 * afterwards, memory is given back once. On the mock, whose gates say what happens when.
 */
#include "gated.h"

#include <unistd.h>

#define BYTES 16u
#define SCRIBBLE 0x5A

typedef enum victim { TENSOR, CONTEXT, QUEUE, MODEL, EVENT, EVERYTHING, VICTIMS = EVERYTHING } victim;
typedef enum work { WRITE, INFER, READ, WORKS } work;
typedef enum stage { QUEUED, RUNNING, STAGES } stage;

static const char *const victim_names[] = {"tensor", "context", "queue", "model", "event", "everything"};
static const char *const work_names[] = {"write", "inference", "read"};
static const char *const stage_names[] = {"queued", "running"};

/* How the operation ends if that is destroyed. */
static const zb_status wanted[STAGES][VICTIMS][WORKS] = {
    {
        {ZB_OK, ZB_OK, ZB_ERROR_DESTROYED},
        {ZB_OK, ZB_ERROR_DESTROYED, ZB_OK},
        {ZB_ERROR_DESTROYED, ZB_ERROR_DESTROYED, ZB_ERROR_DESTROYED},
        {ZB_OK, ZB_OK, ZB_OK},
        {ZB_OK, ZB_OK, ZB_OK},
    },
    {
        {ZB_OK, ZB_OK, ZB_OK},
        {ZB_OK, ZB_ERROR_CANCELLED, ZB_OK},
        {ZB_ERROR_CANCELLED, ZB_ERROR_CANCELLED, ZB_ERROR_CANCELLED},
        {ZB_OK, ZB_OK, ZB_OK},
        {ZB_OK, ZB_OK, ZB_OK},
    },
};

/* --- a model, a context, a queue, y = x, and one operation among them --- */

typedef struct scene {
    work work;
    zb_model *model;
    zb_context *context;
    zb_queue *queue;
    zb_tensor *x, *y;
    zb_event *event;
    /* y holds 9s at first, and the destination what a new buffer has */
    zt_buffer x_memory, y_memory, destination;
    void *text;
    zt_releases x_released, y_released, text_released;
    witness witness;
    /* the bytes of what the operation writes, before it, and as it should leave them */
    unsigned char before[BYTES], after[BYTES];
} scene;

static const float at_first[4] = {1, 2, 3, 4};
static const float written[4] = {5, 6, 7, 8};

static zt_buffer *target(scene *made)
{
    return made->work == WRITE ? &made->x_memory : made->work == INFER ? &made->y_memory : &made->destination;
}

static void open_text(scene *made, const char *text)
{
    size_t size = strlen(text);
    REQUIRE(posix_memalign(&made->text, 64, size) == 0);
    memcpy(made->text, text, size);
    REQUIRE_OK(zb_model_open_bytes(made->text, size, zt_count_release, &made->text_released, NULL, &made->model));
}

static zb_tensor *wrap(zt_buffer *memory, zt_releases *releases)
{
    zb_tensor_desc desc = F32(4);
    zb_tensor *tensor = NULL;
    REQUIRE_OK(zb_tensor_wrap(&desc, memory->data, BYTES, memory->capacity, zt_count_release, releases, &tensor));
    return tensor;
}

static void make_scene(scene *made, work kind, const char *line)
{
    memset(made, 0, sizeof *made);
    made->work = kind;
    open_text(made, "zerobind-mock 1\ninput x f32 4\noutput y f32 4\n");
    made->context = line == NULL ? zt_context(made->model) : mock_context(made->model, line);
    made->queue = zt_queue();
    made->x_memory = zt_buffer_new(BYTES);
    made->y_memory = zt_buffer_new(BYTES);
    made->destination = zt_buffer_new(BYTES);
    memcpy(made->x_memory.data, at_first, BYTES);
    zt_fill_floats(&made->y_memory, 9, 0);
    made->x = wrap(&made->x_memory, &made->x_released);
    made->y = wrap(&made->y_memory, &made->y_released);
}

/* Runs where the operation's end is told: its bytes are there or were not touched; from here on they are the host's. */
static void look_and_scribble(void *user_data, zb_status result)
{
    scene *made = user_data;
    CHECK_BYTES(target(made)->data, result == ZB_OK ? made->after : made->before, BYTES);
    if (made->event != NULL) {
        CHECK_SETTLED(made->event, result);
    }
    memset(target(made)->data, SCRIBBLE, BYTES);
}

/* An inference holds its tensors by itself: they are bound while it is put into the queue, and no longer. */
static void infer_bound(scene *made)
{
    REQUIRE_OK(zb_tensor_bind(made->x, made->context, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_bind(made->y, made->context, ZB_OUTPUT(0)));
    REQUIRE_OK(zb_queue_infer(made->queue, made->context, NULL, &made->event));
    REQUIRE_OK(zb_context_unbind(made->context, ZB_INPUT(0)));
    REQUIRE_OK(zb_context_unbind(made->context, ZB_OUTPUT(0)));
}

/* `result` is what the operation writes if it is done. */
static void enqueue(scene *made, const float *result)
{
    /* from the call on, the memory may be the operation's */
    memcpy(made->before, target(made)->data, BYTES);
    if (made->work == WRITE) {
        REQUIRE_OK(zb_queue_write(made->queue, made->x, 0, written, BYTES, &made->event));
    } else if (made->work == INFER) {
        infer_bound(made);
    } else {
        REQUIRE_OK(zb_queue_read(made->queue, made->y, 0, made->destination.data, BYTES, &made->event));
    }
    memcpy(made->after, result, BYTES);
}

/* Destroys a handle twice, if it is there. */
#define DESTROY_TWICE(function, handle)                             \
    do {                                                            \
        if ((handle) != NULL) {                                     \
            CHECK_OK(function(handle));                             \
            CHECK_STATUS(function(handle), ZB_ERROR_INVALID_HANDLE); \
            (handle) = NULL;                                        \
        }                                                           \
    } while (0)

static void destroy(scene *made, victim what)
{
    int all = what == EVERYTHING;
    if (all || what == TENSOR) {
        /* of an inference both */
        if (all || made->work != READ) {
            DESTROY_TWICE(zb_tensor_destroy, made->x);
        }
        if (all || made->work != WRITE) {
            DESTROY_TWICE(zb_tensor_destroy, made->y);
        }
    }
    if (all || what == CONTEXT) {
        DESTROY_TWICE(zb_context_destroy, made->context);
    }
    if (all || what == QUEUE) {
        DESTROY_TWICE(zb_queue_destroy, made->queue);
    }
    if (all || what == MODEL) {
        DESTROY_TWICE(zb_model_destroy, made->model);
    }
    if (all || what == EVENT) {
        DESTROY_TWICE(zb_event_destroy, made->event);
    }
}

static void end_scene(scene *made)
{
    destroy(made, EVERYTHING);
    REQUIRE(zt_soon_nothing_is_alive());
    CHECK_EQ(zt_release_count(&made->x_released), 1);
    CHECK_EQ(zt_release_count(&made->y_released), 1);
    CHECK_EQ(zt_release_count(&made->text_released), 1);
    CHECK_ADDRESS(made->x_released.data, made->x_memory.data);
    CHECK_ADDRESS(made->y_released.data, made->y_memory.data);
    if (witness_count(&made->witness) > 0) {
        /* nothing was written since */
        unsigned char scribbled[BYTES];
        memset(scribbled, SCRIBBLE, BYTES);
        CHECK_EQ(witness_count(&made->witness), 1);
        CHECK_BYTES(target(made)->data, scribbled, BYTES);
    }
    FREE_BUFFER(&made->x_memory);
    FREE_BUFFER(&made->y_memory);
    FREE_BUFFER(&made->destination);
    free(made->text);
}

static void watch(scene *made)
{
    made->witness.act = look_and_scribble;
    made->witness.user_data = made;
    witness_watch(&made->witness, made->event);
}

/* --- the table --- */

/* Right after something was destroyed while the operation had not started. */
static void check_at_once(scene *made, victim what, zb_status expected)
{
    if (expected == ZB_ERROR_DESTROYED) {
        CHECK_EQ(witness_count(&made->witness), 1);
        CHECK_SETTLED(made->event, expected);
        char text[256] = "";
        CHECK_OK(zb_event_get_error(made->event, text, sizeof text, NULL));
        CHECK(strstr(text, "destroyed") != NULL && strstr(text, victim_names[what]) != NULL);
    } else {
        CHECK_EQ(witness_count(&made->witness), 0);
        if (made->event != NULL) {
            CHECK_PENDING(made->event);
        }
    }
    /* what is still to be done keeps its tensors, and what will not be done lets them go */
    int is_kept = what == TENSOR && expected == ZB_OK;
    CHECK_EQ(zt_release_count(&made->x_released), what == TENSOR && made->work != READ && !is_kept);
    CHECK_EQ(zt_release_count(&made->y_released), what == TENSOR && made->work != WRITE && !is_kept);
}

static void destroy_queued(victim what, work kind)
{
    const float nines[4] = {9, 9, 9, 9};
    scene made;
    gated before;
    zb_status expected = wanted[QUEUED][what][kind];
    make_scene(&made, kind, NULL);
    gated_make(&before, "before");
    gated_block(&before, made.queue);
    enqueue(&made, kind == WRITE ? written : kind == INFER ? at_first : nines);
    watch(&made);
    destroy(&made, what);
    check_at_once(&made, what, expected);
    CHECK_EQ(gated_let_go(&before), what == QUEUE ? ZB_ERROR_CANCELLED : ZB_OK);
    CHECK_EQ(witness_wait(&made.witness), expected);
    gated_free(&before);
    end_scene(&made);
}

static void destroy_running_inference(victim what)
{
    scene made;
    zb_status expected = wanted[RUNNING][what][INFER];
    make_scene(&made, INFER, "run wait door");
    enqueue(&made, at_first);
    watch(&made);
    gate_await("door");
    destroy(&made, what);
    CHECK_EQ(witness_count(&made.witness), 0);
    CHECK_EQ(zt_release_count(&made.x_released) + zt_release_count(&made.y_released), 0);
    CHECK_EQ(zt_release_count(&made.text_released), 0);
    gate_open("door");
    CHECK_EQ(witness_wait(&made.witness), expected);
    end_scene(&made);
}

/* A direct run of another context reads what is to be written, or writes what is to be read, so the write or read waits. */
static zb_status destroy_running_copy(victim what, work kind, useconds_t pause)
{
    const float zeros[4] = {0, 0, 0, 0};
    scene made;
    gated holder;
    make_scene(&made, kind, NULL);
    gated_make(&holder, "hold");
    REQUIRE_OK(zb_tensor_bind(kind == WRITE ? made.x : made.y, holder.context, kind == WRITE ? ZB_INPUT(0) : ZB_OUTPUT(0)));
    gated_run(&holder);
    enqueue(&made, kind == WRITE ? written : zeros);
    watch(&made);
    usleep(pause);
    destroy(&made, what);
    zb_status result = -1;
    if (what == QUEUE) {
        /* it ends although the tensor is still in use */
        result = witness_wait(&made.witness);
    } else if (what != TENSOR || kind != READ) {
        CHECK_EQ(witness_count(&made.witness), 0);
    }
    CHECK_OK(gated_end_run(&holder));
    result = witness_wait(&made.witness);
    if (kind == READ) {
        /* the run has written it */
        CHECK_BYTES(made.y_memory.data, zeros, BYTES);
    }
    gated_free(&holder);
    end_scene(&made);
    return result;
}

/* That a write or read has begun cannot be seen from outside. One that had not is settled with DESTROYED: then it is given
   more time. */
static void destroy_running(victim what, work kind)
{
    zb_status expected = wanted[RUNNING][what][kind];
    zb_status result = ZB_ERROR_DESTROYED;
    if (kind == INFER) {
        destroy_running_inference(what);
        return;
    }
    for (useconds_t pause = 1000; pause <= 256000 && result == ZB_ERROR_DESTROYED; pause *= 4) {
        result = destroy_running_copy(what, kind, pause);
    }
    CHECK_EQ(result, expected);
}

static void every_object_with_every_operation(void)
{
    for (int what = 0; what < VICTIMS; what++) {
        for (int kind = 0; kind < WORKS; kind++) {
            for (int at = 0; at < STAGES; at++) {
                printf("        %s destroyed, %s %s\n", victim_names[what], work_names[kind], stage_names[at]);
                zt_watchdog(20);
                if (at == QUEUED) {
                    destroy_queued((victim)what, (work)kind);
                } else {
                    destroy_running((victim)what, (work)kind);
                }
            }
        }
    }
}

/* --- in callbacks --- */

typedef enum way { AS_IT_ENDS, AS_IT_IS_CANCELLED, AS_IT_HAS_ENDED, WAYS } way;

typedef struct inside {
    scene *scene;
    victim what;
} inside;

static void destroy_inside(void *user_data, zb_status result)
{
    inside *made = user_data;
    look_and_scribble(made->scene, result);
    destroy(made->scene, made->what);
}

/* An inference behind the operation, of the same context with tensors that only it knows. */
static zb_event *enqueue_behind(scene *made)
{
    zb_tensor_desc desc = F32(4);
    zb_slot_tensor slots[2];
    zb_event *event = NULL;
    memset(slots, 0, sizeof slots);
    slots[1].slot = ZB_OUTPUT(0);
    for (int i = 0; i < 2; i++) {
        REQUIRE_OK(zb_tensor_alloc(&desc, 0, &slots[i].tensor));
    }
    REQUIRE_OK(zb_queue_infer_with(made->queue, made->context, slots, 2, NULL, &event));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(zb_tensor_destroy(slots[i].tensor));
    }
    return event;
}

static void destroy_in_completion(victim what, work kind, way how)
{
    const float nines[4] = {9, 9, 9, 9};
    const float *result = kind == WRITE ? written : kind == INFER ? at_first : nines;
    int ends_the_rest = what == QUEUE || what == CONTEXT || what == EVERYTHING;
    int stops_the_queue = what == QUEUE || what == EVERYTHING;
    scene made;
    gated before;
    inside user_data;
    make_scene(&made, kind, NULL);
    gated_make(&before, "before");
    user_data.scene = &made;
    user_data.what = what;
    made.witness.act = destroy_inside;
    made.witness.user_data = &user_data;
    if (how == AS_IT_HAS_ENDED) {
        zb_status ended = -1;
        enqueue(&made, result);
        REQUIRE_OK(zb_event_wait(made.event, UINT64_MAX, &ended));
        CHECK_EQ(ended, ZB_OK);
        gated_block(&before, made.queue);
    } else {
        gated_block(&before, made.queue);
        enqueue(&made, result);
        witness_watch(&made.witness, made.event);
    }
    zb_event *behind = enqueue_behind(&made);
    zb_event *event = made.event;
    if (how == AS_IT_HAS_ENDED) {
        witness_watch(&made.witness, event);
    } else if (how == AS_IT_IS_CANCELLED) {
        CHECK_OK(zb_event_cancel(event));
    }
    CHECK_EQ(witness_count(&made.witness), how != AS_IT_ENDS);
    if (how != AS_IT_ENDS && ends_the_rest) {
        CHECK_SETTLED(behind, ZB_ERROR_DESTROYED);
    }
    zb_status block = gated_let_go(&before);
    CHECK_EQ(block, how != AS_IT_ENDS && stops_the_queue ? ZB_ERROR_CANCELLED : ZB_OK);
    CHECK_EQ(witness_wait(&made.witness), how == AS_IT_IS_CANCELLED ? ZB_ERROR_CANCELLED : ZB_OK);
    CHECK_EQ(zt_end_of(behind), ends_the_rest ? ZB_ERROR_DESTROYED : ZB_OK);
    gated_free(&before);
    end_scene(&made);
}

static void in_completion_callbacks(void)
{
    for (int what = 0; what <= EVERYTHING; what++) {
        for (int kind = 0; kind < WORKS; kind++) {
            for (int how = 0; how < WAYS; how++) {
                zt_watchdog(20);
                destroy_in_completion((victim)what, (work)kind, (way)how);
            }
        }
    }
}

/* The release of a tensor that only its write holds comes on the queue's thread, and may destroy all there is. */
typedef struct releasing {
    scene *scene;
    int count;
} releasing;

static void destroy_in_release(void *user_data, void *data, size_t size)
{
    releasing *made = user_data;
    made->count++;
    CHECK(data != NULL && size == BYTES);
    destroy(made->scene, EVERYTHING);
}

static zb_tensor *wrap_releasing(releasing *made, zt_buffer *memory)
{
    zb_tensor_desc desc = F32(4);
    zb_tensor *tensor = NULL;
    REQUIRE_OK(zb_tensor_wrap(&desc, memory->data, BYTES, 0, destroy_in_release, made, &tensor));
    return tensor;
}

/* `is_ended`: the operation is cancelled by this thread; else the queue's thread does it. */
static void destroy_in_release_callback(int is_ended)
{
    scene made;
    gated before;
    releasing releases;
    zt_buffer memory = zt_buffer_new(BYTES);
    witness watched;
    zb_event *event = NULL;
    memset(&watched, 0, sizeof watched);
    make_scene(&made, READ, NULL);
    gated_make(&before, "before");
    releases.scene = &made;
    releases.count = 0;
    zb_tensor *tensor = wrap_releasing(&releases, &memory);
    gated_block(&before, made.queue);
    REQUIRE_OK(zb_queue_write(made.queue, tensor, 0, written, BYTES, &event));
    zb_event *behind = enqueue_behind(&made);
    witness_watch(&watched, event);
    /* this one goes with the scene, inside the release */
    made.event = event;
    CHECK_OK(zb_tensor_destroy(tensor));
    CHECK_EQ(releases.count, 0);
    if (is_ended) {
        CHECK_OK(zb_event_cancel(event));
        CHECK_EQ(releases.count, 1);
    }
    CHECK_EQ(gated_let_go(&before), is_ended ? ZB_ERROR_CANCELLED : ZB_OK);
    CHECK_EQ(witness_wait(&watched), is_ended ? ZB_ERROR_CANCELLED : ZB_OK);
    CHECK_EQ(zt_end_of(behind), ZB_ERROR_DESTROYED);
    gated_free(&before);
    end_scene(&made);
    CHECK_EQ(releases.count, 1);
    CHECK_EQ(witness_count(&watched), 1);
    CHECK(is_ended ? zt_is_untouched(&memory) : memcmp(memory.data, written, BYTES) == 0);
    FREE_BUFFER(&memory);
}

static void in_release_callbacks(void)
{
    zt_watchdog(20);
    destroy_in_release_callback(0);
    destroy_in_release_callback(1);
}

/* Destroying the tensor ends its reads, and with them the last use of it: the release comes inside of zb_tensor_destroy. */
static void release_of_a_tensor_with_reads(void)
{
    enum { READS = 3 };
    scene made;
    gated before;
    releasing releases;
    unsigned char destination[READS][BYTES];
    zt_buffer memory = zt_buffer_new(BYTES);
    witness watched[READS];
    zb_event *events[READS];
    zt_watchdog(20);
    memset(watched, 0, sizeof watched);
    memset(destination, 1, sizeof destination);
    make_scene(&made, READ, NULL);
    gated_make(&before, "before");
    releases.scene = &made;
    releases.count = 0;
    zb_tensor *tensor = wrap_releasing(&releases, &memory);
    gated_block(&before, made.queue);
    for (int i = 0; i < READS; i++) {
        REQUIRE_OK(zb_queue_read(made.queue, tensor, 0, destination[i], BYTES, &events[i]));
        witness_watch(&watched[i], events[i]);
    }
    CHECK_OK(zb_tensor_destroy(tensor));
    CHECK_EQ(releases.count, 1);
    for (int i = 0; i < READS; i++) {
        CHECK_EQ(witness_count(&watched[i]), 1);
        CHECK_EQ(zt_end_of(events[i]), ZB_ERROR_DESTROYED);
        CHECK(destination[i][0] == 1 && destination[i][BYTES - 1] == 1);
    }
    CHECK_EQ(gated_let_go(&before), ZB_ERROR_CANCELLED);
    gated_free(&before);
    end_scene(&made);
    FREE_BUFFER(&memory);
}

/* --- more than one --- */

static void a_queue_with_two_contexts(void)
{
    gated before, runs[2];
    zb_event *events[4];
    zb_queue *queue = zt_queue();
    zt_watchdog(20);
    gated_make(&before, "before");
    gated_block(&before, queue);
    for (int i = 0; i < 2; i++) {
        gated_make(&runs[i], "runs");
    }
    for (int i = 0; i < 4; i++) {
        REQUIRE_OK(zb_queue_infer(queue, runs[i % 2].context, NULL, &events[i]));
    }
    CHECK_STATUS(zb_infer(runs[0].context, NULL), ZB_ERROR_BUSY);
    CHECK_OK(zb_queue_destroy(queue));
    for (int i = 0; i < 4; i++) {
        CHECK_SETTLED(events[i], ZB_ERROR_DESTROYED);
        CHECK_OK(zb_event_destroy(events[i]));
    }
    CHECK_EQ(gated_let_go(&before), ZB_ERROR_CANCELLED);
    for (int i = 0; i < 2; i++) {
        /* and both are free again, with what was bound to them */
        gated_run(&runs[i]);
        CHECK_OK(gated_end_run(&runs[i]));
        gated_free(&runs[i]);
    }
    gated_run(&before);
    CHECK_OK(gated_end_run(&before));
    gated_free(&before);
}

static void a_context_on_two_queues(void)
{
    gated before[2], run;
    zb_event *events[2], *writes[2];
    zb_queue *queues[2];
    zb_tensor *tensor = NULL;
    zb_tensor_desc desc = F32(4);
    zt_watchdog(20);
    gated_make(&run, "runs");
    REQUIRE_OK(zb_tensor_alloc(&desc, 0, &tensor));
    for (int i = 0; i < 2; i++) {
        queues[i] = zt_queue();
        gated_make(&before[i], i == 0 ? "first" : "second");
        gated_block(&before[i], queues[i]);
        REQUIRE_OK(zb_queue_infer(queues[i], run.context, NULL, &events[i]));
        REQUIRE_OK(zb_queue_write(queues[i], tensor, 0, written, BYTES, &writes[i]));
    }
    CHECK_OK(zb_context_destroy(run.context));
    for (int i = 0; i < 2; i++) {
        CHECK_SETTLED(events[i], ZB_ERROR_DESTROYED);
        CHECK_OK(zb_event_destroy(events[i]));
        CHECK_PENDING(writes[i]);
    }
    for (int i = 0; i < 2; i++) {
        CHECK_OK(gated_let_go(&before[i]));
        CHECK_OK(zt_end_of(writes[i]));
        CHECK_OK(zb_queue_destroy(queues[i]));
        gated_free(&before[i]);
    }
    CHECK_OK(zb_tensor_destroy(tensor));
}

/* An inference that is destroyed takes away what it would have written: from those behind it, not from those before it, and
   until something writes all of it. */
static void what_a_destroyed_inference_takes_away(void)
{
    enum { BEFORE, BEHIND, MENDED, READS };
    const zb_status ends[READS] = {ZB_OK, ZB_ERROR_DEPENDENCY, ZB_OK};
    const float nines[4] = {9, 9, 9, 9};
    unsigned char bytes[READS][BYTES];
    zb_event *reads[READS], *write = NULL;
    scene made;
    gated before;
    zt_watchdog(20);
    make_scene(&made, INFER, NULL);
    gated_make(&before, "before");
    memset(bytes, 1, sizeof bytes);
    gated_block(&before, made.queue);
    REQUIRE_OK(zb_queue_read(made.queue, made.y, 0, bytes[BEFORE], BYTES, &reads[BEFORE]));
    enqueue(&made, at_first);
    REQUIRE_OK(zb_queue_read(made.queue, made.y, 0, bytes[BEHIND], BYTES, &reads[BEHIND]));
    REQUIRE_OK(zb_queue_write(made.queue, made.y, 0, written, BYTES, &write));
    REQUIRE_OK(zb_queue_read(made.queue, made.y, 0, bytes[MENDED], BYTES, &reads[MENDED]));
    destroy(&made, CONTEXT);
    CHECK_SETTLED(made.event, ZB_ERROR_DESTROYED);
    CHECK_OK(gated_let_go(&before));
    for (int i = 0; i < READS; i++) {
        CHECK_EQ(zt_end_of(reads[i]), ends[i]);
    }
    CHECK_OK(zt_end_of(write));
    CHECK_BYTES(bytes[BEFORE], nines, BYTES);
    CHECK(bytes[BEHIND][0] == 1 && bytes[BEHIND][BYTES - 1] == 1);
    CHECK_BYTES(bytes[MENDED], written, BYTES);
    gated_free(&before);
    end_scene(&made);
}

/* A dead handle in every place where a queue's functions take one. */
static void dead_handles(void)
{
    gated run;
    unsigned char bytes[BYTES];
    zb_queue *queue = zt_queue();
    zb_queue *dead = zt_queue();
    zb_tensor *tensor = NULL;
    zb_event *event = NULL, *none = NULL;
    zb_status result = -1;
    zb_tensor_desc desc = F32(4);
    zt_watchdog(20);
    gated_make(&run, "runs");
    REQUIRE_OK(zb_tensor_alloc(&desc, 0, &tensor));
    REQUIRE_OK(zb_queue_fence(queue, &event));
    CHECK_OK(zb_queue_destroy(NULL));
    CHECK_OK(zb_event_destroy(NULL));
    CHECK_OK(zb_queue_destroy(dead));
    CHECK_STATUS(zb_queue_destroy(dead), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_queue_infer(dead, run.context, NULL, &none), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_queue_infer_with(dead, run.context, NULL, 0, NULL, &none), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_queue_write(dead, tensor, 0, bytes, 0, &none), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_queue_read(dead, tensor, 0, bytes, BYTES, &none), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_queue_fence(dead, &none), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_queue_wait_event(dead, event), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_queue_finish(dead, UINT64_MAX), ZB_ERROR_INVALID_HANDLE);
    /* the other way about, and of another kind */
    CHECK_OK(zb_tensor_destroy(tensor));
    CHECK_OK(zt_end_of(event));
    CHECK_OK(zb_context_destroy(run.context));
    CHECK_STATUS(zb_queue_infer(queue, run.context, NULL, &none), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_queue_write(queue, tensor, 0, bytes, 0, &none), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_queue_read(queue, tensor, 0, bytes, BYTES, &none), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_queue_wait_event(queue, event), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_event_wait(event, 0, &result), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_event_cancel(event), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_event_destroy(event), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_queue_finish((zb_queue *)(void *)event, 0), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_event_wait((zb_event *)(void *)queue, 0, &result), ZB_ERROR_INVALID_HANDLE);
    CHECK(none == NULL && result == -1);
    CHECK_OK(zb_queue_destroy(queue));
}

static const zt_test tests[] = {
    ON_BOTH(every_object_with_every_operation),
    ON_BOTH(in_completion_callbacks),
    ON_BOTH(in_release_callbacks),
    ON_BOTH(release_of_a_tensor_with_reads),
    ON_BOTH(a_queue_with_two_contexts),
    ON_BOTH(a_context_on_two_queues),
    ON_BOTH(what_a_destroyed_inference_takes_away),
    ON_BOTH(dead_handles),
};

ZT_MAIN(tests)
