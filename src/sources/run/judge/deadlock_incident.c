#include "sources/run/judge/deadlock_incident.h"

#include "sources/run/graph/lock_copy.h"
#include "sources/run/graph/owner.h"
#include "sources/run/libc/lock_layout.h"
#include "sources/run/report/incident_builder.h"
#include "sources/run/state/hash.h"
#include "sources/run/state/proc_files.h"
#include "sources/run/state/system_call.h"
#include "sources/run/state/text.h"
#include "sources/run/threads/held_locks.h"

#include <string.h>

/* A sum, so that it is equal for equal places in any order of threads. */
static uint64_t deadlock_signature(const struct wait_snapshot *view, const gordian_part *part)
{
    uint64_t sum = INCIDENT_DEADLOCK;
    for (size_t i = 0; i < part->process_count; i++) {
        if (part->processes[i] >= view->count)
            continue;
        const struct observed_wait *look = &view->looks[part->processes[i]];
        const struct thread *t = look->thread;
        uint64_t one = stir_hash(look->kind + 16u * look->mode + 256u * t->wait.frame[0]);
        const struct held *held;
        uint32_t count = others_holds(t, &held);
        for (uint32_t k = 0; k < count; k++)
            if (held[k].frames)
                one += stir_hash(held[k].frame[0]);
        sum += stir_hash(one);
    }
    return sum;
}

bool is_known_deadlock(const struct wait_snapshot *view, const gordian_part *part)
{
    uint64_t signature = deadlock_signature(view, part);
    return notice_known(signature) || notice_known(stir_hash(signature));
}

/* ------------------------------------------------------------------ edges of a deadlock */

static void witness_edge(struct incident_builder *builder, uint32_t thread, uintptr_t lock,
                         uint32_t kind, uint32_t mode, uint32_t flags, uint32_t units)
{
    struct incident_edge edge = {.thread = thread,
                                 .lock = builder_lock(builder, lock, kind, 0),
                                 .mode = mode,
                                 .flags = flags | INCIDENT_WITNESS,
                                 .units = units,
                                 .outer = INCIDENT_NONE};
    builder_edge(builder, &edge);
}

/* Adds the hold behind an edge of the graph: the recorded one, or one derived from the lock. */
static void witness_hold(struct incident_builder *builder, const struct wait_snapshot *view,
                         uint32_t process, uint32_t resource, uint64_t units)
{
    const struct resource *what = &view->resources[resource];
    struct thread *t = view->looks[process].thread;
    uint32_t thread = builder_thread(builder, t, INCIDENT_STUCK);
    const struct held *hold = NULL;
    uint32_t mode = what->mode;
    if (what->kind == INCIDENT_THREAD_END)
        mode = INCIDENT_END;
    else if (mode != INCIDENT_QUEUED)
        units_of_lock(t, what->lock, mode, &hold);
    if (hold) {
        builder_hold(builder, thread, hold, INCIDENT_WITNESS);
        return;
    }
    witness_edge(builder, thread, what->lock, what->kind, mode, 0, (uint32_t)units);
}

static void witness_wait(struct incident_builder *builder, const struct wait_snapshot *view,
                         uint32_t process)
{
    builder_thread(builder, view->looks[process].thread, INCIDENT_STUCK);
    builder_wait(builder, &view->looks[process], INCIDENT_WITNESS);
}

/* Adds a cycle that starts at thread `t`: wait, hold, wait, ... */
static void add_wait_cycle(struct incident_builder *builder, const struct wait_snapshot *view,
                           const gordian_part *part, const struct thread *t)
{
    size_t start = 0, count = part->process_count;
    for (size_t i = 0; i < count; i++)
        if (view->looks[part->processes[i]].thread == t)
            start = i;
    for (size_t i = 0; i < count; i++) {
        size_t at = (start + i) % count, next = (start + i + 1) % count;
        witness_wait(builder, view, part->processes[at]);
        witness_hold(builder, view, part->processes[next], part->resources[at], 1);
    }
    builder->header.cycle = 1;
}

#define MOST_COULD 32 /* limit of threads that are named as able to signal a condition */

