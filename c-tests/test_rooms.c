/*
 * Room for outputs: memory whose desc leaves open what only planning or the run tells. Where planning tells it the output is
 * in place in the room's first bytes; where only the run does, the result is copied there, or left in view.
 */
#include "harness.h"

#include "after_run.h"
#include "trap.h"

/* --- how room is given --- */

typedef enum way {
    BOUND,
    LENT,
    /* lent without a desc: as the slot is, so as open as that */
    LENT_BARE,
    WAYS
} way;

/* A model with one input that stays bound, and what was counted before the last run. */
typedef struct fixture {
    zb_model *model;
    zb_context *context;
    int copies;
    zt_buffer x;
    int64_t places[16];
    zb_context_stats before;
} fixture;

static fixture make_fixture(const char *name, int copies, zb_tensor_desc input)
{
    fixture made;
    size_t size = 0;
    memset(&made, 0, sizeof made);
    REQUIRE_OK(zb_tensor_desc_size(&input, &size));
    made.model = zt_open(name);
    made.context = copies ? zt_copying_context(made.model) : zt_context(made.model);
    made.copies = copies;
    made.x = zt_buffer_new(size);
    zt_fill_floats(&made.x, 0, 1);
    zt_bind(made.context, ZB_INPUT(0), input, &made.x);
    return made;
}

static void free_fixture(fixture *made)
{
    zb_context_destroy(made->context);
    zb_model_destroy(made->model);
    FREE_BUFFER(&made->x);
}

/* Binds room; from here on only the binding holds it. */
static void bind_room(zb_context *context, zb_slot slot, zb_tensor_desc desc, void *data, size_t size)
{
    zb_tensor *tensor = NULL;
    REQUIRE_OK(zb_tensor_wrap(&desc, data, size, 0, NULL, NULL, &tensor));
    REQUIRE_OK(zb_tensor_bind(tensor, context, slot));
    zb_tensor_destroy(tensor);
}

/* Runs with room for output 0. A bound one stays bound. */
static zb_status infer_into(fixture *made, way given, zb_tensor_desc desc, void *data, size_t size)
{
    zb_loan loan = zb_loan_output(ZB_OUTPUT(0), data, size, given == LENT ? &desc : NULL);
    made->before = zt_stats(made->context);
    if (given != BOUND) {
        return zb_infer_with(made->context, &loan, 1, NULL);
    }
    bind_room(made->context, ZB_OUTPUT(0), desc, data, size);
    return zb_infer(made->context, NULL);
}

static zb_status infer_into_buffer(fixture *made, way given, zb_tensor_desc desc, const zt_buffer *room)
{
    return infer_into(made, given, desc, room->data, room->size);
}

static void check_counted(const fixture *made, uint64_t runs, uint64_t bytes)
{
    zb_context_stats now = zt_stats(made->context);
    CHECK_EQ(now.runs - made->before.runs, runs);
    CHECK_EQ(now.bytes_copied - made->before.bytes_copied, bytes);
    CHECK_EQ(now.allocations, 0);
}

static void check_still_fresh(const zt_buffer *room, size_t from)
{
    for (size_t i = from; i < room->size; i++) {
        REQUIRE(room->data[i] == 0xCD);
    }
    CHECK_GUARDS(room);
}

/* --- the positions of what is not 0: nobody knows how many before the run --- */

static zb_tensor_desc open_hits(void)
{
    return DESC(ZB_DTYPE_I64, -1, 1);
}

static zb_tensor_desc hits_desc(int hits)
{
    return DESC(ZB_DTYPE_I64, hits, 1);
}

static fixture nonzero(int copies)
{
    return make_fixture("nonzero", copies, F32(16));
}

/* Of the 16 floats, `hits` are not 0: the odd places first. Their places, in order, are what the model computes. */
static void set_hits(fixture *made, int hits)
{
    int count = 0;
    zt_fill_floats(&made->x, 0, 0);
    for (int i = 0; i < hits; i++) {
        zt_floats(&made->x)[i < 8 ? 2 * i + 1 : 2 * (i - 8)] = (float)(i + 1);
    }
    for (int i = 0; i < 16; i++) {
        if (zt_floats(&made->x)[i] != 0) {
            made->places[count++] = i;
        }
    }
    REQUIRE(count == hits);
}

/* After a run that succeeded and found `hits`: bytes, shape, report, counters, view. */
static void check_hits(const fixture *made, way given, int hits, const void *data)
{
    size_t bytes = (size_t)hits * 8;
    CHECK_BYTES(data, made->places, bytes);
    CHECK_STAGED(made->context, ZB_OUTPUT(0), data, bytes);
    check_counted(made, 1, bytes);
    CHECK_DESC(made->context, ZB_OUTPUT(0), hits_desc(hits));
    if (given == BOUND) {
        CHECK_ADDRESS(VIEW_OF(made->context, ZB_OUTPUT(0), hits_desc(hits)), data);
    } else {
        CHECK_NO_VIEW(made->context, ZB_OUTPUT(0));
    }
}

/* After a run whose result had no place in the room: it is with the engine. */
static void check_hits_are_in_view(const fixture *made, int hits)
{
    CHECK_ERROR_SAYS("zb_context_output_view");
    CHECK_BYTES(VIEW_OF(made->context, ZB_OUTPUT(0), hits_desc(hits)), made->places, (size_t)hits * 8);
    CHECK_DESC(made->context, ZB_OUTPUT(0), hits_desc(hits));
    CHECK_LEFT_WITH_ENGINE(made->context, ZB_OUTPUT(0));
    check_counted(made, 0, 0);
}

static const int numbers_of_hits[] = {0, 3, 16, 1};
enum { NUMBERS = sizeof numbers_of_hits / sizeof *numbers_of_hits };

