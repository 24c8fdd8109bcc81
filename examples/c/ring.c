#define _POSIX_C_SOURCE 200809L

#include "ring.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 }; /* of a window, as engines ask */

/*
 * In memory, the new sound of the places lies side by side:
 *
 *     lead | place 0 | place 1 | ... | place 15 | spare
 *
 * A window is the sound of its place and the `lead` bytes in front of it, which are the end of the place before; at the
 * front of place 0 they are a copy of the end of the last place. So each window is in one piece, and none is copied.
 */
int ring_make(struct ring *ring, size_t lead, size_t window)
{
    void *memory;
    memset(ring, 0, sizeof *ring);
    ring->lead = lead;
    ring->hop = window - lead;
    ring->stride = lead > 0 ? ring->hop : (window + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    ring->size = lead + PLACES * ring->stride + ALIGNMENT;
    if (posix_memalign(&memory, ALIGNMENT, ring->size) != 0) {
        return 0;
    }
    ring->memory = memset(memory, 0, ring->size); /* silence before the first window */
    pthread_mutex_init(&ring->lock, NULL);
    pthread_cond_init(&ring->changed, NULL);
    return 1;
}

void ring_free(struct ring *ring)
{
    pthread_cond_destroy(&ring->changed);
    pthread_mutex_destroy(&ring->lock);
    free(ring->memory);
}

void *ring_window(const struct ring *ring, size_t place, size_t *readable)
{
    *readable = ring->size - place * ring->stride;
    return ring->memory + place * ring->stride;
}

/*
 * A place can be filled again when nobody reads it any more: its own window was taken, and so was the next one, which has
 * the end of this place in front. Hence, of the places that are not being filled, all but one may be in use.
 */
int ring_has_room(struct ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    size_t in_use = ring->handed_over - ring->taken;
    pthread_mutex_unlock(&ring->lock);
    return in_use <= PLACES - 2;
}

size_t ring_put(struct ring *ring, const char *sound)
{
    size_t place = ring->handed_over % PLACES; /* only this thread changes it */
    if (place == 0) {
        memmove(ring->memory, ring->memory + PLACES * ring->stride, ring->lead);
    }
    memcpy(ring->memory + ring->lead + place * ring->stride, sound, ring->hop);
    return place;
}

void ring_hand_over(struct ring *ring, zb_event *event)
{
    pthread_mutex_lock(&ring->lock);
    ring->event[ring->handed_over % PLACES] = event;
    ring->handed_over++;
    pthread_cond_broadcast(&ring->changed);
    pthread_mutex_unlock(&ring->lock);
}

size_t ring_taken(struct ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    size_t taken = ring->taken;
    pthread_mutex_unlock(&ring->lock);
    return taken;
}

void ring_wait_until_taken(struct ring *ring, size_t more_than)
{
    pthread_mutex_lock(&ring->lock);
    while (ring->taken <= more_than) {
        pthread_cond_wait(&ring->changed, &ring->lock);
    }
    pthread_mutex_unlock(&ring->lock);
}

void ring_close(struct ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    ring->is_closed = 1;
    pthread_cond_broadcast(&ring->changed);
    pthread_mutex_unlock(&ring->lock);
}

int ring_next(struct ring *ring, zb_event **event)
{
    pthread_mutex_lock(&ring->lock);
    while (ring->taken == ring->handed_over && !ring->is_closed) {
        pthread_cond_wait(&ring->changed, &ring->lock);
    }
    int has_one = ring->taken < ring->handed_over;
    if (has_one) {
        *event = ring->event[ring->taken % PLACES];
    }
    pthread_mutex_unlock(&ring->lock);
    return has_one;
}

void ring_take(struct ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    ring->taken++;
    pthread_cond_broadcast(&ring->changed);
    pthread_mutex_unlock(&ring->lock);
}

void ring_wait_until_filled(struct ring *ring, size_t windows)
{
    pthread_mutex_lock(&ring->lock);
    size_t most = windows < PLACES - 1 ? windows : PLACES - 1;
    while (ring->handed_over - ring->taken < most && !ring->is_closed) {
        pthread_cond_wait(&ring->changed, &ring->lock);
    }
    pthread_mutex_unlock(&ring->lock);
}
