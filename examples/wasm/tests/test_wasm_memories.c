/*
 * Kinds of memory: 64-bit, shared, one whose base is not aligned, none; guests in guests; and that the memory which the other
 * tests move does kill who touches the place where it was.
 */
#include "harness.h"

#include "forward.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define X FORWARD_FREE
#define Y (X + 64)
#define Z (X + 128)
#define RESULT 128

static const forward_loan add_loans[3] = {
    {ZB_INPUT(0), 0, X, 16, 0}, {ZB_INPUT(1), 0, Y, 16, 0}, {ZB_OUTPUT(0), 0, Z, 16, 0}};

static int32_t add(forward *guest, uint32_t context, uint64_t by)
{
    const float x[4] = {1, 2, 3, 4}, y[4] = {10, 20, 30, 40}, z[4] = {11, 22, 33, 44};
    forward_loan loans[3];
    memcpy(loans, add_loans, sizeof loans);
    for (int i = 0; i < 3; i++) {
        loans[i].data += by;
    }
    memcpy(forward_at(guest, X + by), x, sizeof x);
    memcpy(forward_at(guest, Y + by), y, sizeof y);
    memset(forward_at(guest, Z + by), 0, sizeof z);
    int32_t status = forward_infer(guest, context, loans, 3);
    if (status == ZB_OK) {
        const float *result = forward_at(guest, Z + by);
        CHECK_FLOATS(result, z, 4, 0);
    }
    return status;
}

/* Opens add4 in a guest with such a memory, and runs it before and after a growth. */
static void check_memory(wasm_engine_t *engine, const zbw_options *options, const char *memory, int64_t pages)
{
    forward guest;
    char *path = zt_model_path("add4");
    forward_open(&guest, engine, options, memory);
    uint32_t context = forward_context(&guest, path);
    CHECK_EQ(add(&guest, context, 0), ZB_OK);
    forward_grow(&guest, pages);
    CHECK_EQ(add(&guest, context, 0), ZB_OK);
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    CHECK_OK(zb_context_get_binding_report(zbw_guest_context(guest.guest, context), ZB_OUTPUT(0), &report));
    CHECK_ADDRESS(report.engine_address, forward_at(&guest, Z));
    /* what the guest is told of it */
    CHECK_EQ(CALL(&guest, "context_report", context, (int64_t)ZB_OUTPUT(0), RESULT), ZB_OK);
    CHECK_EQ(forward_u32(&guest, RESULT), ZB_PATH_DIRECT);
    CHECK_EQ(forward_u32(&guest, RESULT + 8), 0);
    forward_close(&guest);
    free(path);
}

static void memories_with_32_bits(void)
{
    for (int growth = EMBED_IN_PLACE; growth <= EMBED_MOVES; growth++) {
        wasm_engine_t *engine = forward_engine(embed_config((embed_growth)growth));
        check_memory(engine, NULL, MEMORY_32, 1);
        check_memory(engine, NULL, MEMORY_BYTES, 4096);
        wasm_engine_delete(engine);
    }
}

/* The same functions: every offset has 64 bits for all guests. */
static void memories_with_64_bits(void)
{
    for (int growth = EMBED_IN_PLACE; growth <= EMBED_MOVES; growth++) {
        wasm_engine_t *engine = forward_engine(embed_config((embed_growth)growth));
        check_memory(engine, NULL, MEMORY_64, 1);
        wasm_engine_delete(engine);
    }
}

/* Offsets that no 32-bit memory has: the tensors lie above 4 GiB, of which only what is touched takes memory. */
static void tensors_above_4_gib(void)
{
    wasm_engine_t *engine = forward_engine(embed_config(EMBED_IN_PLACE));
    forward guest;
    char *path = zt_model_path("add4");
    const uint64_t high = 5ull << 30;
    forward_open(&guest, engine, NULL, MEMORY_64);
    uint32_t context = forward_context(&guest, path);
    CHECK_EQ(CALL(&guest, "infer", context, (int64_t)high, 3), ZBW_ERROR_OUT_OF_BOUNDS);
    if (CALL(&guest, "grow", (6ll << 30) / 65536) == -1) {
        printf("        skipped: no 6 GiB of addresses for a memory here\n");
    } else {
        CHECK_EQ(add(&guest, context, high), ZB_OK);
        CHECK_EQ(add(&guest, context, 0), ZB_OK);
    }
    forward_close(&guest);
    wasm_engine_delete(engine);
    free(path);
}

static void shared_memories_are_refused_unless_trusted(void)
{
    wasm_engine_t *engine = forward_engine(embed_config(EMBED_IN_PLACE));
    zbw_options options = ZBW_OPTIONS_INIT;
    forward guest;
    forward_open(&guest, engine, NULL, MEMORY_SHARED);
    CHECK_EQ(CALL(&guest, "model_open", X, 16, RESULT), ZBW_ERROR_NO_MEMORY);
    CHECK_EQ(CALL(&guest, "last_error", X, 16, 0), ZBW_ERROR_NO_MEMORY);
    CHECK_EQ(CALL(&guest, "context_destroy", 1), ZBW_ERROR_NO_MEMORY);
    forward_close(&guest);
    options.flags = ZBW_TRUST_SHARED_MEMORY;
    check_memory(engine, &options, MEMORY_SHARED, 1);
    wasm_engine_delete(engine);
}

