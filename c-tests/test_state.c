/*
 * State from run to run. Where it is the host's, an output becomes an input of the next run and nothing is copied
 * (zb_context_swap); where it is the engine's, zb_context_reset_state makes the engine forget it.
 */
#include "harness.h"

#include "raw_tflite.h"
#include "trap.h"

#include <math.h>
#include <sys/mman.h>

static zb_binding_report report_of(zb_context *context, zb_slot slot)
{
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    REQUIRE_OK(zb_context_get_binding_report(context, slot, &report));
    return report;
}

static void check_direct(zb_context *context, zb_slot slot, const void *address)
{
    zb_binding_report report = report_of(context, slot);
    CHECK_EQ(report.path, ZB_PATH_DIRECT);
    CHECK_EQ(report.bytes_copied, 0);
    CHECK_ADDRESS(report.host_address, address);
    CHECK_ADDRESS(report.engine_address, address);
    CHECK(report.reason == NULL);
}

static void check_staged(zb_context *context, zb_slot slot, const void *address, size_t bytes)
{
    zb_binding_report report = report_of(context, slot);
    CHECK_EQ(report.path, ZB_PATH_STAGED);
    CHECK_EQ(report.bytes_copied, bytes);
    CHECK_ADDRESS(report.host_address, address);
    CHECK(report.engine_address != address && report.reason != NULL);
}

static int is_same_report(const zb_binding_report *a, const zb_binding_report *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static zb_context_stats stats_of(zb_context *context)
{
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    REQUIRE_OK(zb_context_get_stats(context, &stats));
    return stats;
}

static void check_no_view(zb_context *context, zb_slot slot)
{
    const void *view = NULL;
    CHECK_STATUS(zb_context_output_view(context, slot, &view, NULL, NULL), ZB_ERROR_UNBOUND);
    CHECK(view == NULL);
}

/* --- the model `recurrent`: y = x + 2 * state, next = x + state / 2 --- */

#define X ZB_INPUT(0)
#define STATE ZB_INPUT(1)
#define Y ZB_OUTPUT(0)
#define NEXT ZB_OUTPUT(1)
#define BYTES 16u

/* What one run has to give, worked out here: halves and doubles are exact, and each sum is rounded once. */
static void step(const float *x, const float *state, float *y, float *next)
{
    for (int i = 0; i < 4; i++) {
        const float doubled = 2 * state[i], halved = state[i] / 2;
        y[i] = x[i] + doubled;
        next[i] = x[i] + halved;
    }
}

/* All four slots bound, each on pages of its own, and only bound: no tensor has a handle. */
typedef struct recurrent {
    zb_model *model;
    zb_context *context;
    zt_buffer x, y, state, next;
} recurrent;

static recurrent make_recurrent(void)
{
    recurrent made;
    made.model = zt_open("recurrent");
    made.context = zt_context(made.model);
    made.x = zt_buffer_of_pages(BYTES);
    made.y = zt_buffer_of_pages(BYTES);
    made.state = zt_buffer_of_pages(BYTES);
    made.next = zt_buffer_of_pages(BYTES);
    zt_fill_floats(&made.x, 3, 1.25f);
    zt_fill_floats(&made.state, -8, 7);
    zt_bind(made.context, X, F32(4), &made.x);
    zt_bind(made.context, STATE, F32(4), &made.state);
    zt_bind(made.context, Y, F32(4), &made.y);
    zt_bind(made.context, NEXT, F32(4), &made.next);
    return made;
}

static void free_recurrent(recurrent *made)
{
    zb_context_destroy(made->context);
    zb_model_destroy(made->model);
    FREE_BUFFER(&made->x);
    FREE_BUFFER(&made->y);
    FREE_BUFFER(&made->state);
    FREE_BUFFER(&made->next);
}

/* Runs, and everything is where the fields say. */
static void check_runs(recurrent *made)
{
    float y[4], next[4];
    step(zt_floats(&made->x), zt_floats(&made->state), y, next);
    memset(made->y.data, 0xCD, BYTES);
    memset(made->next.data, 0xCD, BYTES);
    REQUIRE_OK(zb_infer(made->context, NULL));
    CHECK_BYTES(made->y.data, y, BYTES);
    CHECK_BYTES(made->next.data, next, BYTES);
    check_direct(made->context, X, made->x.data);
    check_direct(made->context, STATE, made->state.data);
    check_direct(made->context, Y, made->y.data);
    check_direct(made->context, NEXT, made->next.data);
}

/* The buffers after a swap of the slots. */
static void exchange(zt_buffer *a, zt_buffer *b)
{
    zt_buffer first = *a;
    *a = *b;
    *b = first;
}

static void protect(const zt_buffer *buffer, int protection)
{
    REQUIRE(mprotect(buffer->data, zt_page_size(), protection) == 0);
}

/* --- state that goes round --- */

static void state_goes_round_without_a_copy(void)
{
    recurrent made = make_recurrent();
    float state[4], y[4], next[4];
    int rounds = zt_rounds(1000, 60);
    memcpy(state, made.state.data, BYTES);
    for (int round = 0; round < rounds; round++) {
        zt_fill_floats(&made.x, (float)(round * 37 % 1024 - 512) / 8, 0.125f);
        step(zt_floats(&made.x), state, y, next);
        memset(made.next.data, 0xCD, BYTES);
        /* the run writes none of its inputs: it could not */
        protect(&made.x, PROT_READ);
        protect(&made.state, PROT_READ);
        REQUIRE_OK(zb_infer(made.context, NULL));
        CHECK_BYTES(made.state.data, state, BYTES);
        CHECK_BYTES(made.y.data, y, BYTES);
        CHECK_BYTES(made.next.data, next, BYTES);
        CHECK_GUARDS(&made.next);
        check_direct(made.context, X, made.x.data);
        check_direct(made.context, STATE, made.state.data);
        check_direct(made.context, Y, made.y.data);
        check_direct(made.context, NEXT, made.next.data);
        /* the swap neither reads nor writes: it could not */
        protect(&made.x, PROT_NONE);
        protect(&made.state, PROT_NONE);
        protect(&made.next, PROT_NONE);
        REQUIRE_OK(zb_context_swap(made.context, round % 2 == 0 ? STATE : NEXT, round % 2 == 0 ? NEXT : STATE));
        protect(&made.x, PROT_READ | PROT_WRITE);
        protect(&made.state, PROT_READ | PROT_WRITE);
        protect(&made.next, PROT_READ | PROT_WRITE);
        exchange(&made.state, &made.next);
        memcpy(state, next, BYTES);
    }
    /* so much that a state lost or copied too late would show */
    CHECK(state[0] != 0 && state[0] != zt_floats(&made.x)[0]);
    zb_context_stats stats = stats_of(made.context);
    CHECK_EQ(stats.runs, rounds);
    CHECK_EQ(stats.bytes_copied, 0);
    CHECK_EQ(stats.allocations, 0);
    CHECK_EQ(stats.rebinds, 4 + 2 * (rounds - 1));
    free_recurrent(&made);
}

/* A second proof: who touches the pages first. */
static void only_the_engine_touches_state_that_goes_round(void)
{
    recurrent made = make_recurrent();
    if (zt_under_memcheck()) {
        /* which does not let a signal handler repair a page */
        free_recurrent(&made);
        return;
    }
    check_runs(&made);
    for (int round = 0; round < 4; round++) {
        trap_install();
        size_t in = trap_arm(made.next.data, BYTES), out = trap_arm(made.state.data, BYTES);
        REQUIRE_OK(zb_context_swap(made.context, STATE, NEXT));
        exchange(&made.state, &made.next);
        CHECK_EQ(trap_count_all(in), 0);
        CHECK_EQ(trap_count_all(out), 0);
        REQUIRE_OK(zb_infer(made.context, NULL));
        CHECK_EQ(trap_count(in, TRAP_ENGINE), 1);
        CHECK_EQ(trap_count_all(in), 1);
        CHECK_EQ(trap_count(out, TRAP_ENGINE), 1);
        CHECK_EQ(trap_count_all(out), 1);
        trap_remove();
        check_runs(&made);
    }
    free_recurrent(&made);
}

/* Input at another address every time, lent, while the state's two buffers stay bound. */
static void state_goes_round_under_loans(void)
{
    recurrent made = make_recurrent();
    float state[4], y[4], next[4];
    memcpy(state, made.state.data, BYTES);
    memset(made.x.data, 0xCD, BYTES);
    memset(made.y.data, 0xCD, BYTES);
    for (int round = 0; round < 50; round++) {
        zt_buffer x = zt_buffer_new(BYTES), lent_y = zt_buffer_new(BYTES);
        zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &lent_y)};
        zt_fill_floats(&x, (float)round, 0.5f);
        step(zt_floats(&x), state, y, next);
        REQUIRE_OK(zb_infer_with(made.context, loans, 2, NULL));
        CHECK_BYTES(lent_y.data, y, BYTES);
        CHECK_BYTES(made.next.data, next, BYTES);
        check_direct(made.context, X, x.data);
        check_direct(made.context, STATE, made.state.data);
        check_direct(made.context, NEXT, made.next.data);
        REQUIRE_OK(zb_context_swap(made.context, NEXT, STATE));
        exchange(&made.state, &made.next);
        memcpy(state, next, BYTES);
        FREE_BUFFER(&x);
        FREE_BUFFER(&lent_y);
    }
    CHECK(zt_is_untouched(&made.x) && zt_is_untouched(&made.y));
    CHECK_EQ(stats_of(made.context).bytes_copied, 0);
    /* a loan shadows what a swap put there, for one call */
    zt_buffer lent = zt_buffer_new(BYTES);
    zb_loan loan = zt_lend_input(1, &lent);
    zt_fill_floats(&lent, 100, 100);
    zt_fill_floats(&made.x, 1, 1);
    step(zt_floats(&made.x), zt_floats(&lent), y, next);
    REQUIRE_OK(zb_context_swap(made.context, NEXT, STATE));
    exchange(&made.state, &made.next);
    REQUIRE_OK(zb_infer_with(made.context, &loan, 1, NULL));
    CHECK_BYTES(made.next.data, next, BYTES);
    FREE_BUFFER(&lent);
    check_runs(&made);
    free_recurrent(&made);
}

