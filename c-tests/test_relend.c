/*
 * Loans of the same slots call after call, with everything else a host may do in between: each call computes with the memory
 * of that call, and the report tells of the last run that the engine started, also after calls that were refused.
 */
#include "harness.h"

enum { SLOTS = 3, PLACES = 80, FLOATS = 4, SIZE = FLOATS * (int)sizeof(float) };

/* z = x + y; places and tensors of the host for each of them, and what is expected of the context. */
typedef struct scene {
    zb_model *model;
    zb_context *context;
    zt_buffer places[SLOTS][PLACES];
    zb_tensor *tensors[SLOTS][PLACES];
    int bound[SLOTS]; /* -1: nothing */
    const void *reported[SLOTS]; /* NULL: the engine's own memory */
    int has_run, is_viewable, was_lent[SLOTS];
    unsigned first; /* of the slots, in the order of the loans */
    uint64_t random;
} scene;

static const zb_slot slots[SLOTS] = {ZB_INPUT(0), ZB_INPUT(1), ZB_OUTPUT(0)};

static unsigned pick(scene *s, unsigned count)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return (unsigned)(s->random >> 33) % count;
}

static void set_up(scene *s, uint64_t seed)
{
    const zb_tensor_desc desc = F32(FLOATS);
    memset(s, 0, sizeof *s);
    s->random = seed * 0x9E3779B97F4A7C15u + 1;
    s->model = zt_open("add4");
    s->context = zt_context(s->model);
    for (int slot = 0; slot < SLOTS; slot++) {
        s->bound[slot] = -1;
        for (int place = 0; place < PLACES; place++) {
            s->places[slot][place] = zt_buffer_new(SIZE);
            s->tensors[slot][place] = zt_wrap(&desc, &s->places[slot][place]);
        }
    }
}

static void tear_down(scene *s)
{
    for (int slot = 0; slot < SLOTS; slot++) {
        for (int place = 0; place < PLACES; place++) {
            zb_tensor_destroy(s->tensors[slot][place]);
        }
    }
    zb_context_destroy(s->context);
    zb_model_destroy(s->model);
    for (int slot = 0; slot < SLOTS; slot++) {
        for (int place = 0; place < PLACES; place++) {
            FREE_BUFFER(&s->places[slot][place]);
        }
    }
}

/* Every input another number, every output one that no sum is. */
static void fill(scene *s)
{
    for (int place = 0; place < PLACES; place++) {
        zt_fill_floats(&s->places[0][place], (float)(1000 * (place + 1)), 0);
        zt_fill_floats(&s->places[1][place], (float)(place + 1), 0);
        zt_fill_floats(&s->places[2][place], -1, 0);
    }
}

static void check_report(scene *s)
{
    if (pick(s, 3) == 0) {
        return; /* asked later, it tells of the last run all the same */
    }
    for (int slot = 0; slot < SLOTS; slot++) {
        zb_binding_report report = ZB_BINDING_REPORT_INIT;
        REQUIRE_OK(zb_context_get_binding_report(s->context, slots[slot], &report));
        CHECK_EQ(report.bytes_copied, 0);
        CHECK_EQ(report.path, s->reported[slot] != NULL ? ZB_PATH_DIRECT : ZB_PATH_UNBOUND);
        CHECK_ADDRESS(report.host_address, s->reported[slot]);
        if (s->reported[slot] != NULL) {
            CHECK_ADDRESS(report.engine_address, s->reported[slot]);
        }
    }
}

static void check_view(const scene *s, float sum)
{
    const void *data = NULL;
    if (!s->is_viewable || s->was_lent[2]) {
        CHECK_STATUS(zb_context_output_view(s->context, ZB_OUTPUT(0), &data, NULL, NULL), ZB_ERROR_UNBOUND);
        return;
    }
    REQUIRE_OK(zb_context_output_view(s->context, ZB_OUTPUT(0), &data, NULL, NULL));
    CHECK(((const float *)data)[0] == sum && ((const float *)data)[FLOATS - 1] == sum);
}

/* The run that was: where what was computed has to be, and nowhere else. */
static void check_outputs(const scene *s, int written, float sum)
{
    for (int place = 0; place < PLACES; place++) {
        float expected = place == written ? sum : -1;
        CHECK(zt_floats(&s->places[2][place])[0] == expected && zt_floats(&s->places[2][place])[FLOATS - 1] == expected);
        CHECK_GUARDS(&s->places[2][place]);
    }
}

enum fault { NONE, OVERLAP, SHORT, TWICE, NULL_DATA, OTHER_DESC, FAULTS };

