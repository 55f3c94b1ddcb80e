/*
 * States in which the published algorithm takes as many rounds as there are processes.
 *
 * Each process in the *chain* holds one unit of each resource, and two units of each are free.
 * Process t
 * of the chain needs t + 2 units (of each resource, or of the last one): exactly what is available
 * when
 * the processes before it have finished, so each round frees one. Ids run against the chain, so
 * the
 * next process is always the last one checked.
 *
 * To make any order kept from before useless, resource 0 has one more unit, which the last process
 * of
 * the chain requests. Processes 0 and 1 hold one unit each; 0 needs all three free units, 1 needs
 * one.
 * Before the request 0 could finish first, and a search by id has it first. With the unit gone, 1
 * has to
 * finish before 0. An order that begins with 0 is then invalid, and another must be found. The
 * request
 * is safe.
 */
#include "lab/bench/avoid/avoid.h"

#include "engines/avoid/cuda/cuda.h"
#include "foundation/base/error.h"
#include "foundation/base/random.h"

#define OFF_CHAIN 2u /* processes 0 and 1 are not in the chain */

struct builder {
    enum avoid_shape shape;
    uint32_t length; /* of the chain */
    uint32_t resources;
    struct random random;
    struct ledger *ledger;
    gordian_want *wants;
};

static uint64_t chain_need(struct builder *b, uint32_t turn, uint32_t resource)
{
    uint64_t binding = (uint64_t)turn + 2;
    if (resource == b->resources - 1 && b->shape != AVOID_WIDE)
        return binding;
    switch (b->shape) {
    case AVOID_ALL:
        return binding;
    case AVOID_MIXED:
        return 1 + random_below(&b->random, binding);
    case AVOID_LAST:
        return 1;
    case AVOID_WIDE: /* the last process needs everything there will be */
        return turn == b->length - 1 ? binding : 1 + random_below(&b->random, 2);
    }
    return 0;
}

/* Adds a process with these claims; it gets `held` units of each at once. */
static bool add_claiming_process(struct builder *b, size_t count, uint64_t held)
{
    struct ledger *ledger = b->ledger;
    uint32_t id = ledger_next_process(ledger);
    if (!ledger_reserve_process(ledger, 0) || !ledger_reserve_claims(ledger, id, b->wants, count))
        return false;
    ledger_add_process(ledger, NULL, 0);
    ledger_set_claims(ledger, id, b->wants, count);
    for (size_t i = 0; i < count; i++)
        b->wants[i].units = held;
    if (held > 0)
        ledger_lend(ledger, id, b->wants, count);
    return true;
}

static bool add_chain_processes(struct builder *b)
{
    uint64_t each = (uint64_t)b->length + 2;
    for (uint32_t j = 0; j < b->resources; j++) {
        if (!ledger_reserve_resource(b->ledger, 0))
            return false;
        ledger_add_resource(b->ledger, NULL, 0, j == 0 ? each + 3 : each);
    }
    for (uint32_t other = 0; other < OFF_CHAIN; other++) {
        b->wants[0] = (gordian_want){.resource = 0, .units = other ? 2 : 4};
        if (!add_claiming_process(b, 1, 1))
            return false;
    }
    for (uint32_t turn = b->length; turn-- > 0;) {
        for (uint32_t j = 0; j < b->resources; j++)
            b->wants[j] = (gordian_want){.resource = j, .units = chain_need(b, turn, j) + 1};
        if (!add_claiming_process(b, b->resources, 1))
            return false;
    }
    return true;
}

gordian_status avoid_state_build(struct avoid_state *state, enum avoid_shape shape,
                                 uint32_t processes, uint32_t resources, uint64_t seed,
                                 gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct builder b = {.shape = shape,
                        .length = processes - OFF_CHAIN,
                        .resources = resources,
                        .ledger = &state->ledger};
    random_seed(&b.random, seed);
    ledger_init(&state->ledger, &memory);
    b.wants = memory_alloc(&memory, resources * sizeof *b.wants);
    bool built =
        b.wants && ledger_reserve(&state->ledger, processes, resources) && add_chain_processes(&b);
    memory_free(&memory, b.wants);
    if (!built) {
        ledger_free(&state->ledger);
        return fail_memory(error);
    }
    state->want = (gordian_want){.resource = 0, .units = 1};
    state->change = (struct ledger_change){
        .kind = CHANGE_LEND, .process = OFF_CHAIN, .wants = &state->want, .count = 1};
    return GORDIAN_OK;
}

void avoid_state_free(struct avoid_state *state)
{
    ledger_free(&state->ledger);
}

/* ------------------------------------------------------------------ requests */

gordian_status avoid_side_open(struct avoid_side *side, struct avoid_state *state,
                               const struct avoid_engine *engine, gordian_error *error)
{
    *side = (struct avoid_side){.state = state, .engine = engine};
    return engine->open(&side->opened, &state->ledger, error);
}

void avoid_side_close(struct avoid_side *side)
{
    if (side->opened)
        side->engine->close(side->opened);
    side->opened = NULL;
}

gordian_status avoid_ask(void *context, double *ns, gordian_error *error)
{
    struct avoid_side *side = context;
    bool on_device = side->engine == &avoid_cuda;
    uint64_t start = on_device ? clock_ns() : work_ns();
    bool safe = side->engine->safe(side->opened, &side->state->change);
    *ns = (double)((on_device ? clock_ns() : work_ns()) - start);
    if (!safe)
        return fail(error, GORDIAN_STATUS_INPUT, "%s finds a safe request unsafe",
                    side->engine->about.name);
    const char *note = side->engine->note ? side->engine->note(side->opened) : NULL;
    return note ? fail(error, GORDIAN_STATUS_IO, "%s", note) : GORDIAN_OK;
}

gordian_status avoid_time(const struct avoid_bench *avoid, struct avoid_state *state,
                          const struct avoid_engine *engine, struct bench_effort effort,
                          struct bench_side *result)
{
    struct avoid_side side;
    struct bench *bench = avoid->bench;
    TRY(avoid_side_open(&side, state, engine, bench->error));
    *result = (struct bench_side){&side, avoid_ask};
    gordian_status status = bench_measure(bench, result, 1, effort);
    result->context = NULL;
    avoid_side_close(&side);
    return status;
}
