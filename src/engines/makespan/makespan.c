/* The public makespan interface: models, options and results. */
#include "engines/makespan/model/engine.h"
#include "engines/makespan/model/program.h"
#include "engines/makespan/relax/relax.h"
#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

struct gordian_makespan {
    struct makespan_model *model;
    gordian_allocator memory;
    char note[200];
    uint32_t *witness; /* the schedule of the last result: warps, then cycles, then pieces */
};

gordian_status gordian_makespan_open(gordian_makespan **out,
                                     const gordian_makespan_problem *problem,
                                     const gordian_allocator *allocator, gordian_error *error)
{
    *out = NULL;
    gordian_allocator memory = memory_allocator(allocator);
    struct makespan_model *model;
    TRY(model_open(&model, problem, &memory, error));
    gordian_makespan *makespan = memory_zeroed(&memory, sizeof *makespan);
    if (!makespan) {
        model_close(model);
        return fail_memory(error);
    }
    makespan->model = model;
    makespan->memory = memory;
    *out = makespan;
    return GORDIAN_OK;
}

void gordian_makespan_close(gordian_makespan *makespan)
{
    if (!makespan)
        return;
    gordian_allocator memory = makespan->memory;
    model_close(makespan->model);
    memory_free_all(&memory, makespan->witness, makespan);
}

uint32_t gordian_makespan_warps(const gordian_makespan *makespan)
{
    return makespan->model->warps;
}

const char *gordian_makespan_kernel(const gordian_makespan *makespan)
{
    return makespan->model->text;
}

uint32_t gordian_makespan_length(const gordian_makespan *makespan)
{
    return makespan->model->length;
}

uint32_t gordian_makespan_units(const gordian_makespan *makespan, char letter)
{
    for (uint32_t type = 0; type < makespan->model->types; type++) {
        if (makespan->model->letters[type] == letter)
            return makespan->model->given[type];
    }
    return 0;
}

void gordian_makespan_options_init(gordian_makespan_options *options)
{
    *options = (gordian_makespan_options){
        .engine = "auto",
        .seed = 1,
        .chains = 8,
        .evaluations = 2000000,
        .temperature = 0.3,
    };
}

const char *gordian_makespan_start_text(gordian_makespan_start start)
{
    static const char *const texts[] = {"all", "round-robin", "fixed-priority", "most-pending",
                                        "random"};
    return (size_t)start < sizeof texts / sizeof *texts ? texts[start] : NULL;
}

static void fill_answer(gordian_makespan *makespan, const struct makespan_result *result,
                        gordian_makespan_answer *answer)
{
    uint32_t work = makespan->model->work, count = result->pieces ? result->count : work;
    uint32_t done[MAKESPAN_MAX_WARPS] = {0};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t piece = result->pieces ? result->pieces[i] : done[result->order[i]]++;
        makespan->witness[i] = result->order[i] + 1u;
        makespan->witness[work + i] = result->cycles[i] + 1;
        makespan->witness[2 * (size_t)work + i] = piece + 1;
    }
    for (size_t i = 0; i < sizeof makespan->note; i++)
        makespan->note[i] = result->note[i];
    *answer = (gordian_makespan_answer){
        .lower = result->lower,
        .upper = result->upper,
        .exact = result->exact,
        .witness = makespan->witness,
        .cycles = makespan->witness + work,
        .pieces = makespan->witness + 2 * (size_t)work,
        .witness_count = count,
        .evaluations = result->evaluations,
        .states = result->states,
        .memory = result->most_memory,
        .stop = result->stop,
        .engine = result->engine,
        .note = makespan->note,
    };
}

