#include "mutant.h"

#include <stdio.h>
#include <string.h>

const char *const damage_names[DAMAGES] = {"truncation", "bit flips", "small word"};

size_t plan_total(const plan *plan)
{
    return plan->count[DAMAGE_TRUNCATION] + plan->count[DAMAGE_BITS] + plan->count[DAMAGE_WORD];
}

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
    uint64_t random = *state += 0x9E3779B97F4A7C15u;
    random = (random ^ random >> 30) * 0xBF58476D1CE4E5B9u;
    random = (random ^ random >> 27) * 0x94D049BB133111EBu;
    return random ^ random >> 31;
}

static void truncate(mutant *made, uint64_t *state)
{
    size_t size = made->size;
    made->size = next_random(state) % size;
    snprintf(made->text, sizeof made->text, "cut to %zu of %zu bytes", made->size, size);
}

/* One to four bits: anywhere, or within the first and the last twentieth, where most of what is not weights lies. */
static void flip_bits(mutant *made, unsigned char *bytes, uint64_t *state, size_t number)
{
    size_t edge = made->size / 20 + 1, length = 0;
    for (size_t flips = 1 + next_random(state) % 4; flips > 0; flips--) {
        size_t at = next_random(state) % made->size;
        if (number % 2 == 1) {
            at %= 2 * edge;
            at = at < edge ? at : made->size - 1 - (at - edge);
        }
        int bit = (int)(next_random(state) % 8);
        bytes[at] ^= (unsigned char)(1u << bit);
        length += (size_t)snprintf(made->text + length, sizeof made->text - length, "bit %d of byte %zu; ", bit, at);
    }
}

static int32_t word_at(const unsigned char *bytes, size_t at)
{
    int32_t word;
    memcpy(&word, bytes + at, sizeof word);
    return word;
}

/* A word of 32 bits that holds a small number, as counts, indices, offsets and dimensions do. */
static size_t find_small_word(const unsigned char *bytes, size_t size, int is_aligned, uint64_t *state)
{
    size_t at = 0;
    for (int tries = 0; tries < 200; tries++) {
        at = next_random(state) % (size - 4);
        at -= is_aligned ? at % 4 : 0;
        int32_t word = word_at(bytes, at);
        if (word > -65536 && word < 65536) {
            break;
        }
    }
    return at;
}

static void replace_word(mutant *made, unsigned char *bytes, uint64_t *state)
{
    /* flatbuffers align their words, protocol buffers do not */
    int is_flatbuffer = memcmp(bytes + 4, "TFL3", 4) == 0;
    size_t at = find_small_word(bytes, made->size, is_flatbuffer, state);
    int32_t before = word_at(bytes, at);
    int32_t after[] = {0, 1, -1, INT32_MAX, 65535, (int32_t)((uint32_t)before + 1), (int32_t)((uint32_t)before * 2)};
    int32_t chosen = after[next_random(state) % (sizeof after / sizeof *after)];
    memcpy(bytes + at, &chosen, sizeof chosen);
    snprintf(made->text, sizeof made->text, "word at %zu: %d becomes %d", at, (int)before, (int)chosen);
}

mutant make_mutant(const plan *plan, unsigned char *bytes, size_t size, size_t number)
{
    mutant made = {DAMAGE_TRUNCATION, size, ""};
    uint64_t state = plan->seed * 1000003u + number * 0x2545F4914F6CDD1Du + size;
    while (number >= plan->count[made.damage]) {
        number -= plan->count[made.damage];
        made.damage++;
    }
    switch (made.damage) {
    case DAMAGE_TRUNCATION: truncate(&made, &state); break;
    case DAMAGE_BITS: flip_bits(&made, bytes, &state, number); break;
    default: replace_word(&made, bytes, &state); break;
    }
    return made;
}
