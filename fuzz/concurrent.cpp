#include "concurrent.hpp"

#include "blocks.hpp"
#include "calls.hpp"

#include <atomic>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace fuzz {

namespace {

constexpr size_t ROOM = 5;
constexpr size_t MOST_STEPS = 160;

// Handles of one kind. All is relaxed, so that the fuzzer itself puts nothing in order between the threads.
template <class H> struct Shared {
    std::atomic<H *> handles[ROOM] = {};

    H *get(unsigned which) const { return handles[which % ROOM].load(std::memory_order_relaxed); }
    H *put(unsigned which, H *handle) { return handles[which % ROOM].exchange(handle, std::memory_order_relaxed); }
};

struct Stage {
    const std::vector<Spec> &specs;
    const Spec &spec; // of all contexts, so that tensors fit
    Engine engine;
    Shared<zb_model> models;
    Shared<zb_context> contexts;
    Shared<zb_tensor> tensors;
    Shared<zb_queue> queues;
    Shared<zb_event> events;
};

struct Read {
    std::unique_ptr<Block> destination;
    zb_event *event;
};

// What one thread does, and what is its own.
class Actor {
public:
    Actor(Stage &stage, Input input) : stage_(stage), input_(input) {}

    void run()
    {
        for (size_t i = 0; i < MOST_STEPS && !input_.empty(); i++) {
            step();
        }
        for (Read &read : reads_) {
            end(read);
        }
    }

    std::vector<std::unique_ptr<Block>> blocks; // which are given to tensors

private:
    unsigned which() { return input_.byte(); }
    zb_slot slot()
    {
        const unsigned number = input_.byte();
        return number % 2 == 0 ? ZB_INPUT(number / 2 % 3) : ZB_OUTPUT(number / 2 % 3);
    }
    zb_context *context() { return stage_.contexts.get(which()); }
    zb_tensor *tensor() { return stage_.tensors.get(which()); }
    zb_queue *queue() { return stage_.queues.get(which()); }
    zb_event *event() { return stage_.events.get(which()); }

    size_t size() const { return size_of(stage_.spec.dtype, dims()); }
    Dims dims() const
    {
        Dims dims = stage_.spec.inputs[0].dims;
        for (int64_t &dim : dims) {
            dim = dim < 0 ? 2 : dim;
        }
        return dims;
    }

    void keep(zb_event *made)
    {
        if (made != nullptr) {
            CALL_SOMEHOW(zb_event_destroy, stage_.events.put(which(), made));
        }
    }

    void wrap()
    {
        auto block = std::make_unique<Block>(size(), 0, 16, true);
        block->fill(stage_.spec.dtype, input_.byte());
        const zb_tensor_desc desc = desc_of(stage_.spec.dtype, dims());
        zb_tensor *made = nullptr;
        CALL(zb_tensor_wrap, Expect{}, &desc, block->data(), block->size(), block->capacity(), Block::on_release, block.get(), &made);
        blocks.push_back(std::move(block));
        CALL_SOMEHOW(zb_tensor_destroy, stage_.tensors.put(which(), made));
    }

    void alloc()
    {
        const zb_tensor_desc desc = desc_of(stage_.spec.dtype, dims());
        zb_tensor *made = nullptr;
        CALL(zb_tensor_alloc, Expect{}, &desc, 0, &made);
        CALL_SOMEHOW(zb_tensor_destroy, stage_.tensors.put(which(), made));
    }

    void create_context()
    {
        zb_context_options options = ZB_CONTEXT_OPTIONS_INIT;
        options.copy_policy = which() % 2 == 0 ? ZB_COPY_NEVER : ZB_COPY_ALLOW;
        zb_context *made = nullptr;
        if (CALL_SOMEHOW(zb_context_create, stage_.models.get(which()), &options, &made) == ZB_OK) {
            CALL_SOMEHOW(zb_context_destroy, stage_.contexts.put(which(), made));
        }
    }

    void open_model()
    {
        zb_model *made = nullptr;
        CALL(zb_model_open_bytes_copy, Expect{}, stage_.spec.bytes.data(), stage_.spec.bytes.size(), nullptr, &made);
        CALL_SOMEHOW(zb_model_destroy, stage_.models.put(which(), made));
    }

    void create_queue()
    {
        zb_queue *made = nullptr;
        zb_queue_options options = ZB_QUEUE_OPTIONS_INIT;
        options.capacity = which() % 8;
        CALL(zb_queue_create, Expect{}, &options, &made);
        CALL_SOMEHOW(zb_queue_destroy, stage_.queues.put(which(), made));
    }

