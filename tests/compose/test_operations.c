/* Hiding, minimisation, equality and livelock against definitions written down once more, as
 * plainly as can be, on random graphs and on products. */
#include "random_circuit.h"

#include "engines/compose/engine/engine.h"
#include "engines/compose/graph/graph.h"

/* ------------------------------------------------------------------ random graphs */

static bool hides_capitals(void *context, const char *name, size_t length)
{
    (void)context;
    (void)length;
    return name[0] >= 'A' && name[0] <= 'Z';
}

static const gordian_hiding capitals = {hides_capitals, NULL};

/* Labels of one to three names, some of them capital, and tau. */
static gordian_graph *random_graph(struct random *random, uint32_t states, bool deterministic)
{
    static const char *const texts[] = {"tau", "A",   "A|B", "B|x",    "x",
                                        "A|x", "x|y", "y",   "x=1|y=0"};
    gordian_graph *graph = new_graph();
    uint32_t labels = 1 + (uint32_t)random_below(random, 9);
    unsigned density = 1 + (unsigned)random_below(random, 3);
    for (uint32_t s = 0; s < states; s++) {
        bool used[9] = {false};
        REQUIRE(graph_state(graph, NULL) == GORDIAN_OK);
        for (size_t arcs = random_below(random, 2 * density); arcs > 0; arcs--) {
            uint32_t which = (uint32_t)random_below(random, labels);
            if (deterministic && used[which])
                continue;
            used[which] = true;
            put_arc(graph, texts[which], (uint32_t)random_below(random, states));
        }
    }
    REQUIRE(graph_initial(graph, 0, NULL) == GORDIAN_OK);
    if (!deterministic && random_chance(random, 20))
        REQUIRE(graph_initial(graph, (uint32_t)random_below(random, states), NULL) == GORDIAN_OK);
    REQUIRE(graph_finish(graph, NULL) == GORDIAN_OK);
    return graph;
}

/* ------------------------------------------------------------------ hiding, once more */

/* The label without names that begin with a capital; false: nothing is left. */
static bool visible(const char *label, char *text)
{
    char copy[200], *rest = copy;
    text[0] = '\0';
    strcpy(copy, label);
    if (strcmp(copy, "tau") == 0)
        return false;
    for (char *name = strtok_r(copy, "|", &rest); name; name = strtok_r(NULL, "|", &rest)) {
        if (name[0] >= 'A' && name[0] <= 'Z')
            continue;
        if (text[0])
            strcat(text, "|");
        strcat(text, name);
    }
    return text[0] != '\0';
}

/* after[q * n + p]: p can be reached from q by hidden steps. */
static bool *hidden_closure(const gordian_graph *graph, bool reflexive)
{
    uint32_t n = graph->state_count;
    char text[200];
    bool *after = calloc((size_t)n * n, 1);
    for (uint32_t s = 0; s < n; s++) {
        after[s * n + s] = reflexive;
        for (size_t i = graph->first[s]; i < graph->first[s + 1]; i++)
            if (!visible(labels_text(&graph->labels, graph->arcs[i].label), text))
                after[s * n + graph->arcs[i].to] = true;
    }
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; j < n; j++)
                after[i * n + j] |= after[i * n + k] && after[k * n + j];
    return after;
}

