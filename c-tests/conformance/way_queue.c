/* Writes, an inference and reads on a queue: two rounds with tensors of their own are put there before any is waited for. */
#include "trial.h"

enum { ROUNDS = 2 };
#define PATIENCE_NS 60000000000u

typedef struct queue_round {
    slot_memory memory;
    zb_tensor *inputs[MOST_SLOTS], *outputs[MOST_SLOTS];
    /* where reads land */
    zt_buffer read[MOST_SLOTS];
    zb_event *inference, *reads[MOST_SLOTS];
} queue_round;

static outcome wrap(trial *trial, const zb_tensor_desc *desc, const zt_buffer *buffer, zb_tensor **tensor)
{
    zb_status status = zb_tensor_wrap(desc, buffer->data, buffer->size, buffer->capacity, NULL, NULL, tensor);
    return status == ZB_OK ? OUTCOME_RIGHT : refuse(trial, status, "zb_tensor_wrap");
}

/* The tensors; inputs are painted over, since the queue is to write them. */
static outcome make_round(trial *trial, queue_round *round)
{
    const reference_case *each = trial->each;
    outcome result = OUTCOME_RIGHT;
    memset(round, 0, sizeof *round);
    round->memory = make_memory(trial, NULL);
    for (size_t i = 0; i < each->output_count; i++) {
        round->read[i] = zt_buffer_new(each->outputs[i].size);
    }
    for (size_t i = 0; i < each->input_count && result == OUTCOME_RIGHT; i++) {
        memset(round->memory.inputs[i].data, 0xCD, round->memory.inputs[i].size);
        result = wrap(trial, &each->inputs[i].desc, &round->memory.inputs[i], &round->inputs[i]);
    }
    for (size_t i = 0; i < each->output_count && result == OUTCOME_RIGHT; i++) {
        result = wrap(trial, &each->outputs[i].desc, &round->memory.outputs[i], &round->outputs[i]);
    }
    return result;
}

static outcome put_inference(trial *trial, zb_queue *queue, zb_context *context, queue_round *round)
{
    const reference_case *each = trial->each;
    zb_slot_tensor tensors[2 * MOST_SLOTS];
    size_t count = 0;
    memset(tensors, 0, sizeof tensors);
    for (size_t i = 0; i < each->input_count; i++) {
        tensors[count].slot = trial->inputs[i];
        tensors[count++].tensor = round->inputs[i];
    }
    for (size_t i = 0; i < each->output_count; i++) {
        tensors[count].slot = trial->outputs[i];
        tensors[count++].tensor = round->outputs[i];
    }
    zb_status status = zb_queue_infer_with(queue, context, tensors, count, NULL, &round->inference);
    return status == ZB_OK ? OUTCOME_RIGHT : refuse(trial, status, "zb_queue_infer_with");
}

static outcome put_round(trial *trial, zb_queue *queue, zb_context *context, queue_round *round)
{
    const reference_case *each = trial->each;
    zb_status status = ZB_OK;
    for (size_t i = 0; i < each->input_count && status == ZB_OK; i++) {
        status = zb_queue_write(queue, round->inputs[i], 0, each->inputs[i].bytes, each->inputs[i].size, NULL);
    }
    if (status != ZB_OK) {
        return refuse(trial, status, "zb_queue_write");
    }
    outcome result = put_inference(trial, queue, context, round);
    for (size_t i = 0; i < each->output_count && result == OUTCOME_RIGHT; i++) {
        status = zb_queue_read(queue, round->outputs[i], 0, round->read[i].data, round->read[i].size, &round->reads[i]);
        result = status == ZB_OK ? OUTCOME_RIGHT : refuse(trial, status, "zb_queue_read");
    }
    return result;
}

