#include "cases.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

enum { ONNX_STRING = 8 };

/* ONNX's number of an element type -> the header's */
static const int32_t DTYPES[] = {
    [1] = ZB_DTYPE_F32,       [2] = ZB_DTYPE_U8,   [3] = ZB_DTYPE_I8,   [4] = ZB_DTYPE_U16,   [5] = ZB_DTYPE_I16,
    [6] = ZB_DTYPE_I32,       [7] = ZB_DTYPE_I64,  [8] = ZB_DTYPE_STRING, [9] = ZB_DTYPE_BOOL, [10] = ZB_DTYPE_F16,
    [11] = ZB_DTYPE_F64,      [12] = ZB_DTYPE_U32, [13] = ZB_DTYPE_U64, [14] = ZB_DTYPE_C64,  [15] = ZB_DTYPE_C128,
    [16] = ZB_DTYPE_BF16,     [17] = ZB_DTYPE_F8E4M3FN, [19] = ZB_DTYPE_F8E5M2, [21] = ZB_DTYPE_U4, [22] = ZB_DTYPE_I4,
};

typedef struct data_file {
    const unsigned char *bytes;
    size_t size;
} data_file;

static char *path_in(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    REQUIRE(path != NULL);
    snprintf(path, size, "%s/%s", folder, name);
    return path;
}

static data_file map_data(const char *folder)
{
    data_file data;
    struct stat about;
    char *path = path_in(folder, "reference.bin");
    int fd = open(path, O_RDONLY);
    if (fd < 0) {
        fprintf(stderr, "%s is missing: `make setup` brings it\n", path);
        exit(2);
    }
    REQUIRE(fstat(fd, &about) == 0 && about.st_size > 0);
    data.size = (size_t)about.st_size;
    /* private and writable: a control corrupts a value of the reference */
    void *bytes = mmap(NULL, data.size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    REQUIRE(bytes != MAP_FAILED);
    data.bytes = bytes;
    close(fd);
    free(path);
    return data;
}

static int32_t dtype_of(int onnx_type)
{
    int is_known = onnx_type >= 0 && (size_t)onnx_type < sizeof DTYPES / sizeof *DTYPES;
    return is_known ? DTYPES[onnx_type] : ZB_DTYPE_INVALID;
}

/* What is left of a line behind a number of words, without the line's end. */
static void copy_rest(char *place, size_t capacity, const char *rest)
{
    size_t size = strcspn(rest, "\n");
    REQUIRE(size < capacity);
    memcpy(place, rest, size);
    place[size] = '\0';
}

/* KIND TYPE OFFSET SIZE RANK DIM... SLOT */
static void parse_slot(reference_slot *slot, const char *line, const data_file *data)
{
    size_t offset;
    int used = 0;
    REQUIRE(sscanf(line, "%15s %d %zu %zu %u %n", slot->kind, &slot->onnx_type, &offset, &slot->size, &slot->desc.rank,
                   &used) == 5);
    REQUIRE(slot->desc.rank <= ZB_MAX_RANK && offset <= data->size && slot->size <= data->size - offset);
    slot->desc.dtype = dtype_of(slot->onnx_type);
    slot->bytes = data->bytes + offset;
    for (uint32_t i = 0; i < slot->desc.rank; i++) {
        int more = 0;
        long long dim;
        REQUIRE(sscanf(line + used, "%lld %n", &dim, &more) == 1);
        slot->desc.dims[i] = dim;
        used += more;
    }
    copy_rest(slot->name, sizeof slot->name, line + used);
}

/* NAME RTOL ATOL PATH */
static void parse_case(reference_case *each, const char *line)
{
    int used = 0;
    REQUIRE(sscanf(line, "%127s %lf %lf %n", each->name, &each->relative, &each->absolute, &used) == 3);
    copy_rest(each->path, sizeof each->path, line + used);
}

reference_case *read_cases(const char *folder, size_t *count)
{
    char line[2048];
    size_t capacity = 0;
    reference_case *cases = NULL, *last = NULL;
    data_file data = map_data(folder);
    char *path = path_in(folder, "cases.txt");
    FILE *file = fopen(path, "r");
    REQUIRE(file != NULL);
    *count = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "case ", 5) == 0) {
            if (*count == capacity) {
                capacity = capacity * 2 + 64;
                cases = realloc(cases, capacity * sizeof *cases);
                REQUIRE(cases != NULL);
            }
            last = &cases[(*count)++];
            memset(last, 0, sizeof *last);
            parse_case(last, line + 5);
        } else if (strncmp(line, "input ", 6) == 0) {
            REQUIRE(last != NULL && last->input_count < MOST_SLOTS);
            parse_slot(&last->inputs[last->input_count++], line + 6, &data);
        } else {
            REQUIRE(strncmp(line, "output ", 7) == 0 && last != NULL && last->output_count < MOST_SLOTS);
            parse_slot(&last->outputs[last->output_count++], line + 7, &data);
        }
    }
    fclose(file);
    free(path);
    return cases;
}

static int is_numeric_slot(const reference_slot *slot)
{
    return strcmp(slot->kind, "tensor") == 0 && slot->onnx_type != ONNX_STRING;
}

int is_numeric(const reference_case *each)
{
    int numeric = 1;
    for (size_t i = 0; i < each->input_count; i++) {
        numeric &= is_numeric_slot(&each->inputs[i]);
    }
    for (size_t i = 0; i < each->output_count; i++) {
        numeric &= is_numeric_slot(&each->outputs[i]);
    }
    return numeric;
}
