#include "lab/bench/detect/long_chain.h"

#include "engines/detect/cuda/cuda.h"
#include "engines/detect/system.h"
#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/random.h"

static double since(uint64_t start)
{
    return (double)(clock_ns() - start);
}

static uint32_t chain_id(const struct long_chain *chain, uint32_t link)
{
    return chain->ids ? chain->ids[link] : link;
}

gordian_status long_chain_open_within(struct long_chain *chain, const char *engine, uint32_t length,
                                      uint64_t first_units, const uint32_t *ids, uint32_t size,
                                      gordian_error *error)
{
    gordian_options options;
    gordian_options_init(&options);
    options.engine = engine;
    *chain = (struct long_chain){.length = length, .first_units = first_units, .ids = ids};
    gordian_status status = gordian_open(&chain->system, &options, error);
    THEN(status, gordian_reserve(chain->system, size, size, error));
    uint32_t id, first = chain_id(chain, 0);
    for (uint32_t i = 0; i < size && status == GORDIAN_OK; i++) {
        status = gordian_add_process(chain->system, NULL, &id, error);
        THEN(status,
             gordian_add_resource(chain->system, NULL, i == first ? first_units : 1, &id, error));
    }
    if (status != GORDIAN_OK)
        long_chain_close(chain);
    return status;
}

gordian_status long_chain_open(struct long_chain *chain, const char *engine, uint32_t length,
                               uint64_t first_units, gordian_error *error)
{
    return long_chain_open_within(chain, engine, length, first_units, NULL, length, error);
}

void long_chain_close(struct long_chain *chain)
{
    gordian_close(chain->system);
    chain->system = NULL;
}

gordian_status long_chain_settle(struct long_chain *chain, gordian_error *error)
{
    gordian_system *system = chain->system;
    if (!cuda_runs(system->engine) || cuda_drain(system->state))
        return GORDIAN_OK;
    const char *note = cuda_note(system->state);
    return fail(error, GORDIAN_STATUS_IO, "%s", note ? note : "the device has failed");
}

/* Makes a request of p_process for q_resource, which must have the given outcome. */
static gordian_status request_in_chain(struct long_chain *chain, uint32_t process,
                                       uint32_t resource, gordian_outcome expected,
                                       gordian_error *error)
{
    gordian_outcome outcome;
    uint64_t units = process || resource ? 1 : chain->first_units;
    TRY(gordian_request(chain->system, chain_id(chain, process), chain_id(chain, resource), units,
                        &outcome, error));
    if (outcome != expected)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "%s: p%u requests q%u of a chain of %u: %s, not %s",
                    chain->system->engine->about.name, process, resource, chain->length,
                    gordian_outcome_text(outcome), gordian_outcome_text(expected));
    return GORDIAN_OK;
}

static gordian_status release_in_chain(struct long_chain *chain, uint32_t process,
                                       uint32_t resource, uint64_t units, gordian_error *error)
{
    return gordian_release(chain->system, chain_id(chain, process), chain_id(chain, resource),
                           units, NULL, error);
}

gordian_status long_chain_round_trip(void *context, double *ns, gordian_error *error)
{
    struct long_chain *chain = context;
    gordian_status status = long_chain_settle(chain, error);
    uint64_t start = clock_ns();
    THEN(status, request_in_chain(chain, 0, 0, GORDIAN_OUTCOME_GRANTED, error));
    THEN(status, long_chain_settle(chain, error));
    *ns = since(start);
    THEN(status, release_in_chain(chain, 0, 0, chain->first_units, error));
    return status;
}

/* ------------------------------------------------------------------ blocks */

gordian_status long_chain_build(struct long_chain *chain, bool far_end_first, double *answers,
                                double *ns, gordian_error *error)
{
    const uint32_t length = chain->length;
    gordian_status status = GORDIAN_OK;
    uint64_t start = clock_ns();
    for (uint32_t i = 0; i < length && status == GORDIAN_OK; i++)
        status = request_in_chain(chain, i, i, GORDIAN_OUTCOME_GRANTED, error);
    for (uint32_t i = 0; i + 1 < length && status == GORDIAN_OK; i++) {
        uint32_t process = far_end_first ? length - 2 - i : i;
        uint64_t asked = answers ? clock_ns() : 0;
        status = request_in_chain(chain, process, process + 1, GORDIAN_OUTCOME_BLOCKED, error);
        if (answers)
            answers[i] = since(asked);
    }
    THEN(status, long_chain_settle(chain, error));
    *ns = since(start);
    return status;
}

