/*
 * The hash table: open addressing over slots of 32 bits. It holds numbers; their keys stay with the
 * caller, who hashes and compares them.
 *
 *     struct hash_probe probe = hash_probe(&table, hash);
 *     while (hash_meet(&table, &probe))
 *         if (the key of probe.number is the one looked for)
 *             return probe.number;
 *     return GORDIAN_NONE;
 *
 * A slot holds 1 + a number in its low bits and, in whatever bits are left above, a piece of its
 * key's hash, so that a search rarely has to touch another key.
 *
 * Tables of another kind are where the keys are states, as many as memory holds, and are the slots
 * themselves: engines/compose/cpu/hash.c, engines/makespan/exact/sweep_body.h and those of the
 * kernels.
 */
#pragma once

#include "foundation/base/memory.h"

#include <string.h>

#define HASH_MULTIPLIER_1 UINT64_C(0x9e3779b97f4a7c15)
#define HASH_MULTIPLIER_2 UINT64_C(0xd6e8feb86659fd93)

#define HASH_SMALL (UINT32_C(1) << 14) /* slots */

/* All zero is empty. */
struct hash {
    uint32_t *slots;     /* 0: free */
    uint32_t slot_count; /* a power of two, or 0 */
    uint32_t used;
    uint32_t mask; /* the bits of a slot that hold the number */
};

/* Puts all keys into a table that is empty and has room for them. */
typedef void hash_refill(const void *context, struct hash *table);

void hash_free(struct hash *table, const gordian_allocator *memory);
/* Makes room for `count` keys, all with numbers below `limit`; where there was too little, `refill`
 * puts the present ones again. False: out of memory, or too many; nothing changed. */
bool hash_grow(struct hash *table, const gordian_allocator *memory, uint32_t count, uint32_t limit,
               hash_refill *refill, const void *context);
/* Takes all keys out and puts those of `refill`, which are no more. */
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

/* The last chunk overlaps the one before it: no byte loop. */
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
    uint32_t slot;   /* the one at hand */
    uint32_t tag;    /* what the slot of such a key has above its number */
    uint32_t number; /* of the key met */
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

/* On to the next key that may be the one looked for; false: it is not there. */
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

/* Starts fetching what a search will look at first: lets the cache misses of two overlap. */
static inline void hash_expect(const struct hash *table, uint64_t hash)
{
    if (table->used > 0)
        __builtin_prefetch(&table->slots[hash_home(table, hash)]);
}

/* ------------------------------------------------------------------ changing */

/* How many keys so many slots take. Small tables are kept emptier: a search then rarely goes beyond
 * its first slot, which branches can foresee. */
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

/* Adds a key that is not there; there must be room. */
static inline void hash_put(struct hash *table, uint64_t hash, uint32_t number)
{
    uint32_t slot = hash_home(table, hash);
    while (table->slots[slot])
        slot = hash_after(table, slot);
    table->slots[slot] = hash_tag(table, hash) | (number + 1);
    table->used++;
}

/* Frees a slot and closes the gap: a key moves back unless that would put it before its home. */
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
