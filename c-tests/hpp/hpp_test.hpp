// What the tests of zerobind.hpp share: the C harness, and a little for results and memory.
#ifndef ZEROBIND_TESTS_HPP_TEST_HPP
#define ZEROBIND_TESTS_HPP_TEST_HPP

#include <zerobind.hpp>

extern "C" {
#include "../harness.h"
}

#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

// The status of a result.
#define CHECK_RESULT(result, expected) zt_check_status((result).status(), (expected), __FILE__, __LINE__, #result)
#define CHECK_DONE(result) CHECK_RESULT(result, ZB_OK)
// The text of an error contains `part`.
#define CHECK_SAYS(error, part) CHECK(std::string((error).text()).find(part) != std::string::npos)

// The value of a result that must have one.
template <class T>
T take(zb::Result<T> result)
{
    REQUIRE_OK(result.status());
    return std::move(*result);
}
inline void take(const zb::Result<void> &result) { REQUIRE_OK(result.status()); }

// Four floats as every engine wants them; engines may read on to the end of the struct.
struct alignas(64) Four {
    float v[4];
    float behind[12] = {};

    Four(float a = 0, float b = 0, float c = 0, float d = 0) noexcept : v{a, b, c, d} {}
};

#define CHECK_FOUR(actual, a, b, c, d) CHECK_FLOATS((actual).v, (Four{a, b, c, d}.v), 4, 0)

inline const Four ones{1, 1, 1, 1};

// A callable that is counted while it exists, and when it is called.
struct Counted {
    int *made;
    int *called;

    Counted(int *made_, int *called_) : made(made_), called(called_) { ++*made; }
    Counted(Counted &&other) noexcept : made(other.made), called(other.called) { ++*made; }
    ~Counted() { --*made; }
    template <class... Arguments>
    void operator()(Arguments...) const
    {
        ++*called;
    }
};

inline zb::Model open_model(const char *name)
{
    char *path = zt_model_path(name);
    zb::Model model = take(zb::Model::open(path));
    free(path);
    return model;
}

inline zb::Context make_context(const char *name, const zb::ContextOptions &options = {})
{
    // the model's own object goes here: contexts keep the model
    return take(zb::Context::create(open_model(name), options));
}

// An executor that keeps tasks until it is told to run one, and refuses on demand.
class Steps {
public:
    bool operator()(zb::Task task)
    {
        const std::lock_guard<std::mutex> guard(lock_);
        if (is_closed_) {
            return false;
        }
        tasks_.push_back(task);
        return true;
    }
    // Runs the oldest task, if there is one.
    bool step()
    {
        zb::Task task;
        {
            const std::lock_guard<std::mutex> guard(lock_);
            if (tasks_.empty()) {
                return false;
            }
            task = tasks_.front();
            tasks_.pop_front();
        }
        task();
        return true;
    }
    void run_all()
    {
        while (step()) {
        }
    }
    void close() { is_closed_ = true; }
    std::size_t count() const { return tasks_.size(); }

private:
    std::mutex lock_;
    std::deque<zb::Task> tasks_;
    bool is_closed_ = false;
};

// z = x + y, everything bound to memory of the host.
struct Sum {
    Four x{1, 2, 3, 4}, y{10, 20, 30, 40}, z;
    zb::Tensor tensors[3];
    zb::Context context;

    explicit Sum(const zb::ContextOptions &options = {}) : context(make_context("add4", options))
    {
        const zb::Slot slots[3] = {zb::input(0), zb::input(1), zb::output(0)};
        Four *memory[3] = {&x, &y, &z};
        for (std::size_t i = 0; i < 3; i++) {
            tensors[i] = take(zb::Tensor::wrap(memory[i]->v, {4}, sizeof(Four)));
            take(context.bind(slots[i], tensors[i]));
        }
    }
    Sum(const Sum &) = delete;
    Sum &operator=(const Sum &) = delete;
};

#endif