static gordian_graph *hide_plainly(const gordian_graph *graph)
{
    uint32_t n = graph->state_count, next = 0;
    bool *after = hidden_closure(graph, true);
    bool *kept = calloc(n, 1);
    uint32_t *number = calloc(n, sizeof *number);
    gordian_graph *whole = new_graph(), *result = new_graph();
    char text[200];
    for (uint32_t q = 0; q < n; q++) {
        REQUIRE(graph_state(whole, NULL) == GORDIAN_OK);
        for (uint32_t p = 0; p < n; p++) {
            for (size_t i = graph->first[p]; after[q * n + p] && i < graph->first[p + 1]; i++) {
                if (visible(labels_text(&graph->labels, graph->arcs[i].label), text))
                    put_arc(whole, text, graph->arcs[i].to);
            }
        }
    }
    for (size_t i = 0; i < graph->initial_count; i++)
        for (uint32_t p = 0; p < n; p++)
            kept[p] |= after[graph->initial[i] * n + p];
    bool *initial = malloc(n);
    memcpy(initial, kept, n);
    for (bool grown = true; grown;) {
        grown = false;
        for (uint32_t q = 0; q < n; q++)
            for (size_t i = whole->first[q]; kept[q] && i < whole->first[q + 1]; i++) {
                grown |= !kept[whole->arcs[i].to];
                kept[whole->arcs[i].to] = true;
            }
    }
    for (uint32_t q = 0; q < n; q++)
        number[q] = kept[q] ? next++ : GORDIAN_NONE;
    for (uint32_t q = 0; q < n; q++) {
        if (!kept[q])
            continue;
        REQUIRE(graph_state(result, NULL) == GORDIAN_OK);
        for (size_t i = whole->first[q]; i < whole->first[q + 1]; i++) {
            put_arc(result, labels_text(&whole->labels, whole->arcs[i].label),
                    number[whole->arcs[i].to]);
        }
    }
    for (uint32_t q = 0; q < n; q++)
        if (initial[q])
            REQUIRE(graph_initial(result, number[q], NULL) == GORDIAN_OK);
    REQUIRE(graph_finish(result, NULL) == GORDIAN_OK);
    gordian_graph_close(whole);
    free(after);
    free(kept);
    free(initial);
    free(number);
    return result;
}

/* ------------------------------------------------------------------ bisimilarity, once more */

static bool answers(const gordian_graph *graph, const bool *alike, uint32_t one, uint32_t other)
{
    uint32_t n = graph->state_count;
    for (size_t i = graph->first[one]; i < graph->first[one + 1]; i++) {
        bool found = false;
        for (size_t k = graph->first[other]; k < graph->first[other + 1] && !found; k++)
            found = graph->arcs[i].label == graph->arcs[k].label &&
                    alike[graph->arcs[i].to * n + graph->arcs[k].to];
        if (!found)
            return false;
    }
    return true;
}

/* The largest relation in which each step of one is answered by the other. */
static bool *bisimilar(const gordian_graph *graph)
{
    uint32_t n = graph->state_count;
    bool *alike = malloc((size_t)n * n);
    memset(alike, 1, (size_t)n * n);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < n; i++) {
            for (uint32_t j = 0; j < n; j++) {
                if (!alike[i * n + j] ||
                    (answers(graph, alike, i, j) && answers(graph, alike, j, i)))
                    continue;
                alike[i * n + j] = alike[j * n + i] = false;
                changed = true;
            }
        }
    }
    return alike;
}

static void check_classes(const gordian_graph *graph, unsigned long round)
{
    uint32_t n = graph->state_count, count = 0, different = 0;
    uint32_t *class_of = malloc(n * sizeof *class_of);
    bool *alike = bisimilar(graph);
    REQUIRE(graph_classes(graph, class_of, &count, NULL) == GORDIAN_OK);
    bool same = true;
    for (uint32_t i = 0; i < n; i++) {
        bool first = true;
        for (uint32_t j = 0; j < n; j++) {
            same &= alike[i * n + j] == (class_of[i] == class_of[j]);
            first &= j >= i || !alike[i * n + j];
        }
        same &= !first || class_of[i] == different; /* numbered by the smallest */
        different += first;
    }
    CHECK_MSG(same && count == different, "graph %lu: %u classes, not %u", round, count, different);
    free(alike);
    free(class_of);
}

static bool related(const bool *alike, uint32_t n, const uint32_t *ones, size_t count,
                    const uint32_t *others, size_t other_count)
{
    for (size_t i = 0; i < count; i++) {
        bool found = false;
        for (size_t k = 0; k < other_count; k++)
            found |= alike[ones[i] * n + others[k]];
        if (!found)
            return false;
    }
    return true;
}

