/*
 * Memory that is shared with other libraries by DLPack, both ways. The structs are written out here from DLPack's own
 * description, as a program that includes dlpack.h has them.
 */
#include "harness.h"

#include <pthread.h>

typedef struct dl_device {
    int32_t type;
    int32_t id;
} dl_device;

typedef struct dl_type {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
} dl_type;

typedef struct dl_tensor {
    void *data;
    dl_device device;
    int32_t ndim;
    dl_type dtype;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
} dl_tensor;

struct DLManagedTensorVersioned {
    struct {
        uint32_t major;
        uint32_t minor;
    } version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    dl_tensor tensor;
};

typedef struct DLManagedTensorVersioned managed;

#define READ_ONLY 1u
#define IS_COPIED 2u
#define SUBBYTE_PADDED 4u
#define CPU 1
#define CUDA_HOST 3
#define ROCM_HOST 11
#define FLOAT 2u

/* A managed tensor of the test's own, with the count of calls of its deleter. */
typedef struct given {
    managed managed;
    int64_t shape[17];
    int64_t strides[17];
    zt_releases deleted;
} given;

static void count_deletion(managed *self)
{
    given *mine = self->manager_ctx;
    zt_count_release(&mine->deleted, self->tensor.data, 0);
}

static void take_shape(given *made, const int64_t *shape, int32_t rank)
{
    int64_t stride = 1;
    made->managed.tensor.ndim = rank;
    for (int32_t i = rank - 1; i >= 0; i--) {
        made->shape[i] = shape[i];
        made->strides[i] = stride;
        stride *= shape[i];
    }
}

/* `values` floats at `data`, with compact strides, of DLPack 1.0. */
static void give_floats(given *made, void *data, int64_t values)
{
    memset(made, 0, sizeof *made);
    made->managed.version.major = 1;
    made->managed.manager_ctx = made;
    made->managed.deleter = count_deletion;
    made->managed.tensor.data = data;
    made->managed.tensor.device.type = CPU;
    made->managed.tensor.dtype.code = FLOAT;
    made->managed.tensor.dtype.bits = 32;
    made->managed.tensor.dtype.lanes = 1;
    made->managed.tensor.shape = made->shape;
    made->managed.tensor.strides = made->strides;
    take_shape(made, &values, 1);
}

static int deletions(const given *made)
{
    return zt_release_count(&made->deleted);
}

static zb_tensor *import(given *made)
{
    zb_tensor *tensor = NULL;
    REQUIRE_OK(zb_tensor_from_dlpack(&made->managed, &tensor));
    return tensor;
}

static managed *export(zb_tensor *tensor)
{
    managed *made = NULL;
    REQUIRE_OK(zb_tensor_to_dlpack(tensor, &made));
    REQUIRE(made != NULL && made->deleter != NULL);
    return made;
}

/* Refused, with `part` in the text, and still the caller's. */
static void check_refused(given *made, zb_status expected, const char *part)
{
    zb_tensor *tensor = NULL;
    CHECK_STATUS(zb_tensor_from_dlpack(&made->managed, &tensor), expected);
    CHECK_ERROR_SAYS(part);
    CHECK(tensor == NULL);
    CHECK_EQ(deletions(made), 0);
    CHECK_EQ(zb_live_objects(ZB_KIND_TENSOR), 0);
}

static void check_taken(given *made)
{
    zb_tensor_destroy(import(made));
    CHECK_EQ(deletions(made), 1);
    made->deleted.count = 0;
}

/* --- runs --- */

static void check_direct(zb_context *context, zb_slot slot, const void *address)
{
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    REQUIRE_OK(zb_context_get_binding_report(context, slot, &report));
    CHECK_EQ(report.path, ZB_PATH_DIRECT);
    CHECK_ADDRESS(report.host_address, address);
    CHECK_ADDRESS(report.engine_address, address);
}

