// co_await on events, where the compiler has coroutines.
#include "hpp_test.hpp"
#include "tables.hpp"

#if ZB_HAS_COROUTINES

namespace {

using std::chrono::milliseconds;

// The smallest coroutine: it starts at once, and frees itself at its end.
struct Detached {
    struct promise_type {
        Detached get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
};

Detached add_later(zb::Queue &queue, Sum &sum, float *result, std::atomic<int> &stage)
{
    stage = 1;
    const zb::Result<void> written = co_await queue.write(sum.tensors[0], ones.v);
    CHECK_DONE(written);
    stage = 2;
    zb::Event run = take(queue.infer(sum.context));
    CHECK_DONE(co_await run);
    CHECK(run.is_settled());
    stage = 3;
    CHECK_DONE(co_await take(queue.read(sum.tensors[2], zb::Span<float>(result, 4))));
    stage = 4;
}

void step_by_step()
{
    Steps steps;
    Sum sum;
    zb::Queue queue = take(zb::Queue::create_on(steps));
    Four result;
    std::atomic<int> stage{0};
    add_later(queue, sum, result.v, stage);
    CHECK_EQ(stage.load(), 1);
    for (int next = 2; next <= 4; next++) {
        CHECK(steps.step());
        CHECK_EQ(stage.load(), next);
    }
    CHECK_FOUR(result, 11, 21, 31, 41);
}

// On a thread of the queue's own the end comes at any moment: before, inside and after the call that asks for it.
void on_a_thread()
{
    zb::Queue queue = take(zb::Queue::create());
    for (int i = 0; i < zt_rounds(200, 10); i++) {
        Sum sum;
        Four result;
        std::atomic<int> stage{0};
        add_later(queue, sum, result.v, stage);
        while (stage != 4) {
            std::this_thread::yield();
        }
        take(queue.finish());
        CHECK_FOUR(result, 11, 21, 31, 41);
    }
}

Detached wait_for(zb::Result<zb::Event> event, zb_status &status, std::string &text)
{
    const zb::Result<void> ended = co_await std::move(event);
    text = ended.error().text();
    status = ended.status();
}

void ends_that_are_errors()
{
    Steps steps;
    Sum sum;
    zb_status status = -1;
    std::string text;
    zb::Queue queue = take(zb::Queue::create_on(steps));
    // cancelled while the coroutine waits
    zb::Event write = take(queue.write(sum.tensors[0], ones.v));
    zb::Event run = take(queue.infer(sum.context));
    wait_for(std::move(run), status, text);
    CHECK_STATUS(status, -1);
    take(write.cancel());
    steps.run_all();
    CHECK_STATUS(status, ZB_ERROR_DEPENDENCY);
    // refused from the start: it never waits
    status = -1;
    wait_for(queue.write(sum.tensors[0], ones.v, 4), status, text);
    CHECK_STATUS(status, ZB_ERROR_INVALID_ARGUMENT);
    CHECK(text != "ZB_ERROR_INVALID_ARGUMENT");
    // over already: it never waits either
    zb::Event fence = take(queue.fence());
    steps.run_all();
    wait_for(std::move(fence), status, text);
    CHECK_STATUS(status, ZB_OK);
    // an event that has its callback already, and no event at all
    zb::Event taken = take(queue.fence());
    take(taken.on_complete([](zb_status) {}));
    wait_for(std::move(taken), status, text);
    CHECK_STATUS(status, ZB_ERROR_INVALID_ARGUMENT);
    wait_for(zb::Event(), status, text);
    CHECK_STATUS(status, ZB_ERROR_NULL_ARGUMENT);
    steps.run_all();
}

Detached wait_beside(zb::Event &event, zb_status &status, std::string &text)
{
    const zb::Result<void> ended = co_await event;
    text = ended.error().text();
    status = ended.status();
}

// The object may go while the coroutine waits: how the operation ended is told all the same.
void an_event_goes_while_it_is_awaited()
{
    Steps steps;
    Sum sum;
    zb_status status = -1;
    std::string text;
    zb::Queue queue = take(zb::Queue::create_on(steps));
    zb::Event event = take(queue.write(sum.tensors[0], ones.v));
    wait_beside(event, status, text);
    event.reset();
    CHECK_STATUS(status, -1);
    steps.run_all();
    CHECK_STATUS(status, ZB_OK);
    // an operation that fails, after one that is cancelled
    status = -1;
    zb::Event write = take(queue.write(sum.tensors[0], ones.v));
    event = take(queue.infer(sum.context));
    wait_beside(event, status, text);
    event.reset();
    take(write.cancel());
    steps.run_all();
    CHECK_STATUS(status, ZB_ERROR_DEPENDENCY);
    CHECK(text == "ZB_ERROR_DEPENDENCY");
    // over before it is awaited: with its text
    write = take(queue.write(sum.tensors[0], ones.v));
    event = take(queue.infer(sum.context));
    take(write.cancel());
    steps.run_all();
    wait_beside(event, status, text);
    CHECK_STATUS(status, ZB_ERROR_DEPENDENCY);
    CHECK(text != "ZB_ERROR_DEPENDENCY");
}

Detached count_to(zb::Queue &queue, int rounds, int &count)
{
    for (count = 0; count < rounds; count++) {
        CHECK_DONE(co_await queue.fence());
    }
}

// An executor that runs tasks at once settles every event before it is awaited, or inside the call: the stack must not grow.
void many_in_a_row()
{
    const auto at_once = [](zb::Task task) { task(); };
    int count = -1;
    const int rounds = zt_rounds(20000, 200);
    zb::Queue queue = take(zb::Queue::create_on(at_once));
    count_to(queue, rounds, count);
    CHECK_EQ(count, rounds);
}

} // namespace

const std::vector<zt_test> coroutine_tests = {
    ON_BOTH(step_by_step),
    ON_BOTH(on_a_thread),
    ON_BOTH(ends_that_are_errors),
    ON_BOTH(an_event_goes_while_it_is_awaited),
    ON_BOTH(many_in_a_row),
};

#else
const std::vector<zt_test> coroutine_tests;
#endif
