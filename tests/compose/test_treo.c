/* The language: what it means, and what is said about texts that mean nothing. */
#include "compose.h"

/* ------------------------------------------------------------------ meaning */

static const struct {
    const char *what;
    const char *text, *main, *data;
    size_t states, transitions;
} meanings[] = {
    {"one component is the main one", "x(a?,b!) { fifo1(a,b) }", NULL, NULL, 2, 2},
    {"comments", "// one\nmain(a?,b!) /* two\n */ { fifo1(a,b) } // three", NULL, NULL, 2, 2},
    {"equals sign", "main = (a?,b!) { fifo1(a,b) }", NULL, NULL, 2, 2},
    {"another name", "buffer = fifo1 main(a?,b!) { buffer(a,b) }", NULL, NULL, 2, 2},
    {"body without braces", "main(a?,b!) fifo1(a,b)", NULL, NULL, 2, 2},
    {"semicolon and star", "main(a?,d!) { fifo1(a,b) ; fifo1(b,c) * sync(c,d) | true }", "main",
     NULL, 4, 6},
    {"types", "main(a?String,b!(int*int)^nat) { fifo1(a,b) }", NULL, NULL, 2, 2},
    {"no directions", "main(a,c) { fifo1(a,b) fifo1(b,c) }", NULL, NULL, 4, 6},
    {"set of instances", "main(a[0]?,a[3]!) { fifo1(a[i],a[i+1]) | i:<0..2> }", NULL, NULL, 8, 16},
    {"set in a set", "main(a[0]?,a[3]!) { { fifo1(a[i],a[i+1]) | i:<0..n-1> } | n=3 }", NULL, NULL,
     8, 16},
    {"several variables", "main() { fifo1(a[i][k],b[i][k]) | i:<1..2>, k:<1..2>, i<k }", NULL, NULL,
     2, 2},
    {"conditions", "main() { fifo1(a[i],b[i]) | i:<1..6>, i%2=0, i!=4 }", NULL, NULL, 4, 12},
    {"or, not, implies", "main() { fifo1(a[i],b[i]) | i:<1..6>, i=1 || !(i<6), i=6 -> 1=1 }", NULL,
     NULL, 4, 12},
    {"later values", "main() { fifo1(a[i],b[i]) | i<=n, i:<1..m>, m=n+2, n=2 }", NULL, NULL, 4, 12},
    {"forall, exists",
     "main() { fifo1(a[i],b[i]) | i:<1..4>, forall k:<1..2> (i>k), exists k:<4..9> k=i }", NULL,
     NULL, 2, 2},
    {"for", "main(a[0]?,a[3]!) { for i = 0..2 fifo1(a[i],a[i+1]) }", NULL, NULL, 8, 16},
    {"for with braces", "main(a[0]?,a[2]!) { for i=0..1 { fifo1(a[i],a[i+1]) } }", NULL, NULL, 4,
     6},
    {"if", "main<k:int>() { if k=1 fifo1(a,b) else k=2 {fifo1(a,b) fifo1(b,c)} else sync(a,b) }",
     "main<1>", NULL, 2, 2},
    {"else formula",
     "main<k:int>() { if k=1 fifo1(a,b) else k=2 {fifo1(a,b) fifo1(b,c)} else sync(a,b) }",
     "main<2>", NULL, 4, 6},
    {"else", "main<k:int>() { if k=1 fifo1(a,b) else k=2 {fifo1(a,b) fifo1(b,c)} else sync(a,b) }",
     "main<3>", NULL, 1, 1},
    {"else if", "main<k:int>() { if (k=1) {} else if k>2 {fifo1(a,b)} else {} }", "main<3>", NULL,
     2, 2},
    {"recursion that ends", "c<k:int>(a?,b!) { if k=1 fifo1(a,b) else { fifo1(a,x) c<k-1>(x,b) } }",
     "c<5>", NULL, 32, 108},
    {"size from the ports", "f(a[1..n]?,b!) { { fifo1(a[i],x[i]) sync(x[i],b) | i:<1..n> } }",
     "f(p,q,r)", NULL, 4, 11},
    {"two arrays of one size", "f(a[1..n]?,b[0..n-1]!) { fifo1(a[i],b[i-1]) | i:<1..n> }",
     "f(x[1..3],y[1..3])", NULL, 8, 56},
    {"component as parameter",
     "main(a?,b!) { two<fifo1>(a,b) } two<f(?,!)>(a?,b!) { f(a,x) f(x,b) }", NULL, NULL, 4, 6},
    {"components as parameters",
     "main(a[1..n]?,b!) { legs<f[1..n],sync>(a[1..n],b) | f[1..n] = <fifo1,sync,lossysync>, n=3 }"
     " legs<f[1..n](?,!),g(?,!)>(a[1..n]?,b!) { { f[i](a[i],m) | i:<1..n> } g(m,b) }",
     "legs<fifo1,sync,lossysync,sync>(p[1..3],b)", NULL, 2, 15},
    {"an array of components",
     "main(a[1..n]?,b!) { legs<f[1..n],sync>(a[1..n],b) | f[1..n] = <fifo1,sync,lossysync> }"
     " legs<f[1..n](?,!),g(?,!)>(a[1..n]?,b!) { { f[i](a[i],m) | i:<1..n> } g(m,b) }",
     "main(p[1..3],b)", NULL, 2, 15},
    {"component defined on the spot", "main(a?,b!) { c(a,x) c(x,b) | c(p?,q!) { fifo1(p,q) } }",
     NULL, NULL, 4, 6},
    {"component written out", "main(a?,b!) { (p?,q!) { fifo1(p,q) } (a,b) }", NULL, NULL, 2, 2},
    {"arithmetic", "main() { fifo1(a[2^3-2*3],b[-(7/2)+3+9%4]) sync(a[2],b[1]) }", NULL, NULL, 2,
     2},
    {"built-in import", "import reo.fifo1;\nmain(a?,b!) { fifo1(a,x) reo.fifo1(x,b) }", NULL, NULL,
     4, 6},
    {"section", "section s.t;\nmain(a?,b!) { s.t.f(a,b) } f(a?,b!) { fifo1(a,b) }", NULL, NULL, 2,
     2},
    {"own definitions come first", "fifo1(a?,b!) { sync(a,b) } main(a?,b!) { fifo1(a,b) }", NULL,
     NULL, 1, 1},
    {"merger at a node", "main(a?,b?,c!) { sync(a,c) sync(b,c) }", NULL, NULL, 1, 2},
    {"replication at a node", "main(a?,b!,c!) { sync(a,b) sync(a,c) }", NULL, NULL, 1, 1},
    {"mixed port", "main(a?,c:) { fifo1(a,c) fifo1(c,d) }", NULL, NULL, 4, 6},
    {"both ends at one node", "main() { fifofull<0>(x,x) }", NULL, NULL, 1, 0},
    {"foreign code may do anything",
     "p(a!) { #JAVA \"A.b\" } q(a?) { Java:\"A.c\" } main() { p(a) fifo1(a,b) q(b) }", NULL, NULL,
     2, 2},
    {"rules and foreign code", "p(a!) { #JAVA \"A.b\" #RBA {a} a=1 } main() { p(a) fifo1(a,b) }",
     NULL, "0,1", 2, 2},
    {"states", "main(a?,b!) { #CA q0* -> q1 : {a} $m'=a; q1 -> q0 : {b} b=$m, $m'=null }", NULL,
     "0,1", 3, 4},
    {"states as the Reo compiler writes them",
     "main(x?,y!) { #CAM q0* -> q1 : {x}, m' = x; q1 -> q0 : {y}, y = m && m' = null; }", NULL,
     "0,1", 3, 4},
    {"port automata", "main(a?,b!) { #PA q0 : initial q0 -> q1 : {a} q1 -> q0 : {b} }", NULL, "0,1",
     2, 4},
    {"cells keep their values", "main(a?,b!) { #RBA {a} $m'=a {b} $m!=null }", NULL, "0,1", 3, 10},
    {"parameters in rules", "k<d:int>(a?) { #RBA {a} a=d } main(a?) { k<1>(a) }", NULL, "0,1", 1,
     1},
    {"parameters that are texts", "k<d:String>(a?) { #RBA {a} a=d } main(a?) { k<\"t\">(a) }", NULL,
     NULL, 1, 1},
    {"data from the text", "main(a?) { #RBA {a} a=0 {a} a=\"x\" {a} a!=7 }", NULL, NULL, 1, 2},
    {"arrays in rules", "main(a[1..3]?) { #RBA {a[1..2]} a[1]=a[2] {a[3]} true }", NULL, "0,1", 1,
     4},
    {"alternatives", "main(a?) { #RBA {a} (a=0 || a=1) && !(a=1) }", NULL, "0,1,2", 1, 1},
    {"tables in rules", "k<f:t>(a?,b!) { #RBA {a,b} b=f(a) } main(a?,b!) { k<{[0,1] [1,1]}>(a,b) }",
     NULL, "0,1", 1, 2},
    {"functions of two", "k<f:t>(a?,b?,c!) { #RBA {a,b,c} c=f(a,b) }",
     "k<{[[0,0],0] [[0,1],1] [[1,0],1] [[1,1],0]}>", "0,1", 1, 4},
};

