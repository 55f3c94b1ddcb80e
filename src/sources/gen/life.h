/* Lives: a system simulated step by step, so that only processes that run act and every event is
 * valid. What a process does next is the rules'; cancels, exits, hand-overs and whether a deadlock
 * stays are the same for all. */
#pragma once

#include "foundation/base/memory.h"
#include "foundation/base/random.h"
#include "sources/gen/gen.h"

/* Processes give back before they hold more edges than this. */
#define LIFE_HELD_MAX  8
#define LIFE_WANTS_MAX 3

struct life;

struct life_rules {
    /* Fills in what a running process does next: a request or a release. */
    void (*next)(struct life *life, uint32_t process, gordian_event *event);
    /* Its pending request was given up (cancel), or it ended and starts anew (exit); or NULL. */
    void (*ended)(struct life *life, uint32_t process, gordian_op op);
};

struct life {
    const struct gen_options *options;
    const struct life_rules *rules;
    void *own; /* the rules' */
    struct gen_sink *sink;
    gordian_error *error;
    gordian_allocator memory;
    gordian_system *system;
    struct random random;
    uint64_t left; /* events still to make */

    uint32_t *order; /* all processes, those that run first */
    uint32_t *place; /* of each process in `order` */
    uint32_t running;

    const uint64_t *units;              /* of each resource */
    gordian_want wants[LIFE_WANTS_MAX]; /* of the event being made */
};

/* Lives from an empty system until the events are made. `units[q]`: of each resource. */
gordian_status life_run(const struct gen_options *options, const struct life_rules *rules,
                        void *own, const uint64_t *units, struct gen_sink *sink,
                        gordian_error *error);

/* What a process holds, by resource; returns how many edges (at most LIFE_HELD_MAX). */
size_t life_holdings(const struct life *life, uint32_t process, gordian_edge *edges);

/* For rules: fill an event in. A release may draw somebody to hand over to. */
void life_request(gordian_event *event, uint32_t process, uint32_t resource, uint64_t units);
void life_release(struct life *life, gordian_event *event, uint32_t process, uint32_t resource,
                  uint64_t units);
