/* Scans the threads and locks of a local process as if it were a server. */
#define _GNU_SOURCE
#include "sources/watch/graph/inspected_process.h"

#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "output/report/report.h"
#include "sources/inspect/decoders/decoder.h"
#include "sources/inspect/snapshot/process_snapshot.h"
#include "sources/inspect/target/open_files.h"
#include "sources/watch/graph/local_clients.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

/* The client's end of a connection. */
struct client_end {
    uint64_t inode;
    char address[48]; /* TCP */
    uint32_t port, peer_port;
    uint32_t peer; /* Unix socket: the process at the other end; 0: none */
};

struct inspector {
    struct process_snapshot snapshot;
    struct client_end *ends; /* all sockets of the process */
    size_t end_count, end_capacity;
    gordian_allocator memory;
};

/* ------------------------------------------------------------------ opening */

gordian_status inspector_open(struct source **out, uint32_t pid, const struct source_pace *pace,
                              const gordian_allocator *memory, gordian_error *error)
{
    struct target *target;
    TRY(target_open_live(&target, pid, error));
    struct source *source = source_new(pace, memory);
    struct inspector *inspector = memory_zeroed(memory, sizeof *inspector);
    gordian_status status = source && inspector ? GORDIAN_OK : fail_memory(error);
    THEN(status, snapshot_open(&inspector->snapshot, &target, 1, error));
    if (status != GORDIAN_OK) {
        target_close(target);
        memory_free(memory, inspector);
        source_close(source);
        return status;
    }
    inspector->memory = *memory;
    source->inspector = inspector;
    source->state = SOURCE_RESTING;
    source->named = true;
    snprintf(source->label, sizeof source->label, "%.40s-%u",
             path_tail(inspector->snapshot.targets[0]->program), pid);
    *out = source;
    return GORDIAN_OK;
}

void inspector_close(struct inspector *inspector)
{
    gordian_allocator memory = inspector->memory;
    snapshot_close(&inspector->snapshot);
    memory_free_all(&memory, inspector->ends, inspector);
}

/* ------------------------------------------------------------------ connections */

uint64_t inspector_peer(uint64_t inode)
{
    return open_file_peer(inode);
}

/* Returns a process other than `own` that has the socket open; 0: there is none. */
static uint32_t other_process(const struct open_files *open_files, uint64_t inode, uint32_t own)
{
    size_t count = 0;
    const struct open_file *list = open_files_of(open_files, OPEN_FILE_SOCKET, inode, &count);
    for (size_t i = 0; i < count; i++)
        if (list[i].pid != own)
            return list[i].pid;
    return 0;
}

/* Lists the process's ends of connections. A socket that another process has open as well, after a
 * fork, identifies neither of them. At the other end of a Unix socket, this process itself does not
 * count. */
static bool list_ends(struct inspector *inspector)
{
    uint32_t pid = inspector->snapshot.targets[0]->seen_pid;
    struct open_files *open_files = open_files_read(&inspector->memory);
    bool done = open_files;
    inspector->end_count = 0;
    for (size_t i = 0; done && i < open_files->count; i++) {
        const struct open_file *open_file = &open_files->list[i];
        if (open_file->pid != pid || open_file->kind != OPEN_FILE_SOCKET ||
            other_process(open_files, open_file->inode, pid))
            continue;
        done = memory_extend(&inspector->memory, inspector->ends, inspector->end_capacity,
                             inspector->end_count);
        if (!done)
            break;
        struct client_end *end = &inspector->ends[inspector->end_count++];
        *end = (struct client_end){.inode = open_file->inode};
        uint64_t peer = 0;
        if (!local_address(end->inode, end->address, sizeof end->address, &end->port,
                           &end->peer_port) &&
            (peer = open_file_peer(end->inode)))
            end->peer = other_process(open_files, peer, pid);
    }
    open_files_close(open_files, &inspector->memory);
    return done;
}

bool inspector_owns(const struct inspector *inspector, const struct session *session,
                    const struct server_facts *facts)
{
    for (size_t i = 0; i < inspector->end_count; i++) {
        const struct client_end *end = &inspector->ends[i];
        if (session->port && end->port == session->port &&
            strcmp(end->address, session->address) == 0 &&
            local_leads_to(end->address, end->peer_port, facts))
            return true;
        if (!session->port && end->peer && end->peer == session->pid)
            return true;
    }
    return false;
}

/* Returns the only descriptor that a thread waits to read from. False: it waits for several, or for
 * something else. */
static bool awaited_descriptor(struct target *target, const struct snapshot_thread *thread,
                               uint32_t *fd)
{
    struct pollfd one;
    const uint64_t *arguments = thread->is.arguments;
    if (thread->call.kind == CALL_READ) {
        *fd = (uint32_t)arguments[0];
        return true;
    }
    if (thread->call.kind != CALL_POLL || !thread->call.name ||
        !strstr(thread->call.name, "poll") || strstr(thread->call.name, "epoll") ||
        arguments[1] != 1 || target_read(target, arguments[0], &one, sizeof one) != sizeof one)
        return false;
    *fd = (uint32_t)one.fd;
    return one.fd >= 0 && (one.events & POLLIN);
}

/* Notes which server or process the thread waits for, if it waits for an answer on a socket. */
static void take_awaited(struct inspector *inspector, const struct snapshot_thread *thread,
                         struct scan *scan, struct session *session)
{
    struct target *target = inspector->snapshot.targets[0];
    enum open_file_kind kind;
    uint64_t inode;
    uint32_t fd;
    if (thread->call.timed || !awaited_descriptor(target, thread, &fd) ||
        !open_file_at(target->seen_pid, fd, &kind, &inode) || kind != OPEN_FILE_SOCKET)
        return;
    for (size_t i = 0; i < inspector->end_count; i++)
        if (inspector->ends[i].inode == inode) {
            session->port = inspector->ends[i].port;
            session->peer_port = inspector->ends[i].peer_port;
            session->peer = inspector->ends[i].peer;
            session->address = scan_text(scan, inspector->ends[i].address);
        }
}

