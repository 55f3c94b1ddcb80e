/* Compares two graphs by strong bisimulation, and finds a difference if they are not equal. */
#include "engines/compose/graph/graph.h"
#include "foundation/base/error.h"
#include "foundation/base/sort.h"

#include <stdlib.h>
#include <string.h>

void gordian_difference_free(gordian_difference *difference)
{
    for (size_t i = 0; difference->labels && i < difference->count; i++)
        memory_free(&difference->allocator, difference->labels[i]);
    memory_free_all(&difference->allocator, difference->labels, difference->by_left);
    *difference = (gordian_difference){.allocator = difference->allocator};
}

/* Appends a graph to the union. Its states are numbered from `offset` on. */
static gordian_status append_graph(gordian_graph *both, const gordian_graph *graph, uint32_t offset,
                                   gordian_error *error)
{
    uint32_t *new_of = memory_alloc(&both->memory, graph->labels.count * sizeof *new_of);
    gordian_status status = new_of ? GORDIAN_OK : fail_memory(error);
    THEN(status, labels_copy(&both->labels, &graph->labels, new_of, error));
    for (uint32_t s = 0; s < graph->state_count && status == GORDIAN_OK; s++) {
        status = graph_state(both, error);
        for (size_t i = graph->first[s]; i < graph->first[s + 1] && status == GORDIAN_OK; i++)
            status =
                graph_arc(both, new_of[graph->arcs[i].label], offset + graph->arcs[i].to, error);
    }
    for (size_t i = 0; i < graph->initial_count && status == GORDIAN_OK; i++)
        status = graph_initial(both, offset + graph->initial[i], error);
    memory_free(&both->memory, new_of);
    return status;
}

/* The disjoint union of both graphs. The first left->initial_count initial states belong to `left`.
 */
static gordian_status unite_graphs(gordian_graph **out, const gordian_graph *left,
                                   const gordian_graph *right, gordian_error *error)
{
    *out = NULL;
    if (left->state_count > GRAPH_STATES_MAX - right->state_count)
        return fail(error, GORDIAN_STATUS_MEMORY,
                    "the two have too many states for a graph in memory");
    gordian_status status = graph_new(out, &left->memory, error);
    THEN(status, append_graph(*out, left, 0, error));
    THEN(status, append_graph(*out, right, left->state_count, error));
    THEN(status, graph_finish(*out, error));
    if (status != GORDIAN_OK) {
        gordian_graph_close(*out);
        *out = NULL;
    }
    return status;
}

/* ------------------------------------------------------------------ distinguishing states */

/* Partitions by the number of rounds of the bisimulation game: two states are in the same class of
 * round k if no k steps distinguish them. */
struct rounds {
    const gordian_graph *graph; /* the quotient of the union, which is small */
    uint32_t **classes;         /* by round, then by state */
    size_t count, room;
    struct mark *marks;
};

/* The signature of a state in a round: its arcs with the classes of their targets, sorted, without
 * duplicates. */
struct mark {
    uint32_t state, own;
    size_t count;
    uint64_t *shows;
};

static int compare_marks(const void *left, const void *right)
{
    const struct mark *a = left, *b = right;
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (size_t i = 0; i < a->count; i++)
        if (a->shows[i] != b->shows[i])
            return a->shows[i] < b->shows[i] ? -1 : 1;
    return 0;
}

/* Computes the next round. `shows`: buffer with one number per arc. */
static bool next_round(struct rounds *rounds, uint64_t *shows)
{
    const gordian_graph *graph = rounds->graph;
    const gordian_allocator *memory = &graph->memory;
    const uint32_t *before = rounds->classes[rounds->count - 1];
    if (!memory_extend(memory, rounds->classes, rounds->room, rounds->count))
        return false;
    uint32_t *now = memory_alloc(memory, graph->state_count * sizeof *now);
    if (!now)
        return false;
    for (uint32_t s = 0; s < graph->state_count; s++) {
        uint64_t *mine = shows + graph->first[s];
        size_t count = 0, kept = 0;
        for (size_t i = graph->first[s]; i < graph->first[s + 1]; i++)
            mine[count++] = (uint64_t)graph->arcs[i].label << 32 | before[graph->arcs[i].to];
        sort_words(mine, count, 1);
        for (size_t i = 0; i < count; i++)
            if (i == 0 || mine[i] != mine[i - 1])
                mine[kept++] = mine[i];
        rounds->marks[s] = (struct mark){s, before[s], kept, mine};
    }
    qsort(rounds->marks, graph->state_count, sizeof *rounds->marks, compare_marks);
    uint32_t class = 0;
    for (uint32_t i = 0; i < graph->state_count; i++) {
        class += i > 0 && compare_marks(&rounds->marks[i - 1], &rounds->marks[i]) != 0;
        now[rounds->marks[i].state] = class;
    }
    rounds->classes[rounds->count++] = now;
    return true;
}

