// Must not compile: elements that no tensor has.
#include <zerobind.hpp>

zb::Result<zb::Span<char>> see(const zb::Tensor &tensor);

zb::Result<zb::Span<char>> see(const zb::Tensor &tensor)
{
    return tensor.span<char>();
}
