/* Memory of `sparse`: all bytes of its allocator after a system is loaded, compared with 64 bytes
 * for each process or resource and 16 for each edge. */
#include "lab/bench/detect/detect.h"

#include "foundation/base/error.h"

#include <stdio.h>
#include <stdlib.h>

struct memory_load {
    const char *name, *kind;
    uint32_t processes, resources;
    bool named, reserved, bar;
};

/* A loaded system, and its final number of edges. */
struct loaded {
    const struct memory_load *load;
    gordian_system *system;
    uint64_t edges;
};

static gordian_status begin_loaded(void *context, uint32_t processes, uint32_t resources,
                                   const uint64_t *units, uint64_t units_each, gordian_error *error)
{
    struct loaded *loaded = context;
    char name[16];
    uint32_t id;
    if (loaded->load->reserved)
        TRY(gordian_reserve(loaded->system, processes, resources, error));
    for (uint32_t q = 0; q < resources; q++) {
        snprintf(name, sizeof name, "q%u", q);
        TRY(gordian_add_resource(loaded->system, loaded->load->named ? name : NULL,
                                 units ? units[q] : units_each, &id, error));
    }
    for (uint32_t p = 0; p < processes; p++) {
        snprintf(name, sizeof name, "p%u", p);
        TRY(gordian_add_process(loaded->system, loaded->load->named ? name : NULL, &id, error));
    }
    return GORDIAN_OK;
}

static gordian_status feed_loaded(void *context, const gordian_event *event, gordian_error *error)
{
    struct loaded *loaded = context;
    gordian_result result;
    return gordian_feed(loaded->system, event, &result, error);
}

static gordian_status fill_loaded(struct bench *bench, struct loaded *loaded)
{
    struct gen_options options =
        gen_options_of(loaded->load->kind, bench->options->seed, loaded->load->processes);
    options.resources = loaded->load->resources;
    options.contention = 80;
    if (loaded->load->kind[0] != 'f')
        options.events = 10 * (uint64_t)options.processes;
    struct gen_sink sink = {loaded, begin_loaded, feed_loaded};
    gordian_status status = gen_stream(&options, &sink, bench->error);
    const uint32_t limit = gordian_process_limit(loaded->system);
    gordian_edge edge;
    for (uint32_t p = 0; p < limit; p++)
        loaded->edges += gordian_holdings(loaded->system, p, &edge, 1) +
                         gordian_pending(loaded->system, p, &edge, 1);
    return status;
}

static gordian_status sparse_memory_row(struct bench *bench, const struct memory_load *load)
{
    struct bench_memory counter = {0};
    gordian_allocator allocator = bench_counting(&counter);
    gordian_options options;
    gordian_options_init(&options);
    options.engine = "sparse";
    options.allocator = &allocator;
    struct loaded loaded = {.load = load};
    bench_progress(bench, "memory, %s", load->name);
    gordian_status status = gordian_open(&loaded.system, &options, bench->error);
    THEN(status, fill_loaded(bench, &loaded));
    double bytes = (double)counter.live;
    double nodes = (double)load->processes + load->resources;
    gordian_close(loaded.system);
    if (status == GORDIAN_OK && counter.live)
        status = fail(bench->error, GORDIAN_STATUS_INPUT,
                      "memory: %zu bytes are left after closing", counter.live);
    TRY(status);
    struct bench_row row = bench_row("B", "detect/memory/%s/sparse", load->name);
    row.value = bytes / nodes;
    row.baseline = "budget";
    row.baseline_value = (64 * nodes + 16 * (double)loaded.edges) / nodes;
    bench_bar(&row, load->bar ? BAR_AT_LEAST : BAR_NONE, 1);
    bench_note(&row,
               "bytes per process or resource, with edges: %.0f of them, %llu edges, %.0f bytes",
               nodes, (unsigned long long)loaded.edges, bytes);
    return bench_add(bench, &row);
}

gordian_status detect_memory(struct bench *bench)
{
    static const struct memory_load loads[] = {
        {"single", "forest", 200000, 200000, false, true, true},
        {"single-unreserved", "forest", 200000, 200000, false, false, false},
        {"single-named", "forest", 200000, 200000, true, true, false},
        {"multi", "multi", 100000, 100000, false, true, true},
        {"multi-named", "multi", 100000, 100000, true, true, false},
        {"general", "general", 2000, 2000, false, true, true},
    };
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        if (bench_wants(bench, "sparse"))
            TRY(sparse_memory_row(bench, &loads[i]));
    return GORDIAN_OK;
}
