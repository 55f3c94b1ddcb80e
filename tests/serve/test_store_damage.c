/* The store when its files are damaged, of another version, or not its own: refused and told, or
 * repaired when asked to; never silently wrong. */
#define _GNU_SOURCE /* fallocate */
#include "failing_calls.h"
#include "service/serve/store/journal.h"
#include "service/wire/wire.h"
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

/* A folder as a kill leaves it: some records of a service that ended as it should, more of one that
 * was killed. */
static void make_killed(struct world *world, uint64_t closed, uint64_t killed)
{
    struct store *store;
    gordian_error error = {0};
    REQUIRE(world_open(world, &store, NULL, &error) == GORDIAN_OK);
    for (uint64_t i = 0; i < closed; i++) {
        world_append(world, store, 1);
        store_seal(store);
    }
    store_close(store);
    add_and_die(world, killed);
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
    bool refused = status == GORDIAN_STATUS_INPUT && !store && strstr(error.message, what) != NULL;
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

/* ---- frames of the journal */

#define FRAMES 200

struct place {
    off_t at;
    size_t size;
    uint64_t first, number;
};

/* Where the frames of a file of the journal are. */
static unsigned find_frames(const struct world *world, uint64_t first, struct place *places)
{
    char name[JOURNAL_NAME];
    struct journal_file file;
    struct batch batch;
    gordian_error error = {0};
    gordian_allocator memory = memory_allocator(NULL);
    unsigned count = 0;
    int folder = open(world->folder, O_RDONLY | O_DIRECTORY);
    file_name(name, sizeof name, "journal", first);
    REQUIRE(folder >= 0 && !journal_read(&file, folder, name, first, &memory, &error));
    for (size_t at = file.at; count < FRAMES && journal_next(&file, &batch) == JOURNAL_MORE;
         at = file.at)
        places[count++] = (struct place){(off_t)at, file.at - at, batch.first, batch.frame};
    bytes_free(&file.bytes);
    close(folder);
    return count;
}

/* The frame of a record, and the path of its file. */
static struct place find_record(const struct world *world, uint64_t record, char *path, size_t size)
{
    struct place places[FRAMES];
    char name[JOURNAL_NAME];
    uint64_t number, file = 0;
    DIR *folder = opendir(world->folder);
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        if (file_number(entry->d_name, "journal", &number) && number <= record && number > file)
            file = number;
    closedir(folder);
    file_name(name, sizeof name, "journal", file);
    world_path(world, name, path, size);
    unsigned count = find_frames(world, file, places);
    for (unsigned i = 0; i < count; i++)
        if (places[i].first == record)
            return places[i];
    REQUIRE(!"the record is there");
    return places[0];
}

/* The end of the journal is torn, or something in the middle is damaged. */
static void test_torn_journal(void)
{
    struct random random;
    random_seed(&random, 3);
    for (unsigned round = 0; round < world_scale(20); round++) {
        struct world world;
        struct store *store;
        struct store_found found;
        gordian_error error = {0};
        char path[700];
        world_make(&world);
        make_killed(&world, 20, 30);
        struct place last = find_record(&world, 50, path, sizeof path);
        off_t end = last.at + (off_t)last.size;
        off_t cut = (off_t)random_below(&random, last.size - 1) + 1;
        if (round % 2) {
            REQUIRE(truncate(path, end - cut) == 0); /* the last frame is not all there */
        } else {
            flip(path, end - cut);
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

static void test_damaged_middle(void)
{
    struct random random;
    random_seed(&random, 4);
    for (unsigned round = 0; round < world_scale(20); round++) {
        struct world world;
        struct place places[FRAMES];
        char path[700];
        uint64_t good = 0;
        world_make(&world);
        make_killed(&world, 20, 30);
        unsigned count = find_frames(&world, 1, places);
        REQUIRE(count == 50);
        world_last_file(&world, "journal", path, sizeof path);
        /* Anywhere but in the last frame: heads, checksums, records, zeros behind them. */
        off_t place = round == 0 ? 17 : (off_t)random_below(&random, (uint64_t)places[49].at);
        while (good < 49 && places[good].at + (off_t)places[good].size <= place)
            good++;
        flip(path, place);
        if (is_refused(&world, "checksum") && is_refused(&world, "--repair")) {
            uint64_t left = repair(&world, "repaired");
            CHECK_MSG(left == good, "%llu, not %llu", (unsigned long long)left,
                      (unsigned long long)good);
            CHECK(damaged_files(&world) == 1);
        }
        world_remove(&world);
    }
}

/* Several frames of one write, of which any may be missing if the power was cut then: they were
 * never acknowledged. Of two writes the second says that the first was. */
static void test_one_write(void)
{
    for (unsigned round = 0; round < 4; round++) {
        struct world world;
        struct journal journal = {.fd = -1, .next = 1};
        struct batch batches[4] = {{.first = 1}, {.first = 1}, {.first = 1}, {.first = 1}};
        struct journal_file file;
        struct batch batch;
        char path[700];
        gordian_error error = {0};
        gordian_allocator memory = memory_allocator(NULL);
        enum journal_end end;
        world_make(&world);
        journal.folder = open(world.folder, O_RDONLY | O_DIRECTORY);
        REQUIRE(journal.folder >= 0 && !journal_roll(&journal, &error));
        for (unsigned i = 0; i < 4; i++) {
            bytes_init(&batches[i].incidents, &memory);
            bytes_put(&batches[i].incidents, "some bytes", 10);
            batches[i].next = i < 3 ? &batches[i + 1] : NULL;
        }
        CHECK(!journal_append(&journal, &batches[0], 1, true, true, &error));
        CHECK(!journal_append(&journal, &batches[1], round < 2 ? 3 : 2, true, true, &error));
        if (round >= 2)
            CHECK(!journal_append(&journal, &batches[3], 1, true, true, &error));
        journal_close(&journal);
        world_last_file(&world, "journal", path, sizeof path);
        size_t size = JOURNAL_FRAME + 16;
        flip(path, (off_t)(JOURNAL_HEAD + size + (round % 2 ? JOURNAL_FRAME : 9)));
        REQUIRE(!journal_read(&file, journal.folder, strrchr(path, '/') + 1, 1, &memory, &error));
        unsigned good = 0;
        while ((end = journal_next(&file, &batch)) == JOURNAL_MORE)
            good++;
        CHECK(good == 1 && end == (round < 2 ? JOURNAL_TORN : JOURNAL_BROKEN));
        bytes_free(&file.bytes);
        for (unsigned i = 0; i < 4; i++)
            bytes_free(&batches[i].incidents);
        close(journal.folder);
        world_remove(&world);
    }
}

/* As if it had been another boot of the machine. */
static void other_boot(const struct world *world)
{
    char lock[600];
    world_path(world, "lock", lock, sizeof lock);
    FILE *file = fopen(lock, "w");
    REQUIRE(file != NULL);
    fprintf(file, "1 11111111-2222-3333-4444-555555555555 %s\n",
            store_durability_text(world->options.durability));
    fclose(file);
}

/* After a power cut the journal may have holes where nothing had been synced: that is what `batch`
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
        char path[700];
        world_make(&world);
        world.options.durability = full ? STORE_FULL : STORE_BATCH;
        make_killed(&world, 20, 30);
        flip(path, find_record(&world, 36, path, sizeof path).at + JOURNAL_FRAME);
        other_boot(&world);
        if (full) {
            is_refused(&world, "in the middle");
        } else {
            /* What was left out is not taken for damage by the next one, either. */
            if (killed)
                add_and_die(&world, 1);
            REQUIRE(world_open(&world, &store, &found, &error) == GORDIAN_OK);
            CHECK(killed || (found.cut && strstr(found.note, "power")));
            CHECK(world.number == (killed ? 36 : 35));
            store_close(store);
        }
        world_remove(&world);
    }
}

/* ---- the history and the journal */

/* Incidents: one begins with every record, and ends with the next but one. */
static void add_incidents(struct world *world)
{
    struct store *store;
    gordian_error error = {0};
    REQUIRE(world_open(world, &store, NULL, &error) == GORDIAN_OK);
    for (uint64_t i = 1; i <= 40; i++) {
        CHECK(!store_incident(store, &(struct incident){.id = i, .system = "s", .at = i}));
        if (i > 2)
            CHECK(!store_incident(
                store, &(struct incident){.id = i - 2, .system = "s", .ended = i, .how = "x"}));
        world_keep(world, store, 1);
    }
}

/* Whatever SQLite loses of its log comes back from the journal. */
static void test_damaged_log(void)
{
    struct random random;
    random_seed(&random, 5);
    for (unsigned round = 0; round < world_scale(10); round++) {
        struct world world;
        struct store *store;
        gordian_error error = {0};
        char log[700];
        world_make(&world);
        world.options.keep_incidents_ms = 0;
        world_die(&world, add_incidents);
        world_path(&world, HISTORY_FILE "-wal", log, sizeof log);
        off_t size = file_size(log);
        REQUIRE(size > 10000);
        if (round == 0)
            REQUIRE(unlink(log) == 0);
        else if (round % 2)
            REQUIRE(truncate(log, (off_t)random_below(&random, (uint64_t)size)) == 0);
        else
            flip(log, (off_t)random_below(&random, (uint64_t)size));
        gordian_status status = world_open(&world, &store, NULL, &error);
        CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
        REQUIRE(status == GORDIAN_OK);
        CHECK(world.number == 40);
        CHECK(world_ask(&world, "SELECT count(*) FROM incident") == 40);
        CHECK(world_ask(&world, "SELECT count(*) FROM incident WHERE ended = id + 2") == 38);
        store_close(store);
        world_remove(&world);
    }
}

/* After a power cut the history may know more than the journal: that has never been. */
static void test_history_ahead(void)
{
    struct world world;
    struct store *store;
    gordian_error error = {0};
    char path[700];
    world_make(&world);
    world.options.keep_incidents_ms = 0;
    world_die(&world, add_incidents);
    REQUIRE(find_record(&world, 31, path, sizeof path).at > 0);
    REQUIRE(truncate(path, find_record(&world, 31, path, sizeof path).at) == 0);
    other_boot(&world);
    for (unsigned round = 0; round < 2; round++) {
        REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
        CHECK(world.number == 30);
        CHECK(world_ask(&world, "SELECT count(*) FROM incident") == 30);
        CHECK(world_ask(&world, "SELECT count(*) FROM incident WHERE ended IS NULL") == 2);
        store_close(store);
    }
    world_remove(&world);
}

/* 100 records, with two snapshots, of a service that ended as it should. */
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
            uint64_t wanted = i == 39 ? 1 : 2, last = store_last(store);
            /* The journal goes on in another file behind what is kept by then. */
            WORLD_WAIT(store, store_committed(store) == last);
            world_snapshot(world, store, 0);
            WORLD_WAIT(store, (store_figures(store, &figures), figures.snapshots == wanted));
        }
    }
    store_close(store);
}

