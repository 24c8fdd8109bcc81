/*
 * What a model tells of itself: quantization, names of dimensions, metadata, signatures. What is expected was written by
 * the generator of the models, or is what the engine's own C API tells of the same file.
 */
#include "harness.h"

#include "raw_tflite.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static void *nothing(void)
{
    return NULL;
}

static zb_slot slot_of(int is_output, uint32_t index)
{
    return is_output ? ZB_OUTPUT(index) : ZB_INPUT(index);
}

/* --- quantization --- */

static void check_none(const zb_slot_info *info)
{
    CHECK_EQ(info->quantization, ZB_QUANTIZATION_NONE);
    CHECK_EQ(info->quantization_count, 0);
    CHECK_EQ(info->quantization_axis, 0);
    CHECK(info->scales == NULL);
    CHECK(info->zero_points == NULL);
}

static void check_per_tensor(const zb_slot_info *info, float scale, int32_t zero_point)
{
    CHECK_EQ(info->quantization, ZB_QUANTIZATION_PER_TENSOR);
    CHECK_EQ(info->quantization_count, 1);
    CHECK_EQ(info->quantization_axis, 0);
    REQUIRE(info->scales != NULL && info->zero_points != NULL);
    CHECK_FLOATS(info->scales, &scale, 1, 0);
    CHECK_EQ(info->zero_points[0], zero_point);
}

/* What the generator gave to one slot; scale 0 is none. */
typedef struct quantized_slot {
    const char *model;
    zb_slot slot;
    float scale;
    int32_t zero_point;
} quantized_slot;

static void check_slot_of(const quantized_slot *expected, const zb_slot_info *info)
{
    if (expected->scale > 0) {
        check_per_tensor(info, expected->scale, expected->zero_point);
    } else {
        check_none(info);
    }
}

