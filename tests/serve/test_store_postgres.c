/* The store on PostgreSQL (GORDIAN_TEST_POSTGRES) when things go wrong there, as test_store_faults,
 * test_store_damage and test_store_missing have it of a folder: rows that are lost or changed,
 * tables that are missing or of another version, a disk that is full, a database that only reads,
 * one that is locked. Nothing is ever silently wrong. */
#include "store_world.h"

static struct store *open_good(struct world *world)
{
    struct store *store;
    gordian_error error = {0};
    REQUIRE(world_open(world, &store, NULL, &error) == GORDIAN_OK);
    return store;
}

/* A new world with so many rows of ten records in its journal, closed again. */
static void make_rows(struct world *world, unsigned rows)
{
    world_make(world);
    struct store *store = open_good(world);
    for (unsigned i = 0; i < rows; i++)
        world_keep(world, store, 10);
    store_close(store);
    CHECK(world_ask(world, "SELECT count(*) FROM journal") == rows);
}

/* Opens and loads what may be damaged; the state of the world is what came. */
static gordian_status open_any(struct world *world, gordian_error *error)
{
    struct store *store = NULL;
    world->state = 1;
    world->number = world->sections = world->records = 0;
    world->wrong = false;
    *error = (gordian_error){0};
    gordian_status status = store_open(&store, &world->options, NULL, error);
    if (status == GORDIAN_OK)
        status = store_load(store, &world_loader, world, error);
    store_close(store);
    return status;
}

static void refuses(struct world *world, const char *sql, const char *says)
{
    gordian_error error;
    world_ask(world, sql);
    gordian_status status = open_any(world, &error);
    CHECK_MSG(status == GORDIAN_STATUS_INPUT && strstr(error.message, says), "%s: %d %s", sql,
              (int)status, error.message);
    CHECK(!world->wrong);
}

/* ---- rows */

/* Of ten rows of the journal one is not there: the first, one in the middle, the last. */
static void test_lost_row(void)
{
    static const char *const lost[] = {"1", "5", "10"};
    for (size_t i = 0; i < 3; i++) {
        struct world world;
        char sql[100];
        make_rows(&world, 10);
        snprintf(sql, sizeof sql, "DELETE FROM journal WHERE batch = %s", lost[i]);
        refuses(&world, sql, "missing");
        world_remove(&world);
    }
}

static void test_changed_row(void)
{
    static const char *const changes[] = {
        "UPDATE journal SET bytes = set_byte(bytes, 30, get_byte(bytes, 30) # 4) WHERE batch = 5",
        "UPDATE journal SET bytes = substring(bytes FROM 1 FOR 40) WHERE batch = 5",
        "UPDATE journal SET bytes = '' WHERE batch = 5",
        "UPDATE journal SET crc = crc # 1 WHERE batch = 10",
        "UPDATE journal SET last = last + 1 WHERE batch = 10",
        "UPDATE journal SET first = first + 1 WHERE batch = 2",
        "UPDATE leader SET last = last + 1",
        "UPDATE leader SET last = last - 1",
        "UPDATE leader SET batch = batch + 1",
        "UPDATE leader SET batch = batch - 1",
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct world world;
        make_rows(&world, 10);
        refuses(&world, changes[i], "");
        world_remove(&world);
    }
}

/* Changes anywhere: refused, or nothing that matters. */
static void test_changed_anywhere(void)
{
    struct world world;
    struct random random;
    random_seed(&random, 5);
    make_rows(&world, 10);
    world_ask(&world, "CREATE TABLE saved AS SELECT * FROM journal");
    for (unsigned round = world_scale(40); round > 0; round--) {
        static const char *const numbers[] = {"first", "last", "crc", "epoch"};
        gordian_error error;
        char sql[300];
        int row = (int)random_below(&random, 10) + 1, bit = (int)random_below(&random, 8);
        unsigned place = (unsigned)random_below(&random, 8);
        if (place < 4)
            snprintf(sql, sizeof sql, "UPDATE journal SET %s = %s # (1 << %d) WHERE batch = %d",
                     numbers[place], numbers[place], bit, row);
        else
            snprintf(sql, sizeof sql,
                     "UPDATE journal SET bytes = set_bit(bytes, b, 1 - get_bit(bytes, b)) FROM"
                     " (SELECT batch AS n, %llu %% (8 * length(bytes)) AS b FROM saved) AS at"
                     " WHERE batch = %d AND n = %d",
                     (unsigned long long)random_below(&random, 100000), row, row);
        world_ask(&world, sql);
        gordian_status status = open_any(&world, &error);
        CHECK_MSG(!world.wrong && (status == GORDIAN_STATUS_INPUT ||
                                   (status == GORDIAN_OK && world.number == 100)),
                  "%s: %d %s", sql, (int)status, error.message);
        world_ask(&world, "BEGIN; DELETE FROM journal; INSERT INTO journal SELECT * FROM saved;"
                          " COMMIT");
    }
    CHECK(open_any(&world, &(gordian_error){0}) == GORDIAN_OK && world.number == 100);
    world_remove(&world);
}

