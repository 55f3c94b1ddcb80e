/* Finds reachable states in a bitmap. A block of words is dirty if it may contain states that have
 * not fired yet. The threads sweep over groups of 64 blocks, up and down repeatedly. Each thread
 * takes the next group and processes its dirty blocks, except those that another thread is
 * processing, until none is left. Threads do not wait for each other to finish a sweep: a thread
 * that finds no work scans all groups and continues with the first dirty one. Bits are only ever
 * set, so the order does not affect the result. But the longer a block waits, the more of its
 * states fire at once; this is why the threads sweep. The search ends when every thread has scanned
 * all groups without finding work. A thread that makes a block dirty scans all groups later, before
 * it reports that it found nothing. So it sees the dirty block, unless another thread has processed
 * it before. */
#include "engines/compose/cpu/cpu.h"
#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <sched.h>
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

/* Memory that the threads clear, one piece after another, so that the pages are local to them. */
struct clearing {
    uint64_t *words[4];
    uint64_t counts[4];
    _Atomic uint64_t next; /* next piece */
};

#define PIECE (UINT64_C(1) << 18) /* words: a multiple of every page size */

static void clear_pieces(void *context, unsigned member)
{
    struct clearing *clearing = context;
    (void)member;
    for (;;) {
        uint64_t piece = atomic_fetch_add_explicit(&clearing->next, 1, memory_order_relaxed);
        size_t i = 0;
        while (i < 4 && piece >= (clearing->counts[i] + PIECE - 1) / PIECE)
            piece -= (clearing->counts[i++] + PIECE - 1) / PIECE;
        if (i == 4)
            return;
        uint64_t left = clearing->counts[i] - piece * PIECE;
        memset(clearing->words[i] + piece * PIECE, 0,
               (left < PIECE ? left : PIECE) * sizeof *clearing->words[i]);
    }
}

bool cpu_bitmap_open(struct cpu *cpu)
{
    const gordian_allocator *memory = &cpu->meter.memory;
    uint64_t words = cpu->grid.words, blocks = (words + GRID_BLOCK - 1) / GRID_BLOCK;
    uint64_t groups = bits_words(blocks);
    struct space *space = &cpu->space;
    *space = (struct space){
        .kind = SPACE_BITMAP, .memory = *memory, .packing = &cpu->packing, .grid = &cpu->grid};
    if (words <= SIZE_MAX / sizeof(uint64_t)) {
        space->seen = memory_alloc(memory, words * sizeof *space->seen);
        space->done = space->seen ? memory_alloc(memory, words * sizeof *space->done) : NULL;
        space->dirty = space->done ? memory_alloc(memory, groups * sizeof *space->dirty) : NULL;
        space->taken = space->dirty ? memory_alloc(memory, groups * sizeof *space->taken) : NULL;
    }
    if (!space->taken) {
        space_close(space);
        return false;
    }
    memory_large(space->seen, words * sizeof *space->seen);
    memory_large(space->done, words * sizeof *space->done);
    struct clearing clearing = {
        {(uint64_t *)space->seen, space->done, (uint64_t *)space->dirty, (uint64_t *)space->taken},
        {words, words, groups, groups},
        0};
    cpu_work(cpu, clear_pieces, &clearing);
    return true;
}

/* Marks a block dirty after its states have been set. Usually the block is dirty already, and then
 * the cache line stays with its owner. All these operations are sequentially consistent, so a
 * thread that marks the block clean afterwards sees the states. */
static void mark_dirty(struct space *space, uint64_t block)
{
    uint64_t bit = UINT64_C(1) << (block % 64);
    if (!(atomic_load(&space->dirty[block / 64]) & bit))
        atomic_fetch_or(&space->dirty[block / 64], bit);
}

void cpu_bitmap_take(struct cpu *cpu, const struct cell *cell)
{
    struct space *space = &cpu->space;
    uint64_t word = grid_word(&cpu->grid, cell->word << 6);
    atomic_store(&space->seen[word], cell->visited);
    space->done[word] = cell->visited & ~cell->waiting;
    if (cell->waiting)
        mark_dirty(space, word / GRID_BLOCK);
}

