/* Samples of the last minutes, second by second: for the page, and for values that `/metrics` would
 * have to search. Per system: events, deadlocks, waiting processes, the oldest wait; for the
 * service: response times.
 *
 * The event loop calls rates_tick ten times a second; it takes a sample once a second. Finding the
 * oldest wait is cheap: it stays the oldest until it ends. Then the processes are searched again,
 * some at each tick.
 */
#pragma once

#include "service/serve/core/service.h"

#define RATES_SECONDS 600
#define RATES_MINUTES 4320  /* three days */
#define RATES_SCAN    16384 /* processes searched per tick */

struct rate {
    uint64_t at; /* end of the second: ms since 1970; 0: no sample */
    uint32_t events, deadlocks, waiting;
    float p50_us, p99_us; /* of the service: from arrival of an event to its answer */
};

/* The same by minutes: sums of events and deadlocks, maxima of waiting processes and times. */
struct rates_minutes {
    struct rate *list; /* ring of RATES_MINUTES; NULL: none yet, or no memory */
    uint64_t next;     /* next index */
    struct rate sum;   /* of the current minute */
    uint32_t seconds;  /* seconds in it */
};

struct rates_system {
    struct rates_minutes minutes;
    const struct served *served; /* systems come and go, slots are reused */
    uint64_t opened;
    uint64_t events, incidents; /* at the last sample */
    struct rate seconds[RATES_SECONDS];
    uint64_t *dead; /* bit set of deadlocked processes: see rates_dead */
    size_t dead_words, dead_room;
    uint32_t deadlocked;   /* number of them */
    uint64_t dead_seq;     /* event after which the set was computed */
    uint64_t dead_cost_ns; /* time of the last computation */
    uint64_t dead_round;   /* incremental search: event at its start, */
    uint32_t dead_scan;    /* next process */
    uint32_t oldest;       /* process with the oldest wait; GORDIAN_NONE: unknown */
    uint64_t oldest_since;
    uint32_t scan; /* next process of this search */
    uint32_t best; /* best so far */
    uint64_t best_since;
};

struct rates {
    gordian_allocator memory;
    struct service *service;
    struct rates_system **systems; /* by slot; NULL: none */
    size_t system_room;
    uint64_t next;                      /* index of the next sample */
    uint64_t next_at;                   /* steady ms */
    struct metrics_histogram before;    /* latencies at the last sample */
    struct rate seconds[RATES_SECONDS]; /* of the service */
    struct rates_minutes minutes;       /* of the service */
};

void rates_init(struct rates *rates, struct service *service);
void rates_free(struct rates *rates);
/* Returns true if it took a sample. */
bool rates_tick(struct rates *rates);
/* Returns the record of a system; NULL before its first tick. */
const struct rates_system *rates_of(const struct rates *rates, const struct served *served);
/* Returns the start of the oldest wait: ms since 1970; 0: none. */
uint64_t rates_oldest(const struct rates_system *system);

/* Returns the number of deadlocked processes and their set of *words words, valid until the next
 * call or tick. The time is proportional to the system. In a large system the set has only members
 * of open incidents, without the processes behind them, and each call examines RATES_SCAN
 * processes, so the result may be some seconds old. */
uint32_t rates_dead(struct rates *rates, const struct served *served, const uint64_t **set,
                    size_t *words);
/* Returns their number at the last call; each tick calls it. */
uint32_t rates_deadlocked(const struct rates_system *system);

/* Returns the last sample. */
static inline const struct rate *rates_last(const struct rates *rates, const struct rate *seconds)
{
    return &seconds[(rates->next + RATES_SECONDS - 1) % RATES_SECONDS];
}

/* Adds a sample: sums of events and deadlocks, maxima of the rest. */
void rate_add(struct rate *sum, const struct rate *one);
/* Writes the members of an object. */
void rate_json(struct json *json, const struct rate *rate);
