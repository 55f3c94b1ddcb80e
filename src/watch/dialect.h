/* What is asked of a kind of server, and what the answers mean. A dialect knows SQL and its
 * server's tables; it neither connects nor waits.
 *
 * A look is the gate (does anybody wait? cheap, asked all the time) and, if somebody does, its
 * parts, asked one after the other; each may use what those before it have brought.
 */
#ifndef GORDIAN_WATCH_DIALECT_H
#define GORDIAN_WATCH_DIALECT_H

#include "base/output.h"
#include "watch/driver.h"
#include "watch/look.h"

/* An answer, as the driver has it. */
struct answer {
    const struct driver *driver;
    const void *connection;
};

static inline size_t answer_rows(const struct answer *answer)
{
    return answer->driver->rows(answer->connection);
}

/* NULL: the server has none. */
static inline const char *answer_value(const struct answer *answer, size_t row, unsigned column)
{
    return answer->driver->value(answer->connection, row, column);
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
};

enum remedy {
    REMEDY_CANCEL,    /* the statement; the transaction fails */
    REMEDY_TERMINATE, /* the session */
};

struct dialect {
    const char *kind; /* "PostgreSQL" */
    unsigned parts;
    uint64_t pause_ns; /* after an answer, before the server would show something new */
    /* `pid`: of our session, as the connection knows it; a pooler makes one up. */
    void (*hello)(unsigned version, int64_t pid, struct output *sql);
    void (*greet)(const struct answer *answer, struct server_facts *facts);
    /* Does somebody wait? Then the answer has a row. */
    void (*gate)(const struct server_facts *facts, struct output *sql);
    void (*part)(unsigned part, const struct server_facts *facts, const struct look *look,
                 struct output *sql);
    /* False: out of memory. */
    bool (*read)(unsigned part, const struct server_facts *facts, const struct answer *answer,
                 struct look *look);
    /* SQL that ends a session's wait. */
    void (*remedy)(enum remedy remedy, const struct session *session, struct output *sql);
    /* Did it work? Of the answer to that. */
    bool (*obeyed)(const struct answer *answer);
    /* What to do about this failure: a sentence, or NULL. */
    const char *(*hint)(const char *why);
};

extern const struct dialect dialect_postgres;
extern const struct dialect dialect_mariadb; /* information_schema.INNODB_LOCK_WAITS */
extern const struct dialect dialect_mysql;   /* performance_schema.data_lock_waits: MySQL 8 */

#endif
