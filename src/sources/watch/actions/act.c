#include "sources/watch/actions/act.h"

#include <stdio.h>
#include <string.h>

#define MILLISECOND UINT64_C(1000000)
#define GRACE_NS    (2000 * MILLISECOND)
#define MARGIN_NS   (500 * MILLISECOND) /* for a server's own detector, after its time */
#define MEMORY_NS   (60000 * MILLISECOND)
#define TRIES_MOST  5 /* orders that come too late, for one cycle */

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

/* ------------------------------------------------------------------ which deadlock */

static const struct edge *arrow_edge(const struct arrow_between *arrow,
                                     struct source *const *sources)
{
    return arrow->edge == SCAN_NONE ? NULL : &sources[arrow->from.source]->scan.edges[arrow->edge];
}

/* A sum, so that it does not matter where the cycle begins. */
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

/* The act that is under way for one of its sessions; otherwise one that has ended, of the same
 * requests; NULL: none. */
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

/* ------------------------------------------------------------------ beginning */

static bool copy_members(const struct acts *acts, struct act *act, const struct deadlock *deadlock,
                         struct source *const *sources)
{
    size_t count = deadlock->member_count;
    uint64_t *members = memory_alloc(&acts->memory, (count + 1) * sizeof *members);
    if (!members)
        return false;
    for (size_t i = 0; i < count; i++)
        members[i] = member_key(deadlock->members[i], sources);
    memory_free(&acts->memory, act->members);
    act->members = members;
    act->member_count = count;
    return true;
}

