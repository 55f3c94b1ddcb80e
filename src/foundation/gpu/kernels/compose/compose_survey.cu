/* Counts states, transitions and deadlocks of a set. */
#include "foundation/gpu/kernels/array/array.h"
#include "foundation/gpu/kernels/compose/compose_set.h"
#include "foundation/gpu/language/kernel.h"

/* Counts the joint transitions that stay within the set. */
DEVICE_APART uint64_t joint_within(const struct compose_firings *f, const struct compose_set *set,
                                   uint64_t state)
{
    struct compose_walk walk;
    uint64_t count = 0;
    compose_walk_begin(&walk, GPU_POINTER(const struct compose_firing, f->firings), f->count,
                       state);
    while (compose_walk_next(&walk))
        count += compose_contains(set, walk.to);
    return count;
}

/* Counts the enabled indivisible firings that stay within the set. *enabled: the number of all
 * enabled ones. */
DEVICE uint32_t firings_within(const struct compose_firings *f, const struct compose_set *set,
                               uint64_t state, uint32_t *enabled)
{
    const struct compose_firing *firings = GPU_POINTER(const struct compose_firing, f->firings);
    uint32_t within = 0;
    *enabled = 0;
    for (uint32_t i = 0; i < f->count; i++)
        if (compose_enabled(&firings[i], state)) {
            ++*enabled;
            within += set->closed || compose_contains(set, state ^ firings[i].flip);
        }
    return within;
}

DEVICE void survey_state(const struct compose_survey_arguments *a, uint64_t state,
                         struct compose_counts *sums)
{
    const struct compose_firings *f = &a->firings;
    uint32_t enabled;
    sums->states++;
    sums->firings += firings_within(f, &a->set, state, &enabled);
    sums->deadlocks += enabled == 0;
    if (!a->joint || enabled == 0)
        return;
    uint64_t ways = 0;
    if (!a->set.closed)
        ways = joint_within(f, &a->set, state);
    else if (f->parts == 0)
        ways = enabled < 63 ? ((uint64_t)1 << enabled) - 1 : UINT64_MAX;
    else
        ways = compose_ways(GPU_POINTER(const struct compose_firing, f->firings), f->singles,
                            GPU_POINTER(const uint32_t, f->ends), f->parts, state) -
               1;
    compose_count_ways(sums, ways, 1);
}

DEVICE void add_sums(struct compose_counts *counts, const struct compose_counts *sums)
{
    uint64_t *to[6] = {&counts->states, &counts->firings,   &counts->low,
                       &counts->high,   &counts->deadlocks, &counts->overflow};
    uint64_t from[6] = {sums->states, sums->firings,   sums->low,
                        sums->high,   sums->deadlocks, sums->overflow};
    for (uint32_t i = 0; i < 6; i++) {
        uint64_t sum = compose_warp_sum(from[i]);
        if (LANE == 0 && sum)
            atomic_add64(to[i], sum);
    }
}

KERNEL(compose_survey, struct compose_survey_arguments)
{
    struct compose_counts sums = {0, 0, 0, 0, 0, 0};
    const uint64_t *bitmap = GPU_POINTER(const uint64_t, a.set.bitmap);
    const uint64_t *list = GPU_POINTER(const uint64_t, a.set.list);
    if (a.by_words) {
        for (uint64_t i = a.first + compose_thread(); i < a.last; i += compose_threads())
            if (bitmap[i])
                compose_count_word(&sums,
                                   GPU_POINTER(const struct compose_word_firing, a.word_firings),
                                   a.firings.count, a.joint != 0, i, bitmap[i]);
    } else if (a.set.kind == COMPOSE_BITMAP) {
        /* A thread takes half of a word's states at a time, so a warp stays among neighbours. */
        for (uint64_t i = a.first * 64 + compose_thread(); i < a.last * 64; i += compose_threads())
            if (bitmap[i / 64] >> i % 64 & 1)
                survey_state(&a, i, &sums);
    } else {
        for (uint64_t i = a.first + compose_thread(); i < a.last; i += compose_threads())
            survey_state(&a, a.set.kind == COMPOSE_LIST ? list[i] : compose_of_number(&a.set, i),
                         &sums);
    }
    add_sums(GPU_POINTER(struct compose_counts, a.counts), &sums);
}

DEVICE void tell_dead(const struct compose_dead_arguments *a, uint64_t state)
{
    const struct compose_firing *firings =
        GPU_POINTER(const struct compose_firing, a->firings.firings);
    if (state >= a->limit || compose_enabled_count(firings, a->firings.count, state))
        return;
    if (a->distances &&
        GPU_POINTER(const uint32_t, a->distances)[compose_place(&a->set, state)] != a->distance)
        return;
    uint64_t *place = GARRAY_PUSH(uint64_t, &a->out);
    if (place)
        *place = state;
}

KERNEL(compose_dead, struct compose_dead_arguments)
{
    const uint64_t *bitmap = GPU_POINTER(const uint64_t, a.set.bitmap);
    const uint64_t *list = GPU_POINTER(const uint64_t, a.set.list);
    if (a.set.kind == COMPOSE_BITMAP) {
        for (uint64_t i = a.first * 64 + compose_thread(); i < a.last * 64; i += compose_threads())
            if (bitmap[i / 64] >> i % 64 & 1)
                tell_dead(&a, i);
    } else {
        for (uint64_t i = a.first + compose_thread(); i < a.last; i += compose_threads())
            tell_dead(&a, a.set.kind == COMPOSE_LIST ? list[i] : compose_of_number(&a.set, i));
    }
}

KERNEL(compose_below, struct compose_below_arguments)
{
    const uint64_t *bitmap = GPU_POINTER(const uint64_t, a.set.bitmap);
    const uint64_t *list = GPU_POINTER(const uint64_t, a.set.list);
    bool by_words = a.set.kind == COMPOSE_BITMAP;
    uint64_t items = by_words ? a.set.words : a.set.count;
    for (uint32_t t = 0; t < a.target_count; t++) {
        uint64_t target = GPU_POINTER(const uint64_t, a.targets)[t], sum = 0;
        uint64_t end = by_words && target / 64 + 1 < items ? target / 64 + 1 : items;
        for (uint64_t i = compose_thread(); i < end; i += compose_threads()) {
            if (!by_words)
                sum += list[i] < target;
            else if (i < target / 64)
                sum += popcount64(bitmap[i]);
            else
                sum += popcount64(bitmap[i] & (((uint64_t)1 << target % 64) - 1));
        }
        sum = compose_warp_sum(sum);
        if (LANE == 0 && sum)
            atomic_add64(&GPU_POINTER(uint64_t, a.counts)[t], sum);
    }
}
