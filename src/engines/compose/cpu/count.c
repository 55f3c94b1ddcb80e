/* Counts transitions and deadlocks; each thread has a share of the states. In a bitmap, the states
 * of a word are counted together. The number of enabled firings of each of the 64 states is stored
 * in bit planes: bit i of plane p is bit p of the count of state i. */
#include "engines/compose/cpu/cpu.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

#define PLANES 20 /* with one word per state, at most 2^20 firings are listed */

struct counting {
    struct cpu *cpu;
    struct wide_firing *firings;
    size_t firing_count;
    bool full;       /* all combinations of the grid */
    bool unexpanded; /* only states that have not fired yet */
    _Atomic uint64_t deadlocks;
    _Atomic uint64_t next; /* next block */
    _Atomic bool saturated, memory;
};

static void add_transitions(struct counting *counting, uint64_t count)
{
    uint64_t before = atomic_fetch_add(&counting->cpu->transitions, count);
    if (count == UINT64_MAX || before + count < before)
        atomic_store(&counting->saturated, true);
}

/* Adds to the total of a thread. UINT64_MAX: more than 64 bits can count. */
static void add_saturating(struct counting *counting, uint64_t *total, uint64_t count)
{
    if (!__builtin_add_overflow(*total, count, total))
        return;
    *total = UINT64_MAX;
    atomic_store(&counting->saturated, true);
}

/* ------------------------------------------------------------------ one state */

bool cpu_can_fire(const struct cpu *cpu, const uint64_t *state)
{
    const struct packing *packing = &cpu->packing;
    for (size_t i = 0; i < packing->firings->count; i++)
        if (patches_fit(packing->patches + packing->first[i],
                        packing->first[i + 1] - packing->first[i], state))
            return true;
    return false;
}

static void note_counted_deadlocks(struct counting *counting, const uint64_t *state, uint64_t count)
{
    atomic_fetch_add_explicit(&counting->deadlocks, count, memory_order_relaxed);
    if (!counting->full)
        cpu_record_deadlock(counting->cpu, state);
}

static bool count_state(struct counting *counting, unsigned member, const uint64_t *state,
                        uint64_t *total)
{
    struct firing_view *view = &counting->cpu->views[member];
    const gordian_compose_options *options = counting->cpu->options;
    bool transitions = options->count_transitions && !counting->unexpanded;
    uint64_t joint = 0;
    if (!transitions && cpu_can_fire(counting->cpu, state))
        return true;
    if (!firing_view_find(view, state))
        return false;
    if (view->count == 0)
        note_counted_deadlocks(counting, state, 1);
    if (options->indivisible || !transitions)
        joint = view->count;
    else if (!firing_view_count(view, &joint))
        return false;
    add_saturating(counting, total, joint);
    return true;
}

/* ------------------------------------------------------------------ one word */

/* Sums 2^count - 1 over the states of `mask`. */
static uint64_t sum_planes(const uint64_t *planes, size_t plane_count, uint64_t mask, size_t most,
                           bool *saturated)
{
    uint64_t sum = 0;
    for (size_t count = 1; count <= most && count >> plane_count == 0; count++) {
        uint64_t these = mask;
        for (size_t p = 0; p < plane_count; p++)
            these &= count >> p & 1 ? planes[p] : ~planes[p];
        if (!these)
            continue;
        uint64_t each = count >= 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1, all;
        if (__builtin_mul_overflow(each, (uint64_t)__builtin_popcountll(these), &all) ||
            __builtin_add_overflow(sum, all, &sum)) {
            *saturated = true;
            return UINT64_MAX;
        }
    }
    return sum;
}

/* Counts the enabled firings of the states of a word: planes of counts, the states with an enabled
 * firing, and the states with firings that may conflict. Returns the number of enabled (state,
 * firing) pairs. */
static uint64_t count_enabled(const struct counting *counting, uint64_t base, uint64_t states,
                              uint64_t *planes, size_t *plane_count, size_t *most, uint64_t *any,
                              uint64_t *rivals)
{
    uint64_t pairs = 0;
    for (size_t i = 0; i < counting->firing_count; i++) {
        const struct wide_firing *firing = &counting->firings[i];
        uint64_t here = wide_fits(firing, base) ? states & firing->places : 0;
        if (!here)
            continue;
        *any |= here;
        *rivals |= firing->rivals ? here : 0;
        pairs += (uint64_t)__builtin_popcountll(here);
        ++*most;
        for (size_t p = 0; here; p++) {
            if (p == *plane_count)
                planes[(*plane_count)++] = 0;
            uint64_t carry = planes[p] & here;
            planes[p] ^= here;
            here = carry;
        }
    }
    return pairs;
}

