/* Many requests judged at once, and the remaining slack. */
#include "lab/bench/avoid/avoid.h"

#include "engines/avoid/cuda/cuda.h"
#include "foundation/base/error.h"
#include "foundation/base/random.h"

#include <string.h>

/* ------------------------------------------------------------------ many requests */

struct batch {
    struct avoid_side side;
    struct ledger_change *changes;
    gordian_want *wants;
    bool *safe, *expected; /* answers of the first engine */
    size_t count;
    bool asked; /* the first engine has answered */
};

/* Judges requests one by one if the engine has no batches. */
static gordian_status judge_batch(struct batch *batch, gordian_error *error)
{
    const struct avoid_engine *engine = batch->side.engine;
    if (engine->safe_each)
        return engine->safe_each(batch->side.opened, batch->changes, batch->count, batch->safe,
                                 error);
    for (size_t i = 0; i < batch->count; i++)
        batch->safe[i] = engine->safe(batch->side.opened, &batch->changes[i]);
    return GORDIAN_OK;
}

static gordian_status run_batch(void *context, double *ns, gordian_error *error)
{
    struct batch *batch = context;
    uint64_t start = clock_ns();
    gordian_status status = judge_batch(batch, error);
    *ns = (double)(clock_ns() - start);
    TRY(status);
    if (!batch->asked)
        memcpy(batch->expected, batch->safe, batch->count * sizeof *batch->safe);
    batch->asked = true;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->safe[i] != batch->expected[i])
            return fail(error, GORDIAN_STATUS_INPUT, "%s disagrees about request %zu of %zu",
                        batch->side.engine->about.name, i, batch->count);
    return GORDIAN_OK;
}

/* Makes a request for each process in turn. Every other one asks for the spare unit of resource 0;
 * its search is as deep as its process is far from the front. The others are random and mostly
 * unsafe. */
static gordian_status make_batch(struct batch *batch, struct avoid_state *state, size_t count,
                                 uint64_t seed, const gordian_allocator *memory,
                                 gordian_error *error)
{
    const struct ledger *ledger = &state->ledger;
    struct random random;
    *batch = (struct batch){.count = count};
    random_seed(&random, seed);
    batch->changes = memory_alloc(memory, count * sizeof *batch->changes);
    batch->wants = memory_alloc(memory, count * sizeof *batch->wants);
    batch->safe = memory_zeroed(memory, count * sizeof *batch->safe);
    batch->expected = memory_zeroed(memory, count * sizeof *batch->expected);
    if (!batch->changes || !batch->wants || !batch->safe || !batch->expected)
        return fail_memory(error);
    for (size_t i = 0; i < count; i++) {
        uint32_t process = 2 + (uint32_t)(i * 31 % (ledger->process_limit - 2));
        const struct ledger_row *row = &ledger->rows[process];
        const struct ledger_claim *claim =
            &row->claims[i % 2 ? random_below(&random, row->count) : 0];
        uint64_t most = ledger->free[claim->resource];
        most = i % 2 == 0 ? 1 : claim->need < most ? claim->need : most;
        batch->wants[i] =
            (gordian_want){.resource = claim->resource, .units = 1 + random_below(&random, most)};
        batch->changes[i] = (struct ledger_change){
            .kind = CHANGE_LEND, .process = process, .wants = &batch->wants[i], .count = 1};
    }
    return GORDIAN_OK;
}

struct batch_size {
    const char *kind;
    enum avoid_shape shape;
    uint32_t processes, resources;
    size_t count;
    bool dense; /* also measures dense, as a baseline */
};

static gordian_status time_batch(const struct avoid_bench *avoid, struct batch *batch,
                                 struct avoid_state *state, const struct avoid_engine *engine,
                                 struct bench_side *side)
{
    struct bench *bench = avoid->bench;
    const bool few = avoid->emulated || engine == &avoid_dense;
    struct bench_effort effort = {few ? 0 : 1, few ? 1 : 3, few ? 1 : 200,
                                  bench->options->quick ? 0.3 : 2};
    gordian_status status = avoid_side_open(&batch->side, state, engine, bench->error);
    *side = (struct bench_side){batch, run_batch};
    THEN(status, bench_measure(bench, side, 1, effort));
    avoid_side_close(&batch->side);
    return status;
}

static gordian_status add_batch_row(const struct avoid_bench *avoid, const struct batch_size *size,
                                    const struct batch *batch, const char *engine,
                                    const struct bench_side *side, double dense_ns)
{
    struct bench_row row = bench_measured(side, "us", "avoid/what-if%s-%ux%u-%zu/%s", size->kind,
                                          size->processes, size->resources, size->count, engine);
    if (dense_ns > 0 && strcmp(engine, "dense") != 0) {
        row.baseline = "dense";
        row.baseline_value = dense_ns / 1e3;
    }
    size_t unsafe = 0;
    for (size_t i = 0; i < batch->count; i++)
        unsafe += !batch->expected[i];
    bench_note(&row, "%zu requests in one call, %zu of them unsafe", size->count, unsafe);
    return bench_add(avoid->bench, &row);
}

