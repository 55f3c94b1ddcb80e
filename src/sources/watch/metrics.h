/* Writes the state of the watcher as Prometheus text. Labels name servers, but never sessions, pids
 * or queries. */
#pragma once

#include "sources/watch/watch.h"

struct watch_totals {
    uint64_t deadlocks; /* reported so far */
    uint64_t ended;     /* sessions that were cancelled or terminated */
};

void watch_metrics_write(const struct servers *servers, const struct watch_totals *totals,
                         struct output *out);