static void imported_memory_is_used_in_place(void)
{
    const float sums[4] = {11, 22, 33, 44}, more[4] = {15, 26, 37, 48};
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(16), y = zt_buffer_new(64 + 16), z = zt_buffer_new(16);
    given parts[3];
    zb_tensor *tensors[3];
    zt_fill_floats(&x, 1, 1);
    give_floats(&parts[0], x.data, 4);
    give_floats(&parts[1], y.data, 4);
    give_floats(&parts[2], z.data, 4);
    parts[0].managed.flags = READ_ONLY;
    parts[1].managed.tensor.byte_offset = 64;
    parts[2].managed.flags = IS_COPIED;
    for (int i = 0; i < 4; i++) {
        zt_floats(&y)[16 + i] = 10 * (float)(i + 1);
    }
    for (int i = 0; i < 3; i++) {
        tensors[i] = import(&parts[i]);
        REQUIRE_OK(zb_tensor_bind(tensors[i], context, i < 2 ? ZB_INPUT((uint32_t)i) : ZB_OUTPUT(0)));
    }
    REQUIRE_OK(zb_infer(context, NULL));
    CHECK_FLOATS(zt_floats(&z), sums, 4, 0);
    check_direct(context, ZB_INPUT(0), x.data);
    check_direct(context, ZB_INPUT(1), y.data + 64);
    check_direct(context, ZB_OUTPUT(0), z.data);
    /* what the owner writes, the next run sees */
    zt_fill_floats(&x, 5, 1);
    REQUIRE_OK(zb_infer(context, NULL));
    CHECK_FLOATS(zt_floats(&z), more, 4, 0);
    /* read-only memory is no output */
    CHECK_STATUS(zb_tensor_bind(tensors[0], context, ZB_OUTPUT(0)), ZB_ERROR_READ_ONLY);
    CHECK_ERROR_SAYS("DLPack");
    for (int i = 0; i < 3; i++) {
        zb_tensor_destroy(tensors[i]);
        CHECK_EQ(deletions(&parts[i]), 0);
    }
    zb_context_destroy(context);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(deletions(&parts[i]), 1);
    }
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
    FREE_BUFFER(&z);
}

/* --- what is read --- */

static void types_have_their_counterparts(void)
{
    const struct {
        uint8_t code, bits;
        int32_t dtype;
    } types[] = {
        {0, 4, ZB_DTYPE_I4},    {0, 8, ZB_DTYPE_I8},    {0, 16, ZB_DTYPE_I16},  {0, 32, ZB_DTYPE_I32},
        {0, 64, ZB_DTYPE_I64},  {1, 4, ZB_DTYPE_U4},    {1, 8, ZB_DTYPE_U8},    {1, 16, ZB_DTYPE_U16},
        {1, 32, ZB_DTYPE_U32},  {1, 64, ZB_DTYPE_U64},  {2, 16, ZB_DTYPE_F16},  {2, 32, ZB_DTYPE_F32},
        {2, 64, ZB_DTYPE_F64},  {4, 16, ZB_DTYPE_BF16}, {5, 64, ZB_DTYPE_C64},  {5, 128, ZB_DTYPE_C128},
        {6, 8, ZB_DTYPE_BOOL},  {10, 8, ZB_DTYPE_F8E4M3FN}, {12, 8, ZB_DTYPE_F8E5M2},
    };
    zt_buffer memory = zt_buffer_new(256);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        given part;
        zb_tensor_desc desc;
        size_t size = 0;
        give_floats(&part, memory.data, 3);
        part.managed.tensor.dtype.code = types[i].code;
        part.managed.tensor.dtype.bits = types[i].bits;
        zb_tensor *tensor = import(&part);
        REQUIRE_OK(zb_tensor_get_desc(tensor, &desc));
        CHECK_EQ(desc.dtype, types[i].dtype);
        REQUIRE_OK(zb_tensor_get_data(tensor, NULL, &size));
        CHECK_EQ(size, (3u * types[i].bits + 7) / 8);
        /* and back */
        managed *back = export(tensor);
        CHECK_EQ(back->tensor.dtype.code, types[i].code);
        CHECK_EQ(back->tensor.dtype.bits, types[i].bits);
        CHECK_EQ(back->tensor.dtype.lanes, 1);
        back->deleter(back);
        zb_tensor_destroy(tensor);
        CHECK_EQ(deletions(&part), 1);
    }
    FREE_BUFFER(&memory);
}

