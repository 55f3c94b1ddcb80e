#include "run/locks.h"

#include "run/arena.h"
#include "run/guard.h"
#include "run/order.h"

#include <string.h>
#include <sys/prctl.h>

#define BUCKETS     (1u << 16)
#define ENTRIES     (1u << 18)
#define ORPHANS     1024u
#define COUNT_BITS  (1u << 20)
#define LONGEST_RUN 4096 /* of a bucket, before a reader without the guard gives up */

struct entry {
    uint32_t next; /* index + 1 */
    struct lock_info info;
};

static struct guard guard;
static _Atomic uint32_t changes; /* odd while an entry comes or goes */
static uint32_t *buckets;        /* index + 1 */
static struct entry *entries;
static uint32_t entries_used, free_entries; /* index + 1 */

static struct orphan *orphans;
static _Atomic uint32_t orphan_count; /* ever added; the table keeps the last ones */

static _Atomic uint64_t *count_bits;
static _Atomic uint64_t counted;

bool locks_start(void)
{
    buckets = pages_map(BUCKETS * sizeof *buckets);
    entries = pages_map(ENTRIES * sizeof *entries);
    orphans = pages_map(ORPHANS * sizeof *orphans);
    count_bits = pages_map(COUNT_BITS / 8);
    return buckets && entries && orphans && count_bits;
}

void locks_fork(void)
{
    atomic_store(&guard.word, 0);
    if (atomic_load(&changes) & 1)
        atomic_fetch_add(&changes, 1);
}

static inline uint32_t hash_of(uintptr_t lock)
{
    return (uint32_t)(((lock >> 3) * 0x9e3779b97f4a7c15u) >> 40);
}

/* ------------------------------------------------------------------ how many */

void locks_count(uintptr_t lock)
{
    uint32_t bit = (uint32_t)(((lock >> 2) * 0xd6e8feb86659fd93u) >> 44);
    uint64_t mask = (uint64_t)1 << (bit & 63);
    if (atomic_load_explicit(&count_bits[bit / 64], memory_order_relaxed) & mask)
        return;
    if (!(atomic_fetch_or_explicit(&count_bits[bit / 64], mask, memory_order_relaxed) & mask))
        atomic_fetch_add_explicit(&counted, 1, memory_order_relaxed);
}

/* Two locks on one bit count once: add about as many as that happened to. */
uint64_t locks_counted(void)
{
    uint64_t seen = atomic_load(&counted);
    return seen + seen * seen / (2 * (uint64_t)COUNT_BITS);
}

/* ------------------------------------------------------------------ entries */

/* Callers have the guard. */
static uint32_t *find_lock(uintptr_t lock)
{
    uint32_t *link = &buckets[hash_of(lock) % BUCKETS];
    while (*link && entries[*link - 1].info.lock != lock)
        link = &entries[*link - 1].next;
    return link;
}

static void remove_entry(uint32_t *link)
{
    uint32_t index = *link;
    atomic_fetch_add(&changes, 1);
    *link = entries[index - 1].next;
    entries[index - 1].next = free_entries;
    free_entries = index;
    atomic_fetch_add(&changes, 1);
}

/* NULL: the table is full, and the watcher off. */
static struct lock_info *need_entry(uintptr_t lock)
{
    uint32_t *link = find_lock(lock);
    if (*link)
        return &entries[*link - 1].info;
    uint32_t index = free_entries;
    if (index) {
        free_entries = entries[index - 1].next;
    } else if (entries_used < ENTRIES) {
        index = ++entries_used;
    } else {
        watch_off("too many locks at a time");
        return NULL;
    }
    struct entry *entry = &entries[index - 1];
    memset(&entry->info, 0, sizeof entry->info);
    entry->info.lock = lock;
    atomic_fetch_add(&changes, 1);
    entry->next = buckets[hash_of(lock) % BUCKETS];
    buckets[hash_of(lock) % BUCKETS] = index;
    atomic_fetch_add(&changes, 1);
    return &entry->info;
}

static void orphans_forget(uintptr_t low, size_t size)
{
    uint32_t count = atomic_load_explicit(&orphan_count, memory_order_relaxed);
    for (uint32_t i = 0; i < count && i < ORPHANS; i++)
        if (orphans[i].lock >= low && orphans[i].lock - low < size)
            orphans[i].lock = 0;
}

void lock_born(struct thread *t, const void *lock, uint32_t kind, uint32_t units, uint32_t flags,
               struct site site)
{
    uintptr_t address = (uintptr_t)lock;
    t->inside++;
    uint32_t i =
        held_find(t, address); /* initialised while held: that is how some survive a fork */
    if (i != UINT32_MAX)
        held_drop(t, i);
    guard_lock(&guard);
    orphans_forget(address, 1);
    struct lock_info *info = need_entry(address);
    if (info) {
        info->kind = kind;
        info->units = units;
        info->flags = LOCK_KNOWN | flags;
        info->name[0] = '\0';
        info->frames = walk(t, info->frame, watch.sites, site);
    }
    guard_unlock(&guard);
    order_forget(address, 1);
    inside_leave(t);
}