/* Both graphs in one. */
static gordian_graph *side_by_side(const gordian_graph *left, const gordian_graph *right)
{
    gordian_graph *both = new_graph();
    for (int side = 0; side < 2; side++) {
        const gordian_graph *graph = side ? right : left;
        uint32_t offset = side ? left->state_count : 0;
        for (uint32_t s = 0; s < graph->state_count; s++) {
            REQUIRE(graph_state(both, NULL) == GORDIAN_OK);
            for (size_t i = graph->first[s]; i < graph->first[s + 1]; i++) {
                put_arc(both, labels_text(&graph->labels, graph->arcs[i].label),
                        offset + graph->arcs[i].to);
            }
        }
    }
    REQUIRE(graph_initial(both, 0, NULL) == GORDIAN_OK);
    REQUIRE(graph_finish(both, NULL) == GORDIAN_OK);
    return both;
}

static bool equal_plainly(const gordian_graph *left, const gordian_graph *right)
{
    gordian_graph *both = side_by_side(left, right);
    uint32_t n = both->state_count, *others = malloc(right->initial_count * sizeof *others);
    bool *alike = bisimilar(both);
    for (size_t i = 0; i < right->initial_count; i++)
        others[i] = left->state_count + right->initial[i];
    bool equal =
        related(alike, n, left->initial, left->initial_count, others, right->initial_count) &&
        related(alike, n, others, right->initial_count, left->initial, left->initial_count);
    free(alike);
    free(others);
    gordian_graph_close(both);
    return equal;
}

/* Can the graph take the first `count` steps? */
static bool has_trace(const gordian_graph *graph, const gordian_difference *difference,
                      size_t count)
{
    bool *now = calloc(graph->state_count, 1), *next = calloc(graph->state_count, 1), any = false;
    for (size_t i = 0; i < graph->initial_count; i++)
        now[graph->initial[i]] = true;
    for (size_t step = 0; step < count; step++) {
        memset(next, 0, graph->state_count);
        for (uint32_t s = 0; s < graph->state_count; s++)
            for (size_t i = graph->first[s]; now[s] && i < graph->first[s + 1]; i++)
                if (strcmp(labels_text(&graph->labels, graph->arcs[i].label),
                           difference->labels[step]) == 0)
                    next[graph->arcs[i].to] = true;
        memcpy(now, next, graph->state_count);
    }
    for (uint32_t s = 0; s < graph->state_count; s++)
        any |= now[s];
    free(now);
    free(next);
    return any;
}

static void check_equal(const gordian_graph *left, const gordian_graph *right, bool deterministic,
                        unsigned long round)
{
    bool equal, expected = equal_plainly(left, right);
    gordian_difference difference;
    REQUIRE(gordian_graph_equal(left, right, &equal, &difference, NULL) == GORDIAN_OK);
    CHECK_MSG(equal == expected, "graph %lu: %d, not %d", round, equal, expected);
    if (!equal) {
        REQUIRE(difference.count > 0);
        size_t count = difference.count;
        const gordian_graph *can = difference.by_left[count - 1] ? left : right;
        const gordian_graph *cannot = can == left ? right : left;
        CHECK_MSG(has_trace(can, &difference, count) && has_trace(cannot, &difference, count - 1),
                  "graph %lu", round);
        CHECK(!deterministic || !has_trace(cannot, &difference, count));
    }
    gordian_difference_free(&difference);
}

/* ------------------------------------------------------------------ livelock, once more */

static bool has_arc(const gordian_graph *graph, uint32_t from, const gordian_graph_arc *arc)
{
    size_t count;
    const gordian_graph_arc *arcs = gordian_graph_arcs(graph, from, &count);
    for (size_t i = 0; i < count; i++)
        if (arcs[i].label == arc->label && arcs[i].to == arc->to)
            return true;
    return false;
}

