/*
 * Long chains of waiting processes, followed in logarithmic time.
 *
 * In a single-unit system every waiting process waits for one other, so what lies ahead of
 * it is a path, ending in a process that runs, or in one that closed a deadlock. A pointer from
 * a process to a waiting one further along stays true while that one is still in the same wait and
 * nobody between them has given up: a wait that is served ends only after everything ahead of it
 * has ended, so the path ahead of a waiting process changes at its far end, or where a wait is
 * given up. The target has a stamp, the pointer a copy of it; whatever makes pointers to a target
 * wrong moves its stamp on.
 *
 * Every process has a height, by its id: at least k with probability 4^-(k+1), so most
 * have none. One of height k has a tower of pointers on the levels 1..k, each to the tower of the
 * next process ahead that reaches that level: a skip list lying along every path. Towers are packed
 * together, so a walk touches little else. Pointers are set by whoever walks past,
 * and, where a path grows at its far end and nobody walks, by the process that
 * joins it (path_join). They are only a shortcut: without memory for them the walk goes
 * hop by hop.
 *
 * Giving up in the middle. X stops waiting; which pointers fly over it? One of level k leads to the
 * first process ahead of its owner that reaches k. If it flies over X, X does not reach k, and
 * nobody between X and its target does, so the target is T(k), the first process ahead of X that
 * reaches k, for some k above X's height. Each T(k) is higher than everybody between X and
 * itself. So one walk ahead from X meets them all (no pointer leads over one, since
 * everybody it flies over is lower than its own owner, who is no higher than the last T met), and
 * moves the stamp of each on: there are about as many as there are levels, and what else their
 * stamps made wrong is found again by the next walk. The walk ends where paths end; nothing leads
 * to or over a process that closed a deadlock, so what lies beyond it does not matter.
 */
#pragma once

#include "engines/rag/rag.h"

#define PATH_LEVELS 12

/* Chains up to this length are just followed. */
#define PATH_SHORT 32

/* As a process's .mark: it closed a deadlock; walks end there. */
#define PATH_CLOSING UINT32_MAX

/* Another tower, as it was when the pointer was set. */
struct path_pointer {
    uint32_t tower; /* where in the index; NONE: no pointer */
    uint32_t stamp; /* the pointer is true while that tower has this stamp */
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
    uint32_t *towers; /* one after another; .path of a process says where its own starts */
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

/* Has it any height? Only one in sixteen. */
static inline bool path_has_height(uint32_t process)
{
    return (path_mix(process) & 15) == 0;
}

/* The plain way, as far as it is short: does the path from `at` end in a running process
 * before `stop` comes up? */
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

/* Who holds what `process`, which waits, waits for. */
static inline uint32_t path_next(const struct rag *graph, uint32_t process)
{
    return graph->holder[graph->wait[process]];
}

/* Where the path from the waiting process `from` ends: a running process, one
 * that closed a deadlock, or `stop`. */
uint32_t path_end(struct path_index *index, uint32_t from, uint32_t stop);

/* `process`, of some height, has begun to wait: who waits behind it learns of it. */
void path_join(struct path_index *index, uint32_t process);

/* The wait of `process` is over: no pointer may lead to it. */
void path_forget(struct path_index *index, uint32_t process);

/* `process`, which others wait for and which closed no deadlock, is about to give up: no pointer
 * may lead over it. Before the mark of a deadlock it is part of is taken away. */
void path_break(struct path_index *index, uint32_t process);
