/*
 * The host functions of zerobind_wasm.h.
 */
#include "zerobind_wasm_parts.h"

#include <stdlib.h>
#include <string.h>

/* what is exchanged with guests is little-endian, and copied as it is */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "zerobind_wasm.c needs a little-endian host"
#endif

#define MODEL_ALIGNMENT 64

/* as zb_guest_loan, zb_guest_requirements and zb_guest_report of guests/zerobind_guest.h; zb_tensor_desc is the same */
typedef struct guest_loan {
    uint32_t slot;
    uint32_t flags;
    uint64_t data;
    uint64_t size;
    uint64_t desc;
} guest_loan;

typedef struct guest_requirements {
    uint64_t size;
    uint64_t alignment;
    uint64_t slack;
} guest_requirements;

typedef struct guest_report {
    int32_t path;
    uint32_t reserved;
    uint64_t bytes_copied;
} guest_report;

static int32_t destroy(zbw_call *call, zbw_kind kind, uint32_t handle)
{
    zbw_object *object = zbw_find(call->guest, kind, handle);
    if (object == NULL) {
        return zbw_unknown(call->guest, kind, handle);
    }
    zbw_clear_place(object);
    return ZB_OK;
}

/* --- models --- */

static int32_t check_model_limits(zbw_guest *guest, uint64_t size)
{
    uint64_t used = atomic_load(&guest->usage->bytes), models = atomic_load(&guest->usage->models);
    if (models >= guest->options.models) {
        return zbw_refuse(guest, ZBW_ERROR_LIMIT, "the host allows %u models at once, contexts of destroyed ones included",
                      (unsigned)guest->options.models);
    }
    if (used > guest->options.model_bytes || size > guest->options.model_bytes - used) {
        return zbw_refuse(guest, ZBW_ERROR_LIMIT, "the host allows %llu bytes of models, %llu are in use and this one has %llu",
                      (unsigned long long)guest->options.model_bytes, (unsigned long long)used, (unsigned long long)size);
    }
    return ZB_OK;
}

/* Opens `bytes`, which become the model's only with ZB_OK. */
static int32_t open_allowed(zbw_guest *guest, void *bytes, size_t size, zb_model **model)
{
    zb_model_options options = ZB_MODEL_OPTIONS_INIT;
    options.max_tensor_bytes = guest->options.tensor_bytes;
    if (guest->options.allowed == NULL) {
        return zbw_told(guest, zb_model_open_bytes(bytes, size, zbw_release_model, guest->usage, &options, model));
    }
    for (size_t i = 0; i < guest->options.allowed_count; i++) {
        memcpy(options.sha256, guest->options.allowed[i], sizeof options.sha256);
        zb_status status = zb_model_open_bytes(bytes, size, zbw_release_model, guest->usage, &options, model);
        if (status != ZB_ERROR_MODEL_INVALID) {
            return zbw_told(guest, status);
        }
    }
    return zbw_refuse(guest, ZB_ERROR_MODEL_INVALID, "the %llu bytes are none of the models that the host allows",
                  (unsigned long long)size);
}

/*
 * (bytes, size, model): the bytes are copied, which zerobind itself would not need. An engine keeps pointers into a model for
 * the model's whole life, and the guest's memory moves; and a guest must not change what was checked.
 */
static int32_t model_open(zbw_call *call, const wasmtime_val_raw_t *arguments)
{
    zbw_guest *guest = call->guest;
    uint64_t offset = (uint64_t)arguments[0].i64, size = (uint64_t)arguments[1].i64, result = (uint64_t)arguments[2].i64;
    int32_t status = zbw_check_inside(call, "the model's bytes", offset, size);
    if (status == ZB_OK) {
        status = zbw_check_inside(call, "the place for the model", result, sizeof(uint32_t));
    }
    if (status == ZB_OK) {
        status = check_model_limits(guest, size);
    }
    if (status != ZB_OK) {
        return status;
    }
    zbw_object *object = zbw_take_place(guest, ZBW_MODEL);
    if (object == NULL) {
        return zbw_refuse(guest, ZBW_ERROR_LIMIT, "the host allows %u models at once", (unsigned)guest->options.models);
    }
    void *bytes = aligned_alloc(MODEL_ALIGNMENT, ((size_t)size / MODEL_ALIGNMENT + 1) * MODEL_ALIGNMENT);
    if (bytes == NULL) {
        return zbw_refuse(guest, ZB_ERROR_OUT_OF_MEMORY, "no memory for the model's %llu bytes", (unsigned long long)size);
    }
    zbw_get(call, offset, bytes, (size_t)size);
    /* before the open, since a release may come at any time after it */
    zbw_charge_model(guest->usage, size);
    status = open_allowed(guest, bytes, (size_t)size, &object->model);
    if (status != ZB_OK) {
        zbw_release_model(guest->usage, bytes, (size_t)size);
        return status;
    }
    uint32_t handle = zbw_handle_of(ZBW_MODEL, &guest->tables[ZBW_MODEL], object);
    zbw_put(call, result, &handle, sizeof handle);
    return ZB_OK;
}

