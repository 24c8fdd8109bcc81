#include "ways.h"

#include <string.h>

const char *way_name(way way)
{
    static const char *const names[WAYS] = {"lend", "copy", "re-create", "nothing"};
    return names[way];
}

/* Makes the tensors of the host's and binds them, with the shapes that the guest gives. */
static zb_status bind_tensors(way_state *state, zb_context *context, const zb_loan *loans, size_t count)
{
    zb_status status = ZB_OK;
    for (size_t i = 0; i < count && status == ZB_OK; i++) {
        status = loans[i].desc != NULL ? zb_tensor_alloc(loans[i].desc, 0, &state->tensors[i])
                                       : zb_tensor_alloc_for(context, loans[i].slot, &state->tensors[i]);
        if (status == ZB_OK) {
            status = zb_tensor_bind(state->tensors[i], context, loans[i].slot);
        }
    }
    return status;
}

/* Copies inputs from the guest, or outputs to it. */
static zb_status copy_tensors(const way_state *state, const zb_loan *loans, size_t count, int outputs)
{
    for (size_t i = 0; i < count; i++) {
        void *data;
        zb_status status;
        if (((loans[i].slot & ZB_OUTPUT_BIT) != 0) != outputs) {
            continue;
        }
        status = zb_tensor_get_data(state->tensors[i], &data, NULL);
        if (status != ZB_OK) {
            return status;
        }
        memcpy(outputs ? loans[i].data : data, outputs ? data : loans[i].data, loans[i].size);
    }
    return ZB_OK;
}

/* The context has memory of its own for life; the guest's tensors are copied in and out on every call. */
static zb_status run_copying(void *user_data, zb_context *context, const zb_loan *loans, size_t count,
                             const zb_infer_options *options)
{
    way_state *state = user_data;
    zb_status status = ZB_OK;
    if (count > WAY_MOST_SLOTS) {
        return ZB_ERROR_UNSUPPORTED;
    }
    if (!state->has_run) {
        status = bind_tensors(state, context, loans, count);
        state->has_run = 1;
    }
    if (status == ZB_OK) {
        status = copy_tensors(state, loans, count, 0);
    }
    if (status == ZB_OK) {
        status = zb_infer(context, options);
    }
    return status == ZB_OK ? copy_tensors(state, loans, count, 1) : status;
}

/* A context for every call, as where it cannot be given other memory: what it remembers is lost. */
static zb_status run_recreating(void *user_data, zb_context *context, const zb_loan *loans, size_t count,
                                const zb_infer_options *options)
{
    way_state *state = user_data;
    zb_context *fresh = NULL;
    if (!state->has_run) {
        /* not needed in this way, and would only take memory; the guest's handle of it is dead from here on */
        zb_context_destroy(context);
        state->has_run = 1;
    }
    zb_status status = zb_context_create(state->model, NULL, &fresh);
    if (status == ZB_OK) {
        status = zb_infer_with(fresh, loans, count, options);
        zb_context_destroy(fresh);
    }
    return status;
}

static zb_status run_nothing(void *user_data, zb_context *context, const zb_loan *loans, size_t count,
                             const zb_infer_options *options)
{
    (void)user_data;
    (void)context;
    (void)loans;
    (void)count;
    (void)options;
    return ZB_OK;
}

int way_start(way_state *state, way way, const char *model, zbw_options *options)
{
    static const zbw_run_fn runs[WAYS] = {NULL, run_copying, run_recreating, run_nothing};
    memset(state, 0, sizeof *state);
    state->way = way;
    options->run = runs[way];
    options->run_data = state;
    return way == WAY_RECREATE && zb_model_open(model, NULL, &state->model) != ZB_OK ? -1 : 0;
}

void way_end(way_state *state)
{
    for (size_t i = 0; i < WAY_MOST_SLOTS; i++) {
        zb_tensor_destroy(state->tensors[i]);
    }
    zb_model_destroy(state->model);
}
