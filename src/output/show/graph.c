/* Names of processes and resources, and sorted lists of them. */
#include "output/show/graph.h"

#include "foundation/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ labels */

static const char *system_process(const void *context, uint32_t process)
{
    return gordian_process_name(context, process);
}

/* An await is a resource without a name: its holders could act for the waiter. */
static const char *resource_or_act(const char *name)
{
    return name && !*name ? "an act" : name;
}

static const char *system_resource(const void *context, uint32_t resource)
{
    return resource_or_act(gordian_resource_name(context, resource));
}

static const char *system_holding(const void *context, uint32_t resource)
{
    return gordian_is_await(context, resource) ? "of" : "held by";
}

static uint64_t system_free_units(const void *context, uint32_t resource)
{
    return gordian_free_units(context, resource);
}

struct labels labels_of_system(const gordian_system *system)
{
    return (struct labels){system_process, system_resource, system_free_units, system,
                           system_holding};
}

static const char *names_process(const void *context, uint32_t process)
{
    return gordian_names_process(context, process);
}

static const char *names_resource(const void *context, uint32_t resource)
{
    return resource_or_act(gordian_names_resource(context, resource));
}

static const char *names_holding(const void *context, uint32_t resource)
{
    return *gordian_names_resource(context, resource) ? "held by" : "of";
}

struct labels labels_of_names(const gordian_names *names)
{
    return (struct labels){names_process, names_resource, NULL, names, names_holding};
}

static const char *bank_process(const void *context, uint32_t process)
{
    const struct bank_names *names = context;
    const char *name = gordian_bank_process_name(names->bank, process, names->buffers[0]);
    return name ? name : "";
}

static const char *bank_resource(const void *context, uint32_t resource)
{
    const struct bank_names *names = context;
    const char *name = gordian_bank_resource_name(names->bank, resource, names->buffers[1]);
    return name ? name : "";
}

struct labels labels_of_bank(const struct bank_names *names)
{
    return (struct labels){bank_process, bank_resource, NULL, names};
}

/* ------------------------------------------------------------------ lists */

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

bool name_list_sorted(struct name_list *list, const struct labels *labels, const uint32_t *ids,
                      size_t count)
{
    gordian_allocator memory = memory_allocator(NULL);
    if (!memory_grow(&memory, &list->names, &list->room, count, sizeof *list->names))
        return false;
    for (size_t i = 0; i < count; i++)
        list->names[i] = process_label(labels, ids[i]);
    list->count = count;
    if (count > 1)
        qsort(list->names, count, sizeof *list->names, compare_names);
    return true;
}

/* Inserts a name into the sorted list of the `most` smallest names and returns their number. */
static size_t keep_least(const char **names, size_t kept, size_t most, const char *name)
{
    if (kept == most && strcmp(name, names[kept - 1]) >= 0)
        return kept;
    size_t at = kept < most ? kept : kept - 1;
    for (; at > 0 && strcmp(name, names[at - 1]) < 0; at--)
        names[at] = names[at - 1];
    names[at] = name;
    return kept < most ? kept + 1 : kept;
}

bool name_list_first(struct name_list *list, const struct labels *labels, const uint32_t *ids,
                     size_t count, size_t most)
{
    gordian_allocator memory = memory_allocator(NULL);
    if (most >= count)
        return name_list_sorted(list, labels, ids, count);
    if (!memory_grow(&memory, &list->names, &list->room, most, sizeof *list->names))
        return false;
    size_t kept = 0;
    for (size_t i = 0; i < count && most > 0; i++)
        kept = keep_least(list->names, kept, most, process_label(labels, ids[i]));
    list->count = count;
    return true;
}

void name_list_free(struct name_list *list)
{
    gordian_allocator memory = memory_allocator(NULL);
    memory_free(&memory, list->names);
    *list = (struct name_list){0};
}
