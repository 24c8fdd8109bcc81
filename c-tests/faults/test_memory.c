/*
 * Memory that cannot be had: every allocation of zerobind's that grows with a model, with shapes or with counts is refused
 * once. The call says OUT_OF_MEMORY, nothing is left behind, and the same call works after it, with right results.
 *
 * The models are crowd.onnx and crowd.tflite, whose every list is long (crowd.py).
 */
#include "walk.h"

#include <fcntl.h>
#include <unistd.h>

#include "interpose.h"

#define COUNT 160
#define ROWS 300

static char *crowd_path(void)
{
    const char *folder = getenv("ZB_TEST_CROWD");
    const char *name = zt_is_tflite() ? "crowd.tflite" : "crowd.onnx";
    REQUIRE(folder != NULL);
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    REQUIRE(path != NULL);
    snprintf(path, size, "%s/%s", folder, name);
    return path;
}

/* --- models --- */

static void look_at(zb_model *model)
{
    static char text[1 << 20];
    uint32_t inputs = 0, outputs = 0, count = 0;
    zb_slot slot = 0;
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    STEP(zb_model_get_slot_counts(model, &inputs, &outputs));
    CHECK_EQ(inputs, COUNT + 1);
    CHECK_EQ(outputs, COUNT + 1);
    STEP(zb_model_get_slot_info(model, ZB_INPUT(COUNT), &info));
    CHECK_EQ(info.quantization_count, ROWS);
    CHECK(info.scales[4] == 16 && info.zero_points[6] == 6);
    STEP(zb_model_find_input(model, "x100", &slot));
    CHECK_EQ(slot, ZB_INPUT(100));
    STEP_IS(zb_model_find_input(model, "nobody", &slot), ZB_ERROR_NOT_FOUND);
    STEP(zb_model_get_metadata(model, "zerobind.keys", text, sizeof text, NULL));
    CHECK(strstr(text, "key 0\n") != NULL && strstr(text, "key 99") != NULL && strstr(text, "long") != NULL);
    STEP(zb_model_get_metadata(model, "long", text, sizeof text, NULL));
    CHECK_EQ(strlen(text), 200 * strlen("a text of the model's author "));
    STEP_IS(zb_model_get_metadata(model, "none", text, sizeof text, NULL), ZB_ERROR_NOT_FOUND);
    STEP(zb_last_error(text, sizeof text, NULL));
    if (zt_is_tflite()) {
        STEP(zb_model_get_signature_count(model, &count));
        CHECK_EQ(count, 41);
        STEP(zb_model_signature_find_input(model, "signature 0", "in7", &slot));
        CHECK_EQ(slot, ZB_INPUT(7));
        STEP_IS(zb_model_signature_find_output(model, "signature 0", "nobody", &slot), ZB_ERROR_NOT_FOUND);
        STEP_IS(zb_model_signature_find_output(model, "none", "nobody", &slot), ZB_ERROR_NOT_FOUND);
    }
}

static void open_by_path(void)
{
    char *path = crowd_path();
    zb_model *model = NULL;
    STEP(zb_model_open(path, NULL, &model));
    look_at(model);
    CHECK_OK(zb_model_destroy(model));
    free(path);
}

static void open_by_descriptor(void)
{
    char *path = crowd_path();
    zb_model *model = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    STEP(zb_model_open_fd(fd, 0, 0, NULL, &model));
    close(fd);
    CHECK_OK(zb_model_destroy(model));
    free(path);
}

static void open_bytes(void)
{
    char *path = crowd_path();
    size_t size = 0;
    zt_releases releases = {0};
    void *bytes = zt_read(path, &size);
    zb_model *model = NULL;
    STEP(zb_model_open_bytes(bytes, size, zt_count_release, &releases, NULL, &model));
    CHECK_EQ(zt_release_count(&releases), 0);
    CHECK_OK(zb_model_destroy(model));
    CHECK_EQ(zt_release_count(&releases), 1);
    free(bytes);
    free(path);
}

static void open_copy(void)
{
    char *path = crowd_path();
    size_t size = 0;
    void *bytes = zt_read(path, &size);
    zb_model *model = NULL;
    STEP(zb_model_open_bytes_copy(bytes, size, NULL, &model));
    free(bytes);
    CHECK_OK(zb_model_destroy(model));
    free(path);
}

/* --- contexts --- */

/* One model for all that comes after it: opening it again and again is tested above. */
static zb_model *crowd;

