/* Leases: nobody loses a session by the service's own doing. What has arrived counts before anybody
 * is judged; time in which the service stood still, or could keep nothing, is nobody's silence. */
#include "server_world.h"
#include "service_world.h"

#define CROWD 200 /* more than libevent asks epoll for at once */

/* ------------------------------------------------------------------ without sockets */

/* A process that was stopped, a machine that was paused. */
static void stalls_are_given_back(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world), *bob = world_connect(&world);
    hello(ann, 1000, 0);
    hello(bob, 1000, 0);
    world_pass(&world, 600);
    hang_up(bob); /* its lease begins */
    world_pass(&world, 100);
    world_stall(&world, 3600000);
    world_tick(&world);
    CHECK(world.service->session_count == 2 && !ann->client.closing);
    const struct service_counters *counters = &world.service->counters;
    CHECK(counters->stalls == 1 && counters->stalled_ms == 3600000 - 100);
    world_pass(&world, 150); /* 950 ms in all: the stall counts as one tick */
    CHECK(world.service->session_count == 2);
    world_pass(&world, 100);
    CHECK(ann->client.closing && world.service->session_count == 1);
    world_pass(&world, 500);
    CHECK(world.service->session_count == 1); /* bob's began later */
    world_pass(&world, 100);
    CHECK(world.service->session_count == 0 && counters->leases_ended == 2);
    world_close(&world);
}

/* Whoever is heard first after a stall has its lease, and no more. */
static void first_after_stall(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world);
    hello(ann, 1000, 0);
    world_stall(&world, 3600000);
    declare(ann, WIRE_PROCESS, "p", 0);
    world_pass(&world, 900);
    CHECK(!ann->client.closing);
    world_pass(&world, 200);
    CHECK(ann->client.closing && world.service->session_count == 0);
    world_close(&world);
}

static bool says_more(const struct client *client)
{
    return ((const struct talker *)client->owner)->woken;
}

static bool always_unheard(void *context, uint64_t since)
{
    (void)context;
    (void)since;
    return true;
}

static void make_unheard(struct service_options *options)
{
    options->unheard = always_unheard;
}

static void unread_is_no_silence(void)
{
    struct world world;
    world_open(&world, make_unheard);
    struct talker *ann = world_connect(&world), *bob = world_connect(&world);
    ann->client.has_more = says_more;
    hello(ann, 500, 0);
    hello(bob, 500, 0);
    hang_up(bob);
    ann->woken = true;
    world_pass(&world, 1400);
    CHECK(world.service->session_count == 2); /* who came may be bob */
    world_pass(&world, 100);
    CHECK(world.service->session_count == 1); /* but is not let in for ever */
    CHECK(!ann->client.closing);
    ann->woken = false;
    world_tick(&world);
    CHECK(ann->client.closing && world.service->session_count == 0);
    world_close(&world);
}

/* ------------------------------------------------------------------ an outage of the store */

/* Nobody is lost while nothing can be kept: leases stand still, sessions are taken up again. */
static void outage_ends_nobody(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world), *bob = world_connect(&world);
    struct wire_welcome welcome = hello(ann, 1000, 0);
    hello(bob, 60000, 0);
    uint32_t q = declare(ann, WIRE_RESOURCE, "q", 1), p = declare(ann, WIRE_PROCESS, "p", 0);
    uint32_t b = declare(bob, WIRE_PROCESS, "b", 0);
    CHECK(send_event(ann, 1, GORDIAN_OP_REQUEST, p, q) == GORDIAN_OUTCOME_GRANTED);
    size_t kept = world.record_count;
    CHECK(send_event(bob, 1, GORDIAN_OP_REQUEST, b, q) == GORDIAN_OUTCOME_BLOCKED);
    world.broken = true;
    world_pass(&world, 900);
    hang_up(ann);
    world_pass(&world, 3000);
    ann = world_connect(&world);
    struct wire_frame frame = hello_as(ann, welcome.session, 2000, 0, "");
    CHECK(error_code(&frame) == WIRE_NOT_KEPT); /* another lease would have to be kept */
    frame = hello_as(ann, NULL, 1000, 0, "");
    CHECK(error_code(&frame) == WIRE_NOT_KEPT);
    frame = hello_as(ann, welcome.session, 1000, 0, "");
    CHECK(frame.kind == WIRE_WELCOME && wire_get_welcome(&frame, &welcome) && welcome.last == 1);
    CHECK(ann->client.mark == kept); /* what it tells of is kept: it need not wait for bob's */
    world_pass(&world, 3000);
    world.broken = false;
    world_pass(&world, 900);
    CHECK(!ann->client.closing && world.service->session_count == 2);
    CHECK(send_event(ann, 2, GORDIAN_OP_RELEASE, p, q) == GORDIAN_OUTCOME_RELEASED);
    world_close(&world);
}

