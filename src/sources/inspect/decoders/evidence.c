/* Finds holders that no lock names, by searching the stacks of all threads. All of these holds are
 * likely at best, and include their evidence:
 *
 *   rwlock      held for reading by n threads: the threads that have its address on their stacks
 *               and do not wait for it, if there are exactly n. The search does not exclude
 * waiters, because a reader's stack need not contain the address of a variable once        the
 * thread that is inside pthread_once, with the address on its stack guard       the thread that is
 * inside the function whose static variable it is spin lock, lock of Rust: the thread that has its
 * address on its stack, if there is only one semaphore, any other word: no holder is known. A
 * thread that has its address may be the one to post it, or may wait for it later. That is
 * reported, and proves nothing
 */
#include "sources/inspect/decoders/decoder.h"
#include "sources/inspect/snapshot/stacks.h"

#include <string.h>

#define THREADS_MOST 4096 /* of a process; beyond that, stacks are not searched */
#define COPY_BYTES   (64u << 10)

enum { CANDIDATES_MOST = 64 };

/* ------------------------------------------------------------------ searching a stack */

/* Returns the first address above the stack pointer that contains this value, or 0. */
static uint64_t find_word(struct process_snapshot *snapshot, uint32_t thread, uint64_t value,
                          uint64_t *copy)
{
    const struct snapshot_thread *owner = snapshot_thread(snapshot, thread);
    struct target *target = snapshot_target(snapshot, owner->process);
    const struct target_mapping *mapping = target_mapping(target, owner->is.stack);
    uint64_t above = mapping ? mapping->high - owner->is.stack : 0;
    size_t size =
        target_read(target, owner->is.stack, copy, above < COPY_BYTES ? (size_t)above : COPY_BYTES);
    for (size_t i = 0; i < size / sizeof *copy; i++)
        if (copy[i] == value)
            return owner->is.stack + i * sizeof *copy;
    return 0;
}

/* Returns the number of the register with this value, or -1. */
static int find_register(const struct snapshot_thread *thread, uint64_t value)
{
    for (int i = 0; i < TARGET_REGISTERS; i++)
        if ((thread->is.register_mask >> i & 1) && thread->is.registers[i] == value)
            return i;
    return -1;
}

/* Returns evidence such as "its address is on the thread's stack, in the frame of transfer"; NULL:
 * none. */
static const char *has_address(struct process_snapshot *snapshot, uint32_t thread, uint64_t address,
                               uint64_t *copy)
{
    uint64_t place = find_word(snapshot, thread, address, copy);
    if (!place && find_register(snapshot_thread(snapshot, thread), address) >= 0)
        return "its address is in a register of the thread";
    if (!place)
        return NULL;
    const struct snapshot_stack *stack = stack_whole(snapshot, thread);
    for (size_t i = 0; i + 1 < stack->count; i++) {
        const char *name = stack_function(snapshot, thread, &stack->frames[i]);
        if (name && stack->frames[i].stack <= place && place < stack->frames[i + 1].stack)
            return snapshot_format(
                snapshot, "its address is on the thread's stack, in the frame of %s", name);
    }
    return "its address is on the thread's stack";
}

/* ------------------------------------------------------------------ readers and spin locks */

static bool waits_for(const struct process_snapshot *snapshot, uint32_t thread, uint32_t lock)
{
    const struct wait_for_edge *wait = snapshot_wait_of(snapshot, thread);
    return wait && wait->lock == lock;
}

/* Lists threads that have the address of the lock and do not wait for it. Returns how many there
 * are, even if they exceed CANDIDATES_MOST. */
static uint32_t list_candidates(struct process_snapshot *snapshot, uint32_t lock, uint32_t *found,
                                const char **evidence)
{
    uint32_t process = snapshot_lock(snapshot, lock)->process, count = 0;
    uint64_t address = snapshot_lock(snapshot, lock)->address;
    uint64_t *copy = memory_alloc(snapshot_memory(snapshot), COPY_BYTES);
    for (uint32_t i = SNAPSHOT_NONE; copy && snapshot_next_thread(snapshot, process, &i);) {
        bool still = snapshot_thread(snapshot, i)->sleeps || snapshot_thread(snapshot, i)->spins;
        const char *why =
            waits_for(snapshot, i, lock) || !still ? NULL : has_address(snapshot, i, address, copy);
        /* It may be in a register that only a stop shows. */
        if (!why && snapshot_thread(snapshot, i)->sleeps &&
            !snapshot_target(snapshot, process)->core)
            snapshot_want_registers(snapshot, i);
        if (why && count < CANDIDATES_MOST) {
            found[count] = i;
            evidence[count] = why;
        }
        count += why != NULL;
    }
    memory_free(snapshot_memory(snapshot), copy);
    return count;
}

