/* Handles that are no handles: stale, of another kind, made up, destroyed twice. Each is refused, whatever number it is. */
#include "harness.h"

/* Everything that takes a handle of a kind, with all else right. */
#define CHECK_MODEL_IS(model, expected)                                               \
    do {                                                                              \
        uint32_t count_ = 77;                                                         \
        CHECK_STATUS(zb_model_get_slot_counts((model), &count_, NULL), (expected));   \
    } while (0)

static zb_model *as_model(uintptr_t number)
{
    return (zb_model *)number;
}

static zb_context *as_context(uintptr_t number)
{
    return (zb_context *)number;
}

static zb_tensor *as_tensor(uintptr_t number)
{
    return (zb_tensor *)number;
}

static void check_no_model(zb_model *model)
{
    zb_slot slot = 77;
    uint32_t count = 77;
    int32_t runtime = 77;
    zb_context *context = NULL;
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    CHECK_STATUS(zb_model_get_runtime(model, &runtime), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_model_get_slot_counts(model, &count, &count), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_model_get_slot_info(model, ZB_INPUT(0), &info), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_model_find_input(model, "x", &slot), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_model_find_output(model, "z", &slot), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_context_create(model, NULL, &context), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_model_destroy(model), ZB_ERROR_INVALID_HANDLE);
    CHECK(slot == 77 && count == 77 && runtime == 77 && context == NULL && info.name == NULL);
}

static void check_no_context(zb_context *context, zb_tensor *good)
{
    const int64_t dims[1] = {4};
    const void *view = NULL;
    size_t size = 77;
    zb_tensor *tensor = NULL;
    zb_tensor_desc desc = F32(1);
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    zb_requirements requirements = ZB_REQUIREMENTS_INIT;
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    zb_infer_options options = ZB_INFER_OPTIONS_INIT;
    CHECK_STATUS(zb_context_resize_input(context, ZB_INPUT(0), dims, 1), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_context_prepare(context), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_context_get_slot_info(context, ZB_INPUT(0), &info), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_context_get_slot_desc(context, ZB_INPUT(0), &desc, &size), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_context_get_requirements(context, ZB_INPUT(0), &requirements), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_context_unbind(context, ZB_INPUT(0)), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_context_swap(context, ZB_INPUT(0), ZB_OUTPUT(0)), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_context_reset_state(context), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_context_get_binding_report(context, ZB_INPUT(0), &report), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_context_get_stats(context, &stats), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_context_output_view(context, ZB_OUTPUT(0), &view, &size, &desc), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_tensor_alloc_for(context, ZB_INPUT(0), &tensor), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_tensor_bind(good, context, ZB_INPUT(0)), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_infer(context, &options), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_infer_with(context, NULL, 0, NULL), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_context_destroy(context), ZB_ERROR_INVALID_HANDLE);
    CHECK(view == NULL && size == 77 && tensor == NULL && info.name == NULL && stats.runs == 0);
}

static void check_no_tensor(zb_tensor *tensor, zb_context *good)
{
    void *data = NULL;
    size_t size = 77;
    zb_tensor_desc desc = F32(1);
    CHECK_STATUS(zb_tensor_get_data(tensor, &data, &size), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_tensor_get_desc(tensor, &desc), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_tensor_bind(tensor, good, ZB_INPUT(0)), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_tensor_destroy(tensor), ZB_ERROR_INVALID_HANDLE);
    CHECK(data == NULL && size == 77 && desc.rank == 1 && desc.dims[0] == 1);
}

/* One live object of each kind. */
typedef struct objects {
    zb_model *model;
    zb_context *context;
    zb_tensor *tensor;
} objects;

static objects make_objects(void)
{
    objects made;
    zb_tensor_desc desc = F32(4);
    made.model = zt_open("add4");
    made.context = zt_context(made.model);
    REQUIRE_OK(zb_tensor_alloc(&desc, 0, &made.tensor));
    return made;
}