static gordian_status batch_rows(const struct avoid_bench *avoid, const struct batch_size *size)
{
    static const struct avoid_engine *const engines[] = {&avoid_dense, &avoid_holt, &avoid_cuda};
    struct bench *bench = avoid->bench;
    struct avoid_state state;
    struct batch batch = {0};
    double dense_ns = 0;
    bench_progress(bench, "%zu requests at once, %u x %u", size->count, size->processes,
                   size->resources);
    TRY(avoid_state_build(&state, size->shape, size->processes, size->resources,
                          bench->options->seed, bench->error));
    gordian_status status =
        make_batch(&batch, &state, size->count, bench->options->seed, &bench->memory, bench->error);
    for (size_t e = 0; e < 3 && status == GORDIAN_OK; e++) {
        struct bench_side side;
        bool wanted = avoid_wants(avoid, engines[e]->about.name);
        if (engines[e] == &avoid_dense ? !avoid->cpu || !size->dense : !wanted)
            continue;
        status = time_batch(avoid, &batch, &state, engines[e], &side);
        if (engines[e] == &avoid_dense)
            dense_ns = side.median;
        if (status == GORDIAN_OK && wanted)
            status = add_batch_row(avoid, size, &batch, engines[e]->about.name, &side, dense_ns);
    }
    memory_free_all(&bench->memory, batch.changes, batch.wants, batch.safe, batch.expected);
    avoid_state_free(&state);
    return status;
}

/* ------------------------------------------------------------------ slack */

static gordian_status slack_row(const struct avoid_bench *avoid, const char *engine,
                                uint32_t processes, uint32_t resources)
{
    struct bench *bench = avoid->bench;
    gordian_bank_options options;
    gordian_bank *bank = NULL;
    gordian_want wants[4];
    uint64_t units = 0, slack = 0;
    gordian_bank_options_init(&options);
    options.engine = engine;
    gordian_status status = gordian_bank_open(&bank, &options, bench->error);
    for (uint32_t j = 0; j < resources && status == GORDIAN_OK; j++)
        status = gordian_bank_add_resource(bank, NULL, 64, NULL, bench->error);
    for (uint32_t i = 0; i < processes && status == GORDIAN_OK; i++) {
        for (uint32_t k = 0; k < 4; k++)
            wants[k] = (gordian_want){.resource = (i + 7 * k) % resources, .units = 8};
        status = gordian_bank_add_process(bank, NULL, wants, 4, NULL, NULL, bench->error);
        wants[0].units = 3;
        THEN(status, gordian_bank_request(bank, i, wants, 1, NULL, bench->error));
    }
    uint64_t start = clock_ns();
    for (uint32_t j = 0; j < resources && status == GORDIAN_OK; j++) {
        status = gordian_bank_slack(bank, j, &units, bench->error);
        slack += units;
    }
    struct bench_row row = bench_row("us", "avoid/slack-%ux%u/%s", processes, resources, engine);
    row.value = (double)(clock_ns() - start) / 1e3 / resources;
    bench_note(&row, "per resource; %llu units in total", (unsigned long long)slack);
    gordian_bank_close(bank);
    return status == GORDIAN_OK ? bench_add(bench, &row) : status;
}

gordian_status avoid_batch_rows(const struct avoid_bench *avoid)
{
    static const struct batch_size small = {"", AVOID_MIXED, 40, 20, 30, true};
    static const struct batch_size sizes[] = {
        {"", AVOID_MIXED, 1024, 256, 200, true},
        {"-wide", AVOID_WIDE, 1024, 256, 1000, true},
        {"", AVOID_MIXED, 8192, 1024, 256, false},
    };
    static const char *const engines[] = {"dense", "holt", "cuda"};
    const bool quick = avoid->bench->options->quick;
    if (avoid->emulated)
        TRY(batch_rows(avoid, &small));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !avoid->emulated; i++)
        if (!(quick && (sizes[i].dense || avoid->cpu)))
            TRY(batch_rows(avoid, &sizes[i]));
    for (size_t e = 0; e < 3; e++)
        if (avoid_wants(avoid, engines[e]))
            TRY(avoid->emulated ? slack_row(avoid, engines[e], 24, 12)
                                : slack_row(avoid, engines[e], 1024, 256));
    return GORDIAN_OK;
}
