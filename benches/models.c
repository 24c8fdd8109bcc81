#include "models.h"

#define SPOILT 0xCD

#define F32(rank, ...) {ZB_DTYPE_F32, (rank), {__VA_ARGS__}}
#define MEBIBYTES(count) F32(1, (count) * 262144)
#define PITCH_SLOTS {F32(3, 1, 43844, 1), F32(3, 1, 172, 88), F32(3, 1, 172, 88), F32(3, 1, 172, 264)}

static const model_spec SPECS[] = {
    {"add4", 2, 1, {F32(1, 4), F32(1, 4), F32(1, 4)}},
    {"add256", 2, 1, {F32(1, 256), F32(1, 256), F32(1, 256)}},
    {"big16", 1, 1, {MEBIBYTES(16), MEBIBYTES(16)}},
    {"big64", 1, 1, {MEBIBYTES(64), MEBIBYTES(64)}},
    {"slice16", 1, 1, {MEBIBYTES(16), F32(1, 16)}},
    {"basic_pitch", 1, 3, PITCH_SLOTS},
    /* the original computes shapes in the run, which keeps its outputs from host memory, also for a direct user of TFLite */
    {"basic_pitch_static", 1, 3, PITCH_SLOTS},
    {"silero_vad", 3, 2, {F32(2, 1, 576), F32(3, 2, 1, 128), {ZB_DTYPE_I64, 0, {0}}, F32(2, 1, 1), F32(3, 2, 1, 128)}},
    {"hand_landmark_lite", 1, 4, {F32(4, 1, 224, 224, 3), F32(2, 1, 63), F32(2, 1, 1), F32(2, 1, 1), F32(2, 1, 63)}},
    {"detector320", 1, 1, {F32(4, 1, 3, 320, 320), F32(3, 1, 84, 2100)}},
    {"table200", 1, 1, {{ZB_DTYPE_I32, 1, {1}}, F32(2, 1, 1024)}},
};

const model_spec *model_named(const char *name)
{
    for (size_t i = 0; i < sizeof SPECS / sizeof *SPECS; i++) {
        if (strcmp(SPECS[i].name, name) == 0) {
            return &SPECS[i];
        }
    }
    REQUIRE(0, "no model is called %s", name);
    return NULL;
}

size_t model_slot_count(const model_spec *spec)
{
    return (size_t)spec->inputs + spec->outputs;
}

zb_slot model_slot(const model_spec *spec, size_t index)
{
    return index < spec->inputs ? ZB_INPUT(index) : ZB_OUTPUT(index - spec->inputs);
}

/* Numbers between -1 and 1 by a linear congruence; whole numbers are the sampling rate that silero_vad asks for. */
static void fill(unsigned char *data, size_t size, int32_t dtype, uint32_t seed)
{
    if (dtype == ZB_DTYPE_F32) {
        float *values = (float *)(void *)data;
        for (size_t i = 0; i < size / sizeof *values; i++) {
            seed = seed * 1664525u + 1013904223u;
            values[i] = (float)(int32_t)seed / 2147483648.0f;
        }
    } else if (dtype == ZB_DTYPE_I64) {
        int64_t rate = 16000;
        memcpy(data, &rate, sizeof rate);
    } else if (dtype == ZB_DTYPE_I32) {
        int32_t index = (int32_t)(seed % 7);
        memcpy(data, &index, sizeof index);
    } else {
        REQUIRE(0, "no values for dtype %d", (int)dtype);
    }
}

/* Written out, since programs that measure the bare engine do not load zerobind. */
static size_t bytes_of(const zb_tensor_desc *desc)
{
    size_t bytes = desc->dtype == ZB_DTYPE_I64 ? 8 : 4;
    for (uint32_t i = 0; i < desc->rank; i++) {
        bytes *= (size_t)desc->dims[i];
    }
    return bytes;
}

model_memory *model_memory_new(const model_spec *spec, size_t sets)
{
    model_memory *memory = calloc(1, sizeof *memory);
    REQUIRE(memory != NULL && sets <= MOST_SETS, "memory for %zu sets", sets);
    memory->spec = spec;
    memory->sets = sets;
    for (size_t slot = 0; slot < model_slot_count(spec); slot++) {
        memory->sizes[slot] = bytes_of(&spec->slots[slot]);
        for (size_t set = 0; set < sets; set++) {
            memory->data[set][slot] = bench_memory(memory->sizes[slot]);
            if (slot < spec->inputs) {
                fill(memory->data[set][slot], memory->sizes[slot], spec->slots[slot].dtype, (uint32_t)(set * 31 + slot + 1));
            }
        }
    }
    return memory;
}

void model_memory_free(model_memory *memory)
{
    for (size_t set = 0; set < memory->sets; set++) {
        for (size_t slot = 0; slot < model_slot_count(memory->spec); slot++) {
            free(memory->data[set][slot]);
        }
    }
    free(memory);
}

void model_memory_spoil(model_memory *memory)
{
    for (size_t set = 0; set < memory->sets; set++) {
        for (size_t slot = memory->spec->inputs; slot < model_slot_count(memory->spec); slot++) {
            memset(memory->data[set][slot], SPOILT, memory->sizes[slot]);
        }
    }
}

static size_t bytes_of_outputs(const model_memory *memory)
{
    size_t bytes = 0;
    for (size_t slot = memory->spec->inputs; slot < model_slot_count(memory->spec); slot++) {
        bytes += memory->sizes[slot];
    }
    return bytes;
}

unsigned char *model_memory_copy_outputs(const model_memory *memory, size_t sets)
{
    unsigned char *copy = malloc(bytes_of_outputs(memory) * sets), *to = copy;
    REQUIRE(copy != NULL, "out of memory");
    for (size_t set = 0; set < sets; set++) {
        for (size_t slot = memory->spec->inputs; slot < model_slot_count(memory->spec); slot++) {
            memcpy(to, memory->data[set][slot], memory->sizes[slot]);
            to += memory->sizes[slot];
        }
    }
    return copy;
}

static int is_spoilt(const unsigned char *data, size_t size)
{
    return size > 0 && data[0] == SPOILT && memcmp(data, data + 1, size - 1) == 0;
}

void model_memory_require_outputs(const model_memory *memory, const unsigned char *expected, size_t sets, const char *who)
{
    for (size_t set = 0; set < sets; set++) {
        for (size_t slot = memory->spec->inputs; slot < model_slot_count(memory->spec); slot++) {
            const unsigned char *data = memory->data[set][slot];
            size_t size = memory->sizes[slot];
            REQUIRE(!is_spoilt(data, size), "%s: %s did not write output %zu of set %zu", memory->spec->name, who,
                    slot - memory->spec->inputs, set);
            REQUIRE(memcmp(data, expected, size) == 0, "%s: %s computed another output %zu of set %zu", memory->spec->name,
                    who, slot - memory->spec->inputs, set);
            expected += size;
        }
    }
}
