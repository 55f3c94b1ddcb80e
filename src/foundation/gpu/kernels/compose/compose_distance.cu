/* Distances in joint firings, from which shortest paths to deadlocks are read. */
#include "foundation/gpu/kernels/compose/compose_set.h"
#include "foundation/gpu/language/kernel.h"

/* All threads that write a distance in this launch write the same value: no atomics are needed. */
DEVICE_APART void step_from(const struct compose_step_arguments *a, uint64_t state)
{
    volatile uint32_t *distances = GPU_POINTER(uint32_t, a->distances);
    const struct compose_firings *f = &a->firings;
    struct compose_walk walk;
    bool changed = false;
    if (compose_ways(GPU_POINTER(const struct compose_firing, f->firings), f->singles,
                     GPU_POINTER(const uint32_t, f->ends), f->parts, state) > COMPOSE_WALK_MOST) {
        atomic_or32(GPU_POINTER(uint32_t, a->changed), COMPOSE_TOO_MANY);
        return;
    }
    compose_walk_begin(&walk, GPU_POINTER(const struct compose_firing, a->firings.firings),
                       a->firings.count, state);
    while (compose_walk_next(&walk)) {
        uint64_t place = compose_place(&a->set, walk.to);
        if (place == COMPOSE_MISSING || distances[place])
            continue;
        distances[place] = a->now + 1;
        changed = true;
    }
    if (changed)
        atomic_or32(GPU_POINTER(uint32_t, a->changed), COMPOSE_CHANGED);
}

KERNEL(compose_step, struct compose_step_arguments)
{
    const volatile uint32_t *distances = GPU_POINTER(const uint32_t, a.distances);
    const uint64_t *table = GPU_POINTER(const uint64_t, a.set.table);
    bool hashed = a.set.kind == COMPOSE_LIST;
    uint64_t places = hashed ? a.set.slots : a.set.words * 64;
    for (uint64_t i = compose_thread(); i < places; i += compose_threads())
        if (distances[i] == a.now)
            step_from(&a, hashed ? table[i] : i);
}

KERNEL(compose_distance, struct compose_distance_arguments)
{
    uint32_t *distances = GPU_POINTER(uint32_t, a.distances);
    for (uint64_t i = compose_thread(); i < a.count; i += compose_threads()) {
        uint64_t place = compose_place(&a.set, GPU_POINTER(const uint64_t, a.states)[i]);
        if (place != COMPOSE_MISSING && a.mark)
            distances[place] = a.mark;
        if (a.out)
            GPU_POINTER(uint32_t, a.out)[i] = place == COMPOSE_MISSING ? 0 : distances[place];
    }
}
