/* Finds the reachable states: by words of a bitmap, or state by state with a hash table. */
#include "foundation/gpu/kernels/compose/compose_set.h"
#include "foundation/gpu/language/kernel.h"

/* ------------------------------------------------------------------ the bitmap */

/* Fires the states of `bits` in word `word` and returns the number of new states. */
DEVICE uint64_t fire_word(const struct compose_pass_arguments *a, uint64_t word, uint64_t bits)
{
    const struct compose_word_firing *firings =
        GPU_POINTER(const struct compose_word_firing, a->firings);
    uint64_t *visited = GPU_POINTER(uint64_t, a->visited);
    uint64_t *waiting = GPU_POINTER(uint64_t, a->waiting);
    uint64_t found = 0;
    for (uint32_t f = 0; f < a->firing_count; f++) {
        struct compose_word_firing firing = firings[f];
        uint64_t moved = bits & firing.pattern;
        if ((word & firing.mask) != firing.value || !moved)
            continue;
        moved = firing.shift >= 0 ? moved << firing.shift : moved >> -firing.shift;
        uint64_t to = word ^ firing.flip;
        /* Plain loads may be outdated; the atomic load is not. */
        moved &= ~load_relaxed64(&visited[to]);
        if (!moved)
            continue;
        moved &= ~atomic_or64(&visited[to], moved);
        if (!moved)
            continue;
        atomic_or64(&waiting[to], moved);
        found += popcount64(moved);
    }
    return found;
}

KERNEL_BOUNDED(compose_pass, struct compose_pass_arguments, COMPOSE_THREADS, 4)
{
    uint64_t *found = GPU_POINTER(uint64_t, a.found);
    uint64_t *waiting = GPU_POINTER(uint64_t, a.waiting);
    if (a.pass && load_relaxed64(&found[a.pass - 1]) == 0)
        return;
    uint64_t sum = 0;
    for (uint64_t base = compose_thread() - LANE; base < a.words; base += compose_threads()) {
        uint64_t word = base + LANE;
        while (word < a.words && load_relaxed64(&waiting[word]))
            sum += fire_word(&a, word, atomic_exchange64(&waiting[word], 0));
    }
    sum = compose_warp_sum(sum);
    if (LANE == 0 && sum)
        atomic_add64(&found[a.pass], sum);
}

KERNEL(compose_mark, struct compose_mark_arguments)
{
    const uint64_t *list = GPU_POINTER(const uint64_t, a.list);
    uint64_t sum = 0;
    for (uint64_t i = compose_thread(); i < a.count; i += compose_threads()) {
        uint64_t word = list[i] / 64, bit = (uint64_t)1 << list[i] % 64;
        sum += (atomic_or64(&GPU_POINTER(uint64_t, a.visited)[word], bit) & bit) == 0;
        if (i >= a.fresh)
            atomic_or64(&GPU_POINTER(uint64_t, a.waiting)[word], bit);
    }
    if (sum)
        atomic_add64(GPU_POINTER(uint64_t, a.found), sum);
}

/* ------------------------------------------------------------------ the table */

/* Inserts a state into the table, starting at its slot, whose content was `key`. Returns 1 if it is
 * new, 0 if it was there, -1 if there is no slot. */
DEVICE int settle_state(uint64_t *table, uint64_t slots, uint64_t state, uint64_t slot,
                        uint64_t key)
{
    for (uint32_t probe = 1;; probe++) {
        if (key == COMPOSE_EMPTY)
            key = atomic_compare_exchange64(&table[slot], COMPOSE_EMPTY, state);
        if (key == COMPOSE_EMPTY)
            return 1;
        if (key == state)
            return 0;
        if (probe == COMPOSE_PROBES)
            return -1;
        slot = (slot + 1) & (slots - 1);
        key = load_relaxed64(&table[slot]);
    }
}

DEVICE int enter_state(uint64_t *table, uint64_t slots, uint64_t state)
{
    uint64_t slot = compose_hash(state) & (slots - 1);
    return settle_state(table, slots, state, slot, load_relaxed64(&table[slot]));
}

/* Enters a state and appends it to the list if it is new. */
DEVICE void discover_state(uint64_t state, uint64_t *table, uint64_t slots, uint64_t *list,
                           uint64_t room, struct compose_tally *tally)
{
    int fresh = enter_state(table, slots, state);
    if (fresh > 0) {
        uint64_t at = atomic_add64(&tally->size, 1);
        if (at < room)
            list[at] = state;
    } else if (fresh < 0) {
        atomic_add64(&tally->full, 1);
    }
}

/* Where a block collects new states. */
struct finds {
    uint64_t *stage;  /* COMPOSE_STAGE states */
    uint32_t *staged; /* how many; those beyond the capacity went to the list directly */
    uint64_t *list;
    uint64_t *size, *found, *full; /* of the list; of this level */
    uint64_t room;
};

DEVICE void keep_find(const struct finds *finds, uint64_t state)
{
    uint32_t at = atomic_add32(finds->staged, 1);
    if (at < COMPOSE_STAGE) {
        finds->stage[at] = state;
        return;
    }
    uint64_t place = atomic_add64(finds->size, 1);
    atomic_add64(finds->found, 1);
    if (place < finds->room)
        finds->list[place] = state;
}

DEVICE void enter_find(int fresh, uint64_t state, const struct finds *finds)
{
    if (fresh > 0)
        keep_find(finds, state);
    else if (fresh < 0)
        atomic_add64(finds->full, 1);
}

