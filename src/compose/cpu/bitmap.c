/* Finding states in a bitmap. A block of words that may have states nobody has looked at is dirty.
 * The threads take groups of 64 blocks, one after another, and look at what is dirty in them until
 * nothing is; when they are through they meet and begin again from the other end, until nothing is
 * dirty anywhere. Bits are only ever set, so the order does not matter. */
#include "base/error.h"
#include "base/memory.h"
#include "compose/cpu/cpu.h"
#include "compose/wide.h"

#include <string.h>

void wide_firings(struct wide_firing *wide, const struct packing *packing, const struct grid *grid)
{
    for (size_t i = 0; i < packing->firings->count; i++) {
        const struct patch *patch = &packing->patches[packing->first[i]];
        uint64_t after = patch->value ^ patch->flip;
        wide[i] = (struct wide_firing){
            .mask = patch->mask & ~UINT64_C(63),
            .value = patch->value & ~UINT64_C(63),
            .places = packed_places(patch->mask, patch->value),
            .delta = (int64_t)(grid_word(grid, after) - grid_word(grid, patch->value)),
            .shift = (int)(after & 63) - (int)(patch->value & 63),
            .rivals = packing->rivals[i],
        };
    }
}

bool cpu_bitmap_open(struct cpu *cpu)
{
    const gordian_allocator *memory = &cpu->meter.memory;
    uint64_t words = cpu->grid.words, blocks = (words + GRID_BLOCK - 1) / GRID_BLOCK;
    struct space *space = &cpu->space;
    *space = (struct space){
        .kind = SPACE_BITMAP, .memory = *memory, .packing = &cpu->packing, .grid = &cpu->grid};
    if (words <= SIZE_MAX / sizeof(uint64_t)) {
        space->seen = memory_zeroed(memory, words * sizeof *space->seen);
        if (space->seen)
            space->done = memory_zeroed(memory, words * sizeof *space->done);
        if (space->done)
            space->dirty = memory_zeroed(memory, bits_words(blocks) * sizeof *space->dirty);
    }
    if (space->dirty)
        return true;
    space_close(space);
    return false;
}

void cpu_bitmap_put(struct cpu *cpu, uint64_t state, bool done)
{
    struct space *space = &cpu->space;
    uint64_t word = grid_word(&cpu->grid, state), bit = UINT64_C(1) << (state & 63);
    uint64_t block = word / GRID_BLOCK;
    atomic_fetch_or_explicit(&space->seen[word], bit, memory_order_relaxed);
    if (done) {
        space->done[word] |= bit;
        return;
    }
    space->done[word] &= ~bit;
    atomic_fetch_or_explicit(&space->dirty[block / 64], UINT64_C(1) << (block % 64),
                             memory_order_relaxed);
}

struct sweeping {
    struct cpu *cpu;
    struct space *space;
    struct wide_firing *firings;
    size_t firing_count;
    uint64_t groups;
    _Atomic uint64_t next; /* group to take */
    bool backwards, leave;
};

/* Fires everything that can happen in the `fresh` states of a word. Returns how many states are
 * new; *again: some of them are in this block, at this word or before. */
static uint64_t fire_word(const struct sweeping *sweeping, uint64_t word, uint64_t base,
                          uint64_t fresh, bool *again)
{
    struct space *space = sweeping->space;
    uint64_t found = 0;
    for (size_t i = 0; i < sweeping->firing_count; i++) {
        const struct wide_firing *firing = &sweeping->firings[i];
        if (!wide_fits(firing, base))
            continue;
        uint64_t reached = wide_shift(firing, fresh & firing->places);
        uint64_t to = word + (uint64_t)firing->delta;
        reached &= ~atomic_load_explicit(&space->seen[reached ? to : word], memory_order_relaxed);
        if (!reached)
            continue;
        uint64_t before = atomic_fetch_or_explicit(&space->seen[to], reached, memory_order_relaxed);
        reached &= ~before;
        if (!reached)
            continue;
        found += (uint64_t)__builtin_popcountll(reached);
        uint64_t block = to / GRID_BLOCK;
        if (block != word / GRID_BLOCK)
            atomic_fetch_or_explicit(&space->dirty[block / 64], UINT64_C(1) << (block % 64),
                                     memory_order_release);
        else
            *again |= to <= word;
    }
    return found;
}

