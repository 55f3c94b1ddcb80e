/* The store when nothing goes wrong: batches, levels, snapshots, figures; and memory
 * that cannot be had. */
#include "../alloc/failing.h"
#include "store_world.h"

/* When nobody else is at the disk, a batch is committed then and there; but not with the other
 * levels. */
static void check_inline(struct world *world, struct store *store, enum store_durability durability)
{
    struct store_figures figures = {0};
    for (unsigned i = 0; i < 2000 && figures.inline_commits == 0; i++) {
        world_append(world, store, 1);
        store_seal(store);
        uint64_t last = store_last(store);
        if (durability != STORE_BATCH || world_on_postgres(world))
            break;
        WORLD_WAIT(store, store_committed(store) == last);
        store_figures(store, &figures);
    }
    store_figures(store, &figures);
    CHECK((figures.inline_commits > 0) == (durability == STORE_BATCH && !world_on_postgres(world)));
}

/* Batches of any size, come back to again and again. */
static void test_rounds(enum store_durability durability)
{
    struct world world;
    struct store *store;
    struct store_found found;
    struct random random;
    gordian_error error = {0};
    world_make(&world);
    world.options.durability = durability;
    random_seed(&random, durability);
    uint64_t expected = 0;
    for (unsigned round = 0; round < 4; round++) {
        REQUIRE(world_open(&world, &store, &found, &error) == GORDIAN_OK);
        CHECK(found.last == expected && found.note[0] == '\0' && !found.cut);
        CHECK(world.number == expected);
        unsigned turns = world_scale(300);
        for (unsigned turn = 0; turn < turns; turn++) {
            world_append(&world, store, (unsigned)random_below(&random, turn % 50 ? 8 : 600));
            store_seal(store);
            CHECK(store_committed(store) <= store_last(store));
        }
        expected = world.number;
        CHECK(store_last(store) == expected);
        WORLD_WAIT(store, store_committed(store) == expected);
        CHECK(store_healthy(store, NULL));
        struct store_figures figures;
        store_figures(store, &figures);
        CHECK(figures.failures == 0);
        check_inline(&world, store, durability);
        if (round % 2) /* sealed or not: closing writes it all */
            world_append(&world, store, 5);
        expected = world.number;
        store_close(store);
    }
    world_remove(&world);
}

/* Are all files of the journal needed to get at what is behind a snapshot? */
static bool world_needed(const struct world *world, uint64_t snapshot)
{
    uint64_t number, least, most;
    unsigned before = 0;
    if (world_on_postgres(world)) {
        char sql[100];
        snprintf(sql, sizeof sql, "SELECT count(*) FROM journal WHERE last <= %llu",
                 (unsigned long long)snapshot);
        return world_ask(world, sql) == 0;
    }
    world_files(world, "journal", &least, &most);
    DIR *folder = opendir(world->folder);
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        before += file_number(entry->d_name, "journal", &number) && number <= snapshot + 1;
    if (folder)
        closedir(folder);
    return before == 1 && least <= snapshot + 1;
}

/* Snapshots come and go while records do; the journal does not grow for ever. */
static void test_snapshots(void)
{
    struct world world;
    struct store *store;
    struct store_found found;
    struct random random;
    gordian_error error = {0};
    uint64_t taken = 0, least, most, older;
    world_make(&world);
    world.options.snapshot_bytes = 20000;
    random_seed(&random, 5);
    for (unsigned round = 0; round < 6; round++) {
        uint64_t expected = world.number;
        REQUIRE(world_open(&world, &store, &found, &error) == GORDIAN_OK);
        CHECK(world.number == expected);
        CHECK(round == 0 || world.sections >= 1);
        for (unsigned turn = 0; turn < world_scale(400) || turn < 40; turn++) {
            world_append(&world, store, (unsigned)random_below(&random, 20));
            if (turn % 3)
                store_seal(store);
            if (store_snapshot_due(store)) { /* between seals, too */
                world_snapshot(&world, store, turn % 2 ? 0 : 3000000);
                taken++;
            }
            store_seal(store);
            store_poll(store);
        }
        world_append(&world, store, 1);
        world_snapshot(&world, store, 0);
        store_seal(store);
        uint64_t last = world.number;
        struct store_figures figures;
        WORLD_WAIT(store, (store_figures(store, &figures), figures.snapshots > 0));
        /* A snapshot ends in between: the newest one may be an older one. */
        CHECK(figures.snapshot_at <= last);
        store_close(store);
        /* One may be deleted later. A database deletes step by step, while the service runs. */
        CHECK(world_on_postgres(&world) || world_files(&world, "snapshot", &least, &most) <= 3);
    }
    CHECK(taken > 0);
    REQUIRE(world_open(&world, &store, &found, &error) == GORDIAN_OK);
    CHECK(found.snapshot > 0 && found.last == world.number);
    /* Something new, or there is nothing to take a snapshot of; then what it makes superfluous. */
    struct store_figures figures;
    world_append(&world, store, 1);
    store_seal(store);
    world_snapshot(&world, store, 0);
    WORLD_WAIT(store, (store_figures(store, &figures), figures.snapshots > 0));
    WORLD_WAIT(store, world_files(&world, "snapshot", &least, &most) == 2);
    older = least;
    WORLD_WAIT(store, world_needed(&world, older));
    store_close(store);
    CHECK(world_size(&world, "snapshot.new") == 0);
    world_remove(&world);
}

