/* gordian run: runs a program and reports its deadlocks. */
#include "cli/run/run.h"

#include "cli/base/commands.h"

const char *const run_deadlock_choices[] = {"report", "abort", "break", NULL};
const char *const run_likely_choices[] = {"report", "abort", NULL};
static const char *const run_unwatchable_choices[] = {"run", "stop", NULL};

static int check_run_options(struct cli *cli, const struct run_settings *settings, int operands)
{
    if (settings->potential && settings->no_potential)
        return cli_misuse(cli, "--potential and --no-potential: give only one of them");
    if (settings->stall && options_seconds(settings->stall) <= 0)
        return cli_misuse(cli, "--stall: '%.40s' is not a number of seconds", settings->stall);
    if (settings->on_hang && options_seconds(settings->on_hang) <= 0)
        return cli_misuse(cli, "--on-hang: '%.40s' is not a number of seconds", settings->on_hang);
    if (settings->status && operands > 0)
        return cli_misuse(cli, "--status queries a running process: give no COMMAND");
    if (!settings->status && !settings->report && operands == 0)
        return cli_misuse(cli, "no COMMAND: name the program to run");
    return EXIT_NOTHING;
}

static int run_main(struct cli *cli, int argc, char **argv)
{
    struct run_settings run = {.on_deadlock = 1};
    const struct option options[] = {
        {"on-deadlock", 0, "WHAT",
         "report: continue; abort: end the program, exit status\n86 (default); break: the last "
         "call "
         "returns EDEADLK",
         OPTION_CHOICE, &run.on_deadlock, run_deadlock_choices},
        {"on-likely", 0, "WHAT",
         "a deadlock that is likely, not proved: report (default)\nand continue, or abort, exit "
         "status "
         "86",
         OPTION_CHOICE, &run.on_likely, run_likely_choices},
        {"on-hang", 0, "SECONDS",
         "when no thread has moved for this long: report all\nthreads, end the program, exit "
         "status 87",
         OPTION_TEXT, &run.on_hang, NULL},
        {"potential", 0, NULL, "report lock order inversions (default)", OPTION_FLAG,
         &run.potential, NULL},
        {"no-potential", 0, NULL, "do not", OPTION_FLAG, &run.no_potential, NULL},
        {"stall", 0, "SECONDS", "report waits longer than this", OPTION_TEXT, &run.stall, NULL},
        {"exec", 0, "CMD", "run this shell command at every report", OPTION_TEXT, &run.exec, NULL},
        {"output", 'o', "FILE", "write reports to FILE (default: standard error)", OPTION_FILE,
         &run.output, NULL},
        {"json", 'j', "FILE", "write reports to FILE, one JSON object per line", OPTION_FILE,
         &run.json, NULL},
        {"dot", 0, "FILE", "write the wait-for graph for Graphviz", OPTION_FILE, &run.dot, NULL},
        {"svg", 0, "FILE", "write the wait-for graph as a picture", OPTION_FILE, &run.svg, NULL},
        {"trace", 0, "FILE", "write a trace that 'gordian detect' replays", OPTION_FILE, &run.trace,
         NULL},
        {"suppress", 0, "FILE", "suppress the reports listed in FILE", OPTION_FILE, &run.suppress,
         NULL},
        {"no-follow", 0, NULL, "do not watch programs that COMMAND starts", OPTION_FLAG,
         &run.no_follow, NULL},
        {"no-sites", 0, NULL, "do not record where locks are acquired: faster", OPTION_FLAG,
         &run.no_sites, NULL},
        {"on-unwatchable", 0, "WHAT",
         "a program that cannot be watched: run it anyway\n(default), or stop (exit status 3)",
         OPTION_CHOICE, &run.on_unwatchable, run_unwatchable_choices},
        {"status", 0, "PID", "print the wait-for graph of a process, watched or not", OPTION_U32,
         &run.status, NULL},
        {"report-incident", 0, "FD", NULL, OPTION_U32, &run.report, NULL},
        {0},
    };
    int code;
    int first = cli_parse_before(cli, options, argc, argv, &code);
    if (first < 0)
        return code;
    code = check_run_options(cli, &run, argc - first);
    if (code != EXIT_NOTHING)
        return code;
    if (run.on_hang)
        run.on_hang_ns = (uint64_t)(options_seconds(run.on_hang) * 1e9);
    if (run.report)
        return run_report(cli, (int)run.report);
    if (run.status)
        return run_status(cli, &run);
    return run_start(cli, &run, argv + first);
}

const struct command command_run = {
    .name = "run",
    .operands = "[--] COMMAND [ARGUMENT]...",
    .summary = "run a program and report its deadlocks",
    .about = "Runs an unmodified program and watches its locks: mutexes, rwlocks, spin locks,\n"
             "semaphores, conditions, barriers, joins. An actual deadlock is reported the moment\n"
             "it forms, and so are lock orders that can lead to one. Hangs of other kinds are\n"
             "detected from outside, in all processes that the program starts. The exit status\n"
             "is the program's own, or 86 if an actual deadlock was found.\n",
    .run = run_main,
};
