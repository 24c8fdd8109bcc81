/*
 * test_reload LIBRARY MODEL: opens libzerobind a hundred times, uses it and closes it. It is built to stay
 * (-z nodelete), so nothing may grow, and what was found by one dlopen is what the next one finds.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zerobind.h>

#define ROUNDS 100

#define REQUIRE(condition)                                                   \
    do {                                                                     \
        if (!(condition)) {                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                         \
        }                                                                    \
    } while (0)

static int count_descriptors(void)
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

static int count_maps(void)
{
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    REQUIRE(maps != NULL);
    for (int letter; (letter = fgetc(maps)) != EOF;) {
        count += letter == '\n';
    }
    fclose(maps);
    return count;
}

/* Declares a function of the library by its type in the header. Of an object pointer ISO C makes no function. */
#define LOOK_UP(name)                                                            \
    union {                                                                      \
        void *address;                                                           \
        __typeof__(&name) call;                                                  \
    } name##_at = {dlsym(library, #name)};                                       \
    REQUIRE(name##_at.address != NULL)

static void use(void *library, const char *path)
{
    LOOK_UP(zb_model_open);
    LOOK_UP(zb_context_create);
    LOOK_UP(zb_infer_with);
    LOOK_UP(zb_context_destroy);
    LOOK_UP(zb_model_destroy);
    LOOK_UP(zb_live_objects);
    static float memory[32] __attribute__((aligned(64))) = {1, 2, 3, 4};
    float *x = memory, *z = memory + 16;
    zb_model *model = NULL;
    zb_context *context = NULL;
    zb_loan loans[3];
    loans[0] = zb_loan_input(ZB_INPUT(0), x, 16, 64, NULL);
    loans[1] = zb_loan_input(ZB_INPUT(1), x, 16, 64, NULL);
    loans[2] = zb_loan_output(ZB_OUTPUT(0), z, 16, NULL);
    memset(z, 0, 64);
    REQUIRE(zb_model_open_at.call(path, NULL, &model) == ZB_OK);
    REQUIRE(zb_context_create_at.call(model, NULL, &context) == ZB_OK);
    REQUIRE(zb_infer_with_at.call(context, loans, 3, NULL) == ZB_OK);
    REQUIRE(z[0] == 2 && z[3] == 8);
    REQUIRE(zb_context_destroy_at.call(context) == ZB_OK && zb_model_destroy_at.call(model) == ZB_OK);
    for (int32_t kind = ZB_KIND_MODEL; kind <= ZB_KIND_EVENT; kind++) {
        REQUIRE(zb_live_objects_at.call(kind) == 0);
    }
}

int main(int argc, char **argv)
{
    int descriptors = 0, maps = 0;
    void *where = NULL;
    REQUIRE(argc == 3);
    for (int round = 0; round < ROUNDS; round++) {
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        /* closed without use now and then */
        if (round % 10 != 9) {
            use(library, argv[2]);
        }
        REQUIRE(where == NULL || where == dlsym(library, "zb_infer"));
        where = dlsym(library, "zb_infer");
        REQUIRE(dlclose(library) == 0);
        /* what the engines and the allocator set up once is there by now */
        if (round == ROUNDS / 2) {
            descriptors = count_descriptors();
            maps = count_maps();
        }
    }
    printf("%d rounds: %d descriptors, %d maps; half-way %d and %d\n", ROUNDS, count_descriptors(), count_maps(),
           descriptors, maps);
    REQUIRE(count_descriptors() == descriptors);
    REQUIRE(count_maps() == maps);
    return 0;
}