/* ---- snapshots */

static void make_snapshots(struct world *world)
{
    struct store_figures figures;
    world_make(world);
    struct store *store = open_good(world);
    for (uint64_t i = 1; i <= 3; i++) {
        world_keep(world, store, 30);
        world_snapshot(world, store, 3000000);
        WORLD_WAIT(store, (store_figures(store, &figures), figures.snapshots == i));
        WORLD_WAIT(store, world_ask(world, "SELECT count(*) FROM snapshot") == (i > 1 ? 2 : 1));
    }
    world_keep(world, store, 10);
    store_close(store);
}

/* One that is not whole is written anew, and is whole then. */
static void test_snapshot_anew(void)
{
    struct store_figures figures;
    struct world world;
    make_snapshots(&world);
    for (uint64_t records = 0; records <= 10; records += 10) {
        struct store *store = open_good(&world);
        CHECK(world.number == 100 && world.records == 10);
        world_snapshot(&world, store, 2500000 + (size_t)records);
        WORLD_WAIT(store, (store_figures(store, &figures), figures.snapshots == 1));
        CHECK(figures.failures == 0);
        store_close(store);
        store = open_good(&world);
        CHECK(world.number == 100 && world.records == 0);
        store_close(store);
        world_ask(&world, "UPDATE snapshot SET crc = crc # 1 WHERE last = 100");
    }
    world_remove(&world);
}

/* The newest is not whole: the one before it, and the journal from there on. Neither is: refused.
 */
static void test_damaged_snapshots(void)
{
    static const char *const damages[] = {
        "DELETE FROM snapshot WHERE last = 90",
        "DELETE FROM snapshot_part WHERE last = 90 AND part = 1",
        "UPDATE snapshot_part SET bytes = set_byte(bytes, 9, 255 - get_byte(bytes, 9)) WHERE"
        " last = 90 AND part = 2",
        "UPDATE snapshot SET crc = crc # 1 WHERE last = 90",
        "UPDATE snapshot SET size = size - 1 WHERE last = 90",
    };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        struct world world;
        make_snapshots(&world);
        world_ask(&world, damages[i]);
        struct store *store = open_good(&world);
        CHECK(world.number == 100 && world.records == 40);
        store_close(store);
        refuses(&world, "UPDATE snapshot SET crc = crc # 2", "");
        refuses(&world, "DELETE FROM snapshot", "missing");
        world_remove(&world);
    }
}

/* ---- tables */

static void test_versions(void)
{
    struct world world;
    make_rows(&world, 3);
    refuses(&world, "UPDATE leader SET version = version + 1", "not of this version");
    refuses(&world, "DELETE FROM leader", "not of this version");
    world_remove(&world);
}

/* A table that is not there is not made anew: what was in it is missing. */
static void test_missing_tables(void)
{
    static const char *const tables[] = {"leader", "journal", "snapshot", "incident"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct world world;
        gordian_error error;
        char sql[100];
        make_rows(&world, 3);
        snprintf(sql, sizeof sql, "DROP TABLE %s CASCADE", tables[i]);
        world_ask(&world, sql);
        gordian_status status = open_any(&world, &error);
        CHECK_MSG(status != GORDIAN_OK && error.message[0] && world.number == 0, "%s: %d %s", sql,
                  (int)status, error.message);
        world_remove(&world);
    }
}

/* ---- while it works */

/* Nothing is acknowledged from `break` on, and it says so; after `mend` all of it is. */
static void test_broken(const char *breaking, const char *mending, const char *says)
{
    struct world world;
    const char *why;
    world_make(&world);
    struct store *store = open_good(&world);
    for (unsigned round = 0; round < 2; round++) {
        world_keep(&world, store, 20);
        uint64_t last = store_last(store);
        world_ask(&world, breaking);
        world_append(&world, store, 3);
        CHECK(!store_incident(store, &(struct incident){.id = round + 1, .system = "s"}));
        store_seal(store);
        WORLD_WAIT(store, !store_healthy(store, &why) && strstr(why, says));
        world_append(&world, store, 2);
        store_seal(store);
        store_poll(store);
        CHECK(store_committed(store) == last);
        world_ask(&world, mending);
        last = store_last(store);
        WORLD_WAIT(store, store_healthy(store, &why) && store_committed(store) == last);
        CHECK(store_role(store) == STORE_LEADER);
    }
    store_close(store);
    store = open_good(&world);
    CHECK(world.number == 50 && world_ask(&world, "SELECT count(*) FROM incident") == 2);
    store_close(store);
    world_remove(&world);
}

