/* The engines of all families, and the version. */
#include "engines/avoid/engine/engine.h"
#include "engines/compose/engine/engine.h"
#include "engines/detect/check/engine.h"
#include "engines/detect/engine/engine.h"
#include "engines/makespan/model/engine.h"

static const struct engine_family *const families[] = {&detect_family, &check_family, &avoid_family,
                                                       &compose_family, &makespan_family};

gordian_status gordian_engine(size_t index, gordian_engine_info *info)
{
    size_t before = 0;
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        for (size_t i = 0; families[f]->engines[i]; i++) {
            if (before++ < index)
                continue;
            const struct engine *engine = families[f]->engines[i];
            const char *why = NULL;
            bool available = engine_usable(engine, NULL, &why);
            *info = (gordian_engine_info){.family = families[f]->name,
                                          .name = engine->name,
                                          .summary = engine->summary,
                                          .available = available,
                                          .reason = available ? NULL : why};
            return GORDIAN_OK;
        }
    }
    return GORDIAN_STATUS_END;
}

const char *gordian_version(void)
{
#define TEXT(x)         #x
#define DOTTED(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)
    return DOTTED(GORDIAN_VERSION_MAJOR, GORDIAN_VERSION_MINOR, GORDIAN_VERSION_PATCH);
}
