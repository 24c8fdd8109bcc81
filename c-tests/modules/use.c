/* The header as a module, in C and in C++: constants, inline helpers and functions. */
#include <zerobind.h>

zb_status run(zb_context *context, const float *input, float *output);

zb_status run(zb_context *context, const float *input, float *output)
{
    zb_loan loans[2];
    loans[0] = zb_loan_input(ZB_INPUT(0), input, 16, 64, NULL);
    loans[1] = zb_loan_output(ZB_OUTPUT(0), output, 16, NULL);
    return context == NULL ? ZB_ERROR_NULL_ARGUMENT : zb_infer_with(context, loans, 2, NULL);
}
