/*
 * Real TFLite models through zerobind, bit for bit against the bare engine, with plain kernels and with XNNPACK:
 *
 *     conformance_tflite DATA KNOWN [--runs N] [--to FOLDER] [--only NAME] [--kernels plain|xnnpack]
 *         [--plant output|input|crash NAME]
 *
 * DATA is the folder that the set-up prepares, KNOWN the committed list of what the engine cannot run, which the bare engine
 * proves in a process of its own each time. The program fails on every run that differs, on a model that cannot be run and is
 * not on the list, and on one that is on the list and can. --to writes tflite.json into a folder.
 */
#include "arguments.h"
#include "known.h"
#include "stream.h"
#include "workers.h"

#include <unistd.h>

enum { RUNS = 20, PATIENCE_SECONDS = 300 };

/* A model with one kind of kernels. */
typedef struct item {
    const real_model *model;
    int xnnpack;
} item;

typedef struct conformance {
    real_model *models;
    size_t model_count;
    item *items;
    size_t count;
    stream_result *results;
    known_list known;
    unsigned runs;
    const char *folder, *only, *kernels, *victim;
    stream_plant plant;
    /* where the bare engine's words go */
    FILE *words;
} conformance;

static const char *kernels_of(const item *item)
{
    return item->xnnpack ? "xnnpack" : "plain";
}

/* --- the bare engine alone --- */

static void try_bare(void *user_data, size_t index)
{
    conformance *all = user_data;
    rewind(all->words);
    REQUIRE(ftruncate(fileno(all->words), 0) == 0 && dup2(fileno(all->words), STDERR_FILENO) >= 0 &&
            dup2(fileno(all->words), STDOUT_FILENO) >= 0);
    run_bare(all->items[index].model, all->items[index].xnnpack);
}

/* The first line that the engine calls an error; nothing of what it says besides. */
static void read_words(int fd, char *words, size_t capacity)
{
    char text[4096];
    ssize_t size = pread(fd, text, sizeof text - 1, 0);
    REQUIRE(size >= 0);
    text[size] = '\0';
    const char *error = strstr(text, "ERROR: ");
    const char *line = error == NULL ? "" : error + strlen("ERROR: ");
    snprintf(words, capacity, "%.*s", (int)strcspn(line, "\n"), line);
}

static void bare_failed(void *user_data, size_t index, int signal, int exit_code)
{
    conformance *all = user_data;
    char end[64], words[160];
    describe_end(signal, exit_code, end, sizeof end);
    read_words(fileno(all->words), words, sizeof words);
    snprintf(all->results[index].raw_says, sizeof all->results[index].raw_says, "%s%s%s", end,
             words[0] == '\0' ? "" : ": ", words);
}

/* --- zerobind beside it --- */

static void try_item(void *user_data, size_t index)
{
    conformance *all = user_data;
    const item *item = &all->items[index];
    stream_result *result = &all->results[index];
    if (result->raw_says[0] == '\0') {
        int is_victim = all->victim != NULL && strcmp(all->victim, item->model->name) == 0;
        run_stream(item->model, item->xnnpack, all->runs, is_victim ? all->plant : STREAM_NOTHING, result);
    } else {
        run_refused(item->model, item->xnnpack, result);
    }
}

static void item_crashed(void *user_data, size_t index, int signal, int exit_code)
{
    conformance *all = user_data;
    stream_result *result = &all->results[index];
    describe_end(signal, exit_code, result->why, sizeof result->why);
    result->class = STREAM_MISMATCH;
    result->mismatches++;
}

/* --- reports --- */

static void print_table(const conformance *all)
{
    printf("%-50s %-8s %5s %8s %9s %7s %6s  %s\n", "TFLite model", "kernels", "runs", "differ", "changes", "direct", "copied",
           "");
    for (size_t i = 0; i < all->count; i++) {
        const stream_result *result = &all->results[i];
        printf("%-50s %-8s ", all->items[i].model->name, kernels_of(&all->items[i]));
        if (result->class == STREAM_REFUSED) {
            printf("cannot; the engine alone: %s\n    zerobind: %s\n", result->raw_says, result->why);
        } else {
            printf("%5u %8u %9u %7u %6u  %s\n", result->runs, result->mismatches, result->changes,
                   proofs_direct(&result->proofs), proofs_copied(&result->proofs), result->why);
        }
    }
}

static void add_up(const conformance *all, unsigned *runs, unsigned *mismatches)
{
    *runs = *mismatches = 0;
    for (size_t i = 0; i < all->count; i++) {
        *runs += all->results[i].runs;
        *mismatches += all->results[i].mismatches;
    }
}

/* Of those that come from packages as they are. */
static size_t real_count(const conformance *all)
{
    size_t count = 0;
    for (size_t i = 0; i < all->model_count; i++) {
        count += all->models[i].is_derived ? 0u : 1u;
    }
    return count;
}