    // All slots by memory of this thread's own: what comes out is known.
    void infer_with()
    {
        const Spec &spec = stage_.spec;
        std::vector<std::unique_ptr<Block>> memory;
        std::vector<Bytes> kept;
        std::vector<const Bytes *> inputs;
        std::vector<zb_loan> loans;
        const size_t slots = spec.inputs.size() + spec.outputs.size();
        kept.reserve(slots);
        const zb_tensor_desc desc = desc_of(spec.dtype, dims());
        for (size_t i = 0; i < slots; i++) {
            const bool is_input = i < spec.inputs.size();
            memory.push_back(std::make_unique<Block>(size(), 0, 16, true));
            memory[i]->fill(spec.dtype, input_.byte());
            const zb_slot slot = is_input ? ZB_INPUT(i) : ZB_OUTPUT(i - spec.inputs.size());
            loans.push_back({slot, 0, memory[i]->data(), size(), is_input ? memory[i]->capacity() : 0, &desc});
            kept.emplace_back(memory[i]->data(), memory[i]->data() + size());
            if (is_input) {
                inputs.push_back(&kept.back());
            }
        }
        const zb_status status = CALL_SOMEHOW(zb_infer_with, context(), loans.data(), loans.size(), nullptr);
        for (size_t k = 0; k < spec.outputs.size() && status == ZB_OK; k++) {
            const Values values = compute(spec, k, inputs);
            const Block &block = *memory[spec.inputs.size() + k];
            if (values.known && memcmp(values.bytes.data(), block.data(), block.size()) != 0) {
                fault("output %zu of '%s' is wrong among threads", k, spec.name.c_str());
            }
        }
        for (const auto &block : memory) {
            block->check();
        }
    }

    void write()
    {
        Block source(size(), 0, 0, false);
        source.fill(stage_.spec.dtype, input_.byte());
        zb_event *made = nullptr;
        CALL_SOMEHOW(zb_queue_write, queue(), tensor(), 0, source.data(), source.size(), which() % 2 == 0 ? nullptr : &made);
        keep(made);
    }

    void read()
    {
        Read read = {std::make_unique<Block>(size(), 0, 0, true), nullptr};
        if (CALL_SOMEHOW(zb_queue_read, queue(), tensor(), 0, read.destination->data(), size(), &read.event) == ZB_OK) {
            reads_.push_back(std::move(read));
        }
        if (reads_.size() > 4) {
            end(reads_.front());
            reads_.erase(reads_.begin());
        }
    }

    // Every queue has a thread of its own here, so waiting for good ends.
    void end(Read &read)
    {
        zb_status result = -1;
        CALL(zb_event_wait, Expect{}, read.event, UINT64_MAX, &result);
        read.destination->check();
        if ((bit(result) & (OK | CANCELLED | DESTROYED | DEPENDENCY)) == 0) {
            fault("a read ended with %s", zb_status_name(result));
        }
        CALL(zb_event_destroy, Expect{}, read.event);
    }

    void infer_queued()
    {
        zb_event *made = nullptr;
        const unsigned how = which();
        zb_event **const place = how % 2 == 0 ? nullptr : &made;
        if (how % 8 < 6) {
            CALL_SOMEHOW(zb_queue_infer, queue(), context(), nullptr, place);
        } else {
            const zb_slot_tensor instead = {slot(), 0, tensor()};
            CALL_SOMEHOW(zb_queue_infer_with, queue(), context(), &instead, 1, nullptr, place);
        }
        keep(made);
    }

    void ask()
    {
        const unsigned what = which();
        zb_status result = -1;
        switch (what % 8) {
        case 0: CALL_SOMEHOW(zb_event_wait, event(), what / 8 % 2 * 20000, &result); break;
        case 1: CALL_SOMEHOW(zb_tensor_sync, tensor(), ZB_SYNC_TO_HOST, what / 8 % 2 * 20000); break;
        case 2: CALL_SOMEHOW(zb_queue_finish, queue(), what / 8 % 2 * 20000); break;
        case 3: {
            zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
            CALL_SOMEHOW(zb_context_get_stats, context(), &stats);
            break;
        }
        case 4: CALL_SOMEHOW(zb_event_cancel, event()); break;
        case 5: CALL_SOMEHOW(zb_context_cancel, context()); break;
        case 6: CALL_SOMEHOW(zb_queue_wait_event, queue(), event()); break;
        default: CALL_SOMEHOW(zb_context_reset_state, context()); break;
        }
    }

