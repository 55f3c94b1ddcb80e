/* What the service counts about itself, and `/metrics`: the same as Prometheus text.
 *
 * A histogram has fixed bounds, so that observing is a short search and two additions, and any two
 * of them can be added up by whoever reads them. Ids never become labels: the number of series
 * depends on how many systems there are, not on how many processes come and go.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct api;
struct output;

/* Upper bounds in nanoseconds: 1, 2.5, 5, 10, ... microseconds up to 10 seconds; the last bucket
 * has none. */
#define METRICS_BOUNDS 22

struct metrics_histogram {
    uint64_t buckets[METRICS_BOUNDS + 1]; /* each alone: not cumulative */
    uint64_t sum;                         /* nanoseconds */
};

/* `count` events took `ns` each. */
void metrics_observe(struct metrics_histogram *histogram, uint64_t ns, uint64_t count);
/* An estimate from the buckets, in nanoseconds; 0 if nothing was observed. `since`: only what was
 * observed after that copy was taken; NULL: everything. */
double metrics_quantile(const struct metrics_histogram *histogram,
                        const struct metrics_histogram *since, double quantile);

/* The upper bound of a bucket, in nanoseconds. */
uint64_t metrics_bound(size_t bucket);

/* What keeps the loop from the next event: the longest of each cause, in this minute and in the one
 * before. */
enum metrics_cause {
    CAUSE_EVENTS, /* commands of one client */
    CAUSE_READER, /* a request over HTTP */
    CAUSE_STREAM, /* what streams are told, and rates */
    CAUSE_TICK,   /* leases, sessions that end */
    CAUSE_STORE,  /* the journal, and the beginning of a snapshot */
    CAUSES,
};

struct metrics_spans {
    uint64_t minute; /* of a clock that never goes back */
    uint64_t longest[2][CAUSES];
};

extern const char *const metrics_causes[CAUSES];
void metrics_span(struct metrics_spans *spans, enum metrics_cause cause, uint64_t from,
                  uint64_t to);
uint64_t metrics_longest(const struct metrics_spans *spans, enum metrics_cause cause);

/* Everything, as Prometheus text: http/metrics_text.c. */
void metrics_write(const struct api *api, struct output *out);
