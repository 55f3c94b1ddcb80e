/* Kinds with a fixed shape: writes a state directly, holds first and then waits, without memory for
 * state. As events, both are requests: the first requests are granted and the others block. */
#include "foundation/base/error.h"
#include "foundation/base/random.h"
#include "sources/gen/kinds.h"

#include <string.h>

/* ------------------------------------------------------------------ permutation */

/* A permutation of 0 .. count-1 in constant memory: a Feistel network on the next even number of
 * bits. Results that are too large are mapped again. */
struct scatter {
    uint64_t keys[4];
    uint32_t count;
    unsigned half; /* bits */
};

static void scatter_init(struct scatter *scatter, struct random *random, uint32_t count)
{
    scatter->count = count;
    scatter->half = 1;
    while (UINT64_C(1) << (2 * scatter->half) < count)
        scatter->half++;
    for (unsigned i = 0; i < 4; i++)
        scatter->keys[i] = random_next(random) | 1;
}

static uint32_t scatter_map(const struct scatter *scatter, uint32_t index)
{
    const uint64_t mask = (UINT64_C(1) << scatter->half) - 1;
    uint64_t at = index;
    do {
        uint64_t left = at >> scatter->half, right = at & mask;
        for (unsigned i = 0; i < 4; i++) {
            uint64_t mixed = (right + 1) * scatter->keys[i];
            uint64_t next = left ^ ((mixed ^ mixed >> 32) >> 16 & mask);
            left = right;
            right = next;
        }
        at = left << scatter->half | right;
    } while (at >= scatter->count);
    return (uint32_t)at;
}

/* ------------------------------------------------------------------ edges */

struct shape {
    const struct gen_options *options;
    struct gen_sink *sink;
    gordian_error *error;
    gordian_op hold, wait;
};

static gordian_status put_event(const struct shape *shape, gordian_op op, uint32_t process,
                                uint32_t resource)
{
    gordian_event event = gen_event(op, process, resource, 1);
    return shape->sink->event(shape->sink->context, &event, shape->error);
}

static gordian_status begin_shape(struct shape *shape, const struct gen_options *options,
                                  struct gen_sink *sink, gordian_error *error)
{
    *shape = (struct shape){options, sink, error, GORDIAN_OP_REQUEST, GORDIAN_OP_REQUEST};
    if (options->snapshot) {
        shape->hold = GORDIAN_OP_HOLD;
        shape->wait = GORDIAN_OP_WAIT;
    }
    return sink->begin(sink->context, options->processes, options->resources, NULL, 1, error);
}

/* ------------------------------------------------------------------ chain, ring */

/* p(i) waits for q(i), which p(i+1) holds; the last p waits for what p(0) holds. */
gordian_status shape_chain(const struct gen_options *options, struct gen_sink *sink,
                           gordian_error *error)
{
    struct shape shape;
    const uint32_t count = options->processes;
    const char order = options->order[0]; /* tail, head, random: checked */
    struct random random;
    struct scatter scatter;
    random_seed(&random, options->seed);
    scatter_init(&scatter, &random, count);

    TRY(begin_shape(&shape, options, sink, error));
    for (uint32_t p = 0; p < count; p++)
        TRY(put_event(&shape, shape.hold, p, (p + count - 1) % count));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t p = i;
        if (order == 't') /* next to the running process first; the running process itself last */
            p = i + 1 < count ? count - 2 - i : i;
        else if (order == 'r')
            p = scatter_map(&scatter, i);
        TRY(put_event(&shape, shape.wait, p, p));
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ chains */

#define DEFAULT_LENGTH 16

struct chains {
    struct scatter processes, resources, lines;
    uint32_t length;
    uint64_t count, cycles;
};

/* Makes the process at `place` wait for the resource that the next process of its chain holds. */
static gordian_status put_chain_wait(const struct shape *shape, const struct chains *chains,
                                     uint32_t place)
{
    const uint32_t count = shape->options->processes;
    uint64_t chain = place / chains->length;
    uint64_t next = (uint64_t)place + 1;
    if (next % chains->length == 0 || next == count) {
        /* Exactly `cycles` chains are closed, spread evenly. */
        if (chain * chains->cycles / chains->count == (chain + 1) * chains->cycles / chains->count)
            return GORDIAN_OK;
        next = chain * chains->length;
    }
    return put_event(shape, shape->wait, scatter_map(&chains->processes, place),
                     scatter_map(&chains->resources, (uint32_t)next));
}

static gordian_status check_chains(const struct gen_options *options, struct chains *chains,
                                   gordian_error *error)
{
    chains->length = options->length ? options->length : DEFAULT_LENGTH;
    chains->count = ((uint64_t)options->processes + chains->length - 1) / chains->length;
    chains->cycles = options->cycles;
    if (options->resources < options->processes)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "chains need a resource for each process: %u resources, %u processes",
                    options->resources, options->processes);
    if (chains->cycles > chains->count)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "%llu cycles, but %u processes in chains of %u make only %llu chains",
                    (unsigned long long)chains->cycles, options->processes, chains->length,
                    (unsigned long long)chains->count);
    return GORDIAN_OK;
}

