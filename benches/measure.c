#include "measure.h"

#include <math.h>
#include <stdarg.h>

#include "allocations.h"
#include "statistics.h"

enum { MOST_ROUNDS = 300 };

bench_settings bench = {100, 2e5, 0, NULL, 0};

int bench_read_settings(int argc, char **argv, const char *usage)
{
    int left = 0;
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            bench.rounds = 2;
            bench.block_ns = 5e4;
            bench.is_quick = 1;
        } else if (strncmp(argv[i], "--only=", 7) == 0) {
            bench.only = argv[i] + 7;
        } else if (strcmp(argv[i], "--allocations") == 0) {
            bench.counts_allocations = 1;
        } else if (strncmp(argv[i], "--", 2) == 0) {
            fprintf(stderr, "%s\n", usage);
            exit(EXIT_FAILURE);
        } else {
            argv[left++] = argv[i];
        }
    }
    return left;
}

int bench_wants(const char *id)
{
    return bench.only == NULL || strncmp(id, bench.only, strlen(bench.only)) == 0;
}

void bench_skip(const char *id, const char *engine, const char *reason)
{
    fprintf(stderr, "%-16s %-12s skipped: %s\n", id, engine, reason);
    printf("{\"skipped\": \"%s\", \"engine\": \"%s\", \"reason\": \"%s\"}\n", id, engine, reason);
    fflush(stdout);
}

/* ---- blocks ---- */

/* [side][round][first and second], ns for one run; the sides are those of the case, then those run again */
static double samples[2 * MOST_SIDES][MOST_ROUNDS][2];
/* of the case at hand: what was measured, of how many, in how many parts; how often a run does it */
static size_t rounds, wanted_rounds, parts, repeats;

/* The quicker block: what interrupts one only ever makes it slower. */
static double of_round(size_t side, size_t round)
{
    return fmin(samples[side][round][0], samples[side][round][1]);
}

static double time_block(const bench_side *side, size_t count)
{
    double start = bench_now_ns();
    side->run(side->state, count);
    return (bench_now_ns() - start) / (double)count;
}

/* Warms a side up, and finds out how many runs of it make a block: a slow side must not make the blocks of a quick one
   so short that it is measured with cold caches. */
static size_t runs_in_block(const bench_side *side)
{
    double took = time_block(side, 1), each = time_block(side, 1);
    size_t runs = 1;
    while (took < bench.block_ns / 10 && runs < 1000000) {
        runs *= 4;
        each = time_block(side, runs);
        took = each * (double)runs;
    }
    double fitting = bench.block_ns / each;
    return fitting < 1 ? 1 : (size_t)fitting;
}

/* As many rounds as were asked for, or three times as many where that takes no time. */
static size_t rounds_for(const bench_side *const *sides, size_t count, size_t most)
{
    double slowest = 0;
    for (size_t side = 0; side < count; side++) {
        double took = time_block(sides[side], 1);
        slowest = took > slowest ? took : slowest;
    }
    size_t wanted = slowest < bench.block_ns && !bench.is_quick ? 3 * bench.rounds : bench.rounds;
    wanted = (wanted + parts - 1) / parts * parts;
    return wanted < most ? wanted : most;
}

static void run_rounds(const bench_side *const *sides, size_t count)
{
    size_t runs[2 * MOST_SIDES];
    for (size_t side = 0; side < count; side++) {
        runs[side] = runs_in_block(sides[side]);
    }
    for (size_t end = rounds + wanted_rounds / parts; rounds < end; rounds++) {
        for (size_t half = 0; half < 2; half++) {
            for (size_t i = 0; i < count; i++) {
                size_t side = (rounds + (half == 0 ? i : count - 1 - i)) % count;
                samples[side][rounds][half] = time_block(sides[side], runs[side]);
            }
        }
    }
}

static double median_of_blocks(size_t side)
{
    double values[2 * MOST_ROUNDS];
    for (size_t round = 0; round < rounds; round++) {
        values[2 * round] = samples[side][round][0];
        values[2 * round + 1] = samples[side][round][1];
    }
    return statistics_median(values, 2 * rounds) / (double)repeats;
}

/* ---- figures ---- */

static void print_number(const char *name, double value, int is_known, const char *format)
{
    printf(", \"%s\": ", name);
    if (is_known) {
        printf(format, value);
    } else {
        printf("null");
    }
}

void bench_print(const char *id, const char *engine, const bench_figures *figures, const char *details)
{
    printf("{\"id\": \"%s\", \"engine\": \"%s\"", id, engine);
    print_number("raw_ns", figures->raw_ns, figures->raw_ns >= 0, "%.2f");
    print_number("zerobind_ns", figures->zerobind_ns, figures->zerobind_ns >= 0, "%.2f");
    print_number("ratio", figures->ratio, figures->ratio >= 0, "%.4f");
    print_number("delta_ns", figures->delta_ns, figures->raw_ns >= 0 && figures->zerobind_ns >= 0, "%.2f");
    print_number("noise", figures->noise, figures->noise >= 0, "%.4f");
    print_number("allocs_zerobind", figures->allocations, figures->allocations >= 0, "%.3f");
    print_number("bytes_copied", figures->bytes_copied, figures->bytes_copied >= 0, "%.0f");
    printf(", \"details\": {%s}}\n", details);
    fflush(stdout);
}

static size_t fastest(size_t count)
{
    size_t best = 0;
    for (size_t side = 1; side < count; side++) {
        best = median_of_blocks(side) < median_of_blocks(best) ? side : best;
    }
    return best;
}

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    int added = vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
    REQUIRE(added >= 0 && (size_t)added < size - used, "the details of a case are too long");
}

