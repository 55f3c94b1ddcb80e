/* gordian makespan: bounds for the time that warps take on a streaming multiprocessor (warp
 * scheduler). */
#include "cli/makespan/makespan.h"
#include "foundation/base/error.h"

#include "cli/base/commands.h"
#include "cli/base/interrupt.h"
#include "foundation/base/io/reader.h"
#include "foundation/base/machine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWN_CLOCK    "1980" /* MHz, of an H200 */
#define OWN_CHIP     "hopper"
#define OWN_SIZE     8192u
#define OWN_MULTI    132u
#define AUTO_SECONDS 20.0 /* without --exact or --seconds */
#define BEST_SECONDS 1.0  /* for the best case of a worst-case question */
#define NOT_GIVEN    UINT32_MAX

/* ------------------------------------------------------------------ solving */

static void improved(void *context, const gordian_makespan_improvement *found)
{
    makespan_log_line(context, found);
}

static bool go_on(void *context, const gordian_makespan_progress *now)
{
    struct makespan *makespan = ((struct makespan_log *)context)->makespan;
    struct progress *line = &makespan->cli->progress;
    if (progress_due(line))
        progress_show(line,
                      "%s: at least %u, at most %u cycles; %.2f million schedules, "
                      "%.2f million states, %.0f MB, %.0f s",
                      now->phase ? now->phase : "", now->lower, now->upper,
                      (double)now->evaluations / 1e6, (double)now->states / 1e6,
                      (double)now->memory / 1e6, progress_seconds(line));
    if (interrupt_seen())
        makespan->interrupted = true;
    return !makespan->interrupted;
}

static int read_number(struct makespan *makespan, const char *option, const char *text,
                       double *value)
{
    char *end;
    if (!text)
        return EXIT_NOTHING;
    *value = strtod(text, &end);
    if (end == text || *end || !isfinite(*value) || *value < 0 || *value > 1e9)
        return cli_misuse(makespan->cli, "--%s: '%.40s' is not a number from 0 to 1e9", option,
                          text);
    return EXIT_NOTHING;
}

/* Chooses the engine; NULL: the options contradict each other (reported). */
static const char *choose_engine(struct makespan *makespan)
{
    struct cli *cli = makespan->cli;
    bool automatic = strcmp(cli->engine, "auto") == 0;
    bool relaxed = makespan->issue > 1 || makespan_varies(makespan);
    if (makespan->exact && makespan->published) {
        cli_misuse(cli, "--exact and --published: give only one");
        return NULL;
    }
    if (makespan->exact && !automatic && strcmp(cli->engine, "exact") != 0 &&
        strcmp(cli->engine, "relax") != 0) {
        cli_misuse(cli, "--exact and --engine %.40s: give only one", cli->engine);
        return NULL;
    }
    if (!automatic || (!makespan->exact && !makespan->published))
        return cli->engine;
    if (relaxed)
        return "relax";
    return makespan->exact ? "exact" : "anneal";
}

static int read_options(struct makespan *makespan, struct makespan_log *log,
                        gordian_makespan_options *options)
{
    struct cli *cli = makespan->cli;
    gordian_makespan_options_init(options);
    options->engine = choose_engine(makespan);
    if (!options->engine)
        return EXIT_MISUSE;
    double seconds = strcmp(options->engine, "auto") == 0 ? AUTO_SECONDS : 0;
    options->start = (gordian_makespan_start)makespan->start;
    options->improved = makespan->log ? improved : NULL;
    options->goal = makespan->best ? GORDIAN_MAKESPAN_GOAL_BEST : GORDIAN_MAKESPAN_GOAL_WORST;
    options->seed = makespan->seed;
    options->published = makespan->published;
    options->threads = makespan->threads;
    options->max_memory = makespan->max_memory;
    options->go_on = go_on;
    options->context = log;
    if (makespan->chains != NOT_GIVEN)
        options->chains = makespan->chains;
    if (makespan->evaluations != UINT64_MAX)
        options->evaluations = makespan->evaluations;
    int code = read_number(makespan, "seconds", makespan->seconds, &seconds);
    THEN_CODE(code,
              read_number(makespan, "temperature", makespan->temperature, &options->temperature));
    if (code == EXIT_NOTHING && makespan->seconds && seconds * 1e9 < 1)
        code = cli_misuse(cli, "--seconds: must be more than 0");
    options->max_ns = (uint64_t)(seconds * 1e9);
    if (options->max_memory == 0) { /* leave some memory to other programs */
        struct machine machine;
        machine_describe(&machine);
        options->max_memory = machine.memory / 4 * 3;
    }
    return code;
}

