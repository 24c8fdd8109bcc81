// The twin of the misuses: must compile without a warning.
#include <zerobind.hpp>

namespace {

struct Pixel {
    std::uint16_t bits;
};

} // namespace

template <>
struct zb::dtype_of<Pixel> {
    static constexpr zb::DType value = zb::DType::bf16;
};

zb_status use(zb::Input<float> in, zb::Output<float> out, const std::vector<float> &x, std::vector<float> &y);

zb_status use(zb::Input<float> in, zb::Output<float> out, const std::vector<float> &x, std::vector<float> &y)
{
    const zb::Result<zb::Model> model = zb::Model::open("model.onnx");
    if (!model) {
        return model.status();
    }
    zb::Result<zb::Context> context = zb::Context::create(*model);
    if (!context) {
        return context.status();
    }
    zb::Context moved = *std::move(context);
    const zb::DescOf<float> desc({1, 4});
    const Pixel pixels[2] = {};
    const auto run = moved.infer_with({zb::in(in, x, 0, &desc), zb::in(zb::input(1), pixels), zb::out(out, y, &desc)});
    if (!run) {
        return run.status();
    }
    const auto at_once = [](zb::Task task) { task(); };
    zb::Result<zb::Queue> queue = zb::Queue::create_on(at_once);
    zb::Result<zb::Tensor> tensor = zb::Tensor::wrap(y, {1, 4}, [own = std::make_unique<int>(1)] {});
    if (!queue || !tensor) {
        return ZB_ERROR_OUT_OF_MEMORY;
    }
    zb::Result<zb::Event> event = queue->read(*tensor, y);
    if (!event) {
        return event.status();
    }
    zb::Result<std::future<zb::Result<void>>> future = zb::to_future(*std::move(event));
    const zb::Result<zb::Span<const float>> view = moved.output_view(out);
    return future ? view.status() : future.status();
}
