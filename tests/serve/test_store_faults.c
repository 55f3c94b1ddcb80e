/* The store when things go wrong: disks that are full or broken, a process that is killed, files
 * that are damaged, of another version, or in use. Nothing is ever silently wrong. */
#include "failing_vfs.h"
#include "store_world.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* ---- disks */

static void test_failing_disk(enum store_durability durability, int write_code, int sync_code)
{
    struct world world;
    struct store *store;
    struct random random;
    gordian_error error = {0};
    const char *why;
    world_make(&world);
    world.options.vfs = "failing";
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
        store_seal(store);
        WORLD_WAIT(store, !store_healthy(store, &why));
        CHECK_MSG(strstr(why, write_code == SQLITE_FULL       ? "full"
                              : write_code == SQLITE_READONLY ? "read-only"
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
    store_close(store);
    world_remove(&world);
}

/* A snapshot that cannot be written is dropped; the journal goes on and is not cut. */
static void test_failing_snapshot(void)
{
    struct world world;
    struct store *store;
    struct store_figures figures;
    gordian_error error = {0};
    world_make(&world);
    world.options.vfs = "failing";
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    world_append(&world, store, 50);
    store_seal(store);
    WORLD_WAIT(store, store_committed(store) == 50);
    failing_write = SQLITE_FULL;
    world_snapshot(&world, store, 5000000);
    WORLD_WAIT(store, (store_figures(store, &figures), figures.failures > 0));
    failing_write = 0;
    world_append(&world, store, 50);
    store_seal(store);
    WORLD_WAIT(store, store_committed(store) == 100);
    store_close(store);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    CHECK(world.number == 100 && world.sections == 0);
    store_close(store);
    world_remove(&world);
}

/* Closed while the disk is broken: what had been acknowledged is there, in order. */
static void test_close_while_broken(void)
{
    struct world world;
    struct store *store;
    gordian_error error = {0};
    world_make(&world);
    world.options.vfs = "failing";
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    world_append(&world, store, 50);
    store_seal(store);
    WORLD_WAIT(store, store_committed(store) == 50);
    failing_write = SQLITE_IOERR_WRITE;
    world_append(&world, store, 50);
    store_close(store);
    failing_write = 0;
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    CHECK(world.number == 50);
    store_close(store);
    world_remove(&world);
}

/* Somebody else writes to the database: not for long, and it is said. */
static void test_locked(void)
{
    struct world world;
    struct store *store;
    sqlite3 *db;
    const char *why;
    char path[600];
    gordian_error error = {0};
    world_make(&world);
    world_path(&world, STORE_FILE, path, sizeof path);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    REQUIRE(sqlite3_open(path, &db) == SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    REQUIRE(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
    world_append(&world, store, 5);
    store_seal(store);
    WORLD_WAIT(store, !store_healthy(store, &why));
    CHECK_MSG(strstr(why, "locked") && store_committed(store) == 0, "%s", why);
    REQUIRE(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK);
    WORLD_WAIT(store, store_healthy(store, &why) && store_committed(store) == 5);
    sqlite3_close(db);
    store_close(store);
    world_remove(&world);
}

/* The file is gone: what is written to it now would be lost. */
static void test_removed(void)
{
    struct world world;
    struct store *store;
    const char *why;
    char path[600];
    gordian_error error = {0};
    world_make(&world);
    world_path(&world, STORE_FILE, path, sizeof path);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
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
    CHECK(store_open(&second, &world.options, NULL, &error) == GORDIAN_UNAVAILABLE && !second);
    char pid[40];
    snprintf(pid, sizeof pid, "process %ld ", (long)getpid());
    CHECK_MSG(strstr(error.message, pid) && strstr(error.message, world.folder), "%s",
              error.message);
    store_close(store);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    store_close(store);
    /* Nothing can be made there, whoever asks. */
    world.options.folder = "/proc/gordian";
    CHECK(store_open(&store, &world.options, NULL, &error) == GORDIAN_IO && !store);
    CHECK_MSG(strstr(error.message, "/proc/gordian"), "%s", error.message);
    char file[600];
    world_path(&world, STORE_FILE, file, sizeof file);
    world.options.folder = file; /* not a folder */
    CHECK(store_open(&store, &world.options, NULL, &error) == GORDIAN_IO && !store);
    world.options.folder = world.folder;
    world_remove(&world);
    /* One in which nothing may be written: as for anybody who is not root. */
    world_make(&world);
    if (geteuid() != 0 && chmod(world.folder, 0500) == 0) {
        CHECK(store_open(&store, &world.options, NULL, &error) == GORDIAN_IO && !store);
        chmod(world.folder, 0700);
    }
    world_remove(&world);
}

/* ---- kill -9 */

/* What the victim says, where its end does not matter. */
struct said {
    _Atomic uint64_t committed;
    _Atomic bool ready;
};

/* What happens to it once it runs: see failing_vfs.h. */
struct trouble {
    int full_in, full_for, sync_in;
};

static void live(struct world *world, struct said *said, uint64_t seed,
                 const struct trouble *trouble)
{
    struct store *store;
    struct random random;
    gordian_error error = {0};
    random_seed(&random, seed);
    if (world_open(world, &store, NULL, &error) != GORDIAN_OK || test_failed) {
        fprintf(stderr, "a child cannot start: %s\n", error.message);
        _exit(3);
    }
    said->committed = store_committed(store);
    said->ready = true;
    if (trouble) {
        failing_full_for = trouble->full_for;
        failing_full_in = trouble->full_in;
        failing_sync_in = trouble->sync_in;
    }
    for (;;) {
        world_append(world, store, (unsigned)random_below(&random, 40));
        if (random_chance(&random, 20) &&
            store_incident(store, &(struct incident){.id = world->number + 1, .system = "s"}))
            _exit(4);
        if (store_snapshot_due(store))
            world_snapshot(world, store, (size_t)random_below(&random, 2000000));
        store_seal(store);
        store_poll(store);
        said->committed = store_committed(store);
        if (random_chance(&random, 10))
            usleep(1000);
        if (store_last(store) - store_committed(store) > 5000)
            usleep(20000);
    }
}

static void test_killed(enum store_durability durability)
{
    struct world world;
    struct store *store;
    struct store_found found;
    struct random random;
    gordian_error error = {0};
    struct said *said =
        mmap(NULL, sizeof *said, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(said != MAP_FAILED);
    world_make(&world);
    world.options.durability = durability;
    world.options.snapshot_bytes = 50000;
    random_seed(&random, 77 + durability);
    unsigned rounds = world_scale(8);
    for (unsigned round = 0; round < rounds; round++) {
        int status;
        said->ready = false;
        said->committed = 0;
        pid_t child = fork();
        if (child == 0)
            live(&world, said, random_next(&random), NULL);
        REQUIRE(child > 0);
        random_next(&random);
        for (unsigned i = 0; i < 3000 && !said->ready; i++)
            usleep(10000);
        CHECK(said->ready);
        usleep((unsigned)random_below(&random, 60000));
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        CHECK(WIFSIGNALED(status));
        REQUIRE(world_open(&world, &store, &found, &error) == GORDIAN_OK);
        CHECK_MSG(durability == STORE_NONE || world.number >= said->committed,
                  "record %llu, not %llu", (unsigned long long)world.number,
                  (unsigned long long)said->committed);
        store_close(store);
    }
    world_remove(&world);
    munmap(said, sizeof *said);
}

/* Killed at any write, or after one that failed, again and again: the next one starts from what the
 * last one left, with whatever was unfinished under what it writes. */
static void test_killed_writing(enum store_durability durability)
{
    struct world world;
    struct store *store;
    struct random random;
    gordian_error error = {0};
    struct said *said =
        mmap(NULL, sizeof *said, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(said != MAP_FAILED);
    world_make(&world);
    world.options.vfs = "failing";
    world.options.durability = durability;
    world.options.snapshot_bytes = 5000;
    world.options.retry_ms = 1;
    random_seed(&random, 99 + durability);
    for (unsigned round = world_scale(30); round > 0; round--) {
        int status, patience = random_chance(&random, 50) ? 60 : 1500;
        uint64_t seed = random_next(&random), until = random_below(&random, (uint64_t)patience);
        struct trouble trouble = {
            .full_in = (int)random_below(&random, until + 1),
            .full_for = random_chance(&random, 50) ? 1 : (int)random_below(&random, 40),
            .sync_in = random_chance(&random, 50) ? 0 : (int)random_below(&random, 30),
        };
        pid_t child = fork();
        if (child == 0) {
            failing_death_in = (int)until + 1;
            live(&world, said, seed, &trouble);
        }
        REQUIRE(child > 0);
        waitpid(child, &status, 0);
        REQUIRE(WIFSIGNALED(status));
        if (round % 4 != 1)
            continue;
        gordian_status opened = world_open(&world, &store, NULL, &error);
        CHECK_MSG(opened == GORDIAN_OK, "%s", error.message);
        REQUIRE(opened == GORDIAN_OK);
        CHECK(durability == STORE_NONE || world.number >= said->committed);
        store_close(store);
    }
    world_remove(&world);
    munmap(said, sizeof *said);
}

/* ---- damage */

/* A process that opens the store, adds some records one by one, and is killed. */
static void add_and_die(struct world *world, uint64_t count)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        struct store *store;
        gordian_error error = {0};
        if (world_open(world, &store, NULL, &error))
            _exit(3);
        for (uint64_t i = 0; i < count; i++) {
            world_append(world, store, 1);
            store_seal(store);
            uint64_t last = store_last(store);
            WORLD_WAIT(store, store_committed(store) == last);
        }
        kill(getpid(), SIGKILL);
    }
    REQUIRE(child > 0);
    waitpid(child, &status, 0);
    REQUIRE(WIFSIGNALED(status));
}

/* A folder as a kill leaves it: some records in the database, more in the log. */
static void make_killed(struct world *world, uint64_t in_database, uint64_t in_log)
{
    struct store *store;
    gordian_error error = {0};
    REQUIRE(world_open(world, &store, NULL, &error) == GORDIAN_OK);
    for (uint64_t i = 0; i < in_database; i++) {
        world_append(world, store, 1);
        store_seal(store);
    }
    store_close(store); /* empties the log */
    add_and_die(world, in_log);
}

static off_t file_size(const char *path)
{
    struct stat info;
    REQUIRE(stat(path, &info) == 0);
    return info.st_size;
}

static void flip(const char *path, off_t offset)
{
    uint8_t byte;
    int fd = open(path, O_RDWR);
    REQUIRE(fd >= 0 && pread(fd, &byte, 1, offset) == 1);
    byte ^= 0x55;
    REQUIRE(pwrite(fd, &byte, 1, offset) == 1);
    close(fd);
}

static bool is_refused(struct world *world, const char *what)
{
    struct store *store = NULL;
    gordian_error error = {0};
    gordian_status status = store_open(&store, &world->options, NULL, &error);
    bool refused = status == GORDIAN_INPUT && !store && strstr(error.message, what) != NULL;
    CHECK_MSG(refused, "status %d: %s", (int)status, error.message);
    store_close(store);
    return refused;
}

/* Opens with repair and tells how many records are left; everything follows, and goes on. */
static uint64_t repair(struct world *world, const char *said)
{
    struct store *store;
    struct store_found found;
    gordian_error error = {0};
    world->options.repair = true;
    REQUIRE(world_open(world, &store, &found, &error) == GORDIAN_OK);
    world->options.repair = false;
    CHECK(found.cut);
    CHECK_MSG(strstr(found.note, said), "%s", found.note);
    uint64_t last = world->number;
    world_append(world, store, 7);
    store_close(store);
    REQUIRE(world_open(world, &store, &found, &error) == GORDIAN_OK);
    CHECK(!found.cut && found.note[0] == '\0' && world->number == last + 7);
    store_close(store);
    return last;
}

static unsigned damaged_files(const struct world *world)
{
    unsigned count = 0;
    DIR *folder = opendir(world->folder);
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        count += strstr(entry->d_name, ".damaged-") != NULL;
    if (folder)
        closedir(folder);
    return count;
}

#define FRAME (24 + 4096)

/* The log: its end is torn, or something in the middle is damaged. */
static void test_torn_log(void)
{
    struct random random;
    random_seed(&random, 3);
    for (unsigned round = 0; round < world_scale(10); round++) {
        struct world world;
        struct store *store;
        struct store_found found;
        gordian_error error = {0};
        char log[600];
        world_make(&world);
        make_killed(&world, 20, 30);
        world_path(&world, STORE_FILE "-wal", log, sizeof log);
        off_t size = file_size(log), frames = (size - 32) / FRAME;
        REQUIRE(frames >= 30);
        off_t cut = (off_t)random_below(&random, FRAME - 1) + 1;
        if (round % 2) {
            REQUIRE(truncate(log, size - cut) == 0); /* the last frame is not all there */
        } else {
            flip(log, size - cut);
        }
        REQUIRE(world_open(&world, &store, &found, &error) == GORDIAN_OK);
        CHECK(found.cut && strstr(found.note, "unfinished"));
        CHECK_MSG(world.number == 49, "%llu", (unsigned long long)world.number);
        world_append(&world, store, 10);
        store_close(store);
        REQUIRE(world_open(&world, &store, &found, &error) == GORDIAN_OK);
        CHECK(!found.cut && world.number == 59);
        store_close(store);
        world_remove(&world);
    }
}

static void test_damaged_log(void)
{
    struct random random;
    random_seed(&random, 4);
    for (unsigned round = 0; round < world_scale(10); round++) {
        struct world world;
        char log[600];
        world_make(&world);
        make_killed(&world, 20, 30);
        world_path(&world, STORE_FILE "-wal", log, sizeof log);
        off_t frames = (file_size(log) - 32) / FRAME;
        /* Anywhere but in the last two frames: header, salts, checksums, pages. */
        off_t place =
            round == 0 ? 17 : (off_t)random_below(&random, (uint64_t)(frames - 2) * FRAME);
        flip(log, place + (round % 3 ? 32 : 0));
        if (is_refused(&world, "write-ahead log") && is_refused(&world, "--repair")) {
            uint64_t left = repair(&world, "repaired");
            CHECK(left >= 20 && left < 50);
            CHECK(damaged_files(&world) == 2); /* the database, and its log */
        }
        world_remove(&world);
    }
}

/* After a power cut the log may have holes where nothing had been synced: that is what `batch`
 * promises, and it is said. With `full` it must not happen. */
static void test_power_cut(void)
{
    for (unsigned round = 0; round < 3; round++) {
        bool full = round == 1;
        bool killed = round == 2;
        struct world world;
        struct store *store;
        struct store_found found;
        gordian_error error = {0};
        char log[600], lock[600];
        world_make(&world);
        world.options.durability = full ? STORE_FULL : STORE_BATCH;
        make_killed(&world, 20, 30);
        world_path(&world, STORE_FILE "-wal", log, sizeof log);
        world_path(&world, "lock", lock, sizeof lock);
        flip(log, 32 + 15 * FRAME + 100);
        /* As if it had been another boot of the machine. */
        FILE *file = fopen(lock, "w");
        REQUIRE(file != NULL);
        fprintf(file, "1 11111111-2222-3333-4444-555555555555 %s\n", full ? "full" : "batch");
        fclose(file);
        if (full) {
            is_refused(&world, "write-ahead log");
        } else {
            /* What was left out is not taken for damage by the next one, either. */
            if (killed)
                add_and_die(&world, 1);
            REQUIRE(world_open(&world, &store, &found, &error) == GORDIAN_OK);
            CHECK(killed || (found.cut && strstr(found.note, "power")));
            CHECK(world.number >= 20 && world.number < 50);
            store_close(store);
        }
        world_remove(&world);
    }
}

static void change(const struct world *world, const char *sql)
{
    char path[600], *message = NULL;
    sqlite3 *db;
    world_path(world, STORE_FILE, path, sizeof path);
    REQUIRE(sqlite3_open(path, &db) == SQLITE_OK);
    int code = sqlite3_exec(db, sql, NULL, NULL, &message);
    CHECK_MSG(code == SQLITE_OK, "%s", message ? message : "");
    sqlite3_free(message);
    sqlite3_close(db);
}

/* 100 records in the database, with two snapshots; the log is empty. */
static void make_closed(struct world *world, bool snapshots)
{
    struct store *store;
    struct store_figures figures;
    gordian_error error = {0};
    REQUIRE(world_open(world, &store, NULL, &error) == GORDIAN_OK);
    for (unsigned i = 0; i < 100; i++) {
        world_append(world, store, 1);
        if (store_incident(store, &(struct incident){.id = i + 1, .system = "s", .at = i}))
            CHECK(false);
        store_seal(store);
        if (snapshots && (i == 39 || i == 79)) {
            uint64_t wanted = i == 39 ? 1 : 2;
            world_snapshot(world, store, 0);
            WORLD_WAIT(store, (store_figures(store, &figures), figures.snapshots == wanted));
        }
    }
    store_close(store);
}

static void test_damaged_journal(void)
{
    static const struct {
        const char *sql, *said;
        uint64_t left;
        bool snapshots;
    } cases[] = {
        {"UPDATE journal SET body = zeroblob(length(body)) WHERE first = 60", "checksum", 59,
         false},
        {"UPDATE journal SET body = zeroblob(length(body)) WHERE first = 100", "checksum", 99,
         false},
        {"UPDATE journal SET at = at + 1 WHERE first = 1", "checksum", 0, false},
        {"UPDATE journal SET crc = crc + 1 WHERE first = 95", "checksum", 94, true},
        {"DELETE FROM journal WHERE first = 50", "missing", 49, false},
        {"DELETE FROM journal WHERE first BETWEEN 85 AND 90", "missing", 84, true},
        {"DELETE FROM snapshot; DELETE FROM journal WHERE first < 10", "missing", 0, true},
        {"UPDATE snapshot SET crc = crc + 1; DELETE FROM journal", "snapshot", 0, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world world;
        struct incidents_db *db;
        gordian_error error = {0};
        world_make(&world);
        make_closed(&world, cases[i].snapshots);
        change(&world, cases[i].sql);
        CHECK(is_refused(&world, cases[i].said));
        CHECK(is_refused(&world, "--repair"));
        uint64_t left = repair(&world, "repaired");
        CHECK_MSG(left == cases[i].left, "%llu, not %llu: %s", (unsigned long long)left,
                  (unsigned long long)cases[i].left, cases[i].sql);
        CHECK(damaged_files(&world) >= 1);
        REQUIRE(incidents_open(&db, world.folder, NULL, &error) == GORDIAN_OK);
        incidents_close(db);
        world_remove(&world);
    }
}

/* A damaged snapshot is passed over as long as there is one before it: nothing is lost. */
static void test_damaged_snapshot(void)
{
    static const char *const ways[] = {
        "UPDATE snapshot_part SET body = zeroblob(length(body)) WHERE number = 80",
        "DELETE FROM snapshot_part WHERE number = 80",
        "UPDATE snapshot SET bytes = bytes + 1 WHERE number = 80",
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct world world;
        struct store *store;
        struct store_found found;
        gordian_error error = {0};
        world_make(&world);
        make_closed(&world, true);
        change(&world, ways[i]);
        REQUIRE(world_open(&world, &store, &found, &error) == GORDIAN_OK);
        CHECK(found.cut && found.snapshot == 40 && strstr(found.note, "nothing is lost"));
        CHECK(world.number == 100);
        store_close(store);
        world_remove(&world);
    }
}

/* Bytes anywhere in the file: it opens as it was, or is refused and can be repaired; it never
 * crashes and never gives anything that was not there. */
static void test_damaged_anywhere(void)
{
    struct random random;
    unsigned refused = 0;
    random_seed(&random, 9);
    for (unsigned round = 0; round < world_scale(40); round++) {
        struct world world;
        struct store *store;
        gordian_error error = {0};
        char path[600];
        world_make(&world);
        make_closed(&world, round % 2);
        world_path(&world, STORE_FILE, path, sizeof path);
        off_t size = file_size(path), page = (off_t)random_below(&random, (uint64_t)size / 4096);
        for (unsigned i = 0; i < 40; i++) {
            off_t place = round % 5 ? page * 4096 + (off_t)random_below(&random, 4096)
                                    : (off_t)random_below(&random, (uint64_t)size);
            flip(path, place);
        }
        gordian_status status = world_open(&world, &store, NULL, &error);
        if (status) {
            refused++;
            CHECK_MSG(!store && status == GORDIAN_INPUT, "status %d: %s", (int)status,
                      error.message);
            if (strstr(error.message, "--repair")) {
                world.options.repair = true;
                status = world_open(&world, &store, NULL, &error);
                CHECK_MSG(!status, "%s", error.message);
            }
        }
        if (!status) {
            CHECK(world.number <= 100);
            store_close(store);
        }
        world_remove(&world);
    }
    CHECK(world_scale(40) < 20 || refused > 5);
}

static void test_versions(void)
{
    struct world world;
    char path[600];
    world_make(&world);
    make_closed(&world, false);
    change(&world, "PRAGMA user_version = 99");
    CHECK(is_refused(&world, "version 99"));
    struct incidents_db *db;
    gordian_error error = {0};
    CHECK(incidents_open(&db, world.folder, NULL, &error) == GORDIAN_INPUT && !db);
    change(&world, "PRAGMA user_version = 1; PRAGMA application_id = 5");
    CHECK(is_refused(&world, "not one of gordian serve"));
    CHECK(incidents_open(&db, world.folder, NULL, &error) == GORDIAN_INPUT && !db);
    /* Not a database: refused, and moved aside when asked to. */
    world_path(&world, STORE_FILE, path, sizeof path);
    FILE *file = fopen(path, "w");
    REQUIRE(file != NULL);
    for (unsigned i = 0; i < 1000; i++)
        fprintf(file, "this is not a database %u\n", i);
    fclose(file);
    CHECK(is_refused(&world, "not a database"));
    CHECK(repair(&world, "repaired") == 0);
    world_remove(&world);
}

int main(void)
{
    failing_register();
    test_failing_disk(STORE_BATCH, SQLITE_FULL, 0);
    test_failing_disk(STORE_BATCH, SQLITE_READONLY, 0);
    test_failing_disk(STORE_FULL, SQLITE_IOERR_WRITE, 0);
    test_failing_disk(STORE_FULL, 0, SQLITE_IOERR_FSYNC);
    test_failing_disk(STORE_NONE, SQLITE_FULL, 0);
    test_failing_snapshot();
    test_close_while_broken();
    test_locked();
    test_removed();
    test_folders();
    test_killed(STORE_BATCH);
    test_killed(STORE_FULL);
    test_killed(STORE_NONE);
    test_killed_writing(STORE_BATCH);
    test_killed_writing(STORE_FULL);
    test_killed_writing(STORE_NONE);
    test_torn_log();
    test_damaged_log();
    test_power_cut();
    test_damaged_journal();
    test_damaged_snapshot();
    test_damaged_anywhere();
    test_versions();
    return test_done();
}
