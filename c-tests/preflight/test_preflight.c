/*
 * Models tried in a process of their own, on the real engines: what passes, what is refused as it would be here, and what
 * ends that process instead of this one.
 */
#include "../harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static zb_status try_path(const char *path, const zb_preflight_options *preflight)
{
    return zb_model_preflight(path, NULL, preflight);
}

/* A model by its name, with the ending of the engine. */
static zb_status try_named(const char *name, const zb_preflight_options *preflight)
{
    char *path = zt_model_path(name);
    zb_status status = try_path(path, preflight);
    free(path);
    return status;
}

/* The entries of a folder of /proc that are numbers: descriptors of this process, or processes. */
static size_t count_numbers(const char *folder)
{
    size_t count = 0;
    DIR *entries = opendir(folder);
    REQUIRE(entries != NULL);
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        count += entry->d_name[0] >= '0' && entry->d_name[0] <= '9';
    }
    closedir(entries);
    return count;
}

/* This process has no child, living or dead. */
static int has_no_child(void)
{
    return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD;
}

/* --- what the host has not loaded --- */

/* First, before this process has an engine: it is the helper that looks for one, where this process would. */
static void an_engine_that_is_not_there(void)
{
    const char *variable = zt_is_tflite() ? "ZEROBIND_TFLITE_LIB" : "ZEROBIND_ONNXRUNTIME_LIB";
    if (zt_is_linked()) {
        puts("        (linked engines are not looked for)");
        return;
    }
    char *right = strdup(getenv(variable));
    zb_runtime_info info = ZB_RUNTIME_INFO_INIT;
    REQUIRE(setenv(variable, "/nowhere/engine.so", 1) == 0);
    CHECK_STATUS(try_named("add4", NULL), ZB_ERROR_RUNTIME_UNAVAILABLE);
    CHECK_ERROR_SAYS("before the model was touched");
    CHECK_ERROR_SAYS("/nowhere/engine.so");
    REQUIRE(setenv(variable, right, 1) == 0);
    CHECK_OK(try_named("add4", NULL));
    /* it was the helper's engine: this process has none */
    REQUIRE_OK(zb_runtime_get_info(zt_engine(), &info));
    CHECK_EQ(info.available, 0);
    /* the file that this process has loaded is the one that the helper takes, whatever the variable says now */
    REQUIRE_OK(zb_runtime_load(zt_engine(), right));
    REQUIRE(setenv(variable, "/nowhere/engine.so", 1) == 0);
    CHECK_OK(try_named("add4", NULL));
    REQUIRE(setenv(variable, right, 1) == 0);
    free(right);
}

/* --- what passes --- */

static void good_models_pass(void)
{
    static const char *const names[] = {"add4", "batch", "quantized", "recurrent", "two_out", "nonzero", "empty", "scalar",
                                        "passthrough", "constant", "basic_pitch"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CHECK_OK(try_named(names[i], NULL));
    }
    if (!zt_is_tflite()) {
        /* external data lies next to the file */
        CHECK_OK(try_named("external", NULL));
    }
    CHECK(has_no_child());
    CHECK_EQ(zt_nothing_is_alive(), 1);
}

