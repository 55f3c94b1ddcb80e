/*
 * What lies ahead of a process: everybody it waits for, who they wait for, and so on, with what
 * these hold of it. Whether the process can ever run again, why not, and which deadlocks it waits
 * behind depends on nothing else; so such questions can be put to a small system of these alone,
 * and cost what lies ahead of the process instead of what there is.
 */
#pragma once

#include "engines/detect/system.h"
#include "foundation/base/hash.h"

/* Ids that were met, and their places: ascending once all are there. */
struct ahead_ids {
    uint32_t *ids;
    uint32_t count, room;
    struct hash table; /* of places */
};

struct ahead {
    gordian_allocator memory;
    const struct rag *graph;
    struct ahead_ids processes, resources; /* an id of `local` is a place in these */
    gordian_system *local;                 /* of the same model */
};

/* GORDIAN_STATUS_END: more than `limit` processes lie ahead, it included. On failure nothing is
 * left to be closed. */
gordian_status ahead_open(struct ahead *ahead, const gordian_system *system, uint32_t process,
                          uint32_t limit, gordian_error *error);
void ahead_close(struct ahead *ahead);

/* gordian_explain by what lies ahead; GORDIAN_STATUS_END: too much does. */
gordian_status ahead_explain(gordian_system *system, uint32_t process, uint32_t limit,
                             gordian_witness *witness, gordian_error *error);

/* Can this process never run again? */
gordian_status system_is_dead(gordian_system *system, uint32_t process, bool *dead,
                              gordian_error *error);

/* gordian_recover_one after a request of `process` has closed a deadlock in a system that had none:
 * whatever is deadlocked now waits for this process, so that only what lies ahead of it is looked
 * at. GORDIAN_STATUS_END also if nobody is deadlocked there. `weigh`: the victim's weight is
 * wanted, which for the youngest and the oldest means to count all processes. */
gordian_status system_recover_near(gordian_system *system, gordian_policy policy, uint32_t process,
                                   bool weigh, gordian_victim *victim, gordian_error *error);