static void outage_is_answered(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world), *bob = world_connect(&world);
    say(ann, "resource q\nrequest p q\n");
    world.broken = true;
    say(bob, "ping\n");
    CHECK(heard(bob, "pong"));
    say(bob, "stats\n");
    CHECK(heard(bob, "\"sessions\":1"));
    say(bob, "state p\n");
    CHECK(heard(bob, "\"holds\":{\"q\":1}") && heard(bob, "\"kept\":false"));
    say(bob, "systems\n");
    CHECK(heard(bob, "\"kept\":false"));
    CHECK(bob->client.mark == 0); /* all of it at once */
    say(bob, "request b q\n");
    CHECK(heard(bob, "\"code\":9") && bob->client.mark == 0);
    uint64_t mark = ann->client.mark;
    say(ann, "ping\n");
    CHECK(heard(ann, "pong") && ann->client.mark == mark); /* behind what it waits for */
    world.broken = false;
    say(bob, "state p\n");
    CHECK(!heard(bob, "kept") && bob->client.mark == world.record_count);
    world_close(&world);
}

/* ------------------------------------------------------------------ with sockets */

/* Far more have spoken than one look at the sockets tells of. */
static void crowd_has_spoken(struct hall *hall)
{
    static int crowd[CROWD];
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = hall_connect(hall);
        hall_say(hall, crowd[i], "hello lease=100ms\n", "session");
    }
    for (int i = 0; i < CROWD; i++)
        hall_send(crowd[i], "ping\n");
    hall->clock += 150; /* less than a stall */
    hall_turn(hall);
    CHECK(hall->server->service->counters.leases_ended == 0);
    for (int i = 0; i < CROWD; i++)
        hall_hear(hall, crowd[i], "\n");
    hall_pass(hall, 150);
    hall_pass(hall, 100);
    CHECK(hall->server->service->counters.leases_ended == CROWD);
    for (int i = 0; i < CROWD; i++)
        close(crowd[i]);
}

/* A client whose connection broke has come back in time, and waits to be let in. */
static void door_is_opened_first(struct hall *hall)
{
    char hello[200];
    uint64_t ended = hall->server->service->counters.leases_ended;
    int ann = hall_connect(hall);
    hall_say(hall, ann, "hello lease=100ms\nresource q\nrequest p q\n", "granted");
    const char *id = strstr(hall->heard, "\"session\":\"");
    REQUIRE(id);
    snprintf(hello, sizeof hello, "hello lease=100ms session=%.32s\n", id + 11);
    close(ann);
    ann = hall_connect(hall); /* the end of the old one has not been seen, either */
    hall_send(ann, hello);
    hall->clock += 150;
    hall_turn(hall);
    hall_hear(hall, ann, "\"last\"");
    CHECK(hall->server->service->counters.leases_ended == ended);
    hall_say(hall, ann, "state p\n", "\"q\"");
    close(ann);
}

static void stopped_for_an_hour(struct hall *hall)
{
    uint64_t ended = hall->server->service->counters.leases_ended;
    int ann = hall_connect(hall);
    hall_say(hall, ann, "hello lease=1\nresource r\nrequest p r\n", "granted");
    hall->clock += 3600000;
    hall_turn(hall);
    hall_say(hall, ann, "state p\n", "\"r\"");
    CHECK(hall->server->service->counters.leases_ended == ended);
    CHECK(strstr(hall->log, "stalled for 3599900 ms"));
    hall_say(hall, ann, "stats\n", "\"stalled_ms\":3599900");
    close(ann);
}

/* The operator hears of a deadlock, and of its end. */
static void deadlock_is_logged(struct hall *hall)
{
    int ann = hall_connect(hall);
    hall_say(hall, ann, "resource x\nresource y\nrequest a x\nrequest b y\nrequest a y\n",
             "blocked");
    hall_say(hall, ann, "request b x\n", "\"deadlock\"");
    CHECK_MSG(strstr(hall->log, "a deadlock: {") && strstr(hall->log, "\"processes\":[\""), "%s",
              hall->log);
    hall_say(hall, ann, "exit b\n", "exited");
    CHECK(strstr(hall->log, "a deadlock has ended: {"));
    close(ann);
}

int main(void)
{
    struct hall hall;
    stalls_are_given_back();
    first_after_stall();
    unread_is_no_silence();
    outage_ends_nobody();
    outage_is_answered();
    hall_open(&hall, NULL);
    crowd_has_spoken(&hall);
    hall_pass(&hall, 200);
    door_is_opened_first(&hall);
    hall_pass(&hall, 200);
    stopped_for_an_hour(&hall);
    deadlock_is_logged(&hall);
    hall_close(&hall);
    return test_done();
}
