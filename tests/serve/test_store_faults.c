/* The store when things go wrong: disks that are full or broken, files that are in use or removed,
 * folders that cannot be had. (A process that is killed: test_killed.c; files that are damaged:
 * test_store_damage.c.) Nothing is ever silently wrong. */
#define _GNU_SOURCE /* RTLD_NEXT, fallocate */
#include "failing_calls.h"
#include "foundation/base/clock.h"
#include "store_world.h"

#include <dlfcn.h>

/* ---- disks */

static void test_failing_disk(enum store_durability durability, int write_code, int sync_code)
{
    struct world world;
    struct store *store;
    struct random random;
    gordian_error error = {0};
    const char *why;
    world_make(&world);
    world.options.durability = durability;
    random_seed(&random, (uint64_t)write_code);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned turn = 0; turn < 20; turn++) {
            world_append(&world, store, (unsigned)random_below(&random, 30));
            store_seal(store);
        }
        uint64_t last = store_last(store);
        WORLD_WAIT(store, store_committed(store) == last);
        CHECK(store_healthy(store, &why));
        failing_write = write_code;
        failing_sync = sync_code;
        /* Nothing more is acknowledged, and it says so. */
        world_append(&world, store, 3);
        CHECK(!store_incident(store, &(struct incident){.id = round + 1, .system = "s"}));
        store_seal(store);
        WORLD_WAIT(store, !store_healthy(store, &why));
        CHECK_MSG(strstr(why, write_code == ENOSPC  ? "full"
                              : write_code == EROFS ? "read-only"
                                                    : "fail"),
                  "%s", why);
        for (unsigned turn = 0; turn < 5; turn++) {
            world_append(&world, store, 2);
            store_seal(store);
            usleep(2000);
            CHECK(durability == STORE_NONE || store_committed(store) == last);
        }
        /* It comes back by itself. */
        failing_write = failing_sync = 0;
        last = store_last(store);
        WORLD_WAIT(store, store_healthy(store, &why) && store_committed(store) == last);
    }
    struct store_figures figures;
    store_figures(store, &figures);
    CHECK(figures.failures > 0);
    store_close(store);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    CHECK(world_ask(&world, "SELECT count(*) FROM incident") == 4);
    store_close(store);
    world_remove(&world);
}

/* Opens the store of a new world on a disk that can fail, with some records. */
static struct store *open_failing(struct world *world, unsigned records)
{
    struct store *store;
    gordian_error error = {0};
    world_make(world);
    REQUIRE(world_open(world, &store, NULL, &error) == GORDIAN_OK);
    world_keep(world, store, records);
    return store;
}

/* Closes it, and sees what comes back; that is closed as well. */
static void close_failing(struct world *world, struct store *store, uint64_t records)
{
    gordian_error error = {0};
    store_close(store);
    REQUIRE(world_open(world, &store, NULL, &error) == GORDIAN_OK);
    CHECK_MSG(world->number == records, "%llu", (unsigned long long)world->number);
    store_close(store);
    world_remove(world);
}

/* A snapshot that cannot be written is dropped; the journal goes on and is not cut. */
static void test_failing_snapshot(void)
{
    struct world world;
    struct store_figures figures;
    struct store *store = open_failing(&world, 50);
    failing_write = ENOSPC;
    const char *why;
    world_snapshot(&world, store, 5000000);
    WORLD_WAIT(store, store_snapshots_fail(store, &why));
    CHECK_MSG(strstr(why, "snapshot.new: No space left"), "%s", why);
    CHECK(store_healthy(store, NULL));
    store_figures(store, &figures);
    CHECK(figures.snapshot_failures == 1 && figures.snapshots == 0);
    failing_write = 0;
    world_keep(&world, store, 50);
    close_failing(&world, store, 100);
    CHECK(world.sections == 0);
}

