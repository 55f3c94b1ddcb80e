/* gordian compose: the product of constraint automata, its deadlocks, and a shortest path to one.
 */
#include "cli/compose/compose.h"

#include "cli/base/commands.h"
#include "foundation/base/error.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOT_GIVEN UINT_MAX /* of --fair and --semiring */

/* ------------------------------------------------------------------ reporting */

static gordian_status report_deadlocks(struct compose *compose, const struct composed *composed,
                                       const struct compose_reporter *reporter,
                                       gordian_error *error)
{
    const gordian_compose_result *result = &composed->result;
    gordian_status status = GORDIAN_OK;
    if (compose->question.formula && !compose->trace)
        return status;                            /* another question was asked */
    if (!compose->trace && !compose->cli->json) { /* the nearest one is enough */
        const gordian_compose_deadlock *nearest = composed_nearest(composed);
        if (composed_describes(composed))
            return reporter->deadlock(compose, composed, 1, nearest, error);
    }
    if (!compose->trace)
        return status;
    if (!composed->subject->circuit && composed_describes(composed))
        return reporter->deadlock(compose, composed, 1, NULL, error);
    for (size_t i = 0; i < result->found_count && status == GORDIAN_OK; i++)
        status = reporter->deadlock(compose, composed, i + 1, &result->found[i], error);
    if (result->found_count < result->deadlocks && !compose->cli->quiet)
        cli_say(compose->cli, "%llu more deadlocks are only counted",
                (unsigned long long)(result->deadlocks - result->found_count));
    return status;
}

static gordian_status report_result(struct compose *compose, const struct composed *composed,
                                    gordian_error *error)
{
    const struct compose_reporter *reporter = compose->cli->json ? &compose_json : &compose_text;
    const bool circuit = composed->subject->circuit != NULL;
    gordian_status status = GORDIAN_OK;
    if (compose->dot) /* stdout has the picture */
        return GORDIAN_OK;
    if (compose->statistics && circuit)
        status = reporter->statistics(compose, composed, error);
    THEN(status, report_deadlocks(compose, composed, reporter, error));
    if (status == GORDIAN_OK && compose->livelock && composed_graph(composed))
        status = reporter->livelock(compose, composed, error);
    if (status == GORDIAN_OK && compose->question.formula && composed_graph(composed) &&
        composed_is_complete(composed))
        status = reporter->check(compose, composed, error);
    if (status == GORDIAN_OK && (compose->cli->json || !compose->cli->quiet))
        status = reporter->summary(compose, composed, error);
    return status;
}

/* Reports why the result is incomplete. */
static void say_stop(struct compose *compose, const struct composed *composed,
                     const struct product_file *to)
{
    static const char *const why[] = {
        [GORDIAN_COMPOSE_STOP_STATES] = "more states than --max-states allows",
        [GORDIAN_COMPOSE_STOP_MEMORY] = "memory limit reached",
        [GORDIAN_COMPOSE_STOP_TIME] = "time limit reached",
        [GORDIAN_COMPOSE_STOP_STOPPED] = "interrupted",
    };
    gordian_compose_stop stop = composed->result.stop;
    /* Formats that can mark a product as incomplete. */
    bool has_mark = compose->format == GORDIAN_FORMAT_AUT || compose->format == GORDIAN_FORMAT_CA ||
                    compose->format == GORDIAN_FORMAT_DOT;
    const char *missing = compose->question.formula      ? ", so the question is not answered"
                          : compose_needs_graph(compose) ? ", so nothing was hidden or minimised"
                                                         : "";
    if (stop == GORDIAN_COMPOSE_STOP_COMPLETE)
        return;
    if (stop == GORDIAN_COMPOSE_STOP_CUT)
        cli_say(compose->cli, "%s: the product is incomplete, its deadlocks are not known%s",
                composed->subject->path, missing);
    else
        cli_say(compose->cli, "stopped: %s; the report has the results so far%s", why[stop],
                missing);
    if (compose->file && !to->begun)
        cli_say(compose->cli, "'%s' was not written: %s", compose->file,
                !missing[0] && !has_mark
                    ? "an incomplete product can only be written as .aut, .ca or .dot"
                    : "no result");
}

