/*
 * Damaged models on both engines: the bare engine, zerobind, and zerobind after a preflight.
 *
 *   damaged DEPS FOLDER [--engine tflite|onnxruntime] [--cuts N] [--bits N] [--words N] [--seed N] [--jobs N]
 *           [--lane NAME]... [--models all] [--expect] [--least-raw N] [--most-validator N]
 *
 * DEPS is what the set-up made, FOLDER gets summary.json and list.txt. The counts are of each engine. With --expect it fails
 * unless the checks leave at most a tenth of the crashes, and the preflight none; and if the bare engine crashes less often
 * than --least-raw, since then the damage does none, or zerobind more often than --most-validator.
 */
#include "report.h"
#include "server.h"

#include <stdlib.h>
#include <string.h>

/* The first three of each engine are those of the figures; the rest are for --models all. */
static subject subjects[] = {
    {"models/okay_nabu.tflite", ENGINE_TFLITE, {{0, {0}}}, 0, NULL, 0},
    {"packages/pyopen_wakeword/pyopen_wakeword/models/hey_jarvis.tflite", ENGINE_TFLITE, {{0, {0}}}, 0, NULL, 0},
    {"models/embedding.tflite", ENGINE_TFLITE, {{0, {0}}}, 0, NULL, 0},
    {"models/melspectrogram.tflite", ENGINE_TFLITE, {{2, {1, 1280}}}, 0, NULL, 0},
    {"models/basic_pitch.tflite", ENGINE_TFLITE, {{0, {0}}}, 0, NULL, 0},
    {"packages/pyopen_wakeword/pyopen_wakeword/models/hey_rhasspy.tflite", ENGINE_TFLITE, {{0, {0}}}, 0, NULL, 0},
    {"packages/silero_vad/silero_vad/data/silero_vad_16k_sequence.onnx", ENGINE_ONNXRUNTIME, {{2, {1, 576}}}, 0, NULL, 0},
    {"models/basic_pitch.onnx", ENGINE_ONNXRUNTIME, {{0, {0}}}, 0, NULL, 0},
    {"packages/silero_vad/silero_vad/data/silero_vad_16k_op15.onnx", ENGINE_ONNXRUNTIME, {{2, {1, 576}}, {3, {2, 1, 128}}}, 16000, NULL, 0},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects, STANDARD = 3 };

typedef struct settings {
    const char *deps, *folder;
    int engine, jobs, lanes, has_all_models, is_expected;
    size_t least_raw, most_validator;
    plan plan; /* of an engine */
} settings;

static const lane *const lanes[LANES] = {&lane_raw, &lane_validator, &lane_preflight};

static void fail(const char *what, const char *which)
{
    fprintf(stderr, "damaged: %s%s\n", what, which);
    exit(EXIT_FAILURE);
}

static int lane_of(const char *name)
{
    for (int lane = 0; lane < LANES; lane++) {
        if (lanes[lane] != NULL && strcmp(lanes[lane]->name, name) == 0) {
            return lane;
        }
    }
    fail("no such lane: ", name);
    return 0;
}

static settings read_arguments(int argc, char **argv)
{
    settings wanted = {NULL, NULL, -1, 1, 0, 0, 0, 0, SIZE_MAX, {{1200, 2400, 3000}, 9}};
    if (argc < 3) {
        fail("usage: damaged DEPS FOLDER [options]", "");
    }
    wanted.deps = argv[1];
    wanted.folder = argv[2];
    for (int i = 3; i < argc; i++) {
        const char *key = argv[i];
        if (strcmp(key, "--expect") == 0) {
            wanted.is_expected = 1;
            continue;
        }
        if (++i == argc) {
            fail("no value after ", key);
        }
        size_t number = strtoull(argv[i], NULL, 10);
        if (strcmp(key, "--engine") == 0) {
            wanted.engine = strcmp(argv[i], engine_names[ENGINE_TFLITE]) == 0 ? ENGINE_TFLITE : ENGINE_ONNXRUNTIME;
        } else if (strcmp(key, "--cuts") == 0) {
            wanted.plan.count[DAMAGE_TRUNCATION] = number;
        } else if (strcmp(key, "--bits") == 0) {
            wanted.plan.count[DAMAGE_BITS] = number;
        } else if (strcmp(key, "--words") == 0) {
            wanted.plan.count[DAMAGE_WORD] = number;
        } else if (strcmp(key, "--seed") == 0) {
            wanted.plan.seed = number;
        } else if (strcmp(key, "--jobs") == 0) {
            wanted.jobs = number > 0 && number <= 64 ? (int)number : 1;
        } else if (strcmp(key, "--lane") == 0) {
            wanted.lanes |= 1 << lane_of(argv[i]);
        } else if (strcmp(key, "--least-raw") == 0) {
            wanted.least_raw = number;
        } else if (strcmp(key, "--most-validator") == 0) {
            wanted.most_validator = number;
        } else if (strcmp(key, "--models") == 0) {
            wanted.has_all_models = 1;
        } else {
            fail("no such option: ", key);
        }
    }
    return wanted;
}

static void read_model(subject *model, const char *deps)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", deps, model->path);
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        fail("cannot read ", path);
    }
    model->size = (size_t)ftell(file);
    rewind(file);
    model->bytes = aligned_alloc(64, (model->size + 127) / 64 * 64);
    if (model->bytes == NULL || fread(model->bytes, 1, model->size, file) != model->size) {
        fail("cannot read ", path);
    }
    fclose(file);
}

