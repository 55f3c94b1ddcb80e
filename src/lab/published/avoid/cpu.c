/* CPU-PBA: the same computations, sequentially, like the thesis's serial version. */
#include "lab/published/avoid/pba.h"

#include "foundation/base/error.h"

#include <string.h>

struct pba_cpu {
    gordian_allocator memory;
    struct pba_state now;
    uint32_t *need, *work;
    bool *finish, *able; /* by process */
};

void pba_cpu_close(struct pba_cpu *pba)
{
    if (!pba)
        return;
    pba_state_free(&pba->now, &pba->memory);
    memory_free_all(&pba->memory, pba->need, pba->work, pba->finish, pba->able);
    memory_free(&pba->memory, pba);
}

static gordian_status copy_state(struct pba_cpu *pba, const struct pba_state *from,
                                 gordian_error *error)
{
    const gordian_allocator *memory = &pba->memory;
    size_t cells = (size_t)from->processes * from->resources;
    TRY(pba_state_new(&pba->now, from->processes, from->resources, memory, error));
    pba->need = memory_alloc(memory, cells * sizeof *pba->need);
    pba->work = memory_alloc(memory, from->resources * sizeof *pba->work);
    pba->finish = memory_alloc(memory, from->processes);
    pba->able = memory_alloc(memory, from->processes);
    if (!pba->need || !pba->work || !pba->finish || !pba->able)
        return fail_memory(error);
    memcpy(pba->now.maximum, from->maximum, cells * sizeof(uint32_t));
    memcpy(pba->now.allocation, from->allocation, cells * sizeof(uint32_t));
    memcpy(pba->now.available, from->available, from->resources * sizeof(uint32_t));
    for (size_t i = 0; i < cells; i++)
        pba->need[i] = from->maximum[i] - from->allocation[i];
    return GORDIAN_OK;
}

gordian_status pba_cpu_open(struct pba_cpu **out, const struct pba_state *state,
                            const gordian_allocator *wanted, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(wanted);
    struct pba_cpu *pba = memory_zeroed(&memory, sizeof *pba);
    *out = NULL;
    if (!pba)
        return fail_memory(error);
    pba->memory = memory;
    gordian_status status = copy_state(pba, state, error);
    if (status == GORDIAN_OK)
        *out = pba;
    else
        pba_cpu_close(pba);
    return status;
}

/* Compares all elements, like the kernel's threads, without an early exit. */
static bool all_enough(const uint32_t *wanted, const uint32_t *there, uint32_t resources)
{
    uint32_t enough = 0;
    for (uint32_t j = 0; j < resources; j++)
        enough += wanted[j] <= there[j];
    return enough == resources;
}

static void move_units(struct pba_cpu *pba, uint32_t process, const uint32_t *units, bool lend)
{
    size_t row = (size_t)process * pba->now.resources;
    for (uint32_t j = 0; j < pba->now.resources; j++) {
        uint32_t more = lend ? units[j] : 0 - units[j];
        pba->now.available[j] -= more;
        pba->now.allocation[row + j] += more;
        pba->need[row + j] = pba->now.maximum[row + j] - pba->now.allocation[row + j];
    }
}

static uint32_t count_able(struct pba_cpu *pba)
{
    uint32_t count = 0, resources = pba->now.resources;
    for (uint32_t i = 0; i < pba->now.processes; i++) {
        pba->able[i] =
            !pba->finish[i] && all_enough(pba->need + (size_t)i * resources, pba->work, resources);
        count += pba->able[i];
    }
    return count;
}

static bool pba_cpu_find_order(struct pba_cpu *pba)
{
    uint32_t finished = 0, count;
    memcpy(pba->work, pba->now.available, pba->now.resources * sizeof *pba->work);
    memset(pba->finish, 0, pba->now.processes);
    while ((count = count_able(pba)) > 0) {
        for (uint32_t i = 0; i < pba->now.processes; i++) {
            const uint32_t *allocation = pba->now.allocation + (size_t)i * pba->now.resources;
            if (!pba->able[i])
                continue;
            pba->finish[i] = true;
            for (uint32_t j = 0; j < pba->now.resources; j++)
                pba->work[j] += allocation[j];
        }
        finished += count;
        if (finished == pba->now.processes)
            return true;
    }
    return false;
}

enum pba_answer pba_cpu_request(struct pba_cpu *pba, uint32_t process, const uint32_t *units)
{
    uint32_t resources = pba->now.resources;
    if (!all_enough(units, pba->need + (size_t)process * resources, resources))
        return PBA_TOO_MUCH;
    if (!all_enough(units, pba->now.available, resources))
        return PBA_MISSING;
    move_units(pba, process, units, true);
    if (pba_cpu_find_order(pba))
        return PBA_GRANTED;
    move_units(pba, process, units, false);
    return PBA_UNSAFE;
}

void pba_cpu_release(struct pba_cpu *pba, uint32_t process, const uint32_t *units)
{
    move_units(pba, process, units, false);
}
