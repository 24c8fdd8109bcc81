/*
 * Walks through every allocation of a scenario that grows with something: runs it over and over, each time with the next
 * one of them refused, until none is left. Each refused call has to say so, and to succeed when it is made again.
 */
#ifndef ZEROBIND_TESTS_WALK_H
#define ZEROBIND_TESTS_WALK_H

#include "../harness.h"

/* What is smaller counts as small and fixed: the scenarios are made such that what grows is larger. */
#define LEAST 1024

/* Makes a call that has to succeed; if its memory was the one to be refused, once more. */
#define STEP(call) STEP_IS(call, ZB_OK)
/* The same for a call that ends with another status, and may have no memory for all of its text. */
#define STEP_IS(call, wanted)                                                              \
    do {                                                                                   \
        const int before_ = walk_before();                                                 \
        zb_status status_ = (call);                                                        \
        if (walk_is_refusal(status_, before_)) {                                           \
            status_ = (call);                                                              \
        }                                                                                  \
        walk_after((wanted) != ZB_OK, before_);                                            \
        zt_check_status(status_, (wanted), __FILE__, __LINE__, #call);                     \
    } while (0)

int walk_before(void);
/* Whether the call ended for want of the memory that was refused during it. */
int walk_is_refusal(zb_status status, int before);
void walk_after(int may_be_silent, int before);

/* How the end of an operation of a queue counts: 1 to put it there once more. */
int walk_is_refused_end(zb_status result);

/* Memory that was refused may have no effect that can be seen from here on. */
void walk_allow_silence(void);

/* How many models are alive outside of the scenario. */
void walk_keep(unsigned models);

void walk(const char *name, void (*scenario)(void));
/* Only the first so many allocations: what comes after them was walked through before. */
void walk_first(unsigned long count, const char *name, void (*scenario)(void));
/* Where what is small and fixed goes up to `least` bytes. */
void walk_from(size_t least, const char *name, void (*scenario)(void));

#endif
