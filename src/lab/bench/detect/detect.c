#include "lab/bench/detect/detect.h"

#include "foundation/base/error.h"

gordian_status detect_open(gordian_system **system, const char *engine,
                           const struct gen_trace *trace, gordian_error *error)
{
    gordian_options options;
    gordian_options_init(&options);
    options.engine = engine;
    gordian_status status = gordian_open(system, &options, error);
    THEN(status, gordian_reserve(*system, trace->processes, trace->resources, error));
    uint32_t id;
    for (uint32_t q = 0; q < trace->resources && status == GORDIAN_OK; q++)
        status = gordian_add_resource(*system, NULL, trace->units[q], &id, error);
    for (uint32_t p = 0; p < trace->processes && status == GORDIAN_OK; p++)
        status = gordian_add_process(*system, NULL, &id, error);
    if (status != GORDIAN_OK) {
        gordian_close(*system);
        *system = NULL;
    }
    return status;
}

gordian_status detect_feed(gordian_system *system, const gordian_event *events, size_t count,
                           uint64_t *sum, gordian_error *error)
{
    gordian_result results[DETECT_SLICE];
    for (size_t at = 0; at < count; at += DETECT_SLICE) {
        size_t slice = count - at < DETECT_SLICE ? count - at : DETECT_SLICE, done;
        TRY(gordian_feed_batch(system, &events[at], slice, results, &done, error));
        for (size_t i = 0; i < slice; i++)
            *sum += results[i].outcome;
    }
    return GORDIAN_OK;
}

gordian_status bench_detect(struct bench *bench)
{
    gordian_status (*const parts[])(struct bench *) = {
        detect_chains, detect_cancels, detect_loads,     detect_releases,    detect_papers,
        detect_checks, detect_memory,  detect_cuda_rows, detect_blocks_rows,
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        TRY(parts[i](bench));
    return GORDIAN_OK;
}
