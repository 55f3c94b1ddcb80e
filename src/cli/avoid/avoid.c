/* gordian avoid: replays requests under declared claims and grants only what stays safe (banker's
 * algorithm). */
#include "cli/avoid/avoid.h"

#include "cli/base/commands.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <inttypes.h>

/* Errors beyond these are only counted, unless --verbose. */
#define ERRORS_SHOWN 20
/* The clock is read once in this many events, a power of two. */
#define TICK 1024

static void count_step(struct avoid_tally *tally, const gordian_bank_step *step,
                       const gordian_answer *answer)
{
    tally->events += step->kind == GORDIAN_LINE_EVENT;
    tally->served += answer->served_count;
    switch (answer->verdict) {
    case GORDIAN_VERDICT_GRANTED:
        tally->granted++;
        break;
    case GORDIAN_VERDICT_UNSAFE:
        tally->unsafe++;
        break;
    case GORDIAN_VERDICT_UNAVAILABLE:
        tally->unavailable++;
        break;
    case GORDIAN_VERDICT_RELEASED:
        tally->released++;
        break;
    case GORDIAN_VERDICT_REFUSED:
        tally->errors++;
        tally->refused += step->kind == GORDIAN_LINE_EVENT;
        break;
    case GORDIAN_VERDICT_CANCELLED:
    case GORDIAN_VERDICT_EXITED:
    case GORDIAN_VERDICT_CHANGED:
        break;
    }
}

static void report_error(struct avoid *avoid, const char *name, const gordian_bank_step *step)
{
    struct cli *cli = avoid->cli;
    if (cli->quiet)
        return;
    if (cli->verbose || avoid->tally.errors <= ERRORS_SHOWN)
        cli_say_at(cli, name, step->line, step->column, step->message);
    else if (avoid->tally.errors == ERRORS_SHOWN + 1)
        cli_say(cli, "further errors are only counted; --verbose shows all");
}

static void show_progress(struct avoid *avoid)
{
    struct progress *progress = &avoid->cli->progress;
    if (!progress_due(progress))
        return;
    double events = (double)avoid->tally.events;
    progress_show(progress, "%.2f million events, %.0f thousand/s, %llu unsafe", events / 1e6,
                  events / 1e3 / progress_seconds(progress),
                  (unsigned long long)avoid->tally.unsafe);
}

/* Prints the note of the engine once, such as a failed device and its replacement. */
static void print_engine_note(struct avoid *avoid)
{
    char note[200];
    if (avoid->noted || !*gordian_bank_engine_note(avoid->bank, note, sizeof note))
        return;
    cli_say(avoid->cli, "engine '%s': %s", gordian_bank_engine_name(avoid->bank), note);
    avoid->noted = true;
}

static gordian_status take_step(struct avoid *avoid, const gordian_bank_step *step,
                                const char *name, const struct avoid_reporter *reporter,
                                gordian_error *error)
{
    const gordian_answer *answer = &avoid->answer;
    count_step(&avoid->tally, step, answer);
    if (answer->verdict == GORDIAN_VERDICT_REFUSED) {
        if (avoid->strict)
            return fail_at(error, GORDIAN_STATUS_INPUT, step->line, step->column, "%s",
                           step->message);
        report_error(avoid, name, step);
    }
    if (answer->incomplete)
        return fail_memory(error);
    if (reporter && avoid_is_reported(avoid, step))
        reporter->step(avoid, step);
    if (answer->verdict == GORDIAN_VERDICT_UNSAFE &&
        (avoid->input.live || avoid->cli->out_is_terminal))
        output_flush(&avoid->cli->out);
    return GORDIAN_OK;
}

static gordian_status summarise_replay(struct avoid *avoid, const struct avoid_reporter *reporter,
                                       gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    size_t count = gordian_bank_sequence(avoid->bank, NULL, 0);
    if (!memory_grow(&memory, &avoid->order, &avoid->order_capacity, count, sizeof *avoid->order))
        return fail_memory(error);
    gordian_bank_sequence(avoid->bank, avoid->order, count);
    reporter->summary(avoid, avoid->order, count);
    return GORDIAN_OK;
}

/* Replays to the end of the trace, or until the output is closed. */
static gordian_status replay_all(struct avoid *avoid, const char *name,
                                 const struct avoid_reporter *reporter, gordian_error *error)
{
    for (uint64_t lines = 1; !avoid->cli->out.failure; lines++) {
        gordian_bank_step step;
        gordian_status status =
            gordian_bank_replay_next(avoid->replay, &step, &avoid->answer, error);
        if (status == GORDIAN_STATUS_END) {
            print_engine_note(avoid);
            return reporter ? summarise_replay(avoid, reporter, error) : GORDIAN_OK;
        }
        THEN(status, take_step(avoid, &step, name, reporter, error));
        TRY(status);
        if ((lines & (TICK - 1)) == 0) {
            print_engine_note(avoid);
            show_progress(avoid);
        }
    }
    return GORDIAN_OK;
}

gordian_status avoid_open_bank(struct avoid *avoid, gordian_error *error)
{
    gordian_bank_options options;
    gordian_bank_options_init(&options);
    options.engine = avoid->cli->engine;
    options.queue = avoid->queue;
    if (avoid->patience != AVOID_NO_PATIENCE)
        options.patience = (uint32_t)avoid->patience;
    return gordian_bank_open(&avoid->bank, &options, error);
}

