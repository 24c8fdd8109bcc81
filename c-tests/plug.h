/*
 * Queues that stand still until a test lets them go on, and other things that tests of queues and events need; for tests that
 * are linked with the mock engine (MOCK).
 */
#ifndef ZEROBIND_TESTS_PLUG_H
#define ZEROBIND_TESTS_PLUG_H

#include "mock.h"

#define FOREVER UINT64_MAX
#define MILLISECOND UINT64_C(1000000)
#define SECOND (1000 * MILLISECOND)

uint64_t now_ns(void);

/* An inference that has begun and stands at a door of its own; it uses no tensor. */
typedef struct plug {
    zb_model *model;
    zb_context *context;
    zb_event *event;
    char door[32];
} plug;

/* Puts one into the queue, and returns when it stands there: what comes after it does not start. */
void plug_queue(plug *made, zb_queue *queue);
/* The same with one more line for the model, such as "unstoppable". */
void plug_queue_with(plug *made, zb_queue *queue, const char *line);
/* Returns when one stands at the plug's door. */
void await_plug(const plug *made);
/* Lets it go on. */
void open_plug(const plug *made);
/* Destroys what it is made of. */
void free_plug(plug *made);
/* The three: opens, waits until it has ended well, frees. */
void pull_plug(plug *made);

/* A queue with a thread of its own. */
zb_queue *new_queue(void);

/* Waits for good; gives how the operation ended. */
zb_status ending(zb_event *event);
/* The same, and destroys the event. */
zb_status last_ending(zb_event *event);

/* z = x + y on the mock, 4 floats each, everything bound. */
typedef struct sum {
    zb_model *model;
    zb_context *context;
    zt_buffer x, y, z;
    zb_tensor *tensors[3];
} sum;

/* With one more line for the model, or NULL. */
void make_sum(sum *made, const char *line);
void free_sum(sum *made);
/* 11 22 33 44 is there, or nothing was written. */
#define CHECK_SUM(made) CHECK(sum_is_there(made))
int sum_is_there(const sum *made);
void forget_sum(sum *made);

#endif
