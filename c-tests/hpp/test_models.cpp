// Models: every way to open one, and what they say about themselves.
#include "hpp_test.hpp"
#include "tables.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace {

struct Bytes {
    unsigned char *data;
    std::size_t size = 0;

    explicit Bytes(const char *name)
    {
        char *path = zt_model_path(name);
        data = static_cast<unsigned char *>(zt_read(path, &size));
        free(path);
    }
    ~Bytes() { free(data); }
    Bytes(const Bytes &) = delete;
    Bytes &operator=(const Bytes &) = delete;

    zb::Span<const unsigned char> span() const { return zb::Span<const unsigned char>(data, size); }
};

void adds(const zb::Model &model)
{
    Four x{1, 2, 3, 4}, y{10, 20, 30, 40}, z;
    zb::Context context = take(zb::Context::create(model));
    take(context.infer_with(
        {zb::in(zb::input(0), x.v, sizeof x), zb::in(zb::input(1), y.v, sizeof y), zb::out(zb::output(0), z.v)}));
    CHECK_FOUR(z, 11, 22, 33, 44);
}

void opened_from_everywhere()
{
    char *path = zt_model_path("add4");
    const Bytes bytes("add4");
    adds(take(zb::Model::open(path)));
    adds(take(zb::Model::open(std::string(path))));
    adds(take(zb::Model::open_bytes(bytes.span())));
    adds(take(zb::Model::open_bytes_copy(std::vector<unsigned char>(bytes.data, bytes.data + bytes.size))));
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    adds(take(zb::Model::open_fd(fd)));
    adds(take(zb::Model::open_fd(fd, 0, bytes.size)));
    CHECK_RESULT(zb::Model::open_fd(fd, 3), ZB_ERROR_MISALIGNED);
    close(fd);
    free(path);
}

void options_are_given_on()
{
    char *path = zt_model_path("add4");
    zb::ModelOptions options;
    options.runtime = zt_is_tflite() ? zb::Runtime::tflite : zb::Runtime::onnxruntime;
    const zb::Model model = take(zb::Model::open(path, options));
    CHECK(take(model.runtime()) == options.runtime);
    options.runtime = zt_is_tflite() ? zb::Runtime::onnxruntime : zb::Runtime::tflite;
    CHECK(!zb::Model::open(path, options));
    zb::ModelOptions hash;
    hash.sha256.fill(7);
    CHECK_RESULT(zb::Model::open(path, hash), ZB_ERROR_MODEL_INVALID);
    zb::ModelOptions small;
    small.max_tensor_bytes = 8;
    CHECK_RESULT(zb::Model::open(path, small), ZB_ERROR_UNSUPPORTED);
    zb::ModelOptions unknown;
    unknown.options = {{"no.such.key", "1"}};
    CHECK_RESULT(zb::Model::open(path, unknown), ZB_ERROR_NOT_FOUND);
    free(path);

    zb::ContextOptions context;
    context.threads = 2;
    context.profile = true;
    context.options = {{"optimization", "none"}, {"tflite.xnnpack", "false"}};
    Sum sum(context);
    take(sum.context.infer());
    CHECK_FOUR(sum.z, 11, 22, 33, 44);
    CHECK(take(sum.context.stats()).last_run_ns > 0);
    context.options = {{"no.such.key", "1"}};
    CHECK_RESULT(zb::Context::create(model, context), ZB_ERROR_NOT_FOUND);
    context.options = {};
    context.threads = -1;
    CHECK_RESULT(zb::Context::create(model, context), ZB_ERROR_INVALID_ARGUMENT);
}

// The bytes come back once, after the last context, also by way of a callable that can only be moved.
void bytes_come_back_once()
{
    auto bytes = std::make_unique<Bytes>("add4");
    const zb::Span<const unsigned char> span = bytes->span();
    zt_releases releases = {};
    auto release = [own = std::move(bytes), &releases](void *data, std::size_t size) {
        CHECK_ADDRESS(data, own->data);
        zt_count_release(&releases, data, size);
    };
    zb::Model model = take(zb::Model::open_bytes(span, std::move(release)));
    {
        const zb::Context context = take(zb::Context::create(model));
        model.reset();
        CHECK_EQ(zt_release_count(&releases), 0);
    }
    CHECK_EQ(zt_release_count(&releases), 1);
    CHECK_EQ(releases.size, span.size());
}

