/*
 * What a queue costs. Four floats are added, so that nearly all of the time is not the engine's.
 *
 *     bench_queue MODELS [ROUNDS [ENGINE WHAT]]      MODELS has add4.onnx and add4.tflite
 *
 * direct           zb_infer on this thread
 * condvar          a bare hand-off: two threads, a mutex, a condition variable; there and back, and nothing in between
 * condvar+infer    the same, where the other thread calls zb_infer
 * round trip       zb_queue_infer, zb_event_wait, zb_event_destroy
 * burst 64, 1024   many zb_queue_infer one after the other, capacity 64 or 1024; when the queue is full, this thread waits
 *
 * They are run in blocks, A B C C B A, ROUNDS times (25 unless told otherwise: 50 blocks of each). Of each the median of all
 * blocks is told; ratios are made within a round, of which the median is told again. A/A is the first block of a round over
 * the second of the same kind: what differs from 1 there is noise. switches: how often threads of this process went to
 * sleep for one operation; cpu: processor time of all of them.
 *
 * A table for readers, then a JSON line for each row. With ENGINE (onnx or tflite) and WHAT (a name from above), only
 * that is run, for a profiler to look at.
 */
#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <zerobind.h>

enum { SIDES = 6, BURST = 100000, TRIPS = 1000, MAX_ROUNDS = 1000 };

static void require(int holds, const char *what)
{
    char text[1024];
    if (!holds) {
        zb_last_error(text, sizeof text, NULL);
        fprintf(stderr, "%s: %s\n", what, text);
        exit(EXIT_FAILURE);
    }
}

static void check(zb_status status, const char *what)
{
    require(status == ZB_OK, what);
}

/* ---- the bare hand-off ---- */

/* A thread that does one thing each time it is asked. */
struct partner {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t asked, answered;
    int has_question, is_over;
    zb_context *context; /* NULL: it only answers */
};

static void *answer_all(void *argument)
{
    struct partner *partner = argument;
    pthread_mutex_lock(&partner->lock);
    for (;;) {
        while (!partner->has_question && !partner->is_over) {
            pthread_cond_wait(&partner->asked, &partner->lock);
        }
        if (partner->is_over) {
            break;
        }
        zb_context *context = partner->context;
        pthread_mutex_unlock(&partner->lock);
        if (context != NULL) {
            check(zb_infer(context, NULL), "infer");
        }
        pthread_mutex_lock(&partner->lock);
        partner->has_question = 0;
        pthread_cond_signal(&partner->answered);
    }
    pthread_mutex_unlock(&partner->lock);
    return NULL;
}

static void partner_start(struct partner *partner)
{
    memset(partner, 0, sizeof *partner);
    pthread_mutex_init(&partner->lock, NULL);
    pthread_cond_init(&partner->asked, NULL);
    pthread_cond_init(&partner->answered, NULL);
    require(pthread_create(&partner->thread, NULL, answer_all, partner) == 0, "start a thread");
}

static void partner_end(struct partner *partner)
{
    pthread_mutex_lock(&partner->lock);
    partner->is_over = 1;
    pthread_cond_signal(&partner->asked);
    pthread_mutex_unlock(&partner->lock);
    pthread_join(partner->thread, NULL);
}

static void ask(struct partner *partner, zb_context *context)
{
    pthread_mutex_lock(&partner->lock);
    partner->context = context;
    partner->has_question = 1;
    pthread_cond_signal(&partner->asked);
    while (partner->has_question) {
        pthread_cond_wait(&partner->answered, &partner->lock);
    }
    pthread_mutex_unlock(&partner->lock);
}

/* ---- what is measured ---- */

struct bench {
    zb_context *context;
    zb_queue *small, *large;
    struct partner partner;
    size_t refused; /* QUEUE_FULL, in bursts */
};

static void direct(struct bench *bench, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        check(zb_infer(bench->context, NULL), "infer");
    }
}

static void condvar(struct bench *bench, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ask(&bench->partner, NULL);
    }
}

static void condvar_infer(struct bench *bench, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ask(&bench->partner, bench->context);
    }
}

