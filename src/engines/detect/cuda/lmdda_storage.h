/*
 * LMDDA on a GPU: what lmdda.c and lmdda_storage.c share.
 *
 * The matrices that have a bit for every pair of ids are stored whole, and reachability is computed
 * by matrix products (hop.h); or they are stored in blocks, of which the empty ones take no memory
 * (foundation/gpu/blocks.h).
 */
#pragma once

#include "engines/detect/cuda/lmdda.h"
#include "foundation/gpu/blocks.h"

#define LMDDA_UPDATES_MOST 2048u /* sent at once */
#define LMDDA_ROWS_MOST    16u   /* recomputed one by one; beyond, all of RP is */

/* Memory that the host and the device share. */
struct lmdda_shared {
    struct lmdda_update updates[LMDDA_UPDATES_MOST];
    uint32_t rows[LMDDA_ROWS_MOST];
    uint32_t answer;
};

/* The arrays, by the ids for which there is capacity. */
struct lmdda_parts {
    struct cuda_capacity room;
    struct lmdda_state device;
    gpu_address ends;
    uint64_t *row; /* the last row returned */
    uint32_t *
        slots; /* by resource: its slot, or LMDDA_NONE; see foundation/gpu/kernels/detect/lmdda.h */
    uint32_t *waiters;  /* by resource: number of its waiters */
    uint32_t *occupant; /* by slot: its resource */
    uint32_t slot_count;

    struct hop hop; /* of whole rows */
    struct {
        struct blocks pool;
        struct block_matrix grants, reach, walks[2];
        gpu_address barrier, changed, row;
    } blocks;
};

struct cuda_lmdda {
    struct gpu *gpu;
    const struct rag *rag;
    bool blocks; /* not whole rows */
    struct gpu_info info;
    struct hop_options options;
    struct lmdda_parts parts;

    struct lmdda_shared *shared;
    gpu_address shared_device;
    uint32_t update_count, row_count;
    bool stale; /* an edge was removed: RP has to be recomputed */

    struct lmdda_join_arguments join; /* the last join */
    bool joining;                     /* it may have to be repeated */
    bool starved;                     /* there was too little memory to go on */

    gordian_error failure;
    uint64_t commands_left; /* for tests: until the device fails */
};

/* Returns the bytes of device memory of the matrices, and of recomputing RP. */
uint64_t lmdda_storage_bytes(const struct cuda_lmdda *l, struct cuda_capacity room);
/* Opens empty matrices. On failure the caller frees them. */
gordian_status lmdda_storage_open(struct cuda_lmdda *l, struct lmdda_parts *parts,
                                  gordian_error *error);
/* Starts to recompute all of RP. */
gordian_status lmdda_storage_recompute(struct cuda_lmdda *l, gordian_error *error);
/* Starts to find the end of every row (foundation/gpu/kernels/detect/what_if.h), in parts.ends. */
gordian_status lmdda_storage_find_ends(struct cuda_lmdda *l, gordian_error *error);
/* Reads a row of RP. All earlier work is done. */
gordian_status lmdda_storage_read(struct cuda_lmdda *l, uint32_t row, void *to,
                                  gordian_error *error);

/* Launches a kernel and waits. Repeats it if it ran out of memory that can be mapped. */
gordian_status cuda_lmdda_launch(struct cuda_lmdda *l, const struct gpu_launch *launch,
                                 gordian_error *error);
/* Returns the 32-bit words of a row of processes. */
uint32_t cuda_lmdda_words(const struct cuda_lmdda *l);
