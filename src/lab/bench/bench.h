/* `gordian bench`: measures, compares with baselines in the same run, reproduces the papers'
 * tables. Families of benches have a folder each; all are written with harness/harness.h. */
#pragma once

#include "lab/bench/harness/harness.h"

struct bench_info {
    const char *name;
    const char *summary; /* one line */
    gordian_status (*run)(struct bench *bench);
};

/* All benches; name NULL at the end. */
extern const struct bench_info bench_list[];

/* Runs and prints. GORDIAN_STATUS_INPUT: no such bench or engine. A bar that is missed is a result,
 * not a failure; a baseline whose answers differ from ours is a failure (GORDIAN_STATUS_INPUT,
 * saying where).
 */
gordian_status bench_run(const struct bench_options *options, struct output *out,
                         gordian_error *error);
