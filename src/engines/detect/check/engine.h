/*
 * Checking a snapshot as a whole: finds the processes that can never run again, and every deadlock.
 *
 * Graph reduction: each process whose whole request fits the free units finishes and releases
 * everything, again and again. The processes left over are dead.
 *
 * A set C of processes *lacks* resource q for p in C if p waits for more units of q than there are
 * without those held in C: even if all processes outside C finish, p still waits for members of C.
 * A *part* is a maximal set that is strongly connected by the relation "lacks something held by".
 * In single-unit snapshots the parts are the cycles; where requests wait for several one-unit
 * resources, the strongly connected components; where resources have several units and requests ask
 * for one, the knots. (check/general.c explains when a huge artificial snapshot is split less
 * finely.)
 *
 * Every dead process leads to a part. It lacks something, otherwise it would have finished. The
 * dead hold what it lacks, otherwise that would be free. So it leads to other dead processes, and
 * finally into a component of the dead that no edge leaves. All dead holders of what the members of
 * that component lack are members, so they lack it whatever other processes do: the component lies
 * in a part.
 */
#pragma once

#include "foundation/base/engine.h"

/* The result of a check. The report points into the arrays. */
struct check_result {
    gordian_report report;
    uint32_t *deadlocked;
    gordian_part *parts;
    uint32_t *processes; /* of all parts, one part after another */
    uint32_t *resources; /* likewise */

    gordian_edge *edges; /* single-unit: of the last cycle asked for; else of all parts */
    size_t edge_room;
    size_t *edge_starts; /* not single-unit: by part, where its edges start; one more at the end */
};

void check_result_free(struct check_result *result, const gordian_allocator *memory);

/* Returns the least model that covers the snapshot. */
gordian_model check_model(const gordian_snapshot *snapshot);

/* Each fills a result that is empty except for report.model and .engine, with at most that many
 * threads; more than one only if the snapshot's allocator is thread-safe. The result does not
 * depend on their number. Returns false if out of memory; the result is then unchanged. */
bool check_single(const gordian_snapshot *snapshot, unsigned threads, struct check_result *result);
bool check_general(const gordian_snapshot *snapshot, unsigned threads, struct check_result *result);
/* Like check_general, for a snapshot of the dead processes of a larger snapshot. The number of
 * edges of the larger snapshot limits the work of splitting; 0: use the edges of this snapshot. */
bool check_general_within(const gordian_snapshot *snapshot, uint64_t edges,
                          struct check_result *result);

/* Computes the edges of all parts of a general result: part after part, by process, waits before
 * holds, by resource. Returns false if out of memory. */
bool check_part_edges(const gordian_snapshot *snapshot, struct check_result *result);

/* An engine that checks snapshots. Each accepts every problem. */
struct check_engine {
    struct engine about;
    /* Fills a result that is empty except for report.model and .engine. On failure it is empty. */
    gordian_status (*judge)(const gordian_snapshot *snapshot, gordian_model model, unsigned threads,
                            struct check_result *result, gordian_error *error);
    /* Checks files without reading them into one snapshot. NULL: not supported. *judged is zero
     * except for `file`; on failure the caller closes what it has. */
    gordian_status (*judge_files)(const char *const *files, size_t count,
                                  const gordian_check_options *options, gordian_judged *judged,
                                  gordian_error *error);
};

/* check_mpi: only in gordian-mpi (engines/detect/check/mpi/mpi.h). */
extern const struct check_engine check_sparse, check_on_gpu, check_mpi;

/* The family of struct check_engine. */
extern const struct engine_family check_family;
