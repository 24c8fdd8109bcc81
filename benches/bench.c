/*
 * zerobind side by side with the engines' own C APIs, in one process, on the same library files, models and memory.
 *
 *     bench MODELS EXTRA [--quick] [--only=PREFIX] [--allocations]
 *
 * Prints a line of JSON for each case, and words for readers to stderr. benches/run.py makes the files of it.
 */
#include "cases.h"
#include "measure.h"

int main(int argc, char **argv)
{
    const char *usage = "usage: bench MODELS EXTRA [--quick] [--only=PREFIX] [--allocations]";
    if (bench_read_settings(argc, argv, usage) != 3) {
        fprintf(stderr, "%s\n", usage);
        return EXIT_FAILURE;
    }
    const case_folders folders = {argv[1], argv[2]};
    cases_small(&folders);
    cases_handles(&folders);
    cases_large(&folders);
    cases_real(&folders);
}