static void describe_sides(const bench_case *measured, char *details, size_t size)
{
    append(details, size, "\"blocks\": %zu, \"openings\": %zu, \"sides\": {", 2 * rounds, parts);
    for (size_t side = 0; side < measured->count; side++) {
        append(details, size, "%s\"%s\": %.2f", side > 0 ? ", " : "", measured->sides[side].name, median_of_blocks(side));
    }
    append(details, size, "}");
    if (measured->details != NULL) {
        append(details, size, "%s", measured->details);
    }
}

static void compare(const bench_case *measured, bench_figures *figures, char *details, size_t size)
{
    static double ratios[MOST_ROUNDS], deltas[MOST_ROUNDS], same[MOST_ROUNDS];
    size_t zerobind = measured->raw, raw = fastest(measured->raw), again = measured->count + raw;
    for (size_t round = 0; round < rounds; round++) {
        ratios[round] = of_round(zerobind, round) / of_round(raw, round);
        deltas[round] = of_round(zerobind, round) - of_round(raw, round);
        same[round] = of_round(again, round) / of_round(raw, round);
    }
    figures->raw_ns = median_of_blocks(raw);
    figures->ratio = statistics_median(ratios, rounds);
    figures->delta_ns = statistics_median(deltas, rounds);
    figures->noise = statistics_noise(same, rounds, parts);
    append(details, size, ", \"raw\": \"%s\", \"ratio_p10\": %.4f, \"ratio_p90\": %.4f, \"aa\": %.4f", measured->sides[raw].name,
           statistics_quantile(ratios, rounds, 0.1), statistics_quantile(ratios, rounds, 0.9),
           statistics_median(same, rounds));
}

/* What other sides take in the measure of zerobind. */
static void compare_others(const bench_case *measured, char *details, size_t size)
{
    static double ratios[MOST_ROUNDS];
    for (size_t side = measured->raw + 1; side < measured->count; side++) {
        for (size_t round = 0; round < rounds; round++) {
            ratios[round] = of_round(side, round) / of_round(measured->raw, round);
        }
        append(details, size, "%s\"%s\": %.4f", side == measured->raw + 1 ? ", \"over_zerobind\": {" : ", ",
               measured->sides[side].name, statistics_median(ratios, rounds));
    }
    if (measured->raw + 1 < measured->count) {
        append(details, size, "}");
    }
}

static void print_figures(const bench_case *measured)
{
    char details[2048] = "";
    bench_figures figures = {-1, -1, -1, -1, -1, -1, -1};
    describe_sides(measured, details, sizeof details);
    figures.zerobind_ns = median_of_blocks(measured->raw);
    if (measured->copies_are_known) {
        figures.bytes_copied = (double)measured->bytes_copied;
    }
    if (measured->raw > 0) {
        compare(measured, &figures, details, sizeof details);
        compare_others(measured, details, sizeof details);
        fprintf(stderr, "%-16s %-12s raw %12.1f ns  zerobind %12.1f ns  ratio %.3f  delta %+9.1f ns  noise %.3f\n", measured->id,
                measured->engine, figures.raw_ns, figures.zerobind_ns, figures.ratio, figures.delta_ns, figures.noise);
    } else {
        fprintf(stderr, "%-16s %-12s zerobind %12.1f ns\n", measured->id, measured->engine, figures.zerobind_ns);
    }
    bench_print(measured->id, measured->engine, &figures, details);
}

static void measure_time(const bench_case *measured, size_t part)
{
    const bench_side *sides[2 * MOST_SIDES];
    size_t count = measured->count;
    for (size_t side = 0; side < count; side++) {
        sides[side] = &measured->sides[side];
    }
    for (size_t side = 0; side < measured->raw; side++) {
        sides[count++] = &measured->again[side];
    }
    if (part == 0) {
        rounds = 0;
        wanted_rounds = rounds_for(sides, count, MOST_ROUNDS);
    }
    run_rounds(sides, count);
    if (part + 1 == parts) {
        print_figures(measured);
    }
}

/* ---- allocations ---- */

static allocation_counts count_in(const bench_side *side, size_t runs)
{
    side->run(side->state, runs);
    allocations_start();
    side->run(side->state, runs);
    return allocations_stop();
}

/* Enough to see one allocation in some runs, and no more than takes a moment. */
static size_t runs_to_count(const bench_side *side)
{
    double took = time_block(side, 1);
    return took > 1e6 ? 2 : 64;
}

static void count_allocations(const bench_case *measured)
{
    const bench_side *zerobind = &measured->sides[measured->raw];
    size_t runs = runs_to_count(zerobind);
    allocation_counts counts = count_in(zerobind, runs);
    double times = (double)(runs * repeats), own = (double)counts.zerobind / times, all = (double)counts.all / times;
    printf("{\"id\": \"%s\", \"engine\": \"%s\", \"allocs_zerobind\": %.3f, \"allocs_run\": {\"%s\": %.3f", measured->id,
           measured->engine, own, zerobind->name, all);
    for (size_t side = 0; side < measured->raw; side++) {
        counts = count_in(&measured->sides[side], runs);
        printf(", \"%s\": %.3f", measured->sides[side].name, (double)counts.all / (double)runs);
    }
    printf("}}\n");
    fprintf(stderr, "%-16s %-12s allocations of a run: %.3f at zerobind's own sites, %.3f in all\n", measured->id,
            measured->engine, own, all);
    fflush(stdout);
}

void bench_measure_part(const bench_case *measured, size_t part, size_t of)
{
    parts = of;
    repeats = measured->repeats > 0 ? measured->repeats : 1;
    if (!bench.counts_allocations) {
        measure_time(measured, part);
    } else if (part == 0) {
        count_allocations(measured);
    }
}

void bench_measure(const bench_case *measured)
{
    bench_measure_part(measured, 0, 1);
}