static zb_context *new_context(int32_t copy_policy)
{
    enum { OPTIONS = 100 };
    static char keys[OPTIONS][48], value[2 * LEAST];
    zb_option options[OPTIONS];
    zb_context_options given = ZB_CONTEXT_OPTIONS_INIT;
    zb_context *context = NULL;
    memset(value, 'v', sizeof value - 1);
    for (int i = 0; i < OPTIONS; i++) {
        snprintf(keys[i], sizeof keys[i], "ort.session.zerobind.test.%d", i);
        options[i].key = keys[i];
        /* the engine takes up to 2048 letters */
        options[i].value = i == 0 ? value : "short";
    }
    given.copy_policy = copy_policy;
    given.options = options;
    given.option_count = OPTIONS;
    STEP(zb_context_create(crowd, &given, &context));
    return context;
}

typedef struct memory {
    float x[16];
    float y[COUNT][16];
    int8_t quantized[512];
    float real[512];
} memory;

static memory *new_memory(void)
{
    void *block = NULL;
    REQUIRE(posix_memalign(&block, 64, sizeof(memory)) == 0);
    memory *all = memset(block, 0, sizeof(memory));
    for (int i = 0; i < 16; i++) {
        all->x[i] = (float)(i + 1);
    }
    memset(all->quantized, 8, sizeof all->quantized);
    return all;
}

static void check_floats_at(const void *data)
{
    float fifth;
    memcpy(&fifth, (const char *)data + 4 * sizeof fifth, sizeof fifth);
    CHECK(fifth == (8 - 4) * 16.0f);
}

static void check_results(const memory *all, size_t n)
{
    for (size_t i = 0; i < COUNT; i++) {
        CHECK(all->y[i][0] == 2 && all->y[i][n - 1] == (float)(2 * n));
    }
    check_floats_at(all->real);
}

static void lend_all(memory *all, int64_t n, zb_loan *loans, const zb_tensor_desc *desc)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        loans[i] = zb_loan_input(ZB_INPUT(i), all->x, (size_t)n * 4, sizeof all->x, desc);
        loans[COUNT + i] = zb_loan_output(ZB_OUTPUT(i), all->y[i], (size_t)n * 4, desc);
    }
    loans[2 * COUNT] = zb_loan_input(ZB_INPUT(COUNT), all->quantized, ROWS, sizeof all->quantized, NULL);
    loans[2 * COUNT + 1] = zb_loan_output(ZB_OUTPUT(COUNT), all->real, ROWS * 4, NULL);
}

static void infer_with(zb_context *context, memory *all, int64_t n)
{
    const zb_tensor_desc desc = F32(n);
    zb_loan loans[2 * COUNT + 2];
    lend_all(all, n, loans, &desc);
    STEP(zb_infer_with(context, loans, 2 * COUNT + 2, NULL));
    /* what makes the next such call quicker may be done without */
    walk_allow_silence();
    check_results(all, (size_t)n);
}

static void bind_all(zb_context *context, memory *all, int64_t n)
{
    const zb_tensor_desc desc = F32(n), rows = DESC(ZB_DTYPE_I8, ROWS, 1), real = F32(ROWS, 1);
    for (uint32_t i = 0; i < 2 * COUNT + 2; i++) {
        const uint32_t index = i / 2;
        const int is_last = index == COUNT, is_input = i % 2 == 0;
        void *data = is_input ? (is_last ? (void *)all->quantized : all->x) : (is_last ? all->real : all->y[index]);
        const zb_tensor_desc *its = is_last ? (is_input ? &rows : &real) : &desc;
        size_t size = 0;
        zb_tensor *tensor = NULL;
        STEP(zb_tensor_desc_size(its, &size));
        STEP(zb_tensor_wrap(its, data, size, size + 16, NULL, NULL, &tensor));
        STEP(zb_tensor_bind(tensor, context, is_input ? ZB_INPUT(index) : ZB_OUTPUT(index)));
        CHECK_OK(zb_tensor_destroy(tensor));
    }
}

/* Shapes that could not be planned are forgotten, so they are asked for again. */
static void prepare(zb_context *context, int64_t n)
{
    zb_status status = ZB_OK;
    for (int attempt = 0; attempt < 2; attempt++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            STEP(zb_context_resize_input(context, ZB_INPUT(i), &n, 1));
        }
        const int before = walk_before();
        status = zb_context_prepare(context);
        if (!walk_is_refusal(status, before)) {
            break;
        }
    }
    CHECK_EQ(status, ZB_OK);
}

