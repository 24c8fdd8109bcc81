#include "harness.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CANARY 0xA7
#define FRESH 0xCD
#define GUARD 128u
#define LAST_KIND 5

static int32_t engine = ZB_RUNTIME_AUTO;
static const char *current_test = "";
static size_t tests_passed, tests_failed, tests_chosen;

/* checks may fail on any thread */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int failures;

/* --- checks --- */

static void show_last_error(void)
{
    char text[2048] = "";
    zb_status status = zb_last_error(text, sizeof text, NULL);
    if ((status == ZB_OK || status == ZB_ERROR_BUFFER_TOO_SMALL) && text[0] != '\0') {
        fprintf(stderr, "    last error: %s\n", text);
    }
}

__attribute__((format(printf, 3, 4))) static void fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    pthread_mutex_lock(&lock);
    failures++;
    fprintf(stderr, "%s:%d: in %s: ", file, line, current_test);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    show_last_error();
    pthread_mutex_unlock(&lock);
}

static void print_summary(size_t failed)
{
    printf("%zu passed, %zu failed\n", tests_passed, failed);
    fflush(stdout);
}

/* Without what was required nothing that follows makes sense; the tests that are left count as failed. */
__attribute__((noreturn)) static void stop(void)
{
    fprintf(stderr, "    %s cannot go on, and with what it leaves behind neither can the tests after it\n", current_test);
    print_summary(tests_chosen - tests_passed);
    _exit(1);
}

int zt_check(int passed, const char *file, int line, const char *text)
{
    if (!passed) {
        fail(file, line, "failed: %s", text);
    }
    return passed;
}

void zt_require(int passed, const char *file, int line, const char *text)
{
    if (!zt_check(passed, file, line, text)) {
        stop();
    }
}

int zt_check_status(zb_status actual, zb_status expected, const char *file, int line, const char *call)
{
    if (actual != expected) {
        fail(file, line, "%s\n    gave %s (%d), expected %s", call, zb_status_name(actual), (int)actual,
             zb_status_name(expected));
    }
    return actual == expected;
}

void zt_require_status(zb_status actual, zb_status expected, const char *file, int line, const char *call)
{
    if (!zt_check_status(actual, expected, file, line, call)) {
        stop();
    }
}

int zt_check_equal(long long actual, long long expected, const char *file, int line, const char *text)
{
    if (actual != expected) {
        fail(file, line, "failed: %s (%lld, expected %lld)", text, actual, expected);
    }
    return actual == expected;
}

int zt_check_address(const void *actual, const void *expected, const char *file, int line, const char *text)
{
    if (actual != expected) {
        fail(file, line, "failed: %s (%p, expected %p)", text, actual, expected);
    }
    return actual == expected;
}

int zt_check_error_says(const char *part, const char *file, int line)
{
    char text[4096] = "";
    zb_status status = zb_last_error(text, sizeof text, NULL);
    int found = status == ZB_OK && strstr(text, part) != NULL;
    if (!found) {
        fail(file, line, "the last error does not say \"%s\"", part);
    }
    return found;
}

int zt_check_floats(const float *actual, const float *expected, size_t count, float tolerance, const char *file, int line,
                    const char *text)
{
    for (size_t i = 0; i < count; i++) {
        /* written so that a NaN fails too */
        if (!(fabsf(actual[i] - expected[i]) <= tolerance)) {
            fail(file, line, "%s[%zu] is %.9g, expected %.9g within %g", text, i, (double)actual[i], (double)expected[i],
                 (double)tolerance);
            return 0;
        }
    }
    return 1;
}

int zt_check_bytes(const void *actual, const void *expected, size_t size, const char *file, int line, const char *text)
{
    const unsigned char *a = actual;
    const unsigned char *b = expected;
    for (size_t i = 0; i < size; i++) {
        if (a[i] != b[i]) {
            fail(file, line, "byte %zu of %s is 0x%02x, expected 0x%02x", i, text, a[i], b[i]);
            return 0;
        }
    }
    return 1;
}

/* --- the registry --- */

int32_t zt_engine(void)
{
    return engine;
}

void zt_choose_engine(const char *name)
{
    engine = strcmp(name, "tflite") == 0 ? ZB_RUNTIME_TFLITE : ZB_RUNTIME_ONNXRUNTIME;
}

