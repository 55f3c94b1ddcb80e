/* Is what an engine calls a deadlock one, and does the way lead there? Slow and plain; shares
 * nothing with the engines. */
#include "compose/oracle.h"
#include "foundation/base/memory.h"

#include <string.h>

/* A walk through the circuit, one factor after another. */
struct walker {
    const gordian_circuit *circuit;
    uint32_t *state;
    uint64_t *label, *other; /* label_words words */
};

/* Does the factor do in `state` exactly what the label says about its names? If so where it goes
 * may be one of several; only those in `next` from `from` on are looked at. */
static bool factor_can(const struct walker *walker, uint32_t factor, uint32_t state,
                       const uint64_t *label, uint32_t to)
{
    const gordian_circuit *circuit = walker->circuit;
    const struct shape *shape = factor_shape(circuit, factor);
    uint64_t *mask = walker->other, *mine = walker->label;
    bool idle = true;
    for (uint32_t p = 0; p < shape->port_count; p++)
        idle &= !label_fires(label, circuit->factors[factor].names[p]);
    if (idle)
        return state == to;
    factor_mask(circuit, factor, mask);
    for (size_t t = shape->first[state]; t < shape->first[state + 1]; t++) {
        if (shape->to[t] != to)
            continue;
        factor_label(circuit, factor, t, mine);
        size_t w = 0;
        while (w < circuit->label_words && ((label[w] ^ mine[w]) & mask[w]) == 0)
            w++;
        if (w == circuit->label_words)
            return true;
    }
    return false;
}

/* The local states a factor can be in after the steps, as a set; factors that know only their own
 * part of the labels are independent of each other once the labels are given. */
static bool factor_follows(const struct walker *walker, uint32_t factor,
                           const gordian_compose_deadlock *deadlock, bool *now, bool *next)
{
    const struct shape *shape = factor_shape(walker->circuit, factor);
    for (uint32_t s = 0; s < shape->state_count; s++)
        now[s] = s < shape->initial_count;
    for (size_t i = 0; i < deadlock->step_count; i++) {
        const uint64_t *label = deadlock->labels + i * walker->circuit->label_words;
        for (uint32_t to = 0; to < shape->state_count; to++) {
            next[to] = false;
            for (uint32_t s = 0; s < shape->state_count && !next[to]; s++)
                next[to] = now[s] && factor_can(walker, factor, s, label, to);
        }
        memcpy(now, next, shape->state_count);
    }
    return now[deadlock->state[factor]];
}

/* Can the factors from `factor` on agree with what those before have settled? `label` has their
 * union, `mask` the bits settled. `moved`: one of them does something. */
static bool can_move(const struct walker *walker, const uint32_t *state, uint32_t factor,
                     const uint64_t *label, const uint64_t *mask, bool moved, uint64_t *scratch)
{
    const gordian_circuit *circuit = walker->circuit;
    size_t words = circuit->label_words;
    if (factor == circuit->factor_count)
        return moved;
    const struct shape *shape = factor_shape(circuit, factor);
    uint64_t *mine = scratch, *my_mask = scratch + words, *both = scratch + 2 * words,
             *settled = scratch + 3 * words;
    size_t first = shape->first[state[factor]], last = shape->first[state[factor] + 1];
    for (size_t t = first; t <= last; t++) { /* the last one is idling */
        factor_mask(circuit, factor, my_mask);
        if (t < last)
            factor_label(circuit, factor, t, mine);
        else
            memset(mine, 0, words * sizeof *mine);
        bool agrees = true;
        for (size_t w = 0; w < words; w++) {
            agrees &= ((label[w] ^ mine[w]) & mask[w] & my_mask[w]) == 0;
            both[w] = label[w] | mine[w];
            settled[w] = mask[w] | my_mask[w];
        }
        if (agrees && can_move(walker, state, factor + 1, both, settled, moved || t < last,
                               scratch + 4 * words))
            return true;
    }
    return false;
}

static bool check_all(const struct walker *walker, const gordian_compose_deadlock *deadlock,
                      bool *now, bool *next, uint64_t *scratch, const char **why)
{
    const gordian_circuit *circuit = walker->circuit;
    size_t words = circuit->label_words;
    for (size_t i = 0; i < deadlock->step_count; i++) {
        bool fires = false;
        for (size_t w = 0; w < words; w++)
            fires |= deadlock->labels[i * words + w] != 0;
        if (!fires) {
            *why = "a step fires nothing";
            return false;
        }
    }
    for (uint32_t f = 0; f < circuit->factor_count; f++) {
        if (!factor_follows(walker, f, deadlock, now, next)) {
            *why = "a factor cannot take these steps to that state";
            return false;
        }
    }
    memset(scratch, 0, 2 * words * sizeof *scratch);
    if (can_move(walker, deadlock->state, 0, scratch, scratch + words, false,
                 scratch + 2 * words)) {
        *why = "something leads out of that state";
        return false;
    }
    return true;
}

bool compose_check_deadlock(const gordian_circuit *circuit,
                            const gordian_compose_deadlock *deadlock, const char **why)
{
    gordian_allocator memory = memory_allocator(NULL);
    size_t words = circuit->label_words, states = 1;
    for (size_t s = 0; s < circuit->shape_count; s++)
        if (circuit->shapes[s].state_count > states)
            states = circuit->shapes[s].state_count;
    struct walker walker = {.circuit = circuit};
    walker.label = memory_alloc(&memory, words * sizeof(uint64_t));
    walker.other = memory_alloc(&memory, words * sizeof(uint64_t));
    bool *now = memory_alloc(&memory, states), *next = memory_alloc(&memory, states);
    uint64_t *scratch =
        memory_alloc(&memory, (4 * circuit->factor_count + 6) * words * sizeof *scratch);
    bool fine = walker.label && walker.other && now && next && scratch;
    *why = "out of memory";
    if (fine)
        fine = check_all(&walker, deadlock, now, next, scratch, why);
    memory_free(&memory, walker.label);
    memory_free(&memory, walker.other);
    memory_free(&memory, now);
    memory_free(&memory, next);
    memory_free(&memory, scratch);
    return fine;
}
