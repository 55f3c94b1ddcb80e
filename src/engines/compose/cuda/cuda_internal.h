/* Inside the cuda engine: what its files share. */
#pragma once

#include "engines/compose/cuda/cuda.h"
#include "foundation/gpu/array/array.h"

#define CUDA_PASSES 16u /* launched before the outcome is looked at */

/* One piece of device memory: what kernels tell. */
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
    gpu_address waiting;    /* beside the bitmap */
    struct gpu_range *list; /* the states of a list */
    uint64_t room;          /* of the list, states */
    uint64_t rounds;        /* levels and passes gone through */
    uint64_t dense;         /* more states than so many may be in a bitmap */
    unsigned resident;      /* blocks of compose_levels at once; 0: not known yet */

    uint64_t held, most; /* bytes of device memory */
    gordian_compose_stop stop;
    gordian_compose_progress progress;
};

/* Counts bytes against the limit of the options. GORDIAN_STATUS_MEMORY: over it. */
gordian_status device_take(struct compose_device *device, uint64_t bytes, gordian_error *error);
void device_give(struct compose_device *device, uint64_t bytes);
/* Device memory within the limit of the options. GORDIAN_STATUS_MEMORY: over it, or none left. */
gordian_status device_alloc(struct compose_device *device, gpu_address *out, uint64_t bytes,
                            gordian_error *error);
/* Frees it and makes the address 0. */
void device_free(struct compose_device *device, gpu_address *address, uint64_t bytes);
/* Within the limit and what the device has left? */
bool device_fits(const struct compose_device *device, uint64_t bytes);

gordian_status device_launch(struct compose_device *device, const char *kernel, uint64_t items,
                             const void *arguments, size_t size, gordian_error *error);
#define CONTROL(device, field) ((device)->control + offsetof(struct compose_control, field))

/* Shows how far it is; false: stop (and `stop` says so). */
bool device_goes_on(struct compose_device *device);

/* Frees the set. */
void device_forget(struct compose_device *device);
/* What counts as an item of the set to kernels: words, states or numbers. */
uint64_t device_items(const struct compose_device *device);

/* Fills result->found: the set's `deadlocks` states without a firing, of numbers below `below`, as
 * far as the options want them described, with ways there. `full`: numbers are those of all
 * combinations. */
gordian_status device_describe(struct compose_device *device, uint64_t deadlocks, bool full,
                               uint64_t below, gordian_compose_result *result,
                               gordian_error *error);
/* Which states without a firing are asked about. */
struct dead_question {
    uint64_t below;        /* packed numbers below this */
    gpu_address distances; /* 0: at any distance, otherwise at this one: */
    uint32_t distance;
};
/* How many the set has; `first`, if not NULL, gets the lowest ones, in order: `room` at most. */
gordian_status device_dead(struct compose_device *device, const struct dead_question *question,
                           uint64_t *first, size_t room, uint64_t *count, gordian_error *error);

/* Hands the product to the sink. */
gordian_status device_deliver(struct compose_device *device, uint64_t states, uint64_t transitions,
                              const gordian_compose_sink *sink, gordian_error *error);