static void check_quantized(const quantized_slot *expected)
{
    zb_model *model = zt_open(expected->model);
    zb_context *context = zt_context(model);
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    REQUIRE_OK(zb_model_get_slot_info(model, expected->slot, &info));
    check_slot_of(expected, &info);
    REQUIRE_OK(zb_context_get_slot_info(context, expected->slot, &info));
    check_slot_of(expected, &info);
    REQUIRE_OK(zb_context_prepare(context));
    REQUIRE_OK(zb_context_get_slot_info(context, expected->slot, &info));
    check_slot_of(expected, &info);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void quantization_per_tensor(void)
{
    static const quantized_slot slots[] = {
        {"quantized", ZB_INPUT(0), 0.5f, 3},    {"quantized", ZB_OUTPUT(0), 0.25f, -5},
        {"qlinear", ZB_INPUT(0), 0.5f, 3},      {"qlinear", ZB_OUTPUT(0), 0.125f, -5},
        {"add_i8_1021", ZB_INPUT(0), 0.5f, 3},  {"add_i8_1021", ZB_INPUT(1), 0.5f, -5},
        {"add_i8_1021", ZB_OUTPUT(0), 0.5f, 1}, {"per_axis", ZB_OUTPUT(0), 0, 0},
        {"add4", ZB_INPUT(0), 0, 0},            {"add4", ZB_OUTPUT(0), 0, 0},
        {"add_i32", ZB_INPUT(0), 0, 0},         {"type_i8", ZB_INPUT(0), 0, 0},
        {"type_i8", ZB_OUTPUT(0), 0, 0},        {"image_u8", ZB_INPUT(0), 0, 0},
    };
    for (size_t i = 0; i < LENGTH(slots); i++) {
        check_quantized(&slots[i]);
    }
}

static void check_axis(const zb_slot_info *info)
{
    static const float scales[3] = {0.5f, 0.25f, 2};
    static const int32_t zero_points[3] = {1, -2, 3};
    CHECK_EQ(info->quantization, ZB_QUANTIZATION_PER_AXIS);
    CHECK_EQ(info->quantization_axis, 1);
    CHECK_EQ(info->quantization_count, 3);
    REQUIRE(info->quantization_count == 3 && info->scales != NULL && info->zero_points != NULL);
    CHECK_EQ(info->desc.dims[info->quantization_axis], info->quantization_count);
    CHECK_FLOATS(info->scales, scales, 3, 0);
    CHECK_BYTES(info->zero_points, zero_points, sizeof zero_points);
}

static void quantization_per_axis(void)
{
    zb_model *model = zt_open("per_axis");
    zb_context *context = zt_context(model);
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    REQUIRE_OK(zb_model_get_slot_info(model, ZB_INPUT(0), &info));
    check_axis(&info);
    REQUIRE_OK(zb_context_get_slot_info(context, ZB_INPUT(0), &info));
    check_axis(&info);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

/* The numbers are those that the engine computes with: real = scale * (stored - zero point). */
static void the_formula_holds(void)
{
    static const float weights[3] = {0.5f, 0.25f, 2};
    static const int32_t zeros[3] = {1, -2, 3};
    zb_model *model = zt_open("per_axis");
    zb_context *context = zt_context(model);
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    zt_buffer x = zt_buffer_new(6), y = zt_buffer_new(6 * sizeof(float));
    zb_loan loans[2] = {zt_lend_input(0, &x), zt_lend_output(0, &y)};
    REQUIRE_OK(zb_model_get_slot_info(model, ZB_INPUT(0), &info));
    REQUIRE(info.quantization_count == 3);
    for (int start = -128; start < 123; start += 7) {
        float real[6], told[6];
        for (int i = 0; i < 6; i++) {
            int8_t stored = (int8_t)(start + i);
            memcpy(x.data + i, &stored, 1);
            real[i] = weights[i % 3] * (float)(stored - zeros[i % 3]);
            told[i] = info.scales[i % 3] * (float)(stored - info.zero_points[i % 3]);
        }
        REQUIRE_OK(zb_infer_with(context, loans, 2, NULL));
        CHECK_FLOATS(zt_floats(&y), real, 6, 0);
        CHECK_FLOATS(told, real, 6, 0);
    }
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
}

/* The scale is an input, so no number can be told. */
static void quantization_that_the_run_computes_is_none(void)
{
    zb_model *model = zt_open("quantized_computed");
    const zb_slot slots[3] = {ZB_INPUT(0), ZB_INPUT(1), ZB_OUTPUT(0)};
    for (size_t i = 0; i < 3; i++) {
        zb_slot_info info = ZB_SLOT_INFO_INIT;
        REQUIRE_OK(zb_model_get_slot_info(model, slots[i], &info));
        check_none(&info);
    }
    zb_model_destroy(model);
}

static void check_side_like_the_engine(zb_model *model, raw_tflite *raw, int is_output, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        zb_slot_info info = ZB_SLOT_INFO_INIT;
        quantized_slot expected;
        int zero_point = 0;
        memset(&expected, 0, sizeof expected);
        raw_tflite_quantization(raw, is_output, (int)i, &expected.scale, &zero_point);
        expected.zero_point = zero_point;
        REQUIRE_OK(zb_model_get_slot_info(model, slot_of(is_output, i), &info));
        check_slot_of(&expected, &info);
    }
}

static void quantization_is_what_the_engine_tells(void)
{
    static const char *const names[] = {"quantized", "qlinear",   "add_i8_1021", "okay_nabu", "okay_nabu_features",
                                        "embedding", "image_u8", "type_i8",     "type_u8",   "add4"};
    for (size_t i = 0; i < LENGTH(names); i++) {
        char *path = zt_model_path(names[i]);
        zb_model *model = zt_open(names[i]);
        raw_tflite *raw = raw_tflite_open(path, 0);
        uint32_t inputs = 0, outputs = 0;
        REQUIRE_OK(zb_model_get_slot_counts(model, &inputs, &outputs));
        REQUIRE(inputs > 0 && outputs > 0);
        check_side_like_the_engine(model, raw, 0, inputs);
        check_side_like_the_engine(model, raw, 1, outputs);
        raw_tflite_close(raw);
        zb_model_destroy(model);
        free(path);
    }
}

/* --- dimensions --- */

typedef struct open_slot {
    const char *model;
    zb_slot slot;
    uint32_t rank;
    int64_t dims[4];
    /* by dimension, of ONNX; all NULL where none has a name */
    const char *names[4];
} open_slot;

static const open_slot open_slots[] = {
    {"batch", ZB_INPUT(0), 2, {-1, 4}, {"batch", ""}},
    {"batch", ZB_OUTPUT(0), 2, {-1, 4}, {"batch", ""}},
    {"conv_dyn", ZB_INPUT(0), 4, {1, -1, -1, 1}, {"", "height", "width", ""}},
    {"conv_dyn", ZB_OUTPUT(0), 4, {1, -1, -1, 1}, {"", "height_out", "width_out", ""}},
    {"kv_cache", ZB_INPUT(0), 4, {1, 8, -1, 128}, {"", "", "past", ""}},
    {"kv_cache", ZB_INPUT(1), 4, {1, 8, 1, 128}, {NULL, NULL, NULL, NULL}},
    {"kv_cache", ZB_OUTPUT(0), 4, {1, 8, -1, 128}, {"", "", "present", ""}},
    {"ragged", ZB_INPUT(0), 3, {1, 4, -1}, {"", "", "length"}},
    {"add4", ZB_INPUT(0), 1, {4}, {NULL}},
    {"scalar", ZB_INPUT(0), 0, {0}, {NULL}},
};

static void check_dim_names(const zb_slot_info *info, const open_slot *expected)
{
    if (zt_is_tflite() || expected->names[0] == NULL) {
        CHECK(info->dim_names == NULL);
        return;
    }
    REQUIRE(info->dim_names != NULL);
    for (uint32_t i = 0; i < expected->rank; i++) {
        CHECK(strcmp(info->dim_names[i], expected->names[i]) == 0);
    }
}

static int is_open(const open_slot *expected)
{
    for (uint32_t i = 0; i < expected->rank; i++) {
        if (expected->dims[i] == -1) {
            return 1;
        }
    }
    return 0;
}

static void open_dimensions_are_told(void)
{
    for (size_t i = 0; i < LENGTH(open_slots); i++) {
        const open_slot *expected = &open_slots[i];
        zb_model *model = zt_open(expected->model);
        zb_context *context = zt_context(model);
        zb_slot_info info = ZB_SLOT_INFO_INIT;
        REQUIRE_OK(zb_model_get_slot_info(model, expected->slot, &info));
        CHECK_EQ(info.desc.rank, expected->rank);
        CHECK_BYTES(info.desc.dims, expected->dims, expected->rank * sizeof *expected->dims);
        CHECK_EQ((info.flags & ZB_SLOT_DYNAMIC) != 0, is_open(expected));
        CHECK_EQ(info.size == 0, is_open(expected));
        check_dim_names(&info, expected);
        REQUIRE_OK(zb_context_get_slot_info(context, expected->slot, &info));
        check_dim_names(&info, expected);
        zb_context_destroy(context);
        zb_model_destroy(model);
    }
}

static void open_dimensions_without_a_name(void)
{
    zb_model *model = zt_open("silero_vad");
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    static const int64_t input[2] = {-1, -1}, state[3] = {2, -1, 128};
    REQUIRE_OK(zb_model_get_slot_info(model, ZB_INPUT(0), &info));
    CHECK(info.desc.rank == 2);
    CHECK_BYTES(info.desc.dims, input, sizeof input);
    CHECK(info.dim_names == NULL);
    CHECK((info.flags & ZB_SLOT_DYNAMIC) != 0);
    REQUIRE_OK(zb_model_get_slot_info(model, ZB_INPUT(1), &info));
    CHECK(info.desc.rank == 3);
    CHECK_BYTES(info.desc.dims, state, sizeof state);
    CHECK(info.dim_names == NULL);
    zb_model_destroy(model);
}

/* A resize is of this context only, and changes no name. */
static void names_of_dimensions_survive_a_resize(void)
{
    static const int64_t dims[2] = {3, 4};
    const open_slot *expected = &open_slots[0];
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    zb_slot_info info = ZB_SLOT_INFO_INIT;
    zb_tensor_desc desc = F32(3, 4);
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), dims, 2));
    REQUIRE_OK(zb_context_prepare(context));
    REQUIRE_OK(zb_context_get_slot_info(context, ZB_INPUT(0), &info));
    CHECK(zt_same_desc(&info.desc, &desc));
    CHECK_EQ(info.size, 48);
    check_dim_names(&info, expected);
    REQUIRE_OK(zb_model_get_slot_info(model, ZB_INPUT(0), &info));
    CHECK_EQ(info.desc.dims[0], -1);
    check_dim_names(&info, expected);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

