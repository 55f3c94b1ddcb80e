/* Finds the ranks at fault: stuck devices, collective mismatches, silent and absent ranks. */
#include "sources/collectives/training.h"

#include "foundation/base/error.h"

const char *blame_text(enum blame blame)
{
    static const char *const texts[] = {"nothing", "absent", "silent", "stuck", "mismatch"};
    return texts[blame];
}

static bool name_has(const struct training *job, uint32_t name, const char *part)
{
    return strstr(training_name(job, name), part) != NULL;
}

/* Returns how many ranks are in this operation and in none before it. */
static uint32_t in_front(const struct rendezvous *rendezvous)
{
    return rendezvous->count - (rendezvous->late_count - rendezvous->missing_count);
}

/* Compares two operations that prove the same fault of a rank. For a stuck rank, the operation that
 * the rank queued first is better evidence; otherwise the operation in which more ranks wait. */
static bool is_better_evidence(const struct training *job, uint32_t rank, uint32_t rendezvous,
                               uint32_t other)
{
    const struct rendezvous *a = &job->rendezvous_list[rendezvous],
                            *b = &job->rendezvous_list[other];
    if (job->ranks[rank].blame != BLAME_STUCK)
        return in_front(a) > in_front(b);
    uint64_t records[2] = {UINT64_MAX, UINT64_MAX};
    for (int i = 0; i < 2; i++) {
        const struct rendezvous *both = i ? b : a;
        for (uint32_t j = 0; j < both->count; j++)
            if (job->flights[both->first + j].rank == rank)
                records[i] = flight_operation(job, &job->flights[both->first + j])->record;
    }
    return records[0] < records[1];
}

void accuse_rank(struct training *job, uint32_t rank, enum blame blame, uint32_t rendezvous)
{
    struct rank *accused = &job->ranks[rank];
    if (accused->blame == BLAME_NONE) {
        accused->blame = (uint8_t)blame;
        accused->rendezvous = rendezvous;
    } else if (accused->blame == (uint8_t)blame &&
               is_better_evidence(job, rank, rendezvous, accused->rendezvous)) {
        accused->rendezvous = rendezvous;
    }
}

/* ------------------------------------------------------------------ stuck devices */

/* A device is stuck in an operation that a peer has completed, even if its host has queued more
 * since. */
static void accuse_incomplete(struct training *job, uint32_t index)
{
    const struct rendezvous *rendezvous = &job->rendezvous_list[index];
    const struct flight *flights = job->flights + rendezvous->first;
    if (rendezvous->completed == 0)
        return;
    /* Can no rank complete the operation before all ranks have begun it? This holds for every
     * collective without a root. */
    uint32_t name = flight_operation(job, flights)->name;
    bool symmetric = name_has(job, name, "all") || name_has(job, name, "reduce_scatter") ||
                     name_has(job, name, "barrier");
    if (!symmetric && (rendezvous->count > 1 || rendezvous->missing_count > 0))
        return;
    for (uint32_t i = 0; i < rendezvous->count; i++)
        if (!flight_operation(job, &flights[i])->unsure)
            accuse_rank(job, flights[i].rank, BLAME_STUCK, index);
}

/* A device is stuck before an operation that all ranks have queued and other devices have begun, if
 * it has nothing else to do first. This requires recorders that note when operations start. */
static void accuse_unbegun(struct training *job, uint32_t index)
{
    const struct rendezvous *rendezvous = &job->rendezvous_list[index];
    const struct flight *flights = job->flights + rendezvous->first;
    uint32_t started = 0;
    if (rendezvous->completed || rendezvous->missing_count || rendezvous->count < 2)
        return;
    for (uint32_t i = 0; i < rendezvous->count; i++)
        started += flight_operation(job, &flights[i])->state == STATE_STARTED;
    for (uint32_t i = 0; started && i < rendezvous->count; i++) {
        const struct operation *operation = flight_operation(job, &flights[i]);
        const struct rank *rank = &job->ranks[flights[i].rank];
        if (operation->state == STATE_SCHEDULED && !operation->unsure && !rank->untimed &&
            rank->oldest == operation->order)
            accuse_rank(job, flights[i].rank, BLAME_STUCK, index);
    }
}

/* ------------------------------------------------------------------ collective mismatch */

/* Is it one of these kinds of collectives, in which all members must agree on the size? "=reduce"
 * must be the whole name; the others match a part of it. */
static bool agrees(const struct training *job, uint32_t name, const char *const *kinds)
{
    for (; *kinds; kinds++)
        if (**kinds == '=' ? strcmp(training_name(job, name), *kinds + 1) == 0
                           : name_has(job, name, *kinds))
            return true;
    return false;
}

static bool sizes_match(const struct training *job, const struct operation *a,
                        const struct operation *b)
{
    static const char *const inputs[] = {
        "all_reduce", "allreduce", "reduce_scatter", "=reduce", "=_reduce_oop", "broadcast", NULL};
    static const char *const outputs[] = {"all_reduce", "allreduce", "all_gather", "allgather",
                                          NULL};
    uint64_t input = agrees(job, a->name, inputs) ? a->input : 0;
    uint64_t other_input = agrees(job, b->name, inputs) ? b->input : 0;
    uint64_t output = agrees(job, a->name, outputs) ? a->output : 0;
    uint64_t other_output = agrees(job, b->name, outputs) ? b->output : 0;
    return input == other_input && output == other_output;
}

