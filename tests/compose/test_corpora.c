/* What circuits written by others showed: each construct in a small circuit of our own, counted by
 * hand, and held against the same circuit said with nothing but states and plain guards. Products
 * are made by the oracle, two automata at a time, and by the engine, which must agree. */
#include "compose.h"

#include "engines/compose/format/aut.h"
#include "foundation/base/io/output.h"

#include <gordian/compose.h>

/* ------------------------------------------------------------------ counts and twins */

struct construct {
    const char *what;
    const char *text, *main, *data;
    size_t states, transitions;
    const char *twin; /* the same by other means, or NULL */
};

static const struct construct constructs[] = {
    /* code that nobody can read writes, too */
    {"foreign writer", "red(a!) { #JAVA \"P.red\" } main() { red(a) fifo1(a,b) fifo1(b,a) }", NULL,
     NULL, 4, 4, "red(a!) { #RBA {a} true } main() { red(a) fifo1(a,b) fifo1(b,a) }"},
    {"foreign writer at a node with another",
     "red(a!) { #C \"red\" } main(x?,b!) { red(a) fifo1(x,a) sync(a,b) }", NULL, NULL, 2, 5,
     "red(a!) { #RBA {a} true } main(x?,b!) { red(a) fifo1(x,a) sync(a,b) }"},
    {"foreign atoms only", "p(a!) { #PROMELA \"p\" } q(a?) { #Java \"q\" } main() { p(a) q(a) }",
     NULL, NULL, 1, 1, NULL},
    {"a foreign reader alone", "q(a?) { #MAUDE \"q\" } main(a?) { q(a) }", NULL, "0,1", 1, 2, NULL},
    {"a foreign component of two ports", "main(a?,b!) { #JAVA \"A.b\" }", NULL, NULL, 1, 3,
     "main(a?,b!) { #RBA {a} true {b} true {a,b} true }"},
    {"two foreign writers", "p(a!) { #C \"p\" } main(b!) { p(a) p(a) fifo1(a,b) }", NULL, NULL, 2,
     3, "p(a!) { #RBA {a} true } main(b!) { p(a) p(a) fifo1(a,b) }"},
    /* ports that are only negated */
    {"a port that is only negated is free", "main(a?,b?) { #RBA {a,~b} true }", NULL, NULL, 1, 2,
     "main(a?,b?) { #RBA {a} true {b} true }"},
    {"a port that is only negated, with rules that do not mention it",
     "main(a?,b?,c?) { #RBA {a,~c} true {b} true }", NULL, NULL, 1, 4,
     "main(a?,b?,c?) { #RBA {a} true {b} true {c} true {b,c} true }"},
    {"a free port leaves the memory alone",
     "main(a?,b?) { #RBA {a,~b} $m=null, $m'=a {a,~b} $m!=null, $m'=null }", NULL, "0,1", 3, 12,
     "main(a?,b?) { #RBA {a} $m=null, $m'=a {a} $m!=null, $m'=null {b} true }"},
    {"a port that one rule fires is not free", "main(a?,b?) { #RBA {a,~b} true {b} b=0 }", NULL,
     "0,1", 1, 3, NULL},
    /* predicates */
    {"truth values are no data", "main(a?,b!) { filter<{[0,true] [1,false]}>(a,b) }", NULL, NULL, 1,
     2, "main(a?,b!) { #RBA {a,b} a=0, b=0 {a} a=1 }"},
    {"truth values in rules",
     "k<P:t>(a?) { #RBA {a} P(a) } main(a?) { k<{[0,false] [1,true] [2,true]}>(a) }", NULL, NULL, 1,
     2, "main(a?) { #RBA {a} a=1 {a} a=2 {a} a=0, a=1 }"},
    /* cells that count */
    {"a cell that counts",
     "main(a?) { #RBA $m=0; {a} $m=0, $m'=1 {a} $m=1, $m'=2 {a} $m=2, $m'=0 }", NULL, NULL, 3, 3,
     "main(a?) { #CA x* -> y : {a} y -> z : {a} z -> x : {a} }"},
    {"a cell that counts, with data",
     "main(a?) { #RBA $m=7; {a} $m=7, $m'=8 {a} $m=8, $m'=7, a=0 }", NULL, "0,1", 2, 3,
     "main(a?) { #CA x* -> y : {a} y -> x : {a} a=0 }"},
    {"a cell that is anything but",
     "main(a?) { #RBA $m=7; {a} $m=7, $m'!=7, $m'!=null, $n=8 {a} $m!=7, $m'=7 }", NULL, "0,1", 1,
     0, NULL},
    {"a cell that a port meets by way of another",
     "main(a?,b!) { #RBA $m=3; {a} $m'=a, $n'=$m {b} b=$n }", NULL, NULL, 2, 3, NULL},
    {"two cells, one for data",
     "main(a?,b!) { #RBA $m=5; {a} $m=5, $m'=6, $d'=a {b} $m=6, $m'=5, b=$d, $d'=null }", NULL,
     "0,1", 3, 4, "main(a?,b!) { fifo1(a,b) }"},
    /* rules without braces */
    {"bare sync", "main(a?,b!) { #RBA a=b }", NULL, "0,1", 1, 2, "main(a?,b!) { sync(a,b) }"},
    {"bare fifo1",
     "main(a?,b!) { #RBA $m=*; a!=*, $m'=a, b=*, $m=*  b!=*, a=*, b=$m, $m'=*, $m!=* }", NULL,
     "0,1", 3, 4, "main(a?,b!) { fifo1(a,b) }"},
    {"bare syncdrain", "main(a?,b?) { #RBA a!=*, b!=*  a=*, b=* }", NULL, "0,1", 1, 4,
     "main(a?,b?) { syncdrain(a,b) }"},
    {"bare lossysync", "main(a?,b!) { #RBA a!=*, b!=*, a=b  a!=*  a=*, b=* }", NULL, "0,1", 1, 4,
     "main(a?,b!) { lossysync(a,b) }"},
    {"bare filter",
     "f<P:string>(a?,b!) { #RBA a!=*, P(a), a=b  a!=*, b=*, !P(a) } main(a?,b!) { f<\"even\">(a,b) "
     "}",
     NULL, "0,1,2", 1, 3, "main(a?,b!) { filter<\"even\">(a,b) }"},
    {"a bare rule that leaves it open who fires", "main(a?,b!,c!) { #RBA a=b, c!=*  b=*, a=c }",
     NULL, NULL, 1, 3, "main(a?,b!,c!) { #RBA {c} true {a,b,c} true {a,c} true }"},
    {"a bare rule with a cell that may be empty", "main(b!,c!) { #RBA $m=1; b=$m, c!=*, $m'=* }",
     NULL, NULL, 2, 2, "main(b!,c!) { #CA x* -> y : {b,c} b=1, c=1 y -> y : {c} c=1 }"},
    {"bare and braced rules", "main(a?,b!) { #RBA $m=0; {a} $m=0, $m'=1  b!=*, $m=1, $m'=0 }", NULL,
     NULL, 2, 2, "main(a?,b!) { #CA x* -> y : {a} y -> x : {b} }"},
    {"null and *", "main(a?) { #RBA {a} $m=*, $m'=a {a} $m!=*, $m'=null }", NULL, NULL, 2, 2, NULL},
    {"predicates", "main(a?,b!) { #P (a=b)&(a!=null) | (a!=null)&(b=null) }", NULL, "0,1", 1, 4,
     "main(a?,b!) { lossysync(a,b) }"},
    {"predicates with memory",
     "main(a?,b!) { #P (a!=null)&(b=null)&($q=null)&($q'=a)"
     " (b=$q)&($q!=null)&($q'=null)&(a=null) }",
     NULL, "0,1", 3, 4, "main(a?,b!) { fifo1(a,b) }"},
    /* functions and numbers */
    {"arithmetic", "main(a?,b!) { #RBA {a,b} b = a + 2 }", NULL, "0,2,4", 1, 2,
     "main(a?,b!) { transform<{[0,2] [2,4]}>(a,b) }"},
    {"more arithmetic", "main(a?,b?,c!) { #RBA {a,b,c} c = (a * b - 1) % 3 }", NULL, "0,1,2", 1, 4,
     "main(a?,b?,c!) { binop<{[[1,1],0] [[1,2],1] [[2,1],1] [[2,2],0]}>(a,b,c) }"},
    {"arithmetic with a cell", "main(a?) { #RBA $m=0; {a} $m' = $m + a }", NULL, "0,1,2", 3, 6,
     NULL},
    {"a function of two", "main(a?,b?,c!) { binop<\"add\">(a,b,c) }", NULL, "0,1", 1, 3,
     "main(a?,b?,c!) { binop<{[[0,0],0] [[0,1],1] [[1,0],1]}>(a,b,c) }"},
    {"identity", "main(a?,b!) { transform<\"identity\">(a,b) }", NULL, "0,1", 1, 2,
     "main(a?,b!) { sync(a,b) }"},
    {"a constant function", "main(a?,b!) { transform<{[*,7]}>(a,b) }", NULL, "0,7", 1, 2,
     "main(a?,b!) { #RBA {a,b} b=7 }"},
    {"the first row that fits", "main(a?,b!) { transform<{[0,1] [*,0]}>(a,b) }", NULL, "0,1,2", 1,
     3, "main(a?,b!) { transform<{[0,1] [1,0] [2,0]}>(a,b) }"},
    /* other atoms */
    {"#PR", "f(a?,b!) { #PR Fifo[1](a;b) } main(a?,b!) { f(a,b) }", NULL, "0,1", 3, 4,
     "main(a?,b!) { fifo1(a,b) }"},
    {"#PR: a row of buffers", "fifo1(a?,b!) { #PR Fifo[3](a;b) } main(a?,b!) { fifo1(a,b) }", NULL,
     NULL, 8, 16, NULL},
    {"#PR by its own name", "sync(a?,b!) { #PR Sync[1](a;b) } main(a?,b!) { sync(a,b) }", NULL,
     "0,1", 1, 2, NULL},
    {"#PR with its ports in another order",
     "d(b!,a?) { #PR LossySync(a;b) } main(a?,b!) { d(b,a) }", NULL, NULL, 1, 2,
     "main(a?,b!) { lossysync(a,b) }"},
    {"#PR with parameters", "d<k:int>(a?,b!) { #PR FifoFull[k](a;b) } main(a?,b!) { d<1>(a,b) }",
     NULL, "0,1", 3, 4, "main(a?,b!) { fifofull<1>(a,b) }"},
    {"#PR merger and drain",
     "m(a?,b?,c!) { #PR Merger[1](a,b;c) } s(a?,b?) { #PR SyncDrain(a,b;) }"
     "main(a?,b?,d?) { m(a,b,c) s(c,d) }",
     NULL, NULL, 1, 2, "main(a?,b?,d?) { merger(a,b,c) syncdrain(c,d) }"},
    {"#WA", "main(a?,b!) { #WA q0* -> q1 : {a}, true, {} q1 -> q0 : {b}, true, {} }", NULL, NULL, 2,
     2, "main(a?,b!) { #CA p* -> q : {a} q -> p : {b} }"},
    {"#WA with jobs",
     "main(a?,b!) { #WA q0* : x <= 5 q0 -> q1 : {a}, x == 5, {x} q1 : x >= 2 && x <= 9"
     " q1 -> q0 : {a,b}, (x >= 3), {} q1 -> q1 : {b}, false, {} }",
     NULL, NULL, 2, 2, "main(a?,b!) { #CA p* -> q : {a} q -> p : {a,b} }"},
    /* a port that is put out and read inside, too: all readers get it */
    {"a port '!' that is read", "main(a?,b!,c!) { sync(a,b) fifo1(b,c) }", NULL, NULL, 2, 2,
     "main(a?,b!,c!) { #CA p* -> q : {a,b} q -> p : {c} }"},
    {"#SCA", "main(a?,b!) { #SCA q0 : initial q0 -> q1 : {a}, 3 q1 -> q0 : {b}, 0.5 }", NULL, NULL,
     2, 2, "main(a?,b!) { #CA p* -> q : {a} q -> p : {b} }"},
    /* chances */
    {"chances", "main(a?,b!) { #RBA {a} $m=null, $m'=[0.9 : a, 0.1 : null] {b} $m=b, $m'=null }",
     NULL, NULL, 2, 3, "main(a?,b!) { #CA p* -> p : {a} p -> q : {a} q -> p : {b} }"},
    {"chances of a parameter, one of them 0",
     "f<t:float>(a?,b!) { #RBA {a} $m=null, $m'=[t : a, 1-t : null] {b} $m=b, $m'=null }"
     "main(a?,b!) { f<1>(a,b) }",
     NULL, NULL, 2, 2, "main(a?,b!) { fifo1(a,b) }"},
    /* strings */
    {"the empty string is a datum", "main(a?,b!) { fifofull<\"\">(a,b) }", NULL, NULL, 2, 2, NULL},
    {"strings with blanks and commas",
     "main(a?) { #RBA {a} a=\"x, y\" {a} a=\"p|q\" {a} a=\"k=v\" {a} a=\"\" }", NULL, NULL, 1, 4,
     NULL},
    {"a list with quotes", "main(a?) { #RBA {a} a!=\"x y\" }", NULL, "\"x y\",\"\",z", 1, 2, NULL},
    /* ports that are declared wrongly */
    {"a port declared ? and written inside", "main(p?) { fifo1(a,p) }", NULL, NULL, 2, 2,
     "main(p!) { fifo1(a,p) }"},
    {"a port declared ?, written and read inside", "main(p?,b!) { fifo1(a,p) sync(p,b) }", NULL,
     NULL, 2, 2, "main(p:,b!) { fifo1(a,p) sync(p,b) }"},
    {"a cell with a table of its own",
     "k<f:t>(a?) { #RBA $m=1; {a} $m'=f($m) } main(a?) { k<{[1,2] [2,3] [3,1]}>(a) }", NULL, NULL,
     3, 3, "main(a?) { #CA x* -> y : {a} y -> z : {a} z -> x : {a} }"},
};

