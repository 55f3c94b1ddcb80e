/* Chooses the advice of a report from what the threads hold and wait for. */
#include "output/report/report.h"

static const char order_advice[] =
    "    Take these locks in the same order everywhere, for instance by address or by a\n"
    "    rank; or lock the first, try the second, and release the first if that fails\n"
    "    (in C++: std::scoped_lock or std::lock takes both at once, safely).\n";
static const char self_advice[] =
    "    The thread already holds this lock. Unlock it before the call that locks again,\n"
    "    split that function into one that locks and one that expects the lock to be held,\n"
    "    or make the mutex recursive (PTHREAD_MUTEX_RECURSIVE, std::recursive_mutex).\n";
static const char upgrade_advice[] =
    "    A read lock cannot be upgraded to a write lock: the writer waits for all readers,\n"
    "    including itself. Lock for writing from the start, or unlock, lock for writing, and\n"
    "    check again what was read.\n";
static const char condition_advice[] =
    "    Waiting for a condition releases only the mutex that belongs to it. Release every\n"
    "    other lock first, or signal without needing a lock that the waiter keeps.\n";
static const char signal_advice[] =
    "    No thread is left that could signal the condition: signal it before the last thread\n"
    "    that can do so ends or waits, set the awaited state under the mutex, and check it\n"
    "    before waiting so that no signal is lost.\n";
static const char each_other_advice[] =
    "    Each thread waits for something that only another one of them can do: make space in\n"
    "    a full queue, or run a task that needs a free worker. Enlarge the queues or add a\n"
    "    reader that does not write, and let no task wait for another one of the same pool.\n";
static const char inherit_advice[] =
    "    Take these locks in the same order everywhere. The kernel has found the cycle of these\n"
    "    priority-inheritance mutexes (EDEADLK), and the C library then lets the thread that\n"
    "    closed it sleep forever. Error-checking mutexes return the error instead.\n";
static const char join_advice[] =
    "    Release what the other thread needs to end before joining it. A thread must not join\n"
    "    itself, and two threads must not join each other.\n";
static const char barrier_advice[] =
    "    A thread that the barrier needs cannot reach it: release the locks it needs before\n"
    "    waiting there, or create the barrier for the number of threads that really arrive.\n";
static const char semaphore_advice[] =
    "    Take units of several semaphores in the same order everywhere, and post the units\n"
    "    taken before waiting for more.\n";
static const char post_advice[] =
    "    No thread is left that could post the semaphore: post it before the last thread that\n"
    "    can do so ends or waits, and on every path, also after an error.\n";
static const char full_advice[] =
    "    Both sides write, and neither reads: read available data before writing more than the\n"
    "    buffer holds (64 KiB for a pipe), in a separate thread, with poll() on nonblocking\n"
    "    descriptors, or with communicate() of Python's subprocess.\n";
static const char stream_advice[] =
    "    Both sides read, and neither writes: define which side begins, flush what was written,\n"
    "    and close unused ends, in child processes as well (O_CLOEXEC), so that readers see the\n"
    "    end.\n";
static const char file_advice[] =
    "    Lock the files in the same order everywhere, or lock one file for all of them. With\n"
    "    LOCK_NB or F_SETLK a program can try, and release its locks if that fails.\n";
static const char child_advice[] =
    "    Release, read, or close what the child needs to end before waiting for it.\n";
static const char gil_advice[] =
    "    Release the interpreter lock around calls that may wait for a lock\n"
    "    (Py_BEGIN_ALLOW_THREADS; in ctypes CDLL instead of PyDLL), and do not call into Python\n"
    "    while holding a lock that other threads acquire under the interpreter lock.\n";
static const char guard_advice[] =
    "    An initialiser that runs once must neither use the object being initialised nor wait\n"
    "    for a thread that needs it: move that work out of the initialiser, or initialise in\n"
    "    a fixed order.\n";
static const char malloc_advice[] =
    "    A signal handler may call only async-signal-safe functions (see signal-safety(7)): no\n"
    "    malloc, no stdio. Set a flag, or write to a pipe or eventfd, and do the work outside.\n";
static const char gone_advice[] =
    "    The owner must unlock before it ends, on every path (also when it is cancelled:\n"
    "    pthread_cleanup_push). A robust mutex (PTHREAD_MUTEX_ROBUST) would return EOWNERDEAD\n"
    "    to the next thread instead of letting it wait forever.\n";
static const char message_advice[] =
    "    Define which rank sends and which receives first (MPI_Sendrecv, or MPI_Irecv before\n"
    "    sending), with the same tags and communicators on both sides, and as many receives as\n"
    "    sends. Do not rely on buffering: a send may wait for its receive.\n";
static const char collective_advice[] =
    "    All ranks of a communicator must call the same collectives in the same order, and\n"
    "    the collectives of several communicators in one common order.\n";
static const char left_advice[] =
    "    A rank must send and receive everything that others wait for before it ends.\n";
static const char stall_advice[] =
    "    The wait takes longer than --stall allows; whether it will end is not known. Find out\n"
    "    what the holder does meanwhile, and whether it needs the lock for that long.\n";