static int32_t model_destroy(zbw_call *call, const wasmtime_val_raw_t *arguments)
{
    return destroy(call, ZBW_MODEL, (uint32_t)arguments[0].i32);
}

/* (model, inputs, outputs) */
static int32_t model_slot_counts(zbw_call *call, const wasmtime_val_raw_t *arguments)
{
    uint64_t places[2] = {(uint64_t)arguments[1].i64, (uint64_t)arguments[2].i64};
    uint32_t counts[2];
    zbw_object *object = zbw_find(call->guest, ZBW_MODEL, (uint32_t)arguments[0].i32);
    if (object == NULL) {
        return zbw_unknown(call->guest, ZBW_MODEL, (uint32_t)arguments[0].i32);
    }
    int32_t status = ZB_OK;
    for (int i = 0; i < 2 && status == ZB_OK; i++) {
        status = zbw_check_inside(call, "the place for a number of slots", places[i], sizeof(uint32_t));
    }
    if (status == ZB_OK) {
        status = zbw_told(call->guest, zb_model_get_slot_counts(object->model, &counts[0], &counts[1]));
    }
    for (int i = 0; i < 2 && status == ZB_OK; i++) {
        zbw_put(call, places[i], &counts[i], sizeof counts[i]);
    }
    return status;
}

/* --- contexts --- */

/* Fills a free place; what was made of it when something fails is the caller's to clear. */
static int32_t make_context(zbw_guest *guest, zb_model *model, zbw_object *object)
{
    zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
    uint32_t inputs = 0, outputs = 0;
    options.threads = guest->options.threads;
    zb_status status = zb_model_get_slot_counts(model, &inputs, &outputs);
    if (status != ZB_OK) {
        return zbw_told(guest, status);
    }
    object->slots = inputs + outputs;
    object->loans = calloc((size_t)object->slots + 1, sizeof *object->loans);
    object->descs = calloc((size_t)object->slots + 1, sizeof *object->descs);
    if (object->loans == NULL || object->descs == NULL) {
        return zbw_refuse(guest, ZB_ERROR_OUT_OF_MEMORY, "no memory for the loans of %u slots", (unsigned)object->slots);
    }
    return zbw_told(guest, zb_context_create(model, &options, &object->context));
}

/* (model, context) */
static int32_t context_create(zbw_call *call, const wasmtime_val_raw_t *arguments)
{
    zbw_guest *guest = call->guest;
    uint64_t result = (uint64_t)arguments[1].i64;
    zbw_object *model = zbw_find(guest, ZBW_MODEL, (uint32_t)arguments[0].i32);
    if (model == NULL) {
        return zbw_unknown(guest, ZBW_MODEL, (uint32_t)arguments[0].i32);
    }
    int32_t status = zbw_check_inside(call, "the place for the context", result, sizeof(uint32_t));
    if (status != ZB_OK) {
        return status;
    }
    zbw_object *object = zbw_take_place(guest, ZBW_CONTEXT);
    if (object == NULL) {
        return zbw_refuse(guest, ZBW_ERROR_LIMIT, "the host allows %u contexts at once", (unsigned)guest->options.contexts);
    }
    status = make_context(guest, model->model, object);
    if (status != ZB_OK) {
        zbw_clear_place(object);
        return status;
    }
    uint32_t handle = zbw_handle_of(ZBW_CONTEXT, &guest->tables[ZBW_CONTEXT], object);
    zbw_put(call, result, &handle, sizeof handle);
    return ZB_OK;
}

