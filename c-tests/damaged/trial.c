#include "trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zerobind.h>

void refuse(outcome *told, int status, const char *text)
{
    told->status = status;
    snprintf(told->text, sizeof told->text, "%s", text == NULL ? "" : text);
    told->ended = ENDED_REFUSED;
}

/* The bytes of the number 1, of types that have one; others are filled with zeros. */
static size_t bytes_of_one(int dtype, unsigned char *one)
{
    switch (dtype) {
    case ZB_DTYPE_F32: memcpy(one, &(float){1}, 4); return 4;
    case ZB_DTYPE_F64: memcpy(one, &(double){1}, 8); return 8;
    case ZB_DTYPE_F16: memcpy(one, &(uint16_t){0x3C00}, 2); return 2;
    case ZB_DTYPE_BF16: memcpy(one, &(uint16_t){0x3F80}, 2); return 2;
    case ZB_DTYPE_I64:
    case ZB_DTYPE_U64: memcpy(one, &(uint64_t){1}, 8); return 8;
    case ZB_DTYPE_I32:
    case ZB_DTYPE_U32: memcpy(one, &(uint32_t){1}, 4); return 4;
    case ZB_DTYPE_I16:
    case ZB_DTYPE_U16: memcpy(one, &(uint16_t){1}, 2); return 2;
    case ZB_DTYPE_I8:
    case ZB_DTYPE_U8:
    case ZB_DTYPE_BOOL: *one = 1; return 1;
    default: return 0;
    }
}

void fill(const subject *model, void *data, size_t bytes, int dtype, int value)
{
    unsigned char one[8];
    size_t size = bytes_of_one(dtype, one);
    memset(data, 0, bytes);
    if (dtype == ZB_DTYPE_I64 && model->number != 0) {
        memcpy(one, &model->number, size);
        value = 1;
    }
    if (value != 0 && size != 0) {
        for (size_t at = 0; at + size <= bytes; at += size) {
            memcpy((unsigned char *)data + at, one, size);
        }
    }
}

static volatile unsigned seen;

void look_at(const void *data, size_t size)
{
    if (data != NULL && size > 0) {
        seen = ((const unsigned char *)data)[0] + (unsigned)((const unsigned char *)data)[size - 1];
    }
}

int64_t open_dim(const subject *model, size_t input, size_t dim)
{
    return input < MOST_SHAPES && dim < model->shapes[input].rank ? model->shapes[input].dims[dim] : 1;
}

static void raw_preload(int engine)
{
    (engine == ENGINE_TFLITE ? raw_tflite_preload : raw_ort_preload)();
}

static void raw_run(const subject *model, const unsigned char *bytes, size_t size, outcome *told)
{
    (model->engine == ENGINE_TFLITE ? raw_tflite_run : raw_ort_run)(model, bytes, size, told);
}

const lane lane_raw = {"raw", raw_preload, raw_run};
