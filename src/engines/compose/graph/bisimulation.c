/*
 * Strong bisimulation by partition refinement in O(m log n), after Paige and Tarjan, with labels.
 *
 * States are in blocks. Arcs are in slices, one for every (label, target block). Slices are in
 * bunches. The blocks are stable with respect to every bunch: within a block, either all states
 * have an arc of the bunch or none has. Initially there is one bunch per label.
 *
 * A bunch of several slices is split: the smaller of its first and last slice becomes a bunch.
 * Every block with arcs in it is then split by whether a state has arcs in the new bunch, in the
 * rest, or in both. A counter for every pair of state and bunch has the number of its arcs. When a
 * block is split, the arcs into its smaller half get their own slices. Each time an arc is
 * processed, its set has at most half of its previous size.
 *
 * Blocks, slices and bunches are intervals of two arrays, so splitting is done by swapping.
 */
#include "engines/compose/graph/graph.h"
#include "foundation/base/error.h"

#include <stdlib.h>
#include <string.h>

struct interval {
    size_t begin, end;
    size_t marked;  /* begin .. marked-1 are marked */
    uint32_t bunch; /* of a slice */
    bool touched;
};

struct sets {
    struct interval *list;
    size_t count, room;
    size_t *element; /* the members, interval by interval */
    size_t *place;   /* index of a member in `element` */
    uint32_t *of;    /* its interval */
};

struct bunch {
    size_t begin, end;
    bool waiting;
};

struct refining {
    gordian_allocator memory;
    const gordian_graph *graph;
    uint32_t *source;          /* of every arc */
    size_t *into, *into_first; /* arcs into a state */
    struct sets blocks, slices;
    struct bunch *bunches;
    size_t bunch_count, bunch_room;
    uint32_t *waiting; /* bunches of several slices */
    size_t waiting_count, waiting_room;
    uint32_t *touched; /* blocks, then slices */
    size_t touched_count, touched_room;

    size_t *counter_of; /* by arc */
    size_t *counters;   /* number of arcs of a state in a bunch */
    size_t *free_counters;
    size_t free_count, counter_count;
    size_t *taken; /* by state: its counter in the new bunch, from 1; 0: none */
};

/* ------------------------------------------------------------------ intervals */

static bool sets_open(struct sets *sets, const gordian_allocator *memory, size_t members)
{
    sets->element = memory_alloc(memory, members * sizeof(size_t));
    sets->place = memory_alloc(memory, members * sizeof(size_t));
    sets->of = memory_zeroed(memory, members * sizeof(uint32_t));
    if (!sets->element || !sets->place || !sets->of)
        return false;
    for (size_t i = 0; i < members; i++)
        sets->element[i] = sets->place[i] = i;
    return true;
}

static void sets_close(struct sets *sets, const gordian_allocator *memory)
{
    memory_free_all(memory, sets->list, sets->element, sets->place, sets->of);
}

static bool new_interval(struct sets *sets, const gordian_allocator *memory, size_t begin,
                         size_t end, uint32_t bunch)
{
    if (!memory_extend(memory, sets->list, sets->room, sets->count))
        return false;
    sets->list[sets->count] = (struct interval){begin, end, begin, bunch, false};
    for (size_t i = begin; i < end; i++)
        sets->of[sets->element[i]] = (uint32_t)sets->count;
    sets->count++;
    return true;
}

/* Marks a member. Marked members come first. Marking twice has no effect. */
static void mark_member(struct sets *sets, size_t member)
{
    struct interval *interval = &sets->list[sets->of[member]];
    size_t place = sets->place[member], to = interval->marked;
    if (place < to)
        return;
    size_t other = sets->element[to];
    sets->element[place] = other;
    sets->place[other] = place;
    sets->element[to] = member;
    sets->place[member] = to;
    interval->marked++;
}

/* Queues an interval for splitting. */
static bool touch_interval(struct refining *refining, struct sets *sets, uint32_t interval)
{
    if (sets->list[interval].touched)
        return true;
    if (!memory_extend(&refining->memory, refining->touched, refining->touched_room,
                       refining->touched_count))
        return false;
    sets->list[interval].touched = true;
    refining->touched[refining->touched_count++] = interval;
    return true;
}

/* Splits the marked members from the others if there are both. The smaller half becomes a new
 * interval at the end of the list. */
