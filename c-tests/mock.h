/*
 * Models of the mock engine, for tests that are linked with the library that has it (MOCK).
 * src/runtime/mock/mod.rs tells what such a model can say.
 */
#ifndef ZEROBIND_TESTS_MOCK_H
#define ZEROBIND_TESTS_MOCK_H

#include "harness.h"

#define MOCK_RUNTIME 1000

/* z = x + y, 4 floats each */
#define MOCK_ADD4 "input x f32 4\ninput y f32 4\noutput z f32 4\n"

/* Opens a model of these lines; the first line is put before them. */
zb_status mock_try_open(const char *lines, zb_model **model);
zb_model *mock_open(const char *lines);
/* A context with one more line, such as "run wait door". */
zb_status mock_try_context(zb_model *model, const char *line, zb_context **context);
zb_context *mock_context(zb_model *model, const char *line);

#endif
