/* `check` on snapshots too large to simulate, compared with igraph's strongly connected components
 * of the same graph, if igraph is installed. Building the graph is not timed on either side. */
#include "lab/bench/detect/detect.h"

#include "foundation/base/error.h"

#ifdef HAVE_IGRAPH
#include <igraph.h>
#endif

struct check {
    const struct gen_options *options;
    gordian_snapshot *snapshot;
    size_t cycles;
    bool known; /* one of the sides has set `cycles` */
#ifdef HAVE_IGRAPH
    igraph_vector_int_t edges;
    igraph_t graph;
#endif
};

/* ------------------------------------------------------------------ ours */

static gordian_status begin_snapshot(void *context, uint32_t processes, uint32_t resources,
                                     const uint64_t *units, uint64_t units_each,
                                     gordian_error *error)
{
    gordian_snapshot *snapshot = context;
    uint32_t id;
    (void)units;
    for (uint32_t q = 0; q < resources; q++)
        TRY(gordian_snapshot_add_resource(snapshot, units_each, &id, error));
    for (uint32_t p = 0; p < processes; p++)
        TRY(gordian_snapshot_add_process(snapshot, &id, error));
    return GORDIAN_OK;
}

static gordian_status add_snapshot_edge(void *context, const gordian_event *event,
                                        gordian_error *error)
{
    gordian_snapshot *snapshot = context;
    if (event->op == GORDIAN_OP_HOLD)
        return gordian_snapshot_hold(snapshot, event->process, event->resource, event->units,
                                     error);
    return gordian_snapshot_wait(snapshot, event->process, event->resource, event->units, error);
}

gordian_status detect_snapshot(gordian_snapshot **snapshot, const struct gen_options *options,
                               gordian_error *error)
{
    TRY(gordian_snapshot_open(snapshot, NULL, error));
    struct gen_sink sink = {*snapshot, begin_snapshot, add_snapshot_edge};
    return gen_stream(options, &sink, error);
}

static gordian_status same_cycles(struct check *check, size_t cycles, const char *who,
                                  gordian_error *error)
{
    if (check->known && check->cycles != cycles)
        return fail(error, GORDIAN_STATUS_INPUT, "check: %s finds %zu cycles, not %zu", who, cycles,
                    check->cycles);
    check->cycles = cycles;
    check->known = true;
    return GORDIAN_OK;
}

static gordian_status run_snapshot_check(void *context, double *ns, gordian_error *error)
{
    struct check *check = context;
    gordian_report report;
    uint32_t id;
    /* Add an idle process, so that no earlier answer can be reused. */
    gordian_status status = gordian_snapshot_add_process(check->snapshot, &id, error);
    uint64_t start = work_ns();
    THEN(status, gordian_snapshot_check_for(check->snapshot, &(gordian_check_options){"sparse", 1},
                                            &report, error));
    *ns = (double)(work_ns() - start);
    return status == GORDIAN_OK ? same_cycles(check, report.part_count, "sparse", error) : status;
}

/* ------------------------------------------------------------------ igraph */

#ifdef HAVE_IGRAPH

#define BASELINE "igraph"

static gordian_status from_igraph(igraph_error_t code, gordian_error *error)
{
    if (code == IGRAPH_SUCCESS)
        return GORDIAN_OK;
    return fail(error, code == IGRAPH_ENOMEM ? GORDIAN_STATUS_MEMORY : GORDIAN_STATUS_INPUT,
                "igraph: %s", igraph_strerror(code));
}

static gordian_status graph_begin(void *context, uint32_t processes, uint32_t resources,
                                  const uint64_t *units, uint64_t units_each, gordian_error *error)
{
    struct check *check = context;
    (void)units;
    (void)units_each;
    return from_igraph(
        igraph_vector_int_reserve(&check->edges, 2 * ((igraph_integer_t)processes + resources)),
        error);
}

/* Nodes: processes first, then resources. A wait is an edge to the resource, a hold an edge to the
 * process. */
static gordian_status graph_edge(void *context, const gordian_event *event, gordian_error *error)
{
    struct check *check = context;
    igraph_integer_t process = event->process;
    igraph_integer_t resource = (igraph_integer_t)check->options->processes + event->resource;
    bool holds = event->op == GORDIAN_OP_HOLD;
    igraph_error_t code = igraph_vector_int_push_back(&check->edges, holds ? resource : process);
    if (code == IGRAPH_SUCCESS)
        code = igraph_vector_int_push_back(&check->edges, holds ? process : resource);
    return from_igraph(code, error);
}