static const zb_status refusals[FAULTS] = {ZB_OK,
                                           ZB_ERROR_ALIASED,
                                           ZB_ERROR_SHAPE_MISMATCH,
                                           ZB_ERROR_INVALID_ARGUMENT,
                                           ZB_ERROR_NULL_ARGUMENT,
                                           ZB_ERROR_SHAPE_MISMATCH};

/* Makes one loan wrong; `used` are the places of the call. Gives the number of loans. */
static size_t spoil(scene *s, enum fault fault, zb_loan loans[SLOTS + 1], size_t count, const int used[SLOTS])
{
    static const zb_tensor_desc five = {ZB_DTYPE_F32, 1, {5}};
    size_t wrong = fault == NONE ? 0 : pick(s, (unsigned)count);
    switch (fault) {
    case OVERLAP: /* one loan where the memory of another slot is */
        loans[wrong].data = loans[wrong].slot == ZB_OUTPUT(0) ? s->places[0][used[0]].data : s->places[2][used[2]].data;
        return count;
    case SHORT:
        loans[wrong].size -= 4;
        return count;
    case TWICE:
        loans[count] = loans[wrong];
        return count + 1;
    case NULL_DATA:
        loans[wrong].data = NULL;
        return count;
    case OTHER_DESC:
        loans[wrong].desc = &five;
        return count;
    default:
        return count;
    }
}

static zb_status expected_of(enum fault fault, const zb_loan *loans, size_t count)
{
    /* an output may be larger than it has to be, and what is too small is told so */
    for (size_t i = 0; fault == SHORT && i < count; i++) {
        if (loans[i].slot == ZB_OUTPUT(0) && loans[i].size < (size_t)SIZE) {
            return ZB_ERROR_BUFFER_TOO_SMALL;
        }
    }
    return refusals[fault];
}

/* One run with a random part of the slots lent, or with the same part as the last time. */
static void lend(scene *s, unsigned set)
{
    const zb_tensor_desc four = F32(FLOATS);
    zb_loan loans[SLOTS + 1];
    size_t count = 0;
    int used[SLOTS];
    unsigned has_desc = pick(s, 4);
    for (unsigned i = 0; i < SLOTS; i++) {
        unsigned slot = (i + s->first) % SLOTS; /* the order is the host's */
        used[slot] = s->bound[slot];
        if ((set >> slot & 1) != 0) {
            used[slot] = (int)pick(s, PLACES);
            const zt_buffer *place = &s->places[slot][used[slot]];
            loans[count] = slot < 2 ? zt_lend_input(slot, place) : zt_lend_output(0, place);
            loans[count++].desc = has_desc == 0 ? &four : NULL;
        }
    }
    fill(s);
    int is_complete = used[0] >= 0 && used[1] >= 0;
    enum fault fault = is_complete && count > 0 && pick(s, 4) == 0 ? (enum fault)pick(s, FAULTS) : NONE;
    if (fault == OVERLAP && used[2] < 0) {
        fault = NONE; /* an output of the engine's own overlaps nothing */
    }
    count = spoil(s, fault, loans, count, used);
    zb_status expected = is_complete ? expected_of(fault, loans, count) : ZB_ERROR_UNBOUND;
    zb_status status = zb_infer_with(s->context, loans, count, NULL);
    CHECK_STATUS(status, expected);
    float sum = is_complete ? (float)(1000 * (used[0] + 1) + used[1] + 1) : 0;
    if (status == ZB_OK) {
        s->has_run = s->is_viewable = 1;
        for (int slot = 0; slot < SLOTS; slot++) {
            s->reported[slot] = used[slot] >= 0 ? s->places[slot][used[slot]].data : NULL;
            s->was_lent[slot] = (set >> slot & 1) != 0;
        }
        check_outputs(s, used[2], sum);
        check_view(s, sum);
    } else {
        check_outputs(s, -1, 0);
    }
    check_report(s);
}

static void change_a_binding(scene *s)
{
    unsigned slot = pick(s, SLOTS);
    int place = (int)pick(s, PLACES + 20);
    if (place < PLACES) {
        REQUIRE_OK(zb_tensor_bind(s->tensors[slot][place], s->context, slots[slot]));
        s->bound[slot] = place;
    } else {
        REQUIRE_OK(zb_context_unbind(s->context, slots[slot]));
        s->bound[slot] = -1;
    }
    s->is_viewable = 0;
    check_view(s, 0);
    check_report(s);
}

