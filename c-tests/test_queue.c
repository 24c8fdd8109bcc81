/*
 * Writes, inferences and reads on queues of real engines: exact results, whole reads, the order across queues, and what an
 * operation takes along when it is enqueued. test_queue_order asks with gates what happens in between.
 */
#include "harness.h"

#include <pthread.h>

#define BYTES 16u
/* far longer than anything here takes: a wait that ends by it is a failure */
#define PATIENCE (UINT64_C(50) * 1000 * 1000 * 1000)

/* --- queues and events --- */

static zb_queue *queue_of(uint32_t capacity)
{
    zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
    zb_queue *queue = NULL;
    options.capacity = capacity;
    REQUIRE_OK(zb_queue_create(&options, &queue));
    return queue;
}

/* How the operation ended. */
static zb_status result_of(zb_event *event)
{
    zb_status result = -1;
    REQUIRE_OK(zb_event_wait(event, PATIENCE, &result));
    return result;
}

static void text_of(zb_event *event, char *text, size_t size)
{
    zb_status status = zb_event_get_error(event, text, size, NULL);
    CHECK(status == ZB_OK || status == ZB_ERROR_BUFFER_TOO_SMALL);
}

static int says(zb_event *event, const char *part)
{
    char text[1024] = "";
    text_of(event, text, sizeof text);
    return CHECK(strstr(text, part) != NULL) || (fprintf(stderr, "    the event says: %s\n", text), 0);
}

#define ENDS_WITH(event, expected) CHECK_STATUS(result_of(event), (expected))

/* Waits, and lets the event go. */
#define ENDS_WELL(event) ends_well((event), __LINE__)

static void ends_well(zb_event *event, int line)
{
    zt_check_status(result_of(event), ZB_OK, __FILE__, line, "the operation");
    CHECK_OK(zb_event_destroy(event));
}

static void finish(zb_queue *queue)
{
    REQUIRE_OK(zb_queue_finish(queue, PATIENCE));
}

static void end_queue(zb_queue *queue)
{
    finish(queue);
    CHECK_OK(zb_queue_destroy(queue));
}

/* Whether the call is to be made again: the queue was full, and has room now. */
static int again(zb_queue *queue, zb_status status)
{
    if (status == ZB_ERROR_QUEUE_FULL) {
        finish(queue);
        return 1;
    }
    REQUIRE_OK(status);
    return 0;
}

/* --- tensors --- */

static zb_tensor *tensor_of(zb_tensor_desc desc)
{
    zb_tensor *tensor = NULL;
    REQUIRE_OK(zb_tensor_alloc(&desc, 64, &tensor));
    return tensor;
}

static zb_tensor *four_floats(void)
{
    return tensor_of(F32(4));
}

static float *floats_of(zb_tensor *tensor)
{
    void *data = NULL;
    size_t size = 0;
    REQUIRE_OK(zb_tensor_get_data(tensor, &data, &size));
    return data;
}

/* Before there is a queue that could use it. */
static void fill(zb_tensor *tensor, float value)
{
    for (int i = 0; i < 4; i++) {
        floats_of(tensor)[i] = value * (float)(i + 1);
    }
}

static void bind(zb_tensor *tensor, zb_context *context, zb_slot slot)
{
    REQUIRE_OK(zb_tensor_bind(tensor, context, slot));
}

static void infer(zb_queue *queue, zb_context *context)
{
    REQUIRE_OK(zb_queue_infer(queue, context, NULL, NULL));
}

static zb_event *event_of_infer(zb_queue *queue, zb_context *context)
{
    zb_event *event = NULL;
    REQUIRE_OK(zb_queue_infer(queue, context, NULL, &event));
    return event;
}

static void write(zb_queue *queue, zb_tensor *tensor, const void *source, size_t size)
{
    REQUIRE_OK(zb_queue_write(queue, tensor, 0, source, size, NULL));
}

static zb_event *read_into(zb_queue *queue, zb_tensor *tensor, void *destination, size_t size)
{
    zb_event *event = NULL;
    REQUIRE_OK(zb_queue_read(queue, tensor, 0, destination, size, &event));
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

static void destroy_tensors(zb_tensor **tensors, int count)
{
    for (int i = 0; i < count; i++) {
        CHECK_OK(zb_tensor_destroy(tensors[i]));
    }
}

/* add4 with three tensors bound, and a queue */
typedef struct adder {
    zb_model *model;
    zb_context *context;
    zb_queue *queue;
    /* x, y, z */
    zb_tensor *tensors[3];
} adder;

static adder make_adder(void)
{
    static const zb_slot slots[3] = {ZB_INPUT(0), ZB_INPUT(1), ZB_OUTPUT(0)};
    adder made;
    made.model = zt_open("add4");
    made.context = zt_context(made.model);
    for (int i = 0; i < 3; i++) {
        made.tensors[i] = four_floats();
        bind(made.tensors[i], made.context, slots[i]);
    }
    made.queue = queue_of(0);
    return made;
}

static void free_adder(adder *made)
{
    end_queue(made->queue);
    destroy_tensors(made->tensors, 3);
    CHECK_OK(zb_context_destroy(made->context));
    CHECK_OK(zb_model_destroy(made->model));
}

/* --- writes and reads --- */

static void write_infer_read(void)
{
    static const float sums[3][4] = {{11, 22, 33, 44}, {111, 122, 133, 144}, {112, 124, 136, 148}};
    adder made = make_adder();
    zb_event *events[3];
    float source[4], results[3][4];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) {
            source[i] = (float)(round == 0 ? i + 1 : round == 1 ? 101 + i : 102 + 2 * i);
        }
        write(made.queue, made.tensors[0], source, BYTES);
        for (int i = 0; i < 4; i++) {
            source[i] = 10.0f * (float)(i + 1);
        }
        write(made.queue, made.tensors[1], source, BYTES);
        /* both writes have their bytes already */
        memset(source, 0xEE, sizeof source);
        infer(made.queue, made.context);
        events[round] = read_into(made.queue, made.tensors[2], results[round], BYTES);
    }
    for (int round = 0; round < 3; round++) {
        ENDS_WELL(events[round]);
        CHECK_FLOATS(results[round], sums[round], 4, 0);
    }
    free_adder(&made);
}