gordian_status gordian_makespan_solve(gordian_makespan *makespan,
                                      const gordian_makespan_options *options,
                                      gordian_makespan_answer *answer, gordian_error *error)
{
    const struct makespan_model *model = makespan->model;
    const struct engine *chosen;
    gordian_makespan_options defaults;
    gordian_makespan_options_init(&defaults);
    options = options ? options : &defaults;
    uint64_t begin = clock_ns();
    gordian_status status = engine_choose(&makespan_family, options->engine, model, &chosen, error);
    if (status == GORDIAN_OK && !makespan->witness) {
        makespan->witness =
            memory_alloc(&makespan->memory, 3 * (size_t)model->work * sizeof(uint32_t));
        status = makespan->witness ? GORDIAN_OK : fail_memory(error);
    }
    struct makespan_result result;
    THEN(status, ((const struct makespan_engine *)chosen)->run(model, options, &result, error));
    if (status != GORDIAN_OK)
        return status;
    fill_answer(makespan, &result, answer);
    answer->seconds = (double)(clock_ns() - begin) / 1e9;
    makespan_result_free(&result);
    return GORDIAN_OK;
}

/* Converts the public list, which counts warps from 1, to an order. */
static gordian_status read_witness_order(const struct makespan_model *model,
                                         const uint32_t *witness, size_t count, uint8_t **order,
                                         gordian_error *error)
{
    *order = NULL;
    if (count != model->work)
        return fail(error, GORDIAN_STATUS_INPUT, "a string for this kernel has %u entries, not %zu",
                    model->work, count);
    uint8_t *fresh = memory_alloc(&model->memory, count);
    if (!fresh)
        return fail_memory(error);
    bool valid = true;
    for (size_t i = 0; i < count && valid; i++) {
        valid = witness[i] >= 1 && witness[i] <= model->warps;
        fresh[i] = (uint8_t)(witness[i] - 1);
    }
    if (!valid || !order_valid(model, fresh)) {
        memory_free(&model->memory, fresh);
        return fail(error, GORDIAN_STATUS_INPUT,
                    "the string must name each warp from 1 to %u %u times", model->warps,
                    model->length);
    }
    *order = fresh;
    return GORDIAN_OK;
}

/* Uses the longest latencies: no piece is left out, and every entry is in the schedule. */
static gordian_status build_relaxed(const struct makespan_model *model, uint8_t *order,
                                    uint32_t *cycles, uint32_t *length, gordian_error *error)
{
    const gordian_allocator *memory = &model->memory;
    struct relax_buffers *room;
    TRY(relax_buffers_open(&room, model, memory, error));
    gordian_status status = GORDIAN_OK;
    struct relax_plan plan = {order, memory_zeroed(memory, model->work)};
    struct relax_schedule schedule;
    if (relax_schedule_open(&schedule, model->work, memory) && plan.skips) {
        *length = relax_build(room, &plan, &schedule);
        if (cycles)
            memcpy(cycles, schedule.cycles, schedule.count * sizeof *cycles);
    } else {
        status = fail_memory(error);
    }
    relax_schedule_close(&schedule, memory);
    memory_free(memory, plan.skips);
    relax_buffers_close(room);
    return status;
}

gordian_status gordian_makespan_build(const gordian_makespan *makespan, const uint32_t *witness,
                                      size_t count, uint32_t *cycles, uint32_t *length,
                                      gordian_error *error)
{
    const struct makespan_model *model = makespan->model;
    uint8_t *order;
    TRY(read_witness_order(model, witness, count, &order, error));
    gordian_status status = GORDIAN_OK;
    if (model->relaxed)
        status = build_relaxed(model, order, cycles, length, error);
    else if (schedule_build(model, order, cycles, length))
        status = fail_memory(error);
    for (size_t i = 0; status == GORDIAN_OK && cycles && i < count; i++)
        cycles[i]++;
    memory_free(&model->memory, order);
    return status;
}

