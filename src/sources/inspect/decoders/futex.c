/* Decodes futex words that belong to no known library: any thread may wake the waiter. For the
 * facilities of C++20, the functions on the stack, including inlined ones, name the facility. The
 * owner is not stored anywhere (evidence.c finds threads that have the address). */
#include "sources/inspect/decoders/decoder.h"
#include "sources/inspect/snapshot/stacks.h"

#include <string.h>

#define INLINED_MOST 16

static const struct facility {
    const char *function; /* part of its name */
    const char *sentence; /* "sleeps ..." */
} facilities[] = {
    {"counting_semaphore", "in a C++20 semaphore, which does not store its holders"},
    {"atomic_semaphore", "in a C++20 semaphore, which does not store its holders"},
    {"std::latch", "at a C++20 latch, which does not store which threads are missing"},
    {"tree_barrier", "at a C++20 barrier, which does not store which threads are missing"},
    {"std::barrier", "at a C++20 barrier, which does not store which threads are missing"},
    {"atomic_futex", "in a C++ future, which does not store which thread will set it"},
    {"std::future", "in a C++ future, which does not store which thread will set it"},
    {"std::atomic",
     "in std::atomic::wait, which does not store which thread will change the value"},
    {"__atomic_base",
     "in std::atomic::wait, which does not store which thread will change the value"},
    {"platform_wait",
     "in a semaphore, a latch, a barrier or std::atomic::wait of C++20, which do not "
     "store which thread must act"},
};

#define FACILITIES (sizeof facilities / sizeof *facilities)

/* Returns the first facility that the thread is inside; NULL: none, as far as symbols are known. */
static const char *find_facility(struct process_snapshot *snapshot, uint32_t thread)
{
    struct symbols *symbols =
        snapshot_symbols(snapshot, snapshot_thread(snapshot, thread)->process);
    const struct snapshot_stack *stack = stack_of(snapshot, thread, STACK_SHORT, false);
    const struct facility *best = facilities + FACILITIES;
    for (size_t i = 0; symbols && i < stack->count; i++) {
        struct frame frames[INLINED_MOST];
        size_t count = symbols_frames(symbols, stack->frames[i].counter, frames, INLINED_MOST);
        for (size_t k = 0; k < count; k++)
            for (const struct facility *it = facilities; frames[k].function && it < best; it++)
                if (strstr(frames[k].function, it->function))
                    best = it;
    }
    return best < facilities + FACILITIES ? best->sentence : NULL;
}

static bool explain_futex(struct process_snapshot *snapshot, uint32_t thread)
{
    const struct snapshot_thread *waiter = snapshot_thread(snapshot, thread);
    if (!waiter->sleeps || waiter->call.kind != CALL_FUTEX)
        return false;
    uint32_t lock =
        snapshot_add_lock(snapshot, waiter->process, waiter->call.address, INCIDENT_FUTEX);
    snapshot_add_wait(snapshot, thread, lock, INCIDENT_SIGNAL);
    const char *sentence = find_facility(snapshot, thread);
    snapshot_set_unknown(
        snapshot, thread,
        sentence
            ? snapshot_format(snapshot, "sleeps %s", sentence)
            : "sleeps on a futex that is not a glibc lock, and does not show which thread will "
              "wake it: start the program under 'gordian run', or install its symbols, to "
              "find out more",
        false);
    return true;
}

const struct decoder decoder_futex = {.name = "futex", .explain = explain_futex};
