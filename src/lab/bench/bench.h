/* `gordian bench`: measures, compares with baselines in the same run, reproduces the papers'
 * tables. Each family of benches has a folder; all use harness/harness.h. */
#pragma once

#include "lab/bench/harness/harness.h"

struct bench_info {
    const char *name;
    const char *summary; /* one line */
    gordian_status (*run)(struct bench *bench);
};

/* All benches; name NULL at the end. */
extern const struct bench_info bench_list[];

/* Runs the benches and prints rows. GORDIAN_STATUS_INPUT: no such bench or engine. A missed target
 * is a result, not a failure. A baseline that answers differently from ours is a failure
 * (GORDIAN_STATUS_INPUT, naming the place). */
gordian_status bench_run(const struct bench_options *options, struct output *out,
                         gordian_error *error);