static void wait_and_destroy(zb_event *event)
{
    zb_status result;
    check(zb_event_wait(event, UINT64_MAX, &result), "wait");
    check(result, "run on the queue");
    zb_event_destroy(event);
}

static void round_trip(struct bench *bench, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        zb_event *event;
        check(zb_queue_infer(bench->small, bench->context, NULL, &event), "infer on the queue");
        wait_and_destroy(event);
    }
}

/* Marks every `stride`th operation with an event, as a host would do that wants to know how far the queue is. */
static void burst(struct bench *bench, zb_queue *queue, size_t stride, size_t count)
{
    enum { MARKS = 8 };
    zb_event *marks[MARKS];
    size_t put = 0, taken = 0;
    for (size_t i = 0; i < count; i++) {
        int is_marked = i % stride == 0;
        if (is_marked && put - taken == MARKS) {
            wait_and_destroy(marks[taken++ % MARKS]);
        }
        zb_status status;
        while ((status = zb_queue_infer(queue, bench->context, NULL, is_marked ? &marks[put % MARKS] : NULL)) ==
               ZB_ERROR_QUEUE_FULL) {
            bench->refused++;
            require(taken < put, "a full queue has a mark");
            wait_and_destroy(marks[taken++ % MARKS]);
        }
        check(status, "infer on the queue");
        put += (size_t)is_marked;
    }
    while (taken < put) {
        wait_and_destroy(marks[taken++ % MARKS]);
    }
    check(zb_queue_finish(queue, UINT64_MAX), "finish");
}

static void burst_small(struct bench *bench, size_t count)
{
    burst(bench, bench->small, 16, count);
}

static void burst_large(struct bench *bench, size_t count)
{
    burst(bench, bench->large, 256, count);
}

enum { DIRECT, CONDVAR, CONDVAR_INFER, ROUND_TRIP, BURST_SMALL, BURST_LARGE };

static const struct side {
    const char *name;
    void (*run)(struct bench *bench, size_t count);
    size_t count; /* in a block */
} SIDE[SIDES] = {
    {"direct", direct, BURST},           {"condvar", condvar, TRIPS},        {"condvar+infer", condvar_infer, TRIPS},
    {"round trip", round_trip, TRIPS},   {"burst 64", burst_small, BURST},   {"burst 1024", burst_large, BURST},
};

/* ---- blocks ---- */

/* Of one operation, in one block. */
struct sample {
    double ns, cpu_ns, switches;
};

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double ns_of(struct timeval time)
{
    return (double)time.tv_sec * 1e9 + (double)time.tv_usec * 1e3;
}

static double cpu_ns(const struct rusage *usage)
{
    return ns_of(usage->ru_utime) + ns_of(usage->ru_stime);
}

static struct sample run_block(struct bench *bench, const struct side *side)
{
    struct rusage before, after;
    double count = (double)side->count;
    getrusage(RUSAGE_SELF, &before);
    double start = now_ns();
    side->run(bench, side->count);
    double end = now_ns();
    getrusage(RUSAGE_SELF, &after);
    struct sample sample;
    sample.ns = (end - start) / count;
    sample.cpu_ns = (cpu_ns(&after) - cpu_ns(&before)) / count;
    sample.switches = (double)(after.ru_nvcsw - before.ru_nvcsw) / count;
    return sample;
}

/* [side][round][first and second] */
static struct sample samples[SIDES][MAX_ROUNDS][2];

static void run_rounds(struct bench *bench, size_t rounds)
{
    for (int side = 0; side < SIDES; side++) {
        SIDE[side].run(bench, SIDE[side].count / 10); /* warm-up */
    }
    for (size_t round = 0; round < rounds; round++) {
        for (int side = 0; side < SIDES; side++) {
            samples[side][round][0] = run_block(bench, &SIDE[side]);
        }
        for (int side = SIDES - 1; side >= 0; side--) {
            samples[side][round][1] = run_block(bench, &SIDE[side]);
        }
    }
}

/* ---- figures ---- */

