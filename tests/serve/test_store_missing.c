/* The store when files are missing, when somebody else writes to its folder, and when records do
 * not follow from one another: never a new database in the place of an old one, never two writers.
 */
#include "foundation/base/machine.h"
#include "server_world.h"
#include "service/serve/store/manifest.h"
#include "service/wire/wire.h"
#include "store_world.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>

static gordian_status open_store(struct world *world, struct store **store,
                                 struct store_found *found)
{
    gordian_error error = {0};
    return world_open(world, store, found, &error);
}

/* A few records, an orderly end. */
static void fill_store(struct world *world, struct store_found *found)
{
    struct store *store;
    REQUIRE(open_store(world, &store, found) == GORDIAN_OK);
    world_keep(world, store, 10);
    store_close(store);
}

static void remove_file(const struct world *world, const char *name)
{
    char path[sizeof world->folder + 300];
    world_path(world, name, path, sizeof path);
    CHECK(unlink(path) == 0);
}

static void make_file(const struct world *world, const char *name)
{
    char path[sizeof world->folder + 300];
    world_path(world, name, path, sizeof path);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    REQUIRE(fd >= 0);
    close(fd);
}

static void refused_with(struct world *world, gordian_status status, const char *word)
{
    struct store *store = NULL;
    gordian_error error = {0};
    gordian_status got = store_open(&store, &world->options, NULL, &error);
    CHECK_MSG(got == status && strstr(error.message, word), "%d: %s", got, error.message);
    CHECK(!store);
    store_close(store);
}

/* ------------------------------------------------------------------ a new database */

static void only_where_nothing_is(void)
{
    struct world world;
    struct store_found found;
    world_make(&world);
    make_file(&world, ".hidden");
    make_file(&world, "notes.txt");
    refused_with(&world, GORDIAN_STATUS_INPUT, "--new");
    CHECK(world_size(&world, HISTORY_FILE) == 0);
    world.options.fresh = true;
    fill_store(&world, &found);
    CHECK(found.made);
    refused_with(&world, GORDIAN_STATUS_INPUT, "already");
    world.options.fresh = false;
    fill_store(&world, &found);
    CHECK(!found.made && world.number == 20);
    remove_file(&world, ".hidden");
    world_remove(&world);
}

/* ------------------------------------------------------------------ what is missing */

static void history_is_missed(void)
{
    struct world world;
    struct store *store;
    struct store_found found;
    world_make(&world);
    fill_store(&world, &found);
    CHECK(found.made);
    remove_file(&world, HISTORY_FILE);
    refused_with(&world, GORDIAN_STATUS_INPUT, HISTORY_FILE " is missing");
    CHECK(world_size(&world, HISTORY_FILE) == 0);
    world.options.repair = true;
    REQUIRE(open_store(&world, &store, &found) == GORDIAN_OK);
    CHECK(!found.made && found.cut && strstr(found.note, "missing") && world.number == 10);
    store_close(store);
    world_remove(&world);
}

static void journal_is_missed(void)
{
    struct world world;
    struct store *store;
    struct store_found found;
    char path[sizeof world.folder + 300];
    world_make(&world);
    fill_store(&world, NULL);
    world_last_file(&world, "journal", path, sizeof path);
    CHECK(unlink(path) == 0); /* without the marker, nothing would tell that there was one */
    refused_with(&world, GORDIAN_STATUS_INPUT, "journal-00000000000000000001 is missing");
    world.options.repair = true;
    REQUIRE(open_store(&world, &store, &found) == GORDIAN_OK);
    CHECK(!found.made && found.cut && world.number == 0);
    world.options.repair = false;
    world_keep(&world, store, 5);
    store_close(store);
    REQUIRE(open_store(&world, &store, &found) == GORDIAN_OK);
    CHECK(world.number == 5 && !found.note[0]);
    store_close(store);
    world_remove(&world);
}

