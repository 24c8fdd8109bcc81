/* Tensors that stay bound, run twice: the second run finds outputs painted anew. */
#include "trial.h"

static outcome bind_slot(trial *trial, zb_context *context, zb_slot slot, const zb_tensor_desc *desc, const zt_buffer *buffer)
{
    zb_tensor *tensor = NULL;
    zb_status status = zb_tensor_wrap(desc, buffer->data, buffer->size, buffer->capacity, NULL, NULL, &tensor);
    if (status != ZB_OK) {
        return refuse(trial, status, "zb_tensor_wrap");
    }
    status = zb_tensor_bind(tensor, context, slot);
    /* the text of an error outlives a call that succeeds */
    (void)zb_tensor_destroy(tensor);
    return status == ZB_OK ? OUTCOME_RIGHT : refuse(trial, status, "zb_tensor_bind");
}

static outcome bind_all(trial *trial, zb_context *context, const slot_memory *memory)
{
    const reference_case *each = trial->each;
    outcome result = OUTCOME_RIGHT;
    for (size_t i = 0; i < each->input_count && result == OUTCOME_RIGHT; i++) {
        result = bind_slot(trial, context, trial->inputs[i], &each->inputs[i].desc, &memory->inputs[i]);
    }
    for (size_t i = 0; i < each->output_count && result == OUTCOME_RIGHT; i++) {
        result = bind_slot(trial, context, trial->outputs[i], &each->outputs[i].desc, &memory->outputs[i]);
    }
    return result;
}

static outcome run_twice(trial *trial, zb_context *context, slot_memory *memory)
{
    outcome result = OUTCOME_RIGHT;
    for (int round = 0; round < 2 && result == OUTCOME_RIGHT; round++) {
        for (size_t i = 0; i < trial->each->output_count; i++) {
            memset(memory->outputs[i].data, 0xCD, memory->outputs[i].size);
        }
        zb_status status = zb_infer(context, NULL);
        result = status == ZB_OK ? check_run(trial, context, memory) : refuse(trial, status, "zb_infer");
    }
    return result;
}

outcome run_bound(trial *trial)
{
    zb_context *context = NULL;
    outcome result = make_context(trial, &context);
    if (result != OUTCOME_RIGHT) {
        return result;
    }
    slot_memory memory = make_memory(trial, NULL);
    result = bind_all(trial, context, &memory);
    if (result == OUTCOME_RIGHT) {
        result = run_twice(trial, context, &memory);
    }
    (void)zb_context_destroy(context);
    return free_memory(trial, &memory, result);
}
