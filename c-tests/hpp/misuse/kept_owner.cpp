// Must not compile: an owner that is not given away.
#include <zerobind.hpp>

zb::Result<zb::Tensor> wrap(std::vector<float> &owner);

zb::Result<zb::Tensor> wrap(std::vector<float> &owner)
{
    return zb::Tensor::wrap_owned(owner, {16});
}