static bool split_set(struct sets *sets, const gordian_allocator *memory, uint32_t number,
                      bool *done)
{
    struct interval *interval = &sets->list[number];
    size_t begin = interval->begin, middle = interval->marked, end = interval->end;
    interval->marked = begin;
    *done = middle > begin && middle < end;
    if (!*done)
        return true;
    bool first = middle - begin <= end - middle;
    uint32_t bunch = interval->bunch;
    if (!new_interval(sets, memory, first ? begin : middle, first ? middle : end, bunch))
        return false;
    interval = &sets->list[number];
    if (first)
        interval->begin = interval->marked = middle;
    else
        interval->end = middle;
    return true;
}

/* ------------------------------------------------------------------ arcs between blocks */

static bool queue_bunch(struct refining *refining, uint32_t bunch)
{
    struct bunch *waiting = &refining->bunches[bunch];
    const struct sets *slices = &refining->slices;
    if (waiting->waiting || slices->of[slices->element[waiting->begin]] ==
                                slices->of[slices->element[waiting->end - 1]])
        return true;
    if (!memory_extend(&refining->memory, refining->waiting, refining->waiting_room,
                       refining->waiting_count))
        return false;
    waiting->waiting = true;
    refining->waiting[refining->waiting_count++] = bunch;
    return true;
}

/* Moves the arcs into a new block to slices of their own. */
static bool slice_arcs(struct refining *refining, uint32_t block)
{
    struct interval members = refining->blocks.list[block];
    struct sets *slices = &refining->slices;
    size_t start = refining->touched_count;
    for (size_t i = members.begin; i < members.end; i++) {
        size_t state = refining->blocks.element[i];
        for (size_t k = refining->into_first[state]; k < refining->into_first[state + 1]; k++) {
            size_t arc = refining->into[k];
            if (!touch_interval(refining, slices, slices->of[arc]))
                return false;
            mark_member(slices, arc);
        }
    }
    while (refining->touched_count > start) {
        uint32_t slice = refining->touched[--refining->touched_count];
        bool done;
        slices->list[slice].touched = false;
        if (!split_set(slices, &refining->memory, slice, &done) ||
            (done && !queue_bunch(refining, slices->list[slice].bunch)))
            return false;
    }
    return true;
}

/* Splits the marked states of a block from the others. *other: the new block; NONE: there was no
 * split. With `arcs`, the slices are split as well. */
static bool split_block(struct refining *refining, uint32_t block, bool arcs, uint32_t *other)
{
    bool done;
    *other = GORDIAN_NONE;
    if (!split_set(&refining->blocks, &refining->memory, block, &done))
        return false;
    if (!done)
        return true;
    *other = (uint32_t)refining->blocks.count - 1;
    return !arcs || slice_arcs(refining, *other);
}

/* ------------------------------------------------------------------ one bunch */

/* Splits off the smaller of the first and the last slice. */
static bool split_bunch(struct refining *refining, uint32_t number, size_t *begin, size_t *end)
{
    struct sets *slices = &refining->slices;
    struct bunch *bunch = &refining->bunches[number];
    uint32_t one = slices->of[slices->element[bunch->begin]];
    uint32_t other = slices->of[slices->element[bunch->end - 1]];
    size_t sizes[2] = {slices->list[one].end - slices->list[one].begin,
                       slices->list[other].end - slices->list[other].begin};
    uint32_t small = sizes[0] <= sizes[1] ? one : other;
    if (!memory_extend(&refining->memory, refining->bunches, refining->bunch_room,
                       refining->bunch_count))
        return false;
    bunch = &refining->bunches[number];
    *begin = slices->list[small].begin;
    *end = slices->list[small].end;
    if (small == one)
        bunch->begin = *end;
    else
        bunch->end = *begin;
    slices->list[small].bunch = (uint32_t)refining->bunch_count;
    refining->bunches[refining->bunch_count++] = (struct bunch){*begin, *end, false};
    return queue_bunch(refining, number);
}

/* Moves the arcs begin .. end-1, which form the new bunch, to new counters and marks their source
 * states. rest[s]: number of arcs of such a state in the rest of the bunch. */
