/*
 * Limits of the system: no descriptor left, no thread to be had, no address space. Each call that needs one says so, and works
 * when there is one again.
 */
#include "../harness.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "interpose.h"

/* --- descriptors --- */

static int taken[4096];
static int taken_count;
static struct rlimit descriptors_before;

static void take_all_descriptors(void)
{
    struct rlimit limit;
    REQUIRE(getrlimit(RLIMIT_NOFILE, &descriptors_before) == 0);
    limit = descriptors_before;
    limit.rlim_cur = 256;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    taken_count = 0;
    for (int fd; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) {
        taken[taken_count++] = fd;
    }
    REQUIRE(errno == EMFILE && taken_count > 0);
}

static void give_descriptors_back(void)
{
    while (taken_count > 0) {
        close(taken[--taken_count]);
    }
    REQUIRE(setrlimit(RLIMIT_NOFILE, &descriptors_before) == 0);
}

/* Before the engine is there. */
static void no_descriptor_for_the_engine(void)
{
    zb_model *model = NULL;
    char *path = zt_model_path("add4");
    if (zt_is_linked()) {
        free(path);
        return;
    }
    take_all_descriptors();
    CHECK_STATUS(zb_runtime_load(zt_engine(), NULL), ZB_ERROR_RUNTIME_UNAVAILABLE);
    CHECK_ERROR_SAYS("Too many open files");
    CHECK(zb_model_open(path, NULL, &model) != ZB_OK);
    give_descriptors_back();
    CHECK_OK(zb_runtime_load(zt_engine(), NULL));
    CHECK_OK(zb_model_open(path, NULL, &model));
    CHECK_OK(zb_model_destroy(model));
    free(path);
}

static void no_descriptor(void)
{
    zb_model *model = NULL, *other = NULL;
    zb_tensor *tensor = NULL;
    zb_queue *queue = NULL;
    zb_event *event = NULL;
    const zb_tensor_desc desc = F32(4);
    char *path = zt_model_path("add4");
    int fd = open(path, O_RDWR | O_CLOEXEC), signal_fd = -1;
    REQUIRE(fd >= 0);
    REQUIRE_OK(zb_model_open(path, NULL, &model));
    REQUIRE_OK(zb_queue_create(NULL, &queue));
    REQUIRE_OK(zb_queue_fence(queue, &event));
    /* XNNPACK reads what the processor is when it is first needed, once, and not again if that fails (docs/engines.md) */
    zb_context *first = zt_context(model);
    take_all_descriptors();
    CHECK_STATUS(zb_model_open(path, NULL, &other), ZB_ERROR_IO);
    CHECK_ERROR_SAYS(path);
    CHECK_ERROR_SAYS("Too many open files");
    CHECK_STATUS(zb_model_open_fd(fd, 0, 0, NULL, &other), ZB_ERROR_IO);
    CHECK_ERROR_SAYS("Too many open files");
    CHECK_STATUS(zb_tensor_map_fd(&desc, fd, 0, ZB_MAP_READ_ONLY, &tensor), ZB_ERROR_IO);
    CHECK_STATUS(zb_event_get_fd(event, &signal_fd), ZB_ERROR_IO);
    CHECK_EQ(signal_fd, -1);
    /* what needs none goes on */
    zb_context *context = zt_context(model);
    CHECK_OK(zb_context_prepare(context));
    CHECK_OK(zb_context_destroy(context));
    CHECK_OK(zb_context_destroy(first));
    give_descriptors_back();
    CHECK_OK(zb_model_open_fd(fd, 0, 0, NULL, &other));
    CHECK_OK(zb_tensor_map_fd(&desc, fd, 0, ZB_MAP_READ_ONLY, &tensor));
    CHECK_OK(zb_event_get_fd(event, &signal_fd));
    close(signal_fd);
    close(fd);
    zb_event_destroy(event);
    zb_queue_destroy(queue);
    zb_tensor_destroy(tensor);
    zb_model_destroy(other);
    zb_model_destroy(model);
    free(path);
}

