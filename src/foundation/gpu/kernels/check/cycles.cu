/*
 * Single-unit snapshots on the device: finds the processes that lead into a cycle, and lists every
 * cycle in order.
 *
 * Every process leads to at most one other, next[p] = holder[wait[p]]. Following one chain is slow,
 * so a few hundred thousand are followed at a time, and every process is passed once:
 *
 * Chases (cycles_chase). link[x] is next[x] until a chase claims x. From then on it is CHASED | the
 * chase. Claiming is one compare-exchange, which only the first chase can win. A chase starts at an
 * unclaimed process and claims one process after another until it comes to an x that is claimed
 * already, by chase d (maybe itself): it *led into* d. RUNS claims processes that can run from the
 * start. A start whose next process is claimed takes that claim over and needs no chase.
 *
 * Why this is exact. The first one or more processes on the path of a process are claimed by one
 * chase c, the next ones by the chase that c led into, and so on. A start that takes over a claim
 * has the claim of the following process. So a path ends at a running process if and only if its
 * chases lead to RUNS, and goes around a cycle if and only if its chases lead around a *circle*,
 * which is that cycle, cut into one *piece* for each of its chases. Not every process of a cycle
 * can have taken over its claim, because a claim can only be taken over from a process that had it
 * before. The kernel terminates: every step of a thread claims a process or advances in its range.
 * The chases depend on which thread was first; the answer does not.
 *
 * Circles. There are as many chases left as there were threads, times a small factor. Chases whose
 * fate is evident (led into RUNS, or into themselves) are set aside. Chases that no other chase
 * leads into are removed, in a few rounds. On the remaining core, jumps are doubled until they are
 * as long as there are chases: then a chase that has not come to an evident fate is on or before a
 * circle, and has jumped onto it. Jumps of one length permute a circle, so all of it is jumped
 * onto.
 *
 * Order. Pieces are walked once to measure them. Doubling finds the smallest process of every
 * cycle, then how far each piece is from the end of its cycle, if that starts with the piece of the
 * smallest process. A prefix sum over the cycles, by smallest process, gives every piece its place
 * in the lists, and the second walk writes them.
 */
#include "foundation/gpu/kernels/check/cycles.h"
#include "foundation/gpu/language/kernel.h"

#define CHASED (UINT32_C(1) << 31)
/* No process that waits for nothing looks claimed by it. */
#define RUNS (CYCLES_NONE & ~CHASED)

#define INDEX (BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX)

/* ------------------------------------------------------------------ chases */

DEVICE uint32_t follow_edge(const uint32_t *holder, uint32_t resource)
{
    return resource == CYCLES_NONE ? CYCLES_NONE : holder[resource];
}

KERNEL(cycles_follow, struct cycles_follow_arguments)
{
    const uint32_t *wait = GPU_POINTER(const uint32_t, a.wait);
    const uint32_t *holder = GPU_POINTER(const uint32_t, a.holder);
    uint32_t *next = GPU_POINTER(uint32_t, a.next), *link = GPU_POINTER(uint32_t, a.link);
    uint32_t first = INDEX * CYCLES_EACH;
    if (first + CYCLES_EACH <= a.count) {
        uint4 four = *(const uint4 *)(wait + first);
        four.x = follow_edge(holder, four.x);
        four.y = follow_edge(holder, four.y);
        four.z = follow_edge(holder, four.z);
        four.w = follow_edge(holder, four.w);
        *(uint4 *)(next + first) = four;
        *(uint4 *)(link + first) = four;
        return;
    }
    for (uint32_t p = first; p < a.count; p++)
        next[p] = link[p] = follow_edge(holder, wait[p]);
}

struct chaser {
    uint32_t begin, length;  /* its range */
    uint32_t from, scanned;  /* the next process of it to visit; how many were visited */
    uint32_t chase, started; /* the chase under way; how many chases */
    uint32_t x;              /* the process the chase is at */
    bool chasing;
};

/* Visits a process of the range: starts a chase there if no chase has passed it. */
DEVICE void try_start(struct chaser *chaser, uint32_t *link)
{
    uint32_t p = chaser->from;
    chaser->scanned++;
    chaser->from = p + 1 < chaser->begin + chaser->length ? p + 1 : chaser->begin;
    uint32_t v = link[p];
    if (v & CHASED)
        return;
    uint32_t ahead = link[v];
    if (ahead & CHASED) {
        atomic_compare_exchange32(&link[p], v, ahead);
        return;
    }
    uint32_t chase = chaser->begin + chaser->started;
    if (atomic_compare_exchange32(&link[p], v, CHASED | chase) != v)
        return;
    chaser->started++;
    chaser->chase = chase;
    chaser->x = v;
    chaser->chasing = true;
}

