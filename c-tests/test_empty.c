/* Tensors without an element, which need no memory, and scalars, which have one. */
#include "harness.h"

#include "after_run.h"

#include <sys/mman.h>

/* --- what is seen after a run --- */

/* Of memory without a byte, the engine may have been told nothing; no other address is true. */
static void check_direct(zb_context *context, zb_slot slot, const void *address, size_t size)
{
    zb_binding_report report = zt_report(context, slot);
    CHECK_EQ(report.path, ZB_PATH_DIRECT);
    CHECK_EQ(report.bytes_copied, 0);
    CHECK(report.reason == NULL);
    CHECK_ADDRESS(report.host_address, address);
    if (size > 0 || report.engine_address != NULL) {
        CHECK_ADDRESS(report.engine_address, address);
    }
}

static void check_nothing_was_copied(zb_context *context)
{
    zb_context_stats stats = zt_stats(context);
    CHECK_EQ(stats.bytes_copied, 0);
    CHECK_EQ(stats.allocations, 0);
}

/* --- where no byte may lie: anywhere --- */

enum { PLACES = 68 };

/* NULL, each misalignment, the start and the middle of a page that nobody can read, and the ends of the address space. */
static void *place_of_nothing(const zt_buffer *somewhere, const unsigned char *closed, int number)
{
    void *wild = NULL;
    uintptr_t ends[2] = {1, UINTPTR_MAX};
    switch (number) {
    case 0:
        return NULL;
    case 64:
    case 65:
        memcpy(&wild, &ends[number - 64], sizeof wild);
        return wild;
    case 66:
    case 67:
        closed += number == 66 ? 0 : 100;
        memcpy(&wild, &closed, sizeof wild);
        return wild;
    default:
        return somewhere->data + number;
    }
}

typedef void check_place(zb_context *context, void *in, void *out);

static void at_every_place(const char *name, int copies, check_place *check)
{
    zb_model *model = zt_open(name);
    zb_context *context = copies ? zt_copying_context(model) : zt_context(model);
    zt_buffer somewhere = zt_buffer_new(128);
    void *closed = mmap(NULL, zt_page_size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(closed != MAP_FAILED);
    for (int number = 0; number < PLACES; number += zt_rounds(1, 5)) {
        void *place = place_of_nothing(&somewhere, closed, number);
        check(context, place, place);
        check(context, NULL, place);
        check(context, place, NULL);
    }
    CHECK(zt_is_untouched(&somewhere));
    check_nothing_was_copied(context);
    munmap(closed, zt_page_size());
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&somewhere);
}

static zb_tensor *wrap_nothing(const zb_tensor_desc *desc, void *data)
{
    zb_tensor *tensor = NULL;
    REQUIRE_OK(zb_tensor_wrap(desc, data, 0, 0, NULL, NULL, &tensor));
    return tensor;
}

static void bind_nothing(zb_context *context, zb_slot slot, zb_tensor_desc desc, void *data)
{
    zb_tensor *tensor = wrap_nothing(&desc, data);
    REQUIRE_OK(zb_tensor_bind(tensor, context, slot));
    zb_tensor_destroy(tensor);
}

static void check_lent(zb_context *context, zb_tensor_desc desc, void *in, void *out)
{
    zb_tensor_desc open = desc;
    zb_loan loans[2] = {zb_loan_input(ZB_INPUT(0), in, 0, 0, &desc), zb_loan_output(ZB_OUTPUT(0), out, 0, NULL)};
    const zb_tensor_desc *descs[3] = {NULL, &desc, &open};
    for (uint32_t i = 0; i < open.rank; i++) {
        open.dims[i] = -1;
    }
    for (int n = 0; n < 3; n++) {
        loans[1].desc = descs[n];
        REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
        check_direct(context, ZB_INPUT(0), in, 0);
        check_direct(context, ZB_OUTPUT(0), out, 0);
        CHECK_DESC(context, ZB_OUTPUT(0), desc);
        CHECK_NO_VIEW(context, ZB_OUTPUT(0));
    }
    /* the output left where it is */
    REQUIRE_OK(zb_infer_with(context, loans, 1, NULL));
    VIEW_OF(context, ZB_OUTPUT(0), desc);
}

