#include "specs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fuzz {

namespace {

const std::vector<float> nothing;

struct Line {
    const char *name;
    int32_t dtype;
    const char *mock; // its lines
    std::vector<SlotSpec> inputs, outputs;
    // of the mock: every output is the sum of the inputs
    std::vector<std::vector<float>> factors, constants; // of the real engines
};

std::vector<Line> lines()
{
    const SlotSpec four{{4}}, eight{{8}}, rows{{-1, 4}, 1}, twin{{8}, -1, Odd::twin};
    const std::vector<std::vector<float>> none;
    return {
        {"add4", ZB_DTYPE_F32, "input x f32 4\ninput y f32 4\noutput z f32 4\n", {four, four}, {four}, {{1, 1}}, none},
        {"batch", ZB_DTYPE_F32, "input x f32 rows=1 4\noutput y f32 rows 4\n", {rows}, {rows}, {{2}}, none},
        {"two_out", ZB_DTYPE_F32, "input x f32 8\noutput a f32 8\noutput b f32 8\n", {eight}, {eight, eight}, {{1}, {2}},
         {{1}, {0}}},
        {"recurrent", ZB_DTYPE_F32, "input x f32 4\ninput s f32 4\noutput y f32 4\noutput n f32 4\n", {four, four},
         {four, four}, {{1, 2}, {1, 0.5F}}, none},
        {"passthrough", ZB_DTYPE_F32, "input x f32 8\noutput p f32 8 twin=input:0\noutput y f32 8\n", {eight},
         {twin, eight}, {{1}, {1}}, {{0}, {1}}},
        {"duplicate", ZB_DTYPE_F32, "input x f32 8\noutput y f32 8\noutput z f32 8 twin=output:0\n", {eight},
         {eight, twin}, {{1}, {1}}, {{1}, {1}}},
        {"constant", ZB_DTYPE_F32, "input x f32 8\noutput c f32 4 constant\noutput y f32 8\n", {eight},
         {{{4}, -1, Odd::fixed}, eight}, {{0}, {1}}, {{1, 2, 3, 4}, {1}}},
        {"add_i32", ZB_DTYPE_I32, nullptr, {eight, eight}, {eight}, {{1, 1}}, none},
        {"bytes", ZB_DTYPE_U8, "input x u8 8\ninput y u8 8\noutput z u8 8\n", {eight, eight}, {eight}, none, none},
        {"careful", ZB_DTYPE_F32, "input x f32 8\noutput y f32 8\nalignment 64\nslack 16\n", {eight}, {eight}, none, none},
        {"fixed", ZB_DTYPE_F32, "input x f32 8\noutput y f32 8 fixed\noutput z f32 8\nrebind replan\n", {eight},
         {{{8}, -1, Odd::fixed}, eight}, none, none},
        {"hits", ZB_DTYPE_F32, "input x f32 8\noutput y f32 -1\n", {eight}, {{{-1}, -1, Odd::hits}}, none, none},
        {"slow", ZB_DTYPE_F32, "input x f32 8\noutput y f32 8\nunstoppable\nrun slowly\n", {eight}, {eight}, none, none},
    };
}

std::string read_file(const std::string &path)
{
    std::string bytes;
    FILE *const file = fopen(path.c_str(), "rb");
    if (file == nullptr) {
        fprintf(stderr, "fuzz: cannot read %s (is ZB_TEST_MODELS set?)\n", path.c_str());
        exit(2);
    }
    char part[4096];
    for (size_t got; (got = fread(part, 1, sizeof part, file)) > 0;) {
        bytes.append(part, got);
    }
    fclose(file);
    return bytes;
}

void make_mock(Spec &spec, const Line &line)
{
    spec.bytes = std::string("zerobind-mock 1\n") + line.mock;
    spec.factors.assign(line.outputs.size(), std::vector<float>(line.inputs.size(), 1));
    spec.constants.clear();
    for (size_t k = 0; k < line.outputs.size(); k++) {
        if (strstr(line.mock, "constant") != nullptr && spec.outputs[k].odd == Odd::fixed) {
            spec.factors[k].assign(line.inputs.size(), 0);
            // what the sum of no numbers is in Rust
            spec.constants.assign(line.outputs.size(), {});
            spec.constants[k] = {-0.0F};
        }
    }
    spec.alignment = strstr(line.mock, "alignment 64") != nullptr ? 64 : width_of(line.dtype);
    spec.slack = strstr(line.mock, "slack 16") != nullptr ? 16 : 0;
}

void make_real(Spec &spec, const Line &line, Engine engine)
{
    const char *const models = getenv("ZB_TEST_MODELS");
    const bool is_tflite = engine == Engine::tflite;
    spec.path = std::string(models != nullptr ? models : ".") + "/" + line.name + (is_tflite ? ".tflite" : ".onnx");
    spec.bytes = read_file(spec.path);
    spec.alignment = is_tflite ? 64 : width_of(line.dtype);
    spec.slack = is_tflite ? 16 : 0;
    if (!is_tflite) {
        for (SlotSpec &input : spec.inputs) {
            input.start = -1;
        }
    }
}

float get(const Bytes &bytes, int32_t dtype, size_t index)
{
    const uint8_t *const at = bytes.data() + index * width_of(dtype);
    if (dtype == ZB_DTYPE_F32) {
        float value;
        memcpy(&value, at, sizeof value);
        return value;
    }
    if (dtype == ZB_DTYPE_I32) {
        int32_t value;
        memcpy(&value, at, sizeof value);
        return static_cast<float>(value);
    }
    return *at;
}

// false if the value is not exact in every way of working it out
bool put(Bytes &bytes, int32_t dtype, size_t index, float value)
{
    uint8_t *const at = bytes.data() + index * width_of(dtype);
    const bool is_plain = std::fabs(value) < 65536 && std::floor(value * 64) == value * 64;
    if (dtype == ZB_DTYPE_F32) {
        memcpy(at, &value, sizeof value);
        return is_plain;
    }
    if (dtype == ZB_DTYPE_I32) {
        const int32_t whole = is_plain ? static_cast<int32_t>(value) : 0;
        memcpy(at, &whole, sizeof whole);
        return is_plain;
    }
    *at = is_plain && value >= 0 && value < 256 ? static_cast<uint8_t>(value) : 0;
    return is_plain && value >= 0 && value < 256;
}

Values hits(const Bytes &input)
{
    Values result;
    result.known = true;
    for (size_t i = 0; i < input.size() / 4; i++) {
        const float value = get(input, ZB_DTYPE_F32, i);
        if (value != 0) {
            result.known &= std::fabs(value) < 65536;
            result.bytes.insert(result.bytes.end(), input.begin() + static_cast<ptrdiff_t>(i * 4),
                                input.begin() + static_cast<ptrdiff_t>(i * 4 + 4));
        }
    }
    return result;
}

} // namespace

