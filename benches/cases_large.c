/* Much data for little work: where a copy is most of the time. */
#include "cases.h"
#include "pair.h"

void cases_large(const case_folders *folders)
{
    static const raw_engine *const engines[] = {&raw_onnxruntime, &raw_tflite};
    static const char *const cases[][2] = {
        {"big16_bound", "big16"},
        {"big64_bound", "big64"},
        /* reads 64 of 16 Mi bytes: as long as add4_bound takes, if nothing is copied */
        {"slice_bound", "slice16"},
    };
    for (size_t i = 0; i < 2; i++) {
        for (size_t j = 0; j < sizeof cases / sizeof *cases; j++) {
            const pair_case wanted = {cases[j][0], engines[i], cases[j][1], RAW_BOUND, 1, 1};
            pair_measure(folders->models, &wanted);
        }
    }
}
