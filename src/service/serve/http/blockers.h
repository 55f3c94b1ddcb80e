/* Who blocks how many: also where a graph is too large to be drawn.
 *
 * Of everybody that waits, one of those it waits for is followed: that makes a forest, or where it
 * leads in a circle a deadlock, and each has so many behind it. It is worked out in slices, with
 * each tick and each question, as long as somebody asks: an answer may be some seconds old, and
 * says when it was found. */
#pragma once

#include "service/serve/core/service.h"

#define BLOCKERS_SLICE 8192 /* processes looked at at once */
#define BLOCKERS_TOP   100
#define BLOCKERS_MS    60000 /* nobody has asked for so long: it is not worked out any more */

struct blockers {
    gordian_allocator memory;
    const struct service *service;
    struct blockers_system {
        struct served *served;  /* whose: systems come and go */
        uint64_t opened, asked; /* asked: steady ms */
        int phase;
        uint32_t at, limit; /* of the phase; processes looked at */
        uint32_t *next;     /* whom each waits for; GORDIAN_NONE: for nobody */
        uint32_t *degree;   /* how many follow it directly, less those that are done */
        uint32_t *behind;   /* how many are behind each */
        uint32_t *queue;
        uint32_t head, tail; /* of the queue */
        size_t room[4];
        uint64_t began; /* ms since 1970 */
        /* what was found last */
        uint64_t found;  /* ms since 1970; 0: nothing yet */
        uint32_t *sizes; /* behind each, by id */
        uint32_t size_count;
        size_t size_room;
        uint32_t top_count;
        struct blockers_root {
            uint32_t process, behind;
            bool circle; /* it is in a deadlock */
        } top[BLOCKERS_TOP], best[BLOCKERS_TOP];
        uint32_t best_count;
        uint64_t worked; /* the most that was looked at in one slice */
    } * *systems;        /* by slot */
    size_t room;
};

void blockers_init(struct blockers *blockers, const struct service *service);
void blockers_free(struct blockers *blockers);
/* Goes on with those that somebody asks about. */
void blockers_tick(struct blockers *blockers);
/* What is known of a system; it is worked out from now on. NULL: no memory. */
const struct blockers_system *blockers_ask(struct blockers *blockers, struct served *served);
/* How many are behind a process, as far as it is known. */
uint32_t blockers_behind(const struct blockers_system *system, uint32_t process);
