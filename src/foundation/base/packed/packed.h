/*
 * Packed form of a trace: lines of words as numbers, in blocks with checksums.
 * docs/reference/formats.md defines every byte. A snapshot has its own form
 * (foundation/base/packed/packed_snapshot.h) after the same first bytes.
 *
 * Packing takes lines of words. Unpacking is a source of text for the text reader; it passes input
 * that is not packed unchanged.
 */
#pragma once

#include "foundation/base/bytes.h"
#include "foundation/base/io/magic.h"

#define PACKED_VERSION 1
#define PACKED_HEAD    16 /* bytes of a trace's header, the first part of which all forms share */
/* Maximum size of a block; the longest line fits. */
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

/* Writes the first 16 bytes of a packed file. */
void packed_head(uint8_t head[PACKED_HEAD], enum packed_kind kind);

/* ------------------------------------------------------------------ unpacking */

struct unpack {
    gordian_source inner;
    struct bytes text; /* the unpacked text */
    size_t given;      /* bytes of it that were read */
    struct bytes block;
    struct bytes names; /* the words, one after another */
    size_t *name_ends;  /* end of each word */
    size_t name_room, name_count;
    struct packed_image *image; /* of a snapshot, after loading */
    uint64_t at;                /* bytes taken from the source */
    enum packed_kind kind;
    bool known, ended, plain_end;
    bool no_memory;
    char problem[120]; /* the error in the file; "": none */
};

/* Reads nothing yet. */
void unpack_open(struct unpack *unpack, const gordian_source *source,
                 const gordian_allocator *memory);
void unpack_close(struct unpack *unpack);
/* The read function of a source with this context: always text. -1: see unpack_fail. */
ptrdiff_t unpack_read(void *context, char *buffer, size_t size);
/* Detects the form and reads no more than that needs. False: reading failed, see unpack_fail. */
bool unpack_peek(struct unpack *unpack, enum packed_kind *kind);
/* Reads raw bytes of the file after unpack_peek; false: fewer, or failed. */
bool unpack_take(struct unpack *unpack, void *buffer, size_t size);
/* Is the file at its end? If not, that is an error. */
bool unpack_is_whole(struct unpack *unpack);
/* Is the failure more than a failed read? */
static inline bool unpack_knows(const struct unpack *unpack)
{
    return unpack->problem[0] || unpack->no_memory;
}

/* Reports a failure: the error in the file, or the failed read from errno. */
gordian_status unpack_fail(const struct unpack *unpack, gordian_error *error);
/* Errors of packed files, with an offset ... */
#define PACKED_CUT_SHORT  "packed file is truncated after %llu bytes"
#define PACKED_BEHIND_END "packed file has data after its end, at byte %llu"
/* ... and of packed snapshots. */
#define PACKED_BAD_HEAD  "packed snapshot has a damaged header"
#define PACKED_DAMAGED   "packed snapshot is damaged: wrong checksum"
#define PACKED_SENSELESS "packed snapshot is invalid"
/* Records an error in the file; only the first one counts. */
void unpack_problem(struct unpack *unpack, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
