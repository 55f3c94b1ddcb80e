#include "lab/published/avoid/measure_pba.h"

#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "lab/published/avoid/pba.h"

struct measure_pba {
    gordian_allocator memory;
    struct gpu *gpu; /* NULL: on the CPU */
    struct pba *pba;
    struct pba_cpu *cpu;
    uint32_t processes;
    uint32_t *units; /* the request */
};

static gordian_status open_pba_method(struct measure_pba *measure, uint32_t resources,
                                      gordian_error *error)
{
    const gordian_allocator *memory = &measure->memory;
    struct pba_state state;
    TRY(pba_worst(&state, measure->processes, resources, memory, error));
    gordian_status status = measure->gpu
                                ? pba_open(&measure->pba, measure->gpu, &state, memory, error)
                                : pba_cpu_open(&measure->cpu, &state, memory, error);
    pba_state_free(&state, memory);
    return status;
}

gordian_status measure_pba_open(struct measure_pba **out, struct gpu *gpu, uint32_t processes,
                                uint32_t resources, const gordian_allocator *wanted,
                                gordian_error *error)
{
    gordian_allocator memory = memory_allocator(wanted);
    struct measure_pba *measure = memory_zeroed(&memory, sizeof *measure);
    *out = NULL;
    if (!measure)
        return fail_memory(error);
    *measure = (struct measure_pba){.memory = memory, .gpu = gpu, .processes = processes};
    measure->units = memory_zeroed(&memory, resources * sizeof *measure->units);
    gordian_status status =
        measure->units ? open_pba_method(measure, resources, error) : fail_memory(error);
    if (status == GORDIAN_OK) {
        measure->units[0] = 1;
        *out = measure;
    } else {
        measure_pba_close(measure);
    }
    return status;
}

void measure_pba_close(struct measure_pba *measure)
{
    if (!measure)
        return;
    pba_close(measure->pba);
    pba_cpu_close(measure->cpu);
    memory_free(&measure->memory, measure->units);
    memory_free(&measure->memory, measure);
}

static gordian_status ask_pba_device(struct measure_pba *measure, enum pba_answer *answer,
                                     struct measure_time *time, gordian_error *error)
{
    double microseconds = 0;
    gordian_status status = gpu_timer_start(measure->gpu, error);
    uint64_t start = clock_ns();
    THEN(status, pba_request(measure->pba, PBA_WORST_PROCESS, measure->units, answer, error));
    time->wall = (double)(clock_ns() - start);
    THEN(status, gpu_timer_stop(measure->gpu, &microseconds, error));
    time->device = microseconds * 1e3;
    if (status == GORDIAN_OK && *answer == PBA_GRANTED)
        status = pba_release(measure->pba, PBA_WORST_PROCESS, measure->units, error);
    return status;
}

static enum pba_answer ask_cpu(struct measure_pba *measure, struct measure_time *time)
{
    uint64_t start = clock_ns();
    enum pba_answer answer = pba_cpu_request(measure->cpu, PBA_WORST_PROCESS, measure->units);
    time->wall = (double)(clock_ns() - start);
    if (answer == PBA_GRANTED)
        pba_cpu_release(measure->cpu, PBA_WORST_PROCESS, measure->units);
    return answer;
}

gordian_status measure_pba_run(struct measure_pba *measure, struct measure_time *time,
                               gordian_error *error)
{
    enum pba_answer answer = PBA_UNSAFE;
    gordian_status status = GORDIAN_OK;
    *time = (struct measure_time){0};
    if (measure->gpu)
        status = ask_pba_device(measure, &answer, time, error);
    else
        answer = ask_cpu(measure, time);
    TRY(status);
    if (answer != PBA_GRANTED ||
        (measure->pba && pba_effort(measure->pba).rounds != measure->processes - 2))
        return fail(error, GORDIAN_STATUS_INPUT, "PBA gives a wrong answer for the worst case");
    return GORDIAN_OK;
}
