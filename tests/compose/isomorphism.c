/* Are two graphs the same up to the numbers of their states? Colours are refined until nothing
 * changes; where several states still have the same colour, one is singled out and every partner is
 * tried. The mapping found is checked arc by arc, so a clash of hashes can cost time but never give
 * a wrong yes. */
#include "compose/oracle.h"
#include "foundation/base/error.h"

#include <stdlib.h>
#include <string.h>

struct side {
    const gordian_graph *graph;
    uint32_t *label_of; /* labels in common numbers */
    uint32_t *colour;   /* of every state */
    uint64_t *mark;
    gordian_graph_arc *into; /* the arcs turned round */
    size_t *into_first;
};

struct pairing {
    gordian_allocator memory;
    struct side sides[2];
    uint32_t states;
    uint64_t *sorted;
    gordian_error *error;
};

static uint64_t mix(uint64_t value)
{
    value ^= value >> 33;
    value *= 0xff51afd7ed558ccdu;
    value ^= value >> 33;
    value *= 0xc4ceb9fe1a85ec53u;
    return value ^ value >> 33;
}

/* A state's colour and, in any order, where its arcs lead and come from. */
static uint64_t mark_of(const struct side *side, uint32_t s)
{
    uint64_t sum = mix(side->colour[s] + 1);
    for (size_t i = side->graph->first[s]; i < side->graph->first[s + 1]; i++)
        sum += mix(mix(side->label_of[side->graph->arcs[i].label] + UINT64_C(0x1000000000)) +
                   side->colour[side->graph->arcs[i].to]);
    for (size_t i = side->into_first[s]; i < side->into_first[s + 1]; i++)
        sum += mix(mix(side->label_of[side->into[i].label] + UINT64_C(0x2000000000)) +
                   side->colour[side->into[i].to]);
    return mix(sum);
}

static int compare_marks(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* New colours from the marks: their ranks among those of the left side. False: the right side has
 * others. */
static bool recolour(struct pairing *pairing, uint32_t *colours)
{
    uint32_t n = pairing->states, different = 0;
    struct side *left = &pairing->sides[0], *right = &pairing->sides[1];
    uint64_t *sorted = pairing->sorted, *other = sorted + n;
    memcpy(sorted, left->mark, n * sizeof *sorted);
    memcpy(other, right->mark, n * sizeof *other);
    qsort(sorted, n, sizeof *sorted, compare_marks);
    qsort(other, n, sizeof *other, compare_marks);
    if (memcmp(sorted, other, n * sizeof *sorted) != 0)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || sorted[i] != sorted[different - 1])
            sorted[different++] = sorted[i];
    for (int k = 0; k < 2; k++) {
        for (uint32_t s = 0; s < n; s++) {
            uint64_t *found = bsearch(&pairing->sides[k].mark[s], sorted, different, sizeof *sorted,
                                      compare_marks);
            pairing->sides[k].colour[s] = (uint32_t)(found - sorted);
        }
    }
    *colours = different;
    return true;
}

/* Refines until the number of colours stays; false: the two sides differ. */
static bool refine(struct pairing *pairing, uint32_t *colours)
{
    uint32_t before = 0;
    *colours = 0;
    do {
        before = *colours;
        for (int k = 0; k < 2; k++)
            for (uint32_t s = 0; s < pairing->states; s++)
                pairing->sides[k].mark[s] = mark_of(&pairing->sides[k], s);
        if (!recolour(pairing, colours))
            return false;
    } while (*colours != before);
    return true;
}

static int compare_arcs(const void *left, const void *right)
{
    const gordian_graph_arc *a = left, *b = right;
    if (a->label != b->label)
        return a->label < b->label ? -1 : 1;
    return (a->to > b->to) - (a->to < b->to);
}

/* With a colour for every state: do the arcs agree? `partner`: room for every state, `arcs`: for
 * all arcs twice. */
static bool arcs_agree(const struct pairing *pairing, uint32_t *partner, gordian_graph_arc *arcs)
{
    const struct side *left = &pairing->sides[0], *right = &pairing->sides[1];
    for (uint32_t s = 0; s < pairing->states; s++)
        partner[right->colour[s]] = s;
    for (uint32_t s = 0; s < pairing->states; s++) {
        uint32_t t = partner[left->colour[s]];
        size_t count = left->graph->first[s + 1] - left->graph->first[s];
        if (right->graph->first[t + 1] - right->graph->first[t] != count)
            return false;
        for (size_t i = 0; i < count; i++) {
            gordian_graph_arc a = left->graph->arcs[left->graph->first[s] + i];
            gordian_graph_arc b = right->graph->arcs[right->graph->first[t] + i];
            arcs[i] = (gordian_graph_arc){left->label_of[a.label], partner[left->colour[a.to]]};
            arcs[count + i] = (gordian_graph_arc){right->label_of[b.label], b.to};
        }
        qsort(arcs, count, sizeof *arcs, compare_arcs);
        qsort(arcs + count, count, sizeof *arcs, compare_arcs);
        if (memcmp(arcs, arcs + count, count * sizeof *arcs) != 0)
            return false;
    }
    return true;
}

static gordian_status verify(struct pairing *pairing, bool *same)
{
    size_t arc_count = pairing->sides[0].graph->arc_count;
    uint32_t *partner = memory_alloc(&pairing->memory, pairing->states * sizeof *partner);
    gordian_graph_arc *arcs = memory_alloc(&pairing->memory, 2 * arc_count * sizeof *arcs);
    bool fine = partner && arcs;
    *same = fine && arcs_agree(pairing, partner, arcs);
    memory_free(&pairing->memory, partner);
    memory_free(&pairing->memory, arcs);
    return fine ? GORDIAN_OK : fail_memory(pairing->error);
}