/* Adds a hold for every thread that has the address, if there are as many as the lock has holders.
 */
static void find_all(struct process_snapshot *snapshot, uint32_t lock, uint32_t mode,
                     uint32_t holders)
{
    uint32_t found[CANDIDATES_MOST];
    const char *evidence[CANDIDATES_MOST];
    uint32_t count = list_candidates(snapshot, lock, found, evidence);
    if (count != holders || count > CANDIDATES_MOST)
        return;
    for (uint32_t i = 0; i < count; i++)
        snapshot_add_hold(snapshot, found[i], lock, mode, WORD_LIKELY, evidence[i]);
}

/* ------------------------------------------------------------------ initializers */

/* The holder is inside one of these functions further out, with the address on its stack. */
static void find_once_holder(struct process_snapshot *snapshot, uint32_t lock)
{
    static const char *const functions[] = {"pthread_once", "call_once", NULL};
    uint32_t process = snapshot_lock(snapshot, lock)->process;
    uint64_t *copy = memory_alloc(snapshot_memory(snapshot), COPY_BYTES);
    for (uint32_t i = SNAPSHOT_NONE; copy && snapshot_next_thread(snapshot, process, &i);) {
        const char *inside = stack_outer(snapshot, i, functions);
        if (inside && find_word(snapshot, i, snapshot_lock(snapshot, lock)->address, copy))
            snapshot_add_hold(
                snapshot, i, lock, INCIDENT_EXCLUSIVE, WORD_LIKELY,
                snapshot_format(snapshot, "%s, with its address on the stack", inside));
    }
    memory_free(snapshot_memory(snapshot), copy);
}

/* Returns the function that requested the guard, found in a thread that waits for it. */
static const char *guarded_function(struct process_snapshot *snapshot, uint32_t lock)
{
    uint32_t process = snapshot_lock(snapshot, lock)->process;
    for (uint32_t i = SNAPSHOT_NONE; snapshot_next_thread(snapshot, process, &i);) {
        if (!waits_for(snapshot, i, lock))
            continue;
        const struct snapshot_stack *stack = stack_whole(snapshot, i);
        for (size_t k = 0; k + 1 < stack->count; k++) {
            const char *name = stack_function(snapshot, i, &stack->frames[k]);
            if (name && strncmp(name, "cxa_guard_acquire", 17) == 0)
                return stack_function(snapshot, i, &stack->frames[k + 1]);
        }
    }
    return NULL;
}

/* The holder is inside that function, but not in a request for the guard. */
static void find_guard_holder(struct process_snapshot *snapshot, uint32_t lock)
{
    uint32_t process = snapshot_lock(snapshot, lock)->process;
    const char *function = guarded_function(snapshot, lock);
    for (uint32_t i = SNAPSHOT_NONE; function && snapshot_next_thread(snapshot, process, &i);) {
        const struct snapshot_stack *stack = stack_whole(snapshot, i);
        bool asks = false;
        for (size_t k = 0; k < stack->count; k++) {
            const char *name = stack_function(snapshot, i, &stack->frames[k]);
            if (name && strcmp(name, function) == 0 && !asks)
                snapshot_add_hold(snapshot, i, lock, INCIDENT_EXCLUSIVE, WORD_LIKELY,
                                  snapshot_format(snapshot,
                                                  "is inside %s, whose static variable it is",
                                                  function));
            asks = name && strncmp(name, "cxa_guard_acquire", 17) == 0;
        }
    }
}

/* ------------------------------------------------------------------ words without a holder */

enum { HINTS_MOST = 8, HINT_THREADS = 128, HINT_LOCKS = 32 };

/* Adds the hint to what is reported about each waiter of the lock. */
static void add_hint(struct process_snapshot *snapshot, uint32_t lock, const char *hint)
{
    uint32_t process = snapshot_lock(snapshot, lock)->process;
    for (uint32_t i = SNAPSHOT_NONE; snapshot_next_thread(snapshot, process, &i);) {
        const char *known = snapshot_thread(snapshot, i)->unknown;
        if (waits_for(snapshot, i, lock))
            snapshot_set_unknown(
                snapshot, i,
                snapshot_format(snapshot, "%s; %s",
                                known ? known : "waits for a semaphore to be posted", hint),
                false);
    }
}