/* SQLite's log is emptied into the database again and again while incidents come, also when
 * somebody reads now and then. */
static void test_log_is_bounded(enum store_durability durability)
{
    struct world world;
    struct store *store;
    gordian_error error = {0};
    static char replay[100000];
    world_make(&world);
    world.options.durability = durability;
    memset(replay, 'x', sizeof replay - 1);
    REQUIRE(store_open(&store, &world.options, NULL, &error) == GORDIAN_OK);
    uint64_t last = 0;
    for (unsigned i = 1; i <= 600; i++) {
        last = store_append(store, i, "x", 1);
        CHECK(!store_incident(store, &(struct incident){.id = i, .system = "s", .replay = replay}));
        store_seal(store);
        while (store_last(store) - store_committed(store) > 50) {
            struct pollfd bell = {.fd = store_fd(store), .events = POLLIN};
            poll(&bell, 1, 100);
            store_poll(store);
        }
        if (i % 100 == 0)
            CHECK(world_ask(&world, "SELECT count(*) FROM incident") >= 0);
    }
    WORLD_WAIT(store, store_committed(store) == last);
    /* 60 MB were written; of these a few times what makes a checkpoint due may be in the log. */
    off_t log = world_size(&world, HISTORY_FILE "-wal");
    CHECK_MSG(log < 50 << 20, "%lld bytes", (long long)log);
    struct store_figures figures;
    WORLD_WAIT(store, (store_incident(store, &(struct incident){.id = 1, .system = "s"}),
                       store_append(store, 1, "x", 1), store_seal(store),
                       store_figures(store, &figures), figures.wal_bytes < 16 << 20));
    store_close(store);
    CHECK(world_size(&world, HISTORY_FILE "-wal") == 0);
    world_remove(&world);
}