/* The engine's product. */
static gordian_graph *engine_product(const gordian_circuit *circuit, bool full)
{
    gordian_graph *graph = NULL;
    gordian_compose_options options;
    gordian_compose_result result;
    gordian_compose_options_init(&options);
    options.full = full;
    options.engine = "cpu";
    options.threads = 1;
    CHECK(gordian_compose_graph(&graph, circuit, &options, NULL, NULL, &result, NULL) ==
          GORDIAN_OK);
    gordian_compose_result_free(&result);
    return graph;
}

static void check_twin(const struct construct *construct, const gordian_graph *graph)
{
    gordian_error error = {0};
    bool same = false;
    gordian_graph *twin = product_of_text(construct->twin, NULL, construct->data);
    CHECK(twin);
    if (twin && graph)
        CHECK(graph_isomorphic(graph, twin, &same, &error) == GORDIAN_OK);
    CHECK_MSG(same, "%s: not what its twin does (%zu transitions)", construct->what,
              twin ? twin->arc_count : 0);
    gordian_graph_close(twin);
}

static void check_constructs(const struct construct *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t state;
        gordian_circuit *circuit = read_circuit(list[i].text, list[i].main, list[i].data);
        gordian_graph *graph = product_of(circuit);
        CHECK_MSG(graph && graph->state_count == list[i].states &&
                      graph->arc_count == list[i].transitions,
                  "%s: %u/%zu, not %zu/%zu", list[i].what, graph ? graph->state_count : 0,
                  graph ? graph->arc_count : 0, list[i].states, list[i].transitions);
        if (graph) {
            gordian_graph *other = engine_product(circuit, false);
            CHECK_MSG(other && graph_same(graph, other, &state), "%s: the engine differs",
                      list[i].what);
            gordian_graph_close(other);
        }
        if (graph && list[i].twin)
            check_twin(&list[i], graph);
        gordian_graph_close(graph);
        gordian_circuit_close(circuit);
    }
}