/* One step of a chase. */
DEVICE void step_chaser(struct chaser *chaser, uint32_t *link, uint32_t *into, uint32_t *at)
{
    uint32_t x = chaser->x;
    uint32_t v = link[x]; /* may be outdated: the exchange decides */
    if (!(v & CHASED)) {
        uint32_t old = atomic_compare_exchange32(&link[x], v, CHASED | chaser->chase);
        if (old == v) {
            chaser->x = v;
            return;
        }
        v = old;
    }
    into[chaser->chase] = v & ~CHASED;
    at[chaser->chase] = x;
    chaser->chasing = false;
}

/* Ranges are contiguous and searched from a scattered place on, so that neighbours that lead to
 * each other, and other regular orders of ids, still make long chases. A range has no more chases
 * than processes, so its own numbers suffice. */
KERNEL_BOUNDED(cycles_chase, struct cycles_chase_arguments, CYCLES_THREADS, 8)
{
    uint32_t *link = GPU_POINTER(uint32_t, a.link);
    uint32_t *into = GPU_POINTER(uint32_t, a.into), *at = GPU_POINTER(uint32_t, a.at);
    uint64_t begin = (uint64_t)INDEX * a.range;
    if (begin >= a.count)
        return;
    struct chaser chaser;
    chaser.begin = (uint32_t)begin;
    chaser.length = a.count - chaser.begin < a.range ? a.count - chaser.begin : a.range;
    chaser.from = chaser.begin + (INDEX * 2654435769u >> 7) % chaser.length;
    chaser.scanned = chaser.started = chaser.chase = chaser.x = 0;
    chaser.chasing = false;
    while (chaser.chasing || chaser.scanned < chaser.length) {
        if (chaser.chasing)
            step_chaser(&chaser, link, into, at);
        else
            try_start(&chaser, link);
    }
}

/* ------------------------------------------------------------------ fates */

KERNEL(cycles_sort_out, struct cycles_sort_out_arguments)
{
    uint32_t chase = INDEX;
    if (chase >= a.count)
        return;
    uint32_t into = GPU_POINTER(const uint32_t, a.into)[chase];
    uint32_t state = 0;
    if (into == RUNS)
        state = CYCLES_ALIVE;
    else if (into == chase)
        state = CYCLES_DEAD | CYCLES_CIRCLE;
    GPU_POINTER(uint8_t, a.state)[chase] = (uint8_t)state;
    GPU_POINTER(uint8_t, a.flags)[chase] = into != CYCLES_NONE && state == 0;
}

KERNEL(cycles_enter, struct cycles_peel_arguments)
{
    if (INDEX >= a.count)
        return;
    uint32_t chase = GPU_POINTER(const uint32_t, a.list)[INDEX];
    uint32_t into = GPU_POINTER(const uint32_t, a.into)[chase];
    GPU_POINTER(uint8_t, a.entered)[into] = (uint8_t)a.round;
}

KERNEL(cycles_keep, struct cycles_peel_arguments)
{
    if (INDEX >= a.count)
        return;
    uint32_t chase = GPU_POINTER(const uint32_t, a.list)[INDEX];
    GPU_POINTER(uint8_t, a.flags)[INDEX] = GPU_POINTER(const uint8_t, a.entered)[chase] == a.round;
}

KERNEL(cycles_place, struct cycles_jump_arguments)
{
    if (INDEX < a.count)
        GPU_POINTER(uint32_t, a.place)[GPU_POINTER(const uint32_t, a.list)[INDEX]] = INDEX;
}

KERNEL(cycles_jump, struct cycles_jump_arguments)
{
    if (INDEX >= a.count)
        return;
    uint32_t chase = GPU_POINTER(const uint32_t, a.list)[INDEX];
    uint32_t into = GPU_POINTER(const uint32_t, a.into)[chase];
    uint32_t state = GPU_POINTER(const uint8_t, a.state)[into], jump;
    if (state ==
        0) /* a chase that one of the core leads into was entered, so it is in the core as well */
        jump = GPU_POINTER(const uint32_t, a.place)[into];
    else
        jump = state & CYCLES_ALIVE ? CYCLES_TO_ALIVE : CYCLES_TO_DEAD;
    GPU_POINTER(uint32_t, a.jump)[INDEX] = jump;
}

KERNEL(cycles_double, struct cycles_double_arguments)
{
    if (INDEX >= a.count)
        return;
    const uint32_t *from = GPU_POINTER(const uint32_t, a.from);
    uint32_t jump = from[INDEX];
    GPU_POINTER(uint32_t, a.to)[INDEX] = jump >= CYCLES_TO_DEAD ? jump : from[jump];
}

