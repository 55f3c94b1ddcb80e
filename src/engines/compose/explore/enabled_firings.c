/* The firings enabled in a state: finding them, counting and enumerating joint firings. */
#include "engines/compose/explore/enabled_firings.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

gordian_status firing_view_open(struct firing_view *view, const struct packing *packing,
                                const gordian_allocator *memory, gordian_error *error)
{
    const gordian_circuit *circuit = packing->circuit;
    size_t factors = circuit->factor_count;
    *view = (struct firing_view){.memory = *memory, .packing = packing};
    view->to = memory_alloc(memory, packing->words * sizeof(uint64_t));
    view->label = memory_alloc(memory, circuit->label_words * sizeof(uint64_t));
    view->locals = memory_alloc(memory, factors * sizeof(uint32_t));
    view->moved_by = memory_alloc(memory, factors * sizeof(uint32_t));
    view->here = memory_alloc(memory, packing->words * sizeof(uint64_t));
    view->here_locals = memory_alloc(memory, factors * sizeof(uint32_t));
    bool fine = view->to && view->label && view->locals && view->moved_by && view->here &&
                view->here_locals;
    gordian_status status = fine ? GORDIAN_OK : fail_memory(error);
    if (status == GORDIAN_OK && !packing->firings->complete)
        status = firing_finder_open(&view->finder, circuit, memory, error);
    if (status != GORDIAN_OK)
        firing_view_close(view);
    else
        memset(view->moved_by, 0xff, factors * sizeof(uint32_t));
    return status;
}

void firing_view_close(struct firing_view *view)
{
    const gordian_allocator memory = view->memory;
    firing_finder_close(view->finder);
    memory_free_all(&memory, view->enabled, view->apart, view->moved_by, view->work, view->locals,
                    view->moves, view->patches, view->labels, view->move_first, view->patch_first,
                    view->to, view->label, view->here, view->here_locals);
    *view = (struct firing_view){.memory = memory};
}

/* ------------------------------------------------------------------ enabled firings */

static bool add_listed_firing(struct firing_view *view, size_t i)
{
    const struct packing *packing = view->packing;
    const struct firings *firings = packing->firings;
    if (!memory_extend(&view->memory, view->enabled, view->room, view->count))
        return false;
    view->enabled[view->count++] = (struct enabled){
        packing->patches + packing->first[i], firings->moves + firings->first[i],
        firing_label(firings, i), (uint32_t)(packing->first[i + 1] - packing->first[i]),
        (uint32_t)(firings->first[i + 1] - firings->first[i])};
    view->rivals |= packing->rivals[i];
    return true;
}

/* Finds the enabled firings. Checks only firings whose lowest moving factor is in the right state.
 */
static bool look_up_firings(struct firing_view *view, const uint64_t *state)
{
    const struct packing *packing = view->packing;
    const struct firings *firings = packing->firings;
    for (uint32_t f = 0; f < packing->circuit->factor_count; f++) {
        size_t b = firings->bucket_of[f] + packed_local(packing, state, f);
        for (size_t i = firings->bucket[b]; i < firings->bucket[b + 1]; i++)
            if (patches_fit(packing->patches + packing->first[i],
                            packing->first[i + 1] - packing->first[i], state) &&
                !add_listed_firing(view, i))
                return false;
    }
    return true;
}

static gordian_status keep_found_firing(void *context, const struct firing_move *moves,
                                        size_t count, gordian_error *error)
{
    struct firing_view *view = context;
    const gordian_circuit *circuit = view->packing->circuit;
    const gordian_allocator *memory = &view->memory;
    size_t n = view->count, words = circuit->label_words;
    if (!memory_extend(memory, view->enabled, view->room, n) ||
        !memory_grow(memory, &view->moves, &view->move_room, view->move_count + count,
                     sizeof *view->moves) ||
        !memory_grow(memory, &view->patches, &view->patch_room, view->patch_count + count,
                     sizeof *view->patches) ||
        !memory_grow(memory, &view->labels, &view->label_room, (n + 1) * words,
                     sizeof *view->labels) ||
        !memory_extend(memory, view->move_first, view->move_first_room, n) ||
        !memory_extend(memory, view->patch_first, view->patch_first_room, n))
        return fail_memory(error);
    struct firing_move *mine = view->moves + view->move_count;
    moves_keep(circuit, moves, count, mine, view->labels + n * words);
    size_t patches = patches_of(view->packing, mine, count, view->patches + view->patch_count);
    view->move_first[n] = view->move_count;
    view->patch_first[n] = view->patch_count;
    view->enabled[n] =
        (struct enabled){.patch_count = (uint32_t)patches, .move_count = (uint32_t)count};
    view->move_count += count;
    view->patch_count += patches;
    view->count++;
    return GORDIAN_OK;
}

