#include "sources/run/locks/lock_registry.h"

#include "sources/run/state/arena.h"
#include "sources/run/state/guard.h"
#include "sources/run/state/message.h"
#include "sources/run/state/system_call.h"

#include <string.h>
#include <sys/prctl.h>

#define BUCKETS     (1u << 16) /* initially */
#define CHUNK       (1u << 12) /* entries allocated at a time */
#define CHUNKS      (1u << 20)
#define ORPHANS     1024u
#define COUNT_BITS  (1u << 20)
#define LONGEST_RUN 4096 /* steps in a bucket before a reader without the guard gives up */

struct entry {
    uint32_t next; /* index + 1 */
    struct lock_info info;
};

static struct guard guard;
static _Atomic uint32_t changes; /* odd during changes */
static struct table {
    uint32_t count;    /* a power of two */
    uint32_t bucket[]; /* index + 1 */
} * table;
static struct entry **chunks;
static uint32_t entries_used, free_entries; /* index + 1 */

static struct orphan *orphans;
static _Atomic uint32_t orphan_count; /* total ever added; the table keeps the last ones */

static _Atomic uint64_t *count_bits;
static _Atomic uint64_t counted;

static struct table *map_buckets(uint32_t count)
{
    struct table *made = pages_map(sizeof *made + count * sizeof *made->bucket);
    if (made)
        made->count = count;
    return made;
}

bool locks_start(void)
{
    table = map_buckets(BUCKETS);
    chunks = pages_map(CHUNKS * sizeof *chunks);
    orphans = pages_map(ORPHANS * sizeof *orphans);
    count_bits = pages_map(COUNT_BITS / 8);
    return table && chunks && orphans && count_bits;
}

void locks_fork(void)
{
    atomic_store(&guard.word, 0);
    if (atomic_load(&changes) & 1)
        atomic_fetch_add(&changes, 1);
}

bool locks_stop(void)
{
    return guard_take_soon(&guard);
}

void locks_go_on(void)
{
    guard_drop(&guard);
}

/* ------------------------------------------------------------------ statistics */

void locks_count(uintptr_t lock)
{
    uint32_t bit = (uint32_t)(((lock >> 2) * 0xd6e8feb86659fd93u) >> 44);
    uint64_t mask = (uint64_t)1 << (bit & 63);
    if (atomic_load_explicit(&count_bits[bit / 64], memory_order_relaxed) & mask)
        return;
    if (atomic_fetch_or_explicit(&count_bits[bit / 64], mask, memory_order_relaxed) & mask)
        return;
    atomic_fetch_add_explicit(&counted, 1, memory_order_relaxed);
    /* Count at once: the program may end at any time. */
    __atomic_fetch_add(&watch.tally->locks, 1, __ATOMIC_RELAXED);
}

/* Two locks with the same bit are counted once: add the expected number of such pairs. */
uint64_t locks_counted(void)
{
    uint64_t seen = atomic_load(&counted);
    return seen + seen * seen / (2 * (uint64_t)COUNT_BITS);
}

/* ------------------------------------------------------------------ entries */

static uint32_t *registry_bucket(struct table *in, uintptr_t lock)
{
    uint32_t hash = (uint32_t)(((lock >> 3) * 0x9e3779b97f4a7c15u) >> 32);
    return &in->bucket[hash & (in->count - 1)];
}

/* `index` is the index + 1. */
static struct entry *registry_entry(uint32_t index)
{
    return &chunks[(index - 1) / CHUNK][(index - 1) % CHUNK];
}

/* Callers have the guard. */
static uint32_t *find_lock_entry(uintptr_t lock)
{
    uint32_t *link = registry_bucket(table, lock);
    while (*link && registry_entry(*link)->info.lock != lock)
        link = &registry_entry(*link)->next;
    return link;
}

/* Doubles the buckets. Without memory for them, searches take longer. The old table stays, since
 * other threads may read it. */
static void grow_registry(void)
{
    struct table *old = table, *grown = old->count < 1u << 31 ? map_buckets(old->count * 2) : NULL;
    if (!grown)
        return;
    atomic_fetch_add(&changes, 1);
    for (uint32_t i = 0; i < old->count; i++)
        for (uint32_t at = old->bucket[i]; at;) {
            struct entry *entry = registry_entry(at);
            uint32_t next = entry->next, *bucket = registry_bucket(grown, entry->info.lock);
            entry->next = *bucket;
            *bucket = at;
            at = next;
        }
    __atomic_store_n(&table, grown, __ATOMIC_RELEASE);
    atomic_fetch_add(&changes, 1);
}

