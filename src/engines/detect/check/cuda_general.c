/*
 * Checks snapshots of any model on a GPU. The device builds the graph and reduces it
 * (foundation/gpu/kernels/check/reduce.cu), and returns the processes left over. check_general()
 * finds the parts on the host, in a snapshot of the dead alone: nothing in it can be reduced.
 */
#include "engines/detect/check/cuda_job.h"
#include "engines/detect/check/snapshot.h"
#include "foundation/base/clock.h"
#include "foundation/gpu/kernels/check/reduce.h"

#include <string.h>

_Static_assert(sizeof(struct reduce_units) == sizeof(struct snapshot_units),
               "uploaded as they are");
_Static_assert(sizeof(struct reduce_edge) == sizeof(struct snapshot_edge), "uploaded as they are");

/* ------------------------------------------------------------------ device memory */

/* Returns whether waits ask for different numbers of units. They are then sorted by them. */
static bool has_wide_waits(const gordian_snapshot *snapshot)
{
    return snapshot->wide && (snapshot->wait_units || snapshot->waits.count > 0);
}

/* Upper bounds of the numbers of holds and waits. */
static size_t most_holds(const gordian_snapshot *snapshot)
{
    return (size_t)snapshot->resource_count + snapshot->holds.count;
}

static size_t most_waits(const gordian_snapshot *snapshot)
{
    return (size_t)snapshot->process_count + snapshot->waits.count;
}

enum array {
    WAIT,
    WAIT_UNITS,
    HOLDER,
    UNITS,
    HOLDS,
    WAITS,
    HOLD_START,
    HOLD_CURSOR,
    HOLD_TARGET,
    HOLD_AMOUNT,
    WAIT_START,
    WAIT_CURSOR,
    WAIT_TARGET,
    WAIT_AMOUNT,
    LONG_LISTS,
    FREE,
    MISSING,
    FLAGS,
    READY,
    TOUCHED,
    TOUCHED_ROUND,
    PROCESS_CHUNKS,
    RESOURCE_CHUNKS,
    COUNTS,
    BARRIER,
    TILES,
    LINK, /* these are for the chases; the flags are shared */
    INTO,
    AT,
    PLACE,
    LIST,
    SPARE_LIST,
    JUMP,
    SPARE_JUMP,
    STATE,
    ENTERED,
    ARRAYS,
};

void job_layout_general(const gordian_snapshot *snapshot, struct job_layout *layout)
{
    size_t processes = snapshot->process_count, resources = snapshot->resource_count;
    size_t holds = most_holds(snapshot), waits = most_waits(snapshot), number = sizeof(uint32_t);
    bool wide_waits = has_wide_waits(snapshot);
    size_t *sizes = layout->sizes;
    sizes[WAIT] = processes * number;
    sizes[WAIT_UNITS] = snapshot->wait_units ? processes * sizeof(uint64_t) : 0;
    sizes[HOLDER] = resources * number;
    sizes[UNITS] = snapshot->units ? resources * sizeof *snapshot->units : 0;
    sizes[HOLDS] = snapshot->holds.count * sizeof *snapshot->holds.edges;
    sizes[WAITS] = snapshot->waits.count * sizeof *snapshot->waits.edges;
    sizes[HOLD_START] = (processes + 1) * number;
    sizes[HOLD_CURSOR] = processes * number;
    sizes[HOLD_TARGET] = holds * number;
    sizes[HOLD_AMOUNT] = snapshot->wide ? holds * sizeof(uint64_t) : 0;
    sizes[WAIT_START] = (resources + 1) * number;
    sizes[WAIT_CURSOR] = resources * number;
    sizes[WAIT_TARGET] = waits * number;
    sizes[WAIT_AMOUNT] = wide_waits ? waits * sizeof(uint64_t) : 0;
    sizes[LONG_LISTS] = wide_waits ? waits / REDUCE_SHORT * number : 0;
    sizes[FREE] = resources * sizeof(uint64_t);
    sizes[MISSING] = processes * number;
    sizes[FLAGS] = job_flags_size(processes);
    sizes[READY] = processes * number;
    sizes[TOUCHED] = resources * number;
    sizes[TOUCHED_ROUND] = resources * number;
    sizes[PROCESS_CHUNKS] = holds / REDUCE_SHORT * sizeof(struct reduce_chunk);
    sizes[RESOURCE_CHUNKS] = waits / REDUCE_SHORT * sizeof(struct reduce_chunk);
    sizes[COUNTS] = sizeof(struct reduce_counts);
    sizes[BARRIER] = REDUCE_BARRIER_BYTES;
    sizes[TILES] = job_tiles_size((processes > resources ? processes : resources) + 1);
    for (unsigned i = LINK; i <= SPARE_JUMP; i++)
        sizes[i] = processes * number;
    sizes[STATE] = sizes[ENTERED] = job_flags_size(processes);
    layout->count = ARRAYS;
}

