/* The shortest path, in joint firings, to each described deadlock: breadth-first search over the
 * states found. The states of a level are processed in the order of their numbers. So the
 * predecessor of a state is the smallest state of the previous level that leads to it, and all
 * engines find the same path. */
#include "engines/compose/circuit/record_table.h"
#include "engines/compose/cpu/cpu.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/sort.h"

#include <string.h>

struct tracing {
    struct cpu *cpu;
    const struct space *space;   /* the states found, or all near states, ranked */
    const struct space *numbers; /* gives the described deadlocks their numbers; NULL: none */
    /* By number: 1 + the predecessor; 0: not reached. `narrow` is used if 32 bits are enough. */
    uint32_t *narrow;
    uint64_t *wide;
    uint64_t *level, *next; /* numbers */
    size_t level_count, next_count, level_room, next_room;
    uint64_t from;
    uint64_t *found; /* deadlocks, nearest first */
    size_t found_count, wanted;
    uint64_t *state;
    uint32_t *locals;
    uint64_t steps;
    bool failed;

    uint64_t *goal; /* while finding a label: the target of the step */
    uint64_t *label;
    bool has_label;
};

static uint64_t number_before(const struct tracing *tracing, uint64_t number)
{
    return tracing->wide ? tracing->wide[number] : tracing->narrow[number];
}

static bool reach_number(struct tracing *tracing, uint64_t number, uint64_t from)
{
    if (number_before(tracing, number))
        return true;
    if (!memory_extend(&tracing->cpu->meter.memory, tracing->next, tracing->next_room,
                       tracing->next_count)) {
        tracing->failed = true;
        return false;
    }
    if (tracing->wide)
        tracing->wide[number] = from;
    else
        tracing->narrow[number] = (uint32_t)from;
    tracing->next[tracing->next_count++] = number;
    return true;
}

/* An initial state is its own predecessor. */
static void trace_initial(struct tracing *tracing)
{
    const struct cpu *cpu = tracing->cpu;
    initial_first(cpu->circuit, tracing->locals);
    do {
        pack_state(&cpu->packing, tracing->locals, tracing->state);
        uint64_t number = space_number(tracing->space, tracing->state);
        if (number != UINT64_MAX && !reach_number(tracing, number, number + 1))
            return;
    } while (initial_next(cpu->circuit, tracing->locals));
}

static bool trace_step(void *context, const struct firing_view *view)
{
    struct tracing *tracing = context;
    uint64_t number = space_number(tracing->space, view->to);
    if (++tracing->steps % 65536 == 0 && !cpu_report(tracing->cpu))
        return false;
    return number == UINT64_MAX || reach_number(tracing, number, tracing->from + 1);
}

/* Processes the states of the level: finds its deadlocks or, with `fire`, fires everything enabled.
 * False: out of memory or stopped. */
static bool go_through(struct tracing *tracing, bool fire)
{
    struct firing_view *view = &tracing->cpu->views[0];
    struct space_walk walk;
    for (size_t i = 0; i < tracing->level_count && tracing->found_count < tracing->wanted; i++) {
        bool memory;
        tracing->from = tracing->level[i];
        space_seek(&walk, tracing->space, tracing->from, tracing->state, tracing->locals);
        if (!fire && cpu_can_fire(tracing->cpu, tracing->state))
            continue;
        if (!firing_view_find(view, tracing->state)) {
            tracing->failed = true;
            return false;
        }
        bool counts =
            !tracing->numbers || space_number(tracing->numbers, tracing->state) != UINT64_MAX;
        if (!fire && view->count == 0 && counts)
            tracing->found[tracing->found_count++] = tracing->from;
        if (fire && !firing_view_each(view, tracing->state, false, trace_step, tracing, &memory)) {
            tracing->failed |= memory;
            return false;
        }
    }
    return true;
}

