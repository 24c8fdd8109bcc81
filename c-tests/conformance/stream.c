#include "stream.h"

#include "raw_tflite.h"

#include <stdarg.h>

enum { MOST_SLOTS = 16 };

typedef struct stream {
    const real_model *model;
    int xnnpack, may_copy;
    raw_tflite *raw;
    zb_model *opened;
    zb_context *context;
    uint32_t inputs, outputs;
    uint64_t noise;
    stream_result *result;
} stream;

/* The memory of one run. It stays until the last, so that no address comes again and a late write is seen. */
typedef struct run_memory {
    zt_buffer inputs[MOST_SLOTS], outputs[MOST_SLOTS];
    /* what the inputs held */
    unsigned char *given[MOST_SLOTS];
    unsigned number;
} run_memory;

/* --- the bare engine --- */

static raw_tflite *open_raw(const real_model *model, int xnnpack)
{
    raw_tflite *raw = raw_tflite_open(model->path, xnnpack);
    for (size_t i = 0; i < model->resize_count; i++) {
        const model_resize *resize = &model->resizes[i];
        raw_tflite_resize(raw, resize->input, resize->dims, resize->rank);
    }
    raw_tflite_allocate(raw);
    return raw;
}

void run_bare(const real_model *model, int xnnpack)
{
    raw_tflite *raw = open_raw(model, xnnpack);
    for (int i = 0; i < raw_tflite_input_count(raw); i++) {
        size_t size = raw_tflite_input_size(raw, i);
        unsigned char *zeros = calloc(1, size + 1);
        REQUIRE(zeros != NULL);
        raw_tflite_write(raw, i, zeros, size);
        free(zeros);
    }
    raw_tflite_invoke(raw);
    raw_tflite_close(raw);
}

/* --- noise --- */

static uint32_t next_noise(stream *stream)
{
    stream->noise = stream->noise * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(stream->noise >> 32);
}

/* Floats from -1 to 1; any bytes for other types. */
static void fill_noise(stream *stream, int32_t dtype, unsigned char *bytes, size_t size)
{
    if (dtype == ZB_DTYPE_F32) {
        for (size_t i = 0; i < size / sizeof(float); i++) {
            float value = (float)(int32_t)next_noise(stream) / 2147483648.0f;
            memcpy(bytes + i * sizeof value, &value, sizeof value);
        }
    } else {
        for (size_t i = 0; i < size; i++) {
            bytes[i] = (unsigned char)(next_noise(stream) >> 8);
        }
    }
}

/* --- zerobind --- */

/* Keeps the text of a call that failed. */
static zb_status told(stream *stream, const char *call, zb_status status)
{
    if (status != ZB_OK) {
        char text[384] = "";
        (void)zb_last_error(text, sizeof text, NULL);
        snprintf(stream->result->why, sizeof stream->result->why, "%s: %s: %s", call, zb_status_name(status), text);
    }
    return status;
}

static zb_status open_context(stream *stream)
{
    const zb_option xnnpack = {"tflite.xnnpack", stream->xnnpack ? "true" : "false"};
    zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
    options.threads = 1;
    options.copy_policy = stream->may_copy ? ZB_COPY_ALLOW : ZB_COPY_NEVER;
    options.options = &xnnpack;
    options.option_count = 1;
    zb_status status = told(stream, "zb_context_create", zb_context_create(stream->opened, &options, &stream->context));
    for (size_t i = 0; i < stream->model->resize_count && status == ZB_OK; i++) {
        const model_resize *resize = &stream->model->resizes[i];
        int64_t dims[ZB_MAX_RANK];
        for (int j = 0; j < resize->rank; j++) {
            dims[j] = resize->dims[j];
        }
        status = told(stream, "zb_context_resize_input",
                      zb_context_resize_input(stream->context, ZB_INPUT(resize->input), dims, (uint32_t)resize->rank));
    }
    return status == ZB_OK ? told(stream, "zb_context_prepare", zb_context_prepare(stream->context)) : status;
}

static zb_status open_stream(stream *stream)
{
    zb_status status = told(stream, "zb_model_open", zb_model_open(stream->model->path, NULL, &stream->opened));
    if (status == ZB_OK) {
        status = told(stream, "zb_model_get_slot_counts",
                      zb_model_get_slot_counts(stream->opened, &stream->inputs, &stream->outputs));
    }
    return status == ZB_OK ? open_context(stream) : status;
}

