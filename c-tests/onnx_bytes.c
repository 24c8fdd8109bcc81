#include "onnx_bytes.h"

void put(bytes *to, const void *data, size_t size)
{
    REQUIRE(to->size + size <= sizeof to->data);
    memcpy(to->data + to->size, data, size);
    to->size += size;
}

void put_number(bytes *to, uint64_t number)
{
    do {
        unsigned char byte = (unsigned char)((number & 0x7F) | (number > 0x7F ? 0x80u : 0u));
        put(to, &byte, 1);
        number >>= 7;
    } while (number != 0);
}

void put_field(bytes *to, unsigned field, const void *data, size_t size)
{
    put_number(to, field << 3 | 2u);
    put_number(to, size);
    put(to, data, size);
}

void put_varint(bytes *to, unsigned field, uint64_t number)
{
    put_number(to, field << 3);
    put_number(to, number);
}

void put_text(bytes *to, unsigned field, const char *text)
{
    put_field(to, field, text, strlen(text));
}

void put_bytes(bytes *to, unsigned field, const bytes *inner)
{
    put_field(to, field, inner->data, inner->size);
}

bytes with_graph(const char *model, const bytes *graph)
{
    char *path = zt_model_path(model);
    size_t size = 0;
    void *whole = zt_read(path, &size);
    bytes made = {{0}, 0};
    put(&made, whole, size);
    put_bytes(&made, 7, graph);
    free(whole);
    free(path);
    return made;
}
