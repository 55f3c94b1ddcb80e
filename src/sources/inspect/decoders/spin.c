/* Decodes threads that run in pthread_spin_lock. They do not sleep, so the kernel shows nothing
 * about them. A running thread is stopped twice, and must be in that function with the same lock
 * both times. That does not prove that it stayed there in between, so the wait is likely. Threads
 * are stopped for this only if another thread of the process sleeps for a lock or a join. */
#include "sources/inspect/decoders/decoder.h"
#include "sources/inspect/snapshot/stacks.h"

#include <elf.h>
#include <string.h>

#define RUNNERS_MOST 64

/* Returns whether a thread of the process sleeps for a lock or for the end of a thread. */
static bool any_thread_waits(const struct process_snapshot *snapshot, uint32_t process)
{
    for (uint32_t i = SNAPSHOT_NONE; snapshot_next_thread(snapshot, process, &i);) {
        const struct snapshot_lock *lock = snapshot_awaited_lock(snapshot, i);
        uint32_t kind = lock ? lock->kind : 0;
        if (kind == INCIDENT_MUTEX || kind == INCIDENT_RWLOCK || kind == INCIDENT_THREAD_END)
            return !snapshot_thread(snapshot, i)->call.timed;
    }
    return false;
}

/* Returns whether this register points to a locked spin lock. */
static bool has_lock(struct target *target, const struct target_thread *thread, unsigned number)
{
    uint64_t address = thread->registers[number];
    const struct target_mapping *mapping = target_mapping(target, address);
    uint32_t word;
    /* A locked spin lock is 1 or, on x86-64, where it counts down from 1, 0 or less. */
    return (thread->register_mask >> number & 1) && address % 4 == 0 && mapping &&
           mapping->writable && !(address >= thread->stack && address - thread->stack < 256) &&
           target_read_u32(target, address, &word) &&
           (target->machine == EM_X86_64 ? (int32_t)word <= 0 : word == 1);
}

/* Returns the address of the locked spin lock in the register of the first argument or, if that is
 * overwritten, in another one. A caller's register may point to a word that only looks like a lock.
 * 0: none. */
static uint64_t lock_in_registers(struct target *target, const struct target_thread *thread)
{
    unsigned argument = target->machine == EM_X86_64 ? 5 : 0; /* DWARF numbers of rdi and x0 */
    if (has_lock(target, thread, argument))
        return thread->registers[argument];
    for (unsigned i = 0; i < 18 && i < TARGET_REGISTERS; i++)
        if (has_lock(target, thread, i))
            return thread->registers[i];
    return 0;
}

/* Returns the lock for which the thread spins at this moment; 0: none. */
static uint64_t spins_at(struct process_snapshot *snapshot, uint32_t index)
{
    const struct snapshot_thread *thread = snapshot_thread(snapshot, index);
    struct target *target = snapshot_target(snapshot, thread->process);
    struct target_thread now = thread->is;
    if (!target_registers(target, &now, snapshot_stop_ms(snapshot), NULL))
        return 0;
    const struct unwound here = {now.counter, now.stack};
    const char *name = stack_function(snapshot, index, &here);
    if (!name || strncmp(name, "pthread_spin_lock", 17) != 0)
        return 0;
    snapshot_update_thread(snapshot, index, &now);
    return lock_in_registers(target, &now);
}

static void finish_spin(struct process_snapshot *snapshot)
{
    uint32_t looked = 0;
    for (uint32_t i = 0; i < snapshot_thread_count(snapshot); i++) {
        const struct snapshot_thread *thread = snapshot_thread(snapshot, i);
        bool core = snapshot_target(snapshot, thread->process)->core;
        if (thread->sleeps || thread->is.activity != TARGET_RUNS || looked == RUNNERS_MOST ||
            (!core && !snapshot_stop_ms(snapshot)) || !any_thread_waits(snapshot, thread->process))
            continue;
        looked++;
        uint64_t address = spins_at(snapshot, i);
        if (!address || (!core && spins_at(snapshot, i) != address))
            continue;
        uint32_t lock = snapshot_add_lock(snapshot, thread->process, address, INCIDENT_SPIN);
        snapshot_add_wait(snapshot, i, lock, INCIDENT_EXCLUSIVE);
        snapshot_add_wait_evidence(snapshot, i, WORD_LIKELY,
                                   "runs in pthread_spin_lock, at both of two stops");
        snapshot_set_spinning(snapshot, i);
    }
}

const struct decoder decoder_spin = {.name = "spin", .finish = finish_spin};
