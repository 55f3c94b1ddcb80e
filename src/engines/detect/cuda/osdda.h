/*
 * OSDDA on a GPU: what osdda.c and osdda_storage.c share.
 *
 * The rows of RR and RP are stored whole, or in blocks of which the empty ones take no memory
 * (foundation/gpu/blocks.h).
 */
#pragma once

#include "engines/detect/cuda/cuda.h"
#include "foundation/gpu/blocks.h"
#include "foundation/gpu/kernels/detect/osdda.h"
#include "foundation/gpu/service.h"

union osdda_any_arguments {
    struct osdda_vectors vectors; /* the first member of each */
    struct osdda_arguments whole;
    struct osdda_blocks_arguments blocks;
};

/* The arrays, by the ids for which there is capacity. */
struct osdda_parts {
    struct cuda_capacity room;
    union osdda_any_arguments arguments; /* of the kernel, with the device addresses */
    struct blocks pool;                  /* of rows in blocks */

    uint32_t *vector; /* capacity: a vector of either kind of id */
    uint64_t *row;    /* the last row returned */
    uint32_t
        *released; /* what the current event has released; settle clears what was not handed over */
};

struct cuda_osdda {
    struct gpu *gpu;
    const struct rag *rag;
    bool blocks; /* not whole rows */
    struct gpu_info info;
    struct service *service;
    struct osdda_parts parts;
    bool starved; /* the kernel could not go on for lack of memory */

    uint32_t released_count, releaser; /* of parts.released */
};

/* Returns the bytes of device memory for the rows of these ids. */
uint64_t osdda_storage_bytes(const struct cuda_osdda *o, struct cuda_capacity room);
/* Opens rows for the ids of the parts. On failure the caller frees them. */
gordian_status osdda_storage_open(const struct cuda_osdda *o, struct osdda_parts *parts,
                                  gordian_error *error);
/* Reads a row of RR or RP, which has that many bits, into parts.row. */
gordian_status osdda_storage_read(struct cuda_osdda *o, bool rp, uint32_t row, uint32_t bits,
                                  gordian_error *error);

/* Fails with the reason why the device is lost. */
gordian_status cuda_osdda_lost(const struct cuda_osdda *o, gordian_error *error);
