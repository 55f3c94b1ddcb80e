/* Stores one scan of a server and compares it with the previous scan. */
#include "sources/watch/servers/scan.h"

#include <stdlib.h>
#include <string.h>

void scan_open(struct scan *scan, const gordian_allocator *memory)
{
    *scan = (struct scan){.memory = *memory};
    arena_init(&scan->arena, memory);
}

void scan_close(struct scan *scan)
{
    arena_free(&scan->arena);
    hash_free(&scan->index, &scan->memory);
    memory_free_all(&scan->memory, scan->sessions, scan->waits, scan->edges);
    *scan = (struct scan){.memory = scan->memory};
}

void scan_clear(struct scan *scan)
{
    arena_free(&scan->arena);
    hash_free(&scan->index, &scan->memory);
    scan->session_count = scan->wait_count = scan->edge_count = 0;
    scan->asked = scan->answered = 0;
    scan->whole = scan->failed = false;
    scan->queues = NULL;
}

const char *scan_text(struct scan *scan, const char *text)
{
    const char *copy = text && *text ? arena_text(&scan->arena, text, strlen(text)) : "";
    scan->failed |= !copy;
    return copy ? copy : "";
}

void *scan_alloc(struct scan *scan, size_t size)
{
    void *memory = arena_alloc(&scan->arena, size);
    scan->failed |= !memory;
    return memory;
}

/* ------------------------------------------------------------------ adding */

static uint64_t session_hash(int64_t pid, const char *gid)
{
    return pid || !gid ? hash_word((uint64_t)pid) : hash_bytes(gid, strlen(gid));
}

static void refill_index(const void *context, struct hash *index)
{
    const struct scan *scan = context;
    for (uint32_t i = 0; i < scan->session_count; i++)
        hash_put(index, session_hash(scan->sessions[i].pid, scan->sessions[i].gid), i);
}

uint32_t scan_find(const struct scan *scan, int64_t pid, const char *gid)
{
    struct hash_probe probe = hash_probe(&scan->index, session_hash(pid, gid));
    while (hash_meet(&scan->index, &probe)) {
        const struct session *session = &scan->sessions[probe.number];
        if (session->pid == pid && (pid != 0 || (gid && strcmp(session->gid, gid) == 0)))
            return probe.number;
    }
    return SCAN_NONE;
}

uint32_t scan_session(struct scan *scan, int64_t pid, const char *gid)
{
    uint32_t found = scan_find(scan, pid, gid);
    if (found != SCAN_NONE)
        return found;
    const char *copy = gid ? scan_text(scan, gid) : NULL;
    uint32_t count = (uint32_t)scan->session_count + 1;
    if (scan->failed ||
        !memory_grow(&scan->memory, &scan->sessions, &scan->session_capacity, count,
                     sizeof *scan->sessions) ||
        !hash_reserve(&scan->index, &scan->memory, count, count, refill_index, scan)) {
        scan->failed = true;
        return SCAN_NONE;
    }
    hash_put(&scan->index, session_hash(pid, gid), count - 1);
    scan->sessions[scan->session_count] = (struct session){
        .pid = pid,
        .gid = copy,
        .id = "",
        .started = "",
        .user = "",
        .application = "",
        .database = "",
        .address = "",
        .state = "",
        .query = "",
        .changed = "",
        .transaction = "",
        .statement = "",
        .transaction_s = -1,
        .state_s = -1,
        .wait = SCAN_NONE,
    };
    return (uint32_t)scan->session_count++;
}

struct wait *scan_wait(struct scan *scan, uint32_t session)
{
    if (!memory_extend(&scan->memory, scan->waits, scan->wait_capacity, scan->wait_count)) {
        scan->failed = true;
        return NULL;
    }
    struct wait *wait = &scan->waits[scan->wait_count];
    *wait = (struct wait){.session = session, .mode = "", .object = "", .row = "", .began = ""};
    scan->sessions[session].wait = (uint32_t)scan->wait_count++;
    return wait;
}

void scan_push(struct scan *scan, const struct edge *edge)
{
    if (memory_extend(&scan->memory, scan->edges, scan->edge_capacity, scan->edge_count))
        scan->edges[scan->edge_count++] = *edge;
    else
        scan->failed = true;
}

