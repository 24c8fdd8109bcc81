#include "load_child.h"
#include "raw/ort.h"
#include "raw/tflite.h"

static const raw_engine *engine_of(const load_job *job)
{
    return job->is_tflite ? &raw_tflite : &raw_onnxruntime;
}

typedef struct opened_model {
    const raw_engine *engine;
    void *raw;
} opened_model;

void load_engine(const load_job *job)
{
    REQUIRE(strcmp(job->how, "copy") != 0, "the engines have no such way");
    if (job->is_tflite) {
        tfl_load();
    } else {
        ort_environment();
    }
}

void *load_open_and_run(const load_job *job)
{
    opened_model *opened = malloc(sizeof *opened);
    REQUIRE(opened != NULL, "out of memory");
    opened->engine = engine_of(job);
    const model_source source = {job->bytes == NULL ? job->path : NULL, job->bytes, job->size};
    opened->raw = opened->engine->open(&source, job->memory, RAW_BOUND);
    opened->engine->ways[RAW_BOUND][0].run(opened->raw, 1);
    return opened;
}

void load_close(void *opened_pointer)
{
    opened_model *opened = opened_pointer;
    opened->engine->close(opened->raw);
    free(opened);
}
