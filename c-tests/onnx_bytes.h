/*
 * Models of ONNX, written byte by byte.
 *
 * An ONNX model is a protobuf message, and two messages, one after the other, are one: what is put behind a whole model joins
 * its graph. So each hostile model is a good one with something more.
 */
#ifndef ONNX_BYTES_H
#define ONNX_BYTES_H

#include "harness.h"

typedef struct bytes {
    unsigned char data[4096];
    size_t size;
} bytes;

void put(bytes *to, const void *data, size_t size);
void put_number(bytes *to, uint64_t number);

/* A field that is a message, a text or bytes. */
void put_field(bytes *to, unsigned field, const void *data, size_t size);
void put_text(bytes *to, unsigned field, const char *text);
void put_bytes(bytes *to, unsigned field, const bytes *inner);
void put_varint(bytes *to, unsigned field, uint64_t number);

/* The test model of this name, and more of its graph behind it. */
bytes with_graph(const char *model, const bytes *graph);

#endif
