#define _GNU_SOURCE
#include "inspect/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ssize_t proc_read(int folder, const char *path, char *text, size_t size)
{
    int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t count = read(fd, text, size - 1);
    int saved = errno;
    close(fd);
    errno = saved;
    text[count > 0 ? count : 0] = '\0';
    return count;
}

ssize_t proc_read_thread(uint32_t pid, uint32_t tid, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/task/%u/%s", pid, tid, name);
    return proc_read(AT_FDCWD, path, text, size);
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
