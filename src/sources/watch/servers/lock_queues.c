/* Reconstructs the lock queues of PostgreSQL from the rows of pg_locks. */
#include "sources/watch/servers/lock_queues.h"

#include "foundation/base/sort.h"

#include <stdlib.h>

#define NONE UINT32_MAX
#define UNPLACED                                                                                   \
    "waits in a queue in which its position matters, and there are more such sessions than one "   \
    "scan checks: try again when fewer sessions wait"

/* ------------------------------------------------------------------ lock modes */

/* Which modes conflict: bit m of a mode's word. */
enum { MODES = 8 };
static const char *const modes[MODES] = {
    "AccessShareLock", "RowShareLock",          "RowExclusiveLock", "ShareUpdateExclusiveLock",
    "ShareLock",       "ShareRowExclusiveLock", "ExclusiveLock",    "AccessExclusiveLock",
};
static const unsigned char conflicts[MODES] = {
    1 << 7, 0xC0, 0xF0, 0xF8, 0xEC, 0xFC, 0xFE, 0xFF,
};

static int mode_number(const char *mode)
{
    for (int i = 0; i < MODES; i++)
        if (strcmp(modes[i], mode) == 0)
            return i;
    return -1;
}

/* ------------------------------------------------------------------ rows */

struct holder {
    int64_t leader;
    const char *gid;
    uint32_t session; /* NONE: it blocks no waiter */
    uint32_t next;    /* next holder of the same lock */
    unsigned char held;
};

struct waiter {
    int64_t leader;
    uint32_t lock, session, wait;
    uint32_t before, after;  /* neighbours in the queue of the same lock */
    const uint32_t *ahead;   /* sessions that the server reports as blockers, sorted; NULL: not
                                asked */
    size_t ahead_count;      /* length of `ahead` */
    struct queue_wait about; /* the row of the wait, valid until queues_settle */
    const char *began;       /* copy */
    uint64_t key;            /* distinguishes waits of one parallel query */
    unsigned char mode;
    unsigned char own;   /* modes of the lock that the session itself holds */
    unsigned char reach; /* held modes that block it, directly or through waiters ahead */
};

struct queue_lock {
    const char *tag;
    uint32_t first_holder, last_holder, first_waiter, last_waiter;
    unsigned char held, blocked; /* held modes; modes that block some waiter */
};

struct queues {
    struct scan *scan;
    struct holder *holders;
    struct waiter *waiters;
    struct queue_lock *locks;
    uint32_t holder_count, waiter_count, lock_count;
    struct hash index; /* of locks, by tag */
    bool *blocks;      /* by session: it blocks a waiter */
    uint32_t *pushed;  /* by session: 1 + the last wait with an edge to it */
};

struct queues *queues_open(struct scan *scan, size_t rows)
{
    struct queues *queues = scan_alloc(scan, sizeof *queues);
    if (!queues)
        return NULL;
    *queues = (struct queues){
        .scan = scan,
        .holders = scan_alloc(scan, (rows + 1) * sizeof *queues->holders),
        .waiters = scan_alloc(scan, (rows + 1) * sizeof *queues->waiters),
        .locks = scan_alloc(scan, (rows + 1) * sizeof *queues->locks),
    };
    return queues;
}

static void refill_locks(const void *context, struct hash *index)
{
    const struct queues *queues = context;
    for (uint32_t i = 0; i < queues->lock_count; i++)
        hash_put(index, hash_bytes(queues->locks[i].tag, strlen(queues->locks[i].tag)), i);
}

/* Returns the lock with this tag; adds it if it is new. NONE: out of memory. */
static uint32_t find_lock(struct queues *queues, const char *tag)
{
    uint64_t hash = hash_bytes(tag, strlen(tag));
    struct hash_probe probe = hash_probe(&queues->index, hash);
    while (hash_meet(&queues->index, &probe))
        if (strcmp(queues->locks[probe.number].tag, tag) == 0)
            return probe.number;
    uint32_t number = queues->lock_count;
    const char *copy = scan_text(queues->scan, tag);
    if (!hash_reserve(&queues->index, &queues->scan->memory, number + 1, number + 1, refill_locks,
                      queues)) {
        queues->scan->failed = true;
        return NONE;
    }
    hash_put(&queues->index, hash, number);
    queues->locks[queues->lock_count++] = (struct queue_lock){
        .tag = copy,
        .first_holder = NONE,
        .last_holder = NONE,
        .first_waiter = NONE,
        .last_waiter = NONE,
    };
    return number;
}

