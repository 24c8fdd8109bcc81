/*
 * Memory that ends where a page ends, for every model in the set: the engine that reads or writes past it faults, and the
 * program ends there. Each run has to give, bit for bit, what a run on roomy memory gives, bound as well as lent.
 *
 * The models are those in the folder; one that cannot run here is named with the reason, and enough of them have to run.
 */
#include "harness.h"

#include <dirent.h>

#define MAX_SLOTS 16u
/* what XNNPACK may read past an input, and what TFLite wants addresses to be a multiple of */
#define XNNPACK_READS 16u
#define TFLITE_ALIGNMENT 64u
/* what an open dimension becomes when no table says */
#define USUAL_DIM 5

/* Models in the folder that have to run; the rest is too large, has slots without a size, or an element type that the
   engine does not have. */
#define LEAST_TFLITE 60u
#define LEAST_ONNXRUNTIME 56u

/* Shapes for inputs whose open dimensions cannot be just anything. */
typedef struct shape {
    const char *model;
    uint32_t input;
    uint32_t rank;
    int64_t dims[4];
} shape;

static const shape shapes[] = {
    {"basic_pitch", 0, 3, {1, 43844, 1}},
    {"basic_pitch_static", 0, 3, {1, 43844, 1}},
    {"conv_dyn", 0, 4, {1, 9, 7, 1}},
    {"embedding", 0, 4, {1, 76, 32, 1}},
    {"melspectrogram", 0, 2, {1, 1280}},
    {"silero_vad", 0, 2, {1, 576}},
    {"silero_vad", 1, 3, {2, 1, 128}},
};

/* Hertz: with any other number that model fails. */
static const char RATE[] = "sr";
static const int64_t KNOWN_RATE = 16000;

typedef struct settings {
    int xnnpack;
    int copies;
} settings;

/* A model with inputs, and the results of a run on roomy memory. */
typedef struct subject {
    const char *file;
    settings with;
    zb_model *model;
    uint32_t input_count, output_count;
    zb_tensor_desc input_descs[MAX_SLOTS], output_descs[MAX_SLOTS];
    zt_buffer inputs[MAX_SLOTS];
    unsigned char *results[MAX_SLOTS];
    size_t result_sizes[MAX_SLOTS];
} subject;

/* --- one model --- */

static zb_status make_context(const subject *subject, int copies, zb_context **context)
{
    zb_option option = {"tflite.xnnpack", subject->with.xnnpack ? "true" : "false"};
    zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
    options.copy_policy = copies ? ZB_COPY_ALLOW : ZB_COPY_NEVER;
    options.options = &option;
    options.option_count = 1;
    return zb_context_create(subject->model, &options, context);
}

static int is_named(const char *file, const char *model)
{
    size_t length = strlen(model);
    return strncmp(file, model, length) == 0 && file[length] == '.';
}

static zb_tensor_desc desc_to_use(const char *file, uint32_t input, const zb_tensor_desc *declared)
{
    zb_tensor_desc desc = *declared;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (is_named(file, shapes[i].model) && shapes[i].input == input) {
            return zt_desc(declared->dtype, shapes[i].dims, shapes[i].rank);
        }
    }
    for (uint32_t i = 0; i < desc.rank; i++) {
        desc.dims[i] = desc.dims[i] < 0 ? USUAL_DIM : desc.dims[i];
    }
    return desc;
}

