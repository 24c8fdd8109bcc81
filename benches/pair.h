/* Both sides of a case on one model: opened, proved to compute the same, measured. */
#ifndef ZEROBIND_BENCHES_PAIR_H
#define ZEROBIND_BENCHES_PAIR_H

#include "measure.h"
#include "zerobind_side.h"

typedef struct pair_case {
    const char *id;
    const raw_engine *engine;
    const char *model; /* its name, see model_named */
    enum raw_kind kind;
    size_t sets; /* that take turns */
    /* The copying path of the same engine is a side too, and of the raw ways only the first is: what they differ in is
       nothing beside so much work. */
    int copied;
} pair_case;

/* Measures one kind of run of a model, if it is asked for; `folder` has NAME.onnx or NAME.tflite. */
void pair_measure(const char *folder, const pair_case *wanted);

#endif
