/* Gathers the dead, their edges and names on rank 0, which finds their parts. */
#include "engines/detect/check/mpi/job.h"
#include "engines/detect/check/snapshot_text.h"
#include "foundation/base/error.h"
#include "foundation/base/sort.h"

/* Ids in order. An index here is an id of the snapshot of the dead. */
struct id_list {
    uint32_t *ids;
    size_t count, room;
};

static bool add_dead_id(struct mpi_job *job, struct id_list *list, uint32_t id)
{
    if (!memory_grow(&job->memory, &list->ids, &list->room, list->count + 1, sizeof *list->ids))
        return false;
    list->ids[list->count++] = id;
    return true;
}

static uint32_t find_dead_id(const struct id_list *list, uint32_t id)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint32_t)low;
}

/* The data that rank 0 assembles. */
struct gathering {
    struct mpi_job *job;
    gordian_judged *judged;
    struct id_list lists[NAME_KINDS];
    struct edge_list edges; /* `place` is that of a hold or a wait */
    bool fine;
};

/* ------------------------------------------------------------------ the dead */

enum { EDGE_HOLD, EDGE_WAIT };

static void send_edges(struct mpi_job *job, const struct owned_edges *owned, uint32_t p,
                       uint64_t kind)
{
    for (size_t i = owned->starts[p]; i < owned->starts[p + 1]; i++) {
        struct edge_record edge = owned->edges[i];
        edge.place = kind;
        exchange_put(&job->exchange, 0, &edge, sizeof edge);
    }
}

/* Every dead process waits for something. */
static void receive_dead(struct gathering *gathering)
{
    struct mpi_job *job = gathering->job;
    struct edge_list *edges = &gathering->edges;
    struct edge_record edge;
    while (gathering->fine && exchange_read(&job->exchange, &edge, sizeof edge)) {
        gathering->fine = memory_grow(&job->memory, &edges->edges, &edges->room, edges->count + 1,
                                      sizeof *edges->edges);
        if (!gathering->fine)
            return;
        edges->edges[edges->count++] = edge;
        gathering->fine = add_dead_id(job, &gathering->lists[NAME_PROCESS], edge.process) &&
                          add_dead_id(job, &gathering->lists[NAME_RESOURCE], edge.resource);
    }
    for (unsigned kind = 0; kind < NAME_KINDS; kind++) {
        struct id_list *list = &gathering->lists[kind];
        list->count = sort_unique_u32(list->ids, list->count);
    }
}

/* ------------------------------------------------------------------ queries of rank 0 */

/* Ranks own blocks of ids, so the answers come in the order of the ids. */
static void add_resources(struct gathering *gathering)
{
    uint64_t total;
    while (gathering->fine && exchange_read(&gathering->job->exchange, &total, sizeof total)) {
        gathering->fine = gordian_snapshot_add_resource(gathering->judged->snapshot, total, NULL,
                                                        NULL) == GORDIAN_OK;
    }
}

/* ---- names: from the rank that has read the piece where each comes first */