static void a_swap_before_any_run(void)
{
    recurrent made = make_recurrent();
    zt_fill_floats(&made.next, 1, 1);
    REQUIRE_OK(zb_context_swap(made.context, STATE, NEXT));
    CHECK_EQ(report_of(made.context, STATE).path, ZB_PATH_UNBOUND);
    exchange(&made.state, &made.next);
    check_runs(&made);
    /* and after planning without a run */
    REQUIRE_OK(zb_context_swap(made.context, STATE, NEXT));
    REQUIRE_OK(zb_context_prepare(made.context));
    REQUIRE_OK(zb_context_swap(made.context, STATE, NEXT));
    check_runs(&made);
    free_recurrent(&made);
}

static void the_report_after_a_swap_is_of_the_last_run(void)
{
    recurrent made = make_recurrent();
    check_runs(&made);
    REQUIRE_OK(zb_context_swap(made.context, STATE, NEXT));
    check_direct(made.context, STATE, made.state.data);
    check_direct(made.context, NEXT, made.next.data);
    CHECK_EQ(stats_of(made.context).runs, 1);
    free_recurrent(&made);
}

static void a_swap_ends_views(void)
{
    recurrent made = make_recurrent();
    const void *view = NULL;
    REQUIRE_OK(zb_context_unbind(made.context, Y));
    REQUIRE_OK(zb_infer(made.context, NULL));
    REQUIRE_OK(zb_context_output_view(made.context, Y, &view, NULL, NULL));
    /* one that fails does not */
    CHECK_STATUS(zb_context_swap(made.context, STATE, Y), ZB_ERROR_UNBOUND);
    REQUIRE_OK(zb_context_output_view(made.context, Y, &view, NULL, NULL));
    REQUIRE_OK(zb_context_output_view(made.context, NEXT, &view, NULL, NULL));
    CHECK_ADDRESS(view, made.next.data);
    REQUIRE_OK(zb_context_swap(made.context, STATE, NEXT));
    check_no_view(made.context, Y);
    check_no_view(made.context, NEXT);
    REQUIRE_OK(zb_infer(made.context, NULL));
    REQUIRE_OK(zb_context_output_view(made.context, NEXT, &view, NULL, NULL));
    CHECK_ADDRESS(view, made.state.data);
    REQUIRE_OK(zb_context_swap(made.context, X, X));
    check_no_view(made.context, NEXT);
    free_recurrent(&made);
}

/* --- other pairs --- */

static void two_inputs_change_places(void)
{
    recurrent made = make_recurrent();
    for (int round = 0; round < 4; round++) {
        check_runs(&made);
        REQUIRE_OK(zb_context_swap(made.context, X, STATE));
        exchange(&made.x, &made.state);
    }
    free_recurrent(&made);
}

static void two_outputs_change_places(void)
{
    recurrent made = make_recurrent();
    for (int round = 0; round < 4; round++) {
        check_runs(&made);
        REQUIRE_OK(zb_context_swap(made.context, NEXT, Y));
        exchange(&made.next, &made.y);
    }
    free_recurrent(&made);
}

/* Three swaps turn all four, which no order of binds could do without an overlap on the way. */
static void all_slots_go_round(void)
{
    recurrent made = make_recurrent();
    for (int round = 0; round < 8; round++) {
        zt_fill_floats(&made.x, (float)round, 1);
        check_runs(&made);
        REQUIRE_OK(zb_context_swap(made.context, X, STATE));
        REQUIRE_OK(zb_context_swap(made.context, STATE, Y));
        REQUIRE_OK(zb_context_swap(made.context, Y, NEXT));
        exchange(&made.x, &made.state);
        exchange(&made.state, &made.y);
        exchange(&made.y, &made.next);
    }
    free_recurrent(&made);
}

static void a_slot_with_itself(void)
{
    static const zb_slot slots[4] = {X, STATE, Y, NEXT};
    recurrent made = make_recurrent();
    for (int i = 0; i < 4; i++) {
        REQUIRE_OK(zb_context_swap(made.context, slots[i], slots[i]));
        check_runs(&made);
        REQUIRE_OK(zb_context_swap(made.context, slots[i], slots[i]));
        check_runs(&made);
        REQUIRE_OK(zb_context_unbind(made.context, slots[i]));
        CHECK_STATUS(zb_context_swap(made.context, slots[i], slots[i]), ZB_ERROR_UNBOUND);
        zt_bind(made.context, slots[i], F32(4), i == 0 ? &made.x : i == 1 ? &made.state : i == 2 ? &made.y : &made.next);
        check_runs(&made);
    }
    free_recurrent(&made);
}

