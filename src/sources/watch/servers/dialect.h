/* What is asked of a kind of server, and what the answers mean. A dialect knows SQL and its
 * server's tables; it neither connects nor waits.
 *
 * A look is the gate (does anybody wait? cheap, asked all the time) and, if somebody does, its
 * parts, asked one after the other; each may use what those before it have brought.
 */
#pragma once

#include "foundation/base/io/output.h"
#include "sources/watch/servers/driver.h"
#include "sources/watch/servers/scan.h"

#include <stdlib.h>

/* A row of an answer, whose values are taken in the order of the SELECT. */
struct row {
    const struct connection *answer;
    struct scan *scan; /* where texts are copied to */
    size_t number;
    unsigned column; /* the next one */
};

/* NULL: the server has none. */
static inline const char *next_value(struct row *row)
{
    return row->answer->driver->value(row->answer, row->number, row->column++);
}

/* "" for NULL; as long as the answer. */
static inline const char *next_word(struct row *row)
{
    const char *value = next_value(row);
    return value ? value : "";
}

/* "" for NULL; as long as the look. */
static inline const char *next_text(struct row *row)
{
    return scan_text(row->scan, next_value(row));
}

static inline int64_t next_integer(struct row *row, int64_t otherwise)
{
    const char *value = next_value(row);
    return value ? strtoll(value, NULL, 10) : otherwise;
}

/* -1 for NULL. */
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

/* What is known of the server itself, from its answer to `hello`. */
struct server_facts {
    unsigned version;   /* 150019, 101119: as its kind counts */
    char name[64];      /* as the server calls itself; "": it does not */
    char user[64];      /* who we are there */
    char lacks[400];    /* what this role may not see, and which grant is missing; "" */
    bool sees_activity; /* of other users' sessions */
    bool signals;       /* may end other users' sessions */
    bool superuser;
    bool sees_definitions; /* waits for metadata locks */
    bool near;             /* we came to it from its own machine */
    uint32_t port;         /* it listens on; 0: not known */
    bool standby;          /* replays the changes of another */
    bool names_programs;   /* sessions tell which application they are */
    bool mends_soft_waits; /* by letting somebody pass */
    bool identifies;       /* has a further question for its identity */
    char identity[200];    /* the same for all addresses of one running server; "": not known */
    char system[32];       /* its system identifier, where this role may ask for it; "" */
    bool detects;          /* ends cycles of its own locks itself, */
    uint64_t detects_ns;   /* that long after the last wait has begun */
};

enum remedy {
    REMEDY_CANCEL,    /* the statement; the transaction fails */
    REMEDY_TERMINATE, /* the session */
};

/* What an order to end a wait or a session came to. */
enum remedy_outcome {
    OUTCOME_DONE,        /* the server has sent the signal */
    OUTCOME_OVER,        /* the condition did not hold any more: nothing was done */
    OUTCOME_REFUSED,     /* this role may not */
    OUTCOME_UNREACHABLE, /* the connection was gone before the order was sent: nothing was done */
    OUTCOME_UNKNOWN,     /* the connection broke before the answer */
};

/* What must still be so when the server carries the order out. */
struct remedy_condition {
    const struct scan *scan; /* as it was seen */
    uint32_t session;        /* the one to end */
    const uint32_t *edges;   /* of the look: all of them must stand; the session's own come last */
    size_t edge_count;       /* 0: only the session, and for a cancel its statement, are checked */
};

struct dialect {
    const char *kind; /* "PostgreSQL" */
    unsigned parts;
    uint64_t pause_ns; /* after an answer, before the server would show something new */
    /* `pid`: of our session, as the connection knows it; a pooler makes one up. */
    void (*hello)(unsigned version, int64_t pid, struct output *sql);
    void (*greet)(const struct connection *answer, struct server_facts *facts);
    /* Does somebody wait? Then the answer has a row. */
    void (*gate)(const struct server_facts *facts, struct output *sql);
    void (*part)(unsigned part, const struct server_facts *facts, const struct scan *scan,
                 struct output *sql);
    /* Without memory scan->failed is set. */
    void (*read)(unsigned part, const struct server_facts *facts, const struct connection *answer,
                 struct scan *scan);
    /* A further question, if facts->identifies, and what its answer says. NULL: none. */
    void (*identify)(struct output *sql);
    void (*identified)(const struct connection *answer, struct server_facts *facts);
    /* SQL for a person that ends a session's wait. */
    void (*advise)(enum remedy remedy, const struct session *session, struct output *sql);
    /* SQL that does it if, and only if, the condition still holds. */
    void (*remedy)(enum remedy remedy, const struct server_facts *facts,
                   const struct remedy_condition *condition, struct output *sql);
    /* What became of it: by its answer, or by the error that was the answer. */
    enum remedy_outcome (*outcome)(const struct connection *answer);
    enum remedy_outcome (*refusal)(const char *why);
    /* What to do about this failure: a sentence, or NULL. */
    const char *(*hint)(const char *why);
};

extern const struct dialect dialect_postgres;
extern const struct dialect dialect_mariadb; /* information_schema.INNODB_LOCK_WAITS */
extern const struct dialect dialect_mysql;   /* performance_schema.data_lock_waits: MySQL 8 */
