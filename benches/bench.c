/*
 * zerobind side by side with the engines' own C APIs, in one process, on the same library files, models and memory.
 *
 *     bench MODELS EXTRA [--quick] [--only=PREFIX] [--allocations]
 *
 * Prints a line of JSON for each case, and words for readers to stderr. benches/run.py makes the files of it.
 */
#include "cases.h"
#include "measure.h"
#include "zerobind_side.h"

static void print_versions(void)
{
    static const int32_t runtimes[] = {ZB_RUNTIME_TFLITE, ZB_RUNTIME_ONNXRUNTIME};
    static const char *const names[] = {"tflite", "onnxruntime"};
    for (size_t i = 0; i < 2; i++) {
        zb_runtime_info info = ZB_RUNTIME_INFO_INIT;
        bench_ok(zb_runtime_load(runtimes[i], NULL), names[i]);
        bench_ok(zb_runtime_get_info(runtimes[i], &info), names[i]);
        printf("{\"runtime\": \"%s\", \"version\": \"%s\"}\n", names[i], info.version);
    }
}

int main(int argc, char **argv)
{
    const char *usage = "usage: bench MODELS EXTRA [--quick] [--only=PREFIX] [--allocations]";
    if (bench_read_settings(argc, argv, usage) != 3) {
        fprintf(stderr, "%s\n", usage);
        return EXIT_FAILURE;
    }
    const case_folders folders = {argv[1], argv[2]};
    print_versions();
    cases_small(&folders);
    cases_handles(&folders);
    cases_large(&folders);
    cases_real(&folders);
}
