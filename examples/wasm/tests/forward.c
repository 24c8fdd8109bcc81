#include "forward.h"

#include <unistd.h>

#define TEXT 1024u
#define LOANS 512u
#define RESULT 128u

static const struct {
    const char *name;
    const char *parameters;
} functions[] = {
    {"model_open", "i64 i64 i64"},
    {"model_destroy", "i32"},
    {"model_slot_counts", "i32 i64 i64"},
    {"context_create", "i32 i64"},
    {"context_destroy", "i32"},
    {"context_resize_input", "i32 i32 i64 i32"},
    {"context_slot_desc", "i32 i32 i64"},
    {"context_requirements", "i32 i32 i64"},
    {"context_report", "i32 i32 i64"},
    {"context_reset_state", "i32"},
    {"infer", "i32 i64 i32"},
    {"desc_size", "i64 i64"},
    {"last_error", "i64 i64 i64"},
};

#define COUNT (sizeof functions / sizeof *functions)

static size_t number_of_parameters(const char *parameters)
{
    size_t count = 1;
    for (; *parameters != '\0'; parameters++) {
        count += *parameters == ' ';
    }
    return count;
}

/* The guest's text. */
static char *write_guest(const char *memory, size_t *size)
{
    char *text = NULL;
    FILE *to = open_memstream(&text, size);
    REQUIRE(to != NULL);
    fputs("(module\n", to);
    for (size_t i = 0; i < COUNT; i++) {
        fprintf(to, "(import \"zerobind\" \"%s\" (func $%s (param %s) (result i32)))\n", functions[i].name, functions[i].name,
                functions[i].parameters);
    }
    fprintf(to, "%s\n", memory);
    for (size_t i = 0; i < COUNT; i++) {
        fprintf(to, "(func (export \"%s\") (param %s) (result i32) (call $%s", functions[i].name, functions[i].parameters,
                functions[i].name);
        for (size_t j = 0; j < number_of_parameters(functions[i].parameters); j++) {
            fprintf(to, " (local.get %zu)", j);
        }
        fputs("))\n", to);
    }
    fputs(strstr(memory, " i64 ") != NULL
              ? "(func (export \"grow\") (param i64) (result i32) (i32.wrap_i64 (memory.grow (local.get 0))))"
              : "(func (export \"grow\") (param i64) (result i32) (memory.grow (i32.wrap_i64 (local.get 0))))",
          to);
    fputs(")\n", to);
    fclose(to);
    return text;
}

wasm_engine_t *forward_engine(wasm_config_t *config)
{
    wasmtime_config_wasm_memory64_set(config, true);
    wasmtime_config_wasm_threads_set(config, true);
    wasmtime_config_shared_memory_set(config, true);
    wasmtime_config_wasm_custom_page_sizes_set(config, true);
    wasm_engine_t *engine = wasm_engine_new_with_config(config);
    REQUIRE(engine != NULL);
    return engine;
}

wasm_engine_t *forward_moving_engine(moving_memory *memory)
{
    wasm_config_t *config = embed_config(EMBED_MOVES);
    moving_memory_use(memory, config);
    /* the guard is part of every place that is left behind */
    wasmtime_config_memory_guard_size_set(config, 65536);
    return forward_engine(config);
}

unsigned long forward_rounds(unsigned long in_ci)
{
    const char *value = getenv("ZB_WASM_ROUNDS");
    return value != NULL ? strtoul(value, NULL, 10) : in_ci;
}

static void require_done(const forward *forward, int result)
{
    if (result != 0) {
        fprintf(stderr, "    wasmtime: %s\n", forward->embed.error);
    }
    REQUIRE(result == 0);
}

void forward_open(forward *forward, wasm_engine_t *engine, const zbw_options *options, const char *memory)
{
    size_t size;
    char *text = write_guest(memory, &size);
    forward->guest = zbw_guest_new(options);
    REQUIRE(forward->guest != NULL);
    require_done(forward, embed_open(&forward->embed, engine, forward->guest, text, size));
    forward->page = strstr(memory, "(pagesize 1)") != NULL ? 1 : 65536;
    free(text);
}