static void from_memory_and_from_a_descriptor(void)
{
    size_t size = 0;
    char *path = zt_model_path("add4");
    char name[] = "/tmp/zerobind-preflight-XXXXXX";
    unsigned char *bytes = zt_read(path, &size);
    unsigned char *odd = malloc(size + 1);
    REQUIRE(odd != NULL);
    memcpy(odd + 1, bytes, size);
    CHECK_OK(zb_model_preflight_bytes(bytes, size, NULL, NULL));
    CHECK_OK(zb_model_preflight_bytes(odd + 1, size, NULL, NULL));
    CHECK_STATUS(zb_model_preflight_bytes(bytes, 0, NULL, NULL), ZB_ERROR_MODEL_INVALID);
    CHECK_ERROR_SAYS("no bytes");

    int fd = mkstemp(name);
    REQUIRE(fd >= 0 && unlink(name) == 0);
    REQUIRE(pwrite(fd, bytes, size, 64) == (ssize_t)size);
    CHECK_OK(zb_model_preflight_fd(fd, 64, size, NULL, NULL));
    CHECK_OK(zb_model_preflight_fd(fd, 64, 0, NULL, NULL));
    CHECK_STATUS(zb_model_preflight_fd(fd, 63, 0, NULL, NULL), ZB_ERROR_MISALIGNED);
    CHECK_STATUS(zb_model_preflight_fd(fd, 64, size + 1, NULL, NULL), ZB_ERROR_IO);
    CHECK_STATUS(zb_model_preflight_fd(-1, 0, 0, NULL, NULL), ZB_ERROR_IO);
    CHECK(fcntl(fd, F_GETFD) >= 0);
    close(fd);
    free(odd);
    free(bytes);
    free(path);
}

/* --- what is refused as it would be here --- */

static void files_that_are_no_models(void)
{
    static const unsigned char garbage[64] = "this is no model of anybody's";
    char *path = zt_model_path("add4");
    size_t size = 0;
    unsigned char *bytes = zt_read(path, &size);
    CHECK_STATUS(try_path("/nowhere/model", NULL), ZB_ERROR_IO);
    CHECK_ERROR_SAYS("/nowhere/model: preflight, stage load: ");
    CHECK_STATUS(try_path("/tmp", NULL), ZB_ERROR_IO);
    CHECK_STATUS(try_path("", NULL), ZB_ERROR_IO);
    CHECK_STATUS(zb_model_preflight_bytes(garbage, sizeof garbage, NULL, NULL), ZB_ERROR_MODEL_INVALID);
    CHECK_ERROR_SAYS("stage load");
    CHECK_STATUS(zb_model_preflight_bytes(bytes, size / 2, NULL, NULL), ZB_ERROR_MODEL_INVALID);
    free(bytes);
    free(path);
}

static void options_are_those_of_the_later_use(void)
{
    char *path = zt_model_path("add4");
    zb_model_options model = ZB_MODEL_OPTIONS_INIT;
    zb_context_options context = ZB_CONTEXT_OPTIONS_INIT;
    zb_preflight_options preflight = ZB_PREFLIGHT_OPTIONS_INIT;
    zb_option option = {"nobody.knows", "1"};
    model.sha256[0] = 1;
    CHECK_STATUS(zb_model_preflight(path, &model, NULL), ZB_ERROR_MODEL_INVALID);
    CHECK_ERROR_SAYS("SHA-256");
    zt_hash(path, model.sha256);
    CHECK_OK(zb_model_preflight(path, &model, NULL));
    model.max_tensor_bytes = 15;
    CHECK_STATUS(zb_model_preflight(path, &model, NULL), ZB_ERROR_UNSUPPORTED);
    CHECK_ERROR_SAYS("stage load");
    model.max_tensor_bytes = 0;
    model.runtime = zt_is_tflite() ? ZB_RUNTIME_ONNXRUNTIME : ZB_RUNTIME_TFLITE;
    CHECK_STATUS(zb_model_preflight(path, &model, NULL), ZB_ERROR_MODEL_INVALID);
    CHECK_ERROR_SAYS("the options ask for");

    preflight.context = &context;
    context.options = &option;
    context.option_count = 1;
    CHECK_STATUS(try_path(path, &preflight), ZB_ERROR_NOT_FOUND);
    CHECK_ERROR_SAYS("stage plan");
    CHECK_ERROR_SAYS("nobody.knows");
    option.key = "optimization";
    option.value = "none";
    context.threads = 2;
    CHECK_OK(try_path(path, &preflight));
    context.threads = -1;
    CHECK_STATUS(try_path(path, &preflight), ZB_ERROR_INVALID_ARGUMENT);
    free(path);
}

