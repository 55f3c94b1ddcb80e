/* The packed form of a snapshot: arrays as they lie in memory, names behind each other, a checksum
 * for every chunk. docs/reference/formats.md says what every byte is. Files are better read piece
 * by piece: foundation/base/packed/packed_file.h. */
#ifndef GORDIAN_FOUNDATION_BASE_PACKED_PACKED_SNAPSHOT_H
#define GORDIAN_FOUNDATION_BASE_PACKED_PACKED_SNAPSHOT_H

#include "foundation/base/packed/packed.h"

#define IMAGE_HEAD  88 /* bytes of the header */
#define IMAGE_TAIL  8
#define IMAGE_MARK  64                   /* every so many names their place is written down */
#define IMAGE_EDGE  16                   /* bytes of an edge of the lists */
#define IMAGE_LISTS 1u                   /* flag: edges are in lists with their units */
#define IMAGE_MAX   UINT32_C(0x3fffffff) /* processes and resources each */
#define IMAGE_CHUNK 4096                 /* bytes of a section that have a checksum */

/* ------------------------------------------------------------------ what lies where */

/* The sections, in their order. */
enum image_part {
    IMAGE_TOTALS, /* with lists: u64 by resource; without: nothing */
    IMAGE_HOLDS,  /* without lists: who holds it, u32 by resource; with: edges */
    IMAGE_WAITS,  /* without lists: what it waits for, u32 by process; with: edges */
    IMAGE_PROCESS_MARKS,
    IMAGE_PROCESS_NAMES,
    IMAGE_RESOURCE_MARKS,
    IMAGE_RESOURCE_NAMES,
    IMAGE_PARTS,
};

struct image_section {
    uint64_t at;    /* where it begins */
    uint64_t bytes; /* without the zeros behind it */
    uint64_t sum;   /* number of its first checksum */
};

struct image_layout {
    bool lists;
    uint64_t processes, resources, holds, waits;
    struct image_section sections[IMAGE_PARTS];
    uint64_t sums; /* where the checksums begin */
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

/* From the header; false: it is damaged. */
bool image_read_head(struct image_layout *layout, const uint8_t head[IMAGE_HEAD]);
/* Do the checksums, which are the end of the file, have their own right? */
bool image_sums_right(const struct image_layout *layout, const uint8_t *sums);

/* Is every number below `limit`, or GORDIAN_NONE? */
bool image_array_fits(const uint32_t *array, uint64_t count, uint64_t limit);

/* ------------------------------------------------------------------ a whole one in memory */

/* One kind of names. */
struct image_names {
    uint64_t count, bytes;
    const uint8_t *marks, *text;
};

/* Resources without a name are awaits: who can act, resource by resource, starts[i] being where
 * those of number i begin, one more at the end. Only of an image of which lines are made. */
struct image_awaits {
    uint32_t *starts, *others; /* NULL: there are none */
};

/* Sections point into `bytes`. */
struct packed_image {
    struct bytes bytes;
    struct image_layout layout;
    struct image_names processes, resources;
    const uint8_t *sections[IMAGE_PARTS];
    uint64_t line; /* packed_image_lines: the next one */
    struct image_awaits awaits;
    bool bad; /* it met something that makes no sense */
};

/* From where unpack_look came to. False: see unpack_fail. */
bool packed_image_load(struct packed_image *image, struct unpack *unpack,
                       const gordian_allocator *memory);
void packed_image_free(struct packed_image *image, const gordian_allocator *memory);
/* Keeps only what the names need. */
void packed_image_keep_names(struct packed_image *image);
/* NUL-terminated; "" if there is no such. */
const char *packed_image_name(const struct image_names *names, uint32_t id);
/* Adds some lines of text; false: there are no more. */
bool packed_image_lines(struct packed_image *image, struct bytes *text);

struct image_edge {
    uint64_t units;
    uint32_t process, resource;
};
struct image_edge packed_image_edge(const uint8_t *edges, uint64_t number);

/* ------------------------------------------------------------------ writing */

/* Header, then section after section, then the end. */
struct image_writer {
    gordian_writer writer;
    gordian_allocator memory;
    struct image_layout layout;
    uint32_t *sums;
    uint64_t sum_count;
    uint64_t section; /* bytes of the one being written */
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
/* Every section ends so, empty ones too. */
void image_end_section(struct image_writer *out);
/* Ends the file and frees the writer. False: some write failed, errno says why. */
bool image_end(struct image_writer *out);

#endif