static void one_tensor_at_both_slots(void)
{
    recurrent made = make_recurrent();
    zb_tensor_desc desc = F32(4);
    zb_tensor *both = zt_wrap(&desc, &made.state);
    REQUIRE_OK(zb_tensor_bind(both, made.context, STATE));
    REQUIRE_OK(zb_tensor_bind(both, made.context, NEXT));
    zb_tensor_destroy(both);
    CHECK_STATUS(zb_infer(made.context, NULL), ZB_ERROR_ALIASED);
    REQUIRE_OK(zb_context_swap(made.context, STATE, NEXT));
    CHECK_STATUS(zb_infer(made.context, NULL), ZB_ERROR_ALIASED);
    CHECK_ERROR_SAYS("overlaps");
    CHECK_EQ(zb_live_objects(ZB_KIND_TENSOR), 3);
    zt_bind(made.context, NEXT, F32(4), &made.next);
    check_runs(&made);
    /* of two inputs it is no fault */
    zt_buffer kept = made.state;
    both = zt_wrap(&desc, &made.x);
    REQUIRE_OK(zb_tensor_bind(both, made.context, X));
    REQUIRE_OK(zb_tensor_bind(both, made.context, STATE));
    zb_tensor_destroy(both);
    made.state = made.x;
    check_runs(&made);
    REQUIRE_OK(zb_context_swap(made.context, X, STATE));
    check_runs(&made);
    made.state = kept;
    free_recurrent(&made);
}

/* --- swaps that are refused, in both orders: nothing changes --- */

static void check_refused(zb_context *context, zb_slot a, zb_slot b, zb_status expected)
{
    CHECK_STATUS(zb_context_swap(context, a, b), expected);
    CHECK_STATUS(zb_context_swap(context, b, a), expected);
}

static void an_unbound_slot_cannot_be_swapped(void)
{
    static const zb_slot slots[4] = {X, STATE, Y, NEXT};
    recurrent made = make_recurrent();
    const zt_buffer *buffers[4] = {&made.x, &made.state, &made.y, &made.next};
    zb_context *empty = zt_context(made.model);
    check_refused(empty, STATE, NEXT, ZB_ERROR_UNBOUND);
    check_runs(&made);
    for (int i = 0; i < 4; i++) {
        REQUIRE_OK(zb_context_unbind(made.context, slots[i]));
        for (int other = 0; other < 4; other++) {
            if (other != i) {
                check_refused(made.context, slots[i], slots[other], ZB_ERROR_UNBOUND);
                CHECK_ERROR_SAYS("swap");
            }
        }
        zt_bind(made.context, slots[i], F32(4), buffers[i]);
        check_runs(&made);
    }
    /* memory that was lent is not bound */
    zb_loan loans[4] = {zt_lend_input(0, &made.x), zt_lend_input(1, &made.state), zt_lend_output(0, &made.y),
                        zt_lend_output(1, &made.next)};
    REQUIRE_OK(zb_infer_with(empty, loans, 4, NULL));
    check_refused(empty, NEXT, STATE, ZB_ERROR_UNBOUND);
    CHECK_ERROR_SAYS("state");
    zb_context_destroy(empty);
    free_recurrent(&made);
}

static void slots_that_do_not_exist(void)
{
    static const zb_slot bad[] = {ZB_INPUT(2), ZB_OUTPUT(2), ZB_INPUT(0x7FFFFFFF), ZB_OUTPUT(0x7FFFFFFF)};
    static const zb_slot good[] = {X, STATE, Y, NEXT};
    recurrent made = make_recurrent();
    check_runs(&made);
    for (size_t i = 0; i < 4; i++) {
        CHECK_STATUS(zb_context_swap(made.context, bad[i], bad[i]), ZB_ERROR_INVALID_ARGUMENT);
        for (size_t j = 0; j < 4; j++) {
            check_refused(made.context, bad[i], good[j], ZB_ERROR_INVALID_ARGUMENT);
        }
    }
    check_runs(&made);
    free_recurrent(&made);
}

static void handles_that_are_no_contexts(void)
{
    recurrent made = make_recurrent();
    zb_tensor_desc desc = F32(4);
    zb_tensor *tensor = zt_wrap(&desc, &made.x);
    zb_context *stale = zt_context(made.model);
    zb_context *others[3];
    zb_context_destroy(stale);
    others[0] = stale;
    others[1] = (void *)tensor;
    others[2] = (void *)made.model;
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(zb_context_swap(others[i], STATE, NEXT), ZB_ERROR_INVALID_HANDLE);
        CHECK_STATUS(zb_context_reset_state(others[i]), ZB_ERROR_INVALID_HANDLE);
    }
    zb_tensor_destroy(tensor);
    check_runs(&made);
    free_recurrent(&made);
}

static void read_only_memory_becomes_no_output(void)
{
    recurrent made = make_recurrent();
    zb_tensor_desc desc = F32(4);
    zb_tensor *constant = NULL;
    REQUIRE_OK(zb_tensor_wrap_const(&desc, made.state.data, BYTES, made.state.capacity, NULL, NULL, &constant));
    REQUIRE_OK(zb_tensor_bind(constant, made.context, STATE));
    zb_tensor_destroy(constant);
    for (int round = 0; round < 2; round++) {
        check_refused(made.context, STATE, NEXT, ZB_ERROR_READ_ONLY);
        CHECK_ERROR_SAYS("next");
        check_runs(&made);
    }
    /* in another input it is as good */
    REQUIRE_OK(zb_context_swap(made.context, STATE, X));
    exchange(&made.state, &made.x);
    check_runs(&made);
    check_refused(made.context, X, NEXT, ZB_ERROR_READ_ONLY);
    REQUIRE_OK(zb_context_swap(made.context, STATE, NEXT));
    exchange(&made.state, &made.next);
    check_runs(&made);
    free_recurrent(&made);
}

