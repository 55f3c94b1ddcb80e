// Hangs of what C++ has, up to C++20.
//
//     hang_cxx CASE [idle]        see hang.h
#include "hang.h"

#include <atomic>
#include <barrier>
#include <condition_variable>
#include <functional>
#include <future>
#include <latch>
#include <map>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <string>
#include <thread>

namespace
{

int come;
bool idle;

void hang(const std::function<void()> &one, const std::function<void()> &two)
{
    std::thread first([&] {
        thread_is("one");
        one();
    });
    std::thread second([&] {
        thread_is("two");
        two();
    });
    ready(3, 3);
    if (!idle)
        first.join();
    for (;;)
        pause();
}

template <typename Mutex> void abba()
{
    static Mutex a, b;
    lock_is("a", &a);
    lock_is("b", &b);
    auto take = [](Mutex &outer, Mutex &inner) {
        std::lock_guard<Mutex> hold(outer);
        meet(&come, 2);
        std::lock_guard<Mutex> want(inner);
    };
    hang([&] { take(a, b); }, [&] { take(b, a); });
}

// Both read one and want to write the other.
void read_write()
{
    static std::shared_mutex a, b;
    lock_is("a", &a);
    lock_is("b", &b);
    auto take = [](std::shared_mutex &outer, std::shared_mutex &inner) {
        std::shared_lock<std::shared_mutex> hold(outer);
        meet(&come, 2);
        std::unique_lock<std::shared_mutex> want(inner);
    };
    hang([&] { take(a, b); }, [&] { take(b, a); });
}

void condition_outer()
{
    static std::mutex a, b;
    static std::condition_variable condition;
    lock_is("a", &a);
    lock_is("condition", &condition);
    hang(
        [] {
            std::unique_lock<std::mutex> outer(a), inner(b);
            meet(&come, 2);
            condition.wait(inner, [] { return false; });
        },
        [] {
            meet(&come, 2);
            std::lock_guard<std::mutex> want(a);
            condition.notify_all();
        });
}

// A thread is joined under the lock that it wants.
void join_locked()
{
    static std::mutex a;
    static std::thread two;
    lock_is("a", &a);
    two = std::thread([] {
        thread_is("two");
        meet(&come, 2);
        std::lock_guard<std::mutex> want(a);
    });
    std::thread one([] {
        thread_is("one");
        std::lock_guard<std::mutex> hold(a);
        meet(&come, 2);
        two.join();
    });
    ready(3, 3);
    if (!idle)
        one.join();
    for (;;)
        pause();
}

void once()
{
    static std::once_flag a, b;
    lock_is("a", &a);
    lock_is("b", &b);
    auto take = [](std::once_flag &outer, std::once_flag &inner) {
        std::call_once(outer, [&] {
            meet(&come, 2);
            std::call_once(inner, [] {});
        });
    };
    hang([&] { take(a, b); }, [&] { take(b, a); });
}

struct maker {
    explicit maker(int (*inside)())
    {
        meet(&come, 2);
        inside();
    }
};

int make_first();
int make_second();

// Two variables that are initialised when first used, each from within the other.
int make_first()
{
    static maker first_variable(make_second);
    return sizeof first_variable;
}

int make_second()
{
    static maker second_variable(make_first);
    return sizeof second_variable;
}

void guard()
{
    hang([] { make_first(); }, [] { make_second(); });
}

std::mutex guarded;

int lock_inside()
{
    std::lock_guard<std::mutex> want(guarded);
    return 0;
}

int make_third()
{
    static maker third_variable(lock_inside);
    return sizeof third_variable;
}

// One initialises and wants the lock, two has the lock and wants what is being initialised.
void guard_mutex()
{
    lock_is("guarded", &guarded);
    hang([] { make_third(); },
         [] {
             std::lock_guard<std::mutex> hold(guarded);
             meet(&come, 2);
             make_third();
         });
}

int wait_inside()
{
    return pause();
}

int make_fourth()
{
    static maker fourth_variable(wait_inside);
    return sizeof fourth_variable;
}

// One initialises and waits for a signal, two wants what is being initialised: sound.
void guard_inside()
{
    hang([] { make_fourth(); },
         [] {
             meet(&come, 2);
             make_fourth();
         });
}

// Each waits for what the other would have promised.
void future()
{
    static std::promise<int> a, b;
    hang([] { a.set_value(b.get_future().get()); }, [] { b.set_value(a.get_future().get()); });
}

void semaphore()
{
    static std::binary_semaphore a{1}, b{1};
    lock_is("a", &a);
    lock_is("b", &b);
    auto take = [](std::binary_semaphore &outer, std::binary_semaphore &inner) {
        outer.acquire();
        meet(&come, 2);
        inner.acquire();
    };
    hang([&] { take(a, b); }, [&] { take(b, a); });
}

void latch()
{
    static std::latch all{3};
    hang([] { all.arrive_and_wait(); }, [] { all.arrive_and_wait(); });
}

void barrier()
{
    static std::barrier<> all{3};
    hang([] { all.arrive_and_wait(); }, [] { all.arrive_and_wait(); });
}

void atomic_wait()
{
    static std::atomic<int> a{0}, b{0};
    lock_is("a", &a);
    lock_is("b", &b);
    auto exchange = [](std::atomic<int> &from, std::atomic<int> &to) {
        from.wait(0);
        to = 1;
        to.notify_all();
    };
    hang([&] { exchange(a, b); }, [&] { exchange(b, a); });
}

const std::map<std::string, void (*)()> cases = {
    {"mutex", abba<std::mutex>},
    {"recursive", abba<std::recursive_mutex>},
    {"timed", abba<std::timed_mutex>},
    {"shared", abba<std::shared_mutex>},
    {"shared-read", read_write},
    {"condition-outer", condition_outer},
    {"join-locked", join_locked},
    {"once", once},
    {"guard", guard},
    {"guard-mutex", guard_mutex},
    {"guard-inside", guard_inside},
    {"future", future},
    {"semaphore", semaphore},
    {"latch", latch},
    {"barrier", barrier},
    {"atomic-wait", atomic_wait},
};

} // namespace

int main(int count, char **arguments)
{
    auto found = cases.find(count > 1 ? arguments[1] : "");
    idle = count > 2;
    if (found == cases.end())
        return 2;
    thread_is("main");
    found->second();
}
