// Calls on the library itself and on models.
#include "world.hpp"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace fuzz {

namespace {

void on_log(void *, int32_t level, const char *text)
{
    if (level < ZB_LOG_ERROR || level > ZB_LOG_DEBUG || text == nullptr) {
        fault("a log callback got level %d", level);
    }
    zb_version();
    zb_tensor_desc desc = {ZB_DTYPE_F32, 0, {}};
    size_t size = 0;
    // only functions without a status may be called here
    if (zb_tensor_desc_size(&desc, &size) != ZB_ERROR_BUSY) {
        fault("a call inside a log callback was not refused");
    }
}

template <class Options> void init_options(Fn function, zb_status (*call)(Options *, size_t), Input &input)
{
    struct {
        Options options;
        uint8_t behind[64];
    } place;
    memset(&place, 0xAB, sizeof place);
    const bool is_null = input.chance(16);
    static const size_t sizes[] = {sizeof(Options), 0, 4, sizeof(Options) - 1, sizeof(Options) + 16, 5000};
    const size_t size = sizes[input.below(6)];
    Expect expect;
    if (is_null) {
        expect.fail(NULL_);
    }
    if (size < sizeof(Options) || size > 4096) {
        expect.fail(ARGUMENT);
    }
    done(function, call(is_null ? nullptr : &place.options, size), expect);
    const size_t written = expect.refused() ? 0 : size;
    for (size_t i = written; i < sizeof place; i++) {
        if (reinterpret_cast<uint8_t *>(&place)[i] != 0xAB) {
            fault("%s wrote byte %zu of %zu", name_of(function), i, written);
        }
    }
    if (written != 0 && place.options.struct_size != size) {
        fault("%s set struct_size to %u", name_of(function), place.options.struct_size);
    }
}

void size_of_desc(Input &input)
{
    static const int64_t some[] = {0, 1, 4, 7, -1, -2, INT64_C(1) << 40, INT64_MAX};
    static const uint32_t bits[] = {0, 32, 64, 16, 16, 8, 8, 16, 16, 32, 32, 64, 64, 8, 4, 4, 64, 0, 8, 8, 128};
    zb_tensor_desc desc = {};
    desc.dtype = input.chance(24) ? static_cast<int32_t>(input.byte()) - 40 : 1 + static_cast<int32_t>(input.below(20));
    desc.rank = input.chance(8) ? 17 + input.below(200) : input.below(5);
    bool is_open = false, is_bad = false, overflows = false, is_empty = false;
    uint64_t count = 1;
    for (uint32_t i = 0; i < desc.rank && i < ZB_MAX_RANK; i++) {
        const int64_t dim = desc.dims[i] = some[input.below(8)];
        is_bad |= dim < -1;
        is_open |= dim == -1;
        is_empty |= dim == 0;
        overflows |= dim > 0 && __builtin_mul_overflow(count, static_cast<uint64_t>(dim), &count);
    }
    const bool no_desc = input.chance(8), no_size = input.chance(8);
    const bool is_known_type = desc.dtype >= 1 && desc.dtype <= 20;
    Expect expect;
    if (no_desc || no_size) {
        expect.fail(NULL_);
    }
    if (!is_known_type || is_bad) {
        expect.fail(ARGUMENT);
    }
    if (desc.rank > ZB_MAX_RANK || desc.dtype == ZB_DTYPE_STRING) {
        expect.fail(UNSUPPORTED);
    }
    const uint64_t width = is_known_type ? bits[desc.dtype] : 0;
    uint64_t bytes = 0;
    overflows |= __builtin_mul_overflow(count / 8, width, &bytes);
    overflows |= __builtin_add_overflow(bytes, (count % 8 * width + 7) / 8, &bytes);
    if (is_open || (!is_empty && (overflows || bytes > UINT64_MAX / 2))) {
        expect.fail(SHAPE);
    } else if (is_empty && overflows) {
        // whether the other dimensions count is not said
        expect.allow(SHAPE);
    }
    size_t size = 77;
    const zb_status status = CALL(zb_tensor_desc_size, expect, no_desc ? nullptr : &desc, no_size ? nullptr : &size);
    if (status == ZB_OK ? size != (is_empty ? 0 : static_cast<size_t>(bytes)) : size != 77) {
        fault("zb_tensor_desc_size gave %zu", size);
    }
}

void last_error(Input &input)
{
    char text[300];
    memset(text, 'x', sizeof text);
    const size_t capacity = input.below(200);
    const bool no_buffer = input.chance(32), no_needed = input.chance(32);
    Expect expect;
    if (no_buffer && capacity > 0) {
        expect.fail(NULL_);
    } else if (!no_buffer) {
        expect.allow(SMALL);
    }
    size_t needed = 0;
    const zb_status status = zb_last_error(no_buffer ? nullptr : text, capacity, no_needed ? nullptr : &needed);
    counted(Fn::zb_last_error);
    if ((expect.all() & bit(status)) == 0 || text[capacity] != 'x') {
        fault("zb_last_error gave %s for a capacity of %zu", zb_status_name(status), capacity);
    }
}

void names(Input &input)
{
    const auto number = static_cast<int32_t>(static_cast<int8_t>(input.byte()));
    const char *const texts[] = {zb_status_name(number), zb_dtype_name(number), zb_version_string()};
    for (const char *text : texts) {
        if (text == nullptr || *text == 0) {
            fault("a name is empty");
        }
    }
    if (zb_version() != ZB_HEADER_VERSION || zb_dtype_bits(number) > 128) {
        fault("the version is %u", zb_version());
    }
    counted(Fn::zb_status_name), counted(Fn::zb_dtype_name), counted(Fn::zb_version_string), counted(Fn::zb_version);
    counted(Fn::zb_dtype_bits);
}

void live_objects(const World &world)
{
    // one that panicked on a queue is gone, and its handle is left
    const auto is_whole = [](const auto &context) { return (context->whims & PANIC) == 0; };
    const auto contexts = std::count_if(world.contexts.live.begin(), world.contexts.live.end(), is_whole);
    const size_t handles[] = {world.models.live.size(), static_cast<size_t>(contexts), world.tensors.live.size(),
                              world.queues.live.size(), world.events.live.size()};
    for (int32_t kind = ZB_KIND_MODEL; kind <= ZB_KIND_EVENT; kind++) {
        counted(Fn::zb_live_objects);
        if (zb_live_objects(kind) < handles[kind - 1]) {
            fault("zb_live_objects(%d) is less than the handles", kind);
        }
    }
}

void runtime(const World &world, Input &input)
{
    const int32_t known = runtime_of(world.engine);
    const int32_t runtime = input.chance(64) ? static_cast<int32_t>(input.byte()) + 3 : known;
    Expect expect;
    if (runtime != known) {
        expect.fail(ARGUMENT);
    }
    if (input.chance(128)) {
        CALL(zb_runtime_load, expect, runtime, nullptr);
        return;
    }
    zb_runtime_info info = ZB_RUNTIME_INFO_INIT;
    if (input.chance(32)) {
        info.struct_size = input.below(20);
        expect.fail(ARGUMENT);
    }
    CALL(zb_runtime_get_info, expect, runtime, &info);
}

// How a model is opened, and what is wrong with that.
struct Opening {
    zb_model_options options = ZB_MODEL_OPTIONS_INIT;
    bool has_options = false, no_place = false;
    std::string bytes;
    Expect expect;
};

Opening choose_opening(const World &world, Input &input, const Spec &spec)
{
    Opening chosen;
    chosen.bytes = spec.bytes;
    if (world.engine == Engine::mock && input.chance(24)) {
        // real engines take damaged models badly, and have tests of their own for that
        chosen.bytes.resize(chosen.bytes.size() * input.below(16) / 16);
        chosen.bytes.insert(chosen.bytes.size() / 2, "?");
        chosen.expect.allow(MODEL | ARGUMENT | UNSUPPORTED);
    }
    chosen.has_options = input.chance(96);
    if (chosen.has_options) {
        switch (input.below(8)) {
        case 1: chosen.options.struct_size = 3, chosen.expect.fail(ARGUMENT); break;
        case 2: chosen.options.runtime = 77, chosen.expect.fail(ARGUMENT); break;
        case 3: chosen.options.sha256[3] = 1, chosen.expect.fail(MODEL); break;
        case 4: chosen.options.max_tensor_bytes = 8, chosen.expect.allow(UNSUPPORTED); break;
        case 5: chosen.options.option_count = 1, chosen.expect.fail(NULL_); break;
        default: chosen.options.runtime = runtime_of(world.engine); break;
        }
    }
    chosen.no_place = input.chance(8);
    if (chosen.no_place) {
        chosen.expect.fail(NULL_);
    }
    return chosen;
}

int file_of(const std::string &bytes, size_t offset)
{
    const int file = memfd_create("fuzz", MFD_CLOEXEC);
    if (file < 0 || pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset)) != static_cast<ssize_t>(bytes.size())) {
        fault("no file in memory");
    }
    return file;
}

