// Direct runs: bound, lent, of open shapes, with state, by view; what stops them, and what is told of them.
#include "hpp_test.hpp"
#include "tables.hpp"

#include <algorithm>
#include <numeric>

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// Room for vectors that engines take.
template <class T>
struct Aligned {
    using value_type = T;
    Aligned() = default;
    template <class U>
    Aligned(const Aligned<U> &) noexcept
    {
    }
    T *allocate(std::size_t count)
    {
        return static_cast<T *>(::operator new(count * sizeof(T), std::align_val_t{64}));
    }
    void deallocate(T *memory, std::size_t) { ::operator delete(memory, std::align_val_t{64}); }
    friend bool operator==(Aligned, Aligned) { return true; }
    friend bool operator!=(Aligned, Aligned) { return false; }
};

void bound_memory_is_used_in_place()
{
    Sum sum;
    for (int i = 0; i < 3; i++) {
        sum.x.v[0] = static_cast<float>(i);
        take(sum.context.infer());
        CHECK_FOUR(sum.z, static_cast<float>(i) + 10, 22, 33, 44);
    }
    const zb_binding_report report = take(sum.context.report(zb::output(0)));
    CHECK_EQ(report.path, ZB_PATH_DIRECT);
    CHECK_ADDRESS(report.engine_address, sum.z.v);
    const zb_context_stats stats = take(sum.context.stats());
    CHECK_EQ(stats.runs, 3);
    CHECK_EQ(stats.bytes_copied, 0);
    CHECK_EQ(stats.allocations, 0);
    take(sum.context.unbind(zb::input(0)));
    const zb::Result<void> unbound = sum.context.infer();
    CHECK_RESULT(unbound, ZB_ERROR_UNBOUND);
    CHECK_SAYS(unbound.error(), "x");
}

void lent_memory_is_new_every_time()
{
    zb::Context context = make_context("add4");
    for (int i = 0; i < 3; i++) {
        const auto x = std::make_unique<Four>(1.0f, 2.0f, 3.0f, 4.0f), y = std::make_unique<Four>(static_cast<float>(i));
        auto z = std::make_unique<Four>();
        take(context.infer_with({zb::in(zb::input(0), x->v, sizeof(Four)), zb::in(zb::input(1), y->v, sizeof(Four)),
                                 zb::out(zb::output(0), z->v)}));
        CHECK_FOUR(*z, static_cast<float>(i) + 1, 2, 3, 4);
        CHECK_EQ(take(context.report(zb::input(0))).path, ZB_PATH_DIRECT);
    }
    CHECK_RESULT(context.infer(), ZB_ERROR_UNBOUND);
}