static bool count_state_word(struct counting *counting, unsigned member, uint64_t base,
                             uint64_t states, uint64_t *total)
{
    const gordian_compose_options *options = counting->cpu->options;
    uint64_t planes[PLANES], any = 0, rivals = 0, sum;
    size_t plane_count = 0, most = 0;
    bool saturated = false;
    uint64_t pairs =
        count_enabled(counting, base, states, planes, &plane_count, &most, &any, &rivals);
    if (states & ~any) {
        uint64_t state = base | (uint64_t)__builtin_ctzll(states & ~any);
        note_counted_deadlocks(counting, &state, (uint64_t)__builtin_popcountll(states & ~any));
    }
    if (!options->count_transitions || counting->unexpanded)
        return true;
    if (options->indivisible)
        rivals = 0;
    sum = options->indivisible
              ? pairs
              : sum_planes(planes, plane_count, states & ~rivals, most, &saturated);
    add_saturating(counting, total, sum);
    if (saturated) {
        *total = UINT64_MAX;
        atomic_store(&counting->saturated, true);
    }
    struct firing_view *view = &counting->cpu->views[member];
    for (; rivals; rivals &= rivals - 1) {
        uint64_t state = base | (uint64_t)__builtin_ctzll(rivals), joint;
        if (!firing_view_find(view, &state) || !firing_view_count(view, &joint))
            return false;
        add_saturating(counting, total, joint);
    }
    return true;
}

/* The fields that begin in the low bits of a word. They alone decide which of its states exist. */
static uint64_t low_fields(const struct packing *packing)
{
    uint64_t mask = 63;
    for (uint32_t f = 0; f < packing->circuit->factor_count; f++)
        if (packing->fields[f].shift < 6)
            mask |= ((UINT64_C(1) << packing->fields[f].bits) - 1) << packing->fields[f].shift;
    return mask;
}

/* The states of a word that exist. */
static uint64_t valid_places(const struct packing *packing, uint64_t base)
{
    uint64_t places = 0;
    uint32_t factors = (uint32_t)packing->circuit->factor_count;
    struct packed_field last =
        factors ? packing->fields[factors - 1] : (struct packed_field){0, 0, 0};
    unsigned used = last.shift + last.bits;
    for (uint64_t p = 0; p < 64; p++) {
        uint64_t state = base | p;
        bool valid = used >= 6 || p >> used == 0;
        for (uint32_t f = 0; f < factors && packing->fields[f].shift < 6 && valid; f++)
            valid =
                packed_local(packing, &state, f) < factor_shape(packing->circuit, f)->state_count;
        places |= (uint64_t)valid << p;
    }
    return places;
}

static void count_bitmap_blocks(void *context, unsigned member)
{
    struct counting *counting = context;
    struct cpu *cpu = counting->cpu;
    const struct grid *grid = &cpu->grid;
    uint64_t block, total = 0, low = UINT64_MAX, places = 0;
    uint64_t low_mask = low_fields(&cpu->packing);
    while ((block = atomic_fetch_add_explicit(&counting->next, 1, memory_order_relaxed)) <
           (grid->words + GRID_BLOCK - 1) / GRID_BLOCK) {
        uint64_t word = block * GRID_BLOCK, last = word + GRID_BLOCK;
        uint64_t base = grid_base(grid, word);
        last = last < grid->words ? last : grid->words;
        for (; word < last; word++, base = grid_next(grid, base)) {
            uint64_t states = counting->full ? 0 : cpu->space.seen[word];
            if (counting->unexpanded)
                states &= ~cpu->space.done[word];
            if (counting->full) {
                if ((base & low_mask) != low)
                    places = valid_places(&cpu->packing, base);
                low = base & low_mask;
                states = places;
            }
            if (states && !count_state_word(counting, member, base, states, &total)) {
                atomic_store(&counting->memory, true);
                return;
            }
        }
        if (cpu_halted(cpu))
            break;
        if (block % 256 == 0) {
            add_transitions(counting, total);
            total = 0;
        }
    }
    add_transitions(counting, total);
}

/* ------------------------------------------------------------------ all */

struct part_context {
    struct counting *counting;
    unsigned member;
    uint64_t total;
    bool failed;
};

static void count_table_state(void *context, const uint64_t *state)
{
    struct part_context *part = context;
    if (part->failed || cpu_halted(part->counting->cpu))
        return;
    part->failed = !count_state(part->counting, part->member, state, &part->total);
}

static void count_part(void *context, unsigned member)
{
    struct counting *counting = context;
    struct cpu *cpu = counting->cpu;
    struct part_context part = {.counting = counting, .member = member};
    (counting->unexpanded ? table_each_waiting : table_each)(
        cpu->table, member, cpu->views[member].here, count_table_state, &part);
    if (part.failed)
        atomic_store(&counting->memory, true);
    add_transitions(counting, part.total);
}