static void room_that_is_large_enough(void)
{
    /* exactly, one byte more, much more */
    static const size_t more[] = {0, 1, 100};
    fixture made = nonzero(1);
    for (int n = 0; n < NUMBERS * 3 * WAYS; n++) {
        int hits = numbers_of_hits[n % NUMBERS];
        size_t size = (size_t)hits * 8 + more[n / NUMBERS % 3];
        way given = (way)(n / NUMBERS / 3);
        zt_buffer room = zt_buffer_new(size);
        set_hits(&made, hits);
        REQUIRE_OK(infer_into_buffer(&made, given, open_hits(), &room));
        check_hits(&made, given, hits, room.data);
        check_still_fresh(&room, (size_t)hits * 8);
        REQUIRE_OK(zb_context_unbind(made.context, ZB_OUTPUT(0)));
        FREE_BUFFER(&room);
    }
    free_fixture(&made);
}

static void room_that_needs_a_copy_that_is_not_allowed(void)
{
    fixture made = nonzero(0);
    for (int n = 0; n < NUMBERS * WAYS; n++) {
        int hits = numbers_of_hits[n % NUMBERS];
        zt_buffer room = zt_buffer_new(128);
        set_hits(&made, hits);
        CHECK_STATUS(infer_into_buffer(&made, (way)(n / NUMBERS), open_hits(), &room), ZB_ERROR_COPY_REQUIRED);
        CHECK_ERROR_SAYS("zb_context_output_view");
        CHECK_ERROR_SAYS("'y'");
        check_still_fresh(&room, 0);
        CHECK_NO_VIEW(made.context, ZB_OUTPUT(0));
        check_counted(&made, 0, 0);
        /* what the text advises works */
        REQUIRE_OK(zb_context_unbind(made.context, ZB_OUTPUT(0)));
        REQUIRE_OK(zb_infer(made.context, NULL));
        CHECK_BYTES(VIEW_OF(made.context, ZB_OUTPUT(0), hits_desc(hits)), made.places, (size_t)hits * 8);
        FREE_BUFFER(&room);
    }
    free_fixture(&made);
}

static void room_that_is_too_small(void)
{
    static const int hits[] = {3, 16, 1};
    fixture made = nonzero(1);
    for (int n = 0; n < 9 * WAYS; n++) {
        int found = hits[n % 3];
        size_t needed = (size_t)found * 8;
        const size_t sizes[] = {needed - 1, 1, 0};
        size_t size = sizes[n / 3 % 3];
        way given = (way)(n / 9);
        zt_buffer room = zt_buffer_new(size);
        char numbers[2][32];
        snprintf(numbers[0], sizeof numbers[0], "%zu bytes", needed);
        snprintf(numbers[1], sizeof numbers[1], "has %zu", size);
        set_hits(&made, found);
        CHECK_STATUS(infer_into_buffer(&made, given, open_hits(), &room), ZB_ERROR_BUFFER_TOO_SMALL);
        CHECK_ERROR_SAYS(numbers[0]);
        CHECK_ERROR_SAYS(numbers[1]);
        check_still_fresh(&room, 0);
        check_hits_are_in_view(&made, found);
        /* a result without elements has a place even here */
        set_hits(&made, 0);
        REQUIRE_OK(infer_into_buffer(&made, given, open_hits(), &room));
        check_hits(&made, given, 0, room.data);
        check_still_fresh(&room, 0);
        REQUIRE_OK(zb_context_unbind(made.context, ZB_OUTPUT(0)));
        FREE_BUFFER(&room);
    }
    free_fixture(&made);
}

static void room_that_is_no_memory(void)
{
    for (int copies = 0; copies < 2; copies++) {
        fixture made = nonzero(copies);
        for (int given = 0; given < WAYS; given++) {
            set_hits(&made, 0);
            CHECK_STATUS(infer_into(&made, (way)given, open_hits(), NULL, 0), copies ? ZB_OK : ZB_ERROR_COPY_REQUIRED);
            if (copies) {
                check_hits(&made, (way)given, 0, NULL);
                set_hits(&made, 2);
                CHECK_STATUS(infer_into(&made, (way)given, open_hits(), NULL, 0), ZB_ERROR_BUFFER_TOO_SMALL);
                CHECK_ERROR_SAYS("16 bytes");
                check_hits_are_in_view(&made, 2);
            }
            REQUIRE_OK(zb_context_unbind(made.context, ZB_OUTPUT(0)));
        }
        free_fixture(&made);
    }
    zb_tensor_desc desc = open_hits();
    zb_tensor *tensor = NULL;
    CHECK_STATUS(zb_tensor_wrap(&desc, NULL, 8, 0, NULL, NULL, &tensor), ZB_ERROR_NULL_ARGUMENT);
    CHECK(tensor == NULL);
}

/* Only zerobind writes it, so it may lie anywhere. */
static void room_at_any_address(void)
{
    static const size_t offsets[] = {1, 3, 4, 8, 32, 63};
    fixture made = nonzero(1);
    set_hits(&made, 16);
    for (size_t n = 0; n < 6 * WAYS; n++) {
        zt_buffer room = zt_buffer_at(128, offsets[n % 6]);
        way given = (way)(n / 6);
        REQUIRE_OK(infer_into_buffer(&made, given, open_hits(), &room));
        check_hits(&made, given, 16, room.data);
        REQUIRE_OK(zb_context_unbind(made.context, ZB_OUTPUT(0)));
        FREE_BUFFER(&room);
    }
    free_fixture(&made);
}

