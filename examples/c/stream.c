/*
 * Sound that keeps coming, a network that listens, and nobody who waits longer than needed.
 *
 *     stream silero_vad.onnx            SOUND EXPECTED     how likely each window is speech
 *     stream okay_nabu_features.tflite  SOUND EXPECTED     what a wake-word network sees in each window
 *
 * One thread plays the microphone: it puts window after window into a ring, and a run for each into a queue. The queue
 * runs the network on the ring's memory, where the sound lies. The main thread takes the answers, in order, and compares
 * them with EXPECTED, which was made without zerobind. Both networks remember what they heard: one hands its state to the
 * host after each run, the other keeps it inside.
 *
 * It is done three times, each time from a fresh start:
 *   1. the microphone waits whenever the queue is full (a file being read);
 *   2. it drops what finds no room (a live source);
 *   3. everything is shut down in the middle, with work pending: each event tells what became of its run.
 *
 * ring.c has the ring, and says when a place in it is free again.
 */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zerobind.h>

#include "ring.h"

/* Runs that may be pending in the queue: below the places of the ring, so that it is the queue that pushes back. */
enum { CAPACITY = 4, NO_SLOT = -1 };

/* What the networks need to be told of. */
static const struct network {
    const char *file;
    zb_tensor_desc input, output, state;
    int state_slot; /* the same number for the input and the output; NO_SLOT: the state is inside */
    size_t lead;    /* bytes at the front of a window that are the end of the one before */
    size_t record;  /* bytes of each window in the file SOUND */
    double tolerance;
} NETWORK[] = {
    {"silero_vad.onnx", {ZB_DTYPE_F32, 2, {1, 576}}, {ZB_DTYPE_F32, 2, {1, 1}}, {ZB_DTYPE_F32, 3, {2, 1, 128}},
     1, 64 * sizeof(float), 576 * sizeof(float), 1e-4},
    {"okay_nabu_features.tflite", {ZB_DTYPE_I8, 3, {1, 3, 40}}, {ZB_DTYPE_I8, 4, {1, 1, 1, 64}}, {0, 0, {0}},
     NO_SLOT, 0, 120, 0},
};

/* What the microphone does with a window that finds no room. */
enum policy { WAIT, DROP };

/* One performance. */
struct stream {
    const struct network *network;
    enum policy policy;
    const char *sound; /* all windows, as in the file */
    size_t windows;

    zb_context *context;
    zb_queue *queue;
    zb_tensor *input[PLACES];  /* the window that ends at each place of the ring */
    zb_tensor *output[PLACES]; /* its answer */
    struct ring ring;

    /* counted by the microphone; read when its thread has ended */
    size_t played, accepted, dropped, waits;
    int is_behind_a_gap[PLACES]; /* some window before this one was dropped; passed on with the event */
};

/* What became of the runs that were accepted. */
struct outcome {
    size_t answered, destroyed, cancelled;
    double difference; /* from what was expected, the greatest */
};

static void fail(const char *what)
{
    char text[4096];
    zb_last_error(text, sizeof text, NULL);
    fprintf(stderr, "%s: %s\n", what, text);
    exit(EXIT_FAILURE);
}

static void check(zb_status status, const char *what)
{
    if (status != ZB_OK) {
        fail(what);
    }
}

static void require(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "wrong: %s\n", what);
        exit(EXIT_FAILURE);
    }
}

static size_t bytes_of(const zb_tensor_desc *desc)
{
    size_t size;
    check(zb_tensor_desc_size(desc, &size), "ask for a size");
    return size;
}

/* ---- the microphone ---- */

/*
 * Puts a run on one place of the ring into the queue. It is on the tensors that are named here, and on those that are bound
 * at this moment: the state. What is bound later does not change it. So the state can go round by a swap right away, long
 * before the run itself; the next run will read what this one writes, and the queue keeps the order.
 */
static zb_status listen_later(struct stream *stream, size_t place, zb_event **event)
{
    const zb_slot_tensor tensors[2] = {{ZB_INPUT(0), 0, stream->input[place]}, {ZB_OUTPUT(0), 0, stream->output[place]}};
    zb_status status = zb_queue_infer_with(stream->queue, stream->context, tensors, 2, NULL, event);
    int slot = stream->network->state_slot;
    if (status == ZB_OK && slot != NO_SLOT) {
        check(zb_context_swap(stream->context, ZB_INPUT((uint32_t)slot), ZB_OUTPUT((uint32_t)slot)), "swap the state");
    }
    return status;
}