/* ------------------------------------------------------------------ threads and locks */

static const char *name_lock(struct inspector *inspector, struct scan *scan, uint32_t number)
{
    const struct snapshot_lock *lock = snapshot_lock(&inspector->snapshot, number);
    const struct incident_lock raw = {.kind = lock->kind, .flags = lock->facts.flags};
    struct symbols *symbols = snapshot_symbols(&inspector->snapshot, 0);
    char kind[100], name[160] = "", text[300];
    lock_kind(&raw, kind, sizeof kind);
    if (lock->facts.name)
        snprintf(name, sizeof name, "%s", lock->facts.name);
    else if (!symbols ||
             symbols_place(symbols, lock->address, lock->kind, name, sizeof name) != PLACE_VARIABLE)
        snprintf(name, sizeof name, "at 0x%llx", (unsigned long long)lock->address);
    snprintf(text, sizeof text, "%s %s", kind, name);
    return scan_text(scan, text);
}

/* Adds the wait of a thread for a lock. Only owners that the lock itself names are blockers. If no
 * owner is known (a condition variable, a pool's semaphore), any other thread may end the wait. */
static void take_wait(struct inspector *inspector, struct scan *scan, uint32_t number)
{
    const struct process_snapshot *snapshot = &inspector->snapshot;
    uint32_t lock = snapshot_edge(snapshot, snapshot_thread(snapshot, number)->wait)->lock;
    struct wait *wait = scan_wait(scan, number);
    if (!wait)
        return;
    uint32_t index = scan->sessions[number].wait;
    wait->began = scan->sessions[number].changed;
    wait->object = name_lock(inspector, scan, lock);
    wait->any = true;
    scan->sessions[number].joins = snapshot_lock(snapshot, lock)->kind == INCIDENT_THREAD_END;
    for (uint32_t i = snapshot_lock(snapshot, lock)->first_hold; i != SNAPSHOT_NONE;
         i = snapshot_edge(snapshot, i)->next_hold) {
        const struct wait_for_edge *hold = snapshot_edge(snapshot, i);
        if (hold->word != WORD_PROVED || hold->thread >= snapshot_thread_count(snapshot) ||
            (hold->flags & (INCIDENT_WAITS | INCIDENT_COULD)))
            continue;
        wait->any = false;
        scan_edge(scan, index, hold->thread, false, "");
    }
    for (uint32_t i = 0; i < snapshot_thread_count(snapshot) && wait->any; i++)
        scan_edge(scan, index, i, false, "");
}

/* Does the thread sleep without a timeout, and has it not moved during the scan? */
static bool is_stuck(const struct snapshot_thread *thread)
{
    return thread->is.steady && thread->sleeps && !thread->call.timed;
}

static void add_thread(struct inspector *inspector, struct scan *scan, uint32_t number)
{
    const struct snapshot_thread *thread = snapshot_thread(&inspector->snapshot, number);
    char changed[120];
    if (scan_session(scan, thread->is.seen_tid, NULL) != number) {
        scan->failed = true;
        return;
    }
    struct session *session = &scan->sessions[number];
    snprintf(changed, sizeof changed, "%llu/%llu/%llx/%llx",
             (unsigned long long)thread->is.switches, (unsigned long long)thread->is.call,
             (unsigned long long)thread->is.stack, (unsigned long long)thread->is.arguments[0]);
    session->changed = scan_text(scan, changed);
    session->started = session->user = scan_text(scan, thread->is.name);
    session->state = "thread";
    session->thread = session->spared = session->active = true;
    if (is_stuck(thread))
        take_awaited(inspector, thread, scan, session);
}

/* ------------------------------------------------------------------ scanning */

static bool fill_scan(struct inspector *inspector, struct scan *scan)
{
    struct process_snapshot *snapshot = &inspector->snapshot;
    gordian_error error = {0};
    if (snapshot_begin(snapshot, &error) != GORDIAN_OK)
        return false;
    decoders_explain(snapshot);
    if (!list_ends(inspector) || snapshot_settle(snapshot, &error) != GORDIAN_OK)
        return false;
    decoders_settle(snapshot);
    for (uint32_t i = 0; i < snapshot_thread_count(snapshot) && !scan->failed; i++)
        add_thread(inspector, scan, i);
    for (uint32_t i = 0; i < snapshot_thread_count(snapshot) && !scan->failed; i++)
        if (is_stuck(snapshot_thread(snapshot, i)) &&
            snapshot_thread(snapshot, i)->wait != SNAPSHOT_NONE && !scan->sessions[i].port &&
            !scan->sessions[i].peer)
            take_wait(inspector, scan, i);
    return !snapshot->failed && !scan->failed;
}

/* Scans the process. If the process has ended, the scan has no threads. */
void inspector_scan(struct source *source, bool needed)
{
    struct scan old = source->scan;
    scan_clear(&source->next);
    source->next.asked = clock_ns();
    if (needed && !fill_scan(source->inspector, &source->next)) {
        uint64_t asked = source->next.asked;
        scan_clear(&source->next);
        source->next.asked = asked;
    }
    source->next.answered = clock_ns();
    scan_settle(&source->next, &old);
    source->scan = source->next;
    source->next = old;
    source->looks++;
    if (!source->first)
        source->first = source->scan.answered;
}
