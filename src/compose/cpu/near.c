/* Ways to deadlocks that are near: the states up to them are gone through once more, and only those
 * need numbers. The states found do not have to be sorted then, nor to be where the ways are sought
 * (mpi/): what is near is found from the circuit alone. */
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/sort.h"
#include "compose/cpu/cpu.h"

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

/* False: no memory. */
static bool add_state(struct nearby *nearby, const uint64_t *state)
{
    const gordian_allocator *memory = &nearby->cpu->meter.memory;
    size_t words = nearby->words;
    uint64_t hash = hash_of(nearby, state);
    struct hash_probe probe = hash_probe(&nearby->table, hash);
    while (hash_meet(&nearby->table, &probe))
        if (packed_compare(nearby->states + probe.number * words, state, words) == 0)
            return true;
    if (!hash_reserve(&nearby->table, memory, nearby->count + 1, nearby->count + 1, put_states,
                      nearby) ||
        !memory_grow(memory, &nearby->states, &nearby->room, (nearby->count + 1) * words,
                     sizeof *nearby->states)) {
        nearby->failed = true;
        return false;
    }
    memcpy(nearby->states + nearby->count * words, state, words * sizeof *state);
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

/* How many deadlocks there are among the states from `first` on. */
static size_t count_stuck(struct nearby *nearby, uint32_t first)
{
    struct scene *scene = &nearby->cpu->scenes[0];
    size_t stuck = 0;
    for (uint32_t i = first; i < nearby->count && !nearby->failed; i++) {
        if (cpu_can_fire(nearby->cpu, nearby->states + i * nearby->words))
            continue;
        nearby->failed = !scene_look(scene, nearby->states + i * nearby->words);
        stuck += scene->count == 0;
    }
    return stuck;
}

/* Level after level, until there are enough deadlocks or it is too far. */
static void go_around(struct nearby *nearby, size_t wanted)
{
    struct scene *scene = &nearby->cpu->scenes[0];
    uint64_t *here = scene->here;
    size_t words = nearby->words, stuck = 0;
    uint32_t first = 0, last;
    bool memory = false;
    add_initial(nearby);
    for (; first < nearby->count && !nearby->far && !nearby->failed; first = last) {
        last = nearby->count;
        stuck += count_stuck(nearby, first);
        if (stuck >= wanted)
            return;
        for (uint32_t i = first; i < last && !nearby->far && !nearby->failed; i++) {
            memcpy(here, nearby->states + i * words, words * sizeof *here);
            nearby->failed |= !scene_look(scene, here);
            if (!nearby->failed && !scene_each(scene, here, false, take_step, nearby, &memory))
                nearby->failed |= memory;
        }
    }
}

gordian_status cpu_trace_near(struct cpu *cpu, bool *done, gordian_error *error)
{
    struct nearby nearby = {.cpu = cpu, .words = cpu->packing.words};
    const gordian_allocator *memory = &cpu->meter.memory;
    gordian_status status = GORDIAN_OK;
    go_around(&nearby, cpu_described(cpu));
    *done = !nearby.failed && !nearby.far;
    hash_free(&nearby.table, memory);
    struct space space = {.kind = SPACE_SORTED,
                          .memory = *memory,
                          .packing = &cpu->packing,
                          .count = nearby.count,
                          .states = nearby.states};
    if (*done) {
        sort_words(space.states, space.count, nearby.words);
        status = cpu_trace(cpu, &space, NULL, error);
    }
    space_close(&space);
    return status;
}