static void parts(void)
{
    zb_queue *queue = queue_of(0);
    zt_buffer memory = zt_buffer_new(64);
    zt_buffer whole = zt_buffer_new(64);
    zt_buffer part = zt_buffer_new(7);
    zb_tensor_desc desc = DESC(ZB_DTYPE_U8, 64);
    zb_tensor *tensor = zt_wrap(&desc, &memory);
    unsigned char expected[64];
    zb_event *events[2];
    memset(expected, 0xCD, sizeof expected);
    for (unsigned i = 0; i < 9; i++) {
        /* of odd sizes, at odd places, over each other */
        const size_t offset = i * 6 + i % 3, size = 5 + i % 4;
        unsigned char source[16];
        memset(source, (int)(i + 1), sizeof source);
        memset(expected + offset, (int)(i + 1), size);
        REQUIRE_OK(zb_queue_write(queue, tensor, offset, source, size, NULL));
    }
    REQUIRE_OK(zb_queue_read(queue, tensor, 29, part.data, 7, &events[0]));
    REQUIRE_OK(zb_queue_read(queue, tensor, 0, whole.data, 64, &events[1]));
    ENDS_WELL(events[0]);
    ENDS_WELL(events[1]);
    CHECK_BYTES(part.data, expected + 29, 7);
    CHECK_BYTES(whole.data, expected, 64);
    CHECK_BYTES(memory.data, expected, 64);
    end_queue(queue);
    CHECK_OK(zb_tensor_destroy(tensor));
    FREE_BUFFER(&memory);
    FREE_BUFFER(&whole);
    FREE_BUFFER(&part);
}

/* No such part of a tensor of 16 bytes: refused at once, and the queue is as it was. */
static void outside_of_the_tensor(void)
{
    static const struct {
        size_t offset, size;
    } wrong[] = {{0, 17}, {1, 16}, {16, 1}, {17, 0}, {SIZE_MAX, 0}, {SIZE_MAX, 1}, {SIZE_MAX, 17},
                 {8, SIZE_MAX - 7}, {8, SIZE_MAX - 8}, {1, SIZE_MAX}, {SIZE_MAX - 15, 16}, {0, SIZE_MAX}};
    adder made = make_adder();
    zt_buffer bytes = zt_buffer_new(32);
    zb_event *event = NULL;
    fill(made.tensors[0], 3);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const size_t offset = wrong[i].offset, size = wrong[i].size;
        CHECK_STATUS(zb_queue_write(made.queue, made.tensors[0], offset, bytes.data, size, &event), ZB_ERROR_INVALID_ARGUMENT);
        CHECK_ERROR_SAYS("16");
        CHECK_STATUS(zb_queue_read(made.queue, made.tensors[0], offset, bytes.data, size, &event), ZB_ERROR_INVALID_ARGUMENT);
        CHECK_ERROR_SAYS("16");
    }
    CHECK(event == NULL);
    finish(made.queue);
    CHECK(zt_is_untouched(&bytes));
    CHECK(floats_of(made.tensors[0])[0] == 3 && floats_of(made.tensors[0])[3] == 12);
    free_adder(&made);
    FREE_BUFFER(&bytes);
}

/* Takes its place: settled after what is before it. */
static void check_nothing_moves(zb_queue *queue, zb_tensor *tensor, size_t offset)
{
    zb_event *written = NULL, *read = NULL;
    char byte = 'a';
    CHECK_OK(zb_queue_write(queue, tensor, offset, NULL, 0, NULL));
    CHECK_OK(zb_queue_write(queue, tensor, offset, &byte, 0, &written));
    CHECK_OK(zb_queue_read(queue, tensor, offset, NULL, 0, &read));
    ENDS_WELL(written);
    ENDS_WELL(read);
    CHECK_OK(zb_queue_read(queue, tensor, offset, &byte, 0, &read));
    ENDS_WELL(read);
    CHECK(byte == 'a');
}