static void check_bound(zb_context *context, zb_tensor_desc desc, void *in, void *out)
{
    bind_nothing(context, ZB_INPUT(0), desc, in);
    REQUIRE_OK(zb_infer(context, NULL));
    VIEW_OF(context, ZB_OUTPUT(0), desc);
    bind_nothing(context, ZB_OUTPUT(0), desc, out);
    for (int run = 0; run < 3; run++) {
        REQUIRE_OK(zb_infer(context, NULL));
        check_direct(context, ZB_INPUT(0), in, 0);
        check_direct(context, ZB_OUTPUT(0), out, 0);
        CHECK_ADDRESS(VIEW_OF(context, ZB_OUTPUT(0), desc), out);
    }
    REQUIRE_OK(zb_context_unbind(context, ZB_INPUT(0)));
    REQUIRE_OK(zb_context_unbind(context, ZB_OUTPUT(0)));
}

static void check_rows(zb_context *context, void *in, void *out)
{
    check_lent(context, F32(0, 4), in, out);
    check_bound(context, F32(0, 4), in, out);
}

static void check_ragged(zb_context *context, void *in, void *out)
{
    check_lent(context, F32(1, 4, 0), in, out);
    check_bound(context, F32(1, 4, 0), in, out);
}

static void nothing_lies_anywhere(void)
{
    for (int copies = 0; copies < 2; copies++) {
        at_every_place("empty", copies, check_rows);
        at_every_place("empty_dynamic", copies, check_rows);
        at_every_place("batch", copies, check_rows);
        at_every_place("ragged", copies, check_ragged);
    }
}

/* --- sizes that are not the shape's --- */

