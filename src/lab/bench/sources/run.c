/* `gordian run`: the cost of a pair of lock and unlock, and of a round with a condition, compared
 * with the same program alone, under ThreadSanitizer and under Helgrind, all in the same run. */
#define _GNU_SOURCE
#include "lab/bench/harness/harness.h"

#include "foundation/base/error.h"
#include "lab/bench/harness/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

enum tool {
    TOOL_NATIVE,
    TOOL_SITES,    /* gordian run */
    TOOL_NO_SITES, /* gordian run --no-sites */
    TOOL_TSAN,
    TOOL_HELGRIND,
    TOOL_COUNT,
};

static const char *const tool_names[TOOL_COUNT] = {"native", "run", "run-no-sites", "tsan",
                                                   "helgrind"};

struct files {
    char gordian[PATH_MAX];
    char loop[PATH_MAX];
    char loop_tsan[PATH_MAX]; /* "": not available */
    bool helgrind;
};

/* One child: the loop under a tool. */
struct job {
    const struct files *files;
    enum tool tool;
    const char *what;
    char pairs[24], threads[12];
};

/* ------------------------------------------------------------------ children */

static size_t read_figure(int fd, char *text, size_t size)
{
    size_t used = 0;
    while (used < size - 1) {
        ssize_t count = read(fd, text + used, size - 1 - used);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        used += (size_t)count;
    }
    text[used] = '\0';
    return used;
}

/* Returns the child's measurement: nanoseconds per pair. */
static gordian_status run_tool_job(void *context, double *ns, gordian_error *error)
{
    const struct job *job = context;
    int pipes[2], status = 0;
    char text[64];
    if (pipe2(pipes, O_CLOEXEC) != 0)
        return fail(error, GORDIAN_STATUS_IO, "cannot measure: %s", strerror(errno));
    pid_t child = fork();
    if (child == 0) {
        /* Helgrind would warn of conditions that are signalled after unlocking: turn that off. */
        static const char *const prefixes[TOOL_COUNT][5] = {
            [TOOL_SITES] = {"run", "--quiet", "--on-unwatchable=stop"},
            [TOOL_NO_SITES] = {"run", "--quiet", "--on-unwatchable=stop", "--no-sites"},
            [TOOL_HELGRIND] = {"valgrind", "--quiet", "--tool=helgrind", "--log-file=/dev/null"},
        };
        const char *words[10] = {NULL};
        size_t count = 0;
        dup2(pipes[1], STDOUT_FILENO);
        if (job->tool == TOOL_SITES || job->tool == TOOL_NO_SITES)
            words[count++] = job->files->gordian;
        for (const char *const *word = prefixes[job->tool]; *word; word++)
            words[count++] = *word;
        if (job->tool == TOOL_TSAN)
            personality(ADDR_NO_RANDOMIZE); /* needed by older versions */
        words[count++] = job->tool == TOOL_TSAN ? job->files->loop_tsan : job->files->loop;
        words[count++] = job->what;
        words[count++] = job->pairs;
        words[count++] = job->threads;
        execvp(words[0], (char *const *)(uintptr_t)words);
        _exit(127);
    }
    close(pipes[1]);
    size_t length = child > 0 ? read_figure(pipes[0], text, sizeof text) : 0;
    close(pipes[0]);
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return fail(error, GORDIAN_STATUS_IO, "cannot measure: %s", strerror(errno));
    char *end = text;
    *ns = length ? strtod(text, &end) : 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || end == text || *ns <= 0)
        return fail(error, GORDIAN_STATUS_INPUT, "the %s loop failed under %s (status %d)",
                    job->what, tool_names[job->tool], status);
    return GORDIAN_OK;
}

static struct job job_for(const struct files *files, enum tool tool, const char *what,
                          uint64_t pairs, unsigned threads)
{
    struct job job = {.files = files, .tool = tool, .what = what};
    snprintf(job.pairs, sizeof job.pairs, "%llu", (unsigned long long)pairs);
    snprintf(job.threads, sizeof job.threads, "%u", threads);
    return job;
}

/* ------------------------------------------------------------------ available tools */