zb_status open_by_descriptor(Opening &chosen, Input &input, const zb_model_options *options, zb_model **place)
{
    const uint64_t offset = input.below(4) * 16 + (input.chance(24) ? 4 : 0);
    const uint64_t length = input.chance(128) ? chosen.bytes.size() : 0;
    if (offset % 16 != 0) {
        chosen.expect.fail(MISALIGNED);
    }
    int file = file_of(chosen.bytes, offset);
    uint64_t asked = length;
    if (input.chance(16)) {
        asked = chosen.bytes.size() + 100;
        chosen.expect.fail(IO);
    }
    const zb_status status = CALL(zb_model_open_fd, chosen.expect, file, offset, asked, options, place);
    close(file);
    return status;
}

zb_status open_in_place(World &world, Opening &chosen, Input &input, const zb_model_options *options, zb_model **place)
{
    const size_t offset = input.chance(24) ? 4 : 0;
    if (offset != 0) {
        chosen.expect.fail(MISALIGNED);
    }
    Block *const block = world.new_block(chosen.bytes.size(), offset, 0, false);
    memcpy(block->data(), chosen.bytes.data(), chosen.bytes.size());
    pick_errand(world, input, block->errand);
    const bool has_release = !input.chance(64);
    const zb_status status = CALL(zb_model_open_bytes, chosen.expect, block->data(), block->size(),
                                  has_release ? Block::on_release : nullptr, block, options, place);
    if (status != ZB_OK || !has_release) {
        block->errand.run();
    }
    return status;
}

