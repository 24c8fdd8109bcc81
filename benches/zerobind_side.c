#include "zerobind_side.h"

void bench_ok(zb_status status, const char *what)
{
    if (status != ZB_OK) {
        char text[1024] = "";
        zb_last_error(text, sizeof text, NULL);
        REQUIRE(0, "%s: %s: %s", what, zb_status_name(status), text);
    }
}

static void bind_set(zerobind_side *side, size_t set)
{
    for (size_t slot = 0; slot < model_slot_count(side->memory->spec); slot++) {
        bench_ok(zb_tensor_bind(side->tensors[set][slot], side->context, model_slot(side->memory->spec, slot)), "bind");
    }
}

zerobind_side *zerobind_open(const char *path, model_memory *memory, enum raw_kind kind)
{
    zerobind_side *side = calloc(1, sizeof *side);
    REQUIRE(side != NULL, "out of memory");
    side->memory = memory;
    bench_ok(zb_model_open(path, NULL, &side->model), path);
    bench_ok(zb_context_create(side->model, NULL, &side->context), path);
    for (size_t set = 0; set < memory->sets; set++) {
        for (size_t slot = 0; slot < model_slot_count(memory->spec); slot++) {
            bench_ok(zb_tensor_wrap(&memory->spec->slots[slot], memory->data[set][slot], memory->sizes[slot],
                                    memory->sizes[slot] + 64, NULL, NULL, &side->tensors[set][slot]),
                     "wrap");
        }
    }
    if (kind != RAW_LENT) {
        bind_set(side, 0);
    }
    return side;
}

void zerobind_close(zerobind_side *side)
{
    for (size_t set = 0; set < side->memory->sets; set++) {
        for (size_t slot = 0; slot < model_slot_count(side->memory->spec); slot++) {
            zb_tensor_destroy(side->tensors[set][slot]);
        }
    }
    zb_context_destroy(side->context);
    zb_model_destroy(side->model);
    free(side);
}

void zerobind_rewind(zerobind_side *side)
{
    side->next = 0;
}

static size_t next_set(zerobind_side *side)
{
    size_t set = side->next;
    side->next = set + 1 == side->memory->sets ? 0 : set + 1;
    return set;
}

void zerobind_run_bound(void *side_pointer, size_t count)
{
    zerobind_side *side = side_pointer;
    for (size_t i = 0; i < count; i++) {
        bench_ok(zb_infer(side->context, NULL), "infer");
    }
}

/* The loans are made in each run, as a host with a new buffer has to. */
void zerobind_run_lent(void *side_pointer, size_t count)
{
    zerobind_side *side = side_pointer;
    const model_memory *memory = side->memory;
    const size_t inputs = memory->spec->inputs, slots = model_slot_count(memory->spec);
    for (size_t i = 0; i < count; i++) {
        zb_loan loans[MOST_SLOTS];
        size_t set = next_set(side);
        for (size_t slot = 0; slot < inputs; slot++) {
            loans[slot] = zb_loan_input(ZB_INPUT(slot), memory->data[set][slot], memory->sizes[slot],
                                        memory->sizes[slot] + 64, NULL);
        }
        for (size_t slot = inputs; slot < slots; slot++) {
            loans[slot] = zb_loan_output(ZB_OUTPUT(slot - inputs), memory->data[set][slot], memory->sizes[slot], NULL);
        }
        bench_ok(zb_infer_with(side->context, loans, slots, NULL), "infer_with");
    }
}

void zerobind_run_rebound(void *side_pointer, size_t count)
{
    zerobind_side *side = side_pointer;
    for (size_t i = 0; i < count; i++) {
        bind_set(side, next_set(side));
        bench_ok(zb_infer(side->context, NULL), "infer");
    }
}

uint64_t zerobind_require_direct(zerobind_side *side)
{
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    for (size_t slot = 0; slot < model_slot_count(side->memory->spec); slot++) {
        zb_binding_report report = ZB_BINDING_REPORT_INIT;
        bench_ok(zb_context_get_binding_report(side->context, model_slot(side->memory->spec, slot), &report), "report");
        REQUIRE(report.path == ZB_PATH_DIRECT, "%s: slot %zu is not direct: %s", side->memory->spec->name, slot,
                report.reason != NULL ? report.reason : "");
    }
    bench_ok(zb_context_get_stats(side->context, &stats), "stats");
    return stats.bytes_copied;
}
