/* The rows of the cuda engine: what their files share. */
#pragma once

#include "foundation/gpu/gpu.h"
#include "lab/bench/detect/detect.h"
#include "lab/bench/detect/long_chain.h"

/* Which run measures a size. */
enum cuda_scale {
    CUDA_EMULATED, /* only the emulator: to test the bench itself */
    CUDA_QUICK,    /* a GPU, always */
    CUDA_FULL,     /* a GPU, without --quick */
};

struct cuda_bench {
    struct bench *bench;
    struct gpu_info info;
    bool bars; /* absolute times are known for this device */
};

/* Says which device it is. */
gordian_status cuda_begin(struct bench *bench, struct cuda_bench *cuda);
bool cuda_takes(const struct cuda_bench *cuda, enum cuda_scale scale);
/* How long to measure: twice in the emulator. */
struct bench_effort cuda_effort(const struct cuda_bench *cuda, double seconds);
/* Adds the row; bar 0: none. */
gordian_status cuda_add(const struct cuda_bench *cuda, struct bench_row *row, double bar);

/* Each adds its rows. */
gordian_status cuda_multi_rows(const struct cuda_bench *cuda);
gordian_status cuda_what_if_rows(const struct cuda_bench *cuda);
gordian_status cuda_check_rows(const struct cuda_bench *cuda);
gordian_status cuda_published_rows(const struct cuda_bench *cuda);

/* The whole list of 2M events on a fresh system: the time it takes until settled. */
struct cuda_list {
    const char *engine;
    uint32_t size;
    uint64_t first_units;
};
/* Rows for it: the cuda engine beside sparse, and the matrix engine where asked. */
gordian_status cuda_list_rows(const struct cuda_bench *cuda, const char *id, uint32_t size,
                              uint64_t first_units, bool matrix, double bar);
