#include "pair.h"

/* how often everything is opened anew, which takes long for large models */
enum { OPENINGS = 6, OPENINGS_OF_LARGE = 4 };

typedef struct kind_of_run {
    const char *name;
    void (*zerobind)(void *side, size_t count);
} kind_of_run;

static const kind_of_run KINDS[RAW_KINDS] = {
    [RAW_BOUND] = {"zb_infer", zerobind_run_bound},
    [RAW_LENT] = {"zb_infer_with", zerobind_run_lent},
    [RAW_REBIND] = {"zb_tensor_bind, zb_infer", zerobind_run_rebound},
};

typedef struct pair {
    const raw_engine *engine;
    model_memory *memory;
    void *raw[2], *copied;
    zerobind_side *zerobind;
} pair;

/* What the engine computes by the first way is what all others must compute, with new memory each time. */
static unsigned char *expected_outputs(const pair *opened, const raw_way *way)
{
    model_memory_spoil(opened->memory);
    opened->engine->rewind(opened->raw[0]);
    way->run(opened->raw[0], opened->memory->sets);
    return model_memory_copy_outputs(opened->memory, opened->memory->sets);
}

static void require_same(const pair *opened, const bench_side *side, const unsigned char *expected)
{
    model_memory_spoil(opened->memory);
    opened->engine->rewind(opened->raw[0]);
    opened->engine->rewind(opened->raw[1]);
    zerobind_rewind(opened->zerobind);
    side->run(side->state, opened->memory->sets);
    model_memory_require_outputs(opened->memory, expected, opened->memory->sets, side->name);
}

static void add_sides(const pair *opened, bench_case *made, enum raw_kind kind)
{
    const raw_engine *engine = opened->engine;
    const size_t most = opened->copied != NULL ? 1 : MOST_WAYS;
    for (const raw_way *way = engine->ways[kind]; made->raw < most && way->name != NULL; way++, made->raw++) {
        made->sides[made->raw] = (bench_side){way->name, way->run, opened->raw[0]};
        made->again[made->raw] = (bench_side){way->name, way->run, opened->raw[1]};
    }
    made->count = made->raw;
    made->sides[made->count++] = (bench_side){KINDS[kind].name, KINDS[kind].zerobind, opened->zerobind};
    if (opened->copied != NULL) {
        const raw_way *ways = engine->ways[RAW_COPIED];
        for (const raw_way *way = ways; way < ways + MOST_WAYS && way->name != NULL; way++) {
            made->sides[made->count++] = (bench_side){way->name, way->run, opened->copied};
        }
    }
}

static void prove(const pair *opened, const bench_case *made, enum raw_kind kind)
{
    unsigned char *expected = expected_outputs(opened, &opened->engine->ways[kind][0]);
    for (size_t side = 0; side < made->count; side++) {
        require_same(opened, &made->sides[side], expected);
    }
    for (size_t side = 0; side < made->raw; side++) {
        require_same(opened, &made->again[side], expected);
    }
    free(expected);
}

static void measure_opened(const pair *opened, const pair_case *wanted, size_t part, size_t parts)
{
    bench_case made = {.id = wanted->id, .engine = opened->engine->name, .copies_are_known = 1};
    add_sides(opened, &made, wanted->kind);
    prove(opened, &made, wanted->kind);
    made.bytes_copied = zerobind_require_direct(opened->zerobind);
    bench_measure_part(&made, part, parts);
    prove(opened, &made, wanted->kind);
}

static void open_all(pair *opened, const char *path, const pair_case *wanted, size_t part)
{
    const raw_engine *engine = wanted->engine;
    const model_source source = {path, NULL, 0};
    opened->raw[part % 2] = engine->open(&source, opened->memory, wanted->kind);
    opened->zerobind = zerobind_open(path, opened->memory, wanted->kind);
    opened->raw[1 - part % 2] = engine->open(&source, opened->memory, wanted->kind);
    opened->copied = wanted->copied ? engine->open(&source, opened->memory, RAW_COPIED) : NULL;
}

static void close_all(pair *opened)
{
    zerobind_close(opened->zerobind);
    opened->engine->close(opened->raw[0]);
    opened->engine->close(opened->raw[1]);
    if (opened->copied != NULL) {
        opened->engine->close(opened->copied);
    }
}

static void measure_file(const char *path, const pair_case *wanted)
{
    const size_t parts = bench.is_quick ? 1 : wanted->copied ? OPENINGS_OF_LARGE : OPENINGS;
    for (size_t part = 0; part < parts; part++) {
        pair opened = {.engine = wanted->engine, .memory = model_memory_new(model_named(wanted->model), wanted->sets)};
        open_all(&opened, path, wanted, part);
        measure_opened(&opened, wanted, part, parts);
        close_all(&opened);
        model_memory_free(opened.memory);
    }
}

void pair_measure(const char *folder, const pair_case *wanted)
{
    if (!bench_wants(wanted->id)) {
        return;
    }
    char *path = bench_path(folder, wanted->model, wanted->engine->ending);
    if (bench_file_exists(path)) {
        measure_file(path, wanted);
    } else {
        bench_skip(wanted->id, wanted->engine->name, "the model is not there; `make bench` fetches or makes it");
    }
    free(path);
}
