/*
 * What loading costs, in a process for each measurement.
 *
 *     bench_load MODELS EXTRA [--quick] [--only=PREFIX]
 *
 * The children bench_load_raw and bench_load_zerobind lie beside this program. They take turns as blocks do elsewhere: A B B A.
 * Before each, the pages of the model's file are dropped from the system's cache, as far as the system lets them go.
 */
#include "common.h"

#include <fcntl.h>
#include <libgen.h>
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"
#include "statistics.h"

enum { MOST_ROUNDS = 100 };

typedef struct load_result {
    double engine_ns, cold_ns, warm_ns, resident, anonymous, peak;
} load_result;

typedef struct load_case {
    const char *engine, *folder, *file, *model, *how;
    long again;
} load_case;

static const char *here; /* the folder of the programs */

static void drop_from_cache(const char *path)
{
    int file = open(path, O_RDONLY);
    REQUIRE(file >= 0, "cannot open %s", path);
    fdatasync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
}

static load_result run_child(const load_case *measured, const char *side)
{
    char *path = bench_path(measured->folder, measured->file, ""), program[1024], again[16];
    int ends[2];
    load_result result;
    drop_from_cache(path);
    snprintf(program, sizeof program, "%s/bench_load_%s", here, side);
    snprintf(again, sizeof again, "%ld", measured->again);
    REQUIRE(pipe(ends) == 0, "no pipe");
    pid_t child = fork();
    REQUIRE(child >= 0, "cannot fork");
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(program, program, measured->engine, path, measured->model, measured->how, again, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *answer = fdopen(ends[0], "r");
    int fields = answer == NULL ? 0
                                : fscanf(answer, "%lf %lf %lf %lf %lf %lf", &result.engine_ns, &result.cold_ns, &result.warm_ns,
                                         &result.resident, &result.anonymous, &result.peak);
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0 && fields == 6, "%s failed on %s", program, path);
    fclose(answer);
    free(path);
    return result;
}

/* [round]: raw, zerobind, zerobind, raw */
static load_result results[MOST_ROUNDS][4];

static void run_children(const load_case *measured, size_t rounds, int has_raw)
{
    static const char *const order[] = {"raw", "zerobind", "zerobind", "raw"};
    for (size_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < 4; i++) {
            results[round][i] = has_raw || i == 1 || i == 2 ? run_child(measured, order[i]) : (load_result){0};
        }
    }
}

static double field_of(const load_result *result, size_t offset)
{
    double value;
    memcpy(&value, (const char *)result + offset, sizeof value);
    return value;
}

#define FIELD(name) offsetof(load_result, name)

/* Of two columns. */
static size_t collect(double *values, size_t offset, size_t rounds, size_t first, size_t second)
{
    for (size_t round = 0; round < rounds; round++) {
        values[2 * round] = field_of(&results[round][first], offset);
        values[2 * round + 1] = field_of(&results[round][second], offset);
    }
    return 2 * rounds;
}

static double median_of(size_t offset, size_t rounds, size_t first, size_t second)
{
    double values[2 * MOST_ROUNDS];
    size_t count = collect(values, offset, rounds, first, second);
    return statistics_median(values, count);
}

typedef struct bounds {
    double least, most;
} bounds;

static bounds bounds_of(size_t offset, size_t rounds, size_t first, size_t second)
{
    double values[2 * MOST_ROUNDS];
    size_t count = collect(values, offset, rounds, first, second);
    bounds bounds = {INFINITY, -INFINITY};
    for (size_t i = 0; i < count; i++) {
        bounds.least = fmin(bounds.least, values[i]);
        bounds.most = fmax(bounds.most, values[i]);
    }
    return bounds;
}

static double raw_median(size_t offset, size_t rounds)
{
    return median_of(offset, rounds, 0, 3);
}

static double zerobind_median(size_t offset, size_t rounds)
{
    return median_of(offset, rounds, 1, 2);
}

static void print_time(const char *id, const load_case *measured, size_t rounds, size_t offset)
{
    char details[256];
    double ratios[MOST_ROUNDS], deltas[MOST_ROUNDS], same[MOST_ROUNDS];
    for (size_t round = 0; round < rounds; round++) {
        double raw = field_of(&results[round][0], offset) + field_of(&results[round][3], offset);
        double zerobind = field_of(&results[round][1], offset) + field_of(&results[round][2], offset);
        ratios[round] = zerobind / raw;
        deltas[round] = (zerobind - raw) / 2;
        same[round] = fabs(field_of(&results[round][3], offset) / field_of(&results[round][0], offset) - 1);
    }
    bench_figures figures = {raw_median(offset, rounds), zerobind_median(offset, rounds), statistics_median(ratios, rounds),
                             statistics_median(deltas, rounds), statistics_median(same, rounds), -1, 0};
    snprintf(details, sizeof details, "\"model\": \"%s\", \"blocks\": %zu, \"noise_of\": \"one process against another\"",
             measured->file, 2 * rounds);
    fprintf(stderr, "%-16s %-12s raw %12.0f ns  zerobind %12.0f ns  ratio %.3f\n", id, measured->engine, figures.raw_ns,
            figures.zerobind_ns, figures.ratio);
    bench_print(id, measured->engine, &figures, details);
}

