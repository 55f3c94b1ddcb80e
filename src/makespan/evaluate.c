#include "makespan/evaluate.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

/* So many entries from one record of the warps' progress to the next. */
enum { STRIDE = 32 };

/* Cells of the schedule from the cycle `base` on, cleared 64 cycles at a time as they are needed.
 */
struct cells {
    uint32_t types, words; /* words: cycles / 64 there is room for */
    uint32_t cleared;      /* words that are in use */
    uint64_t *full;        /* [word][type]: no more of this type fits, or of any */
    uint8_t *used;         /* [cycle][types + 1], the last one for all */
};

struct evaluator {
    const struct makespan_model *model;
    gordian_allocator memory;
    struct cells cells;
    uint32_t ready[MAKESPAN_MAX_WARPS], done[MAKESPAN_MAX_WARPS];
    /* The current order. */
    uint8_t *order;
    uint32_t *cycles;
    uint32_t *progress; /* [entry / STRIDE][warp]: instructions before that entry */
    uint32_t makespan;
    /* What was tried: entries first .. last-1 in their new order and cycles; those from last on
     * move by `shift`. */
    uint32_t first, last;
    int64_t shift;
    uint8_t *new_order;
    uint32_t *new_cycles;
    uint32_t *counts; /* for sorting: one a cycle, and one */
};

/* A byte counts starts: more than 255 of a kind in a cycle need 256 warps that all run. */
static bool make_cells(struct evaluator *evaluator)
{
    const struct makespan_model *model = evaluator->model;
    struct cells *cells = &evaluator->cells;
    cells->types = model->types;
    /* The first cycle of a window may be anywhere, and a search looks one word too far. */
    cells->words = model_upper_bound(model) / 64 + 2;
    cells->full =
        memory_alloc(&evaluator->memory, (size_t)cells->words * model->types * sizeof(uint64_t));
    cells->used = memory_alloc(&evaluator->memory, (size_t)cells->words * 64 * (model->types + 1));
    return cells->full && cells->used;
}

gordian_status evaluator_open(struct evaluator **out, const struct makespan_model *model,
                              const gordian_allocator *memory, gordian_error *error)
{
    *out = NULL;
    struct evaluator *evaluator = memory_zeroed(memory, sizeof *evaluator);
    if (!evaluator)
        return fail_memory(error);
    evaluator->model = model;
    evaluator->memory = *memory;
    size_t records = model->work / STRIDE + 1, longest = model_upper_bound(model);
    evaluator->order = memory_alloc(memory, model->work);
    evaluator->cycles = memory_alloc(memory, model->work * sizeof(uint32_t));
    evaluator->progress = memory_alloc(memory, records * model->warps * sizeof(uint32_t));
    evaluator->new_order = memory_alloc(memory, model->work);
    evaluator->new_cycles = memory_alloc(memory, model->work * sizeof(uint32_t));
    evaluator->counts = memory_alloc(memory, (longest + 2) * sizeof(uint32_t));
    if (!make_cells(evaluator) || !evaluator->order || !evaluator->cycles || !evaluator->progress ||
        !evaluator->new_order || !evaluator->new_cycles || !evaluator->counts) {
        evaluator_close(evaluator);
        return fail_memory(error);
    }
    *out = evaluator;
    return GORDIAN_OK;
}

void evaluator_close(struct evaluator *evaluator)
{
    if (!evaluator)
        return;
    gordian_allocator memory = evaluator->memory;
    memory_free(&memory, evaluator->cells.full);
    memory_free(&memory, evaluator->cells.used);
    memory_free(&memory, evaluator->order);
    memory_free(&memory, evaluator->cycles);
    memory_free(&memory, evaluator->progress);
    memory_free(&memory, evaluator->new_order);
    memory_free(&memory, evaluator->new_cycles);
    memory_free(&memory, evaluator->counts);
    memory_free(&memory, evaluator);
}

/* ------------------------------------------------------------------ placing */

static void clear_word(struct cells *cells)
{
    uint32_t word = cells->cleared++;
    memset(cells->full + (size_t)word * cells->types, 0, cells->types * sizeof(uint64_t));
    memset(cells->used + (size_t)word * 64 * (cells->types + 1), 0,
           (size_t)64 * (cells->types + 1));
}

/* The first cycle from `from` on that has room for this type. */
static inline uint32_t first_free(struct cells *cells, uint32_t type, uint32_t from)
{
    uint32_t word = from / 64;
    while (word >= cells->cleared)
        clear_word(cells);
    uint64_t free = ~cells->full[(size_t)word * cells->types + type] >> (from % 64);
    if (free)
        return from + (uint32_t)__builtin_ctzll(free);
    do {
        if (++word == cells->cleared)
            clear_word(cells);
        free = ~cells->full[(size_t)word * cells->types + type];
    } while (!free);
    return word * 64 + (uint32_t)__builtin_ctzll(free);
}

