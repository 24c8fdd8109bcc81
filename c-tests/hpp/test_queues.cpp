// Queues: writes, runs and reads in order, on a thread of the queue's own and on an executor.
#include "hpp_test.hpp"
#include "tables.hpp"

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

void write_infer_read()
{
    Sum sum;
    zb::Queue queue = take(zb::Queue::create());
    Four result;
    take(queue.post_write(sum.tensors[0], ones.v));
    take(queue.post_write(sum.tensors[1], zb::Span<const float>(ones.v, 2), 8));
    take(queue.post_infer(sum.context));
    const zb::Event read = take(queue.read(sum.tensors[2], result.v));
    take(read.wait());
    CHECK_FOUR(result, 11, 21, 2, 2);
    const zb::Event run = take(queue.infer(sum.context));
    take(run.wait(milliseconds(60000)));
    CHECK(run.is_settled());
    CHECK(take(run.slot_desc(zb::output(0))).desc == zb::DescOf<float>({4}));
    CHECK_RESULT(read.slot_desc(zb::output(0)), ZB_ERROR_UNBOUND);
    take(take(queue.write(sum.tensors[0], ones.v)).wait());
    take(sum.tensors[0].sync_to_host());
    CHECK_FOUR(sum.x, 1, 1, 1, 1);
    take(sum.tensors[0].sync_to_device(milliseconds(60000)));
    take(queue.finish());
    take(take(queue.fence()).wait());
    CHECK_RESULT(queue.write(sum.tensors[0], ones.v, 4), ZB_ERROR_INVALID_ARGUMENT);
    CHECK_RESULT(sum.context.infer(), ZB_OK);
}

void other_tensors_for_one_run()
{
    Sum sum;
    zb::Queue queue = take(zb::Queue::create({8}));
    Four y{5, 5, 5, 5}, z;
    const zb::Tensor other = take(zb::Tensor::wrap(y.v, {4}, sizeof y));
    const zb::Tensor place = take(zb::Tensor::wrap(z.v, {4}, sizeof z));
    take(take(queue.infer_with(sum.context, {zb::at(zb::input(1), other), zb::at(zb::output(0), place)})).wait());
    CHECK_FOUR(z, 6, 7, 8, 9);
    CHECK_FOUR(sum.z, 0, 0, 0, 0);
    const std::vector<zb_slot_tensor> chosen = {zb::at(zb::input(0), other), zb::at(zb::output(0), place)};
    take(queue.post_infer_with(sum.context, chosen.data(), chosen.size()));
    take(queue.finish());
    CHECK_FOUR(z, 15, 25, 35, 45);
    take(queue.post_infer_with(sum.context, {zb::at(zb::input(1), other)}));
    take(take(queue.infer_with(sum.context, chosen.data(), chosen.size(), {milliseconds(60000)})).wait());
    CHECK_FOUR(sum.z, 6, 7, 8, 9);
    CHECK_RESULT(queue.infer_with(sum.context, {zb::at(zb::input(1), zb::Tensor())}), ZB_ERROR_NULL_ARGUMENT);
}

// A state that goes round: what is put into the queue keeps the bindings that it found.
void state_goes_round_on_a_queue()
{
    zb::Context context = make_context("recurrent");
    zb::Queue queue = take(zb::Queue::create());
    Four x{1, 1, 1, 1}, y[3], a, b;
    take(context.bind(zb::input(0), take(zb::Tensor::wrap(x.v, {4}, sizeof x))));
    take(context.bind(zb::input(1), take(zb::Tensor::wrap(a.v, {4}, sizeof a))));
    take(context.bind(zb::output(1), take(zb::Tensor::wrap(b.v, {4}, sizeof b))));
    for (Four &answer : y) {
        take(context.bind(zb::output(0), take(zb::Tensor::wrap(answer.v, {4}, sizeof answer))));
        take(queue.post_infer(context));
        take(context.swap(zb::output(1), zb::input(1)));
    }
    take(queue.finish());
    CHECK_FOUR(y[0], 1, 1, 1, 1);
    CHECK_FOUR(y[1], 3, 3, 3, 3);
    CHECK_FOUR(y[2], 4, 4, 4, 4);
}