/* Searches level by level until enough deadlocks are found. */
static void search_levels(struct tracing *tracing)
{
    trace_initial(tracing);
    while (tracing->next_count > 0 && tracing->found_count < tracing->wanted && !tracing->failed) {
        uint64_t *kept = tracing->level;
        size_t room = tracing->level_room;
        tracing->level = tracing->next;
        tracing->level_room = tracing->next_room;
        tracing->level_count = tracing->next_count;
        tracing->next = kept;
        tracing->next_room = room;
        tracing->next_count = 0;
        sort_words(tracing->level, tracing->level_count, 1);
        if (!go_through(tracing, false) || !go_through(tracing, true))
            return;
    }
}

/* ------------------------------------------------------------------ backtracking */

static bool compare_label(void *context, const struct firing_view *view)
{
    struct tracing *tracing = context;
    const gordian_circuit *circuit = tracing->cpu->circuit;
    if (packed_compare(view->to, tracing->goal, tracing->cpu->packing.words) != 0)
        return true;
    if (!tracing->has_label || label_compare(view->label, tracing->label, circuit->label_words,
                                             circuit->name_count, circuit->value_bits) < 0)
        memcpy(tracing->label, view->label, circuit->label_words * sizeof *view->label);
    tracing->has_label = true;
    return true;
}

/* Finds the smallest label of a step between two states. */
static bool find_label(struct tracing *tracing, uint64_t from, uint64_t to, uint64_t *label)
{
    struct firing_view *view = &tracing->cpu->views[0];
    struct space_walk walk;
    bool memory;
    tracing->label = label;
    tracing->has_label = false;
    space_seek(&walk, tracing->space, to, tracing->state, tracing->locals);
    memcpy(tracing->goal, tracing->state, tracing->cpu->packing.words * sizeof *tracing->goal);
    space_seek(&walk, tracing->space, from, tracing->state, tracing->locals);
    return firing_view_find(view, tracing->state) &&
           firing_view_each(view, tracing->state, false, compare_label, tracing, &memory);
}

static gordian_status describe_traced_deadlock(struct tracing *tracing, uint64_t number,
                                               gordian_compose_deadlock *deadlock,
                                               gordian_error *error)
{
    struct cpu *cpu = tracing->cpu;
    size_t words = cpu->circuit->label_words, steps = 0, factors = cpu->circuit->factor_count;
    struct space_walk walk;
    for (uint64_t n = number; number_before(tracing, n) != n + 1; n = number_before(tracing, n) - 1)
        steps++;
    space_seek(&walk, tracing->space, number, tracing->state, tracing->locals);
    if (!compose_deadlock_alloc(cpu->result, cpu->circuit, steps, deadlock))
        return fail_memory(error);
    if (tracing->numbers)
        deadlock->number = space_number(tracing->numbers, tracing->state);
    memcpy(deadlock->state, tracing->locals, factors * sizeof(uint32_t));
    bool fine = true;
    for (uint64_t n = number; fine && steps > 0; n = number_before(tracing, n) - 1)
        fine = find_label(tracing, number_before(tracing, n) - 1, n,
                          deadlock->labels + --steps * words);
    if (fine)
        return GORDIAN_OK;
    memory_free_all(&cpu->result->allocator, deadlock->state, deadlock->labels);
    return fail_memory(error);
}

static struct tracing start_tracing(struct cpu *cpu, const struct space *space)
{
    return (struct tracing){.cpu = cpu,
                            .space = space,
                            .wanted = cpu_described(cpu),
                            .state = cpu->views[0].here,
                            .locals = cpu->views[0].here_locals};
}

/* Describes all deadlocks found. Out of memory: none. */
static gordian_status describe_traced(struct tracing *tracing, gordian_error *error)
{
    struct cpu *cpu = tracing->cpu;
    const gordian_allocator *memory = &cpu->meter.memory;
    gordian_compose_result *result = cpu->result;
    gordian_status status = GORDIAN_OK;
    result->found = memory_alloc(&result->allocator, tracing->wanted * sizeof *result->found);
    tracing->goal = memory_alloc(memory, cpu->packing.words * sizeof *tracing->goal);
    if (!result->found || !tracing->goal)
        status = fail_memory(error);
    for (size_t i = 0; i < tracing->found_count && status == GORDIAN_OK; i++) {
        status = describe_traced_deadlock(tracing, tracing->found[i], &result->found[i], error);
        result->found_count += status == GORDIAN_OK;
    }
    memory_free(memory, tracing->goal);
    return status;
}

