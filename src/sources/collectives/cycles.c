/* Builds the wait-for graph of the ranks and finds cycles with libgordian's engine. */
#include "sources/collectives/training.h"

#include "foundation/base/error.h"
#include "foundation/base/sort.h"

#include <stdlib.h>

/* ------------------------------------------------------------------ waits */

/* The in-flight operations of every rank that are rendezvous, oldest first. */
struct wait_index {
    size_t *starts; /* by rank */
    uint32_t *flights;
};

static int compare_records(const void *left, const void *right, void *context)
{
    const struct training *job = context;
    const struct operation *a = flight_operation(job, &job->flights[*(const uint32_t *)left]);
    const struct operation *b = flight_operation(job, &job->flights[*(const uint32_t *)right]);
    return (a->record > b->record) - (a->record < b->record);
}

/* Does the operation block the ranks in it? A send does not, if its rank also waits in something
 * else. */
static bool holds_up(const struct training *job, const struct rendezvous *rendezvous)
{
    return !rendezvous->unreceived || job->ranks[job->flights[rendezvous->first].rank].sender;
}

static bool is_wait(const struct training *job, const struct flight *flight)
{
    return flight->rendezvous != GORDIAN_NONE &&
           holds_up(job, &job->rendezvous_list[flight->rendezvous]);
}

static gordian_status open_wait_index(const struct training *job, struct wait_index *index,
                                      gordian_error *error)
{
    size_t ranks = job->rank_count;
    size_t *starts = memory_zeroed(&job->memory, (ranks + 2) * sizeof *starts);
    uint32_t *flights = memory_alloc(&job->memory, (job->flight_count + 1) * sizeof *flights);
    *index = (struct wait_index){starts, flights};
    if (!starts || !flights)
        return fail_memory(error);
    for (size_t i = 0; i < job->flight_count; i++)
        if (is_wait(job, &job->flights[i]))
            starts[job->flights[i].rank + 2]++;
    for (size_t r = 0; r < ranks; r++)
        starts[r + 2] += starts[r + 1];
    for (uint32_t i = 0; i < job->flight_count; i++)
        if (is_wait(job, &job->flights[i]))
            flights[starts[job->flights[i].rank + 1]++] = i;
    for (size_t r = 0; r < ranks; r++)
        sort_with(flights + starts[r], starts[r + 1] - starts[r], sizeof *flights, compare_records,
                  (void *)(uintptr_t)job);
    return GORDIAN_OK;
}

static void close_wait_index(const struct training *job, struct wait_index *index)
{
    memory_free_all(&job->memory, index->starts, index->flights);
}

static bool is_waiting(const struct rank *rank)
{
    return (rank->engaged || rank->sender) && rank->blame == BLAME_NONE && !rank->disputed &&
           !rank->unjudged && !rank->undecided && !rank->explained;
}

/* Returns the next deadlocked rank that `self` waits for in a rendezvous, starting at index *at.
 * NONE: there are no more. */
static uint32_t next_late(const struct training *job, const struct rendezvous *rendezvous,
                          uint32_t self, uint32_t *at)
{
    while (*at < rendezvous->late_count) {
        uint32_t rank = job->late[rendezvous->late_first + (*at)++];
        if (rank != self && job->ranks[rank].deadlocked)
            return rank;
    }
    return GORDIAN_NONE;
}

/* Returns the first rendezvous of a deadlocked rank for which a deadlocked rank is late. */
static uint32_t first_rendezvous(const struct training *job, const struct wait_index *index,
                                 uint32_t rank)
{
    for (size_t i = index->starts[rank]; i < index->starts[rank + 1]; i++) {
        uint32_t rendezvous = job->flights[index->flights[i]].rendezvous, at = 0;
        if (next_late(job, &job->rendezvous_list[rendezvous], rank, &at) != GORDIAN_NONE)
            return rendezvous;
    }
    return GORDIAN_NONE;
}

/* Emits the waits of a rank. In the narrow view a rank waits for other ranks directly instead of
 * for a rendezvous. */