static void close_stream(stream *stream)
{
    (void)zb_context_destroy(stream->context);
    (void)zb_model_destroy(stream->opened);
    stream->context = NULL;
    stream->opened = NULL;
    if (!zt_soon_nothing_is_alive()) {
        stream->result->mismatches++;
        snprintf(stream->result->why, sizeof stream->result->why, "objects are alive after all were destroyed");
    }
}

/* --- runs --- */

static int32_t dtype_of(stream *stream, zb_slot slot)
{
    zb_tensor_desc desc = {0, 0, {0}};
    REQUIRE_OK(zb_context_get_slot_desc(stream->context, slot, &desc, NULL));
    return desc.dtype;
}

/* New noise for the bare engine, which runs first: then the sizes of all outputs are known. */
static void make_run(stream *stream, run_memory *memory)
{
    for (uint32_t i = 0; i < stream->inputs; i++) {
        size_t size = raw_tflite_input_size(stream->raw, (int)i);
        memory->inputs[i] = zt_buffer_new(size);
        memory->given[i] = malloc(size + 1);
        REQUIRE(memory->given[i] != NULL);
        fill_noise(stream, dtype_of(stream, ZB_INPUT(i)), memory->given[i], size);
        memcpy(memory->inputs[i].data, memory->given[i], size);
        raw_tflite_write(stream->raw, (int)i, memory->given[i], size);
    }
    raw_tflite_invoke(stream->raw);
    for (uint32_t i = 0; i < stream->outputs; i++) {
        size_t size;
        (void)raw_tflite_output(stream->raw, (int)i, &size);
        memory->outputs[i] = zt_buffer_new(size);
    }
}

static zb_status lend_and_run(stream *stream, run_memory *memory)
{
    zb_loan loans[2 * MOST_SLOTS];
    size_t count = 0;
    for (uint32_t i = 0; i < stream->inputs; i++) {
        loans[count++] = zt_lend_input(i, &memory->inputs[i]);
    }
    for (uint32_t i = 0; i < stream->outputs; i++) {
        loans[count++] = zt_lend_output(i, &memory->outputs[i]);
    }
    return told(stream, "zb_infer_with", zb_infer_with(stream->context, loans, count, NULL));
}

/* The first run; where it is COPY_REQUIRED, nothing has run yet, and a context that may copy takes over. */
static zb_status run_first(stream *stream, run_memory *memory)
{
    zb_status status = lend_and_run(stream, memory);
    if (status != ZB_ERROR_COPY_REQUIRED) {
        return status;
    }
    (void)zb_context_destroy(stream->context);
    stream->may_copy = 1;
    status = open_context(stream);
    return status == ZB_OK ? lend_and_run(stream, memory) : status;
}

__attribute__((format(printf, 4, 5))) static int differs(stream *stream, const run_memory *memory, uint32_t slot,
                                                         const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(stream->result->why, sizeof stream->result->why, "run %u, slot %u: %s", memory->number, slot, text);
    return 0;
}

static int check_output(stream *stream, const run_memory *memory, uint32_t index)
{
    const zt_buffer *buffer = &memory->outputs[index];
    size_t size, ours = 0;
    zb_tensor_desc desc = {0, 0, {0}};
    const unsigned char *expected = raw_tflite_output(stream->raw, (int)index, &size);
    if (zb_context_get_slot_desc(stream->context, ZB_OUTPUT(index), &desc, &ours) != ZB_OK || ours != size) {
        return differs(stream, memory, index, "an output of %zu bytes, the bare engine's has %zu", ours, size);
    }
    for (size_t i = 0; i < size; i++) {
        if (buffer->data[i] != expected[i]) {
            return differs(stream, memory, index, "byte %zu of the output is %u, the bare engine's %u", i, buffer->data[i],
                           expected[i]);
        }
    }
    if (!zt_check_guards(buffer, __FILE__, __LINE__, stream->model->name)) {
        return differs(stream, memory, index, "bytes beside the output were written");
    }
    return 1;
}

static int check_input(stream *stream, const run_memory *memory, uint32_t index)
{
    const zt_buffer *buffer = &memory->inputs[index];
    if (memcmp(buffer->data, memory->given[index], buffer->size) != 0) {
        return differs(stream, memory, index, "the input was changed");
    }
    if (!zt_check_guards(buffer, __FILE__, __LINE__, stream->model->name)) {
        return differs(stream, memory, index, "bytes beside the input were written");
    }
    return 1;
}

