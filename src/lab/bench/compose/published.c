/* The published product on this device, one cell per thread, compared with our engine on the same
 * device: the thesis's tables, the sizes that its text names and larger ones, and a circuit whose
 * matrix is almost empty. */
#include "lab/bench/compose/compose.h"

#include "engines/compose/cuda/cuda.h"
#include "foundation/base/error.h"
#include "lab/published/compose/circuit.h"
#include "lab/published/compose/measure_product.h"

#include <string.h>

#define BAR_RATIO 10 /* at the largest product that is always measured */
#define BAR_FIFOS 14

/* Ours: all rows of a product, this many times. Starts from the circuit or, if `device` is set,
 * from the firings on the device. */
struct our_side {
    struct gpu *gpu;
    gordian_circuit *circuit;
    struct compose_device *device; /* or NULL */
    unsigned repeat;
    bool reachable; /* only reachable states */
    uint64_t transitions;
};

/* The published method. */
struct published_side {
    struct gpu *gpu;
    struct measure_product *measure; /* the tables' product, or NULL ... */
    const gordian_circuit *circuit;  /* ... or this circuit, or NULL ... */
    uint32_t fifos;                  /* ... or this many FIFO1s */
    unsigned iterations;
    struct measure_time time; /* of the last run */
};

/* ------------------------------------------------------------------ running them */

static gordian_status write_product_rows(const struct our_side *side, struct compose_device *device,
                                         gordian_error *error)
{
    uint64_t transitions = 0;
    TRY(compose_device_write(device, &transitions, error));
    if (side->transitions && transitions != side->transitions)
        return fail(error, GORDIAN_STATUS_INPUT, "%llu transitions, not %llu",
                    (unsigned long long)transitions, (unsigned long long)side->transitions);
    return GORDIAN_OK;
}

static gordian_status compose_once(const struct our_side *side, gordian_error *error)
{
    gordian_compose_options options;
    struct compose_device *device;
    uint64_t states;
    gordian_compose_options_init(&options);
    TRY(compose_device_open(&device, side->gpu, NULL, side->circuit, &options, error));
    gordian_status status = side->reachable ? compose_device_explore(device, &states, error)
                                            : compose_device_take_all(device, 0, error);
    THEN(status, write_product_rows(side, device, error));
    compose_device_close(device);
    return status;
}

static gordian_status run_ours(void *context, double *ns, gordian_error *error)
{
    const struct our_side *side = context;
    gordian_status status = GORDIAN_OK;
    uint64_t start = clock_ns();
    for (unsigned i = 0; i < side->repeat && status == GORDIAN_OK; i++)
        status = side->device ? write_product_rows(side, side->device, error)
                              : compose_once(side, error);
    *ns = (double)(clock_ns() - start);
    return status;
}

static gordian_status run_published_product(void *context, double *ns, gordian_error *error)
{
    struct published_side *side = context;
    gordian_status status;
    if (side->measure) {
        status = measure_product_run(side->measure, side->iterations, &side->time, error);
    } else if (side->circuit) {
        uint64_t start = clock_ns();
        struct product_place place = {memory_allocator(NULL), side->gpu};
        struct product_factor *factors;
        struct product_matrix product = {0};
        uint32_t states;
        size_t count = side->circuit->factor_count;
        TRY(product_of_circuit(&factors, side->circuit, &place.memory, error));
        status = product_states(factors, count, &states, error);
        THEN(status, product_tree(&place, factors, count, 0, states, &product, error));
        THEN(status, gpu_wait(side->gpu, error));
        product_free(&place, &product);
        product_factors_free(factors, count, &place.memory);
        side->time = (struct measure_time){.wall = (double)(clock_ns() - start)};
    } else {
        status = measure_product_tree(side->gpu, side->fifos, NULL, &side->time, error);
    }
    *ns = side->time.wall;
    return status;
}

/* ------------------------------------------------------------------ rows */

struct published_bench {
    const struct compose_bench *compose;
    struct gpu *gpu;
    bool emulated, bars;
};

/* Each thread searches its states in as many steps as the product has states: measure once what
 * takes a minute. */
static struct bench_effort effort_for_fifos(const struct published_bench *published, uint32_t fifos)
{
    if (fifos > BAR_FIFOS)
        return (struct bench_effort){0, 1, 1, 0};
    if (published->emulated)
        return (struct bench_effort){0, 2, 2, 0};
    return (struct bench_effort){1, 3, 50, published->compose->bench->options->quick ? 0.3 : 1};
}

/* Measures both in turn; the caller completes the row. */
static gordian_status measure_both_products(const struct published_bench *published,
                                            struct our_side *ours, struct published_side *theirs,
                                            struct bench_row *row)
{
    struct bench *bench = published->compose->bench;
    struct bench_side sides[] = {{ours, run_ours}, {theirs, run_published_product}};
    bench_progress(bench, "%s", row->id);
    gordian_status status =
        bench_measure(bench, sides, 2, effort_for_fifos(published, theirs->fifos));
    bench_fill(row, &sides[0], 1e6);
    bench_against(row, "as published", &sides[1]);
    return status;
}

/* Tables 4.1 to 4.5. */
static gordian_status published_table_row(const struct published_bench *published,
                                          const struct compose_thesis *thesis,
                                          struct our_side *ours, struct published_side *theirs)
{
    struct bench_row row =
        bench_row("ms", "compose/published/products-%u/cuda", thesis->iterations);
    ours->repeat = theirs->iterations = published->emulated ? 2 : thesis->iterations;
    TRY(measure_both_products(published, ours, theirs, &row));
    bench_paper(&row, thesis->e8400, thesis->gtx570);
    bench_note(&row,
               "256 cells, factors loaded before; as published a launch each, %.3g ms between "
               "device events",
               theirs->time.device / 1e6);
    return bench_add(published->compose->bench, &row);
}

