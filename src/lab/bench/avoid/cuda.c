/* Cost of a request on the device: the first upload of everything, the upload of what an event
 * changed, the round trip, the computation. */
#include "lab/bench/avoid/avoid.h"

#include "engines/avoid/cuda/cuda.h"
#include "foundation/base/error.h"

/* A sample is the first request to a new engine: it uploads all matrices and computes all orders.
 */
static gordian_status run_first(void *context, double *ns, gordian_error *error)
{
    struct avoid_side side;
    TRY(avoid_side_open(&side, context, &avoid_cuda, error));
    gordian_status status = avoid_ask(&side, ns, error);
    avoid_side_close(&side);
    return status;
}

/* Device time only. */
static gordian_status run_computing(void *context, double *ns, gordian_error *error)
{
    struct avoid_side *side = context;
    struct banker *banker = cuda_engine_banker(side->opened);
    banker_time(banker, true);
    TRY(avoid_ask(side, ns, error));
    *ns = banker_effort(banker).microseconds * 1e3;
    banker_time(banker, false);

    return GORDIAN_OK;
}

/* The requested loan is made and returned, with a request after each. */
static gordian_status run_update(void *context, double *ns, gordian_error *error)
{
    struct avoid_side *side = context;
    const struct ledger_change *change = &side->state->change;
    struct ledger *ledger = &side->state->ledger;
    double ask = 0;
    TRY(avoid_ask(side, &ask, error));
    ledger_lend(ledger, change->process, change->wants, change->count);
    side->engine->took(side->opened, change);
    ledger_return(ledger, change->process, change->wants, change->count);
    side->engine->returned(side->opened, change->process, change->wants, change->count);
    return avoid_ask(side, ns, error);
}

static gordian_status add(const struct avoid_bench *avoid, const char *id, uint32_t processes,
                          uint32_t resources, const char *note, void *context,
                          gordian_status (*run)(void *, double *, gordian_error *))
{
    struct bench_side side = {context, run};
    struct bench_effort effort = {1, 3, 1000, avoid->bench->options->quick ? 0.3 : 1};
    if (avoid->emulated)
        effort = (struct bench_effort){0, 2, 2, 0};
    bench_progress(avoid->bench, "the device: %s", id);
    TRY(bench_measure(avoid->bench, &side, 1, effort));
    struct bench_row row =
        bench_measured(&side, "us", "avoid/device/%s-%ux%u", id, processes, resources);
    bench_note(&row, "%s", note);
    return bench_add(avoid->bench, &row);
}

static gordian_status wide_rows(const struct avoid_bench *avoid, uint32_t processes,
                                uint32_t resources, struct avoid_state *state)
{
    struct avoid_side side;
    gordian_status status =
        add(avoid, "first", processes, resources,
            "first request: upload of all matrices, all orders computed", state, run_first);
    THEN(status, avoid_side_open(&side, state, &avoid_cuda, avoid->bench->error));
    TRY(status);
    status = add(avoid, "ask", processes, resources,
                 "all but one finish at once; from the request to the answer", &side, avoid_ask);
    THEN(status, add(avoid, "ask-computing", processes, resources, "the same, on the device", &side,
                     run_computing));
    THEN(status, add(avoid, "ask-after-event", processes, resources,
                     "the same after a grant and its release", &side, run_update));
    avoid_side_close(&side);
    return status;
}

gordian_status avoid_cuda_rows(const struct avoid_bench *avoid)
{
    const uint32_t processes = avoid->emulated ? 40 : 8192, resources = avoid->emulated ? 70 : 1024;
    struct avoid_state state;
    struct avoid_side side;
    gordian_error *error = avoid->bench->error;
    if (!avoid->cuda)
        return GORDIAN_OK;
    TRY(avoid_state_build(&state, AVOID_WIDE, processes, resources, 1, error));
    gordian_status status = wide_rows(avoid, processes, resources, &state);
    avoid_state_free(&state);
    THEN(status, avoid_state_build(&state, AVOID_ALL, processes, resources, 1, error));
    TRY(status);
    status = avoid_side_open(&side, &state, &avoid_cuda, error);
    THEN(status, add(avoid, "worst-computing", processes, resources,
                     "one process freed per round, on the device", &side, run_computing));
    avoid_side_close(&side);
    avoid_state_free(&state);
    return status;
}
