/*
 * Memory that comes as a file descriptor: another process writes the inputs and reads the outputs where the engine works,
 * files that are cut short are noticed before the engine touches them, and models lie inside of other files.
 */
#include "harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Where things lie in the file: 64-byte aligned as TFLite wants it, never on a page. */
#define X_AT 192u
#define Y_AT (4096u + 64u)
#define Z_AT (8192u + 640u)
#define FILE_SIZE 16384u

static int new_memfd(size_t size)
{
    int fd = memfd_create("zerobind-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    REQUIRE(fd >= 0);
    REQUIRE(ftruncate(fd, (off_t)size) == 0);
    return fd;
}

/* The file as the test itself sees it, beside zerobind's map. */
static unsigned char *map_file(int fd, size_t size)
{
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(bytes != MAP_FAILED);
    return bytes;
}

static zb_tensor *map_tensor(int fd, zb_tensor_desc desc, uint64_t offset, uint32_t flags)
{
    zb_tensor *tensor = NULL;
    REQUIRE_OK(zb_tensor_map_fd(&desc, fd, offset, flags, &tensor));
    return tensor;
}

static zb_status try_to_map(int fd, uint64_t offset, uint32_t flags)
{
    zb_tensor_desc desc = F32(4);
    zb_tensor *tensor = NULL;
    zb_status status = zb_tensor_map_fd(&desc, fd, offset, flags, &tensor);
    CHECK((status == ZB_OK) == (tensor != NULL));
    zb_tensor_destroy(tensor);
    return status;
}

static const void *address_of(zb_tensor *tensor)
{
    void *data = NULL;
    REQUIRE_OK(zb_tensor_get_data(tensor, &data, NULL));
    return data;
}

static void check_direct(zb_context *context, zb_slot slot, const void *address)
{
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    REQUIRE_OK(zb_context_get_binding_report(context, slot, &report));
    CHECK_EQ(report.path, ZB_PATH_DIRECT);
    CHECK_EQ(report.bytes_copied, 0);
    CHECK_ADDRESS(report.host_address, address);
    CHECK_ADDRESS(report.engine_address, address);
}

static int open_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    REQUIRE(folder != NULL);
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

/* --- another process --- */

/* A child that works on the file by a map of its own. */
typedef struct peer {
    pid_t process;
    /* requests go out, answers come in */
    int out, in;
} peer;

typedef struct request {
    /* 'w': x[i] = start + i, y[i] = 100; 'r': answer with z */
    char kind;
    float start;
} request;

/* Only what is safe after fork is called here, and nothing of zerobind. */
static void serve(int fd, size_t count, int in, int out)
{
    request asked;
    void *map = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        _exit(1);
    }
    unsigned char *bytes = map;
    while (read(in, &asked, sizeof asked) == (ssize_t)sizeof asked) {
        if (asked.kind == 'w') {
            const float hundred = 100;
            for (size_t i = 0; i < count; i++) {
                float value = asked.start + (float)i;
                memcpy(bytes + X_AT + i * sizeof value, &value, sizeof value);
                memcpy(bytes + Y_AT + i * sizeof value, &hundred, sizeof hundred);
            }
            if (write(out, "", 1) != 1) {
                _exit(2);
            }
        } else if (write(out, bytes + Z_AT, count * sizeof(float)) != (ssize_t)(count * sizeof(float))) {
            _exit(3);
        }
    }
    _exit(0);
}

static peer start_peer(int fd, size_t count)
{
    peer made;
    int requests[2], answers[2];
    REQUIRE(pipe(requests) == 0 && pipe(answers) == 0);
    made.process = fork();
    REQUIRE(made.process >= 0);
    if (made.process == 0) {
        close(requests[1]);
        close(answers[0]);
        serve(fd, count, requests[0], answers[1]);
    }
    close(requests[0]);
    close(answers[1]);
    made.out = requests[1];
    made.in = answers[0];
    return made;
}

static void ask_peer(const peer *other, char kind, float start, void *answer, size_t size)
{
    request asked;
    memset(&asked, 0, sizeof asked);
    asked.kind = kind;
    asked.start = start;
    REQUIRE(write(other->out, &asked, sizeof asked) == (ssize_t)sizeof asked);
    REQUIRE(read(other->in, answer, size) == (ssize_t)size);
}

static void end_peer(const peer *other)
{
    int status = -1;
    close(other->out);
    REQUIRE(waitpid(other->process, &status, 0) == other->process);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(other->in);
}