static inline void fill_cell(struct cells *cells, const struct makespan_model *model, uint32_t type,
                             uint32_t cycle)
{
    uint8_t *used = cells->used + (size_t)cycle * (cells->types + 1);
    uint64_t *full = cells->full + (size_t)(cycle / 64) * cells->types, bit = UINT64_C(1)
                                                                              << (cycle % 64);
    if (++used[type] == (uint8_t)model->units[type])
        full[type] |= bit;
    if (++used[cells->types] == (uint8_t)model->sigma) {
        for (uint32_t t = 0; t < cells->types; t++)
            full[t] |= bit;
    }
}

/* The warp's next instruction, into the earliest cycle that fits. */
static inline uint32_t place(struct evaluator *evaluator, uint32_t warp)
{
    const struct makespan_model *model = evaluator->model;
    uint32_t type = model->string[evaluator->done[warp]++];
    uint32_t cycle = first_free(&evaluator->cells, type, evaluator->ready[warp]);
    fill_cell(&evaluator->cells, model, type, cycle);
    evaluator->ready[warp] = cycle + 1;
    return cycle;
}

uint32_t evaluator_scratch(struct evaluator *evaluator, const uint8_t *order, uint32_t *cycles)
{
    const struct makespan_model *model = evaluator->model;
    uint32_t end = 0;
    memset(evaluator->ready, 0, model->warps * sizeof(uint32_t));
    memset(evaluator->done, 0, model->warps * sizeof(uint32_t));
    evaluator->cells.cleared = 0;
    for (uint32_t i = 0; i < model->work; i++) {
        uint32_t cycle = place(evaluator, order[i]);
        end = cycle >= end ? cycle + 1 : end;
        if (cycles)
            cycles[i] = cycle;
    }
    return end;
}

/* ------------------------------------------------------------------ the current order */

/* Entries new_order[first .. last-1], in cycles base and later, sorted by cycle into the current
 * order. */
static void sort_into(struct evaluator *evaluator, uint32_t base)
{
    uint32_t first = evaluator->first, last = evaluator->last, longest = 0;
    const uint32_t *cycles = evaluator->new_cycles;
    uint32_t *counts = evaluator->counts;
    for (uint32_t i = first; i < last; i++)
        longest = cycles[i] - base > longest ? cycles[i] - base : longest;
    memset(counts, 0, (longest + 2) * sizeof *counts);
    for (uint32_t i = first; i < last; i++)
        counts[cycles[i] - base + 1]++;
    for (uint32_t c = 0; c <= longest; c++)
        counts[c + 1] += counts[c];
    for (uint32_t i = first; i < last; i++) {
        uint32_t to = first + counts[cycles[i] - base]++;
        evaluator->order[to] = evaluator->new_order[i];
        evaluator->cycles[to] = cycles[i];
    }
}

/* The progress before entry `at`. */
static void progress_at(const struct evaluator *evaluator, uint32_t at, uint32_t *done)
{
    uint32_t warps = evaluator->model->warps, record = at / STRIDE;
    memcpy(done, evaluator->progress + (size_t)record * warps, warps * sizeof *done);
    for (uint32_t i = record * STRIDE; i < at; i++)
        done[evaluator->order[i]]++;
}

/* Writes the records after `first`, up to `last`. */
static void record_progress(struct evaluator *evaluator, uint32_t first, uint32_t last)
{
    uint32_t warps = evaluator->model->warps, done[MAKESPAN_MAX_WARPS];
    uint32_t record = first / STRIDE;
    memcpy(done, evaluator->progress + (size_t)record * warps, warps * sizeof *done);
    for (uint32_t i = record * STRIDE; i < last; i++) {
        if (i % STRIDE == 0)
            memcpy(evaluator->progress + (size_t)(i / STRIDE) * warps, done, warps * sizeof *done);
        done[evaluator->order[i]]++;
    }
}

uint32_t evaluator_set(struct evaluator *evaluator, const uint8_t *order)
{
    const struct makespan_model *model = evaluator->model;
    evaluator->makespan = evaluator_scratch(evaluator, order, evaluator->new_cycles);
    memcpy(evaluator->new_order, order, model->work);
    evaluator->first = 0;
    evaluator->last = model->work;
    sort_into(evaluator, 0);
    memset(evaluator->progress, 0, model->warps * sizeof(uint32_t));
    record_progress(evaluator, 0, model->work);
    evaluator->first = evaluator->last = 0;
    evaluator->shift = 0;
    return evaluator->makespan;
}