zb_status open_copied(Opening &chosen, Input &input, const zb_model_options *options, zb_model **place)
{
    // right behind another byte, and gone when the call has returned
    const bool is_odd = input.chance(128);
    std::string copy = (is_odd ? "x" : "") + chosen.bytes;
    return CALL(zb_model_open_bytes_copy, chosen.expect, copy.data() + (is_odd ? 1 : 0), chosen.bytes.size(), options, place);
}

zb_status open_by_path(const Spec &spec, Opening &chosen, Input &input, const zb_model_options *options, zb_model **place)
{
    std::string path = spec.path;
    int file = -1;
    if (path.empty()) {
        file = file_of(chosen.bytes, 0);
        path = "/proc/self/fd/" + std::to_string(file);
    }
    if (input.chance(24)) {
        path = "/no/such/model";
        chosen.expect.fail(IO);
    }
    const zb_status status = CALL(zb_model_open, chosen.expect, path.c_str(), options, place);
    if (file >= 0) {
        close(file);
    }
    return status;
}

} // namespace

void open_model(World &world, Input &input)
{
    const auto model = std::make_shared<Model>();
    model->spec = &world.specs[input.below(static_cast<unsigned>(world.specs.size()))];
    Opening chosen = choose_opening(world, input, *model->spec);
    const zb_model_options *const options = chosen.has_options ? &chosen.options : nullptr;
    zb_model *handle = nullptr;
    zb_model **const place = chosen.no_place ? nullptr : &handle;
    zb_status status = ZB_OK;
    switch (input.below(4)) {
    case 0: status = open_copied(chosen, input, options, place); break;
    case 1: status = open_in_place(world, chosen, input, options, place); break;
    case 2: status = open_by_descriptor(chosen, input, options, place); break;
    default: status = open_by_path(*model->spec, chosen, input, options, place); break;
    }
    if ((handle != nullptr) != (status == ZB_OK)) {
        fault("a model was opened with %s", zb_status_name(status));
    }
    model->handle = handle;
    if (status != ZB_OK) {
        return;
    }
    if (chosen.bytes != model->spec->bytes || chosen.options.max_tensor_bytes != 0) {
        // it is something of which nothing is known, or that refuses larger shapes
        CALL(zb_model_destroy, Expect{}, handle);
        return;
    }
    world.models.live.push_back(model);
}

