/* The connection to PostgreSQL. */
#include "foundation/base/error.h"
#include "service/serve/store/files.h"
#include "service/serve/store/postgres/postgres.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

gordian_status pg_check(const char *conninfo, gordian_error *error)
{
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    if (!options)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "--store: not a connection string of libpq "
                    "(postgresql://USER@HOST:PORT/DATABASE, or 'host=HOST dbname=DATABASE')");
    PQconninfoFree(options);
    return GORDIAN_OK;
}

bool pg_failed(struct pg *pg, const char *message)
{
    size_t length = 0;
    for (const char *at = message; *at && length + 3 < sizeof pg->why; at++) {
        if (*at != '\n') {
            pg->why[length++] = *at == '\t' ? ' ' : *at;
        } else if (at[1]) {
            pg->why[length++] = ';';
            pg->why[length++] = ' ';
        }
    }
    pg->why[length] = '\0';
    return false;
}

gordian_status pg_error(const struct pg *pg, gordian_error *error)
{
    return fail(error, GORDIAN_STATUS_IO, "PostgreSQL: %.200s", pg->why);
}

void pg_note_failure(struct store *store)
{
    char why[sizeof store->pg->why + 20];
    snprintf(why, sizeof why, "PostgreSQL: %s", store->pg->why);
    store_lock(store);
    store_note_failure(store, why);
    store_unlock(store);
    store_ring(store);
}

bool pg_listen(struct pg *pg)
{
    char sql[120];
    snprintf(sql, sizeof sql, "LISTEN %s", pg->channel);
    return pg_do(pg, sql);
}

/* ---- opening */

/* Defaults unless the connection string says otherwise: detect a dead network, and skip read-only
 * servers. */
static const char *const defaults[][2] = {
    {"fallback_application_name", "gordian serve"},
    {"connect_timeout", "3"},
    {"target_session_attrs", "read-write"},
    {"keepalives_idle", "5"},
    {"keepalives_interval", "2"},
    {"keepalives_count", "3"},
    {"tcp_user_timeout", "10000"},
};

#define DEFAULTS (sizeof defaults / sizeof *defaults)

static PGconn *open_connection(const char *conninfo)
{
    const char *keys[DEFAULTS + 2] = {"dbname"}, *values[DEFAULTS + 2] = {conninfo};
    size_t count = 1;
    PQconninfoOption *given = PQconninfoParse(conninfo, NULL);
    for (size_t i = 0; given && i < DEFAULTS; i++) {
        const PQconninfoOption *option = given;
        while (option->keyword && strcmp(option->keyword, defaults[i][0]) != 0)
            option++;
        if (option->keyword && option->val)
            continue;
        keys[count] = defaults[i][0];
        values[count++] = defaults[i][1];
    }
    PQconninfoFree(given);
    return PQconnectdbParams(keys, values, 1);
}

/* Discards notices, which are meant for a terminal. */
static void drop_server_notice(void *context, const PGresult *result)
{
    (void)context;
    (void)result;
}

/* The server should also detect a dead client soon, because the lock is held by the connection.
 * Settings that do not apply (a Unix socket has none) are ignored. */
static bool begin_session(struct pg *pg)
{
    char sql[1500], said[sizeof pg->schema + sizeof pg->address + 16];
    char *schema = PQescapeIdentifier(pg->conn, pg->schema, strlen(pg->schema));
    snprintf(said, sizeof said, PG_SERVER "%s:%s", pg->schema, pg->address);
    char *name = PQescapeLiteral(pg->conn, said, strlen(said));
    if (!schema || !name) {
        PQfreemem(schema);
        PQfreemem(name);
        return pg_failed(pg, PQerrorMessage(pg->conn));
    }
    snprintf(sql, sizeof sql,
             "SET search_path TO %s, pg_catalog; SET client_encoding TO 'UTF8';"
             "SET statement_timeout = 0; SET lock_timeout = 0;"
             "SET idle_in_transaction_session_timeout = 0;"
             "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2;"
             "SET tcp_keepalives_count = 3; SET tcp_user_timeout = 10000;"
             "SET application_name TO %s",
             schema, name);
    PQfreemem(schema);
    PQfreemem(name);
    return pg_do(pg, sql);
}

