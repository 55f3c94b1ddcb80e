/*
 * GPU-OSDDA: the thesis's algorithms 5 to 11, which are the article's 2 to 8. A file for each form
 * of
 * the matrices includes it (published_form.h). The host launches the kernels in the order of
 * algorithm 4 (lab/published/detect/osdda.c).
 *
 * <<<1,1>>> means a grid of one thread. <<<N,IPR>>> means a block for each resource, with a thread
 * for
 * each cell of its row. Blocks have at most 1024 threads: for longer rows, each thread takes
 * several
 * cells.
 */
#include "lab/published/kernels/published_detect.h"
#include "lab/published/kernels/published_form.h"

#define RESOURCE_ROW(matrix, q) row_of(a.matrix, q, a.across_processes)
#define OSDDA_KERNEL(name)                                                                         \
    KERNEL_BOUNDED(FORM_KERNEL(osdda_##name), struct published_osdda_arguments,                    \
                   PUBLISHED_MOST_THREADS, 1)

/* Request_Granted <<<1,1>>>, algorithm 5. */
OSDDA_KERNEL(granted)
{
    const uint32_t p = a.event.process, q = a.event.resource;
    put_element(RESOURCE_ROW(ag, q), p);
    put_element(RESOURCE_ROW(sink, q), p);
    put_element(RESOURCE_ROW(rp, q), p);
}

/* DeadlockCheck_Init <<<1,1>>>, algorithm 6. */
OSDDA_KERNEL(deadlock_check)
{
    const uint32_t p = a.event.process, q = a.event.resource;
    const bool deadlock = has_element(RESOURCE_ROW(sink, q), p);
    *GPU_POINTER(uint32_t, a.flag) = deadlock;
    if (!deadlock)
        put_element(row_of(a.ar, p, a.across_resources), q);
}

/* Row_Reduction <<<1,IPR/2>>>, section 3.3.6: the load into shared memory does the first step of
 * the reduction, and one warp does the last steps. The papers add, and a sum of words can wrap to
 * zero; here they are ORed. Needs whole warps. */
KERNEL_BOUNDED(FORM_KERNEL(row_reduction), struct published_reduction_arguments,
               PUBLISHED_MOST_THREADS, 1)
{
    SHARED(uint32_t, parts, PUBLISHED_MOST_THREADS);
    const cell *row = GPU_POINTER(const cell, a.row);
    uint32_t mine = 0;
    for (uint32_t i = THREAD_INDEX; i < a.count; i += 2 * BLOCK_SIZE) {
        mine |= row[i];
        if (i + BLOCK_SIZE < a.count)
            mine |= row[i + BLOCK_SIZE];
    }
    parts[THREAD_INDEX] = mine;
    block_barrier();
    for (uint32_t half = PUBLISHED_MOST_THREADS / 2; half >= WARP_SIZE; half /= 2) {
        if (THREAD_INDEX < half && THREAD_INDEX + half < BLOCK_SIZE)
            parts[THREAD_INDEX] |= parts[THREAD_INDEX + half];
        block_barrier();
    }
    if (THREAD_INDEX >= WARP_SIZE)
        return;
    mine = warp_reduce_or(WARP_ALL, parts[THREAD_INDEX]);
    if (THREAD_INDEX == 0)
        *GPU_POINTER(uint32_t, a.flag) = mine != 0;
}

/* Request_Blocked <<<N,IPR>>>, algorithm 7: whatever led to the process leads on. */
OSDDA_KERNEL(blocked)
{
    const uint32_t row = BLOCK_INDEX, q = a.event.resource;
    if (!has_element(RESOURCE_ROW(sink_before, row), a.event.process))
        return;
    for (uint32_t i = THREAD_INDEX; i < a.across_processes; i += BLOCK_SIZE) {
        RESOURCE_ROW(sink, row)[i] = RESOURCE_ROW(sink, q)[i];
        RESOURCE_ROW(rp, row)[i] = (cell)(RESOURCE_ROW(rp, row)[i] | RESOURCE_ROW(rp, q)[i]);
    }
    cell *rr = row_of(a.rr, row, a.across_resources);
    const cell *more = row_of(a.rr, q, a.across_resources);
    for (uint32_t i = THREAD_INDEX; i < a.across_resources; i += BLOCK_SIZE)
        rr[i] = (cell)(rr[i] | more[i]);
}

/* Release_Resource <<<1,1>>>, algorithm 8. */
OSDDA_KERNEL(release)
{
    drop_element(RESOURCE_ROW(ag, a.event.resource), a.event.process);
}

/* Update_Sink_RP <<<1,1>>>, algorithm 9: no process waited. */
OSDDA_KERNEL(isolate)
{
    drop_element(RESOURCE_ROW(sink, a.event.resource), a.event.process);
    drop_element(RESOURCE_ROW(rp, a.event.resource), a.event.process);
}

/* Update_AG_AR <<<1,1>>>, algorithm 10: a waiter gets the unit. The papers set the request, which
 * must be cleared, and swap the two bit positions. */
OSDDA_KERNEL(hand_over)
{
    put_element(RESOURCE_ROW(ag, a.event.resource), a.event.heir);
    drop_element(row_of(a.ar, a.event.heir, a.across_resources), a.event.resource);
}

/* Release_Update_Reachability <<<N,IPR>>>, algorithm 11. In the papers the first thread may clear
 * an element of RR before the other threads of its block read it. Here all threads read before any
 * writes. */
OSDDA_KERNEL(release_reach)
{
    SHARED(cell, new_sink, PUBLISHED_MOST_THREADS); /* of one pass */
    const uint32_t row = BLOCK_INDEX, heir = a.event.heir;
    cell *rr = row_of(a.rr, row, a.across_resources);
    const bool leads_to_resource = has_element(rr, a.event.resource);
    block_barrier();
    if (!leads_to_resource)
        return;
    for (uint32_t i = THREAD_INDEX; i < a.across_processes; i += BLOCK_SIZE) {
        new_sink[THREAD_INDEX] = i == CELL_OF(heir) ? MASK_OF(heir) : 0;
        RESOURCE_ROW(sink, row)[i] = new_sink[THREAD_INDEX];
    }
    if (THREAD_INDEX != 0)
        return;
    cell *rp = RESOURCE_ROW(rp, row);
    drop_element(rp, a.event.process);
    if (has_element(rp, heir)) /* led through the heir's request, which is now removed */
        drop_element(rr, a.event.resource);
    else
        put_element(rp, heir);
}
