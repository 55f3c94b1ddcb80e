/* `check` with one thread and with all cores: the analysis alone, and the whole command from a text
 * file and from a packed one; and from a packed file on a GPU. Wall-clock time. */
#include "lab/bench/harness/harness.h"

#include "foundation/base/error.h"
#include "foundation/base/io/source.h"
#include "foundation/base/io/temporary.h"
#include "foundation/base/machine.h"
#include "foundation/base/random.h"
#include "foundation/gpu/gpu.h"
#include "lab/bench/harness/child.h"
#include "sources/gen/gen.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ------------------------------------------------------------------ the analysis alone */

struct judging {
    gordian_snapshot *snapshot;
    unsigned threads;
    size_t *dead; /* both sides must find the same number */
};

static gordian_status run_threaded_judgement(void *context, double *ns, gordian_error *error)
{
    struct judging *judging = context;
    gordian_report report = {0};
    uint32_t id;
    /* Add an idle process, so that no earlier answer can be reused. */
    gordian_status status = gordian_snapshot_add_process(judging->snapshot, &id, error);
    uint64_t start = clock_ns();
    THEN(status, gordian_snapshot_check_for(judging->snapshot,
                                            &(gordian_check_options){"sparse", judging->threads},
                                            &report, error));
    *ns = (double)(clock_ns() - start);
    if (status == GORDIAN_OK && *judging->dead != SIZE_MAX &&
        *judging->dead != report.deadlocked_count)
        status = fail(error, GORDIAN_STATUS_INPUT, "check: %zu dead, then %zu", *judging->dead,
                      report.deadlocked_count);
    *judging->dead = report.deadlocked_count;
    return status;
}

/* Number of waits, their units, and the units of a resource. */
struct load {
    const char *name;
    uint32_t units, waits;
};

/* Adds as many processes as resources; each holds some and most wait for others, at random. */
static gordian_status build_load(gordian_snapshot *snapshot, const struct load *load, uint32_t size,
                                 uint64_t seed, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    struct random random;
    random_seed(&random, seed);
    for (uint32_t i = 0; i < size && status == GORDIAN_OK; i++) {
        status = gordian_snapshot_add_process(snapshot, NULL, error);
        THEN(status, gordian_snapshot_add_resource(snapshot, load->units, NULL, error));
    }
    for (uint32_t q = 0; q < size && status == GORDIAN_OK; q++)
        for (uint32_t u = 0; u < load->units && status == GORDIAN_OK; u++)
            status =
                gordian_snapshot_hold(snapshot, (uint32_t)random_below(&random, size), q, 1, error);
    for (uint32_t p = 0; p < size && status == GORDIAN_OK; p++)
        for (uint32_t w = random_chance(&random, 30) ? load->waits : 0;
             w < load->waits && status == GORDIAN_OK; w++)
            status =
                gordian_snapshot_wait(snapshot, p, (uint32_t)random_below(&random, size), 1, error);
    return status;
}

static struct bench_row check_row_of(const struct bench_side sides[2], const char *what,
                                     uint32_t size)
{
    struct bench_row row = bench_measured(&sides[0], "ms", "check/%s-%u", what, size);
    bench_against(&row, "one thread", &sides[1]);
    return row;
}

static gordian_status judge_row(struct bench *bench, const struct load *load, uint32_t size)
{
    size_t dead = SIZE_MAX;
    gordian_snapshot *snapshot;
    bench_progress(bench, "judging, %s, %u processes", load->name, size);
    gordian_status status = gordian_snapshot_open(&snapshot, NULL, bench->error);
    THEN(status, build_load(snapshot, load, size, bench->options->seed, bench->error));
    struct judging many = {snapshot, 0, &dead}, one = {snapshot, 1, &dead};
    struct bench_side sides[2] = {{&many, run_threaded_judgement}, {&one, run_threaded_judgement}};
    struct bench_effort effort = {1, 3, 15, bench->options->quick ? 2 : 10};
    THEN(status, bench_measure(bench, sides, 2, effort));
    if (status == GORDIAN_OK) {
        struct bench_row row = check_row_of(sides, load->name, size);
        bench_note(&row, "the analysis alone, on all cores; %zu are dead", dead);
        status = bench_add(bench, &row);
    }
    gordian_snapshot_close(snapshot);
    return status;
}

/* ------------------------------------------------------------------ the command */

struct command {
    char path[4096];
    const char *engine, *threads;
};