static void guests_without_a_memory_are_refused(void)
{
    wasm_engine_t *engine = forward_engine(embed_config(EMBED_IN_PLACE));
    static const char *const memories[] = {"(memory 1)", "(memory (export \"mem\") 1)",
                                           "(memory 1) (global (export \"memory\") i32 (i32.const 0))",
                                           "(memory 1) (func (export \"memory\"))"};
    for (size_t i = 0; i < sizeof memories / sizeof *memories; i++) {
        forward guest;
        forward_open(&guest, engine, NULL, memories[i]);
        CHECK_EQ(CALL(&guest, "model_open", 0, 16, 0), ZBW_ERROR_NO_MEMORY);
        CHECK_EQ(CALL(&guest, "infer", 0, 0, 0), ZBW_ERROR_NO_MEMORY);
        forward_close(&guest);
    }
    wasm_engine_delete(engine);
}

/* Where a memory begins is the host's choice. What counts is the address, not the offset. */
static void alignment_counts_from_where_the_memory_really_begins(void)
{
    moving_memory memory = {16, 0};
    wasm_engine_t *engine = forward_moving_engine(&memory);
    forward guest;
    char *path = zt_model_path("add4");
    forward_open(&guest, engine, NULL, MEMORY_32);
    uint32_t context = forward_context(&guest, path);
    CHECK_EQ((uintptr_t)forward_at(&guest, 0) % 64, 16);
    /* aligned as an offset, not as an address */
    CHECK_EQ(add(&guest, context, 0), zt_is_tflite() ? ZB_ERROR_MISALIGNED : ZB_OK);
    /* the other way round */
    CHECK_EQ(add(&guest, context, 48), ZB_OK);
    forward_close(&guest);
    wasm_engine_delete(engine);
    free(path);
}

/* --- the proof of the proof --- */

/* Ends by SIGSEGV, in a process of its own. */
static int touching_kills(const unsigned char *place)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        volatile const unsigned char *byte = place;
        _exit(*byte == 0 ? 0 : 1);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

static void a_place_that_was_left_kills_who_touches_it(void)
{
    moving_memory memory = {0, 0};
    wasm_engine_t *engine = forward_moving_engine(&memory);
    forward guest;
    const unsigned char *places[20];
    forward_open(&guest, engine, NULL, MEMORY_32);
    for (size_t i = 0; i < 20; i++) {
        places[i] = forward_at(&guest, X);
        CHECK(!touching_kills(places[i]));
        forward_grow(&guest, 1);
        for (size_t j = 0; j <= i; j++) {
            CHECK(touching_kills(places[j]));
        }
    }
    CHECK_EQ(memory.moves, 20);
    forward_close(&guest);
    wasm_engine_delete(engine);
}

/* --- calls inside calls --- */

typedef struct nested {
    forward *guest;
    int32_t inner;
    int depth;
} nested;

/* A host that breaks the rule: it lets guest code run while zerobind's function is on the stack. */
static zb_status call_back_inside(void *user_data, zb_context *context, const zb_loan *loans, size_t count,
                                  const zb_infer_options *options)
{
    nested *nested = user_data;
    nested->inner = CALL(nested->guest, "infer", 1, 0, 0);
    return zb_infer_with(context, loans, count, options);
}

static void a_call_inside_a_run_is_refused(void)
{
    wasm_engine_t *engine = forward_engine(embed_config(EMBED_MOVES));
    zbw_options options = ZBW_OPTIONS_INIT;
    forward guest;
    nested nested = {&guest, ZB_OK, 0};
    char *path = zt_model_path("add4");
    options.run = call_back_inside;
    options.run_data = &nested;
    forward_open(&guest, engine, &options, MEMORY_32);
    uint32_t context = forward_context(&guest, path);
    CHECK_EQ(add(&guest, context, 0), ZB_OK);
    CHECK_EQ(nested.inner, ZB_ERROR_BUSY);
    CHECK_EQ(add(&guest, context, 0), ZB_OK);
    forward_close(&guest);
    wasm_engine_delete(engine);
    free(path);
}

/* A function of the host's own, which calls the guest again: the guest infers on every level, and its memory moves between. */
static wasm_trap_t *go_deeper(void *environment, wasmtime_caller_t *caller, wasmtime_val_raw_t *values, size_t count)
{
    nested *nested = environment;
    (void)caller;
    (void)count;
    nested->depth++;
    values[0].i32 = values[0].i32 > 0 ? CALL(nested->guest, "deep", values[0].i32 - 1) : 0;
    return NULL;
}

