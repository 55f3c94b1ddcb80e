/* `gordian bench`: measures, compares with baselines in the same run, reproduces the papers'
 * tables. The harness that a bench is written with is in harness.h. */
#ifndef GORDIAN_LAB_BENCH_BENCH_H
#define GORDIAN_LAB_BENCH_BENCH_H

#include "foundation/base/io/output.h"

#include <gordian/gordian.h>

struct bench_options {
    const char *name;   /* of one bench; NULL: all of them */
    bool json;          /* one object a row instead of the table */
    bool quick;         /* smaller sizes and fewer repetitions: under a minute */
    const char *engine; /* only the rows of this engine; NULL or "auto": all */
    const char *svg;    /* write the curves to this file; NULL: nowhere */
    uint64_t seed;
    uint32_t soak;     /* `serve`: instead of measuring, so many seconds at 80 % of the top rate */
    const char *store; /* `serve`: on PostgreSQL, by this connection string, instead */
    /* Told what is being measured now, for a progress line; NULL: nobody. */
    void (*progress)(void *context, const char *text);
    void *progress_context;
};

/* Every option at its default: all benches, text, seed 1. */
void bench_options_init(struct bench_options *options);

struct bench;

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

#endif
