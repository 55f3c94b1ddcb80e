/* `gordian bench serve --store URI`: the service on PostgreSQL compared with the same on a folder,
 * and the time without answers when another server becomes the leader. */
#include "lab/bench/serve/serve.h"

#include "foundation/base/error.h"

#include <dlfcn.h>
#include <libpq-fe.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RATE_BAR     0.5  /* share of the rate on an equally durable folder, at least */
#define HANDOVER_BAR 200  /* ms without an answer, at most */
#define KILL_BAR     2000 /* the same after a kill */
#define SERVERS      3
#define DEPTH        1024
#define AROUND       300 /* answers before and after */

enum { SIDE_FOLDER, SIDE_FULL, SIDE_ONE, SIDE_SEVERAL, SIDES };

static const char *const names[SIDES] = {"folder-batch", "folder-full", "postgres-1-commit",
                                         "postgres-4-commits"};

struct store_world {
    struct bench *bench;
    const char *store;
    const struct serve_load *load;
    struct service_process services[SIDES];
    struct peer peers[SIDES];
    bool open[SIDES];
    struct library streams[SIDES];
    struct service_process servers[SERVERS];
};

/* ------------------------------------------------------------------ the database */

/* Functions of libpq. It is loaded on demand, because only this bench of the program needs it. */
struct database_library {
    __typeof__(PQconnectdb) *connect;
    __typeof__(PQstatus) *status;
    __typeof__(PQexec) *exec;
    __typeof__(PQresultStatus) *result;
    __typeof__(PQntuples) *rows;
    __typeof__(PQgetvalue) *value;
    __typeof__(PQclear) *clear;
    __typeof__(PQfinish) *finish;
};

static bool load_library(struct database_library *to)
{
    static const char *const functions[] = {"PQconnectdb",    "PQstatus",  "PQexec",
                                            "PQresultStatus", "PQntuples", "PQgetvalue",
                                            "PQclear",        "PQfinish"};
    void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL); /* never unloaded */
    void *found[sizeof functions / sizeof *functions];
    _Static_assert(sizeof found == sizeof *to, "a pointer for every name");
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        found[i] = library ? dlsym(library, functions[i]) : NULL;
        if (!found[i])
            return false;
    }
    memcpy(to, found, sizeof *to);
    return true;
}

/* Returns the first value of a query's result; false: none. */
static bool ask_database(const char *store, const char *sql, char *text, size_t size)
{
    struct database_library pq;
    if (!load_library(&pq))
        return false;
    PGconn *conn = pq.connect(store);
    PGresult *found = pq.status(conn) == CONNECTION_OK ? pq.exec(conn, sql) : NULL;
    bool good = pq.result(found) == PGRES_TUPLES_OK && pq.rows(found) > 0;
    if (good)
        snprintf(text, size, "%s", pq.value(found, 0, 0));
    pq.clear(found);
    pq.finish(conn);
    return good;
}

/* Makes the name of a schema for this run. */
static const char *schema_name(char text[64], const char *what)
{
    snprintf(text, 64, "gordian_bench_%ld_%s", (long)getpid(), what);
    return text;
}

static void drop_schema(const char *store, const char *what)
{
    char sql[160], ignored[8], schema[64];
    snprintf(sql, sizeof sql, "SET client_min_messages = error; DROP SCHEMA IF EXISTS %s CASCADE",
             schema_name(schema, what));
    ask_database(store, sql, ignored, sizeof ignored);
}

/* ------------------------------------------------------------------ rates */

static gordian_status start_side(struct store_world *world, int side, gordian_error *error)
{
    struct service_process *service = &world->services[side];
    char schema[64];
    if (side == SIDE_FOLDER || side == SIDE_FULL)
        return serve_start(service, side == SIDE_FULL ? "full" : "batch", error);
    return serve_start_store(service, world->store, schema_name(schema, names[side] + 9),
                             side == SIDE_ONE ? "1" : "4", error);
}

static gordian_status run_exchange(void *context, double *ns, gordian_error *error)
{
    struct peer *peer = context;
    gordian_status status = GORDIAN_OK;
    uint64_t start = clock_ns();
    for (int i = 0; i < 8 && status == GORDIAN_OK; i++)
        status = peer_exchange(peer, DEPTH, error);
    *ns = (double)(clock_ns() - start) / (8 * DEPTH);
    return status;
}