/* ------------------------------------------------------------------ --full */

static void check_full(const char *source, bool treo, size_t states, size_t transitions)
{
    uint32_t state;
    gordian_error error = {0};
    gordian_graph *plain = NULL;
    gordian_circuit *circuit = treo ? read_circuit(source, NULL, NULL) : read_ca(source, NULL);
    REQUIRE(circuit);
    gordian_graph *graph = engine_product(circuit, true);
    CHECK(plain_product(&plain, circuit, true, NULL, &error) == GORDIAN_OK);
    CHECK_MSG(graph && graph->state_count == states && graph->arc_count == transitions,
              "%s: %u/%zu", source, graph ? graph->state_count : 0, graph ? graph->arc_count : 0);
    CHECK(graph && plain && graph_same(graph, plain, &state));
    gordian_graph_close(graph);
    gordian_graph_close(plain);
    gordian_circuit_close(circuit);
}

/* States that an automaton cannot reach by itself are states. */
static void check_whole(void)
{
    check_full("automaton x (a, b) { 0* -> 0 : {a}  1 -> 0 : {b} }", false, 2, 2);
    check_full("main(a?,b?) { #CA p* -> p : {a} q -> r : {b} r -> q : {b} s -> p : {a,b} }", true,
               4, 4);
    check_full("automaton x (a) { memory m = 0  p* -> p : {a} $m' = 1  q -> p : {a} $m = 0 }",
               false, 3, 3);
    check_full("automaton x (a, b) { 0* -> 0 : {a}  1 -> 0 : {b} }"
               "automaton y (b, c) { 0* -> 1 : {c}  1 -> 0 : {b} 2 -> 2 : {b} }",
               false, 6, 8);
}

