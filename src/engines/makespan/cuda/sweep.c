/* The sweep over the layers of an abstract system on a GPU (cuda/sweep.h). */
#include "engines/makespan/cuda/sweep.h"

#include "engines/makespan/cuda/path.h"
#include "foundation/base/clock.h"
#include "foundation/base/error.h"

#include <string.h>

#define LISTS    (SWEEP_RUNS * 6 + 16) /* most tables on the device */
#define COUNTERS 16000000u             /* counters for sorting prefixes, approximate limit */
#define MOST_NS  50000000u             /* approximate time between two calls of go_on */

struct sweep {
    struct gpu *gpu;
    struct gpu_info info;
    const struct sweep_tables *tables;
    const struct sweep_options *options;
    gpu_address lists[LISTS];
    size_t list_count;
    uint64_t held; /* bytes */
    struct sweep_system system;
    gpu_address counts, list, values, overflow;
    gpu_address last_states, last_first, last_count;
    uint32_t *starts; /* by work: where its prefixes begin in the list; one more at the end */
    uint32_t works;   /* of prefixes: 0 .. works - 1 */
    bool wide;
    uint64_t polled; /* time of the last call of go_on */
};

/* ------------------------------------------------------------------ device memory */

static gordian_status allocate_sweep_memory(struct sweep *sweep, gpu_address *out, uint64_t bytes,
                                            gordian_error *error)
{
    uint64_t most = sweep->options->max_memory;
    if (most && sweep->held + bytes > most)
        return fail(error, GORDIAN_STATUS_MEMORY, "more memory needed than the limit of %llu bytes",
                    (unsigned long long)most);
    TRY(gpu_alloc(sweep->gpu, out, bytes, error));
    sweep->held += bytes;
    sweep->lists[sweep->list_count++] = *out;
    return GORDIAN_OK;
}

static gordian_status send_bytes(struct sweep *sweep, gpu_address *out, const void *from,
                                 uint64_t bytes, gordian_error *error)
{
    TRY(allocate_sweep_memory(sweep, out, bytes, error));
    return gpu_write(sweep->gpu, *out, from, bytes, error);
}

static gordian_status send_run(struct sweep *sweep, uint32_t r, gordian_error *error)
{
    const struct run_tables *from = &sweep->tables->runs[r];
    struct sweep_run *to = &sweep->system.runs[r];
    uint64_t size = sizeof(uint32_t), ids = from->ids;
    struct {
        uint64_t *to;
        const void *from;
        uint64_t bytes;
    } lists[] = {
        {&to->base, from->base, (sweep->tables->model->warps + 2) * size},
        {&to->warps, from->warps, ids * size},
        {&to->work, from->work, ids * size},
        {&to->first, from->first, ids * (from->most + 2) * size},
        {&to->options, from->options, from->option_count * sizeof *from->options},
        {&to->arrive, from->arrive, ids * (from->comers + 1) * size},
    };
    to->most = from->most;
    to->comers = from->comers;
    to->shift = 8 * from->type;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        TRY(send_bytes(sweep, lists[i].to, lists[i].from, lists[i].bytes, error));
    return GORDIAN_OK;
}

