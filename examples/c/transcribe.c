/*
 * Which notes are played in a recording? Asked of one network twice: as .onnx on ONNX Runtime and as .tflite on TFLite,
 * by the same code, and without copying the sound or the answers.
 *
 *     transcribe --audio recording.f32 --models DIRECTORY
 *
 * The recording is a mapped file and is lent to the engine window by window, where it lies. The answers land in arrays of
 * our own, those of each window at their final place. In the end the library's binding reports tell whether it was so.
 *
 * Other files: recording.c maps the file, basic_pitch.h has the sizes of the network, notes.c picks the notes, roll.c draws
 * them. All of zerobind is in this one.
 */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <zerobind.h>

#include "basic_pitch.h"
#include "notes.h"
#include "recording.h"
#include "roll.h"

/*
 * One network in two formats. The .tflite was prepared when the models were set up: the original computes some shapes while
 * it runs, though they are always the same, and TFLite puts everything behind such a shape into memory of its own. In the
 * prepared file they are constants, so outputs can be written where we want them. (With the original, the library refuses
 * to run rather than copy, and says so.)
 */
enum { MODELS = 2 };
static const char *const MODEL[MODELS] = {"basic_pitch.onnx", "basic_pitch_static.tflite"};

/*
 * The engines add in another order, so their answers (0 to 1) differ in the last bits. Measured: up to 0.0000014. The bound
 * leaves room for other processors; a mistake, such as a window at the wrong place, gives differences near 1.
 */
static const double MOST_DIFFERENCE = 0.001;

/* What goes into the network and what comes out. */
enum { AUDIO, ONSET, NOTE, CONTOUR, PORTS };
static const struct port {
    const char *label;
    const char *name; /* the same in both files */
    zb_tensor_desc desc;
} PORT[PORTS] = {
    {"audio", "serving_default_input_2:0", {ZB_DTYPE_F32, 3, {1, WINDOW, 1}}},
    {"onset", "StatefulPartitionedCall:2", {ZB_DTYPE_F32, 3, {1, WINDOW_FRAMES, PITCHES}}},
    {"note", "StatefulPartitionedCall:1", {ZB_DTYPE_F32, 3, {1, WINDOW_FRAMES, PITCHES}}},
    {"contour", "StatefulPartitionedCall:0", {ZB_DTYPE_F32, 3, {1, WINDOW_FRAMES, CONTOURS}}},
};

/* What one engine made of the recording. */
struct transcription {
    char engine[64];
    size_t windows;
    float *output[PORTS]; /* [windows][frames][pitches or contours]; none for AUDIO */
    double first_ms;
    double median_ms;
    double total_ms;
    zb_binding_report report[PORTS]; /* of the last window */
    zb_context_stats stats;
    struct note_list notes;
};

/* Tells what went wrong, with the library's own words. */
static int fail(const char *what)
{
    char text[4096];
    zb_last_error(text, sizeof text, NULL);
    fflush(stdout);
    fprintf(stderr, "\n%s: %s\n", what, text);
    return -1;
}

static int fail_out_of_memory(void)
{
    fflush(stdout);
    fprintf(stderr, "\nout of memory\n");
    return -1;
}

static double now_in_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static size_t port_floats(int port)
{
    return (size_t)(PORT[port].desc.dims[1] * PORT[port].desc.dims[2]);
}

/* ---- running ---- */

/* The outputs are asked for by name: a file may list them in any order, and two of them have the same shape. */
static int find_slots(zb_model *model, zb_slot slot[PORTS])
{
    if (zb_model_find_input(model, PORT[AUDIO].name, &slot[AUDIO]) != ZB_OK) {
        return fail("find the input");
    }
    for (int port = ONSET; port < PORTS; port++) {
        if (zb_model_find_output(model, PORT[port].name, &slot[port]) != ZB_OK) {
            return fail("find an output");
        }
    }
    return 0;
}

/*
 * Says where window `k` lies in the recording, and where in our arrays its answers go. The desc tells the library what we
 * believe is there; it compares that, the sizes and the addresses with what the model needs before the engine sees any.
 */