int zt_failures(void)
{
    return failures;
}

int zt_is_tflite(void)
{
    return engine == ZB_RUNTIME_TFLITE;
}

int zt_under_memcheck(void)
{
    const char *value = getenv("ZB_TEST_MEMCHECK");
    return value != NULL && strcmp(value, "1") == 0;
}

int zt_is_linked(void)
{
    return getenv("ZB_TEST_LINKED") != NULL;
}

int zt_rounds(int native, int memcheck)
{
    return zt_under_memcheck() ? memcheck : native;
}

int zt_nothing_is_alive(void)
{
    for (int32_t kind = 1; kind <= LAST_KIND; kind++) {
        if (zb_live_objects(kind) != 0) {
            return 0;
        }
    }
    return 1;
}

int zt_soon_nothing_is_alive(void)
{
    const struct timespec pause = {0, 1000000};
    for (int i = 0; i < 2000 && !zt_nothing_is_alive(); i++) {
        nanosleep(&pause, NULL);
    }
    return zt_nothing_is_alive();
}

static void check_nothing_is_alive(void)
{
    zt_soon_nothing_is_alive();
    for (int32_t kind = 1; kind <= LAST_KIND; kind++) {
        unsigned long long alive = zb_live_objects(kind);
        if (alive != 0) {
            fail(__FILE__, __LINE__, "%llu objects of kind %d are alive at the end of the test", alive, (int)kind);
        }
    }
}

static int is_chosen(const zt_test *test, int argc, char **argv, int first)
{
    if (engine != ZB_RUNTIME_AUTO && (test->engines & (1u << (unsigned)(engine - 1))) == 0) {
        return 0;
    }
    for (int i = first; i < argc; i++) {
        if (strcmp(argv[i], test->name) == 0) {
            return 1;
        }
    }
    return first == argc;
}

static void run(const zt_test *test)
{
    int before = failures;
    current_test = test->name;
    test->run();
    check_nothing_is_alive();
    if (failures == before) {
        tests_passed++;
        printf("ok      %s\n", test->name);
    } else {
        tests_failed++;
        printf("FAILED  %s\n", test->name);
    }
}

int zt_main(int argc, char **argv, const zt_test *tests, size_t count)
{
    int first = 1;
    /* so that it keeps its place among what goes to stderr */
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 1 && strcmp(argv[1], "tflite") == 0) {
        engine = ZB_RUNTIME_TFLITE;
        first = 2;
    } else if (argc > 1 && strcmp(argv[1], "onnxruntime") == 0) {
        engine = ZB_RUNTIME_ONNXRUNTIME;
        first = 2;
    }
    for (size_t i = 0; i < count; i++) {
        tests_chosen += (size_t)is_chosen(&tests[i], argc, argv, first);
    }
    if (tests_chosen == 0) {
        fprintf(stderr, "no such test; there are:\n");
        for (size_t i = 0; i < count; i++) {
            fprintf(stderr, "  %s\n", tests[i].name);
        }
        return 2;
    }
    for (size_t i = 0; i < count; i++) {
        if (is_chosen(&tests[i], argc, argv, first)) {
            run(&tests[i]);
        }
    }
    print_summary(tests_failed);
    return tests_failed == 0 ? 0 : 1;
}

/* --- models and files --- */

static char *join(const char *variable, const char *name, const char *ending)
{
    const char *folder = getenv(variable);
    if (folder == NULL) {
        fail(__FILE__, __LINE__, "%s is not set: it names the folder of %s", variable, name);
        stop();
    }
    size_t size = strlen(folder) + strlen(name) + strlen(ending) + 2;
    char *path = malloc(size);
    REQUIRE(path != NULL);
    snprintf(path, size, "%s/%s%s", folder, name, ending);
    return path;
}

char *zt_model_path(const char *name)
{
    REQUIRE(engine != ZB_RUNTIME_AUTO);
    return join("ZB_TEST_MODELS", name, zt_is_tflite() ? ".tflite" : ".onnx");
}

char *zt_model_file(const char *file)
{
    return join("ZB_TEST_MODELS", file, "");
}

char *zt_reference_path(const char *file)
{
    return join("ZB_TEST_REFERENCE", file, "");
}