/* --- metadata --- */

typedef struct entry {
    const char *key;
    /* NULL: bytes that are no text */
    const char *text;
} entry;

/* "größe" and "klein – 小さい", by their bytes */
#define SIZE_KEY "gr\xc3\xb6\xc3\x9f" "e"
#define SIZE_TEXT "klein \xe2\x80\x93 \xe5\xb0\x8f\xe3\x81\x95\xe3\x81\x84"

static const entry onnx_entries[] = {
    {"onnx.producer_name", "zerobind-models"},
    {"onnx.graph_name", "described"},
    {"onnx.domain", "org.example.zerobind"},
    {"onnx.description", "Adds one.\nSays so in two lines."},
    {"onnx.version", "42"},
    {"labels", "cat,dog"},
    {SIZE_KEY, SIZE_TEXT},
};

static const entry tflite_entries[] = {
    {"tflite.description", "adds one \xe2\x80\x93 eins dazu"},
    {"tflite.version", "3"},
    {"min_runtime_version", "1.14.0"},
    {"all_bytes", NULL},
};

/* what models have whose author said nothing */
static const entry plain_onnx_entries[] = {{"onnx.producer_name", "zerobind"}, {"onnx.graph_name", "main"}};
static const entry plain_tflite_entries[] = {{"tflite.description", "zerobind test model"}, {"tflite.version", "3"}};
static const entry embedding_entries[] = {
    {"tflite.description", "MLIR Converted."}, {"tflite.version", "3"}, {"min_runtime_version", "1.14.0"}};

static void check_refused_text(zb_model *model, const char *key, zb_status expected)
{
    char buffer[64];
    size_t needed = 99;
    memset(buffer, 0x55, sizeof buffer);
    CHECK_STATUS(zb_model_get_metadata(model, key, buffer, sizeof buffer, &needed), expected);
    CHECK_EQ(needed, 0);
    CHECK_EQ(buffer[0], 0x55);
    CHECK_STATUS(zb_model_get_metadata(model, key, NULL, 0, NULL), expected);
}

