/* JSON from the service: access to members, and deadlocks for drawing. */
#pragma once

#include "foundation/base/io/output.h"
#include "foundation/base/json/value.h"
#include "foundation/base/names/interner.h"
#include "output/show/graph.h"
#include "output/show/style.h"

/* Parses into a new arena, which the caller frees. Invalid JSON is NULL, which has no members. */
const struct value *told_read(struct arena *arena, const char *text, size_t length);
/* Returns a string or number member; "" or 0: none. */
const char *told_text(const struct value *object, const char *key);
uint64_t told_number(const struct value *object, const char *key);

/* Writes names of processes, with `before` before the first and `between` between them. */
void told_write_names(const struct style *style, struct output *out, const struct value *names,
                      const char *before, const char *between);
/* Writes a value as compact JSON. */
void told_write(struct output *out, const struct value *value);

struct told_witness {
    struct names processes, resources; /* only those in this witness */
    uint32_t process_count, resource_count;
    gordian_edge *edges;
    size_t edge_capacity;
    bool *waits; /* by process */
    size_t waits_capacity;
    size_t members; /* number of waiting processes */
    gordian_witness witness;
    struct labels labels;
};

void told_witness_init(struct told_witness *told);
void told_witness_free(struct told_witness *told);
/* Reads the value of "witness". False: out of memory, or malformed. */
bool told_witness_read(struct told_witness *told, const struct value *value);
/* Returns the process of this name, or GORDIAN_NONE. */
uint32_t told_witness_find(const struct told_witness *told, const char *name);
