/* Must not compile: a handle that may not be there. */
#include <zerobind.h>

void open_it(zb_model **model);

void open_it(zb_model **model)
{
    zb_model_open("model.onnx", NULL, model);
}