struct spread {
    double p10, median, p90;
};

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static struct spread spread_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    struct spread spread = {values[count / 10], values[count / 2], values[count - 1 - count / 10]};
    return spread;
}

static double of_round(int side, size_t round)
{
    return (samples[side][round][0].ns + samples[side][round][1].ns) / 2;
}

/* What a side is over what it should be close to, within each round. */
static struct spread ratio_of(int side, size_t rounds)
{
    double values[MAX_ROUNDS];
    for (size_t round = 0; round < rounds; round++) {
        double value = of_round(side, round), base = of_round(DIRECT, round);
        int is_hand_off = side == ROUND_TRIP || side == CONDVAR_INFER;
        values[round] = is_hand_off ? (value - base) / of_round(CONDVAR, round) : value / base;
    }
    return spread_of(values, rounds);
}

static const char *ratio_name(int side)
{
    return side == ROUND_TRIP || side == CONDVAR_INFER ? "(it - direct) / condvar" : "it / direct";
}

static double goal_of(int side)
{
    return side == ROUND_TRIP ? 1.3 : side == BURST_SMALL || side == BURST_LARGE ? 1.15 : 0;
}

static void machine_name(char *name, size_t size)
{
    struct utsname system;
    char line[256], cpu[200] = "";
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && cpu[0] == '\0' && fgets(line, sizeof line, file) != NULL) {
        sscanf(line, "model name : %199[^\n\"\\]", cpu);
    }
    if (file != NULL) {
        fclose(file);
    }
    uname(&system);
    double load[3] = {0, 0, 0};
    getloadavg(load, 3);
    snprintf(name, size, "%s, %ld cores, %s %s, load %.1f", cpu[0] != '\0' ? cpu : system.machine,
             sysconf(_SC_NPROCESSORS_ONLN), system.sysname, system.release, load[0]);
}

static void tell(const char *engine, size_t rounds, const char *command, int as_json)
{
    char machine[512];
    machine_name(machine, sizeof machine);
    for (int side = 0; side < SIDES; side++) {
        double ns[2 * MAX_ROUNDS], cpu[2 * MAX_ROUNDS], switches[2 * MAX_ROUNDS], same[MAX_ROUNDS];
        for (size_t round = 0; round < rounds; round++) {
            for (size_t half = 0; half < 2; half++) {
                const struct sample *sample = &samples[side][round][half];
                ns[2 * round + half] = sample->ns;
                cpu[2 * round + half] = sample->cpu_ns;
                switches[2 * round + half] = sample->switches;
            }
            same[round] = samples[side][round][0].ns / samples[side][round][1].ns;
        }
        struct spread time = spread_of(ns, 2 * rounds), aa = spread_of(same, rounds), ratio = ratio_of(side, rounds);
        double cpu_ns = spread_of(cpu, 2 * rounds).median, sleeps = spread_of(switches, 2 * rounds).median;
        if (as_json) {
            printf("{\"bench\": \"queue\", \"engine\": \"%s\", \"what\": \"%s\", \"ns\": %.1f, \"ns_p10\": %.1f, "
                   "\"ns_p90\": %.1f, \"cpu_ns\": %.1f, \"switches\": %.4f, \"aa\": %.3f, \"aa_p10\": %.3f, \"aa_p90\": %.3f, "
                   "\"ratio_of\": \"%s\", \"ratio\": %.3f, \"ratio_p10\": %.3f, \"ratio_p90\": %.3f, \"goal\": %.2f, "
                   "\"blocks\": %zu, \"per_block\": %zu, \"machine\": \"%s\", \"version\": \"%s\", \"command\": \"%s\"}\n",
                   engine, SIDE[side].name, time.median, time.p10, time.p90, cpu_ns, sleeps, aa.median, aa.p10, aa.p90,
                   ratio_name(side), ratio.median, ratio.p10, ratio.p90, goal_of(side), 2 * rounds, SIDE[side].count,
                   machine, zb_version_string(), command);
            continue;
        }
        printf("%-14s %9.0f %9.0f %9.0f %9.0f %8.3f   %.2f (%.2f-%.2f)", SIDE[side].name, time.median, time.p10, time.p90,
               cpu_ns, sleeps, aa.median, aa.p10, aa.p90);
        if (side == DIRECT || side == CONDVAR) {
            printf("\n");
            continue;
        }
        printf("   %.2f (%.2f-%.2f) = %s", ratio.median, ratio.p10, ratio.p90, ratio_name(side));
        if (goal_of(side) > 0) {
            printf(", goal %.2f", goal_of(side));
        }
        printf("\n");
    }
}

