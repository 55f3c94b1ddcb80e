/* Opens the processes and core dumps to inspect. */
#define _GNU_SOURCE
#include "cli/inspect/inspect.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "sources/inspect/target/proc.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The opened processes and core dumps. */
struct crowd {
    struct cli *cli;
    struct target **list;
    size_t count, room;
    gordian_allocator memory;
};

static gordian_status add_target(struct crowd *crowd, struct target *target, gordian_error *error)
{
    if (!memory_grow(&crowd->memory, &crowd->list, &crowd->room, crowd->count + 1,
                     sizeof *crowd->list)) {
        target_close(target);
        return fail_memory(error);
    }
    crowd->list[crowd->count++] = target;
    return GORDIAN_OK;
}

static gordian_status add_live(struct crowd *crowd, uint32_t pid, gordian_error *error)
{
    struct target *target;
    for (size_t i = 0; i < crowd->count; i++)
        if (!crowd->list[i]->core && crowd->list[i]->seen_pid == pid)
            return GORDIAN_OK;
    gordian_status status = target_open_live(&target, pid, error);
    return status == GORDIAN_OK ? add_target(crowd, target, error) : status;
}

/* A number is a process, anything else a core dump. */
static gordian_status add_operand(struct crowd *crowd, const struct inspect_settings *settings,
                                  const char *operand, gordian_error *error)
{
    struct target *target;
    char *end;
    unsigned long pid = strtoul(operand, &end, 10);
    if (!*end && pid > 0 && pid <= INT32_MAX && strspn(operand, "0123456789") == strlen(operand))
        return add_live(crowd, (uint32_t)pid, error);
    gordian_status status =
        target_open_core(&target, operand, settings->exe, settings->sysroot, error);
    return status == GORDIAN_OK ? add_target(crowd, target, error) : status;
}

/* ------------------------------------------------------------------ --tree and --all */

struct kin {
    uint32_t pid, parent;
    bool wanted;
};

static bool list_kin(const gordian_allocator *memory, struct kin **list, size_t *count)
{
    size_t room = 0;
    char state;
    DIR *folder = opendir("/proc");
    bool done = folder;
    for (struct dirent *entry; done && (entry = readdir(folder));) {
        uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        if (!pid)
            continue;
        done = memory_grow(memory, list, &room, *count + 1, sizeof **list);
        if (done)
            (*list)[(*count)++] = (struct kin){pid, target_parent(pid, &state), false};
    }
    if (folder)
        closedir(folder);
    return done;
}

/* Marks the descendants of marked processes. Parents may be listed after their children. */
static void mark_descendants(struct kin *list, size_t count, uint32_t root)
{
    bool more = true;
    while (more) {
        more = false;
        for (size_t i = 0; i < count; i++) {
            bool wanted = list[i].pid == root;
            for (size_t k = 0; k < count && !wanted && !list[i].wanted; k++)
                wanted = list[k].wanted && list[k].pid == list[i].parent;
            more = more || (wanted && !list[i].wanted);
            list[i].wanted = list[i].wanted || wanted;
        }
    }
}

/* Skips processes that cannot be opened, except the one of --tree, and counts the programs among
 * them. */
static gordian_status add_many(struct crowd *crowd, struct inspect_settings *settings,
                               gordian_error *error)
{
    struct kin *list = NULL;
    size_t count = 0;
    gordian_status status = GORDIAN_OK;
    if (!list_kin(&crowd->memory, &list, &count))
        status = fail_memory(error);
    if (status == GORDIAN_OK && settings->tree) {
        mark_descendants(list, count, settings->tree);
        status = add_live(crowd, settings->tree, error);
    }
    size_t named = crowd->count; /* targets that must exist */
    for (size_t i = 0; i < count && status == GORDIAN_OK; i++) {
        gordian_error refused = {0};
        char text[PROC_STAT];
        if ((!settings->all && !list[i].wanted) || list[i].pid == (uint32_t)getpid())
            continue;
        gordian_status opened = add_live(crowd, list[i].pid, &refused);
        if (opened == GORDIAN_STATUS_MEMORY)
            status = fail_memory(error);
        else if (opened != GORDIAN_OK && proc_stat(list[i].pid, text) && proc_living(list[i].pid) &&
                 !proc_is_kernel(list[i].pid)) {
            /* A living process that cannot be read may be part of a deadlock, or act. */
            if (settings->unread++ == 0)
                snprintf(settings->why, sizeof settings->why, "%.290s", refused.message);
        }
        if (crowd->count > named)
            crowd->list[crowd->count - 1]->passing = true;
    }
    memory_free(&crowd->memory, list);
    return status;
}

gordian_status inspect_targets(struct cli *cli, struct inspect_settings *settings, char **operands,
                               int count, struct sight *sight, gordian_error *error)
{
    struct crowd crowd = {.cli = cli, .memory = memory_allocator(NULL)};
    gordian_status status = GORDIAN_OK;
    for (int i = 0; i < count && status == GORDIAN_OK; i++)
        status = add_operand(&crowd, settings, operands[i], error);
    if (status == GORDIAN_OK && (settings->tree || settings->all))
        status = add_many(&crowd, settings, error);
    if (status == GORDIAN_OK && crowd.count == 0)
        status = fail(error, GORDIAN_STATUS_INPUT,
                      "no process may be inspected: run as its user or as root");
    THEN(status, sight_open(sight, crowd.list, crowd.count, error));
    if (status != GORDIAN_OK)
        for (size_t i = 0; i < crowd.count; i++)
            target_close(crowd.list[i]);
    else
        sight->stop_ms = sight->ask_ms = settings->stop_ms;
    memory_free(&crowd.memory, crowd.list);
    return status;
}
