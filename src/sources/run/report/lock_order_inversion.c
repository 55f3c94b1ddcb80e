#include "sources/run/report/lock_order_inversion.h"

#include "sources/run/locks/lock_order.h"
#include "sources/run/locks/lock_order_graph.h"
#include "sources/run/report/delivery.h"
#include "sources/run/report/incident_builder.h"
#include "sources/run/state/hash.h"
#include "sources/run/threads/thread_table.h"

/* The same two places in the program make the same mistake, whichever locks it is about. */
static uint64_t signature_of(const struct order_cycle *cycle)
{
    uint64_t sum = INCIDENT_POTENTIAL;
    for (uint32_t i = 0; i < cycle->count; i++) {
        const struct order *order = graph_order(cycle->orders[i]);
        const struct use *use = graph_use(cycle->use[i]);
        const struct spot *there = graph_spot(order->spot), *before = graph_spot(use->spot);
        uint64_t taken = there->frames ? there->frame[0] : graph_node(order->node)->lock;
        uint64_t held = before->frames ? before->frame[0] : graph_node(use->node)->lock;
        sum += stir_hash(taken + stir_hash(held));
    }
    return sum;
}

/* Each order's taken lock is the next one's held one: use[i] is what orders[i] holds of
 * orders[i-1]. */
static bool draw_cycle(struct draft *draft, const struct order_cycle *cycle)
{
    for (uint32_t i = 0; i < cycle->count; i++) {
        const struct order *order = graph_order(cycle->orders[i]);
        const struct use *use = graph_use(cycle->use[i]);
        const struct node *held = graph_node(use->node), *taken = graph_node(order->node);
        uint32_t who = cycle->who[i];
        struct thread *t = table_by_tid(order->tid[who]);
        bool lives = t && thread_is_live(t) && t->serial == order->serial[who];
        uint32_t thread = lives ? draft_thread(draft, t, 0)
                                : draft_stranger(draft, order->tid[who],
                                                 who == 0 ? order->name : "", INCIDENT_ENDED);
        uint32_t held_lock = draft_lock(draft, held->lock, held->kind, 0);
        uint32_t taken_lock = draft_lock(draft, taken->lock, taken->kind, 0);
        const struct spot *there = graph_spot(order->spot), *before = graph_spot(use->spot);
        uint32_t held_frames = draft_frames(draft, before->frame, before->frames);
        uint32_t taken_frames = draft_frames(draft, there->frame, there->frames);
        struct incident_order *drawn = draft_order(draft);
        if (!drawn)
            return false;
        *drawn = (struct incident_order){thread,
                                         held_lock,
                                         taken_lock,
                                         use->mode,
                                         order->mode,
                                         held_frames,
                                         before->frames,
                                         taken_frames,
                                         there->frames,
                                         0,
                                         1};
    }
    return true;
}

/* Callers have the guard. */
static bool write_notice(struct thread *t, const struct order_cycle *cycle, struct notice *notice)
{
    uint64_t signature = signature_of(cycle);
    fold_add(notice, INCIDENT_POTENTIAL, signature);
    if (notice->again)
        return false;
    struct arena arena;
    struct draft draft;
    if (!arena_open(&arena))
        return false;
    draft_open(&draft, &arena, INCIDENT_POTENTIAL);
    draft.header.number = notice->number;
    draft.header.signature = signature;
    draft.header.cycle = 1;
    draft.header.first = draft_thread(&draft, t, 0);
    if (draw_cycle(&draft, cycle))
        notice->fd = draft_write(&draft);
    arena_close(&arena);
    return notice->fd >= 0;
}

void inversion_look(struct thread *t, uint32_t place)
{
    struct notice notice;
    struct order_cycle cycle;
    uint32_t index;
    order_enter(t);
    int news = graph_learn(t, t->held, place, &index);
    bool found = news > 0 && graph_search(index, &cycle) && write_notice(t, &cycle, &notice);
    order_leave(t);
    if (news < 0)
        order_give_up();
    if (found)
        finding_tell(t, &notice);
}