static int report(struct makespan *makespan, const struct makespan_report *all)
{
    if (makespan->cli->json)
        makespan_json(makespan, all);
    else
        makespan_text(makespan, all);
    return makespan_pictures(makespan, all);
}

static gordian_status open_problem(const struct makespan *makespan, uint32_t warps,
                                   gordian_makespan **opened, gordian_error *error)
{
    gordian_makespan_problem problem = {.kernel = makespan->kernel,
                                        .length = strlen(makespan->kernel),
                                        .warps = warps,
                                        .schedulers = makespan->scheduler_count,
                                        .warp_size = makespan->warp_size,
                                        .issue = makespan->issue,
                                        .units = makespan->unit_list,
                                        .unit_count = makespan->unit_count};
    return gordian_makespan_open(opened, &problem, NULL, error);
}

/* Reports the best case with the worst case. It mostly takes no time. */
static gordian_status solve_best(gordian_makespan *problem, const gordian_makespan_options *options,
                                 struct makespan_report *all, gordian_error *error)
{
    gordian_makespan_options other = *options;
    gordian_makespan_answer answer;
    uint64_t most = (uint64_t)(BEST_SECONDS * 1e9);
    other.engine = "auto";
    other.improved = NULL;
    other.goal = GORDIAN_MAKESPAN_GOAL_BEST;
    other.max_ns = options->max_ns > 0 && options->max_ns < most ? options->max_ns : most;
    TRY(gordian_makespan_solve(problem, &other, &answer, error));
    all->shortest = answer.upper;
    all->shortest_lower = answer.lower;

    return GORDIAN_OK;
}

/* The same, where the best case distributes the blocks differently. */
static gordian_status solve_best_case(const struct makespan *makespan, gordian_makespan *problem,
                                      const gordian_makespan_options *options,
                                      struct makespan_report *all, gordian_error *error)
{
    gordian_makespan *other;
    if (makespan->best)
        return GORDIAN_OK;
    if (makespan->best_warps == makespan->warps)
        return solve_best(problem, options, all, error);
    gordian_status status = open_problem(makespan, makespan->best_warps, &other, error);
    if (status == GORDIAN_OK) {
        status = solve_best(other, options, all, error);
        gordian_makespan_close(other);
    }
    return status;
}

static int solve(struct makespan *makespan, gordian_makespan *problem)
{
    gordian_makespan_options options;
    gordian_makespan_answer answer;
    struct makespan_report all = {.problem = problem, .answer = &answer};
    gordian_error error = {0};
    struct sigaction before;
    struct makespan_log log;
    int code = read_options(makespan, &log, &options);
    THEN_CODE(code, makespan_check_solver(makespan));
    THEN_CODE(code, makespan_log_open(&log, makespan));
    TRY_CODE(code);
    interrupt_catch(&before);
    gordian_status status = solve_best_case(makespan, problem, &options, &all, &error);
    THEN(status, gordian_makespan_solve(problem, &options, &answer, &error));
    interrupt_release(&before);
    progress_clear(&makespan->cli->progress);
    code = makespan_log_close(&log);
    if (status != GORDIAN_OK)
        return cli_fail(makespan->cli, NULL, &error);
    TRY_CODE(code);
    static const char *const why[] = {
        [GORDIAN_MAKESPAN_STOP_TIME] = "time limit reached",
        [GORDIAN_MAKESPAN_STOP_MEMORY] = "memory limit reached",
        [GORDIAN_MAKESPAN_STOP_STOPPED] = "interrupted",
    };
    if (answer.note && answer.note[0] && !makespan->cli->quiet)
        cli_say(makespan->cli, "engine '%s': %s", answer.engine, answer.note);
    if (answer.stop != GORDIAN_MAKESPAN_STOP_DONE && !makespan->cli->quiet)
        cli_say(makespan->cli, "stopped: %s; the interval and the schedule are the best so far",
                why[answer.stop]);
    all.length = makespan->best ? answer.upper : answer.lower;
    code = makespan_ask_solver(makespan, &all);
    return code == EXIT_NOTHING ? report(makespan, &all) : code;
}