static void other_types_cannot_be_swapped(void)
{
    enum { COUNT = 224 * 224 * 3 };
    zb_model *model = zt_open("image_u8");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(COUNT), y = zt_buffer_new(COUNT * sizeof(float));
    zt_bind(context, ZB_INPUT(0), DESC(ZB_DTYPE_U8, 1, 224, 224, 3), &x);
    zt_bind(context, ZB_OUTPUT(0), F32(1, 224, 224, 3), &y);
    for (int round = 0; round < 2; round++) {
        memset(x.data, 7 + round, COUNT);
        check_refused(context, ZB_INPUT(0), ZB_OUTPUT(0), ZB_ERROR_DTYPE_MISMATCH);
        CHECK_ERROR_SAYS("u8");
        REQUIRE_OK(zb_infer(context, NULL));
        CHECK(zt_floats(&y)[0] == (float)(7 + round) && zt_floats(&y)[COUNT - 1] == (float)(7 + round));
        check_direct(context, ZB_INPUT(0), x.data);
        check_direct(context, ZB_OUTPUT(0), y.data);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void other_shapes_cannot_be_swapped(void)
{
    zb_model *model = zt_open("fc13");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(16 * 13 * 4), y = zt_buffer_new(16 * 8 * 4);
    zt_bind(context, ZB_INPUT(0), F32(16, 13), &x);
    zt_bind(context, ZB_OUTPUT(0), F32(16, 8), &y);
    for (int round = 0; round < 2; round++) {
        /* x is 1 in one place, so y has a row of the weights there */
        memset(x.data, 0, x.size);
        zt_floats(&x)[5 * 13 + 2] = 1;
        check_refused(context, ZB_INPUT(0), ZB_OUTPUT(0), ZB_ERROR_SHAPE_MISMATCH);
        CHECK_ERROR_SAYS("13");
        CHECK_ERROR_SAYS("8");
        memset(y.data, 0xCD, y.size);
        REQUIRE_OK(zb_infer(context, NULL));
        for (int column = 0; column < 8; column++) {
            CHECK(zt_floats(&y)[5 * 8 + column] == (float)((column * 7 + 2 * 3) % 11 - 5));
            CHECK(zt_floats(&y)[4 * 8 + column] == 0);
        }
        check_direct(context, ZB_INPUT(0), x.data);
        check_direct(context, ZB_OUTPUT(0), y.data);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

/* Open dimensions: the tensors are alike, and whether they still fit depends on what was asked for since. */
static void a_resize_between_swaps(void)
{
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(48), y = zt_buffer_new(48);
    const int64_t two[2] = {2, 4}, three[2] = {3, 4};
    zt_fill_floats(&x, 1, 1);
    zt_bind(context, ZB_INPUT(0), F32(3, 4), &x);
    zt_bind(context, ZB_OUTPUT(0), F32(3, 4), &y);
    for (float factor = 2; factor <= 16; factor *= 2) {
        REQUIRE_OK(zb_infer(context, NULL));
        for (int i = 0; i < 12; i++) {
            CHECK(zt_floats(&y)[i] == factor * (float)(i + 1));
        }
        REQUIRE_OK(zb_context_swap(context, ZB_INPUT(0), ZB_OUTPUT(0)));
        exchange(&x, &y);
    }
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), two, 2));
    check_refused(context, ZB_INPUT(0), ZB_OUTPUT(0), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_SHAPE_MISMATCH);
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), three, 2));
    REQUIRE_OK(zb_infer(context, NULL));
    CHECK(zt_floats(&y)[11] == 32 * 12);
    check_direct(context, ZB_INPUT(0), x.data);
    check_direct(context, ZB_OUTPUT(0), y.data);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

/* An output may end where a page does; as an input it is read past its end by an engine that does so. */
static void an_output_at_the_end_of_a_page_becomes_no_input(void)
{
    zb_model *model = zt_open("add256");
    zb_context *context = zt_context(model);
    zb_requirements needs = ZB_REQUIREMENTS_INIT;
    zt_buffer x = zt_buffer_new(1024), y = zt_buffer_new(1024), z = zt_buffer_at_page_end(1024);
    zt_fill_floats(&x, 1, 1);
    zt_fill_floats(&y, 1000, 0);
    zt_bind(context, ZB_INPUT(0), F32(256), &x);
    zt_bind(context, ZB_INPUT(1), F32(256), &y);
    zt_bind(context, ZB_OUTPUT(0), F32(256), &z);
    REQUIRE_OK(zb_context_get_requirements(context, ZB_INPUT(0), &needs));
    CHECK((needs.slack > 0) == (zt_is_tflite() != 0));
    for (int round = 0; round < 2; round++) {
        if (needs.slack > 0) {
            check_refused(context, ZB_INPUT(0), ZB_OUTPUT(0), ZB_ERROR_BUFFER_TOO_SMALL);
            check_refused(context, ZB_INPUT(1), ZB_OUTPUT(0), ZB_ERROR_BUFFER_TOO_SMALL);
            CHECK_ERROR_SAYS("page");
        }
        memset(z.data, 0xCD, z.size);
        REQUIRE_OK(zb_infer(context, NULL));
        for (int i = 0; i < 256; i++) {
            CHECK(zt_floats(&z)[i] == (float)(1001 + i));
        }
        check_direct(context, ZB_INPUT(0), x.data);
        check_direct(context, ZB_OUTPUT(0), z.data);
    }
    if (needs.slack == 0) {
        REQUIRE_OK(zb_context_swap(context, ZB_INPUT(0), ZB_OUTPUT(0)));
        REQUIRE_OK(zb_infer(context, NULL));
        CHECK(zt_floats(&x)[255] == 2256);
        check_direct(context, ZB_INPUT(0), z.data);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
    FREE_BUFFER(&z);
}

/* Where copies are allowed, both move: the memory that fits is used in place, the other is copied, wherever it is. */
static void copies_follow_a_swap(void)
{
    zb_model *model = zt_open("recurrent");
    zb_context *context = zt_copying_context(model);
    zt_buffer x = zt_buffer_new(BYTES), fits = zt_buffer_new(BYTES), odd = zt_buffer_at(BYTES, 2);
    float state[4] = {4, 8, 16, 32}, y[4], next[4];
    zt_fill_floats(&x, 1, 1);
    memcpy(odd.data, state, BYTES);
    zt_bind(context, X, F32(4), &x);
    zt_bind(context, STATE, F32(4), &odd);
    zt_bind(context, NEXT, F32(4), &fits);
    for (int round = 0; round < 6; round++) {
        step(zt_floats(&x), state, y, next);
        REQUIRE_OK(zb_infer(context, NULL));
        CHECK_BYTES(round % 2 == 0 ? fits.data : odd.data, next, BYTES);
        CHECK_BYTES(round % 2 == 0 ? odd.data : fits.data, state, BYTES);
        check_staged(context, round % 2 == 0 ? STATE : NEXT, odd.data, BYTES);
        check_direct(context, round % 2 == 0 ? NEXT : STATE, fits.data);
        REQUIRE_OK(zb_context_swap(context, STATE, NEXT));
        memcpy(state, next, BYTES);
        CHECK_GUARDS(&odd);
    }
    CHECK_EQ(stats_of(context).bytes_copied, 6 * BYTES);
    zb_context_destroy(context);
    /* without, such memory is not bound in the first place, so no swap can meet it */
    context = zt_context(model);
    zb_tensor_desc desc = F32(4);
    zb_tensor *tensor = zt_wrap(&desc, &odd);
    CHECK_STATUS(zb_tensor_bind(tensor, context, NEXT), ZB_ERROR_MISALIGNED);
    zb_tensor_destroy(tensor);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&fits);
    FREE_BUFFER(&odd);
}

/* --- a real network: speech or not, by silero_vad; reference data made by onnxruntime's Python API --- */

#define WINDOWS 60u
#define WINDOW_FLOATS 576u
#define SPEECH_STATE_FLOATS 256u

static float larger(float a, float b)
{
    return a > b ? a : b;
}

static float largest_difference(const float *actual, const float *expected, size_t count)
{
    float largest = 0;
    for (size_t i = 0; i < count; i++) {
        largest = larger(fabsf(actual[i] - expected[i]), largest);
    }
    return largest;
}

