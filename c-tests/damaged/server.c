/*
 * This process never touches an engine. For each lane it makes servers; a server loads the engine once, and forks for each
 * trial, which costs about a millisecond. The trial has limits of memory and time, and tells what it comes to in memory
 * that all share; the server adds what it died of.
 */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Of a trial in this process; one that a preflight comes before may wait for that as well. */
enum { LONGEST_SECONDS = 20, LONGEST_WAIT = 100 };

static const rlim_t most_memory = (rlim_t)4 << 30;

outcome *make_outcomes(size_t count)
{
    void *shared = mmap(NULL, count * sizeof(outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? NULL : shared;
}

static void limit(int resource, rlim_t most)
{
    struct rlimit limits = {most, most};
    if (setrlimit(resource, &limits) != 0) {
        abort();
    }
}

/* Engines print what they think of a model; nobody reads it. */
static void be_quiet(void)
{
    int nothing = open("/dev/null", O_WRONLY);
    if (nothing < 0 || dup2(nothing, 1) < 0 || dup2(nothing, 2) < 0) {
        abort();
    }
}

/* Never returns. */
static void run_trial(const lane *lane, const subject *model, const plan *plan, size_t number, outcome *told)
{
    be_quiet();
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_AS, most_memory);
    limit(RLIMIT_CPU, LONGEST_SECONDS);
    alarm(lane == &lane_preflight ? LONGEST_WAIT : LONGEST_SECONDS);
    told->stage = STAGE_OPEN;
    /* the pages are this process's own */
    mutant made = make_mutant(plan, model->bytes, model->size, number);
    lane->run(model, model->bytes, made.size, told);
    _exit(0);
}

static uint32_t milliseconds_since(const struct timespec *start)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)((now.tv_sec - start->tv_sec) * 1000 + (now.tv_nsec - start->tv_nsec) / 1000000);
}

static void settle(outcome *told, int ended)
{
    if (WIFSIGNALED(ended)) {
        int number = WTERMSIG(ended);
        told->signal = number;
        told->ended = number == SIGALRM || number == SIGXCPU || number == SIGKILL ? ENDED_HUNG : ENDED_CRASHED;
    } else if (WEXITSTATUS(ended) != 0 || told->ended == ENDED_UNKNOWN) {
        /* something called exit in the middle: as bad as a crash */
        told->ended = ENDED_CRASHED;
    }
}

static int try_one(const lane *lane, const subject *model, const plan *plan, size_t number, outcome *told)
{
    struct timespec start;
    int ended = 0;
    clock_gettime(CLOCK_MONOTONIC, &start);
    pid_t child = fork();
    if (child == 0) {
        run_trial(lane, model, plan, number, told);
    }
    while (child > 0 && waitpid(child, &ended, 0) != child) {
        if (errno != EINTR) {
            return 0;
        }
    }
    settle(told, ended);
    told->milliseconds = milliseconds_since(&start);
    return child > 0;
}

/* Never returns. Takes every `step`th trial. */
static void serve(const lane *lane, const subject *model, const plan *plan, size_t first, size_t step, outcome *outcomes)
{
    lane->preload(model->engine);
    for (size_t number = first; number < plan_total(plan); number += step) {
        if (!try_one(lane, model, plan, number, &outcomes[number])) {
            _exit(EXIT_FAILURE);
        }
    }
    _exit(EXIT_SUCCESS);
}

int run_lane(const lane *lane, const subject *model, const plan *plan, int jobs, outcome *outcomes)
{
    int are_well = 1;
    pid_t servers[64];
    fflush(NULL);
    for (int job = 0; job < jobs; job++) {
        servers[job] = fork();
        if (servers[job] == 0) {
            serve(lane, model, plan, (size_t)job, (size_t)jobs, outcomes);
        }
        are_well &= servers[job] > 0;
    }
    for (int job = 0; job < jobs; job++) {
        int ended = 0;
        are_well &= servers[job] > 0 && waitpid(servers[job], &ended, 0) == servers[job] && ended == 0;
    }
    return are_well;
}
