/* Must not compile with clang: no place for the result. */
#include <zerobind.h>

zb_status open_it(void);

zb_status open_it(void)
{
    return zb_model_open("model.onnx", NULL, NULL);
}
