/*
 * Guests that mean harm. Each gets a status and a text; the host and the other guests go on as before. Run also with the glue
 * built for the address and the undefined-behaviour sanitizer.
 */
#include "harness.h"

#include "forward.h"

#include <limits.h>

#define X FORWARD_FREE
#define Y (X + 64)
#define Z (X + 128)
#define RESULT 128
#define BIG_DESC 3072u

static wasm_engine_t *engine;

/* A guest with add4, z = x + y of four floats each, and 1 2 3 4 in x, 10 10 10 10 in y. */
typedef struct adder {
    forward guest;
    uint32_t context;
} adder;

static void open_adder(adder *adder, const zbw_options *options)
{
    char *path = zt_model_path("add4");
    forward_open(&adder->guest, engine, options, MEMORY_32);
    adder->context = forward_context(&adder->guest, path);
    free(path);
}

static const forward_loan good_loans[3] = {
    {ZB_INPUT(0), 0, X, 16, 0}, {ZB_INPUT(1), 0, Y, 16, 0}, {ZB_OUTPUT(0), 0, Z, 16, 0}};

/* That the guest can still do what it is there for. */
static void check_adder_works(adder *adder)
{
    const float x[4] = {1, 2, 3, 4}, y[4] = {10, 10, 10, 10}, z[4] = {11, 12, 13, 14};
    memcpy(forward_at(&adder->guest, X), x, sizeof x);
    memcpy(forward_at(&adder->guest, Y), y, sizeof y);
    memset(forward_at(&adder->guest, Z), 0, sizeof z);
    CHECK_EQ(forward_infer(&adder->guest, adder->context, good_loans, 3), ZB_OK);
    const float *result = forward_at(&adder->guest, Z);
    CHECK_FLOATS(result, z, 4, 0);
}

/* One loan of the good ones, changed. */
static int32_t infer_with(adder *adder, uint32_t place, uint32_t slot, uint64_t data, uint64_t size, uint64_t desc)
{
    forward_loan loans[3] = {good_loans[0], good_loans[1], good_loans[2]};
    loans[place] = (forward_loan){slot, 0, data, size, desc};
    return forward_infer(&adder->guest, adder->context, loans, 3);
}

static uint64_t sum_of(forward *guest)
{
    const unsigned char *bytes = forward_at(guest, 0);
    uint64_t sum = 0;
    for (size_t i = FORWARD_FREE, size = forward_size(guest); i < size; i++) {
        sum = sum * 31 + bytes[i];
    }
    return sum;
}

/* --- offsets and lengths --- */

/* Ranges that are not inside a memory of `size` bytes, some of which are if a sum overflows in 32 or 64 bits. */
static size_t outside(uint64_t size, uint64_t ranges[][2])
{
    const uint64_t all[][2] = {
        {size, 1},           {size - 15, 16},        {size + 1, 0},          {0, size + 1},
        {UINT64_MAX, 1},     {UINT64_MAX - 15, 16},  {UINT64_MAX - 15, 32},  {16, UINT64_MAX - 15},
        {16, UINT64_MAX},    {UINT64_MAX, 0},        {INT64_MAX, INT64_MAX}, {(uint64_t)INT64_MAX + 1, 16},
        {UINT32_MAX, 16},    {1ull << 32, 16},       {(1ull << 32) + X, 16}, {UINT32_MAX - 15, 32},
        {X, 1ull << 32},     {X, (1ull << 32) + 16}, {size / 2, size},       {UINT64_MAX / 2, UINT64_MAX / 2 + 2},
    };
    memcpy(ranges, all, sizeof all);
    return sizeof all / sizeof *all;
}

static void tensors_outside_of_memory_are_refused(void)
{
    adder adder;
    uint64_t ranges[32][2];
    open_adder(&adder, NULL);
    check_adder_works(&adder);
    size_t count = outside(forward_size(&adder.guest), ranges);
    uint64_t before = sum_of(&adder.guest);
    for (size_t i = 0; i < count; i++) {
        for (uint32_t place = 0; place < 3; place++) {
            uint32_t slot = good_loans[place].slot;
            CHECK_REFUSED(&adder.guest, infer_with(&adder, place, slot, ranges[i][0], ranges[i][1], 0), ZBW_ERROR_OUT_OF_BOUNDS,
                          "not inside the guest's memory");
        }
    }
    CHECK_EQ(sum_of(&adder.guest), before);
    check_adder_works(&adder);
    forward_close(&adder.guest);
}