const uint8_t *evaluator_order(const struct evaluator *evaluator)
{
    return evaluator->order;
}

const uint32_t *evaluator_cycles(const struct evaluator *evaluator)
{
    return evaluator->cycles;
}

uint32_t evaluator_makespan(const struct evaluator *evaluator)
{
    return evaluator->makespan;
}

/* ------------------------------------------------------------------ windows */

/* The cycle that a window starting at entry `first` may still use: of the entry before. */
static uint32_t base_of(const struct evaluator *evaluator, uint32_t first)
{
    return first ? evaluator->cycles[first - 1] : 0;
}

/* The state before entry `first`; cycles count from the base. */
static void begin_at(struct evaluator *evaluator, uint32_t first)
{
    const struct makespan_model *model = evaluator->model;
    uint32_t base = base_of(evaluator, first);
    progress_at(evaluator, first, evaluator->done);
    memset(evaluator->ready, 0, model->warps * sizeof(uint32_t));
    evaluator->cells.cleared = 0;
    clear_word(&evaluator->cells);
    for (uint32_t i = first; i > 0 && evaluator->cycles[i - 1] == base; i--) {
        uint32_t warp = evaluator->order[i - 1];
        fill_cell(&evaluator->cells, model, model->string[evaluator->done[warp] - 1], 0);
        evaluator->ready[warp] = 1;
    }
}

/* Does nothing that is left fit before `end`? */
static bool closed_before(struct evaluator *evaluator, uint32_t end)
{
    const struct makespan_model *model = evaluator->model;
    for (uint32_t warp = 0; warp < model->warps; warp++) {
        if (evaluator->done[warp] == model->length || evaluator->ready[warp] >= end)
            continue;
        uint32_t type = model->string[evaluator->done[warp]];
        if (first_free(&evaluator->cells, type, evaluator->ready[warp]) < end)
            return false;
    }
    return true;
}

/* Places entries from `last` on until the rest is as it was, but for a shift. `end`: the cycles
 * used so far, from the base. The makespan. */
static uint32_t run_on(struct evaluator *evaluator, uint32_t last, uint32_t base, uint32_t end)
{
    const struct makespan_model *model = evaluator->model;
    const uint32_t *cycles = evaluator->cycles;
    uint32_t i = last, wait = 0, step = 0;
    for (; i < model->work; i++) {
        if (i > 0 && cycles[i] != cycles[i - 1]) {
            if (wait == 0 && closed_before(evaluator, end))
                break;
            /* Look again soon, then less and less often. */
            wait = wait ? wait - 1 : step++ / 2;
        }
        uint32_t cycle = place(evaluator, evaluator->order[i]);
        evaluator->new_order[i] = evaluator->order[i];
        evaluator->new_cycles[i] = base + cycle;
        end = cycle >= end ? cycle + 1 : end;
    }
    evaluator->last = i;
    if (i == model->work)
        return base + end;
    evaluator->shift = (int64_t)base + end - cycles[i];
    return (uint32_t)(evaluator->makespan + evaluator->shift);
}

uint32_t evaluator_try(struct evaluator *evaluator, uint32_t first, uint32_t last,
                       const uint8_t *window)
{
    const uint8_t *order = evaluator->order;
    uint32_t start = first;
    while (first < last && order[first] == window[first - start])
        first++;
    while (last > first && order[last - 1] == window[last - 1 - start])
        last--;
    evaluator->first = first;
    evaluator->last = last;
    evaluator->shift = 0;
    if (first == last)
        return evaluator->makespan;
    uint32_t base = base_of(evaluator, first), end = 1;
    begin_at(evaluator, first);
    for (uint32_t i = first; i < last; i++) {
        uint32_t cycle = place(evaluator, window[i - start]);
        evaluator->new_order[i] = window[i - start];
        evaluator->new_cycles[i] = base + cycle;
        end = cycle >= end ? cycle + 1 : end;
    }
    return run_on(evaluator, last, base, end);
}

void evaluator_keep(struct evaluator *evaluator)
{
    uint32_t first = evaluator->first, last = evaluator->last, work = evaluator->model->work;
    if (first == last)
        return;
    sort_into(evaluator, base_of(evaluator, first));
    record_progress(evaluator, first, last);
    uint32_t shift = (uint32_t)evaluator->shift; /* modulo 2^32 */
    for (uint32_t i = last; shift && i < work; i++)
        evaluator->cycles[i] += shift;
    evaluator->makespan = evaluator->cycles[work - 1] + 1;
    evaluator->first = evaluator->last = 0;
}
