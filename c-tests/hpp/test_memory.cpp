// Tensors: whose memory it is, when it comes back, and what else shares it.
#include "hpp_test.hpp"
#include "tables.hpp"

#include <sys/mman.h>
#include <unistd.h>

// DLPack's structs, as dlpack.h has them.
struct DLManagedTensorVersioned {
    struct {
        std::uint32_t major, minor;
    } version;
    void *manager_ctx;
    void (*deleter)(DLManagedTensorVersioned *self);
    std::uint64_t flags;
    struct {
        void *data;
        struct {
            std::int32_t type, id;
        } device;
        std::int32_t ndim;
        struct {
            std::uint8_t code, bits;
            std::uint16_t lanes;
        } dtype;
        std::int64_t *shape, *strides;
        std::uint64_t byte_offset;
    } tensor;
};

namespace {

// Elements that lie in the object itself.
struct alignas(64) Inline {
    float v[4];
    float behind[12] = {};

    const float *data() const noexcept { return v; }
    std::size_t size() const noexcept { return 4; }
};

void typed_spans_of_a_tensor()
{
    Four x{1, 2, 3, 4};
    const zb::Tensor tensor = take(zb::Tensor::wrap(x.v, {2, 2}));
    CHECK(take(tensor.desc()) == zb::DescOf<float>({2, 2}));
    const zb::Span<float> span = take(tensor.span<float>());
    CHECK_ADDRESS(span.data(), x.v);
    CHECK_EQ(span.size(), 4);
    CHECK_EQ(take(tensor.span<const float>()).size(), 4);
    CHECK_EQ(take(tensor.span<std::byte>()).size(), 16);
    const zb::Result<zb::Span<std::int32_t>> wrong = tensor.span<std::int32_t>();
    CHECK_RESULT(wrong, ZB_ERROR_DTYPE_MISMATCH);
    CHECK_SAYS(wrong.error(), "the tensor has elements of type f32, and i32 was asked for");
    // bytes at any address make no floats there
    alignas(64) std::byte bytes[32] = {};
    const zb::Tensor odd = take(zb::Tensor::wrap_bytes(zb::Span<std::byte>(bytes + 1, 16), zb::DescOf<float>({4})));
    CHECK_RESULT(odd.span<float>(), ZB_ERROR_MISALIGNED);
    CHECK_EQ(take(odd.span<std::byte>()).size(), 16);
    CHECK_RESULT(zb::Tensor::wrap(x.v, {5}), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_RESULT(zb::Tensor::wrap(x.v, {4}, std::size_t{3}), ZB_ERROR_INVALID_ARGUMENT);
}

// A span made for the call lends the memory of another: of every extent.
void spans_of_a_fixed_extent()
{
    Four x{1, 2, 3, 4};
    const zb::Tensor all = take(zb::Tensor::wrap(zb::Span<float>(x.v), {4}));
    CHECK_ADDRESS(take(all.span<float>()).data(), x.v);
#if defined(__cpp_lib_span)
    const zb::Tensor fixed = take(zb::Tensor::wrap(std::span<float, 4>(x.v), {4}));
    CHECK_ADDRESS(take(fixed.span<float>()).data(), x.v);
    const zb::Tensor part = take(zb::Tensor::wrap(std::span<const float, 4>(x.v).last<2>(), {2}));
    CHECK_ADDRESS(take(part.span<const float>()).data(), x.v + 2);
#endif
}

void memory_of_zerobinds_own()
{
    zb::Context context = make_context("add4");
    const zb::Tensor own = take(zb::Tensor::alloc<float>({4}, 256));
    CHECK_EQ(reinterpret_cast<std::uintptr_t>(take(own.span<float>()).data()) % 256, 0);
    CHECK_RESULT(zb::Tensor::alloc<float>({4}, 3), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(take(take(zb::Tensor::alloc(zb::Desc(zb::DType::i4, {9}))).span<std::byte>()).size(), 5);
    for (const zb::Slot slot : {zb::input(0), zb::input(1), zb::output(0)}) {
        const zb::Tensor made = take(zb::Tensor::alloc_for(context, slot));
        take(made.span<float>())[1] = 5;
        take(context.bind(slot, made));
    }
    take(context.infer());
    CHECK(take(context.output_view<float>(zb::output(0)))[1] > 9.9f);
}

// Elements that are const make a tensor for inputs only.
void constant_memory()
{
    static const Four x{1, 2, 3, 4};
    Sum sum;
    const zb::Tensor constant = take(zb::Tensor::wrap(x.v, {4}, sizeof x));
    take(sum.context.bind(zb::input(1), constant));
    take(sum.context.infer());
    CHECK_FOUR(sum.z, 2, 4, 6, 8);
    CHECK_RESULT(sum.context.bind(zb::output(0), constant), ZB_ERROR_READ_ONLY);
    CHECK_RESULT(zb::Tensor::wrap_bytes(zb::Span<const std::byte>(), zb::DescOf<float>({-1})), ZB_ERROR_SHAPE_MISMATCH);
}

// A callable that owns the memory gives it back, once, after the last use.
void released_once_after_the_last_use()
{
    int calls = 0;
    zb::Context context = make_context("add4");
    {
        auto memory = std::make_unique<Four>(1.0f, 2.0f, 3.0f, 4.0f);
        float *const place = memory->v;
        const zb::Tensor tensor = take(zb::Tensor::wrap(
            zb::Span<float>(place, 4), {4},
            [own = std::move(memory), &calls](void *data, std::size_t size) {
                CHECK_ADDRESS(data, own->v);
                CHECK_EQ(size, 16);
                calls++;
            },
            sizeof(Four)));
        take(context.bind(zb::input(0), tensor));
        take(context.bind(zb::input(1), tensor));
    }
    CHECK_EQ(calls, 0);
    take(context.unbind(zb::input(0)));
    CHECK_EQ(calls, 0);
    Four z;
    take(context.infer_with({zb::in(zb::input(0), z.v, sizeof z), zb::out(zb::output(0), Four().v)}));
    context.reset();
    CHECK_EQ(calls, 1);
}

// The callable is destroyed once it was called; nothing of it is left anywhere.
void a_callable_is_destroyed_after_its_call()
{
    int made = 0, called = 0;
    Four x;
    zb::Tensor tensor = take(zb::Tensor::wrap(x.v, {4}, Counted(&made, &called)));
    CHECK_EQ(made, 1);
    tensor.reset();
    CHECK_EQ(made, 0);
    CHECK_EQ(called, 1);
    // a const one, and by an owner of an empty tensor too
    const float *nothing = nullptr;
    tensor = take(zb::Tensor::wrap(zb::Span<const float>(nothing, std::size_t{0}), {0, 4}, Counted(&made, &called)));
    tensor = zb::Tensor();
    CHECK_EQ(called, 2);
    CHECK_EQ(made, 0);
}

// With an error the memory stays the caller's: the callable is not called and not moved from.
void failed_wraps_release_nothing()
{
    Four x;
    int calls = 0;
    auto release = [own = std::make_unique<int>(7), &calls] { calls += *own; };
    CHECK_RESULT(zb::Tensor::wrap(x.v, {5}, std::move(release)), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_RESULT(zb::Tensor::wrap_bytes(zb::Span<std::byte>(), zb::Desc(zb::DType::string, {1}), std::move(release)),
                 ZB_ERROR_UNSUPPORTED);
    CHECK_EQ(calls, 0);
    release();
    CHECK_EQ(calls, 7);
    // then it can be given again
    zb::Tensor tensor = take(zb::Tensor::wrap(x.v, {4}, std::move(release)));
    tensor.reset();
    CHECK_EQ(calls, 14);
    // one that was made for the call goes with it
    int made = 0, called = 0;
    CHECK_RESULT(zb::Tensor::wrap(x.v, {5}, Counted(&made, &called)), ZB_ERROR_SHAPE_MISMATCH);
    CHECK_EQ(made, 0);
    CHECK_EQ(called, 0);
}

// As the header shows it: first the address, then the move.
void an_owner_in_the_callable()
{
    auto owner = std::make_unique<float[]>(4);
    float *const memory = owner.get();
    const zb::Span<float> place(owner.get(), 4);
    auto tensor = zb::Tensor::wrap(place, {4}, [own = std::move(owner)] {});
    CHECK_DONE(tensor);
    CHECK(owner == nullptr);
    CHECK_ADDRESS(take(tensor->span<float>()).data(), memory);
}

// An owner of floats that is counted.
struct Owner {
    std::vector<float> elements{1, 2, 3, 4};
    Counted counted;

    explicit Owner(int *made, int *called) : counted(made, called) {}
    Owner(Owner &&) = default;
    Owner &operator=(Owner &&other) noexcept
    {
        elements = std::move(other.elements);
        return *this;
    }
    float *data() noexcept { return elements.data(); }
    std::size_t size() const noexcept { return elements.size(); }
};

void an_owner_is_taken_over()
{
    int made = 0, called = 0;
    {
        Owner owner(&made, &called);
        float *const memory = owner.data();
        // with an error it stays, and can be given again
        CHECK_RESULT(zb::Tensor::wrap_owned(std::move(owner), {5}), ZB_ERROR_SHAPE_MISMATCH);
        CHECK_EQ(made, 1);
        CHECK_ADDRESS(owner.data(), memory);
        CHECK_EQ(owner.size(), 4);
        zb::Tensor tensor = take(zb::Tensor::wrap_owned(std::move(owner), {4}));
        CHECK_EQ(made, 2);
        const zb::Span<float> span = take(tensor.span<float>());
        CHECK_ADDRESS(span.data(), memory);
        CHECK(span[3] > 3.9f);
        tensor.reset();
        CHECK_EQ(made, 1);
    }
    CHECK_EQ(made, 0);
    CHECK_EQ(take(take(zb::Tensor::wrap_owned(std::vector<float>(6), {2, 3})).span<float>()).size(), 6);
    // a binding holds it; elements that move with their owner are found where they are then; const ones are only read
    Sum sum;
    take(sum.context.bind(zb::input(0), take(zb::Tensor::wrap_owned(Inline{{100, 100, 100, 100}}, {4}, sizeof(Inline)))));
    take(sum.context.infer());
    CHECK_FOUR(sum.z, 110, 120, 130, 140);
}

// Inside a release anything may be done: destroying objects that the callable owns, making others.
void a_release_destroys_others()
{
    int calls = 0;
    Four x, y;
    zb::Tensor inner = take(zb::Tensor::wrap(x.v, {4}, [&calls] { calls++; }));
    auto context = std::make_unique<zb::Context>(make_context("add4"));
    take(context->bind(zb::input(0), inner));
    zb::Tensor outer = take(zb::Tensor::wrap(y.v, {4}, [&calls, own = std::move(inner), context = std::move(context)]() mutable {
        calls++;
        own.reset();
        CHECK_EQ(calls, 1);
        context.reset();
        CHECK_EQ(calls, 2);
        CHECK_DONE(zb::Tensor::alloc<float>({4}));
    }));
    zb::Tensor &same = outer;
    same.reset();
    CHECK(!outer);
    CHECK_EQ(calls, 2);
}

// A plain function, and a lambda that a copy is made of.
int plain_calls = 0;
void plain_release(void *, std::size_t) { plain_calls++; }

void callables_of_every_kind()
{
    Four x;
    plain_calls = 0;
    take(zb::Tensor::wrap(x.v, {4}, plain_release));
    take(zb::Tensor::wrap(x.v, {4}, &plain_release));
    const auto lambda = [] { plain_calls++; };
    take(zb::Tensor::wrap(x.v, {4}, lambda));
    take(zb::Tensor::wrap(x.v, {4}, lambda));
    CHECK_EQ(plain_calls, 4);
}

void memory_of_a_file()
{
    const int fd = memfd_create("zerobind", MFD_CLOEXEC);
    REQUIRE(fd >= 0 && ftruncate(fd, 4096) == 0);
    Sum sum;
    {
        const zb::Tensor mapped = take(zb::Tensor::map_fd(zb::DescOf<float>({4}), fd, 64));
        take(mapped.span<float>())[2] = 100;
        const zb::Tensor read_only = take(zb::Tensor::map_fd(zb::DescOf<float>({4}), fd, 64, true));
        take(sum.context.bind(zb::input(0), read_only));
        CHECK_RESULT(sum.context.bind(zb::output(0), read_only), ZB_ERROR_READ_ONLY);
    }
    CHECK_RESULT(zb::Tensor::map_fd(zb::DescOf<float>({4}), fd, 4090), ZB_ERROR_BUFFER_TOO_SMALL);
    close(fd);
    take(sum.context.infer());
    CHECK_FOUR(sum.z, 10, 20, 130, 40);
}

int deletions = 0;

void memory_shared_by_dlpack()
{
    Four x{1, 2, 3, 4};
    std::int64_t shape[1] = {4};
    deletions = 0;
    DLManagedTensorVersioned given = {};
    given.version.major = 1;
    given.deleter = [](DLManagedTensorVersioned *) { deletions++; };
    given.tensor.data = x.v;
    given.tensor.device.type = 1;
    given.tensor.ndim = 1;
    given.tensor.dtype = {2, 32, 1};
    given.tensor.shape = shape;
    Sum sum;
    DLManagedTensorVersioned *exported = nullptr;
    {
        const zb::Tensor imported = take(zb::Tensor::from_dlpack(&given));
        CHECK_ADDRESS(take(imported.span<float>()).data(), x.v);
        exported = take(imported.to_dlpack());
    }
    CHECK_EQ(deletions, 0);
    CHECK_ADDRESS(exported->tensor.data, x.v);
    exported->deleter(exported);
    CHECK_EQ(deletions, 1);
    given.version.major = 9;
    CHECK_RESULT(zb::Tensor::from_dlpack(&given), ZB_ERROR_UNSUPPORTED);
    CHECK_EQ(deletions, 1);
}

} // namespace

const std::vector<zt_test> memory_tests = {
    ON_BOTH(typed_spans_of_a_tensor),
    ON_BOTH(spans_of_a_fixed_extent),
    ON_BOTH(memory_of_zerobinds_own),
    ON_BOTH(constant_memory),
    ON_BOTH(released_once_after_the_last_use),
    ON_BOTH(a_callable_is_destroyed_after_its_call),
    ON_BOTH(failed_wraps_release_nothing),
    ON_BOTH(an_owner_in_the_callable),
    ON_BOTH(an_owner_is_taken_over),
    ON_BOTH(a_release_destroys_others),
    ON_BOTH(callables_of_every_kind),
    ON_BOTH(memory_of_a_file),
    ON_BOTH(memory_shared_by_dlpack),
};
