// A queue, without exceptions: three sums are put into it, and each end is heard in another way: waited for, by a callable, and
// where the compiler has them, by a coroutine (else by a future).
//
//     later add4.onnx|add4.tflite
//
// C++17 or later. A result is asked whether there is a value; an error carries the library's text.
#include <cstdio>
#include <cstdlib>

#include <zerobind.hpp>

struct Four {
    float v[4];
};

static void print(const Four &sum)
{
    std::printf("%g %g %g %g\n", double{sum.v[0]}, double{sum.v[1]}, double{sum.v[2]}, double{sum.v[3]});
}

// What a program needs to run add4 on a queue. The tensors are bound, so their objects may go: the context keeps them.
struct Adder {
    zb::Context context;
    zb::Queue queue;
    zb::Tensor x, z;
};

static zb::Result<Adder> make_adder(const char *path)
{
    const auto model = zb::Model::open(path);
    if (!model) {
        return model.error();
    }
    auto context = zb::Context::create(*model);
    auto queue = context ? zb::Queue::create() : context.error();
    if (!queue) {
        return queue.error();
    }
    Adder adder{*std::move(context), *std::move(queue), {}, {}};
    for (const zb::Slot slot : {zb::input(0), zb::input(1), zb::output(0)}) {
        auto tensor = zb::Tensor::alloc_for(adder.context, slot);
        const auto bound = tensor ? adder.context.bind(slot, *tensor) : zb::Result<void>(tensor.error());
        if (!bound) {
            return bound.error();
        }
        if (slot == zb::input(0)) {
            adder.x = *std::move(tensor);
        } else if (slot == zb::input(1)) {
            const auto y = tensor->span<float>(); // our own to write: no run is in progress
            for (float &value : *y) {
                value = 10;
            }
        } else {
            adder.z = *std::move(tensor);
        }
    }
    return adder;
}

// Puts one sum into the queue: `x` is copied now, `z` is written when the event is settled.
static zb::Result<zb::Event> add_later(Adder &adder, const Four &x, Four &z)
{
    auto put = adder.queue.post_write(adder.x, x.v);
    if (put) {
        put = adder.queue.post_infer(adder.context);
    }
    if (!put) {
        return put.error();
    }
    return adder.queue.read(adder.z, z.v);
}

// One that is waited for, but not for ever.
static zb::Result<void> wait(Adder &adder)
{
    Four sum = {};
    const auto event = add_later(adder, {{0, 1, 2, 3}}, sum);
    if (!event) {
        return event.error();
    }
    auto ended = event->wait(std::chrono::seconds(10));
    if (ended.status() == ZB_ERROR_TIMEOUT) {
        std::fputs("it takes long\n", stderr);
        ended = event->wait(); // the operation goes on, and `sum` is its until it ends
    }
    if (ended) {
        print(sum);
    }
    return ended;
}

// One whose end calls a lambda, which owns the memory: nobody waits for it here.
static zb::Result<void> call_back(Adder &adder)
{
    auto sum = std::make_unique<Four>();
    Four &place = *sum;
    auto event = add_later(adder, {{1, 2, 3, 4}}, place);
    if (!event) {
        return event.error();
    }
    auto tell = [sum = std::move(sum)](zb_status status) {
        if (status == ZB_OK) {
            print(*sum);
        }
    };
    auto set = event->on_complete(std::move(tell));
    if (!set) {
        static_cast<void>(event->wait()); // `tell` still owns the sum, which is the operation's until then
    }
    return set;
}

#if ZB_HAS_COROUTINES
struct Detached {
    struct promise_type {
        Detached get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::abort(); }
    };
};

// One that a coroutine awaits: it goes on where the event is settled, on the queue's thread.
static Detached await(Adder &adder, std::promise<zb::Result<void>> done)
{
    Four sum = {};
    auto ended = co_await add_later(adder, {{2, 3, 4, 5}}, sum);
    if (ended) {
        print(sum);
    }
    done.set_value(std::move(ended));
}

static zb::Result<void> last(Adder &adder)
{
    std::promise<zb::Result<void>> done;
    auto future = done.get_future();
    await(adder, std::move(done));
    return future.get();
}
#else
// One that becomes a future.
static zb::Result<void> last(Adder &adder)
{
    Four sum = {};
    auto event = add_later(adder, {{2, 3, 4, 5}}, sum);
    auto future = event ? zb::to_future(*std::move(event)) : event.error();
    auto ended = future ? future->get() : future.error();
    if (ended) {
        print(sum);
    }
    return ended;
}
#endif

int main(int argc, char **argv)
{
    if (argc != 2) {
        std::fputs("usage: later add4.onnx|add4.tflite\n", stderr);
        return EXIT_FAILURE;
    }
    auto adder = make_adder(argv[1]);
    zb::Result<void> ended = adder ? zb::Result<void>() : adder.error();
    for (const auto step : {wait, call_back, last}) {
        if (ended) {
            ended = step(*adder);
        }
    }
    if (!ended) {
        std::fprintf(stderr, "%s\n", ended.error().text());
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