static void a_context(void)
{
    memory *all = new_memory();
    zb_context *context = new_context(ZB_COPY_NEVER);
    zb_tensor *tensor = NULL;
    zb_requirements requirements = ZB_REQUIREMENTS_INIT;
    const int64_t small = 4, large = 9;
    prepare(context, small);
    STEP(zb_context_get_requirements(context, ZB_INPUT(0), &requirements));
    infer_with(context, all, 4);
    infer_with(context, all, 7);
    prepare(context, 1024);
    STEP(zb_tensor_alloc_for(context, ZB_INPUT(0), &tensor));
    CHECK_OK(zb_tensor_destroy(tensor));
    prepare(context, large);
    bind_all(context, all, large);
    STEP(zb_infer(context, NULL));
    check_results(all, (size_t)large);
    STEP(zb_context_reset_state(context));
    STEP(zb_infer(context, NULL));
    STEP_IS(zb_context_resize_input(context, ZB_INPUT(COUNT), &small, 1), ZB_ERROR_SHAPE_MISMATCH);
    STEP_IS(zb_context_unbind(context, ZB_INPUT(COUNT + 1)), ZB_ERROR_INVALID_ARGUMENT);
    STEP(zb_context_unbind(context, ZB_INPUT(0)));
    STEP_IS(zb_infer(context, NULL), ZB_ERROR_UNBOUND);
    CHECK_OK(zb_context_destroy(context));
    free(all);
}

static void outputs_in_other_memory(void)
{
    memory *all = new_memory();
    zb_context *context = new_context(ZB_COPY_ALLOW);
    zb_loan loans[2 * COUNT + 2];
    const void *data = NULL;
    size_t size = 0;
    void *block = NULL;
    REQUIRE(posix_memalign(&block, 64, 2 * 2048) == 0);
    unsigned char *odd = memset(block, 8, 2 * 2048);
    prepare(context, 4);
    /* copied in both directions: at addresses that TFLite cannot use, and with room for a shape that only the run tells */
    lend_all(all, 4, loans, NULL);
    loans[2 * COUNT].data = odd + 4;
    loans[2 * COUNT + 1].data = odd + 2048 + 4;
    STEP(zb_infer_with(context, loans, 2 * COUNT + 2, NULL));
    walk_allow_silence();
    check_floats_at(odd + 2048 + 4);
    /* and without memory of the host's: the engine's, or ours in the place that it was taken out of */
    lend_all(all, 4, loans, NULL);
    STEP_IS(zb_infer_with(context, loans, 2 * COUNT, NULL), ZB_ERROR_UNBOUND);
    loans[COUNT] = loans[2 * COUNT];
    STEP(zb_infer_with(context, loans, COUNT + 1, NULL));
    walk_allow_silence();
    STEP(zb_context_output_view(context, ZB_OUTPUT(COUNT), &data, &size, NULL));
    CHECK_EQ(size, ROWS * 4);
    check_floats_at(data);
    CHECK_OK(zb_context_destroy(context));
    free(block);
    free(all);
}

/* --- tensors --- */

static void tensors(void)
{
    const zb_tensor_desc desc = F32(1000, 1000), deep = DESC(ZB_DTYPE_U8, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 5000);
    zb_tensor *tensor = NULL, *back = NULL;
    struct DLManagedTensorVersioned *managed = NULL;
    STEP(zb_tensor_alloc(&desc, 0, &tensor));
    CHECK_OK(zb_tensor_destroy(tensor));
    STEP(zb_tensor_alloc(&deep, 4096, &tensor));
    STEP(zb_tensor_to_dlpack(tensor, &managed));
    STEP(zb_tensor_from_dlpack(managed, &back));
    CHECK_OK(zb_tensor_destroy(tensor));
    CHECK_OK(zb_tensor_destroy(back));
}

/* --- queues --- */

static void settle(zb_event *event, zb_status *result)
{
    CHECK_OK(zb_event_wait(event, UINT64_MAX, result));
}

