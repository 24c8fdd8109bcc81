/*
 * Guests that mean harm. Each gets a status and a text; the host and the other guests go on as before. Run also with the glue
 * built for the address and the undefined-behaviour sanitizer.
 */
#include "harness.h"

#include "adder.h"

#define RESULT 128
#define BIG_DESC 3072u

static wasm_engine_t *engine;

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
    adder_open(&adder, engine, NULL);
    adder_check(&adder);
    size_t count = outside(forward_size(&adder.guest), ranges);
    uint64_t before = sum_of(&adder.guest);
    for (size_t i = 0; i < count; i++) {
        for (uint32_t place = 0; place < 3; place++) {
            uint32_t slot = adder_loans[place].slot;
            CHECK_REFUSED(&adder.guest, adder_infer(&adder, place, slot, ranges[i][0], ranges[i][1], 0), ZBW_ERROR_OUT_OF_BOUNDS,
                          "not inside the guest's memory");
        }
    }
    CHECK_EQ(sum_of(&adder.guest), before);
    adder_check(&adder);
    forward_close(&adder.guest);
}

/* Each function that takes an offset, with one that is outside. */
static void arguments_outside_of_memory_are_refused(void)
{
    adder adder;
    adder_open(&adder, engine, NULL);
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
        CHECK_EQ(adder_infer(&adder, 0, ZB_INPUT(0), X, 16, (uint64_t)p), ZBW_ERROR_OUT_OF_BOUNDS);
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
    adder_check(&adder);
    forward_close(&adder.guest);
    free(path);
}

/* The last bytes of the memory are the guest's, and the byte behind them is nobody's. */
static void tensors_may_end_with_the_memory(void)
{
    adder adder;
    adder_open(&adder, engine, NULL);
    const uint64_t end = forward_size(&adder.guest), last = end - 64;
    adder_check(&adder);
    /* 64 bytes before the end: room behind it */
    CHECK_EQ(adder_infer(&adder, 0, ZB_INPUT(0), last, 16, 0), ZB_OK);
    /* the last 16 bytes as an output: nothing is read or written behind them */
    forward_loan loans[3] = {adder_loans[0], adder_loans[1], adder_loans[2]};
    loans[2].size = 64;
    loans[2].data = last;
    CHECK_EQ(forward_infer(&adder.guest, adder.context, loans, 3), ZB_OK);
    CHECK_EQ(adder_infer(&adder, 2, ZB_OUTPUT(0), end - 15, 16, 0), ZBW_ERROR_OUT_OF_BOUNDS);
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
    adder_open(&adder, engine, NULL);
    adder_check(&adder);
    uint64_t before = sum_of(&adder.guest);
    CHECK_REFUSED(&adder.guest, adder_infer(&adder, 2, ZB_OUTPUT(0), X, 16, 0), ZB_ERROR_ALIASED, "overlaps");
    CHECK_REFUSED(&adder.guest, adder_infer(&adder, 2, ZB_OUTPUT(0), Y, 1024, 0), ZB_ERROR_ALIASED, "overlaps");
    CHECK_EQ(sum_of(&adder.guest), before);
    /* two inputs may be the same bytes */
    CHECK_EQ(adder_infer(&adder, 1, ZB_INPUT(1), X, 16, 0), ZB_OK);
    /* an output over the guest's own loans: they were read, and the guest gets what it asked for */
    const uint64_t own = 512;
    CHECK_EQ(adder_infer(&adder, 2, ZB_OUTPUT(0), own, 16, 0), ZB_OK);
    adder_check(&adder);
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
    adder_open(&adder, engine, NULL);
    for (uint32_t place = 0; place < 3; place++) {
        uint32_t slot = adder_loans[place].slot;
        CHECK(adder_infer(&adder, place, slot, X, 0, 0) != ZB_OK);
        CHECK(adder_infer(&adder, place, slot, forward_size(&adder.guest), 0, 0) != ZB_OK);
        CHECK(adder_infer(&adder, place, slot, X + place * 64, 15, 0) != ZB_OK);
        CHECK(adder_infer(&adder, place, slot, X + place * 64, 1, 0) != ZB_OK);
    }
    CHECK_REFUSED(&adder.guest, forward_infer(&adder.guest, adder.context, adder_loans, 0), ZB_ERROR_UNBOUND, "input");
    CHECK_EQ(CALL(&adder.guest, "model_open", X, 0, RESULT), ZB_ERROR_MODEL_INVALID);
    adder_check(&adder);
    forward_close(&adder.guest);
}