static void zero_bytes(void)
{
    adder made = make_adder();
    zb_tensor_desc none = F32(0, 4);
    zb_tensor *wrapped = NULL, *empty = NULL;
    zb_event *event = NULL;
    fill(made.tensors[0], 5);
    for (size_t offset = 0; offset <= BYTES; offset++) {
        check_nothing_moves(made.queue, made.tensors[0], offset);
    }
    CHECK(floats_of(made.tensors[0])[0] == 5 && floats_of(made.tensors[0])[3] == 20);
    REQUIRE_OK(zb_tensor_wrap(&none, NULL, 0, 0, NULL, NULL, &wrapped));
    REQUIRE_OK(zb_tensor_alloc(&none, 64, &empty));
    check_nothing_moves(made.queue, wrapped, 0);
    check_nothing_moves(made.queue, empty, 0);
    CHECK_STATUS(zb_queue_write(made.queue, wrapped, 1, NULL, 0, &event), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_queue_read(made.queue, empty, 1, NULL, 0, &event), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_OK(zb_tensor_destroy(wrapped));
    CHECK_OK(zb_tensor_destroy(empty));
    /* handles are checked all the same */
    CHECK_STATUS(zb_queue_write(made.queue, wrapped, 0, NULL, 0, &event), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_queue_read(made.queue, empty, 0, NULL, 0, &event), ZB_ERROR_INVALID_HANDLE);
    CHECK(event == NULL);
    free_adder(&made);
}

/* --- wrong arguments --- */

/* NULL that a compiler does not see. */
static void *nothing(void)
{
    return NULL;
}

/* A handle of another kind is none of this. */
static void *kind(const void *handle)
{
    return (void *)(uintptr_t)handle;
}

static void check_no_queue(adder *made, void *wrong, zb_status expected)
{
    zb_queue *queue = wrong;
    zb_slot_tensor given = at(ZB_INPUT(0), made->tensors[0]);
    zb_event *event = NULL, *known = NULL;
    char bytes[BYTES] = "";
    REQUIRE_OK(zb_queue_fence(made->queue, &known));
    CHECK_STATUS(zb_queue_infer(queue, made->context, NULL, &event), expected);
    CHECK_STATUS(zb_queue_infer_with(queue, made->context, &given, 1, NULL, &event), expected);
    CHECK_STATUS(zb_queue_write(queue, made->tensors[0], 0, bytes, BYTES, &event), expected);
    CHECK_STATUS(zb_queue_read(queue, made->tensors[0], 0, bytes, BYTES, &event), expected);
    CHECK_STATUS(zb_queue_fence(queue, &event), expected);
    CHECK_STATUS(zb_queue_wait_event(queue, known), expected);
    CHECK_STATUS(zb_queue_finish(queue, 0), expected);
    CHECK(event == NULL);
    ENDS_WELL(known);
}

static void check_no_tensor(adder *made, void *wrong, zb_status expected)
{
    zb_slot_tensor given = at(ZB_INPUT(0), wrong);
    zb_event *event = NULL;
    char bytes[BYTES] = "";
    CHECK_STATUS(zb_queue_infer_with(made->queue, made->context, &given, 1, NULL, &event), expected);
    CHECK_STATUS(zb_queue_write(made->queue, wrong, 0, bytes, BYTES, &event), expected);
    CHECK_STATUS(zb_queue_read(made->queue, wrong, 0, bytes, BYTES, &event), expected);
    CHECK(event == NULL);
}

static void check_no_context(adder *made, void *wrong, zb_status expected)
{
    zb_slot_tensor given = at(ZB_INPUT(0), made->tensors[0]);
    zb_event *event = NULL;
    CHECK_STATUS(zb_queue_infer(made->queue, wrong, NULL, &event), expected);
    CHECK_STATUS(zb_queue_infer_with(made->queue, wrong, &given, 1, NULL, &event), expected);
    CHECK(event == NULL);
}

static void check_no_event(adder *made, void *wrong, zb_status expected)
{
    CHECK_STATUS(zb_queue_wait_event(made->queue, wrong), expected);
}

static void wrong_handles(void)
{
    adder made = make_adder();
    zb_queue *dead_queue = queue_of(0);
    zb_context *dead_context = zt_context(made.model);
    zb_tensor *dead_tensor = four_floats();
    zb_event *event = NULL;
    CHECK_OK(zb_queue_destroy(dead_queue));
    CHECK_OK(zb_context_destroy(dead_context));
    CHECK_OK(zb_tensor_destroy(dead_tensor));
    REQUIRE_OK(zb_queue_fence(made.queue, &event));
    void *alive[] = {made.model, made.context, made.tensors[0], made.queue, event};
    void (*const checks[])(adder *, void *, zb_status) = {NULL, check_no_context, check_no_tensor, check_no_queue,
                                                          check_no_event};
    void *dead[] = {NULL, dead_context, dead_tensor, dead_queue, kind(&made)};
    for (int i = 1; i < 5; i++) {
        checks[i](&made, nothing(), ZB_ERROR_NULL_ARGUMENT);
        checks[i](&made, dead[i], ZB_ERROR_INVALID_HANDLE);
        checks[i](&made, (void *)(uintptr_t)0x12345678u, ZB_ERROR_INVALID_HANDLE);
        for (int other = 0; other < 5; other++) {
            if (other != i) {
                checks[i](&made, kind(alive[other]), ZB_ERROR_INVALID_HANDLE);
            }
        }
    }
    ENDS_WELL(event);
    check_no_event(&made, event, ZB_ERROR_INVALID_HANDLE);
    free_adder(&made);
}

static void null_arguments(void)
{
    adder made = make_adder();
    char bytes[BYTES] = "";
    zb_event *event = NULL;
    CHECK_STATUS(zb_queue_write(made.queue, made.tensors[0], 0, NULL, 1, &event), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_queue_read(made.queue, made.tensors[0], 0, NULL, 1, &event), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_queue_read(made.queue, made.tensors[0], 0, bytes, BYTES, nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_queue_fence(made.queue, nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_queue_infer_with(made.queue, made.context, NULL, 1, NULL, &event), ZB_ERROR_NULL_ARGUMENT);
    CHECK(event == NULL);
    /* count 0 is a plain run */
    CHECK_OK(zb_queue_infer_with(made.queue, made.context, NULL, 0, NULL, &event));
    ENDS_WELL(event);
    free_adder(&made);
}

static void wrong_tensors_for_slots(void)
{
    adder made = make_adder();
    zb_tensor *wrong[] = {tensor_of(DESC(ZB_DTYPE_I32, 4)), tensor_of(F32(5)), four_floats()};
    static const float values[4] = {1, 2, 3, 4};
    zt_buffer memory = zt_buffer_new(BYTES);
    zb_tensor_desc desc = F32(4);
    zb_tensor *constant = NULL;
    zb_event *event = NULL;
    memcpy(memory.data, values, BYTES);
    REQUIRE_OK(zb_tensor_wrap_const(&desc, memory.data, BYTES, memory.capacity, NULL, NULL, &constant));
    zb_slot_tensor given[2] = {at(ZB_INPUT(0), wrong[0]), at(ZB_INPUT(1), wrong[2])};
    CHECK_STATUS(zb_queue_infer_with(made.queue, made.context, given, 2, NULL, &event), ZB_ERROR_DTYPE_MISMATCH);
    CHECK_ERROR_SAYS("'x'");
    given[0].tensor = wrong[1];
    CHECK_STATUS(zb_queue_infer_with(made.queue, made.context, given, 2, NULL, &event), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_ERROR_SAYS("'x'");
    given[0] = at(ZB_OUTPUT(0), constant);
    CHECK_STATUS(zb_queue_infer_with(made.queue, made.context, given, 2, NULL, &event), ZB_ERROR_READ_ONLY);
    CHECK_ERROR_SAYS("'z'");
    given[0] = at(ZB_INPUT(1), wrong[2]);
    CHECK_STATUS(zb_queue_infer_with(made.queue, made.context, given, 2, NULL, &event), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_ERROR_SAYS("'y'");
    CHECK_ERROR_SAYS("twice");
    given[0] = at(ZB_INPUT(2), wrong[2]);
    CHECK_STATUS(zb_queue_infer_with(made.queue, made.context, given, 2, NULL, &event), ZB_ERROR_INVALID_ARGUMENT);
    given[0] = at(ZB_OUTPUT(1), wrong[2]);
    CHECK_STATUS(zb_queue_infer_with(made.queue, made.context, given, 2, NULL, &event), ZB_ERROR_INVALID_ARGUMENT);
    given[0] = at(ZB_INPUT(0), wrong[2]);
    given[0].flags = 1;
    CHECK_STATUS(zb_queue_infer_with(made.queue, made.context, given, 2, NULL, &event), ZB_ERROR_INVALID_ARGUMENT);
    CHECK(event == NULL);
    /* read-only memory may be read: by a run, by a read; not written */
    given[0] = at(ZB_INPUT(0), constant);
    CHECK_OK(zb_queue_infer_with(made.queue, made.context, given, 1, NULL, &event));
    ENDS_WELL(event);
    CHECK_FLOATS(floats_of(made.tensors[2]), values, 4, 0);
    float copy[4] = {0, 0, 0, 0};
    event = read_into(made.queue, constant, copy, BYTES);
    ENDS_WELL(event);
    CHECK_FLOATS(copy, values, 4, 0);
    event = NULL;
    CHECK_STATUS(zb_queue_write(made.queue, constant, 0, copy, BYTES, &event), ZB_ERROR_READ_ONLY);
    CHECK_STATUS(zb_queue_write(made.queue, constant, 4, copy, 4, &event), ZB_ERROR_READ_ONLY);
    CHECK(event == NULL);
    free_adder(&made);
    destroy_tensors(wrong, 3);
    CHECK_OK(zb_tensor_destroy(constant));
    CHECK_BYTES(memory.data, values, BYTES);
    FREE_BUFFER(&memory);
}

/* A tensor without a value where one is needed: nothing is queued. */
static void unbound_input(void)
{
    adder made = make_adder();
    zb_event *event = NULL;
    REQUIRE_OK(zb_context_unbind(made.context, ZB_INPUT(1)));
    CHECK_STATUS(zb_queue_infer(made.queue, made.context, NULL, &event), ZB_ERROR_UNBOUND);
    CHECK_ERROR_SAYS("'y'");
    CHECK(event == NULL);
    /* so the context is not queued either */
    CHECK_STATUS(zb_infer(made.context, NULL), ZB_ERROR_UNBOUND);
    CHECK_OK(zb_context_prepare(made.context));
    zb_slot_tensor given = at(ZB_INPUT(1), made.tensors[1]);
    CHECK_OK(zb_queue_infer_with(made.queue, made.context, &given, 1, NULL, &event));
    ENDS_WELL(event);
    /* for that operation only */
    CHECK_STATUS(zb_queue_infer(made.queue, made.context, NULL, &event), ZB_ERROR_UNBOUND);
    finish(made.queue);
    CHECK_STATUS(zb_infer(made.context, NULL), ZB_ERROR_UNBOUND);
    free_adder(&made);
}

/* Judged by the run, told by the event, nothing written. */
static void aliased(void)
{
    adder made = make_adder();
    zb_tensor_desc desc = F32(4);
    zt_buffer memory = zt_buffer_new(BYTES);
    zb_tensor *x = NULL, *z = NULL;
    unsigned char fresh[BYTES];
    memcpy(fresh, memory.data, BYTES);
    REQUIRE_OK(zb_tensor_wrap(&desc, memory.data, BYTES, 0, NULL, NULL, &x));
    REQUIRE_OK(zb_tensor_wrap(&desc, memory.data, BYTES, 0, NULL, NULL, &z));
    zb_slot_tensor given[2] = {at(ZB_INPUT(0), x), at(ZB_OUTPUT(0), z)};
    zb_event *event = NULL;
    for (int same = 0; same < 2; same++) {
        /* two tensors of the same bytes, then one and the same tensor */
        given[0].tensor = same ? z : x;
        CHECK_OK(zb_queue_infer_with(made.queue, made.context, given, 2, NULL, &event));
        ENDS_WITH(event, ZB_ERROR_ALIASED);
        says(event, "'z'");
        CHECK(zt_is_untouched(&memory));
        CHECK_OK(zb_event_destroy(event));
        /* what it did not write is not to be read; this makes it good again */
        write(made.queue, z, fresh, BYTES);
    }
    /* the context goes on */
    fill(made.tensors[0], 1);
    fill(made.tensors[1], 1);
    ENDS_WELL(event_of_infer(made.queue, made.context));
    CHECK(floats_of(made.tensors[2])[3] == 8);
    free_adder(&made);
    CHECK_OK(zb_tensor_destroy(x));
    CHECK_OK(zb_tensor_destroy(z));
    FREE_BUFFER(&memory);
}

/* --- contexts of different models, one behind the other --- */

static void check_direct(zb_context *context, zb_slot slot, zb_tensor *tensor)
{
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    CHECK_OK(zb_context_get_binding_report(context, slot, &report));
    CHECK_EQ(report.path, ZB_PATH_DIRECT);
    CHECK_EQ(report.bytes_copied, 0);
    CHECK_ADDRESS(report.host_address, floats_of(tensor));
    CHECK_ADDRESS(report.engine_address, floats_of(tensor));
}

/* a = x + y; b = a + 1; x = b + 2 * state, so a round adds y + 1 and nothing is copied */
static void models_in_a_chain(void)
{
    enum { X, Y, A, B, STATE, NEXT, COUNT };
    const int rounds = zt_rounds(10000, 300);
    static const char *const names[3] = {"add4", "metadata", "recurrent"};
    static const struct {
        int context;
        zb_slot slot;
        int tensor;
    } links[] = {{0, ZB_INPUT(0), X}, {0, ZB_INPUT(1), Y}, {0, ZB_OUTPUT(0), A}, {1, ZB_INPUT(0), A}, {1, ZB_OUTPUT(0), B},
                 {2, ZB_INPUT(0), B}, {2, ZB_INPUT(1), STATE}, {2, ZB_OUTPUT(0), X}, {2, ZB_OUTPUT(1), NEXT}};
    zb_model *models[3];
    zb_context *contexts[3];
    zb_tensor *tensors[COUNT];
    zb_queue *queue = queue_of(1000);
    for (int i = 0; i < COUNT; i++) {
        tensors[i] = four_floats();
    }
    for (int i = 0; i < 3; i++) {
        models[i] = zt_open(names[i]);
        contexts[i] = zt_context(models[i]);
    }
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        bind(tensors[links[i].tensor], contexts[links[i].context], links[i].slot);
    }
    fill(tensors[Y], 1);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < 3; i++) {
            while (again(queue, zb_queue_infer(queue, contexts[i], NULL, NULL))) {
            }
        }
    }
    finish(queue);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ((long long)floats_of(tensors[X])[i], (long long)rounds * (i + 2));
        CHECK(floats_of(tensors[NEXT])[i] == floats_of(tensors[X])[i]);
    }
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        check_direct(contexts[links[i].context], links[i].slot, tensors[links[i].tensor]);
    }
    end_queue(queue);
    destroy_tensors(tensors, COUNT);
    for (int i = 0; i < 3; i++) {
        zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
        CHECK_OK(zb_context_get_stats(contexts[i], &stats));
        CHECK_EQ(stats.runs, rounds);
        CHECK_EQ(stats.bytes_copied, 0);
        CHECK_OK(zb_context_destroy(contexts[i]));
        CHECK_OK(zb_model_destroy(models[i]));
    }
}