/* ------------------------------------------------------------------ headers of .aut */

static void check_header(const char *source, bool wanted)
{
    struct text text;
    bool cut = !wanted;
    gordian_graph *graph;
    gordian_error error = {0};
    REQUIRE(text_copy(&text, "x.aut", source, strlen(source), NULL, &error) == GORDIAN_OK);
    CHECK(aut_read(&graph, &text, &cut, NULL, NULL, &error) == GORDIAN_OK);
    CHECK_MSG(cut == wanted, "%s: %d", source, cut);
    gordian_graph_close(graph);
    text_free(&text);
}

static void check_headers(void)
{
    check_header("des (0,1,1)            \n(0,\"a\",0)\n", false);
    check_header("des (0,1,1)  \r\n(0,\"a\",0)\r\n", false);
    check_header("des ( 0 , 1 , 1 )\n(0,\"a\",0)\n", false);
    check_header("des (0,1,1)", true);
    check_header("des (0,1,1)\t\t\n(0,\"a\",0)\n", true); /* of a run that was killed */
    check_header("des (0,2,1)   \n(0,\"a\",0)\n", true);
}

/* ------------------------------------------------------------------ imports, and main */

struct library {
    const char *path, *text;
};

static const struct library library[] = {
    {"lib/c.treo", "c(a?,b!) { sync(a,b) }"},
    {"lib/c.rba.treo", "c(a?,b!) { fifo1(a,b) }"},
    {"lib/d.treo", "d(a?,b!) { fifo1(a,x) fifo1(x,b) }"},
    {"lib/e.treo", "import lib.g;\ne<P:string>(a?,b!) { g<P>(a,b) }"},
    {"lib/g.treo", "g<P:string>(a?,b!) {\n  #RBA {a,b} P(a), a=b\n}"},
    {"reo/fifo1.rba.treo", "fifo1(a?,b!) { #RBA {a,b} a=b }"},
};

