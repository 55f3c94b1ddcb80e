/* Output of deadlocks for the commands, the service and the reports.
 *
 *     graph.h        names of processes and resources, and sorted lists of them
 *     draw.h         the wait-for graph drawn with lines and letters
 *     style.h        colours, and escaping of names
 *     picture.h      the wait-for graph for Graphviz (dot.c) or as an SVG (svg.c)
 *     json.h         witnesses, victims and requests as JSON
 *     answer_json.h  the same, read from the answers of the service
 *
 * It uses the library through its public headers, and base. */
#pragma once

#include <gordian/gordian.h>

/* Source of names: a system, or a snapshot. */
struct labels {
    const char *(*process)(const void *context, uint32_t process);
    const char *(*resource)(const void *context, uint32_t resource);
    /* Returns the free units of a resource; NULL: not known. */
    uint64_t (*free_units)(const void *context, uint32_t resource);
    const void *context;
    /* Returns the relation of a resource to its holders; NULL: "held by". */
    const char *(*holding)(const void *context, uint32_t resource);
};

struct labels labels_of_system(const gordian_system *system);
struct labels labels_of_names(const gordian_names *names);

/* Names of a bank are copied; each lasts until the next name of its kind is requested. */
struct bank_names {
    gordian_bank *bank;
    char (*buffers)[GORDIAN_NAME_MAX + 1]; /* two: for a process, for a resource */
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

/* A reusable list of names of processes. The texts belong to the owner of the labels. */
struct name_list {
    const char **names; /* all names, or the first ones */
    size_t count, room;
};

/* Fills the list with the names of `ids`, sorted bytewise. False: out of memory. */
bool name_list_sorted(struct name_list *list, const struct labels *labels, const uint32_t *ids,
                      size_t count);
/* The same, but only the first `most` names are needed. */
bool name_list_first(struct name_list *list, const struct labels *labels, const uint32_t *ids,
                     size_t count, size_t most);
void name_list_free(struct name_list *list);
