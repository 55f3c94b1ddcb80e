/* The built-in components against their #RBA texts. */
#include "compose.h"

static const struct {
    const char *instance; /* of the built-in one, on a, b, c */
    const char *rules;    /* ports a, b, c as they come */
    const char *ports;
} cases[] = {
    {"sync(a,b)", "{a,b} a=b", "a?,b!"},
    {"lossysync(a,b)", "{a,b} a=b {a,~b} true", "a?,b!"},
    {"lossy(a,b)", "{a,b} a=b {a,~b}", "a?,b!"},
    {"syncdrain(a,b)", "{a,b} true", "a?,b?"},
    {"syncspout(a,b)", "{a,b} true", "a!,b!"},
    {"asyncdrain(a,b)", "{a,~b} true {~a,b} true", "a?,b?"},
    {"asyncspout(a,b)", "{a,~b} true {~a,b} true", "a!,b!"},
    {"filter<<0,2>>(a,b)", "{a,b} a=b, a=0 {a,b} a=b, a=2 {a,~b} !(a=0 || a=2)", "a?,b!"},
    {"filter<\"even\">(a,b)", "{a,b} even(a), a=b {a,~b} !even(a)", "a?,b!"},
    {"filter<\"odd\">(a,b)", "{a,b} a=1, a=b {a,~b} a!=1", "a?,b!"},
    {"filter<{[0,true] [1,false] [2,true]}>(a,b)", "{a,b} even(a), a=b {a,~b} !even(a)", "a?,b!"},
    {"transform<{[0,1] [1,2] [2,0]}>(a,b)", "{a,b} b=succ(a)", "a?,b!"},
    {"transform<{[0,1]}>(a,b)", "{a,b} a=0, b=1", "a?,b!"},
    {"transformer<\"pred\">(a,b)", "{a,b} a=succ(b)", "a?,b!"},
    {"fifo1(a,b)", "{a,~b} $m=null, $m'=a {~a,b} $m!=null, b=$m, $m'=null", "a?,b!"},
    {"fifofull<1>(a,b)", "$m=1; {a,~b} $m=null, $m'=a {~a,b} $m!=null, b=$m, $m'=null", "a?,b!"},
    {"fifo1full<2>(a,b)", "$m=2 {a,~b} $m=null, $m'=a {~a,b} $m!=null, b=$m, $m'=null", "a?,b!"},
    {"syncfifo1(a,b)",
     "{a,~b} $m=null, $m'=a {~a,b} $m!=null, b=$m, $m'=null {a,b} $m!=null, b=$m, $m'=a", "a?,b!"},
    {"shiftlossyfifo1(a,b)", "{a,~b} $m'=a {~a,b} $m!=null, b=$m, $m'=null", "a?,b!"},
    {"variable(a,b)", "{a,~b} $m'=a {~a,b} $m!=null, b=$m, $m'=$m", "a?,b!"},
    {"variable(a,b)", "{a} $m'=a {b} $m!=null, b=$m", "a?,b!"},
    {"merger(a,b,c)", "{a,~b,c} a=c {~a,b,c} b=c", "a?,b?,c!"},
    {"replicator(a,b,c)", "{a,b,c} a=b, b=c", "a?,b!,c!"},
    {"router(a,b,c)", "{a,b,~c} a=b {a,~b,c} a=c", "a?,b!,c!"},
    {"xrouter(a,b,c)", "{a,b} a=b {a,c} a=c", "a?,b!,c!"},
};

static void compare(const char *instance, const char *rules, const char *ports, const char *data)
{
    char built_in[300], written[400];
    uint32_t where;
    snprintf(built_in, sizeof built_in, "main(%s) { %s }", ports, instance);
    snprintf(written, sizeof written, "main(%s) { #RBA %s }", ports, rules);
    gordian_graph *left = product_of_text(built_in, NULL, data);
    gordian_graph *right = product_of_text(written, NULL, data);
    CHECK_MSG(left && right && graph_same(left, right, &where), "%s, data %s", instance,
              data ? data : "none");
    gordian_graph_close(left);
    gordian_graph_close(right);
}

static void check_count(const char *text, const char *data, size_t states, size_t transitions)
{
    gordian_graph *graph = product_of_text(text, NULL, data);
    CHECK_MSG(graph && graph->state_count == states && graph->arc_count == transitions,
              "%s: %u/%zu", text, graph ? graph->state_count : 0, graph ? graph->arc_count : 0);
    gordian_graph_close(graph);
}

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        compare(cases[i].instance, cases[i].rules, cases[i].ports, "0,1,2");
    /* a replicator of many, and the sizes over larger domains */
    check_count("main(a?,b[1..40]!) { replicator(a,b[1..40]) }", "0,1,2,3", 1, 4);
    check_count("main(a[1..30]?,b!) { merger(a[1..30],b) }", "0,1,2,3", 1, 120);
    check_count("main(a?,b!) { fifo1(a,b) }", "0,1,2,3", 5, 8);
    check_count("main(a?,b!) { shiftlossyfifo1(a,b) }", "0,1,2", 4, 3 + 9 + 3);
    check_count("main(a?,b!) { variable(a,b) }", "0,1,2", 4, 3 + 9 + 3);
    check_count("main(a?,b?) { syncdrain(a,b) }", "0,1,2", 1, 9);
    return test_done();
}
