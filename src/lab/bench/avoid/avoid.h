/* `gordian bench avoid`: what its files share. */
#pragma once

#include "engines/avoid/engine/engine.h"
#include "foundation/gpu/gpu.h"
#include "lab/bench/harness/harness.h"

struct avoid_bench {
    struct bench *bench;
    bool cpu;      /* rows of holt or dense are wanted */
    bool cuda;     /* rows of cuda are wanted, and there is a device */
    bool emulated; /* an emulated one: small sizes only, to test the bench itself */
    bool bars;     /* absolute times are known for this device */
    struct gpu_info info;
};

/* What is wanted of each engine, and whether it is here. */
bool avoid_wants(const struct avoid_bench *avoid, const char *engine);

/* ---- states to ask about (state.c) */

/* In all but the last one each round of the published algorithm frees one process, the last one
 * looked at, and the process that asks is the last one freed: as many rounds as there are
 * processes. The order that an engine may have kept does not serve (see the file). */
enum avoid_shape {
    AVOID_ALL,   /* who has to wait is short of every resource */
    AVOID_LAST,  /* only of the last one looked at */
    AVOID_MIXED, /* of all of them at first, of fewer and fewer as others finish */
    AVOID_WIDE,  /* all finish at once, but for the one that asks */
};

struct avoid_state {
    struct ledger ledger;
    gordian_want want;
    struct ledger_change change; /* the request: it is safe */
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
/* Asks once: the nanoseconds of it. The answer must be that it is safe. A bench_side's run. */
gordian_status avoid_ask(void *side, double *ns, gordian_error *error);

/* Asks until `effort` is spent; fills a row in, in milliseconds or (us) microseconds. */
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

/* ---- rows: each adds its own */
gordian_status avoid_worst_rows(const struct avoid_bench *avoid);
gordian_status avoid_load_rows(const struct avoid_bench *avoid);
gordian_status avoid_batch_rows(const struct avoid_bench *avoid);
gordian_status avoid_cuda_rows(const struct avoid_bench *avoid);
gordian_status avoid_published_rows(const struct avoid_bench *avoid);
