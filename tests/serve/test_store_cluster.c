/* The store on PostgreSQL (GORDIAN_TEST_POSTGRES) when others are at it, too: a leader whose number
 * is not the newest any more, a connection that is cut, one store that follows another. */
#include "store_world.h"

#include <poll.h>

/* Somebody else has raised the number: nothing more is written, whatever the connection says. */
static void test_fenced(void)
{
    struct world world;
    struct store *store;
    gordian_error error = {0};
    world_make(&world);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    CHECK(store_role(store) == STORE_LEADER && store_is_shared(store));
    world_keep(&world, store, 10);
    world_ask(&world, "UPDATE leader SET epoch = epoch + 1");
    for (unsigned i = 0; i < 20; i++) {
        world_append(&world, store, 3);
        store_incident(store, &(struct incident){.id = i + 1, .system = "s"});
        store_seal(store);
    }
    WORLD_WAIT(store, store_role(store) == STORE_LOST);
    CHECK(store_committed(store) == 10 && !store_healthy(store, NULL));
    CHECK(strstr(store_lost(store), "another server leads") != NULL);
    CHECK(world_ask(&world, "SELECT max(last) FROM journal") == 10);
    CHECK(world_ask(&world, "SELECT count(*) FROM incident") == 0);
    store_close(store);
    /* It goes on from there, under a number of its own. */
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    CHECK(store_role(store) == STORE_LEADER && world.number == 10);
    world_keep(&world, store, 5);
    store_close(store);
    world_remove(&world);
}

/* The connection is cut at any moment: what was appended is there once, all of it. */
static void test_cut(void)
{
    struct world world;
    struct store *store;
    struct random random;
    gordian_error error = {0};
    world_make(&world);
    random_seed(&random, 8);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    for (unsigned round = world_scale(20); round > 0; round--) {
        for (uint64_t i = random_below(&random, 60); i > 0; i--) {
            world_append(&world, store, (unsigned)random_below(&random, 20));
            store_seal(store);
        }
        if (random_chance(&random, 50))
            world_snapshot(&world, store, (size_t)random_below(&random, 3000000));
        world_ask(&world, "SELECT pg_terminate_backend(backend) FROM leader");
        uint64_t last = store_last(store);
        WORLD_WAIT(store, store_committed(store) == last);
        CHECK(store_role(store) == STORE_LEADER);
    }
    WORLD_WAIT(store, store_healthy(store, NULL)); /* also if there was nothing to write */
    uint64_t expected = world.number;
    store_close(store);
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    CHECK(world.number == expected);
    store_close(store);
    world_remove(&world);
}

/* The same world as it is seen by another. */
static gordian_status no_section(void *context, const char *name, const void *bytes, size_t length,
                                 gordian_error *error)
{
    (void)name, (void)bytes, (void)length, (void)error;
    ((struct world *)context)->wrong = true;
    return GORDIAN_OK;
}

static bool follows_to(struct store *store, struct world *world, uint64_t number)
{
    static const struct store_loader loader = {no_section, world_load_record};
    gordian_error error = {0};
    bool more;
    gordian_status status = store_follow(store, &loader, world, &more, &error);
    CHECK_MSG(status == GORDIAN_OK && !world->wrong, "%s", error.message);
    return status != GORDIAN_OK || world->number == number;
}

/* Two stores on the same tables; the first leads. */
static void open_two(struct world worlds[2], struct store *stores[2], uint64_t lease_ms)
{
    gordian_error error = {0};
    world_make(&worlds[0]);
    worlds[0].options.lease_ms = lease_ms;
    worlds[1] = worlds[0];
    worlds[1].options.lead_ms = 0;
    worlds[1].options.schema = worlds[0].schema;
    worlds[1].options.address = "there:1";
    for (int i = 0; i < 2; i++)
        REQUIRE(world_open(&worlds[i], &stores[i], NULL, &error) == GORDIAN_OK);
}

