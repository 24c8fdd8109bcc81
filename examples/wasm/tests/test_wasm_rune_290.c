/*
 * The public thread hotg-ai/rune#290: a guest's tensors lie in WebAssembly memory, which may be elsewhere at every call, but an
 * inference context wants its pointers for life. Must the host copy on every call, or make the context anew?
 *
 * Neither: here the memory moves before each of 10,000 inferences, and it is shown in three ways that the engine works on the
 * guest's memory where it is now: by the engine's own addresses, by the bytes that were copied (none), and by memory that
 * kills whoever touches a place where it was before. The results are those of an engine whose memory never moved, bit for bit,
 * and nothing is made anew.
 *
 * ZB_WASM_ROUNDS=10000 makes also the runs of the large network that many; they take minutes.
 */
#include "harness.h"

#include "forward.h"
#include "raw_tflite.h"
#include "streamer.h"

#define MOST_SLOTS 8u
#define TOLERANCE 2e-3f
#define FRAME 120u
#define FRAMES 50u
#define FEATURES 64u
#define SAMPLES 43844u
#define PITCHES 172u

/* --- the guest that streams, and what it lent --- */

/* What one engine of guests' memory is like. */
typedef struct kind {
    const char *name;
    /* one page of it and two ways to say so: how the memory is declared, and how many pages a growth has */
    const char *memory;
    int64_t pages;
    int is_trap;
} kind;

/* Wasmtime copies all of a memory that it moves, so its own memories grow by 4 KiB, in pages of one byte. */
static const kind own = {"wasmtime's own", "(memory (export \"memory\") 65536 (pagesize 1)) (global $page i32 (i32.const 1))", 4096, 0};
static const kind trap = {"left to trap", "(memory (export \"memory\") 1) (global $page i32 (i32.const 65536))", 1, 1};

/* Watches every run: the loans as they are handed to zerobind, and what the engine made of them. */
typedef struct watch {
    unsigned long runs;
    unsigned long direct;
    unsigned long copied;
    const void *data[MOST_SLOTS];
} watch;

typedef struct stream {
    wasm_engine_t *engine;
    moving_memory memory;
    const kind *kind;
    streamer streamer;
    watch watch;
    unsigned long moves;
    zb_context_stats before;
} stream;

/* In place of zb_infer_with, which it calls. */
static zb_status watch_run(void *user_data, zb_context *context, const zb_loan *loans, size_t count, const zb_infer_options *options)
{
    watch *watch = user_data;
    zb_status status = zb_infer_with(context, loans, count, options);
    REQUIRE(count <= MOST_SLOTS);
    for (size_t i = 0; i < count && status == ZB_OK; i++) {
        zb_binding_report report = ZB_BINDING_REPORT_INIT;
        REQUIRE_OK(zb_context_get_binding_report(context, loans[i].slot, &report));
        watch->direct += report.path == ZB_PATH_DIRECT && report.host_address == loans[i].data && report.engine_address == loans[i].data;
        watch->copied += report.bytes_copied;
        watch->data[i] = loans[i].data;
    }
    watch->runs++;
    return status;
}

/* The text of stream.wat, with the memory that the test wants. */
static char *read_guest(const kind *kind)
{
    static const char line[] = "(memory (export \"memory\") 1) (global $page i32 (i32.const 65536))";
    size_t size;
    char *text = zt_read(ZB_GUESTS "/stream.wat", &size), *at = strstr(text, line);
    char *result = malloc(size + 128);
    REQUIRE(at != NULL && result != NULL);
    snprintf(result, size + 128, "%.*s%s%s", (int)(at - text), text, kind->memory, at + sizeof line - 1);
    free(text);
    return result;
}

/* Where a tensor of the guest's is now. */
static void *tensor_at(stream *stream, uint32_t index, size_t size)
{
    bytes tensor = streamer_tensor(&stream->streamer, index);
    REQUIRE(tensor.data != NULL && tensor.size == size);
    return tensor.data;
}

static void require_done(const stream *stream, int result)
{
    if (result != 0) {
        fprintf(stderr, "    %s\n", stream->streamer.embed.error);
    }
    REQUIRE(result == 0);
}