gordian_status long_chain_close_ring(struct long_chain *chain, gordian_error *error)
{
    TRY(request_in_chain(chain, chain->length - 1, 0, GORDIAN_OUTCOME_DEADLOCK, error));
    return long_chain_settle(chain, error);
}

gordian_status long_chain_cancel(struct long_chain *chain, uint32_t process, double *ns,
                                 gordian_error *error)
{
    uint64_t start = clock_ns();
    gordian_status status = gordian_cancel(chain->system, chain_id(chain, process), NULL, error);
    THEN(status, long_chain_settle(chain, error));
    *ns = since(start);
    return status;
}

gordian_status long_chain_block(struct long_chain *chain, uint32_t process, double *answer,
                                double *settled, gordian_error *error)
{
    double ignored;
    TRY(long_chain_cancel(chain, process, &ignored, error));
    uint64_t start = clock_ns();
    TRY(request_in_chain(chain, process, process + 1, GORDIAN_OUTCOME_BLOCKED, error));
    *answer = since(start);
    TRY(long_chain_settle(chain, error));
    *settled = since(start);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ releases */

gordian_status long_chain_release(struct long_chain *chain, uint32_t resource, double *ns,
                                  gordian_error *error)
{
    uint64_t start = clock_ns();
    gordian_status status = release_in_chain(chain, resource, resource, 1, error);
    *ns = since(start);
    size_t count = 0;
    const uint32_t *served = gordian_served(chain->system, &count);
    if (status == GORDIAN_OK && (count != 1 || served[0] != chain_id(chain, resource - 1)))
        return fail(error, GORDIAN_STATUS_INPUT,
                    "%s: the release of q%u of a chain serves another process",
                    chain->system->engine->about.name, resource);
    return status;
}

gordian_status long_chain_release_all(struct long_chain *chain, double *ns, gordian_error *error)
{
    double one;
    uint64_t start = clock_ns();
    for (uint32_t q = chain->length - 1; q > 0; q--)
        TRY(long_chain_release(chain, q, &one, error));
    TRY(release_in_chain(chain, 0, 0, chain->first_units, error));
    TRY(long_chain_settle(chain, error));
    *ns = since(start) / chain->length;
    /* All but the last still hold what they were served. */
    for (uint32_t p = 0; p + 1 < chain->length; p++)
        TRY(release_in_chain(chain, p, p + 1, 1, error));
    return GORDIAN_OK;
}

static gordian_status ask_at_random(struct long_chain *chain, struct random *random,
                                    gordian_error *error)
{
    for (uint32_t i = 0; i < chain->length; i++) {
        uint32_t process = (uint32_t)random_below(random, chain->length);
        uint32_t resource = (uint32_t)random_below(random, chain->length);
        if (!gordian_is_waiting(chain->system, process))
            TRY(gordian_request(chain->system, process, resource, 1, NULL, error));
    }
    return long_chain_settle(chain, error);
}

gordian_status long_chain_release_random(struct long_chain *chain, uint64_t seed, unsigned rounds,
                                         double *ns, gordian_error *error)
{
    struct random random;
    gordian_allocator memory = memory_allocator(NULL);
    gordian_edge *list = memory_alloc(&memory, chain->length * sizeof *list);
    gordian_status status = list ? GORDIAN_OK : fail_memory(error);
    uint64_t releases = 0;
    double spent = 0;
    random_seed(&random, seed);
    for (unsigned round = 0; round < rounds && status == GORDIAN_OK; round++) {
        status = ask_at_random(chain, &random, error);
        if (status != GORDIAN_OK)
            break;
        /* Release everything held by processes that do not wait. */
        size_t count = 0;
        for (uint32_t q = 0; q < chain->length; q++)
            if (gordian_holders(chain->system, q, &list[count], 1) &&
                !gordian_is_waiting(chain->system, list[count].process))
                count++;
        uint64_t start = clock_ns();
        for (size_t i = 0; i < count && status == GORDIAN_OK; i++)
            status =
                gordian_release(chain->system, list[i].process, list[i].resource, 1, NULL, error);
        THEN(status, long_chain_settle(chain, error));
        spent += since(start);
        releases += count;
    }
    memory_free(&memory, list);
    *ns = releases ? spent / (double)releases : 0;
    /* Random requests leave deadlocks behind: reset for the next measurement. */
    for (uint32_t p = 0; p < chain->length && status == GORDIAN_OK; p++)
        status = gordian_exit(chain->system, p, NULL, error);
    return status == GORDIAN_OK ? long_chain_settle(chain, error) : status;
}
