// What a program of the fuzzer has made, as far as it is known: the model that predicts how calls end.
#ifndef ZEROBIND_FUZZ_WORLD_HPP
#define ZEROBIND_FUZZ_WORLD_HPP

#include "blocks.hpp"
#include "calls.hpp"
#include "input.hpp"
#include "specs.hpp"

#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace fuzz {

template <class H> struct Object {
    H *handle = nullptr;
    // the handle is ours to use and to destroy
    bool live = true;
};

struct Model : Object<zb_model> {
    const Spec *spec = nullptr;
};

struct Tensor : Object<zb_tensor> {
    zb_tensor_desc desc = {};
    uint8_t *data = nullptr;
    size_t size = 0, capacity = 0;
    bool read_only = false;
    Block *block = nullptr; // NULL: zerobind's own memory, or a map
    bool has_release = false;
    // what is in it when all that was asked for is done
    bool known = false;
    Bytes bytes;
    // something that failed may have left it as it should not be
    bool suspect = false;
    unsigned exports = 0;
};

struct Context : Object<zb_context> {
    const Spec *spec = nullptr;
    bool copies = false;
    std::vector<std::shared_ptr<Tensor>> bound; // inputs, then outputs
    // of the inputs that are open; what was asked for, and what worked the last time
    std::optional<Dims> resized, good;
    bool shape_unsure = false;
    // a rule of the mock may make calls end so
    Statuses whims = 0;
    bool panicked = false;
    enum class View { none, maybe, sure } view = View::none;
    std::vector<Values> results; // of the last run, by output
    std::vector<bool> lent;      // by output

    size_t position(zb_slot slot) const;
    zb_slot slot_at(size_t position) const;
};

struct Queue : Object<zb_queue> {
    bool has_executor = false;
    size_t capacity = 64;
    // the executor runs a task at once, inside the call that gives it
    bool is_inline = false;
    struct World *world = nullptr;
};

// An operation of a queue.
struct Operation {
    std::shared_ptr<Queue> queue;
    std::shared_ptr<Context> context;
    std::vector<std::shared_ptr<Tensor>> reads, writes;
    Statuses ends = OK; // how it may end
    bool settled = false;
    bool has_event = false;
    std::unique_ptr<Block> destination; // of a read
    bool known = false;
    Bytes expected;
};

struct Event : Object<zb_event> {
    std::shared_ptr<Operation> operation;
    bool has_callback = false;
};

// A completion callback: called exactly once.
struct Completion {
    std::atomic<int> count{0};
    std::atomic<zb_status> result{-1};
    zb_event *event = nullptr;
    Errand errand;
    std::shared_ptr<Operation> operation;

    static void on_complete(void *user_data, zb_event *event, zb_status result);
};

template <class T> struct Pool {
    std::vector<std::shared_ptr<T>> live;
    std::deque<void *> dead; // the last handles that were destroyed
    size_t room = 6;
};

struct World {
    explicit World(Engine engine, const std::vector<Spec> &specs) : engine(engine), specs(specs) {}

    Engine engine;
    const std::vector<Spec> &specs;
    Pool<Model> models;
    Pool<Context> contexts;
    Pool<Tensor> tensors;
    Pool<Queue> queues;
    Pool<Event> events;
    std::vector<void *> away; // handles that callbacks are to destroy
    std::vector<std::unique_ptr<Block>> blocks;
    std::vector<std::shared_ptr<Tensor>> all_tensors;
    std::vector<std::shared_ptr<Queue>> all_queues; // executors are told of them to the end
    std::vector<std::shared_ptr<Operation>> operations; // that may not be settled
    std::vector<std::unique_ptr<Completion>> completions;
    std::vector<std::pair<struct DLManagedTensorVersioned *, std::shared_ptr<Tensor>>> exports;
    // queues by themselves: an operation may be running at any time
    bool has_threads = false;

