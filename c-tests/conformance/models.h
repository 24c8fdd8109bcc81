/* The real TFLite models that the set-up found in packages. */
#ifndef ZEROBIND_CONFORMANCE_MODELS_H
#define ZEROBIND_CONFORMANCE_MODELS_H

#include "harness.h"

enum { MOST_RESIZES = 4 };

typedef struct model_resize {
    int input, rank, dims[ZB_MAX_RANK];
} model_resize;

typedef struct real_model {
    char name[96];
    char path[1024];
    /* made of the one before it in the list, and no model of a package itself */
    int is_derived;
    /* what an input is given before the model is planned, where its declared shape is not one to run */
    model_resize resizes[MOST_RESIZES];
    size_t resize_count;
} real_model;

/* All models of DATA/tflite.txt, in an array of the caller's to free. */
real_model *read_models(const char *folder, size_t *count);

#endif
