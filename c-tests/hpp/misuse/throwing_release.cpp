// Must not compile: a callable that may throw when it is moved, which is after the library has taken the memory.
#include <zerobind.hpp>

struct Callable {
    Callable() = default;
    Callable(const Callable &) {}
    void operator()() const {}
};

zb::Result<zb::Tensor> wrap(zb::Span<float> memory);

zb::Result<zb::Tensor> wrap(zb::Span<float> memory)
{
    return zb::Tensor::wrap(memory, {16}, Callable());
}
