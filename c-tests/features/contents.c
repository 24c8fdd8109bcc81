/*
 * What a build contains is what its zerobind_config.h says: an engine that is there loads, one that is not is reported as
 * unavailable with a text that says why. Compiled by c-tests/features.sh and linked.sh against each build.
 */
#include "../harness.h"

#include <zerobind_config.h>

typedef struct engine {
    int32_t runtime;
    int is_there;
    const char *feature, *model;
} engine;

static const engine engines[2] = {
    {ZB_RUNTIME_TFLITE, ZEROBIND_WITH_TFLITE, "`tflite`", "add4.tflite"},
    {ZB_RUNTIME_ONNXRUNTIME, ZEROBIND_WITH_ONNXRUNTIME, "`onnxruntime`", "add4.onnx"},
};

static zb_runtime_info info_of(int32_t runtime)
{
    zb_runtime_info info = ZB_RUNTIME_INFO_INIT;
    REQUIRE_OK(zb_runtime_get_info(runtime, &info));
    return info;
}

static zb_status open_of(const engine *of, int32_t runtime, zb_model **model)
{
    zb_model_options options = ZB_MODEL_OPTIONS_INIT;
    char *path = zt_model_file(of->model);
    options.runtime = runtime;
    zb_status status = zb_model_open(path, &options, model);
    free(path);
    return status;
}

static void check_there(const engine *of)
{
    zb_model *model = NULL;
    CHECK_OK(zb_runtime_load(of->runtime, NULL));
    zb_runtime_info info = info_of(of->runtime);
    CHECK_EQ(info.available, 1);
    CHECK(info.version != NULL && info.path != NULL && info.reason == NULL);
    REQUIRE_OK(open_of(of, 0, &model));
    zb_model_destroy(model);
}

static void check_missing(const engine *of)
{
    zb_model *model = NULL;
    zb_runtime_info info = info_of(of->runtime);
    CHECK_EQ(info.available, 0);
    CHECK(info.version == NULL && info.path == NULL);
    REQUIRE(info.reason != NULL);
    CHECK(strstr(info.reason, of->feature) != NULL && strstr(info.reason, "not part of this build") != NULL);
    CHECK_STATUS(zb_runtime_load(of->runtime, NULL), ZB_ERROR_RUNTIME_UNAVAILABLE);
    CHECK_ERROR_SAYS(of->feature);
    /* known by its content, and when it is asked for */
    CHECK_STATUS(open_of(of, 0, &model), ZB_ERROR_RUNTIME_UNAVAILABLE);
    CHECK_ERROR_SAYS(of->feature);
    CHECK_STATUS(open_of(of, of->runtime, &model), ZB_ERROR_RUNTIME_UNAVAILABLE);
    CHECK_ERROR_SAYS(of->feature);
    CHECK(model == NULL);
}

static void engines_are_as_the_config_says(void)
{
    for (int i = 0; i < 2; i++) {
        if (engines[i].is_there) {
            check_there(&engines[i]);
        } else {
            check_missing(&engines[i]);
        }
    }
}

/* One list of options for models of every engine, whichever of them a build has. */
static void options_of_a_missing_engine_are_passed_over(void)
{
    for (int i = 0; i < 2; i++) {
        static const zb_option both[2] = {{"tflite.xnnpack", "false"}, {"ort.session.session.disable_prepacking", "1"}};
        static const zb_option neither[1] = {{"nobody.knows", "1"}};
        zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
        zb_model *model = NULL;
        zb_context *context = NULL;
        if (!engines[i].is_there) {
            continue;
        }
        REQUIRE_OK(open_of(&engines[i], 0, &model));
        options.options = both;
        options.option_count = 2;
        CHECK_OK(zb_context_create(model, &options, &context));
        zb_context_destroy(context);
        options.options = neither;
        options.option_count = 1;
        CHECK_STATUS(zb_context_create(model, &options, &context), ZB_ERROR_NOT_FOUND);
        zb_model_destroy(model);
    }
}

static void engines_come_in_one_way(void)
{
    CHECK(!(ZEROBIND_LINKED && ZEROBIND_LOAD_DYNAMIC));
    for (int i = 0; i < 2; i++) {
        zb_runtime_info info = info_of(engines[i].runtime);
        CHECK_EQ(info.available, ZEROBIND_LINKED && engines[i].is_there);
    }
}

int main(int argc, char **argv)
{
    static const zt_test tests[] = {
        /* first, before anything is loaded */
        ON_BOTH(engines_come_in_one_way),
        ON_BOTH(engines_are_as_the_config_says),
        ON_BOTH(options_of_a_missing_engine_are_passed_over),
    };
    printf("this build: tflite %d, onnxruntime %d, load-dynamic %d, linked %d\n", ZEROBIND_WITH_TFLITE,
           ZEROBIND_WITH_ONNXRUNTIME, ZEROBIND_LOAD_DYNAMIC, ZEROBIND_LINKED);
    return zt_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
