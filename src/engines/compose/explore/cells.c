/* Sets of packed states as words of 64 neighbours in a hash table (cells.h). */
#include "engines/compose/explore/cells.h"

#include "foundation/base/memory.h"

/* ------------------------------------------------------------------ firings */

bool cells_rules_open(struct cells_rules *rules, uint32_t count, uint32_t owners,
                      const gordian_allocator *memory)
{
    *rules = (struct cells_rules){.owners = owners};
    rules->inner = memory_alloc(memory, count * sizeof *rules->inner);
    rules->outer = memory_alloc(memory, count * sizeof *rules->outer);
    return rules->inner && rules->outer;
}

void cells_rules_add(struct cells_rules *rules, const struct compose_firing *firing)
{
    struct compose_word_firing word = packed_word_firing(firing);
    if (word.flip)
        rules->outer[rules->outer_count++] = word;
    else
        rules->inner[rules->inner_count++] = word;
}

void cells_rules_close(struct cells_rules *rules, const gordian_allocator *memory)
{
    memory_free_all(memory, rules->inner, rules->outer);
    *rules = (struct cells_rules){0};
}

static inline uint64_t shift_states(const struct compose_word_firing *firing, uint64_t states)
{
    states &= firing->pattern;
    return firing->shift >= 0 ? states << firing->shift : states >> -firing->shift;
}

/* ------------------------------------------------------------------ the table */

#define TOGETHER 32u        /* pairs entered at once */
#define LONG     (1u << 19) /* cells; larger lists grow more slowly */

void cells_close(struct cells *cells)
{
    memory_free_all(&cells->memory, cells->list, cells->again);
    hash_free(&cells->table, &cells->memory);
    *cells = (struct cells){.memory = cells->memory};
}

void cells_settle(struct cells *cells)
{
    hash_free(&cells->table, &cells->memory);
    memory_free(&cells->memory, cells->again);
    cells->again = NULL;
    cells->again_first = cells->again_last = cells->again_room = 0;
}

uint64_t cells_bytes(const struct cells *cells)
{
    return (uint64_t)cells->room * sizeof *cells->list + cells->again_room * sizeof *cells->again +
           (uint64_t)cells->table.slot_count * sizeof *cells->table.slots;
}

static void put_cells(const void *context, struct hash *table)
{
    const struct cells *cells = context;
    for (uint32_t i = 0; i < cells->count; i++)
        hash_put(table, hash_word(cells->list[i].word), i);
}

/* Ensures that the list has capacity for `count` cells. A long list grows by a quarter, because
 * unused memory costs more than time. */
static bool grow_cell_list(struct cells *cells, uint32_t count)
{
    if (count <= cells->room)
        return true;
    uint32_t room = cells->room + cells->room / (cells->room < LONG ? 2 : 4) + TOGETHER;
    struct cell *list = cells->memory.resize(cells->memory.context, cells->list,
                                             (size_t)room * sizeof *cells->list);
    if (!list || room < count)
        return false;
    memory_large(list, (size_t)room * sizeof *list);
    cells->list = list;
    cells->room = room;
    return true;
}

/* Returns the cell of a word, and adds it if it is new. The table must have capacity. */
static struct cell *cell_at(struct cells *cells, uint64_t word, uint64_t hash)
{
    struct hash_probe probe = hash_probe(&cells->table, hash);
    while (hash_meet(&cells->table, &probe))
        if (cells->list[probe.number].word == word)
            return &cells->list[probe.number];
    hash_put(&cells->table, hash, cells->count);
    cells->list[cells->count] = (struct cell){.word = word};
    return &cells->list[cells->count++];
}

static void enter_pair(struct cells *cells, const struct cell_pair *pair, uint64_t hash)
{
    struct cell *cell = cell_at(cells, pair->word, hash);
    uint64_t fresh = pair->states & ~cell->visited;
    if (fresh && cells->admit)
        fresh = cells->admit(cells->context, fresh);
    if (!fresh)
        return;
    uint32_t number = (uint32_t)(cell - cells->list);
    if (!cell->waiting && number < cells->next)
        cells->again[cells->again_last++] = number;
    cell->visited |= fresh;
    cell->waiting |= fresh;
    cells->states += (uint64_t)__builtin_popcountll(fresh);
}

/* Enters some pairs. Prefetches all their cells first. */
static void enter_some(struct cells *cells, const struct cell_pair *pairs, size_t count)
{
    uint64_t hashes[TOGETHER];
    for (size_t i = 0; i < count; i++) {
        hashes[i] = hash_word(pairs[i].word);
        hash_expect(&cells->table, hashes[i]);
    }
    for (size_t i = 0; i < count; i++) {
        struct hash_probe probe = hash_probe(&cells->table, hashes[i]);
        if (hash_meet(&cells->table, &probe))
            __builtin_prefetch(&cells->list[probe.number], 1);
    }
    for (size_t i = 0; i < count; i++)
        enter_pair(cells, &pairs[i], hashes[i]);
}

