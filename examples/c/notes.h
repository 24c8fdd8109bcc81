/* Notes picked from what the network heard. */
#ifndef NOTES_H
#define NOTES_H

#include <stddef.h>

/* The thresholds that the network's authors suggest: for a note to begin, and to sound. */
#define ONSET_THRESHOLD 0.5f
#define SOUNDING_THRESHOLD 0.3f

struct note {
    int pitch;       /* a MIDI note number: 69 is A4, 440 Hz */
    size_t start;    /* frame of the recording */
    size_t length;   /* frames */
    double strength; /* 0 to 1: how sure the network is of the note, on average over its frames */
};

struct note_list {
    struct note *items; /* by start, then by pitch */
    size_t count;
};

/*
 * Picks the notes from the outputs "onset" and "note", each [windows][WINDOW_FRAMES][PITCHES], of `frames` frames of a
 * recording. Gives 0, or -1 if there is no memory. Free with note_list_free.
 */
int note_list_pick(const float *onset, const float *sounding, size_t frames, struct note_list *list);

/* Frees it; also fine for a list that is all zero. */
void note_list_free(struct note_list *list);

/* 1 if both have the same notes: pitch, start and length. */
int note_list_equal(const struct note_list *a, const struct note_list *b);

/* Writes the name of a pitch, such as "C#4". */
void note_name(int pitch, char *name, size_t capacity);

#endif