static gordian_status load(void *context, const char *from, const char *path,
                           gordian_import *import, gordian_error *error)
{
    (void)context, (void)from;
    for (size_t i = 0; i < sizeof library / sizeof *library; i++) {
        if (strcmp(library[i].path, path) != 0)
            continue;
        gordian_bytes bytes = {library[i].text, strlen(library[i].text)};
        gordian_source source = gordian_source_bytes(&bytes);
        return gordian_import_read(import, path, &source, error);
    }
    return GORDIAN_STATUS_END;
}

static void check_read(const char *name, const char *source, size_t states, const char *title,
                       const char *message)
{
    struct text text;
    gordian_circuit *circuit;
    gordian_fault fault;
    gordian_error error = {0};
    gordian_circuit_options options = {.import = load};
    REQUIRE(text_copy(&text, name, source, strlen(source), NULL, &error) == GORDIAN_OK);
    gordian_status status = treo_read(&circuit, &text, &options, &fault, &error);
    gordian_graph *graph = product_of(circuit);
    if (message)
        CHECK_MSG(status == GORDIAN_STATUS_INPUT && strstr(error.message, message), "%s: %s",
                  source, error.message);
    else
        CHECK_MSG(graph && graph->state_count == states && strcmp(circuit->title, title) == 0,
                  "%s: %s", source, error.message);
    gordian_graph_close(graph);
    gordian_circuit_close(circuit);
    text_free(&text);
}