/* Open dimensions are 1 where the model starts with nothing else; what cannot be run like that is no hostile model. */
static void shapes_of_open_dimensions(void)
{
    const int64_t frame[4] = {1, 8, 8, 1}, wide[4] = {1, 8, 8, 3};
    zb_slot_shape shape = {ZB_INPUT(0), 4, NULL};
    zb_preflight_options preflight = ZB_PREFLIGHT_OPTIONS_INIT;
    preflight.shapes = &shape;
    preflight.shape_count = 1;
    shape.dims = frame;
    CHECK_OK(try_named("conv_dyn", &preflight));
    shape.dims = wide;
    CHECK_STATUS(try_named("conv_dyn", &preflight), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_ERROR_SAYS("stage plan");
    shape.slot = ZB_INPUT(1);
    CHECK_STATUS(try_named("conv_dyn", &preflight), ZB_ERROR_INVALID_ARGUMENT);
    shape.slot = ZB_OUTPUT(0);
    CHECK_STATUS(try_named("conv_dyn", &preflight), ZB_ERROR_INVALID_ARGUMENT);
    if (zt_is_tflite()) {
        const int64_t sound[2] = {1, 1280};
        char *path = zt_model_file("melspectrogram.tflite");
        CHECK_STATUS(try_path(path, NULL), ZB_ERROR_RUNTIME);
        CHECK_ERROR_SAYS("stage plan");
        shape.slot = ZB_INPUT(0);
        shape.rank = 2;
        shape.dims = sound;
        CHECK_OK(try_path(path, &preflight));
        free(path);
    } else {
        /* a network for sound, of which 1 sample is too little */
        char *path = zt_model_file("silero_vad.onnx");
        CHECK_STATUS(try_path(path, NULL), ZB_ERROR_RUNTIME);
        CHECK_ERROR_SAYS("stage run");
        free(path);
    }
}

static void strings_are_not_given(void)
{
    CHECK_STATUS(try_named("string_in", NULL), ZB_ERROR_UNSUPPORTED);
    CHECK_ERROR_SAYS("stage run");
    CHECK_OK(try_named("string_out", NULL));
}

static void bad_arguments(void)
{
    static const int64_t dims[1] = {4};
    zb_slot_shape twice[2] = {{ZB_INPUT(0), 1, dims}, {ZB_INPUT(0), 1, dims}};
    zb_preflight_options preflight, *no_options = NULL;
    const char *no_path = NULL;
    const void *no_bytes = NULL;
    char *path = zt_model_path("add4");
    CHECK_STATUS(zb_model_preflight(no_path, NULL, NULL), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_model_preflight_bytes(no_bytes, 4, NULL, NULL), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_preflight_options_init(no_options, sizeof preflight), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_preflight_options_init(&preflight, 8), ZB_ERROR_INVALID_ARGUMENT);
    REQUIRE_OK(zb_preflight_options_init(&preflight, sizeof preflight));
    CHECK_EQ(preflight.struct_size, sizeof preflight);
    CHECK_OK(try_path(path, &preflight));
    preflight.flags = 1;
    CHECK_STATUS(try_path(path, &preflight), ZB_ERROR_INVALID_ARGUMENT);
    preflight.flags = 0;
    preflight.struct_size = 0;
    CHECK_STATUS(try_path(path, &preflight), ZB_ERROR_INVALID_ARGUMENT);
    preflight.struct_size = sizeof preflight;
    preflight.shape_count = 1;
    CHECK_STATUS(try_path(path, &preflight), ZB_ERROR_NULL_ARGUMENT);
    preflight.shapes = twice;
    preflight.shape_count = 2;
    CHECK_STATUS(try_path(path, &preflight), ZB_ERROR_INVALID_ARGUMENT);
    twice[0].rank = 17;
    CHECK_STATUS(try_path(path, &preflight), ZB_ERROR_UNSUPPORTED);
    free(path);
}

/* --- limits --- */

static void time_and_memory(void)
{
    zb_preflight_options preflight = ZB_PREFLIGHT_OPTIONS_INIT;
    preflight.timeout_ns = 1;
    zb_status late = try_named("basic_pitch", &preflight);
    /* it depends on who of the two processes of the helper the system runs first */
    CHECK(late == ZB_ERROR_DEADLINE_EXCEEDED || late == ZB_ERROR_MODEL_INVALID);
    CHECK_ERROR_SAYS("within 1ns");
    preflight.timeout_ns = UINT64_MAX;
    preflight.max_memory_bytes = UINT64_MAX;
    CHECK_OK(try_named("add4", &preflight));
    /* 64 MiB in and as much out do not fit */
    preflight.max_memory_bytes = 64u << 20;
    CHECK_STATUS(try_named("big64", &preflight), ZB_ERROR_OUT_OF_MEMORY);
    CHECK_ERROR_SAYS("it was allowed 67108864 bytes");
    preflight.max_memory_bytes = 512u << 20;
    CHECK_OK(try_named("big64", &preflight));
    CHECK(has_no_child());
}

/* --- what ends the process of the trial --- */

static int says(const char *part)
{
    char text[4096];
    (void)zb_last_error(text, sizeof text, NULL);
    return strstr(text, part) != NULL;
}

/* Opens, plans and runs a model on zeros in this very process. */
static void run_here(const void *bytes, size_t size)
{
    zb_model *model = NULL;
    zb_context *context = NULL;
    uint32_t inputs = 0;
    REQUIRE_OK(zb_model_open_bytes_copy(bytes, size, NULL, &model));
    REQUIRE_OK(zb_context_create(model, NULL, &context));
    REQUIRE_OK(zb_model_get_slot_counts(model, &inputs, NULL));
    for (uint32_t i = 0; i < inputs; i++) {
        zb_tensor_desc desc;
        zb_tensor *tensor = NULL;
        REQUIRE_OK(zb_context_get_slot_desc(context, ZB_INPUT(i), &desc, NULL));
        int is_open = 0;
        for (uint32_t d = 0; d < desc.rank; d++) {
            is_open |= desc.dims[d] < 0;
            desc.dims[d] = desc.dims[d] < 0 ? 1 : desc.dims[d];
        }
        if (is_open) {
            REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(i), desc.dims, desc.rank));
        }
        REQUIRE_OK(zb_tensor_alloc_for(context, ZB_INPUT(i), &tensor));
        REQUIRE_OK(zb_tensor_bind(tensor, context, ZB_INPUT(i)));
        zb_tensor_destroy(tensor);
    }
    CHECK_OK(zb_infer(context, NULL));
    zb_context_destroy(context);
    zb_model_destroy(model);
}

