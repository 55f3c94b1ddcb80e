/* Reads /proc/self/maps without libc's buffers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct region {
    uintptr_t low, high;
    bool shared;     /* with other processes */
    bool anonymous;  /* unnamed shared memory, which other processes cannot open */
    char path[256];  /* truncated if necessary; "" if there is none */
    uint64_t offset; /* of `low` in the file */
};

/* Finds the mapping that contains an address; false: none, or unknown. */
bool maps_find(uintptr_t address, struct region *region);
/* Returns whether other processes may share this memory. Also true if unknown. */
bool maps_shared(uintptr_t address);

/* Keeps a copy of the maps, for the time when the file is not readable. */
void maps_keep(void);
const char *maps_kept(size_t *size);

/* Reads the number after a word at the start of a line ("SigCgt:"), in base 16 or 10; false: no
 * such line. */
bool read_line_hex(const char *path, const char *word, uint64_t *value);
bool read_line_number(const char *path, const char *word, uint64_t *value);

/* Reads a small file under /proc as text, truncated to the buffer; -1: not readable. */
long read_small(const char *path, char *buffer, size_t room);