/* Plays one window. Gives 0 when the queue is gone: then there is nobody to play to. */
static int play(struct stream *stream, const char *sound)
{
    for (;;) {
        size_t taken = ring_taken(&stream->ring);
        zb_status status = ZB_ERROR_QUEUE_FULL;
        if (ring_has_room(&stream->ring)) {
            zb_event *event;
            status = listen_later(stream, ring_put(&stream->ring, sound), &event);
            if (status == ZB_OK) {
                stream->is_behind_a_gap[stream->accepted++ % PLACES] = stream->dropped > 0;
                ring_hand_over(&stream->ring, event);
                return 1;
            }
        }
        if (status == ZB_ERROR_INVALID_HANDLE) {
            return 0;
        }
        if (status != ZB_ERROR_QUEUE_FULL) {
            fail("put a run into the queue");
        }
        /* back pressure: nothing was accepted, and the place in the ring is still ours */
        if (stream->policy == DROP) {
            stream->dropped++;
            return 1;
        }
        stream->waits++;
        ring_wait_until_taken(&stream->ring, taken);
    }
}

static void *microphone(void *argument)
{
    struct stream *stream = argument;
    const struct network *network = stream->network;
    while (stream->played < stream->windows) {
        /* a microphone gives new sound only; the ring has what came before it */
        if (!play(stream, stream->sound + stream->played * network->record + network->lead)) {
            break;
        }
        stream->played++;
    }
    ring_close(&stream->ring);
    return NULL;
}

/* ---- the listener ---- */

static double difference(const zb_tensor_desc *desc, const void *left, const void *right)
{
    size_t size = bytes_of(desc);
    double most = 0;
    if (desc->dtype == ZB_DTYPE_F32) {
        for (size_t i = 0; i < size / sizeof(float); i++) {
            most = fmax(most, fabs((double)((const float *)left)[i] - (double)((const float *)right)[i]));
        }
    } else {
        for (size_t i = 0; i < size; i++) {
            most = fmax(most, fabs((double)((const int8_t *)left)[i] - (double)((const int8_t *)right)[i]));
        }
    }
    return most;
}

/* Waits for the run that comes next and says what became of it; its answer lies in the memory of `output`. */
static void take_answer(struct stream *stream, zb_event *event, size_t number, const char *expected, struct outcome *outcome)
{
    zb_status result;
    check(zb_event_wait(event, UINT64_MAX, &result), "wait for a run");
    if (result == ZB_ERROR_DESTROYED) {
        outcome->destroyed++; /* it never started */
    } else if (result == ZB_ERROR_CANCELLED) {
        outcome->cancelled++; /* it was in the middle */
    } else {
        require(result == ZB_OK, "a run failed");
        require(outcome->destroyed + outcome->cancelled == 0, "a run was done after one that was not");
        outcome->answered++;
        const zb_tensor_desc *desc = &stream->network->output;
        void *answer;
        check(zb_tensor_get_data(stream->output[number % PLACES], &answer, NULL), "look at an answer");
        if (!stream->is_behind_a_gap[number % PLACES]) { /* else it heard something else than the reference did */
            outcome->difference = fmax(outcome->difference, difference(desc, answer, expected + number * bytes_of(desc)));
        }
    }
    zb_event_destroy(event);
}

/* Takes all answers; after `enough` of them, destroys the queue under the microphone's hands. */
static struct outcome listen_to(struct stream *stream, size_t enough, const char *expected)
{
    struct outcome outcome = {0, 0, 0, 0};
    zb_event *event;
    for (size_t number = 0; ring_next(&stream->ring, &event); number++) {
        take_answer(stream, event, number, expected, &outcome);
        ring_take(&stream->ring); /* its place is free, so the microphone may go on */
        if (number + 1 == enough) {
            ring_wait_until_filled(&stream->ring, CAPACITY); /* so that there is something to shut down */
            check(zb_queue_destroy(stream->queue), "destroy the queue");
        }
    }
    return outcome;
}

/* ---- setting up ---- */

/* The state that goes round begins as zeros, which is what new memory of zerobind's is. */
static void bind_state(struct stream *stream)
{
    uint32_t slot = (uint32_t)stream->network->state_slot;
    const zb_slot slots[2] = {ZB_INPUT(slot), ZB_OUTPUT(slot)};
    for (int i = 0; i < 2; i++) {
        zb_tensor *tensor;
        check(zb_tensor_alloc(&stream->network->state, 0, &tensor), "allocate the state");
        check(zb_tensor_bind(tensor, stream->context, slots[i]), "bind the state");
        zb_tensor_destroy(tensor); /* the binding holds it */
    }
}

static void bind_rate(zb_context *context)
{
    static int64_t rate = 16000;
    const zb_tensor_desc number = {ZB_DTYPE_I64, 0, {0}};
    zb_tensor *tensor;
    check(zb_tensor_wrap_const(&number, &rate, sizeof rate, sizeof rate, NULL, NULL, &tensor), "wrap the rate");
    check(zb_tensor_bind(tensor, context, ZB_INPUT(2)), "bind the rate");
    zb_tensor_destroy(tensor);
}

/* A tensor for each place of the ring, made once; none of them copies. */
static void wrap_ring(struct stream *stream)
{
    const struct network *network = stream->network;
    for (size_t place = 0; place < PLACES; place++) {
        size_t readable;
        void *window = ring_window(&stream->ring, place, &readable);
        check(zb_tensor_wrap_const(&network->input, window, bytes_of(&network->input), readable, NULL, NULL,
                                   &stream->input[place]), "wrap a window");
        check(zb_tensor_alloc(&network->output, 0, &stream->output[place]), "allocate an answer");
    }
}