static void check_text(zb_model *model, const char *key, const char *text)
{
    char buffer[256];
    size_t needed = 99;
    memset(buffer, 0x55, sizeof buffer);
    CHECK_OK(zb_model_get_metadata(model, key, NULL, 0, &needed));
    CHECK_EQ(needed, strlen(text) + 1);
    needed = 99;
    CHECK_OK(zb_model_get_metadata(model, key, buffer, sizeof buffer, &needed));
    CHECK_EQ(needed, strlen(text) + 1);
    CHECK_BYTES(buffer, text, strlen(text) + 1);
    CHECK_EQ(buffer[needed], 0x55);
    CHECK_OK(zb_model_get_metadata(model, key, buffer, strlen(text) + 1, NULL));
    CHECK_BYTES(buffer, text, strlen(text) + 1);
}

static size_t lines_with(const char *text, const char *key)
{
    size_t count = 0;
    for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t length = strcspn(line, "\n");
        count += length == strlen(key) && strncmp(line, key, length) == 0;
    }
    return count;
}

/* Each key in a line of its own, and nothing else. */
static void check_keys(zb_model *model, const entry *entries, size_t count)
{
    char keys[512] = "";
    size_t size = 0;
    REQUIRE_OK(zb_model_get_metadata(model, "zerobind.keys", keys, sizeof keys, &size));
    CHECK_EQ(size, strlen(keys) + 1);
    size_t expected = 0;
    for (size_t i = 0; i < count; i++) {
        CHECK_EQ(lines_with(keys, entries[i].key), 1);
        expected += strlen(entries[i].key) + 1;
    }
    CHECK_EQ(size, expected);
}

static void check_entries(const char *name, const entry *entries, size_t count)
{
    zb_model *model = zt_open(name);
    for (size_t i = 0; i < count; i++) {
        if (entries[i].text != NULL) {
            check_text(model, entries[i].key, entries[i].text);
        } else {
            check_refused_text(model, entries[i].key, ZB_ERROR_UNSUPPORTED);
            CHECK_ERROR_SAYS(entries[i].key);
            CHECK_ERROR_SAYS("256 bytes");
        }
    }
    check_keys(model, entries, count);
    zb_model_destroy(model);
}

static void metadata_is_what_was_written(void)
{
    if (zt_is_tflite()) {
        check_entries("metadata", tflite_entries, LENGTH(tflite_entries));
        check_entries("embedding", embedding_entries, LENGTH(embedding_entries));
    } else {
        check_entries("metadata", onnx_entries, LENGTH(onnx_entries));
    }
}

static void models_without_metadata(void)
{
    if (zt_is_tflite()) {
        check_entries("add4", plain_tflite_entries, LENGTH(plain_tflite_entries));
    } else {
        check_entries("add4", plain_onnx_entries, LENGTH(plain_onnx_entries));
    }
    zb_model *model = zt_open("add4");
    check_refused_text(model, "labels", ZB_ERROR_NOT_FOUND);
    check_refused_text(model, zt_is_tflite() ? "min_runtime_version" : "onnx.version", ZB_ERROR_NOT_FOUND);
    zb_model_destroy(model);
}

static void missing_keys_get_a_list(void)
{
    static const char *const missing[] = {"", "Labels", "labels ", "onnx", "producer_name", "zerobind", "zerobind.key"};
    zb_model *model = zt_open("metadata");
    const entry *entries = zt_is_tflite() ? tflite_entries : onnx_entries;
    size_t count = zt_is_tflite() ? LENGTH(tflite_entries) : LENGTH(onnx_entries);
    for (size_t i = 0; i < LENGTH(missing); i++) {
        char quoted[32];
        check_refused_text(model, missing[i], ZB_ERROR_NOT_FOUND);
        snprintf(quoted, sizeof quoted, "'%s'", missing[i]);
        CHECK_ERROR_SAYS(quoted);
        for (size_t j = 0; j < count; j++) {
            snprintf(quoted, sizeof quoted, "'%s'", entries[j].key);
            CHECK_ERROR_SAYS(quoted);
        }
    }
    /* keys of the other format are not this one's */
    check_refused_text(model, zt_is_tflite() ? "onnx.producer_name" : "tflite.description", ZB_ERROR_NOT_FOUND);
    zb_model_destroy(model);
}

static int begins_a_character(char byte)
{
    return ((unsigned char)byte & 0xc0u) != 0x80u;
}

static void short_buffers_get_whole_characters(void)
{
    const entry *entry = zt_is_tflite() ? &tflite_entries[0] : &onnx_entries[LENGTH(onnx_entries) - 1];
    zb_model *model = zt_open("metadata");
    size_t whole = strlen(entry->text) + 1;
    for (size_t capacity = 0; capacity < whole; capacity++) {
        char buffer[64];
        size_t needed = 99, fits = capacity == 0 ? 0 : capacity - 1;
        memset(buffer, 0x55, sizeof buffer);
        CHECK_STATUS(zb_model_get_metadata(model, entry->key, buffer, capacity, &needed), ZB_ERROR_BUFFER_TOO_SMALL);
        CHECK_EQ(needed, whole);
        while (!begins_a_character(entry->text[fits])) {
            fits--;
        }
        if (capacity > 0) {
            CHECK_BYTES(buffer, entry->text, fits);
            CHECK_EQ(buffer[fits], '\0');
        }
        for (size_t i = capacity; i < sizeof buffer; i++) {
            REQUIRE(buffer[i] == 0x55);
        }
        CHECK_STATUS(zb_model_get_metadata(model, entry->key, buffer, capacity, NULL), ZB_ERROR_BUFFER_TOO_SMALL);
    }
    zb_model_destroy(model);
}

