/* Followers of a deadlock: processes outside it that wait, directly or indirectly, for resources of
 * its members and can never be served. */
#pragma once

#include <gordian/gordian.h>

struct followers {
    uint32_t *found; /* the members of the deadlock, then the followers */
    size_t count, room;
    size_t members;

    /* The round in which a process or resource was last visited. Comparing it with `round` replaces
     * clearing. */
    uint32_t *process_met, *resource_met, *process_stuck;
    size_t process_room, resource_room, stuck_room;
    uint32_t round;

    gordian_edge *held, *waiting; /* edges of the current process and resource */
    size_t held_room, waiting_room;
};

/* Sets `found` for the deadlock of the witness. */
gordian_status followers_collect(struct followers *followers, gordian_system *system,
                                 const gordian_witness *witness, gordian_error *error);
void followers_free(struct followers *followers);
