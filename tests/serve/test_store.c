/* The store when nothing goes wrong: batches, levels, snapshots, incidents, figures; and memory
 * that cannot be had. */
#include "../alloc/failing.h"
#include "store_world.h"

#include <time.h>

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

/* ---- incidents */

#define INCIDENTS 300

struct history {
    struct incident items[INCIDENTS];
    char text[INCIDENTS][5][64];
    size_t count;
};

static const char *const names[] = {"ann", "an", "cy", "d\"e\\f", "\xc3\xa9mile"};

static void make_history(struct history *history, struct random *random)
{
    static const char *const quoted[] = {"\"ann\"", "\"an\"", "\"cy\"", "\"d\\\"e\\\\f\"",
                                         "\"\xc3\xa9mile\""};
    history->count = INCIDENTS;
    for (size_t i = 0; i < INCIDENTS; i++) {
        size_t first = (size_t)random_below(random, 5), second = (size_t)random_below(random, 5);
        snprintf(history->text[i][0], 64, "[%s,%s]", quoted[first], quoted[second]);
        snprintf(history->text[i][1], 64, "{\"graph\":{\"n\":%zu},\"events\":[]}", i);
        uint64_t at = 1000000 + i * 10;
        history->items[i] = (struct incident){
            .id = i + 1,
            .system = i % 3 ? "default" : "other",
            .at = at,
            .ended = random_chance(random, 70) ? at + 5 + random_below(random, 1000) : 0,
            .requester = names[first],
            .processes = history->text[i][0],
            .witness = "[\"a\",\"b\"]",
            .replay = history->text[i][1],
        };
        history->items[i].how = history->items[i].ended ? "recovered" : NULL;
        history->items[i].victim = history->items[i].ended ? names[second] : NULL;
    }
}

static bool passes(const struct incident *incident, const struct incidents_filter *filter)
{
    char wanted[80] = "";
    if (filter->process)
        for (size_t i = 0; i < 5; i++)
            if (strcmp(names[i], filter->process) == 0)
                snprintf(wanted, sizeof wanted, "%s", i == 3 ? "\"d\\\"e\\\\f\"" : (char[]){0});
    if (filter->process && !wanted[0])
        snprintf(wanted, sizeof wanted, "\"%s\"", filter->process);
    return (!filter->system || strcmp(filter->system, incident->system) == 0) &&
           (!filter->process || strstr(incident->processes, wanted)) &&
           incident->at >= filter->since && (!filter->until || incident->at < filter->until) &&
           (!filter->open || !incident->ended) && (!filter->ended || incident->ended) &&
           (!filter->before || incident->id < filter->before);
}

struct comparison {
    const struct history *history;
    const struct incidents_filter *filter;
    size_t next; /* where to look on in the history */
    unsigned count;
};

static bool same(const char *left, const char *right)
{
    return left == right || (left && right && strcmp(left, right) == 0);
}

static gordian_status compare(void *context, const struct incident *incident)
{
    struct comparison *comparison = context;
    const struct history *history = comparison->history;
    const struct incident *expected = NULL;
    while (!expected && comparison->next < history->count) {
        size_t index = comparison->filter->oldest_first ? comparison->next
                                                        : history->count - 1 - comparison->next;
        comparison->next++;
        if (passes(&history->items[index], comparison->filter))
            expected = &history->items[index];
    }
    comparison->count++;
    CHECK(expected != NULL);
    if (!expected)
        return GORDIAN_STATUS_END;
    CHECK(incident->id == expected->id && incident->at == expected->at &&
          incident->ended == expected->ended && same(incident->system, expected->system) &&
          same(incident->how, expected->how) && same(incident->requester, expected->requester) &&
          same(incident->victim, expected->victim) &&
          same(incident->processes, expected->processes) &&
          same(incident->witness, expected->witness));
    CHECK(comparison->filter->with_replay ? same(incident->replay, expected->replay)
                                          : incident->replay == NULL);
    return GORDIAN_OK;
}

static unsigned passing(const struct history *history, const struct incidents_filter *filter)
{
    unsigned count = 0;
    for (size_t i = 0; i < history->count; i++)
        count += passes(&history->items[i], filter);
    return filter->limit && count > filter->limit ? filter->limit : count;
}