/* A small queue, and room made by waiting for the event of an earlier round. */
static void room_by_an_earlier_event(void)
{
    enum { BEHIND = 3 };
    const int rounds = zt_rounds(2000, 100);
    adder made = make_adder();
    zb_queue *queue = queue_of(3 * BEHIND);
    zb_event *events[BEHIND] = {NULL, NULL, NULL};
    float results[BEHIND][4];
    fill(made.tensors[1], 1);
    for (int round = 0; round < rounds + BEHIND; round++) {
        const int place = round % BEHIND;
        if (events[place] != NULL) {
            ENDS_WELL(events[place]);
            CHECK(results[place][0] == (float)(round - BEHIND + 1) && results[place][3] == (float)(round - BEHIND + 4));
            events[place] = NULL;
        }
        if (round < rounds) {
            /* all of the round that was waited for is over, so there is room for three */
            const float source[4] = {(float)round, (float)round, (float)round, (float)round};
            write(queue, made.tensors[0], source, BYTES);
            infer(queue, made.context);
            events[place] = read_into(queue, made.tensors[2], results[place], BYTES);
        }
    }
    end_queue(queue);
    free_adder(&made);
}

/* Three tensors rotated through one model, as WebNN's MLTensor example does it. */
static void fibonacci(void)
{
    /* the 46th number is the last that 31 bits hold */
    enum { LAST = 46 };
    zb_model *model = zt_open("add_i32");
    zb_context *context = zt_context(model);
    zb_queue *queue = queue_of(200);
    zb_tensor *tensors[3];
    zb_event *events[LAST + 1];
    static int32_t seen[LAST + 1][8];
    int64_t expected[LAST + 1] = {0, 1};
    int32_t first[8], second[8];
    for (int i = 0; i < 3; i++) {
        tensors[i] = tensor_of(DESC(ZB_DTYPE_I32, 8));
    }
    for (int i = 0; i < 8; i++) {
        first[i] = 0;
        second[i] = 1;
    }
    write(queue, tensors[0], first, sizeof first);
    write(queue, tensors[1], second, sizeof second);
    for (int n = 2; n <= LAST; n++) {
        zb_slot_tensor given[3] = {at(ZB_INPUT(0), tensors[n % 3 == 2 ? 0 : n % 3 == 0 ? 1 : 2]),
                                   at(ZB_INPUT(1), tensors[n % 3 == 2 ? 1 : n % 3 == 0 ? 2 : 0]),
                                   at(ZB_OUTPUT(0), tensors[n % 3])};
        REQUIRE_OK(zb_queue_infer_with(queue, context, given, 3, NULL, NULL));
        events[n] = read_into(queue, tensors[n % 3], seen[n], sizeof seen[n]);
        expected[n] = expected[n - 1] + expected[n - 2];
    }
    for (int n = 2; n <= LAST; n++) {
        ENDS_WELL(events[n]);
        for (int i = 0; i < 8; i++) {
            CHECK_EQ(seen[n][i], expected[n]);
        }
    }
    CHECK_EQ(expected[LAST], 1836311903);
    end_queue(queue);
    destroy_tensors(tensors, 3);
    CHECK_OK(zb_context_destroy(context));
    CHECK_OK(zb_model_destroy(model));
}

