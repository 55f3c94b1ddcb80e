/* The longest path through an abstract system of warps, layer by layer (makespan_sweep.h). */
#include "foundation/gpu/kernels/makespan/makespan_sweep.h"
#include "foundation/gpu/language/kernel.h"

#ifdef __CUDACC__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL
#endif

typedef struct sweep_system sweep_system;

/* A state: its local states, and values of the whole. */
struct sweep_state {
    uint32_t ids[SWEEP_RUNS];
    uint64_t index;        /* of the prefix */
    uint64_t ready;        /* warps at each unit, a byte each */
    uint64_t class_number; /* of the prefix */
    uint32_t work;         /* of the prefix */
    uint32_t places;       /* warps that are not in the prefix */
};

/* The work that remains to be distributed over a run and all later runs. */
struct sweep_rest {
    uint64_t index;  /* of the successor, as far as known */
    uint64_t left;   /* of each unit's capacity, a byte each */
    uint64_t later;  /* warps at each unit in these runs */
    uint32_t todo;   /* instructions */
    uint32_t places; /* warps that are not in the runs before, after the step */
    uint32_t comers; /* warps that arrive */
};

/* The transitions of one state. */
struct sweep_walk {
    const sweep_system *system;
    uint32_t ids[SWEEP_RUNS];
    uint64_t values;
    uint32_t wide, least;
    uint32_t value; /* the best so far */
};

#define TABLE(type, address) GPU_POINTER(const type, address)

DEVICE uint32_t sweep_cell(const sweep_system *s, uint32_t r, uint32_t places)
{
    return r * (s->warps + 1) + places;
}