static void alignment_is_that_of_the_address(void)
{
    adder adder;
    adder_open(&adder, engine, NULL);
    CHECK_REFUSED(&adder.guest, adder_infer(&adder, 0, ZB_INPUT(0), X + 2, 16, 0), ZB_ERROR_MISALIGNED, "multiple of");
    CHECK_EQ(adder_infer(&adder, 0, ZB_INPUT(0), X + 4, 16, 0), zt_is_tflite() ? ZB_ERROR_MISALIGNED : ZB_OK);
    adder_check(&adder);
    forward_close(&adder.guest);
}

static void loans_that_make_no_sense_are_refused(void)
{
    adder adder;
    adder_open(&adder, engine, NULL);
    forward_loan loans[3] = {adder_loans[0], adder_loans[1], adder_loans[2]};
    loans[1].flags = ZB_LOAN_OUTPUT;
    CHECK_REFUSED(&adder.guest, forward_infer(&adder.guest, adder.context, loans, 3), ZB_ERROR_INVALID_ARGUMENT, "flags");
    CHECK_EQ(adder_infer(&adder, 1, ZB_INPUT(0), Y, 16, 0), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(adder_infer(&adder, 1, ZB_INPUT(7), Y, 16, 0), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(adder_infer(&adder, 2, ZB_OUTPUT(1), Z, 16, 0), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(adder_infer(&adder, 2, UINT32_MAX, Z, 16, 0), ZB_ERROR_INVALID_ARGUMENT);
    /* descs that are rubbish */
    for (int fill = 0; fill < 256; fill += 51) {
        memset(forward_at(&adder.guest, BIG_DESC), fill, sizeof(zb_tensor_desc));
        CHECK(adder_infer(&adder, 0, ZB_INPUT(0), X, 16, BIG_DESC) != ZB_OK);
    }
    adder_check(&adder);
    forward_close(&adder.guest);
}

/* --- models --- */

static void models_that_are_garbage_are_refused(void)
{
    adder adder;
    size_t size;
    char *path = zt_model_path("add4");
    unsigned char *bytes = zt_read(path, &size);
    adder_open(&adder, engine, NULL);
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
    adder_check(&adder);
    forward_close(&adder.guest);
    free(bytes);
    free(path);
}

/* Puts another name of the same length into bytes that have the old one once. */
static void rename_in(unsigned char *bytes, size_t size, const char *old, const char *name)
{
    const size_t length = strlen(old);
    size_t found = 0;
    REQUIRE(strlen(name) == length && size >= length);
    for (size_t i = 0; i + length <= size; i++) {
        if (memcmp(bytes + i, old, length) == 0) {
            memcpy(bytes + i, name, length);
            found++;
        }
    }
    REQUIRE(found == 1);
}

/*
 * A model's weights may be in a file next to it: a guest's model has no place that it could name a file from. The engine by
 * itself would look from the host's current folder, and name it in its text.
 */
static void a_model_cannot_read_the_hosts_files(void)
{
    static const char *const names[] = {"external.data", "missing..data", "/etc/hostname", "../other.data"};
    forward guest;
    size_t size;
    char *path = zt_model_path("external");
    forward_open(&guest, engine, NULL, MEMORY_32);
    uint64_t at = forward_load(&guest, path, &size);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rename_in(forward_at(&guest, at), size, names[i == 0 ? 0 : i - 1], names[i]);
        CHECK_REFUSED(&guest, CALL(&guest, "model_open", (int64_t)at, (int64_t)size, RESULT), ZB_ERROR_UNSUPPORTED, names[i]);
        CHECK_REFUSED(&guest, CALL(&guest, "model_open", (int64_t)at, (int64_t)size, RESULT), ZB_ERROR_UNSUPPORTED,
                      "in another file");
    }
    forward_close(&guest);
    free(path);
}

static void only_models_that_the_host_names_are_opened(void)
{
    uint8_t allowed[2][32];
    zbw_options options = ZBW_OPTIONS_INIT;
    forward guest;
    size_t size, other_size;
    char *path = zt_model_path("add4"), *other = zt_model_path("add256");
    memset(allowed[0], 0xAB, sizeof allowed[0]);
    zt_hash(path, allowed[1]);
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

/* --- texts --- */

static void texts_are_cut_to_the_guests_buffer(void)
{
    adder adder;
    char whole[1024];
    adder_open(&adder, engine, NULL);
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
