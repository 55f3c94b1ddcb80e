/* Sets up a training job from its options: group sizes, random properties, and the place of the
 * injected fault. */
#include "sources/gen/job.h"

#include "foundation/base/error.h"
#include "foundation/base/json/json_write.h"

#include <string.h>

#define TRIES_MOST 1000

/* Returns the largest divisor of `count` that is at most `most`. */
static uint32_t divisor_below(uint32_t count, uint32_t most)
{
    uint32_t divisor = most < count ? most : count;
    while (divisor > 1 && count % divisor)
        divisor--;
    return divisor ? divisor : 1;
}

static uint32_t square_root(uint32_t number)
{
    uint32_t root = 0;
    while ((uint64_t)(root + 1) * (root + 1) <= number)
        root++;
    return root;
}

static gordian_status choose_sizes(struct gen_job *job, const struct gen_options *options,
                                   gordian_error *error)
{
    uint32_t ranks = job->ranks, root = square_root(ranks) / 2;
    job->tensor = options->tensor;
    job->pipeline = options->pipeline;
    if (!job->tensor)
        job->tensor = divisor_below(ranks / (job->pipeline ? job->pipeline : 1), root > 8   ? 8
                                                                                 : root > 2 ? root
                                                                                            : 2);
    if (ranks % job->tensor)
        return fail(error, GORDIAN_STATUS_INPUT, "%u ranks are not a multiple of tensor (%u)",
                    ranks, job->tensor);
    uint32_t left = ranks / job->tensor, most = square_root(left);
    if (!job->pipeline)
        job->pipeline = divisor_below(left, most > 32 ? 32 : most);
    if (left % job->pipeline)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "%u ranks are not a multiple of tensor x pipeline (%u x %u)", ranks,
                    job->tensor, job->pipeline);
    job->data = left / job->pipeline;
    job->expert = options->expert ? options->expert : job->tensor * divisor_below(job->data, 2);
    if (job->tensor * job->data % job->expert || job->expert % job->tensor)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "expert must be a multiple of tensor that divides a stage's %u ranks",
                    job->tensor * job->data);
    return GORDIAN_OK;
}

static gordian_status choose_fault(struct gen_job *job, const char *name, gordian_error *error)
{
    if (!name) {
        job->fault = (enum fault)(1 + random_below(&job->random, FAULT_COUNT - 1));
        return GORDIAN_OK;
    }
    for (unsigned i = 0; fault_names[i]; i++) {
        if (strcmp(fault_names[i], name) == 0) {
            job->fault = (enum fault)i;
            return GORDIAN_OK;
        }
    }
    return fail(
        error, GORDIAN_STATUS_INPUT,
        "unknown fault '%.40s': one of none, absent, silent, stuck, operation, size, order, ring",
        name);
}

/* Checks that the groups are large enough for the fault. */
static gordian_status check_group_sizes(const struct gen_job *job, gordian_error *error)
{
    if (job->ranks < 2)
        return fail(error, GORDIAN_STATUS_INPUT, "a job has at least two ranks");
    if (job->fault == FAULT_ORDER && job->tensor < 2)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "fault order needs tensor groups of at least two ranks");
    if (job->fault == FAULT_RING && job->pipeline < 2)
        return fail(error, GORDIAN_STATUS_INPUT, "fault ring needs at least two pipeline stages");
    if ((job->fault == FAULT_OPERATION || job->fault == FAULT_SIZE) && job->expert < 3 &&
        job->tensor < 3 && job->data < 3 && job->ranks > JOB_WORLD_MOST)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "faults operation and size need a group of at least three ranks");
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ placing the fault */

/* Can the fault be placed at this operation? */
static bool is_fitting(const struct gen_job *job, uint32_t rank, uint32_t index)
{
    const struct stage *stage = stage_of(job, rank);
    const struct call_plan *plan = &stage->calls[index];
    bool alone = call_is_p2p(plan) || job_members(job, plan->kind) < 2;
    if (plan->ring || plan->batch != index) /* a coalesced group is queued as a whole */
        return false;
    switch (job->fault) {
    case FAULT_STUCK:
        return !alone;
    case FAULT_OPERATION:
        return !alone && job_members(job, plan->kind) > 2;
    case FAULT_SIZE: /* expert groups have different sizes without a fault */
        return !alone && job_members(job, plan->kind) > 2 && plan->call != CALL_ALL_TO_ALL;
    case FAULT_ORDER:
        return plan->kind == GROUP_TENSOR && index + 1 < stage->count &&
               stage->calls[index + 1].kind == GROUP_EXPERT;
    default:
        return true;
    }
}