/* ------------------------------------------------------------------ a given schedule */

/* "1 1 2 2" or "1,1,2,2" */
static int read_witness(struct makespan *makespan, uint32_t *witness, size_t *count)
{
    const char *text = makespan->witness;
    *count = 0;
    while (*(text += strspn(text, " ,\t\n"))) {
        size_t length = strcspn(text, " ,\t\n");
        uint64_t value;
        const char *why;
        if (!parse_u64(text, length, &value, &why) || value == 0 || value > UINT32_MAX)
            return cli_misuse(makespan->cli,
                              "--witness: '%.*s' is not a warp: warps are numbered from 1",
                              (int)(length < 40 ? length : 40), text);
        witness[(*count)++] = (uint32_t)value;
        text += length;
    }
    return EXIT_NOTHING;
}

/* Reports the schedule of the string of --witness. */
static int build(struct makespan *makespan, gordian_makespan *problem)
{
    size_t capacity = strlen(makespan->witness) / 2 + 1, count;
    uint32_t *witness = malloc(3 * capacity * sizeof *witness);
    gordian_makespan_answer answer = {.engine = "build", .note = "", .exact = false};
    struct makespan_report all = {.problem = problem, .answer = &answer};
    gordian_error error = {0};
    if (!witness)
        return cli_no_memory(makespan->cli);
    uint32_t *cycles = witness + capacity;
    int code = read_witness(makespan, witness, &count);
    if (code == EXIT_NOTHING &&
        gordian_makespan_build(problem, witness, count, cycles, &all.length, &error) != GORDIAN_OK)
        code = cli_fail(makespan->cli, NULL, &error);
    if (code == EXIT_NOTHING) {
        /* Numbers the pieces of each warp in order. */
        uint32_t *pieces = cycles + capacity;
        uint32_t done[GORDIAN_MAKESPAN_MAX_WARPS + 1] = {0};
        for (size_t i = 0; i < count; i++)
            pieces[i] = ++done[witness[i]];
        answer.lower = answer.upper = all.length;
        answer.pieces = cycles + capacity;
        answer.witness = witness;
        answer.cycles = cycles;
        answer.witness_count = count;
        code = report(makespan, &all);
    }
    free(witness);
    return code;
}

/* ------------------------------------------------------------------ the command */

/* Reports a path that is too long for a schedule: only the bound for all paths remains. */
static int too_long(struct makespan *makespan)
{
    for (unsigned i = 0; i < 26; i++) {
        uint64_t repeats;
        char letter = (char)('A' + i);
        if (makespan->ptx.most[i] && makespan_units_of(makespan, letter, &repeats) == 0) {
            cli_say(makespan->cli, "the path needs a unit '%c', which the model does not have",
                    letter);
            return EXIT_MISUSE;
        }
    }
    if (makespan_any_path(makespan) == UINT64_MAX) {
        cli_say(makespan->cli, "the path has more than %d letters", GORDIAN_MAKESPAN_MAX_LENGTH);
        return EXIT_MISUSE;
    }
    struct makespan_report all = {.problem = NULL};
    return report(makespan, &all);
}

