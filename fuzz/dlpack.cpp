#include "dlpack.hpp"

#include <algorithm>

namespace fuzz {

namespace {

void on_delete(DLManagedTensorVersioned *self)
{
    // the first member of what was given
    auto *const given = reinterpret_cast<DlGiven *>(self);
    auto *const block = static_cast<Block *>(self->manager_ctx);
    delete given;
    block->release();
}

struct Type {
    uint8_t code, bits;
};

// by ZB_DTYPE_; what DLPack does not have is of no type at all
const Type types[21] = {{99, 8},  {2, 32}, {2, 64}, {2, 16}, {4, 16}, {0, 8},  {1, 8},   {0, 16}, {1, 16}, {0, 32}, {1, 32},
                        {0, 64}, {1, 64}, {6, 8},  {0, 4},  {1, 4},  {5, 64}, {99, 8}, {10, 8}, {12, 8}, {5, 128}};

} // namespace

DlGiven *dl_give(const zb_tensor_desc &desc, Block &block, bool read_only)
{
    auto *const given = new DlGiven{};
    DLManagedTensorVersioned &managed = given->managed;
    managed.version = {1, 1};
    managed.manager_ctx = &block;
    managed.deleter = on_delete;
    managed.flags = read_only ? 1 : 0;
    managed.tensor.data = block.data();
    managed.tensor.device = {1, 0};
    managed.tensor.ndim = static_cast<int32_t>(desc.rank);
    const Type &type = types[desc.dtype >= 0 && desc.dtype <= 20 ? desc.dtype : 0];
    managed.tensor.dtype = {type.code, type.bits, 1};
    std::copy(desc.dims, desc.dims + std::min<uint32_t>(desc.rank, ZB_MAX_RANK), given->shape);
    managed.tensor.shape = given->shape;
    return given;
}

} // namespace fuzz
