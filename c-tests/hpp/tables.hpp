// The tests of each file.
#ifndef ZEROBIND_TESTS_TABLES_HPP
#define ZEROBIND_TESTS_TABLES_HPP

#include "hpp_test.hpp"

#include <vector>

extern const std::vector<zt_test> value_tests;
extern const std::vector<zt_test> model_tests;
extern const std::vector<zt_test> run_tests;
extern const std::vector<zt_test> memory_tests;
extern const std::vector<zt_test> queue_tests;
extern const std::vector<zt_test> event_tests;
extern const std::vector<zt_test> coroutine_tests;
extern const std::vector<zt_test> throwing_tests;

// The second translation unit that has the header: inline functions and types are the same in both.
zb::Result<void> run_elsewhere(zb::Context &context, zb::Span<const float> x, zb::Span<const float> y, zb::Span<float> z);

// What ends the process, by name; see main.cpp.
void end_by(const char *way);

#endif
