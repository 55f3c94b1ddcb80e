#include "sources/inspect/judge/judge.h"

#include "foundation/base/error.h"
#include "sources/inspect/judge/facts.h"

#include <string.h>

#define COULD_MOST 32 /* limit of threads that are named as able to end a wait */

#define add_number(memory, list, count, room, number)                                              \
    (memory_extend(memory, list, room, count) && ((list)[(count)++] = (number), true))

/* ------------------------------------------------------------------ one judgement */

struct judgement {
    struct process_snapshot *snapshot;
    struct inspect_findings *findings;
    enum word word; /* counts holds that are known this well or better */
    bool whole;     /* counts processes that hang as a whole */
    gordian_snapshot *graph;
    gordian_report report;
    uint32_t
        *process_of;     /* by thread: process of the graph, or SNAPSHOT_NONE: the thread can act */
    uint32_t *thread_of; /* by process of the graph */
    uint32_t process_count;
    uint32_t *resource_of; /* by lock: resource of the graph, or SNAPSHOT_NONE */
    uint32_t *lock_of;     /* by resource of the graph; SNAPSHOT_NONE: the resource that any thread
                              could release */
    uint32_t *units_of;    /* by lock */
    uint32_t gone;         /* the process that represents all ended threads, or SNAPSHOT_NONE */
};

static gordian_status open_judgement(struct judgement *judgement, gordian_error *error)
{
    const struct process_snapshot *snapshot = judgement->snapshot;
    size_t threads = snapshot->threads.count + 2, locks = snapshot->locks.count + 1;
    size_t resources = locks + snapshot->target_count + 1;
    struct {
        uint32_t **list;
        size_t count;
    } lists[] = {{&judgement->process_of, threads},
                 {&judgement->thread_of, threads},
                 {&judgement->resource_of, locks},
                 {&judgement->lock_of, resources},
                 {&judgement->units_of, locks}};
    judgement->gone = SNAPSHOT_NONE;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        *lists[i].list = memory_alloc(&snapshot->memory, lists[i].count * sizeof(uint32_t));
        if (!*lists[i].list)
            return fail_memory(error);
        memset(*lists[i].list, 0xff, lists[i].count * sizeof(uint32_t));
    }
    return gordian_snapshot_open(&judgement->graph, NULL, error);
}

/* ------------------------------------------------------------------ threads that cannot act */

static gordian_status add_process(struct judgement *judgement, uint32_t thread, uint32_t *process,
                                  gordian_error *error)
{
    TRY(gordian_snapshot_add_process(judgement->graph, process, error));
    judgement->thread_of[judgement->process_count++] = thread;
    return GORDIAN_OK;
}

static gordian_status add_processes(struct judgement *judgement, gordian_error *error)
{
    for (uint32_t i = 0; i < judgement->snapshot->threads.count; i++) {
        const struct snapshot_thread *thread = snapshot_thread(judgement->snapshot, i);
        const struct wait_for_edge *wait = snapshot_wait_of(judgement->snapshot, i);
        /* The thread sleeps without a time limit, and has not moved. */
        bool stuck =
            thread->is.steady && (thread->spins || (thread->sleeps && !thread->call.timed));
        if (stuck && wait && wait->word <= judgement->word)
            TRY(add_process(judgement, i, &judgement->process_of[i], error));
    }
    return GORDIAN_OK;
}

static gordian_status add_resource(struct judgement *judgement, uint32_t lock, uint64_t units,
                                   uint32_t *id, gordian_error *error)
{
    TRY(gordian_snapshot_add_resource(judgement->graph, units, id, error));
    judgement->lock_of[*id] = lock;
    return GORDIAN_OK;
}

/* An ended thread never releases anything: it is a process that waits for itself. */
static gordian_status add_ended(struct judgement *judgement, gordian_error *error)
{
    uint32_t resource;
    TRY(add_process(judgement, SNAPSHOT_GONE, &judgement->gone, error));
    TRY(add_resource(judgement, SNAPSHOT_NONE, 1, &resource, error));
    TRY(gordian_snapshot_hold(judgement->graph, judgement->gone, resource, 1, error));
    return gordian_snapshot_wait(judgement->graph, judgement->gone, resource, 1, error);
}

/* ------------------------------------------------------------------ locks */

