/* Writes the product: states in order, transitions row by row. */
#include "foundation/gpu/kernels/compose/compose_set.h"
#include "foundation/gpu/language/kernel.h"

DEVICE void gather_entry(const struct compose_gather_arguments *a, uint64_t entry)
{
    const uint64_t *bitmap = GPU_POINTER(const uint64_t, a->set.bitmap);
    const uint64_t *directory = GPU_POINTER(const uint64_t, a->set.directory);
    uint64_t *out = GPU_POINTER(uint64_t, a->out) + (directory[entry] - directory[a->first]);
    for (uint64_t w = entry * COMPOSE_STRIDE; w < (entry + 1) * COMPOSE_STRIDE && w < a->set.words;
         w++)
        for (uint64_t bits = bitmap[w]; bits; bits &= bits - 1)
            *out++ = w * 64 + find_first64(bits);
}

KERNEL(compose_gather, struct compose_gather_arguments)
{
    for (uint64_t i = a.first + compose_thread(); i < a.last; i += compose_threads()) {
        if (a.set.kind == COMPOSE_BITMAP)
            gather_entry(&a, i);
        else
            GPU_POINTER(uint64_t, a.out)[i - a.first] = compose_of_number(&a.set, i);
    }
}

/* Returns the number of transitions in the state's row. */
DEVICE uint64_t row_size(const struct compose_rows_arguments *a, uint64_t state)
{
    const struct compose_firings *f = &a->firings;
    const struct compose_firing *firings = GPU_POINTER(const struct compose_firing, f->firings);
    uint64_t count = 0;
    if (!a->joint) {
        for (uint32_t i = 0; i < f->count; i++)
            count += compose_enabled(&firings[i], state) &&
                     (a->set.closed || compose_contains(&a->set, state ^ firings[i].flip));
        return count;
    }
    if (a->set.closed)
        return compose_ways(firings, f->singles, GPU_POINTER(const uint32_t, f->ends), f->parts,
                            state) -
               1;
    struct compose_walk walk;
    compose_walk_begin(&walk, firings, f->count, state);
    while (compose_walk_next(&walk))
        count += compose_contains(&a->set, walk.to);
    return count;
}

/* Writes one transition, given its firings. */
DEVICE void write_one(const struct compose_rows_arguments *a, uint64_t at, uint64_t to,
                      const uint32_t *chosen, uint32_t depth)
{
    const uint64_t *labels = GPU_POINTER(const uint64_t, a->labels);
    uint64_t *names = GPU_POINTER(uint64_t, a->names) + at * a->label_words;
    GPU_POINTER(uint64_t, a->targets)[at] = compose_rank(&a->set, to);
    for (uint32_t w = 0; w < a->label_words; w++) {
        uint64_t label = 0;
        for (uint32_t d = 0; d < depth; d++)
            label |= labels[(uint64_t)chosen[d] * a->label_words + w];
        names[w] = label;
    }
}

DEVICE_APART void write_indivisible(const struct compose_rows_arguments *a, uint64_t state,
                                    uint64_t at)
{
    const struct compose_firing *firings =
        GPU_POINTER(const struct compose_firing, a->firings.firings);
    for (uint32_t f = 0; f < a->firings.count; f++) {
        uint64_t to = state ^ firings[f].flip;
        if (compose_enabled(&firings[f], state) && (a->set.closed || compose_contains(&a->set, to)))
            write_one(a, at++, to, &f, 1);
    }
}

DEVICE_APART void write_joint(const struct compose_rows_arguments *a, uint64_t state, uint64_t at)
{
    struct compose_walk walk;
    compose_walk_begin(&walk, GPU_POINTER(const struct compose_firing, a->firings.firings),
                       a->firings.count, state);
    while (compose_walk_next(&walk))
        if (a->set.closed || compose_contains(&a->set, walk.to))
            write_one(a, at++, walk.to, walk.chosen, walk.depth);
}

/* For firings that do not conflict and labels of one word: writes all sets of the enabled firings
 * in the order of a Gray code, so that neighbours differ in one firing. Labels of different firings
 * have no bit in common. */
DEVICE_APART void write_free(const struct compose_rows_arguments *a, uint64_t state, uint64_t at)
{
    const struct compose_firing *firings =
        GPU_POINTER(const struct compose_firing, a->firings.firings);
    const uint64_t *labels = GPU_POINTER(const uint64_t, a->labels);
    uint64_t *targets = GPU_POINTER(uint64_t, a->targets), *names = GPU_POINTER(uint64_t, a->names);
    uint32_t enabled[COMPOSE_DEPTH], count = 0;
    for (uint32_t f = 0; f < a->firings.count && count < COMPOSE_DEPTH - 1; f++)
        if (compose_enabled(&firings[f], state))
            enabled[count++] = f;
    uint64_t to = state, label = 0;
    for (uint64_t i = 1; i < (uint64_t)1 << count; i++) {
        uint32_t f = enabled[find_first64(i)];
        to ^= firings[f].flip;
        label ^= labels[f];
        targets[at] = compose_rank(&a->set, to);
        names[at++] = label;
    }
}

DEVICE void write_row(const struct compose_rows_arguments *a, uint64_t state, uint64_t at)
{
    if (!a->joint)
        write_indivisible(a, state, at);
    else if (a->firings.parts == 0 && a->label_words == 1 && a->set.closed)
        write_free(a, state, at);
    else
        write_joint(a, state, at);
}

/* A warp reserves the space for its rows at once. */
KERNEL(compose_rows, struct compose_rows_arguments)
{
    const uint64_t *states = GPU_POINTER(const uint64_t, a.states);
    for (uint64_t base = compose_thread() - LANE; base < a.count; base += compose_threads()) {
        uint64_t i = base + LANE;
        uint64_t size = i < a.count ? row_size(&a, states[i]) : 0, sum = size, first = 0;
        for (uint32_t delta = 1; delta < WARP_SIZE; delta *= 2) {
            uint64_t below = warp_shuffle_up64(WARP_ALL, sum, delta);
            if (LANE >= delta)
                sum += below;
        }
        if (LANE == WARP_SIZE - 1)
            first = atomic_add64(GPU_POINTER(uint64_t, a.taken), sum);
        first = warp_shuffle64(WARP_ALL, first, WARP_SIZE - 1) + sum - size;
        if (i >= a.count)
            continue;
        struct compose_row_place *place = &GPU_POINTER(struct compose_row_place, a.rows)[i];
        place->first = first;
        place->count = size;
        if (size && first + size <= a.room)
            write_row(&a, states[i], first);
    }
}