/* Reports letters of the code for which the machine has no units, with their line. */
static int check_units(struct makespan *makespan)
{
    for (size_t i = 0; makespan->code && i < makespan->ptx.count; i++) {
        uint64_t repeats;
        char letter = makespan->kernel[i], message[80];
        if (makespan_units_of(makespan, letter, &repeats) > 0)
            continue;
        snprintf(message, sizeof message, "this needs a unit '%c', which the model does not have",
                 letter);
        cli_say_at(makespan->cli, makespan->source, makespan->ptx.lines[i], 1, message);
        return EXIT_MISUSE;
    }
    return EXIT_NOTHING;
}

static int list_loops(struct makespan *makespan)
{
    const gordian_ptx_answer *ptx = &makespan->ptx;
    for (size_t i = 0; i < ptx->note_count; i++) {
        if (makespan->cli->json) {
            struct json json;
            json_begin(&json, &makespan->cli->out);
            json_key_u64(&json, "line", ptx->notes[i].line);
            json_key_text(&json, "loop", ptx->notes[i].text);
            json_end(&json);
            continue;
        }
        output_format(&makespan->cli->out, "line %u: ", ptx->notes[i].line);
        style_name(&makespan->style, &makespan->cli->out, COLOR_PLAIN, ptx->notes[i].text);
        output_char(&makespan->cli->out, '\n');
    }
    if (ptx->note_count == 0 && !makespan->cli->json && !makespan->cli->quiet)
        cli_say(makespan->cli, "there are no loops on this path");
    return EXIT_NOTHING;
}

static int show_string(struct makespan *makespan)
{
    struct json json;
    if (!makespan->kernel) {
        cli_say(makespan->cli, "the path has more than %d letters", GORDIAN_MAKESPAN_MAX_LENGTH);
        return EXIT_MISUSE;
    }
    if (!makespan->cli->json) {
        output_format(&makespan->cli->out, "%s\n", makespan->kernel);
        return EXIT_NOTHING;
    }
    json_begin(&json, &makespan->cli->out);
    json_key_text(&json, "kernel", makespan->kernel);
    if (makespan->code)
        makespan_code_keys(makespan, &json);
    json_end(&json);
    return EXIT_NOTHING;
}

static int run(struct makespan *makespan)
{
    gordian_makespan *opened;
    gordian_error error = {0};
    if (makespan->list_loops)
        return list_loops(makespan);
    if (makespan->string)
        return show_string(makespan);
    if (!makespan->kernel)
        return too_long(makespan);
    if (check_units(makespan) != EXIT_NOTHING)
        return EXIT_MISUSE;
    if (open_problem(makespan, makespan->warps, &opened, &error) != GORDIAN_OK)
        return cli_fail(makespan->cli, makespan->source, &error);
    int code = makespan->lp        ? makespan_write_lp(makespan, opened)
               : makespan->witness ? build(makespan, opened)
                                   : solve(makespan, opened);
    gordian_makespan_close(opened);
    return code;
}

/* Expands --kernel L5C9. */
static int expand_kernel(struct makespan *makespan)
{
    const char *text = makespan->kernel;
    gordian_error error = {0};
    if (!strpbrk(text, "0123456789"))
        return EXIT_NOTHING;
    gordian_status status = makespan_letters(text, &makespan->expanded, &error);
    if (status == GORDIAN_STATUS_INPUT)
        return cli_misuse(makespan->cli, "--kernel: %s", error.message);
    makespan->kernel = makespan->expanded;
    return status == GORDIAN_OK ? EXIT_NOTHING : cli_fail(makespan->cli, NULL, &error);
}

/* Computes the warps of --threads-per-block; the last one may be partial. */
static int count_warps(struct makespan *makespan)
{
    struct cli *cli = makespan->cli;
    uint32_t size = makespan->warp_size, threads = makespan->block_threads;
    if (size == 0 || threads == 0 || makespan->issue == 0)
        return cli_misuse(cli, "--warp-size, --threads-per-block and --issue must be at least 1");
    if (threads == NOT_GIVEN)
        return EXIT_NOTHING;
    if (makespan->warps != NOT_GIVEN)
        return cli_misuse(cli, "--warps and --threads-per-block: give only one");
    makespan->warps = threads / size + (threads % size != 0);
    return EXIT_NOTHING;
}

