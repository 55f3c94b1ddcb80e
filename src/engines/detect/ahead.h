/*
 * What lies ahead of a process: all processes it waits for, the ones these wait for, and so on,
 * with what they hold. Three questions depend on nothing else: whether the process can ever run
 * again, why not, and which deadlocks it waits behind. So they are put to a small system of these
 * processes alone, and cost as much as lies ahead of the process, not as much as the whole graph.
 */
#pragma once

#include "engines/detect/system.h"
#include "foundation/base/hash.h"

/* Ids that the search met, and their places: ascending once the search has ended. */
struct ahead_ids {
    uint32_t *ids;
    uint32_t count, room;
    struct hash table; /* of places */
};

struct ahead {
    gordian_allocator memory;
    const struct rag *graph;
    struct ahead_ids processes, resources; /* An id of `local` is a place in these lists. */
    gordian_system *local;                 /* of the same model */
};

/* Fails with GORDIAN_STATUS_END if more than `limit` processes lie ahead, the process itself
 * included. On failure there is nothing to close. */
gordian_status ahead_open(struct ahead *ahead, const gordian_system *system, uint32_t process,
                          uint32_t limit, gordian_error *error);
void ahead_close(struct ahead *ahead);

/* gordian_explain on what lies ahead of the process. GORDIAN_STATUS_END: too much lies ahead. */
gordian_status ahead_explain(gordian_system *system, uint32_t process, uint32_t limit,
                             gordian_witness *witness, gordian_error *error);

/* Reports whether this process can never run again. */
gordian_status system_is_dead(gordian_system *system, uint32_t process, bool *dead,
                              gordian_error *error);

/* gordian_recover_one after a request of `process` has closed a deadlock in a system that had none.
 * Every deadlocked process now waits for this one, so only what lies ahead of it is searched. Also
 * fails with GORDIAN_STATUS_END if nothing there is deadlocked. `weigh`: the caller wants the
 * victim's weight; for the policies youngest and oldest this means counting all processes. */
gordian_status system_recover_near(gordian_system *system, gordian_policy policy, uint32_t process,
                                   bool weigh, gordian_victim *victim, gordian_error *error);
