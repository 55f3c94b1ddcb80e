/* Servers on PostgreSQL (GORDIAN_TEST_POSTGRES) that come to lead. */
#include "server_world.h"
#include "service/serve/server/server_internal.h"
#include "service/serve/store/postgres/postgres.h"
#include "service/serve/store/store_internal.h"

#include <poll.h>

static const char *schema;

static void on_store(struct server_options *options)
{
    options->store = getenv("GORDIAN_TEST_POSTGRES");
    options->schema = schema;
    options->leader_lease_ms = 3600000; /* the second one's loop does not turn for long */
}

static struct hall halls[2];

static void open_two(const char *name)
{
    schema = name;
    hall_open(&halls[0], on_store);
    hall_open(&halls[1], on_store);
    CHECK(halls[0].server->leads && !halls[1].server->leads);
}

/* A store reads no further while its loop has not taken what was read. */
static bool is_full(struct store *store)
{
    store_lock(store);
    bool full = store->pg->followed_count >= PG_FOLLOWED_MAX;
    store_unlock(store);
    return full;
}

/* The first hands the lead over; the second's store has it then, or has read as much as it can, and
 * its loop does not know yet. */
static void hand_over(void)
{
    struct store *store = halls[1].server->store;
    server_hand_over(halls[0].server);
    while (!halls[0].server->lost)
        hall_turn(&halls[0]);
    while (store_role(store) != STORE_LEADER && !is_full(store))
        poll(NULL, 0, 10);
}

static void close_two(void)
{
    hall_close(&halls[0]);
    hall_close(&halls[1]);
}

/* A server is being opened while the lead is handed over: its store's thread may have the lead
 * before it asks, and more to tell than was read. */
static void test_opening(void)
{
    gordian_error error = {0};
    open_two("take_role_test");
    struct server *second = halls[1].server;
    int fd = hall_connect(&halls[0]);
    hall_say(&halls[0], fd, "resource a 3\nrequest p a\nping\n", "pong");
    uint64_t last = store_committed(halls[0].server->store);
    CHECK(last > 0 && store_last(second->store) < last);
    hand_over();
    REQUIRE(store_role(second->store) == STORE_LEADER);
    CHECK(server_take_role(second, &error) == GORDIAN_OK);
    CHECK(second->leads);
    CHECK_MSG(store_last(second->store) >= last, "%llu, not %llu",
              (unsigned long long)store_last(second->store), (unsigned long long)last);
    close(fd);
    close_two();
}

/* Deadlocks that begin and end: they take far longer than one slice may. */
#define ROUNDS 8
#define LINES  450 /* of each round: requests and cancels */

static void make_backlog(void)
{
    static char text[LINES * 40];
    size_t used = 0;
    for (int i = 0; i < LINES; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\n",
                                 i % 2 ? "cancel q" : "request q a");
    snprintf(text + used, sizeof text - used, "ping\n");
    int fd = hall_connect(&halls[0]);
    hall_say(&halls[0], fd, "resource a\nresource b\nrequest p a\nrequest q b\nrequest p b\nping\n",
             "pong");
    for (int round = 0; round < ROUNDS; round++)
        hall_say(&halls[0], fd, text, "pong");
    close(fd);
}

/* A standby with much to catch up with does so in slices: it answers between them, and leads only
 * behind the last one. */
static void test_backlog(void)
{
    open_two("backlog_test");
    struct server *second = halls[1].server;
    make_backlog();
    uint64_t last = store_last(halls[0].server->store), before = store_last(second->store);
    hand_over();
    int fd = hall_connect(&halls[1]), between = 0;
    char heard[400];
    bool answered = false;
    uint64_t largest = 0;
    hall_send(fd, "ping\n");
    do {
        uint64_t done = store_last(second->store);
        hall_turn(&halls[1]);
        done = store_last(second->store) - done;
        largest = done > largest ? done : largest;
        between += store_last(second->store) > before && store_last(second->store) < last;
        answered |= !second->leads && recv(fd, heard, sizeof heard, MSG_DONTWAIT) > 0;
        CHECK(!second->leads || store_last(second->store) >= last);
    } while (!second->leads && !second->lost);
    CHECK_MSG(between >= 3 && answered && largest < (last - before) / 2,
              "%d slices, %llu of %llu records in one", between, (unsigned long long)largest,
              (unsigned long long)(last - before));
    CHECK(second->leads);
    close(fd);
    close_two();
}

int main(void)
{
    REQUIRE(getenv("GORDIAN_TEST_POSTGRES") != NULL);
    test_opening();
    test_backlog();
    return test_done();
}
