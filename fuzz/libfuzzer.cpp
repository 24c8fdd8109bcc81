// libFuzzer's entry: the mock engine, one program for each input.
#include "calls.hpp"
#include "world.hpp"

#include <cstdlib>

namespace {

void print_calls()
{
    fprintf(fuzz::report(), "fuzz: mock: %llu calls, guided by coverage\n", static_cast<unsigned long long>(fuzz::calls_made()));
    fflush(fuzz::report());
}

} // namespace

extern "C" int LLVMFuzzerInitialize(int *, char ***)
{
    // libFuzzer itself quiets the engines, by -close_fd_mask=2; the report goes where that was
    setvbuf(fuzz::report(), nullptr, _IOLBF, 1024);
    atexit(print_calls);
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const std::vector<fuzz::Spec> specs = fuzz::specs_of(fuzz::Engine::mock);
    fuzz::interpret(fuzz::Engine::mock, specs, data, size);
    return 0;
}
