/*
 * The check of one snapshot on a device: its arrays and the operations on them, so that both
 * methods read as lists of steps. After the first failure all later steps do nothing, and the
 * status stays the status of the failure.
 */
#pragma once

#include "engines/detect/check/cuda.h"

#define CUDA_JOB_ARRAYS 40

/* The arrays of a check: sizes first, so that their sum is known before any allocation. */
struct job_layout {
    size_t sizes[CUDA_JOB_ARRAYS];
    unsigned count;
};

struct cuda_job {
    struct gpu *gpu;
    struct gpu_info info;
    const gordian_snapshot *snapshot;
    const gordian_allocator *memory;
    struct check_result *result;
    struct check_cuda_times times;
    gpu_address arrays[CUDA_JOB_ARRAYS];
    unsigned array_count;
    gpu_address tiles; /* for selections and sums: one of the arrays */
    gordian_status status;
    gordian_error *error;
};

/* Returns the bytes of the tile sums over `count` elements; of flags to select from. */
size_t job_tiles_size(uint64_t count);
size_t job_flags_size(uint64_t count);

/* Allocates one more array, whose size was not known before. Returns 0 on failure. */
gpu_address job_allocate_more(struct cuda_job *job, size_t bytes);

/* Copies memory to the device and measures the time. */
void job_upload(struct cuda_job *job, gpu_address to, const void *from, size_t bytes);
/* Copies `count` numbers from the device to a new array of the caller's allocator. Returns NULL on
 * failure. */
uint32_t *job_download_list(struct cuda_job *job, gpu_address from, size_t count);
void job_zero(struct cuda_job *job, gpu_address to, size_t bytes);

/* The time of kernels is measured between these two. Small reads may come in between. */
void job_begin(struct cuda_job *job);
void job_end(struct cuda_job *job);

/* Runs a kernel with a thread for each of `count` elements; does nothing for 0. */
void job_run(struct cuda_job *job, const char *kernel, uint64_t count, unsigned threads,
             const void *arguments, size_t size);
/* Runs a cooperative kernel with as many blocks as the device can hold, or fewer for few elements.
 */
void job_run_together(struct cuda_job *job, const char *kernel, uint64_t count, unsigned threads,
                      const void *arguments, size_t size);

/* Selects the numbers below `count` with flags & mask, in order: writes their `from` (0:
 * themselves) to `to` and returns how many there are. */
uint32_t job_select(struct cuda_job *job, gpu_address flags, uint32_t mask, gpu_address from,
                    gpu_address to, uint32_t count);
/* Exclusive prefix sum: replaces each of `count` values by the sum of those before it and returns
 * the total. */
uint32_t job_prefix(struct cuda_job *job, gpu_address values, uint32_t count);

/* Chases through a graph in which every process leads to at most one other. All arrays have
 * capacity for a number for every process, or for a byte if they are flags. */
struct job_chases {
    struct cuda_job *job;
    uint32_t count;              /* processes */
    gpu_address link;            /* by process: the process it leads to; NONE: it runs */
    gpu_address into, at, place; /* by chase */
    gpu_address list[2];         /* of chases; one is computed from the other */
    gpu_address jump[2];         /* by place in the list */
    gpu_address state, entered;  /* bytes, by chase */
    gpu_address flags;           /* bytes: in the end, by process: it leads into a cycle */
    unsigned core;               /* the list that holds the core */
    uint32_t core_count;         /* bound of the chases on cycles of more than one chase */
};

/* Fills in everything except `link`, which is overwritten, and `flags`. */
void job_follow_chases(struct job_chases *chases);
/* Returns the rounds of doubling until jumps are at least `count` long. */
unsigned job_doubling_rounds(uint32_t count);

/* The two methods. */
void job_layout_single(const gordian_snapshot *snapshot, struct job_layout *layout);
void job_check_single(struct cuda_job *job);
void job_layout_general(const gordian_snapshot *snapshot, struct job_layout *layout);
void job_check_general(struct cuda_job *job);
