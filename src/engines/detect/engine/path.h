/*
 * Skip lists along paths: follow long chains of waiting processes in logarithmic time.
 *
 * In a single-unit system every waiting process waits for one other, so a path lies ahead of it.
 * The path ends in a running process or in one that closed a deadlock. A pointer leads from a
 * process to a waiting one further along. It stays valid while the target is in the same wait and
 * no process between them has ended its wait early: a wait is served only after everything ahead of
 * it has ended, so the path ahead of a waiting process changes only at its far end, or where a
 * process ends its wait early. The target has a stamp and the pointer a copy of it. Whatever
 * invalidates the pointers to a target increments its stamp.
 *
 * Every process has a height, computed from its id: at least k with probability 4^-(k+1), so most
 * have height 0. A process of height k has a tower of pointers on the levels 1..k, each to the
 * tower of the next process ahead that reaches that level: a skip list along every path. Towers are
 * stored together, so a walk touches little else. Walks set the pointers they pass. Where a path
 * grows at its far end and no walk passes, the process that joins it sets them (path_join).
 * Pointers are only a shortcut: without memory for them a walk goes from process to process.
 *
 * Ending a wait in the middle. X stops waiting; which pointers lead over it? A pointer of level k
 * leads to the first process ahead of its owner that reaches k. If it leads over X, neither X nor
 * any process between X and its target reaches k. So the target is T(k), the first process ahead of
 * X that reaches k, for some k above X's height. Each T(k) is higher than all processes between X
 * and itself. So one walk ahead from X meets them all: no pointer leads over one of them, because
 * the processes it leads over are lower than its owner, which is no higher than the last T met. The
 * walk increments the stamp of each T. There are about as many as there are levels, and the next
 * walk restores other pointers that this invalidated. The walk ends where paths end. Nothing leads
 * to or over a process that closed a deadlock, so what lies beyond it does not matter.
 */
#pragma once

#include "engines/rag/rag.h"

#define PATH_LEVELS 12

/* Chains up to this length are followed without pointers. */
#define PATH_SHORT 32

/* Value of a process's .mark: the process closed a deadlock, and walks end there. */
#define PATH_CLOSING UINT32_MAX

/* A pointer to another tower, as that was when the pointer was set. */
struct path_pointer {
    uint32_t tower; /* where in the index; NONE: no pointer */
    uint32_t stamp; /* the pointer is valid while that tower has this stamp */
};

struct path_tower {
    uint32_t owner;
    uint32_t stamp;
    struct path_pointer levels[]; /* as many as the owner's height */
};

#define PATH_TOWER_WORDS(height) (2 + 2 * (height))

struct path_index {
    struct rag *graph;
    uint32_t closing; /* how many processes are marked PATH_CLOSING */
    uint32_t *towers; /* stored one after another; .path of a process is the offset of its tower */
    uint32_t tower_used, tower_room;
};

void path_init(struct path_index *index, struct rag *graph);
void path_free(struct path_index *index);

static inline uint64_t path_mix(uint32_t process)
{
    uint64_t mixed = (process + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
    return (mixed ^ mixed >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 32;
}

static inline uint32_t path_height(uint32_t process)
{
    uint64_t mixed = path_mix(process) | UINT64_C(1) << (2 * PATH_LEVELS + 3);
    uint32_t pairs = (uint32_t)__builtin_ctzll(mixed) / 2;
    return pairs ? pairs - 1 : 0;
}

/* Returns whether the process has a height above 0. One in sixteen has. */
static inline bool path_has_height(uint32_t process)
{
    return (path_mix(process) & 15) == 0;
}

/* Follows a short path without pointers: returns whether the path from `at` ends in a running
 * process before it meets `stop`. */
static inline bool path_is_short(const uint32_t *wait, const uint32_t *holder, uint32_t at,
                                 uint32_t stop)
{
    for (uint32_t hops = 0; hops < PATH_SHORT; hops++) {
        if (wait[at] == NONE)
            return true;
        at = holder[wait[at]];
        if (at == stop)
            return false;
    }
    return false;
}

/* Returns the holder of what the waiting process waits for. */
static inline uint32_t path_next(const struct rag *graph, uint32_t process)
{
    return graph->holder[graph->wait[process]];
}

/* Returns the end of the path from the waiting process `from`: a running process, one that closed a
 * deadlock, or `stop`. */
uint32_t path_end(struct path_index *index, uint32_t from, uint32_t stop);

/* `process`, of some height, has begun to wait: updates the pointers of the processes that wait
 * behind it. */
void path_join(struct path_index *index, uint32_t process);

/* The wait of `process` has ended: no pointer may lead to it. */
void path_forget(struct path_index *index, uint32_t process);

/* `process` is about to end its wait: no pointer may lead over it. Other processes wait for it, and
 * it closed no deadlock. Call this before the mark of its deadlock is cleared. */
void path_break(struct path_index *index, uint32_t process);
