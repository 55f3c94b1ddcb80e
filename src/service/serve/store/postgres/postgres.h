/*
 * PostgreSQL as the store's backend: who leads is decided there, and everything is kept there.
 *
 *     connection.c  the connection: opening it, asking something and waiting for the answer
 *     schema.c      our tables
 *     rows.c        batches as rows of the journal and back; incidents
 *     load.c        reading everything at the start
 *     standby.c     standing by: the journal as it grows, and the lead when it is free
 *     leader.c      leading: commits, several under way; beats, snapshots, what is deleted
 *     command.c     asking whoever leads to hand over
 *     backend.c     all of it as a backend; the thread
 *
 * One connection. Standing by it asks ten times a second, and whenever it is notified, what is new
 * and whether the lock is free; no question stays open, for that would keep the database from
 * cleaning up. Leading it is in libpq's pipeline mode: the answers to what was sent come in order.
 *
 * Everything the leader writes is one transaction with
 *
 *     UPDATE leader SET batch = N, beat = now WHERE epoch = MINE AND batch = N - 1
 *
 * and counts only if that changed a row. So nothing is written by one who does not lead any more,
 * and nothing behind something that has failed.
 *
 * Whose is what: the thread's, but for what is under the store's mutex; before the thread is
 * started, the loop's.
 */
#pragma once

#include "service/serve/store/store_internal.h"

#include <libpq-fe.h>

#define PG_SERVER       "gordian:" /* of the name of a session: schema and address follow */
#define PG_VERSION      1          /* of the schema */
#define PG_LOCK         0x47524431 /* "GRD1": the first key of our advisory lock */
#define PG_COMMITS      4          /* under way at once, usually */
#define PG_FLIGHTS      64         /* of all kinds, at most */
#define PG_GROUP_MAX    (1u << 20) /* bytes in one commit */
#define PG_PART         (1u << 20) /* bytes of a snapshot written at once */
#define PG_LEASE_MS     5000       /* silent for so long, a leader is replaced */
#define PG_LOOK_MS      100        /* between looks of those who stand by */
#define PG_TURN_MS      500        /* and half a lease without a turn of the loop: it hangs */
#define PG_ANSWER_MS    30000      /* an answer that takes longer does not come */
#define PG_FOLLOWED_MAX 64         /* such portions that the loop has not taken yet */

/* Something of the pipeline that has no answer yet. */
struct flight {
    enum flight_kind {
        FLIGHT_APPEND,
        FLIGHT_BEAT,
        FLIGHT_PART,     /* of a snapshot */
        FLIGHT_SNAPSHOT, /* that it counts */
        FLIGHT_TRIM,
    } kind;
    uint64_t batch; /* APPEND: number of its row */
    size_t count;   /* ... and of batches in it */
    uint64_t start; /* ns */
    uint64_t beat;  /* ms of boot_ns: the lease counts from here; 0: it renews none */
    bool counts;    /* the first answer was a row: it was done */
    uint64_t rows;  /* TRIM: deleted */
};

/* Rows of the journal (batch, first, last, crc, bytes), and how far they have been taken. */
struct rows_cursor {
    PGresult *rows;
    uint64_t after; /* only the records behind this one count */
    int row;
    size_t at;     /* bytes of the row that are done with: whole batches */
    uint64_t next; /* number of the first record behind them; 0: the row has not been looked at */
};

/* On their way to the loop. */
struct followed {
    struct followed *next;
    struct rows_cursor cursor;
};

struct pg {
    gordian_allocator memory; /* the C library's: either thread's */
    char *conninfo;
    char schema[64], channel[80];
    char address[STORE_ADDRESS];
    uint64_t lease_ms;
    int wake; /* eventfd */
    PGconn *conn;
    char why[256];       /* what has failed */
    uint64_t pause_ms;   /* before the next attempt to connect */
    uint32_t lock;       /* the second key of the lock */
    int backend;         /* process of the connection that has led */
    bool prepared;       /* the statements of leader.c */
    uint64_t epoch;      /* that it leads with; 0: it never has */
    uint64_t batch;      /* number of the last row read, or sent */
    uint64_t rest_until; /* steady ms: after a hand-over, others go first; 0: they have */

    /* leading */
    struct flight flights[PG_FLIGHTS];
    size_t flight_first, flight_count;
    size_t sent;        /* batches at the front of the queue that are under way */
    bool failing;       /* one has failed: nothing more is sent until all have been answered */
    uint32_t commits;   /* that may be under way */
    uint32_t appending; /* that are */
    uint64_t beat_at;
    struct bytes row;    /* being put together */
    bool part_under_way; /* of the snapshot, or the end of it */
    bool trim_under_way;
    unsigned trim_step; /* of what is deleted */

