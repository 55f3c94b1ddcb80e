/* Packed form of a snapshot: arrays in their memory layout, names one after another, and a checksum
 * for every chunk. docs/reference/formats.md defines every byte. Use
 * foundation/base/packed/packed_file.h to read files piece by piece. */
#pragma once

#include "foundation/base/packed/packed.h"

#define IMAGE_HEAD  88 /* bytes of the header */
#define IMAGE_TAIL  8
#define IMAGE_MARK  64                   /* interval at which the places of names are stored */
#define IMAGE_EDGE  16                   /* bytes of an edge of the lists */
#define IMAGE_LISTS 1u                   /* flag: edges are lists with units */
#define IMAGE_MAX   UINT32_C(0x3fffffff) /* maximum number of processes, and of resources */
#define IMAGE_CHUNK 4096                 /* bytes of a section per checksum */

/* ------------------------------------------------------------------ layout */

/* Sections, in file order. */
enum image_part {
    IMAGE_TOTALS, /* with lists: u64 for each resource; otherwise empty */
    IMAGE_HOLDS,  /* without lists: u32 holder of each resource; with lists: edges */
    IMAGE_WAITS,  /* without lists: u32 resource for each process; with lists: edges */
    IMAGE_PROCESS_MARKS,
    IMAGE_PROCESS_NAMES,
    IMAGE_RESOURCE_MARKS,
    IMAGE_RESOURCE_NAMES,
    IMAGE_PARTS,
};

struct image_section {
    uint64_t at;    /* offset */
    uint64_t bytes; /* without padding */
    uint64_t sum;   /* index of its first checksum */
};

struct image_layout {
    bool lists;
    uint64_t processes, resources, holds, waits;
    struct image_section sections[IMAGE_PARTS];
    uint64_t sums; /* offset of the checksums */
    uint64_t sum_count;
    uint64_t size; /* of the file */
};

struct image_counts {
    uint64_t processes, resources, process_bytes, resource_bytes, holds, waits;
    bool lists;
};

static inline uint64_t image_padded(uint64_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

static inline uint64_t image_chunks(uint64_t bytes)
{
    return (image_padded(bytes) + IMAGE_CHUNK - 1) / IMAGE_CHUNK;
}

/* Decodes the header; false: damaged. */
bool image_read_head(struct image_layout *layout, const uint8_t head[IMAGE_HEAD]);
/* Checks the checksum of the checksums, which is at the end of the file. */
bool image_sums_right(const struct image_layout *layout, const uint8_t *sums);

/* Are all numbers below `limit`, or GORDIAN_NONE? */
bool image_array_fits(const uint32_t *array, uint64_t count, uint64_t limit);

/* ------------------------------------------------------------------ a snapshot in memory */

/* Names of one kind. */
struct image_names {
    uint64_t count, bytes;
    const uint8_t *marks, *text;
};

/* Resources without a name are awaits. `others` are the processes that can act, in the order of the
 * resources; starts[i] is the first one of resource i, with one more at the end. Only for snapshots
 * that are printed as lines. */
struct image_awaits {
    uint32_t *starts, *others; /* NULL: there are none */
};

/* Sections point into `bytes`. */
struct packed_image {
    struct bytes bytes;
    struct image_layout layout;
    struct image_names processes, resources;
    const uint8_t *sections[IMAGE_PARTS];
    uint64_t line; /* the next one for packed_image_lines */
    struct image_awaits awaits;
    bool bad; /* the content makes no sense */
};

/* Loads a snapshot after unpack_peek. False: see unpack_fail. */
bool packed_image_load(struct packed_image *image, struct unpack *unpack,
                       const gordian_allocator *memory);
void packed_image_free(struct packed_image *image, const gordian_allocator *memory);
/* Frees everything that names do not need. */
void packed_image_keep_names(struct packed_image *image);
/* Returns the name with a NUL; "" if there is no such. */
const char *packed_image_name(const struct image_names *names, uint32_t id);
/* Adds some lines of text; false: there are no more. */
bool packed_image_lines(struct packed_image *image, struct bytes *text);

struct image_edge {
    uint64_t units;
    uint32_t process, resource;
};
struct image_edge packed_image_edge(const uint8_t *edges, uint64_t number);

/* ------------------------------------------------------------------ writing */

/* Writes the header, then the sections in order, then the end. */
struct image_writer {
    gordian_writer writer;
    gordian_allocator memory;
    struct image_layout layout;
    uint32_t *sums;
    uint64_t sum_count;
    uint64_t section; /* bytes of the current section */
    size_t used;
    bool failed;
    uint8_t buffer[16 * IMAGE_CHUNK];
};

/* NULL: out of memory. */
struct image_writer *image_begin(const gordian_writer *writer, const struct image_counts *counts,
                                 const gordian_allocator *memory);
void image_u32(struct image_writer *out, uint32_t value);
void image_u64(struct image_writer *out, uint64_t value);
void image_bytes(struct image_writer *out, const void *bytes, size_t count);
/* Must end every section, also an empty one. */
void image_end_section(struct image_writer *out);
/* Ends the file and frees the writer. False: a write failed, see errno. */
bool image_end(struct image_writer *out);