static void check_meanings(void)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        gordian_graph *graph =
            product_of_text(meanings[i].text, meanings[i].main, meanings[i].data);
        CHECK_MSG(graph && graph->state_count == meanings[i].states &&
                      graph->arc_count == meanings[i].transitions,
                  "%s: %u/%zu, not %zu/%zu", meanings[i].what, graph ? graph->state_count : 0,
                  graph ? graph->arc_count : 0, meanings[i].states, meanings[i].transitions);
        gordian_graph_close(graph);
    }
}

/* ------------------------------------------------------------------ names */

static void check_names(const char *text, const char *main, const char *expected)
{
    char names[1000] = "";
    gordian_circuit *circuit = read_circuit(text, main, NULL);
    CHECK(circuit);
    for (uint32_t n = 0; circuit && n < circuit->name_count; n++) {
        static const char *const marks[] = {"", "?", "!", ":"};
        strcat(names, n ? " " : "");
        strcat(names, names_text(&circuit->names, n));
        strcat(names, circuit->boundary[n] ? marks[circuit->directions[n]] : "");
    }
    CHECK_MSG(strcmp(names, expected) == 0, "%s, not %s", names, expected);
    gordian_circuit_close(circuit);
}

static void check_all_names(void)
{
    check_names(
        "main(a[0]?,a[2]!) { c(a[0],a[2]) } c(a[0]?,a[2]!) { fifo1(a[i],a[i+1]) | i:<0..1> }", NULL,
        "a0? a1 a2!");
    check_names("main(a?,b!) { c(a,x) c(x,b) } c(p?,q!) { fifo1(p,x) fifo1(x,q) }", NULL,
                "a? b! c.x c_2.x x");
    check_names("main(a,b) { sync(a,x) sync(x,b) }", NULL, "a? b! x");
    check_names("main(a?,b?,c!) { sync(a,c) sync(b,c) }", NULL, "a? b? c! c.1 c.2");
    check_names("main(x[1]?,x1!) { sync(x[1],x1) }", NULL, "x1? x1~1!");
    check_names("main(x[1][2]?,y!) { sync(x[1][2],y) }", NULL, "x1_2? y!");
    check_names("main(b?,a!,unused!) { sync(b,a) }", NULL, "a! b? unused!");
}