static outcome wait_for(trial *trial, zb_event *event, const char *operation)
{
    zb_status ended = ZB_OK, status = zb_event_wait(event, PATIENCE_NS, &ended);
    char text[384] = "";
    if (status != ZB_OK) {
        return refuse(trial, status, "zb_event_wait");
    }
    if (ended == ZB_OK) {
        return OUTCOME_RIGHT;
    }
    status = zb_event_get_error(event, text, sizeof text, NULL);
    if (status != ZB_OK && status != ZB_ERROR_BUFFER_TOO_SMALL) {
        return refuse(trial, status, "zb_event_get_error");
    }
    trial->status = ended;
    snprintf(trial->why, sizeof trial->why, "%s: %s: %s", operation, zb_status_name(ended), text);
    return OUTCOME_REFUSED;
}

/* What was read is what lies in the tensor, and that is judged as after any other run. */
static outcome check_reads(trial *trial, const queue_round *round)
{
    for (size_t i = 0; i < trial->each->output_count; i++) {
        const reference_slot *slot = &trial->each->outputs[i];
        int whole = zt_check_guards(&round->read[i], __FILE__, __LINE__, slot->name);
        if (!whole || memcmp(round->read[i].data, round->memory.outputs[i].data, slot->size) != 0) {
            return wrong(trial, "zb_queue_read of %s gave other bytes than the tensor has", slot->name);
        }
    }
    return OUTCOME_RIGHT;
}

static outcome wait_round(trial *trial, queue_round *round)
{
    outcome result = wait_for(trial, round->inference, "the queued inference");
    for (size_t i = 0; i < trial->each->output_count && result == OUTCOME_RIGHT; i++) {
        result = wait_for(trial, round->reads[i], "the queued read");
    }
    return result == OUTCOME_RIGHT ? check_reads(trial, round) : result;
}

static outcome free_round(trial *trial, queue_round *round, outcome before)
{
    for (size_t i = 0; i < MOST_SLOTS; i++) {
        (void)zb_event_destroy(round->reads[i]);
        (void)zb_tensor_destroy(round->inputs[i]);
        (void)zb_tensor_destroy(round->outputs[i]);
        free(round->read[i].block);
    }
    (void)zb_event_destroy(round->inference);
    return free_memory(trial, &round->memory, before);
}

static outcome run_rounds(trial *trial, zb_queue *queue, zb_context *context, queue_round *rounds)
{
    outcome result = OUTCOME_RIGHT;
    for (int i = 0; i < ROUNDS && result == OUTCOME_RIGHT; i++) {
        result = put_round(trial, queue, context, &rounds[i]);
    }
    for (int i = 0; i < ROUNDS && result == OUTCOME_RIGHT; i++) {
        result = wait_round(trial, &rounds[i]);
    }
    /* also after a failure: until then the memory is the queue's */
    zb_status status = zb_queue_finish(queue, PATIENCE_NS);
    if (result == OUTCOME_RIGHT && status != ZB_OK) {
        return refuse(trial, status, "zb_queue_finish");
    }
    for (int i = 0; i < ROUNDS - 1 && result == OUTCOME_RIGHT; i++) {
        result = check_values(trial, &rounds[i].memory);
    }
    /* the report of the context is about the last run, so the proofs are for that round */
    return result == OUTCOME_RIGHT ? check_run(trial, context, &rounds[ROUNDS - 1].memory) : result;
}

outcome run_queue(trial *trial)
{
    zb_context *context = NULL;
    zb_queue *queue = NULL;
    queue_round rounds[ROUNDS];
    outcome result = make_context(trial, &context);
    if (result != OUTCOME_RIGHT) {
        return result;
    }
    zb_status status = zb_queue_create(NULL, &queue);
    result = status == ZB_OK ? OUTCOME_RIGHT : refuse(trial, status, "zb_queue_create");
    memset(rounds, 0, sizeof rounds);
    for (int i = 0; i < ROUNDS && result == OUTCOME_RIGHT; i++) {
        result = make_round(trial, &rounds[i]);
    }
    if (result == OUTCOME_RIGHT) {
        result = run_rounds(trial, queue, context, rounds);
    }
    (void)zb_queue_destroy(queue);
    (void)zb_context_destroy(context);
    for (int i = 0; i < ROUNDS; i++) {
        result = free_round(trial, &rounds[i], result);
    }
    return result;
}
