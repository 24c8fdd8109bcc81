// Must not compile: two owners of one handle.
#include <zerobind.hpp>

zb::Context copy(const zb::Context &context);

zb::Context copy(const zb::Context &context)
{
    return context;
}
