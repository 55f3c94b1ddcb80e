/* Algorithm 12 of the thesis: the kernels that an event of a multi-unit system launches. */
#include "lab/published/detect/detect_internal.h"

#include "foundation/base/error.h"

static gordian_status launch_lmdda(struct published_detect *d, const struct step *step,
                                   unsigned blocks, uint32_t threads,
                                   const struct published_event *event, gordian_error *error)
{
    const struct published_lmdda_arguments a = {
        .event = *event,
        .processes = d->processes,
        .padded_processes = d->process_tiles * PUBLISHED_TILE,
        .across_processes = d->across_processes,
        .across_resources = d->across_resources,
        .ag = d->ag,
        .rp = d->rp,
        .rp_after = d->rp_after,
        .ar = d->ar,
        .ar_turned = d->turned,
        .rp_turned = d->turned,
        .sp = d->sp,
        .masks = d->masks,
        .deadlock = flag_address(d, FLAG_DEADLOCK),
        .waiting = flag_address(d, FLAG_WAITING),
        .reach = flag_address(d, FLAG_REACH),
    };
    return published_detect_launch(d, step, (struct grid){blocks, threads}, &a, sizeof a, error);
}

static size_t reach_bytes(const struct published_detect *d)
{
    return matrix_bytes(d, d->resource_tiles, d->across_processes);
}

static gordian_status published_lmdda_grant(struct published_detect *d,
                                            const struct published_event *event,
                                            gordian_error *error)
{
    static const struct step granted = STEP("lmdda_granted");
    return launch_lmdda(d, &granted, 1, 1, event, error);
}

static gordian_status published_lmdda_block(struct published_detect *d,
                                            const struct published_event *event, bool *deadlock,
                                            gordian_error *error)
{
    static const struct step sinks = STEP("lmdda_find_sinks"), blocked = STEP("lmdda_blocked"),
                             check = STEP("lmdda_deadlock_check");
    gordian_status status = gpu_zero(d->gpu, d->sp, d->across_processes * d->cell_bytes, error);
    THEN(status, launch_lmdda(d, &sinks, d->processes, d->across_resources, event, error));
    THEN(status, launch_lmdda(d, &check, 1, 1, event, error));
    THEN(status, published_detect_flag(d, FLAG_DEADLOCK, deadlock, error));
    if (status != GORDIAN_OK || *deadlock)
        return status;
    return launch_lmdda(d, &blocked, d->resources, d->across_processes, event, error);
}

/* Runs one iteration: from RP, through a copy, to RP. */
static gordian_status hop_once(struct published_detect *d, const struct published_event *event,
                               gordian_error *error)
{
    static const struct step hop = STEP("lmdda_hop");
    TRY(published_detect_transpose(d, d->rp, d->resource_tiles, d->process_tiles, error));
    TRY(gpu_copy(d->gpu, d->rp_after, d->rp, reach_bytes(d), error));
    TRY(launch_lmdda(d, &hop, d->resources, d->processes, event, error));
    return gpu_copy(d->gpu, d->rp, d->rp_after, reach_bytes(d), error);
}

/* Computes RP from AG and AR: the grants, then paths of 3, 7, 15, ... edges. */
static gordian_status make_reach(struct published_detect *d, const struct published_event *event,
                                 gordian_error *error)
{
    static const struct step init = STEP("lmdda_init_reach");
    const uint32_t least = d->processes < d->resources ? d->processes : d->resources;
    TRY(gpu_zero(d->gpu, d->rp, reach_bytes(d), error));
    TRY(launch_lmdda(d, &init, d->resources, d->processes, event, error));
    for (uint64_t reached = 1; reached < least; reached *= 2)
        TRY(hop_once(d, event, error));
    return GORDIAN_OK;
}

static gordian_status published_lmdda_release(struct published_detect *d,
                                              const struct published_event *event,
                                              gordian_error *error)
{
    static const struct step release = STEP("lmdda_release"),
                             find_waiting = STEP("lmdda_find_waiting"),
                             type = STEP("lmdda_release_type");
    bool reach = false;
    gordian_status status = launch_lmdda(d, &release, 1, 1, event, error);
    THEN(status, published_detect_transpose(d, d->ar, d->process_tiles, d->resource_tiles, error));
    THEN(status, launch_lmdda(d, &find_waiting, 1, d->across_processes, event, error));
    THEN(status, launch_lmdda(d, &type, 1, 1, event, error));
    THEN(status, published_detect_flag(d, FLAG_REACH, &reach, error));
    return status == GORDIAN_OK && reach ? make_reach(d, event, error) : status;
}

const struct detect_events published_lmdda_events = {published_lmdda_grant, published_lmdda_block,
                                                     published_lmdda_release};