static int check_proof(stream *stream, const run_memory *memory, zb_slot slot, const zt_buffer *buffer)
{
    char why[384];
    if (prove_slot(stream->context, slot, buffer, stream->may_copy, &stream->result->proofs, why, sizeof why)) {
        return 1;
    }
    return differs(stream, memory, slot & ~ZB_OUTPUT_BIT, "%.200s", why);
}

static int check_run(stream *stream, const run_memory *memory)
{
    int is_right = 1;
    for (uint32_t i = 0; i < stream->outputs && is_right; i++) {
        is_right = check_output(stream, memory, i) && check_proof(stream, memory, ZB_OUTPUT(i), &memory->outputs[i]);
    }
    for (uint32_t i = 0; i < stream->inputs && is_right; i++) {
        is_right = check_input(stream, memory, i) && check_proof(stream, memory, ZB_INPUT(i), &memory->inputs[i]);
    }
    return is_right;
}

static int is_change(const stream *stream, const run_memory *memory, const run_memory *before)
{
    for (uint32_t i = 0; i < stream->outputs; i++) {
        const zt_buffer *now = &memory->outputs[i], *then = &before->outputs[i];
        if (now->size != then->size || memcmp(now->data, then->data, now->size) != 0) {
            return 1;
        }
    }
    return 0;
}

static void free_run(const stream *stream, run_memory *memory)
{
    for (uint32_t i = 0; i < stream->inputs; i++) {
        FREE_BUFFER(&memory->inputs[i]);
        free(memory->given[i]);
    }
    for (uint32_t i = 0; i < stream->outputs; i++) {
        FREE_BUFFER(&memory->outputs[i]);
    }
}

static void plant_mistake(stream_plant plant, run_memory *memory)
{
    if (plant == STREAM_OUTPUT) {
        memory->outputs[0].data[memory->outputs[0].size - 1] ^= 1;
    } else if (plant == STREAM_INPUT) {
        memory->inputs[0].data[0] ^= 1;
    } else if (plant == STREAM_CRASH) {
        abort();
    }
}

static void run_all(stream *stream, unsigned runs, stream_plant plant)
{
    stream_result *result = stream->result;
    run_memory *memory = calloc(runs, sizeof *memory);
    REQUIRE(memory != NULL);
    for (unsigned i = 0; i < runs; i++) {
        memory[i].number = i;
        make_run(stream, &memory[i]);
        zb_status status = i == 0 ? run_first(stream, &memory[i]) : lend_and_run(stream, &memory[i]);
        if (i == runs / 2) {
            plant_mistake(plant, &memory[i]);
        }
        result->runs++;
        if (status != ZB_OK || !check_run(stream, &memory[i])) {
            result->mismatches++;
        }
        result->changes += (unsigned)(i > 0 && is_change(stream, &memory[i], &memory[i - 1]));
    }
    for (unsigned i = 0; i < runs; i++) {
        free_run(stream, &memory[i]);
    }
    free(memory);
}

void run_stream(const real_model *model, int xnnpack, unsigned runs, stream_plant plant, stream_result *result)
{
    stream stream;
    memset(&stream, 0, sizeof stream);
    stream.model = model;
    stream.xnnpack = xnnpack;
    stream.result = result;
    stream.noise = 2024;
    result->class = STREAM_MISMATCH;
    if (open_stream(&stream) != ZB_OK) {
        result->mismatches++;
    } else {
        stream.raw = open_raw(model, xnnpack);
        REQUIRE(stream.inputs <= MOST_SLOTS && stream.outputs <= MOST_SLOTS);
        REQUIRE(raw_tflite_input_count(stream.raw) == (int)stream.inputs);
        REQUIRE(raw_tflite_output_count(stream.raw) == (int)stream.outputs);
        run_all(&stream, runs, plant);
        raw_tflite_close(stream.raw);
    }
    close_stream(&stream);
    if (result->mismatches == 0) {
        result->class = STREAM_EQUAL;
        result->why[0] = '\0';
    }
    result->is_done = 1;
}

void run_refused(const real_model *model, int xnnpack, stream_result *result)
{
    stream stream;
    memset(&stream, 0, sizeof stream);
    stream.model = model;
    stream.xnnpack = xnnpack;
    stream.result = result;
    int is_refused = open_stream(&stream) != ZB_OK;
    close_stream(&stream);
    if (!is_refused) {
        result->mismatches++;
        snprintf(result->why, sizeof result->why, "zerobind plans what the bare engine cannot run");
    }
    result->class = result->mismatches == 0 ? STREAM_REFUSED : STREAM_MISMATCH;
    result->is_done = 1;
}
