/* Must not compile: memory that is only read, lent to an output. */
#include <zerobind.h>

zb_loan lend(const float *values);

zb_loan lend(const float *values)
{
    return zb_loan_output(ZB_OUTPUT(0), values, 16, NULL);
}