static void metadata_arguments(void)
{
    const char *key = zt_is_tflite() ? "tflite.version" : "onnx.version";
    zb_model *model = zt_open("metadata");
    zb_context *context = zt_context(model);
    void *other = context;
    size_t needed = 99;
    check_refused_text(nothing(), key, ZB_ERROR_NULL_ARGUMENT);
    check_refused_text(model, nothing(), ZB_ERROR_NULL_ARGUMENT);
    CHECK_ERROR_SAYS("key");
    check_refused_text(model, "\xff\xfe", ZB_ERROR_INVALID_ARGUMENT);
    check_refused_text(model, "gr\xc3", ZB_ERROR_INVALID_ARGUMENT);
    check_refused_text(other, key, ZB_ERROR_INVALID_HANDLE);
    /* the text is there, only no place for it */
    CHECK_STATUS(zb_model_get_metadata(model, key, NULL, 8, &needed), ZB_ERROR_NULL_ARGUMENT);
    CHECK_ERROR_SAYS("buffer");
    CHECK_EQ(needed, zt_is_tflite() ? 2 : 3);
    zb_model_destroy(model);
    check_refused_text(model, key, ZB_ERROR_INVALID_HANDLE);
    zb_context_destroy(context);
}

/* --- signatures --- */

static void check_found(zb_model *model, int is_output, const char *key, const char *name, int expected)
{
    zb_slot slot = 77;
    if (is_output) {
        CHECK_OK(zb_model_signature_find_output(model, key, name, &slot));
    } else {
        CHECK_OK(zb_model_signature_find_input(model, key, name, &slot));
    }
    CHECK_EQ(slot, slot_of(is_output, (uint32_t)expected));
}

static void check_not_found(zb_model *model, int is_output, const char *key, const char *name, zb_status expected)
{
    zb_slot slot = 77;
    if (is_output) {
        CHECK_STATUS(zb_model_signature_find_output(model, key, name, &slot), expected);
    } else {
        CHECK_STATUS(zb_model_signature_find_input(model, key, name, &slot), expected);
    }
    CHECK_EQ(slot, 77);
}

/* One signature, name by name as the engine's runner has them; the number of names that are slots. */
static int check_names(zb_model *model, raw_tflite *raw, const char *key, int is_output)
{
    int slots = 0;
    int count = raw_tflite_name_count(raw, key, is_output);
    for (int i = 0; i < count; i++) {
        const char *name = raw_tflite_name(raw, key, is_output, i);
        int slot = raw_tflite_named_slot(raw, key, is_output, name);
        if (slot >= 0) {
            check_found(model, is_output, key, name, slot);
            slots++;
        } else {
            check_not_found(model, is_output, key, name, ZB_ERROR_UNSUPPORTED);
            CHECK_ERROR_SAYS(key);
        }
    }
    return slots;
}

/* All signatures of a model against the engine's; the number of names that are slots. */
static int check_like_the_engine(const char *name)
{
    char *path = zt_model_path(name);
    zb_model *model = zt_open(name);
    raw_tflite *raw = raw_tflite_open(path, 0);
    uint32_t count = 0;
    int slots = 0;
    raw_tflite_allocate(raw);
    REQUIRE_OK(zb_model_get_signature_count(model, &count));
    CHECK_EQ(count, raw_tflite_signature_count(raw));
    for (int i = 0; i < (int)count; i++) {
        const char *expected = raw_tflite_signature_key(raw, i);
        int is_told = 0;
        for (uint32_t j = 0; j < count; j++) {
            const char *key = NULL;
            REQUIRE_OK(zb_model_get_signature_key(model, j, &key));
            is_told += strcmp(key, expected) == 0;
        }
        CHECK_EQ(is_told, 1);
        slots += check_names(model, raw, expected, 0) + check_names(model, raw, expected, 1);
    }
    raw_tflite_close(raw);
    zb_model_destroy(model);
    free(path);
    return slots;
}

static void signatures_are_the_engines(void)
{
    CHECK_EQ(check_like_the_engine("signatures"), 8);
    CHECK_EQ(check_like_the_engine("okay_nabu"), 2);
    CHECK_EQ(check_like_the_engine("embedding"), 2);
    CHECK_EQ(check_like_the_engine("basic_pitch"), 4);
    CHECK_EQ(check_like_the_engine("add4"), 0);
}

