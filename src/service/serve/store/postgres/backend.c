/* The PostgreSQL backend and its thread. */
#include "foundation/base/error.h"
#include "service/serve/store/files.h"
#include "service/serve/store/postgres/postgres.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* ---- the thread */

static void *pg_thread(void *context)
{
    struct store *store = context;
    store_lock(store);
    /* When stopping, the leader still writes what it can. */
    while (!store->stopping ||
           (store->role == STORE_LEADER && !store->failed && !pg_lead_done(store))) {
        enum store_role role = store->role;
        bool taken = store->pg->followed_count < PG_FOLLOWED_MAX;
        store_unlock(store);
        if (role == STORE_LEADER)
            pg_leader_step(store);
        else if (role == STORE_STANDBY && taken)
            pg_standby_step(store);
        else
            pg_wait(store->pg, false, PG_POLL_MS);
        store_lock(store);
    }
    bool leads = store->role == STORE_LEADER;
    store->doubtful = store->queue != NULL;
    store_unlock(store);
    if (leads)
        pg_release(store->pg);
    return NULL;
}

/* ---- opening */

static gordian_status make_pg(struct store *store, gordian_error *error)
{
    const struct store_options *options = &store->options;
    gordian_allocator memory = memory_allocator(NULL);
    struct pg *pg = memory_zeroed(&memory, sizeof *pg);
    if (!pg)
        return fail_memory(error);
    store->pg = pg;
    pg->memory = memory;
    pg->followed_end = &pg->followed;
    pg->lease_ms = options->lease_ms ? options->lease_ms : PG_LEASE_MS;
    pg->commits = options->commits ? options->commits : PG_COMMITS;
    pg->commits = pg->commits > PG_OPERATIONS / 2 ? PG_OPERATIONS / 2 : pg->commits;
    pg->yield_until = options->rest_ms ? clock_ms() + options->rest_ms : 0;
    bytes_init(&pg->row, &memory);
    snprintf(pg->schema, sizeof pg->schema, "%s", options->schema ? options->schema : "gordian");
    snprintf(pg->address, sizeof pg->address, "%s", options->address ? options->address : "");
    pg->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    pg->conninfo = memory_copy_text(&memory, options->postgres);
    if (!pg->conninfo || pg->wake < 0)
        return fail_memory(error);
    store->options.postgres = pg->conninfo; /* the caller's text may be freed */
    return GORDIAN_OK;
}

static gordian_status open_memory_history(struct store *store, gordian_error *error)
{
    bool damaged;
    gordian_status status = history_open(&store->history, NULL, true, &damaged, error);
    THEN(status, incidents_share(&store->reader, store->history.db, &store->memory, error));
    store->committed_end = &store->committed_first;
    return status;
}

/* Tries to become leader; a previous process may still be ending. */
static void seek_leadership(struct store *store)
{
    struct pg *pg = store->pg;
    uint64_t until = clock_ms() + store->options.lead_ms;
    store->role = STORE_STANDBY;
    if (store->options.rest_ms)
        return;
    while (!pg_try_leadership(store) && pg->conn && PQstatus(pg->conn) == CONNECTION_OK &&
           clock_ms() < until)
        usleep(5000);
}

static gordian_status read_leader_row(struct store *store, struct store_found *found,
                                      gordian_error *error)
{
    PGresult *seen = pg_ask(store->pg,
                            "SELECT last, (SELECT coalesce(max(last), 0) FROM snapshot), address"
                            " FROM leader",
                            0, NULL);
    if (!seen)
        return pg_error(store->pg, error);
    found->last = pg_u64(seen, 0, 0);
    found->snapshot = pg_u64(seen, 0, 1);
    if (store->role == STORE_STANDBY)
        pg_show_leader(store, PQgetvalue(seen, 0, 2));
    PQclear(seen);
    return GORDIAN_OK;
}

static gordian_status open_pg(struct store *store, struct store_found *found, gordian_error *error)
{
    gordian_status status = pg_check(store->options.postgres, error);
    THEN(status, make_pg(store, error));
    THEN(status, open_memory_history(store, error));
    if (status == GORDIAN_OK && !pg_connect(store->pg))
        status = pg_error(store->pg, error);
    THEN(status, schema_open(store->pg, &found->made, error));
    if (status != GORDIAN_OK)
        return status;
    struct pg *pg = store->pg;
    snprintf(pg->channel, sizeof pg->channel, "gordian_%u", (unsigned)pg->lock);
    seek_leadership(store);
    return read_leader_row(store, found, error);
}