/* Measures all sides in turn; `run` takes a sample. */
static gordian_status measure_rates(struct store_world *world, const char *what, bool stream)
{
    struct bench_side sides[SIDES];
    struct bench_effort effort = {1, 5, 61, world->bench->options->quick ? 2 : 10};
    for (int i = 0; i < SIDES; i++)
        sides[i] = stream ? (struct bench_side){.context = &world->streams[i], .run = library_run}
                          : (struct bench_side){.context = &world->peers[i], .run = run_exchange};
    bench_progress(world->bench, "serve: %s", what);
    TRY(bench_measure(world->bench, sides, SIDES, effort));
    for (int i = 0; i < SIDES; i++) {
        struct bench_row row = bench_row("/s", "serve/store/%s/%s", what, names[i]);
        row.value = 1e9 / sides[i].median;
        row.p99 = 1e9 / sides[i].p99;
        /* What the database has committed is on its disk, like `full` on a folder. */
        if (i == SIDE_ONE || i == SIDE_SEVERAL)
            bench_times(&row, names[SIDE_FULL], 1e9 / sides[SIDE_FULL].median);
        if (i == SIDE_SEVERAL)
            bench_bar(&row, BAR_AT_LEAST, RATE_BAR);
        TRY(bench_add(world->bench, &row));
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ gaps */

static gordian_status start_store_server(struct store_world *world, int which, gordian_error *error)
{
    char schema[64];
    return serve_start_store(&world->servers[which], world->store, schema_name(schema, "cluster"),
                             "4", error);
}

/* Returns the server that leads; -1: none. */
static int find_leading_server(const struct store_world *world)
{
    char sql[160], address[300], schema[64];
    snprintf(sql, sizeof sql, "SELECT address FROM %s.leader", schema_name(schema, "cluster"));
    if (!ask_database(world->store, sql, address, sizeof address))
        return -1;
    for (int i = 0; i < SERVERS; i++)
        if (strlen(address) > 5 && strcmp(address + 5, world->servers[i].socket) == 0)
            return i;
    return -1;
}

static gordian_status wait_for_leader(const struct store_world *world, int *leader,
                                      gordian_error *error)
{
    for (int tries = 0; tries < 3000; tries++) {
        *leader = find_leading_server(world);
        if (*leader >= 0)
            return GORDIAN_OK;
        usleep(10000);
    }
    return fail(error, GORDIAN_STATUS_IO, "no server leads");
}

/* Sends events one by one: the longest time between two answers, in ms. */
static gordian_status longest_gap(struct library *library, double *ms, gordian_error *error)
{
    uint64_t last = clock_ns(), most = 0;
    for (int i = 0; i < AROUND; i++) {
        TRY(library_single(library, error));
        uint64_t now = clock_ns();
        most = now - last > most ? now - last : most;
        last = now;
    }
    *ms = (double)most / 1e6;
    return GORDIAN_OK;
}

static gordian_status measure_gap(struct store_world *world, struct library *library,
                                  int signal_number, double *ms, gordian_error *error)
{
    double before;
    int leader = -1;
    gordian_status status = wait_for_leader(world, &leader, error);
    THEN(status, longest_gap(library, &before, error));
    TRY(status);
    kill(world->servers[leader].pid, signal_number);
    /* Until another server answers: the old leader still answers for a moment. */
    *ms = 0;
    for (int now = leader; status == GORDIAN_OK && (now == leader || now < 0);) {
        double gap = 0;
        status = longest_gap(library, &gap, error);
        *ms = gap > *ms ? gap : *ms;
        now = find_leading_server(world);
    }
    if (status == GORDIAN_OK && signal_number == SIGKILL) {
        waitpid(world->servers[leader].pid, NULL, 0);
        world->servers[leader].pid = 0;
        status = start_store_server(world, leader, error);
    }
    return status;
}

static gordian_status measure_gaps(struct store_world *world, struct library *library,
                                   const char *what, int signal_number, double bar)
{
    double gaps[20];
    size_t count = world->bench->options->quick ? 3 : 20;
    gordian_status status = GORDIAN_OK;
    bench_progress(world->bench, "serve: time without answers, %s", what);
    for (size_t i = 0; i < count && status == GORDIAN_OK; i++)
        status = measure_gap(world, library, signal_number, &gaps[i], world->bench->error);
    TRY(status);
    struct bench_row row = bench_row("ms", "serve/store/gap/%s", what);
    row.value = bench_median(gaps, count);
    row.p99 = gaps[count - 1];
    bench_bar(&row, BAR_VALUE_AT_MOST, bar);
    return bench_add(world->bench, &row);
}

static gordian_status measure_cluster(struct store_world *world)
{
    char uri[SERVERS * 230] = "";
    struct library library = {0};
    gordian_client_options options;
    gordian_status status = GORDIAN_OK;
    gordian_client_options_init(&options);
    options.lease_ms = 60000;
    for (int i = 0; i < SERVERS && status == GORDIAN_OK; i++) {
        status = start_store_server(world, i, world->bench->error);
        size_t used = strlen(uri);
        snprintf(uri + used, sizeof uri - used, "%sunix:%s", i ? "," : "",
                 world->servers[i].socket);
    }
    /* Clients keep the addresses they were given: a killed server restarts at its own. */
    THEN(status,
         library_open(&library, world->bench, uri, &options, world->load, world->bench->error));
    THEN(status, measure_gaps(world, &library, "hand-over", SIGUSR2, HANDOVER_BAR));
    THEN(status, measure_gaps(world, &library, "kill", SIGKILL, KILL_BAR));
    library_close(&library, world->bench);
    for (int i = 0; i < SERVERS; i++)
        serve_stop(&world->servers[i]);
    drop_schema(world->store, "cluster");
    return status;
}

gordian_status serve_store(struct bench *bench, const char *store, const struct serve_load *load)
{
    struct store_world world = {.bench = bench, .store = store, .load = load};
    gordian_status status = GORDIAN_OK;
    for (int side = 0; side < SIDES && status == GORDIAN_OK; side++) {
        char uri[256];
        bench_progress(world.bench, "serve: starting %s", names[side]);
        status = start_side(&world, side, bench->error);
        snprintf(uri, sizeof uri, "unix:%s", world.services[side].socket);
        THEN(status, peer_open(&world.peers[side], world.services[side].socket, false, world.load,
                               names[side], bench->error));
        world.open[side] = status == GORDIAN_OK;
        THEN(status,
             library_open(&world.streams[side], world.bench, uri, NULL, world.load, bench->error));
        world.streams[side].operations = world.bench->options->quick ? 20000 : 100000;
    }
    THEN(status, measure_rates(&world, "depth-1024", false));
    THEN(status, measure_rates(&world, "stream", true));
    for (int i = 0; i < SIDES; i++) {
        library_close(&world.streams[i], world.bench);
        if (world.open[i])
            peer_close(&world.peers[i]);
        serve_stop(&world.services[i]);
    }
    drop_schema(world.store, names[SIDE_ONE] + 9);
    drop_schema(world.store, names[SIDE_SEVERAL] + 9);
    return status == GORDIAN_OK ? measure_cluster(&world) : status;
}
