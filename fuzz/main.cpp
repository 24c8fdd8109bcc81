// The driver without libFuzzer: programs of random bytes, or one from a file.
//
//     fuzz ENGINE [seconds=N] [calls=N] [seed=N] [size=N] [last=FILE] [all] [each] [INPUT...]
//
// Each program is written to FILE before it is run, so that one that ends the process can be run again: `fuzz ENGINE FILE`.
#include "calls.hpp"
#include "world.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Arguments {
    fuzz::Engine engine = fuzz::Engine::mock;
    uint64_t seconds = 0, calls = UINT64_MAX, seed = 1, size = 1200;
    const char *last = nullptr;
    bool needs_all = false; // every function has to be called
    bool tells_each = false;
    std::vector<const char *> inputs;
};

const char *value_of(const char *argument, const char *key)
{
    const size_t length = strlen(key);
    return strncmp(argument, key, length) == 0 && argument[length] == '=' ? argument + length + 1 : nullptr;
}

bool take_number(const char *argument, const char *key, uint64_t &number)
{
    const char *const value = value_of(argument, key);
    if (value != nullptr) {
        number = strtoull(value, nullptr, 10);
    }
    return value != nullptr;
}

[[noreturn]] void usage()
{
    fputs("usage: fuzz mock|tflite|onnxruntime [seconds=N] [calls=N] [seed=N] [size=N] [last=FILE] [all] [each] [INPUT...]\n", stderr);
    exit(2);
}

Arguments read_arguments(int argc, char **argv)
{
    Arguments read;
    const std::string engine = argc > 1 ? argv[1] : "";
    if (engine == "tflite") {
        read.engine = fuzz::Engine::tflite;
    } else if (engine == "onnxruntime") {
        read.engine = fuzz::Engine::onnxruntime;
    } else if (engine != "mock") {
        usage();
    }
    for (int i = 2; i < argc; i++) {
        const char *const argument = argv[i];
        if (take_number(argument, "seconds", read.seconds) || take_number(argument, "calls", read.calls) ||
            take_number(argument, "seed", read.seed) || take_number(argument, "size", read.size)) {
            continue;
        }
        if (const char *file = value_of(argument, "last")) {
            read.last = file;
        } else if (strcmp(argument, "all") == 0) {
            read.needs_all = true;
        } else if (strcmp(argument, "each") == 0) {
            read.tells_each = true;
        } else {
            read.inputs.push_back(argument);
        }
    }
    return read;
}

// splitmix64: every seed gives another sequence
uint64_t next(uint64_t &state)
{
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
}

void make_program(uint64_t seed, size_t most, std::vector<uint8_t> &program)
{
    uint64_t state = seed;
    program.resize(16 + next(state) % most);
    for (uint8_t &byte : program) {
        byte = static_cast<uint8_t>(next(state));
    }
}

std::vector<uint8_t> read_program(const char *path)
{
    std::vector<uint8_t> bytes;
    FILE *const file = fopen(path, "rb");
    if (file == nullptr) {
        fprintf(stderr, "fuzz: cannot read %s\n", path);
        exit(2);
    }
    for (int byte; (byte = fgetc(file)) != EOF;) {
        bytes.push_back(static_cast<uint8_t>(byte));
    }
    fclose(file);
    return bytes;
}

void keep(int file, const std::vector<uint8_t> &program)
{
    if (file >= 0 && (pwrite(file, program.data(), program.size(), 0) < 0 ||
                      ftruncate(file, static_cast<off_t>(program.size())) != 0)) {
        fuzz::fault("the program cannot be kept");
    }
}

} // namespace

int main(int argc, char **argv)
{
    const Arguments arguments = read_arguments(argc, argv);
    const std::vector<fuzz::Spec> specs = fuzz::specs_of(arguments.engine);
    const int last = arguments.last != nullptr ? open(arguments.last, O_RDWR | O_CREAT | O_CLOEXEC, 0644) : -1;
    fuzz::silence_engines();
    const auto start = Clock::now();
    uint64_t programs = 0;
    std::vector<uint8_t> program;
    for (const char *path : arguments.inputs) {
        program = read_program(path);
        alarm(300);
        fuzz::interpret(arguments.engine, specs, program.data(), program.size());
        programs++;
    }
    const bool is_random = arguments.inputs.empty() || arguments.seconds > 0;
    while (is_random && Clock::now() - start < std::chrono::seconds(arguments.seconds) && fuzz::calls_made() < arguments.calls) {
        make_program(arguments.seed + programs, arguments.size, program);
        keep(last, program);
        // a program that hangs ends by a signal
        alarm(300);
        fuzz::interpret(arguments.engine, specs, program.data(), program.size());
        programs++;
    }
    alarm(0);
    const double time = std::chrono::duration<double>(Clock::now() - start).count();
    fprintf(fuzz::report(), "fuzz: %s: %llu programs, %llu calls in %.1f s, 0 faults (seeds from %llu)\n", argv[1],
            static_cast<unsigned long long>(programs), static_cast<unsigned long long>(fuzz::calls_made()), time,
            static_cast<unsigned long long>(arguments.seed));
    if (arguments.tells_each) {
        fuzz::print_each();
    }
    if (arguments.needs_all && fuzz::print_never_called() > 0) {
        return 1;
    }
    return 0;
}
