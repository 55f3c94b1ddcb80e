/* Decodes locks of Rust's standard library. None of them stores its owner. The only thread with the
 * address of a lock on its stack, as a guard keeps it there, is its likely holder (evidence.c). The
 * function that sleeps determines the kind of lock, by its name in either of Rust's mangling
 * schemes: "std::sys::sync::mutex::futex::Mutex::lock_contended" or
 * "..5mutex5futex..14lock_contended". */
#include "sources/inspect/decoders/decoder.h"
#include "sources/inspect/snapshot/stacks.h"

#include <string.h>

enum rust_kind {
    RUST_MUTEX,
    RUST_READ,
    RUST_WRITE,
    RUST_CONDITION,
    RUST_ONCE,
    RUST_NONE,
};

enum {
    MUTEX_CONTENDED = 2,
    RWLOCK_NOTIFY = 4, /* offset of the futex of writers */
};

#define RWLOCK_COUNT UINT32_C(0x3fffffff) /* number of readers; all bits set: held by a writer */

static enum rust_kind function_kind(const char *name)
{
    static const struct {
        const char *first, *second;
        enum rust_kind kind;
    } known[] = {
        {"utex", "lock_contended", RUST_MUTEX},
        {"rwlock", "read_contended", RUST_READ},
        {"rwlock", "write_contended", RUST_WRITE},
        {"condvar", "futex", RUST_CONDITION},
        {"once", "futex", RUST_ONCE},
    };
    bool rust = strstr(name, "std::sys") || strstr(name, "3std3sys");
    for (size_t i = 0; rust && i < sizeof known / sizeof *known; i++)
        if (strstr(name, known[i].first) && strstr(name, known[i].second))
            return known[i].kind;
    return RUST_NONE;
}

/* Returns the kind of lock by the function that made the system call. */
static enum rust_kind find_kind(struct process_snapshot *snapshot, uint32_t thread)
{
    const struct snapshot_stack *stack = stack_of(snapshot, thread, STACK_SHORT, false);
    for (size_t i = 0; i < stack->count && i < 4; i++) {
        const char *name = stack_function(snapshot, thread, &stack->frames[i]);
        enum rust_kind kind = name ? function_kind(name) : RUST_NONE;
        if (kind != RUST_NONE || (name && strcmp(name, "syscall") != 0))
            return kind;
    }
    return RUST_NONE;
}

static bool explain_rwlock(struct process_snapshot *snapshot, uint32_t thread, bool writes)
{
    const struct snapshot_thread *waiter = snapshot_thread(snapshot, thread);
    uint64_t base = waiter->call.address - (writes ? RWLOCK_NOTIFY : 0);
    uint32_t state = 0;
    if (!target_read_u32(snapshot_target(snapshot, waiter->process), base, &state))
        return false;
    uint32_t count = state & RWLOCK_COUNT;
    bool written = count == RWLOCK_COUNT;
    uint32_t lock = snapshot_add_lock(snapshot, waiter->process, base,
                                      written ? INCIDENT_RUST : INCIDENT_RWLOCK);
    snapshot_add_wait(snapshot, thread, lock,
                      writes || written ? INCIDENT_EXCLUSIVE : INCIDENT_READ);
    if (!written)
        snapshot_describe_lock(snapshot, lock, (struct lock_facts){.units = count});
    return true;
}

static bool explain_rust(struct process_snapshot *snapshot, uint32_t thread)
{
    const struct snapshot_thread *waiter = snapshot_thread(snapshot, thread);
    if (!waiter->sleeps || waiter->call.kind != CALL_FUTEX ||
        waiter->call.operation != FUTEX_OP_WAIT_BITSET)
        return false;
    enum rust_kind kind = find_kind(snapshot, thread);
    uint32_t lock;
    switch (kind) {
    case RUST_MUTEX:
        if (waiter->call.value != MUTEX_CONTENDED)
            return false;
        lock = snapshot_add_lock(snapshot, waiter->process, waiter->call.address, INCIDENT_RUST);
        snapshot_add_wait(snapshot, thread, lock, INCIDENT_EXCLUSIVE);
        return true;
    case RUST_ONCE:
        lock = snapshot_add_lock(snapshot, waiter->process, waiter->call.address, INCIDENT_RUST);
        snapshot_add_wait(snapshot, thread, lock, INCIDENT_EXCLUSIVE);
        return true;
    case RUST_CONDITION:
        lock =
            snapshot_add_lock(snapshot, waiter->process, waiter->call.address, INCIDENT_CONDITION);
        snapshot_add_wait(snapshot, thread, lock, INCIDENT_SIGNAL);
        return true;
    case RUST_READ:
    case RUST_WRITE:
        return explain_rwlock(snapshot, thread, kind == RUST_WRITE);
    default:
        return false;
    }
}

const struct decoder decoder_rust = {.name = "rust", .explain = explain_rust};