static bool copy_cycle(const struct acts *acts, struct act *act, const struct deadlock *deadlock,
                       struct source *const *sources)
{
    struct act_edge *cycle =
        memory_alloc(&acts->memory, (deadlock->cycle_count + 1) * sizeof *cycle);
    if (!cycle)
        return false;
    memory_free(&acts->memory, act->cycle);
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

/* A cycle of locks of one server is its own detector's first. That looks a fixed time after the
 * last wait has begun, which was not later than we first knew of it. */
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

/* Takes the cycle as it is now. */
static bool take_deadlock(const struct acts *acts, struct act *act, const struct deadlock *deadlock,
                          struct source *const *sources, uint64_t request, uint64_t earliest)
{
    uint64_t detector = detector_due(deadlock, sources);
    act->request = request;
    act->due = detector > earliest ? detector : earliest;
    return copy_members(acts, act, deadlock, sources) && copy_cycle(acts, act, deadlock, sources);
}

static bool begin_act(struct acts *acts, const struct deadlock *deadlock,
                      struct source *const *sources, uint64_t request, uint64_t now)
{
    if (!memory_extend(&acts->memory, acts->list, acts->room, acts->count))
        return false;
    struct act *act = &acts->list[acts->count++];
    *act = (struct act){.remedy = acts->first, .seen = now};
    return take_deadlock(acts, act, deadlock, sources, request, now);
}

/* The same requests again, after an act has ended. A statement that was cancelled and waits again
 * (it caught the error) has shown that cancelling does not help. */
static bool begin_again(const struct acts *acts, struct act *act, const struct deadlock *deadlock,
                        struct source *const *sources, uint64_t now, enum act_event *event)
{
    uint64_t earliest = now;
    if (act->last == ACT_REFUSED || act->last == ACT_STAYED || act->tries >= TRIES_MOST)
        return true;
    if (act->last == ACT_GONE && act->remedy == REMEDY_TERMINATE)
        return true; /* its session is about to end */
    if (act->last == ACT_GONE) {
        act->remedy = REMEDY_TERMINATE;
        earliest = act->sent + acts->grace_ns > now ? act->sent + acts->grace_ns : now;
        *event = ACT_ESCALATES;
    }
    act->state = ACT_WAITING;
    return take_deadlock(acts, act, deadlock, sources, act->request, earliest);
}

/* ------------------------------------------------------------------ going on */

/* Has every server of the cycle been looked at since then? Inspected processes are looked at with
 * the servers. */
static bool is_fresh(const struct deadlock *deadlock, struct source *const *sources, uint64_t since)
{
    for (size_t i = 0; i < deadlock->cycle_count; i++) {
        const struct source *source = sources[deadlock->cycle[i].from.source];
        if (!source->inspector && source->scan.asked < since)
            return false;
    }
    return true;
}

static void hurry_servers(const struct deadlock *deadlock, struct source *const *sources,
                          uint64_t since, uint64_t now)
{
    for (size_t i = 0; i < deadlock->cycle_count; i++) {
        struct source *source = sources[deadlock->cycle[i].from.source];
        if (!source->inspector && source->scan.asked < since)
            source_hurry(source, now);
    }
}

/* A server does one thing at a time. */
static bool is_free(const struct acts *acts, const struct source *source, uint32_t number)
{
    for (size_t i = 0; i < acts->count; i++)
        if (acts->list[i].state == ACT_ORDERED && acts->list[i].source == number)
            return false;
    return source_is_up(source) && !source->order.pending;
}

/* All edges to the victim, in the cycle or not. */
static bool copy_waiters(const struct acts *acts, struct act *act, const struct scan *scan,
                         uint32_t victim)
{
    struct act_edge *waiters =
        memory_alloc(&acts->memory, (scan->edge_count + 1) * sizeof *waiters);
    if (!waiters)
        return false;
    memory_free(&acts->memory, act->waiters);
    act->waiters = waiters;
    act->waiter_count = 0;
    for (size_t i = 0; i < scan->edge_count; i++)
        if (scan->edges[i].holder == victim)
            waiters[act->waiter_count++] = (struct act_edge){act->source, scan->edges[i].key};
    return true;
}

/* The edges of the cycle on the victim's server, its own last: that is checked right before the
 * signal. */
static size_t list_edges(const struct deadlock *deadlock, struct member victim, uint32_t *edges)
{
    size_t count = 0;
    for (int own = 0; own < 2; own++)
        for (size_t i = 0; i < deadlock->cycle_count; i++) {
            const struct arrow_between *arrow = &deadlock->cycle[i];
            bool is_own = arrow->from.session == victim.session;
            if (arrow->edge != SCAN_NONE && arrow->from.source == victim.source && is_own == own)
                edges[count++] = arrow->edge;
        }
    return count;
}

/* After a cancel that did not help, its session: the statement is the same, so it is in the cycle.
 * Otherwise the one that is advised. */
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

/* The signal was sent, and the same cycle stands. */
static enum act_event go_further(const struct acts *acts, struct act *act,
                                 const struct deadlock *deadlock, struct source *const *sources,
                                 uint64_t now)
{
    if (now - act->sent < acts->grace_ns || sources[act->source]->looks < act->looks + 2 ||
        !is_fresh(deadlock, sources, act->sent + acts->grace_ns)) {
        if (now - act->sent >= acts->grace_ns)
            hurry_servers(deadlock, sources, act->sent + acts->grace_ns, now);
        return ACT_NOTHING;
    }
    if (act->remedy == REMEDY_TERMINATE) {
        act->state = ACT_ENDED;
        return act->last = ACT_STAYED;
    }
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
        *event = go_further(acts, act, deadlock, sources, now);
    if (act->state != ACT_WAITING)
        return true;
    if (act->request != request) { /* another cycle of the same sessions: it begins anew */
        act->remedy = acts->first;
        if (!take_deadlock(acts, act, deadlock, sources, request, now))
            return false;
    }
    if (now < act->due)
        return true;
    if (!is_fresh(deadlock, sources, act->due)) {
        hurry_servers(deadlock, sources, act->due, now);
        return true;
    }
    struct member victim = choose_victim(acts, act, deadlock, advice, sources);
    return !is_free(acts, sources[victim.source], victim.source) ||
           send_order(acts, act, deadlock, victim, sources);
}

/* ------------------------------------------------------------------ what has become of it */

static bool has_edge(const struct scan *scan, uint64_t key)
{
    for (size_t i = 0; i < scan->edge_count; i++)
        if (scan->edges[i].key == key)
            return true;
    return false;
}

static enum act_event end_act(struct act *act, enum act_event event)
{
    act->state = ACT_ENDED;
    return act->last = event;
}

/* The server has been asked: what did it answer? */
static enum act_event take_answer(struct act *act, struct source *source, uint64_t now)
{
    if (source->order.pending)
        return ACT_NOTHING;
    snprintf(act->why, sizeof act->why, "%s", source->order.why);
    switch (source->order.outcome) {
    case OUTCOME_DONE:
        act->state = ACT_AWAITING;
        act->sent = now;
        act->looks = source->looks;
        source_hurry(source, now);
        return act->last = ACT_SENT;
    case OUTCOME_OVER:
        act->tries++;
        return end_act(act, ACT_OVER);
    case OUTCOME_REFUSED:
        return end_act(act, ACT_REFUSED);
    case OUTCOME_UNREACHABLE:
        return end_act(act, ACT_UNREACHABLE);
    case OUTCOME_UNKNOWN:
        break;
    }
    return end_act(act, ACT_UNKNOWN);
}

/* Is it certain by looks that were asked for after `since`? A server that is gone shows nothing
 * any more. */
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

static bool all_are_up(const struct act *act, struct source *const *sources)
{
    for (size_t i = 0; i < act->cycle_count; i++)
        if (!source_is_up(sources[act->cycle[i].source]))
            return false;
    return true;
}

static size_t count_left(const struct act *act, const struct scan *scan)
{
    size_t left = 0;
    for (size_t i = 0; i < act->waiter_count; i++)
        left += has_edge(scan, act->waiters[i].key);
    return left;
}

/* The signal was sent, and the cycle is not there any more. Locks are released a moment after the
 * wait has ended. */
static enum act_event after_signal(const struct acts *acts, struct act *act,
                                   struct source *const *sources, uint64_t now)
{
    struct source *source = sources[act->source];
    if (!source_is_up(source))
        return end_act(act, ACT_UNKNOWN);
    if (!is_settled(act, sources, act->sent))
        return ACT_NOTHING;
    act->held = count_left(act, &source->scan);
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
    return end_act(act, all_are_up(act, sources) ? ACT_OVER : ACT_UNREACHABLE);
}
