/*
 * State that a guest keeps in its own memory and gives to the next run, while the memory moves before each: the offsets of two
 * tensors are exchanged, nothing is copied. And state inside the engine, which a guest can end, and shapes, which it can choose.
 */
#include "harness.h"

#include "forward.h"

/* bytes of each growth, of memories with pages of one byte: the larger a memory, the longer its pages take to be moved */
#define GROWTH 4096
#define SPEECH_WINDOWS 60u
#define SPEECH_FLOATS 576u
#define SPEECH_STATE 256u
#define SPEECH_TOLERANCE 1e-4f

static float *floats_at(forward *guest, uint64_t offset)
{
    return forward_at(guest, offset);
}

static void exchange(uint64_t *a, uint64_t *b)
{
    uint64_t kept = *a;
    *a = *b;
    *b = kept;
}

/* y = x + 2 * state, next = x + state / 2; exact, since a state soon repeats every other run */
static void a_small_network_keeps_its_state_while_memory_moves(void)
{
    forward guest;
    moving_memory memory = {0, 0};
    wasm_engine_t *engine = forward_moving_engine(&memory);
    char *path = zt_model_path("recurrent");
    const unsigned long rounds = forward_rounds(10000);
    uint64_t state = FORWARD_FREE, next = state + 64;
    const uint64_t x = next + 64, y = x + 64;
    float expected_state = 0;
    forward_open(&guest, engine, NULL, MEMORY_BYTES);
    uint32_t context = forward_context(&guest, path);
    unsigned long moves_before = memory.moves;
    for (unsigned long n = 0; n < rounds; n++) {
        float given = (float)(n % 4), expected_y = given + 2 * expected_state;
        for (int i = 0; i < 4; i++) {
            floats_at(&guest, x)[i] = given;
        }
        forward_grow(&guest, GROWTH);
        const forward_loan loans[4] = {
            {ZB_INPUT(0), 0, x, 16, 0}, {ZB_INPUT(1), 0, state, 16, 0}, {ZB_OUTPUT(0), 0, y, 16, 0}, {ZB_OUTPUT(1), 0, next, 16, 0}};
        REQUIRE_OK(forward_infer(&guest, context, loans, 4));
        expected_state = given + expected_state / 2;
        for (int i = 0; i < 4; i++) {
            REQUIRE(floats_at(&guest, y)[i] == expected_y && floats_at(&guest, next)[i] == expected_state);
        }
        exchange(&state, &next);
    }
    CHECK_EQ(memory.moves - moves_before, rounds);
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    CHECK_OK(zb_context_get_stats(zbw_guest_context(guest.guest, context), &stats));
    CHECK_EQ(stats.runs, rounds);
    CHECK_EQ(stats.bytes_copied, 0);
    CHECK_EQ(stats.allocations, 0);
    forward_close(&guest);
    wasm_engine_delete(engine);
    free(path);
}

/* --- silero_vad: speech or not, in windows of sound --- */

/* The same network on memory that never moves. */
typedef struct native {
    zb_model *model;
    zb_context *context;
    zt_buffer window;
    zt_buffer rate;
    zt_buffer probability;
    zt_buffer states[2];
} native;

static void open_native(native *native)
{
    const int64_t hertz = 16000;
    native->model = zt_open("silero_vad");
    native->context = zt_context(native->model);
    native->window = zt_buffer_new(SPEECH_FLOATS * sizeof(float));
    native->rate = zt_buffer_new(sizeof hertz);
    native->probability = zt_buffer_new(sizeof(float));
    for (int i = 0; i < 2; i++) {
        native->states[i] = zt_buffer_new(SPEECH_STATE * sizeof(float));
    }
    memset(native->states[0].data, 0, native->states[0].size);
    memcpy(native->rate.data, &hertz, sizeof hertz);
    zt_bind(native->context, ZB_INPUT(0), F32(1, SPEECH_FLOATS), &native->window);
    zt_bind(native->context, ZB_INPUT(1), F32(2, 1, 128), &native->states[0]);
    zt_bind(native->context, ZB_INPUT(2), zt_desc(ZB_DTYPE_I64, NULL, 0), &native->rate);
    zt_bind(native->context, ZB_OUTPUT(0), F32(1, 1), &native->probability);
    zt_bind(native->context, ZB_OUTPUT(1), F32(2, 1, 128), &native->states[1]);
}

