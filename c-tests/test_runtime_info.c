/*
 * Finding the engines' libraries. What is loaded stays loaded, so each test runs in a process of its own: this program
 * starts itself again with the name of the test, in the environment that the test asks for.
 *
 * With ZB_TEST_LINKED=1 the library is one that was linked with its engines, and other things are true of it.
 */
#include "harness.h"

#include <sys/wait.h>
#include <unistd.h>

static int32_t own(void)
{
    return zt_engine();
}

static int32_t other(void)
{
    return zt_is_tflite() ? ZB_RUNTIME_ONNXRUNTIME : ZB_RUNTIME_TFLITE;
}

static const char *variable_of(int32_t runtime)
{
    return runtime == ZB_RUNTIME_TFLITE ? "ZEROBIND_TFLITE_LIB" : "ZEROBIND_ONNXRUNTIME_LIB";
}

static zb_runtime_info info_of(int32_t runtime)
{
    zb_runtime_info info = ZB_RUNTIME_INFO_INIT;
    REQUIRE_OK(zb_runtime_get_info(runtime, &info));
    return info;
}

static void check_not_loaded(int32_t runtime)
{
    zb_runtime_info info = info_of(runtime);
    CHECK_EQ(info.available, 0);
    CHECK(info.version == NULL && info.path == NULL);
}

/* The same name; for a linked engine the same file, which the linker knows by its SONAME. */
static int is_file(const char *told, const char *path)
{
    char *real_told = realpath(told, NULL), *real_path = realpath(path, NULL);
    int is_same = zt_is_linked() ? real_told != NULL && real_path != NULL && strcmp(real_told, real_path) == 0
                              : strcmp(told, path) == 0;
    free(real_told);
    free(real_path);
    return is_same;
}

static void check_loaded(int32_t runtime, const char *path)
{
    zb_runtime_info info = info_of(runtime);
    CHECK_EQ(info.available, 1);
    REQUIRE(info.version != NULL && info.path != NULL);
    CHECK(info.version[0] >= '0' && info.version[0] <= '9' && strchr(info.version, '.') != NULL);
    CHECK(is_file(info.path, path));
    CHECK(info.reason == NULL);
}

static zb_status open_of(int32_t runtime, zb_model **model)
{
    char *path = zt_model_file(runtime == ZB_RUNTIME_TFLITE ? "add4.tflite" : "add4.onnx");
    zb_status status = zb_model_open(path, NULL, model);
    free(path);
    return status;
}

static void check_works(int32_t runtime)
{
    static const float doubled[4] = {2, 4, 6, 8};
    zb_model *model = NULL;
    zt_buffer x = zt_buffer_new(16), z = zt_buffer_new(16);
    zb_loan loans[3];
    zt_fill_floats(&x, 1, 1);
    REQUIRE_OK(open_of(runtime, &model));
    zb_context *context = zt_context(model);
    loans[0] = zt_lend_input(0, &x);
    loans[1] = zt_lend_input(1, &x);
    loans[2] = zt_lend_output(0, &z);
    CHECK_OK(zb_infer_with(context, loans, 3, NULL));
    CHECK_FLOATS(zt_floats(&z), doubled, 4, 0);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&z);
}

static void nothing_is_loaded_at_first(void)
{
    check_not_loaded(own());
    check_not_loaded(other());
    CHECK(strcmp(info_of(own()).reason, "not loaded yet") == 0);
    /* looking does not load */
    check_not_loaded(own());
}

static void a_model_loads_its_engine_alone(void)
{
    check_works(own());
    check_loaded(own(), getenv(variable_of(own())));
    check_not_loaded(other());
    check_works(other());
    check_loaded(other(), getenv(variable_of(other())));
}

static void loading_early(void)
{
    const char *path = getenv(variable_of(own()));
    CHECK_OK(zb_runtime_load(own(), NULL));
    check_loaded(own(), path);
    /* again is fine, from there */
    CHECK_OK(zb_runtime_load(own(), NULL));
    CHECK_OK(zb_runtime_load(own(), path));
    check_works(own());
}