gordian_status cpu_describe(struct cpu *cpu, const struct space *space, uint32_t *before,
                            uint64_t *found, size_t count, gordian_error *error)
{
    struct tracing tracing = start_tracing(cpu, space);
    tracing.narrow = before;
    tracing.found = found;
    tracing.found_count = count;
    return describe_traced(&tracing, error);
}

gordian_status cpu_trace(struct cpu *cpu, const struct space *space, const struct space *numbers,
                         gordian_error *error)
{
    const gordian_allocator *memory = &cpu->meter.memory;
    struct tracing tracing = start_tracing(cpu, space);
    tracing.numbers = numbers;
    tracing.found = memory_alloc(memory, tracing.wanted * sizeof *tracing.found);
    if (space->count < UINT32_MAX)
        tracing.narrow = memory_zeroed(memory, space->count * sizeof *tracing.narrow);
    else
        tracing.wide = memory_zeroed(memory, space->count * sizeof *tracing.wide);
    bool fine = tracing.found && (tracing.narrow || tracing.wide);
    if (fine)
        search_levels(&tracing);
    gordian_status status =
        fine && !tracing.failed ? describe_traced(&tracing, error) : fail_memory(error);
    memory_free_all(memory, tracing.found, tracing.narrow, tracing.wide, tracing.level,
                    tracing.next);
    return status;
}

/* ------------------------------------------------------------------ nearest deadlocks */

/* Paths to near deadlocks: explores the states near the initial ones once more and stores the
 * predecessor of each. The states found by the engine need not be sorted for this, nor be on this
 * machine (mpi/), because near states are found from the circuit alone. As above, the states of a
 * level are processed in the order of their numbers, which is the order of their words. */
#define NEAR_STATES (1u << 17) /* near: at most this many states ... */
#define NEAR_STEPS  (1u << 18) /* ... and this many joint firings */

struct nearby {
    struct cpu *cpu;
    size_t words; /* of a state */
    struct record_table states;
    uint32_t *before; /* by state: 1 + the predecessor, or 1 + itself */
    size_t before_room;
    uint32_t from;   /* the state that is firing; GORDIAN_NONE: initial states are being added */
    uint64_t *found; /* deadlocks */
    size_t found_count;
    uint32_t steps;
    bool failed, far;
};

/* False: no memory. */
static bool add_near_state(struct nearby *nearby, const uint64_t *state)
{
    uint32_t count = nearby->states.count;
    uint64_t hash;
    if (record_table_find(&nearby->states, state, &hash) != GORDIAN_NONE)
        return true;
    nearby->failed =
        !memory_extend(&nearby->states.memory, nearby->before, nearby->before_room, count) ||
        !record_table_add(&nearby->states, state, hash);
    if (!nearby->failed)
        nearby->before[count] = 1 + (nearby->from == GORDIAN_NONE ? count : nearby->from);
    return !nearby->failed;
}

static bool take_near_step(void *context, const struct firing_view *view)
{
    struct nearby *nearby = context;
    nearby->far = ++nearby->steps > NEAR_STEPS || nearby->states.count > NEAR_STATES ||
                  (nearby->steps % 65536 == 0 && !cpu_report(nearby->cpu));
    return !nearby->far && add_near_state(nearby, view->to);
}

static void add_initial(struct nearby *nearby)
{
    const struct cpu *cpu = nearby->cpu;
    uint64_t *state = cpu->views[0].here;
    uint32_t *locals = cpu->views[0].here_locals;
    nearby->far = cpu->circuit->initial > NEAR_STATES;
    if (nearby->far)
        return;
    initial_first(cpu->circuit, locals);
    do
        pack_state(&cpu->packing, locals, state);
    while (add_near_state(nearby, state) && initial_next(cpu->circuit, locals));
}

/* Sorts the states and replaces the first `most` of them by their numbers. */
static size_t number_in_order(const struct nearby *nearby, uint64_t *states, size_t count,
                              size_t most)
{
    size_t words = nearby->words;
    uint64_t hash;
    sort_words(states, count, words);
    for (size_t i = 0; i < count && i < most; i++)
        states[i] = record_table_find(&nearby->states, states + i * words, &hash);
    return count < most ? count : most;
}