static void other_types_are_refused(void)
{
    static const dl_type types[] = {{2, 32, 4}, {2, 32, 0}, {0, 8, 2}, {3, 64, 1}, {0, 1, 1}, {6, 1, 1},  {2, 8, 1},
                                    {7, 8, 1},  {8, 8, 1},  {9, 8, 1}, {11, 8, 1}, {13, 8, 1}, {14, 8, 1}, {15, 6, 1},
                                    {17, 4, 1}, {5, 32, 1}, {4, 32, 1}, {99, 32, 1}, {2, 128, 1}, {0, 0, 1}};
    zt_buffer memory = zt_buffer_new(256);
    given part;
    give_floats(&part, memory.data, 4);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        part.managed.tensor.dtype = types[i];
        check_refused(&part, ZB_ERROR_UNSUPPORTED, "element type");
    }
    /* two 4-bit numbers lie in a byte, unless the maker says otherwise */
    part.managed.tensor.dtype.code = 0;
    part.managed.tensor.dtype.bits = 4;
    part.managed.tensor.dtype.lanes = 1;
    check_taken(&part);
    part.managed.flags = SUBBYTE_PADDED;
    check_refused(&part, ZB_ERROR_UNSUPPORTED, "padded");
    /* which means nothing for whole bytes */
    part.managed.tensor.dtype.bits = 8;
    check_taken(&part);
    FREE_BUFFER(&memory);
}

static void versions_and_flags_are_checked(void)
{
    zt_buffer memory = zt_buffer_new(16);
    given part;
    give_floats(&part, memory.data, 4);
    static const uint32_t majors[] = {0, 2, UINT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        /* nothing behind the version may be looked at then */
        part.managed.tensor.shape = NULL;
        part.managed.version.major = majors[i];
        check_refused(&part, ZB_ERROR_UNSUPPORTED, "version 1");
    }
    give_floats(&part, memory.data, 4);
    static const uint32_t minors[] = {0, 1, 2, 77};
    for (size_t i = 0; i < 4; i++) {
        part.managed.version.minor = minors[i];
        check_taken(&part);
    }
    static const uint64_t flags[] = {8, 0x80, UINT64_C(1) << 63};
    for (size_t i = 0; i < 3; i++) {
        part.managed.flags = flags[i];
        check_refused(&part, ZB_ERROR_UNSUPPORTED, "flags");
    }
    FREE_BUFFER(&memory);
}

static void only_host_memory_is_taken(void)
{
    static const int32_t host[] = {CPU, CUDA_HOST, ROCM_HOST};
    zt_buffer memory = zt_buffer_new(16);
    given part;
    give_floats(&part, memory.data, 4);
    for (size_t i = 0; i < 3; i++) {
        part.managed.tensor.device.type = host[i];
        check_taken(&part);
    }
    static const int32_t others[] = {0, 2, 4, 7, 8, 10, 12, 13, 14, 15, 99, -1};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        part.managed.tensor.device.type = others[i];
        check_refused(&part, ZB_ERROR_UNSUPPORTED, "device");
    }
    FREE_BUFFER(&memory);
}

static void only_dense_memory_is_taken(void)
{
    const struct {
        int64_t shape[3], strides[3];
        int dense;
    } cases[] = {
        {{2, 3, 4}, {12, 4, 1}, 1},  {{2, 3, 4}, {1, 2, 6}, 0},  {{2, 3, 4}, {24, 8, 2}, 0}, {{2, 3, 4}, {12, 4, -1}, 0},
        {{2, 3, 4}, {0, 4, 1}, 0},   {{2, 3, 4}, {16, 4, 1}, 0}, {{1, 3, 1}, {99, 1, -5}, 1}, {{1, 1, 1}, {0, 0, 0}, 1},
        {{0, 3, 4}, {7, 7, 7}, 1},   {{2, 3, 0}, {-1, 0, 5}, 1}, {{2, 1, 4}, {4, 77, 1}, 1},  {{2, 1, 4}, {8, 4, 1}, 0},
    };
    zt_buffer memory = zt_buffer_new(2 * 3 * 4 * 4);
    given part;
    give_floats(&part, memory.data, 4);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        take_shape(&part, cases[i].shape, 3);
        memcpy(part.strides, cases[i].strides, sizeof cases[i].strides);
        if (cases[i].dense) {
            check_taken(&part);
        } else {
            check_refused(&part, ZB_ERROR_UNSUPPORTED, "strides of [");
        }
    }
    take_shape(&part, cases[1].shape, 3);
    memcpy(part.strides, cases[1].strides, sizeof cases[1].strides);
    check_refused(&part, ZB_ERROR_UNSUPPORTED, "[1, 2, 6]");
    CHECK_ERROR_SAYS("[12, 4, 1]");
    part.managed.tensor.strides = NULL;
    check_taken(&part);
    FREE_BUFFER(&memory);
}

