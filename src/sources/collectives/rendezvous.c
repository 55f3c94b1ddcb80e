/* Finds each rendezvous: the operations in flight, the members that are in each of them, and the
 * members that are late. */
#include "sources/collectives/training.h"

#include "foundation/base/error.h"
#include "foundation/base/sort.h"

#include <stdlib.h>

/* limit of late members over all operations: far above the number in real jobs, and below what
 * memory holds */
#define LATE_MOST (1u << 27)

/* ------------------------------------------------------------------ members of groups */

/* If no dump lists the ranks of a group, its members are the ranks that mention it. */
static gordian_status list_members(struct training *job, gordian_error *error)
{
    uint32_t *counts = memory_zeroed(&job->memory, (job->group_count + 1) * sizeof *counts);
    gordian_status status = counts ? GORDIAN_OK : fail_memory(error);
    for (uint32_t r = 0; status == GORDIAN_OK && r < job->rank_count; r++)
        for (uint32_t i = 0; i < job->ranks[r].membership_count; i++)
            counts[job->ranks[r].memberships[i].group]++;
    for (size_t g = 0; status == GORDIAN_OK && g < job->group_count; g++) {
        struct group *group = &job->groups[g];
        if (group->count || !counts[g]) {
            counts[g] = 0; /* this group has members already */
            continue;
        }
        uint32_t *members = memory_alloc(&job->memory, counts[g] * sizeof *members);
        if (!members) {
            status = fail_memory(error);
            break;
        }
        memory_free(&job->memory, group->members);
        group->members = members;
    }
    for (uint32_t r = 0; status == GORDIAN_OK && r < job->rank_count; r++) {
        for (uint32_t i = 0; i < job->ranks[r].membership_count; i++) {
            struct group *group = &job->groups[job->ranks[r].memberships[i].group];
            if (counts[group - job->groups])
                group->members[group->count++] = r;
        }
    }
    memory_free(&job->memory, counts);
    return status;
}

/* Marks every member of a group as a rank of the job. */
static gordian_status list_ranks(struct training *job, gordian_error *error)
{
    for (size_t g = 0; g < job->group_count; g++) {
        const struct group *group = &job->groups[g];
        for (uint32_t i = 0; i < group->count; i++) {
            if (!training_grow(job, (size_t)group->members[i] + 1))
                return fail_memory(error);
            job->ranks[group->members[i]].listed = true;
        }
    }
    return GORDIAN_OK;
}

/* Copies what one rank knows about a group to the group. */
static void learn_groups(struct training *job)
{
    for (size_t r = 0; r < job->rank_count; r++) {
        for (uint32_t i = 0; i < job->ranks[r].membership_count; i++) {
            const struct membership *membership = &job->ranks[r].memberships[i];
            job->groups[membership->group].uneven |= membership->uneven;
            job->coalesces |= membership->coalesces;
            job->ranks[r].undecided |= membership->lost;
        }
    }
}

/* Has the device completed everything it was given, including this operation? A number that both a
 * collective and a send may have is ambiguous, unless sends are coalesced. */
static bool is_idle_since(const struct training *job, const struct membership *membership,
                          const struct operation *operation)
{
    if (!membership->known || membership->enqueued < 0 ||
        membership->completed != membership->enqueued)
        return false;
    uint64_t last = (uint64_t)membership->enqueued;
    if (last == operation->sequence && last == operation->other)
        return operation->peer != GORDIAN_NONE && job->coalesces;
    return !came_before(last, operation);
}

/* Is the last operation that the device has completed this collective or a later one? Sends and
 * receives that are not coalesced complete in a separate order. */
static bool is_completed_since(const struct training *job, const struct membership *membership,
                               const struct operation *operation)
{
    if (!membership->known || membership->completed < 0)
        return false;
    uint64_t last = (uint64_t)membership->completed;
    return last >= operation->sequence && last > operation->other &&
           (job->coalesces || last > membership->top_p2p);
}

/* In a dump of active entries, a single entry may be all that is left of a coalesced group: the
 * closing entry was omitted because it is completed, or the recorder dropped other entries. This
 * shows in
 * - the status of the group;
 * - later collectives of the group that are completed, because collectives complete in order;
 * - for sends and receives, which need not complete in order: other coalesced ones in the job. */
