// The types themselves: what moves, what converts, what an error keeps.
#include "hpp_test.hpp"
#include "tables.hpp"

#include <cmath>
#include <limits>

// --- at compile time ---

template <class T>
constexpr bool owns_like_a_pointer =
    sizeof(T) == sizeof(void *) && std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T> &&
    !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T> && std::is_nothrow_default_constructible_v<T>;
static_assert(owns_like_a_pointer<zb::Model>);
static_assert(owns_like_a_pointer<zb::Context>);
static_assert(owns_like_a_pointer<zb::Tensor>);
static_assert(owns_like_a_pointer<zb::Queue>);
static_assert(owns_like_a_pointer<zb::Event>);
// a handle becomes an object, and back, only where it is written
static_assert(!std::is_convertible_v<zb_context *, zb::Context> && !std::is_convertible_v<zb::Context, bool>);

static_assert(zb::dtype_of<float>::value == zb::DType::f32 && zb::dtype_of<const double>::value == zb::DType::f64);
static_assert(zb::dtype_of<std::int8_t>::value == zb::DType::i8 && zb::dtype_of<std::uint8_t>::value == zb::DType::u8);
static_assert(zb::dtype_of<short>::value == zb::DType::i16 && zb::dtype_of<unsigned short>::value == zb::DType::u16);
static_assert(zb::dtype_of<int>::value == zb::DType::i32 && zb::dtype_of<unsigned>::value == zb::DType::u32);
static_assert(zb::dtype_of<long long>::value == zb::DType::i64 && zb::dtype_of<std::int64_t>::value == zb::DType::i64);
static_assert(zb::dtype_of<std::uint64_t>::value == zb::DType::u64 && zb::dtype_of<bool>::value == zb::DType::boolean);
static_assert(zb::dtype_of<std::complex<float>>::value == zb::DType::c64);
static_assert(zb::dtype_of<std::complex<double>>::value == zb::DType::c128);
// text and pointers are no numbers, bytes are of no type
static_assert(zb::dtype_of<char>::value == zb::DType::invalid && zb::dtype_of<wchar_t>::value == zb::DType::invalid);
static_assert(zb::dtype_of<float *>::value == zb::DType::invalid && zb::dtype_of<std::byte>::value == zb::DType::invalid);

namespace {
struct half {
    std::uint16_t bits;
};
} // namespace
template <>
struct zb::dtype_of<half> {
    static constexpr zb::DType value = zb::DType::f16;
};
static_assert(zb::dtype_of<const half>::value == zb::DType::f16);

#if defined(__cpp_lib_span)
static_assert(std::is_same_v<zb::Span<float>, std::span<float>>);
#endif
static_assert(std::is_convertible_v<zb::Span<float>, zb::Span<const float>>);
static_assert(!std::is_convertible_v<zb::Span<const float>, zb::Span<float>>);
static_assert(!std::is_convertible_v<zb::Span<float>, zb::Span<int>>);
static_assert(std::is_convertible_v<std::vector<float> &, zb::Span<float>>);
static_assert(!std::is_convertible_v<const std::vector<float> &, zb::Span<float>>);
static_assert(zb::input(3).number == ZB_INPUT(3) && zb::output(3).number == ZB_OUTPUT(3));
static_assert(zb::output(3).is_output() && zb::output(3).index() == 3 && zb::input(3) != zb::output(3));

static_assert(zb::forever.ns() == UINT64_MAX);
static_assert(zb::Timeout(std::chrono::milliseconds(3)).ns() == 3000000);
static_assert(zb::Timeout(std::chrono::nanoseconds(0)).ns() == 0);
static_assert(zb::Timeout(std::chrono::seconds(-1)).ns() == 0);
static_assert(zb::Timeout(std::chrono::hours(24 * 365 * 300)).ns() == UINT64_MAX);
static_assert(zb::Timeout((std::chrono::hours::max)()).ns() == UINT64_MAX);
static_assert(zb::Timeout((std::chrono::nanoseconds::min)()).ns() == 0);
// rounded up: a picosecond is more than nothing
static_assert(zb::Timeout(std::chrono::duration<long, std::pico>(1)).ns() == 1);
static_assert(zb::Timeout(std::chrono::duration<double>(0.5)).ns() == 500000000);

// --- at run time ---