static int32_t context_destroy(zbw_call *call, const wasmtime_val_raw_t *arguments)
{
    return destroy(call, ZBW_CONTEXT, (uint32_t)arguments[0].i32);
}

/* The context that the first argument names; `size` bytes have to be inside the memory at argument `place`. */
static int32_t enter_context(zbw_call *call, const wasmtime_val_raw_t *arguments, int place, uint64_t size, zb_context **context)
{
    uint32_t handle = (uint32_t)arguments[0].i32;
    zbw_object *object = zbw_find(call->guest, ZBW_CONTEXT, handle);
    if (object == NULL) {
        return zbw_unknown(call->guest, ZBW_CONTEXT, handle);
    }
    *context = object->context;
    return zbw_check_inside(call, "an argument", (uint64_t)arguments[place].i64, size);
}

/* (context, slot, dims, rank) */
static int32_t context_resize_input(zbw_call *call, const wasmtime_val_raw_t *arguments)
{
    int64_t dims[ZB_MAX_RANK] = {0};
    uint32_t rank = (uint32_t)arguments[3].i32;
    zb_context *context;
    if (rank > ZB_MAX_RANK) {
        return zbw_refuse(call->guest, ZB_ERROR_UNSUPPORTED, "a shape of %u dimensions; %d are supported", (unsigned)rank, ZB_MAX_RANK);
    }
    int32_t status = enter_context(call, arguments, 2, rank * sizeof *dims, &context);
    if (status != ZB_OK) {
        return status;
    }
    zbw_get(call, (uint64_t)arguments[2].i64, dims, rank * sizeof *dims);
    return zbw_told(call->guest, zb_context_resize_input(context, (zb_slot)arguments[1].i32, dims, rank));
}

/* (context, slot, desc) */
static int32_t context_slot_desc(zbw_call *call, const wasmtime_val_raw_t *arguments)
{
    zb_tensor_desc desc;
    zb_context *context;
    int32_t status = enter_context(call, arguments, 2, sizeof desc, &context);
    if (status == ZB_OK) {
        status = zbw_told(call->guest, zb_context_get_slot_desc(context, (zb_slot)arguments[1].i32, &desc, NULL));
    }
    if (status == ZB_OK) {
        zbw_put(call, (uint64_t)arguments[2].i64, &desc, sizeof desc);
    }
    return status;
}

/* (context, slot, requirements) */
static int32_t context_requirements(zbw_call *call, const wasmtime_val_raw_t *arguments)
{
    zb_requirements found = ZB_REQUIREMENTS_INIT;
    zb_context *context;
    int32_t status = enter_context(call, arguments, 2, sizeof(guest_requirements), &context);
    if (status == ZB_OK) {
        status = zbw_told(call->guest, zb_context_get_requirements(context, (zb_slot)arguments[1].i32, &found));
    }
    if (status == ZB_OK) {
        const guest_requirements result = {found.size, found.alignment, found.slack};
        zbw_put(call, (uint64_t)arguments[2].i64, &result, sizeof result);
    }
    return status;
}

/* (context, slot, report): without the addresses, which are the host's */
static int32_t context_report(zbw_call *call, const wasmtime_val_raw_t *arguments)
{
    zb_binding_report found = ZB_BINDING_REPORT_INIT;
    zb_context *context;
    int32_t status = enter_context(call, arguments, 2, sizeof(guest_report), &context);
    if (status == ZB_OK) {
        status = zbw_told(call->guest, zb_context_get_binding_report(context, (zb_slot)arguments[1].i32, &found));
    }
    if (status == ZB_OK) {
        const guest_report result = {found.path, 0, found.bytes_copied};
        zbw_put(call, (uint64_t)arguments[2].i64, &result, sizeof result);
    }
    return status;
}

static int32_t context_reset_state(zbw_call *call, const wasmtime_val_raw_t *arguments)
{
    zbw_object *object = zbw_find(call->guest, ZBW_CONTEXT, (uint32_t)arguments[0].i32);
    if (object == NULL) {
        return zbw_unknown(call->guest, ZBW_CONTEXT, (uint32_t)arguments[0].i32);
    }
    return zbw_told(call->guest, zb_context_reset_state(object->context));
}

