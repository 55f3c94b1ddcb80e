/* The independent check of a schedule: goes through it cycle by cycle, as the hardware would. */
#include "engines/makespan/model/schedule.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

struct check {
    const struct makespan_model *model;
    const uint8_t *order;
    const uint32_t *cycles;
    uint32_t makespan;
    uint32_t *first;  /* of the entries of each cycle in `sorted`; makespan + 1 of them */
    uint32_t *sorted; /* entries by cycle */
    uint32_t *done;   /* instructions each warp has run */
    uint32_t *ran;    /* the last cycle each warp ran in, + 1 */
    uint32_t used[MAKESPAN_TYPES];
    uint32_t all;
};

static bool sort_entries(struct check *check)
{
    const struct makespan_model *model = check->model;
    const gordian_allocator *memory = &model->memory;
    check->first = memory_zeroed(memory, ((size_t)check->makespan + 2) * sizeof *check->first);
    check->sorted = memory_alloc(memory, model->work * sizeof *check->sorted);
    check->done = memory_zeroed(memory, model->warps * sizeof *check->done);
    check->ran = memory_zeroed(memory, model->warps * sizeof *check->ran);
    if (!check->first || !check->sorted || !check->done || !check->ran)
        return false;
    for (uint32_t i = 0; i < model->work; i++)
        check->first[check->cycles[i] + 2]++;
    for (uint32_t c = 2; c <= check->makespan + 1; c++)
        check->first[c] += check->first[c - 1];
    for (uint32_t i = 0; i < model->work; i++)
        check->sorted[check->first[check->cycles[i] + 1]++] = i;
    return true;
}

/* What runs in this cycle: one instruction of a warp, within every capacity. */
static gordian_status run_cycle(struct check *check, uint32_t cycle, gordian_error *why)
{
    const struct makespan_model *model = check->model;
    memset(check->used, 0, sizeof check->used);
    check->all = 0;
    for (uint32_t i = check->first[cycle]; i < check->first[cycle + 1]; i++) {
        uint32_t warp = check->order[check->sorted[i]];
        if (check->ran[warp] == cycle + 1)
            return fail(why, GORDIAN_STATUS_INPUT, "warp %u runs twice in cycle %u", warp + 1,
                        cycle + 1);
        if (check->done[warp] == model->length)
            return fail(why, GORDIAN_STATUS_INPUT, "warp %u runs on after its end", warp + 1);
        uint32_t type = model->string[check->done[warp]];
        check->ran[warp] = cycle + 1;
        if (++check->used[type] > model->given[type])
            return fail(why, GORDIAN_STATUS_INPUT, "cycle %u starts more '%c' than there are units",
                        cycle + 1, model->letters[type]);
        if (++check->all > model->schedulers && model->schedulers)
            return fail(why, GORDIAN_STATUS_INPUT, "cycle %u starts more than there are schedulers",
                        cycle + 1);
    }
    return GORDIAN_OK;
}

/* Nobody waits who could have run beside the others. */
static gordian_status nobody_left_out(struct check *check, uint32_t cycle, gordian_error *why)
{
    const struct makespan_model *model = check->model;
    for (uint32_t warp = 0; warp < model->warps; warp++) {
        if (check->ran[warp] == cycle + 1) {
            check->done[warp]++;
            continue;
        }
        if (check->done[warp] == model->length)
            continue;
        uint32_t type = model->string[check->done[warp]];
        bool schedulers_taken = model->schedulers && check->all == model->schedulers;
        if (check->used[type] < model->given[type] && !schedulers_taken)
            return fail(why, GORDIAN_STATUS_INPUT, "warp %u could have run '%c' in cycle %u",
                        warp + 1, model->letters[type], cycle + 1);
    }
    return GORDIAN_OK;
}

static gordian_status check_whole(const struct makespan_model *model, const uint8_t *order,
                                  const uint32_t *cycles, uint32_t makespan, gordian_error *why)
{
    uint32_t counts[MAKESPAN_MAX_WARPS] = {0}, after[MAKESPAN_MAX_WARPS] = {0}, last = 0;
    for (uint32_t i = 0; i < model->work; i++) {
        uint32_t warp = order[i], cycle = cycles[i];
        if (warp >= model->warps || ++counts[warp] > model->length)
            return fail(why, GORDIAN_STATUS_INPUT, "entry %u does not belong to the string", i + 1);
        if (cycle >= makespan)
            return fail(why, GORDIAN_STATUS_INPUT, "entry %u is in cycle %u, after the end", i + 1,
                        cycle + 1);
        if (cycle < after[warp])
            return fail(why, GORDIAN_STATUS_INPUT,
                        "warp %u: instruction %u is not after the one before", warp + 1,
                        counts[warp]);
        after[warp] = cycle + 1;
        last = last > cycle ? last : cycle;
    }
    if (last + 1 != makespan)
        return fail(why, GORDIAN_STATUS_INPUT, "the schedule ends with cycle %u, not %u", last + 1,
                    makespan);
    return GORDIAN_OK;
}

gordian_status schedule_check(const struct makespan_model *model, const uint8_t *order,
                              const uint32_t *cycles, uint32_t makespan, gordian_error *why)
{
    gordian_status status = check_whole(model, order, cycles, makespan, why);
    if (status != GORDIAN_OK)
        return status;
    struct check check = {.model = model, .order = order, .cycles = cycles, .makespan = makespan};
    if (!sort_entries(&check))
        status = fail_memory(why);
    for (uint32_t cycle = 0; status == GORDIAN_OK && cycle < makespan; cycle++) {
        status = run_cycle(&check, cycle, why);
        THEN(status, nobody_left_out(&check, cycle, why));
    }
    memory_free_all(&model->memory, check.first, check.sorted, check.done, check.ran);
    return status;
}
