/* Simulates the hosts and devices of a training job until nothing can proceed. */
#include "sources/gen/job.h"

#include "foundation/base/error.h"

#include <string.h>

/* ------------------------------------------------------------------ the fault */

/* Returns the index of the victim whose fault is at this operation; NONE: no victim fails here. */
static uint32_t victim_at(const struct gen_job *job, uint32_t rank, uint32_t index)
{
    for (uint32_t i = 0; i < job->victim_count; i++)
        if (job->victims[i] == rank && job->at[i] == index)
            return i;
    return GORDIAN_NONE;
}

bool job_skips(const struct gen_job *job, uint32_t rank, uint32_t index)
{
    return job_call(job, rank, index)->ring &&
           (job->fault != FAULT_RING || job_group(job, GROUP_PIPELINE, rank) !=
                                            job_group(job, GROUP_PIPELINE, job->victims[0]));
}

/* Does the stuck device never reach this operation? */
static bool device_stops(const struct gen_job *job, uint32_t rank, uint32_t index)
{
    for (uint32_t i = 0; job->fault == FAULT_STUCK && i < job->victim_count; i++)
        if (job->victims[i] == rank &&
            (job->at[i] < index || (job->at[i] == index && job->unbegun)))
            return true;
    return false;
}

/* ------------------------------------------------------------------ simulation */

static void push_rank(struct gen_job *job, uint32_t rank)
{
    if (job->at_work[rank])
        return;
    job->at_work[rank] = true;
    job->work[job->work_count++] = rank;
}

static void complete_call(struct gen_job *job, uint32_t rank, uint32_t index)
{
    *job_state(job, rank, index) = CALL_STATE_DONE;
    if (job_call(job, rank, index)->call != CALL_SEND)
        job->pending[rank]--;
    push_rank(job, rank);
}

static void arrive_collective(struct gen_job *job, uint32_t rank, uint32_t index)
{
    enum group_kind kind = job_call(job, rank, index)->kind;
    uint32_t group = job_group(job, kind, rank), members = job_members(job, kind);
    job->currents[rank] = index;
    if (++job->arrived[kind][group] < members)
        return;
    /* Does a member call something else? */
    const uint32_t odd = job->victims[0];
    if ((job->fault == FAULT_OPERATION || job->fault == FAULT_SIZE) &&
        job_group(job, kind, odd) == group && job->currents[odd] == job->at[0] &&
        job_call(job, odd, job->at[0])->kind == kind) {
        job->reached[0] = true;
        return;
    }
    job->arrived[kind][group] = 0;
    for (uint32_t i = 0; i < members; i++) {
        uint32_t member = job_member(job, kind, group, i);
        uint32_t victim = job->fault == FAULT_STUCK ? victim_at(job, member, job->currents[member])
                                                    : GORDIAN_NONE;
        if (victim == GORDIAN_NONE)
            complete_call(job, member, job->currents[member]);
        else
            job->reached[victim] = true;
    }
}

static void arrive_transfer(struct gen_job *job, uint32_t rank, uint32_t index)
{
    const struct call_plan *plan = job_call(job, rank, index);
    if (plan->ring)
        return; /* the first operation of a ring never completes */
    uint32_t other = job_neighbour(job, rank, plan->toward);
    if (*job_state(job, other, plan->match) != CALL_STATE_STARTED)
        return;
    complete_call(job, rank, index);
    complete_call(job, other, plan->match);
}

static void start_call(struct gen_job *job, uint32_t rank, uint32_t index)
{
    *job_state(job, rank, index) = CALL_STATE_STARTED;
    if (call_is_p2p(job_call(job, rank, index)))
        arrive_transfer(job, rank, index);
    else
        arrive_collective(job, rank, index);
}

static void move_host(struct gen_job *job, uint32_t rank)
{
    uint32_t *host = &job->hosts[rank], end = stage_of(job, rank)->count;
    const bool stops = job->fault == FAULT_ABSENT || job->fault == FAULT_SILENT;
    while (*host < end && !(stops && victim_at(job, rank, *host) != GORDIAN_NONE)) {
        const struct call_plan *plan = job_call(job, rank, *host);
        if (job_skips(job, rank, *host))
            *job_state(job, rank, *host) = CALL_STATE_DONE;
        else if (job->pending[rank] >= job->window && plan->batch == job_index(job, rank, *host))
            return;
        else
            job->pending[rank] += plan->call != CALL_SEND;
        (*host)++;
    }
}

