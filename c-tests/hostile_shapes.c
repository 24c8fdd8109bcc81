/*
 * Nodes that make a large tensor out of a few numbers in the file. Each is at the limit, where the engine takes the model and
 * so shows that nothing else is wrong with it, and a byte over it.
 */
#include "hostile.h"
#include "onnx_bytes.h"

enum { INT64 = 7, FLOAT = 1, MOST = 6 };

/* A constant or an attribute: a list of numbers. */
typedef struct numbers {
    const char *name;
    /* 0 for a constant that is one number, without dimensions */
    size_t count;
    int64_t values[MOST];
} numbers;

typedef struct maker {
    const char *operator;
    /* "" for one that is left out */
    const char *inputs[4];
    numbers constants[3];
    numbers attributes[2];
    /* what it makes, worked out by hand */
    uint64_t bytes;
} maker;

static void put_constant(bytes *graph, const numbers *constant)
{
    bytes made = {{0}, 0};
    if (constant->count > 0) {
        put_varint(&made, 1, constant->count);
    }
    put_varint(&made, 2, INT64);
    put_text(&made, 8, constant->name);
    put_field(&made, 9, constant->values, (constant->count > 0 ? constant->count : 1) * sizeof *constant->values);
    put_bytes(graph, 5, &made);
}

/* Floats, all of them 1. */
static void put_floats(bytes *graph, const char *name, const uint64_t *dims, size_t rank)
{
    static const float one = 1;
    bytes made = {{0}, 0}, raw = {{0}, 0};
    uint64_t count = 1;
    for (size_t i = 0; i < rank; i++) {
        put_varint(&made, 1, dims[i]);
        count *= dims[i];
    }
    for (uint64_t i = 0; i < count; i++) {
        put(&raw, &one, sizeof one);
    }
    put_varint(&made, 2, FLOAT);
    put_text(&made, 8, name);
    put_bytes(&made, 9, &raw);
    put_bytes(graph, 5, &made);
}

static void put_attribute(bytes *node, const numbers *attribute)
{
    enum { INT = 2, INTS = 7 };
    bytes made = {{0}, 0};
    const int is_one = strcmp(attribute->name, "dtype") == 0;
    put_text(&made, 1, attribute->name);
    for (size_t i = 0; i < attribute->count; i++) {
        put_varint(&made, is_one ? 3 : 8, (uint64_t)attribute->values[i]);
    }
    put_varint(&made, 20, is_one ? INT : INTS);
    put_bytes(node, 5, &made);
}

static bytes node_of(const maker *of)
{
    bytes node = {{0}, 0};
    for (size_t i = 0; i < 4 && of->inputs[i] != NULL; i++) {
        put_text(&node, 1, of->inputs[i]);
    }
    put_text(&node, 2, "made");
    put_text(&node, 3, "maker");
    put_text(&node, 4, of->operator);
    for (size_t i = 0; i < 2 && of->attributes[i].name != NULL; i++) {
        put_attribute(&node, &of->attributes[i]);
    }
    return node;
}

/* A good model, with the node and its constants, and with some to take them from: floats of 2 x 3, an image, a filter. */
static bytes model_with(const maker *more)
{
    static const uint64_t dims[] = {1, 1, 2, 3};
    bytes graph = {{0}, 0}, node = node_of(more);
    put_bytes(&graph, 1, &node);
    put_floats(&graph, "floats", dims + 2, 2);
    put_floats(&graph, "image", dims, 4);
    put_floats(&graph, "filter", (const uint64_t[]){1, 1, 1, 1}, 4);
    for (size_t i = 0; i < 3 && more->constants[i].name != NULL; i++) {
        put_constant(&graph, &more->constants[i]);
    }
    return with_graph("add4", &graph);
}

static zb_status open_limited(const bytes *model, uint64_t most)
{
    zb_model_options options = ZB_MODEL_OPTIONS_INIT;
    zb_model *opened = NULL;
    options.max_tensor_bytes = most;
    zb_status status = zb_model_open_bytes_copy(model->data, model->size, &options, &opened);
    CHECK((status == ZB_OK) == (opened != NULL));
    zb_model_destroy(opened);
    return status;
}

/* The limit is where it is said to be. */
static void check_limit(const bytes *model, uint64_t made, const char *operator)
{
    char text[128];
    if (!CHECK_STATUS(open_limited(model, made), ZB_OK)) {
        printf("of %s\n", operator);
    }
    CHECK_STATUS(open_limited(model, made - 1), ZB_ERROR_UNSUPPORTED);
    snprintf(text, sizeof text, "needs %llu bytes, over the limit of %llu: raise max_tensor_bytes", (unsigned long long)made,
             (unsigned long long)made - 1);
    CHECK_ERROR_SAYS(text);
    snprintf(text, sizeof text, "the node 'maker' (%s) makes the tensor 'made' of shape [", operator);
    CHECK_ERROR_SAYS(text);
}

