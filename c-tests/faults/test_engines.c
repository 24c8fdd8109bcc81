/*
 * Files in the place of an engine's library: none, cut short, a text, for another processor, too old, without functions, with
 * a beginning that fails or aborts. Each is refused with the file's name, what is wrong with it and what to do; nothing of it stays, and
 * the right file works after it, also at the same place.
 */
#include "../harness.h"

#include <sys/stat.h>
#include <unistd.h>

static int32_t own(void)
{
    return zt_engine();
}

static const char *real_engine(void)
{
    const char *path = getenv(zt_is_tflite() ? "ZEROBIND_TFLITE_LIB" : "ZEROBIND_ONNXRUNTIME_LIB");
    REQUIRE(path != NULL);
    return path;
}

/* A file of this test in its own folder. */
static const char *at(const char *name)
{
    static char path[8][1024];
    static unsigned next;
    const char *folder = getenv("ZB_TEST_STUBS");
    REQUIRE(folder != NULL);
    char *place = path[next++ % 8];
    snprintf(place, sizeof *path, "%s/%s.%s", folder, zt_is_tflite() ? "tflite" : "onnxruntime", name);
    return place;
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    remove(path);
    FILE *file = fopen(path, "wb");
    REQUIRE(file != NULL);
    REQUIRE(fwrite(bytes, 1, size, file) == size);
    REQUIRE(fclose(file) == 0);
}

static void check_works(void)
{
    static const float doubled[4] = {2, 4, 6, 8};
    zt_buffer x = zt_buffer_new(16), z = zt_buffer_new(16);
    zt_fill_floats(&x, 1, 1);
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    zb_loan loans[3] = {zt_lend_input(0, &x), zt_lend_input(1, &x), zt_lend_output(0, &z)};
    CHECK_OK(zb_infer_with(context, loans, 3, NULL));
    CHECK_FLOATS(zt_floats(&z), doubled, 4, 0);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&z);
}

static void check_refused(const char *path, const char *says)
{
    zb_runtime_info info = ZB_RUNTIME_INFO_INIT;
    if (!CHECK_STATUS(zb_runtime_load(own(), path), ZB_ERROR_RUNTIME_UNAVAILABLE) || !CHECK_ERROR_SAYS(says)) {
        printf("of %s\n", path);
    }
    /* whose file it is, which one, and what to do */
    CHECK_ERROR_SAYS(zt_is_tflite() ? "TFLite" : "ONNX Runtime");
    CHECK_ERROR_SAYS(path);
    CHECK_ERROR_SAYS(zt_is_tflite() ? "ZEROBIND_TFLITE_LIB" : "ZEROBIND_ONNXRUNTIME_LIB");
    REQUIRE_OK(zb_runtime_get_info(own(), &info));
    CHECK_EQ(info.available, 0);
    CHECK(info.reason != NULL && strstr(info.reason, path) != NULL);
}

static void no_library(void)
{
    const char *fifo = at("fifo");
    static const char text[] = "<html>404 Not Found</html>";
    check_refused(at("missing"), "no such file");
    check_refused("/", "not a file");
    remove(fifo);
    REQUIRE(mkfifo(fifo, 0600) == 0);
    check_refused(fifo, "not a file");
    write_file(at("empty"), "", 0);
    check_refused(at("empty"), "0 bytes");
    write_file(at("text"), text, sizeof text - 1);
    check_refused(at("text"), "no shared library");
    check_refused("libthere_is_no_such_library.so", "cannot open shared object file");
}

static void cut_short(void)
{
    size_t size = 0;
    unsigned char *bytes = zt_read(real_engine(), &size);
    const size_t lengths[] = {3, 10, 63, 64, 100, 4096, size / 4, size / 2, size - size / 8};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        write_file(at("short"), bytes, lengths[i]);
        check_refused(at("short"), lengths[i] < 4097 ? "bytes" : "cut short");
    }
    free(bytes);
}

/* The real library with another processor in its header. */
static void another_processor(void)
{
    size_t size = 0;
    unsigned char *bytes = zt_read(real_engine(), &size);
    enum { MACHINE = 18, CLASS = 4, ORDER = 5, ARM64 = 183, X86_64 = 62 };
    const unsigned char machine = bytes[MACHINE], class = bytes[CLASS];
    bytes[MACHINE] = machine == ARM64 ? X86_64 : ARM64;
    write_file(at("foreign"), bytes, size);
    check_refused(at("foreign"), machine == ARM64 ? "x86-64" : "ARM64");
    CHECK_ERROR_SAYS("another processor");
    bytes[MACHINE] = machine;
    bytes[CLASS] = class == 2 ? 1 : 2;
    write_file(at("foreign"), bytes, size);
    check_refused(at("foreign"), "another processor");
    bytes[CLASS] = class;
    bytes[ORDER] ^= 3;
    write_file(at("foreign"), bytes, size);
    check_refused(at("foreign"), "another processor");
    remove(at("foreign"));
    free(bytes);
}

