/* Hangs that the preloaded library cannot see, found from outside by the command.
 *
 * The command polls the process tree (process_tree.h), less and less often while threads move. When
 * no thread has moved for a moment, it scans all processes together as `gordian inspect` does. It
 * also scans a tree that keeps moving, but rarely and without stopping a thread. Before a report, a
 * later scan must find the same threads in the same waits without having moved. *proved* ends the
 * member processes, as the library does. *likely* is reported and the processes continue
 * (--on-likely).
 *
 * This process does the scans itself because it is the parent: with Yama's ptrace_scope 1 the
 * kernel lets only parents inspect. */
#pragma once

#include "cli/run/mpi_ranks.h"
#include "cli/run/process_tree.h"
#include "cli/run/run.h"
#include "sources/inspect/inspect.h"

/* A finding that waits for confirmation by a later scan. */
struct suspect {
    uint64_t mark;  /* fingerprint of its members, their waits and switches */
    uint64_t since; /* when it was first seen */
    uint64_t *ran;  /* tid and processor time of each member; NULL: not needed */
};

struct hang {
    struct cli *cli;
    const struct run_settings *settings;
    const char *folder; /* directory of the session */
    pid_t root;

    /* polls of the process tree */
    struct tree_activity last;
    uint64_t next, pause;   /* time of the next poll, and the interval */
    uint64_t still_since;   /* when threads stopped moving; 0: they move */
    uint64_t idle_since;    /* the same, counting running threads as moving */
    struct run_ranks ranks; /* MPI ranks, which poll and therefore always move */

    /* scans */
    bool blind;                         /* scans are not permitted, which was reported */
    bool scanned_still;                 /* nothing has moved since the last scan */
    uint64_t next_still, still_pause;   /* next scan of an idle tree, and the interval */
    uint64_t next_moving, moving_pause; /* next scan of an active tree; intervals grow */
    struct process_snapshot snapshot;   /* reused while the processes are the same */
    bool snapshot_is_open;
    struct inspect_findings findings;
    struct suspect *suspects;
    size_t suspect_count, suspect_room;
    uint32_t *reported; /* threads reported as stuck */
    size_t reported_count, reported_capacity;

    /* results */
    struct output picture; /* report of all threads at the last scan without a finding */
    uint64_t pictured;     /* its time; 0: none */
    uint64_t proved, likely;
    bool hung; /* ended by --on-hang */
};

void hang_open(struct hang *hang, struct cli *cli, const struct run_settings *settings,
               const char *folder, pid_t root);
void hang_close(struct hang *hang);

/* Returns the time until hang_poll has something to do, in ns. */
uint64_t hang_time_to_poll(const struct hang *hang);
void hang_poll(struct hang *hang);
