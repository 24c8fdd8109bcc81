/*
 * The shape of basic-pitch, a small network that hears notes.
 *
 * It takes a window of about two seconds of sound and gives, for each of 172 frames and each of the 88 keys of a piano,
 * how sure it is that a note begins there (onset) and that one sounds there (note). A third output, contour, tells the
 * pitch to a third of a semitone; the demo gives it a place and does not use it.
 */
#ifndef BASIC_PITCH_H
#define BASIC_PITCH_H

#include <stddef.h>

enum {
    SAMPLE_RATE = 22050,  /* samples a second, mono */
    FRAME = 256,          /* samples a frame */
    WINDOW = 43844,       /* samples in */
    WINDOW_FRAMES = 172,  /* frames out */
    PITCHES = 88,         /* from A0, MIDI note 21, upwards by semitones */
    CONTOURS = 3 * PITCHES,
    LOWEST_PITCH = 21,

    /*
     * The network hears little context at the edges of a window, so 15 frames there are dropped, and the windows overlap by
     * as much: each gives the 142 frames in its middle. Two facts make it easy to lend the windows where they lie:
     *
     * - A hop is a whole number of frames, so the middles join without a gap, and recording frame f is always row
     *   MARGIN + f % HOP_FRAMES of window f / HOP_FRAMES.
     * - LEAD and HOP are multiples of 16 samples, which are 64 bytes: if the recording lies at a multiple of 64, every
     *   window does, and that is the most that an engine asks for.
     */
    MARGIN = 15,
    HOP_FRAMES = WINDOW_FRAMES - 2 * MARGIN,
    HOP = HOP_FRAMES * FRAME,
    LEAD = MARGIN * FRAME /* the first window begins this many samples before the recording */
};

/* Frames in a recording of so many samples, a last one that is not full included. */
static inline size_t frames_in(size_t samples)
{
    return (samples + FRAME - 1) / FRAME;
}

/* Windows whose middles cover so many samples. */
static inline size_t windows_in(size_t samples)
{
    return (frames_in(samples) + HOP_FRAMES - 1) / HOP_FRAMES;
}

/* The row of a frame of the recording in an output [windows][WINDOW_FRAMES][width]: it is read there, nothing is joined. */
static inline const float *frame_at(const float *output, size_t width, size_t frame)
{
    size_t window = frame / HOP_FRAMES;
    size_t row = MARGIN + frame % HOP_FRAMES;
    return output + (window * WINDOW_FRAMES + row) * width;
}

static inline double seconds(size_t frames)
{
    return (double)frames * FRAME / SAMPLE_RATE;
}

#endif
