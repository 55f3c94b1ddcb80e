/* The last minutes, second by second: what the page draws, and what `/metrics` would otherwise have
 * to search for. Of every system: events, deadlocks, waiting processes, who waits longest; of the
 * service: how long answers took.
 *
 * rates_tick is called by the loop ten times a second, and takes a sample once a second. Finding
 * who waits longest is cheap: waits only get younger, so that the oldest stays the oldest until it
 * ends; then the processes are looked through anew, some of them at each tick.
 */
#pragma once

#include "service/serve/core/service.h"

#define RATES_SECONDS 600
#define RATES_MINUTES 4320  /* three days of them */
#define RATES_SCAN    16384 /* processes looked through at a tick */

struct rate {
    uint64_t at; /* its end: ms since 1970; 0: before the service, or the system, was there */
    uint32_t events, deadlocks, waiting;
    float p50_us, p99_us; /* of the service: of each event, arrival to answer */
};

/* The same by minutes: events and deadlocks of all of it, the most that waited, the slowest second.
 */
struct rates_minutes {
    struct rate *list; /* RATES_MINUTES of them, a ring; NULL: none yet, or no memory */
    uint64_t next;     /* the one that comes next */
    struct rate sum;   /* of the one that is not over */
    uint32_t seconds;  /* in it */
};

struct rates_system {
    struct rates_minutes minutes;
    const struct served *served; /* whose: systems come and go, slots are reused */
    uint64_t opened;
    uint64_t events, incidents; /* at the last sample */
    struct rate seconds[RATES_SECONDS];
    uint64_t *dead; /* set of the processes that can never run again: see rates_dead */
    size_t dead_words, dead_room;
    uint32_t deadlocked;   /* how many they are */
    uint64_t dead_seq;     /* found after this event */
    uint64_t dead_cost_ns; /* finding them took */
    uint64_t dead_round;   /* otherwise: looked through since this event, */
    uint32_t dead_scan;    /* up to here */
    uint32_t oldest;       /* process that waits longest, GORDIAN_NONE: none known */
    uint64_t oldest_since;
    uint32_t scan; /* looked through up to here */
    uint32_t best; /* found by this search so far */
    uint64_t best_since;
};

struct rates {
    gordian_allocator memory;
    struct service *service;
    struct rates_system **systems; /* by slot; NULL: none */
    size_t system_room;
    uint64_t next;                      /* the sample that comes next */
    uint64_t next_at;                   /* steady ms */
    struct metrics_histogram before;    /* latencies up to the last sample */
    struct rate seconds[RATES_SECONDS]; /* of the service */
    struct rates_minutes minutes;       /* likewise */
};

void rates_init(struct rates *rates, struct service *service);
void rates_free(struct rates *rates);
/* True: a second is over, and a sample was taken. */
bool rates_tick(struct rates *rates);
/* The system's, or NULL before its first tick. */
const struct rates_system *rates_of(const struct rates *rates, const struct served *served);
/* Since when the longest wait of a system lasts: ms since 1970; 0: nobody waits. */
uint64_t rates_oldest(const struct rates_system *system);

/* Which processes of a system can never run again: a set of *words words, valid until the next call
 * or tick; how many they are. Finding them takes time in proportion to the system. In a large one
 * they are the members of the incidents that stand, without those that wait behind them, and
 * RATES_SCAN processes are looked at with each call: the answer may be some seconds old. */
uint32_t rates_dead(struct rates *rates, const struct served *served, const uint64_t **set,
                    size_t *words);
/* How many they were when somebody asked last: a tick does. */
uint32_t rates_deadlocked(const struct rates_system *system);

/* The last sample. */
static inline const struct rate *rates_last(const struct rates *rates, const struct rate *seconds)
{
    return &seconds[(rates->next + RATES_SECONDS - 1) % RATES_SECONDS];
}

/* A longer time: events and deadlocks of both, the most that waited, the slowest. */
void rate_add(struct rate *sum, const struct rate *one);
/* The members of an object. */
void rate_json(struct json *json, const struct rate *rate);