/* ---- ways to damage files */

/* A byte of the head of a record's frame. */
static void damage_head(const struct world *world, uint64_t record, off_t at)
{
    char path[700];
    flip(path, find_record(world, record, path, sizeof path).at + at);
}

static void damage_body(const struct world *world, uint64_t record)
{
    damage_head(world, record, JOURNAL_FRAME);
}

/* Takes the frames of some records out of their file, as if they had never been. */
static void remove_records(const struct world *world, uint64_t from, uint64_t to)
{
    static char bytes[1 << 20];
    char path[700];
    struct place first = find_record(world, from, path, sizeof path);
    struct place last = find_record(world, to, path, sizeof path);
    off_t end = last.at + (off_t)last.size, size = file_size(path);
    int fd = open(path, O_RDWR);
    REQUIRE(fd >= 0 && size - end < (off_t)sizeof bytes);
    ssize_t rest = pread(fd, bytes, sizeof bytes, end);
    REQUIRE(rest == size - end && pwrite(fd, bytes, (size_t)rest, first.at) == rest);
    REQUIRE(ftruncate(fd, first.at + rest) == 0);
    close(fd);
}

/* All files of this kind, but for those before `from`. */
static void each_file(const struct world *world, const char *kind, uint64_t from,
                      void (*act)(const char *path))
{
    char path[900];
    uint64_t number;
    DIR *folder = opendir(world->folder);
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        if (file_number(entry->d_name, kind, &number) && number >= from) {
            world_path(world, entry->d_name, path, sizeof path);
            act(path);
        }
    closedir(folder);
}

