/* gordian inspect: shared declarations.
 *
 *     inspect.c   the options, and the loop of --watch
 *     targets.c   opens processes and core dumps: operands, --tree, --all
 *     show.c      prints what was found, or that nothing was found */
#pragma once

#include "cli/base/cli.h"
#include "sources/inspect/inspect.h"

struct inspect_settings {
    const char *exe, *sysroot;
    const char *watch; /* seconds between scans; NULL: scan once */
    bool wait;         /* scan until something is found */
    const char *core;  /* write a core dump to this file if something is found */
    uint32_t stop_ms;
    uint32_t tree; /* this process and its descendants; 0: none */
    bool all;      /* every process that may be inspected */
    const char *dot, *svg, *trace;
    size_t unread; /* number of processes of --tree and --all that could not be opened */
    char why[300]; /* the reason for the first of them */
};

/* targets.c. Opens all requested processes and reports those that cannot be opened. */
gordian_status inspect_targets(struct cli *cli, struct inspect_settings *settings, char **operands,
                               int count, struct process_snapshot *snapshot, gordian_error *error);

/* show.c. Prints the result of one scan and returns the exit status. */
int inspect_show(struct cli *cli, const struct inspect_settings *settings,
                 struct process_snapshot *snapshot, const struct inspect_findings *findings);
