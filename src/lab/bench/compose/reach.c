/* Reachable states of a chain of buffers: the CPU engine compared with SPIN. */
#include "foundation/base/error.h"
#include "lab/bench/compose/compose.h"

#include <stdio.h>

#define PLOT_REACH "Reachable states of a fifo1 chain (ns a state)"

static gordian_status add_speed(struct bench *bench, uint32_t size, unsigned threads,
                                const struct bench_side *ours, const struct bench_side *theirs,
                                const char *why)
{
    double states = (double)(UINT64_C(1) << size);
    struct bench_row row = bench_row("ns", "compose/reach/chain-%u/cpu", size);
    bench_fill(&row, ours, states);
    bench_curve(&row, PLOT_REACH, size, "cpu, %u threads", threads);
    bench_note(&row, "per state; %.3g million states/s, %u threads%s%s",
               states / ours->median * 1e3, threads, why ? "; no SPIN: " : "", why ? why : "");
    if (theirs) {
        bench_against(&row, "SPIN", theirs);
        snprintf(row.baseline_series, sizeof row.baseline_series, "SPIN, 1 thread");
        bench_bar(&row, BAR_AT_LEAST, 30);
    }
    return bench_add(bench, &row);
}

static gordian_status add_memory(struct bench *bench, uint32_t size, uint64_t bytes,
                                 const struct spin *spin)
{
    double states = (double)(UINT64_C(1) << size);
    struct bench_row row = bench_row("B", "compose/memory/chain-%u/cpu", size);
    row.value = (double)bytes / states;
    bench_bar(&row, BAR_VALUE_AT_MOST, 8);
    if (spin) {
        row.baseline = "SPIN";
        row.baseline_value = spin->bytes / states;
    }
    bench_note(&row, "per state, total memory");
    return bench_add(bench, &row);
}

static gordian_status measure_reachable(const struct compose_bench *compose,
                                        const gordian_circuit *circuit, uint32_t size)
{
    struct bench *bench = compose->bench;
    struct spin spin;
    struct compose_side cpu = compose_side_of(compose_engine_named("cpu"), circuit);
    struct bench_side sides[2] = {{&cpu, compose_side_run}, {&spin, spin_run}};
    struct bench_effort effort = {0, bench->options->quick || size >= 24 ? 1 : 3, 15,
                                  bench->options->quick ? 1 : 10};
    unsigned threads = compose->cores < 2 ? compose->cores : 2;
    bool have_spin = spin_open(&spin, size);
    bench_progress(bench, "compose: chain of %u, cpu and SPIN", size);
    cpu.states = UINT64_C(1) << size;
    cpu.options.count_transitions = false;
    cpu.options.threads = threads;
    gordian_status status = bench_measure(bench, sides, have_spin ? 2 : 1, effort);
    if (status == GORDIAN_OK && have_spin && spin.states < cpu.states)
        status = fail(bench->error, GORDIAN_STATUS_INPUT, "SPIN finds %llu states of a chain of %u",
                      (unsigned long long)spin.states, size);
    THEN(status, add_speed(bench, size, threads, &sides[0], have_spin ? &sides[1] : NULL,
                           have_spin ? NULL : spin.why));
    THEN(status, add_memory(bench, size, cpu.result.memory, have_spin ? &spin : NULL));
    if (have_spin)
        spin_close(&spin);
    compose_side_free(&cpu);
    return status;
}

gordian_status compose_reach_rows(const struct compose_bench *compose)
{
    static const uint32_t sizes[] = {20, 22, 24};
    gordian_status status = GORDIAN_OK;
    if (!compose->cpu)
        return status;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && status == GORDIAN_OK; i++) {
        gordian_circuit *circuit;
        if (compose->bench->options->quick && sizes[i] > 20)
            continue;
        status = bench_circuit(&circuit, "circuit-chain", sizes[i], 1, NULL, compose->bench->error);
        THEN(status, measure_reachable(compose, circuit, sizes[i]));
        gordian_circuit_close(circuit);
    }
    return status;
}
