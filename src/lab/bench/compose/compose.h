/* Shared by the files of `gordian bench compose`. */
#pragma once

#include "engines/compose/engine/engine.h"
#include "lab/bench/harness/harness.h"

struct compose_bench {
    struct bench *bench;
    bool dense, cpu, cuda; /* rows of these engines are requested, and the engines are available */
    unsigned cores;
};

/* ---- circuits (circuits.c): closed circuits, owned by the caller */

/* Makes a circuit of `gordian gen` (circuit-chain, ...) of that size, over one datum unless `data`
 * says otherwise. */
gordian_status bench_circuit(gordian_circuit **out, const char *kind, uint32_t size, uint64_t seed,
                             const char *data, gordian_error *error);
/* Makes a circuit from text: a text with components, and the list of the components that it uses.
 */
gordian_status bench_circuit_text(gordian_circuit **out, const char *treo, const char *main,
                                  gordian_error *error);
/* Makes the thesis's circuit of two automata: each has four states, composed of two FIFO1s, without
 * shared names. */
gordian_status bench_paper_circuit(gordian_circuit **out, gordian_error *error);

/* ---- one run of an engine: a bench_side's run */
struct compose_side {
    const struct compose_engine *engine;
    const gordian_circuit *circuit;
    gordian_compose_options options;
    unsigned repeat; /* a sample is this many runs; 0: one */
    bool alone;      /* the calling thread does all work */
    /* expected results; 0: any */
    uint64_t states, transitions;
    /* actual result */
    gordian_compose_result result;
};

struct compose_side compose_side_of(const struct compose_engine *engine,
                                    const gordian_circuit *circuit);
gordian_status compose_side_run(void *side, double *ns, gordian_error *error);
void compose_side_free(struct compose_side *side);
/* Returns the engine of that name, or NULL. */
const struct compose_engine *compose_engine_named(const char *name);

/* ---- SPIN (spin.c): the same chain or circuit as a Promela model */
struct spin {
    char folder[512]; /* folder of its files; "": none */
    uint64_t states;  /* of the last run */
    double bytes;     /* total memory it used */
    const char *why;  /* why SPIN is not available */
};
/* Writes the model of a chain of `size` buffers, and compiles its verifier. False: see spin->why.
 */
bool spin_open(struct spin *spin, uint32_t size);
/* The same for any circuit, as `gordian compose --circuit -o FILE.pml` writes it. */
bool spin_open_circuit(struct spin *spin, const gordian_circuit *circuit);
/* Runs it and measures the time that it reports. */
gordian_status spin_run(void *spin, double *ns, gordian_error *error);
void spin_close(struct spin *spin);

/* ---- the thesis's tables 4.1 to 4.9 (paper.c): averages in milliseconds */
struct compose_thesis {
    unsigned iterations;
    double gtx570, e8400, t7100;
};

#define COMPOSE_THESIS_SIZES 10
extern const struct compose_thesis compose_thesis[COMPOSE_THESIS_SIZES];

#define COMPOSE_PAIR 4 /* states of each of the two automata */

/* A cell has, for every name of its automaton, whether the name fires or must not. */
struct compose_cell {
    uint32_t fires, must_not;
};

/* Two matrices, and memory for their product. */
struct compose_cells {
    struct compose_cell left[COMPOSE_PAIR * COMPOSE_PAIR], right[COMPOSE_PAIR * COMPOSE_PAIR];
    struct compose_cell product[COMPOSE_PAIR * COMPOSE_PAIR * COMPOSE_PAIR * COMPOSE_PAIR];
    unsigned repeat; /* a sample is this many products */
};

void compose_cells_init(struct compose_cells *cells, unsigned repeat);
/* Multiplies, every cell each time: a bench_side's run. */
gordian_status compose_cells_run(void *cells, double *ns, gordian_error *error);

/* ---- models with published figures (models.c) */
enum compose_model_size {
    COMPOSE_MODEL_USUAL,
    COMPOSE_MODEL_QUICK,
    COMPOSE_MODEL_DEVICE, /* large enough for a GPU */
    COMPOSE_MODEL_SMALL,  /* small enough for an emulated one */
    COMPOSE_MODEL_SIZES
};

struct compose_model {
    const char *name;
    uint32_t size;
    uint64_t states; /* expected number; 0: not known */
    gordian_circuit *circuit;
};

/* Opens model `number`, from 0; false past the last one. The caller closes the circuit, even if
 * *status is a failure. */
bool compose_model_open(struct compose_model *out, size_t number, enum compose_model_size which,
                        gordian_status *status, gordian_error *error);

/* ---- rows: each function adds its own */
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