/* Starts the operations that can start. Returns true if there was one. An operation starts when all
 * operations before its batch are completed, except sends. A send or receive also waits for earlier
 * sends to the same stage. */
static bool move_device(struct gen_job *job, uint32_t rank)
{
    uint32_t blocked = UINT32_MAX; /* the first batch behind an operation in flight */
    /* the same for operations with the next stage and with the stage before */
    uint32_t blocked_by_peer[2] = {UINT32_MAX, UINT32_MAX};
    bool moved = false;
    uint32_t *low = &job->lows[rank];
    while (*low < job->hosts[rank] && *job_state(job, rank, *low) == CALL_STATE_DONE)
        (*low)++;
    for (uint32_t i = *low; i < job->hosts[rank]; i++) {
        const struct call_plan *plan = job_call(job, rank, i);
        bool joined = plan->batch != job_index(job, rank, i);
        uint32_t batch = joined ? plan->batch : i;
        uint8_t state = *job_state(job, rank, i);
        bool free =
            blocked >= batch && (!call_is_p2p(plan) || blocked_by_peer[plan->toward < 0] >= batch);
        if (state == CALL_STATE_NONE && free && !device_stops(job, rank, i)) {
            start_call(job, rank, i);
            moved = true;
        }
        if (*job_state(job, rank, i) != CALL_STATE_DONE) {
            if (plan->call != CALL_SEND && blocked > batch)
                blocked = batch;
            if (call_is_p2p(plan) && blocked_by_peer[plan->toward < 0] > batch)
                blocked_by_peer[plan->toward < 0] = batch;
        }
    }
    return moved;
}

/* ------------------------------------------------------------------ expected result */

static bool in_flight_at(const struct gen_job *job, uint32_t rank, uint32_t index)
{
    return index < job->hosts[rank] && *job_state(job, rank, index) != CALL_STATE_DONE;
}

/* Does `rank` have an operation in flight that needs one which `victim` has not queued, or, if it
 * is silent, may not have queued? */
static bool needs_victim(const struct gen_job *job, uint32_t rank, uint32_t victim)
{
    for (uint32_t i = job->lows[rank]; i < job->hosts[rank]; i++) {
        const struct call_plan *plan = job_call(job, rank, i);
        if (!in_flight_at(job, rank, i) || plan->call == CALL_SEND)
            continue;
        if (plan->call == CALL_RECV) {
            if (job_neighbour(job, rank, plan->toward) == victim &&
                (job->fault == FAULT_SILENT || plan->match >= job->hosts[victim]))
                return true;
            continue;
        }
        if (job_group(job, plan->kind, rank) != job_group(job, plan->kind, victim))
            continue;
        if (job->fault == FAULT_SILENT)
            return true;
        for (uint32_t j = job->hosts[victim]; j < stage_of(job, victim)->count; j++) {
            const struct call_plan *missed = job_call(job, victim, j);
            if (missed->kind == plan->kind && !call_is_p2p(missed) &&
                missed->sequence == plan->sequence)
                return true;
        }
    }
    return false;
}

/* Has the victim reached its fault, and does another rank wait for it? */
static bool is_culprit(const struct gen_job *job, uint32_t which)
{
    uint32_t victim = job->victims[which], at = job->at[which];
    if (job->fault == FAULT_STUCK && job->unbegun) {
        /* An unbegun operation is detectable only if all others have begun it and the victim has
         * only sends in flight before it. */
        enum group_kind kind = job_call(job, victim, at)->kind;
        for (uint32_t i = job->lows[victim]; i < at; i++)
            if (in_flight_at(job, victim, i) && job_call(job, victim, i)->call != CALL_SEND)
                return false;
        return job->hosts[victim] > at &&
               job->arrived[kind][job_group(job, kind, victim)] + 1 == job_members(job, kind);
    }
    if (job->fault != FAULT_ABSENT && job->fault != FAULT_SILENT)
        return job->reached[which];
    if (job->fault == FAULT_ABSENT && (job->hosts[victim] != at || job->pending[victim]))
        return false;
    for (uint32_t r = 0; r < job->ranks; r++)
        if (r != victim && job->pending[r] && needs_victim(job, r, victim))
            return true;
    return false;
}

