#include "verdict.h"

#include "workers.h"

#include <signal.h>
#include <unistd.h>

const char *class_name(verdict_class class)
{
    static const char *const names[] = {"pass", "engine_cannot", "unsupported", "wrong"};
    return names[class];
}

const char *way_name(way way)
{
    static const char *const names[] = {"bound", "lent", "queue"};
    return names[way];
}

/* Opens the model and finds the slots by the names of the reference. */
static outcome open_model(trial *trial)
{
    const reference_case *each = trial->each;
    uint32_t inputs, outputs;
    zb_status status = zb_model_open(each->path, NULL, &trial->model);
    if (status != ZB_OK) {
        return refuse(trial, status, "zb_model_open");
    }
    status = zb_model_get_slot_counts(trial->model, &inputs, &outputs);
    for (size_t i = 0; i < each->input_count && status == ZB_OK; i++) {
        status = zb_model_find_input(trial->model, each->inputs[i].name, &trial->inputs[i]);
    }
    for (size_t i = 0; i < each->output_count && status == ZB_OK; i++) {
        status = zb_model_find_output(trial->model, each->outputs[i].name, &trial->outputs[i]);
    }
    if (status != ZB_OK) {
        return refuse(trial, status, "the slots of the model");
    }
    if (inputs != each->input_count || outputs != each->output_count) {
        return wrong(trial, "%u inputs and %u outputs instead of %zu and %zu", inputs, outputs, each->input_count,
                     each->output_count);
    }
    return OUTCOME_RIGHT;
}

/* What becomes of the first value that is no tensor of numbers, in a model that could be opened all the same. */
static outcome try_other_values(trial *trial)
{
    const reference_case *each = trial->each;
    for (size_t i = 0; i < each->input_count + each->output_count; i++) {
        const reference_slot *slot = i < each->input_count ? &each->inputs[i] : &each->outputs[i - each->input_count];
        char memory[64];
        zb_tensor *tensor = NULL;
        zb_status status = zb_tensor_wrap(&slot->desc, memory, sizeof memory, 0, NULL, NULL, &tensor);
        if (status == ZB_ERROR_UNSUPPORTED) {
            return refuse(trial, status, "zb_tensor_wrap");
        }
        (void)zb_tensor_destroy(tensor);
    }
    return wrong(trial, "a case with values that are no numeric tensors was refused nowhere");
}

static outcome run_way(trial *trial, way way)
{
    static outcome (*const ways[])(struct trial *) = {run_bound, run_lent, run_queue};
    trial->way = way;
    outcome result = ways[way](trial);
    if (result == OUTCOME_REFUSED && trial->status == ZB_ERROR_COPY_REQUIRED && !trial->may_copy) {
        trial->may_copy = 1;
        result = ways[way](trial);
    }
    return result;
}

static void prepare_control(trial *trial, const control *control, way way)
{
    trial->planted = PLANT_NOTHING;
    trial->may_copy = 0;
    if (control == NULL || strcmp(control->name, trial->each->name) != 0 || control->way != way) {
        return;
    }
    trial->planted = control->planted;
    trial->may_copy = is_planted(trial, PLANT_COPY);
    if (is_planted(trial, PLANT_CRASH)) {
        raise(SIGSEGV);
    }
    while (is_planted(trial, PLANT_HANG)) {
        pause();
    }
}

static outcome run_ways(trial *trial, const control *control, verdict *verdict)
{
    outcome result = OUTCOME_RIGHT;
    for (int way = 0; way < WAY_COUNT && result == OUTCOME_RIGHT; way++) {
        verdict->way = (enum way)way;
        prepare_control(trial, control, (enum way)way);
        result = run_way(trial, (enum way)way);
        verdict->copied |= trial->may_copy;
    }
    return result;
}

static outcome run_zerobind(trial *trial, const control *control, verdict *verdict)
{
    outcome result = open_model(trial);
    if (result == OUTCOME_RIGHT) {
        result = is_numeric(trial->each) ? run_ways(trial, control, verdict) : try_other_values(trial);
    }
    (void)zb_model_destroy(trial->model);
    if (is_planted(trial, PLANT_LEAK)) {
        zb_queue *left = NULL;
        REQUIRE_OK(zb_queue_create(NULL, &left));
    }
    if (!zt_soon_nothing_is_alive() && result != OUTCOME_WRONG) {
        result = wrong(trial, "objects of zerobind's are alive after all were destroyed");
    }
    return result;
}

static void decide(verdict *verdict, verdict_class class, const char *how, const char *why)
{
    verdict->class = class;
    snprintf(verdict->how, sizeof verdict->how, "%s", how);
    snprintf(verdict->why, sizeof verdict->why, "%s", why);
}

/* What zerobind and the engine alone made of the case: the engine excuses a refusal of zerobind's only by one of its own. */
static void judge(const trial *trial, outcome result, verdict *verdict)
{
    const raw_result *raw = trial->raw;
    int raw_refuses = raw->outcome == RAW_NO_SESSION || raw->outcome == RAW_RUN_FAILS;
    if (result == OUTCOME_RIGHT && raw->outcome != RAW_DIFFERS) {
        decide(verdict, CLASS_PASS, verdict->copied ? "copied" : "in-place", "");
    } else if (result == OUTCOME_RIGHT || (result == OUTCOME_REFUSED && raw_refuses)) {
        decide(verdict, CLASS_ENGINE_CANNOT, raw_outcome_name(raw->outcome), raw->why);
    } else if (result == OUTCOME_REFUSED && trial->status == ZB_ERROR_UNSUPPORTED) {
        decide(verdict, CLASS_UNSUPPORTED, zb_status_name(trial->status), trial->why);
    } else {
        decide(verdict, CLASS_WRONG, way_name(verdict->way), trial->why);
    }
}

/* The mapped reference is this process's own: the parent and later children do not see the change. */
static void corrupt_reference(const reference_case *each)
{
    union {
        const unsigned char *from;
        unsigned char *to;
    } bytes;
    bytes.from = each->outputs[0].bytes;
    bytes.to[each->outputs[0].size - 1] ^= 0x40;
}

void try_case(const reference_case *each, const control *control, verdict *verdict)
{
    raw_result raw;
    trial trial;
    int is_control = control != NULL && strcmp(control->name, each->name) == 0;
    if (is_control && control->planted == PLANT_DATA) {
        corrupt_reference(each);
    }
    verdict->stage = STAGE_RAW;
    run_raw(each, &raw);
    verdict->stage = STAGE_ZEROBIND;
    if (is_control && control->planted == PLANT_REFERENCE) {
        corrupt_reference(each);
    }
    memset(&trial, 0, sizeof trial);
    trial.each = each;
    trial.raw = &raw;
    outcome result = run_zerobind(&trial, control, verdict);
    verdict->tally = trial.tally;
    judge(&trial, result, verdict);
    free_raw(&raw);
    verdict->stage = STAGE_DONE;
}

void judge_crash(verdict *verdict, int signal, int exit_code)
{
    char text[128];
    describe_end(signal, exit_code, text, sizeof text);
    /* an exit is one of these programs' own: something that has to work did not */
    if (verdict->stage == STAGE_RAW && signal != 0) {
        decide(verdict, CLASS_ENGINE_CANNOT, "crashes", text);
    } else {
        decide(verdict, CLASS_WRONG, way_name(verdict->way), text);
    }
}
