// Contexts: what is bound, asked for and planned, and questions.
#include "world.hpp"

#include <algorithm>
#include <cstring>

namespace fuzz {

namespace {

// A line of the mock that makes a stage of this context fail, and how.
struct Whim {
    const char *line;
    Statuses statuses;
};

const Whim whims[] = {
    {"run fail RUNTIME no luck @2", RUNTIME},
    {"run panic oh no @3", PANIC},
    {"finish fail OUT_OF_MEMORY none @1", MEMORY},
    {"plan fail RUNTIME no plan @2", RUNTIME},
    {"plan panic oh no @2", PANIC},
    {"attach fail RUNTIME no place @3", RUNTIME},
    {"attach panic oh no @4", PANIC},
    {"reset fail RUNTIME no way @1", RUNTIME},
    {"reset panic oh no @2", PANIC},
    {"output fail RUNTIME nothing @2", RUNTIME},
    {"finish panic oh no @2", PANIC},
    {"run log warn a word", 0},
};

struct Settings {
    zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
    zb_option option = {"mock.line", ""};
};

void choose_settings(World &world, Input &input, Context &context, Settings &settings, Expect &expect)
{
    zb_context_options &options = settings.options;
    context.copies = input.chance(96);
    options.copy_policy = context.copies ? ZB_COPY_ALLOW : ZB_COPY_NEVER;
    options.threads = static_cast<int32_t>(input.below(3));
    options.flags = input.chance(64) ? ZB_CONTEXT_PROFILE : 0;
    if (world.engine == Engine::mock && input.chance(72)) {
        const Whim &whim = whims[input.below(sizeof whims / sizeof *whims)];
        settings.option.value = whim.line;
        options.options = &settings.option;
        options.option_count = 1;
        context.whims = whim.statuses;
    }
    switch (input.chance(24) ? input.below(6) : 6) {
    case 0: options.struct_size = 8, expect.fail(ARGUMENT); break;
    case 1: options.threads = -1, expect.fail(ARGUMENT); break;
    case 2: options.copy_policy = 9, expect.fail(ARGUMENT); break;
    case 3: options.flags = 64, expect.fail(ARGUMENT); break;
    case 4: settings.option.key = "nobody.knows", options.options = &settings.option, options.option_count = 1, expect.fail(NOT_FOUND); break;
    case 5: options.options = nullptr, options.option_count = 2, expect.fail(NULL_); break;
    default: break;
    }
}

// For calls that do not need the engine: what a context that panicked gives, if nothing else is wrong.
void expect_sane(const std::shared_ptr<Context> &context, Expect &expect)
{
    if (context == nullptr) {
        return;
    }
    expect.allow(context->whims & PANIC);
    if (context->panicked) {
        expect.fail(PANIC);
    }
}

void note(const std::shared_ptr<Context> &context, zb_status status)
{
    if (context != nullptr && status == ZB_ERROR_PANIC) {
        context->panicked = true;
    }
}

void resize(World &world, Input &input)
{
    Expect expect;
    const Picked<Context> picked = pick_context(world, input, expect);
    const std::shared_ptr<Context> context = picked.object;
    const zb_slot slot = pick_slot(input, context != nullptr ? context->spec : nullptr, expect);
    const SlotSpec *const spec = context != nullptr ? context->spec->slot(slot) : nullptr;
    Dims dims = spec != nullptr ? spec->dims : Dims{4};
    bool is_odd = false;
    for (int64_t &dim : dims) {
        if (dim < 0) {
            dim = input.below(9);
        }
    }
    uint32_t rank = static_cast<uint32_t>(dims.size());
    const bool no_dims = input.chance(8);
    switch (input.chance(40) ? input.below(5) : 5) {
    case 0: dims[0] = -1, expect.fail(ARGUMENT), is_odd = true; break;
    case 1: rank = 17, dims.resize(17, 1), expect.fail(UNSUPPORTED), is_odd = true; break;
    case 2: dims[0] = INT64_C(1) << 40, is_odd = true; break;
    case 3: dims.push_back(2), rank++, is_odd = true; break;
    case 4: dims[0] = input.below(9); break;
    default: break;
    }
    if (no_dims) {
        expect.fail(NULL_);
    }
    if ((slot & ZB_OUTPUT_BIT) != 0) {
        expect.fail(ARGUMENT);
    }
    const bool is_shape = spec != nullptr && agree(dims, spec->dims);
    if (is_odd) {
        expect.fail(ARGUMENT | SHAPE | UNSUPPORTED);
    } else if (!is_shape) {
        expect.fail(SHAPE);
    }
    if (context != nullptr) {
        maybe_busy(world, *context, expect);
    }
    expect_sane(context, expect);
    const zb_status status =
        CALL(zb_context_resize_input, expect, picked.handle, slot, no_dims ? nullptr : dims.data(), rank);
    note(context, status);
    if (status == ZB_OK) {
        context->view = Context::View::none;
        if (context->spec->is_open()) {
            context->resized = dims;
            context->shape_unsure = false;
        }
    }
}

void prepare(World &world, Input &input)
{
    Expect expect;
    const Picked<Context> picked = pick_context(world, input, expect);
    const std::shared_ptr<Context> context = picked.object;
    if (context != nullptr) {
        expect_plan(*context, expect);
        maybe_busy(world, *context, expect);
        expect.allow(context->whims);
    }
    expect_sane(context, expect);
    const zb_status status = CALL(zb_context_prepare, expect, picked.handle);
    note(context, status);
    if (context != nullptr && status != ZB_ERROR_BUSY) {
        planned(*context, status);
        context->view = Context::View::maybe;
    }
}

void reset(World &world, Input &input)
{
    Expect expect;
    const Picked<Context> picked = pick_context(world, input, expect);
    if (picked.object != nullptr) {
        maybe_busy(world, *picked.object, expect);
        expect.allow(picked.object->whims);
    }
    expect_sane(picked.object, expect);
    const zb_status status = CALL(zb_context_reset_state, expect, picked.handle);
    note(picked.object, status);
    if (picked.object != nullptr) {
        picked.object->view = status == ZB_OK ? Context::View::none : Context::View::maybe;
    }
}

void bind(World &world, Input &input)
{
    Expect expect;
    const Picked<Tensor> tensor = pick_tensor(world, input, expect);
    const Picked<Context> context = pick_context(world, input, expect);
    const Spec *const spec = context.object != nullptr ? context.object->spec : nullptr;
    const zb_slot slot = pick_slot(input, spec, expect);
    if (tensor.object != nullptr && spec != nullptr && spec->slot(slot) != nullptr) {
        expect_fit(*context.object, slot, *tensor.object, expect);
    }
    expect_sane(context.object, expect);
    const zb_status status = CALL(zb_tensor_bind, expect, tensor.handle, context.handle, slot);
    note(context.object, status);
    if (status == ZB_OK) {
        context.object->bound[context.object->position(slot)] = tensor.object;
        context.object->view = Context::View::none;
    }
}

// Tensors for all slots, so that runs come about: the nearest that fits, or a new one.
void bind_all(World &world, Input &input)
{
    Expect expect;
    const Picked<Context> picked = pick_context(world, input, expect);
    const std::shared_ptr<Context> context = picked.object;
    if (context == nullptr || context->panicked) {
        return;
    }
    for (size_t i = 0; i < context->bound.size(); i++) {
        const zb_slot slot = context->slot_at(i);
        for (size_t j = 0; j < world.tensors.live.size(); j++) {
            const std::shared_ptr<Tensor> &tensor = world.tensors.live[(j + i + input.byte()) % world.tensors.live.size()];
            Expect fit;
            expect_fit(*context, slot, *tensor, fit);
            const bool is_taken = std::find(context->bound.begin(), context->bound.end(), tensor) != context->bound.end();
            if (fit.must != 0 || is_taken) {
                continue;
            }
            expect_sane(context, fit);
            const zb_status status = CALL(zb_tensor_bind, fit, tensor->handle, context->handle, slot);
            note(context, status);
            if (status == ZB_OK) {
                context->bound[i] = tensor;
                context->view = Context::View::none;
                break;
            }
        }
    }
}

void unbind(World &world, Input &input)
{
    Expect expect;
    const Picked<Context> picked = pick_context(world, input, expect);
    const Spec *const spec = picked.object != nullptr ? picked.object->spec : nullptr;
    const zb_slot slot = pick_slot(input, spec, expect);
    expect_sane(picked.object, expect);
    if (expect.all() == OK && !expect.refused()) {
        // before the call: the tensor's release may come in it
        picked.object->bound[picked.object->position(slot)] = nullptr;
    }
    const zb_status status = CALL(zb_context_unbind, expect, picked.handle, slot);
    note(picked.object, status);
    if (status == ZB_OK) {
        picked.object->bound[picked.object->position(slot)] = nullptr;
        picked.object->view = Context::View::none;
    }
}

void swap(World &world, Input &input)
{
    Expect expect;
    const Picked<Context> picked = pick_context(world, input, expect);
    const std::shared_ptr<Context> context = picked.object;
    const Spec *const spec = context != nullptr ? context->spec : nullptr;
    const zb_slot a = pick_slot(input, spec, expect), b = pick_slot(input, spec, expect);
    if (spec != nullptr && spec->slot(a) != nullptr && spec->slot(b) != nullptr) {
        const auto left = context->bound[context->position(a)], right = context->bound[context->position(b)];
        if (left == nullptr || right == nullptr) {
            expect.fail(UNBOUND);
        } else {
            if (!is_same(left->desc, right->desc)) {
                expect.fail(SHAPE | DTYPE);
            }
            expect_fit(*context, a, *right, expect);
            expect_fit(*context, b, *left, expect);
        }
    }
    expect_sane(context, expect);
    const zb_status status = CALL(zb_context_swap, expect, picked.handle, a, b);
    note(context, status);
    if (status == ZB_OK) {
        std::swap(context->bound[context->position(a)], context->bound[context->position(b)]);
        context->view = Context::View::none;
    }
}

void view(World &world, Input &input)
{
    Expect expect;
    const Picked<Context> picked = pick_context(world, input, expect);
    const std::shared_ptr<Context> context = picked.object;
    const zb_slot slot = pick_slot(input, context != nullptr ? context->spec : nullptr, expect);
    const bool is_slot = context != nullptr && context->spec->slot(slot) != nullptr;
    const size_t output = slot & ~ZB_OUTPUT_BIT;
    if (is_slot && (slot & ZB_OUTPUT_BIT) == 0) {
        expect.fail(ARGUMENT);
    } else if (is_slot) {
        if (context->view == Context::View::none && !world.is_pending(*context)) {
            expect.fail(UNBOUND);
        } else if (context->view == Context::View::sure && !world.is_pending(*context)) {
            if (context->lent[output]) {
                expect.fail(UNBOUND);
            } else if (context->spec->is_odd()) {
                expect.allow(UNBOUND);
            }
        } else {
            expect.allow(UNBOUND);
        }
        expect.allow(context->whims);
    }
    expect_sane(context, expect);
    const void *data = nullptr;
    size_t size = 0;
    zb_tensor_desc desc = {};
    const zb_status status = CALL(zb_context_output_view, expect, picked.handle, slot, &data, &size, &desc);
    note(context, status);
    if (status != ZB_OK || context->view != Context::View::sure || world.is_pending(*context)) {
        return;
    }
    const Values &values = context->results[output];
    const auto &tensor = context->bound[context->position(slot)];
    // one that is passed through lies in the input's memory, which may have been written since
    const bool is_twin = context->spec->outputs[output].odd == Odd::twin;
    if (!values.known || is_twin || (tensor != nullptr && !tensor->known)) {
        return;
    }
    if (desc.dtype != context->spec->dtype || (size != values.bytes.size() && tensor == nullptr)) {
        fault("a view has %zu bytes of type %d, not %zu", size, desc.dtype, values.bytes.size());
    }
    if (tensor == nullptr && memcmp(data, values.bytes.data(), size) != 0) {
        fault("a view shows other values than the run computed");
    }
}

void ask(World &world, Input &input)
{
    Expect expect;
    const unsigned what = input.below(6);
    const Picked<Context> picked = pick_context(world, input, expect);
    const std::shared_ptr<Context> context = picked.object;
    if (what == 5) {
        // a run that is not there cannot be stopped, and some engines' never
        expect.allow(UNSUPPORTED);
        expect_sane(context, expect);
        if (context != nullptr) {
            world.spoil_if([&](const Operation &operation) { return operation.context == context; }, CANCELLED);
        }
        CALL(zb_context_cancel, expect, picked.handle);
        return;
    }
    expect_sane(context, expect);
    if (what == 0) {
        zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
        CALL(zb_context_get_stats, expect, picked.handle, &stats);
        return;
    }
    const zb_slot slot = pick_slot(input, context != nullptr ? context->spec : nullptr, expect);
    if (context != nullptr) {
        expect.allow(context->whims & PANIC);
    }
    zb_status status = ZB_OK;
    if (what == 1) {
        zb_slot_info info = ZB_SLOT_INFO_INIT;
        status = CALL(zb_context_get_slot_info, expect, picked.handle, slot, &info);
    } else if (what == 2) {
        zb_tensor_desc desc;
        size_t size = 0;
        status = CALL(zb_context_get_slot_desc, expect, picked.handle, slot, &desc, &size);
    } else if (what == 3) {
        zb_binding_report told = ZB_BINDING_REPORT_INIT;
        if (input.chance(24)) {
            told.struct_size = 0;
            expect.fail(ARGUMENT);
        }
        status = CALL(zb_context_get_binding_report, expect, picked.handle, slot, &told);
    } else {
        zb_requirements needs = ZB_REQUIREMENTS_INIT;
        if (context != nullptr) {
            expect_plan(*context, expect);
            maybe_busy(world, *context, expect);
            expect.allow(context->whims);
        }
        status = CALL(zb_context_get_requirements, expect, picked.handle, slot, &needs);
        if (context != nullptr && context->spec->slot(slot) != nullptr && status != ZB_ERROR_BUSY) {
            planned(*context, status);
            context->view = Context::View::maybe;
        }
        if (status == ZB_OK && (needs.alignment != context->spec->alignment || needs.memory_kinds == 0)) {
            fault("a slot asks for alignment %llu", static_cast<unsigned long long>(needs.alignment));
        }
    }
    note(context, status);
}

} // namespace

void create_context(World &world, Input &input)
{
    Expect expect;
    const Picked<Model> picked = pick_model(world, input, expect);
    const auto context = std::make_shared<Context>();
    Settings settings;
    choose_settings(world, input, *context, settings, expect);
    const bool has_options = context->copies || !input.chance(64) || settings.options.option_count > 0;
    if (!has_options) {
        settings.options = ZB_CONTEXT_OPTIONS_INIT;
        expect.must &= ~(ARGUMENT | NOT_FOUND);
    }
    const bool no_place = input.chance(8);
    if (no_place) {
        expect.fail(NULL_);
    }
    const zb_status status = CALL(zb_context_create, expect, picked.handle, has_options ? &settings.options : nullptr,
                                  no_place ? nullptr : &context->handle);
    if (status != ZB_OK) {
        return;
    }
    context->spec = picked.object->spec;
    context->bound.resize(context->spec->inputs.size() + context->spec->outputs.size());
    context->lent.resize(context->spec->outputs.size());
    context->results.resize(context->spec->outputs.size());
    world.contexts.live.push_back(context);
}

void context_step(World &world, Input &input)
{
    switch (input.below(8)) {
    case 0: resize(world, input); break;
    case 1: prepare(world, input); break;
    case 2: reset(world, input); break;
    case 3: case 4: view(world, input); break;
    default: ask(world, input); break;
    }
}

void binding_step(World &world, Input &input)
{
    switch (input.below(8)) {
    case 0: unbind(world, input); break;
    case 1: case 2: swap(world, input); break;
    case 3: case 4: bind_all(world, input); break;
    default: bind(world, input); break;
    }
}

} // namespace fuzz