/* As sqlite3's .backup does. */
static void back_up_history(const struct world *from, const struct world *to)
{
    sqlite3 *source = world_sqlite(from, SQLITE_OPEN_READONLY);
    sqlite3 *target = world_sqlite(to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    sqlite3_backup *backup = sqlite3_backup_init(target, "main", source, "main");
    REQUIRE(backup != NULL);
    CHECK(sqlite3_backup_step(backup, -1) == SQLITE_DONE);
    sqlite3_backup_finish(backup);
    sqlite3_close(source);
    sqlite3_close(target);
}

/* A copy of the files of a running service, history first, then snapshots, then the journal, is a
 * backup. */
static void test_backup(void)
{
    struct world world, copy;
    struct store *store;
    struct store_figures figures;
    gordian_error error = {0};
    char command[2200];
    world_make(&world);
    world_make(&copy);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    for (uint64_t i = 1; i <= 3; i++) {
        world_keep(&world, store, 20);
        CHECK(!store_incident(store, &(struct incident){.id = i, .system = "s"}));
        world_snapshot(&world, store, 0);
        WORLD_WAIT(store, (store_figures(store, &figures), figures.snapshots == i));
    }
    world_keep(&world, store, 20);
    back_up_history(&world, &copy);
    snprintf(command, sizeof command, "cp '%s'/snapshot-* '%s' && cp '%s'/journal-* '%s'",
             world.folder, copy.folder, world.folder, copy.folder);
    REQUIRE(system(command) == 0);
    uint64_t kept = world.number;
    store_close(store);
    REQUIRE(world_open(&copy, &store, NULL, &error) == GORDIAN_OK);
    CHECK(copy.number == kept && copy.sections == 1);
    CHECK(world_ask(&copy, "SELECT count(*) FROM incident") == 3);
    store_close(store);
    world_remove(&copy);
    world_remove(&world);
}

/* A snapshot may be begun, dropped and begun again; nothing of it shows. */
static void test_dropped_snapshot(void)
{
    struct world world;
    struct store *store;
    gordian_error error = {0};
    world_make(&world);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    world_append(&world, store, 10);
    CHECK(!store_snapshot_begin(store, &error));
    CHECK(!store_snapshot_section(store, "nonsense", "x", 1, &error));
    store_snapshot_drop(store);
    CHECK(!store_snapshot_begin(store, &error));
    CHECK(!store_snapshot_section(store, "nonsense", "x", 1, &error));
    store_close(store);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    CHECK(world.sections == 0 && world.number == 10);
    store_close(store);
    world_remove(&world);
}

/* ---- memory */

/* Everything the store does with the n-th allocation failing: no crash, no leak, and what was
 * appended is there afterwards. */
static void test_no_memory(void)
{
    for (size_t fail_at = 1; fail_at < 400; fail_at += fail_at < 30 ? 1 : 23) {
        struct failing failing = {.fail_at = fail_at};
        gordian_allocator allocator = {failing_resize, &failing};
        struct world world;
        struct store *store;
        gordian_error error = {0};
        uint8_t bytes[100] = {0};
        world_make(&world);
        world.options.allocator = &allocator;
        world.options.durability = fail_at % 2 ? STORE_BATCH : STORE_FULL;
        gordian_status status = store_open(&store, &world.options, NULL, &error);
        CHECK(status == GORDIAN_OK || (status == GORDIAN_STATUS_MEMORY && store == NULL));
        uint64_t last = 0;
        for (unsigned turn = 0; status == GORDIAN_OK && turn < 40; turn++) {
            uint64_t number = store_append(store, 1, bytes, 90);
            CHECK(number == 0 || number == last + 1);
            last = number ? number : last;
            store_incident(store, &(struct incident){.id = turn + 1, .system = "s"});
            if (turn == 20 && !store_snapshot_begin(store, &error) &&
                !store_snapshot_section(store, "padding", bytes, 90, &error))
                store_snapshot_end(store);
            store_seal(store);
            store_poll(store);
        }
        if (status == GORDIAN_OK)
            store_close(store);
        CHECK_MSG(failing.live_blocks == 0, "%zu blocks", failing.live_blocks);
        if (status == GORDIAN_OK) {
            world.options.allocator = NULL;
            REQUIRE(store_open(&store, &world.options, NULL, &error) == GORDIAN_OK);
            CHECK(store_last(store) == last);
            store_close(store);
        }
        world_remove(&world);
    }
}

/* There is no memory left at the end: what was appended is written nevertheless. */
static void test_close_without_memory(void)
{
    static const enum store_durability levels[] = {STORE_NONE, STORE_BATCH, STORE_FULL};
    for (size_t i = 0; i < 3; i++) {
        struct failing failing = {.for_good = true};
        gordian_allocator allocator = {failing_resize, &failing};
        struct world world;
        struct store *store;
        gordian_error error = {0};
        world_make(&world);
        world.options.allocator = &allocator;
        world.options.durability = levels[i];
        REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
        world_append(&world, store, 20);
        world_snapshot(&world, store, 0); /* waits for the records */
        failing.fail_at = 1;
        store_close(store);
        CHECK(failing.live_blocks == 0);
        world.options.allocator = NULL;
        REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
        CHECK(world.number == 20 && world.sections == 1);
        store_close(store);
        world_remove(&world);
    }
}

/* What follows is about files. */
static bool is_about_files(void)
{
    return !getenv("GORDIAN_TEST_POSTGRES");
}

/* What its library gets once, and keeps, is no leak. */
static void meet_postgres(void)
{
    struct world world;
    world_make(&world);
    world_remove(&world);
    leaks_keep();
}

int main(void)
{
    if (!is_about_files())
        meet_postgres();
    test_rounds(STORE_NONE);
    test_rounds(STORE_BATCH);
    test_rounds(STORE_FULL);
    test_snapshots();
    if (is_about_files()) {
        test_log_is_bounded(STORE_BATCH);
        test_backup();
        test_no_memory();
    }
    test_dropped_snapshot();
    test_close_without_memory();
    return test_done();
}