/* ------------------------------------------------------------------ bad input */

static const struct {
    const char *text, *main, *data;
    unsigned line, column;
    const char *message; /* part of it */
} faults[] = {
    {"main() { fifo1(a,b) foo(b,c) }", NULL, NULL, 1, 21, "there is no component 'foo'"},
    {"main() { fifo9(a,b) }", NULL, NULL, 1, 10, "'fifo9'; did you mean 'fifo1'?"},
    {"ring() { fifo1(a,a) } chain<k>() { fifo1(a,b) }", "zz", NULL, 1, 1,
     "there is no component 'zz'. There are ring, chain<k>"},
    {"ring() { fifo1(a,a) } chain<k>() { fifo1(a,b) }", "rin", NULL, 1, 1,
     "'rin'; did you mean 'ring'? There are ring, chain<k>"},
    {"main() {\n  fifo1(a)\n}", NULL, NULL, 2, 3, "'fifo1' takes 2 ports, not 1"},
    {"main() { merger(a) }", NULL, NULL, 1, 10, "at least 2 ports"},
    {"f(a,b) {} main() { f(a) }", NULL, NULL, 1, 20, "'f' takes 2 ports, not 1"},
    {"f<k:int>(a) {} main() { f(a) }", NULL, NULL, 1, 25, "'f' takes 1 parameter, not 0"},
    {"main() { fifofull(a,b) }", NULL, NULL, 1, 10, "fifofull<d>(a?,b!): 1 parameter, not 0"},
    {"main(a,b) { main(a,b) }", NULL, NULL, 1, 13, "nested more than"},
    {"main(a,b) { main(a,x) main(x,b) }", NULL, NULL, 1, 13, "check that the recursion ends"},
    {"f<k:int>() { f<k+1>() }", "f<0>", NULL, 1, 14, "check that the recursion ends"},
    {"a = b b = a main() { a() }", NULL, NULL, 1, 11, "defined by itself"},
    {"main(a?) { #RBA {a} a=c }", NULL, NULL, 1, 23, "'c' is neither a port nor a parameter"},
    {"main(a?) { #RBA {b} true }", NULL, NULL, 1, 18, "'b' is not a port of 'main'"},
    {"main(a?,b!) { #RBA {a} a=b }", NULL, NULL, 1, 20, "'b', which does not fire"},
    {"main(a?,b!) { #RBA {~a,~b} true }", NULL, NULL, 1, 20, "must fire at least one"},
    {"main(a?,b!) { #RBA {a,~a} true }", NULL, NULL, 1, 24, "fires and does not fire"},
    {"main(a?) { #RBA {a} f(a) }", NULL, NULL, 1, 21, "no built-in predicate 'f'"},
    {"main(a?) { #RBA {a} even(a,a) }", NULL, NULL, 1, 21, "'even' takes 1 argument, not 2"},
    {"main(a?) { #RBA {a} a<1 }", NULL, NULL, 1, 22, "= and != only"},
    {"main(a?) { #RBA {a} a }", NULL, NULL, 1, 21, "expected a condition"},
    {"main(a?) { #RBA {a} a=2 }", NULL, "0,1", 1, 23, "'2' is not among the data values"},
    {"main(a?) { #RBA $m=2; {a} $m=a }", NULL, "0,1", 1, 20, "'2' is not among the data values"},
    {"main(a?) { #RBA $m=0; $m=0; {a} $m=a }", NULL, NULL, 1, 24, "two initial values"},
    {"main(a?) { #RBA {a} m'=a }", NULL, NULL, 1, 21, "not a memory cell"},
    {"main(a?) { #SA q0 -> q0 : {a}, }", NULL, NULL, 1, 5,
     "'main' has the semantics #SA, which is not"},
    {"main(a?) { #PR Nothing(a;) }", NULL, NULL, 1, 16, "no built-in component 'Nothing'"},
    {"main(a?) { #RBA $m' = 0; {a} true }", NULL, NULL, 1, 17, "this rule has no port"},
    {"main(a?,b!) { transform<{[[0,0],1]}>(a,b) }", NULL, NULL, 1, 24, "1 argument, not 2"},
    {"main(a?) { #RBA {a} $m' = [0.5 : a, 0.4 : null] }", NULL, NULL, 1, 28, "add up to 0.9"},
    {"main(a?) { #RBA {a} $m' = [\"x\" : a] }", NULL, NULL, 1, 28, "expected a probability"},
    {"main() { fifo1(a[i],b) }", NULL, NULL, 1, 18, "'i' has no value here"},
    {"main() { fifo1(a[i],b) | i<3 }", NULL, NULL, 1, 26, "'i' has no value here"},
    {"main() { fifo1(a[1/0],b) }", NULL, NULL, 1, 19, "division by zero"},
    {"main() { fifo1(a[9223372036854775807+1],b) }", NULL, NULL, 1, 37, "64 bits"},
    {"main() { fifo1(a[2^63],b) }", NULL, NULL, 1, 19, "64 bits"},
    {"main() { fifo1(a[9223372036854775808],b) }", NULL, NULL, 1, 18, "too large"},
    {"main() { fifo1(a[1..9999999999],b) }", NULL, NULL, 1, 19, "more than 4000000"},
    {"main() { fifo1(a[i],b) | i:<1..9999999999> }", NULL, NULL, 1, 30, "more than 4000000"},
    {"main() { for i=1..9999999999 fifo1(a,b) }", NULL, NULL, 1, 10, "more than 4000000"},
    {"main() { fifo1(a[1..3000000][1..3000000],b) }", NULL, NULL, 1, 31, "more than 4000000"},
    {"main() { fifo1(a[\"x\"],b) }", NULL, NULL, 1, 18, "expected a number"},
    {"main() { if 3 fifo1(a,b) }", NULL, NULL, 1, 13, "expected a condition"},
    {"main() { fifo1(a,b) ", NULL, NULL, 1, 21, "expected a component, not the end"},
    {"main() { fifo1(a,b } ", NULL, NULL, 1, 20, "expected ',' or ')', not '}'"},
    {"main( { }", NULL, NULL, 1, 7, "expected a port"},
    {"main() { \"x\" }", NULL, NULL, 1, 10, "expected a component, not \"x\""},
    {"main() { /* fifo1(a,b) }", NULL, NULL, 1, 10, "not terminated"},
    {"main() { x<\"abc>(a) }", NULL, NULL, 1, 12, "not terminated"},
    {"main() { fifo1(a,b) } @", NULL, NULL, 1, 23, "'@' is not part of the language"},
    {"main() { sync(a,b) } main() { sync(a,b) }", NULL, NULL, 1, 22, "defined twice"},
    {"f() { sync(a,b) } g() { sync(a,b) }", NULL, NULL, 0, 0, "There are f, g"},
    {"", NULL, NULL, 0, 0, "there is no component"},
    {"import x.y;\nmain() { }", NULL, NULL, 1, 8, "cannot find 'x.y'"},
    {"main(a[1..n]) { fifo1(a[1],b) }", NULL, NULL, 1, 11, "the size of 'n' is unknown"},
    {"f(a[1..n],b[1..m]) { } main() { f(x,y) }", NULL, NULL, 1, 16, "both open"},
    {"main(a,a) { sync(a,b) }", NULL, NULL, 1, 8, "twice"},
    {"main() { sync(a,b) + sync(b,c) }", NULL, NULL, 1, 20, "sum"},
    {"main() { sync(+a,b) }", NULL, NULL, 1, 15, "priority"},
    {"main() { x(a) | x=3 }", NULL, NULL, 1, 10, "'x' is not a component"},
    {"f<g(?)>(a) { g(a) } main() { f<3>(a) }", NULL, NULL, 1, 30, "must be a component"},
    {"main() { filter<3.5>(a,b) }", NULL, NULL, 1, 16, "no built-in predicate"},
    {"main() { transform<3>(a,b) }", NULL, NULL, 1, 19, "expected a function"},
    {"main() { transform<{[0] [1,2]}>(a,b) }", NULL, NULL, 1, 19, "takes 1 to"},
    {"main() { fifofull<<1>>(a,b) }", NULL, NULL, 1, 18, "expected a datum"},
    {"main() { fifofull<\"a\tb\">(a,b) }", NULL, NULL, 1, 18, "datum"},
    {"tau(a) { sync(a,b) }", "tau(tau)", NULL, 0, 0, "'tau' is reserved"},
    {"main() {}", "main<", NULL, 1, 6, "expected an expression"},
    {"main() {}", NULL, "0,0", 0, 0, "listed twice"},
    {"main() {}", NULL, ",", 0, 0, "no data values"},
    {"main() { a[1][2][3][4][5](x) }", NULL, NULL, 1, 24, "more than 4 indices"},
};

