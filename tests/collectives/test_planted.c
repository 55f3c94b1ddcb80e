/* Jobs with a fault planted: the verdict must be the truth, no culprit missed, nobody else named,
 * whatever the form of the dumps. */
#include "must.h"
#include "sources/collectives/training.h"
#include "sources/gen/job.h"

#include <string.h>

/* 10 000 of each fault in the long form (GORDIAN_TEST_SCALE=100). */
#define CASES 10000

/* The dumps of a job, read again. */
static void take_dumps(const struct gen_job *made, bool json, struct training *job)
{
    gordian_error error = {0};
    for (uint32_t r = 0; r < made->ranks; r++) {
        struct output out;
        REQUIRE(output_open(&out, OUTPUT_MEMORY));
        if (gen_job_dump(made, r, json, &out)) {
            size_t size = out.used;
            output_char(&out, '\0');
            must(training_take(job, r, out.buffer, size, &error), &error);
        }
        output_close(&out);
    }
}

static bool cycle_has(const struct training *job, const struct verdict *verdict, uint32_t rank)
{
    for (size_t i = 0; i < verdict->cycle_count; i++) {
        const struct cycle *cycle = &job->cycles[i];
        for (size_t j = 0; j < cycle->count; j++)
            if (job->steps[cycle->first + j].rank == rank)
                return true;
    }
    return false;
}

static bool same_culprits(const struct verdict *verdict, const struct job_truth *truth)
{
    return verdict->culprit_count == truth->culprit_count &&
           memcmp(verdict->culprits, truth->culprits,
                  truth->culprit_count * sizeof *truth->culprits) == 0;
}

static enum blame blame_expected(enum fault fault)
{
    return fault == FAULT_ABSENT   ? BLAME_ABSENT
           : fault == FAULT_SILENT ? BLAME_SILENT
           : fault == FAULT_STUCK  ? BLAME_STUCK
                                   : BLAME_MISMATCH;
}

static void check_verdict(const struct training *job, const struct verdict *verdict,
                          const struct gen_job *made, uint64_t seed)
{
    const struct job_truth *truth = &made->truth;
    const char *fault = fault_names[truth->fault];
    CHECK_MSG(same_culprits(verdict, truth),
              "%s, seed %llu: %zu culprits (first %u), not %u (first %u)", fault,
              (unsigned long long)seed, verdict->culprit_count,
              verdict->culprit_count ? verdict->culprits[0] : 0, truth->culprit_count,
              truth->culprits[0]);
    CHECK_MSG(verdict->mismatch_count == truth->mismatches, "%s, seed %llu: %zu mismatches", fault,
              (unsigned long long)seed, verdict->mismatch_count);
    CHECK_MSG(verdict->cycle_count == truth->cycles, "%s, seed %llu: %zu cycles", fault,
              (unsigned long long)seed, verdict->cycle_count);
    for (size_t i = 0; i < verdict->culprit_count; i++)
        CHECK_MSG(training_blame(job, verdict->culprits[i]) == blame_expected(truth->fault),
                  "%s, seed %llu: rank %u is called %s", fault, (unsigned long long)seed,
                  verdict->culprits[i], blame_text(training_blame(job, verdict->culprits[i])));
    if (truth->cycles)
        CHECK_MSG(cycle_has(job, verdict, truth->odd), "%s, seed %llu: the cycle is another one",
                  fault, (unsigned long long)seed);
}

/* Ring: exactly the ranks of the pipeline, in its order. */
static void check_ring(const struct training *job, const struct gen_job *made, uint64_t seed)
{
    const struct cycle *cycle = &job->cycles[0];
    size_t count = cycle->count;
    CHECK_MSG(count == made->pipeline, "ring, seed %llu: %zu ranks", (unsigned long long)seed,
              count);
    for (size_t i = 0; i < count; i++)
        CHECK(job_neighbour(made, job->steps[cycle->first + i].rank, 1) ==
              job->steps[cycle->first + (i + 1) % count].rank);
}

static void one_case(enum fault fault, uint64_t seed)
{
    static const uint32_t sizes[] = {8, 12, 16, 24, 32, 36, 48, 64};
    struct gen_options options;
    struct gen_job *made = NULL;
    struct training *job = NULL;
    struct verdict verdict;
    gordian_error error = {0};
    gen_options_init(&options);
    options.seed = seed;
    options.fault = fault_names[fault];
    options.processes = sizes[seed % (seed % 10 ? 5 : 8)];
    options.events = 20 + seed % 60;
    must(gen_job_open(&made, &options, &error), &error);
    must(training_open(&job, &error), &error);
    take_dumps(made, seed % 4 == 0, job);
    must(training_judge(job, &verdict, &error), &error);
    check_verdict(job, &verdict, made, seed);
    if (fault == FAULT_RING && verdict.cycle_count == 1)
        check_ring(job, made, seed);
    if (fault == FAULT_NONE)
        CHECK(verdict.stalled_count == 0 && verdict.waiting_count == 0);
    training_close(job);
    gen_job_close(made);
}

int main(void)
{
    unsigned long cases = test_scaled(CASES) / (test_scale() < 100 ? 30 : 1) + 1;
    for (unsigned fault = FAULT_NONE; fault < FAULT_COUNT; fault++)
        for (unsigned long i = 0; i < cases; i++)
            one_case((enum fault)fault, i);
    return test_done();
}