/* The number of rounds after which two states can be distinguished. If this equals the number of
 * rounds, they cannot. */
static size_t distinguishing_round(const struct rounds *rounds, uint32_t left, uint32_t right)
{
    size_t round = 0;
    while (round < rounds->count && rounds->classes[round][left] == rounds->classes[round][right])
        round++;
    return round;
}

/* Finds the best answer to an arc: a step with the same label whose target takes the most rounds to
 * distinguish. NONE: there is no such step. */
static uint32_t best_answer(const struct rounds *rounds, const gordian_graph_arc *arc,
                            uint32_t state, size_t *round)
{
    const gordian_graph *graph = rounds->graph;
    uint32_t best = GORDIAN_NONE;
    *round = 0;
    for (size_t i = graph->first[state]; i < graph->first[state + 1]; i++) {
        if (graph->arcs[i].label != arc->label)
            continue;
        size_t mine = graph->arcs[i].to == arc->to
                          ? SIZE_MAX
                          : distinguishing_round(rounds, arc->to, graph->arcs[i].to);
        if (best == GORDIAN_NONE || mine > *round) {
            best = graph->arcs[i].to;
            *round = mine;
        }
    }
    return best;
}

/* Finds the attack that needs the fewest rounds: an arc of one of the two states. Returns the
 * answer of the other state. */
static uint32_t best_attack(const struct rounds *rounds, const uint32_t pair[2], int *side,
                            const gordian_graph_arc **arc)
{
    const gordian_graph *graph = rounds->graph;
    size_t fewest = SIZE_MAX;
    uint32_t answer = GORDIAN_NONE;
    for (int s = 0; s < 2; s++) {
        for (size_t i = graph->first[pair[s]]; i < graph->first[pair[s] + 1]; i++) {
            size_t round;
            uint32_t mine = best_answer(rounds, &graph->arcs[i], pair[1 - s], &round);
            size_t needed = mine == GORDIAN_NONE ? 0 : round;
            if (needed == SIZE_MAX || needed >= fewest)
                continue;
            fewest = needed;
            *side = s;
            *arc = &graph->arcs[i];
            answer = mine;
        }
    }
    return answer;
}

/* Plays the game from two different states until one cannot answer. `left_first`: `one` belongs to
 * the left graph. */
static gordian_status play_game(const struct rounds *rounds, uint32_t one, uint32_t other,
                                bool left_first, gordian_difference *difference,
                                gordian_error *error)
{
    uint32_t pair[2] = {one, other};
    size_t room = 0, side_room = 0;
    while (pair[1] != GORDIAN_NONE && pair[0] != GORDIAN_NONE) {
        const gordian_graph_arc *arc = NULL;
        int side = 0;
        uint32_t answer = best_attack(rounds, pair, &side, &arc);
        const char *text = labels_text(&rounds->graph->labels, arc->label);
        bool by_left = (side == 0) == left_first;
        const gordian_allocator *memory = &difference->allocator;
        char *copy = memory_copy_text(memory, text);
        if (!copy ||
            !memory_grow(memory, &difference->labels, &room, difference->count + 1,
                         sizeof *difference->labels) ||
            !memory_grow(memory, &difference->by_left, &side_room, difference->count + 1,
                         sizeof *difference->by_left)) {
            memory_free(memory, copy);
            return fail_memory(error);
        }
        difference->labels[difference->count] = copy;
        difference->by_left[difference->count++] = by_left;
        pair[side] = arc->to;
        pair[1 - side] = answer;
    }
    return GORDIAN_OK;
}

/* Does the last round distinguish `one` from all others? */
static bool is_distinguished(const struct rounds *rounds, uint32_t one, const uint32_t *others,
                             size_t count, const uint32_t *number)
{
    const uint32_t *last = rounds->classes[rounds->count - 1];
    for (size_t i = 0; i < count; i++)
        if (last[number[others[i]]] == last[one])
            return false;
    return true;
}