static void check_reading(void)
{
    check_read("m.treo", "import lib.c;\nmain(a?,b!) { c(a,b) }", 2, "main", NULL);
    check_read("m.treo", "import lib.d;\nmain(a?,b!) { d(a,b) }", 4, "main", NULL);
    check_read("m.treo", "import reo.fifo1;\nmain(a?,b!) { fifo1(a,b) }", 1, "main", NULL);
    check_read("m.treo", "import reo.sync; import lossy;\nmain(a?,b!) { sync(a,b) }", 1, "main",
               NULL);
    check_read("m.treo", "import no.such.place.sync;\nmain(a?,b!) { sync(a,b) }", 0, NULL,
               "cannot find 'no.such.place.sync'");
    check_read("m.treo", "import lib.sync;\nmain(a?,b!) { sync(a,b) }", 0, NULL,
               "cannot find 'lib.sync'");
    check_read("m.treo", "import reo.lib.sync;\nmain(a?,b!) { sync(a,b) }", 0, NULL,
               "cannot find 'reo.lib.sync'");
    check_read("some/where/two.treo", "one(a?,b!) { fifo1(a,b) } two(a?,b!) { one(a,x) one(x,b) }",
               4, "two", NULL);
    check_read("one.rba.treo", "one(a?,b!) { fifo1(a,b) } two(a?,b!) { one(a,x) one(x,b) }", 2,
               "one", NULL);
    check_read("two.treo", "main(a?,b!) { fifo1(a,b) } two(a?,b!) { sync(a,b) }", 2, "main", NULL);
    check_read("three.treo", "one(a?,b!) { fifo1(a,b) } two(a?,b!) { sync(a,b) }", 0, NULL,
               "There are one, two");
}

/* ------------------------------------------------------------------ functions by name, notes,
 * places */