typedef struct named_slot {
    const char *key;
    int is_output;
    const char *name;
    int slot;
} named_slot;

static void signatures_are_what_was_written(void)
{
    static const char *const keys[] = {"serving_default", "other", "elsewhere"};
    /* inputs x, y; outputs sum, difference */
    static const named_slot names[] = {
        {"serving_default", 0, "alfa", 1}, {"serving_default", 0, "zulu", 0}, {"serving_default", 1, "less", 1},
        {"serving_default", 1, "more", 0}, {"other", 0, "subtrahend", 1},     {"other", 0, "minuend", 0},
        {"other", 1, "result", 1},         {"other", 1, "both", 0},
    };
    zb_model *model = zt_open("signatures");
    uint32_t count = 0;
    REQUIRE_OK(zb_model_get_signature_count(model, &count));
    CHECK_EQ(count, LENGTH(keys));
    for (uint32_t i = 0; i < count && i < LENGTH(keys); i++) {
        const char *key = NULL;
        REQUIRE_OK(zb_model_get_signature_key(model, i, &key));
        CHECK(strcmp(key, keys[i]) == 0);
    }
    for (size_t i = 0; i < LENGTH(names); i++) {
        check_found(model, names[i].is_output, names[i].key, names[i].name, names[i].slot);
        /* on the other side, and under another key, the name means nothing */
        check_not_found(model, !names[i].is_output, names[i].key, names[i].name, ZB_ERROR_NOT_FOUND);
        check_not_found(model, names[i].is_output, i < 4 ? "other" : "serving_default", names[i].name, ZB_ERROR_NOT_FOUND);
    }
    zb_model_destroy(model);
}

static void what_a_signature_leaves_out(void)
{
    zb_model *model = zt_open("signature_subset");
    uint32_t count = 0;
    REQUIRE_OK(zb_model_get_signature_count(model, &count));
    CHECK_EQ(count, 1);
    check_found(model, 0, "part", "in", 0);
    check_found(model, 1, "part", "out", 1);
    /* tensors' names are no names of signatures */
    check_not_found(model, 1, "part", "more", ZB_ERROR_NOT_FOUND);
    check_not_found(model, 1, "part", "twice", ZB_ERROR_NOT_FOUND);
    CHECK_ERROR_SAYS("'out'");
    check_not_found(model, 0, "part", "x", ZB_ERROR_NOT_FOUND);
    CHECK_ERROR_SAYS("'in'");
    zb_model_destroy(model);
}

static void unknown_signatures_and_names_get_a_list(void)
{
    static const char *const unknown[] = {"", "serving", "Serving_default", "serving_default "};
    zb_model *model = zt_open("signatures");
    for (size_t i = 0; i < LENGTH(unknown); i++) {
        for (int is_output = 0; is_output < 2; is_output++) {
            check_not_found(model, is_output, unknown[i], is_output ? "less" : "alfa", ZB_ERROR_NOT_FOUND);
            CHECK_ERROR_SAYS("'serving_default'");
            CHECK_ERROR_SAYS("'other'");
            CHECK_ERROR_SAYS("'elsewhere'");
            check_not_found(model, is_output, "serving_default", unknown[i], ZB_ERROR_NOT_FOUND);
            CHECK_ERROR_SAYS("'serving_default'");
            CHECK_ERROR_SAYS(is_output ? "'less'" : "'alfa'");
            CHECK_ERROR_SAYS(is_output ? "'more'" : "'zulu'");
        }
    }
    /* of another graph, whatever the name is */
    check_not_found(model, 0, "elsewhere", "in", ZB_ERROR_UNSUPPORTED);
    CHECK_ERROR_SAYS("'elsewhere'");
    CHECK_ERROR_SAYS("graph");
    check_not_found(model, 1, "elsewhere", "out", ZB_ERROR_UNSUPPORTED);
    zb_model_destroy(model);
}

/* Values lent to slots that were found by name give the result that the names promise. */
static void names_lead_to_the_right_slots(void)
{
    static const float less[4] = {-9, -18, -27, -36}, more[4] = {11, 22, 33, 44};
    zb_model *model = zt_open("signatures");
    zb_context *context = zt_context(model);
    zt_buffer zulu = zt_buffer_new(16), alfa = zt_buffer_new(16), difference = zt_buffer_new(16), sum = zt_buffer_new(16);
    zb_loan loans[4] = {zt_lend_input(0, &alfa), zt_lend_input(0, &zulu), zt_lend_output(0, &difference),
                        zt_lend_output(0, &sum)};
    zt_fill_floats(&zulu, 1, 1);
    zt_fill_floats(&alfa, 10, 10);
    REQUIRE_OK(zb_model_signature_find_input(model, "serving_default", "alfa", &loans[0].slot));
    REQUIRE_OK(zb_model_signature_find_input(model, "serving_default", "zulu", &loans[1].slot));
    REQUIRE_OK(zb_model_signature_find_output(model, "serving_default", "less", &loans[2].slot));
    REQUIRE_OK(zb_model_signature_find_output(model, "serving_default", "more", &loans[3].slot));
    REQUIRE_OK(zb_infer_with(context, loans, 4, NULL));
    CHECK_FLOATS(zt_floats(&difference), less, 4, 0);
    CHECK_FLOATS(zt_floats(&sum), more, 4, 0);
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&zulu);
    FREE_BUFFER(&alfa);
    FREE_BUFFER(&difference);
    FREE_BUFFER(&sum);
}