/*
 * Each word of a model with a convolution, replaced by 0 and by -1; or each ninth byte of a model with a matrix product, with
 * bits flipped, since protobuf has no words. Some of these crash TFLite when it loads, plans or runs them (not always the same
 * ones: it depends on what zerobind refuses before). What passes the trial is run in this process, where a crash would end
 * the test.
 */
static void what_passes_can_be_run_here(void)
{
    static const uint32_t words[2] = {0, UINT32_MAX};
    size_t size = 0, passed = 0, refused = 0, died = 0, other = 0;
    char *path = zt_model_path(zt_is_tflite() ? "conv_dyn" : "fc13");
    unsigned char *bytes = zt_read(path, &size);
    const size_t step = (zt_is_tflite() ? 4 : 9) * (size_t)zt_rounds(1, 16);
    zb_preflight_options preflight = ZB_PREFLIGHT_OPTIONS_INIT;
    preflight.max_memory_bytes = 1u << 30;
    for (size_t at = 8; at + 4 <= size; at += step) {
        for (size_t i = 0; i < 2; i++) {
            uint32_t was;
            memcpy(&was, bytes + at, 4);
            if (zt_is_tflite()) {
                memcpy(bytes + at, &words[i], 4);
            } else {
                bytes[at] ^= i == 0 ? 1 : 0x84;
            }
            zb_status status = zb_model_preflight_bytes(bytes, size, NULL, &preflight);
            if (status == ZB_OK) {
                passed++;
                run_here(bytes, size);
            } else if (status == ZB_ERROR_MODEL_INVALID && says("ended its process")) {
                CHECK(says("stage load") || says("stage plan") || says("stage run") || says("stage close"));
                CHECK(says("signal "));
                died++;
            } else {
                refused += status == ZB_ERROR_MODEL_INVALID;
                other += status != ZB_ERROR_MODEL_INVALID;
            }
            memcpy(bytes + at, &was, 4);
        }
    }
    printf("        %zu passed, %zu were damaged, %zu ended the process, %zu refused otherwise\n", passed, refused, died, other);
    CHECK(passed > 0 && (refused + died > 0 || zt_under_memcheck()));
    CHECK(has_no_child());
    free(bytes);
    free(path);
}