void *zt_read(const char *path, size_t *size)
{
    void *bytes = NULL;
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        fail(__FILE__, __LINE__, "cannot read %s", path);
        stop();
    }
    long end = ftell(file);
    REQUIRE(end >= 0 && fseek(file, 0, SEEK_SET) == 0);
    *size = (size_t)end;
    REQUIRE(posix_memalign(&bytes, 64, *size + 64) == 0);
    memset(bytes, 0, *size + 64);
    REQUIRE(fread(bytes, 1, *size, file) == *size);
    fclose(file);
    return bytes;
}

void zt_hash(const char *path, uint8_t hash[32])
{
    char command[4200];
    snprintf(command, sizeof command, "sha256sum '%s'", path);
    FILE *tool = popen(command, "r");
    REQUIRE(tool != NULL);
    for (int i = 0; i < 32; i++) {
        unsigned value = 0;
        REQUIRE(fscanf(tool, "%2x", &value) == 1);
        hash[i] = (uint8_t)value;
    }
    /* read to the end, or the tool may be stopped while it writes */
    while (fgetc(tool) != EOF) {
    }
    REQUIRE(pclose(tool) == 0);
}

void *zt_read_reference(const char *file, size_t size)
{
    size_t found = 0;
    char *path = zt_reference_path(file);
    void *bytes = zt_read(path, &found);
    if (found != size) {
        fail(__FILE__, __LINE__, "%s has %zu bytes, expected %zu", path, found, size);
        stop();
    }
    free(path);
    return bytes;
}

zb_model *zt_open(const char *name)
{
    zb_model *model = NULL;
    char *path = zt_model_path(name);
    REQUIRE_OK(zb_model_open(path, NULL, &model));
    free(path);
    return model;
}

zb_context *zt_context(zb_model *model)
{
    zb_context *context = NULL;
    REQUIRE_OK(zb_context_create(model, NULL, &context));
    return context;
}

zb_context *zt_copying_context(zb_model *model)
{
    zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
    zb_context *context = NULL;
    options.copy_policy = ZB_COPY_ALLOW;
    REQUIRE_OK(zb_context_create(model, &options, &context));
    return context;
}

/* --- descs --- */

zb_tensor_desc zt_desc(int32_t dtype, const int64_t *dims, size_t rank)
{
    zb_tensor_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.dtype = dtype;
    desc.rank = (uint32_t)rank;
    for (size_t i = 0; i < rank && i < ZB_MAX_RANK; i++) {
        desc.dims[i] = dims[i];
    }
    return desc;
}

int zt_same_desc(const zb_tensor_desc *a, const zb_tensor_desc *b)
{
    return a->dtype == b->dtype && a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

/* --- memory --- */

size_t zt_page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static void paint(const zt_buffer *buffer)
{
    memset(buffer->data - buffer->before, CANARY, buffer->before);
    if (buffer->size > 0) {
        memset(buffer->data, FRESH, buffer->size);
    }
    memset(buffer->data + buffer->size, CANARY, buffer->after);
}

zt_buffer zt_buffer_at(size_t size, size_t offset)
{
    zt_buffer buffer;
    void *block = NULL;
    REQUIRE(offset < 64);
    memset(&buffer, 0, sizeof buffer);
    buffer.size = size;
    buffer.before = GUARD + offset;
    buffer.after = GUARD;
    buffer.capacity = size + 64;
    buffer.block_size = buffer.before + size + buffer.after;
    REQUIRE(posix_memalign(&block, GUARD, buffer.block_size) == 0);
    buffer.block = block;
    buffer.data = buffer.block + buffer.before;
    paint(&buffer);
    return buffer;
}

zt_buffer zt_buffer_new(size_t size)
{
    return zt_buffer_at(size, 0);
}

/* `inner` bytes of whole pages between two that cannot be read; `data` is `offset` bytes into them. */
static zt_buffer map_pages(size_t inner, size_t offset, size_t size)
{
    zt_buffer buffer;
    size_t page = zt_page_size();
    memset(&buffer, 0, sizeof buffer);
    buffer.is_mapped = 1;
    buffer.block_size = inner + 2 * page;
    void *block = mmap(NULL, buffer.block_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(block != MAP_FAILED);
    buffer.block = block;
    REQUIRE(mprotect(buffer.block + page, inner, PROT_READ | PROT_WRITE) == 0);
    buffer.size = size;
    buffer.before = offset;
    buffer.after = inner - offset - size;
    buffer.capacity = size;
    buffer.data = buffer.block + page + offset;
    paint(&buffer);
    return buffer;
}

static size_t whole_pages(size_t size)
{
    size_t page = zt_page_size();
    return (size + page - 1) / page * page;
}

zt_buffer zt_buffer_before_page_end(size_t size, size_t alignment, size_t left)
{
    size_t inner = whole_pages(size + left + alignment);
    return map_pages(inner, (inner - left - size) / alignment * alignment, size);
}

zt_buffer zt_buffer_at_page_end(size_t size)
{
    return zt_buffer_before_page_end(size, 1, 0);
}

zt_buffer zt_buffer_of_pages(size_t size)
{
    zt_buffer buffer = map_pages(whole_pages(size) + zt_page_size(), 0, size);
    buffer.capacity = size + buffer.after;
    return buffer;
}

static int all_bytes_are(const unsigned char *bytes, size_t size, unsigned char value)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != value) {
            return 0;
        }
    }
    return 1;
}