/* One that fails half-way leaves nothing. */
static void test_half_a_snapshot(void)
{
    struct world world;
    struct store_figures figures;
    struct store *store = open_failing(&world, 50);
    failing_full_for = 1;
    failing_full_in = 4; /* the new file of the journal, its own head, two parts */
    world_snapshot(&world, store, 5000000);
    WORLD_WAIT(store, (store_figures(store, &figures), figures.failures > 0));
    CHECK(failing_full_in == 0 && failing_full_for == 0 && figures.snapshots == 0);
    CHECK(world_size(&world, "snapshot.new") == 0);
    close_failing(&world, store, 50);
    CHECK(world.sections == 0);
}

/* What is left of one is not taken for a part of another. */
static void test_left_part(void)
{
    struct world world;
    struct store_figures figures;
    struct store *store = open_failing(&world, 50);
    char path[700];
    world_path(&world, "snapshot.new", path, sizeof path);
    FILE *file = fopen(path, "w");
    REQUIRE(file != NULL);
    for (unsigned i = 0; i < 10000; i++)
        fprintf(file, "what a process has left that died while it wrote a snapshot");
    fclose(file);
    world_snapshot(&world, store, 0);
    WORLD_WAIT(store, (store_figures(store, &figures), figures.snapshots == 1));
    CHECK(figures.snapshot_at == 50);
    close_failing(&world, store, 50);
    CHECK(world.sections == 1);
}

/* Deleting what is old fails: nobody need know, and it is done later. */
static void test_failing_trim(void)
{
    struct world world;
    struct store *store = open_failing(&world, 5);
    struct store_figures figures;
    for (uint64_t i = 1; i <= 700; i++)
        CHECK(!store_incident(store, &(struct incident){.id = i, .system = "s", .ended = 1000}));
    store_keep_incidents(store, 0);
    world_keep(&world, store, 5);
    failing_full_for = 1;
    failing_full_in = 1;
    store_keep_incidents(store, 1000);
    WORLD_WAIT(store, failing_full_for == 0);
    CHECK(store_healthy(store, NULL));
    world_keep(&world, store, 5);
    store_keep_incidents(store, 1000);
    WORLD_WAIT(store, (store_figures(store, &figures), figures.incidents_dropped == 700));
    close_failing(&world, store, 15);
}

/* No file can grow any more, but one that was not needed has been kept: it goes on there. */
static void test_full_disk(enum store_durability durability)
{
    struct world world;
    struct store *store;
    struct store_figures figures;
    gordian_error error = {0};
    world_make(&world);
    world.options.durability = durability;
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    for (uint64_t i = 1; i <= 3; i++) { /* the second file of the journal is not needed any more */
        world_keep(&world, store, i == 2 ? (test_is_short() ? 15000 : 30000) : 1);
        world_snapshot(&world, store, 0);
        WORLD_WAIT(store, (store_figures(store, &figures), figures.snapshots == i));
    }
    WORLD_WAIT(store, world_size(&world, "journal-spare") > 0);
    off_t spare = world_size(&world, "journal-spare");
    CHECK_MSG(spare > 1000000, "%lld bytes", (long long)spare);
    store_close(store);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    failing_size_max = 1;
    for (unsigned i = 0; i < (test_is_short() ? 100 : 400); i++)
        world_keep(&world, store, 20);
    store_figures(store, &figures);
    CHECK(figures.failures <= 1 && world_size(&world, "journal-spare") == 0);
    CHECK(store_healthy(store, NULL));
    /* Until that is full, too. */
    const char *why;
    uint64_t before = world.number;
    for (unsigned i = 0; i < 100000 && store_healthy(store, &why); i++) {
        world_append(&world, store, 500);
        store_seal(store);
        store_poll(store);
        if (store_last(store) - store_committed(store) > 5000)
            usleep(1000);
    }
    CHECK_MSG(!store_healthy(store, &why) && strstr(why, "full"), "%s", why);
    CHECK(world.number > before);
    failing_size_max = 0;
    uint64_t last = store_last(store);
    WORLD_WAIT(store, store_healthy(store, &why) && store_committed(store) == last);
    close_failing(&world, store, last);
}

