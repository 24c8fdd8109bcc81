/* A trial through zerobind's C ABI. */
#ifndef ZEROBIND_DAMAGED_WITH_ZEROBIND_H
#define ZEROBIND_DAMAGED_WITH_ZEROBIND_H

#include "trial.h"

#include <zerobind.h>

zb_model_options model_options(const subject *model);
zb_context_options without_xnnpack(void);
/* Whether it went well; else the trial is over. */
int done(zb_status status, outcome *told);
/* Whether all stages after the opening went well, in a context with these options. */
int run_configured(const subject *subject, zb_model *model, const zb_context_options *options, outcome *told);
void run_with_zerobind(const subject *model, const unsigned char *bytes, size_t size, outcome *told);

#endif
