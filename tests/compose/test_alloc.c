/* Every allocation fails once: nothing leaks, nothing is half done, and the next attempt works. */
#include "../alloc/failing.h"
#include "compose.h"
#include "engines/compose/format/aut.h"
#include "engines/compose/format/pnml.h"
#include "foundation/base/io/output.h"

#include <gordian/compose.h>

static const char treo_text[] =
    "import reo.fifo1;\n"
    "chain<k:int>(a[0]?,a[k]!) { fifo1(a[i],a[i+1]) | i:<0..k-1> }\n"
    "two<f(?,!)>(a?,b!) { f(a,x) f(x,b) }\n"
    "rules<d:int>(a?,b!) { #RBA $m=d; {a,~b} $m=null, $m'=a {~a,b} $m!=null, b=$m || false, "
    "$m'=null }\n"
    "states(a?,b!) { #CA q* -> r : {a} $m'=a; r -> q : {b} b=$m, $m'=null }\n"
    "bare<f:t>(a?,b!,c?) { #RBA $k=7; a!=*, b=f(a), $k=7, $k'=8, c=* a=b, $k=8, $k'=[0.5:7,0.5:8] "
    "}\n"
    "code(a?) { #JAVA \"x\" } built(a?,b!) { #PR Fifo[2](a;b) }\n"
    "main(p?,q?,o!) {\n"
    "  chain<2>(p,x) two<sync>(q,x) rules<0>(x,y) states(y,z)\n"
    "  bare<g>(z,bb,cc) code(bb) built(bb,dd)\n"
    "  filter<<0>>(z,o) transform<{[0,1] [1,0]}>(z,w) for i=1..2 { if i=1 fifo1(w,v) else "
    "syncdrain(v,v) }\n"
    "}\n";

static const char ca_text[] = "data 0 1\n"
                              "define f = {[0,1] [1,0]}\n"
                              "automaton x (a?, b!) {\n"
                              "  memory m = 1\n"
                              "  q* -> r : {a} $m' = f(a)\n"
                              "  r -> q : {b} b = $m || !(b = 0), $m' = null\n"
                              "}\n";

static const char aut_text[] = "des (0,3,2)\n(0,\"a\",1)\n(1,\"b|c\",0)\n(1,\"tau\",1)\n";

static const char pnml_text[] =
    "<pnml><net id='n'><place id='p'><initialMarking><text>1</text></initialMarking></place>"
    "<place id='q'/><transition id='t'/><transition id='u'/><arc source='p' target='t'/>"
    "<arc source='t' target='q'/><arc source='q' target='u'/>" /* and once more the same: */
    "<place id='p2'><initialMarking><text>1</text></initialMarking></place>"
    "<place id='q2'/><transition id='t2'/><transition id='u2'/><arc source='p2' target='t2'/>"
    "<arc source='t2' target='q2'/><arc source='q2' target='u2'/></net></pnml>";

/* 1-safe, since 'y' never fires, but not by its structure: the search has to find that out. */
static const char watched_text[] =
    "<pnml><net id='n'><place id='p'><initialMarking><text>1</text></initialMarking></place>"
    "<place id='q'/><place id='z'/><transition id='t'/><transition id='u'/><transition id='y'/>"
    "<arc source='p' target='t'/><arc source='t' target='q'/><arc source='q' target='u'/>"
    "<arc source='z' target='y'/><arc source='y' target='z'/><arc source='y' target='q'/></net>"
    "</pnml>";

/* A net: read, searched with and without reduction, checked. */
static gordian_status go_net(const struct text *text, const gordian_allocator *allocator,
                             gordian_error *error)
{
    gordian_circuit *circuit = NULL;
    gordian_graph *graph = NULL;
    gordian_fault fault;
    gordian_compose_result result;
    gordian_check check;
    gordian_compose_options options;
    gordian_circuit_options reading = {.allocator = allocator};
    gordian_compose_options_init(&options);
    options.allocator = allocator;
    options.reduce = true;
    options.engine = "dense";
    gordian_status status = pnml_read(&circuit, text, &reading, &fault, error);
    if (status == GORDIAN_OK) {
        status = gordian_compose(circuit, &options, NULL, &result, error);
        gordian_compose_result_free(&result);
    }
    options.reduce = false;
    if (status == GORDIAN_OK) {
        status = gordian_compose_check(&graph, circuit, &options,
                                       &(gordian_question){"AG (t -> AF deadlock) && @1 = one"},
                                       allocator, &check, &result, error);
        gordian_check_free(&check);
        gordian_compose_result_free(&result);
    }
    if (status == GORDIAN_OK) {
        gordian_question question = {"G (t -> F <t>) && [t] X true -> F (t U !deadlock)", true,
                                     GORDIAN_FAIRNESS_STRONG};
        status = gordian_graph_check(graph, &question, &check, error);
        gordian_check_free(&check);
    }
    gordian_graph_close(graph);
    gordian_circuit_close(circuit);
    return status;
}

