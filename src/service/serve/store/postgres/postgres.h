/*
 * PostgreSQL as the store's backend, with leader election: it stores everything and decides which
 * server is the leader.
 *
 *     connection.c  the connection: opening, queries
 *     schema.c      tables
 *     rows.c        batches as rows of the journal, and back; incidents
 *     load.c        loading at the start
 *     standby.c     the standby: reading the journal as it grows, becoming leader
 *     leader.c      the leader: commits, several in flight; heartbeats, snapshots, deletion of
 *                   old data
 *     command.c     commands from other processes
 *     backend.c     the backend and its thread
 *
 * There is one connection. A standby polls ten times a second, and after each notification, for new
 * rows and for the lock. It keeps no transaction open, because that would prevent the database from
 * vacuuming. The leader uses libpq's pipeline mode; answers arrive in order.
 *
 * Every write of the leader is one transaction with
 *
 *     UPDATE leader SET batch = N, beat = now WHERE epoch = MINE AND batch = N - 1
 *
 * and counts only if that changed a row. The epoch is a fencing token: a deposed leader writes
 * nothing, and nothing is written behind a failed write.
 *
 * Ownership: the thread owns everything except what is under the store's mutex; before the thread
 * is started, the event loop does.
 */
#pragma once

#include "service/serve/store/store_internal.h"

#include <libpq-fe.h>

#define PG_SERVER       "gordian:" /* prefix of application_name; schema and address follow */
#define PG_VERSION      1          /* version of the schema */
#define PG_LOCK         0x47524431 /* "GRD1": first key of the advisory lock */
#define PG_COMMITS      4          /* default number of commits in flight */
#define PG_OPERATIONS   64         /* maximum operations in flight */
#define PG_GROUP_MAX    (1u << 20) /* bytes in one commit */
#define PG_PART         (1u << 20) /* bytes of a snapshot written at once */
#define PG_LEASE_MS     5000       /* lease: replace a leader after this long without a heartbeat */
#define PG_POLL_MS      100        /* polling interval of a standby */
#define PG_LOOP_MS      500        /* plus half a lease without a loop iteration: the loop hangs */
#define PG_ANSWER_MS    30000      /* timeout of a query */
#define PG_FOLLOWED_MAX 64         /* maximum portions queued for the loop */

/* An operation of the pipeline without an answer. */
struct operation {
    enum operation_kind {
        OPERATION_APPEND,
        OPERATION_HEARTBEAT,
        OPERATION_PART,     /* part of a snapshot */
        OPERATION_SNAPSHOT, /* the row that makes a snapshot count */
        OPERATION_TRIM,
    } kind;
    uint64_t batch;       /* APPEND: number of its row */
    size_t count;         /* APPEND: number of batches */
    uint64_t start;       /* ns */
    uint64_t lease_start; /* ms of boot_ns: start of the lease that it renews; 0: none */
    bool counts;          /* the first answer was a row: it succeeded */
    uint64_t rows;        /* TRIM: rows deleted */
};

/* Rows of the journal (batch, first, last, crc, bytes), and the position in them. */
struct rows_cursor {
    PGresult *rows;
    uint64_t after; /* skip records up to this one */
    int row;
    size_t at;     /* bytes of the row that are done: whole batches */
    uint64_t next; /* number of the next record; 0: the row has not been checked */
};

/* Rows on their way to the event loop. */
struct followed {
    struct followed *next;
    struct rows_cursor cursor;
};

struct pg {
    gordian_allocator memory; /* malloc: used by both threads */
    char *conninfo;
    char schema[64], channel[80];
    char address[STORE_ADDRESS];
    uint64_t lease_ms;
    int wake; /* eventfd */
    PGconn *conn;
    char why[256];        /* reason of the last failure */
    uint64_t pause_ms;    /* before the next attempt to connect */
    uint32_t lock;        /* second key of the lock */
    int backend;          /* backend process of the leader's connection */
    bool prepared;        /* the statements of leader.c are prepared */
    uint64_t epoch;       /* epoch of its leadership; 0: never led */
    uint64_t batch;       /* number of the last row read or sent */
    uint64_t yield_until; /* steady ms: after stepping down, other servers go first; 0: done */

    /* as leader */
    struct operation operations[PG_OPERATIONS];
    size_t operation_first, operation_count;
    size_t sent;        /* batches at the front of the queue that are in flight */
    bool failing;       /* an operation has failed: send nothing until all have been answered */
    uint32_t commits;   /* maximum commits in flight */
    uint32_t appending; /* commits in flight */
    uint64_t heartbeat_at;
    struct bytes row;    /* buffer for a row */
    bool part_under_way; /* a part of the snapshot, or its end, is in flight */
    bool trim_under_way;
    unsigned trim_step; /* next deletion step */

