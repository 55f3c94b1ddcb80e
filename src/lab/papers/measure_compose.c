/* Measures composition: products of automata with four states; the point gives the number of
 * factors. */
#include "engines/compose/cuda/cuda.h"
#include "foundation/base/error.h"
#include "lab/bench/compose/compose.h"
#include "lab/papers/measures.h"
#include "lab/published/compose/measure_product.h"

#define PAIRS_STATES      16  /* of the product */
#define PAIRS_TRANSITIONS 240 /* without the idle transitions */

gordian_status measure_cells(struct papers_run *run, const struct papers_measure *measure,
                             const struct papers_point *point, struct results_value *value)
{
    (void)measure;
    struct compose_cells cells;
    struct bench_side side = {.context = &cells, .run = compose_cells_run};
    compose_cells_init(&cells, (unsigned)point->x);
    return papers_time(run, &side, value);
}

gordian_status measure_product(struct papers_run *run, const struct papers_measure *measure,
                               const struct papers_point *point, struct results_value *value)
{
    gordian_circuit *circuit;
    TRY(bench_paper_circuit(&circuit, run->bench.error));
    struct compose_side product = compose_side_of(compose_engine_named(measure->with), circuit);
    struct bench_side side = {.context = &product, .run = compose_side_run};
    product.options.full = true;
    product.options.max_deadlocks = 0;
    product.options.threads = 1;
    product.alone = true;
    product.repeat = (unsigned)point->x;
    product.states = PAIRS_STATES;
    product.transitions = PAIRS_TRANSITIONS;
    gordian_status status = papers_time(run, &side, value);
    compose_side_free(&product);
    gordian_circuit_close(circuit);
    return status;
}

/* ------------------------------------------------------------------ on a device */

struct device_products {
    struct compose_device *device;
    unsigned repeat;
};

/* The device holds the automata and all states. It writes every transition, repeatedly. */
static gordian_status run_on_device(void *context, double *ns, gordian_error *error)
{
    const struct device_products *products = context;
    gordian_status status = GORDIAN_OK;
    uint64_t written = PAIRS_TRANSITIONS;
    uint64_t start = clock_ns();
    for (unsigned i = 0; i < products->repeat && status == GORDIAN_OK; i++)
        status = compose_device_write(products->device, &written, error);
    *ns = (double)(clock_ns() - start);
    if (status == GORDIAN_OK && written != PAIRS_TRANSITIONS)
        return fail(error, GORDIAN_STATUS_INPUT, "the device writes %llu transitions, not %u",
                    (unsigned long long)written, PAIRS_TRANSITIONS);
    return status;
}

gordian_status measure_product_cuda(struct papers_run *run, const struct papers_measure *measure,
                                    const struct papers_point *point, struct results_value *value)
{
    (void)measure;
    struct device_products products = {.repeat = (unsigned)point->x};
    struct bench_side side = {.context = &products, .run = run_on_device};
    gordian_compose_options options;
    gordian_circuit *circuit = NULL;
    gordian_error *error = run->bench.error;
    uint64_t states;
    gordian_compose_options_init(&options);
    gordian_status status = papers_run_gpu(run);
    THEN(status, bench_paper_circuit(&circuit, error));
    TRY(status);
    status = compose_device_open(&products.device, run->gpu, NULL, circuit, &options, error);
    THEN(status, compose_device_explore(products.device, &states, error));
    THEN(status, papers_time(run, &side, value));
    compose_device_close(products.device);
    gordian_circuit_close(circuit);
    return status;
}

/* ------------------------------------------------------------------ as published */

struct published_products {
    struct measure_product *product;
    unsigned repeat;
};

static gordian_status run_product_measure(void *context, double *ns, gordian_error *error)
{
    const struct published_products *products = context;
    struct measure_time time = {0};
    gordian_status status = measure_product_run(products->product, products->repeat, &time, error);
    *ns = time.wall;
    return status;
}

gordian_status measure_matrices(struct papers_run *run, const struct papers_measure *measure,
                                const struct papers_point *point, struct results_value *value)
{
    struct published_products products = {.repeat = (unsigned)point->x};
    struct bench_side side = {.context = &products, .run = run_product_measure};
    const bool on_device = papers_side_is_gpu(measure->side);
    gordian_status status = on_device ? papers_run_gpu(run) : GORDIAN_OK;
    THEN(status, measure_product_open(&products.product, on_device ? run->gpu : NULL,
                                      &run->bench.memory, run->bench.error));
    TRY(status);
    status = papers_time(run, &side, value);
    measure_product_close(products.product);
    return status;
}
