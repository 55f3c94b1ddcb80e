/* Memory of the deadlocks described in a result. */
#include "engines/compose/circuit/circuit.h"
#include "foundation/base/memory.h"

void compose_forget_deadlocks(gordian_compose_result *result)
{
    for (size_t i = 0; i < result->found_count; i++)
        memory_free_all(&result->allocator, result->found[i].state, result->found[i].labels);
    result->found_count = 0;
    result->deadlocks = 0;
}

bool compose_deadlock_alloc(gordian_compose_result *result, const gordian_circuit *circuit,
                            size_t steps, gordian_compose_deadlock *deadlock)
{
    const gordian_allocator *memory = &result->allocator;
    *deadlock = (gordian_compose_deadlock){.step_count = steps};
    deadlock->state = memory_alloc(memory, (circuit->factor_count + 1) * sizeof(uint32_t));
    deadlock->labels = memory_alloc(memory, (steps * circuit->label_words + 1) * sizeof(uint64_t));
    if (deadlock->state && deadlock->labels)
        return true;
    memory_free_all(memory, deadlock->state, deadlock->labels);
    return false;
}
