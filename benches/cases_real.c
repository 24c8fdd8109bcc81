/* Networks that people use: most of the time is arithmetic, and a saved copy is next to nothing. */
#include "cases.h"
#include "pair.h"

void cases_real(const case_folders *folders)
{
    const struct {
        const char *folder;
        pair_case wanted;
    } cases[] = {
        {folders->models, {"real_pitch", &raw_onnxruntime, "basic_pitch", RAW_BOUND, 1, 1}},
        {folders->models, {"real_pitch", &raw_tflite, "basic_pitch_static", RAW_BOUND, 1, 1}},
        {folders->models, {"real_voice", &raw_onnxruntime, "silero_vad", RAW_BOUND, 1, 1}},
        {folders->extra, {"real_hand", &raw_tflite, "hand_landmark_lite", RAW_BOUND, 1, 1}},
        {folders->extra, {"real_detector", &raw_onnxruntime, "detector320", RAW_BOUND, 1, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pair_measure(cases[i].folder, &cases[i].wanted);
    }
}