static void nothing_is_not_something(void)
{
    float place[16];
    zb_model *model = zt_open("batch");
    zb_context *context = zt_copying_context(model);
    zb_tensor_desc none = F32(0, 4), two = F32(2, 4), other = F32(4, 0), three = F32(0, 4, 1);
    zb_tensor *tensor = NULL;
    zb_loan loans[2];
    memset(place, 0x5A, sizeof place);
    /* an input has exactly its bytes, an output at least; NULL has none */
    loans[0] = zb_loan_input(ZB_INPUT(0), place, 4, 0, &none);
    loans[1] = zb_loan_output(ZB_OUTPUT(0), place + 8, 32, &none);
    CHECK_STATUS(zb_infer_with(context, loans, 2, NULL), ZB_ERROR_SHAPE_MISMATCH);
    loans[0].size = 0;
    REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
    check_direct(context, ZB_OUTPUT(0), place + 8, 0);
    for (size_t i = 0; i < sizeof place; i++) {
        REQUIRE(((unsigned char *)place)[i] == 0x5A);
    }
    loans[1].data = NULL;
    CHECK_STATUS(zb_infer_with(context, loans, 2, NULL), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_tensor_wrap(&none, NULL, 4, 0, NULL, NULL, &tensor), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_tensor_wrap(&none, place, 4, 0, NULL, NULL, &tensor), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_STATUS(zb_tensor_wrap(&two, NULL, 0, 0, NULL, NULL, &tensor), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_STATUS(zb_tensor_wrap_const(&two, NULL, 0, 0, NULL, NULL, &tensor), ZB_ERROR_SHAPE_MISMATCH);
    CHECK(tensor == NULL);
    /* no bytes for a shape that has some */
    loans[0] = zb_loan_input(ZB_INPUT(0), place, 32, 0, &two);
    loans[1] = zb_loan_output(ZB_OUTPUT(0), NULL, 0, NULL);
    CHECK_STATUS(zb_infer_with(context, loans, 2, NULL), ZB_ERROR_BUFFER_TOO_SMALL);
    loans[1].desc = &none;
    CHECK_STATUS(zb_infer_with(context, loans, 2, NULL), ZB_ERROR_SHAPE_MISMATCH);
    /* and other shapes without an element are other shapes */
    loans[0] = zb_loan_input(ZB_INPUT(0), NULL, 0, 0, &other);
    CHECK_STATUS(zb_infer_with(context, loans, 1, NULL), ZB_ERROR_SHAPE_MISMATCH);
    loans[0].desc = &three;
    CHECK_STATUS(zb_infer_with(context, loans, 1, NULL), ZB_ERROR_SHAPE_MISMATCH);
    loans[0].desc = NULL;
    CHECK_STATUS(zb_infer_with(context, loans, 1, NULL), ZB_ERROR_SHAPE_MISMATCH);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

/* --- a row length that is 0 and then is not --- */

static void check_plus_one(const zt_buffer *x, const zt_buffer *y)
{
    for (size_t i = 0; i < x->size / 4; i++) {
        REQUIRE(zt_floats(y)[i] == zt_floats(x)[i] + 1);
    }
    CHECK_GUARDS(y);
}

static void run_ragged(zb_context *context, int64_t length, int bound)
{
    zb_tensor_desc desc = F32(1, 4, length);
    zt_buffer x = zt_buffer_new((size_t)length * 16), y = zt_buffer_new((size_t)length * 16);
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
    loans[0].desc = &desc;
    zt_fill_floats(&x, (float)length, 1);
    if (bound) {
        REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), desc.dims, 3));
        zt_bind(context, ZB_INPUT(0), desc, &x);
        zt_bind(context, ZB_OUTPUT(0), desc, &y);
        REQUIRE_OK(zb_infer(context, NULL));
        CHECK_ADDRESS(VIEW_OF(context, ZB_OUTPUT(0), desc), y.data);
    } else {
        REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
    }
    check_plus_one(&x, &y);
    check_direct(context, ZB_INPUT(0), x.data, x.size);
    check_direct(context, ZB_OUTPUT(0), y.data, y.size);
    CHECK_DESC(context, ZB_INPUT(0), desc);
    CHECK_DESC(context, ZB_OUTPUT(0), desc);
    REQUIRE_OK(zb_context_unbind(context, ZB_INPUT(0)));
    REQUIRE_OK(zb_context_unbind(context, ZB_OUTPUT(0)));
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void a_length_that_is_nothing_and_something_in_turns(void)
{
    static const int64_t lengths[] = {0, 128, 0, 0, 1, 0, 128, 5, 0, 128};
    zb_model *model = zt_open("ragged");
    zb_context *context = zt_context(model);
    for (int n = 0; n < 40; n++) {
        run_ragged(context, lengths[n % 10], n / 10 % 2);
    }
    check_nothing_was_copied(context);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

/* The first shape of a context may already be without elements. */
static void a_context_that_begins_with_nothing(void)
{
    zb_model *model = zt_open("ragged");
    for (int n = 0; n < 4; n++) {
        zb_context *context = zt_context(model);
        run_ragged(context, 0, n % 2);
        run_ragged(context, 128, n / 2);
        zb_context_destroy(context);
    }
    zb_model_destroy(model);
}

static void what_is_bound_does_not_fit_nothing(void)
{
    zb_model *model = zt_open("ragged");
    zb_context *context = zt_context(model);
    const int64_t none[3] = {1, 4, 0}, some[3] = {1, 4, 2};
    zt_buffer x = zt_buffer_new(32), y = zt_buffer_new(32);
    zt_fill_floats(&x, 0, 1);
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), some, 3));
    zt_bind(context, ZB_INPUT(0), F32(1, 4, 2), &x);
    zt_bind(context, ZB_OUTPUT(0), F32(1, 4, 2), &y);
    REQUIRE_OK(zb_infer(context, NULL));
    check_plus_one(&x, &y);
    memset(y.data, 0xCD, y.size);
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), none, 3));
    CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_SHAPE_MISMATCH);
    bind_nothing(context, ZB_INPUT(0), F32(1, 4, 0), NULL);
    CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_SHAPE_MISMATCH);
    CHECK(zt_is_untouched(&y));
    bind_nothing(context, ZB_OUTPUT(0), F32(1, 4, 0), NULL);
    REQUIRE_OK(zb_infer(context, NULL));
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), some, 3));
    CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_SHAPE_MISMATCH);
    zt_bind(context, ZB_INPUT(0), F32(1, 4, 2), &x);
    CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_SHAPE_MISMATCH);
    zt_bind(context, ZB_OUTPUT(0), F32(1, 4, 2), &y);
    REQUIRE_OK(zb_infer(context, NULL));
    check_plus_one(&x, &y);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

