/*
 * What hostile models make an engine do, one thing after the other, by the mock engine: the trial tells what it was and at
 * which stage, in time, and leaves nothing running.
 */
#include "../mock.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The path by which the helper is started, of this process alone, so that what is left of it is found. */
static char helper[160];

static double seconds(void)
{
    struct timespec now;
    REQUIRE(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* How many processes were started by that path and are there. */
static int running(void)
{
    int count = 0;
    DIR *processes = opendir("/proc");
    REQUIRE(processes != NULL);
    for (struct dirent *entry = readdir(processes); entry != NULL; entry = readdir(processes)) {
        char path[300], line[200] = "";
        snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        FILE *file = entry->d_name[0] >= '0' && entry->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        if (file != NULL) {
            count += fgets(line, sizeof line, file) != NULL && strcmp(line, helper) == 0;
            fclose(file);
        }
    }
    closedir(processes);
    return count;
}

static zb_preflight_options options_with(uint64_t milliseconds)
{
    zb_preflight_options options = ZB_PREFLIGHT_OPTIONS_INIT;
    options.helper = helper;
    options.timeout_ns = milliseconds * 1000000;
    return options;
}

static zb_status try_lines_with(const char *lines, const zb_preflight_options *options)
{
    char text[1024];
    int size = snprintf(text, sizeof text, "zerobind-mock 1\n%s", lines);
    REQUIRE(size > 0 && (size_t)size < sizeof text);
    return zb_model_preflight_bytes(text, (size_t)size, NULL, options);
}

/* z = x + y, with one more line. */
static zb_status try_line(const char *line, uint64_t milliseconds)
{
    char lines[512];
    zb_preflight_options options = options_with(milliseconds);
    snprintf(lines, sizeof lines, MOCK_ADD4 "%s\n", line);
    return try_lines_with(lines, &options);
}

static void what_does_nothing_bad_passes(void)
{
    CHECK_OK(try_line("", 0));
    CHECK_OK(try_line("open log error hello", 0));
    CHECK_EQ(running(), 0);
}

typedef struct ending {
    const char *action;
    const char *how;
} ending;

/* Every stage, every way. */
static void the_stage_and_the_way_are_told(void)
{
    static const char *const stages[][2] = {
        {"open", "stage load"},   {"context", "stage plan"},       {"plan", "stage plan"}, {"run", "stage run"},
        {"finish", "stage run"}, {"context-drop", "stage close"}, {"model-drop", "stage close"},
    };
    static const ending endings[] = {
        {"abort", "signal 6 (SIGABRT"},        {"bad-access", "signal 11 (SIGSEGV"},
        {"divide-by-zero", "signal 8 (SIGFPE"}, {"exit 0", "exit(0)"},
        {"exit 3", "exit(3)"},
    };
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        for (size_t j = 0; j < sizeof endings / sizeof *endings; j++) {
            char line[64];
            snprintf(line, sizeof line, "%s do %s", stages[i][0], endings[j].action);
            CHECK_STATUS(try_line(line, 0), ZB_ERROR_MODEL_INVALID);
            CHECK_ERROR_SAYS(stages[i][1]);
            CHECK_ERROR_SAYS(endings[j].how);
        }
    }
    CHECK_EQ(running(), 0);
}

static void refusals_keep_their_status_and_text(void)
{
    CHECK_STATUS(try_line("open fail UNSUPPORTED no such thing", 0), ZB_ERROR_UNSUPPORTED);
    CHECK_ERROR_SAYS("stage load: no such thing");
    CHECK_STATUS(try_line("plan fail RUNTIME back\\slash", 0), ZB_ERROR_RUNTIME);
    CHECK_ERROR_SAYS("stage plan: back\\slash");
    CHECK_STATUS(try_line("run fail OUT_OF_MEMORY nothing left", 0), ZB_ERROR_OUT_OF_MEMORY);
    CHECK_ERROR_SAYS("nothing left; it was allowed ");
    CHECK_STATUS(try_line("finish fail RUNTIME cannot be looked at", 0), ZB_ERROR_RUNTIME);
    CHECK_ERROR_SAYS("stage run: cannot be looked at");
    CHECK_STATUS(try_line("run panic oh no", 0), ZB_ERROR_PANIC);
    CHECK_ERROR_SAYS("oh no");
}

/* At most what was allowed, and the time that a machine under load may take to notice. */
static void check_time(double start, double allowed)
{
    double took = seconds() - start;
    CHECK(took >= allowed && took < allowed + 8);
}

static void what_hangs_is_ended_in_time(void)
{
    static const char *const lines[][2] = {
        {"open do spin", "stage load"}, {"plan sleep-ms 1000000", "stage plan"}, {"run do spin", "stage run"}};
    for (size_t i = 0; i < 3; i++) {
        double start = seconds();
        CHECK_STATUS(try_line(lines[i][0], 300), ZB_ERROR_MODEL_INVALID);
        CHECK_ERROR_SAYS(lines[i][1]);
        CHECK_ERROR_SAYS("within 300ms");
        check_time(start, 0.3);
    }
    CHECK_EQ(running(), 0);
}

static void memory_is_limited(void)
{
    char lines[256];
    zb_preflight_options options = options_with(0);
    options.max_memory_bytes = 256u << 20;
    snprintf(lines, sizeof lines, MOCK_ADD4 "run do hog %d\n", 100);
    CHECK_OK(try_lines_with(lines, &options));
    snprintf(lines, sizeof lines, MOCK_ADD4 "run do hog %d\n", 300);
    CHECK_STATUS(try_lines_with(lines, &options), ZB_ERROR_MODEL_INVALID);
    CHECK_ERROR_SAYS("stage run");
    CHECK_ERROR_SAYS("it was allowed 268435456 bytes");
    CHECK_ERROR_SAYS("memory allocation of");
}

static void words_are_not_the_hosts(void)
{
    /* more than a pipe holds, and the last of them are told */
    CHECK_STATUS(try_line("run do chatter 2\nfinish do abort", 0), ZB_ERROR_MODEL_INVALID);
    CHECK_ERROR_SAYS("its last words: ");
    CHECK_ERROR_SAYS("again and again");
    CHECK_OK(try_line("run do chatter 2", 0));
    /* what an engine writes where it does not belong is no word of the helper's */
    CHECK_OK(try_line("run do scribble", 0));
    CHECK_STATUS(try_line("run do scribble\nfinish do exit 0", 0), ZB_ERROR_MODEL_INVALID);
    CHECK_ERROR_SAYS("stage run");
}

static void nothing_is_left_running(void)
{
    CHECK_OK(try_line("run do spinning-thread", 0));
    CHECK_EQ(running(), 0);
    CHECK_OK(try_line("run do daemon", 0));
    CHECK_EQ(running(), 0);
    CHECK_STATUS(try_line("run do daemon\nfinish do abort", 0), ZB_ERROR_MODEL_INVALID);
    CHECK_EQ(running(), 0);
    CHECK_STATUS(try_line("run do daemon\nfinish do spin", 300), ZB_ERROR_MODEL_INVALID);
    CHECK_EQ(running(), 0);
}

/* Not even without the process that watches. */
static void the_watcher_may_be_ended(void)
{
    CHECK_STATUS(try_line("run do end-parent", 500), ZB_ERROR_MODEL_INVALID);
    CHECK_ERROR_SAYS("stage run");
    CHECK_EQ(running(), 0);
}

static void a_helper_of_another_build(void)
{
    zb_preflight_options options = options_with(0);
    options.helper = OTHER_HELPER;
    CHECK_STATUS(try_lines_with(MOCK_ADD4, &options), ZB_ERROR_RUNTIME_UNAVAILABLE);
    CHECK_ERROR_SAYS("is of zerobind");
    CHECK_ERROR_SAYS("mock");
    /* the right one is found without being named, and by the variable */
    options.helper = NULL;
    CHECK_OK(try_lines_with(MOCK_ADD4, &options));
    REQUIRE(setenv("ZEROBIND_PREFLIGHT", OTHER_HELPER, 1) == 0);
    CHECK_STATUS(try_lines_with(MOCK_ADD4, &options), ZB_ERROR_RUNTIME_UNAVAILABLE);
    REQUIRE(setenv("ZEROBIND_PREFLIGHT", helper, 1) == 0);
    CHECK_OK(try_lines_with(MOCK_ADD4, &options));
    REQUIRE(unsetenv("ZEROBIND_PREFLIGHT") == 0);
}

/* A pipe that the host has not kept from its children does not get into the trial, where it would be held open. */
static void the_hosts_descriptors_stay_its_own(void)
{
    int ends[2], in_trial = 0;
    char byte;
    REQUIRE(pipe(ends) == 0);
    /* the engine writes into every descriptor that it has */
    CHECK_OK(try_line("run do scribble", 0));
    close(ends[1]);
    in_trial = read(ends[0], &byte, 1) > 0;
    CHECK_EQ(in_trial, 0);
    close(ends[0]);
}

int main(int argc, char **argv)
{
    static const zt_test tests[] = {
        ON_BOTH(what_does_nothing_bad_passes),
        ON_BOTH(the_stage_and_the_way_are_told),
        ON_BOTH(refusals_keep_their_status_and_text),
        ON_BOTH(what_hangs_is_ended_in_time),
        ON_BOTH(memory_is_limited),
        ON_BOTH(words_are_not_the_hosts),
        ON_BOTH(nothing_is_left_running),
        ON_BOTH(the_watcher_may_be_ended),
        ON_BOTH(a_helper_of_another_build),
        ON_BOTH(the_hosts_descriptors_stay_its_own),
    };
    char folder[] = "/tmp/zerobind-preflight-XXXXXX";
    alarm(150);
    REQUIRE(mkdtemp(folder) != NULL);
    snprintf(helper, sizeof helper, "%s/helper", folder);
    REQUIRE(symlink(MOCK_HELPER, helper) == 0);
    int failed = zt_main(argc, argv, tests, sizeof tests / sizeof *tests);
    REQUIRE(unlink(helper) == 0 && rmdir(folder) == 0);
    return failed;
}