/* The last of several files: without the marker a shorter journal, and as good. */
static void last_file_is_missed(void)
{
    struct world world;
    struct store *store;
    struct store_figures figures;
    char path[sizeof world.folder + 300];
    world_make(&world);
    REQUIRE(open_store(&world, &store, NULL) == GORDIAN_OK);
    world_keep(&world, store, 10);
    world_snapshot(&world, store, 0);
    WORLD_WAIT(store, (store_figures(store, &figures), figures.snapshots == 1));
    world_keep(&world, store, 10);
    store_close(store);
    world_last_file(&world, "journal", path, sizeof path);
    CHECK(strstr(path, "journal-00000000000000000011"));
    CHECK(unlink(path) == 0);
    refused_with(&world, GORDIAN_STATUS_INPUT, "journal-00000000000000000011 is missing");
    world.options.repair = true;
    REQUIRE(open_store(&world, &store, NULL) == GORDIAN_OK);
    CHECK(world.number == 10);
    store_close(store);
    world_remove(&world);
}

/* Folders of before, and backups, have no marker. */
static void marker_is_made(void)
{
    struct world world;
    struct store_found found;
    char path[sizeof world.folder + 300];
    world_make(&world);
    fill_store(&world, NULL);
    remove_file(&world, MARKER_FILE);
    fill_store(&world, &found);
    CHECK(!found.made && world.number == 20 && world_size(&world, MARKER_FILE) == 32);
    world_path(&world, MARKER_FILE, path, sizeof path);
    CHECK(truncate(path, 20) == 0);
    refused_with(&world, GORDIAN_STATUS_INPUT, MARKER_FILE);
    world.options.repair = true;
    fill_store(&world, &found);
    CHECK(world.number == 30 && strstr(found.note, MARKER_FILE));
    world_remove(&world);
}

/* Removed while it is in use. */
static void loss_is_noticed(enum store_durability durability)
{
    struct world world;
    struct store *store;
    const char *why;
    world_make(&world);
    world.options.durability = durability;
    REQUIRE(open_store(&world, &store, NULL) == GORDIAN_OK);
    world_keep(&world, store, 1);
    remove_file(&world, MARKER_FILE);
    world_append(&world, store, 1);
    store_seal(store);
    WORLD_WAIT(store, !store_healthy(store, &why));
    CHECK(strstr(why, "removed"));
    store_close(store);
    world_remove(&world);
}

/* ------------------------------------------------------------------ whose folder it is */

static void others_could_write(void)
{
    struct world world;
    char path[sizeof world.folder + 300], other[sizeof world.folder + 300];
    world_make(&world);
    CHECK(chmod(world.folder, 0720) == 0);
    refused_with(&world, GORDIAN_STATUS_INPUT, "other users can write");
    CHECK(chmod(world.folder, 0702) == 0);
    refused_with(&world, GORDIAN_STATUS_INPUT, "other users can write");
    CHECK(chmod(world.folder, 0755) == 0);
    world_path(&world, "lock", path, sizeof path);
    world_path(&world, ".other", other, sizeof other);
    CHECK(symlink(other, path) == 0);
    refused_with(&world, GORDIAN_STATUS_IO, "lock");
    CHECK(access(other, F_OK) != 0); /* nothing is made through it */
    CHECK(unlink(path) == 0);
    fill_store(&world, NULL);
    world_remove(&world);
}

/* ------------------------------------------------------------------ two writers */

static void lock_file_is_removed(void)
{
    struct world world;
    struct store *store;
    world_make(&world);
    REQUIRE(open_store(&world, &store, NULL) == GORDIAN_OK);
    world_keep(&world, store, 3);
    remove_file(&world, "lock");
    refused_with(&world, GORDIAN_STATUS_UNAVAILABLE, "uses this folder");
    world_keep(&world, store, 3);
    store_close(store);
    fill_store(&world, NULL);
    CHECK(world.number == 16);
    world_remove(&world);
}

