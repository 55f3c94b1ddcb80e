/*
 * A packed snapshot in a file, read piece by piece and in any order: numbers straight to where they
 * are wanted, by any number of threads; a name not before somebody asks for it.
 *
 * It is read, not mapped: what is copied is checked while it is in the near cache, and a file that
 * is cut short meanwhile is an error, where a mapping would kill the program.
 */
#pragma once

#include "foundation/base/io/source.h"
#include "foundation/base/packed/packed_snapshot.h"

struct packed_file;

/* An image that begins at source->start and ends with the file. It keeps a descriptor of its own.
 * On failure *out is NULL. */
gordian_status packed_file_open(struct packed_file **out, const struct source_file *source,
                                const gordian_allocator *memory, gordian_error *error);
void packed_file_close(struct packed_file *file); /* NULL is fine */
const struct image_layout *packed_file_layout(const struct packed_file *file);

/* Chunks of a section, from number `first` on, as many as `bytes` take; no more than the section
 * has. Any thread. */
gordian_status packed_file_read(struct packed_file *file, enum image_part part, uint64_t first,
                                void *to, size_t bytes, gordian_error *error);

/* IMAGE_PROCESS_NAMES or _RESOURCE_NAMES. NUL-terminated, it lasts as long as the file is open; ""
 * if there is no such, or if it cannot be read: packed_file_check tells. Any thread. */
const char *packed_file_name(struct packed_file *file, enum image_part names, uint32_t id);
/* Was there a name that could not be read? */
gordian_status packed_file_check(struct packed_file *file, gordian_error *error);