/* --- threads --- */

static void no_thread(void)
{
    zb_queue *queue = NULL;
    zb_infer_options options = ZB_INFER_OPTIONS_INIT;
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(16), z = zt_buffer_new(16);
    zt_fill_floats(&x, 1, 1);
    zb_loan loans[3] = {zt_lend_input(0, &x), zt_lend_input(1, &x), zt_lend_output(0, &z)};
    CHECK_OK(zb_infer_with(context, loans, 3, NULL));
    memset(z.data, 0, z.size);
    options.deadline_ns = 3600ull * 1000000000u;
    zi_refuse_threads(1);
    CHECK_STATUS(zb_queue_create(NULL, &queue), ZB_ERROR_OUT_OF_MEMORY);
    CHECK_ERROR_SAYS("thread");
    CHECK(queue == NULL);
    /* the one that watches deadlines is started by the first of them */
    CHECK_STATUS(zb_infer_with(context, loans, 3, &options), ZB_ERROR_OUT_OF_MEMORY);
    CHECK_ERROR_SAYS("thread");
    CHECK(zt_floats(&z)[0] == 0);
    CHECK_OK(zb_infer_with(context, loans, 3, NULL));
    zi_refuse_threads(0);
    CHECK_OK(zb_infer_with(context, loans, 3, &options));
    CHECK(zt_floats(&z)[3] == 8);
    CHECK_OK(zb_queue_create(NULL, &queue));
    CHECK_OK(zb_queue_destroy(queue));
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&z);
}

/* --- address space --- */

static uint64_t mapped_bytes(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    REQUIRE(file != NULL && fscanf(file, "%llu", &pages) == 1);
    fclose(file);
    return pages * zt_page_size();
}

static void no_address_space(void)
{
    enum { MEBIBYTE = 1 << 20 };
    const zb_tensor_desc desc = DESC(ZB_DTYPE_U8, 512 * MEBIBYTE);
    char *big = zt_model_path("big64");
    zb_model *model = NULL;
    zb_tensor *tensor = NULL;
    struct rlimit before, limit;
    FILE *file = tmpfile();
    REQUIRE(file != NULL && ftruncate(fileno(file), 512 * MEBIBYTE) == 0);
    zb_model *small = zt_open("add4");
    REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
    limit = before;
    limit.rlim_cur = mapped_bytes() + 64 * MEBIBYTE;
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
    CHECK_STATUS(zb_tensor_alloc(&desc, 0, &tensor), ZB_ERROR_OUT_OF_MEMORY);
    CHECK_STATUS(zb_tensor_map_fd(&desc, fileno(file), 0, 0, &tensor), ZB_ERROR_OUT_OF_MEMORY);
    CHECK_STATUS(zb_model_open_fd(fileno(file), 0, 0, NULL, &model), ZB_ERROR_OUT_OF_MEMORY);
    zb_context *context = zt_context(small);
    CHECK_OK(zb_context_prepare(context));
    zb_context_destroy(context);
    REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
    CHECK_OK(zb_tensor_map_fd(&desc, fileno(file), 0, 0, &tensor));
    CHECK_OK(zb_tensor_destroy(tensor));
    CHECK_OK(zb_tensor_alloc(&desc, 0, &tensor));
    CHECK_OK(zb_tensor_destroy(tensor));
    CHECK_OK(zb_model_open(big, NULL, &model));
    zb_model_destroy(model);
    zb_model_destroy(small);
    fclose(file);
    free(big);
}

int main(int argc, char **argv)
{
    static const zt_test tests[] = {
        /* first, while the engine is not loaded */
        ON_BOTH(no_descriptor_for_the_engine),
        ON_BOTH(no_descriptor),
        ON_BOTH(no_thread),
        ON_BOTH(no_address_space),
    };
    return zt_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
