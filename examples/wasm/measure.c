#define _POSIX_C_SOURCE 200809L

#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_RUNS 2048
/* calls for one sample of what is too short for a clock */
#define MANY_CALLS 500
#define PEAK_RUNS 5

/* One way to run the subject: its guest, and what it did. */
typedef struct runner {
    way_state state;
    streamer streamer;
    bytes input;
    unsigned runs;
    double *block_medians;
    uint64_t results[MOST_RUNS];
} runner;

bytes read_file(const char *path)
{
    bytes file = {NULL, 0};
    FILE *from = fopen(path, "rb");
    long size = -1;
    if (from != NULL && fseek(from, 0, SEEK_END) == 0) {
        size = ftell(from);
        rewind(from);
    }
    if (size >= 0) {
        file.data = malloc((size_t)size + 1);
        file.size = (size_t)size;
    }
    if (file.data != NULL && fread(file.data, 1, file.size, from) != file.size) {
        free(file.data);
        file.data = NULL;
    }
    if (from != NULL) {
        fclose(from);
    }
    return file;
}

/* Microseconds that this thread has computed, which is all that does: so other programs disturb less. Costs about 0.2. */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, unsigned count)
{
    qsort(values, count, sizeof *values, compare);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static int open_runner(runner *runner, const subject *subject, wasm_engine_t *engine, bytes guest, way way)
{
    zbw_options options = ZBW_OPTIONS_INIT;
    bytes model = read_file(subject->model);
    memset(runner, 0, sizeof *runner);
    runner->block_medians = calloc(subject->blocks, sizeof *runner->block_medians);
    if (model.data == NULL || runner->block_medians == NULL || way_start(&runner->state, way, subject->model, &options) != 0) {
        fprintf(stderr, "%s: cannot be read\n", subject->model);
        free(model.data);
        return -1;
    }
    int result = streamer_open(&runner->streamer, engine, &options, guest, model);
    free(model.data);
    if (result != 0) {
        fprintf(stderr, "%s: %s\n", subject->name, runner->streamer.embed.error);
        return -1;
    }
    if (subject->input != NULL) {
        runner->input = read_file(subject->input);
    } else {
        runner->input.size = streamer_tensor(&runner->streamer, 0).size;
        runner->input.data = calloc(1, runner->input.size);
    }
    return runner->input.data != NULL && runner->input.size >= streamer_tensor(&runner->streamer, 0).size ? 0 : -1;
}

static void close_runner(runner *runner)
{
    streamer_close(&runner->streamer);
    way_end(&runner->state);
    free(runner->input.data);
    free(runner->block_medians);
}

/* Gives the model its next part of the input, as the guest or its host would with either way. */
static void fill(runner *runner)
{
    bytes tensor = streamer_tensor(&runner->streamer, 0);
    size_t parts = runner->input.size / tensor.size;
    memcpy(tensor.data, (const char *)runner->input.data + runner->runs % parts * tensor.size, tensor.size);
}

/* A number for all that the run gave. */
static uint64_t result_of(runner *runner)
{
    uint64_t hash = 14695981039346656037u;
    for (uint32_t i = runner->streamer.inputs; i < runner->streamer.tensors; i++) {
        bytes tensor = streamer_tensor(&runner->streamer, i);
        const unsigned char *data = tensor.data;
        for (size_t j = 0; j < tensor.size; j++) {
            hash = (hash ^ data[j]) * 1099511628211u;
        }
    }
    return hash;
}

/* One inference; its time in microseconds, below 0 if it failed. */
static double run_once(runner *runner, uint32_t pages)
{
    fill(runner);
    if (streamer_grow(&runner->streamer, pages) != 0) {
        return -1;
    }
    double before = now();
    int result = streamer_step(&runner->streamer, 0);
    double after = now();
    if (result == 0) {
        runner->results[runner->runs % MOST_RUNS] = result_of(runner);
        runner->runs++;
    }
    return result == 0 ? after - before : -1;
}

/* The guest's call alone, which is too short to be timed by itself. */
static double call_many(runner *runner)
{
    double before = now();
    for (int i = 0; i < MANY_CALLS; i++) {
        if (streamer_step(&runner->streamer, 0) != 0) {
            return -1;
        }
    }
    return (now() - before) / MANY_CALLS;
}

static int run_block(runner *runner, unsigned block, unsigned runs, uint32_t pages)
{
    double times[MOST_RUNS];
    for (unsigned i = 0; i < runs; i++) {
        times[i] = runner->state.way == WAY_NOTHING ? call_many(runner) : run_once(runner, pages);
        if (times[i] < 0) {
            fprintf(stderr, "%s: %s\n", way_name(runner->state.way), runner->streamer.embed.error);
            return -1;
        }
    }
    runner->block_medians[block] = median(times, runs);
    return 0;
}

static unsigned share_that_is_right(const runner *tried, const runner *lending)
{
    unsigned right = 0;
    for (unsigned i = 0; i < tried->runs; i++) {
        right += tried->results[i] == lending->results[i];
    }
    return tried->runs > 0 ? right * 100 / tried->runs : 0;
}

int measure_times(const subject *subject, bytes guest, embed_growth growth, measured *measured)
{
    wasm_engine_t *engine = wasm_engine_new_with_config(embed_config(growth));
    runner *runners = calloc(WAYS, sizeof *runners);
    int result = runners != NULL && subject->blocks * subject->runs <= MOST_RUNS ? 0 : -1, opened = 0;
    while (result == 0 && opened < WAYS) {
        result = open_runner(&runners[opened], subject, engine, guest, (way)opened);
        opened++;
    }
    for (unsigned block = 0; block < subject->blocks && result == 0; block++) {
        for (int way = 0; way < WAYS && result == 0; way++) {
            result = run_block(&runners[way], block, subject->runs, growth == EMBED_MOVES);
        }
    }
    for (int way = 0; way < WAYS && result == 0; way++) {
        measured->microseconds[way] = median(runners[way].block_medians, subject->blocks);
        measured->right[way] = share_that_is_right(&runners[way], &runners[WAY_LEND]);
    }
    while (opened > 0) {
        close_runner(&runners[--opened]);
    }
    free(runners);
    wasm_engine_delete(engine);
    return result;
}

/* The most memory that was resident since reset_peak, in KiB. */
static long read_peak(void)
{
    char line[256];
    long peak = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
        if (strncmp(line, "VmHWM:", 6) == 0) {
            peak = strtol(line + 6, NULL, 10);
        }
    }
    if (status != NULL) {
        fclose(status);
    }
    return peak;
}

static int reset_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file == NULL) {
        return -1;
    }
    int result = fputs("5", file) >= 0 ? 0 : -1;
    return fclose(file) == 0 ? result : -1;
}

long measure_peak(const subject *subject, bytes guest, way way)
{
    wasm_engine_t *engine = wasm_engine_new_with_config(embed_config(EMBED_IN_PLACE));
    runner *runner = calloc(1, sizeof *runner);
    long peak = -1;
    if (runner != NULL && open_runner(runner, subject, engine, guest, way) == 0) {
        int result = reset_peak();
        for (int i = 0; i < PEAK_RUNS && result == 0; i++) {
            result = run_once(runner, 0) < 0 ? -1 : 0;
        }
        peak = result == 0 ? read_peak() : -1;
    }
    if (runner != NULL) {
        close_runner(runner);
    }
    free(runner);
    wasm_engine_delete(engine);
    return peak;
}