static bool count_arcs(struct refining *refining, size_t begin, size_t end, size_t *rest)
{
    struct sets *blocks = &refining->blocks;
    for (size_t i = begin; i < end; i++) {
        size_t arc = refining->slices.element[i];
        uint32_t state = refining->source[arc];
        size_t old = refining->counter_of[arc];
        if (refining->taken[state] == 0) {
            size_t fresh = refining->free_count > 0
                               ? refining->free_counters[--refining->free_count]
                               : refining->counter_count++;
            refining->counters[fresh] = 0;
            refining->taken[state] = fresh + 1;
            if (!touch_interval(refining, blocks, blocks->of[state]))
                return false;
            mark_member(blocks, state);
        }
        size_t mine = refining->taken[state] - 1;
        refining->counters[mine]++;
        refining->counter_of[arc] = mine;
        rest[state] = --refining->counters[old];
        if (rest[state] == 0)
            refining->free_counters[refining->free_count++] = old;
    }
    for (size_t i = begin; i < end; i++)
        refining->taken[refining->source[refining->slices.element[i]]] = 0;
    return true;
}

/* Splits a block into up to three: states with arcs only in the new bunch, only in the rest, in
 * both. */
static bool split_in_three(struct refining *refining, uint32_t block, const size_t *rest, bool arcs)
{
    struct sets *blocks = &refining->blocks;
    uint32_t other, with = block;
    size_t begin = blocks->list[block].begin, middle = blocks->list[block].marked;
    bool all = middle == blocks->list[block].end;
    if (!split_block(refining, block, arcs, &other))
        return false;
    if (!rest)
        return true;
    if (!all)
        with = blocks->of[blocks->element[begin]];
    for (size_t i = begin; i < middle; i++) /* marking swaps only members before i */
        if (rest[blocks->element[i]] == 0)
            mark_member(blocks, blocks->element[i]);
    return split_block(refining, with, arcs, &other);
}

static bool split_touched(struct refining *refining, const size_t *rest, bool arcs)
{
    /* slice_arcs uses the end of the same list and restores it */
    for (size_t i = 0; i < refining->touched_count; i++) {
        uint32_t block = refining->touched[i];
        refining->blocks.list[block].touched = false;
        if (!split_in_three(refining, block, rest, arcs))
            return false;
    }
    refining->touched_count = 0;
    return true;
}

/* ------------------------------------------------------------------ begin and end */

static const gordian_graph_arc *arc_at(const struct refining *refining, size_t i)
{
    return &refining->graph->arcs[refining->slices.element[i]];
}

/* Sorts the arcs stably by target block, or by label if `block_of` is NULL. There are `keys`
 * keys. */
static void sort_arcs(struct refining *refining, const uint32_t *block_of, size_t keys,
                      size_t *start, size_t *sorted)
{
    size_t count = refining->graph->arc_count;
    memset(start, 0, (keys + 1) * sizeof *start);
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < count; i++) {
            const gordian_graph_arc *arc = arc_at(refining, i);
            uint32_t key = block_of ? block_of[arc->to] : arc->label;
            if (pass == 0)
                start[key + 1]++;
            else
                sorted[start[key]++] = refining->slices.element[i];
        }
        for (size_t k = 0; k < keys && pass == 0; k++)
            start[k + 1] += start[k];
    }
    memcpy(refining->slices.element, sorted, count * sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        refining->slices.place[sorted[i]] = i;
}

/* Makes a bunch for every label and a counter for every state and label, and splits blocks by the
 * labels of their states. The arcs are sorted by label. */
static bool start_bunches(struct refining *refining)
{
    size_t count = refining->graph->arc_count;
    for (size_t begin = 0, end; begin < count; begin = end) {
        uint32_t label = arc_at(refining, begin)->label;
        for (end = begin; end < count && arc_at(refining, end)->label == label; end++) {
            size_t arc = refining->slices.element[end];
            uint32_t state = refining->source[arc];
            if (refining->taken[state] == 0) {
                refining->counters[refining->counter_count] = 0;
                refining->taken[state] = ++refining->counter_count;
                if (!touch_interval(refining, &refining->blocks, refining->blocks.of[state]))
                    return false;
                mark_member(&refining->blocks, state);
            }
            refining->counter_of[arc] = refining->taken[state] - 1;
            refining->counters[refining->taken[state] - 1]++;
        }
        for (size_t i = begin; i < end; i++)
            refining->taken[refining->source[refining->slices.element[i]]] = 0;
        if (!memory_extend(&refining->memory, refining->bunches, refining->bunch_room,
                           refining->bunch_count))
            return false;
        refining->bunches[refining->bunch_count++] = (struct bunch){begin, end, false};
        if (!split_touched(refining, NULL, false))
            return false;
    }
    return true;
}