static void models_without_signatures(void)
{
    static const char *const names[] = {"add4", "metadata"};
    for (size_t i = 0; i < LENGTH(names); i++) {
        zb_model *model = zt_open(names[i]);
        uint32_t count = 77;
        const char *key = "untouched";
        CHECK_OK(zb_model_get_signature_count(model, &count));
        CHECK_EQ(count, 0);
        CHECK_STATUS(zb_model_get_signature_key(model, 0, &key), ZB_ERROR_INVALID_ARGUMENT);
        CHECK(strcmp(key, "untouched") == 0);
        check_not_found(model, 0, "serving_default", "x", ZB_ERROR_NOT_FOUND);
        CHECK_ERROR_SAYS("none");
        check_not_found(model, 1, "serving_default", "y", ZB_ERROR_NOT_FOUND);
        zb_model_destroy(model);
    }
}

static void check_signature_functions(zb_model *model, zb_status expected)
{
    uint32_t count = 77;
    const char *key = "untouched";
    CHECK_STATUS(zb_model_get_signature_count(model, &count), expected);
    CHECK_EQ(count, 77);
    CHECK_STATUS(zb_model_get_signature_key(model, 0, &key), expected);
    CHECK(strcmp(key, "untouched") == 0);
    check_not_found(model, 0, "serving_default", "x", expected);
    check_not_found(model, 1, "serving_default", "y", expected);
}

