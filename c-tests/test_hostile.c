/*
 * Models that mean harm: weights that are elsewhere, and sizes that nobody has. Each is refused before an engine acts on it.
 */
#include "hostile.h"
#include "onnx_bytes.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* The start of a constant of floats. */
static bytes constant(const uint64_t *dims, size_t rank)
{
    bytes made = {{0}, 0};
    for (size_t i = 0; i < rank; i++) {
        put_varint(&made, 1, dims[i]);
    }
    put_varint(&made, 2, 1);
    put_field(&made, 8, "extra", 5);
    return made;
}

/* 1024 floats that lie in another file. */
static bytes constant_elsewhere(const char *location)
{
    static const uint64_t dims[] = {1024};
    bytes made = constant(dims, 1), entry = {{0}, 0};
    put_field(&entry, 1, "location", 8);
    put_field(&entry, 2, location, strlen(location));
    put_field(&made, 13, entry.data, entry.size);
    put_varint(&made, 14, 1);
    return made;
}

/* The model with one constant more. */
static bytes with_constant(const char *model, const bytes *more)
{
    bytes graph = {{0}, 0};
    put_bytes(&graph, 5, more);
    return with_graph(model, &graph);
}

/* --- a folder for models --- */

static char folder[64];
static char path_of_model[512];

static const char *in_folder(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_bytes(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    REQUIRE(file != NULL);
    REQUIRE(fwrite(data, 1, size, file) == size);
    REQUIRE(fclose(file) == 0);
}

/* folder/models/m.onnx with folder/models/external.data, and weights outside: folder/outside.data. */
static void make_folder(void)
{
    char *weights = zt_model_path("external");
    size_t size = 0;
    strcpy(strrchr(weights, '.'), ".data");
    void *data = zt_read(weights, &size);
    strcpy(folder, "/tmp/zerobind-hostile-XXXXXX");
    REQUIRE(mkdtemp(folder) != NULL);
    REQUIRE(mkdir(in_folder("models"), 0700) == 0);
    write_bytes(in_folder("models/external.data"), data, size);
    write_bytes(in_folder("outside.data"), data, size);
    snprintf(path_of_model, sizeof path_of_model, "%s", in_folder("models/m.onnx"));
    free(data);
    free(weights);
}

static void remove_folder(void)
{
    static const char *const files[] = {"models/m.onnx", "models/external.data", "outside.data",     "models/link.data",
                                        "models/m",      "store/model",          "store/weights",    "named/m.onnx",
                                        "named/weights", "models/inside.data",   "models/chain.data"};
    static const char *const folders[] = {"models/linked", "models", "store", "named", ""};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        unlink(in_folder(files[i]));
    }
    unlink(in_folder("models/linked"));
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        rmdir(in_folder(folders[i]));
    }
    CHECK(access(folder, F_OK) != 0 && errno == ENOENT);
}

static zb_status open_path(const char *path)
{
    zb_model *model = NULL;
    zb_status status = zb_model_open(path, NULL, &model);
    CHECK((status == ZB_OK) == (model != NULL));
    zb_model_destroy(model);
    return status;
}

static zb_status open_with_location(const char *location)
{
    bytes more = constant_elsewhere(location), model = with_constant("external", &more);
    write_bytes(path_of_model, model.data, model.size);
    return open_path(path_of_model);
}

static zb_status open_bytes(const bytes *model)
{
    zb_model *opened = NULL;
    zb_status status = zb_model_open_bytes_copy(model->data, model->size, NULL, &opened);
    zb_model_destroy(opened);
    return status;
}

/* --- weights elsewhere --- */

static void weights_stay_in_the_folder_of_the_model(void)
{
    char absolute[600];
    make_folder();
    /* the control: the same model with weights that may be there */
    CHECK_STATUS(open_with_location("external.data"), ZB_OK);
    CHECK_STATUS(open_with_location("./external.data"), ZB_OK);
    snprintf(absolute, sizeof absolute, "%s", in_folder("outside.data"));
    const char *const outside[] = {"../outside.data", absolute, "x/../../outside.data", "/dev/zero", "/etc/passwd", ".."};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        CHECK_STATUS(open_with_location(outside[i]), ZB_ERROR_MODEL_INVALID);
        CHECK_ERROR_SAYS("not in the folder of the model");
        CHECK_ERROR_SAYS(outside[i]);
    }
    /* even one that is in the folder */
    snprintf(absolute, sizeof absolute, "%s", in_folder("models/external.data"));
    CHECK_STATUS(open_with_location(absolute), ZB_ERROR_MODEL_INVALID);
    CHECK_STATUS(open_with_location("missing.data"), ZB_ERROR_IO);
    remove_folder();
}

static void weights_are_no_addresses(void)
{
    make_folder();
    const char *const markers[] = {"*/_ORT_MEM_ADDR_/*", "_ORT_MEM_ADDR_", "./_ORT_MEM_ADDR_"};
    for (size_t i = 0; i < sizeof markers / sizeof *markers; i++) {
        bytes more = constant_elsewhere(markers[i]), model = with_constant("add4", &more);
        CHECK_STATUS(open_with_location(markers[i]), ZB_ERROR_MODEL_INVALID);
        CHECK_ERROR_SAYS("address in memory");
        CHECK_STATUS(open_bytes(&model), ZB_ERROR_MODEL_INVALID);
        CHECK_ERROR_SAYS("address in memory");
    }
    remove_folder();
}