static int is_wanted(const settings *wanted, size_t index)
{
    size_t before = 0;
    for (size_t other = 0; other < index; other++) {
        before += subjects[other].engine == subjects[index].engine;
    }
    return (wanted->engine < 0 || wanted->engine == subjects[index].engine) &&
           (wanted->has_all_models || before < STANDARD);
}

/* The share of one model. */
static plan share(const settings *wanted, size_t index)
{
    plan part = wanted->plan;
    size_t models = 0;
    for (size_t other = 0; other < SUBJECTS; other++) {
        models += is_wanted(wanted, other) && subjects[other].engine == subjects[index].engine;
    }
    for (int damage = 0; damage < DAMAGES; damage++) {
        part.count[damage] /= models;
    }
    return part;
}

/* An undamaged model must run in every lane, else its figures say nothing. */
static void check_whole(const lane *lane, const subject *model)
{
    static const plan nothing = {{0, 1, 0}, 0};
    subject whole = *model;
    unsigned char *copy = malloc(model->size);
    outcome *told = make_outcomes(1);
    if (copy == NULL || told == NULL) {
        fail("out of memory", "");
    }
    memcpy(copy, model->bytes, model->size);
    whole.bytes = copy;
    make_mutant(&nothing, copy, whole.size, 0);
    /* the same bits again: the trial flips them back */
    if (!run_lane(lane, &whole, &nothing, 1, told) || told->ended != ENDED_RAN) {
        fprintf(stderr, "damaged: %s: ended %d at stage %d: %s\n", lane->name, told->ended, told->stage, told->text);
        fail("does not run undamaged: ", model->path);
    }
    free(copy);
}

static void run_model(const settings *wanted, size_t index, int lane_mask, tally tallies[LANES], FILE *list)
{
    plan part = share(wanted, index);
    outcome *outcomes[LANES] = {NULL};
    for (int lane = 0; lane < LANES; lane++) {
        if ((lane_mask >> lane & 1) == 0) {
            continue;
        }
        check_whole(lanes[lane], &subjects[index]);
        outcomes[lane] = make_outcomes(plan_total(&part));
        if (outcomes[lane] == NULL || !run_lane(lanes[lane], &subjects[index], &part, wanted->jobs, outcomes[lane])) {
            fail("a server failed with ", subjects[index].path);
        }
        tally before = tallies[lane];
        count(&tallies[lane], lanes[lane]->name, &subjects[index], &part, outcomes[lane],
              lane == LANE_RAW ? NULL : outcomes[LANE_RAW], list);
        printf("%s %s: %zu mutants, %zu crashes\n", subjects[index].path, lanes[lane]->name,
               tallies[lane].mutants - before.mutants, tallies[lane].crashes - before.crashes);
        fflush(stdout);
    }
}

/* Whether what is hoped for holds. */
static int holds(const settings *wanted, tally tallies[ENGINES][LANES], const int has_lane[LANES])
{
    int is_well = 1;
    for (int engine = 0; engine < ENGINES; engine++) {
        const tally *of = tallies[engine];
        if (of[LANE_RAW].mutants > 0 && of[LANE_RAW].crashes < wanted->least_raw) {
            fprintf(stderr, "%s: only %zu crashes of the bare engine: the damage does none\n", engine_names[engine],
                    of[LANE_RAW].crashes);
            is_well = 0;
        }
        if (of[LANE_VALIDATOR].crashes > wanted->most_validator) {
            fprintf(stderr, "%s: %zu crashes through zerobind, and there were %zu\n", engine_names[engine],
                    of[LANE_VALIDATOR].crashes, wanted->most_validator);
            is_well = 0;
        }
        if (has_lane[LANE_VALIDATOR] && 10 * of[LANE_VALIDATOR].crashes > of[LANE_RAW].crashes) {
            fprintf(stderr, "%s: %zu crashes are left of %zu: more than a tenth\n", engine_names[engine],
                    of[LANE_VALIDATOR].crashes, of[LANE_RAW].crashes);
            is_well = 0;
        }
        if (has_lane[LANE_PREFLIGHT] && of[LANE_PREFLIGHT].crashes > 0) {
            fprintf(stderr, "%s: %zu crashes after a preflight\n", engine_names[engine], of[LANE_PREFLIGHT].crashes);
            is_well = 0;
        }
    }
    return is_well;
}

static FILE *open_list(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/list.txt", folder);
    FILE *list = fopen(path, "w");
    if (list == NULL) {
        fail("cannot write ", path);
    }
    return list;
}

int main(int argc, char **argv)
{
    static tally tallies[ENGINES][LANES];
    int has_lane[LANES];
    char path[4096];
    settings wanted = read_arguments(argc, argv);
    FILE *list = open_list(wanted.folder);
    for (int lane = 0; lane < LANES; lane++) {
        has_lane[lane] = lanes[lane] != NULL && (wanted.lanes == 0 || (wanted.lanes >> lane & 1) != 0);
    }
    int lane_mask = has_lane[0] | has_lane[1] << 1 | has_lane[2] << 2;
    for (size_t index = 0; index < SUBJECTS; index++) {
        if (is_wanted(&wanted, index)) {
            read_model(&subjects[index], wanted.deps);
            run_model(&wanted, index, lane_mask, tallies[subjects[index].engine], list);
        }
    }
    fclose(list);
    print_table(tallies, has_lane);
    snprintf(path, sizeof path, "%s/summary.json", wanted.folder);
    if (!write_summary(path, tallies, has_lane)) {
        fail("cannot write ", path);
    }
    return wanted.is_expected && !holds(&wanted, tallies, has_lane) ? EXIT_FAILURE : EXIT_SUCCESS;
}
