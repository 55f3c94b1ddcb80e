/* Packed states: their firings and conflicts, numbers, predecessors, rows (packed.h). */
#include "engines/compose/explore/packed.h"

#include "engines/compose/explore/firing.h"
#include "foundation/base/error.h"
#include "foundation/base/sort.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void packed_free(struct packed *packed)
{
    if (!packed)
        return;
    gordian_allocator memory = packed->memory;
    packing_close(&packed->packing);
    memory_free_all(&memory, packed->firings, packed->labels, packed->movers, packed->ends, packed);
}

/* ------------------------------------------------------------------ states and numbers */

/* Digit by digit: the states of each factor, or only its initial ones. */
static uint64_t state_of_digits(const struct packed *packed, uint64_t number, bool initial)
{
    uint64_t state = 0;
    for (uint32_t f = 0; f < packed->circuit->factor_count; f++) {
        const struct shape *shape = factor_shape(packed->circuit, f);
        uint32_t count = initial ? shape->initial_count : shape->state_count;
        state |= number % count << packed->packing.fields[f].shift;
        number /= count;
    }
    return state;
}

uint64_t packed_of_number(const struct packed *packed, uint64_t number)
{
    return state_of_digits(packed, number, false);
}

uint64_t packed_initial(const struct packed *packed, uint64_t i)
{
    return state_of_digits(packed, i, true);
}

uint64_t packed_number(const struct packed *packed, uint64_t state)
{
    uint64_t number = 0;
    for (uint32_t f = (uint32_t)packed->circuit->factor_count; f-- > 0;)
        number = number * factor_shape(packed->circuit, f)->state_count +
                 packed_local(&packed->packing, &state, f);
    return number;
}

struct compose_word_firing packed_word_firing(const struct compose_firing *firing)
{
    uint64_t low = 63, to = firing->value ^ firing->flip;
    return (struct compose_word_firing){
        .mask = firing->mask >> 6,
        .value = firing->value >> 6,
        .flip = firing->flip >> 6,
        .pattern = packed_places(firing->mask, firing->value),
        .shift = (int32_t)(to & low) - (int32_t)(firing->value & low),
    };
}

/* ------------------------------------------------------------------ labels */

void packed_label(const struct packed *packed, const uint32_t *chosen, uint32_t count,
                  uint64_t *label)
{
    size_t words = packed->circuit->label_words;
    memset(label, 0, words * sizeof *label);
    for (uint32_t i = 0; i < count; i++)
        for (size_t w = 0; w < words; w++)
            label[w] |= packed->labels[chosen[i] * words + w];
}

/* ------------------------------------------------------------------ walking back */

/* Could this firing, together with the chosen ones, have led to the state? `uses` does not
 * distinguish firings that are never enabled together. Backwards such firings must be
 * distinguished, so the moving factors decide. */
static bool fits_back(const struct packed *packed, uint64_t state, const uint32_t *chosen,
                      uint32_t count, uint32_t f)
{
    const struct compose_firing *firing = &packed->firings[f];
    size_t words = packed_mover_words(packed);
    if ((state & firing->mask) != (firing->value ^ firing->flip))
        return false;
    for (uint32_t i = 0; i < count; i++)
        for (size_t w = 0; w < words; w++)
            if (packed->movers[chosen[i] * words + w] & packed->movers[f * words + w])
                return false;
    return true;
}

void packed_walk_back(const struct packed *packed, uint64_t state, packed_before *before,
                      void *context)
{
    uint32_t chosen[COMPOSE_DEPTH], depth = 0, f = 0;
    uint64_t from = state;
    for (;;) {
        for (; f < packed->firing_count; f++) {
            if (depth == COMPOSE_DEPTH || !fits_back(packed, state, chosen, depth, f))
                continue;
            chosen[depth++] = f;
            from ^= packed->firings[f].flip;
            if (!before(context, from, chosen, depth))
                return;
        }
        if (depth == 0)
            return;
        f = chosen[--depth];
        from ^= packed->firings[f++].flip;
    }
}

bool packed_supports(const void *problem, const char **why)
{
    /* The message must outlive this call; each thread has its own. */
    static _Thread_local char reason[256];
    const struct compose_problem *asked = problem;
    struct packed *packed;
    gordian_error error = {0};
    gordian_status status = packed_open(&packed, asked->circuit, asked->options->allocator, &error);
    packed_free(packed);
    if (status != GORDIAN_STATUS_UNAVAILABLE)
        return true; /* running out of memory is reported by the run */
    snprintf(reason, sizeof reason, "%.240s", error.message);
    *why = reason;
    return false;
}