static void not_this_engine(void)
{
    check_refused(getenv(zt_is_tflite() ? "ZEROBIND_ONNXRUNTIME_LIB" : "ZEROBIND_TFLITE_LIB"), "so it is not");
    check_refused("libm.so.6", "so it is not");
    check_refused(at("gone.so"), "libzerobind_test_gone.so");
    check_refused(at("unresolved.so"), "nobody_has_this");
}

/* A library whose initialiser ends the process: no status can come of that, but a preflight's process is another one. */
static void an_initialiser_that_aborts(void)
{
    const char *variable = zt_is_tflite() ? "ZEROBIND_TFLITE_LIB" : "ZEROBIND_ONNXRUNTIME_LIB";
    zb_preflight_options trial = ZB_PREFLIGHT_OPTIONS_INIT;
    char *path = zt_model_path("add4"), *right = strdup(real_engine());
    REQUIRE(setenv(variable, at("aborts.so"), 1) == 0);
    CHECK_STATUS(zb_model_preflight(path, NULL, &trial), ZB_ERROR_RUNTIME_UNAVAILABLE);
    CHECK_ERROR_SAYS("the engine's library ended the process when it was loaded");
    CHECK_ERROR_SAYS("SIGABRT");
    CHECK_ERROR_SAYS("the stub's last words");
    REQUIRE(setenv(variable, right, 1) == 0);
    CHECK_OK(zb_model_preflight(path, NULL, &trial));
    free(right);
    free(path);
}

static void stubs_of_tflite(void)
{
    check_refused(at("old.so"), "TFLite 2.9.0 is too old: 2.17 or newer");
    check_refused(at("null.so"), "gives no version");
    check_refused(at("odd.so"), "\"two\", which is not understood");
    check_refused(at("bare.so"), "TFLite 2.17.1 without TfLiteModelDelete");
}

static void stubs_of_onnxruntime(void)
{
    check_refused(at("base.so"), "OrtGetApiBase returned NULL");
    check_refused(at("old.so"), "version 1.16.3 is too old: 1.17 or newer");
    check_refused(at("null.so"), "calls its version ''");
    check_refused(at("bare.so"), "does not offer API level 17");
    check_refused(at("holes.so"), "function 20 of API level 17 is missing");
}

/* The library begins, and says that it cannot. */
static void a_start_that_fails(void)
{
    CHECK_STATUS(zb_runtime_load(own(), at("fails.so")), ZB_ERROR_RUNTIME_UNAVAILABLE);
    CHECK_ERROR_SAYS("fails.so");
    CHECK_ERROR_SAYS("the stub cannot start");
}

/* After all that, at a place where a wrong file was. */
static void a_place_that_is_repaired(void)
{
    static const char text[] = "version https://git-lfs.github.com/spec/v1";
    const char *path = at("repaired.so");
    zb_runtime_info info = ZB_RUNTIME_INFO_INIT;
    write_file(path, text, sizeof text - 1);
    check_refused(path, "no shared library");
    remove(path);
    REQUIRE(symlink(real_engine(), path) == 0);
    CHECK_OK(zb_runtime_load(own(), path));
    REQUIRE_OK(zb_runtime_get_info(own(), &info));
    CHECK_EQ(info.available, 1);
    check_works();
    /* wrong ones are refused for another reason now */
    CHECK_STATUS(zb_runtime_load(own(), at("empty")), ZB_ERROR_INVALID_ARGUMENT);
    check_works();
}

/* --- a library without the functions that zerobind can do without (engine_less.c) --- */

static void without_optional_functions(void)
{
    zb_option option = {"tflite.xnnpack", "true"};
    zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
    zb_context *context = NULL;
    REQUIRE(setenv("ZB_TEST_REAL_ENGINE", real_engine(), 1) == 0);
    CHECK_OK(zb_runtime_load(own(), at("less.so")));
    check_works();
    zb_model *model = zt_open("long_chain");
    options.options = &option;
    options.option_count = 1;
    CHECK_STATUS(zb_context_create(model, &options, &context), ZB_ERROR_UNSUPPORTED);
    CHECK_ERROR_SAYS("has no XNNPACK");
    context = zt_context(model);
    CHECK_STATUS(zb_context_cancel(context), ZB_ERROR_UNSUPPORTED);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

int main(int argc, char **argv)
{
    static const zt_test tests[] = {
        ON_BOTH(no_library),      ON_BOTH(cut_short),       ON_BOTH(another_processor),
        ON_BOTH(not_this_engine), ON_TFLITE(stubs_of_tflite), ON_ONNXRUNTIME(stubs_of_onnxruntime),
        ON_BOTH(an_initialiser_that_aborts),
        ON_ONNXRUNTIME(a_start_that_fails), ON_BOTH(a_place_that_is_repaired),
    };
    static const zt_test less[] = {ON_TFLITE(without_optional_functions)};
    if (zt_is_linked()) {
        puts("skipped: the engines are linked, so no file is looked for");
        return 0;
    }
    /* an engine is loaded once for a process */
    if (argc == 3 && strcmp(argv[2], less[0].name) == 0) {
        return zt_main(argc, argv, less, 1);
    }
    return zt_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