static void check_faults(void)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct text text;
        gordian_circuit *circuit;
        gordian_fault fault;
        gordian_error error = {0};
        gordian_circuit_options options = {.main = faults[i].main, .data = faults[i].data};
        REQUIRE(text_copy(&text, "bad.treo", faults[i].text, strlen(faults[i].text), NULL,
                          &error) == GORDIAN_OK);
        gordian_status status = treo_read(&circuit, &text, &options, &fault, &error);
        CHECK_MSG(status == GORDIAN_STATUS_INPUT && !circuit && error.line == faults[i].line &&
                      error.column == faults[i].column && strstr(error.message, faults[i].message),
                  "%s: %d:%d: %s", faults[i].text, (int)error.line, (int)error.column,
                  error.message);
        CHECK_MSG(error.line == 0 || fault.line[0], "%s: no line to show", faults[i].text);
        gordian_circuit_close(circuit);
        text_free(&text);
    }
}

/* Deep nesting is refused, not a stack that overflows; long lines are shown in part. */
static void check_deep(void)
{
    static char text[200000];
    static const char *const pieces[] = {"(", "{", "if 1=1 ", "-", "!", "<", "[", "x["};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct text source;
        gordian_circuit *circuit;
        gordian_fault fault;
        gordian_error error = {0};
        size_t used = (size_t)snprintf(text, sizeof text, "main() { x(a) | x = ");
        if (pieces[i][0] == '{' || pieces[i][0] == 'i')
            used = (size_t)snprintf(text, sizeof text, "main() ");
        while (used + 20 < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s", pieces[i]);
        REQUIRE(text_copy(&source, "deep.treo", text, used, NULL, &error) == GORDIAN_OK);
        CHECK(treo_read(&circuit, &source, NULL, &fault, &error) == GORDIAN_STATUS_INPUT);
        CHECK_MSG(strstr(error.message, "nested"), "%s: %s", pieces[i], error.message);
        CHECK(strlen(fault.line) < sizeof fault.line && fault.caret < sizeof fault.line);
        text_free(&source);
    }
}