/* Returns an unused entry as index + 1; 0: out of memory. */
static uint32_t take_unused_entry(void)
{
    uint32_t index = free_entries;
    if (index) {
        free_entries = registry_entry(index)->next;
        return index;
    }
    uint32_t chunk = entries_used / CHUNK;
    if (entries_used % CHUNK == 0) {
        void *pages = chunk < CHUNKS - 1 ? pages_map(CHUNK * sizeof(struct entry)) : NULL;
        if (!pages)
            return 0;
        __atomic_store_n(&chunks[chunk], pages, __ATOMIC_RELEASE);
    }
    if (entries_used / 2 > table->count)
        grow_registry();
    return ++entries_used;
}

static void remove_entry(uint32_t *link)
{
    uint32_t index = *link;
    atomic_fetch_add(&changes, 1);
    *link = registry_entry(index)->next;
    registry_entry(index)->next = free_entries;
    free_entries = index;
    atomic_fetch_add(&changes, 1);
}

/* NULL: out of memory, and the watcher is off. */
static struct lock_info *need_entry(uintptr_t lock)
{
    uint32_t *link = find_lock_entry(lock);
    if (*link)
        return &registry_entry(*link)->info;
    uint32_t index = take_unused_entry();
    if (!index) {
        watch_off("out of memory for the registry of locks");
        return NULL;
    }
    struct entry *entry = registry_entry(index);
    memset(&entry->info, 0, sizeof entry->info);
    entry->info.lock = lock;
    atomic_fetch_add(&changes, 1);
    uint32_t *bucket = registry_bucket(table, lock);
    entry->next = *bucket;
    *bucket = index;
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

void locks_enter(const struct thread *t, uintptr_t lock, uint32_t kind, uint32_t units,
                 uint32_t flags, struct site site)
{
    guard_lock(&guard);
    orphans_forget(lock, 1);
    struct lock_info *info = need_entry(lock);
    if (info) {
        info->kind = kind;
        info->units = units;
        info->flags = LOCK_KNOWN | flags;
        info->name[0] = '\0';
        info->frames = walk(t, info->frame, watch.sites, site);
    }
    guard_unlock(&guard);
}

void locks_remove(uintptr_t lock, size_t size)
{
    guard_lock(&guard);
    uint32_t *link = find_lock_entry(lock);
    if (*link)
        remove_entry(link);
    orphans_forget(lock, size);
    guard_unlock(&guard);
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

/* Reads without the guard, unless the table is changing: used at every semaphore wait. */
uint32_t lock_flags(uintptr_t lock)
{
    for (int attempt = 0; attempt < 4; attempt++) {
        uint32_t before = atomic_load_explicit(&changes, memory_order_acquire);
        uint32_t flags = 0, steps = 0;
        struct table *in = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
        uint32_t at = __atomic_load_n(registry_bucket(in, lock), __ATOMIC_RELAXED);
        for (; at && steps < LONGEST_RUN; steps++) {
            const struct entry *entry = registry_entry(at);
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
    uint32_t *link = find_lock_entry(lock), flags = *link ? registry_entry(*link)->info.flags : 0;
    guard_unlock(&guard);
    return flags;
}

bool lock_look(uintptr_t lock, struct lock_info *info)
{
    guard_lock(&guard);
    uint32_t *link = find_lock_entry(lock);
    bool known = *link != 0;
    if (known)
        *info = registry_entry(*link)->info;
    guard_unlock(&guard);
    return known;
}

void lock_set_name(const void *lock, const char *name)
{
    struct thread *t = self;
    struct shield shield;
    work_begin(t, &shield);
    guard_lock(&guard);
    struct lock_info *info = need_entry((uintptr_t)lock);
    if (info) {
        size_t length = strnlen(name, sizeof info->name - 1);
        memcpy(info->name, name, length);
        info->name[length] = '\0';
    }
    guard_unlock(&guard);
    work_end(t, &shield);
}

/* ------------------------------------------------------------------ orphans */

void orphans_add(const struct thread *t, bool forked)
{
    char name[16] = "";
    if (!forked)
        sys_call(SYS_prctl, PR_GET_NAME, name);
    guard_lock(&guard);
    for (uint32_t i = 0; i < holds_of(t); i++) {
        if (t->held[i].units == 0)
            continue;
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
