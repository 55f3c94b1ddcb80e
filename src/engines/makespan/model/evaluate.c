/* Evaluates orders with a bit-parallel table of the starts in each cycle (evaluate.h). */
#include "engines/makespan/model/evaluate.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

/* The warps' progress is recorded every STRIDE entries. */
enum { STRIDE = 16 };
/* Words that are cleared at a time. */
enum { CLEAR = 4 };

/* The table of the schedule's cycles from `base` on, cleared a few words at a time as they are
 * needed. A word counts the starts in 8 cycles, or in 4 if there are more than 128 warps: a byte
 * (or two) each, a *lane*, offset so that its highest bit is set when it is full. So one test finds
 * the cycles with free capacity, and one addition uses it. Every placement depends on the one
 * before, so this path is kept short. */
struct cells {
    uint32_t types, words;               /* words: allocated, for each type and for all */
    uint32_t cleared;                    /* words in use */
    bool wide;                           /* lanes of two bytes */
    uint64_t *starts;                    /* [types + 1][words], the last ones for all types */
    uint64_t none[MAKESPAN_TYPES + 1];   /* words of cycles without starts */
    uint64_t counts[MAKESPAN_TYPES + 1]; /* mask of all ones; 0: the type's capacity is never
                                            reached, so it is not counted */
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
    /* The candidate: entries first .. last-1 in their new order and cycles; those from last on move
     * by `shift`. */
    uint32_t first, last;
    int64_t shift;
    uint8_t *new_order;
    uint32_t *new_cycles;
    uint32_t *counts; /* for sorting: one per cycle, plus one */
};

#define TOPS_NARROW UINT64_C(0x8080808080808080)
#define TOPS_WIDE   UINT64_C(0x8000800080008000)

/* The initial value of a lane is such that `limit` starts fill it. At most one start per warp is
 * possible: with a larger limit the lane need not count. */
static void set_lanes(struct cells *cells, uint32_t type, uint32_t limit, uint32_t warps)
{
    uint64_t full = cells->wide ? 0x8000 : 0x80;
    uint64_t lowest = (cells->wide ? TOPS_WIDE : TOPS_NARROW) / full;
    cells->counts[type] = limit < warps ? ~UINT64_C(0) : 0;
    cells->none[type] = limit < warps ? (full - limit) * lowest : 0;
}

static bool make_cells(struct evaluator *evaluator)
{
    const struct makespan_model *model = evaluator->model;
    struct cells *cells = &evaluator->cells;
    cells->types = model->types;
    cells->wide = model->warps > 128;
    for (uint32_t type = 0; type < model->types; type++)
        set_lanes(cells, type, model->units[type], model->warps);
    set_lanes(cells, model->types, model->bounded ? model->sigma : model->warps, model->warps);
    /* The first cycle of a window may be anywhere, and a search reads one word past the end. */
    cells->words = model_upper_bound(model) / (cells->wide ? 4 : 8) + 2 + CLEAR;
    cells->starts = memory_alloc(&evaluator->memory,
                                 (size_t)cells->words * (model->types + 1) * sizeof(uint64_t));
    return cells->starts != NULL;
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
    memory_free_all(&memory, evaluator->cells.starts, evaluator->order, evaluator->cycles,
                    evaluator->progress, evaluator->new_order, evaluator->new_cycles,
                    evaluator->counts, evaluator);
}

/* ------------------------------------------------------------------ placing */

static void clear_words(struct cells *cells)
{
    uint64_t *word = cells->starts + cells->cleared;
    for (uint32_t type = 0; type <= cells->types; type++, word += cells->words)
        for (uint32_t i = 0; i < CLEAR; i++)
            word[i] = cells->none[type];
    cells->cleared += CLEAR;
}

/* The kind of cells, a compile-time constant. */
struct kind {
    bool wide;    /* lanes of two bytes */
    bool bounded; /* all types together are limited */
};

/* Returns the lanes of a word with free capacity, by their highest bits. */
static inline uint64_t free_lanes(const uint64_t *starts, const uint64_t *all, uint32_t word,
                                  struct kind kind)
{
    return ~(kind.bounded ? starts[word] | all[word] : starts[word]) &
           (kind.wide ? TOPS_WIDE : TOPS_NARROW);
}

/* Finds the first word with free capacity for the type, starting at the word of the cycle `from`.
 * Returns its free lanes by their highest bits. */
static inline uint64_t find_free_lanes(struct cells *cells, uint32_t type, uint32_t from,
                                       uint32_t *word, struct kind kind)
{
    const uint32_t per_word = kind.wide ? 2 : 3, lane_bits = kind.wide ? 4 : 3;
    const uint64_t *starts = cells->starts + (size_t)type * cells->words;
    const uint64_t *all = cells->starts + (size_t)cells->types * cells->words;
    uint32_t at = from >> per_word, lane = from & ((1u << per_word) - 1);
    while (at >= cells->cleared)
        clear_words(cells);
    uint64_t lanes = free_lanes(starts, all, at, kind) & ~UINT64_C(0) << (lane << lane_bits);
    while (!lanes) {
        if (++at == cells->cleared)
            clear_words(cells);
        lanes = free_lanes(starts, all, at, kind);
    }
    *word = at;
    return lanes;
}