/* --- a cache that grows from nothing, fed with its own last value --- */

enum { HEADS = 8, WIDTH = 128, STEP = HEADS * WIDTH * 4 };

static float cached(int64_t step, int64_t head, int64_t i)
{
    return (float)(step * 10000 + head * 1000 + i);
}

static void fill_current(const zt_buffer *current, int64_t step)
{
    for (int64_t n = 0; n < HEADS * WIDTH; n++) {
        zt_floats(current)[n] = cached(step, n / WIDTH, n % WIDTH);
    }
}

/* Every step so far, for each head in order. */
static void check_cache(const void *present, int64_t steps)
{
    const float *values = present;
    for (int64_t head = 0; head < HEADS; head++) {
        for (int64_t step = 0; step < steps; step++) {
            for (int64_t i = 0; i < WIDTH; i++) {
                REQUIRE(*values++ == cached(step, head, i));
            }
        }
    }
}

static zb_tensor_desc cache_desc(int64_t steps)
{
    return F32(1, HEADS, steps, WIDTH);
}

static void a_cache_grows_by_loans(void)
{
    int steps = zt_rounds(40, 6);
    zb_model *model = zt_open("kv_cache");
    zb_context *context = zt_context(model);
    zt_buffer current = zt_buffer_new(STEP), past = zt_buffer_new(0);
    for (int64_t step = 0; step < steps; step++) {
        zb_tensor_desc past_desc = cache_desc(step), present_desc = cache_desc(step + 1);
        zt_buffer present = zt_buffer_new((size_t)(step + 1) * STEP);
        zb_loan loans[3] = {zt_lend_input(0, &past), zt_lend_input(1, &current), zt_lend_output(0, &present)};
        loans[0].desc = &past_desc;
        /* the ONNX model does not say how the lengths hang together, so the shape is promised */
        loans[2].desc = &present_desc;
        if (step == 0) {
            /* there is no memory to begin with */
            loans[0] = zb_loan_input(ZB_INPUT(0), NULL, 0, 0, &past_desc);
        }
        fill_current(&current, step);
        REQUIRE_OK(zb_infer_with(context, loans, 3, NULL));
        check_cache(present.data, step + 1);
        check_direct(context, ZB_INPUT(0), loans[0].data, (size_t)step);
        check_direct(context, ZB_OUTPUT(0), present.data, present.size);
        CHECK_DESC(context, ZB_INPUT(0), past_desc);
        CHECK_DESC(context, ZB_OUTPUT(0), cache_desc(step + 1));
        FREE_BUFFER(&past);
        past = present;
    }
    check_nothing_was_copied(context);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&current);
    FREE_BUFFER(&past);
}

/* The first bytes of a room as what the next run makes: open where planning tells the shape, else promised. */
static void bind_present(zb_context *context, const zt_buffer *room, int64_t steps)
{
    zb_tensor_desc desc = cache_desc(zt_is_tflite() ? -1 : steps);
    size_t size = zt_is_tflite() ? room->size : (size_t)steps * STEP;
    zb_tensor *tensor = NULL;
    REQUIRE_OK(zb_tensor_wrap(&desc, room->data, size, 0, NULL, NULL, &tensor));
    REQUIRE_OK(zb_tensor_bind(tensor, context, ZB_OUTPUT(0)));
    zb_tensor_destroy(tensor);
}

