/* Shared by the files with rows of the cuda engine. */
#pragma once

#include "foundation/gpu/gpu.h"
#include "lab/bench/detect/detect.h"
#include "lab/bench/detect/long_chain.h"

/* Which runs measure a size. */
enum cuda_scale {
    CUDA_EMULATED, /* only the emulator, to test the bench itself */
    CUDA_QUICK,    /* a GPU, always */
    CUDA_FULL,     /* a GPU, without --quick */
};

struct cuda_bench {
    struct bench *bench;
    struct gpu_info info;
    bool bars; /* absolute targets are set for this device */
};

/* Reports the device. */
gordian_status cuda_begin(struct bench *bench, struct cuda_bench *cuda);
bool cuda_takes(const struct cuda_bench *cuda, enum cuda_scale scale);
/* How long to measure; the emulator measures twice. */
struct bench_effort cuda_effort(const struct cuda_bench *cuda, double seconds);
/* Adds the row; bar 0: no target. */
gordian_status cuda_add(const struct cuda_bench *cuda, struct bench_row *row, double bar);

/* Each function adds its rows. */
gordian_status cuda_multi_rows(const struct cuda_bench *cuda);
gordian_status cuda_what_if_rows(const struct cuda_bench *cuda);
gordian_status cuda_check_rows(const struct cuda_bench *cuda);
gordian_status cuda_published_rows(const struct cuda_bench *cuda);

/* The whole list of 2M events on a fresh system, timed until settled. */
struct cuda_list {
    const char *engine;
    uint32_t size;
    uint64_t first_units;
};
/* Adds its rows: the cuda engine against sparse, and the matrix engine if requested. */
gordian_status cuda_list_rows(const struct cuda_bench *cuda, const char *id, uint32_t size,
                              uint64_t first_units, bool matrix, double bar);
