/* gordian run: what its files share.
 *
 *     run.c                the options
 *     program.c            the program: where it is, whether it can be watched
 *     preload_library.c    the preloaded library: where it is
 *     seccomp_filters.c    whether a sandbox around this command lets the library work
 *     start.c              the environment, the child, its signals and its end
 *     mailbox.c            incidents that watched processes cannot have reported themselves
 *     survivors.c          processes that outlive the program
 *     hang.c               hangs that the library does not see, looked for from outside
 *     remote_confirm.c     the confirmation from outside, where only the command may look
 *     mpi_ranks.c          ranks of MPI programs, which poll: do they make progress?
 *     process_tree.c       the processes that the child has started: do they move?
 *     unbuffered_replay.c  MPI programs that only buffering has saved
 *     report_print.c       a report, printed and written everywhere it was asked for
 *     reporter.c           the hidden side: started by the library to report an incident; --status
 *
 * Everything the library and the reporter need to know travels in GORDIAN_* variables
 * (foundation/records/incident.h lists the library's), so that a service can set them without this
 * command.
 */
#pragma once

#include "cli/base/cli.h"

enum run_exit {
    RUN_HUNG = 87, /* --on-hang: nothing moved for so long */
    RUN_NOT_EXECUTABLE = 126,
    RUN_NOT_FOUND = 127,
};

struct run_settings {
    unsigned on_deadlock;    /* index into "report", "abort", "break" */
    unsigned on_unwatchable; /* index into "run", "stop" */
    unsigned on_likely;      /* index into "report", "abort" */
    bool potential, no_potential;
    bool no_follow, no_sites;
    const char *exec;
    const char *stall; /* seconds */
    const char *on_hang;
    uint64_t on_hang_ns; /* the same as a number; 0: never */
    const char *json, *dot, *svg, *trace, *output, *suppress;
    uint32_t status; /* of this process; 0: run something */
    uint32_t report; /* descriptor of an incident; 0: none */
};

extern const char *const run_deadlock_choices[], *const run_likely_choices[];

/* Runs the program: the exit code. Does not come back if the program was not to be watched. */
int run_start(struct cli *cli, const struct run_settings *settings, char **command);

/* Reports what watched processes leave in the mailbox (foundation/records/incident.h) of the
 * session; a thread does it. NULL: there is none, which costs those reports that need it. */
struct run_mailbox;
struct run_mailbox *run_mailbox_open(const char *folder);
/* Starts the thread that does it: after the fork. */
void run_mailbox_attend(struct run_mailbox *mailbox);
void run_mailbox_close(struct run_mailbox *mailbox);

/* How many seccomp filters there are, provided that they let the library do what it does. */
unsigned run_filters(void);

/* --report-incident, --status. */
int run_report(struct cli *cli, int fd);
int run_status(struct cli *cli, const struct run_settings *settings);
