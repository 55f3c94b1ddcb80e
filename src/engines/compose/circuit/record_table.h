/* Interning of records: each is kept once, and numbered in the order they came. */
#pragma once

#include "foundation/base/hash.h"

/* One that is all zero but for its memory and size is empty. */
struct record_table {
    gordian_allocator memory;
    size_t size; /* of a record, in bytes */
    void *list;  /* the records, one after another */
    size_t room; /* bytes */
    uint32_t count;
    struct hash table;
};

void record_table_free(struct record_table *records);
/* The record's number, or GORDIAN_NONE; *hash: its hash, for record_table_add. */
uint32_t record_table_find(const struct record_table *records, const void *record, uint64_t *hash);
/* Adds a record that is not there. False: out of memory, nothing changed. */
bool record_table_add(struct record_table *records, const void *record, uint64_t hash);
