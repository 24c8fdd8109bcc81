#include "blocks.hpp"

#include "calls.hpp"

#include <cstdlib>
#include <cstring>

extern "C" __attribute__((weak)) void __asan_poison_memory_region(void const volatile *address, size_t size);
extern "C" __attribute__((weak)) void __asan_unpoison_memory_region(void const volatile *address, size_t size);

namespace fuzz {

namespace {

constexpr uint8_t CANARY = 0xC5;
constexpr size_t GUARD = 64;

bool is_canary(const uint8_t *at, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (at[i] != CANARY) {
            return false;
        }
    }
    return true;
}

} // namespace

void Errand::run()
{
    if (is_over.exchange(true, std::memory_order_acq_rel)) {
        return;
    }
    const Expect well;
    switch (kind) {
    case ZB_KIND_MODEL: CALL(zb_model_destroy, well, static_cast<zb_model *>(handle)); break;
    case ZB_KIND_CONTEXT: {
        // one that panicked may say so
        Expect any;
        any.allow(documented(Fn::zb_context_cancel) | PANIC);
        CALL(zb_context_cancel, any, static_cast<zb_context *>(handle));
        CALL(zb_context_destroy, well, static_cast<zb_context *>(handle));
        break;
    }
    case ZB_KIND_TENSOR:
        CALL_SOMEHOW(zb_tensor_sync, static_cast<zb_tensor *>(handle), ZB_SYNC_TO_HOST, 0);
        CALL(zb_tensor_destroy, well, static_cast<zb_tensor *>(handle));
        break;
    case ZB_KIND_QUEUE:
        CALL_SOMEHOW(zb_queue_finish, static_cast<zb_queue *>(handle), 0);
        CALL(zb_queue_destroy, well, static_cast<zb_queue *>(handle));
        break;
    case ZB_KIND_EVENT: CALL(zb_event_destroy, well, static_cast<zb_event *>(handle)); break;
    default: break;
    }
}

Block::Block(size_t size, size_t offset, size_t behind, bool has_tail)
    : size_(size), behind_(behind), before_(GUARD + offset), tail_(has_tail ? GUARD : 0)
{
    void *memory = nullptr;
    if (posix_memalign(&memory, 64, before_ + size + behind + tail_) != 0) {
        fault("out of memory");
    }
    memory_ = static_cast<uint8_t *>(memory);
    data_ = memory_ + before_;
    memset(memory_, CANARY, before_ + size_ + behind_ + tail_);
    guard(true);
}

Block::~Block()
{
    if (!is_gone()) {
        free_memory();
    }
}

void Block::guard(bool closed) const
{
    if (__asan_poison_memory_region == nullptr) {
        return;
    }
    const auto set = closed ? __asan_poison_memory_region : __asan_unpoison_memory_region;
    // an 8-byte granule is poisoned from a byte on, not up to one
    set(memory_, before_ & ~size_t{7});
    set(data_ + size_ + behind_, tail_);
}

void Block::fill(int32_t dtype, unsigned seed)
{
    for (size_t i = 0; i < size_; i++) {
        const size_t index = dtype == ZB_DTYPE_F32 || dtype == ZB_DTYPE_I32 ? i / 4 : i;
        const unsigned value = (seed + static_cast<unsigned>(index) * 3) % 13;
        if (dtype == ZB_DTYPE_F32 && i % 4 == 0 && size_ - i >= 4) {
            const auto number = static_cast<float>(value);
            memcpy(data_ + i, &number, 4);
        } else if (dtype != ZB_DTYPE_F32) {
            data_[i] = dtype == ZB_DTYPE_I32 && i % 4 != 0 ? uint8_t{0} : static_cast<uint8_t>(value);
        }
    }
}

void Block::check() const
{
    guard(false);
    const bool good = is_canary(memory_, before_) && is_canary(data_ + size_, behind_ + tail_);
    guard(true);
    if (!good) {
        fault("bytes around a buffer of %zu bytes were written", size_);
    }
}

void Block::on_release(void *user_data, void *data, size_t size)
{
    auto *const block = static_cast<Block *>(user_data);
    if (data != block->data_ || size != block->size_) {
        fault("a release got %p and %zu instead of %p and %zu", data, size, static_cast<void *>(block->data_), block->size_);
    }
    block->release();
}

void Block::release()
{
    // a second one would find the canaries freed
    if (is_gone()) {
        fault("memory of %zu bytes was released twice", size_);
    }
    check();
    free_memory();
    if (released_.fetch_add(1, std::memory_order_acq_rel) != 0) {
        fault("memory of %zu bytes was released twice", size_);
    }
    errand.run();
}

void Block::free_memory()
{
    guard(false);
    free(memory_);
}

} // namespace fuzz
