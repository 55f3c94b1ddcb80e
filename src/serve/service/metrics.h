/* What the service counts about itself, and `/metrics`: the same as Prometheus text.
 *
 * A histogram has fixed bounds, so that observing is a short search and two additions, and any two
 * of them can be added up by whoever reads them. Ids never become labels: the number of series
 * depends on how many systems there are, not on how many processes come and go.
 */
#ifndef GORDIAN_SERVE_SERVICE_METRICS_H
#define GORDIAN_SERVE_SERVICE_METRICS_H

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

/* Everything, as Prometheus text: http/metrics_text.c. */
void metrics_write(const struct api *api, struct output *out);

#endif