static const char deep_guest[] =
    "(module"
    " (import \"zerobind\" \"model_open\" (func $model_open (param i64 i64 i64) (result i32)))"
    " (import \"zerobind\" \"context_create\" (func $context_create (param i32 i64) (result i32)))"
    " (import \"zerobind\" \"infer\" (func $infer (param i32 i64 i32) (result i32)))"
    " (import \"test\" \"go_deeper\" (func $go_deeper (param i32) (result i32)))"
    " (memory (export \"memory\") 2)"
    " (func (export \"open\") (param i64 i64) (result i32)"
    "  (if (result i32) (call $model_open (local.get 0) (local.get 1) (i64.const 128))"
    "   (then (i32.const -1)) (else (call $context_create (i32.load (i32.const 128)) (i64.const 132)))))"
    /* grow, infer, go deeper, infer: the sum of all statuses */
    " (func (export \"deep\") (param i32) (result i32)"
    "  (drop (memory.grow (i32.const 1)))"
    "  (i32.add (i32.add (call $infer (i32.load (i32.const 132)) (i64.const 512) (i32.const 3))"
    "                    (call $go_deeper (local.get 0)))"
    "           (call $infer (i32.load (i32.const 132)) (i64.const 512) (i32.const 3)))))";

static void guests_called_by_hosts_called_by_guests(void)
{
    wasm_engine_t *engine = forward_engine(embed_config(EMBED_MOVES));
    wasm_valtype_t *in = wasm_valtype_new(WASM_I32), *out = wasm_valtype_new(WASM_I32);
    wasm_valtype_vec_t ins, outs;
    forward guest;
    nested nested = {&guest, ZB_OK, 0};
    size_t size;
    char *path = zt_model_path("add4");
    void *bytes = zt_read(path, &size);
    const float x[4] = {1, 2, 3, 4}, y[4] = {10, 20, 30, 40}, z[4] = {11, 22, 33, 44};
    wasm_valtype_vec_new(&ins, 1, &in);
    wasm_valtype_vec_new(&outs, 1, &out);
    wasm_functype_t *type = wasm_functype_new(&ins, &outs);
    guest.guest = zbw_guest_new(NULL);
    REQUIRE(guest.guest != NULL && embed_start(&guest.embed, engine, guest.guest) == 0);
    REQUIRE(wasmtime_linker_define_func_unchecked(guest.embed.linker, "test", 4, "go_deeper", 9, type, go_deeper, &nested, NULL) == NULL);
    wasm_functype_delete(type);
    REQUIRE(embed_instantiate(&guest.embed, deep_guest, sizeof deep_guest - 1) == 0);
    memcpy(forward_at(&guest, 65536), bytes, size);
    REQUIRE(CALL(&guest, "open", 65536, (int64_t)size) == ZB_OK);
    memcpy(forward_at(&guest, X), x, sizeof x);
    memcpy(forward_at(&guest, Y), y, sizeof y);
    memcpy(forward_at(&guest, 512), add_loans, sizeof add_loans);
    CHECK_EQ(CALL(&guest, "deep", 10), ZB_OK);
    CHECK_EQ(nested.depth, 11);
    const float *result = forward_at(&guest, Z);
    CHECK_FLOATS(result, z, 4, 0);
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    CHECK_OK(zb_context_get_stats(zbw_guest_context(guest.guest, forward_u32(&guest, 132)), &stats));
    CHECK_EQ(stats.runs, 22);
    CHECK_EQ(stats.bytes_copied, 0);
    forward_close(&guest);
    wasm_engine_delete(engine);
    free(path);
    free(bytes);
}

/* --- guests on threads of their own --- */

static wasm_engine_t *common_engine;

static void *run_guest(void *result)
{
    forward guest;
    char *path = zt_model_path("add4");
    forward_open(&guest, common_engine, NULL, MEMORY_32);
    uint32_t context = forward_context(&guest, path);
    int good = 0;
    for (int i = 0; i < 500; i++) {
        if (i % 10 == 0) {
            forward_grow(&guest, 1);
        }
        good += add(&guest, context, 0) == ZB_OK;
    }
    forward_close(&guest);
    free(path);
    *(int *)result = good;
    return NULL;
}

static void guests_on_many_threads(void)
{
    pthread_t threads[4];
    int good[4] = {0};
    common_engine = forward_engine(embed_config(EMBED_MOVES));
    for (int i = 0; i < 4; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, run_guest, &good[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        REQUIRE(pthread_join(threads[i], NULL) == 0);
        CHECK_EQ(good[i], 500);
    }
    wasm_engine_delete(common_engine);
}

static const zt_test tests[] = {
    ON_BOTH(memories_with_32_bits),
    ON_BOTH(memories_with_64_bits),
    ON_BOTH(tensors_above_4_gib),
    ON_BOTH(shared_memories_are_refused_unless_trusted),
    ON_BOTH(guests_without_a_memory_are_refused),
    ON_BOTH(alignment_counts_from_where_the_memory_really_begins),
    ON_BOTH(a_place_that_was_left_kills_who_touches_it),
    ON_BOTH(a_call_inside_a_run_is_refused),
    ON_BOTH(guests_called_by_hosts_called_by_guests),
    ON_BOTH(guests_on_many_threads),
};

ZT_MAIN(tests)