/* Returns whether the hold is known well enough. */
static bool counts_hold(const struct judgement *judgement, const struct wait_for_edge *edge)
{
    return !(edge->flags & (INCIDENT_WAITS | INCIDENT_COULD)) && edge->word <= judgement->word;
}

/* Adds a lock that has waiters and known holders. */
static gordian_status add_lock(struct judgement *judgement, uint32_t index, gordian_error *error)
{
    struct process_snapshot *snapshot = judgement->snapshot;
    const struct snapshot_lock *lock = snapshot_lock(snapshot, index);
    uint32_t held = 0; /* units, including those of threads that can act */
    for (uint32_t i = lock->first_hold; i != SNAPSHOT_NONE;
         i = snapshot_edge(snapshot, i)->next_hold)
        held += counts_hold(judgement, snapshot_edge(snapshot, i));
    if (held == 0 || judgement->resource_of[index] != SNAPSHOT_NONE)
        return GORDIAN_OK;
    uint32_t units =
        lock->kind == INCIDENT_RWLOCK && lock->facts.units > held ? lock->facts.units : held;
    judgement->units_of[index] = units;
    TRY(add_resource(judgement, index, units, &judgement->resource_of[index], error));
    for (uint32_t i = lock->first_hold; i != SNAPSHOT_NONE;
         i = snapshot_edge(snapshot, i)->next_hold) {
        uint32_t holder = snapshot_edge(snapshot, i)->thread;
        if (!counts_hold(judgement, snapshot_edge(snapshot, i)))
            continue;
        if (holder == SNAPSHOT_GONE && judgement->gone == SNAPSHOT_NONE)
            TRY(add_ended(judgement, error));
        uint32_t process =
            holder == SNAPSHOT_GONE ? judgement->gone : judgement->process_of[holder];
        if (process != SNAPSHOT_NONE)
            TRY(gordian_snapshot_hold(judgement->graph, process, judgement->resource_of[index], 1,
                                      error));
    }
    return GORDIAN_OK;
}

/* Returns whether any thread could end this wait, as far as is known. */
static bool for_anybody(const struct judgement *judgement, const struct wait_for_edge *wait)
{
    return judgement->resource_of[wait->lock] == SNAPSHOT_NONE;
}

static bool is_mpi(const struct process_snapshot *snapshot, uint32_t lock)
{
    uint32_t kind = snapshot_lock(snapshot, lock)->kind;
    return kind == INCIDENT_MESSAGE || kind == INCIDENT_COLLECTIVE;
}

/* Returns the number of units that a wait requests. */
static uint32_t units_wanted(const struct judgement *judgement, const struct wait_for_edge *wait)
{
    const struct snapshot_lock *lock = snapshot_lock(judgement->snapshot, wait->lock);
    uint32_t units = judgement->units_of[wait->lock];
    if (lock->kind == INCIDENT_RWLOCK && wait->mode == INCIDENT_EXCLUSIVE)
        return units;
    if (is_mpi(judgement->snapshot, wait->lock))
        return lock->facts.missing < units ? lock->facts.missing : units;
    return 1;
}

