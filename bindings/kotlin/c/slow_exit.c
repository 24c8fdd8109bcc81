/* Holds up the end of a process that has it preloaded: what goes on by itself goes on in what is no longer a JVM. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <time.h>

/* Longer than a run of the network, also on a busy machine. */
static const struct timespec while_it_ends = {0, 500000000};

static void hold_up(void)
{
    (void)nanosleep(&while_it_ends, NULL);
}

/* Registered before the engines' libraries are there, so it comes after all that they do in the end. */
__attribute__((constructor)) static void begin(void)
{
    (void)atexit(hold_up);
}