#define FULL_DISK(table)                                                                           \
    "CREATE OR REPLACE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE"     \
    " EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END$$;"  \
    "CREATE TRIGGER full_disk BEFORE INSERT ON " table " EXECUTE FUNCTION full_disk()"

#define ONLY_READS                                                                                 \
    "DO $$BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on',"        \
    " current_database()); PERFORM pg_terminate_backend(backend) FROM leader; END$$"
#define WRITES_AGAIN                                                                               \
    "BEGIN READ WRITE; DO $$BEGIN EXECUTE format('ALTER DATABASE %I RESET"                         \
    " default_transaction_read_only', current_database()); END$$; COMMIT"

/* A snapshot that cannot be written is dropped; the journal goes on and is not cut. */
static void test_failing_snapshot(void)
{
    struct world world;
    struct store_figures figures;
    world_make(&world);
    struct store *store = open_good(&world);
    world_keep(&world, store, 50);
    world_ask(&world, FULL_DISK("snapshot_part"));
    world_snapshot(&world, store, 5000000);
    WORLD_WAIT(store, (store_figures(store, &figures), figures.failures > 0));
    world_keep(&world, store, 50);
    WORLD_WAIT(store, store_healthy(store, NULL));
    CHECK((store_figures(store, &figures), figures.snapshots == 0));
    store_close(store);
    store = open_good(&world);
    CHECK(world.number == 100 && world.sections == 0);
    store_close(store);
    world_remove(&world);
}

/* It is closed while nothing can be written: what was acknowledged is there, and nothing else. */
static void test_close_while_broken(void)
{
    struct world world;
    world_make(&world);
    struct store *store = open_good(&world);
    world_keep(&world, store, 20);
    world_ask(&world, FULL_DISK("journal"));
    world_append(&world, store, 5);
    store_seal(store);
    WORLD_WAIT(store, !store_healthy(store, NULL));
    store_close(store);
    world_ask(&world, "DROP TRIGGER full_disk ON journal");
    store = open_good(&world);
    CHECK(world.number == 20);
    world_keep(&world, store, 5);
    store_close(store);
    world_remove(&world);
}

/* Somebody else has the table for a while: commits wait, and nothing is acknowledged meanwhile. */
static void test_locked(void)
{
    struct world world;
    char sql[200];
    world_make(&world);
    struct store *store = open_good(&world);
    world_keep(&world, store, 20);
    PGconn *other = PQconnectdb(getenv("GORDIAN_TEST_POSTGRES"));
    snprintf(sql, sizeof sql, "BEGIN; LOCK TABLE \"%s\".journal IN ACCESS EXCLUSIVE MODE",
             world.schema);
    PGresult *locked = PQexec(other, sql);
    CHECK(PQresultStatus(locked) == PGRES_COMMAND_OK);
    PQclear(locked);
    for (unsigned i = 0; i < 10; i++) {
        world_append(&world, store, 3);
        store_seal(store);
    }
    WORLD_WAIT(store, world_ask(&world, "SELECT count(*) FROM pg_stat_activity WHERE"
                                        " wait_event_type = 'Lock' AND application_name LIKE"
                                        " 'gordian:%'") == 1);
    CHECK(store_committed(store) == 20);
    PQfinish(other);
    WORLD_WAIT(store, store_committed(store) == 50);
    store_close(store);
    store = open_good(&world);
    CHECK(world.number == 50);
    store_close(store);
    world_remove(&world);
}

/* All of it is removed under a service that works: nothing more is acknowledged, nothing is made
 * anew, and a start does not take it for the old one. */
static void test_removed(void)
{
    struct world world;
    struct store_found found;
    gordian_error error = {0};
    world_make(&world);
    struct store *store = open_good(&world);
    world_keep(&world, store, 20);
    world_drop_schema(&world);
    world_append(&world, store, 5);
    store_seal(store);
    WORLD_WAIT(store, !store_healthy(store, NULL));
    CHECK(store_committed(store) == 20);
    store_close(store);
    REQUIRE(store_open(&store, &world.options, &found, &error) == GORDIAN_OK);
    CHECK(found.made && found.last == 0);
    store_close(store);
    world_remove(&world);
}

int main(void)
{
    test_lost_row();
    test_changed_row();
    test_changed_anywhere();
    test_damaged_snapshots();
    test_snapshot_anew();
    test_versions();
    test_missing_tables();
    test_broken(FULL_DISK("journal"), "DROP TRIGGER full_disk ON journal", "No space left");
    test_broken(FULL_DISK("incident"), "DROP TRIGGER full_disk ON incident", "No space left");
    test_broken("ALTER TABLE journal RENAME TO away", "ALTER TABLE away RENAME TO journal",
                "journal");
    test_broken(ONLY_READS, WRITES_AGAIN, "read-only");
    test_failing_snapshot();
    test_close_while_broken();
    test_locked();
    test_removed();
    return test_done();
}
