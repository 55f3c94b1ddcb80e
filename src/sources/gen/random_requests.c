/* Kinds without a plan: each request aims at a resource without free units with the given
 * probability, and otherwise at a free one. */
#include "foundation/base/error.h"
#include "sources/gen/kinds.h"
#include "sources/gen/simulation.h"

#define PROBES 16 /* attempts to draw a suitable resource */

/* Draws a resource to request: with or without free units, as `contention` says. Avoids a
 * single-unit resource that the process itself holds. */
static uint32_t draw_resource(struct simulation *sim, const gordian_edge *held, size_t held_count)
{
    bool taken = random_chance(&sim->random, sim->options->contention);
    uint32_t resource = 0;
    for (unsigned i = 0; i < PROBES; i++) {
        resource = (uint32_t)random_below(&sim->random, sim->options->resources);
        size_t k = 0;
        while (k < held_count && held[k].resource != resource)
            k++;
        bool own = sim->units[resource] == 1 && k < held_count;
        if (!own && (gordian_free_units(sim->system, resource) == 0) == taken)
            break;
    }
    return resource;
}

static void draw_request(struct simulation *sim, uint32_t process, const gordian_edge *held,
                         size_t held_count, gordian_event *event)
{
    const bool *several = sim->own; /* request several units and resources */
    simulation_request(event, process, draw_resource(sim, held, held_count), 1);
    if (!*several)
        return;
    size_t wanted = 1 + random_below(&sim->random, SIMULATION_WANTS_MAX), count = 0;
    for (size_t i = 0; i < wanted; i++) {
        uint32_t resource = i ? draw_resource(sim, held, held_count) : event->resource;
        uint64_t units = 1 + random_below(&sim->random, sim->units[resource]);
        bool twice = false;
        for (size_t k = 0; k < count; k++)
            twice |= sim->wants[k].resource == resource;
        if (!twice)
            sim->wants[count++] = (gordian_want){units, resource};
    }
    event->units = sim->wants[0].units;
    if (count > 1) {
        event->wants = sim->wants;
        event->want_count = count;
    }
}

static void random_next_event(struct simulation *sim, uint32_t process, gordian_event *event)
{
    gordian_edge held[SIMULATION_HELD_MAX];
    size_t count = simulation_holdings(sim, process, held);
    /* Release sooner the more it holds. This keeps the number of held resources low, so that
     * contention and not scarcity decides which processes wait. */
    unsigned more = count == 0 ? 100 : count == 1 ? 25 : 10;
    if (count + SIMULATION_WANTS_MAX <= SIMULATION_HELD_MAX && random_chance(&sim->random, more)) {
        draw_request(sim, process, held, count, event);
        return;
    }
    const gordian_edge *edge = &held[random_below(&sim->random, count)];
    uint64_t units = edge->units;
    if (units > 1 && random_chance(&sim->random, 50))
        units = 1 + random_below(&sim->random, units);
    simulation_release(sim, event, process, edge->resource, units);
}

static gordian_status run_random_requests(const struct gen_options *options, struct gen_sink *sink,
                                          bool several, gordian_error *error)
{
    static const struct simulation_rules rules = {random_next_event, NULL};
    gordian_allocator memory = memory_allocator(NULL);
    uint64_t *units = memory_alloc(&memory, options->resources * sizeof *units);
    if (!units)
        return fail_memory(error);
    struct random random;
    random_seed(&random, ~options->seed); /* independent of the simulation's numbers */
    for (uint32_t q = 0; q < options->resources; q++)
        units[q] = 1 + random_below(&random, options->units);
    gordian_status status = simulation_run(options, &rules, &several, units, sink, error);
    memory_free(&memory, units);
    return status;
}

gordian_status random_single(const struct gen_options *options, struct gen_sink *sink,
                             gordian_error *error)
{
    return run_random_requests(options, sink, false, error);
}

gordian_status random_several(const struct gen_options *options, struct gen_sink *sink,
                              gordian_error *error)
{
    return run_random_requests(options, sink, true, error);
}