/* Chooses the subject: exactly one of a string, a file, or the project's own kernel. */
static int choose_subject(struct makespan *makespan, const char *file)
{
    struct cli *cli = makespan->cli;
    int given = (makespan->kernel != NULL) + (file != NULL) + makespan->own;
    if (given == 0)
        return cli_misuse(cli, "give --kernel LETTERS, a FILE of code, or --own");
    if (given > 1)
        return cli_misuse(cli, "--kernel, FILE and --own: give only one");
    if (makespan->own && !makespan->chip && !makespan->units && !makespan->lanes)
        makespan->chip = OWN_CHIP;
    if (makespan->own && !makespan->clock)
        makespan->clock = OWN_CLOCK;
    TRY_CODE(count_warps(makespan));
    if (makespan->own && makespan->warps == NOT_GIVEN)
        makespan->warps = GORDIAN_PTX_OWN_WARPS;
    if (makespan->multiprocessors == NOT_GIVEN)
        makespan->multiprocessors = makespan->own ? OWN_MULTI : 1;
    if (makespan->own && (makespan->size == 0 || makespan->multiprocessors == 0))
        return cli_misuse(cli, "--size and --multiprocessors must be at least 1");
    bool nothing = makespan->warps == 0;
    if (makespan->warps == NOT_GIVEN)
        makespan->warps = 0;
    TRY_CODE(makespan_read_machine(makespan));
    if (nothing)
        return cli_misuse(cli, "--warps: must be at least 1");
    if (makespan->list_loops && makespan->kernel)
        return cli_misuse(cli, "--loops needs code");
    if (makespan->warps == 0 && !makespan->string && !makespan->list_loops)
        return cli_misuse(
            cli, "the number of warps is missing: give --warps, or --chip for its maximum");
    TRY_CODE(makespan_deal(makespan));
    return makespan->kernel ? expand_kernel(makespan) : makespan_read_code(makespan, file);
}

static int start(struct makespan *makespan, const char *file)
{
    makespan->style = cli_style(makespan->cli);
    int code = choose_subject(makespan, file);
    THEN_CODE(code, run(makespan));
    gordian_ptx_close(makespan->code);
    free(makespan->expanded);
    return code;
}

/* Groups of options, which are appended to one table. */
static const char *const solvers[] = {"auto", "cbc", "highs", "glpsol", NULL};
static const char *const paths[] = {"longest", "fall", NULL};

static struct option *model_options(struct makespan *m, struct option *to)
{
    const struct option options[] = {
        {"kernel", 'k', "LETTERS",
         "code of a warp: a letter for the unit of each\ninstruction; L5C9 repeats them",
         OPTION_TEXT, &m->kernel},
        {"warps", 'w', "N", "number of warps", OPTION_U32, &m->warps},
        {"threads-per-block", 0, "N", "number of warps, given as threads of a block", OPTION_U32,
         &m->block_threads},
        {"warp-size", 0, "N", "threads of a warp (default: 32)", OPTION_U32, &m->warp_size},
        {"units", 'u', "LIST", "L=1,C=4: instructions of each kind started per cycle", OPTION_TEXT,
         &m->units},
        {"lanes", 'l', "LIST", "L=16,C=32: the same in hardware lanes, one per thread", OPTION_TEXT,
         &m->lanes},
        {"latency", 0, "LIST",
         "D=2,L=1..4: cycles that an instruction occupies its\nunit; a range allows any of its "
         "values",
         OPTION_TEXT, &m->latency},
        {"schedulers", 0, "N", "total instructions started per cycle; none: no bound\n(default)",
         OPTION_TEXT, &m->schedulers},
        {"issue", 0, "N", "instructions of a warp started per cycle (default: 1)", OPTION_U32,
         &m->issue},
        {"blocks", 0, "N", "number of blocks of these warps, assigned at the start", OPTION_U32,
         &m->blocks},
        {"multiprocessors", 0, "N", "number of multiprocessors (default: 1; --own: 132)",
         OPTION_U32, &m->multiprocessors},
        {"resident", 0, "N", "most blocks per multiprocessor (default: even share)", OPTION_U32,
         &m->resident},
        {"chip", 'c', "NAME", "take these values from a real chip; options override", OPTION_WORD,
         &m->chip, m->chips},
        {"chips", 0, NULL, "list the chips", OPTION_FLAG, &m->list_chips},
        {"unpipelined", 0, NULL, "units of the chip are busy until the result is ready",
         OPTION_FLAG, &m->unpipelined},
    };
    return options_append(to, options, sizeof options / sizeof *options);
}