/* One leads and the other follows; then it is the other way round, and once more. */
static void test_two(void)
{
    struct world worlds[2];
    struct store *stores[2];
    gordian_error error = {0};
    open_two(worlds, stores, 0);
    for (int turn = 0; turn < 3; turn++) {
        int leads = turn % 2, follows = 1 - leads;
        CHECK(store_role(stores[leads]) == STORE_LEADER);
        CHECK(store_role(stores[follows]) == STORE_STANDBY);
        world_keep(&worlds[leads], stores[leads], 50);
        store_incident(stores[leads], &(struct incident){.id = 1, .system = "s"});
        world_keep(&worlds[leads], stores[leads], 7);
        uint64_t last = worlds[leads].number;
        WORLD_WAIT(stores[follows], follows_to(stores[follows], &worlds[follows], last));
        CHECK(worlds[follows].state == worlds[leads].state);
        CHECK(strcmp(store_leader(stores[follows]), leads ? "there:1" : "here:1") == 0);
        world_append(&worlds[leads], stores[leads], 3);
        store_seal(stores[leads]);
        store_hand_over(stores[leads]);
        WORLD_WAIT(stores[leads], store_role(stores[leads]) == STORE_LOST);
        CHECK(strcmp(store_lost(stores[leads]), STORE_HANDED_OVER) == 0);
        CHECK(store_committed(stores[leads]) == last + 3);
        WORLD_WAIT(stores[follows], store_role(stores[follows]) == STORE_LEADER);
        CHECK(follows_to(stores[follows], &worlds[follows], last + 3));
        CHECK(store_last(stores[follows]) == last + 3);
        store_close(stores[leads]);
        worlds[leads].options.lead_ms = 0;
        REQUIRE(world_open(&worlds[leads], &stores[leads], NULL, &error) == GORDIAN_OK);
    }
    store_close(stores[0]);
    store_close(stores[1]);
    world_remove(&worlds[0]);
}

/* Enough after every third record. */
static bool third_record(void *context)
{
    return ((struct world *)context)->number % 3 == 0;
}

/* A follower that has much to catch up with gets it in slices, none of which has more than it
 * wants, through batches and rows; in the end it has all of it, and the store leads from there on.
 */
static void test_slices(void)
{
    static const struct store_loader loader = {no_section, world_load_record, third_record};
    struct world worlds[2];
    struct store *stores[2];
    gordian_error error = {0};
    open_two(worlds, stores, 0);
    for (unsigned i = 1; i <= 20; i++) { /* not waited for: a row may have several batches */
        world_append(&worlds[0], stores[0], i);
        store_seal(stores[0]);
    }
    uint64_t last = worlds[0].number;
    store_hand_over(stores[0]);
    WORLD_WAIT(stores[1], store_role(stores[1]) == STORE_LEADER); /* and has read everything */
    struct world *world = &worlds[1];
    bool more = true;
    while (more && world->number < last) {
        uint64_t expected = (world->number / 3 + 1) * 3;
        REQUIRE(store_follow(stores[1], &loader, world, &more, &error) == GORDIAN_OK);
        CHECK(world->number == (expected < last ? expected : last));
        CHECK(store_last(stores[1]) == world->number);
        CHECK(store_committed(stores[1]) == world->number);
        CHECK(more == (world->number < last));
        if (more) { /* which the loop is woken up for */
            struct pollfd bell = {.fd = store_fd(stores[1]), .events = POLLIN};
            CHECK(poll(&bell, 1, 0) == 1);
        }
        store_poll(stores[1]);
    }
    CHECK(!world->wrong && world->number == last && world->state == worlds[0].state);
    world_keep(world, stores[1], 5);
    store_close(stores[0]);
    store_close(stores[1]);
    world_remove(&worlds[0]);
}

/* Who leads next knows the snapshots of who led before: the newest is not written over, and of two
 * one stays. */
static void test_snapshots_of_another(void)
{
    struct world worlds[2];
    struct store *stores[2];
    struct store_figures figures;
    gordian_error error = {0};
    open_two(worlds, stores, 0);
    world_keep(&worlds[0], stores[0], 10);
    world_snapshot(&worlds[0], stores[0], 3000000);
    WORLD_WAIT(stores[0], (store_figures(stores[0], &figures), figures.snapshots == 1));
    store_hand_over(stores[0]);
    WORLD_WAIT(stores[1], store_role(stores[1]) == STORE_LEADER);
    CHECK(follows_to(stores[1], &worlds[1], 10));
    store_close(stores[0]);
    world_snapshot(&worlds[1], stores[1], 2000000);
    world_keep(&worlds[1], stores[1], 5);
    CHECK((store_figures(stores[1], &figures), figures.failures == 0 && figures.snapshots == 0));
    store_close(stores[1]);
    REQUIRE(world_open(&worlds[0], &stores[0], NULL, &error) == GORDIAN_OK);
    CHECK(worlds[0].number == 15 && worlds[0].records == 5);
    worlds[1].options.lead_ms = 0;
    REQUIRE(world_open(&worlds[1], &stores[1], NULL, &error) == GORDIAN_OK);
    world_keep(&worlds[0], stores[0], 5);
    world_snapshot(&worlds[0], stores[0], 100);
    WORLD_WAIT(stores[0], world_ask(&worlds[0], "SELECT max(last) FROM snapshot") == 20);
    store_hand_over(stores[0]);
    WORLD_WAIT(stores[1], store_role(stores[1]) == STORE_LEADER);
    CHECK(follows_to(stores[1], &worlds[1], 20));
    world_keep(&worlds[1], stores[1], 5);
    world_snapshot(&worlds[1], stores[1], 100);
    WORLD_WAIT(stores[1], world_ask(&worlds[1], "SELECT min(first) FROM journal") == 21);
    CHECK(world_ask(&worlds[1], "SELECT min(last) FROM snapshot") == 20);
    store_close(stores[0]);
    store_close(stores[1]);
    world_remove(&worlds[0]);
}