static bool find_files(struct files *files)
{
    if (!child_sibling("lock_loop_tsan", files->loop_tsan, sizeof files->loop_tsan))
        files->loop_tsan[0] = '\0';
    files->helgrind = child_in_path("valgrind");
    return child_gordian(files->gordian, sizeof files->gordian) &&
           child_sibling("lock_loop", files->loop, sizeof files->loop);
}

/* ------------------------------------------------------------------ rows */

struct plan {
    const char *what;
    unsigned threads;
    uint64_t pairs, helgrind_pairs;
    double bar, bar_without; /* ratio to native; 0: no target */
};

static gordian_status add_tool_row(struct bench *bench, const struct plan *plan, enum tool tool,
                                   const struct bench_side *side, double native)
{
    struct bench_row row = bench_measured(side, "ns", "run/%s/%s", plan->what, tool_names[tool]);
    row.baseline = tool == TOOL_NATIVE ? NULL : "native";
    row.baseline_value = native;
    row.ratio = side->median / native;
    double bar = tool == TOOL_SITES ? plan->bar : tool == TOOL_NO_SITES ? plan->bar_without : 0;
    if (bar > 0)
        bench_bar(&row, BAR_AT_MOST, bar);
    return bench_add(bench, &row);
}

/* Helgrind is hundreds of times slower: fewer pairs and samples, but the same run. */
static gordian_status measure_helgrind(struct bench *bench, const struct files *files,
                                       const struct plan *plan, double native)
{
    struct job job = job_for(files, TOOL_HELGRIND, plan->what, plan->helgrind_pairs, plan->threads);
    struct bench_side side = {.context = &job, .run = run_tool_job};
    struct bench_effort effort = {0, 1, 3, bench->options->quick ? 1 : 10};
    bench_progress(bench, "run: %s under helgrind", plan->what);
    TRY(bench_measure(bench, &side, 1, effort));
    return add_tool_row(bench, plan, TOOL_HELGRIND, &side, native);
}

static gordian_status measure_plan(struct bench *bench, const struct files *files,
                                   const struct plan *plan)
{
    struct job jobs[TOOL_HELGRIND];
    struct bench_side sides[TOOL_HELGRIND];
    struct bench_effort effort = {1, 5, 101, bench->options->quick ? 2 : 20};
    size_t count = files->loop_tsan[0] ? TOOL_HELGRIND : TOOL_TSAN;
    bench_progress(bench, "run: %s", plan->what);
    for (size_t i = 0; i < count; i++) {
        /* Contended threads need a while until all of them run. */
        uint64_t pairs = plan->pairs / (bench->options->quick && plan->threads == 1 ? 4 : 1);
        jobs[i] = job_for(files, (enum tool)i, plan->what, pairs / (i == TOOL_TSAN ? 8 : 1),
                          plan->threads);
        sides[i] = (struct bench_side){.context = &jobs[i], .run = run_tool_job};
    }
    gordian_status status = bench_measure(bench, sides, count, effort);
    double native = status == GORDIAN_OK ? sides[TOOL_NATIVE].median : 1;
    for (size_t i = 0; i < count && status == GORDIAN_OK; i++)
        status = add_tool_row(bench, plan, (enum tool)i, &sides[i], native);
    if (status == GORDIAN_OK && files->helgrind)
        status = measure_helgrind(bench, files, plan, native);
    return status;
}

gordian_status bench_of_run(struct bench *bench)
{
    static const struct plan plans[] = {
        {"mutex", 1, 1000000, 20000, 1.20, 1.05}, {"nested", 1, 1000000, 10000, 0, 0},
        {"rwlock", 1, 2000000, 20000, 0, 0},      {"contended", 8, 300000, 500, 1.5, 1.5},
        {"condition-round", 2, 5000, 500, 0, 0},
    };
    struct files files;
    if (!find_files(&files))
        return bench_skip(bench, "run/", "lock_loop was not found next to gordian");
    if (!files.loop_tsan[0] && bench_skip(bench, "run/*/tsan", "not built") != GORDIAN_OK)
        return GORDIAN_STATUS_IO;
    if (!files.helgrind &&
        bench_skip(bench, "run/*/helgrind", "valgrind is not installed") != GORDIAN_OK)
        return GORDIAN_STATUS_IO;
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        TRY(measure_plan(bench, &files, &plans[i]));

    return GORDIAN_OK;
}
