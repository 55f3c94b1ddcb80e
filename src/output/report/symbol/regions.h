/* The memory map of a process, as every way to symbols has it: regions by address. */
#pragma once

#include "output/report/symbol/symbol.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* A line of the memory map. */
struct region {
    uint64_t low, high;
    uint64_t offset, inode;
    unsigned major, minor;
    char *path;      /* or "[heap]", or "" */
    uint32_t module; /* of plain.c: index + 1; 0: no file */
};

/* The one that an address lies in; NULL: none. */
static inline const struct region *region_find(const struct region *regions, size_t count,
                                               uint64_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (regions[middle].high <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && regions[low].low <= address ? &regions[low] : NULL;
}

/* Opens a file if it is a plain one, and still the one that was mapped there (NULL: anywhere). */
static inline int region_open(const struct region *region, const char *path)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 &&
        (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) ||
         (region && (region->major || region->minor) && about.st_ino != region->inode))) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Is it of the library that `gordian run` puts into programs? */
static inline bool region_is_watcher(const struct region *region)
{
    return region && strncmp(path_tail(region->path), "libgordian-run.so", 17) == 0;
}
