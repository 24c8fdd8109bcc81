// Runs on the calling thread: with what is bound, and with memory lent for one call.
#include "world.hpp"

#include <algorithm>
#include <cstring>

namespace fuzz {

namespace {

struct Limits {
    zb_infer_options options = ZB_INFER_OPTIONS_INIT;
    bool given = false;
};

Limits choose_limits(Input &input, Expect &expect)
{
    Limits limits;
    switch (input.below(16)) {
    case 1: limits.given = true; break;
    case 2: limits.given = true, limits.options.deadline_ns = UINT64_MAX / 4; break;
    case 3: limits.given = true, limits.options.deadline_ns = 1, expect.allow(DEADLINE); break;
    case 4: limits.given = true, limits.options.flags = 2, expect.fail(ARGUMENT); break;
    case 5: limits.given = true, limits.options.struct_size = 4, expect.fail(ARGUMENT); break;
    default: break;
    }
    return limits;
}

// Something is to be written into an input by a queue, and it is not known whether that was before the run.
bool is_disturbed(const World &world, const Context &context, const std::vector<Lent> &lent)
{
    const auto inputs = static_cast<ptrdiff_t>(context.spec->inputs.size());
    return std::any_of(lent.begin(), lent.begin() + inputs, [&](const Lent &memory) {
        return memory.tensor != nullptr && world.is_written_later(*memory.tensor);
    });
}

// What a run leaves in tensors and in the context.
void after_run(World &world, Context &context, const std::vector<Lent> &lent, zb_status status, bool was_refused)
{
    planned(context, status);
    if (status == ZB_ERROR_PANIC) {
        context.panicked = true;
    }
    const size_t inputs = context.spec->inputs.size();
    std::vector<Values> results(context.spec->outputs.size());
    if (status == ZB_OK) {
        if (!is_disturbed(world, context, lent)) {
            results = results_of(context, lent);
        }
        context.results = results;
        context.view = Context::View::sure;
    } else {
        context.view = Context::View::maybe;
    }
    for (size_t k = 0; k < results.size(); k++) {
        const Lent &memory = lent[inputs + k];
        context.lent[k] = status == ZB_OK && memory.given && memory.tensor == nullptr;
        if (memory.tensor == nullptr || was_refused) {
            continue;
        }
        // the same tensor may be at two outputs, of which one is a twin
        Tensor &tensor = *memory.tensor;
        const bool is_whole = status == ZB_OK && results[k].known && results[k].bytes.size() == tensor.size;
        if (is_whole && !world.is_pending(tensor)) {
            tensor.known = true;
            tensor.bytes = results[k].bytes;
        } else {
            world.forget(tensor);
        }
    }
}

bool is_sure_refusal(const Expect &expect) { return (expect.must & ~(DEADLINE | CANCELLED)) != 0; }

void expect_direct(World &world, const std::shared_ptr<Context> &context, Expect &expect)
{
    maybe_busy(world, *context, expect);
    if (context->panicked) {
        expect.fail(PANIC);
    }
}

void infer(World &world, Input &input)
{
    Expect expect;
    const Picked<Context> picked = pick_context(world, input, expect);
    const std::shared_ptr<Context> context = picked.object;
    const Limits limits = choose_limits(input, expect);
    std::vector<Lent> memory;
    if (context != nullptr) {
        memory = bound_memory(*context);
        expect_run(world, *context, memory, expect);
        expect_direct(world, context, expect);
    }
    const zb_status status = CALL(zb_infer, expect, picked.handle, limits.given ? &limits.options : nullptr);
    if (context != nullptr && status != ZB_ERROR_BUSY && status != ZB_ERROR_INVALID_ARGUMENT) {
        after_run(world, *context, memory, status, is_sure_refusal(expect));
    }
}

// Memory for one loan, and what is wrong with it.
struct Loan {
    std::unique_ptr<Block> block;
    Bytes bytes;
    zb_tensor_desc desc = {};
};

// The size of an input that is lent without a desc is that of the slot as it is; an output's is what the inputs make it.
Dims dims_to_lend(const Context &context, size_t position, const std::optional<Dims> &new_dims)
{
    const SlotSpec &spec = *context.spec->slot(context.slot_at(position));
    if (is_known(spec.dims)) {
        return spec.dims;
    }
    if (spec.odd == Odd::hits) {
        return {8};
    }
    return new_dims.value_or(input_dims(context, 0).value_or(Dims{2, 4}));
}

class Lending {
public:
    Lending(Context &context, Input &input) : context_(context), input_(input)
    {
        memory = bound_memory(context);
        const bool is_reshaped = context.spec->is_open() && input.chance(64);
        if (is_reshaped) {
            new_dims_ = Dims{static_cast<int64_t>(input.below(9)), 4};
        } else if (context.spec->is_open() && !input_dims(context, 0)) {
            // a desc gives the first shape
            new_dims_ = Dims{2, 4};
        }
        for (size_t i = 0; i < memory.size(); i++) {
            if (input.byte() % 8 != 7) {
                lend(i);
            }
        }
        spoil();
    }

