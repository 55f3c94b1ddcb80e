/* gordian run: shared declarations.
 *
 *     run.c                the options
 *     program.c            the program: its path, and whether it can be watched
 *     preload_library.c    the path of the preloaded library
 *     seccomp_filters.c    whether a sandbox permits the system calls of the library
 *     start.c              the environment, the child, its signals and its end
 *     mailbox.c            incidents that watched processes could not report themselves
 *     survivors.c          processes that outlive the program
 *     hang.c               hangs that the library does not see, found from outside
 *     remote_confirm.c     confirmation from outside, if only the command may inspect
 *     mpi_ranks.c          MPI ranks, which poll: do they make progress?
 *     process_tree.c       the started processes: do they move?
 *     unbuffered_replay.c  MPI programs that ended only because of buffering
 *     report_print.c       delivers a report: text, files, hook
 *     reporter.c           the reporter, started by the library; --status
 *
 * The library and the reporter get their settings in GORDIAN_* variables
 * (foundation/records/incident.h lists those of the library), so that a service can set them
 * without this command. */
#pragma once

#include "cli/base/cli.h"

enum run_exit {
    RUN_HUNG = 87, /* --on-hang: nothing moved for this long */
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
    uint64_t on_hang_ns; /* on_hang as a number; 0: never */
    const char *json, *dot, *svg, *trace, *output, *suppress;
    uint32_t status; /* --status: this process; 0: run a program */
    uint32_t report; /* descriptor of an incident; 0: none */
};

extern const char *const run_deadlock_choices[], *const run_likely_choices[];

/* Runs the program and returns the exit status. */
int run_start(struct cli *cli, const struct run_settings *settings, char **command);

/* Delivers the incidents that watched processes leave in the mailbox of the session
 * (foundation/records/incident.h), in a thread. NULL: not possible; those reports are lost. */
struct run_mailbox;
struct run_mailbox *run_mailbox_open(const char *folder);
/* Starts the thread; call it after the fork. */
void run_mailbox_attend(struct run_mailbox *mailbox);
void run_mailbox_close(struct run_mailbox *mailbox);

/* Returns the number of seccomp filters if they permit the system calls of the library, or else
 * 0. */
unsigned run_filters(void);

/* --report-incident, --status. */
int run_report(struct cli *cli, int fd);
int run_status(struct cli *cli, const struct run_settings *settings);
