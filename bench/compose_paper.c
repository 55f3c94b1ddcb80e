/* The thesis's experiment: two automata of four states, each a pair of FIFO1s, composed 100 to 1000
 * times (its tables 4.1 to 4.9). 16 states, 256 cells of the matrix with the idle ones. */
#include "compose.h"

#include <stdio.h>

/* Its averages, in milliseconds: GTX 570 (table 4.4, 4.5), E8400 (4.6, 4.7), T7100 (4.8, 4.9). */
static const struct paper {
    unsigned iterations;
    double gtx570, e8400, t7100;
} papers[] = {
    {100, 1.5566304, 3.92294, 6.6391209},      {200, 3.06376, 7.8126685, 13.2874831},
    {300, 4.5749664, 11.6713361, 19.3336064},  {400, 6.063792, 15.6629858, 26.1589839},
    {500, 7.623904, 19.5499836, 32.2291807},   {600, 9.1789376, 23.3996744, 39.850584},
    {700, 10.6177216, 27.249911, 44.0337418},  {800, 12.0696384, 31.234461, 51.9643939},
    {900, 13.7007712, 35.2719171, 57.6571143}, {1000, 15.214304, 39.13096, 68.8064975},
};

static gordian_status add_row(struct bench *bench, const struct paper *paper,
                              const struct compose_engine *engine, const struct circuit *circuit)
{
    struct compose_side run = compose_side_of(engine, circuit);
    struct bench_side side = {&run, compose_side_run, 0, 0};
    /* As there: ten runs that count, after five that do not. */
    struct bench_effort effort = {5, 10, 10, 0};
    run.options.full = true;
    run.options.max_deadlocks = 0;
    run.options.threads = 1;
    run.repeat = paper->iterations;
    run.states = 16;
    run.transitions = 240;
    bench_progress(bench, "compose: the thesis's %u products, %s", paper->iterations, engine->name);
    gordian_status status = bench_measure(bench, &side, 1, &effort);
    compose_side_free(&run);
    if (status != GORDIAN_OK)
        return status;
    struct bench_row row =
        bench_row("ms", "compose/paper/products-%u/%s", paper->iterations, engine->name);
    row.value = side.median / 1e6;
    row.p99 = side.p99 / 1e6;
    row.paper_cpu = paper->e8400;
    row.paper_gpu = paper->gtx570;
    row.plot = "The thesis's products of two four-state automata (ms)";
    row.x = paper->iterations;
    snprintf(row.series, sizeof row.series, "%s", engine->name);
    snprintf(row.note, sizeof row.note,
             "256 cells each; the papers' are the E8400 and the GTX 570; T7100: %.3g ms",
             paper->t7100);
    return bench_add(bench, &row);
}

gordian_status compose_paper_rows(const struct compose_bench *compose)
{
    struct bench *bench = compose->bench;
    const char *const engines[] = {compose->dense ? "dense" : NULL, compose->cpu ? "cpu" : NULL};
    struct circuit *circuit;
    gordian_status status = bench_paper_circuit(&circuit, bench->error);
    for (size_t i = 0; i < sizeof papers / sizeof *papers && status == GORDIAN_OK; i++)
        for (size_t e = 0; e < 2 && status == GORDIAN_OK; e++) {
            if (!engines[e] || (bench->options->quick && papers[i].iterations % 500 != 0))
                continue;
            status = add_row(bench, &papers[i], compose_engine_named(engines[e]), circuit);
        }
    circuit_free(circuit);
    return status;
}
