/* The header as a module, by Objective-C's own way of importing. */
@import CZerobind;

zb_status open_it(zb_model **model);

zb_status open_it(zb_model **model)
{
    return zb_model_open("model.onnx", 0, model);
}