/* The waits of a witness as bits: one bit for each kind of lock, and these. */
#define WAITS(kind)      (UINT64_C(1) << INCIDENT_##kind)
#define WAITS_LOCK       (UINT64_C(1) << 40) /* a lock that one thread locks and unlocks */
#define WAITS_ITSELF     (UINT64_C(1) << 41) /* a lock that the thread already holds */
#define WAITS_UPGRADE    (UINT64_C(1) << 42) /* a lock that the thread holds for reading */
#define WAITS_FULL       (UINT64_C(1) << 43) /* space in a pipe or socket */
#define WAITS_CONDITIONS (UINT64_C(1) << 44) /* several conditions */
#define WAITS_INHERIT    (UINT64_C(1) << 45) /* a priority-inheritance mutex */
#define HELD_SEMAPHORE   (UINT64_C(1) << 46) /* the semaphore has a holder */

/* The first rule applies of which all bits of `all` are set and no bit of `none`. */
static const struct {
    uint64_t all, none;
    const char *advice;
} rules[] = {
    {WAITS(MESSAGE), 0, message_advice},
    {WAITS(COLLECTIVE), 0, collective_advice},
    {WAITS(GIL), 0, gil_advice},
    {WAITS(ONCE), 0, guard_advice},
    {WAITS(GUARD), 0, guard_advice},
    {WAITS(INTERNAL), 0, malloc_advice},
    {WAITS(CHILD), 0, child_advice},
    {WAITS(CONDITION) | WAITS_LOCK, 0, condition_advice},
    {WAITS_CONDITIONS, 0, each_other_advice},
    {WAITS(CONDITION), 0, signal_advice},
    {WAITS(BARRIER), 0, barrier_advice},
    {WAITS_UPGRADE, 0, upgrade_advice},
    {WAITS_ITSELF, 0, self_advice},
    {WAITS_FULL, 0, full_advice},
    {WAITS(PIPE), 0, stream_advice},
    {WAITS(SOCKET), 0, stream_advice},
    {WAITS(FILE_LOCK), 0, file_advice},
    {WAITS(SEMAPHORE), HELD_SEMAPHORE | WAITS_LOCK, post_advice},
    {WAITS_INHERIT, 0, inherit_advice},
    /* Joining comes last: main threads often join the deadlocked threads. */
    {WAITS(THREAD_END), 0, join_advice},
    {WAITS(SEMAPHORE), 0, semaphore_advice},
    {0, 0, order_advice},
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

/* Does a thread hold it, not only a thread that could release it? */
static bool is_held_by_thread(const struct report *report, uint32_t lock)
{
    for (size_t i = 0; i < report->edge_count; i++) {
        const struct incident_edge *edge = &report->edges[i].raw;
        if (!(edge->flags & (INCIDENT_WAITS | INCIDENT_COULD)) && edge->lock == lock)
            return true;
    }
    return false;
}

/* Returns the bits of a wait. `condition` receives the awaited condition. */
static uint64_t classify_wait(const struct report *report, const struct incident_edge *wait,
                              uint32_t *condition)
{
    const struct incident_lock *lock = &report->locks[wait->lock].raw;
    uint64_t bits = lock->kind < INCIDENT_LOCK_KINDS ? UINT64_C(1) << lock->kind : 0;
    switch (lock->kind) {
    case INCIDENT_CONDITION:
        if (*condition != INCIDENT_NONE && *condition != wait->lock)
            bits |= WAITS_CONDITIONS;
        *condition = wait->lock;
        return bits;
    case INCIDENT_SEMAPHORE:
        return bits | (is_held_by_thread(report, wait->lock) ? HELD_SEMAPHORE : 0);
    case INCIDENT_PIPE:
    case INCIDENT_SOCKET:
        return bits | (wait->mode == INCIDENT_EXCLUSIVE ? WAITS_FULL : 0);
    case INCIDENT_FILE_LOCK:
        return bits | WAITS_LOCK;
    case INCIDENT_THREAD_END:
    case INCIDENT_BARRIER:
    case INCIDENT_CHILD:
    case INCIDENT_GIL:
    case INCIDENT_ONCE:
    case INCIDENT_GUARD:
    case INCIDENT_INTERNAL:
    case INCIDENT_MESSAGE:
    case INCIDENT_COLLECTIVE:
        return bits;
    default:
        bits |= WAITS_LOCK | (lock->flags & INCIDENT_INHERIT ? WAITS_INHERIT : 0);
        if (thread_holds(report, wait->thread, wait->lock, INCIDENT_EXCLUSIVE))
            bits |= WAITS_ITSELF;
        if (thread_holds(report, wait->thread, wait->lock, INCIDENT_READ))
            bits |= WAITS_UPGRADE;
        return bits;
    }
}

const char *report_advice(const struct report *report)
{
    uint64_t bits = 0;
    uint32_t condition = INCIDENT_NONE;
    size_t rule = 0;
    if (report->head.kind == INCIDENT_POTENTIAL)
        return order_advice;
    if (report->head.kind == INCIDENT_STALL)
        return stall_advice;
    if (report->head.kind != INCIDENT_DEADLOCK && report->head.kind != INCIDENT_OWNER_GONE)
        return NULL;
    for (size_t i = 0; i < report->witness_count; i++)
        if (report->edges[i].raw.flags & INCIDENT_WAITS)
            bits |= classify_wait(report, &report->edges[i].raw, &condition);
    if (report->head.kind == INCIDENT_OWNER_GONE)
        return bits & (WAITS(MESSAGE) | WAITS(COLLECTIVE)) ? left_advice : gone_advice;
    while ((bits & rules[rule].all) != rules[rule].all || bits & rules[rule].none)
        rule++;
    return rules[rule].advice;
}
