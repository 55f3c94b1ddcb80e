/* The store when its files are damaged, of another version, or not its own: refused and told, or
 * repaired when asked to; never silently wrong. */
#include "failing_calls.h"
#include "store_world.h"

#include <fcntl.h>
#include <sys/mman.h>

static uint64_t add_count;

/* Adds some records one by one. */
static void add_some(struct world *world)
{
    struct store *store;
    gordian_error error = {0};
    REQUIRE(world_open(world, &store, NULL, &error) == GORDIAN_OK);
    for (uint64_t i = 0; i < add_count; i++)
        world_keep(world, store, 1);
}

static void add_and_die(struct world *world, uint64_t count)
{
    add_count = count;
    world_die(world, add_some);
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
        /* One that would end before the snapshot, if it could be believed. */
        {"UPDATE journal SET count = -25 WHERE first = 100", "checksum", 99, true},
        {"UPDATE journal SET crc = crc + 1 WHERE first = 80; DELETE FROM journal WHERE first > 80",
         "checksum", 80, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world world;
        struct incidents_db *db;
        gordian_error error = {0};
        world_make(&world);
        make_closed(&world, cases[i].snapshots);
        world_change(&world, cases[i].sql);
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
        world_change(&world, ways[i]);
        REQUIRE(world_open(&world, &store, &found, &error) == GORDIAN_OK);
        CHECK(found.cut && found.snapshot == 40 && strstr(found.note, "nothing is lost"));
        CHECK(world.number == 100);
        store_close(store);
        world_remove(&world);
    }
}

/* A snapshot that was passed over is not one to go back to: the good one before it stays until
 * there are two others. */
static void test_damaged_twice(void)
{
    struct world world;
    struct store *store;
    struct store_found found;
    struct store_figures figures;
    gordian_error error = {0};
    world_make(&world);
    make_closed(&world, true);
    world_change(&world, "DELETE FROM snapshot_part WHERE number = 80");
    REQUIRE(world_open(&world, &store, &found, &error) == GORDIAN_OK);
    CHECK(found.snapshot == 40);
    world_keep(&world, store, 10);
    world_snapshot(&world, store, 0);
    WORLD_WAIT(store, (store_figures(store, &figures), figures.snapshots == 1));
    world_keep(&world, store, 10);
    store_close(store);
    world_change(&world, "DELETE FROM snapshot_part WHERE number = 110");
    gordian_status status = world_open(&world, &store, &found, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
    if (!status)
        CHECK(found.snapshot == 40 && world.number == 120);
    store_close(store);
    world_remove(&world);
}

/* Killed at any moment of a repair: the damaged database is as it was, or the new one is there. */
static int death_in;
static _Atomic bool *ended; /* the repair, before the process did */

static void repair_and_die(struct world *world)
{
    struct store *store;
    gordian_error error = {0};
    world->options.repair = true;
    calls_death_in = death_in;
    if (store_open(&store, &world->options, NULL, &error))
        CHECK_MSG(false, "%s", error.message);
    *ended = true;
}

static bool is_there(const struct world *world, const char *name)
{
    char path[600];
    world_path(world, name, path, sizeof path);
    return access(path, F_OK) == 0;
}

static void test_killed_repair(void)
{
    unsigned repaired = 0, refused = 0;
    ended = mmap(NULL, sizeof *ended, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(ended != MAP_FAILED);
    for (death_in = 1; !*ended; death_in++) {
        struct world world;
        struct store *store;
        gordian_error error = {0};
        world_make(&world);
        make_closed(&world, false);
        world_change(&world, "UPDATE journal SET crc = crc + 1 WHERE first = 60");
        world_die(&world, repair_and_die);
        bool ready = is_there(&world, STORE_FILE ".repaired");
        gordian_status status = world_open(&world, &store, NULL, &error);
        CHECK_MSG(!ready || !status, "%s", error.message);
        CHECK(!is_there(&world, STORE_FILE ".repaired"));
        if (status == GORDIAN_OK) {
            repaired++;
            CHECK_MSG(world.number == 59, "%llu records", (unsigned long long)world.number);
            store_close(store);
        } else {
            refused++;
            CHECK_MSG(strstr(error.message, "--repair"), "%s", error.message);
            CHECK(repair(&world, "repaired") == 59);
        }
        CHECK(damaged_files(&world) >= 1);
        CHECK(world_ask(&world, "SELECT count(*) FROM incident") == 100);
        world_remove(&world);
    }
    CHECK_MSG(repaired > 1 && refused > 1, "%u, %u", repaired, refused);
    munmap(ended, sizeof *ended);
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
    CHECK(world_scale(40) < 10 || refused > world_scale(40) / 8);
}

static void test_versions(void)
{
    struct world world;
    char path[600];
    world_make(&world);
    make_closed(&world, false);
    world_change(&world, "PRAGMA user_version = 99");
    CHECK(is_refused(&world, "version 99"));
    struct incidents_db *db;
    gordian_error error = {0};
    CHECK(incidents_open(&db, world.folder, NULL, &error) == GORDIAN_INPUT && !db);
    world_change(&world, "PRAGMA user_version = 1; PRAGMA application_id = 5");
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
    test_torn_log();
    test_damaged_log();
    test_power_cut();
    test_damaged_journal();
    test_damaged_snapshot();
    test_damaged_twice();
    test_killed_repair();
    test_damaged_anywhere();
    test_versions();
    return test_done();
}
