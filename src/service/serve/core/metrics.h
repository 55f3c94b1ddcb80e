/*
 * Metrics of the service, and `/metrics`: the same in Prometheus text format.
 *
 * A histogram has fixed bounds, so that observing is a short search and two additions, and
 * histograms can be added up. Ids are never labels: the number of series depends on the number of
 * systems, not of processes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct api;
struct output;

/* Upper bounds: 1, 2.5, 5, 10, ... microseconds up to 10 seconds. The last bucket has none. */
#define METRICS_BOUNDS 22

struct metrics_histogram {
    uint64_t buckets[METRICS_BOUNDS + 1]; /* not cumulative */
    uint64_t sum;                         /* nanoseconds */
};

/* Counts `count` events that took `ns` each. */
void metrics_observe(struct metrics_histogram *histogram, uint64_t ns, uint64_t count);
/* Estimates a quantile from the buckets, in nanoseconds; 0 if nothing was observed. `since`: count
 * only observations after that copy was taken; NULL: all. */
double metrics_quantile(const struct metrics_histogram *histogram,
                        const struct metrics_histogram *since, double quantile);

/* The upper bound of a bucket, in nanoseconds. */
uint64_t metrics_bound(size_t bucket);

/* What delays the next event in the event loop: the longest delay of each cause, in this minute and
 * the one before. */
enum metrics_cause {
    CAUSE_EVENTS, /* commands of one client */
    CAUSE_READER, /* a request over HTTP */
    CAUSE_STREAM, /* event streams and rates */
    CAUSE_TICK,   /* leases, lost sessions */
    CAUSE_STORE,  /* the journal, and the start of a snapshot */
    CAUSES,
};

struct metrics_spans {
    uint64_t minute; /* of a monotonic clock */
    uint64_t longest[2][CAUSES];
};

extern const char *const metrics_causes[CAUSES];
void metrics_span(struct metrics_spans *spans, enum metrics_cause cause, uint64_t from,
                  uint64_t to);
uint64_t metrics_longest(const struct metrics_spans *spans, enum metrics_cause cause);

/* Writes all metrics as Prometheus text: http/metrics_text.c. */
void metrics_write(const struct api *api, struct output *out);
