#include "watch/act.h"

#include <stdio.h>
#include <string.h>

#define GRACE_NS UINT64_C(2000000000)

void acts_open(struct acts *acts, const gordian_allocator *memory)
{
    *acts = (struct acts){.memory = *memory, .grace_ns = GRACE_NS};
}

void acts_close(struct acts *acts)
{
    memory_free(&acts->memory, acts->list);
    *acts = (struct acts){.memory = acts->memory};
}

/* The edge by which somebody waits for the victim: of a lock of its server, if there is one. */
static uint64_t key_before(const struct deadlock *deadlock, struct member victim,
                           struct source *const *sources)
{
    const struct look *look = &sources[victim.source]->look;
    uint64_t key = 0;
    for (size_t i = 0; i < deadlock->cycle_count; i++) {
        const struct arrow_between *arrow = &deadlock->cycle[i];
        bool into = arrow->to.source == victim.source && arrow->to.session == victim.session;
        bool from = arrow->from.source == victim.source && arrow->from.session == victim.session;
        if (arrow->edge != LOOK_NONE && arrow->from.source == victim.source &&
            (into || (from && !key)))
            key = look->edges[arrow->edge].key;
    }
    return key;
}

static bool has_edge(const struct look *look, uint64_t key)
{
    for (size_t i = 0; i < look->edge_count; i++)
        if (look->edges[i].key == key)
            return true;
    return false;
}

static bool is_same(const struct act *act, struct member victim, const struct session *session)
{
    return act->source == victim.source && act->pid == session->pid &&
           strcmp(act->started, session->started) == 0;
}

bool acts_begin(struct acts *acts, const struct deadlock *deadlock, const struct advice *advice,
                struct source *const *sources, bool *begun)
{
    const struct session *session = member_session(sources, advice->victim);
    uint64_t key = key_before(deadlock, advice->victim, sources);
    *begun = false;
    for (size_t i = 0; i < acts->count; i++)
        if (is_same(&acts->list[i], advice->victim, session) &&
            (!acts->list[i].over || acts->list[i].key == key))
            return true;
    if (sources[advice->victim.source]->order.pending)
        return true; /* one at a time: it comes back with the next look */
    if (!memory_grow(&acts->memory, &acts->list, &acts->room, acts->count + 1, sizeof *acts->list))
        return false;
    struct act *act = &acts->list[acts->count++];
    *act = (struct act){
        .source = advice->victim.source,
        .pid = session->pid,
        .remedy = acts->first,
        .ordered = true,
        .key = key,
    };
    snprintf(act->started, sizeof act->started, "%s", session->started);
    source_order(sources[act->source], act->remedy, act->pid, act->started);
    *begun = true;
    return true;
}

/* The server has been asked: what did it say? */
static enum act_event after_order(struct act *act, struct source *source, uint64_t now)
{
    if (source->order.pending)
        return ACT_NOTHING;
    act->ordered = false;
    act->done = now;
    act->looks = source->looks;
    act->over = !source->order.obeyed;
    return act->over ? ACT_REFUSED : ACT_NOTHING;
}

enum act_event act_step(struct acts *acts, struct act *act, struct source *const *sources,
                        uint64_t now)
{
    struct source *source = sources[act->source];
    if (act->over)
        return ACT_NOTHING;
    if (act->ordered)
        return after_order(act, source, now);
    if (source->looks <= act->looks || !source->look.whole)
        return ACT_NOTHING;
    if (!has_edge(&source->look, act->key)) {
        act->over = true;
        return ACT_FREED;
    }
    if (now - act->done < acts->grace_ns || source->looks < act->looks + 2)
        return ACT_NOTHING;
    if (act->remedy == REMEDY_TERMINATE) {
        act->over = true;
        return ACT_STAYED;
    }
    act->remedy = REMEDY_TERMINATE;
    act->ordered = true;
    source_order(source, act->remedy, act->pid, act->started);
    return ACT_ORDERED;
}

bool acts_pending(const struct acts *acts)
{
    for (size_t i = 0; i < acts->count; i++)
        if (!acts->list[i].over)
            return true;
    return false;
}
