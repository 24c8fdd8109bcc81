/*
 * An executor of the host's, for tests of queues: it keeps tasks until it is told to run one, refuses on demand, and counts.
 * For tests that are linked with the mock engine (MOCK).
 */
#ifndef ZEROBIND_TESTS_EXECUTOR_H
#define ZEROBIND_TESTS_EXECUTOR_H

#include "gated.h"

#define BYTES 16u
#define MOST_TASKS 256
#define MOST_QUEUES 4

typedef struct lane {
    struct executor *executor;
    /* tasks that were submitted and are not taken out to be run; at most at one time */
    int outstanding, most;
} lane;

typedef struct entry {
    lane *lane;
    void *task;
} entry;

typedef struct executor {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    zb_task_fn run;
    entry tasks[MOST_TASKS];
    int first, count;
    /* one for each queue, which is its user data */
    lane lanes[MOST_QUEUES];
    int lane_count;
    /* in all */
    int submitted;
    /* refuse so many from now on, after letting so many through */
    int accept_first, refuse;
    int is_closed;
    /* called inside submit, with no lock of the test's held */
    void (*inside)(struct executor *executor);
    void *user_data;
} executor;

void make_executor(executor *made);
/* Checks that nothing is left, and that no queue ever had two tasks with it. */
void free_executor(executor *made);
/* A queue on it. */
zb_queue *queue_on(executor *made, uint32_t capacity);
/* The oldest task, taken out; NULL if there is none. Tasks are never 0. */
void *take(executor *made);
/* The same for who holds the lock. */
void *take_locked(executor *made);
/* Runs one task on this thread, if there is one. */
int step(executor *made);
void run_all(executor *made);

/* Four floats of the host's as a tensor. */
typedef struct memory {
    zb_tensor *tensor;
    zt_buffer buffer;
    zt_releases releases;
} memory;

extern const float ones[4];

void make_memory(memory *made);
void free_memory(memory *made);
/* Puts a write of `ones` into the queue. */
zb_event *write_ones(zb_queue *queue, memory *made);

#endif
