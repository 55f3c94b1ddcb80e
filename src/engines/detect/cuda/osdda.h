/*
 * OSDDA on a GPU: what osdda.c and osdda_storage.c share. The rows of RR and RP are stored whole,
 * or in blocks that are stored only where they are not empty (foundation/gpu/blocks.h).
 */
#pragma once

#include "engines/detect/cuda/cuda.h"
#include "foundation/gpu/blocks.h"
#include "foundation/gpu/kernels/detect/osdda.h"
#include "foundation/gpu/service.h"

union osdda_any_arguments {
    struct osdda_vectors vectors; /* with which each begins */
    struct osdda_arguments whole;
    struct osdda_blocks_arguments blocks;
};

/* What there is for the ids there is room for. */
struct osdda_parts {
    struct cuda_room room;
    union osdda_any_arguments arguments; /* of the kernel, with the addresses on the device */
    struct blocks pool;                  /* of rows in blocks */

    uint32_t *vector;   /* room for a vector of either kind of id */
    uint64_t *row;      /* the last row handed out */
    uint32_t *released; /* what the current event has given back: settle clears what nobody took */
};

struct cuda_osdda {
    struct gpu *gpu;
    const struct rag *rag;
    bool blocks; /* not whole rows */
    struct gpu_info info;
    struct service *service;
    struct osdda_parts parts;
    bool starved; /* there was too little memory for the kernel to go on */

    uint32_t released_count, releaser; /* of parts.released */
};

/* Bytes of device memory for rows of so many ids. */
uint64_t osdda_storage_bytes(const struct cuda_osdda *o, struct cuda_room room);
/* Rows for the ids of the parts. On failure the caller frees what there is. */
gordian_status osdda_storage_open(const struct cuda_osdda *o, struct osdda_parts *parts,
                                  gordian_error *error);
/* A row of RR or RP, of so many bits. */
gordian_status osdda_storage_read(struct cuda_osdda *o, bool rp, uint32_t row, uint32_t bits,
                                  gordian_error *error);

/* Says why the device is lost. */
gordian_status cuda_osdda_lost(const struct cuda_osdda *o, gordian_error *error);
