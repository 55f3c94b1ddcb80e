/*
 * Finding the indivisible firings: a transition of some factor, then of everybody who has a name
 * that fires, until nobody is left out. Each is found once: it starts at its lowest factor, and
 * the next one to join is always the first user of the lowest name that has not moved yet.
 */
#include "compose/packed_parts.h"

#include "base/error.h"

#include <string.h>

struct search {
    struct packed *packed;
    const struct circuit *circuit;
    size_t words;          /* of a label */
    size_t *first;         /* transitions of factor f: labels first[f] .. */
    uint64_t *transitions; /* their labels, as labels of the circuit */
    uint64_t *masks;       /* one a factor */
    /* A level for every factor that moves. */
    uint64_t *labels, *settled;
    uint32_t *factors;
    uint32_t *chosen; /* transition of that factor */
    bool *moves;      /* by factor */
    uint32_t start;   /* the lowest factor */
    uint64_t steps;
};

static void search_free(struct search *search)
{
    const gordian_allocator *memory = &search->packed->memory;
    memory_free(memory, search->first);
    memory_free(memory, search->transitions);
    memory_free(memory, search->masks);
    memory_free(memory, search->labels);
    memory_free(memory, search->settled);
    memory_free(memory, search->factors);
    memory_free(memory, search->chosen);
    memory_free(memory, search->moves);
}

static gordian_status search_open(struct search *search, struct packed *packed,
                                  gordian_error *error)
{
    const struct circuit *circuit = packed->circuit;
    const gordian_allocator *memory = &packed->memory;
    size_t words = circuit->label_words, factors = circuit->factor_count, count = 0;
    size_t bytes = words * sizeof(uint64_t);
    *search = (struct search){.packed = packed, .circuit = circuit, .words = words};
    for (uint32_t f = 0; f < factors; f++)
        count += factor_shape(circuit, f)->transition_count;
    search->first = memory_alloc(memory, (factors + 1) * sizeof *search->first);
    search->transitions = memory_alloc(memory, (count + 1) * bytes);
    search->masks = memory_alloc(memory, (factors + 1) * bytes);
    search->labels = memory_zeroed(memory, (factors + 1) * bytes);
    search->settled = memory_zeroed(memory, (factors + 1) * bytes);
    search->factors = memory_alloc(memory, (factors + 1) * sizeof *search->factors);
    search->chosen = memory_alloc(memory, (factors + 1) * sizeof *search->chosen);
    search->moves = memory_zeroed(memory, factors + 1);
    if (!search->first || !search->transitions || !search->masks || !search->labels ||
        !search->settled || !search->factors || !search->chosen || !search->moves) {
        search_free(search);
        return fail_memory(error);
    }
    count = 0;
    for (uint32_t f = 0; f < factors; f++) {
        search->first[f] = count;
        factor_mask(circuit, f, search->masks + f * words);
        for (size_t t = 0; t < factor_shape(circuit, f)->transition_count; t++)
            factor_label(circuit, f, t, search->transitions + count++ * words);
    }
    return GORDIAN_OK;
}