/* Makes the guest, hands it the model's bytes, and lets it set itself up. */
static void open_stream(stream *stream, const kind *kind, const char *model)
{
    zbw_options options = ZBW_OPTIONS_INIT;
    char *path = zt_model_path(model), *text = read_guest(kind);
    bytes guest = {text, strlen(text)}, model_bytes;
    model_bytes.data = zt_read(path, &model_bytes.size);
    memset(stream, 0, sizeof *stream);
    stream->kind = kind;
    stream->engine = kind->is_trap ? forward_moving_engine(&stream->memory) : forward_engine(embed_config(EMBED_MOVES));
    options.run = watch_run;
    options.run_data = &stream->watch;
    require_done(stream, streamer_open(&stream->streamer, stream->engine, &options, guest, model_bytes));
    REQUIRE(stream->streamer.context != NULL);
    free(model_bytes.data);
    free(text);
    free(path);
}

static zb_context_stats stats_of(zb_context *context)
{
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    REQUIRE_OK(zb_context_get_stats(context, &stats));
    return stats;
}

/* One inference after a growth: the memory has moved, and every tensor with it. */
static void step(stream *stream, uint32_t slots)
{
    size_t size;
    const unsigned char *before[MOST_SLOTS], *base = embed_memory(&stream->streamer.embed, &size);
    for (uint32_t i = 0; i < slots; i++) {
        before[i] = streamer_tensor(&stream->streamer, i).data;
    }
    require_done(stream, streamer_step(&stream->streamer, (uint32_t)stream->kind->pages));
    const unsigned char *now = embed_memory(&stream->streamer.embed, &size);
    stream->moves += now != base;
    for (uint32_t i = 0; i < slots; i++) {
        /* lent where the memory is now, which is not where it was */
        CHECK_ADDRESS(stream->watch.data[i], now + (before[i] - base));
        CHECK(stream->watch.data[i] != before[i]);
    }
    if (stream->watch.runs == 1) {
        stream->before = stats_of(stream->streamer.context);
    }
}

/* All that was claimed, and the end of the guest. */
static void close_stream(stream *stream, unsigned long rounds, uint32_t slots)
{
    zb_context_stats stats = stats_of(stream->streamer.context);
    CHECK_EQ(stream->watch.runs, rounds);
    CHECK_EQ(stream->moves, rounds);
    CHECK_EQ(stream->watch.direct, rounds * slots);
    CHECK_EQ(stream->watch.copied, 0);
    CHECK_EQ(stats.runs, rounds);
    CHECK_EQ(stats.bytes_copied, 0);
    /* one context from beginning to end; from the first run on nothing was allocated, only addresses were exchanged */
    CHECK_EQ(stats.allocations - stream->before.allocations, 0);
    CHECK_EQ(stats.rebinds - stream->before.rebinds, (rounds - 1) * slots);
    CHECK_EQ(zb_live_objects(ZB_KIND_CONTEXT), 1);
    CHECK_EQ(zb_live_objects(ZB_KIND_TENSOR), 0);
    printf("        %lu inferences, memory %s, moved %lu times; %lu of %lu slots direct, %llu bytes copied, %llu blocks allocated\n",
           rounds, stream->kind->name, stream->moves, stream->watch.direct, rounds * slots,
           (unsigned long long)stats.bytes_copied, (unsigned long long)stats.allocations);
    streamer_close(&stream->streamer);
    wasm_engine_delete(stream->engine);
}

/* --- a wake-word network, whose state is inside the engine --- */

static void stream_features(const kind *kind, unsigned long rounds)
{
    stream stream;
    char *path = zt_model_path("okay_nabu_features");
    unsigned char *frames = zt_read_reference("okay_nabu.input.bin", FRAMES * FRAME);
    unsigned char *expected = zt_read_reference("okay_nabu_features.tflite-xnnpack.output.bin", FRAMES * FEATURES);
    raw_tflite *raw = raw_tflite_open(path, 1);
    unsigned long changes = 0;
    unsigned char last[FEATURES] = {0};
    raw_tflite_allocate(raw);
    open_stream(&stream, kind, "okay_nabu_features");
    for (unsigned long n = 0; n < rounds; n++) {
        const unsigned char *frame = frames + n % FRAMES * FRAME;
        size_t size;
        memcpy(tensor_at(&stream, 0, FRAME), frame, FRAME);
        step(&stream, 2);
        raw_tflite_write(raw, 0, frame, FRAME);
        raw_tflite_invoke(raw);
        const void *native = raw_tflite_output(raw, 0, &size);
        const void *lent = tensor_at(&stream, 1, FEATURES);
        REQUIRE(size == FEATURES && CHECK_BYTES(lent, native, FEATURES));
        if (n < FRAMES) {
            REQUIRE(CHECK_BYTES(lent, expected + n * FEATURES, FEATURES));
        }
        changes += memcmp(lent, last, FEATURES) != 0;
        memcpy(last, lent, FEATURES);
    }
    /* else a state that was lost would not show */
    CHECK(changes > rounds / 2);
    close_stream(&stream, rounds, 2);
    raw_tflite_close(raw);
    free(path);
    free(frames);
    free(expected);
}

