#include "world.hpp"

#include <algorithm>
#include <cstring>

namespace fuzz {

namespace {

bool uses(const std::vector<std::shared_ptr<Tensor>> &list, const Tensor &tensor)
{
    return std::any_of(list.begin(), list.end(), [&](const auto &one) { return one.get() == &tensor; });
}

} // namespace

size_t Context::position(zb_slot slot) const
{
    const size_t index = slot & ~ZB_OUTPUT_BIT;
    return (slot & ZB_OUTPUT_BIT) != 0 ? spec->inputs.size() + index : index;
}

zb_slot Context::slot_at(size_t position) const
{
    const size_t inputs = spec->inputs.size();
    return position < inputs ? ZB_INPUT(position) : ZB_OUTPUT(position - inputs);
}

Block *World::new_block(size_t size, size_t offset, size_t behind, bool has_tail)
{
    blocks.push_back(std::make_unique<Block>(size, offset, behind, has_tail));
    return blocks.back().get();
}

bool World::run_task()
{
    std::pair<zb_task_fn, void *> task;
    {
        const std::lock_guard<std::mutex> guard(task_lock);
        if (tasks.empty()) {
            return false;
        }
        task = tasks.front();
        tasks.pop_front();
    }
    task.first(task.second);
    return true;
}

void Completion::on_complete(void *user_data, zb_event *event, zb_status result)
{
    auto *const completion = static_cast<Completion *>(user_data);
    if (event != completion->event) {
        fault("a completion callback got another event");
    }
    completion->result.store(result, std::memory_order_relaxed);
    const int before = completion->count.fetch_add(1, std::memory_order_acq_rel);
    if (before != 0) {
        fault("a completion callback was called twice");
    }
    completion->errand.run();
}

bool World::is_pending(const Tensor &tensor) const
{
    return std::any_of(operations.begin(), operations.end(), [&](const auto &operation) {
        return !operation->settled && (uses(operation->reads, tensor) || uses(operation->writes, tensor));
    });
}

bool World::is_pending(const Context &context) const
{
    return std::any_of(operations.begin(), operations.end(), [&](const auto &operation) {
        return !operation->settled && operation->context.get() == &context;
    });
}

bool World::is_written_later(const Tensor &tensor) const
{
    return std::any_of(operations.begin(), operations.end(), [&](const auto &operation) {
        return !operation->settled && uses(operation->writes, tensor);
    });
}

void World::spoil(Operation &operation, Statuses how)
{
    if ((operation.ends | how) == operation.ends) {
        return;
    }
    operation.ends |= how;
    for (const auto &tensor : operation.writes) {
        tensor->suspect = true;
        forget(*tensor);
    }
}

// What it holds is not known any more, nor what later operations make of it.
void World::forget(Tensor &tensor)
{
    tensor.known = false;
    for (const auto &operation : operations) {
        if (operation->settled || !uses(operation->reads, tensor)) {
            continue;
        }
        operation->known = false;
        if (tensor.suspect) {
            spoil(*operation, DEPENDENCY);
        }
        for (const auto &written : operation->writes) {
            if (written->known) {
                forget(*written);
            }
        }
    }
}

void World::settled(Operation &operation, zb_status result)
{
    operation.settled = true;
    if ((operation.ends & bit(result)) == 0) {
        fault("an operation ended with %s, which was not to be (%#x)", zb_status_name(result), operation.ends);
    }
    if (operation.destination == nullptr) {
        return;
    }
    operation.destination->check();
    const Block &block = *operation.destination;
    if (result == ZB_OK && operation.known &&
        memcmp(block.data(), operation.expected.data(), operation.expected.size()) != 0) {
        fault("a read of %zu bytes got other bytes than it should", block.size());
    }
    if (result != ZB_OK && std::any_of(block.data(), block.data() + block.size(), [](uint8_t byte) { return byte != 0xC5; })) {
        fault("a read that ended with %s wrote", zb_status_name(result));
    }
}

void World::drop_settled()
{
    const auto is_over = [](const std::shared_ptr<Operation> &operation) { return operation->settled; };
    operations.erase(std::remove_if(operations.begin(), operations.end(), is_over), operations.end());
}

// Never while somebody surely holds it; at once where nothing is asynchronous.
void World::check_released(const Tensor &tensor) const
{
    if (!tensor.has_release) {
        return;
    }
    const bool is_bound = std::any_of(contexts.live.begin(), contexts.live.end(), [&](const auto &context) {
        return !context->panicked && context->whims == 0 && uses(context->bound, tensor);
    });
    if ((tensor.live || tensor.exports > 0 || is_bound) && tensor.block->is_gone()) {
        fault("memory of %zu bytes was released while it is used", tensor.size);
    }
}

void World::check_bytes(const Tensor &tensor) const
{
    if (!tensor.known || !tensor.live || is_pending(tensor)) {
        return;
    }
    if (memcmp(tensor.data, tensor.bytes.data(), tensor.size) != 0) {
        fault("a tensor of %zu bytes holds other bytes than it should", tensor.size);
    }
    if (tensor.block != nullptr) {
        tensor.block->check();
    }
}

} // namespace fuzz
