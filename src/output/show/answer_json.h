/* Reads JSON answers of the service for display: their members, and the wait-for graph of a
 * deadlock. */
#pragma once

#include "foundation/base/io/output.h"
#include "foundation/base/json/value.h"
#include "foundation/base/names/interner.h"
#include "output/show/graph.h"
#include "output/show/style.h"

/* Parses JSON into an arena, which the function initialises and the caller frees. Invalid JSON
 * gives NULL; NULL has no members. */
const struct value *told_read(struct arena *arena, const char *text, size_t length);
/* Return a member that is a string or a number; "" or 0 if there is none. */
const char *told_text(const struct value *object, const char *key);
uint64_t told_number(const struct value *object, const char *key);

/* Prints names of processes: `before` the first, and `between` the others. */
void told_write_names(const struct style *style, struct output *out, const struct value *names,
                      const char *before, const char *between);
/* Writes a value as JSON without blanks. */
void told_write(struct output *out, const struct value *value);

struct told_witness {
    struct names processes, resources; /* names in this witness */
    uint32_t process_count, resource_count;
    gordian_edge *edges;
    size_t edge_room;
    bool *waits; /* by process: it waits */
    size_t waits_room;
    size_t members; /* processes that wait */
    gordian_witness witness;
    struct labels labels;
};

void told_witness_init(struct told_witness *told);
void told_witness_free(struct told_witness *told);
/* Reads the value of "witness". False: out of memory, or not a witness. */
bool told_witness_read(struct told_witness *told, const struct value *value);
/* Returns the process with this name, or GORDIAN_NONE. */
uint32_t told_witness_find(const struct told_witness *told, const char *name);
