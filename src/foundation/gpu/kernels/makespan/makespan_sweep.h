/*
 * The longest path through an abstract system of warps: arguments of the makespan_sweep.cu kernels.
 *
 * For every run of equal instructions, a state has the number of warps in it and their progress: a
 * local state, by its number (engines/makespan/cuda/tables.h). Runs are in the order of the code. A
 * state has an index: let room(t, r) be the number of states of the runs from r on with at most t
 * warps. Then run r's local state, number l among those with n warps, adds
 *
 *     before[r][t][n] + l * room[r + 1][t - n]        where t warps are left for the runs from r on
 *
 * so for the last run it is the local state's id. The *prefix* of a state is all except its last
 * run. Prefixes are numbered in the same way, and listed sorted by the work left in them, then by
 * the numbers of warps in their runs (their *class*). The states with a given amount of work left
 * are then, for a section of that list, the prefix with each local state of the last run that has
 * just what is missing. Neighbours in the list mostly have the same choices, so a warp does not
 * diverge.
 *
 * A step takes instructions away, exactly as many as fit, so a state's value follows from those of
 * states with less work left: the values of a layer of equal work are computed together.
 */
#pragma once

#include <stdint.h>

#define SWEEP_RUNS    8u   /* at most */
#define SWEEP_UNITS   8u   /* kinds of units, at most */
#define SWEEP_WARPS   255u /* at most */
#define SWEEP_THREADS 256u /* of a block */

/* A transition of a local state: the instructions, the warps that leave, and the local state that
 * remains before others arrive. One word. */
#define SWEEP_OPTION(next, leave) ((uint64_t)(leave) << 32 | (next))
#define SWEEP_NEXT(option)        ((uint32_t)(option))
#define SWEEP_LEAVE(option)       ((uint32_t)((option) >> 32))

/* Addresses of uint32_t unless stated otherwise. Local states of a run are ids, those with fewer
 * warps first. */
struct sweep_run {
    uint64_t base;    /* [warps]: the first id with that many; warps + 2 of them */
    uint64_t warps;   /* [id] */
    uint64_t work;    /* [id]: instructions left, to the end of the string */
    uint64_t first;   /* [id * (most + 2) + k]: the first option with k instructions */
    uint64_t options; /* uint64_t: SWEEP_OPTION */
    uint64_t arrive;  /* [id * (comers + 1) + a]: the id after a more warps have arrived */
    uint32_t most;    /* instructions of this run in a cycle */
    uint32_t comers;  /* warps that arrive in a cycle */
    uint32_t shift;   /* of its unit in words of eight bytes, one for every unit */
    uint32_t unused;
};

struct sweep_system {
    struct sweep_run runs[SWEEP_RUNS];
    uint64_t room;                       /* uint64_t [r * (warps + 1) + t] */
    uint64_t before;                     /* uint64_t [(r * (warps + 1) + t) * (warps + 1) + n] */
    uint64_t prefix_room, prefix_before; /* the same for prefixes */
    uint64_t class_before;               /* the same for the numbers of warps alone */
    uint64_t classes;                    /* of prefixes */
    uint64_t capacity;                   /* of every unit: a byte each */
    uint32_t run_count, unit_count;
    uint32_t warps;
    uint32_t schedulers; /* instructions in a cycle, of all units */
};

/* makespan_weigh: counts the prefixes by work and class, with classes grouped into buckets.
 * makespan_place: lists them, sorted; `counts` are then the places of the next ones. */
struct sweep_sort_arguments {
    struct sweep_system system;
    uint64_t counts; /* uint32_t [work * buckets + bucket] */
    uint64_t list;   /* uint32_t */
    uint32_t prefixes, buckets;
};

/* makespan_layer, and for at most four runs makespan_layer4: the values of all states with `work`
 * left. `lanes` threads share a prefix. */
struct sweep_layer_arguments {
    struct sweep_system system;
    uint64_t list;        /* uint32_t: prefixes */
    uint64_t last_states; /* uint32_t: ids of the last run, by work, then warps */
    uint64_t last_first;  /* uint32_t, by work: where they begin */
    uint64_t last_count;  /* uint32_t [work * (warps + 1) + t]: how many have at most t warps */
    uint64_t values;      /* by index, of one byte or two */
    uint64_t overflow;    /* uint32_t: set if a value does not fit */
    uint32_t first, last; /* the section of the list */
    uint32_t work;
    uint32_t lanes; /* a power of two, 32 at most */
    uint32_t wide;  /* values have two bytes */
    uint32_t least; /* the shortest path instead of the longest */
};
