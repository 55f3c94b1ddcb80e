/* Shared by the files of `gordian bench avoid`. */
#pragma once

#include "engines/avoid/engine/engine.h"
#include "foundation/gpu/gpu.h"
#include "lab/bench/harness/harness.h"

struct avoid_bench {
    struct bench *bench;
    bool cpu;      /* rows of holt or dense are requested */
    bool cuda;     /* rows of cuda are requested, and there is a device */
    bool emulated; /* an emulated device: only small sizes, to test the bench itself */
    bool bars;     /* absolute targets are set for this device */
    struct gpu_info info;
};

/* Is the engine requested and available? */
bool avoid_wants(const struct avoid_bench *avoid, const char *engine);

/* ---- states to make requests in (state.c) */

/* In all but the last shape, each round of the published algorithm frees one process, the last one
 * it checks. The requesting process is freed last, so there are as many rounds as processes. An
 * order that an engine kept from before does not help (see state.c). */
enum avoid_shape {
    AVOID_ALL,   /* a process that has to wait is short of every resource */
    AVOID_LAST,  /* only of the last resource checked */
    AVOID_MIXED, /* of all at first, of fewer as other processes finish */
    AVOID_WIDE,  /* all finish in one round, except the requesting process */
};

struct avoid_state {
    struct ledger ledger;
    gordian_want want;
    struct ledger_change change; /* the request; it is safe */
};

gordian_status avoid_state_build(struct avoid_state *state, enum avoid_shape shape,
                                 uint32_t processes, uint32_t resources, uint64_t seed,
                                 gordian_error *error);
void avoid_state_free(struct avoid_state *state);

/* An engine on a state. */
struct avoid_side {
    struct avoid_state *state;
    const struct avoid_engine *engine;
    void *opened;
};

gordian_status avoid_side_open(struct avoid_side *side, struct avoid_state *state,
                               const struct avoid_engine *engine, gordian_error *error);
void avoid_side_close(struct avoid_side *side);
/* Makes the request once and measures its nanoseconds. The answer must be that it is safe. A
 * bench_side's run. */
gordian_status avoid_ask(void *side, double *ns, gordian_error *error);

/* Measures requests until `effort` is spent; fills in a row, in milliseconds or (us) microseconds.
 */
gordian_status avoid_time(const struct avoid_bench *avoid, struct avoid_state *state,
                          const struct avoid_engine *engine, struct bench_effort effort,
                          struct bench_side *result);

/* ---- the thesis's tables 5.2 to 5.4 (worst.c) */

struct avoid_worst_size {
    uint32_t processes, resources;
    double cpu_s, k20c_s; /* the thesis: CPU-PBA, GPU-PBA on a Tesla K20c */
};

#define AVOID_THESIS_SIZES 15
extern const struct avoid_worst_size avoid_thesis[AVOID_THESIS_SIZES];

/* ---- rows: each function adds its own */
gordian_status avoid_worst_rows(const struct avoid_bench *avoid);
gordian_status avoid_load_rows(const struct avoid_bench *avoid);
gordian_status avoid_batch_rows(const struct avoid_bench *avoid);
gordian_status avoid_cuda_rows(const struct avoid_bench *avoid);
gordian_status avoid_published_rows(const struct avoid_bench *avoid);
