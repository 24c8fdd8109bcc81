#include "proof.h"

/* The counter of the documented reason that a slot has to be copied for; NULL if it has none. */
static unsigned *reason_of(tally *tally, uint32_t flags)
{
    if (flags & ZB_SLOT_CONSTANT) {
        return &tally->staged_constant;
    }
    if (flags & ZB_SLOT_PASS_THROUGH) {
        return &tally->staged_pass_through;
    }
    if (flags & ZB_SLOT_DUPLICATE) {
        return &tally->staged_duplicate;
    }
    return flags & ZB_SLOT_DYNAMIC ? &tally->staged_dynamic : NULL;
}

static outcome prove_direct(trial *trial, const char *name, const zb_binding_report *report, const zt_buffer *buffer)
{
    if (report->bytes_copied != 0 || report->reason != NULL) {
        return wrong(trial, "%s: DIRECT, but %llu bytes copied (%s)", name, (unsigned long long)report->bytes_copied,
                     report->reason == NULL ? "no reason" : report->reason);
    }
    /* of a tensor without elements any address is as good as another */
    if (buffer->size == 0) {
        trial->tally.empty++;
        return OUTCOME_RIGHT;
    }
    if (report->host_address != buffer->data || report->engine_address != buffer->data) {
        return wrong(trial, "%s: the memory is at %p, the host's address in the report is %p, the engine's %p", name,
                     (const void *)buffer->data, report->host_address, report->engine_address);
    }
    trial->tally.direct++;
    return OUTCOME_RIGHT;
}

static outcome prove_staged(trial *trial, const char *name, zb_slot slot, uint32_t flags, const zb_binding_report *report,
                            const zt_buffer *buffer)
{
    unsigned *reason = reason_of(&trial->tally, flags);
    if (!trial->may_copy) {
        return wrong(trial, "%s: copied, though that was not allowed", name);
    }
    if (!(slot & ZB_OUTPUT_BIT) || reason == NULL || report->reason == NULL) {
        return wrong(trial, "%s: copied without a documented reason (%s)", name,
                     report->reason == NULL ? "none" : report->reason);
    }
    if (report->bytes_copied != buffer->size || report->host_address != buffer->data) {
        return wrong(trial, "%s: copied, with a report of %llu bytes to %p instead of %zu to %p", name,
                     (unsigned long long)report->bytes_copied, report->host_address, buffer->size,
                     (const void *)buffer->data);
    }
    ++*reason;
    return OUTCOME_RIGHT;
}

static outcome prove_slot(trial *trial, zb_context *context, zb_slot slot, const char *name, const zt_buffer *buffer,
                          uint64_t *copied)
{
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    zb_status status = zb_context_get_binding_report(context, slot, &report);
    if (status == ZB_OK) {
        status = zb_context_get_slot_info(context, slot, &info);
    }
    if (status != ZB_OK) {
        return refuse(trial, status, "the report of a slot");
    }
    *copied += report.bytes_copied;
    if (report.path == ZB_PATH_DIRECT) {
        return prove_direct(trial, name, &report, buffer);
    }
    if (report.path == ZB_PATH_STAGED) {
        return prove_staged(trial, name, slot, info.flags, &report, buffer);
    }
    return wrong(trial, "%s: the report has path %d", name, (int)report.path);
}

outcome prove_slots(trial *trial, zb_context *context, const slot_memory *memory)
{
    uint64_t copied = 0;
    const reference_case *each = trial->each;
    unsigned direct = trial->tally.direct + trial->tally.empty;
    outcome result = OUTCOME_RIGHT;
    for (size_t i = 0; i < each->input_count && result == OUTCOME_RIGHT; i++) {
        result = prove_slot(trial, context, trial->inputs[i], each->inputs[i].name, &memory->inputs[i], &copied);
    }
    for (size_t i = 0; i < each->output_count && result == OUTCOME_RIGHT; i++) {
        result = prove_slot(trial, context, trial->outputs[i], each->outputs[i].name, &memory->outputs[i], &copied);
    }
    direct = trial->tally.direct + trial->tally.empty - direct;
    if (result == OUTCOME_RIGHT && trial->may_copy && direct == each->input_count + each->output_count) {
        return wrong(trial, "COPY_REQUIRED without copies allowed, but with them none was made");
    }
    return result;
}