void scan_edge(struct scan *scan, uint32_t wait, uint32_t holder, bool soft, const char *mode)
{
    if (scan->waits[wait].session == holder)
        return; /* a worker that waits for its own parallel query */
    for (size_t i = scan->edge_count; i > 0 && scan->edges[i - 1].wait == wait; i--)
        if (scan->edges[i - 1].holder == holder)
            return;
    const struct edge edge = {
        .wait = wait, .holder = holder, .soft = soft, .mode = mode, .lock = "", .began = ""};
    scan_push(scan, &edge);
}

void scan_identify(struct scan *scan, size_t first, const char *lock, const char *began)
{
    for (size_t i = first; i < scan->edge_count; i++) {
        scan->edges[i].lock = lock;
        scan->edges[i].began = began;
    }
}

/* ------------------------------------------------------------------ comparing with the previous
 * scan */

static uint64_t stir_text(uint64_t key, const char *text)
{
    return hash_stir(key, hash_bytes(text, strlen(text)));
}

uint64_t scan_identity(const struct session *session)
{
    uint64_t key = hash_word((uint64_t)session->pid + 1);
    key = stir_text(stir_text(key, session->started), session->id);
    return session->gid ? stir_text(key, session->gid) : key;
}

static uint64_t request_key(const struct scan *scan, const struct edge *edge)
{
    const struct wait *wait = &scan->waits[edge->wait];
    const struct session *waiter = &scan->sessions[wait->session];
    uint64_t key = stir_text(scan_identity(waiter), waiter->transaction);
    key = stir_text(stir_text(key, waiter->statement), edge->lock);
    key = stir_text(stir_text(key, wait->object), wait->mode);
    return hash_stir(key, scan_identity(&scan->sessions[edge->holder]));
}

/* A key, and the time since which it is known. */
struct known {
    uint64_t key, since;
};

static int compare_known(const void *left, const void *right)
{
    const struct known *one = left, *other = right;
    return (one->key > other->key) - (one->key < other->key);
}

static uint64_t since_of(const struct known *known, size_t count, uint64_t key, uint64_t otherwise)
{
    const struct known wanted = {.key = key};
    const struct known *found =
        count ? bsearch(&wanted, known, count, sizeof *known, compare_known) : NULL;
    return found ? found->since : otherwise;
}

/* Lists the keys of the previous scan. NULL: there are none, or memory ran out; then everything
 * counts as new. */
static struct known *list_known(const struct scan *before, size_t *count)
{
    *count = before->whole ? before->session_count + before->edge_count : 0;
    struct known *list = *count ? memory_alloc(&before->memory, *count * sizeof *list) : NULL;
    if (!list)
        *count = 0;
    for (size_t i = 0; i < before->session_count && list; i++)
        list[i] = (struct known){before->sessions[i].key, before->sessions[i].since};
    for (size_t i = 0; i < before->edge_count && list; i++)
        list[before->session_count + i] =
            (struct known){before->edges[i].key, before->edges[i].since};
    if (list)
        qsort(list, *count, sizeof *list, compare_known);
    return list;
}

void scan_settle(struct scan *scan, const struct scan *before)
{
    size_t count;
    struct known *known = list_known(before, &count);
    for (size_t i = 0; i < scan->session_count; i++) {
        struct session *session = &scan->sessions[i];
        session->key =
            stir_text(stir_text(scan_identity(session), session->changed), session->state);
        session->since = since_of(known, count, session->key, scan->answered);
    }
    for (size_t i = 0; i < scan->edge_count; i++) {
        struct edge *edge = &scan->edges[i];
        const struct wait *wait = &scan->waits[edge->wait];
        uint64_t key = scan_identity(&scan->sessions[wait->session]);
        key = stir_text(stir_text(stir_text(key, wait->began), wait->object), wait->mode);
        edge->key =
            hash_stir(hash_stir(key, edge->own), scan_identity(&scan->sessions[edge->holder]) +
                                                     edge->soft + 2 * edge->guessed);
        edge->request = request_key(scan, edge);
        edge->since = since_of(known, count, edge->key, scan->answered);
    }
    memory_free(&before->memory, known);
    scan->whole = true;
}

/* ------------------------------------------------------------------ blocked sessions */

size_t scan_behind(const struct scan *scan, uint32_t session)
{
    bool *behind = memory_zeroed(&scan->memory, scan->session_count + 1);
    size_t count = 0;
    if (!behind)
        return 0;
    behind[session] = true;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < scan->edge_count; i++) {
            uint32_t waiter = scan->waits[scan->edges[i].wait].session;
            if (!behind[scan->edges[i].holder] || behind[waiter])
                continue;
            behind[waiter] = more = true;
            count++;
        }
    }
    memory_free(&scan->memory, behind);
    return count;
}
