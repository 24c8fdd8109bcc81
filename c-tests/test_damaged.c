/*
 * Damaged models. Whatever cannot be read is MODEL_INVALID. What the engine's own checks let through may make it refuse, run
 * with other numbers, or crash: that is the engine's, is counted, and fails nothing here; a crash in zerobind does.
 *
 * The engine is only ever used in children, made before this process knows any engine. A child works through many trials and
 * notes how far it is, so that one that dies costs one trial.
 */
#include "harness.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A list of trials: each is a number that the trial makes its damage from. */
typedef struct series {
    const char *name;
    size_t count;
    void (*trial)(const struct series *series, size_t number);
    unsigned char *bytes;
    size_t size;
} series;

/* What children tell, in memory that they share with their parent. */
typedef struct tally {
    size_t next;
    size_t refused;
    size_t opened;
    size_t crashed_engine;
    size_t wrong;
    int in_zerobind;
} tally;

static tally *told;

/* --- a child that dies --- */

/* Which library it was in: the first one on the way out that is zerobind's or an engine's. */
static void tell_who_died(int number)
{
    void *frames[64];
    int count = backtrace(frames, 64);
    told->in_zerobind = 1;
    for (int i = 1; i < count; i++) {
        Dl_info info;
        if (dladdr(frames[i], &info) == 0 || info.dli_fname == NULL) {
            continue;
        }
        if (strstr(info.dli_fname, "tensorflowlite") != NULL || strstr(info.dli_fname, "onnxruntime.so") != NULL) {
            told->in_zerobind = 0;
            break;
        }
        if (strstr(info.dli_fname, "zerobind") != NULL) {
            break;
        }
    }
    _exit(128 + number);
}

static void watch_signals(void)
{
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    void *warm[1];
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = tell_who_died;
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) {
        REQUIRE(sigaction(deadly[i], &action, NULL) == 0);
    }
    /* loads what it needs now, not in the handler */
    backtrace(warm, 1);
}

static void work(const series *trials)
{
    watch_signals();
    /* a hang is a death too */
    alarm(120);
    while (told->next < trials->count) {
        trials->trial(trials, told->next);
        told->next++;
    }
    _exit(0);
}

/* Runs all trials, in as many children as it takes. */
static void run_series(const series *trials)
{
    memset(told, 0, sizeof *told);
    size_t deaths = 0;
    while (told->next < trials->count && deaths <= trials->count) {
        int ended = 0;
        fflush(stdout);
        fflush(stderr);
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            work(trials);
        }
        REQUIRE(waitpid(child, &ended, 0) == child);
        if (!WIFEXITED(ended) || WEXITSTATUS(ended) != 0) {
            deaths++;
            CHECK(WIFEXITED(ended) && WEXITSTATUS(ended) > 128);
            CHECK(!told->in_zerobind);
            printf("        %s, trial %zu: the engine died (%d)\n", trials->name, told->next, ended);
            told->crashed_engine += !told->in_zerobind;
            told->next++;
        }
    }
    CHECK_EQ(told->next, trials->count);
    CHECK_EQ(told->wrong, 0);
    printf("        %s: %zu refused, %zu opened, %zu crashes of the engine\n", trials->name, told->refused, told->opened,
           told->crashed_engine);
}

/* --- what a trial does with bytes --- */

static zb_status open_copy(const void *bytes, size_t size, zb_model **model)
{
    zb_model_options options = ZB_MODEL_OPTIONS_INIT;
    options.runtime = zt_engine();
    options.max_tensor_bytes = 1 << 20;
    return zb_model_open_bytes_copy(bytes, size, &options, model);
}

static void note(zb_status status, int is_right)
{
    told->refused += status != ZB_OK;
    told->opened += status == ZB_OK;
    if (!is_right) {
        told->wrong++;
        fprintf(stderr, "trial %zu gave %s\n", told->next, zb_status_name(status));
    }
}

static void check_invalid(const void *bytes, size_t size)
{
    zb_model *model = NULL;
    char text[256] = "";
    zb_status status = open_copy(bytes, size, &model);
    zb_last_error(text, sizeof text, NULL);
    note(status, status == ZB_ERROR_MODEL_INVALID && model == NULL && text[0] != '\0' && zt_nothing_is_alive());
    zb_model_destroy(model);
}