static bool is_left_over(const struct training *job, const struct rank *rank,
                         const struct operation *operation)
{
    const struct membership *membership = rank_membership(rank, operation->group);
    if (operation->coalesced || !in_flight(operation))
        return false;
    if (is_idle_since(job, membership, operation))
        return true;
    if (operation->peer != GORDIAN_NONE)
        return operation->passed && job->coalesces;
    /* A later collective of the group that is not in the dump is completed, and so are all before
     * it. */
    const struct operation *end = rank->operations + membership->first + membership->collectives;
    bool overtaken = membership->top > operation->sequence &&
                     membership->top - operation->sequence > (uint64_t)(end - operation - 1);
    return overtaken || is_completed_since(job, membership, operation);
}

/* Is the operation certainly in flight? It is, if it is the last operation of its group and the
 * device is not done with it. It is also, if the status has not reached it: its launch is not
 * closed yet. */
static bool is_surely_in_flight(const struct rank *rank, const struct operation *operation)
{
    const struct membership *membership = rank_membership(rank, operation->group);
    if (!membership->known)
        return false;
    if (membership->enqueued < 0 || came_before((uint64_t)membership->enqueued, operation))
        return true;
    for (uint32_t i = membership->first; i < membership->first + membership->count; i++)
        if (rank->operations[i].record > operation->record)
            return false;
    return membership->completed != membership->enqueued;
}

static void retire_left_over(const struct training *job, struct rank *rank)
{
    rank->flights = 0;
    rank->oldest = UINT64_MAX;
    for (uint32_t i = 0; i < rank->operation_count; i++) {
        struct operation *operation = &rank->operations[i];
        if (is_left_over(job, rank, operation))
            operation->state = STATE_COMPLETED;
        if (!in_flight(operation))
            continue;
        operation->unsure = operation->lone && !is_surely_in_flight(rank, operation);
        operation->partial |= operation->unsure;
        rank->undecided |= operation->unsure;
        rank->flights++;
        if (!operation->sends && operation->order < rank->oldest)
            rank->oldest = operation->order;
    }
}

/* ------------------------------------------------------------------ operations in flight */

static int compare_flights(const void *left, const void *right, void *context)
{
    const struct training *job = context;
    const struct flight *a = left, *b = right;
    const struct operation *x = flight_operation(job, a), *y = flight_operation(job, b);
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    bool p = x->peer != GORDIAN_NONE, q = y->peer != GORDIAN_NONE;
    if (p != q)
        return p ? 1 : -1;
    if (!p && x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Lists all operations in flight by group: collectives by sequence number and rank, then sends and
 * receives by rank. Counts by group first and then sorts within each group. */
static gordian_status gather_flights(struct training *job, gordian_error *error)
{
    size_t *starts = memory_zeroed(&job->memory, (job->group_count + 2) * sizeof *starts);
    job->flight_count = 0;
    for (size_t r = 0; r < job->rank_count; r++)
        job->flight_count += job->ranks[r].flights;
    job->flights = memory_alloc(&job->memory, (job->flight_count + 1) * sizeof *job->flights);
    if (!starts || !job->flights) {
        memory_free(&job->memory, starts);
        return fail_memory(error);
    }
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t r = 0; r < job->rank_count; r++) {
            const struct rank *rank = &job->ranks[r];
            for (uint32_t i = 0; i < rank->operation_count; i++) {
                const struct operation *operation = &rank->operations[i];
                if (!in_flight(operation))
                    continue;
                if (pass == 0)
                    starts[operation->group + 2]++;
                else
                    job->flights[starts[operation->group + 1]++] =
                        (struct flight){.rank = r, .operation = i, .rendezvous = GORDIAN_NONE};
            }
        }
        for (size_t g = 0; pass == 0 && g < job->group_count; g++)
            starts[g + 2] += starts[g + 1];
    }
    for (size_t g = 0; g < job->group_count; g++)
        sort_with(job->flights + starts[g], starts[g + 1] - starts[g], sizeof *job->flights,
                  compare_flights, job);
    memory_free(&job->memory, starts);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ collectives */

/* Returns a rank's entry of a collective. NULL: the dump has none. */
static const struct operation *
find_collective(const struct rank *rank, const struct membership *membership, uint64_t sequence)
{
    size_t low = membership->first, high = membership->first + membership->collectives;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (rank->operations[middle].sequence < sequence)
            low = middle + 1;
        else
            high = middle;
    }
    return low < membership->first + membership->collectives &&
                   rank->operations[low].sequence == sequence
               ? &rank->operations[low]
               : NULL;
}

