#include "walk.h"

#include <execinfo.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "interpose.h"

static unsigned long number;
static int refusals, is_silent;
static uint64_t kept_models;
static size_t least_size = LEAST;
static unsigned long most = 10000;

/* An allocation that cannot be refused ends the process: say which. */
static void on_abort(int signal_number)
{
    void *frames[64];
    int count = backtrace(frames, 64);
    char line[128];
    int length = snprintf(line, sizeof line, "allocation %lu, of %zu bytes, cannot be refused; signal %d at:\n", number,
                          zi_refused_size(), signal_number);
    ssize_t written = write(STDERR_FILENO, line, (size_t)length);
    (void)written;
    backtrace_symbols_fd(frames, count, STDERR_FILENO);
    _exit(97);
}

int walk_before(void)
{
    return zi_has_refused();
}

int walk_is_refusal(zb_status status, int before)
{
    if (status != ZB_ERROR_OUT_OF_MEMORY || before || !zi_has_refused()) {
        return 0;
    }
    CHECK_ERROR_SAYS("memory");
    refusals++;
    return 1;
}

void walk_after(int may_be_silent, int before)
{
    is_silent |= may_be_silent && !before && zi_has_refused() && refusals == 0;
}

int walk_is_refused_end(zb_status result)
{
    const int is_refused = result == ZB_ERROR_OUT_OF_MEMORY && zi_has_refused() && refusals == 0;
    refusals += is_refused;
    return is_refused;
}

void walk_allow_silence(void)
{
    is_silent |= zi_has_refused() && refusals == 0;
}

void walk_keep(unsigned models)
{
    kept_models = models;
}

static int is_over(size_t baseline)
{
    for (int32_t kind = ZB_KIND_MODEL; kind <= ZB_KIND_EVENT; kind++) {
        if (zb_live_objects(kind) != (kind == ZB_KIND_MODEL ? kept_models : 0)) {
            return 0;
        }
    }
    return baseline == 0 || zi_live_bytes() <= baseline;
}

/* A thread of a queue that has told of an end lets go of what it held a moment later. */
static int is_soon_over(size_t baseline)
{
    const struct timespec pause = {0, 1000000};
    for (int i = 0; i < 2000 && !is_over(baseline); i++) {
        nanosleep(&pause, NULL);
    }
    return is_over(baseline);
}

static int run(void (*scenario)(void), unsigned long refused, size_t baseline)
{
    number = refused;
    refusals = is_silent = 0;
    zi_begin(least_size, refused);
    scenario();
    zi_end();
    const int has_refused = zi_has_refused();
    int is_right = CHECK(is_soon_over(baseline));
    is_right &= CHECK_EQ(refusals, has_refused && !is_silent);
    if (!is_right) {
        printf("%zu bytes are alive, and were %zu; with allocation %lu refused, of %zu bytes\n", zi_live_bytes(), baseline, refused, zi_refused_size());
    }
    return has_refused && is_right;
}

static void make_long_error(void)
{
    static char path[32000];
    zb_model *model = NULL;
    memset(path, 'n', sizeof path - 1);
    CHECK_STATUS(zb_model_open(path, NULL, &model), ZB_ERROR_IO);
}

void walk(const char *name, void (*scenario)(void))
{
    void *frame[1];
    /* loads what it needs now, and not in the handler */
    (void)backtrace(frame, 1);
    signal(SIGABRT, on_abort);
    signal(SIGSEGV, on_abort);
    /* what is made once stays: with it the place for this thread's last error, in which there is room for one like this */
    make_long_error();
    run(scenario, 0, 0);
    run(scenario, 0, 0);
    size_t baseline = zi_live_bytes();
    unsigned long refused = 1;
    while (refused <= most && run(scenario, refused, baseline)) {
        /* a thread may still have held something when this was counted first */
        baseline = zi_live_bytes();
        refused++;
    }
    CHECK(refused > 1);
    printf("%s: %lu allocations of %zu bytes or more refused, one at a time\n", name, refused - 1, least_size);
    signal(SIGABRT, SIG_DFL);
    signal(SIGSEGV, SIG_DFL);
}

void walk_from(size_t least, const char *name, void (*scenario)(void))
{
    least_size = least;
    walk(name, scenario);
    least_size = LEAST;
}

void walk_first(unsigned long count, const char *name, void (*scenario)(void))
{
    const unsigned long before = most;
    most = count;
    walk(name, scenario);
    most = before;
}
