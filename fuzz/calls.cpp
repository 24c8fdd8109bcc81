#include "calls.hpp"

#include <atomic>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

extern "C" __attribute__((weak)) void __sanitizer_set_report_fd(void *fd);

namespace fuzz {

namespace {

constexpr unsigned FUNCTIONS = static_cast<unsigned>(Fn::count);

const char *const names[FUNCTIONS] = {
#define ZEROBIND_FUZZ_NAME(name, statuses) #name,
    ZEROBIND_FUZZ_FUNCTIONS(ZEROBIND_FUZZ_NAME)
#undef ZEROBIND_FUZZ_NAME
};

constexpr Statuses statuses_of[FUNCTIONS] = {
#define ZEROBIND_FUZZ_STATUSES(name, statuses) (statuses),
    ZEROBIND_FUZZ_FUNCTIONS(ZEROBIND_FUZZ_STATUSES)
#undef ZEROBIND_FUZZ_STATUSES
};

// relaxed: counting must not order the threads, or a race detector would see less
std::atomic<uint64_t> counts[FUNCTIONS], successes[FUNCTIONS];

struct Past {
    Fn function;
    zb_status status;
};
constexpr unsigned REMEMBERED = 24;
thread_local Past past[REMEMBERED];
thread_local unsigned past_count;

void remember(Fn function, zb_status status)
{
    counts[static_cast<unsigned>(function)].fetch_add(1, std::memory_order_relaxed);
    successes[static_cast<unsigned>(function)].fetch_add(status == ZB_OK, std::memory_order_relaxed);
    past[past_count++ % REMEMBERED] = {function, status};
}

void print_statuses(Statuses statuses)
{
    for (zb_status status = 0; status < 32; status++) {
        if ((statuses & bit(status)) != 0) {
            fprintf(report(), " %s", zb_status_name(status));
        }
    }
}

// A text that cannot be had, is empty, or not as long as was said.
void check_text(Fn function, zb_status status)
{
    char text[64];
    size_t needed = 0;
    const zb_status got = zb_last_error(text, sizeof text, &needed);
    const bool fits = needed <= sizeof text;
    if (needed < 2 || got != (fits ? ZB_OK : ZB_ERROR_BUFFER_TOO_SMALL) || strnlen(text, sizeof text) == sizeof text ||
        (fits && strlen(text) + 1 != needed)) {
        fault("%s gave %s, and the text is bad: %zu bytes, %s", name_of(function), zb_status_name(status), needed,
              zb_status_name(got));
    }
}

} // namespace

const char *name_of(Fn function) { return names[static_cast<unsigned>(function)]; }

Statuses documented(Fn function) { return statuses_of[static_cast<unsigned>(function)] | OK; }

FILE *report()
{
    static FILE *const out = fdopen(dup(STDERR_FILENO), "w");
    return out;
}

void silence_engines()
{
    setvbuf(report(), nullptr, _IOLBF, 1024);
    if (__sanitizer_set_report_fd != nullptr) {
        __sanitizer_set_report_fd(reinterpret_cast<void *>(static_cast<intptr_t>(fileno(report()))));
    }
    if (getenv("ZB_FUZZ_LOUD") != nullptr) {
        return;
    }
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
}

void fault(const char *format, ...)
{
    FILE *const out = report();
    va_list arguments;
    va_start(arguments, format);
    fputs("fuzz: FAULT: ", out);
    vfprintf(out, format, arguments);
    va_end(arguments);
    char text[512] = "";
    (void)zb_last_error(text, sizeof text, nullptr);
    fprintf(out, "\nthe last error of this thread: %s\nits last calls:\n", text);
    for (unsigned i = past_count > REMEMBERED ? past_count - REMEMBERED : 0; i < past_count; i++) {
        const Past &one = past[i % REMEMBERED];
        fprintf(out, "  %s %s\n", name_of(one.function), zb_status_name(one.status));
    }
    fflush(out);
    abort();
}

zb_status done(Fn function, zb_status status, const Expect &expect)
{
    remember(function, status);
    if (status < 0 || status > 31 || (expect.all() & bit(status)) == 0) {
        fprintf(report(), "fuzz: %s gave %s; expected:", name_of(function), zb_status_name(status));
        print_statuses(expect.all());
        fputc('\n', report());
        fault("a wrong status");
    }
    if (status != ZB_OK) {
        check_text(function, status);
    }
    return status;
}

zb_status done_somehow(Fn function, zb_status status)
{
    Expect expect;
    expect.allow(documented(function));
    return done(function, status, expect);
}

void counted(Fn function) { remember(function, ZB_OK); }

uint64_t calls_made(Fn function) { return counts[static_cast<unsigned>(function)].load(std::memory_order_relaxed); }

uint64_t calls_made()
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        sum += calls_made(static_cast<Fn>(i));
    }
    return sum;
}

void print_each()
{
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        fprintf(report(), "%-32s %12llu calls, %12llu well\n", names[i],
                static_cast<unsigned long long>(counts[i].load(std::memory_order_relaxed)),
                static_cast<unsigned long long>(successes[i].load(std::memory_order_relaxed)));
    }
}

unsigned print_never_called()
{
    unsigned missing = 0;
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        if (calls_made(static_cast<Fn>(i)) == 0) {
            fprintf(report(), "fuzz: %s was never called\n", names[i]);
            missing++;
        }
    }
    return missing;
}

} // namespace fuzz
