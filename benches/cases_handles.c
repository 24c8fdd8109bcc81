/* What objects cost, without an engine at work. */
#include "cases.h"

#include <pthread.h>

#include "pair.h"

/* REPEATS: waking the threads takes some 0.1 ms on some machines, which is nothing beside so many calls */
enum { THREADS = 2, REPEATS = 1 << 17 };

static const zb_tensor_desc FOUR = {ZB_DTYPE_F32, 1, {4}};

/* ---- make and destroy a tensor ---- */

static void wrap_and_destroy(void *memory, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        zb_tensor *tensor;
        bench_ok(zb_tensor_wrap(&FOUR, memory, 16, 16, NULL, NULL, &tensor), "wrap");
        bench_ok(zb_tensor_destroy(tensor), "destroy");
    }
}

/* ---- from a handle to the object and back ---- */

/* zb_tensor_get_data does nothing but look the handle up and give out two numbers. */
static void look_up(void *tensor, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *data;
        size_t size;
        bench_ok(zb_tensor_get_data(tensor, &data, &size), "get_data");
    }
}

/* A call that fails at its first check: the price of a call alone. */
static void call_only(void *unused, size_t count)
{
    (void)unused;
    for (size_t i = 0; i < count; i++) {
        REQUIRE(zb_tensor_destroy(NULL) == ZB_OK, "destroy NULL");
    }
}

/* ---- the same by two threads at once ---- */

typedef struct crew crew;

typedef struct worker {
    crew *own;
    pthread_t thread;
    void *state;
} worker;

/* Threads that wait between blocks, so that none is made within one. */
struct crew {
    void (*run)(void *state, size_t count);
    worker workers[THREADS];
    pthread_barrier_t begin, end;
    size_t count;
    int is_over;
};

static void *work(void *argument)
{
    worker *self = argument;
    for (;;) {
        pthread_barrier_wait(&self->own->begin);
        if (self->own->is_over) {
            return NULL;
        }
        self->own->run(self->state, self->own->count);
        pthread_barrier_wait(&self->own->end);
    }
}

static void crew_start(crew *made, void (*run)(void *, size_t), void *first, void *second)
{
    memset(made, 0, sizeof *made);
    made->run = run;
    pthread_barrier_init(&made->begin, NULL, THREADS + 1);
    pthread_barrier_init(&made->end, NULL, THREADS + 1);
    made->workers[0].state = first;
    made->workers[1].state = second;
    for (size_t i = 0; i < THREADS; i++) {
        made->workers[i].own = made;
        REQUIRE(pthread_create(&made->workers[i].thread, NULL, work, &made->workers[i]) == 0, "start a thread");
    }
}

/* Each thread does `count` times REPEATS of them, so on cores enough it takes as long as one thread alone. */
static void crew_run(void *crew_pointer, size_t count)
{
    crew *own = crew_pointer;
    own->count = count * REPEATS;
    pthread_barrier_wait(&own->begin);
    pthread_barrier_wait(&own->end);
}

static void crew_stop(crew *own)
{
    own->is_over = 1;
    pthread_barrier_wait(&own->begin);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(own->workers[i].thread, NULL);
    }
    pthread_barrier_destroy(&own->begin);
    pthread_barrier_destroy(&own->end);
}

/* ---- the cases ---- */

static void measure_run(const char *id, const char *name, void (*run)(void *, size_t), void *state, size_t repeats)
{
    bench_case made = {.id = id,
                       .engine = "none",
                       .sides = {{name, run, state}},
                       .count = 1,
                       .copies_are_known = 1,
                       .repeats = repeats};
    bench_measure(&made);
}

static void measure_alone(const char *id, const char *name, void (*run)(void *, size_t), void *state)
{
    if (bench_wants(id)) {
        measure_run(id, name, run, state, 1);
    }
}

static void measure_two_threads(const char *id, const char *name, void (*run)(void *, size_t), void *first, void *second)
{
    crew own;
    if (bench_wants(id)) {
        crew_start(&own, run, first, second);
        measure_run(id, name, crew_run, &own, REPEATS);
        crew_stop(&own);
    }
}

void cases_handles(const case_folders *folders)
{
    (void)folders;
    void *here = bench_memory(16), *there = bench_memory(16);
    zb_tensor *first, *second;
    bench_ok(zb_tensor_wrap(&FOUR, here, 16, 16, NULL, NULL, &first), "wrap");
    bench_ok(zb_tensor_wrap(&FOUR, there, 16, 16, NULL, NULL, &second), "wrap");
    measure_alone("call", "zb_tensor_destroy(NULL)", call_only, NULL);
    measure_alone("lookup", "zb_tensor_get_data", look_up, first);
    measure_two_threads("lookup_2", "zb_tensor_get_data, 2 threads, a tensor each", look_up, first, second);
    measure_two_threads("lookup_2_same", "zb_tensor_get_data, 2 threads, one tensor", look_up, first, first);
    measure_alone("create_destroy", "zb_tensor_wrap, zb_tensor_destroy", wrap_and_destroy, here);
    measure_two_threads("create_destroy_2", "zb_tensor_wrap, zb_tensor_destroy, 2 threads", wrap_and_destroy, here, there);
    zb_tensor_destroy(first);
    zb_tensor_destroy(second);
    free(here);
    free(there);
}
