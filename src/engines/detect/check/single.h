/* Shared by single.c, which explains how single-unit snapshots are checked, and single_cycles.c,
 * which assembles the cycles. */
#pragma once

#include "engines/detect/check/snapshot.h"
#include "foundation/base/threads/thread_pool.h"

#define CHASED (UINT32_C(1) << 31) /* next[p] is the number of a chase, not of a process */
#define RUNS   0                   /* the chase of the processes that can run: it ends at once */

#define LANES 32 /* chains followed at a time: enough to keep every miss buffer of a core busy */

struct chase {
    uint32_t into;   /* the chase it led into */
    uint32_t at;     /* the process where they met */
    uint32_t length; /* processes that it passed */
};

/* Chases are stored in blocks, so that each member can fill a block of its own. */
#define CHASE_BITS  12
#define CHASE_BLOCK (1u << CHASE_BITS)

/* A piece of a cycle: from `start` until before `stop`. */
struct piece {
    uint32_t start, stop;
    uint32_t *processes; /* capacity: the processes that the chase passed */
    uint32_t *resources; /* what they wait for */
    uint32_t count;
};

struct cycle {
    size_t first_piece, piece_count;
    uint32_t smallest;  /* process */
    size_t smallest_at; /* processes before it */
    size_t length;
};

/* Numbers of chases. */
struct chase_list {
    uint32_t *chases;
    size_t count, room;
};

/* A member's own data. */
struct share {
    struct chase *block;        /* being filled */
    uint32_t chase, block_end;  /* the next number in the block, and the end of its numbers */
    uint32_t from, until;       /* processes that it searches for starting points */
    struct chase_list circular; /* a chase of every cycle it found */
    struct chase_list deferred; /* first chases of walks that met another member's */
    size_t dead;          /* dead processes that it found; later: dead processes before its own */
    size_t parts, length; /* cycles and their processes; later: those before its own */
    bool no_memory;
    char apart[128]; /* no two members write to the same cache line */
};

struct single {
    const gordian_snapshot *snapshot;
    const gordian_allocator *memory;
    struct thread_group group;
    struct share *shares; /* by member */

    uint32_t *next;
    struct chase **blocks;
    uint32_t block_count, chase_count;
    uint8_t *fates; /* of chases */
    uint64_t *dead; /* a bit for every chase */

    struct chase_list circular;
    struct cycle *cycles;
    struct piece *pieces;
    size_t piece_count, piece_room;
    uint32_t *walked; /* the pieces' processes and resources */
    struct check_result *result;
};

static inline struct chase *single_chase(const struct single *single, uint32_t number)
{
    return &single->blocks[number >> CHASE_BITS][number % CHASE_BLOCK];
}

/* All members do it. Returns false if one of them ran out of memory. */
bool single_do(struct single *single, void (*work)(void *single, unsigned member));

/* Lists the cycles. The dead must be listed, with next[] NONE. */
bool single_list_cycles(struct single *single);
