/* Sets of packed states in kernels: membership, rank, hashing (compose.h). */
#pragma once

#include "foundation/gpu/kernels/compose/compose.h"
#include "foundation/gpu/language/kernel.h"

DEVICE uint64_t compose_hash(uint64_t x)
{
    x = (x ^ x >> 32) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 32;
}

/* Returns the state's slot in the table; COMPOSE_MISSING: none. */
DEVICE uint64_t compose_slot(const struct compose_set *set, uint64_t state)
{
    const uint64_t *table = GPU_POINTER(const uint64_t, set->table);
    uint64_t slot = compose_hash(state) & (set->slots - 1);
    for (uint32_t probe = 0; probe < COMPOSE_PROBES; probe++) {
        uint64_t key = table[slot];
        if (key == state)
            return slot;
        if (key == COMPOSE_EMPTY)
            return COMPOSE_MISSING;
        slot = (slot + 1) & (set->slots - 1);
    }
    return COMPOSE_MISSING;
}

DEVICE bool compose_in_bitmap(const struct compose_set *set, uint64_t state)
{
    return GPU_POINTER(const uint64_t, set->bitmap)[state / 64] >> state % 64 & 1;
}

/* Returns state `number` of all combinations. */
DEVICE uint64_t compose_of_number(const struct compose_set *set, uint64_t number)
{
    const struct compose_radix *radices = GPU_POINTER(const struct compose_radix, set->radices);
    uint64_t state = 0;
    if (set->dense)
        return number;
    for (uint32_t r = 0; r < set->radix_count; r++) {
        state |= number % radices[r].states << radices[r].shift;
        number /= radices[r].states;
    }
    return state;
}

DEVICE uint64_t compose_number(const struct compose_set *set, uint64_t state)
{
    const struct compose_radix *radices = GPU_POINTER(const struct compose_radix, set->radices);
    uint64_t number = 0;
    for (uint32_t r = set->radix_count; r-- > 0;) {
        number = number * radices[r].states + (state >> radices[r].shift);
        state &= ((uint64_t)1 << radices[r].shift) - 1;
    }
    return number;
}

DEVICE bool compose_contains(const struct compose_set *set, uint64_t state)
{
    if (set->kind == COMPOSE_BITMAP)
        return compose_in_bitmap(set, state);
    if (set->kind == COMPOSE_LIST)
        return compose_slot(set, state) != COMPOSE_MISSING;
    return compose_number(set, state) < set->count;
}

/* Returns the place of the state's distance; COMPOSE_MISSING: the state is not in the set. */
DEVICE uint64_t compose_place(const struct compose_set *set, uint64_t state)
{
    if (set->kind == COMPOSE_LIST)
        return compose_slot(set, state);
    return compose_in_bitmap(set, state) ? state : COMPOSE_MISSING;
}

DEVICE uint64_t compose_rank_in_bitmap(const struct compose_set *set, uint64_t state)
{
    const uint64_t *bitmap = GPU_POINTER(const uint64_t, set->bitmap);
    uint64_t word = state / 64, entry = word / COMPOSE_STRIDE;
    uint64_t rank = GPU_POINTER(const uint64_t, set->directory)[entry];
    for (uint64_t w = entry * COMPOSE_STRIDE; w < word; w++)
        rank += popcount64(bitmap[w]);
    return rank + popcount64(bitmap[word] & (((uint64_t)1 << state % 64) - 1));
}

/* In a sorted list. */
DEVICE uint64_t compose_rank_in_list(const struct compose_set *set, uint64_t state)
{
    const uint64_t *list = GPU_POINTER(const uint64_t, set->list);
    uint64_t low = 0, high = set->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (list[middle] < state)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the number of a state that is in the set. */
DEVICE uint64_t compose_rank(const struct compose_set *set, uint64_t state)
{
    if (set->dense)
        return state;
    if (set->kind == COMPOSE_BITMAP)
        return compose_rank_in_bitmap(set, state);
    return set->kind == COMPOSE_LIST ? compose_rank_in_list(set, state)
                                     : compose_number(set, state);
}

DEVICE uint64_t compose_thread(void)
{
    return (uint64_t)BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX;
}

DEVICE uint64_t compose_threads(void)
{
    return (uint64_t)GRID_SIZE * BLOCK_SIZE;
}

/* Returns the sum over the warp, in lane 0. */
DEVICE uint64_t compose_warp_sum(uint64_t x)
{
    for (uint32_t delta = WARP_SIZE / 2; delta; delta /= 2)
        x += warp_shuffle_down64(WARP_ALL, x, delta);
    return x;
}