static bool start_refining(struct refining *refining, size_t *scratch, size_t *keys)
{
    const gordian_graph *graph = refining->graph;
    if (!new_interval(&refining->blocks, &refining->memory, 0, graph->state_count, 0))
        return false;
    sort_arcs(refining, NULL, graph->labels.count, keys, scratch);
    if (!start_bunches(refining))
        return false;
    sort_arcs(refining, refining->blocks.of, refining->blocks.count, keys, scratch);
    sort_arcs(refining, NULL, graph->labels.count, keys, scratch);
    /* The first slices: the arcs are sorted by label and block. */
    const uint32_t *block_of = refining->blocks.of;
    for (uint32_t b = 0; b < refining->bunch_count; b++) {
        size_t end = refining->bunches[b].end, to;
        for (size_t begin = refining->bunches[b].begin; begin < end; begin = to) {
            to = begin + 1;
            while (to < end &&
                   block_of[arc_at(refining, to)->to] == block_of[arc_at(refining, begin)->to])
                to++;
            if (!new_interval(&refining->slices, &refining->memory, begin, to, b))
                return false;
        }
        if (!queue_bunch(refining, b))
            return false;
    }
    return true;
}

static bool refine_blocks(struct refining *refining, size_t *rest)
{
    while (refining->waiting_count > 0) {
        uint32_t bunch = refining->waiting[--refining->waiting_count];
        size_t begin, end;
        refining->bunches[bunch].waiting = false;
        if (!split_bunch(refining, bunch, &begin, &end) ||
            !count_arcs(refining, begin, end, rest) || !split_touched(refining, rest, true))
            return false;
    }
    return true;
}

static bool allocate_refinement(struct refining *refining)
{
    const gordian_allocator *memory = &refining->memory;
    const gordian_graph *graph = refining->graph;
    size_t arcs = graph->arc_count, states = graph->state_count;
    refining->source = memory_alloc(memory, arcs * sizeof(uint32_t));
    refining->into = memory_alloc(memory, arcs * sizeof(size_t));
    refining->into_first = memory_zeroed(memory, (states + 2) * sizeof(size_t));
    refining->counter_of = memory_alloc(memory, arcs * sizeof(size_t));
    refining->counters = memory_alloc(memory, (arcs + 1) * sizeof(size_t));
    refining->free_counters = memory_alloc(memory, (arcs + 1) * sizeof(size_t));
    refining->taken = memory_zeroed(memory, states * sizeof(size_t));
    if (!refining->source || !refining->into || !refining->into_first || !refining->counter_of ||
        !refining->counters || !refining->free_counters || !refining->taken ||
        !sets_open(&refining->blocks, memory, states) ||
        !sets_open(&refining->slices, memory, arcs))
        return false;
    size_t *next = refining->into_first + 1; /* shifted by one: the counts become the starts */
    for (uint32_t s = 0; s < states; s++)
        for (size_t i = graph->first[s]; i < graph->first[s + 1]; i++)
            refining->source[i] = s;
    for (size_t i = 0; i < arcs; i++)
        next[graph->arcs[i].to + 1]++;
    for (size_t s = 1; s <= states; s++)
        next[s] += next[s - 1];
    for (size_t i = 0; i < arcs; i++)
        refining->into[next[graph->arcs[i].to]++] = i;
    return true;
}

gordian_status graph_classes(const gordian_graph *graph, uint32_t *class_of, uint32_t *class_count,
                             gordian_error *error)
{
    struct refining refining = {.memory = graph->memory, .graph = graph};
    const gordian_allocator *memory = &refining.memory;
    size_t states = graph->state_count, keys = graph->labels.count;
    keys = keys > states ? keys : states;
    size_t *scratch = memory_alloc(memory, graph->arc_count * sizeof *scratch);
    size_t *numbers = memory_alloc(memory, (keys + 2) * sizeof *numbers);
    size_t *rest = memory_alloc(memory, states * sizeof *rest);
    bool fine = scratch && numbers && rest && allocate_refinement(&refining) &&
                start_refining(&refining, scratch, numbers) && refine_blocks(&refining, rest);
    if (fine) {
        /* Numbers the blocks in the order of their smallest states. */
        uint32_t next = 0;
        memset(numbers, 0xff, refining.blocks.count * sizeof *numbers);
        for (uint32_t s = 0; s < refining.graph->state_count; s++) {
            size_t *mine = &numbers[refining.blocks.of[s]];
            if (*mine == SIZE_MAX)
                *mine = next++;
            class_of[s] = (uint32_t)*mine;
        }
        *class_count = next;
    }
    memory_free_all(memory, scratch, numbers, rest, refining.source, refining.into,
                    refining.into_first, refining.counter_of, refining.counters,
                    refining.free_counters, refining.taken, refining.bunches, refining.waiting,
                    refining.touched);
    sets_close(&refining.blocks, memory);
    sets_close(&refining.slices, memory);
    return fine ? GORDIAN_OK : fail_memory(error);
}