/* Memory is compared by the least of all processes: what an engine keeps of its heap beyond that differs from one process to the
   next in steps (ONNX Runtime: 1.4 MB), whoever opened the model. */
static void print_bytes(const char *id, const load_case *measured, size_t rounds, size_t offset, int has_raw)
{
    char details[512], of_raw[160] = "\"raw_bytes\": null, \"extra_bytes\": null";
    const bench_figures figures = {-1, -1, -1, -1, -1, -1, strcmp(measured->how, "copy") == 0 ? -1 : 0};
    const bounds zerobind = bounds_of(offset, rounds, 1, 2);
    if (has_raw) {
        const bounds raw = bounds_of(offset, rounds, 0, 3);
        snprintf(of_raw, sizeof of_raw, "\"raw_bytes\": %.0f, \"raw_most_bytes\": %.0f, \"extra_bytes\": %.0f", raw.least,
                 raw.most, zerobind.least - raw.least);
    }
    snprintf(details, sizeof details,
             "\"model\": \"%s\", \"blocks\": %zu, %s, \"zerobind_bytes\": %.0f, \"zerobind_most_bytes\": %.0f", measured->file,
             2 * rounds, of_raw, zerobind.least, zerobind.most);
    fprintf(stderr, "%-16s %-12s %s  zerobind %.0f to %.0f bytes\n", id, measured->engine, of_raw, zerobind.least, zerobind.most);
    bench_print(id, measured->engine, &figures, details);
}

typedef struct load_figure {
    const char *id;
    size_t offset;
    void (*print)(const char *id, const load_case *measured, size_t rounds, size_t offset);
} load_figure;

static void print_bytes_of_both(const char *id, const load_case *measured, size_t rounds, size_t offset)
{
    print_bytes(id, measured, rounds, offset, 1);
}

static const load_figure FIGURES[] = {
    {"load_engine", FIELD(engine_ns), print_time},         {"load_cold", FIELD(cold_ns), print_time},
    {"load_warm", FIELD(warm_ns), print_time},             {"load_resident", FIELD(resident), print_bytes_of_both},
    {"load_anonymous", FIELD(anonymous), print_bytes_of_both},
};

enum { FIGURE_COUNT = sizeof FIGURES / sizeof *FIGURES };

static void measure_loading(const char *models, const char *engine)
{
    int is_tflite = strcmp(engine, "tflite") == 0, is_wanted = 0;
    const load_case measured = {engine, models, is_tflite ? "basic_pitch_static.tflite" : "basic_pitch.onnx",
                                is_tflite ? "basic_pitch_static" : "basic_pitch", "path", 3};
    size_t rounds = bench.is_quick ? 1 : MOST_ROUNDS;
    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        is_wanted |= bench_wants(FIGURES[i].id);
    }
    if (!is_wanted) {
        return;
    }
    run_children(&measured, rounds, 1);
    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        if (bench_wants(FIGURES[i].id)) {
            FIGURES[i].print(FIGURES[i].id, &measured, rounds, FIGURES[i].offset);
        }
    }
}

static void measure_peak(const char *extra, const char *engine, const char *how, const char *id)
{
    char file[64];
    if (!bench_wants(id)) {
        return;
    }
    snprintf(file, sizeof file, "table200%s", strcmp(engine, "tflite") == 0 ? ".tflite" : ".onnx");
    char *path = bench_path(extra, file, "");
    if (!bench_file_exists(path)) {
        bench_skip(id, engine, "the model is not there; `make bench` makes it");
    } else {
        const load_case measured = {engine, extra, file, "table200", how, 0};
        int has_raw = strcmp(how, "copy") != 0;
        size_t rounds = bench.is_quick ? 1 : 3;
        run_children(&measured, rounds, has_raw);
        print_bytes(id, &measured, rounds, FIELD(peak), has_raw);
    }
    free(path);
}

int main(int argc, char **argv)
{
    const char *usage = "usage: bench_load MODELS EXTRA [--quick] [--only=PREFIX]";
    static const char *const engines[] = {"onnxruntime", "tflite"};
    if (bench_read_settings(argc, argv, usage) != 3) {
        fprintf(stderr, "%s\n", usage);
        return EXIT_FAILURE;
    }
    here = dirname(strdup(argv[0]));
    for (size_t i = 0; i < 2; i++) {
        measure_loading(argv[1], engines[i]);
        measure_peak(argv[2], engines[i], "path", "load_peak_path");
        measure_peak(argv[2], engines[i], "bytes", "load_peak_bytes");
        measure_peak(argv[2], engines[i], "copy", "load_peak_copy");
    }
}