static void delete_file(const char *path)
{
    REQUIRE(unlink(path) == 0);
}

static void damage_end(const char *path)
{
    flip(path, file_size(path) - 1);
}

static void cut_to_head(const char *path)
{
    REQUIRE(truncate(path, 40) == 0);
}

static void lengthen(const char *path)
{
    REQUIRE(truncate(path, file_size(path) + 1) == 0);
}

/* ---- the journal */

static void body_60(const struct world *world)
{
    damage_body(world, 60);
}

static void body_100(const struct world *world)
{
    damage_body(world, 100);
}

static void time_1(const struct world *world)
{
    damage_head(world, 1, 32);
}

static void checksum_95(const struct world *world)
{
    damage_head(world, 95, 4);
}

static void count_100(const struct world *world)
{
    damage_head(world, 100, 43);
}

static void without_50(const struct world *world)
{
    remove_records(world, 50, 50);
}

static void without_85_to_90(const struct world *world)
{
    remove_records(world, 85, 90);
}

static void without_snapshots(const struct world *world)
{
    each_file(world, "snapshot", 0, delete_file);
}

static void without_journal(const struct world *world)
{
    each_file(world, "snapshot", 0, damage_end);
    each_file(world, "journal", 0, delete_file);
}

static void without_middle_file(const struct world *world)
{
    each_file(world, "snapshot", 80, damage_end);
    each_file(world, "journal", 81, delete_file);
    damage_body(world, 60);
}