/* Each function that takes an offset, with one that is outside. */
static void arguments_outside_of_memory_are_refused(void)
{
    adder adder;
    open_adder(&adder, NULL);
    const int64_t size = (int64_t)forward_size(&adder.guest), c = adder.context;
    const int64_t places[] = {size, size - 3, -1, -4, INT64_MIN, INT64_MAX, UINT32_MAX, 1LL << 32};
    char *path = zt_model_path("add4");
    size_t bytes;
    int64_t at = (int64_t)forward_load(&adder.guest, path, &bytes), length = (int64_t)bytes;
    REQUIRE_OK(CALL(&adder.guest, "model_open", at, length, RESULT));
    int64_t model = forward_u32(&adder.guest, RESULT);
    uint64_t models = zb_live_objects(ZB_KIND_MODEL), contexts = zb_live_objects(ZB_KIND_CONTEXT);
    uint64_t before = sum_of(&adder.guest);
    forward_grow(&adder.guest, 0);
    const int64_t end = (int64_t)forward_size(&adder.guest);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int64_t p = i < 2 ? places[i] - size + end : places[i];
        CHECK_EQ(CALL(&adder.guest, "model_open", at, length, p), ZBW_ERROR_OUT_OF_BOUNDS);
        CHECK_EQ(CALL(&adder.guest, "model_open", p, 4, RESULT), ZBW_ERROR_OUT_OF_BOUNDS);
        CHECK_EQ(CALL(&adder.guest, "model_open", at, end, RESULT), ZBW_ERROR_OUT_OF_BOUNDS);
        CHECK_EQ(CALL(&adder.guest, "model_slot_counts", model, p, RESULT), ZBW_ERROR_OUT_OF_BOUNDS);
        CHECK_EQ(CALL(&adder.guest, "model_slot_counts", model, RESULT, p), ZBW_ERROR_OUT_OF_BOUNDS);
        CHECK_EQ(CALL(&adder.guest, "context_create", model, p), ZBW_ERROR_OUT_OF_BOUNDS);
        CHECK_EQ(CALL(&adder.guest, "context_resize_input", c, 0, p, 1), ZBW_ERROR_OUT_OF_BOUNDS);
        CHECK_EQ(CALL(&adder.guest, "context_resize_input", c, 0, end - 127, 16), ZBW_ERROR_OUT_OF_BOUNDS);
        CHECK_EQ(CALL(&adder.guest, "context_slot_desc", c, 0, p), ZBW_ERROR_OUT_OF_BOUNDS);
        CHECK_EQ(CALL(&adder.guest, "context_requirements", c, 0, p), ZBW_ERROR_OUT_OF_BOUNDS);
        CHECK_EQ(CALL(&adder.guest, "context_report", c, 0, p), ZBW_ERROR_OUT_OF_BOUNDS);
        CHECK_EQ(CALL(&adder.guest, "infer", c, p, 3), ZBW_ERROR_OUT_OF_BOUNDS);
        CHECK_EQ(CALL(&adder.guest, "desc_size", p, RESULT), ZBW_ERROR_OUT_OF_BOUNDS);
        CHECK_EQ(CALL(&adder.guest, "desc_size", X, p), ZBW_ERROR_OUT_OF_BOUNDS);
        CHECK_EQ(CALL(&adder.guest, "last_error", p, 16, 0), ZBW_ERROR_OUT_OF_BOUNDS);
        CHECK_EQ(CALL(&adder.guest, "last_error", X, 16, p), ZBW_ERROR_OUT_OF_BOUNDS);
        CHECK_EQ(infer_with(&adder, 0, ZB_INPUT(0), X, 16, (uint64_t)p), ZBW_ERROR_OUT_OF_BOUNDS);
    }
    /* more loans than slots, also so many that their bytes overflow 32 bits */
    CHECK_EQ(CALL(&adder.guest, "infer", c, X, 4), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(CALL(&adder.guest, "infer", c, X, 0x08000001), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(CALL(&adder.guest, "infer", c, X, UINT32_MAX), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(CALL(&adder.guest, "context_resize_input", c, 0, X, UINT32_MAX), ZB_ERROR_UNSUPPORTED);
    /* a call that was refused has made nothing, and written nothing */
    CHECK_EQ(zb_live_objects(ZB_KIND_MODEL), models);
    CHECK_EQ(zb_live_objects(ZB_KIND_CONTEXT), contexts);
    CHECK_EQ(sum_of(&adder.guest), before);
    check_adder_works(&adder);
    forward_close(&adder.guest);
    free(path);
}

/* The last bytes of the memory are the guest's, and the byte behind them is nobody's. */
static void tensors_may_end_with_the_memory(void)
{
    adder adder;
    open_adder(&adder, NULL);
    const uint64_t end = forward_size(&adder.guest), last = end - 64;
    check_adder_works(&adder);
    /* 64 bytes before the end: room behind it */
    CHECK_EQ(infer_with(&adder, 0, ZB_INPUT(0), last, 16, 0), ZB_OK);
    /* the last 16 bytes as an output: nothing is read or written behind them */
    forward_loan loans[3] = {good_loans[0], good_loans[1], good_loans[2]};
    loans[2].size = 64;
    loans[2].data = last;
    CHECK_EQ(forward_infer(&adder.guest, adder.context, loans, 3), ZB_OK);
    CHECK_EQ(infer_with(&adder, 2, ZB_OUTPUT(0), end - 15, 16, 0), ZBW_ERROR_OUT_OF_BOUNDS);
    forward_close(&adder.guest);
}

/* TFLite may read 16 bytes past an input; at the end of the memory there are none. */
static void slack_past_the_end_of_memory_is_not_claimed(void)
{
    forward guest;
    char *path = zt_model_path("add256");
    forward_open(&guest, engine, NULL, MEMORY_32);
    uint32_t context = forward_context(&guest, path);
    uint64_t end = forward_size(&guest);
    const forward_loan loans[3] = {
        {ZB_INPUT(0), 0, end - 1024, 1024, 0}, {ZB_INPUT(1), 0, 4096, 1024, 0}, {ZB_OUTPUT(0), 0, 8192, 1024, 0}};
    REQUIRE_OK(CALL(&guest, "context_requirements", context, 0, RESULT));
    if (zt_is_tflite()) {
        CHECK_EQ(forward_u32(&guest, RESULT + 16), 16);
        CHECK_REFUSED(&guest, forward_infer(&guest, context, loans, 3), ZB_ERROR_BUFFER_TOO_SMALL, "16");
        /* the guest can help itself */
        forward_grow(&guest, 1);
    } else {
        CHECK_EQ(forward_u32(&guest, RESULT + 16), 0);
    }
    CHECK_EQ(forward_infer(&guest, context, loans, 3), ZB_OK);
    /* an output at the very end needs nothing behind it */
    end = forward_size(&guest);
    const forward_loan at_end[3] = {
        {ZB_INPUT(0), 0, 16384, 1024, 0}, {ZB_INPUT(1), 0, 4096, 1024, 0}, {ZB_OUTPUT(0), 0, end - 1024, 1024, 0}};
    CHECK_EQ(forward_infer(&guest, context, at_end, 3), ZB_OK);
    forward_close(&guest);
    free(path);
}

static void overlaps_are_refused(void)
{
    adder adder;
    open_adder(&adder, NULL);
    check_adder_works(&adder);
    uint64_t before = sum_of(&adder.guest);
    CHECK_REFUSED(&adder.guest, infer_with(&adder, 2, ZB_OUTPUT(0), X, 16, 0), ZB_ERROR_ALIASED, "overlaps");
    CHECK_REFUSED(&adder.guest, infer_with(&adder, 2, ZB_OUTPUT(0), Y, 1024, 0), ZB_ERROR_ALIASED, "overlaps");
    CHECK_EQ(sum_of(&adder.guest), before);
    /* two inputs may be the same bytes */
    CHECK_EQ(infer_with(&adder, 1, ZB_INPUT(1), X, 16, 0), ZB_OK);
    /* an output over the guest's own loans: they were read, and the guest gets what it asked for */
    const uint64_t own = 512;
    CHECK_EQ(infer_with(&adder, 2, ZB_OUTPUT(0), own, 16, 0), ZB_OK);
    check_adder_works(&adder);
    /* a part of them */
    char *path = zt_model_path("add256");
    uint32_t context = forward_context(&adder.guest, path);
    for (uint64_t at = 8192 - 960; at < 8192 + 1024; at += 64) {
        const forward_loan loans[3] = {
            {ZB_INPUT(0), 0, 8192, 1024, 0}, {ZB_INPUT(1), 0, 4096, 1024, 0}, {ZB_OUTPUT(0), 0, at, 1024, 0}};
        CHECK_EQ(forward_infer(&adder.guest, context, loans, 3), ZB_ERROR_ALIASED);
    }
    forward_close(&adder.guest);
    free(path);
}

static void lengths_that_do_not_fit_are_refused(void)
{
    adder adder;
    open_adder(&adder, NULL);
    for (uint32_t place = 0; place < 3; place++) {
        uint32_t slot = good_loans[place].slot;
        CHECK(infer_with(&adder, place, slot, X, 0, 0) != ZB_OK);
        CHECK(infer_with(&adder, place, slot, forward_size(&adder.guest), 0, 0) != ZB_OK);
        CHECK(infer_with(&adder, place, slot, X + place * 64, 15, 0) != ZB_OK);
        CHECK(infer_with(&adder, place, slot, X + place * 64, 1, 0) != ZB_OK);
    }
    CHECK_REFUSED(&adder.guest, forward_infer(&adder.guest, adder.context, good_loans, 0), ZB_ERROR_UNBOUND, "input");
    CHECK_EQ(CALL(&adder.guest, "model_open", X, 0, RESULT), ZB_ERROR_MODEL_INVALID);
    check_adder_works(&adder);
    forward_close(&adder.guest);
}

static void alignment_is_that_of_the_address(void)
{
    adder adder;
    open_adder(&adder, NULL);
    CHECK_REFUSED(&adder.guest, infer_with(&adder, 0, ZB_INPUT(0), X + 2, 16, 0), ZB_ERROR_MISALIGNED, "multiple of");
    CHECK_EQ(infer_with(&adder, 0, ZB_INPUT(0), X + 4, 16, 0), zt_is_tflite() ? ZB_ERROR_MISALIGNED : ZB_OK);
    check_adder_works(&adder);
    forward_close(&adder.guest);
}

static void loans_that_make_no_sense_are_refused(void)
{
    adder adder;
    open_adder(&adder, NULL);
    forward_loan loans[3] = {good_loans[0], good_loans[1], good_loans[2]};
    loans[1].flags = ZB_LOAN_OUTPUT;
    CHECK_REFUSED(&adder.guest, forward_infer(&adder.guest, adder.context, loans, 3), ZB_ERROR_INVALID_ARGUMENT, "flags");
    CHECK_EQ(infer_with(&adder, 1, ZB_INPUT(0), Y, 16, 0), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(infer_with(&adder, 1, ZB_INPUT(7), Y, 16, 0), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(infer_with(&adder, 2, ZB_OUTPUT(1), Z, 16, 0), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(infer_with(&adder, 2, UINT32_MAX, Z, 16, 0), ZB_ERROR_INVALID_ARGUMENT);
    /* descs that are rubbish */
    for (int fill = 0; fill < 256; fill += 51) {
        memset(forward_at(&adder.guest, BIG_DESC), fill, sizeof(zb_tensor_desc));
        CHECK(infer_with(&adder, 0, ZB_INPUT(0), X, 16, BIG_DESC) != ZB_OK);
    }
    check_adder_works(&adder);
    forward_close(&adder.guest);
}

/* --- models --- */

static void models_that_are_garbage_are_refused(void)
{
    adder adder;
    size_t size;
    char *path = zt_model_path("add4");
    unsigned char *bytes = zt_read(path, &size);
    open_adder(&adder, NULL);
    const uint64_t at = forward_size(&adder.guest), models = zb_live_objects(ZB_KIND_MODEL);
    forward_grow(&adder.guest, (int64_t)(size / 65536 + 1));
    uint32_t random = 1;
    for (size_t round = 0; round < 300; round++) {
        unsigned char *to = forward_at(&adder.guest, at);
        size_t length = size;
        memcpy(to, bytes, size);
        if (round < 100) {
            /* cut short */
            length = round * size / 100;
        } else if (round < 200) {
            for (size_t i = 0; i < size; i++) {
                random = random * 1664525 + 1013904223;
                to[i] = (unsigned char)(random >> 24);
            }
        } else {
            memset(to, (int)round, size);
        }
        int32_t status = CALL(&adder.guest, "model_open", (int64_t)at, (int64_t)length, RESULT);
        if (!CHECK_EQ(status, ZB_ERROR_MODEL_INVALID)) {
            fprintf(stderr, "    in round %zu\n", round);
        }
    }
    /* none of them counts */
    CHECK_EQ(zb_live_objects(ZB_KIND_MODEL), models);
    memcpy(forward_at(&adder.guest, at), bytes, size);
    CHECK_EQ(CALL(&adder.guest, "model_open", (int64_t)at, (int64_t)size, RESULT), ZB_OK);
    check_adder_works(&adder);
    forward_close(&adder.guest);
    free(bytes);
    free(path);
}

/* A model's weights may be in a file next to it: a guest's model has no place that it could name a file from. */
static void a_model_cannot_read_the_hosts_files(void)
{
    forward guest;
    size_t size;
    char *path = zt_model_path("external");
    forward_open(&guest, engine, NULL, MEMORY_32);
    uint64_t at = forward_load(&guest, path, &size);
    CHECK_EQ(CALL(&guest, "model_open", (int64_t)at, (int64_t)size, RESULT), ZB_ERROR_UNSUPPORTED);
    forward_close(&guest);
    free(path);
}

static void hash_by_tool(const char *path, uint8_t hash[32])
{
    char command[PATH_MAX + 32];
    snprintf(command, sizeof command, "sha256sum '%s'", path);
    FILE *tool = popen(command, "r");
    REQUIRE(tool != NULL);
    for (int i = 0; i < 32; i++) {
        unsigned value = 0;
        REQUIRE(fscanf(tool, "%2x", &value) == 1);
        hash[i] = (uint8_t)value;
    }
    while (fgetc(tool) != EOF) {
    }
    REQUIRE(pclose(tool) == 0);
}

static void only_models_that_the_host_names_are_opened(void)
{
    uint8_t allowed[2][32];
    zbw_options options = ZBW_OPTIONS_INIT;
    forward guest;
    size_t size, other_size;
    char *path = zt_model_path("add4"), *other = zt_model_path("add256");
    memset(allowed[0], 0xAB, sizeof allowed[0]);
    hash_by_tool(path, allowed[1]);
    options.allowed = (const uint8_t(*)[32])allowed;
    options.allowed_count = 2;
    forward_open(&guest, engine, &options, MEMORY_32);
    int64_t at = (int64_t)forward_load(&guest, path, &size), other_at = (int64_t)forward_load(&guest, other, &other_size);
    CHECK_REFUSED(&guest, CALL(&guest, "model_open", other_at, (int64_t)other_size, RESULT), ZB_ERROR_MODEL_INVALID,
                  "none of the models that the host allows");
    CHECK_EQ(CALL(&guest, "model_open", at, (int64_t)size, RESULT), ZB_OK);
    /* one bit, and it is another model */
    ((unsigned char *)forward_at(&guest, (uint64_t)at))[size / 2] ^= 1;
    CHECK_EQ(CALL(&guest, "model_open", at, (int64_t)size, RESULT), ZB_ERROR_MODEL_INVALID);
    /* none at all */
    forward_close(&guest);
    options.allowed_count = 0;
    forward_open(&guest, engine, &options, MEMORY_32);
    at = (int64_t)forward_load(&guest, path, &size);
    CHECK_EQ(CALL(&guest, "model_open", at, (int64_t)size, RESULT), ZB_ERROR_MODEL_INVALID);
    forward_close(&guest);
    free(path);
    free(other);
}

/* --- handles --- */

static void handles_of_another_guest_mean_nothing(void)
{
    adder a, b;
    open_adder(&a, NULL);
    open_adder(&b, NULL);
    /* a has one context more than b, which knows its number */
    size_t size;
    char *path = zt_model_path("add4");
    int64_t at = (int64_t)forward_load(&a.guest, path, &size);
    REQUIRE_OK(CALL(&a.guest, "model_open", at, (int64_t)size, RESULT));
    uint32_t model = forward_u32(&a.guest, RESULT);
    REQUIRE_OK(CALL(&a.guest, "context_create", model, RESULT));
    uint32_t context = forward_u32(&a.guest, RESULT);
    CHECK_REFUSED(&b.guest, CALL(&b.guest, "context_destroy", context), ZB_ERROR_INVALID_HANDLE, "of this guest");
    CHECK_EQ(CALL(&b.guest, "model_destroy", model), ZB_ERROR_INVALID_HANDLE);
    CHECK_EQ(CALL(&b.guest, "context_create", model, RESULT), ZB_ERROR_INVALID_HANDLE);
    CHECK_EQ(CALL(&b.guest, "infer", context, 512, 3), ZB_ERROR_INVALID_HANDLE);
    CHECK_EQ(CALL(&b.guest, "context_reset_state", context), ZB_ERROR_INVALID_HANDLE);
    /* the same number for both: each means its own */
    CHECK_EQ(a.context, b.context);
    REQUIRE_OK(CALL(&b.guest, "context_destroy", b.context));
    check_adder_works(&a);
    CHECK_EQ(CALL(&a.guest, "context_destroy", context), ZB_OK);
    /* dead, of the other kind, and made up */
    CHECK_EQ(CALL(&a.guest, "context_destroy", context), ZB_ERROR_INVALID_HANDLE);
    CHECK_EQ(CALL(&a.guest, "context_destroy", model), ZB_ERROR_INVALID_HANDLE);
    CHECK_EQ(CALL(&a.guest, "model_destroy", a.context), ZB_ERROR_INVALID_HANDLE);
    for (uint32_t i = 0; i < 2000; i++) {
        uint32_t made_up = i < 1000 ? i : i * 2654435761u;
        if (made_up != model && made_up != a.context) {
            CHECK_EQ(CALL(&a.guest, "context_destroy", made_up), ZB_ERROR_INVALID_HANDLE);
            CHECK_EQ(CALL(&a.guest, "model_destroy", made_up), ZB_ERROR_INVALID_HANDLE);
        }
    }
    forward_close(&b.guest);
    check_adder_works(&a);
    forward_close(&a.guest);
    free(path);
}

/* A handle that was destroyed stays dead while its place is used again. */
static void handles_are_not_used_again(void)
{
    adder adder;
    size_t size;
    char *path = zt_model_path("add4");
    open_adder(&adder, NULL);
    int64_t at = (int64_t)forward_load(&adder.guest, path, &size);
    REQUIRE_OK(CALL(&adder.guest, "model_open", at, (int64_t)size, RESULT));
    uint32_t model = forward_u32(&adder.guest, RESULT), last = 0;
    for (int i = 0; i < 1000; i++) {
        REQUIRE_OK(CALL(&adder.guest, "context_create", model, RESULT));
        uint32_t context = forward_u32(&adder.guest, RESULT);
        CHECK(context != last);
        CHECK_EQ(CALL(&adder.guest, "context_destroy", last), ZB_ERROR_INVALID_HANDLE);
        REQUIRE_OK(CALL(&adder.guest, "context_destroy", context));
        last = context;
    }
    check_adder_works(&adder);
    forward_close(&adder.guest);
    free(path);
}

/* --- too much --- */

static void ten_thousand_contexts_are_too_many(void)
{
    adder greedy, other;
    size_t size;
    char *path = zt_model_path("add4");
    const zbw_options defaults = ZBW_OPTIONS_INIT;
    open_adder(&greedy, NULL);
    open_adder(&other, NULL);
    int64_t at = (int64_t)forward_load(&greedy.guest, path, &size);
    REQUIRE_OK(CALL(&greedy.guest, "model_open", at, (int64_t)size, RESULT));
    uint32_t model = forward_u32(&greedy.guest, RESULT), made = 0, refused = 0;
    for (int i = 0; i < 10000; i++) {
        int32_t status = CALL(&greedy.guest, "context_create", model, RESULT);
        made += status == ZB_OK;
        refused += status == ZBW_ERROR_LIMIT;
    }
    CHECK_EQ(made, defaults.contexts - 1);
    CHECK_EQ(made + refused, 10000);
    CHECK_REFUSED(&greedy.guest, CALL(&greedy.guest, "context_create", model, RESULT), ZBW_ERROR_LIMIT, "32 contexts");
    CHECK_EQ(zb_live_objects(ZB_KIND_CONTEXT), defaults.contexts + 1);
    /* it has what it may have, and the other is none the worse for it */
    check_adder_works(&greedy);
    check_adder_works(&other);
    CHECK_EQ(CALL(&greedy.guest, "context_destroy", forward_u32(&greedy.guest, RESULT)), ZB_OK);
    CHECK_EQ(CALL(&greedy.guest, "context_create", model, RESULT), ZB_OK);
    forward_close(&greedy.guest);
    check_adder_works(&other);
    forward_close(&other.guest);
    free(path);
}

/* Where the host allows them, they are made, and gone with the guest. */
static void thousands_of_contexts_go_with_their_guest(void)
{
    enum { MANY = 2000 };
    zbw_options options = ZBW_OPTIONS_INIT;
    adder adder;
    size_t size;
    char *path = zt_model_path("add4");
    options.contexts = MANY;
    open_adder(&adder, &options);
    int64_t at = (int64_t)forward_load(&adder.guest, path, &size);
    REQUIRE_OK(CALL(&adder.guest, "model_open", at, (int64_t)size, RESULT));
    uint32_t model = forward_u32(&adder.guest, RESULT);
    for (int i = 1; i < MANY; i++) {
        REQUIRE_OK(CALL(&adder.guest, "context_create", model, RESULT));
    }
    CHECK_EQ(zb_live_objects(ZB_KIND_CONTEXT), MANY);
    check_adder_works(&adder);
    forward_close(&adder.guest);
    CHECK_EQ(zb_live_objects(ZB_KIND_CONTEXT), 0);
    CHECK_EQ(zb_live_objects(ZB_KIND_MODEL), 0);
    free(path);
}

static void models_are_counted_until_their_last_context_is_gone(void)
{
    zbw_options options = ZBW_OPTIONS_INIT;
    forward guest;
    size_t size;
    char *path = zt_model_path("add4");
    uint32_t contexts[3];
    options.models = 3;
    forward_open(&guest, engine, &options, MEMORY_32);
    for (int i = 0; i < 3; i++) {
        contexts[i] = forward_context(&guest, path);
    }
    /* no model's handle is left, but all three are alive */
    int64_t at = (int64_t)forward_load(&guest, path, &size);
    CHECK_REFUSED(&guest, CALL(&guest, "model_open", at, (int64_t)size, RESULT), ZBW_ERROR_LIMIT, "3 models");
    REQUIRE_OK(CALL(&guest, "context_destroy", contexts[1]));
    CHECK_EQ(CALL(&guest, "model_open", at, (int64_t)size, RESULT), ZB_OK);
    forward_close(&guest);

    options.model_bytes = size * 2 - 1;
    forward_open(&guest, engine, &options, MEMORY_32);
    contexts[0] = forward_context(&guest, path);
    at = (int64_t)forward_load(&guest, path, &size);
    CHECK_REFUSED(&guest, CALL(&guest, "model_open", at, (int64_t)size, RESULT), ZBW_ERROR_LIMIT, "bytes of models");
    REQUIRE_OK(CALL(&guest, "context_destroy", contexts[0]));
    CHECK_EQ(CALL(&guest, "model_open", at, (int64_t)size, RESULT), ZB_OK);
    forward_close(&guest);
    free(path);
}

static void tensors_that_are_too_large_are_refused(void)
{
    forward guest;
    size_t size;
    char *huge = zt_model_path("huge"), *batch = zt_model_path("batch");
    const int64_t dims[2] = {1ll << 40, 4};
    forward_open(&guest, engine, NULL, MEMORY_32);
    int64_t at = (int64_t)forward_load(&guest, huge, &size);
    CHECK_EQ(CALL(&guest, "model_open", at, (int64_t)size, RESULT), ZB_ERROR_UNSUPPORTED);
    uint32_t context = forward_context(&guest, batch);
    memcpy(forward_at(&guest, X), dims, sizeof dims);
    CHECK(CALL(&guest, "context_resize_input", context, 0, X, 2) != ZB_OK ||
          CALL(&guest, "context_requirements", context, 0, RESULT) != ZB_OK);
    forward_close(&guest);
    free(huge);
    free(batch);
}

static void runs_end_at_the_hosts_deadline(void)
{
    zbw_options options = ZBW_OPTIONS_INIT;
    adder adder;
    options.run_ns = 1;
    open_adder(&adder, &options);
    CHECK_EQ(forward_infer(&adder.guest, adder.context, good_loans, 3), ZB_ERROR_DEADLINE_EXCEEDED);
    forward_close(&adder.guest);
}

/* --- texts --- */

static void texts_are_cut_to_the_guests_buffer(void)
{
    adder adder;
    char whole[1024];
    open_adder(&adder, NULL);
    CHECK_EQ(CALL(&adder.guest, "context_destroy", 7), ZB_ERROR_INVALID_HANDLE);
    CHECK_EQ(CALL(&adder.guest, "last_error", X, 1024, Z), ZB_OK);
    strcpy(whole, forward_at(&adder.guest, X));
    size_t needed = strlen(whole) + 1;
    CHECK_EQ(forward_u32(&adder.guest, Z + 0), needed);
    memset(forward_at(&adder.guest, X), 'x', 64);
    CHECK_EQ(CALL(&adder.guest, "last_error", X, 8, 0), ZB_ERROR_BUFFER_TOO_SMALL);
    const char *cut = forward_at(&adder.guest, X);
    CHECK(strncmp(cut, whole, 7) == 0 && cut[7] == '\0' && cut[8] == 'x');
    CHECK_EQ(CALL(&adder.guest, "last_error", X, 0, Z), ZB_ERROR_BUFFER_TOO_SMALL);
    CHECK_EQ(CALL(&adder.guest, "last_error", X, (int64_t)needed, 0), ZB_OK);
    CHECK_EQ(CALL(&adder.guest, "last_error", X, (int64_t)needed - 1, 0), ZB_ERROR_BUFFER_TOO_SMALL);
    forward_close(&adder.guest);
}

static const zt_test tests[] = {
    ON_BOTH(tensors_outside_of_memory_are_refused),
    ON_BOTH(arguments_outside_of_memory_are_refused),
    ON_BOTH(tensors_may_end_with_the_memory),
    ON_BOTH(slack_past_the_end_of_memory_is_not_claimed),
    ON_BOTH(overlaps_are_refused),
    ON_BOTH(lengths_that_do_not_fit_are_refused),
    ON_BOTH(alignment_is_that_of_the_address),
    ON_BOTH(loans_that_make_no_sense_are_refused),
    ON_BOTH(models_that_are_garbage_are_refused),
    ON_ONNXRUNTIME(a_model_cannot_read_the_hosts_files),
    ON_BOTH(only_models_that_the_host_names_are_opened),
    ON_BOTH(handles_of_another_guest_mean_nothing),
    ON_BOTH(handles_are_not_used_again),
    ON_BOTH(ten_thousand_contexts_are_too_many),
    ON_BOTH(thousands_of_contexts_go_with_their_guest),
    ON_BOTH(models_are_counted_until_their_last_context_is_gone),
    ON_BOTH(tensors_that_are_too_large_are_refused),
    ON_BOTH(runs_end_at_the_hosts_deadline),
    ON_BOTH(texts_are_cut_to_the_guests_buffer),
};

int main(int argc, char **argv)
{
    /* one for all guests, as in a host that has many */
    engine = forward_engine(embed_config(EMBED_MOVES));
    int result = zt_main(argc, argv, tests, sizeof tests / sizeof *tests);
    wasm_engine_delete(engine);
    return result;
}