KERNEL(cycles_mark, struct cycles_settle_arguments)
{
    if (INDEX >= a.count)
        return;
    uint32_t jump = GPU_POINTER(const uint32_t, a.jump)[INDEX];
    if (jump < CYCLES_TO_DEAD)
        GPU_POINTER(uint8_t, a.circle)[jump] = 1;
}

KERNEL(cycles_settle, struct cycles_settle_arguments)
{
    if (INDEX >= a.count)
        return;
    uint32_t jump = GPU_POINTER(const uint32_t, a.jump)[INDEX];
    uint32_t state = jump == CYCLES_TO_ALIVE ? CYCLES_ALIVE : CYCLES_DEAD;
    if (GPU_POINTER(const uint8_t, a.circle)[INDEX])
        state |= CYCLES_CIRCLE;
    uint32_t chase = GPU_POINTER(const uint32_t, a.list)[INDEX];
    GPU_POINTER(uint8_t, a.state)[chase] = (uint8_t)state;
}

/* Peeled chases are at most as many steps from the core as there were rounds. */
KERNEL(cycles_resolve, struct cycles_resolve_arguments)
{
    const uint32_t *into = GPU_POINTER(const uint32_t, a.into);
    uint8_t *state = GPU_POINTER(uint8_t, a.state);
    uint32_t chase = INDEX;
    if (chase >= a.count || state[chase] || into[chase] == CYCLES_NONE)
        return;
    uint32_t found = 0;
    while (found == 0) {
        chase = into[chase];
        found = state[chase];
    }
    state[INDEX] = (uint8_t)(found & ~CYCLES_CIRCLE);
}

DEVICE uint32_t is_dead(const uint8_t *state, uint32_t link)
{
    return link != CYCLES_NONE && state[link & ~CHASED] & CYCLES_DEAD;
}

KERNEL(cycles_dead, struct cycles_dead_arguments)
{
    const uint32_t *link = GPU_POINTER(const uint32_t, a.link);
    const uint8_t *state = GPU_POINTER(const uint8_t, a.state);
    uint8_t *flags = GPU_POINTER(uint8_t, a.flags);
    uint32_t first = INDEX * CYCLES_EACH;
    if (first + CYCLES_EACH <= a.count) {
        uint4 four = *(const uint4 *)(link + first);
        *(uint32_t *)(flags + first) = is_dead(state, four.x) | is_dead(state, four.y) << 8 |
                                       is_dead(state, four.z) << 16 | is_dead(state, four.w) << 24;
        return;
    }
    for (uint32_t p = first; p < a.count; p++)
        flags[p] = (uint8_t)is_dead(state, link[p]);
}

/* ------------------------------------------------------------------ cycles */

/* The piece on the chase that was led into starts where they met; on a circle only one chase does
 * so. */
KERNEL(cycles_entry, struct cycles_piece_arguments)
{
    if (INDEX >= a.count)
        return;
    uint32_t chase = GPU_POINTER(const uint32_t, a.list)[INDEX];
    uint32_t into = GPU_POINTER(const uint32_t, a.into)[chase];
    uint32_t follower = GPU_POINTER(const uint32_t, a.place)[into];
    GPU_POINTER(uint32_t, a.follower)[INDEX] = follower;
    GPU_POINTER(uint32_t, a.entry)[follower] = GPU_POINTER(const uint32_t, a.at)[chase];
}

KERNEL(cycles_measure, struct cycles_piece_arguments)
{
    if (INDEX >= a.count)
        return;
    const uint32_t *next = GPU_POINTER(const uint32_t, a.next);
    uint32_t x = GPU_POINTER(const uint32_t, a.entry)[INDEX];
    uint32_t chase = GPU_POINTER(const uint32_t, a.list)[INDEX];
    uint32_t stop = GPU_POINTER(const uint32_t, a.at)[chase];
    uint32_t length = 0, smallest = CYCLES_NONE, smallest_at = 0;
    do {
        if (x < smallest) {
            smallest = x;
            smallest_at = length;
        }
        length++;
        x = next[x];
    } while (x != stop);
    GPU_POINTER(uint32_t, a.length)[INDEX] = length;
    GPU_POINTER(uint32_t, a.smallest)[INDEX] = smallest;
    GPU_POINTER(uint32_t, a.smallest_at)[INDEX] = smallest_at;
}

/* Windows of pieces, twice as long: the smallest process. A piece that follows itself has the same
 * in both buffers from the start. */