/* The public lists count from 1. */
static gordian_status copy_schedule_entries(const struct makespan_model *model,
                                            const uint32_t *witness, const uint32_t *pieces,
                                            const uint32_t *cycles, size_t count,
                                            struct relax_schedule *schedule, gordian_error *error)
{
    schedule->count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        if (witness[i] == 0 || witness[i] > model->warps || pieces[i] == 0 || cycles[i] == 0)
            return fail(error, GORDIAN_STATUS_INPUT,
                        "entry %zu: warps, pieces and cycles count from 1", i + 1);
        if (cycles[i] > model->work)
            return fail(error, GORDIAN_STATUS_INPUT, "cycle %u is after the last possible cycle",
                        cycles[i]);
        schedule->warps[i] = (uint8_t)(witness[i] - 1);
        schedule->pieces[i] = pieces[i] - 1;
        schedule->cycles[i] = cycles[i] - 1;
        if (schedule->makespan < cycles[i])
            schedule->makespan = cycles[i];
    }
    return GORDIAN_OK;
}

gordian_status gordian_makespan_check_pieces(const gordian_makespan *makespan,
                                             const uint32_t *witness, const uint32_t *pieces,
                                             const uint32_t *cycles, size_t count,
                                             gordian_error *error)
{
    const struct makespan_model *model = makespan->model;
    const gordian_allocator *memory = &model->memory;
    if (count == 0 || count > model->work)
        return fail(error, GORDIAN_STATUS_INPUT, "a schedule of this kernel has 1 to %u entries",
                    model->work);
    struct relax_schedule schedule;
    gordian_status status =
        relax_schedule_open(&schedule, count, memory)
            ? copy_schedule_entries(model, witness, pieces, cycles, count, &schedule, error)
            : fail_memory(error);
    THEN(status, relax_check(model, &schedule, error));
    relax_schedule_close(&schedule, memory);
    return status;
}

gordian_status gordian_makespan_check(const gordian_makespan *makespan, const uint32_t *witness,
                                      const uint32_t *cycles, size_t count, gordian_error *error)
{
    const struct makespan_model *model = makespan->model;
    uint32_t done[MAKESPAN_MAX_WARPS] = {0};
    uint8_t *order;
    TRY(read_witness_order(model, witness, count, &order, error));
    /* No piece is left out, so the pieces follow from the order. */
    uint32_t *pieces = memory_alloc(&model->memory, count * sizeof *pieces);
    for (size_t i = 0; pieces && i < count; i++)
        pieces[i] = ++done[order[i]];
    gordian_status status =
        pieces ? gordian_makespan_check_pieces(makespan, witness, pieces, cycles, count, error)
               : fail_memory(error);
    memory_free_all(&model->memory, order, pieces);
    return status;
}

gordian_status gordian_makespan_lp(const gordian_makespan *makespan, gordian_makespan_goal goal,
                                   const gordian_writer *writer, gordian_error *error)
{
    struct output out;
    if (makespan->model->relaxed)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE,
                    "the integer program only supports one instruction of a warp per cycle and "
                    "constant latencies");
    if (!output_open_writer(&out, writer))
        return fail_memory(error);
    gordian_status status = program_write(makespan->model, goal, &out, error);
    if (!output_close(&out) && status == GORDIAN_OK)
        status =
            fail(error, GORDIAN_STATUS_IO, "cannot write the program: %s", strerror(out.failure));
    return status;
}

gordian_status gordian_makespan_fullest(const gordian_makespan_dealing *dealing,
                                        gordian_makespan_goal goal, uint32_t *blocks,
                                        gordian_error *error)
{
    if (dealing->blocks == 0 || dealing->multiprocessors == 0)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "there must be at least one block and one multiprocessor");
    uint32_t even = (dealing->blocks - 1) / dealing->multiprocessors + 1;
    uint32_t most = dealing->resident ? dealing->resident : even;
    if (most < even)
        return fail(
            error, GORDIAN_STATUS_INPUT,
            "%u multiprocessors of %u blocks each hold fewer than %u: some blocks would wait",
            dealing->multiprocessors, most, dealing->blocks);
    most = most < dealing->blocks ? most : dealing->blocks;
    *blocks = goal == GORDIAN_MAKESPAN_GOAL_WORST ? most : even;
    return GORDIAN_OK;
}
