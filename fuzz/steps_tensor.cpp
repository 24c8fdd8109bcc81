// Tensors: of memory of the host's, of zerobind's, of files, of DLPack.
#include "dlpack.hpp"
#include "world.hpp"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace fuzz {

namespace {

// A shape that some slot may have, or another.
zb_tensor_desc choose_desc(const World &world, Input &input, Expect &expect)
{
    const Spec &spec = world.specs[input.below(static_cast<unsigned>(world.specs.size()))];
    const size_t slots = spec.inputs.size() + spec.outputs.size();
    const size_t position = input.below(static_cast<unsigned>(slots));
    const SlotSpec &slot = position < spec.inputs.size() ? spec.inputs[position] : spec.outputs[position - spec.inputs.size()];
    Dims dims = slot.dims;
    const bool stays_open = input.chance(48);
    for (int64_t &dim : dims) {
        if (dim < 0 && !stays_open) {
            dim = input.below(9);
        }
    }
    zb_tensor_desc desc = desc_of(spec.dtype, dims);
    switch (input.chance(40) ? input.below(6) : 6) {
    case 0: desc.dtype = 1 + static_cast<int32_t>(input.below(20)); break;
    case 1: desc.dtype = 99, expect.fail(ARGUMENT); break;
    case 2: desc.rank = 17, expect.fail(UNSUPPORTED); break;
    case 3: desc.dims[0] = -2, expect.fail(ARGUMENT); break;
    case 4: desc.dims[0] = input.below(9); break;
    case 5: desc.dims[0] = INT64_MAX, desc.dims[1] = INT64_MAX, desc.rank = 2, expect.fail(SHAPE); break;
    default: break;
    }
    if (desc.dtype == ZB_DTYPE_STRING) {
        expect.fail(UNSUPPORTED);
    }
    return desc;
}

// Bytes of a desc that can be had; 64 for room of an open one.
size_t room_for(const zb_tensor_desc &desc, const Expect &expect)
{
    size_t size = 0;
    if (expect.refused() || !is_known(dims_of(desc)) || zb_tensor_desc_size(&desc, &size) != ZB_OK) {
        return 64;
    }
    counted(Fn::zb_tensor_desc_size);
    return size;
}

void keep(World &world, const std::shared_ptr<Tensor> &tensor)
{
    if (tensor->data != nullptr && is_known(dims_of(tensor->desc))) {
        tensor->known = true;
        tensor->bytes.assign(tensor->data, tensor->data + tensor->size);
    }
    world.tensors.live.push_back(tensor);
    world.all_tensors.push_back(tensor);
}

void wrap(World &world, Input &input)
{
    Expect expect;
    const auto tensor = std::make_shared<Tensor>();
    tensor->desc = choose_desc(world, input, expect);
    tensor->read_only = input.chance(48);
    tensor->size = room_for(tensor->desc, expect);
    if (!is_known(dims_of(tensor->desc)) && tensor->read_only) {
        expect.fail(SHAPE);
    }
    static const size_t offsets[] = {0, 0, 0, 0, 4, 1, 8, 32};
    const size_t offset = offsets[input.below(8)], behind = input.chance(64) ? 16 : 0;
    Block *const block = world.new_block(tensor->size, offset, behind, input.chance(128));
    block->fill(tensor->desc.dtype, input.byte());
    tensor->block = block;
    tensor->data = block->data();
    tensor->capacity = block->capacity();
    tensor->has_release = !input.chance(32);
    size_t size = tensor->size, capacity = behind == 0 ? 0 : tensor->capacity;
    const bool no_data = input.chance(8) && size > 0, no_place = input.chance(8), no_desc = input.chance(8);
    if (no_data || no_place || no_desc) {
        expect.fail(NULL_);
    }
    if (input.chance(12) && size > 1) {
        capacity = size - 1;
        expect.fail(ARGUMENT);
    } else if (input.chance(12) && is_known(dims_of(tensor->desc)) && size > 0) {
        size--;
        expect.fail(SHAPE);
    }
    pick_errand(world, input, block->errand);
    const zb_release_fn release = tensor->has_release ? Block::on_release : nullptr;
    const zb_tensor_desc *const desc = no_desc ? nullptr : &tensor->desc;
    void *const data = no_data ? nullptr : tensor->data;
    zb_tensor **const place = no_place ? nullptr : &tensor->handle;
    const zb_status status =
        tensor->read_only ? CALL(zb_tensor_wrap_const, expect, desc, data, size, capacity, release, block, place)
                          : CALL(zb_tensor_wrap, expect, desc, data, size, capacity, release, block, place);
    if (status != ZB_OK || !tensor->has_release) {
        // nobody will call it
        block->errand.run();
    }
    if (status == ZB_OK) {
        keep(world, tensor);
    }
}

void take_data(const std::shared_ptr<Tensor> &tensor)
{
    void *data = nullptr;
    size_t size = 0;
    CALL(zb_tensor_get_data, Expect{}, tensor->handle, &data, &size);
    CALL(zb_tensor_get_desc, Expect{}, tensor->handle, &tensor->desc);
    tensor->data = static_cast<uint8_t *>(data);
    tensor->size = size;
    // as much as engines ask for lies behind it
    tensor->capacity = size + 64;
}

void alloc(World &world, Input &input)
{
    Expect expect;
    const auto tensor = std::make_shared<Tensor>();
    tensor->desc = choose_desc(world, input, expect);
    if (!is_known(dims_of(tensor->desc))) {
        expect.fail(SHAPE);
    }
    static const size_t alignments[] = {0, 0, 64, 1, 256, 4096, 3, size_t{4} << 20};
    const size_t alignment = alignments[input.below(8)];
    if (alignment == 3 || alignment > size_t{2} << 20) {
        expect.fail(ARGUMENT);
    }
    if (CALL(zb_tensor_alloc, expect, &tensor->desc, alignment, &tensor->handle) == ZB_OK) {
        take_data(tensor);
        keep(world, tensor);
    }
}

void alloc_for(World &world, Input &input)
{
    Expect expect;
    const Picked<Context> picked = pick_context(world, input, expect);
    const Spec *const spec = picked.object != nullptr ? picked.object->spec : nullptr;
    const zb_slot slot = pick_slot(input, spec, expect);
    if (spec != nullptr) {
        expect_plan(*picked.object, expect);
        maybe_busy(world, *picked.object, expect);
        expect.allow(picked.object->whims);
        if (spec->slot(slot) != nullptr && spec->slot(slot)->odd == Odd::hits) {
            expect.fail(SHAPE);
        }
    }
    const auto tensor = std::make_shared<Tensor>();
    const zb_status status = CALL(zb_tensor_alloc_for, expect, picked.handle, slot, &tensor->handle);
    if (spec != nullptr && spec->slot(slot) != nullptr && status != ZB_ERROR_BUSY) {
        // an output of no known size may be refused after planning
        if (status == ZB_OK || spec->slot(slot)->odd != Odd::hits) {
            planned(*picked.object, status);
        }
        picked.object->panicked |= status == ZB_ERROR_PANIC;
        picked.object->view = Context::View::maybe;
    }
    if (status == ZB_OK) {
        take_data(tensor);
        keep(world, tensor);
    }
}

void map(World &world, Input &input)
{
    Expect expect;
    const auto tensor = std::make_shared<Tensor>();
    tensor->desc = choose_desc(world, input, expect);
    const size_t size = room_for(tensor->desc, expect);
    if (!is_known(dims_of(tensor->desc))) {
        expect.fail(SHAPE);
    }
    const uint64_t offset = input.chance(64) ? input.byte() : 0;
    const int file = memfd_create("fuzz", MFD_CLOEXEC);
    const bool is_short = input.chance(16) && size > 0;
    if (is_short) {
        expect.fail(SMALL);
    }
    if (ftruncate(file, static_cast<off_t>(offset + size - (is_short ? 1 : 0))) != 0) {
        fault("no file in memory");
    }
    uint32_t flags = input.chance(64) ? ZB_MAP_READ_ONLY : 0;
    tensor->read_only = flags != 0;
    if (input.chance(8)) {
        flags = 6;
        expect.fail(ARGUMENT);
    }
    const bool is_bad = input.chance(8);
    if (is_bad) {
        expect.fail(IO);
    }
    // an empty one needs no map, and may be told so or not
    if (size == 0) {
        expect.allow(IO | SMALL);
    }
    const zb_status status =
        CALL(zb_tensor_map_fd, expect, &tensor->desc, is_bad ? -5 : file, offset, flags, &tensor->handle);
    close(file);
    if (status == ZB_OK) {
        take_data(tensor);
        // the file ends with it, and what lies behind in its page is not said to count
        tensor->capacity = tensor->size;
        keep(world, tensor);
    }
}

void import(World &world, Input &input)
{
    Expect expect;
    const auto tensor = std::make_shared<Tensor>();
    tensor->desc = choose_desc(world, input, expect);
    const size_t size = room_for(tensor->desc, expect);
    Block *const block = world.new_block(size, input.chance(64) ? 4 : 0, 0, input.chance(128));
    block->fill(tensor->desc.dtype, input.byte());
    tensor->block = block;
    tensor->has_release = true;
    tensor->data = block->data();
    tensor->size = tensor->capacity = size;
    tensor->read_only = input.chance(48);
    DlGiven *const given = dl_give(tensor->desc, *block, tensor->read_only);
    if (!is_known(dims_of(tensor->desc))) {
        expect.fail(ARGUMENT);
    }
    if (tensor->desc.dtype < 1 || tensor->desc.dtype > 20) {
        expect.fail(UNSUPPORTED);
    }
    switch (input.chance(32) ? input.below(5) : 5) {
    case 0: given->managed.version.major = 2, expect.fail(UNSUPPORTED); break;
    case 1: given->managed.tensor.device.type = 2, expect.fail(UNSUPPORTED); break;
    case 2: given->managed.tensor.dtype.lanes = 4, expect.fail(UNSUPPORTED); break;
    case 3:
        if (size > 0) {
            given->managed.tensor.data = nullptr, expect.fail(NULL_);
        }
        break;
    case 4: given->managed.flags |= 128, expect.fail(UNSUPPORTED); break;
    default: break;
    }
    pick_errand(world, input, block->errand);
    if (CALL(zb_tensor_from_dlpack, expect, &given->managed, &tensor->handle) == ZB_OK) {
        keep(world, tensor);
    } else {
        block->errand.run();
        delete given;
    }
}

void export_(World &world, Input &input)
{
    Expect expect;
    const Picked<Tensor> picked = pick_tensor(world, input, expect);
    if (picked.object != nullptr && !is_known(dims_of(picked.object->desc))) {
        expect.fail(SHAPE);
    }
    struct DLManagedTensorVersioned *managed = nullptr;
    if (CALL(zb_tensor_to_dlpack, expect, picked.handle, &managed) != ZB_OK) {
        return;
    }
    const Tensor &tensor = *picked.object;
    // an empty one has no address there
    if (managed->tensor.data != (tensor.size == 0 ? nullptr : tensor.data) || managed->tensor.ndim != static_cast<int32_t>(tensor.desc.rank) ||
        ((managed->flags & 1) != 0) != tensor.read_only) {
        fault("an export is not the tensor's");
    }
    picked.object->exports++;
    world.exports.emplace_back(managed, picked.object);
}

void end_export(World &world, Input &input)
{
    if (world.exports.empty()) {
        export_(world, input);
        return;
    }
    const auto place = world.exports.begin() + input.below(static_cast<unsigned>(world.exports.size()));
    const auto [managed, tensor] = *place;
    world.exports.erase(place);
    tensor->exports--;
    managed->deleter(managed);
}

void look(World &world, Input &input)
{
    Expect expect;
    const Picked<Tensor> picked = pick_tensor(world, input, expect);
    void *data = nullptr;
    size_t size = 0;
    zb_tensor_desc desc = {};
    if (CALL(zb_tensor_get_data, expect, picked.handle, &data, input.chance(64) ? nullptr : &size) == ZB_OK &&
        data != picked.object->data) {
        fault("a tensor is elsewhere");
    }
    if (CALL(zb_tensor_get_desc, expect, picked.handle, &desc) == ZB_OK && !is_same(desc, picked.object->desc)) {
        fault("a tensor has another desc");
    }
    if (picked.object != nullptr) {
        world.check_bytes(*picked.object);
    }
}

// The host writes, which it may while nothing uses the tensor.
void refill(World &world, Input &input)
{
    Expect expect;
    const Picked<Tensor> picked = pick_tensor(world, input, expect);
    Tensor *const tensor = picked.object.get();
    if (tensor == nullptr || tensor->read_only || world.is_pending(*tensor)) {
        return;
    }
    const auto seed = input.byte();
    for (size_t i = 0; i < tensor->size; i++) {
        tensor->data[i] = 0;
    }
    if (tensor->block != nullptr) {
        tensor->block->fill(tensor->desc.dtype, seed);
    }
    tensor->known = is_known(dims_of(tensor->desc));
    tensor->bytes.assign(tensor->data, tensor->data + tensor->size);
}

void sync(World &world, Input &input)
{
    Expect expect;
    const Picked<Tensor> picked = pick_tensor(world, input, expect);
    auto direction = static_cast<int32_t>(input.below(2));
    if (input.chance(16)) {
        direction = 5;
        expect.fail(ARGUMENT);
    }
    const bool is_pending = picked.object != nullptr && world.is_pending(*picked.object);
    if (is_pending) {
        expect.allow(TIMEOUT | BUSY);
    }
    static const uint64_t times[] = {0, 1000, 100000, UINT64_MAX};
    const uint64_t time = times[input.below(is_pending ? 3 : 4)];
    if (CALL(zb_tensor_sync, expect, picked.handle, direction, time) == ZB_OK) {
        Tensor &tensor = *picked.object;
        for (const auto &operation : world.operations) {
            const auto is_it = [&](const auto &one) { return one == picked.object; };
            if (!operation->has_event && (std::any_of(operation->reads.begin(), operation->reads.end(), is_it) ||
                                          std::any_of(operation->writes.begin(), operation->writes.end(), is_it))) {
                operation->settled = true;
            }
        }
        if (direction == ZB_SYNC_TO_DEVICE && !is_pending) {
            tensor.suspect = false;
        }
    }
}

} // namespace

void make_tensor(World &world, Input &input)
{
    switch (input.below(10)) {
    case 0: case 1: case 2: case 3: wrap(world, input); break;
    case 4: case 5: alloc(world, input); break;
    case 6: alloc_for(world, input); break;
    case 7: map(world, input); break;
    default: import(world, input); break;
    }
}

void tensor_step(World &world, Input &input)
{
    switch (input.below(6)) {
    case 0: look(world, input); break;
    case 1: refill(world, input); break;
    case 2: sync(world, input); break;
    case 3: export_(world, input); break;
    case 4: end_export(world, input); break;
    default: look(world, input); break;
    }
}

} // namespace fuzz
