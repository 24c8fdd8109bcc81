/*
 * Lives of contexts and tensors, one after the other: create, bind, infer, destroy, with memory that does not grow.
 *
 *     ZB_TEST_CYCLES=1000000 test_cycles tflite|onnxruntime
 *
 * 10,000 without it. Every hundredth cycle the model goes too.
 */
#include "../harness.h"

#include <malloc.h>
#include <time.h>

enum { SAMPLES = 20, WARM = 4 };

/* What is asked of a million as of ten thousand: fragments of the heap, not a byte for each cycle. */
#define MOST_GROWTH (1u << 20)

static size_t resident_bytes(void)
{
    unsigned long long mapped = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    REQUIRE(file != NULL && fscanf(file, "%llu %llu", &mapped, &resident) == 2);
    fclose(file);
    return (size_t)resident * zt_page_size();
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void cycle(zb_model *model, const zt_buffer *x, const zt_buffer *z)
{
    zb_tensor *in = NULL, *out = NULL;
    const zb_tensor_desc desc = F32(4);
    zt_releases releases = {0};
    zb_context *context = zt_context(model);
    REQUIRE_OK(zb_tensor_wrap(&desc, x->data, 16, x->capacity, zt_count_release, &releases, &in));
    REQUIRE_OK(zb_tensor_alloc_for(context, ZB_OUTPUT(0), &out));
    REQUIRE_OK(zb_tensor_bind(in, context, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_bind(in, context, ZB_INPUT(1)));
    REQUIRE_OK(zb_tensor_bind(out, context, ZB_OUTPUT(0)));
    REQUIRE_OK(zb_infer(context, NULL));
    zb_loan loan = zt_lend_output(0, z);
    REQUIRE_OK(zb_infer_with(context, &loan, 1, NULL));
    REQUIRE(zt_floats(z)[3] == 8);
    REQUIRE_OK(zb_tensor_destroy(in));
    REQUIRE_OK(zb_tensor_destroy(out));
    REQUIRE_OK(zb_context_destroy(context));
    REQUIRE(zt_release_count(&releases) == 1);
}

static void memory_is_flat(void)
{
    const char *wanted = getenv("ZB_TEST_CYCLES");
    const unsigned long cycles = wanted != NULL ? strtoul(wanted, NULL, 10) : 10000;
    size_t resident[SAMPLES + 1], most = 0;
    zt_buffer x = zt_buffer_new(16), z = zt_buffer_new(16);
    const double start = seconds();
    REQUIRE(cycles >= SAMPLES);
    zt_fill_floats(&x, 1, 1);
    zb_model *model = zt_open("add4");
    for (unsigned sample = 0; sample <= SAMPLES; sample++) {
        for (unsigned long i = 0; i < cycles / SAMPLES && sample > 0; i++) {
            cycle(model, &x, &z);
            if (i % 100 == 99) {
                zb_model_destroy(model);
                model = zt_open("add4");
            }
        }
        resident[sample] = resident_bytes();
    }
    const double time = seconds() - start;
    zb_model_destroy(model);
    printf("%lu cycles in %.1f s; KiB resident:", cycles, time);
    for (unsigned sample = 0; sample <= SAMPLES; sample++) {
        printf(" %zu", resident[sample] / 1024);
        if (sample > WARM && resident[sample] > most) {
            most = resident[sample];
        }
    }
    putchar('\n');
    CHECK(most <= resident[WARM] + MOST_GROWTH);
    FREE_BUFFER(&x);
    FREE_BUFFER(&z);
}

int main(int argc, char **argv)
{
    static const zt_test tests[] = {ON_BOTH(memory_is_flat)};
    return zt_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
