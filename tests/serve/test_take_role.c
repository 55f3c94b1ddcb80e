/* A server that is being opened on PostgreSQL (GORDIAN_TEST_POSTGRES) while the lead is handed
 * over: its store's thread may have the lead before it asks, and more to tell than was read. */
#include "serve/server/parts.h"
#include "server_world.h"

#include <poll.h>

static void on_store(struct server_options *options)
{
    options->store = getenv("GORDIAN_TEST_POSTGRES");
    options->schema = "take_role_test";
    options->leader_lease_ms = 3600000; /* the second one's loop does not turn for long */
}

int main(void)
{
    static struct hall halls[2];
    gordian_error error = {0};
    REQUIRE(getenv("GORDIAN_TEST_POSTGRES") != NULL);
    hall_open(&halls[0], on_store);
    hall_open(&halls[1], on_store);
    struct server *first = halls[0].server, *second = halls[1].server;
    CHECK(first->leads && !second->leads);
    int fd = hall_connect(&halls[0]);
    hall_say(&halls[0], fd, "resource a 3\nrequest p a\nping\n", "pong");
    uint64_t last = store_committed(first->store);
    CHECK(last > 0 && store_last(second->store) < last);
    server_hand_over(first);
    while (!first->lost)
        hall_turn(&halls[0]);
    for (int tries = 0; tries < 60000 && store_role(second->store) != STORE_LEADS; tries++)
        poll(NULL, 0, 10);
    REQUIRE(store_role(second->store) == STORE_LEADS);
    CHECK(server_take_role(second, &error) == GORDIAN_OK);
    CHECK(second->leads);
    CHECK_MSG(store_last(second->store) >= last, "%llu, not %llu",
              (unsigned long long)store_last(second->store), (unsigned long long)last);
    close(fd);
    hall_close(&halls[0]);
    hall_close(&halls[1]);
    return test_done();
}
