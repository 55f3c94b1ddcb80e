/* A world for the store's tests: a folder of its own, records whose content follows from their
 * number, and a state that follows from all records: a snapshot is right if the state is.
 *
 * With GORDIAN_TEST_POSTGRES, a connection string, the store is there, in a schema of its own. */
#ifndef GORDIAN_TESTS_STORE_WORLD_H
#define GORDIAN_TESTS_STORE_WORLD_H

#include "../test.h"
#include "foundation/base/clock.h"
#include "foundation/base/crc.h"
#include "foundation/base/io/temporary.h"
#include "foundation/base/random.h"
#include "service/serve/store/files.h"
#include "service/serve/store/store.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct world {
    char folder[512]; /* removed at the end, with all that is in it */
    char schema[64];  /* likewise; "": it is the folder that is tested */
    struct store_options options;
    uint64_t state;    /* of all records up to `number` */
    uint64_t number;   /* of the last record applied */
    uint64_t sections; /* loaded */
    uint64_t records;  /* loaded */
    bool wrong;        /* something did not follow */
};

static inline unsigned world_scale(unsigned usual)
{
    const char *text = getenv("GORDIAN_TEST_SCALE");
    unsigned long percent = text ? strtoul(text, NULL, 10) : 100;
    unsigned long scaled = usual * percent / 100;
    return scaled ? (unsigned)scaled : 1;
}

static inline void world_path(const struct world *world, const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", world->folder, name);
}

/* ---- the store's tables, if it has them */

#ifdef HAVE_LIBPQ
#include <libpq-fe.h>

/* The number that a question gives; -1: none. */
static inline int64_t world_ask_postgres(const struct world *world, const char *sql)
{
    int64_t number = -1;
    PGconn *conn = PQconnectdb(getenv("GORDIAN_TEST_POSTGRES"));
    REQUIRE(PQstatus(conn) == CONNECTION_OK);
    char begin[200];
    snprintf(begin, sizeof begin, "SET client_min_messages = error; SET search_path TO \"%s\"",
             world->schema);
    PQclear(PQexec(conn, begin));
    PGresult *found = PQexec(conn, sql);
    CHECK_MSG(PQresultStatus(found) == PGRES_TUPLES_OK || PQresultStatus(found) == PGRES_COMMAND_OK,
              "%s: %s", sql, PQresultErrorMessage(found));
    if (PQresultStatus(found) == PGRES_TUPLES_OK && PQntuples(found) > 0)
        number = strtoll(PQgetvalue(found, 0, 0), NULL, 10);
    PQclear(found);
    PQfinish(conn);
    return number;
}
#else
static inline int64_t world_ask_postgres(const struct world *world, const char *sql)
{
    (void)world, (void)sql;
    return -1;
}
#endif

static inline bool world_on_postgres(const struct world *world)
{
    return world->schema[0];
}

static inline void world_drop_schema(const struct world *world)
{
    char sql[200];
    snprintf(sql, sizeof sql, "DROP SCHEMA IF EXISTS \"%s\" CASCADE", world->schema);
    world_ask_postgres(world, sql);
}

static inline void world_remove(const struct world *world)
{
    temporary_remove(world->folder);
    if (world_on_postgres(world))
        world_drop_schema(world);
}

static inline void world_make(struct world *world)
{
    *world = (struct world){.state = 1};
    REQUIRE(temporary_folder("gordian-store", world->folder, sizeof world->folder, NULL) ==
            GORDIAN_OK);
    store_options_init(&world->options);
    world->options.folder = world->folder;
    world->options.retry_ms = 5;
    world->options.note_ms = 86400000; /* tests count writes and syncs */
    world->options.postgres = getenv("GORDIAN_TEST_POSTGRES");
    if (world->options.postgres) {
        snprintf(world->schema, sizeof world->schema, "%s", strrchr(world->folder, '/') + 1);
        world->options.folder = NULL;
        world->options.schema = world->schema;
        world->options.address = "here:1";
        world->options.lead_ms = 600000; /* whoever was killed is gone soon */
    }
}

