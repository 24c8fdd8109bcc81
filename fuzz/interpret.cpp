// A program, step by step, and its end: nothing is left, and all that was promised came.
#include "concurrent.hpp"
#include "dlpack.hpp"
#include "world.hpp"

#include <ctime>

namespace fuzz {

namespace {

void step(World &world, Input &input)
{
    switch (input.below(24)) {
    case 0: library_step(world, input); break;
    case 1: model_step(world, input); break;
    case 2: if (world.models.live.size() < world.models.room) { open_model(world, input); } break;
    case 3: if (world.contexts.live.size() < world.contexts.room) { create_context(world, input); } break;
    case 4: case 5: if (world.tensors.live.size() < 4 * world.tensors.room) { make_tensor(world, input); } break;
    case 6: case 7: case 8: binding_step(world, input); break;
    case 9: case 10: context_step(world, input); break;
    case 11: case 12: case 13: case 14: run_step(world, input); break;
    case 15: tensor_step(world, input); break;
    case 16:
        if (input.chance(128)) {
            destroy_something(world, input, 1 + static_cast<int32_t>(input.below(5)));
        } else {
            queue_step(world, input);
        }
        break;
    case 17: event_step(world, input); break;
    case 18: destroy_something(world, input, ZB_KIND_EVENT); break;
    default:
        world.queues.live.empty() ? make_tensor(world, input) : queue_step(world, input);
        break;
    }
    world.drop_settled();
    while (world.events.live.size() > 24) {
        CALL(zb_event_destroy, Expect{}, world.events.live.front()->handle);
        world.events.live.erase(world.events.live.begin());
    }
    for (const auto &tensor : world.tensors.live) {
        world.check_released(*tensor);
    }
}

// Something to begin with, so that most steps find objects.
void prepare(World &world, Input &input)
{
    const unsigned models = 1 + input.below(2);
    for (unsigned i = 0; i < models; i++) {
        const uint8_t which = input.byte();
        uint8_t choice[32] = {};
        choice[0] = which;
        Input model(choice, sizeof choice);
        open_model(world, model);
        uint8_t context[32] = {};
        context[0] = static_cast<uint8_t>(world.models.live.size() - 1);
        context[1] = input.byte();
        Input options(context, sizeof context);
        create_context(world, options);
    }
    if (input.chance(192)) {
        uint8_t queue[8] = {};
        queue[1] = input.byte();
        Input options(queue, sizeof queue);
        queue_step(world, options);
    }
}

void nap()
{
    const timespec time = {0, 100000};
    nanosleep(&time, nullptr);
}

// Runs what executors have, until nothing is left in any queue.
void drain(World &world)
{
    world.refuse.store(0, std::memory_order_relaxed);
    for (int round = 0;; round++) {
        while (world.run_task()) {
        }
        bool is_over = true;
        for (const auto &queue : world.queues.live) {
            Expect expect;
            expect.allow(TIMEOUT | BUSY);
            is_over &= CALL(zb_queue_finish, expect, queue->handle, 0) == ZB_OK;
        }
        if (is_over) {
            return;
        }
        if (round > 200000) {
            fault("operations of a queue never end");
        }
        if (round > 10) {
            nap();
        }
    }
}

template <class T> void destroy_all(Pool<T> &pool, Fn function, zb_status (*destroy)(decltype(T::handle)))
{
    // a callback may look at the pool
    std::vector<std::shared_ptr<T>> live;
    live.swap(pool.live);
    for (const auto &object : live) {
        object->live = false;
        done(function, destroy(object->handle), Expect{});
    }
}

void settle_events(World &world)
{
    for (const auto &event : world.events.live) {
        zb_status result = -1;
        CALL(zb_event_wait, Expect{}, event->handle, UINT64_MAX, &result);
        if (!event->operation->settled) {
            world.settled(*event->operation, result);
        }
    }
}

template <class Done> void soon(const char *what, Done done)
{
    for (int i = 0; !done(); i++) {
        if (i > 100000) {
            fault("not in 10 s: %s", what);
        }
        nap();
    }
}

bool nothing_is_alive()
{
    for (int32_t kind = ZB_KIND_MODEL; kind <= ZB_KIND_EVENT; kind++) {
        if (zb_live_objects(kind) != 0) {
            return false;
        }
    }
    return true;
}

void run_errands(World &world)
{
    for (const auto &block : world.blocks) {
        block->errand.run();
    }
    for (const auto &completion : world.completions) {
        completion->errand.run();
    }
}

void check_all(World &world)
{
    for (const auto &tensor : world.tensors.live) {
        world.check_bytes(*tensor);
    }
}

void check_end(World &world)
{
    soon("zb_live_objects is 0", nothing_is_alive);
    for (const auto &tensor : world.all_tensors) {
        if (tensor->has_release) {
            soon("each release was called", [&] { return tensor->block->releases() == 1; });
        }
    }
    for (const auto &completion : world.completions) {
        const bool is_due = completion->operation != nullptr;
        soon("each completion was called", [&] { return completion->count.load(std::memory_order_acquire) == (is_due ? 1 : 0); });
        const zb_status result = completion->result.load(std::memory_order_relaxed);
        if (is_due && (completion->operation->ends & bit(result)) == 0) {
            fault("a callback was told %s, which was not to be", zb_status_name(result));
        }
    }
    for (const auto &block : world.blocks) {
        if (!block->is_gone()) {
            block->check();
        }
    }
}

void finish(World &world)
{
    drain(world);
    settle_events(world);
    // a read of a queue that was destroyed may not be over: what it writes to stays to the end
    const std::vector<std::shared_ptr<Operation>> kept = std::move(world.operations);
    world.operations.clear();
    check_all(world);
    CALL(zb_set_log_callback, Expect{}, nullptr, nullptr, ZB_LOG_ERROR);
    for (const auto &[managed, tensor] : world.exports) {
        managed->deleter(managed);
    }
    destroy_all(world.events, Fn::zb_event_destroy, zb_event_destroy);
    destroy_all(world.models, Fn::zb_model_destroy, zb_model_destroy);
    destroy_all(world.tensors, Fn::zb_tensor_destroy, zb_tensor_destroy);
    destroy_all(world.contexts, Fn::zb_context_destroy, zb_context_destroy);
    run_errands(world);
    while (world.run_task()) {
    }
    destroy_all(world.queues, Fn::zb_queue_destroy, zb_queue_destroy);
    while (world.run_task()) {
    }
    check_end(world);
}

} // namespace

void interpret(Engine engine, const std::vector<Spec> &specs, const uint8_t *data, size_t size)
{
    Input input(data, size);
    const uint8_t shape = input.byte();
    if (shape % 4 == 3) {
        concurrent(engine, specs, 2 + shape / 4 % 3, input);
        return;
    }
    World world(engine, specs);
    prepare(world, input);
    while (!input.empty()) {
        step(world, input);
    }
    finish(world);
}

} // namespace fuzz