static gordian_status rank_waits(const struct training *job, const struct wait_index *index,
                                 bool narrow, uint32_t rank, uint32_t *others,
                                 const struct wait_sink *sink, gordian_error *error)
{
    uint32_t first = narrow ? first_rendezvous(job, index, rank) : GORDIAN_NONE, at = 0, other;
    size_t count = 0;
    if (narrow && first == GORDIAN_NONE)
        return GORDIAN_OK;
    while (narrow &&
           (other = next_late(job, &job->rendezvous_list[first], rank, &at)) != GORDIAN_NONE)
        others[count++] = other;
    for (size_t i = index->starts[rank]; !narrow && i < index->starts[rank + 1]; i++)
        others[count++] = (uint32_t)job->rank_count + job->flights[index->flights[i]].rendezvous;
    return sink->await(sink->context, rank, others, count, error);
}

static size_t most_others(const struct training *job, const struct wait_index *index)
{
    size_t most = 0;
    for (size_t r = 0; r < job->rank_count; r++)
        if (index->starts[r + 1] - index->starts[r] > most)
            most = index->starts[r + 1] - index->starts[r];
    for (size_t i = 0; i < job->rendezvous_count; i++)
        most =
            job->rendezvous_list[i].late_count > most ? job->rendezvous_list[i].late_count : most;
    return most;
}

gordian_status training_waits(const struct training *job, bool narrow, const struct wait_sink *sink,
                              gordian_error *error)
{
    struct wait_index index;
    gordian_status status = open_wait_index(job, &index, error);
    uint32_t *others = NULL;
    if (status == GORDIAN_OK) {
        others = memory_alloc(&job->memory, (most_others(job, &index) + 1) * sizeof *others);
        if (!others)
            status = fail_memory(error);
    }
    for (uint32_t r = 0; status == GORDIAN_OK && r < job->rank_count; r++) {
        const struct rank *rank = &job->ranks[r];
        if (narrow ? rank->deadlocked : is_waiting(rank))
            status = rank_waits(job, &index, narrow, r, others, sink, error);
    }
    for (uint32_t i = 0; status == GORDIAN_OK && !narrow && i < job->rendezvous_count; i++) {
        const struct rendezvous *rendezvous = &job->rendezvous_list[i];
        if (rendezvous->late_count && holds_up(job, rendezvous))
            status = sink->await(sink->context, (uint32_t)job->rank_count + i,
                                 job->late + rendezvous->late_first, rendezvous->late_count, error);
    }
    memory_free(&job->memory, others);
    close_wait_index(job, &index);
    return status;
}

/* ------------------------------------------------------------------ the engine */

static gordian_status add_await(void *context, uint32_t process, const uint32_t *others,
                                size_t count, gordian_error *error)
{
    return gordian_snapshot_await(context, process, others, count, 1, NULL, error);
}

static gordian_status judge_waits(const struct training *job, bool narrow,
                                  gordian_snapshot **snapshot, gordian_report *report,
                                  gordian_error *error)
{
    const gordian_check_options options = {.engine = "sparse"};
    gordian_status status = gordian_snapshot_open(snapshot, NULL, error);
    size_t processes = job->rank_count + (narrow ? 0 : job->rendezvous_count);
    for (size_t i = 0; status == GORDIAN_OK && i < processes; i++) {
        uint32_t id;
        status = gordian_snapshot_add_process(*snapshot, &id, error);
    }
    const struct wait_sink sink = {add_await, *snapshot};
    THEN(status, training_waits(job, narrow, &sink, error));
    THEN(status, gordian_snapshot_check_for(*snapshot, &options, report, error));
    return status;
}

/* ------------------------------------------------------------------ cycles */

/* A search from one rank for the shortest path back to it. */
struct search {
    struct training *job;
    struct wait_index index;
    uint32_t *before; /* by rank: its predecessor in the search; NONE: not reached */
    uint32_t *queue;
    size_t count;
};

