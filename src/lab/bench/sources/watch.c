/* `gordian watch`: the overhead on the watched server. 200 clients of pgbench, in turn with the
 * watcher at its default interval and without it; the target is 1 % of the throughput. */
#define _GNU_SOURCE
#include "lab/bench/harness/harness.h"

#include "foundation/base/error.h"
#include "foundation/base/io/temporary.h"
#include "lab/bench/harness/child.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PHASES_MOST   128
#define PHASE_SKIPPED 2 /* seconds at the start of a phase, until its change takes effect */

/* A server in a folder of its own, on a Unix socket; as root it runs as user nobody. The load runs
 * all the time, and the watcher is stopped in every other phase, so that drift affects both phases
 * of a pair. Prints `with` and `without` when a phase begins, and `tps N` every second. */
static const char script[] =
    "set -eu; folder=$1 gordian=$2 pairs=$3 seconds=$4 load=$5\n"
    "bin=$(dirname \"$(readlink -f \"$(command -v postgres || ls "
    "/usr/lib/postgresql/*/bin/postgres | tail -n "
    "1)\")\")\n"
    "as() { if [ \"$(id -u)\" -eq 0 ]; then setpriv --reuid=nobody --regid=nogroup "
    "--clear-groups \"$@\"; else \"$@\"; fi; }\n"
    "[ \"$(id -u)\" -ne 0 ] || chown nobody \"$folder\"\n"
    "cd \"$folder\"\n"
    "as \"$bin/initdb\" -D data -A trust -U postgres --no-sync >log 2>&1\n"
    "as \"$bin/pg_ctl\" -D data -w -l server.log -o \"-k '$folder' -c listen_addresses= "
    "-c fsync=off -c max_connections=500\" start >>log 2>&1\n"
    "trap 'as \"$bin/pg_ctl\" -D data -m immediate stop >>log 2>&1' EXIT\n"
    "bench() { pgbench -h \"$folder\" -U postgres \"$@\" postgres; }\n"
    "PATH=$PATH:$bin; bench -i -q -s 10 >>log 2>&1\n"
    "\"$gordian\" watch --quiet --stall 0 \"host='$folder' user=postgres\" >>log 2>&1 & "
    "watcher=$!\n"
    "bench -c 200 -j 2 -P 1 -T $((pairs * 2 * seconds + 5)) -n $load 2>&1 >>log | "
    "sed -u -n 's/^progress: [0-9.]* s, \\([0-9.]*\\) tps.*/tps \\1/p' & load=$!\n"
    "with() { kill -CONT $watcher; echo with; sleep \"$seconds\"; }\n"
    "without() { kill -STOP $watcher; echo without; sleep \"$seconds\"; }\n"
    "sleep 3; n=0\n"
    "while [ $n -lt \"$pairs\" ]; do n=$((n + 1))\n"
    "if [ $((n % 2)) -eq 0 ]; then without; with; else with; without; fi; done\n"
    "echo end; kill -CONT $watcher; kill $watcher; wait $watcher || true; wait $load\n";

/* A pair is a phase with the watcher and the next one without. */
struct trial {
    double with[PHASES_MOST], without[PHASES_MOST], ratios[PHASES_MOST];
    size_t with_count, without_count;
};

struct phase {
    bool counts, watched;
    double sum;
    unsigned seconds;
};

static void end_phase(const struct phase *phase, struct trial *trial)
{
    double mean =
        phase->seconds > PHASE_SKIPPED ? phase->sum / (phase->seconds - PHASE_SKIPPED) : 0;
    if (!phase->counts || mean <= 0)
        return;
    if (phase->watched && trial->with_count < PHASES_MOST)
        trial->with[trial->with_count++] = mean;
    else if (!phase->watched && trial->without_count < PHASES_MOST)
        trial->without[trial->without_count++] = mean;
}

/* Runs the script as a child and reads its output from a pipe. */
static bool run_script(const char *const *words, struct trial *trial)
{
    int ends[2], status = -1;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execv("/bin/sh", (char *const *)(uintptr_t)words);
        _exit(127);
    }
    close(ends[1]);
    FILE *lines = fdopen(ends[0], "r");
    if (lines && child > 0) {
        char line[200];
        double value;
        struct phase phase = {0};
        while (fgets(line, sizeof line, lines)) {
            bool watched = strcmp(line, "with\n") == 0, alone = strcmp(line, "without\n") == 0;
            if (watched || alone || strcmp(line, "end\n") == 0) {
                end_phase(&phase, trial);
                phase = (struct phase){.counts = watched || alone, .watched = watched};
            } else if (sscanf(line, "tps %lf", &value) == 1 && phase.seconds++ >= PHASE_SKIPPED) {
                phase.sum += value;
            }
        }
    }
    if (lines)
        fclose(lines);
    else
        close(ends[0]);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* Returns the median of the pairs' ratios; call it before the phases are sorted. */
static double pair_ratio(struct trial *trial)
{
    size_t pairs =
        trial->with_count < trial->without_count ? trial->with_count : trial->without_count;
    for (size_t i = 0; i < pairs; i++)
        trial->ratios[i] = trial->without[i] / trial->with[i];
    return bench_median(trial->ratios, pairs);
}

static gordian_status try_load(struct bench *bench, const char *gordian, const char *name,
                               const char *load)
{
    char folder[120];
    const char *pairs = bench->options->quick ? "3" : "24";
    const char *seconds = bench->options->quick ? "4" : "6";
    struct trial trial = {0};
    TRY(temporary_folder("gw", folder, sizeof folder, bench->error));
    const char *const words[] = {"sh",    "-c",  script,  "bench", folder,
                                 gordian, pairs, seconds, load,    NULL};
    bench_progress(bench, "watch: %s", name);
    bool done = run_script(words, &trial) && trial.with_count && trial.without_count;
    temporary_remove(folder);
    if (!done)
        return bench_skip(bench, "watch/pgbench",
                          "PostgreSQL with pgbench is not installed, or does not start");
    double ratio = pair_ratio(&trial);
    struct bench_row row = bench_row("tx/s", "watch/pgbench-200/%s", name);
    row.value = bench_median(trial.with, trial.with_count);
    row.baseline = "not watched";
    row.baseline_value = bench_median(trial.without, trial.without_count);
    row.ratio = ratio;
    bench_bar(&row, BAR_AT_MOST, 1.01);
    bench_note(&row,
               "medians of %zu pairs of %s s each; the ratio is the median of the pairs' ratios",
               trial.with_count, seconds);
    return bench_add(bench, &row);
}

gordian_status bench_watch(struct bench *bench)
{
    char gordian[4096];
    if (!child_gordian(gordian, sizeof gordian))
        return bench_skip(bench, "watch/pgbench", "gordian was not found next to this program");
    TRY(try_load(bench, gordian, "reads", "-S"));
    return try_load(bench, gordian, "writes-that-wait", "");
}
