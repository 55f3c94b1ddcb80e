/* Every allocation fails once: nothing leaks, nothing is half done, and the next attempt works. */
#include "../alloc/failing.h"
#include "base/output.h"
#include "compose.h"
#include "compose/format/aut.h"

static const char treo_text[] =
    "import reo.fifo1;\n"
    "chain<k:int>(a[0]?,a[k]!) { fifo1(a[i],a[i+1]) | i:<0..k-1> }\n"
    "two<f(?,!)>(a?,b!) { f(a,x) f(x,b) }\n"
    "rules<d:int>(a?,b!) { #RBA $m=d; {a,~b} $m=null, $m'=a {~a,b} $m!=null, b=$m || false, "
    "$m'=null }\n"
    "states(a?,b!) { #CA q* -> r : {a} $m'=a; r -> q : {b} b=$m, $m'=null }\n"
    "main(p?,q?,o!) {\n"
    "  chain<2>(p,x) two<sync>(q,x) rules<0>(x,y) states(y,z)\n"
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

/* One go with the allocator; the status of what failed. */
static gordian_status go(int kind, const struct text *text, const gordian_allocator *allocator,
                         gordian_error *error)
{
    gordian_circuit *circuit = NULL;
    gordian_graph *graph = NULL, *part = NULL;
    gordian_fault fault;
    gordian_status status;
    bool same;
    if (kind == 2) {
        status = aut_read(&graph, text, NULL, allocator, &fault, error);
        if (status == GORDIAN_OK)
            status = gordian_graph_minimise(&part, graph, error);
        if (status == GORDIAN_OK)
            status = graph_isomorphic(graph, part, &same, error);
        gordian_graph_close(part);
    } else {
        gordian_circuit_options options = {.data = kind == 0 ? "0,1" : NULL,
                                           .allocator = allocator};
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
    return test_done();
}
