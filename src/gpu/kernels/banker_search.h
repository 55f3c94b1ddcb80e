/*
 * A search by one block: Holt's way, for when few are freed at a time.
 *
 * Every thread has a column, a resource (or several), and in it a pointer into the resource's
 * order: those before it need no more than `work`. Every process has a count of the resources
 * it is short of. When somebody gives back what it holds, each thread adds its part, moves
 * its pointer on as far as `work` now reaches, and takes one off the count of everybody passed; a
 * count that gets to nothing puts its process into the queue. All who are in the queue at once
 * are one *level*, the same as a round of the whole grid; a level costs one barrier of the block,
 * and every cell is met once in all.
 *
 * Latency is everything here: who is freed next is known only at the end of a level, and
 * then the way to memory for the row it holds is the longest part. So a thread's own
 * column stays in registers, with the next two entries of the order fetched ahead, and the counts
 * are in shared memory where they fit. Whoever is freed was passed just now, in some columns: these
 * have fetched what it holds when it came next, a level before they knew.
 */
#ifndef GORDIAN_GPU_KERNELS_BANKER_SEARCH_H
#define GORDIAN_GPU_KERNELS_BANKER_SEARCH_H

#include "gpu/kernels/banker_rounds.h"

/* The first of a level are passed on in shared memory. (Few in the emulator, so that the tests see
 * the others.) */
#ifdef __CUDACC__
#define RING 128u
#else
#define RING 2u
#endif

#define OWN_FITS 0x80000000u /* in `freed`: the process in question is among them */

struct column {
    unit work;
    uint32_t pointer;
    entry next, after; /* at the pointer, and behind it */
    unit next_held;    /* what the process at the pointer holds */
    uint32_t passed;   /* the process passed last, and what it holds */
    unit passed_held;
};

/* What the host sets aside for one. */
typedef char column_fits[sizeof(struct column) <= BANKER_COLUMN_BYTES ? 1 : -1];

struct search {
    const banker *a;
    uint32_t process; /* in question; BANKER_NONE: nobody */
    const unit *own;  /* what it needs */
    bool record;      /* rounds */
    uint32_t round;   /* of those freed now */

    uint32_t *queue;
    uint32_t head, count; /* of the queue: this level */
    uint32_t level;

    struct column *columns;
    uint32_t *counts; /* where they are not in shared memory */
    /* In shared memory: */
    uint32_t *small_counts, *ring;
    uint32_t *freed;     /* by level, mod 3 */
    uint32_t *own_short; /* [0]: resources the process in question is short of */
};

/* ------------------------------------------------------------------ counts */

/* Takes `less` off the count; was that all? */
DEVICE bool count_down(const struct search *s, uint32_t process, uint32_t less)
{
    if (s->a->small_counts) {
        uint32_t shift = process % 2 * 16;
        uint32_t old = atomic_add32(&s->small_counts[process / 2], 0u - (less << shift));
        return (old >> shift & 0xffffu) == less;
    }
    return atomic_add32(&s->counts[process], 0u - less) == less;
}

/* By the block: a search's own counts, with the process in question out of reach. */
DEVICE void copy_counts(const struct search *s)
{
    const banker *a = s->a;
    const uint32_t *from = GPU_POINTER(const uint32_t, a->counts);
    uint32_t out_of_reach = a->resources + 1;
    if (a->small_counts) {
        for (uint32_t i = 2 * THREAD_INDEX; i < a->processes; i += 2 * BLOCK_SIZE) {
            uint32_t low = i == s->process ? out_of_reach : from[i], high = 0;
            if (i + 1 < a->processes)
                high = i + 1 == s->process ? out_of_reach : from[i + 1];
            s->small_counts[i / 2] = high << 16 | low;
        }
    } else if (s->counts != from) {
        for (uint32_t i = THREAD_INDEX; i < a->processes; i += BLOCK_SIZE)
            s->counts[i] = i == s->process ? out_of_reach : from[i];
    }
}

/* ------------------------------------------------------------------ a level */

DEVICE void retire(const struct search *s, uint32_t process, uint32_t flag)
{
    uint32_t place = atomic_add32(&s->freed[s->level % 3], 1 + flag) & ~OWN_FITS;
    if (place < RING)
        s->ring[(s->level + 1) % 2 * RING + place] = process;
    s->queue[s->head + s->count + place] = process;
    if (s->record)
        finish_round(s->a)[process] = s->round;
}

/* What the process at the pointer holds; past the end of the order, nothing that matters. */
DEVICE unit next_held(const struct search *s, const struct column *c, uint32_t resource)
{
    uint64_t process = entry_process(c->next);
    if (process >= s->a->processes)
        return 0;
    return GPU_POINTER(const unit, s->a->held)[process * s->a->stride + resource];
}

/* Moves the pointer as far as `work` reaches. Lanes often pass the same process together: the
 * first of them counts for all. By a warp. */
