/*
 * `sparse`: the default engine. It keeps no matrices, only a little state in addition to the graph,
 * and chooses its method by the model:
 *
 *   single.c   one-unit resources: follow the chain to its end, beyond a few dozen hops by skip
 *              lists (path.h)
 *   multi.c    several units: for each resource the holder through which a running process was last
 *              reached; try that one first, search if it fails
 *   general.c  requests for several things at once: an order in which all processes can finish,
 *              repaired where a new wait breaks it
 *
 * Each method is a table of hooks. This struct has the state of all three. When the model is
 * raised, the next method builds its state from the graph.
 */
#pragma once

#include "engines/detect/engine/engine.h"
#include "engines/detect/engine/path.h"

/* State for resources of several units. */
struct multi_state {
    uint32_t dead_stamp; /* processes with this .mark can never run again */
    uint32_t search;     /* number of the current search */
    /* By resource, for the search: when it was visited and how it was reached. */
    struct multi_visit {
        uint32_t search;
        uint32_t from;   /* the resource before it on the path */
        uint32_t holder; /* holds `from` and waits for this one */
        uint32_t queue;  /* resources in the order of their visit */
    } * visits;
    size_t visit_room;
};

/* State for requests for several things. Two lists of waiting processes, each with itself as its
 * end: the order, and the dead. */
struct general_links {
    uint32_t next, prev;
};

struct general_state {
    struct general_links *links; /* by process id + 2; 0 and 1 are the ends of the lists */
    size_t link_room;
    uint8_t *dead; /* by process */
    size_t dead_room;
    struct general_units {
        uint64_t blocked; /* held by processes that wait */
        uint64_t dead;    /* held by processes that can never run again */
        uint64_t work;    /* during a walk: what is free */
        uint64_t walk;    /* the walk `work` belongs to */
    } * units;            /* by resource */
    size_t unit_room;
    uint64_t walk;
    bool revive; /* a dead process has ended its wait or exited: others may live again */
};

struct sparse {
    struct rag *graph;
    gordian_allocator memory;
    gordian_model model;
    struct path_index paths;
    struct multi_state multi;
    struct general_state general;
};

extern const struct detect_engine sparse_single, sparse_multi, sparse_general;

gordian_status multi_prepare(struct sparse *sparse, bool rebuild, uint32_t resources,
                             gordian_error *error);
gordian_status general_prepare(struct sparse *sparse, bool rebuild, uint32_t processes,
                               uint32_t resources, gordian_error *error);