/* Visits the ranks that `rank` waits for. Returns true if one of them is the start. */
static bool reach_others(struct search *search, uint32_t rank, uint32_t start)
{
    uint32_t first = first_rendezvous(search->job, &search->index, rank), at = 0, other;
    if (first == GORDIAN_NONE)
        return false;
    while ((other = next_late(search->job, &search->job->rendezvous_list[first], rank, &at)) !=
           GORDIAN_NONE) {
        if (other == start)
            return true;
        if (search->before[other] != GORDIAN_NONE)
            continue;
        search->before[other] = rank;
        search->queue[search->count++] = other;
    }
    return false;
}

/* Returns the last rank of the shortest cycle through `start`. NONE: there is none. */
static uint32_t search_cycle(struct search *search, uint32_t start)
{
    uint32_t found = GORDIAN_NONE;
    for (size_t i = 0; i < search->count; i++) /* undo the previous search */
        search->before[search->queue[i]] = GORDIAN_NONE;
    search->count = 0;
    search->queue[search->count++] = start;
    search->before[start] = start;
    for (size_t i = 0; i < search->count && found == GORDIAN_NONE; i++)
        if (reach_others(search, search->queue[i], start))
            found = search->queue[i];
    return found;
}

static size_t path_length(const struct search *search, uint32_t start, uint32_t last)
{
    size_t length = 1;
    for (uint32_t rank = last; rank != start; rank = search->before[rank])
        length++;
    return length;
}

/* Stores the cycle from `start` to `last`. */
static gordian_status keep_cycle(struct search *search, uint32_t start, uint32_t last,
                                 gordian_error *error)
{
    struct training *job = search->job;
    size_t length = path_length(search, start, last);
    if (!memory_extend(&job->memory, job->cycles, job->cycle_capacity, job->cycle_count) ||
        !memory_grow(&job->memory, &job->steps, &job->step_capacity, job->step_count + length,
                     sizeof *job->steps))
        return fail_memory(error);
    job->cycles[job->cycle_count++] = (struct cycle){job->step_count, length};
    job->step_count += length;
    for (size_t i = 0; i < length; i++) {
        job->steps[job->step_count - 1 - i] =
            (struct step){last, first_rendezvous(job, &search->index, last)};
        last = search->before[last];
    }
    return GORDIAN_OK;
}

#define STARTS_MOST 64 /* start nodes in each component from which a short cycle is searched */

/* Finds the shortest cycle through one of the first nodes of a strongly connected component. */
static gordian_status part_cycle(struct search *search, const gordian_part *part,
                                 gordian_error *error)
{
    size_t shortest = SIZE_MAX;
    uint32_t best = GORDIAN_NONE;
    for (size_t i = 0; i < part->process_count && i < STARTS_MOST && shortest > 2; i++) {
        uint32_t last = search_cycle(search, part->processes[i]);
        size_t length =
            last == GORDIAN_NONE ? SIZE_MAX : path_length(search, part->processes[i], last);
        if (length < shortest) {
            shortest = length;
            best = part->processes[i];
        }
    }
    if (best == GORDIAN_NONE)
        return GORDIAN_OK;
    return keep_cycle(search, best, search_cycle(search, best), error);
}

static gordian_status draw_cycles(struct training *job, const gordian_report *report,
                                  gordian_error *error)
{
    struct search search = {.job = job};
    size_t bytes = (job->rank_count + 1) * sizeof *search.before;
    gordian_status status = open_wait_index(job, &search.index, error);
    search.before = memory_alloc(&job->memory, bytes);
    search.queue = memory_alloc(&job->memory, bytes);
    if (status == GORDIAN_OK && (!search.before || !search.queue))
        status = fail_memory(error);
    for (size_t i = 0; status == GORDIAN_OK && i < job->rank_count; i++)
        search.before[i] = GORDIAN_NONE;
    for (size_t i = 0; status == GORDIAN_OK && i < report->part_count; i++)
        status = part_cycle(&search, &report->parts[i], error);
    memory_free_all(&job->memory, search.before, search.queue);
    close_wait_index(job, &search.index);
    return status;
}