static void another_file_is_refused_once_loaded(void)
{
    const char *path = getenv(variable_of(own()));
    CHECK_OK(zb_runtime_load(own(), path));
    CHECK_STATUS(zb_runtime_load(own(), "/no/such/engine.so"), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_ERROR_SAYS("/no/such/engine.so");
    CHECK_ERROR_SAYS(path);
    CHECK_STATUS(zb_runtime_load(own(), getenv(variable_of(other()))), ZB_ERROR_INVALID_ARGUMENT);
    check_loaded(own(), path);
    check_works(own());
}

/* Strings of a runtime live as long as the process: what was told before is still there after a change. */
static void texts_stay(void)
{
    CHECK_STATUS(zb_runtime_load(own(), "/no/such/engine.so"), ZB_ERROR_RUNTIME_UNAVAILABLE);
    const char *reason = info_of(own()).reason;
    REQUIRE(reason != NULL);
    CHECK_STATUS(zb_runtime_load(own(), "/no/other/engine.so"), ZB_ERROR_RUNTIME_UNAVAILABLE);
    CHECK_OK(zb_runtime_load(own(), NULL));
    CHECK(strstr(reason, "/no/such/engine.so") != NULL);
}

static void check_wrong_file(const char *path, const char *says)
{
    CHECK_STATUS(zb_runtime_load(own(), path), ZB_ERROR_RUNTIME_UNAVAILABLE);
    CHECK_ERROR_SAYS(path);
    CHECK_ERROR_SAYS(says);
    CHECK_ERROR_SAYS(zt_is_tflite() ? "TFLite" : "ONNX Runtime");
    check_not_loaded(own());
    zb_runtime_info info = info_of(own());
    CHECK(info.reason != NULL && strstr(info.reason, path) != NULL);
}

static void wrong_files_then_the_right_one(void)
{
    char *model = zt_model_file("add4.onnx");
    check_wrong_file("/no/such/engine.so", "no such file");
    check_wrong_file("", "");
    check_wrong_file("/", "");
    check_wrong_file(model, "");
    /* libraries, but not this engine */
    check_wrong_file("libm.so.6", "");
    check_wrong_file(getenv(variable_of(other())), "");
    /* each failure left everything as it was */
    CHECK_OK(zb_runtime_load(own(), getenv(variable_of(own()))));
    check_loaded(own(), getenv(variable_of(own())));
    check_works(own());
    check_works(other());
    free(model);
}

/* In an environment whose variable for the own engine names no file. */
static void a_missing_engine(void)
{
    zb_model *model = NULL;
    CHECK_STATUS(open_of(own(), &model), ZB_ERROR_RUNTIME_UNAVAILABLE);
    CHECK(model == NULL);
    CHECK_ERROR_SAYS("/nowhere/engine.so");
    CHECK_ERROR_SAYS(variable_of(own()));
    CHECK_ERROR_SAYS("no such file");
    check_not_loaded(own());
    CHECK(strstr(info_of(own()).reason, "/nowhere/engine.so") != NULL);
    /* the other works, before and after further attempts */
    check_works(other());
    CHECK_STATUS(zb_runtime_load(own(), NULL), ZB_ERROR_RUNTIME_UNAVAILABLE);
    CHECK_STATUS(open_of(own(), &model), ZB_ERROR_RUNTIME_UNAVAILABLE);
    check_works(other());
}

/* The same, and then the host names the right file, or mends the environment. */
static void a_missing_engine_that_is_found_later(void)
{
    const char *path = getenv("ZB_TEST_REAL_ENGINE");
    zb_model *model = NULL;
    CHECK_STATUS(open_of(own(), &model), ZB_ERROR_RUNTIME_UNAVAILABLE);
    CHECK_OK(zb_runtime_load(own(), path));
    check_loaded(own(), path);
    check_works(own());
}

static void a_missing_engine_whose_environment_is_mended(void)
{
    const char *path = getenv("ZB_TEST_REAL_ENGINE");
    zb_model *model = NULL;
    CHECK_STATUS(open_of(own(), &model), ZB_ERROR_RUNTIME_UNAVAILABLE);
    REQUIRE(setenv(variable_of(own()), path, 1) == 0);
    check_works(own());
    check_loaded(own(), path);
}

/* Without a variable: next to this library, then by the system loader; the text tells both. */
static void no_variable_is_set(void)
{
    zb_status status = zb_runtime_load(own(), NULL);
    if (status == ZB_OK) {
        /* it is installed on this machine */
        CHECK_EQ(info_of(own()).available, 1);
        return;
    }
    CHECK_STATUS(status, ZB_ERROR_RUNTIME_UNAVAILABLE);
    CHECK_ERROR_SAYS("next to zerobind");
    CHECK_ERROR_SAYS("system loader");
    CHECK_ERROR_SAYS(zt_is_tflite() ? "libtensorflowlite_c" : "libonnxruntime");
    CHECK_ERROR_SAYS(variable_of(own()));
}

/* --- linked engines --- */

static void linked_engines_are_there_at_first(void)
{
    check_loaded(own(), getenv(variable_of(own())));
    check_loaded(other(), getenv(variable_of(other())));
    check_works(own());
    check_loaded(own(), getenv(variable_of(own())));
}

/* In an environment whose variable for the own engine names no file. */
static void the_environment_is_not_asked(void)
{
    CHECK_OK(zb_runtime_load(own(), NULL));
    check_loaded(own(), getenv("ZB_TEST_REAL_ENGINE"));
    check_works(own());
}

static void no_other_file_is_loaded_than_the_linked_one(void)
{
    const char *path = getenv(variable_of(own()));
    CHECK_STATUS(zb_runtime_load(own(), "/no/such/engine.so"), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_ERROR_SAYS("is linked into this build");
    CHECK_ERROR_SAYS("/no/such/engine.so");
    CHECK_ERROR_SAYS(path);
    CHECK_STATUS(zb_runtime_load(own(), getenv(variable_of(other()))), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_OK(zb_runtime_load(own(), path));
    check_loaded(own(), path);
    check_works(own());
    check_works(other());
}

/* --- a process for each --- */

typedef enum setting { AS_IT_IS, NAMES_NO_FILE, IS_UNSET } setting;

typedef struct process {
    zt_test test;
    setting variable;
} process;

static const process processes_of_linked[] = {
    {ON_BOTH(linked_engines_are_there_at_first), AS_IT_IS},
    {ON_BOTH(the_environment_is_not_asked), NAMES_NO_FILE},
    {ON_BOTH(no_other_file_is_loaded_than_the_linked_one), AS_IT_IS},
    {ON_BOTH(loading_early), AS_IT_IS},
    {ON_BOTH(another_file_is_refused_once_loaded), AS_IT_IS},
};

static const process processes_of_loaded[] = {
    {ON_BOTH(nothing_is_loaded_at_first), AS_IT_IS},
    {ON_BOTH(a_model_loads_its_engine_alone), AS_IT_IS},
    {ON_BOTH(loading_early), AS_IT_IS},
    {ON_BOTH(another_file_is_refused_once_loaded), AS_IT_IS},
    {ON_BOTH(texts_stay), AS_IT_IS},
    {ON_BOTH(wrong_files_then_the_right_one), AS_IT_IS},
    {ON_BOTH(a_missing_engine), NAMES_NO_FILE},
    {ON_BOTH(a_missing_engine_that_is_found_later), NAMES_NO_FILE},
    {ON_BOTH(a_missing_engine_whose_environment_is_mended), NAMES_NO_FILE},
    {ON_BOTH(no_variable_is_set), IS_UNSET},
};

/* After fork and before exec: nothing of zerobind's is called. */
static void become(const process *wanted, char **argv)
{
    const char *variable = strcmp(argv[1], "tflite") == 0 ? "ZEROBIND_TFLITE_LIB" : "ZEROBIND_ONNXRUNTIME_LIB";
    const char *path = getenv(variable);
    if (path != NULL) {
        setenv("ZB_TEST_REAL_ENGINE", path, 1);
    }
    if (wanted->variable == NAMES_NO_FILE) {
        setenv(variable, "/nowhere/engine.so", 1);
    } else if (wanted->variable == IS_UNSET) {
        unsetenv(variable);
    }
    execl("/proc/self/exe", argv[0], argv[1], wanted->test.name, (char *)NULL);
    _exit(127);
}

int main(int argc, char **argv)
{
    int failed = 0;
    const process *processes = processes_of_loaded;
    size_t count = sizeof processes_of_loaded / sizeof *processes;
    if (zt_is_linked()) {
        puts("the engines are linked: finding them at run time is not tested, but that it does not happen");
        processes = processes_of_linked;
        count = sizeof processes_of_linked / sizeof *processes;
    }
    if (argc > 2) {
        zt_test tests[sizeof processes_of_loaded / sizeof *processes];
        for (size_t i = 0; i < count; i++) {
            tests[i] = processes[i].test;
        }
        return zt_main(argc, argv, tests, count);
    }
    REQUIRE(argc == 2);
    for (size_t i = 0; i < count; i++) {
        int ended = 0;
        fflush(stdout);
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            become(&processes[i], argv);
        }
        REQUIRE(waitpid(child, &ended, 0) == child);
        if (!WIFEXITED(ended) || WEXITSTATUS(ended) != 0) {
            printf("FAILED  %s (ended with %d)\n", processes[i].test.name, ended);
            failed++;
        }
    }
    return failed == 0 ? 0 : 1;
}
