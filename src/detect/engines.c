/* The table of engines. */
#include "base/error.h"
#include "detect/cuda.h"
#include "detect/engine.h"

#include <string.h>

const struct detect_engine *const detect_engines[] = {&detect_sparse, &detect_matrix, &detect_cuda,
                                                      &detect_reduce, NULL};

gordian_status detect_choose(const char *name, const struct detect_engine **engine,
                             gordian_error *error)
{
    /* `sparse` supports every model and is the fastest for nearly every load: see
     * docs/performance.md for the one where a GPU is not slower. */
    if (!name || strcmp(name, "auto") == 0) {
        *engine = &detect_sparse;
        return GORDIAN_OK;
    }
    for (size_t i = 0; detect_engines[i]; i++) {
        const char *why;
        if (strcmp(detect_engines[i]->name, name) != 0)
            continue;
        if (!detect_available(detect_engines[i], &why))
            return fail(error, GORDIAN_UNAVAILABLE, "engine '%s' is not available: %s", name, why);
        *engine = detect_engines[i];
        return GORDIAN_OK;
    }
    return fail(error, GORDIAN_UNAVAILABLE,
                "there is no engine '%s' for detection: 'gordian info' lists them", name);
}

/* How snapshots are judged (check.h): not engines of this table, but listed with them. */
static const struct {
    const char *summary;
    const struct detect_engine *like; /* there when this one is */
} check_engines[] = {
    {"judges a snapshot in linear time on the CPU", &detect_sparse},
    {"judges a snapshot on an NVIDIA GPU", &detect_cuda},
};

gordian_status gordian_engine(size_t index, gordian_engine_info *info)
{
    size_t count = sizeof detect_engines / sizeof *detect_engines - 1;
    size_t checks = sizeof check_engines / sizeof *check_engines;
    if (index >= count + checks)
        return GORDIAN_END;
    bool checking = index >= count;
    const struct detect_engine *engine =
        checking ? check_engines[index - count].like : detect_engines[index];
    const char *why = NULL;
    bool available = detect_available(engine, &why);
    *info = (gordian_engine_info){.family = checking ? "check" : "detect",
                                  .name = engine->name,
                                  .summary = checking ? check_engines[index - count].summary
                                                      : engine->summary,
                                  .available = available,
                                  .reason = available ? NULL : why};
    return GORDIAN_OK;
}

const char *gordian_version(void)
{
#define TEXT(x)         #x
#define DOTTED(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)
    return DOTTED(GORDIAN_VERSION_MAJOR, GORDIAN_VERSION_MINOR, GORDIAN_VERSION_PATCH);
}

const char *gordian_model_text(gordian_model model)
{
    switch (model) {
    case GORDIAN_SINGLE_UNIT:
        return "single-unit";
    case GORDIAN_MULTI_UNIT:
        return "multi-unit";
    case GORDIAN_GENERAL:
        return "general";
    }
    return "unknown";
}
