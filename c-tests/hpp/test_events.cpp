// Events: waiting, callbacks, futures, descriptors, cancelling.
#include "hpp_test.hpp"
#include "tables.hpp"

#include <poll.h>
#include <unistd.h>

namespace {

using std::chrono::milliseconds;

// A queue that stands still, a context and its tensors.
struct Still {
    Steps steps;
    Sum sum;
    zb::Queue queue = take(zb::Queue::create_on(steps));

    zb::Event write() { return take(queue.write(sum.tensors[0], ones.v)); }
};

void waits_that_end_by_the_clock()
{
    Still still;
    const zb::Event event = still.write();
    const auto before = std::chrono::steady_clock::now();
    CHECK_RESULT(event.wait(milliseconds(20)), ZB_ERROR_TIMEOUT);
    CHECK_RESULT(event.wait_until(before + milliseconds(40)), ZB_ERROR_TIMEOUT);
    CHECK(std::chrono::steady_clock::now() - before >= milliseconds(40));
    CHECK_RESULT(event.wait_until(std::chrono::system_clock::now() - milliseconds(5)), ZB_ERROR_TIMEOUT);
    CHECK_RESULT(event.wait_until((std::chrono::steady_clock::time_point::min)()), ZB_ERROR_TIMEOUT);
    still.steps.run_all();
    CHECK_DONE(event.wait_until((std::chrono::steady_clock::time_point::max)()));
    CHECK_DONE(event.wait_until(std::chrono::steady_clock::now() - milliseconds(5)));
}

void a_callback_is_called_once()
{
    Still still;
    int calls = 0;
    zb_status seen = -1;
    zb::Event event = still.write();
    // it may own what cannot be copied, the event's own handle too
    auto callback = [own = std::make_unique<int>(1), &calls, &seen](zb_status result) {
        calls += *own;
        seen = result;
    };
    take(event.on_complete(std::move(callback)));
    // there is one for each event; a second is refused, and stays as it was
    auto other = [own = std::make_unique<int>(100), &calls](zb_status) { calls += *own; };
    CHECK_RESULT(event.on_complete(std::move(other)), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(calls, 0);
    other(ZB_OK);
    CHECK_EQ(calls, 100);
    calls = 0;
    event.reset();
    still.steps.run_all();
    CHECK_EQ(calls, 1);
    CHECK_STATUS(seen, ZB_OK);
    // set after the end, it is called in the call
    zb::Event settled = still.write();
    still.steps.run_all();
    take(settled.on_complete([&calls](zb_status) { calls++; }));
    CHECK_EQ(calls, 2);
}

void a_callback_is_destroyed_after_its_call()
{
    Still still;
    int made = 0, called = 0;
    zb::Event event = still.write();
    take(event.on_complete(Counted(&made, &called)));
    CHECK_EQ(made, 1);
    CHECK_RESULT(event.on_complete(Counted(&made, &called)), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(made, 1);
    CHECK_EQ(called, 0);
    still.steps.run_all();
    CHECK_EQ(made, 0);
    CHECK_EQ(called, 1);
}

// Everything goes inside: the event, the queue that settles it, the context and the tensors.
void a_callback_destroys_everything()
{
    Steps steps;
    auto sum = std::make_unique<Sum>();
    zb::Queue queue = take(zb::Queue::create_on(steps));
    zb::Event event = take(queue.infer(sum->context));
    const zb::Event waiting = take(queue.fence());
    zb::Event *const place = &event;
    int calls = 0;
    zb::Queue *const held = &queue;
    take(event.on_complete([&calls, place, held, all = std::move(sum)](zb_status result) mutable {
        CHECK_STATUS(result, ZB_OK);
        CHECK_FOUR(all->z, 11, 22, 33, 44);
        place->reset();
        held->reset();
        all.reset();
        calls++;
    }));
    steps.run_all();
    CHECK_EQ(calls, 1);
    CHECK(!event && !queue);
    CHECK_RESULT(waiting.wait(milliseconds(0)), ZB_ERROR_DESTROYED);
}

// Inside a callback waiting for the same queue is refused, and putting more into it is not.
void what_a_callback_may_do()
{
    Still still;
    zb::Event first = still.write();
    zb::Event second = still.write(), third;
    int calls = 0;
    take(first.on_complete([&](zb_status) {
        calls++;
        CHECK_RESULT(second.wait(), ZB_ERROR_BUSY);
        CHECK_RESULT(still.queue.finish(), ZB_ERROR_BUSY);
        third = still.write();
    }));
    still.steps.run_all();
    CHECK_EQ(calls, 1);
    CHECK_DONE(second.wait(milliseconds(0)));
    CHECK_DONE(third.wait(milliseconds(0)));
}

// What is cancelled never happens, and what reads from it is told.
void cancelled_before_it_starts()
{
    Still still;
    Four result;
    zb::Event write = still.write();
    const zb::Event run = take(still.queue.infer(still.sum.context)), read = take(still.queue.read(still.sum.tensors[2], result.v));
    zb_status seen = -1;
    take(write.on_complete([&seen](zb_status status) { seen = status; }));
    take(write.cancel());
    CHECK_STATUS(seen, ZB_ERROR_CANCELLED);
    const zb::Result<void> cancelled = write.wait(milliseconds(0));
    CHECK_RESULT(cancelled, ZB_ERROR_CANCELLED);
    CHECK(std::string(cancelled.error().text()) != "ZB_ERROR_CANCELLED");
    take(write.cancel());
    still.steps.run_all();
    CHECK_FOUR(still.sum.x, 1, 2, 3, 4);
    CHECK_RESULT(run.wait(), ZB_ERROR_DEPENDENCY);
    CHECK_RESULT(read.wait(), ZB_ERROR_DEPENDENCY);
    CHECK_FOUR(result, 0, 0, 0, 0);
    // the host makes up for it
    take(still.sum.tensors[0].sync_to_device());
    const zb::Event again = take(still.queue.infer(still.sum.context));
    still.steps.run_all();
    CHECK_DONE(again.wait());
}

// The text is the operation's, on whatever thread it is read.
void an_event_keeps_its_text()
{
    Still still;
    zb::Event event = take(still.queue.infer(still.sum.context, {std::chrono::nanoseconds(1)}));
    std::thread([&] { still.steps.run_all(); }).join();
    const zb::Result<void> first = event.wait();
    CHECK_RESULT(first, ZB_ERROR_DEADLINE_EXCEEDED);
    CHECK_RESULT(zb::Model::open("/nowhere"), ZB_ERROR_IO);
    const zb::Result<void> second = event.wait();
    CHECK(std::string(first.error().text()) == second.error().text());
}

void descriptors()
{
    Still still;
    const zb::Event event = still.write();
    pollfd polled = {take(event.fd()), POLLIN, 0};
    CHECK_EQ(poll(&polled, 1, 0), 0);
    still.steps.run_all();
    CHECK_EQ(poll(&polled, 1, 0), 1);
    CHECK((polled.revents & POLLIN) != 0);
    close(polled.fd);
}

void futures()
{
    Sum sum;
    zb::Queue queue = take(zb::Queue::create());
    std::future<zb::Result<void>> good = take(zb::to_future(take(queue.infer(sum.context))));
    CHECK_DONE(good.get());
    CHECK_FOUR(sum.z, 11, 22, 33, 44);
    // how it ended, with its text, though nobody else keeps the event
    std::future<zb::Result<void>> late =
        take(zb::to_future(take(queue.infer(sum.context, {std::chrono::nanoseconds(1)}))));
    const zb::Result<void> ended = late.get();
    CHECK_RESULT(ended, ZB_ERROR_DEADLINE_EXCEEDED);
    CHECK_SAYS(ended.error(), "deadline");
    take(queue.finish());
    // an event that has its callback already
    zb::Event taken = take(queue.fence());
    take(taken.on_complete([](zb_status) {}));
    CHECK_RESULT(zb::to_future(std::move(taken)), ZB_ERROR_INVALID_ARGUMENT);
    take(queue.finish());
}

// Any type with set_value will do.
struct Slate {
    zb_status *status;
    void set_value(const zb::Result<void> &result) { *status = result.status(); }
};

void promises_of_every_kind()
{
    Still still;
    zb_status status = -1;
    zb::Event event = still.write();
    take(std::move(event).fulfil(Slate{&status}));
    CHECK_STATUS(status, -1);
    still.steps.run_all();
    CHECK_STATUS(status, ZB_OK);
}

// Set and settled at the same moment, over and over: once each.
void callbacks_at_the_moment_of_the_end()
{
    Sum sum;
    zb::Queue queue = take(zb::Queue::create({1024}));
    std::atomic<int> calls{0};
    const int rounds = zt_rounds(500, 20);
    for (int i = 0; i < rounds; i++) {
        zb::Event event = take(queue.write(sum.tensors[0], ones.v));
        take(event.on_complete([&calls, own = std::make_unique<int>(i)](zb_status) { calls++; }));
    }
    while (calls != rounds) {
        std::this_thread::yield(); // callbacks may still be running when the events are settled
    }
    take(queue.finish());
}

} // namespace

const std::vector<zt_test> event_tests = {
    ON_BOTH(waits_that_end_by_the_clock),
    ON_BOTH(a_callback_is_called_once),
    ON_BOTH(a_callback_is_destroyed_after_its_call),
    ON_BOTH(a_callback_destroys_everything),
    ON_BOTH(what_a_callback_may_do),
    ON_BOTH(cancelled_before_it_starts),
    ON_BOTH(an_event_keeps_its_text),
    ON_BOTH(descriptors),
    ON_BOTH(futures),
    ON_BOTH(promises_of_every_kind),
    ON_BOTH(callbacks_at_the_moment_of_the_end),
};
