/* Lists the process tree, detects progress and ends processes. */
#define _GNU_SOURCE
#include "cli/run/process_tree.h"

#include "foundation/base/clock.h"
#include "foundation/base/hash.h"
#include "foundation/base/memory.h"
#include "foundation/records/incident.h"
#include "sources/inspect/target/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CORE_PATIENCE_NS 5000000000u /* time limit for writing a core dump */

/* ------------------------------------------------------------------ processes */

static bool add_pid(struct tree *tree, uint32_t pid)
{
    gordian_allocator memory = memory_allocator(NULL);
    for (size_t i = 0; i < tree->count; i++)
        if (tree->pids[i] == pid)
            return true;
    if (!memory_grow(&memory, &tree->pids, &tree->room, tree->count + 1, sizeof *tree->pids))
        return false;
    tree->pids[tree->count++] = pid;
    return true;
}

static bool add_children(void *context, int task, const char *tid)
{
    struct tree *tree = context;
    char path[64], text[16384] = "";
    snprintf(path, sizeof path, "%.20s/children", tid);
    proc_read_at(task, path, text, sizeof text);
    unsigned long pid;
    for (char *at = text, *end; (pid = strtoul(at, &end, 10)) > 0 && end != at; at = end)
        if (!add_pid(tree, (uint32_t)pid))
            return false;
    return true;
}

/* Calls `each` for every thread of a process. False: `each` returned false. */
static bool each_thread(uint32_t pid, bool (*each)(void *context, int task, const char *tid),
                        void *context)
{
    char path[64];
    bool more = true;
    snprintf(path, sizeof path, "/proc/%u/task", pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && more && (entry = readdir(folder));)
        if (entry->d_name[0] != '.')
            more = each(context, dirfd(folder), entry->d_name);
    if (folder)
        closedir(folder);
    return more;
}

bool tree_list(struct tree *tree, pid_t root)
{
    *tree = (struct tree){0};
    bool done = add_pid(tree, (uint32_t)root);
    for (size_t i = 0; i < tree->count && done; i++)
        done = each_thread(tree->pids[i], add_children, tree);
    return done;
}

void tree_free(struct tree *tree)
{
    gordian_allocator memory = memory_allocator(NULL);
    memory_free(&memory, tree->pids);
    *tree = (struct tree){0};
}

/* ------------------------------------------------------------------ progress */

struct glancing {
    struct tree tree;
    struct tree_activity *glance;
};

/* Reads the number of time slices, "RAN-NS WAITED-NS COUNT"; without schedstat, the number of
 * context switches. */
static uint64_t count_runs(int task, const char *tid)
{
    char path[64], text[4096] = "";
    snprintf(path, sizeof path, "%.20s/schedstat", tid);
    unsigned long long times = 0;
    if (proc_read_at(task, path, text, sizeof text) > 0 &&
        sscanf(text, "%*u %*u %llu", &times) == 1 && times)
        return times;
    snprintf(path, sizeof path, "%.20s/status", tid);
    proc_read_at(task, path, text, sizeof text);
    for (const char *at = text; (at = strstr(at, "ctxt_switches:")); at++)
        times += strtoull(at + strlen("ctxt_switches:"), NULL, 10);
    return times;
}

static bool glance_thread(void *context, int task, const char *tid)
{
    struct glancing *glancing = context;
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "%.20s/stat", tid);
    proc_read_at(task, path, text, sizeof text);
    const char *name = strrchr(text, ')');
    char state = name && name[1] ? name[2] : 'X';
    if (state == 'Z' || state == 'X' || strstr(text, "(" INCIDENT_HELPER_NAME ")"))
        return true;
    uint64_t number = strtoull(tid, NULL, 10);
    glancing->glance->threads++;
    glancing->glance->who += hash_word(number);
    glancing->glance->runs += count_runs(task, tid) + (state == 'R');
    glancing->glance->running = glancing->glance->running || state == 'R';
    glancing->glance->stopped = glancing->glance->stopped || state == 'T' || state == 't';
    return add_children(&glancing->tree, task, tid);
}

void tree_sample(pid_t root, struct tree_activity *glance)
{
    struct glancing glancing = {.glance = glance};
    *glance = (struct tree_activity){0};
    bool done = add_pid(&glancing.tree, (uint32_t)root);
    for (size_t i = 0; i < glancing.tree.count && done; i++)
        done = each_thread(glancing.tree.pids[i], glance_thread, &glancing);
    glance->processes = (uint32_t)glancing.tree.count;
    tree_free(&glancing.tree);
}

bool tree_moved(const struct tree_activity *before, const struct tree_activity *now)
{
    return before->runs != now->runs || before->who != now->who ||
           before->processes != now->processes || now->threads == 0;
}

/* ------------------------------------------------------------------ the end */

/* Would SIGABRT write a core dump, and run no handler of the program? */
static bool leaves_core(uint32_t pid)
{
    char path[64], text[4096] = "";
    static const char *const lines[] = {"\nSigBlk:", "\nSigIgn:", "\nSigCgt:"};
    snprintf(path, sizeof path, "/proc/%u/limits", pid);
    proc_read_at(AT_FDCWD, path, text, sizeof text);
    const char *limit = strstr(text, "Max core file size");
    if (!limit || strtoull(limit + strlen("Max core file size"), NULL, 10) == 0)
        if (!limit || !strstr(limit, "unlimited") ||
            strstr(limit, "unlimited") > strchr(limit, '\n'))
            return false;
    snprintf(path, sizeof path, "/proc/%u/status", pid);
    proc_read_at(AT_FDCWD, path, text, sizeof text);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *line = strstr(text, lines[i]);
        if (!line || strtoull(line + strlen(lines[i]), NULL, 16) >> (SIGABRT - 1) & 1)
            return false;
    }
    return true;
}

void tree_end(const uint32_t *pids, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++)
        if (leaves_core(pids[i]))
            any = kill((pid_t)pids[i], SIGABRT) == 0 || any;
        else
            kill((pid_t)pids[i], SIGKILL);
    uint64_t until = clock_ns() + CORE_PATIENCE_NS;
    for (size_t i = 0; i < count && any; i++) {
        char text[PROC_STAT];
        const char *state;
        while ((state = proc_stat(pids[i], text)) && *state != 'Z' && *state != 'X' &&
               clock_ns() < until)
            nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    for (size_t i = 0; i < count && any; i++)
        kill((pid_t)pids[i], SIGKILL);
}
