/*
 * Threads on the real engines: many calls at once, each right or refused. test_busy decides the order of steps; here chance
 * does, often enough to meet most orders. test_threads_mock is the same on the mock engine.
 */
#include "harness.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#define COUNT 256u
#define BYTES (COUNT * sizeof(float))

#ifndef WITH_MOCK
/* y = x + 40 */
#define CHAIN_ADDS 40.0f
#define LONG_RUN_COUNT 4194304

static zb_model *open_model(const char *name)
{
    return zt_open(name);
}
#endif

/* Numbers that threads share: the compilers' own atomics, since C99 has none. */
static int load(int *place)
{
    return __atomic_load_n(place, __ATOMIC_ACQUIRE);
}

static void store(int *place, int value)
{
    __atomic_store_n(place, value, __ATOMIC_RELEASE);
}

static int add(int *place, int value)
{
    return __atomic_add_fetch(place, value, __ATOMIC_ACQ_REL);
}

static void start(pthread_t *thread, void *(*body)(void *), void *argument)
{
    REQUIRE(pthread_create(thread, NULL, body, argument) == 0);
}

static void join(pthread_t thread)
{
    REQUIRE(pthread_join(thread, NULL) == 0);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* All the same value? A torn result has two. */
static int is_all(const float *values, size_t count, float wanted)
{
    for (size_t i = 0; i < count; i++) {
        if (values[i] != wanted) {
            return 0;
        }
    }
    return 1;
}

static void fill(const zt_buffer *buffer, float value)
{
    zt_fill_floats(buffer, value, 0);
}

/* --- the first use of the engine, by two threads at once --- */

typedef struct first_use {
    int *ready;
    float result;
} first_use;

static void *use_first(void *argument)
{
    first_use *use = argument;
    zt_buffer x = zt_buffer_new(BYTES), z = zt_buffer_new(BYTES);
    zb_loan loans[3];
    fill(&x, 21);
    loans[0] = zt_lend_input(0, &x);
    loans[1] = zt_lend_input(1, &x);
    loans[2] = zt_lend_output(0, &z);
    add(use->ready, 1);
    while (load(use->ready) < 2) {
        sched_yield();
    }
    zb_model *model = open_model("add256");
    zb_context *context = zt_context(model);
    REQUIRE_OK(zb_infer_with(context, loans, 3, NULL));
    use->result = zt_floats(&z)[COUNT - 1];
    zb_context_destroy(context);
    zb_model_destroy(model);
    FREE_BUFFER(&x);
    FREE_BUFFER(&z);
    return NULL;
}

/* Has to stay the first test of this program. */
static void two_threads_load_the_engine(void)
{
    int ready = 0;
    pthread_t threads[2];
    first_use uses[2] = {{&ready, 0}, {&ready, 0}};
    for (int i = 0; i < 2; i++) {
        start(&threads[i], use_first, &uses[i]);
    }
    for (int i = 0; i < 2; i++) {
        join(threads[i]);
        CHECK(uses[i].result == 42);
    }
}

/* --- one context, two threads --- */

typedef struct one_context {
    zb_context *context;
    int *stop;
    int base;
    int runs;
    int done;
    int busy;
} one_context;

static void count_status(one_context *part, zb_status status)
{
    if (status == ZB_OK) {
        part->done++;
    } else {
        CHECK_STATUS(status, ZB_ERROR_BUSY);
        part->busy++;
        sched_yield();
    }
}

/* Lends its own memory, so whoever got ZB_OK must find its own sums there. */
static void *lend_and_check(void *argument)
{
    one_context *part = argument;
    zt_buffer x = zt_buffer_new(BYTES), y = zt_buffer_new(BYTES), z = zt_buffer_new(BYTES);
    zb_loan loans[3];
    loans[0] = zt_lend_input(0, &x);
    loans[1] = zt_lend_input(1, &y);
    loans[2] = zt_lend_output(0, &z);
    fill(&y, 1);
    while (part->done < part->runs) {
        float value = (float)(part->base + part->done);
        fill(&x, value);
        fill(&z, -1);
        zb_status status = zb_infer_with(part->context, loans, 3, NULL);
        count_status(part, status);
        CHECK(is_all(zt_floats(&z), COUNT, status == ZB_OK ? value + 1 : -1));
    }
    FREE_BUFFER(&x);
    FREE_BUFFER(&y);
    FREE_BUFFER(&z);
    return NULL;
}

static void two_threads_on_one_context(void)
{
    int rounds = zt_rounds(20000, 500);
    pthread_t threads[2];
    zb_model *model = open_model("add256");
    zb_context *context = zt_context(model);
    one_context parts[2] = {{context, NULL, 0, 0, 0, 0}, {context, NULL, 1000000, 0, 0, 0}};
    for (int i = 0; i < 2; i++) {
        parts[i].runs = rounds;
        start(&threads[i], lend_and_check, &parts[i]);
    }
    for (int i = 0; i < 2; i++) {
        join(threads[i]);
    }
    zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
    REQUIRE_OK(zb_context_get_stats(context, &stats));
    CHECK_EQ(stats.runs, 2 * rounds);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

/* Everything that is short: of two such calls one waits for the other, and only a run makes them BUSY. */
static void *ask_and_bind(void *argument)
{
    one_context *part = argument;
    zb_tensor_desc desc = F32(COUNT);
    zt_buffer x = zt_buffer_new(BYTES);
    zb_tensor *tensor = zt_wrap(&desc, &x);
    fill(&x, 3);
    while (!load(part->stop)) {
        zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
        zb_binding_report report = ZB_BINDING_REPORT_INIT;
        zb_slot_info info = ZB_SLOT_INFO_INIT;
        count_status(part, zb_context_get_stats(part->context, &stats));
        count_status(part, zb_tensor_bind(tensor, part->context, ZB_INPUT(0)));
        count_status(part, zb_context_get_binding_report(part->context, ZB_INPUT(0), &report));
        count_status(part, zb_context_get_slot_info(part->context, ZB_OUTPUT(0), &info));
        CHECK(report.bytes_copied == 0);
    }
    zb_tensor_destroy(tensor);
    /* the binding may hold the buffer still */
    while (zb_context_unbind(part->context, ZB_INPUT(0)) == ZB_ERROR_BUSY) {
    }
    FREE_BUFFER(&x);
    return NULL;
}

static void runs_and_short_calls_on_one_context(void)
{
    int stop = 0, rounds = zt_rounds(20000, 300);
    pthread_t threads[2];
    zb_model *model = open_model("add256");
    zb_context *context = zt_context(model);
    one_context runs = {context, NULL, 0, 0, 0, 0}, asks = {context, &stop, 0, 0, 0, 0};
    runs.runs = rounds;
    start(&threads[1], ask_and_bind, &asks);
    start(&threads[0], lend_and_check, &runs);
    join(threads[0]);
    store(&stop, 1);
    join(threads[1]);
    /* a run never waits and is never refused for a short call */
    CHECK_EQ(runs.busy, 0);
    CHECK(asks.done > 0);
    zb_context_destroy(context);
    zb_model_destroy(model);
}

static void *only_ask(void *argument)
{
    one_context *part = argument;
    for (int i = 0; i < part->runs; i++) {
        zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
        CHECK_OK(zb_context_get_stats(part->context, &stats));
    }
    return NULL;
}

static void short_calls_wait_for_each_other(void)
{
    pthread_t threads[2];
    zb_model *model = open_model("add256");
    one_context part = {NULL, NULL, 0, 0, 0, 0};
    part.context = zt_context(model);
    part.runs = zt_rounds(200000, 2000);
    for (int i = 0; i < 2; i++) {
        start(&threads[i], only_ask, &part);
    }
    for (int i = 0; i < 2; i++) {
        join(threads[i]);
    }
    zb_context_destroy(part.context);
    zb_model_destroy(model);
}

/* --- two contexts of one model --- */

typedef struct own_context {
    zb_context *context;
    zb_tensor *shared_input;
    int base;
    int runs;
} own_context;

static void *run_bound(void *argument)
{
    own_context *part = argument;
    zb_tensor_desc desc = F32(COUNT);
    zt_buffer y = zt_buffer_new(BYTES), z = zt_buffer_new(BYTES);
    zb_tensor *second = zt_wrap(&desc, &y), *sum = zt_wrap(&desc, &z);
    REQUIRE_OK(zb_tensor_bind(part->shared_input, part->context, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_bind(second, part->context, ZB_INPUT(1)));
    REQUIRE_OK(zb_tensor_bind(sum, part->context, ZB_OUTPUT(0)));
    for (int i = 0; i < part->runs; i++) {
        fill(&y, (float)(part->base + i));
        REQUIRE_OK(zb_infer(part->context, NULL));
        CHECK(is_all(zt_floats(&z), COUNT, (float)(part->base + i + 7)));
    }
    zb_context_destroy(part->context);
    zb_tensor_destroy(second);
    zb_tensor_destroy(sum);
    FREE_BUFFER(&y);
    FREE_BUFFER(&z);
    return NULL;
}

/* Never BUSY, though both read one tensor: 10,000 runs on each thread, each with other numbers. */
static void two_contexts_that_share_an_input(void)
{
    pthread_t threads[2];
    own_context parts[2];
    zb_tensor_desc desc = F32(COUNT);
    zt_buffer x = zt_buffer_new(BYTES);
    zb_tensor *shared = zt_wrap(&desc, &x);
    zb_model *model = open_model("add256");
    fill(&x, 7);
    for (int i = 0; i < 2; i++) {
        parts[i].context = zt_context(model);
        parts[i].shared_input = shared;
        parts[i].base = i * 100000;
        parts[i].runs = zt_rounds(10000, 300);
        start(&threads[i], run_bound, &parts[i]);
    }
    zb_model_destroy(model);
    for (int i = 0; i < 2; i++) {
        join(threads[i]);
    }
    CHECK_OK(zb_tensor_destroy(shared));
    FREE_BUFFER(&x);
}

/* --- one tensor, two writers and a reader: whole values only --- */

#define LONG 1024u

typedef struct sharing {
    zb_context *context;
    int *stop;
} sharing;

static void *write_shared(void *argument)
{
    sharing *part = argument;
    while (!load(part->stop)) {
        zb_status status = zb_infer(part->context, NULL);
        REQUIRE(status == ZB_OK || status == ZB_ERROR_BUSY);
        /* where threads take turns, as under valgrind, nobody else would ever find the tensor free */
        sched_yield();
    }
    return NULL;
}

/* y = x + CHAIN_ADDS */
static zb_context *chain_of(zb_model *model, zb_tensor *x, zb_tensor *y)
{
    zb_context *context = zt_context(model);
    REQUIRE_OK(zb_tensor_bind(x, context, ZB_INPUT(0)));
    REQUIRE_OK(zb_tensor_bind(y, context, ZB_OUTPUT(0)));
    return context;
}

/*
 * Two contexts write one tensor, each with a value of its own throughout; a third reads it. zerobind lets nobody read while somebody writes,
 * so the third finds one or the other, never some of both.
 */
static void a_shared_output_is_never_torn(void)
{
    int stop = 0;
    pthread_t threads[2];
    zb_tensor_desc desc = F32(LONG);
    zb_model *model = open_model("chain");
    zt_buffer buffers[4];
    zb_tensor *tensors[4];
    for (int i = 0; i < 4; i++) {
        buffers[i] = zt_buffer_new(LONG * sizeof(float));
        fill(&buffers[i], i == 1 ? 100 : 0);
        tensors[i] = zt_wrap(&desc, &buffers[i]);
    }
    sharing writers[2] = {{NULL, &stop}, {NULL, &stop}};
    writers[0].context = chain_of(model, tensors[0], tensors[2]);
    writers[1].context = chain_of(model, tensors[1], tensors[2]);
    zb_context *reader = chain_of(model, tensors[2], tensors[3]);
    REQUIRE_OK(zb_infer(writers[0].context, NULL));
    for (int i = 0; i < 2; i++) {
        start(&threads[i], write_shared, &writers[i]);
    }
    int wanted = zt_rounds(2000, 20), done = 0, seen[2] = {0, 0};
    double end = now() + (zt_under_memcheck() ? 60 : 20);
    while ((done < wanted || seen[0] == 0 || seen[1] == 0) && now() < end) {
        zb_status status = zb_infer(reader, NULL);
        if (status == ZB_OK) {
            const float *found = zt_floats(&buffers[3]);
            int is_second = found[0] >= 100 + CHAIN_ADDS;
            CHECK(is_all(found, LONG, 2 * CHAIN_ADDS + (is_second ? 100 : 0)));
            seen[is_second]++;
            done++;
        } else {
            CHECK_STATUS(status, ZB_ERROR_BUSY);
            sched_yield();
        }
    }
    store(&stop, 1);
    for (int i = 0; i < 2; i++) {
        join(threads[i]);
        zb_context_destroy(writers[i].context);
    }
    /* both writers had their turns, and so had the reader */
    CHECK(seen[0] > 0 && seen[1] > 0);
    zb_context_destroy(reader);
    for (int i = 0; i < 4; i++) {
        zb_tensor_destroy(tensors[i]);
        FREE_BUFFER(&buffers[i]);
    }
    zb_model_destroy(model);
}

/* --- destroy during a run of the real engine --- */

typedef struct long_run {
    zb_context *context;
    int started;
    zb_status status;
} long_run;

static void *run_until_destroyed(void *argument)
{
    long_run *run = argument;
    zb_status status = ZB_OK;
    while (status == ZB_OK) {
        status = zb_infer(run->context, NULL);
        store(&run->started, 1);
    }
    run->status = status;
    return NULL;
}

static void destroy_meets_a_run(void)
{
    int rounds = zt_rounds(20, 3), ended_by_last_user = 0;
    zb_tensor_desc desc = F32(LONG_RUN_COUNT);
    for (int i = 0; i < rounds; i++) {
        pthread_t thread;
        zb_tensor *x = NULL;
        zb_model *model = open_model("big16");
        long_run run = {NULL, 0, ZB_OK};
        run.context = zt_context(model);
        REQUIRE_OK(zb_tensor_alloc(&desc, 0, &x));
        REQUIRE_OK(zb_tensor_bind(x, run.context, ZB_INPUT(0)));
        zb_tensor_destroy(x);
        start(&thread, run_until_destroyed, &run);
        while (!load(&run.started)) {
            sched_yield();
        }
        CHECK_OK(zb_context_destroy(run.context));
        CHECK_OK(zb_model_destroy(model));
        ended_by_last_user += zb_live_objects(ZB_KIND_CONTEXT) == 1;
        join(thread);
        CHECK(run.status == ZB_ERROR_INVALID_HANDLE || run.status == ZB_ERROR_CANCELLED);
        CHECK(zt_nothing_is_alive());
    }
    /* a run takes most of the time, so most destroys met one */
    CHECK(ended_by_last_user > 0 || zt_under_memcheck());
}

/* --- the last error is each thread's own --- */

static void *fail_in_own_way(void *argument)
{
    zb_model *model = argument;
    zb_slot slot = 0;
    char name[32], text[512];
    snprintf(name, sizeof name, "nobody-%llx", (unsigned long long)(uintptr_t)&slot);
    for (int i = 0; i < zt_rounds(5000, 100); i++) {
        CHECK_STATUS(zb_model_find_input(model, name, &slot), ZB_ERROR_NOT_FOUND);
        REQUIRE_OK(zb_last_error(text, sizeof text, NULL));
        CHECK(strstr(text, name) != NULL);
    }
    return NULL;
}

static void *find_no_error(void *argument)
{
    size_t needed = 0;
    (void)argument;
    CHECK_OK(zb_last_error(NULL, 0, &needed));
    CHECK_EQ(needed, 1);
    return NULL;
}

static void each_thread_has_its_own_error(void)
{
    pthread_t threads[2];
    zb_model *model = open_model("add256");
    for (int i = 0; i < 2; i++) {
        start(&threads[i], fail_in_own_way, model);
    }
    for (int i = 0; i < 2; i++) {
        join(threads[i]);
    }
    start(&threads[0], find_no_error, NULL);
    join(threads[0]);
    zb_model_destroy(model);
}

/* --- everything at once, with handles that die under the callers --- */

enum { PLACES = 4 };

/* Handles that threads make, use and destroy, as they come; the words are handles, and nothing is known of them. */
typedef struct storm {
    zb_model *models[PLACES];
    zb_context *contexts[PLACES];
    zb_tensor *tensors[PLACES];
    int stop;
    int wraps;
    int releases;
    int runs;
    int refused;
} storm;

typedef struct storm_thread {
    storm *shared;
    uint64_t random;
} storm_thread;

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void count_release(void *user_data, void *data, size_t size)
{
    storm *shared = user_data;
    CHECK_EQ(size, BYTES);
    add(&shared->releases, 1);
    free(data);
}

static zb_tensor *make_tensor(storm *shared)
{
    zb_tensor_desc desc = F32(COUNT);
    zb_tensor *tensor = NULL;
    void *memory = NULL;
    REQUIRE(posix_memalign(&memory, 64, BYTES + 64) == 0);
    memset(memory, 0, BYTES + 64);
    REQUIRE_OK(zb_tensor_wrap(&desc, memory, BYTES, BYTES + 64, count_release, shared, &tensor));
    add(&shared->wraps, 1);
    return tensor;
}

/* Puts a new handle in a place, and destroys whichever was there; others may be using it, or have destroyed it. */
static void replace(storm *shared, size_t what, size_t place)
{
    if (what == 0) {
        zb_model *old = __atomic_exchange_n(&shared->models[place], open_model("add256"), __ATOMIC_ACQ_REL);
        zb_status status = zb_model_destroy(old);
        REQUIRE(status == ZB_OK || status == ZB_ERROR_INVALID_HANDLE);
    } else if (what == 1) {
        zb_context *made = NULL;
        zb_status status = zb_context_create(__atomic_load_n(&shared->models[place], __ATOMIC_ACQUIRE), NULL, &made);
        REQUIRE(status == ZB_OK || status == ZB_ERROR_INVALID_HANDLE || status == ZB_ERROR_NULL_ARGUMENT);
        zb_context *old = __atomic_exchange_n(&shared->contexts[place], made, __ATOMIC_ACQ_REL);
        status = zb_context_destroy(old);
        REQUIRE(status == ZB_OK || status == ZB_ERROR_INVALID_HANDLE);
        /* whoever destroyed it, it is gone, though a run of another thread may still be inside */
        status = zb_infer(old, NULL);
        REQUIRE(status == ZB_ERROR_INVALID_HANDLE || old == NULL);
        add(&shared->refused, old != NULL);
    } else {
        zb_tensor *old = __atomic_exchange_n(&shared->tensors[place], make_tensor(shared), __ATOMIC_ACQ_REL);
        zb_status status = zb_tensor_destroy(old);
        REQUIRE(status == ZB_OK || status == ZB_ERROR_INVALID_HANDLE);
    }
}

static int is_expected(zb_status status)
{
    return status == ZB_OK || status == ZB_ERROR_INVALID_HANDLE || status == ZB_ERROR_NULL_ARGUMENT ||
           status == ZB_ERROR_BUSY || status == ZB_ERROR_UNBOUND || status == ZB_ERROR_ALIASED ||
           status == ZB_ERROR_CANCELLED;
}

static void use(storm *shared, uint64_t random)
{
    zb_context *context = __atomic_load_n(&shared->contexts[random % PLACES], __ATOMIC_ACQUIRE);
    zb_tensor *tensor = __atomic_load_n(&shared->tensors[random / 8 % PLACES], __ATOMIC_ACQUIRE);
    zb_tensor_desc desc;
    zb_status status = ZB_OK;
    switch (random / 64 % 8) {
    case 0:
        status = zb_tensor_bind(tensor, context, ZB_INPUT((uint32_t)(random / 512 % 2)));
        break;
    case 1:
        status = zb_tensor_bind(tensor, context, ZB_OUTPUT(0));
        break;
    case 2:
        status = zb_context_unbind(context, ZB_INPUT(0));
        break;
    case 3:
        status = zb_context_get_slot_desc(context, ZB_OUTPUT(0), &desc, NULL);
        break;
    case 4:
        status = zb_tensor_get_desc(tensor, &desc);
        break;
    default:
        status = zb_infer(context, NULL);
        add(&shared->runs, status == ZB_OK);
        break;
    }
    REQUIRE(is_expected(status));
    add(&shared->refused, status == ZB_ERROR_INVALID_HANDLE);
}

static void *storm_body(void *argument)
{
    storm_thread *own = argument;
    storm *shared = own->shared;
    while (!load(&shared->stop)) {
        uint64_t random = next_random(&own->random);
        if (random >> 58 == 0) {
            replace(shared, 0, random % PLACES);
        } else if (random >> 60 == 1) {
            replace(shared, 1, random % PLACES);
        } else if (random >> 60 == 2) {
            replace(shared, 2, random % PLACES);
        } else {
            use(shared, random);
        }
    }
    return NULL;
}

static void everything_at_once(void)
{
    enum { THREADS = 4 };
    static storm shared;
    pthread_t threads[THREADS];
    storm_thread own[THREADS];
    memset(&shared, 0, sizeof shared);
    for (size_t place = 0; place < PLACES; place++) {
        replace(&shared, 0, place);
        replace(&shared, 1, place);
        replace(&shared, 2, place);
    }
    for (int i = 0; i < THREADS; i++) {
        own[i].shared = &shared;
        own[i].random = 88172645463325252u + (uint64_t)i * 977;
        start(&threads[i], storm_body, &own[i]);
    }
    double end = now() + (zt_under_memcheck() ? 8 : 2.5);
    while (now() < end) {
        struct timespec pause = {0, 10000000};
        nanosleep(&pause, NULL);
    }
    store(&shared.stop, 1);
    for (int i = 0; i < THREADS; i++) {
        join(threads[i]);
    }
    CHECK(load(&shared.runs) > 0);
    CHECK(load(&shared.refused) > 0);
    for (size_t place = 0; place < PLACES; place++) {
        zb_model_destroy(shared.models[place]);
        zb_tensor_destroy(shared.tensors[place]);
        zb_context_destroy(shared.contexts[place]);
    }
    CHECK(zt_nothing_is_alive());
    CHECK_EQ(load(&shared.releases), load(&shared.wraps));
}

/* Two destroys of one handle at the same moment: one of them did it. */
typedef struct race {
    zb_tensor *tensor;
    int *ready;
    int wanted;
    zb_status status;
} race;

static void *destroy_together(void *argument)
{
    race *own = argument;
    add(own->ready, 1);
    while (load(own->ready) < own->wanted) {
        sched_yield();
    }
    own->status = zb_tensor_destroy(own->tensor);
    return NULL;
}

static void one_of_two_destroys_wins(void)
{
    zb_tensor_desc desc = F32(COUNT);
    zt_buffer memory = zt_buffer_new(BYTES);
    for (int i = 0; i < zt_rounds(1000, 50); i++) {
        int ready = 0;
        pthread_t thread;
        zt_releases releases = {0, NULL, 0};
        race mine = {NULL, &ready, 2, -1}, other;
        REQUIRE_OK(zb_tensor_wrap(&desc, memory.data, BYTES, 0, zt_count_release, &releases, &mine.tensor));
        other = mine;
        start(&thread, destroy_together, &other);
        destroy_together(&mine);
        join(thread);
        CHECK((mine.status == ZB_OK) != (other.status == ZB_OK));
        CHECK(mine.status == ZB_OK || mine.status == ZB_ERROR_INVALID_HANDLE);
        CHECK(other.status == ZB_OK || other.status == ZB_ERROR_INVALID_HANDLE);
        CHECK_EQ(zt_release_count(&releases), 1);
    }
    FREE_BUFFER(&memory);
}

static const zt_test tests[] = {
    ON_BOTH(two_threads_load_the_engine),
    ON_BOTH(two_threads_on_one_context),
    ON_BOTH(runs_and_short_calls_on_one_context),
    ON_BOTH(short_calls_wait_for_each_other),
    ON_BOTH(two_contexts_that_share_an_input),
    ON_BOTH(a_shared_output_is_never_torn),
    ON_BOTH(destroy_meets_a_run),
    ON_BOTH(each_thread_has_its_own_error),
    ON_BOTH(everything_at_once),
    ON_BOTH(one_of_two_destroys_wins),
};

ZT_MAIN(tests)
