/* Decodes waits of one process for another: pipes and Unix sockets, file locks, children.
 *
 * Any thread of the other process can end such a wait. So each thread of each process that could
 * end it holds a unit, and the waiter requests one unit: a process counts as running while one of
 * its threads can act. If a process that is not inspected could end the wait, only that is
 * reported.
 */
#define _GNU_SOURCE
#include "sources/inspect/decoders/decoder.h"
#include "sources/inspect/target/open_files.h"
#include "sources/inspect/target/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define OFD_SETLKW 38 /* F_OFD_SETLKW */

/* The wait being decoded. */
struct wait_at {
    struct process_snapshot *snapshot;
    uint32_t thread;
    const struct snapshot_thread *waiter;
    uint32_t pid; /* of the waiter, in the pid namespace of this process */
    uint32_t lock;
};

/* A process that is not inspected could end the wait. A wait for this process needs no explanation.
 */
static void report_outsider(const struct wait_at *at, uint32_t pid, const char *what)
{
    char name[64];
    if (pid == (uint32_t)getpid())
        return;
    if (proc_read(name, sizeof name, "/proc/%u/comm", pid) <= 0)
        strcpy(name, "?");
    name[strcspn(name, "\n")] = '\0';
    snapshot_set_unknown(
        at->snapshot, at->thread,
        snapshot_format(at->snapshot,
                        "waits for process %u (%s), which %s and is not inspected: inspect it "
                        "as well, or use --tree or --all",
                        pid, name, what),
        true);
}

static void begin_wait(struct wait_at *at, uint64_t number, uint32_t kind, uint32_t mode,
                       const char *name)
{
    at->lock = snapshot_add_object(at->snapshot, at->waiter->process, number, kind);
    snapshot_describe_lock(at->snapshot, at->lock, (struct lock_facts){.name = name});
    snapshot_add_wait(at->snapshot, at->thread, at->lock, mode);
}

/* ------------------------------------------------------------------ pipes and sockets */

/* Returns whether the descriptor is open at the wanted end. Sockets have both ends. */
static bool has_end(const struct open_file *open_file, bool to_write)
{
    bool reads = true, writes = true;
    if (open_file->kind == OPEN_FILE_PIPE &&
        !open_file_mode(open_file->pid, open_file->fd, &reads, &writes))
        return false; /* closed in the meantime */
    return to_write ? writes : reads;
}

/* Returns whether only its own process could write what the thread reads. Some programs idle that
 * way until they are killed; in others the process failed to close a descriptor. */
static bool is_alone(const struct wait_at *at, const struct open_file *list, size_t count,
                     bool to_write)
{
    size_t ends = 0;
    for (size_t i = 0; i < count; i++)
        if (has_end(&list[i], to_write)) {
            ends++;
            if (list[i].pid != at->pid)
                return false;
        }
    return to_write && ends;
}

/* Returns the reason why the holders are not proved; "": they are. */
static const char *unseen(const struct open_files *open_files)
{
    if (!open_files->unreadable)
        return "";
    return geteuid() == 0
               ? "; processes of other users may also have it open: use CAP_SYS_PTRACE to see them"
               : "; processes of other users may also have it open: run as root to see them";
}

/* Adds holds for all threads of the processes that have the other end open. */
static void add_end_holders(const struct wait_at *at, const struct open_file *list, size_t count,
                            bool to_write)
{
    struct process_snapshot *snapshot = at->snapshot;
    const struct open_files *open_files = snapshot_open_files(snapshot);
    bool pipe = count && list[0].kind == OPEN_FILE_PIPE;
    for (size_t i = 0; i < count; i++)
        if (snapshot_find_process(snapshot, list[i].pid) == SNAPSHOT_NONE &&
            has_end(&list[i], to_write)) {
            report_outsider(at, list[i].pid, "has the other end");
            return;
        }
    bool alone = is_alone(at, list, count, to_write);
    if (alone) {
        snapshot_set_unknown(
            snapshot, at->thread,
            "reads from a pipe or socket that only its own process has open for writing: it is "
            "idle, or it failed to close a descriptor",
            false);
        snapshot_describe_lock(snapshot, at->lock, (struct lock_facts){.own_end = true});
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t process = snapshot_find_process(snapshot, list[i].pid);
        if (process == SNAPSHOT_NONE || !has_end(&list[i], to_write))
            continue;
        const char *evidence =
            snapshot_format(snapshot, "has its %s end open, descriptor %u%s",
                            !pipe      ? "other"
                            : to_write ? "writing"
                                       : "reading",
                            list[i].fd,
                            !pipe ? "; a time limit set for the socket could still end the wait"
                                  : unseen(open_files));
        snapshot_add_holds(snapshot, process, at->lock, INCIDENT_EXCLUSIVE,
                           pipe && !alone && !open_files->unreadable ? WORD_PROVED : WORD_LIKELY,
                           evidence);
    }
}

