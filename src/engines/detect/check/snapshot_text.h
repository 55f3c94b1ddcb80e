/* Reading a snapshot from text: what its two ways share. */
#pragma once

#include "foundation/base/io/source.h"
#include "foundation/base/names/sharded_interner.h"
#include "foundation/base/packed/packed_file.h"

#define SNAPSHOT_TOO_MANY_ACTS "more acts are awaited than different processes are named"

struct gordian_names {
    gordian_allocator memory;
    struct names processes, resources;
    bool crowded; /* the names are in these instead */
    struct sharded_interner process_crowd, resource_crowd;
    struct packed_image image; /* or in this, if it has any bytes */
    struct packed_file *file;  /* or in this */
};

/* Empty; NULL: out of memory. */
gordian_names *snapshot_names_open(const gordian_allocator *memory);

/* Opens a file of a snapshot, "-" being standard input. */
gordian_status check_open_file(const char *path, int *fd, gordian_error *error);

/* Reads a piece of a snapshot: the first time *out and *names are NULL, then the same. On failure
 * both are still the caller's to close. */
gordian_status snapshot_read_piece(gordian_snapshot **out, gordian_names **names,
                                   const gordian_source *source, gordian_error *error);

/* How many threads take pieces of how many bytes. */
struct snapshot_split {
    unsigned threads;
    size_t piece;
};

/* Reads a plain file with many threads: the same snapshot and the same names as one by one.
 * GORDIAN_STATUS_END: it is not plain, or there is something to be said about it; nothing has been
 * read, and it must be read one by one. `memory` must serve many threads at once. */
gordian_status snapshot_read_parallel(gordian_snapshot *snapshot, gordian_names *names,
                                      const struct source_file *file,
                                      const struct snapshot_split *split,
                                      const gordian_allocator *memory);

/* Reads a packed snapshot, from where unpack_look came to, with at most so many threads, more than
 * one only if `memory` serves them. */
gordian_status snapshot_unpack(gordian_snapshot *snapshot, gordian_names *names,
                               struct unpack *unpack, const gordian_check_options *options,
                               gordian_error *error);
/* Names by id, each valid until the next is asked for. */
struct snapshot_naming {
    const char *(*process)(void *context, uint32_t id);
    const char *(*resource)(void *context, uint32_t id);
    void *context;
};
/* Writes it packed. */
gordian_status snapshot_pack(const gordian_snapshot *snapshot, const struct snapshot_naming *naming,
                             const gordian_writer *writer, const gordian_allocator *memory,
                             gordian_error *error);