/* ------------------------------------------------------------------ the firings */

/* Converts the circuit's indivisible firings (firing.h) to words. */
static gordian_status pack_firings(struct packed *packed, const struct firings *list,
                                   gordian_error *error)
{
    size_t n = list->count;
    if (!list->complete || n > PACKED_FIRINGS_MAX)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "more than %u indivisible firings",
                    PACKED_FIRINGS_MAX);
    packed->firings = memory_zeroed(&packed->memory, (n + 1) * sizeof *packed->firings);
    packed->labels = memory_zeroed(&packed->memory,
                                   (n * packed->circuit->label_words + 1) * sizeof *packed->labels);
    packed->movers =
        memory_zeroed(&packed->memory, (n * packed_mover_words(packed) + 1) * sizeof(uint64_t));
    if (!packed->firings || !packed->labels || !packed->movers)
        return fail_memory(error);
    for (size_t i = 0; i < n; i++) {
        size_t words = packed->circuit->label_words, mover_words = packed_mover_words(packed);
        struct compose_firing *firing = &packed->firings[i];
        memcpy(packed->labels + i * words, firing_label(list, i), words * sizeof(uint64_t));
        const struct firing_move *moves = list->moves + list->first[i];
        size_t count = list->first[i + 1] - list->first[i];
        struct patch patch = {0};
        /* A state is one word, so there is one patch. */
        patches_of(&packed->packing, moves, count, &patch);
        *firing =
            (struct compose_firing){.mask = patch.mask, .value = patch.value, .flip = patch.flip};
        for (size_t m = 0; m < count; m++)
            bits_set(packed->movers + i * mover_words, moves[m].factor);
    }
    packed->firing_count = n;
    return GORDIAN_OK;
}

static gordian_status packed_find_firings(struct packed *packed, gordian_error *error)
{
    struct firings list;
    TRY(firings_open(&list, packed->circuit, &packed->memory, error));
    gordian_status status = pack_firings(packed, &list, error);
    firings_free(&list);
    return status;
}

/* ------------------------------------------------------------------ conflicts */

/* Finds conflicting firings: divides the firings into parts without conflicts between them. Within
 * a part, every factor that two firings need gets a bit. */
struct conflicts {
    struct packed *packed;
    uint32_t *parent;    /* of firing i: union-find */
    uint32_t *members;   /* firings of the current factor */
    uint32_t *next_use;  /* by root: bits in use */
    uint32_t *sizes;     /* by root */
    struct place *order; /* the new order of the firings */
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

/* Gives the members of this part another bit. */
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

static int compare_firing_places(const void *left, const void *right)
{
    const struct place *one = left, *other = right;
    if (one->alone != other->alone)
        return one->alone ? -1 : 1;
    if (one->root != other->root)
        return one->root < other->root ? -1 : 1;
    return one->firing < other->firing ? -1 : one->firing > other->firing;
}

/* Reorders the firings with their labels and movers. */
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

static gordian_status sort_into_parts(struct conflicts *c, gordian_error *error)
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
                                "firings conflict at more than 64 places");
    }
    for (uint32_t i = 0; i < n; i++)
        c->sizes[root_of(c, i)]++;
    for (uint32_t i = 0; i < n; i++)
        c->order[i] = (struct place){c->sizes[root_of(c, i)] == 1, root_of(c, i), i};
    qsort(c->order, n, sizeof *c->order, compare_firing_places);
    TRY(reorder_firings(c, error));
    /* Numbers the parts in the new order. */
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
    return GORDIAN_OK;
}

static gordian_status packed_find_parts(struct packed *packed, gordian_error *error)
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
    bool fine = c.parent && c.members && c.next_use && c.sizes && c.order && packed->ends;
    gordian_status status = fine ? sort_into_parts(&c, error) : fail_memory(error);
    memory_free_all(memory, c.parent, c.members, c.next_use, c.sizes, c.order);
    return status;
}

/* ------------------------------------------------------------------ opening */

static gordian_status lay_out_state(struct packed *packed, gordian_error *error)
{
    TRY(packing_open(&packed->packing, packed->circuit, NULL, &packed->memory, error));
    uint64_t bits = packed->packing.bits;
    return bits <= PACKED_BITS ? GORDIAN_OK
                               : fail(error, GORDIAN_STATUS_UNAVAILABLE,
                                      "a state takes %llu bits: at most %u are possible",
                                      (unsigned long long)bits, PACKED_BITS);
}