static struct reduce_arguments reduce_arguments(const struct cuda_job *job)
{
    const gordian_snapshot *snapshot = job->snapshot;
    const gpu_address *arrays = job->arrays;
    return (struct reduce_arguments){
        .wait = arrays[WAIT],
        .wait_units = snapshot->wait_units ? arrays[WAIT_UNITS] : 0,
        .holder = arrays[HOLDER],
        .units = snapshot->units ? arrays[UNITS] : 0,
        .holds = arrays[HOLDS],
        .waits = arrays[WAITS],
        .processes = snapshot->process_count,
        .resources = snapshot->resource_count,
        .hold_count = snapshot->holds.count,
        .wait_count = snapshot->waits.count,
        .hold_start = arrays[HOLD_START],
        .hold_cursor = arrays[HOLD_CURSOR],
        .hold_target = arrays[HOLD_TARGET],
        .hold_amount = snapshot->wide ? arrays[HOLD_AMOUNT] : 0,
        .wait_start = arrays[WAIT_START],
        .wait_cursor = arrays[WAIT_CURSOR],
        .wait_target = arrays[WAIT_TARGET],
        .wait_amount = has_wide_waits(snapshot) ? arrays[WAIT_AMOUNT] : 0,
        .long_lists = arrays[LONG_LISTS],
        .free = arrays[FREE],
        .missing = arrays[MISSING],
        .flags = arrays[FLAGS],
        .lead = arrays[LINK],
        .ready = arrays[READY],
        .touched = arrays[TOUCHED],
        .touched_round = arrays[TOUCHED_ROUND],
        .process_chunks = arrays[PROCESS_CHUNKS],
        .resource_chunks = arrays[RESOURCE_CHUNKS],
        .counts = arrays[COUNTS],
        .barrier = arrays[BARRIER],
    };
}

static void upload_edges(struct cuda_job *job)
{
    const gordian_snapshot *snapshot = job->snapshot;
    const void *from[] = {
        [WAIT] = snapshot->wait,         [WAIT_UNITS] = snapshot->wait_units,
        [HOLDER] = snapshot->holder,     [UNITS] = snapshot->units,
        [HOLDS] = snapshot->holds.edges, [WAITS] = snapshot->waits.edges,
    };
    static const enum array zero[] = {HOLD_START, WAIT_START,    MISSING, FLAGS,
                                      COUNTS,     TOUCHED_ROUND, BARRIER};
    struct job_layout layout = {0};
    job_layout_general(snapshot, &layout);
    for (unsigned i = WAIT; i <= WAITS; i++)
        job_upload(job, job->arrays[i], from[i], layout.sizes[i]);
    for (unsigned i = 0; i < sizeof zero / sizeof *zero; i++)
        job_zero(job, job->arrays[zero[i]], layout.sizes[zero[i]]);
}

/* ------------------------------------------------------------------ the reduction */