static void write_json(const conformance *all)
{
    char path[2048];
    unsigned runs, mismatches;
    add_up(all, &runs, &mismatches);
    snprintf(path, sizeof path, "%s/tflite.json", all->folder);
    FILE *file = fopen(path, "w");
    REQUIRE(file != NULL);
    fprintf(file, "{\"models\": %zu, \"runs\": %u, \"mismatches\": %u}\n", real_count(all), runs, mismatches);
    REQUIRE(fclose(file) == 0);
}

static const char *complaint(const stream_result *result, const known_entry *known)
{
    if (result->class == STREAM_MISMATCH || !result->is_done) {
        return "differs from the bare engine";
    }
    if (result->class == STREAM_REFUSED) {
        if (known == NULL) {
            return "cannot be run and is not on the list";
        }
        /* zerobind's text has the engine's words */
        return strstr(result->why, known->how) != NULL ? NULL : "cannot be run for another reason than on the list";
    }
    return known == NULL ? NULL : "can be run now: take it off the list";
}

static size_t compare_with_known(conformance *all)
{
    size_t complaints = 0;
    for (size_t i = 0; i < all->count; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s:%s", all->items[i].model->name, kernels_of(&all->items[i]));
        const char *text = complaint(&all->results[i], known_find(&all->known, name));
        if (text != NULL) {
            complaints++;
            fprintf(stderr, "%s %s (%s)\n", name, text, all->results[i].why);
        }
    }
    if (all->only == NULL && real_count(all) != all->known.total) {
        fprintf(stderr, "%zu models; the list is for %zu\n", real_count(all), all->known.total);
        /* one of the packages has no wheel for some systems */
        complaints += getenv("CI") != NULL;
    }
    return complaints;
}

/* --- arguments --- */

static void parse(conformance *all, int argc, char **argv)
{
    static const char *const mistakes[] = {"nothing", "output", "input", "crash"};
    char **folder = NULL, **only = NULL, **kernels = NULL, **runs = NULL, **plant = NULL;
    const option options[] = {
        {"--to", 1, &folder}, {"--only", 1, &only}, {"--kernels", 1, &kernels}, {"--runs", 1, &runs}, {"--plant", 2, &plant}};
    parse_options(argc, argv, 3, options, sizeof options / sizeof *options);
    all->folder = folder == NULL ? NULL : folder[0];
    all->only = only == NULL ? NULL : only[0];
    all->kernels = kernels == NULL ? NULL : kernels[0];
    all->runs = runs == NULL ? RUNS : (unsigned)strtoul(runs[0], NULL, 10);
    if (plant != NULL) {
        all->plant = (stream_plant)parse_word(plant[0], mistakes, sizeof mistakes / sizeof *mistakes);
        all->victim = plant[1];
    }
}

/* A model by the beginning of its name, kernels by their name; all, where nothing is asked for. */
static void select_items(conformance *all)
{
    all->items = calloc(2 * all->model_count + 1, sizeof *all->items);
    REQUIRE(all->items != NULL);
    for (size_t i = 0; i < 2 * all->model_count; i++) {
        const item candidate = {&all->models[i / 2], i % 2 == 1};
        if ((all->only == NULL || strncmp(candidate.model->name, all->only, strlen(all->only)) == 0) &&
            (all->kernels == NULL || strcmp(kernels_of(&candidate), all->kernels) == 0)) {
            all->items[all->count++] = candidate;
        }
    }
    if (all->count == 0) {
        fprintf(stderr, "no such model, or no such kernels\n");
        exit(2);
    }
}

int main(int argc, char **argv)
{
    conformance all;
    memset(&all, 0, sizeof all);
    if (argc < 3) {
        fprintf(stderr, "usage: conformance_tflite DATA KNOWN [--runs N] [--to FOLDER] [--only NAME] "
                        "[--kernels plain|xnnpack] [--plant output|input|crash NAME]\n");
        return 2;
    }
    parse(&all, argc, argv);
    all.models = read_models(argv[1], &all.model_count);
    all.known = read_known(argv[2]);
    all.words = tmpfile();
    REQUIRE(all.words != NULL);
    select_items(&all);
    all.results = share(all.count * sizeof *all.results);
    const workers bare = {try_bare, bare_failed, &all, all.count, 1, PATIENCE_SECONDS};
    const workers beside = {try_item, item_crashed, &all, all.count, 1, PATIENCE_SECONDS};
    run_workers(&bare);
    run_workers(&beside);
    print_table(&all);
    if (all.folder != NULL) {
        write_json(&all);
    }
    fflush(stdout);
    size_t complaints = compare_with_known(&all);
    fclose(all.words);
    free(all.items);
    free(all.models);
    free(all.known.entries);
    return complaints == 0 ? 0 : 1;
}