void cells_enter(struct cells *cells, const struct cell_pair *pairs, size_t count)
{
    cells->entered += count;
    for (size_t at = 0; at < count && !cells->no_memory; at += TOGETHER) {
        size_t some = count - at < TOGETHER ? count - at : TOGETHER;
        uint32_t count_then = cells->count + (uint32_t)some, slots = cells->table.slot_count;
        /* A large table is filled further, because it is the main memory cost of a cell. */
        bool fits = slots > HASH_SMALL && count_then <= slots - slots / 8 &&
                    count_then <= cells->table.mask;
        cells->no_memory = (!fits && !hash_reserve(&cells->table, &cells->memory, count_then,
                                                   count_then, put_cells, cells)) ||
                           !grow_cell_list(cells, count_then) ||
                           !memory_grow(&cells->memory, &cells->again, &cells->again_room,
                                        cells->again_last + some, sizeof *cells->again);
        if (!cells->no_memory)
            enter_some(cells, pairs + at, some);
    }
}

uint64_t cells_before(const struct cells *cells, uint64_t state)
{
    uint64_t word = state >> 6, below = (UINT64_C(1) << (state & 63)) - 1, before = 0;
    for (uint32_t i = 0; i < cells->count; i++)
        if (cells->list[i].word <= word)
            before += (uint64_t)__builtin_popcountll(
                cells->list[i].visited & (cells->list[i].word < word ? UINT64_MAX : below));
    return before;
}

/* ------------------------------------------------------------------ firing */

/* Fires the waiting states of a cell within its word until nothing new is found. Returns all states
 * that fire. *moving: the states that fire within the word. */
static uint64_t close_cell(struct cells *cells, const struct cells_rules *rules, struct cell *cell,
                           uint64_t *moving)
{
    uint64_t fresh = cell->waiting, fires = fresh;
    cell->waiting = 0;
    while (fresh) {
        uint64_t found = 0;
        for (uint32_t i = 0; i < rules->inner_count; i++) {
            const struct compose_word_firing *firing = &rules->inner[i];
            if ((cell->word & firing->mask) != firing->value)
                continue;
            *moving |= fresh & firing->pattern;
            found |= shift_states(firing, fresh);
        }
        fresh = found & ~cell->visited;
        if (fresh && cells->admit)
            fresh = cells->admit(cells->context, fresh);
        cell->visited |= fresh;
        fires |= fresh;
        cells->states += (uint64_t)__builtin_popcountll(fresh);
    }
    return fires;
}

/* Fires the states into other words. Returns the states that fired. */
static uint64_t fire_outer(const struct cells_rules *rules, uint64_t word, uint64_t states,
                           struct cells_box *boxes, cells_hand_on *hand_on, void *context)
{
    uint64_t moving = 0;
    for (uint32_t i = 0; i < rules->outer_count; i++) {
        const struct compose_word_firing *firing = &rules->outer[i];
        if ((word & firing->mask) != firing->value || !(states & firing->pattern))
            continue;
        uint64_t to = word ^ firing->flip;
        uint32_t owner = rules->owners == 1 ? 0 : cells_owner(rules, to);
        struct cells_box *box = &boxes[owner];
        box->pairs[box->count++] = (struct cell_pair){to, shift_states(firing, states)};
        moving |= states & firing->pattern;
        if (box->count == box->room)
            hand_on(context, owner);
    }
    return moving;
}

void cells_sift(struct cell_pair *sieve, struct cells_box *box)
{
    uint32_t kept = box->sifted;
    for (uint32_t i = kept; i < box->count; i++) {
        struct cell_pair pair = box->pairs[i];
        struct cell_pair *known = &sieve[hash_word(pair.word) & (CELLS_SIEVE - 1)];
        if (known->word != pair.word)
            *known = (struct cell_pair){.word = pair.word};
        pair.states &= ~known->states;
        known->states |= pair.states;
        box->pairs[kept] = pair;
        kept += pair.states != 0;
    }
    box->count = box->sifted = kept;
}

/* Returns the next cell to fire: one that has never fired, or else the first that has to fire
 * again. */
static struct cell *next_cell(struct cells *cells)
{
    if (cells->next < cells->count)
        return &cells->list[cells->next++];
    struct cell *cell = &cells->list[cells->again[cells->again_first++]];
    if (cells->again_first == cells->again_last)
        cells->again_first = cells->again_last = 0;
    return cell;
}

void cells_fire(struct cells *cells, const struct cells_rules *rules, size_t most,
                struct cells_box *boxes, cells_hand_on *hand_on, void *context)
{
    for (size_t i = 0; i < most && cells_waiting(cells) && !cells->no_memory; i++) {
        struct cell *cell = next_cell(cells);
        uint64_t word = cell->word, moving = 0; /* handing on a box may move the cells */
        uint64_t states = close_cell(cells, rules, cell, &moving);
        moving |= fire_outer(rules, word, states, boxes, hand_on, context);
        uint64_t stuck = states & ~moving;
        if (stuck && cells->stuck == 0)
            cells->stuck_state = word << 6 | (uint64_t)__builtin_ctzll(stuck);
        cells->stuck += (uint64_t)__builtin_popcountll(stuck);
        cells->fired++;
    }
}