/* The content of a record: up to a few hundred bytes, now and then many more. */
static inline size_t world_record(uint64_t number, uint8_t *bytes, size_t room)
{
    struct random random;
    random_seed(&random, number);
    size_t length = (size_t)random_below(&random, number % 1000 == 999 ? room : 90);
    for (size_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)random_next(&random);
    return length;
}

static inline uint64_t world_time(uint64_t number)
{
    return UINT64_C(1700000000000) + number * 3 - number % 7;
}

static inline void world_apply(struct world *world, uint64_t number, const void *bytes,
                               size_t length)
{
    world->state = world->state * UINT64_C(0x9e3779b97f4a7c15) + crc32c(0, bytes, length);
    world->number = number;
}

/* The state after that many records. Mostly asked for again when there are a few more: it goes on
 * from where it was. */
static inline uint64_t world_state_at(uint64_t number)
{
    static _Thread_local uint8_t bytes[70000];
    static _Thread_local struct world model;
    if (model.number > number || !model.state)
        model = (struct world){.state = 1};
    while (model.number < number)
        world_apply(&model, model.number + 1, bytes,
                    world_record(model.number + 1, bytes, sizeof bytes));
    return model.state;
}

static inline gordian_status world_section(void *context, const char *name, const void *bytes,
                                           size_t length, gordian_error *error)
{
    struct world *world = context;
    (void)error;
    world->sections++;
    if (strcmp(name, "state") == 0 && length == 16) {
        memcpy(&world->state, bytes, 8);
        memcpy(&world->number, (const char *)bytes + 8, 8);
    } else if (strcmp(name, "padding") != 0) {
        world->wrong = true;
    }
    return GORDIAN_OK;
}

static inline gordian_status world_load_record(void *context, uint64_t number, uint64_t at,
                                               const void *bytes, size_t length,
                                               gordian_error *error)
{
    static uint8_t expected[70000];
    struct world *world = context;
    (void)error;
    if (number != world->number + 1 || at != world_time(number) ||
        length != world_record(number, expected, sizeof expected) ||
        (length && memcmp(bytes, expected, length) != 0))
        world->wrong = true;
    world->records++;
    world_apply(world, number, bytes, length);
    return GORDIAN_OK;
}

static const struct store_loader world_loader = {world_section, world_load_record};

/* Opens and loads; checks that all that is there follows. */
static inline gordian_status world_open(struct world *world, struct store **store,
                                        struct store_found *found, gordian_error *error)
{
    world->state = 1;
    world->number = world->sections = world->records = 0;
    world->wrong = false;
    gordian_status status = store_open(store, &world->options, found, error);
    if (status != GORDIAN_OK)
        return status;
    status = store_load(*store, &world_loader, world, error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error->message);
    CHECK(!world->wrong);
    CHECK(world->number == store_last(*store));
    CHECK(world->state == world_state_at(world->number));
    return status;
}

static inline void world_append(struct world *world, struct store *store, unsigned count)
{
    static uint8_t bytes[70000];
    for (unsigned i = 0; i < count; i++) {
        uint64_t number = world->number + 1;
        size_t length = world_record(number, bytes, sizeof bytes);
        CHECK(store_append(store, world_time(number), bytes, length) == number);
        world_apply(world, number, bytes, length);
    }
}

static inline void world_snapshot(struct world *world, struct store *store, size_t padding)
{
    gordian_error error = {0};
    uint64_t both[2] = {world->state, world->number};
    char *zeros = calloc(1, padding + 1);
    REQUIRE(zeros && !store_snapshot_begin(store, &error));
    CHECK(!store_snapshot_section(store, "state", both, sizeof both, &error));
    if (padding)
        CHECK(!store_snapshot_section(store, "padding", zeros, padding, &error));
    store_snapshot_end(store);
    free(zeros);
}

/* ---- the database behind the store's back */