static void shapes_and_addresses_are_checked(void)
{
    zt_buffer memory = zt_buffer_new(16);
    given part;
    zb_tensor *tensor = NULL, **no_place = NULL;
    managed *nothing = NULL;
    const int64_t negative[2] = {4, -1}, huge[2] = {INT64_MAX, INT64_MAX};
    give_floats(&part, memory.data, 4);
    CHECK_STATUS(zb_tensor_from_dlpack(nothing, &tensor), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_tensor_from_dlpack(&part.managed, no_place), ZB_ERROR_NULL_ARGUMENT);
    CHECK_EQ(deletions(&part), 0);
    part.managed.tensor.ndim = -1;
    check_refused(&part, ZB_ERROR_INVALID_ARGUMENT, "-1 dimensions");
    part.managed.tensor.ndim = 17;
    check_refused(&part, ZB_ERROR_UNSUPPORTED, "17");
    take_shape(&part, negative, 2);
    check_refused(&part, ZB_ERROR_INVALID_ARGUMENT, "-1");
    memcpy(part.shape, huge, sizeof huge);
    part.managed.tensor.strides = NULL;
    check_refused(&part, ZB_ERROR_SHAPE_MISMATCH, "64 bits");
    give_floats(&part, memory.data, 4);
    part.managed.tensor.shape = NULL;
    check_refused(&part, ZB_ERROR_NULL_ARGUMENT, "shape");
    give_floats(&part, NULL, 4);
    check_refused(&part, ZB_ERROR_NULL_ARGUMENT, "data is NULL");
    give_floats(&part, memory.data, 4);
    part.managed.tensor.byte_offset = UINT64_MAX;
    check_refused(&part, ZB_ERROR_INVALID_ARGUMENT, "address space");
    part.managed.tensor.byte_offset = (uint64_t)(UINTPTR_MAX - (uintptr_t)memory.data - 3);
    check_refused(&part, ZB_ERROR_INVALID_ARGUMENT, "address space");
    FREE_BUFFER(&memory);
}

static void scalars_and_nothing_are_tensors_too(void)
{
    zt_buffer memory = zt_buffer_new(16);
    given part;
    size_t size = 1;
    void *data = memory.data;
    give_floats(&part, memory.data, 4);
    part.managed.tensor.ndim = 0;
    part.managed.tensor.shape = NULL;
    zb_tensor *tensor = import(&part);
    REQUIRE_OK(zb_tensor_get_data(tensor, &data, &size));
    CHECK_EQ(size, 4);
    CHECK_ADDRESS(data, memory.data);
    zb_tensor_destroy(tensor);
    CHECK_EQ(deletions(&part), 1);
    /* no bytes need no address, whatever the offset says */
    give_floats(&part, NULL, 0);
    part.managed.tensor.byte_offset = 8;
    tensor = import(&part);
    REQUIRE_OK(zb_tensor_get_data(tensor, &data, &size));
    CHECK_EQ(size, 0);
    CHECK(data == NULL);
    managed *back = export(tensor);
    CHECK(back->tensor.data == NULL);
    CHECK_EQ(back->tensor.ndim, 1);
    CHECK_EQ(back->tensor.shape[0], 0);
    back->deleter(back);
    zb_tensor_destroy(tensor);
    CHECK_EQ(deletions(&part), 1);
    FREE_BUFFER(&memory);
}

/* --- what is given --- */

static void exports_share_the_bytes(void)
{
    zb_tensor_desc desc = F32(2, 3, 4), scalar = zt_desc(ZB_DTYPE_F64, NULL, 0);
    zb_tensor *tensor = NULL;
    void *data = NULL;
    REQUIRE_OK(zb_tensor_alloc(&desc, 0, &tensor));
    REQUIRE_OK(zb_tensor_get_data(tensor, &data, NULL));
    managed *made = export(tensor);
    CHECK_EQ(made->version.major, 1);
    CHECK_EQ(made->flags, 0);
    CHECK_ADDRESS(made->tensor.data, data);
    CHECK_EQ(made->tensor.byte_offset, 0);
    CHECK_EQ(made->tensor.device.type, CPU);
    CHECK_EQ(made->tensor.device.id, 0);
    CHECK_EQ(made->tensor.ndim, 3);
    static const int64_t shape[3] = {2, 3, 4}, strides[3] = {12, 4, 1};
    CHECK_BYTES(made->tensor.shape, shape, sizeof shape);
    CHECK_BYTES(made->tensor.strides, strides, sizeof strides);
    /* there still when only the export holds it */
    zb_tensor_destroy(tensor);
    memset(made->tensor.data, 0x11, 96);
    made->deleter(made);
    REQUIRE_OK(zb_tensor_alloc(&scalar, 0, &tensor));
    made = export(tensor);
    CHECK_EQ(made->tensor.ndim, 0);
    CHECK(made->tensor.shape != NULL && made->tensor.strides != NULL);
    made->deleter(made);
    zb_tensor_destroy(tensor);
}