gordian_status packed_open(struct packed **out, const gordian_circuit *circuit,
                           const gordian_allocator *memory, gordian_error *error)
{
    gordian_allocator from = memory_allocator(memory);
    struct packed *packed = memory_zeroed(&from, sizeof *packed);
    *out = NULL;
    if (!packed)
        return fail_memory(error);
    packed->memory = packed->packing.memory = from;
    packed->circuit = circuit;
    gordian_status status = lay_out_state(packed, error);
    THEN(status, packed_find_firings(packed, error));
    THEN(status, packed_find_parts(packed, error));
    if (status == GORDIAN_OK)
        *out = packed;
    else
        packed_free(packed);
    return status;
}

/* ------------------------------------------------------------------ rows */

/* A row of the product: its transitions, sorted as sinks require. */
gordian_status packed_row_open(struct packed_row *row, const struct packed *packed,
                               gordian_error *error)
{
    *row = (struct packed_row){.packed = packed};
    row->locals =
        memory_alloc(&packed->memory, (packed->circuit->factor_count + 1) * sizeof *row->locals);
    return row->locals ? GORDIAN_OK : fail_memory(error);
}

static void free_row_arrays(struct packed_row *row)
{
    const gordian_allocator *memory = &row->packed->memory;
    memory_free_all(memory, row->labels, row->to, row->raw_labels, row->raw_to, row->order);
    *row = (struct packed_row){.packed = row->packed, .locals = row->locals};
}

void packed_row_free(struct packed_row *row)
{
    if (!row->packed)
        return;
    free_row_arrays(row);
    memory_free(&row->packed->memory, row->locals);
    row->locals = NULL;
}

gordian_status packed_row_reserve(struct packed_row *row, size_t count, gordian_error *error)
{
    const gordian_allocator *memory = &row->packed->memory;
    size_t words = row->packed->circuit->label_words, room = count + count / 2 + 16;
    row->count = count;
    if (count <= row->room)
        return GORDIAN_OK;
    if (count >= UINT32_MAX)
        return fail(error, GORDIAN_STATUS_MEMORY, "a state with %zu transitions", count);
    free_row_arrays(row);
    row->labels = memory_alloc(memory, room * words * sizeof *row->labels);
    row->to = memory_alloc(memory, room * sizeof *row->to);
    row->raw_labels = memory_alloc(memory, room * words * sizeof *row->labels);
    row->raw_to = memory_alloc(memory, room * sizeof *row->to);
    row->order = memory_alloc(memory, room * sizeof *row->order);
    if (!row->labels || !row->to || !row->raw_labels || !row->raw_to || !row->order) {
        free_row_arrays(row);
        return fail_memory(error);
    }
    row->room = room;
    row->count = count;
    return GORDIAN_OK;
}

static int compare_transitions(const void *left, const void *right, void *context)
{
    const struct packed_row *row = context;
    const gordian_circuit *circuit = row->packed->circuit;
    uint32_t i = *(const uint32_t *)left, k = *(const uint32_t *)right;
    size_t words = circuit->label_words;
    int order = label_compare(row->raw_labels + i * words, row->raw_labels + k * words, words,
                              circuit->name_count, circuit->value_bits);
    return order ? order : (row->raw_to[i] > row->raw_to[k]) - (row->raw_to[i] < row->raw_to[k]);
}

gordian_status packed_row_deliver(struct packed_row *row, const gordian_compose_sink *sink,
                                  uint64_t state, uint64_t number, gordian_error *error)
{
    size_t words = row->packed->circuit->label_words;
    for (size_t i = 0; i < row->count; i++)
        row->order[i] = (uint32_t)i;
    sort_with(row->order, row->count, sizeof *row->order, compare_transitions, row);
    for (size_t i = 0; i < row->count; i++) {
        memcpy(row->labels + i * words, row->raw_labels + row->order[i] * words,
               words * sizeof *row->labels);
        row->to[i] = row->raw_to[row->order[i]];
    }
    unpack_state(&row->packed->packing, &state, row->locals);
    gordian_compose_row out = {.number = number,
                               .state = row->locals,
                               .initial = initial_is(row->packed->circuit, row->locals),
                               .count = row->count,
                               .labels = row->labels,
                               .to = row->to};
    return sink->row(sink->context, &out, error);
}