// If it fails, the callable is still there, with all that it owns.
void refused_bytes_stay()
{
    alignas(16) static const unsigned char nonsense[32] = "this is not a model";
    int calls = 0;
    auto release = [own = std::make_unique<int>(5), &calls] { calls += *own; };
    const zb::Result<zb::Model> refused = zb::Model::open_bytes(nonsense, std::move(release));
    CHECK_RESULT(refused, ZB_ERROR_MODEL_INVALID);
    CHECK_EQ(calls, 0);
    release();
    CHECK_EQ(calls, 5);
}

void slots_are_described()
{
    const zb::Model model = open_model("add4");
    const zb::SlotCounts counts = take(model.slot_counts());
    CHECK_EQ(counts.inputs, 2);
    CHECK_EQ(counts.outputs, 1);
    const zb::SlotInfo info = take(model.slot_info(zb::input(1)));
    CHECK(info.name() == "y");
    CHECK(info.desc() == zb::DescOf<float>({4}));
    CHECK(info.dtype() == zb::DType::f32);
    CHECK_EQ(info.size_bytes(), 16);
    CHECK(!info.is_constant() && !info.is_dynamic() && !info.is_pass_through() && !info.is_duplicate());
    CHECK_EQ(info.quantization(), ZB_QUANTIZATION_NONE);
    CHECK(info.dim_name(0).empty() && info.dim_name(99).empty());
    CHECK_EQ(info.get().desc.rank, 1);
    CHECK_RESULT(model.slot_info(zb::input(2)), ZB_ERROR_INVALID_ARGUMENT);
    CHECK(take(model.find_input("y")) == zb::input(1));
    CHECK(take(model.find_output(std::string("z"))) == zb::output(0));
    const zb::Result<zb::Slot> missing = model.find_input("w");
    CHECK_RESULT(missing, ZB_ERROR_NOT_FOUND);
    CHECK_SAYS(missing.error(), "w");

    const zb::Model open = open_model("batch");
    CHECK(take(open.slot_info(zb::input(0))).is_dynamic());
    CHECK_EQ(take(open.slot_info(zb::input(0))).desc()[0], -1);
    if (!zt_is_tflite()) {
        CHECK(take(open.slot_info(zb::input(0))).dim_name(0) == "batch");
    }
    CHECK(take(open_model("passthrough").slot_counts()).outputs == 2);
}