/* Two rooms for the longest cache take turns; only tensors are made anew, never memory. */
static void a_cache_grows_between_two_rooms(void)
{
    int steps = zt_rounds(12, 4);
    zb_model *model = zt_open("kv_cache");
    zb_context *context = zt_context(model);
    zt_buffer current = zt_buffer_new(STEP), rooms[2];
    zt_bind(context, ZB_INPUT(1), F32(1, HEADS, 1, WIDTH), &current);
    rooms[0] = zt_buffer_new((size_t)steps * STEP);
    rooms[1] = zt_buffer_new((size_t)steps * STEP);
    for (int start = 0; start < 2; start++) {
        /* and a second time: from much back to nothing */
        for (int64_t step = 0; step < steps; step++) {
            const zt_buffer *from = &rooms[step % 2], *to = &rooms[1 - step % 2];
            zb_tensor_desc past_desc = cache_desc(step);
            zb_tensor *past = NULL;
            size_t past_size = (size_t)step * STEP;
            REQUIRE_OK(zb_tensor_wrap_const(&past_desc, from->data, past_size, from->size, NULL, NULL, &past));
            REQUIRE_OK(zb_tensor_bind(past, context, ZB_INPUT(0)));
            zb_tensor_destroy(past);
            bind_present(context, to, step + 1);
            fill_current(&current, step);
            REQUIRE_OK(zb_infer(context, NULL));
            check_cache(to->data, step + 1);
            check_direct(context, ZB_INPUT(0), from->data, past_size);
            check_direct(context, ZB_OUTPUT(0), to->data, past_size + STEP);
            CHECK_ADDRESS(VIEW_OF(context, ZB_OUTPUT(0), cache_desc(step + 1)), to->data);
            CHECK_GUARDS(&rooms[0]);
            CHECK_GUARDS(&rooms[1]);
        }
    }
    check_nothing_was_copied(context);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&rooms[0]);
    FREE_BUFFER(&rooms[1]);
    FREE_BUFFER(&current);
}

/* The engine's own memory, read by view and lent as the next past: the copy is the host's. */
static void a_cache_grows_by_views(void)
{
    zb_model *model = zt_open("kv_cache");
    zb_context *context = zt_context(model);
    zt_buffer current = zt_buffer_new(STEP), past = zt_buffer_new(0);
    for (int64_t step = 0; step < 4; step++) {
        zb_tensor_desc past_desc = cache_desc(step);
        zb_loan loans[2] = {zt_lend_input(0, &past), zt_lend_input(1, &current)};
        loans[0].desc = &past_desc;
        fill_current(&current, step);
        REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
        const void *present = VIEW_OF(context, ZB_OUTPUT(0), cache_desc(step + 1));
        check_cache(present, step + 1);
        FREE_BUFFER(&past);
        past = zt_buffer_new((size_t)(step + 1) * STEP);
        memcpy(past.data, present, past.size);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&current);
    FREE_BUFFER(&past);
}

/* --- overlap --- */

/* Memory without a byte shares none, wherever it lies. */
static void nothing_inside_something(void)
{
    zb_model *model = zt_open("kv_cache");
    zb_context *context = zt_context(model);
    zt_buffer current = zt_buffer_new(STEP), present = zt_buffer_new(STEP);
    zb_tensor_desc none = cache_desc(0), one = cache_desc(1);
    unsigned char *places[] = {current.data, current.data + 5, present.data, present.data + 8, present.data + STEP};
    for (int64_t n = 0; n < 10; n++) {
        zb_loan loans[3] = {zb_loan_input(ZB_INPUT(0), places[n / 2], 0, n % 2 ? 16 : 0, &none), zt_lend_input(1, &current),
                            zb_loan_output(ZB_OUTPUT(0), present.data, STEP, &one)};
        fill_current(&current, 0);
        memset(present.data, 0xCD, present.size);
        REQUIRE_OK(zb_infer_with(context, loans, 3, NULL));
        check_cache(present.data, 1);
        check_direct(context, ZB_INPUT(0), places[n / 2], 0);
    }
    /* but what has bytes does not get away with it */
    zb_loan loans[3] = {zb_loan_input(ZB_INPUT(0), NULL, 0, 0, &none), zt_lend_input(1, &current),
                        zb_loan_output(ZB_OUTPUT(0), current.data, STEP, &one)};
    CHECK_STATUS(zb_infer_with(context, loans, 3, NULL), ZB_ERROR_ALIASED);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&current);
    FREE_BUFFER(&present);
}

