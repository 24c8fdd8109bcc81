/* The damage: which mutant is what, from its number alone. */
#ifndef ZEROBIND_DAMAGED_MUTANT_H
#define ZEROBIND_DAMAGED_MUTANT_H

#include "trial.h"

enum { DAMAGE_TRUNCATION, DAMAGE_BITS, DAMAGE_WORD, DAMAGES };

/* How many mutants of each kind a model has. */
typedef struct plan {
    size_t count[DAMAGES];
    uint64_t seed;
} plan;

typedef struct mutant {
    int damage;
    size_t size;    /* what is left of the file */
    char text[120]; /* what was done to it */
} mutant;

extern const char *const damage_names[DAMAGES];

size_t plan_total(const plan *plan);
/* Damages the bytes in place. `number` is below plan_total. */
mutant make_mutant(const plan *plan, unsigned char *bytes, size_t size, size_t number);

#endif
