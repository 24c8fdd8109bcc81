/* The twin of the misuses: must compile without a warning. NULL is fine where the header allows it, and destroy need not be
 * looked at. */
#include <zerobind.h>

zb_status use(const float *input, float *output);

zb_status use(const float *input, float *output)
{
    zb_model *model = NULL;
    zb_context *context = NULL;
    zb_loan loans[2];
    uint32_t outputs = 0;
    zb_status status = zb_model_open("model.onnx", NULL, &model);
    if (status == ZB_OK) {
        status = zb_model_get_slot_counts(model, NULL, &outputs);
    }
    if (status == ZB_OK) {
        status = zb_context_create(model, NULL, &context);
    }
    if (status == ZB_OK) {
        loans[0] = zb_loan_input(ZB_INPUT(0), input, 16, 0, NULL);
        loans[1] = zb_loan_output(ZB_OUTPUT(0), output, 16, NULL);
        status = zb_infer_with(context, loans, 2, NULL);
    }
    if (status == ZB_OK) {
        status = zb_infer(context, NULL);
    }
    zb_last_error(NULL, 0, NULL);
    zb_tensor_destroy(NULL);
    zb_context_destroy(context);
    zb_model_destroy(model);
    return status;
}