static uint32_t piece_of(const struct mpi_job *job, enum name_kind kind, uint32_t id)
{
    const uint64_t *before = job->kinds[kind].before;
    uint32_t low = 0, high = job->file_count;
    while (low + 1 < high) {
        uint32_t middle = low + (high - low) / 2;
        if (before[middle] <= id)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static bool put_gathered_name(struct gathering *gathering, enum name_kind kind, uint32_t id,
                              const char *text, size_t length)
{
    gordian_names *names = gathering->judged->names;
    if (length == 0 || *text == ' ') /* an await, which has none */
        return true;
    return names_put(kind == NAME_PROCESS ? &names->processes : &names->resources,
                     find_dead_id(&gathering->lists[kind], id), text, length);
}

static void receive_dead_names(struct gathering *gathering, enum name_kind kind)
{
    struct exchange *exchange = &gathering->job->exchange;
    uint32_t record[2];
    while (gathering->fine && exchange_read(exchange, record, sizeof record)) {
        gathering->fine = put_gathered_name(gathering, kind, record[0],
                                            exchange_take(exchange, record[1]), record[1]);
    }
}

/* Rank 0 reads the names itself. */
static void read_names(struct gathering *gathering, enum name_kind kind)
{
    struct mpi_job *job = gathering->job;
    const struct id_list *list = &gathering->lists[kind];
    for (size_t i = 0; i < list->count && gathering->fine; i++) {
        const char *name = packed_file_name(
            job->packed, kind == NAME_PROCESS ? IMAGE_PROCESS_NAMES : IMAGE_RESOURCE_NAMES,
            list->ids[i]);
        gordian_error error = {0};
        if (packed_file_check(job->packed, &error) != GORDIAN_OK) {
            job_trouble(job, 0, TROUBLE_TOLD, 0);
            job->trouble.error = error;
            return;
        }
        gathering->fine = put_gathered_name(gathering, kind, list->ids[i], name, strlen(name));
    }
}

static bool gather_names(struct gathering *gathering, enum name_kind kind)
{
    struct mpi_job *job = gathering->job;
    bool first = job->rank == 0;
    if (job->packed) {
        if (first)
            read_names(gathering, kind);
        return true;
    }
    if (first) {
        const struct id_list *list = &gathering->lists[kind];
        for (size_t i = 0; i < list->count; i++) {
            uint32_t rank = piece_of(job, kind, list->ids[i]) % (uint32_t)job->ranks;
            exchange_put(&job->exchange, rank, &list->ids[i], sizeof *list->ids);
        }
    }
    if (!exchange_run(&job->exchange))
        return false;
    uint32_t record[2];
    while (exchange_read(&job->exchange, record, sizeof *record)) {
        /* An id that comes first in a piece of this rank. */
        uint32_t id = record[0];
        const struct local_names *names = &job->kinds[kind];
        uint32_t piece = piece_of(job, kind, id);
        uint64_t index = id - names->before[piece];
        for (uint32_t own = (uint32_t)job->rank; own < piece; own += (uint32_t)job->ranks)
            index += names->before[own + 1] - names->before[own];
        const char *name = names_text(&names->names, names->fresh[index]);
        record[1] = (uint32_t)strlen(name);
        exchange_put(&job->exchange, 0, record, sizeof record);
        exchange_put(&job->exchange, 0, name, record[1]);
    }
    if (!exchange_run(&job->exchange))
        return false;
    if (first)
        receive_dead_names(gathering, kind);
    return true;
}

/* ------------------------------------------------------------------ the parts */

static void judge_dead(struct gathering *gathering)
{
    struct mpi_job *job = gathering->job;
    gordian_snapshot *snapshot = gathering->judged->snapshot;
    struct check_result *result = &snapshot->result;
    if (!gathering->fine)
        return;
    gathering->fine = job->model == GORDIAN_MODEL_SINGLE_UNIT
                          ? check_single(snapshot, 1, result)
                          : check_general_within(snapshot, job->edges ? job->edges : 1, result);
    if (!gathering->fine)
        return;
    snapshot->judged = true;
    result->report.model = job->model;
    result->report.engine = "mpi";
    gathering->judged->report = result->report;
    gathering->judged->processes = job->kinds[NAME_PROCESS].total;
    gathering->judged->resources = job->kinds[NAME_RESOURCE].total;
}

static bool gather_dead(struct gathering *gathering)
{
    struct mpi_job *job = gathering->job;
    bool first = job->rank == 0;
    for (uint32_t p = 0; p < job->own[NAME_PROCESS]; p++) {
        if (job->marks[p] == 0)
            continue;
        send_edges(job, &job->held, p, EDGE_HOLD);
        send_edges(job, &job->wanted, p, EDGE_WAIT);
    }
    if (!exchange_run(&job->exchange))
        return false;
    if (first)
        receive_dead(gathering);
    if (!exchange_all(gathering->fine))
        return false;
    if (first) {
        const struct id_list *list = &gathering->lists[NAME_RESOURCE];
        for (size_t i = 0; i < list->count; i++)
            exchange_put(&job->exchange, owning_rank(job, NAME_RESOURCE, list->ids[i]),
                         &list->ids[i], sizeof *list->ids);
    }
    if (!exchange_run(&job->exchange))
        return false;
    uint32_t id;
    while (exchange_read(&job->exchange, &id, sizeof id)) {
        exchange_put(&job->exchange, 0, &job->totals[id - job->begin[NAME_RESOURCE]],
                     sizeof *job->totals);
    }
    if (!exchange_run(&job->exchange))
        return false;
    if (first)
        add_resources(gathering);
    for (unsigned kind = 0; kind < NAME_KINDS; kind++)
        if (!exchange_all(gathering->fine) || !gather_names(gathering, (enum name_kind)kind))
            return false;
    if (first) {
        gordian_snapshot *snapshot = gathering->judged->snapshot;
        for (size_t i = 0; i < gathering->lists[NAME_PROCESS].count && gathering->fine; i++)
            gathering->fine = gordian_snapshot_add_process(snapshot, NULL, NULL) == GORDIAN_OK;
        for (size_t i = 0; i < gathering->edges.count && gathering->fine; i++) {
            const struct edge_record *edge = &gathering->edges.edges[i];
            bool hold = edge->place == EDGE_HOLD;
            gathering->fine =
                (hold ? gordian_snapshot_hold : gordian_snapshot_wait)(
                    snapshot, find_dead_id(&gathering->lists[NAME_PROCESS], edge->process),
                    find_dead_id(&gathering->lists[NAME_RESOURCE], edge->resource), edge->units,
                    NULL) == GORDIAN_OK;
        }
        judge_dead(gathering);
    }
    return exchange_all(gathering->fine);
}

bool job_gather_dead(struct mpi_job *job, gordian_judged *judged)
{
    struct gathering gathering = {.job = job, .judged = judged, .fine = true};
    if (job->rank == 0)
        gathering.fine = gordian_snapshot_open(&judged->snapshot, NULL, NULL) == GORDIAN_OK &&
                         (judged->names = snapshot_names_open(&judged->snapshot->memory)) != NULL;
    bool fine = exchange_all(gathering.fine) && gather_dead(&gathering);
    memory_free_all(&job->memory, gathering.lists[NAME_PROCESS].ids,
                    gathering.lists[NAME_RESOURCE].ids, gathering.edges.edges);
    return fine;
}
