#include "peer.h"

enum { F32 = 0x34 };

typedef struct tract {
    void *runnable, *state;
    model_memory *memory;
    int (*from_bytes)(int type, size_t rank, const size_t *shape, void *data, void **tensor);
    int (*as_bytes)(void *tensor, int *type, size_t *rank, const size_t **shape, const void **data);
    int (*state_run)(void *state, void **inputs, void **outputs);
    int (*destroy_tensor)(void **tensor), (*destroy_state)(void **state), (*release_runnable)(void **runnable);
    const char *(*last_error)(void);
} tract;

static void check(const tract *made, int status, const char *what)
{
    REQUIRE(status == 0, "tract: %s: %s", what, made->last_error());
}

static void *tract_open(void *library, const char *path, model_memory *memory)
{
    int (*create_parser)(void **parser), (*destroy_parser)(void **parser);
    int (*load)(const void *parser, const char *path, void **model);
    int (*into_model)(void **model, void **typed), (*into_runnable)(void **typed, void **runnable);
    int (*spawn)(void *runnable, void **state);
    void *parser, *model, *typed;
    tract *made = calloc(1, sizeof *made);
    REQUIRE(made != NULL, "out of memory");
    peer_find(library, "tract_onnx_create", &create_parser);
    peer_find(library, "tract_onnx_destroy", &destroy_parser);
    peer_find(library, "tract_onnx_load", &load);
    peer_find(library, "tract_inference_model_into_model", &into_model);
    peer_find(library, "tract_model_into_runnable", &into_runnable);
    peer_find(library, "tract_runnable_spawn_state", &spawn);
    peer_find(library, "tract_tensor_from_bytes", &made->from_bytes);
    peer_find(library, "tract_tensor_as_bytes", &made->as_bytes);
    peer_find(library, "tract_state_run", &made->state_run);
    peer_find(library, "tract_tensor_destroy", &made->destroy_tensor);
    peer_find(library, "tract_state_destroy", &made->destroy_state);
    peer_find(library, "tract_runnable_release", &made->release_runnable);
    peer_find(library, "tract_get_last_error", &made->last_error);
    made->memory = memory;
    check(made, create_parser(&parser), "parser");
    check(made, load(parser, path, &model), path);
    check(made, into_model(&model, &typed), "analyse");
    check(made, into_runnable(&typed, &made->runnable), "runnable");
    check(made, spawn(made->runnable, &made->state), "state");
    check(made, destroy_parser(&parser), "parser");
    return made;
}

/* Its C API copies inputs in, and makes new tensors for outputs, which the host has to copy. */
static void run_once(tract *made)
{
    const model_spec *spec = made->memory->spec;
    void *tensors[MOST_SLOTS] = {NULL};
    for (size_t slot = 0; slot < spec->inputs; slot++) {
        size_t shape[ZB_MAX_RANK];
        for (uint32_t i = 0; i < spec->slots[slot].rank; i++) {
            shape[i] = (size_t)spec->slots[slot].dims[i];
        }
        check(made, made->from_bytes(F32, spec->slots[slot].rank, shape, made->memory->data[0][slot], &tensors[slot]), "input");
    }
    check(made, made->state_run(made->state, tensors, tensors + spec->inputs), "run");
    for (size_t slot = 0; slot < model_slot_count(spec); slot++) {
        if (slot >= spec->inputs) {
            const void *data;
            check(made, made->as_bytes(tensors[slot], NULL, NULL, NULL, &data), "output");
            memcpy(made->memory->data[0][slot], data, made->memory->sizes[slot]);
        }
        check(made, made->destroy_tensor(&tensors[slot]), "destroy");
    }
}

static void tract_run(void *opened, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        run_once(opened);
    }
}

static void tract_close(void *opened)
{
    tract *made = opened;
    check(made, made->destroy_state(&made->state), "state");
    check(made, made->release_runnable(&made->runnable), "runnable");
    free(made);
}

const peer peer_tract = {"tract",    ".onnx",   "tract/tract/tract*.so", tract_open, tract_run, tract_close,
                         "copies inputs in and outputs out"};
