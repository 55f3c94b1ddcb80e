/* Decodes internal locks of the C library that are not mutexes: locks of stdio streams, which store
 * their owner, and malloc locks, which do not. Both are one word, which is 2 while a thread waits.
 */
#include "sources/inspect/decoders/decoder.h"
#include "sources/inspect/decoders/glibc.h"
#include "sources/inspect/snapshot/stacks.h"
#include "sources/inspect/target/mapped_file.h"

#include <elf.h>

enum { CONTENDED = 2, STREAM_LOCK = 0x88 }; /* offset of the lock's address in a FILE */

static bool is_low_level(const struct snapshot_thread *waiter)
{
    return waiter->sleeps && waiter->call.kind == CALL_FUTEX && waiter->call.is_private &&
           waiter->call.operation == FUTEX_OP_WAIT && waiter->call.value == CONTENDED;
}

/* Returns the thread with this descriptor, or SNAPSHOT_NONE. */
static uint32_t thread_of_descriptor(struct process_snapshot *snapshot, uint32_t process,
                                     uint64_t descriptor)
{
    struct target *target = snapshot_target(snapshot, process);
    uint64_t base = descriptor + (target->machine == EM_X86_64 ? 0x2c0 : 0xc0), back = 0;
    struct glibc_thread thread;
    if (!descriptor || !target_read_all(target, base, &thread, sizeof thread) ||
        !target_read_u64(target, thread.next + 8, &back) || back != base)
        return SNAPSHOT_NONE;
    return snapshot_find_thread(snapshot, process, thread.tid);
}

/* Returns "stdout" etc. if it is the lock of that stream; otherwise NULL. */
static const char *stream_name(struct target *target, uint64_t lock)
{
    static const char *const symbols[] = {"_IO_2_1_stdin_", "_IO_2_1_stdout_", "_IO_2_1_stderr_"};
    static const char *const names[] = {"stdin", "stdout", "stderr"};
    for (size_t i = 0; i < 3; i++) {
        uint64_t address, size, found = 0;
        if (image_symbol(target, NULL, symbols[i], &address, &size) &&
            target_read_u64(target, address + STREAM_LOCK, &found) && found == lock)
            return names[i];
    }
    return NULL;
}

static bool explain_stdio(struct process_snapshot *snapshot, uint32_t thread)
{
    const struct snapshot_thread *waiter = snapshot_thread(snapshot, thread);
    struct target *target = snapshot_target(snapshot, waiter->process);
    uint64_t address = waiter->call.address, descriptor = 0;
    uint32_t word = 0;
    if (!is_low_level(waiter) || !target_read_u32(target, address, &word) || word != CONTENDED ||
        !target_read_u64(target, address + 8, &descriptor))
        return false;
    uint32_t owner = thread_of_descriptor(snapshot, waiter->process, descriptor);
    if (owner == SNAPSHOT_NONE)
        return false;
    uint32_t lock = snapshot_add_lock(snapshot, waiter->process, address, INCIDENT_STREAM);
    if (!snapshot_is_held(snapshot, lock)) {
        snapshot_describe_lock(snapshot, lock,
                               (struct lock_facts){.name = stream_name(target, address)});
        snapshot_set_owner(snapshot, lock, owner, snapshot_thread(snapshot, owner)->is.tid,
                           "owner read from the stream's lock");
    }
    snapshot_add_wait(snapshot, thread, lock, INCIDENT_EXCLUSIVE);
    return true;
}

const struct decoder decoder_stdio = {.name = "stdio", .explain = explain_stdio};

/* ------------------------------------------------------------------ malloc */

static const char *const malloc_functions[] = {
    "malloc",     "free",        "calloc",       "realloc",         "memalign",
    "int_malloc", "int_free",    "arena_get",    "valloc",          "libc_malloc",
    "libc_free",  "libc_calloc", "mid_memalign", "malloc_hook_ini", NULL,
};

static bool explain_malloc(struct process_snapshot *snapshot, uint32_t thread)
{
    const struct snapshot_thread *waiter = snapshot_thread(snapshot, thread);
    bool raw;
    if (!is_low_level(waiter) ||
        stack_find(snapshot, thread, malloc_functions, &raw) == SNAPSHOT_NONE || raw)
        return false;
    uint32_t lock =
        snapshot_add_lock(snapshot, waiter->process, waiter->call.address, INCIDENT_INTERNAL);
    snapshot_describe_lock(snapshot, lock, (struct lock_facts){.name = "malloc's arena"});
    snapshot_add_wait(snapshot, thread, lock, INCIDENT_EXCLUSIVE);
    /* A thread that a signal interrupted inside malloc, and whose handler calls malloc again, holds
     * the lock. */
    const char *evidence = stack_outer(snapshot, thread, malloc_functions);
    if (evidence)
        snapshot_add_hold(snapshot, thread, lock, INCIDENT_EXCLUSIVE, WORD_LIKELY, evidence);
    else
        snapshot_set_unknown(snapshot, thread,
                             "waits for a lock of malloc, which does not store its owner", false);
    return true;
}

const struct decoder decoder_malloc = {.name = "malloc", .explain = explain_malloc};
