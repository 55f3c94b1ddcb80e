#include "sources/watch/servers/scan.h"

#include <stdlib.h>
#include <string.h>

void look_open(struct look *look, const gordian_allocator *memory)
{
    *look = (struct look){.memory = *memory};
    arena_init(&look->arena, memory);
}

void look_close(struct look *look)
{
    arena_free(&look->arena);
    hash_free(&look->index, &look->memory);
    memory_free_all(&look->memory, look->sessions, look->waits, look->edges);
    *look = (struct look){.memory = look->memory};
}

void look_clear(struct look *look)
{
    arena_free(&look->arena);
    hash_free(&look->index, &look->memory);
    look->session_count = look->wait_count = look->edge_count = 0;
    look->asked = look->answered = 0;
    look->whole = false;
    look->queues = NULL;
}

const char *look_text(struct look *look, const char *text)
{
    return !text || !*text ? "" : arena_text(&look->arena, text, strlen(text));
}

/* ------------------------------------------------------------------ making one */

static bool is_session(const struct session *session, int64_t pid, const char *gid)
{
    return session->pid == pid && (pid != 0 || (gid && strcmp(session->gid, gid) == 0));
}

static uint64_t session_hash(int64_t pid, const char *gid)
{
    return pid || !gid ? hash_word((uint64_t)pid) : hash_bytes(gid, strlen(gid));
}

static void refill_index(const void *context, struct hash *index)
{
    const struct look *look = context;
    for (uint32_t i = 0; i < look->session_count; i++)
        hash_put(index, session_hash(look->sessions[i].pid, look->sessions[i].gid), i);
}

uint32_t look_find(const struct look *look, int64_t pid, const char *gid)
{
    struct hash_probe probe = hash_probe(&look->index, session_hash(pid, gid));
    while (hash_meet(&look->index, &probe))
        if (is_session(&look->sessions[probe.number], pid, gid))
            return probe.number;
    return LOOK_NONE;
}

uint32_t look_session(struct look *look, int64_t pid, const char *gid)
{
    uint32_t found = look_find(look, pid, gid);
    if (found != LOOK_NONE)
        return found;
    const char *copy = gid ? look_text(look, gid) : NULL;
    uint32_t count = (uint32_t)look->session_count + 1;
    if ((gid && !copy) ||
        !memory_grow(&look->memory, &look->sessions, &look->session_room, count,
                     sizeof *look->sessions) ||
        !hash_reserve(&look->index, &look->memory, count, count, refill_index, look))
        return LOOK_NONE;
    hash_put(&look->index, session_hash(pid, gid), count - 1);
    look->sessions[look->session_count] = (struct session){
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
        .wait = LOOK_NONE,
    };
    return (uint32_t)look->session_count++;
}

struct wait *look_wait(struct look *look, uint32_t session)
{
    if (!memory_grow(&look->memory, &look->waits, &look->wait_room, look->wait_count + 1,
                     sizeof *look->waits))
        return NULL;
    struct wait *wait = &look->waits[look->wait_count];
    *wait = (struct wait){.session = session, .mode = "", .object = "", .row = "", .began = ""};
    look->sessions[session].wait = (uint32_t)look->wait_count++;
    return wait;
}

bool look_push(struct look *look, const struct edge *edge)
{
    if (!memory_grow(&look->memory, &look->edges, &look->edge_room, look->edge_count + 1,
                     sizeof *look->edges))
        return false;
    look->edges[look->edge_count++] = *edge;
    return true;
}

bool look_edge(struct look *look, uint32_t wait, uint32_t holder, bool soft, const char *mode)
{
    if (look->waits[wait].session == holder)
        return true; /* a parallel query that waits for one of its own */
    for (size_t i = look->edge_count; i > 0 && look->edges[i - 1].wait == wait; i--)
        if (look->edges[i - 1].holder == holder)
            return true;
    const struct edge edge = {
        .wait = wait, .holder = holder, .soft = soft, .mode = mode, .lock = "", .began = ""};
    return look_push(look, &edge);
}

void look_identify(struct look *look, size_t first, const char *lock, const char *began)
{
    for (size_t i = first; i < look->edge_count; i++) {
        look->edges[i].lock = lock;
        look->edges[i].began = began;
    }
}

/* ------------------------------------------------------------------ the same as before */

static uint64_t stir_text(uint64_t key, const char *text)
{
    return hash_stir(key, hash_bytes(text, strlen(text)));
}

uint64_t look_identity(const struct session *session)
{
    uint64_t key = hash_word((uint64_t)session->pid + 1);
    key = stir_text(stir_text(key, session->started), session->id);
    return session->gid ? stir_text(key, session->gid) : key;
}

static uint64_t state_key(const struct session *session)
{
    return stir_text(stir_text(look_identity(session), session->changed), session->state);
}

static uint64_t edge_key(const struct look *look, const struct edge *edge)
{
    const struct wait *wait = &look->waits[edge->wait];
    uint64_t key = look_identity(&look->sessions[wait->session]);
    key = stir_text(stir_text(stir_text(key, wait->began), wait->object), wait->mode);
    return hash_stir(hash_stir(key, edge->own),
                     look_identity(&look->sessions[edge->holder]) + edge->soft + 2 * edge->guessed);
}

static uint64_t request_key(const struct look *look, const struct edge *edge)
{
    const struct wait *wait = &look->waits[edge->wait];
    const struct session *waiter = &look->sessions[wait->session];
    uint64_t key = stir_text(look_identity(waiter), waiter->transaction);
    key = stir_text(stir_text(key, waiter->statement), edge->lock);
    key = stir_text(stir_text(key, wait->object), wait->mode);
    return hash_stir(key, look_identity(&look->sessions[edge->holder]));
}

/* A key and since when it holds. */
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

/* What the look before knew, by key; NULL: nothing, or out of memory, when all is as if new. */
static struct known *list_known(const struct look *before, size_t *count)
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

void look_settle(struct look *look, const struct look *before)
{
    size_t count;
    struct known *known = list_known(before, &count);
    for (size_t i = 0; i < look->session_count; i++) {
        struct session *session = &look->sessions[i];
        session->key = state_key(session);
        session->since = since_of(known, count, session->key, look->answered);
    }
    for (size_t i = 0; i < look->edge_count; i++) {
        struct edge *edge = &look->edges[i];
        edge->key = edge_key(look, edge);
        edge->request = request_key(look, edge);
        edge->since = since_of(known, count, edge->key, look->answered);
    }
    memory_free(&before->memory, known);
    look->whole = true;
}

/* ------------------------------------------------------------------ who is behind whom */

size_t look_behind(const struct look *look, uint32_t session)
{
    bool *behind = memory_zeroed(&look->memory, look->session_count + 1);
    size_t count = 0;
    if (!behind)
        return 0;
    behind[session] = true;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < look->edge_count; i++) {
            uint32_t waiter = look->waits[look->edges[i].wait].session;
            if (!behind[look->edges[i].holder] || behind[waiter])
                continue;
            behind[waiter] = more = true;
            count++;
        }
    }
    memory_free(&look->memory, behind);
    return count;
}
