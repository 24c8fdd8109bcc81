#include "proof.h"

/* The counter of the documented reason that a slot has to be copied for; NULL if it has none. */
static unsigned *reason_of(proof_tally *tally, uint32_t flags)
{
    if (flags & ZB_SLOT_CONSTANT) {
        return &tally->constant;
    }
    if (flags & ZB_SLOT_PASS_THROUGH) {
        return &tally->pass_through;
    }
    if (flags & ZB_SLOT_DUPLICATE) {
        return &tally->duplicate;
    }
    return flags & ZB_SLOT_DYNAMIC ? &tally->dynamic : NULL;
}

/* Says what the report holds that is not right. */
static int disprove(const zb_binding_report *report, const zt_buffer *buffer, const char *what, char *why, size_t capacity)
{
    snprintf(why, capacity, "%s: path %d, %llu bytes copied (%s), memory at %p, in the report the host's %p, the engine's %p",
             what, (int)report->path, (unsigned long long)report->bytes_copied,
             report->reason == NULL ? "no reason" : report->reason, (const void *)buffer->data, report->host_address,
             report->engine_address);
    return 0;
}

static int prove_direct(const zb_binding_report *report, const zt_buffer *buffer, proof_tally *tally, char *why,
                        size_t capacity)
{
    if (report->bytes_copied != 0 || report->reason != NULL) {
        return disprove(report, buffer, "in place and copied", why, capacity);
    }
    /* of a tensor without elements any address is as good as another */
    if (buffer->size == 0) {
        tally->empty++;
        return 1;
    }
    if (report->host_address != buffer->data || report->engine_address != buffer->data) {
        return disprove(report, buffer, "in place somewhere else", why, capacity);
    }
    tally->direct++;
    return 1;
}

int prove_slot(zb_context *context, zb_slot slot, const zt_buffer *buffer, int may_copy, proof_tally *tally, char *why,
               size_t capacity)
{
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    if (zb_context_get_binding_report(context, slot, &report) != ZB_OK ||
        zb_context_get_slot_info(context, slot, &info) != ZB_OK) {
        return disprove(&report, buffer, "the context has no report of its run", why, capacity);
    }
    if (report.path == ZB_PATH_DIRECT) {
        return prove_direct(&report, buffer, tally, why, capacity);
    }
    if (report.path != ZB_PATH_STAGED || !may_copy) {
        return disprove(&report, buffer, "not in place", why, capacity);
    }
    unsigned *reason = slot & ZB_OUTPUT_BIT ? reason_of(tally, info.flags) : NULL;
    if (reason == NULL || report.reason == NULL) {
        return disprove(&report, buffer, "copied without a documented reason", why, capacity);
    }
    if (report.bytes_copied != buffer->size || report.host_address != buffer->data) {
        return disprove(&report, buffer, "copied, but not this memory", why, capacity);
    }
    ++*reason;
    return 1;
}

void add_proofs(proof_tally *sum, const proof_tally *one)
{
    sum->direct += one->direct;
    sum->empty += one->empty;
    sum->constant += one->constant;
    sum->pass_through += one->pass_through;
    sum->duplicate += one->duplicate;
    sum->dynamic += one->dynamic;
}

unsigned proofs_direct(const proof_tally *tally)
{
    return tally->direct + tally->empty;
}

unsigned proofs_copied(const proof_tally *tally)
{
    return tally->constant + tally->pass_through + tally->duplicate + tally->dynamic;
}