bool pg_connect(struct pg *pg)
{
    pg_disconnect(pg);
    pg->conn = open_connection(pg->conninfo);
    if (!pg->conn)
        return pg_failed(pg, "out of memory");
    PQsetNoticeReceiver(pg->conn, drop_server_notice, NULL);
    if (PQstatus(pg->conn) != CONNECTION_OK) {
        pg_failed(pg, PQerrorMessage(pg->conn));
        pg_disconnect(pg);
        return false;
    }
    if (begin_session(pg))
        return true;
    pg_disconnect(pg);
    return false;
}

void pg_disconnect(struct pg *pg)
{
    PQfinish(pg->conn);
    pg->conn = NULL;
    pg->prepared = false;
}

/* ---- waiting */

void pg_wait(struct pg *pg, bool flush, int ms)
{
    struct pollfd ends[2] = {{.fd = pg->wake, .events = POLLIN},
                             {.fd = pg->conn ? PQsocket(pg->conn) : -1,
                              .events = (short)(POLLIN | (flush ? POLLOUT : 0))}};
    if (poll(ends, 2, ms) > 0 && ends[0].revents)
        bell_clear(pg->wake);
}

/* Waits for the server only; a wake-up is handled later. */
static bool wait_for_server(struct pg *pg, uint64_t until)
{
    uint64_t now = clock_ms();
    int left = PQflush(pg->conn);
    struct pollfd end = {.fd = PQsocket(pg->conn),
                         .events = (short)(POLLIN | (left > 0 ? POLLOUT : 0))};
    if (left < 0)
        return pg_failed(pg, PQerrorMessage(pg->conn));
    if (now >= until || poll(&end, 1, (int)(until - now)) == 0)
        return pg_failed(pg, "no answer from the database");
    return PQconsumeInput(pg->conn) || pg_failed(pg, PQerrorMessage(pg->conn));
}

/* Returns the last result; an error in any result fails the query. */
static PGresult *take_query_answer(struct pg *pg)
{
    uint64_t until = clock_ms() + PG_ANSWER_MS;
    PGresult *answer = NULL;
    bool good = true;
    for (;;) {
        while (PQisBusy(pg->conn))
            if (!wait_for_server(pg, until)) {
                PQclear(answer);
                return NULL;
            }
        PGresult *next = PQgetResult(pg->conn);
        if (!next)
            break;
        ExecStatusType status = PQresultStatus(next);
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
            good = pg_failed(pg, PQresultErrorMessage(next));
        PQclear(answer);
        answer = next;
    }
    if (good)
        return answer;
    PQclear(answer);
    return NULL;
}

/* `binary`: ask for a binary answer. */
static PGresult *ask_with(struct pg *pg, const char *sql, int count, const char *const *values,
                          bool binary)
{
    if (PQsendQueryParams(pg->conn, sql, count, NULL, values, NULL, NULL, binary))
        return take_query_answer(pg);
    pg_failed(pg, PQerrorMessage(pg->conn));
    return NULL;
}

PGresult *pg_ask(struct pg *pg, const char *sql, int count, const char *const *values)
{
    return ask_with(pg, sql, count, values, false);
}

PGresult *pg_ask_numbers(struct pg *pg, const char *sql, int count, const uint64_t *numbers)
{
    char texts[8][PG_NUMBER];
    const char *values[8];
    for (int i = 0; i < count; i++)
        values[i] = pg_number(texts[i], numbers[i]);
    return ask_with(pg, sql, count, values, true);
}

bool pg_do(struct pg *pg, const char *sql)
{
    if (!PQsendQuery(pg->conn, sql))
        return pg_failed(pg, PQerrorMessage(pg->conn));
    PGresult *answer = take_query_answer(pg);
    PQclear(answer);
    return answer != NULL;
}

uint64_t pg_u64(const PGresult *result, int row, int column)
{
    return strtoull(PQgetvalue(result, row, column), NULL, 10);
}

const char *pg_number(char text[PG_NUMBER], uint64_t number)
{
    snprintf(text, PG_NUMBER, "%llu", (unsigned long long)number);
    return text;
}
