/* Finding states in a bitmap. A block of words that may have states nobody has looked at is dirty.
 * The threads go over groups of 64 blocks, up and down again and again, each taking the next group;
 * there it looks at the blocks that are dirty and that nobody else is at, until none is left.
 * Nobody waits for the others to come round: whoever finds nothing looks everywhere, and what he
 * finds then he looks at next. Bits are only ever set, so the order does not matter; but the longer
 * a block waits, the more of its states fire at once, and that is why they go round.
 *
 * It is over when all have looked everywhere in vain. Whoever makes a block dirty looks everywhere
 * later on before he says so: what is dirty then is seen by him, if not by somebody else before. */
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

/* What the threads make zero, a piece after the other, so that the pages are theirs. */
struct clearing {
    uint64_t *words[4];
    uint64_t counts[4];
    _Atomic uint64_t next; /* piece to take */
};

#define PIECE (UINT64_C(1) << 18) /* words: pages of any size */

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

/* After its states have been set. Mostly the block is dirty already, and then the line stays with
 * whoever has it: the order of all of these, which is sequential, says that whoever makes it clean
 * after that sees the states. */
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
    _Atomic uint64_t next; /* group to take, up and down again */
    _Atomic uint64_t busy; /* threads that have not looked everywhere in vain */
    _Atomic uint64_t fired, stuck, idle_ns;
};

/* What a thread counts. */
struct tally {
    uint64_t fired, stuck;
};

/* Fires everything that can happen in the `fresh` states of a word. Returns how many states are
 * new; *again: some of them are in this block, at this word or before. */
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
        cpu_note_stuck(sweeping->cpu, &state);
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

/* A dirty block of the group that nobody is at, if there is one: it is ours, and clean. */
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

/* True: there was something to do. */
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

/* The first dirty group from this one on, round about; `groups`: there is none. */
static uint64_t look_everywhere(const struct sweeping *sweeping, uint64_t from)
{
    uint64_t groups = sweeping->groups;
    for (uint64_t i = 0; i < groups; i++) {
        uint64_t group = from + i < groups ? from + i : from + i - groups;
        if (atomic_load_explicit(&sweeping->space->dirty[group], memory_order_relaxed))
            return group;
    }
    return groups;
}

#define CLEAN_MOST 16u /* groups without anything to do before it looks everywhere */

/* Nothing is left, as far as it sees: waits for what others may leave. The group to look at;
 * `groups`: all are waiting, it is over. */
static uint64_t wait_for_dirt(struct sweeping *sweeping, uint64_t group)
{
    uint64_t groups = sweeping->groups, dirty = groups, start = clock_ns();
    atomic_fetch_sub(&sweeping->busy, 1);
    while (atomic_load(&sweeping->busy) > 0 && !cpu_halted(sweeping->cpu)) {
        dirty = look_everywhere(sweeping, group);
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
        /* Many firings lead to a word nearby. Groups that are taken one after the other lie far
         * apart, so that threads that work at the same time seldom want the same lines of memory.
         */
        uint64_t at = atomic_fetch_add_explicit(&sweeping->next, 1, memory_order_relaxed);
        uint64_t stripe = sweeping->groups / STRIPES;
        at %= 2 * sweeping->groups;
        at = at < sweeping->groups ? at : 2 * sweeping->groups - 1 - at;
        uint64_t group = at < stripe * STRIPES ? at % STRIPES * stripe + at / STRIPES : at;
        clean = sweep_group(sweeping, group, &tally) ? 0 : clean + 1;
        if (clean < CLEAN_MOST)
            continue;
        clean = 0;
        uint64_t dirty = look_everywhere(sweeping, group);
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
        cpu->unlooked +=
            (uint64_t)__builtin_popcountll(cpu->space.seen[word] & ~cpu->space.done[word]);
    if (!cpu_halted(cpu)) { /* otherwise it says what has not been looked at */
        memory_free(memory, cpu->space.done);
        cpu->space.done = NULL;
    }
    memory_free_all(memory, sweeping.firings, (void *)cpu->space.dirty, (void *)cpu->space.taken);
    cpu->space.dirty = cpu->space.taken = NULL;
    return GORDIAN_OK;
}