static void the_state_of_a_speech_detector_goes_round(void)
{
    const float tolerance = 1e-5f;
    zb_model *model = zt_open("silero_vad");
    zb_context *context = zt_context(model);
    float *windows = zt_read_reference("silero_vad.input.bin", WINDOWS * WINDOW_FLOATS * sizeof(float));
    float *outputs = zt_read_reference("silero_vad.onnxruntime.output.bin", WINDOWS * sizeof(float));
    float *states = zt_read_reference("silero_vad.onnxruntime.state.bin", WINDOWS * SPEECH_STATE_FLOATS * sizeof(float));
    zt_buffer rate = zt_buffer_new(sizeof(int64_t)), probability = zt_buffer_new(sizeof(float));
    zt_buffer state = zt_buffer_of_pages(SPEECH_STATE_FLOATS * sizeof(float));
    zt_buffer next = zt_buffer_of_pages(SPEECH_STATE_FLOATS * sizeof(float));
    zb_slot input, state_in, rate_in, output, state_out;
    const int64_t hertz = 16000;
    float worst_output = 0, worst_state = 0;
    size_t count = (size_t)zt_rounds(WINDOWS, 8);
    zb_tensor_desc scalar = zt_desc(ZB_DTYPE_I64, NULL, 0), window_desc = F32(1, WINDOW_FLOATS);
    REQUIRE_OK(zb_model_find_input(model, "input", &input));
    REQUIRE_OK(zb_model_find_input(model, "state", &state_in));
    REQUIRE_OK(zb_model_find_input(model, "sr", &rate_in));
    REQUIRE_OK(zb_model_find_output(model, "output", &output));
    REQUIRE_OK(zb_model_find_output(model, "stateN", &state_out));
    memset(state.data, 0, state.size);
    memcpy(rate.data, &hertz, sizeof hertz);
    zt_bind(context, rate_in, scalar, &rate);
    zt_bind(context, output, F32(1, 1), &probability);
    /* the model leaves every dimension of stateN open: the shape is promised by what is bound */
    zt_bind(context, state_in, F32(2, 1, 128), &state);
    zt_bind(context, state_out, F32(2, 1, 128), &next);
    for (size_t n = 0; n < count; n++) {
        /* lent, at an address of its own each time */
        zt_buffer window = zt_buffer_new(WINDOW_FLOATS * sizeof(float));
        zb_loan loan = zb_loan_input(input, window.data, window.size, window.capacity, &window_desc);
        memcpy(window.data, windows + n * WINDOW_FLOATS, window.size);
        memset(probability.data, 0xFF, probability.size);
        memset(next.data, 0xFF, next.size);
        protect(&state, PROT_READ);
        REQUIRE_OK(zb_infer_with(context, &loan, 1, NULL));
        protect(&state, PROT_READ | PROT_WRITE);
        CHECK_FLOATS(zt_floats(&probability), outputs + n, 1, tolerance);
        CHECK_FLOATS(zt_floats(&next), states + n * SPEECH_STATE_FLOATS, SPEECH_STATE_FLOATS, tolerance);
        worst_output = larger(worst_output, largest_difference(zt_floats(&probability), outputs + n, 1));
        worst_state = larger(worst_state, largest_difference(zt_floats(&next), states + n * SPEECH_STATE_FLOATS,
                                                             SPEECH_STATE_FLOATS));
        check_direct(context, input, window.data);
        check_direct(context, rate_in, rate.data);
        check_direct(context, state_in, state.data);
        check_direct(context, state_out, next.data);
        check_direct(context, output, probability.data);
        protect(&state, PROT_NONE);
        protect(&next, PROT_NONE);
        REQUIRE_OK(zb_context_swap(context, state_in, state_out));
        protect(&state, PROT_READ | PROT_WRITE);
        protect(&next, PROT_READ | PROT_WRITE);
        exchange(&state, &next);
        CHECK_GUARDS(&next);
        FREE_BUFFER(&window);
    }
    printf("        %zu windows; largest difference: probability %g, state %g\n", count, (double)worst_output,
           (double)worst_state);
    zb_context_stats stats = stats_of(context);
    CHECK_EQ(stats.runs, count);
    CHECK_EQ(stats.bytes_copied, 0);
    CHECK_EQ(stats.allocations, 0);
    /* each window leaves a state of its own, or one that was lost would not show */
    for (size_t n = 1; n < WINDOWS; n++) {
        const float *after = states + n * SPEECH_STATE_FLOATS;
        CHECK(largest_difference(after, after - SPEECH_STATE_FLOATS, SPEECH_STATE_FLOATS) > 0.1f);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&rate);
    FREE_BUFFER(&probability);
    FREE_BUFFER(&state);
    FREE_BUFFER(&next);
    free(windows);
    free(outputs);
    free(states);
}

/* --- state inside the engine, and its reset --- */

#define STREAM_STEPS 50u
#define FRAME_BYTES 120u
#define FEATURE_BYTES 64u

/* Frames of a recorded stream, and what TFLite's own API computes for them from a fresh start. */
typedef struct stream {
    zb_model *model;
    zb_context *context;
    unsigned char *frames;
    unsigned char *features;
} stream;

static stream open_stream(void)
{
    stream made;
    made.model = zt_open("okay_nabu_features");
    made.context = zt_context(made.model);
    made.frames = zt_read_reference("okay_nabu.input.bin", STREAM_STEPS * FRAME_BYTES);
    made.features = zt_read_reference("okay_nabu_features.tflite-xnnpack.output.bin", STREAM_STEPS * FEATURE_BYTES);
    return made;
}

static void close_stream(stream *made)
{
    zb_context_destroy(made->context);
    zb_model_destroy(made->model);
    free(made->frames);
    free(made->features);
}

/* Steps of the stream from its beginning, through bound buffers. */
static void run_bound(const stream *made, const zt_buffer *x, const zt_buffer *y, size_t steps)
{
    for (size_t n = 0; n < steps; n++) {
        memcpy(x->data, made->frames + n * FRAME_BYTES, FRAME_BYTES);
        memset(y->data, 0xCD, FEATURE_BYTES);
        REQUIRE_OK(zb_infer(made->context, NULL));
        CHECK_BYTES(y->data, made->features + n * FEATURE_BYTES, FEATURE_BYTES);
        check_direct(made->context, ZB_INPUT(0), x->data);
        check_direct(made->context, ZB_OUTPUT(0), y->data);
        CHECK_GUARDS(y);
    }
}

/* The same at new addresses in every step; a second context of the same model does the same without any reset. */
static void run_lent(const stream *made, zb_context *fresh, size_t steps)
{
    for (size_t n = 0; n < steps; n++) {
        zt_buffer x = zt_buffer_new(FRAME_BYTES), y = zt_buffer_new(FEATURE_BYTES), other = zt_buffer_new(FEATURE_BYTES);
        zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
        zb_loan of_fresh[2] = {zt_lend_input(0, &x), zt_lend_output(0, &other)};
        memcpy(x.data, made->frames + n * FRAME_BYTES, FRAME_BYTES);
        REQUIRE_OK(zb_infer_with(made->context, loans, 2, NULL));
        CHECK_BYTES(y.data, made->features + n * FEATURE_BYTES, FEATURE_BYTES);
        check_direct(made->context, ZB_INPUT(0), x.data);
        check_direct(made->context, ZB_OUTPUT(0), y.data);
        if (fresh != NULL) {
            REQUIRE_OK(zb_infer_with(fresh, of_fresh, 2, NULL));
            CHECK_BYTES(y.data, other.data, FEATURE_BYTES);
        }
        FREE_BUFFER(&x);
        FREE_BUFFER(&y);
        FREE_BUFFER(&other);
    }
}

