/* `gordian run` and MPI: what 8 bytes to and fro between two ranks cost with the layer that watches
 * them, beside the same program alone, in the same run. */
#define _GNU_SOURCE
#include "harness.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RATIO_MOST 1.2

struct job {
    char gordian[PATH_MAX], program[PATH_MAX];
    char rounds[24];
    bool watched;
};

/* Root, in a container, with more ranks than cores: fine for a measurement. */
static void set_environment(void)
{
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 0);
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    setenv("HWLOC_COMPONENTS", "-gl", 0);
}

static _Noreturn void become(const struct job *job, int out)
{
    char *words[10] = {NULL};
    size_t count = 0;
    static char run[] = "run", quiet[] = "--quiet", mpirun[] = "mpirun", option[] = "-n",
                two[] = "2";
    dup2(out, STDOUT_FILENO);
    set_environment();
    if (job->watched) {
        words[count++] = (char *)(uintptr_t)job->gordian;
        words[count++] = run;
        words[count++] = quiet;
    }
    words[count++] = mpirun;
    words[count++] = option;
    words[count++] = two;
    words[count++] = (char *)(uintptr_t)job->program;
    words[count++] = (char *)(uintptr_t)job->rounds;
    execvp(words[0], words);
    _exit(127);
}

/* The program's own figure: nanoseconds a round. */
static gordian_status run_job(void *context, double *ns, gordian_error *error)
{
    const struct job *job = context;
    int pipes[2], status = 0;
    char text[64] = "";
    if (pipe2(pipes, O_CLOEXEC) != 0)
        return fail(error, GORDIAN_STATUS_IO, "cannot measure: %s", strerror(errno));
    pid_t child = fork();
    if (child == 0)
        become(job, pipes[1]);
    close(pipes[1]);
    FILE *out = fdopen(pipes[0], "r");
    bool told = out && child > 0 && fgets(text, sizeof text, out);
    if (out)
        fclose(out);
    else
        close(pipes[0]);
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return fail(error, GORDIAN_STATUS_IO, "cannot measure: %s", strerror(errno));
    *ns = told ? strtod(text, NULL) : 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || *ns <= 0)
        return fail(error, GORDIAN_STATUS_INPUT, "the ping-pong failed %s (status %d)",
                    job->watched ? "under gordian run" : "alone", status);
    return GORDIAN_OK;
}

static bool find_program(struct job *job)
{
    ssize_t length = readlink("/proc/self/exe", job->gordian, sizeof job->gordian - 1);
    if (length <= 0)
        return false;
    job->gordian[length] = '\0';
    int folder = (int)(strrchr(job->gordian, '/') - job->gordian);
    snprintf(job->program, sizeof job->program, "%.*s/bench/ping_pong", folder, job->gordian);
    return access(job->program, X_OK) == 0;
}

static gordian_status add_row(struct bench *bench, const char *name, const struct bench_side *side,
                              const struct bench_side *native)
{
    struct bench_row row = bench_row("ns", "mpi/ping-pong/%s", name);
    row.value = side->median;
    row.p99 = side->p99;
    row.baseline = side == native ? NULL : "native";
    row.baseline_value = native->median;
    row.ratio = side->median / native->median;
    if (side != native) {
        row.bar_kind = BAR_AT_MOST;
        row.bar = RATIO_MOST;
    }
    return bench_add(bench, &row);
}

gordian_status bench_of_messages(struct bench *bench)
{
    struct job native = {.watched = false};
    struct bench_effort effort = {1, 5, 41, bench->options->quick ? 4 : 20};
    if (!find_program(&native))
        return bench_skip(bench, "mpi/", "built without an MPI");
    snprintf(native.rounds, sizeof native.rounds, "%d", bench->options->quick ? 20000 : 100000);
    struct job watched = native;
    watched.watched = true;
    struct bench_side sides[] = {{.context = &native, .run = run_job},
                                 {.context = &watched, .run = run_job}};
    bench_progress(bench, "mpi: 8 bytes to and fro");
    gordian_status status = bench_measure(bench, sides, 2, &effort);
    if (status == GORDIAN_OK)
        status = add_row(bench, "native", &sides[0], &sides[0]);
    return status == GORDIAN_OK ? add_row(bench, "run", &sides[1], &sides[0]) : status;
}