static void checksum_80_the_last(const struct world *world)
{
    damage_head(world, 80, 4);
    each_file(world, "journal", 81, delete_file);
}

static void test_damaged_journal(void)
{
    static const struct {
        void (*damage)(const struct world *world);
        const char *said;
        uint64_t left;
        bool snapshots;
    } cases[] = {
        {body_60, "checksum", 59, false},
        {body_100, "checksum", 99, false},
        {time_1, "checksum", 0, false},
        {checksum_95, "checksum", 94, true},
        {without_50, "missing", 49, false},
        {without_85_to_90, "missing", 84, true},
        {without_snapshots, "missing", 0, true},
        {without_journal, "missing", 0, true},
        {count_100, "checksum", 99, true},
        {without_middle_file, "missing", 59, true},
        {checksum_80_the_last, "missing", 80, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world world;
        struct incidents_db *db;
        gordian_error error = {0};
        world_make(&world);
        make_closed(&world, cases[i].snapshots);
        cases[i].damage(&world);
        CHECK(is_refused(&world, cases[i].said));
        CHECK(is_refused(&world, "--repair"));
        uint64_t left = repair(&world, "repaired");
        CHECK_MSG(left == cases[i].left, "%llu, not %llu: case %zu", (unsigned long long)left,
                  (unsigned long long)cases[i].left, i);
        CHECK(damaged_files(&world) >= 1);
        CHECK(world_ask(&world, "SELECT count(*) FROM incident") == 100);
        REQUIRE(incidents_open(&db, world.folder, NULL, &error) == GORDIAN_OK);
        incidents_close(db);
        world_remove(&world);
    }
}

/* A damaged snapshot is passed over as long as there is one before it: nothing is lost. */
static void test_damaged_snapshot(void)
{
    static void (*const ways[])(const char *path) = {damage_end, cut_to_head, lengthen};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct world world;
        struct store *store;
        struct store_found found;
        gordian_error error = {0};
        world_make(&world);
        make_closed(&world, true);
        each_file(&world, "snapshot", 80, ways[i]);
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
    each_file(&world, "snapshot", 80, cut_to_head);
    REQUIRE(world_open(&world, &store, &found, &error) == GORDIAN_OK);
    CHECK(found.snapshot == 40);
    world_keep(&world, store, 10);
    world_snapshot(&world, store, 0);
    WORLD_WAIT(store, (store_figures(store, &figures), figures.snapshots == 1));
    world_keep(&world, store, 10);
    store_close(store);
    each_file(&world, "snapshot", 110, cut_to_head);
    gordian_status status = world_open(&world, &store, &found, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
    if (status == GORDIAN_OK)
        CHECK(found.snapshot == 40 && world.number == 120);
    store_close(store);
    world_remove(&world);
}

/* Killed at any moment of a repair: what is damaged is as it was, or the new one is there. */
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
    char path[700];
    world_path(world, name, path, sizeof path);
    return access(path, F_OK) == 0;
}

static void without_a_table(const struct world *world)
{
    world_change(world, "DROP TABLE applied");
}

/* What is beside the incidents is taken over, too: it may have left the journal long ago. */
static void test_repaired_history(void)
{
    struct world world;
    world_make(&world);
    world.options.keep_incidents_ms = 0; /* all are very old */
    make_closed(&world, false);
    world_change(&world, "INSERT INTO incident_label VALUES(3, '[\"team:x\"]');"
                         "INSERT INTO action VALUES(9, 's', 1, 'exit', 'ann', 'p', 'late', 1);"
                         "INSERT INTO notice VALUES(3, 0, 1), (2, 1, 1)");
    without_a_table(&world);
    CHECK(repair(&world, "repaired") == 100);
    CHECK(world_ask(&world, "SELECT count(*) FROM incident_label WHERE id = 3 AND"
                            " labels = '[\"team:x\"]'") == 1);
    CHECK(world_ask(&world, "SELECT count(*) FROM action WHERE id = 9 AND why = 'late'") == 1);
    CHECK(world_ask(&world, "SELECT count(*) FROM notice") == 2);
    CHECK(world_ask(&world, "SELECT id FROM notice ORDER BY rowid LIMIT 1") == 3);
    world_remove(&world);
}

static void test_killed_repair(void (*damage)(const struct world *world), uint64_t left)
{
    unsigned repaired = 0, refused = 0;
    ended = mmap(NULL, sizeof *ended, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(ended != MAP_FAILED);
    calls_death_in = 0;
    for (death_in = 1; !*ended; death_in++) {
        struct world world;
        struct store *store;
        gordian_error error = {0};
        world_make(&world);
        make_closed(&world, false);
        damage(&world);
        world_die(&world, repair_and_die);
        bool ready = is_there(&world, HISTORY_FILE ".repaired");
        gordian_status status = world_open(&world, &store, NULL, &error);
        CHECK_MSG(!ready || status == GORDIAN_OK, "%s", error.message);
        CHECK(!is_there(&world, HISTORY_FILE ".repaired"));
        if (status == GORDIAN_OK) {
            repaired++;
            CHECK_MSG(world.number == left, "%llu records", (unsigned long long)world.number);
            store_close(store);
        } else {
            refused++;
            CHECK_MSG(strstr(error.message, "--repair"), "%s", error.message);
            CHECK(repair(&world, "repaired") == left);
        }
        CHECK(damaged_files(&world) >= 1);
        CHECK(world_ask(&world, "SELECT count(*) FROM incident") == 100);
        world_remove(&world);
    }
    CHECK_MSG(repaired > 1 && refused > 1, "%u, %u", repaired, refused);
    munmap(ended, sizeof *ended);
}

/* Bytes anywhere in a file: it opens as it was, or is refused and can be repaired; it never
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
        char path[700];
        world_make(&world);
        make_closed(&world, round % 2);
        if (round % 4 == 0)
            world_path(&world, HISTORY_FILE, path, sizeof path);
        else
            world_last_file(&world, round % 4 == 3 ? "snapshot" : "journal", path, sizeof path);
        uint64_t size = (uint64_t)file_size(path), part = size < 4096 ? size : 4096;
        uint64_t page = random_below(&random, size / part);
        for (unsigned i = 0; i < 40; i++)
            flip(path, (off_t)(round % 5 ? page * part + random_below(&random, part)
                                         : random_below(&random, size)));
        gordian_status status = world_open(&world, &store, NULL, &error);
        if (status != GORDIAN_OK) {
            refused++;
            CHECK_MSG(!store && status == GORDIAN_STATUS_INPUT, "status %d: %s", (int)status,
                      error.message);
            if (strstr(error.message, "--repair")) {
                world.options.repair = true;
                status = world_open(&world, &store, NULL, &error);
                CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
            }
        }
        if (status == GORDIAN_OK) {
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
    char path[700];
    world_make(&world);
    make_closed(&world, false);
    world_change(&world, "PRAGMA user_version = 99");
    CHECK(is_refused(&world, "version 99"));
    struct incidents_db *db;
    gordian_error error = {0};
    CHECK(incidents_open(&db, world.folder, NULL, &error) == GORDIAN_STATUS_INPUT && !db);
    /* The layout of the versions before, which kept everything in this file. */
    world_change(&world, "PRAGMA user_version = 1");
    CHECK(is_refused(&world, "version 1,") && is_refused(&world, HISTORY_FILE));
    world_change(&world, "PRAGMA user_version = 2; PRAGMA application_id = 5");
    CHECK(is_refused(&world, "not one of gordian serve"));
    CHECK(incidents_open(&db, world.folder, NULL, &error) == GORDIAN_STATUS_INPUT && !db);
    /* Not a database: refused, and moved aside when asked to. */
    world_path(&world, HISTORY_FILE, path, sizeof path);
    FILE *file = fopen(path, "w");
    REQUIRE(file != NULL);
    for (unsigned i = 0; i < 1000; i++)
        fprintf(file, "this is not a database %u\n", i);
    fclose(file);
    CHECK(is_refused(&world, "not a database"));
    CHECK(repair(&world, "repaired") == 100);
    CHECK(world_ask(&world, "SELECT count(*) FROM incident") == 100); /* from the journal */
    /* A file of the journal, of a version to come. */
    uint8_t head[JOURNAL_HEAD];
    world_last_file(&world, "journal", path, sizeof path);
    int fd = open(path, O_RDWR);
    REQUIRE(fd >= 0 && pread(fd, head, sizeof head, 0) == sizeof head);
    wire_store32(head + 4, 99);
    wire_store32(head + 28, crc32c(0, head, 28));
    REQUIRE(pwrite(fd, head, sizeof head, 0) == sizeof head);
    close(fd);
    CHECK(is_refused(&world, "version 99"));
    world_remove(&world);
}

int main(void)
{
    test_torn_journal();
    test_damaged_middle();
    test_one_write();
    test_power_cut();
    test_damaged_log();
    test_history_ahead();
    test_damaged_journal();
    test_damaged_snapshot();
    test_damaged_twice();
    test_killed_repair(body_60, 59);
    test_killed_repair(without_a_table, 100);
    test_repaired_history();
    test_damaged_anywhere();
    test_versions();
    return test_done();
}
