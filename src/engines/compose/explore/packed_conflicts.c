/* Which firings clash: parts, and within a part a bit for every factor that two of them want. */
#include "engines/compose/explore/packed_internal.h"

#include "foundation/base/error.h"

#include <stdlib.h>
#include <string.h>

struct conflicts {
    struct packed *packed;
    uint32_t *parent;    /* of firing i: union-find */
    uint32_t *members;   /* firings of the factor at hand */
    uint32_t *next_use;  /* by root: bits given out */
    uint32_t *sizes;     /* by root */
    struct place *order; /* how firings will stand */
    uint32_t member_count;
};

struct place {
    bool alone;
    uint32_t root, firing;
};

static uint32_t root_of(struct conflicts *c, uint32_t i)
{
    while (c->parent[i] != i)
        i = c->parent[i] = c->parent[c->parent[i]];
    return i;
}

static void gather_members(struct conflicts *c, uint32_t factor)
{
    const struct packed *packed = c->packed;
    size_t words = packed_mover_words(packed);
    c->member_count = 0;
    for (uint32_t i = 0; i < packed->firing_count; i++)
        if (bits_test(packed->movers + i * words, factor))
            c->members[c->member_count++] = i;
}

/* Is there a state in which both are enabled? */
static bool can_both_fire(const struct packed *packed, uint32_t i, uint32_t k)
{
    const struct compose_firing *one = &packed->firings[i], *other = &packed->firings[k];
    return ((one->value ^ other->value) & one->mask & other->mask) == 0;
}

/* One more bit for those members that are of this part. */
static bool give_use(struct conflicts *c, uint32_t root)
{
    if (c->next_use[root] == 64)
        return false;
    uint64_t bit = UINT64_C(1) << c->next_use[root]++;
    for (uint32_t i = 0; i < c->member_count; i++)
        if (root_of(c, c->members[i]) == root)
            c->packed->firings[c->members[i]].uses |= bit;
    return true;
}

static int compare_places(const void *left, const void *right)
{
    const struct place *one = left, *other = right;
    if (one->alone != other->alone)
        return one->alone ? -1 : 1;
    if (one->root != other->root)
        return one->root < other->root ? -1 : 1;
    return one->firing < other->firing ? -1 : one->firing > other->firing;
}

/* Puts the firings, with their labels and movers, into the order of the places. */
static gordian_status reorder_firings(struct conflicts *c, gordian_error *error)
{
    struct packed *packed = c->packed;
    size_t n = packed->firing_count, words = packed->circuit->label_words;
    size_t mover_words = packed_mover_words(packed);
    struct compose_firing *firings = memory_alloc(&packed->memory, (n + 1) * sizeof *firings);
    uint64_t *labels = memory_alloc(&packed->memory, (n * words + 1) * sizeof *labels);
    uint64_t *movers = memory_alloc(&packed->memory, (n * mover_words + 1) * sizeof *movers);
    if (!firings || !labels || !movers) {
        memory_free_all(&packed->memory, firings, labels, movers);
        return fail_memory(error);
    }
    for (size_t i = 0; i < n; i++) {
        size_t from = c->order[i].firing;
        firings[i] = packed->firings[from];
        memcpy(labels + i * words, packed->labels + from * words, words * sizeof *labels);
        memcpy(movers + i * mover_words, packed->movers + from * mover_words,
               mover_words * sizeof *movers);
    }
    memory_free_all(&packed->memory, packed->firings, packed->labels, packed->movers);
    packed->firings = firings;
    packed->labels = labels;
    packed->movers = movers;
    return GORDIAN_OK;
}

/* Numbers the parts along the new order. */
static void number_parts(struct conflicts *c)
{
    struct packed *packed = c->packed;
    uint32_t part = 0;
    for (uint32_t i = 0; i < packed->firing_count; i++) {
        bool starts = i == 0 || c->order[i].alone || c->order[i].root != c->order[i - 1].root;
        part += i > 0 && starts;
        packed->firings[i].part = part;
        if (c->order[i].alone) {
            packed->singles = i + 1;
            continue;
        }
        packed->part_count += starts;
        packed->ends[packed->part_count - 1] = i + 1;
    }
}

static gordian_status find_parts(struct conflicts *c, gordian_error *error)
{
    struct packed *packed = c->packed;
    uint32_t n = (uint32_t)packed->firing_count;
    uint32_t factors = (uint32_t)packed->circuit->factor_count;
    for (uint32_t i = 0; i < n; i++)
        c->parent[i] = i;
    for (uint32_t f = 0; f < factors; f++) {
        gather_members(c, f);
        for (uint32_t i = 0; i < c->member_count; i++)
            for (uint32_t k = 0; k < i; k++)
                if (can_both_fire(c->packed, c->members[i], c->members[k]))
                    c->parent[root_of(c, c->members[i])] = root_of(c, c->members[k]);
    }
    for (uint32_t f = 0; f < factors; f++) {
        gather_members(c, f);
        const struct compose_firing *firings = c->packed->firings;
        for (uint32_t i = 0; i < c->member_count; i++)
            for (uint32_t k = 0; k < i; k++)
                if ((firings[c->members[i]].uses & firings[c->members[k]].uses) == 0 &&
                    can_both_fire(c->packed, c->members[i], c->members[k]) &&
                    !give_use(c, root_of(c, c->members[i])))
                    return fail(error, GORDIAN_STATUS_UNAVAILABLE,
                                "firings that get into each other's way at more than 64 places");
    }
    for (uint32_t i = 0; i < n; i++)
        c->sizes[root_of(c, i)]++;
    for (uint32_t i = 0; i < n; i++)
        c->order[i] = (struct place){c->sizes[root_of(c, i)] == 1, root_of(c, i), i};
    qsort(c->order, n, sizeof *c->order, compare_places);
    TRY(reorder_firings(c, error));
    number_parts(c);
    return GORDIAN_OK;
}

gordian_status packed_find_parts(struct packed *packed, gordian_error *error)
{
    const gordian_allocator *memory = &packed->memory;
    size_t n = packed->firing_count + 1;
    struct conflicts c = {.packed = packed};
    c.parent = memory_alloc(memory, n * sizeof *c.parent);
    c.members = memory_alloc(memory, n * sizeof *c.members);
    c.next_use = memory_zeroed(memory, n * sizeof *c.next_use);
    c.sizes = memory_zeroed(memory, n * sizeof *c.sizes);
    c.order = memory_zeroed(memory, n * sizeof *c.order);
    packed->ends = memory_zeroed(memory, n * sizeof *packed->ends);
    gordian_status status = GORDIAN_OK;
    if (!c.parent || !c.members || !c.next_use || !c.sizes || !c.order || !packed->ends)
        status = fail_memory(error);
    else
        status = find_parts(&c, error);
    memory_free_all(memory, c.parent, c.members, c.next_use, c.sizes, c.order);
    return status;
}