    // tasks that executors were given; queues with threads give some from there
    std::mutex task_lock;
    std::deque<std::pair<zb_task_fn, void *>> tasks;
    std::atomic<unsigned> refuse{0};

    Block *new_block(size_t size, size_t offset, size_t behind, bool has_tail);
    bool run_task();

    // A tensor that an operation which may not be over uses.
    bool is_pending(const Tensor &tensor) const;
    bool is_pending(const Context &context) const;
    bool is_written_later(const Tensor &tensor) const;
    // These may end otherwise now; with all that follows from it.
    void spoil(Operation &operation, Statuses how);
    template <class Choose> void spoil_if(Choose choose, Statuses how)
    {
        for (const auto &operation : operations) {
            if (!operation->settled && choose(*operation)) {
                spoil(*operation, how);
            }
        }
    }
    void forget(Tensor &tensor);
    void settled(Operation &operation, zb_status result);
    void drop_settled();

    void check_released(const Tensor &tensor) const;
    void check_bytes(const Tensor &tensor) const;
};

// One program, to its end: everything destroyed, and nothing left.
void interpret(Engine engine, const std::vector<Spec> &specs, const uint8_t *data, size_t size);

// --- for the steps ---

// Which object a call is given: mostly a live one, else what `expect` is told must be refused.
template <class T> struct Picked {
    decltype(T::handle) handle = nullptr;
    std::shared_ptr<T> object;
};
Picked<Model> pick_model(World &world, Input &input, Expect &expect);
Picked<Context> pick_context(World &world, Input &input, Expect &expect);
Picked<Tensor> pick_tensor(World &world, Input &input, Expect &expect);
Picked<Queue> pick_queue(World &world, Input &input, Expect &expect);
Picked<Event> pick_event(World &world, Input &input, Expect &expect);

zb_slot pick_slot(Input &input, const Spec *spec, Expect &expect);
// Takes a live object out of its pool, to be destroyed by a callback; or none.
void pick_errand(World &world, Input &input, Errand &errand);

void library_step(World &world, Input &input);
void model_step(World &world, Input &input);
void context_step(World &world, Input &input);
void tensor_step(World &world, Input &input);
void binding_step(World &world, Input &input);
void run_step(World &world, Input &input);
void queue_step(World &world, Input &input);
void event_step(World &world, Input &input);

void open_model(World &world, Input &input);
void create_context(World &world, Input &input);
void make_tensor(World &world, Input &input);
void destroy_something(World &world, Input &input, int32_t kind);
// After a handle was destroyed, by whomever.
void model_gone(World &world, Model &model);
void context_gone(World &world, Context &context);
void tensor_gone(World &world, Tensor &tensor);
void queue_gone(World &world, Queue &queue);

// --- predictions ---

// Why a tensor may not be bound to a slot.
void expect_fit(const Context &context, zb_slot slot, const Tensor &tensor, Expect &expect);
void expect_memory(const Context &context, zb_slot slot, const void *data, size_t size, size_t capacity, Expect &expect);
// The shape of an input now; empty: not known.
std::optional<Dims> input_dims(const Context &context, size_t input);
void expect_plan(const Context &context, Expect &expect);
// After a call that plans; `status` is its own.
void planned(Context &context, zb_status status);
void maybe_busy(World &world, const Context &context, Expect &expect);

// Memory of one slot in a run.
struct Lent {
    const uint8_t *data = nullptr;
    size_t size = 0, capacity = 0;
    std::optional<zb_tensor_desc> desc;
    bool given = false;
    std::shared_ptr<Tensor> tensor;
    const Bytes *bytes = nullptr; // what is in it, if that is known
};
// Why a run with this memory would be refused.
void expect_run(World &world, const Context &context, const std::vector<Lent> &lent, Expect &expect);
// What it computes.
std::vector<Values> results_of(const Context &context, const std::vector<Lent> &lent);
std::vector<Lent> bound_memory(const Context &context);

} // namespace fuzz

#endif
