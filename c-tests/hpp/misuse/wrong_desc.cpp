// Must not compile: the shape of a tensor of integers for memory of floats.
#include <zerobind.hpp>

zb_loan lend(zb::Span<const float> values, const zb::DescOf<int> &desc);

zb_loan lend(zb::Span<const float> values, const zb::DescOf<int> &desc)
{
    return zb::in(zb::input(0), values, 0, &desc);
}