/* Draws a rank and a place for the fault. False: the rank has no suitable place. */
static bool plant_victim(struct gen_job *job, uint32_t which)
{
    uint32_t rank = (uint32_t)random_below(&job->random, job->ranks);
    uint32_t count = stage_of(job, rank)->count;
    for (uint32_t i = 0; i < which; i++)
        if (job->victims[i] == rank)
            return false;
    uint32_t index = (uint32_t)random_below(&job->random, count);
    for (uint32_t i = 0; i < count; i++, index = (index + 1) % count) {
        if (!is_fitting(job, rank, index))
            continue;
        job->victims[which] = rank;
        job->at[which] = index;
        return true;
    }
    return false;
}

static bool plant_fault(struct gen_job *job)
{
    bool several =
        job->fault == FAULT_ABSENT || job->fault == FAULT_SILENT || job->fault == FAULT_STUCK;
    job->victim_count = 0;
    if (job->fault == FAULT_NONE)
        return true;
    job->unbegun = job->fault == FAULT_STUCK && random_chance(&job->random, 25);
    job->timed |= job->unbegun;
    uint32_t count =
        several && !job->unbegun && job->ranks > 2 && random_chance(&job->random, 30) ? 2 : 1;
    while (job->victim_count < count && plant_victim(job, job->victim_count))
        job->victim_count++;
    return job->victim_count > 0;
}

/* Places the fault and runs the job until the fault has an effect: the job may not reach a place
 * drawn at random. */
static gordian_status run_fault(struct gen_job *job, gordian_error *error)
{
    for (unsigned i = 0; i < TRIES_MOST; i++) {
        if (!plant_fault(job))
            continue;
        gordian_status status = run_job(job, error);
        if (status != GORDIAN_OK || job->fault == FAULT_NONE || job->truth.culprit_count ||
            job->truth.cycles)
            return status;
        arena_free(&job->run);
        job->reached[0] = job->reached[1] = false;
    }
    return fail(error, GORDIAN_STATUS_INPUT, "the job is too small for this fault");
}

gordian_status gen_job_open(struct gen_job **out, const struct gen_options *options,
                            gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct gen_job *job = memory_zeroed(&memory, sizeof *job);
    if (!job)
        return fail_memory(error);
    job->memory = memory;
    arena_init(&job->run, &memory);
    random_seed(&job->random, options->seed);
    job->ranks = options->processes;
    job->keep = options->events > 1000000 ? 1000000 : (uint32_t)options->events;
    job->window = (uint32_t)(1 + random_below(&job->random, job->keep < 24 ? job->keep / 2 : 12));
    job->active = random_chance(&job->random, 40);
    job->timed = random_chance(&job->random, 30);
    job->frames = random_chance(&job->random, 30);
    job->base = (uint32_t)random_below(&job->random, 100000);
    job->batches = options->seed % 4 != 2;
    job->coalesces = options->seed % 4 == 3;
    gordian_status status = choose_fault(job, options->fault, error);
    THEN(status, choose_sizes(job, options, error));
    THEN(status, check_group_sizes(job, error));
    THEN(status, plan_job(job, error));
    THEN(status, run_fault(job, error));
    if (status == GORDIAN_OK)
        *out = job;
    else
        gen_job_close(job);
    return status;
}

void gen_job_close(struct gen_job *job)
{
    if (!job)
        return;
    gordian_allocator memory = job->memory;
    for (uint32_t i = 0; job->stages && i < job->pipeline; i++)
        memory_free(&memory, job->stages[i].calls);
    arena_free(&job->run);
    memory_free_all(&memory, job->stages, job);
}

void gen_job_truth(const struct gen_job *job, struct output *out)
{
    const struct job_truth *truth = &job->truth;
    struct json json;
    json_begin(&json, out);
    json_open(&json, "truth", '{');
    json_key_text(&json, "fault", fault_names[truth->fault]);
    json_key_u64(&json, "ranks", job->ranks);
    json_key_u64(&json, "tensor", job->tensor);
    json_key_u64(&json, "pipeline", job->pipeline);
    json_key_u64(&json, "data", job->data);
    json_key_u64(&json, "expert", job->expert);
    json_open(&json, "culprits", '[');
    for (uint32_t i = 0; i < truth->culprit_count; i++)
        json_u64(&json, truth->culprits[i]);
    json_shut(&json);
    json_key_u64(&json, "mismatches", truth->mismatches);
    json_key_u64(&json, "cycles", truth->cycles);
    if (truth->odd != GORDIAN_NONE)
        json_key_u64(&json, "odd", truth->odd);
    json_end(&json);
}
