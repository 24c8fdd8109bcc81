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
int raw_tflite_input_count(raw_tflite *raw);
int raw_tflite_output_count(raw_tflite *raw);
/* In bytes, once the tensors are allocated. */
size_t raw_tflite_input_size(raw_tflite *raw, int input);
/* The value of an output, until the next call. */
const void *raw_tflite_output(raw_tflite *raw, int output, size_t *size);
/* The numbers of the format's one scale per tensor; scale 0 where the engine knows none. `is_output` is the side. */
void raw_tflite_quantization(raw_tflite *raw, int is_output, int slot, float *scale, int *zero_point);

/* Signatures, as the engine's signature runner knows them; the tensors have to be allocated. Texts live until close. */
int raw_tflite_signature_count(raw_tflite *raw);
const char *raw_tflite_signature_key(raw_tflite *raw, int signature);
int raw_tflite_name_count(raw_tflite *raw, const char *key, int is_output);
const char *raw_tflite_name(raw_tflite *raw, const char *key, int is_output, int index);
/* The slot whose tensor the runner has under a name, by the tensor's address; -1 if it is none of the main graph's. */
int raw_tflite_named_slot(raw_tflite *raw, const char *key, int is_output, const char *name);
void raw_tflite_close(raw_tflite *raw);

#endif
