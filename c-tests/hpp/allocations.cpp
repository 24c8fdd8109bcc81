// A run through zerobind.hpp allocates what the same run through zerobind.h does: nothing of its own.
//
//     program tflite|onnxruntime
//
// Every block that this thread takes is counted, those of the engine too: by malloc and its kin, which this program replaces,
// and by operator new. The same run in C tells what the engine takes. Linux with glibc only; optimised, as programs are.
#include "hpp_test.hpp"

#include <cerrno>
#include <vector>

// of this thread: the watchdog of deadlines, for one, has its own
static thread_local std::uint64_t blocks = 0;

extern "C" {
void *__libc_malloc(std::size_t size);
void *__libc_calloc(std::size_t count, std::size_t size);
void *__libc_realloc(void *block, std::size_t size);
void *__libc_memalign(std::size_t alignment, std::size_t size);

void *malloc(std::size_t size)
{
    blocks++;
    return __libc_malloc(size);
}

void *calloc(std::size_t count, std::size_t size)
{
    blocks++;
    return __libc_calloc(count, size);
}

void *realloc(void *block, std::size_t size)
{
    blocks++;
    return __libc_realloc(block, size);
}

void *aligned_alloc(std::size_t alignment, std::size_t size)
{
    blocks++;
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **block, std::size_t alignment, std::size_t size)
{
    blocks++;
    *block = __libc_memalign(alignment, size);
    return *block != nullptr ? 0 : ENOMEM;
}
}

// apart from malloc, so that neither hides the other
static thread_local std::uint64_t news = 0;

void *operator new(std::size_t size)
{
    news++;
    void *block = malloc(size);
    if (block == nullptr) {
        std::abort();
    }
    return block;
}

void *operator new(std::size_t size, const std::nothrow_t &) noexcept
{
    news++;
    return malloc(size);
}

void operator delete(void *block) noexcept { free(block); }
void operator delete(void *block, std::size_t) noexcept { free(block); }

namespace {

constexpr int rounds = 200;

struct Count {
    std::uint64_t blocks, news;
};

template <class Run>
Count count(Run run)
{
    // what is made once is made, also what the engine keeps of each of 8 buffers once they have come round a few times
    for (int i = 0; i < 32; i++) {
        run();
    }
    const Count before = {blocks, news};
    for (int i = 0; i < rounds; i++) {
        run();
    }
    return {blocks - before.blocks, news - before.news};
}

void compare(const char *what, const Count &c, const Count &cpp)
{
    std::printf("%s, %d runs: %llu blocks and %llu times operator new through zerobind.h, %llu and %llu through zerobind.hpp\n",
                what, rounds, static_cast<unsigned long long>(c.blocks), static_cast<unsigned long long>(c.news),
                static_cast<unsigned long long>(cpp.blocks), static_cast<unsigned long long>(cpp.news));
    CHECK(cpp.blocks == c.blocks);
    CHECK(cpp.news == c.news);
}

void hooks_count()
{
    const Count before = {blocks, news};
    // volatile, or the compiler leaves out what nobody uses
    void *volatile block = malloc(16);
    free(block);
    int *volatile number = new int(5);
    delete number;
    CHECK(blocks - before.blocks == 2);
    CHECK(news - before.news == 1);
    // and a call that fails is seen to keep its text
    const Count failing = count([] { CHECK_RESULT(zb::Context().infer(), ZB_ERROR_NULL_ARGUMENT); });
    CHECK(failing.news >= rounds);
}

void bound_runs()
{
    Sum sum;
    const Count c = count([&] { REQUIRE(zb_infer(sum.context.get(), nullptr) == ZB_OK); });
    const Count cpp = count([&] { REQUIRE(bool(sum.context.infer())); });
    compare("bound", c, cpp);
    const Count with_deadline = count([&] { REQUIRE(bool(sum.context.infer({std::chrono::hours(1)}))); });
    zb_infer_options options = ZB_INFER_OPTIONS_INIT;
    options.deadline_ns = UINT64_C(3600000000000);
    compare("with a deadline", count([&] { REQUIRE(zb_infer(sum.context.get(), &options) == ZB_OK); }), with_deadline);
    CHECK_FOUR(sum.z, 11, 22, 33, 44);
    CHECK_EQ(take(sum.context.stats()).allocations, 0);
}

void lent_runs()
{
    const zb::Model model = open_model("add4");
    zb::Context context = take(zb::Context::create(model));
    const zb::Input<float> slot = take(model.input<float>("x"));
    const zb::DescOf<float> four({4});
    static Four x[8], y{10, 20, 30, 40}, z[8];
    int i = 0;
    const auto in_c = [&] {
        Four *const from = &x[i % 8], *const to = &z[i % 8];
        i++;
        const zb_loan loans[3] = {zb_loan_input(ZB_INPUT(0), from->v, 16, sizeof *from, four.get()),
                                  zb_loan_input(ZB_INPUT(1), y.v, 16, sizeof y, nullptr),
                                  zb_loan_output(ZB_OUTPUT(0), to->v, 16, nullptr)};
        REQUIRE(zb_infer_with(context.get(), loans, 3, nullptr) == ZB_OK);
    };
    const auto in_cpp = [&] {
        Four *const from = &x[i % 8], *const to = &z[i % 8];
        i++;
        REQUIRE(bool(context.infer_with({zb::in(slot, from->v, sizeof *from, &four),
                                         zb::in(zb::input(1), zb::Span<const float>(y.v), sizeof y),
                                         zb::out(zb::output(0), to->v)})));
    };
    compare("lent", count(in_c), count(in_cpp));
    CHECK_FOUR(z[3], 10, 20, 30, 40);
    CHECK_EQ(take(context.stats()).allocations, 0);
}

// Questions that a loop asks after each run.
void what_is_asked_after_runs()
{
    zb::Context context = make_context("add4");
    Sum sum;
    take(sum.context.infer());
    const Count asked = count([&] {
        REQUIRE(bool(sum.context.output_view<float>(zb::output(0))));
        REQUIRE(bool(sum.context.report(zb::output(0))));
        REQUIRE(bool(sum.context.slot_desc(zb::output(0))));
        REQUIRE(bool(sum.context.stats()));
        REQUIRE(bool(sum.tensors[0].span<float>()));
    });
    CHECK_EQ(asked.blocks, 0);
    CHECK_EQ(asked.news, 0);
}

} // namespace

int main(int argc, char **argv)
{
    static const zt_test tests[] = {ON_BOTH(hooks_count), ON_BOTH(bound_runs), ON_BOTH(lent_runs),
                                    ON_BOTH(what_is_asked_after_runs)};
    return zt_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
