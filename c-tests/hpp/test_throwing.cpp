// The throwing interface, where exceptions are on; and what ends the process.
#include "hpp_test.hpp"
#include "tables.hpp"

#if ZB_HAS_EXCEPTIONS

namespace {

void values_or_exceptions()
{
    CHECK_EQ(zb::Tensor::alloc<float>({4}).value().desc().value()[0], 4);
    const zb::Result<zb::Tensor> kept = zb::Tensor::alloc<float>({4});
    CHECK_DONE(kept.value().desc());
    zb::Result<zb::Tensor> changed = zb::Tensor::alloc<float>({4});
    changed.value().reset();
    bool is_caught = false;
    try {
        zb::Model::open("/nowhere/model.onnx").value();
    } catch (const zb::Exception &exception) {
        is_caught = true;
        CHECK_STATUS(exception.status(), ZB_ERROR_IO);
        CHECK(std::string(exception.what()).find("/nowhere/model.onnx") != std::string::npos);
        const zb::Exception copy = exception;
        CHECK(std::string(copy.what()) == exception.what());
    }
    CHECK(is_caught);
    is_caught = false;
    try {
        zb::Context().infer().value();
    } catch (const std::runtime_error &exception) {
        is_caught = true;
        CHECK(std::string(exception.what()).size() > 10);
    }
    CHECK(is_caught);
}

// By value too: neither the reference nor the loop looks at memory that is gone.
static_assert(std::is_same_v<decltype(std::declval<zb::Result<zb::Tensor>>().value()), zb::Tensor>);

void checked_values_of_temporaries_stay()
{
    const zb::Tensor &tensor = zb::Tensor::alloc<float>({4}).value();
    CHECK_EQ(zb::live_objects(ZB_KIND_TENSOR), 1);
    int count = 0;
    for (const float element : tensor.span<float>().value()) {
        count += element < 0.1f ? 1 : 0;
    }
    CHECK_EQ(count, 4);
}

// What an exception passes is cleaned up: the context, the tensors, and their memory.
void objects_go_as_an_exception_passes()
{
    Four x;
    int releases = 0;
    try {
        zb::Tensor tensor = zb::Tensor::wrap(x.v, {4}, [&releases] { releases++; }).value();
        zb::Context context = make_context("add4");
        context.bind(zb::input(0), tensor).value();
        context.infer().value();
        CHECK(false);
    } catch (const zb::Exception &exception) {
        CHECK_STATUS(exception.status(), ZB_ERROR_UNBOUND);
    }
    CHECK_EQ(releases, 1);
}

} // namespace

const std::vector<zt_test> throwing_tests = {
    ON_BOTH(values_or_exceptions),
    ON_BOTH(checked_values_of_temporaries_stay),
    ON_BOTH(objects_go_as_an_exception_passes),
};

#else
const std::vector<zt_test> throwing_tests;
#endif

namespace {

// By an exception where those are, so that what is tested is that it cannot pass.
[[noreturn]] void leave()
{
#if ZB_HAS_EXCEPTIONS
    throw std::runtime_error("left a callable");
#else
    std::terminate();
#endif
}

} // namespace

void end_by(const char *way)
{
    const std::string chosen = way;
    Four x;
    if (chosen == "release") {
        take(zb::Tensor::wrap(x.v, {4}, [] { leave(); })).reset();
    } else if (chosen == "complete") {
        zb::Queue queue = take(zb::Queue::create());
        zb::Event event = take(queue.fence());
        take(event.wait());
        static_cast<void>(event.on_complete([](zb_status) { leave(); }));
    } else if (chosen == "executor") {
        auto refuse = [](zb::Task) { leave(); };
        zb::Queue queue = take(zb::Queue::create_on(refuse));
        static_cast<void>(queue.fence());
    } else if (chosen == "value") {
        static_cast<void>(*zb::Model::open("/nowhere/model.onnx"));
    }
    std::printf("nothing ended the process\n");
}