static void check_queries(struct incidents_db *db, const struct history *history,
                          struct random *random)
{
    gordian_error error = {0};
    for (unsigned i = 0; i < 200; i++) {
        struct incidents_filter filter = {
            .system = random_chance(random, 30) ? "other" : NULL,
            .process = random_chance(random, 40) ? names[random_below(random, 5)] : NULL,
            .since = random_chance(random, 30) ? 1000000 + random_below(random, 3000) : 0,
            .until = random_chance(random, 30) ? 1000000 + random_below(random, 3000) : 0,
            .open = random_chance(random, 20),
            .ended = random_chance(random, 20),
            .before = random_chance(random, 20) ? random_below(random, INCIDENTS) : 0,
            .limit = random_chance(random, 40) ? (uint32_t)random_below(random, 40) : 0,
            .oldest_first = random_chance(random, 50),
            .with_replay = random_chance(random, 50),
        };
        struct comparison comparison = {.history = history, .filter = &filter};
        CHECK(incidents_query(db, &filter, compare, &comparison, &error) == GORDIAN_OK);
        CHECK_MSG(comparison.count == passing(history, &filter), "%u, not %u", comparison.count,
                  passing(history, &filter));
    }
    struct incidents_filter all = {.with_replay = true, .oldest_first = true};
    struct comparison one = {.history = history, .filter = &all, .next = 41};
    CHECK(incidents_get(db, 42, compare, &one, &error) == GORDIAN_OK && one.count == 1);
    CHECK(incidents_get(db, INCIDENTS + 1, compare, &one, &error) == GORDIAN_STATUS_END);
}

/* First that it began, later that it ended, as the service does. */
static void put_history(struct store *store, const struct history *history)
{
    for (size_t i = 0; i < history->count; i++) {
        struct incident begun = history->items[i];
        begun.ended = 0;
        begun.how = begun.victim = NULL;
        CHECK(store_incident(store, &begun) == GORDIAN_OK);
        if (i % 7 == 0)
            store_seal(store);
        struct incident ended = history->items[i];
        ended.replay = ended.witness = NULL; /* stay as they were */
        if (ended.ended)
            CHECK(store_incident(store, &ended) == GORDIAN_OK);
    }
    store_seal(store);
}

static gordian_status count_one(void *count, const struct incident *incident)
{
    (void)incident;
    ++*(unsigned *)count;
    return GORDIAN_OK;
}

static unsigned known(struct incidents_db *db)
{
    unsigned count = 0;
    CHECK(incidents_query(db, &(struct incidents_filter){0}, count_one, &count, NULL) ==
          GORDIAN_OK);
    return count;
}

static void test_incidents(void)
{
    static struct history history;
    struct world world;
    struct store *store;
    struct random random;
    struct incidents_db *db;
    gordian_error error = {0};
    world_make(&world);
    world.options.keep_incidents_ms = 0;
    random_seed(&random, 11);
    make_history(&history, &random);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    put_history(store, &history);
    WORLD_WAIT(store, world_ask(&world, "SELECT count(*) FROM incident") == INCIDENTS);
    WORLD_WAIT(store, known(store_incidents(store)) == INCIDENTS); /* told, too, not only kept */
    check_queries(store_incidents(store), &history, &random);
    /* Beside the service, and without it. */
    if (world_on_postgres(&world)) { /* read back, with what the server itself keeps */
        store_close(store);
        REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
        check_queries(store_incidents(store), &history, &random);
        store_close(store);
        CHECK(world_ask(&world, "SELECT count(*) FROM incidents") == INCIDENTS);
        world_remove(&world);
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        REQUIRE(incidents_open(&db, world.folder, NULL, &error) == GORDIAN_OK);
        check_queries(db, &history, &random);
        incidents_close(db);
        if (i == 0)
            store_close(store);
    }
    CHECK(world_ask(&world, "SELECT count(*) FROM incidents") == INCIDENTS);
    CHECK(world_ask(&world, "SELECT count(*) FROM open_incidents") ==
          passing(&history, &(struct incidents_filter){.open = true}));
    CHECK(world_ask(&world,
                    "SELECT formed = '1970-01-01T00:16:40.010Z' FROM incidents WHERE id = 2") == 1);
    CHECK(incidents_open(&db, "/nowhere at all", NULL, &error) == GORDIAN_STATUS_INPUT &&
          db == NULL);
    world_remove(&world);
}

/* Without a folder: incidents in memory, everything committed at once, nothing to load. */
static void test_in_memory(void)
{
    static struct history history;
    struct world world;
    struct store *store;
    struct random random;
    gordian_error error = {0};
    world_make(&world);
    world.options.folder = world.options.postgres = NULL;
    random_seed(&random, 12);
    make_history(&history, &random);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    world_append(&world, store, 100);
    CHECK(store_committed(store) == 100 && store_last(store) == 100 && store_fd(store) == -1);
    put_history(store, &history);
    check_queries(store_incidents(store), &history, &random);
    CHECK(!store_snapshot_due(store) && store_healthy(store, NULL));
    store_poll(store);
    store_close(store);
    world_remove(&world);
}

