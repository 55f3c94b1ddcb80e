#define _GNU_SOURCE
#include "sources/inspect/target/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ssize_t proc_read_at(int folder, const char *path, char *text, size_t size)
{
    int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    ssize_t count = fd < 0 ? -1 : read(fd, text, size - 1);
    int saved = errno;
    if (fd >= 0)
        close(fd);
    text[count < 0 ? 0 : count] = 0;
    errno = saved;
    return count;
}

ssize_t proc_read(char *text, size_t size, const char *path, ...)
{
    char file[128];
    va_list arguments;
    va_start(arguments, path);
    vsnprintf(file, sizeof file, path, arguments);
    va_end(arguments);
    return proc_read_at(AT_FDCWD, file, text, size);
}

ssize_t proc_read_thread(uint32_t pid, uint32_t tid, const char *name, char *text, size_t size)
{
    return proc_read(text, size, "/proc/%u/task/%u/%s", pid, tid, name);
}

const char *proc_stat(uint32_t id, char text[PROC_STAT])
{
    const char *name =
        proc_read(text, PROC_STAT, "/proc/%u/stat", id) > 0 ? strrchr(text, ')') : NULL;
    return name && name[1] ? name + 2 : NULL;
}

/* The kernel's flags of a process or thread. */
enum { FLAG_EXITING = 0x4, FLAG_KERNEL = 0x00200000 };

static unsigned read_flags(uint32_t id, unsigned otherwise)
{
    char text[PROC_STAT];
    unsigned flags;
    const char *behind = proc_stat(id, text);
    return behind && sscanf(behind, "%*c %*d %*d %*d %*d %*d %u", &flags) == 1 ? flags : otherwise;
}

bool proc_is_ending(uint32_t id)
{
    return read_flags(id, FLAG_EXITING) & FLAG_EXITING;
}

bool proc_is_kernel(uint32_t id)
{
    return read_flags(id, 0) & FLAG_KERNEL;
}

static bool lives(uint32_t id)
{
    char text[PROC_STAT];
    const char *behind = proc_stat(id, text);
    return behind && behind[0] != 'Z' && behind[0] != 'X';
}

uint32_t proc_living(uint32_t pid)
{
    char path[64];
    uint32_t found = lives(pid) ? pid : 0;
    snprintf(path, sizeof path, "/proc/%u/task", pid);
    DIR *folder = found ? NULL : opendir(path);
    for (struct dirent *entry; folder && !found && (entry = readdir(folder));) {
        uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        found = tid && lives(tid) ? tid : 0;
    }
    if (folder)
        closedir(folder);
    return found;
}

bool proc_descriptor(uint32_t through, uint64_t fd, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/fd/%" PRIu64, through, fd);
    ssize_t length = readlink(path, text, size - 1);
    text[length > 0 ? length : 0] = '\0';
    return length > 0;
}

const char *proc_line(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, word, length) == 0)
            return line + length + strspn(line + length, " \t");
    }
    return NULL;
}

uint64_t proc_number(const char *text, const char *word, int base)
{
    const char *value = proc_line(text, word);
    return value ? strtoull(value, NULL, base) : 0;
}
