/*
 * The same models through other runtimes' C APIs, beside zerobind on its engine for that format.
 *
 *     bench_peers litert|openvino|tract MODELS EXTRA PACKAGES [--quick] [--only=PREFIX]
 *
 * One runtime in a process, since they bring libraries that others bring too. PACKAGES has the unpacked packages of
 * scripts/bench/setup.sh --peers. A runtime that is not there is skipped, and said so.
 */
#include "../common.h"

#include <dlfcn.h>
#include <glob.h>
#include <math.h>

#include "../measure.h"
#include "../zerobind_side.h"
#include "peer.h"

void peer_find(void *library, const char *name, void *place)
{
    void *symbol = dlsym(library, name);
    REQUIRE(symbol != NULL, "there is no %s: another version than was tried", name);
    memcpy(place, &symbol, sizeof symbol);
}

static void *load(const char *packages, const peer *other)
{
    glob_t found;
    void *library = NULL;
    char *pattern = bench_path(packages, other->library, "");
    if (glob(pattern, 0, NULL, &found) == 0) {
        library = dlopen(found.gl_pathv[0], RTLD_NOW | RTLD_LOCAL);
        REQUIRE(library != NULL, "%s", dlerror());
        globfree(&found);
    }
    free(pattern);
    return library;
}

/* Other kernels round in another way, so outputs are compared in the measure of the largest. */
static void require_alike(const model_memory *memory, const unsigned char *expected, const char *who)
{
    for (size_t slot = memory->spec->inputs; slot < model_slot_count(memory->spec); slot++) {
        const float *is = (const float *)(const void *)memory->data[0][slot], *should_be = (const float *)(const void *)expected;
        size_t count = memory->sizes[slot] / sizeof *is;
        float largest = 0, furthest = 0;
        for (size_t i = 0; i < count; i++) {
            largest = fmaxf(largest, fabsf(should_be[i]));
            furthest = fabsf(is[i] - should_be[i]) <= furthest ? furthest : fabsf(is[i] - should_be[i]);
        }
        REQUIRE(furthest <= 1e-3f * largest, "%s: %s is off by %g of %g", memory->spec->name, who, (double)furthest,
                (double)largest);
        expected += memory->sizes[slot];
    }
}

static void measure_both(const char *id, const peer *other, void *library, const char *path, model_memory *memory)
{
    char details[160];
    zerobind_side *zerobind = zerobind_open(path, memory, RAW_BOUND);
    void *opened = other->open(library, path, memory), *again = other->open(library, path, memory);
    model_memory_spoil(memory);
    zerobind_run_bound(zerobind, 1);
    unsigned char *expected = model_memory_copy_outputs(memory, 1);
    model_memory_spoil(memory);
    other->run(opened, 1);
    require_alike(memory, expected, other->name);
    snprintf(details, sizeof details, ", \"model\": \"%s%s\", \"peer\": \"%s\"", memory->spec->name, other->ending, other->memory);
    const bench_case made = {
        .id = id,
        .engine = other->name,
        .sides = {{other->name, other->run, opened}, {"zb_infer", zerobind_run_bound, zerobind}},
        .count = 2,
        .raw = 1,
        .again = {{other->name, other->run, again}},
        .bytes_copied = zerobind_require_direct(zerobind),
        .copies_are_known = 1,
        .details = details,
    };
    bench_measure(&made);
    free(expected);
    other->close(opened);
    other->close(again);
    zerobind_close(zerobind);
}

static void measure(const char *id, const peer *other, const char *packages, const char *folder, const char *model)
{
    if (!bench_wants(id)) {
        return;
    }
    char *path = bench_path(folder, model, other->ending);
    void *library = load(packages, other);
    if (library == NULL) {
        bench_skip(id, other->name, "its package is not there; `make bench-peers` fetches it");
    } else if (!bench_file_exists(path)) {
        bench_skip(id, other->name, "the model is not there; `make bench` fetches or makes it");
    } else {
        model_memory *memory = model_memory_new(model_named(model), 1);
        measure_both(id, other, library, path, memory);
        model_memory_free(memory);
    }
    free(path);
}

int main(int argc, char **argv)
{
    const char *usage = "usage: bench_peers litert|openvino|tract MODELS EXTRA PACKAGES [--quick] [--only=PREFIX]";
    static const peer *const peers[] = {&peer_litert, &peer_openvino, &peer_tract};
    const peer *other = NULL;
    int left = bench_read_settings(argc, argv, usage);
    for (size_t i = 0; left == 5 && i < sizeof peers / sizeof *peers; i++) {
        other = strcmp(peers[i]->name, argv[1]) == 0 ? peers[i] : other;
    }
    if (other == NULL) {
        fprintf(stderr, "%s\n", usage);
        return EXIT_FAILURE;
    }
    measure("peer_add4", other, argv[4], argv[2], "add4");
    measure("peer_big16", other, argv[4], argv[2], "big16");
    measure("peer_real", other, argv[4], argv[3], other == &peer_litert ? "hand_landmark_lite" : "detector320");
}
