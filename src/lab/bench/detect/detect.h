/* The parts of `bench detect`, one file each, and what they share. */
#pragma once

#include "lab/bench/harness/harness.h"
#include "sources/gen/gen.h"

/* Each adds its rows. */
gordian_status detect_chains(struct bench *bench);
gordian_status detect_cancels(struct bench *bench);
gordian_status detect_loads(struct bench *bench);
gordian_status detect_releases(struct bench *bench);
gordian_status detect_papers(struct bench *bench);
gordian_status detect_checks(struct bench *bench);
gordian_status detect_memory(struct bench *bench);
gordian_status detect_cuda_rows(struct bench *bench);
gordian_status detect_blocks_rows(struct bench *bench);

/* A system with the processes and resources of a trace and nothing held. */
gordian_status detect_open(gordian_system **system, const char *engine,
                           const struct gen_trace *trace, gordian_error *error);
/* Feeds events in slices, the way a stream is fed; *sum adds the outcomes up. */
gordian_status detect_feed(gordian_system *system, const gordian_event *events, size_t count,
                           uint64_t *sum, gordian_error *error);

/* The snapshot of a shape, as the generator makes it. */
gordian_status detect_snapshot(gordian_snapshot **snapshot, const struct gen_options *options,
                               gordian_error *error);

/* What the papers measured at a size; 0 where they did not. Thesis, tables 3.2 and 3.3 (seconds for
 * the 2M events, single-unit) and 4.3 and 4.4 (the same, multi-unit); article, tables 2 and 3
 * (milliseconds for an event). GPU: the best of theirs. */
struct detect_paper {
    uint32_t size;
    struct detect_paper_times {
        double cpu, gpu;
    } list_s, block_ms, release_ms, multi_s;
};

/* All zero for a size they did not have. */
struct detect_paper detect_paper_at(uint32_t size);

/* Their list of 2M events: the M grants, then the M blocks with the far end receding, the last of
 * which is the deadlock. gen_trace_free frees it. */
gordian_status detect_paper_list(uint32_t size, struct gen_trace *trace, gordian_error *error);
/* The release, after the grants and the first `links` blocks of it, by the one at the chain's end;
 * the process before that one waits for it. */
gordian_event detect_paper_release(uint32_t links);

/* Events a slice holds. */
#define DETECT_SLICE 4096
