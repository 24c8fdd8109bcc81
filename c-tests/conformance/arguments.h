/* Options of the conformance programs: a name, and words behind it. */
#ifndef ZEROBIND_CONFORMANCE_ARGUMENTS_H
#define ZEROBIND_CONFORMANCE_ARGUMENTS_H

#include "harness.h"

typedef struct option {
    const char *name;
    int words;
    /* the words, if the option is there; else as before */
    char ***value;
} option;

/* Reads the arguments from the `first` on; an unknown or a cut one ends the program. */
void parse_options(int argc, char **argv, int first, const option *options, size_t count);

/* The place of a word in a list; one that is not in it ends the program with the list. */
int parse_word(const char *word, const char *const *words, int count);

#endif