/* Which stood at a moment of the past. */
static gordian_status note_id(void *context, const struct incident *incident)
{
    *(uint64_t *)context = *(uint64_t *)context * 10 + incident->id;
    return GORDIAN_OK;
}

static void check_stood(struct incidents_db *db)
{
    static const struct {
        uint64_t at, ids;
    } moments[] = {{99, 0}, {100, 1}, {199, 1}, {200, 21}, {299, 21}, {300, 2}, {500, 2}};
    gordian_error error = {0};
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
        const struct incidents_filter filter = {.stood = moments[i].at};
        uint64_t ids = 0;
        CHECK(incidents_query(db, &filter, note_id, &ids, &error) == GORDIAN_OK);
        CHECK_MSG(ids == moments[i].ids, "%llu", (unsigned long long)ids);
    }
}

static void test_stood(void)
{
    struct world world;
    struct store *store;
    struct incidents_db *db;
    gordian_error error = {0};
    world_make(&world);
    world.options.keep_incidents_ms = 0;
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    const struct incident one = {.id = 1, .system = "s", .at = 100, .ended = 300};
    const struct incident two = {.id = 2, .system = "s", .at = 200};
    CHECK(store_incident(store, &one) == GORDIAN_OK && store_incident(store, &two) == GORDIAN_OK);
    store_close(store);
    if (world_on_postgres(&world)) {
        REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
        check_stood(store_incidents(store));
        store_close(store);
    } else {
        REQUIRE(incidents_open(&db, world.folder, NULL, &error) == GORDIAN_OK);
        check_stood(db);
        incidents_close(db);
    }
    world_remove(&world);
}

/* What was done by hand is kept beside the incidents. */
static gordian_status check_action(void *context, const struct incident *action)
{
    CHECK(strcmp(action->how, "exit") == 0 && strcmp(action->requester, "ann") == 0);
    CHECK(strcmp(action->victim, "p") == 0 && strcmp(action->processes, "in the way") == 0);
    ++*(unsigned *)context;
    return GORDIAN_OK;
}

static void test_actions(void)
{
    struct world world;
    struct store *store;
    gordian_error error = {0};
    const struct incidents_filter all = {.limit = 10};
    world_make(&world);
    world.options.keep_incidents_ms = 0;
    const struct incident action = {.id = INCIDENT_ACTION | 7,
                                    .system = "s",
                                    .at = 100,
                                    .how = "exit",
                                    .requester = "ann",
                                    .victim = "p",
                                    .processes = "in the way"};
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    world_append(&world, store, 1);
    CHECK(store_incident(store, &action) == GORDIAN_OK);
    store_close(store);
    for (unsigned round = 0; round < 2; round++) {
        unsigned actions = 0;
        REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
        CHECK(actions_query(store_incidents(store), &all, check_action, &actions, &error) ==
              GORDIAN_OK);
        CHECK(actions == 1);
        store_close(store);
    }
    world_remove(&world);
}

static gordian_status add_notice(void *context, uint64_t id, bool ended)
{
    char *text = context;
    sprintf(text + strlen(text), "%llu%s ", (unsigned long long)id, ended ? " ended" : "");
    return GORDIAN_OK;
}

/* What is to be told stays until it was, in its order. */
static void test_notices(void)
{
    struct world world;
    struct store *store;
    gordian_error error = {0};
    world_make(&world);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    for (uint64_t id = 2; id > 0; id--) {
        const struct incident incident = {.id = id, .system = "s", .at = 5};
        const struct incident began = {.id = id | INCIDENT_NOTICE};
        const struct incident ended = {.id = id | INCIDENT_NOTICE, .ended = 1};
        CHECK(store_incident(store, &incident) == GORDIAN_OK);
        CHECK(store_incident(store, &began) == GORDIAN_OK);
        CHECK(store_incident(store, &ended) == GORDIAN_OK);
        world_keep(&world, store, 1);
    }
    const struct incident told = {.id = 2 | INCIDENT_NOTICE, .at = 1, .ended = 1};
    CHECK(store_incident(store, &told) == GORDIAN_OK); /* with no record */
    store_close(store);
    for (unsigned round = 0; round < 2; round++) {
        char text[200] = "";
        REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
        CHECK(notices_query(store_incidents(store), add_notice, text, &error) == GORDIAN_OK);
        CHECK_MSG(strcmp(text, "2 1 1 ended ") == 0, "%s", text);
        store_close(store);
    }
    world_remove(&world);
}

