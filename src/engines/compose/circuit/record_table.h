/* Interning of records: each is stored once and numbered in order of arrival. */
#pragma once

#include "foundation/base/hash.h"

/* A table is empty if everything except `memory` and `size` is zero. */
struct record_table {
    gordian_allocator memory;
    size_t size; /* of a record, in bytes */
    void *list;  /* the records, one after another */
    size_t room; /* bytes */
    uint32_t count;
    struct hash table;
};

void record_table_free(struct record_table *records);
/* Returns the record's number, or GORDIAN_NONE. *hash: its hash, for record_table_add. */
uint32_t record_table_find(const struct record_table *records, const void *record, uint64_t *hash);
/* Adds a new record. False: out of memory; nothing changed. */
bool record_table_add(struct record_table *records, const void *record, uint64_t hash);