    void destroy()
    {
        const unsigned what = which();
        switch (what % 5) {
        case 0: CALL_SOMEHOW(zb_model_destroy, stage_.models.put(what, nullptr)); break;
        case 1: CALL_SOMEHOW(zb_context_destroy, stage_.contexts.put(what / 5, nullptr)); break;
        case 2: CALL_SOMEHOW(zb_tensor_destroy, stage_.tensors.put(what / 5, nullptr)); break;
        case 3: CALL_SOMEHOW(zb_queue_destroy, stage_.queues.put(what / 5, nullptr)); break;
        default: CALL_SOMEHOW(zb_event_destroy, stage_.events.put(what / 5, nullptr)); break;
        }
    }

    void step()
    {
        switch (input_.byte() % 20) {
        case 0: wrap(); break;
        case 1: alloc(); break;
        case 2: create_context(); break;
        case 3: open_model(); break;
        case 4: create_queue(); break;
        case 5: case 6: case 7: CALL_SOMEHOW(zb_tensor_bind, tensor(), context(), slot()); break;
        case 8: CALL_SOMEHOW(zb_context_unbind, context(), slot()); break;
        case 9: CALL_SOMEHOW(zb_context_swap, context(), slot(), slot()); break;
        case 10: case 11: CALL_SOMEHOW(zb_infer, context(), nullptr); break;
        case 12: case 13: infer_with(); break;
        case 14: write(); break;
        case 15: read(); break;
        case 16: infer_queued(); infer_queued(); break;
        case 17: case 18: ask(); break;
        default: destroy(); break;
        }
    }

    Stage &stage_;
    Input input_;
    std::vector<Read> reads_;
};

template <class H> void destroy_all(Shared<H> &shared, Fn function, zb_status (*destroy)(H *))
{
    for (size_t i = 0; i < ROOM; i++) {
        done_somehow(function, destroy(shared.put(static_cast<unsigned>(i), nullptr)));
    }
}

void soon(const char *what, bool (*is_so)(const std::vector<std::unique_ptr<Actor>> &), const std::vector<std::unique_ptr<Actor>> &actors)
{
    for (int i = 0; !is_so(actors); i++) {
        if (i > 100000) {
            fault("not in 10 s: %s", what);
        }
        const timespec time = {0, 100000};
        nanosleep(&time, nullptr);
    }
}

bool nothing_is_alive(const std::vector<std::unique_ptr<Actor>> &)
{
    for (int32_t kind = ZB_KIND_MODEL; kind <= ZB_KIND_EVENT; kind++) {
        if (zb_live_objects(kind) != 0) {
            return false;
        }
    }
    return true;
}

bool all_is_released(const std::vector<std::unique_ptr<Actor>> &actors)
{
    for (const auto &actor : actors) {
        for (const auto &block : actor->blocks) {
            if (block->releases() != 1) {
                return false;
            }
        }
    }
    return true;
}

// A model without odd outputs, all of whose slots have one shape.
const Spec &choose(const std::vector<Spec> &specs, unsigned which)
{
    for (size_t i = 0;; i++) {
        const Spec &spec = specs[(which + i) % specs.size()];
        if (!spec.is_odd()) {
            return spec;
        }
    }
}

} // namespace

void concurrent(Engine engine, const std::vector<Spec> &specs, unsigned threads, Input input)
{
    Stage stage{specs, choose(specs, input.byte()), engine, {}, {}, {}, {}, {}};
    std::vector<std::unique_ptr<Actor>> actors;
    // what is there before the threads begin, in the same way
    static const uint8_t first[] = {3, 0, 2, 0, 0, 0, 2, 0, 0, 1, 4, 0, 0, 4, 1, 1, 0, 1, 0, 0, 2, 0, 3,
                                    5, 0, 0, 0, 5, 1, 0, 1, 5, 2, 0, 2, 5, 1, 0, 3, 5, 0, 1, 0, 5, 3, 1, 1};
    actors.push_back(std::make_unique<Actor>(stage, Input(first, sizeof first)));
    actors[0]->run();
    for (unsigned i = 0; i < threads; i++) {
        actors.push_back(std::make_unique<Actor>(stage, input.part(i, threads)));
    }
    std::vector<std::thread> running;
    for (unsigned i = 1; i <= threads; i++) {
        running.emplace_back([&actors, i] { actors[i]->run(); });
    }
    for (std::thread &thread : running) {
        thread.join();
    }
    destroy_all(stage.models, Fn::zb_model_destroy, zb_model_destroy);
    destroy_all(stage.tensors, Fn::zb_tensor_destroy, zb_tensor_destroy);
    destroy_all(stage.queues, Fn::zb_queue_destroy, zb_queue_destroy);
    destroy_all(stage.contexts, Fn::zb_context_destroy, zb_context_destroy);
    destroy_all(stage.events, Fn::zb_event_destroy, zb_event_destroy);
    soon("zb_live_objects is 0", nothing_is_alive, actors);
    soon("each release was called", all_is_released, actors);
}

} // namespace fuzz