    struct followed *followed, **followed_end; /* under the mutex */
    unsigned followed_count;
};

/* ---- connection.c */

/* Is it a connection string? What libpq says about it would quote it. */
gordian_status pg_check(const char *conninfo, gordian_error *error);
/* Connects and says what every session needs. False: pg->why. */
bool pg_connect(struct pg *pg);
void pg_disconnect(struct pg *pg);
/* Keeps what libpq says as one line; false. */
bool pg_failed(struct pg *pg, const char *message);
/* pg->why as an error. */
gordian_status pg_error(const struct pg *pg, gordian_error *error);
/* The same as a commit that has failed, which the loop is told of. */
void pg_note_failure(struct store *store);
/* A store that has nothing but a connection, and a history in memory. */
gordian_status pg_open_alone(struct store **out, const struct store_options *options,
                             gordian_error *error);
void pg_close_alone(struct store *store);
/* From now on notifications come; false: pg->why. */
bool pg_listen(struct pg *pg);
/* Asks, with `count` parameters that are texts, and waits for the answer; NULL: pg->why. */
PGresult *pg_ask(struct pg *pg, const char *sql, int count, const char *const *values);
/* The same with numbers; true: it went well, whatever it says. */
PGresult *pg_ask_numbers(struct pg *pg, const char *sql, int count, const uint64_t *numbers);
bool pg_do(struct pg *pg, const char *sql);
/* Waits for something from the server, for a wake-up, or so many ms. `flush`: for the server to
 * take more, too. */
void pg_wait(struct pg *pg, bool flush, int ms);
uint64_t pg_u64(const PGresult *result, int row, int column);
#define PG_NUMBER 24
const char *pg_number(char text[PG_NUMBER], uint64_t number);

/* ---- schema.c */

/* Makes the tables if they are not there (*made), and checks that they are ours. */
gordian_status schema_open(struct pg *pg, bool *made, gordian_error *error);
/* Only the latter. */
gordian_status schema_check(struct pg *pg, gordian_error *error);

/* ---- rows.c */

/* So many batches, from `batch` on, as the bytes of a row; false: no memory. */
bool row_put(struct bytes *row, const struct batch *batch, size_t count);
/* The records of the rows to the loader, the incidents to the history: all of them, or *more: until
 * the loader has enough. `batch`: the last number read so far; a gap is GORDIAN_STATUS_END. */
gordian_status rows_take(struct store *store, struct rows_cursor *cursor, uint64_t *batch,
                         const struct store_loader *loader, void *context, bool *more,
                         gordian_error *error);
extern const char rows_select[]; /* batches behind $1, some of them, in binary form */
/* Sends the incidents of batches, from `batch` on, that count if row $N of the journal does. */
bool incidents_send(struct pg *pg, const struct batch *batch, size_t count, uint64_t number);
extern const char incident_put[], action_put[], incident_labels_put[], notice_put[], notice_told[];

/* ---- load.c */

gordian_status pg_load(struct store *store, const struct store_loader *loader, void *context,
                       gordian_error *error);

/* All incidents and actions, into the history. */
gordian_status pg_read_incidents(struct store *store, bool replays, gordian_error *error);

/* store_load_past, over a connection of its own; `store` has nothing but that, and a history. */
gordian_status pg_load_past(struct store *store, uint64_t at, uint64_t after,
                            const struct store_loader *loader, void *context, gordian_error *error);
/* *whole: the journal is all there. */
gordian_status pg_past_begins(struct pg *pg, uint64_t *at, bool *whole, gordian_error *error);

/* ---- standby.c */

/* One turn of standing by. */
void pg_follow_turn(struct store *store);
/* Takes the lead if it is to be had: true. */
bool pg_try_lead(struct store *store);
/* What the table says about who leads; "": nobody does. */
void pg_show_leader(struct store *store, const char *address);
/* What the thread has read, to the loader; the loop calls it. */
gordian_status pg_follow(struct store *store, const struct store_loader *loader, void *context,
                         bool *more, gordian_error *error);

/* ---- leader.c */

/* What was sent at this moment, by boot_ns in ms, and renews the lease was confirmed. */
void pg_renewed(struct store *store, uint64_t sent);

void pg_lead_turn(struct store *store);
/* Is there nothing that was not kept? */
bool pg_lead_done(const struct store *store);
/* An orderly end: the next one need not wait. */
void pg_release(struct pg *pg);
