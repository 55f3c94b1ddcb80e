/* Ways to deadlocks that are near: the states up to them are gone through once more, and each
 * remembers where it was reached from. The states found do not have to be sorted then, nor to be
 * where the ways are sought (mpi/): what is near is found from the circuit alone. As in trace.c the
 * states of a level are looked at in the order of their numbers, which is that of their words. */
#include "engines/compose/cpu/cpu.h"
#include "foundation/base/error.h"
#include "foundation/base/hash.h"
#include "foundation/base/memory.h"
#include "foundation/base/sort.h"

#include <string.h>

#define NEAR_STATES (1u << 17) /* no more than so many are near ... */
#define NEAR_STEPS  (1u << 18) /* ... or so many joint firings */

struct nearby {
    struct cpu *cpu;
    size_t words; /* of a state */
    uint64_t *states;
    uint32_t count;
    size_t room; /* words */
    struct hash table;
    uint32_t *before; /* by state: 1 + the one it was reached from, or 1 + itself */
    size_t before_room;
    uint32_t from;   /* whose steps are taken; GORDIAN_NONE: it begins */
    uint64_t *found; /* deadlocks */
    size_t found_count;
    uint32_t steps;
    bool failed, far;
};

static uint64_t hash_of(const struct nearby *nearby, const uint64_t *state)
{
    return hash_bytes(state, nearby->words * sizeof *state);
}

static void put_states(const void *context, struct hash *table)
{
    const struct nearby *nearby = context;
    for (uint32_t i = 0; i < nearby->count; i++)
        hash_put(table, hash_of(nearby, nearby->states + i * nearby->words), i);
}

/* The number that a state has here, or GORDIAN_NONE. */
static uint32_t find_state(const struct nearby *nearby, const uint64_t *state, uint64_t hash)
{
    struct hash_probe probe = hash_probe(&nearby->table, hash);
    while (hash_meet(&nearby->table, &probe))
        if (packed_compare(nearby->states + probe.number * nearby->words, state, nearby->words) ==
            0)
            return probe.number;
    return GORDIAN_NONE;
}

static bool make_room(struct nearby *nearby)
{
    const gordian_allocator *memory = &nearby->cpu->meter.memory;
    return hash_reserve(&nearby->table, memory, nearby->count + 1, nearby->count + 1, put_states,
                        nearby) &&
           memory_grow(memory, &nearby->states, &nearby->room, (nearby->count + 1) * nearby->words,
                       sizeof *nearby->states) &&
           memory_grow(memory, &nearby->before, &nearby->before_room, nearby->count + 1,
                       sizeof *nearby->before);
}

/* False: no memory. */
static bool add_state(struct nearby *nearby, const uint64_t *state)
{
    size_t words = nearby->words;
    uint64_t hash = hash_of(nearby, state);
    if (find_state(nearby, state, hash) != GORDIAN_NONE)
        return true;
    if (!make_room(nearby)) {
        nearby->failed = true;
        return false;
    }
    memcpy(nearby->states + nearby->count * words, state, words * sizeof *state);
    nearby->before[nearby->count] =
        1 + (nearby->from == GORDIAN_NONE ? nearby->count : nearby->from);
    hash_put(&nearby->table, hash, nearby->count++);
    return true;
}

static bool take_step(void *context, const struct scene *scene)
{
    struct nearby *nearby = context;
    nearby->far = ++nearby->steps > NEAR_STEPS || nearby->count > NEAR_STATES ||
                  (nearby->steps % 65536 == 0 && !cpu_report(nearby->cpu));
    return !nearby->far && add_state(nearby, scene->to);
}

static void add_initial(struct nearby *nearby)
{
    const struct cpu *cpu = nearby->cpu;
    uint64_t *state = cpu->scenes[0].here;
    uint32_t *locals = cpu->scenes[0].here_locals;
    nearby->far = cpu->circuit->initial > NEAR_STATES;
    if (nearby->far)
        return;
    initial_first(cpu->circuit, locals);
    do
        pack_state(&cpu->packing, locals, state);
    while (add_state(nearby, state) && initial_next(cpu->circuit, locals));
}

/* The first `most` of so many states, in order: their numbers instead. */
static size_t number_in_order(const struct nearby *nearby, uint64_t *states, size_t count,
                              size_t most)
{
    size_t words = nearby->words;
    sort_words(states, count, words);
    for (size_t i = 0; i < count && i < most; i++)
        states[i] = find_state(nearby, states + i * words, hash_of(nearby, states + i * words));
    return count < most ? count : most;
}

/* Takes all steps of the states from `first` to `last`. */
static void fire_level(struct nearby *nearby, uint32_t first, uint32_t last)
{
    struct scene *scene = &nearby->cpu->scenes[0];
    const gordian_allocator *memory = &nearby->cpu->meter.memory;
    size_t words = nearby->words, count = last - first;
    uint64_t *order = memory_alloc(memory, count * words * sizeof *order), *here = scene->here;
    nearby->failed = !order;
    if (order) {
        memcpy(order, nearby->states + first * words, count * words * sizeof *order);
        number_in_order(nearby, order, count, count);
    }
    for (size_t i = 0; i < count && !nearby->far && !nearby->failed; i++) {
        bool no_memory = false;
        nearby->from = (uint32_t)order[i];
        memcpy(here, nearby->states + order[i] * words, words * sizeof *here);
        nearby->failed |= !scene_look(scene, here);
        if (!nearby->failed && !scene_each(scene, here, false, take_step, nearby, &no_memory))
            nearby->failed |= no_memory;
    }
    memory_free(memory, order);
}

/* Level after level, until there are enough deadlocks or it is too far. */
static void go_around(struct nearby *nearby, size_t wanted)
{
    uint32_t first = 0, last;
    add_initial(nearby);
    for (; first < nearby->count && !nearby->far && !nearby->failed; first = last) {
        last = nearby->count;
        /* Looks for deadlocks among the states from `first` on. */
        struct scene *scene = &nearby->cpu->scenes[0];
        const gordian_allocator *memory = &nearby->cpu->meter.memory;
        size_t words = nearby->words, count = 0, room = 0;
        uint64_t *stuck = NULL;
        for (uint32_t i = first; i < nearby->count && !nearby->failed; i++) {
            const uint64_t *state = nearby->states + i * words;
            if (cpu_can_fire(nearby->cpu, state))
                continue;
            nearby->failed = !scene_look(scene, state);
            if (nearby->failed || scene->count > 0)
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
    struct nearby nearby = {.cpu = cpu, .words = cpu->packing.words, .from = GORDIAN_NONE};
    gordian_status status = GORDIAN_OK;
    nearby.found = memory_alloc(memory, wanted * sizeof *nearby.found);
    nearby.failed = !nearby.found;
    if (!nearby.failed)
        go_around(&nearby, wanted);
    /* Who is in a hurry takes what there is. */
    *done = !nearby.failed && (!nearby.far || (cpu->grace && nearby.found_count > 0));
    hash_free(&nearby.table, memory);
    struct space space = {.kind = SPACE_SORTED, /* in another order: only sought in */
                          .memory = *memory,
                          .packing = &cpu->packing,
                          .count = nearby.count,
                          .states = nearby.states};
    if (*done)
        status = cpu_describe(cpu, &space, nearby.before, nearby.found, nearby.found_count, error);
    space_close(&space);
    memory_free_all(memory, nearby.before, nearby.found);
    return status;
}
