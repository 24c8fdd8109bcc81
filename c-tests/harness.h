/*
 * What every C test starts from: checks, a registry of tests, models by name, buffers with guards around them.
 * Include it first: it asks the system headers for POSIX and Linux functions.
 *
 *     program [tflite|onnxruntime] [test...]
 *
 * runs all tests of the engine, or the named ones. Nothing here calls zerobind on a test's behalf without saying so in
 * its name, and every such call must succeed.
 */
#ifndef ZEROBIND_TESTS_HARNESS_H
#define ZEROBIND_TESTS_HARNESS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zerobind.h>

/* --- checks: a failed CHECK is counted and the test goes on; a failed REQUIRE ends the program. Any thread. --- */

#define CHECK(condition) zt_check((condition) ? 1 : 0, __FILE__, __LINE__, #condition)
#define REQUIRE(condition) zt_require((condition) ? 1 : 0, __FILE__, __LINE__, #condition)

/* Evaluate a call once and compare its status; on a difference the text of zb_last_error is shown. */
#define CHECK_STATUS(call, expected) zt_check_status((call), (expected), __FILE__, __LINE__, #call)
#define REQUIRE_STATUS(call, expected) zt_require_status((call), (expected), __FILE__, __LINE__, #call)
#define CHECK_OK(call) zt_check_status((call), ZB_OK, __FILE__, __LINE__, #call)
#define REQUIRE_OK(call) zt_require_status((call), ZB_OK, __FILE__, __LINE__, #call)