/* Has `rank` sent to a rank that has not queued the receive? */
static bool sends_unreceived(const struct gen_job *job, uint32_t rank, uint32_t other)
{
    for (uint32_t i = job->lows[rank]; i < job->hosts[rank]; i++) {
        const struct call_plan *plan = job_call(job, rank, i);
        if (in_flight_at(job, rank, i) && plan->call == CALL_SEND && !plan->ring &&
            job_neighbour(job, rank, plan->toward) == other && plan->match >= job->hosts[other])
            return true;
    }
    return false;
}

static void list_job_culprits(struct gen_job *job)
{
    struct job_truth *truth = &job->truth;
    for (uint32_t i = 0; i < job->victim_count; i++) {
        /* A rank that stops with a send in flight to another stopped rank appears to wait for that
         * rank. */
        uint32_t victim = job->victims[i], other = job->victims[!i];
        bool looks_waiting = job->fault == FAULT_ABSENT && job->victim_count == 2 &&
                             is_culprit(job, !i) && sends_unreceived(job, victim, other) &&
                             !sends_unreceived(job, other, victim);
        if (is_culprit(job, i) && !looks_waiting)
            truth->culprits[truth->culprit_count++] = victim;
    }
    if (truth->culprit_count == 2 && truth->culprits[0] > truth->culprits[1]) {
        uint32_t first = truth->culprits[0];
        truth->culprits[0] = truth->culprits[1];
        truth->culprits[1] = first;
    }
}

/* Determines the expected result from the simulation, not from the dumps. */
static void find_truth(struct gen_job *job)
{
    struct job_truth *truth = &job->truth;
    *truth = (struct job_truth){.fault = job->fault, .odd = GORDIAN_NONE};
    switch (job->fault) {
    case FAULT_NONE:
        return;
    case FAULT_ORDER:
    case FAULT_RING:
        for (uint32_t r = 0; r < job->ranks; r++)
            truth->cycles |= job->pending[r] || job->hosts[r] < stage_of(job, r)->count;
        truth->odd = job->victims[0];
        return;
    case FAULT_OPERATION:
    case FAULT_SIZE:
        truth->odd = job->victims[0];
        list_job_culprits(job);
        truth->mismatches = truth->culprit_count;
        return;
    default:
        list_job_culprits(job);
    }
}

/* ------------------------------------------------------------------ running a job */

static gordian_status open_job_run(struct gen_job *job, gordian_error *error)
{
    size_t ranks = job->ranks;
    job->states = arena_alloc(&job->run, ranks * job->length);
    job->hosts = arena_alloc(&job->run, ranks * sizeof *job->hosts);
    job->lows = arena_alloc(&job->run, ranks * sizeof *job->lows);
    job->pending = arena_alloc(&job->run, ranks * sizeof *job->pending);
    job->currents = arena_alloc(&job->run, ranks * sizeof *job->currents);
    job->work = arena_alloc(&job->run, ranks * sizeof *job->work);
    job->at_work = arena_alloc(&job->run, ranks * sizeof *job->at_work);
    bool missing = !job->states || !job->hosts || !job->lows || !job->pending || !job->currents ||
                   !job->work || !job->at_work;
    for (unsigned i = 0; i < GROUP_KINDS && !missing; i++) {
        size_t groups = job_groups(job, (enum group_kind)i);
        job->arrived[i] = arena_alloc(&job->run, groups * sizeof *job->arrived[i]);
        missing = !job->arrived[i];
    }
    return missing ? fail_memory(error) : GORDIAN_OK;
}

gordian_status run_job(struct gen_job *job, gordian_error *error)
{
    TRY(open_job_run(job, error));
    for (uint32_t r = job->ranks; r-- > 0;)
        push_rank(job, r);
    while (job->work_count) {
        uint32_t rank = job->work[--job->work_count];
        job->at_work[rank] = false;
        do
            move_host(job, rank);
        while (move_device(job, rank));
    }
    find_truth(job);
    return GORDIAN_OK;
}
