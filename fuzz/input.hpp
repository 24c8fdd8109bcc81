// The byte string that a program of the fuzzer is read from. At its end come zeros, and zero is always the plain choice.
#ifndef ZEROBIND_FUZZ_INPUT_HPP
#define ZEROBIND_FUZZ_INPUT_HPP

#include <cstddef>
#include <cstdint>

namespace fuzz {

class Input {
public:
    Input(const uint8_t *data, size_t size) : at_(data), end_(data + size) {}

    bool empty() const { return at_ == end_; }
    size_t left() const { return static_cast<size_t>(end_ - at_); }
    uint8_t byte() { return empty() ? uint8_t{0} : *at_++; }
    // 0 up to `count` - 1, which is below 256
    unsigned below(unsigned count) { return byte() % count; }
    // true for `of_256` of the 256 values, not for 0
    bool chance(unsigned of_256) { return byte() >= 256 - of_256; }

    uint64_t word()
    {
        uint64_t value = 0;
        for (int i = 0; i < 8; i++) {
            value = value << 8 | byte();
        }
        return value;
    }

    // The rest, cut into `count` parts; this is part `number`.
    Input part(size_t number, size_t count) const
    {
        const size_t size = left() / count;
        return Input(at_ + number * size, size);
    }

private:
    const uint8_t *at_;
    const uint8_t *end_;
};

} // namespace fuzz

#endif