int avoid_replay(struct avoid *avoid, const gordian_source *source, const char *name,
                 const struct avoid_reporter *reporter)
{
    gordian_error error = {0};
    gordian_status status = gordian_bank_replay_open(&avoid->replay, avoid->bank, source, &error);
    THEN(status, replay_all(avoid, name, reporter, &error));
    return status == GORDIAN_OK ? EXIT_NOTHING : cli_fail(avoid->cli, name, &error);
}

static int run_avoid(struct avoid *avoid, const char *path)
{
    gordian_error error = {0};
    if (avoid_open_bank(avoid, &error) != GORDIAN_OK)
        return cli_fail(avoid->cli, NULL, &error);
    int code = input_open(&avoid->input, avoid->cli, path);
    THEN_CODE(code, avoid_replay(avoid, &avoid->input.source, avoid->input.name,
                                 avoid->cli->json ? &avoid_json : &avoid_text));
    if (code == EXIT_NOTHING && avoid_refused_all(&avoid->tally)) {
        fail(&error, GORDIAN_STATUS_INPUT, "all events were refused (%llu): there is no result",
             (unsigned long long)avoid->tally.events);
        code = cli_fail(avoid->cli, avoid->input.name, &error);
    }
    TRY_CODE(code);
    return avoid->tally.unsafe ? EXIT_FOUND : EXIT_NOTHING;
}

/* Checks combinations of options. */
static int check_options(struct avoid *avoid, int operands, char **argv)
{
    struct cli *cli = avoid->cli;
    bool workers = avoid->workers != AVOID_NO_WORKERS;
    if (!avoid->plan && workers)
        return cli_misuse(cli, "--workers needs --plan");
    if (!avoid->plan && avoid->costs)
        return cli_misuse(cli, "--cost needs --plan");
    if (avoid->units && !workers)
        return cli_misuse(cli, "--units needs --workers: otherwise FILE gives the units");
    if (avoid->patience != AVOID_NO_PATIENCE && !avoid->queue)
        return cli_misuse(cli, "--patience needs --queue");
    if (avoid->patience != AVOID_NO_PATIENCE && avoid->patience > UINT32_MAX)
        return cli_misuse(cli, "--patience: at most %" PRIu32, UINT32_MAX);
    if (!workers && operands > 1)
        return cli_misuse(cli, "only one FILE is allowed: unexpected '%.200s'", argv[1]);
    return EXIT_NOTHING;
}

static int avoid_main(struct cli *cli, int argc, char **argv)
{
    struct avoid avoid = {
        .cli = cli, .input.fd = -1, .workers = AVOID_NO_WORKERS, .patience = AVOID_NO_PATIENCE};
    const struct option options[] = {
        {"all", 'a', NULL, "show every event, not only unsafe requests", OPTION_FLAG, &avoid.all},
        {"brief", 'b', NULL, "with --json: omit safe orders and reasons", OPTION_FLAG,
         &avoid.brief},
        {"queue", 0, NULL, "queue requests that cannot be granted, instead of\ndropping them",
         OPTION_FLAG, &avoid.queue},
        {"patience", 0, "N",
         "with --queue: how often others may overtake the\nlongest waiting request (default: 16)",
         OPTION_U64, &avoid.patience},
        {"strict", 's', NULL, "stop at the first error in the trace", OPTION_FLAG, &avoid.strict},
        {"plan", 'p', NULL, "only show how many units these claims need", OPTION_FLAG, &avoid.plan},
        {"workers", 'w', "N", "with --plan: N equal processes with these CLAIMs", OPTION_U64,
         &avoid.workers},
        {"units", 'u', "LIST", "with --workers: available units, as gpu=4,disk=2", OPTION_TEXT,
         &avoid.units},
        {"cost", 0, "LIST", "with --plan: cost of a unit, as gpu=9,disk=1", OPTION_TEXT,
         &avoid.costs},
        {0},
    };
    int code, operands = cli_parse(cli, options, argc, argv, &code);
    if (operands < 0)
        return code;
    avoid.style = cli_style(cli);
    gordian_answer_init(&avoid.answer,
                        cli->json && avoid.brief ? GORDIAN_DETAIL_VERDICT : GORDIAN_DETAIL_REASONS);
    code = check_options(&avoid, operands, argv);
    THEN_CODE(code, avoid.plan ? avoid_plan(&avoid, operands, argv)
                               : run_avoid(&avoid, operands ? argv[0] : NULL));
    gordian_allocator memory = memory_allocator(NULL);
    gordian_bank_replay_close(avoid.replay);
    gordian_answer_free(&avoid.answer);
    gordian_bank_close(avoid.bank);
    input_close(&avoid.input);
    memory_free(&memory, avoid.order);
    return code;
}

const struct command command_avoid = {
    .name = "avoid",
    .operands = "[FILE | CLAIM...]",
    .summary = "replay requests under declared claims; grant only safe ones",
    .about = "Replays a trace whose processes declare their claims, from FILE or from standard\n"
             "input as it arrives. It grants a request if all processes can still finish\n"
             "afterwards, and reports denied requests with the reason. --plan reports how many\n"
             "units the claims need with avoidance and without. With --workers the claims are\n"
             "operands:\n"
             "\n"
             "  gordian avoid --plan --workers 8 connection=2 disk=1\n",
    .run = avoid_main,
};
