/*
 * The guest of zerobind_wasm.h: its errors, its memory, its objects.
 */
#include "zerobind_wasm_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- errors --- */

/* Keeps a text for last_error and gives the status on. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
int32_t zbw_refuse(zbw_guest *guest, int32_t status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(guest->text, sizeof guest->text, format, arguments);
    va_end(arguments);
    return status;
}

static int is_hex_digit(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Where the host's memory lies is not the guest's to know: 0x7f12 becomes 0x?. */
static void hide_addresses(char *text)
{
    char *to = text;
    while (*text != '\0') {
        int is_address = text[0] == '0' && text[1] == 'x' && is_hex_digit(text[2]);
        *to++ = *text++;
        if (is_address) {
            *to++ = *text++;
            while (is_hex_digit(*text)) {
                text++;
            }
            /* after the digits were passed, since it takes the place of the first */
            *to++ = '?';
        }
    }
    *to = '\0';
}

/* Passes a status of zerobind on, with its text. */
int32_t zbw_told(zbw_guest *guest, zb_status status)
{
    if (status == ZB_ERROR_RUNTIME_UNAVAILABLE) {
        /* the text lists the host's folders */
        return zbw_refuse(guest, status, "the host has no engine for this model");
    }
    if (status != ZB_OK) {
        zb_last_error(guest->text, sizeof guest->text, NULL);
        hide_addresses(guest->text);
    }
    return status;
}

/* --- the guest's memory --- */

/* Puts the caller's memory into `call`. Asked for in every call, since any growth may have moved it. */
int32_t zbw_find_memory(zbw_call *call, wasmtime_caller_t *caller)
{
    static const char name[] = "memory";
    wasmtime_extern_t item;
    if (!wasmtime_caller_export_get(caller, name, sizeof name - 1, &item)) {
        return zbw_refuse(call->guest, ZBW_ERROR_NO_MEMORY, "the guest exports nothing named \"memory\"");
    }
    int is_shared = item.kind == WASMTIME_EXTERN_SHAREDMEMORY, is_memory = item.kind == WASMTIME_EXTERN_MEMORY;
    if (is_memory) {
        wasmtime_context_t *context = wasmtime_caller_context(caller);
        call->base = wasmtime_memory_data(context, &item.of.memory);
        call->size = wasmtime_memory_data_size(context, &item.of.memory);
    } else if (is_shared) {
        call->base = wasmtime_sharedmemory_data(item.of.sharedmemory);
        call->size = wasmtime_sharedmemory_data_size(item.of.sharedmemory);
    }
    /* the instance keeps its memory */
    wasmtime_extern_delete(&item);
    if (is_shared && (call->guest->options.flags & ZBW_TRUST_SHARED_MEMORY) == 0) {
        return zbw_refuse(call->guest, ZBW_ERROR_NO_MEMORY,
                      "the guest's memory is shared: its other threads could change a tensor while an engine reads it, so "
                      "the host does not lend it; export a memory that is not shared");
    }
    if (!is_memory && !is_shared) {
        return zbw_refuse(call->guest, ZBW_ERROR_NO_MEMORY, "what the guest exports as \"memory\" is no memory");
    }
    return ZB_OK;
}

int zbw_is_inside(const zbw_call *call, uint64_t offset, uint64_t size)
{
    /* in this form nothing overflows */
    return offset <= call->size && size <= call->size - offset;
}

int32_t zbw_check_inside(zbw_call *call, const char *what, uint64_t offset, uint64_t size)
{
    if (zbw_is_inside(call, offset, size)) {
        return ZB_OK;
    }
    return zbw_refuse(call->guest, ZBW_ERROR_OUT_OF_BOUNDS,
                  "%s: %llu bytes at offset %llu are not inside the guest's memory of %llu bytes", what,
                  (unsigned long long)size, (unsigned long long)offset, (unsigned long long)call->size);
}

/* Both are for ranges that were found to be inside; offsets need no alignment. */
void zbw_get(const zbw_call *call, uint64_t offset, void *to, size_t size)
{
    if (size > 0) {
        memcpy(to, call->base + offset, size);
    }
}

void zbw_put(const zbw_call *call, uint64_t offset, const void *from, size_t size)
{
    if (size > 0) {
        memcpy(call->base + offset, from, size);
    }
}

/* --- handles: 1 bit of kind, 15 of serial number, 16 of place + 1 --- */