/* Both engines wait for ever for threads that cannot be had: 64 of them with 8 MiB of stack each, in 24 MiB. */
static void an_engine_that_hangs(void)
{
    struct timespec start, end;
    zb_context_options context = ZB_CONTEXT_OPTIONS_INIT;
    zb_preflight_options preflight = ZB_PREFLIGHT_OPTIONS_INIT;
    context.threads = 64;
    preflight.context = &context;
    preflight.max_memory_bytes = 24u << 20;
    preflight.timeout_ns = 700000000;
    REQUIRE(clock_gettime(CLOCK_MONOTONIC, &start) == 0);
    zb_status status = try_named("basic_pitch", &preflight);
    REQUIRE(clock_gettime(CLOCK_MONOTONIC, &end) == 0);
    /* or crash, or notice: that is the engine's affair */
    CHECK(status == ZB_ERROR_MODEL_INVALID || status == ZB_ERROR_OUT_OF_MEMORY || status == ZB_ERROR_RUNTIME);
    CHECK(status != ZB_ERROR_MODEL_INVALID || says("within 700ms") || says("signal "));
    CHECK_ERROR_SAYS("stage ");
    CHECK(end.tv_sec - start.tv_sec < 8);
    char text[4096];
    (void)zb_last_error(text, sizeof text, NULL);
    printf("        %s\n", text);
    CHECK(has_no_child());
}

/* --- the helper --- */

static void write_file(const char *path, const char *text, mode_t mode)
{
    FILE *file = fopen(path, "w");
    REQUIRE(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0 && chmod(path, mode) == 0);
}

