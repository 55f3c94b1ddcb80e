/*
 * GPU-LMDDA: the thesis's algorithms 13 to 21. A file for each form of the matrices includes it
 * (published_form.h). The host launches the kernels in the order of algorithm 12
 * (lab/published/detect/lmdda.c), without the kernel of its line 10, which the thesis does not
 * have.
 *
 * <<<1,1>>> means a grid of one thread. <<<N,IPR>>> means a block for each resource, with a thread
 * for
 * each cell of its row. Blocks have at most 1024 threads: for longer rows, each thread takes
 * several
 * cells or elements. Only this limit kept the method from larger systems.
 */
#include "lab/published/kernels/published_detect.h"
#include "lab/published/kernels/published_form.h"

#define RESOURCE_ROW(matrix, q) row_of(a.matrix, q, a.across_processes)
#define PROCESS_ROW(matrix, p)  row_of(a.matrix, p, a.across_resources)
#define FLAG(name)              (*GPU_POINTER(uint32_t, a.name))
#define LMDDA_KERNEL(name)                                                                         \
    KERNEL_BOUNDED(FORM_KERNEL(lmdda_##name), struct published_lmdda_arguments,                    \
                   PUBLISHED_MOST_THREADS, 1)

/* Number of units of q that p holds. */
DEVICE counter *held_units(const struct published_lmdda_arguments *l, uint32_t q, uint32_t p)
{
    return GPU_POINTER(counter, l->ag) + (uint64_t)q * l->padded_processes + p;
}

/* Does the row have an element? Thread 0 of the block gets the answer. The papers' reduction
 * overwrites where it has to OR. */
DEVICE bool reduce_row(const cell *row, uint32_t count)
{
    SHARED(cell, parts, PUBLISHED_MOST_THREADS);
    cell mine = 0;
    for (uint32_t i = THREAD_INDEX; i < count; i += BLOCK_SIZE)
        mine = (cell)(mine | row[i]);
    parts[THREAD_INDEX] = mine;
    block_barrier();
    for (uint32_t step = 1; step < BLOCK_SIZE; step *= 2) {
        if (THREAD_INDEX % (2 * step) == 0 && THREAD_INDEX + step < BLOCK_SIZE)
            parts[THREAD_INDEX] = (cell)(parts[THREAD_INDEX] | parts[THREAD_INDEX + step]);
        block_barrier();
    }
    return parts[0] != 0;
}

/* Resource_Request_Granted <<<1,1>>>, algorithm 13. */
LMDDA_KERNEL(granted)
{
    *held_units(&a, a.event.resource, a.event.process) += 1;
    put_element(RESOURCE_ROW(rp, a.event.resource), a.event.process);
}

/* Find_Sink_Processes <<<M,IPR>>>, algorithm 14; SP is zero before. */
LMDDA_KERNEL(find_sinks)
{
    const bool waits = reduce_row(PROCESS_ROW(ar, BLOCK_INDEX), a.across_resources);
    if (THREAD_INDEX == 0 && !waits)
        put_element_atomic(GPU_POINTER(cell, a.sp), BLOCK_INDEX);
}

/* Deadlock_Check <<<1,1>>>, algorithm 15. */
LMDDA_KERNEL(deadlock_check)
{
    const uint32_t p = a.event.process, q = a.event.resource;
    const cell *sp = GPU_POINTER(const cell, a.sp), *rp = RESOURCE_ROW(rp, q);
    const cell *mask = RESOURCE_ROW(masks, p);
    uint32_t alike = 0;
    for (uint32_t i = 0; i < a.across_processes; i++)
        if ((sp[i] & rp[i]) == mask[i])
            alike++;
    const bool deadlock = alike == a.across_processes;
    FLAG(deadlock) = deadlock;
    if (!deadlock)
        put_element(PROCESS_ROW(ar, p), q);
}

/* Update_RP_Blocked <<<N,IPR>>>, algorithm 16: all that reached the process also reaches what it
 * now waits for. The papers use the number of the bit as its mask. */
LMDDA_KERNEL(blocked)
{
    cell *rp = RESOURCE_ROW(rp, BLOCK_INDEX);
    const cell *more = RESOURCE_ROW(rp, a.event.resource);
    const bool reaches = has_element(rp, a.event.process);
    block_barrier();
    for (uint32_t i = THREAD_INDEX; reaches && i < a.across_processes; i += BLOCK_SIZE)
        rp[i] = (cell)(rp[i] | more[i]);
}

/* Release_Resource <<<1,1>>>, algorithm 17. */
LMDDA_KERNEL(release)
{
    *held_units(&a, a.event.resource, a.event.process) -= 1;
}

/* Find_Waiting_Processes <<<1,IPR>>>, algorithm 18. */
LMDDA_KERNEL(find_waiting)
{
    const bool waited = reduce_row(RESOURCE_ROW(ar_turned, a.event.resource), a.across_processes);
    if (THREAD_INDEX == 0)
        FLAG(waiting) = waited;
}

/* Determine_Release_Type <<<1,1>>>, algorithm 19. */
LMDDA_KERNEL(release_type)
{
    const uint32_t q = a.event.resource, heir = a.event.heir;
    const bool reach = FLAG(waiting) || *held_units(&a, q, a.event.process) == 0;
    FLAG(reach) = reach;
    if (!reach || heir == PUBLISHED_NOBODY)
        return;
    drop_element(PROCESS_ROW(ar, heir), q);
    *held_units(&a, q, heir) += 1;
}

/* InitRP_Reachability <<<N,M>>>, algorithm 20; RP is zero before, which the papers omit. The papers
 * set bits without an atomic, though 32 threads share a word. */
LMDDA_KERNEL(init_reach)
{
    for (uint32_t p = THREAD_INDEX; p < a.processes; p += BLOCK_SIZE)
        if (*held_units(&a, BLOCK_INDEX, p) >= 1)
            put_element_atomic(RESOURCE_ROW(rp, BLOCK_INDEX), p);
}

/* ------------------------------------------------------------------ a hop */

/* A thread keeps the connections of this many processes at a time; the papers keep all, at most
 * 1024. */
#define PIECE 1024u

DEVICE bool rows_meet(const cell *one, const cell *other, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (one[i] & other[i])
            return true;
    return false;
}

/* Is there a p_z such that q_k reaches p_z, which waits for some q_g that reaches p_h? */
DEVICE bool reaches_by_hop(const struct published_lmdda_arguments *l, uint32_t k, uint32_t h)
{
    cell inner[CELLS_FOR(PIECE)]; /* each z that waits for a q_g */
    const cell *turned = row_of(l->rp_turned, h, l->across_resources);
    const cell *rp = row_of(l->rp, k, l->across_processes);
    for (uint32_t first = 0; first < l->processes; first += PIECE) {
        const uint32_t left = l->processes - first, count = left < PIECE ? left : PIECE;
        for (uint32_t i = 0; i < CELLS_FOR(count); i++)
            inner[i] = 0;
        for (uint32_t z = 0; z < count; z++)
            if (rows_meet(row_of(l->ar, first + z, l->across_resources), turned,
                          l->across_resources))
                put_element(inner, z);
        if (rows_meet(rp + CELL_OF(first), inner, CELLS_FOR(count)))
            return true;
    }
    return false;
}

/* Reachability_Computation <<<N,M>>>, algorithm 21: one thread per element of RP. Results go to a
 * copy of RP. The papers start from an empty copy, which loses what was reached before, and
 * overwrite the word of connections where they have to OR. */
LMDDA_KERNEL(hop)
{
    for (uint32_t h = THREAD_INDEX; h < a.processes; h += BLOCK_SIZE)
        if (reaches_by_hop(&a, BLOCK_INDEX, h))
            put_element_atomic(RESOURCE_ROW(rp_after, BLOCK_INDEX), h);
}