static void count_cells(void *context, unsigned member)
{
    struct counting *counting = context;
    uint64_t total = 0;
    size_t count;
    const struct cell *cells = word_shards_cells(counting->cpu, member, &count);
    for (size_t i = 0; i < count && (i % 1024 != 0 || !cpu_halted(counting->cpu)); i++) {
        uint64_t states = counting->unexpanded ? cells[i].waiting : cells[i].visited;
        if (states && !count_state_word(counting, member, cells[i].word << 6, states, &total)) {
            atomic_store(&counting->memory, true);
            break;
        }
    }
    add_transitions(counting, total);
}

/* Counts every combination, one after another; used if there is no grid. */
static void count_all_combinations(void *context, unsigned member)
{
    struct counting *counting = context;
    struct cpu *cpu = counting->cpu;
    struct space_walk walk;
    uint64_t count = cpu->circuit->whole, share = count / thread_pool_size(cpu->workers), total = 0;
    uint64_t first = share * member;
    uint64_t last = member + 1 == thread_pool_size(cpu->workers) ? count : first + share;
    struct firing_view *view = &cpu->views[member];
    struct space all;
    bool fine = space_full(&all, &cpu->packing, 0, &cpu->meter.memory, NULL) == GORDIAN_OK;
    if (fine && first < last)
        space_seek(&walk, &all, first, view->here, view->here_locals);
    for (uint64_t n = first; fine && n < last && !cpu_halted(cpu); n++) {
        fine = count_state(counting, member, view->here, &total);
        if (n + 1 < last)
            space_step(&walk);
    }
    space_close(&all);
    if (!fine)
        atomic_store(&counting->memory, true);
    add_transitions(counting, total);
}

static gordian_status count_on_threads(struct cpu *cpu, struct counting *counting,
                                       void (*work)(void *context, unsigned member),
                                       gordian_error *error)
{
    const gordian_allocator *memory = &cpu->meter.memory;
    if (work == count_bitmap_blocks || work == count_cells) {
        counting->firing_count = cpu->firings.count;
        counting->firings =
            memory_alloc(memory, counting->firing_count * sizeof *counting->firings);
        if (!counting->firings)
            return fail_memory(error);
        wide_firings(counting->firings, &cpu->packing, &cpu->grid);
    }
    atomic_store(&cpu->transitions, 0);
    cpu_work(cpu, work, counting);
    memory_free(memory, counting->firings);
    if (atomic_load(&counting->memory))
        return fail_memory(error);
    if (atomic_load(&counting->saturated)) {
        atomic_store(&cpu->transitions, UINT64_MAX);
        memcpy(cpu->result->note, "more transitions than 64 bits can count",
               sizeof "more transitions than 64 bits can count");
    }
    return GORDIAN_OK;
}

gordian_status cpu_count_full(struct cpu *cpu, gordian_error *error)
{
    struct counting counting = {.cpu = cpu, .full = true};
    return count_on_threads(cpu, &counting,
                            cpu->grid.words ? count_bitmap_blocks : count_all_combinations, error);
}

static gordian_status count_found(struct cpu *cpu, struct counting *counting, uint64_t *deadlocks,
                                  gordian_error *error)
{
    gordian_status status = count_on_threads(cpu, counting,
                                             cpu->shards  ? count_cells
                                             : cpu->table ? count_part
                                                          : count_bitmap_blocks,
                                             error);
    *deadlocks = atomic_load(&counting->deadlocks);
    return status;
}

gordian_status cpu_count(struct cpu *cpu, uint64_t *deadlocks, gordian_error *error)
{
    struct counting counting = {.cpu = cpu};
    return count_found(cpu, &counting, deadlocks, error);
}

gordian_status cpu_count_unexpanded(struct cpu *cpu, uint64_t *deadlocks, gordian_error *error)
{
    struct counting counting = {.cpu = cpu, .unexpanded = true};
    return count_found(cpu, &counting, deadlocks, error);
}

gordian_status cpu_count_dead(struct cpu *cpu, const struct space *within, uint64_t *deadlocks,
                              gordian_error *error)
{
    struct firing_view *view = &cpu->views[0];
    struct space_walk walk;
    *deadlocks = 0;
    for (uint64_t n = 0; n < cpu->space.count && !cpu_halted(cpu); n++) {
        if (n == 0)
            space_seek(&walk, &cpu->space, 0, view->here, view->here_locals);
        else
            space_step(&walk);
        if (!firing_view_find(view, view->here))
            return fail_memory(error);
        *deadlocks += view->count == 0 && space_number(within, view->here) != UINT64_MAX;
        if (n % 65536 == 0)
            cpu_report(cpu);
    }
    return GORDIAN_OK;
}

size_t cpu_described(const struct cpu *cpu)
{
    uint64_t deadlocks = cpu->result->deadlocks, most = cpu->options->max_deadlocks;
    return (size_t)(deadlocks < most ? deadlocks : most);
}