static void signature_arguments(void)
{
    zb_model *model = zt_open("metadata");
    zb_context *context = zt_context(model);
    void *other = context;
    check_signature_functions(nothing(), ZB_ERROR_NULL_ARGUMENT);
    check_signature_functions(other, ZB_ERROR_INVALID_HANDLE);
    CHECK_STATUS(zb_model_get_signature_count(model, nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_ERROR_SAYS("count");
    CHECK_STATUS(zb_model_get_signature_key(model, 0, nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_ERROR_SAYS("key");
    for (int is_output = 0; is_output < 2; is_output++) {
        check_not_found(model, is_output, nothing(), "x", ZB_ERROR_NULL_ARGUMENT);
        CHECK_ERROR_SAYS("key");
        check_not_found(model, is_output, "serving_default", nothing(), ZB_ERROR_NULL_ARGUMENT);
        CHECK_ERROR_SAYS("name");
        check_not_found(model, is_output, "\xff", "x", ZB_ERROR_INVALID_ARGUMENT);
        check_not_found(model, is_output, "serving_default", "\xc3", ZB_ERROR_INVALID_ARGUMENT);
    }
    CHECK_STATUS(zb_model_signature_find_input(model, "a", "b", nothing()), ZB_ERROR_NULL_ARGUMENT);
    CHECK_ERROR_SAYS("slot");
    CHECK_STATUS(zb_model_signature_find_output(model, "a", "b", nothing()), ZB_ERROR_NULL_ARGUMENT);
    zb_model_destroy(model);
    check_signature_functions(model, ZB_ERROR_INVALID_HANDLE);
    CHECK_ERROR_SAYS("destroyed");
    zb_context_destroy(context);
}

static void signature_indices_out_of_range(void)
{
    static const uint32_t indices[] = {3, 4, 0x7fffffffu, 0x80000000u, UINT32_MAX};
    zb_model *model = zt_open("signatures");
    for (size_t i = 0; i < LENGTH(indices); i++) {
        const char *key = "untouched";
        CHECK_STATUS(zb_model_get_signature_key(model, indices[i], &key), ZB_ERROR_INVALID_ARGUMENT);
        CHECK_ERROR_SAYS("has 3");
        CHECK(strcmp(key, "untouched") == 0);
    }
    zb_model_destroy(model);
}

/* --- how long it lasts --- */

/* What was told is read again after everything else that could end it; valgrind sees if it was freed. */
static void check_lasting(const zb_slot_info *info)
{
    CHECK(strcmp(info->name, "x") == 0);
    check_axis(info);
}

static void what_is_told_lasts_as_long_as_its_handle(void)
{
    zb_slot_info of_model = ZB_SLOT_INFO_INIT, of_context = ZB_SLOT_INFO_INIT, again = ZB_SLOT_INFO_INIT;
    zb_model *model = zt_open("per_axis");
    zb_context *context = zt_context(model), *other = zt_context(model);
    REQUIRE_OK(zb_model_get_slot_info(model, ZB_INPUT(0), &of_model));
    REQUIRE_OK(zb_context_get_slot_info(context, ZB_INPUT(0), &of_context));
    REQUIRE_OK(zb_context_get_slot_info(other, ZB_INPUT(0), &again));
    /* not with another context, nor by being asked for again, nor by planning */
    zb_context_destroy(other);
    REQUIRE_OK(zb_context_prepare(context));
    REQUIRE_OK(zb_model_get_slot_info(model, ZB_INPUT(0), &again));
    check_lasting(&of_model);
    check_lasting(&of_context);
    /* the model's ends with the model's handle, the context's does not */
    zb_model_destroy(model);
    check_lasting(&of_context);
    zb_context_destroy(context);

    /* and the model's outlives its contexts */
    model = zt_open("per_axis");
    context = zt_context(model);
    REQUIRE_OK(zb_model_get_slot_info(model, ZB_INPUT(0), &of_model));
    zb_context_destroy(context);
    check_lasting(&of_model);
    zb_model_destroy(model);
}

static void names_of_dimensions_last_too(void)
{
    zb_slot_info of_model = ZB_SLOT_INFO_INIT, of_context = ZB_SLOT_INFO_INIT;
    static const int64_t dims[2] = {5, 4};
    zb_model *model = zt_open("batch");
    zb_context *context = zt_context(model);
    REQUIRE_OK(zb_model_get_slot_info(model, ZB_INPUT(0), &of_model));
    REQUIRE_OK(zb_context_get_slot_info(context, ZB_INPUT(0), &of_context));
    REQUIRE_OK(zb_context_resize_input(context, ZB_INPUT(0), dims, 2));
    REQUIRE_OK(zb_context_prepare(context));
    REQUIRE_OK(zb_context_reset_state(context));
    check_dim_names(&of_model, &open_slots[0]);
    check_dim_names(&of_context, &open_slots[0]);
    zb_model_destroy(model);
    check_dim_names(&of_context, &open_slots[0]);
    zb_context_destroy(context);
}

static void keys_of_signatures_last_as_long_as_the_model(void)
{
    const char *keys[3];
    zb_model *model = zt_open("signatures"), *other = zt_open("signatures");
    zb_context *context = zt_context(model);
    for (uint32_t i = 0; i < 3; i++) {
        const char *key = NULL;
        REQUIRE_OK(zb_model_get_signature_key(model, i, &keys[i]));
        REQUIRE_OK(zb_model_get_signature_key(other, i, &key));
        CHECK(strcmp(key, keys[i]) == 0);
    }
    zb_model_destroy(other);
    zb_context_destroy(context);
    CHECK(strcmp(keys[0], "serving_default") == 0);
    CHECK(strcmp(keys[1], "other") == 0);
    CHECK(strcmp(keys[2], "elsewhere") == 0);
    zb_model_destroy(model);
}

/* A model in memory of the host tells what the file tells, after the bytes were changed as well where they were copied. */
static void bytes_that_were_copied_are_not_looked_at_again(void)
{
    size_t size = 0;
    char *path = zt_model_path("metadata");
    void *bytes = zt_read(path, &size);
    zb_model *model = NULL;
    const entry *entries = zt_is_tflite() ? tflite_entries : onnx_entries;
    REQUIRE_OK(zb_model_open_bytes_copy(bytes, size, NULL, &model));
    memset(bytes, 0x55, size);
    free(bytes);
    free(path);
    for (size_t i = 0; i < 3; i++) {
        check_text(model, entries[i].key, entries[i].text);
    }
    zb_model_destroy(model);
}

static const zt_test tests[] = {
    ON_BOTH(quantization_per_tensor),
    ON_BOTH(quantization_per_axis),
    ON_BOTH(the_formula_holds),
    ON_ONNXRUNTIME(quantization_that_the_run_computes_is_none),
    ON_TFLITE(quantization_is_what_the_engine_tells),
    ON_BOTH(open_dimensions_are_told),
    ON_ONNXRUNTIME(open_dimensions_without_a_name),
    ON_BOTH(names_of_dimensions_survive_a_resize),
    ON_BOTH(metadata_is_what_was_written),
    ON_BOTH(models_without_metadata),
    ON_BOTH(missing_keys_get_a_list),
    ON_BOTH(short_buffers_get_whole_characters),
    ON_BOTH(metadata_arguments),
    ON_TFLITE(signatures_are_the_engines),
    ON_TFLITE(signatures_are_what_was_written),
    ON_TFLITE(what_a_signature_leaves_out),
    ON_TFLITE(unknown_signatures_and_names_get_a_list),
    ON_TFLITE(names_lead_to_the_right_slots),
    ON_BOTH(models_without_signatures),
    ON_BOTH(signature_arguments),
    ON_TFLITE(signature_indices_out_of_range),
    ON_BOTH(what_is_told_lasts_as_long_as_its_handle),
    ON_BOTH(names_of_dimensions_last_too),
    ON_TFLITE(keys_of_signatures_last_as_long_as_the_model),
    ON_BOTH(bytes_that_were_copied_are_not_looked_at_again),
};

ZT_MAIN(tests)
