/* What to do about it: by what the threads hold and wait for. */
#include "report/report.h"

static const char order_advice[] =
    "    Take these locks in the same order everywhere, for instance by address or by a\n"
    "    rank; or take the first, try the second, and give the first back if that fails\n"
    "    (in C++: std::scoped_lock or std::lock takes both at once, safely).\n";
static const char self_advice[] =
    "    The thread holds it already. Unlock it before the call that locks again, split that\n"
    "    function into one that locks and one that expects the lock held, or make the mutex\n"
    "    recursive (PTHREAD_MUTEX_RECURSIVE, std::recursive_mutex).\n";
static const char upgrade_advice[] =
    "    A lock held for reading cannot be turned into one for writing: the writer waits for\n"
    "    all readers, itself among them. Take it for writing from the start, or unlock, take\n"
    "    it for writing, and look again at what was read.\n";
static const char condition_advice[] =
    "    Waiting for a condition gives back only the mutex that goes with it. Give back every\n"
    "    other lock first, or signal without needing a lock that the waiter keeps.\n";
static const char signal_advice[] =
    "    Nobody is left who could signal the condition: signal it before the last thread that\n"
    "    can ends or waits, set what is waited for under the mutex, and check it before waiting\n"
    "    so that no signal is lost.\n";
static const char join_advice[] =
    "    Give back what the other thread needs in order to end before joining it; a thread\n"
    "    must not join itself, nor two threads each other.\n";
static const char barrier_advice[] =
    "    Somebody who should come to the barrier cannot: give back the locks it needs before\n"
    "    waiting there, or set the barrier up for as many threads as really come.\n";
static const char semaphore_advice[] =
    "    Take units of several semaphores in the same order everywhere, and post what was\n"
    "    taken before waiting for more.\n";
static const char gone_advice[] =
    "    The owner must unlock before it ends, on every path (also when it is cancelled:\n"
    "    pthread_cleanup_push). A robust mutex (PTHREAD_MUTEX_ROBUST) would give EOWNERDEAD\n"
    "    to the next one instead of leaving it waiting for ever.\n";
static const char stall_advice[] =
    "    This is no deadlock: somebody who runs can still give it back. Look at what the\n"
    "    holder does meanwhile, and whether it needs the lock for so long.\n";

struct sort {
    bool self, upgrade, condition, nobody_signals, join, barrier, semaphore;
};

static bool thread_holds(const struct report *report, uint32_t thread, uint32_t lock, unsigned mode)
{
    for (size_t i = 0; i < report->edge_count; i++) {
        const struct incident_edge *edge = &report->edges[i].raw;
        if (!(edge->flags & INCIDENT_WAITS) && edge->thread == thread && edge->lock == lock &&
            edge->mode == mode)
            return true;
    }
    return false;
}

static bool somebody_gives(const struct report *report, uint32_t lock)
{
    for (size_t i = 0; i < report->edge_count; i++) {
        const struct incident_edge *edge = &report->edges[i].raw;
        if (!(edge->flags & INCIDENT_WAITS) && edge->lock == lock)
            return true;
    }
    return false;
}

static void sort_wait(const struct report *report, const struct incident_edge *wait,
                      struct sort *sort)
{
    switch (report->locks[wait->lock].raw.kind) {
    case INCIDENT_CONDITION:
        sort->condition = true;
        sort->nobody_signals = sort->nobody_signals || !somebody_gives(report, wait->lock);
        break;
    case INCIDENT_THREAD_END:
        sort->join = true;
        break;
    case INCIDENT_BARRIER:
        sort->barrier = true;
        break;
    case INCIDENT_SEMAPHORE:
        sort->semaphore = true;
        break;
    default:
        sort->self =
            sort->self || thread_holds(report, wait->thread, wait->lock, INCIDENT_EXCLUSIVE);
        sort->upgrade =
            sort->upgrade || thread_holds(report, wait->thread, wait->lock, INCIDENT_READ);
    }
}

const char *report_advice(const struct report *report)
{
    struct sort sort = {0};
    if (report->head.kind == INCIDENT_POTENTIAL)
        return order_advice;
    if (report->head.kind == INCIDENT_OWNER_GONE)
        return gone_advice;
    if (report->head.kind == INCIDENT_STALL)
        return stall_advice;
    if (report->head.kind != INCIDENT_DEADLOCK)
        return NULL;
    for (size_t i = 0; i < report->witness_count; i++)
        if (report->edges[i].raw.flags & INCIDENT_WAITS)
            sort_wait(report, &report->edges[i].raw, &sort);
    /* What a main thread that joins the others has to do with it comes last. */
    return sort.condition   ? (sort.nobody_signals ? signal_advice : condition_advice)
           : sort.barrier   ? barrier_advice
           : sort.upgrade   ? upgrade_advice
           : sort.self      ? self_advice
           : sort.join      ? join_advice
           : sort.semaphore ? semaphore_advice
                            : order_advice;
}