static void bind_stream(const stream *made, const zt_buffer *x, const zt_buffer *y)
{
    zt_bind(made->context, ZB_INPUT(0), DESC(ZB_DTYPE_I8, 1, 3, 40), x);
    zt_bind(made->context, ZB_OUTPUT(0), DESC(ZB_DTYPE_I8, 1, 1, 1, 64), y);
}

static void a_stream_begins_anew_after_a_reset(void)
{
    static const size_t steps_before[] = {1, 7, STREAM_STEPS};
    stream made = open_stream();
    zt_buffer x = zt_buffer_new(FRAME_BYTES), y = zt_buffer_new(FEATURE_BYTES);
    size_t runs = 0;
    bind_stream(&made, &x, &y);
    for (size_t i = 0; i < sizeof steps_before / sizeof *steps_before; i++) {
        run_bound(&made, &x, &y, steps_before[i]);
        REQUIRE_OK(zb_context_reset_state(made.context));
        runs += steps_before[i];
    }
    run_bound(&made, &x, &y, STREAM_STEPS);
    zb_context_stats stats = stats_of(made.context);
    CHECK_EQ(stats.runs, runs + STREAM_STEPS);
    CHECK_EQ(stats.bytes_copied, 0);
    CHECK_EQ(stats.allocations, 0);
    CHECK_EQ(stats.rebinds, 2 * 4);
    close_stream(&made);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

/* Without the reset the stream goes on, so the test above can fail. */
static void a_stream_goes_on_without_a_reset(void)
{
    stream made = open_stream();
    zt_buffer x = zt_buffer_new(FRAME_BYTES), y = zt_buffer_new(FEATURE_BYTES);
    bind_stream(&made, &x, &y);
    run_bound(&made, &x, &y, 7);
    memcpy(x.data, made.frames, FRAME_BYTES);
    REQUIRE_OK(zb_infer(made.context, NULL));
    CHECK(memcmp(y.data, made.features, FEATURE_BYTES) != 0);
    close_stream(&made);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void buffers_move_before_and_after_a_reset(void)
{
    stream made = open_stream();
    run_lent(&made, NULL, 9);
    REQUIRE_OK(zb_context_reset_state(made.context));
    zb_context *fresh = zt_context(made.model);
    run_lent(&made, fresh, STREAM_STEPS);
    zb_context_destroy(fresh);
    CHECK_EQ(stats_of(made.context).bytes_copied, 0);
    /* what was lent before a reset is forgotten, what is bound is not */
    REQUIRE_OK(zb_context_reset_state(made.context));
    CHECK_STATUS(zb_infer(made.context, NULL), ZB_ERROR_UNBOUND);
    zt_buffer x = zt_buffer_new(FRAME_BYTES), y = zt_buffer_new(FEATURE_BYTES);
    bind_stream(&made, &x, &y);
    run_lent(&made, NULL, 5);
    CHECK(zt_is_untouched(&x) && zt_is_untouched(&y));
    REQUIRE_OK(zb_context_reset_state(made.context));
    run_bound(&made, &x, &y, STREAM_STEPS);
    close_stream(&made);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

/* A reset is of one context; the engine itself, used directly, agrees with both. */
static void other_contexts_keep_their_state(void)
{
    char *path = zt_model_path("accumulator");
    raw_tflite *raw = raw_tflite_open(path, 1);
    zb_model *model = zt_open("accumulator");
    zb_context *kept = zt_context(model), *reset = zt_context(model);
    zt_buffer x = zt_buffer_new(32), y = zt_buffer_new(32), z = zt_buffer_new(32);
    size_t size = 0;
    float since = 0;
    zt_bind(kept, ZB_INPUT(0), F32(8), &x);
    zt_bind(kept, ZB_OUTPUT(0), F32(8), &y);
    zt_bind(reset, ZB_INPUT(0), F32(8), &x);
    zt_bind(reset, ZB_OUTPUT(0), F32(8), &z);
    raw_tflite_allocate(raw);
    for (int round = 1; round <= 30; round++) {
        zt_fill_floats(&x, (float)round, 0.5f);
        if (round % 7 == 0) {
            REQUIRE_OK(zb_context_reset_state(reset));
            since = 0;
        }
        since += (float)round;
        REQUIRE_OK(zb_infer(kept, NULL));
        REQUIRE_OK(zb_infer(reset, NULL));
        raw_tflite_write(raw, 0, x.data, 32);
        raw_tflite_invoke(raw);
        const void *sum = raw_tflite_output(raw, 0, &size);
        CHECK_EQ(size, 32);
        CHECK_BYTES(y.data, sum, 32);
        CHECK(zt_floats(&y)[0] == (float)(round * (round + 1) / 2));
        CHECK(zt_floats(&z)[0] == since);
        check_direct(reset, ZB_INPUT(0), x.data);
        check_direct(reset, ZB_OUTPUT(0), z.data);
    }
    raw_tflite_close(raw);
    zb_context_destroy(kept);
    zb_context_destroy(reset);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
    FREE_BUFFER(&z);
    free(path);
}

/* The path of the model's file may be gone, and its handle too. */
static void a_reset_after_the_model_was_destroyed(void)
{
    char *path = zt_model_path("accumulator");
    size_t size = 0;
    zt_releases releases = {0, NULL, 0};
    void *bytes = zt_read(path, &size);
    zb_model *model = NULL;
    zt_buffer x = zt_buffer_new(32), y = zt_buffer_new(32);
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
    REQUIRE_OK(zb_model_open_bytes(bytes, size, zt_count_release, &releases, NULL, &model));
    zb_context *context = zt_context(model);
    REQUIRE_OK(zb_model_destroy(model));
    zt_fill_floats(&x, 3, 0);
    for (int round = 0; round < 3; round++) {
        REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
        REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
        CHECK(zt_floats(&y)[7] == 6);
        REQUIRE_OK(zb_context_reset_state(context));
    }
    CHECK_EQ(releases.count, 0);
    REQUIRE_OK(zb_context_destroy(context));
    CHECK_EQ(releases.count, 1);
    free(bytes);
    free(path);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

/* --- what a reset leaves, on both engines: without state nothing changes but views --- */

static void a_reset_ends_views_and_nothing_else(void)
{
    recurrent made = make_recurrent();
    zb_binding_report before[4], after[4];
    static const zb_slot slots[4] = {X, STATE, Y, NEXT};
    const void *view = NULL;
    zb_tensor_desc desc, expected = F32(4);
    size_t size = 0;
    REQUIRE_OK(zb_context_unbind(made.context, Y));
    for (int round = 0; round < 3; round++) {
        float y[4], next[4];
        zt_fill_floats(&made.x, (float)round, 1);
        step(zt_floats(&made.x), zt_floats(&made.state), y, next);
        REQUIRE_OK(zb_infer(made.context, NULL));
        REQUIRE_OK(zb_context_output_view(made.context, Y, &view, NULL, NULL));
        CHECK_BYTES(view, y, BYTES);
        CHECK_BYTES(made.next.data, next, BYTES);
        for (int i = 0; i < 4; i++) {
            before[i] = report_of(made.context, slots[i]);
        }
        /* also of the output that is in the engine's memory, which is elsewhere after a reset */
        CHECK_EQ(before[2].path, ZB_PATH_UNBOUND);
        CHECK_ADDRESS(before[2].engine_address, view);
        zb_context_stats stats = stats_of(made.context), same;
        REQUIRE_OK(zb_context_reset_state(made.context));
        check_no_view(made.context, Y);
        check_no_view(made.context, NEXT);
        for (int i = 0; i < 4; i++) {
            after[i] = report_of(made.context, slots[i]);
            CHECK(is_same_report(&before[i], &after[i]));
            REQUIRE_OK(zb_context_get_slot_desc(made.context, slots[i], &desc, &size));
            CHECK(zt_same_desc(&desc, &expected) && size == BYTES);
        }
        same = stats_of(made.context);
        CHECK(memcmp(&stats, &same, sizeof stats) == 0);
        if (round == 1) {
            REQUIRE_OK(zb_context_reset_state(made.context));
        }
    }
    /* a swap and a reset, in both orders */
    zt_bind(made.context, Y, F32(4), &made.y);
    REQUIRE_OK(zb_context_swap(made.context, STATE, NEXT));
    exchange(&made.state, &made.next);
    REQUIRE_OK(zb_context_reset_state(made.context));
    check_runs(&made);
    REQUIRE_OK(zb_context_reset_state(made.context));
    REQUIRE_OK(zb_context_swap(made.context, STATE, NEXT));
    exchange(&made.state, &made.next);
    check_runs(&made);
    CHECK_EQ(stats_of(made.context).runs, 5);
    CHECK_EQ(stats_of(made.context).bytes_copied, 0);
    free_recurrent(&made);
}

static void a_reset_before_any_run(void)
{
    recurrent made = make_recurrent();
    zb_context *empty = zt_context(made.model);
    REQUIRE_OK(zb_context_reset_state(empty));
    REQUIRE_OK(zb_context_prepare(empty));
    REQUIRE_OK(zb_context_reset_state(empty));
    CHECK_STATUS(zb_infer(empty, NULL), ZB_ERROR_UNBOUND);
    REQUIRE_OK(zb_context_reset_state(empty));
    zb_context_destroy(empty);
    REQUIRE_OK(zb_context_reset_state(made.context));
    check_runs(&made);
    free_recurrent(&made);
}

/* At the declared shape it cannot be planned. */
static void a_reset_before_a_plan_that_works(void)
{
    zb_model *model = zt_open("melspectrogram");
    zb_context *context = zt_context(model);
    const int64_t dims[2] = {1, 1280};
    zt_buffer x = zt_buffer_new(1280 * 4);
    zb_loan loan = zt_lend_input(0, &x);
    const void *view = NULL;
    size_t size = 0;
    memset(x.data, 0, x.size);
    CHECK(zb_context_prepare(context) != ZB_OK);
    REQUIRE_OK(zb_context_reset_state(context));
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), dims, 2));
    REQUIRE_OK(zb_context_reset_state(context));
    for (int round = 0; round < 2; round++) {
        REQUIRE_OK(zb_infer_with(context, &loan, 1, NULL));
        REQUIRE_OK(zb_context_output_view(context, ZB_OUTPUT(0), &view, &size, NULL));
        CHECK_EQ(size, 5 * 32 * 4);
        REQUIRE_OK(zb_context_reset_state(context));
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
}

static void check_batch(zb_context *context, int64_t rows, const zb_tensor_desc *desc)
{
    size_t size = (size_t)rows * 16;
    zt_buffer x = zt_buffer_new(size), y = zt_buffer_new(size);
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
    loans[0].desc = desc;
    zt_fill_floats(&x, 1, 1);
    REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
    for (size_t i = 0; i < size / 4; i++) {
        CHECK(zt_floats(&y)[i] == (float)(2 * (i + 1)));
    }
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void check_shape(zb_context *context, int64_t rows)
{
    zb_tensor_desc desc, expected = F32(rows, 4);
    REQUIRE_OK(zb_context_get_slot_desc(context, ZB_INPUT(0), &desc, NULL));
    CHECK(zt_same_desc(&desc, &expected));
}

static void shapes_survive_a_reset(void)
{
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    const int64_t three[2] = {3, 4}, seven[2] = {7, 4};
    zb_tensor_desc five = F32(5, 4);
    zb_tensor_desc found, expected = F32(3, 4);
    zt_buffer x = zt_buffer_new(48), y = zt_buffer_new(48);
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), three, 2));
    zt_bind(context, ZB_INPUT(0), F32(3, 4), &x);
    zt_bind(context, ZB_OUTPUT(0), F32(3, 4), &y);
    zt_fill_floats(&x, 1, 1);
    for (int round = 0; round < 3; round++) {
        memset(y.data, 0xCD, y.size);
        REQUIRE_OK(zb_infer(context, NULL));
        CHECK(zt_floats(&y)[0] == 2 && zt_floats(&y)[11] == 24);
        check_direct(context, ZB_INPUT(0), x.data);
        check_direct(context, ZB_OUTPUT(0), y.data);
        REQUIRE_OK(zb_context_reset_state(context));
        check_shape(context, 3);
        REQUIRE_OK(zb_context_get_slot_desc(context, ZB_OUTPUT(0), &found, NULL));
        CHECK(zt_same_desc(&found, &expected));
    }
    REQUIRE_OK(zb_context_unbind(context, ZB_INPUT(0)));
    REQUIRE_OK(zb_context_unbind(context, ZB_OUTPUT(0)));
    /* a shape that came with a loan */
    check_batch(context, 5, &five);
    REQUIRE_OK(zb_context_reset_state(context));
    check_shape(context, 5);
    check_batch(context, 5, NULL);
    /* one that is asked for, and not planned when the reset comes */
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), seven, 2));
    REQUIRE_OK(zb_context_reset_state(context));
    check_shape(context, 7);
    check_batch(context, 7, NULL);
    check_shape(context, 7);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