static void step_native(native *native, const float *window)
{
    memcpy(native->window.data, window, native->window.size);
    REQUIRE_OK(zb_infer(native->context, NULL));
    REQUIRE_OK(zb_context_swap(native->context, ZB_INPUT(1), ZB_OUTPUT(1)));
    zt_buffer kept = native->states[0];
    native->states[0] = native->states[1];
    native->states[1] = kept;
}

static void close_native(native *native)
{
    zb_context_destroy(native->context);
    zb_model_destroy(native->model);
    FREE_BUFFER(&native->window);
    FREE_BUFFER(&native->rate);
    FREE_BUFFER(&native->probability);
    FREE_BUFFER(&native->states[0]);
    FREE_BUFFER(&native->states[1]);
}

static void put_desc(forward *guest, uint64_t offset, zb_tensor_desc desc)
{
    memcpy(forward_at(guest, offset), &desc, sizeof desc);
}

static void a_speech_network_keeps_its_state_while_memory_moves(void)
{
    forward guest;
    native native;
    moving_memory memory = {0, 0};
    wasm_engine_t *engine = forward_moving_engine(&memory);
    char *path = zt_model_path("silero_vad");
    float *windows = zt_read_reference("silero_vad.input.bin", SPEECH_WINDOWS * SPEECH_FLOATS * sizeof(float));
    float *expected = zt_read_reference("silero_vad.onnxruntime.output.bin", SPEECH_WINDOWS * sizeof(float));
    const unsigned long rounds = forward_rounds(1000);
    const int64_t hertz = 16000;
    const uint64_t descs = FORWARD_FREE, window = descs + 1024, rate = window + 2304, probability = rate + 64;
    uint64_t state = probability + 64, next = state + 1024;
    forward_open(&guest, engine, NULL, MEMORY_BYTES);
    open_native(&native);
    uint32_t context = forward_context(&guest, path);
    memcpy(forward_at(&guest, rate), &hertz, sizeof hertz);
    /* every dimension of these is open in the model: the guest says what they are */
    put_desc(&guest, descs, F32(1, SPEECH_FLOATS));
    put_desc(&guest, descs + 136, F32(2, 1, 128));
    put_desc(&guest, descs + 272, F32(1, 1));
    for (unsigned long n = 0; n < rounds; n++) {
        const float *sound = windows + n % SPEECH_WINDOWS * SPEECH_FLOATS;
        memcpy(forward_at(&guest, window), sound, SPEECH_FLOATS * sizeof(float));
        forward_grow(&guest, GROWTH);
        const forward_loan loans[5] = {{ZB_INPUT(0), 0, window, SPEECH_FLOATS * 4, descs},
                                       {ZB_INPUT(1), 0, state, SPEECH_STATE * 4, descs + 136},
                                       {ZB_INPUT(2), 0, rate, sizeof hertz, 0},
                                       {ZB_OUTPUT(0), 0, probability, 4, descs + 272},
                                       {ZB_OUTPUT(1), 0, next, SPEECH_STATE * 4, descs + 136}};
        REQUIRE_OK(forward_infer(&guest, context, loans, 5));
        step_native(&native, sound);
        REQUIRE(CHECK_BYTES(forward_at(&guest, probability), native.probability.data, 4));
        REQUIRE(CHECK_BYTES(forward_at(&guest, next), native.states[0].data, SPEECH_STATE * 4));
        if (n < SPEECH_WINDOWS) {
            REQUIRE(CHECK_FLOATS(floats_at(&guest, probability), expected + n, 1, SPEECH_TOLERANCE));
        }
        exchange(&state, &next);
    }
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    CHECK_OK(zb_context_get_stats(zbw_guest_context(guest.guest, context), &stats));
    CHECK_EQ(stats.runs, rounds);
    CHECK_EQ(stats.bytes_copied, 0);
    CHECK_EQ(stats.allocations, 0);
    printf("        %lu windows, memory moved %lu times\n", rounds, memory.moves);
    forward_close(&guest);
    close_native(&native);
    wasm_engine_delete(engine);
    free(windows);
    free(expected);
    free(path);
}