void cpu_bitmap_put(struct cpu *cpu, uint64_t state, bool done)
{
    struct space *space = &cpu->space;
    uint64_t word = grid_word(&cpu->grid, state), bit = UINT64_C(1) << (state & 63);
    uint64_t block = word / GRID_BLOCK;
    atomic_fetch_or(&space->seen[word], bit);
    if (done) {
        space->done[word] |= bit;
        return;
    }
    space->done[word] &= ~bit;
    mark_dirty(space, block);
}

struct sweeping {
    struct cpu *cpu;
    struct space *space;
    struct wide_firing *firings;
    size_t firing_count;
    uint64_t groups;
    _Atomic uint64_t next; /* next group; counts up, then down, repeatedly */
    _Atomic uint64_t busy; /* threads that have not scanned all groups in vain */
    _Atomic uint64_t fired, stuck, idle_ns;
};

/* Counters of a thread. */
struct tally {
    uint64_t fired, stuck;
};

/* Fires everything enabled in the `fresh` states of a word. Returns the number of new states.
 * *again: some of them are in this block, at this word or before it. */
static uint64_t fire_bitmap_word(const struct sweeping *sweeping, uint64_t word, uint64_t base,
                                 uint64_t fresh, struct tally *tally, bool *again)
{
    struct space *space = sweeping->space;
    uint64_t found = 0, moving = 0;
    for (size_t i = 0; i < sweeping->firing_count; i++) {
        const struct wide_firing *firing = &sweeping->firings[i];
        if (!wide_fits(firing, base))
            continue;
        moving |= fresh & firing->places;
        uint64_t reached = wide_shift(firing, fresh & firing->places);
        uint64_t to = word + (uint64_t)firing->delta;
        reached &= ~atomic_load_explicit(&space->seen[reached ? to : word], memory_order_relaxed);
        if (!reached)
            continue;
        uint64_t before = atomic_fetch_or(&space->seen[to], reached);
        reached &= ~before;
        if (!reached)
            continue;
        found += (uint64_t)__builtin_popcountll(reached);
        uint64_t block = to / GRID_BLOCK;
        if (block != word / GRID_BLOCK)
            mark_dirty(space, block);
        else
            *again |= to <= word;
    }
    tally->fired++;
    if (fresh & ~moving) {
        uint64_t state = base | (uint64_t)__builtin_ctzll(fresh & ~moving);
        tally->stuck += (uint64_t)__builtin_popcountll(fresh & ~moving);
        cpu_record_deadlock(sweeping->cpu, &state);
    }
    return found;
}

static uint64_t sweep_block(const struct sweeping *sweeping, uint64_t block, struct tally *tally)
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
                uint64_t fresh = atomic_load(&space->seen[word]) & ~space->done[word];
                if (!fresh)
                    break;
                space->done[word] |= fresh;
                found += fire_bitmap_word(sweeping, word, base, fresh, tally, &again);
            }
        }
    }
    return found;
}

/* Takes a dirty block of the group that no other thread is processing, and marks it clean. */
static bool take_block(struct space *space, uint64_t group, uint64_t *block)
{
    for (;;) {
        uint64_t open = atomic_load_explicit(&space->dirty[group], memory_order_relaxed) &
                        ~atomic_load_explicit(&space->taken[group], memory_order_relaxed);
        if (!open)
            return false;
        uint64_t bit = open & -open;
        if (atomic_fetch_or_explicit(&space->taken[group], bit, memory_order_acquire) & bit)
            continue;
        *block = group * 64 + (uint64_t)__builtin_ctzll(bit);
        if (atomic_fetch_and(&space->dirty[group], ~bit) & bit)
            return true;
        atomic_fetch_and_explicit(&space->taken[group], ~bit, memory_order_release);
    }
}

/* Processes the dirty blocks of a group. Returns true if there were any. */
static bool sweep_group(const struct sweeping *sweeping, uint64_t group, struct tally *tally)
{
    struct cpu *cpu = sweeping->cpu;
    struct space *space = sweeping->space;
    uint64_t block;
    bool any = false;
    while (!cpu_halted(cpu) && take_block(space, group, &block)) {
        uint64_t found = sweep_block(sweeping, block, tally);
        atomic_fetch_and_explicit(&space->taken[group], ~(UINT64_C(1) << (block % 64)),
                                  memory_order_release);
        atomic_fetch_add_explicit(&cpu->states, found, memory_order_relaxed);
        any = true;
    }
    return any;
}

