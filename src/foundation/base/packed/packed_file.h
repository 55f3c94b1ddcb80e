/*
 * Random access to a packed snapshot in a file. Any number of threads read numbers directly into
 * their destination; names are read on demand.
 *
 * The file is read, not mapped: bytes are checked while they are in the near cache, and a file that
 * is truncated during the run is an error; with a mapping it would kill the program.
 */
#pragma once

#include "foundation/base/io/source.h"
#include "foundation/base/packed/packed_snapshot.h"

struct packed_file;

/* Opens a snapshot that begins at source->start and ends with the file. Duplicates the descriptor.
 * On failure *out is NULL. */
gordian_status packed_file_open(struct packed_file **out, const struct source_file *source,
                                const gordian_allocator *memory, gordian_error *error);
void packed_file_close(struct packed_file *file); /* NULL is allowed */
const struct image_layout *packed_file_layout(const struct packed_file *file);

/* Reads `bytes` bytes of a section from chunk `first` on, within the section. Thread-safe. */
gordian_status packed_file_read(struct packed_file *file, enum image_part part, uint64_t first,
                                void *to, size_t bytes, gordian_error *error);

/* Returns the name with a NUL; `names` is IMAGE_PROCESS_NAMES or _RESOURCE_NAMES. Valid until the
 * file is closed. "": no such name, or unreadable (see packed_file_check). Thread-safe. */
const char *packed_file_name(struct packed_file *file, enum image_part names, uint32_t id);
/* Fails if a name could not be read. */
gordian_status packed_file_check(struct packed_file *file, gordian_error *error);
