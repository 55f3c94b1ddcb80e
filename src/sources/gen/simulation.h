/* Simulates a system step by step, so that every event is valid: only processes that run act. The
 * rules of a kind choose what a process does next. Cancels, exits, hand-overs and the handling of
 * deadlocks are common to all kinds. */
#pragma once

#include "foundation/base/memory.h"
#include "foundation/base/random.h"
#include "sources/gen/gen.h"

/* Processes release resources before they hold more edges than this. */
#define SIMULATION_HELD_MAX  8
#define SIMULATION_WANTS_MAX 3

struct simulation;

struct simulation_rules {
    /* Chooses the next event of a running process: a request or a release. */
    void (*next)(struct simulation *sim, uint32_t process, gordian_event *event);
    /* The pending request of a process was cancelled, or the process exited and starts again. May
     * be NULL. */
    void (*ended)(struct simulation *sim, uint32_t process, gordian_op op);
};

struct simulation {
    const struct gen_options *options;
    const struct simulation_rules *rules;
    void *own; /* data of the rules */
    struct gen_sink *sink;
    gordian_error *error;
    gordian_allocator memory;
    gordian_system *system;
    struct random random;
    uint64_t left; /* events still to emit */

    uint32_t *order; /* all processes, the running ones first */
    uint32_t *place; /* by process: its place in `order` */
    uint32_t running;

    const uint64_t *units;                    /* by resource */
    gordian_want wants[SIMULATION_WANTS_MAX]; /* of the current event */
};

/* Simulates from an empty system until all events are emitted. `units[q]`: the units of resource
 * q. */
gordian_status simulation_run(const struct gen_options *options,
                              const struct simulation_rules *rules, void *own,
                              const uint64_t *units, struct gen_sink *sink, gordian_error *error);

/* Lists what a process holds, by resource. Returns the number of edges, at most
 * SIMULATION_HELD_MAX. */
size_t simulation_holdings(const struct simulation *sim, uint32_t process, gordian_edge *edges);

/* Fill in an event. A release may choose a waiter for a hand-over. */
void simulation_request(gordian_event *event, uint32_t process, uint32_t resource, uint64_t units);
void simulation_release(struct simulation *sim, gordian_event *event, uint32_t process,
                        uint32_t resource, uint64_t units);