void lock_gone(struct thread *t, const void *lock, size_t size)
{
    t->inside++;
    guard_lock(&guard);
    uint32_t *link = find_lock((uintptr_t)lock);
    if (*link)
        remove_entry(link);
    orphans_forget((uintptr_t)lock, size);
    guard_unlock(&guard);
    order_forget((uintptr_t)lock, size);
    inside_leave(t);
}

void lock_mark(uintptr_t lock, uint32_t kind, uint32_t flags)
{
    guard_lock(&guard);
    struct lock_info *info = need_entry(lock);
    if (info) {
        info->kind = info->kind ? info->kind : kind;
        __atomic_fetch_or(&info->flags, flags, __ATOMIC_RELAXED);
    }
    guard_unlock(&guard);
}

/* Without the guard, unless the table is busy: asked at every wait on a semaphore. */
uint32_t lock_flags(uintptr_t lock)
{
    for (int attempt = 0; attempt < 4; attempt++) {
        uint32_t before = atomic_load_explicit(&changes, memory_order_acquire);
        uint32_t flags = 0, steps = 0;
        uint32_t at = __atomic_load_n(&buckets[hash_of(lock) % BUCKETS], __ATOMIC_RELAXED);
        for (; at && at <= ENTRIES && steps < LONGEST_RUN; steps++) {
            const struct entry *entry = &entries[at - 1];
            if (entry->info.lock == lock) {
                flags = __atomic_load_n(&entry->info.flags, __ATOMIC_RELAXED);
                break;
            }
            at = __atomic_load_n(&entry->next, __ATOMIC_RELAXED);
        }
        atomic_thread_fence(memory_order_acquire);
        if (!(before & 1) && steps < LONGEST_RUN &&
            atomic_load_explicit(&changes, memory_order_relaxed) == before)
            return flags;
    }
    guard_lock(&guard);
    uint32_t *link = find_lock(lock), flags = *link ? entries[*link - 1].info.flags : 0;
    guard_unlock(&guard);
    return flags;
}

bool lock_look(uintptr_t lock, struct lock_info *info)
{
    guard_lock(&guard);
    uint32_t *link = find_lock(lock);
    bool known = *link != 0;
    if (known)
        *info = entries[*link - 1].info;
    guard_unlock(&guard);
    return known;
}

void lock_name(const void *lock, const char *name)
{
    struct thread *t = self;
    if (t)
        t->inside++;
    guard_lock(&guard);
    struct lock_info *info = need_entry((uintptr_t)lock);
    if (info) {
        size_t length = strnlen(name, sizeof info->name - 1);
        memcpy(info->name, name, length);
        info->name[length] = '\0';
    }
    guard_unlock(&guard);
    if (t)
        inside_leave(t);
}

/* ------------------------------------------------------------------ orphans */

void orphans_add(const struct thread *t, bool forked)
{
    char name[16] = "";
    if (!forked)
        prctl(PR_GET_NAME, name);
    guard_lock(&guard);
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t at = atomic_fetch_add(&orphan_count, 1) % ORPHANS;
        struct orphan *orphan = &orphans[at];
        orphan->lock = t->held[i].lock;
        orphan->tid = t->tid;
        orphan->forked = forked;
        memcpy(orphan->name, name, sizeof name);
        orphan->held = t->held[i];
    }
    guard_unlock(&guard);
}

bool orphans_find(uintptr_t lock, uint32_t tid, struct orphan *orphan)
{
    if (!orphans_any())
        return false;
    bool found = false;
    guard_lock(&guard);
    uint32_t count = atomic_load(&orphan_count);
    for (uint32_t i = 0; i < count && i < ORPHANS && !found; i++) {
        found = orphans[i].lock == lock && (!tid || orphans[i].tid == tid);
        if (found)
            *orphan = orphans[i];
    }
    guard_unlock(&guard);
    return found;
}

bool orphans_any(void)
{
    return atomic_load_explicit(&orphan_count, memory_order_relaxed) != 0;
}

uint32_t orphans_readers(uintptr_t lock)
{
    uint32_t readers = 0;
    if (!orphans_any())
        return 0;
    guard_lock(&guard);
    uint32_t count = atomic_load(&orphan_count);
    for (uint32_t i = 0; i < count && i < ORPHANS; i++)
        if (orphans[i].lock == lock && orphans[i].held.mode == INCIDENT_READ)
            readers += orphans[i].held.units;
    guard_unlock(&guard);
    return readers;
}