/* Adds members that could have ended waits of others if they were not stuck. */
static void add_candidates(struct incident_builder *builder, const struct wait_snapshot *view,
                           const gordian_part *part)
{
    for (size_t i = 0; i < part->process_count; i++) {
        const struct observed_wait *look = &view->looks[part->processes[i]];
        bool first = waits_for_anybody(look);
        for (size_t k = 0; k < i && first; k++)
            first = view->looks[part->processes[k]].lock != look->lock;
        uint32_t named = 0;
        for (size_t k = 0; first && k < part->process_count && named < MOST_COULD; k++) {
            const struct observed_wait *other = &view->looks[part->processes[k]];
            if (other->lock == look->lock)
                continue;
            witness_edge(builder, builder_thread(builder, other->thread, INCIDENT_STUCK),
                         look->lock, look->kind, look->mode, INCIDENT_COULD, 1);
            named++;
        }
    }
}

/* Adds all waits of the members, and their holds on the locks. */
static void add_component(struct incident_builder *builder, const struct wait_snapshot *view,
                          const gordian_part *part)
{
    const gordian_edge *edges;
    size_t count;
    if (gordian_snapshot_edges(view->snapshot, part, &edges, &count, NULL) != GORDIAN_OK) {
        builder->failed = true;
        return;
    }
    for (size_t i = 0; i < part->process_count; i++)
        witness_wait(builder, view, part->processes[i]);
    for (size_t i = 0; i < count; i++)
        if (!edges[i].waits && edges[i].resource != view->anybody)
            witness_hold(builder, view, edges[i].process, edges[i].resource, edges[i].units);
    if (view->anybody != GORDIAN_NONE)
        add_candidates(builder, view, part);
}

/* Adds the threads that are blocked behind the deadlock, and all other holds of the threads in the
 * report. */
static void add_blocked_threads(struct incident_builder *builder, const struct wait_snapshot *view)
{
    size_t named = builder->thread_count, members = 0, dead = view->report.deadlocked_count;
    for (size_t i = 0; i < view->report.deadlocked_count; i++)
        dead -= view->report.deadlocked[i] >=
                view->count; /* the process that represents ended threads */
    for (size_t i = 0; i < named; i++)
        members += builder->threads[i].wait != INCIDENT_NONE;
    builder->header.behind = dead > members ? (uint32_t)(dead - members) : 0;
    for (uint32_t p = 0; p < view->count && builder->thread_count < named + 256; p++) {
        struct thread *t = view->looks[p].thread;
        bool there = false;
        for (size_t i = 0; i < named && !there; i++)
            there = builder->records[i] == t && builder->threads[i].wait != INCIDENT_NONE;
        if (!there && wait_snapshot_is_dead(view, p)) {
            builder_thread(builder, t, INCIDENT_STUCK);
            builder_wait(builder, &view->looks[p], 0);
        }
    }
    for (size_t i = 0; i < builder->thread_count; i++)
        if (builder->records[i])
            builder_holds(builder, builder->records[i]);
}

/* Decides on the action first, since the incident contains it. Returns whether the finding is new.
 */
static bool is_new(struct notice *notice, uint32_t kind, uint64_t signature, struct thread *t,
                   const struct policy *policy)
{
    bool likely = policy->word == POLICY_LIKELY;
    bool spared = likely || (!policy->ends && watch.on_deadlock == INCIDENT_ABORT);
    fold_add(notice, kind, likely ? stir_hash(signature) : signature);
    notice->likely = notice->likely || likely;
    notice->action = spared && !watch.abort_likely ? INCIDENT_GO_ON : watch.on_deadlock;
    /* Not every wait can fail with EDEADLK. */
    bool breaks =
        t && t == self && t->wait.kind != INCIDENT_CONDITION && t->wait.kind != INCIDENT_BARRIER;
    if (notice->action == INCIDENT_BREAK && !breaks)
        notice->action = INCIDENT_GO_ON;
    return !notice->again;
}

static void note_policy(struct incident_builder *builder, const struct policy *policy)
{
    struct incident *header = &builder->header;
    char buffer[200];
    struct text note;
    if (policy->word == POLICY_LIKELY) {
        text_open(&note, buffer, sizeof buffer);
        text_add_all(&note, "not proved: ", policy->why);
        header->word = INCIDENT_LIKELY;
        header->note = builder_string(builder, buffer);
    } else if (!policy->ends && watch.on_deadlock == INCIDENT_ABORT && !watch.abort_likely) {
        header->note = builder_string(builder, policy_spares);
    }
}