#define NONE {NULL, 0, {0}}
#define NO_CONSTANTS {NONE, NONE, NONE}
#define NO_ATTRIBUTES {NONE, NONE}
#define SHAPE(...) {{"shape", sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), {__VA_ARGS__}}, NONE, NONE}

void the_limit_counts_for_what_nodes_make(void)
{
    static const maker makers[] = {
        {"ConstantOfShape", {"shape"}, SHAPE(40, 50), NO_ATTRIBUTES, 40 * 50 * 4},
        {"Expand", {"floats", "shape"}, SHAPE(70, 1, 3), NO_ATTRIBUTES, 70 * 2 * 3 * 4},
        {"Tile", {"floats", "shape"}, SHAPE(40, 5), NO_ATTRIBUTES, 80 * 15 * 4},
        {"Pad", {"floats", "shape"}, SHAPE(30, 0, 4, 10), NO_ATTRIBUTES, 36 * 13 * 4},
        {"Resize", {"floats", "", "", "shape"}, SHAPE(99, 98), NO_ATTRIBUTES, 99 * 98 * 4},
        {"OneHot",
         {"which", "depth", "values"},
         {{"which", 2, {0, 1}}, {"depth", 1, {90}}, {"values", 2, {0, 1}}},
         NO_ATTRIBUTES,
         2 * 90 * 8},
        {"Range", {"a", "b", "c"}, {{"a", 0, {1}}, {"b", 0, {311}}, {"c", 0, {3}}}, NO_ATTRIBUTES, 104 * 8},
        {"EyeLike", {"floats"}, NO_CONSTANTS, {{"dtype", 1, {11}}, NONE}, 2 * 3 * 8},
        {"RandomNormal", {NULL}, NO_CONSTANTS, {{"shape", 2, {10, 20}}, NONE}, 800},
        {"RandomUniform", {NULL}, NO_CONSTANTS, {{"shape", 2, {10, 20}}, {"dtype", 1, {11}}}, 1600},
        {"Conv", {"image", "filter"}, NO_CONSTANTS, {{"pads", 4, {10, 20, 30, 40}}, NONE}, 42 * 63 * 4},
        {"MaxPool",
         {"image"},
         NO_CONSTANTS,
         {{"kernel_shape", 2, {50, 60}}, {"pads", 4, {49, 59, 49, 59}}},
         51 * 62 * 4},
        {"ConvTranspose", {"image", "filter"}, NO_CONSTANTS, {{"strides", 2, {50, 60}}, NONE}, 51 * 121 * 4},
    };
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        bytes model = model_with(&makers[i]);
        check_limit(&model, makers[i].bytes, makers[i].operator);
    }
}

/* --- inside --- */

static const maker in_there = {"ConstantOfShape", {"shape"}, SHAPE(40, 50), NO_ATTRIBUTES, 8000};

/* An output of floats, of any shape. */
static void put_output(bytes *graph, const char *name)
{
    bytes tensor = {{0}, 0}, type = {{0}, 0}, value = {{0}, 0};
    put_varint(&tensor, 1, FLOAT);
    put_bytes(&type, 1, &tensor);
    put_text(&value, 1, name);
    put_bytes(&value, 2, &type);
    put_bytes(graph, 12, &value);
}

static void put_branch(bytes *node, const char *name, const bytes *branch)
{
    enum { GRAPH = 5 };
    bytes attribute = {{0}, 0};
    put_text(&attribute, 1, name);
    put_bytes(&attribute, 6, branch);
    put_varint(&attribute, 20, GRAPH);
    put_bytes(node, 5, &attribute);
}

/* The shape is a constant of the branch, or of the graph around it. */
static bytes model_with_branches(int is_own)
{
    enum { BOOL = 9 };
    bytes graph = {{0}, 0}, branch = {{0}, 0}, node = {{0}, 0}, maker = node_of(&in_there), condition = {{0}, 0};
    put_bytes(&branch, 1, &maker);
    put_text(&branch, 2, "branch");
    put_constant(is_own ? &branch : &graph, &in_there.constants[0]);
    put_output(&branch, "made");
    put_varint(&condition, 2, BOOL);
    put_text(&condition, 8, "condition");
    put_field(&condition, 9, "\1", 1);
    put_bytes(&graph, 5, &condition);
    put_text(&node, 1, "condition");
    put_text(&node, 2, "chosen");
    put_text(&node, 4, "If");
    put_branch(&node, "then_branch", &branch);
    put_branch(&node, "else_branch", &branch);
    put_bytes(&graph, 1, &node);
    return with_graph("add4", &graph);
}

