/* gordian detect: replays a trace and reports every deadlock the moment it forms. */
#include "cli/detect/detect.h"

#include "base/error.h"
#include "cli/commands.h"

#include <string.h>

/* Refused events beyond these are only counted, unless --verbose. */
#define ERRORS_SHOWN 20
/* The clock is looked at once in so many events: a power of two. */
#define TICK 1024

gordian_status detect_list_deadlocked(struct detect *detect, gordian_error *error)
{
    const uint32_t *processes;
    size_t count;
    gordian_status status = gordian_deadlocked(detect->system, &processes, &count, error);
    if (status != GORDIAN_OK)
        return status;
    if (!name_list_sorted(&detect->list, &detect->labels, processes, count))
        return fail_memory(error);
    return GORDIAN_OK;
}

static void count_event(struct tally *tally, const gordian_step *step)
{
    tally->events++;
    switch ((gordian_outcome)step->result.outcome) {
    case GORDIAN_OUTCOME_GRANTED:
        tally->granted++;
        break;
    case GORDIAN_OUTCOME_BLOCKED:
        tally->blocked++;
        break;
    case GORDIAN_OUTCOME_DEADLOCK:
        tally->deadlocks++;
        break;
    case GORDIAN_OUTCOME_DOOMED:
        tally->doomed++;
        break;
    case GORDIAN_OUTCOME_REFUSED:
        tally->errors++;
        break;
    case GORDIAN_OUTCOME_RELEASED:
    case GORDIAN_OUTCOME_CANCELLED:
    case GORDIAN_OUTCOME_EXITED:
        break;
    }
}

static void tell_refused(struct detect *detect, const gordian_step *step)
{
    struct cli *cli = detect->cli;
    if (cli->quiet)
        return;
    if (cli->verbose || detect->tally.errors <= ERRORS_SHOWN)
        cli_say_at(cli, detect->input.name, step->line, step->column, step->message);
    else if (detect->tally.errors == ERRORS_SHOWN + 1)
        cli_say(cli, "further errors are counted only; --verbose shows all");
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

/* A refused event under --strict is bad input like any other. */
static gordian_status refuse_strictly(const gordian_step *step, gordian_error *error)
{
    return fail_at(error, GORDIAN_STATUS_INPUT, step->line, step->column, "%s", step->message);
}

static gordian_status take_step(struct detect *detect, const struct reporter *reporter,
                                const gordian_step *step, gordian_error *error)
{
    count_event(&detect->tally, step);
    if (step->result.outcome == GORDIAN_OUTCOME_REFUSED) {
        if (detect->strict)
            return refuse_strictly(step, error);
        tell_refused(detect, step);
    }
    gordian_status status = reporter->event(detect, step, error);
    if (is_stuck(step) && (detect->input.live || detect->cli->out_is_terminal))
        output_flush(&detect->cli->out);
    return status;
}

/* Once: a device that failed, and who goes on. */
static void tell_note(struct detect *detect)
{
    const char *note = gordian_engine_note(detect->system);
    if (!note || detect->noted)
        return;
    cli_say(detect->cli, "engine '%s': %s; sparse goes on with the same state",
            gordian_engine_name(detect->system), note);
    detect->noted = true;
}

/* To the end of the trace, or of whoever reads our output. */
static gordian_status replay_all(struct detect *detect, const struct reporter *reporter,
                                 gordian_error *error)
{
    while (!detect->cli->out.failure) {
        gordian_step step;
        gordian_status status = gordian_replay_next(detect->replay, &step, error);
        if (status == GORDIAN_STATUS_END) {
            tell_note(detect);
            return reporter->summary(detect, error);
        }
        if (status == GORDIAN_OK)
            status = take_step(detect, reporter, &step, error);
        if (status != GORDIAN_OK)
            return status;
        if ((detect->tally.events & (TICK - 1)) == 0) {
            tell_note(detect);
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
    gordian_status status = gordian_open(&detect->system, &options, error);
    if (status == GORDIAN_OK)
        detect->labels = labels_of_system(detect->system);
    return status;
}

/* Does the engine keep matrices, of which an empty system has no row? */
static bool keeps_matrices(const struct detect *detect)
{
    uint64_t value;
    return gordian_matrix_get(detect->system, GORDIAN_MATRIX_AG, 0, 0, &value, NULL) !=
           GORDIAN_STATUS_UNAVAILABLE;
}

static gordian_status draw_picture(void *context, struct output *out, gordian_error *error)
{
    return matrices_picture(context, out, error);
}

/* --svg: the state at the end. */
static gordian_status write_picture(struct detect *detect, gordian_error *error)
{
    struct matrices matrices;
    if (!detect->svg)
        return GORDIAN_OK;
    gordian_status status = matrices_open(&matrices, detect->system, &detect->labels, error);
    if (status != GORDIAN_OK)
        return status;
    status = cli_write_file(detect->svg, draw_picture, &matrices, error);
    matrices_close(&matrices);
    return status;
}

static int run_detect(struct detect *detect, const char *path)
{
    gordian_error error = {0};
    gordian_status status = open_system(detect, &error);
    if (status != GORDIAN_OK)
        return cli_fail(detect->cli, NULL, &error);
    if (wants_matrices(detect) && !keeps_matrices(detect))
        return cli_misuse(detect->cli,
                          "engine '%s' keeps no matrices to show: use --engine matrix, or cuda on "
                          "a GPU",
                          gordian_engine_name(detect->system));
    int code = input_open(&detect->input, detect->cli, path);
    if (code != EXIT_NOTHING)
        return code;
    status = gordian_replay_open(&detect->replay, detect->system, &detect->input.source, &error);
    if (status == GORDIAN_OK)
        status = replay_all(detect, detect->cli->json ? &detect_json : &detect_text, &error);
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
         OPTION_TEXT, &detect.recover, NULL},
        {"show", 0, "WHAT",
         "deadlocks (the default); matrices: those of the\n"
         "engine too, at the end; all: and at every deadlock",
         OPTION_CHOICE, &detect.show, shows},
        {"strict", 's', NULL, "stop at the first event that is refused", OPTION_FLAG,
         &detect.strict, NULL},
        {"svg", 0, "FILE", "draw the matrices at the end into FILE", OPTION_TEXT, &detect.svg,
         NULL},
        {0},
    };
    int code;
    int operands = cli_parse(cli, options, argc, argv, &code);
    if (operands < 0)
        return code;
    if (operands > 1)
        return cli_misuse(cli, "one FILE at a time: '%.200s' is one too many", argv[1]);
    if (detect.recover && !gordian_policy_parse(detect.recover, &detect.policy))
        return cli_misuse(cli,
                          "--recover: '%.40s' is none of youngest, oldest, cheapest, priority, "
                          "fewest-held",
                          detect.recover);
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
    .about = "Replays a trace, event by event, from FILE or from standard input as it comes,\n"
             "and draws every deadlock the moment it forms. With --json every event's outcome\n"
             "is a line, and a summary the last one.\n",
    .run = detect_main,
};