/* ------------------------------------------------------------------ the quotient */

/* Sets the number of reachable states to 0, of the others to NONE. */
static gordian_status mark_reachable(const gordian_graph *graph, uint32_t *number,
                                     gordian_error *error)
{
    uint32_t found = 0;
    uint32_t *queue = memory_alloc(&graph->memory, graph->state_count * sizeof *queue);
    if (!queue)
        return fail_memory(error);
    memset(number, 0xff, graph->state_count * sizeof *number);
    for (size_t i = 0; i < graph->initial_count; i++) {
        number[graph->initial[i]] = 0;
        queue[found++] = graph->initial[i];
    }
    for (uint32_t at = 0; at < found; at++) {
        for (size_t i = graph->first[queue[at]]; i < graph->first[queue[at] + 1]; i++) {
            uint32_t to = graph->arcs[i].to;
            if (number[to] == GORDIAN_NONE) {
                number[to] = 0;
                queue[found++] = to;
            }
        }
    }
    memory_free(&graph->memory, queue);
    return GORDIAN_OK;
}

/* Writes one state per class with a reachable member, represented by the smallest of these. */
static gordian_status write_quotient(gordian_graph *result, const gordian_graph *graph,
                                     const uint32_t *class_of, uint32_t *number, uint32_t *chosen,
                                     gordian_error *error)
{
    uint32_t next = 0;
    for (uint32_t s = 0; s < graph->state_count; s++) {
        if (number[s] == GORDIAN_NONE)
            continue;
        if (chosen[class_of[s]] == GORDIAN_NONE)
            chosen[class_of[s]] = next++;
        else
            number[s] = GORDIAN_NONE; /* another state represents the class */
    }
    for (uint32_t s = 0; s < graph->state_count; s++) {
        if (number[s] == GORDIAN_NONE)
            continue;
        TRY(graph_state(result, error));
        for (size_t i = graph->first[s]; i < graph->first[s + 1]; i++)
            TRY(graph_arc(result, graph->arcs[i].label, chosen[class_of[graph->arcs[i].to]],
                          error));
    }
    for (size_t i = 0; i < graph->initial_count; i++)
        TRY(graph_initial(result, chosen[class_of[graph->initial[i]]], error));
    return graph_finish(result, error);
}

gordian_status gordian_graph_minimise(gordian_graph **out, const gordian_graph *graph,
                                      gordian_error *error)
{
    gordian_graph *result = NULL;
    size_t size = graph->state_count * sizeof(uint32_t);
    uint32_t *class_of = memory_alloc(&graph->memory, size), class_count = 0;
    uint32_t *number = memory_alloc(&graph->memory, size);
    uint32_t *chosen = memory_alloc(&graph->memory, size);
    gordian_status status = class_of && number && chosen ? GORDIAN_OK : fail_memory(error);
    THEN(status, graph_classes(graph, class_of, &class_count, error));
    THEN(status, mark_reachable(graph, number, error));
    THEN(status, graph_new(&result, &graph->memory, error));
    THEN(status, labels_copy(&result->labels, &graph->labels, NULL, error));
    if (status == GORDIAN_OK) {
        memset(chosen, 0xff, class_count * sizeof *chosen);
        status = write_quotient(result, graph, class_of, number, chosen, error);
    }
    memory_free_all(&graph->memory, class_of, number, chosen);
    if (status == GORDIAN_OK) {
        result->incomplete = graph->incomplete;
    } else {
        gordian_graph_close(result);
        result = NULL;
    }
    *out = result;
    return status;
}