namespace {

void durations_that_are_no_numbers()
{
    using Seconds = std::chrono::duration<double>;
    CHECK_EQ(zb::Timeout(Seconds(std::nan(""))).ns(), 0);
    CHECK(zb::Timeout(Seconds(std::numeric_limits<double>::infinity())).ns() == UINT64_MAX);
    CHECK_EQ(zb::Timeout(Seconds(-std::numeric_limits<double>::infinity())).ns(), 0);
}

void spans_of_everything()
{
    float array[3] = {1, 2, 3};
    std::array<float, 3> standard = {1, 2, 3};
    std::vector<float> vector = {1, 2, 3};
    const zb::Span<float> of_array(array), of_standard(standard), of_vector(vector);
    const zb::Span<const float> of_const(of_vector);
    CHECK_ADDRESS(of_array.data(), array);
    CHECK_ADDRESS(of_standard.data(), standard.data());
    CHECK_ADDRESS(of_const.data(), vector.data());
    CHECK_EQ(of_const.size(), 3);
    CHECK_EQ(of_const.size_bytes(), 12);
    CHECK_ADDRESS(of_array.subspan(1).data(), array + 1);
    CHECK_EQ(of_array.subspan(1).size(), 2);
    CHECK_EQ(of_array.subspan(1, 1).size(), 1);
    CHECK_EQ(of_array.first(2).size(), 2);
    CHECK(zb::Span<float>().empty() && !of_array.empty());
    float sum = 0;
    for (const float value : of_vector) {
        sum += value;
    }
    CHECK(sum > 5.9f && sum < 6.1f && of_vector[1] > 1.9f);
}

void descs_and_shapes()
{
    const zb::DescOf<float> desc({2, 3});
    CHECK(desc.dtype() == zb::DType::f32);
    CHECK_EQ(desc.rank(), 2);
    CHECK_EQ(desc[0], 2);
    CHECK_EQ(desc.end() - desc.begin(), 2);
    CHECK_EQ(take(desc.size_bytes()), 24);
    CHECK_EQ(take(zb::Desc(zb::DType::i4, {9}).size_bytes()), 5);
    CHECK_EQ(take(zb::DescOf<half>({}).size_bytes()), 2);
    CHECK(desc == zb::Desc(zb::DType::f32, desc.shape()));
    CHECK(desc != zb::Desc(zb::DType::i32, {2, 3}));
    CHECK(desc != zb::Desc(zb::DType::f32, {2, 4}));
    CHECK(desc != zb::Desc(zb::DType::f32, {2}));
    const zb::Result<std::size_t> open = zb::DescOf<float>({2, -1}).size_bytes();
    CHECK_RESULT(open, ZB_ERROR_SHAPE_MISMATCH);
    // more dimensions than there can be are kept as a number, and nothing is written behind the array
    const std::vector<std::int64_t> many(20, 1);
    const zb::Desc deep(zb::DType::f32, zb::Shape(many.data(), many.size()));
    CHECK_EQ(deep.end() - deep.begin(), ZB_MAX_RANK);
    CHECK_RESULT(deep.size_bytes(), ZB_ERROR_UNSUPPORTED);
    CHECK_RESULT(zb::Tensor::alloc(deep), ZB_ERROR_UNSUPPORTED);
    CHECK(std::string(name(zb::DType::bf16)) == "bf16");
    CHECK_EQ(bits(zb::DType::u4), 4);
}

void errors_keep_their_text()
{
    const zb::Result<zb::Model> missing = zb::Model::open("/nowhere/model.onnx");
    REQUIRE(!missing);
    CHECK_RESULT(missing, ZB_ERROR_IO);
    CHECK_SAYS(missing.error(), "/nowhere/model.onnx");
    CHECK(std::string(missing.error().name()) == "ZB_ERROR_IO");
    // a later error of this thread changes nothing, and a copy is one of its own
    zb::Error copy = missing.error();
    CHECK_RESULT(zb::Tensor::alloc(zb::DescOf<float>({-1})), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_SAYS(missing.error(), "/nowhere/model.onnx");
    CHECK_SAYS(copy, "/nowhere/model.onnx");
    CHECK(copy.text() != missing.error().text());
    zb::Error &same = copy;
    copy = same;
    CHECK_SAYS(copy, "/nowhere/model.onnx");
    const zb::Error moved = std::move(copy);
    CHECK_SAYS(moved, "/nowhere/model.onnx");
    // without a text, the name is the text
    CHECK(std::string(zb::Error().text()) == "ZB_OK");
    CHECK(std::string(zb::Error(ZB_ERROR_BUSY, "").text()) == "ZB_ERROR_BUSY");
    // an error goes into results of other types
    const zb::Result<zb::Context> context = missing.error();
    CHECK_SAYS(context.error(), "/nowhere/model.onnx");
}

void empty_objects_refuse_everything()
{
    zb::Model model;
    zb::Context context;
    zb::Tensor tensor;
    zb::Queue queue;
    zb::Event event;
    float room[4] = {};
    CHECK(!model && !context && !tensor && !queue && !event);
    CHECK_RESULT(zb::Context::create(model), ZB_ERROR_NULL_ARGUMENT);
    CHECK_RESULT(model.slot_counts(), ZB_ERROR_NULL_ARGUMENT);
    CHECK_RESULT(model.input<float>("x"), ZB_ERROR_NULL_ARGUMENT);
    CHECK_RESULT(model.metadata("zerobind.keys"), ZB_ERROR_NULL_ARGUMENT);
    CHECK_RESULT(context.infer(), ZB_ERROR_NULL_ARGUMENT);
    CHECK_RESULT(context.infer_with({zb::in(zb::input(0), room)}), ZB_ERROR_NULL_ARGUMENT);
    CHECK_RESULT(context.bind(zb::input(0), tensor), ZB_ERROR_NULL_ARGUMENT);
    CHECK_RESULT(context.output_view<float>(zb::output(0)), ZB_ERROR_NULL_ARGUMENT);
    CHECK_RESULT(zb::Tensor::alloc_for(context, zb::input(0)), ZB_ERROR_NULL_ARGUMENT);
    CHECK_RESULT(tensor.span<float>(), ZB_ERROR_NULL_ARGUMENT);
    CHECK_RESULT(tensor.to_dlpack(), ZB_ERROR_NULL_ARGUMENT);
    CHECK_RESULT(queue.infer(context), ZB_ERROR_NULL_ARGUMENT);
    CHECK_RESULT(queue.read(tensor, room), ZB_ERROR_NULL_ARGUMENT);
    CHECK_RESULT(queue.fence(), ZB_ERROR_NULL_ARGUMENT);
    CHECK_RESULT(event.wait(), ZB_ERROR_NULL_ARGUMENT);
    CHECK_RESULT(event.on_complete([](zb_status) {}), ZB_ERROR_NULL_ARGUMENT);
    CHECK(!event.is_settled());
    const zb::Result<std::future<zb::Result<void>>> future = zb::to_future(std::move(event));
    CHECK_RESULT(future, ZB_ERROR_NULL_ARGUMENT);
    tensor.reset();
    CHECK_ADDRESS(queue.release(), nullptr);
}

void moves_leave_nothing_behind()
{
    zb::Tensor a = take(zb::Tensor::alloc<float>({4}));
    zb_tensor *const handle = a.get();
    zb::Tensor b = std::move(a);
    CHECK(!a && b);
    CHECK_RESULT(a.desc(), ZB_ERROR_NULL_ARGUMENT);
    // onto itself, by another name, as an algorithm may do it
    zb::Tensor &same = b;
    b = std::move(same);
    CHECK_ADDRESS(b.get(), handle);
    CHECK_DONE(b.desc());
    CHECK_EQ(zb::live_objects(ZB_KIND_TENSOR), 1);
    // what was there is destroyed
    b = take(zb::Tensor::alloc<float>({5}));
    CHECK_EQ(zb::live_objects(ZB_KIND_TENSOR), 1);
    CHECK_EQ(take(b.desc())[0], 5);
    a = std::move(b);
    std::swap(a, b);
    CHECK(!a && b);
    // out to C and back
    zb_tensor *const raw = b.release();
    CHECK(!b);
    CHECK_EQ(zb::live_objects(ZB_KIND_TENSOR), 1);
    a.reset(raw);
    const zb::Tensor again(a.release());
    CHECK_DONE(again.desc());
}

void a_stale_handle_is_told()
{
    zb::Tensor tensor = take(zb::Tensor::alloc<float>({4}));
    zb_tensor *const raw = tensor.get();
    tensor.reset();
    zb_tensor_desc desc;
    CHECK_STATUS(zb_tensor_get_desc(raw, &desc), ZB_ERROR_INVALID_HANDLE);
    // an object made of it refuses everything too, and its destructor does no harm
    const zb::Tensor stale(raw);
    CHECK_RESULT(stale.desc(), ZB_ERROR_INVALID_HANDLE);
}

void a_result_moves_out()
{
    zb::Result<zb::Tensor> result = zb::Tensor::alloc<float>({4});
    REQUIRE(bool(result));
    CHECK_DONE(result->desc());
    const zb::Tensor tensor = *std::move(result);
    CHECK_DONE(tensor.desc());
    CHECK(std::string(result.error().text()) == "ZB_OK");
}

// What is taken out of a temporary is a value, which lives as long as what it is bound to.
static_assert(std::is_same_v<decltype(*std::declval<zb::Result<zb::Tensor>>()), zb::Tensor>);
static_assert(std::is_same_v<decltype(*std::declval<zb::Result<zb::Tensor> &>()), zb::Tensor &>);
static_assert(std::is_same_v<decltype(*std::declval<const zb::Result<zb::Tensor> &>()), const zb::Tensor &>);

void values_of_temporaries_stay()
{
    const zb::Tensor &tensor = *zb::Tensor::alloc<float>({4});
    CHECK_EQ(zb::live_objects(ZB_KIND_TENSOR), 1);
    CHECK_DONE(tensor.desc());
    int count = 0;
    for (float &element : *tensor.span<float>()) {
        element = static_cast<float>(++count);
    }
    CHECK_EQ(count, 4);
    CHECK(take(tensor.span<float>())[3] > 3.9f);
}

// A result that has no value says why, also if it was made of no reason.
void no_value_is_never_success()
{
    const zb::Result<int> none = zb::Error();
    CHECK(!none);
    CHECK_RESULT(none, ZB_ERROR_INVALID_ARGUMENT);
    CHECK_SAYS(none.error(), "success");
    const zb::Result<zb::Tensor> done = zb::Tensor::alloc<float>({4});
    const zb::Result<std::string> passed_on = done.error();
    CHECK_RESULT(passed_on, ZB_ERROR_INVALID_ARGUMENT);
    // a call without a value succeeds by it
    CHECK_DONE(zb::Result<void>(zb::Error()));
    // a number is a value, also if it is that of a status
    const zb::Result<int> four = ZB_ERROR_BUSY;
    CHECK(four && *four == ZB_ERROR_BUSY);
    CHECK_RESULT(zb::Result<int>(zb::Error(ZB_ERROR_BUSY, "")), ZB_ERROR_BUSY);
}

void the_version_is_compared()
{
    CHECK_DONE(zb::check_version());
    const zb::Result<void> newer = zb::check_version(ZB_HEADER_VERSION + 1);
    CHECK_RESULT(newer, ZB_ERROR_UNSUPPORTED);
    CHECK_SAYS(newer.error(), zb_version_string());
    CHECK_RESULT(zb::check_version(ZB_HEADER_VERSION + (1u << 22)), ZB_ERROR_UNSUPPORTED);
}

void engines_are_told()
{
    CHECK_RESULT(zb::runtime_info(static_cast<zb::Runtime>(77)), ZB_ERROR_INVALID_ARGUMENT);
    const zb::Runtime runtime = zt_is_tflite() ? zb::Runtime::tflite : zb::Runtime::onnxruntime;
    CHECK_DONE(zb::load_runtime(runtime));
    const zb_runtime_info info = take(zb::runtime_info(runtime));
    CHECK_EQ(info.available, 1);
    REQUIRE(info.path != nullptr);
    CHECK_DONE(zb::load_runtime(runtime, info.path));
    CHECK_RESULT(zb::load_runtime(runtime, std::string("/nowhere/engine.so")), ZB_ERROR_INVALID_ARGUMENT);
}

void the_log_is_heard()
{
    int lines = 0;
    std::string last;
    auto listen = [&](zb::LogLevel, std::string_view text) {
        lines++;
        last = text;
        // what returns a status is refused inside; the error has a text all the same
        CHECK_RESULT(zb::Tensor::alloc<float>({1}), ZB_ERROR_BUSY);
    };
    take(zb::set_log_callback(listen, zb::LogLevel::debug));
    {
        Sum sum;
        take(sum.context.infer());
    }
    take(zb::clear_log_callback());
    const int heard = lines;
    CHECK(!last.empty() || heard == 0);
    {
        Sum sum;
        take(sum.context.infer());
    }
    CHECK_EQ(lines, heard);
    CHECK_RESULT(zb::set_log_callback(listen, static_cast<zb::LogLevel>(99)), ZB_ERROR_INVALID_ARGUMENT);
}

} // namespace

const std::vector<zt_test> value_tests = {
    ON_BOTH(durations_that_are_no_numbers),
    ON_BOTH(spans_of_everything),
    ON_BOTH(descs_and_shapes),
    ON_BOTH(errors_keep_their_text),
    ON_BOTH(empty_objects_refuse_everything),
    ON_BOTH(moves_leave_nothing_behind),
    ON_BOTH(a_stale_handle_is_told),
    ON_BOTH(a_result_moves_out),
    ON_BOTH(values_of_temporaries_stay),
    ON_BOTH(no_value_is_never_success),
    ON_BOTH(the_version_is_compared),
    ON_BOTH(engines_are_told),
    ON_BOTH(the_log_is_heard),
};
