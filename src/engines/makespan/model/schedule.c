/* Builds and sorts schedules, and makes the initial orders (schedule.h). */
#include "engines/makespan/model/schedule.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

bool order_valid(const struct makespan_model *model, const uint8_t *order)
{
    uint32_t counts[MAKESPAN_MAX_WARPS] = {0};
    for (uint32_t i = 0; i < model->work; i++) {
        if (order[i] >= model->warps || ++counts[order[i]] > model->length)
            return false;
    }
    return true; /* the list has work entries and no warp too often, so each warp has exactly the
                    right number */
}

/* Puts each entry into the first cycle that fits. `used` has types + 1 counters per cycle, the last
 * one for all types. */
static uint32_t place_order(const struct makespan_model *model, const uint8_t *order,
                            uint32_t *cycles, uint32_t *used)
{
    uint32_t done[MAKESPAN_MAX_WARPS] = {0}, ready[MAKESPAN_MAX_WARPS] = {0}, makespan = 0;
    uint32_t width = model->types + 1;
    for (uint32_t i = 0; i < model->work; i++) {
        uint32_t warp = order[i], type = model->string[done[warp]++], cycle = ready[warp];
        uint32_t *at = used + (size_t)cycle * width;
        while (at[type] == model->units[type] || at[model->types] == model->sigma) {
            at += width;
            cycle++;
        }
        at[type]++;
        at[model->types]++;
        ready[warp] = cycle + 1;
        if (cycles)
            cycles[i] = cycle;
        if (makespan <= cycle)
            makespan = cycle + 1;
    }
    return makespan;
}

gordian_status schedule_build(const struct makespan_model *model, const uint8_t *order,
                              uint32_t *cycles, uint32_t *makespan)
{
    /* Placed entries do not move, so no cell is beyond the end of the whole schedule. */
    size_t size = (size_t)model_upper_bound(model) * (model->types + 1) * sizeof(uint32_t);
    uint32_t *used = memory_zeroed(&model->memory, size);
    if (!used)
        return GORDIAN_STATUS_MEMORY;
    *makespan = place_order(model, order, cycles, used);
    memory_free(&model->memory, used);
    return GORDIAN_OK;
}

/* Sorts by cycle, then by warp: a warp has at most one entry per cycle. */
static bool sort_by_warp(const struct makespan_model *model, uint8_t *order, uint32_t *cycles,
                         uint32_t *key)
{
    uint32_t count[MAKESPAN_MAX_WARPS + 1] = {0};
    for (uint32_t i = 0; i < model->work; i++)
        count[order[i] + 1]++;
    for (uint32_t w = 0; w < model->warps; w++)
        count[w + 1] += count[w];
    for (uint32_t i = 0; i < model->work; i++)
        key[count[order[i]]++] = cycles[i];
    uint32_t last = 0;
    for (uint32_t i = 0; i < model->work; i++)
        last = last > cycles[i] ? last : cycles[i];
    uint32_t *first = memory_zeroed(&model->memory, ((size_t)last + 2) * sizeof *first);
    if (!first)
        return false;
    for (uint32_t i = 0; i < model->work; i++)
        first[cycles[i] + 1]++;
    for (uint32_t c = 0; c <= last; c++)
        first[c + 1] += first[c];
    for (uint32_t i = 0; i < model->work; i++) {
        uint32_t to = first[key[i]]++;
        order[to] = (uint8_t)(i / model->length);
        cycles[to] = key[i];
    }
    memory_free(&model->memory, first);
    return true;
}

gordian_status schedule_canonical(const struct makespan_model *model, uint8_t *order,
                                  uint32_t *cycles)
{
    uint32_t *key = memory_alloc(&model->memory, model->work * sizeof *key);
    bool sorted = key && sort_by_warp(model, order, cycles, key);
    memory_free(&model->memory, key);
    return sorted ? GORDIAN_OK : GORDIAN_STATUS_MEMORY;
}

/* Cycle by cycle, warps with the most instructions left first, and the lower number among
 * equals. */
static void most_pending(const struct makespan_model *model, uint8_t *order)
{
    uint32_t left[MAKESPAN_MAX_WARPS], entries = 0;
    for (uint32_t w = 0; w < model->warps; w++)
        left[w] = model->length;
    while (entries < model->work) {
        uint32_t used[MAKESPAN_TYPES] = {0}, all = 0;
        bool ran[MAKESPAN_MAX_WARPS] = {false};
        for (;;) {
            uint32_t best = model->warps;
            for (uint32_t w = 0; w < model->warps; w++) {
                uint32_t type = left[w] ? model->string[model->length - left[w]] : 0;
                if (left[w] && !ran[w] && used[type] < model->units[type] &&
                    (best == model->warps || left[w] > left[best]))
                    best = w;
            }
            if (best == model->warps || all == model->sigma)
                break;
            used[model->string[model->length - left[best]]]++;
            all++;
            ran[best] = true;
            order[entries++] = (uint8_t)best;
        }
        for (uint32_t w = 0; w < model->warps; w++)
            left[w] -= ran[w];
    }
}

void order_fill(const struct makespan_model *model, enum order_template which,
                struct random *random, uint8_t *order)
{
    if (which == ORDER_MOST_PENDING) {
        most_pending(model, order);
        return;
    }
    for (uint32_t i = 0; i < model->work; i++)
        order[i] = (uint8_t)(which == ORDER_FIXED_PRIORITY ? i / model->length : i % model->warps);
    for (uint32_t i = model->work; which == ORDER_RANDOM && i > 1; i--) {
        uint32_t j = (uint32_t)random_below(random, i);
        uint8_t entry = order[i - 1];
        order[i - 1] = order[j];
        order[j] = entry;
    }
}
