/* System V semaphores and POSIX message queues.
 *
 * The kernel remembers who did the last operation on a semaphore: of one that is at 0, that is who
 * took it, if it is used as a lock. A message queue is between those who have it open; another may
 * open it yet. Both are likely, never more. */
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

/* The process that is looked at, by its number here; SIGHT_NONE: it is not. */
static uint32_t process_at(const struct sight *sight, uint32_t pid)
{
    for (uint32_t i = 0; i < sight->target_count; i++)
        if (!sight->targets[i]->core && sight->targets[i]->seen_pid == pid)
            return i;
    return SIGHT_NONE;
}

static void hold_all(struct sight *sight, uint32_t process, uint32_t lock, uint32_t mode,
                     const char *evidence)
{
    for (uint32_t i = sight->first_thread[process]; i < sight->first_thread[process + 1]; i++)
        sight_hold(sight, i, lock, mode, WORD_LIKELY, evidence);
}

/* ------------------------------------------------------------------ System V semaphores */

/* Would this operation have to wait? */
static bool has_to_wait(int set, const struct sembuf *operation)
{
    int value = semctl(set, operation->sem_num, GETVAL);
    return value >= 0 && (operation->sem_op < 0 ? value < -operation->sem_op
                                                : operation->sem_op == 0 && value != 0);
}

/* The first of the set's operations that has to wait; false: none, or they cannot be read. */
static bool find_operation(struct target *target, const struct target_thread *thread,
                           struct sembuf *found)
{
    struct sembuf operations[OPERATIONS_MOST];
    size_t count = (size_t)thread->arguments[2];
    int set = (int)thread->arguments[0];
    if (count == 0 || count > OPERATIONS_MOST ||
        !target_read_all(target, thread->arguments[1], operations, count * sizeof *operations))
        return false;
    for (size_t i = 0; i < count; i++)
        if (has_to_wait(set, &operations[i])) {
            *found = operations[i];
            return true;
        }
    return false;
}

static bool explain_semop(struct sight *sight, uint32_t thread)
{
    struct sight_thread *waiter = &sight->threads[thread];
    struct sembuf operation;
    int set = (int)waiter->is.arguments[0];
    if (!find_operation(sight->targets[waiter->process], &waiter->is, &operation))
        return false;
    uint64_t number = UINT64_C(1) << 62 | (uint64_t)(uint32_t)set << 16 | operation.sem_num;
    uint32_t lock = sight_object(sight, waiter->process, number, INCIDENT_SEMAPHORE);
    if (lock == SIGHT_NONE)
        return true;
    sight->locks[lock].name =
        sight_format(sight, "System V semaphore %d[%u]", set, operation.sem_num);
    sight_wait(sight, thread, lock, INCIDENT_UNIT);
    int last = semctl(set, operation.sem_num, GETPID);
    uint32_t holder = last > 0 ? process_at(sight, (uint32_t)last) : SIGHT_NONE;
    if (sight_is_held(sight, lock))
        return true;
    if (holder != SIGHT_NONE)
        hold_all(sight, holder, lock, INCIDENT_UNIT,
                 sight_format(sight, "the last operation on it was one of process %d", last));
    else
        waiter->unknown = "waits for a System V semaphore, which anybody may raise who may open "
                          "it: 'ipcs -s' lists them";
    return true;
}

/* ------------------------------------------------------------------ message queues */

/* Who has the queue open so that he could end the wait. */
static void hold_queue(struct sight *sight, struct sight_thread *waiter, uint32_t lock,
                       uint64_t inode, bool to_write)
{
    for (uint32_t i = 0; i < sight->target_count; i++) {
        uint32_t pid = sight->targets[i]->seen_pid;
        if (sight->targets[i]->core || i == waiter->process ||
            !open_file_queue(pid, inode, to_write))
            continue;
        hold_all(sight, i, lock, to_write ? INCIDENT_SIGNAL : INCIDENT_EXCLUSIVE,
                 "has the queue open; another process could open it, too");
    }
}

static bool explain_queue(struct sight *sight, uint32_t thread, bool sends)
{
    struct sight_thread *waiter = &sight->threads[thread];
    uint32_t pid = sight->targets[waiter->process]->seen_pid,
             fd = (uint32_t)waiter->is.arguments[0];
    char link[300];
    uint64_t inode = open_file_inode(pid, fd);
    proc_descriptor(proc_living(pid), fd, link, sizeof link);
    if (!inode)
        return false;
    uint32_t lock = sight_object(sight, waiter->process,
                                 UINT64_C(1) << 61 | inode * 2 | (uint64_t)sends, INCIDENT_PIPE);
    if (lock == SIGHT_NONE)
        return true;
    sight->locks[lock].name =
        sight_format(sight, "message queue %s%s", link, sends ? ", full" : "");
    sight_wait(sight, thread, lock, sends ? INCIDENT_EXCLUSIVE : INCIDENT_SIGNAL);
    if (!sight_is_held(sight, lock))
        hold_queue(sight, waiter, lock, inode, !sends);
    if (!sight_is_held(sight, lock))
        waiter->unknown = "waits at a message queue that no other process looked at has open";
    return true;
}

/* ------------------------------------------------------------------ the decoder */

static bool explain_ipc(struct sight *sight, uint32_t thread)
{
    const struct sight_thread *waiter = &sight->threads[thread];
    if (!waiter->sleeps || waiter->call.timed || sight->targets[waiter->process]->core)
        return false;
    switch (waiter->call.kind) {
    case CALL_SEMAPHORE:
        return explain_semop(sight, thread);
    case CALL_SEND:
        return explain_queue(sight, thread, true);
    case CALL_RECEIVE:
        return explain_queue(sight, thread, false);
    default:
        return false;
    }
}

const struct decoder decoder_ipc = {.name = "ipc", .explain = explain_ipc};
