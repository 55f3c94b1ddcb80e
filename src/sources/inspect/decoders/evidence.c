/* Holders that no lock names, found by what threads have on their stacks. All of it is likely at
 * best, and says why:
 *
 *   rwlock    held for reading by n: the threads, other than those who wait for it, that have its
 *             address on their stacks, if they are exactly n. That nobody else has it says nothing
 *             about those who wait: a reader's stack need not have the address of a variable
 *   once      the thread that is inside pthread_once further out, with the address on its stack
 *   guard     the thread that is inside the function whose static variable it is
 *   spin lock, lock of Rust: the thread that has its address on its stack, if it is the only one
 *   semaphore, any other word: nobody holds it, as far as is known. Who has its address may be who
 *             is to post it, or may wait for its own turn to: that is told, and proves nothing
 */
#include "sources/inspect/decoders/decoder.h"
#include "sources/inspect/snapshot/stacks.h"

#include <string.h>

#define THREADS_MOST 4096 /* of a process whose stacks are searched */
#define COPY_BYTES   (64u << 10)

enum { CANDIDATES_MOST = 64 };

/* ------------------------------------------------------------------ searching a stack */

/* The first place above the stack pointer that has this value, or 0. */
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

/* In which register, or -1. */
static int find_register(const struct snapshot_thread *thread, uint64_t value)
{
    for (int i = 0; i < TARGET_REGISTERS; i++)
        if ((thread->is.register_mask >> i & 1) && thread->is.registers[i] == value)
            return i;
    return -1;
}

/* "its address is on the stack, in transfer"; NULL: it is not. */
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

/* Threads that have the address without waiting for the lock: how many, the first `room` listed. */
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
        /* It may be in one of those that only a stop tells. */
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

/* All holders, if as many threads have the address as there must be holders. */
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

/* ------------------------------------------------------------------ initialisers */

/* Is the thread inside one of these functions, further out than where it sleeps, with the address
 * there on its stack? */
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

/* The function that asked for the guard, in a thread that waits for it. */
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

/* Whoever is inside that function, not asking for the guard at this moment. */
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

/* ------------------------------------------------------------------ what nobody holds */

enum { HINTS_MOST = 8, HINT_THREADS = 128, HINT_LOCKS = 32 };

/* What those who wait for it are to be told, too. */
static void add_hint(struct process_snapshot *snapshot, uint32_t lock, const char *hint)
{
    uint32_t process = snapshot_lock(snapshot, lock)->process;
    for (uint32_t i = SNAPSHOT_NONE; snapshot_next_thread(snapshot, process, &i);) {
        const char *known = snapshot_thread(snapshot, i)->unknown;
        if (waits_for(snapshot, i, lock))
            snapshot_set_unknown(
                snapshot, i,
                snapshot_format(snapshot, "%s; %s",
                                known ? known : "waits for somebody to post a semaphore", hint),
                false);
    }
}

/* Stacks are read as they are: nobody is stopped for a hint. */
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
                                 "thread%s %s ha%s its address on the stack, and may be who is to",
                                 count == 1 ? "" : "s", hint, count == 1 ? "s" : "ve"));
}

/* ------------------------------------------------------------------ all of it */

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

/* Whoever waits for it may be part of a deadlock that is not found. Signals have no holder. */
static void skip_search(struct process_snapshot *snapshot, uint32_t lock)
{
    uint32_t kind = snapshot_lock(snapshot, lock)->kind;
    if (kind != INCIDENT_RWLOCK && kind != INCIDENT_SPIN && kind != INCIDENT_RUST &&
        kind != INCIDENT_ONCE && kind != INCIDENT_GUARD)
        return;
    for (uint32_t i = 0; i < snapshot_thread_count(snapshot); i++)
        if (waits_for(snapshot, i, lock))
            snapshot_set_unknown(snapshot, i,
                                 "waits for a lock whose holder was not looked for: the process "
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
