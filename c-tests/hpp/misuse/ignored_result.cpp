// Must not compile: a result that nobody looks at.
#include <zerobind.hpp>

void run(zb::Context &context);

void run(zb::Context &context)
{
    context.infer();
}
