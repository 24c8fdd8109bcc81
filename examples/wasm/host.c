/*
 * A host that lends its guest's memory to the engines:
 *
 *     host GUEST MODELS REFERENCE [--rounds N] [--table]
 *
 * runs models in a guest (guests/stream.wat, or stream.c compiled) whose memory moves before every inference, and shows where the
 * engine read and wrote. With --table it also measures this against the other ways there are (docs/wasm.md).
 */
#define _POSIX_C_SOURCE 200809L

#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_BYTES 1024

typedef struct arguments {
    const char *program;
    const char *guest;
    const char *models;
    const char *reference;
    unsigned rounds;
    int wants_table;
    /* for a child of its own: the place of a subject and a way, of which it tells the peak */
    int peak_subject;
    int peak_way;
} arguments;

/* --- the models --- */

/* with the names of the files alone */
static const subject subjects[] = {
    {"streaming network, TFLite", "okay_nabu_features.tflite", "okay_nabu.input.bin", 11, 30},
    {"basic-pitch, TFLite", "basic_pitch_static.tflite", "basic_pitch.music.input.bin", 5, 3},
    {"basic-pitch, ONNX Runtime", "basic_pitch.onnx", "basic_pitch.music.input.bin", 5, 3},
    {"16 MiB elementwise, TFLite", "big16.tflite", NULL, 5, 5},
    {"16 MiB elementwise, ONNX Runtime", "big16.onnx", NULL, 5, 5},
};

#define SUBJECTS (int)(sizeof subjects / sizeof *subjects)

/* A subject with whole paths, in `paths`. */
static subject subject_of(const arguments *arguments, int place, char paths[2][PATH_BYTES])
{
    subject subject = subjects[place];
    snprintf(paths[0], PATH_BYTES, "%s/%s", arguments->models, subject.model);
    subject.model = paths[0];
    if (subject.input != NULL) {
        snprintf(paths[1], PATH_BYTES, "%s/%s", arguments->reference, subject.input);
        subject.input = paths[1];
    }
    return subject;
}

/* --- inferences on memory that moves --- */

/* What was seen of all runs. */
typedef struct seen {
    unsigned moved;
    unsigned direct;
    unsigned slots;
    unsigned long long copied;
} seen;

/* After a run: did the engine work where the guest's tensors are now? */
static int look(streamer *streamer, seen *seen)
{
    for (uint32_t i = 0; i < streamer->tensors; i++) {
        zb_binding_report report = ZB_BINDING_REPORT_INIT;
        zb_slot slot = i < streamer->inputs ? ZB_INPUT(i) : ZB_OUTPUT(i - streamer->inputs);
        if (zb_context_get_binding_report(streamer->context, slot, &report) != ZB_OK) {
            return -1;
        }
        seen->slots++;
        seen->copied += report.bytes_copied;
        seen->direct += report.path == ZB_PATH_DIRECT && report.engine_address == streamer_tensor(streamer, i).data;
    }
    return 0;
}

static int run_moving(streamer *streamer, bytes input, unsigned rounds, seen *seen)
{
    for (unsigned i = 0; i < rounds; i++) {
        bytes tensor = streamer_tensor(streamer, 0);
        size_t parts = tensor.size > 0 ? input.size / tensor.size : 0;
        if (parts == 0) {
            snprintf(streamer->embed.error, sizeof streamer->embed.error, "the input file is too small");
            return -1;
        }
        memcpy(tensor.data, (const char *)input.data + i % parts * tensor.size, tensor.size);
        if (streamer_step(streamer, 1) != 0 || look(streamer, seen) != 0) {
            return -1;
        }
        seen->moved += streamer_tensor(streamer, 0).data != tensor.data;
    }
    return 0;
}

static int show_moving(const arguments *arguments, bytes guest, int place, unsigned rounds)
{
    char paths[2][PATH_BYTES];
    subject subject = subject_of(arguments, place, paths);
    wasm_engine_t *engine = wasm_engine_new_with_config(embed_config(EMBED_MOVES));
    bytes model = read_file(subject.model), input = read_file(subject.input);
    streamer streamer;
    seen seen = {0, 0, 0, 0};
    int result = model.data == NULL || input.data == NULL ? -1 : 0;
    memset(&streamer, 0, sizeof streamer);
    snprintf(streamer.embed.error, sizeof streamer.embed.error, "%s or %s cannot be read", subject.model, subject.input);
    if (result == 0) {
        result = streamer_open(&streamer, engine, NULL, guest, model);
    }
    if (result == 0) {
        result = run_moving(&streamer, input, rounds, &seen);
    }
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    if (result == 0) {
        result = zb_context_get_stats(streamer.context, &stats) == ZB_OK ? 0 : -1;
    }
    if (result == 0) {
        printf("%s: %u inferences, the memory moved before %u of them.\n"
               "  In %u of %u slots the engine worked on the guest's own bytes, where they were then; %llu bytes copied, %llu blocks\n"
               "  allocated, all %llu runs by the one context that the guest made.\n",
               subject.name, rounds, seen.moved, seen.direct, seen.slots, seen.copied, (unsigned long long)stats.allocations,
               (unsigned long long)stats.runs);
        result = seen.moved == rounds && seen.direct == seen.slots && seen.copied == 0 && stats.runs == rounds ? 0 : -1;
    } else {
        fprintf(stderr, "%s: %s\n", subject.name, streamer.embed.error);
    }
    streamer_close(&streamer);
    wasm_engine_delete(engine);
    free(model.data);
    free(input.data);
    return result;
}