/* A state of the left side that is not alone in its colour, or the number of states. */
static uint32_t find_crowd(const struct pairing *pairing, uint32_t *sizes)
{
    const struct side *left = &pairing->sides[0];
    memset(sizes, 0, pairing->states * sizeof *sizes);
    for (uint32_t s = 0; s < pairing->states; s++)
        sizes[left->colour[s]]++;
    for (uint32_t s = 0; s < pairing->states; s++)
        if (sizes[left->colour[s]] > 1)
            return s;
    return pairing->states;
}

static gordian_status search(struct pairing *pairing, bool *same)
{
    uint32_t n = pairing->states, colours;
    *same = false;
    if (!refine(pairing, &colours))
        return GORDIAN_OK;
    uint32_t *saved = memory_alloc(&pairing->memory, 3 * (size_t)n * sizeof *saved);
    if (!saved)
        return fail_memory(pairing->error);
    uint32_t *left = pairing->sides[0].colour, *right = pairing->sides[1].colour;
    uint32_t crowded = find_crowd(pairing, saved + 2 * (size_t)n);
    gordian_status status = GORDIAN_OK;
    if (crowded == n) {
        status = verify(pairing, same);
    } else {
        memcpy(saved, left, n * sizeof *left);
        memcpy(saved + n, right, n * sizeof *right);
        for (uint32_t s = 0; s < n && !*same && status == GORDIAN_OK; s++) {
            if (saved[n + s] != saved[crowded])
                continue;
            memcpy(left, saved, n * sizeof *left);
            memcpy(right, saved + n, n * sizeof *right);
            left[crowded] = right[s] = n + 1;
            status = search(pairing, same);
        }
    }
    memory_free(&pairing->memory, saved);
    return status;
}

/* ------------------------------------------------------------------ setting up */

static void free_side(const struct pairing *pairing, struct side *side)
{
    memory_free(&pairing->memory, side->label_of);
    memory_free(&pairing->memory, side->colour);
    memory_free(&pairing->memory, side->mark);
    memory_free(&pairing->memory, side->into);
    memory_free(&pairing->memory, side->into_first);
}

static bool make_side(const struct pairing *pairing, struct side *side, const gordian_graph *graph)
{
    size_t n = graph->state_count;
    side->graph = graph;
    side->label_of = memory_alloc(&pairing->memory, graph->labels.count * sizeof(uint32_t));
    side->colour = memory_zeroed(&pairing->memory, n * sizeof(uint32_t));
    side->mark = memory_alloc(&pairing->memory, n * sizeof(uint64_t));
    side->into = memory_alloc(&pairing->memory, graph->arc_count * sizeof *side->into);
    side->into_first = memory_zeroed(&pairing->memory, (n + 2) * sizeof(size_t));
    if (!side->label_of || !side->colour || !side->mark || !side->into || !side->into_first)
        return false;
    size_t *next = side->into_first + 1; /* shifted by one: ends up as the starts */
    for (size_t i = 0; i < graph->arc_count; i++)
        next[graph->arcs[i].to + 1]++;
    for (size_t s = 1; s <= n; s++)
        next[s] += next[s - 1];
    for (uint32_t s = 0; s < n; s++)
        for (size_t i = graph->first[s]; i < graph->first[s + 1]; i++)
            side->into[next[graph->arcs[i].to]++] = (gordian_graph_arc){graph->arcs[i].label, s};
    for (size_t i = 0; i < graph->initial_count; i++)
        side->colour[graph->initial[i]] = 1;
    return true;
}

/* The right side's labels in the left side's numbers; what the left does not know gets numbers
 * beyond. */
static void align_labels(struct pairing *pairing)
{
    const struct label_table *left = &pairing->sides[0].graph->labels;
    const struct label_table *right = &pairing->sides[1].graph->labels;
    for (uint32_t i = 0; i < left->count; i++)
        pairing->sides[0].label_of[i] = i;
    for (uint32_t i = 0; i < right->count; i++) {
        const char *text = labels_text(right, i);
        uint32_t same = labels_find(left, text, strlen(text));
        pairing->sides[1].label_of[i] = same == GORDIAN_NONE ? left->count + i : same;
    }
}

gordian_status graph_isomorphic(const gordian_graph *left, const gordian_graph *right, bool *same,
                                gordian_error *error)
{
    struct pairing pairing = {.memory = left->memory, .states = left->state_count, .error = error};
    *same = false;
    if (left->state_count != right->state_count || left->arc_count != right->arc_count ||
        left->initial_count != right->initial_count)
        return GORDIAN_OK;
    pairing.sorted = memory_alloc(&pairing.memory, 2 * (size_t)pairing.states * sizeof(uint64_t));
    bool made = pairing.sorted && make_side(&pairing, &pairing.sides[0], left) &&
                make_side(&pairing, &pairing.sides[1], right);
    gordian_status status = made ? GORDIAN_OK : fail_memory(error);
    if (made) {
        align_labels(&pairing);
        status = search(&pairing, same);
    }
    free_side(&pairing, &pairing.sides[0]);
    free_side(&pairing, &pairing.sides[1]);
    memory_free(&pairing.memory, pairing.sorted);
    return status;
}