/* Where transition t of a shape starts. */
static uint32_t source_of(const struct shape *shape, size_t t)
{
    uint32_t low = 0, high = shape->state_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (shape->first[middle] <= t)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* What has been put together is a firing. */
static gordian_status add_firing(const struct search *search, size_t depth, gordian_error *error)
{
    struct packed *packed = search->packed;
    size_t words = search->words, mover_words = packed_mover_words(packed);
    size_t n = packed->firing_count;
    if (n == PACKED_FIRINGS_MAX)
        return fail(error, GORDIAN_UNAVAILABLE, "more than %u indivisible firings",
                    PACKED_FIRINGS_MAX);
    if (!memory_grow(&packed->memory, &packed->firings, &packed->firing_room, n + 1,
                     sizeof *packed->firings) ||
        !memory_grow(&packed->memory, &packed->labels, &packed->label_room, (n + 1) * words,
                     sizeof *packed->labels) ||
        !memory_grow(&packed->memory, &packed->movers, &packed->mover_room, (n + 1) * mover_words,
                     sizeof *packed->movers))
        return fail_memory(error);
    struct compose_firing *firing = &packed->firings[n];
    uint64_t *movers = packed->movers + n * mover_words;
    *firing = (struct compose_firing){0};
    memset(movers, 0, mover_words * sizeof *movers);
    memcpy(packed->labels + n * words, search->labels + depth * words, words * sizeof(uint64_t));
    for (size_t i = 0; i < depth; i++) {
        uint32_t f = search->factors[i];
        const struct shape *shape = factor_shape(search->circuit, f);
        uint32_t width = packed->shift[f + 1] - packed->shift[f];
        uint64_t from = source_of(shape, search->chosen[i]), to = shape->to[search->chosen[i]];
        bits_set(movers, f);
        firing->mask |= ((UINT64_C(1) << width) - 1) << packed->shift[f];
        firing->value |= from << packed->shift[f];
        firing->flip |= (from ^ to) << packed->shift[f];
    }
    packed->firing_count++;
    return GORDIAN_OK;
}

/* The first factor that has a name that fires and does not move yet; GORDIAN_NONE: there is none,
 * or only one below the start. *closed: there is none. */
static uint32_t next_to_join(const struct search *search, const uint64_t *label, bool *closed)
{
    const struct circuit *circuit = search->circuit;
    *closed = false;
    for (uint32_t base = 0; base < circuit->name_count; base += 64) {
        uint64_t fires = label[base / 64];
        if (circuit->name_count - base < 64)
            fires &= (UINT64_C(1) << (circuit->name_count - base)) - 1;
        for (; fires; fires &= fires - 1) {
            uint32_t name = base + (uint32_t)__builtin_ctzll(fires);
            for (size_t u = circuit->users_first[name]; u < circuit->users_first[name + 1]; u++) {
                uint32_t user = circuit->users[u];
                if (!search->moves[user])
                    return user > search->start ? user : GORDIAN_NONE;
            }
        }
    }
    *closed = true;
    return GORDIAN_NONE;
}

/* Lets the factor take transition t on top of what there is at `depth`; false: they disagree. */
static bool join(struct search *search, size_t depth, uint32_t factor, size_t t)
{
    size_t words = search->words;
    const uint64_t *label = search->labels + depth * words;
    const uint64_t *settled = search->settled + depth * words;
    const uint64_t *mine = search->transitions + (search->first[factor] + t) * words;
    const uint64_t *mask = search->masks + factor * words;
    uint64_t *next = search->labels + (depth + 1) * words;
    uint64_t *next_settled = search->settled + (depth + 1) * words;
    for (size_t w = 0; w < words; w++) {
        if ((label[w] ^ mine[w]) & settled[w] & mask[w])
            return false;
        next[w] = label[w] | mine[w];
        next_settled[w] = settled[w] | mask[w];
    }
    search->factors[depth] = factor;
    search->chosen[depth] = (uint32_t)t;
    return true;
}

/* All firings that go on from what there is at `depth`. An explicit stack: a firing may have
 * thousands of factors. */
static gordian_status search_from(struct search *search, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    size_t depth = 0, t = 0;
    uint32_t factor = search->start;
    while (status == GORDIAN_OK) {
        size_t count = factor_shape(search->circuit, factor)->transition_count;
        while (t < count && !join(search, depth, factor, t))
            t++;
        if (++search->steps > PACKED_SEARCH_STEPS)
            return fail(error, GORDIAN_UNAVAILABLE, "its firings are too many to work out");
        if (t == count) { /* nothing more here: back to the one before */
            if (depth-- == 0)
                return GORDIAN_OK;
            factor = search->factors[depth];
            t = search->chosen[depth] + 1;
            search->moves[factor] = false;
            continue;
        }
        bool closed;
        search->moves[factor] = true;
        uint32_t next = next_to_join(search, search->labels + (depth + 1) * search->words, &closed);
        if (closed)
            status = add_firing(search, depth + 1, error);
        if (next == GORDIAN_NONE) { /* complete, or of no use: the next transition */
            search->moves[factor] = false;
            t++;
        } else {
            depth++;
            factor = next;
            t = 0;
        }
    }
    return status;
}

gordian_status packed_find_firings(struct packed *packed, gordian_error *error)
{
    struct search search;
    gordian_status status = search_open(&search, packed, error);
    if (status != GORDIAN_OK)
        return status;
    for (uint32_t f = 0; f < packed->circuit->factor_count && status == GORDIAN_OK; f++) {
        memset(search.moves, 0, packed->circuit->factor_count);
        search.start = f;
        status = search_from(&search, error);
    }
    search_free(&search);
    return status;
}
