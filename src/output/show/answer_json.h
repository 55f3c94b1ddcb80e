/* What the service tells in JSON, made fit for showing: its members, and deadlocks to be drawn. */
#pragma once

#include "foundation/base/io/output.h"
#include "foundation/base/json/value.h"
#include "foundation/base/names/interner.h"
#include "output/show/graph.h"
#include "output/show/style.h"

/* In an arena that this makes, and the caller frees. Anything but JSON is NULL, and NULL has no
 * members. */
const struct value *told_read(struct arena *arena, const char *text, size_t length);
/* A member that is a string or a number; "" or 0 if there is none. */
const char *told_text(const struct value *object, const char *key);
uint64_t told_number(const struct value *object, const char *key);

/* Names of processes: `before` the first, and `between` them. */
void told_write_names(const struct style *style, struct output *out, const struct value *names,
                      const char *before, const char *between);
/* Writes a value as JSON again, without blanks. */
void told_write(struct output *out, const struct value *value);

struct told_witness {
    struct names processes, resources; /* names of this witness only */
    uint32_t process_count, resource_count;
    gordian_edge *edges;
    size_t edge_room;
    bool *waits; /* by process */
    size_t waits_room;
    size_t members; /* processes that wait in it */
    gordian_witness witness;
    struct labels labels;
};

void told_witness_init(struct told_witness *told);
void told_witness_free(struct told_witness *told);
/* From the value of "witness"; false: out of memory, or it is none. */
bool told_witness_read(struct told_witness *told, const struct value *value);
/* The process of this name, or GORDIAN_NONE. */
uint32_t told_witness_find(const struct told_witness *told, const char *name);
