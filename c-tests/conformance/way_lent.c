/* zb_infer_with, with memory at other addresses every time, aligned no better than the slot asks for. */
#include "trial.h"

enum { ROUNDS = 4 };

/* Offsets below 64 that are multiples of the slots' alignment and, where it allows that, of nothing larger. */
static outcome choose_offsets(trial *trial, zb_context *context, int round, size_t *offsets)
{
    const reference_case *each = trial->each;
    for (size_t i = 0; i < each->input_count + each->output_count; i++) {
        zb_requirements needs = ZB_REQUIREMENTS_INIT;
        zb_slot slot = i < each->input_count ? trial->inputs[i] : trial->outputs[i - each->input_count];
        zb_status status = zb_context_get_requirements(context, slot, &needs);
        if (status != ZB_OK) {
            return refuse(trial, status, "zb_context_get_requirements");
        }
        offsets[i] = (size_t)needs.alignment * (2 * (size_t)round - 1) % 64;
    }
    return OUTCOME_RIGHT;
}

static outcome run_once(trial *trial, zb_context *context, slot_memory *memory)
{
    const reference_case *each = trial->each;
    zb_loan loans[2 * MOST_SLOTS];
    size_t count = 0;
    for (size_t i = 0; i < each->input_count; i++) {
        const zt_buffer *lent = &memory->inputs[i];
        loans[count++] = zb_loan_input(trial->inputs[i], lent->data, lent->size, lent->capacity, &each->inputs[i].desc);
    }
    for (size_t i = 0; i < each->output_count; i++) {
        const zt_buffer *lent = &memory->outputs[i];
        loans[count++] = zb_loan_output(trial->outputs[i], lent->data, lent->size, &each->outputs[i].desc);
    }
    zb_status status = zb_infer_with(context, loans, count, NULL);
    return status == ZB_OK ? check_run(trial, context, memory) : refuse(trial, status, "zb_infer_with");
}

outcome run_lent(trial *trial)
{
    zb_context *context = NULL;
    slot_memory memory[ROUNDS];
    size_t offsets[2 * MOST_SLOTS] = {0};
    int made = 0;
    for (size_t i = 0; i < 2 * MOST_SLOTS && is_planted(trial, PLANT_COPY); i++) {
        offsets[i] = 1;
    }
    outcome result = make_context(trial, &context);
    /* all memory stays until the end, so that no address comes again, and a late write would be seen */
    while (made < ROUNDS && result == OUTCOME_RIGHT) {
        result = made == 0 ? OUTCOME_RIGHT : choose_offsets(trial, context, made, offsets);
        if (result == OUTCOME_RIGHT) {
            memory[made] = make_memory(trial, offsets);
            result = run_once(trial, context, &memory[made++]);
        }
    }
    (void)zb_context_destroy(context);
    for (int i = 0; i < made; i++) {
        result = free_memory(trial, &memory[i], result);
    }
    return result;
}