void library_step(World &world, Input &input)
{
    switch (input.below(12)) {
    case 0: names(input); break;
    case 1: size_of_desc(input); break;
    case 2: last_error(input); break;
    case 3: live_objects(world); break;
    case 4: runtime(world, input); break;
    case 5: init_options(Fn::zb_model_options_init, zb_model_options_init, input); break;
    case 6: init_options(Fn::zb_context_options_init, zb_context_options_init, input); break;
    case 7: init_options(Fn::zb_queue_options_init, zb_queue_options_init, input); break;
    case 8: {
        const auto level = static_cast<int32_t>(input.below(6));
        Expect expect;
        const bool is_on = input.chance(128);
        if (level < ZB_LOG_ERROR || level > ZB_LOG_DEBUG) {
            is_on ? expect.fail(ARGUMENT) : expect.allow(ARGUMENT);
        }
        CALL(zb_set_log_callback, expect, is_on ? on_log : nullptr, nullptr, level);
        break;
    }
    case 9: init_options(Fn::zb_preflight_options_init, zb_preflight_options_init, input); break;
    default: size_of_desc(input); break;
    }
}

void model_step(World &world, Input &input)
{
    Expect expect;
    const uint8_t what = input.byte();
    const Picked<Model> picked = pick_model(world, input, expect);
    const Spec *const spec = picked.object != nullptr ? picked.object->spec : nullptr;
    uint32_t count = 0, other = 0;
    int32_t runtime = 0;
    zb_slot slot = 0;
    char text[32];
    switch (what % 9) {
    case 0:
        if (CALL(zb_model_get_slot_counts, expect, picked.handle, &count, &other) == ZB_OK &&
            (count != spec->inputs.size() || other != spec->outputs.size())) {
            fault("a model has %u and %u slots", count, other);
        }
        break;
    case 1:
        if (CALL(zb_model_get_runtime, expect, picked.handle, &runtime) == ZB_OK && runtime != runtime_of(world.engine)) {
            fault("a model is of runtime %d", runtime);
        }
        break;
    case 2: {
        zb_slot_info info = ZB_SLOT_INFO_INIT;
        slot = pick_slot(input, spec, expect);
        if (CALL(zb_model_get_slot_info, expect, picked.handle, slot, &info) == ZB_OK &&
            (info.desc.dtype != spec->dtype || info.name == nullptr)) {
            fault("a slot is of type %d", info.desc.dtype);
        }
        break;
    }
    case 3:
    case 4: {
        const bool is_input = what % 9 == 3;
        const char *const name = input.chance(64) ? "nobody" : "\xFF";
        expect.fail(name[0] == 'n' ? NOT_FOUND : ARGUMENT);
        is_input ? CALL(zb_model_find_input, expect, picked.handle, name, &slot)
                 : CALL(zb_model_find_output, expect, picked.handle, name, &slot);
        break;
    }
    case 5: {
        size_t needed = 0;
        expect.allow(NOT_FOUND | SMALL);
        CALL(zb_model_get_metadata, expect, picked.handle, input.chance(128) ? "zerobind.keys" : "x", text, input.below(32),
             &needed);
        break;
    }
    case 6: CALL(zb_model_get_signature_count, expect, picked.handle, &count); break;
    case 7: {
        const char *key = nullptr;
        expect.allow(ARGUMENT);
        CALL(zb_model_get_signature_key, expect, picked.handle, input.byte(), &key);
        break;
    }
    default:
        expect.allow(NOT_FOUND | UNSUPPORTED);
        what < 128 ? CALL(zb_model_signature_find_input, expect, picked.handle, "serving_default", "x", &slot)
                   : CALL(zb_model_signature_find_output, expect, picked.handle, "serving_default", "x", &slot);
        break;
    }
}

} // namespace fuzz
