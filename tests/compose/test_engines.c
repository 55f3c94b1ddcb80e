/* Engines against each other and against the plain product, on many random circuits: the same
 * states, transitions, numbers, deadlocks and ways to them. */
#include "random_circuit.h"

#include "engines/compose/cpu/cpu.h"
#include "engines/compose/engine/engine.h"
#include "engines/compose/graph/graph_sink.h"
#include "foundation/base/io/output.h"

/* A way to run an engine. */
struct way {
    const char *engine;
    unsigned threads;
    bool table;     /* words or states in a hash table: an exact limit makes it so */
    bool by_states; /* ... states */
};

/* Those of several threads first: for the thread sanitizer they do. */
static const struct way ways[] = {
    {"cpu", 2, false, false},   {"cpu", 3, true, false}, {"cpu", 3, true, true},
    {"cpu", 1, false, false},   {"cpu", 1, true, false}, {"cpu", 1, true, true},
    {"dense", 0, false, false},
};

#define WAYS (TEST_THREADS_ONLY ? 3 : sizeof ways / sizeof *ways)

struct answer {
    gordian_compose_result result;
    gordian_graph *graph;
};

static bool run(const struct way *way, const gordian_circuit *circuit,
                gordian_compose_options options, struct answer *answer)
{
    struct graph_sink sink;
    const struct compose_engine *engine;
    gordian_error error = {0};
    options.engine = way->engine;
    options.threads = way->threads;
    if (way->table && !options.full)
        options.max_states = UINT64_MAX;
    if (compose_choose(circuit, &options, &engine, &error) != GORDIAN_OK)
        return false;
    REQUIRE(graph_sink_open(&sink, NULL, &error) == GORDIAN_OK);
    gordian_status status = (way->by_states ? cpu_run_by_states : engine->run)(
        circuit, &options, &sink.sink, &answer->result, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s: %s", way->engine, error.message);
    if (status != GORDIAN_OK) {
        graph_sink_abandon(&sink);
        return false;
    }
    REQUIRE(graph_sink_close(&sink, &answer->graph, &error) == GORDIAN_OK);
    return true;
}

static void release(struct answer *answer)
{
    gordian_compose_result_free(&answer->result);
    gordian_graph_close(answer->graph);
}

/* ------------------------------------------------------------------ the product, once more */

/* All factors at once: each takes a transition or idles, and all agree on every name. The plain
 * product, two at a time, takes too long where many factors are not joined yet. */
#define MOST 64 /* factors: the nodes of a network are some, too */

struct joint {
    const gordian_circuit *circuit;
    uint32_t order[MOST]; /* in which they are asked: those that share names one after another */
    uint64_t weights[MOST], to;
    uint32_t locals[MOST];
    uint64_t label[16], mask[16];            /* of the factors settled */
    uint64_t *labels[MOST], masks[MOST][16]; /* of each factor */
    struct output text;
    gordian_graph *graph;
    const uint32_t *number; /* of every combination; NULL: not known yet */
    uint64_t *reached;
    size_t reached_count;
    bool *seen;
};

static void take_joint(struct joint *joint)
{
    uint32_t label;
    bool fires = false;
    for (size_t w = 0; w < joint->circuit->label_words; w++)
        fires |= joint->label[w] != 0;
    if (!fires)
        return;
    if (!joint->number) {
        if (!joint->seen[joint->to])
            joint->reached[joint->reached_count++] = joint->to;
        joint->seen[joint->to] = true;
        return;
    }
    joint->text.used = 0;
    circuit_write_label(joint->circuit, joint->label, &joint->text);
    REQUIRE(labels_put(&joint->graph->labels, joint->text.buffer, joint->text.used, &label, NULL) ==
            GORDIAN_OK);
    REQUIRE(graph_arc(joint->graph, label, joint->number[joint->to], NULL) == GORDIAN_OK);
}

static void settle(struct joint *joint, uint32_t at)
{
    const gordian_circuit *circuit = joint->circuit;
    if (at == circuit->factor_count) {
        take_joint(joint);
        return;
    }
    uint32_t f = joint->order[at];
    const struct shape *shape = factor_shape(circuit, f);
    size_t words = circuit->label_words, last = shape->first[joint->locals[f] + 1];
    static const uint64_t idle[16];
    uint64_t kept[16], kept_mask[16], to = joint->to;
    const uint64_t *mask = joint->masks[f];
    memcpy(kept, joint->label, sizeof kept);
    memcpy(kept_mask, joint->mask, sizeof kept_mask);
    for (size_t t = shape->first[joint->locals[f]]; t <= last; t++) { /* the last is idling */
        bool agree = true;
        const uint64_t *mine = t < last ? joint->labels[f] + t * words : idle;
        for (size_t w = 0; w < words; w++) {
            agree &= ((mine[w] ^ kept[w]) & mask[w] & kept_mask[w]) == 0;
            joint->label[w] = kept[w] | mine[w];
            joint->mask[w] = kept_mask[w] | mask[w];
        }
        joint->to = to + (t < last ? shape->to[t] : joint->locals[f]) * joint->weights[f];
        if (agree)
            settle(joint, at + 1);
    }
    memcpy(joint->label, kept, sizeof kept);
    memcpy(joint->mask, kept_mask, sizeof kept_mask);
    joint->to = to;
}

/* Everything that can happen in a state. */
static bool look(struct joint *joint, uint64_t state)
{
    bool initial = true;
    for (uint32_t f = 0; f < joint->circuit->factor_count; f++) {
        const struct shape *shape = factor_shape(joint->circuit, f);
        joint->locals[f] = (uint32_t)(state / joint->weights[f] % shape->state_count);
        initial &= joint->locals[f] < shape->initial_count;
    }
    joint->to = 0;
    return initial;
}

static gordian_graph *naive_product(const gordian_circuit *circuit, bool full)
{
    static struct joint joint;
    gordian_allocator memory = memory_allocator(NULL);
    uint64_t whole = circuit->whole, weight = 1;
    uint32_t *number = malloc(whole * sizeof *number), next = 0;
    joint = (struct joint){.circuit = circuit};
    joint.reached = malloc(whole * sizeof *joint.reached);
    joint.seen = calloc(whole, 1);
    REQUIRE(circuit->factor_count <= MOST && circuit->label_words <= 16);
    REQUIRE(compose_order(circuit, joint.order, NULL, NULL) == GORDIAN_OK);
    REQUIRE(output_open(&joint.text, -1) && graph_new(&joint.graph, &memory, NULL) == GORDIAN_OK);
    for (uint32_t f = 0; f < circuit->factor_count; f++) {
        const struct shape *shape = factor_shape(circuit, f);
        joint.weights[f] = weight;
        weight *= shape->state_count;
        joint.labels[f] =
            malloc((shape->transition_count + 1) * circuit->label_words * sizeof(uint64_t));
        for (size_t t = 0; t < shape->transition_count; t++)
            factor_label(circuit, f, t, joint.labels[f] + t * circuit->label_words);
        factor_mask(circuit, f, joint.masks[f]);
    }
    for (uint64_t s = 0; s < whole; s++)
        if (full || look(&joint, s)) {
            joint.seen[s] = true;
            joint.reached[joint.reached_count++] = s;
        }
    for (size_t i = 0; i < joint.reached_count && !full; i++) {
        look(&joint, joint.reached[i]);
        settle(&joint, 0);
    }
    for (uint64_t s = 0; s < whole; s++)
        number[s] = joint.seen[s] ? next++ : GORDIAN_NONE;
    joint.number = number;
    for (uint64_t s = 0; s < whole; s++) {
        if (!joint.seen[s])
            continue;
        REQUIRE(graph_state(joint.graph, NULL) == GORDIAN_OK);
        if (look(&joint, s))
            REQUIRE(graph_initial(joint.graph, number[s], NULL) == GORDIAN_OK);
        settle(&joint, 0);
    }
    REQUIRE(graph_finish(joint.graph, NULL) == GORDIAN_OK);
    output_close(&joint.text);
    for (uint32_t f = 0; f < circuit->factor_count; f++)
        free(joint.labels[f]);
    free(joint.reached);
    free(joint.seen);
    free(number);
    return joint.graph;
}

/* ------------------------------------------------------------------ comparing */

/* Distances from the initial states. */
static uint32_t *distances(const gordian_graph *graph)
{
    uint32_t *distance = malloc(graph->state_count * sizeof *distance), found = 0;
    uint32_t *queue = malloc(graph->state_count * sizeof *queue);
    memset(distance, 0xff, graph->state_count * sizeof *distance);
    for (size_t i = 0; i < graph->initial_count; i++) {
        distance[graph->initial[i]] = 0;
        queue[found++] = graph->initial[i];
    }
    for (uint32_t at = 0; at < found; at++) {
        for (size_t i = graph->first[queue[at]]; i < graph->first[queue[at] + 1]; i++) {
            uint32_t to = graph->arcs[i].to;
            if (distance[to] == GORDIAN_NONE) {
                distance[to] = distance[queue[at]] + 1;
                queue[found++] = to;
            }
        }
    }
    free(queue);
    return distance;
}

/* Every reachable deadlock is there, the nearest first, each with a way as short as can be. */
static void check_deadlocks(const gordian_circuit *circuit, const gordian_graph *plain,
                            const gordian_compose_result *result, const char *what)
{
    uint32_t *distance = distances(plain);
    size_t count = 0;
    for (uint32_t s = 0; s < plain->state_count; s++)
        count += graph_is_deadlock(plain, s) && distance[s] != GORDIAN_NONE;
    CHECK_MSG(result->deadlocks == count && result->found_count == count, "%s: %zu deadlocks", what,
              count);
    for (size_t i = 0; i < result->found_count; i++) {
        const gordian_compose_deadlock *found = &result->found[i], *before = found - 1;
        const char *why = "";
        CHECK_MSG(graph_is_deadlock(plain, (uint32_t)found->number) &&
                      found->step_count == distance[found->number] &&
                      compose_check_deadlock(circuit, found, &why),
                  "%s: deadlock %zu: %s", what, i, why);
        CHECK(i == 0 || before->step_count < found->step_count ||
              (before->step_count == found->step_count && before->number < found->number));
    }
    free(distance);
}

static void check_same_ways(const gordian_compose_result *one, const gordian_compose_result *other,
                            size_t words)
{
    CHECK(one->found_count == other->found_count);
    for (size_t i = 0; i < one->found_count && i < other->found_count; i++)
        CHECK(one->found[i].step_count == other->found[i].step_count &&
              one->found[i].number == other->found[i].number &&
              memcmp(one->found[i].labels, other->found[i].labels,
                     one->found[i].step_count * words * sizeof(uint64_t)) == 0);
}

/* All ways to run it give the plain product. Returns how many ran. */
static unsigned check_circuit(const gordian_circuit *circuit, bool full, const char *what)
{
    gordian_graph *plain = NULL;
    struct answer answers[sizeof ways / sizeof *ways];
    gordian_compose_options options;
    unsigned ran = 0;
    if (circuit->factor_count > 6)
        plain = naive_product(circuit, full);
    else
        REQUIRE(plain_product(&plain, circuit, full, NULL, NULL) == GORDIAN_OK);
    gordian_compose_options_init(&options);
    options.full = full;
    options.max_deadlocks = UINT32_MAX;
    for (size_t w = 0; w < WAYS; w++) {
        struct answer *answer = &answers[ran];
        uint32_t state;
        if (!run(&ways[w], circuit, options, answer))
            continue;
        const gordian_compose_result *result = &answer->result;
        CHECK_MSG(graph_same(plain, answer->graph, &state), "%s, %s: state %u differs", what,
                  ways[w].engine, state);
        CHECK_MSG(result->states == plain->state_count && result->transitions == plain->arc_count &&
                      result->stop == GORDIAN_COMPOSE_STOP_COMPLETE &&
                      strcmp(result->engine, ways[w].engine) == 0,
                  "%s, %s, %u threads: %llu/%llu, not %u/%zu", what, ways[w].engine,
                  ways[w].threads, (unsigned long long)result->states,
                  (unsigned long long)result->transitions, plain->state_count, plain->arc_count);
        check_deadlocks(circuit, plain, result, what);
        if (ran > 0)
            check_same_ways(&answers[0].result, result, circuit->label_words);
        ran++;
    }
    for (unsigned i = 0; i < ran; i++)
        release(&answers[i]);
    gordian_graph_close(plain);
    return ran;
}

/* Indivisible transitions, and the same without a sink, and without counting. */
static void check_indivisible(const gordian_circuit *circuit)
{
    gordian_compose_options options;
    struct answer first = {0};
    gordian_compose_options_init(&options);
    options.indivisible = true;
    for (size_t w = 0; w < WAYS; w++) {
        struct answer answer = {0};
        uint32_t state;
        if (!run(&ways[w], circuit, options, &answer))
            continue;
        CHECK(answer.result.transitions == answer.graph->arc_count);
        if (first.graph) {
            CHECK_MSG(graph_same(first.graph, answer.graph, &state), "state %u", state);
            release(&answer);
        } else {
            first = answer;
        }
    }
    const struct compose_engine *engine;
    gordian_compose_result counted;
    options.engine = "cpu";
    REQUIRE(compose_choose(circuit, &options, &engine, NULL) == GORDIAN_OK);
    options.count_transitions = false;
    REQUIRE(engine->run(circuit, &options, NULL, &counted, NULL) == GORDIAN_OK);
    CHECK(counted.states == first.result.states && counted.transitions == 0 &&
          counted.deadlocks == first.result.deadlocks);
    gordian_compose_result_free(&counted);
    release(&first);
}

static void check_random(void)
{
    struct random random;
    unsigned long checked = 0, full = 0,
                  rounds = test_scaled(TEST_THREADS_ONLY && test_scale() < 100 ? 900 : 1800);
    random_seed(&random, 20);
    for (unsigned long round = 0; round < rounds; round++) {
        char what[40];
        snprintf(what, sizeof what, "circuit %lu", round);
        uint32_t factors = 1 + (uint32_t)random_below(&random, 12);
        gordian_circuit *circuit =
            round % 3 == 2 ? random_network(&random, factors)
                           : random_circuit(&random, factors, round % 16 == 0 ? 1500 : 150);
        if (!circuit || !circuit->whole_fits || circuit->factor_count > 16 ||
            circuit->whole > (round % 16 == 0 ? 1500 : 300)) { /* too long for so many */
            gordian_circuit_close(circuit);
            round--;
            continue;
        }
        checked += check_circuit(circuit, false, what) == WAYS;
        if (circuit->whole <= 300) {
            check_circuit(circuit, true, what);
            full++;
        }
        if (round % 4 == 0)
            check_indivisible(circuit);
        gordian_circuit_close(circuit);
    }
    CHECK_MSG(checked >= rounds * 9 / 10 && full >= rounds / 4, "%lu circuits, %lu in full",
              checked, full);
}

/* ------------------------------------------------------------------ laws of the product */

static gordian_circuit *reordered(const gordian_circuit *circuit, struct random *random)
{
    /* The same factors in another order: composed in the order of the text, so another product. */
    gordian_circuit *other = NULL;
    uint32_t *order = malloc(circuit->factor_count * sizeof *order);
    gordian_allocator memory = memory_allocator(NULL);
    REQUIRE(circuit_new(&other, "again", &memory, NULL) == GORDIAN_OK);
    for (uint32_t f = 0; f < circuit->factor_count; f++)
        order[f] = f;
    for (uint32_t f = (uint32_t)circuit->factor_count; f > 1; f--) {
        uint32_t k = (uint32_t)random_below(random, f), kept = order[f - 1];
        order[f - 1] = order[k];
        order[k] = kept;
    }
    for (uint32_t n = 0; n < circuit->name_count; n++) {
        uint32_t name;
        const char *text = names_text(&circuit->names, n);
        REQUIRE(circuit_name(other, text, strlen(text), &name, NULL) == GORDIAN_OK);
    }
    for (size_t i = 0; i < circuit->factor_count; i++) {
        const struct factor *factor = &circuit->factors[order[i]];
        const struct shape *shape = &circuit->shapes[factor->shape];
        struct automaton *copy = NULL;
        uint32_t number;
        REQUIRE(automaton_new(&copy, "copy", &memory, NULL) == GORDIAN_OK);
        for (uint32_t p = 0; p < shape->port_count; p++) {
            char name[20];
            snprintf(name, sizeof name, "p%u", p);
            REQUIRE(automaton_port(copy, name, PORT_MIXED, &number, NULL) == GORDIAN_OK);
        }
        for (uint32_t s = 0; s < shape->state_count; s++)
            REQUIRE(automaton_state(copy, NULL, s < shape->initial_count, &number, NULL) ==
                    GORDIAN_OK);
        uint32_t guard = guard_add(&copy->guards, GUARD_TRUE, GUARD_NONE, GUARD_NONE, 0);
        for (uint32_t s = 0; s < shape->state_count; s++)
            for (size_t t = shape->first[s]; t < shape->first[s + 1]; t++)
                REQUIRE(automaton_transition(copy, s, shape->to[t],
                                             shape->labels + t * shape->label_words, guard,
                                             NULL) == GORDIAN_OK);
        REQUIRE(circuit_automaton(other, copy, &number, NULL) == GORDIAN_OK);
        REQUIRE(circuit_factor(other, number, factor->names, NULL, NULL) == GORDIAN_OK);
    }
    REQUIRE(circuit_seal(other, NULL) == GORDIAN_OK);
    free(order);
    return other;
}

/* Commutative: factors in another order give the same up to the numbers of states. Associative: an
 * order of composition, which says how `dense` brackets and orders, gives the same altogether. */
static void check_laws(void)
{
    struct random random;
    random_seed(&random, 21);
    for (unsigned long round = 0; round < test_scaled(300); round++) {
        gordian_circuit *circuit =
            random_circuit(&random, 2 + (uint32_t)random_below(&random, 6), 200);
        gordian_circuit *other = reordered(circuit, &random);
        struct answer one = {0}, another = {0}, third = {0};
        gordian_compose_options options;
        const struct way dense = {"dense", 0, false}, cpu = {"cpu", 2, false};
        bool same = false;
        gordian_compose_options_init(&options);
        REQUIRE(run(&cpu, circuit, options, &one) && run(&dense, other, options, &another));
        REQUIRE(graph_isomorphic(one.graph, another.graph, &same, NULL) == GORDIAN_OK);
        CHECK_MSG(same, "circuit %lu", round);
        uint32_t *order = malloc(circuit->factor_count * sizeof *order), state;
        for (uint32_t f = 0; f < circuit->factor_count; f++)
            order[f] = (uint32_t)circuit->factor_count - 1 - f;
        options.order = order;
        REQUIRE(run(&dense, circuit, options, &third));
        CHECK(graph_same(one.graph, third.graph, &state));
        CHECK(memcmp(third.result.order, order, circuit->factor_count * sizeof *order) == 0);
        free(order);
        release(&one);
        release(&another);
        release(&third);
        gordian_circuit_close(circuit);
        gordian_circuit_close(other);
    }
}

/* ------------------------------------------------------------------ large factors */

/* A factor of so many states that they do not fit into one word of a bitmap, before, between and
 * after others. */
static void check_large(void)
{
    static const char *const mains[] = {
        "main(a?,d!) { count(a,b) fifo1(b,d) }",
        "main(a?,d!) { fifo1(b,d) count(a,b) }",
        "main(a?,d!) { fifo1(b,c) count(a,b) shiftlossyfifo1(c,d) }",
    };
    static const unsigned sizes[] = {65, 63, 64, 100, 300};
    static char source[20000];
    for (size_t m = 0; m < sizeof mains / sizeof *mains; m++) {
        for (size_t i = 0; i < (TEST_THREADS_ONLY ? 1 : sizeof sizes / sizeof *sizes); i++) {
            unsigned n = sizes[i];
            strcpy(source, "count(a?,b!) { #CA\n");
            for (unsigned s = 0; s < n; s++) {
                size_t used = strlen(source);
                snprintf(source + used, sizeof source - used, "s%u%s -> s%u : {a}\n", s,
                         s == 0 ? "*" : "", (s + 1) % n);
                used = strlen(source);
                if (s % 7 == 0)
                    snprintf(source + used, sizeof source - used, "s%u -> s%u : {b}\n", s,
                             3 * s % n);
            }
            snprintf(source + strlen(source), sizeof source - strlen(source), "}\n%s\n", mains[m]);
            gordian_circuit *circuit = read_circuit(source, NULL, NULL);
            REQUIRE(circuit);
            CHECK(check_circuit(circuit, false, mains[m]) == WAYS);
            check_circuit(circuit, true, mains[m]);
            gordian_circuit_close(circuit);
        }
    }
}

/* ------------------------------------------------------------------ wide states */

/* Rings too long for a word of state, and for one of names: C(n, k) states. */
static void check_wide(void)
{
    static const struct {
        unsigned n, full;
    } rings[] = {{20, 3}, {63, 1}, {64, 2}, {70, 2}, {130, 1}};
    for (size_t r = 0; r < sizeof rings / sizeof *rings; r++) {
        char source[8000] = "main() { ";
        unsigned n = rings[r].n, full = rings[r].full;
        for (unsigned i = 0; i < n; i++)
            snprintf(source + strlen(source), sizeof source - strlen(source), "%s(x%u,x%u) ",
                     i * full % n < full ? "fifofull<0>" : "fifo1", i, (i + 1) % n);
        strcat(source, "}");
        gordian_circuit *circuit = read_circuit(source, NULL, NULL);
        REQUIRE(circuit);
        unsigned long states = 1, tokens = 0;
        for (unsigned i = 0; i < n; i++)
            tokens += i * full % n < full;
        for (unsigned i = 0; i < tokens; i++)
            states = states * (n - i) / (i + 1);
        for (size_t w = 0; w < WAYS; w++) {
            struct answer answer = {0};
            gordian_compose_options options;
            gordian_compose_options_init(&options);
            if (!run(&ways[w], circuit, options, &answer))
                continue;
            CHECK_MSG(answer.result.states == states && answer.graph->state_count == states &&
                          answer.result.transitions == answer.graph->arc_count &&
                          answer.result.deadlocks == 0,
                      "ring %u/%lu: %llu/%llu, %zu arcs", n, tokens,
                      (unsigned long long)answer.result.states,
                      (unsigned long long)answer.result.transitions, answer.graph->arc_count);
            release(&answer);
        }
        gordian_circuit_close(circuit);
    }
}

/* ------------------------------------------------------------------ many threads */

static const char many_source[] =
    "chain<k:int>(a[0]?,a[k]!) { fifo1(a[i],a[i+1]) | i:<0..k-1> }\n"
    "ring<k:int>() { { fifofull<0>(a[i],a[i+1]) | i:<0..3> }"
    " { fifo1(a[i],a[(i+1) % k]) | i:<4..k-1> } }\n"
    "philosopher(tl!,tr!,fl!,fr!) { #CA\n"
    "thinks* -> left : {tl} left -> eats : {tr} eats -> right : {fl} right -> thinks : {fr} }\n"
    "fork(tl?,tr?,fl?,fr?) { #CA\n"
    "free* -> used : {tl} free -> used : {tr} used -> free : {fl} used -> free : {fr} }\n"
    "table<n:int>() { philosopher(tl[i],tr[i],fl[i],fr[i])"
    " fork(tl[i],tr[(i+n-1) % n],fl[i],fr[(i+n-1) % n]) | i:<0..n-1> }\n"
    "line<k:int>(f?) { fifofull<0>(a[0],a[1]) { fifo1(a[i],a[i+1]) | i:<1..k-1> }"
    " syncdrain(a[0],f) syncdrain(a[k],f) }\n"
    "late() { fifo1(f,f) line<10>(f) line<12>(f)"
    " { fifo1(w[i],w[i+1]) | i:<0..5> } syncdrain(w[6],f) }\n";

/* States and deadlocks only, on that many threads, where there is work for them: words in a table,
 * and what turns to a bitmap. Ways are found without numbers, and must be those that are found with
 * them, in a table of states. */
static void check_threads(void)
{
    const bool large = !test_is_short();
    const struct {
        const char *main;
        uint64_t states, deadlocks;
    } circuits[] = {{large ? "chain<20>" : "chain<14>", 1 << (large ? 20 : 14), 0},
                    {"ring<26>", 14950, 0},
                    {"table<9>", 19682, 1},
                    {"late", 10 * 12 * 64, 1}};
    for (size_t c = 0; c < sizeof circuits / sizeof *circuits; c++) {
        gordian_circuit *circuit = read_circuit(many_source, circuits[c].main, NULL);
        gordian_compose_options options;
        gordian_compose_result plain, result;
        REQUIRE(circuit);
        gordian_compose_options_init(&options);
        options.count_transitions = false;
        options.max_deadlocks = 3;
        options.threads = 1;
        REQUIRE(cpu_run_by_states(circuit, &options, NULL, &plain, NULL) == GORDIAN_OK);
        CHECK(!circuits[c].states ||
              (plain.states == circuits[c].states && plain.deadlocks == circuits[c].deadlocks));
        CHECK(plain.states > 0);
        for (options.threads = large ? 1 : 3; options.threads <= 9; options.threads += 2) {
            REQUIRE(compose_cpu.run(circuit, &options, NULL, &result, NULL) == GORDIAN_OK);
            CHECK_MSG(result.states == plain.states && result.deadlocks == plain.deadlocks &&
                          result.stop == GORDIAN_COMPOSE_STOP_COMPLETE,
                      "%s on %u: %llu states, %llu deadlocks", circuits[c].main, options.threads,
                      (unsigned long long)result.states, (unsigned long long)result.deadlocks);
            check_same_ways(&result, &plain, circuit->label_words);
            gordian_compose_result_free(&result);
        }
        gordian_compose_result_free(&plain);
        gordian_circuit_close(circuit);
    }
}

int main(void)
{
    check_random();
    check_threads();
    check_laws();
    check_large();
    check_wide();
    return test_done();
}
