/*
 * A host's side of guests/stream.wat: the guest runs a model again and again, on tensors in its own memory, which the host
 * fills and reads between the runs.
 */
#ifndef ZEROBIND_EXAMPLE_STREAMER_H
#define ZEROBIND_EXAMPLE_STREAMER_H

#include "embed.h"

typedef struct streamer {
    zbw_guest *guest;
    embed embed;
    embed_function grow;
    embed_function step;
    embed_function tensor;
    embed_function tensor_size;
    embed_function error;
    /* inputs first */
    uint32_t inputs;
    uint32_t tensors;
    /* what the guest uses, for reports */
    zb_context *context;
} streamer;

/* Bytes in memory. */
typedef struct bytes {
    void *data;
    size_t size;
} bytes;

/* Makes an instance of the guest and has it open the model. 0, or -1 with a text in embed.error; streamer_close all the same. */
int streamer_open(streamer *streamer, wasm_engine_t *engine, const zbw_options *options, bytes guest, bytes model);
void streamer_close(streamer *streamer);

/* Where a tensor is now: until the memory grows. */
bytes streamer_tensor(streamer *streamer, uint32_t index);
/* Grows the guest's memory by so many of its pages; -1 if it cannot. */
int streamer_grow(streamer *streamer, uint32_t pages);
/* Has the guest grow its memory by `pages` and infer. 0, or -1 with a text. */
int streamer_step(streamer *streamer, uint32_t pages);

#endif
