/* The independent check of a schedule, plain or relaxed. It simulates the schedule cycle by cycle,
 * as the hardware would run it, and shares no code with the functions that build schedules. */
#include "engines/makespan/relax/relax.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

struct check {
    const struct makespan_model *model;
    const struct relax_schedule *schedule;
    /* The pieces of each warp, ordered by cycle: [first[w], first[w + 1]) of `own`. */
    uint32_t first[MAKESPAN_MAX_WARPS + 1];
    uint32_t *own;
    uint32_t next[MAKESPAN_MAX_WARPS]; /* by warp: the next of its entries to run */
    uint32_t ran[MAKESPAN_MAX_WARPS];  /* number of pieces run in this cycle */
    uint32_t used[MAKESPAN_TYPES], warps;
};

static uint32_t piece_at(const struct check *check, uint32_t entry)
{
    return check->schedule->pieces[check->own[entry]];
}

/* Every entry has a warp, a piece and a cycle of the model. Each warp runs its entries in order:
 * each in a later cycle than the one before it, unless a warp may issue several per cycle. */
static gordian_status check_entries(const struct check *check, gordian_error *why)
{
    const struct relax_schedule *schedule = check->schedule;
    uint32_t earliest[MAKESPAN_MAX_WARPS] = {0}, last = 0;
    for (uint32_t i = 0; i < schedule->count; i++) {
        uint32_t warp = schedule->warps[i], piece = schedule->pieces[i];
        uint32_t cycle = schedule->cycles[i];
        if (warp >= check->model->warps || piece >= check->model->length)
            return fail(why, GORDIAN_STATUS_INPUT, "entry %u does not belong to the string", i + 1);
        if (cycle >= schedule->makespan)
            return fail(why, GORDIAN_STATUS_INPUT, "entry %u is in cycle %u, after the end", i + 1,
                        cycle + 1);
        if (cycle < earliest[warp])
            return fail(why, GORDIAN_STATUS_INPUT,
                        "warp %u: instruction %u is not after the one before", warp + 1, piece + 1);
        earliest[warp] = cycle + (check->model->issue == 1);
        last = cycle > last ? cycle : last;
    }
    if (schedule->count == 0 || last + 1 != schedule->makespan)
        return fail(why, GORDIAN_STATUS_INPUT, "the schedule ends with cycle %u, not %u", last + 1,
                    schedule->makespan);
    return GORDIAN_OK;
}

/* Groups the entries by warp. If each warp has all of its pieces, they must be in order. */
static void gather_own(struct check *check)
{
    const struct relax_schedule *schedule = check->schedule;
    uint32_t at[MAKESPAN_MAX_WARPS];
    for (uint32_t i = 0; i < schedule->count; i++)
        check->first[schedule->warps[i] + 1]++;
    for (uint32_t w = 0; w < check->model->warps; w++)
        check->first[w + 1] += check->first[w];
    memcpy(at, check->first, sizeof at);
    for (uint32_t i = 0; i < schedule->count; i++)
        check->own[at[schedule->warps[i]]++] = i;
    memcpy(check->next, check->first, sizeof check->next);
}

/* Returns whether `piece` may follow if `wanted` is the next in the string. Only the end of an
 * instruction may be left out, and only its optional pieces. */
static bool may_follow(const struct makespan_model *model, uint32_t wanted, uint32_t piece)
{
    if (piece == wanted)
        return true;
    for (uint32_t p = wanted; p < piece; p++)
        if (p >= model->length || !(model->marks[p] & MODEL_OPTIONAL))
            return false;
    return piece == model->length || (piece > wanted && (model->marks[piece] & MODEL_FIRST));
}

/* Checks that a warp runs all pieces that are not optional, in order. */
static gordian_status check_warp(const struct check *check, uint32_t warp, gordian_error *why)
{
    uint32_t wanted = 0;
    for (uint32_t i = check->first[warp]; i < check->first[warp + 1]; i++) {
        if (!may_follow(check->model, wanted, piece_at(check, i)))
            return fail(why, GORDIAN_STATUS_INPUT, "warp %u: instruction %u is not allowed here",
                        warp + 1, piece_at(check, i) + 1);
        wanted = piece_at(check, i) + 1;
    }
    if (!may_follow(check->model, wanted, check->model->length))
        return fail(why, GORDIAN_STATUS_INPUT, "warp %u ends before the string does", warp + 1);
    return GORDIAN_OK;
}

