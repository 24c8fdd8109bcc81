#include "embed.h"

#include <stdio.h>
#include <string.h>

#define MOST_ARGUMENTS 8

/* Takes over a message of wasmtime's. Returns -1. */
static int fail(embed *embed, wasmtime_error_t *error, wasm_trap_t *trap)
{
    wasm_byte_vec_t text;
    if (error != NULL) {
        wasmtime_error_message(error, &text);
        wasmtime_error_delete(error);
    } else {
        wasm_trap_message(trap, &text);
        wasm_trap_delete(trap);
    }
    snprintf(embed->error, sizeof embed->error, "%.*s", (int)text.size, text.data);
    wasm_byte_vec_delete(&text);
    return -1;
}

wasm_config_t *embed_config(embed_growth growth)
{
    wasm_config_t *config = wasm_config_new();
    if (growth == EMBED_MOVES) {
        wasmtime_config_memory_may_move_set(config, true);
        wasmtime_config_memory_reservation_set(config, 0);
        wasmtime_config_memory_reservation_for_growth_set(config, 0);
    }
    return config;
}

static int compile(embed *embed, const void *code, size_t size)
{
    static const unsigned char magic[4] = {0, 'a', 's', 'm'};
    wasm_byte_vec_t bytes;
    wasmtime_error_t *error = NULL;
    if (size >= sizeof magic && memcmp(code, magic, sizeof magic) == 0) {
        wasm_byte_vec_new(&bytes, size, code);
    } else {
        error = wasmtime_wat2wasm(code, size, &bytes);
    }
    if (error == NULL) {
        error = wasmtime_module_new(embed->engine, (const unsigned char *)bytes.data, bytes.size, &embed->module);
        wasm_byte_vec_delete(&bytes);
    }
    return error == NULL ? 0 : fail(embed, error, NULL);
}

int embed_start(embed *embed, wasm_engine_t *engine, zbw_guest *guest)
{
    memset(embed, 0, sizeof *embed);
    embed->engine = engine;
    embed->store = wasmtime_store_new(engine, NULL, NULL);
    embed->context = wasmtime_store_context(embed->store);
    embed->linker = wasmtime_linker_new(engine);
    wasmtime_error_t *error = zbw_define(guest, embed->linker);
    return error == NULL ? 0 : fail(embed, error, NULL);
}

int embed_instantiate(embed *embed, const void *code, size_t size)
{
    wasm_trap_t *trap = NULL;
    if (compile(embed, code, size) != 0) {
        return -1;
    }
    wasmtime_error_t *error =
        wasmtime_linker_instantiate(embed->linker, embed->context, embed->module, &embed->instance, &trap);
    return error == NULL && trap == NULL ? 0 : fail(embed, error, trap);
}

int embed_open(embed *embed, wasm_engine_t *engine, zbw_guest *guest, const void *code, size_t size)
{
    return embed_start(embed, engine, guest) == 0 ? embed_instantiate(embed, code, size) : -1;
}

void embed_close(embed *embed)
{
    if (embed->module != NULL) {
        wasmtime_module_delete(embed->module);
    }
    wasmtime_linker_delete(embed->linker);
    wasmtime_store_delete(embed->store);
    memset(embed, 0, sizeof *embed);
}

/* `count` integers in, one i32 out. */
static int has_type(const embed *embed, const wasmtime_func_t *function, size_t count)
{
    wasm_functype_t *type = wasmtime_func_type(embed->context, function);
    const wasm_valtype_vec_t *in = wasm_functype_params(type), *out = wasm_functype_results(type);
    int fits = in->size == count && out->size == 1 && wasm_valtype_kind(out->data[0]) == WASM_I32;
    for (size_t i = 0; i < count && fits; i++) {
        wasm_valkind_t kind = wasm_valtype_kind(in->data[i]);
        fits = kind == WASM_I32 || kind == WASM_I64;
    }
    wasm_functype_delete(type);
    return fits;
}

int embed_find(embed *embed, const char *name, size_t count, embed_function *function)
{
    wasmtime_extern_t item;
    if (count > MOST_ARGUMENTS || !wasmtime_instance_export_get(embed->context, &embed->instance, name, strlen(name), &item)) {
        snprintf(embed->error, sizeof embed->error, "the guest exports no \"%s\"", name);
        return -1;
    }
    int found = item.kind == WASMTIME_EXTERN_FUNC && has_type(embed, &item.of.func, count);
    if (found) {
        function->function = item.of.func;
        function->count = count;
    } else {
        snprintf(embed->error, sizeof embed->error, "the guest's \"%s\" is no function from %zu integers to an i32", name, count);
    }
    wasmtime_extern_delete(&item);
    return found ? 0 : -1;
}

int embed_call(embed *embed, const embed_function *function, const int64_t *arguments, int32_t *result)
{
    /* an unchecked call is quicker, and safe since embed_find has checked the type; numbers are little-endian here */
    wasmtime_val_raw_t values[MOST_ARGUMENTS];
    wasm_trap_t *trap = NULL;
    for (size_t i = 0; i < function->count; i++) {
        values[i].i64 = arguments[i];
    }
    /* one place at least, for the result */
    wasmtime_error_t *error = wasmtime_func_call_unchecked(embed->context, &function->function, values,
                                                           function->count > 0 ? function->count : 1, &trap);
    if (error != NULL || trap != NULL) {
        return fail(embed, error, trap);
    }
    *result = values[0].i32;
    return 0;
}

unsigned char *embed_memory(embed *embed, size_t *size)
{
    static const char name[] = "memory";
    wasmtime_extern_t item;
    unsigned char *base = NULL;
    if (!wasmtime_instance_export_get(embed->context, &embed->instance, name, sizeof name - 1, &item)) {
        return NULL;
    }
    if (item.kind == WASMTIME_EXTERN_MEMORY) {
        base = wasmtime_memory_data(embed->context, &item.of.memory);
        *size = wasmtime_memory_data_size(embed->context, &item.of.memory);
    } else if (item.kind == WASMTIME_EXTERN_SHAREDMEMORY) {
        base = wasmtime_sharedmemory_data(item.of.sharedmemory);
        *size = wasmtime_sharedmemory_data_size(item.of.sharedmemory);
    }
    wasmtime_extern_delete(&item);
    return base;
}
