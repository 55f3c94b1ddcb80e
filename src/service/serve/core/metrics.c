/* Histograms and delays, for metrics. */
#include "service/serve/core/metrics.h"

static const uint64_t bounds[METRICS_BOUNDS] = {
    1000,      2500,      5000,       10000,      25000,      50000,       100000,   250000,
    500000,    1000000,   2500000,    5000000,    10000000,   25000000,    50000000, 100000000,
    250000000, 500000000, 1000000000, 2500000000, 5000000000, 10000000000,
};

uint64_t metrics_bound(size_t bucket)
{
    return bounds[bucket];
}

void metrics_observe(struct metrics_histogram *histogram, uint64_t ns, uint64_t count)
{
    size_t bucket = 0;
    while (bucket < METRICS_BOUNDS && ns > bounds[bucket])
        bucket++;
    histogram->buckets[bucket] += count;
    histogram->sum += ns * count;
}

double metrics_quantile(const struct metrics_histogram *histogram,
                        const struct metrics_histogram *since, double quantile)
{
    uint64_t fresh[METRICS_BOUNDS + 1], count = 0;
    for (size_t i = 0; i <= METRICS_BOUNDS; i++) {
        fresh[i] = histogram->buckets[i] - (since ? since->buckets[i] : 0);
        count += fresh[i];
    }
    double rank = quantile * (double)count, below = 0;
    for (size_t i = 0; i < METRICS_BOUNDS && count; i++) {
        double low = i ? (double)bounds[i - 1] : 0, high = (double)bounds[i];
        if (fresh[i] && below + (double)fresh[i] >= rank)
            return low + (high - low) * (rank - below) / (double)fresh[i];
        below += (double)fresh[i];
    }
    return count ? (double)bounds[METRICS_BOUNDS - 1] : 0;
}

const char *const metrics_causes[CAUSES] = {"events", "reader", "stream", "tick", "store"};

void metrics_span(struct metrics_spans *spans, enum metrics_cause cause, uint64_t from, uint64_t to)
{
    uint64_t minute = to / UINT64_C(60000000000);
    if (minute != spans->minute) {
        for (size_t i = 0; i < CAUSES; i++) {
            spans->longest[1][i] = minute == spans->minute + 1 ? spans->longest[0][i] : 0;
            spans->longest[0][i] = 0;
        }
        spans->minute = minute;
    }
    if (to - from > spans->longest[0][cause])
        spans->longest[0][cause] = to - from;
}

uint64_t metrics_longest(const struct metrics_spans *spans, enum metrics_cause cause)
{
    uint64_t now = spans->longest[0][cause], before = spans->longest[1][cause];
    return now > before ? now : before;
}
