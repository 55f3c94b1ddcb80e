/* gordian watch: what its files share.
 *
 *     watch.c     the options
 *     top.c       the live view (terminal.c)
 *     loop.c      looks, judges, tells, acts: once, or until it is interrupted
 *     incomplete.c  what could not be seen
 *     acts.c      ends deadlocks, and reports what came of it
 *     events.c    what is told once and not again: deadlocks, stalls, servers that come and go
 */
#pragma once

#include "cli/base/cli.h"
#include "cli/service/reach.h"
#include "sources/watch/actions/act.h"
#include "sources/watch/feed.h"
#include "sources/watch/graph/unseen.h"
#include "sources/watch/listen.h"
#include "sources/watch/metrics.h"
#include "sources/watch/report/report.h"
#include "sources/watch/watch.h"

#include <signal.h>

enum act_choice {
    ACT_CHOICE_NONE,
    ACT_CHOICE_CANCEL,
    ACT_CHOICE_TERMINATE, /* unused: whatever is not the others */
};

struct watch_settings {
    bool once, top, dry_run;
    uint32_t interval_ms;
    const char *stall; /* seconds */
    double stall_s;
    const char *link, *prefer, *spare;
    unsigned act;     /* enum act_choice */
    uint32_t inspect; /* a process; 0: none */
    const char *listen;
    struct reach reach; /* --to: a service, and its system */
    const char *dot, *svg;
    struct advice_settings advice;
};

/* A deadlock that has been told of. */
struct told_deadlock {
    uint64_t number;
    uint64_t *keys; /* of the edges of its cycle */
    size_t key_count;
    bool alive; /* in the latest judgement */
};

/* A wait that has been told of. */
struct told_stall {
    uint64_t key;
    bool alive;
};

/* A server, as it was last told of. */
struct told_server {
    uint64_t trouble_no;
    bool away, lacks, parked;
};

struct watching {
    struct cli *cli;
    const struct watch_settings *settings;
    struct servers servers;
    struct overview overview;
    struct acts acts;
    struct told_deadlock *deadlocks;
    size_t deadlock_count, deadlock_room;
    struct told_stall *stalls;
    size_t stall_count, stall_room;
    struct told_server *told;
    struct listener listener; /* if settings->listen */
    struct feed feed;         /* if settings->reach.to */
    struct unseen_list unseen;
    uint64_t *unseen_told; /* keys of reasons */
    size_t unseen_told_count, unseen_told_room;
    bool incomplete; /* at some time not everything was seen */
    uint64_t found;  /* deadlocks so far */
    uint64_t ended;  /* statements cancelled and sessions terminated */
    bool failed;     /* out of memory, or a file could not be written */
    gordian_allocator memory;
};

/* events.c */
struct telling watching_telling(const struct watching *watching);
void tell_deadlocks(struct watching *watching);
void tell_stalls(struct watching *watching);
void tell_servers(struct watching *watching);
void watching_free(struct watching *watching);

/* incomplete.c. What cannot be seen now; false: out of memory. */
bool take_unseen(struct watching *watching);
/* All of it, with --once; what is new, otherwise. */
void tell_unseen_once(struct watching *watching);
void tell_unseen(struct watching *watching);
/* Writes what is new to `missed`, for a view that can show it only when it is left. */
void note_unseen(struct watching *watching, struct output *missed);
/* The exit code, by what was found and what was not seen. */
int watching_code(struct watching *watching);

/* acts.c: goes on with what --act asks for, by the latest judgement. `begin`: acts on deadlocks
 * that are new. */
void act_on_deadlocks(struct watching *watching, bool begin);

/* loop.c: the exit code. */
int watch_loop(struct watching *watching);
/* top.c: the live view, until it is left or `stopped` is set. */
int watch_top(struct watching *watching, const volatile sig_atomic_t *stopped);