gordian_status shape_chains(const struct gen_options *options, struct gen_sink *sink,
                            gordian_error *error)
{
    struct shape shape;
    const uint32_t count = options->processes;
    struct chains chains;
    TRY(check_chains(options, &chains, error));
    struct random random;
    random_seed(&random, options->seed);
    scatter_init(&chains.processes, &random, count);
    scatter_init(&chains.resources, &random, options->resources);
    scatter_init(&chains.lines, &random, count);

    TRY(begin_shape(&shape, options, sink, error));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = scatter_map(&chains.lines, i);
        TRY(put_event(&shape, shape.hold, scatter_map(&chains.processes, place),
                      scatter_map(&chains.resources, place)));
    }
    for (uint32_t i = 0; i < count; i++)
        TRY(put_chain_wait(&shape, &chains, scatter_map(&chains.lines, i)));
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ forest */

gordian_status shape_forest(const struct gen_options *options, struct gen_sink *sink,
                            gordian_error *error)
{
    struct shape shape;
    struct random random;
    random_seed(&random, options->seed);
    TRY(begin_shape(&shape, options, sink, error));
    for (uint32_t q = 0; q < options->resources; q++)
        TRY(put_event(&shape, shape.hold, (uint32_t)random_below(&random, options->processes), q));
    for (uint32_t p = 0; p < options->processes; p++)
        if (random_chance(&random, options->contention))
            TRY(put_event(&shape, shape.wait, p,
                          (uint32_t)random_below(&random, options->resources)));
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ hot */

/* Process p uses resource p mod R. Queues are served in order of arrival, and each process requests
 * again right after its release. So the users of a resource hold it in rotation. */
static gordian_status rotate_holds(const struct shape *shape, uint64_t events)
{
    const uint32_t processes = shape->options->processes, resources = shape->options->resources;
    for (uint64_t done = 0; done < events; done++) {
        uint64_t turn = done / 2;
        uint32_t resource = (uint32_t)(turn % resources);
        uint32_t members = (processes - resource + resources - 1) / resources;
        uint32_t holder = resource + resources * (uint32_t)(turn / resources % members);
        TRY(put_event(shape, done % 2 ? GORDIAN_OP_REQUEST : GORDIAN_OP_RELEASE, holder, resource));
    }
    return GORDIAN_OK;
}

gordian_status shape_hot(const struct gen_options *options, struct gen_sink *sink,
                         gordian_error *error)
{
    struct shape shape;
    if (options->resources > options->processes)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "hot needs a process for each resource: %u resources, %u processes",
                    options->resources, options->processes);
    TRY(begin_shape(&shape, options, sink, error));
    uint32_t first = options->processes;
    if (!options->snapshot && options->events < first)
        first = (uint32_t)options->events;
    for (uint32_t p = 0; p < first; p++)
        TRY(put_event(&shape, p < options->resources ? shape.hold : shape.wait, p,
                      p % options->resources));
    return options->snapshot ? GORDIAN_OK : rotate_holds(&shape, options->events - first);
}