static void set_up(struct stream *stream, zb_model *model)
{
    const struct network *network = stream->network;
    zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
    options.capacity = CAPACITY;
    check(zb_queue_create(&options, &stream->queue), "make a queue");
    check(zb_context_create(model, NULL, &stream->context), "make a context");
    if (network->state_slot != NO_SLOT) {
        /* shapes are given once: a run that brings another shape plans anew */
        check(zb_context_resize_input(stream->context, ZB_INPUT(0), network->input.dims, network->input.rank),
              "give the window's shape");
        bind_rate(stream->context);
        bind_state(stream);
    }
    if (!ring_make(&stream->ring, network->lead, bytes_of(&network->input))) {
        fprintf(stderr, "out of memory\n");
        exit(EXIT_FAILURE);
    }
    wrap_ring(stream);
}

/* All events are settled, so nothing runs; with the last handle the ring's memory is ours again. */
static void tear_down(struct stream *stream, int has_queue)
{
    for (size_t place = 0; place < PLACES; place++) {
        zb_tensor_destroy(stream->input[place]);
        zb_tensor_destroy(stream->output[place]);
    }
    zb_context_destroy(stream->context);
    if (has_queue) {
        zb_queue_destroy(stream->queue);
    }
    ring_free(&stream->ring);
}

/* ---- the three performances ---- */

/* Plays all windows, or up to the shutdown after `enough` answers. */
static struct outcome perform(struct stream *stream, zb_model *model, size_t enough, const char *expected)
{
    pthread_t thread;
    set_up(stream, model);
    require(pthread_create(&thread, NULL, microphone, stream) == 0, "no thread could be started");
    struct outcome outcome = listen_to(stream, enough, expected);
    pthread_join(thread, NULL);
    tear_down(stream, outcome.answered < enough);

    size_t told = outcome.answered + outcome.destroyed + outcome.cancelled;
    require(told == stream->accepted, "a run that was accepted was never heard of");
    require(stream->accepted + stream->dropped == stream->played, "a window was neither accepted nor dropped");
    require(outcome.difference <= stream->network->tolerance, "an answer is not the expected one");
    return outcome;
}

static void perform_all(const struct network *network, zb_model *model, const char *sound, size_t windows,
                        const char *expected)
{
    const struct stream fresh = {.network = network, .sound = sound, .windows = windows};

    struct stream waiting = fresh;
    struct outcome all = perform(&waiting, model, SIZE_MAX, expected);
    require(all.answered == windows, "a patient microphone lost a window");
    printf("waits when full:    %zu windows, all answered in order; waited %zu times; differ by at most %g\n", windows,
           waiting.waits, all.difference);

    struct stream dropping = fresh;
    dropping.policy = DROP;
    struct outcome some = perform(&dropping, model, SIZE_MAX, expected);
    require(some.answered == dropping.accepted, "a run that was accepted was not done");
    printf("drops when full:    %zu windows, %zu answered, %zu dropped\n", windows, some.answered, dropping.dropped);

    struct stream ending = fresh;
    struct outcome few = perform(&ending, model, windows / 3, expected);
    printf("shut down midway:   %zu windows accepted: %zu answered, %zu cancelled, %zu never started; %zu never played\n",
           ending.accepted, few.answered, few.cancelled, few.destroyed, windows - ending.played);
}

/* ---- files ---- */

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    long end = ftell(file);
    rewind(file);
    char *bytes = end > 0 ? malloc((size_t)end) : NULL;
    if (bytes == NULL || fread(bytes, 1, (size_t)end, file) != (size_t)end) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(EXIT_FAILURE);
    }
    fclose(file);
    *size = (size_t)end;
    return bytes;
}

static const struct network *find_network(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash != NULL ? slash + 1 : path;
    for (size_t i = 0; i < sizeof NETWORK / sizeof *NETWORK; i++) {
        if (strcmp(NETWORK[i].file, file) == 0) {
            return &NETWORK[i];
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const struct network *network = argc == 4 ? find_network(argv[1]) : NULL;
    if (network == NULL) {
        fputs("usage: stream silero_vad.onnx|okay_nabu_features.tflite SOUND EXPECTED\n", stderr);
        return EXIT_FAILURE;
    }
    size_t sound_size, expected_size;
    char *sound = read_file(argv[2], &sound_size);
    char *expected = read_file(argv[3], &expected_size);
    size_t windows = sound_size / network->record;
    require(expected_size == windows * bytes_of(&network->output), "the two files are not of one another");

    zb_model *model;
    check(zb_model_open(argv[1], NULL, &model), "open the model");
    perform_all(network, model, sound, windows, expected);
    zb_model_destroy(model);
    free(sound);
    free(expected);
}