    struct followed *followed, **followed_end; /* under the mutex */
    unsigned followed_count;
};

/* ---- connection.c */

/* Is it a valid connection string? libpq's error message is not used, because it would quote the
 * password. */
gordian_status pg_check(const char *conninfo, gordian_error *error);
/* Connects and sets up the session. False: pg->why. */
bool pg_connect(struct pg *pg);
void pg_disconnect(struct pg *pg);
/* Stores libpq's message as one line in pg->why. Returns false. */
bool pg_failed(struct pg *pg, const char *message);
/* Returns pg->why as an error. */
gordian_status pg_error(const struct pg *pg, gordian_error *error);
/* Records pg->why as a failed commit, and wakes the event loop. */
void pg_note_failure(struct store *store);
/* Makes a store that has only a connection and a history in memory. */
gordian_status pg_open_alone(struct store **out, const struct store_options *options,
                             gordian_error *error);
void pg_close_alone(struct store *store);
/* Subscribes to notifications. False: pg->why. */
bool pg_listen(struct pg *pg);
/* Runs a query with `count` text parameters. NULL: pg->why. */
PGresult *pg_ask(struct pg *pg, const char *sql, int count, const char *const *values);
/* Runs a query with numbers. NULL: pg->why. */
PGresult *pg_ask_numbers(struct pg *pg, const char *sql, int count, const uint64_t *numbers);
bool pg_do(struct pg *pg, const char *sql);
/* Waits for data from the server, a wake-up, or `ms`. `flush`: also until the server accepts data.
 */
void pg_wait(struct pg *pg, bool flush, int ms);
uint64_t pg_u64(const PGresult *result, int row, int column);
#define PG_NUMBER 24
const char *pg_number(char text[PG_NUMBER], uint64_t number);

/* ---- schema.c */

/* Makes missing tables (*made) and checks their version. */
gordian_status schema_open(struct pg *pg, bool *made, gordian_error *error);
/* Only checks it. */
gordian_status schema_check(struct pg *pg, gordian_error *error);

/* ---- rows.c */

/* Encodes `count` batches, starting with `batch`, as the bytes of a row. False: no memory. */
bool row_put(struct bytes *row, const struct batch *batch, size_t count);
/* Passes the records of the rows to the loader and their incidents to the history; *more: the
 * loader stopped it. `batch`: number of the last row; a gap returns GORDIAN_STATUS_END. */
gordian_status rows_take(struct store *store, struct rows_cursor *cursor, uint64_t *batch,
                         const struct store_loader *loader, void *context, bool *more,
                         gordian_error *error);
extern const char rows_select[]; /* some rows behind $1, in binary form */
/* Sends the incidents of batches, conditional on row $N of the journal. */
bool incidents_send(struct pg *pg, const struct batch *batch, size_t count, uint64_t number);
extern const char incident_put[], action_put[], incident_labels_put[], notice_put[], notice_sent[];

/* ---- load.c */

gordian_status pg_load(struct store *store, const struct store_loader *loader, void *context,
                       gordian_error *error);

/* Reads all incidents and actions into the history. */
gordian_status pg_read_incidents(struct store *store, bool replays, gordian_error *error);

/* store_load_past through a separate connection (pg_open_alone). */
gordian_status pg_load_past(struct store *store, uint64_t at, uint64_t after,
                            const struct store_loader *loader, void *context, gordian_error *error);
/* *whole: the journal is complete. */
gordian_status pg_past_begins(struct pg *pg, uint64_t *at, bool *whole, gordian_error *error);

/* ---- standby.c */

/* One step of the standby. */
void pg_standby_step(struct store *store);
/* Tries to become leader. */
bool pg_try_leadership(struct store *store);
/* Records the leader's address from the table; "": none. */
void pg_show_leader(struct store *store, const char *address);
/* Passes what the thread has read to the loader. Called by the event loop. */
gordian_status pg_follow(struct store *store, const struct store_loader *loader, void *context,
                         bool *more, gordian_error *error);

/* ---- leader.c */

/* Extends the lease: the database has confirmed what was sent at this time (ms of boot_ns). */
void pg_renewed(struct store *store, uint64_t sent);

void pg_leader_step(struct store *store);
/* Is everything committed? */
bool pg_lead_done(const struct store *store);
/* Steps down properly, so that the next leader need not wait. */
void pg_release(struct pg *pg);