// A slot of a type: the model's, or none.
void slots_have_types()
{
    const zb::Model model = open_model("add4");
    const zb::Input<float> x = take(model.input<float>("x"));
    CHECK(x == zb::input(0));
    CHECK(take(model.input<float>(1)) == zb::input(1));
    CHECK(take(model.output<float>(0)) == take(model.output<float>("z")));
    CHECK(take(model.input<std::byte>("y")) == zb::input(1));
    const zb::Result<zb::Input<int>> wrong = model.input<int>("x");
    CHECK_RESULT(wrong, ZB_ERROR_DTYPE_MISMATCH);
    CHECK_SAYS(wrong.error(), "x has elements of type f32, and i32 was asked for");
    CHECK_RESULT(model.output<float>(1), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_RESULT(model.output<float>("x"), ZB_ERROR_NOT_FOUND);
    CHECK(take(open_model("quantized").input<std::int8_t>("x")) == zb::input(0));
}

void quantization_is_told()
{
    const zb::SlotInfo info = take(open_model("per_axis").slot_info(zb::input(0)));
    CHECK_EQ(info.quantization(), ZB_QUANTIZATION_PER_AXIS);
    CHECK_EQ(info.quantization_axis(), 1);
    REQUIRE(info.quantization_count() == 3);
    const float scales[3] = {0.5f, 0.25f, 2};
    const std::int32_t zeros[3] = {1, -2, 3};
    // the model has gone with its object, and the numbers with it: ask one that lives
    const zb::Model model = open_model("per_axis");
    const zb::SlotInfo living = take(model.slot_info(zb::input(0)));
    for (std::uint32_t i = 0; i < 3; i++) {
        const float scale = living.scale(i);
        CHECK_FLOATS(&scale, &scales[i], 1, 0);
        CHECK_EQ(living.zero_point(i), zeros[i]);
    }
}

void models_speak_of_themselves()
{
    const zb::Model model = open_model("metadata");
    const std::string keys = take(model.metadata("zerobind.keys"));
    if (zt_is_tflite()) {
        CHECK(take(model.metadata("tflite.description")) == "adds one – eins dazu");
        CHECK(keys.find("tflite.description") != std::string::npos);
    } else {
        CHECK(take(model.metadata("labels")) == "cat,dog");
        CHECK(take(model.metadata(std::string("onnx.version"))) == "42");
        CHECK(keys.find("labels") != std::string::npos);
    }
    CHECK_RESULT(model.metadata("nothing"), ZB_ERROR_NOT_FOUND);
}

void signatures_lead_to_slots()
{
    const zb::Model model = open_model("signatures");
    CHECK_EQ(take(model.signature_count()), 3);
    CHECK(take(model.signature_key(0)) == "serving_default");
    CHECK_RESULT(model.signature_key(3), ZB_ERROR_INVALID_ARGUMENT);
    CHECK(take(model.find_signature_input("serving_default", "alfa")) == take(model.find_input("y")));
    CHECK(take(model.find_signature_output("other", "both")) == take(model.find_output("sum")));
    const zb::Result<zb::Slot> missing = model.find_signature_input("serving_default", "bravo");
    CHECK_RESULT(missing, ZB_ERROR_NOT_FOUND);
    CHECK_SAYS(missing.error(), "alfa");
}

void models_without_signatures()
{
    const zb::Model model = open_model("add4");
    if (!zt_is_tflite()) {
        CHECK_EQ(take(model.signature_count()), 0);
    }
    CHECK_RESULT(model.find_signature_output("none", "z"), ZB_ERROR_NOT_FOUND);
}

void tried_in_another_process()
{
    char *path = zt_model_path("add4");
    const Bytes bytes("add4");
    CHECK(zb::Model::preflight(path));
    CHECK(zb::Model::preflight_bytes(bytes.span()));
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(zb::Model::preflight_fd(fd));
    close(fd);
    zb::ModelOptions small;
    small.max_tensor_bytes = 8;
    CHECK_RESULT(zb::Model::preflight(path, small), ZB_ERROR_UNSUPPORTED);
    free(path);
    zb::PreflightOptions how;
    how.shapes = {{0, {1, 8, 8, 1}}};
    how.context.threads = 2;
    how.max_memory_bytes = 1u << 30;
    path = zt_model_path("conv_dyn");
    CHECK(zb::Model::preflight(path, {}, how));
    how.shapes = {{0, {1, 8, 8, 3}}};
    CHECK_RESULT(zb::Model::preflight(path, {}, how), ZB_ERROR_SHAPE_MISMATCH);
    how.shapes = {};
    how.timeout = std::chrono::nanoseconds(0);
    const zb::Result<void> late = zb::Model::preflight(path, {}, how);
    CHECK(!late);
    CHECK_SAYS(late.error(), "within 1ns");
    how.helper = "/nowhere/helper";
    const zb::Result<void> missing = zb::Model::preflight(path, {}, how);
    CHECK_RESULT(missing, ZB_ERROR_IO);
    CHECK_SAYS(missing.error(), "/nowhere/helper");
    free(path);
}

} // namespace

const std::vector<zt_test> model_tests = {
    ON_BOTH(opened_from_everywhere),
    ON_BOTH(options_are_given_on),
    ON_BOTH(bytes_come_back_once),
    ON_BOTH(refused_bytes_stay),
    ON_BOTH(slots_are_described),
    ON_BOTH(slots_have_types),
    ON_BOTH(quantization_is_told),
    ON_BOTH(models_speak_of_themselves),
    ON_TFLITE(signatures_lead_to_slots),
    ON_BOTH(models_without_signatures),
    ON_BOTH(tried_in_another_process),
};
