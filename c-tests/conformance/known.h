/* A committed list of what does not pass: "CLASS NAME HOW" in each line, and "total NUMBER"; # begins a comment. */
#ifndef ZEROBIND_CONFORMANCE_KNOWN_H
#define ZEROBIND_CONFORMANCE_KNOWN_H

#include "harness.h"

typedef struct known_entry {
    char class[32], name[128], how[48];
    /* looked up by known_find */
    int is_found;
} known_entry;

typedef struct known_list {
    known_entry *entries;
    size_t count;
    /* items that there have to be in all */
    size_t total;
} known_list;

known_list read_known(const char *path);
/* The entry of a name, or NULL. */
known_entry *known_find(known_list *list, const char *name);

#endif
