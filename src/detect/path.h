/*
 * Long chains of waiting processes, followed in logarithmic time.
 *
 * In a single-unit system every waiting process waits for one other, so what lies ahead of
 * it is a path, ending in a process that runs, or in one that closed a deadlock. The path
 * ahead of a waiting process changes only at its far end, except when a wait is
 * given up in the middle. So a pointer from a process to a waiting one further
 * along stays true while that one is still in the same wait (a stamp tells) and
 * nothing was given up between them (a common epoch tells).
 *
 * Every process has a height, by its id: at least k with probability 4^-k. One of
 * height k has a tower of pointers on the levels 1..k, each to the tower of the next process
 * ahead that reaches that level: a skip list lying along every path. Towers are packed
 * together, so a walk touches little else. Pointers are set by whoever walks past,
 * and, where a path grows at its far end and nobody walks, by the process that
 * joins it (path_join). They are only a shortcut: without memory for them the walk goes
 * hop by hop.
 */
#ifndef GORDIAN_DETECT_PATH_H
#define GORDIAN_DETECT_PATH_H

#include "rag/rag.h"

#define PATH_LEVELS 12

/* Chains up to this length are just followed. */
#define PATH_SHORT 32

/* In .depth: this process closed a deadlock; the walk ends here. */
#define PATH_CLOSING UINT32_MAX

struct path_index {
    struct rag *graph;
    uint32_t epoch;
    uint32_t *towers; /* one after another; .path of a process says where its own starts */
    uint32_t tower_used, tower_room;
};

void path_init(struct path_index *index, struct rag *graph);
void path_free(struct path_index *index);

/* Where the path from the waiting process `from` ends: a running process, one
 * that closed a deadlock, or `stop`. *last is a process before it. */
uint32_t path_end(struct path_index *index, uint32_t from, uint32_t stop, uint32_t *last);

/* `process`, which has a long path behind it (through .back), has begun to wait. */
void path_join(struct path_index *index, uint32_t process);

/* The wait of `process` is over, or walks are to end there: no pointer may lead to it. */
void path_forget(struct path_index *index, uint32_t process);

/* A wait in the middle of paths is given up: every pointer may be wrong. */
void path_break(struct path_index *index);

#endif
