/* Notes on a terminal. */
#ifndef ROLL_H
#define ROLL_H

#include <stddef.h>

struct note_list;

/* What the terminal can show. */
struct terminal {
    int utf8;
    int colour;
};

/* Asks the locale and the standard output. */
struct terminal terminal_detect(void);

/* Prints the notes as a piano roll: time from left to right, pitch upwards. */
void roll_print(const struct note_list *notes, size_t frames, struct terminal terminal);

/* Prints the notes as a list: name, start, length, and how sure the network is (0 to 1). */
void notes_print(const struct note_list *notes);

#endif
