/* The firings enabled in a state: finding them, counting and enumerating joint firings. */
#include "engines/compose/explore/enabled_firings.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

gordian_status scene_open(struct scene *scene, const struct packing *packing,
                          const gordian_allocator *memory, gordian_error *error)
{
    const gordian_circuit *circuit = packing->circuit;
    size_t factors = circuit->factor_count;
    *scene = (struct scene){.memory = *memory, .packing = packing};
    scene->to = memory_alloc(memory, packing->words * sizeof(uint64_t));
    scene->label = memory_alloc(memory, circuit->label_words * sizeof(uint64_t));
    scene->locals = memory_alloc(memory, factors * sizeof(uint32_t));
    scene->moved_by = memory_alloc(memory, factors * sizeof(uint32_t));
    scene->here = memory_alloc(memory, packing->words * sizeof(uint64_t));
    scene->here_locals = memory_alloc(memory, factors * sizeof(uint32_t));
    bool fine = scene->to && scene->label && scene->locals && scene->moved_by && scene->here &&
                scene->here_locals;
    gordian_status status = fine ? GORDIAN_OK : fail_memory(error);
    if (status == GORDIAN_OK && !packing->firings->complete)
        status = seeker_open(&scene->seeker, circuit, memory, error);
    if (status != GORDIAN_OK)
        scene_close(scene);
    else
        memset(scene->moved_by, 0xff, factors * sizeof(uint32_t));
    return status;
}

void scene_close(struct scene *scene)
{
    const gordian_allocator memory = scene->memory;
    seeker_close(scene->seeker);
    memory_free_all(&memory, scene->enabled, scene->apart, scene->moved_by, scene->work,
                    scene->locals, scene->moves, scene->patches, scene->labels, scene->move_first,
                    scene->patch_first, scene->to, scene->label, scene->here, scene->here_locals);
    *scene = (struct scene){.memory = memory};
}

/* ------------------------------------------------------------------ enabled firings */

static bool add_listed_firing(struct scene *scene, size_t i)
{
    const struct packing *packing = scene->packing;
    const struct firings *firings = packing->firings;
    if (!memory_extend(&scene->memory, scene->enabled, scene->room, scene->count))
        return false;
    scene->enabled[scene->count++] = (struct enabled){
        packing->patches + packing->first[i], firings->moves + firings->first[i],
        firing_label(firings, i), (uint32_t)(packing->first[i + 1] - packing->first[i]),
        (uint32_t)(firings->first[i + 1] - firings->first[i])};
    scene->rivals |= packing->rivals[i];
    return true;
}

/* Finds the enabled firings. Checks only those whose lowest moving factor is in the right state. */
static bool look_up_firings(struct scene *scene, const uint64_t *state)
{
    const struct packing *packing = scene->packing;
    const struct firings *firings = packing->firings;
    for (uint32_t f = 0; f < packing->circuit->factor_count; f++) {
        size_t b = firings->bucket_of[f] + packed_local(packing, state, f);
        for (size_t i = firings->bucket[b]; i < firings->bucket[b + 1]; i++)
            if (patches_fit(packing->patches + packing->first[i],
                            packing->first[i + 1] - packing->first[i], state) &&
                !add_listed_firing(scene, i))
                return false;
    }
    return true;
}

static gordian_status keep_found_firing(void *context, const struct firing_move *moves,
                                        size_t count, gordian_error *error)
{
    struct scene *scene = context;
    const gordian_circuit *circuit = scene->packing->circuit;
    const gordian_allocator *memory = &scene->memory;
    size_t n = scene->count, words = circuit->label_words;
    if (!memory_extend(memory, scene->enabled, scene->room, n) ||
        !memory_grow(memory, &scene->moves, &scene->move_room, scene->move_count + count,
                     sizeof *scene->moves) ||
        !memory_grow(memory, &scene->patches, &scene->patch_room, scene->patch_count + count,
                     sizeof *scene->patches) ||
        !memory_grow(memory, &scene->labels, &scene->label_room, (n + 1) * words,
                     sizeof *scene->labels) ||
        !memory_extend(memory, scene->move_first, scene->move_first_room, n) ||
        !memory_extend(memory, scene->patch_first, scene->patch_first_room, n))
        return fail_memory(error);
    struct firing_move *mine = scene->moves + scene->move_count;
    moves_keep(circuit, moves, count, mine, scene->labels + n * words);
    size_t patches = patches_of(scene->packing, mine, count, scene->patches + scene->patch_count);
    scene->move_first[n] = scene->move_count;
    scene->patch_first[n] = scene->patch_count;
    scene->enabled[n] =
        (struct enabled){.patch_count = (uint32_t)patches, .move_count = (uint32_t)count};
    scene->move_count += count;
    scene->patch_count += patches;
    scene->count++;
    return GORDIAN_OK;
}