/* Somebody who minds no lock has raised the epoch. */
static void raise_epoch(const struct world *world)
{
    uint8_t bytes[8];
    char path[sizeof world->folder + 300];
    world_path(world, MARKER_FILE, path, sizeof path);
    int fd = open(path, O_RDWR);
    REQUIRE(fd >= 0 && pread(fd, bytes, 8, 8) == 8);
    wire_store64(bytes, wire_load64(bytes) + 1);
    REQUIRE(pwrite(fd, bytes, 8, 8) == 8);
    close(fd);
}

static void displaced_writer_stops(enum store_durability durability)
{
    struct world world;
    struct store *store;
    const char *why;
    world_make(&world);
    world.options.durability = durability;
    REQUIRE(open_store(&world, &store, NULL) == GORDIAN_OK);
    world_keep(&world, store, 3);
    raise_epoch(&world);
    world_append(&world, store, 1);
    store_seal(store);
    WORLD_WAIT(store, !store_healthy(store, &why));
    CHECK(strstr(why, "taken over the folder") && store_committed(store) == 3);
    struct store_figures figures; /* not after any number of tries, either */
    WORLD_WAIT(store, (store_figures(store, &figures), figures.failures >= 3));
    CHECK(store_committed(store) == 3);
    store_close(store);
    world_remove(&world);
}

/* ------------------------------------------------------------------ records without sense */

/* Whole, by their checksums, but nothing that the service could have done. */
static void add_nonsense(struct world *world)
{
    struct store *store;
    gordian_error error = {0};
    struct store_loader nobody = {world_section, NULL};
    world->options.folder = world->folder;
    REQUIRE(store_open(&store, &world->options, NULL, &error) == GORDIAN_OK);
    REQUIRE(store_load(store, &nobody, world, &error) == GORDIAN_OK);
    for (int i = 0; i < 3; i++) {
        CHECK(store_append(store, 1, "\xff nonsense", 10) > 0);
        store_seal(store);
    }
    uint64_t last = store_last(store);
    WORLD_WAIT(store, store_committed(store) == last);
    store_close(store);
}

static const char *data_folder;
static bool data_repair;

static void use_data(struct server_options *options)
{
    options->data = data_folder;
    options->repair = data_repair;
}

static void repair_finds_sense(void)
{
    struct world world;
    struct hall hall;
    struct server *server;
    struct server_options options;
    gordian_error error = {0};
    world_make(&world);
    data_folder = world.folder;
    add_nonsense(&world);
    server_options_init(&options);
    options.http = "none";
    use_data(&options);
    CHECK(server_open(&server, &options, &error) == GORDIAN_STATUS_INPUT && !server);
    CHECK_MSG(strstr(error.message, "record 1 ") && strstr(error.message, "--repair"), "%s",
              error.message);
    data_repair = true;
    hall_open(&hall, use_data);
    CHECK(strstr(hall.log, "record 1 is inconsistent") && strstr(hall.log, "record 0"));
    int ann = hall_connect(&hall);
    hall_say(&hall, ann, "resource q\nrequest p q\n", "granted");
    close(ann);
    hall_close(&hall);
    data_repair = false;
    hall_open(&hall, use_data); /* and is whole again */
    hall_close(&hall);
    world_remove(&world);
}

/* The clock of the wall goes so much faster than it should from now on. */
static _Atomic int64_t clock_jump;

int clock_gettime(clockid_t which, struct timespec *time)
{
    int result = (int)syscall(SYS_clock_gettime, which, time);
    if (result == 0 && which == CLOCK_REALTIME)
        time->tv_sec += clock_jump;
    return result;
}