static void check_round(zb_context *context, const peer *other, float start, size_t count)
{
    float seen[256], expected[256];
    char done = 1;
    ask_peer(other, 'w', start, &done, 1);
    REQUIRE_OK(zb_infer(context, NULL));
    ask_peer(other, 'r', 0, seen, count * sizeof *seen);
    for (size_t i = 0; i < count; i++) {
        expected[i] = start + (float)i + 100;
    }
    CHECK_FLOATS(seen, expected, count, 0);
}

/* The child writes, the engine computes in the same pages, the child reads: three times without a rebinding. */
static void check_work_of_two_processes(const char *name, size_t count)
{
    int fd = new_memfd(FILE_SIZE);
    peer other = start_peer(fd, count);
    zb_model *model = zt_open(name);
    zb_context *context = zt_context(model);
    zb_tensor *x = map_tensor(fd, F32((int64_t)count), X_AT, ZB_MAP_READ_ONLY);
    zb_tensor *y = map_tensor(fd, F32((int64_t)count), Y_AT, 0);
    zb_tensor *z = map_tensor(fd, F32((int64_t)count), Z_AT, 0);
    const void *at[3] = {address_of(x), address_of(y), address_of(z)};
    /* zerobind has its own */
    close(fd);
    REQUIRE_OK(zb_tensor_bind(x, context, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_bind(y, context, ZB_INPUT(1)));
    REQUIRE_OK(zb_tensor_bind(z, context, ZB_OUTPUT(0)));
    for (int round = 0; round < 3; round++) {
        check_round(context, &other, (float)round * 1000, count);
        check_direct(context, ZB_INPUT(0), at[0]);
        check_direct(context, ZB_INPUT(1), at[1]);
        check_direct(context, ZB_OUTPUT(0), at[2]);
    }
    /* the bindings hold the maps */
    zb_tensor_destroy(x);
    zb_tensor_destroy(y);
    zb_tensor_destroy(z);
    check_round(context, &other, 7, count);
    end_peer(&other);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void two_processes_work_on_one_memory(void)
{
    int before = open_descriptors();
    check_work_of_two_processes("add4", 4);
    check_work_of_two_processes("add256", 256);
    CHECK_EQ(open_descriptors(), before);
}

/* --- what a map is --- */

static void a_map_is_the_files_bytes(void)
{
    int before = open_descriptors();
    int fd = new_memfd(FILE_SIZE);
    unsigned char *bytes = map_file(fd, FILE_SIZE);
    static const uint64_t offsets[] = {0, 1, 63, 64, 4095, 4096, 4097, FILE_SIZE - 16};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        zb_tensor *tensor = map_tensor(fd, DESC(ZB_DTYPE_U8, 16), offsets[i], 0);
        void *data = NULL;
        size_t size = 0;
        REQUIRE_OK(zb_tensor_get_data(tensor, &data, &size));
        CHECK_EQ(size, 16);
        CHECK_EQ((uintptr_t)data % zt_page_size(), offsets[i] % zt_page_size());
        memset(bytes + offsets[i], (int)(0x10 + i), 16);
        CHECK_BYTES(data, bytes + offsets[i], 16);
        memset(data, (int)(0x80 + i), 16);
        CHECK_BYTES(bytes + offsets[i], data, 16);
        zb_tensor_destroy(tensor);
    }
    REQUIRE(munmap(bytes, FILE_SIZE) == 0);
    close(fd);
    CHECK_EQ(open_descriptors(), before);
}

static void zero_bytes_can_be_mapped(void)
{
    int fd = new_memfd(64);
    static const uint64_t offsets[] = {0, 1, 64};
    zb_tensor *tensor = NULL;
    zb_tensor_desc desc = F32(0, 4);
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        size_t size = 1;
        tensor = map_tensor(fd, desc, offsets[i], 0);
        REQUIRE_OK(zb_tensor_get_data(tensor, NULL, &size));
        CHECK_EQ(size, 0);
        zb_tensor_destroy(tensor);
    }
    CHECK_STATUS(zb_tensor_map_fd(&desc, fd, 65, 0, &tensor), ZB_ERROR_BUFFER_TOO_SMALL);
    /* an empty tensor binds and runs as any other empty memory does */
    zb_model *model = zt_open("empty");
    zb_context *context = zt_context(model);
    tensor = map_tensor(fd, desc, 64, 0);
    REQUIRE_OK(zb_tensor_bind(tensor, context, ZB_INPUT(0)));
    REQUIRE_OK(zb_infer(context, NULL));
    zb_tensor_destroy(tensor);
    zb_context_destroy(context);
    zb_model_destroy(model);
    close(fd);
}

