// Memory of the host that is given to zerobind: with canaries around it, and told of its release.
#ifndef ZEROBIND_FUZZ_BLOCKS_HPP
#define ZEROBIND_FUZZ_BLOCKS_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fuzz {

// What is done inside a callback, once: the handle was taken from the pool for that. `kind` 0: nothing.
struct Errand {
    int32_t kind = 0;
    void *handle = nullptr;
    std::atomic<bool> is_over{false};

    void take(int32_t of_kind, void *of_handle) { kind = of_kind, handle = of_handle; }
    // On any thread, once. The one owner of a handle destroys it: that cannot fail.
    void run();
};

// `size` bytes at `data`, of which `capacity` are readable; freed by the release, so that a later use is seen.
class Block {
public:
    // `offset` bytes (below 64) past a multiple of 64, `behind` bytes more that may be read. Without a tail the block of the
    // allocator ends with them, where a checker of memory sees the next byte.
    Block(size_t size, size_t offset, size_t behind, bool has_tail);
    ~Block();
    Block(const Block &) = delete;
    Block &operator=(const Block &) = delete;

    uint8_t *data() const { return data_; }
    size_t size() const { return size_; }
    size_t capacity() const { return size_ + behind_; }
    // Fills with small whole numbers of the type, which begin with `seed`.
    void fill(int32_t dtype, unsigned seed);
    // Everything but `size` bytes at `data` is as it was made; a fault if not.
    void check() const;
    bool is_gone() const { return released_.load(std::memory_order_acquire) != 0; }
    int releases() const { return released_.load(std::memory_order_acquire); }

    // zb_release_fn with a Block as user data
    static void on_release(void *user_data, void *data, size_t size);
    // Counts, and frees the memory.
    void release();

    Errand errand;

private:
    void free_memory();
    void guard(bool closed) const;

    size_t size_, behind_, before_, tail_;
    uint8_t *memory_;
    uint8_t *data_;
    std::atomic<int> released_{0};
};

} // namespace fuzz

#endif