static void room_at_the_end_of_a_page(void)
{
    fixture made = nonzero(1);
    for (int n = 0; n < NUMBERS * WAYS; n++) {
        int hits = numbers_of_hits[n % NUMBERS];
        way given = (way)(n / NUMBERS);
        zt_buffer room = zt_buffer_at_page_end((size_t)hits * 8);
        set_hits(&made, hits);
        REQUIRE_OK(infer_into_buffer(&made, given, open_hits(), &room));
        check_hits(&made, given, hits, room.data);
        REQUIRE_OK(zb_context_unbind(made.context, ZB_OUTPUT(0)));
        FREE_BUFFER(&room);
    }
    free_fixture(&made);
}

static void room_stays_bound_while_the_result_grows_and_shrinks(void)
{
    static const int hits[] = {3, 0, 5, 16, 5, 6, 0, 16, 1, 2};
    fixture made = nonzero(1);
    zt_buffer room = zt_buffer_new(5 * 8);
    zt_releases releases = {0, NULL, 0};
    zb_tensor_desc desc = open_hits(), found;
    zb_tensor *tensor = NULL;
    size_t size = 0;
    REQUIRE_OK(zb_tensor_wrap(&desc, room.data, room.size, 0, zt_count_release, &releases, &tensor));
    REQUIRE_OK(zb_tensor_bind(tensor, made.context, ZB_OUTPUT(0)));
    for (size_t n = 0; n < sizeof hits / sizeof *hits; n++) {
        set_hits(&made, hits[n]);
        memset(room.data, 0xCD, room.size);
        made.before = zt_stats(made.context);
        if (hits[n] > 5) {
            CHECK_STATUS(zb_infer(made.context, NULL), ZB_ERROR_BUFFER_TOO_SMALL);
            check_hits_are_in_view(&made, hits[n]);
            check_still_fresh(&room, 0);
        } else {
            REQUIRE_OK(zb_infer(made.context, NULL));
            check_hits(&made, BOUND, hits[n], room.data);
            check_still_fresh(&room, (size_t)hits[n] * 8);
        }
        /* the tensor stays what it is: room */
        REQUIRE_OK(zb_tensor_get_desc(tensor, &found));
        CHECK(zt_same_desc(&found, &desc));
        REQUIRE_OK(zb_tensor_get_data(tensor, NULL, &size));
        CHECK_EQ(size, 40);
    }
    CHECK_EQ(releases.count, 0);
    zb_tensor_destroy(tensor);
    REQUIRE_OK(zb_context_unbind(made.context, ZB_OUTPUT(0)));
    CHECK_EQ(releases.count, 1);
    CHECK_ADDRESS(releases.data, room.data);
    CHECK_EQ(releases.size, 40);
    FREE_BUFFER(&room);
    free_fixture(&made);
}

/* A loan shadows bound room for one call, and the other way round. */
static void bound_room_and_lent_room_take_turns(void)
{
    fixture made = nonzero(1);
    zt_buffer bound = zt_buffer_new(128), lent = zt_buffer_new(16);
    bind_room(made.context, ZB_OUTPUT(0), open_hits(), bound.data, bound.size);
    for (int hits = 0; hits < 5; hits++) {
        zb_loan loan = zt_lend_output(0, &lent);
        set_hits(&made, hits);
        made.before = zt_stats(made.context);
        REQUIRE_OK(zb_infer(made.context, NULL));
        check_hits(&made, BOUND, hits, bound.data);
        memset(bound.data, 0xCD, bound.size);
        made.before = zt_stats(made.context);
        if (hits <= 2) {
            REQUIRE_OK(zb_infer_with(made.context, &loan, 1, NULL));
            check_hits(&made, LENT_BARE, hits, lent.data);
        } else {
            /* large enough would be the bound one, which this call is not about */
            CHECK_STATUS(zb_infer_with(made.context, &loan, 1, NULL), ZB_ERROR_BUFFER_TOO_SMALL);
            check_hits_are_in_view(&made, hits);
        }
        CHECK(zt_is_untouched(&bound));
    }
    FREE_BUFFER(&bound);
    FREE_BUFFER(&lent);
    free_fixture(&made);
}

/* --- what the desc leaves open, and what it does not --- */

static void dims_that_agree(void)
{
    static const int64_t dims[][2] = {{-1, 1}, {-1, -1}, {3, -1}};
    fixture made = nonzero(1);
    set_hits(&made, 3);
    for (int n = 0; n < 6; n++) {
        zt_buffer room = zt_buffer_new(64);
        zb_tensor_desc desc = zt_desc(ZB_DTYPE_I64, dims[n / 2], 2);
        way given = n % 2 ? LENT : BOUND;
        REQUIRE_OK(infer_into_buffer(&made, given, desc, &room));
        check_hits(&made, given, 3, room.data);
        check_still_fresh(&room, 24);
        REQUIRE_OK(zb_context_unbind(made.context, ZB_OUTPUT(0)));
        FREE_BUFFER(&room);
    }
    free_fixture(&made);
}

static void dims_that_the_run_does_not_keep(void)
{
    static const int64_t dims[] = {5, 2, 0, INT64_MAX};
    fixture made = nonzero(1);
    for (int n = 0; n < 8; n++) {
        zt_buffer room = zt_buffer_new(64);
        zb_tensor_desc desc = DESC(ZB_DTYPE_I64, dims[n / 2], -1);
        way given = n % 2 ? LENT : BOUND;
        set_hits(&made, 3);
        CHECK_STATUS(infer_into_buffer(&made, given, desc, &room), ZB_ERROR_SHAPE_MISMATCH);
        CHECK_ERROR_SAYS("[3,1]");
        check_still_fresh(&room, 0);
        check_hits_are_in_view(&made, 3);
        /* bytes come first: no shape would have helped */
        set_hits(&made, 9);
        CHECK_STATUS(infer_into_buffer(&made, given, desc, &room), ZB_ERROR_BUFFER_TOO_SMALL);
        CHECK_ERROR_SAYS("72");
        check_still_fresh(&room, 0);
        check_hits_are_in_view(&made, 9);
        REQUIRE_OK(zb_context_unbind(made.context, ZB_OUTPUT(0)));
        FREE_BUFFER(&room);
    }
    free_fixture(&made);
}

