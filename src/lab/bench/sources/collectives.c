/* `gordian collectives` on dumps of a hundred thousand ranks: time from the files to the verdict,
 * and memory. The bench writes the dumps, with a known fault, which must be reported. */
#define _GNU_SOURCE
#include "lab/bench/harness/harness.h"

#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/io/temporary.h"
#include "lab/bench/harness/child.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define RANKS       "100000"
#define RANKS_QUICK "2000"
#define ENTRIES     "50"
#define SECONDS     30.0
#define GIGABYTES   4.0

/* Returns its exit status; -1: it could not be run. */
static int run_child(char *const *words, struct rusage *usage)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        execv(words[0], words);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, usage) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

static gordian_status add_collectives_row(struct bench *bench, const char *ranks, const char *what,
                                          const char *unit, double value, double most)
{
    struct bench_row row = bench_row(unit, "collectives/%s-ranks/%s", ranks, what);
    row.value = value;
    bench_bar(&row, bench->options->quick ? BAR_NONE : BAR_VALUE_AT_MOST, most);
    return bench_add(bench, &row);
}

static gordian_status measure_verdict(struct bench *bench, char *gordian, char *folder)
{
    const char *ranks = bench->options->quick ? RANKS_QUICK : RANKS;
    char make[] = "gen", kind[] = "collectives", processes[] = "-p", entries[] = "-n",
         fault[] = "--fault", absent[] = "absent", place[] = "--folder", json[] = "--json",
         events[] = ENTRIES, count[16];
    struct rusage usage;
    snprintf(count, sizeof count, "%s", ranks);
    char *const gen[] = {gordian, make,  kind,   processes, count,  entries,
                         events,  fault, absent, place,     folder, NULL};
    char *const judge[] = {gordian, kind, json, folder, NULL};
    bench_progress(bench, "collectives: making the dumps of %s ranks", ranks);
    if (run_child(gen, &usage) != 0)
        return bench_skip(bench, "collectives/", "the dumps could not be made (disk full?)");
    bench_progress(bench, "collectives: analysing them");
    uint64_t start = clock_ns();
    int code = run_child(judge, &usage);
    double seconds = (double)(clock_ns() - start) / 1e9;
    if (code != 1) /* exit status 1: a culprit was found */
        return fail(bench->error, GORDIAN_STATUS_INPUT, "the fault was not found (status %d)",
                    code);
    TRY(add_collectives_row(bench, ranks, "time", "s", seconds, SECONDS));
    return add_collectives_row(bench, ranks, "memory", "GB", (double)usage.ru_maxrss * 1024 / 1e9,
                               GIGABYTES);
}

gordian_status bench_collectives(struct bench *bench)
{
    char gordian[PATH_MAX], folder[PATH_MAX];
    if (!child_gordian(gordian, sizeof gordian))
        return bench_skip(bench, "collectives/", "gordian was not found next to this program");
    gordian_status status = temporary_folder("gc", folder, sizeof folder, bench->error);
    THEN(status, measure_verdict(bench, gordian, folder));
    temporary_remove(folder);
    return status;
}