/* Most calls are of the same kind as the one before, as in real hosts; each kind of change comes between them. */
static void step(scene *s, unsigned *set)
{
    switch (pick(s, 16)) {
    case 0:
        change_a_binding(s);
        break;
    case 1:
        *set = pick(s, 8);
        break;
    case 2:
        REQUIRE_OK(zb_context_reset_state(s->context));
        s->is_viewable = s->is_viewable && !zt_is_tflite();
        check_report(s);
        break;
    case 3:
        REQUIRE_OK(zb_context_resize_input(s->context, ZB_INPUT(pick(s, 2)), (const int64_t[]){FLOATS}, 1));
        s->is_viewable = 0;
        break;
    case 4:
        REQUIRE_OK(zb_context_prepare(s->context));
        break;
    case 5:
        s->first = pick(s, SLOTS);
        break;
    default:
        lend(s, *set);
        break;
    }
}

static void calls_in_any_order(void)
{
    int seeds = zt_rounds(20, 2);
    for (int seed = 1; seed <= seeds; seed++) {
        scene s;
        unsigned set = 7;
        set_up(&s, (uint64_t)seed);
        int steps = zt_rounds(400, 60);
        for (int i = 0; i < steps; i++) {
            step(&s, &set);
        }
        tear_down(&s);
    }
}

/* A queue runs the context between two calls of the same kind. */
static void a_queued_run_in_between(void)
{
    scene s;
    zb_queue *queue = NULL;
    set_up(&s, 77);
    REQUIRE_OK(zb_queue_create(NULL, &queue));
    for (int round = 0; round < 20; round++) {
        lend(&s, 7);
        lend(&s, 7);
        fill(&s);
        const zb_slot_tensor tensors[SLOTS] = {
            {slots[0], 0, s.tensors[0][round]}, {slots[1], 0, s.tensors[1][round]}, {slots[2], 0, s.tensors[2][round]}};
        REQUIRE_OK(zb_queue_infer_with(queue, s.context, tensors, SLOTS, NULL, NULL));
        REQUIRE_OK(zb_queue_finish(queue, UINT64_MAX));
        check_outputs(&s, round, (float)(1001 * (round + 1)));
        for (int slot = 0; slot < SLOTS; slot++) {
            s.reported[slot] = s.places[slot][round].data; /* also where the next call is refused */
        }
        check_report(&s);
    }
    zb_queue_destroy(queue);
    tear_down(&s);
}

/* Memory that is new in every call, then some that comes again, and so on: no value is that of another place. */
static void streams_and_rings(void)
{
    enum { NEW = 700, RING = 5, STEP = 64 };
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    zt_buffer memory[SLOTS];
    for (int slot = 0; slot < SLOTS; slot++) {
        memory[slot] = zt_buffer_new((size_t)2 * NEW * STEP);
    }
    for (unsigned call = 0; call < 2 * NEW + 400; call++) {
        /* a stream, a ring of some of its last ones, the rest of the stream, and a ring of its first ones */
        unsigned place = call < NEW ? call : call < NEW + 200 ? NEW - 1 - call % RING : call - 200;
        place = place < 2 * NEW ? place : call % RING;
        zb_loan loans[SLOTS];
        for (unsigned slot = 0; slot < SLOTS; slot++) {
            zt_buffer part = memory[slot];
            part.data = (unsigned char *)memory[slot].data + (size_t)place * STEP;
            part.size = SIZE;
            loans[slot] = slot < 2 ? zt_lend_input(slot, &part) : zt_lend_output(0, &part);
            ((float *)part.data)[0] = slot < 2 ? (float)(call * (slot + 1)) : -1;
        }
        REQUIRE_OK(zb_infer_with(context, loans, SLOTS, NULL));
        CHECK(((const float *)loans[2].data)[0] == (float)(3 * call));
        for (unsigned slot = 0; slot < SLOTS && call % 7 == 0; slot++) {
            zb_binding_report report = ZB_BINDING_REPORT_INIT;
            REQUIRE_OK(zb_context_get_binding_report(context, slots[slot], &report));
            CHECK_ADDRESS(report.host_address, loans[slot].data);
            CHECK_ADDRESS(report.engine_address, loans[slot].data);
        }
    }
    CHECK_OK(zb_context_destroy(context));
    CHECK_OK(zb_model_destroy(model));
    for (int slot = 0; slot < SLOTS; slot++) {
        FREE_BUFFER(&memory[slot]);
    }
}