DEVICE void advance(const struct search *s, struct column *c, uint32_t resource, bool there)
{
    const entry *order =
        GPU_POINTER(const entry, s->a->order) + (uint64_t)resource * s->a->process_room;
    for (;;) {
        bool due = there && c->pointer < s->a->process_room && entry_need(c->next) <= c->work;
        uint32_t lanes = warp_ballot(WARP_ALL, due);
        if (!lanes)
            return;
        uint32_t process = entry_process(c->next);
        if (due) {
            c->pointer++;
            c->passed = process;
            c->passed_held = c->next_held;
            c->next = c->after;
            c->after = order[(uint64_t)c->pointer + 1];
            c->next_held = next_held(s, c, resource);
        }
        uint32_t first = find_first32(lanes);
        uint32_t common = warp_shuffle(WARP_ALL, process, first);
        uint32_t same = warp_ballot(WARP_ALL, due && process == common);
        if (due && (process != common || LANE == first) &&
            count_down(s, process, process == common ? popcount32(same) : 1))
            retire(s, process, 0);
    }
}

/* What the member of this level gives back of the column's resource: known already, if it was the
 * last one passed here. */
DEVICE unit column_gain(const struct search *s, const struct column *c, uint32_t process,
                        uint32_t resource)
{
    if (process == c->passed && process != s->a->process)
        return c->passed_held;
    return given_by(s->a, process, resource);
}

DEVICE uint32_t level_member(const struct search *s, uint32_t i)
{
    return i < RING ? s->ring[s->level % 2 * RING + i] : s->queue[s->head + i];
}

/* Is the process in question short of one resource less? By a warp. */
DEVICE void meet_own(const struct search *s, uint32_t resource, bool there, unit before, unit now)
{
    unit need = there ? s->own[resource] : 0;
    uint32_t met = popcount32(warp_ballot(WARP_ALL, need > before && need <= now));
    if (met && LANE == 0 && atomic_add32(s->own_short, 0u - met) == met)
        retire(s, s->process, OWN_FITS);
}

/* A level, in one column of each lane. By a warp; `there`: the lane has one. */
DEVICE void pass_level(const struct search *s, struct column *c, uint32_t resource, bool there)
{
    unit before = c->work;
    if (there) {
        UNROLL_BY4
        for (uint32_t i = 0; i < s->count; i++)
            c->work += column_gain(s, c, level_member(s, i), resource);
    }
    if (s->process != BANKER_NONE)
        meet_own(s, resource, there, before, c->work);
    advance(s, c, resource, there);
}

/* ------------------------------------------------------------------ from start to end */

DEVICE struct column open_column(const struct search *s, uint32_t resource, const unit *start)
{
    struct column c;
    const entry *order =
        GPU_POINTER(const entry, s->a->order) + (uint64_t)resource * s->a->process_room;
    c.work = start[resource];
    c.pointer = GPU_POINTER(const uint32_t, s->a->pointer)[resource];
    c.next = order[c.pointer];
    c.after = order[(uint64_t)c.pointer + 1];
    c.next_held = next_held(s, &c, resource);
    c.passed = BANKER_NONE;
    c.passed_held = 0;
    return c;
}

/* By the block: counts, columns, and by how much the process in question is short. */
DEVICE void open_search(struct search *s, const unit *start, struct column *home)
{
    const banker *a = s->a;
    uint32_t lacking = 0;
    copy_counts(s);
    for (uint32_t base = 0; base < a->resources; base += BLOCK_SIZE) {
        uint32_t resource = base + THREAD_INDEX;
        bool there = resource < a->resources;
        if (there && base == 0)
            *home = open_column(s, resource, start);
        else if (there)
            s->columns[resource] = open_column(s, resource, start);
        if (s->process != BANKER_NONE)
            lacking += block_count(there && s->own[resource] > start[resource]);
    }
    for (uint32_t i = THREAD_INDEX; i < s->count && i < RING; i += BLOCK_SIZE)
        s->ring[i] = s->queue[s->head + i];
    if (THREAD_INDEX < 3)
        s->freed[THREAD_INDEX] = 0;
    if (THREAD_INDEX == 0)
        s->own_short[0] = lacking;
    s->level = 0;
    block_barrier();
}

/* Levels until nobody is freed, or more than `most` at once, or (`stop`) the process in question
 * fits, which is what comes back. By a block. */
DEVICE bool run_search(struct search *s, struct column *home, uint32_t most, bool stop)
{
    const banker *a = s->a;
    for (;;) {
        if (THREAD_INDEX == 0) /* read for the last time two barriers ago */
            s->freed[(s->level + 1) % 3] = 0;
        pass_level(s, home, THREAD_INDEX, THREAD_INDEX < a->resources);
        for (uint32_t base = BLOCK_SIZE; base < a->resources; base += BLOCK_SIZE) {
            uint32_t resource = base + THREAD_INDEX;
            bool there = resource < a->resources;
            struct column c = {0};
            if (there)
                c = s->columns[resource];
            pass_level(s, &c, resource, there);
            if (there)
                s->columns[resource] = c;
        }
        block_barrier();
        uint32_t freed = s->freed[s->level % 3];
        s->head += s->count;
        s->count = freed & ~OWN_FITS;
        s->level++;
        s->round++;
        if (stop && (freed & OWN_FITS))
            return true;
        if (s->count == 0 || s->count > most)
            return false;
    }
}

#endif
