/* The table of engines that compose, and choosing one. */
#include "compose/engines.h"

#include "base/error.h"
#include "base/memory.h"
#include "compose/operations.h"

#include <string.h>

/* The best come first: `auto` is the first that can. */
const struct compose_engine *const compose_engines[] = {
#ifdef GORDIAN_MPI
    &compose_mpi, /* a part of gordian-mpi only */
#endif
    &compose_cpu, &compose_dense, &compose_cuda, NULL,
};

static bool usable(const struct compose_engine *engine, const struct circuit *circuit,
                   const struct compose_options *options, const char **why)
{
    return (!engine->available || engine->available(why)) &&
           (!engine->supports || engine->supports(circuit, options, why));
}

gordian_status compose_choose(const char *name, const struct circuit *circuit,
                              const struct compose_options *options,
                              const struct compose_engine **engine, gordian_error *error)
{
    const char *why = "";
    bool any = !name || strcmp(name, "auto") == 0;
    for (size_t i = 0; compose_engines[i]; i++) {
        if (any ? !usable(compose_engines[i], circuit, options, &why)
                : strcmp(compose_engines[i]->name, name) != 0)
            continue;
        if (!usable(compose_engines[i], circuit, options, &why))
            return fail(error, GORDIAN_UNAVAILABLE, "engine '%s' is not available: %s", name, why);
        *engine = compose_engines[i];
        return GORDIAN_OK;
    }
    if (any)
        return fail(error, GORDIAN_UNAVAILABLE, "no engine can compose this: %s", why);
    return fail(error, GORDIAN_UNAVAILABLE,
                "there is no engine '%s' for composition: 'gordian info' lists them", name);
}

gordian_status compose_take_order(const struct circuit *circuit,
                                  const struct compose_options *options,
                                  struct compose_result *result, gordian_error *error)
{
    const char *why;
    size_t count = circuit->factor_count;
    if (options->order && !compose_order_valid(circuit, options->order, count, &why))
        return fail(error, GORDIAN_INPUT, "the order of composition: %s", why);
    result->order = memory_alloc(&result->allocator, count * sizeof *result->order);
    if (!result->order)
        return fail_memory(error);
    if (options->order)
        memcpy(result->order, options->order, count * sizeof *result->order);
    gordian_status status = options->order
                                ? GORDIAN_OK
                                : compose_order(circuit, result->order, &result->allocator, error);
    if (status != GORDIAN_OK) {
        memory_free(&result->allocator, result->order);
        result->order = NULL;
    }
    return status;
}