/* Reads stacks without stopping any thread. */
static void find_wakers(struct process_snapshot *snapshot, uint32_t lock)
{
    uint32_t process = snapshot_lock(snapshot, lock)->process, count = 0;
    uint64_t address = snapshot_lock(snapshot, lock)->address;
    uint64_t *copy = memory_alloc(snapshot_memory(snapshot), COPY_BYTES);
    const char *hint = "";
    for (uint32_t i = SNAPSHOT_NONE;
         copy && count < HINTS_MOST && snapshot_next_thread(snapshot, process, &i);) {
        if (waits_for(snapshot, i, lock) ||
            (!find_word(snapshot, i, address, copy) &&
             find_register(snapshot_thread(snapshot, i), address) < 0))
            continue;
        snapshot_add_candidate(snapshot, i, lock,
                               snapshot_lock(snapshot, lock)->kind == INCIDENT_SEMAPHORE
                                   ? INCIDENT_UNIT
                                   : INCIDENT_SIGNAL,
                               "its address is on the thread's stack");
        hint = snapshot_format(snapshot, "%s%s%u", hint, count++ ? ", " : "",
                               snapshot_thread(snapshot, i)->is.seen_tid);
    }
    memory_free(snapshot_memory(snapshot), copy);
    if (count)
        add_hint(snapshot, lock,
                 snapshot_format(snapshot,
                                 "thread%s %s ha%s its address on the stack, and may end the wait",
                                 count == 1 ? "" : "s", hint, count == 1 ? "s" : "ve"));
}

/* ------------------------------------------------------------------ all locks */

static void find_holders(struct process_snapshot *snapshot, uint32_t lock, uint32_t threads)
{
    switch (snapshot_lock(snapshot, lock)->kind) {
    case INCIDENT_RWLOCK:
        if (snapshot_lock(snapshot, lock)->facts.units)
            find_all(snapshot, lock, INCIDENT_READ, snapshot_lock(snapshot, lock)->facts.units);
        break;
    case INCIDENT_SPIN:
    case INCIDENT_RUST:
        find_all(snapshot, lock, INCIDENT_EXCLUSIVE, 1);
        break;
    case INCIDENT_ONCE:
        find_once_holder(snapshot, lock);
        break;
    case INCIDENT_GUARD:
        find_guard_holder(snapshot, lock);
        break;
    case INCIDENT_SEMAPHORE:
    case INCIDENT_FUTEX:
        if (lock < HINT_LOCKS && threads <= HINT_THREADS)
            find_wakers(snapshot, lock);
        break;
    default:
        break;
    }
}

/* Used instead of a search: records for each waiter of the lock that its holder is unknown, so a
 * deadlock may go unnoticed. Signals have no holder, so their waiters are not marked. */
static void skip_search(struct process_snapshot *snapshot, uint32_t lock)
{
    uint32_t kind = snapshot_lock(snapshot, lock)->kind;
    if (kind != INCIDENT_RWLOCK && kind != INCIDENT_SPIN && kind != INCIDENT_RUST &&
        kind != INCIDENT_ONCE && kind != INCIDENT_GUARD)
        return;
    for (uint32_t i = 0; i < snapshot_thread_count(snapshot); i++)
        if (waits_for(snapshot, i, lock))
            snapshot_set_unknown(snapshot, i,
                                 "waits for a lock whose holder is unknown: the process "
                                 "has too many threads to search their stacks",
                                 true);
}

static void finish_evidence(struct process_snapshot *snapshot)
{
    size_t waited = snapshot_lock_count(snapshot);
    for (uint32_t i = 0; i < waited; i++) {
        uint32_t process = snapshot_lock(snapshot, i)->process;
        uint32_t threads =
            snapshot_first_thread(snapshot, process + 1) - snapshot_first_thread(snapshot, process);
        if (snapshot_is_held(snapshot, i))
            continue;
        if (threads <= THREADS_MOST)
            find_holders(snapshot, i, threads);
        else
            skip_search(snapshot, i);
    }
}

const struct decoder decoder_evidence = {.name = "evidence", .finish = finish_evidence};
