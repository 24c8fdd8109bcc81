/*
 * The rules of docs/lifetimes.md, each broken on purpose: who holds what when, in every order of destroys, and every
 * release called exactly once. What needs a second thread is in test_threads.
 */
#include "harness.h"

#include <sys/mman.h>

#define BYTES 16u

static const float sums[4] = {11, 22, 33, 44};

/* Memory of the host for one slot of add4, with its release. */
typedef struct lent_tensor {
    zt_buffer buffer;
    zt_releases releases;
    zb_tensor *handle;
} lent_tensor;

static void wrap(lent_tensor *made, float start, float step)
{
    zb_tensor_desc desc = F32(4);
    memset(&made->releases, 0, sizeof made->releases);
    made->buffer = zt_buffer_new(BYTES);
    if (step > 0) {
        zt_fill_floats(&made->buffer, start, step);
    }
    made->handle = NULL;
    REQUIRE_OK(zb_tensor_wrap(&desc, made->buffer.data, BYTES, made->buffer.capacity, zt_count_release, &made->releases,
                              &made->handle));
}

static void check_released(lent_tensor *made, int times)
{
    CHECK_EQ(made->releases.count, times);
    if (times == 1) {
        CHECK_ADDRESS(made->releases.data, made->buffer.data);
        CHECK_EQ(made->releases.size, BYTES);
    }
}

/* z = x + y, all bound, with model bytes of the host. */
typedef struct setup {
    void *bytes;
    zt_releases bytes_releases;
    zb_model *model;
    zb_context *context;
    lent_tensor x, y, z;
} setup;

static void open_bytes(setup *made)
{
    char *path = zt_model_path("add4");
    size_t size = 0;
    memset(&made->bytes_releases, 0, sizeof made->bytes_releases);
    made->bytes = zt_read(path, &size);
    REQUIRE_OK(zb_model_open_bytes(made->bytes, size, zt_count_release, &made->bytes_releases, NULL, &made->model));
    free(path);
}