KERNEL(cycles_smallest, struct cycles_round_arguments)
{
    uint32_t i = INDEX;
    if (i >= a.count || GPU_POINTER(const uint32_t, a.follower)[i] == i)
        return;
    const uint32_t *jump_from = GPU_POINTER(const uint32_t, a.jump_from);
    const uint32_t *from = GPU_POINTER(const uint32_t, a.value_from);
    uint32_t jump = jump_from[i], mine = from[i], other = from[jump];
    GPU_POINTER(uint32_t, a.value_to)[i] = mine < other ? mine : other;
    GPU_POINTER(uint32_t, a.jump_to)[i] = jump_from[jump];
}

/* Returns the piece with the smallest process of this one's cycle: the one it was claimed by. */
DEVICE uint32_t leader_of(const struct cycles_piece_arguments *a, uint32_t piece)
{
    uint32_t smallest = GPU_POINTER(const uint32_t, a->smallest)[piece];
    uint32_t chase = GPU_POINTER(const uint32_t, a->link)[smallest] & ~CHASED;
    return GPU_POINTER(const uint32_t, a->place)[chase];
}

/* Cuts every circle open before its leader. */
KERNEL(cycles_open, struct cycles_piece_arguments)
{
    uint32_t i = INDEX;
    if (i >= a.count)
        return;
    uint32_t follower = GPU_POINTER(const uint32_t, a.follower)[i], lead = leader_of(&a, i);
    GPU_POINTER(uint32_t, a.jump)[i] = follower == lead ? CYCLES_NONE : follower;
    if (i == lead)
        GPU_POINTER(uint8_t, a.flags)[GPU_POINTER(const uint32_t, a.smallest)[i]] = 1;
}

/* Windows of pieces, twice as long, up to the end of the cycle: the number of processes. */
KERNEL(cycles_rank, struct cycles_round_arguments)
{
    uint32_t i = INDEX;
    if (i >= a.count || GPU_POINTER(const uint32_t, a.follower)[i] == i)
        return;
    const uint32_t *jump_from = GPU_POINTER(const uint32_t, a.jump_from);
    const uint32_t *from = GPU_POINTER(const uint32_t, a.value_from);
    uint32_t jump = jump_from[i], sum = from[i];
    if (jump != CYCLES_NONE) {
        sum += from[jump];
        jump = jump_from[jump];
    }
    GPU_POINTER(uint32_t, a.value_to)[i] = sum;
    GPU_POINTER(uint32_t, a.jump_to)[i] = jump;
}

KERNEL(cycles_lengths, struct cycles_piece_arguments)
{
    if (INDEX >= a.cycles)
        return;
    uint32_t head = GPU_POINTER(const uint32_t, a.heads)[INDEX];
    uint32_t lead =
        GPU_POINTER(const uint32_t, a.place)[GPU_POINTER(const uint32_t, a.link)[head] & ~CHASED];
    GPU_POINTER(uint32_t, a.lengths)[INDEX] = GPU_POINTER(const uint32_t, a.length)[lead];
}

/* `lengths` are sums by now. */
KERNEL(cycles_starts, struct cycles_piece_arguments)
{
    if (INDEX >= a.cycles)
        return;
    uint32_t head = GPU_POINTER(const uint32_t, a.heads)[INDEX];
    uint32_t lead =
        GPU_POINTER(const uint32_t, a.place)[GPU_POINTER(const uint32_t, a.link)[head] & ~CHASED];
    GPU_POINTER(uint32_t, a.start)[lead] = GPU_POINTER(const uint32_t, a.lengths)[INDEX];
}

KERNEL(cycles_write, struct cycles_piece_arguments)
{
    uint32_t i = INDEX;
    if (i >= a.count)
        return;
    const uint32_t *next = GPU_POINTER(const uint32_t, a.next);
    const uint32_t *wait = GPU_POINTER(const uint32_t, a.wait);
    const uint32_t *lengths = GPU_POINTER(const uint32_t, a.length);
    uint32_t lead = leader_of(&a, i), length = lengths[lead];
    uint32_t start = GPU_POINTER(const uint32_t, a.start)[lead];
    uint32_t before = GPU_POINTER(const uint32_t, a.smallest_at)[lead];
    uint32_t place = length - lengths[i]; /* from the start of the leading piece */
    place = place >= before ? place - before : place + length - before;
    uint32_t *processes = GPU_POINTER(uint32_t, a.processes) + start;
    uint32_t *resources = GPU_POINTER(uint32_t, a.resources) + start;
    uint32_t chase = GPU_POINTER(const uint32_t, a.list)[i];
    uint32_t stop = GPU_POINTER(const uint32_t, a.at)[chase];
    uint32_t x = GPU_POINTER(const uint32_t, a.entry)[i];
    do {
        processes[place] = x;
        resources[place] = wait[x];
        place = place + 1 < length ? place + 1 : 0;
        x = next[x];
    } while (x != stop);
}
