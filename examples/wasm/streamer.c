#include "streamer.h"

#include <stdio.h>
#include <string.h>

/* Most bytes of the guest's text that are shown. */
#define MOST_TEXT 400

static int call(streamer *streamer, const embed_function *function, int64_t argument, int32_t *result)
{
    return embed_call(&streamer->embed, function, &argument, result);
}

/* A status that is not 0 becomes -1 and the guest's text. */
static int check(streamer *streamer, const char *what, int32_t status)
{
    size_t size = 0;
    int32_t at = 0;
    if (status == 0) {
        return 0;
    }
    if (status == -1 || call(streamer, &streamer->error, 0, &at) != 0) {
        snprintf(streamer->embed.error, sizeof streamer->embed.error, "%s: the guest's memory cannot grow", what);
        return -1;
    }
    const unsigned char *memory = embed_memory(&streamer->embed, &size);
    size_t offset = (uint32_t)at, room = offset < size ? size - offset : 0;
    snprintf(streamer->embed.error, sizeof streamer->embed.error, "%s: status %d, %.*s", what, (int)status,
             (int)(room < MOST_TEXT ? room : MOST_TEXT), room > 0 ? (const char *)memory + offset : "");
    return -1;
}

static int find_functions(streamer *streamer)
{
    const struct {
        const char *name;
        size_t count;
        embed_function *function;
    } wanted[] = {{"grow", 1, &streamer->grow},     {"step", 1, &streamer->step},
                  {"tensor", 1, &streamer->tensor}, {"tensor_size", 1, &streamer->tensor_size},
                  {"error", 0, &streamer->error}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (embed_find(&streamer->embed, wanted[i].name, wanted[i].count, wanted[i].function) != 0) {
            return -1;
        }
    }
    return 0;
}

/* The number that a function without arguments gives. */
static int ask(streamer *streamer, const char *name, uint32_t *number)
{
    embed_function function;
    int32_t result;
    if (embed_find(&streamer->embed, name, 0, &function) != 0 || call(streamer, &function, 0, &result) != 0) {
        return -1;
    }
    *number = (uint32_t)result;
    return 0;
}

/* Puts the model's bytes into the guest's memory and lets it open them there. */
static int set_up(streamer *streamer, bytes model)
{
    embed_function reserve, setup;
    int32_t at, status;
    size_t size;
    if (embed_find(&streamer->embed, "reserve", 2, &reserve) != 0 || embed_find(&streamer->embed, "setup", 2, &setup) != 0 ||
        embed_call(&streamer->embed, &reserve, (const int64_t[]){(int64_t)model.size, 64}, &at) != 0) {
        return -1;
    }
    unsigned char *memory = embed_memory(&streamer->embed, &size);
    size_t offset = (uint32_t)at;
    /* the guest's word is not taken for it */
    if (at == 0 || memory == NULL || offset > size || model.size > size - offset) {
        snprintf(streamer->embed.error, sizeof streamer->embed.error, "the guest has no room for the model");
        return -1;
    }
    memcpy(memory + offset, model.data, model.size);
    if (embed_call(&streamer->embed, &setup, (const int64_t[]){(int64_t)offset, (int64_t)model.size}, &status) != 0) {
        return -1;
    }
    return check(streamer, "setup", status);
}

int streamer_open(streamer *streamer, wasm_engine_t *engine, const zbw_options *options, bytes guest, bytes model)
{
    uint32_t context;
    memset(streamer, 0, sizeof *streamer);
    streamer->guest = zbw_guest_new(options);
    if (streamer->guest == NULL) {
        snprintf(streamer->embed.error, sizeof streamer->embed.error, "no memory for a guest");
        return -1;
    }
    if (embed_open(&streamer->embed, engine, streamer->guest, guest.data, guest.size) != 0 || find_functions(streamer) != 0 ||
        set_up(streamer, model) != 0 || ask(streamer, "input_count", &streamer->inputs) != 0 ||
        ask(streamer, "tensor_count", &streamer->tensors) != 0 || ask(streamer, "context", &context) != 0) {
        return -1;
    }
    streamer->context = zbw_guest_context(streamer->guest, context);
    return 0;
}

void streamer_close(streamer *streamer)
{
    if (streamer->embed.store != NULL) {
        embed_close(&streamer->embed);
    }
    zbw_guest_delete(streamer->guest);
}

bytes streamer_tensor(streamer *streamer, uint32_t index)
{
    int32_t at, length;
    size_t size;
    bytes tensor = {NULL, 0};
    if (call(streamer, &streamer->tensor, index, &at) != 0 || call(streamer, &streamer->tensor_size, index, &length) != 0) {
        return tensor;
    }
    unsigned char *memory = embed_memory(&streamer->embed, &size);
    size_t offset = (uint32_t)at;
    if (memory != NULL && offset <= size && (uint32_t)length <= size - offset) {
        tensor.data = memory + offset;
        tensor.size = (uint32_t)length;
    }
    return tensor;
}

int streamer_grow(streamer *streamer, uint32_t pages)
{
    int32_t before;
    if (call(streamer, &streamer->grow, pages, &before) != 0) {
        return -1;
    }
    return check(streamer, "grow", before == -1 ? -1 : 0);
}

int streamer_step(streamer *streamer, uint32_t pages)
{
    int32_t status;
    if (call(streamer, &streamer->step, pages, &status) != 0) {
        return -1;
    }
    return check(streamer, "step", status);
}