/* Who has handed over lets others go first, until one has: if that one hands over soon, there may
 * be nobody else. */
static void test_rests(void)
{
    struct world worlds[2];
    struct store *stores[2];
    gordian_error error = {0};
    open_two(worlds, stores, 0);
    for (int leads = 0; leads < 2; leads++) {
        int follows = 1 - leads;
        store_hand_over(stores[leads]);
        WORLD_WAIT(stores[leads], store_role(stores[leads]) == STORE_LOST);
        WORLD_WAIT(stores[follows], store_role(stores[follows]) == STORE_LEADER);
        store_close(stores[leads]);
        worlds[leads].options.rest_ms = 86400000;
        REQUIRE(world_open(&worlds[leads], &stores[leads], NULL, &error) == GORDIAN_OK);
        CHECK(store_role(stores[leads]) == STORE_STANDBY);
    }
    store_close(stores[0]);
    store_close(stores[1]);
    world_remove(&worlds[0]);
}

/* Whoever stands by is notified of a new leader, and need not find out. */
static void test_says_so(void)
{
    struct world worlds[2];
    struct store *stores[2];
    char sql[100];
    open_two(worlds, stores, 0);
    PGconn *conn = PQconnectdb(getenv("GORDIAN_TEST_POSTGRES"));
    REQUIRE(PQstatus(conn) == CONNECTION_OK);
    snprintf(sql, sizeof sql, "LISTEN gordian_%lld",
             (long long)world_ask(&worlds[0],
                                  "SELECT quote_ident(current_schema())::regnamespace::oid"));
    PQclear(PQexec(conn, sql));
    int first = (int)world_ask(&worlds[0], "SELECT backend FROM leader"), from = first;
    PGnotify *notify = NULL;
    store_hand_over(stores[0]);
    WORLD_WAIT(stores[1], store_role(stores[1]) == STORE_LEADER);
    int after = (int)world_ask(&worlds[0], "SELECT backend FROM leader");
    for (int tries = 0; tries < 1000 && from != after; tries++) {
        struct pollfd end = {.fd = PQsocket(conn), .events = POLLIN};
        poll(&end, 1, 100);
        REQUIRE(PQconsumeInput(conn));
        for (; (notify = PQnotifies(conn)); PQfreemem(notify))
            from = notify->be_pid;
    }
    CHECK_MSG(after != first && from == after, "%d, not %d", from, after);
    PQfinish(conn);
    store_close(stores[0]);
    store_close(stores[1]);
    world_remove(&worlds[0]);
}

/* The loop of the leader stands still, while its thread and its connection are well: the other
 * leads. What the first has sealed and not been told of may be kept or not; the rest never is. */
static void test_hangs(void)
{
    struct world worlds[2];
    struct store *stores[2];
    open_two(worlds, stores, 3000); /* longer than a busy machine may keep us from a turn */
    world_keep(&worlds[0], stores[0], 10);
    WORLD_WAIT(stores[1],
               follows_to(stores[1], &worlds[1], 10) && store_role(stores[1]) == STORE_LEADER);
    world_keep(&worlds[1], stores[1], 5);
    /* and it goes on */
    world_append(&worlds[0], stores[0], 3);
    store_seal(stores[0]);
    WORLD_WAIT(stores[0], store_role(stores[0]) == STORE_LOST);
    CHECK(store_committed(stores[0]) == 10 && store_committed(stores[1]) == 15);
    CHECK(world_ask(&worlds[0], "SELECT max(last) FROM journal") == 15);
    CHECK(store_role(stores[1]) == STORE_LEADER);
    store_close(stores[0]);
    store_close(stores[1]);
    world_remove(&worlds[0]);
}

int main(void)
{
    test_fenced();
    test_cut();
    test_two();
    test_slices();
    test_snapshots_of_another();
    test_rests();
    test_says_so();
    test_hangs();
    return test_done();
}