void forward_close(forward *forward)
{
    embed_close(&forward->embed);
    zbw_guest_delete(forward->guest);
}

int32_t forward_call(forward *forward, const char *name, size_t count, const int64_t *arguments)
{
    embed_function function;
    int32_t result;
    require_done(forward, embed_find(&forward->embed, name, count, &function));
    require_done(forward, embed_call(&forward->embed, &function, arguments, &result));
    return result;
}

void *forward_at(forward *forward, uint64_t offset)
{
    size_t size;
    unsigned char *base = embed_memory(&forward->embed, &size);
    REQUIRE(base != NULL && offset <= size);
    return base + offset;
}

size_t forward_size(forward *forward)
{
    size_t size;
    REQUIRE(embed_memory(&forward->embed, &size) != NULL);
    return size;
}

void forward_grow(forward *forward, int64_t pages)
{
    REQUIRE(CALL(forward, "grow", pages) != -1);
}

uint32_t forward_u32(forward *forward, uint64_t offset)
{
    uint32_t value;
    memcpy(&value, forward_at(forward, offset), sizeof value);
    return value;
}

/* The current folder, from which an engine looks for files of models without a path, and where models and engines are. */
static int hides_folders(const char *text)
{
    char current[4096];
    REQUIRE(getcwd(current, sizeof current) != NULL);
    const char *const folders[] = {current, getenv("ZB_TEST_MODELS"), getenv("ZEROBIND_TFLITE_LIB"),
                                   getenv("ZEROBIND_ONNXRUNTIME_LIB")};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        if (folders[i] != NULL && strlen(folders[i]) > 1 && strstr(text, folders[i]) != NULL) {
            return 0;
        }
    }
    return 1;
}

void forward_check_text(forward *forward, const char *part, const char *file, int line)
{
    const char *text = forward_at(forward, TEXT);
    CALL(forward, "last_error", TEXT, FORWARD_FREE - TEXT, 0);
    int says_it = strstr(text, part) != NULL, hides_addresses = 1, hides_paths = hides_folders(text);
    for (const char *at = strstr(text, "0x"); at != NULL; at = strstr(at + 2, "0x")) {
        hides_addresses = hides_addresses && at[2] == '?';
    }
    if (!says_it || !hides_addresses || !hides_paths) {
        fprintf(stderr, "    the guest's text: %s\n", text);
    }
    zt_check(says_it, file, line, "the guest's text says what it should");
    zt_check(hides_addresses, file, line, "the guest's text has no address of the host");
    zt_check(hides_paths, file, line, "the guest's text has no folder of the host");
}

uint64_t forward_load(forward *forward, const char *path, size_t *size)
{
    void *bytes = zt_read(path, size);
    uint64_t offset = forward_size(forward);
    forward_grow(forward, (int64_t)(*size / forward->page + 1));
    memcpy(forward_at(forward, offset), bytes, *size);
    free(bytes);
    return offset;
}

uint32_t forward_context(forward *forward, const char *path)
{
    size_t size;
    uint64_t bytes = forward_load(forward, path, &size);
    REQUIRE_OK(CALL(forward, "model_open", (int64_t)bytes, (int64_t)size, RESULT));
    uint32_t model = forward_u32(forward, RESULT);
    REQUIRE_OK(CALL(forward, "context_create", model, RESULT));
    REQUIRE_OK(CALL(forward, "model_destroy", model));
    return forward_u32(forward, RESULT);
}

int32_t forward_infer(forward *forward, uint32_t context, const forward_loan *loans, uint32_t count)
{
    REQUIRE(LOANS + count * sizeof *loans <= TEXT);
    memcpy(forward_at(forward, LOANS), loans, count * sizeof *loans);
    return CALL(forward, "infer", context, LOANS, count);
}