static void make_loans(const struct recording *recording, size_t k, const struct transcription *result,
                       const zb_slot slot[PORTS], zb_loan loan[PORTS])
{
    const float *audio = recording->samples + k * HOP - LEAD;
    /* engines may read a few bytes past an input, so say how far that is safe */
    size_t readable = (size_t)(recording->end - audio) * sizeof(float);
    loan[AUDIO] = zb_loan_input(slot[AUDIO], audio, WINDOW * sizeof(float), readable, &PORT[AUDIO].desc);
    for (int port = ONSET; port < PORTS; port++) {
        size_t floats = port_floats(port);
        float *place = result->output[port] + k * floats;
        loan[port] = zb_loan_output(slot[port], place, floats * sizeof(float), &PORT[port].desc);
    }
}

/* Asks what the last run did with our memory. Anything but work in place is an error here. */
static int check_reports(zb_context *context, const zb_loan loan[PORTS], zb_binding_report report[PORTS])
{
    for (int port = 0; port < PORTS; port++) {
        zb_binding_report answer = ZB_BINDING_REPORT_INIT;
        if (zb_context_get_binding_report(context, loan[port].slot, &answer) != ZB_OK) {
            return fail("get a binding report");
        }
        if (answer.path != ZB_PATH_DIRECT || answer.bytes_copied != 0 || answer.engine_address != loan[port].data) {
            fflush(stdout);
            fprintf(stderr, "\n%s was not used in place: %s\n", PORT[port].label,
                    answer.reason != NULL ? answer.reason : "no reason given");
            return -1;
        }
        report[port] = answer;
    }
    return 0;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Runs window after window; `ms` has room for the time of each. */
static int run_windows(zb_context *context, const zb_slot slot[PORTS], const struct recording *recording,
                       struct transcription *result, double *ms)
{
    for (size_t k = 0; k < result->windows; k++) {
        /* the addresses are new in every call; the loans end with it */
        zb_loan loan[PORTS];
        make_loans(recording, k, result, slot, loan);
        double start = now_in_ms();
        if (zb_infer_with(context, loan, PORTS, NULL) != ZB_OK) {
            return fail("run a window");
        }
        ms[k] = now_in_ms() - start;
        result->total_ms += ms[k];
        if (check_reports(context, loan, result->report) != 0) {
            return -1;
        }
    }
    result->first_ms = ms[0];
    qsort(ms, result->windows, sizeof *ms, by_value);
    result->median_ms = ms[result->windows / 2];
    return 0;
}

static int run_recording(zb_model *model, zb_context *context, const struct recording *recording,
                         struct transcription *result)
{
    zb_slot slot[PORTS];
    if (find_slots(model, slot) != 0) {
        return -1;
    }
    double *ms = calloc(result->windows, sizeof *ms);
    if (ms == NULL) {
        return fail_out_of_memory();
    }
    int status = run_windows(context, slot, recording, result, ms);
    free(ms);
    if (status != 0) {
        return status;
    }

    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    if (zb_context_get_stats(context, &stats) != ZB_OK) {
        return fail("get the counters");
    }
    if (stats.bytes_copied != 0) {
        fflush(stdout);
        fprintf(stderr, "\n%llu bytes were copied\n", (unsigned long long)stats.bytes_copied);
        return -1;
    }
    result->stats = stats;
    return 0;
}

static int name_engine(zb_model *model, struct transcription *result)
{
    int32_t runtime;
    zb_runtime_info info = ZB_RUNTIME_INFO_INIT;
    if (zb_model_get_runtime(model, &runtime) != ZB_OK || zb_runtime_get_info(runtime, &info) != ZB_OK) {
        return fail("ask for the engine");
    }
    const char *name = runtime == ZB_RUNTIME_TFLITE ? "TFLite" : "ONNX Runtime";
    snprintf(result->engine, sizeof result->engine, "%s %s", name, info.version != NULL ? info.version : "");
    return 0;
}

/* Arrays for all answers. They begin at a multiple of 64 bytes, as engines ask, and so does the part of each window. */
static int make_room(size_t windows, struct transcription *result)
{
    result->windows = windows;
    for (int port = ONSET; port < PORTS; port++) {
        void *memory = NULL;
        if (posix_memalign(&memory, 64, windows * port_floats(port) * sizeof(float)) != 0) {
            return fail_out_of_memory();
        }
        result->output[port] = memory;
    }
    return 0;
}

static void transcription_free(struct transcription *result)
{
    for (int port = ONSET; port < PORTS; port++) {
        free(result->output[port]);
    }
    note_list_free(&result->notes);
}

/* Runs the model in the file, whichever engine it is for, over the recording, and picks the notes. */
static int transcribe(const char *path, const struct recording *recording, struct transcription *result)
{
    zb_model *model = NULL;
    zb_context *context = NULL;
    int status = make_room(windows_in(recording->count), result);
    if (status == 0 && zb_model_open(path, NULL, &model) != ZB_OK) {
        status = fail("open the model");
    }
    if (status == 0) {
        status = name_engine(model, result);
    }
    if (status == 0 && zb_context_create(model, NULL, &context) != ZB_OK) {
        status = fail("create a context");
    }
    if (status == 0) {
        status = run_recording(model, context, recording, result);
    }
    if (status == 0 &&
        note_list_pick(result->output[ONSET], result->output[NOTE], frames_in(recording->count), &result->notes) != 0) {
        status = fail_out_of_memory();
    }
    /* in any order; NULL is fine; the answers are ours and stay */
    zb_context_destroy(context);
    zb_model_destroy(model);
    return status;
}

/* ---- telling ---- */

static void print_speed(const struct transcription results[MODELS], const int done[MODELS], double length_s)
{
    /* the speed is that of the whole recording, the slow first window included */
    printf("\n  %-20s %7s %12s %17s %16s\n", "", "", "ms a window,", "ms, first window,", "speed over");
    printf("  %-20s %7s %12s %17s %16s\n", "engine", "windows", "median", "planning included", "all windows");
    for (int i = 0; i < MODELS; i++) {
        const struct transcription *result = &results[i];
        if (done[i]) {
            printf("  %-20s %7zu %12.1f %17.1f %4.0f x real time\n", result->engine, result->windows, result->median_ms,
                   result->first_ms, length_s * 1000 / result->total_ms);
        } else {
            printf("  %-20s not run, see the message\n", MODEL[i]);
        }
    }
}

static double largest_difference(const struct transcription *a, const struct transcription *b, int port, size_t frames)
{
    double largest = 0;
    size_t columns = (size_t)PORT[port].desc.dims[2];
    for (size_t frame = 0; frame < frames; frame++) {
        const float *x = frame_at(a->output[port], columns, frame);
        const float *y = frame_at(b->output[port], columns, frame);
        for (size_t i = 0; i < columns; i++) {
            double difference = fabs((double)x[i] - (double)y[i]);
            if (!(difference <= largest)) { /* so that a NaN counts */
                largest = difference;
            }
        }
    }
    return largest;
}

/* Says how far two transcriptions agree; -1 if not far enough. */
static int compare(const struct transcription *a, const struct transcription *b, size_t frames)
{
    int status = 0;
    printf("\nDo the engines agree?\n\n  largest difference:");
    for (int port = ONSET; port < PORTS; port++) {
        double difference = largest_difference(a, b, port, frames);
        printf(" %s %.7f%s", PORT[port].label, difference, port + 1 < PORTS ? "," : "\n");
        if (!(difference <= MOST_DIFFERENCE)) {
            status = -1;
        }
    }
    printf("  notes found: %zu and %zu, %s\n", a->notes.count, b->notes.count,
           note_list_equal(&a->notes, &b->notes) ? "all the same" : "not all the same");
    if (status != 0) {
        fflush(stdout);
        fprintf(stderr, "\nthe engines differ by more than %g\n", MOST_DIFFERENCE);
    }
    return status;
}

static const char *path_name(int32_t path)
{
    switch (path) {
    case ZB_PATH_UNBOUND:
        return "UNBOUND";
    case ZB_PATH_DIRECT:
        return "DIRECT";
    case ZB_PATH_STAGED:
        return "STAGED";
    default:
        return "?"; /* a newer library may know more */
    }
}

static void print_reports(const struct transcription *result)
{
    size_t last = result->windows - 1;
    printf("\n  %s\n", result->engine);
    for (int port = 0; port < PORTS; port++) {
        const zb_binding_report *report = &result->report[port];
        printf("    %-7s %-6s %14p %14p %6llu  ", PORT[port].label, path_name(report->path), report->host_address,
               report->engine_address, (unsigned long long)report->bytes_copied);
        if (port == AUDIO) {
            printf("file, sample %lld\n", (long long)(last * HOP) - LEAD);
        } else {
            printf("array %s[%zu]\n", PORT[port].label, last);
        }
    }
    printf("    in all: %llu runs, %llu bytes copied, %llu blocks allocated by zerobind\n",
           (unsigned long long)result->stats.runs, (unsigned long long)result->stats.bytes_copied,
           (unsigned long long)result->stats.allocations);
}

static void print_proof(const struct transcription results[MODELS], const int done[MODELS])
{
    printf("\nWhere the engine worked, in the last window\n\n");
    printf("    %-7s %-6s %14s %14s %6s  %s\n", "tensor", "path", "our address", "the engine's", "copied", "that is");
    for (int i = 0; i < MODELS; i++) {
        if (done[i]) {
            print_reports(&results[i]);
        }
    }
    printf("\n  In every window the addresses were the same: the engine read the sound in the\n"
           "  file's own pages, mapped read-only, and wrote its answers once, into the\n"
           "  arrays that the roll below is drawn from.\n");
}

static void print_introduction(const char *path, const struct recording *recording)
{
    printf("zerobind %s runs TFLite and ONNX models on memory that you already own,\n"
           "without copying it. Here one network, on both engines, finds the notes in a\n"
           "recording.\n\n",
           zb_version_string());
    printf("  %s: %.1f s of sound, mapped into memory.\n", path, (double)recording->count / SAMPLE_RATE);
    printf("  Windows of %.1f s are lent to the engine where they lie in the file; it writes\n"
           "  its answers where they are to stay.\n\n"
           "  (An INFO line below is TFLite's own, on stderr.)\n",
           (double)WINDOW / SAMPLE_RATE);
    fflush(stdout); /* before the engine writes that line */
}

/* ---- the story ---- */

static int run_models(const char *directory, const struct recording *recording, struct transcription results[MODELS],
                      int done[MODELS])
{
    int status = 0;
    for (int i = 0; i < MODELS; i++) {
        char path[4096];
        int length = snprintf(path, sizeof path, "%s/%s", directory, MODEL[i]);
        if (length < 0 || (size_t)length >= sizeof path) {
            fprintf(stderr, "the name of the directory is too long\n");
            return -1;
        }
        done[i] = transcribe(path, recording, &results[i]) == 0;
        if (!done[i]) {
            status = -1; /* but go on: one engine does not need the other */
        }
    }
    return status;
}

static int print_results(const struct recording *recording, const struct transcription results[MODELS],
                         const int done[MODELS])
{
    int status = 0;
    size_t frames = frames_in(recording->count);
    const struct transcription *first = done[0] ? &results[0] : &results[1];

    print_speed(results, done, (double)recording->count / SAMPLE_RATE);
    print_proof(results, done);
    printf("\nThe notes, as heard on %s\n\n", first->engine);
    roll_print(&first->notes, frames, terminal_detect());
    notes_print(&first->notes);
    if (done[0] && done[1]) {
        status = compare(&results[0], &results[1], frames);
    }
    return status;
}

static int run(const char *audio, const char *models)
{
    struct recording recording;
    struct transcription results[MODELS];
    int done[MODELS] = {0};
    memset(results, 0, sizeof results);

    /* the last window begins at most at the last sample, so a window of silence behind that is enough */
    if (recording_map(audio, LEAD, WINDOW, &recording) != 0) {
        return -1;
    }
    print_introduction(audio, &recording);
    int status = run_models(models, &recording, results, done);
    if ((done[0] || done[1]) && print_results(&recording, results, done) != 0) {
        status = -1;
    }
    for (int i = 0; i < MODELS; i++) {
        transcription_free(&results[i]);
    }
    recording_unmap(&recording);
    return status;
}

int main(int argc, char **argv)
{
    const char *audio = NULL;
    const char *models = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--audio") == 0) {
            audio = argv[i + 1];
        } else if (strcmp(argv[i], "--models") == 0) {
            models = argv[i + 1];
        }
    }
    if (argc != 5 || audio == NULL || models == NULL) {
        fprintf(stderr, "usage: %s --audio FILE --models DIRECTORY\n", argv[0]);
        return EXIT_FAILURE;
    }
    return run(audio, models) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
