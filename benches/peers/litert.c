#include "peer.h"

/* The structs of its headers that are part of its ABI. */
typedef struct litert_layout {
    unsigned rank : 7;
    unsigned has_strides : 1;
    int32_t dimensions[8];
    uint32_t strides[8];
} litert_layout;

typedef struct litert_type {
    int element_type; /* the numbers of TFLite: 1 is f32 */
    litert_layout layout;
} litert_type;

enum { F32 = 1, ON_CPU = 1 };

typedef struct litert {
    void *environment, *model, *options, *compiled;
    void *buffers[MOST_SLOTS];
    size_t inputs, outputs;
    unsigned char *bytes;
    int (*run)(void *compiled, size_t signature, size_t inputs, void **input, size_t outputs, void **output);
    void (*destroy_environment)(void *), (*destroy_model)(void *), (*destroy_options)(void *), (*destroy_compiled)(void *),
        (*destroy_buffer)(void *);
} litert;

static void check(int status, const char *what)
{
    REQUIRE(status == 0, "LiteRT: %s gave %d", what, status);
}

/* It is given the bytes: its own reader of files ends the process for a damaged one. */
static size_t read_model(litert *made, const char *path)
{
    FILE *file = fopen(path, "rb");
    REQUIRE(file != NULL && fseek(file, 0, SEEK_END) == 0, "cannot read %s", path);
    size_t size = (size_t)ftell(file);
    rewind(file);
    made->bytes = bench_memory(size);
    REQUIRE(fread(made->bytes, 1, size, file) == size, "cannot read %s", path);
    fclose(file);
    return size;
}

static void wrap(void *library, litert *made, const model_memory *memory)
{
    int (*create)(const litert_type *type, void *data, size_t size, void (*release)(void *), void **buffer);
    peer_find(library, "LiteRtCreateTensorBufferFromHostMemory", &create);
    for (size_t slot = 0; slot < model_slot_count(memory->spec); slot++) {
        const zb_tensor_desc *desc = &memory->spec->slots[slot];
        litert_type type = {F32, {desc->rank & 127u, 0, {0}, {0}}};
        for (uint32_t i = 0; i < desc->rank; i++) {
            type.layout.dimensions[i] = (int32_t)desc->dims[i];
        }
        check(create(&type, memory->data[0][slot], memory->sizes[slot], NULL, &made->buffers[slot]), "wrap");
    }
}

/* The text of an option lives as long as the program. */
static void keep(void *payload)
{
    (void)payload;
}

static void *litert_open(void *library, const char *path, model_memory *memory)
{
    int (*create_environment)(int count, const void *options, void **environment);
    int (*create_model)(void *environment, const void *bytes, size_t size, void **model);
    int (*create_options)(void **options);
    int (*set_accelerators)(void *options, int accelerators);
    int (*create_opaque)(const char *id, void *payload, void (*destroy)(void *), void **options);
    int (*add_opaque)(void *options, void *added);
    int (*create_compiled)(void *environment, void *model, void *options, void **compiled);
    litert *made = calloc(1, sizeof *made);
    REQUIRE(made != NULL, "out of memory");
    peer_find(library, "LiteRtCreateEnvironment", &create_environment);
    peer_find(library, "LiteRtCreateModelFromBuffer", &create_model);
    peer_find(library, "LiteRtCreateOptions", &create_options);
    peer_find(library, "LiteRtSetOptionsHardwareAccelerators", &set_accelerators);
    peer_find(library, "LiteRtCreateOpaqueOptions", &create_opaque);
    peer_find(library, "LiteRtAddOpaqueOptions", &add_opaque);
    peer_find(library, "LiteRtCreateCompiledModel", &create_compiled);
    peer_find(library, "LiteRtRunCompiledModel", &made->run);
    peer_find(library, "LiteRtDestroyEnvironment", &made->destroy_environment);
    peer_find(library, "LiteRtDestroyModel", &made->destroy_model);
    peer_find(library, "LiteRtDestroyOptions", &made->destroy_options);
    peer_find(library, "LiteRtDestroyCompiledModel", &made->destroy_compiled);
    peer_find(library, "LiteRtDestroyTensorBuffer", &made->destroy_buffer);
    made->inputs = memory->spec->inputs;
    made->outputs = memory->spec->outputs;
    size_t size = read_model(made, path);
    static char one_thread[] = "num_threads = 1";
    void *threads;
    check(create_environment(0, NULL, &made->environment), "environment");
    check(create_model(made->environment, made->bytes, size, &made->model), "model");
    check(create_options(&made->options), "options");
    check(set_accelerators(made->options, ON_CPU), "accelerators");
    check(create_opaque("xnnpack", one_thread, keep, &threads), "threads");
    check(add_opaque(made->options, threads), "threads");
    check(create_compiled(made->environment, made->model, made->options, &made->compiled), "compile");
    wrap(library, made, memory);
    return made;
}

static void litert_run(void *opened, size_t count)
{
    litert *made = opened;
    for (size_t i = 0; i < count; i++) {
        check(made->run(made->compiled, 0, made->inputs, made->buffers, made->outputs, made->buffers + made->inputs), "run");
    }
}

static void litert_close(void *opened)
{
    litert *made = opened;
    for (size_t slot = 0; slot < made->inputs + made->outputs; slot++) {
        made->destroy_buffer(made->buffers[slot]);
    }
    made->destroy_compiled(made->compiled);
    made->destroy_options(made->options);
    made->destroy_model(made->model);
    made->destroy_environment(made->environment);
    free(made->bytes);
    free(made);
}

const peer peer_litert = {"litert",     ".tflite",     "ai_edge_litert/ai_edge_litert/libLiteRt.so",
                          litert_open,  litert_run,    litert_close,
                          "works on the host's memory"};