static inline uint32_t cycle_of(uint32_t word, uint64_t lanes, struct kind kind)
{
    return (word << (kind.wide ? 2 : 3)) +
           ((uint32_t)__builtin_ctzll(lanes) >> (kind.wide ? 4 : 3));
}

/* Adds a start to the first of these lanes. */
static inline void fill_lane(const struct cells *cells, uint32_t type, uint32_t word,
                             uint64_t lanes, struct kind kind)
{
    uint64_t one = (lanes & -lanes) >> (kind.wide ? 15 : 7);
    cells->starts[(size_t)type * cells->words + word] += one & cells->counts[type];
    if (kind.bounded)
        cells->starts[(size_t)cells->types * cells->words + word] +=
            one & cells->counts[cells->types];
}

static inline __attribute__((always_inline)) uint32_t
place_kind(struct evaluator *evaluator, const uint8_t *entries, uint32_t count, uint32_t base,
           uint32_t *to, uint32_t end, struct kind kind)
{
    const uint8_t *string = evaluator->model->string;
    uint32_t *ready = evaluator->ready, *done = evaluator->done;
    struct cells *cells = &evaluator->cells;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t warp = entries[i], type = string[done[warp]++];
        uint32_t word;
        uint64_t lanes = find_free_lanes(cells, type, ready[warp], &word, kind);
        uint32_t cycle = cycle_of(word, lanes, kind);
        fill_lane(cells, type, word, lanes, kind);
        ready[warp] = cycle + 1;
        to[i] = base + cycle;
        end = cycle >= end ? cycle + 1 : end;
    }
    return end;
}

/* Places `count` entries one after another, each in the earliest cycle that fits. Their cycles,
 * counted from `base`, go to `to`. `end`: the cycles used so far; returns the same afterwards. */
static uint32_t place_window(struct evaluator *evaluator, const uint8_t *entries, uint32_t count,
                             uint32_t base, uint32_t *to, uint32_t end)
{
    if (evaluator->cells.wide)
        return place_kind(evaluator, entries, count, base, to, end, (struct kind){true, true});
    if (evaluator->model->bounded)
        return place_kind(evaluator, entries, count, base, to, end, (struct kind){false, true});
    return place_kind(evaluator, entries, count, base, to, end, (struct kind){false, false});
}

/* Resets to the state in which no instruction has run. */
static void start_empty(struct evaluator *evaluator)
{
    memset(evaluator->ready, 0, evaluator->model->warps * sizeof(uint32_t));
    memset(evaluator->done, 0, evaluator->model->warps * sizeof(uint32_t));
    evaluator->cells.cleared = 0;
}

uint32_t evaluator_scratch(struct evaluator *evaluator, const uint8_t *order, uint32_t *cycles)
{
    const struct makespan_model *model = evaluator->model;
    start_empty(evaluator);
    return place_window(evaluator, order, model->work, 0, cycles ? cycles : evaluator->new_cycles,
                        0);
}

uint32_t evaluator_try_plain(struct evaluator *evaluator, const uint8_t *order, uint32_t common)
{
    const struct makespan_model *model = evaluator->model;
    start_empty(evaluator);
    /* Puts the first entries where they were. Returns the cycles used by them. */
    const struct kind kind = {evaluator->cells.wide, true};
    uint32_t end = 0;
    for (uint32_t i = 0; i < common; i++) {
        uint32_t warp = order[i], cycle = evaluator->cycles[i];
        uint32_t word = cycle >> (kind.wide ? 2 : 3), lane = cycle & (kind.wide ? 3 : 7);
        while (word >= evaluator->cells.cleared)
            clear_words(&evaluator->cells);
        fill_lane(&evaluator->cells, evaluator->model->string[evaluator->done[warp]++], word,
                  UINT64_C(1) << (kind.wide ? lane * 16 + 15 : lane * 8 + 7), kind);
        evaluator->ready[warp] = cycle + 1;
        end = cycle >= end ? cycle + 1 : end;
    }
    memcpy(evaluator->new_cycles, evaluator->cycles, common * sizeof(uint32_t));
    return place_window(evaluator, order + common, model->work - common, 0,
                        evaluator->new_cycles + common, end);
}

void evaluator_keep_plain(struct evaluator *evaluator)
{
    uint32_t *cycles = evaluator->cycles;
    evaluator->cycles = evaluator->new_cycles;
    evaluator->new_cycles = cycles;
}

/* ------------------------------------------------------------------ the current order */

