// The hangs that C++'s threads have, and the same programs written right.
//
//     hangs_cpp NAME [good]
#include "settle.h"
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <thread>

static bool good;
static std::mutex a, b;

static void meet()
{
    wait_until_all_sleep();
}

static void both(void (*one)(), void (*two)())
{
    std::thread first(one), second(two);
    first.join();
    second.join();
}

static void mutex_one()
{
    std::lock_guard<std::mutex> outer(a);
    meet();
    std::lock_guard<std::mutex> inner(b);
}

static void mutex_two()
{
    std::lock_guard<std::mutex> outer(good ? a : b);
    meet();
    std::lock_guard<std::mutex> inner(good ? b : a);
}

static void mutex_abba()
{
    both(mutex_one, mutex_two);
}

static std::condition_variable condition;
static bool ready;

static void condition_waiter()
{
    std::unique_lock<std::mutex> outer(a, std::defer_lock);
    if (!good)
        outer.lock();
    std::unique_lock<std::mutex> inner(b);
    condition.wait(inner, [] { return ready; });
}

static void condition_signaller()
{
    meet();
    std::lock_guard<std::mutex> outer(a);
    std::lock_guard<std::mutex> inner(b);
    ready = true;
    condition.notify_one();
}

static void condition_outer()
{
    both(condition_waiter, condition_signaller);
}

static void join_child()
{
    meet();
    std::lock_guard<std::mutex> lock(a);
}

static void join_locked()
{
    std::unique_lock<std::mutex> lock(a);
    std::thread child(join_child);
    if (good)
        lock.unlock();
    child.join();
}

static std::shared_mutex table;

static void rwlock_upgrade()
{
    std::shared_lock<std::shared_mutex> reading(table);
    if (good)
        reading.unlock();
    std::unique_lock<std::shared_mutex> writing(table);
}

static void self_relock()
{
    std::unique_lock<std::mutex> lock(a);
    if (good)
        lock.unlock();
    std::unique_lock<std::mutex> again(a);
}

static void owner()
{
    a.lock();
    if (good)
        a.unlock();
}

static void owner_gone()
{
    std::thread(owner).join();
    std::lock_guard<std::mutex> lock(a);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)();
    } hangs[] = {
        {"mutex-abba", mutex_abba},   {"condition-outer", condition_outer},
        {"join-locked", join_locked}, {"rwlock-upgrade", rwlock_upgrade},
        {"self-relock", self_relock}, {"owner-gone", owner_gone},
    };
    good = count > 2 && std::strcmp(arguments[2], "good") == 0;
    for (const auto &hang : hangs)
        if (count > 1 && std::strcmp(arguments[1], hang.name) == 0) {
            hang.run();
            std::puts("done");
            return 0;
        }
    for (const auto &hang : hangs)
        std::puts(hang.name);
    return 2;
}
