/* The cuda engine as the table of engines sees it (cuda.h). */
#include "engines/compose/cuda/cuda.h"

#include "engines/compose/cuda/cuda_internal.h"
#include "engines/compose/engine/engine.h"
#include "foundation/base/error.h"
#include "foundation/gpu/work.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ counting */

/* In a set that is not closed joint firings have to be looked at one by one: are there too many for
 * that? */
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

/* Counts into the result, and leaves how many states are stuck. */
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
        compose_leave_out(result);
    if (result->transitions == UINT64_MAX)
        snprintf(result->note, sizeof result->note,
                 "there are more than 2^64 transitions: their number is not exact");
    device->progress.transitions = result->transitions;
    *stuck = counts.deadlocks;
    return GORDIAN_OK;
}

/* All combinations; deadlocks are those that can be reached. The set is all of them again in the
 * end. */
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

static gordian_status run_on_gpu(struct gpu *gpu, const struct compose_tuning *tuning,
                                 const gordian_circuit *circuit,
                                 const gordian_compose_options *options,
                                 const gordian_compose_sink *sink, gordian_compose_result *result,
                                 bool *delivering, gordian_error *error)
{
    struct compose_device *device;
    TRY(compose_device_open(&device, gpu, tuning, circuit, options, error));
    gordian_status status = options->full ? run_cuda_full(device, result, error)
                                          : run_cuda_reachable(device, result, error);
    if (status == GORDIAN_OK && sink) {
        *delivering = true;
        status = result->uncounted
                     ? sink->begin(sink->context, circuit, result->states, 0, error)
                     : device_deliver(device, result->states,
                                      options->count_transitions ? result->transitions : UINT64_MAX,
                                      sink, error);
    }
    result->stop = device->stop;
    result->memory = device->most;
    compose_device_close(device);
    return status;
}

static gordian_status begin_result(const gordian_circuit *circuit,
                                   const gordian_compose_options *options,
                                   gordian_compose_result *result, gordian_error *error)
{
    *result = (gordian_compose_result){.allocator = memory_allocator(options->allocator),
                                       .engine = compose_cuda.about.name};
    return compose_take_order(circuit, options, result, error);
}

gordian_status compose_cuda_on(struct gpu *gpu, const struct compose_tuning *tuning,
                               const gordian_circuit *circuit,
                               const gordian_compose_options *options,
                               const gordian_compose_sink *sink, gordian_compose_result *result,
                               gordian_error *error)
{
    bool delivering = false;
    gordian_status status = begin_result(circuit, options, result, error);
    THEN(status, run_on_gpu(gpu, tuning, circuit, options, sink, result, &delivering, error));
    if (status != GORDIAN_OK)
        gordian_compose_result_free(result);
    return status;
}

struct question {
    const gordian_circuit *circuit;
    const gordian_compose_options *options;
    const gordian_compose_sink *sink;
    gordian_compose_result *result;
    bool delivering; /* what the sink has got cannot be taken back */
};

static gordian_status compose_on_device(void *context, struct gpu *gpu, gordian_error *error)
{
    struct question *asked = context;
    gordian_status status = run_on_gpu(gpu, NULL, asked->circuit, asked->options, asked->sink,
                                       asked->result, &asked->delivering, error);
    if (status != GORDIAN_OK)
        gordian_compose_result_free(asked->result);
    return status;
}

static gordian_status compose_on_cpu(void *context, gordian_error *error)
{
    struct question *asked = context;
    gordian_compose_result_free(asked->result);
    return compose_cpu.run(asked->circuit, asked->options, asked->sink, asked->result, error);
}

static gordian_status compose_cuda_run(const gordian_circuit *circuit,
                                       const gordian_compose_options *options,
                                       const gordian_compose_sink *sink,
                                       gordian_compose_result *result, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(options->allocator);
    struct question asked = {circuit, options, sink, result, false};
    struct gpu_work work = {.context = &asked,
                            .on_device = compose_on_device,
                            .on_cpu = compose_on_cpu,
                            .too_late = &asked.delivering,
                            .note = result->note,
                            .note_size = sizeof result->note};
    TRY(begin_result(circuit, options, result, error));
    gordian_status status = gpu_work(&work, &memory, error);
    if (status != GORDIAN_OK)
        gordian_compose_result_free(result);
    return status;
}

const struct compose_engine compose_cuda = {
    .about =
        {
            .name = "cuda",
            .summary = "reachable states and product on an NVIDIA GPU, states of up to 62 bits",
            .available = gpu_available,
            .supports = packed_supports,
        },
    .run = compose_cuda_run,
};