#define STRIPES 8u

/* Returns the first dirty group from this one on, cyclically; `groups`: none. */
static uint64_t find_dirty_group(const struct sweeping *sweeping, uint64_t from)
{
    uint64_t groups = sweeping->groups;
    for (uint64_t i = 0; i < groups; i++) {
        uint64_t group = from + i < groups ? from + i : from + i - groups;
        if (atomic_load_explicit(&sweeping->space->dirty[group], memory_order_relaxed))
            return group;
    }
    return groups;
}

#define CLEAN_MOST 16u /* clean groups in a row before a thread scans all groups */

/* Waits for other threads to mark blocks dirty, because this thread sees no work. Returns the group
 * to process; `groups`: all threads are waiting, the search is over. */
static uint64_t wait_for_dirt(struct sweeping *sweeping, uint64_t group)
{
    uint64_t groups = sweeping->groups, dirty = groups, start = clock_ns();
    atomic_fetch_sub(&sweeping->busy, 1);
    while (atomic_load(&sweeping->busy) > 0 && !cpu_halted(sweeping->cpu)) {
        dirty = find_dirty_group(sweeping, group);
        if (dirty < groups) {
            atomic_fetch_add(&sweeping->busy, 1);
            break;
        }
        sched_yield();
    }
    atomic_fetch_add_explicit(&sweeping->idle_ns, clock_ns() - start, memory_order_relaxed);
    return dirty;
}

static void sweep_blocks(void *context, unsigned member)
{
    struct sweeping *sweeping = context;
    unsigned clean = 0;
    struct tally tally = {0, 0};
    (void)member;
    while (!cpu_halted(sweeping->cpu)) {
        /* Most firings lead to a nearby word. Consecutive groups are far apart, so that threads
         * that work at the same time rarely share cache lines. */
        uint64_t at = atomic_fetch_add_explicit(&sweeping->next, 1, memory_order_relaxed);
        uint64_t stripe = sweeping->groups / STRIPES;
        at %= 2 * sweeping->groups;
        at = at < sweeping->groups ? at : 2 * sweeping->groups - 1 - at;
        uint64_t group = at < stripe * STRIPES ? at % STRIPES * stripe + at / STRIPES : at;
        clean = sweep_group(sweeping, group, &tally) ? 0 : clean + 1;
        if (clean < CLEAN_MOST)
            continue;
        clean = 0;
        uint64_t dirty = find_dirty_group(sweeping, group);
        if (dirty == sweeping->groups)
            dirty = wait_for_dirt(sweeping, group);
        if (dirty == sweeping->groups)
            break;
        sweep_group(sweeping, dirty, &tally);
    }
    atomic_fetch_add_explicit(&sweeping->fired, tally.fired, memory_order_relaxed);
    atomic_fetch_add_explicit(&sweeping->stuck, tally.stuck, memory_order_relaxed);
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
    atomic_store(&sweeping.busy, thread_pool_size(cpu->workers));
    gordian_compose_phase *phase = compose_phase(cpu->result, "bitmap");
    cpu_work(cpu, sweep_blocks, &sweeping);
    compose_phase_end(phase);
    cpu->stuck += atomic_load(&sweeping.stuck);
    if (phase) {
        phase->fired = atomic_load(&sweeping.fired);
        phase->idle_ns = atomic_load(&sweeping.idle_ns);
    }
    for (uint64_t word = 0; cpu_halted(cpu) && word < cpu->grid.words; word++)
        cpu->unexpanded +=
            (uint64_t)__builtin_popcountll(cpu->space.seen[word] & ~cpu->space.done[word]);
    if (!cpu_halted(cpu)) { /* otherwise it marks the states that have fired */
        memory_free(memory, cpu->space.done);
        cpu->space.done = NULL;
    }
    memory_free_all(memory, sweeping.firings, (void *)cpu->space.dirty, (void *)cpu->space.taken);
    cpu->space.dirty = cpu->space.taken = NULL;
    return GORDIAN_OK;
}
