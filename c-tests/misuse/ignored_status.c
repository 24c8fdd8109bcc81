/* Must not compile: a status that nobody looks at. */
#include <zerobind.h>

void ignore(zb_context *context);

void ignore(zb_context *context)
{
    zb_infer(context, NULL);
}
