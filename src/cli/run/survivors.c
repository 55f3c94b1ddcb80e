/* Finds processes that outlive the program. */
#define _GNU_SOURCE
#include "cli/run/survivors.h"

#include "foundation/base/clock.h"
#include "foundation/base/memory.h"
#include "sources/inspect/target/proc.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOMENT_NS 200000000u /* grace period for processes that end with the program */

/* ------------------------------------------------------------------ one process */

/* Returns the start time of a process in clock ticks since boot; 0: it has ended. */
static unsigned long long started_at(uint32_t pid)
{
    char text[PROC_STAT];
    unsigned long long started;
    const char *state = proc_stat(pid, text);
    return state && sscanf(state,
                           "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                           "%*d %*d %llu",
                           &started) == 1
               ? started
               : 0;
}

/* Does a piece of the file, up to the character `end`, contain `text`? */
static bool has_piece(const char *folder, const char *name, int end, const char *text)
{
    char path[PATH_MAX], *piece = NULL;
    size_t room = 0;
    bool found = false;
    snprintf(path, sizeof path, "%.200s/%s", folder, name);
    FILE *file = fopen(path, "re");
    while (file && !found && getdelim(&piece, &room, end, file) > 0)
        found = strstr(piece, text);
    free(piece);
    if (file)
        fclose(file);
    return found;
}

static void read_command(const char *folder, char *command, size_t size)
{
    char path[PATH_MAX];
    size_t used = 0;
    for (int i = 0; i < 2 && used == 0; i++) {
        snprintf(path, sizeof path, "%.200s/%s", folder, i == 0 ? "cmdline" : "comm");
        FILE *file = fopen(path, "re");
        used = file ? fread(command, 1, size - 1, file) : 0;
        if (file)
            fclose(file);
    }
    while (used > 0 && (command[used - 1] == '\0' || command[used - 1] == '\n'))
        used--;
    for (size_t i = 0; i < used; i++)
        if ((unsigned char)command[i] < ' ' || command[i] == 127)
            command[i] = ' ';
    command[used] = '\0';
}

/* ------------------------------------------------------------------ all processes */

static void look_at_process(struct survivors *survivors, uint32_t pid, unsigned long long since,
                            const char *session)
{
    gordian_allocator memory = memory_allocator(NULL);
    char folder[128], variable[PATH_MAX + 32], tally[PATH_MAX + 32];
    snprintf(variable, sizeof variable, "GORDIAN_SESSION=%s", session);
    snprintf(tally, sizeof tally, "%s/tally", session);
    /* if the first thread has ended, use another one */
    uint32_t through = started_at(pid) >= since ? proc_living(pid) : 0;
    if (!through)
        return;
    snprintf(folder, sizeof folder, "/proc/%u/task/%u", pid, through);
    bool watched = has_piece(folder, "maps", '\n', tally);
    bool ours = watched || has_piece(folder, "environ", '\0', variable);
    /* Reporters and hooks of this session belong to the command. */
    if (!ours || has_piece(folder, "cmdline", '\0', "--report-incident") ||
        has_piece(folder, "environ", '\0', "GORDIAN_REPORT_KIND="))
        return;
    if (!memory_grow(&memory, &survivors->list, &survivors->room, survivors->count + 1,
                     sizeof *survivors->list))
        return;
    struct survivor *survivor = &survivors->list[survivors->count++];
    *survivor = (struct survivor){.pid = pid, .watched = watched};
    read_command(folder, survivor->command, sizeof survivor->command);
}

/* Lists survivors among the processes that were started after this one. */
static void list_survivors(struct survivors *survivors, const char *session)
{
    unsigned long long since = started_at((uint32_t)getpid());
    if (!since)
        return;
    survivors->count = 0;
    DIR *list = opendir("/proc");
    for (struct dirent *entry; list && (entry = readdir(list));) {
        unsigned long pid = strtoul(entry->d_name, NULL, 10);
        if (pid > 0 && (pid_t)pid != getpid())
            look_at_process(survivors, (uint32_t)pid, since, session);
    }
    if (list)
        closedir(list);
}

void survivors_find(struct survivors *survivors, const char *folder)
{
    *survivors = (struct survivors){0};
    if (!*folder)
        return;
    uint64_t until = clock_ns() + MOMENT_NS;
    list_survivors(survivors, folder);
    while (survivors->count && clock_ns() < until) {
        nanosleep(&(struct timespec){0, 10000000}, NULL);
        list_survivors(survivors, folder);
    }
}

void survivors_free(struct survivors *survivors)
{
    gordian_allocator memory = memory_allocator(NULL);
    memory_free(&memory, survivors->list);
    *survivors = (struct survivors){0};
}
