/* The interface of the cuda engine to the table of engines (cuda.h). */
#include "engines/compose/cuda/cuda.h"

#include "engines/compose/cuda/cuda_internal.h"
#include "engines/compose/engine/engine.h"
#include "foundation/base/error.h"
#include "foundation/gpu/work.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ counting */

/* Checks whether a set that is not closed has too many joint firings to enumerate. Counts as if the
 * set were closed, which needs no enumeration. */
static gordian_status too_many(struct compose_device *device, bool *many, gordian_error *error)
{
    struct compose_counts counts = {0};
    uint64_t most = UINT64_C(1) << (device->info.emulated ? 24 : 36);
    device->set.closed = 1;
    gordian_status status = compose_device_count(device, true, &counts, error);
    device->set.closed = 0;
    *many = compose_joint_total(&counts) > most;
    return status;
}

/* Counts into the result. *stuck: states without an enabled firing. */
static gordian_status count_on_device(struct compose_device *device, gordian_compose_result *result,
                                      uint64_t *stuck, gordian_error *error)
{
    const gordian_compose_options *options = device->options;
    struct compose_counts counts = {0};
    bool joint = options->count_transitions && !options->indivisible, many = false;
    if (joint && !device->set.closed)
        TRY(too_many(device, &many, error));
    TRY(compose_device_count(device, joint && !many, &counts, error));
    result->states = device->set.count;
    if (options->count_transitions && !many)
        result->transitions = joint ? compose_joint_total(&counts) : counts.firings;
    if (many)
        compose_omit_transitions(result);
    if (result->transitions == UINT64_MAX)
        snprintf(result->note, sizeof result->note,
                 "there are more than 2^64 transitions: their number is not exact");
    device->progress.transitions = result->transitions;
    *stuck = counts.deadlocks;
    return GORDIAN_OK;
}

/* Explores all combinations; only reachable deadlocks count. Afterwards the set contains all
 * combinations again. */
static gordian_status run_cuda_full(struct compose_device *device, gordian_compose_result *result,
                                    gordian_error *error)
{
    uint64_t most = device->options->max_states, stuck = 0, states;
    gordian_status status = compose_device_take_all(device, most, error);
    THEN(status, count_on_device(device, result, &stuck, error));
    if (status != GORDIAN_OK || stuck == 0)
        return status;
    gordian_compose_stop stop = device->stop;
    gordian_compose_options plain = *device->options;
    const gordian_compose_options *own = device->options;
    uint64_t below =
        stop == GORDIAN_COMPOSE_STOP_STATES ? packed_of_number(device->packed, most) : UINT64_MAX;
    plain.max_states = 0;
    device->options = &plain;
    status = compose_device_explore(device, &states, error);
    if (status == GORDIAN_OK)
        status = device_dead(device, &(struct dead_question){.below = below}, NULL, 0,
                             &result->deadlocks, error);
    THEN(status, device_describe(device, result->deadlocks, true, below, result, error));
    device->options = own;
    gordian_compose_stop reaching = device->stop;
    THEN(status, compose_device_take_all(device, most, error));
    device->stop = reaching != GORDIAN_COMPOSE_STOP_COMPLETE ? reaching : stop;
    return status;
}

static gordian_status run_cuda_reachable(struct compose_device *device,
                                         gordian_compose_result *result, gordian_error *error)
{
    uint64_t states;
    gordian_compose_phase *phase = compose_phase(result, "levels");
    result->workers = 1;
    gordian_status status = compose_device_explore(device, &states, error);
    compose_phase_end(phase);
    if (phase)
        phase->rounds = device->rounds;
    phase = compose_phase(result, "count");
    THEN(status, count_on_device(device, result, &result->deadlocks, error));
    compose_phase_end(phase);
    phase = compose_phase(result, "ways");
    THEN(status, device_describe(device, result->deadlocks, false, UINT64_MAX, result, error));
    compose_phase_end(phase);
    return status;
}

/* ------------------------------------------------------------------ running */

struct cuda_run {
    const gordian_circuit *circuit;
    const gordian_compose_options *options;
    const gordian_compose_sink *sink;
    gordian_compose_result *result;
    const struct compose_tuning *tuning;
    bool delivering; /* the sink has rows: the CPU cannot start over */
};

static gordian_status run_on_gpu(void *context, struct gpu *gpu, gordian_error *error)
{
    struct cuda_run *run = context;
    const gordian_compose_sink *sink = run->sink;
    gordian_compose_result *result = run->result;
    struct compose_device *device;
    gordian_status status =
        compose_device_open(&device, gpu, run->tuning, run->circuit, run->options, error);
    if (status == GORDIAN_OK) {
        status = run->options->full ? run_cuda_full(device, result, error)
                                    : run_cuda_reachable(device, result, error);
        uint64_t transitions = run->options->count_transitions ? result->transitions : UINT64_MAX;
        run->delivering = status == GORDIAN_OK && sink;
        if (run->delivering)
            status = result->uncounted
                         ? sink->begin(sink->context, run->circuit, result->states, 0, error)
                         : device_deliver(device, result->states, transitions, sink, error);
        result->stop = device->stop;
        result->memory = device->most;
        compose_device_close(device);
    }
    if (status != GORDIAN_OK)
        gordian_compose_result_free(result);
    return status;
}

static gordian_status begin_result(const struct cuda_run *run, gordian_error *error)
{
    *run->result = (gordian_compose_result){.allocator = memory_allocator(run->options->allocator),
                                            .engine = compose_cuda.about.name};
    return compose_take_order(run->circuit, run->options, run->result, error);
}

gordian_status compose_cuda_on(struct gpu *gpu, const struct compose_tuning *tuning,
                               const gordian_circuit *circuit,
                               const gordian_compose_options *options,
                               const gordian_compose_sink *sink, gordian_compose_result *result,
                               gordian_error *error)
{
    struct cuda_run run = {circuit, options, sink, result, tuning, false};
    TRY(begin_result(&run, error));
    return run_on_gpu(&run, gpu, error);
}

static gordian_status compose_on_cpu(void *context, gordian_error *error)
{
    struct cuda_run *run = context;
    gordian_compose_result_free(run->result);
    return compose_cpu.run(run->circuit, run->options, run->sink, run->result, error);
}

static gordian_status compose_cuda_run(const gordian_circuit *circuit,
                                       const gordian_compose_options *options,
                                       const gordian_compose_sink *sink,
                                       gordian_compose_result *result, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(options->allocator);
    struct cuda_run run = {circuit, options, sink, result, NULL, false};
    struct gpu_work work = {.context = &run,
                            .on_device = run_on_gpu,
                            .on_cpu = compose_on_cpu,
                            .too_late = &run.delivering,
                            .note = result->note,
                            .note_size = sizeof result->note};
    TRY(begin_result(&run, error));
    gordian_status status = gpu_work(&work, &memory, error);
    if (status != GORDIAN_OK)
        gordian_compose_result_free(result);
    return status;
}

const struct compose_engine compose_cuda = {
    .about.name = "cuda",
    .about.summary = "reachable states and product on an NVIDIA GPU, states of up to 62 bits",
    .about.available = gpu_available,
    .about.supports = packed_supports,
    .run = compose_cuda_run,
};
