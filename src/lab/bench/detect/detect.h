/* Shared by the files of `bench detect`; each file is a part of it. */
#pragma once

#include "lab/bench/harness/harness.h"
#include "sources/gen/gen.h"

/* Each function adds its rows. */
gordian_status detect_chains(struct bench *bench);
gordian_status detect_cancels(struct bench *bench);
gordian_status detect_loads(struct bench *bench);
gordian_status detect_releases(struct bench *bench);
gordian_status detect_papers(struct bench *bench);
gordian_status detect_checks(struct bench *bench);
gordian_status detect_memory(struct bench *bench);
gordian_status detect_cuda_rows(struct bench *bench);
gordian_status detect_blocks_rows(struct bench *bench);

/* Opens a system with the processes and resources of a trace and nothing held. */
gordian_status detect_open(gordian_system **system, const char *engine,
                           const struct gen_trace *trace, gordian_error *error);
/* Feeds events in slices, like a stream; adds the outcomes to *sum. */
gordian_status detect_feed(gordian_system *system, const gordian_event *events, size_t count,
                           uint64_t *sum, gordian_error *error);

/* Makes the snapshot of a shape with the generator. */
gordian_status detect_snapshot(gordian_snapshot **snapshot, const struct gen_options *options,
                               gordian_error *error);

/* The papers' measurements at a size; 0: not measured. Thesis, tables 3.2 and 3.3 (seconds for the
 * 2M events, single-unit) and 4.3 and 4.4 (the same, multi-unit); article, tables 2 and 3
 * (milliseconds for an event). GPU: their best. */
struct detect_paper {
    uint32_t size;
    struct detect_paper_times {
        double cpu, gpu;
    } list_s, block_ms, release_ms, multi_s;
};

/* All zero for other sizes. */
struct detect_paper detect_paper_at(uint32_t size);

/* Makes the papers' list of 2M events: the M grants, then the M blocks, which extend the chain at
 * its far end. The last block is the deadlock. Free it with gen_trace_free. */
gordian_status detect_paper_list(uint32_t size, struct gen_trace *trace, gordian_error *error);
/* The release at the end of the chain, after the grants and the first `links` blocks of the list.
 * It serves the previous process in the chain. */
gordian_event detect_paper_release(uint32_t links);

/* Events of a slice. */
#define DETECT_SLICE 4096
