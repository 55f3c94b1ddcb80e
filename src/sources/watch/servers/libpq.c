/* The driver for PostgreSQL, with libpq's asynchronous interface. Only the resolution of a host's
 * name blocks: libpq has no asynchronous one. */
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "sources/watch/servers/dialect.h"
#include "sources/watch/servers/driver.h"

#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

struct pq {
    struct connection base;
    char *address;
    PGconn *conn; /* NULL: not connected */
    PGresult *result;
    bool connecting, unsent;
    bool failed; /* one result was an error; the remaining results are still to be read */
    PostgresPollingStatusType polling;
};

static gordian_status open_pq(struct connection **connection, const char *address,
                              gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    /* libpq's error message would quote the address, possibly with a password */
    PQconninfoOption *options = PQconninfoParse(address, NULL);
    if (!options)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "not a connection string of libpq (postgres://USER@HOST:PORT/DATABASE, "
                    "or 'host=HOST dbname=DATABASE')");
    PQconninfoFree(options);
    struct pq *pq = memory_zeroed(&memory, sizeof *pq);
    char *copy = memory_copy_text(&memory, address);
    if (!pq || !copy) {
        memory_free_all(&memory, pq, copy);
        return fail_memory(error);
    }
    *pq = (struct pq){.base = {.driver = &driver_libpq, .memory = memory}, .address = copy};
    *connection = &pq->base;
    return GORDIAN_OK;
}

static void hang_up_pq(struct connection *connection)
{
    struct pq *pq = (struct pq *)connection;
    PQclear(pq->result);
    pq->result = NULL;
    PQfinish(pq->conn);
    pq->conn = NULL;
    pq->connecting = pq->unsent = pq->failed = pq->base.survives = false;
    pq->base.rows = 0;
}

static void close_pq(struct connection *connection)
{
    struct pq *pq = (struct pq *)connection;
    hang_up_pq(&pq->base);
    gordian_allocator memory = pq->base.memory;
    memset(pq->address, 0, strlen(pq->address));
    memory_free_all(&memory, pq->address, pq);
}

/* Joins the lines of libpq's message to one line and removes tabs. */
static enum driver_progress fail_pq(struct pq *pq, const char *message)
{
    size_t length = 0;
    for (const char *at = message; *at && length + 3 < sizeof pq->base.why; at++) {
        size_t blanks = strspn(at, " \t\r\n");
        if (!blanks) {
            pq->base.why[length++] = *at;
            continue;
        }
        if (memchr(at, '\n', blanks) && at[blanks])
            pq->base.why[length++] = ';';
        if (at[blanks])
            pq->base.why[length++] = ' ';
        at += blanks - 1;
    }
    pq->base.why[length] = '\0';
    return DRIVER_FAILED;
}

/* Drops notices, which are meant for interactive use. */
static void drop_notice(void *context, const PGresult *result)
{
    (void)context;
    (void)result;
}

static enum driver_progress connect_pq(struct connection *connection)
{
    struct pq *pq = (struct pq *)connection;
    /* do not set application_name: a pooler would keep it for the next client of its connection */
    const char *const keys[] = {"dbname", NULL};
    const char *const values[] = {pq->address, NULL};
    pq->conn = PQconnectStartParams(keys, values, 1);
    if (!pq->conn)
        return fail_pq(pq, "out of memory");
    PQsetNoticeReceiver(pq->conn, drop_notice, NULL);
    if (PQstatus(pq->conn) == CONNECTION_BAD)
        return fail_pq(pq, PQerrorMessage(pq->conn));
    pq->connecting = true;
    pq->polling = PGRES_POLLING_WRITING;
    return DRIVER_BUSY;
}

static enum driver_progress go_on_connecting(struct pq *pq)
{
    pq->polling = PQconnectPoll(pq->conn);
    if (pq->polling == PGRES_POLLING_FAILED)
        return fail_pq(pq, PQerrorMessage(pq->conn));
    if (pq->polling != PGRES_POLLING_OK)
        return DRIVER_BUSY;
    pq->connecting = false;
    if (PQsetnonblocking(pq->conn, 1) != 0)
        return fail_pq(pq, PQerrorMessage(pq->conn));
    pq->base.dialect = &dialect_postgres;
    pq->base.version = (unsigned)PQserverVersion(pq->conn);
    pq->base.pid = PQbackendPID(pq->conn);
    return DRIVER_READY;
}

