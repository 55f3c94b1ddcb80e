/* What is known, as Prometheus text. Servers are labels; sessions, pids and queries never are. */
#pragma once

#include "sources/watch/watch.h"

struct watch_totals {
    uint64_t deadlocks; /* told of so far */
    uint64_t ended;     /* sessions that were cancelled or terminated */
};

void watch_metrics_write(const struct servers *servers, const struct watch_totals *totals,
                         struct output *out);
