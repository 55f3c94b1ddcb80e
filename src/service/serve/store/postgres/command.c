/* Commands from other processes: ask the leader to step down, and read incidents. */
#include "foundation/base/error.h"
#include "service/serve/store/postgres/postgres.h"

#include <stdio.h>
#include <unistd.h>

#define HAND_OVER_MS 30000

/* Reads the leader's address and epoch. */
static bool read_leader(struct pg *pg, char address[STORE_ADDRESS], uint64_t *epoch)
{
    PGresult *seen = pg_ask(pg, "SELECT address, epoch FROM leader", 0, NULL);
    if (!seen || PQntuples(seen) != 1) {
        PQclear(seen);
        return false;
    }
    snprintf(address, STORE_ADDRESS, "%s", PQgetvalue(seen, 0, 0));
    *epoch = pg_u64(seen, 0, 1);
    PQclear(seen);
    return true;
}

static gordian_status await_other(struct pg *pg, char to[STORE_ADDRESS], uint64_t before,
                                  gordian_error *error)
{
    uint64_t until = clock_ms() + HAND_OVER_MS, epoch = before;
    to[0] = '\0';
    while (clock_ms() < until) {
        if (!read_leader(pg, to, &epoch))
            return pg_error(pg, error);
        if (epoch > before && *to)
            return GORDIAN_OK;
        usleep(10000);
    }
    return fail(error, GORDIAN_STATUS_UNAVAILABLE, "leadership was not handed over within %d s",
                HAND_OVER_MS / 1000);
}

static gordian_status ask_leader(struct pg *pg, char from[STORE_ADDRESS], char to[STORE_ADDRESS],
                                 gordian_error *error)
{
    char sql[120];
    uint64_t epoch;
    bool made = false;
    TRY(schema_open(pg, &made, error));
    if (!read_leader(pg, from, &epoch))
        return pg_error(pg, error);
    if (!*from)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "no server leads");
    snprintf(sql, sizeof sql, "NOTIFY gordian_%u_hand_over", (unsigned)pg->lock);
    if (!pg_do(pg, sql))
        return pg_error(pg, error);
    return await_other(pg, to, epoch, error);
}

gordian_status store_ask_hand_over(const struct store_options *options, char from[STORE_ADDRESS],
                                   char to[STORE_ADDRESS], gordian_error *error)
{
    struct store *store;
    TRY(pg_open_alone(&store, options, error));
    gordian_status status = ask_leader(store->pg, from, to, error);
    pg_close_alone(store);
    return status;
}

gordian_status store_read_incidents(const struct store_options *options, bool replays,
                                    struct incidents_db **out, gordian_error *error)
{
    struct store *store;
    *out = NULL;
    TRY(pg_open_alone(&store, options, error));
    gordian_status status = schema_check(store->pg, error);
    THEN(status, pg_read_incidents(store, replays, error));
    THEN(status, incidents_adopt(out, history_leave(&store->history), NULL, error));
    pg_close_alone(store);
    return status;
}
