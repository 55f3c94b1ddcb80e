/* How deadlocks look, to people and to programs; for the commands, the service and the reports.
 *
 *     graph.h     here: names of processes and resources, and sorted lists of them
 *     draw.h      a deadlock drawn with lines and letters
 *     style.h     colours, and names made harmless
 *     picture.h   a wait-for graph for Graphviz (dot.c) or as an SVG of its own (svg.c)
 *     json.h      witnesses, victims and requests as JSON
 *
 * It uses the library through its public headers, and base. */
#pragma once

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

/* Names of a bank are copied: each lasts until the next one of its kind is asked for. */
struct bank_names {
    gordian_bank *bank;
    char (*buffers)[GORDIAN_NAME_MAX + 1]; /* two: a process's, a resource's */
};

struct labels labels_of_bank(const struct bank_names *names);

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
    const char **names; /* all, or the first of them */
    size_t count, room;
};

/* Makes the list those of `ids`, sorted bytewise; false: out of memory. */
bool name_list_sorted(struct name_list *list, const struct labels *labels, const uint32_t *ids,
                      size_t count);
/* The same for whoever looks at the first `most` only. */
bool name_list_first(struct name_list *list, const struct labels *labels, const uint32_t *ids,
                     size_t count, size_t most);
void name_list_free(struct name_list *list);