/* Sorts the entries new_order[first .. last-1], in cycles base and later, by cycle into the current
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

/* Writes the records after `first`, up to `last`. */
static void record_warp_progress(struct evaluator *evaluator, uint32_t first, uint32_t last)
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
    record_warp_progress(evaluator, 0, model->work);
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

/* Returns the first cycle that a window starting at entry `first` may use: the cycle of the
 * previous entry. */
static uint32_t base_of(const struct evaluator *evaluator, uint32_t first)
{
    return first ? evaluator->cycles[first - 1] : 0;
}

/* Restores the state before entry `first`; cycles count from the base. */
static void begin_at(struct evaluator *evaluator, uint32_t first)
{
    const struct makespan_model *model = evaluator->model;
    uint32_t base = base_of(evaluator, first);
    uint32_t warps = model->warps, record = first / STRIDE;
    memcpy(evaluator->done, evaluator->progress + (size_t)record * warps,
           warps * sizeof *evaluator->done);
    for (uint32_t i = record * STRIDE; i < first; i++)
        evaluator->done[evaluator->order[i]]++;
    memset(evaluator->ready, 0, model->warps * sizeof(uint32_t));
    evaluator->cells.cleared = 0;
    clear_words(&evaluator->cells);
    for (uint32_t i = first; i > 0 && evaluator->cycles[i - 1] == base; i--) {
        uint32_t warp = evaluator->order[i - 1];
        fill_lane(&evaluator->cells, model->string[evaluator->done[warp] - 1], 0,
                  evaluator->cells.wide ? TOPS_WIDE : TOPS_NARROW,
                  (struct kind){evaluator->cells.wide, true});
        evaluator->ready[warp] = 1;
    }
}

/* Returns whether the warp's next instruction could run before `end`. */
static inline bool fits_before(struct evaluator *evaluator, uint32_t warp, uint32_t end,
                               struct kind kind)
{
    const struct makespan_model *model = evaluator->model;
    if (evaluator->done[warp] == model->length || evaluator->ready[warp] >= end)
        return false;
    uint32_t type = model->string[evaluator->done[warp]], word;
    uint64_t lanes = find_free_lanes(&evaluator->cells, type, evaluator->ready[warp], &word, kind);
    return cycle_of(word, lanes, kind) < end;
}

/* Returns whether no remaining instruction fits before `end`. Tests first the warp that fitted in
 * the last call. */
static bool closed_before(struct evaluator *evaluator, uint32_t end, uint32_t *fitting)
{
    const struct kind kind = {evaluator->cells.wide, true};
    if (fits_before(evaluator, *fitting, end, kind))
        return false;
    for (uint32_t warp = 0; warp < evaluator->model->warps; warp++)
        if (fits_before(evaluator, warp, end, kind)) {
            *fitting = warp;
            return false;
        }
    return true;
}

/* Places entries from `last` on until the rest is the same as before except for a shift. `end`: the
 * cycles used so far, from the base. Returns the makespan. */
static uint32_t place_until_same(struct evaluator *evaluator, uint32_t last, uint32_t base,
                                 uint32_t end)
{
    const struct makespan_model *model = evaluator->model;
    const uint32_t *cycles = evaluator->cycles;
    uint32_t i = last, wait = 0, step = 0, fitting = 0;
    while (i < model->work) {
        if (i > 0 && cycles[i] != cycles[i - 1]) {
            if (wait == 0 && closed_before(evaluator, end, &fitting))
                break;
            /* Tests again soon, then less and less often. */
            wait = wait ? wait - 1 : step++ / 2;
        }
        uint32_t next = i + 1;
        while (next < model->work && (wait || cycles[next] == cycles[next - 1])) {
            wait -= wait && cycles[next] != cycles[next - 1];
            next++;
        }
        end = place_window(evaluator, evaluator->order + i, next - i, base,
                           evaluator->new_cycles + i, end);
        i = next;
    }
    memcpy(evaluator->new_order + last, evaluator->order + last, i - last);
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
    memcpy(evaluator->new_order + first, window + (first - start), last - first);
    end = place_window(evaluator, window + (first - start), last - first, base,
                       evaluator->new_cycles + first, end);
    return place_until_same(evaluator, last, base, end);
}

void evaluator_keep(struct evaluator *evaluator)
{
    uint32_t first = evaluator->first, last = evaluator->last, work = evaluator->model->work;
    if (first == last)
        return;
    sort_into(evaluator, base_of(evaluator, first));
    record_warp_progress(evaluator, first, last);
    uint32_t shift = (uint32_t)evaluator->shift; /* modulo 2^32 */
    for (uint32_t i = last; shift && i < work; i++)
        evaluator->cycles[i] += shift;
    evaluator->makespan = evaluator->cycles[work - 1] + 1;
    evaluator->first = evaluator->last = 0;
}