static void finish_incident(struct incident_builder *builder, struct thread *t,
                            const struct policy *policy, struct notice *notice)
{
    struct incident *header = &builder->header;
    note_policy(builder, policy);
    header->action = notice->action;
    header->teller = self ? self->tid : sys_gettid();
    header->helper = atomic_load(&watch.helper_tid);
    header->number = notice->number;
    header->signature = notice->signature;
    if (t)
        header->first = builder_thread(builder, t, 0);
    header->engine = builder_string(builder, "sparse");
    notice->fd = builder_write(builder);
}

void incident_of_deadlock(const struct wait_snapshot *view, const gordian_part *part,
                          struct thread *t, const struct policy *policy, struct notice *notice)
{
    struct incident_builder builder;
    if (!is_new(notice, INCIDENT_DEADLOCK, deadlock_signature(view, part), t, policy))
        return;
    builder_open(&builder, view->arena, INCIDENT_DEADLOCK);
    /* The resource that any thread could release is not a lock, and has no owner. */
    bool cycle = part->cycle;
    for (size_t i = 0; i < part->process_count && view->anybody != GORDIAN_NONE; i++)
        cycle = cycle && part->resources[i] != view->anybody;
    if (cycle)
        add_wait_cycle(&builder, view, part, t);
    else
        add_component(&builder, view, part);
    add_blocked_threads(&builder, view);
    finish_incident(&builder, t, policy, notice);
}

/* ------------------------------------------------------------------ an owner that has ended */

static uint32_t owner_tid(const struct observed_wait *look)
{
    union lock_copy copy;
    if (!lock_copy(look->lock, look->kind, &copy))
        return 0;
    if (look->kind == INCIDENT_MUTEX)
        return mutex_owner(&copy.mutex);
    return look->kind == INCIDENT_RWLOCK ? (uint32_t)copy.rwlock.__data.__cur_writer : 0;
}

/* Adds what the owner held, and where it was taken, when it ended or was left in the parent. */
static void add_orphan_owner(struct incident_builder *builder, const struct orphan *orphan)
{
    uint32_t owner = builder_stranger(builder, orphan->tid, orphan->name, INCIDENT_ENDED);
    builder_hold(builder, owner, &orphan->held, INCIDENT_WITNESS);
    if (orphan->forked)
        builder->header.note = builder_string(
            builder, "the owner is a thread of the parent process: it held the lock when "
                     "the process forked, and does not exist in the child");
}

/* Adds an owner of which only the ID is known. */
static void add_unknown_owner(struct incident_builder *builder, const struct observed_wait *look,
                              uint32_t tid)
{
    struct region region;
    bool ours = maps_find(look->lock, &region) && !region.shared;
    uint32_t owner = builder_stranger(builder, tid, "",
                                      INCIDENT_ENDED | (ours ? 0 : (uint32_t)INCIDENT_FOREIGN));
    witness_edge(builder, owner, look->lock, look->kind, INCIDENT_EXCLUSIVE, 0, 1);
    builder->header.note = builder_string(
        builder, ours ? "the owner has ended, or belongs to the process that this one "
                        "was forked from"
                      : "the owner was a thread of another process, which has ended");
}

void incident_of_ended_owner(const struct wait_snapshot *view, struct thread *t,
                             const struct policy *policy, struct notice *notice)
{
    const struct observed_wait *look = &view->looks[wait_snapshot_process(view, t)];
    struct orphan orphan;
    struct incident_builder builder;
    uint32_t tid = owner_tid(look);
    bool known = orphan_of(look->lock, tid, &orphan);
    uint64_t signature =
        stir_hash(INCIDENT_OWNER_GONE + 16u * look->kind + 256u * t->wait.frame[0]);
    if (known && orphan.held.frames)
        signature += stir_hash(orphan.held.frame[0]);
    if (!is_new(notice, INCIDENT_OWNER_GONE, signature, t, policy))
        return;
    builder_open(&builder, view->arena, INCIDENT_OWNER_GONE);
    builder_thread(&builder, t, INCIDENT_STUCK);
    builder_wait(&builder, look, INCIDENT_WITNESS);
    if (known)
        add_orphan_owner(&builder, &orphan);
    else
        add_unknown_owner(&builder, look, tid);
    add_blocked_threads(&builder, view);
    finish_incident(&builder, t, policy, notice);
}
