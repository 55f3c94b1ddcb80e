/* gordian inspect: finds the deadlock of a process that hangs already, or of a core dump. */
#include "cli/inspect/inspect.h"

#include "cli/base/commands.h"

#include <time.h>

#define STOP_MS 50

static int check_options(struct cli *cli, const struct inspect_settings *settings, int operands)
{
    if (settings->watch && options_seconds(settings->watch) <= 0)
        return cli_misuse(cli, "--watch: '%.40s' is not a number of seconds", settings->watch);
    if (operands == 0 && !settings->tree && !settings->all)
        return cli_misuse(cli, "nothing to inspect: name a process or a core dump");
    return EXIT_NOTHING;
}

/* Inspects once, or repeatedly until something is found. */
static int look_on(struct cli *cli, const struct inspect_settings *settings,
                   struct process_snapshot *snapshot)
{
    struct inspect_findings findings;
    gordian_error error = {0};
    bool again = settings->watch || settings->wait;
    double pause = settings->watch ? options_seconds(settings->watch) : 1;
    int code = EXIT_NOTHING;
    findings_open(&findings);
    for (;;) {
        gordian_status status = inspect_find_deadlocks(snapshot, &findings, &error);
        if (status != GORDIAN_OK) {
            code = cli_fail(cli, NULL, &error);
            break;
        }
        if (!again || findings.count) {
            code = inspect_show(cli, settings, snapshot, &findings);
            break;
        }
        struct timespec left = {(time_t)pause, 0};
        left.tv_nsec = (long)((pause - (double)left.tv_sec) * 1e9);
        nanosleep(&left, NULL);
    }
    findings_close(&findings);
    return code;
}

static int inspect_main(struct cli *cli, int argc, char **argv)
{
    struct inspect_settings inspect = {.stop_ms = STOP_MS};
    const struct option options[] = {
        {"exe", 0, "FILE", "program of the core dump, if it was moved", OPTION_FILE, &inspect.exe,
         NULL},
        {"sysroot", 0, "DIR", "directory with the files of the core dump's machine", OPTION_FOLDER,
         &inspect.sysroot, NULL},
        {"stop-ms", 0, "N",
         "stop a thread for at most N ms if its stack, or the\ntimers of its process, cannot be "
         "read otherwise\n(default: 50; 0: never)",
         OPTION_U32, &inspect.stop_ms, NULL},
        {"watch", 0, "SECONDS", "scan every SECONDS until something is found", OPTION_TEXT,
         &inspect.watch, NULL},
        {"wait", 0, NULL, "the same, every second", OPTION_FLAG, &inspect.wait, NULL},
        {"tree", 0, "PID", "inspect a process and all its descendants together", OPTION_U32,
         &inspect.tree, NULL},
        {"all", 'a', NULL, "inspect all processes that it may access, together", OPTION_FLAG,
         &inspect.all, NULL},
        {"core", 0, "FILE", "if something is found, write a core dump of the process", OPTION_FILE,
         &inspect.core, NULL},
        {"dot", 0, "FILE", "write the wait-for graph for Graphviz", OPTION_FILE, &inspect.dot,
         NULL},
        {"svg", 0, "FILE", "write the wait-for graph as a picture", OPTION_FILE, &inspect.svg,
         NULL},
        {"trace", 0, "FILE", "write a trace that 'gordian detect' replays", OPTION_FILE,
         &inspect.trace, NULL},
        {0},
    };
    struct process_snapshot snapshot;
    gordian_error error = {0};
    int code;
    int operands = cli_parse(cli, options, argc, argv, &code);
    if (operands < 0)
        return code;
    cli_bound_servers();
    code = check_options(cli, &inspect, operands);
    if (code != EXIT_NOTHING)
        return code;
    if (inspect_targets(cli, &inspect, argv, operands, &snapshot, &error) != GORDIAN_OK)
        return cli_fail(cli, NULL, &error);
    code = look_on(cli, &inspect, &snapshot);
    snapshot_close(&snapshot);
    return code;
}

const struct command command_inspect = {
    .name = "inspect",
    .operands = "PID|CORE...",
    .summary = "find the deadlock of a hanging process or a core dump",
    .about =
        "Reads the threads, locks and owners of processes from outside, or from core dumps, and\n"
        "builds the wait-for graph. It stops a thread for a moment only if its stack or the\n"
        "timers of its process cannot be read otherwise (--stop-ms). The verdict is proved\n"
        "(owners read from the locks, twice), likely (with the reason), or unknown.\n",
    .run = inspect_main,
};
