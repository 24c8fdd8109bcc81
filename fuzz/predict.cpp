// How calls on contexts end, from what is bound and asked for.
#include "world.hpp"

#include <algorithm>
#include <unistd.h>

namespace fuzz {

namespace {

bool is_output(zb_slot slot) { return (slot & ZB_OUTPUT_BIT) != 0; }

// Bytes that a slot needs; nothing where they are not known.
std::optional<size_t> needed(const Context &context, zb_slot slot)
{
    const Dims &declared = context.spec->slot(slot)->dims;
    if (is_known(declared)) {
        return size_of(context.spec->dtype, declared);
    }
    if (context.spec->slot(slot)->odd == Odd::hits) {
        return std::nullopt;
    }
    const std::optional<Dims> dims = input_dims(context, 0);
    if (!dims || (*dims)[0] > 1 << 20) {
        return std::nullopt;
    }
    return size_of(context.spec->dtype, *dims);
}

struct Range {
    uintptr_t start, end;
    bool touches(const Range &other) const { return start < other.end && other.start < end; }
};

Range range_of(const Lent &lent, size_t size)
{
    const auto start = reinterpret_cast<uintptr_t>(lent.data);
    return {start, start + size};
}

void expect_shape(const Context &context, zb_slot slot, const zb_tensor_desc &desc, size_t size, Expect &expect)
{
    const SlotSpec &spec = *context.spec->slot(slot);
    if (desc.dtype != context.spec->dtype) {
        expect.fail(DTYPE);
        return;
    }
    const Dims given = dims_of(desc);
    if (!is_output(slot) && !is_known(given)) {
        expect.fail(SHAPE);
        return;
    }
    Dims wanted = spec.dims;
    if (!is_known(wanted) && spec.odd == Odd::no) {
        const std::optional<Dims> dims = input_dims(context, 0);
        if (dims) {
            wanted = *dims;
        }
    }
    if (!agree(given, wanted)) {
        expect.fail(SHAPE | SMALL);
        return;
    }
    const std::optional<size_t> bytes = needed(context, slot);
    if (bytes && (is_output(slot) ? size < *bytes : size != *bytes)) {
        expect.fail(is_output(slot) ? SMALL : SHAPE);
    }
}

void expect_no_overlap(const Context &context, const std::vector<Lent> &lent, Expect &expect)
{
    const size_t inputs = context.spec->inputs.size();
    for (size_t output = inputs; output < lent.size(); output++) {
        for (size_t other = 0; other < output; other++) {
            if (!lent[output].given || !lent[other].given) {
                continue;
            }
            const auto size = [&](size_t position) {
                return needed(context, context.slot_at(position)).value_or(lent[position].size);
            };
            // two of no size may be at one place
            if (size(output) == 0 || size(other) == 0 ||
                !range_of(lent[output], size(output)).touches(range_of(lent[other], other < inputs ? lent[other].size : size(other)))) {
                continue;
            }
            const bool is_sure = !context.spec->is_odd() && !context.shape_unsure;
            is_sure ? expect.fail(ALIASED) : expect.allow(ALIASED);
        }
    }
}

} // namespace

std::optional<Dims> input_dims(const Context &context, size_t input)
{
    const SlotSpec &spec = context.spec->inputs[input];
    if (is_known(spec.dims)) {
        return spec.dims;
    }
    if (context.resized) {
        return context.resized;
    }
    if (context.bound[input] != nullptr) {
        return dims_of(context.bound[input]->desc);
    }
    if (spec.start < 0) {
        return std::nullopt;
    }
    Dims dims = spec.dims;
    std::replace(dims.begin(), dims.end(), int64_t{-1}, spec.start);
    return dims;
}

void expect_memory(const Context &context, zb_slot slot, const void *data, size_t size, size_t capacity, Expect &expect)
{
    if (size == 0 || context.copies) {
        return;
    }
    const auto address = reinterpret_cast<uintptr_t>(data);
    const bool is_odd = context.spec->slot(slot)->odd != Odd::no;
    if (address % context.spec->alignment != 0) {
        is_odd ? expect.allow(MISALIGNED) : expect.fail(MISALIGNED);
    }
    if (is_output(slot) || context.spec->slack == 0) {
        return;
    }
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const uintptr_t left = (page - (address + size) % page) % page;
    if (capacity - size < context.spec->slack && left < context.spec->slack) {
        expect.fail(SMALL);
    }
}

void expect_fit(const Context &context, zb_slot slot, const Tensor &tensor, Expect &expect)
{
    const SlotSpec &spec = *context.spec->slot(slot);
    const Dims given = dims_of(tensor.desc);
    if (tensor.desc.dtype != context.spec->dtype) {
        expect.fail(DTYPE);
    }
    if (!is_output(slot) && !is_known(given)) {
        expect.fail(SHAPE);
    }
    if (!agree(given, spec.dims) && !(is_output(slot) && context.spec->is_open())) {
        expect.fail(SHAPE);
    }
    if (!is_known(spec.dims) && spec.odd == Odd::no) {
        // an output is measured by the plan that is in force, if any; an input by what was asked for
        const bool is_sure = !is_output(slot) && !context.shape_unsure;
        if (!is_sure) {
            expect.allow(SHAPE);
        } else if (context.resized && !agree(given, *context.resized)) {
            expect.fail(SHAPE);
        }
    }
    if (is_output(slot) && tensor.read_only) {
        expect.fail(READ_ONLY);
    }
    Expect memory;
    expect_memory(context, slot, tensor.data, tensor.size, tensor.capacity, memory);
    // it is looked at also where an output is odd
    expect.fail(memory.must | memory.may);
}

void expect_plan(const Context &context, Expect &expect)
{
    if (context.shape_unsure) {
        expect.allow(SHAPE | UNSUPPORTED);
    }
    if (!context.spec->is_open()) {
        return;
    }
    const std::optional<Dims> dims = input_dims(context, 0);
    if (!dims) {
        context.shape_unsure ? expect.allow(SHAPE) : expect.fail(SHAPE);
    }
}

void planned(Context &context, zb_status status)
{
    if (status == ZB_OK) {
        context.good = context.resized;
    } else if (context.resized != context.good) {
        // whether it came as far as planning is not known
        context.shape_unsure = true;
    }
}

void maybe_busy(World &world, const Context &context, Expect &expect)
{
    if (world.is_pending(context)) {
        expect.allow(BUSY);
    }
}

std::vector<Lent> bound_memory(const Context &context)
{
    std::vector<Lent> memory(context.bound.size());
    for (size_t i = 0; i < memory.size(); i++) {
        const std::shared_ptr<Tensor> &tensor = context.bound[i];
        if (tensor != nullptr) {
            memory[i].given = true;
            memory[i].tensor = tensor;
            memory[i].data = tensor->data;
            memory[i].size = tensor->size;
            memory[i].capacity = tensor->capacity;
            memory[i].desc = tensor->desc;
            memory[i].bytes = tensor->known ? &tensor->bytes : nullptr;
        }
    }
    return memory;
}

void expect_run(World &world, const Context &context, const std::vector<Lent> &lent, Expect &expect)
{
    expect_plan(context, expect);
    for (size_t i = 0; i < lent.size(); i++) {
        const zb_slot slot = context.slot_at(i);
        const Lent &memory = lent[i];
        if (!memory.given) {
            if (!is_output(slot)) {
                expect.fail(UNBOUND);
            }
            continue;
        }
        if (memory.tensor != nullptr && world.has_threads && world.is_pending(*memory.tensor)) {
            expect.allow(BUSY);
        }
        Expect found;
        const SlotSpec &spec = *context.spec->slot(slot);
        if (memory.desc) {
            expect_shape(context, slot, *memory.desc, memory.size, found);
        } else if (const std::optional<size_t> bytes = needed(context, slot)) {
            if (is_output(slot) ? memory.size < *bytes : memory.size != *bytes) {
                found.fail(is_output(slot) ? SMALL : SHAPE);
            }
        }
        // of an output only what is written counts
        const size_t used = is_output(slot) ? needed(context, slot).value_or(memory.size) : memory.size;
        expect_memory(context, slot, memory.data, used, memory.capacity, found);
        if (is_output(slot) && spec.odd != Odd::no) {
            found.allow(COPY | (spec.odd == Odd::hits ? SHAPE | SMALL | found.must : 0));
            found.must = spec.odd == Odd::hits ? 0 : found.must;
        }
        if (context.shape_unsure) {
            found.allow(found.must | SHAPE | SMALL);
            found.must = 0;
        }
        expect.fail(found.must);
        expect.allow(found.may);
    }
    expect_no_overlap(context, lent, expect);
    // one that is lent to a twin, or is refused before another is looked at: any of what is wrong
    expect.allow(context.whims);
}

std::vector<Values> results_of(const Context &context, const std::vector<Lent> &lent)
{
    const Spec &spec = *context.spec;
    std::vector<Values> results(spec.outputs.size());
    std::vector<const Bytes *> inputs;
    for (size_t i = 0; i < spec.inputs.size(); i++) {
        if (!lent[i].given || lent[i].bytes == nullptr || context.shape_unsure) {
            return results;
        }
        inputs.push_back(lent[i].bytes);
    }
    for (size_t k = 0; k < results.size(); k++) {
        results[k] = compute(spec, k, inputs);
    }
    return results;
}

} // namespace fuzz