static uint64_t sweep_block(const struct sweeping *sweeping, uint64_t block)
{
    struct space *space = sweeping->space;
    const struct grid *grid = space->grid;
    uint64_t first = block * GRID_BLOCK, last = first + GRID_BLOCK, found = 0;
    uint64_t start = grid_base(grid, first);
    last = last < grid->words ? last : grid->words;
    for (bool again = true; again;) {
        uint64_t base = start;
        again = false;
        for (uint64_t word = first; word < last; word++, base = grid_next(grid, base)) {
            for (;;) {
                uint64_t fresh = atomic_load_explicit(&space->seen[word], memory_order_relaxed) &
                                 ~space->done[word];
                if (!fresh)
                    break;
                space->done[word] |= fresh;
                found += fire_word(sweeping, word, base, fresh, &again);
            }
        }
    }
    return found;
}

static void sweep_group(const struct sweeping *sweeping, uint64_t group)
{
    struct cpu *cpu = sweeping->cpu;
    _Atomic uint64_t *dirty = &sweeping->space->dirty[group];
    while (atomic_load_explicit(dirty, memory_order_relaxed) && !cpu_halted(cpu)) {
        uint64_t blocks = atomic_exchange_explicit(dirty, 0, memory_order_acquire);
        uint64_t found = 0;
        for (; blocks; blocks &= blocks - 1)
            found += sweep_block(sweeping, group * 64 + (uint64_t)__builtin_ctzll(blocks));
        atomic_fetch_add_explicit(&cpu->states, found, memory_order_relaxed);
    }
}

/* Is anything left? One decides for all, while all are there. */
static void decide_sweep(struct sweeping *sweeping)
{
    bool clean = true;
    for (uint64_t g = 0; g < sweeping->groups && clean; g++)
        clean = atomic_load_explicit(&sweeping->space->dirty[g], memory_order_relaxed) == 0;
    sweeping->leave = clean || cpu_halted(sweeping->cpu);
    sweeping->backwards = !sweeping->backwards;
    atomic_store_explicit(&sweeping->next, 0, memory_order_relaxed);
}

static void sweep_blocks(void *context, unsigned member)
{
    struct sweeping *sweeping = context;
    struct team *team = sweeping->cpu->team;
    do {
        uint64_t group;
        while ((group = atomic_fetch_add_explicit(&sweeping->next, 1, memory_order_relaxed)) <
                   sweeping->groups &&
               !cpu_halted(sweeping->cpu))
            sweep_group(sweeping, sweeping->backwards ? sweeping->groups - 1 - group : group);
        team_meet(team);
        if (member == 0)
            decide_sweep(sweeping);
        team_meet(team);
    } while (!sweeping->leave);
}

static void count_found(struct cpu *cpu)
{
    uint64_t states = 0;
    for (uint64_t w = 0; w < cpu->grid.words; w++)
        states += (uint64_t)__builtin_popcountll(cpu->space.seen[w]);
    atomic_store(&cpu->states, states);
}

gordian_status cpu_bitmap(struct cpu *cpu, gordian_error *error)
{
    const gordian_allocator *memory = &cpu->meter.memory;
    struct sweeping sweeping = {.cpu = cpu, .space = &cpu->space};
    uint64_t blocks = (cpu->grid.words + GRID_BLOCK - 1) / GRID_BLOCK;
    sweeping.firing_count = cpu->firings.count;
    sweeping.groups = bits_words(blocks);
    sweeping.firings = memory_alloc(memory, sweeping.firing_count * sizeof *sweeping.firings);
    if (!sweeping.firings)
        return fail_memory(error);
    wide_firings(sweeping.firings, &cpu->packing, &cpu->grid);
    cpu_work(cpu, sweep_blocks, &sweeping);
    memory_free_all(memory, sweeping.firings, cpu->space.done, (void *)cpu->space.dirty);
    cpu->space.done = NULL;
    cpu->space.dirty = NULL;
    count_found(cpu);
    return GORDIAN_OK;
}