/* Planning fails after the reset; the shapes that worked are in force again, in the new interpreter. */
static void a_reset_before_a_resize_that_fails(void)
{
    zb_model *model = zt_open("conv_dyn");
    zb_context *context = zt_context(model);
    const int64_t good[4] = {1, 8, 8, 1}, bad[4] = {1, 2, 2, 1};
    zt_buffer x = zt_buffer_new(256), y = zt_buffer_new(144);
    zt_fill_floats(&x, 1, 0);
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), good, 4));
    zt_bind(context, ZB_INPUT(0), F32(1, 8, 8, 1), &x);
    zt_bind(context, ZB_OUTPUT(0), F32(1, 6, 6, 1), &y);
    REQUIRE_OK(zb_infer(context, NULL));
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), bad, 4));
    REQUIRE_OK(zb_context_reset_state(context));
    CHECK_STATUS(zb_context_prepare(context), ZB_ERROR_SHAPE_MISMATCH);
    for (int round = 0; round < 2; round++) {
        memset(y.data, 0xCD, y.size);
        REQUIRE_OK(zb_infer(context, NULL));
        for (int i = 0; i < 36; i++) {
            CHECK(zt_floats(&y)[i] == 45);
        }
        check_direct(context, ZB_INPUT(0), x.data);
        check_direct(context, ZB_OUTPUT(0), y.data);
        REQUIRE_OK(zb_context_reset_state(context));
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

/* The engine computed something else than the host had memory for. */
static void a_reset_after_a_run_that_failed(void)
{
    zb_model *model = zt_open("nonzero");
    zb_context *context = zt_copying_context(model);
    zt_buffer x = zt_buffer_new(64), y = zt_buffer_new(16);
    const void *view = NULL;
    const int64_t places[2] = {3, 9};
    zt_bind(context, ZB_INPUT(0), F32(16), &x);
    zt_bind(context, ZB_OUTPUT(0), DESC(ZB_DTYPE_I64, 2, 1), &y);
    for (int round = 0; round < 3; round++) {
        memset(x.data, 0, x.size);
        zt_floats(&x)[3] = 1;
        CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_SHAPE_MISMATCH);
        REQUIRE_OK(zb_context_reset_state(context));
        CHECK_STATUS(zb_context_output_view(context, ZB_OUTPUT(0), &view, NULL, NULL), ZB_ERROR_UNBOUND);
        zt_floats(&x)[9] = 1;
        memset(y.data, 0xCD, y.size);
        REQUIRE_OK(zb_infer(context, NULL));
        CHECK_BYTES(y.data, places, 16);
        /* a run that was refused started nothing */
        REQUIRE_OK(zb_context_unbind(context, ZB_INPUT(0)));
        CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_UNBOUND);
        REQUIRE_OK(zb_context_reset_state(context));
        zt_bind(context, ZB_INPUT(0), F32(16), &x);
        memset(y.data, 0xCD, y.size);
        REQUIRE_OK(zb_infer(context, NULL));
        CHECK_BYTES(y.data, places, 16);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

/* Memory of zerobind's own for copies is made for a plan, and a reset is a new one. */
static void copies_go_on_after_a_reset(void)
{
    zb_model *model = zt_open("add4");
    zb_context *context = zt_copying_context(model);
    zt_buffer x = zt_buffer_at(BYTES, 1), y = zt_buffer_new(BYTES), z = zt_buffer_at(BYTES, 1);
    const float sums[4] = {11, 22, 33, 44};
    zt_fill_floats(&x, 1, 1);
    zt_fill_floats(&y, 10, 10);
    zt_bind(context, ZB_INPUT(0), F32(4), &x);
    zt_bind(context, ZB_INPUT(1), F32(4), &y);
    zt_bind(context, ZB_OUTPUT(0), F32(4), &z);
    for (int round = 0; round < 3; round++) {
        memset(z.data, 0xCD, z.size);
        REQUIRE_OK(zb_infer(context, NULL));
        CHECK_BYTES(z.data, sums, BYTES);
        check_staged(context, ZB_INPUT(0), x.data, BYTES);
        check_direct(context, ZB_INPUT(1), y.data);
        check_staged(context, ZB_OUTPUT(0), z.data, BYTES);
        REQUIRE_OK(zb_context_reset_state(context));
    }
    CHECK_EQ(stats_of(context).bytes_copied, 6 * BYTES);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
    FREE_BUFFER(&z);
}

/* Bound before the reset and let go after it, without a run between: the pages may be unmapped at once. */
static void pages_vanish_between_a_reset_and_the_next_run(void)
{
    stream made = open_stream();
    for (int round = 0; round < 5; round++) {
        zt_buffer x = zt_buffer_of_pages(FRAME_BYTES), y = zt_buffer_of_pages(FEATURE_BYTES);
        bind_stream(&made, &x, &y);
        run_bound(&made, &x, &y, 3);
        REQUIRE_OK(zb_context_reset_state(made.context));
        REQUIRE_OK(zb_context_unbind(made.context, ZB_INPUT(0)));
        REQUIRE_OK(zb_context_unbind(made.context, ZB_OUTPUT(0)));
        FREE_BUFFER(&x);
        FREE_BUFFER(&y);
        run_lent(&made, NULL, 3);
        REQUIRE_OK(zb_context_reset_state(made.context));
    }
    close_stream(&made);
}

/* --- many --- */

static size_t resident_bytes(void)
{
    unsigned long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    REQUIRE(file != NULL && fscanf(file, "%lu %lu", &total, &resident) == 2);
    fclose(file);
    return (size_t)resident * zt_page_size();
}

static void reset_often(const stream *made, const zt_buffer *x, const zt_buffer *y, int times)
{
    for (int i = 0; i < times; i++) {
        run_bound(made, x, y, 2);
        REQUIRE_OK(zb_context_reset_state(made->context));
    }
}

static void many_resets_keep_nothing(void)
{
    stream made = open_stream();
    zt_buffer x = zt_buffer_new(FRAME_BYTES), y = zt_buffer_new(FEATURE_BYTES);
    int resets = zt_rounds(200, 5);
    bind_stream(&made, &x, &y);
    /* an allocator keeps some of what it is given back */
    reset_often(&made, &x, &y, zt_rounds(100, 1));
    size_t before = resident_bytes();
    reset_often(&made, &x, &y, resets);
    size_t after = resident_bytes(), grown = after > before ? after - before : 0;
    printf("        %d resets: resident memory grew by %zu KiB\n", resets, grown / 1024);
    if (!zt_under_memcheck()) {
        /* an interpreter of this model alone is some 100 KiB */
        CHECK(grown < (size_t)4 << 20);
    }
    CHECK_EQ(zb_live_objects(ZB_KIND_MODEL), 1);
    CHECK_EQ(zb_live_objects(ZB_KIND_CONTEXT), 1);
    CHECK_EQ(zb_live_objects(ZB_KIND_TENSOR), 2);
    close_stream(&made);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static const zt_test tests[] = {
    ON_BOTH(state_goes_round_without_a_copy),
    ON_BOTH(only_the_engine_touches_state_that_goes_round),
    ON_BOTH(state_goes_round_under_loans),
    ON_BOTH(a_swap_before_any_run),
    ON_BOTH(the_report_after_a_swap_is_of_the_last_run),
    ON_BOTH(a_swap_ends_views),
    ON_BOTH(two_inputs_change_places),
    ON_BOTH(two_outputs_change_places),
    ON_BOTH(all_slots_go_round),
    ON_BOTH(a_slot_with_itself),
    ON_BOTH(one_tensor_at_both_slots),
    ON_BOTH(an_unbound_slot_cannot_be_swapped),
    ON_BOTH(slots_that_do_not_exist),
    ON_BOTH(handles_that_are_no_contexts),
    ON_BOTH(read_only_memory_becomes_no_output),
    ON_BOTH(other_types_cannot_be_swapped),
    ON_BOTH(other_shapes_cannot_be_swapped),
    ON_BOTH(a_resize_between_swaps),
    ON_BOTH(an_output_at_the_end_of_a_page_becomes_no_input),
    ON_BOTH(copies_follow_a_swap),
    ON_ONNXRUNTIME(the_state_of_a_speech_detector_goes_round),
    ON_TFLITE(a_stream_begins_anew_after_a_reset),
    ON_TFLITE(a_stream_goes_on_without_a_reset),
    ON_TFLITE(buffers_move_before_and_after_a_reset),
    ON_TFLITE(other_contexts_keep_their_state),
    ON_TFLITE(a_reset_after_the_model_was_destroyed),
    ON_BOTH(a_reset_ends_views_and_nothing_else),
    ON_BOTH(a_reset_before_any_run),
    ON_TFLITE(a_reset_before_a_plan_that_works),
    ON_BOTH(shapes_survive_a_reset),
    ON_TFLITE(a_reset_before_a_resize_that_fails),
    ON_BOTH(a_reset_after_a_run_that_failed),
    ON_BOTH(copies_go_on_after_a_reset),
    ON_TFLITE(pages_vanish_between_a_reset_and_the_next_run),
    ON_TFLITE(many_resets_keep_nothing),
};

ZT_MAIN(tests)
