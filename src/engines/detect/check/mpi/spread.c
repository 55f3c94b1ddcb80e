/* Sends holds and waits to the ranks that own their processes and resources, which validate them.
 */
#include "engines/detect/check/mpi/job.h"

#include <stdlib.h>

/* ------------------------------------------------------------------ sending */

/* Replaces local numbers by ids. Edges of undeclared names are dropped; another step reports those.
 */
static void name_edges(struct mpi_job *job, struct edge_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct edge_record edge = list->edges[i];
        edge.process = job->kinds[NAME_PROCESS].list[edge.process].id;
        edge.resource = job->kinds[NAME_RESOURCE].list[edge.resource].id;
        if (edge.process != NONE && edge.resource != NONE)
            list->edges[kept++] = edge;
    }
    list->count = kept;
}

static void edge_list_free(struct mpi_job *job, struct edge_list *list)
{
    memory_free(&job->memory, list->edges);
    *list = (struct edge_list){0};
}

/* Stores the edges that arrived. */
static bool receive_edges(struct mpi_job *job, struct edge_list *list)
{
    struct exchange *exchange = &job->exchange;
    *list = (struct edge_list){.count = exchange->in.used / sizeof(struct edge_record)};
    list->room = list->count;
    list->edges = memory_alloc(&job->memory, list->count * sizeof *list->edges);
    if (list->edges && list->count > 0)
        memcpy(list->edges, exchange->in.data, list->count * sizeof *list->edges);
    return exchange_all(list->edges != NULL);
}

/* Sends edges to their owners, which store them. */
static bool spread_list(struct mpi_job *job, const struct edge_list *list, enum name_kind to,
                        struct edge_list *came)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct edge_record *edge = &list->edges[i];
        uint32_t id = to == NAME_PROCESS ? edge->process : edge->resource;
        exchange_put(&job->exchange, owning_rank(job, to, id), edge, sizeof *edge);
    }
    return exchange_run(&job->exchange) && receive_edges(job, came);
}

/* ------------------------------------------------------------------ sorting */

static uint32_t own_number(const struct mpi_job *job, const struct edge_record *edge,
                           enum name_kind kind)
{
    return (kind == NAME_PROCESS ? edge->process : edge->resource) - job->begin[kind];
}

/* Sorts the edges that arrived by owner. */
static bool sort_owned(struct mpi_job *job, struct owned_edges *owned, struct edge_list *list,
                       enum name_kind kind)
{
    size_t count = job->own[kind];
    owned->count = list->count;
    owned->starts = memory_zeroed(&job->memory, (count + 2) * sizeof *owned->starts);
    owned->edges = memory_alloc(&job->memory, list->count * sizeof *owned->edges);
    bool fine = owned->starts && owned->edges;
    for (size_t i = 0; i < list->count && fine; i++)
        owned->starts[own_number(job, &list->edges[i], kind) + 2]++;
    for (size_t i = 0; i < count && fine; i++)
        owned->starts[i + 2] += owned->starts[i + 1];
    for (size_t i = 0; i < list->count && fine; i++)
        owned->edges[owned->starts[own_number(job, &list->edges[i], kind) + 1]++] = list->edges[i];
    edge_list_free(job, list);
    return exchange_all(fine);
}

int compare_places(const void *left, const void *right)
{
    uint64_t one = *(const uint64_t *)left, other = *(const uint64_t *)right;
    return (one > other) - (one < other);
}

static int compare_wishes(const void *left, const void *right)
{
    const struct edge_record *one = left, *other = right;
    if (one->process != other->process)
        return one->process < other->process ? -1 : 1;
    return compare_places(left, right);
}

static int compare_units(const void *left, const void *right)
{
    const struct edge_record *one = left, *other = right;
    return (one->units > other->units) - (one->units < other->units);
}

/* ------------------------------------------------------------------ totals and holds */

/* Finds the first hold in the text that exceeds the remaining units. */
static void find_excess(struct mpi_job *job, struct edge_record *holds, size_t count,
                        uint64_t total)
{
    qsort(holds, count, sizeof *holds, compare_places);
    for (size_t i = 0; i < count; i++) {
        if (holds[i].units > total) {
            job_trouble(job, holds[i].place, TROUBLE_HOLDS, 0);
            return;
        }
        total -= holds[i].units;
    }
}

