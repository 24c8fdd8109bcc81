/* A trial through zerobind's C ABI. */
#ifndef ZEROBIND_DAMAGED_WITH_ZEROBIND_H
#define ZEROBIND_DAMAGED_WITH_ZEROBIND_H

#include "trial.h"

#include <zerobind.h>

zb_model_options model_options(const subject *model);
void run_with_zerobind(const subject *model, const unsigned char *bytes, size_t size, outcome *told);

#endif
