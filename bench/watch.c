/* `gordian watch`: what it costs the server that is watched. 200 clients of pgbench, with the
 * watcher at its default interval and without it, in turn; the bar is 1 % of the throughput. */
#define _GNU_SOURCE
#include "harness.h"

#include "base/error.h"
#include "base/machine.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUNS_MOST 64

/* A server in a folder of its own, on a Unix socket; root becomes nobody for it. Lines `with N` and
 * `without N`, transactions a second. The first run of each pair changes, so that whatever drifts
 * hits both. */
static const char script[] =
    "set -eu; folder=$1 gordian=$2 runs=$3 seconds=$4 load=$5\n"
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
    "take() { bench -c 200 -j 2 -T \"$seconds\" -n $load 2>>log | "
    "sed -n \"s/^tps = \\([0-9.]*\\).*/$1 \\1/p\"; }\n"
    "watched() { \"$gordian\" watch --quiet --stall 0 \"host='$folder' user=postgres\" "
    ">>log 2>&1 & watcher=$!\n"
    "take with; kill $watcher; wait $watcher || true; }\n"
    "take warm >/dev/null; n=0\n"
    "while [ $n -lt \"$runs\" ]; do n=$((n + 1))\n"
    "if [ $((n % 2)) -eq 0 ]; then take without; watched; else watched; take without; fi; done\n";

struct trial {
    double with[RUNS_MOST], without[RUNS_MOST];
    size_t with_count, without_count;
};

static void read_trial(FILE *lines, struct trial *trial)
{
    char line[200];
    double value;
    while (fgets(line, sizeof line, lines)) {
        if (sscanf(line, "without %lf", &value) == 1 && trial->without_count < RUNS_MOST)
            trial->without[trial->without_count++] = value;
        else if (sscanf(line, "with %lf", &value) == 1 && trial->with_count < RUNS_MOST)
            trial->with[trial->with_count++] = value;
    }
}

/* The script as a child, its lines through a pipe. */
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
    if (lines && child > 0)
        read_trial(lines, trial);
    if (lines)
        fclose(lines);
    else
        close(ends[0]);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static gordian_status try_load(struct bench *bench, const char *gordian, const char *name,
                               const char *load)
{
    char folder[120], clean[200];
    const char *runs = bench->options->quick ? "3" : "15";
    const char *seconds = bench->options->quick ? "2" : "10";
    struct trial trial = {0};
    snprintf(folder, sizeof folder, "%.80s/gw-XXXXXX", machine_temporary());
    if (!mkdtemp(folder))
        return fail(bench->error, GORDIAN_STATUS_IO, "cannot make a folder");
    const char *const words[] = {"sh",    "-c", script,  "bench", folder,
                                 gordian, runs, seconds, load,    NULL};
    bench_progress(bench, "watch: %s", name);
    bool done = run_script(words, &trial) && trial.with_count && trial.without_count;
    snprintf(clean, sizeof clean, "rm -rf '%s'", folder);
    if (system(clean) != 0 || !done)
        return bench_skip(bench, "watch/pgbench",
                          "PostgreSQL with pgbench is not installed, or does not start");
    struct bench_row row = bench_row("tx/s", "watch/pgbench-200/%s", name);
    row.value = bench_median(trial.with, trial.with_count);
    row.baseline = "not watched";
    row.baseline_value = bench_median(trial.without, trial.without_count);
    row.bar_kind = BAR_AT_MOST;
    row.bar = 1.01;
    snprintf(row.note, sizeof row.note, "medians of %zu runs of %s s, in turn", trial.with_count,
             seconds);
    return bench_add(bench, &row);
}

gordian_status bench_watch(struct bench *bench)
{
    char gordian[4096];
    ssize_t length = readlink("/proc/self/exe", gordian, sizeof gordian - 1);
    if (length <= 0)
        return bench_skip(bench, "watch/pgbench", "this program does not know where it is");
    gordian[length] = '\0';
    gordian_status status = try_load(bench, gordian, "reads", "-S");
    if (status == GORDIAN_OK)
        status = try_load(bench, gordian, "writes-that-wait", "");
    return status;
}