// On an executor nothing happens by itself, so every order can be seen.
void one_step_at_a_time()
{
    Steps steps;
    Sum sum;
    zb::Queue queue = take(zb::Queue::create_on(steps));
    Four result;
    const zb::Event write = take(queue.write(sum.tensors[0], ones.v));
    const zb::Event run = take(queue.infer(sum.context));
    const zb::Event read = take(queue.read(sum.tensors[2], result.v));
    const zb::Event fence = take(queue.fence());
    CHECK_EQ(steps.count(), 1);
    CHECK_RESULT(sum.context.infer(), ZB_ERROR_BUSY);
    CHECK_RESULT(queue.finish(milliseconds(0)), ZB_ERROR_TIMEOUT);
    CHECK_RESULT(sum.tensors[0].sync_to_host(milliseconds(1)), ZB_ERROR_TIMEOUT);
    const zb::Event *const events[4] = {&write, &run, &read, &fence};
    for (const zb::Event *event : events) {
        CHECK(!event->is_settled());
        CHECK_RESULT(event->wait(milliseconds(0)), ZB_ERROR_TIMEOUT);
        CHECK(steps.step());
        CHECK_DONE(event->wait(milliseconds(0)));
    }
    CHECK(!steps.step());
    CHECK_FOUR(result, 11, 21, 31, 41);
    CHECK_DONE(queue.finish(milliseconds(0)));
}

void queues_wait_for_each_other()
{
    Steps first, second;
    Sum sum;
    zb::Queue a = take(zb::Queue::create_on(first)), b = take(zb::Queue::create_on(second));
    const zb::Tensor other = take(zb::Tensor::alloc<float>({4}));
    // of the same tensor: the order of the calls
    const zb::Event write = take(a.write(sum.tensors[0], ones.v)), run = take(b.infer(sum.context));
    second.run_all();
    CHECK(!run.is_settled());
    first.run_all();
    second.run_all();
    CHECK_DONE(run.wait(milliseconds(0)));
    CHECK_FOUR(sum.z, 11, 21, 31, 41);
    // of others: any order, unless an event is waited for
    const zb::Event later = take(a.write(sum.tensors[0], ones.v)), independent = take(b.write(other, ones.v));
    second.run_all();
    CHECK(independent.is_settled() && !later.is_settled());
    take(b.wait_event(later));
    const zb::Event after = take(b.write(other, ones.v));
    second.run_all();
    CHECK(!after.is_settled());
    first.run_all();
    second.run_all();
    CHECK(after.is_settled());
}

void a_full_queue()
{
    Steps steps;
    Sum sum;
    zb::QueueOptions options;
    options.capacity = 2;
    zb::Queue queue = take(zb::Queue::create_on(steps, options));
    take(queue.post_write(sum.tensors[0], ones.v));
    take(queue.post_write(sum.tensors[0], ones.v));
    CHECK_RESULT(queue.write(sum.tensors[0], ones.v), ZB_ERROR_QUEUE_FULL);
    CHECK_RESULT(queue.fence(), ZB_ERROR_QUEUE_FULL);
    steps.step();
    CHECK_DONE(queue.post_infer(sum.context, {milliseconds(60000)}));
    steps.run_all();
}

// Deadlines count from the call; that of nothing left has passed already.
void deadlines_in_line()
{
    Steps steps;
    Sum sum;
    zb::Queue queue = take(zb::Queue::create_on(steps));
    const zb::Event late = take(queue.infer(sum.context, {nanoseconds(-1)}));
    steps.run_all();
    const zb::Result<void> ended = late.wait();
    CHECK_RESULT(ended, ZB_ERROR_DEADLINE_EXCEEDED);
    CHECK(std::string(ended.error().text()) != ended.error().name());
    CHECK_FOUR(sum.z, 0, 0, 0, 0);
}

void an_executor_that_refuses()
{
    Steps steps;
    Sum sum;
    zb::Queue queue = take(zb::Queue::create_on(steps));
    const zb::Event write = take(queue.write(sum.tensors[0], ones.v)), run = take(queue.infer(sum.context));
    steps.close();
    steps.run_all();
    CHECK_DONE(write.wait(milliseconds(0)));
    CHECK_RESULT(run.wait(milliseconds(0)), ZB_ERROR_CANCELLED);
    CHECK_RESULT(queue.fence(), ZB_ERROR_BUSY);
}

