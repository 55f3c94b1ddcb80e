/* From anywhere: asking whoever leads to hand over; reading what is kept. */
#include "foundation/base/error.h"
#include "service/serve/store/postgres/postgres.h"

#include <stdio.h>
#include <unistd.h>

#define HAND_OVER_MS 30000

static gordian_status ask_failed(const struct pg *pg, gordian_error *error)
{
    return fail(error, GORDIAN_STATUS_IO, "PostgreSQL: %.200s", pg->why);
}

/* Who leads, and with which number. */
static bool see_leader(struct pg *pg, char address[STORE_ADDRESS], uint64_t *epoch)
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
        if (!see_leader(pg, to, &epoch))
            return ask_failed(pg, error);
        if (epoch > before && *to)
            return GORDIAN_OK;
        usleep(10000);
    }
    return fail(error, GORDIAN_STATUS_UNAVAILABLE, "the lead was not handed over within %d s",
                HAND_OVER_MS / 1000);
}

static gordian_status ask_leader(struct pg *pg, char from[STORE_ADDRESS], char to[STORE_ADDRESS],
                                 gordian_error *error)
{
    char sql[120];
    uint64_t epoch;
    bool made = false;
    if (!pg_connect(pg))
        return ask_failed(pg, error);
    TRY(schema_open(pg, &made, error));
    if (!see_leader(pg, from, &epoch))
        return ask_failed(pg, error);
    if (!*from)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "no server leads");
    snprintf(sql, sizeof sql, "NOTIFY gordian_%u_hand_over", (unsigned)pg->lock);
    if (!pg_do(pg, sql))
        return ask_failed(pg, error);
    return await_other(pg, to, epoch, error);
}

static gordian_status init_pg(struct pg *pg, const struct store_options *options,
                              gordian_error *error)
{
    *pg = (struct pg){.memory = memory_allocator(NULL), .conninfo = (char *)options->postgres};
    snprintf(pg->schema, sizeof pg->schema, "%s", options->schema ? options->schema : "gordian");
    return pg_check(options->postgres, error);
}

gordian_status store_ask_hand_over(const struct store_options *options, char from[STORE_ADDRESS],
                                   char to[STORE_ADDRESS], gordian_error *error)
{
    struct pg pg;
    gordian_status status = init_pg(&pg, options, error);
    THEN(status, ask_leader(&pg, from, to, error));
    pg_disconnect(&pg);
    return status;
}

/* Into a history in memory. */
static gordian_status read_history(struct store *store, bool replays, gordian_error *error)
{
    if (!pg_connect(store->pg))
        return ask_failed(store->pg, error);
    TRY(schema_check(store->pg, error));
    return pg_read_incidents(store, replays, error);
}

gordian_status store_read_incidents(const struct store_options *options, bool replays,
                                    struct incidents_db **out, gordian_error *error)
{
    struct pg pg;
    struct store store = {.pg = &pg, .role = STORE_FOLLOWS};
    bool damaged;
    *out = NULL;
    gordian_status status = init_pg(&pg, options, error);
    THEN(status, history_open(&store.history, NULL, true, &damaged, error));
    THEN(status, read_history(&store, replays, error));
    pg_disconnect(&pg);
    if (status == GORDIAN_OK)
        return incidents_adopt(out, history_leave(&store.history), NULL, error);
    history_close(&store.history);
    return status;
}
