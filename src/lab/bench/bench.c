/* The table of benches, the loop that runs them, and the description of the machine. */
#include "lab/bench/bench.h"

#include "build-info.h"
#include "foundation/base/error.h"
#include "foundation/base/json/json_write.h"
#include "foundation/base/machine.h"
#include "foundation/base/nearest.h"
#include "lab/bench/harness/harness.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

const struct bench_info bench_list[] = {
    {"detect", "deadlock detection: chains, random load, multi-unit releases, check, memory, GPU",
     bench_detect},
    {"avoid", "deadlock avoidance: the thesis's worst cases, typical requests, many at once, GPU",
     bench_avoid},
    {"compose",
     "composition: reachable states compared with SPIN, the thesis's tables, growth, GPU, MPI",
     bench_compose},
    {"makespan", "worst-case makespans: evaluations, the paper's figure 7, proofs, intervals, GPU",
     bench_makespan},
    {"array", "a growable array on the GPU: the paper's experiment, grids, elements, pages, reads",
     bench_array},
    {"inspect",
     "a hanging program, compared with gdb: time to the answer, and pause of the program",
     bench_inspect},
    {"run", "watching programs: lock and unlock under `gordian run`, ThreadSanitizer, Helgrind",
     bench_of_run},
    {"mpi", "watching MPI programs: round trips of 8 bytes between two ranks under `gordian run`",
     bench_of_messages},
    {"collectives", "dumps of a training job of 100 000 ranks, from the files to the culprit",
     bench_collectives},
    {"serve",
     "the service compared with redis-server: throughput, latency, durability, many clients",
     bench_serve},
    {"shared", "many threads on one system: separate resources, a hot row; memory", bench_shared},
    {"read", "from the file to the answer: detect and check on text, compared with a reading loop",
     bench_read},
    {"check",
     "check of snapshots by one thread, by all cores and on a GPU, from the file to the answer",
     bench_check},
    {"watch", "overhead of `gordian watch` on a PostgreSQL server with 200 clients", bench_watch},
    {NULL, NULL, NULL},
};

/* ------------------------------------------------------------------ the machine */

static void print_machine(struct bench *bench)
{
    struct machine machine;
    machine_describe(&machine);
    if (!bench->options->json) {
        output_format(bench->out, "\n%s, %s, %u cores%s%s; %s; %s; commit %s\n", machine.system,
                      machine.cpu, machine.cores, bench->device[0] ? ", " : "", bench->device,
                      GORDIAN_BUILD_COMPILER, GORDIAN_BUILD_FLAGS, GORDIAN_BUILD_COMMIT);
        return;
    }
    char date[32], command[256];
    /* The date, and the command that repeats this run. */
    time_t now = time(NULL);
    struct tm parts;
    bool chosen = bench->options->engine && strcmp(bench->options->engine, "auto") != 0;
    if (!gmtime_r(&now, &parts) || !strftime(date, sizeof date, "%Y-%m-%d", &parts))
        date[0] = '\0';
    snprintf(command, sizeof command, "gordian bench %s%s%s%s",
             bench->options->name ? bench->options->name : "all",
             bench->options->quick ? " --quick" : "", chosen ? " --engine " : "",
             chosen ? bench->options->engine : "");
    struct json json;
    json_begin(&json, bench->out);
    json_key_text(&json, "machine", machine.system);
    json_key_text(&json, "cpu", machine.cpu);
    json_key_u64(&json, "cores", machine.cores);
    if (bench->device[0])
        json_key_text(&json, "device", bench->device);
    json_key_text(&json, "compiler", GORDIAN_BUILD_COMPILER);
    json_key_text(&json, "flags", GORDIAN_BUILD_FLAGS);
    json_key_text(&json, "commit", GORDIAN_BUILD_COMMIT);
    json_key_text(&json, "date", date);
    json_key_text(&json, "command", command);
    json_key_bool(&json, "quick", bench->options->quick);
    json_end(&json);
}

/* ------------------------------------------------------------------ running */

static gordian_status check_bench_engine(const char *name, gordian_error *error)
{
    if (!name || strcmp(name, "auto") == 0)
        return GORDIAN_OK;
    gordian_engine_info info;
    for (size_t i = 0; gordian_engine(i, &info) == GORDIAN_OK; i++)
        if (strcmp(info.name, name) == 0)
            return info.available ? GORDIAN_OK
                                  : fail(error, GORDIAN_STATUS_UNAVAILABLE, "engine '%s': %s", name,
                                         info.reason);
    return fail(error, GORDIAN_STATUS_INPUT, "unknown engine '%s'", name);
}

static gordian_status check_bench_name(const char *name, gordian_error *error)
{
    char list[256] = "";
    struct nearest nearest = {.typed = name, .length = name ? strlen(name) : 0};
    for (const struct bench_info *info = bench_list; info->name; info++) {
        if (!name || strcmp(info->name, name) == 0)
            return GORDIAN_OK;
        nearest_offer(&nearest, info->name);
        strncat(list, info == bench_list ? "" : ", ", sizeof list - strlen(list) - 1);
        strncat(list, info->name, sizeof list - strlen(list) - 1);
    }
    const char *found = nearest_found(&nearest);
    return fail(error, GORDIAN_STATUS_INPUT, "unknown bench '%.40s'%s%s%s", name,
                found ? "; did you mean '" : ": one of ", found ? found : list, found ? "'?" : "");
}

gordian_status bench_run(const struct bench_options *options, struct output *out,
                         gordian_error *error)
{
    gordian_status status = check_bench_name(options->name, error);
    THEN(status, check_bench_engine(options->engine, error));
    struct bench bench = {
        .options = options, .out = out, .error = error, .memory = memory_allocator(NULL)};
    for (const struct bench_info *info = bench_list; info->name && status == GORDIAN_OK; info++)
        if (!options->name || strcmp(info->name, options->name) == 0)
            status = info->run(&bench);
    if (status == GORDIAN_OK) {
        size_t bars = 0, met = 0;
        for (size_t i = 0; i < bench.row_count; i++) {
            bars += bench.rows[i].bar_kind != BAR_NONE;
            met += bench.rows[i].bar_kind != BAR_NONE && bench_met(&bench.rows[i]);
        }
        if (bars && !bench.options->json)
            output_format(bench.out, "\n%zu of %zu targets met\n", met, bars);
        print_machine(&bench);
        status = bench_flush(&bench);
    }
    if (status == GORDIAN_OK && options->svg)
        status = bench_plot(&bench, options->svg);
    memory_free(&bench.memory, bench.rows);
    return status;
}
