// Handles for calls: live, dead, foreign and forged ones, and NULL.
#include "world.hpp"

#include <algorithm>

namespace fuzz {

namespace {

// A live handle of another kind; NULL where there is none.
void *foreign(const World &world, unsigned which, const void *not_this)
{
    std::vector<void *> all;
    const auto add = [&](const auto &pool) {
        if (static_cast<const void *>(&pool) == not_this) {
            return;
        }
        for (const auto &object : pool.live) {
            all.push_back(object->handle);
        }
    };
    add(world.models), add(world.contexts), add(world.tensors), add(world.queues), add(world.events);
    return all.empty() ? nullptr : all[which % all.size()];
}

template <class T> Picked<T> pick(World &world, Pool<T> &pool, Input &input, Expect &expect)
{
    using H = decltype(T::handle);
    const uint8_t how = input.byte();
    Picked<T> picked;
    if (how < 240 && !pool.live.empty()) {
        picked.object = pool.live[how % pool.live.size()];
        picked.handle = picked.object->handle;
        return picked;
    }
    if (how < 244) {
        expect.fail(NULL_);
        return picked;
    }
    expect.fail(HANDLE);
    void *bad = nullptr;
    if (how < 248 && !pool.dead.empty()) {
        bad = pool.dead[input.byte() % pool.dead.size()];
    } else if (how < 252) {
        bad = foreign(world, input.byte(), &pool);
    } else if (!pool.live.empty()) {
        // another generation, or another place in the table, or no handle at all
        static const int bits[] = {0, 1, 2, 3, 4, 5, 12, 27, 28, 29, 40, 63};
        const auto flipped = reinterpret_cast<uintptr_t>(pool.live[0]->handle) ^ uintptr_t{1} << bits[input.below(12)];
        bad = reinterpret_cast<void *>(flipped);
    }
    if (bad == nullptr) {
        bad = reinterpret_cast<void *>(input.word() | 1 << 20);
    }
    // one of this world's may have been hit all the same, or one that a callback is to destroy
    const auto is_it = [&](const auto &object) { return object->handle == bad; };
    if (std::any_of(pool.live.begin(), pool.live.end(), is_it) ||
        std::find(world.away.begin(), world.away.end(), bad) != world.away.end()) {
        bad = reinterpret_cast<void *>(uintptr_t{16});
    }
    picked.handle = static_cast<H>(bad);
    return picked;
}

} // namespace

Picked<Model> pick_model(World &world, Input &input, Expect &expect) { return pick(world, world.models, input, expect); }
Picked<Context> pick_context(World &world, Input &input, Expect &expect) { return pick(world, world.contexts, input, expect); }
Picked<Tensor> pick_tensor(World &world, Input &input, Expect &expect) { return pick(world, world.tensors, input, expect); }
Picked<Queue> pick_queue(World &world, Input &input, Expect &expect) { return pick(world, world.queues, input, expect); }
Picked<Event> pick_event(World &world, Input &input, Expect &expect) { return pick(world, world.events, input, expect); }

zb_slot pick_slot(Input &input, const Spec *spec, Expect &expect)
{
    const uint8_t how = input.byte();
    zb_slot slot = how % 2 == 0 ? ZB_INPUT(how / 2 % 3) : ZB_OUTPUT(how / 2 % 3);
    if (how >= 250) {
        slot = static_cast<zb_slot>(input.word());
    } else if (spec != nullptr && how < 220) {
        const size_t inputs = spec->inputs.size(), all = inputs + spec->outputs.size();
        const size_t position = how % all;
        slot = position < inputs ? ZB_INPUT(position) : ZB_OUTPUT(position - inputs);
    }
    if (spec != nullptr && spec->slot(slot) == nullptr) {
        expect.fail(ARGUMENT);
    }
    return slot;
}

namespace {

template <class T> std::shared_ptr<T> take(Pool<T> &pool, unsigned which)
{
    if (pool.live.empty()) {
        return nullptr;
    }
    const auto place = pool.live.begin() + static_cast<ptrdiff_t>(which % pool.live.size());
    std::shared_ptr<T> object = *place;
    pool.live.erase(place);
    object->live = false;
    return object;
}

template <class T> void bury(Pool<T> &pool, const T &object)
{
    pool.dead.push_back(object.handle);
    if (pool.dead.size() > 12) {
        pool.dead.pop_front();
    }
}

template <class T, class Gone>
bool destroy(World &world, Pool<T> &pool, Fn function, zb_status (*call)(decltype(T::handle)), Input &input, Gone gone)
{
    Expect expect;
    const Picked<T> picked = pick(world, pool, input, expect);
    if (picked.handle == nullptr) {
        done(function, call(nullptr), Expect{});
        return false;
    }
    if (picked.object != nullptr) {
        for (size_t i = 0; i < pool.live.size(); i++) {
            if (pool.live[i] == picked.object) {
                take(pool, static_cast<unsigned>(i));
                break;
            }
        }
        // before the call: callbacks inside it may look
        gone(*picked.object);
        bury(pool, *picked.object);
    }
    done(function, call(picked.handle), expect);
    return true;
}

} // namespace

void model_gone(World &, Model &) {}

void context_gone(World &world, Context &context)
{
    // one that runs is asked to stop
    world.spoil_if([&](const Operation &operation) { return operation.context.get() == &context; }, DESTROYED | CANCELLED);
}

void tensor_gone(World &world, Tensor &tensor)
{
    world.spoil_if(
        [&](const Operation &operation) {
            return operation.destination != nullptr && operation.reads[0].get() == &tensor;
        },
        DESTROYED);
}

void queue_gone(World &world, Queue &queue)
{
    world.spoil_if([&](const Operation &operation) { return operation.queue.get() == &queue; }, DESTROYED | CANCELLED);
}

void destroy_something(World &world, Input &input, int32_t kind)
{
    switch (kind) {
    case ZB_KIND_MODEL:
        destroy(world, world.models, Fn::zb_model_destroy, zb_model_destroy, input, [&](Model &it) { model_gone(world, it); });
        break;
    case ZB_KIND_CONTEXT:
        destroy(world, world.contexts, Fn::zb_context_destroy, zb_context_destroy, input,
                [&](Context &it) { context_gone(world, it); });
        break;
    case ZB_KIND_TENSOR:
        destroy(world, world.tensors, Fn::zb_tensor_destroy, zb_tensor_destroy, input,
                [&](Tensor &it) { tensor_gone(world, it); });
        break;
    case ZB_KIND_QUEUE:
        destroy(world, world.queues, Fn::zb_queue_destroy, zb_queue_destroy, input, [&](Queue &it) { queue_gone(world, it); });
        break;
    default:
        destroy(world, world.events, Fn::zb_event_destroy, zb_event_destroy, input, [](Event &) {});
        break;
    }
}

void pick_errand(World &world, Input &input, Errand &errand)
{
    const uint8_t how = input.byte();
    const auto run = [&](int32_t kind, auto &pool, auto gone) {
        const auto object = take(pool, how / 8);
        if (object != nullptr) {
            errand.take(kind, object->handle);
            world.away.push_back(object->handle);
            gone(*object);
        }
    };
    switch (how >= 128 ? how % 8 : 7) {
    case 0: run(ZB_KIND_MODEL, world.models, [&](Model &it) { model_gone(world, it); }); break;
    case 1: run(ZB_KIND_CONTEXT, world.contexts, [&](Context &it) { context_gone(world, it); }); break;
    case 2: run(ZB_KIND_TENSOR, world.tensors, [&](Tensor &it) { tensor_gone(world, it); }); break;
    case 3: run(ZB_KIND_QUEUE, world.queues, [&](Queue &it) { queue_gone(world, it); }); break;
    case 4: run(ZB_KIND_EVENT, world.events, [](Event &) {}); break;
    default: break;
    }
}

} // namespace fuzz