/* --- several queues --- */

/* The same on two queues by turns: only the tensors hold the steps together. */
static void a_chain_over_two_queues(void)
{
    const int rounds = zt_rounds(2000, 100);
    zb_model *model = zt_open("metadata");
    zb_context *contexts[2] = {zt_context(model), zt_context(model)};
    zb_queue *queues[2] = {queue_of(5000), queue_of(5000)};
    zb_tensor *tensors[2] = {four_floats(), four_floats()};
    fill(tensors[0], 0);
    for (int round = 0; round < rounds; round++) {
        /* by turns in another rhythm than the tensors, so that each pair of queues and tensors occurs */
        const int queue = round / 3 % 2, from = round % 2;
        zb_slot_tensor given[2] = {at(ZB_INPUT(0), tensors[from]), at(ZB_OUTPUT(0), tensors[1 - from])};
        REQUIRE_OK(zb_queue_infer_with(queues[queue], contexts[round / 5 % 2], given, 2, NULL, NULL));
    }
    finish(queues[0]);
    finish(queues[1]);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ((long long)floats_of(tensors[rounds % 2])[i], rounds);
        CHECK_EQ((long long)floats_of(tensors[1 - rounds % 2])[i], rounds - 1);
    }
    for (int i = 0; i < 2; i++) {
        end_queue(queues[i]);
        CHECK_OK(zb_context_destroy(contexts[i]));
    }
    destroy_tensors(tensors, 2);
    CHECK_OK(zb_model_destroy(model));
}