static struct option *search_options(struct makespan *m, struct option *to)
{
    const struct option options[] = {
        {"exact", 'x', NULL, "run until the lower and upper bound are equal", OPTION_FLAG,
         &m->exact},
        {"best", 'b', NULL, "find the shortest schedule instead of the longest", OPTION_FLAG,
         &m->best},
        {"seconds", 0, "S", "time limit (default: 20 unless --exact or --engine)", OPTION_TEXT,
         &m->seconds},
        {"max-memory", 0, "BYTES", "memory limit (default: 3/4 of the machine's)", OPTION_U64,
         &m->max_memory},
        {"threads", 't', "N", "number of threads (default: one per core)", OPTION_U32, &m->threads},
        {"seed", 's', "N", "random seed (default: 1)", OPTION_U64, &m->seed},
        {"chains", 0, "N", "annealing: number of independent searches (default: 8)", OPTION_U32,
         &m->chains},
        {"evaluations", 0, "N", "annealing: schedules per search (default: 2M)", OPTION_U64,
         &m->evaluations},
        {"temperature", 0, "T", "annealing: initial temperature (default: 0.3)", OPTION_TEXT,
         &m->temperature},
        {"published", 0, NULL, "annealing: exactly as published", OPTION_FLAG, &m->published},
        {"start", 0, "NAME",
         "annealing: initial schedule: round-robin,\nfixed-priority, most-pending, random; all "
         "(default):\neach in turn",
         OPTION_CHOICE, &m->start, m->starts},
        {"witness", 0, "WARPS", "only build the schedule of this sequence of warps", OPTION_TEXT,
         &m->witness},
    };
    return options_append(to, options, sizeof options / sizeof *options);
}

static struct option *shown_options(struct makespan *m, struct option *to)
{
    const struct option options[] = {
        {"schedule", 0, NULL, "show the schedule, even a long one", OPTION_FLAG, &m->schedule},
        {"svg", 0, "FILE", "draw the schedule into FILE", OPTION_FILE, &m->svg},
        {"csv", 0, "FILE", "write the schedule to FILE as a table", OPTION_FILE, &m->csv},
        {"log", 0, "FILE", "write each chain's improvements with their times to FILE", OPTION_FILE,
         &m->log},
        {"lp", 0, "FILE", "only write the problem to FILE as an integer program", OPTION_FILE,
         &m->lp},
        {"solver", 0, "NAME", "also run a solver: auto, cbc, highs or glpsol", OPTION_WORD,
         &m->solver, solvers},
        {"clock", 0, "MHZ", "also print times, at this clock rate", OPTION_TEXT, &m->clock},
    };
    return options_append(to, options, sizeof options / sizeof *options);
}

