/* `gordian bench compose`: what its files share. */
#pragma once

#include "engines/compose/engine/engine.h"
#include "lab/bench/harness/harness.h"

struct compose_bench {
    struct bench *bench;
    bool dense, cpu, cuda; /* rows of these engines are wanted, and they are here */
    unsigned cores;
};

/* ---- circuits (circuits.c): closed, the caller's to free */

/* A kind of `gordian gen` (circuit-chain, ..) of that size, over one datum unless `data` says. */
gordian_status bench_circuit(gordian_circuit **out, const char *kind, uint32_t size, uint64_t seed,
                             const char *data, gordian_error *error);
/* One that is written out: a text of components, and which of them, as it is used. */
gordian_status bench_circuit_text(gordian_circuit **out, const char *treo, const char *main,
                                  gordian_error *error);
/* The thesis's two: pairs of FIFO1s composed to four states each, which share nothing. */
gordian_status bench_paper_circuit(gordian_circuit **out, gordian_error *error);

/* ---- one run of an engine: a bench_side's run */
struct compose_side {
    const struct compose_engine *engine;
    const gordian_circuit *circuit;
    gordian_compose_options options;
    unsigned repeat; /* as many runs are one sample; 0: one */
    bool alone;      /* all work is done by the thread that asks */
    /* what must come out; 0: whatever does */
    uint64_t states, transitions;
    /* what came out */
    gordian_compose_result result;
};

struct compose_side compose_side_of(const struct compose_engine *engine,
                                    const gordian_circuit *circuit);
gordian_status compose_side_run(void *side, double *ns, gordian_error *error);
void compose_side_free(struct compose_side *side);
/* The engine of that name, or NULL. */
const struct compose_engine *compose_engine_named(const char *name);

/* ---- SPIN (spin.c): the same chain, or the same circuit, as a Promela model */
struct spin {
    char folder[512]; /* of the files it makes; "": none */
    uint64_t states;  /* the last run's */
    double bytes;     /* all the memory it took */
    const char *why;  /* it cannot be had */
};
/* Writes the model of a chain of `size` buffers, and compiles its verifier. False: spin->why. */
bool spin_open(struct spin *spin, uint32_t size);
/* The same of any circuit, as `gordian compose --circuit -o FILE.pml` writes it. */
bool spin_open_circuit(struct spin *spin, const gordian_circuit *circuit);
/* Runs it: the time it says it took. */
gordian_status spin_run(void *spin, double *ns, gordian_error *error);
void spin_close(struct spin *spin);

/* ---- the thesis's tables 4.1 to 4.9 (paper.c): averages in milliseconds */
struct compose_thesis {
    unsigned iterations;
    double gtx570, e8400, t7100;
};

#define COMPOSE_THESIS_SIZES 10
extern const struct compose_thesis compose_thesis[COMPOSE_THESIS_SIZES];

#define COMPOSE_PAIR 4 /* states of each of its automata */

/* A cell says of every name of its automaton whether it fires or must not. */
struct compose_cell {
    uint32_t fires, must_not;
};

/* Its two matrices, and room for their product. */
struct compose_cells {
    struct compose_cell left[COMPOSE_PAIR * COMPOSE_PAIR], right[COMPOSE_PAIR * COMPOSE_PAIR];
    struct compose_cell product[COMPOSE_PAIR * COMPOSE_PAIR * COMPOSE_PAIR * COMPOSE_PAIR];
    unsigned repeat; /* as many products are one sample */
};

void compose_cells_init(struct compose_cells *cells, unsigned repeat);
/* Multiplies, every cell each time: a bench_side's run. */
gordian_status compose_cells_run(void *cells, double *ns, gordian_error *error);

/* ---- models that others publish figures for (models.c) */
enum compose_model_size {
    COMPOSE_MODEL_USUAL,
    COMPOSE_MODEL_QUICK,
    COMPOSE_MODEL_DEVICE, /* a GPU has something to do */
    COMPOSE_MODEL_SMALL,  /* an emulated one comes to an end */
    COMPOSE_MODEL_SIZES
};

struct compose_model {
    const char *name;
    uint32_t size;
    uint64_t states; /* that there are; 0: it is not known beforehand */
    gordian_circuit *circuit;
};

/* Model `number`, from 0; false past the last one. The circuit is the caller's to close, whatever
 * *status is. */
bool compose_model_open(struct compose_model *out, size_t number, enum compose_model_size which,
                        gordian_status *status, gordian_error *error);

/* ---- rows: each adds its own */
gordian_status compose_reach_rows(const struct compose_bench *compose);  /* reach.c */
gordian_status compose_models_rows(const struct compose_bench *compose); /* models.c */
gordian_status compose_paper_rows(const struct compose_bench *compose);  /* paper.c */
gordian_status compose_scale_rows(const struct compose_bench *compose);  /* scale.c */
gordian_status compose_graph_rows(const struct compose_bench *compose);  /* scale.c */
gordian_status compose_mpi_rows(const struct compose_bench *compose);    /* mpi.c */
gordian_status compose_gpu_rows(const struct compose_bench *compose);    /* gpu.c */
/* published.c */
gordian_status compose_published_rows(const struct compose_bench *compose);
/* ranks.c */
gordian_status compose_ranks_rows(const struct compose_bench *compose);
