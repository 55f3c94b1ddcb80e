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
struct opened_targets {
    struct cli *cli;
    struct target **list;
    size_t count, room;
    gordian_allocator memory;
};

static gordian_status add_target(struct opened_targets *opened, struct target *target,
                                 gordian_error *error)
{
    if (!memory_grow(&opened->memory, &opened->list, &opened->room, opened->count + 1,
                     sizeof *opened->list)) {
        target_close(target);
        return fail_memory(error);
    }
    opened->list[opened->count++] = target;
    return GORDIAN_OK;
}

static gordian_status add_live(struct opened_targets *opened, uint32_t pid, gordian_error *error)
{
    struct target *target;
    for (size_t i = 0; i < opened->count; i++)
        if (!opened->list[i]->core && opened->list[i]->seen_pid == pid)
            return GORDIAN_OK;
    gordian_status status = target_open_live(&target, pid, error);
    return status == GORDIAN_OK ? add_target(opened, target, error) : status;
}

/* A number is a process, anything else a core dump. */
static gordian_status add_operand(struct opened_targets *opened,
                                  const struct inspect_settings *settings, const char *operand,
                                  gordian_error *error)
{
    struct target *target;
    char *end;
    unsigned long pid = strtoul(operand, &end, 10);
    if (!*end && pid > 0 && pid <= INT32_MAX && strspn(operand, "0123456789") == strlen(operand))
        return add_live(opened, (uint32_t)pid, error);
    gordian_status status =
        target_open_core(&target, operand, settings->exe, settings->sysroot, error);
    return status == GORDIAN_OK ? add_target(opened, target, error) : status;
}

/* ------------------------------------------------------------------ --tree and --all */

struct candidate {
    uint32_t pid, parent;
    bool wanted;
};

static bool list_candidates(const gordian_allocator *memory, struct candidate **list, size_t *count)
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
            (*list)[(*count)++] = (struct candidate){pid, target_parent(pid, &state), false};
    }
    if (folder)
        closedir(folder);
    return done;
}

/* Marks the descendants of marked processes. Parents may be listed after their children. */
static void mark_descendants(struct candidate *list, size_t count, uint32_t root)
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
static gordian_status add_many(struct opened_targets *opened, struct inspect_settings *settings,
                               gordian_error *error)
{
    struct candidate *list = NULL;
    size_t count = 0;
    gordian_status status = GORDIAN_OK;
    if (!list_candidates(&opened->memory, &list, &count))
        status = fail_memory(error);
    if (status == GORDIAN_OK && settings->tree) {
        mark_descendants(list, count, settings->tree);
        status = add_live(opened, settings->tree, error);
    }
    size_t named = opened->count; /* targets that must exist */
    for (size_t i = 0; i < count && status == GORDIAN_OK; i++) {
        gordian_error refused = {0};
        char text[PROC_STAT];
        if ((!settings->all && !list[i].wanted) || list[i].pid == (uint32_t)getpid())
            continue;
        gordian_status result = add_live(opened, list[i].pid, &refused);
        if (result == GORDIAN_STATUS_MEMORY)
            status = fail_memory(error);
        else if (result != GORDIAN_OK && proc_stat(list[i].pid, text) && proc_living(list[i].pid) &&
                 !proc_is_kernel(list[i].pid)) {
            /* A living process that cannot be read may be part of a deadlock, or act. */
            if (settings->unread++ == 0)
                snprintf(settings->why, sizeof settings->why, "%.290s", refused.message);
        }
        if (opened->count > named)
            opened->list[opened->count - 1]->passing = true;
    }
    memory_free(&opened->memory, list);
    return status;
}

gordian_status inspect_targets(struct cli *cli, struct inspect_settings *settings, char **operands,
                               int count, struct process_snapshot *snapshot, gordian_error *error)
{
    struct opened_targets opened = {.cli = cli, .memory = memory_allocator(NULL)};
    gordian_status status = GORDIAN_OK;
    for (int i = 0; i < count && status == GORDIAN_OK; i++)
        status = add_operand(&opened, settings, operands[i], error);
    if (status == GORDIAN_OK && (settings->tree || settings->all))
        status = add_many(&opened, settings, error);
    if (status == GORDIAN_OK && opened.count == 0)
        status = fail(error, GORDIAN_STATUS_INPUT,
                      "no process may be inspected: run as its user or as root");
    THEN(status, snapshot_open(snapshot, opened.list, opened.count, error));
    if (status != GORDIAN_OK)
        for (size_t i = 0; i < opened.count; i++)
            target_close(opened.list[i]);
    else
        snapshot->stop_ms = snapshot->ask_ms = settings->stop_ms;
    memory_free(&opened.memory, opened.list);
    return status;
}
