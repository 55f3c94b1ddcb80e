/* The queries for a kind of server, and the meaning of the answers. A dialect knows the SQL and the
 * system tables of its server. It neither connects nor waits.
 *
 * A scan begins with the gate, a cheap and frequent query: does any session wait? If one does, the
 * parts of the scan follow one after the other. Each part may use the results of those before it.
 */
#pragma once

#include "foundation/base/io/output.h"
#include "sources/watch/servers/driver.h"
#include "sources/watch/servers/scan.h"

#include <stdlib.h>

/* A row of an answer. Its values are read in the order of the SELECT list. */
struct row {
    const struct connection *answer;
    struct scan *scan; /* receives copies of texts */
    size_t number;
    unsigned column; /* the next column */
};

/* NULL stands for SQL's NULL. */
static inline const char *next_value(struct row *row)
{
    return row->answer->driver->value(row->answer, row->number, row->column++);
}

/* Returns "" for NULL. Valid as long as the answer. */
static inline const char *next_word(struct row *row)
{
    const char *value = next_value(row);
    return value ? value : "";
}

/* Returns "" for NULL. Valid as long as the scan. */
static inline const char *next_text(struct row *row)
{
    return scan_text(row->scan, next_value(row));
}

static inline int64_t next_integer(struct row *row, int64_t otherwise)
{
    const char *value = next_value(row);
    return value ? strtoll(value, NULL, 10) : otherwise;
}

/* Returns -1 for NULL. */
static inline double next_number(struct row *row)
{
    const char *value = next_value(row);
    return value ? strtod(value, NULL) : -1;
}

static inline bool next_flag(struct row *row)
{
    const char *value = next_word(row);
    return value[0] == 't' || strcmp(value, "1") == 0;
}

/* Facts about the server, from its answer to `hello`. */
struct server_facts {
    unsigned version;   /* 150019, 101119: as this kind of server counts */
    char name[64];      /* the server's name for itself; "": none */
    char user[64];      /* our user or role */
    char lacks[400];    /* what this role cannot see, and the grant that is missing; "" */
    bool sees_activity; /* sees sessions of other users */
    bool signals;       /* may end sessions of other users */
    bool superuser;
    bool sees_definitions;    /* sees holders of metadata locks */
    bool near;                /* the watcher connected from the same machine */
    uint32_t port;            /* the port it listens on; 0: not known */
    bool standby;             /* replays the changes of a primary */
    bool names_programs;      /* sessions have application names */
    bool resolves_soft_waits; /* resolves soft waits by reordering the queue */
    bool identifies;          /* needs another query for its identity */
    char identity[200];       /* the same for all addresses of a running server; "": not known */
    char system[32];          /* the system identifier, if this role may read it; "" */
    bool detects;             /* detects deadlocks of its own locks */
    uint64_t detects_ns;      /* this long after the last wait began */
};

enum remedy {
    REMEDY_CANCEL,    /* cancel the statement; the transaction fails */
    REMEDY_TERMINATE, /* terminate the session */
};

/* The result of an order to end a wait or a session. */
enum remedy_outcome {
    OUTCOME_DONE,        /* the server has sent the signal */
    OUTCOME_OVER,        /* the condition no longer held: nothing was done */
    OUTCOME_REFUSED,     /* this role has no permission */
    OUTCOME_UNREACHABLE, /* the connection was lost before the order was sent: nothing was done */
    OUTCOME_UNKNOWN,     /* the connection was lost before the answer */
};

/* The condition that the server checks when it executes the order. */
struct remedy_condition {
    const struct scan *scan; /* the scan that the condition refers to */
    uint32_t session;        /* the session to end */
    const uint32_t *edges; /* edges of the scan that must all still exist; the edges of the session
                              itself come last */
    size_t edge_count;     /* 0: check only the session and, for a cancel, its statement */
};

struct dialect {
    const char *kind; /* "PostgreSQL" */
    unsigned parts;
    uint64_t pause_ns; /* time after an answer before the server shows anything new */
    /* `pid`: the number of our session as the connection knows it. A pooler makes one up. */
    void (*hello)(unsigned version, int64_t pid, struct output *sql);
    void (*greet)(const struct connection *answer, struct server_facts *facts);
    /* Does any session wait? If so, the answer has a row. */
    void (*gate)(const struct server_facts *facts, struct output *sql);
    void (*part)(unsigned part, const struct server_facts *facts, const struct scan *scan,
                 struct output *sql);
    /* Sets scan->failed if memory runs out. */
    void (*read)(unsigned part, const struct server_facts *facts, const struct connection *answer,
                 struct scan *scan);
    /* Another query, if facts->identifies, and the evaluation of its answer. NULL: none. */
    void (*identify)(struct output *sql);
    void (*identified)(const struct connection *answer, struct server_facts *facts);
    /* Writes SQL for a person that ends a session's wait. */
    void (*advise)(enum remedy remedy, const struct session *session, struct output *sql);
    /* Writes SQL that applies the remedy only if the condition still holds. */
    void (*remedy)(enum remedy remedy, const struct server_facts *facts,
                   const struct remedy_condition *condition, struct output *sql);
    /* Evaluates the result, from the answer or from the error message. */
    enum remedy_outcome (*outcome)(const struct connection *answer);
    enum remedy_outcome (*refusal)(const char *why);
    /* Returns a sentence that says what to do about this failure, or NULL. */
    const char *(*hint)(const char *why);
};

extern const struct dialect dialect_postgres;
extern const struct dialect dialect_mariadb; /* information_schema.INNODB_LOCK_WAITS */
extern const struct dialect dialect_mysql;   /* performance_schema.data_lock_waits: MySQL 8 */