static void make_setup(setup *made)
{
    open_bytes(made);
    made->context = zt_context(made->model);
    wrap(&made->x, 1, 1);
    wrap(&made->y, 10, 10);
    wrap(&made->z, 0, 0);
    REQUIRE_OK(zb_tensor_bind(made->x.handle, made->context, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_bind(made->y.handle, made->context, ZB_INPUT(1)));
    REQUIRE_OK(zb_tensor_bind(made->z.handle, made->context, ZB_OUTPUT(0)));
}

static void check_runs(setup *made)
{
    memset(made->z.buffer.data, 0, BYTES);
    REQUIRE_OK(zb_infer(made->context, NULL));
    CHECK_FLOATS(zt_floats(&made->z.buffer), sums, 4, 0);
}

static void free_memory(setup *made)
{
    check_released(&made->x, 1);
    check_released(&made->y, 1);
    check_released(&made->z, 1);
    CHECK_EQ(made->bytes_releases.count, 1);
    CHECK_ADDRESS(made->bytes_releases.data, made->bytes);
    free(made->bytes);
    FREE_BUFFER(&made->x.buffer);
    FREE_BUFFER(&made->y.buffer);
    FREE_BUFFER(&made->z.buffer);
}

/* --- rule 3 and 5: bindings hold, and any order is legal --- */

static void a_binding_holds_its_tensor(void)
{
    setup made;
    make_setup(&made);
    REQUIRE_OK(zb_tensor_destroy(made.x.handle));
    REQUIRE_OK(zb_tensor_destroy(made.y.handle));
    REQUIRE_OK(zb_tensor_destroy(made.z.handle));
    CHECK_STATUS(zb_tensor_get_data(made.x.handle, NULL, NULL), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_tensor_bind(made.x.handle, made.context, ZB_INPUT(0)), ZB_ERROR_INVALID_HANDLE);
    CHECK_EQ(zb_live_objects(ZB_KIND_TENSOR), 3);
    for (int run = 0; run < 3; run++) {
        check_runs(&made);
    }
    check_released(&made.x, 0);
    REQUIRE_OK(zb_context_destroy(made.context));
    check_released(&made.x, 1);
    check_released(&made.y, 1);
    check_released(&made.z, 1);
    REQUIRE_OK(zb_model_destroy(made.model));
    free_memory(&made);
}

static void a_context_keeps_its_model(void)
{
    setup made;
    make_setup(&made);
    REQUIRE_OK(zb_model_destroy(made.model));
    CHECK_EQ(zb_live_objects(ZB_KIND_MODEL), 1);
    CHECK_EQ(made.bytes_releases.count, 0);
    check_runs(&made);
    zb_context *second = NULL;
    CHECK_STATUS(zb_context_create(made.model, NULL, &second), ZB_ERROR_INVALID_HANDLE);
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    /* strings live as long as the context's handle */
    REQUIRE_OK(zb_context_get_slot_info(made.context, ZB_INPUT(1), &info));
    CHECK(strcmp(info.name, "y") == 0);
    REQUIRE_OK(zb_context_destroy(made.context));
    CHECK_EQ(made.bytes_releases.count, 1);
    zb_tensor_destroy(made.x.handle);
    zb_tensor_destroy(made.y.handle);
    zb_tensor_destroy(made.z.handle);
    free_memory(&made);
}

/* Destroys what the position stands for: model, context, x, y, z. */
static void destroy_at(setup *made, int position)
{
    switch (position) {
    case 0:
        REQUIRE_OK(zb_model_destroy(made->model));
        break;
    case 1:
        REQUIRE_OK(zb_context_destroy(made->context));
        break;
    case 2:
        REQUIRE_OK(zb_tensor_destroy(made->x.handle));
        break;
    case 3:
        REQUIRE_OK(zb_tensor_destroy(made->y.handle));
        break;
    default:
        REQUIRE_OK(zb_tensor_destroy(made->z.handle));
        break;
    }
}

static void check_order(const int order[5])
{
    setup made;
    int alive = 1, is_destroyed[5] = {0, 0, 0, 0, 0};
    lent_tensor *tensors[3];
    make_setup(&made);
    tensors[0] = &made.x;
    tensors[1] = &made.y;
    tensors[2] = &made.z;
    for (int step = 0; step < 5; step++) {
        destroy_at(&made, order[step]);
        is_destroyed[order[step]] = 1;
        alive = !is_destroyed[1];
        if (alive) {
            check_runs(&made);
        } else {
            CHECK_STATUS(zb_infer(made.context, NULL), ZB_ERROR_INVALID_HANDLE);
        }
        for (int i = 0; i < 3; i++) {
            check_released(tensors[i], !alive && is_destroyed[2 + i] ? 1 : 0);
        }
        CHECK_EQ(made.bytes_releases.count, !alive && is_destroyed[0] ? 1 : 0);
    }
    CHECK(zt_nothing_is_alive());
    free_memory(&made);
}

static void all_orders_from(int order[5], int chosen)
{
    if (chosen == 5) {
        check_order(order);
        return;
    }
    for (int next = chosen; next < 5; next++) {
        int swapped[5];
        memcpy(swapped, order, sizeof swapped);
        swapped[chosen] = order[next];
        swapped[next] = order[chosen];
        all_orders_from(swapped, chosen + 1);
    }
}

static void destroy_in_every_order(void)
{
    int order[5] = {0, 1, 2, 3, 4};
    all_orders_from(order, 0);
}

static void destroy_before_any_run(void)
{
    setup made;
    make_setup(&made);
    REQUIRE_OK(zb_model_destroy(made.model));
    REQUIRE_OK(zb_context_destroy(made.context));
    check_released(&made.x, 0);
    zb_tensor_destroy(made.x.handle);
    zb_tensor_destroy(made.y.handle);
    zb_tensor_destroy(made.z.handle);
    free_memory(&made);
}

/* --- rule 1: exactly once, on every path --- */

static void released_when_unbound(void)
{
    setup made;
    make_setup(&made);
    check_runs(&made);
    REQUIRE_OK(zb_tensor_destroy(made.x.handle));
    check_released(&made.x, 0);
    REQUIRE_OK(zb_context_unbind(made.context, ZB_INPUT(0)));
    check_released(&made.x, 1);
    REQUIRE_OK(zb_context_unbind(made.context, ZB_INPUT(0)));
    CHECK_STATUS(zb_infer(made.context, NULL), ZB_ERROR_UNBOUND);
    /* unbound first, destroyed then */
    REQUIRE_OK(zb_context_unbind(made.context, ZB_INPUT(1)));
    check_released(&made.y, 0);
    REQUIRE_OK(zb_tensor_destroy(made.y.handle));
    check_released(&made.y, 1);
    /* replaced by another */
    lent_tensor other;
    wrap(&other, 0, 0);
    REQUIRE_OK(zb_tensor_destroy(made.z.handle));
    REQUIRE_OK(zb_tensor_bind(other.handle, made.context, ZB_OUTPUT(0)));
    check_released(&made.z, 1);
    zb_tensor_destroy(other.handle);
    check_released(&other, 0);
    zb_model_destroy(made.model);
    zb_context_destroy(made.context);
    check_released(&other, 1);
    FREE_BUFFER(&other.buffer);
    free_memory(&made);
}

static void bound_many_times_released_once(void)
{
    setup made;
    zb_context *others[3];
    make_setup(&made);
    for (int i = 0; i < 3; i++) {
        others[i] = zt_context(made.model);
        REQUIRE_OK(zb_tensor_bind(made.x.handle, others[i], ZB_INPUT(0)));
        REQUIRE_OK(zb_tensor_bind(made.x.handle, others[i], ZB_INPUT(1)));
        REQUIRE_OK(zb_tensor_bind(made.x.handle, others[i], ZB_INPUT(1)));
    }
    zb_tensor_destroy(made.x.handle);
    zb_context_destroy(made.context);
    zb_context_destroy(others[0]);
    check_released(&made.x, 0);
    REQUIRE_OK(zb_context_unbind(others[1], ZB_INPUT(0)));
    REQUIRE_OK(zb_context_unbind(others[1], ZB_INPUT(1)));
    check_released(&made.x, 0);
    zb_context_destroy(others[2]);
    check_released(&made.x, 1);
    zb_context_destroy(others[1]);
    zb_model_destroy(made.model);
    CHECK_EQ(made.bytes_releases.count, 1);
    zb_tensor_destroy(made.y.handle);
    zb_tensor_destroy(made.z.handle);
    free_memory(&made);
}

static void refused_calls_keep_the_bindings(void)
{
    setup made;
    lent_tensor other;
    make_setup(&made);
    zb_tensor_destroy(made.x.handle);
    zb_tensor_desc wrong = F32(2, 2);
    zb_tensor *misfit = NULL;
    wrap(&other, 5, 5);
    REQUIRE_OK(zb_tensor_alloc(&wrong, 0, &misfit));
    CHECK_STATUS(zb_tensor_bind(misfit, made.context, ZB_INPUT(0)), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_STATUS(zb_tensor_bind(other.handle, made.context, ZB_INPUT(2)), ZB_ERROR_INVALID_ARGUMENT);
    check_released(&made.x, 0);
    check_runs(&made);
    zb_tensor_destroy(misfit);
    zb_tensor_destroy(other.handle);
    check_released(&other, 1);
    zb_tensor_destroy(made.y.handle);
    zb_tensor_destroy(made.z.handle);
    zb_context_destroy(made.context);
    zb_model_destroy(made.model);
    FREE_BUFFER(&other.buffer);
    free_memory(&made);
}

static void failed_wraps_release_nothing(void)
{
    zt_buffer buffer = zt_buffer_new(BYTES);
    zt_releases releases = {0, NULL, 0};
    zb_tensor_desc good = F32(4), bad = F32(5), open = F32(-1), strings = DESC(ZB_DTYPE_STRING, 4);
    zb_tensor *tensor = NULL;
    CHECK_STATUS(zb_tensor_wrap(&bad, buffer.data, BYTES, 0, zt_count_release, &releases, &tensor), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_STATUS(zb_tensor_wrap_const(&open, buffer.data, BYTES, 0, zt_count_release, &releases, &tensor), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_STATUS(zb_tensor_wrap(&strings, buffer.data, BYTES, 0, zt_count_release, &releases, &tensor), ZB_ERROR_UNSUPPORTED);
    CHECK_STATUS(zb_tensor_wrap(&good, NULL, BYTES, 0, zt_count_release, &releases, &tensor), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_tensor_wrap_const(&good, buffer.data, BYTES, 8, zt_count_release, &releases, &tensor),
                 ZB_ERROR_INVALID_ARGUMENT);
    CHECK(tensor == NULL);
    CHECK_EQ(releases.count, 0);
    CHECK(zt_nothing_is_alive());
    FREE_BUFFER(&buffer);
}

static void refuse_bytes(const void *bytes, size_t size, const zb_model_options *options, zb_status expected)
{
    zt_releases releases = {0, NULL, 0};
    zb_model *model = NULL;
    CHECK_STATUS(zb_model_open_bytes(bytes, size, zt_count_release, &releases, options, &model), expected);
    CHECK(model == NULL);
    CHECK_EQ(releases.count, 0);
    CHECK(zt_nothing_is_alive());
}

static void failed_opens_release_nothing(void)
{
    zb_option option = {"no.such.key", "1"};
    zb_model_options options = ZB_MODEL_OPTIONS_INIT, hashed = ZB_MODEL_OPTIONS_INIT, small = ZB_MODEL_OPTIONS_INIT;
    char *path = zt_model_path("add4");
    size_t size = 0;
    unsigned char *bytes = zt_read(path, &size);
    unsigned char *moved = zt_read(path, &size);
    options.options = &option;
    options.option_count = 1;
    hashed.sha256[5] = 1;
    small.max_tensor_bytes = 1;
    refuse_bytes(bytes, size / 2, NULL, ZB_ERROR_MODEL_INVALID);
    refuse_bytes(bytes, 0, NULL, ZB_ERROR_MODEL_INVALID);
    refuse_bytes(bytes, size, &options, ZB_ERROR_NOT_FOUND);
    refuse_bytes(bytes, size, &hashed, ZB_ERROR_MODEL_INVALID);
    refuse_bytes(bytes, size, &small, ZB_ERROR_UNSUPPORTED);
    memmove(moved + 8, bytes, size);
    refuse_bytes(moved + 8, size, NULL, ZB_ERROR_MISALIGNED);
    CHECK_ERROR_SAYS("multiple of 16");
    CHECK_ERROR_SAYS("zb_model_open_bytes_copy");
    /* a copy goes anywhere */
    zb_model *model = NULL;
    REQUIRE_OK(zb_model_open_bytes_copy(moved + 8, size, NULL, &model));
    zb_model_destroy(model);
    free(bytes);
    free(moved);
    free(path);
}

static void empty_memory_is_released_too(void)
{
    zb_tensor_desc desc = F32(0, 4);
    zb_tensor *tensor = NULL;
    zt_releases releases = {0, &tensor, 1};
    REQUIRE_OK(zb_tensor_wrap(&desc, NULL, 0, 0, zt_count_release, &releases, &tensor));
    CHECK_EQ(releases.count, 0);
    REQUIRE_OK(zb_tensor_destroy(tensor));
    CHECK_EQ(releases.count, 1);
    CHECK_ADDRESS(releases.data, NULL);
    CHECK_EQ(releases.size, 0);
}

static void nothing_to_release(void)
{
    zb_tensor_desc desc = F32(4);
    zt_buffer buffer = zt_buffer_new(BYTES);
    zb_tensor *wrapped = NULL, *allocated = NULL;
    REQUIRE_OK(zb_tensor_wrap(&desc, buffer.data, BYTES, 0, NULL, &buffer, &wrapped));
    REQUIRE_OK(zb_tensor_alloc(&desc, 0, &allocated));
    CHECK_OK(zb_tensor_destroy(wrapped));
    CHECK_OK(zb_tensor_destroy(allocated));
    CHECK(zt_is_untouched(&buffer));
    FREE_BUFFER(&buffer);
}

/* Memory that is made at the last moment and gone at the first: a use after the release would end here. */
static void unmap(void *user_data, void *data, size_t size)
{
    (*(int *)user_data)++;
    (void)size;
    REQUIRE(munmap(data, zt_page_size()) == 0);
}

/* A page of the host with 1, 2, 3, 4 at its start, bound; only the binding holds it, and its release unmaps it. */
static float *bind_page(zb_context *context, zb_slot slot, int *released)
{
    zb_tensor_desc desc = F32(4);
    zb_tensor *tensor = NULL;
    float *page = mmap(NULL, zt_page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED);
    for (int i = 0; i < 4; i++) {
        page[i] = (float)(i + 1);
    }
    REQUIRE_OK(zb_tensor_wrap(&desc, page, BYTES, zt_page_size(), unmap, released, &tensor));
    REQUIRE_OK(zb_tensor_bind(tensor, context, slot));
    REQUIRE_OK(zb_tensor_destroy(tensor));
    return page;
}

static void nothing_is_touched_after_release(void)
{
    zb_tensor_desc desc = F32(4);
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    zt_buffer y = zt_buffer_new(BYTES);
    zb_tensor *second = zt_wrap(&desc, &y);
    int released = 0;
    zt_fill_floats(&y, 10, 10);
    REQUIRE_OK(zb_tensor_bind(second, context, ZB_INPUT(1)));
    for (int round = 0; round < 20; round++) {
        const void *sum = NULL;
        bind_page(context, ZB_INPUT(0), &released);
        REQUIRE_OK(zb_infer(context, NULL));
        REQUIRE_OK(zb_context_output_view(context, ZB_OUTPUT(0), &sum, NULL, NULL));
        CHECK_FLOATS((const float *)sum, sums, 4, 0);
        if (round % 2 == 0) {
            REQUIRE_OK(zb_context_unbind(context, ZB_INPUT(0)));
            CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_UNBOUND);
            CHECK_EQ(released, round + 1);
        }
    }
    zb_context_destroy(context);
    CHECK_EQ(released, 20);
    zb_tensor_destroy(second);
    zb_model_destroy(model);
    FREE_BUFFER(&y);
}

/* What is held goes with the swap, whether the engine had seen it or not. */
static void check_swap_moves(int run_before, int run_after)
{
    setup made;
    make_setup(&made);
    zb_tensor_destroy(made.x.handle);
    zb_tensor_destroy(made.z.handle);
    if (run_before) {
        check_runs(&made);
    }
    REQUIRE_OK(zb_context_swap(made.context, ZB_INPUT(0), ZB_OUTPUT(0)));
    if (run_after) {
        REQUIRE_OK(zb_infer(made.context, NULL));
    }
    check_released(&made.x, 0);
    check_released(&made.z, 0);
    CHECK_EQ(zb_live_objects(ZB_KIND_TENSOR), 3);
    REQUIRE_OK(zb_context_unbind(made.context, ZB_INPUT(0)));
    check_released(&made.x, 0);
    check_released(&made.z, 1);
    REQUIRE_OK(zb_context_unbind(made.context, ZB_OUTPUT(0)));
    check_released(&made.x, 1);
    check_released(&made.z, 1);
    zb_context_destroy(made.context);
    zb_tensor_destroy(made.y.handle);
    zb_model_destroy(made.model);
    free_memory(&made);
}

static void a_swap_moves_what_is_held(void)
{
    check_swap_moves(0, 0);
    check_swap_moves(0, 1);
    check_swap_moves(1, 0);
    check_swap_moves(1, 1);
}

static void a_refused_swap_releases_nothing(void)
{
    setup made;
    make_setup(&made);
    for (int i = 2; i < 5; i++) {
        destroy_at(&made, i);
    }
    REQUIRE_OK(zb_context_unbind(made.context, ZB_INPUT(1)));
    check_released(&made.y, 1);
    CHECK_STATUS(zb_context_swap(made.context, ZB_INPUT(1), ZB_OUTPUT(0)), ZB_ERROR_UNBOUND);
    CHECK_STATUS(zb_context_swap(made.context, ZB_INPUT(0), ZB_INPUT(1)), ZB_ERROR_UNBOUND);
    CHECK_STATUS(zb_context_swap(made.context, ZB_INPUT(0), ZB_INPUT(2)), ZB_ERROR_INVALID_ARGUMENT);
    REQUIRE_OK(zb_context_swap(made.context, ZB_INPUT(0), ZB_INPUT(0)));
    check_released(&made.x, 0);
    check_released(&made.z, 0);
    zb_context_destroy(made.context);
    zb_model_destroy(made.model);
    free_memory(&made);
}

/* The engine has let go of both pages by then. */
static void nothing_is_touched_after_a_swap_and_a_release(void)
{
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    int released = 0;
    bind_page(context, ZB_INPUT(1), &released);
    for (int round = 0; round < 20; round++) {
        const float *in = bind_page(context, ZB_INPUT(0), &released);
        const float *out = bind_page(context, ZB_OUTPUT(0), &released);
        const float twice[4] = {2, 4, 6, 8}, thrice[4] = {3, 6, 9, 12};
        REQUIRE_OK(zb_infer(context, NULL));
        CHECK_FLOATS(out, twice, 4, 0);
        REQUIRE_OK(zb_context_swap(context, ZB_INPUT(0), ZB_OUTPUT(0)));
        if (round % 2 == 0) {
            REQUIRE_OK(zb_infer(context, NULL));
            CHECK_FLOATS(in, thrice, 4, 0);
        }
        /* the page that is an output now, and then that which is an input */
        REQUIRE_OK(zb_context_unbind(context, ZB_OUTPUT(0)));
        CHECK_EQ(released, 2 * round + 1);
        REQUIRE_OK(zb_infer(context, NULL));
        REQUIRE_OK(zb_context_unbind(context, ZB_INPUT(0)));
        CHECK_EQ(released, 2 * round + 2);
    }
    zb_context_destroy(context);
    CHECK_EQ(released, 41);
    zb_model_destroy(model);
}

/* Bound to what was there before the reset, let go before the next run. */
static void nothing_is_touched_after_a_reset_and_a_release(void)
{
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    zb_tensor_desc desc = F32(4);
    zt_buffer x = zt_buffer_new(BYTES), y = zt_buffer_new(BYTES), z = zt_buffer_new(BYTES);
    int released = 0;
    zt_fill_floats(&x, 1, 1);
    zt_fill_floats(&y, 10, 10);
    for (int round = 0; round < 10; round++) {
        for (uint32_t i = 0; i < 2; i++) {
            bind_page(context, ZB_INPUT(i), &released);
        }
        const float *out = bind_page(context, ZB_OUTPUT(0), &released);
        const float twice[4] = {2, 4, 6, 8};
        REQUIRE_OK(zb_infer(context, NULL));
        CHECK_FLOATS(out, twice, 4, 0);
        /* the pages go after the reset, or before it */
        if (round % 2 == 0) {
            REQUIRE_OK(zb_context_reset_state(context));
        }
        CHECK_EQ(released, 3 * round);
        REQUIRE_OK(zb_context_unbind(context, ZB_OUTPUT(0)));
        REQUIRE_OK(zb_context_unbind(context, ZB_INPUT(1)));
        REQUIRE_OK(zb_context_unbind(context, ZB_INPUT(0)));
        CHECK_EQ(released, 3 * round + 3);
        if (round % 2 == 1) {
            REQUIRE_OK(zb_context_reset_state(context));
        }
        zb_loan loans[3] = {zt_lend_input(0, &x), zt_lend_input(1, &y), zt_lend_output(0, &z)};
        REQUIRE_OK(zb_infer_with(context, loans, 3, NULL));
        CHECK_FLOATS(zt_floats(&z), sums, 4, 0);
    }
    /* and when the context goes right after a reset */
    zt_bind(context, ZB_INPUT(0), desc, &x);
    bind_page(context, ZB_INPUT(1), &released);
    REQUIRE_OK(zb_infer(context, NULL));
    REQUIRE_OK(zb_context_reset_state(context));
    CHECK_EQ(released, 30);
    zb_context_destroy(context);
    CHECK_EQ(released, 31);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
    FREE_BUFFER(&z);
}

static void a_reset_releases_nothing(void)
{
    setup made;
    make_setup(&made);
    for (int i = 2; i < 5; i++) {
        destroy_at(&made, i);
    }
    REQUIRE_OK(zb_model_destroy(made.model));
    for (int round = 0; round < 3; round++) {
        check_runs(&made);
        REQUIRE_OK(zb_context_reset_state(made.context));
    }
    /* the model's bytes are read once more by each reset */
    CHECK_EQ(made.bytes_releases.count, 0);
    check_released(&made.x, 0);
    check_released(&made.y, 0);
    check_released(&made.z, 0);
    REQUIRE_OK(zb_context_unbind(made.context, ZB_INPUT(1)));
    check_released(&made.y, 1);
    REQUIRE_OK(zb_context_destroy(made.context));
    CHECK_STATUS(zb_context_reset_state(made.context), ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_context_swap(made.context, ZB_INPUT(0), ZB_OUTPUT(0)), ZB_ERROR_INVALID_HANDLE);
    free_memory(&made);
}

/* --- releases that call back --- */

/* What a release does, and what it found. */
typedef struct script {
    void (*act)(struct script *);
    zb_model *model;
    zb_context *context;
    zb_tensor *tensor;
    zb_slot slot;
    zb_status status;
    int calls;
    struct script *next;
} script;

static void act(void *user_data, void *data, size_t size)
{
    script *told = user_data;
    (void)data;
    (void)size;
    told->calls++;
    told->act(told);
}

static zb_tensor *wrap_with_script(zt_buffer *buffer, script *told)
{
    zb_tensor_desc desc = F32(4);
    zb_tensor *tensor = NULL;
    REQUIRE_OK(zb_tensor_wrap(&desc, buffer->data, BYTES, buffer->capacity, act, told, &tensor));
    return tensor;
}

static void destroy_the_next(script *told)
{
    told->status = zb_tensor_destroy(told->tensor);
}

static void a_release_destroys_another_and_so_on(void)
{
    enum { LONG = 50 };
    static script chain[LONG];
    zt_buffer buffer = zt_buffer_new(BYTES);
    memset(chain, 0, sizeof chain);
    /* the last one destroys NULL */
    zb_tensor *head = NULL;
    for (int i = LONG - 1; i >= 0; i--) {
        chain[i].act = destroy_the_next;
        chain[i].tensor = head;
        chain[i].status = -1;
        head = wrap_with_script(&buffer, &chain[i]);
    }
    REQUIRE_OK(zb_tensor_destroy(head));
    for (int i = 0; i < LONG; i++) {
        CHECK_EQ(chain[i].calls, 1);
        CHECK_EQ(chain[i].status, ZB_OK);
    }
    FREE_BUFFER(&buffer);
}

static void bind_the_next(script *told)
{
    told->status = zb_tensor_bind(told->tensor, told->context, told->slot);
}

static void run_the_context(script *told)
{
    told->status = zb_infer(told->context, NULL);
}

static void make_and_destroy(script *told)
{
    zb_tensor_desc desc = F32(4);
    float memory[4] = {0, 0, 0, 0};
    zb_tensor *tensor = NULL;
    zb_context *context = NULL;
    zt_releases releases = {0, NULL, 0};
    told->status = zb_tensor_wrap(&desc, memory, sizeof memory, 0, zt_count_release, &releases, &tensor);
    REQUIRE_OK(zb_context_create(told->model, NULL, &context));
    REQUIRE_OK(zb_tensor_destroy(tensor));
    REQUIRE_OK(zb_context_destroy(context));
    REQUIRE_OK(zb_model_destroy(told->model));
    CHECK_EQ(releases.count, 1);
}

static void destroy_the_context(script *told)
{
    told->status = zb_context_destroy(told->context);
}

/* A release inside unbind binds a tensor to the same slot: the context is free again by then. */
static void a_release_inside_unbind_binds(void)
{
    script told;
    setup made;
    zt_buffer first = zt_buffer_new(BYTES);
    make_setup(&made);
    memset(&told, 0, sizeof told);
    told.act = bind_the_next;
    told.context = made.context;
    told.tensor = made.x.handle;
    told.slot = ZB_INPUT(0);
    zb_tensor *tensor = wrap_with_script(&first, &told);
    REQUIRE_OK(zb_tensor_bind(tensor, made.context, ZB_INPUT(0)));
    zb_tensor_destroy(tensor);
    REQUIRE_OK(zb_context_unbind(made.context, ZB_INPUT(0)));
    CHECK_EQ(told.calls, 1);
    CHECK_EQ(told.status, ZB_OK);
    check_runs(&made);
    for (int i = 0; i < 5; i++) {
        destroy_at(&made, i);
    }
    FREE_BUFFER(&first);
    free_memory(&made);
}

/* A release inside bind runs the context, with the new tensor in its place. */
static void a_release_inside_bind_runs(void)
{
    script told;
    setup made;
    zt_buffer first = zt_buffer_new(BYTES);
    make_setup(&made);
    memset(&told, 0, sizeof told);
    told.act = run_the_context;
    told.context = made.context;
    zb_tensor *tensor = wrap_with_script(&first, &told);
    REQUIRE_OK(zb_tensor_bind(tensor, made.context, ZB_INPUT(0)));
    zb_tensor_destroy(tensor);
    REQUIRE_OK(zb_tensor_bind(made.x.handle, made.context, ZB_INPUT(0)));
    CHECK_EQ(told.calls, 1);
    CHECK_EQ(told.status, ZB_OK);
    CHECK_FLOATS(zt_floats(&made.z.buffer), sums, 4, 0);
    for (int i = 0; i < 5; i++) {
        destroy_at(&made, i);
    }
    FREE_BUFFER(&first);
    free_memory(&made);
}

/* A release inside the context's own destroy: the handle is dead, all else works. */
static void a_release_inside_destroy_makes_objects(void)
{
    script runs, makes;
    setup made;
    zt_buffer first = zt_buffer_new(BYTES), second = zt_buffer_new(BYTES);
    make_setup(&made);
    memset(&runs, 0, sizeof runs);
    memset(&makes, 0, sizeof makes);
    runs.act = run_the_context;
    runs.context = made.context;
    makes.act = make_and_destroy;
    makes.model = made.model;
    zb_tensor *x = wrap_with_script(&first, &runs), *y = wrap_with_script(&second, &makes);
    REQUIRE_OK(zb_tensor_bind(x, made.context, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_bind(y, made.context, ZB_INPUT(1)));
    zb_tensor_destroy(x);
    zb_tensor_destroy(y);
    REQUIRE_OK(zb_context_destroy(made.context));
    CHECK(runs.calls == 1 && makes.calls == 1);
    CHECK_EQ(runs.status, ZB_ERROR_INVALID_HANDLE);
    CHECK_EQ(makes.status, ZB_OK);
    CHECK_EQ(made.bytes_releases.count, 1);
    for (int i = 2; i < 5; i++) {
        destroy_at(&made, i);
    }
    FREE_BUFFER(&first);
    FREE_BUFFER(&second);
    free_memory(&made);
}

/* A release inside unbind destroys the context that it was unbound from. */
static void a_release_inside_unbind_destroys_the_context(void)
{
    script told;
    setup made;
    zt_buffer first = zt_buffer_new(BYTES);
    make_setup(&made);
    memset(&told, 0, sizeof told);
    told.act = destroy_the_context;
    told.context = made.context;
    zb_tensor *tensor = wrap_with_script(&first, &told);
    REQUIRE_OK(zb_tensor_bind(tensor, made.context, ZB_INPUT(0)));
    zb_tensor_destroy(tensor);
    for (int i = 2; i < 5; i++) {
        destroy_at(&made, i);
    }
    check_released(&made.y, 0);
    REQUIRE_OK(zb_context_unbind(made.context, ZB_INPUT(0)));
    CHECK_EQ(told.calls, 1);
    CHECK_EQ(told.status, ZB_OK);
    check_released(&made.y, 1);
    CHECK_STATUS(zb_infer(made.context, NULL), ZB_ERROR_INVALID_HANDLE);
    destroy_at(&made, 0);
    FREE_BUFFER(&first);
    free_memory(&made);
}

/* --- rule 2: loans end with their call --- */

static void loans_end_with_the_call(void)
{
    setup made;
    zt_buffer lent = zt_buffer_new(BYTES);
    make_setup(&made);
    zt_fill_floats(&lent, 100, 1);
    zb_loan loan = zt_lend_input(0, &lent);
    REQUIRE_OK(zb_infer_with(made.context, &loan, 1, NULL));
    CHECK(zt_floats(&made.z.buffer)[0] == 110);
    FREE_BUFFER(&lent);
    check_runs(&made);
    REQUIRE_OK(zb_context_unbind(made.context, ZB_INPUT(0)));
    CHECK_STATUS(zb_infer(made.context, NULL), ZB_ERROR_UNBOUND);
    for (int i = 0; i < 5; i++) {
        destroy_at(&made, i);
    }
    free_memory(&made);
}

/* --- rule 6: model bytes --- */

static void bytes_stay_until_the_last_context(void)
{
    setup made;
    zb_context *contexts[3];
    open_bytes(&made);
    for (int i = 0; i < 3; i++) {
        contexts[i] = zt_context(made.model);
    }
    REQUIRE_OK(zb_model_destroy(made.model));
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(made.bytes_releases.count, 0);
        CHECK_OK(zb_context_prepare(contexts[i]));
        REQUIRE_OK(zb_context_destroy(contexts[i]));
    }
    CHECK_EQ(made.bytes_releases.count, 1);
    free(made.bytes);
}

static void copied_bytes_are_the_hosts_again(void)
{
    char *path = zt_model_path("add4");
    size_t size = 0;
    unsigned char *bytes = zt_read(path, &size);
    zt_buffer x = zt_buffer_new(BYTES);
    zb_model *model = NULL;
    REQUIRE_OK(zb_model_open_bytes_copy(bytes, size, NULL, &model));
    memset(bytes, 0, size);
    free(bytes);
    zb_context *context = zt_context(model);
    zb_loan loans[2];
    zt_fill_floats(&x, 1, 1);
    loans[0] = zt_lend_input(0, &x);
    loans[1] = zt_lend_input(1, &x);
    CHECK_OK(zb_infer_with(context, loans, 2, NULL));
    zb_context_destroy(context);
    zb_model_destroy(model);
    free(path);
    FREE_BUFFER(&x);
}

/* --- counts --- */

static void objects_are_counted(void)
{
    setup made;
    make_setup(&made);
    CHECK_EQ(zb_live_objects(ZB_KIND_MODEL), 1);
    CHECK_EQ(zb_live_objects(ZB_KIND_CONTEXT), 1);
    CHECK_EQ(zb_live_objects(ZB_KIND_TENSOR), 3);
    /* objects, not handles */
    destroy_at(&made, 0);
    destroy_at(&made, 2);
    CHECK_EQ(zb_live_objects(ZB_KIND_MODEL), 1);
    CHECK_EQ(zb_live_objects(ZB_KIND_TENSOR), 3);
    destroy_at(&made, 1);
    CHECK_EQ(zb_live_objects(ZB_KIND_MODEL), 0);
    CHECK_EQ(zb_live_objects(ZB_KIND_CONTEXT), 0);
    CHECK_EQ(zb_live_objects(ZB_KIND_TENSOR), 2);
    destroy_at(&made, 3);
    destroy_at(&made, 4);
    free_memory(&made);
}

static const zt_test tests[] = {
    ON_BOTH(a_binding_holds_its_tensor),
    ON_BOTH(a_context_keeps_its_model),
    ON_BOTH(destroy_in_every_order),
    ON_BOTH(destroy_before_any_run),
    ON_BOTH(released_when_unbound),
    ON_BOTH(bound_many_times_released_once),
    ON_BOTH(refused_calls_keep_the_bindings),
    ON_BOTH(failed_wraps_release_nothing),
    ON_BOTH(failed_opens_release_nothing),
    ON_BOTH(empty_memory_is_released_too),
    ON_BOTH(nothing_to_release),
    ON_BOTH(nothing_is_touched_after_release),
    ON_BOTH(a_swap_moves_what_is_held),
    ON_BOTH(a_refused_swap_releases_nothing),
    ON_BOTH(nothing_is_touched_after_a_swap_and_a_release),
    ON_BOTH(a_reset_releases_nothing),
    ON_BOTH(nothing_is_touched_after_a_reset_and_a_release),
    ON_BOTH(a_release_destroys_another_and_so_on),
    ON_BOTH(a_release_inside_unbind_binds),
    ON_BOTH(a_release_inside_bind_runs),
    ON_BOTH(a_release_inside_destroy_makes_objects),
    ON_BOTH(a_release_inside_unbind_destroys_the_context),
    ON_BOTH(loans_end_with_the_call),
    ON_BOTH(bytes_stay_until_the_last_context),
    ON_BOTH(copied_bytes_are_the_hosts_again),
    ON_BOTH(objects_are_counted),
};

ZT_MAIN(tests)