static gordian_status open_igraph(struct check *check, gordian_error *error)
{
    igraph_set_error_handler(igraph_error_handler_ignore);
    TRY(from_igraph(igraph_vector_int_init(&check->edges, 0), error));
    struct gen_sink sink = {check, graph_begin, graph_edge};
    const igraph_integer_t nodes = 2 * (igraph_integer_t)check->options->processes;
    gordian_status status = gen_stream(check->options, &sink, error);
    THEN(status,
         from_igraph(igraph_create(&check->graph, &check->edges, nodes, IGRAPH_DIRECTED), error));
    igraph_vector_int_destroy(&check->edges);
    return status;
}

static void close_igraph(struct check *check)
{
    igraph_destroy(&check->graph);
}

static gordian_status run_igraph(void *context, double *ns, gordian_error *error)
{
    struct check *check = context;
    igraph_vector_int_t sizes;
    TRY(from_igraph(igraph_vector_int_init(&sizes, 0), error));
    igraph_integer_t count;
    uint64_t start = work_ns();
    gordian_status status = from_igraph(
        igraph_connected_components(&check->graph, NULL, &sizes, &count, IGRAPH_STRONG), error);
    *ns = (double)(work_ns() - start);
    size_t cycles =
        0; /* a component of one node is no cycle: there are no edges from a node to itself */
    for (igraph_integer_t i = 0; status == GORDIAN_OK && i < count; i++)
        cycles += VECTOR(sizes)[i] > 1;
    igraph_vector_int_destroy(&sizes);
    return status == GORDIAN_OK ? same_cycles(check, cycles, "igraph", error) : status;
}

#else

#define BASELINE NULL

static gordian_status open_igraph(struct check *check, gordian_error *error)
{
    (void)check;
    (void)error;
    return GORDIAN_OK;
}

static void close_igraph(struct check *check)
{
    (void)check;
}

static gordian_status run_igraph(void *context, double *ns, gordian_error *error)
{
    (void)context;
    (void)error;
    *ns = 0;
    return GORDIAN_OK;
}

#endif

/* ------------------------------------------------------------------ rows */

static gordian_status measure_snapshot(struct bench *bench, struct check *check)
{
    const bool quick = bench->options->quick;
    struct bench_side sides[2] = {{check, run_snapshot_check}, {check, run_igraph}};
    /* igraph takes long: the median of three drops a cold first run. */
    struct bench_effort effort = {0, 3, 20, quick ? 2 : 20};
    TRY(bench_measure(bench, sides, BASELINE ? 2 : 1, effort));
    struct bench_row row = bench_measured(&sides[0], "ms", "detect/check/%s-%u/sparse",
                                          check->options->kind, check->options->processes);
    bench_against(&row, BASELINE, &sides[1]);
    bench_bar(&row, BASELINE ? BAR_AT_LEAST : BAR_NONE, 3);
    bench_note(&row, "%u processes + %u resources, %zu cycles%s", check->options->processes,
               check->options->processes, check->cycles,
               BASELINE ? "" : "; igraph is not installed, so there is no baseline");
    return bench_add(bench, &row);
}

static gordian_status snapshot_check_row(struct bench *bench, const char *kind, uint32_t size)
{
    struct gen_options options = gen_options_of(kind, bench->options->seed, size);
    options.snapshot = true;
    if (kind[0] == 'c') {
        options.length = 100;
        options.cycles = size / 1000;
    } else {
        options.contention = 90;
    }
    struct check check = {.options = &options};
    bench_progress(bench, "check, %s of %u + %u", kind, size, size);
    gordian_status status = detect_snapshot(&check.snapshot, &options, bench->error);
    THEN(status, open_igraph(&check, bench->error));
    if (status == GORDIAN_OK) {
        status = measure_snapshot(bench, &check);
        close_igraph(&check);
    }
    gordian_snapshot_close(check.snapshot);
    return status;
}

gordian_status detect_checks(struct bench *bench)
{
    if (!bench_wants(bench, "sparse"))
        return GORDIAN_OK;
    const uint32_t size = bench->options->quick ? 1000000 : 10000000;
    TRY(snapshot_check_row(bench, "chains", size));
    return snapshot_check_row(bench, "forest", size);
}
