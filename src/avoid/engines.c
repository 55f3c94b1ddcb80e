/* The table of engines. */
#include "avoid/cuda.h"
#include "avoid/engine.h"

#include "base/error.h"

#include <string.h>

const struct avoid_engine *const avoid_engines[] = {&avoid_holt, &avoid_cuda, &avoid_dense, NULL};

gordian_status avoid_choose(const char *name, const struct avoid_engine **engine,
                            gordian_error *error)
{
    /* `holt` takes every size and is the fastest for nearly every load: docs/performance.md. */
    if (!name || strcmp(name, "auto") == 0) {
        *engine = &avoid_holt;
        return GORDIAN_OK;
    }
    for (size_t i = 0; avoid_engines[i]; i++) {
        const char *why;
        if (strcmp(avoid_engines[i]->name, name) != 0)
            continue;
        if (!avoid_available(avoid_engines[i], &why))
            return fail(error, GORDIAN_UNAVAILABLE, "engine '%s' is not available: %s", name, why);
        *engine = avoid_engines[i];
        return GORDIAN_OK;
    }
    return fail(error, GORDIAN_UNAVAILABLE,
                "there is no engine '%s' for avoidance: 'gordian info' lists them", name);
}