static void run_reduce(struct cuda_job *job, const char *kernel, uint64_t count,
                       const struct reduce_arguments *arguments)
{
    job_run(job, kernel, count, REDUCE_THREADS, arguments, sizeof *arguments);
}

static void run_reduce_together(struct cuda_job *job, const char *kernel, uint64_t count,
                                const struct reduce_arguments *arguments)
{
    job_run_together(job, kernel, count, job->info.emulated ? 64 : REDUCE_THREADS, arguments,
                     sizeof *arguments);
}

static void copy_device_list(struct cuda_job *job, gpu_address to, gpu_address from, size_t count)
{
    if (job->status == GORDIAN_OK && count > 0)
        job->status = gpu_copy(job->gpu, to, from, count * sizeof(uint32_t), job->error);
}

/* Builds the graph and returns the number of its edges. */
static uint64_t build_graph(struct cuda_job *job, const struct reduce_arguments *arguments)
{
    const gordian_snapshot *snapshot = job->snapshot;
    size_t edges = most_holds(snapshot) + most_waits(snapshot);
    run_reduce(job, "reduce_count", edges, arguments);
    uint64_t holds = job_prefix(job, arguments->hold_start, snapshot->process_count + 1);
    uint64_t waits = job_prefix(job, arguments->wait_start, snapshot->resource_count + 1);
    copy_device_list(job, arguments->hold_cursor, arguments->hold_start, snapshot->process_count);
    copy_device_list(job, arguments->wait_cursor, arguments->wait_start, snapshot->resource_count);
    run_reduce(job, "reduce_fill", edges, arguments);
    /* From now on this is the first wish that is not met. */
    copy_device_list(job, arguments->wait_cursor, arguments->wait_start, snapshot->resource_count);
    if (arguments->wait_amount)
        run_reduce_together(job, "reduce_sort", snapshot->resource_count, arguments);
    return holds + waits;
}

/* Some processes lead to a running one, each by a single wish that its successor alone can meet.
 * They are ready from the start, so the rounds need not follow long chains. Writes them to READY
 * and returns their number. */
static uint32_t seed_ready(struct cuda_job *job, const struct reduce_arguments *arguments)
{
    const gpu_address *arrays = job->arrays;
    struct job_chases chases = {
        .job = job,
        .count = job->snapshot->process_count,
        .link = arrays[LINK],
        .into = arrays[INTO],
        .at = arrays[AT],
        .place = arrays[PLACE],
        .list = {arrays[LIST], arrays[SPARE_LIST]},
        .jump = {arrays[JUMP], arrays[SPARE_JUMP]},
        .state = arrays[STATE],
        .entered = arrays[ENTERED],
        .flags = arrays[FLAGS],
    };
    run_reduce(job, "reduce_lead", chases.count, arguments);
    job_follow_chases(&chases);
    run_reduce(job, "reduce_seed", chases.count, arguments);
    return job_select(job, arguments->flags, 1, 0, arguments->ready, chases.count);
}

/* ------------------------------------------------------------------ the dead alone */

/* Numbers of the dead, and of the resources they wait for or hold, both ascending. */
struct dead {
    struct cuda_job *job;
    const uint32_t *processes; /* by number */
    uint32_t *resources;
    uint32_t process_count, resource_count;
    uint32_t *process_number;  /* by process of the whole snapshot; NONE */
    uint32_t *resource_number; /* likewise */
    gordian_snapshot snapshot;
};

static bool is_left_over_process(const struct dead *dead, uint32_t process)
{
    return process != NONE && dead->process_number[process] != NONE;
}

