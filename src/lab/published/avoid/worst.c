/* Allocates states for PBA, and creates the thesis's worst case. */
#include "lab/published/avoid/pba.h"

#include "foundation/base/error.h"

#define OFF_CHAIN 2u /* processes 0 and 1 are not in the chain */

void pba_state_free(struct pba_state *state, const gordian_allocator *memory)
{
    memory_free_all(memory, state->maximum, state->allocation, state->available);
    *state = (struct pba_state){0};
}

gordian_status pba_state_new(struct pba_state *state, uint32_t processes, uint32_t resources,
                             const gordian_allocator *memory, gordian_error *error)
{
    uint64_t bytes = (uint64_t)processes * resources * sizeof(uint32_t);
    *state = (struct pba_state){.processes = processes, .resources = resources};
    if (bytes > SIZE_MAX)
        return fail_memory(error);
    state->maximum = memory_zeroed(memory, (size_t)bytes);
    state->allocation = memory_zeroed(memory, (size_t)bytes);
    state->available = memory_zeroed(memory, resources * sizeof(uint32_t));
    if (state->maximum && state->allocation && state->available)
        return GORDIAN_OK;
    pba_state_free(state, memory);
    return fail_memory(error);
}

/* The next process of the chain needs everything that is available by then, of each resource. */
static void fill_worst_row(struct pba_state *state, uint32_t process, uint32_t turn)
{
    size_t row = (size_t)process * state->resources;
    for (uint32_t j = 0; j < state->resources; j++) {
        state->allocation[row + j] = 1;
        state->maximum[row + j] = turn + 3;
    }
}

gordian_status pba_worst(struct pba_state *state, uint32_t processes, uint32_t resources,
                         const gordian_allocator *memory, gordian_error *error)
{
    *state = (struct pba_state){0};
    if (processes < OFF_CHAIN + 2 || resources < 2)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "the worst case needs at least four processes and two resources");
    TRY(pba_state_new(state, processes, resources, memory, error));
    for (uint32_t j = 0; j < resources; j++)
        state->available[j] = j == 0 ? 3 : 2;
    state->allocation[0] = 1;
    state->maximum[0] = 4;
    state->allocation[resources] = 1;
    state->maximum[resources] = 2;
    for (uint32_t i = OFF_CHAIN; i < processes; i++)
        fill_worst_row(state, i, processes - 1 - i);
    return GORDIAN_OK;
}
