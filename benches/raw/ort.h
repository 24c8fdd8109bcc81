/* ONNX Runtime's library, and what a session needs. */
#ifndef ZEROBIND_BENCHES_RAW_ORT_H
#define ZEROBIND_BENCHES_RAW_ORT_H

#include "ort_api.h"
#include "raw.h"

/* Loaded at the first call, from ZEROBIND_ONNXRUNTIME_LIB. */
const ort_api *ort_load(void);
OrtEnv *ort_environment(void);
OrtSession *ort_session(const model_source *source);
void ort_check(OrtStatus *status);

#endif