static void check_livelock(const gordian_graph *graph, unsigned long round)
{
    uint32_t n = graph->state_count, count = 0;
    bool *after = hidden_closure(graph, false);
    gordian_livelock livelock;
    uint32_t *distance = malloc(n * sizeof *distance), nearest = GORDIAN_NONE;
    memset(distance, 0xff, n * sizeof *distance);
    for (size_t i = 0; i < graph->initial_count; i++)
        distance[graph->initial[i]] = 0;
    for (uint32_t d = 0; d < n; d++)
        for (uint32_t s = 0; s < n; s++)
            for (size_t i = graph->first[s]; distance[s] == d && i < graph->first[s + 1]; i++)
                if (distance[graph->arcs[i].to] == GORDIAN_NONE)
                    distance[graph->arcs[i].to] = d + 1;
    for (uint32_t s = 0; s < n; s++) {
        if (distance[s] == GORDIAN_NONE || !after[s * n + s])
            continue;
        count++;
        nearest = distance[s] < nearest ? distance[s] : nearest;
    }
    REQUIRE(gordian_graph_livelock(graph, &capitals, &livelock, NULL) == GORDIAN_OK);
    CHECK_MSG(livelock.states == count, "graph %lu", round);
    if (count > 0 && livelock.states > 0) {
        char text[200];
        CHECK(livelock.path_count == nearest && distance[livelock.state] == nearest);
        CHECK(livelock.path_count == 0 ||
              livelock.path[livelock.path_count - 1].to == livelock.state);
        uint32_t at = livelock.state;
        for (size_t i = 0; i < livelock.cycle_count; i++) {
            const gordian_graph_arc *arc = &livelock.cycle[i];
            CHECK(has_arc(graph, at, arc) &&
                  !visible(labels_text(&graph->labels, arc->label), text));
            at = arc->to;
        }
        CHECK(livelock.cycle_count > 0 && at == livelock.state);
    }
    gordian_livelock_free(&livelock);
    free(after);
    free(distance);
}

/* ------------------------------------------------------------------ all of it */

static void check_graphs(void)
{
    struct random random;
    random_seed(&random, 30);
    for (unsigned long round = 0; round < test_scaled(3000); round++) {
        bool deterministic = round % 3 == 0;
        gordian_graph *graph = random_graph(
            &random, 1 + (uint32_t)random_below(&random, round % 10 ? 12 : 40), deterministic);
        gordian_graph *other =
            random_graph(&random, 1 + (uint32_t)random_below(&random, 5), deterministic);
        gordian_graph *hidden = NULL, *minimal = NULL, *again = NULL;
        gordian_graph *plain = hide_plainly(graph);
        uint32_t state;
        REQUIRE(gordian_graph_hide(&hidden, graph, &capitals, NULL) == GORDIAN_OK);
        CHECK_MSG(graph_same(hidden, plain, &state), "graph %lu: state %u", round, state);
        check_classes(graph, round);
        check_livelock(graph, round);
        REQUIRE(gordian_graph_minimise(&minimal, graph, NULL) == GORDIAN_OK);
        CHECK(equal_plainly(graph, minimal));
        REQUIRE(gordian_graph_minimise(&again, minimal, NULL) == GORDIAN_OK);
        CHECK(graph_same(minimal, again, &state));
        check_equal(graph, minimal, deterministic, round);
        check_equal(graph, other, deterministic, round);
        gordian_graph_close(graph);
        gordian_graph_close(other);
        gordian_graph_close(hidden);
        gordian_graph_close(plain);
        gordian_graph_close(minimal);
        gordian_graph_close(again);
    }
}

/* A long chain of states that all differ: what is quadratic takes for ever. */
static void check_speed(void)
{
    gordian_graph *graph = new_graph(), *minimal = NULL;
    uint32_t n = 200000;
    for (uint32_t s = 0; s < n; s++) {
        REQUIRE(graph_state(graph, NULL) == GORDIAN_OK);
        if (s + 1 < n)
            put_arc(graph, "a", s + 1);
    }
    REQUIRE(graph_initial(graph, 0, NULL) == GORDIAN_OK);
    REQUIRE(graph_finish(graph, NULL) == GORDIAN_OK);
    REQUIRE(gordian_graph_minimise(&minimal, graph, NULL) == GORDIAN_OK);
    CHECK(minimal->state_count == n && minimal->arc_count == n - 1);
    gordian_graph_close(graph);
    gordian_graph_close(minimal);
}

/* The same for hiding a cycle, after which every state is initial, and for telling it from a loop
 * that a single step shows to be different. */