static void check_never_fits(fixture *made, const zb_tensor_desc *desc, zb_status expected)
{
    zt_buffer room = zt_buffer_new(128);
    zb_loan loan = zb_loan_output(ZB_OUTPUT(0), room.data, room.size, desc);
    zb_tensor *tensor = NULL;
    REQUIRE_OK(zb_tensor_wrap(desc, room.data, room.size, 0, NULL, NULL, &tensor));
    CHECK_STATUS(zb_tensor_bind(tensor, made->context, ZB_OUTPUT(0)), expected);
    CHECK_ERROR_SAYS("'y'");
    CHECK_STATUS(zb_infer_with(made->context, &loan, 1, NULL), expected);
    CHECK_ERROR_SAYS("'y'");
    CHECK_NO_VIEW(made->context, ZB_OUTPUT(0));
    check_still_fresh(&room, 0);
    zb_tensor_destroy(tensor);
    FREE_BUFFER(&room);
}

static void descs_that_can_never_fit(void)
{
    static const int64_t shapes[][3] = {{-1, 2, 0}, {-1, 0, 0}, {-1, 0, 0}, {-1, 1, 1}, {-1, INT64_MAX, 0}};
    static const size_t ranks[] = {2, 2, 1, 3, 2};
    const int32_t types[] = {ZB_DTYPE_I32, ZB_DTYPE_F64, ZB_DTYPE_U64};
    fixture made = nonzero(1);
    set_hits(&made, 3);
    for (size_t n = 0; n < sizeof ranks / sizeof *ranks; n++) {
        zb_tensor_desc desc = zt_desc(ZB_DTYPE_I64, shapes[n], ranks[n]);
        check_never_fits(&made, &desc, ZB_ERROR_SHAPE_MISMATCH);
    }
    for (size_t n = 0; n < 3; n++) {
        zb_tensor_desc desc = DESC(types[n], -1, 1);
        check_never_fits(&made, &desc, ZB_ERROR_DTYPE_MISMATCH);
    }
    free_fixture(&made);
}

