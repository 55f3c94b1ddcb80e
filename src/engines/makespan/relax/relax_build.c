/* Builds schedules of relaxed models from strings of warps. */
#include "engines/makespan/relax/relax.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

struct relax_buffers {
    const struct makespan_model *model;
    gordian_allocator memory;
    uint32_t longest; /* cycles */
    uint32_t dirty;   /* number of cycles in use */
    uint32_t *used;   /* [cycle][types + 1]: starts of each type; the last one: warps that run */
    uint32_t *counts; /* for sorting: longest + 1, or warps + 1 */
    uint8_t *warps;   /* sort buffers: model->work of each */
    uint32_t *pieces, *cycles;
};

uint32_t relax_skip(const struct makespan_model *model, uint32_t piece)
{
    if (piece >= model->length || !(model->marks[piece] & MODEL_OPTIONAL))
        return piece;
    while (piece < model->length && !(model->marks[piece] & MODEL_FIRST))
        piece++;
    return piece;
}

bool relax_schedule_open(struct relax_schedule *schedule, size_t entries,
                         const gordian_allocator *memory)
{
    *schedule =
        (struct relax_schedule){.warps = memory_alloc(memory, entries),
                                .pieces = memory_alloc(memory, entries * sizeof *schedule->pieces),
                                .cycles = memory_alloc(memory, entries * sizeof *schedule->cycles)};
    return schedule->warps && schedule->pieces && schedule->cycles;
}

void relax_schedule_close(struct relax_schedule *schedule, const gordian_allocator *memory)
{
    memory_free_all(memory, schedule->warps, schedule->pieces, schedule->cycles);
}

gordian_status relax_buffers_open(struct relax_buffers **out, const struct makespan_model *model,
                                  const gordian_allocator *memory, gordian_error *error)
{
    *out = NULL;
    struct relax_buffers *buffers = memory_zeroed(memory, sizeof *buffers);
    if (!buffers)
        return fail_memory(error);
    buffers->model = model;
    buffers->memory = *memory;
    buffers->longest = model_upper_bound(model);
    size_t most = buffers->longest > model->warps ? buffers->longest : model->warps;
    buffers->used =
        memory_zeroed(memory, (size_t)buffers->longest * (model->types + 1) * sizeof(uint32_t));
    buffers->counts = memory_alloc(memory, (most + 2) * sizeof(uint32_t));
    buffers->warps = memory_alloc(memory, model->work);
    buffers->pieces = memory_alloc(memory, model->work * sizeof(uint32_t));
    buffers->cycles = memory_alloc(memory, model->work * sizeof(uint32_t));
    if (!buffers->used || !buffers->counts || !buffers->warps || !buffers->pieces ||
        !buffers->cycles) {
        relax_buffers_close(buffers);
        return fail_memory(error);
    }
    *out = buffers;
    return GORDIAN_OK;
}

void relax_buffers_close(struct relax_buffers *buffers)
{
    if (!buffers)
        return;
    gordian_allocator memory = buffers->memory;
    memory_free_all(&memory, buffers->used, buffers->counts, buffers->warps, buffers->pieces,
                    buffers->cycles, buffers);
}

/* The progress of a warp. */
struct walker {
    uint32_t piece;  /* the next one, unless it is left out */
    uint32_t cycle;  /* of the last one, + 1; 0: none yet */
    uint32_t issued; /* pieces in that cycle */
};

/* Puts the warp's next piece into the earliest cycle that fits. */
static uint32_t place_piece(struct relax_buffers *buffers, struct walker *walker)
{
    const struct makespan_model *model = buffers->model;
    uint32_t width = model->types + 1, type = model->string[walker->piece];
    bool joins = walker->cycle > 0 && walker->issued < model->issue &&
                 (model->marks[walker->piece] & MODEL_FIRST);
    uint32_t cycle = joins ? walker->cycle - 1 : walker->cycle;
    uint32_t *at = buffers->used + (size_t)cycle * width;
    joins = joins && at[type] < model->units[type];
    if (!joins) {
        cycle = walker->cycle;
        at = buffers->used + (size_t)cycle * width;
        while (at[type] == model->units[type] || at[model->types] == model->sigma) {
            at += width;
            cycle++;
        }
        at[model->types]++;
        walker->issued = 0;
    }
    at[type]++;
    walker->issued++;
    walker->piece++;
    walker->cycle = cycle + 1;
    return cycle;
}

uint32_t relax_build(struct relax_buffers *buffers, const struct relax_plan *plan,
                     struct relax_schedule *schedule)
{
    const struct makespan_model *model = buffers->model;
    struct walker walkers[MAKESPAN_MAX_WARPS];
    memset(walkers, 0, model->warps * sizeof *walkers);
    memset(buffers->used, 0, (size_t)buffers->dirty * (model->types + 1) * sizeof(uint32_t));
    schedule->count = schedule->makespan = 0;
    for (uint32_t i = 0; i < model->work; i++) {
        uint32_t warp = plan->order[i];
        struct walker *walker = &walkers[warp];
        const uint8_t *skips = plan->skips + (size_t)warp * model->length;
        while (walker->piece < model->length && skips[walker->piece])
            walker->piece++;
        if (walker->piece == model->length)
            continue;
        uint32_t n = schedule->count++;
        schedule->warps[n] = (uint8_t)warp;
        schedule->pieces[n] = walker->piece;
        schedule->cycles[n] = place_piece(buffers, walker);
        if (schedule->makespan <= schedule->cycles[n])
            schedule->makespan = schedule->cycles[n] + 1;
    }
    buffers->dirty = schedule->makespan;
    return schedule->makespan;
}

/* One pass of a stable counting sort, from one set of three lists to another. */
static void sort_entries_by(struct relax_buffers *buffers, uint32_t count, const uint32_t *keys,
                            uint32_t most, const uint8_t *warps, const uint32_t *pieces,
                            const uint32_t *cycles, struct relax_schedule *to)
{
    uint32_t *counts = buffers->counts;
    memset(counts, 0, ((size_t)most + 2) * sizeof *counts);
    for (uint32_t i = 0; i < count; i++)
        counts[(keys ? keys[i] : warps[i]) + 1]++;
    for (uint32_t k = 0; k <= most; k++)
        counts[k + 1] += counts[k];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t n = counts[keys ? keys[i] : warps[i]]++;
        to->warps[n] = warps[i];
        to->pieces[n] = pieces[i];
        to->cycles[n] = cycles[i];
    }
}

void relax_sort(struct relax_buffers *buffers, struct relax_schedule *schedule)
{
    /* A warp's pieces are in order already, so sort by warp, then by cycle. */
    struct relax_schedule by_warp = {
        .warps = buffers->warps, .pieces = buffers->pieces, .cycles = buffers->cycles};
    sort_entries_by(buffers, schedule->count, NULL, buffers->model->warps - 1, schedule->warps,
                    schedule->pieces, schedule->cycles, &by_warp);
    sort_entries_by(buffers, schedule->count, by_warp.cycles, schedule->makespan - 1, by_warp.warps,
                    by_warp.pieces, by_warp.cycles, schedule);
}
