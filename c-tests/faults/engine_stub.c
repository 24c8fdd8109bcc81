/*
 * Libraries that pass for an engine until one looks closer. What each is comes from the build:
 *   TFLITE_VERSION     what TfLiteVersion gives; no other function is there
 *   ORT_BASE_IS_NULL   OrtGetApiBase gives nothing
 *   UNRESOLVED         it refers to something that nobody has
 *   ABORTS             its initialiser ends the process
 *   ORT_VERSION        what GetVersionString gives, and ORT_TABLE what GetApi gives: NOTHING, HOLES or FAILS
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef TFLITE_VERSION
const char *TfLiteVersion(void);
const char *TfLiteVersion(void)
{
    return TFLITE_VERSION;
}
#endif

#ifdef ORT_BASE_IS_NULL
const void *OrtGetApiBase(void);
const void *OrtGetApiBase(void)
{
    return NULL;
}
#endif

#ifdef ORT_VERSION
#define NOTHING 1
#define HOLES 2
#define FAILS 3

typedef struct base {
    const void *(*get_api)(uint32_t level);
    const char *(*get_version)(void);
} base;

typedef const char *function(void);

/* A status, the text of a status, and its number, whatever is asked for. */
static const char *fail(void)
{
    return "the stub cannot start";
}

static const void *get_api(uint32_t level)
{
    static function *table[1000];
    (void)level;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        table[i] = ORT_TABLE == HOLES && i == 20 ? NULL : fail;
    }
    return ORT_TABLE == NOTHING ? NULL : (const void *)table;
}

static const char *get_version(void)
{
    return ORT_VERSION;
}

const base *OrtGetApiBase(void);
const base *OrtGetApiBase(void)
{
    static const base stub = {get_api, get_version};
    return &stub;
}
#endif

#ifdef UNRESOLVED
/* a variable: of functions the loader need not know before they are called */
extern int nobody_has_this;
extern int *needs_it;
int *needs_it = &nobody_has_this;
#endif

#ifdef ABORTS
__attribute__((constructor)) static void initialise(void)
{
    fputs("the stub's last words\n", stderr);
    abort();
}
#endif

/* So that something refers to it where a library that is gone is linked. */
#ifdef NEEDS_GONE
int gone(void);
int needs_gone(void);
int needs_gone(void)
{
    return gone();
}
#endif
#ifdef IS_GONE
int gone(void);
int gone(void)
{
    return 0;
}
#endif
