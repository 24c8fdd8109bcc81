/*
 * The node tests of the ONNX standard through zerobind:
 *
 *     conformance_onnx CASES KNOWN [--to FOLDER] [--plant WHAT WAY CASE] [--only NAME] [--patience SECONDS]
 *
 * CASES is the folder that the set-up prepares, KNOWN the committed list of what does not pass. Every case is run by the
 * engine alone, and by zerobind bound, lent at addresses that move, and on a queue. The program fails on a wrong case, on
 * one that does not pass and is not on the list, and on one that the list calls unsupported and that passes. --to writes onnx.json and
 * onnx.txt (every case) into a folder, --plant makes a mistake that has to be found.
 */
#include "arguments.h"
#include "known.h"
#include "verdict.h"
#include "workers.h"

enum { BATCH = 100, PATIENCE_SECONDS = 60 };

typedef struct conformance {
    reference_case *cases;
    verdict *verdicts;
    size_t count;
    known_list known;
    control control;
    const char *folder, *only;
    unsigned patience;
} conformance;

static void run_item(void *user_data, size_t item)
{
    conformance *all = user_data;
    try_case(&all->cases[item], all->control.name == NULL ? NULL : &all->control, &all->verdicts[item]);
}

static void item_crashed(void *user_data, size_t item, int signal, int exit_code)
{
    conformance *all = user_data;
    judge_crash(&all->verdicts[item], signal, exit_code);
}

/* --- what is reported --- */

typedef struct totals {
    size_t classes[CLASS_COUNT], copied;
    /* the engine differs from the reference, and zerobind gave its bytes */
    size_t as_engine;
    tally tally;
} totals;

static void add_tally(tally *sum, const tally *one)
{
    for (int way = 0; way < WAY_COUNT; way++) {
        sum->runs[way] += one->runs[way];
    }
    add_proofs(&sum->proofs, &one->proofs);
    sum->compared_bits += one->compared_bits;
}

static totals add_up(const conformance *all)
{
    totals sum;
    memset(&sum, 0, sizeof sum);
    for (size_t i = 0; i < all->count; i++) {
        const verdict *verdict = &all->verdicts[i];
        sum.classes[verdict->class]++;
        if (verdict->class == CLASS_PASS) {
            sum.copied += (size_t)verdict->copied;
            add_tally(&sum.tally, &verdict->tally);
        } else if (verdict->class == CLASS_ENGINE_CANNOT) {
            sum.as_engine += verdict->tally.compared_bits > 0 ? 1u : 0u;
        }
    }
    return sum;
}

/* Lines "engine_cannot no-session 12" of each way in which cases of a class do not pass. */
static void print_kinds(const conformance *all, verdict_class class)
{
    for (size_t i = 0; i < all->count; i++) {
        const verdict *verdict = &all->verdicts[i];
        size_t same = 0, before = 0;
        if (verdict->class != class) {
            continue;
        }
        for (size_t j = 0; j < all->count; j++) {
            int is_same = all->verdicts[j].class == class && strcmp(all->verdicts[j].how, verdict->how) == 0;
            same += (size_t)is_same;
            before += (size_t)(is_same && j < i);
        }
        if (before == 0) {
            printf("    %-30s %6zu\n", verdict->how, same);
        }
    }
}

static void print_table(const conformance *all)
{
    totals sum = add_up(all);
    const tally *tally = &sum.tally;
    printf("ONNX node tests                    cases\n");
    for (int class = 0; class < CLASS_COUNT; class++) {
        printf("  %-32s %6zu\n", class_name((verdict_class)class), sum.classes[class]);
        print_kinds(all, (verdict_class)class);
    }
    printf("  %-32s %6zu\n\n", "total", all->count);
    printf("Passing cases: %u runs bound, %u lent at moving addresses, %u on a queue\n", tally->runs[WAY_BOUND],
           tally->runs[WAY_LENT], tally->runs[WAY_QUEUE]);
    printf("  slots in place, proved           %8u\n", tally->proofs.direct);
    printf("  slots without elements           %8u\n", tally->proofs.empty);
    printf("  outputs copied: constants        %8u\n", tally->proofs.constant);
    printf("  outputs copied: inputs passed on %8u\n", tally->proofs.pass_through);
    printf("  outputs copied: listed twice     %8u\n", tally->proofs.duplicate);
    printf("  outputs copied: size of the run  %8u\n", tally->proofs.dynamic);
    printf("  cases in which the engine differs from the reference, and zerobind gives the engine's bytes: %zu\n", sum.as_engine);
    printf("  outputs of all runs that have the bytes of the engine alone on the same memory: %u\n", tally->compared_bits);
}

static FILE *open_report(const conformance *all, const char *name)
{
    char path[2048];
    snprintf(path, sizeof path, "%s/%s", all->folder, name);
    FILE *file = fopen(path, "w");
    REQUIRE(file != NULL);
    return file;
}