/* Returns the n whose prefixes contain number `rest`. */
DEVICE uint32_t sweep_find(const uint64_t *before, uint32_t places, uint64_t rest)
{
    uint32_t low = 0, high = places + 1;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (before[middle] <= rest)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Decodes the prefix with that number; the last run's local state is left open. */
DEVICE void sweep_prefix(const sweep_system *s, uint32_t number, struct sweep_state *state)
{
    uint64_t rest = number;
    state->index = state->ready = state->class_number = 0;
    state->work = 0;
    state->places = s->warps;
    UNROLL
    for (uint32_t r = 0; r < SWEEP_RUNS; r++) {
        if (r + 1 >= s->run_count)
            continue;
        const struct sweep_run *run = &s->runs[r];
        uint32_t places = state->places, cell = sweep_cell(s, r, places);
        const uint64_t *before = TABLE(uint64_t, s->prefix_before) + cell * (s->warps + 1);
        uint32_t n = sweep_find(before, places, rest);
        uint32_t next = sweep_cell(s, r + 1, places - n);
        rest -= before[n];
        uint32_t room = (uint32_t)TABLE(uint64_t, s->prefix_room)[next];
        uint32_t local = (uint32_t)rest / room;
        rest -= (uint64_t)local * room;
        state->ids[r] = TABLE(uint32_t, run->base)[n] + local;
        state->index += TABLE(uint64_t, s->before)[cell * (s->warps + 1) + n] +
                        local * TABLE(uint64_t, s->room)[next];
        state->class_number += TABLE(uint64_t, s->class_before)[cell * (s->warps + 1) + n];
        state->ready += (uint64_t)n << run->shift;
        state->work += TABLE(uint32_t, run->work)[state->ids[r]];
        state->places -= n;
    }
}

/* ------------------------------------------------------------------ a step */

/* Returns how much of what is left these warps can use, unit by unit. */
DEVICE uint32_t sweep_usable(uint32_t units, uint64_t left, uint64_t warps)
{
    uint32_t sum = 0;
    for (uint32_t u = 0; u < units; u++) {
        uint32_t a = (uint32_t)(left >> 8 * u) & 255, b = (uint32_t)(warps >> 8 * u) & 255;
        sum += a < b ? a : b;
    }
    return sum;
}

DEVICE uint32_t sweep_value(const struct sweep_walk *walk, uint64_t index)
{
    return walk->wide ? TABLE(uint16_t, walk->values)[index] : TABLE(uint8_t, walk->values)[index];
}

/* The last run takes what remains to be done. */
DEVICE void sweep_last(struct sweep_walk *walk, const struct sweep_run *run, uint32_t id,
                       const struct sweep_rest *rest)
{
    const uint32_t *first = TABLE(uint32_t, run->first) + id * (run->most + 2) + rest->todo;
    const uint64_t *options = TABLE(uint64_t, run->options);
    const uint32_t *arrive = TABLE(uint32_t, run->arrive) + rest->comers;
    for (uint32_t o = first[0], end = first[1]; o < end; o++) {
        uint32_t next = SWEEP_NEXT(options[o]);
        if (rest->comers)
            next = arrive[next * (run->comers + 1)];
        uint32_t value = sweep_value(walk, rest->index + next);
        bool better = walk->least ? value < walk->value : value > walk->value;
        walk->value = better ? value : walk->value;
    }
}

/* Run r takes the option: returns what remains for the runs after it. */
DEVICE struct sweep_rest sweep_take(const struct sweep_walk *walk, uint32_t r, uint32_t k,
                                    uint64_t option, const struct sweep_rest *rest)
{
    const sweep_system *s = walk->system;
    const struct sweep_run *run = &s->runs[r];
    struct sweep_rest after = *rest;
    uint32_t id = SWEEP_NEXT(option), cell = sweep_cell(s, r, rest->places);
    if (rest->comers)
        id = TABLE(uint32_t, run->arrive)[id * (run->comers + 1) + rest->comers];
    uint32_t n = TABLE(uint32_t, run->warps)[id];
    uint32_t local = id - TABLE(uint32_t, run->base)[n];
    after.places -= n;
    after.index += TABLE(uint64_t, s->before)[cell * (s->warps + 1) + n] +
                   local * TABLE(uint64_t, s->room)[sweep_cell(s, r + 1, after.places)];
    after.left -= (uint64_t)k << run->shift;
    after.todo -= k;
    after.comers = SWEEP_LEAVE(option);
    return after;
}

/* Run r executes k instructions, for every k that leaves as much for the later runs as they can do,
 * in every possible way. There is a function for each run, so that everything has a fixed register.
 */
#define SWEEP_LEVEL(r, name, deeper)                                                               \
    DEVICE void name(struct sweep_walk *walk, struct sweep_rest rest)                              \
    {                                                                                              \
        const sweep_system *s = walk->system;                                                      \
        const struct sweep_run *run = &s->runs[r];                                                 \
        if (r + 1 == s->run_count) {                                                               \
            sweep_last(walk, run, walk->ids[r], &rest);                                            \
            return;                                                                                \
        }                                                                                          \
        uint32_t id = walk->ids[r], n = TABLE(uint32_t, run->warps)[id];                           \
        uint32_t own = (uint32_t)(rest.left >> run->shift) & 255;                                  \
        const uint32_t *first = TABLE(uint32_t, run->first) + id * (run->most + 2);                \
        rest.later -= (uint64_t)n << run->shift;                                                   \
        for (uint32_t k = 0; k <= run->most; k++) {                                                \
            uint64_t left = rest.left - ((uint64_t)k << run->shift);                               \
            if (k > n || k > own || k > rest.todo ||                                               \
                sweep_usable(s->unit_count, left, rest.later) < rest.todo - k)                     \
                continue;                                                                          \
            for (uint32_t o = first[k], end = first[k + 1]; o < end; o++)                          \
                deeper(walk, sweep_take(walk, r, k, TABLE(uint64_t, run->options)[o], &rest));     \
        }                                                                                          \
    }

DEVICE void sweep_nowhere(struct sweep_walk *walk, struct sweep_rest rest)
{
    (void)walk;
    (void)rest;
    trap();
}

SWEEP_LEVEL(7, sweep_run7, sweep_nowhere)
SWEEP_LEVEL(6, sweep_run6, sweep_run7)
SWEEP_LEVEL(5, sweep_run5, sweep_run6)
SWEEP_LEVEL(4, sweep_run4, sweep_run5)
SWEEP_LEVEL(3, sweep_run3, sweep_run4)
SWEEP_LEVEL(2, sweep_run2, sweep_run3)
SWEEP_LEVEL(1, sweep_run1, sweep_run2)
SWEEP_LEVEL(0, sweep_run0, sweep_run1)
/* The same for at most four runs, with fewer registers. */
SWEEP_LEVEL(3, sweep_few3, sweep_nowhere)
SWEEP_LEVEL(2, sweep_few2, sweep_few3)
SWEEP_LEVEL(1, sweep_few1, sweep_few2)
SWEEP_LEVEL(0, sweep_few0, sweep_few1)

/* Returns the best of all transitions of the state, which has `ready` warps at each unit. */
DEVICE uint32_t sweep_best(struct sweep_walk *walk, uint64_t ready, bool few)
{
    const sweep_system *s = walk->system;
    uint32_t all = sweep_usable(s->unit_count, s->capacity, ready);
    struct sweep_rest rest;
    rest.index = 0;
    rest.left = s->capacity;
    rest.later = ready;
    rest.todo = all < s->schedulers ? all : s->schedulers;
    rest.places = s->warps;
    rest.comers = 0;
    walk->value = walk->least ? UINT32_MAX - 1 : 0;
    if (few)
        sweep_few0(walk, rest);
    else
        sweep_run0(walk, rest);
    return walk->value + 1;
}

/* ------------------------------------------------------------------ a layer */

DEVICE void sweep_store(const struct sweep_layer_arguments *a, uint64_t index, uint32_t value)
{
    if (value > (a->wide ? 0xffffu : 0xffu))
        *GPU_POINTER(volatile uint32_t, a->overflow) = 1;
    if (a->wide)
        GPU_POINTER(uint16_t, a->values)[index] = (uint16_t)value;
    else
        GPU_POINTER(uint8_t, a->values)[index] = (uint8_t)value;
}

/* Handles the states of one prefix, by `lanes` threads of which this is number `lane`. */
DEVICE void sweep_states(const struct sweep_layer_arguments *a, uint32_t number, uint32_t lane,
                         bool few)
{
    const sweep_system *s = &a->system;
    const struct sweep_run *last = &s->runs[s->run_count - 1];
    struct sweep_state state;
    struct sweep_walk walk;
    sweep_prefix(s, number, &state);
    uint32_t missing = a->work - state.work;
    uint32_t count = TABLE(uint32_t, a->last_count)[missing * (s->warps + 1) + state.places];
    uint32_t first = TABLE(uint32_t, a->last_first)[missing];
    walk.system = s;
    walk.values = a->values;
    walk.wide = a->wide;
    walk.least = a->least;
    for (uint32_t e = lane; e < count; e += a->lanes) {
        uint32_t id = TABLE(uint32_t, a->last_states)[first + e];
        uint64_t warps = TABLE(uint32_t, last->warps)[id];
        UNROLL
        for (uint32_t r = 0; r < SWEEP_RUNS; r++)
            walk.ids[r] = r + 1 < s->run_count ? state.ids[r] : id;
        uint32_t value = sweep_best(&walk, state.ready + (warps << last->shift), few);
        sweep_store(a, state.index + id, value);
    }
}

DEVICE void sweep_layer(const struct sweep_layer_arguments *a, bool few)
{
    uint32_t thread = BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX;
    uint32_t groups = GRID_SIZE * (BLOCK_SIZE / a->lanes);
    for (uint64_t at = a->first + thread / a->lanes; at < a->last; at += groups)
        sweep_states(a, TABLE(uint32_t, a->list)[at], thread % a->lanes, few);
}

/* ------------------------------------------------------------------ kernels */

KERNEL_BOUNDED(makespan_layer, struct sweep_layer_arguments, SWEEP_THREADS, 2)
{
    sweep_layer(&a, false);
}

KERNEL_BOUNDED(makespan_layer4, struct sweep_layer_arguments, SWEEP_THREADS, 4)
{
    sweep_layer(&a, true);
}

/* Returns the counter of prefix i. */
DEVICE uint32_t *sweep_counter(const struct sweep_sort_arguments *a, uint32_t i)
{
    struct sweep_state state;
    sweep_prefix(&a->system, i, &state);
    uint64_t bucket = state.class_number * a->buckets / a->system.classes;
    return GPU_POINTER(uint32_t, a->counts) + (uint64_t)state.work * a->buckets + bucket;
}

KERNEL_BOUNDED(makespan_weigh, struct sweep_sort_arguments, SWEEP_THREADS, 4)
{
    uint64_t step = (uint64_t)GRID_SIZE * BLOCK_SIZE;
    for (uint64_t i = BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX; i < a.prefixes; i += step)
        atomic_add32(sweep_counter(&a, (uint32_t)i), 1);
}

KERNEL_BOUNDED(makespan_place, struct sweep_sort_arguments, SWEEP_THREADS, 4)
{
    uint64_t step = (uint64_t)GRID_SIZE * BLOCK_SIZE;
    for (uint64_t i = BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX; i < a.prefixes; i += step) {
        uint32_t at = atomic_add32(sweep_counter(&a, (uint32_t)i), 1);
        GPU_POINTER(uint32_t, a.list)[at] = (uint32_t)i;
    }
}
