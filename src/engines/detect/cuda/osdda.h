/*
 * OSDDA on a GPU: what osdda.c asks of a way of keeping the rows of RR and RP.
 *
 *     osdda_whole.c    whole rows: bytes for every bit there may be
 *     osdda_blocks.c   blocks of rows that are stored only where they are not empty
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

struct cuda_osdda;

struct osdda_rows {
    const char *kernel;
    size_t arguments_size;
    bool blocks; /* not whole rows */
    /* Bytes of device memory for rows of so many ids. */
    uint64_t (*bytes)(const struct gpu_info *info, struct cuda_room room);
    /* Room for the ids of the parts. On failure the caller frees what there is. */
    gordian_status (*open)(struct gpu *gpu, struct osdda_parts *parts, gordian_error *error);
    /* A row of RR or RP, of so many bits. The kernel may have to be asked: false from it is a
     * device lost (cuda_osdda_lost). */
    gordian_status (*read)(struct cuda_osdda *o, bool rp, uint32_t row, uint32_t bits, uint64_t *to,
                           gordian_error *error);
};

struct cuda_osdda {
    struct gpu *gpu;
    const struct rag *rag;
    const struct osdda_rows *rows;
    struct gpu_info info;
    struct service *service;
    struct osdda_parts parts;
    bool starved; /* there was too little memory for the kernel to go on */

    uint32_t released_count, releaser; /* of parts.released */
};

extern const struct osdda_rows osdda_whole_rows, osdda_block_rows;

/* Says why the device is lost. */
gordian_status cuda_osdda_lost(const struct cuda_osdda *o, gordian_error *error);
