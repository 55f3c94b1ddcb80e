/* /proc/self/maps, read without libc's buffers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct region {
    uintptr_t low, high;
    bool shared;     /* with other processes */
    bool anonymous;  /* shared memory without a name that others could open */
    char path[256];  /* cut short if need be; "" if there is none */
    uint64_t offset; /* of `low` in that file */
};

/* The mapping an address lies in; false: none, or it cannot be told. */
bool maps_find(uintptr_t address, struct region *region);
/* May other processes have this memory, too? True where it cannot be told. */
bool maps_shared(uintptr_t address);

/* Keeps a copy of the file, for when it cannot be read any more. */
void maps_keep(void);
const char *maps_kept(size_t *size);

/* The number behind a word at the start of a line of a file ("SigCgt:"), in base 16 or 10; false:
 * no such line. */
bool read_line_hex(const char *path, const char *word, uint64_t *value);
bool read_line_number(const char *path, const char *word, uint64_t *value);

/* A small file under /proc as text, cut to the room; -1: cannot be read. */
long read_small(const char *path, char *buffer, size_t room);
