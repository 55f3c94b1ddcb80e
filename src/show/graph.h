/* Names of processes and resources, sorted lists of them, and witnesses, for the commands that
 * show deadlocks. */
#ifndef GORDIAN_SHOW_GRAPH_H
#define GORDIAN_SHOW_GRAPH_H

#include "base/json.h"

#include <gordian/gordian.h>

/* Where names come from: a system, or a snapshot that was read. */
struct labels {
    const char *(*process)(const void *context, uint32_t process);
    const char *(*resource)(const void *context, uint32_t resource);
    /* Units of a resource nobody holds; NULL where that is not known. */
    uint64_t (*free_units)(const void *context, uint32_t resource);
    const void *context;
    /* What its holders are to a resource; NULL: it is "held by" them. */
    const char *(*holding)(const void *context, uint32_t resource);
};

struct labels labels_of_system(const gordian_system *system);
struct labels labels_of_names(const gordian_names *names);

static inline const char *process_label(const struct labels *labels, uint32_t process)
{
    return labels->process(labels->context, process);
}

static inline const char *resource_label(const struct labels *labels, uint32_t resource)
{
    return labels->resource(labels->context, resource);
}

/* Names of processes, kept between uses. The texts belong to the labels' owner. */
struct name_list {
    const char **names;
    size_t count, room;
};

/* Makes the list those of `ids`, sorted bytewise; false: out of memory. */
bool name_list_sorted(struct name_list *list, const struct labels *labels, const uint32_t *ids,
                      size_t count);
void name_list_free(struct name_list *list);

void json_names(struct json *json, const char *key, const struct name_list *list);
/* Those of `ids`, in that order. */
void json_processes(struct json *json, const char *key, const struct labels *labels,
                    const uint32_t *ids, size_t count);
/* "witness": a cycle as [p,q,p',q',...], anything else as an array of edges. */
void json_witness(struct json *json, const struct labels *labels, const gordian_witness *witness);

#endif
