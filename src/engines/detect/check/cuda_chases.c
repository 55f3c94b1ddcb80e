/* Chases on a GPU: finds the processes that lead to a running one and the processes that lead into
 * a cycle. This file has the order of the kernels; foundation/gpu/kernels/check/cycles.cu explains
 * them. */
#include "engines/detect/check/cuda_job.h"
#include "foundation/gpu/kernels/check/cycles.h"

/* Threads that chase at a time on each multiprocessor: as many as it can hold. More chains at a
 * time hide more of the memory latency. */
#define CHASERS 2048

/* Least length of a range: with shorter ones there would be as many chases as processes. */
#define RANGE_LEAST 16

/* Most rounds of peeling, while each removes at least an eighth; and the number of chases from
 * which peeling pays. */
#define PEEL_ROUNDS 12
#define PEEL_FROM   4096

#define RUN(chases, kernel, count, arguments)                                                      \
    job_run((chases)->job, kernel, count, CYCLES_THREADS, &(arguments), sizeof(arguments))

/* ------------------------------------------------------------------ fates */

unsigned job_doubling_rounds(uint32_t count)
{
    unsigned rounds = 0;
    while (UINT64_C(1) << rounds < count)
        rounds++;
    return rounds;
}

void job_follow_chases(struct job_chases *chases)
{
    /* Bytes are read sixteen at a time, also beyond the end. */
    job_zero(chases->job, chases->state, job_flags_size(chases->count));
    job_zero(chases->job, chases->entered, job_flags_size(chases->count));
    job_zero(chases->job, chases->flags, job_flags_size(chases->count));
    struct cuda_job *job = chases->job;
    const struct gpu_info *info = &job->info;
    uint64_t threads = info->emulated ? 64 : (uint64_t)info->multiprocessors * CHASERS;
    uint32_t count = chases->count, range = (uint32_t)((count + threads - 1) / threads);
    range = range < RANGE_LEAST ? RANGE_LEAST : range;
    if (job->status == GORDIAN_OK)
        job->status = gpu_fill32(job->gpu, chases->into, CYCLES_NONE, count, job->error);
    struct cycles_chase_arguments chase = {chases->link, chases->into, chases->at, count, range};
    RUN(chases, "cycles_chase", (count + range - 1) / range, chase);
    /* List the chases of unknown fate, without those into which none of them leads. */
    struct cycles_sort_out_arguments sort_out = {chases->into, chases->state, chases->flags,
                                                 chases->count};
    RUN(chases, "cycles_sort_out", chases->count, sort_out);
    count = job_select(job, chases->flags, 1, 0, chases->list[0], chases->count);
    unsigned now = 0;
    for (uint32_t round = 1, before = UINT32_MAX;
         count > PEEL_FROM && round <= PEEL_ROUNDS && count <= before - before / 8; round++) {
        struct cycles_peel_arguments peel = {
            chases->into, chases->list[now], chases->entered, chases->flags, count, round};
        RUN(chases, "cycles_enter", count, peel);
        RUN(chases, "cycles_keep", count, peel);
        before = count;
        count = job_select(job, chases->flags, 1, chases->list[now], chases->list[!now], count);
        now = !now;
    }
    chases->core = now;
    chases->core_count = count;
    count = chases->core_count;
    gpu_address list = chases->list[chases->core];
    struct cycles_jump_arguments jump = {chases->into,  chases->state,   list,
                                         chases->place, chases->jump[0], count};
    RUN(chases, "cycles_place", count, jump);
    RUN(chases, "cycles_jump", count, jump);
    now = 0;
    for (unsigned rounds = job_doubling_rounds(count); rounds > 0; rounds--, now = !now) {
        struct cycles_double_arguments twice = {chases->jump[now], chases->jump[!now], count};
        RUN(chases, "cycles_double", count, twice);
    }
    struct cycles_settle_arguments settle = {chases->jump[now], list, chases->state,
                                             chases->entered, count};
    job_zero(chases->job, chases->entered, count);
    RUN(chases, "cycles_mark", count, settle);
    RUN(chases, "cycles_settle", count, settle);
    struct cycles_resolve_arguments resolve = {chases->into, chases->state, chases->count};
    RUN(chases, "cycles_resolve", chases->count, resolve);
    struct cycles_dead_arguments dead = {chases->link, chases->state, chases->flags, chases->count};
    RUN(chases, "cycles_dead", (chases->count + CYCLES_EACH - 1) / CYCLES_EACH, dead);
}