static gordian_status table_rows(const struct published_bench *published)
{
    gordian_error *error = published->compose->bench->error;
    const bool quick = published->compose->bench->options->quick || published->emulated;
    struct our_side ours = {.gpu = published->gpu, .transitions = 240};
    struct published_side theirs = {.gpu = published->gpu};
    gordian_compose_options options;
    gordian_compose_options_init(&options);
    gordian_status status = bench_paper_circuit(&ours.circuit, error);
    THEN(status, compose_device_open(&ours.device, ours.gpu, NULL, ours.circuit, &options, error));
    THEN(status, compose_device_take_all(ours.device, 0, error));
    THEN(status, measure_product_open(&theirs.measure, published->gpu, NULL, error));
    for (size_t i = 0; i < COMPOSE_THESIS_SIZES && status == GORDIAN_OK; i++)
        if (!quick || i == COMPOSE_THESIS_SIZES - 1)
            status = published_table_row(published, &compose_thesis[i], &ours, &theirs);
    measure_product_close(theirs.measure);
    compose_device_close(ours.device);
    gordian_circuit_close(ours.circuit);
    return status;
}

/* Tables 4.1, 4.2 and 4.6 to 4.9: the product on one core. */
static gordian_status core_row(struct bench *bench, const struct compose_thesis *thesis,
                               struct published_side *theirs)
{
    struct bench_row row =
        bench_row("ms", "compose/published/products-%u/core", thesis->iterations);
    struct bench_side side = {theirs, run_published_product};
    struct bench_effort effort = {5, 10, 10, 0}; /* as in the thesis */
    theirs->iterations = thesis->iterations;
    bench_progress(bench, "%s", row.id);
    TRY(bench_measure(bench, &side, 1, effort));
    bench_fill(&row, &side, 1e6);
    bench_paper(&row, thesis->e8400, thesis->gtx570);
    bench_note(&row,
               "as published, one core, from existing matrices; compose/paper/products-%u is ours",
               thesis->iterations);
    return bench_add(bench, &row);
}

static gordian_status core_rows(const struct compose_bench *compose)
{
    struct bench *bench = compose->bench;
    struct published_side theirs = {0};
    gordian_status status = measure_product_open(&theirs.measure, NULL, NULL, bench->error);
    for (size_t i = 0; i < COMPOSE_THESIS_SIZES && status == GORDIAN_OK; i++)
        if (!bench->options->quick || i == COMPOSE_THESIS_SIZES - 1)
            status = core_row(bench, &compose_thesis[i], &theirs);
    measure_product_close(theirs.measure);
    return status;
}

/* Measures independent FIFO1s, or a chain of them. */
static gordian_status tree_row(const struct published_bench *published, const char *kind,
                               uint32_t size)
{
    struct bench *bench = published->compose->bench;
    struct our_side ours = {.gpu = published->gpu, .repeat = 1};
    struct published_side theirs = {.gpu = published->gpu, .fifos = size};
    struct bench_row row = bench_row("ms", "compose/published/%s-%u/cuda", kind, size);
    bool apart = strcmp(kind, "apart") == 0;
    TRY(bench_circuit(&ours.circuit, apart ? "circuit-apart" : "circuit-chain", size, 1, NULL,
                      bench->error));
    ours.reachable = !apart;
    ours.transitions = apart ? (UINT64_C(1) << 2 * size) - (UINT64_C(1) << size) : 0;
    theirs.circuit = apart ? NULL : ours.circuit;
    gordian_status status = measure_both_products(published, &ours, &theirs, &row);
    gordian_circuit_close(ours.circuit);
    if (status == GORDIAN_STATUS_MEMORY)
        return bench_skip(bench, row.id, bench->error->message);
    TRY(status);
    if (apart && size == BAR_FIFOS && published->bars)
        bench_bar(&row, BAR_AT_LEAST, BAR_RATIO);
    bench_note(&row,
               "as published: pairwise products in halving iterations, %.3g cells, each thread "
               "counts up to its states",
               (double)(UINT64_C(1) << 2 * size));
    return bench_add(bench, &row);
}

static gordian_status tree_rows(const struct published_bench *published)
{
    static const uint32_t apart[] = {2, 4, 8, 12, BAR_FIFOS, 16, 0};
    const bool quick = published->compose->bench->options->quick;
    for (const uint32_t *size = apart; *size; size++)
        if (*size <= (published->emulated ? 4 : quick ? BAR_FIFOS : 16))
            TRY(tree_row(published, "apart", *size));
    TRY(tree_row(published, "chain", published->emulated ? 4 : 8));
    if (!published->emulated)
        TRY(tree_row(published, "chain", 12));
    return GORDIAN_OK;
}

static gordian_status published_device_rows(const struct compose_bench *compose)
{
    struct bench *bench = compose->bench;
    struct published_bench published = {.compose = compose};
    struct gpu_info info;
    TRY(gpu_open_default(&published.gpu, &bench->memory, bench->error));
    gpu_get_info(published.gpu, &info);
    published.emulated = info.emulated;
    published.bars = info.major == 9 && !info.emulated;
    gordian_status status = gpu_add_kernels(published.gpu, &published_kernels, bench->error);
    THEN(status, table_rows(&published));
    THEN(status, tree_rows(&published));
    gpu_close(published.gpu);
    return status;
}

gordian_status compose_published_rows(const struct compose_bench *compose)
{
    gordian_status status = compose->cpu ? core_rows(compose) : GORDIAN_OK;
    return status == GORDIAN_OK && compose->cuda ? published_device_rows(compose) : status;
}