/* ------------------------------------------------------------------ imports */

struct library {
    const char *path, *text;
};

static const struct library library[] = {
    {"lib/buffer.treo", "section lib;\nimport lib.half;\nbuffer(a?,b!) { half(a,x) half(x,b) }"},
    {"lib/half.treo", "section lib;\nimport lib.buffer;\nhalf(a?,b!) { fifo1(a,b) }"},
    {"lib/many.treo", "one(a?,b!) { fifo1(a,b) } two(a?,b!) { one(a,x) one(x,b) }"},
    {"other/buffer.treo", "buffer(a?,b!) { sync(a,b) }"},
    {"lib/bad.treo", "bad(a?,b!) {\n  fifo1(a,c\n}"},
    {"left/part.treo", "import inner;\npart(a?,b!) { inner(a,b) }"},
    {"left/inner.treo", "inner(a?,b!) { fifo1(a,b) }"},
    {"right/piece.treo", "import inner;\npiece(a?,b!) { inner(a,b) }"},
    {"right/inner.treo", "import main;\ninner(a?,b!) { sync(a,b) }"},
};

static gordian_status give(gordian_import *import, const char *name, const char *text,
                           gordian_error *error)
{
    gordian_bytes bytes = {text, strlen(text)};
    gordian_source source = gordian_source_bytes(&bytes);
    return gordian_import_read(import, name, &source, error);
}

