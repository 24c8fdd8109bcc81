/*
 * What one guest may have, and that it reaches nothing of another's: handles, and numbers of models, contexts and bytes. Run also
 * with the glue built for the address and the undefined-behaviour sanitizer.
 */
#include "harness.h"

#include "adder.h"

#define RESULT 128

static wasm_engine_t *engine;

/* --- handles --- */

static void handles_of_another_guest_mean_nothing(void)
{
    adder a, b;
    adder_open(&a, engine, NULL);
    adder_open(&b, engine, NULL);
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
    adder_check(&a);
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
    adder_check(&a);
    forward_close(&a.guest);
    free(path);
}

/* The first model and the first context of a guest, in the same place of their tables. */
static void handles_are_of_one_kind(void)
{
    forward guest;
    size_t size;
    char *path = zt_model_path("add4");
    forward_open(&guest, engine, NULL, MEMORY_32);
    int64_t at = (int64_t)forward_load(&guest, path, &size);
    REQUIRE_OK(CALL(&guest, "model_open", at, (int64_t)size, RESULT));
    uint32_t model = forward_u32(&guest, RESULT);
    REQUIRE_OK(CALL(&guest, "context_create", model, RESULT));
    uint32_t context = forward_u32(&guest, RESULT);
    CHECK_REFUSED(&guest, CALL(&guest, "context_destroy", model), ZB_ERROR_INVALID_HANDLE, "no context");
    CHECK_REFUSED(&guest, CALL(&guest, "model_destroy", context), ZB_ERROR_INVALID_HANDLE, "no model");
    CHECK_EQ(CALL(&guest, "model_slot_counts", context, X, X), ZB_ERROR_INVALID_HANDLE);
    CHECK_EQ(CALL(&guest, "infer", model, X, 0), ZB_ERROR_INVALID_HANDLE);
    CHECK_EQ(CALL(&guest, "context_destroy", context), ZB_OK);
    CHECK_EQ(CALL(&guest, "model_destroy", model), ZB_OK);
    forward_close(&guest);
    free(path);
}

/* A handle that was destroyed stays dead while its place is used again. */
static void handles_are_not_used_again(void)
{
    adder adder;
    size_t size;
    char *path = zt_model_path("add4");
    adder_open(&adder, engine, NULL);
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
    adder_check(&adder);
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
    adder_open(&greedy, engine, NULL);
    adder_open(&other, engine, NULL);
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
    adder_check(&greedy);
    adder_check(&other);
    CHECK_EQ(CALL(&greedy.guest, "context_destroy", forward_u32(&greedy.guest, RESULT)), ZB_OK);
    CHECK_EQ(CALL(&greedy.guest, "context_create", model, RESULT), ZB_OK);
    forward_close(&greedy.guest);
    adder_check(&other);
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
    adder_open(&adder, engine, &options);
    int64_t at = (int64_t)forward_load(&adder.guest, path, &size);
    REQUIRE_OK(CALL(&adder.guest, "model_open", at, (int64_t)size, RESULT));
    uint32_t model = forward_u32(&adder.guest, RESULT);
    for (int i = 1; i < MANY; i++) {
        REQUIRE_OK(CALL(&adder.guest, "context_create", model, RESULT));
    }
    CHECK_EQ(zb_live_objects(ZB_KIND_CONTEXT), MANY);
    adder_check(&adder);
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
    adder_open(&adder, engine, &options);
    CHECK_EQ(forward_infer(&adder.guest, adder.context, adder_loans, 3), ZB_ERROR_DEADLINE_EXCEEDED);
    forward_close(&adder.guest);
}

static const zt_test tests[] = {
    ON_BOTH(handles_of_another_guest_mean_nothing),
    ON_BOTH(handles_are_of_one_kind),
    ON_BOTH(handles_are_not_used_again),
    ON_BOTH(ten_thousand_contexts_are_too_many),
    ON_BOTH(thousands_of_contexts_go_with_their_guest),
    ON_BOTH(models_are_counted_until_their_last_context_is_gone),
    ON_BOTH(tensors_that_are_too_large_are_refused),
    ON_BOTH(runs_end_at_the_hosts_deadline),
};

int main(int argc, char **argv)
{
    /* one for all guests, as in a host that has many */
    engine = forward_engine(embed_config(EMBED_MOVES));
    int result = zt_main(argc, argv, tests, sizeof tests / sizeof *tests);
    wasm_engine_delete(engine);
    return result;
}