/* `one` is not bisimilar to any of `others`: plays against the state that takes the most rounds. */
static gordian_status distinguish_states(const gordian_graph *both, uint32_t one,
                                         const uint32_t *others, size_t count,
                                         const uint32_t *number, bool left_first,
                                         gordian_difference *difference, gordian_error *error)
{
    struct rounds rounds = {.graph = both};
    /* Computes rounds until `one` differs from all others. This ends because the graph is
     * minimal. */
    const gordian_graph *graph = rounds.graph;
    const gordian_allocator *memory = &graph->memory;
    uint64_t *shows = memory_alloc(memory, graph->arc_count * sizeof *shows);
    rounds.marks = memory_alloc(memory, graph->state_count * sizeof *rounds.marks);
    bool fine = shows && rounds.marks &&
                memory_grow(memory, &rounds.classes, &rounds.room, 1, sizeof *rounds.classes);
    if (fine) {
        rounds.classes[0] = memory_zeroed(memory, graph->state_count * sizeof(uint32_t));
        rounds.count = rounds.classes[0] != NULL;
        fine = rounds.count;
    }
    while (fine && !is_distinguished(&rounds, one, others, count, number))
        fine = next_round(&rounds, shows);
    memory_free(memory, shows);
    gordian_status status = fine ? GORDIAN_OK : fail_memory(error);
    if (status == GORDIAN_OK && count > 0) {
        uint32_t best = number[others[0]];
        for (size_t i = 1; i < count; i++)
            if (distinguishing_round(&rounds, one, number[others[i]]) >
                distinguishing_round(&rounds, one, best))
                best = number[others[i]];
        status = play_game(&rounds, one, best, left_first, difference, error);
    }
    for (size_t i = 0; i < rounds.count; i++)
        memory_free(&both->memory, rounds.classes[i]);
    memory_free(&both->memory, rounds.classes);
    memory_free(&both->memory, rounds.marks);
    return status;
}

/* ------------------------------------------------------------------ equality */

/* Returns the index of the first initial state without a bisimilar one on the other side; `count`:
 * there is none. `met`: buffer with one element per class. */
static size_t first_unmatched(const uint32_t *ones, size_t count, const uint32_t *others,
                              size_t other_count, const uint32_t *class_of, uint32_t class_count,
                              bool *met)
{
    size_t at = 0;
    memset(met, 0, class_count * sizeof *met);
    for (size_t k = 0; k < other_count; k++)
        met[class_of[others[k]]] = true;
    while (at < count && met[class_of[ones[at]]])
        at++;
    return at;
}

/* The quotient of the union, including unreachable states: class c is state c. */
static gordian_status quotient_graph(gordian_graph **out, const gordian_graph *both,
                                     const uint32_t *class_of, gordian_error *error)
{
    TRY(graph_new(out, &both->memory, error));
    TRY(labels_copy(&(*out)->labels, &both->labels, NULL, error));
    for (uint32_t s = 0; s < both->state_count; s++) {
        if (class_of[s] != (*out)->state_count)
            continue; /* classes are numbered by their smallest states */
        TRY(graph_state(*out, error));
        for (size_t i = both->first[s]; i < both->first[s + 1]; i++)
            TRY(graph_arc(*out, both->arcs[i].label, class_of[both->arcs[i].to], error));
    }
    TRY(graph_initial(*out, 0, error));
    return graph_finish(*out, error);
}

static gordian_status compare_initial(const gordian_graph *both, size_t left_count,
                                      const uint32_t *class_of, uint32_t class_count, bool *equal,
                                      gordian_difference *difference, gordian_error *error)
{
    const uint32_t *left = both->initial, *right = both->initial + left_count;
    size_t right_count = both->initial_count - left_count;
    bool *met = memory_alloc(&both->memory, class_count * sizeof *met);
    if (!met)
        return fail_memory(error);
    size_t at = first_unmatched(left, left_count, right, right_count, class_of, class_count, met);
    size_t other =
        first_unmatched(right, right_count, left, left_count, class_of, class_count, met);
    gordian_graph *classes = NULL;
    memory_free(&both->memory, met);
    *equal = at == left_count && other == right_count;
    if (*equal || !difference)
        return GORDIAN_OK;
    bool by_left = at < left_count;
    gordian_status status = quotient_graph(&classes, both, class_of, error);
    THEN(status, by_left ? distinguish_states(classes, class_of[left[at]], right, right_count,
                                              class_of, true, difference, error)
                         : distinguish_states(classes, class_of[right[other]], left, left_count,
                                              class_of, false, difference, error));
    gordian_graph_close(classes);
    return status;
}

gordian_status gordian_graph_equal(const gordian_graph *left, const gordian_graph *right,
                                   bool *equal, gordian_difference *difference,
                                   gordian_error *error)
{
    gordian_graph *both;
    uint32_t *class_of = NULL, class_count;
    if (difference)
        *difference = (gordian_difference){.allocator = left->memory};
    TRY(unite_graphs(&both, left, right, error));
    class_of = memory_alloc(&both->memory, both->state_count * sizeof *class_of);
    gordian_status status =
        class_of ? graph_classes(both, class_of, &class_count, error) : fail_memory(error);
    THEN(status, compare_initial(both, left->initial_count, class_of, class_count, equal,
                                 difference, error));
    memory_free(&both->memory, class_of);
    gordian_graph_close(both);
    if (status != GORDIAN_OK && difference)
        gordian_difference_free(difference);
    return status;
}
