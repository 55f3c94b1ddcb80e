/* A deadlock told by the service in JSON, made fit for drawing. */
#ifndef GORDIAN_CLI_SERVICE_WITNESS_READ_H
#define GORDIAN_CLI_SERVICE_WITNESS_READ_H

#include "base/names.h"
#include "cli/service/json_read.h"
#include "show/graph.h"

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
bool told_witness_read(struct told_witness *told, struct json_value value);
/* The process of this name, or GORDIAN_NONE. */
uint32_t told_witness_find(const struct told_witness *told, const char *name);

#endif
