/* `gordian inspect`: the time until it names the deadlock of a hanging program, and how long it
 * pauses the program, compared with gdb, which prints every thread's stack without an analysis. */
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
#include <sys/wait.h>
#include <unistd.h>

#define SAMPLES_MOST 41

/* The hanging program; see hung.c. */
struct target {
    pid_t pid;
    FILE *orders, *answers;
};

/* A tool that inspects it. */
struct inspecting_tool {
    struct target *target;
    const char *const *words;
    int status;         /* its exit status */
    const char *answer; /* expected in its output */
    double pauses[SAMPLES_MOST + 1];
    size_t pause_count;
};

/* ------------------------------------------------------------------ the hanging program */

static void close_target(struct target *target)
{
    if (target->orders)
        fclose(target->orders); /* the end of its input ends it */
    if (target->answers)
        fclose(target->answers);
    if (target->pid > 0)
        waitpid(target->pid, NULL, 0);
    *target = (struct target){0};
}

/* Returns the longest pause since the last call, in nanoseconds; below 0: the program has ended. */
static double take_pause(struct target *target)
{
    char text[32] = "";
    bool sent = fputc('\n', target->orders) != EOF && fflush(target->orders) == 0 &&
                fgets(text, sizeof text, target->answers);
    return sent ? strtod(text, NULL) : -1;
}

/* ------------------------------------------------------------------ inspecting it */

static gordian_status inspect_target(void *context, double *ns, gordian_error *error)
{
    static char text[1 << 20];
    struct inspecting_tool *inspecting_tool = context;
    take_pause(inspecting_tool->target);
    uint64_t start = clock_ns();
    int status = child_status("/", inspecting_tool->words, text, sizeof text);
    *ns = (double)(clock_ns() - start);
    double pause = take_pause(inspecting_tool->target);
    if (status != inspecting_tool->status || !strstr(text, inspecting_tool->answer) || pause < 0)
        return fail(error, GORDIAN_STATUS_INPUT, "%s of a hanging program: exit status %d: %.200s",
                    inspecting_tool->words[0], status, text);
    if (inspecting_tool->pause_count <= SAMPLES_MOST)
        inspecting_tool->pauses[inspecting_tool->pause_count++] = pause;
    return GORDIAN_OK;
}

static gordian_status add_inspect_row(struct bench *bench, unsigned threads, const char *what,
                                      double ours, double theirs, const char *note)
{
    struct bench_row row = bench_row("ms", "inspect/threads-%u/%s", threads, what);
    row.value = ours / 1e6;
    row.baseline = theirs > 0 ? "gdb" : NULL;
    row.baseline_value = theirs / 1e6;
    bench_note(&row, "%s", note);
    return bench_add(bench, &row);
}

static gordian_status measure_target(struct bench *bench, const char *gordian, const char *program,
                                     unsigned threads, bool gdb)
{
    char pid[12];
    struct target target;
    const char *const ours[] = {gordian, "inspect", pid, NULL};
    const char *const theirs[] = {"gdb", "-nx", "-batch", "-p", pid, "-ex", "thread apply all bt",
                                  NULL};
    struct inspecting_tool inspecting_tools[2] = {{&target, ours, 1, "deadlock, proved", {0}, 0},
                                                  {&target, theirs, 0, "take_both", {0}, 0}};
    struct bench_side sides[2] = {{.context = &inspecting_tools[0], .run = inspect_target},
                                  {.context = &inspecting_tools[1], .run = inspect_target}};
    struct bench_effort effort = {1, 3, SAMPLES_MOST, bench->options->quick ? 2 : 15};
    bench_progress(bench, "inspect: %u threads", threads);
    int in[2], out[2];
    char text[16] = "";
    target = (struct target){0};
    if (pipe2(in, O_CLOEXEC) != 0)
        return fail(bench->error, GORDIAN_STATUS_IO, "cannot measure: %s", strerror(errno));
    if (pipe2(out, O_CLOEXEC) != 0) {
        close(in[0]);
        close(in[1]);
        return fail(bench->error, GORDIAN_STATUS_IO, "cannot measure: %s", strerror(errno));
    }
    target.pid = fork();
    if (target.pid == 0) {
        char count[12];
        snprintf(count, sizeof count, "%u", threads);
        if (dup2(in[0], STDIN_FILENO) >= 0 && dup2(out[1], STDOUT_FILENO) >= 0)
            execl(program, program, count, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    target.orders = fdopen(in[1], "w");
    target.answers = fdopen(out[0], "r");
    if (target.pid < 0 || !target.orders || !target.answers ||
        !fgets(text, sizeof text, target.answers) || strcmp(text, "ready\n") != 0) {
        close_target(&target);
        return fail(bench->error, GORDIAN_STATUS_IO, "the hanging program does not start");
    }
    snprintf(pid, sizeof pid, "%d", (int)target.pid);
    gordian_status status = bench_measure(bench, sides, gdb ? 2 : 1, effort);
    close_target(&target);
    THEN(status, add_inspect_row(
                     bench, threads, "answer", sides[0].median, gdb ? sides[1].median : 0,
                     "until the deadlock is named; gdb: until every thread's stack is printed"));
    double pauses[2] = {0};
    for (int i = 0; i < 1 + gdb && status == GORDIAN_OK; i++)
        pauses[i] = bench_median(inspecting_tools[i].pauses, inspecting_tools[i].pause_count);
    THEN(status,
         add_inspect_row(bench, threads, "pause", pauses[0], pauses[1],
                         "the longest pause of a thread that reads the clock every 0.1 ms"));
    return status;
}

gordian_status bench_inspect(struct bench *bench)
{
    static const unsigned sizes[] = {3, 100, 1000};
    char gordian[PATH_MAX], program[PATH_MAX];
    bool gdb = child_in_path("gdb");
    if (!child_gordian(gordian, sizeof gordian) ||
        !child_sibling("src/lab/bench/hung", program, sizeof program))
        return bench_skip(bench, "inspect/", "the hanging program was not found next to gordian");
    if (!gdb && bench_skip(bench, "inspect/*/gdb", "gdb is not installed") != GORDIAN_OK)
        return GORDIAN_STATUS_IO;
    for (size_t i = 0; i < (bench->options->quick ? 2 : 3); i++)
        TRY(measure_target(bench, gordian, program, sizes[i], gdb));
    return GORDIAN_OK;
}
