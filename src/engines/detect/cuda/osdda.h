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

/* What is on the device, with room for these ids. */
struct osdda_parts {
    struct cuda_room room;
    struct osdda_vectors vectors; /* their addresses */

    struct {
        uint64_t stride; /* bytes from row to row: of RR, then of RP */
        uint64_t rp;     /* where in a row RP starts */
        gpu_address rows;
    } whole;
    struct {
        struct blocks pool;
        struct block_matrix rr, rp;
        gpu_address step, row;
    } blocks;
};

union osdda_any_arguments {
    struct osdda_vectors vectors; /* with which each begins */
    struct osdda_arguments whole;
    struct osdda_blocks_arguments blocks;
};

struct cuda_osdda;

struct osdda_rows {
    const char *kernel;
    size_t arguments_size;
    /* Bytes of device memory for rows of so many ids. */
    uint64_t (*bytes)(const struct gpu_info *info, struct cuda_room room);
    /* Room for the ids of the parts. On failure `close` frees what there is. */
    gordian_status (*open)(struct gpu *gpu, struct osdda_parts *parts, gordian_error *error);
    void (*close)(struct gpu *gpu, struct osdda_parts *parts);
    /* The arguments but for the vectors. */
    void (*arguments)(const struct osdda_parts *parts, union osdda_any_arguments *arguments);
    /* A row of RR or RP, of so many bits. The kernel may have to be asked: false from it is a
     * device lost (cuda_osdda_lost). */
    gordian_status (*read)(struct cuda_osdda *o, bool rp, uint32_t row, uint32_t bits, uint64_t *to,
                           gordian_error *error);
    /* Device memory that the rows have, and how much of that is in use. The kernel is idle. */
    gordian_status (*count)(struct cuda_osdda *o, uint64_t *bytes, uint64_t *used,
                            gordian_error *error);
    /* Optional: before every start of the kernel. GORDIAN_STATUS_MEMORY: there is too little. */
    gordian_status (*feed)(struct osdda_parts *parts, gordian_error *error);
};

struct cuda_osdda {
    struct gpu *gpu;
    const struct rag *rag;
    const struct osdda_rows *rows;
    struct service *service;
    struct osdda_parts parts;
    bool starved; /* there was too little memory for the kernel to go on */

    uint32_t *vector; /* room for a vector of either kind of id */
    uint64_t *row;    /* the last row handed out */

    /* What the current event has given back, by whom: settle clears what nobody took. */
    uint32_t *released;
    uint32_t released_count, releaser;
};

extern const struct osdda_rows osdda_whole_rows, osdda_block_rows;

/* Says why the device is lost. */
gordian_status cuda_osdda_lost(const struct cuda_osdda *o, gordian_error *error);