static gordian_status load(void *context, const char *from, const char *path,
                           gordian_import *import, gordian_error *error)
{
    char beside[100];
    const char *slash = strrchr(from, '/');
    (void)context;
    snprintf(beside, sizeof beside, "%.*s%s", slash ? (int)(slash - from + 1) : 0, from, path);
    for (size_t i = 0; i < sizeof library / sizeof *library; i++)
        if (strcmp(library[i].path, beside) == 0 || strcmp(library[i].path, path) == 0)
            return give(import, library[i].path, library[i].text, error);
    if (strcmp(path, "main.treo") == 0)
        return give(import, path, "main() {}", error);
    return GORDIAN_STATUS_END;
}

static void check_import(const char *source, size_t states, const char *message, const char *file)
{
    struct text text;
    gordian_circuit *circuit;
    gordian_fault fault;
    gordian_error error = {0};
    gordian_circuit_options options = {.import = load};
    REQUIRE(text_copy(&text, "main.treo", source, strlen(source), NULL, &error) == GORDIAN_OK);
    gordian_status status = treo_read(&circuit, &text, &options, &fault, &error);
    gordian_graph *graph = product_of(circuit);
    if (message)
        CHECK_MSG(status == GORDIAN_STATUS_INPUT && strstr(error.message, message) &&
                      strcmp(fault.file, file) == 0,
                  "%s: %s: %s", source, fault.file, error.message);
    else
        CHECK_MSG(graph && graph->state_count == states, "%s: %s", source, error.message);
    gordian_graph_close(graph);
    gordian_circuit_close(circuit);
    text_free(&text);
}

