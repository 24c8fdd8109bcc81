// Several threads on the same objects, of which nothing more is predicted than what the header says of each function.
#ifndef ZEROBIND_FUZZ_CONCURRENT_HPP
#define ZEROBIND_FUZZ_CONCURRENT_HPP

#include "input.hpp"
#include "specs.hpp"

namespace fuzz {

void concurrent(Engine engine, const std::vector<Spec> &specs, unsigned threads, Input input);

} // namespace fuzz

#endif