static gordian_status add_waits(struct judgement *judgement, gordian_error *error)
{
    for (uint32_t p = 0; p < judgement->process_count; p++) {
        uint32_t thread = judgement->thread_of[p];
        if (thread == SNAPSHOT_GONE)
            continue;
        const struct wait_for_edge *wait = snapshot_wait_of(judgement->snapshot, thread);
        TRY(add_lock(judgement, wait->lock, error));
        if (!for_anybody(judgement, wait))
            TRY(gordian_snapshot_wait(judgement->graph, p, judgement->resource_of[wait->lock],
                                      units_wanted(judgement, wait), error));
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ processes that hang as a whole
 */

/* Returns whether only a thread of the same process can end this wait. */
static bool is_inward(const struct process_snapshot *snapshot, uint32_t index)
{
    const struct snapshot_thread *thread = snapshot_thread(snapshot, index);
    const struct snapshot_lock *lock = snapshot_awaited_lock(snapshot, index);
    if (!lock || lock->facts.outsiders || (thread->call.kind != CALL_FUTEX && !thread->spins))
        return false;
    return thread->spins || thread->call.is_private || lock->kind == INCIDENT_THREAD_END ||
           target_is_private(snapshot->targets[thread->process], thread->call.address);
}

static bool hangs_whole(const struct judgement *judgement, uint32_t target)
{
    const struct process_snapshot *snapshot = judgement->snapshot;
    uint32_t first = snapshot->threads.first[target], end = snapshot->threads.first[target + 1];
    if (snapshot->grew[target])
        return false;
    for (uint32_t i = first; i < end; i++)
        if (judgement->process_of[i] == SNAPSHOT_NONE || !is_inward(snapshot, i))
            return false;
    return end > first && !target_shares_memory(snapshot->targets[target]);
}

/* Adds the resource that any thread of the process could release: each thread holds a unit. */
static gordian_status add_anybody(struct judgement *judgement, uint32_t target,
                                  gordian_error *error)
{
    struct process_snapshot *snapshot = judgement->snapshot;
    uint32_t first = snapshot->threads.first[target], end = snapshot->threads.first[target + 1];
    uint32_t anybody, threads = end - first;
    TRY(add_resource(judgement, SNAPSHOT_NONE, threads, &anybody, error));
    for (uint32_t i = first; i < end; i++) {
        const struct snapshot_lock *lock = snapshot_awaited_lock(snapshot, i);
        /* The number of other threads that must act before this wait ends. */
        uint32_t needed =
            lock->kind == INCIDENT_BARRIER && lock->facts.missing ? lock->facts.missing : 1;
        uint32_t process = judgement->process_of[i];
        TRY(gordian_snapshot_hold(judgement->graph, process, anybody, 1, error));
        if (for_anybody(judgement, snapshot_wait_of(snapshot, i)))
            TRY(gordian_snapshot_wait(judgement->graph, process, anybody,
                                      needed < threads ? needed : threads, error));
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ findings */

static struct inspect_finding *add_finding(struct judgement *judgement, uint32_t kind)
{
    struct inspect_findings *findings = judgement->findings;
    if (!memory_extend(&findings->memory, findings->list, findings->room, findings->count))
        return NULL;
    struct inspect_finding *finding = &findings->list[findings->count++];
    *finding = (struct inspect_finding){.word = judgement->word, .kind = kind};
    return finding;
}

static bool add_witness(struct judgement *judgement, struct inspect_finding *finding, uint32_t edge)
{
    return add_number(&judgement->findings->memory, finding->edges, finding->edge_count,
                      finding->edge_room, edge);
}

static bool add_member(struct judgement *judgement, struct inspect_finding *finding,
                       uint32_t thread)
{
    return add_number(&judgement->findings->memory, finding->members, finding->member_count,
                      finding->member_room, thread) &&
           add_witness(judgement, finding, snapshot_thread(judgement->snapshot, thread)->wait);
}

/* Adds the edges of a cycle: wait, hold, wait, ... */
static bool take_cycle(struct judgement *judgement, struct inspect_finding *finding,
                       const gordian_part *part)
{
    size_t count = part->process_count;
    finding->cycle = true;
    for (size_t i = 0; i < count; i++) {
        uint32_t holder = judgement->thread_of[part->processes[(i + 1) % count]];
        uint32_t lock = judgement->lock_of[part->resources[i]];
        uint32_t hold = lock == SNAPSHOT_NONE
                            ? SNAPSHOT_NONE
                            : snapshot_find_hold(judgement->snapshot, lock, holder);
        if (!add_member(judgement, finding, judgement->thread_of[part->processes[i]]))
            return false;
        if (hold == SNAPSHOT_NONE)
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

/* A member could have ended the wait of another one. */
static bool add_could(struct judgement *judgement, struct inspect_finding *finding, uint32_t thread,
                      const struct wait_for_edge *wait)
{
    struct process_snapshot *snapshot = judgement->snapshot;
    const struct wait_for_edge edge = {.thread = thread,
                                       .lock = wait->lock,
                                       .mode = wait->mode,
                                       .flags = INCIDENT_COULD,
                                       .word = WORD_PROVED,
                                       .next_hold = SNAPSHOT_NONE};
    uint32_t number = edges_add(&snapshot->edges, &snapshot->memory, &edge);
    return number != SNAPSHOT_NONE && add_witness(judgement, finding, number);
}

/* Adds members that could have ended waits of others if they were not stuck; once for each lock. */
static bool take_could(struct judgement *judgement, struct inspect_finding *finding)
{
    struct process_snapshot *snapshot = judgement->snapshot;
    size_t members = finding->member_count;
    for (size_t i = 0; i < members; i++) {
        const struct wait_for_edge wait = *snapshot_wait_of(snapshot, finding->members[i]);
        /* Any thread may signal these. The others are locks, which have a holder. */
        uint32_t kind = snapshot_lock(snapshot, wait.lock)->kind;
        bool signalled = kind == INCIDENT_CONDITION || kind == INCIDENT_SEMAPHORE ||
                         kind == INCIDENT_FUTEX || kind == INCIDENT_BARRIER;
        bool first = for_anybody(judgement, &wait) && signalled;
        for (size_t k = 0; k < i && first; k++)
            first = snapshot_wait_of(snapshot, finding->members[k])->lock != wait.lock;
        uint32_t named = 0;
        for (size_t k = 0; first && k < members && named < COULD_MOST; k++) {
            uint32_t other = finding->members[k];
            if (snapshot_wait_of(snapshot, other)->lock == wait.lock ||
                snapshot_find_hold(snapshot, wait.lock, other) != SNAPSHOT_NONE)
                continue; /* waits for it, or is already listed */
            if (!add_could(judgement, finding, other, &wait))
                return false;
            named++;
        }
    }
    return true;
}

/* Adds likely holders of locks that do not name them. They are not part of the proof, but a reader
 * of the report wants to know them. */
static bool take_likely(struct judgement *judgement, struct inspect_finding *finding)
{
    const struct process_snapshot *snapshot = judgement->snapshot;
    for (size_t i = 0; i < finding->member_count; i++) {
        const struct wait_for_edge *wait = snapshot_wait_of(snapshot, finding->members[i]);
        bool first = for_anybody(judgement, wait);
        for (size_t k = 0; k < i && first; k++)
            first = snapshot_wait_of(snapshot, finding->members[k])->lock != wait->lock;
        for (uint32_t hold = first ? snapshot_lock(snapshot, wait->lock)->first_hold
                                   : SNAPSHOT_NONE;
             hold != SNAPSHOT_NONE; hold = snapshot_edge(snapshot, hold)->next_hold)
            if (is_member(finding, snapshot_edge(snapshot, hold)->thread) &&
                !add_witness(judgement, finding, hold))
                return false;
    }
    return true;
}

/* Adds all waits of the members, and their holds on the locks. */
static bool take_knot(struct judgement *judgement, struct inspect_finding *finding,
                      const gordian_part *part)
{
    const gordian_edge *edges;
    size_t count;
    if (gordian_snapshot_edges(judgement->graph, part, &edges, &count, NULL) != GORDIAN_OK)
        return false;
    for (size_t i = 0; i < part->process_count; i++)
        if (!add_member(judgement, finding, judgement->thread_of[part->processes[i]]))
            return false;
    for (size_t i = 0; i < count; i++) {
        uint32_t lock = judgement->lock_of[edges[i].resource];
        uint32_t thread = judgement->thread_of[edges[i].process];
        uint32_t hold = edges[i].waits || lock == SNAPSHOT_NONE
                            ? SNAPSHOT_NONE
                            : snapshot_find_hold(judgement->snapshot, lock, thread);
        if (hold != SNAPSHOT_NONE && !add_witness(judgement, finding, hold))
            return false;
    }
    return take_likely(judgement, finding) && take_could(judgement, finding);
}

/* Returns whether one of these threads is part of an earlier, better known finding. */
static bool is_reported(const struct judgement *judgement, const gordian_part *part)
{
    const struct inspect_findings *findings = judgement->findings;
    for (size_t i = 0; i < findings->count; i++)
        for (size_t k = 0; k < part->process_count; k++)
            if (is_member(&findings->list[i], judgement->thread_of[part->processes[k]]))
                return true;
    return false;
}

/* Returns whether a rank of an MPI program is part of the finding. */
static bool waits_for_ranks(const struct process_snapshot *snapshot,
                            const struct inspect_finding *finding)
{
    for (size_t i = 0; i < finding->member_count; i++)
        if (is_mpi(snapshot, snapshot_wait_of(snapshot, finding->members[i])->lock))
            return true;
    return false;
}

/* Returns the argument as a sentence, and the reason why it is not proved. */
static const char *argue(const struct judgement *judgement, const struct inspect_finding *finding,
                         bool anybody, const struct policy *policy)
{
    struct process_snapshot *snapshot = judgement->snapshot;
    const struct target *target =
        snapshot_target(snapshot, snapshot_thread(snapshot, finding->members[0])->process);
    const char *looked = target->core ? "in the core" : "checked twice, nothing moved";
    if (waits_for_ranks(snapshot, finding))
        return "The waits are derived from the record of each rank: what it sent, what it "
               "received, "
               "which calls it is in (checked twice, no rank has moved).";
    const char *argument =
        anybody ? "Every thread of the process sleeps without a time limit, in a wait that only "
                  "another one of them can end"
        : judgement->word == WORD_LIKELY
            ? "Some holders are not stored in the locks; the evidence for each is given below"
            : "The owners are read from the locks themselves";
    if (policy->word == POLICY_LIKELY && judgement->word == WORD_PROVED)
        return snapshot_format(snapshot, "%s (%s). Not proved: %s.", argument, looked, policy->why);
    return snapshot_format(snapshot, "%s (%s).", argument, looked);
}

/* A likely finding becomes proved if no thread is left that could act. */
static void confirm_reported(struct judgement *judgement, const gordian_part *part, bool ends)
{
    struct inspect_findings *findings = judgement->findings;
    for (size_t i = 0; i < findings->count; i++)
        for (size_t k = 0; k < part->process_count && findings->list[i].word == WORD_LIKELY; k++)
            if (is_member(&findings->list[i], judgement->thread_of[part->processes[k]])) {
                findings->list[i].word = WORD_PROVED;
                findings->list[i].ends = ends;
                findings->list[i].note =
                    "Every thread of the process sleeps without a time limit, in a wait that only "
                    "another one of them can end: no thread is left to act. The evidence for each "
                    "holder is given below.";
            }
}

/* Returns whether the thread can never continue, according to this judgement. */
static bool is_dead(const struct judgement *judgement, uint32_t thread)
{
    uint32_t process = judgement->process_of[thread];
    for (size_t i = 0; i < judgement->report.deadlocked_count && process != SNAPSHOT_NONE; i++)
        if (judgement->report.deadlocked[i] == process)
            return true;
    return false;
}

/* Returns whether the process of one of these threads has a thread that may still act. */
static bool others_run(const struct judgement *judgement, const uint32_t *threads, size_t count)
{
    const struct process_snapshot *snapshot = judgement->snapshot;
    for (size_t i = 0; i < count; i++) {
        uint32_t process = snapshot_thread(snapshot, threads[i])->process;
        for (uint32_t k = SNAPSHOT_NONE; snapshot_next_thread(snapshot, process, &k);)
            if (!is_dead(judgement, k))
                return true;
    }
    return false;
}

/* Returns whether a lock may be used as a signal: a thread waits for a lock that it holds itself,
 * or waits for the end of a thread that waits for a lock. */
static bool is_gate(const struct process_snapshot *snapshot, const uint32_t *threads, size_t count)
{
    bool locks = false, joins = false;
    for (size_t i = 0; i < count; i++) {
        const struct snapshot_lock *lock = snapshot_awaited_lock(snapshot, threads[i]);
        /* Only their owners can unlock the other kinds. */
        locks = locks || (lock->kind <= INCIDENT_SPIN &&
                          !(lock->facts.flags & (INCIDENT_RECURSIVE | INCIDENT_ERRORCHECK |
                                                 INCIDENT_ROBUST | INCIDENT_INHERIT)));
        joins = joins || lock->kind == INCIDENT_THREAD_END;
    }
    return locks && (joins || count == 1);
}

/* Asks the policy about threads that wait for each other, or for an ended owner. */
static struct policy weigh_threads(struct judgement *judgement, enum policy_argument argument,
                                   const uint32_t *threads, size_t count, const bool *held)
{
    bool cycle = argument == POLICY_CYCLE || argument == POLICY_SELF;
    struct facts_about about = {
        .argument = argument,
        .evidence = judgement->word == WORD_LIKELY,
        .others_run = others_run(judgement, threads, count),
        .gate = cycle && is_gate(judgement->snapshot, threads, count),
        .threads = threads,
        .count = count,
        .held = held,
    };
    struct policy_facts facts = facts_gather(judgement->snapshot, &about);
    return policy_decide(&facts);
}

/* Asks the policy about a component of the graph. `anybody`: any thread could end some of the
 * waits. False: out of memory. */
static bool weigh_part(struct judgement *judgement, const gordian_part *part, struct policy *policy,
                       bool *anybody)
{
    const struct process_snapshot *snapshot = judgement->snapshot;
    size_t count = part->process_count;
    uint32_t *threads = memory_alloc(&snapshot->memory, count * sizeof *threads);
    bool *held = memory_alloc(&snapshot->memory, count * sizeof *held);
    bool done = threads && held;
    *anybody = false;
    for (size_t i = 0; i < count && done; i++) {
        threads[i] = judgement->thread_of[part->processes[i]];
        held[i] = !for_anybody(judgement, snapshot_wait_of(snapshot, threads[i]));
        *anybody = *anybody || !held[i];
    }
    if (done)
        *policy = weigh_threads(judgement,
                                *anybody     ? POLICY_NONE_LEFT
                                : count == 1 ? POLICY_SELF
                                             : POLICY_CYCLE,
                                threads, count, held);
    memory_free_all(&snapshot->memory, threads, held);
    return done;
}

static bool take_part(struct judgement *judgement, const gordian_part *part)
{
    struct policy policy;
    bool anybody;
    if (!weigh_part(judgement, part, &policy, &anybody))
        return false;
    if (policy.word == POLICY_NOTHING)
        return true;
    if (is_reported(judgement, part)) {
        if (judgement->whole && policy.word == POLICY_PROVED)
            confirm_reported(judgement, part, policy.ends);
        return true;
    }
    struct inspect_finding *finding = add_finding(judgement, INCIDENT_DEADLOCK);
    if (!finding)
        return false;
    finding->word = policy.word == POLICY_LIKELY ? WORD_LIKELY : WORD_PROVED;
    finding->ends = policy.ends;
    if (part->cycle ? !take_cycle(judgement, finding, part) : !take_knot(judgement, finding, part))
        return false;
    finding->note = argue(judgement, finding, anybody, &policy);
    return true;
}

/* Adds a thread that waits for an ended owner. */
static bool take_orphan(struct judgement *judgement, uint32_t thread, uint32_t lock, uint32_t hold)
{
    static const bool held = true;
    struct process_snapshot *snapshot = judgement->snapshot;
    struct policy policy = weigh_threads(judgement, POLICY_ENDED, &thread, 1, &held);
    if (policy.word == POLICY_NOTHING)
        return true;
    struct inspect_finding *finding = add_finding(judgement, INCIDENT_OWNER_GONE);
    if (!finding || !add_member(judgement, finding, thread) ||
        !add_witness(judgement, finding, hold))
        return false;
    if (is_mpi(snapshot, lock)) {
        finding->ends = policy.ends;
        finding->note = "A rank that another one waits for has left: it has ended, or has "
                        "completed MPI_Finalize.";
        return true;
    }
    finding->word = policy.word == POLICY_LIKELY ? WORD_LIKELY : WORD_PROVED;
    finding->ends = policy.ends;
    finding->note =
        "The owner is not a thread of the process: it has ended, or belongs to the process "
        "that this one was forked from.";
    if (policy.word == POLICY_LIKELY)
        finding->note = snapshot_format(snapshot, "%s Not proved: %s.", finding->note, policy.why);
    return true;
}

/* Adds all threads that wait for ended owners. */
static bool take_orphans(struct judgement *judgement)
{
    struct process_snapshot *snapshot = judgement->snapshot;
    for (uint32_t p = 0; p < judgement->process_count; p++) {
        uint32_t thread = judgement->thread_of[p];
        if (thread == SNAPSHOT_GONE)
            continue;
        uint32_t lock = snapshot_wait_of(snapshot, thread)->lock;
        uint32_t hold = snapshot_find_hold(snapshot, lock, SNAPSHOT_GONE);
        bool covered =
            hold == SNAPSHOT_NONE || snapshot_edge(snapshot, hold)->word > judgement->word;
        for (size_t i = 0; i < judgement->findings->count && !covered; i++)
            for (size_t k = 0; k < judgement->findings->list[i].edge_count && !covered; k++)
                covered = judgement->findings->list[i].edges[k] == hold;
        /* Ranks that wait for ended ranks make one finding: the first of them, and the ranks
         * blocked behind it. */
        for (size_t i = 0; i < judgement->findings->count && !covered && is_mpi(snapshot, lock);
             i++)
            covered = waits_for_ranks(snapshot, &judgement->findings->list[i]);
        if (!covered && !take_orphan(judgement, thread, lock, hold))
            return false;
    }
    return true;
}

/* Adds the threads that are blocked behind a deadlock to the first finding of their process. */
static bool take_behind(struct judgement *judgement, size_t first)
{
    struct inspect_findings *findings = judgement->findings;
    const struct process_snapshot *snapshot = judgement->snapshot;
    for (size_t i = 0; i < judgement->report.deadlocked_count; i++) {
        uint32_t thread = judgement->thread_of[judgement->report.deadlocked[i]];
        struct inspect_finding *home = NULL;
        bool member = thread == SNAPSHOT_GONE;
        for (size_t k = 0; k < findings->count && !member; k++) {
            member = is_member(&findings->list[k], thread);
            if (k >= first && !home &&
                (snapshot_thread(snapshot, findings->list[k].members[0])->process ==
                     snapshot_thread(snapshot, thread)->process ||
                 is_mpi(snapshot, snapshot_wait_of(snapshot, thread)->lock)))
                home = &findings->list[k];
        }
        if (!member && home &&
            !add_number(&findings->memory, home->behind, home->behind_count, home->behind_room,
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
            gone = gone || judgement->thread_of[part->processes[k]] == SNAPSHOT_GONE;
        if (!gone && !take_part(judgement, part))
            return fail_memory(error);
    }
    if (!take_orphans(judgement) || !take_behind(judgement, first) || judgement->snapshot->failed)
        return fail_memory(error);
    return GORDIAN_OK;
}

/* Returns whether a finding of this process is already proved. */
static bool has_proof(const struct process_snapshot *snapshot,
                      const struct inspect_findings *findings, uint32_t process)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->list[i].word == WORD_PROVED &&
            snapshot_thread(snapshot, findings->list[i].members[0])->process == process)
            return true;
    return false;
}

/* `whole`: also judge processes as a whole, if none of their findings is proved. */
static gordian_status judge_once(struct process_snapshot *snapshot,
                                 struct inspect_findings *findings, enum word word, bool whole,
                                 gordian_error *error)
{
    struct judgement judgement = {
        .snapshot = snapshot, .findings = findings, .word = word, .whole = whole};
    gordian_status status = open_judgement(&judgement, error);
    THEN(status, add_processes(&judgement, error));
    THEN(status, add_waits(&judgement, error));
    for (uint32_t i = 0; whole && i < snapshot_target_count(snapshot) && status == GORDIAN_OK; i++)
        if (!has_proof(snapshot, findings, i) && hangs_whole(&judgement, i))
            status = add_anybody(&judgement, i, error);
    THEN(status, gordian_snapshot_check(judgement.graph, &judgement.report, error));
    if (status == GORDIAN_OK) {
        findings->engine = judgement.report.engine;
        status = collect_findings(&judgement, error);
    }
    gordian_snapshot_close(judgement.graph);
    memory_free_all(&judgement.snapshot->memory, judgement.process_of, judgement.thread_of,
                    judgement.resource_of, judgement.units_of, judgement.lock_of);
    return status;
}

static bool has_likely(const struct process_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->edges.count; i++)
        if (snapshot_edge(snapshot, i)->word == WORD_LIKELY)
            return true;
    return false;
}

/* Judges first by the owners in the locks, then with likely holders, and last by whole processes:
 * the holders of locks are more useful to the reader than the fact that no thread is left. */
gordian_status judge_snapshot(struct process_snapshot *snapshot, struct inspect_findings *findings,
                              gordian_error *error)
{
    TRY(judge_once(snapshot, findings, WORD_PROVED, false, error));
    if (has_likely(snapshot))
        TRY(judge_once(snapshot, findings, WORD_LIKELY, false, error));
    TRY(judge_once(snapshot, findings, WORD_PROVED, true, error));
    if (has_likely(snapshot))
        TRY(judge_once(snapshot, findings, WORD_LIKELY, true, error));
    return GORDIAN_OK;
}