    std::vector<zb_loan> loans;
    std::vector<Lent> memory;
    Expect expect;

    // Bytes around the loans, and what was computed into them.
    void check(zb_status status, const std::vector<Values> &results)
    {
        for (size_t n = 0; n < lent_.size(); n++) {
            lent_[n].block->check();
            const zb_slot slot = loans[n].slot;
            if ((slot & ZB_OUTPUT_BIT) == 0 && n < places_.size()) {
                if (memcmp(lent_[n].block->data(), lent_[n].bytes.data(), lent_[n].bytes.size()) != 0) {
                    fault("an input was written");
                }
                continue;
            }
            const Values &values = results[places_[n] - context_.spec->inputs.size()];
            if (status == ZB_OK && values.known && values.bytes.size() <= lent_[n].block->size() &&
                memcmp(lent_[n].block->data(), values.bytes.data(), values.bytes.size()) != 0) {
                fault("output %zu of '%s' was lent and is wrong", places_[n] - context_.spec->inputs.size(),
                      context_.spec->name.c_str());
            }
        }
    }
    bool has_new_shape() const { return new_dims_.has_value(); }
    // one that is what the slot is anyway asks for nothing
    void take_new_shape()
    {
        if (new_dims_ != input_dims(context_, 0)) {
            context_.resized = new_dims_;
        }
    }

private:
    void lend(size_t position)
    {
        const zb_slot slot = context_.slot_at(position);
        const bool is_output = (slot & ZB_OUTPUT_BIT) != 0;
        Loan loan;
        const Dims dims = dims_to_lend(context_, position, new_dims_);
        loan.desc = desc_of(context_.spec->dtype, dims);
        size_t size = size_of(context_.spec->dtype, dims);
        static const size_t offsets[] = {0, 0, 0, 0, 0, 4, 1, 32};
        const size_t offset = offsets[input_.below(8)];
        const bool is_larger = is_output && input_.chance(32);
        size += is_larger ? 12 : 0;
        if (input_.chance(8) && size > 0) {
            size--;
            // less than it needs, by a byte
        }
        const size_t behind = input_.chance(64) ? 16 : 0;
        loan.block = std::make_unique<Block>(size, offset, behind, input_.chance(128));
        loan.block->fill(context_.spec->dtype, input_.byte());
        loan.bytes.assign(loan.block->data(), loan.block->data() + size);
        const bool has_desc = (!is_known(context_.spec->slot(slot)->dims) && new_dims_) || input_.chance(96);
        lent_.push_back(std::move(loan));
        const Loan &kept = lent_.back();
        const uint32_t flags = is_output ? ZB_LOAN_OUTPUT : ZB_LOAN_INPUT;
        zb_loan given = {slot, flags, kept.block->data(), size,
                         behind > 0 ? kept.block->capacity() : 0, nullptr};
        if (input_.chance(64)) {
            given.flags = 0;
        }
        Lent &into = memory[position];
        into = Lent{};
        into.given = true;
        into.data = kept.block->data();
        into.size = size;
        into.capacity = kept.block->capacity();
        into.bytes = &kept.bytes;
        if (has_desc) {
            into.desc = kept.desc;
        }
        has_desc_.push_back(has_desc);
        loans.push_back(given);
        places_.push_back(position);
        // vectors of loans move while they grow
        for (size_t n = 0; n < loans.size(); n++) {
            loans[n].desc = has_desc_[n] ? &lent_[n].desc : nullptr;
            memory[places_[n]].bytes = &lent_[n].bytes;
        }
    }