static void links_do_not_lead_out_of_the_folder(void)
{
    make_folder();
    REQUIRE(symlink("../outside.data", in_folder("models/link.data")) == 0);
    REQUIRE(symlink("link.data", in_folder("models/chain.data")) == 0);
    REQUIRE(symlink("..", in_folder("models/linked")) == 0);
    REQUIRE(symlink("external.data", in_folder("models/inside.data")) == 0);
    const char *const outside[] = {"link.data", "chain.data", "linked/outside.data"};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        CHECK_STATUS(open_with_location(outside[i]), ZB_ERROR_MODEL_INVALID);
        CHECK_ERROR_SAYS("a link to a file that is not in the folder of the model");
    }
    CHECK_STATUS(open_with_location("inside.data"), ZB_OK);
    remove_folder();
}

/* Stores that keep files under their hashes have a folder of links with names. Ours is not what stands in the way. */
static void a_folder_of_links_is_the_folder_of_what_the_model_links_to(void)
{
    make_folder();
    REQUIRE(mkdir(in_folder("store"), 0700) == 0 && mkdir(in_folder("named"), 0700) == 0);
    bytes more = constant_elsewhere("weights"), model = with_constant("add4", &more);
    unsigned char weights[4096] = {0};
    write_bytes(in_folder("store/model"), model.data, model.size);
    write_bytes(in_folder("store/weights"), weights, sizeof weights);
    REQUIRE(symlink("../store/model", in_folder("named/m.onnx")) == 0);
    REQUIRE(symlink("../store/weights", in_folder("named/weights")) == 0);
    if (open_path(in_folder("named/m.onnx")) != ZB_OK) {
        char text[512] = "";
        zb_last_error(text, sizeof text, NULL);
        CHECK(strstr(text, "a link to a file") == NULL);
        printf("        the engine's own word: %s\n", text);
    }
    remove_folder();
}

/* --- sizes --- */

static zb_status open_constant(const uint64_t *dims, size_t rank)
{
    bytes more = constant(dims, rank), model = with_constant("add4", &more);
    return open_bytes(&model);
}

static void absurd_constants_are_refused(void)
{
    static const uint64_t one[] = {0}, large[] = {UINT64_C(1) << 34}, many[] = {UINT64_C(1) << 40, UINT64_C(1) << 40};
    static const uint64_t negative[] = {UINT64_MAX};
    CHECK_STATUS(open_constant(one, 1), ZB_OK);
    CHECK_STATUS(open_constant(large, 1), ZB_ERROR_UNSUPPORTED);
    CHECK_ERROR_SAYS("'extra'");
    CHECK_ERROR_SAYS("needs 68719476736 bytes, over the limit of 4294967296: raise max_tensor_bytes");
    CHECK_STATUS(open_constant(many, 2), ZB_ERROR_MODEL_INVALID);
    CHECK_ERROR_SAYS("too many elements");
    CHECK_STATUS(open_constant(negative, 1), ZB_ERROR_MODEL_INVALID);
    CHECK_ERROR_SAYS("below 0");
}

/* matmul64 has a constant of 64 x 64 floats, and slots of as many. */
static void the_limit_counts_for_constants(void)
{
    char *path = zt_model_path("matmul64");
    zb_model_options options = ZB_MODEL_OPTIONS_INIT;
    zb_model *model = NULL;
    options.max_tensor_bytes = 64 * 64 * 4;
    CHECK_STATUS(zb_model_open(path, &options, &model), ZB_OK);
    zb_model_destroy(model);
    model = NULL;
    options.max_tensor_bytes--;
    CHECK_STATUS(zb_model_open(path, &options, &model), ZB_ERROR_UNSUPPORTED);
    CHECK(model == NULL);
    CHECK_ERROR_SAYS("over the limit of 16383");
    free(path);
}

static const zt_test tests[] = {
    ON_ONNXRUNTIME(weights_stay_in_the_folder_of_the_model),
    ON_ONNXRUNTIME(weights_are_no_addresses),
    ON_ONNXRUNTIME(links_do_not_lead_out_of_the_folder),
    ON_ONNXRUNTIME(a_folder_of_links_is_the_folder_of_what_the_model_links_to),
    ON_ONNXRUNTIME(absurd_constants_are_refused),
    ON_BOTH(the_limit_counts_for_constants),
    ON_ONNXRUNTIME(the_limit_counts_for_what_nodes_make),
    ON_ONNXRUNTIME(what_nodes_make_is_seen_inside_of_others),
    ON_ONNXRUNTIME(absurd_shapes_that_nodes_make_are_refused),
    ON_ONNXRUNTIME(shapes_that_are_computed_are_not_known),
};

int main(int argc, char **argv)
{
    return zt_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