static bool spread_holds(struct mpi_job *job)
{
    struct edge_list came;
    struct owned_edges of_resource = {0};
    size_t own = job->own[NAME_RESOURCE];
    job->available = memory_alloc(&job->memory, own * sizeof *job->available);
    job->holder = memory_alloc(&job->memory, own * sizeof *job->holder);
    bool fine = exchange_all(job->available && job->holder) &&
                spread_list(job, &job->holds, NAME_RESOURCE, &came) &&
                sort_owned(job, &of_resource, &came, NAME_RESOURCE);
    if (fine) {
        for (uint32_t q = 0; q < job->own[NAME_RESOURCE]; q++) {
            struct edge_record *first = of_resource.edges + of_resource.starts[q];
            size_t count = of_resource.starts[q + 1] - of_resource.starts[q];
            uint64_t left = job->totals[q];
            bool excess = false;
            for (size_t i = 0; i < count; i++) {
                excess |= first[i].units > left;
                left -= first[i].units;
            }
            if (excess)
                find_excess(job, first, count, job->totals[q]);
            job->available[q] = left;
            job->holder[q] = count ? first->process : NONE;
        }
    }
    memory_free_all(&job->memory, of_resource.edges, of_resource.starts);
    fine = fine && spread_list(job, &job->holds, NAME_PROCESS, &came) &&
           sort_owned(job, &job->held, &came, NAME_PROCESS);
    edge_list_free(job, &job->holds);
    return fine;
}

/* ------------------------------------------------------------------ waits */

/* Merges all waits of a process for a resource into one wish. Returns how many are left. */
static size_t merge_wishes(struct mpi_job *job, struct edge_record *wishes, size_t count,
                           uint64_t total)
{
    size_t kept = 0;
    qsort(wishes, count, sizeof *wishes, compare_wishes);
    for (size_t i = 0; i < count; i++) {
        bool same = kept > 0 && wishes[kept - 1].process == wishes[i].process;
        uint64_t before = same ? wishes[kept - 1].units : 0;
        if (before > total || wishes[i].units > total - before) {
            job_trouble(job, wishes[i].place, TROUBLE_WAITS, 0);
            continue;
        }
        if (same)
            wishes[kept - 1].units += wishes[i].units;
        else
            wishes[kept++] = wishes[i];
    }
    qsort(wishes, kept, sizeof *wishes, compare_units);
    return kept;
}

static void check_waits(struct mpi_job *job, struct owned_edges *wishes)
{
    size_t used = 0;
    for (uint32_t q = 0; q < job->own[NAME_RESOURCE]; q++) {
        struct edge_record *first = wishes->edges + wishes->starts[q];
        size_t count = wishes->starts[q + 1] - wishes->starts[q];
        if (count > 1 || (count == 1 && first->units > job->totals[q]))
            count = merge_wishes(job, first, count, job->totals[q]);
        memmove(wishes->edges + used, first, count * sizeof *first);
        wishes->starts[q] = used;
        used += count;
    }
    wishes->starts[job->own[NAME_RESOURCE]] = wishes->count = used;
}

static bool spread_waits(struct mpi_job *job)
{
    struct edge_list came;
    bool fine = spread_list(job, &job->waits, NAME_RESOURCE, &came) &&
                sort_owned(job, &job->wishes, &came, NAME_RESOURCE);
    edge_list_free(job, &job->waits);
    if (!fine)
        return false;
    check_waits(job, &job->wishes);
    const struct edge_list merged = {job->wishes.edges, job->wishes.count, job->wishes.count};
    return spread_list(job, &merged, NAME_PROCESS, &came) &&
           sort_owned(job, &job->wanted, &came, NAME_PROCESS);
}

/* ------------------------------------------------------------------ the model */

bool job_spread(struct mpi_job *job)
{
    if (!job->packed) {
        name_edges(job, &job->holds);
        name_edges(job, &job->waits);
        /* The rank that declares a resource knows its units; its owner needs them. */
        const struct local_names *names = &job->kinds[NAME_RESOURCE];
        struct edge_list totals;
        for (uint32_t i = 0; i < names->fresh_count; i++) {
            const struct local_name *name = &names->list[names->fresh[i]];
            struct edge_record record = {name->first, name->units, NONE, name->id};
            exchange_put(&job->exchange, owning_rank(job, NAME_RESOURCE, name->id), &record,
                         sizeof record);
        }
        job->totals = memory_alloc(&job->memory, job->own[NAME_RESOURCE] * sizeof *job->totals);
        if (!exchange_all(job->totals != NULL) || !exchange_run(&job->exchange) ||
            !receive_edges(job, &totals))
            return false;
        for (size_t i = 0; i < totals.count; i++)
            job->totals[totals.edges[i].resource - job->begin[NAME_RESOURCE]] =
                totals.edges[i].units;
        edge_list_free(job, &totals);
    }
    if (!spread_holds(job) || !spread_waits(job))
        return false;
    /* Find out whether the snapshot is general, or any resource has several units. */
    uint64_t model = GORDIAN_MODEL_SINGLE_UNIT;
    for (uint32_t q = 0; q < job->own[NAME_RESOURCE]; q++)
        if (job->totals[q] > 1)
            model = GORDIAN_MODEL_MULTI_UNIT;
    for (uint32_t p = 0; p < job->own[NAME_PROCESS]; p++) {
        size_t first = job->wanted.starts[p], end = job->wanted.starts[p + 1];
        if (end - first > 1 || (end > first && job->wanted.edges[first].units > 1))
            model = GORDIAN_MODEL_GENERAL;
    }
    job->model = (gordian_model)exchange_most(model);
    job->edges = exchange_sum(job->held.count + job->wishes.count);
    return true;
}