static bool number_dead_nodes(struct dead *dead)
{
    const gordian_snapshot *whole = dead->job->snapshot;
    const gordian_allocator *memory = dead->job->memory;
    size_t processes = sizeof(uint32_t) * whole->process_count;
    size_t resources = sizeof(uint32_t) * whole->resource_count;
    dead->process_number = memory_alloc(memory, processes);
    dead->resource_number = memory_alloc(memory, resources);
    if (!dead->process_number || !dead->resource_number)
        return false;
    memset(dead->process_number, 0xff, processes);
    for (uint32_t i = 0; i < dead->process_count; i++)
        dead->process_number[dead->processes[i]] = i;

    /* First 0 for those needed, then their numbers. */
    uint32_t *number = dead->resource_number;
    for (uint32_t q = 0; q < whole->resource_count; q++)
        number[q] = is_left_over_process(dead, whole->holder[q]) ? 0 : NONE;
    for (uint32_t i = 0; i < dead->process_count; i++)
        number[whole->wait[dead->processes[i]]] = 0;
    for (uint32_t i = 0; i < whole->waits.count; i++)
        if (is_left_over_process(dead, whole->waits.edges[i].process))
            number[whole->waits.edges[i].resource] = 0;
    for (uint32_t i = 0; i < whole->holds.count; i++)
        if (is_left_over_process(dead, whole->holds.edges[i].process))
            number[whole->holds.edges[i].resource] = 0;
    for (uint32_t q = 0; q < whole->resource_count; q++)
        if (number[q] != NONE)
            number[q] = dead->resource_count++;
    dead->resources = memory_alloc(memory, sizeof *dead->resources * dead->resource_count);
    if (!dead->resources)
        return false;
    for (uint32_t q = 0; q < whole->resource_count; q++)
        if (number[q] != NONE)
            dead->resources[number[q]] = q;
    return true;
}

/* Copies the further edges of the dead. */
static bool copy_edges(const struct dead *dead, struct snapshot_edges *to,
                       const struct snapshot_edges *from)
{
    for (uint32_t i = 0; i < from->count; i++)
        to->room += is_left_over_process(dead, from->edges[i].process);
    to->edges = memory_alloc(dead->job->memory, sizeof *to->edges * to->room);
    if (!to->edges)
        return false;
    for (uint32_t i = 0; i < from->count; i++) {
        struct snapshot_edge edge = from->edges[i];
        if (!is_left_over_process(dead, edge.process))
            continue;
        edge.process = dead->process_number[edge.process];
        edge.resource = dead->resource_number[edge.resource];
        to->edges[to->count++] = edge;
    }
    return true;
}

static bool allocate_nodes(struct dead *dead)
{
    const gordian_snapshot *whole = dead->job->snapshot;
    const gordian_allocator *memory = dead->job->memory;
    gordian_snapshot *part = &dead->snapshot;
    size_t processes = dead->process_count, resources = dead->resource_count;
    part->wait = memory_alloc(memory, sizeof *part->wait * processes);
    part->holder = memory_alloc(memory, sizeof *part->holder * resources);
    part->units = memory_alloc(memory, sizeof *part->units * resources);
    if (whole->wait_units)
        part->wait_units = memory_alloc(memory, sizeof *part->wait_units * processes);
    return part->wait && part->holder && part->units && (part->wait_units || !whole->wait_units);
}

static bool build_snapshot(struct dead *dead)
{
    const gordian_snapshot *whole = dead->job->snapshot;
    gordian_snapshot *part = &dead->snapshot;
    if (!number_dead_nodes(dead) || !allocate_nodes(dead))
        return false;
    part->memory = whole->memory;
    part->process_count = dead->process_count;
    part->resource_count = dead->resource_count;
    part->several = whole->several;
    part->wide = whole->wide;
    for (uint32_t i = 0; i < dead->process_count; i++) {
        uint32_t p = dead->processes[i];
        part->wait[i] = dead->resource_number[whole->wait[p]];
        if (part->wait_units)
            part->wait_units[i] = whole->wait_units[p];
    }
    for (uint32_t i = 0; i < dead->resource_count; i++) {
        uint32_t q = dead->resources[i];
        bool held = is_left_over_process(dead, whole->holder[q]);
        uint64_t units = held ? snapshot_first_hold(whole, q) : 0;
        part->holder[i] = held ? dead->process_number[whole->holder[q]] : NONE;
        part->units[i] = (struct snapshot_units){snapshot_total(whole, q), units, units};
    }
    if (!copy_edges(dead, &part->holds, &whole->holds) ||
        !copy_edges(dead, &part->waits, &whole->waits))
        return false;
    for (uint32_t i = 0; i < part->holds.count; i++)
        part->units[part->holds.edges[i].resource].held += part->holds.edges[i].units;
    return true;
}

