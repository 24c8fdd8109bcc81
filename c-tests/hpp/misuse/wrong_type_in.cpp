// Must not compile: integers for an input of floats.
#include <zerobind.hpp>

zb_loan lend(zb::Input<float> slot, const std::vector<int> &values);

zb_loan lend(zb::Input<float> slot, const std::vector<int> &values)
{
    return zb::in(slot, values);
}