/* An input that ends with the file at a page's end has no slack behind it; one byte of file more, and there is some. */
static void slack_ends_with_the_file(void)
{
    size_t page = zt_page_size();
    int fd = new_memfd(page);
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    zb_tensor *tensor = map_tensor(fd, F32(4), page - 16, 0);
    zb_status expected = zt_is_tflite() ? ZB_ERROR_MISALIGNED : ZB_OK;
    CHECK_STATUS(zb_tensor_bind(tensor, context, ZB_INPUT(0)), expected);
    zb_tensor_destroy(tensor);
    zb_context_destroy(context);
    zb_model_destroy(model);

    model = zt_open("add256");
    context = zt_context(model);
    tensor = map_tensor(fd, F32(256), page - 1024, 0);
    expected = zt_is_tflite() ? ZB_ERROR_BUFFER_TOO_SMALL : ZB_OK;
    CHECK_STATUS(zb_tensor_bind(tensor, context, ZB_INPUT(0)), expected);
    zb_tensor_destroy(tensor);
    REQUIRE(ftruncate(fd, (off_t)page + 1) == 0);
    tensor = map_tensor(fd, F32(256), page - 1024, 0);
    REQUIRE_OK(zb_tensor_bind(tensor, context, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_bind(tensor, context, ZB_INPUT(1)));
    REQUIRE_OK(zb_infer(context, NULL));
    /* the tensor's bytes are there without the last page, but not what the engine may read behind them */
    REQUIRE(ftruncate(fd, (off_t)page) == 0);
    CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_IO);
    zb_tensor_destroy(tensor);
    zb_context_destroy(context);
    zb_model_destroy(model);
    close(fd);
}