// A callable without an answer takes every task; this one runs it at once.
void an_executor_that_runs_at_once()
{
    const auto at_once = [](zb::Task task) { task(); };
    Sum sum;
    zb::Queue queue = take(zb::Queue::create_on(at_once));
    take(queue.post_infer(sum.context));
    CHECK_FOUR(sum.z, 11, 22, 33, 44);
}

// Destroying a queue settles what waits; a task that is left in the executor does nothing, and may be thrown away.
void an_executor_outlives_its_queue()
{
    Steps steps;
    Sum sum;
    zb::Queue queue = take(zb::Queue::create_on(steps));
    const zb::Event write = take(queue.write(sum.tensors[0], ones.v)), run = take(queue.infer(sum.context));
    queue.reset();
    CHECK_RESULT(write.wait(milliseconds(0)), ZB_ERROR_DESTROYED);
    CHECK_RESULT(run.wait(milliseconds(0)), ZB_ERROR_DESTROYED);
    CHECK_EQ(steps.count(), 1);
    steps.run_all();
    CHECK_FOUR(sum.x, 1, 2, 3, 4);
    CHECK_FOUR(sum.z, 0, 0, 0, 0);
    CHECK_DONE(sum.context.infer());
}

// A read does not keep its tensor; a write does, to its end.
void what_holds_a_tensor()
{
    Steps steps;
    zb::Queue queue = take(zb::Queue::create_on(steps));
    Four x, result;
    int releases = 0;
    zb::Tensor tensor = take(zb::Tensor::wrap(x.v, {4}, [&releases] { releases++; }));
    const zb::Event write = take(queue.write(tensor, ones.v)), read = take(queue.read(tensor, result.v));
    tensor.reset();
    CHECK_RESULT(read.wait(milliseconds(0)), ZB_ERROR_DESTROYED);
    CHECK_EQ(releases, 0);
    steps.run_all();
    CHECK_DONE(write.wait(milliseconds(0)));
    CHECK_EQ(releases, 1);
    CHECK_FOUR(x, 1, 1, 1, 1);
    CHECK_FOUR(result, 0, 0, 0, 0);
}

void shapes_of_queued_runs()
{
    zb::Context context = make_context("batch");
    zb::Queue queue = take(zb::Queue::create());
    const zb::Tensor x = take(zb::Tensor::alloc<float>({3, 4})), y = take(zb::Tensor::alloc<float>({3, 4}));
    take(context.bind(zb::input(0), x));
    take(context.bind(zb::output(0), y));
    const zb::Event run = take(queue.infer(context));
    take(run.wait());
    const zb::SlotDesc left = take(run.slot_desc(zb::output(0)));
    CHECK(left.desc == zb::DescOf<float>({3, 4}));
    CHECK_EQ(left.size_bytes, 48);
    CHECK_EQ(take(context.output_view<float>(zb::output(0))).size(), 12);
}

// Several threads put work into one queue; the memory of each holds its own last write.
void many_threads_use_one_queue()
{
    zb::Queue queue = take(zb::Queue::create({1024}));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++) {
        threads.emplace_back([&queue, t] {
            Four memory, result;
            const zb::Tensor tensor = take(zb::Tensor::wrap(memory.v, {4}));
            for (int i = 0; i < zt_rounds(50, 5); i++) {
                const float value = static_cast<float>(100 * t + i);
                const Four values{value, value, value, value};
                take(queue.post_write(tensor, values.v));
                take(take(queue.read(tensor, result.v)).wait());
                CHECK_FOUR(result, value, value, value, value);
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

} // namespace

const std::vector<zt_test> queue_tests = {
    ON_BOTH(write_infer_read),
    ON_BOTH(other_tensors_for_one_run),
    ON_BOTH(state_goes_round_on_a_queue),
    ON_BOTH(one_step_at_a_time),
    ON_BOTH(queues_wait_for_each_other),
    ON_BOTH(a_full_queue),
    ON_BOTH(deadlines_in_line),
    ON_BOTH(an_executor_that_refuses),
    ON_BOTH(an_executor_that_runs_at_once),
    ON_BOTH(an_executor_outlives_its_queue),
    ON_BOTH(what_holds_a_tensor),
    ON_BOTH(shapes_of_queued_runs),
    ON_BOTH(many_threads_use_one_queue),
};