static void put_version(bytes *to, unsigned field, const char *domain, uint64_t version)
{
    bytes made = {{0}, 0};
    put_text(&made, 1, domain);
    put_varint(&made, 2, version);
    put_bytes(to, field, &made);
}

/* A node that calls a function of the model's own, with the maker in it. */
static bytes model_with_function(void)
{
    bytes graph = {{0}, 0}, call = {{0}, 0}, function = {{0}, 0}, constant = {{0}, 0}, shape = {{0}, 0};
    bytes maker = node_of(&in_there), value = {{0}, 0};
    put_varint(&shape, 1, 2);
    put_varint(&shape, 2, INT64);
    put_field(&shape, 9, in_there.constants[0].values, 16);
    put_text(&value, 1, "value");
    put_bytes(&value, 5, &shape);
    put_varint(&value, 20, 4);
    put_text(&constant, 2, "shape");
    put_text(&constant, 4, "Constant");
    put_bytes(&constant, 5, &value);
    put_text(&function, 1, "Make");
    put_text(&function, 5, "made");
    put_bytes(&function, 7, &constant);
    put_bytes(&function, 7, &maker);
    put_version(&function, 9, "", 17);
    put_text(&function, 10, "own");
    put_text(&call, 2, "result");
    put_text(&call, 4, "Make");
    put_text(&call, 7, "own");
    put_bytes(&graph, 1, &call);
    bytes model = with_graph("add4", &graph);
    put_version(&model, 8, "own", 1);
    put_bytes(&model, 25, &function);
    return model;
}

void what_nodes_make_is_seen_inside_of_others(void)
{
    bytes own = model_with_branches(1), around = model_with_branches(0), function = model_with_function();
    check_limit(&own, in_there.bytes, in_there.operator);
    check_limit(&around, in_there.bytes, in_there.operator);
    check_limit(&function, in_there.bytes, in_there.operator);
}

/* --- absurd ones --- */

static zb_status open_made(int64_t first, int64_t second)
{
    const maker made = {"ConstantOfShape", {"shape"}, {{"shape", 2, {first, second}}, NONE, NONE}, NO_ATTRIBUTES, 0};
    bytes model = model_with(&made);
    /* the limit of 4 GiB that is there without options */
    return open_limited(&model, 0);
}

void absurd_shapes_that_nodes_make_are_refused(void)
{
    const int64_t huge = INT64_C(1) << 40;
    CHECK_STATUS(open_made(0, 7), ZB_OK);
    CHECK_STATUS(open_made(huge, 0), ZB_OK);
    CHECK_STATUS(open_made(1 << 17, 1 << 17), ZB_ERROR_UNSUPPORTED);
    CHECK_ERROR_SAYS("the node 'maker' (ConstantOfShape) makes the tensor 'made' of shape [131072, 131072]");
    CHECK_ERROR_SAYS("needs 68719476736 bytes, over the limit of 4294967296: raise max_tensor_bytes");
    CHECK_STATUS(open_made(1 << 15, (1 << 15) + 1), ZB_ERROR_UNSUPPORTED);
    CHECK_ERROR_SAYS("needs 4295098368 bytes, over the limit of 4294967296");
    CHECK_STATUS(open_made(huge, huge), ZB_ERROR_MODEL_INVALID);
    CHECK_ERROR_SAYS("too many elements");
    CHECK_STATUS(open_made(INT64_MAX, 1), ZB_ERROR_MODEL_INVALID);
    CHECK_ERROR_SAYS("too many elements");
    CHECK_STATUS(open_made(-1, 3), ZB_ERROR_MODEL_INVALID);
    CHECK_ERROR_SAYS("a dimension is below 0");
    CHECK_STATUS(open_made(0, INT64_MIN), ZB_ERROR_MODEL_INVALID);
    CHECK_ERROR_SAYS("a dimension is below 0");
}

/* As docs/damaged.md has it: a step between the constant and the node is enough. */
void shapes_that_are_computed_are_not_known(void)
{
    const maker made = {"ConstantOfShape", {"sum"}, SHAPE(20, 25), NO_ATTRIBUTES, 8000};
    bytes model = model_with(&made), graph = {{0}, 0}, sum = {{0}, 0};
    put_text(&sum, 1, "shape");
    put_text(&sum, 1, "shape");
    put_text(&sum, 2, "sum");
    put_text(&sum, 4, "Add");
    put_bytes(&graph, 1, &sum);
    put_bytes(&model, 7, &graph);
    CHECK_STATUS(open_limited(&model, 100), ZB_OK);
}
