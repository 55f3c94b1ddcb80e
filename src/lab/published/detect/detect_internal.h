/* Shared by detect.c, osdda.c and lmdda.c. */
#pragma once

#include "lab/published/detect/detect.h"
#include "lab/published/kernels/published_detect.h"
#include "lab/published/kernels/published_transpose.h"

enum form { FORM_BITS, FORM_CHARS, FORM_INTS };

struct published_detect {
    gordian_allocator memory;
    struct gpu *gpu;
    enum published_method method;
    enum form form;
    uint32_t processes, resources;
    uint32_t process_tiles, resource_tiles;      /* of 32 elements */
    uint32_t across_processes, across_resources; /* cells of a row */
    size_t cell_bytes; /* size of a cell, and of a number of units in AG */

    /* On the device; see kernels/published_detect.h. */
    gpu_address ag, ar, sink, sink_before, rr, rp, rp_after, sp, masks;
    gpu_address tiles, turned; /* a transpose, and its intermediate result */
    gpu_address flags;         /* uint32_t, indexed by enum flag */
};

enum flag { FLAG_DEADLOCK, FLAG_HELD, FLAG_WAITING, FLAG_REACH, FLAGS };

static inline gpu_address flag_address(const struct published_detect *d, enum flag flag)
{
    return d->flags + flag * sizeof(uint32_t);
}

gordian_status published_detect_flag(struct published_detect *d, enum flag flag, bool *value,
                                     gordian_error *error);

/* Address of a row of a matrix on the device. */
static inline gpu_address matrix_row(const struct published_detect *d, gpu_address matrix,
                                     uint32_t row, uint32_t across)
{
    return matrix + (uint64_t)row * across * d->cell_bytes;
}

/* Names of a kernel, one for each form. */
struct step {
    const char *names[3];
};
#define STEP(name)                                                                                 \
    {                                                                                              \
        {                                                                                          \
            "published_" name "_bits", "published_" name "_chars", "published_" name "_ints"       \
        }                                                                                          \
    }

/* Bytes of a matrix with `down` rows of tiles. */
static inline size_t matrix_bytes(const struct published_detect *d, uint32_t tiles, uint32_t across)
{
    return (size_t)tiles * PUBLISHED_TILE * across * d->cell_bytes;
}

struct grid {
    unsigned blocks;
    uint32_t threads; /* as the method asks; a block has at most 1024 */
};

gordian_status published_detect_launch(struct published_detect *d, const struct step *step,
                                       struct grid grid, const void *arguments, size_t size,
                                       gordian_error *error);

/* Transposes the whole matrix into d->turned, as the papers do: `down` and `across` are tiles. */
gordian_status published_detect_transpose(struct published_detect *d, gpu_address matrix,
                                          uint32_t down, uint32_t across, gordian_error *error);

/* The events of each method. */
struct detect_events {
    gordian_status (*grant)(struct published_detect *d, const struct published_event *event,
                            gordian_error *error);
    gordian_status (*block)(struct published_detect *d, const struct published_event *event,
                            bool *deadlock, gordian_error *error);
    gordian_status (*release)(struct published_detect *d, const struct published_event *event,
                              gordian_error *error);
};

extern const struct detect_events published_osdda_events, published_lmdda_events;