/* --- tensors that hold nothing --- */

static void release_is_called_for_nothing_too(void)
{
    static unsigned char place[1];
    void *places[] = {NULL, place};
    zb_tensor_desc desc = F32(0, 4), wrong = F32(1, 4);
    zb_model *model = zt_open("empty");
    zb_context *context = zt_context(model);
    for (int n = 0; n < 4; n++) {
        void *data = places[n % 2];
        int by_binding = n / 2;
        zt_releases releases = {0, &releases, 1};
        zb_tensor *tensor = NULL;
        /* not called by what failed */
        CHECK_STATUS(zb_tensor_wrap(&wrong, data, 0, 0, zt_count_release, &releases, &tensor), ZB_ERROR_SHAPE_MISMATCH);
        CHECK_STATUS(zb_tensor_wrap_const(&wrong, data, 0, 0, zt_count_release, &releases, &tensor), ZB_ERROR_SHAPE_MISMATCH);
        REQUIRE_OK(zb_tensor_wrap(&desc, data, 0, 0, zt_count_release, &releases, &tensor));
        if (by_binding) {
            REQUIRE_OK(zb_tensor_bind(tensor, context, ZB_INPUT(0)));
            REQUIRE_OK(zb_tensor_bind(tensor, context, ZB_OUTPUT(0)));
        }
        CHECK_EQ(releases.count, 0);
        zb_tensor_destroy(tensor);
        CHECK_EQ(releases.count, !by_binding);
        if (by_binding) {
            REQUIRE_OK(zb_infer(context, NULL));
            REQUIRE_OK(zb_context_unbind(context, ZB_INPUT(0)));
            CHECK_EQ(releases.count, 0);
            REQUIRE_OK(zb_context_unbind(context, ZB_OUTPUT(0)));
        }
        CHECK_EQ(releases.count, 1);
        CHECK_ADDRESS(releases.data, data);
        CHECK_EQ(releases.size, 0);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void memory_of_zerobinds_own_for_nothing(void)
{
    const int64_t huge[] = {0, INT64_MAX, INT64_MAX};
    const size_t alignments[] = {0, 1, 64, 4096};
    zb_tensor_desc descs[] = {F32(0, 4), F32(1, 4, 0), F32(0), DESC(ZB_DTYPE_I4, 0), zt_desc(ZB_DTYPE_F64, huge, 3)};
    for (size_t n = 0; n < 20; n++) {
        const zb_tensor_desc *desc = &descs[n / 4];
        zb_tensor_desc found;
        zb_tensor *tensor = NULL;
        void *data = NULL;
        size_t size = 1;
        REQUIRE_OK(zb_tensor_desc_size(desc, &size));
        CHECK_EQ(size, 0);
        size = 1;
        REQUIRE_OK(zb_tensor_alloc(desc, alignments[n % 4], &tensor));
        REQUIRE_OK(zb_tensor_get_data(tensor, &data, &size));
        CHECK_EQ(size, 0);
        REQUIRE_OK(zb_tensor_get_desc(tensor, &found));
        CHECK(zt_same_desc(&found, desc));
        zb_tensor_destroy(tensor);
    }
}

static void tensors_made_for_slots_without_elements(void)
{
    const int64_t none[4] = {1, HEADS, 0, WIDTH};
    zb_model *model = zt_open("kv_cache");
    zb_context *context = zt_context(model);
    zb_tensor *tensors[2] = {NULL, NULL};
    zb_requirements needs = ZB_REQUIREMENTS_INIT;
    void *data = NULL;
    size_t sizes[2] = {0, STEP}, size;
    zt_buffer current = zt_buffer_new(STEP);
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), none, 4));
    REQUIRE_OK(zb_context_get_requirements(context, ZB_INPUT(0), &needs));
    CHECK_EQ(needs.size, 0);
    for (int i = 0; i < 2; i++) {
        REQUIRE_OK(zb_tensor_alloc_for(context, ZB_INPUT(i), &tensors[i]));
        REQUIRE_OK(zb_tensor_get_data(tensors[i], &data, &size));
        CHECK_EQ(size, sizes[i]);
        REQUIRE_OK(zb_tensor_bind(tensors[i], context, ZB_INPUT(i)));
    }
    REQUIRE_OK(zb_tensor_get_data(tensors[1], &data, NULL));
    fill_current(&current, 0);
    memcpy(data, current.data, STEP);
    REQUIRE_OK(zb_infer(context, NULL));
    check_cache(VIEW_OF(context, ZB_OUTPUT(0), cache_desc(1)), 1);
    REQUIRE_OK(zb_tensor_get_data(tensors[0], &data, NULL));
    check_direct(context, ZB_INPUT(0), data, 0);
    zb_tensor_destroy(tensors[0]);
    zb_tensor_destroy(tensors[1]);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&current);
}