/* ---- syncs of the journal */

static ino_t journal_inode(const struct world *world)
{
    char path[700];
    struct stat about;
    world_last_file(world, "journal", path, sizeof path);
    REQUIRE(stat(path, &about) == 0);
    return about.st_ino;
}

/* What a failed sync was to bring to the disk no later one need bring there: it must be written
 * again, to another file, which is synced. */
static void test_failing_sync(enum store_durability durability)
{
    struct world world;
    struct store *store;
    const char *why;
    gordian_error error = {0};
    world_make(&world);
    world.options.durability = durability;
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    world_keep(&world, store, 2);
    ino_t before = journal_inode(&world);
    calls_sync_fails = 1;
    world_append(&world, store, 3);
    store_seal(store);
    WORLD_WAIT(store, !store_healthy(store, &why));
    CHECK_MSG(strstr(why, "failed"), "%s", why);
    WORLD_WAIT(store, store_healthy(store, &why) && store_committed(store) == 5);
    CHECK(journal_inode(&world) != before);
    world_keep(&world, store, 3);
    close_failing(&world, store, 8);
}

/* Also when the next thing is a new file, because of a snapshot: what is in the old one must not
 * be left there as it is. */
static void test_sync_before_snapshot(void)
{
    struct world world;
    struct store *store;
    struct store_figures figures;
    const char *why;
    char path[700];
    struct stat was = {0}, now;
    gordian_error error = {0};
    world_make(&world);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    world_keep(&world, store, 5);
    world_last_file(&world, "journal", path, sizeof path);
    REQUIRE(stat(path, &was) == 0);
    calls_sync_fails = 1; /* by the snapshot, or by the sync of every second: either way */
    world_snapshot(&world, store, 0);
    WORLD_WAIT(store, calls_sync_fails == 0);
    WORLD_WAIT(store,
               (store_figures(store, &figures), figures.failures > 0 || figures.snapshots > 0));
    WORLD_WAIT(store, store_healthy(store, &why));
    world_keep(&world, store, 5);
    WORLD_WAIT(store, (store_figures(store, &figures), figures.lag_records == 0));
    WORLD_WAIT(store, stat(path, &now) == 0 && now.st_ino != was.st_ino);
    close_failing(&world, store, 10);
}

/* If it cannot be read any more, either, nothing is acknowledged until it can. */
static void test_lost_by_sync(void)
{
    struct world world;
    struct store *store;
    const char *why;
    char path[700];
    uint8_t byte = 0, zero = 0;
    struct store_figures figures;
    gordian_error error = {0};
    world_make(&world);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    world_keep(&world, store, 5);
    world_last_file(&world, "journal", path, sizeof path);
    int fd = open(path, O_RDWR);
    REQUIRE(fd >= 0 && pread(fd, &byte, 1, 41) == 1);
    failing_sync = EIO;
    world_append(&world, store, 3);
    store_seal(store);
    WORLD_WAIT(store, !store_healthy(store, &why));
    zero = byte ^ 1;
    REQUIRE(syscall(SYS_pwrite64, fd, &zero, 1, (off_t)41) == 1);
    failing_sync = 0;
    WORLD_WAIT(store, strstr((store_healthy(store, &why), why), "no longer in memory"));
    store_figures(store, &figures);
    CHECK(figures.failures > 1);
    REQUIRE(syscall(SYS_pwrite64, fd, &byte, 1, (off_t)41) == 1);
    close(fd);
    WORLD_WAIT(store, store_healthy(store, &why));
    close_failing(&world, store, 8);
}

