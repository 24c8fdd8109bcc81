/* The groups of cases. */
#ifndef ZEROBIND_BENCHES_CASES_H
#define ZEROBIND_BENCHES_CASES_H

#include "common.h"

/* `models` is the folder of the test models, `extra` that of what only the benchmark uses. */
typedef struct case_folders {
    const char *models, *extra;
} case_folders;

void cases_small(const case_folders *folders);
void cases_large(const case_folders *folders);
void cases_real(const case_folders *folders);
void cases_handles(const case_folders *folders);

#endif
