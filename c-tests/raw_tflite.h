/* A direct user of TFLite's C API, with copies: the oracle next to zerobind in the same process. */
#ifndef ZEROBIND_TESTS_RAW_TFLITE_H
#define ZEROBIND_TESTS_RAW_TFLITE_H

#include <stddef.h>

typedef struct raw_tflite raw_tflite;

/* Every function requires that the engine succeeds. One thread; XNNPACK if `xnnpack`. */
raw_tflite *raw_tflite_open(const char *path, int xnnpack);
void raw_tflite_resize(raw_tflite *raw, int input, const int *dims, int rank);
void raw_tflite_allocate(raw_tflite *raw);
void raw_tflite_write(raw_tflite *raw, int input, const void *data, size_t size);
void raw_tflite_invoke(raw_tflite *raw);
/* The value of an output, until the next call. */
const void *raw_tflite_output(raw_tflite *raw, int output, size_t *size);
void raw_tflite_close(raw_tflite *raw);

#endif