static void as_many_open_dims_as_there_can_be(void)
{
    fixture made = nonzero(1);
    zb_tensor_desc desc = zt_desc(ZB_DTYPE_I64, NULL, 0), found;
    zt_buffer room = zt_buffer_new(8);
    zb_tensor *tensor = NULL;
    size_t size = 1;
    set_hits(&made, 1);
    desc.rank = ZB_MAX_RANK;
    for (int i = 0; i < ZB_MAX_RANK; i++) {
        desc.dims[i] = i % 2 ? -1 : INT64_MAX;
    }
    tensor = zt_wrap(&desc, &room);
    REQUIRE_OK(zb_tensor_get_desc(tensor, &found));
    CHECK(zt_same_desc(&found, &desc));
    zb_tensor_destroy(tensor);
    check_never_fits(&made, &desc, ZB_ERROR_SHAPE_MISMATCH);
    CHECK_STATUS(zb_tensor_desc_size(&desc, &size), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_EQ(size, 1);
    desc.rank = ZB_MAX_RANK + 1;
    tensor = NULL;
    CHECK_STATUS(zb_tensor_wrap(&desc, room.data, 8, 0, NULL, NULL, &tensor), ZB_ERROR_UNSUPPORTED);
    /* -1 is the one number below 0 that means something */
    desc = DESC(ZB_DTYPE_I64, -2, 1);
    CHECK_STATUS(zb_tensor_wrap(&desc, room.data, 8, 0, NULL, NULL, &tensor), ZB_ERROR_INVALID_ARGUMENT);
    CHECK(tensor == NULL);
    CHECK_STATUS(infer_into_buffer(&made, LENT, desc, &room), ZB_ERROR_INVALID_ARGUMENT);
    check_still_fresh(&room, 0);
    FREE_BUFFER(&room);
    free_fixture(&made);
}

/* --- where there is no room for what is open --- */

static void what_is_read_has_a_shape(void)
{
    fixture made = make_fixture("batch", 1, F32(2, 4));
    zb_tensor_desc open = F32(-1, 4), two = F32(2, 4);
    zt_buffer x = zt_buffer_new(32), y = zt_buffer_new(32);
    zt_releases releases = {0, NULL, 0};
    zb_tensor *room = zt_wrap(&open, &x), *none = NULL;
    zb_loan loan = zb_loan_input(ZB_INPUT(0), x.data, x.size, x.capacity, &open);
    CHECK_STATUS(zb_tensor_bind(room, made.context, ZB_INPUT(0)), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_ERROR_SAYS("'x'");
    CHECK_STATUS(zb_infer_with(made.context, &loan, 1, NULL), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_STATUS(zb_tensor_wrap_const(&open, x.data, x.size, 0, zt_count_release, &releases, &none), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_STATUS(zb_tensor_alloc(&open, 0, &none), ZB_ERROR_SHAPE_MISMATCH);
    CHECK(none == NULL);
    CHECK_EQ(releases.count, 0);

    /* nor does it get to an input by a detour */
    REQUIRE_OK(zb_tensor_bind(room, made.context, ZB_OUTPUT(0)));
    CHECK_STATUS(zb_context_swap(made.context, ZB_INPUT(0), ZB_OUTPUT(0)), ZB_ERROR_SHAPE_MISMATCH);
    REQUIRE_OK(zb_infer(made.context, NULL));
    CHECK_ADDRESS(VIEW_OF(made.context, ZB_OUTPUT(0), two), x.data);
    CHECK(zt_floats(&x)[7] == 14);
    zb_tensor_destroy(room);
    free_fixture(&made);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

/* Nobody knows which of its bytes the run will write, so all of them count. */
static void room_shares_no_byte_with_an_input(void)
{
    fixture made = nonzero(1);
    zt_buffer block = zt_buffer_new(512);
    for (size_t start = 0; start <= 192; start += 64) {
        zb_loan loans[2] = {
            zb_loan_input(ZB_INPUT(0), block.data + 128, 64, 0, NULL),
            zb_loan_output(ZB_OUTPUT(0), block.data + start, 128, NULL),
        };
        int overlaps = start > 0 && start < 192;
        set_hits(&made, 2);
        memcpy(block.data + 128, made.x.data, 64);
        CHECK_STATUS(zb_infer_with(made.context, loans, 2, NULL), overlaps ? ZB_ERROR_ALIASED : ZB_OK);
        if (!overlaps) {
            CHECK_BYTES(block.data + start, made.places, 16);
        }
        CHECK_BYTES(block.data + 128, made.x.data, 64);
    }
    FREE_BUFFER(&block);
    free_fixture(&made);
}

/* --- where planning knows the shape --- */

static void check_doubled(const fixture *made, const void *y, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float value;
        memcpy(&value, (const unsigned char *)y + 4 * i, sizeof value);
        CHECK(value == 2 * zt_floats(&made->x)[i]);
    }
}

static void a_known_shape_is_in_place_in_the_rooms_first_bytes(void)
{
    static const int64_t shapes[][2] = {{-1, 4}, {-1, -1}, {3, -1}};
    fixture made = make_fixture("batch", 0, F32(3, 4));
    for (int n = 0; n < 6 * WAYS; n++) {
        zt_buffer room = zt_buffer_new(n % 2 ? 48 : 500);
        zb_tensor_desc desc = zt_desc(ZB_DTYPE_F32, shapes[n / 2 % 3], 2);
        way given = (way)(n / 6);
        REQUIRE_OK(infer_into_buffer(&made, given, desc, &room));
        check_doubled(&made, room.data, 12);
        CHECK_DIRECT(made.context, ZB_OUTPUT(0), room.data);
        CHECK_DESC(made.context, ZB_OUTPUT(0), F32(3, 4));
        check_counted(&made, 1, 0);
        if (given == BOUND) {
            CHECK_ADDRESS(VIEW_OF(made.context, ZB_OUTPUT(0), F32(3, 4)), room.data);
        } else {
            CHECK_NO_VIEW(made.context, ZB_OUTPUT(0));
        }
        check_still_fresh(&room, 48);
        REQUIRE_OK(zb_context_unbind(made.context, ZB_OUTPUT(0)));
        FREE_BUFFER(&room);
    }
    free_fixture(&made);
}

/* Only the engine touches the pages of the result, and nobody those behind it. */
static void a_known_shape_springs_no_trap(void)
{
    if (zt_under_memcheck()) {
        return; /* the pages' handler is no friend of valgrind */
    }
    const int64_t rows = 4096;
    const size_t page = zt_page_size(), bytes = (size_t)rows * 16;
    fixture made = make_fixture("batch", 0, F32(4096, 4));
    for (int n = 0; n < 2; n++) {
        zt_buffer room = zt_buffer_of_pages(bytes + 3 * page);
        zb_loan loan = zb_loan_output(ZB_OUTPUT(0), room.data, room.size, NULL);
        zb_tensor_desc open = F32(-1, -1);
        loan.desc = &open;
        if (n == 0) {
            bind_room(made.context, ZB_OUTPUT(0), open, room.data, room.size);
        }
        trap_install();
        size_t result = trap_arm(room.data, bytes), behind = trap_arm(room.data + bytes, 3 * page);
        REQUIRE_OK(n == 0 ? zb_infer(made.context, NULL) : zb_infer_with(made.context, &loan, 1, NULL));
        CHECK_EQ(trap_count(result, TRAP_ENGINE), bytes / page);
        CHECK_EQ(trap_count_all(result), bytes / page);
        CHECK_EQ(trap_count_all(behind), 0);
        trap_remove();
        CHECK_DIRECT(made.context, ZB_OUTPUT(0), room.data);
        CHECK_DESC(made.context, ZB_OUTPUT(0), F32(4096, 4));
        check_doubled(&made, room.data, (size_t)rows * 4);
        REQUIRE_OK(zb_context_unbind(made.context, ZB_OUTPUT(0)));
        FREE_BUFFER(&room);
    }
    free_fixture(&made);
}

/* One piece of memory for every batch up to 4; what does not fit is refused before anything runs. */
static void one_room_for_every_batch(void)
{
    static const int64_t batches[] = {1, 4, 5, 2, 0, 3, 1000, 4};
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    zt_buffer room = zt_buffer_new(64);
    bind_room(context, ZB_OUTPUT(0), F32(-1, 4), room.data, room.size);
    for (size_t n = 0; n < sizeof batches / sizeof *batches; n++) {
        int64_t batch = batches[n];
        zb_tensor_desc desc = F32(batch, 4);
        zt_buffer x = zt_buffer_new((size_t)batch * 16);
        zb_loan loan = zt_lend_input(0, &x);
        uint64_t runs = zt_stats(context).runs;
        loan.desc = &desc;
        zt_fill_floats(&x, (float)n, 1);
        memset(room.data, 0xCD, room.size);
        CHECK_STATUS(zb_infer_with(context, &loan, 1, NULL), batch > 4 ? ZB_ERROR_BUFFER_TOO_SMALL : ZB_OK);
        if (batch > 4) {
            CHECK_ERROR_SAYS(batch == 5 ? "80" : "16000");
            CHECK_ERROR_SAYS("64");
            check_still_fresh(&room, 0);
            CHECK_NO_VIEW(context, ZB_OUTPUT(0));
            CHECK_EQ(zt_stats(context).runs, runs);
        } else {
            for (int64_t i = 0; i < 4 * batch; i++) {
                CHECK(zt_floats(&room)[i] == 2 * zt_floats(&x)[i]);
            }
            check_still_fresh(&room, (size_t)batch * 16);
            CHECK_ADDRESS(VIEW_OF(context, ZB_OUTPUT(0), desc), room.data);
            CHECK_EQ(zt_report(context, ZB_OUTPUT(0)).path, ZB_PATH_DIRECT);
        }
        CHECK_DESC(context, ZB_OUTPUT(0), desc);
        FREE_BUFFER(&x);
    }
    CHECK_EQ(zt_stats(context).bytes_copied, 0);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&room);
}

static void only_the_bytes_that_are_written_count_as_overlap(void)
{
    fixture made = make_fixture("batch", 0, F32(3, 4));
    zt_buffer block = zt_buffer_new(512);
    zb_tensor_desc open = F32(-1, 4);
    memcpy(block.data + 64, made.x.data, 48);
    zb_loan loans[2] = {
        zb_loan_input(ZB_INPUT(0), block.data + 64, 48, 448, NULL),
        zb_loan_output(ZB_OUTPUT(0), block.data, 512, &open),
    };
    REQUIRE_OK(zb_infer_with(made.context, loans, 2, NULL));
    check_doubled(&made, block.data, 12);
    loans[1].data = block.data + 64;
    loans[1].size = 448;
    CHECK_STATUS(zb_infer_with(made.context, loans, 2, NULL), ZB_ERROR_ALIASED);
    CHECK_BYTES(block.data + 64, made.x.data, 48);
    FREE_BUFFER(&block);
    free_fixture(&made);
}

/* Room does not lift the rules for memory that the engine writes itself. */
static void a_known_shape_at_a_bad_address(void)
{
    for (int copies = 0; copies < 2; copies++) {
        fixture made = make_fixture("batch", copies, F32(3, 4));
        zt_buffer room = zt_buffer_at(100, 1);
        zb_tensor_desc open = F32(-1, 4);
        zb_tensor *tensor = zt_wrap(&open, &room);
        CHECK_STATUS(infer_into_buffer(&made, LENT, open, &room), copies ? ZB_OK : ZB_ERROR_MISALIGNED);
        CHECK_STATUS(zb_tensor_bind(tensor, made.context, ZB_OUTPUT(0)), copies ? ZB_OK : ZB_ERROR_MISALIGNED);
        if (copies) {
            check_doubled(&made, room.data, 12);
            memset(room.data, 0xCD, room.size);
            made.before = zt_stats(made.context);
            REQUIRE_OK(zb_infer(made.context, NULL));
            check_doubled(&made, room.data, 12);
            CHECK_STAGED(made.context, ZB_OUTPUT(0), room.data, 48);
            check_counted(&made, 1, 48);
            CHECK_ADDRESS(VIEW_OF(made.context, ZB_OUTPUT(0), F32(3, 4)), room.data);
        }
        check_still_fresh(&room, copies ? 48 : 0);
        zb_tensor_destroy(tensor);
        free_fixture(&made);
        FREE_BUFFER(&room);
    }
}

static void a_room_of_one_byte_less_than_planned(void)
{
    for (int copies = 0; copies < 2; copies++) {
        fixture made = make_fixture("batch", copies, F32(3, 4));
        for (int given = 0; given < WAYS; given++) {
            zt_buffer room = zt_buffer_new(47);
            CHECK_STATUS(infer_into_buffer(&made, (way)given, F32(-1, 4), &room), ZB_ERROR_BUFFER_TOO_SMALL);
            CHECK_ERROR_SAYS("48");
            CHECK_ERROR_SAYS("47");
            check_still_fresh(&room, 0);
            /* refused before it ran, unlike what only the run tells */
            CHECK_NO_VIEW(made.context, ZB_OUTPUT(0));
            check_counted(&made, 0, 0);
            REQUIRE_OK(zb_context_unbind(made.context, ZB_OUTPUT(0)));
            FREE_BUFFER(&room);
        }
        free_fixture(&made);
    }
}

/* --- slots that are one tensor, and constants --- */

static const float plus_one[8] = {1, 2, 3, 4, 5, 6, 7, 8};

static void rooms_for_one_tensor_in_two_outputs(void)
{
    for (int copies = 0; copies < 2; copies++) {
        fixture made = make_fixture("duplicate", copies, F32(8));
        zt_buffer first = zt_buffer_new(40), second = zt_buffer_new(50);
        bind_room(made.context, ZB_OUTPUT(1), F32(-1), second.data, second.size);
        /* alone, either can be the place of the tensor */
        REQUIRE_OK(zb_infer(made.context, NULL));
        CHECK_FLOATS(zt_floats(&second), plus_one, 8, 0);
        CHECK_EQ(zt_report(made.context, ZB_OUTPUT(1)).path, ZB_PATH_DIRECT);
        CHECK_ADDRESS(VIEW_OF(made.context, ZB_OUTPUT(0), F32(8)), second.data);
        memset(second.data, 0xCD, second.size);

        bind_room(made.context, ZB_OUTPUT(0), F32(-1), first.data, first.size);
        made.before = zt_stats(made.context);
        CHECK_STATUS(zb_infer(made.context, NULL), copies ? ZB_OK : ZB_ERROR_COPY_REQUIRED);
        if (copies) {
            CHECK_FLOATS(zt_floats(&first), plus_one, 8, 0);
            CHECK_FLOATS(zt_floats(&second), plus_one, 8, 0);
            CHECK_DIRECT(made.context, ZB_OUTPUT(0), first.data);
            CHECK_STAGED(made.context, ZB_OUTPUT(1), second.data, 32);
            CHECK_ADDRESS(VIEW_OF(made.context, ZB_OUTPUT(0), F32(8)), first.data);
            CHECK_ADDRESS(VIEW_OF(made.context, ZB_OUTPUT(1), F32(8)), second.data);
            check_counted(&made, 1, 32);
        }
        check_still_fresh(&first, copies ? 32 : 0);
        check_still_fresh(&second, copies ? 32 : 0);

        /* the same room under both numbers, and of different sizes */
        bind_room(made.context, ZB_OUTPUT(1), F32(-1), first.data, 36);
        memset(first.data, 0xCD, first.size);
        REQUIRE_OK(zb_infer(made.context, NULL));
        CHECK_FLOATS(zt_floats(&first), plus_one, 8, 0);
        check_still_fresh(&first, 32);
        CHECK_DIRECT(made.context, ZB_OUTPUT(0), first.data);
        CHECK_DIRECT(made.context, ZB_OUTPUT(1), first.data);
        bind_room(made.context, ZB_OUTPUT(1), F32(-1), first.data, 31);
        CHECK_STATUS(zb_infer(made.context, NULL), ZB_ERROR_BUFFER_TOO_SMALL);
        free_fixture(&made);
        FREE_BUFFER(&first);
        FREE_BUFFER(&second);
    }
}

/* One of the two in memory that is gone after the call, the other in memory that stays. */
static void lent_and_bound_room_for_one_tensor(void)
{
    for (uint32_t lent = 0; lent < 2; lent++) {
        fixture made = make_fixture("duplicate", 1, F32(8));
        uint32_t bound = 1 - lent;
        zt_buffer stays = zt_buffer_new(40), goes = zt_buffer_new(40);
        zb_tensor_desc open = F32(-1);
        zb_loan loan = zt_lend_output(lent, &goes);
        loan.desc = &open;
        zt_bind(made.context, ZB_OUTPUT(bound), open, &stays);
        for (int run = 0; run < 2; run++) {
            memset(stays.data, 0xCD, stays.size);
            memset(goes.data, 0xCD, goes.size);
            REQUIRE_OK(zb_infer_with(made.context, &loan, 1, NULL));
            CHECK_FLOATS(zt_floats(&stays), plus_one, 8, 0);
            CHECK_FLOATS(zt_floats(&goes), plus_one, 8, 0);
            /* the first holds the tensor, the second gets a copy */
            CHECK_DIRECT(made.context, ZB_OUTPUT(0), lent == 0 ? goes.data : stays.data);
            CHECK_STAGED(made.context, ZB_OUTPUT(1), lent == 1 ? goes.data : stays.data, 32);
            CHECK_NO_VIEW(made.context, ZB_OUTPUT(lent));
            CHECK_ADDRESS(VIEW_OF(made.context, ZB_OUTPUT(bound), F32(8)), stays.data);
            check_still_fresh(&stays, 32);
            check_still_fresh(&goes, 32);
        }
        /* without the loan the tensor is in the memory that stays, whichever number that has */
        memset(goes.data, 0xCD, goes.size);
        REQUIRE_OK(zb_infer(made.context, NULL));
        CHECK_DIRECT(made.context, ZB_OUTPUT(bound), stays.data);
        CHECK_ADDRESS(VIEW_OF(made.context, ZB_OUTPUT(lent), F32(8)), stays.data);
        CHECK(zt_is_untouched(&goes));
        free_fixture(&made);
        FREE_BUFFER(&stays);
        FREE_BUFFER(&goes);
    }
}

static void room_stays_bound_through_a_reset(void)
{
    fixture made = nonzero(1);
    zt_buffer room = zt_buffer_new(64);
    zt_bind(made.context, ZB_OUTPUT(0), open_hits(), &room);
    for (int hits = 0; hits < 4; hits++) {
        set_hits(&made, hits);
        made.before = zt_stats(made.context);
        REQUIRE_OK(zb_infer(made.context, NULL));
        check_hits(&made, BOUND, hits, room.data);
        REQUIRE_OK(zb_context_reset_state(made.context));
        CHECK_NO_VIEW(made.context, ZB_OUTPUT(0));
    }
    free_fixture(&made);
    FREE_BUFFER(&room);
}

static void room_for_an_input_that_is_passed_through(void)
{
    for (int copies = 0; copies < 2; copies++) {
        fixture made = make_fixture("passthrough", copies, F32(8));
        for (int given = 0; given < WAYS; given++) {
            zt_buffer room = zt_buffer_new(40), small = zt_buffer_new(31);
            CHECK_STATUS(infer_into_buffer(&made, (way)given, F32(-1), &room), copies ? ZB_OK : ZB_ERROR_COPY_REQUIRED);
            if (copies) {
                CHECK_BYTES(room.data, made.x.data, 32);
                CHECK_EQ(zt_report(made.context, ZB_OUTPUT(0)).path, ZB_PATH_STAGED);
                CHECK_EQ(zt_report(made.context, ZB_OUTPUT(0)).bytes_copied, 32);
                check_counted(&made, 1, 32);
            }
            check_still_fresh(&room, copies ? 32 : 0);
            CHECK_STATUS(infer_into_buffer(&made, (way)given, F32(-1), &small), ZB_ERROR_BUFFER_TOO_SMALL);
            check_still_fresh(&small, 0);
            REQUIRE_OK(zb_context_unbind(made.context, ZB_OUTPUT(0)));
            FREE_BUFFER(&room);
            FREE_BUFFER(&small);
        }
        /* at the input's own place there is nothing to copy */
        bind_room(made.context, ZB_OUTPUT(0), F32(-1), made.x.data, 32);
        REQUIRE_OK(zb_infer(made.context, NULL));
        CHECK_DIRECT(made.context, ZB_OUTPUT(0), made.x.data);
        free_fixture(&made);
    }
}

static void room_for_a_constant(void)
{
    const float ones_to_four[4] = {1, 2, 3, 4};
    for (int copies = 0; copies < 2; copies++) {
        fixture made = make_fixture("constant", copies, F32(8));
        for (int given = 0; given < WAYS; given++) {
            zt_buffer room = zt_buffer_new(20);
            /* ONNX Runtime fills any memory; TFLite's constant is in the model */
            int works = copies || !zt_is_tflite();
            CHECK_STATUS(infer_into_buffer(&made, (way)given, F32(-1), &room), works ? ZB_OK : ZB_ERROR_COPY_REQUIRED);
            if (works) {
                CHECK_FLOATS(zt_floats(&room), ones_to_four, 4, 0);
                CHECK_EQ(zt_report(made.context, ZB_OUTPUT(0)).path, zt_is_tflite() ? ZB_PATH_STAGED : ZB_PATH_DIRECT);
                CHECK_DESC(made.context, ZB_OUTPUT(0), F32(4));
            }
            check_still_fresh(&room, works ? 16 : 0);
            REQUIRE_OK(zb_context_unbind(made.context, ZB_OUTPUT(0)));
            FREE_BUFFER(&room);
        }
        free_fixture(&made);
    }
}

/* --- an output that planning knows beside one that only the run knows --- */

static void a_known_output_stays_in_place_beside_an_unknown_one(void)
{
    zb_model *model = zt_open("where");
    zb_context *strict = zt_context(model), *copying = zt_copying_context(model);
    zt_buffer mask = zt_buffer_new(16), x = zt_buffer_new(64);
    zt_fill_floats(&x, 1, 1);
    for (int every = 1; every < 20; every += 3) {
        float selected[16];
        int64_t positions[16];
        int hits = 0;
        zt_buffer y = zt_buffer_new(64), room = zt_buffer_new(130);
        zb_loan loans[4] = {zt_lend_input(0, &mask), zt_lend_input(1, &x), zt_lend_output(0, &y), zt_lend_output(1, &room)};
        for (int i = 0; i < 16; i++) {
            mask.data[i] = (i + 1) % every == 0;
            selected[i] = mask.data[i] ? (float)(i + 1) : 0;
            if (mask.data[i]) {
                positions[hits++] = i;
            }
        }
        CHECK_STATUS(zb_infer_with(strict, loans, 4, NULL), ZB_ERROR_COPY_REQUIRED);
        CHECK_ERROR_SAYS("'positions'");
        CHECK(zt_is_untouched(&y));
        CHECK(zt_is_untouched(&room));
        /* in view, the unknown one does not get in the way of the other */
        REQUIRE_OK(zb_infer_with(strict, loans, 3, NULL));
        CHECK_FLOATS(zt_floats(&y), selected, 16, 0);
        CHECK_DIRECT(strict, ZB_OUTPUT(0), y.data);
        CHECK_BYTES(VIEW_OF(strict, ZB_OUTPUT(1), hits_desc(hits)), positions, 8 * (size_t)hits);

        memset(y.data, 0xCD, y.size);
        REQUIRE_OK(zb_infer_with(copying, loans, 4, NULL));
        CHECK_FLOATS(zt_floats(&y), selected, 16, 0);
        CHECK_BYTES(room.data, positions, 8 * (size_t)hits);
        CHECK_DIRECT(copying, ZB_OUTPUT(0), y.data);
        CHECK_STAGED(copying, ZB_OUTPUT(1), room.data, 8 * (size_t)hits);
        check_still_fresh(&room, 8 * (size_t)hits);
        FREE_BUFFER(&y);
        FREE_BUFFER(&room);
    }
    zb_context_destroy(strict);
    zb_context_destroy(copying);
    zb_model_destroy(model);
    FREE_BUFFER(&mask);
    FREE_BUFFER(&x);
}

static const zt_test tests[] = {
    ON_BOTH(room_that_is_large_enough),
    ON_BOTH(room_that_needs_a_copy_that_is_not_allowed),
    ON_BOTH(room_that_is_too_small),
    ON_BOTH(room_that_is_no_memory),
    ON_BOTH(room_at_any_address),
    ON_BOTH(room_at_the_end_of_a_page),
    ON_BOTH(room_stays_bound_while_the_result_grows_and_shrinks),
    ON_BOTH(bound_room_and_lent_room_take_turns),
    ON_BOTH(dims_that_agree),
    ON_BOTH(dims_that_the_run_does_not_keep),
    ON_BOTH(descs_that_can_never_fit),
    ON_BOTH(as_many_open_dims_as_there_can_be),
    ON_BOTH(what_is_read_has_a_shape),
    ON_BOTH(room_shares_no_byte_with_an_input),
    ON_BOTH(a_known_shape_is_in_place_in_the_rooms_first_bytes),
    ON_BOTH(a_known_shape_springs_no_trap),
    ON_BOTH(one_room_for_every_batch),
    ON_BOTH(only_the_bytes_that_are_written_count_as_overlap),
    ON_BOTH(a_known_shape_at_a_bad_address),
    ON_BOTH(a_room_of_one_byte_less_than_planned),
    ON_BOTH(rooms_for_one_tensor_in_two_outputs),
    ON_BOTH(lent_and_bound_room_for_one_tensor),
    ON_BOTH(room_stays_bound_through_a_reset),
    ON_BOTH(room_for_an_input_that_is_passed_through),
    ON_BOTH(room_for_a_constant),
    ON_BOTH(a_known_output_stays_in_place_beside_an_unknown_one),
};

ZT_MAIN(tests)