bool Spec::is_open() const
{
    return std::any_of(inputs.begin(), inputs.end(), [](const SlotSpec &slot) { return !is_known(slot.dims); });
}

bool Spec::is_odd() const
{
    return std::any_of(outputs.begin(), outputs.end(), [](const SlotSpec &slot) { return slot.odd != Odd::no; });
}

const SlotSpec *Spec::slot(zb_slot number) const
{
    const std::vector<SlotSpec> &side = (number & ZB_OUTPUT_BIT) != 0 ? outputs : inputs;
    const size_t index = number & ~ZB_OUTPUT_BIT;
    return index < side.size() ? &side[index] : nullptr;
}

std::vector<Spec> specs_of(Engine engine)
{
    std::vector<Spec> specs;
    for (const Line &line : lines()) {
        if (engine == Engine::mock ? line.mock == nullptr : line.factors.empty()) {
            continue;
        }
        Spec spec;
        spec.name = line.name;
        spec.dtype = line.dtype;
        spec.inputs = line.inputs;
        spec.outputs = line.outputs;
        spec.factors = line.factors;
        spec.constants = line.constants;
        if (engine == Engine::mock) {
            make_mock(spec, line);
        } else {
            make_real(spec, line, engine);
        }
        specs.push_back(spec);
    }
    return specs;
}

int32_t runtime_of(Engine engine)
{
    switch (engine) {
    case Engine::tflite: return ZB_RUNTIME_TFLITE;
    case Engine::onnxruntime: return ZB_RUNTIME_ONNXRUNTIME;
    default: return 1000;
    }
}

size_t width_of(int32_t dtype) { return dtype == ZB_DTYPE_F32 || dtype == ZB_DTYPE_I32 ? 4 : 1; }

zb_tensor_desc desc_of(int32_t dtype, const Dims &dims)
{
    zb_tensor_desc desc = {dtype, static_cast<uint32_t>(dims.size()), {}};
    std::copy(dims.begin(), dims.end(), desc.dims);
    return desc;
}

Dims dims_of(const zb_tensor_desc &desc)
{
    // a rank that is refused is larger
    return Dims(desc.dims, desc.dims + std::min<size_t>(desc.rank, ZB_MAX_RANK));
}

bool is_known(const Dims &dims)
{
    return std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim >= 0; });
}

bool agree(const Dims &a, const Dims &b)
{
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [](int64_t x, int64_t y) { return x == y || x < 0 || y < 0; });
}

bool is_same(const zb_tensor_desc &a, const zb_tensor_desc &b)
{
    return a.dtype == b.dtype && dims_of(a) == dims_of(b);
}

size_t size_of(int32_t dtype, const Dims &dims)
{
    uint64_t count = 1;
    for (const int64_t dim : dims) {
        count *= static_cast<uint64_t>(dim);
    }
    return count * width_of(dtype);
}

Values compute(const Spec &spec, size_t output, const std::vector<const Bytes *> &inputs)
{
    if (spec.outputs[output].odd == Odd::hits) {
        return hits(*inputs[0]);
    }
    const Dims &dims = spec.outputs[output].dims;
    const size_t count = is_known(dims) ? size_of(spec.dtype, dims) / width_of(spec.dtype)
                                        : inputs[0]->size() / width_of(spec.dtype);
    Values result;
    result.known = true;
    result.bytes.resize(count * width_of(spec.dtype));
    const std::vector<float> &constant = spec.constants.empty() ? nothing : spec.constants[output];
    for (size_t i = 0; i < count; i++) {
        float sum = constant.empty() ? 0 : constant[i % constant.size()];
        for (size_t j = 0; j < inputs.size(); j++) {
            if (spec.factors[output][j] == 0) {
                continue;
            }
            const float term = get(*inputs[j], spec.dtype, i);
            result.known &= std::fabs(term) < 65536 && std::floor(term * 64) == term * 64;
            sum += spec.factors[output][j] * term;
        }
        result.known &= put(result.bytes, spec.dtype, i, sum);
    }
    return result;
}

} // namespace fuzz
