// The structs of DLPack 1, as its own description has them, and one to give.
#ifndef ZEROBIND_FUZZ_DLPACK_HPP
#define ZEROBIND_FUZZ_DLPACK_HPP

#include "blocks.hpp"

#include <zerobind.h>

struct DLManagedTensorVersioned {
    struct {
        uint32_t major, minor;
    } version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    struct {
        void *data;
        struct {
            int32_t type, id;
        } device;
        int32_t ndim;
        struct {
            uint8_t code, bits;
            uint16_t lanes;
        } dtype;
        int64_t *shape, *strides;
        uint64_t byte_offset;
    } tensor;
};

namespace fuzz {

struct DlGiven {
    DLManagedTensorVersioned managed;
    int64_t shape[ZB_MAX_RANK + 1];
};

// Its deleter releases the block, and deletes what is returned.
DlGiven *dl_give(const zb_tensor_desc &desc, Block &block, bool read_only);

} // namespace fuzz

#endif
