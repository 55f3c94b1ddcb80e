/* The published product over MPI ranks of this machine: runs published_ranks under mpirun. */
#include "foundation/base/error.h"
#include "lab/bench/compose/compose.h"
#include "lab/bench/harness/child.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct published_ranks {
    char program[PATH_MAX];
    char fifos[12], count[12];
    uint64_t transitions; /* expected */
};

static gordian_status run_published_ranks(void *context, double *ns, gordian_error *error)
{
    const struct published_ranks *ranks = context;
    char text[4096];
    const char *const words[] = {"mpirun", "-n", ranks->count, ranks->program, ranks->fifos, NULL};
    if (child_status("/", words, text, sizeof text) != 0)
        return fail(error, GORDIAN_STATUS_INPUT, "published_ranks failed on %s ranks: %.150s",
                    ranks->count, text);
    const char *found = strstr(text, "\"transitions\":"), *seconds = strstr(text, "\"seconds\":");
    if (!found || !seconds || strtoull(found + 14, NULL, 10) != ranks->transitions)
        return fail(error, GORDIAN_STATUS_INPUT, "%s ranks find other transitions: %.150s",
                    ranks->count, text);
    *ns = strtod(seconds + 10, NULL) * 1e9;
    return GORDIAN_OK;
}

static gordian_status add_rank_rows(const struct compose_bench *compose,
                                    const struct bench_side sides[], size_t count, uint32_t fifos)
{
    for (size_t i = 0; i < count; i++) {
        struct bench_row row =
            bench_measured(&sides[i], "ms", "compose/published/apart-%u-%u/ranks", fifos, 1u << i);
        if (i > 0)
            bench_against(&row, "1 rank", &sides[0]);
        bench_note(&row,
                   "rows of the published product divided over the ranks; only counts are sent");
        TRY(bench_add(compose->bench, &row));
    }
    return GORDIAN_OK;
}

gordian_status compose_ranks_rows(const struct compose_bench *compose)
{
    struct bench *bench = compose->bench;
    uint32_t fifos = bench->options->quick ? 10 : 12;
    struct published_ranks ranks[3] = {
        {.transitions = (UINT64_C(1) << 2 * fifos) - (UINT64_C(1) << fifos)}};
    struct bench_side sides[3];
    size_t count = compose->cores >= 4 ? 3 : 2;
    struct bench_effort effort = {0, bench->options->quick ? 1 : 3, 9,
                                  bench->options->quick ? 2 : 10};
    if (!bench_wants(bench, "cpu"))
        return GORDIAN_OK;
    if (!child_sibling("published_ranks", ranks[0].program, sizeof ranks[0].program))
        return bench_skip(bench, "compose/published/*/ranks", "published_ranks was not built");
    if (!child_mpirun())
        return bench_skip(bench, "compose/published/*/ranks", "mpirun is not installed");
    for (size_t i = 0; i < count; i++) {
        ranks[i] = ranks[0];
        snprintf(ranks[i].fifos, sizeof ranks[i].fifos, "%u", fifos);
        snprintf(ranks[i].count, sizeof ranks[i].count, "%u", 1u << i);
        sides[i] = (struct bench_side){&ranks[i], run_published_ranks};
    }
    bench_progress(bench, "compose: the published product on MPI ranks");
    TRY(bench_measure(bench, sides, count, effort));
    return add_rank_rows(compose, sides, count, fifos);
}
