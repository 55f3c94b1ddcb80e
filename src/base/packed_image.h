/* The packed form of a snapshot: arrays as they lie in memory, names behind each other, one
 * checksum. docs/formats.md says what every byte is. */
#ifndef GORDIAN_BASE_PACKED_IMAGE_H
#define GORDIAN_BASE_PACKED_IMAGE_H

#include "base/packed.h"

#define IMAGE_HEAD  80 /* bytes of the header */
#define IMAGE_TAIL  8
#define IMAGE_MARK  64                   /* every so many names their place is written down */
#define IMAGE_EDGE  16                   /* bytes of an edge of the lists */
#define IMAGE_LISTS 1u                   /* flag: edges are in lists with their units */
#define IMAGE_MAX   UINT32_C(0x3fffffff) /* processes and resources each */

/* One kind of names. */
struct image_names {
    uint64_t count, bytes;
    const uint8_t *marks, *text;
};

/* Sections point into `bytes`. */
struct packed_image {
    struct bytes bytes;
    bool lists;
    struct image_names processes, resources;
    const uint8_t *wait, *holder; /* without lists: u32 by process, by resource */
    const uint8_t *totals;        /* with lists: u64 by resource */
    const uint8_t *holds, *waits;
    uint64_t hold_count, wait_count;
    uint64_t line; /* packed_image_lines: the next one */
    bool bad;      /* it met something that makes no sense */
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

/* ---- writing: header, then section after section, then the end */

struct image_writer {
    gordian_writer writer;
    uint32_t crc;
    size_t used;
    bool failed;
    uint8_t buffer[32 << 10];
};

struct image_counts {
    uint64_t processes, resources, process_bytes, resource_bytes, holds, waits;
    bool lists;
};

void image_begin(struct image_writer *out, const gordian_writer *writer,
                 const struct image_counts *counts);
void image_u32(struct image_writer *out, uint32_t value);
void image_u64(struct image_writer *out, uint64_t value);
void image_bytes(struct image_writer *out, const void *bytes, size_t count);
/* Zeros up to a multiple of eight: ends a section of `bytes`. */
void image_pad(struct image_writer *out, uint64_t bytes);
/* False: some write failed, errno says why. */
bool image_end(struct image_writer *out);

#endif
