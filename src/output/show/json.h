/* JSON of deadlocks and of requests that were not granted, for the commands, the service and the
 * reports. */
#pragma once

#include "foundation/base/json/json_write.h"
#include "output/show/graph.h"

void json_names(struct json *json, const char *key, const struct name_list *list);
/* Writes the names of `ids` in that order. */
void json_processes(struct json *json, const char *key, const struct labels *labels,
                    const uint32_t *ids, size_t count);

/* Writes an array: a cycle as [p,q,p',q',...], anything else as edges with their units. */
void json_witness(struct json *json, const char *key, const struct labels *labels,
                  const gordian_witness *witness);
/* Writes the victim of a recovery, the resources it released and the processes that received
 * them. */
void json_victim(struct json *json, const struct labels *labels, gordian_policy policy,
                 const gordian_victim *victim);

/* Writes the reasons of a bank's answer: "sequence", "stuck" or "short". */
void json_reasons(struct json *json, const struct labels *labels, const gordian_answer *answer);

/* Nodes and edges of a graph, by id. */
/* Writes the members; the caller opens and closes the object. */
void json_resource_members(struct json *json, uint32_t id, const char *name, uint64_t units,
                           uint64_t free_units);
/* Writes an await: its holders are the processes that can still act; `acts` is their number. */
void json_await_node(struct json *json, uint32_t id, uint64_t acts);
void json_graph_edge(struct json *json, const gordian_edge *edge);