static bool seek_firings(struct firing_view *view, const uint64_t *state)
{
    view->move_count = view->patch_count = 0;
    unpack_state(view->packing, state, view->locals);
    if (firing_finder_find(view->finder, view->locals, NULL, keep_found_firing, view, NULL) !=
        GORDIAN_OK)
        return false;
    for (size_t i = 0; i < view->count; i++) { /* only now, because the arrays no longer move */
        view->enabled[i].moves = view->moves + view->move_first[i];
        view->enabled[i].patches = view->patches + view->patch_first[i];
        view->enabled[i].label = view->labels + i * view->packing->circuit->label_words;
    }
    view->rivals = true;
    return true;
}

bool firing_view_find(struct firing_view *view, const uint64_t *state)
{
    view->count = 0;
    view->rivals = view->compared = false;
    return view->finder ? seek_firings(view, state) : look_up_firings(view, state);
}

/* ------------------------------------------------------------------ interference */

/* Marks the firings of one list, which all move the same factor, as conflicting: pair by pair, or
 * with one bit row of the whole list if it is long. */
static void part_list(struct firing_view *view, uint32_t newest, uint64_t *row)
{
    size_t words = view->row_words, length = 0;
    for (uint32_t link = newest; link != GORDIAN_NONE; link = (uint32_t)view->work[link])
        length++;
    if (length > words) {
        memset(row, 0, words * sizeof *row);
        for (uint32_t link = newest; link != GORDIAN_NONE; link = (uint32_t)view->work[link])
            bits_set(row, (size_t)(view->work[link] >> 32));
    }
    for (uint32_t link = newest; link != GORDIAN_NONE; link = (uint32_t)view->work[link]) {
        size_t i = (size_t)(view->work[link] >> 32);
        uint64_t *mine = view->apart + i * words;
        for (size_t w = 0; length > words && w < words; w++)
            mine[w] |= row[w];
        for (uint32_t other = length > words ? GORDIAN_NONE : newest; other != GORDIAN_NONE;
             other = (uint32_t)view->work[other])
            bits_set(mine, (size_t)(view->work[other] >> 32));
        bits_clear(mine, i);
    }
}

/* Finds the conflicts among enabled firings. The work area has a linked list of the firings that
 * move each factor. */
static bool compare_enabled(struct firing_view *view)
{
    size_t count = view->count, words = bits_words(count), links = 0;
    if (view->compared)
        return true;
    for (size_t i = 0; i < count; i++)
        links += view->enabled[i].move_count;
    if (!memory_grow(&view->memory, &view->apart, &view->apart_room, count * words + 1,
                     sizeof *view->apart) ||
        !memory_grow(&view->memory, &view->work, &view->work_room, links + words,
                     sizeof *view->work))
        return false;
    memset(view->apart, 0, count * words * sizeof *view->apart);
    view->row_words = words;
    uint64_t *row = view->work + links;
    links = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t m = 0; m < view->enabled[i].move_count; m++) {
            uint32_t *newest = &view->moved_by[view->enabled[i].moves[m].factor];
            view->work[links] = (uint64_t)i << 32 | *newest;
            *newest = (uint32_t)links++;
        }
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t m = 0; m < view->enabled[i].move_count; m++) {
            uint32_t *newest = &view->moved_by[view->enabled[i].moves[m].factor];
            if (*newest == GORDIAN_NONE)
                continue;
            part_list(view, *newest, row);
            *newest = GORDIAN_NONE;
        }
    }
    view->compared = true;
    return true;
}