/* The engine's own state tells in which order the runs of one context were. */
static void one_context_on_two_queues(void)
{
    enum { MOST = 400 };
    const int rounds = zt_rounds(MOST, 60);
    zb_model *model = zt_open("accumulator");
    zb_context *context = zt_context(model);
    zb_queue *queues[2] = {queue_of(MOST), queue_of(MOST)};
    zb_tensor *x = tensor_of(F32(8)), *sums[MOST];
    for (int i = 0; i < 8; i++) {
        floats_of(x)[i] = 1;
    }
    for (int round = 0; round < rounds; round++) {
        sums[round] = tensor_of(F32(8));
        zb_slot_tensor given[2] = {at(ZB_INPUT(0), x), at(ZB_OUTPUT(0), sums[round])};
        /* no two alike, so that nothing but the context keeps them in order */
        REQUIRE_OK(zb_queue_infer_with(queues[round * 7 / 3 % 2], context, given, 2, NULL, NULL));
    }
    finish(queues[0]);
    finish(queues[1]);
    for (int round = 0; round < rounds; round++) {
        CHECK_EQ((long long)floats_of(sums[round])[5], round + 1);
    }
    end_queue(queues[0]);
    end_queue(queues[1]);
    destroy_tensors(sums, rounds);
    CHECK_OK(zb_tensor_destroy(x));
    CHECK_OK(zb_context_destroy(context));
    CHECK_OK(zb_model_destroy(model));
}

/* --- tearing --- */

#define LARGE (1u << 20)

typedef struct writer {
    pthread_t thread;
    zb_queue *queue;
    zb_tensor *tensor;
    unsigned char first;
    int rounds;
} writer;

static void *write_and_read(void *argument)
{
    writer *made = argument;
    unsigned char *source = malloc(LARGE), *seen[2] = {malloc(LARGE), malloc(LARGE)};
    REQUIRE(source != NULL && seen[0] != NULL && seen[1] != NULL);
    for (int round = 0; round < made->rounds; round++) {
        zb_event *events[2];
        memset(source, made->first + round % 100, LARGE);
        for (int i = 0; i < 2; i++) {
            events[i] = read_into(made->queue, made->tensor, seen[i], LARGE);
            write(made->queue, made->tensor, source, LARGE);
        }
        /* the write has its own copy */
        memset(source, 255, LARGE);
        for (int i = 0; i < 2; i++) {
            ENDS_WELL(events[i]);
            /* whichever pattern it was, it is the same everywhere */
            CHECK(memcmp(seen[i], seen[i] + 1, LARGE - 1) == 0);
            CHECK(seen[i][0] != 255);
        }
    }
    free(source);
    free(seen[0]);
    free(seen[1]);
    return NULL;
}

static void nobody_sees_half_a_write(void)
{
    writer writers[2];
    zb_tensor *tensor = tensor_of(DESC(ZB_DTYPE_U8, LARGE));
    for (int i = 0; i < 2; i++) {
        writers[i].queue = queue_of(0);
        writers[i].tensor = tensor;
        writers[i].first = (unsigned char)(1 + 100 * i);
        writers[i].rounds = zt_rounds(150, 5);
        REQUIRE(pthread_create(&writers[i].thread, NULL, write_and_read, &writers[i]) == 0);
    }
    for (int i = 0; i < 2; i++) {
        REQUIRE(pthread_join(writers[i].thread, NULL) == 0);
        end_queue(writers[i].queue);
    }
    CHECK_OK(zb_tensor_destroy(tensor));
}

/* --- what an operation takes along --- */

static void bind_between_enqueues(void)
{
    adder made = make_adder();
    zb_tensor *more[4];
    fill(made.tensors[0], 1);
    fill(made.tensors[1], 10);
    for (int i = 0; i < 4; i++) {
        more[i] = four_floats();
    }
    fill(more[0], 100);
    /* z = x + y; more1 = more0 + y; more2 = y + more0; more3 = y + more0, unbound in between and at once */
    infer(made.queue, made.context);
    bind(more[0], made.context, ZB_INPUT(0));
    bind(more[1], made.context, ZB_OUTPUT(0));
    infer(made.queue, made.context);
    REQUIRE_OK(zb_context_swap(made.context, ZB_INPUT(0), ZB_INPUT(1)));
    bind(more[2], made.context, ZB_OUTPUT(0));
    infer(made.queue, made.context);
    bind(more[3], made.context, ZB_OUTPUT(0));
    zb_event *last = event_of_infer(made.queue, made.context);
    for (uint32_t i = 0; i < 2; i++) {
        REQUIRE_OK(zb_context_unbind(made.context, ZB_INPUT(i)));
    }
    REQUIRE_OK(zb_context_unbind(made.context, ZB_OUTPUT(0)));
    CHECK_STATUS(zb_queue_infer(made.queue, made.context, NULL, NULL), ZB_ERROR_UNBOUND);
    ENDS_WELL(last);
    for (int i = 0; i < 4; i++) {
        CHECK(floats_of(made.tensors[2])[i] == 11.0f * (float)(i + 1));
        for (int n = 1; n < 4; n++) {
            CHECK(floats_of(more[n])[i] == 110.0f * (float)(i + 1));
        }
    }
    CHECK_STATUS(zb_infer(made.context, NULL), ZB_ERROR_UNBOUND);
    free_adder(&made);
    destroy_tensors(more, 4);
}

