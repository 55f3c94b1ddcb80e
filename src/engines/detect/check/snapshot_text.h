/* Reading snapshots from text: shared by the serial and the parallel reader. */
#pragma once

#include "foundation/base/io/source.h"
#include "foundation/base/names/sharded_interner.h"
#include "foundation/base/packed/packed_file.h"

#define SNAPSHOT_TOO_MANY_ACTS "an await needs at least as many different processes as acts"

struct gordian_names {
    gordian_allocator memory;
    struct names processes, resources;
    bool crowded; /* the names are in the sharded interner instead */
    struct sharded_interner process_interner, resource_interner;
    struct packed_image image; /* or in this, if it is not empty */
    struct packed_file *file;  /* or in this */
};

/* Returns empty names. NULL: out of memory. */
gordian_names *snapshot_names_open(const gordian_allocator *memory);

/* Opens a file of a snapshot; "-" is standard input. */
gordian_status check_open_file(const char *path, int *fd, gordian_error *error);

/* Reads a piece of a snapshot. At the first call *out and *names are NULL; later calls extend them.
 * On failure the caller still closes both. */
gordian_status snapshot_read_piece(gordian_snapshot **out, gordian_names **names,
                                   const gordian_source *source, gordian_error *error);

/* The number of threads that read, and the size of a piece in bytes. */
struct snapshot_split {
    unsigned threads;
    size_t piece;
};

/* Reads a plain file with many threads: the same snapshot and names as with one.
 * GORDIAN_STATUS_END: the file is not plain or needs a message; nothing has been read, and one
 * thread must read it. `memory` must be thread-safe. */
gordian_status snapshot_read_parallel(gordian_snapshot *snapshot, gordian_names *names,
                                      const struct source_file *file,
                                      const struct snapshot_split *split,
                                      const gordian_allocator *memory);

/* Reads a packed snapshot after unpack_peek, with at most that many threads; more than one only if
 * `memory` is thread-safe. */
gordian_status snapshot_unpack(gordian_snapshot *snapshot, gordian_names *names,
                               struct unpack *unpack, const gordian_check_options *options,
                               gordian_error *error);
/* Names by id. Each is valid until the next call. */
struct snapshot_naming {
    const char *(*process)(void *context, uint32_t id);
    const char *(*resource)(void *context, uint32_t id);
    void *context;
};
/* Writes the snapshot packed. */
gordian_status snapshot_pack(const gordian_snapshot *snapshot, const struct snapshot_naming *naming,
                             const gordian_writer *writer, const gordian_allocator *memory,
                             gordian_error *error);
