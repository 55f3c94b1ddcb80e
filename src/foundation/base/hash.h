/*
 * Hash table with open addressing over slots of 32 bits. It holds numbers; the caller stores,
 * hashes
 * and compares their keys.
 *
 *     struct hash_probe probe = hash_probe(&table, hash);
 *     while (hash_meet(&table, &probe))
 *         if (the key of probe.number is the one searched for)
 *             return probe.number;
 *     return GORDIAN_NONE;
 *
 * The low bits of a slot are 1 + a number. The bits above are part of the key's hash, so that a
 * search rarely has to compare another key.
 *
 * Tables whose keys are states, and which use all memory, are different: see
 * engines/compose/cpu/hash.c, engines/makespan/exact/sweep_body.h and the kernels.
 */
#pragma once

#include "foundation/base/memory.h"

#include <string.h>

#define HASH_MULTIPLIER_1 UINT64_C(0x9e3779b97f4a7c15)
#define HASH_MULTIPLIER_2 UINT64_C(0xd6e8feb86659fd93)

#define HASH_SMALL (UINT32_C(1) << 14) /* slots */

/* All zeros is an empty table. */
struct hash {
    uint32_t *slots;     /* 0: free */
    uint32_t slot_count; /* a power of two, or 0 */
    uint32_t used;
    uint32_t mask; /* the bits of a slot that hold the number */
};

/* Adds all keys to an empty table with enough capacity. */
typedef void hash_refill(const void *context, struct hash *table);

void hash_free(struct hash *table, const gordian_allocator *memory);
/* Reserves capacity for `count` keys with numbers below `limit`. If the table grows, `refill` adds
 * the present keys again. False: out of memory, or too many keys; nothing changed. */
bool hash_grow(struct hash *table, const gordian_allocator *memory, uint32_t count, uint32_t limit,
               hash_refill *refill, const void *context);
/* Removes all keys and adds the keys of `refill`, which must not be more. */
void hash_renew(struct hash *table, hash_refill *refill, const void *context);

/* ------------------------------------------------------------------ hashing */

static inline uint64_t hash_load64(const char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline uint32_t hash_load32(const char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline uint64_t hash_stir(uint64_t hash, uint64_t chunk)
{
    hash = (hash ^ chunk) * HASH_MULTIPLIER_1;
    return hash ^ hash >> 29;
}

/* The last chunk overlaps the previous one, which avoids a loop over single bytes. */
static inline uint64_t hash_bytes(const void *key, size_t length)
{
    const char *bytes = key;
    uint64_t hash = length * HASH_MULTIPLIER_2;
    if (length >= 8) {
        for (size_t at = 0; at + 8 < length; at += 8)
            hash = hash_stir(hash, hash_load64(bytes + at));
        hash = hash_stir(hash, hash_load64(bytes + (length - 8)));
    } else if (length >= 4) {
        hash =
            hash_stir(hash, (uint64_t)hash_load32(bytes) << 32 | hash_load32(bytes + (length - 4)));
    } else if (length > 0) {
        const unsigned char *few = key;
        uint64_t middle = few[length / 2], last = few[length - 1];
        hash = hash_stir(hash, few[0] | middle << 8 | last << 16);
    }
    hash *= HASH_MULTIPLIER_2;
    return hash ^ hash >> 32;
}

static inline uint64_t hash_word(uint64_t word)
{
    word = (word ^ word >> 31) * HASH_MULTIPLIER_1;
    return word ^ word >> 32;
}

/* ------------------------------------------------------------------ searching */

struct hash_probe {
    uint32_t slot;   /* the current slot */
    uint32_t tag;    /* the bits above the number in the slot of such a key */
    uint32_t number; /* of the key that was found */
};

static inline uint32_t hash_home(const struct hash *table, uint64_t hash)
{
    return (uint32_t)hash & (table->slot_count - 1);
}

static inline uint32_t hash_after(const struct hash *table, uint32_t slot)
{
    return (slot + 1) & (table->slot_count - 1);
}

static inline uint32_t hash_tag(const struct hash *table, uint64_t hash)
{
    return (uint32_t)(hash >> 32) & ~table->mask;
}

static inline struct hash_probe hash_probe(const struct hash *table, uint64_t hash)
{
    return (struct hash_probe){.slot = hash_home(table, hash) - 1, .tag = hash_tag(table, hash)};
}

/* Moves on to the next key that may match; false: there is none. */
static inline bool hash_meet(const struct hash *table, struct hash_probe *probe)
{
    if (table->used == 0)
        return false;
    for (;;) {
        probe->slot = hash_after(table, probe->slot);
        uint32_t value = table->slots[probe->slot];
        if (value == 0)
            return false;
        if ((value & ~table->mask) == probe->tag) {
            probe->number = (value & table->mask) - 1;
            return true;
        }
    }
}

/* Prefetches the first slot of a search, so that the cache misses of several searches overlap. */
static inline void hash_expect(const struct hash *table, uint64_t hash)
{
    if (table->used > 0)
        __builtin_prefetch(&table->slots[hash_home(table, hash)]);
}

/* ------------------------------------------------------------------ changing */

/* Number of keys that fit into this many slots. Small tables are kept emptier: then a search rarely
 * goes beyond its first slot, and branches are predictable. */
static inline uint32_t hash_room(uint32_t slot_count)
{
    return slot_count <= HASH_SMALL ? slot_count / 4 : slot_count / 4 * 3;
}

static inline bool hash_reserve(struct hash *table, const gordian_allocator *memory, uint32_t count,
                                uint32_t limit, hash_refill *refill, const void *context)
{
    return (count <= hash_room(table->slot_count) && limit <= table->mask) ||
           hash_grow(table, memory, count, limit, refill, context);
}

/* Adds a key that is not in the table. There must be capacity. */
static inline void hash_put(struct hash *table, uint64_t hash, uint32_t number)
{
    uint32_t slot = hash_home(table, hash);
    while (table->slots[slot])
        slot = hash_after(table, slot);
    table->slots[slot] = hash_tag(table, hash) | (number + 1);
    table->used++;
}

/* Frees a slot and closes the gap: moves later keys back, but never before their home slot. */
static inline void hash_remove(struct hash *table, uint32_t gap,
                               uint64_t (*hash_of)(const void *context, uint32_t number),
                               const void *context)
{
    uint32_t around = table->slot_count - 1, value;
    for (uint32_t slot = hash_after(table, gap); (value = table->slots[slot]) != 0;
         slot = hash_after(table, slot)) {
        uint32_t home = hash_home(table, hash_of(context, (value & table->mask) - 1));
        if (((slot - home) & around) < ((slot - gap) & around))
            continue;
        table->slots[gap] = value;
        gap = slot;
    }
    table->slots[gap] = 0;
    table->used--;
}
