/* The memory map of a process: its regions by address, and the files mapped there. */
#pragma once

#include "foundation/base/memory.h"
#include "output/report/symbol/symbol.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
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

struct memory_map {
    struct region *regions; /* sorted by address */
    size_t count, room;
    char *root, *mapped; /* location of the files, see struct symbol_files; NULL */
    char *program, *program_file;
    gordian_allocator memory;
};

/* Copies a text. Returns NULL for "" and if memory runs out: the files are then not found. */
static inline char *map_copy_text(const char *text)
{
    return text && *text ? strdup(text) : NULL;
}

/* Adds the region of a line and skips other lines. False: out of memory. */
static inline bool map_add_line(struct memory_map *map, const char *line)
{
    struct region region = {0};
    int path = -1;
    int found =
        sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %x:%x %" SCNu64 " %n", &region.low,
               &region.high, &region.offset, &region.major, &region.minor, &region.inode, &path);
    if (found < 6 || path < 0)
        return true;
    region.path = strdup(line + path);
    if (!region.path ||
        !memory_grow(&map->memory, &map->regions, &map->room, map->count + 1, sizeof region)) {
        free(region.path);
        return false;
    }
    map->regions[map->count++] = region;
    return true;
}

/* Reads the text of /proc/PID/maps. False: out of memory. Close the map in any case. */
static inline bool map_open(struct memory_map *map, const char *maps, size_t size,
                            const struct symbol_files *files)
{
    gordian_allocator memory = memory_allocator(NULL);
    char *text = memory_alloc(&memory, size + 1), *rest = NULL;
    *map = (struct memory_map){
        .root = map_copy_text(files ? files->root : NULL),
        .mapped = map_copy_text(files ? files->mapped : NULL),
        .program = map_copy_text(files ? files->program : NULL),
        .program_file = map_copy_text(files ? files->program_file : NULL),
        .memory = memory,
    };
    bool done = text;
    if (done) {
        memcpy(text, maps, size);
        text[size] = '\0';
        for (char *line = strtok_r(text, "\n", &rest); line && done;
             line = strtok_r(NULL, "\n", &rest))
            done = map_add_line(map, line);
    }
    memory_free(&memory, text);
    return done;
}

static inline void map_close(struct memory_map *map)
{
    for (size_t i = 0; i < map->count; i++)
        free(map->regions[i].path);
    memory_free(&map->memory, map->regions);
    free(map->root);
    free(map->mapped);
    free(map->program);
    free(map->program_file);
}

/* Returns the region that contains an address, or NULL. */
static inline const struct region *map_region(const struct memory_map *map, uint64_t address)
{
    size_t low = 0, high = map->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->regions[middle].high <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < map->count && map->regions[low].low <= address ? &map->regions[low] : NULL;
}

/* Opens a regular file if it is the file that was mapped (region NULL: any file). Returns -1
 * otherwise. */
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

/* Opens the file of a region (NULL: unknown): at its path below the root, or through
 * /proc/PID/map_files. `path` receives the path used. */
static inline int map_open_file(const struct memory_map *map, const struct region *region,
                                const char *name, char *path, size_t size)
{
    if (map->program && map->program_file && strcmp(name, map->program) == 0)
        snprintf(path, size, "%s", map->program_file);
    else
        snprintf(path, size, "%s%s", map->root ? map->root : "", name);
    int fd = region_open(region, path);
    if (fd >= 0 || !region || !map->mapped)
        return fd;
    snprintf(path, size, "%s/%" PRIx64 "-%" PRIx64, map->mapped, region->low, region->high);
    return region_open(NULL, path);
}

/* Is it the library that `gordian run` preloads? */
static inline bool region_is_watcher(const struct region *region)
{
    return region && strncmp(path_tail(region->path), "libgordian-run.so", 17) == 0;
}
