// Must not compile: doubles for an output of floats.
#include <zerobind.hpp>

zb_loan lend(zb::Output<float> slot, zb::Span<double> values);

zb_loan lend(zb::Output<float> slot, zb::Span<double> values)
{
    return zb::out(slot, values);
}
