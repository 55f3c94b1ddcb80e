#include "sources/inspect/judge/judge.h"

#include "foundation/base/error.h"
#include "sources/inspect/judge/facts.h"

#include <string.h>

#define COULD_MOST 32 /* who could end a wait: the first of them are named */

static bool add_number(const gordian_allocator *memory, uint32_t **list, size_t *count,
                       size_t *room, uint32_t number)
{
    if (!memory_grow(memory, list, room, *count + 1, sizeof **list))
        return false;
    (*list)[(*count)++] = number;
    return true;
}

/* ------------------------------------------------------------------ one judgement */

/* What a resource of the snapshot stands for. */
struct resource {
    uint32_t lock;    /* SIGHT_NONE: of no lock */
    uint32_t process; /* then: everybody of this target */
};

struct judgement {
    struct sight *sight;
    struct inspect_findings *findings;
    enum word word; /* holds known as well as this, or better */
    bool whole;     /* processes that hang as a whole count */
    gordian_snapshot *snapshot;
    gordian_report report;
    uint32_t *process_of; /* by thread: snapshot's process, or SIGHT_NONE: it can act */
    uint32_t *thread_of;  /* by snapshot's process */
    uint32_t process_count;
    uint32_t *resource_of; /* by lock, or SIGHT_NONE */
    uint64_t *units_of;    /* by lock */
    uint32_t *anybody;     /* by target: the resource of all its threads, or SIGHT_NONE */
    struct resource *resources;
    size_t resource_count, resource_room;
    uint32_t gone; /* the process that stands for all who have ended, or SIGHT_NONE */
};

static gordian_status open_judgement(struct judgement *judgement, gordian_error *error)
{
    struct sight *sight = judgement->sight;
    const gordian_allocator *memory = &sight->memory;
    size_t threads = sight->thread_count + 2, locks = sight->lock_count + 1;
    judgement->gone = SIGHT_NONE;
    judgement->process_of = memory_alloc(memory, threads * sizeof(uint32_t));
    judgement->thread_of = memory_alloc(memory, threads * sizeof(uint32_t));
    judgement->resource_of = memory_alloc(memory, locks * sizeof(uint32_t));
    judgement->units_of = memory_zeroed(memory, locks * sizeof(uint64_t));
    judgement->anybody = memory_alloc(memory, (sight->target_count + 1) * sizeof(uint32_t));
    if (!judgement->process_of || !judgement->thread_of || !judgement->resource_of ||
        !judgement->units_of || !judgement->anybody)
        return fail_memory(error);
    memset(judgement->process_of, 0xff, threads * sizeof(uint32_t));
    memset(judgement->resource_of, 0xff, locks * sizeof(uint32_t));
    memset(judgement->anybody, 0xff, (sight->target_count + 1) * sizeof(uint32_t));
    return gordian_snapshot_open(&judgement->snapshot, NULL, error);
}

/* ------------------------------------------------------------------ who cannot act */

static gordian_status add_process(struct judgement *judgement, uint32_t thread, uint32_t *process,
                                  gordian_error *error)
{
    TRY(gordian_snapshot_add_process(judgement->snapshot, process, error));
    judgement->thread_of[judgement->process_count++] = thread;
    return GORDIAN_OK;
}

static gordian_status add_processes(struct judgement *judgement, gordian_error *error)
{
    struct sight *sight = judgement->sight;
    for (uint32_t i = 0; i < sight->thread_count; i++) {
        const struct sight_thread *thread = &sight->threads[i];
        /* Sleeps without end, and has not moved. */
        if (!(thread->is.steady && (thread->spins || (thread->sleeps && !thread->call.timed))) ||
            thread->wait == SIGHT_NONE || sight->edges[thread->wait].word > judgement->word)
            continue;
        TRY(add_process(judgement, i, &judgement->process_of[i], error));
    }
    return GORDIAN_OK;
}