void queues_hold(struct queues *queues, const char *tag, int64_t leader, const char *gid,
                 const char *mode)
{
    uint32_t number = find_lock(queues, tag);
    int held = mode_number(mode);
    if (number == NONE || held < 0)
        return;
    struct queue_lock *lock = &queues->locks[number];
    struct holder *last = lock->last_holder == NONE ? NULL : &queues->holders[lock->last_holder];
    bool same = last && last->leader == leader && (leader || (gid && strcmp(last->gid, gid) == 0));
    lock->held |= (unsigned char)(1 << held);
    if (same) { /* rows of one session are adjacent */
        last->held |= (unsigned char)(1 << held);
        return;
    }
    queues->holders[queues->holder_count] =
        (struct holder){.leader = leader,
                        .gid = leader ? NULL : scan_text(queues->scan, gid ? gid : "?"),
                        .session = NONE,
                        .next = NONE,
                        .held = (unsigned char)(1 << held)};
    *(last ? &last->next : &lock->first_holder) = queues->holder_count;
    lock->last_holder = queues->holder_count++;
}

void queues_wait(struct queues *queues, const char *tag, const struct queue_wait *wait)
{
    uint32_t number = find_lock(queues, tag);
    int mode = mode_number(wait->mode);
    if (number == NONE || mode < 0)
        return;
    /* The workers of a parallel query wait for several things. The key identifies the wait of each
     * edge. */
    uint64_t key = hash_bytes(wait->object, strlen(wait->object));
    key = hash_stir(key, hash_bytes(wait->began, strlen(wait->began)));
    key = hash_stir(key, hash_bytes(wait->mode, strlen(wait->mode)));
    struct queue_lock *lock = &queues->locks[number];
    queues->waiters[queues->waiter_count] = (struct waiter){
        .leader = wait->leader,
        .lock = number,
        .before = lock->last_waiter,
        .about = *wait,
        .key = key,
        .mode = (unsigned char)mode,
    };
    lock->last_waiter = queues->waiter_count++;
    lock->blocked |= conflicts[mode];
}

/* ------------------------------------------------------------------ sessions */

/* Of the workers of a parallel query, only the longest wait is shown. */
static void begin_wait(struct queues *queues, struct waiter *waiter)
{
    struct scan *scan = queues->scan;
    const struct queue_wait *about = &waiter->about;
    waiter->session = scan_session(scan, waiter->leader, NULL);
    waiter->began = scan_text(scan, about->began);
    if (waiter->session == SCAN_NONE)
        return;
    waiter->wait = scan->sessions[waiter->session].wait;
    if (waiter->wait != SCAN_NONE)
        return;
    struct wait *wait = scan_wait(scan, waiter->session);
    if (!wait)
        return;
    wait->mode = modes[waiter->mode];
    wait->object = scan_text(scan, about->object);
    wait->row = scan_text(scan, about->row);
    wait->began = waiter->began;
    wait->age_s = about->age_s;
    waiter->wait = scan->sessions[waiter->session].wait;
}

static void add_holder_sessions(struct queues *queues, const struct queue_lock *lock)
{
    for (uint32_t i = lock->first_holder; i != NONE; i = queues->holders[i].next) {
        struct holder *holder = &queues->holders[i];
        if (holder->held & lock->blocked)
            holder->session = scan_session(queues->scan, holder->leader, holder->gid);
        if (holder->session != NONE && !holder->leader)
            queues->scan->sessions[holder->session].state = "prepared transaction";
    }
}

/* Notes which modes the waiters of a lock hold themselves. `held` has an element for each session,
 * which is zero before and after. */
static void note_own(struct queues *queues, const struct queue_lock *lock, unsigned char *held)
{
    for (uint32_t i = lock->first_holder; i != NONE; i = queues->holders[i].next)
        if (queues->holders[i].session != NONE) {
            held[queues->holders[i].session] = queues->holders[i].held;
            queues->blocks[queues->holders[i].session] = true;
        }
    for (uint32_t i = lock->last_waiter; i != NONE; i = queues->waiters[i].before)
        queues->waiters[i].own = held[queues->waiters[i].session];
    for (uint32_t i = lock->first_holder; i != NONE; i = queues->holders[i].next)
        if (queues->holders[i].session != NONE)
            held[queues->holders[i].session] = 0;
}