/* A circuit with costs: the best way. */
static gordian_status go_costs(const struct text *text, const gordian_allocator *allocator,
                               gordian_error *error)
{
    gordian_circuit *circuit = NULL;
    gordian_graph *graph = NULL;
    gordian_fault fault;
    gordian_compose_result result;
    gordian_check check;
    gordian_compose_options options;
    gordian_circuit_options reading = {.allocator = allocator};
    gordian_question question = {"deadlock", .semiring = GORDIAN_SEMIRING_WEIGHTED};
    gordian_compose_options_init(&options);
    options.allocator = allocator;
    options.engine = "dense";
    gordian_status status = ca_read(&circuit, text, &reading, &fault, error);
    if (status == GORDIAN_OK) {
        status = gordian_compose_check(&graph, circuit, &options, &question, allocator, &check,
                                       &result, error);
        CHECK(status != GORDIAN_OK || (check.holds && check.cost == 4.5));
        gordian_check_free(&check);
        gordian_compose_result_free(&result);
    }
    gordian_graph_close(graph);
    gordian_circuit_close(circuit);
    return status;
}

/* One go with the allocator; the status of what failed. */
static gordian_status go(int kind, const struct text *text, const gordian_allocator *allocator,
                         gordian_error *error)
{
    gordian_circuit *circuit = NULL;
    gordian_graph *graph = NULL, *part = NULL;
    gordian_fault fault;
    gordian_status status;
    bool same;
    if (kind == 3)
        return go_net(text, allocator, error);
    if (kind == 4)
        return go_costs(text, allocator, error);
    if (kind == 2) {
        status = aut_read(&graph, text, NULL, allocator, &fault, error);
        if (status == GORDIAN_OK)
            status = gordian_graph_minimise(&part, graph, error);
        if (status == GORDIAN_OK)
            status = graph_isomorphic(graph, part, &same, error);
        gordian_graph_close(part);
    } else {
        gordian_circuit_options options = {
            .data = kind == 0 ? "0,1" : NULL, .define = "g={[0,1] [*,0]}", .allocator = allocator};
        status = kind == 0 ? treo_read(&circuit, text, &options, &fault, error)
                           : ca_read(&circuit, text, &options, &fault, error);
        CHECK((status == GORDIAN_OK) == (circuit != NULL));
        if (status == GORDIAN_OK && kind == 1)
            status = plain_product(&graph, circuit, false, allocator, error);
    }
    gordian_graph_close(graph);
    gordian_circuit_close(circuit);
    return status;
}

static void check_all(int kind, const char *source)
{
    struct text text;
    gordian_error error = {0};
    struct failing failing = {0};
    gordian_allocator allocator = {failing_resize, &failing};
    REQUIRE(text_copy(&text, "test", source, strlen(source), NULL, &error) == GORDIAN_OK);
    gordian_status status = go(kind, &text, &allocator, &error);
    CHECK_MSG(status == GORDIAN_OK, "%d: %s", kind, error.message);
    size_t calls = failing.calls;
    CHECK(calls > 10 && failing.live_blocks == 0);
    for (size_t n = 1; n <= calls; n++) {
        for (int for_good = 0; for_good < 2; for_good++) {
            failing = (struct failing){.fail_at = n, .for_good = for_good};
            status = go(kind, &text, &allocator, &error);
            CHECK_MSG(failing.live_blocks == 0, "%d: allocation %zu: %zu blocks leaked", kind, n,
                      failing.live_blocks);
            /* Whether data are only passed on is then simply not known; that is no failure. */
            CHECK_MSG(status == GORDIAN_STATUS_MEMORY || status == GORDIAN_OK,
                      "%d: allocation %zu: %s", kind, n, error.message);
            CHECK(!for_good || status == GORDIAN_STATUS_MEMORY || n + 4 > calls);
        }
    }
    text_free(&text);
}

int main(void)
{
    check_all(0, treo_text);
    check_all(1, ca_text);
    check_all(2, aut_text);
    check_all(3, pnml_text);
    check_all(3, watched_text);
    check_all(4, "automaton x (a?, b?) { p* -> q : {a}, 3 q -> r : {b}, 0.5 }\n"
                 "automaton y (b?, c?) { p* -> q : {b}, 1 p -> p : {c} }");
    return test_done();
}
