/* gordian detect: replays a trace and reports every deadlock the moment it forms. */
#include "cli/detect/detect.h"

#include "cli/base/commands.h"
#include "foundation/base/error.h"
#include "foundation/base/nearest.h"

#include <string.h>

/* further refused events are only counted, unless --verbose is given */
#define ERRORS_SHOWN 20
/* events between two reads of the clock: a power of two */
#define TICK 1024
/* events per batch: less than a byte counts */
#define BATCH 64

gordian_status detect_list_deadlocked(struct detect *detect, size_t most, gordian_error *error)
{
    const uint32_t *processes;
    size_t count;
    TRY(gordian_deadlocked(detect->system, &processes, &count, error));
    if (!name_list_first(&detect->list, &detect->labels, processes, count, most))
        return fail_memory(error);
    return GORDIAN_OK;
}

static uint8_t count_of(uint64_t counts, gordian_outcome outcome)
{
    return (uint8_t)(counts >> 8 * (outcome - GORDIAN_OUTCOME_GRANTED));
}

static void count_steps(struct tally *tally, const gordian_step *steps, size_t count)
{
    /* One byte per outcome, which a batch cannot overflow: the additions do not depend on each
     * other. */
    uint64_t counts = 0;
    for (size_t i = 0; i < count; i++)
        counts += UINT64_C(1) << 8 * (steps[i].result.outcome - GORDIAN_OUTCOME_GRANTED);
    tally->events += count;
    tally->granted += count_of(counts, GORDIAN_OUTCOME_GRANTED);
    tally->blocked += count_of(counts, GORDIAN_OUTCOME_BLOCKED);
    tally->deadlocks += count_of(counts, GORDIAN_OUTCOME_DEADLOCK);
    tally->doomed += count_of(counts, GORDIAN_OUTCOME_DOOMED);
    tally->errors += count_of(counts, GORDIAN_OUTCOME_REFUSED);
}

static void report_refused(struct detect *detect, const gordian_step *step)
{
    struct cli *cli = detect->cli;
    if (cli->quiet)
        return;
    if (cli->verbose || detect->tally.errors <= ERRORS_SHOWN)
        cli_say_at(cli, detect->input.name, step->line, step->column, step->message);
    else if (detect->tally.errors == ERRORS_SHOWN + 1)
        cli_say(cli, "further errors are only counted; --verbose shows all");
}

static void show_progress(struct detect *detect)
{
    struct progress *progress = &detect->cli->progress;
    if (!progress_due(progress))
        return;
    double events = (double)detect->tally.events;
    progress_show(progress, "%.1f million events, %.2f million/s, %llu deadlocks", events / 1e6,
                  events / 1e6 / progress_seconds(progress),
                  (unsigned long long)detect->tally.deadlocks);
}

/* Reports every event, or only the last event, which is the only one that can be stuck. */
static gordian_status report_steps(struct detect *detect, const struct reporter *reporter,
                                   const gordian_step *steps, size_t count, gordian_error *error)
{
    size_t served, first = reporter->every || detect->all ? 0 : count - 1;
    gordian_status status = GORDIAN_OK;
    detect->served = gordian_served(detect->system, &served);
    for (size_t i = first; i < count && status == GORDIAN_OK; i++) {
        status = reporter->event(detect, &steps[i], error);
        detect->served += steps[i].result.served_count;
    }
    return status;
}

static gordian_status take_steps(struct detect *detect, const struct reporter *reporter,
                                 const gordian_step *steps, size_t count, gordian_error *error)
{
    const gordian_step *last = &steps[count - 1];
    count_steps(&detect->tally, steps, count);
    if (last->result.outcome == GORDIAN_OUTCOME_REFUSED) {
        if (detect->strict)
            return fail_at(error, GORDIAN_STATUS_INPUT, last->line, last->column, "%s",
                           last->message);
        report_refused(detect, last);
    }
    gordian_status status = report_steps(detect, reporter, steps, count, error);
    if (is_stuck(last) && (detect->input.live || detect->cli->out_is_terminal))
        output_flush(&detect->cli->out);
    return status;
}

/* Reports once that a device failed and which engine continues. */
static void report_engine_note(struct detect *detect)
{
    const char *note = gordian_engine_note(detect->system);
    if (!note || detect->noted)
        return;
    cli_say(detect->cli, "engine '%s': %s; continuing with sparse in the same state",
            gordian_engine_name(detect->system), note);
    detect->noted = true;
}

/* Replays until the trace ends or the output is closed. */
static gordian_status replay_all(struct detect *detect, const struct reporter *reporter,
                                 gordian_error *error)
{
    gordian_step steps[BATCH];
    while (!detect->cli->out.failure) {
        size_t count;
        gordian_status status = gordian_replay_many(detect->replay, steps, BATCH, &count, error);
        if (status == GORDIAN_STATUS_END) {
            report_engine_note(detect);
            return reporter->summary(detect, error);
        }
        THEN(status, take_steps(detect, reporter, steps, count, error));
        if (status != GORDIAN_OK)
            return status;
        if ((detect->tally.events & (TICK - 1)) < count) {
            report_engine_note(detect);
            show_progress(detect);
        }
    }
    return GORDIAN_OK;
}

static bool wants_matrices(const struct detect *detect)
{
    return detect->show >= DETECT_SHOW_MATRICES || detect->svg;
}

static gordian_status open_system(struct detect *detect, gordian_error *error)
{
    gordian_options options;
    gordian_options_init(&options);
    options.engine = detect->cli->engine;
    if (wants_matrices(detect) && strcmp(options.engine, "auto") == 0)
        options.engine = "matrix";
    TRY(gordian_open(&detect->system, &options, error));
    detect->labels = labels_of_system(detect->system);
    return GORDIAN_OK;
}