static bool seek_firings(struct scene *scene, const uint64_t *state)
{
    scene->move_count = scene->patch_count = 0;
    unpack_state(scene->packing, state, scene->locals);
    if (seeker_find(scene->seeker, scene->locals, NULL, keep_found_firing, scene, NULL) !=
        GORDIAN_OK)
        return false;
    for (size_t i = 0; i < scene->count; i++) { /* only now, because the arrays no longer move */
        scene->enabled[i].moves = scene->moves + scene->move_first[i];
        scene->enabled[i].patches = scene->patches + scene->patch_first[i];
        scene->enabled[i].label = scene->labels + i * scene->packing->circuit->label_words;
    }
    scene->rivals = true;
    return true;
}

bool scene_look(struct scene *scene, const uint64_t *state)
{
    scene->count = 0;
    scene->rivals = scene->compared = false;
    return scene->seeker ? seek_firings(scene, state) : look_up_firings(scene, state);
}

/* ------------------------------------------------------------------ interference */

/* Marks the firings of one list, which all move the same factor, as conflicting: pair by pair, or
 * with one bit row of the whole list if it is long. */
static void part_list(struct scene *scene, uint32_t newest, uint64_t *row)
{
    size_t words = scene->row_words, length = 0;
    for (uint32_t link = newest; link != GORDIAN_NONE; link = (uint32_t)scene->work[link])
        length++;
    if (length > words) {
        memset(row, 0, words * sizeof *row);
        for (uint32_t link = newest; link != GORDIAN_NONE; link = (uint32_t)scene->work[link])
            bits_set(row, (size_t)(scene->work[link] >> 32));
    }
    for (uint32_t link = newest; link != GORDIAN_NONE; link = (uint32_t)scene->work[link]) {
        size_t i = (size_t)(scene->work[link] >> 32);
        uint64_t *mine = scene->apart + i * words;
        for (size_t w = 0; length > words && w < words; w++)
            mine[w] |= row[w];
        for (uint32_t other = length > words ? GORDIAN_NONE : newest; other != GORDIAN_NONE;
             other = (uint32_t)scene->work[other])
            bits_set(mine, (size_t)(scene->work[other] >> 32));
        bits_clear(mine, i);
    }
}

/* Finds the conflicts among enabled firings. The work area has a linked list of the firings that
 * move each factor. */
