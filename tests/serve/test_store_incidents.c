/* The store: the history of incidents. */
#include "store_world.h"

#include <time.h>

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
    CHECK(incidents_get(db, 42, NULL, compare, &one, &error) == GORDIAN_OK && one.count == 1);
    CHECK(incidents_get(db, INCIDENTS + 1, NULL, compare, &one, &error) == GORDIAN_STATUS_END);
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
    if (getenv("GORDIAN_TEST_POSTGRES"))
        meet_postgres();
    test_incidents();
    test_in_memory();
    test_retention();
    test_stood();
    test_actions();
    test_notices();
    test_storm();
    test_replayed_incidents();
    return test_done();
}
