/* Internal header of the cuda engine. */
#pragma once

#include "engines/compose/cuda/cuda.h"
#include "foundation/gpu/array/array.h"

#define CUDA_PASSES 16u /* launched before the host checks the result */

/* Device memory that kernels write results to. */
struct compose_control {
    struct compose_tally tally;
    struct compose_counts counts;
    uint64_t found[CUDA_PASSES];
    uint64_t taken;
    uint32_t changed, unused;
    uint64_t level_found[COMPOSE_LEVELS], level_full[COMPOSE_LEVELS];
    uint32_t barrier[2]; /* a struct grid_barrier */
};

struct compose_device {
    gordian_allocator memory;
    struct gpu *gpu;
    struct gpu_info info;
    struct compose_tuning tuning;
    const gordian_compose_options *options;
    struct packed *packed;

    gpu_address firings, ends, labels, word_firings, radices, control;
    struct compose_firings view; /* of the firings */
    struct compose_set set;
    gpu_address waiting;    /* in addition to the bitmap */
    struct gpu_range *list; /* the states of a list */
    uint64_t room;          /* capacity of the list, in states */
    uint64_t rounds;        /* levels or passes executed */
    uint64_t dense;         /* with more states than this, the set may move to a bitmap */
    unsigned resident;      /* resident blocks of compose_levels; 0: not known yet */

    uint64_t held, most; /* bytes of device memory */
    gordian_compose_stop stop;
    gordian_compose_progress progress;
};

/* Accounts for bytes. GORDIAN_STATUS_MEMORY: more than the limit of the options. */
gordian_status device_take(struct compose_device *device, uint64_t bytes, gordian_error *error);
void device_give(struct compose_device *device, uint64_t bytes);
/* Allocates device memory. GORDIAN_STATUS_MEMORY: more than the limit of the options, or out of
 * memory. */
gordian_status device_alloc(struct compose_device *device, gpu_address *out, uint64_t bytes,
                            gordian_error *error);
/* Frees the memory and sets the address to 0. */
void device_free(struct compose_device *device, gpu_address *address, uint64_t bytes);
/* Is this within the limit and the free memory of the device? */
bool device_fits(const struct compose_device *device, uint64_t bytes);

gordian_status device_launch(struct compose_device *device, const char *kernel, uint64_t items,
                             const void *arguments, size_t size, gordian_error *error);
#define CONTROL(device, field) ((device)->control + offsetof(struct compose_control, field))

/* Reports progress. False: stop; `stop` has the reason. */
bool device_goes_on(struct compose_device *device);

/* Frees the set. */
void device_forget(struct compose_device *device);
/* The number of items that kernels process: words, states or numbers. */
uint64_t device_items(const struct compose_device *device);

/* Fills result->found with the set's deadlocks whose numbers are below `below`, as many as the
 * options request, and with the paths to them. `deadlocks`: number of deadlocks. `full`: the
 * numbers count all combinations. */
gordian_status device_describe(struct compose_device *device, uint64_t deadlocks, bool full,
                               uint64_t below, gordian_compose_result *result,
                               gordian_error *error);
/* Selects deadlocks. */
struct dead_question {
    uint64_t below;        /* packed numbers below this */
    gpu_address distances; /* 0: any distance; otherwise the distance must be: */
    uint32_t distance;
};
/* Counts the deadlocks of the set. `first`, if not NULL, gets the lowest ones, in order, at most
 * `room`. */
gordian_status device_dead(struct compose_device *device, const struct dead_question *question,
                           uint64_t *first, size_t room, uint64_t *count, gordian_error *error);

/* Delivers the product to the sink. */
gordian_status device_deliver(struct compose_device *device, uint64_t states, uint64_t transitions,
                              const gordian_compose_sink *sink, gordian_error *error);
