/* The table of engines, and the list of those of all families. */
#include "avoid/engine.h"
#include "base/error.h"
#include "compose/engine.h"
#include "detect/cuda.h"
#include "detect/engine.h"
#include "makespan/engine.h"

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

static gordian_engine_info describe(const char *family, const char *name, const char *summary,
                                    bool available, const char *why)
{
    return (gordian_engine_info){.family = family,
                                 .name = name,
                                 .summary = summary,
                                 .available = available,
                                 .reason = available ? NULL : why};
}

static gordian_status describe_makespan(size_t index, gordian_engine_info *info)
{
    const char *why = NULL;
    size_t i = 0;
    while (i < index && makespan_engines[i])
        i++;
    const struct makespan_engine *engine = makespan_engines[i];
    if (!engine)
        return GORDIAN_END;
    bool available = !engine->available || engine->available(&why);
    *info = describe("makespan", engine->name, engine->summary, available, why);
    return GORDIAN_OK;
}

static gordian_status describe_composer(size_t index, gordian_engine_info *info)
{
    const char *why = NULL;
    size_t i = 0;
    while (i < index && compose_engines[i])
        i++;
    const struct compose_engine *engine = compose_engines[i];
    if (!engine)
        return describe_makespan(index - i, info);
    bool available = !engine->available || engine->available(&why);
    *info = describe("compose", engine->name, engine->summary, available, why);
    return GORDIAN_OK;
}

gordian_status gordian_engine(size_t index, gordian_engine_info *info)
{
    size_t count = sizeof detect_engines / sizeof *detect_engines - 1;
    size_t checks = sizeof check_engines / sizeof *check_engines;
    const char *why = NULL;
    if (index < count + checks) {
        bool checking = index >= count;
        const struct detect_engine *engine =
            checking ? check_engines[index - count].like : detect_engines[index];
        const char *summary = checking ? check_engines[index - count].summary : engine->summary;
        bool available = detect_available(engine, &why);
        *info = describe(checking ? "check" : "detect", engine->name, summary, available, why);
        return GORDIAN_OK;
    }
    const struct avoid_engine *const *avoid = avoid_engines;
    size_t left = index - count - checks;
    for (; *avoid && left > 0; left--)
        avoid++;
    if (!*avoid)
        return describe_composer(left, info);
    bool available = avoid_available(*avoid, &why);
    *info = describe("avoid", (*avoid)->name, (*avoid)->summary, available, why);
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