static void infer_on(zb_queue *queue, zb_context *context, memory *all, size_t n)
{
    zb_status result = ZB_ERROR_PANIC;
    for (int attempt = 0; attempt < 2; attempt++) {
        zb_event *event = NULL;
        zb_tensor_desc desc;
        memset(all->y, 0, sizeof all->y);
        STEP(zb_queue_infer(queue, context, NULL, &event));
        settle(event, &result);
        if (result == ZB_OK) {
            STEP(zb_event_get_slot_desc(event, ZB_OUTPUT(COUNT - 1), &desc, NULL));
            CHECK_EQ(desc.dims[0], (int64_t)n);
            check_results(all, n);
        }
        CHECK_OK(zb_event_destroy(event));
        if (!walk_is_refused_end(result)) {
            break;
        }
    }
    CHECK_EQ(result, ZB_OK);
}

static void a_queue(void)
{
    memory *all = new_memory();
    zb_context *context = new_context(ZB_COPY_NEVER);
    zb_queue *queue = NULL;
    zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
    zb_tensor *tensor = NULL, *other = NULL;
    const zb_tensor_desc desc = F32(4096);
    static float bytes[4096];
    zb_event *event = NULL;
    zb_status result = ZB_OK;
    zb_slot_tensor instead[COUNT];
    const zb_tensor_desc four = F32(4);
    options.capacity = 100000;
    bind_all(context, all, 4);
    STEP(zb_context_prepare(context));
    STEP(zb_queue_create(&options, &queue));
    infer_on(queue, context, all, 4);
    /* another binding is taken home while a run is away */
    STEP(zb_tensor_wrap(&four, all->x, 16, 64, NULL, NULL, &other));
    for (uint32_t i = 0; i < COUNT; i++) {
        instead[i] = (zb_slot_tensor){ZB_INPUT(i), 0, other};
    }
    for (int attempt = 0; attempt < 2; attempt++) {
        STEP(zb_queue_infer_with(queue, context, instead, COUNT, NULL, &event));
        settle(event, &result);
        CHECK_OK(zb_event_destroy(event));
        if (!walk_is_refused_end(result)) {
            break;
        }
    }
    CHECK_EQ(result, ZB_OK);
    CHECK_OK(zb_tensor_destroy(other));
    infer_on(queue, context, all, 4);
    /* a burst without events, and bytes that are kept until their turn */
    for (int i = 0; i < 50; i++) {
        STEP(zb_queue_infer(queue, context, NULL, NULL));
    }
    STEP(zb_queue_finish(queue, UINT64_MAX));
    walk_allow_silence();
    STEP(zb_tensor_alloc(&desc, 0, &tensor));
    for (int i = 0; i < 3; i++) {
        STEP(zb_queue_write(queue, tensor, 0, bytes, sizeof bytes, NULL));
    }
    STEP(zb_queue_finish(queue, UINT64_MAX));
    CHECK_OK(zb_tensor_destroy(tensor));
    CHECK_OK(zb_queue_destroy(queue));
    CHECK_OK(zb_context_destroy(context));
    free(all);
}

/* Tasks of this executor are never run before the queue is gone. */
static int32_t take(void *user_data, zb_task_fn run, void *task)
{
    (void)user_data;
    (void)run;
    (void)task;
    return 0;
}

/* Many operations in line for one tensor, of two queues, then all of them destroyed at once. */
static void long_lines(void)
{
    enum { OPERATIONS = 1500 };
    zb_queue *queues[2] = {NULL, NULL};
    zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
    zb_tensor *tensor = NULL;
    const zb_tensor_desc desc = F32(4);
    static float bytes[4];
    static zb_event *reads[OPERATIONS];
    options.capacity = 100000;
    options.submit = take;
    STEP(zb_tensor_alloc(&desc, 0, &tensor));
    for (int i = 0; i < 2; i++) {
        STEP(zb_queue_create(&options, &queues[i]));
    }
    STEP(zb_queue_write(queues[0], tensor, 0, bytes, sizeof bytes, NULL));
    for (int i = 0; i < OPERATIONS; i++) {
        STEP(zb_queue_read(queues[1], tensor, 0, bytes, sizeof bytes, &reads[i]));
    }
    STEP(zb_queue_write(queues[0], tensor, 0, bytes, sizeof bytes, NULL));
    STEP_IS(zb_queue_finish(queues[1], 0), ZB_ERROR_TIMEOUT);
    STEP_IS(zb_tensor_sync(tensor, ZB_SYNC_TO_HOST, 0), ZB_ERROR_TIMEOUT);
    /* the reads end by this, and what waited for them */
    CHECK_OK(zb_tensor_destroy(tensor));
    CHECK_OK(zb_queue_destroy(queues[1]));
    CHECK_OK(zb_queue_destroy(queues[0]));
    for (int i = 0; i < OPERATIONS; i++) {
        zb_status result = ZB_OK;
        settle(reads[i], &result);
        CHECK_EQ(result, ZB_ERROR_DESTROYED);
        CHECK_OK(zb_event_destroy(reads[i]));
    }
}