enum arrival {
    ARRIVAL_NONE,      /* has not queued it */
    ARRIVAL_FLIGHT,    /* has queued it */
    ARRIVAL_COMPLETED, /* has completed it */
};

/* Returns how far a member is with a collective of which it has no entry in flight. The recorder
 * drops the oldest entries, and a dump may omit completed ones. Then the status decides, unless it
 * also counts sends. A member that has queued a later collective has queued this one. */
static enum arrival find_arrival(const struct training *job, const struct rank *rank,
                                 uint32_t group, uint64_t sequence)
{
    const struct membership *membership = rank_membership(rank, group);
    if (!membership)
        return ARRIVAL_NONE;
    const struct operation *operation = find_collective(rank, membership, sequence);
    if (operation)
        return in_flight(operation) ? ARRIVAL_FLIGHT : ARRIVAL_COMPLETED;
    bool counted = membership->known && !job->groups[group].peers;
    if (counted && membership->completed >= 0 && (uint64_t)membership->completed >= sequence)
        return ARRIVAL_COMPLETED;
    if (membership->reached > sequence)
        return counted ? ARRIVAL_FLIGHT : ARRIVAL_COMPLETED;
    return counted && membership->enqueued >= 0 && (uint64_t)membership->enqueued >= sequence
               ? ARRIVAL_FLIGHT
               : ARRIVAL_NONE;
}

static gordian_status add_late(struct training *job, struct rendezvous *rendezvous, uint32_t rank,
                               gordian_error *error)
{
    if (job->late_count == LATE_MOST)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "too many operations in flight in groups that are too large");
    if (!memory_extend(&job->memory, job->late, job->late_capacity, job->late_count))
        return fail_memory(error);
    job->late[job->late_count++] = rank;
    rendezvous->late_count++;
    return GORDIAN_OK;
}

/* Finds the members that are not in the operation: they have completed it, or are missing. If
 * flights and members are both sorted, one pass finds them; otherwise the list is searched. */
static gordian_status find_missing(struct training *job, struct rendezvous *rendezvous,
                                   gordian_error *error)
{
    const struct group *group = &job->groups[rendezvous->group];
    const struct flight *flights = job->flights + rendezvous->first;
    uint32_t at = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        uint32_t member = group->members[i];
        if (at < rendezvous->count && flights[at].rank == member) {
            at++;
            continue;
        }
        enum arrival arrival =
            find_arrival(job, &job->ranks[member], rendezvous->group, rendezvous->sequence);
        if (arrival == ARRIVAL_COMPLETED)
            rendezvous->completed++;
        else if (arrival == ARRIVAL_NONE)
            TRY(add_late(job, rendezvous, member, error));
    }
    rendezvous->missing_count = rendezvous->late_count;
    return GORDIAN_OK;
}

static gordian_status add_rendezvous(struct training *job, size_t first, uint32_t count,
                                     gordian_error *error)
{
    const struct operation *operation = flight_operation(job, &job->flights[first]);
    if (!memory_extend(&job->memory, job->rendezvous_list, job->rendezvous_capacity,
                       job->rendezvous_count))
        return fail_memory(error);
    for (uint32_t i = 0; i < count; i++)
        job->flights[first + i].rendezvous = (uint32_t)job->rendezvous_count;
    job->rendezvous_list[job->rendezvous_count++] = (struct rendezvous){
        .group = operation->group,
        .peer = operation->peer,
        .sequence = operation->sequence,
        .first = first,
        .count = count,
        .late_first = job->late_count,
    };
    return GORDIAN_OK;
}