/* ------------------------------------------------------------------ queue positions */

/* Adds a session at the end of the queue, unless it holds a mode that a waiter needs. Then the
 * session goes before the first such waiter, like the server does it. */
static void join_queue(struct queues *queues, uint32_t number)
{
    struct waiter *waiter = &queues->waiters[number];
    struct queue_lock *lock = &queues->locks[waiter->lock];
    uint32_t after = waiter->own ? lock->first_waiter : NONE;
    while (after != NONE && !(conflicts[queues->waiters[after].mode] & waiter->own))
        after = queues->waiters[after].after;
    waiter->after = after;
    waiter->before = after == NONE ? lock->last_waiter : queues->waiters[after].before;
    *(after == NONE ? &lock->last_waiter : &queues->waiters[after].before) = number;
    *(waiter->before == NONE ? &lock->first_waiter : &queues->waiters[waiter->before].after) =
        number;
}

/* A walk from a waiter over the entries ahead of it, which finds those that block it. */
struct walk {
    uint32_t at;
    unsigned char covered; /* modes whose remaining waiters all block a waiter that was visited */
};

static bool is_ahead(const struct waiter *waiter, uint32_t session)
{
    size_t low = 0, high = waiter->ahead_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (waiter->ahead[middle] < session)
            low = middle + 1;
        else
            high = middle;
    }
    return low < waiter->ahead_count && waiter->ahead[low] == session;
}

static struct walk begin_walk(const struct queues *queues, const struct waiter *waiter)
{
    bool asked = waiter->ahead;
    return (struct walk){.at = asked ? queues->locks[waiter->lock].last_waiter : waiter->before};
}

/* Returns the next waiter ahead; NULL: there are no more. Returns every waiter that the server has
 * named. */
static const struct waiter *next_ahead(const struct queues *queues, const struct waiter *waiter,
                                       struct walk *walk)
{
    while (walk->at != NONE && (waiter->ahead || conflicts[waiter->mode] & ~walk->covered)) {
        const struct waiter *other = &queues->waiters[walk->at];
        walk->at = other->before;
        if (other->session == waiter->session || !(conflicts[waiter->mode] >> other->mode & 1))
            continue;
        if (waiter->ahead ? !is_ahead(waiter, other->session) : walk->covered >> other->mode & 1)
            continue;
        walk->covered |= conflicts[other->mode];
        return other;
    }
    return NULL;
}

/* Computes the held modes that block a waiter, directly or through those ahead. Requires the same
 * of the waiters ahead. */
static void find_reach(struct queues *queues, struct waiter *waiter)
{
    struct walk walk = begin_walk(queues, waiter);
    const struct waiter *other;
    waiter->reach = conflicts[waiter->mode];
    while ((other = next_ahead(queues, waiter, &walk)))
        waiter->reach |= other->reach;
}

/* Does the position in the queue matter? It does if some holder blocks the waiters ahead but not
 * this waiter. */
static bool position_matters(const struct queues *queues, const struct waiter *waiter)
{
    const struct queue_lock *lock = &queues->locks[waiter->lock];
    if (!(lock->held & waiter->reach & ~conflicts[waiter->mode]))
        return false;
    for (uint32_t i = lock->first_holder; i != NONE; i = queues->holders[i].next) {
        const struct holder *holder = &queues->holders[i];
        if ((holder->held & waiter->reach) && !(holder->held & conflicts[waiter->mode]))
            return true;
    }
    return false;
}

void queues_settle(struct queues *queues)
{
    struct scan *scan = queues->scan;
    for (uint32_t i = 0; i < queues->waiter_count; i++)
        begin_wait(queues, &queues->waiters[i]);
    for (uint32_t i = 0; i < queues->lock_count; i++)
        add_holder_sessions(queues, &queues->locks[i]);
    hash_free(&queues->index, &scan->memory);
    queues->blocks = scan_alloc(scan, scan->session_count + 1);
    unsigned char *held = scan_alloc(scan, scan->session_count + 1);
    if (scan->failed)
        return;
    for (uint32_t i = 0; i < queues->lock_count; i++)
        note_own(queues, &queues->locks[i], held);
    for (uint32_t i = 0; i < queues->lock_count; i++)
        queues->locks[i].last_waiter = NONE;
    for (uint32_t i = 0; i < queues->waiter_count; i++)
        join_queue(queues, i);
    for (uint32_t i = 0; i < queues->lock_count; i++)
        for (uint32_t k = queues->locks[i].first_waiter; k != NONE; k = queues->waiters[k].after)
            find_reach(queues, &queues->waiters[k]);
}

