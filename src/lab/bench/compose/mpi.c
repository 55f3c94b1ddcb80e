/* Ranks: `gordian-mpi compose` under mpirun, on this machine. */
#define _GNU_SOURCE
#include "foundation/base/error.h"
#include "foundation/base/io/temporary.h"
#include "lab/bench/compose/compose.h"
#include "lab/bench/harness/child.h"
#include "sources/gen/gen.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ranks {
    char program[PATH_MAX];
    char file[512];
    char count[12];
    const char *kind; /* of circuits, and their number of parts */
    uint32_t size;
    uint64_t states; /* expected */
};

/* Returns the value of a key in the last object. */
static double number_in_report(const char *text, const char *key)
{
    const char *found = NULL;
    for (const char *at = text; (at = strstr(at, key)); at += strlen(key))
        found = at;
    return found ? strtod(found + strlen(key), NULL) : 0;
}

static gordian_status run_mpi_ranks(void *context, double *ns, gordian_error *error)
{
    const struct ranks *ranks = context;
    char text[4096];
    /* The exit status also reports a deadlock. */
    const char *const words[] = {
        "sh",
        "-c",
        "mpirun -n $0 \"$1\" compose --json --deadlocks \"$2\" || [ $? = 1 ]",
        ranks->count,
        ranks->program,
        ranks->file,
        NULL};
    if (child_status("/", words, text, sizeof text) != 0)
        return fail(error, GORDIAN_STATUS_INPUT, "gordian-mpi failed on %s ranks: %.150s",
                    ranks->count, text);
    *ns = number_in_report(text, "\"seconds\":") * 1e9;
    if (number_in_report(text, "\"states\":") != (double)ranks->states || *ns <= 0)
        return fail(error, GORDIAN_STATUS_INPUT, "%s ranks find other states: %.150s", ranks->count,
                    text);
    return GORDIAN_OK;
}

static gordian_status add_mpi_rows(const struct compose_bench *compose, struct ranks ranks[],
                                   struct bench_side sides[], size_t count)
{
    const char *kind = ranks[0].kind;
    uint32_t size = ranks[0].size;
    for (size_t i = 0; i < count; i++) {
        unsigned number = 1u << i;
        struct bench_row row =
            bench_measured(&sides[i], "ms", "compose/ranks/%s-%u-%u/mpi", kind, size, number);
        bench_curve(&row, "MPI ranks on one machine: reachable states (ms)", number,
                    "mpi, %s of %u", kind, size);
        if (i > 0)
            bench_against(&row, "1 rank", &sides[0]);
        if (number == 2 && compose->cores >= 2)
            bench_bar(&row, BAR_AT_LEAST, 1.7);
        if (number == 16 && !compose->bench->options->quick)
            bench_bar(&row, BAR_AT_LEAST, 8);
        bench_note(&row, "%.3g million states/s", (double)ranks[i].states / sides[i].median * 1e3);
        TRY(bench_add(compose->bench, &row));
    }
    return GORDIAN_OK;
}

#define RANKS_MOST 5 /* 1, 2, 4, 8, 16 */

/* Measures 1, 2, 4, ... ranks, up to the number of cores, in turn. */
static gordian_status measure_rank_counts(const struct compose_bench *compose,
                                          const struct ranks *first)
{
    struct bench *bench = compose->bench;
    struct ranks ranks[RANKS_MOST] = {0};
    struct bench_side sides[RANKS_MOST];
    size_t count = 2;
    struct bench_effort effort = {0, bench->options->quick ? 1 : 3, 9,
                                  bench->options->quick ? 2 : 10};
    while (count < RANKS_MOST && compose->cores >= 1u << count)
        count++;
    for (size_t i = 0; i < count; i++) {
        ranks[i] = *first;
        snprintf(ranks[i].count, sizeof ranks[i].count, "%u", 1u << i);
        sides[i] = (struct bench_side){&ranks[i], run_mpi_ranks};
    }
    bench_progress(bench, "compose: %s of %u on MPI ranks", first->kind, first->size);
    TRY(bench_measure(bench, sides, count, effort));
    return add_mpi_rows(compose, ranks, sides, count);
}

static gordian_status circuit_rows(const struct compose_bench *compose, struct ranks *ranks)
{
    struct output out;
    int fd;
    TRY(temporary_file("gordian-mpi", ".treo", ranks->file, sizeof ranks->file, &fd,
                       compose->bench->error));
    char kind[32];
    snprintf(kind, sizeof kind, "circuit-%s", ranks->kind);
    struct gen_options options = gen_options_of(kind, 1, ranks->size);
    gordian_status status = output_open(&out, fd) ? gen_write(&options, &out, compose->bench->error)
                                                  : fail_memory(compose->bench->error);
    if (!output_close(&out) && status == GORDIAN_OK)
        status = fail(compose->bench->error, GORDIAN_STATUS_IO, "cannot write '%s': %s",
                      ranks->file, strerror(out.failure));
    close(fd);
    THEN(status, measure_rank_counts(compose, ranks));
    unlink(ranks->file);
    return status;
}

gordian_status compose_mpi_rows(const struct compose_bench *compose)
{
    struct bench *bench = compose->bench;
    bool quick = bench->options->quick;
    struct ranks chain = {.kind = "chain", .size = quick ? 22 : 28};
    struct ranks dining = {.kind = "dining", .size = quick ? 9 : 14, .states = 1};
    if (!bench_wants(bench, "cpu"))
        return GORDIAN_OK;
    if (!child_sibling("gordian-mpi", chain.program, sizeof chain.program))
        return bench_skip(bench, "compose/*/mpi", "gordian-mpi was not found next to gordian");
    if (!child_mpirun())
        return bench_skip(bench, "compose/*/mpi", "mpirun is not installed");
    memcpy(dining.program, chain.program, sizeof dining.program);
    chain.states = UINT64_C(1) << chain.size;
    for (uint32_t i = 0; i < dining.size; i++)
        dining.states *= 3;
    dining.states--;
    TRY(circuit_rows(compose, &chain));
    return circuit_rows(compose, &dining);
}