static void check_speed_hidden(void)
{
    gordian_graph *cycle = new_graph(), *hidden = NULL;
    gordian_difference difference;
    uint32_t n = 200000;
    bool equal = true;
    for (uint32_t s = 0; s < n; s++) {
        REQUIRE(graph_state(cycle, NULL) == GORDIAN_OK);
        put_arc(cycle, "A", (s + n - 1) % n);
    }
    REQUIRE(graph_initial(cycle, 0, NULL) == GORDIAN_OK);
    REQUIRE(graph_finish(cycle, NULL) == GORDIAN_OK);
    REQUIRE(gordian_graph_hide(&hidden, cycle, &capitals, NULL) == GORDIAN_OK);
    CHECK(hidden->state_count == n && hidden->initial_count == n && hidden->arc_count == 0);
    REQUIRE(gordian_graph_equal(cycle, hidden, &equal, &difference, NULL) == GORDIAN_OK);
    CHECK(!equal && difference.count == 1 && difference.by_left[0]);
    gordian_difference_free(&difference);
    gordian_graph_close(cycle);
    gordian_graph_close(hidden);
}

/* What engines/compose/engine/engine.h says of the order, word by word: of the factors that share
 * a name with the part the one after which fewest names lead out of it, then the one that shares
 * most, then the first.
 */
static uint32_t plain_next(const gordian_circuit *circuit, const uint32_t *order, size_t placed)
{
    uint32_t best = GORDIAN_NONE, best_shared = 0;
    int64_t best_gain = 0;
    for (uint32_t f = 0; f < circuit->factor_count; f++) {
        const struct factor *factor = &circuit->factors[f];
        int64_t gain = 0;
        uint32_t shared = 0;
        bool there = false;
        for (size_t i = 0; i < placed; i++)
            there |= order[i] == f;
        for (uint32_t p = 0; p < factor_shape(circuit, f)->port_count; p++) {
            uint32_t name = factor->names[p], inside = 0;
            size_t users = circuit->users_first[name + 1] - circuit->users_first[name];
            for (size_t i = 0; i < placed; i++)
                for (uint32_t q = 0; q < factor_shape(circuit, order[i])->port_count; q++)
                    inside += circuit->factors[order[i]].names[q] == name;
            shared += inside > 0;
            gain += inside > 0 ? inside + 1 == users : -(int64_t)(users > 1);
        }
        if (!there && shared > 0 &&
            (best == GORDIAN_NONE || gain > best_gain ||
             (gain == best_gain && shared > best_shared))) {
            best = f;
            best_gain = gain;
            best_shared = shared;
        }
    }
    return best;
}

static void check_order(void)
{
    struct random random;
    random_seed(&random, 31);
    for (unsigned long round = 0; round < test_scaled(200); round++) {
        gordian_circuit *circuit =
            random_circuit(&random, 1 + (uint32_t)random_below(&random, 12), 1000000);
        uint32_t *order = malloc(circuit->factor_count * sizeof *order);
        const char *why = "";
        REQUIRE(compose_order(circuit, order, NULL, NULL) == GORDIAN_OK);
        CHECK_MSG(compose_order_valid(circuit, order, circuit->factor_count, &why), "%s", why);
        for (size_t i = 0; i < circuit->factor_count; i++) {
            uint32_t next = plain_next(circuit, order, i);
            CHECK_MSG(next == GORDIAN_NONE || next == order[i], "circuit %lu: %zu is %u, not %u",
                      round, i, order[i], next);
        }
        order[0] = (uint32_t)circuit->factor_count;
        CHECK(!compose_order_valid(circuit, order, circuit->factor_count, &why));
        order[0] = order[circuit->factor_count - 1];
        CHECK(circuit->factor_count == 1 ||
              !compose_order_valid(circuit, order, circuit->factor_count, &why));
        CHECK(!compose_order_valid(circuit, order, circuit->factor_count + 1, &why));
        free(order);
        gordian_circuit_close(circuit);
    }
}

int main(void)
{
    check_graphs();
    check_speed();
    check_speed_hidden();
    check_order();
    return test_done();
}
