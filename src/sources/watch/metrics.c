/* Writes the metrics of gordian watch in the Prometheus text format. */
#include "sources/watch/metrics.h"

#include "foundation/http/prometheus.h"

static double oldest_wait(const struct source *source)
{
    double oldest = 0;
    for (size_t i = 0; i < source->scan.wait_count; i++)
        if (source->scan.waits[i].age_s > oldest)
            oldest = source->scan.waits[i].age_s;
    return oldest;
}

/* Counts sessions that block others and wait for none. */
static double root_blockers(const struct source *source)
{
    const struct scan *scan = &source->scan;
    double roots = 0;
    for (uint32_t i = 0; i < scan->session_count; i++)
        for (size_t k = 0; k < scan->edge_count && scan->sessions[i].wait == SCAN_NONE; k++)
            if (scan->edges[k].holder == i) {
                roots++;
                break;
            }
    return roots;
}

enum measure { UP, WAITING, OLDEST, ROOTS, LOOKS, SECONDS, MEASURES };

static double measure(const struct source *source, enum measure which)
{
    switch (which) {
    case UP:
        return source->scan.whole;
    case WAITING:
        return (double)source->scan.wait_count;
    case OLDEST:
        return oldest_wait(source);
    case ROOTS:
        return root_blockers(source);
    case LOOKS:
        return (double)source->looks;
    default:
        return (double)source->spent_ns / 1e9;
    }
}

static const struct {
    const char *name, *type, *help;
} measures[MEASURES] = {
    {"gordian_watch_up", "gauge", "1 if the latest scan of the server succeeded."},
    {"gordian_watch_waiting_sessions", "gauge", "Sessions that wait for a lock."},
    {"gordian_watch_oldest_wait_seconds", "gauge", "Age of the oldest wait."},
    {"gordian_watch_root_blockers", "gauge", "Sessions that block others and wait for none."},
    {"gordian_watch_looks_total", "counter", "Scans of the server."},
    {"gordian_watch_asked_seconds_total", "counter", "Total time of the queries."},
};

void watch_metrics_write(const struct servers *servers, const struct watch_totals *totals,
                         struct output *out)
{
    for (size_t i = 0; i < MEASURES; i++) {
        prometheus_family(out, measures[i].name, measures[i].type, measures[i].help);
        for (size_t k = 0; k < servers->count; k++) {
            output_format(out, "%s{", measures[i].name);
            prometheus_label(out, "server", servers->sources[k]->label);
            output_format(out, "} %.6g\n", measure(servers->sources[k], (enum measure)i));
        }
    }
    prometheus_gauge(out, "gordian_watch_deadlocks", "Current deadlocks.",
                     (double)servers->verdict.deadlock_count);
    prometheus_counter(out, "gordian_watch_deadlocks_total", "Deadlocks found so far.",
                       totals->deadlocks);
    prometheus_counter(out, "gordian_watch_ended_sessions_total",
                       "Sessions that were cancelled or terminated.", totals->ended);
}
