/* Hangs that the library inside the program cannot see, found by the command that started it.
 *
 * The command glances at the tree of processes (process_tree.h) now and then, ever more rarely
 * while things move. Once nobody has moved for a moment, it looks as `gordian inspect` does, at all
 * of them together; a tree in which somebody always moves is looked at too, but seldom and without
 * stopping anybody. What is found must be found again by a later look, the same threads in the same
 * waits without having moved, before it is told: *proved* ends the processes that are part of it,
 * as the library would, *likely* is told and they go on (--on-likely).
 *
 * Looking is done by this process itself, since it is the parent: the kernel lets parents look
 * (Yama's ptrace_scope 1) where it lets nobody else.
 */
#pragma once

#include "cli/run/mpi_ranks.h"
#include "cli/run/process_tree.h"
#include "cli/run/run.h"
#include "sources/inspect/inspect.h"

/* A finding that waits for a second look. */
struct suspect {
    uint64_t mark;  /* of the finding: who, in what, moved how often */
    uint64_t since; /* when it was first seen */
    uint64_t *ran;  /* number and time run so far of each member; NULL: that does not matter */
};

struct hang {
    struct cli *cli;
    const struct run_settings *settings;
    const char *folder; /* of the session */
    pid_t root;

    /* glancing */
    struct tree_glance last;
    uint64_t next, pause;   /* when to glance, and how far apart */
    uint64_t still_since;   /* 0: something moves */
    uint64_t idle_since;    /* the same, and nobody would; 0: somebody does */
    struct run_ranks ranks; /* of MPI programs: they poll, and move all the time */

    /* looking */
    bool blind;                         /* looking is not allowed: was said */
    bool looked_still;                  /* nothing has moved since the last look */
    uint64_t next_still, still_pause;   /* when to look at a tree that stands still, not before; */
    uint64_t next_moving, moving_pause; /* at one that moves; they grow with looks in vain */
    struct process_snapshot snapshot;   /* kept while the processes are the same */
    bool snapshot_opened;
    struct inspect_findings findings;
    struct suspect *suspects;
    size_t suspect_count, suspect_room;
    uint32_t *told; /* threads that were told as stuck */
    size_t told_count, told_room;

    /* what it came to */
    struct output picture; /* everybody, at the last look that found nothing */
    uint64_t pictured;     /* when; 0: never */
    uint64_t proved, likely;
    bool hung; /* ended by --on-hang */
};

void hang_open(struct hang *hang, struct cli *cli, const struct run_settings *settings,
               const char *folder, pid_t root);
void hang_close(struct hang *hang);

/* How long until hang_look has something to do, in ns. */
uint64_t hang_pause(const struct hang *hang);
void hang_look(struct hang *hang);
