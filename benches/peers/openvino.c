#include "peer.h"

typedef struct ov_shape {
    int64_t rank;
    int64_t *dims;
} ov_shape;

enum { F32 = 4 };

typedef struct openvino {
    void *core, *compiled, *request;
    void *tensors[MOST_SLOTS];
    size_t slots;
    int (*infer)(void *request);
    void (*free_core)(void *), (*free_compiled)(void *), (*free_request)(void *), (*free_tensor)(void *);
} openvino;

static void check(int status, const char *what)
{
    REQUIRE(status == 0, "OpenVINO: %s gave %d", what, status);
}

static void bind(void *library, openvino *made, const model_memory *memory)
{
    int (*create)(int type, ov_shape shape, void *data, void **tensor);
    int (*set[2])(void *request, size_t index, const void *tensor);
    peer_find(library, "ov_tensor_create_from_host_ptr", &create);
    peer_find(library, "ov_infer_request_set_input_tensor_by_index", &set[0]);
    peer_find(library, "ov_infer_request_set_output_tensor_by_index", &set[1]);
    const size_t inputs = memory->spec->inputs;
    for (size_t slot = 0; slot < made->slots; slot++) {
        int64_t dims[ZB_MAX_RANK];
        const zb_tensor_desc *desc = &memory->spec->slots[slot];
        const ov_shape shape = {(int64_t)desc->rank, dims};
        memcpy(dims, desc->dims, sizeof dims);
        check(create(F32, shape, memory->data[0][slot], &made->tensors[slot]), "tensor");
        int is_output = slot >= inputs;
        check(set[is_output](made->request, is_output ? slot - inputs : slot, made->tensors[slot]), "bind");
    }
}

static void *openvino_open(void *library, const char *path, model_memory *memory)
{
    int (*create_core)(void **core);
    int (*compile)(const void *core, const char *path, const char *device, size_t arguments, void **compiled, ...);
    int (*create_request)(const void *compiled, void **request);
    openvino *made = calloc(1, sizeof *made);
    REQUIRE(made != NULL, "out of memory");
    peer_find(library, "ov_core_create", &create_core);
    peer_find(library, "ov_core_compile_model_from_file", &compile);
    peer_find(library, "ov_compiled_model_create_infer_request", &create_request);
    peer_find(library, "ov_infer_request_infer", &made->infer);
    peer_find(library, "ov_core_free", &made->free_core);
    peer_find(library, "ov_compiled_model_free", &made->free_compiled);
    peer_find(library, "ov_infer_request_free", &made->free_request);
    peer_find(library, "ov_tensor_free", &made->free_tensor);
    made->slots = model_slot_count(memory->spec);
    check(create_core(&made->core), "core");
    /* in full precision, as the others compute; some processors have less to offer, and quicker */
    check(compile(made->core, path, "CPU", 6, &made->compiled, "INFERENCE_NUM_THREADS", "1", "PERFORMANCE_HINT", "LATENCY",
                  "INFERENCE_PRECISION_HINT", "f32"),
          "compile");
    check(create_request(made->compiled, &made->request), "request");
    bind(library, made, memory);
    return made;
}

static void openvino_run(void *opened, size_t count)
{
    openvino *made = opened;
    for (size_t i = 0; i < count; i++) {
        check(made->infer(made->request), "infer");
    }
}

static void openvino_close(void *opened)
{
    openvino *made = opened;
    for (size_t slot = 0; slot < made->slots; slot++) {
        made->free_tensor(made->tensors[slot]);
    }
    made->free_request(made->request);
    made->free_compiled(made->compiled);
    made->free_core(made->core);
    free(made);
}

const peer peer_openvino = {"openvino",    ".onnx",      "openvino/openvino/libs/libopenvino_c.so*",
                            openvino_open, openvino_run, openvino_close,
                            "works on the host's memory"};
