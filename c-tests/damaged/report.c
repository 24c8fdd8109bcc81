#include "report.h"

#include <stdlib.h>
#include <string.h>

const char *const engine_names[ENGINES] = {"tflite", "onnxruntime"};

static const char *const stage_names[STAGES] = {"open", "context", "prepare", "zeros", "ones"};
static const char *const lane_names[LANES] = {"raw", "validator", "preflight"};

static mutant describe(const subject *model, const plan *plan, size_t number)
{
    unsigned char *copy = malloc(model->size);
    if (copy == NULL) {
        abort();
    }
    memcpy(copy, model->bytes, model->size);
    mutant made = make_mutant(plan, copy, model->size, number);
    free(copy);
    return made;
}

static void add_crash(tally *tally, const outcome *told, const mutant *made)
{
    tally->crashes++;
    tally->hangs += told->ended == ENDED_HUNG;
    tally->crashes_at[told->stage]++;
    tally->crashes_of[made->damage]++;
}

void count(tally *tally, const char *lane, const subject *model, const plan *plan, const outcome *outcomes,
           const outcome *raw, FILE *list)
{
    for (size_t number = 0; number < plan_total(plan); number++) {
        const outcome *told = &outcomes[number];
        mutant made = {DAMAGE_TRUNCATION, 0, ""};
        int is_crash = told->ended == ENDED_CRASHED || told->ended == ENDED_HUNG;
        int is_surprise = told->ended == ENDED_REFUSED && raw != NULL && raw[number].ended == ENDED_RAN;
        tally->mutants++;
        tally->ran += told->ended == ENDED_RAN;
        tally->refused += told->ended == ENDED_REFUSED;
        tally->refused_though_raw_ran += is_surprise ? 1u : 0u;
        if (is_crash || is_surprise) {
            made = describe(model, plan, number);
            fprintf(list, "%s\t%s\t%s\t%zu\t%s\t%d\t%s\t%s\n", is_crash ? "crash" : "refused", lane, model->path, number,
                    stage_names[told->stage], is_crash ? told->signal : told->status, made.text, told->text);
        }
        if (is_crash) {
            add_crash(tally, told, &made);
        }
    }
}

void print_table(tally tallies[ENGINES][LANES], const int has_lane[LANES])
{
    printf("\n%-12s %-10s %8s %8s %8s %8s %6s  %-34s %-30s %s\n", "engine", "lane", "mutants", "ran", "refused", "crashes",
           "hangs", "crashes at open/plan/run", "of cut/bits/word", "refused though raw ran");
    for (int engine = 0; engine < ENGINES; engine++) {
        for (int lane = 0; lane < LANES; lane++) {
            const tally *row = &tallies[engine][lane];
            if (!has_lane[lane] || row->mutants == 0) {
                continue;
            }
            char stages[64], damages[64];
            snprintf(stages, sizeof stages, "%zu / %zu / %zu", row->crashes_at[STAGE_OPEN],
                     row->crashes_at[STAGE_CONTEXT] + row->crashes_at[STAGE_PREPARE],
                     row->crashes_at[STAGE_ZEROS] + row->crashes_at[STAGE_ONES]);
            snprintf(damages, sizeof damages, "%zu / %zu / %zu", row->crashes_of[DAMAGE_TRUNCATION],
                     row->crashes_of[DAMAGE_BITS], row->crashes_of[DAMAGE_WORD]);
            printf("%-12s %-10s %8zu %8zu %8zu %8zu %6zu  %-34s %-30s %zu\n", engine_names[engine], lane_names[lane],
                   row->mutants, row->ran, row->refused, row->crashes, row->hangs, stages, damages,
                   row->refused_though_raw_ran);
        }
    }
    printf("\n");
}

int write_summary(const char *path, tally tallies[ENGINES][LANES], const int has_lane[LANES])
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return 0;
    }
    fprintf(file, "{");
    const char *between = "";
    for (int engine = 0; engine < ENGINES; engine++) {
        const tally *of = tallies[engine];
        if (of[LANE_RAW].mutants == 0) {
            continue;
        }
        fprintf(file, "%s\n  \"%s\": {\"mutants\": %zu", between, engine_names[engine], of[LANE_RAW].mutants);
        for (int lane = 0; lane < LANES; lane++) {
            if (has_lane[lane]) {
                fprintf(file, ",\n    \"%s_crashes\": %zu, \"%s_hangs\": %zu, \"%s_ran\": %zu, \"%s_refused\": %zu",
                        lane_names[lane], of[lane].crashes, lane_names[lane], of[lane].hangs, lane_names[lane],
                        of[lane].ran, lane_names[lane], of[lane].refused);
            }
        }
        fprintf(file, ",\n    \"refused_though_raw_ran\": %zu, \"hangs_count_as_crashes\": true}",
                of[LANE_VALIDATOR].refused_though_raw_ran);
        between = ",";
    }
    fprintf(file, "\n}\n");
    return fclose(file) == 0;
}
