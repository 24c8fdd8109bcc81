// Must not compile: memory that is only read, lent to an output.
#include <zerobind.hpp>

zb_loan lend(zb::Span<const float> values);

zb_loan lend(zb::Span<const float> values)
{
    return zb::out(zb::output(0), values);
}
