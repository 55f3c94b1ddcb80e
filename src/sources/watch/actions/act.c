/* Ends deadlocks: cancels the statement of the victim, then terminates its session. */
#include "sources/watch/actions/act.h"

#include <stdio.h>
#include <string.h>

#define MILLISECOND UINT64_C(1000000)
#define GRACE_NS    (2000 * MILLISECOND)
#define MARGIN_NS   (500 * MILLISECOND) /* added to the time of a server's own detector */
#define MEMORY_NS   (60000 * MILLISECOND)
#define TRIES_MOST  5 /* orders for one cycle that arrived after its end */

void acts_open(struct acts *acts, const gordian_allocator *memory)
{
    *acts = (struct acts){.memory = *memory, .grace_ns = GRACE_NS};
}

static void free_act(const struct acts *acts, struct act *act)
{
    memory_free_all(&acts->memory, act->members, act->cycle, act->waiters);
}

void acts_close(struct acts *acts)
{
    for (size_t i = 0; i < acts->count; i++)
        free_act(acts, &acts->list[i]);
    memory_free(&acts->memory, acts->list);
    *acts = (struct acts){.memory = acts->memory};
}

void acts_forget(struct acts *acts, uint64_t now)
{
    size_t kept = 0;
    for (size_t i = 0; i < acts->count; i++) {
        if (acts->list[i].state == ACT_ENDED && now - acts->list[i].seen > MEMORY_NS)
            free_act(acts, &acts->list[i]);
        else
            acts->list[kept++] = acts->list[i];
    }
    acts->count = kept;
}

bool acts_pending(const struct acts *acts)
{
    for (size_t i = 0; i < acts->count; i++)
        if (acts->list[i].state != ACT_ENDED)
            return true;
    return false;
}

/* ------------------------------------------------------------------ finding an action */

static const struct edge *arrow_edge(const struct session_edge *arrow,
                                     struct source *const *sources)
{
    return arrow->edge == SCAN_NONE ? NULL : &sources[arrow->from.source]->scan.edges[arrow->edge];
}

/* Returns a sum, so that the result does not depend on where the cycle begins. */
static uint64_t cycle_request(const struct deadlock *deadlock, struct source *const *sources)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < deadlock->cycle_count; i++) {
        const struct edge *edge = arrow_edge(&deadlock->cycle[i], sources);
        if (edge)
            sum += hash_stir(edge->request, deadlock->cycle[i].from.source + 1);
    }
    return sum;
}

static uint64_t member_key(struct member member, struct source *const *sources)
{
    return hash_stir(scan_identity(member_session(sources, member)), member.source + 1);
}

static bool shares_member(const struct act *act, const struct deadlock *deadlock,
                          struct source *const *sources)
{
    for (size_t i = 0; i < deadlock->member_count; i++) {
        uint64_t key = member_key(deadlock->members[i], sources);
        for (size_t k = 0; k < act->member_count; k++)
            if (act->members[k] == key)
                return true;
    }
    return false;
}

/* Returns the action in progress for one of the sessions; otherwise an action that has ended and
 * had the same requests; NULL if there is none. */
static struct act *find_act(struct acts *acts, const struct deadlock *deadlock,
                            struct source *const *sources, uint64_t request)
{
    struct act *ended = NULL;
    for (size_t i = 0; i < acts->count; i++) {
        struct act *act = &acts->list[i];
        if (act->state != ACT_ENDED && shares_member(act, deadlock, sources))
            return act;
        if (act->state == ACT_ENDED && act->request == request)
            ended = act;
    }
    return ended;
}

/* ------------------------------------------------------------------ starting an action */

/* Replaces a list by one of another length. NULL: out of memory, and the old list stays. */
static void *renew_list(const struct acts *acts, void *list, size_t count, size_t size)
{
    void *made = memory_alloc(&acts->memory, (count + 1) * size);
    if (made)
        memory_free(&acts->memory, list);
    return made;
}

/* When may a deadlock be ended? A server's own detector goes first if the cycle is within one
 * server. It runs a fixed time after the last wait began, which was not after we first saw that
 * wait. */