int zt_check_guards(const zt_buffer *buffer, const char *file, int line, const char *name)
{
    int before = all_bytes_are(buffer->data - buffer->before, buffer->before, CANARY);
    int after = all_bytes_are(buffer->data + buffer->size, buffer->after, CANARY);
    if (!before || !after) {
        fail(file, line, "bytes %s %s were written", before ? "behind" : "before", name);
    }
    return before && after;
}

void zt_free_buffer(zt_buffer *buffer, const char *file, int line, const char *name)
{
    zt_check_guards(buffer, file, line, name);
    if (buffer->is_mapped) {
        munmap(buffer->block, buffer->block_size);
    } else {
        free(buffer->block);
    }
    memset(buffer, 0, sizeof *buffer);
}

int zt_is_untouched(const zt_buffer *buffer)
{
    return all_bytes_are(buffer->data, buffer->size, FRESH);
}

float *zt_floats(const zt_buffer *buffer)
{
    /* through void: buffers are as aligned as the test made them */
    void *data = buffer->data;
    return data;
}

void zt_fill_floats(const zt_buffer *buffer, float start, float step)
{
    size_t count = buffer->size / sizeof(float);
    for (size_t i = 0; i < count; i++) {
        float value = start + step * (float)i;
        /* byte by byte, since a test may want floats at odd addresses */
        memcpy(buffer->data + i * sizeof value, &value, sizeof value);
    }
}

zb_tensor *zt_wrap(const zb_tensor_desc *desc, const zt_buffer *buffer)
{
    zb_tensor *tensor = NULL;
    REQUIRE_OK(zb_tensor_wrap(desc, buffer->data, buffer->size, buffer->capacity, NULL, NULL, &tensor));
    return tensor;
}

void zt_bind(zb_context *context, zb_slot slot, zb_tensor_desc desc, const zt_buffer *buffer)
{
    zb_tensor *tensor = zt_wrap(&desc, buffer);
    REQUIRE_OK(zb_tensor_bind(tensor, context, slot));
    zb_tensor_destroy(tensor);
}

zb_loan zt_lend_input(uint32_t index, const zt_buffer *buffer)
{
    return zb_loan_input(ZB_INPUT(index), buffer->data, buffer->size, buffer->capacity, NULL);
}

zb_loan zt_lend_output(uint32_t index, const zt_buffer *buffer)
{
    return zb_loan_output(ZB_OUTPUT(index), buffer->data, buffer->size, NULL);
}

/* --- release callbacks --- */

void zt_count_release(void *user_data, void *data, size_t size)
{
    zt_releases *releases = user_data;
    /* on whichever thread ends the last use */
    pthread_mutex_lock(&lock);
    releases->count++;
    releases->data = data;
    releases->size = size;
    pthread_mutex_unlock(&lock);
}

int zt_release_count(const zt_releases *releases)
{
    pthread_mutex_lock(&lock);
    int count = releases->count;
    pthread_mutex_unlock(&lock);
    return count;
}