static void streams_while_memory_moves_and_what_is_left_traps(void)
{
    stream_features(&trap, forward_rounds(10000));
}

static void streams_while_wasmtime_moves_memory(void)
{
    stream_features(&own, forward_rounds(1000));
}

/* --- a large network, which is published in both formats --- */

static const size_t pitch_columns[3] = {88, 88, 264};
static const char *const pitch_names[3] = {"onset", "note", "contour"};

/* What the guest's memory has to hold after each run: the results of memory that never moves, in a context of its own. */
static void run_pitch_natively(const float *sound, zt_buffer results[3])
{
    zb_model *model = zt_open(zt_is_tflite() ? "basic_pitch_static" : "basic_pitch");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(SAMPLES * sizeof(float));
    memcpy(x.data, sound, x.size);
    zt_bind(context, ZB_INPUT(0), F32(1, SAMPLES, 1), &x);
    for (uint32_t i = 0; i < 3; i++) {
        results[i] = zt_buffer_new(PITCHES * pitch_columns[i] * sizeof(float));
        zt_bind(context, ZB_OUTPUT(i), F32(1, PITCHES, (int64_t)pitch_columns[i]), &results[i]);
    }
    REQUIRE_OK(zb_infer(context, NULL));
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
}

static void check_pitch_reference(const char *sound, const zt_buffer results[3])
{
    for (uint32_t i = 0; i < 3; i++) {
        char file[128];
        snprintf(file, sizeof file, "basic_pitch.%s.%s.%s.bin", sound, zt_is_tflite() ? "tflite-xnnpack" : "onnxruntime",
                 pitch_names[i]);
        float *expected = zt_read_reference(file, results[i].size);
        CHECK_FLOATS(zt_floats(&results[i]), expected, results[i].size / sizeof(float), TOLERANCE);
        free(expected);
    }
}

static void stream_pitch(const kind *kind, unsigned long rounds)
{
    static const char *const sounds[2] = {"music", "noise"};
    stream stream;
    float *inputs[2];
    zt_buffer results[2][3];
    for (int i = 0; i < 2; i++) {
        char file[128];
        snprintf(file, sizeof file, "basic_pitch.%s.input.bin", sounds[i]);
        inputs[i] = zt_read_reference(file, SAMPLES * sizeof(float));
        run_pitch_natively(inputs[i], results[i]);
        check_pitch_reference(sounds[i], results[i]);
    }
    open_stream(&stream, kind, zt_is_tflite() ? "basic_pitch_static" : "basic_pitch");
    for (unsigned long n = 0; n < rounds; n++) {
        memcpy(tensor_at(&stream, 0, SAMPLES * sizeof(float)), inputs[n % 2], SAMPLES * sizeof(float));
        step(&stream, 4);
        for (uint32_t i = 0; i < 3; i++) {
            const zt_buffer *expected = &results[n % 2][i];
            REQUIRE(CHECK_BYTES(tensor_at(&stream, i + 1, expected->size), expected->data, expected->size));
        }
    }
    close_stream(&stream, rounds, 4);
    for (int i = 0; i < 2; i++) {
        free(inputs[i]);
        for (int j = 0; j < 3; j++) {
            FREE_BUFFER(&results[i][j]);
        }
    }
}

static void finds_notes_while_memory_moves_and_what_is_left_traps(void)
{
    stream_pitch(&trap, forward_rounds(30));
}

static void finds_notes_while_wasmtime_moves_memory(void)
{
    stream_pitch(&own, forward_rounds(15));
}

static const zt_test tests[] = {
    ON_TFLITE(streams_while_memory_moves_and_what_is_left_traps),
    ON_TFLITE(streams_while_wasmtime_moves_memory),
    ON_BOTH(finds_notes_while_memory_moves_and_what_is_left_traps),
    ON_BOTH(finds_notes_while_wasmtime_moves_memory),
};

ZT_MAIN(tests)