static void write_reports(const conformance *all)
{
    totals sum = add_up(all);
    FILE *json = open_report(all, "onnx.json"), *text = open_report(all, "onnx.txt");
    fprintf(json, "{\"total\": %zu", all->count);
    for (int class = 0; class < CLASS_COUNT; class++) {
        fprintf(json, ", \"%s\": %zu", class_name((verdict_class)class), sum.classes[class]);
    }
    fprintf(json, "}\n");
    for (size_t i = 0; i < all->count; i++) {
        const verdict *verdict = &all->verdicts[i];
        fprintf(text, "%s %s %s", class_name(verdict->class), all->cases[i].name, verdict->how);
        fprintf(text, verdict->why[0] == '\0' ? "\n" : " # %s\n", verdict->why);
    }
    REQUIRE(fclose(json) == 0 && fclose(text) == 0);
}

/* --- against the list --- */

/* Why the run fails because of this case; NULL if it does not. */
static const char *complaint(const verdict *verdict, const known_entry *known)
{
    if (verdict->class == CLASS_WRONG) {
        return "is wrong";
    }
    int on_list_as_unsupported = known != NULL && strcmp(known->class, class_name(CLASS_UNSUPPORTED)) == 0;
    if (verdict->class == CLASS_PASS) {
        /* what the engine can do may depend on the processor */
        return on_list_as_unsupported ? "passes now: take it off the list" : NULL;
    }
    if (known == NULL) {
        return "does not pass and is not on the list, which may only shrink";
    }
    int is_same = strcmp(known->class, class_name(verdict->class)) == 0;
    if (verdict->class == CLASS_UNSUPPORTED) {
        is_same = is_same ? strcmp(known->how, verdict->how) == 0 : strcmp(known->class, "either") == 0;
    }
    return is_same || strcmp(known->class, "either") == 0 ? NULL : "does not pass for another reason than on the list";
}

static size_t compare_with_known(conformance *all)
{
    size_t complaints = 0;
    for (size_t i = 0; i < all->count; i++) {
        const verdict *verdict = &all->verdicts[i];
        const char *text = complaint(verdict, known_find(&all->known, all->cases[i].name));
        if (text != NULL) {
            complaints++;
            fprintf(stderr, "%s %s: %s (%s: %s)\n", class_name(verdict->class), all->cases[i].name, text, verdict->how,
                    verdict->why);
        }
    }
    if (all->only != NULL) {
        return complaints;
    }
    for (size_t i = 0; i < all->known.count; i++) {
        if (!all->known.entries[i].is_found) {
            complaints++;
            fprintf(stderr, "%s is on the list, and there is no such case\n", all->known.entries[i].name);
        }
    }
    if (all->count != all->known.total) {
        complaints++;
        fprintf(stderr, "%zu cases; the list is for %zu\n", all->count, all->known.total);
    }
    return complaints;
}

/* --- arguments --- */

static void parse(conformance *all, int argc, char **argv)
{
    static const char *const mistakes[] = {"nothing", "output", "reference", "data", "guard", "input",
                                           "copy",    "crash",  "hang",      "leak"};
    const char *ways[WAY_COUNT];
    char **folder = NULL, **only = NULL, **patience = NULL, **plant = NULL;
    const option options[] = {
        {"--to", 1, &folder}, {"--only", 1, &only}, {"--patience", 1, &patience}, {"--plant", 3, &plant}};
    parse_options(argc, argv, 3, options, sizeof options / sizeof *options);
    all->folder = folder == NULL ? NULL : folder[0];
    all->only = only == NULL ? NULL : only[0];
    all->patience = patience == NULL ? PATIENCE_SECONDS : (unsigned)strtoul(patience[0], NULL, 10);
    for (int way = 0; way < WAY_COUNT; way++) {
        ways[way] = way_name((enum way)way);
    }
    if (plant != NULL) {
        all->control.planted = (planted)parse_word(plant[0], mistakes, sizeof mistakes / sizeof *mistakes);
        all->control.way = (way)parse_word(plant[1], ways, WAY_COUNT);
        all->control.name = plant[2];
    }
}

/* Keeps the cases whose name begins as asked for. */
static void select_cases(conformance *all)
{
    size_t kept = 0;
    for (size_t i = 0; i < all->count && all->only != NULL; i++) {
        if (strncmp(all->cases[i].name, all->only, strlen(all->only)) == 0) {
            all->cases[kept++] = all->cases[i];
        }
    }
    all->count = all->only == NULL ? all->count : kept;
    if (all->count == 0) {
        fprintf(stderr, "no such case\n");
        exit(2);
    }
}

int main(int argc, char **argv)
{
    conformance all;
    memset(&all, 0, sizeof all);
    if (argc < 3) {
        fprintf(stderr, "usage: conformance_onnx CASES KNOWN [--to FOLDER] [--plant WHAT WAY CASE] [--only NAME] "
                        "[--patience SECONDS]\n");
        return 2;
    }
    parse(&all, argc, argv);
    all.cases = read_cases(argv[1], &all.count);
    all.known = read_known(argv[2]);
    select_cases(&all);
    all.verdicts = share((all.count + 1) * sizeof *all.verdicts);
    workers workers = {run_item, item_crashed, &all, all.count, BATCH, all.patience};
    run_workers(&workers);
    print_table(&all);
    if (all.folder != NULL) {
        write_reports(&all);
    }
    fflush(stdout);
    size_t complaints = compare_with_known(&all);
    free(all.cases);
    free(all.known.entries);
    return complaints == 0 ? 0 : 1;
}