/* --- scalars --- */

static void a_scalar_is_one_element(void)
{
    zb_model *model = zt_open("scalar");
    zb_context *context = zt_context(model);
    zb_tensor_desc scalar = zt_desc(ZB_DTYPE_F32, NULL, 0), vector = F32(1);
    zt_buffer x = zt_buffer_new(4), y = zt_buffer_new(4);
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    REQUIRE_OK(zb_model_get_slot_info(model, ZB_INPUT(0), &info));
    CHECK(zt_same_desc(&info.desc, &scalar));
    CHECK_EQ(info.size, 4);
    for (int n = 0; n < 6; n++) {
        zt_floats(&x)[0] = (float)n;
        loans[0].desc = n % 2 ? &scalar : NULL;
        loans[1].desc = n % 2 ? NULL : &scalar;
        REQUIRE_OK(zb_infer_with(context, loans, n < 4 ? 2 : 1, NULL));
        if (n < 4) {
            CHECK(zt_floats(&y)[0] == (float)(n + 1));
            check_direct(context, ZB_OUTPUT(0), y.data, 4);
        } else {
            CHECK(*(const float *)VIEW_OF(context, ZB_OUTPUT(0), scalar) == (float)(n + 1));
        }
        CHECK_GUARDS(&y);
    }
    zt_bind(context, ZB_INPUT(0), scalar, &x);
    zt_bind(context, ZB_OUTPUT(0), scalar, &y);
    zt_floats(&x)[0] = 41;
    REQUIRE_OK(zb_infer(context, NULL));
    CHECK(zt_floats(&y)[0] == 42);
    CHECK_ADDRESS(VIEW_OF(context, ZB_OUTPUT(0), scalar), y.data);
    CHECK_DESC(context, ZB_OUTPUT(0), scalar);

    /* a vector of one element is something else */
    zb_tensor *one = zt_wrap(&vector, &x);
    CHECK_STATUS(zb_tensor_bind(one, context, ZB_INPUT(0)), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_STATUS(zb_tensor_bind(one, context, ZB_OUTPUT(0)), ZB_ERROR_SHAPE_MISMATCH);
    zb_tensor_destroy(one);
    loans[0].desc = &vector;
    CHECK_STATUS(zb_infer_with(context, loans, 2, NULL), ZB_ERROR_SHAPE_MISMATCH);
    loans[0].desc = NULL;
    loans[1].desc = &vector;
    CHECK_STATUS(zb_infer_with(context, loans, 2, NULL), ZB_ERROR_SHAPE_MISMATCH);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void a_scalar_is_not_nothing(void)
{
    zb_model *model = zt_open("scalar");
    zb_tensor_desc scalar = zt_desc(ZB_DTYPE_F32, NULL, 0);
    zt_buffer x = zt_buffer_new(4), y = zt_buffer_new(4);
    void *places[] = {NULL, y.data};
    for (int n = 0; n < 4; n++) {
        zb_context *context = n / 2 ? zt_copying_context(model) : zt_context(model);
        void *data = places[n % 2];
        zb_tensor *tensor = NULL;
        zb_loan loans[2] = {zb_loan_input(ZB_INPUT(0), data, 0, 0, NULL), zt_lend_output(0, &y)};
        CHECK_STATUS(zb_tensor_wrap(&scalar, data, 0, 0, NULL, NULL, &tensor), ZB_ERROR_SHAPE_MISMATCH);
        CHECK_STATUS(zb_tensor_wrap_const(&scalar, data, 0, 0, NULL, NULL, &tensor), ZB_ERROR_SHAPE_MISMATCH);
        CHECK(tensor == NULL);
        CHECK_STATUS(zb_infer_with(context, loans, 2, NULL), ZB_ERROR_SHAPE_MISMATCH);
        loans[0] = zt_lend_input(0, &x);
        loans[1] = zb_loan_output(ZB_OUTPUT(0), data, 0, NULL);
        CHECK_STATUS(zb_infer_with(context, loans, 2, NULL), ZB_ERROR_BUFFER_TOO_SMALL);
        CHECK(zt_is_untouched(&y));
        zb_context_destroy(context);
    }
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

static void memory_of_zerobinds_own_for_a_scalar(void)
{
    zb_model *model = zt_open("scalar");
    zb_context *context = zt_context(model);
    zb_tensor_desc scalar = zt_desc(ZB_DTYPE_F32, NULL, 0), found;
    zb_tensor *in = NULL, *out = NULL;
    void *data = NULL;
    size_t size = 0;
    REQUIRE_OK(zb_tensor_alloc(&scalar, 0, &in));
    REQUIRE_OK(zb_tensor_alloc_for(context, ZB_OUTPUT(0), &out));
    REQUIRE_OK(zb_tensor_get_desc(out, &found));
    CHECK(zt_same_desc(&found, &scalar));
    REQUIRE_OK(zb_tensor_get_data(in, &data, &size));
    CHECK_EQ(size, 4);
    *(float *)data = 6;
    REQUIRE_OK(zb_tensor_bind(in, context, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_bind(out, context, ZB_OUTPUT(0)));
    REQUIRE_OK(zb_infer(context, NULL));
    REQUIRE_OK(zb_tensor_get_data(out, &data, NULL));
    CHECK(*(float *)data == 7);
    zb_tensor_destroy(in);
    zb_tensor_destroy(out);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static const zt_test tests[] = {
    ON_BOTH(nothing_lies_anywhere),
    ON_BOTH(nothing_is_not_something),
    ON_BOTH(a_length_that_is_nothing_and_something_in_turns),
    ON_BOTH(a_context_that_begins_with_nothing),
    ON_BOTH(what_is_bound_does_not_fit_nothing),
    ON_BOTH(a_cache_grows_by_loans),
    ON_BOTH(a_cache_grows_between_two_rooms),
    ON_BOTH(a_cache_grows_by_views),
    ON_BOTH(nothing_inside_something),
    ON_BOTH(release_is_called_for_nothing_too),
    ON_BOTH(memory_of_zerobinds_own_for_nothing),
    ON_BOTH(tensors_made_for_slots_without_elements),
    ON_BOTH(a_scalar_is_one_element),
    ON_BOTH(a_scalar_is_not_nothing),
    ON_BOTH(memory_of_zerobinds_own_for_a_scalar),
};

ZT_MAIN(tests)
