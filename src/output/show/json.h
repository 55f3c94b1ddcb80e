/* What is told of deadlocks and of requests that were not granted, as JSON: the one place where it
 * is written, for the commands, the service and the reports. */
#pragma once

#include "foundation/base/json/json_write.h"
#include "output/show/graph.h"

void json_names(struct json *json, const char *key, const struct name_list *list);
/* Those of `ids`, in that order. */
void json_processes(struct json *json, const char *key, const struct labels *labels,
                    const uint32_t *ids, size_t count);

/* An array: a cycle as [p,q,p',q',...], anything else as edges with their units. */
void json_witness(struct json *json, const char *key, const struct labels *labels,
                  const gordian_witness *witness);
/* Whom recovery has ended, what that gave back and to whom. */
void json_victim(struct json *json, const struct labels *labels, gordian_policy policy,
                 const gordian_victim *victim);

/* The reasons of a bank's answer: "sequence", "stuck" or "short". */
void json_reasons(struct json *json, const struct labels *labels, const gordian_answer *answer);

/* Nodes and edges of a graph, by id. */
/* Its members; the caller opens and shuts the object. */
void json_resource_members(struct json *json, uint32_t id, const char *name, uint64_t units,
                           uint64_t free_units);
/* An await: its holders are those who can act and have not, so many. */
void json_await_node(struct json *json, uint32_t id, uint64_t acts);
void json_graph_edge(struct json *json, const gordian_edge *edge);
