/* The guest of stream.wat in C; see there for what each function does. */
#include "zerobind_guest.h"

#define PAGE 65536u
#define MOST_SLOTS 16u
#define EXPORT(name) __attribute__((export_name(name)))
#define NO_MEMORY (-1)

extern unsigned char __heap_base;

static uint32_t top, model, context, inputs, outputs, count;
static zb_guest_loan loans[MOST_SLOTS];
static zb_guest_desc descs[MOST_SLOTS];
static char text[1024];

EXPORT("reserve") uint32_t reserve(uint32_t size, uint32_t alignment)
{
    uint32_t at = top != 0 ? top : (uint32_t)(uintptr_t)&__heap_base;
    at = (at + alignment - 1) & -alignment;
    uint32_t has = (uint32_t)__builtin_wasm_memory_size(0) * PAGE;
    if (at + size > has && __builtin_wasm_memory_grow(0, (at + size - has + PAGE - 1) / PAGE) == (unsigned long)-1) {
        return 0;
    }
    top = at + size;
    return at;
}

static uint32_t slot_at(uint32_t index)
{
    return index < inputs ? index : ZB_OUTPUT_BIT | (index - inputs);
}

static int32_t choose_shape(uint32_t index)
{
    zb_guest_desc *desc = &descs[index];
    zb_guest_requirements needs;
    int was_open = 0;
    int32_t status = 0;
    if (index >= inputs) {
        /* the inputs have their shapes by now, and asking for requirements plans: then more is known of outputs */
        status = zb_context_requirements(context, slot_at(index), ZB_AT(&needs));
    }
    if (status == 0) {
        status = zb_context_slot_desc(context, slot_at(index), ZB_AT(desc));
    }
    if (status != 0) {
        return status;
    }
    for (uint32_t i = 0; i < desc->rank; i++) {
        if (desc->dims[i] == -1) {
            desc->dims[i] = 1;
            was_open = 1;
        }
    }
    if (was_open && index < inputs) {
        return zb_context_resize_input(context, slot_at(index), ZB_AT(desc->dims), desc->rank);
    }
    return 0;
}

static int32_t make_loan(uint32_t index)
{
    zb_guest_requirements needs;
    uint64_t size;
    int32_t status = zb_desc_size(ZB_AT(&descs[index]), ZB_AT(&size));
    if (status == 0) {
        status = zb_context_requirements(context, slot_at(index), ZB_AT(&needs));
    }
    if (status != 0) {
        return status;
    }
    uint32_t at = reserve((uint32_t)(size + needs.slack), (uint32_t)needs.alignment);
    if (at == 0) {
        return NO_MEMORY;
    }
    loans[index] = (zb_guest_loan){slot_at(index), 0, at, size, ZB_AT(&descs[index])};
    return 0;
}

EXPORT("setup") int32_t setup(uint32_t bytes, uint32_t size)
{
    int32_t status = zb_model_open(bytes, size, ZB_AT(&model));
    if (status == 0) {
        status = zb_model_slot_counts(model, ZB_AT(&inputs), ZB_AT(&outputs));
    }
    if (status == 0) {
        status = zb_context_create(model, ZB_AT(&context));
    }
    if (status == 0) {
        /* the context keeps the model */
        status = zb_model_destroy(model);
    }
    count = inputs + outputs;
    if (status == 0 && count > MOST_SLOTS) {
        return NO_MEMORY;
    }
    for (uint32_t i = 0; i < count && status == 0; i++) {
        status = choose_shape(i);
    }
    for (uint32_t i = 0; i < count && status == 0; i++) {
        status = make_loan(i);
    }
    return status;
}

EXPORT("grow") int32_t grow(uint32_t pages)
{
    return (int32_t)__builtin_wasm_memory_grow(0, pages);
}

EXPORT("step") int32_t step(uint32_t pages)
{
    if (pages != 0 && __builtin_wasm_memory_grow(0, pages) == (unsigned long)-1) {
        return NO_MEMORY;
    }
    return zb_infer(context, ZB_AT(loans), count);
}

EXPORT("tensor") uint32_t tensor(uint32_t index)
{
    return (uint32_t)loans[index].data;
}

EXPORT("tensor_size") uint32_t tensor_size(uint32_t index)
{
    return (uint32_t)loans[index].size;
}

EXPORT("tensor_count") uint32_t tensor_count(void)
{
    return count;
}

EXPORT("input_count") uint32_t input_count(void)
{
    return inputs;
}

EXPORT("context") uint32_t context_handle(void)
{
    return context;
}

EXPORT("error") uint32_t error(void)
{
    zb_last_error(ZB_AT(text), sizeof text, 0);
    return (uint32_t)(uintptr_t)text;
}
