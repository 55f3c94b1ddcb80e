/* Known counts: reachable states, transitions without idle loops, deadlocks. */
#include "compose.h"

#include <unistd.h>

static const char chain[] =
    "fifo1(a?,b!) { #RBA {a,~b} $m=null, $m'=a   {~a,b} $m!=null, b=$m, $m'=null }\n"
    "chain<k:int>(a[0]?,a[k]!) { fifo1(a[i],a[i+1]) | i:<0..k-1> }\n"
    "alternator(a?,b?,c!) { syncdrain(a,b) sync(b,x) fifo1(x,c) sync(a,c) }\n";

static void check_counts(const char *source, const char *main, const char *data, size_t states,
                         size_t transitions, size_t deadlocks)
{
    gordian_graph *graph = product_of_text(source, main, data);
    CHECK_MSG(graph, "%s", main ? main : source);
    if (!graph)
        return;
    CHECK_MSG(graph->state_count == states && graph->arc_count == transitions &&
                  deadlocks_of(graph) == deadlocks,
              "%s: %u/%zu, %zu deadlocks; expected %zu/%zu, %zu", main ? main : source,
              graph->state_count, graph->arc_count, deadlocks_of(graph), states, transitions,
              deadlocks);
    CHECK(graph->initial_count == 1 && graph->initial[0] == 0);
    gordian_graph_close(graph);
}

/* A circuit of examples/circuits. */
static void check_example(const char *file, const char *main, const char *data, size_t states,
                          size_t transitions, size_t deadlocks)
{
    char path[1000], source[20000];
    snprintf(path, sizeof path, "%s/%s", EXAMPLES, file);
    FILE *stream = fopen(path, "r");
    CHECK_MSG(stream, "%s", path);
    if (!stream)
        return;
    size_t length = fread(source, 1, sizeof source - 1, stream);
    source[length] = '\0';
    fclose(stream);
    check_counts(source, main, data, states, transitions, deadlocks);
}

static void check_chains(void)
{
    static const size_t counts[][2] = {{2, 2}, {4, 6}, {8, 16}, {16, 42}, {32, 108}};
    size_t pell = 2, before = 1; /* Pell(2), Pell(1) */
    for (size_t k = 1; k <= 9; k++) {
        char main[20];
        snprintf(main, sizeof main, "chain<%zu>", k);
        size_t states = (size_t)1 << k, transitions = 2 * pell - states;
        if (k <= 5)
            CHECK(counts[k - 1][0] == states && counts[k - 1][1] == transitions);
        check_counts(chain, main, NULL, states, transitions, 0);
        check_example("chain.treo", main, NULL, states, transitions, 0);
        size_t next = 2 * pell + before;
        before = pell;
        pell = next;
    }
}

static void check_labels(void)
{
    static const char *const expected[] = {"0 a0 1",    "1 a1 2", "2 a0 3",
                                           "2 a0|a2 1", "2 a2 0", "3 a2 1"};
    gordian_graph *graph = product_of_text(chain, "chain<2>", NULL);
    REQUIRE(graph && graph->arc_count == 6);
    for (uint32_t s = 0, line = 0; s < graph->state_count; s++) {
        for (size_t i = graph->first[s]; i < graph->first[s + 1]; i++, line++) {
            char text[100];
            snprintf(text, sizeof text, "%u %s %u", s,
                     labels_text(&graph->labels, graph->arcs[i].label), graph->arcs[i].to);
            CHECK_MSG(strcmp(text, expected[line]) == 0, "%s, not %s", text, expected[line]);
        }
    }
    gordian_graph_close(graph);
}

static void check_families(void)
{
    char main[40];
    static const size_t alternators[][2] = {{2, 2}, {4, 4}, {8, 10}};
    static const size_t tables[][2] = {{8, 11}, {26, 76}, {80, 431}};
    for (size_t n = 1; n <= 5; n++) {
        snprintf(main, sizeof main, "parallel<%zu>", n);
        check_example("parallel.treo", main, NULL, (size_t)1 << n,
                      ((size_t)1 << 2 * n) - ((size_t)1 << n), 0);
        snprintf(main, sizeof main, "sequencer(p[1..%zu])", n);
        if (n >= 2)
            check_example("sequencer.treo", main, NULL, n, n, 0);
        snprintf(main, sizeof main, "xrouter(in,out[1..%zu])", n);
        check_example("router.treo", main, NULL, 1, n, 0);
        snprintf(main, sizeof main, "barrier(a[1..%zu],b[1..%zu])", n, n);
        check_example("barrier.treo", main, NULL, 1, 1, 0);
    }
    for (size_t n = 2; n <= 4; n++) {
        snprintf(main, sizeof main, "alternator<%zu>", n);
        check_example("alternator.treo", main, NULL, alternators[n - 2][0], alternators[n - 2][1],
                      0);
        snprintf(main, sizeof main, "table<%zu>", n);
        check_example("philosophers.treo", main, NULL, tables[n - 2][0], tables[n - 2][1], 1);
    }
}

int main(void)
{
    check_chains();
    check_labels();
    check_families();
    check_counts(chain, "alternator", NULL, 2, 2, 0);
    check_example("lossyfifo.treo", NULL, NULL, 2, 5, 0);
    check_example("ring.treo", NULL, NULL, 6, 10, 0);
    check_example("ring.treo", "full<4>", NULL, 1, 0, 1);
    check_example("ring.treo", "empty<4>", NULL, 1, 0, 1);
    check_example("early.treo", NULL, NULL, 4, 11, 0);
    check_example("late.treo", NULL, NULL, 2, 3, 0);
    check_example("shiftlossy.treo", NULL, NULL, 8, 19, 0);
    /* two data values */
    check_counts(chain, "chain<2>", "0,1", 9, 18, 0);
    check_example("lossyfifo.treo", NULL, "x,y", 3, 14, 0);
    check_example("router.treo", "xrouter(in,out[1..2])", "0,1", 1, 4, 0);
    check_counts("main(a?,b!,c!) { router(a,b,c) }", NULL, "0,1", 1, 4, 0);
    return test_done();
}
