/* Single-unit snapshots: arguments of the kernels in cycles.cu, which explains them. */
#pragma once

#include <stdint.h>

#define CYCLES_THREADS 256u
#define CYCLES_EACH    4u /* elements of a thread in cycles_follow and cycles_dead */

/* Bits of a chase's state; zero: unknown so far, or there is no such chase. */
#define CYCLES_ALIVE  1u
#define CYCLES_DEAD   2u
#define CYCLES_CIRCLE 4u /* and on a circle of chases */

#define CYCLES_NONE UINT32_C(0xffffffff)

/* Ends of jumps that are no chase. */
#define CYCLES_TO_ALIVE UINT32_C(0xffffffff)
#define CYCLES_TO_DEAD  UINT32_C(0xfffffffe)

/* All arrays are of uint32_t unless stated otherwise. */
struct cycles_follow_arguments {
    uint64_t wait;   /* by process */
    uint64_t holder; /* by resource */
    uint64_t next;   /* by process: the process it waits for; NONE */
    uint64_t link;   /* the same, for the chases */
    uint32_t count;  /* processes */
};

struct cycles_chase_arguments {
    uint64_t link;  /* by process; becomes CHASED | its chase */
    uint64_t into;  /* by chase: the chase it led into; NONE beforehand */
    uint64_t at;    /* by chase: the process where it met that */
    uint32_t count; /* processes */
    uint32_t range; /* processes for each thread */
};

struct cycles_sort_out_arguments {
    uint64_t into;
    uint64_t state; /* uint8_t, by chase */
    uint64_t flags; /* uint8_t, by chase: its fate is still unknown */
    uint32_t count; /* processes, hence possible chases */
};

/* For cycles_enter and cycles_keep. */
struct cycles_peel_arguments {
    uint64_t into;
    uint64_t list;    /* chases */
    uint64_t entered; /* uint8_t, by chase: the last round in which one of the list led into it */
    uint64_t flags;   /* uint8_t, by place in the list: a chase leads into it */
    uint32_t count;   /* of the list */
    uint32_t round;
};

/* For cycles_place, which fills `place`, and cycles_jump. */
struct cycles_jump_arguments {
    uint64_t into, state, list;
    uint64_t place; /* by chase: its place in the list */
    uint64_t jump;  /* by place in the list: the place it leads to, or CYCLES_TO_... */
    uint32_t count; /* of the list */
};

struct cycles_double_arguments {
    uint64_t from, to; /* jumps: to[i] = from[from[i]] */
    uint32_t count;
};

/* For cycles_mark, which fills `circle`, and cycles_settle. */
struct cycles_settle_arguments {
    uint64_t jump, list, state;
    uint64_t circle; /* uint8_t, by place in the list; zero beforehand */
    uint32_t count;
};

struct cycles_resolve_arguments {
    uint64_t into, state;
    uint32_t count; /* possible chases */
};

struct cycles_dead_arguments {
    uint64_t link, state;
    uint64_t flags; /* uint8_t, by process */
    uint32_t count; /* processes */
};

/* For all kernels from cycles_entry on. A piece is the part of a cycle that a chase has. */
struct cycles_piece_arguments {
    uint64_t wait, next, link; /* by process */
    uint64_t into, at;         /* by chase */
    uint64_t place;            /* by chase: its piece */
    uint64_t list;             /* by piece: its chase */
    uint64_t entry;            /* by piece: its first process */
    uint64_t follower;         /* by piece: the next piece */
    uint64_t smallest_at;      /* by piece: processes before its smallest one */
    uint64_t smallest;         /* by piece: the smallest process of it, later of its cycle */
    uint64_t length;           /* by piece: its processes, later those up to the cycle's end */
    uint64_t jump;             /* by piece */
    uint64_t start;            /* by leading piece: where the cycle starts in the lists */
    uint64_t flags;            /* uint8_t, by process: the smallest of a cycle */
    uint64_t heads;            /* by cycle: its smallest process */
    uint64_t lengths;          /* by cycle: its length, later the sum of the earlier ones */
    uint64_t processes, resources;
    uint32_t count;  /* pieces */
    uint32_t cycles; /* cycles */
};

/* A round of doubling along the pieces, for cycles_smallest and cycles_rank. */
struct cycles_round_arguments {
    uint64_t follower;
    uint64_t jump_from, jump_to;
    uint64_t value_from, value_to;
    uint32_t count;
};