/* Two buffers by turns: one is filled while the other is worked on. */
static void double_buffering(void)
{
    const int rounds = zt_rounds(500, 50);
    adder made = make_adder();
    zb_tensor *inputs[2] = {four_floats(), four_floats()};
    zb_tensor *outputs[2] = {four_floats(), four_floats()};
    zb_event *events[2] = {NULL, NULL};
    float results[2][4] = {{0, 0, 0, 0}, {0, 0, 0, 0}};
    fill(made.tensors[1], 1);
    for (int round = 0; round <= rounds + 1; round++) {
        const int side = round % 2;
        if (events[side] != NULL) {
            ENDS_WELL(events[side]);
            CHECK(results[side][0] == (float)(round - 1) && results[side][3] == (float)(round - 2) * 4 + 4);
            events[side] = NULL;
        }
        if (round < rounds) {
            float source[4] = {(float)round, (float)round * 2, (float)round * 3, (float)round * 4};
            write(made.queue, inputs[side], source, BYTES);
            bind(inputs[side], made.context, ZB_INPUT(0));
            bind(outputs[side], made.context, ZB_OUTPUT(0));
            infer(made.queue, made.context);
            events[side] = read_into(made.queue, outputs[side], results[side], BYTES);
        }
    }
    free_adder(&made);
    destroy_tensors(inputs, 2);
    destroy_tensors(outputs, 2);
}

/* y = x + 2 * state, next = x + state / 2 */
static void ping_pong(void)
{
    enum { ROUNDS = 1000 };
    static const zb_slot slots[4] = {ZB_INPUT(0), ZB_INPUT(1), ZB_OUTPUT(0), ZB_OUTPUT(1)};
    static float seen[ROUNDS][4];
    static zb_event *events[ROUNDS];
    zb_model *model = zt_open("recurrent");
    zb_context *context = zt_context(model);
    zb_queue *queue = queue_of(3 * ROUNDS);
    zb_tensor *tensors[4];
    for (int i = 0; i < 4; i++) {
        tensors[i] = four_floats();
        bind(tensors[i], context, slots[i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        float x[4] = {(float)round, 1, -(float)(round % 7), 0.25f};
        write(queue, tensors[0], x, BYTES);
        infer(queue, context);
        events[round] = read_into(queue, tensors[2], seen[round], BYTES);
        REQUIRE_OK(zb_context_swap(context, ZB_INPUT(1), ZB_OUTPUT(1)));
    }
    float state[4] = {0, 0, 0, 0};
    for (int round = 0; round < ROUNDS; round++) {
        const float x[4] = {(float)round, 1, -(float)(round % 7), 0.25f};
        float y[4];
        ENDS_WELL(events[round]);
        for (int i = 0; i < 4; i++) {
            y[i] = x[i] + 2 * state[i];
            state[i] = x[i] + state[i] / 2;
        }
        /* each step rounds once, in C and in the engine */
        CHECK_FLOATS(seen[round], y, 4, 0.001f);
    }
    end_queue(queue);
    destroy_tensors(tensors, 4);
    CHECK_OK(zb_context_destroy(context));
    CHECK_OK(zb_model_destroy(model));
}

/* A tensor of another open shape resizes the run that it is for. */
static void shapes_for_one_operation(void)
{
    enum { MOST = 5 };
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    zb_queue *queue = queue_of(0);
    zb_tensor *inputs[MOST + 1], *outputs[MOST + 1];
    zb_event *events[MOST + 1];
    inputs[0] = outputs[0] = NULL;
    for (int rows = 1; rows <= MOST; rows++) {
        inputs[rows] = tensor_of(F32(rows, 4));
        outputs[rows] = tensor_of(F32(rows, 4));
        for (int i = 0; i < rows * 4; i++) {
            floats_of(inputs[rows])[i] = (float)(rows * 100 + i);
        }
    }
    const int64_t two[2] = {2, 4};
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), two, 2));
    bind(inputs[2], context, ZB_INPUT(0));
    bind(outputs[2], context, ZB_OUTPUT(0));
    for (int round = 0; round < MOST; round++) {
        const int rows = 1 + round * 2 % MOST;
        zb_slot_tensor given[2] = {at(ZB_INPUT(0), inputs[rows]), at(ZB_OUTPUT(0), outputs[rows])};
        REQUIRE_OK(zb_queue_infer_with(queue, context, given, 2, NULL, &events[rows]));
        /* with what is bound, which the tensors of the operation before did not change */
        infer(queue, context);
    }
    for (int rows = 1; rows <= MOST; rows++) {
        zb_tensor_desc expected = F32(rows, 4), desc;
        size_t size = 0;
        ENDS_WITH(events[rows], ZB_OK);
        CHECK_OK(zb_event_get_slot_desc(events[rows], ZB_INPUT(0), &desc, &size));
        CHECK(zt_same_desc(&desc, &expected) && size == (size_t)rows * 16);
        CHECK_OK(zb_event_get_slot_desc(events[rows], ZB_OUTPUT(0), &desc, &size));
        CHECK(zt_same_desc(&desc, &expected) && size == (size_t)rows * 16);
        CHECK_OK(zb_event_destroy(events[rows]));
    }
    finish(queue);
    for (int rows = 1; rows <= MOST; rows++) {
        for (int i = 0; i < rows * 4; i++) {
            CHECK(floats_of(outputs[rows])[i] == 2.0f * (float)(rows * 100 + i));
        }
    }
    zb_tensor_desc desc = F32(1), bound = F32(2, 4);
    CHECK_OK(zb_context_get_slot_desc(context, ZB_INPUT(0), &desc, NULL));
    CHECK(zt_same_desc(&desc, &bound));
    CHECK_OK(zb_infer(context, NULL));
    CHECK_OK(zb_context_get_slot_desc(context, ZB_OUTPUT(0), &desc, NULL));
    CHECK(zt_same_desc(&desc, &bound));
    end_queue(queue);
    destroy_tensors(inputs + 1, MOST);
    destroy_tensors(outputs + 1, MOST);
    CHECK_OK(zb_context_destroy(context));
    CHECK_OK(zb_model_destroy(model));
}

/* --- results that stay in the engine, and results of unknown size --- */

static void check_view(zb_context *context, float first, float last)
{
    const void *data = NULL;
    size_t size = 0;
    zb_tensor_desc desc, expected = F32(4);
    if (CHECK_OK(zb_context_output_view(context, ZB_OUTPUT(0), &data, &size, &desc))) {
        CHECK(zt_same_desc(&desc, &expected) && size == BYTES);
        CHECK(((const float *)data)[0] == first && ((const float *)data)[3] == last);
    }
}