/* Those that ended too long ago go; those that stand never do. */
static void test_retention(void)
{
    struct world world;
    struct store *store;
    struct timespec now;
    gordian_error error = {0};
    world_make(&world);
    world.options.keep_incidents_ms = 0;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t ms = (uint64_t)now.tv_sec * 1000;
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    for (uint64_t i = 1; i <= 2000; i++) {
        struct incident incident = {.id = i, .system = "s", .at = ms - 20000000};
        incident.ended = i % 4 == 0 ? 0 : i % 4 == 1 ? ms - 10000 : ms - 7200 * 1000;
        CHECK(store_incident(store, &incident) == GORDIAN_OK);
    }
    store_close(store);
    world.options.keep_incidents_ms = 3600 * 1000;
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    struct store_figures figures;
    WORLD_WAIT(store, (store_figures(store, &figures), figures.incidents_dropped == 1000));
    CHECK(world_ask(&world, "SELECT count(*) FROM incident") == 1000);
    store_keep_incidents(store, 1000);
    WORLD_WAIT(store, (store_figures(store, &figures), figures.incidents_dropped == 1500));
    CHECK(world_ask(&world, "SELECT count(*) FROM incident WHERE ended IS NULL") == 500);
    store_close(store);
    world_remove(&world);
}

/* A storm of deadlocks fills neither the disk nor the memory: of those that ended only the newest
 * are kept, and only the newest of all with what led to them. */
static void test_storm(void)
{
    struct world world;
    struct store *store;
    struct store_figures figures;
    gordian_error error = {0};
    world_make(&world);
    world.options.keep_incidents_ms = 0;
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    for (uint64_t i = 1; i <= 6000; i++) {
        struct incident incident = {.id = i < 3 ? i : i + 995000, .system = "s", .replay = "{}"};
        incident.ended = i == 1 ? 0 : i;
        CHECK(store_incident(store, &incident) == GORDIAN_OK);
    }
    store_keep_incidents(store, 0); /* look now */
    store_close(store);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    WORLD_WAIT(store,
               world_ask(&world, "SELECT count(*) FROM incident WHERE replay IS NOT NULL") == 5000);
    WORLD_WAIT(store, world_ask(&world, "SELECT count(*) FROM incident WHERE id = 2") == 0);
    CHECK(world_ask(&world, "SELECT count(*) FROM incident WHERE id = 1 AND replay IS NULL") == 1);
    CHECK(world_ask(&world, "SELECT count(*) FROM incident") == 5999);
    store_close(store);
    world.options.folder = world.options.postgres = NULL;
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    for (uint64_t i = 1; i <= 12000; i++) {
        CHECK(!store_incident(
            store, &(struct incident){.id = i, .system = "s", .ended = i, .replay = "{}"}));
        if (i % 10 == 0)
            store_seal(store);
    }
    store_figures(store, &figures);
    CHECK(figures.incidents_dropped == 2000);
    store_close(store);
    world_remove(&world);
}

/* During a replay an incident that is known stays as it is; one that is not comes back. */
static gordian_status replay_incident(void *context, uint64_t number, uint64_t at,
                                      const void *bytes, size_t length, gordian_error *error)
{
    struct incident incident = {.id = number, .system = "s", .at = at, .how = "replayed"};
    (void)bytes, (void)length, (void)error;
    return number <= 20 ? store_incident(context, &incident) : GORDIAN_OK;
}

static void test_replayed_incidents(void)
{
    struct world world;
    struct store *store;
    gordian_error error = {0};
    const struct store_loader loader = {world_section, replay_incident};
    world_make(&world);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    world_append(&world, store, 20);
    for (uint64_t i = 1; i <= 10; i++)
        CHECK(!store_incident(store, &(struct incident){.id = i, .system = "s", .how = "live"}));
    store_close(store);
    REQUIRE(store_open(&store, &world.options, NULL, &error) == GORDIAN_OK);
    CHECK(store_load(store, &loader, store, &error) == GORDIAN_OK);
    store_close(store);
    CHECK(world_ask(&world, "SELECT count(*) FROM incident WHERE how = 'live'") == 10);
    CHECK(world_ask(&world, "SELECT count(*) FROM incident WHERE how = 'replayed'") == 10);
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
    test_incidents();
    test_in_memory();
    test_retention();
    test_stood();
    test_actions();
    test_notices();
    test_storm();
    test_replayed_incidents();
    test_close_without_memory();
    return test_done();
}
