/* Sets of states in order, and their numbers (space.h). */
#include "engines/compose/explore/space.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/sort.h"

#include <assert.h>
#include <string.h>

#define CELL_WORDS 3u
static_assert(sizeof(struct cell) == CELL_WORDS * sizeof(uint64_t), "cells are sorted as words");

/* ------------------------------------------------------------------ the grid */

gordian_status grid_open(struct grid *grid, const struct packing *packing,
                         const gordian_allocator *memory, gordian_error *error)
{
    const gordian_circuit *circuit = packing->circuit;
    *grid = (struct grid){0};
    if (packing->words != 1)
        return GORDIAN_OK;
    grid->digits = memory_alloc(memory, circuit->factor_count * sizeof *grid->digits);
    if (!grid->digits)
        return fail_memory(error);
    uint64_t weight = 1;
    for (uint32_t f = 0; f < circuit->factor_count && weight <= GRID_WORDS_MAX; f++) {
        struct packed_field field = packing->fields[f];
        uint64_t states = factor_shape(circuit, f)->state_count;
        unsigned low = field.shift >= 6                ? 0
                       : field.shift + field.bits <= 6 ? field.bits
                                                       : 6u - field.shift;
        if (low == field.bits)
            continue; /* entirely within the word */
        uint64_t size = ((states - 1) >> low) + 1;
        grid->digits[grid->digit_count++] = (struct grid_digit){
            (uint8_t)(field.shift + low), (UINT64_C(1) << (field.bits - low)) - 1, size, weight};
        if (__builtin_mul_overflow(weight, size, &weight))
            weight = UINT64_MAX;
    }
    grid->words = weight <= GRID_WORDS_MAX ? weight : 0;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ spaces */

void space_close(struct space *space)
{
    if (space->kind == SPACE_NONE)
        return;
    memory_free_all(&space->memory, space->strides, (void *)space->seen, space->done,
                    (void *)space->dirty, (void *)space->taken, space->block_rank, space->word_rank,
                    space->states, space->cells);
    *space = (struct space){0};
}

gordian_status space_full(struct space *space, const struct packing *packing, uint64_t limit,
                          const gordian_allocator *memory, gordian_error *error)
{
    const gordian_circuit *circuit = packing->circuit;
    *space = (struct space){.kind = SPACE_FULL, .memory = *memory, .packing = packing};
    if (!circuit->whole_fits)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "the whole product has more states than 64 bits can count");
    space->strides = memory_alloc(memory, circuit->factor_count * sizeof *space->strides);
    if (!space->strides)
        return fail_memory(error);
    uint64_t stride = 1;
    for (uint32_t f = 0; f < circuit->factor_count; f++) {
        space->strides[f] = stride;
        stride *= factor_shape(circuit, f)->state_count;
    }
    space->count = limit && limit < circuit->whole ? limit : circuit->whole;
    return GORDIAN_OK;
}

gordian_status space_rank(struct space *space, gordian_error *error)
{
    uint64_t words = space->grid->words, blocks = (words + GRID_BLOCK - 1) / GRID_BLOCK, rank = 0;
    if (space->block_rank)
        return GORDIAN_OK;
    space->block_rank = memory_alloc(&space->memory, (blocks + 1) * sizeof *space->block_rank);
    space->word_rank = memory_alloc(&space->memory, words * sizeof *space->word_rank);
    if (!space->block_rank || !space->word_rank)
        return fail_memory(error);
    for (uint64_t w = 0; w < words; w++) {
        if (w % GRID_BLOCK == 0)
            space->block_rank[w / GRID_BLOCK] = rank;
        space->word_rank[w] = (uint16_t)(rank - space->block_rank[w / GRID_BLOCK]);
        rank += (uint64_t)__builtin_popcountll(space->seen[w]);
    }
    space->block_rank[blocks] = rank;
    space->count = rank;
    return GORDIAN_OK;
}

void space_sort_cells(struct space *space)
{
    sort_words(&space->cells->waiting, space->cell_count, CELL_WORDS);
    space->count = 0;
    for (size_t i = 0; i < space->cell_count; i++) {
        space->cells[i].waiting = space->count;
        space->count += (uint64_t)__builtin_popcountll(space->cells[i].visited);
    }
}

/* Binary search: returns the index of the last number that is at most `value`, in an ascending list
 * with stride `stride`; 0 if there is none. */
