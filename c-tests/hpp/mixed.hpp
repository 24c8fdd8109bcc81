// The border between two parts of one program that are compiled for different standards.
#ifndef ZEROBIND_TESTS_MIXED_HPP
#define ZEROBIND_TESTS_MIXED_HPP

#include <zerobind.hpp>

// Of the part in C++17, without exceptions. Objects and results pass as they are; spans are of other types in C++20.
zb::Result<zb::Context> make_context_elsewhere(const zb::Model &model);
zb::Result<void> run_elsewhere(zb::Context &context, const float *x, const float *y, float *z);

#endif