static void check_define(const char *source, const char *define, size_t transitions,
                         const char *message)
{
    struct text text;
    gordian_circuit *circuit;
    gordian_fault fault;
    gordian_error error = {0};
    gordian_circuit_options options = {.define = define, .data = "0,1,2"};
    REQUIRE(text_copy(&text, "d.treo", source, strlen(source), NULL, &error) == GORDIAN_OK);
    gordian_status status = treo_read(&circuit, &text, &options, &fault, &error);
    gordian_graph *graph = product_of(circuit);
    if (message)
        CHECK_MSG(status == GORDIAN_STATUS_INPUT && strstr(error.message, message), "%s: %s",
                  define, error.message);
    else
        CHECK_MSG(graph && graph->arc_count == transitions, "%s: %s (%zu)", define, error.message,
                  graph ? graph->arc_count : 0);
    gordian_graph_close(graph);
    gordian_circuit_close(circuit);
    text_free(&text);
}

static void check_defines(void)
{
    static const char java[] = "main(a?,b!) { transformer<\"F.turn\">(a,b) }";
    static const char bare[] = "main(a?,b?,c!) { binop<F.join>(a,b,c) }";
    static const char rule[] = "f<k:string>(a?) { #RBA {a} k(a) } main(a?) { f<\"R.Even\">(a) }";
    check_define(java, "F.turn={[0,1] [1,0]}", 2, NULL);
    check_define(java, "other=<1>; F.turn = {[*,2]};;", 3, NULL);
    check_define(java, "F.turn=succ", 3, NULL);
    check_define(java, NULL, 0, "--define 'F.turn=");
    check_define(java, "F.turn=nothing", 0, "no built-in function 'nothing'");
    check_define(java, "F.turn={[0,1}", 0, "expected ',' or ']'");
    check_define(java, "F.turn", 0, "expected '='");
    check_define(java, "F.turn=add", 0, "takes 1 argument, not 2");
    check_define(bare, "F.join=add", 6, NULL);
    check_define(bare, "F.join={[[0,1],2]}", 1, NULL);
    check_define(rule, "R.Even=even", 2, NULL);
    check_define(rule, "R.Even=<1,2>", 2, NULL);
    check_define(rule, "R.Even={[0,true] [1,false] [2,false]}", 1, NULL);
    check_define(rule, NULL, 0, "--define 'R.Even=");
}

/* A parameter is wrong where it was given; where it is used comes second. */
static void check_places(void)
{
    static const char source[] = "import lib.e;\nmain(a?,b!) {\n  sync(a,x) e<\"odd2\">(x,b)\n}";
    struct text text;
    gordian_circuit *circuit;
    gordian_fault fault;
    gordian_error error = {0};
    gordian_circuit_options options = {.import = load};
    REQUIRE(text_copy(&text, "m.treo", source, strlen(source), NULL, &error) == GORDIAN_OK);
    CHECK(treo_read(&circuit, &text, &options, &fault, &error) == GORDIAN_STATUS_INPUT);
    CHECK_MSG(strcmp(fault.file, "m.treo") == 0 && error.line == 3 && error.column == 13,
              "%s:%d:%d", fault.file, (int)error.line, (int)error.column);
    CHECK_MSG(strcmp(fault.inner_file, "lib/g.treo") == 0 && fault.inner_line == 2 &&
                  fault.inner_column == 14,
              "%s:%d:%d", fault.inner_file, (int)fault.inner_line, (int)fault.inner_column);
    CHECK(strstr(fault.line, "e<\"odd2\">") && strstr(fault.inner_text, "P(a)"));
    text_free(&text);
}