static uint64_t last_at_most(const uint64_t *list, size_t stride, uint64_t count, uint64_t value)
{
    uint64_t low = 0, high = count - 1;
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        if (list[middle * stride] <= value)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static uint64_t number_in_bitmap(const struct space *space, uint64_t state)
{
    uint64_t word = grid_word(space->grid, state), bit = UINT64_C(1) << (state & 63);
    uint64_t seen = atomic_load_explicit(&space->seen[word], memory_order_relaxed);
    if (!(seen & bit))
        return UINT64_MAX;
    return space->block_rank[word / GRID_BLOCK] + space->word_rank[word] +
           (uint64_t)__builtin_popcountll(seen & (bit - 1));
}

static uint64_t number_in_cells(const struct space *space, uint64_t state)
{
    if (space->cell_count == 0)
        return UINT64_MAX;
    const struct cell *cell =
        space->cells + last_at_most(&space->cells->word, CELL_WORDS, space->cell_count, state >> 6);
    uint64_t bit = UINT64_C(1) << (state & 63);
    if (cell->word != state >> 6 || !(cell->visited & bit))
        return UINT64_MAX;
    return cell->waiting + (uint64_t)__builtin_popcountll(cell->visited & (bit - 1));
}

uint64_t space_number(const struct space *space, const uint64_t *state)
{
    if (space->kind == SPACE_CELLS)
        return number_in_cells(space, *state);
    if (space->kind == SPACE_BITMAP)
        return number_in_bitmap(space, *state);
    if (space->kind == SPACE_SORTED) {
        size_t words = space->packing->words;
        uint64_t low = 0, high = space->count;
        while (low < high) {
            uint64_t middle = low + (high - low) / 2;
            int order = packed_compare(space->states + middle * words, state, words);
            if (order == 0)
                return middle;
            if (order < 0)
                low = middle + 1;
            else
                high = middle;
        }
        return UINT64_MAX;
    }
    uint64_t number = 0;
    for (uint32_t f = 0; f < space->packing->circuit->factor_count; f++)
        number += packed_local(space->packing, state, f) * space->strides[f];
    return number < space->count ? number : UINT64_MAX;
}

/* ------------------------------------------------------------------ walking */

static void find_bit(struct space_walk *walk)
{
    while (walk->bits == 0) {
        walk->base = grid_next(walk->space->grid, walk->base);
        walk->bits = atomic_load_explicit(&walk->space->seen[++walk->word], memory_order_relaxed);
    }
    *walk->state = walk->base | (uint64_t)__builtin_ctzll(walk->bits);
}

static void seek_in_bitmap(struct space_walk *walk)
{
    const struct space *space = walk->space;
    uint64_t blocks = (space->grid->words - 1) / GRID_BLOCK + 1;
    uint64_t block = last_at_most(space->block_rank, 1, blocks, walk->number);
    uint64_t left = walk->number - space->block_rank[block];
    walk->word = block * GRID_BLOCK;
    while (walk->word + 1 < space->grid->words && (walk->word + 1) % GRID_BLOCK != 0 &&
           space->word_rank[walk->word + 1] <= left)
        walk->word++;
    left -= space->word_rank[walk->word];
    walk->base = grid_base(space->grid, walk->word);
    walk->bits = atomic_load_explicit(&space->seen[walk->word], memory_order_relaxed);
    while (left-- > 0)
        walk->bits &= walk->bits - 1;
    find_bit(walk);
}

static void find_in_cells(struct space_walk *walk)
{
    const struct cell *cells = walk->space->cells;
    while (walk->bits == 0)
        walk->bits = cells[++walk->word].visited;
    *walk->state = cells[walk->word].word << 6 | (uint64_t)__builtin_ctzll(walk->bits);
}

void space_seek(struct space_walk *walk, const struct space *space, uint64_t number,
                uint64_t *state, uint32_t *locals)
{
    *walk = (struct space_walk){space, number, state, locals, 0, 0, 0};
    size_t words = space->packing->words;
    if (space->kind == SPACE_BITMAP) {
        seek_in_bitmap(walk);
    } else if (space->kind == SPACE_CELLS) {
        const struct cell *cells = walk->space->cells;
        walk->word = last_at_most(&cells->waiting, CELL_WORDS, space->cell_count, number);
        walk->bits = cells[walk->word].visited;
        for (uint64_t left = number - cells[walk->word].waiting; left > 0; left--)
            walk->bits &= walk->bits - 1;
        find_in_cells(walk);
    } else if (space->kind == SPACE_SORTED) {
        memcpy(state, space->states + number * words, words * sizeof *state);
    } else {
        for (uint32_t f = 0; f < space->packing->circuit->factor_count; f++) {
            uint32_t states = factor_shape(space->packing->circuit, f)->state_count;
            locals[f] = (uint32_t)(number % states);
            number /= states;
        }
        pack_state(space->packing, locals, state);
        return;
    }
    unpack_state(space->packing, state, locals);
}

void space_step(struct space_walk *walk)
{
    const struct space *space = walk->space;
    size_t words = space->packing->words;
    walk->number++;
    if (space->kind == SPACE_BITMAP) {
        walk->bits &= walk->bits - 1;
        find_bit(walk);
    } else if (space->kind == SPACE_CELLS) {
        walk->bits &= walk->bits - 1;
        find_in_cells(walk);
    } else if (space->kind == SPACE_SORTED) {
        memcpy(walk->state, space->states + walk->number * words, words * sizeof *walk->state);
    } else {
        uint32_t f = 0;
        while (++walk->locals[f] == factor_shape(space->packing->circuit, f)->state_count)
            walk->locals[f++] = 0;
        pack_state(space->packing, walk->locals, walk->state);
        return;
    }
    unpack_state(space->packing, walk->state, walk->locals);
}
