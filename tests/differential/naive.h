/*
 * The naive model: what a system must do, in the plainest loops there are.
 *
 * Written from the description of traces and models alone; it shares no code with the library,
 * only the public types. Who holds what is one dense array, who waits is one list in order of
 * arrival, who is deadlocked is found by plain repeated reduction. The differential program
 * demands that every engine agrees with it.
 *
 * The model never fails: where memory runs out it ends the program.
 */
#ifndef GORDIAN_TESTS_NAIVE_H
#define GORDIAN_TESTS_NAIVE_H

#include <gordian/gordian.h>

#define NAIVE_WANTS 16 /* the most different resources in one request */

struct naive_process {
    bool known;
    uint32_t want_count; /* 0: it runs */
    gordian_want wants[NAIVE_WANTS];
    uint32_t held_kinds; /* how many different resources it holds units of */
    uint64_t born;
    int64_t priority, cost;
};

struct naive_resource {
    bool known;
    uint64_t total, free;
    uint32_t recent; /* who took units of it last: a hint, for makers of events */
};

struct naive {
    uint32_t process_room, resource_room;
    uint32_t process_top, resource_top; /* one more than the largest id ever in use */
    struct naive_process *processes;
    struct naive_resource *resources;
    uint64_t *held;  /* held[p * resource_room + q] */
    uint32_t *queue; /* those who wait, in order of arrival */
    uint32_t queue_count;
    uint64_t clock;
    gordian_model model;

    uint32_t *served; /* by the last event, in order */
    uint32_t served_count;

    /* The outcome of the last reduction; right while `judged`. */
    bool judged;
    bool *dead; /* by process: can never run again */
    uint32_t dead_count;
    uint64_t *reduced_free; /* by resource: free once all others have finished */
};

struct naive_result {
    gordian_outcome outcome;
    uint32_t refusals; /* a bit (1 << gordian_refusal) for everything that is wrong with it */
};

void naive_open(struct naive *naive, uint32_t process_room, uint32_t resource_room);
void naive_close(struct naive *naive);

/* The system hands out the ids; the model is told. False: the id makes no sense (in use, or
 * further up although a lower one is free). */
bool naive_add_process(struct naive *naive, uint32_t id);
bool naive_add_resource(struct naive *naive, uint32_t id, uint64_t units);
/* False: it has edges, or is not there. */
bool naive_remove_process(struct naive *naive, uint32_t id);
bool naive_remove_resource(struct naive *naive, uint32_t id);

/* Feeds an event. Without `judge` a request that waits is always called blocked. */
struct naive_result naive_feed(struct naive *naive, const gordian_event *event, bool judge);

/* Makes `dead`, `dead_count` and `reduced_free` right. */
void naive_judge(struct naive *naive);

bool naive_is_process(const struct naive *naive, uint32_t process);
bool naive_is_resource(const struct naive *naive, uint32_t resource);
bool naive_is_waiting(const struct naive *naive, uint32_t process);
uint64_t naive_held(const struct naive *naive, uint32_t process, uint32_t resource);
/* Units of a resource in the pending request of a process. */
uint64_t naive_wanted(const struct naive *naive, uint32_t process, uint32_t resource);
/* One more than the largest id in use now. */
uint32_t naive_process_limit(const struct naive *naive);
uint32_t naive_resource_limit(const struct naive *naive);
/* Zeroed memory; ends the program where there is none. */
void *naive_zeroed(size_t count, size_t size);
/* Would this request wait, and for more than one unit in all? */
bool naive_would_wait_generally(const struct naive *naive, const gordian_event *event);

#endif