/* --- state inside the engine, and shapes --- */

static int32_t run_accumulator(forward *guest, uint32_t context)
{
    const forward_loan loans[2] = {{ZB_INPUT(0), 0, FORWARD_FREE, 32, 0}, {ZB_OUTPUT(0), 0, FORWARD_FREE + 64, 32, 0}};
    for (int i = 0; i < 8; i++) {
        floats_at(guest, FORWARD_FREE)[i] = 1;
    }
    forward_grow(guest, GROWTH);
    return forward_infer(guest, context, loans, 2);
}

static void a_guest_makes_the_engine_forget(void)
{
    forward guest;
    moving_memory memory = {0, 0};
    wasm_engine_t *engine = forward_moving_engine(&memory);
    char *path = zt_model_path("accumulator");
    forward_open(&guest, engine, NULL, MEMORY_BYTES);
    uint32_t context = forward_context(&guest, path);
    for (int i = 1; i <= 6; i++) {
        REQUIRE_OK(run_accumulator(&guest, context));
        /* 1 2 3, and after the reset 1 2 3 again */
        CHECK(floats_at(&guest, FORWARD_FREE + 64)[7] == (float)((i - 1) % 3 + 1));
        if (i == 3) {
            CHECK_EQ(CALL(&guest, "context_reset_state", context), ZB_OK);
        }
    }
    forward_close(&guest);
    wasm_engine_delete(engine);
    free(path);
}

/* y = 2 x, with as many rows as the guest wants */
static void a_guest_chooses_the_shape(void)
{
    enum { RESULT = 128, DESC = 256, IN = FORWARD_FREE, OUT = FORWARD_FREE + 4096 };
    forward guest;
    moving_memory memory = {0, 0};
    wasm_engine_t *engine = forward_moving_engine(&memory);
    char *path = zt_model_path("batch");
    forward_open(&guest, engine, NULL, MEMORY_BYTES);
    uint32_t context = forward_context(&guest, path);
    for (int64_t rows = 1; rows <= 40; rows += 13) {
        const int64_t dims[2] = {rows, 4};
        const uint64_t size = (uint64_t)rows * 16;
        const zb_tensor_desc wanted = F32(rows, 4);
        memcpy(forward_at(&guest, RESULT), dims, sizeof dims);
        REQUIRE_OK(CALL(&guest, "context_resize_input", context, 0, RESULT, 2));
        REQUIRE_OK(CALL(&guest, "context_requirements", context, 0, RESULT));
        CHECK_EQ(forward_u32(&guest, RESULT), size);
        put_desc(&guest, DESC, wanted);
        REQUIRE_OK(CALL(&guest, "desc_size", DESC, RESULT));
        CHECK_EQ(forward_u32(&guest, RESULT), size);
        for (int64_t i = 0; i < rows * 4; i++) {
            floats_at(&guest, IN)[i] = (float)(i + rows);
        }
        forward_grow(&guest, GROWTH);
        const forward_loan loans[2] = {{ZB_INPUT(0), 0, IN, size, 0}, {ZB_OUTPUT(0), 0, OUT, size, DESC}};
        REQUIRE_OK(forward_infer(&guest, context, loans, 2));
        for (int64_t i = 0; i < rows * 4; i++) {
            CHECK(floats_at(&guest, OUT)[i] == 2 * (float)(i + rows));
        }
        REQUIRE_OK(CALL(&guest, "context_slot_desc", context, (int64_t)ZB_OUTPUT(0), DESC));
        CHECK(zt_same_desc(forward_at(&guest, DESC), &wanted));
    }
    forward_close(&guest);
    wasm_engine_delete(engine);
    free(path);
}

static const zt_test tests[] = {
    ON_TFLITE(a_guest_makes_the_engine_forget),
    ON_BOTH(a_guest_chooses_the_shape),
    ON_BOTH(a_small_network_keeps_its_state_while_memory_moves),
    ON_ONNXRUNTIME(a_speech_network_keeps_its_state_while_memory_moves),
};

ZT_MAIN(tests)
