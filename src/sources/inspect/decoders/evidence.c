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

/* ------------------------------------------------------------------ searching a stack */

/* The first place above the stack pointer that has this value, or 0. */
static uint64_t find_word(struct sight *sight, uint32_t thread, uint64_t value, uint64_t *copy)
{
    const struct sight_thread *owner = &sight->threads[thread];
    struct target *target = sight->targets[owner->process];
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
static int find_register(const struct sight_thread *thread, uint64_t value)
{
    for (int i = 0; i < TARGET_REGISTERS; i++)
        if ((thread->is.register_mask >> i & 1) && thread->is.registers[i] == value)
            return i;
    return -1;
}

/* "its address is on the stack, in transfer"; NULL: it is not. */
static const char *has_address(struct sight *sight, uint32_t thread, uint64_t address,
                               uint64_t *copy)
{
    uint64_t place = find_word(sight, thread, address, copy);
    if (!place && find_register(&sight->threads[thread], address) >= 0)
        return "its address is in a register of the thread";
    if (!place)
        return NULL;
    const struct sight_stack *stack = stack_whole(sight, thread);
    for (size_t i = 0; i + 1 < stack->count; i++) {
        const char *name = stack_function(sight, thread, &stack->frames[i]);
        if (name && stack->frames[i].stack <= place && place < stack->frames[i + 1].stack)
            return sight_format(sight, "its address is on the thread's stack, in the frame of %s",
                                name);
    }
    return "its address is on the thread's stack";
}

/* ------------------------------------------------------------------ readers and spin locks */

static bool waits_for(const struct sight *sight, uint32_t thread, uint32_t lock)
{
    uint32_t wait = sight->threads[thread].wait;
    return wait != SIGHT_NONE && sight->edges[wait].lock == lock;
}

/* Threads that have the address without waiting for the lock: how many, the first `room` listed. */
static uint32_t list_candidates(struct sight *sight, uint32_t lock, uint32_t *found,
                                const char **evidence, uint32_t room)
{
    uint32_t process = sight->locks[lock].process, count = 0;
    uint64_t address = sight->locks[lock].address;
    uint64_t *copy = memory_alloc(&sight->memory, COPY_BYTES);
    for (uint32_t i = sight->first_thread[process]; copy && i < sight->first_thread[process + 1];
         i++) {
        bool still = sight->threads[i].sleeps || sight->threads[i].spins;
        const char *why =
            waits_for(sight, i, lock) || !still ? NULL : has_address(sight, i, address, copy);
        /* It may be in one of those that only a stop tells. */
        if (!why && sight->threads[i].sleeps && !sight->targets[process]->core)
            sight->threads[i].wants_registers = true;
        if (why && count < room) {
            found[count] = i;
            evidence[count] = why;
        }
        count += why != NULL;
    }
    memory_free(&sight->memory, copy);
    return count;
}

enum { CANDIDATES_MOST = 64 };

static void find_readers(struct sight *sight, uint32_t lock)
{
    uint32_t found[CANDIDATES_MOST], readers = sight->locks[lock].units;
    const char *evidence[CANDIDATES_MOST];
    uint32_t count = list_candidates(sight, lock, found, evidence, CANDIDATES_MOST);
    if (count != readers || count > CANDIDATES_MOST)
        return;
    for (uint32_t i = 0; i < count; i++)
        sight_hold(sight, found[i], lock, INCIDENT_READ, WORD_LIKELY, evidence[i]);
}

static void find_spin_holder(struct sight *sight, uint32_t lock)
{
    uint32_t found[1];
    const char *evidence[1];
    if (list_candidates(sight, lock, found, evidence, 1) == 1)
        sight_hold(sight, found[0], lock, INCIDENT_EXCLUSIVE, WORD_LIKELY, evidence[0]);
}

/* ------------------------------------------------------------------ initialisers */

/* Is the thread inside one of these functions, further out than where it sleeps, with the address
 * there on its stack? */
static void find_once_holder(struct sight *sight, uint32_t lock)
{
    static const char *const functions[] = {"pthread_once", "call_once", NULL};
    uint32_t process = sight->locks[lock].process;
    uint64_t *copy = memory_alloc(&sight->memory, COPY_BYTES);
    for (uint32_t i = sight->first_thread[process]; copy && i < sight->first_thread[process + 1];
         i++) {
        const char *inside = stack_outer(sight, i, functions);
        if (inside && find_word(sight, i, sight->locks[lock].address, copy))
            sight_hold(sight, i, lock, INCIDENT_EXCLUSIVE, WORD_LIKELY,
                       sight_format(sight, "%s, with its address on the stack", inside));
    }
    memory_free(&sight->memory, copy);
}

/* The function that asked for the guard, in a thread that waits for it. */
static const char *guarded_function(struct sight *sight, uint32_t lock)
{
    uint32_t process = sight->locks[lock].process;
    for (uint32_t i = sight->first_thread[process]; i < sight->first_thread[process + 1]; i++) {
        if (!waits_for(sight, i, lock))
            continue;
        const struct sight_stack *stack = stack_whole(sight, i);
        for (size_t k = 0; k + 1 < stack->count; k++) {
            const char *name = stack_function(sight, i, &stack->frames[k]);
            if (name && strncmp(name, "cxa_guard_acquire", 17) == 0)
                return stack_function(sight, i, &stack->frames[k + 1]);
        }
    }
    return NULL;
}

/* Whoever is inside that function, not asking for the guard at this moment. */
static void find_guard_holder(struct sight *sight, uint32_t lock)
{
    uint32_t process = sight->locks[lock].process;
    const char *function = guarded_function(sight, lock);
    for (uint32_t i = sight->first_thread[process];
         function && i < sight->first_thread[process + 1]; i++) {
        const struct sight_stack *stack = stack_whole(sight, i);
        bool asks = false;
        for (size_t k = 0; k < stack->count; k++) {
            const char *name = stack_function(sight, i, &stack->frames[k]);
            if (name && strcmp(name, function) == 0 && !asks)
                sight_hold(
                    sight, i, lock, INCIDENT_EXCLUSIVE, WORD_LIKELY,
                    sight_format(sight, "is inside %s, whose static variable it is", function));
            asks = name && strncmp(name, "cxa_guard_acquire", 17) == 0;
        }
    }
}

/* ------------------------------------------------------------------ what nobody holds */

enum { HINTS_MOST = 8, HINT_THREADS = 128, HINT_LOCKS = 32 };

/* What those who wait for it are to be told, too. */
static void add_hint(struct sight *sight, uint32_t lock, const char *hint)
{
    uint32_t process = sight->locks[lock].process;
    for (uint32_t i = sight->first_thread[process]; i < sight->first_thread[process + 1]; i++)
        if (waits_for(sight, i, lock))
            sight->threads[i].unknown =
                sight->threads[i].unknown
                    ? sight_format(sight, "%s; %s", sight->threads[i].unknown, hint)
                    : sight_format(sight, "waits for somebody to post a semaphore; %s", hint);
}

/* Stacks are read as they are: nobody is stopped for a hint. */
static void find_wakers(struct sight *sight, uint32_t lock)
{
    uint32_t process = sight->locks[lock].process, count = 0;
    uint64_t address = sight->locks[lock].address;
    uint64_t *copy = memory_alloc(&sight->memory, COPY_BYTES);
    const char *hint = "";
    for (uint32_t i = sight->first_thread[process];
         copy && i < sight->first_thread[process + 1] && count < HINTS_MOST; i++) {
        if (waits_for(sight, i, lock) ||
            (!find_word(sight, i, address, copy) && find_register(&sight->threads[i], address) < 0))
            continue;
        sight_could(sight, i, lock,
                    sight->locks[lock].kind == INCIDENT_SEMAPHORE ? INCIDENT_UNIT : INCIDENT_SIGNAL,
                    "its address is on the thread's stack");
        hint =
            sight_format(sight, "%s%s%u", hint, count++ ? ", " : "", sight->threads[i].is.seen_tid);
    }
    memory_free(&sight->memory, copy);
    if (count)
        add_hint(sight, lock,
                 sight_format(sight,
                              "thread%s %s ha%s its address on the stack, and may be who is to",
                              count == 1 ? "" : "s", hint, count == 1 ? "s" : "ve"));
}

/* ------------------------------------------------------------------ all of it */

static void find_holders(struct sight *sight, uint32_t lock, uint32_t threads)
{
    switch (sight->locks[lock].kind) {
    case INCIDENT_RWLOCK:
        if (sight->locks[lock].units)
            find_readers(sight, lock);
        break;
    case INCIDENT_SPIN:
    case INCIDENT_RUST:
        find_spin_holder(sight, lock);
        break;
    case INCIDENT_ONCE:
        find_once_holder(sight, lock);
        break;
    case INCIDENT_GUARD:
        find_guard_holder(sight, lock);
        break;
    case INCIDENT_SEMAPHORE:
    case INCIDENT_FUTEX:
        if (lock < HINT_LOCKS && threads <= HINT_THREADS)
            find_wakers(sight, lock);
        break;
    default:
        break;
    }
}

/* Whoever waits for it may be part of a deadlock that is not found. Signals have no holder. */
static void skip_search(struct sight *sight, uint32_t lock)
{
    uint32_t kind = sight->locks[lock].kind;
    if (kind != INCIDENT_RWLOCK && kind != INCIDENT_SPIN && kind != INCIDENT_RUST &&
        kind != INCIDENT_ONCE && kind != INCIDENT_GUARD)
        return;
    for (size_t i = 0; i < sight->thread_count; i++) {
        struct sight_thread *thread = &sight->threads[i];
        if (thread->wait == SIGHT_NONE || sight->edges[thread->wait].lock != lock)
            continue;
        thread->unseen = true;
        thread->unknown = "waits for a lock whose holder was not looked for: the process has too "
                          "many threads to search their stacks";
    }
}

static void finish_evidence(struct sight *sight)
{
    size_t waited = sight->lock_count;
    for (uint32_t i = 0; i < waited && !sight->failed; i++) {
        uint32_t process = sight->locks[i].process;
        uint32_t threads = sight->first_thread[process + 1] - sight->first_thread[process];
        if (sight_is_held(sight, i))
            continue;
        if (threads <= THREADS_MOST)
            find_holders(sight, i, threads);
        else
            skip_search(sight, i);
    }
}

const struct decoder decoder_evidence = {.name = "evidence", .finish = finish_evidence};