/* --- tables of handles, which grow once in the life of a process --- */

static void tables_that_grow(void)
{
    enum { MOST = 20000 };
    zb_tensor **tensors_made = calloc(MOST, sizeof *tensors_made);
    const zb_tensor_desc desc = F32(0);
    int count = 0, refusals = 0;
    REQUIRE(tensors_made != NULL);
    while (count < MOST) {
        zi_begin(LEAST, 1);
        zb_status status = zb_tensor_wrap(&desc, NULL, 0, 0, NULL, NULL, &tensors_made[count]);
        zi_end();
        if (zi_has_refused()) {
            refusals++;
            CHECK_STATUS(status, ZB_ERROR_OUT_OF_MEMORY);
            CHECK_ERROR_SAYS("tensor");
            CHECK_OK(zb_tensor_wrap(&desc, NULL, 0, 0, NULL, NULL, &tensors_made[count]));
        } else {
            CHECK_OK(status);
        }
        count++;
    }
    CHECK(refusals > 3);
    while (count > 0) {
        CHECK_OK(zb_tensor_destroy(tensors_made[--count]));
    }
    free(tensors_made);
}

/* --- the texts of errors, and lines of the log --- */

static void ignore_line(void *user_data, int32_t level, const char *text)
{
    (void)user_data;
    (void)level;
    CHECK(text != NULL && text[0] != '\0');
}

static void long_texts(void)
{
    static char name[100000], copy[200000];
    zb_slot slot = 0;
    zb_model *model = NULL;
    zb_context *context = NULL;
    zb_option option = {name, name};
    zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
    memset(name, 'n', sizeof name - 1);
    options.options = &option;
    options.option_count = 1;
    STEP(zb_set_log_callback(ignore_line, NULL, ZB_LOG_DEBUG));
    STEP_IS(zb_model_open(name, NULL, &model), ZB_ERROR_IO);
    STEP_IS(zb_model_find_input(crowd, name, &slot), ZB_ERROR_NOT_FOUND);
    STEP_IS(zb_context_create(crowd, &options, &context), ZB_ERROR_NOT_FOUND);
    STEP_IS(zb_model_open_bytes_copy(name, sizeof name, NULL, &model), ZB_ERROR_MODEL_INVALID);
    STEP(zb_last_error(copy, sizeof copy, NULL));
    STEP(zb_set_log_callback(NULL, NULL, 1));
}

/* --- all of them --- */

static void with_crowd(const char *name, void (*scenario)(void))
{
    char *path = crowd_path();
    REQUIRE_OK(zb_model_open(path, NULL, &crowd));
    walk_keep(1);
    walk(name, scenario);
    walk_keep(0);
    CHECK_OK(zb_model_destroy(crowd));
    free(path);
}

static void models(void)
{
    walk("open by path", open_by_path);
    /* after its bytes are there, a model is opened in one way */
    walk_first(6, "open by descriptor", open_by_descriptor);
    walk_first(6, "open a copy of bytes", open_copy);
    walk_first(6, "open bytes", open_bytes);
}

static void contexts(void)
{
    with_crowd("a context", a_context);
    with_crowd("outputs in other memory", outputs_in_other_memory);
}

static void queues(void)
{
    with_crowd("a queue", a_queue);
}

static void lines_of_queues(void)
{
    /* a node of the tree of operations is larger than others */
    walk_from(4096, "long lines", long_lines);
}

static void memory_of_tensors(void)
{
    walk("tensors", tensors);
}

static void texts(void)
{
    with_crowd("long texts", long_texts);
}

int main(int argc, char **argv)
{
    static const zt_test tests[] = {
        ON_BOTH(models),
        ON_BOTH(contexts),
        ON_BOTH(queues),
        ON_BOTH(texts),
        /* with these no engine has to do */
        ON_ONNXRUNTIME(lines_of_queues),
        ON_ONNXRUNTIME(memory_of_tensors),
        ON_ONNXRUNTIME(tables_that_grow),
    };
    return zt_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