static struct option *code_options(struct makespan *m, struct option *to)
{
    const struct option options[] = {
        {"entry", 0, "NAME", "code: the kernel (default: the only one)", OPTION_TEXT, &m->entry},
        {"path", 0, "PATH",
         "code: longest (default), fall (take no branch), or the\nlabels to branch to, separated "
         "by commas",
         OPTION_WORD, &m->path, paths},
        {"from", 0, "PLACE", "code: start at this label or loop", OPTION_TEXT, &m->from},
        {"to", 0, "PLACE", "code: end before this label or loop", OPTION_TEXT, &m->to},
        {"avoid", 0, "PLACE", "code: never pass this label or loop", OPTION_TEXT, &m->avoid},
        {"loop", 0, "LIST",
         "code: NAME=N,...: loop bounds: how often the loop head\nis reached; NAME: label, "
         "FILE:LINE, FUNCTION,\nFUNCTION/N",
         OPTION_TEXT, &m->loops},
        {"loops", 0, NULL, "code: only list the loops and their bounds", OPTION_FLAG,
         &m->list_loops},
        {"set", 0, "LIST", "code: NAME=N,...: parameters and special registers", OPTION_TEXT,
         &m->values},
        {"call", 0, "LIST", "code: NAME=LETTERS,...: external functions", OPTION_TEXT, &m->calls},
        {"unit", 0, "LIST", "code: PATTERN=LETTERS,...: units of instructions", OPTION_TEXT,
         &m->unit},
        {"table", 0, "FILE", "code: read the --unit list from FILE, one per line", OPTION_FILE,
         &m->table},
        {"nvcc", 0, "WORDS", "code: options for nvcc, to compile a .cu", OPTION_TEXT, &m->nvcc},
        {"string", 0, NULL, "only print the letters of the code", OPTION_FLAG, &m->string},
        {"own", 0, NULL, "use Gordian's detection kernel: a bound for one event", OPTION_FLAG,
         &m->own},
        {"event", 0, "KIND", "with --own: grant, block (default), hand-over, cancel,\nrebuild",
         OPTION_CHOICE, &m->event, m->events},
        {"size", 0, "N", "with --own: resources and processes (default: 8192)", OPTION_U32,
         &m->size},
    };
    return options_append(to, options, sizeof options / sizeof *options);
}

static int makespan_main(struct cli *cli, int argc, char **argv)
{
    struct makespan m = {.cli = cli,
                         .warps = NOT_GIVEN,
                         .warp_size = 32,
                         .issue = 1,
                         .block_threads = NOT_GIVEN,
                         .chains = NOT_GIVEN,
                         .evaluations = UINT64_MAX,
                         .seed = 1,
                         .event = GORDIAN_PTX_EVENT_BLOCK,
                         .size = OWN_SIZE,
                         .multiprocessors = NOT_GIVEN};
    struct option options[64] = {0}; /* zeros end the table */
    for (unsigned i = 0; gordian_ptx_event_text((gordian_ptx_event)i); i++)
        m.events[i] = gordian_ptx_event_text((gordian_ptx_event)i);
    for (unsigned i = 0; gordian_makespan_start_text((gordian_makespan_start)i); i++)
        m.starts[i] = gordian_makespan_start_text((gordian_makespan_start)i);
    gordian_chip chip;
    for (size_t i = 0;
         i + 1 < sizeof m.chips / sizeof *m.chips && gordian_chip_info(i, &chip) == GORDIAN_OK; i++)
        m.chips[i] = chip.name;
    code_options(&m, shown_options(&m, search_options(&m, model_options(&m, options))));
    int code, operands = cli_parse(cli, options, argc, argv, &code);
    if (operands < 0)
        return code;
    if (m.list_chips)
        return makespan_list_chips(cli);
    if (operands > 1)
        return cli_misuse(cli, "only one FILE is allowed: unexpected '%.40s'", argv[1]);
    return start(&m, operands ? argv[0] : NULL);
}

const struct command command_makespan = {
    .name = "makespan",
    .operands = "[FILE]",
    .summary = "bound how long GPU warps can take on one multiprocessor",
    .about =
        "Bounds how long a group of warps can take on one streaming multiprocessor, whatever\n"
        "order its schedulers choose: a worst-case schedule, an upper bound, and whether the\n"
        "two are equal. The code of a warp is given as letters (--kernel: L load/store, C\n"
        "cores, S special functions, D double precision, T tensor cores), or read from a FILE\n"
        "of PTX, or of CUDA C++ (.cu) if nvcc is installed.\n",
    .run = makespan_main,
};
