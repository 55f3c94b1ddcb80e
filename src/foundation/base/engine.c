/* Choice of an engine by name or automatically (engine.h). */
#include "foundation/base/engine.h"

#include "foundation/base/error.h"

#include <string.h>

bool engine_any(const char *name)
{
    return !name || strcmp(name, "auto") == 0;
}

bool engine_usable(const struct engine *engine, const void *problem, const char **why)
{
    if (engine->available && !engine->available(why))
        return false;
    return !problem || !engine->supports || engine->supports(problem, why);
}

const struct engine *engine_find(const struct engine_family *family, const char *name)
{
    for (size_t i = 0; family->engines[i]; i++)
        if (strcmp(family->engines[i]->name, name) == 0)
            return family->engines[i];
    return NULL;
}

static gordian_status choose_first(const struct engine_family *family, const void *problem,
                                   const struct engine **engine, gordian_error *error)
{
    const char *why = "";
    for (size_t i = 0; family->engines[i]; i++) {
        if (engine_usable(family->engines[i], problem, &why)) {
            *engine = family->engines[i];
            return GORDIAN_OK;
        }
    }
    return fail(error, GORDIAN_STATUS_UNAVAILABLE, "no engine for %s can do this: %s",
                family->purpose, why);
}

gordian_status engine_choose(const struct engine_family *family, const char *name,
                             const void *problem, const struct engine **engine,
                             gordian_error *error)
{
    const char *why;
    if (engine_any(name))
        return choose_first(family, problem, engine, error);
    const struct engine *found = engine_find(family, name);
    if (!found)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE,
                    "there is no engine '%.40s' for %s: 'gordian info' lists them", name,
                    family->purpose);
    if (!engine_usable(found, problem, &why))
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "engine '%s' is not available: %s", name,
                    why);
    *engine = found;
    return GORDIAN_OK;
}

static const struct engine_crossover crossovers[] = {
    {"detect", "sparse", "cuda", ENGINE_NEVER, "",
     "sparse takes tens of nanoseconds per event, a round trip to a device takes microseconds"},
    {"check", "sparse", "cuda", ENGINE_CHECK_FROM, "processes and resources",
     "from this size on, a device saves more time than it takes to open"},
    {"avoid", "holt", "cuda", ENGINE_NEVER, "",
     "holt answers from a stored safe order, a device scans the whole matrix"},
    {"compose", "cpu", "cuda", ENGINE_COMPOSE_FROM, "combinations of local states",
     "the CPU explores up to 65536 states; if there are more, a device explores all"},
    {"makespan", "exact", "cuda", ENGINE_NEVER, "",
     "exact proves the same bounds, and closes intervals that the largest table leaves open"},
};

const struct engine_crossover *engine_crossover(const char *family)
{
    for (size_t i = 0; i < sizeof crossovers / sizeof *crossovers; i++)
        if (strcmp(crossovers[i].family, family) == 0)
            return &crossovers[i];
    return NULL;
}
