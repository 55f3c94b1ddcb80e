/* gordian watch: shared declarations.
 *
 *     watch.c       the options
 *     top.c         the live view (terminal.c)
 *     loop.c        polls, judges, reports and acts: once, or until it is interrupted
 *     incomplete.c  reports what could not be seen
 *     end_deadlocks.c        ends deadlocks, and reports the result
 *     events.c      reports each deadlock, stall and server event once */
#pragma once

#include "cli/base/cli.h"
#include "cli/service/service_connection.h"
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
    ACT_CHOICE_TERMINATE, /* unused: the default of a switch */
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
    struct reach reach; /* --to: a service and a system of it */
    const char *dot, *svg;
    struct victim_settings advice;
};

/* A reported deadlock. */
struct reported_deadlock {
    uint64_t number;
    uint64_t *keys; /* keys of the edges of its cycle */
    size_t key_count;
    bool alive; /* still in the latest judgement */
};

/* A reported wait. */
struct reported_stall {
    uint64_t key;
    bool alive;
};

/* The last reported state of a server. */
struct reported_server {
    uint64_t trouble_no;
    bool away, lacks, parked;
};

struct watching {
    struct cli *cli;
    const struct watch_settings *settings;
    struct servers servers;
    struct overview overview;
    struct acts acts;
    struct reported_deadlock *deadlocks;
    size_t deadlock_count, deadlock_room;
    struct reported_stall *stalls;
    size_t stall_count, stall_room;
    struct reported_server *reported;
    struct listener listener; /* if settings->listen */
    struct feed feed;         /* if settings->reach.to */
    struct unseen_list unseen;
    uint64_t *unseen_reported; /* keys of reported reasons */
    size_t unseen_reported_count, unseen_told_room;
    bool incomplete; /* at some time not everything was seen */
    uint64_t found;  /* number of deadlocks */
    uint64_t ended;  /* statements cancelled and sessions terminated */
    bool failed;     /* out of memory, or a file could not be written */
    gordian_allocator memory;
};

/* events.c */
struct telling watching_report_context(const struct watching *watching);
void report_new_deadlocks(struct watching *watching);
void report_stalls(struct watching *watching);
void report_servers(struct watching *watching);
void watching_free(struct watching *watching);

/* incomplete.c. Updates what cannot be seen now. False: out of memory. */
bool take_unseen(struct watching *watching);
/* Reports all of it with --once; otherwise what is new. */
void report_unseen_once(struct watching *watching);
void report_unseen(struct watching *watching);
/* Writes what is new to `missed`, for a view that can only show it at its end. */
void collect_unseen(struct watching *watching, struct output *missed);
/* Returns the exit status for what was found and what was not seen. */
int watching_code(struct watching *watching);

/* end_deadlocks.c: continues what --act requests, by the latest judgement. `begin`: also starts on
 * new deadlocks. */
void act_on_deadlocks(struct watching *watching, bool begin);

/* loop.c. Returns the exit status. */
int watch_loop(struct watching *watching);
/* top.c: the live view, until the user quits or `stopped` is set. */
int watch_top(struct watching *watching, const volatile sig_atomic_t *stopped);