/* One who has ended never gives anything back: he waits for his own return. */
static gordian_status add_gone(struct judgement *judgement, gordian_error *error)
{
    uint32_t resource;
    gordian_status status = add_process(judgement, SIGHT_GONE, &judgement->gone, error);
    THEN(status, gordian_snapshot_add_resource(judgement->snapshot, 1, &resource, error));
    if (status == GORDIAN_OK &&
        !memory_grow(&judgement->sight->memory, &judgement->resources, &judgement->resource_room,
                     judgement->resource_count + 1, sizeof *judgement->resources))
        status = fail_memory(error);
    if (status != GORDIAN_OK)
        return status;
    judgement->resources[judgement->resource_count++] = (struct resource){SIGHT_NONE, SIGHT_NONE};
    status = gordian_snapshot_hold(judgement->snapshot, judgement->gone, resource, 1, error);
    THEN(status, gordian_snapshot_wait(judgement->snapshot, judgement->gone, resource, 1, error));
    return status;
}

/* ------------------------------------------------------------------ locks */

static gordian_status add_resource(struct judgement *judgement, struct resource what,
                                   uint64_t units, uint32_t *id, gordian_error *error)
{
    if (!memory_grow(&judgement->sight->memory, &judgement->resources, &judgement->resource_room,
                     judgement->resource_count + 1, sizeof *judgement->resources))
        return fail_memory(error);
    judgement->resources[judgement->resource_count++] = what;
    return gordian_snapshot_add_resource(judgement->snapshot, units, id, error);
}

/* Holds that count: known well enough. */
static bool counts_hold(const struct judgement *judgement, const struct sight_edge *edge)
{
    return !(edge->flags & (INCIDENT_WAITS | INCIDENT_COULD)) && edge->word <= judgement->word;
}

/* How many units its holds take, those of threads that can act included. */
static uint64_t held_units(const struct judgement *judgement, const struct sight_lock *lock)
{
    uint64_t units = 0;
    for (uint32_t i = lock->first_hold; i != SIGHT_NONE; i = judgement->sight->edges[i].next_hold)
        if (counts_hold(judgement, &judgement->sight->edges[i]))
            units += judgement->sight->edges[i].units;
    return units;
}

/* The process of a holder, or SIGHT_NONE: it can act. */
static gordian_status holder_process(struct judgement *judgement, uint32_t thread,
                                     uint32_t *process, gordian_error *error)
{
    *process = thread == SIGHT_GONE ? judgement->gone : judgement->process_of[thread];
    if (thread != SIGHT_GONE || judgement->gone != SIGHT_NONE)
        return GORDIAN_OK;
    gordian_status status = add_gone(judgement, error);
    *process = judgement->gone;
    return status;
}

/* A lock that somebody waits for, and whose holders are known. */
static gordian_status add_lock(struct judgement *judgement, uint32_t index, gordian_error *error)
{
    struct sight *sight = judgement->sight;
    const struct sight_lock *lock = &sight->locks[index];
    uint64_t held = held_units(judgement, lock);
    if (held == 0 || judgement->resource_of[index] != SIGHT_NONE)
        return GORDIAN_OK;
    uint64_t units = lock->kind == INCIDENT_RWLOCK && lock->units > held ? lock->units : held;
    judgement->units_of[index] = units;
    TRY(add_resource(judgement, (struct resource){index, SIGHT_NONE}, units,
                     &judgement->resource_of[index], error));
    for (uint32_t i = lock->first_hold; i != SIGHT_NONE; i = sight->edges[i].next_hold) {
        uint32_t process;
        if (!counts_hold(judgement, &sight->edges[i]))
            continue;
        TRY(holder_process(judgement, sight->edges[i].thread, &process, error));
        if (process != SIGHT_NONE)
            TRY(gordian_snapshot_hold(judgement->snapshot, process, judgement->resource_of[index],
                                      sight->edges[i].units, error));
    }
    return GORDIAN_OK;
}

/* A wait that anybody could end, as far as is known. */
static bool for_anybody(const struct judgement *judgement, const struct sight_edge *wait)
{
    return judgement->resource_of[wait->lock] == SIGHT_NONE;
}

