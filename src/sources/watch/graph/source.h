/* A server that is watched: connects, asks the gate every interval, looks when somebody waits, acts
 * when told, and comes back with patience when it is gone. It never waits: source_step does what is
 * due and returns.
 *
 * Cost. What its questions take is paid from an account that fills by 1 % of the time that passes
 * and holds a tenth of a second at most: a deadlock that is new is looked at at once, and a server
 * that is slow, or has many who wait, is asked less often. An answer that is late because others
 * were served first has cost no more than usual: the price of a question is the shortest time that
 * one of its kind with about as many rows has taken lately. The first of its size costs what it
 * took.
 *
 * Debt is limited, so that a watcher of a crowded server does not go blind: it pauses three seconds
 * at most, or, where a question takes longer than 300 ms, ten times as long as that.
 *
 * Several addresses of one server. Only one of them is watched: the others are `parked`, ask the
 * gate alone, and take over when it is gone (servers.c).
 */
#pragma once

#include "sources/watch/servers/dialect.h"

#define SOURCE_PRICES 8 /* so many of a kind are remembered */
#define SOURCE_KINDS  6 /* gates, other questions, and the parts of looks */

/* What questions of a kind have taken lately. */
struct source_price {
    uint64_t times[SOURCE_PRICES];
    uint64_t rows[SOURCE_PRICES]; /* of their answers */
    uint64_t count;
};

struct source_pace {
    uint64_t interval_ns;
    uint64_t patience_ns; /* how long an answer may take before the connection is given up */
};

enum source_state {
    SOURCE_AWAY,       /* not connected; tries again at `due` */
    SOURCE_CONNECTING, /* ... */
    SOURCE_GREETING,
    SOURCE_IDENTIFYING,
    SOURCE_RESTING, /* connected; the next question is at `due` */
    SOURCE_GATE,
    SOURCE_LOOKING,
    SOURCE_ACTING,
};

struct inspector;

struct source {
    struct inspector *inspector; /* a process of this machine; NULL: a server */
    const struct driver *driver;
    const struct dialect *dialect; /* NULL: has never been connected */
    struct connection *connection;
    struct dial *dial; /* has the connection while it begins; NULL */
    const struct source_pace *pace;
    struct server_facts facts;
    char label[80]; /* for people, unique among the servers of a watch */
    bool named;     /* the label is the final one */
    bool parked;    /* another source watches the same server */
    bool hurried;   /* the look under way is for an act, and not paid from the account */
    enum source_state state;
    uint64_t due;         /* AWAY and RESTING: when something is to be done */
    uint64_t asked;       /* busy: since when */
    uint64_t backoff_ns;  /* AWAY: how long this time */
    unsigned part;        /* LOOKING */
    unsigned attempts;    /* connections that failed in a row */
    uint64_t looks;       /* how many there have been */
    uint64_t scans_alone; /* of these, while another server had not been looked at once (--once) */
    uint64_t first;       /* when the first look since it was connected was answered; 0: none */
    uint64_t spent_ns;    /* on questions, in all */
    struct source_price prices[SOURCE_KINDS];
    int64_t credit_ns;    /* the account */
    uint64_t credited;    /* when it was last filled */
    char trouble[400];    /* why it cannot be seen; "": it can */
    uint64_t trouble_no;  /* counts troubles that are new, for whoever tells of them */
    struct scan scan;     /* the latest */
    struct scan next;     /* being made */
    struct remedy_order { /* to be done when it rests */
        bool pending, done;
        enum remedy_outcome outcome;
        char why[400]; /* the server's own words, if it refused; "" */
    } order;
    struct output order_sql;
    struct output sql;
    gordian_allocator memory;
};

gordian_status source_open(struct source **out, const char *address, const struct source_pace *pace,
                           const gordian_allocator *memory, gordian_error *error);
/* One that is neither a server nor a process yet; NULL: out of memory. */
struct source *source_new(const struct source_pace *pace, const gordian_allocator *memory);
void source_close(struct source *source);

/* What to poll for: fd -1: nothing. `until`: when to step in any case. */
void source_wants(const struct source *source, int *fd, short *events, uint64_t *until);
void source_step(struct source *source, short revents, uint64_t now);

static inline bool source_is_up(const struct source *source)
{
    return source->state >= SOURCE_RESTING;
}

/* Asks it to end a wait, or a session, when it next rests, if the condition, which is of its latest
 * look, still holds then. One order at a time. */
void source_order(struct source *source, enum remedy remedy,
                  const struct remedy_condition *condition);
/* Looks as soon as the server shows something new, whatever the account says. */
void source_hurry(struct source *source, uint64_t now);