/* `writes`: the buffer is full, and must be read first. Otherwise the buffer is empty, and must be
 * written to first. */
static bool explain_stream(struct wait_at *at, bool writes)
{
    enum open_file_kind kind;
    uint64_t inode, other;
    size_t count;
    uint32_t fd = (uint32_t)at->waiter->is.arguments[0];
    if (!open_file_at(at->pid, fd, &kind, &inode) || !snapshot_open_files(at->snapshot))
        return false;
    bool pipe = kind == OPEN_FILE_PIPE;
    other = pipe ? inode : open_file_peer(inode);
    if (!other)
        return false;
    /* The two directions of a pipe or socket are two separate resources. */
    begin_wait(at, inode * 2 + writes, pipe ? INCIDENT_PIPE : INCIDENT_SOCKET,
               writes ? INCIDENT_EXCLUSIVE : INCIDENT_SIGNAL,
               snapshot_format(at->snapshot, "%s %llu%s", pipe ? "pipe" : "socket",
                               (unsigned long long)inode, writes ? ", full" : ""));
    if (snapshot_is_held(at->snapshot, at->lock))
        return true;
    const struct open_file *list =
        open_files_of(snapshot_open_files(at->snapshot), kind, other, &count);
    add_end_holders(at, list, count, !writes);
    return true;
}

/* ------------------------------------------------------------------ locks on files */

/* flock() locks belong to an open file, which several processes may share after a fork. */
static bool is_shared(const struct open_files *open_files, const struct file_wait *wait)
{
    bool shared = open_files->unreadable;
    DIR *folder = opendir("/proc");
    for (struct dirent *entry; folder && !shared && (entry = readdir(folder));) {
        uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        shared =
            pid && (int64_t)pid != wait->holder && open_file_has(pid, wait->inode, OPEN_FILE_LOCKS);
    }
    if (folder)
        closedir(folder);
    return shared || !folder;
}

static bool explain_file(struct wait_at *at, bool posix)
{
    struct process_snapshot *snapshot = at->snapshot;
    uint32_t fd = (uint32_t)at->waiter->is.arguments[0];
    uint64_t inode = open_file_inode(at->pid, fd);
    struct open_files *open_files = inode ? snapshot_open_files(snapshot) : NULL;
    const struct file_wait *wait =
        open_files ? open_files_wait(open_files, snapshot_memory(snapshot), at->pid, inode, posix)
                   : NULL;
    char link[512];
    if (open_files && open_files->failed)
        snapshot_fail(snapshot);
    if (!wait)
        return false;
    proc_descriptor(proc_living(at->pid), fd, link, sizeof link);
    /* All locks that one process holds on one file are one resource. Process IDs are below 2^22. */
    begin_wait(at, wait->inode << 22 ^ (uint64_t)wait->holder, INCIDENT_FILE_LOCK,
               INCIDENT_EXCLUSIVE, snapshot_format(snapshot, "%s", link));
    if (wait->holder <= 0)
        return true;
    uint32_t process = snapshot_find_process(snapshot, (uint32_t)wait->holder);
    if (process == SNAPSHOT_NONE)
        report_outsider(at, (uint32_t)wait->holder, "holds the lock on the file");
    else if (posix || !is_shared(open_files, wait))
        snapshot_add_holds(snapshot, process, at->lock, INCIDENT_EXCLUSIVE, WORD_PROVED,
                           "the kernel names the process that holds it");
    else
        snapshot_add_holds(
            snapshot, process, at->lock, INCIDENT_EXCLUSIVE, WORD_LIKELY,
            snapshot_format(
                snapshot,
                "the kernel names the process that took it; other processes may share its "
                "open file%s",
                unseen(open_files)));
    return true;
}