/* --- a run --- */

/* Turns a loan of offsets into one of addresses, for this call. Alignment and overlap are judged by zerobind, on the
   addresses themselves: where the memory begins is not the guest's to know. */
static int32_t resolve(zbw_call *call, const guest_loan *given, zb_loan *loan, zb_tensor_desc *desc)
{
    int32_t status = zbw_check_inside(call, "a tensor", given->data, given->size);
    if (status == ZB_OK && given->desc != 0) {
        status = zbw_check_inside(call, "the desc of a loan", given->desc, sizeof *desc);
    }
    if (status != ZB_OK) {
        return status;
    }
    if (given->flags != 0) {
        return zbw_refuse(call->guest, ZB_ERROR_INVALID_ARGUMENT, "the flags of a loan are %u: give 0", (unsigned)given->flags);
    }
    if (given->desc != 0) {
        zbw_get(call, given->desc, desc, sizeof *desc);
    }
    loan->slot = given->slot;
    loan->flags = (given->slot & ZB_OUTPUT_BIT) != 0 ? ZB_LOAN_OUTPUT : ZB_LOAN_INPUT;
    loan->data = call->base + given->data;
    loan->size = (size_t)given->size;
    /* what the engine may read behind a tensor: up to the end of the guest's memory, and no byte more */
    loan->capacity = (size_t)(call->size - given->data);
    loan->desc = given->desc != 0 ? desc : NULL;
    return ZB_OK;
}

/* (context, loans, count) */
static int32_t infer(zbw_call *call, const wasmtime_val_raw_t *arguments)
{
    const zbw_options *options = &call->guest->options;
    zb_infer_options how = ZB_INFER_OPTIONS_INIT;
    uint64_t list = (uint64_t)arguments[1].i64;
    uint32_t count = (uint32_t)arguments[2].i32;
    zbw_object *object = zbw_find(call->guest, ZBW_CONTEXT, (uint32_t)arguments[0].i32);
    if (object == NULL) {
        return zbw_unknown(call->guest, ZBW_CONTEXT, (uint32_t)arguments[0].i32);
    }
    if (count > object->slots) {
        return zbw_refuse(call->guest, ZB_ERROR_INVALID_ARGUMENT, "%u loans for %u slots", (unsigned)count, (unsigned)object->slots);
    }
    int32_t status = zbw_check_inside(call, "the loans", list, count * sizeof(guest_loan));
    for (uint32_t i = 0; i < count && status == ZB_OK; i++) {
        guest_loan given;
        zbw_get(call, list + i * sizeof given, &given, sizeof given);
        status = resolve(call, &given, &object->loans[i], &object->descs[i]);
    }
    if (status != ZB_OK) {
        return status;
    }
    how.deadline_ns = options->run_ns;
    if (options->run != NULL) {
        return zbw_told(call->guest, options->run(options->run_data, object->context, object->loans, count, &how));
    }
    return zbw_told(call->guest, zb_infer_with(object->context, object->loans, count, &how));
}

/* (desc, size) */
static int32_t desc_size(zbw_call *call, const wasmtime_val_raw_t *arguments)
{
    zb_tensor_desc desc;
    size_t size = 0;
    int32_t status = zbw_check_inside(call, "a desc", (uint64_t)arguments[0].i64, sizeof desc);
    if (status == ZB_OK) {
        status = zbw_check_inside(call, "the place for a size", (uint64_t)arguments[1].i64, sizeof(uint64_t));
    }
    if (status == ZB_OK) {
        zbw_get(call, (uint64_t)arguments[0].i64, &desc, sizeof desc);
        status = zbw_told(call->guest, zb_tensor_desc_size(&desc, &size));
    }
    if (status == ZB_OK) {
        const uint64_t result = size;
        zbw_put(call, (uint64_t)arguments[1].i64, &result, sizeof result);
    }
    return status;
}

