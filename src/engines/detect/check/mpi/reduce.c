/*
 * Finds the processes that can finish, in rounds. In a round each rank goes as far as possible with
 * what it owns, and sends the effects on other ranks' processes and resources.
 *
 * A long chain may lead to another rank at every step and would take a round each. So, where every
 * process leads to one other (single-unit), the processes left after some rounds use pointer
 * doubling: each asks for the successor of its successor, so its known path doubles with every
 * round, until it ends at a process that has finished, or is longer than there are processes.
 */
#include "engines/detect/check/mpi/job.h"

#define ROUNDS 32 /* from then on use pointer doubling, if possible */

/* Sent to the owner of a resource: this many more units are free. Sent to the owner of a process,
 * with `units` 0: one more wish of the process is met. */
struct effect {
    uint64_t units;
    uint32_t id, unused;
};

static void meet_rank_wish(struct mpi_job *job, uint32_t process)
{
    uint32_t owner = owning_rank(job, NAME_PROCESS, process);
    if (owner != (uint32_t)job->rank) {
        struct effect effect = {.id = process};
        exchange_put(&job->exchange, owner, &effect, sizeof effect);
        return;
    }
    uint32_t own = process - job->begin[NAME_PROCESS];
    if (--job->marks[own] == 0)
        job->ready[job->ready_count++] = own;
}

/* `q` is an own one. */
static void meet_wishes(struct mpi_job *job, uint32_t q)
{
    const struct owned_edges *wishes = &job->wishes;
    while (job->met[q] < wishes->starts[q + 1] &&
           wishes->edges[job->met[q]].units <= job->available[q])
        meet_rank_wish(job, wishes->edges[job->met[q]++].process);
}

static void return_units_of(struct mpi_job *job, const struct edge_record *hold)
{
    uint32_t owner = owning_rank(job, NAME_RESOURCE, hold->resource);
    if (owner != (uint32_t)job->rank) {
        struct effect effect = {hold->units, hold->resource, 0};
        exchange_put(&job->exchange, owner, &effect, sizeof effect);
        return;
    }
    uint32_t q = hold->resource - job->begin[NAME_RESOURCE];
    job->available[q] += hold->units;
    meet_wishes(job, q);
}

static void finish_ready_processes(struct mpi_job *job)
{
    while (job->ready_count > 0) {
        uint32_t p = job->ready[--job->ready_count];
        for (size_t i = job->held.starts[p]; i < job->held.starts[p + 1]; i++)
            return_units_of(job, &job->held.edges[i]);
    }
}

/* ------------------------------------------------------------------ doubling */

/* As a question, sent to the owner of `about`: where does `about` lead? The answer is sent to the
 * owner of `who`. */
struct question {
    uint32_t about, who;
};

/* Sends all questions of this rank and answers the questions that it receives. The answer for a
 * resource is its holder. The answer for a process is the process that it leads to, or NONE if it
 * can finish. */
static bool ask_all(struct mpi_job *job, uint32_t *leads, enum name_kind kind)
{
    struct exchange *exchange = &job->exchange;
    for (uint32_t p = 0; p < job->own[NAME_PROCESS]; p++) {
        struct question own = {leads[p], p + job->begin[NAME_PROCESS]};
        if (job->marks[p] > 0)
            exchange_put(exchange, owning_rank(job, kind, leads[p]), &own, sizeof own);
    }
    if (!exchange_run(exchange))
        return false;
    struct question question;
    while (exchange_read(exchange, &question, sizeof question)) {
        uint32_t about = question.about - job->begin[kind];
        if (kind == NAME_RESOURCE)
            question.about = job->holder[about];
        else
            question.about = job->marks[about] == 0 ? NONE : leads[about];
        exchange_put(exchange, owning_rank(job, NAME_PROCESS, question.who), &question,
                     sizeof question);
    }
    if (!exchange_run(exchange))
        return false;
    while (exchange_read(exchange, &question, sizeof question)) {
        uint32_t p = question.who - job->begin[NAME_PROCESS];
        leads[p] = question.about;
        if (question.about == NONE)
            job->marks[p] = 0;
    }
    return true;
}

static bool double_paths(struct mpi_job *job)
{
    uint32_t own = job->own[NAME_PROCESS];
    uint32_t *leads = memory_alloc(&job->memory, own * sizeof *leads);
    uint64_t left = 0;
    bool fine = exchange_all(leads != NULL);
    for (uint32_t p = 0; p < own && fine; p++) {
        left += job->marks[p] > 0;
        if (job->marks[p] > 0)
            leads[p] = job->wanted.edges[job->wanted.starts[p]].resource;
    }
    if (fine)
        left = exchange_sum(left);
    fine = fine && ask_all(job, leads, NAME_RESOURCE);
    for (uint64_t length = 1; fine && length <= 2 * left; length *= 2)
        fine = ask_all(job, leads, NAME_PROCESS);
    memory_free(&job->memory, leads);
    return fine;
}

/* ------------------------------------------------------------------ all */

bool job_reduce(struct mpi_job *job)
{
    size_t processes = job->own[NAME_PROCESS], resources = job->own[NAME_RESOURCE];
    job->marks = memory_alloc(&job->memory, processes * sizeof *job->marks);
    job->ready = memory_alloc(&job->memory, processes * sizeof *job->ready);
    job->met = memory_alloc(&job->memory, resources * sizeof *job->met);
    if (!exchange_all(job->marks && job->ready && job->met))
        return false;
    for (uint32_t p = 0; p < processes; p++) {
        job->marks[p] = (uint32_t)(job->wanted.starts[p + 1] - job->wanted.starts[p]);
        if (job->marks[p] == 0)
            job->ready[job->ready_count++] = p;
    }
    for (uint32_t q = 0; q < resources; q++)
        job->met[q] = job->wishes.starts[q];
    for (uint32_t q = 0; q < job->own[NAME_RESOURCE]; q++)
        meet_wishes(job, q);
    finish_ready_processes(job);
    for (unsigned round = 0;; round++) {
        uint64_t put = 0;
        for (int r = 0; r < job->ranks; r++)
            put += job->exchange.out[r].used || job->exchange.out[r].failed;
        if (exchange_sum(put) == 0)
            return true;
        if (round == ROUNDS && job->model == GORDIAN_MODEL_SINGLE_UNIT) {
            for (int r = 0; r < job->ranks; r++)
                job->exchange.out[r].used = 0; /* the ranks that these were for will ask */
            return double_paths(job);
        }
        if (!exchange_run(&job->exchange))
            return false;
        struct effect effect;
        while (exchange_read(&job->exchange, &effect, sizeof effect)) {
            if (effect.units == 0) {
                meet_rank_wish(job, effect.id);
            } else {
                uint32_t q = effect.id - job->begin[NAME_RESOURCE];
                job->available[q] += effect.units;
                meet_wishes(job, q);
            }
        }
        finish_ready_processes(job);
    }
}
