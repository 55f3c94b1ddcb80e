/* Reads build IDs and symbols from a program file or from its image in memory: enough to find out
 * whether the two belong together, and to find a few symbols by name. Needs no library. */
#pragma once

#include "sources/inspect/target/target.h"

#define IMAGE_ID_MOST 64

struct image_id {
    unsigned char bytes[IMAGE_ID_MOST];
    size_t count; /* 0: no build ID */
};

/* Reads the build ID of a file, or of the module whose first page is mapped at `base`. False: not a
 * 64-bit program, or not readable. */
bool image_file_id(const char *path, struct image_id *id, uint32_t *machine);
bool image_memory_id(struct target *target, uint64_t base, struct image_id *id);
bool image_same_id(const struct image_id *a, const struct image_id *b);

/* Finds the address of a symbol in the process, using the file that is mapped there. `file`: the
 * end of the module's path ("libc.so.6"), or NULL for any module. False: not found. */
bool image_symbol(struct target *target, const char *file, const char *symbol, uint64_t *address,
                  uint64_t *size);
/* Returns whether the path ends with this text. */
bool path_ends_with(const char *path, const char *end);
/* Opens a mapped file: below the root, or through map_files. */
int image_open(const struct target *target, const struct target_mapping *mapping);