static int code_for(const struct compose *compose, const struct composed *composed)
{
    bool complete = composed_is_complete(composed);
    if (compose->question.formula && complete) /* only the question counts */
        return composed->check.holds ? EXIT_NOTHING : EXIT_FOUND;
    if (compose->question.formula)
        return EXIT_INCOMPLETE;
    if (composed->result.deadlocks > 0 || (compose->livelock && composed->livelock.states > 0))
        return EXIT_FOUND;
    return complete ? EXIT_NOTHING : EXIT_INCOMPLETE;
}

int compose_refuse_net(struct compose *compose, const struct composed *composed)
{
    const struct compose_reporter *reporter = compose->cli->json ? &compose_json : &compose_text;
    gordian_error error = {0};
    if (!compose->dot && reporter->unsafe(compose, composed, &error) != GORDIAN_OK)
        return cli_fail(compose->cli, NULL, &error);
    fail(&error, GORDIAN_STATUS_INPUT,
         "the net is not 1-safe%s%s: a place may never have two tokens",
         composed->result.note[0] ? ": " : "", composed->result.note);
    return cli_fail(compose->cli, composed->subject->path, &error);
}

/* ------------------------------------------------------------------ one input */

static gordian_status write_result(const struct composed *composed, const struct product_file *to,
                                   gordian_error *error)
{
    const gordian_graph *graph = composed_graph(composed);
    const struct subject *subject = composed->subject;
    if (!to->writer.write || !graph)
        return GORDIAN_OK; /* it was written while it was composed */
    return gordian_graph_write(graph, subject_title(subject), subject->circuit, to->format,
                               &to->writer, error);
}

/* Reports lost initial states: an .aut file has only one. */
static void say_initial(struct compose *compose, const struct composed *composed)
{
    const gordian_graph *graph = composed_graph(composed);
    size_t count = 0;
    if (graph)
        gordian_graph_initial(graph, &count);
    uint64_t initial = graph ? count : composed->subject->info.initial;
    if (compose->format == GORDIAN_FORMAT_AUT && initial > 1 && !compose->cli->quiet)
        cli_say(compose->cli,
                "'%s' has only the first of %llu initial states: write .ca to keep all",
                compose->file, (unsigned long long)initial);
}

/* With --quick, a circuit whose data do not matter is composed with one data value. */
static bool drop_data(struct compose *compose, struct subject *subject)
{
    gordian_circuit *lean;
    const gordian_circuit *circuit = subject->circuit;
    if (!compose->quick || !circuit || subject->info.datum_count < 2 ||
        !gordian_circuit_is_routing(circuit))
        return false;
    char first[GORDIAN_NAME_MAX + 3];
    snprintf(first, sizeof first, "\"%s\"", gordian_circuit_datum(circuit, 0));
    if (gordian_circuit_join(&lean, &circuit, 1, first, &compose->reading.memory, NULL) !=
        GORDIAN_OK)
        return false;
    subject_take(subject, lean);
    return true;
}

/* --circuit: nothing is composed. */
static int write_circuit(struct compose *compose, const struct subject *subject,
                         struct product_file *to)
{
    gordian_error error = {0};
    int code = EXIT_NOTHING;
    gordian_status status =
        gordian_circuit_write(subject->circuit, to->format, &to->writer, &error);
    if (status != GORDIAN_OK && status != GORDIAN_STATUS_IO)
        code = cli_fail(compose->cli, subject->path, &error);
    return product_file_close(to, compose, code);
}