/* ------------------------------------------------------------------ children */

/* Lists the children of a process. Returns how many there are, even if they exceed `room`. */
static size_t list_children(uint32_t pid, uint32_t *children, size_t room)
{
    char path[96], text[8192];
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%u/task", pid);
    struct dirent **threads = NULL;
    int found = scandir(path, &threads, NULL, NULL);
    for (int i = 0; i < found; i++) {
        proc_read(text, sizeof text, "/proc/%u/task/%.20s/children", pid, threads[i]->d_name);
        for (char *at = text, *end; strtoul(at, &end, 10) > 0 && end != at; at = end, count++)
            if (count < room)
                children[count] = (uint32_t)strtoul(at, NULL, 10);
        free(threads[i]);
    }
    free(threads);
    return count;
}

enum { CHILDREN_MOST = 512 };

/* Returns the process ID awaited by wait4() or waitid(); 0: any child; -1: another kind of wait. */
static int64_t awaited_child(const struct snapshot_thread *waiter)
{
    if (strcmp(waiter->call.name, "wait4") == 0) {
        int32_t pid = (int32_t)waiter->is.arguments[0];
        return pid > 0 ? pid : pid == -1 ? 0 : -1;
    }
    return waiter->is.arguments[0] == P_PID   ? (int64_t)(uint32_t)waiter->is.arguments[1]
           : waiter->is.arguments[0] == P_ALL ? 0
                                              : -1;
}

static bool explain_child(struct wait_at *at)
{
    struct process_snapshot *snapshot = at->snapshot;
    uint32_t children[CHILDREN_MOST], awaited[CHILDREN_MOST];
    int64_t wanted = awaited_child(at->waiter); /* 0: any; -1: another kind of wait */
    size_t count = list_children(at->pid, children, CHILDREN_MOST), held = 0;
    if (wanted < 0 || count == 0 || count > CHILDREN_MOST)
        return false;
    for (size_t i = 0; i < count; i++) {
        char state;
        uint32_t process = snapshot_find_process(snapshot, children[i]);
        bool own = target_parent(children[i], &state) == at->pid && state != 'Z';
        /* The argument is the process ID in the namespace of the parent. */
        if (own && wanted &&
            (process == SNAPSHOT_NONE ? children[i] : snapshot_target(snapshot, process)->pid) !=
                (uint32_t)wanted)
            continue;
        if (!own)
            return false; /* it has ended, and the parent is about to continue */
        if (process == SNAPSHOT_NONE) {
            report_outsider(at, children[i], "is its child");
            return false;
        }
        awaited[held++] = process;
    }
    if (held == 0)
        return false;
    begin_wait(at, (uint64_t)at->pid << 32 | (uint64_t)wanted, INCIDENT_CHILD, INCIDENT_END,
               held == 1 ? snapshot_format(snapshot, "end of process %u",
                                           snapshot_target(snapshot, awaited[0])->seen_pid)
                         : snapshot_format(snapshot, "end of a child of process %u", at->pid));
    for (size_t i = 0; i < held; i++)
        snapshot_add_holds(snapshot, awaited[i], at->lock, INCIDENT_END, WORD_PROVED,
                           "is the awaited child");
    return true;
}

/* ------------------------------------------------------------------ the decoder */

static bool explain_between(struct process_snapshot *snapshot, uint32_t thread)
{
    const struct snapshot_thread *waiter = snapshot_thread(snapshot, thread);
    const struct target *target = snapshot_target(snapshot, waiter->process);
    struct wait_at at = {snapshot, thread, waiter, target->seen_pid, SNAPSHOT_NONE};
    uint32_t command = (uint32_t)waiter->is.arguments[1];
    if (!waiter->sleeps || target->core || waiter->call.timed)
        return false;
    switch (waiter->call.kind) {
    case CALL_READ:
        return explain_stream(&at, false);
    case CALL_WRITE:
        return explain_stream(&at, true);
    case CALL_FLOCK:
        return explain_file(&at, false);
    case CALL_FCNTL:
        return (command == F_SETLKW || command == OFD_SETLKW) &&
               explain_file(&at, command == F_SETLKW);
    case CALL_CHILD:
        return explain_child(&at);
    default:
        return false;
    }
}

const struct decoder decoder_between = {.name = "between", .explain = explain_between};
