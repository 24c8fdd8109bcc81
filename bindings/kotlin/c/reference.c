/*
 * What the tests of the Kotlin binding compare with: the same in C.
 *
 *     reference run MODEL INPUT OUTPUT ROWS COLUMNS...   the outputs of a network for 43844 samples, one file for each
 *     reference time MODEL RUNS                          ns for one zb_infer and one zb_infer_with of add4
 *     reference layout                                   sizes and offsets of the structs
 */
#define _POSIX_C_SOURCE 200112L

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <zerobind.h>

enum { SAMPLES = 43844 };

static void check(zb_status status)
{
    char text[1024];
    if (status != ZB_OK) {
        zb_last_error(text, sizeof text, NULL);
        fprintf(stderr, "%s: %s\n", zb_status_name(status), text);
        exit(EXIT_FAILURE);
    }
}

static float *memory(size_t floats)
{
    void *place;
    if (posix_memalign(&place, 64, floats * sizeof(float) + 64) != 0) {
        fputs("out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    memset(place, 0, floats * sizeof(float) + 64);
    return place;
}

static FILE *file(const char *path, const char *mode)
{
    FILE *opened = fopen(path, mode);
    if (opened == NULL) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    return opened;
}

static zb_context *context_of(const char *path)
{
    zb_model *model;
    zb_context *context;
    check(zb_model_open(path, NULL, &model));
    check(zb_context_create(model, NULL, &context));
    zb_model_destroy(model);
    return context;
}

static void write_output(const char *prefix, int index, const float *values, size_t count)
{
    char path[4096];
    FILE *written;
    snprintf(path, sizeof path, "%s.%d", prefix, index);
    written = file(path, "wb");
    if (fwrite(values, sizeof *values, count, written) != count || fclose(written) != 0) {
        perror(path);
        exit(EXIT_FAILURE);
    }
}

static int run(const char *model, const char *input, const char *prefix, int rows, int outputs, char **columns)
{
    const zb_tensor_desc in = {ZB_DTYPE_F32, 3, {1, SAMPLES, 1}};
    float *x = memory(SAMPLES), *y[8];
    zb_tensor_desc out[8];
    zb_loan loans[9];
    zb_context *context = context_of(model);
    FILE *sound = file(input, "rb");
    if (outputs > 8 || fread(x, sizeof *x, SAMPLES, sound) != SAMPLES) {
        fprintf(stderr, "%s has fewer than %d samples\n", input, SAMPLES);
        return EXIT_FAILURE;
    }
    fclose(sound);
    loans[0] = zb_loan_input(ZB_INPUT(0), x, SAMPLES * sizeof *x, SAMPLES * sizeof *x + 64, &in);
    for (int i = 0; i < outputs; i++) {
        size_t floats = (size_t)rows * (size_t)atoi(columns[i]);
        y[i] = memory(floats);
        out[i] = (zb_tensor_desc){ZB_DTYPE_F32, 3, {1, rows, atoi(columns[i])}};
        loans[i + 1] = zb_loan_output(ZB_OUTPUT(i), y[i], floats * sizeof(float), &out[i]);
    }
    check(zb_infer_with(context, loans, (size_t)outputs + 1, NULL));
    for (int i = 0; i < outputs; i++) {
        write_output(prefix, i, y[i], (size_t)rows * (size_t)atoi(columns[i]));
        free(y[i]);
    }
    free(x);
    zb_context_destroy(context);
    return EXIT_SUCCESS;
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

enum { ROUNDS = 400 };

/* The best of many short rounds: what the call costs when nothing else is in the way. */
static double best_of(zb_context *context, const zb_loan *loans, size_t count, long runs)
{
    double best = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        double began = now_ns(), took;
        for (long i = 0; i < runs; i++) {
            zb_status status = count == 0 ? zb_infer(context, NULL) : zb_infer_with(context, loans, count, NULL);
            if (status != ZB_OK) {
                check(status);
            }
        }
        took = (now_ns() - began) / (double)runs;
        best = took < best ? took : best;
    }
    return best;
}

static int time_calls(const char *model, long runs)
{
    const zb_tensor_desc four = {ZB_DTYPE_F32, 1, {4}};
    float *place[3] = {memory(16), memory(16), memory(16)};
    zb_loan loans[3];
    zb_tensor *tensor;
    zb_context *context = context_of(model);
    for (uint32_t i = 0; i < 3; i++) {
        zb_slot slot = i < 2 ? ZB_INPUT(i) : ZB_OUTPUT(0);
        check(zb_tensor_wrap(&four, place[i], 16, 64, NULL, NULL, &tensor));
        check(zb_tensor_bind(tensor, context, slot));
        zb_tensor_destroy(tensor);
        loans[i] = i < 2 ? zb_loan_input(slot, place[i], 16, 64, NULL) : zb_loan_output(slot, place[i], 16, NULL);
    }
    printf("C bound %.1f\n", best_of(context, NULL, 0, runs));
    printf("C lent %.1f\n", best_of(context, loans, 3, runs));
    zb_context_destroy(context);
    return EXIT_SUCCESS;
}

#define SIZE(type) printf(#type " %zu\n", sizeof(type))
#define FIELD(type, field) printf(#type "." #field " %zu\n", offsetof(type, field))

static int layout(void)
{
    SIZE(zb_tensor_desc), FIELD(zb_tensor_desc, dtype), FIELD(zb_tensor_desc, rank), FIELD(zb_tensor_desc, dims);
    SIZE(zb_runtime_info), FIELD(zb_runtime_info, available), FIELD(zb_runtime_info, version);
    FIELD(zb_runtime_info, path), FIELD(zb_runtime_info, reason);
    SIZE(zb_option), FIELD(zb_option, key), FIELD(zb_option, value);
    SIZE(zb_model_options), FIELD(zb_model_options, runtime), FIELD(zb_model_options, sha256);
    FIELD(zb_model_options, max_tensor_bytes);
    SIZE(zb_slot_info), FIELD(zb_slot_info, flags), FIELD(zb_slot_info, desc), FIELD(zb_slot_info, size);
    FIELD(zb_slot_info, name), FIELD(zb_slot_info, dim_names), FIELD(zb_slot_info, scales);
    FIELD(zb_slot_info, zero_points), FIELD(zb_slot_info, quantization_count), FIELD(zb_slot_info, quantization);
    FIELD(zb_slot_info, quantization_axis);
    SIZE(zb_context_options), FIELD(zb_context_options, threads), FIELD(zb_context_options, copy_policy);
    FIELD(zb_context_options, flags), FIELD(zb_context_options, options), FIELD(zb_context_options, option_count);
    SIZE(zb_requirements), FIELD(zb_requirements, size), FIELD(zb_requirements, alignment);
    FIELD(zb_requirements, slack), FIELD(zb_requirements, rebind);
    SIZE(zb_binding_report), FIELD(zb_binding_report, path), FIELD(zb_binding_report, bytes_copied);
    FIELD(zb_binding_report, host_address), FIELD(zb_binding_report, engine_address);
    FIELD(zb_binding_report, reason);
    SIZE(zb_context_stats), FIELD(zb_context_stats, runs), FIELD(zb_context_stats, bytes_copied);
    FIELD(zb_context_stats, rebinds), FIELD(zb_context_stats, allocations), FIELD(zb_context_stats, last_run_ns);
    SIZE(zb_infer_options), FIELD(zb_infer_options, deadline_ns);
    SIZE(zb_loan), FIELD(zb_loan, slot), FIELD(zb_loan, flags), FIELD(zb_loan, data), FIELD(zb_loan, size);
    FIELD(zb_loan, capacity), FIELD(zb_loan, desc);
    SIZE(zb_queue_options), FIELD(zb_queue_options, capacity);
    SIZE(zb_slot_tensor), FIELD(zb_slot_tensor, slot), FIELD(zb_slot_tensor, tensor);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc >= 7 && strcmp(argv[1], "run") == 0) {
        return run(argv[2], argv[3], argv[4], atoi(argv[5]), argc - 6, argv + 6);
    }
    if (argc == 4 && strcmp(argv[1], "time") == 0) {
        return time_calls(argv[2], atol(argv[3]));
    }
    if (argc == 2 && strcmp(argv[1], "layout") == 0) {
        return layout();
    }
    fputs("usage: see the top of reference.c\n", stderr);
    return EXIT_FAILURE;
}