static int compose_all(struct compose *compose, char **paths, size_t count)
{
    struct subject subject;
    struct composed composed = {0};
    struct product_file to;
    gordian_error error = {0};
    int code = subjects_read(compose, &subject, paths, count);
    TRY_CODE(code);
    if (!subject.circuit && compose->circuit)
        code = cli_misuse(compose->cli, "'%.200s' is a graph and has no circuit to show", paths[0]);
    THEN_CODE(code, product_file_open(&to, compose));
    if (code != EXIT_NOTHING) {
        subject_free(&subject);
        return code;
    }
    if (compose->circuit) {
        code = write_circuit(compose, &subject, &to);
        subject_free(&subject);
        return code;
    }
    bool dropped = drop_data(compose, &subject);
    gordian_status status = compose_subject(compose, &subject, &to, &composed, &error);
    composed.one_datum = dropped;
    bool unsafe = status == GORDIAN_OK && composed.result.stop == GORDIAN_COMPOSE_STOP_UNSAFE;
    if (unsafe)
        code = compose_refuse_net(compose, &composed);
    if (status == GORDIAN_OK && !unsafe)
        status = write_result(&composed, &to, &error);
    if (status == GORDIAN_OK && !unsafe)
        status = report_result(compose, &composed, &error);
    if (status == GORDIAN_OK && !unsafe) {
        /* Notes about the result. */
        const gordian_compose_result *result = &composed.result;
        if (result->note[0] && !compose->cli->quiet)
            cli_say(compose->cli, "engine '%s': %s", result->engine, result->note);
        say_stop(compose, &composed, &to);
        if (composed.subject->cut && compose->question.formula)
            cli_say(compose->cli, "the file is truncated: the question is not answered");
        if (composed.one_datum && !compose->cli->quiet)
            cli_say(compose->cli, "the data values make no difference: composed with one of them");
        say_initial(compose, &composed);
        code = code_for(compose, &composed);
    } else if (!unsafe && !(status == GORDIAN_STATUS_IO && to.failure)) {
        const char *where = !compose->question.formula || !error.line ? subject.path
                            : compose->ltl                            ? "--ltl"
                            : compose->best                           ? "--best"
                                                                      : "--check";
        code = cli_fail(compose->cli, status == GORDIAN_STATUS_INPUT ? where : NULL, &error);
        if (status == GORDIAN_STATUS_MEMORY && compose->max_memory)
            code = EXIT_INCOMPLETE; /* the user set the limit */
    }
    code = product_file_close(&to, compose, code);
    composed_free(&composed);
    subject_free(&subject);
    return code;
}

/* ------------------------------------------------------------------ the command */

/* Reads --check, --ltl and --best, and their options. */
static int take_question(struct compose *compose)
{
    if ((compose->check != NULL) + (compose->ltl != NULL) + (compose->best != NULL) > 1)
        return cli_misuse(compose->cli, "--check, --ltl, --best: give only one");
    if (compose->fair != NOT_GIVEN && !compose->ltl)
        return cli_misuse(compose->cli, "--fair needs --ltl");
    if (compose->semiring != NOT_GIVEN && !compose->best)
        return cli_misuse(compose->cli, "--semiring needs --best");
    /* The words of --fair and --semiring are in the order of these enumerators. */
    unsigned fairness = compose->fair != NOT_GIVEN ? compose->fair : GORDIAN_FAIRNESS_WEAK;
    unsigned semiring = compose->semiring != NOT_GIVEN ? compose->semiring + 1
                        : compose->best                ? GORDIAN_SEMIRING_WEIGHTED
                                                       : GORDIAN_SEMIRING_NONE;
    compose->question = (gordian_question){.formula = compose->ltl    ? compose->ltl
                                                      : compose->best ? compose->best
                                                                      : compose->check,
                                           .linear = compose->ltl,
                                           .fairness = (gordian_fairness)fairness,
                                           .semiring = (gordian_semiring)semiring};
    return EXIT_NOTHING;
}