static gordian_status draw_picture(void *context, struct output *out, gordian_error *error)
{
    return matrices_picture(context, out, error);
}

/* --svg: draws the state at the end. */
static gordian_status write_picture(struct detect *detect, gordian_error *error)
{
    struct matrices matrices;
    if (!detect->svg)
        return GORDIAN_OK;
    TRY(matrices_open(&matrices, detect->system, &detect->labels, error));
    gordian_status status = cli_write_file(detect->svg, draw_picture, &matrices, error);
    matrices_close(&matrices);
    return status;
}

/* If all events were refused, the input is invalid, with --quiet as well. */
static gordian_status refuse_all(const struct detect *detect, gordian_error *error)
{
    const struct tally *tally = &detect->tally;
    if (!detect_refused_all(tally))
        return GORDIAN_OK;
    return fail(error, GORDIAN_STATUS_INPUT, "all events were refused (%llu): there is no result",
                (unsigned long long)tally->events);
}

static int refuse_policy(struct cli *cli, const char *typed)
{
    static const char *const policies[] = {"youngest", "oldest", "cheapest", "priority",
                                           "fewest-held"};
    struct nearest nearest = {.typed = typed, .length = strlen(typed)};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        nearest_offer(&nearest, policies[i]);
    const char *found = nearest_found(&nearest);
    return cli_misuse(cli,
                      "--recover: '%.40s' is not one of youngest, oldest, cheapest, priority, "
                      "fewest-held%s%s%s",
                      typed, found ? "; did you mean '" : "", found ? found : "",
                      found ? "'?" : "");
}

static int run_detect(struct detect *detect, const char *path)
{
    gordian_error error = {0};
    gordian_status status = open_system(detect, &error);
    if (status != GORDIAN_OK)
        return cli_fail(detect->cli, NULL, &error);
    uint64_t value; /* an empty system has no row */
    if (wants_matrices(detect) && gordian_matrix_get(detect->system, GORDIAN_MATRIX_AG, 0, 0,
                                                     &value, NULL) == GORDIAN_STATUS_UNAVAILABLE)
        return cli_misuse(detect->cli,
                          "engine '%s' keeps no matrices to show: use --engine matrix, or cuda on "
                          "a GPU",
                          gordian_engine_name(detect->system));
    int code = input_open(&detect->input, detect->cli, path);
    if (code != EXIT_NOTHING)
        return code;
    status = gordian_replay_open(&detect->replay, detect->system, &detect->input.source, &error);
    THEN(status, replay_all(detect, detect->cli->json ? &detect_json : &detect_text, &error));
    if (status == GORDIAN_OK && !detect->cli->out.failure)
        status = refuse_all(detect, &error);
    if (status != GORDIAN_OK)
        return cli_fail(detect->cli, detect->input.name, &error);
    status = write_picture(detect, &error);
    if (status != GORDIAN_OK)
        return cli_fail(detect->cli, NULL, &error);
    return detect->tally.deadlocks || detect->tally.doomed ? EXIT_FOUND : EXIT_NOTHING;
}

static int detect_main(struct cli *cli, int argc, char **argv)
{
    static const char *const shows[] = {"deadlocks", "matrices", "all", NULL};
    struct detect detect = {.cli = cli, .input.fd = -1, .show = DETECT_SHOW_DEADLOCKS};
    const struct option options[] = {
        {"all", 'a', NULL, "show every event, not only deadlocks", OPTION_FLAG, &detect.all, NULL},
        {"recover", 'r', "POLICY",
         "after each deadlock end processes until the rest\n"
         "can go on, chosen by POLICY: youngest, oldest,\n"
         "cheapest, priority, fewest-held",
         OPTION_WORD, &detect.recover,
         (const char *const[]){"youngest", "oldest", "cheapest", "priority", "fewest-held", NULL}},
        {"show", 0, "WHAT",
         "deadlocks (default); matrices: also the matrices at\n"
         "the end; all: also at every deadlock",
         OPTION_CHOICE, &detect.show, shows},
        {"strict", 's', NULL, "stop at the first event that is refused", OPTION_FLAG,
         &detect.strict, NULL},
        {"svg", 0, "FILE", "draw the matrices at the end into FILE", OPTION_FILE, &detect.svg,
         NULL},
        {0},
    };
    int code;
    int operands = cli_parse(cli, options, argc, argv, &code);
    if (operands < 0)
        return code;
    if (operands > 1)
        return cli_misuse(cli, "unexpected operand '%.200s': give one FILE", argv[1]);
    if (detect.recover && !gordian_policy_parse(detect.recover, &detect.policy))
        return refuse_policy(cli, detect.recover);
    detect.drawing = (struct drawing){cli_style(cli), &cli->out, &detect.labels, cli->verbose};
    code = run_detect(&detect, operands ? argv[0] : NULL);
    gordian_replay_close(detect.replay);
    gordian_close(detect.system);
    input_close(&detect.input);
    name_list_free(&detect.list);
    followers_free(&detect.followers);
    return code;
}

const struct command command_detect = {
    .name = "detect",
    .operands = "[FILE]",
    .summary = "replay a trace and report every deadlock as it forms",
    .about = "Replays a trace, event by event, from FILE or from standard input as it\n"
             "arrives, and draws every deadlock the moment it forms. With --json, prints a\n"
             "line for each event and a summary at the end.\n",
    .run = detect_main,
};
