/*
 * Runs for callgrind to count the instructions of: benches/guard.py starts it so.
 *
 *     bench_guard MODELS tflite|onnxruntime bound|lent|rebound RUNS
 *
 * Instructions are counted inside counted_runs and nowhere else, after runs enough for everything to be warm.
 */
#include "zerobind_side.h"

enum { WARM_UP = 2 * MOST_SETS };

/* Found by name, so it is not inlined; it gives something back, so that it does not end in a jump either. */
size_t counted_runs(zerobind_side *side, void (*run)(void *, size_t), size_t runs);

__attribute__((noinline)) size_t counted_runs(zerobind_side *side, void (*run)(void *, size_t), size_t runs)
{
    run(side, runs);
    return runs;
}

typedef struct kind_of_run {
    const char *name;
    enum raw_kind kind;
    size_t sets;
    void (*run)(void *side, size_t count);
} kind_of_run;

static const kind_of_run KINDS[] = {
    {"bound", RAW_BOUND, 1, zerobind_run_bound},
    {"lent", RAW_LENT, MOST_SETS, zerobind_run_lent},
    {"rebound", RAW_REBIND, 2, zerobind_run_rebound},
};

static const kind_of_run *kind_named(const char *name)
{
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
        if (strcmp(KINDS[i].name, name) == 0) {
            return &KINDS[i];
        }
    }
    return NULL;
}

static void count(const char *path, const model_spec *spec, const kind_of_run *kind, size_t runs)
{
    model_memory *memory = model_memory_new(spec, kind->sets);
    zerobind_side *side = zerobind_open(path, memory, kind->kind);
    kind->run(side, WARM_UP);
    REQUIRE(counted_runs(side, kind->run, runs) == runs, "all runs");
    zerobind_require_direct(side);
    zerobind_close(side);
    model_memory_free(memory);
}

int main(int argc, char **argv)
{
    long runs = argc == 5 ? strtol(argv[4], NULL, 10) : 0;
    const kind_of_run *kind = argc == 5 ? kind_named(argv[3]) : NULL;
    REQUIRE(runs > 0 && kind != NULL, "usage: bench_guard MODELS tflite|onnxruntime bound|lent|rebound RUNS");
    int is_tflite = strcmp(argv[2], "tflite") == 0;
    const model_spec *spec = model_named(is_tflite ? "add256" : "add4");
    char *path = bench_path(argv[1], spec->name, is_tflite ? ".tflite" : ".onnx");
    count(path, spec, kind, (size_t)runs);
    free(path);
}
