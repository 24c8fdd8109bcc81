// Queues, their operations, and events.
#include "world.hpp"

#include <algorithm>
#include <cstring>
#include <poll.h>
#include <unistd.h>

namespace fuzz {

namespace {

int32_t on_submit(void *user_data, zb_task_fn run, void *task)
{
    auto *const queue = static_cast<Queue *>(user_data);
    unsigned refuse = queue->world->refuse.load(std::memory_order_relaxed);
    while (refuse > 0) {
        if (queue->world->refuse.compare_exchange_weak(refuse, refuse - 1, std::memory_order_relaxed)) {
            return 1;
        }
    }
    if (queue->is_inline) {
        run(task);
        return 0;
    }
    const std::lock_guard<std::mutex> guard(queue->world->task_lock);
    queue->world->tasks.emplace_back(run, task);
    return 0;
}

// What the executor does to operations that wait.
void expect_refusals(World &world)
{
    if (world.refuse.load(std::memory_order_relaxed) > 0) {
        world.spoil_if([](const Operation &operation) { return operation.queue->has_executor; }, CANCELLED);
    }
}

struct Adding {
    Expect expect;
    Picked<Queue> queue;
    std::shared_ptr<Operation> operation = std::make_shared<Operation>();
};

void expect_room(World &world, const Picked<Queue> &queue, Expect &expect)
{
    if (queue.object == nullptr) {
        return;
    }
    const auto unsettled = std::count_if(world.operations.begin(), world.operations.end(), [&](const auto &operation) {
        return operation->queue == queue.object && !operation->settled;
    });
    if (static_cast<size_t>(unsettled) >= queue.object->capacity) {
        expect.allow(FULL);
    }
    if (queue.object->has_executor && world.refuse.load(std::memory_order_relaxed) > 0) {
        expect.allow(BUSY);
    }
}

// An operation that reads what may be as it should not be may end so.
void expect_dependencies(const std::vector<std::shared_ptr<Tensor>> &reads, Operation &operation)
{
    for (const auto &tensor : reads) {
        if (tensor->suspect) {
            operation.ends |= DEPENDENCY;
        }
    }
}

bool is_known_input(const std::vector<std::shared_ptr<Tensor>> &reads)
{
    return std::all_of(reads.begin(), reads.end(), [](const auto &tensor) { return tensor->known; });
}

void added(World &world, Adding &adding, zb_event *event)
{
    Operation &operation = *adding.operation;
    operation.queue = adding.queue.object;
    operation.has_event = event != nullptr;
    if (operation.queue->has_executor && world.refuse.load(std::memory_order_relaxed) > 0) {
        operation.ends |= CANCELLED;
    }
    world.operations.push_back(adding.operation);
    if ((operation.ends & ~OK) != 0) {
        for (const auto &tensor : operation.writes) {
            tensor->suspect = true;
            world.forget(*tensor);
        }
    }
    if (event == nullptr) {
        return;
    }
    const auto made = std::make_shared<Event>();
    made->handle = event;
    made->operation = adding.operation;
    world.events.live.push_back(made);
}

void create(World &world, Input &input)
{
    Expect expect;
    const auto queue = std::make_shared<Queue>();
    queue->world = &world;
    queue->has_executor = !input.chance(96);
    queue->is_inline = queue->has_executor && input.chance(48);
    zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
    options.capacity = input.below(6);
    options.submit = queue->has_executor ? on_submit : nullptr;
    options.user_data = queue.get();
    queue->capacity = options.capacity == 0 ? 64 : options.capacity;
    if (input.chance(16)) {
        options.struct_size = 1;
        expect.fail(ARGUMENT);
    }
    const bool no_place = input.chance(8);
    if (no_place) {
        expect.fail(NULL_);
    }
    if (CALL(zb_queue_create, expect, &options, no_place ? nullptr : &queue->handle) == ZB_OK) {
        world.has_threads |= !queue->has_executor;
        world.queues.live.push_back(queue);
        world.all_queues.push_back(queue);
    }
}

void write(World &world, Input &input)
{
    Adding adding;
    adding.queue = pick_queue(world, input, adding.expect);
    const Picked<Tensor> tensor = pick_tensor(world, input, adding.expect);
    expect_room(world, adding.queue, adding.expect);
    expect_refusals(world);
    const size_t whole = tensor.object != nullptr ? tensor.object->size : 16;
    size_t offset = 0, size = std::min<size_t>(whole, 4096);
    if (input.chance(96) && whole > 0) {
        offset = input.byte() % whole;
        size = input.byte() % (std::min<size_t>(whole - offset, 255) + 1);
    }
    if (input.chance(12)) {
        offset = input.chance(128) ? whole + 1 : SIZE_MAX;
        adding.expect.fail(ARGUMENT);
    }
    if (tensor.object != nullptr && tensor.object->read_only) {
        adding.expect.fail(READ_ONLY);
    }
    Block source(size, 0, 0, false);
    source.fill(tensor.object != nullptr ? tensor.object->desc.dtype : ZB_DTYPE_F32, input.byte());
    const bool no_source = size > 0 && input.chance(8), no_event = input.chance(48);
    if (no_source) {
        adding.expect.fail(NULL_);
    }
    zb_event *event = nullptr;
    const zb_status status = CALL(zb_queue_write, adding.expect, adding.queue.handle, tensor.handle, offset,
                                  no_source ? nullptr : source.data(), size, no_event ? nullptr : &event);
    if (status != ZB_OK) {
        return;
    }
    adding.operation->writes.push_back(tensor.object);
    if (size > 0) {
        const bool was_known = tensor.object->known;
        tensor.object->known = (was_known || size == whole) && is_known(dims_of(tensor.object->desc));
        tensor.object->bytes.resize(whole);
        memcpy(tensor.object->bytes.data() + offset, source.data(), size);
    }
    added(world, adding, event);
}

void read(World &world, Input &input)
{
    Adding adding;
    adding.queue = pick_queue(world, input, adding.expect);
    const Picked<Tensor> tensor = pick_tensor(world, input, adding.expect);
    expect_room(world, adding.queue, adding.expect);
    expect_refusals(world);
    const size_t whole = tensor.object != nullptr ? tensor.object->size : 16;
    size_t offset = 0, size = std::min<size_t>(whole, 4096);
    if (input.chance(96) && whole > 0) {
        offset = input.byte() % whole;
        size = input.byte() % (std::min<size_t>(whole - offset, 255) + 1);
    }
    if (input.chance(12)) {
        offset = whole + 3;
        adding.expect.fail(ARGUMENT);
    }
    const bool no_event = input.chance(12);
    if (no_event) {
        adding.expect.fail(NULL_);
    }
    Operation &operation = *adding.operation;
    operation.destination = std::make_unique<Block>(size, input.below(8), 0, input.chance(128));
    zb_event *event = nullptr;
    const zb_status status = CALL(zb_queue_read, adding.expect, adding.queue.handle, tensor.handle, offset,
                                  operation.destination->data(), size, no_event ? nullptr : &event);
    if (status != ZB_OK) {
        return;
    }
    operation.reads.push_back(tensor.object);
    expect_dependencies(operation.reads, operation);
    operation.known = tensor.object->known;
    if (operation.known) {
        const auto start = tensor.object->bytes.begin() + static_cast<ptrdiff_t>(offset);
        operation.expected.assign(start, start + static_cast<ptrdiff_t>(size));
    }
    added(world, adding, event);
}

// What a run on a queue would use, and how it may end.
void foresee(World &world, const std::shared_ptr<Context> &context, const std::vector<Lent> &memory, Operation &operation)
{
    operation.context = context;
    const size_t inputs = context->spec->inputs.size();
    for (size_t i = 0; i < memory.size(); i++) {
        if (memory[i].tensor != nullptr) {
            (i < inputs ? operation.reads : operation.writes).push_back(memory[i].tensor);
        }
    }
    Expect run;
    expect_run(world, *context, memory, run);
    run.must &= ~BUSY, run.may &= ~BUSY;
    operation.ends = run.all();
    if (context->panicked || (context->whims & PANIC) != 0) {
        operation.ends |= PANIC;
    }
    if (context->spec->is_open()) {
        // shapes of operations before it may fail or come in between
        operation.ends |= SHAPE | SMALL | OK;
    }
    expect_dependencies(operation.reads, operation);
    // a twin is read by who writes it
    if (context->spec->is_odd()) {
        expect_dependencies(operation.writes, operation);
    }
    // what was asked for before another operation of this context is in force again after it
    const bool is_plain = operation.ends == OK && is_known_input(operation.reads) && !context->spec->is_open();
    const std::vector<Values> results = is_plain ? results_of(*context, memory) : std::vector<Values>(memory.size() - inputs);
    for (size_t k = 0; k + inputs < memory.size(); k++) {
        const auto &tensor = memory[inputs + k].tensor;
        if (tensor == nullptr) {
            continue;
        }
        if (results[k].known && results[k].bytes.size() == tensor->size) {
            tensor->known = true;
            tensor->bytes = results[k].bytes;
        } else {
            world.forget(*tensor);
        }
    }
}

void infer(World &world, Input &input)
{
    Adding adding;
    adding.queue = pick_queue(world, input, adding.expect);
    const Picked<Context> picked = pick_context(world, input, adding.expect);
    const std::shared_ptr<Context> context = picked.object;
    expect_room(world, adding.queue, adding.expect);
    expect_refusals(world);
    const bool is_with = input.chance(96), no_event = input.chance(64);
    zb_infer_options options = ZB_INFER_OPTIONS_INIT;
    Statuses late = 0;
    if (input.chance(24)) {
        options.deadline_ns = 1;
        late = DEADLINE;
    } else if (input.chance(8)) {
        options.flags = 1;
        adding.expect.fail(ARGUMENT);
    }
    std::vector<zb_slot_tensor> instead;
    std::vector<Lent> memory;
    if (context != nullptr) {
        memory = bound_memory(*context);
        if (context->panicked) {
            adding.expect.fail(PANIC);
        }
        adding.expect.allow(context->whims & PANIC);
    }
    for (unsigned i = is_with ? input.below(4) : 0; i > 0; i--) {
        const Picked<Tensor> tensor = pick_tensor(world, input, adding.expect);
        const zb_slot slot = pick_slot(input, context != nullptr ? context->spec : nullptr, adding.expect);
        const bool is_named = std::any_of(instead.begin(), instead.end(), [&](const auto &one) { return one.slot == slot; });
        if (is_named) {
            adding.expect.fail(ARGUMENT);
        }
        instead.push_back({slot, 0, tensor.handle});
        if (context == nullptr || tensor.object == nullptr || context->spec->slot(slot) == nullptr) {
            continue;
        }
        Expect fit;
        expect_fit(*context, slot, *tensor.object, fit);
        if (context->spec->is_open()) {
            // a tensor of another shape gives this run that shape; then alignment is not looked at here
            fit.allow(fit.must | SHAPE), fit.must &= DTYPE | READ_ONLY;
        }
        adding.expect.fail(fit.must), adding.expect.allow(fit.may);
        Lent &into = memory[context->position(slot)];
        into = Lent{};
        into.given = true;
        into.tensor = tensor.object;
        into.data = tensor.object->data;
        into.size = tensor.object->size, into.capacity = tensor.object->capacity;
        into.desc = tensor.object->desc;
        into.bytes = tensor.object->known ? &tensor.object->bytes : nullptr;
    }
    if (context != nullptr) {
        for (size_t i = 0; i < context->spec->inputs.size(); i++) {
            if (!memory[i].given) {
                adding.expect.fail(UNBOUND);
            }
        }
    }
    zb_event *event = nullptr;
    zb_event **const place = no_event ? nullptr : &event;
    const bool has_options = options.flags != 0 || options.deadline_ns != 0;
    const zb_status status = instead.empty()
        ? CALL(zb_queue_infer, adding.expect, adding.queue.handle, picked.handle, has_options ? &options : nullptr, place)
        : CALL(zb_queue_infer_with, adding.expect, adding.queue.handle, picked.handle, instead.data(), instead.size(),
               has_options ? &options : nullptr, place);
    if (context != nullptr && status == ZB_ERROR_PANIC) {
        context->panicked = true;
    }
    if (status != ZB_OK) {
        return;
    }
    foresee(world, context, memory, *adding.operation);
    adding.operation->ends |= late;
    context->view = Context::View::maybe;
    if (context->spec->is_open()) {
        context->shape_unsure = true;
    }
    if (late != 0) {
        for (const auto &tensor : adding.operation->writes) {
            tensor->suspect = true;
            world.forget(*tensor);
        }
    }
    added(world, adding, event);
}

void fence(World &world, Input &input)
{
    Adding adding;
    adding.queue = pick_queue(world, input, adding.expect);
    expect_room(world, adding.queue, adding.expect);
    expect_refusals(world);
    const bool is_wait = input.chance(128);
    zb_event *event = nullptr;
    zb_status status = ZB_OK;
    if (is_wait) {
        const Picked<Event> other = pick_event(world, input, adding.expect);
        status = CALL(zb_queue_wait_event, adding.expect, adding.queue.handle, other.handle);
    } else {
        const bool no_place = input.chance(16);
        if (no_place) {
            adding.expect.fail(NULL_);
        }
        status = CALL(zb_queue_fence, adding.expect, adding.queue.handle, no_place ? nullptr : &event);
    }
    if (status == ZB_OK) {
        added(world, adding, event);
    }
}

void finish(World &world, Input &input)
{
    Expect expect;
    const Picked<Queue> picked = pick_queue(world, input, expect);
    static const uint64_t times[] = {0, 1000, 200000};
    expect_refusals(world);
    if (picked.object != nullptr) {
        expect.allow(TIMEOUT | BUSY);
    }
    if (CALL(zb_queue_finish, expect, picked.handle, times[input.below(3)]) == ZB_OK) {
        for (const auto &operation : world.operations) {
            if (operation->queue == picked.object && !operation->has_event) {
                operation->settled = true;
            }
        }
    }
}

void check_result(World &world, Event &event, zb_status result)
{
    if (!event.operation->settled) {
        world.settled(*event.operation, result);
    }
}

void wait(World &world, Input &input)
{
    Expect expect;
    const Picked<Event> picked = pick_event(world, input, expect);
    static const uint64_t times[] = {0, 1000, 200000};
    const bool no_place = input.chance(8);
    expect_refusals(world);
    if (no_place) {
        expect.fail(NULL_);
    }
    if (picked.object != nullptr && !picked.object->operation->settled) {
        expect.allow(TIMEOUT | BUSY);
    }
    zb_status result = -7;
    const zb_status status = CALL(zb_event_wait, expect, picked.handle, times[input.below(3)], no_place ? nullptr : &result);
    if (status == ZB_OK) {
        check_result(world, *picked.object, result);
    } else if (result != -7) {
        fault("a result was written by a call that failed");
    }
}

void on_complete(World &world, Input &input)
{
    Expect expect;
    const Picked<Event> picked = pick_event(world, input, expect);
    world.completions.push_back(std::make_unique<Completion>());
    Completion &completion = *world.completions.back();
    completion.event = picked.handle;
    const bool is_null = input.chance(8);
    if (is_null) {
        expect.fail(NULL_);
    }
    if (picked.object != nullptr) {
        if (picked.object->has_callback) {
            expect.fail(ARGUMENT);
        }
        completion.operation = picked.object->operation;
    }
    pick_errand(world, input, completion.errand);
    const zb_status status =
        CALL(zb_event_on_complete, expect, picked.handle, is_null ? nullptr : Completion::on_complete, &completion);
    if (status != ZB_OK) {
        completion.errand.run();
        // it is not to come
        completion.operation = nullptr;
    } else {
        picked.object->has_callback = true;
    }
}

void ask(World &world, Input &input)
{
    Expect expect;
    const unsigned what = input.below(4);
    const Picked<Event> picked = pick_event(world, input, expect);
    const bool is_settled = picked.object != nullptr && picked.object->operation->settled;
    if (what == 0) {
        char text[40];
        size_t needed = 0;
        if (!is_settled) {
            expect.allow(BUSY);
        }
        expect.allow(SMALL);
        CALL(zb_event_get_error, expect, picked.handle, text, input.below(40), &needed);
    } else if (what == 1) {
        expect.allow(UNBOUND | ARGUMENT | BUSY);
        zb_tensor_desc desc;
        CALL(zb_event_get_slot_desc, expect, picked.handle, pick_slot(input, nullptr, expect), &desc, nullptr);
    } else if (what == 2) {
        int file = -1;
        if (CALL(zb_event_get_fd, expect, picked.handle, &file) == ZB_OK) {
            struct pollfd look = {file, POLLIN, 0};
            if (is_settled && poll(&look, 1, 0) != 1) {
                fault("the descriptor of a settled event is not readable");
            }
            close(file);
        }
    } else {
        expect.allow(UNSUPPORTED);
        if (picked.object != nullptr && !is_settled) {
            world.spoil(*picked.object->operation, CANCELLED);
        }
        CALL(zb_event_cancel, expect, picked.handle);
    }
}

} // namespace

void queue_step(World &world, Input &input)
{
    switch (input.below(16)) {
    case 0: if (world.queues.live.size() < world.queues.room) { create(world, input); } break;
    case 1: case 2: write(world, input); break;
    case 3: case 4: read(world, input); break;
    case 5: case 6: case 7: case 8: infer(world, input); break;
    case 9: fence(world, input); break;
    case 10: finish(world, input); break;
    case 11: world.refuse.store(input.below(3), std::memory_order_relaxed), expect_refusals(world); break;
    default:
        expect_refusals(world);
        world.run_task();
        break;
    }
}

void event_step(World &world, Input &input)
{
    switch (input.below(6)) {
    case 0: case 1: wait(world, input); break;
    case 2: on_complete(world, input); break;
    case 3: finish(world, input); break;
    default: ask(world, input); break;
    }
}

} // namespace fuzz