/* Checks combinations of options. */
static int check_options(struct compose *compose)
{
    struct cli *cli = compose->cli;
    TRY_CODE(take_question(compose));
    if (compose->file)
        compose->format = gordian_format_of(compose->file);
    compose->quick |= compose->reduce;
    if (compose->reduce && compose->full)
        return cli_misuse(cli, "--reduce omits states and --full needs all: give one of them");
    if (compose->reduce && cli->engine && strcmp(cli->engine, "auto") != 0)
        return cli_misuse(cli, "--reduce has its own search: omit --engine");
    if (compose->file && compose->format == GORDIAN_FORMAT_NONE)
        return cli_misuse(
            cli,
            "-o '%.200s': the name must end in .aut, .ca, .dot, .pnml, .mcrl2, .pml or "
            ".treo",
            compose->file);
    if (compose->file && compose->dot)
        return cli_misuse(cli, "--dot writes to standard output: give --dot or -o");
    if (compose->dot && cli->json)
        return cli_misuse(cli, "--dot and --json both write to standard output: give one of them");
    if (compose->circuit && !compose->dot && !compose->file)
        return cli_misuse(cli, "--circuit needs --dot or -o FILE");
    if (compose->circuit && compose->file && compose->format != GORDIAN_FORMAT_CA &&
        compose->format != GORDIAN_FORMAT_DOT && compose->format != GORDIAN_FORMAT_PNML &&
        compose->format != GORDIAN_FORMAT_PROMELA)
        return cli_misuse(cli, "a circuit can be written as .ca, .dot, .pnml or .pml, not as .%s",
                          strrchr(compose->file, '.') + 1);
    if (compose->equal && (compose->dot || compose->file || compose->trace || compose->livelock ||
                           compose->question.formula))
        return cli_misuse(cli, "--equal only works with --hide, --keep and --min");
    if (compose->other && !compose->equal)
        return cli_misuse(cli, "--other-main needs --equal");
    if (compose->quick && (compose_needs_graph(compose) || compose->file || compose->dot))
        return cli_misuse(cli, "--deadlocks makes no product to write, hide or minimise");
    if (compose->keep)
        compose->hide |= !compose->livelock;
    return EXIT_NOTHING;
}

static int dispatch_mode(struct compose *compose, int operands, char **argv)
{
    struct cli *cli = compose->cli;
    TRY_CODE(check_options(compose));
    if (operands == 0)
        return cli_misuse(cli, "no FILE ('-' is standard input)");
    if (compose->equal && operands != 2)
        return cli_misuse(cli, "--equal needs two FILEs");
    compose->style = cli_style(cli);
    char *defines;
    TRY_CODE(defines_read(compose, &defines));
    compose->defines = defines;
    meter_open(&compose->reading, NULL, compose->max_memory);
    int code = compose->equal ? compose_equal(compose, argv[0], argv[1])
                              : compose_all(compose, argv, (size_t)operands);
    meter_close(&compose->reading);
    free(defines);
    return code;
}