/* Checks that this cycle is within every capacity. */
static gordian_status run_cycle(struct check *check, uint32_t cycle, gordian_error *why)
{
    const struct makespan_model *model = check->model;
    memset(check->used, 0, sizeof check->used);
    memset(check->ran, 0, sizeof check->ran);
    check->warps = 0;
    for (uint32_t w = 0; w < model->warps; w++) {
        uint32_t *next = &check->next[w];
        for (; *next < check->first[w + 1] && check->schedule->cycles[check->own[*next]] == cycle;
             ++*next) {
            uint32_t piece = piece_at(check, *next), type = model->string[piece];
            if (++check->ran[w] > model->issue)
                return fail(why, GORDIAN_STATUS_INPUT, "warp %u runs more than %u in cycle %u",
                            w + 1, model->issue, cycle + 1);
            if (check->ran[w] > 1 && !(model->marks[piece] & MODEL_FIRST))
                return fail(why, GORDIAN_STATUS_INPUT,
                            "warp %u runs two pieces of an instruction in cycle %u", w + 1,
                            cycle + 1);
            if (++check->used[type] > model->given[type])
                return fail(why, GORDIAN_STATUS_INPUT,
                            "cycle %u starts more '%c' than there are units", cycle + 1,
                            model->letters[type]);
        }
        check->warps += check->ran[w] > 0;
    }
    if (model->schedulers && check->warps > model->schedulers)
        return fail(why, GORDIAN_STATUS_INPUT, "cycle %u runs more warps than there are schedulers",
                    cycle + 1);
    return GORDIAN_OK;
}

/* Checks that no waiting piece could have run in addition to the others. */
static gordian_status nothing_left_out(const struct check *check, uint32_t cycle,
                                       gordian_error *why)
{
    const struct makespan_model *model = check->model;
    bool schedulers_taken = model->schedulers && check->warps == model->schedulers;
    for (uint32_t w = 0; w < model->warps; w++) {
        if (check->next[w] == check->first[w + 1])
            continue;
        uint32_t piece = piece_at(check, check->next[w]), type = model->string[piece];
        bool may = check->ran[w] == 0
                       ? !schedulers_taken
                       : check->ran[w] < model->issue && (model->marks[piece] & MODEL_FIRST) != 0;
        if (may && check->used[type] < model->given[type])
            return fail(why, GORDIAN_STATUS_INPUT, "warp %u could have run '%c' in cycle %u", w + 1,
                        model->letters[type], cycle + 1);
    }
    return GORDIAN_OK;
}

gordian_status relax_check(const struct makespan_model *model,
                           const struct relax_schedule *schedule, gordian_error *why)
{
    struct check check = {.model = model, .schedule = schedule};
    TRY(check_entries(&check, why));
    gordian_status status = GORDIAN_OK;
    check.own = memory_alloc(&model->memory, schedule->count * sizeof *check.own);
    if (!check.own)
        return fail_memory(why);
    gather_own(&check);
    for (uint32_t w = 0; status == GORDIAN_OK && w < model->warps; w++)
        status = check_warp(&check, w, why);
    for (uint32_t cycle = 0; status == GORDIAN_OK && cycle < schedule->makespan; cycle++) {
        status = run_cycle(&check, cycle, why);
        THEN(status, nothing_left_out(&check, cycle, why));
    }
    memory_free(&model->memory, check.own);
    return status;
}

gordian_status schedule_check(const struct makespan_model *model, const uint8_t *order,
                              const uint32_t *cycles, uint32_t makespan, gordian_error *why)
{
    uint32_t done[MAKESPAN_MAX_WARPS] = {0};
    uint32_t *pieces = memory_alloc(&model->memory, model->work * sizeof *pieces);
    if (!pieces)
        return fail_memory(why);
    for (uint32_t i = 0; i < model->work; i++)
        pieces[i] = order[i] < model->warps ? done[order[i]]++ : 0;
    /* The check only reads. */
    const struct relax_schedule schedule = {.count = model->work,
                                            .warps = (uint8_t *)order,
                                            .pieces = pieces,
                                            .cycles = (uint32_t *)cycles,
                                            .makespan = makespan};
    gordian_status status = relax_check(model, &schedule, why);
    memory_free(&model->memory, pieces);
    return status;
}
