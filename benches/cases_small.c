/* Models that cost next to nothing, so that what zerobind costs can be seen. */
#include "cases.h"
#include "pair.h"

static void measure(const char *folder, const raw_engine *engine, const char *id, const char *model, enum raw_kind kind,
                    size_t sets)
{
    const pair_case wanted = {id, engine, model, kind, sets, 0};
    pair_measure(folder, &wanted);
}

void cases_small(const case_folders *folders)
{
    static const raw_engine *const engines[] = {&raw_onnxruntime, &raw_tflite};
    for (size_t i = 0; i < 2; i++) {
        measure(folders->models, engines[i], "add4_bound", "add4", RAW_BOUND, 1);
        measure(folders->models, engines[i], "add256_bound", "add256", RAW_BOUND, 1);
        /* always another address: more than anybody remembers */
        measure(folders->models, engines[i], "add4_lent", "add4", RAW_LENT, MOST_SETS);
        /* rings of buffers, as cameras and audio have */
        measure(folders->models, engines[i], "add4_lent_ring3", "add4", RAW_LENT, 3);
        measure(folders->models, engines[i], "add4_lent_ring32", "add4", RAW_LENT, 32);
        measure(folders->models, engines[i], "add4_rebind", "add4", RAW_REBIND, 2);
    }
}