static void helpers_that_are_none(void)
{
    char folder[] = "/tmp/zerobind-preflight-XXXXXX", path[64];
    zb_preflight_options preflight = ZB_PREFLIGHT_OPTIONS_INIT;
    REQUIRE(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/helper", folder);
    preflight.helper = path;
    CHECK_STATUS(try_named("add4", &preflight), ZB_ERROR_IO);
    CHECK_ERROR_SAYS(path);
    CHECK_ERROR_SAYS("zb_preflight_options.helper");
    write_file(path, "no program at all\n", 0600);
    if (!zt_under_memcheck()) {
        /* valgrind keeps the word about it from posix_spawn's caller */
        CHECK_STATUS(try_named("add4", &preflight), ZB_ERROR_IO);
        CHECK_ERROR_SAYS("cannot be started");
    }
    write_file(path, "#!/bin/sh\necho something else; echo more\n", 0700);
    CHECK_STATUS(try_named("add4", &preflight), ZB_ERROR_RUNTIME_UNAVAILABLE);
    CHECK_ERROR_SAYS("something else");
    write_file(path, "#!/bin/sh\necho my last words >&2\n", 0700);
    CHECK_STATUS(try_named("add4", &preflight), ZB_ERROR_RUNTIME_UNAVAILABLE);
    CHECK_ERROR_SAYS("my last words");
    write_file(path, "#!/bin/sh\necho 'zerobind-preflight 9.9.9 (tflite; protocol 7)'; sleep 100\n", 0700);
    preflight.timeout_ns = 1;
    CHECK_STATUS(try_named("add4", &preflight), ZB_ERROR_RUNTIME_UNAVAILABLE);
    CHECK_ERROR_SAYS("is of zerobind 9.9.9");
    preflight.helper = NULL;
    preflight.timeout_ns = 0;
    REQUIRE(setenv("ZEROBIND_PREFLIGHT", "/nowhere/helper", 1) == 0);
    CHECK_STATUS(try_named("add4", &preflight), ZB_ERROR_IO);
    CHECK_ERROR_SAYS("/nowhere/helper");
    CHECK_ERROR_SAYS("ZEROBIND_PREFLIGHT");
    REQUIRE(unsetenv("ZEROBIND_PREFLIGHT") == 0);
    CHECK_OK(try_named("add4", &preflight));
    CHECK(has_no_child());
    REQUIRE(unlink(path) == 0 && rmdir(folder) == 0);
}

/* --- hosts of every kind --- */

static void *try_often(void *failures)
{
    for (int i = 0; i < zt_rounds(4, 2); i++) {
        static const unsigned char garbage[64] = "garbage";
        *(int *)failures += try_named("add4", NULL) != ZB_OK;
        *(int *)failures += zb_model_preflight_bytes(garbage, sizeof garbage, NULL, NULL) != ZB_ERROR_MODEL_INVALID;
    }
    return NULL;
}

static void try_in_threads(void)
{
    pthread_t threads[4];
    int failures[4] = {0, 0, 0, 0};
    for (int i = 0; i < 4; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, try_often, &failures[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        REQUIRE(pthread_join(threads[i], NULL) == 0);
        CHECK_EQ(failures[i], 0);
    }
}

static void several_at_once(void)
{
    try_in_threads();
    CHECK(has_no_child());
}

static void no_descriptor_is_left_open(void)
{
    REQUIRE_OK(try_named("add4", NULL));
    size_t before = count_numbers("/proc/self/fd");
    try_in_threads();
    zb_preflight_options preflight = ZB_PREFLIGHT_OPTIONS_INIT;
    preflight.helper = "/nowhere/helper";
    CHECK_STATUS(try_named("add4", &preflight), ZB_ERROR_IO);
    CHECK_EQ(count_numbers("/proc/self/fd"), before);
}

/* What the host starts meanwhile does not get the pipes and files of trials. */
static void other_children_get_nothing_of_it(void)
{
    pthread_t threads[2];
    int failures[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, try_often, &failures[i]) == 0);
    }
    for (int i = 0; i < zt_rounds(30, 3); i++) {
        char line[512];
        FILE *list = popen("ls -l /proc/self/fd", "r");
        REQUIRE(list != NULL);
        while (fgets(line, sizeof line, list) != NULL) {
            CHECK(strstr(line, "zerobind-preflight") == NULL);
        }
        CHECK_EQ(pclose(list), 0);
    }
    for (int i = 0; i < 2; i++) {
        REQUIRE(pthread_join(threads[i], NULL) == 0);
        CHECK_EQ(failures[i], 0);
    }
}

