/* A whole server in the test's own thread: real sockets, a clock set by hand, turns of the loop
 * taken one by one.
 *
 *     struct hall hall;
 *     hall_open(&hall, NULL);
 *     int ann = hall_connect(&hall);
 *     hall_say(&hall, ann, "hello lease=1\n", "session");
 *     hall.clock += 100;
 *     hall_turn(&hall);
 *     hall_close(&hall);
 */
#ifndef GORDIAN_TESTS_SERVER_WORLD_H
#define GORDIAN_TESTS_SERVER_WORLD_H

#include "scratch.h"
#include "service/serve/server/server.h"
#include "test.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct hall {
    struct server *server;
    struct server_options options;
    uint64_t clock; /* steady ms, as the service sees it */
    char folder[SCRATCH_SIZE], socket[SCRATCH_SIZE + 8];
    char heard[65536]; /* what hall_say heard last */
    char log[65536];   /* all that the server has told the operator */
};

static inline uint64_t hall_steady(void *context)
{
    return ((struct hall *)context)->clock;
}

static inline void hall_log(void *context, int level, const char *text)
{
    struct hall *hall = context;
    size_t used = strlen(hall->log);
    (void)level;
    snprintf(hall->log + used, sizeof hall->log - used, "%s\n", text);
}

/* `tune` may change the options. */
static inline void hall_open(struct hall *hall, void (*tune)(struct server_options *))
{
    gordian_error error = {0};
    *hall = (struct hall){0};
    REQUIRE(scratch_make(hall->folder, "hall"));
    snprintf(hall->socket, sizeof hall->socket, "%s/socket", hall->folder);
    server_options_init(&hall->options);
    hall->options.socket = hall->socket;
    hall->options.http = "none";
    hall->options.log = hall_log;
    hall->options.log_context = hall;
    if (tune)
        tune(&hall->options);
    gordian_status status = server_open(&hall->server, &hall->options, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
    REQUIRE(status == GORDIAN_OK);
    struct service *service = hall->server->service;
    hall->clock = service_steady(service);
    service->options.steady = hall_steady;
    service->options.clock_context = hall;
}

static inline void hall_close(struct hall *hall)
{
    server_close(hall->server);
    unlink(hall->socket);
    CHECK(rmdir(hall->folder) == 0);
}

/* A turn of the loop in which leases are looked at. */
static inline void hall_turn(struct hall *hall)
{
    hall->server->tick = true;
    hall->server->more_to_do = true;
    REQUIRE(server_turn(hall->server, NULL) == GORDIAN_OK);
}

/* Time passes, and the loop turns. */
static inline void hall_pass(struct hall *hall, uint64_t ms)
{
    for (; ms > 0; ms -= ms < 100 ? ms : 100) {
        hall->clock += ms < 100 ? ms : 100;
        hall_turn(hall);
    }
}

static inline int hall_connect(const struct hall *hall)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", hall->socket);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0);
    return fd;
}

static inline void hall_send(int fd, const char *text)
{
    REQUIRE(send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text));
}

/* Turns until it has been told this, all of which is in hall->heard. */
static inline void hall_hear(struct hall *hall, int fd, const char *until)
{
    size_t used = 0;
    hall->heard[0] = '\0';
    while (!strstr(hall->heard, until)) {
        ssize_t got = recv(fd, hall->heard + used, sizeof hall->heard - 1 - used, MSG_DONTWAIT);
        CHECK_MSG(got > 0 || (got < 0 && errno == EAGAIN), "no '%s' in: %s", until, hall->heard);
        if (got == 0 || (got < 0 && errno != EAGAIN))
            return;
        used += got > 0 ? (size_t)got : 0;
        hall->heard[used] = '\0';
        if (got < 0)
            REQUIRE(server_turn(hall->server, NULL) == GORDIAN_OK);
    }
}

static inline void hall_say(struct hall *hall, int fd, const char *text, const char *until)
{
    hall_send(fd, text);
    hall_hear(hall, fd, until);
}

#endif