/* Nothing that was tried did them any harm. */
static void free_objects(const objects *made)
{
    static const float expected[4] = {0, 0, 0, 0};
    const void *sum = NULL;
    REQUIRE_OK(zb_tensor_bind(made->tensor, made->context, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_bind(made->tensor, made->context, ZB_INPUT(1)));
    REQUIRE_OK(zb_infer(made->context, NULL));
    REQUIRE_OK(zb_context_output_view(made->context, ZB_OUTPUT(0), &sum, NULL, NULL));
    CHECK_FLOATS((const float *)sum, expected, 4, 0);
    CHECK_MODEL_IS(made->model, ZB_OK);
    CHECK_OK(zb_tensor_destroy(made->tensor));
    CHECK_OK(zb_context_destroy(made->context));
    CHECK_OK(zb_model_destroy(made->model));
}

static void destroyed(void)
{
    objects made = make_objects(), other = make_objects();
    REQUIRE_OK(zb_model_destroy(made.model));
    REQUIRE_OK(zb_context_destroy(made.context));
    REQUIRE_OK(zb_tensor_destroy(made.tensor));
    for (int times = 0; times < 2; times++) {
        check_no_model(made.model);
        check_no_context(made.context, other.tensor);
        check_no_tensor(made.tensor, other.context);
    }
    free_objects(&other);
}

static void of_another_kind(void)
{
    objects made = make_objects();
    check_no_model(as_model((uintptr_t)made.context));
    check_no_model(as_model((uintptr_t)made.tensor));
    check_no_context(as_context((uintptr_t)made.model), made.tensor);
    check_no_context(as_context((uintptr_t)made.tensor), made.tensor);
    check_no_tensor(as_tensor((uintptr_t)made.model), made.context);
    check_no_tensor(as_tensor((uintptr_t)made.context), made.context);
    free_objects(&made);
}

static void check_forged(const objects *made, uintptr_t number)
{
    check_no_model(as_model(number));
    check_no_context(as_context(number), made->tensor);
    check_no_tensor(as_tensor(number), made->context);
}

static void made_up(void)
{
    static const uintptr_t numbers[] = {1, 2, 3, 4, 5, 7, 15, 16, 0xFF, 0x1000, UINTPTR_MAX, UINTPTR_MAX - 1, UINTPTR_MAX / 2,
                                        UINTPTR_MAX / 2 + 1, UINTPTR_MAX / 3};
    int on_stack = 0;
    void *on_heap = malloc(64);
    objects made = make_objects();
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        check_forged(&made, numbers[i]);
    }
    check_forged(&made, (uintptr_t)&on_stack);
    check_forged(&made, (uintptr_t)on_heap);
    check_forged(&made, (uintptr_t)"text");
    free(on_heap);
    free_objects(&made);
}

/* Each neighbour of a live handle, and each that differs in one bit. There is one live object of each kind only. */
static void nearly_right(void)
{
    objects made = make_objects();
    uintptr_t live[3];
    live[0] = (uintptr_t)made.model;
    live[1] = (uintptr_t)made.context;
    live[2] = (uintptr_t)made.tensor;
    for (size_t kind = 0; kind < 3; kind++) {
        for (int distance = -64; distance <= 64; distance++) {
            uintptr_t number = live[kind] + (uintptr_t)distance;
            if (number != live[0] && number != live[1] && number != live[2]) {
                check_forged(&made, number);
            }
        }
        for (size_t bit = 0; bit < sizeof(uintptr_t) * 8; bit++) {
            uintptr_t number = live[kind] ^ (uintptr_t)1 << bit;
            if (number != live[0] && number != live[1] && number != live[2]) {
                check_forged(&made, number);
            }
        }
    }
    free_objects(&made);
}

/* The same numbers on every machine and in every run. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void at_random(void)
{
    objects made = make_objects();
    uint64_t state = 88172645463325252u;
    int rounds = zt_rounds(100000, 3000);
    for (int i = 0; i < rounds; i++) {
        uint64_t random = next_random(&state);
        uint32_t count = 77;
        /* all bits, few bits, and those near the live ones */
        uintptr_t number = (uintptr_t)(i % 3 == 0   ? random
                                       : i % 3 == 1 ? random >> (random & 63)
                                                    : (uintptr_t)made.tensor ^ (random & random >> 32 & 0xFFF0));
        if (number == 0 || number == (uintptr_t)made.model || number == (uintptr_t)made.context ||
            number == (uintptr_t)made.tensor) {
            continue;
        }
        CHECK_STATUS(zb_model_get_slot_counts(as_model(number), &count, NULL), ZB_ERROR_INVALID_HANDLE);
        CHECK_STATUS(zb_infer(as_context(number), NULL), ZB_ERROR_INVALID_HANDLE);
        CHECK_STATUS(zb_tensor_get_data(as_tensor(number), NULL, NULL), ZB_ERROR_INVALID_HANDLE);
        CHECK_STATUS(zb_model_destroy(as_model(number)), ZB_ERROR_INVALID_HANDLE);
        CHECK_STATUS(zb_context_destroy(as_context(number)), ZB_ERROR_INVALID_HANDLE);
        CHECK_STATUS(zb_tensor_destroy(as_tensor(number)), ZB_ERROR_INVALID_HANDLE);
        CHECK_STATUS(zb_queue_finish((zb_queue *)number, UINT64_MAX), ZB_ERROR_INVALID_HANDLE);
        CHECK_STATUS(zb_queue_destroy((zb_queue *)number), ZB_ERROR_INVALID_HANDLE);
        CHECK_STATUS(zb_event_cancel((zb_event *)number), ZB_ERROR_INVALID_HANDLE);
        CHECK_STATUS(zb_event_destroy((zb_event *)number), ZB_ERROR_INVALID_HANDLE);
    }
    free_objects(&made);
}