static void constant_memory_is_exported_as_such(void)
{
    static const float values[4] = {1, 2, 3, 4};
    zb_tensor_desc desc = F32(4);
    zb_tensor *tensor = NULL, *again = NULL, **nowhere = NULL;
    managed **no_place = NULL;
    REQUIRE_OK(zb_tensor_wrap_const(&desc, values, sizeof values, 0, NULL, NULL, &tensor));
    managed *made = export(tensor);
    CHECK_EQ(made->flags, READ_ONLY);
    CHECK_STATUS(zb_tensor_to_dlpack(tensor, no_place), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_tensor_from_dlpack(made, nowhere), ZB_ERROR_NULL_ARGUMENT);
    zb_tensor_destroy(tensor);
    /* what was exported can come back, as read-only as it went */
    REQUIRE_OK(zb_tensor_from_dlpack(made, &again));
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    CHECK_STATUS(zb_tensor_bind(again, context, ZB_OUTPUT(0)), ZB_ERROR_READ_ONLY);
    CHECK_EQ(zb_live_objects(ZB_KIND_TENSOR), 2);
    zb_tensor_destroy(again);
    CHECK_EQ(zb_live_objects(ZB_KIND_TENSOR), 0);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void dead_tensors_are_not_exported(void)
{
    zb_tensor_desc desc = F32(4);
    zb_tensor *tensor = NULL;
    managed *made = NULL;
    REQUIRE_OK(zb_tensor_alloc(&desc, 0, &tensor));
    zb_tensor_destroy(tensor);
    CHECK_STATUS(zb_tensor_to_dlpack(tensor, &made), ZB_ERROR_INVALID_HANDLE);
    CHECK(made == NULL);
}

/* --- who holds what --- */

/* Handle, binding and export end in each of the six orders; only the last one gives the memory back. */
static void the_last_use_deletes(void)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    zt_buffer memory = zt_buffer_new(16);
    zb_model *model = zt_open("add4");
    for (size_t order = 0; order < 6; order++) {
        given part;
        zb_context *context = zt_context(model);
        give_floats(&part, memory.data, 4);
        zb_tensor *tensor = import(&part);
        managed *exported = export(tensor);
        REQUIRE_OK(zb_tensor_bind(tensor, context, ZB_INPUT(0)));
        for (int step = 0; step < 3; step++) {
            CHECK_EQ(deletions(&part), 0);
            switch (orders[order][step]) {
            case 0:
                REQUIRE_OK(zb_tensor_destroy(tensor));
                break;
            case 1:
                REQUIRE_OK(zb_context_unbind(context, ZB_INPUT(0)));
                break;
            default:
                exported->deleter(exported);
            }
        }
        CHECK_EQ(deletions(&part), 1);
        CHECK_ADDRESS(part.deleted.data, memory.data);
        zb_context_destroy(context);
        CHECK_EQ(deletions(&part), 1);
    }
    zb_model_destroy(model);
    FREE_BUFFER(&memory);
}

static void exports_hold_wrapped_memory(void)
{
    zb_tensor_desc desc = F32(4);
    zt_buffer memory = zt_buffer_new(16);
    zt_releases releases = {0, NULL, 0};
    zb_tensor *tensor = NULL;
    REQUIRE_OK(zb_tensor_wrap(&desc, memory.data, 16, 0, zt_count_release, &releases, &tensor));
    managed *first = export(tensor), *second = export(tensor);
    CHECK(first != second);
    zb_tensor_destroy(tensor);
    first->deleter(first);
    CHECK_EQ(zt_release_count(&releases), 0);
    CHECK_EQ(zb_live_objects(ZB_KIND_TENSOR), 1);
    second->deleter(second);
    CHECK_EQ(zt_release_count(&releases), 1);
    FREE_BUFFER(&memory);
}