#define HELD 2u /* firings that a lane keeps in registers: nearly always all of them */

/* A lane's, in registers. */
struct held_firings {
    uint64_t mask[HELD], value[HELD], flip[HELD];
};

DEVICE void hold_firings(const struct compose_firings *all, struct held_firings *held)
{
    const struct compose_firing *firings = GPU_POINTER(const struct compose_firing, all->firings);
    for (uint32_t h = 0; h < HELD; h++) {
        uint32_t f = LANE + h * WARP_SIZE;
        held->mask[h] = f < all->count ? firings[f].mask : 0;
        held->value[h] = f < all->count ? firings[f].value : 1; /* matches no state */
        held->flip[h] = f < all->count ? firings[f].flip : 0;
    }
}

/* Fires a state by a warp; each lane has some of the firings. Both slots are fetched before either
 * is used. */
DEVICE void fire_state(const struct compose_levels_arguments *a, const struct held_firings *held,
                       uint64_t state, const struct finds *finds)
{
    const struct compose_firing *firings =
        GPU_POINTER(const struct compose_firing, a->firings.firings);
    uint64_t *table = GPU_POINTER(uint64_t, a->table);
    uint64_t slot[HELD], key[HELD];
    for (uint32_t h = 0; h < HELD; h++) {
        slot[h] = compose_hash(state ^ held->flip[h]) & (a->slots - 1);
        key[h] = (state & held->mask[h]) == held->value[h] ? load_relaxed64(&table[slot[h]]) : 0;
    }
    for (uint32_t h = 0; h < HELD; h++) {
        uint64_t to = state ^ held->flip[h];
        if ((state & held->mask[h]) == held->value[h])
            enter_find(settle_state(table, a->slots, to, slot[h], key[h]), to, finds);
    }
    for (uint32_t f = LANE + HELD * WARP_SIZE; f < a->firings.count; f += WARP_SIZE) {
        uint64_t to = state ^ firings[f].flip;
        if (compose_enabled(&firings[f], state))
            enter_find(enter_state(table, a->slots, to), to, finds);
    }
}

/* Moves the block's new states to the list, with one reservation. */
DEVICE void hand_in(const struct finds *finds, uint64_t *place)
{
    block_barrier();
    uint32_t count = *finds->staged < COMPOSE_STAGE ? *finds->staged : COMPOSE_STAGE;
    if (THREAD_INDEX == 0 && count) {
        *place = atomic_add64(finds->size, count);
        atomic_add64(finds->found, count);
    }
    block_barrier();
    if (THREAD_INDEX == 0)
        *finds->staged = 0;
    for (uint32_t i = THREAD_INDEX; i < count; i += BLOCK_SIZE)
        if (*place + i < finds->room)
            finds->list[*place + i] = finds->stage[i];
    block_barrier();
}

KERNEL_BOUNDED(compose_levels, struct compose_levels_arguments, COMPOSE_THREADS, 5)
{
    SHARED(uint64_t, stage, COMPOSE_STAGE);
    SHARED(uint32_t, staged, 1);
    SHARED(uint64_t, place, 1);
    const uint64_t warps = BLOCK_SIZE / WARP_SIZE, all = warps * GRID_SIZE;
    uint64_t first = a.first, last = a.last, size = a.size;
    struct held_firings held;
    struct finds finds;
    hold_firings(&a.firings, &held);
    finds.stage = stage;
    finds.staged = staged;
    finds.list = GPU_POINTER(uint64_t, a.list);
    finds.size = &GPU_POINTER(struct compose_tally, a.tally)->size;
    finds.room = a.room;
    if (THREAD_INDEX == 0)
        staged[0] = 0;
    block_barrier();
    for (uint32_t level = 0; level < a.levels; level++) {
        uint64_t each = (last - first) / all;
        each = each < 1 ? 1 : each > COMPOSE_TURN ? COMPOSE_TURN : each;
        finds.found = GPU_POINTER(uint64_t, a.found) + level;
        finds.full = GPU_POINTER(uint64_t, a.full) + level;
        for (uint64_t base = first + BLOCK_INDEX * warps * each; base < last; base += all * each) {
            uint64_t i = base + THREAD_INDEX / WARP_SIZE;
            for (uint64_t k = 0; k < each && i < last; k++, i += warps)
                fire_state(&a, &held, finds.list[i], &finds);
            hand_in(&finds, place);
        }
        grid_barrier(GPU_POINTER(struct grid_barrier, a.barrier));
        first = last;
        last = size += load_relaxed64(finds.found);
        if (first == last || last > a.room || last > a.most || load_relaxed64(finds.full))
            return;
    }
}

KERNEL(compose_enter, struct compose_enter_arguments)
{
    const uint64_t *from = GPU_POINTER(const uint64_t, a.from);
    uint64_t *table = GPU_POINTER(uint64_t, a.table);
    struct compose_tally *tally = GPU_POINTER(struct compose_tally, a.tally);
    for (uint64_t i = compose_thread(); i < a.count; i += compose_threads()) {
        if (a.extend)
            discover_state(from[i], table, a.slots, GPU_POINTER(uint64_t, a.list), a.room, tally);
        else if (enter_state(table, a.slots, from[i]) < 0)
            atomic_add64(&tally->full, 1);
    }
}