/* A clock that jumps makes no incident old. */
static void jumps_erase_nothing(void)
{
    struct world world;
    struct store *store;
    gordian_error error = {0};
    struct store_figures figures;
    world_make(&world);
    world.options.keep_incidents_ms = 3600 * 1000;
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    uint64_t now = (uint64_t)time(NULL) * 1000;
    const struct incident young = {.id = 1, .system = "s", .at = now, .ended = now};
    const struct incident old = {.id = 2, .system = "s", .at = 1, .ended = 2};
    CHECK(store_incident(store, &young) == GORDIAN_OK);
    world_keep(&world, store, 1);
    clock_jump = 10 * 365 * 86400;
    CHECK(store_incident(store, &old) == GORDIAN_OK);
    world_keep(&world, store, 1);
    store_keep_incidents(store, world.options.keep_incidents_ms); /* now */
    WORLD_WAIT(store, (store_figures(store, &figures), figures.incidents_dropped > 0));
    store_close(store);
    clock_jump = 0;
    CHECK(world_ask(&world, "SELECT count(*) FROM incident WHERE id = 1") == 1);
    CHECK(world_ask(&world, "SELECT count(*) FROM incident WHERE id = 2") == 0);
    world_remove(&world);
}

/* Nor does one that is wrong when the service starts, however long it runs then. */
static void wrong_clock_erases_nothing(void)
{
    struct world world;
    struct store *store;
    gordian_error error = {0};
    struct store_figures figures;
    world_make(&world);
    world.options.keep_incidents_ms = 3600 * 1000;
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    uint64_t now = (uint64_t)time(NULL) * 1000;
    const struct incident young = {.id = 1, .system = "s", .at = now, .ended = now};
    const struct incident old = {.id = 2, .system = "s", .at = 1, .ended = 2};
    CHECK(store_incident(store, &young) == GORDIAN_OK);
    world_keep(&world, store, 1);
    store_close(store);
    clock_jump = 10 * 365 * 86400;
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    CHECK(store_incident(store, &old) == GORDIAN_OK);
    world_keep(&world, store, 1);
    store_keep_incidents(store, world.options.keep_incidents_ms); /* now */
    WORLD_WAIT(store, (store_figures(store, &figures), figures.incidents_dropped > 0));
    store_close(store);
    clock_jump = 0;
    CHECK(world_ask(&world, "SELECT count(*) FROM incident WHERE id = 1") == 1);
    CHECK(world_ask(&world, "SELECT count(*) FROM incident WHERE id = 2") == 0);
    world_remove(&world);
}

static gordian_status see_damage(void *context, const struct incident *incident)
{
    unsigned *damaged = context;
    *damaged += incident->damaged ? 100 : 1;
    return GORDIAN_OK;
}

/* 100 for each that is damaged, 1 for each that is not. */
static unsigned read_incidents(const struct world *world)
{
    struct incidents_db *db;
    gordian_error error = {0};
    const struct incidents_filter all = {0};
    unsigned seen = 0;
    REQUIRE(incidents_open(&db, world->folder, NULL, &error) == GORDIAN_OK);
    CHECK(incidents_query(db, &all, see_damage, &seen, &error) == GORDIAN_OK);
    uint64_t count, applied;
    gordian_status status = incidents_verify(db, &count, &applied, &error);
    CHECK_MSG((status == GORDIAN_OK) == (seen < 100), "%s", error.message);
    incidents_close(db);
    return seen;
}

/* A bit that was flipped in a row is seen, though the database as such is whole. */
static void rows_have_sums(void)
{
    struct world world;
    struct store *store;
    gordian_error error = {0};
    char path[sizeof world.folder + 300], *bytes;
    static const char name[] = "a-rather-special-name";
    world_make(&world);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    struct incident one = {.id = 1, .system = "s", .at = 5, .requester = name, .replay = "{}"};
    struct incident two = {.id = 2, .system = "s", .at = 6, .requester = "other"};
    CHECK(store_incident(store, &one) == GORDIAN_OK && store_incident(store, &two) == GORDIAN_OK);
    world_keep(&world, store, 1);
    two.ended = 9; /* changed: so is its sum */
    two.how = "cancelled";
    CHECK(store_incident(store, &two) == GORDIAN_OK);
    world_keep(&world, store, 1);
    store_close(store);
    unsigned was = read_incidents(&world);
    CHECK_MSG(was % 100 > 0 && was < 100, "%u", was);
    world_path(&world, HISTORY_FILE, path, sizeof path);
    FILE *file = fopen(path, "r+b");
    REQUIRE(file && fseek(file, 0, SEEK_END) == 0);
    size_t size = (size_t)ftell(file), changed = 0;
    REQUIRE((bytes = malloc(size)) && fseek(file, 0, SEEK_SET) == 0);
    REQUIRE(fread(bytes, 1, size, file) == size);
    for (size_t i = 0; i + sizeof name < size; i++)
        if (memcmp(bytes + i, name, sizeof name - 1) == 0) {
            REQUIRE(fseek(file, (long)i, SEEK_SET) == 0 && fputc('b', file) == 'b');
            changed++;
        }
    REQUIRE(fclose(file) == 0 && changed > 0);
    free(bytes);
    unsigned after = read_incidents(&world);
    CHECK_MSG(after == was + 99, "%u, %u", was, after);
    world_remove(&world);
}