static void a_host_that_ignores_its_children(void)
{
    REQUIRE(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    static const unsigned char garbage[64] = "garbage";
    CHECK_OK(try_named("add4", NULL));
    CHECK_STATUS(zb_model_preflight_bytes(garbage, sizeof garbage, NULL, NULL), ZB_ERROR_MODEL_INVALID);
    REQUIRE(signal(SIGCHLD, SIG_DFL) != SIG_ERR);
    CHECK(has_no_child());
}

static int reaper_goes_on;

/* Waits for every child, as a host with a table of its own may. */
static void *reap(void *unused)
{
    (void)unused;
    while (__atomic_load_n(&reaper_goes_on, __ATOMIC_SEQ_CST)) {
        (void)waitpid(-1, NULL, 0);
    }
    return NULL;
}

static void a_host_that_waits_for_all_children(void)
{
    pthread_t reaper;
    __atomic_store_n(&reaper_goes_on, 1, __ATOMIC_SEQ_CST);
    REQUIRE(pthread_create(&reaper, NULL, reap, NULL) == 0);
    try_in_threads();
    __atomic_store_n(&reaper_goes_on, 0, __ATOMIC_SEQ_CST);
    REQUIRE(pthread_join(reaper, NULL) == 0);
    CHECK(has_no_child());
}

static void interrupted(int number)
{
    (void)number;
}

/* A host with a timer of its own, whose signals interrupt system calls. */
static void a_host_with_signals(void)
{
    struct sigaction action, before;
    timer_t timer;
    struct sigevent event;
    const struct itimerspec often = {{0, 1000000}, {0, 1000000}}, never = {{0, 0}, {0, 0}};
    memset(&action, 0, sizeof action);
    memset(&event, 0, sizeof event);
    action.sa_handler = interrupted;
    REQUIRE(sigaction(SIGUSR1, &action, &before) == 0);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR1;
    REQUIRE(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    REQUIRE(timer_settime(timer, 0, &often, NULL) == 0);
    for (int i = 0; i < 5; i++) {
        CHECK_OK(try_named("add4", NULL));
    }
    REQUIRE(timer_settime(timer, 0, &never, NULL) == 0 && timer_delete(timer) == 0);
    REQUIRE(sigaction(SIGUSR1, &before, NULL) == 0);
}

static void a_host_without_standard_descriptors(void)
{
    int kept[3];
    zb_status path_status, bytes_status;
    static const unsigned char garbage[64] = "garbage";
    fflush(stdout);
    for (int fd = 0; fd < 3; fd++) {
        kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
        REQUIRE(kept[fd] >= 0);
    }
    for (int fd = 0; fd < 3; fd++) {
        close(fd);
    }
    path_status = try_named("add4", NULL);
    bytes_status = zb_model_preflight_bytes(garbage, sizeof garbage, NULL, NULL);
    int untouched = fcntl(0, F_GETFD) == -1 && fcntl(1, F_GETFD) == -1 && fcntl(2, F_GETFD) == -1;
    for (int fd = 0; fd < 3; fd++) {
        REQUIRE(dup2(kept[fd], fd) == fd);
        close(kept[fd]);
    }
    CHECK_STATUS(path_status, ZB_OK);
    CHECK_STATUS(bytes_status, ZB_ERROR_MODEL_INVALID);
    CHECK(untouched);
}

int main(int argc, char **argv)
{
    static const zt_test tests[] = {
        ON_BOTH(an_engine_that_is_not_there),
        ON_BOTH(good_models_pass),
        ON_BOTH(from_memory_and_from_a_descriptor),
        ON_BOTH(files_that_are_no_models),
        ON_BOTH(options_are_those_of_the_later_use),
        ON_BOTH(shapes_of_open_dimensions),
        ON_BOTH(strings_are_not_given),
        ON_BOTH(bad_arguments),
        ON_BOTH(time_and_memory),
        ON_BOTH(what_passes_can_be_run_here),
        ON_BOTH(an_engine_that_hangs),
        ON_BOTH(helpers_that_are_none),
        ON_BOTH(several_at_once),
        ON_BOTH(no_descriptor_is_left_open),
        ON_BOTH(other_children_get_nothing_of_it),
        ON_BOTH(a_host_that_ignores_its_children),
        ON_BOTH(a_host_that_waits_for_all_children),
        ON_BOTH(a_host_with_signals),
        ON_BOTH(a_host_without_standard_descriptors),
    };
    alarm(zt_under_memcheck() ? 500 : 150);
    return zt_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
