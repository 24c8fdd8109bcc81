#include "trial.h"

#include "compare.h"

#include <stdarg.h>

outcome refuse(trial *trial, zb_status status, const char *call)
{
    char text[384] = "";
    /* a text that is too long comes cut */
    (void)zb_last_error(text, sizeof text, NULL);
    trial->status = status;
    snprintf(trial->why, sizeof trial->why, "%s: %s: %s", call, zb_status_name(status), text);
    return OUTCOME_REFUSED;
}

outcome wrong(trial *trial, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(trial->why, sizeof trial->why, format, arguments);
    va_end(arguments);
    return OUTCOME_WRONG;
}

int is_planted(const trial *trial, planted planted)
{
    return trial->planted == planted;
}

outcome make_context(trial *trial, zb_context **context)
{
    zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
    options.copy_policy = trial->may_copy ? ZB_COPY_ALLOW : ZB_COPY_NEVER;
    zb_status status = zb_context_create(trial->model, &options, context);
    return status == ZB_OK ? OUTCOME_RIGHT : refuse(trial, status, "zb_context_create");
}

slot_memory make_memory(const trial *trial, const size_t *offsets)
{
    slot_memory memory;
    const reference_case *each = trial->each;
    memset(&memory, 0, sizeof memory);
    for (size_t i = 0; i < each->input_count; i++) {
        memory.inputs[i] = zt_buffer_at(each->inputs[i].size, offsets == NULL ? 0 : offsets[i]);
        memcpy(memory.inputs[i].data, each->inputs[i].bytes, each->inputs[i].size);
    }
    for (size_t i = 0; i < each->output_count; i++) {
        memory.outputs[i] = zt_buffer_at(each->outputs[i].size, offsets == NULL ? 0 : offsets[each->input_count + i]);
    }
    return memory;
}

/* Returns whether the guards are whole, and frees. */
static int release(zt_buffer *buffers, size_t count, const char *side)
{
    int whole = 1;
    for (size_t i = 0; i < count && buffers[i].block != NULL; i++) {
        whole &= zt_check_guards(&buffers[i], __FILE__, __LINE__, side);
        free(buffers[i].block);
        memset(&buffers[i], 0, sizeof buffers[i]);
    }
    return whole;
}

outcome free_memory(trial *trial, slot_memory *memory, outcome before)
{
    int whole = release(memory->inputs, trial->each->input_count, "input");
    whole &= release(memory->outputs, trial->each->output_count, "output");
    if (before == OUTCOME_RIGHT && !whole) {
        return wrong(trial, "bytes beside a buffer were written after its run");
    }
    return before;
}

static outcome check_output(trial *trial, size_t index, const zt_buffer *buffer)
{
    char why[256];
    const reference_slot *reference = &trial->each->outputs[index];
    if (!zt_check_guards(buffer, __FILE__, __LINE__, reference->name)) {
        return wrong(trial, "output %s: bytes beside it were written", reference->name);
    }
    if (trial->raw->outcome == RAW_RIGHT && !is_right(trial->each, reference, buffer->data, why, sizeof why)) {
        return wrong(trial, "output %s", why);
    }
    return OUTCOME_RIGHT;
}

static outcome check_input(trial *trial, size_t index, const zt_buffer *buffer)
{
    const reference_slot *reference = &trial->each->inputs[index];
    if (memcmp(buffer->data, reference->bytes, reference->size) != 0) {
        return wrong(trial, "input %s was changed", reference->name);
    }
    if (!zt_check_guards(buffer, __FILE__, __LINE__, reference->name)) {
        return wrong(trial, "input %s: bytes beside it were written", reference->name);
    }
    return OUTCOME_RIGHT;
}

/*
 * The engine alone, on the same memory (where memory lies decides how sums are cut into vectors, and so about the last bit),
 * has to give the same bytes.
 */
