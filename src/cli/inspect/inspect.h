/* gordian inspect: what its files share.
 *
 *     inspect.c   the options, and one look after the other
 *     targets.c   from operands to processes and cores: --tree, --all
 *     show.c      what was found, and what was not
 */
#pragma once

#include "cli/base/cli.h"
#include "sources/inspect/inspect.h"

struct inspect_settings {
    const char *exe, *sysroot;
    const char *watch; /* seconds between looks; NULL: one look */
    bool wait;         /* look until something is found */
    const char *core;  /* take a core into this file if something is found */
    uint32_t stop_ms;
    uint32_t tree; /* this process and its descendants; 0: none */
    bool all;      /* every process that may be looked at */
    const char *dot, *svg, *trace;
    size_t unread; /* processes of --tree and --all that could not be opened, */
    char why[300]; /* and why, of the first */
};

/* targets.c. Opens everything that was asked for; says what cannot be. */
gordian_status inspect_targets(struct cli *cli, struct inspect_settings *settings, char **operands,
                               int count, struct process_snapshot *snapshot, gordian_error *error);

/* show.c. Writes what one look came to; the exit code. */
int inspect_show(struct cli *cli, const struct inspect_settings *settings,
                 struct process_snapshot *snapshot, const struct inspect_findings *findings);