static void a_misaligned_map_is_refused_or_copied(void)
{
    int fd = new_memfd(FILE_SIZE);
    unsigned char *bytes = map_file(fd, FILE_SIZE);
    zb_model *model = zt_open("add4");
    zb_context *strict = zt_context(model), *copying = zt_copying_context(model);
    zb_tensor *x = map_tensor(fd, F32(4), X_AT + 2, ZB_MAP_READ_ONLY), *z = map_tensor(fd, F32(4), Z_AT + 2, 0);
    float values[4] = {1, 2, 3, 4}, sums[4];
    memcpy(bytes + X_AT + 2, values, sizeof values);
    CHECK_STATUS(zb_tensor_bind(x, strict, ZB_INPUT(0)), ZB_ERROR_MISALIGNED);
    REQUIRE_OK(zb_tensor_bind(x, copying, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_bind(x, copying, ZB_INPUT(1)));
    REQUIRE_OK(zb_tensor_bind(z, copying, ZB_OUTPUT(0)));
    REQUIRE_OK(zb_infer(copying, NULL));
    memcpy(sums, bytes + Z_AT + 2, sizeof sums);
    for (int i = 0; i < 4; i++) {
        values[i] *= 2;
    }
    CHECK_FLOATS(sums, values, 4, 0);
    /* the copy does not read what is gone either */
    REQUIRE(ftruncate(fd, 0) == 0);
    CHECK_STATUS(zb_infer(copying, NULL), ZB_ERROR_IO);
    zb_tensor_destroy(x);
    zb_tensor_destroy(z);
    zb_context_destroy(strict);
    zb_context_destroy(copying);
    zb_model_destroy(model);
    REQUIRE(munmap(bytes, FILE_SIZE) == 0);
    close(fd);
}

/* --- reading only --- */

static void read_only_maps_are_for_inputs(void)
{
    char path[64];
    int fd = new_memfd(FILE_SIZE);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int reading = open(path, O_RDONLY | O_CLOEXEC), writing = open(path, O_WRONLY | O_CLOEXEC);
    REQUIRE(reading >= 0 && writing >= 0);
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);

    CHECK_STATUS(try_to_map(reading, X_AT, 0), ZB_ERROR_READ_ONLY);
    CHECK_ERROR_SAYS("ZB_MAP_READ_ONLY");
    CHECK_STATUS(try_to_map(writing, X_AT, 0), ZB_ERROR_IO);
    CHECK_ERROR_SAYS("O_RDWR");
    CHECK_STATUS(try_to_map(writing, X_AT, ZB_MAP_READ_ONLY), ZB_ERROR_IO);
    const int good[] = {reading, fd};
    for (int i = 0; i < 2; i++) {
        zb_tensor *tensor = map_tensor(good[i], F32(4), X_AT, ZB_MAP_READ_ONLY);
        REQUIRE_OK(zb_tensor_bind(tensor, context, ZB_INPUT(0)));
        REQUIRE_OK(zb_tensor_bind(tensor, context, ZB_INPUT(1)));
        CHECK_STATUS(zb_tensor_bind(tensor, context, ZB_OUTPUT(0)), ZB_ERROR_READ_ONLY);
        CHECK_ERROR_SAYS("'z'");
        CHECK_ERROR_SAYS("ZB_MAP_READ_ONLY");
        REQUIRE_OK(zb_infer(context, NULL));
        check_direct(context, ZB_INPUT(0), address_of(tensor));
        zb_tensor_destroy(tensor);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    close(reading);
    close(writing);
    close(fd);
}

static void sealed_files_are_read(void)
{
    static const int seals[] = {F_SEAL_WRITE, F_SEAL_FUTURE_WRITE};
    for (size_t i = 0; i < sizeof seals / sizeof *seals; i++) {
        const float values[4] = {1, 2, 3, 4}, twice[4] = {2, 4, 6, 8};
        int fd = new_memfd(FILE_SIZE);
        zt_buffer z = zt_buffer_new(16);
        zb_model *model = zt_open("add4");
        zb_context *context = zt_context(model);
        REQUIRE(pwrite(fd, values, sizeof values, X_AT) == (ssize_t)sizeof values);
        REQUIRE(fcntl(fd, F_ADD_SEALS, seals[i] | F_SEAL_SHRINK) == 0);
        CHECK_STATUS(try_to_map(fd, X_AT, 0), ZB_ERROR_READ_ONLY);
        CHECK_ERROR_SAYS("sealed");
        CHECK_ERROR_SAYS("ZB_MAP_READ_ONLY");
        zb_tensor *x = map_tensor(fd, F32(4), X_AT, ZB_MAP_READ_ONLY);
        REQUIRE_OK(zb_tensor_bind(x, context, ZB_INPUT(0)));
        REQUIRE_OK(zb_tensor_bind(x, context, ZB_INPUT(1)));
        zt_bind(context, ZB_OUTPUT(0), F32(4), &z);
        REQUIRE_OK(zb_infer(context, NULL));
        CHECK_FLOATS(zt_floats(&z), twice, 4, 0);
        check_direct(context, ZB_INPUT(0), address_of(x));
        zb_tensor_destroy(x);
        zb_context_destroy(context);
        zb_model_destroy(model);
        FREE_BUFFER(&z);
        close(fd);
    }
}

/* --- files that are cut short --- */

static void a_file_cut_before_bind_is_noticed(void)
{
    int fd = new_memfd(FILE_SIZE);
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    zb_tensor *x = map_tensor(fd, F32(4), Y_AT, 0);
    REQUIRE(ftruncate(fd, Y_AT + 15) == 0);
    CHECK_STATUS(zb_tensor_bind(x, context, ZB_INPUT(0)), ZB_ERROR_IO);
    CHECK_ERROR_SAYS("'x'");
    CHECK_ERROR_SAYS("4175");
    CHECK_ERROR_SAYS("4176");
    /* nothing was bound */
    CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_UNBOUND);
    REQUIRE(ftruncate(fd, Y_AT + 16) == 0);
    REQUIRE_OK(zb_tensor_bind(x, context, ZB_INPUT(0)));
    zb_tensor_destroy(x);
    zb_context_destroy(context);
    zb_model_destroy(model);
    close(fd);
}