static gordian_status add_collective_rendezvous(struct training *job, size_t first, uint32_t count,
                                                gordian_error *error)
{
    TRY(add_rendezvous(job, first, count, error));
    struct rendezvous *rendezvous = &job->rendezvous_list[job->rendezvous_count - 1];
    TRY(find_missing(job, rendezvous, error));
    for (uint32_t i = 0; i < count; i++) { /* members that have an older operation in flight */
        const struct flight *flight = &job->flights[first + i];
        if (job->ranks[flight->rank].oldest < flight_operation(job, flight)->order)
            TRY(add_late(job, rendezvous, flight->rank, error));
    }
    rendezvous->stalled = rendezvous->late_count == 0 && rendezvous->completed == 0;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ sends and receives */

/* Finds a rank's operations with one peer in a group: *count of them, starting at *first. */
static void find_peer(const struct rank *rank, uint32_t group, uint32_t peer, uint32_t *first,
                      uint32_t *count)
{
    const struct membership *membership = rank_membership(rank, group);
    *first = *count = 0;
    if (!membership)
        return;
    uint32_t end = membership->first + membership->count,
             low = membership->first + membership->collectives, high = end;
    while (low < high) { /* peers are in descending order */
        uint32_t middle = (low + high) / 2;
        if (rank->operations[middle].peer > peer)
            low = middle + 1;
        else
            high = middle;
    }
    *first = low;
    while (low < end && rank->operations[low].peer == peer)
        low++;
    *count = low - *first;
}

/* Does the operation count when sends and receives are paired? All count if both sides are
 * complete; otherwise only those in flight. */
static bool is_counted(const struct operation *operation, bool whole)
{
    return whole || in_flight(operation);
}

/* Returns the index of the operation among those of its kind to its peer; 0 is the oldest. */
static uint32_t place_among(const struct rank *rank, uint32_t group, uint32_t index, bool whole)
{
    const struct operation *self = &rank->operations[index];
    uint32_t first, count, place = 0;
    find_peer(rank, group, self->peer, &first, &count);
    for (uint32_t i = first; i < index; i++)
        place +=
            is_counted(&rank->operations[i], whole) && rank->operations[i].sends == self->sends;
    return place;
}

static bool membership_is_whole(const struct rank *rank, uint32_t group)
{
    const struct membership *membership = rank_membership(rank, group);
    return membership && membership->whole;
}

/* Returns the matching operation of the peer. NULL: the peer has not queued it. Each rank counts
 * its own sends and receives, so the order between the two ranks pairs them, not the sequence
 * numbers. */
static const struct operation *find_partner(const struct training *job, uint32_t rank,
                                            uint32_t index)
{
    const struct operation *self = &job->ranks[rank].operations[index];
    if (self->peer >= job->rank_count)
        return NULL;
    const struct rank *other = &job->ranks[self->peer];
    bool whole = membership_is_whole(&job->ranks[rank], self->group) &&
                 membership_is_whole(other, self->group);
    uint32_t first, count, place = place_among(&job->ranks[rank], self->group, index, whole);
    find_peer(other, self->group, rank, &first, &count);
    for (uint32_t i = first; i < first + count; i++) {
        const struct operation *partner = &other->operations[i];
        if (is_counted(partner, whole) && partner->sends != self->sends && place-- == 0)
            return partner;
    }
    return NULL;
}

/* Is an operation of an earlier launch between the same two ranks in flight? `sends`: a send. */
static bool is_behind(const struct rank *rank, const struct operation *operation, bool sends)
{
    for (const struct operation *i = operation;
         i > rank->operations && i[-1].group == operation->group && i[-1].peer == operation->peer;
         i--)
        if (in_flight(&i[-1]) && i[-1].order != operation->order && (i[-1].sends || !sends))
            return true;
    return false;
}

/* Does the peer have to do something else first? A send is blocked only by a send in the opposite
 * direction that is queued before its receive. */
static bool partner_is_late(const struct training *job, const struct operation *self,
                            const struct operation *partner)
{
    const struct rank *other = &job->ranks[self->peer];
    if (!in_flight(partner))
        return false;
    return is_behind(other, partner, self->sends) ||
           (!self->sends && other->oldest < partner->order);
}

/* Does the rank have to do something else before this operation? A receive runs after the sends to
 * the same peer that were launched before it. */
static bool self_is_late(const struct training *job, const struct rank *rank,
                         const struct operation *self)
{
    if (rank->oldest < self->order)
        return true;
    for (const struct operation *i = self; !self->sends && i > rank->operations &&
                                           i[-1].group == self->group && i[-1].peer == self->peer;
         i--)
        if (in_flight(&i[-1]) && i[-1].order != self->order && i[-1].sends &&
            send_is_large(job, &i[-1]))
            return true;
    return false;
}

/* Does a receive in the same launch wait? This explains why the launch is in flight; the message
 * may have been received long ago. */
static bool launch_receives(const struct training *job, uint32_t index,
                            const struct operation *send)
{
    const struct rank *rank = &job->ranks[index];
    const struct membership *membership = rank_membership(rank, send->group);
    for (uint32_t i = membership->first + membership->collectives;
         i < membership->first + membership->count; i++) {
        const struct operation *operation = &rank->operations[i];
        if (operation->order != send->order || operation->sends)
            continue;
        const struct operation *partner = find_partner(job, index, i);
        if (!partner || partner_is_late(job, operation, partner))
            return true;
    }
    return false;
}

static gordian_status add_peer_rendezvous(struct training *job, size_t at, gordian_error *error)
{
    const struct flight *flight = &job->flights[at];
    const struct operation *self = flight_operation(job, flight);
    const struct operation *partner = find_partner(job, flight->rank, flight->operation);
    bool late = partner ? partner_is_late(job, self, partner) : !self->sends;
    /* Has the receiver certainly not reached the receive? */
    bool unreceived =
        self->sends && !late && !(self->coalesced && launch_receives(job, flight->rank, self)) &&
        (!partner || (in_flight(partner) && job->ranks[self->peer].oldest < partner->order));
    if (self->sends && !late && !unreceived)
        return GORDIAN_OK;
    TRY(add_rendezvous(job, at, 1, error));
    struct rendezvous *rendezvous = &job->rendezvous_list[job->rendezvous_count - 1];
    if (late || unreceived)
        TRY(add_late(job, rendezvous, self->peer, error));
    rendezvous->missing_count = partner ? 0 : rendezvous->late_count;
    rendezvous->unreceived = unreceived;
    if (self_is_late(job, &job->ranks[flight->rank], self))
        TRY(add_late(job, rendezvous, flight->rank, error));
    rendezvous->stalled = rendezvous->late_count == 0;
    return GORDIAN_OK;
}

bool rendezvous_is_unsure(const struct training *job, const struct rendezvous *rendezvous)
{
    for (uint32_t i = 0; i < rendezvous->count; i++)
        if (!flight_operation(job, &job->flights[rendezvous->first + i])->unsure)
            return false;
    return true;
}

/* Returns the end of the operations in flight that belong to the same collective as `first`. */
static size_t collective_end(const struct training *job, size_t first)
{
    const struct operation *a = flight_operation(job, &job->flights[first]);
    for (size_t end = first + 1; end < job->flight_count; end++) {
        const struct operation *b = flight_operation(job, &job->flights[end]);
        if (a->group != b->group || b->peer != GORDIAN_NONE || a->sequence != b->sequence)
            return end;
    }
    return job->flight_count;
}

gordian_status training_find_rendezvous(struct training *job, gordian_error *error)
{
    TRY(list_members(job, error));
    learn_groups(job);
    for (size_t r = 0; r < job->rank_count; r++)
        if (job->ranks[r].active)
            retire_left_over(job, &job->ranks[r]);
    TRY(list_ranks(job, error));
    TRY(gather_flights(job, error));
    /* `late` must not be NULL, even if it is empty */
    if (!memory_extend(&job->memory, job->late, job->late_capacity, 0))
        return fail_memory(error);
    for (size_t first = 0, end; first < job->flight_count; first = end) {
        const struct operation *operation = flight_operation(job, &job->flights[first]);
        end = operation->peer == GORDIAN_NONE ? collective_end(job, first) : first + 1;
        if (operation->peer != GORDIAN_NONE)
            TRY(add_peer_rendezvous(job, first, error));
        else if (job->groups[operation->group].uneven) {
            /* The numbers do not show which ranks are in the same collective. So no rank waits for
             * these ranks, and none of them is at fault. */
            for (size_t i = first; i < end; i++)
                job->ranks[job->flights[i].rank].unjudged = true;
            job->groups[operation->group].unjudged = true;
        } else
            TRY(add_collective_rendezvous(job, first, (uint32_t)(end - first), error));
    }
    return GORDIAN_OK;
}
