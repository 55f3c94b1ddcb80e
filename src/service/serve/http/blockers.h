/* Counts how many processes wait behind each process, also where a graph is too large to draw.
 *
 * Each waiting process is followed to one process that it waits for. This makes a forest, and a
 * cycle where there is a deadlock. The counts are computed in slices, with each tick and each
 * query, as long as there are queries. A result may be some seconds old, and has the time when it
 * was computed.
 */
#pragma once

#include "service/serve/core/service.h"

#define BLOCKERS_SLICE 8192 /* processes per slice */
#define BLOCKERS_TOP   100
#define BLOCKERS_MS    60000 /* stop computing after this long without a query */

struct blockers {
    gordian_allocator memory;
    const struct service *service;
    struct blockers_system {
        struct served *served;  /* systems come and go */
        uint64_t opened, asked; /* asked: steady ms of the last query */
        int phase;
        uint32_t at, limit; /* of the phase: position, number of processes */
        uint32_t *next;     /* process that each waits for; GORDIAN_NONE: none */
        uint32_t *degree;   /* direct followers that are not done */
        uint32_t *behind;   /* number of processes behind each */
        uint32_t *queue;
        uint32_t head, tail; /* of the queue */
        size_t room[4];
        uint64_t began; /* ms since 1970 */
        /* last result */
        uint64_t found;  /* ms since 1970; 0: no result yet */
        uint32_t *sizes; /* result: number behind each, by id */
        uint32_t size_count;
        size_t size_room;
        uint32_t top_count;
        struct blockers_root {
            uint32_t process, behind;
            bool circle; /* it is in a cycle */
        } top[BLOCKERS_TOP], best[BLOCKERS_TOP];
        uint32_t best_count;
        uint64_t worked; /* largest slice so far */
    } * *systems;        /* by slot */
    size_t room;
};

void blockers_init(struct blockers *blockers, const struct service *service);
void blockers_free(struct blockers *blockers);
/* Continues with systems that were queried recently. */
void blockers_tick(struct blockers *blockers);
/* Returns the result for a system, and keeps computing it. NULL: no memory. */
const struct blockers_system *blockers_ask(struct blockers *blockers, struct served *served);
/* Returns the number behind a process, as far as known. */
uint32_t blockers_behind(const struct blockers_system *system, uint32_t process);
