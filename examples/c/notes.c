#include "notes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic_pitch.h"

enum {
    SHORTEST_NOTE = 11, /* frames: 0.13 s */
    LONGEST_GAP = 11    /* frames below the threshold that do not end a note yet */
};

/* One key of the piano through the recording. */
struct track {
    const float *onset;
    const float *sounding;
    size_t frames;
    size_t key;
};

static float onset_at(const struct track *track, size_t frame)
{
    return frame_at(track->onset, PITCHES, frame)[track->key];
}

static float sounding_at(const struct track *track, size_t frame)
{
    return frame_at(track->sounding, PITCHES, frame)[track->key];
}

/* A note begins where the onset is high and higher than just before and after. */
static int begins_at(const struct track *track, size_t frame)
{
    float here = onset_at(track, frame);
    return here >= ONSET_THRESHOLD && (frame == 0 || here > onset_at(track, frame - 1)) &&
           (frame + 1 == track->frames || here >= onset_at(track, frame + 1));
}

/* It ends where the key falls silent for long, or is struck again. */
static size_t end_of_note(const struct track *track, size_t start)
{
    size_t end = start;
    for (size_t frame = start; frame < track->frames && frame - end <= LONGEST_GAP; frame++) {
        if (frame > start && begins_at(track, frame)) {
            break;
        }
        if (sounding_at(track, frame) >= SOUNDING_THRESHOLD) {
            end = frame + 1;
        }
    }
    return end;
}

static double strength(const struct track *track, size_t start, size_t end)
{
    double sum = 0;
    for (size_t frame = start; frame < end; frame++) {
        sum += (double)sounding_at(track, frame);
    }
    return sum / (double)(end - start);
}

static void pick_key(const struct track *track, struct note_list *list)
{
    for (size_t start = 0; start < track->frames; start++) {
        if (!begins_at(track, start)) {
            continue;
        }
        size_t end = end_of_note(track, start);
        if (end - start < SHORTEST_NOTE) {
            continue;
        }
        struct note *note = &list->items[list->count++];
        note->pitch = LOWEST_PITCH + (int)track->key;
        note->start = start;
        note->length = end - start;
        note->strength = strength(track, start, end);
    }
}

static int by_start(const void *left, const void *right)
{
    const struct note *a = left;
    const struct note *b = right;
    if (a->start != b->start) {
        return a->start < b->start ? -1 : 1;
    }
    return a->pitch - b->pitch;
}

int note_list_pick(const float *onset, const float *sounding, size_t frames, struct note_list *list)
{
    /* the notes of one key do not overlap and none is shorter than SHORTEST_NOTE, so there cannot be more */
    size_t most = PITCHES * (frames / SHORTEST_NOTE + 1);
    list->count = 0;
    list->items = calloc(most, sizeof *list->items);
    if (list->items == NULL) {
        return -1;
    }
    for (size_t key = 0; key < PITCHES; key++) {
        struct track track = {onset, sounding, frames, key};
        pick_key(&track, list);
    }
    qsort(list->items, list->count, sizeof *list->items, by_start);
    return 0;
}

void note_list_free(struct note_list *list)
{
    free(list->items);
    memset(list, 0, sizeof *list);
}

int note_list_equal(const struct note_list *a, const struct note_list *b)
{
    if (a->count != b->count) {
        return 0;
    }
    for (size_t i = 0; i < a->count; i++) {
        const struct note *x = &a->items[i];
        const struct note *y = &b->items[i];
        if (x->pitch != y->pitch || x->start != y->start || x->length != y->length) {
            return 0;
        }
    }
    return 1;
}

void note_name(int pitch, char *name, size_t capacity)
{
    static const char *const NAMES[] = {"C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B"};
    snprintf(name, capacity, "%s%d", NAMES[pitch % 12], pitch / 12 - 1);
}
