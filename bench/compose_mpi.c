/* Ranks: `gordian-mpi compose` under mpirun, on this machine. */
#define _GNU_SOURCE
#include "base/error.h"
#include "base/machine.h"
#include "compose.h"
#include "gen/gen.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ranks {
    char program[PATH_MAX];
    char file[512];
    char count[12];
    uint64_t states; /* that must come out */
};

/* The value of a key in the last object. */
static double value_of(const char *text, const char *key)
{
    const char *found = NULL;
    for (const char *at = text; (at = strstr(at, key)); at += strlen(key))
        found = at;
    return found ? strtod(found + strlen(key), NULL) : 0;
}

static gordian_status run_ranks(void *context, double *ns, gordian_error *error)
{
    const struct ranks *ranks = context;
    char text[4096];
    const char *const words[] = {"mpirun",       "-n",        ranks->count,
                                 ranks->program, "compose",   "--json",
                                 "--deadlocks",  ranks->file, NULL};
    if (!compose_child("/", words, text, sizeof text))
        return fail(error, GORDIAN_STATUS_INPUT, "gordian-mpi failed on %s ranks: %.150s",
                    ranks->count, text);
    *ns = value_of(text, "\"seconds\":") * 1e9;
    if (value_of(text, "\"states\":") != (double)ranks->states || *ns <= 0)
        return fail(error, GORDIAN_STATUS_INPUT, "%s ranks find other states: %.150s", ranks->count,
                    text);
    return GORDIAN_OK;
}

static gordian_status write_chain(struct ranks *ranks, uint32_t size, gordian_error *error)
{
    struct gen_options options;
    struct output out;
    snprintf(ranks->file, sizeof ranks->file, "%s/gordian-mpi-XXXXXX.treo", machine_temporary());
    int fd = mkostemps(ranks->file, 5, O_CLOEXEC);
    if (fd < 0 || !output_open(&out, fd))
        return fail(error, GORDIAN_STATUS_IO, "cannot write '%s': %s", ranks->file,
                    strerror(errno));
    gen_options_init(&options);
    options.kind = "circuit-chain";
    options.processes = size;
    gordian_status status = gen_write(&options, &out, error);
    if (!output_close(&out) && status == GORDIAN_OK)
        status = fail(error, GORDIAN_STATUS_IO, "cannot write '%s': %s", ranks->file,
                      strerror(out.failure));
    close(fd);
    return status;
}

static gordian_status add_rows(const struct compose_bench *compose, struct ranks ranks[],
                               struct bench_side sides[], size_t count, uint32_t size)
{
    gordian_status status = GORDIAN_OK;
    for (size_t i = 0; i < count && status == GORDIAN_OK; i++) {
        unsigned number = 1u << i;
        struct bench_row row = bench_row("ms", "compose/ranks/chain-%u-%u/mpi", size, number);
        row.value = sides[i].median / 1e6;
        row.p99 = sides[i].p99 / 1e6;
        row.plot = "MPI ranks on one machine: a chain's reachable states (ms)";
        row.x = number;
        snprintf(row.series, sizeof row.series, "mpi, chain of %u", size);
        if (i > 0) {
            row.baseline = "1 rank";
            row.baseline_value = sides[0].median / 1e6;
        }
        if (number == 2 && compose->cores >= 2) {
            row.bar_kind = BAR_AT_LEAST;
            row.bar = 1.7;
        }
        snprintf(row.note, sizeof row.note, "%.3g million states/s",
                 (double)ranks[i].states / sides[i].median * 1e3);
        status = bench_add(compose->bench, &row);
    }
    return status;
}

/* One, two and, where there are the cores, four ranks, in turn. */
static gordian_status measure(const struct compose_bench *compose, const struct ranks *first,
                              uint32_t size)
{
    struct bench *bench = compose->bench;
    struct ranks ranks[3];
    struct bench_side sides[3];
    size_t count = compose->cores >= 4 ? 3 : 2;
    struct bench_effort effort = {0, bench->options->quick ? 1 : 3, 9,
                                  bench->options->quick ? 2 : 10};
    for (size_t i = 0; i < count; i++) {
        ranks[i] = *first;
        snprintf(ranks[i].count, sizeof ranks[i].count, "%u", 1u << i);
        sides[i] = (struct bench_side){&ranks[i], run_ranks, 0, 0};
    }
    bench_progress(bench, "compose: chain of %u on MPI ranks", size);
    gordian_status status = bench_measure(bench, sides, count, &effort);
    return status == GORDIAN_OK ? add_rows(compose, ranks, sides, count, size) : status;
}

gordian_status compose_mpi_rows(const struct compose_bench *compose)
{
    struct bench *bench = compose->bench;
    uint32_t size = bench->options->quick ? 22 : 26;
    struct ranks ranks = {.states = UINT64_C(1) << size};
    const char *only = bench->options->engine;
    if (only && strcmp(only, "auto") != 0 && strcmp(only, "cpu") != 0)
        return GORDIAN_OK;
    if (!compose_beside("gordian-mpi", ranks.program, sizeof ranks.program))
        return bench_skip(bench, "compose/*/mpi", "gordian-mpi was not built beside gordian");
    if (!compose_mpirun())
        return bench_skip(bench, "compose/*/mpi", "there is no mpirun");
    gordian_status status = write_chain(&ranks, size, bench->error);
    if (status == GORDIAN_OK)
        status = measure(compose, &ranks, size);
    unlink(ranks.file);
    return status;
}