static enum driver_progress flush_pq(struct pq *pq)
{
    int left = PQflush(pq->conn);
    pq->unsent = left > 0;
    return left < 0 ? fail_pq(pq, PQerrorMessage(pq->conn)) : DRIVER_BUSY;
}

static enum driver_progress ask_pq(struct connection *connection, const char *sql)
{
    struct pq *pq = (struct pq *)connection;
    PQclear(pq->result);
    pq->result = NULL;
    pq->failed = pq->base.survives = false;
    pq->base.rows = 0;
    if (!PQsendQuery(pq->conn, sql))
        return fail_pq(pq, PQerrorMessage(pq->conn));
    return flush_pq(pq);
}

/* The last result with rows is the answer. An error in any result makes the answer an error. */
static enum driver_progress go_on_asking(struct pq *pq, short revents)
{
    if (pq->unsent && flush_pq(pq) == DRIVER_FAILED)
        return DRIVER_FAILED;
    if ((revents & (POLLIN | POLLERR | POLLHUP)) && !PQconsumeInput(pq->conn))
        return fail_pq(pq, PQerrorMessage(pq->conn));
    while (!PQisBusy(pq->conn)) {
        PGresult *result = PQgetResult(pq->conn);
        if (!result)
            return pq->failed ? DRIVER_FAILED : DRIVER_READY;
        ExecStatusType status = PQresultStatus(result);
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
            fail_pq(pq, PQresultErrorMessage(result));
            pq->failed = true;
        }
        PQclear(pq->result);
        pq->result = result;
        pq->base.rows = (size_t)PQntuples(result);
    }
    return DRIVER_BUSY;
}

static enum driver_progress go_on_pq(struct connection *connection, short revents)
{
    struct pq *pq = (struct pq *)connection;
    if (pq->connecting)
        return go_on_connecting(pq);
    enum driver_progress progress = go_on_asking(pq, revents);
    connection->survives = pq->failed && PQstatus(pq->conn) == CONNECTION_OK;
    return progress;
}

static void wants_pq(const struct connection *connection, int *fd, short *events)
{
    const struct pq *pq = (const struct pq *)connection;
    *fd = pq->conn ? PQsocket(pq->conn) : -1;
    if (pq->connecting)
        *events = pq->polling == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    else
        *events = (short)(POLLIN | (pq->unsent ? POLLOUT : 0));
}

static const char *value_pq(const struct connection *connection, size_t row, unsigned column)
{
    const struct pq *pq = (const struct pq *)connection;
    if ((int)column >= PQnfields(pq->result) || PQgetisnull(pq->result, (int)row, (int)column))
        return NULL;
    return PQgetvalue(pq->result, (int)row, (int)column);
}

/* Reads a value of the given address. Values from a service file are only known once connected. */
static void given_place(const struct pq *pq, const char *key, char *text, size_t size)
{
    PQconninfoOption *options = PQconninfoParse(pq->address, NULL);
    for (PQconninfoOption *option = options; option && option->keyword; option++)
        if (strcmp(option->keyword, key) == 0 && option->val)
            snprintf(text, size, "%s", option->val);
    PQconninfoFree(options);
}

static void place_pq(const struct connection *connection, char *text, size_t size)
{
    const struct pq *pq = (const struct pq *)connection;
    bool there = pq->conn && PQstatus(pq->conn) == CONNECTION_OK;
    char host[64] = "", port[16] = "5432";
    if (there) {
        snprintf(host, sizeof host, "%s", PQhost(pq->conn) ? PQhost(pq->conn) : "");
        snprintf(port, sizeof port, "%s", PQport(pq->conn) ? PQport(pq->conn) : "5432");
    } else {
        given_place(pq, "host", host, sizeof host);
        given_place(pq, "hostaddr", host, sizeof host);
        given_place(pq, "port", port, sizeof port);
    }
    snprintf(text, size, "%s:%s", host[0] && host[0] != '/' ? host : "local", port);
}

const struct driver driver_libpq = {
    .kind = "PostgreSQL",
    .open = open_pq,
    .close = close_pq,
    .hang_up = hang_up_pq,
    .connect = connect_pq,
    .ask = ask_pq,
    .go_on = go_on_pq,
    .wants = wants_pq,
    .value = value_pq,
    .place = place_pq,
};