uint32_t zbw_handle_of(zbw_kind kind, const zbw_table *table, const zbw_object *object)
{
    uint32_t place = (uint32_t)(object - table->objects);
    return (uint32_t)kind << 31 | (object->serial & 0x7FFF) << 16 | (place + 1);
}

static int is_free(const zbw_object *object)
{
    return object->model == NULL && object->context == NULL;
}

zbw_object *zbw_find(const zbw_guest *guest, zbw_kind kind, uint32_t handle)
{
    const zbw_table *table = &guest->tables[kind];
    uint32_t place = (handle & 0xFFFF) - 1;
    if (place >= table->touched) {
        return NULL;
    }
    zbw_object *object = &table->objects[place];
    return is_free(object) || zbw_handle_of(kind, table, object) != handle ? NULL : object;
}

int32_t zbw_unknown(zbw_guest *guest, zbw_kind kind, uint32_t handle)
{
    return zbw_refuse(guest, ZB_ERROR_INVALID_HANDLE, "%u is no %s of this guest", (unsigned)handle,
                  kind == ZBW_MODEL ? "model" : "context");
}

/* A free place, or NULL when the guest has all that it may have. */
zbw_object *zbw_take_place(zbw_guest *guest, zbw_kind kind)
{
    zbw_table *table = &guest->tables[kind];
    for (uint32_t i = 0; i < table->touched; i++) {
        if (is_free(&table->objects[i])) {
            return &table->objects[i];
        }
    }
    return table->touched < table->capacity ? &table->objects[table->touched++] : NULL;
}

void zbw_clear_place(zbw_object *object)
{
    uint32_t serial = object->serial + 1;
    zb_model_destroy(object->model);
    zb_context_destroy(object->context);
    free(object->loans);
    free(object->descs);
    memset(object, 0, sizeof *object);
    object->serial = serial;
}

/* --- what models take --- */

static void drop_usage(zbw_usage *usage)
{
    if (atomic_fetch_sub(&usage->holders, 1) == 1) {
        free(usage);
    }
}

void zbw_charge_model(zbw_usage *usage, uint64_t size)
{
    atomic_fetch_add(&usage->holders, 1);
    atomic_fetch_add(&usage->models, 1);
    atomic_fetch_add(&usage->bytes, size);
}

/* The last context of a model is gone: only now its bytes count no more. */
void zbw_release_model(void *user_data, void *data, size_t size)
{
    zbw_usage *usage = user_data;
    free(data);
    atomic_fetch_sub(&usage->bytes, size);
    atomic_fetch_sub(&usage->models, 1);
    drop_usage(usage);
}

/* --- guests --- */

zbw_guest *zbw_guest_new(const zbw_options *options)
{
    static const zbw_options defaults = ZBW_OPTIONS_INIT;
    zbw_guest *guest = calloc(1, sizeof *guest);
    if (guest == NULL) {
        return NULL;
    }
    guest->options = options != NULL ? *options : defaults;
    guest->tables[ZBW_MODEL].capacity = guest->options.models;
    guest->tables[ZBW_CONTEXT].capacity = guest->options.contexts;
    int has_all = 1;
    for (int kind = 0; kind < ZBW_KINDS; kind++) {
        zbw_table *table = &guest->tables[kind];
        /* what 16 bits of a handle count */
        has_all = has_all && table->capacity <= 0xFFFF;
        table->objects = has_all ? calloc((size_t)table->capacity + 1, sizeof *table->objects) : NULL;
        has_all = has_all && table->objects != NULL;
    }
    guest->usage = calloc(1, sizeof *guest->usage);
    if (guest->usage != NULL) {
        atomic_store(&guest->usage->holders, 1);
    }
    if (!has_all || guest->usage == NULL) {
        zbw_guest_delete(guest);
        return NULL;
    }
    return guest;
}

void zbw_guest_delete(zbw_guest *guest)
{
    if (guest == NULL) {
        return;
    }
    for (int kind = 0; kind < ZBW_KINDS; kind++) {
        zbw_table *table = &guest->tables[kind];
        for (uint32_t i = 0; i < table->touched; i++) {
            zbw_clear_place(&table->objects[i]);
        }
        free(table->objects);
    }
    if (guest->usage != NULL) {
        drop_usage(guest->usage);
    }
    free(guest);
}

zb_context *zbw_guest_context(const zbw_guest *guest, uint32_t handle)
{
    zbw_object *object = zbw_find(guest, ZBW_CONTEXT, handle);
    return object != NULL ? object->context : NULL;
}