/* Goes as far as it gets with a model that opened: plans, lends memory to all that has a known size, runs. */
static void use(zb_model *model)
{
    zb_context *context = NULL;
    uint32_t inputs = 0, outputs = 0;
    if (zb_context_create(model, NULL, &context) != ZB_OK) {
        return;
    }
    CHECK_OK(zb_model_get_slot_counts(model, &inputs, &outputs));
    zb_status status = zb_context_prepare(context);
    for (uint32_t i = 0; i < inputs && status == ZB_OK; i++) {
        zb_tensor *tensor = NULL;
        status = zb_tensor_alloc_for(context, ZB_INPUT(i), &tensor);
        if (status == ZB_OK) {
            status = zb_tensor_bind(tensor, context, ZB_INPUT(i));
        }
        zb_tensor_destroy(tensor);
    }
    if (status == ZB_OK && zb_infer(context, NULL) == ZB_OK) {
        const void *data = NULL;
        if (outputs > 0 && zb_context_output_view(context, ZB_OUTPUT(0), &data, NULL, NULL) != ZB_OK) {
            data = NULL;
        }
    }
    zb_context_destroy(context);
}

static void try_and_use(const void *bytes, size_t size)
{
    zb_model *model = NULL;
    zb_status status = open_copy(bytes, size, &model);
    int is_refusal = status == ZB_ERROR_MODEL_INVALID || status == ZB_ERROR_UNSUPPORTED || status == ZB_ERROR_RUNTIME ||
                     status == ZB_ERROR_OUT_OF_MEMORY;
    note(status, status == ZB_OK ? model != NULL : is_refusal && model == NULL);
    if (status == ZB_OK) {
        use(model);
    }
    zb_model_destroy(model);
    if (!zt_nothing_is_alive()) {
        note(status, 0);
    }
}

/* --- the damage --- */

static uint64_t random_of(size_t number, uint64_t salt)
{
    uint64_t state = 88172645463325252u ^ (uint64_t)number * 0x9E3779B97F4A7C15u ^ salt << 32;
    for (int i = 0; i < 4; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    return state;
}

/* Lengths from nothing to all but the last byte. */
static size_t short_size(const series *trials, size_t number)
{
    return number * trials->size / trials->count;
}

static void truncated(const series *trials, size_t number)
{
    check_invalid(trials->bytes, short_size(trials, number));
}

static unsigned char *copy_of(const series *trials)
{
    unsigned char *copy = malloc(trials->size);
    REQUIRE(copy != NULL);
    memcpy(copy, trials->bytes, trials->size);
    return copy;
}

/* One to four bits, among the first 64 bytes in the even trials, anywhere in the odd ones. */
static void flipped(const series *trials, size_t number)
{
    unsigned char *copy = copy_of(trials);
    size_t area = number % 2 == 0 && trials->size > 64 ? 64 : trials->size;
    for (uint64_t flip = 0; flip <= number % 4; flip++) {
        uint64_t random = random_of(number, flip + 1);
        copy[random % area] ^= (unsigned char)(1u << (random >> 32) % 8);
    }
    try_and_use(copy, trials->size);
    free(copy);
}

/* A run of bytes overwritten by zeroes, ones, or noise. */
static void overwritten(const series *trials, size_t number)
{
    unsigned char *copy = copy_of(trials);
    uint64_t random = random_of(number, 9);
    size_t start = random % trials->size, length = random >> 40 & 63;
    for (size_t i = start; i < trials->size && i < start + length; i++) {
        copy[i] = number % 3 == 0 ? 0 : number % 3 == 1 ? 0xFF : (unsigned char)random_of(number, i);
    }
    try_and_use(copy, trials->size);
    free(copy);
}

/* Nothing but noise, of the engine that was asked for, and of whichever engine knows it. */
static void noise(const series *trials, size_t number)
{
    unsigned char bytes[512];
    zb_model *model = NULL;
    size_t size = random_of(number, 7) % sizeof bytes;
    (void)trials;
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)random_of(number, 100 + i);
    }
    check_invalid(bytes, size);
    zb_status status = zb_model_open_bytes_copy(bytes, size, NULL, &model);
    note(status, status == ZB_ERROR_MODEL_INVALID && model == NULL);
}

static void run_damage(const char *model, const char *name, size_t count, void (*trial)(const series *, size_t))
{
    char *path = zt_model_path(model);
    series trials = {name, 0, trial, NULL, 0};
    trials.bytes = zt_read(path, &trials.size);
    trials.count = count;
    run_series(&trials);
    free(trials.bytes);
    free(path);
}