/* Whichever slot the file is bound to, a run does not touch what is gone, and works again when it is back. */
static void check_cut_between_runs(zb_slot slot)
{
    const float sums[4] = {22, 22, 22, 22};
    int fd = new_memfd(FILE_SIZE);
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    zt_buffer memory = zt_buffer_new(16), out = zt_buffer_new(16);
    zb_tensor *shared = map_tensor(fd, F32(4), Y_AT, 0);
    unsigned char *bytes = map_file(fd, FILE_SIZE);
    zt_fill_floats(&memory, 11, 0);
    memcpy(bytes + Y_AT, memory.data, 16);
    zt_bind(context, ZB_INPUT(0), F32(4), &memory);
    zt_bind(context, ZB_INPUT(1), F32(4), &memory);
    zt_bind(context, ZB_OUTPUT(0), F32(4), &out);
    REQUIRE_OK(zb_tensor_bind(shared, context, slot));
    for (int run = 0; run < 2; run++) {
        REQUIRE_OK(zb_infer(context, NULL));
    }
    REQUIRE(ftruncate(fd, 100) == 0);
    memset(out.data, 0xCD, out.size);
    for (int run = 0; run < 2; run++) {
        CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_IO);
        CHECK_ERROR_SAYS(slot == ZB_OUTPUT(0) ? "'z'" : slot == ZB_INPUT(1) ? "'y'" : "'x'");
        CHECK_ERROR_SAYS("cut to 100 bytes");
        CHECK(zt_is_untouched(&out));
    }
    /* a loan takes its place, so nobody looks there */
    zb_loan loan = slot == ZB_OUTPUT(0) ? zt_lend_output(0, &out) : zb_loan_input(slot, memory.data, 16, 64, NULL);
    REQUIRE_OK(zb_infer_with(context, &loan, 1, NULL));
    CHECK_STATUS(zb_infer(context, NULL), ZB_ERROR_IO);
    REQUIRE(ftruncate(fd, FILE_SIZE) == 0);
    memcpy(bytes + Y_AT, memory.data, 16);
    REQUIRE_OK(zb_infer(context, NULL));
    CHECK_FLOATS(slot == ZB_OUTPUT(0) ? address_of(shared) : zt_floats(&out), sums, 4, 0);
    zb_tensor_destroy(shared);
    zb_context_destroy(context);
    zb_model_destroy(model);
    REQUIRE(munmap(bytes, FILE_SIZE) == 0);
    FREE_BUFFER(&memory);
    FREE_BUFFER(&out);
    close(fd);
}

static void a_file_cut_between_runs_is_noticed(void)
{
    check_cut_between_runs(ZB_INPUT(0));
    check_cut_between_runs(ZB_INPUT(1));
    check_cut_between_runs(ZB_OUTPUT(0));
}