static void views_of_queued_runs(void)
{
    adder made = make_adder();
    zb_tensor *other = four_floats();
    zb_slot_tensor given = at(ZB_INPUT(0), other);
    zb_event *event = NULL;
    const void *data = NULL;
    fill(made.tensors[0], 1);
    fill(made.tensors[1], 10);
    fill(other, 100);
    ENDS_WELL(event_of_infer(made.queue, made.context));
    check_view(made.context, 11, 44);
    REQUIRE_OK(zb_context_unbind(made.context, ZB_OUTPUT(0)));
    CHECK_STATUS(zb_context_output_view(made.context, ZB_OUTPUT(0), &data, NULL, NULL), ZB_ERROR_UNBOUND);
    /* what has no tensor stays in the engine */
    ENDS_WELL(event_of_infer(made.queue, made.context));
    check_view(made.context, 11, 44);
    /* also of a run with other tensors than the bound ones */
    CHECK_OK(zb_queue_infer_with(made.queue, made.context, &given, 1, NULL, &event));
    ENDS_WELL(event);
    check_view(made.context, 110, 440);
    /* but what went into a tensor for one operation is looked for there */
    given = at(ZB_OUTPUT(0), other);
    CHECK_OK(zb_queue_infer_with(made.queue, made.context, &given, 1, NULL, &event));
    ENDS_WELL(event);
    CHECK(floats_of(other)[3] == 44);
    data = NULL;
    CHECK_STATUS(zb_context_output_view(made.context, ZB_OUTPUT(0), &data, NULL, NULL), ZB_ERROR_UNBOUND);
    CHECK(data == NULL);
    free_adder(&made);
    CHECK_OK(zb_tensor_destroy(other));
}

static void results_of_unknown_size(void)
{
    zb_model *model = zt_open("nonzero");
    zb_context *context = zt_copying_context(model);
    zb_queue *queue = queue_of(0);
    zb_tensor *x = tensor_of(F32(16)), *rooms[5];
    zb_event *events[5];
    zb_tensor_desc open = DESC(ZB_DTYPE_I64, -1, 1), desc = F32(1);
    static int64_t memory[5][16];
    size_t size = 7;
    bind(x, context, ZB_INPUT(0));
    for (int hits = 0; hits < 5; hits++) {
        float source[16] = {0};
        for (int i = 0; i < hits; i++) {
            source[3 * i + 1] = 1;
        }
        memset(memory[hits], 0xCD, sizeof memory[hits]);
        REQUIRE_OK(zb_tensor_wrap(&open, memory[hits], sizeof memory[hits], 0, NULL, NULL, &rooms[hits]));
        bind(rooms[hits], context, ZB_OUTPUT(0));
        write(queue, x, source, sizeof source);
        events[hits] = event_of_infer(queue, context);
    }
    for (int hits = 0; hits < 5; hits++) {
        ENDS_WITH(events[hits], ZB_OK);
        CHECK_OK(zb_event_get_slot_desc(events[hits], ZB_OUTPUT(0), &desc, &size));
        CHECK(desc.dtype == ZB_DTYPE_I64 && desc.rank == 2 && desc.dims[0] == hits && desc.dims[1] == 1);
        CHECK_EQ(size, 8 * hits);
        for (int i = 0; i < hits; i++) {
            CHECK_EQ(memory[hits][i], 3 * i + 1);
        }
        CHECK_EQ(memory[hits][hits], (int64_t)0xCDCDCDCDCDCDCDCD);
    }
    CHECK_STATUS(zb_event_get_slot_desc(events[0], ZB_OUTPUT(1), &desc, &size), ZB_ERROR_INVALID_ARGUMENT);
    for (int hits = 0; hits < 5; hits++) {
        CHECK_OK(zb_event_destroy(events[hits]));
    }
    end_queue(queue);
    destroy_tensors(rooms, 5);
    CHECK_OK(zb_tensor_destroy(x));
    CHECK_OK(zb_context_destroy(context));
    CHECK_OK(zb_model_destroy(model));
}

/* A tensor that is passed through is read and written by one operation: it must have been valid before. */
static void a_tensor_passed_through(void)
{
    adder made = make_adder();
    zb_model *model = zt_open("passthrough");
    zb_context *context = zt_context(model);
    zb_tensor *x = tensor_of(F32(8)), *y = tensor_of(F32(8));
    float source[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    bind(x, context, ZB_INPUT(0));
    bind(x, context, ZB_OUTPUT(0));
    bind(y, context, ZB_OUTPUT(1));
    write(made.queue, x, source, sizeof source);
    ENDS_WELL(event_of_infer(made.queue, context));
    for (int i = 0; i < 8; i++) {
        CHECK(floats_of(x)[i] == source[i] && floats_of(y)[i] == source[i] + 1);
    }
    free_adder(&made);
    CHECK_OK(zb_context_destroy(context));
    CHECK_OK(zb_model_destroy(model));
    CHECK_OK(zb_tensor_destroy(x));
    CHECK_OK(zb_tensor_destroy(y));
}

static const zt_test tests[] = {
    ON_BOTH(write_infer_read),
    ON_BOTH(parts),
    ON_BOTH(outside_of_the_tensor),
    ON_BOTH(zero_bytes),
    ON_BOTH(wrong_handles),
    ON_BOTH(null_arguments),
    ON_BOTH(wrong_tensors_for_slots),
    ON_BOTH(unbound_input),
    ON_BOTH(aliased),
    ON_BOTH(models_in_a_chain),
    ON_BOTH(room_by_an_earlier_event),
    ON_BOTH(fibonacci),
    ON_BOTH(a_chain_over_two_queues),
    ON_TFLITE(one_context_on_two_queues),
    ON_BOTH(nobody_sees_half_a_write),
    ON_BOTH(bind_between_enqueues),
    ON_BOTH(double_buffering),
    ON_BOTH(ping_pong),
    ON_BOTH(shapes_for_one_operation),
    ON_BOTH(views_of_queued_runs),
    ON_BOTH(results_of_unknown_size),
    ON_BOTH(a_tensor_passed_through),
};

ZT_MAIN(tests)