static bool types_match(const struct operation *a, const struct operation *b)
{
    return a->type == b->type || !a->type || !b->type;
}

static bool operations_match(const struct training *job, const struct operation *a,
                             const struct operation *b)
{
    if (a->partial || b->partial)
        return true;
    return a->name == b->name && types_match(a, b) && sizes_match(job, a, b);
}

/* Returns the operation that most members agree on, if there is one. *votes: the number of these
 * members. */
static const struct operation *find_majority(const struct training *job,
                                             const struct rendezvous *rendezvous, uint32_t *votes)
{
    const struct flight *flights = job->flights + rendezvous->first;
    const struct operation *leader = flight_operation(job, flights);
    uint32_t lead = 1;
    for (uint32_t i = 1; i < rendezvous->count; i++) {
        const struct operation *operation = flight_operation(job, &flights[i]);
        if (operations_match(job, leader, operation)) {
            lead++;
        } else if (lead > 0) {
            lead--;
        } else {
            leader = operation;
            lead = 1;
        }
    }
    *votes = 0;
    for (uint32_t i = 0; i < rendezvous->count; i++)
        *votes += operations_match(job, leader, flight_operation(job, &flights[i]));
    return leader;
}

static void mark_odd(struct training *job, uint32_t index, const struct operation *leader,
                     struct mismatch *mismatch)
{
    struct rendezvous *rendezvous = &job->rendezvous_list[index];
    for (uint32_t i = 0; i < rendezvous->count; i++) {
        struct flight *flight = &job->flights[rendezvous->first + i];
        const struct operation *operation = flight_operation(job, flight);
        flight->odd = !operations_match(job, leader, operation);
        rendezvous->odd_count += flight->odd;
        mismatch->name |= flight->odd && operation->name != leader->name;
        mismatch->type |= flight->odd && !types_match(operation, leader);
        mismatch->size |=
            flight->odd && operation->name == leader->name && !sizes_match(job, operation, leader);
        if (flight->odd && !mismatch->tie)
            accuse_rank(job, flight->rank, BLAME_MISMATCH, index);
        job->ranks[flight->rank].disputed |= mismatch->tie;
    }
}

/* Finds the first mismatch of each group. Later collectives of the group are out of step because of
 * it. */
static gordian_status find_mismatches(struct training *job, gordian_error *error)
{
    uint32_t done = GORDIAN_NONE; /* a group that already has a mismatch */
    for (uint32_t i = 0; i < job->rendezvous_count; i++) {
        struct rendezvous *rendezvous = &job->rendezvous_list[i];
        uint32_t votes;
        if (rendezvous->group == done || rendezvous->count < 2)
            continue;
        const struct operation *leader = find_majority(job, rendezvous, &votes);
        if (votes == rendezvous->count)
            continue;
        if (!memory_extend(&job->memory, job->mismatches, job->mismatch_capacity,
                           job->mismatch_count))
            return fail_memory(error);
        struct mismatch *mismatch = &job->mismatches[job->mismatch_count++];
        *mismatch = (struct mismatch){.rendezvous = i, .tie = 2 * votes <= rendezvous->count};
        mark_odd(job, i, leader, mismatch);
        rendezvous->stalled = false;
        done = rendezvous->group;
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ absent and silent ranks */

/* Accuses ranks that are missing in this operation and wait in none themselves. sends.c judges
 * senders later. */
static void accuse_missing(struct training *job, uint32_t index)
{
    const struct rendezvous *rendezvous = &job->rendezvous_list[index];
    if (rendezvous_is_unsure(job, rendezvous))
        return;
    for (uint32_t i = 0; i < rendezvous->missing_count; i++) {
        uint32_t rank = job->late[rendezvous->late_first + i];
        const struct rank *missing = &job->ranks[rank];
        if (!missing->heard)
            accuse_rank(job, rank, BLAME_SILENT, index);
        else if (!missing->engaged && !missing->sender && !missing->unjudged && !missing->undecided)
            accuse_rank(job, rank, BLAME_ABSENT, index);
    }
}

gordian_status training_accuse(struct training *job, gordian_error *error)
{
    for (uint32_t i = 0; i < job->rendezvous_count; i++) {
        const struct rendezvous *rendezvous = &job->rendezvous_list[i];
        /* A send that its receiver has not reached does not count here: see sends.c. */
        for (uint32_t j = 0; !rendezvous->unreceived && j < rendezvous->count; j++)
            job->ranks[job->flights[rendezvous->first + j].rank].engaged = true;
        for (uint32_t j = 0; !rendezvous->unreceived && j < rendezvous->missing_count; j++)
            job->ranks[job->late[rendezvous->late_first + j]].wanted = true;
        if (rendezvous->peer == GORDIAN_NONE)
            accuse_incomplete(job, i);
    }
    TRY(find_mismatches(job, error));
    for (uint32_t i = 0; i < job->rendezvous_count; i++)
        if (job->rendezvous_list[i].peer == GORDIAN_NONE && job->rendezvous_list[i].odd_count == 0)
            accuse_unbegun(job, i);
    bool senders = find_senders(job);
    for (uint32_t i = 0; i < job->rendezvous_count; i++)
        accuse_missing(job, i);
    return senders ? training_settle_senders(job, error) : GORDIAN_OK;
}
