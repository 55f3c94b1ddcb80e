/* Finding the reachable states: by words of a bitmap, or state by state with a hash table. */
#include "gpu/kernel.h"
#include "gpu/kernels/compose_set.h"

/* ------------------------------------------------------------------ the bitmap */

/* The states of `bits` in word `word` fire; how many new states that made. */
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
        /* What a plain load does not see yet the atomic one tells. */
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

/* Puts a state into the table. 1: it is new; 0: it was there; -1: no slot. */
DEVICE int enter_state(uint64_t *table, uint64_t slots, uint64_t state)
{
    uint64_t slot = compose_hash(state) & (slots - 1);
    for (uint32_t probe = 0; probe < COMPOSE_PROBES; probe++) {
        uint64_t key = load_relaxed64(&table[slot]);
        if (key == COMPOSE_EMPTY)
            key = atomic_compare_exchange64(&table[slot], COMPOSE_EMPTY, state);
        if (key == COMPOSE_EMPTY)
            return 1;
        if (key == state)
            return 0;
        slot = (slot + 1) & (slots - 1);
    }
    return -1;
}

/* Enters a state and puts it behind the list if it is new. */
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

KERNEL(compose_level, struct compose_level_arguments)
{
    const struct compose_firing *firings =
        GPU_POINTER(const struct compose_firing, a.firings.firings);
    uint64_t *list = GPU_POINTER(uint64_t, a.list);
    for (uint64_t i = a.first + compose_thread(); i < a.last; i += compose_threads()) {
        uint64_t state = list[i];
        for (uint32_t f = 0; f < a.firings.count; f++)
            if (compose_enabled(&firings[f], state))
                discover_state(state ^ firings[f].flip, GPU_POINTER(uint64_t, a.table), a.slots,
                               list, a.room, GPU_POINTER(struct compose_tally, a.tally));
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