static uint64_t detector_due(const struct deadlock *deadlock, struct source *const *sources)
{
    const struct source *source = sources[deadlock->cycle[0].from.source];
    uint64_t last = 0;
    for (size_t i = 0; i < deadlock->cycle_count; i++) {
        const struct edge *edge = arrow_edge(&deadlock->cycle[i], sources);
        if (!edge || sources[deadlock->cycle[i].from.source] != source)
            return 0;
        last = edge->since > last ? edge->since : last;
    }
    uint64_t patience = source->facts.detects_ns + source->facts.detects_ns / 2 + MARGIN_NS;
    return source->facts.detects ? last + patience : 0;
}

/* Stores the current cycle in the action. */
static bool take_deadlock(const struct acts *acts, struct act *act, const struct deadlock *deadlock,
                          struct source *const *sources, uint64_t request, uint64_t earliest)
{
    uint64_t detector = detector_due(deadlock, sources);
    act->request = request;
    act->due = detector > earliest ? detector : earliest;
    uint64_t *members =
        renew_list(acts, act->members, deadlock->member_count, sizeof *act->members);
    if (!members)
        return false;
    act->members = members;
    act->member_count = deadlock->member_count;
    for (size_t i = 0; i < deadlock->member_count; i++)
        members[i] = member_key(deadlock->members[i], sources);
    struct act_edge *cycle =
        renew_list(acts, act->cycle, deadlock->cycle_count, sizeof *act->cycle);
    if (!cycle)
        return false;
    act->cycle = cycle;
    act->cycle_count = 0;
    for (size_t i = 0; i < deadlock->cycle_count; i++) {
        const struct edge *edge = arrow_edge(&deadlock->cycle[i], sources);
        if (edge)
            cycle[act->cycle_count++] =
                (struct act_edge){deadlock->cycle[i].from.source, edge->key};
    }
    return true;
}

static bool begin_act(struct acts *acts, const struct deadlock *deadlock,
                      struct source *const *sources, uint64_t request, uint64_t now)
{
    if (!memory_extend(&acts->memory, acts->list, acts->capacity, acts->count))
        return false;
    struct act *act = &acts->list[acts->count++];
    *act = (struct act){.remedy = acts->first, .seen = now};
    return take_deadlock(acts, act, deadlock, sources, request, now);
}

/* Continues an action that had ended, for the same requests. If the statement was cancelled and
 * waits again, it caught the error, so cancelling does not help. */
static bool begin_again(const struct acts *acts, struct act *act, const struct deadlock *deadlock,
                        struct source *const *sources, uint64_t now, enum act_event *event)
{
    uint64_t earliest = now;
    if (act->last == ACT_REFUSED || act->last == ACT_STAYED || act->tries >= TRIES_MOST)
        return true;
    if (act->last == ACT_GONE && act->remedy == REMEDY_TERMINATE)
        return true; /* its session will end soon */
    if (act->last == ACT_GONE) {
        act->remedy = REMEDY_TERMINATE;
        earliest = act->sent + acts->grace_ns > now ? act->sent + acts->grace_ns : now;
        *event = ACT_ESCALATES;
    }
    act->state = ACT_WAITING;
    return take_deadlock(acts, act, deadlock, sources, act->request, earliest);
}

/* ------------------------------------------------------------------ progress */

/* Has every server of the cycle been scanned since then? Requests early scans of the others.
 * Inspected processes are scanned together with the servers. */
static bool is_fresh(const struct deadlock *deadlock, struct source *const *sources, uint64_t since,
                     uint64_t now)
{
    bool fresh = true;
    for (size_t i = 0; i < deadlock->cycle_count; i++) {
        struct source *source = sources[deadlock->cycle[i].from.source];
        if (source->inspector || source->scan.asked >= since)
            continue;
        source_scan_soon(source, now);
        fresh = false;
    }
    return fresh;
}

