/*
 * Runs of the mock that stand at a gate, and events whose end is told: what tests of queues need to say what happens when.
 * For tests that are linked with the library that has the mock (MOCK).
 */
#ifndef ZEROBIND_TESTS_GATED_H
#define ZEROBIND_TESTS_GATED_H

#include "mock.h"

#include <pthread.h>

/* Ends the program with a signal if the test hangs; so many seconds, more under valgrind. Begins anew at each call. */
void zt_watchdog(unsigned seconds);

/* Returns when a run stands at "wait GATE". */
void gate_await(const char *gate);
/* Lets those through that stand there. */
void gate_open(const char *gate);

/* --- a context whose runs stand at a gate: y = x, 4 floats each --- */

typedef struct gated {
    const char *gate;
    zb_context *context;
    /* of a run on a queue */
    zb_event *event;
    /* of a direct run */
    pthread_t thread;
    zb_status status;
} gated;

/* Both slots are bound to zeroed memory of the context's own. */
void gated_make(gated *made, const char *gate);
void gated_free(gated *made);
/* Enqueues a run, and returns when it stands at the gate. */
void gated_block(gated *made, zb_queue *queue);
/* Opens the gate and returns how that run ended. */
zb_status gated_let_go(gated *made);
/* The same as a direct run on a thread of its own. */
void gated_run(gated *made);
zb_status gated_end_run(gated *made);

/* --- the end of an event as its callback saw it --- */

typedef struct witness {
    int count;
    zb_status result;
    zb_event *event;
    /* done inside the callback, if not NULL, before the end is known to the test */
    void (*act)(void *user_data, zb_status result);
    void *user_data;
} witness;

/* Sets the callback; set `act` before. */
void witness_watch(witness *watched, zb_event *event);
/* Waits for the callback. */
zb_status witness_wait(witness *watched);
int witness_count(witness *watched);

/* How a settled event ended; the event must be settled already. */
#define CHECK_SETTLED(event, status) zt_check_settled((event), (status), __FILE__, __LINE__)
void zt_check_settled(zb_event *event, zb_status expected, const char *file, int line);
#define CHECK_PENDING(event) zt_check_pending((event), __FILE__, __LINE__)
void zt_check_pending(zb_event *event, const char *file, int line);
/* Waits for it, destroys the handle, gives how it ended. */
zb_status zt_end_of(zb_event *event);

/* Threads of this process. */
int zt_threads(void);
/* Whether there are that many within 2 s, since a queue's thread ends after the queue is destroyed; and objects of a kind. */
int zt_threads_soon(int count);
int zt_live_soon(int32_t kind, uint64_t count);

/* A queue with a thread of its own. */
zb_queue *zt_queue(void);

#endif
