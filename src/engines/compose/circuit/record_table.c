/* Interning of records with a hash table (record_table.h). */
#include "engines/compose/circuit/record_table.h"

#include <string.h>

void record_table_free(struct record_table *records)
{
    hash_free(&records->table, &records->memory);
    memory_free(&records->memory, records->list);
    *records = (struct record_table){.memory = records->memory, .size = records->size};
}

static void put_records(const void *context, struct hash *table)
{
    const struct record_table *records = context;
    for (uint32_t i = 0; i < records->count; i++)
        hash_put(table, hash_bytes((char *)records->list + i * records->size, records->size), i);
}

uint32_t record_table_find(const struct record_table *records, const void *record, uint64_t *hash)
{
    *hash = hash_bytes(record, records->size);
    struct hash_probe probe = hash_probe(&records->table, *hash);
    while (hash_meet(&records->table, &probe))
        if (memcmp((char *)records->list + probe.number * records->size, record, records->size) ==
            0)
            return probe.number;
    return GORDIAN_NONE;
}

bool record_table_add(struct record_table *records, const void *record, uint64_t hash)
{
    uint32_t count = records->count + 1;
    if (!hash_reserve(&records->table, &records->memory, count, count, put_records, records) ||
        !memory_grow(&records->memory, &records->list, &records->room,
                     (size_t)count * records->size + 1, 1))
        return false;
    memcpy((char *)records->list + records->count * records->size, record, records->size);
    hash_put(&records->table, hash, records->count++);
    return true;
}
