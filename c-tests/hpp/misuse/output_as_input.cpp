// Must not compile: an output, lent as an input.
#include <zerobind.hpp>

zb_loan lend(zb::Output<float> slot, zb::Span<const float> values);

zb_loan lend(zb::Output<float> slot, zb::Span<const float> values)
{
    return zb::in(slot, values);
}