static inline sqlite3 *world_sqlite(const struct world *world, int flags)
{
    char path[sizeof world->folder + 40];
    sqlite3 *db;
    world_path(world, HISTORY_FILE, path, sizeof path);
    REQUIRE(sqlite3_open_v2(path, &db, flags, NULL) == SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    return db;
}

/* The number that a question gives; -1: none. */
static inline int64_t sqlite_number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement;
    int64_t number = -1;
    REQUIRE(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK);
    if (sqlite3_step(statement) == SQLITE_ROW)
        number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return number;
}

static inline int64_t world_ask(const struct world *world, const char *sql)
{
    if (world_on_postgres(world))
        return world_ask_postgres(world, sql);
    sqlite3 *db = world_sqlite(world, SQLITE_OPEN_READONLY);
    int64_t number = sqlite_number(db, sql);
    sqlite3_close(db);
    return number;
}

static inline void world_change(const struct world *world, const char *sql)
{
    char *message = NULL;
    sqlite3 *db = world_sqlite(world, SQLITE_OPEN_READWRITE);
    int code = sqlite3_exec(db, sql, NULL, NULL, &message);
    CHECK_MSG(code == SQLITE_OK, "%s", message ? message : "");
    sqlite3_free(message);
    sqlite3_close(db);
}

/* ---- the files behind the store's back */

/* Bytes of a file; 0: there is none. */
static inline off_t world_size(const struct world *world, const char *name)
{
    char path[sizeof world->folder + 300];
    struct stat info;
    world_path(world, name, path, sizeof path);
    return stat(path, &info) == 0 ? info.st_size : 0;
}

/* How many files of this kind ("journal", "snapshot") there are; *least, *most: the numbers of the
 * first and the last. */
static inline unsigned world_files(const struct world *world, const char *kind, uint64_t *least,
                                   uint64_t *most)
{
    unsigned count = 0;
    uint64_t number;
    if (world_on_postgres(world)) { /* rows are files of a snapshot */
        *least = (uint64_t)world_ask(world, "SELECT min(last) FROM snapshot");
        *most = (uint64_t)world_ask(world, "SELECT max(last) FROM snapshot");
        return (unsigned)world_ask(world, "SELECT count(*) FROM snapshot");
    }
    DIR *folder = opendir(world->folder);
    *least = UINT64_MAX;
    *most = 0;
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        if (file_number(entry->d_name, kind, &number)) {
            *least = number < *least ? number : *least;
            *most = number > *most ? number : *most;
            count++;
        }
    if (folder)
        closedir(folder);
    return count;
}

/* The path of the last one. */
static inline void world_last_file(const struct world *world, const char *kind, char *path,
                                   size_t size)
{
    char name[64];
    uint64_t least, most;
    REQUIRE(world_files(world, kind, &least, &most) > 0);
    file_name(name, sizeof name, kind, most);
    world_path(world, name, path, size);
}

/* Waits until the condition holds, which the thread is to bring about; ten minutes at most. What is
 * true now need not be a moment later, so it is not asked again. */
#define WORLD_WAIT(store, condition)                                                               \
    do {                                                                                           \
        uint64_t deadline_ = clock_ns() + UINT64_C(600000000000);                                  \
        bool met_ = (condition);                                                                   \
        while (!met_ && clock_ns() < deadline_) {                                                  \
            struct pollfd bell_ = {.fd = store_fd(store), .events = POLLIN};                       \
            poll(&bell_, 1, 10);                                                                   \
            store_poll(store);                                                                     \
            met_ = (condition);                                                                    \
        }                                                                                          \
        CHECK(met_);                                                                               \
    } while (0)

/* Appends, seals, and waits until it is kept. */
static inline void world_keep(struct world *world, struct store *store, unsigned count)
{
    world_append(world, store, count);
    store_seal(store);
    uint64_t last = store_last(store);
    WORLD_WAIT(store, store_committed(store) == last);
}

/* A process that does this with the world, and then is killed, if it has not been before. */
static inline void world_die(struct world *world, void (*act)(struct world *world))
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        unsigned long before = test_failed;
        act(world);
        if (test_failed == before)
            kill(getpid(), SIGKILL);
        _exit(3);
    }
    REQUIRE(child > 0);
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

#endif
