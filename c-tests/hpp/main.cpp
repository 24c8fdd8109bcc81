// program ENGINE [test...]   runs the tests, as the C tests are run
// program end WAY            does what has to end the process (release, complete, executor, value), and tells how it ended
#include "tables.hpp"

#include <csignal>
#include <exception>

#include <unistd.h>

static void say(const char *text) { static_cast<void>(!write(STDOUT_FILENO, text, std::char_traits<char>::length(text))); }

static void on_abort(int)
{
    say("the process was aborted\n");
    _exit(0);
}

static int end(const char *way)
{
    std::set_terminate([] {
        say("std::terminate was called\n");
        _exit(0);
    });
    std::signal(SIGABRT, on_abort);
    end_by(way);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc == 3 && std::string(argv[1]) == "end") {
        return end(argv[2]);
    }
    // ends the program with a signal if a test hangs
    alarm(zt_under_memcheck() ? 500 : 50);
    std::vector<zt_test> tests;
    for (const auto *table : {&value_tests, &model_tests, &run_tests, &memory_tests, &queue_tests, &event_tests,
                              &coroutine_tests, &throwing_tests}) {
        tests.insert(tests.end(), table->begin(), table->end());
    }
    return zt_main(argc, argv, tests.data(), tests.size());
}
