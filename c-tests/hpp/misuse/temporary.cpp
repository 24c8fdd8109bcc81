// Must not compile: a tensor on memory that is gone at the end of the line.
#include <zerobind.hpp>

zb::Result<zb::Tensor> wrap();

zb::Result<zb::Tensor> wrap()
{
    return zb::Tensor::wrap(std::vector<float>(16), {16});
}