static int compose_main(struct cli *cli, int argc, char **argv)
{
    struct compose c = {.cli = cli,
                        .fair = NOT_GIVEN,
                        .semiring = NOT_GIVEN,
                        .folders = {.between = ':'},
                        .define = {.between = ';'}};
    const struct option options[] = {
        {"main", 'm', "NAME", "the component to compose, as it is used: main,\n'chain<3>'",
         OPTION_TEXT, &c.main},
        {"data", 'd', "LIST", "the data values: '0,1' (default: those in the text,\nor 0)",
         OPTION_TEXT, &c.data},
        {"define", 0, "TEXT",
         "define functions that the text only names:\n'f={[0,1] [1,0]}', 'f=FILE', or a FILE of "
         "such\nlines; may be repeated",
         OPTION_LIST, &c.define},
        {"include", 'I', "FOLDERS",
         "folders to search for imported files, separated by\n':'; may be repeated", OPTION_FOLDERS,
         &c.folders},
        {"hide", 0, NULL, "hide all names except the ports of the main component", OPTION_FLAG,
         &c.hide},
        {"keep", 'k', "NAMES", "hide all names except these: 'a,b'", OPTION_TEXT, &c.keep},
        {"min", 0, NULL, "minimise, up to strong bisimulation", OPTION_FLAG, &c.minimal},
        {"full", 0, NULL, "compose all state combinations, even unreachable ones", OPTION_FLAG,
         &c.full},
        {"trace", 't', NULL, "show the shortest path to every deadlock", OPTION_FLAG, &c.trace},
        {"livelock", 0, NULL, "search for cycles of hidden steps", OPTION_FLAG, &c.livelock},
        {"check", 0, "FORMULA",
         "does this hold? CTL over names that can fire and\nmemory: 'AG (a -> AF b)', 'EF $m = 0'",
         OPTION_TEXT, &c.check},
        {"ltl", 0, "FORMULA",
         "does this hold in every fair run? LTL:\n'G (<a> -> F <b>)', '[] <> $m = 0'", OPTION_TEXT,
         &c.ltl},
        {"fair", 0, "HOW",
         "with --ltl: fairness of runs: none (all runs), weak\n(default) or strong", OPTION_CHOICE,
         &c.fair, (const char *const[]){"none", "weak", "strong", NULL}},
        {"best", 0, "FORMULA",
         "show the best path to a state in which this holds, by\nthe costs of #SCA atoms: "
         "'deadlock', '$m = 0'",
         OPTION_TEXT, &c.best},
        {"semiring", 0, "NAME", "with --best: weighted (default), fuzzy or probability",
         OPTION_CHOICE, &c.semiring,
         (const char *const[]){"weighted", "fuzzy", "probability", NULL}},
        {"deadlocks", 0, NULL, "only search for deadlocks: do not count transitions", OPTION_FLAG,
         &c.quick},
        {"reduce", 0, NULL,
         "only search for deadlocks, and omit states that make\nno difference to them", OPTION_FLAG,
         &c.reduce},
        {"equal", 0, NULL, "compare two FILEs up to strong bisimulation", OPTION_FLAG, &c.equal},
        {"other-main", 0, "NAME", "with --equal: the component of the second FILE", OPTION_TEXT,
         &c.other},
        {"order", 0, "LIST", "compose in this order: '2,1,3' as numbered by\n--explain, or 'text'",
         OPTION_WORD, &c.order, (const char *const[]){"text", NULL}},
        {"explain", 0, NULL, "show the automata and the order of composition", OPTION_FLAG,
         &c.explain},
        {"stats", 0, NULL,
         "show the branching of the product, how often each\nname fires, and the cost of each "
         "phase",
         OPTION_FLAG, &c.statistics},
        {"output", 'o', "FILE",
         "write the result: FILE.aut, .ca, .dot, .pnml, .mcrl2,\n.pml (Promela) or .treo",
         OPTION_FILE, &c.file},
        {"dot", 0, NULL, "draw the result to standard output, for Graphviz", OPTION_FLAG, &c.dot},
        {"circuit", 0, NULL, "write or draw the circuit instead of its product", OPTION_FLAG,
         &c.circuit},
        {"max-states", 0, "N", "stop at more states (k, M, G: thousands)", OPTION_U64,
         &c.max_states},
        {"max-memory", 0, "BYTES", "stop before using more memory", OPTION_U64, &c.max_memory},
        {"threads", 0, "N", "number of threads (default: one per core)", OPTION_U32, &c.threads},
        {0},
    };
    int code, operands = cli_parse(cli, options, argc, argv, &code);
    if (operands >= 0)
        code = dispatch_mode(&c, operands, argv);
    free(c.folders.text);
    free(c.define.text);
    return code;
}

const struct command command_compose = {
    .name = "compose",
    .operands = "FILE...",
    .summary = "compose constraint automata (Reo circuits); find their deadlocks",
    .about = "Reads a circuit (.treo, automata as .ca, or a net as .pnml) or a graph (.aut),\n"
             "composes it, and prints its size and its deadlocks, with the shortest path to the\n"
             "nearest. Several circuits are composed together and share their common names.\n"
             "--equal A B compares two circuits or graphs.\n",
    .run = compose_main,
};