/* (buffer, capacity, needed): as zb_last_error; its own failures leave the text as it is */
static int32_t last_error(zbw_call *call, const wasmtime_val_raw_t *arguments)
{
    uint64_t buffer = (uint64_t)arguments[0].i64, capacity = (uint64_t)arguments[1].i64, needed = (uint64_t)arguments[2].i64;
    const char *text = call->guest->text;
    const uint64_t size = strlen(text) + 1;
    if (!zbw_is_inside(call, buffer, capacity) || (needed != 0 && !zbw_is_inside(call, needed, sizeof size))) {
        return ZBW_ERROR_OUT_OF_BOUNDS;
    }
    if (needed != 0) {
        zbw_put(call, needed, &size, sizeof size);
    }
    if (capacity >= size) {
        zbw_put(call, buffer, text, (size_t)size);
        return ZB_OK;
    }
    if (capacity > 0) {
        size_t fits = (size_t)capacity - 1;
        /* not in the middle of a character */
        while (fits > 0 && ((unsigned char)text[fits] & 0xC0) == 0x80) {
            fits--;
        }
        zbw_put(call, buffer, text, fits);
        zbw_put(call, buffer + fits, "", 1);
    }
    return ZB_ERROR_BUFFER_TOO_SMALL;
}

/* --- the functions, as the guest imports them --- */

/* `parameters`: i is 32 bits, o an offset or size of 64; each function gives an i32 */
static const struct {
    const char *name;
    const char *parameters;
    zbw_handler handler;
} functions[ZBW_FUNCTIONS] = {
    {"model_open", "ooo", model_open},
    {"model_destroy", "i", model_destroy},
    {"model_slot_counts", "ioo", model_slot_counts},
    {"context_create", "io", context_create},
    {"context_destroy", "i", context_destroy},
    {"context_resize_input", "iioi", context_resize_input},
    {"context_slot_desc", "iio", context_slot_desc},
    {"context_requirements", "iio", context_requirements},
    {"context_report", "iio", context_report},
    {"context_reset_state", "i", context_reset_state},
    {"infer", "ioi", infer},
    {"desc_size", "oo", desc_size},
    {"last_error", "ooo", last_error},
};

/* No function lets guest code run; a host that does so from a callback of its own gets this far, and no further. */
static int32_t enter_once(zbw_guest *guest)
{
    return guest->is_inside ? zbw_refuse(guest, ZB_ERROR_BUSY, "a call of this guest is in progress") : ZB_OK;
}

static wasm_trap_t *enter(void *environment, wasmtime_caller_t *caller, wasmtime_val_raw_t *values, size_t count)
{
    const zbw_binding *binding = environment;
    zbw_call call = {binding->guest, NULL, 0};
    (void)count;
    int32_t status = enter_once(binding->guest);
    if (status == ZB_OK) {
        binding->guest->is_inside = 1;
        status = zbw_find_memory(&call, caller);
        if (status == ZB_OK) {
            status = binding->handler(&call, values);
        }
        binding->guest->is_inside = 0;
    }
    values[0].i32 = status;
    return NULL;
}

static wasm_functype_t *type_of(const char *parameters)
{
    wasm_valtype_t *types[4], *result = wasm_valtype_new(WASM_I32);
    wasm_valtype_vec_t in, out;
    size_t count = strlen(parameters);
    for (size_t i = 0; i < count; i++) {
        types[i] = wasm_valtype_new(parameters[i] == 'i' ? WASM_I32 : WASM_I64);
    }
    wasm_valtype_vec_new(&in, count, types);
    wasm_valtype_vec_new(&out, 1, &result);
    return wasm_functype_new(&in, &out);
}

wasmtime_error_t *zbw_define(zbw_guest *guest, wasmtime_linker_t *linker)
{
    static const char module[] = "zerobind";
    wasmtime_error_t *error = NULL;
    for (size_t i = 0; i < ZBW_FUNCTIONS && error == NULL; i++) {
        wasm_functype_t *type = type_of(functions[i].parameters);
        guest->bindings[i].guest = guest;
        guest->bindings[i].handler = functions[i].handler;
        error = wasmtime_linker_define_func_unchecked(linker, module, sizeof module - 1, functions[i].name,
                                                      strlen(functions[i].name), type, enter, &guest->bindings[i], NULL);
        wasm_functype_delete(type);
    }
    return error;
}