/* Whose turn it was, on which boot, is on the disk before anything is acknowledged. */
static void test_lock_is_synced(void)
{
    struct world world;
    struct store *store;
    struct stat about;
    char path[700];
    gordian_error error = {0};
    world_make(&world);
    world_path(&world, "lock", path, sizeof path);
    for (int round = 0; round < 2; round++) {
        calls_seen = 0;
        REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
        REQUIRE(stat(path, &about) == 0);
        CHECK(round == 0 || calls_seen > 0);
        calls_watched = about.st_ino;
        store_close(store);
    }
    world_remove(&world);
}

/* ---- others */

/* Closed while the disk is broken: what had been acknowledged is there, in order. */
static void test_close_while_broken(void)
{
    struct world world;
    struct store *store = open_failing(&world, 50);
    failing_write = EIO;
    world_append(&world, store, 50);
    store_close(store);
    failing_write = 0;
    gordian_error error = {0};
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    close_failing(&world, store, 50);
}

/* Somebody else writes to the database: not for long, and it is said. Records alone do not need it.
 */
static void test_locked(void)
{
    struct world world;
    struct store *store;
    sqlite3 *db;
    const char *why;
    gordian_error error = {0};
    world_make(&world);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    db = world_sqlite(&world, SQLITE_OPEN_READWRITE);
    REQUIRE(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
    world_keep(&world, store, 5);
    world_append(&world, store, 5);
    CHECK(!store_incident(store, &(struct incident){.id = 1, .system = "s"}));
    store_seal(store);
    WORLD_WAIT(store, !store_healthy(store, &why));
    CHECK_MSG(strstr(why, "locked") && store_committed(store) == 5, "%s", why);
    world_append(&world, store, 5);
    store_seal(store);
    REQUIRE(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK);
    WORLD_WAIT(store, store_healthy(store, &why) && store_committed(store) == 15);
    sqlite3_close(db);
    CHECK(world_ask(&world, "SELECT count(*) FROM incident") == 1);
    close_failing(&world, store, 15);
}

static _Atomic unsigned checkpoints;

int sqlite3_wal_checkpoint_v2(sqlite3 *db, const char *name, int mode, int *frames, int *moved)
{
    int (*real)(sqlite3 *, const char *, int, int *, int *) =
        (int (*)(sqlite3 *, const char *, int, int *, int *))(uintptr_t)dlsym(
            RTLD_NEXT, "sqlite3_wal_checkpoint_v2");
    checkpoints++;
    return real(db, name, mode, frames, moved);
}

static uint64_t keep_incident(struct store *store, uint64_t id, const char *replay)
{
    uint64_t last = store_append(store, 1, "x", 1);
    CHECK(!store_incident(store, &(struct incident){.id = id, .system = "s", .replay = replay}));
    store_seal(store);
    return last;
}

/* Somebody reads for a long time: SQLite's log cannot be emptied and grows, but the service goes
 * on, and does not try to with every commit; when the reader has gone it is short again. */
static void test_long_reader(enum store_durability durability)
{
    static char replay[200000];
    struct world world;
    struct store *store;
    struct store_figures figures;
    gordian_error error = {0};
    world_make(&world);
    world.options.durability = durability;
    memset(replay, 'x', sizeof replay - 1);
    REQUIRE(store_open(&store, &world.options, NULL, &error) == GORDIAN_OK);
    sqlite3 *db = world_sqlite(&world, SQLITE_OPEN_READONLY);
    keep_incident(store, 1, "x");
    WORLD_WAIT(store, store_committed(store) == 1);
    REQUIRE(!sqlite3_exec(db, "BEGIN; SELECT count(*) FROM incident", NULL, NULL, NULL));
    uint64_t start = clock_ns();
    checkpoints = 0;
    for (unsigned i = 2; i < 402; i++) { /* 80 MB */
        uint64_t last = keep_incident(store, i, replay);
        WORLD_WAIT(store, store_committed(store) == last);
    }
    uint64_t seconds = (clock_ns() - start) / 1000000000;
    CHECK(store_healthy(store, NULL));
    CHECK_MSG(checkpoints <= 2 * (seconds + 2), "%u in %llu s", checkpoints,
              (unsigned long long)seconds);
    CHECK(world_size(&world, HISTORY_FILE "-wal") > 80000000);
    REQUIRE(!sqlite3_exec(db, "COMMIT", NULL, NULL, NULL));
    WORLD_WAIT(store, (keep_incident(store, 1, "x"), store_figures(store, &figures),
                       figures.wal_bytes < 1 << 20));
    /* What is kept of the file is not more than is useful. */
    WORLD_WAIT(store,
               (keep_incident(store, 1, "x"), world_size(&world, HISTORY_FILE "-wal") <= 64 << 20));
    sqlite3_close(db);
    store_close(store);
    world_remove(&world);
}

/* A file is gone: what is written to it now would be lost. */
static void test_removed(bool database)
{
    struct world world;
    struct store *store;
    const char *why;
    char path[700];
    gordian_error error = {0};
    world_make(&world);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    if (database)
        world_path(&world, HISTORY_FILE, path, sizeof path);
    else
        world_last_file(&world, "journal", path, sizeof path);
    REQUIRE(unlink(path) == 0);
    world_append(&world, store, 5);
    store_seal(store);
    WORLD_WAIT(store, !store_healthy(store, &why));
    CHECK_MSG(strstr(why, "removed"), "%s", why);
    store_close(store);
    world_remove(&world);
}

static void test_folders(void)
{
    struct world world;
    struct store *store, *second;
    gordian_error error = {0};
    world_make(&world);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    CHECK(store_open(&second, &world.options, NULL, &error) == GORDIAN_STATUS_UNAVAILABLE &&
          !second);
    char pid[40];
    snprintf(pid, sizeof pid, "process %ld, uses", (long)getpid());
    CHECK_MSG(strstr(error.message, pid) && strstr(error.message, world.folder), "%s",
              error.message);
    store_close(store);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    store_close(store);
    /* Nothing can be made there, whoever asks. */
    world.options.folder = "/proc/gordian";
    CHECK(store_open(&store, &world.options, NULL, &error) == GORDIAN_STATUS_IO && !store);
    CHECK_MSG(strstr(error.message, "/proc/gordian"), "%s", error.message);
    char file[600];
    world_path(&world, HISTORY_FILE, file, sizeof file);
    world.options.folder = file; /* not a folder */
    CHECK(store_open(&store, &world.options, NULL, &error) == GORDIAN_STATUS_IO && !store);
    world.options.folder = world.folder;
    world_remove(&world);
    /* One in which nothing may be written: as for anybody who is not root. */
    world_make(&world);
    if (geteuid() != 0 && chmod(world.folder, 0500) == 0) {
        CHECK(store_open(&store, &world.options, NULL, &error) == GORDIAN_STATUS_IO && !store);
        chmod(world.folder, 0700);
    }
    world_remove(&world);
}

int main(void)
{
    test_failing_disk(STORE_BATCH, ENOSPC, 0);
    test_failing_disk(STORE_BATCH, EROFS, 0);
    test_failing_disk(STORE_FULL, EIO, 0);
    test_failing_disk(STORE_FULL, 0, EIO);
    test_failing_disk(STORE_NONE, ENOSPC, 0);
    test_failing_snapshot();
    test_half_a_snapshot();
    test_left_part();
    test_failing_trim();
    test_full_disk(STORE_BATCH);
    test_full_disk(STORE_FULL);
    test_failing_sync(STORE_BATCH);
    test_failing_sync(STORE_FULL);
    test_sync_before_snapshot();
    test_lost_by_sync();
    test_lock_is_synced();
    test_close_while_broken();
    test_locked();
    test_long_reader(STORE_BATCH);
    if (!test_is_short())
        test_long_reader(STORE_FULL);
    test_removed(true);
    test_removed(false);
    test_folders();
    return test_done();
}