    // Something that is refused whatever the rest is like.
    void spoil()
    {
        if (loans.empty() || !input_.chance(48)) {
            return;
        }
        zb_loan &loan = loans[input_.below(static_cast<unsigned>(loans.size()))];
        const bool is_output = (loan.slot & ZB_OUTPUT_BIT) != 0;
        switch (input_.below(7)) {
        case 0: loan.flags = is_output ? ZB_LOAN_INPUT : ZB_LOAN_OUTPUT, expect.fail(is_output ? READ_ONLY : ARGUMENT); break;
        case 1: loan.flags = 1, expect.fail(ARGUMENT); break;
        case 2: loan.slot += 40, expect.fail(ARGUMENT); break;
        case 3:
            if (loan.size > 0) {
                loan.data = nullptr, expect.fail(NULL_);
            }
            break;
        case 4:
            if (loan.size > 1) {
                loan.capacity = loan.size - 1, expect.fail(ARGUMENT);
            }
            break;
        case 5: loans.push_back(loan), expect.fail(ARGUMENT); break;
        default: expect_alias(loan); break;
        }
    }

    // An output in the memory of another slot of this run.
    void expect_alias(zb_loan &loan)
    {
        if (loan.size == 0 || loans.size() < 2 || &loan == &loans[0] || (loan.slot & ZB_OUTPUT_BIT) == 0 ||
            loans[0].size < loan.size) {
            return;
        }
        loan.data = loans[0].data;
        loan.capacity = 0;
        Lent &into = memory[context_.position(loan.slot)];
        into.data = static_cast<uint8_t *>(loan.data);
        into.capacity = into.size;
        // the values that were predicted are of other memory
        into.bytes = nullptr;
        aliased = true;
    }

    Context &context_;
    Input &input_;
    std::optional<Dims> new_dims_;
    std::vector<Loan> lent_;
    std::vector<bool> has_desc_;
    std::vector<size_t> places_;

public:
    bool aliased = false;
};

void infer_with(World &world, Input &input)
{
    Expect expect;
    const Picked<Context> picked = pick_context(world, input, expect);
    const std::shared_ptr<Context> context = picked.object;
    const Limits limits = choose_limits(input, expect);
    const zb_infer_options *const options = limits.given ? &limits.options : nullptr;
    if (context == nullptr) {
        CALL(zb_infer_with, expect, picked.handle, nullptr, 0, options);
        return;
    }
    if (input.chance(8)) {
        expect.fail(NULL_);
        CALL(zb_infer_with, expect, picked.handle, nullptr, 2, options);
        return;
    }
    Lending lending(*context, input);
    const std::optional<Dims> before = context->resized;
    if (lending.has_new_shape()) {
        // predicted as if it were in force, as it is once the loan is taken
        const bool is_input_lent =
            std::any_of(lending.loans.begin(), lending.loans.end(), [](const zb_loan &loan) { return loan.slot == ZB_INPUT(0); });
        if (is_input_lent) {
            lending.take_new_shape();
        } else {
            context->shape_unsure = true;
        }
    }
    expect.fail(lending.expect.must);
    expect_run(world, *context, lending.memory, expect);
    expect_direct(world, context, expect);
    const zb_status status =
        CALL(zb_infer_with, expect, picked.handle, lending.loans.data(), lending.loans.size(), options);
    const std::vector<Values> nothing(context->spec->outputs.size());
    const bool is_known_run = status == ZB_OK && !lending.aliased && !is_disturbed(world, *context, lending.memory);
    lending.check(status, is_known_run ? results_of(*context, lending.memory) : nothing);
    if (status == ZB_ERROR_BUSY || (expect.must & (NULL_ | ARGUMENT)) != 0) {
        if (context->resized != before) {
            context->resized = before;
            context->shape_unsure |= status != ZB_ERROR_BUSY;
        }
        context->view = Context::View::maybe;
        context->panicked |= status == ZB_ERROR_PANIC;
        return;
    }
    after_run(world, *context, lending.memory, status, is_sure_refusal(expect));
}

} // namespace

void run_step(World &world, Input &input)
{
    if (input.chance(128)) {
        infer_with(world, input);
    } else {
        infer(world, input);
    }
}

} // namespace fuzz