/* Stores all edges to the victim, in the cycle or not. */
static bool copy_waiters(const struct acts *acts, struct act *act, const struct scan *scan,
                         uint32_t victim)
{
    struct act_edge *waiters =
        renew_list(acts, act->waiters, scan->edge_count, sizeof *act->waiters);
    if (!waiters)
        return false;
    act->waiters = waiters;
    act->waiter_count = 0;
    for (size_t i = 0; i < scan->edge_count; i++)
        if (scan->edges[i].holder == victim)
            waiters[act->waiter_count++] = (struct act_edge){act->source, scan->edges[i].key};
    return true;
}

/* Lists the edges of the cycle on the victim's server. The victim's own edge is last, because the
 * server checks it right before the signal. */
static size_t list_edges(const struct deadlock *deadlock, struct member victim, uint32_t *edges)
{
    size_t count = 0;
    for (int own = 0; own < 2; own++)
        for (size_t i = 0; i < deadlock->cycle_count; i++) {
            const struct session_edge *arrow = &deadlock->cycle[i];
            bool is_own = arrow->from.session == victim.session;
            if (arrow->edge != SCAN_NONE && arrow->from.source == victim.source && is_own == own)
                edges[count++] = arrow->edge;
        }
    return count;
}

/* Returns the session to end. If a cancel did not help, this is the same session, which is still in
 * the cycle. Otherwise the advised victim. */
static struct member choose_victim(const struct acts *acts, const struct act *act,
                                   const struct deadlock *deadlock, const struct advice *advice,
                                   struct source *const *sources)
{
    for (size_t i = 0; i < deadlock->cycle_count && act->remedy != acts->first; i++) {
        struct member member = deadlock->cycle[i].from;
        if (member.source == act->source && member_session(sources, member)->pid == act->pid)
            return member;
    }
    return advice->victim;
}

static bool send_order(const struct acts *acts, struct act *act, const struct deadlock *deadlock,
                       struct member victim, struct source *const *sources)
{
    struct source *source = sources[victim.source];
    uint32_t *edges = memory_alloc(&acts->memory, (deadlock->cycle_count + 1) * sizeof *edges);
    act->source = victim.source;
    act->pid = member_session(sources, victim)->pid;
    if (!edges || !copy_waiters(acts, act, &source->scan, victim.session)) {
        memory_free(&acts->memory, edges);
        return false;
    }
    const struct remedy_condition condition = {
        .scan = &source->scan,
        .session = victim.session,
        .edges = edges,
        .edge_count = list_edges(deadlock, victim, edges),
    };
    source_order(source, act->remedy, &condition);
    act->state = ACT_ORDERED;
    memory_free(&acts->memory, edges);
    return true;
}

static enum act_event end_act(struct act *act, enum act_event event)
{
    act->state = ACT_ENDED;
    return act->last = event;
}

/* The signal was sent, but the same cycle still exists. */
static enum act_event escalate_act(const struct acts *acts, struct act *act,
                                   const struct deadlock *deadlock, struct source *const *sources,
                                   uint64_t now)
{
    if (now - act->sent < acts->grace_ns ||
        !is_fresh(deadlock, sources, act->sent + acts->grace_ns, now) ||
        sources[act->source]->looks < act->looks + 2)
        return ACT_NOTHING;
    if (act->remedy == REMEDY_TERMINATE)
        return end_act(act, ACT_STAYED);
    act->remedy = REMEDY_TERMINATE;
    act->state = ACT_WAITING;
    act->due = act->sent + acts->grace_ns;
    return ACT_ESCALATES;
}

