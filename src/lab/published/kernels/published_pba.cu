/*
 * GPU-PBA, kernel by kernel as in the thesis (algorithms 24 to 30): a thread for each resource,
 * sums in
 * shared memory, everything else in global memory.
 *
 * Corrected: rolling back an allocation computes need = maximum - allocation (algorithm 29 adds).
 * The
 * two summations drop a number, or read past the last one, unless the number of resources is a
 * power
 * of two; here they sum any number. With more resources than a block has threads, a thread handles
 * several.
 */
#include "foundation/gpu/language/kernel.h"
#include "lab/published/kernels/published_pba.h"

/* Sums neighbours first, then elements further and further apart (24, 25). The sum ends in sums[0].
 */
DEVICE void add_neighbours(uint32_t *sums)
{
    for (uint32_t apart = 1; apart < BLOCK_SIZE; apart *= 2) {
        uint32_t at = 2 * apart * THREAD_INDEX;
        if (at + apart < BLOCK_SIZE)
            sums[at] += sums[at + apart];
        block_barrier();
    }
}

/* Adds the upper half to the lower half (27). */
DEVICE void add_halves(uint32_t *sums)
{
    uint32_t half = BLOCK_SIZE > 1 ? 1 : 0;
    while (2 * half < BLOCK_SIZE && half > 0)
        half *= 2;
    for (; half > 0; half /= 2) {
        if (THREAD_INDEX < half && THREAD_INDEX + half < BLOCK_SIZE)
            sums[THREAD_INDEX] += sums[THREAD_INDEX + half];
        block_barrier();
    }
}

/* Counts this thread's resources that have enough units. */
DEVICE uint32_t count_enough(const uint32_t *wanted, const uint32_t *there, uint32_t resources)
{
    uint32_t enough = 0;
    for (uint32_t j = THREAD_INDEX; j < resources; j += BLOCK_SIZE)
        enough += wanted[j] <= there[j];
    return enough;
}

/* Does the request fit? Thread 0 reports to the host. */
DEVICE void check_request(uint32_t *checks, const uint32_t *request, const uint32_t *there,
                          uint32_t resources, uint32_t *go_on)
{
    checks[THREAD_INDEX] = count_enough(request, there, resources);
    block_barrier();
    add_neighbours(checks);
    if (THREAD_INDEX == 0)
        *go_on = checks[0] == resources;
}

/* Check_Valid_Request (24): is it within the remaining claim of the process? */
KERNEL(published_pba_valid, struct published_pba_arguments)
{
    SHARED_DYNAMIC(uint32_t, checks);
    const uint32_t *need = GPU_POINTER(const uint32_t, a.need) + (uint64_t)a.process * a.resources;
    check_request(checks, GPU_POINTER(const uint32_t, a.request), need, a.resources,
                  GPU_POINTER(uint32_t, a.go_on));
}

/* Check_Resource_Availability (25). */
KERNEL(published_pba_available, struct published_pba_arguments)
{
    SHARED_DYNAMIC(uint32_t, checks);
    check_request(checks, GPU_POINTER(const uint32_t, a.request),
                  GPU_POINTER(const uint32_t, a.available), a.resources,
                  GPU_POINTER(uint32_t, a.go_on));
}

/* Temporary_Allocate_Request (26). */
KERNEL(published_pba_allocate, struct published_pba_arguments)
{
    const uint32_t *request = GPU_POINTER(const uint32_t, a.request);
    uint32_t *available = GPU_POINTER(uint32_t, a.available);
    uint32_t *work = GPU_POINTER(uint32_t, a.work);
    uint64_t row = (uint64_t)a.process * a.resources;
    const uint32_t *maximum = GPU_POINTER(const uint32_t, a.maximum) + row;
    uint32_t *allocation = GPU_POINTER(uint32_t, a.allocation) + row;
    uint32_t *need = GPU_POINTER(uint32_t, a.need) + row;
    for (uint32_t j = THREAD_INDEX; j < a.resources; j += BLOCK_SIZE) {
        available[j] -= request[j];
        allocation[j] += request[j];
        need[j] = maximum[j] - allocation[j];
        work[j] = available[j];
    }
}

/* Perform_Safety_Check (27): each block checks whether its process can finish in this round. */
KERNEL(published_pba_check, struct published_pba_arguments)
{
    SHARED_DYNAMIC(uint32_t, checks);
    uint32_t *finish = GPU_POINTER(uint32_t, a.finish) + BLOCK_INDEX;
    const uint32_t *need =
        GPU_POINTER(const uint32_t, a.need) + (uint64_t)BLOCK_INDEX * a.resources;
    if (*finish != 0)
        return;
    checks[THREAD_INDEX] = count_enough(need, GPU_POINTER(const uint32_t, a.work), a.resources);
    block_barrier();
    add_halves(checks);
    if (THREAD_INDEX == 0 && checks[0] == a.resources) {
        *finish = 1;
        GPU_POINTER(uint32_t, a.able)[BLOCK_INDEX] = 1;
    }
}

/* Add_Finished_To_Work (28): one process releases what it holds. */
KERNEL(published_pba_add, struct published_pba_arguments)
{
    const uint32_t *allocation =
        GPU_POINTER(const uint32_t, a.allocation) + (uint64_t)a.process * a.resources;
    for (uint32_t j = THREAD_INDEX; j < a.resources; j += BLOCK_SIZE)
        GPU_POINTER(uint32_t, a.work)[j] += allocation[j];
}

/* RollBack_Allocations (29). */
KERNEL(published_pba_roll_back, struct published_pba_arguments)
{
    const uint32_t *request = GPU_POINTER(const uint32_t, a.request);
    uint32_t *available = GPU_POINTER(uint32_t, a.available);
    uint64_t row = (uint64_t)a.process * a.resources;
    const uint32_t *maximum = GPU_POINTER(const uint32_t, a.maximum) + row;
    uint32_t *allocation = GPU_POINTER(uint32_t, a.allocation) + row;
    uint32_t *need = GPU_POINTER(uint32_t, a.need) + row;
    for (uint32_t j = THREAD_INDEX; j < a.resources; j += BLOCK_SIZE) {
        available[j] += request[j];
        allocation[j] -= request[j];
        need[j] = maximum[j] - allocation[j];
    }
}

/* Release_Resources (30). */
KERNEL(published_pba_release, struct published_pba_arguments)
{
    const uint32_t *request = GPU_POINTER(const uint32_t, a.request);
    uint64_t row = (uint64_t)a.process * a.resources;
    for (uint32_t j = THREAD_INDEX; j < a.resources; j += BLOCK_SIZE) {
        GPU_POINTER(uint32_t, a.available)[j] += request[j];
        GPU_POINTER(uint32_t, a.need)[row + j] += request[j];
        GPU_POINTER(uint32_t, a.allocation)[row + j] -= request[j];
    }
}
