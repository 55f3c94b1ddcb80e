#include "sources/run/report/lock_order_inversion.h"

#include "sources/run/locks/lock_order.h"
#include "sources/run/locks/lock_order_graph.h"
#include "sources/run/report/delivery.h"
#include "sources/run/report/incident_builder.h"
#include "sources/run/state/hash.h"
#include "sources/run/threads/thread_table.h"

/* Equal for the same two places in the program, whatever the locks. */
static uint64_t inversion_signature(const struct order_cycle *cycle)
{
    uint64_t sum = INCIDENT_POTENTIAL;
    for (uint32_t i = 0; i < cycle->count; i++) {
        const struct order *order = &graph.orders[cycle->orders[i]];
        const struct use *use = &graph.uses[cycle->use[i]];
        const struct spot *there = &graph.spots[order->spot], *before = &graph.spots[use->spot];
        uint64_t taken = there->frames ? there->frame[0] : graph.nodes[order->node].lock;
        uint64_t held = before->frames ? before->frame[0] : graph.nodes[use->node].lock;
        sum += stir_hash(taken + stir_hash(held));
    }
    return sum;
}

/* The lock that each order takes is held in the next one: use[i] is what orders[i] holds of
 * orders[i-1]. */
static void add_inversion(struct incident_builder *builder, const struct order_cycle *cycle)
{
    for (uint32_t i = 0; i < cycle->count; i++) {
        const struct order *order = &graph.orders[cycle->orders[i]];
        const struct use *use = &graph.uses[cycle->use[i]];
        const struct node *held = &graph.nodes[use->node], *taken = &graph.nodes[order->node];
        uint32_t who = cycle->who[i];
        struct thread *t = table_by_tid(order->tid[who]);
        bool lives = t && thread_is_live(t) && t->serial == order->serial[who];
        uint32_t thread = lives ? builder_thread(builder, t, 0)
                                : builder_stranger(builder, order->tid[who],
                                                   who == 0 ? order->name : "", INCIDENT_ENDED);
        uint32_t held_lock = builder_lock(builder, held->lock, held->kind, 0);
        uint32_t taken_lock = builder_lock(builder, taken->lock, taken->kind, 0);
        const struct spot *there = &graph.spots[order->spot], *before = &graph.spots[use->spot];
        uint32_t held_frames = builder_frames(builder, before->frame, before->frames);
        uint32_t taken_frames = builder_frames(builder, there->frame, there->frames);
        builder_order(builder, &(struct incident_order){thread, held_lock, taken_lock, use->mode,
                                                        order->mode, held_frames, before->frames,
                                                        taken_frames, there->frames, 0, 1});
    }
}

/* Callers hold the guard. */
static bool write_inversion(struct thread *t, const struct order_cycle *cycle,
                            struct notice *notice)
{
    uint64_t signature = inversion_signature(cycle);
    fold_add(notice, INCIDENT_POTENTIAL, signature);
    if (notice->again)
        return false;
    struct arena arena;
    struct incident_builder builder;
    if (!arena_open(&arena))
        return false;
    builder_open(&builder, &arena, INCIDENT_POTENTIAL);
    builder.header.number = notice->number;
    builder.header.signature = signature;
    builder.header.cycle = 1;
    builder.header.first = builder_thread(&builder, t, 0);
    add_inversion(&builder, cycle);
    notice->fd = builder_write(&builder);
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
    bool found = news > 0 && graph_search(index, &cycle) && write_inversion(t, &cycle, &notice);
    order_leave(t);
    if (news < 0)
        order_disable();
    if (found)
        notice_deliver(t, &notice);
}