/* --- the table --- */

/* Runs this program again for one number, since a process has but one peak. In KiB; -1 if there is none. */
static long peak_of(const arguments *arguments, int place, way way)
{
    char subject[16], way_number[16], text[64] = "";
    int ends[2], status;
    snprintf(subject, sizeof subject, "%d", place);
    snprintf(way_number, sizeof way_number, "%d", (int)way);
    fflush(stdout);
    if (pipe(ends) != 0) {
        return -1;
    }
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execl("/proc/self/exe", arguments->program, arguments->guest, arguments->models, arguments->reference, "--peak", subject,
              way_number, (char *)NULL);
        _exit(EXIT_FAILURE);
    }
    close(ends[1]);
    size_t length = 0;
    ssize_t got;
    while (length < sizeof text - 1 && (got = read(ends[0], text + length, sizeof text - 1 - length)) > 0) {
        length += (size_t)got;
    }
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        return -1;
    }
    return strtol(text, NULL, 10);
}

static void print_memory(long peak)
{
    if (peak < 0) {
        printf(" %10s", "?");
    } else {
        printf(" %10.1f", (double)peak / 1024);
    }
}

static int print_subject(const arguments *arguments, bytes guest, int place)
{
    char paths[2][PATH_BYTES];
    subject subject = subject_of(arguments, place, paths);
    measured stays, moves;
    long peaks[WAYS];
    for (int way = WAY_LEND; way < WAY_NOTHING; way++) {
        peaks[way] = peak_of(arguments, place, (enum way)way);
    }
    if (measure_times(&subject, guest, EMBED_IN_PLACE, &stays) != 0 ||
        measure_times(&subject, guest, EMBED_MOVES, &moves) != 0) {
        return -1;
    }
    for (int way = WAY_LEND; way < WAY_NOTHING; way++) {
        printf("| %-32s | %-9s | %12.2f | %12.2f |", way == WAY_LEND ? subject.name : "", way_name((enum way)way),
               stays.microseconds[way], moves.microseconds[way]);
        print_memory(peaks[way]);
        printf(" | %5u %% |\n", moves.right[way]);
    }
    printf("| %-32s | %-9s | %12.2f | %12.2f | %10s | %7s |\n", "", "call only", stays.microseconds[WAY_NOTHING],
           moves.microseconds[WAY_NOTHING], "", "");
    fflush(stdout);
    return 0;
}

static int print_table(const arguments *arguments, bytes guest)
{
    printf("\nus of the thread for one inference, where the guest's memory stays and where it moved just before; most memory of the process\n\n");
    printf("| %-32s | %-9s | %12s | %12s | %10s | %7s |\n", "model", "way", "us, it stays", "us, it moved", "peak MiB", "right");
    printf("|----------------------------------|-----------|-------------:|-------------:|-----------:|--------:|\n");
    for (int i = 0; i < SUBJECTS; i++) {
        if (print_subject(arguments, guest, i) != 0) {
            return -1;
        }
    }
    return 0;
}

/* --- the program --- */

static int read_arguments(arguments *arguments, int argc, char **argv)
{
    memset(arguments, 0, sizeof *arguments);
    arguments->rounds = 200;
    arguments->peak_subject = -1;
    if (argc < 4) {
        return -1;
    }
    arguments->program = argv[0];
    arguments->guest = argv[1];
    arguments->models = argv[2];
    arguments->reference = argv[3];
    for (int i = 4; i < argc; i++) {
        if (strcmp(argv[i], "--table") == 0) {
            arguments->wants_table = 1;
        } else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
            arguments->rounds = (unsigned)strtoul(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--peak") == 0 && i + 2 < argc) {
            arguments->peak_subject = atoi(argv[++i]);
            arguments->peak_way = atoi(argv[++i]);
        } else {
            return -1;
        }
    }
    return arguments->rounds > 0 && arguments->peak_subject < SUBJECTS && arguments->peak_way >= 0 && arguments->peak_way < WAYS ? 0 : -1;
}

static int tell_peak(const arguments *arguments, bytes guest)
{
    char paths[2][PATH_BYTES];
    subject subject = subject_of(arguments, arguments->peak_subject, paths);
    long peak = measure_peak(&subject, guest, (enum way)arguments->peak_way);
    printf("%ld\n", peak);
    return peak > 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
    arguments arguments;
    if (read_arguments(&arguments, argc, argv) != 0) {
        fprintf(stderr, "usage: %s GUEST MODELS REFERENCE [--rounds N] [--table]\n", argv[0]);
        return EXIT_FAILURE;
    }
    bytes guest = read_file(arguments.guest);
    int result = guest.data != NULL ? 0 : -1;
    if (result != 0) {
        fprintf(stderr, "%s cannot be read\n", arguments.guest);
    } else if (arguments.peak_subject >= 0) {
        result = tell_peak(&arguments, guest);
    } else {
        result = show_moving(&arguments, guest, 0, arguments.rounds);
        if (result == 0) {
            result = show_moving(&arguments, guest, 2, arguments.rounds / 20 + 1);
        }
        if (result == 0 && arguments.wants_table) {
            result = print_table(&arguments, guest);
        }
    }
    free(guest.data);
    return result == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
