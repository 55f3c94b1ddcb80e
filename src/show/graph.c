#include "show/graph.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ labels */

static const char *system_process(const void *context, uint32_t process)
{
    return gordian_process_name(context, process);
}

static const char *system_resource(const void *context, uint32_t resource)
{
    return gordian_resource_name(context, resource);
}

static uint64_t system_free_units(const void *context, uint32_t resource)
{
    return gordian_free_units(context, resource);
}

struct labels labels_of_system(const gordian_system *system)
{
    return (struct labels){system_process, system_resource, system_free_units, system};
}

static const char *names_process(const void *context, uint32_t process)
{
    return gordian_names_process(context, process);
}

static const char *names_resource(const void *context, uint32_t resource)
{
    return gordian_names_resource(context, resource);
}

struct labels labels_of_names(const gordian_names *names)
{
    return (struct labels){names_process, names_resource, NULL, names};
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

void name_list_free(struct name_list *list)
{
    gordian_allocator memory = memory_allocator(NULL);
    memory_free(&memory, list->names);
    *list = (struct name_list){0};
}
