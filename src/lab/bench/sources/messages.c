/* `gordian run` and MPI: round trips of 8 bytes between two ranks under the layer that watches
 * them, compared with the same program alone. Both programs run all the time, and play small
 * batches in turn: other load affects both alike, and the medians leave it out. */
#define _GNU_SOURCE
#include "lab/bench/harness/harness.h"

#include "foundation/base/error.h"
#include "foundation/base/io/temporary.h"
#include "lab/bench/harness/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define RATIO_MOST 1.2
#define RANKS      2
#define ROUNDS     1000 /* in a batch */

struct job {
    const char *gordian, *program;
    bool watched;
    char folder[4000]; /* folder of the pipes */
    int orders[RANKS]; /* one for each rank; -1 */
    FILE *out;
    pid_t child; /* 0: none */
};

/* ------------------------------------------------------------------ the program */

static bool make_pipes(struct job *job)
{
    char path[sizeof job->folder + 8];
    for (int rank = 0; rank < RANKS; rank++) {
        snprintf(path, sizeof path, "%s/%d", job->folder, rank);
        if (mkfifo(path, 0600) != 0)
            return false;
        /* Also for reading, so that the open does not wait for a reader. */
        job->orders[rank] = open(path, O_RDWR | O_CLOEXEC);
        if (job->orders[rank] < 0)
            return false;
    }
    return true;
}

static gordian_status start_job(struct job *job, gordian_error *error)
{
    int pipes[2];
    TRY(temporary_folder("gm", job->folder, sizeof job->folder, error));
    if (!make_pipes(job) || pipe2(pipes, O_CLOEXEC) != 0)
        return fail(error, GORDIAN_STATUS_IO, "cannot measure: %s", strerror(errno));
    job->child = fork();
    if (job->child == 0) {
        const char *words[10] = {NULL};
        size_t count = 0;
        dup2(pipes[1], STDOUT_FILENO);
        /* Allow root, in a container, with more ranks than cores: fine for a measurement. */
        setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
        setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
        setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 0);
        setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
        setenv("HWLOC_COMPONENTS", "-gl", 0);
        if (job->watched) {
            words[count++] = job->gordian;
            words[count++] = "run";
            words[count++] = "--quiet";
        }
        words[count++] = "mpirun";
        words[count++] = "-n";
        words[count++] = "2";
        words[count++] = job->program;
        words[count++] = job->folder;
        execvp(words[0], (char *const *)(uintptr_t)words);
        _exit(127);
    }
    close(pipes[1]);
    job->out = fdopen(pipes[0], "r");
    if (!job->out)
        close(pipes[0]);
    if (job->child < 0 || !job->out)
        return fail(error, GORDIAN_STATUS_IO, "cannot measure: %s", strerror(errno));
    return GORDIAN_OK;
}

/* The ranks exit when their pipes close. */
static void end_mpi_job(struct job *job)
{
    for (int rank = 0; rank < RANKS; rank++)
        if (job->orders[rank] >= 0)
            close(job->orders[rank]);
    if (job->child > 0)
        waitpid(job->child, NULL, 0);
    if (job->out)
        fclose(job->out);
    temporary_remove(job->folder);
}

/* Plays a batch; returns the program's measurement: nanoseconds per round. */
static gordian_status run_mpi_job(void *context, double *ns, gordian_error *error)
{
    const struct job *job = context;
    const int rounds = ROUNDS;
    char text[64] = "";
    bool sent = true;
    for (int rank = 0; rank < RANKS && sent; rank++)
        sent = write(job->orders[rank], &rounds, sizeof rounds) == (ssize_t)sizeof rounds;
    sent = sent && fgets(text, sizeof text, job->out);
    *ns = sent ? strtod(text, NULL) : 0;
    if (*ns <= 0)
        return fail(error, GORDIAN_STATUS_INPUT, "the ping-pong failed %s",
                    job->watched ? "under gordian run" : "alone");
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ the measurement */

static gordian_status add_messages_row(struct bench *bench, const char *name,
                                       const struct bench_side *side,
                                       const struct bench_side *native)
{
    struct bench_row row = bench_measured(side, "ns", "mpi/ping-pong/%s", name);
    bench_against(&row, side == native ? NULL : "native", native);
    row.ratio = side->median / native->median;
    if (side != native)
        bench_bar(&row, BAR_AT_MOST, RATIO_MOST);
    return bench_add(bench, &row);
}

static gordian_status measure_jobs(struct bench *bench, struct job *native, struct job *watched)
{
    /* The watching layer begins with recording operations to replay at the end. The warm-up is
     * longer than that. */
    struct bench_effort effort = {16, 25, 2001, bench->options->quick ? 4 : 20};
    struct bench_side sides[] = {{.context = native, .run = run_mpi_job},
                                 {.context = watched, .run = run_mpi_job}};
    TRY(start_job(native, bench->error));
    TRY(start_job(watched, bench->error));
    TRY(bench_measure(bench, sides, 2, effort));
    TRY(add_messages_row(bench, "native", &sides[0], &sides[0]));
    return add_messages_row(bench, "run", &sides[1], &sides[0]);
}

gordian_status bench_of_messages(struct bench *bench)
{
    char gordian[PATH_MAX], program[PATH_MAX + 32];
    if (!child_gordian(gordian, sizeof gordian) ||
        !child_sibling("src/lab/bench/ping_pong", program, sizeof gordian))
        return bench_skip(bench, "mpi/", "built without an MPI");
    struct job native = {.gordian = gordian, .program = program, .orders = {-1, -1}};
    struct job watched = native;
    watched.watched = true;
    bench_progress(bench, "mpi: round trips of 8 bytes");
    gordian_status status = measure_jobs(bench, &native, &watched);
    end_mpi_job(&native);
    end_mpi_job(&watched);
    return status;
}