static uint64_t next_random(void)
{
    static uint64_t state = 0x9e3779b97f4a7c15u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Ordinary numbers for what is computed with; indices and counts stay small. */
static void fill(const zt_buffer *buffer, int32_t dtype)
{
    size_t width = zb_dtype_bits(dtype) / 8;
    if (dtype == ZB_DTYPE_F32) {
        zt_fill_floats(buffer, 0, 0);
    }
    for (size_t i = 0; width > 0 && i + width <= buffer->size; i += width) {
        uint64_t random = next_random() >> 8;
        float single = (float)(random & 0xffff) / 32768.0f - 1;
        double number = (double)single;
        uint64_t bits = random;
        if (dtype == ZB_DTYPE_F32) {
            memcpy(&bits, &single, sizeof single);
        } else if (dtype == ZB_DTYPE_F64) {
            memcpy(&bits, &number, sizeof number);
        } else if (dtype == ZB_DTYPE_F16) {
            bits = 0x3000u | (random & 0x87ffu);
        } else if (dtype == ZB_DTYPE_BF16) {
            bits = 0x3f00u | (random & 0x80ffu);
        } else if (dtype == ZB_DTYPE_BOOL) {
            bits = random & 1;
        } else if (width >= 4) {
            bits = random & 3;
        }
        /* the low bytes first, as on every machine that the engines are built for */
        memcpy(buffer->data + i, &bits, width < sizeof bits ? width : sizeof bits);
    }
}

static void reason(const char *file, const char *what)
{
    char text[512] = "";
    zb_last_error(text, sizeof text, NULL);
    printf("        %s does not run: %s: %.160s\n", file, what, text);
}

/* The inputs of a model that are to be filled, or 0 if it has one without a size. */
static int find_inputs(subject *subject)
{
    for (uint32_t i = 0; i < subject->input_count; i++) {
        zb_slot_info info = ZB_SLOT_INFO_INIT;
        size_t size = 0;
        REQUIRE_OK(zb_model_get_slot_info(subject->model, ZB_INPUT(i), &info));
        subject->input_descs[i] = desc_to_use(subject->file, i, &info.desc);
        if (zb_tensor_desc_size(&subject->input_descs[i], &size) != ZB_OK) {
            reason(subject->file, "an input has no size");
            return 0;
        }
        subject->inputs[i] = zt_buffer_new(size);
        fill(&subject->inputs[i], info.desc.dtype);
        if (info.desc.dtype == ZB_DTYPE_I64 && strcmp(info.name, RATE) == 0) {
            REQUIRE(size == sizeof KNOWN_RATE);
            memcpy(subject->inputs[i].data, &KNOWN_RATE, size);
        }
    }
    return 1;
}

typedef struct memory {
    /* by slot; an output without data stays with the engine */
    zt_buffer inputs[MAX_SLOTS], outputs[MAX_SLOTS];
} memory;

static zb_status bind(zb_context *context, zb_slot slot, const zb_tensor_desc *desc, const zt_buffer *buffer)
{
    zb_tensor *tensor = zt_wrap(desc, buffer);
    zb_status status = zb_tensor_bind(tensor, context, slot);
    zb_tensor_destroy(tensor);
    return status;
}

static zb_status run_bound(zb_context *context, const subject *subject, const memory *memory)
{
    zb_status status = ZB_OK;
    for (uint32_t i = 0; status == ZB_OK && i < subject->input_count; i++) {
        status = bind(context, ZB_INPUT(i), &subject->input_descs[i], &memory->inputs[i]);
    }
    for (uint32_t i = 0; status == ZB_OK && i < subject->output_count; i++) {
        if (memory->outputs[i].data != NULL) {
            status = bind(context, ZB_OUTPUT(i), &subject->output_descs[i], &memory->outputs[i]);
        }
    }
    return status == ZB_OK ? zb_infer(context, NULL) : status;
}

static zb_status run_lent(zb_context *context, const subject *subject, const memory *memory)
{
    zb_loan loans[2 * MAX_SLOTS];
    size_t count = 0;
    for (uint32_t i = 0; i < subject->input_count; i++, count++) {
        loans[count] = zt_lend_input(i, &memory->inputs[i]);
        loans[count].desc = &subject->input_descs[i];
    }
    for (uint32_t i = 0; i < subject->output_count; i++) {
        if (memory->outputs[i].data != NULL) {
            loans[count] = zt_lend_output(i, &memory->outputs[i]);
            loans[count].desc = &subject->output_descs[i];
            count++;
        }
    }
    return zb_infer_with(context, loans, count, NULL);
}

static zb_status run(zb_context *context, const subject *subject, const memory *memory, int lent)
{
    return lent ? run_lent(context, subject, memory) : run_bound(context, subject, memory);
}

static memory roomy(const subject *subject)
{
    memory made;
    memset(&made, 0, sizeof made);
    memcpy(made.inputs, subject->inputs, sizeof made.inputs);
    return made;
}

static int keep_results(subject *subject, zb_context *context)
{
    for (uint32_t i = 0; i < subject->output_count; i++) {
        const void *data = NULL;
        size_t size = 0;
        if (zb_context_output_view(context, ZB_OUTPUT(i), &data, &size, &subject->output_descs[i]) != ZB_OK) {
            return 0;
        }
        subject->results[i] = malloc(size + 1);
        REQUIRE(subject->results[i] != NULL);
        if (size > 0) {
            memcpy(subject->results[i], data, size);
        }
        subject->result_sizes[i] = size;
    }
    return 1;
}

/* Runs the model on memory with room on all sides. */
static int run_roomy(subject *subject)
{
    memory memory = roomy(subject);
    zb_context *context = NULL;
    int ran = make_context(subject, 0, &context) == ZB_OK && run(context, subject, &memory, 0) == ZB_OK &&
              keep_results(subject, context);
    if (!ran) {
        reason(subject->file, "on roomy memory");
    }
    zb_context_destroy(context);
    return ran;
}

/* Opens and fills; 0 if the model cannot run. Free it in either case. */
static int open_subject(subject *subject, const char *file, settings with)
{
    char *path = zt_model_file(file);
    memset(subject, 0, sizeof *subject);
    subject->file = file;
    subject->with = with;
    zb_status opened = zb_model_open(path, NULL, &subject->model);
    free(path);
    if (opened != ZB_OK) {
        reason(file, zb_status_name(opened));
        return 0;
    }
    REQUIRE_OK(zb_model_get_slot_counts(subject->model, &subject->input_count, &subject->output_count));
    REQUIRE(subject->input_count <= MAX_SLOTS && subject->output_count <= MAX_SLOTS);
    return find_inputs(subject) && run_roomy(subject);
}

static void free_subject(subject *subject)
{
    zb_model_destroy(subject->model);
    for (uint32_t i = 0; i < MAX_SLOTS; i++) {
        if (subject->inputs[i].data != NULL) {
            FREE_BUFFER(&subject->inputs[i]);
        }
        free(subject->results[i]);
    }
}

/* --- all models --- */

static int is_of_this_engine(const struct dirent *entry)
{
    const char *ending = strrchr(entry->d_name, '.');
    return ending != NULL && strcmp(ending, zt_is_tflite() ? ".tflite" : ".onnx") == 0;
}

/* Calls `body` for every model that runs. */
static void for_all_models(settings with, void (*body)(const subject *))
{
    struct dirent **entries = NULL;
    unsigned least = zt_is_tflite() ? LEAST_TFLITE : LEAST_ONNXRUNTIME;
    unsigned ran = 0;
    char *folder = zt_model_file("");
    int count = scandir(folder, &entries, is_of_this_engine, alphasort);
    REQUIRE(count > 0);
    free(folder);
    for (int i = 0; i < count; i++) {
        subject subject;
        if (open_subject(&subject, entries[i]->d_name, with)) {
            body(&subject);
            ran++;
        }
        free_subject(&subject);
        free(entries[i]);
    }
    free(entries);
    printf("        %u of %d models ran\n", ran, count);
    CHECK(ran >= least);
}

/* --- memory at the end of a page --- */

typedef zt_buffer (*place)(size_t size);

/* What the engine wants addresses to be a multiple of; for ONNX Runtime every size is one of its type already. */
static size_t alignment(void)
{
    return zt_is_tflite() ? TFLITE_ALIGNMENT : 1;
}

/* The last address for `size` bytes that the engine takes as it is. */
static zt_buffer last_aligned(size_t size)
{
    return zt_buffer_before_page_end(size, alignment(), 0);
}

/* The last address behind which there are the bytes that XNNPACK reads. */
static zt_buffer last_with_slack(size_t size)
{
    return zt_buffer_before_page_end(size, alignment(), XNNPACK_READS);
}

static size_t left_in_page(const zt_buffer *buffer)
{
    size_t page = zt_page_size();
    return (page - ((uintptr_t)buffer->data + buffer->size) % page) % page;
}

static zt_buffer placed_copy(const zt_buffer *original, place place)
{
    zt_buffer copy = place(original->size);
    CHECK_EQ(copy.capacity, copy.size);
    if (copy.size > 0) {
        memcpy(copy.data, original->data, copy.size);
    }
    return copy;
}

static memory with_inputs(const subject *subject, place place)
{
    memory made = roomy(subject);
    for (uint32_t i = 0; i < subject->input_count; i++) {
        made.inputs[i] = placed_copy(&subject->inputs[i], place);
    }
    return made;
}

static void free_inputs(const subject *subject, memory *memory)
{
    for (uint32_t i = 0; i < subject->input_count; i++) {
        CHECK_BYTES(memory->inputs[i].data, subject->inputs[i].data, subject->inputs[i].size);
        FREE_BUFFER(&memory->inputs[i]);
    }
}

static void name(const subject *subject, int lent)
{
    fprintf(stderr, "    that was %s, %s memory, %s\n", subject->file, lent ? "lent" : "bound",
            subject->with.xnnpack ? "with XNNPACK if the engine has it" : "plain kernels");
}

static uint32_t flags_of(zb_context *context, zb_slot slot)
{
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    REQUIRE_OK(zb_context_get_slot_info(context, slot, &info));
    return info.flags;
}

static int check_result(zb_context *context, const subject *subject, const memory *memory, uint32_t output, int lent)
{
    const void *data = memory->outputs[output].data;
    size_t size = subject->result_sizes[output];
    if (data == NULL) {
        uint32_t shared = ZB_SLOT_PASS_THROUGH | ZB_SLOT_DUPLICATE;
        zb_status status = zb_context_output_view(context, ZB_OUTPUT(output), &data, &size, NULL);
        if (status == ZB_ERROR_UNBOUND && lent && (flags_of(context, ZB_OUTPUT(output)) & shared) != 0) {
            /* another slot's memory, which was lent and is back */
            return 1;
        }
        REQUIRE_STATUS(status, ZB_OK);
    }
    return CHECK_EQ(size, subject->result_sizes[output]) && CHECK_BYTES(data, subject->results[output], size);
}

static int check_direct(zb_context *context, zb_slot slot, const zt_buffer *buffer)
{
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    REQUIRE_OK(zb_context_get_binding_report(context, slot, &report));
    int passed = CHECK_EQ(report.path, ZB_PATH_DIRECT) && CHECK_EQ(report.bytes_copied, 0) &&
                 CHECK_ADDRESS(report.host_address, buffer->data);
    /* nothing has an address in particular */
    return passed && (buffer->size == 0 || CHECK_ADDRESS(report.engine_address, buffer->data));
}

/* Runs in place, with the results of the roomy run. */
static void check_runs_direct(const subject *subject, const memory *memory, int lent)
{
    zb_context *context = NULL;
    REQUIRE_OK(make_context(subject, 0, &context));
    int passed = CHECK_OK(run(context, subject, memory, lent));
    for (uint32_t i = 0; passed && i < subject->input_count; i++) {
        passed = check_direct(context, ZB_INPUT(i), &memory->inputs[i]);
    }
    for (uint32_t i = 0; passed && i < subject->output_count; i++) {
        passed = check_result(context, subject, memory, i, lent) &&
                 (memory->outputs[i].data == NULL || check_direct(context, ZB_OUTPUT(i), &memory->outputs[i]));
    }
    if (!passed) {
        name(subject, lent);
    }
    zb_context_destroy(context);
}

static void check_inputs_run_direct(const subject *subject, place place)
{
    for (int lent = 0; lent < 2; lent++) {
        memory memory = with_inputs(subject, place);
        check_runs_direct(subject, &memory, lent);
        free_inputs(subject, &memory);
    }
}

/* --- inputs of engines that read no further than the end --- */

static void run_up_against_the_end(const subject *subject)
{
    check_inputs_run_direct(subject, last_aligned);
}

static void engines_that_read_no_further_take_every_input(void)
{
    settings plain = {0, 0};
    for_all_models(plain, run_up_against_the_end);
}

/* --- inputs of XNNPACK --- */

static unsigned refused_for_slack, refused_for_alignment, taken_with_slack;

/* Says what has to be said of an input that cannot be used where it is, the others being roomy. */
static void check_input_is_refused(const subject *subject, uint32_t input, place place, zb_status expected)
{
    for (int lent = 0; lent < 2; lent++) {
        memory memory = roomy(subject);
        zb_context *context = NULL;
        char number[32];
        memory.inputs[input] = placed_copy(&subject->inputs[input], place);
        REQUIRE_OK(make_context(subject, 0, &context));
        if (!CHECK_STATUS(run(context, subject, &memory, lent), expected)) {
            name(subject, lent);
        }
        if (expected == ZB_ERROR_BUFFER_TOO_SMALL) {
            snprintf(number, sizeof number, "capacity at least %zu", subject->inputs[input].size + XNNPACK_READS);
            CHECK_ERROR_SAYS(number);
        } else {
            snprintf(number, sizeof number, "0x%llx", (unsigned long long)(uintptr_t)memory.inputs[input].data);
            CHECK_ERROR_SAYS(number);
        }
        zb_context_destroy(context);
        FREE_BUFFER(&memory.inputs[input]);
    }
}

static void refuse_what_has_no_slack(const subject *subject)
{
    for (uint32_t i = 0; i < subject->input_count; i++) {
        size_t size = subject->inputs[i].size;
        zt_buffer probe = last_aligned(size);
        size_t left = left_in_page(&probe);
        FREE_BUFFER(&probe);
        if (size == 0) {
            continue;
        }
        if (left < XNNPACK_READS) {
            check_input_is_refused(subject, i, last_aligned, ZB_ERROR_BUFFER_TOO_SMALL);
            refused_for_slack++;
        } else {
            taken_with_slack++;
        }
        if (left != 0) {
            check_input_is_refused(subject, i, zt_buffer_at_page_end, ZB_ERROR_MISALIGNED);
            refused_for_alignment++;
        }
    }
}

/* An input of a size that leaves 16 bytes at its last aligned address is taken there: see the next test. */
static void xnnpack_gets_no_input_without_slack(void)
{
    settings xnnpack = {1, 0};
    refused_for_slack = refused_for_alignment = taken_with_slack = 0;
    for_all_models(xnnpack, refuse_what_has_no_slack);
    printf("        inputs: %u refused for their slack, %u for their alignment at the very end; %u have slack when aligned\n",
           refused_for_slack, refused_for_alignment, taken_with_slack);
    CHECK(refused_for_slack >= 25);
    CHECK(refused_for_alignment >= 50);
}

static void run_with_slack(const subject *subject)
{
    check_inputs_run_direct(subject, last_with_slack);
}

static void xnnpack_takes_every_input_with_slack(void)
{
    settings xnnpack = {1, 0};
    for_all_models(xnnpack, run_with_slack);
}

static int check_staged(zb_context *context, zb_slot slot, const zt_buffer *buffer)
{
    zb_binding_report report = ZB_BINDING_REPORT_INIT;
    int is_aligned = (uintptr_t)buffer->data % TFLITE_ALIGNMENT == 0;
    REQUIRE_OK(zb_context_get_binding_report(context, slot, &report));
    return CHECK_EQ(report.path, ZB_PATH_STAGED) && CHECK_EQ(report.bytes_copied, buffer->size) &&
           CHECK_ADDRESS(report.host_address, buffer->data) && CHECK(report.engine_address != buffer->data) &&
           CHECK(report.reason != NULL && strstr(report.reason, is_aligned ? "past the end" : "aligned") != NULL);
}

static void run_on_copies(const subject *subject)
{
    for (int lent = 0; lent < 2; lent++) {
        memory memory = with_inputs(subject, zt_buffer_at_page_end);
        zb_context *context = NULL;
        REQUIRE_OK(make_context(subject, 1, &context));
        int passed = CHECK_OK(run(context, subject, &memory, lent));
        for (uint32_t i = 0; passed && i < subject->input_count; i++) {
            passed = memory.inputs[i].size == 0 || check_staged(context, ZB_INPUT(i), &memory.inputs[i]);
        }
        for (uint32_t i = 0; passed && i < subject->output_count; i++) {
            passed = check_result(context, subject, &memory, i, lent);
        }
        if (!passed) {
            name(subject, lent);
        }
        zb_context_destroy(context);
        free_inputs(subject, &memory);
    }
}

static void inputs_up_against_the_end_are_copied_when_allowed(void)
{
    settings xnnpack = {1, 1};
    for_all_models(xnnpack, run_on_copies);
}

/* --- outputs --- */

static unsigned outputs_in_place, outputs_elsewhere;

/* Outputs that a host's memory can hold; the others are the engine's whatever the host does. */
static int can_be_given(zb_context *context, zb_slot slot)
{
    uint32_t never = ZB_SLOT_CONSTANT | ZB_SLOT_PASS_THROUGH | ZB_SLOT_DUPLICATE;
    /* ONNX Runtime writes into memory of the shape that the run has, whether it was known before or not */
    return (flags_of(context, slot) & (zt_is_tflite() ? never | ZB_SLOT_DYNAMIC : never)) == 0;
}

static void run_into_the_end(const subject *subject)
{
    for (int lent = 0; lent < 2; lent++) {
        memory memory = roomy(subject);
        zb_context *context = NULL;
        REQUIRE_OK(make_context(subject, 0, &context));
        for (uint32_t i = 0; i < subject->input_count; i++) {
            const zb_tensor_desc *desc = &subject->input_descs[i];
            REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(i), desc->dims, desc->rank));
        }
        REQUIRE_OK(zb_context_prepare(context));
        for (uint32_t i = 0; i < subject->output_count; i++) {
            if (can_be_given(context, ZB_OUTPUT(i))) {
                memory.outputs[i] = last_aligned(subject->result_sizes[i]);
                outputs_in_place++;
            } else {
                outputs_elsewhere++;
            }
        }
        zb_context_destroy(context);
        check_runs_direct(subject, &memory, lent);
        for (uint32_t i = 0; i < subject->output_count; i++) {
            if (memory.outputs[i].data != NULL) {
                FREE_BUFFER(&memory.outputs[i]);
            }
        }
    }
}

static void check_outputs(int xnnpack)
{
    settings with = {0, 0};
    with.xnnpack = xnnpack;
    outputs_in_place = outputs_elsewhere = 0;
    for_all_models(with, run_into_the_end);
    printf("        outputs, bound and lent: %u in place, %u the engine's own\n", outputs_in_place, outputs_elsewhere);
    CHECK(outputs_in_place >= 2 * (zt_is_tflite() ? LEAST_TFLITE : LEAST_ONNXRUNTIME));
}

static void outputs_are_written_no_further_than_the_end(void)
{
    check_outputs(1);
}

static void outputs_of_plain_kernels_are_neither(void)
{
    check_outputs(0);
}

static const zt_test tests[] = {
    ON_BOTH(engines_that_read_no_further_take_every_input),
    ON_TFLITE(xnnpack_gets_no_input_without_slack),
    ON_TFLITE(xnnpack_takes_every_input_with_slack),
    ON_TFLITE(inputs_up_against_the_end_are_copied_when_allowed),
    ON_BOTH(outputs_are_written_no_further_than_the_end),
    ON_TFLITE(outputs_of_plain_kernels_are_neither),
};

ZT_MAIN(tests)