/* Fires the states from `first` to `last`. */
static void fire_level(struct nearby *nearby, uint32_t first, uint32_t last)
{
    struct firing_view *view = &nearby->cpu->views[0];
    const gordian_allocator *memory = &nearby->cpu->meter.memory;
    size_t words = nearby->words, count = last - first;
    uint64_t *order = memory_alloc(memory, count * words * sizeof *order), *here = view->here;
    nearby->failed = !order;
    if (order) {
        memcpy(order, (uint64_t *)nearby->states.list + first * words,
               count * words * sizeof *order);
        number_in_order(nearby, order, count, count);
    }
    for (size_t i = 0; i < count && !nearby->far && !nearby->failed; i++) {
        bool no_memory = false;
        nearby->from = (uint32_t)order[i];
        memcpy(here, (uint64_t *)nearby->states.list + order[i] * words, words * sizeof *here);
        nearby->failed |= !firing_view_find(view, here);
        if (!nearby->failed &&
            !firing_view_each(view, here, false, take_near_step, nearby, &no_memory))
            nearby->failed |= no_memory;
    }
    memory_free(memory, order);
}

/* Searches level by level, until there are enough deadlocks or the limits are reached. */
static void go_around(struct nearby *nearby, size_t wanted)
{
    uint32_t first = 0, last;
    add_initial(nearby);
    for (; first < nearby->states.count && !nearby->far && !nearby->failed; first = last) {
        last = nearby->states.count;
        /* Finds the deadlocks among the states from `first` on. */
        struct firing_view *view = &nearby->cpu->views[0];
        const gordian_allocator *memory = &nearby->cpu->meter.memory;
        size_t words = nearby->words, count = 0, room = 0;
        uint64_t *stuck = NULL;
        for (uint32_t i = first; i < nearby->states.count && !nearby->failed; i++) {
            const uint64_t *state = (uint64_t *)nearby->states.list + i * words;
            if (cpu_can_fire(nearby->cpu, state))
                continue;
            nearby->failed = !firing_view_find(view, state);
            if (nearby->failed || view->count > 0)
                continue;
            nearby->failed =
                !memory_grow(memory, &stuck, &room, (count + 1) * words, sizeof *stuck);
            if (!nearby->failed)
                memcpy(stuck + count++ * words, state, words * sizeof *state);
        }
        if (!nearby->failed && count > 0) {
            count = number_in_order(nearby, stuck, count, wanted - nearby->found_count);
            memcpy(nearby->found + nearby->found_count, stuck, count * sizeof *stuck);
            nearby->found_count += count;
        }
        memory_free(memory, stuck);
        if (nearby->found_count >= wanted || nearby->failed)
            return;
        fire_level(nearby, first, last);
    }
}

gordian_status cpu_trace_near(struct cpu *cpu, bool *done, gordian_error *error)
{
    const gordian_allocator *memory = &cpu->meter.memory;
    size_t wanted = cpu_described(cpu);
    struct nearby nearby = {
        .cpu = cpu,
        .words = cpu->packing.words,
        .from = GORDIAN_NONE,
        .states = {.memory = *memory, .size = cpu->packing.words * sizeof(uint64_t)}};
    gordian_status status = GORDIAN_OK;
    nearby.found = memory_alloc(memory, wanted * sizeof *nearby.found);
    nearby.failed = !nearby.found;
    if (!nearby.failed)
        go_around(&nearby, wanted);
    /* In the grace period, an incomplete result is enough. */
    *done = !nearby.failed && (!nearby.far || (cpu->grace && nearby.found_count > 0));
    hash_free(&nearby.states.table, memory);
    struct space space = {.kind = SPACE_SORTED, /* not sorted; only used for lookup */
                          .memory = *memory,
                          .packing = &cpu->packing,
                          .count = nearby.states.count,
                          .states = nearby.states.list};
    if (*done)
        status = cpu_describe(cpu, &space, nearby.before, nearby.found, nearby.found_count, error);
    space_close(&space);
    memory_free_all(memory, nearby.before, nearby.found);
    return status;
}