/* ---- one engine ---- */

static void bind_new(zb_context *context, zb_slot slot)
{
    zb_tensor *tensor;
    check(zb_tensor_alloc_for(context, slot, &tensor), "allocate");
    check(zb_tensor_bind(tensor, context, slot), "bind");
    zb_tensor_destroy(tensor);
}

static zb_queue *queue_of(uint32_t capacity)
{
    zb_queue *queue;
    zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
    options.capacity = capacity;
    check(zb_queue_create(&options, &queue), "make a queue");
    return queue;
}

/* Nothing but one side, over and over. */
static void run_only(struct bench *bench, const char *what, size_t rounds)
{
    int is_known = 0;
    for (int side = 0; side < SIDES; side++) {
        if (strcmp(SIDE[side].name, what) == 0) {
            is_known = 1;
            for (size_t round = 0; round < rounds; round++) {
                printf("%s: %.0f ns\n", what, run_block(bench, &SIDE[side]).ns);
            }
        }
    }
    require(is_known, "no such thing is measured");
}

static void run_and_tell(struct bench *bench, const char *engine, size_t rounds, const char *command)
{
    run_rounds(bench, rounds);
    printf("\nadd4.%s: ns for one operation, medians of %zu blocks; a burst found the queue full %.3f times an operation\n",
           engine, 2 * rounds, (double)bench->refused / (4.0 * (double)rounds * BURST));
    printf("%-14s %9s %9s %9s %9s %8s   %s\n", "", "median", "p10", "p90", "cpu", "switches", 
           "A/A (p10-p90)     ratio (p10-p90)");
    tell(engine, rounds, command, 0);
    tell(engine, rounds, command, 1);
}

static void measure(const char *models, const char *engine, size_t rounds, const char *command, const char *only)
{
    char path[1024];
    zb_model *model;
    struct bench bench;
    memset(&bench, 0, sizeof bench);
    snprintf(path, sizeof path, "%s/add4.%s", models, engine);
    check(zb_model_open(path, NULL, &model), path);
    check(zb_context_create(model, NULL, &bench.context), "make a context");
    bind_new(bench.context, ZB_INPUT(0));
    bind_new(bench.context, ZB_INPUT(1));
    bind_new(bench.context, ZB_OUTPUT(0));
    bench.small = queue_of(64);
    bench.large = queue_of(1024);
    partner_start(&bench.partner);

    if (only != NULL) {
        run_only(&bench, only, rounds);
    } else {
        run_and_tell(&bench, engine, rounds, command);
    }
    partner_end(&bench.partner);
    zb_queue_destroy(bench.small);
    zb_queue_destroy(bench.large);
    zb_context_destroy(bench.context);
    zb_model_destroy(model);
}

int main(int argc, char **argv)
{
    long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 25;
    if (argc < 2 || argc == 4 || argc > 5 || rounds < 1 || rounds > MAX_ROUNDS) {
        fputs("usage: bench_queue MODELS [ROUNDS [ENGINE WHAT]]\n", stderr);
        return EXIT_FAILURE;
    }
    static const char *const engines[] = {"onnx", "tflite"};
    char command[64];
    snprintf(command, sizeof command, "bench_queue MODELS %ld", rounds);
    for (int i = 0; i < 2; i++) {
        if (argc < 5 || strcmp(argv[3], engines[i]) == 0) {
            measure(argv[1], engines[i], (size_t)rounds, command, argc == 5 ? argv[4] : NULL);
        }
    }
}
