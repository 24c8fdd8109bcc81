// The models that the fuzzer runs: tiny ones, whose outputs it works out by itself.
#ifndef ZEROBIND_FUZZ_SPECS_HPP
#define ZEROBIND_FUZZ_SPECS_HPP

#include <zerobind.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fuzz {

using Bytes = std::vector<uint8_t>;
using Dims = std::vector<int64_t>;

// What is odd about an output: then no memory of the host may serve it, or only some.
enum class Odd { no, twin, fixed, hits };

struct SlotSpec {
    Dims dims; // -1 is the open one; a model has at most one name for it
    int64_t start = -1;
    Odd odd = Odd::no;
};

// output[k][i] = constant[k][i] + sum over inputs j of factor[k][j] * input[j][i]
struct Spec {
    std::string name;
    std::string bytes; // of the model file
    std::string path;  // "": it is in no file
    int32_t dtype = ZB_DTYPE_F32;
    std::vector<SlotSpec> inputs, outputs;
    std::vector<std::vector<float>> factors;
    std::vector<std::vector<float>> constants;
    size_t alignment = 4;
    size_t slack = 0;

    bool is_open() const;
    bool is_odd() const;
    const SlotSpec *slot(zb_slot number) const;
};

enum class Engine { mock, tflite, onnxruntime };

// Reads the files of real models, whose folder is in the environment (ZB_TEST_MODELS).
std::vector<Spec> specs_of(Engine engine);
int32_t runtime_of(Engine engine);

size_t width_of(int32_t dtype);
zb_tensor_desc desc_of(int32_t dtype, const Dims &dims);
Dims dims_of(const zb_tensor_desc &desc);
bool is_known(const Dims &dims);
// Whether each dimension is equal, or -1 on one side at least.
bool agree(const Dims &a, const Dims &b);
bool is_same(const zb_tensor_desc &a, const zb_tensor_desc &b);
// In bytes, of known dims.
size_t size_of(int32_t dtype, const Dims &dims);

// What an output holds after a run; empty `known` where it cannot be said: rounding could matter.
struct Values {
    bool known = false;
    Bytes bytes;
};
Values compute(const Spec &spec, size_t output, const std::vector<const Bytes *> &inputs);

} // namespace fuzz

#endif
