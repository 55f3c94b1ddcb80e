/* Hangs of C++, and the same written right.
 *
 *     kinds_cxx NAME [good]
 *
 * Each hangs for sure: both threads have come to their first step before either takes its second.
 * Written right, each ends by itself and prints "done". */
#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstring>
#include <functional>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <thread>

static bool good; /* written right */
static std::atomic<int> come;

static void meet()
{
    if (good)
        return;
    come++;
    while (come < 2)
        std::this_thread::yield();
}

static void both(const std::function<void(int)> &act)
{
    std::thread one(act, 0), two(act, 1);
    one.join();
    two.join();
}

/* ------------------------------------------------------------------ static variables */

static int second_value();

static int make_first()
{
    meet();
    return second_value() + 1;
}

static int first_value()
{
    static int value = make_first();
    return value;
}

static int make_second()
{
    meet();
    return good ? 1 : first_value() + 1;
}

static int second_value()
{
    static int value = make_second();
    return value;
}

static void guard()
{
    both([](int side) { side == 0 ? first_value() : second_value(); });
}

/* ------------------------------------------------------------------ call_once */

static std::once_flag flags[2];

static void once()
{
    both([](int side) {
        int first = good ? 0 : side;
        std::call_once(flags[first], [first] {
            meet();
            std::call_once(flags[1 - first], [] {});
        });
    });
}

/* ------------------------------------------------------------------ C++20 */

static std::binary_semaphore units[2]{std::binary_semaphore{1}, std::binary_semaphore{1}};

static void semaphores()
{
    both([](int side) {
        int first = good ? 0 : side;
        units[first].acquire();
        meet();
        units[1 - first].acquire();
        units[1 - first].release();
        units[first].release();
    });
}

static void latch()
{
    std::latch all(good ? 2 : 3);
    both([&all](int) { all.arrive_and_wait(); });
}

static void barrier()
{
    std::barrier all(good ? 2 : 3);
    both([&all](int) { all.arrive_and_wait(); });
}

static std::atomic<int> words[2];

static void atomic_wait()
{
    both([](int side) {
        if (good) {
            words[side] = 1;
            words[side].notify_one();
        }
        words[1 - side].wait(0);
        words[side] = 1;
        words[side].notify_one();
    });
}

/* A task that waits for its own result. */
static void future()
{
    std::promise<int> promise;
    std::shared_future<int> result = promise.get_future().share();
    std::thread task([&] {
        if (good)
            promise.set_value(1);
        int value = result.get();
        if (!good)
            promise.set_value(value);
    });
    task.join();
}

/* ------------------------------------------------------------------ which */

static const struct {
    const char *name;
    void (*run)();
} kinds[] = {
    {"guard", guard},     {"once", once},          {"semaphore", semaphores}, {"latch", latch},
    {"barrier", barrier}, {"atomic", atomic_wait}, {"future", future},
};

int main(int argc, char **argv)
{
    good = argc > 2 && std::strcmp(argv[2], "good") == 0;
    for (const auto &kind : kinds)
        if (argc > 1 && std::strcmp(argv[1], kind.name) == 0) {
            kind.run();
            std::puts("done");
            return 0;
        }
    return 2;
}