gordian_status training_find_deadlocked(struct training *job, gordian_error *error)
{
    gordian_snapshot *snapshot = NULL;
    gordian_report report;
    gordian_status status = judge_waits(job, false, &snapshot, &report, error);
    for (size_t r = 0; r < job->rank_count; r++)
        job->ranks[r].deadlocked = false;
    for (size_t i = 0; status == GORDIAN_OK && i < report.deadlocked_count; i++) {
        if (report.deadlocked[i] >= job->rank_count)
            break;
        job->ranks[report.deadlocked[i]].deadlocked = true;
    }
    gordian_snapshot_close(snapshot);
    return status;
}

static gordian_status find_cycles(struct training *job, gordian_error *error)
{
    gordian_snapshot *snapshot = NULL;
    gordian_report report;
    bool any = false;
    gordian_status status = training_find_deadlocked(job, error);
    for (size_t r = 0; r < job->rank_count; r++)
        any |= job->ranks[r].deadlocked;
    if (status == GORDIAN_OK && any) {
        status = judge_waits(job, true, &snapshot, &report, error);
        THEN(status, draw_cycles(job, &report, error));
        gordian_snapshot_close(snapshot);
    }
    return status;
}

/* ------------------------------------------------------------------ the verdict */

static gordian_status list_culprits(struct training *job, gordian_error *error)
{
    struct verdict *verdict = &job->verdict;
    job->culprits = memory_alloc(&job->memory, (job->rank_count + 1) * sizeof *job->culprits);
    if (!job->culprits)
        return fail_memory(error);
    for (uint32_t r = 0; r < job->rank_count; r++) {
        const struct rank *rank = &job->ranks[r];
        verdict->rank_count += rank->listed;
        verdict->dump_count += rank->heard;
        verdict->unseen_count += is_unseen(rank);
        verdict->undecided_count += is_undecided(rank);
        verdict->waiting_count += is_waiting(rank) && !rank->deadlocked;
        if (rank->blame != BLAME_NONE)
            job->culprits[verdict->culprit_count++] = r;
    }
    verdict->culprits = job->culprits;
    return GORDIAN_OK;
}

/* A stalled operation without a rank at fault is unexplained. */
static bool is_unexplained(const struct training *job, const struct rendezvous *rendezvous)
{
    for (uint32_t i = 0; i < rendezvous->count; i++)
        if (job->ranks[job->flights[rendezvous->first + i].rank].blame != BLAME_NONE)
            return false;
    return rendezvous->stalled && !rendezvous_is_unsure(job, rendezvous) &&
           (rendezvous->peer == GORDIAN_NONE || job->ranks[rendezvous->peer].blame == BLAME_NONE);
}

gordian_status training_judge(struct training *job, struct verdict *verdict, gordian_error *error)
{
    job->verdict = (struct verdict){0};
    TRY(training_order(job, error));
    TRY(training_find_rendezvous(job, error));
    TRY(training_accuse(job, error));
    TRY(find_cycles(job, error));
    TRY(list_culprits(job, error));
    for (size_t i = 0; i < job->rendezvous_count; i++) {
        job->rendezvous_list[i].stalled = is_unexplained(job, &job->rendezvous_list[i]);
        job->verdict.stalled_count += job->rendezvous_list[i].stalled;
    }
    for (size_t i = 0; i < job->group_count; i++)
        job->verdict.unjudged_count += job->groups[i].unjudged;
    job->verdict.unread_count = job->complaint_count;
    job->verdict.mismatch_count = job->mismatch_count;
    job->verdict.cycle_count = job->cycle_count;
    *verdict = job->verdict;
    return GORDIAN_OK;
}

bool verdict_is_incomplete(const struct verdict *verdict)
{
    return verdict->unread_count || verdict->unseen_count || verdict->unjudged_count ||
           verdict->undecided_count;
}

enum blame training_blame(const struct training *job, uint32_t rank)
{
    return rank < job->rank_count ? (enum blame)job->ranks[rank].blame : BLAME_NONE;
}