/* Whole numbers and addresses: both values are shown. */
#define CHECK_EQ(actual, expected) \
    zt_check_equal((long long)(actual), (long long)(expected), __FILE__, __LINE__, #actual " == " #expected)
#define CHECK_ADDRESS(actual, expected) \
    zt_check_address((const void *)(actual), (const void *)(expected), __FILE__, __LINE__, #actual " == " #expected)

/* The text of this thread's last error contains `part`. */
#define CHECK_ERROR_SAYS(part) zt_check_error_says((part), __FILE__, __LINE__)

/* `count` floats, each at most `tolerance` from the expected; 0 asks for equal values. Shows the first that differs. */
#define CHECK_FLOATS(actual, expected, count, tolerance) \
    zt_check_floats((actual), (expected), (count), (tolerance), __FILE__, __LINE__, #actual)
/* `size` equal bytes; shows the first that differs. */
#define CHECK_BYTES(actual, expected, size) zt_check_bytes((actual), (expected), (size), __FILE__, __LINE__, #actual)

int zt_check(int passed, const char *file, int line, const char *text);
void zt_require(int passed, const char *file, int line, const char *text);
int zt_check_status(zb_status actual, zb_status expected, const char *file, int line, const char *call);
void zt_require_status(zb_status actual, zb_status expected, const char *file, int line, const char *call);
int zt_check_equal(long long actual, long long expected, const char *file, int line, const char *text);
int zt_check_address(const void *actual, const void *expected, const char *file, int line, const char *text);
int zt_check_error_says(const char *part, const char *file, int line);
int zt_check_floats(const float *actual, const float *expected, size_t count, float tolerance, const char *file, int line,
                    const char *text);
int zt_check_bytes(const void *actual, const void *expected, size_t size, const char *file, int line, const char *text);

/* --- the registry --- */

#define ZT_TFLITE 1u
#define ZT_ONNXRUNTIME 2u

typedef struct zt_test {
    const char *name;
    void (*run)(void);
    unsigned engines;
} zt_test;

#define ON_BOTH(function) {#function, function, ZT_TFLITE | ZT_ONNXRUNTIME}
#define ON_TFLITE(function) {#function, function, ZT_TFLITE}
#define ON_ONNXRUNTIME(function) {#function, function, ZT_ONNXRUNTIME}

/* main() of a test program: `static const zt_test tests[] = {ON_BOTH(...), ...}; ZT_MAIN(tests)` */
#define ZT_MAIN(tests)                                                        \
    int main(int argc, char **argv)                                           \
    {                                                                         \
        return zt_main(argc, argv, (tests), sizeof(tests) / sizeof(*(tests))); \
    }

/* Runs the tests that the arguments ask for. After each, nothing of zerobind's may be alive. */
int zt_main(int argc, char **argv, const zt_test *tests, size_t count);

/* The engine of the arguments: ZB_RUNTIME_TFLITE or ZB_RUNTIME_ONNXRUNTIME; ZB_RUNTIME_AUTO when none was named. */
int32_t zt_engine(void);
int zt_is_tflite(void);

/* For programs that start themselves again in another role: the engine by its name, and the checks that failed so far. */
void zt_choose_engine(const char *name);
int zt_failures(void);

/* How often to repeat: `native`, or `memcheck` where valgrind makes everything slow. */
int zt_rounds(int native, int memcheck);
/* The library was linked with its engines (c-tests/linked.sh says so): it looks for none at run time. */
int zt_is_linked(void);
int zt_under_memcheck(void);

/* No object of any kind exists. */
int zt_nothing_is_alive(void);
/* The same, within 2 s: a thread of a queue that has just told of an end lets go of what it held a moment later. */
int zt_soon_nothing_is_alive(void);

/* --- models and files; the text or bytes are the caller's to free --- */

/* "MODELS/NAME.tflite" or "MODELS/NAME.onnx", by the engine of the arguments. */
char *zt_model_path(const char *name);
/* "MODELS/FILE", with the ending in the name. */
char *zt_model_file(const char *file);
/* "REFERENCE/FILE" */
char *zt_reference_path(const char *file);
/* All bytes of a file, 64-byte aligned, with 64 zeroed bytes behind them. */
void *zt_read(const char *path, size_t *size);
/* The SHA-256 of a file, as the system's tool tells it. */
void zt_hash(const char *path, uint8_t hash[32]);
/* Reference data of exactly `size` bytes. */
void *zt_read_reference(const char *file, size_t size);

/* zb_model_open of zt_model_path(name) without options. */
zb_model *zt_open(const char *name);
/* zb_context_create with the defaults, or with ZB_COPY_ALLOW. */
zb_context *zt_context(zb_model *model);
zb_context *zt_copying_context(zb_model *model);

/* --- descs --- */

zb_tensor_desc zt_desc(int32_t dtype, const int64_t *dims, size_t rank);
int zt_same_desc(const zb_tensor_desc *a, const zb_tensor_desc *b);

/* DESC(ZB_DTYPE_F32, 2, 4): rank 1 or more. */
#define DESC(dtype, ...) \
    zt_desc((dtype), (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
#define F32(...) DESC(ZB_DTYPE_F32, __VA_ARGS__)

/* --- memory --- */

/* Host memory between two guards. */
typedef struct zt_buffer {
    unsigned char *data;
    size_t size;
    /* bytes that may be read from `data` on: `size` and some of the guard */
    size_t capacity;
    unsigned char *block;
    size_t block_size;
    /* the guard around `data` that holds canaries */
    size_t before;
    size_t after;
    int is_mapped;
} zt_buffer;

/* `data` lies `offset` bytes (below 64) past a multiple of 64, canaries on both sides; every byte of it is 0xCD. */
zt_buffer zt_buffer_at(size_t size, size_t offset);
/* The same with offset 0. */
zt_buffer zt_buffer_new(size_t size);
/* `data` ends exactly where an unreadable page begins, so it is aligned as `size` is; capacity equals size. */
zt_buffer zt_buffer_at_page_end(size_t size);
/* The same at the last multiple of `alignment` (at most a page) from which `size` bytes leave `left` or more to that page;
   they hold canaries. */
zt_buffer zt_buffer_before_page_end(size_t size, size_t alignment, size_t left);
/* Pages of their own between unreadable ones: `data` begins a page, so it may be given to mprotect, and at least one more
   page lies behind it. */
zt_buffer zt_buffer_of_pages(size_t size);
/* Checks the canaries (call it after each run that may write the buffer), and frees. */
#define CHECK_GUARDS(buffer) zt_check_guards((buffer), __FILE__, __LINE__, #buffer)
#define FREE_BUFFER(buffer) zt_free_buffer((buffer), __FILE__, __LINE__, #buffer)
int zt_check_guards(const zt_buffer *buffer, const char *file, int line, const char *name);
void zt_free_buffer(zt_buffer *buffer, const char *file, int line, const char *name);

/* Whether all of the buffer still has the value that it was made with: nothing wrote it. */
int zt_is_untouched(const zt_buffer *buffer);

float *zt_floats(const zt_buffer *buffer);
/* data[i] = start + i * step */
void zt_fill_floats(const zt_buffer *buffer, float start, float step);

size_t zt_page_size(void);

/* zb_tensor_wrap of the whole buffer, without a release. */
zb_tensor *zt_wrap(const zb_tensor_desc *desc, const zt_buffer *buffer);
/* Binds such a tensor and destroys its handle: from here on only the binding holds the memory. */
void zt_bind(zb_context *context, zb_slot slot, zb_tensor_desc desc, const zt_buffer *buffer);
/* Loans of the whole buffer, as the slot is. */
zb_loan zt_lend_input(uint32_t index, const zt_buffer *buffer);
zb_loan zt_lend_output(uint32_t index, const zt_buffer *buffer);

/* --- release callbacks --- */

/* What zt_count_release saw; its address is the user data. */
typedef struct zt_releases {
    int count;
    void *data;
    size_t size;
} zt_releases;

void zt_count_release(void *user_data, void *data, size_t size);
int zt_release_count(const zt_releases *releases);

#endif