static gordian_status send_whole(struct sweep *sweep, gordian_error *error)
{
    const struct sweep_tables *tables = sweep->tables;
    const struct run_tables *last = &tables->runs[tables->run_count - 1];
    struct sweep_system *system = &sweep->system;
    uint64_t width = tables->model->warps + 1, runs = tables->run_count;
    uint64_t works = (uint64_t)last->length * tables->model->warps + 1, size = sizeof(uint32_t);
    struct {
        uint64_t *to;
        const void *from;
        uint64_t bytes;
    } lists[] = {
        {&system->room, tables->room, (runs + 1) * width * 8},
        {&system->before, tables->before, runs * width * width * 8},
        {&system->prefix_room, tables->prefix_room, (runs + 1) * width * 8},
        {&system->prefix_before, tables->prefix_before, runs * width * width * 8},
        {&system->class_before, tables->class_before, runs * width * width * 8},
        {&sweep->last_states, tables->last_states, last->ids * size},
        {&sweep->last_first, tables->last_first, (works + 1) * size},
        {&sweep->last_count, tables->last_count, works * width * size},
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        TRY(send_bytes(sweep, lists[i].to, lists[i].from, lists[i].bytes, error));
    return GORDIAN_OK;
}

static gordian_status send_system(struct sweep *sweep, gordian_error *error)
{
    const struct makespan_model *model = sweep->tables->model;
    struct sweep_system *system = &sweep->system;
    system->run_count = sweep->tables->run_count;
    system->unit_count = model->types;
    system->warps = model->warps;
    system->schedulers = model->sigma;
    system->classes = sweep->tables->classes;
    for (uint32_t u = 0; u < model->types; u++) {
        uint64_t units = model->units[u] < SWEEP_WARPS ? model->units[u] : SWEEP_WARPS;
        system->capacity |= units << 8 * u;
    }
    for (uint32_t r = 0; r < system->run_count; r++)
        TRY(send_run(sweep, r, error));
    return send_whole(sweep, error);
}

/* ------------------------------------------------------------------ prefixes by work */

static gordian_status launch_sweep(struct sweep *sweep, const char *kernel, uint64_t threads_wanted,
                                   const void *arguments, size_t size, gordian_error *error)
{
    unsigned threads = sweep->info.emulated ? 32 : SWEEP_THREADS;
    uint64_t most = sweep->info.emulated ? 3 : (uint64_t)sweep->info.multiprocessors * 16;
    uint64_t blocks = (threads_wanted + threads - 1) / threads;
    struct gpu_launch launch = {.kernel = kernel,
                                .blocks = (unsigned)(blocks > most ? most
                                                     : blocks      ? blocks
                                                                   : 1),
                                .threads = threads,
                                .arguments = arguments,
                                .arguments_size = size};
    return gpu_launch(sweep->gpu, &launch, error);
}

/* Counting sort of the states, with counters on the host and on the device. */
static gordian_status sort_by(struct sweep *sweep, uint32_t *counts, uint32_t buckets,
                              gordian_error *error)
{
    const struct sweep_tables *tables = sweep->tables;
    uint64_t bytes = (uint64_t)sweep->works * buckets * sizeof *counts;
    struct sweep_sort_arguments arguments = {.system = sweep->system,
                                             .counts = sweep->counts,
                                             .list = sweep->list,
                                             .prefixes = (uint32_t)tables->prefixes,
                                             .buckets = buckets};
    TRY(gpu_zero(sweep->gpu, sweep->counts, bytes, error));
    TRY(launch_sweep(sweep, "makespan_weigh", tables->prefixes, &arguments, sizeof arguments,
                     error));
    TRY(gpu_read(sweep->gpu, counts, sweep->counts, bytes, error));
    /* Prefix sums: where the prefixes of each work and bucket begin. */
    uint32_t sum = 0;
    for (size_t work = 0; work < sweep->works; work++) {
        sweep->starts[work] = sum;
        for (size_t bucket = 0; bucket < buckets; bucket++) {
            uint32_t count = counts[work * buckets + bucket];
            counts[work * buckets + bucket] = sum;
            sum += count;
        }
    }
    sweep->starts[sweep->works] = sum;
    TRY(gpu_write(sweep->gpu, sweep->counts, counts, bytes, error));
    return launch_sweep(sweep, "makespan_place", tables->prefixes, &arguments, sizeof arguments,
                        error);
}

static gordian_status sort_prefixes(struct sweep *sweep, gordian_error *error)
{
    const struct sweep_tables *tables = sweep->tables;
    uint64_t buckets = COUNTERS / sweep->works + 1;
    buckets = buckets < tables->classes ? buckets : tables->classes;
    uint64_t bytes = sweep->works * buckets * sizeof(uint32_t);
    uint32_t *counts = memory_alloc(&tables->memory, bytes);
    if (!counts)
        return fail_memory(error);
    gordian_status status = allocate_sweep_memory(sweep, &sweep->counts, bytes, error);
    THEN(status,
         allocate_sweep_memory(sweep, &sweep->list, tables->prefixes * sizeof(uint32_t), error));
    THEN(status, sort_by(sweep, counts, (uint32_t)buckets, error));
    memory_free(&tables->memory, counts);
    return status;
}

/* ------------------------------------------------------------------ layers */

/* Chooses how many threads share a prefix: two, unless too few prefixes would leave the device
 * idle. (About one layer in three has states of a given prefix.) */
static uint32_t choose_lanes(const struct sweep *sweep)
{
    uint64_t each = 3 * sweep->tables->prefixes / sweep->works + 1; /* prefixes of a layer */
    uint64_t enough = (uint64_t)sweep->info.multiprocessors * 128;
    uint32_t lanes = 2;
    if (sweep->options->lanes)
        return sweep->options->lanes;
    while (lanes < 16 && lanes * each < enough)
        lanes *= 2;
    return lanes;
}

static gordian_status run_layer(struct sweep *sweep, uint32_t work, uint32_t lanes,
                                gordian_error *error)
{
    const struct sweep_tables *tables = sweep->tables;
    const struct run_tables *last = &tables->runs[tables->run_count - 1];
    uint32_t most = last->length * tables->model->warps; /* work of the last run */
    uint32_t from = work > most ? work - most : 0;
    uint32_t to = work < sweep->works ? work + 1 : sweep->works;
    struct sweep_layer_arguments arguments = {.system = sweep->system,
                                              .list = sweep->list,
                                              .last_states = sweep->last_states,
                                              .last_first = sweep->last_first,
                                              .last_count = sweep->last_count,
                                              .values = sweep->values,
                                              .overflow = sweep->overflow,
                                              .work = work,
                                              .lanes = lanes,
                                              .wide = sweep->wide,
                                              .least = sweep->options->least};
    if (from >= to)
        return GORDIAN_OK;
    arguments.first = sweep->starts[from];
    arguments.last = sweep->starts[to];
    if (arguments.first == arguments.last)
        return GORDIAN_OK;
    return launch_sweep(sweep, tables->run_count <= 4 ? "makespan_layer4" : "makespan_layer",
                        (uint64_t)(arguments.last - arguments.first) * lanes, &arguments,
                        sizeof arguments, error);
}

/* Launches run ahead of the device: this waits for the device and calls go_on. It adapts the number
 * of layers until the next call, so that there are a few calls per second. */
static gordian_status poll_layer(struct sweep *sweep, uint32_t layer, uint32_t *batch,
                                 bool *stopped, gordian_error *error)
{
    const struct sweep_options *options = sweep->options;
    uint64_t states = sweep->tables->states;
    uint64_t done = (uint64_t)((double)states * layer / sweep->tables->model->work);
    TRY(gpu_wait(sweep->gpu, error));
    uint64_t now = clock_ns(), taken = now - sweep->polled;
    if (taken > MOST_NS && *batch > 1)
        *batch /= 2;
    else if (taken < MOST_NS / 4 && *batch < 64)
        *batch *= 2;
    sweep->polled = now;
    *stopped = !options->go_on(options->context, done, states);
    return GORDIAN_OK;
}

static gordian_status run_layers(struct sweep *sweep, bool *stopped, gordian_error *error)
{
    uint32_t work = sweep->tables->model->work, lanes = choose_lanes(sweep);
    uint32_t batch = 8, since = 0;
    TRY(gpu_zero(sweep->gpu, sweep->overflow, sizeof(uint32_t), error));
    TRY(gpu_zero(sweep->gpu, sweep->values, 2, error)); /* state 0: all done, 0 cycles left */
    sweep->polled = clock_ns();
    for (uint32_t layer = 1; layer <= work && !*stopped; layer++) {
        TRY(run_layer(sweep, layer, lanes, error));
        if (!sweep->options->go_on || ++since < batch)
            continue;
        since = 0;
        TRY(poll_layer(sweep, layer, &batch, stopped, error));
    }
    return GORDIAN_OK;
}

static gordian_status read_state_value(void *context, uint64_t index, uint32_t *value,
                                       gordian_error *error)
{
    const struct sweep *sweep = context;
    uint8_t narrow = 0;
    uint16_t wide = 0;
    if (sweep->wide)
        TRY(gpu_read(sweep->gpu, &wide, sweep->values + index * 2, sizeof wide, error));
    else
        TRY(gpu_read(sweep->gpu, &narrow, sweep->values + index, sizeof narrow, error));
    *value = sweep->wide ? wide : narrow;
    return GORDIAN_OK;
}

/* Reads the value of the initial state; *fits: no value was cut off. */
static gordian_status read_value(struct sweep *sweep, uint32_t *value, bool *fits,
                                 gordian_error *error)
{
    uint32_t id, overflow = 0;
    TRY(gpu_read(sweep->gpu, &overflow, sweep->overflow, sizeof overflow, error));
    TRY(read_state_value(sweep, path_start(sweep->tables, &id), value, error));
    *fits = overflow == 0;
    return GORDIAN_OK;
}

static gordian_status sweep_all(struct sweep *sweep, struct sweep_outcome *outcome,
                                gordian_error *error)
{
    bool fits = false;
    TRY(send_system(sweep, error));
    TRY(sort_prefixes(sweep, error));
    TRY(allocate_sweep_memory(sweep, &sweep->overflow, sizeof(uint32_t), error));
    for (;;) {
        uint64_t bytes = (sweep->tables->states + 1) * (sweep->wide ? 2 : 1);
        TRY(allocate_sweep_memory(sweep, &sweep->values, bytes, error));
        TRY(run_layers(sweep, &outcome->stopped, error));
        if (outcome->stopped)
            return GORDIAN_OK;
        TRY(read_value(sweep, &outcome->value, &fits, error));
        if (fits)
            break;
        if (sweep->wide)
            return fail(error, GORDIAN_STATUS_UNAVAILABLE, "a schedule has more than 65535 cycles");
        gpu_free(sweep->gpu, sweep->lists[--sweep->list_count]);
        sweep->held -= bytes;
        sweep->wide = true;
    }
    if (!sweep->options->order || !sweep->tables->lossless)
        return GORDIAN_OK;
    outcome->found = true;
    return path_find(sweep->tables, read_state_value, sweep, sweep->options->order, error);
}

gordian_status sweep_run(struct gpu *gpu, const struct sweep_tables *tables,
                         const struct sweep_options *options, struct sweep_outcome *outcome,
                         gordian_error *error)
{
    struct sweep sweep = {.gpu = gpu, .tables = tables, .options = options, .wide = options->wide};
    gpu_get_info(gpu, &sweep.info);
    *outcome = (struct sweep_outcome){.states = tables->states};
    sweep.works = tables->model->work + 1;
    sweep.starts = memory_zeroed(&tables->memory, (sweep.works + 1) * sizeof *sweep.starts);
    if (!sweep.starts)
        return fail_memory(error);
    gordian_status status = sweep_all(&sweep, outcome, error);
    outcome->memory = sweep.held;
    THEN(status, gpu_wait(gpu, error));
    while (sweep.list_count > 0)
        gpu_free(gpu, sweep.lists[--sweep.list_count]);
    memory_free(&tables->memory, sweep.starts);
    return status;
}