static void truncated_small_model(void)
{
    /* the whole of it, byte by byte */
    char *path = zt_model_path("add4");
    size_t size = 0;
    free(zt_read(path, &size));
    free(path);
    run_damage("add4", "add4, cut short", size, truncated);
}

static void truncated_real_models(void)
{
    run_damage("basic_pitch", "basic_pitch, cut short", 40, truncated);
    run_damage("chain", "chain, cut short", 100, truncated);
}

static void flipped_bits(void)
{
    run_damage("add4", "add4, bits flipped", 300, flipped);
    run_damage("conv_dyn", "conv_dyn, bits flipped", 200, flipped);
}

static void overwritten_bytes(void)
{
    run_damage("add4", "add4, bytes overwritten", 200, overwritten);
    run_damage("fc13", "fc13, bytes overwritten", 100, overwritten);
}

static void random_bytes(void)
{
    run_damage("add4", "random bytes", 200, noise);
}

/* --- files that are no models, in one child --- */

static char folder[] = "/tmp/zerobind-damaged-XXXXXX";

static char *file_in_folder(const char *name)
{
    char *path = malloc(sizeof folder + strlen(name) + 1);
    REQUIRE(path != NULL);
    sprintf(path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    REQUIRE(file != NULL);
    REQUIRE(fwrite(bytes, 1, size, file) == size);
    fclose(file);
}

static void check_file(const char *path, int32_t runtime, zb_status expected)
{
    zb_model_options options = ZB_MODEL_OPTIONS_INIT;
    zb_model *model = NULL;
    options.runtime = runtime;
    if (!CHECK_STATUS(zb_model_open(path, &options, &model), expected)) {
        told->wrong++;
    }
    if (expected != ZB_OK && !CHECK_ERROR_SAYS(path)) {
        told->wrong++;
    }
    zb_model_destroy(model);
}

static void check_file_by_any(const char *path, zb_status expected)
{
    check_file(path, ZB_RUNTIME_AUTO, expected);
    check_file(path, zt_engine(), expected);
}

static void try_files(const series *trials, size_t number)
{
    (void)number;
    char *empty = file_in_folder("empty.tflite"), *text = file_in_folder("text.onnx"), *half = file_in_folder("half");
    char *missing = file_in_folder("missing.onnx"), *renamed = file_in_folder(zt_is_tflite() ? "m.onnx" : "m.tflite");
    static const char words[] = "This is a text about models.\nIt is not one.\n";
    write_file(empty, "", 0);
    write_file(text, words, sizeof words - 1);
    write_file(half, trials->bytes, trials->size / 2);
    write_file(renamed, trials->bytes, trials->size);
    check_file_by_any(empty, ZB_ERROR_MODEL_INVALID);
    check_file_by_any(text, ZB_ERROR_MODEL_INVALID);
    check_file_by_any(half, ZB_ERROR_MODEL_INVALID);
    check_file_by_any(missing, ZB_ERROR_IO);
    check_file_by_any(folder, ZB_ERROR_IO);
    check_file_by_any("/dev/null", ZB_ERROR_IO);
    /* content decides, whatever the file is called */
    check_file_by_any(renamed, ZB_OK);
    check_file(renamed, zt_is_tflite() ? ZB_RUNTIME_ONNXRUNTIME : ZB_RUNTIME_TFLITE, ZB_ERROR_MODEL_INVALID);
    if (geteuid() != 0) {
        /* nothing is unreadable for root */
        REQUIRE(chmod(renamed, 0) == 0);
        check_file_by_any(renamed, ZB_ERROR_IO);
    }
    unlink(empty);
    unlink(text);
    unlink(half);
    unlink(renamed);
    free(empty);
    free(text);
    free(half);
    free(missing);
    free(renamed);
}

static void files_that_are_no_models(void)
{
    REQUIRE(mkdtemp(folder) != NULL);
    run_damage("add4", "files", 1, try_files);
    REQUIRE(rmdir(folder) == 0);
}

static const zt_test tests[] = {
    ON_BOTH(truncated_small_model),
    ON_BOTH(truncated_real_models),
    ON_BOTH(flipped_bits),
    ON_BOTH(overwritten_bytes),
    ON_BOTH(random_bytes),
    ON_BOTH(files_that_are_no_models),
};

int main(int argc, char **argv)
{
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(told != MAP_FAILED);
    return zt_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
