#include "workers.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

void *share(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    return memory;
}

void describe_end(int signal, int exit_code, char *text, size_t capacity)
{
    if (signal != 0) {
        snprintf(text, capacity, "signal %d (%s)", signal, strsignal(signal));
    } else {
        snprintf(text, capacity, "exit code %d", exit_code);
    }
}

/* `current` is shared: the parent learns from it where a child that died was. */
__attribute__((noreturn)) static void run_batch(const workers *workers, size_t first, volatile size_t *current)
{
    size_t end = workers->items - first < workers->batch ? workers->items : first + workers->batch;
    for (*current = first; *current < end; ++*current) {
        alarm(workers->patience);
        workers->run(workers->user_data, *current);
    }
    alarm(0);
    fflush(NULL);
    /* without the engines' own clean-up, which is tested elsewhere */
    _exit(0);
}

void run_workers(const workers *workers)
{
    volatile size_t *current = share(sizeof *current);
    size_t next = 0;
    while (next < workers->items) {
        int state = 0;
        fflush(NULL);
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            run_batch(workers, next, current);
        }
        REQUIRE(waitpid(child, &state, 0) == child);
        size_t reached = *current;
        if (WIFEXITED(state) && WEXITSTATUS(state) == 0) {
            next = reached;
        } else {
            workers->crashed(workers->user_data, reached, WIFSIGNALED(state) ? WTERMSIG(state) : 0,
                             WIFEXITED(state) ? WEXITSTATUS(state) : 0);
            next = reached + 1;
        }
    }
}
