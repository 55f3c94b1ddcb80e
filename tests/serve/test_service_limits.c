/* The service without its sockets: limits, and what tokens permit. */
#define _GNU_SOURCE /* memmem */
#include "service_world.h"

/* ------------------------------------------------------------------ limits */

static void tight(struct service_options *options)
{
    options->limits.systems = 2;
    options->limits.names = 5;
    options->limits.session_names = 2;
    options->limits.sessions = 3;
    options->limits.clients = 4;
    options->limits.events_a_second = 10;
    options->limits.lease_max_ms = 5000;
}

static void quotas_hold(void)
{
    struct world world;
    world_open(&world, tight);
    struct talker *ann = world_connect(&world);
    struct wire_welcome welcome = hello(ann, 1000000, 0);
    CHECK(welcome.events_a_second == 10 && world.service->sessions[0].lease_ms == 5000);
    uint32_t q = declare(ann, WIRE_RESOURCE, "q", 1), p = declare(ann, WIRE_PROCESS, "p", 0);
    CHECK(declare(ann, WIRE_PROCESS, "p2", 0) != GORDIAN_NONE);
    CHECK(declare(ann, WIRE_PROCESS, "p3", 0) == GORDIAN_NONE); /* two a session */
    CHECK(declare(ann, WIRE_PROCESS, "p2", 0) != GORDIAN_NONE); /* known ones are fine */
    CHECK(declare(ann, WIRE_RESOURCE, "q2", 1) != GORDIAN_NONE);
    CHECK(declare(ann, WIRE_RESOURCE, "q3", 1) != GORDIAN_NONE);
    CHECK(declare(ann, WIRE_RESOURCE, "q4", 1) == GORDIAN_NONE); /* five in all */
    struct talker *bob = world_connect(&world);
    say(bob, "open one detect\n");
    CHECK(heard(bob, "\"ok\""));
    say(bob, "open two detect\n");
    CHECK(heard(bob, "\"code\":8"));
    struct talker *eve = world_connect(&world), *ida = world_connect(&world);
    struct talker one_more = {0};
    CHECK(service_attach(world.service, &one_more.client, SERVICE_WRITE, NULL) ==
          GORDIAN_STATUS_UNAVAILABLE);
    hello(bob->client.form == CLIENT_LINES ? eve : bob, 0, 0);
    say(bob, "hello\n");
    say(ida, "request z q\n");
    CHECK(heard(ida, "too many sessions"));
    /* ten events a second: the eleventh has to wait */
    for (int i = 0; i < 10; i++)
        CHECK(send_event(ann, 0, i % 2 ? GORDIAN_OP_RELEASE : GORDIAN_OP_REQUEST, p, q) != 0);
    gordian_event event = {
        .op = GORDIAN_OP_REQUEST, .process = p, .resource = q, .units = 1, .to = GORDIAN_NONE};
    unsigned char bytes[64];
    size_t size = wire_put_events(bytes, sizeof bytes, 0, &event, 1);
    forget(ann);
    CHECK(give(ann, bytes, size) == 0 && service_backpressure_ms(&ann->client) > 0);
    CHECK(next_frame(ann).kind == 0);
    world_pass(&world, service_backpressure_ms(&ann->client));
    CHECK(give(ann, bytes, size) == size && next_frame(ann).kind == WIRE_RESULTS);
    CHECK(give(ann, bytes, size) == 0);
    /* a flood of one does not touch another */
    say(bob, "use default\n");
    CHECK(heard(bob, "ok"));
    world_close(&world);
}

static void few_of_its_own(struct service_options *options)
{
    options->limits.session_resources = 2;
    options->limits.session_systems = 1;
}

/* What one client adds is limited, what others add is theirs, what is given back counts no more. */
static void own_quotas_hold(void)
{
    struct world world;
    world_open(&world, few_of_its_own);
    struct talker *ann = world_connect(&world), *bob = world_connect(&world);
    say(ann, "hello\n");
    say(bob, "hello\n");
    say(ann, "resource a\nresource b\n");
    CHECK(!heard(ann, "\"code\":8"));
    say(ann, "resource c\n");
    CHECK(heard(ann, "\"code\":8"));
    forget(ann);
    say(ann, "resource b\n"); /* known */
    CHECK(!heard(ann, "\"code\":8"));
    say(bob, "resource c\n");
    CHECK(!heard(bob, "\"code\":8"));
    say(ann, "remove a\n");
    forget(ann);
    say(ann, "resource d\n");
    CHECK(!heard(ann, "\"code\":8"));
    say(ann, "open one detect\nopen two detect\n");
    CHECK(heard(ann, "\"code\":8"));
    forget(ann);
    say(ann, "use default\nclose one\nopen two detect\n");
    CHECK(!heard(ann, "\"code\":8"));
    world_close(&world);
}

static void little_memory(struct service_options *options)
{
    options->limits.memory = 4 << 20;
}

static void memory_is_limited(void)
{
    struct world world;
    world_open(&world, little_memory);
    struct talker *ann = world_connect(&world);
    char name[300];
    bool refused = false;
    for (int i = 0; i < 100000 && !refused; i++) {
        snprintf(name, sizeof name, "process name-%0200d\n", i);
        say(ann, "%s", name);
        refused = heard(ann, "memory limit of the service");
    }
    CHECK(refused && service_memory_used(world.service) < 8 << 20);
    world_close(&world);
}

