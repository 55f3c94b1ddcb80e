#include "foundation/base/hash.h"

#define SLOTS_MIN 16
#define SLOTS_MAX (UINT32_C(1) << 31)

void hash_free(struct hash *table, const gordian_allocator *memory)
{
    memory_free(memory, table->slots);
    *table = (struct hash){0};
}

void hash_renew(struct hash *table, hash_refill *refill, const void *context)
{
    if (table->slot_count == 0)
        return;
    memset(table->slots, 0, (size_t)table->slot_count * sizeof *table->slots);
    table->used = 0;
    refill(context, table);
}

bool hash_grow(struct hash *table, const gordian_allocator *memory, uint32_t count, uint32_t limit,
               hash_refill *refill, const void *context)
{
    uint32_t slot_count = table->slot_count ? table->slot_count : SLOTS_MIN;
    while (hash_room(slot_count) < count && slot_count < SLOTS_MAX)
        slot_count *= 2;
    if (hash_room(slot_count) < count)
        return false;
    if (slot_count != table->slot_count) {
        uint32_t *slots = memory_alloc(memory, (size_t)slot_count * sizeof *slots);
        if (!slots)
            return false;
        memory_large(slots, (size_t)slot_count * sizeof *slots);
        memset(slots, 0, (size_t)slot_count * sizeof *slots);
        memory_free(memory, table->slots);
        table->slots = slots;
        table->slot_count = slot_count;
    } else {
        memset(table->slots, 0, (size_t)slot_count * sizeof *table->slots);
    }
    table->used = 0;
    /* The smallest 2^k - 1 that holds 1 + every number below twice the `limit`: more numbers will
     * come before the table grows. */
    uint64_t mask = 0xff;
    while (mask < 2 * (uint64_t)limit && mask < UINT32_MAX)
        mask = mask << 1 | 1;
    table->mask = (uint32_t)mask;
    refill(context, table);
    return true;
}
