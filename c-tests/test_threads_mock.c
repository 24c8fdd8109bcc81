/*
 * The threads of test_threads on the mock engine. All code that touches the memory of the host is then of this project, so a
 * race detector sees all of it: sanitize.sh runs this one.
 */
#define WITH_MOCK
/* sums: with one input it is a copy */
#define CHAIN_ADDS 0.0f
#define LONG_RUN_COUNT 16

#include "mock.h"

static zb_model *open_model(const char *name)
{
    if (strcmp(name, "add256") == 0) {
        return mock_open("input x f32 256\ninput y f32 256\noutput z f32 256\n");
    }
    if (strcmp(name, "chain") == 0) {
        return mock_open("input x f32 1024\noutput y f32 1024\n");
    }
    /* big16: what is long about it is the run */
    return mock_open("input x f32 16\noutput y f32 16\nrun sleep-ms 5\n");
}

#include "test_threads.c"