// Slots that know their type, and a list of loans that lives longer than one call.
void loans_of_typed_slots()
{
    const zb::Model model = open_model("add4");
    zb::Context context = take(zb::Context::create(model));
    const zb::Input<float> x = take(model.input<float>("x")), y = take(model.input<float>("y"));
    const zb::Output<float> z = take(model.output<float>("z"));
    const Four a{1, 1, 1, 1}, b{2, 2, 2, 2};
    Four sum;
    const zb::DescOf<float> four({4});
    const auto loans = {zb::in(x, a.v, sizeof a, &four), zb::in(y, zb::Span<const float>(b.v), sizeof b),
                        zb::out(z, sum.v, &four)};
    take(context.infer_with(loans));
    CHECK_FOUR(sum, 3, 3, 3, 3);
    take(context.infer_with(loans, {milliseconds(60000)}));
    std::vector<zb_loan> chosen(loans);
    take(context.infer_with(chosen.data(), chosen.size()));
    take(context.infer_with(chosen.data(), chosen.size(), zb::InferOptions{milliseconds(60000)}));
    CHECK_EQ(take(context.stats()).runs, 4);
    // what is wrong with a loan is told as in C
    const zb::DescOf<float> two({2, 2});
    CHECK_RESULT(context.infer_with({zb::in(x, a.v, sizeof a, &two), loans.begin()[1], loans.begin()[2]}),
                 ZB_ERROR_SHAPE_MISMATCH);
    CHECK_RESULT(context.infer_with({loans.begin()[0], loans.begin()[0]}), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_RESULT(context.infer_with({zb::in(zb::output(0), a.v)}), ZB_ERROR_READ_ONLY);
    CHECK_RESULT(context.infer_with({zb::out(zb::input(0), sum.v)}), ZB_ERROR_INVALID_ARGUMENT);
    // a loan that is neither: bytes of any type, here with another type than the slot's
    std::array<std::byte, 16> bytes = {};
    const zb::Desc ints(zb::DType::i32, {4});
    CHECK_RESULT(context.infer_with({zb::in(x, a.v), loans.begin()[1], zb::out(zb::output(0), bytes, &ints)}),
                 ZB_ERROR_DTYPE_MISMATCH);
    // memory that is too short for the shape
    CHECK(!context.infer_with({zb::in(x, zb::Span<const float>(a.v, 3)), loans.begin()[1], loans.begin()[2]}));
}

void shapes_that_are_open()
{
    zb::Context context = make_context("batch");
    alignas(64) float x[64], y[64] = {};
    std::iota(x, x + 64, 0.0f);
    for (std::int64_t batch = 1; batch <= 7; batch++) {
        const auto count = static_cast<std::size_t>(4 * batch);
        const zb::DescOf<float> desc({batch, 4});
        take(context.infer_with({zb::in(zb::input(0), zb::Span<float>(x, count), sizeof x, &desc),
                                 zb::out(zb::output(0), zb::Span<float>(y, count))}));
        const float last = y[count - 1], expected = 2 * x[count - 1];
        CHECK_FLOATS(&last, &expected, 1, 0);
        const zb::SlotDesc now = take(context.slot_desc(zb::output(0)));
        CHECK(now.desc == desc);
        CHECK_EQ(now.size_bytes, count * sizeof(float));
    }
    take(context.resize_input(zb::input(0), {3, 4}));
    take(context.prepare());
    CHECK_EQ(take(context.slot_info(zb::output(0))).desc()[0], 3);
    CHECK_EQ(take(context.requirements(zb::input(0))).size, 48);
    CHECK(take(context.requirements(zb::input(0))).alignment >= 4);
    CHECK_RESULT(context.resize_input(zb::input(0), {3, 5}), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_RESULT(context.resize_input(zb::output(0), {3, 4}), ZB_ERROR_INVALID_ARGUMENT);
    // an output of unknown shape: room with -1, where the engine plans it in place
    const zb::DescOf<float> room({-1, 4});
    take(context.infer_with({zb::in(zb::input(0), zb::Span<float>(x, 12), sizeof x), zb::out(zb::output(0), y, &room)}));
    CHECK_EQ(take(context.slot_desc(zb::output(0))).desc[0], 3);
}

// y = x + 2 * state, next = x + state / 2
void state_goes_round()
{
    zb::Context context = make_context("recurrent");
    Four x{1, 1, 1, 1}, y, a, b;
    take(context.bind(zb::input(0), take(zb::Tensor::wrap(x.v, {4}, sizeof x))));
    take(context.bind(zb::input(1), take(zb::Tensor::wrap(a.v, {4}, sizeof a))));
    take(context.bind(zb::output(0), take(zb::Tensor::wrap(y.v, {4}, sizeof y))));
    take(context.bind(zb::output(1), take(zb::Tensor::wrap(b.v, {4}, sizeof b))));
    const float expected[3] = {1, 3, 4};
    for (const float value : expected) {
        take(context.infer());
        CHECK_FOUR(y, value, value, value, value);
        take(context.swap(zb::output(1), zb::input(1)));
    }
    CHECK_EQ(take(context.stats()).bytes_copied, 0);
    CHECK_RESULT(context.swap(zb::input(0), zb::input(9)), ZB_ERROR_INVALID_ARGUMENT);
}

// y = the sum of all x since the interpreter was made
void state_inside_the_engine_is_reset()
{
    zb::Context context = make_context("accumulator");
    alignas(64) float x[24] = {1, 1, 1, 1, 1, 1, 1, 1}, y[24];
    const auto run = [&] {
        take(context.infer_with({zb::in(zb::input(0), zb::Span<float>(x, 8), sizeof x),
                                 zb::out(zb::output(0), zb::Span<float>(y, 8))}));
        return y[7];
    };
    CHECK(run() < 1.5f && run() > 1.5f);
    take(context.reset_state());
    CHECK(run() < 1.5f);
}

void outputs_by_view()
{
    const zb::Model model = open_model("two_out");
    zb::Context context = take(zb::Context::create(model));
    alignas(64) float x[24] = {1, 2, 3, 4, 5, 6, 7, 8};
    take(context.bind(zb::input(0), take(zb::Tensor::wrap(zb::Span<float>(x, 8), {8}, sizeof x))));
    const zb::Result<zb::Span<const float>> early = context.output_view<float>(zb::output(0));
    CHECK_RESULT(early, ZB_ERROR_UNBOUND);
    take(context.infer());
    zb::Desc desc;
    const zb::Span<const float> twice = take(context.output_view(take(model.output<float>("b")), &desc));
    REQUIRE(twice.size() == 8);
    CHECK(desc == zb::DescOf<float>({8}));
    for (std::size_t i = 0; i < 8; i++) {
        const float expected = 2 * x[i];
        CHECK_FLOATS(&twice[i], &expected, 1, 0);
    }
    const zb::Result<zb::Span<const std::int32_t>> wrong = context.output_view<std::int32_t>(zb::output(0));
    CHECK_RESULT(wrong, ZB_ERROR_DTYPE_MISMATCH);
    CHECK_SAYS(wrong.error(), "f32");
    CHECK_EQ(take(context.output_view<std::byte>(zb::output(0))).size(), 32);
}

// The size of the result is in the data.
void outputs_of_unknown_size()
{
    zb::Context context = make_context("nonzero");
    alignas(64) float x[32] = {0, 1, 0, 0, 1};
    take(context.infer_with({zb::in(zb::input(0), zb::Span<float>(x, 16), sizeof x)}));
    zb::Desc desc;
    const zb::Span<const std::int64_t> hits = take(context.output_view<std::int64_t>(zb::output(0), &desc));
    REQUIRE(hits.size() == 2);
    CHECK_EQ(hits[0], 1);
    CHECK_EQ(hits[1], 4);
    CHECK_EQ(desc[0], 2);
    alignas(64) std::int64_t room[16];
    const zb::DescOf<std::int64_t> open({-1, 1});
    CHECK_RESULT(context.infer_with({zb::in(zb::input(0), zb::Span<float>(x, 16), sizeof x),
                                     zb::out(zb::output(0), room, &open)}),
                 ZB_ERROR_COPY_REQUIRED);
}

void copies_are_made_where_allowed()
{
    zb::ContextOptions options;
    options.copy = zb::Copy::allow;
    zb::Context copying = make_context("add4", options), strict = make_context("add4");
    const Four x{1, 2, 3, 4};
    alignas(64) std::byte place[96] = {};
    Four z;
    std::copy_n(reinterpret_cast<const std::byte *>(x.v), 16, place + 1);
    const auto loans = {zb::in(zb::input(0), zb::Span<std::byte>(place + 1, 16), 64), zb::in(zb::input(1), x.v, sizeof x),
                        zb::out(zb::output(0), z.v)};
    CHECK_RESULT(strict.infer_with(loans), ZB_ERROR_MISALIGNED);
    take(copying.infer_with(loans));
    CHECK_FOUR(z, 2, 4, 6, 8);
    const zb_binding_report report = take(copying.report(zb::input(0)));
    CHECK_EQ(report.path, ZB_PATH_STAGED);
    CHECK_EQ(report.bytes_copied, 16);
}

void an_output_over_an_input_is_refused()
{
    zb::Context context = make_context("add4");
    Four x{1, 2, 3, 4}, y;
    const zb::Result<void> refused = context.infer_with(
        {zb::in(zb::input(0), x.v, sizeof x), zb::in(zb::input(1), y.v, sizeof y), zb::out(zb::output(0), x.v)});
    CHECK_RESULT(refused, ZB_ERROR_ALIASED);
    CHECK_FOUR(x, 1, 2, 3, 4);
}

// What is left of a budget may be nothing, which is another thing than no budget.
void deadlines()
{
    Sum sum;
    CHECK_RESULT(sum.context.infer({nanoseconds(0)}), ZB_ERROR_DEADLINE_EXCEEDED);
    CHECK_RESULT(sum.context.infer({milliseconds(-5)}), ZB_ERROR_DEADLINE_EXCEEDED);
    CHECK_FOUR(sum.z, 0, 0, 0, 0);
    CHECK_DONE(sum.context.infer({std::chrono::hours(1)}));
    CHECK_DONE(sum.context.infer(zb::InferOptions{}));
    CHECK_FOUR(sum.z, 11, 22, 33, 44);
}

// From another thread, until it is heard; a cancel without a run is forgotten.
void a_run_is_cancelled()
{
    if (zt_under_memcheck()) {
        return; // a minute there; test_cancel.c does it
    }
    zb::ContextOptions options;
    options.options = {{"tflite.xnnpack", "false"}};
    const zb::Model model = open_model("long_chain");
    zb::Context context = take(zb::Context::create(model, options));
    for (const zb::Slot slot : {zb::input(0), zb::output(0)}) {
        take(context.bind(slot, take(zb::Tensor::alloc_for(context, slot))));
    }
    take(context.cancel());
    std::atomic<bool> is_over{false};
    zb_status status = ZB_OK;
    std::thread runner([&] {
        // a cancel may come too late for one run; it is asked again during the next
        for (int i = 0; i < 100 && status == ZB_OK; i++) {
            status = context.infer().status();
        }
        is_over = true;
    });
    while (!is_over) {
        CHECK_DONE(context.cancel());
        std::this_thread::yield();
    }
    runner.join();
    CHECK_STATUS(status, ZB_ERROR_CANCELLED);
}

// A real network, with the recording lent and its answers where they are to stay, against the engine's own API from Python.
void notes_in_music()
{
    if (zt_under_memcheck()) {
        return; // minutes there
    }
    constexpr std::size_t frames = 172;
    const char *names[3] = {"onset", "note", "contour"};
    constexpr std::size_t columns[3] = {88, 88, 264};
    std::vector<float, Aligned<float>> outputs[3], sound(43844 + 16);
    auto *input = static_cast<float *>(zt_read_reference("basic_pitch.music.input.bin", 43844 * sizeof(float)));
    std::copy_n(input, 43844, sound.begin());
    free(input);
    zb::Context context = make_context(zt_is_tflite() ? "basic_pitch_static" : "basic_pitch");
    const zb::DescOf<float> shape({1, 43844, 1});
    std::vector<zb::DescOf<float>> shapes;
    std::vector<zb_loan> loans = {zb::in(zb::input(0), zb::Span<float>(sound.data(), 43844), sound.size() * sizeof(float), &shape)};
    for (const std::size_t width : columns) {
        shapes.emplace_back(zb::Shape{1, frames, static_cast<std::int64_t>(width)});
    }
    for (std::uint32_t i = 0; i < 3; i++) {
        outputs[i].resize(frames * columns[i]);
        loans.push_back(zb::out(zb::output(i), outputs[i], &shapes[i]));
    }
    take(context.infer_with(loans.data(), loans.size()));
    for (std::size_t i = 0; i < 3; i++) {
        const std::string file = std::string("basic_pitch.music.") + (zt_is_tflite() ? "tflite-xnnpack" : "onnxruntime") +
                                 "." + names[i] + ".bin";
        void *reference = zt_read_reference(file.c_str(), outputs[i].size() * sizeof(float));
        CHECK_FLOATS(outputs[i].data(), static_cast<float *>(reference), outputs[i].size(), 1e-4f);
        free(reference);
        CHECK_EQ(take(context.report(zb::output(static_cast<std::uint32_t>(i)))).path, ZB_PATH_DIRECT);
    }
    CHECK_EQ(take(context.stats()).bytes_copied, 0);
}

void a_second_translation_unit()
{
    zb::Context context = make_context("add4");
    const Four x{1, 2, 3, 4}, y{10, 20, 30, 40};
    Four z;
    take(run_elsewhere(context, x.v, y.v, z.v));
    CHECK_FOUR(z, 11, 22, 33, 44);
    CHECK_RESULT(run_elsewhere(context, x.v, y.v, zb::Span<float>(z.v, 1)), ZB_ERROR_BUFFER_TOO_SMALL);
}

} // namespace

const std::vector<zt_test> run_tests = {
    ON_BOTH(bound_memory_is_used_in_place),
    ON_BOTH(lent_memory_is_new_every_time),
    ON_BOTH(loans_of_typed_slots),
    ON_BOTH(shapes_that_are_open),
    ON_BOTH(state_goes_round),
    ON_TFLITE(state_inside_the_engine_is_reset),
    ON_BOTH(outputs_by_view),
    ON_BOTH(outputs_of_unknown_size),
    ON_BOTH(copies_are_made_where_allowed),
    ON_BOTH(an_output_over_an_input_is_refused),
    ON_BOTH(deadlines),
    ON_BOTH(a_run_is_cancelled),
    ON_BOTH(notes_in_music),
    ON_BOTH(a_second_translation_unit),
};
