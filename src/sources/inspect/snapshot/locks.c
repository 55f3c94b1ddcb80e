#include "sources/inspect/snapshot/locks.h"

static uint64_t lock_hash(const struct snapshot_lock *lock)
{
    return hash_word(hash_word(lock->space) + lock->place * 31 + lock->kind);
}

static void refill_locks(const void *context, struct hash *table)
{
    const struct snapshot_locks *locks = context;
    for (size_t i = 0; i < locks->count; i++)
        hash_put(table, lock_hash(&locks->list[i]), (uint32_t)i);
}

uint32_t locks_intern(struct snapshot_locks *locks, const gordian_allocator *memory,
                      const struct snapshot_lock *lock)
{
    struct hash_probe probe = hash_probe(&locks->index, lock_hash(lock));
    while (hash_meet(&locks->index, &probe)) {
        const struct snapshot_lock *other = &locks->list[probe.number];
        if (other->space == lock->space && other->place == lock->place && other->kind == lock->kind)
            return probe.number;
    }
    uint32_t number = (uint32_t)locks->count;
    if (!hash_reserve(&locks->index, memory, number + 1, number + 1, refill_locks, locks) ||
        !memory_extend(memory, locks->list, locks->capacity, number))
        return UINT32_MAX;
    locks->list[locks->count++] = *lock;
    hash_put(&locks->index, lock_hash(lock), number);
    return number;
}

void locks_clear(struct snapshot_locks *locks, const gordian_allocator *memory)
{
    locks->count = 0;
    hash_free(&locks->index, memory);
}