static gordian_status load_pg(struct store *store, const struct store_loader *loader, void *context,
                              gordian_error *error)
{
    struct pg *pg = store->pg;
    store->loading = true;
    gordian_status status = pg_load(store, loader, context, error);
    store->loading = false;
    store->followed = pg->batch;
    if (status == GORDIAN_OK && !pg_listen(pg))
        status = pg_error(pg, error);
    memcpy(store->leader_shown, store->leader, sizeof store->leader_shown);
    store->trimming = true;
    return status == GORDIAN_OK ? store_start_thread(store, pg_thread, error) : status;
}

static void wake_pg(struct store *store)
{
    bell_ring(store->pg->wake);
}

static void close_pg(struct store *store)
{
    struct pg *pg = store->pg;
    if (!pg)
        return;
    gordian_allocator memory = pg->memory;
    for (struct followed *next, *portion = pg->followed; portion; portion = next) {
        next = portion->next;
        PQclear(portion->cursor.rows);
        memory_free(&memory, portion);
    }
    pg_disconnect(pg);
    bytes_free(&pg->row);
    file_close(pg->wake);
    if (pg->conninfo)
        memset(pg->conninfo, 0, strlen(pg->conninfo)); /* it may contain a password */
    memory_free_all(&memory, pg->conninfo, pg);
    store->pg = NULL;
}

/* ---- point-in-time queries */

void pg_close_alone(struct store *store)
{
    gordian_allocator memory = memory_allocator(NULL);
    close_pg(store);
    history_close(&store->history);
    memory_free(&memory, store);
}

gordian_status pg_open_alone(struct store **out, const struct store_options *options,
                             gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct store *store = memory_zeroed(&memory, sizeof *store);
    bool damaged;
    *out = NULL;
    if (!store)
        return fail_memory(error);
    store->memory = memory;
    store->role = STORE_STANDBY; /* it is never a leader */
    store->options = *options;
    gordian_status status = pg_check(options->postgres, error);
    THEN(status, make_pg(store, error));
    THEN(status, history_open(&store->history, NULL, true, &damaged, error));
    if (status == GORDIAN_OK && !pg_connect(store->pg))
        status = pg_error(store->pg, error);
    if (status == GORDIAN_OK)
        *out = store;
    else
        pg_close_alone(store);
    return status;
}

static gordian_status load_past(const struct store_options *options, uint64_t at, uint64_t after,
                                const struct store_loader *loader, void *context,
                                gordian_error *error)
{
    struct store *store;
    TRY(pg_open_alone(&store, options, error));
    gordian_status status = pg_load_past(store, at, after, loader, context, error);
    pg_close_alone(store);
    return status;
}

static gordian_status past_begins(const struct store_options *options, uint64_t *at,
                                  gordian_error *error)
{
    struct store *store;
    bool whole;
    TRY(pg_open_alone(&store, options, error));
    gordian_status status = pg_past_begins(store->pg, at, &whole, error);
    pg_close_alone(store);
    return status;
}

/* Servers have an address; their other connections have none. */
static const char servers_select[] =
    "SELECT substr(application_name, length($1) + 1), pid = leader.backend,"
    " (extract(epoch FROM backend_start) * 1000)::bigint, leader.epoch"
    " FROM leader LEFT JOIN pg_stat_activity ON datname = current_database()"
    " AND starts_with(application_name, $1) AND length(application_name) > length($1)"
    " ORDER BY 2 DESC, 1";

static gordian_status list_servers(const struct store_options *options, uint64_t *epoch,
                                   void (*each)(void *context, const char *address, bool leads,
                                                uint64_t since),
                                   void *context, gordian_error *error)
{
    char start[sizeof((struct pg *)0)->schema + 16];
    const char *value = start;
    struct store *store;
    gordian_status status = GORDIAN_OK;
    TRY(pg_open_alone(&store, options, error));
    snprintf(start, sizeof start, PG_SERVER "%s:", store->pg->schema);
    PGresult *found = pg_ask(store->pg, servers_select, 1, &value);
    if (!found)
        status = pg_error(store->pg, error);
    for (int row = 0; found && row < PQntuples(found); row++) {
        *epoch = pg_u64(found, row, 3);
        if (!PQgetisnull(found, row, 0))
            each(context, PQgetvalue(found, row, 0), PQgetvalue(found, row, 1)[0] == 't',
                 pg_u64(found, row, 2));
    }
    PQclear(found);
    pg_close_alone(store);
    return status;
}

const struct store_backend backend_postgres = {
    .open = open_pg,
    .load = load_pg,
    .past = load_past,
    .begins = past_begins,
    .servers = list_servers,
    .follow = pg_follow,
    .wake = wake_pg,
    .close = close_pg,
};
