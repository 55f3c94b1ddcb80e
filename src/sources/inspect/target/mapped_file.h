/* What a program file, or its image in memory, says about itself: as much as is needed to tell
 * whether the two belong together, and to find a few symbols by name. No library is needed. */
#pragma once

#include "sources/inspect/target/target.h"

#define IMAGE_ID_MOST 64

struct image_id {
    unsigned char bytes[IMAGE_ID_MOST];
    size_t count; /* 0: it has none */
};

/* The build-id of a file, or of the module whose first page is mapped at `base`. False: it is no
 * program of 64 bits, or cannot be read. */
bool image_file_id(const char *path, struct image_id *id, uint32_t *machine);
bool image_memory_id(struct target *target, uint64_t base, struct image_id *id);
bool image_same_id(const struct image_id *a, const struct image_id *b);

/* The address in the process of a symbol of a module, by the file that is mapped there. `file`: the
 * end of the module's path ("libc.so.6"), or NULL for any module. False: not found. */
bool image_symbol(struct target *target, const char *file, const char *symbol, uint64_t *address,
                  uint64_t *size);
/* Does the text end with this? */
bool path_ends_with(const char *path, const char *end);
/* Where a mapped file can be opened: below the root, or as the kernel keeps it. */
int image_open(const struct target *target, const struct target_mapping *mapping);
