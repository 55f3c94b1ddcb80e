/* The tables in PostgreSQL. docs/guide/cluster.md describes them. */
#include "foundation/base/error.h"
#include "service/serve/store/postgres/postgres.h"

#include <stdio.h>

/* `leader` has one row, which changes with every commit: leave free space on its page for the next
 * version. */
static const char tables[] =
    "CREATE TABLE leader (one boolean PRIMARY KEY DEFAULT true CHECK (one),"
    " version int NOT NULL, epoch bigint NOT NULL, batch bigint NOT NULL, last bigint NOT NULL,"
    " address text NOT NULL, backend int NOT NULL, lease_ms bigint NOT NULL,"
    " beat timestamptz NOT NULL) WITH (fillfactor = 10);"
    "CREATE TABLE journal (batch bigint PRIMARY KEY, first bigint NOT NULL, last bigint NOT NULL,"
    " epoch bigint NOT NULL, crc bigint NOT NULL, bytes bytea NOT NULL);"
    "ALTER TABLE journal ALTER bytes SET STORAGE EXTERNAL;"
    "CREATE INDEX journal_last ON journal (last);"
    "CREATE TABLE snapshot (last bigint PRIMARY KEY, at bigint NOT NULL, size bigint NOT NULL,"
    " crc bigint NOT NULL);"
    "CREATE TABLE snapshot_part (last bigint, part bigint, bytes bytea NOT NULL,"
    " PRIMARY KEY (last, part));"
    "ALTER TABLE snapshot_part ALTER bytes SET STORAGE EXTERNAL;"
    "CREATE TABLE incident (id bigint PRIMARY KEY, system text NOT NULL, at bigint NOT NULL,"
    " ended bigint, how text, requester text, victim text, processes text, witness text,"
    " replay text);"
    "CREATE INDEX incident_open ON incident (id) WHERE ended IS NULL;"
    "CREATE INDEX incident_ended ON incident (ended) WHERE ended IS NOT NULL;"
    "CREATE VIEW incidents AS SELECT id, system, to_timestamp(at / 1000.0) AS at,"
    " to_timestamp(ended / 1000.0) AS ended, how, requester, victim, processes::jsonb,"
    " witness::jsonb FROM incident;"
    "CREATE TABLE action (id bigint PRIMARY KEY, system text NOT NULL, at bigint NOT NULL,"
    " what text, who text, process text, why text);"
    "CREATE VIEW actions AS SELECT id, system, to_timestamp(at / 1000.0) AS at, what, process, who,"
    " why FROM action;";

/* Tables that older servers of this version did not make. Those servers ignore them. */
static const struct {
    const char *table, *sql;
} additions[] = {
    {"incident_label",
     "CREATE TABLE incident_label (id bigint PRIMARY KEY REFERENCES incident ON DELETE CASCADE,"
     " labels text NOT NULL);"},
    {"notice", "CREATE TABLE notice (number bigserial, id bigint, ended bigint,"
               " PRIMARY KEY (id, ended));"},
};

static bool add_missing(struct pg *pg)
{
    bool good = true;
    for (size_t i = 0; i < sizeof additions / sizeof *additions && good; i++) {
        PGresult *found = pg_ask(pg, "SELECT to_regclass($1) IS NOT NULL", 1, &additions[i].table);
        good = found != NULL;
        if (good && PQgetvalue(found, 0, 0)[0] != 't')
            good = pg_do(pg, additions[i].sql);
        PQclear(found);
    }
    return good;
}

/* If two servers start at once, the second waits and finds the tables. */
static bool make_tables(struct pg *pg, bool *made)
{
    char sql[300];
    char *name = PQescapeIdentifier(pg->conn, pg->schema, strlen(pg->schema));
    if (!name)
        return pg_failed(pg, PQerrorMessage(pg->conn));
    snprintf(sql, sizeof sql, "SELECT pg_advisory_xact_lock(%d, 0)", PG_LOCK);
    bool good = pg_do(pg, "BEGIN") && pg_do(pg, sql);
    snprintf(sql, sizeof sql, "CREATE SCHEMA IF NOT EXISTS %s", name);
    PQfreemem(name);
    PGresult *there = good ? pg_ask(pg, "SELECT to_regnamespace(quote_ident($1)) IS NOT NULL", 1,
                                    (const char *const[]){pg->schema})
                           : NULL;
    good = there != NULL;
    if (good && PQgetvalue(there, 0, 0)[0] != 't') /* an existing schema needs no CREATE right */
        good = pg_do(pg, sql);
    PQclear(there);
    PGresult *found = good ? pg_ask(pg, "SELECT to_regclass('leader') IS NOT NULL", 0, NULL) : NULL;
    good = found != NULL;
    if (good && PQgetvalue(found, 0, 0)[0] != 't') {
        *made = true;
        snprintf(sql, sizeof sql,
                 "INSERT INTO leader VALUES (true, %d, 0, 0, 0, '', 0, 0, clock_timestamp())",
                 PG_VERSION);
        good = pg_do(pg, tables) && pg_do(pg, sql);
    }
    PQclear(found);
    if (good && add_missing(pg))
        return pg_do(pg, "COMMIT");
    char why[sizeof pg->why];
    memcpy(why, pg->why, sizeof why);
    pg_do(pg, "ROLLBACK");
    return pg_failed(pg, why);
}

gordian_status schema_open(struct pg *pg, bool *made, gordian_error *error)
{
    if (!make_tables(pg, made))
        return pg_error(pg, error);
    return schema_check(pg, error);
}

gordian_status schema_check(struct pg *pg, gordian_error *error)
{
    PGresult *found = pg_ask(pg,
                             "SELECT version, quote_ident($1)::regnamespace::oid,"
                             " current_setting('server_encoding') FROM leader",
                             1, (const char *const[]){pg->schema});
    if (!found)
        return pg_error(pg, error);
    gordian_status status = GORDIAN_OK;
    if (PQntuples(found) != 1 || pg_u64(found, 0, 0) != PG_VERSION)
        status = fail(error, GORDIAN_STATUS_INPUT,
                      "the tables in schema %.60s are not of this version of gordian serve; name "
                      "another with --store-schema",
                      pg->schema);
    else if (strcmp(PQgetvalue(found, 0, 2), "UTF8") != 0)
        status = fail(error, GORDIAN_STATUS_INPUT,
                      "the database's encoding must be UTF8, not %.40s", PQgetvalue(found, 0, 2));
    else
        pg->lock = (uint32_t)pg_u64(found, 0, 1);
    PQclear(found);
    return status;
}