static int compare(const void *a, const void *b)
{
    const uintptr_t *left = a, *right = b;
    return *left < *right ? -1 : *left > *right;
}

/* Places are used again, handles are not: no number comes twice, and none of the past becomes good again. */
static void reused_places(void)
{
    zb_tensor_desc desc = F32(4);
    float memory[4] = {0, 0, 0, 0};
    uint64_t state = 2463534242u;
    size_t rounds = (size_t)zt_rounds(100000, 3000);
    uintptr_t *past = calloc(rounds, sizeof *past);
    REQUIRE(past != NULL);
    for (size_t i = 0; i < rounds; i++) {
        zb_tensor *tensor = NULL;
        REQUIRE_OK(zb_tensor_wrap(&desc, memory, sizeof memory, 0, NULL, NULL, &tensor));
        if (i > 0) {
            zb_tensor *old = as_tensor(past[next_random(&state) % i]);
            CHECK_STATUS(zb_tensor_get_data(as_tensor(past[i - 1]), NULL, NULL), ZB_ERROR_INVALID_HANDLE);
            CHECK_STATUS(zb_tensor_get_data(old, NULL, NULL), ZB_ERROR_INVALID_HANDLE);
            CHECK_STATUS(zb_tensor_destroy(old), ZB_ERROR_INVALID_HANDLE);
        }
        CHECK_OK(zb_tensor_get_data(tensor, NULL, NULL));
        past[i] = (uintptr_t)tensor;
        REQUIRE_OK(zb_tensor_destroy(tensor));
    }
    qsort(past, rounds, sizeof *past, compare);
    for (size_t i = 0; i < rounds; i++) {
        CHECK(i == 0 || past[i] != past[i - 1]);
        CHECK_STATUS(zb_tensor_get_data(as_tensor(past[i]), NULL, NULL), ZB_ERROR_INVALID_HANDLE);
    }
    free(past);
}

static void many_at_once(void)
{
    enum { MANY = 20000 };
    static zb_tensor *tensors[MANY];
    zb_tensor_desc desc = F32(4);
    float memory[4] = {0, 0, 0, 0};
    size_t count = (size_t)zt_rounds(MANY, 500);
    for (size_t i = 0; i < count; i++) {
        REQUIRE_OK(zb_tensor_wrap(&desc, memory, sizeof memory, 0, NULL, NULL, &tensors[i]));
    }
    CHECK_EQ(zb_live_objects(ZB_KIND_TENSOR), count);
    /* every second one, so that what is left is scattered */
    for (size_t i = 0; i < count; i += 2) {
        REQUIRE_OK(zb_tensor_destroy(tensors[i]));
    }
    for (size_t i = 0; i < count; i++) {
        CHECK_STATUS(zb_tensor_get_data(tensors[i], NULL, NULL), i % 2 == 0 ? ZB_ERROR_INVALID_HANDLE : ZB_OK);
    }
    for (size_t i = 1; i < count; i += 2) {
        REQUIRE_OK(zb_tensor_destroy(tensors[i]));
    }
}

static const zt_test tests[] = {
    ON_BOTH(destroyed),
    ON_BOTH(of_another_kind),
    ON_BOTH(made_up),
    ON_BOTH(nearly_right),
    ON_BOTH(at_random),
    ON_BOTH(reused_places),
    ON_BOTH(many_at_once),
};

ZT_MAIN(tests)