static bool compare_enabled(struct scene *scene)
{
    size_t count = scene->count, words = bits_words(count), links = 0;
    if (scene->compared)
        return true;
    for (size_t i = 0; i < count; i++)
        links += scene->enabled[i].move_count;
    if (!memory_grow(&scene->memory, &scene->apart, &scene->apart_room, count * words + 1,
                     sizeof *scene->apart) ||
        !memory_grow(&scene->memory, &scene->work, &scene->work_room, links + words,
                     sizeof *scene->work))
        return false;
    memset(scene->apart, 0, count * words * sizeof *scene->apart);
    scene->row_words = words;
    uint64_t *row = scene->work + links;
    links = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t m = 0; m < scene->enabled[i].move_count; m++) {
            uint32_t *newest = &scene->moved_by[scene->enabled[i].moves[m].factor];
            scene->work[links] = (uint64_t)i << 32 | *newest;
            *newest = (uint32_t)links++;
        }
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t m = 0; m < scene->enabled[i].move_count; m++) {
            uint32_t *newest = &scene->moved_by[scene->enabled[i].moves[m].factor];
            if (*newest == GORDIAN_NONE)
                continue;
            part_list(scene, *newest, row);
            *newest = GORDIAN_NONE;
        }
    }
    scene->compared = true;
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
static void split_component(const struct scene *scene, uint64_t *set, uint64_t *part)
{
    size_t words = scene->row_words, lowest = set_next(set, words, 0);
    memset(part, 0, words * sizeof *part);
    bits_set(part, lowest);
    bits_clear(set, lowest);
    for (bool grown = true; grown;) {
        grown = false;
        for (size_t i = set_next(part, words, 0); i < words * 64; i = set_next(part, words, i + 1))
            for (size_t w = 0; w < words; w++) {
                uint64_t more = set[w] & scene->apart[i * words + w];
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
static uint64_t count_sets(const struct scene *scene, uint64_t *set, uint64_t *work)
{
    size_t words = scene->row_words;
    uint64_t result = 1, *part = work, *without = work + words, *deeper = work + 2 * words;
    while (bits_any(set, words)) {
        split_component(scene, set, part);
        size_t size = 0, arcs = 0, most = 0, hub = 0;
        for (size_t i = set_next(part, words, 0); i < words * 64;
             i = set_next(part, words, i + 1)) {
            size_t degree = 0;
            size++;
            for (size_t w = 0; w < words; w++)
                degree += (size_t)__builtin_popcountll(part[w] & scene->apart[i * words + w]);
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
                part[w] &= ~scene->apart[hub * words + w];
            uint64_t with = count_sets(scene, part, deeper);
            result =
                saturated_product(result, saturated_sum(with, count_sets(scene, without, deeper)));
        }
    }
    return result;
}

bool scene_count(struct scene *scene, uint64_t *count)
{
    size_t enabled = scene->count;
    if (!scene->rivals) {
        *count = enabled >= 64 ? UINT64_MAX : (UINT64_C(1) << enabled) - 1;
        return true;
    }
    if (!compare_enabled(scene))
        return false;
    size_t words = scene->row_words;
    if (!memory_grow(&scene->memory, &scene->work, &scene->work_room, (2 * enabled + 3) * words + 1,
                     sizeof *scene->work))
        return false;
    uint64_t *all = scene->work;
    memset(all, 0, words * sizeof *all);
    for (size_t i = 0; i < enabled; i++)
        bits_set(all, i);
    uint64_t sets = count_sets(scene, all, all + words);
    *count = sets == UINT64_MAX ? sets : sets - 1;
    return true;
}

/* ------------------------------------------------------------------ enumeration */

static void fire_enabled(struct scene *scene, size_t i)
{
    const struct enabled *enabled = &scene->enabled[i];
    patches_flip(enabled->patches, enabled->patch_count, scene->to);
    for (size_t w = 0; w < scene->packing->circuit->label_words; w++)
        scene->label[w] ^= enabled->label[w]; /* different firings have different names */
}

/* Enumerates every set of firings numbered `from` and above that are in `free_ones`. */
static bool choose_sets(struct scene *scene, size_t from, const uint64_t *free_ones, uint64_t *work,
                        bool (*take)(void *context, const struct scene *scene), void *context)
{
    size_t words = scene->row_words;
    for (size_t i = set_next(free_ones, words, from); i < scene->count;
         i = set_next(free_ones, words, i + 1)) {
        fire_enabled(scene, i);
        for (size_t w = 0; w < words; w++)
            work[w] = free_ones[w] & ~scene->apart[i * words + w];
        bool more =
            take(context, scene) && choose_sets(scene, i + 1, work, work + words, take, context);
        fire_enabled(scene, i);
        if (!more)
            return false;
    }
    return true;
}

bool scene_each(struct scene *scene, const uint64_t *state, bool indivisible,
                bool (*take)(void *context, const struct scene *scene), void *context, bool *memory)
{
    *memory = false;
    memcpy(scene->to, state, scene->packing->words * sizeof *state);
    memset(scene->label, 0, scene->packing->circuit->label_words * sizeof *scene->label);
    for (size_t i = 0; indivisible && i < scene->count; i++) {
        fire_enabled(scene, i);
        bool more = take(context, scene);
        fire_enabled(scene, i);
        if (!more)
            return false;
    }
    if (indivisible || scene->count == 0)
        return true;
    *memory = true;
    if (!compare_enabled(scene))
        return false;
    size_t words = scene->row_words;
    if (!memory_grow(&scene->memory, &scene->work, &scene->work_room, (scene->count + 2) * words,
                     sizeof *scene->work))
        return false;
    *memory = false;
    memset(scene->work, 0, words * sizeof *scene->work);
    for (size_t i = 0; i < scene->count; i++)
        bits_set(scene->work, i);
    return choose_sets(scene, 0, scene->work, scene->work + words, take, context);
}