/* ------------------------------------------------------------------ who may what */

static void ask_token(void *context, const char *token, size_t length, struct service_grant *grant)
{
    (void)context;
    if (length == 5 && memcmp(token, "write", 5) == 0)
        grant->rights = SERVICE_WRITE;
    else if (length == 4 && memcmp(token, "read", 4) == 0)
        grant->rights = SERVICE_READ;
}

/* Who may send may not end what is another's, nor open or close systems. */
static void rights_are_minded(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world);
    say(ann, "open more detect\nuse default\nresource a\nresource b\nrequest p a\n");
    struct talker *bob = world_connect_as(&world, SERVICE_READ | SERVICE_SEND);
    say(bob, "open more detect\nuse default\nrequest q b\nrequest q a\n");
    CHECK(heard(bob, "granted") && heard(bob, "blocked"));
    forget(bob);
    say(bob, "exit p\n");
    CHECK_MSG(heard(bob, "\"error\"") && heard(bob, "of other sessions"), "%s", hears(bob));
    forget(bob);
    say(bob, "release p a\n");
    CHECK(heard(bob, "\"error\"") && world.service->systems[0]->waiting == 1);
    forget(bob);
    say(bob, "cancel q\nrelease q b\nexit q\n"); /* its own */
    CHECK(heard(bob, "cancelled") && heard(bob, "released") && heard(bob, "exited"));
    static const char *const others[] = {"close more\n", "open third detect\n", "forget p\n"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        size_t records = world.record_count;
        struct talker *ida = world_connect_as(&world, SERVICE_READ | SERVICE_SEND);
        say(ida, "use default\n%s", others[i]);
        CHECK_MSG(heard(ida, "may not"), "%s", others[i]);
        CHECK(world.record_count <= records + 1 && world.service->system_count == 2);
        hang_up(ida);
    }
    struct talker *eve = world_connect_as(&world, SERVICE_READ | SERVICE_SEND | SERVICE_END_OTHERS);
    say(eve, "exit p\n");
    CHECK(heard(eve, "exited"));
    world_close(&world);
}

/* Whom one only awaits does not end with one, in the binary form neither. */
static void others_are_nobodys(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world), *bob = world_connect(&world);
    hello(ann, 0, 0);
    uint32_t mine = declare(ann, WIRE_PROCESS, "mine", 0),
             other = declare(ann, WIRE_OTHER, "other", 0);
    const struct served *served = world.service->systems[0];
    CHECK(served->processes[mine].owner == ann->client.session);
    CHECK(served->processes[other].owner == GORDIAN_NONE);
    CHECK(declare(ann, WIRE_PROCESS, "third", 0) != other && served->process_count == 3);
    say(bob, "resource q\nrequest other q\n"); /* now it is bob's */
    CHECK(served->processes[other].owner == bob->client.session);
    hang_up(ann);
    world_tick(&world);
    CHECK(served->process_count == 1 && heard(bob, "granted"));
    world_close(&world);
}

static void guarded(struct service_options *options)
{
    options->authorise = ask_token;
}

static void tokens_are_asked_for(void)
{
    struct world world;
    world_open(&world, guarded);
    struct talker *ann = world_connect_as(&world, SERVICE_NOTHING);
    struct wire_frame frame = hello_as(ann, NULL, 0, 0, "wrong");
    CHECK(error_code(&frame) == WIRE_NOT_ALLOWED && ann->client.closing);
    struct talker *bob = world_connect_as(&world, SERVICE_NOTHING);
    say(bob, "request p q\n");
    CHECK(heard(bob, "token") && bob->client.closing);
    struct talker *eve = world_connect_as(&world, SERVICE_NOTHING);
    say(eve, "systems\n");
    CHECK(heard(eve, "token") && !heard(eve, "default"));
    static const char *const changes[] = {"resource q\n",       "request p q\n", "close default\n",
                                          "open more detect\n", "remove q\n",    "forget p\n"};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct talker *ida = world_connect_as(&world, SERVICE_NOTHING);
        say(ida, "hello token=read\nsystems\n");
        CHECK(heard(ida, "\"hello\"") && heard(ida, "default"));
        say(ida, "%s", changes[i]);
        CHECK_MSG(heard(ida, "read-only") && world.record_count == 0, "%s", changes[i]);
        hang_up(ida);
    }
    struct talker *max = world_connect_as(&world, SERVICE_NOTHING);
    say(max, "hello token=write\nresource q\nrequest p q\n");
    CHECK(heard(max, "granted"));
    for (size_t i = 0; i < world.record_count; i++) /* the journal is no place for tokens */
        CHECK(!memmem(world.records[i].bytes, world.records[i].length, "write", 5));
    /* before HELLO nothing but that */
    struct talker *kim = world_connect(&world);
    unsigned char bytes[64];
    give(kim, WIRE_START, WIRE_START_SIZE);
    give(kim, bytes, wire_put_u32(bytes, sizeof bytes, WIRE_STATE, 0));
    frame = next_frame(kim);
    CHECK(error_code(&frame) == WIRE_NOT_ALLOWED && kim->client.closing);
    world_close(&world);
}

int main(void)
{
    quotas_hold();
    own_quotas_hold();
    memory_is_limited();
    tokens_are_asked_for();
    rights_are_minded();
    others_are_nobodys();
    return test_done();
}
