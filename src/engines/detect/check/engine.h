/*
 * Judging a snapshot as a whole: who can never run again, and every deadlock.
 *
 * Dead is who is left when everybody whose whole request fits the free units has
 * finished and given everything back, again and again.
 *
 * A set C of processes *lacks* resource q for p in C when p waits for more units of q than
 * there are without those held in C: even if everybody outside C finishes, p still waits
 * for members of C. A *part* is a set that is strongly connected by "lacks something held by" and
 * cannot be made larger. In single-unit snapshots these are the cycles; where requests wait for
 * several one-unit resources, the strongly connected components; where
 * resources have several units and requests ask for one, the knots. (check/general.c says when a
 * huge contrived snapshot is split less finely.)
 *
 * Every dead process leads to a part. It lacks something (else it would have finished), what
 * it lacks is held by the dead (else it would be free), so it leads to other dead ones and at
 * last into a component of the dead that nothing leads out of. All dead holders of what the
 * members of that component lack are members, so they lack it whatever anybody else does: the
 * component lies in a part.
 */
#pragma once

#include "foundation/base/engine.h"

/* What a judgement leaves behind. The report points into the arrays. */
struct check_result {
    gordian_report report;
    uint32_t *deadlocked;
    gordian_part *parts;
    uint32_t *processes; /* of all parts, one part after another */
    uint32_t *resources; /* likewise */

    gordian_edge *edges; /* single-unit: of the cycle last asked for; else of all parts */
    size_t edge_room;
    size_t *edge_starts; /* not single-unit: by part, where its edges start; one more at the end */
};

void check_result_free(struct check_result *result, const gordian_allocator *memory);

/* The least model that has room for the snapshot. */
gordian_model check_model(const gordian_snapshot *snapshot);

/* Each fills an empty result, but for report.model and .engine, with so many threads at most; more
 * than one only if the snapshot's memory serves them. The result does not depend on their number.
 * False: out of memory, the result is as it was. */
bool check_single(const gordian_snapshot *snapshot, unsigned threads, struct check_result *result);
bool check_general(const gordian_snapshot *snapshot, unsigned threads, struct check_result *result);
/* The same for a snapshot of the dead of a larger one with that many edges, which say how much
 * effort may go into splitting them; 0: its own. */
bool check_general_within(const gordian_snapshot *snapshot, uint64_t edges,
                          struct check_result *result);

/* The edges of all parts of a general result, part after part, by process, waits before
 * holds, by resource. False: out of memory. */
bool check_part_edges(const gordian_snapshot *snapshot, struct check_result *result);

/* An engine that judges snapshots; each takes every problem. */
struct check_engine {
    struct engine about;
    /* Fills an empty result, but for report.model and .engine. On failure it is empty. */
    gordian_status (*judge)(const gordian_snapshot *snapshot, gordian_model model, unsigned threads,
                            struct check_result *result, gordian_error *error);
    /* Judges files without reading them into one snapshot; NULL: it does not. *judged is zeros, but
     * for `file`; on failure what it has is closed by the caller. */
    gordian_status (*judge_files)(const char *const *files, size_t count,
                                  const gordian_check_options *options, gordian_judged *judged,
                                  gordian_error *error);
};

/* check_mpi: a part of gordian-mpi only (engines/detect/check/mpi/mpi.h). */
extern const struct check_engine check_sparse, check_on_gpu, check_mpi;

/* Of struct check_engine. */
extern const struct engine_family check_family;
