/* Must not compile: a tensor where a context is asked for. */
#include <zerobind.h>

zb_status run(zb_tensor *tensor);

zb_status run(zb_tensor *tensor)
{
    return zb_infer(tensor, NULL);
}
