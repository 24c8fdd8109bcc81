// Must not compile: a span as the owner of its memory.
#include <zerobind.hpp>

zb::Result<zb::Tensor> wrap(std::vector<float> &owner);

zb::Result<zb::Tensor> wrap(std::vector<float> &owner)
{
    return zb::Tensor::wrap_owned(zb::Span<float>(owner), {16});
}