/* A file that cannot be cut needs no descriptor and no question. */
static void a_sealed_file_is_not_watched(void)
{
    int fd = new_memfd(FILE_SIZE);
    int before = open_descriptors();
    zb_tensor *watched = map_tensor(fd, F32(4), X_AT, 0);
    CHECK_EQ(open_descriptors(), before + 1);
    REQUIRE(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
    zb_tensor *sealed = map_tensor(fd, F32(4), X_AT, 0);
    CHECK_EQ(open_descriptors(), before + 1);
    CHECK(ftruncate(fd, 0) != 0 && errno == EPERM);
    zb_model *model = zt_open("add4");
    zb_context *context = zt_context(model);
    REQUIRE_OK(zb_tensor_bind(sealed, context, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_bind(watched, context, ZB_INPUT(1)));
    REQUIRE_OK(zb_infer(context, NULL));
    zb_tensor_destroy(watched);
    zb_tensor_destroy(sealed);
    zb_context_destroy(context);
    zb_model_destroy(model);
    CHECK_EQ(open_descriptors(), before);
    close(fd);
}

/* --- refusals --- */

static void what_cannot_be_mapped_is_refused(void)
{
    int pipes[2], sockets[2];
    int folder = open("/", O_RDONLY | O_DIRECTORY), device = open("/dev/null", O_RDWR);
    REQUIRE(pipe(pipes) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0 && folder >= 0 && device >= 0);
    const struct {
        int fd;
        const char *name;
    } cases[] = {{pipes[0], "a pipe"},  {pipes[1], "a pipe"},       {sockets[0], "a socket"},
                 {folder, "a directory"}, {device, "No such device"}, {-1, "Bad file descriptor"},
                 {123456, "Bad file descriptor"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        zb_model *model = NULL;
        for (uint32_t flags = 0; flags <= ZB_MAP_READ_ONLY; flags++) {
            CHECK_STATUS(try_to_map(cases[i].fd, 0, flags), ZB_ERROR_IO);
            CHECK_ERROR_SAYS(cases[i].name);
        }
        CHECK_STATUS(zb_model_open_fd(cases[i].fd, 0, 0, NULL, &model), ZB_ERROR_IO);
        CHECK(model == NULL);
    }
    close(pipes[0]);
    close(pipes[1]);
    close(sockets[0]);
    close(sockets[1]);
    close(folder);
    close(device);
}

/* Some devices map without a word what is not there. */
static void a_device_is_mapped_from_its_start_only(void)
{
    int device = open("/dev/zero", O_RDWR);
    REQUIRE(device >= 0);
    CHECK_STATUS(try_to_map(device, 8192, 0), ZB_ERROR_IO);
    CHECK_ERROR_SAYS("map it from 0");
    close(device);
}

static void bad_arguments_are_refused(void)
{
    int fd = new_memfd(100);
    zb_tensor_desc good = F32(4), open = F32(-1), strings = DESC(ZB_DTYPE_STRING, 4), typeless = DESC(99, 4);
    zb_tensor_desc deep = good, huge = DESC(ZB_DTYPE_U8, INT64_MAX);
    const zb_tensor_desc *no_desc = NULL;
    zb_tensor **no_place = NULL, *tensor = NULL;
    deep.rank = 17;
    CHECK_STATUS(zb_tensor_map_fd(no_desc, fd, 0, 0, &tensor), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_tensor_map_fd(&good, fd, 0, 0, no_place), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_tensor_map_fd(&open, fd, 0, 0, &tensor), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_STATUS(zb_tensor_map_fd(&strings, fd, 0, 0, &tensor), ZB_ERROR_UNSUPPORTED);
    CHECK_STATUS(zb_tensor_map_fd(&typeless, fd, 0, 0, &tensor), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_tensor_map_fd(&deep, fd, 0, 0, &tensor), ZB_ERROR_UNSUPPORTED);
    static const uint32_t flags[] = {2, 3, 0x80000000u, UINT32_MAX};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        CHECK_STATUS(zb_tensor_map_fd(&good, fd, 0, flags[i], &tensor), ZB_ERROR_INVALID_ARGUMENT);
        CHECK_ERROR_SAYS("ZB_MAP_READ_ONLY");
    }
    CHECK_STATUS(zb_tensor_map_fd(&good, fd, UINT64_MAX, 0, &tensor), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_tensor_map_fd(&good, fd, UINT64_MAX - 16, 0, &tensor), ZB_ERROR_BUFFER_TOO_SMALL);
    CHECK_STATUS(zb_tensor_map_fd(&huge, fd, 0, 0, &tensor), ZB_ERROR_BUFFER_TOO_SMALL);
    CHECK_STATUS(zb_tensor_map_fd(&good, fd, 85, 0, &tensor), ZB_ERROR_BUFFER_TOO_SMALL);
    CHECK_ERROR_SAYS("100 bytes");
    CHECK_ERROR_SAYS("offset 85");
    CHECK_ERROR_SAYS("101");
    CHECK(tensor == NULL);
    CHECK_STATUS(try_to_map(fd, 84, 0), ZB_OK);
    close(fd);
}

/* --- models inside of files --- */

/* A file with `before` bytes of rubbish, the model, and rubbish again. */
static int file_with_model(size_t before, size_t *size)
{
    char *path = zt_model_path("add4");
    void *bytes = zt_read(path, size);
    int fd = new_memfd(before + *size + 333);
    REQUIRE(pwrite(fd, bytes, *size, (off_t)before) == (ssize_t)*size);
    free(bytes);
    free(path);
    return fd;
}

static void check_add4(zb_model *model)
{
    const float sums[4] = {11, 22, 33, 44};
    zb_context *context = zt_context(model);
    zt_buffer x = zt_buffer_new(16), y = zt_buffer_new(16), z = zt_buffer_new(16);
    zb_loan loans[3];
    loans[0] = zt_lend_input(0, &x);
    loans[1] = zt_lend_input(1, &y);
    loans[2] = zt_lend_output(0, &z);
    zt_fill_floats(&x, 1, 1);
    zt_fill_floats(&y, 10, 10);
    REQUIRE_OK(zb_infer_with(context, loans, 3, NULL));
    CHECK_FLOATS(zt_floats(&z), sums, 4, 0);
    zb_context_destroy(context);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
    FREE_BUFFER(&z);
}

static void a_model_opens_inside_a_file(void)
{
    static const size_t offsets[] = {0, 16, 4096, 4096 + 48};
    int before = open_descriptors();
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        size_t size = 0;
        int fd = file_with_model(offsets[i], &size);
        zb_model *model = NULL;
        REQUIRE(lseek(fd, 5, SEEK_SET) == 5);
        REQUIRE_OK(zb_model_open_fd(fd, offsets[i], size, NULL, &model));
        CHECK_EQ(lseek(fd, 0, SEEK_CUR), 5);
        close(fd);
        check_add4(model);
        zb_model_destroy(model);
    }
    /* length 0 is the rest of the file */
    char *path = zt_model_path("add4");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    zb_model *model = NULL;
    REQUIRE(fd >= 0);
    REQUIRE_OK(zb_model_open_fd(fd, 0, 0, NULL, &model));
    close(fd);
    check_add4(model);
    zb_model_destroy(model);
    free(path);
    CHECK_EQ(open_descriptors(), before);
}

static void a_model_opens_in_a_sealed_file(void)
{
    size_t size = 0;
    int fd = file_with_model(0, &size);
    zb_model *model = NULL;
    REQUIRE(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) == 0);
    REQUIRE_OK(zb_model_open_fd(fd, 0, size, NULL, &model));
    check_add4(model);
    zb_model_destroy(model);
    close(fd);
}

static void bad_model_parts_are_refused(void)
{
    size_t size = 0;
    int fd = file_with_model(24, &size), empty = new_memfd(0), writing = open("/dev/shm", O_TMPFILE | O_WRONLY, 0600);
    uint64_t end = 24 + size + 333;
    zb_model *model = NULL, **no_place = NULL;
    CHECK_STATUS(zb_model_open_fd(fd, 24, size, NULL, no_place), ZB_ERROR_NULL_ARGUMENT);
    CHECK_STATUS(zb_model_open_fd(fd, 24, size, NULL, &model), ZB_ERROR_MISALIGNED);
    CHECK_ERROR_SAYS("offset 24");
    CHECK_ERROR_SAYS("zb_model_open_bytes_copy");
    CHECK_STATUS(zb_model_open_fd(fd, 0, size, NULL, &model), ZB_ERROR_MODEL_INVALID);
    CHECK_STATUS(zb_model_open_fd(fd, 32, end - 31, NULL, &model), ZB_ERROR_IO);
    CHECK_ERROR_SAYS("offset 32");
    CHECK_STATUS(zb_model_open_fd(fd, end + 1, 0, NULL, &model), ZB_ERROR_IO);
    CHECK_STATUS(zb_model_open_fd(fd, end, 0, NULL, &model), ZB_ERROR_MODEL_INVALID);
    CHECK_STATUS(zb_model_open_fd(fd, 16, UINT64_MAX, NULL, &model), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_STATUS(zb_model_open_fd(empty, 0, 0, NULL, &model), ZB_ERROR_MODEL_INVALID);
    if (writing >= 0) {
        CHECK_STATUS(zb_model_open_fd(writing, 0, 0, NULL, &model), ZB_ERROR_IO);
        close(writing);
    }
    CHECK(model == NULL);
    close(fd);
    close(empty);
}

static void external_data_has_no_folder(void)
{
    char *path = zt_model_path("external");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    zb_model *model = NULL;
    REQUIRE(fd >= 0);
    CHECK_STATUS(zb_model_open_fd(fd, 0, 0, NULL, &model), ZB_ERROR_UNSUPPORTED);
    close(fd);
    free(path);
}

static const zt_test tests[] = {
    ON_BOTH(two_processes_work_on_one_memory),
    ON_BOTH(a_map_is_the_files_bytes),
    ON_BOTH(zero_bytes_can_be_mapped),
    ON_BOTH(slack_ends_with_the_file),
    ON_BOTH(a_misaligned_map_is_refused_or_copied),
    ON_BOTH(read_only_maps_are_for_inputs),
    ON_BOTH(sealed_files_are_read),
    ON_BOTH(a_file_cut_before_bind_is_noticed),
    ON_BOTH(a_file_cut_between_runs_is_noticed),
    ON_BOTH(a_sealed_file_is_not_watched),
    ON_BOTH(what_cannot_be_mapped_is_refused),
    ON_BOTH(a_device_is_mapped_from_its_start_only),
    ON_BOTH(bad_arguments_are_refused),
    ON_BOTH(a_model_opens_inside_a_file),
    ON_BOTH(a_model_opens_in_a_sealed_file),
    ON_BOTH(bad_model_parts_are_refused),
    ON_ONNXRUNTIME(external_data_has_no_folder),
};

ZT_MAIN(tests)