/* Runs the command from its start to its exit, including the report. */
static gordian_status run_check_command(void *context, double *ns, gordian_error *error)
{
    const struct command *command = context;
    int status;
    uint64_t start = clock_ns();
    pid_t child = fork();
    if (child == 0) {
        const char *words[] = {"gordian",        "check",         "--quiet",
                               "--engine",       command->engine, "--threads",
                               command->threads, command->path,   NULL};
        char gordian[PATH_MAX];
        int nowhere = open("/dev/null", O_WRONLY);
        if (nowhere >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0 &&
            child_gordian(gordian, sizeof gordian))
            execv(gordian, (char *const *)(uintptr_t)words);
        _exit(127);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            child = -1;
    *ns = (double)(clock_ns() - start);
    if (child < 0)
        return fail(error, GORDIAN_STATUS_IO, "cannot run gordian: %s", strerror(errno));
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) /* 1: deadlocks were found */
        return fail(error, GORDIAN_STATUS_INPUT, "gordian check failed");
    return GORDIAN_OK;
}

static gordian_status write_snapshot_file(struct command *command,
                                          const struct gen_options *options, bool packed,
                                          gordian_error *error)
{
    struct output out;
    int fd;
    TRY(temporary_file("gordian-check", "", command->path, sizeof command->path, &fd, error));
    gordian_status status = output_open(&out, fd) ? GORDIAN_OK : fail_memory(error);
    const gordian_writer writer = output_as_writer(&out);
    THEN(status, packed ? gen_pack(options, &writer, error) : gen_write(options, &out, error));
    if (!output_close(&out) && status == GORDIAN_OK)
        status = fail(error, GORDIAN_STATUS_IO, "%s: %s", command->path, strerror(out.failure));
    close(fd);
    return status;
}

static struct gen_options chains_of(const struct bench *bench, uint32_t size)
{
    struct gen_options options = gen_options_of("chains", bench->options->seed, size);
    options.resources = options.processes;
    options.length = 100;
    options.cycles = 10;
    options.snapshot = true;
    return options;
}

#define TEXT_SIZE 10000000

/* Target with 16 cores: an eighth of the time for the text of that size. */
static gordian_status command_row(struct bench *bench, uint32_t size, bool packed)
{
    struct command many = {.engine = "sparse", .threads = "0"};
    struct gen_options options = chains_of(bench, size);
    struct machine machine;
    bench_progress(bench, "check, %s, %u processes", packed ? "packed" : "text", size);
    machine_describe(&machine);
    gordian_status status = write_snapshot_file(&many, &options, packed, bench->error);
    struct command one = many;
    one.threads = "1";
    struct bench_side sides[2] = {{&many, run_check_command}, {&one, run_check_command}};
    struct bench_effort effort = {1, 3, 9, bench->options->quick ? 3 : 40};
    THEN(status, bench_measure(bench, sides, 2, effort));
    if (status == GORDIAN_OK) {
        struct bench_row row = check_row_of(sides, packed ? "packed" : "text", size);
        row.bar_kind =
            !packed && machine.cores >= 16 && size == TEXT_SIZE ? BAR_AT_LEAST : BAR_NONE;
        row.bar = 8;
        bench_note(&row, "from the file to the answer, on all cores");
        status = bench_add(bench, &row);
    }
    if (many.path[0])
        unlink(many.path);
    return status;
}

/* ------------------------------------------------------------------ a GPU */

#define GPU_SIZE 100000000 /* number of processes, and of resources: target is one second */

static gordian_status gpu_row(struct bench *bench, uint32_t size)
{
    char why[256];
    struct command gpu = {.engine = "cuda", .threads = "0"};
    if (gpu_count(why, sizeof why) == 0)
        return bench_skip(bench, "check/packed-gpu", why);
    struct gen_options options = chains_of(bench, size);
    bench_progress(bench, "check, packed, on a GPU, %u processes", size);
    gordian_status status = write_snapshot_file(&gpu, &options, true, bench->error);
    struct command cpu = gpu;
    cpu.engine = "sparse";
    struct bench_side sides[2] = {{&gpu, run_check_command}, {&cpu, run_check_command}};
    struct bench_effort effort = {1, 3, 9, bench->options->quick ? 5 : 60};
    THEN(status, bench_measure(bench, sides, 2, effort));
    if (status == GORDIAN_OK) {
        struct bench_row row = check_row_of(sides, "packed-gpu", size);
        row.baseline = "all cores";
        bench_bar(&row, size == GPU_SIZE ? BAR_VALUE_AT_MOST : BAR_NONE, 1000);
        bench_note(&row, "the whole command, including opening the device");
        status = bench_add(bench, &row);
    }
    if (gpu.path[0])
        unlink(gpu.path);
    return status;
}

gordian_status bench_check(struct bench *bench)
{
    static const struct load loads[] = {{"single", 1, 1}, {"multi", 3, 1}, {"general", 3, 2}};
    const bool quick = bench->options->quick;
    for (unsigned i = 0; i < 3; i++)
        TRY(judge_row(bench, &loads[i], quick ? 1000000 : i ? 3000000 : 10000000));
    TRY(command_row(bench, quick ? 1000000 : TEXT_SIZE, false));
    TRY(command_row(bench, quick ? 1000000 : 10000000, true));
    return gpu_row(bench, quick ? 10000000 : GPU_SIZE);
}
