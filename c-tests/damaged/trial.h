/* What is done with one damaged model: opened, planned, run on zeros and on ones. Each way to do it is a lane. */
#ifndef ZEROBIND_DAMAGED_TRIAL_H
#define ZEROBIND_DAMAGED_TRIAL_H

#include <stddef.h>
#include <stdint.h>

enum { STAGE_OPEN, STAGE_CONTEXT, STAGE_PREPARE, STAGE_ZEROS, STAGE_ONES, STAGES };
enum { ENDED_UNKNOWN, ENDED_RAN, ENDED_REFUSED, ENDED_CRASHED, ENDED_HUNG };
enum { ENGINE_TFLITE, ENGINE_ONNXRUNTIME, ENGINES };

/* How one trial ended; in memory that the processes share. */
typedef struct outcome {
    volatile int stage;    /* how far it was */
    volatile int ended;    /* ENDED_, set by the trial itself only for RAN and REFUSED */
    int signal;            /* what it died of */
    int status;            /* zb_status, or the engine's own */
    uint32_t milliseconds; /* how long it took */
    char text[236];        /* why it was refused */
} outcome;

enum { MOST_SHAPES = 2 };

typedef struct shape {
    uint32_t rank;
    int64_t dims[4];
} shape;

/* A real model. */
typedef struct subject {
    const char *path; /* below .deps */
    int engine;
    /* of the first inputs, where they have open dimensions; rank 0: 1 for each open dimension */
    shape shapes[MOST_SHAPES];
    /* what inputs of 64-bit numbers are filled with, where a model takes few values; 0: zeros and ones */
    int64_t number;
    unsigned char *bytes;
    size_t size;
} subject;

/* One way to open and run; the first function is called once, in the process that forks for each trial. */
typedef struct lane {
    const char *name;
    void (*preload)(int engine);
    /* Works through the stages. Crashing is allowed. */
    void (*run)(const subject *model, const unsigned char *bytes, size_t size, outcome *told);
} lane;

extern const lane lane_raw, lane_validator, lane_preflight;

/* The largest tensor that zerobind is asked to allow. */
enum { MOST_TENSOR_BYTES = 256 << 20 };

/* What a host does with a result. */
void look_at(const void *data, size_t size);
/* What an open dimension of an input becomes. */
int64_t open_dim(const subject *model, size_t input, size_t dim);
/* Ends the trial as refused; the text is cut to what there is room for. */
void refuse(outcome *told, int status, const char *text);
/* Every element becomes 0 or 1, or what the model needs. */
void fill(const subject *model, void *data, size_t bytes, int dtype, int value);

void raw_tflite_preload(void);
void raw_tflite_run(const subject *model, const unsigned char *bytes, size_t size, outcome *told);
void raw_ort_preload(void);
void raw_ort_run(const subject *model, const unsigned char *bytes, size_t size, outcome *told);

#endif
