/*
 * The packed form of a trace: lines of words as numbers, in blocks with checksums.
 * docs/reference/formats.md says what every byte is. A snapshot has a form of its own
 * (foundation/base/packed/packed_snapshot.h) behind the same first bytes.
 *
 * Packing takes lines of words. Unpacking is a source of text that stands before the text reader
 * and lets what is not packed pass as it is.
 */
#ifndef GORDIAN_FOUNDATION_BASE_PACKED_PACKED_H
#define GORDIAN_FOUNDATION_BASE_PACKED_PACKED_H

#include "foundation/base/bytes.h"
#include "foundation/base/io/magic.h"

#define PACKED_VERSION 1
#define PACKED_HEAD    16 /* bytes of a trace's header, and what all have in common */
/* Bytes of a block: the longest line fits. */
#define PACKED_BLOCK_MAX (64u << 20)
#define PACKED_RENEW     (UINT32_C(1) << 31)

enum packed_kind { PACKED_TEXT = 0, PACKED_TRACE = 1, PACKED_SNAPSHOT = 2 };

static inline void packed_put32(void *to, uint32_t value)
{
    uint8_t *bytes = to;
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
}

static inline uint32_t packed_get32(const void *from)
{
    const uint8_t *bytes = from;
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static inline void packed_put64(void *to, uint64_t value)
{
    packed_put32(to, (uint32_t)value);
    packed_put32((uint8_t *)to + 4, (uint32_t)(value >> 32));
}

static inline uint64_t packed_get64(const void *from)
{
    return packed_get32(from) | (uint64_t)packed_get32((const uint8_t *)from + 4) << 32;
}

/* The 16 bytes that every packed file begins with. */
void packed_head(uint8_t head[PACKED_HEAD], enum packed_kind kind);

/* ------------------------------------------------------------------ unpacking */

struct unpack {
    gordian_source inner;
    struct bytes text; /* what has been unpacked */
    size_t given;      /* of it */
    struct bytes block;
    struct bytes names; /* texts of the words, one behind the other */
    size_t *name_ends;  /* by number */
    size_t name_room, name_count;
    struct packed_image *image; /* of a snapshot, once it is loaded */
    uint64_t at;                /* bytes taken from the source */
    enum packed_kind kind;
    bool known, ended, plain_end;
    bool no_memory;
    char problem[120]; /* what is wrong with the file; "": nothing */
};

/* Nothing is read yet. */
void unpack_open(struct unpack *unpack, const gordian_source *source,
                 const gordian_allocator *memory);
void unpack_close(struct unpack *unpack);
/* A source whose context this is: text, whatever was packed. -1: see unpack_fail. */
ptrdiff_t unpack_read(void *context, char *buffer, size_t size);
/* What is it? Reads no further than that takes. False: reading failed, see unpack_fail. */
bool unpack_look(struct unpack *unpack, enum packed_kind *kind);
/* The bytes of the file as they are, from where unpack_look came to; false: fewer, or it failed. */
bool unpack_take(struct unpack *unpack, void *buffer, size_t size);
/* Is nothing left? Otherwise that is a problem. */
bool unpack_is_whole(struct unpack *unpack);
/* Is there more to say about a failure than that reading failed? */
static inline bool unpack_knows(const struct unpack *unpack)
{
    return unpack->problem[0] || unpack->no_memory;
}

/* After a failure: what is wrong with the file; or with reading it, from errno. */
gordian_status unpack_fail(const struct unpack *unpack, gordian_error *error);
/* What can be wrong with a packed file, after so many bytes or at such a one; */
#define PACKED_CUT_SHORT  "a packed file that is cut short, after %llu bytes"
#define PACKED_BEHIND_END "a packed file with something behind its end, at byte %llu"
/* and with a packed snapshot. */
#define PACKED_BAD_HEAD  "a packed snapshot with a damaged header"
#define PACKED_DAMAGED   "a packed snapshot that is damaged: its checksum differs"
#define PACKED_SENSELESS "a packed snapshot that makes no sense"
/* Says what is wrong, once. */
void unpack_problem(struct unpack *unpack, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