static void check_notes(void)
{
    static const struct {
        const char *text, *note;
    } cases[] = {
        {"main(p?) { fifo1(a,p) }", "test.treo:1:12: 'fifo1' writes to 'p', a port declared '?'"},
        {"main(a?,b!) { sync(a,b) fifo1(b,c) }",
         "test.treo:1:25: 'fifo1' reads 'b', a port declared '!': the body decides its direction"},
        {"main(a?) { #WA q0* -> q0 : {a}, x==1, {} }", "the progress of jobs"},
        {"main(a?) { #SCA q0* -> q0 : {a}, 7 }", ""},
        {"main(a?) { #WA q0* -> q0 : {a}, true, {} }", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gordian_circuit *circuit = read_circuit(cases[i].text, NULL, NULL);
        REQUIRE(circuit);
        const char *notes = gordian_circuit_notes(circuit);
        CHECK_MSG(*cases[i].note ? strstr(notes, cases[i].note) != NULL : !*notes, "%s: %s",
                  cases[i].text, notes);
        gordian_circuit_close(circuit);
    }
}

/* ------------------------------------------------------------------ labels with odd data */

static void check_shown(void)
{
    static const char source[] =
        "main(a?) { #RBA {a} a=\"x, y\" {a} a=\"p|q's %\" {a} a=\"\" {a} a=\"z\" }";
    static const char *const labels[] = {"a=''", "a='p%7cq%27s %25'", "a='x, y'", "a=z"};
    gordian_circuit *circuit = read_circuit(source, NULL, NULL);
    gordian_graph *graph = product_of(circuit);
    struct output out;
    gordian_error error = {0};
    REQUIRE(graph && output_open(&out, OUTPUT_MEMORY));
    for (size_t i = 0; i < 4; i++) {
        bool found = false;
        for (size_t k = 0; k < graph->arc_count; k++)
            found |= strcmp(labels_text(&graph->labels, graph->arcs[k].label), labels[i]) == 0;
        CHECK_MSG(found, "%s", labels[i]);
    }
    /* and back: written as .ca, read, composed */
    CHECK(ca_write_graph(graph, NULL, "x", &out, &error) == GORDIAN_OK);
    output_char(&out, '\0');
    gordian_circuit *again = read_ca(out.buffer, NULL);
    gordian_graph *back = product_of(again);
    bool same = false;
    CHECK(back && graph_isomorphic(graph, back, &same, &error) == GORDIAN_OK && same);
    output_close(&out);
    gordian_graph_close(graph);
    gordian_graph_close(back);
    gordian_circuit_close(circuit);
    gordian_circuit_close(again);
}

/* ------------------------------------------------------------------ philosophers with counters */

/* States as numbers in a cell: as many states and transitions as with states that have names. */
static void check_philosophers(void)
{
    static const struct construct philosophers[] = {
        {"philosophers whose states are numbers",
         "phil(l!,r!,d!,e!) { #RBA $m=0; {l} $m=0, $m'=1 {r} $m=1, $m'=2 {d} $m=2, $m'=3"
         " {e} $m=3, $m'=0 }"
         "fork(t?,s?,u?,v?) { #RBA $m=0; {t} $m=0, $m'=1 {s} $m=0, $m'=1 {u} $m=1, $m'=0"
         " {v} $m=1, $m'=0 }"
         "main() { { phil(l[i],r[i],d[i],e[i]) fork(l[i],r[(i+1)%3],d[i],e[(i+1)%3]) | i:<0..2> } "
         "}",
         NULL, NULL, 26, 76,
         "phil(l!,r!,d!,e!) { #CA a* -> b : {l} b -> c : {r} c -> d : {d} d -> a : {e} }"
         "fork(t?,s?,u?,v?) { #CA f* -> g : {t} f -> g : {s} g -> f : {u} g -> f : {v} }"
         "main() { { phil(l[i],r[i],d[i],e[i]) fork(l[i],r[(i+1)%3],d[i],e[(i+1)%3]) | i:<0..2> "
         "} }"},
    };
    check_constructs(philosophers, 1);
}

int main(void)
{
    check_constructs(constructs, sizeof constructs / sizeof *constructs);
    check_whole();
    check_headers();
    check_reading();
    check_philosophers();
    check_defines();
    check_places();
    check_notes();
    check_shown();
    return test_done();
}