static outcome compare_bits(trial *trial, slot_memory *memory)
{
    const reference_case *each = trial->each;
    void *inputs[MOST_SLOTS], *outputs[MOST_SLOTS];
    unsigned char *computed[MOST_SLOTS];
    for (size_t i = 0; i < each->input_count; i++) {
        inputs[i] = memory->inputs[i].data;
    }
    for (size_t i = 0; i < each->output_count; i++) {
        size_t size = memory->outputs[i].size;
        outputs[i] = memory->outputs[i].data;
        computed[i] = malloc(size + 1);
        REQUIRE(computed[i] != NULL);
        memcpy(computed[i], outputs[i], size);
        memset(outputs[i], 0xCD, size);
    }
    int differs = -1, ran = run_raw_there(each, trial->raw, inputs, outputs);
    for (size_t i = 0; i < each->output_count; i++) {
        if (ran && memcmp(computed[i], outputs[i], memory->outputs[i].size) != 0) {
            differs = (int)i;
        }
        /* the proofs are about what zerobind computed */
        memcpy(outputs[i], computed[i], memory->outputs[i].size);
        free(computed[i]);
    }
    trial->tally.compared_bits += ran ? (unsigned)each->output_count : 0;
    if (differs >= 0) {
        return wrong(trial, "output %s has other bytes than the engine alone gives on the same memory",
                     each->outputs[differs].name);
    }
    return OUTCOME_RIGHT;
}

/* Breaks what the control says, as a bug would. */
static void plant(const trial *trial, slot_memory *memory)
{
    zt_buffer *output = &memory->outputs[0];
    if (is_planted(trial, PLANT_OUTPUT)) {
        output->data[output->size - 1] ^= 0x40;
    } else if (is_planted(trial, PLANT_GUARD)) {
        output->data[output->size] ^= 1;
    } else if (is_planted(trial, PLANT_INPUT)) {
        memory->inputs[0].data[0] ^= 1;
    }
}

outcome check_values(trial *trial, slot_memory *memory)
{
    outcome result = OUTCOME_RIGHT;
    plant(trial, memory);
    trial->tally.runs[trial->way]++;
    for (size_t i = 0; i < trial->each->output_count && result == OUTCOME_RIGHT; i++) {
        result = check_output(trial, i, &memory->outputs[i]);
    }
    for (size_t i = 0; i < trial->each->input_count && result == OUTCOME_RIGHT; i++) {
        result = check_input(trial, i, &memory->inputs[i]);
    }
    int is_comparable = trial->raw->session != NULL && trial->raw->is_repeatable && !trial->may_copy;
    return result == OUTCOME_RIGHT && is_comparable ? compare_bits(trial, memory) : result;
}

/* Where a copy was asked for, at least one has to have been made. */
static outcome prove_slots(trial *trial, zb_context *context, const slot_memory *memory)
{
    const reference_case *each = trial->each;
    char why[384];
    proof_tally before = trial->tally.proofs;
    for (size_t i = 0; i < each->input_count + each->output_count; i++) {
        int is_input = i < each->input_count;
        size_t index = is_input ? i : i - each->input_count;
        zb_slot slot = is_input ? trial->inputs[index] : trial->outputs[index];
        const zt_buffer *buffer = is_input ? &memory->inputs[index] : &memory->outputs[index];
        if (!prove_slot(context, slot, buffer, trial->may_copy, &trial->tally.proofs, why, sizeof why)) {
            return wrong(trial, "%s: %s", is_input ? each->inputs[index].name : each->outputs[index].name, why);
        }
    }
    if (trial->may_copy && proofs_copied(&trial->tally.proofs) == proofs_copied(&before)) {
        return wrong(trial, "copies were allowed, and none was needed");
    }
    return OUTCOME_RIGHT;
}

outcome check_run(trial *trial, zb_context *context, slot_memory *memory)
{
    outcome result = check_values(trial, memory);
    return result == OUTCOME_RIGHT ? prove_slots(trial, context, memory) : result;
}
