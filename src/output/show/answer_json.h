/* JSON from the service: access to members, and deadlocks for drawing. */
#pragma once

#include "foundation/base/io/output.h"
#include "foundation/base/json/value.h"
#include "foundation/base/names/interner.h"
#include "output/show/graph.h"
#include "output/show/style.h"

/* Parses into a new arena, which the caller frees. Invalid JSON is NULL, which has no members. */
const struct value *service_json_parse(struct arena *arena, const char *text, size_t length);
/* Returns a string or number member; "" or 0: none. */
const char *service_json_text(const struct value *object, const char *key);
uint64_t service_json_number(const struct value *object, const char *key);

/* Writes names of processes, with `before` before the first and `between` between them. */
void service_json_write_names(const struct style *style, struct output *out,
                              const struct value *names, const char *before, const char *between);
/* Writes a value as compact JSON. */
void service_json_write(struct output *out, const struct value *value);

struct parsed_witness {
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

void parsed_witness_init(struct parsed_witness *parsed);
void parsed_witness_free(struct parsed_witness *parsed);
/* Reads the value of "witness". False: out of memory, or malformed. */
bool parsed_witness_read(struct parsed_witness *parsed, const struct value *value);
/* Returns the process of this name, or GORDIAN_NONE. */
uint32_t parsed_witness_find(const struct parsed_witness *parsed, const char *name);
