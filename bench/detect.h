/* The parts of `bench detect`, one file each, and what they share. */
#ifndef GORDIAN_BENCH_DETECT_H
#define GORDIAN_BENCH_DETECT_H

#include "gen/gen.h"
#include "harness.h"

/* Each adds its rows. */
gordian_status detect_chains(struct bench *bench);
gordian_status detect_loads(struct bench *bench);
gordian_status detect_releases(struct bench *bench);
gordian_status detect_papers(struct bench *bench);
gordian_status detect_checks(struct bench *bench);
gordian_status detect_memory(struct bench *bench);

/* A system with the processes and resources of a trace and nothing held. */
gordian_status detect_open(gordian_system **system, const char *engine,
                           const struct gen_trace *trace, gordian_error *error);
/* Feeds events in slices, the way a stream is fed; *sum adds the outcomes up. */
gordian_status detect_feed(gordian_system *system, const gordian_event *events, size_t count,
                           uint64_t *sum, gordian_error *error);

/* Events a slice holds. */
#define DETECT_SLICE 4096

#endif
