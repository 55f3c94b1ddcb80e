/* What the makespan tests share: systems of a seed, systems of a file, and the plainest answer. */
#ifndef GORDIAN_TESTS_MAKESPAN_WORLD_H
#define GORDIAN_TESTS_MAKESPAN_WORLD_H

#include "engines/makespan/model/model.h"
#include "foundation/base/random.h"
#include "test.h"

/* A model from letters and starts a cycle ("L=1,C=4"); schedulers 0: no bound. */
struct makespan_model *make_model(const char *kernel, const char *units, uint32_t schedulers,
                                  uint32_t warps);

/* Up to `most_warps` warps, `most_length` instructions of up to four types with up to three units
 * each; half of them with a scheduler bound. */
struct makespan_model *random_model(struct random *random, uint32_t most_warps,
                                    uint32_t most_length);

/* Strings the model has: (W I)! / (I!)^W; UINT64_MAX if more than fit. */
uint64_t count_strings(const struct makespan_model *model);

/* The longest and the shortest schedule of all strings, one by one. */
void brute_force(const struct makespan_model *model, uint32_t *worst, uint32_t *best);

/* A row of data/makespan_exact.tsv. */
struct row {
    unsigned id;
    char raw[64], string[64];
    uint32_t lanes[4], latency[4], units[4]; /* L C S D */
    uint32_t sigma, warps;
    uint32_t worst, best; /* 0: not known */
    uint32_t worst_witness[1024], best_witness[1024];
    size_t worst_count, best_count;
};

/* Reads the file; the rows are freed by the caller. */
struct row *read_rows(const char *path, size_t *count);
/* A row as a problem: its hardware figures, of which the library normalises lanes and latencies.
 * `units` are the problem's. */
gordian_makespan_problem row_problem(const struct row *row, gordian_unit units[4]);
struct makespan_model *row_model(const struct row *row);

#endif
