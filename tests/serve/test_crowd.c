/* Too many clients: who has not identified itself makes room, some room is the Unix socket's, and a
 * flood fills no log. */
#include "server_world.h"

#include <arpa/inet.h>
#include <event2/listener.h>
#include <netinet/in.h>

#define PLACES 8

static void few_places(struct server_options *options)
{
    options->limits.clients = PLACES;
    options->listen = "127.0.0.1:0";
}

static int dial_tcp(const struct hall *hall)
{
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    for (size_t i = 0; i < hall->server->listener_count; i++)
        if (!hall->server->listeners[i].is_unix) {
            int door = evconnlistener_get_fd(hall->server->listeners[i].event);
            REQUIRE(getsockname(door, (struct sockaddr *)&address, &length) == 0);
        }
    REQUIRE(fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0);
    return fd;
}

static unsigned count_text(const char *in, const char *text)
{
    unsigned count = 0;
    for (; (in = strstr(in, text)); in += strlen(text))
        count++;
    return count;
}

/* Turns until the other side has ended the connection. */
static void is_ended(struct hall *hall, int fd)
{
    char byte;
    while (recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN)
        hall_turn(hall);
    close(fd);
}

static void close_all(struct hall *hall, const int *fds, int count)
{
    for (int i = 0; i < count; i++)
        close(fds[i]);
    while (hall->server->connection_count > 0)
        hall_turn(hall);
}

static void silence_makes_room(struct hall *hall)
{
    int silent[PLACES], spoken[PLACES];
    for (int i = 0; i < PLACES; i++) {
        silent[i] = hall_connect(hall);
        while (hall->server->connection_count < (uint32_t)i + 1)
            hall_turn(hall);
    }
    for (int i = 0; i < PLACES; i++) { /* the oldest first */
        spoken[i] = hall_connect(hall);
        hall_say(hall, spoken[i], "ping\n", "pong");
        is_ended(hall, silent[i]);
    }
    CHECK(count_text(hall->log, "its slot is needed") == 1);
    for (int i = 0; i < 3; i++) /* who has spoken stays */
        is_ended(hall, hall_connect(hall));
    CHECK(count_text(hall->log, ": refused: ") == 1);
    hall_pass(hall, 60000);
    is_ended(hall, hall_connect(hall));
    CHECK(count_text(hall->log, ": refused: ") == 2 && strstr(hall->log, "(and 2 more since"));
    hall_say(hall, spoken[0], "ping\n", "pong");
    close_all(hall, spoken, PLACES);
}

static void room_is_kept(struct hall *hall)
{
    int remote[PLACES - 1], local, last;
    for (int i = 0; i < PLACES - 1; i++) {
        remote[i] = dial_tcp(hall);
        hall_say(hall, remote[i], "ping\n", "pong");
    }
    is_ended(hall, dial_tcp(hall));
    local = hall_connect(hall);
    hall_say(hall, local, "ping\n", "pong");
    close(local);
    while (hall->server->connection_count == PLACES)
        hall_turn(hall);
    local = hall_connect(hall); /* silent, but here */
    while (hall->server->connection_count < PLACES)
        hall_turn(hall);
    last = dial_tcp(hall);
    is_ended(hall, last);
    hall_say(hall, local, "ping\n", "pong");
    close(local);
    close_all(hall, remote, PLACES - 1);
}

int main(void)
{
    struct hall hall;
    hall_open(&hall, few_places);
    silence_makes_room(&hall);
    room_is_kept(&hall);
    hall_close(&hall);
    return test_done();
}