static void a_deleter_may_be_missing(void)
{
    zt_buffer memory = zt_buffer_new(16);
    given part;
    give_floats(&part, memory.data, 4);
    part.managed.deleter = NULL;
    zb_tensor_destroy(import(&part));
    CHECK_EQ(deletions(&part), 0);
    FREE_BUFFER(&memory);
}

/* As makers do it: the deleter frees the struct that it is given. */
static void free_managed(managed *self)
{
    free(self->tensor.data);
    free(self);
}

static void a_deleter_frees_the_struct(void)
{
    static int64_t shape[1] = {4};
    for (int i = 0; i < zt_rounds(100, 10); i++) {
        managed *made = calloc(1, sizeof *made);
        zb_tensor *tensor = NULL;
        REQUIRE(made != NULL);
        made->version.major = 1;
        made->deleter = free_managed;
        made->tensor.data = calloc(1, 16);
        made->tensor.device.type = CPU;
        made->tensor.dtype.code = FLOAT;
        made->tensor.dtype.bits = 32;
        made->tensor.dtype.lanes = 1;
        made->tensor.ndim = 1;
        made->tensor.shape = shape;
        REQUIRE_OK(zb_tensor_from_dlpack(made, &tensor));
        zb_tensor_destroy(tensor);
    }
}

/* A deleter that destroys another tensor, whose own deleter runs inside: no lock is held. */
static zb_tensor *next_to_destroy;

static void count_and_destroy_next(managed *self)
{
    count_deletion(self);
    CHECK_OK(zb_tensor_destroy(next_to_destroy));
}

static void a_deleter_may_call_zerobind(void)
{
    zt_buffer memory = zt_buffer_new(16);
    given first, second;
    give_floats(&first, memory.data, 4);
    give_floats(&second, memory.data, 4);
    next_to_destroy = import(&second);
    first.managed.deleter = count_and_destroy_next;
    zb_tensor_destroy(import(&first));
    CHECK_EQ(deletions(&first), 1);
    CHECK_EQ(deletions(&second), 1);
    FREE_BUFFER(&memory);
}

static void *call_deleter(void *argument)
{
    managed *made = argument;
    made->deleter(made);
    return NULL;
}

static void deleters_run_on_any_thread(void)
{
    zt_buffer memory = zt_buffer_new(16);
    for (int round = 0; round < zt_rounds(50, 5); round++) {
        pthread_t threads[4];
        given part;
        give_floats(&part, memory.data, 4);
        zb_tensor *tensor = import(&part);
        managed *exports[4];
        for (int i = 0; i < 4; i++) {
            exports[i] = export(tensor);
        }
        for (int i = 0; i < 4; i++) {
            REQUIRE(pthread_create(&threads[i], NULL, call_deleter, exports[i]) == 0);
        }
        zb_tensor_destroy(tensor);
        for (int i = 0; i < 4; i++) {
            REQUIRE(pthread_join(threads[i], NULL) == 0);
        }
        CHECK_EQ(deletions(&part), 1);
    }
    FREE_BUFFER(&memory);
}

static const zt_test tests[] = {
    ON_BOTH(imported_memory_is_used_in_place),
    ON_BOTH(types_have_their_counterparts),
    ON_BOTH(other_types_are_refused),
    ON_BOTH(versions_and_flags_are_checked),
    ON_BOTH(only_host_memory_is_taken),
    ON_BOTH(only_dense_memory_is_taken),
    ON_BOTH(shapes_and_addresses_are_checked),
    ON_BOTH(scalars_and_nothing_are_tensors_too),
    ON_BOTH(exports_share_the_bytes),
    ON_BOTH(constant_memory_is_exported_as_such),
    ON_BOTH(dead_tensors_are_not_exported),
    ON_BOTH(the_last_use_deletes),
    ON_BOTH(exports_hold_wrapped_memory),
    ON_BOTH(a_deleter_may_be_missing),
    ON_BOTH(a_deleter_frees_the_struct),
    ON_BOTH(a_deleter_may_call_zerobind),
    ON_BOTH(deleters_run_on_any_thread),
};

ZT_MAIN(tests)
