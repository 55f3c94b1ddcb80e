/* Who waits behind a deadlock: the processes outside it that wait, at some remove, for what its
 * members hold, and that can never be served for it. */
#pragma once

#include <gordian/gordian.h>

struct followers {
    uint32_t *found; /* the deadlock's members, then who waits behind them */
    size_t count, room;
    size_t members;

    /* When a process or resource was last met: equal to `round` means in this search, so that
     * nothing has to be cleared. */
    uint32_t *process_met, *resource_met, *process_stuck;
    size_t process_room, resource_room, stuck_room;
    uint32_t round;

    gordian_edge *held, *waiting; /* of the process and the resource being looked at */
    size_t held_room, waiting_room;
};

/* Fills `found` for the deadlock of the witness. */
gordian_status followers_find(struct followers *followers, gordian_system *system,
                              const gordian_witness *witness, gordian_error *error);
void followers_free(struct followers *followers);