/* ------------------------------------------------------------------ checking positions */

/* Returns the priority of a check. 0: its client also waits elsewhere; 1: another session waits for
 * it; 2: neither. */
static unsigned rank_of(const struct queues *queues, const struct waiter *waiter)
{
    const struct scan *before = queues->scan->before;
    uint32_t number = before ? scan_find(before, waiter->leader, NULL) : SCAN_NONE;
    if (number != SCAN_NONE && before->sessions[number].linked)
        return 0;
    return queues->blocks[waiter->session] ? 1 : 2;
}

size_t queues_check(struct queues *queues, int64_t pids[QUEUES_CHECKS])
{
    size_t count = 0;
    for (unsigned rank = 0; rank < 3; rank++)
        for (uint32_t i = 0; i < queues->waiter_count; i++) {
            const struct waiter *waiter = &queues->waiters[i];
            if (rank_of(queues, waiter) != rank || !position_matters(queues, waiter))
                continue;
            if (count < QUEUES_CHECKS)
                pids[count++] = waiter->leader;
            else if (rank < 2)
                queues->scan->sessions[waiter->session].unseen = UNPLACED;
        }
    return count;
}

void queues_ahead(struct queues *queues, int64_t leader, const char *blockers)
{
    struct scan *scan = queues->scan;
    size_t count = 0, capacity = strlen(blockers) / 2 + 1;
    uint32_t *ahead = scan_alloc(scan, capacity * sizeof *ahead);
    if (!ahead)
        return;
    for (const char *at = blockers; *at && count < capacity;) {
        char *end;
        at += strspn(at, "{},");
        int64_t pid = strtoll(at, &end, 10);
        if (end == at)
            break;
        at = end;
        uint32_t session = pid ? scan_find(scan, pid, NULL) : SCAN_NONE;
        if (session != SCAN_NONE)
            ahead[count++] = session;
    }
    sort_u32(ahead, count);
    for (uint32_t i = 0; i < queues->waiter_count; i++)
        if (queues->waiters[i].leader == leader) {
            queues->waiters[i].ahead = ahead;
            queues->waiters[i].ahead_count = count;
        }
}

/* ------------------------------------------------------------------ edges */

static void push_edge(struct queues *queues, const struct waiter *waiter, uint32_t holder,
                      struct edge edge)
{
    edge.wait = waiter->wait;
    edge.holder = holder;
    edge.own = waiter->key;
    edge.lock = queues->locks[waiter->lock].tag;
    edge.began = waiter->began;
    if (holder == waiter->session || queues->pushed[holder] == waiter->wait + 1)
        return; /* a worker that waits for its own parallel query, or an edge that exists already */
    queues->pushed[holder] = waiter->wait + 1;
    scan_push(queues->scan, &edge);
}

/* Adds edges to the holders. The mode of an edge is the strongest conflicting mode. */
static void add_holders(struct queues *queues, const struct waiter *waiter)
{
    const struct queue_lock *lock = &queues->locks[waiter->lock];
    if (!(lock->held & conflicts[waiter->mode]))
        return;
    for (uint32_t i = lock->first_holder; i != NONE; i = queues->holders[i].next) {
        unsigned held = queues->holders[i].held & conflicts[waiter->mode];
        if (held)
            push_edge(queues, waiter, queues->holders[i].session,
                      (struct edge){.mode = modes[31 - __builtin_clz(held)]});
    }
}

static void add_ahead(struct queues *queues, const struct waiter *waiter)
{
    struct walk walk = begin_walk(queues, waiter);
    bool guessed = !waiter->ahead && position_matters(queues, waiter);
    const struct waiter *other;
    while ((other = next_ahead(queues, waiter, &walk)))
        push_edge(queues, waiter, other->session,
                  (struct edge){.soft = true, .mode = modes[other->mode], .guessed = guessed});
}

void queues_edges(struct queues *queues)
{
    struct scan *scan = queues->scan;
    queues->pushed = scan_alloc(scan, (scan->session_count + 1) * sizeof *queues->pushed);
    for (uint32_t i = 0; i < queues->waiter_count && !scan->failed; i++) {
        add_holders(queues, &queues->waiters[i]);
        add_ahead(queues, &queues->waiters[i]);
    }
}