/* Makes `list`, the dead, part of the result. */
static void set_deadlocked(struct check_result *result, uint32_t *list, uint32_t count)
{
    result->deadlocked = list;
    result->report.deadlocked = list;
    result->report.deadlocked_count = count;
}

/* Like the function above, and finds the parts of the dead processes, if there are any. */
static void find_parts_of_dead(struct cuda_job *job, uint32_t *list, uint32_t count, uint64_t edges)
{
    struct check_result *result = job->result;
    struct dead dead = {.job = job, .processes = list, .process_count = count};
    uint64_t start = clock_ns();
    if (count == 0) {
        set_deadlocked(result, list, 0);
    } else if (build_snapshot(&dead) && check_general_within(&dead.snapshot, edges, result)) {
        /* The parts have the numbers of the dead processes: replace them by the numbers of the
         * whole snapshot. */
        size_t processes = 0, resources = 0;
        for (size_t i = 0; i < result->report.part_count; i++) {
            processes += result->parts[i].process_count;
            resources += result->parts[i].resource_count;
        }
        for (size_t i = 0; i < processes; i++)
            result->processes[i] = dead.processes[result->processes[i]];
        for (size_t i = 0; i < resources; i++)
            result->resources[i] = dead.resources[result->resources[i]];
        memory_free(job->memory, result->deadlocked);
        set_deadlocked(result, list, count);
    } else {
        job->status = fail_memory(job->error);
        memory_free(job->memory, list);
    }
    const gordian_allocator *memory = dead.job->memory;
    memory_free_all(memory, dead.resources, dead.process_number, dead.resource_number,
                    dead.snapshot.wait, dead.snapshot.wait_units, dead.snapshot.holder,
                    dead.snapshot.units, dead.snapshot.holds.edges, dead.snapshot.waits.edges);
    job->times.host += (double)(clock_ns() - start) / 1e3;
}

void job_check_general(struct cuda_job *job)
{
    struct reduce_arguments arguments = reduce_arguments(job);
    if (most_holds(job->snapshot) + most_waits(job->snapshot) >= UINT32_MAX - REDUCE_THREADS) {
        job->status = fail(job->error, GORDIAN_STATUS_UNAVAILABLE,
                           "the cuda engine supports fewer than 2^32 holds and waits");
        return;
    }
    job->tiles = job->arrays[TILES];
    upload_edges(job);
    job_begin(job);
    uint64_t edges = build_graph(job, &arguments);
    /* How many processes are left over; they are in READY. */
    const gordian_snapshot *snapshot = job->snapshot;
    uint32_t processes = snapshot->process_count, resources = snapshot->resource_count;
    uint32_t most = processes > resources ? processes : resources;
    run_reduce(job, "reduce_start", resources, &arguments);
    struct reduce_counts counts = {.ready = seed_ready(job, &arguments)};
    if (job->status == GORDIAN_OK)
        job->status = gpu_write(job->gpu, arguments.counts, &counts, sizeof counts, job->error);
    run_reduce_together(job, "reduce_rounds", most, &arguments);
    run_reduce(job, "reduce_left", processes, &arguments);
    uint32_t count = job_select(job, arguments.flags, 1, 0, arguments.ready, processes);
    job_end(job);
    uint32_t *list = job_download_list(job, arguments.ready, count);
    if (job->status == GORDIAN_OK)
        find_parts_of_dead(job, list, count, edges);
    else
        memory_free(job->memory, list);
}