static uint64_t read_epoch(const struct world *world)
{
    uint8_t bytes[8];
    char path[sizeof world->folder + 300];
    world_path(world, MARKER_FILE, path, sizeof path);
    int fd = open(path, O_RDONLY);
    REQUIRE(fd >= 0 && pread(fd, bytes, 8, 8) == 8);
    close(fd);
    return wire_load64(bytes);
}

/* Whoever starts raises the epoch before it reads the journal, so that nobody acknowledges what it
 * has not read: also if what it reads is damaged. */
static void epoch_comes_first(void)
{
    struct world world;
    struct store *store;
    gordian_error error = {0};
    char path[sizeof world.folder + 300];
    world_make(&world);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    for (int i = 0; i < 5; i++) /* a frame each: it is not the last one that is damaged */
        world_keep(&world, store, 10);
    store_close(store);
    uint64_t epoch = read_epoch(&world);
    world_last_file(&world, "journal", path, sizeof path);
    FILE *file = fopen(path, "r+b");
    REQUIRE(file && fseek(file, 100, SEEK_SET) == 0);
    int byte = fgetc(file);
    REQUIRE(fseek(file, 100, SEEK_SET) == 0 && fputc(byte ^ 1, file) != EOF && fclose(file) == 0);
    CHECK(store_open(&store, &world.options, NULL, &error) == GORDIAN_STATUS_INPUT);
    CHECK(read_epoch(&world) == epoch + 1);
    world_remove(&world);
}

/* A marker of the version before is read. */
static void old_marker_is_read(void)
{
    struct world world;
    struct store *store;
    gordian_error error = {0};
    char path[sizeof world.folder + 300];
    uint8_t bytes[32] = "GRDM";
    uint64_t least, most;
    world_make(&world);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    world_keep(&world, store, 10);
    store_close(store);
    REQUIRE(world_files(&world, "journal", &least, &most) > 0);
    wire_store32(bytes + 4, 1);
    wire_store64(bytes + 8, 41);
    wire_store64(bytes + 16, most);
    wire_store32(bytes + 24, crc32c(0, bytes, 24));
    world_path(&world, MARKER_FILE, path, sizeof path);
    int fd = open(path, O_WRONLY | O_TRUNC);
    REQUIRE(fd >= 0 && write(fd, bytes, 32) == 32 && close(fd) == 0);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    CHECK(world.number == 10 && read_epoch(&world) == 42);
    store_close(store);
    world_remove(&world);
}

int main(void)
{
    only_where_nothing_is();
    history_is_missed();
    journal_is_missed();
    last_file_is_missed();
    marker_is_made();
    loss_is_noticed(STORE_BATCH);
    loss_is_noticed(STORE_FULL);
    others_could_write();
    lock_file_is_removed();
    displaced_writer_stops(STORE_BATCH);
    displaced_writer_stops(STORE_FULL);
    epoch_comes_first();
    old_marker_is_read();
    jumps_erase_nothing();
    wrong_clock_erases_nothing();
    rows_have_sums();
    repair_finds_sense();
    return test_done();
}
