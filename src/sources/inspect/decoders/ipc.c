/* Decodes System V semaphores and POSIX message queues.
 *
 * The kernel stores which process made the last operation on a semaphore. If the semaphore is used
 * as a lock and its value is 0, that process holds it. A message queue connects the processes that
 * have it open, and another process may still open it. Both are likely at most.
 */
#define _GNU_SOURCE
#include "sources/inspect/decoders/decoder.h"
#include "sources/inspect/target/open_files.h"
#include "sources/inspect/target/proc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/sem.h>

#define OPERATIONS_MOST 64

/* ------------------------------------------------------------------ System V semaphores */

/* Finds the first operation of the call that must wait; false: none, or they are not readable. */
static bool find_operation(struct target *target, const struct target_thread *thread,
                           struct sembuf *found)
{
    struct sembuf operations[OPERATIONS_MOST];
    size_t count = (size_t)thread->arguments[2];
    int set = (int)thread->arguments[0];
    if (count == 0 || count > OPERATIONS_MOST ||
        !target_read_all(target, thread->arguments[1], operations, count * sizeof *operations))
        return false;
    for (size_t i = 0; i < count; i++) {
        *found = operations[i];
        int value = semctl(set, found->sem_num, GETVAL);
        if (value >= 0 &&
            (found->sem_op < 0 ? value < -found->sem_op : found->sem_op == 0 && value != 0))
            return true;
    }
    return false;
}

static bool explain_semop(struct process_snapshot *snapshot, uint32_t thread)
{
    const struct snapshot_thread *waiter = snapshot_thread(snapshot, thread);
    struct sembuf operation;
    int set = (int)waiter->is.arguments[0];
    if (!find_operation(snapshot_target(snapshot, waiter->process), &waiter->is, &operation))
        return false;
    uint64_t number = UINT64_C(1) << 62 | (uint64_t)(uint32_t)set << 16 | operation.sem_num;
    uint32_t lock = snapshot_add_object(snapshot, waiter->process, number, INCIDENT_SEMAPHORE);
    snapshot_describe_lock(
        snapshot, lock,
        (struct lock_facts){.name = snapshot_format(snapshot, "System V semaphore %d[%u]", set,
                                                    operation.sem_num)});
    snapshot_add_wait(snapshot, thread, lock, INCIDENT_UNIT);
    int last = semctl(set, operation.sem_num, GETPID);
    uint32_t holder = last > 0 ? snapshot_find_process(snapshot, (uint32_t)last) : SNAPSHOT_NONE;
    if (snapshot_is_held(snapshot, lock))
        return true;
    if (holder != SNAPSHOT_NONE)
        snapshot_add_holds(
            snapshot, holder, lock, INCIDENT_UNIT, WORD_LIKELY,
            snapshot_format(snapshot, "the last operation on it was made by process %d", last));
    else
        snapshot_set_unknown(
            snapshot, thread,
            "waits for a System V semaphore, which any process with access may raise: "
            "'ipcs -s' lists them",
            false);
    return true;
}

/* ------------------------------------------------------------------ message queues */

/* Adds holds for the processes that have the queue open and could end the wait. */
static void add_queue_holders(struct process_snapshot *snapshot,
                              const struct snapshot_thread *waiter, uint32_t lock, uint64_t inode,
                              bool to_write)
{
    for (uint32_t i = 0; i < snapshot_target_count(snapshot); i++) {
        uint32_t pid = snapshot_target(snapshot, i)->seen_pid;
        if (snapshot_target(snapshot, i)->core || i == waiter->process ||
            !open_file_has(pid, inode, to_write ? OPEN_FILE_WRITES : OPEN_FILE_READS))
            continue;
        snapshot_add_holds(snapshot, i, lock, to_write ? INCIDENT_SIGNAL : INCIDENT_EXCLUSIVE,
                           WORD_LIKELY, "has the queue open; another process could also open it");
    }
}

static bool explain_queue(struct process_snapshot *snapshot, uint32_t thread, bool sends)
{
    const struct snapshot_thread *waiter = snapshot_thread(snapshot, thread);
    uint32_t pid = snapshot_target(snapshot, waiter->process)->seen_pid,
             fd = (uint32_t)waiter->is.arguments[0];
    char link[300];
    uint64_t inode = open_file_inode(pid, fd);
    proc_descriptor(proc_living(pid), fd, link, sizeof link);
    if (!inode)
        return false;
    uint32_t lock = snapshot_add_object(
        snapshot, waiter->process, UINT64_C(1) << 61 | inode * 2 | (uint64_t)sends, INCIDENT_PIPE);
    snapshot_describe_lock(
        snapshot, lock,
        (struct lock_facts){
            .name = snapshot_format(snapshot, "message queue %s%s", link, sends ? ", full" : "")});
    snapshot_add_wait(snapshot, thread, lock, sends ? INCIDENT_EXCLUSIVE : INCIDENT_SIGNAL);
    if (!snapshot_is_held(snapshot, lock))
        add_queue_holders(snapshot, waiter, lock, inode, !sends);
    if (!snapshot_is_held(snapshot, lock))
        snapshot_set_unknown(snapshot, thread,
                             "waits at a message queue that no other inspected process has open",
                             false);
    return true;
}

/* ------------------------------------------------------------------ the decoder */

static bool explain_ipc(struct process_snapshot *snapshot, uint32_t thread)
{
    const struct snapshot_thread *waiter = snapshot_thread(snapshot, thread);
    if (!waiter->sleeps || waiter->call.timed || snapshot_target(snapshot, waiter->process)->core)
        return false;
    switch (waiter->call.kind) {
    case CALL_SEMAPHORE:
        return explain_semop(snapshot, thread);
    case CALL_SEND:
        return explain_queue(snapshot, thread, true);
    case CALL_RECEIVE:
        return explain_queue(snapshot, thread, false);
    default:
        return false;
    }
}

const struct decoder decoder_ipc = {.name = "ipc", .explain = explain_ipc};