static uint64_t saturated_sum(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t saturated_product(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Returns the next member from `from` on; words * 64: there is none. */
static size_t set_next(const uint64_t *set, size_t words, size_t from)
{
    for (size_t w = from / 64; w < words; w++) {
        uint64_t rest = set[w] & (w == from / 64 ? ~UINT64_C(0) << (from % 64) : ~UINT64_C(0));
        if (rest)
            return w * 64 + (size_t)__builtin_ctzll(rest);
    }
    return words * 64;
}

/* Moves the connected component of `set` with its lowest member to `part`. */
static void split_component(const struct firing_view *view, uint64_t *set, uint64_t *part)
{
    size_t words = view->row_words, lowest = set_next(set, words, 0);
    memset(part, 0, words * sizeof *part);
    bits_set(part, lowest);
    bits_clear(set, lowest);
    for (bool grown = true; grown;) {
        grown = false;
        for (size_t i = set_next(part, words, 0); i < words * 64; i = set_next(part, words, i + 1))
            for (size_t w = 0; w < words; w++) {
                uint64_t more = set[w] & view->apart[i * words + w];
                part[w] |= more;
                set[w] &= ~more;
                grown |= more != 0;
            }
    }
}

/* The number of independent sets of a path of `length` vertices. */
static uint64_t count_path(size_t length)
{
    uint64_t now = 1, next = 2;
    for (size_t i = 0; i < length; i++) {
        uint64_t sum = saturated_sum(now, next);
        now = next;
        next = sum;
    }
    return now;
}

/* Counts the subsets of `set` without conflicting members (independent sets), including the empty
 * one. Clears `set`. `work` has capacity for the recursion. */
static uint64_t count_sets(const struct firing_view *view, uint64_t *set, uint64_t *work)
{
    size_t words = view->row_words;
    uint64_t result = 1, *part = work, *without = work + words, *deeper = work + 2 * words;
    while (bits_any(set, words)) {
        split_component(view, set, part);
        size_t size = 0, arcs = 0, most = 0, hub = 0;
        for (size_t i = set_next(part, words, 0); i < words * 64;
             i = set_next(part, words, i + 1)) {
            size_t degree = 0;
            size++;
            for (size_t w = 0; w < words; w++)
                degree += (size_t)__builtin_popcountll(part[w] & view->apart[i * words + w]);
            arcs += degree;
            if (degree > most) {
                most = degree;
                hub = i;
            }
        }
        if (arcs == size * (size - 1)) { /* a clique */
            result = saturated_product(result, size + 1);
        } else if (most <= 2) {
            result = saturated_product(
                result, arcs == 2 * size
                            ? (saturated_sum(count_path(size - 1), count_path(size - 3)))
                            : count_path(size));
        } else {
            bits_clear(part, hub);
            memcpy(without, part, words * sizeof *part);
            for (size_t w = 0; w < words; w++)
                part[w] &= ~view->apart[hub * words + w];
            uint64_t with = count_sets(view, part, deeper);
            result =
                saturated_product(result, saturated_sum(with, count_sets(view, without, deeper)));
        }
    }
    return result;
}

bool firing_view_count(struct firing_view *view, uint64_t *count)
{
    size_t enabled = view->count;
    if (!view->rivals) {
        *count = enabled >= 64 ? UINT64_MAX : (UINT64_C(1) << enabled) - 1;
        return true;
    }
    if (!compare_enabled(view))
        return false;
    size_t words = view->row_words;
    if (!memory_grow(&view->memory, &view->work, &view->work_room, (2 * enabled + 3) * words + 1,
                     sizeof *view->work))
        return false;
    uint64_t *all = view->work;
    memset(all, 0, words * sizeof *all);
    for (size_t i = 0; i < enabled; i++)
        bits_set(all, i);
    uint64_t sets = count_sets(view, all, all + words);
    *count = sets == UINT64_MAX ? sets : sets - 1;
    return true;
}

/* ------------------------------------------------------------------ enumeration */

static void fire_enabled(struct firing_view *view, size_t i)
{
    const struct enabled *enabled = &view->enabled[i];
    patches_flip(enabled->patches, enabled->patch_count, view->to);
    for (size_t w = 0; w < view->packing->circuit->label_words; w++)
        view->label[w] ^= enabled->label[w]; /* different firings have different names */
}

/* Enumerates every set of firings numbered `from` and above that are in `free_ones`. */
static bool choose_sets(struct firing_view *view, size_t from, const uint64_t *free_ones,
                        uint64_t *work, bool (*take)(void *context, const struct firing_view *view),
                        void *context)
{
    size_t words = view->row_words;
    for (size_t i = set_next(free_ones, words, from); i < view->count;
         i = set_next(free_ones, words, i + 1)) {
        fire_enabled(view, i);
        for (size_t w = 0; w < words; w++)
            work[w] = free_ones[w] & ~view->apart[i * words + w];
        bool more =
            take(context, view) && choose_sets(view, i + 1, work, work + words, take, context);
        fire_enabled(view, i);
        if (!more)
            return false;
    }
    return true;
}

bool firing_view_each(struct firing_view *view, const uint64_t *state, bool indivisible,
                      bool (*take)(void *context, const struct firing_view *view), void *context,
                      bool *memory)
{
    *memory = false;
    memcpy(view->to, state, view->packing->words * sizeof *state);
    memset(view->label, 0, view->packing->circuit->label_words * sizeof *view->label);
    for (size_t i = 0; indivisible && i < view->count; i++) {
        fire_enabled(view, i);
        bool more = take(context, view);
        fire_enabled(view, i);
        if (!more)
            return false;
    }
    if (indivisible || view->count == 0)
        return true;
    *memory = true;
    if (!compare_enabled(view))
        return false;
    size_t words = view->row_words;
    if (!memory_grow(&view->memory, &view->work, &view->work_room, (view->count + 2) * words,
                     sizeof *view->work))
        return false;
    *memory = false;
    memset(view->work, 0, words * sizeof *view->work);
    for (size_t i = 0; i < view->count; i++)
        bits_set(view->work, i);
    return choose_sets(view, 0, view->work, view->work + words, take, context);
}
