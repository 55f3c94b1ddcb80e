/*
 * One judgement on a device: its arrays and what is done to them, so that the two ways of judging
 * read as lists of steps. After the first failure all that follows does nothing; the
 * status says what it was.
 */
#pragma once

#include "engines/detect/check/cuda.h"

#define CUDA_JOB_ARRAYS 40

/* What a judgement needs: sizes first, so that the sum is known before anything is allocated. */
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

/* Bytes of the tile sums over `count` elements; of flags that are to be selected from. */
size_t job_tiles_size(uint64_t count);
size_t job_flags_size(uint64_t count);

/* One more array, whose size was not known before; 0: failed. */
gpu_address job_allocate_more(struct cuda_job *job, size_t bytes);

/* Memory: from here, to there, timed. */
void job_upload(struct cuda_job *job, gpu_address to, const void *from, size_t bytes);
/* A new array of the caller's allocator with `count` numbers from there; NULL: failed. */
uint32_t *job_download_list(struct cuda_job *job, gpu_address from, size_t count);
void job_zero(struct cuda_job *job, gpu_address to, size_t bytes);

/* Kernel time is measured between these two; small reads may come between. */
void job_begin(struct cuda_job *job);
void job_end(struct cuda_job *job);

/* A kernel with a thread for each of `count` things; nothing if that is none. */
void job_run(struct cuda_job *job, const char *kernel, uint64_t count, unsigned threads,
             const void *arguments, size_t size);
/* A cooperative one with as many blocks as the device takes, or fewer for few things. */
void job_run_together(struct cuda_job *job, const char *kernel, uint64_t count, unsigned threads,
                      const void *arguments, size_t size);

/* Those below `count` with flags & mask, in order: their `from` (0: themselves) go `to`. How
 * many. */
uint32_t job_select(struct cuda_job *job, gpu_address flags, uint32_t mask, gpu_address from,
                    gpu_address to, uint32_t count);
/* Replaces each of `count` values by the sum of those before; the sum of all. */
uint32_t job_prefix(struct cuda_job *job, gpu_address values, uint32_t count);

/* Chases through a graph in which every process leads to at most one other; all arrays have room
 * for as many numbers as there are processes, or as many bytes for flags. */
struct job_chases {
    struct cuda_job *job;
    uint32_t count;              /* processes */
    gpu_address link;            /* by process: who it leads to; NONE: it runs */
    gpu_address into, at, place; /* by chase */
    gpu_address list[2];         /* of chases, one being made from the other */
    gpu_address jump[2];         /* by place in the list */
    gpu_address state, entered;  /* bytes, by chase */
    gpu_address flags;           /* bytes: in the end, by process, who leads round a circle */
    unsigned core;               /* which list holds the core */
    uint32_t core_count;         /* chases on circles of more than one are among so many */
};

/* Fills in everything but `link`, which is used up, and `flags`. */
void job_follow_chases(struct job_chases *chases);
/* Rounds of doubling until jumps are at least `count` long. */
unsigned job_doubling_rounds(uint32_t count);

/* The two ways. */
void job_layout_single(const gordian_snapshot *snapshot, struct job_layout *layout);
void job_check_single(struct cuda_job *job);
void job_layout_general(const gordian_snapshot *snapshot, struct job_layout *layout);
void job_check_general(struct cuda_job *job);