bool acts_review(struct acts *acts, const struct deadlock *deadlock, const struct advice *advice,
                 struct source *const *sources, bool begin, uint64_t now, enum act_event *event,
                 const struct act **which)
{
    uint64_t request = cycle_request(deadlock, sources);
    struct act *act = find_act(acts, deadlock, sources, request);
    *event = ACT_NOTHING;
    *which = act;
    if (!advice->found)
        return true;
    if (!act)
        return !begin || begin_act(acts, deadlock, sources, request, now);
    if (act->request == request || act->state == ACT_WAITING)
        act->seen = now;
    if (act->state == ACT_ENDED)
        return !begin || begin_again(acts, act, deadlock, sources, now, event);
    if (act->state == ACT_AWAITING && act->request == request)
        *event = escalate_act(acts, act, deadlock, sources, now);
    if (act->state != ACT_WAITING)
        return true;
    if (act->request != request) { /* another cycle of the same sessions: start over */
        act->remedy = acts->first;
        if (!take_deadlock(acts, act, deadlock, sources, request, now))
            return false;
    }
    if (now < act->due || !is_fresh(deadlock, sources, act->due, now))
        return true;
    struct member victim = choose_victim(acts, act, deadlock, advice, sources);
    const struct source *source = sources[victim.source];
    if (!source_is_up(source) || source->order.pending)
        return true;
    for (size_t i = 0; i < acts->count; i++) /* one order at a time for each server */
        if (acts->list[i].state == ACT_ORDERED && acts->list[i].source == victim.source)
            return true;
    return send_order(acts, act, deadlock, victim, sources);
}

/* ------------------------------------------------------------------ outcome */

/* Handles the server's answer to the order. */
static enum act_event take_answer(struct act *act, struct source *source, uint64_t now)
{
    if (source->order.pending)
        return ACT_NOTHING;
    snprintf(act->why, sizeof act->why, "%s", source->order.why);
    static const enum act_event events[] = {
        [OUTCOME_DONE] = ACT_SENT,       [OUTCOME_OVER] = ACT_OVER,
        [OUTCOME_REFUSED] = ACT_REFUSED, [OUTCOME_UNREACHABLE] = ACT_UNREACHABLE,
        [OUTCOME_UNKNOWN] = ACT_UNKNOWN,
    };
    act->tries += source->order.outcome == OUTCOME_OVER;
    if (source->order.outcome != OUTCOME_DONE)
        return end_act(act, events[source->order.outcome]);
    act->state = ACT_AWAITING;
    act->sent = now;
    act->looks = source->looks;
    source_scan_soon(source, now);
    return act->last = ACT_SENT;
}

/* Do scans started after `since` confirm the state? An unreachable server shows nothing any
 * more. */
static bool is_settled(const struct act *act, struct source *const *sources, uint64_t since)
{
    for (size_t i = 0; i < act->cycle_count; i++) {
        const struct source *source = sources[act->cycle[i].source];
        if (source_is_up(source) && !source->parked &&
            (!source->scan.whole || source->scan.asked <= since))
            return false;
    }
    return true;
}

/* The signal was sent and the cycle is gone. Locks are released shortly after the wait ends. */
static enum act_event after_signal(const struct acts *acts, struct act *act,
                                   struct source *const *sources, uint64_t now)
{
    struct source *source = sources[act->source];
    if (!source_is_up(source))
        return end_act(act, ACT_UNKNOWN);
    if (!is_settled(act, sources, act->sent))
        return ACT_NOTHING;
    act->held = 0;
    for (size_t i = 0; i < act->waiter_count; i++)
        for (size_t k = 0; k < source->scan.edge_count; k++)
            if (source->scan.edges[k].key == act->waiters[i].key) {
                act->held++;
                break;
            }
    if (act->held && (now - act->sent < acts->grace_ns || source->looks < act->looks + 2))
        return ACT_NOTHING;
    return end_act(act, ACT_GONE);
}

enum act_event act_step(const struct acts *acts, struct act *act, struct source *const *sources,
                        bool reviewed, uint64_t now)
{
    if (act->state == ACT_ORDERED)
        return reviewed ? ACT_NOTHING : take_answer(act, sources[act->source], now);
    if (!reviewed || act->seen == now)
        return ACT_NOTHING;
    if (act->state == ACT_AWAITING)
        return after_signal(acts, act, sources, now);
    if (act->state != ACT_WAITING || !is_settled(act, sources, act->seen))
        return ACT_NOTHING;
    for (size_t i = 0; i < act->cycle_count; i++)
        if (!source_is_up(sources[act->cycle[i].source]))
            return end_act(act, ACT_UNREACHABLE);
    return end_act(act, ACT_OVER);
}