static void check_imports(void)
{
    check_import("import lib.buffer;\nmain(a?,b!) { buffer(a,b) }", 4, NULL, NULL);
    check_import("import lib.buffer;\nmain(a?,b!) { lib.buffer(a,b) }", 4, NULL, NULL);
    check_import("import lib.many.two;\nmain(a?,b!) { two(a,b) }", 4, NULL, NULL);
    check_import("import lib.buffer; import other.buffer;\nmain(a?,b!) { other.buffer(a,b) }", 1,
                 NULL, NULL);
    check_import("import lib.buffer; import other.buffer;\nmain(a?,b!) { buffer(a,b) }", 0,
                 "could be 'lib.buffer' or 'other.buffer'", "main.treo");
    check_import("import lib.many.three;\nmain() { }", 0, "cannot find", "main.treo");
    check_import("import lib.bad;\nmain() { }", 0, "expected ',' or ')'", "lib/bad.treo");
    check_import("import lib.half;\nmain() { half(a) }", 0, "takes 2 ports", "main.treo");
    /* `inner` is another one in each folder; the file that comes round again is known already */
    check_import("import left.part;\nimport right.piece;\n"
                 "main(a?,b!,c?,d!) { part(a,b) piece(c,d) }",
                 2, NULL, NULL);
    check_import("import right.piece;\nimport left.part;\n"
                 "main(a?,b!,c?,d!) { part(a,b) part(c,d) }",
                 4, NULL, NULL);
}

/* A byte order mark is no part of the text; a caret stands below its character. */
static void check_unicode(void)
{
    static const char source[] = "\xef\xbb\xbfmain() { /* \u00e9\u00e8 */ x(a) }";
    struct text text;
    gordian_circuit *circuit;
    gordian_fault fault;
    gordian_error error = {0};
    REQUIRE(text_copy(&text, "bad.treo", source, strlen(source), NULL, &error) == GORDIAN_OK);
    CHECK(treo_read(&circuit, &text, NULL, &fault, &error) == GORDIAN_STATUS_INPUT);
    CHECK_MSG(error.line == 1 && error.column == 21 && fault.caret == 18, "%d:%d, %u",
              (int)error.line, (int)error.column, fault.caret);
    CHECK(strstr(error.message, "there is no component 'x'"));
    text_free(&text);
}

/* Too many is said where, whoever counts. */
static void check_too_many(void)
{
    static const struct {
        const char *text, *message;
        uint64_t column;
    } cases[] = {
        {"main() { merger(a[1..60],b[1..60],c) }", "more than 100 ports", 26},
        {"main() { merger(a[1..200],c) }", "more than 100 ports", 20},
        {"main() { for i=1..101 sync(a,b) }", "more than 100 rounds", 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text text;
        gordian_circuit *circuit;
        gordian_fault fault;
        gordian_error error = {0};
        gordian_circuit_options options = {.max_instances = 100};
        REQUIRE(text_copy(&text, "bad.treo", cases[i].text, strlen(cases[i].text), NULL, &error) ==
                GORDIAN_OK);
        CHECK(treo_read(&circuit, &text, &options, &fault, &error) == GORDIAN_STATUS_INPUT);
        CHECK_MSG(strstr(error.message, cases[i].message) && error.column == cases[i].column,
                  "%s: %d: %s", cases[i].text, (int)error.column, error.message);
        text_free(&text);
    }
}

int main(void)
{
    check_meanings();
    check_all_names();
    check_faults();
    check_deep();
    check_unicode();
    check_too_many();
    check_imports();
    return test_done();
}