static bool is_mpi(const struct sight *sight, uint32_t lock)
{
    uint32_t kind = sight->locks[lock].kind;
    return kind == INCIDENT_MESSAGE || kind == INCIDENT_COLLECTIVE;
}

/* How many units of a lock a wait wants. */
static uint64_t units_wanted(const struct judgement *judgement, const struct sight_edge *wait)
{
    const struct sight_lock *lock = &judgement->sight->locks[wait->lock];
    uint64_t units = judgement->units_of[wait->lock];
    if (lock->kind == INCIDENT_RWLOCK && wait->mode == INCIDENT_EXCLUSIVE)
        return units;
    if (is_mpi(judgement->sight, wait->lock))
        return lock->missing < units ? lock->missing : units;
    return 1;
}

static gordian_status add_waits(struct judgement *judgement, gordian_error *error)
{
    struct sight *sight = judgement->sight;
    for (uint32_t p = 0; p < judgement->process_count; p++) {
        uint32_t thread = judgement->thread_of[p];
        if (thread == SIGHT_GONE)
            continue;
        const struct sight_edge *wait = &sight->edges[sight->threads[thread].wait];
        gordian_status status = add_lock(judgement, wait->lock, error);
        if (status == GORDIAN_OK && !for_anybody(judgement, wait))
            status =
                gordian_snapshot_wait(judgement->snapshot, p, judgement->resource_of[wait->lock],
                                      units_wanted(judgement, wait), error);
        if (status != GORDIAN_OK)
            return status;
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ a whole process that hangs */

/* Can only a thread of its own process end this wait? */
static bool is_inward(const struct sight *sight, const struct sight_thread *thread)
{
    if (thread->wait == SIGHT_NONE || (thread->call.kind != CALL_FUTEX && !thread->spins))
        return false;
    const struct sight_lock *lock = &sight->locks[sight->edges[thread->wait].lock];
    if (lock->outsiders || thread->spins)
        return thread->spins && !lock->outsiders;
    return thread->call.is_private || lock->kind == INCIDENT_THREAD_END ||
           target_is_private(sight->targets[thread->process], thread->call.address);
}

static bool hangs_whole(const struct judgement *judgement, uint32_t target)
{
    const struct sight *sight = judgement->sight;
    uint32_t first = sight->first_thread[target], end = sight->first_thread[target + 1];
    if (sight->grew[target])
        return false;
    for (uint32_t i = first; i < end; i++)
        if (judgement->process_of[i] == SIGHT_NONE || !is_inward(sight, &sight->threads[i]))
            return false;
    return end > first && !target_shares_memory(sight->targets[target]);
}

/* How many of the others must act before this wait ends. */
static uint64_t others_needed(const struct sight *sight, const struct sight_edge *wait,
                              uint64_t threads)
{
    const struct sight_lock *lock = &sight->locks[wait->lock];
    uint64_t missing = lock->kind == INCIDENT_BARRIER && lock->missing ? lock->missing : 1;
    return missing < threads ? missing : threads;
}

/* Everybody of the process has a unit of what anybody could give. */
static gordian_status add_anybody(struct judgement *judgement, uint32_t target,
                                  gordian_error *error)
{
    struct sight *sight = judgement->sight;
    uint32_t first = sight->first_thread[target], end = sight->first_thread[target + 1];
    TRY(add_resource(judgement, (struct resource){SIGHT_NONE, target}, end - first,
                     &judgement->anybody[target], error));
    for (uint32_t i = first; i < end; i++) {
        const struct sight_edge *wait = &sight->edges[sight->threads[i].wait];
        uint32_t process = judgement->process_of[i];
        TRY(gordian_snapshot_hold(judgement->snapshot, process, judgement->anybody[target], 1,
                                  error));
        if (for_anybody(judgement, wait))
            TRY(gordian_snapshot_wait(judgement->snapshot, process, judgement->anybody[target],
                                      others_needed(sight, wait, end - first), error));
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ findings */

static struct inspect_finding *add_finding(struct judgement *judgement, uint32_t kind)
{
    struct inspect_findings *findings = judgement->findings;
    if (!memory_grow(&findings->memory, &findings->list, &findings->room, findings->count + 1,
                     sizeof *findings->list))
        return NULL;
    struct inspect_finding *finding = &findings->list[findings->count++];
    *finding = (struct inspect_finding){.word = judgement->word, .kind = kind};
    return finding;
}

static bool add_witness(struct judgement *judgement, struct inspect_finding *finding, uint32_t edge)
{
    return add_number(&judgement->findings->memory, &finding->edges, &finding->edge_count,
                      &finding->edge_room, edge);
}

static bool add_member(struct judgement *judgement, struct inspect_finding *finding,
                       uint32_t thread)
{
    return add_number(&judgement->findings->memory, &finding->members, &finding->member_count,
                      &finding->member_room, thread) &&
           add_witness(judgement, finding, judgement->sight->threads[thread].wait);
}

/* The hold of a lock by a thread. */
static uint32_t find_hold(const struct sight *sight, uint32_t lock, uint32_t thread)
{
    for (uint32_t i = sight->locks[lock].first_hold; i != SIGHT_NONE; i = sight->edges[i].next_hold)
        if (sight->edges[i].thread == thread)
            return i;
    return SIGHT_NONE;
}

/* Wait, hold, wait, ... */
static bool take_cycle(struct judgement *judgement, struct inspect_finding *finding,
                       const gordian_part *part)
{
    size_t count = part->process_count;
    finding->cycle = true;
    for (size_t i = 0; i < count; i++) {
        uint32_t holder = judgement->thread_of[part->processes[(i + 1) % count]];
        uint32_t lock = judgement->resources[part->resources[i]].lock;
        uint32_t hold = lock == SIGHT_NONE ? SIGHT_NONE : find_hold(judgement->sight, lock, holder);
        if (!add_member(judgement, finding, judgement->thread_of[part->processes[i]]))
            return false;
        if (hold == SIGHT_NONE)
            finding->cycle = false;
        else if (!add_witness(judgement, finding, hold))
            return false;
    }
    return true;
}

static bool is_member(const struct inspect_finding *finding, uint32_t thread)
{
    for (size_t i = 0; i < finding->member_count; i++)
        if (finding->members[i] == thread)
            return true;
    return false;
}

/* A member could have ended another's wait. */
static bool add_could(struct judgement *judgement, struct inspect_finding *finding, uint32_t thread,
                      const struct sight_edge *wait)
{
    struct sight *sight = judgement->sight;
    if (!memory_grow(&sight->memory, &sight->edges, &sight->edge_room, sight->edge_count + 1,
                     sizeof *sight->edges))
        return false;
    sight->edges[sight->edge_count] = (struct sight_edge){.thread = thread,
                                                          .lock = wait->lock,
                                                          .mode = wait->mode,
                                                          .flags = INCIDENT_COULD,
                                                          .units = 1,
                                                          .outer = SIGHT_NONE,
                                                          .word = WORD_PROVED,
                                                          .next_hold = SIGHT_NONE};
    return add_witness(judgement, finding, (uint32_t)sight->edge_count++);
}

/* Anybody may signal it; the others are locks, which somebody has. */
static bool is_signalled(uint32_t kind)
{
    return kind == INCIDENT_CONDITION || kind == INCIDENT_SEMAPHORE || kind == INCIDENT_FUTEX ||
           kind == INCIDENT_BARRIER;
}

/* Who could have ended the waits for anybody, had they not been stuck; each lock once. */
static bool take_could(struct judgement *judgement, struct inspect_finding *finding)
{
    struct sight *sight = judgement->sight;
    size_t members = finding->member_count;
    for (size_t i = 0; i < members; i++) {
        const struct sight_edge wait = sight->edges[sight->threads[finding->members[i]].wait];
        bool first = for_anybody(judgement, &wait) && is_signalled(sight->locks[wait.lock].kind);
        for (size_t k = 0; k < i && first; k++)
            first = sight->edges[sight->threads[finding->members[k]].wait].lock != wait.lock;
        uint32_t named = 0;
        for (size_t k = 0; first && k < members && named < COULD_MOST; k++) {
            uint32_t other = finding->members[k];
            if (sight->edges[sight->threads[other].wait].lock == wait.lock ||
                find_hold(sight, wait.lock, other) != SIGHT_NONE)
                continue; /* waits itself, or was told */
            if (!add_could(judgement, finding, other, &wait))
                return false;
            named++;
        }
    }
    return true;
}

/* Of locks that do not name their holders, those that are likely: no part of the argument, but what
 * a person wants to know. */
static bool take_likely(struct judgement *judgement, struct inspect_finding *finding)
{
    const struct sight *sight = judgement->sight;
    for (size_t i = 0; i < finding->member_count; i++) {
        const struct sight_edge *wait = &sight->edges[sight->threads[finding->members[i]].wait];
        bool first = for_anybody(judgement, wait);
        for (size_t k = 0; k < i && first; k++)
            first = sight->edges[sight->threads[finding->members[k]].wait].lock != wait->lock;
        for (uint32_t hold = first ? sight->locks[wait->lock].first_hold : SIGHT_NONE;
             hold != SIGHT_NONE; hold = sight->edges[hold].next_hold)
            if (is_member(finding, sight->edges[hold].thread) &&
                !add_witness(judgement, finding, hold))
                return false;
    }
    return true;
}

/* Everything the members wait for, and who of them has it. */
static bool take_knot(struct judgement *judgement, struct inspect_finding *finding,
                      const gordian_part *part)
{
    const gordian_edge *edges;
    size_t count;
    if (gordian_snapshot_edges(judgement->snapshot, part, &edges, &count, NULL) != GORDIAN_OK)
        return false;
    for (size_t i = 0; i < part->process_count; i++)
        if (!add_member(judgement, finding, judgement->thread_of[part->processes[i]]))
            return false;
    for (size_t i = 0; i < count; i++) {
        uint32_t lock = judgement->resources[edges[i].resource].lock;
        uint32_t thread = judgement->thread_of[edges[i].process];
        uint32_t hold = edges[i].waits || lock == SIGHT_NONE
                            ? SIGHT_NONE
                            : find_hold(judgement->sight, lock, thread);
        if (hold != SIGHT_NONE && !add_witness(judgement, finding, hold))
            return false;
    }
    return take_likely(judgement, finding) && take_could(judgement, finding);
}

/* Was one of these found already, and better known? */
static bool is_told(const struct judgement *judgement, const gordian_part *part)
{
    const struct inspect_findings *findings = judgement->findings;
    for (size_t i = 0; i < findings->count; i++)
        for (size_t k = 0; k < part->process_count; k++)
            if (is_member(&findings->list[i], judgement->thread_of[part->processes[k]]))
                return true;
    return false;
}

/* Is a rank of an MPI program part of it? */
static bool waits_for_ranks(const struct sight *sight, const struct inspect_finding *finding)
{
    for (size_t i = 0; i < finding->member_count; i++)
        if (is_mpi(sight, sight->edges[sight->threads[finding->members[i]].wait].lock))
            return true;
    return false;
}

/* The argument in a sentence, and why it is not proved, if it is not. */
static const char *argue(const struct judgement *judgement, const struct inspect_finding *finding,
                         bool anybody, const struct policy *policy)
{
    struct sight *sight = judgement->sight;
    const struct target *target = sight->targets[sight->threads[finding->members[0]].process];
    const char *looked = target->core ? "in the core" : "looked at twice, nothing moved";
    if (waits_for_ranks(sight, finding))
        return "Who waits for whom is from what each rank has written down: what it sent, what it "
               "received, which calls it is in (looked at twice, none of them has moved).";
    const char *argument =
        anybody ? "Every thread of the process sleeps without end in what only another one of them "
                  "can end"
        : judgement->word == WORD_LIKELY
            ? "Some holders are not named by the locks; how each was found is said below"
            : "The owners are read from the locks themselves";
    if (policy->word == POLICY_LIKELY && judgement->word == WORD_PROVED)
        return sight_format(sight, "%s (%s). Not proved: %s.", argument, looked, policy->why);
    return sight_format(sight, "%s (%s).", argument, looked);
}

/* What was likely is certain if nobody is left to act, whoever has what. */
static void confirm_told(struct judgement *judgement, const gordian_part *part, bool ends)
{
    struct inspect_findings *findings = judgement->findings;
    for (size_t i = 0; i < findings->count; i++)
        for (size_t k = 0; k < part->process_count && findings->list[i].word == WORD_LIKELY; k++)
            if (is_member(&findings->list[i], judgement->thread_of[part->processes[k]])) {
                findings->list[i].word = WORD_PROVED;
                findings->list[i].ends = ends;
                findings->list[i].note =
                    "Every thread of the process sleeps without end in what only another one of "
                    "them can end: nobody is left to act. Who has what was found as is said below.";
            }
}

/* Can this thread never go on, as far as this judgement knows? */
static bool is_dead(const struct judgement *judgement, uint32_t thread)
{
    uint32_t process = judgement->process_of[thread];
    for (size_t i = 0; i < judgement->report.deadlocked_count && process != SIGHT_NONE; i++)
        if (judgement->report.deadlocked[i] == process)
            return true;
    return false;
}

/* Is there a thread in the process of one of these that may still act? */
static bool others_run(const struct judgement *judgement, const uint32_t *threads, size_t count)
{
    const struct sight *sight = judgement->sight;
    for (size_t i = 0; i < count; i++) {
        uint32_t process = sight->threads[threads[i]].process;
        for (uint32_t k = sight->first_thread[process]; k < sight->first_thread[process + 1]; k++)
            if (!is_dead(judgement, k))
                return true;
    }
    return false;
}

/* May a lock be meant as a signal? One thread waits for what it has itself, or one waits for the
 * end of another that wants a lock. */
static bool is_gate(const struct sight *sight, const uint32_t *threads, size_t count)
{
    bool locks = false, joins = false;
    for (size_t i = 0; i < count; i++) {
        const struct sight_lock *lock =
            &sight->locks[sight->edges[sight->threads[threads[i]].wait].lock];
        /* The others can be unlocked by their owners only. */
        locks = locks || (lock->kind <= INCIDENT_SPIN &&
                          !(lock->flags & (INCIDENT_RECURSIVE | INCIDENT_ERRORCHECK |
                                           INCIDENT_ROBUST | INCIDENT_INHERIT)));
        joins = joins || lock->kind == INCIDENT_THREAD_END;
    }
    return locks && (joins || count == 1);
}

/* What the policy says of threads that wait for each other, or of one whose owner has ended. */
static struct policy weigh_threads(struct judgement *judgement, enum policy_argument argument,
                                   const uint32_t *threads, size_t count, const bool *held)
{
    bool cycle = argument == POLICY_CYCLE || argument == POLICY_SELF;
    struct facts_about about = {
        .argument = argument,
        .evidence = judgement->word == WORD_LIKELY,
        .others_run = others_run(judgement, threads, count),
        .gate = cycle && is_gate(judgement->sight, threads, count),
        .threads = threads,
        .count = count,
        .held = held,
    };
    struct policy_facts facts = facts_gather(judgement->sight, &about);
    return policy_decide(&facts);
}

/* False: out of memory. */
static bool weigh_part(struct judgement *judgement, const gordian_part *part, struct policy *policy)
{
    const struct sight *sight = judgement->sight;
    size_t count = part->process_count;
    uint32_t *threads = memory_alloc(&sight->memory, count * sizeof *threads);
    bool *held = memory_alloc(&sight->memory, count * sizeof *held);
    bool anybody = false, done = threads && held;
    for (size_t i = 0; i < count && done; i++) {
        threads[i] = judgement->thread_of[part->processes[i]];
        held[i] = !for_anybody(judgement, &sight->edges[sight->threads[threads[i]].wait]);
        anybody = anybody || !held[i];
    }
    if (done)
        *policy = weigh_threads(judgement,
                                anybody      ? POLICY_NONE_LEFT
                                : count == 1 ? POLICY_SELF
                                             : POLICY_CYCLE,
                                threads, count, held);
    memory_free_all(&sight->memory, threads, held);
    return done;
}

static bool take_part(struct judgement *judgement, const gordian_part *part)
{
    struct policy policy;
    bool anybody = false;
    if (!weigh_part(judgement, part, &policy))
        return false;
    if (policy.word == POLICY_NOTHING)
        return true;
    if (is_told(judgement, part)) {
        if (judgement->whole && policy.word == POLICY_PROVED)
            confirm_told(judgement, part, policy.ends);
        return true;
    }
    struct inspect_finding *finding = add_finding(judgement, INCIDENT_DEADLOCK);
    if (!finding)
        return false;
    finding->word = policy.word == POLICY_LIKELY ? WORD_LIKELY : WORD_PROVED;
    finding->ends = policy.ends;
    bool done =
        part->cycle ? take_cycle(judgement, finding, part) : take_knot(judgement, finding, part);
    struct sight *sight = judgement->sight;
    for (size_t i = 0; i < finding->member_count && done; i++)
        anybody = anybody ||
                  for_anybody(judgement, &sight->edges[sight->threads[finding->members[i]].wait]);
    if (done)
        finding->note = argue(judgement, finding, anybody, &policy);
    return done;
}

/* A thread that waits for something whose owner has ended. */
static bool take_orphan(struct judgement *judgement, uint32_t thread, uint32_t lock, uint32_t hold)
{
    static const bool held = true;
    struct sight *sight = judgement->sight;
    struct policy policy = weigh_threads(judgement, POLICY_ENDED, &thread, 1, &held);
    if (policy.word == POLICY_NOTHING)
        return true;
    struct inspect_finding *finding = add_finding(judgement, INCIDENT_OWNER_GONE);
    if (!finding || !add_member(judgement, finding, thread) ||
        !add_witness(judgement, finding, hold))
        return false;
    if (is_mpi(sight, lock)) {
        finding->ends = policy.ends;
        finding->note = "A rank that is waited for has left: it has ended, or is behind "
                        "MPI_Finalize.";
        return true;
    }
    finding->word = policy.word == POLICY_LIKELY ? WORD_LIKELY : WORD_PROVED;
    finding->ends = policy.ends;
    finding->note = "The owner is no thread of the process: it has ended, or stayed behind in the "
                    "process that this one was forked from.";
    if (policy.word == POLICY_LIKELY)
        finding->note = sight_format(sight, "%s Not proved: %s.", finding->note, policy.why);
    return true;
}

/* Those who wait for something whose owner has ended. */
static bool take_orphans(struct judgement *judgement)
{
    struct sight *sight = judgement->sight;
    for (uint32_t p = 0; p < judgement->process_count; p++) {
        uint32_t thread = judgement->thread_of[p];
        if (thread == SIGHT_GONE)
            continue;
        uint32_t lock = sight->edges[sight->threads[thread].wait].lock;
        uint32_t hold = find_hold(sight, lock, SIGHT_GONE);
        bool told = hold == SIGHT_NONE || sight->edges[hold].word > judgement->word;
        for (size_t i = 0; i < judgement->findings->count && !told; i++)
            for (size_t k = 0; k < judgement->findings->list[i].edge_count && !told; k++)
                told = judgement->findings->list[i].edges[k] == hold;
        /* Ranks that wait for others that have left are told together: the first, and who waits
         * behind. */
        for (size_t i = 0; i < judgement->findings->count && !told && is_mpi(sight, lock); i++)
            told = waits_for_ranks(sight, &judgement->findings->list[i]);
        if (!told && !take_orphan(judgement, thread, lock, hold))
            return false;
    }
    return true;
}

/* Those who wait behind: of each process, told with its first finding. */
static bool take_behind(struct judgement *judgement, size_t first)
{
    struct inspect_findings *findings = judgement->findings;
    const struct sight *sight = judgement->sight;
    for (size_t i = 0; i < judgement->report.deadlocked_count; i++) {
        uint32_t thread = judgement->thread_of[judgement->report.deadlocked[i]];
        struct inspect_finding *home = NULL;
        bool member = thread == SIGHT_GONE;
        for (size_t k = 0; k < findings->count && !member; k++) {
            member = is_member(&findings->list[k], thread);
            if (k >= first && !home &&
                (sight->threads[findings->list[k].members[0]].process ==
                     sight->threads[thread].process ||
                 is_mpi(sight, sight->edges[sight->threads[thread].wait].lock)))
                home = &findings->list[k];
        }
        if (!member && home &&
            !add_number(&findings->memory, &home->behind, &home->behind_count, &home->behind_room,
                        thread))
            return false;
    }
    return true;
}

static gordian_status collect_findings(struct judgement *judgement, gordian_error *error)
{
    size_t first = judgement->findings->count;
    for (size_t i = 0; i < judgement->report.part_count; i++) {
        const gordian_part *part = &judgement->report.parts[i];
        bool gone = false;
        for (size_t k = 0; k < part->process_count; k++)
            gone = gone || judgement->thread_of[part->processes[k]] == SIGHT_GONE;
        if (!gone && !take_part(judgement, part))
            return fail_memory(error);
    }
    if (!take_orphans(judgement) || !take_behind(judgement, first) || judgement->sight->failed)
        return fail_memory(error);
    return GORDIAN_OK;
}

/* Is something of this process proved already? */
static bool has_proof(const struct sight *sight, const struct inspect_findings *findings,
                      uint32_t process)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->list[i].word == WORD_PROVED &&
            sight->threads[findings->list[i].members[0]].process == process)
            return true;
    return false;
}

/* `whole`: with the argument that nobody is left, for processes of which nothing is proved. */
static gordian_status judge_once(struct sight *sight, struct inspect_findings *findings,
                                 enum word word, bool whole, gordian_error *error)
{
    struct judgement judgement = {
        .sight = sight, .findings = findings, .word = word, .whole = whole};
    gordian_status status = open_judgement(&judgement, error);
    THEN(status, add_processes(&judgement, error));
    THEN(status, add_waits(&judgement, error));
    for (uint32_t i = 0; whole && i < sight->target_count && status == GORDIAN_OK; i++)
        if (!has_proof(sight, findings, i) && hangs_whole(&judgement, i))
            status = add_anybody(&judgement, i, error);
    THEN(status, gordian_snapshot_check(judgement.snapshot, &judgement.report, error));
    if (status == GORDIAN_OK) {
        findings->engine = judgement.report.engine;
        status = collect_findings(&judgement, error);
    }
    gordian_snapshot_close(judgement.snapshot);
    memory_free_all(&judgement.sight->memory, judgement.process_of, judgement.thread_of,
                    judgement.resource_of, judgement.units_of, judgement.anybody,
                    judgement.resources);
    return status;
}

static bool has_likely(const struct sight *sight)
{
    for (size_t i = 0; i < sight->edge_count; i++)
        if (sight->edges[i].word == WORD_LIKELY)
            return true;
    return false;
}

/* First what the locks say, then with the likely holders, last by whole processes: who holds what
 * tells a person more than that nobody is left. */
gordian_status judge_sight(struct sight *sight, struct inspect_findings *findings,
                           gordian_error *error)
{
    TRY(judge_once(sight, findings, WORD_PROVED, false, error));
    if (has_likely(sight))
        TRY(judge_once(sight, findings, WORD_LIKELY, false, error));
    TRY(judge_once(sight, findings, WORD_PROVED, true, error));
    if (has_likely(sight))
        TRY(judge_once(sight, findings, WORD_LIKELY, true, error));
    return GORDIAN_OK;
}
