/* A ring of windows of sound, filled by one thread and emptied by another, with an event for each. */
#ifndef RING_H
#define RING_H

#include <pthread.h>
#include <stddef.h>

#include <zerobind.h>

enum { PLACES = 16 };

struct ring {
    char *memory;
    size_t size, lead, stride, hop;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    zb_event *event[PLACES];
    size_t handed_over, taken; /* windows since the start: the place of each is its number modulo PLACES */
    int is_closed;
};

/* Room for windows of `window` bytes, of which the first `lead` are the end of the one before. Gives 0 without memory. */
int ring_make(struct ring *ring, size_t lead, size_t window);
void ring_free(struct ring *ring);

/* The window of a place, and how many bytes can be read from there on (engines may look a few bytes past an input). */
void *ring_window(const struct ring *ring, size_t place, size_t *readable);

/* For the one who fills it. */
int ring_has_room(struct ring *ring);
size_t ring_put(struct ring *ring, const char *sound);            /* gives the place; again, if not handed over */
void ring_hand_over(struct ring *ring, zb_event *event);          /* what was put last is in use until it is taken */
size_t ring_taken(struct ring *ring);
void ring_wait_until_taken(struct ring *ring, size_t more_than);
void ring_close(struct ring *ring);

/* For the one who empties it: the next event in order, waiting for it; 0 when there will be none. */
int ring_next(struct ring *ring, zb_event **event);
void ring_take(struct ring *ring);
/* Waits until so many windows (or all that have room) are there that nobody has taken, or until there will be no more. */
void ring_wait_until_filled(struct ring *ring, size_t windows);

#endif
