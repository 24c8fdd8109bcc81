/*
 * Runs for callgrind to count the instructions of: benches/guard.py starts it so.
 *
 *     bench_guard MODELS tflite|onnxruntime bound|lent RUNS
 *
 * Instructions are counted inside counted_runs and nowhere else, after runs enough for everything to be warm.
 */
#include "zerobind_side.h"

enum { WARM_UP = 64, LENT_SETS = 8 };

/* Found by name, so it is not inlined; it gives something back, so that it does not end in a jump either. */
size_t counted_runs(zerobind_side *side, void (*run)(void *, size_t), size_t runs);

__attribute__((noinline)) size_t counted_runs(zerobind_side *side, void (*run)(void *, size_t), size_t runs)
{
    run(side, runs);
    return runs;
}

static void count(const char *path, const model_spec *spec, enum raw_kind kind, size_t runs)
{
    model_memory *memory = model_memory_new(spec, kind == RAW_LENT ? LENT_SETS : 1);
    zerobind_side *side = zerobind_open(path, memory, kind);
    void (*run)(void *, size_t) = kind == RAW_LENT ? zerobind_run_lent : zerobind_run_bound;
    run(side, WARM_UP);
    REQUIRE(counted_runs(side, run, runs) == runs, "all runs");
    zerobind_require_direct(side);
    zerobind_close(side);
    model_memory_free(memory);
}

int main(int argc, char **argv)
{
    long runs = argc == 5 ? strtol(argv[4], NULL, 10) : 0;
    REQUIRE(runs > 0, "usage: bench_guard MODELS tflite|onnxruntime bound|lent RUNS");
    int is_tflite = strcmp(argv[2], "tflite") == 0;
    const model_spec *spec = model_named(is_tflite ? "add256" : "add4");
    char *path = bench_path(argv[1], spec->name, is_tflite ? ".tflite" : ".onnx");
    count(path, spec, strcmp(argv[3], "lent") == 0 ? RAW_LENT : RAW_BOUND, (size_t)runs);
    free(path);
}
