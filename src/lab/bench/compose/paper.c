/* The thesis's experiment: two automata of four states, each a pair of FIFO1s, composed 100 to
 * 1000
 * times (its tables 4.1 to 4.9). 16 states, 256 cells of the matrix including the idle ones.
 *
 * There are two kinds of rows. `cells` does exactly what the thesis timed: it fills every cell of
 * a
 * preallocated matrix from two existing matrices. The engines do all of their usual work: they
 * start
 * from automata, check for deadlocks, and free memory. */
#include "foundation/base/error.h"
#include "lab/bench/compose/compose.h"

/* The thesis's averages, in milliseconds: GTX 570 (table 4.4, 4.5), E8400 (4.6, 4.7), T7100
 * (4.8, 4.9). */
const struct compose_thesis compose_thesis[COMPOSE_THESIS_SIZES] = {
    {100, 1.5566304, 3.92294, 6.6391209},      {200, 3.06376, 7.8126685, 13.2874831},
    {300, 4.5749664, 11.6713361, 19.3336064},  {400, 6.063792, 15.6629858, 26.1589839},
    {500, 7.623904, 19.5499836, 32.2291807},   {600, 9.1789376, 23.3996744, 39.850584},
    {700, 10.6177216, 27.249911, 44.0337418},  {800, 12.0696384, 31.234461, 51.9643939},
    {900, 13.7007712, 35.2719171, 57.6571143}, {1000, 15.214304, 39.13096, 68.8064975},
};

/* ------------------------------------------------------------------ the thesis's loop */

#define PAIR    COMPOSE_PAIR
#define NAMES   8
#define NOTHING UINT32_MAX /* value of `fires`: the cell is empty */

/* Fills two buffers: bit i of the state says that buffer i is full; name 2i fills it, 2i + 1
 * empties it. */
static void fill_pair(struct compose_cell *cells, unsigned first_name)
{
    for (uint32_t from = 0; from < PAIR; from++)
        for (uint32_t to = 0; to < PAIR; to++) {
            struct compose_cell *cell = &cells[from * PAIR + to];
            uint32_t fires = 0;
            for (unsigned i = 0; i < 2; i++)
                if (((from ^ to) >> i & 1) != 0)
                    fires |= 1u << (2 * i + ((from >> i & 1) != 0));
            cell->fires = fires << first_name;
            cell->must_not = (0xfu & ~fires) << first_name;
        }
}

void compose_cells_init(struct compose_cells *cells, unsigned repeat)
{
    *cells = (struct compose_cells){.repeat = repeat};
    fill_pair(cells->left, 0);
    fill_pair(cells->right, NAMES / 2);
}

gordian_status compose_cells_run(void *context, double *ns, gordian_error *error)
{
    struct compose_cells *cells = context;
    uint64_t start = work_ns();
    for (unsigned i = 0; i < cells->repeat; i++) {
        const uint32_t size = PAIR * PAIR;
        for (uint32_t row = 0; row < size; row++)
            for (uint32_t column = 0; column < size; column++) {
                const struct compose_cell *left = &cells->left[row / PAIR * PAIR + column / PAIR];
                const struct compose_cell *right = &cells->right[row % PAIR * PAIR + column % PAIR];
                struct compose_cell *cell = &cells->product[row * size + column];
                bool empty = left->fires == NOTHING || right->fires == NOTHING;
                bool contradict =
                    (left->fires & right->must_not) || (left->must_not & right->fires);
                cell->fires = empty || contradict ? NOTHING : left->fires | right->fires;
                cell->must_not = left->must_not | right->must_not;
            }
        __asm__ volatile(""
                         :
                         : "r"(cells)
                         : "memory"); /* keep the compiler from dropping a product */
    }
    *ns = (double)(work_ns() - start);
    unsigned full = 0;
    for (unsigned i = 0; i < PAIR * PAIR * PAIR * PAIR; i++)
        full += cells->product[i].fires != NOTHING;
    if (full != PAIR * PAIR * PAIR * PAIR)
        return fail(error, GORDIAN_STATUS_INPUT, "%u of 256 cells are not empty", full);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ rows */

static gordian_status add_result(struct bench *bench, const struct compose_thesis *paper,
                                 const char *who, const struct bench_side *side)
{
    struct bench_row row =
        bench_measured(side, "ms", "compose/paper/products-%u/%s", paper->iterations, who);
    bench_paper(&row, paper->e8400, paper->gtx570);
    bench_curve(&row, "The thesis's products of two four-state automata (ms)", paper->iterations,
                "%s", who);
    bench_note(&row, "256 cells each; the thesis's are the E8400 and the GTX 570; T7100: %.3g ms",
               paper->t7100);
    return bench_add(bench, &row);
}

static gordian_status add_cells(struct bench *bench, const struct compose_thesis *paper)
{
    struct compose_cells cells;
    struct bench_side side = {&cells, compose_cells_run};
    compose_cells_init(&cells, paper->iterations);
    TRY(bench_measure(bench, &side, 1, (struct bench_effort){5, 10, 10, 0}));
    return add_result(bench, paper, "cells", &side);
}

static gordian_status add_table_row(struct bench *bench, const struct compose_thesis *paper,
                                    const struct compose_engine *engine,
                                    const gordian_circuit *circuit)
{
    struct compose_side run = compose_side_of(engine, circuit);
    struct bench_side side = {&run, compose_side_run};
    /* As in the thesis: ten measured runs after five others. */
    run.options.full = true;
    run.options.max_deadlocks = 0;
    run.options.threads = 1;
    run.repeat = paper->iterations;
    run.alone = true;
    run.states = 16;
    run.transitions = 240;
    bench_progress(bench, "compose: the thesis's %u products, %s", paper->iterations,
                   engine->about.name);
    gordian_status status = bench_measure(bench, &side, 1, (struct bench_effort){5, 10, 10, 0});
    compose_side_free(&run);
    TRY(status);
    return add_result(bench, paper, engine->about.name, &side);
}

gordian_status compose_paper_rows(const struct compose_bench *compose)
{
    struct bench *bench = compose->bench;
    const char *const engines[] = {compose->dense ? "dense" : NULL, compose->cpu ? "cpu" : NULL};
    gordian_circuit *circuit;
    gordian_status status = bench_paper_circuit(&circuit, bench->error);
    for (size_t i = 0; i < COMPOSE_THESIS_SIZES && status == GORDIAN_OK; i++) {
        if (bench->options->quick && compose_thesis[i].iterations % 500 != 0)
            continue;
        if (compose->cpu)
            status = add_cells(bench, &compose_thesis[i]);
        for (size_t e = 0; e < 2 && status == GORDIAN_OK; e++)
            if (engines[e])
                status = add_table_row(bench, &compose_thesis[i], compose_engine_named(engines[e]),
                                       circuit);
    }
    gordian_circuit_close(circuit);
    return status;
}