/* One buffer for both inputs is nobody's harm, wherever they are among the loans; for an input and the output it is refused. */
static void inputs_that_share_memory(void)
{
    static const int orders[6][SLOTS] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    zt_buffer both = zt_buffer_new(SIZE), sum = zt_buffer_new(SIZE);
    for (int call = 0; call < 60; call++) {
        const int *order = orders[call / 10];
        const int is_wrong = call % 10 == 4 || call % 10 == 7;
        zb_loan loans[SLOTS];
        for (int i = 0; i < SLOTS; i++) {
            loans[i] = order[i] < 2 ? zt_lend_input((uint32_t)order[i], &both) : zt_lend_output(0, is_wrong ? &both : &sum);
        }
        zt_fill_floats(&both, (float)call, 0);
        zt_fill_floats(&sum, -1, 0);
        CHECK_STATUS(zb_infer_with(context, loans, SLOTS, NULL), is_wrong ? ZB_ERROR_ALIASED : ZB_OK);
        CHECK(zt_floats(&both)[0] == (float)call && zt_floats(&sum)[0] == (is_wrong ? -1.0f : 2 * (float)call));
    }
    CHECK_OK(zb_context_destroy(context));
    CHECK_OK(zb_model_destroy(model));
    FREE_BUFFER(&both);
    FREE_BUFFER(&sum);
}

/* a = x + 1, b = x * 2 of two_out, 8 floats each: what is not lent is bound, or, of the outputs, the engine's own. */
static void check_slot_of_two(zb_context *context, int slot, const zt_buffer *used, float first)
{
    static const zb_slot all[SLOTS] = {ZB_INPUT(0), ZB_OUTPUT(0), ZB_OUTPUT(1)};
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    REQUIRE_OK(zb_context_get_binding_report(context, all[slot], &report));
    CHECK_EQ(report.path, used != NULL ? ZB_PATH_DIRECT : ZB_PATH_UNBOUND);
    CHECK_ADDRESS(report.host_address, used != NULL ? used->data : NULL);
    if (used != NULL) {
        CHECK_ADDRESS(report.engine_address, used->data);
        CHECK(zt_floats(used)[0] == first);
        return;
    }
    const void *view = NULL;
    REQUIRE_OK(zb_context_output_view(context, all[slot], &view, NULL, NULL));
    CHECK_ADDRESS(report.engine_address, view);
    CHECK(*(const float *)view == first);
}

static void run_some_of_two_lent(unsigned lent, unsigned bound)
{
    zb_model *model = zt_open("two_out");
    zb_context *context = zt_context(model);
    zt_buffer places[2 * SLOTS];
    for (int place = 0; place < 2 * SLOTS; place++) {
        places[place] = zt_buffer_new(32);
    }
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        if ((bound & ~lent) >> slot & 1) {
            zt_bind(context, slot == 0 ? ZB_INPUT(0) : ZB_OUTPUT(slot - 1), F32(8), &places[2 * slot]);
        }
    }
    for (unsigned round = 0; round < 6; round++) {
        zb_loan loans[SLOTS];
        const zt_buffer *used[SLOTS] = {NULL, NULL, NULL};
        size_t count = 0;
        for (unsigned slot = 0; slot < SLOTS; slot++) {
            if (lent >> slot & 1) {
                used[slot] = &places[2 * slot + round % 2];
                loans[count++] = slot == 0 ? zt_lend_input(0, used[slot]) : zt_lend_output(slot - 1, used[slot]);
            } else if (bound >> slot & 1) {
                used[slot] = &places[2 * slot];
            }
        }
        const float x = (float)round + 5;
        zt_fill_floats(used[0], x, 0);
        REQUIRE_OK(zb_infer_with(context, loans, count, NULL));
        const float expected[SLOTS] = {x, x + 1, 2 * x};
        for (int slot = 0; slot < SLOTS; slot++) {
            check_slot_of_two(context, slot, used[slot], expected[slot]);
        }
    }
    CHECK_OK(zb_context_destroy(context));
    CHECK_OK(zb_model_destroy(model));
    for (int place = 0; place < 2 * SLOTS; place++) {
        FREE_BUFFER(&places[place]);
    }
}

/* Also of a slot that is lent while another one is not, the report has the engine's own word. */
static void some_slots_lent_and_others_not(void)
{
    for (unsigned lent = 1; lent < 8; lent++) {
        for (unsigned bound = 0; bound < 8; bound++) {
            if ((lent | bound) & 1) {
                run_some_of_two_lent(lent, bound);
            }
        }
    }
}

static const zt_test tests[] = {
    ON_BOTH(calls_in_any_order),
    ON_BOTH(a_queued_run_in_between),
    ON_BOTH(streams_and_rings),
    ON_BOTH(inputs_that_share_memory),
    ON_BOTH(some_slots_lent_and_others_not),
};

ZT_MAIN(tests)
