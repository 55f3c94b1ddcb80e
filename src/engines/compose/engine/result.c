/* Options, results and phases: shared by all engines. */
#include "engines/compose/engine/engine.h"
#include "foundation/base/clock.h"
#include "foundation/base/memory.h"

#include <string.h>

void gordian_compose_options_init(gordian_compose_options *options)
{
    *options = (gordian_compose_options){.count_transitions = true, .max_deadlocks = 1};
}

void compose_omit_transitions(gordian_compose_result *result)
{
    static const char why[] =
        "stopped early; transitions are omitted because there are too many to filter";
    _Static_assert(sizeof why <= sizeof result->note, "it fits");
    result->transitions = 0;
    result->uncounted = true;
    memcpy(result->note, why, sizeof why);
}

void gordian_compose_result_free(gordian_compose_result *result)
{
    compose_forget_deadlocks(result);
    memory_free_all(&result->allocator, result->found, result->order);
    *result = (gordian_compose_result){.allocator = result->allocator};
}

gordian_compose_phase *compose_phase(gordian_compose_result *result, const char *name)
{
    if (result->phase_count == GORDIAN_COMPOSE_PHASES)
        return NULL;
    gordian_compose_phase *phase = &result->phases[result->phase_count++];
    *phase = (gordian_compose_phase){.name = name, .ns = clock_ns()};
    return phase;
}

void compose_phase_end(gordian_compose_phase *phase)
{
    if (phase)
        phase->ns = clock_ns() - phase->ns;
}
