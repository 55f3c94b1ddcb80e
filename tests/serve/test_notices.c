/* The service, driven without sockets: what clients are told that they did not ask for, and when
 * incidents begin and end. */
#include "service_world.h"

/* Who has said nothing yet may be about to speak either form: it is told nothing it might take for
 * an answer. */
static void the_silent_are_told_nothing(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world), *bob = world_connect(&world),
                  *eve = world_connect(&world);
    say(ann, "ping\n");
    give(eve, WIRE_START, WIRE_START_SIZE);
    forget(ann);
    struct talker *all[] = {ann, bob, eve};
    for (size_t i = 0; i < 3; i++) {
        service_refuse(&all[i]->client, WIRE_STOPPING, 1000, "the service stops");
        CHECK(all[i]->client.closing);
    }
    CHECK(heard(ann, "\"code\":14") && bob->client.out.used == 0);
    struct wire_frame frame = next_frame(eve);
    CHECK(error_code(&frame) == WIRE_STOPPING);
    world_close(&world);
}

/* Processes p0, p1, ... hold q0, q1, ..., and each but the last waits for the next. */
static void make_chain(struct talker *talker, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        say(talker, "resource q%u\nrequest p%u q%u\n", i, i, i);
    for (unsigned i = 0; i < count - 1; i++)
        say(talker, "request p%u q%u\n", i, i + 1);
    forget(talker);
}

/* How many processes are known to be part of an incident. */
static unsigned members_of(const struct served *served)
{
    unsigned count = 0;
    for (uint32_t p = 0; p < served->process_room; p++)
        count += served_incident(served, p) != GORDIAN_NONE;
    return count;
}

/* Whoever closes a deadlock and asked for notices gets both, each a line of its own. */
static void notices_do_not_split_answers(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world);
    say(ann, "subscribe deadlocks\nresource a 2\nrequest p a=2\n");
    say(ann, "request p a\n");
    const char *answer = strstr(hears(ann), "{\"seq\":2,"), *notice = strstr(hears(ann), "{\"inc");
    REQUIRE(answer && notice);
    CHECK(answer == hears(ann) || answer[-1] == '\n');
    CHECK(notice == hears(ann) || notice[-1] == '\n');
    world_close(&world);
}

/* Where units are counted, somebody who is no member may end an incident, and somebody who waited
 * behind one may be deadlocked without it. */
static void incidents_of_units(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world);
    const struct served *served = world.service->systems[0];
    say(ann, "resource a 2\nresource b 2\nrequest p a=2 b\nrequest p a\nrequest q b\n");
    say(ann, "request q b\n"); /* for p's unit: of its own incident, but it is p's to end */
    CHECK(heard(ann, "\"deadlock\"") && served->incident_count == 2 && world.note_count == 2);
    say(ann, "exit p\n");
    CHECK(served->incident_count == 0 && world.note_count == 4 && served->waiting == 0);
    say(ann, "exit q\nresource c 2\nrequest p c b\nrequest q c\nrequest p a=2 b=2\n");
    say(ann, "request q c=2 a\n");
    CHECK(heard(ann, "\"doomed\"") && served->incident_count == 1 && world.notes[4].id == 3);
    say(ann, "exit p\n"); /* q still holds the unit it waits for */
    CHECK(served->incident_count == 1 && world.notes[5].ended && world.note_count == 7);
    CHECK(world.notes[6].id == 4 && !world.notes[6].ended &&
          strcmp(world.notes[6].requester, "q") == 0);
    say(ann, "cancel q\n");
    CHECK(served->incident_count == 0 && world.notes[7].id == 4 && world.notes[7].ended);
    world_close(&world);
}

/* A notice of an event says all of it: who watches can follow the system by them. */
static void events_are_told_whole(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world), *eve = world_connect(&world);
    say(eve, "use default\nsubscribe all\n");
    say(ann, "resource a 2\nresource b\nrequest p a=2 b\nawait q any of p r\nrelease p a=2\n");
    CHECK(heard(eve,
                "\"seq\":1,\"op\":\"request\",\"process\":\"p\",\"wants\":[{\"resource\":\"a\","
                "\"units\":2},{\"resource\":\"b\",\"units\":1}]"));
    CHECK(heard(eve, "\"seq\":2,\"op\":\"await\",\"process\":\"q\",\"needs\":1,\"wants\":[{"
                     "\"process\":\"p\"},{\"process\":\"r\"}]"));
    CHECK(heard(eve, "\"seq\":3,\"op\":\"release\",\"process\":\"p\",\"wants\":[{\"resource\":"
                     "\"a\",\"units\":2}]"));
    world_close(&world);
}

/* Whoever closes a deadlock of very many is not told all of them, nor does everybody wait for it.
 */
static void a_large_deadlock_is_told_in_part(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world);
    enum { COUNT = 16400 };
    make_chain(ann, COUNT);
    say(ann, "request p%u q0\n", COUNT - 1);
    CHECK(heard(ann, "\"deadlock\"") && heard(ann, "\"truncated\":true"));
    CHECK_MSG(strlen(hears(ann)) < 200000, "%zu bytes", strlen(hears(ann)));
    const struct served *served = world.service->systems[0];
    world_tick(&world);
    CHECK(served->incident_count == 1 && members_of(served) == COUNT);
    say(ann, "cancel p77\n");
    CHECK(served->incident_count == 0 && members_of(served) == 0);
    world_close(&world);
}

/* Who is on a large cycle is found out by and by: those who want to know of their own are told
 * then; everybody else at once. */
static void members_of_a_large_cycle(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world), *bob = world_connect(&world),
                  *eve = world_connect(&world), *joe = world_connect(&world);
    enum { COUNT = 20000 };
    say(bob, "subscribe mine\nresource mine\nrequest p15000 mine\n");
    say(joe, "subscribe mine\nresource his\nrequest free his\n");
    say(eve, "subscribe deadlocks\n");
    make_chain(ann, COUNT);
    forget(bob), forget(eve), forget(joe);
    say(ann, "request p%u q0\n", COUNT - 1);
    CHECK(heard(eve, "{\"incident\":{\"id\":1,") && world.note_count == 1);
    CHECK(!heard(bob, "incident") && service_is_busy(world.service));
    world_tick(&world);
    CHECK(!service_is_busy(world.service) && world.note_count == 1);
    CHECK(heard(bob, "{\"incident\":{\"id\":1,") && heard(bob, "\"witness\":["));
    CHECK(!heard(joe, "incident"));
    forget(bob);
    say(ann, "cancel p7\n");
    CHECK(heard(bob, "\"how\":\"cancelled\"") && world.note_count == 2 && world.notes[1].ended);
    /* one that is over before all on it were met */
    say(ann, "request p7 q8\n");
    CHECK(heard(ann, "\"deadlock\""));
    forget(bob), forget(joe);
    say(ann, "exit p15000\n");
    CHECK(heard(bob, "\"id\":2,") && heard(bob, "\"how\":\"exited\"") && !heard(joe, "incident"));
    CHECK(!service_is_busy(world.service) && world.service->systems[0]->incident_count == 0);
    world_close(&world);
}

static gordian_status copy_section(void *context, const char *name, const void *bytes,
                                   size_t length, gordian_error *error)
{
    return service_load_section(context, name, bytes, length, error);
}

/* Whoever of a cycle gives up ends it: also after the state was saved and loaded, and in a system
 * that has had units to count since. */
static void any_member_ends_a_cycle(void)
{
    enum { COUNT = 9000 };
    for (unsigned way = 0; way < 4; way++)
        for (unsigned leaver = 0; leaver < COUNT; leaver += 2999) {
            if (test_is_short() && leaver / 2999 != way)
                continue;
            struct world world, loaded;
            gordian_error error = {0};
            world_open(&world, NULL);
            struct talker *ann = world_connect(&world);
            make_chain(ann, COUNT);
            say(ann, "request p%u q0\nrequest late q5\n", COUNT - 1);
            if (way == 1)
                world_tick(&world);
            if (way == 2)
                say(ann, "resource many 3\nrequest x many=2\nrequest y many=2\n");
            struct world *of = &world;
            if (way == 3) {
                world_open(&loaded, NULL);
                of = &loaded;
                CHECK(service_save(world.service, copy_section, loaded.service, &error) ==
                      GORDIAN_OK);
                ann = world_connect(of);
                CHECK(members_of(of->service->systems[0]) == COUNT);
            }
            const struct served *served = of->service->systems[0];
            of->note_count = 0;
            say(ann, "cancel late\n"); /* it was behind the deadlock, not in it */
            CHECK(served->incident_count == 1 && of->note_count == 0);
            say(ann, "cancel p%u\n", leaver);
            CHECK_MSG(served->incident_count == 0 && of->note_count == 1 && of->notes[0].ended,
                      "way %u, p%u", way, leaver);
            say(ann, "request p%u q%u\n", leaver, (leaver + 1) % COUNT);
            CHECK(heard(ann, "\"deadlock\"") && served->incident_count == 1);
            world_tick(of);
            CHECK(members_of(served) == COUNT);
            world_close(&world);
            if (way == 3)
                world_close(&loaded);
        }
}

/* The most that was asked for at once since it was set to 0. */
static size_t largest;

static void *note_largest(void *context, void *pointer, size_t size)
{
    (void)context;
    largest = size > largest ? size : largest;
    if (size > 0)
        return realloc(pointer, size);
    free(pointer);
    return NULL;
}

static void count_memory(struct service_options *options)
{
    static const gordian_allocator counting = {.resize = note_largest};
    options->allocator = &counting;
}

/* A cycle begins and ends without anybody going through all who are on it. */
static void a_cycle_takes_no_memory(void)
{
    struct world world;
    world_open(&world, count_memory);
    struct talker *ann = world_connect(&world);
    const unsigned count = test_is_short() ? 40000 : 100000;
    make_chain(ann, count);
    largest = 0;
    say(ann, "request p%u q0\n", count - 1);
    CHECK(heard(ann, "\"deadlock\"") && world.service->systems[0]->incident_count == 1);
    world_tick(&world);
    say(ann, "cancel p77\n");
    CHECK(world.service->systems[0]->incident_count == 0);
    CHECK_MSG(largest < 4 * (size_t)count, "%zu bytes", largest);
    world_close(&world);
}

/* Who is granted something is told what, and by which event. */
static void grants_are_told_whole(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world), *bob = world_connect(&world);
    say(ann, "resource a 3\nresource b\nrequest p a=3 b\n");
    say(bob, "request q a=2 b\n");
    forget(bob);
    say(ann, "release p b\nrelease p a=2\n");
    CHECK_MSG(heard(bob, "{\"granted\":\"q\",\"seq\":4,\"wants\":[{\"resource\":\"a\",\"units\":2},"
                         "{\"resource\":\"b\",\"units\":1}]}"),
              "%s", hears(bob));
    world_close(&world);
}

/* How SUBSCRIBE is answered. */
static struct wire_frame subscribe(struct talker *talker, uint8_t mask)
{
    unsigned char bytes[16];
    forget(talker);
    give(talker, bytes, wire_put_u8(bytes, sizeof bytes, WIRE_SUBSCRIBE, mask));
    return next_frame(talker);
}

/* Who subscribes to events learns which was the newest. A server that stands by would never tell
 * anything, and says so, also to whoever only looks. */
static void subscribing_is_answered(void)
{
    struct world world;
    uint64_t seq = 0;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world), *bob = world_connect(&world),
                  *eve = world_connect_as(&world, SERVICE_READ);
    hello(ann, 0, 0);
    hello(eve, 0, 0);
    struct wire_frame frame = subscribe(ann, WIRE_EVERYTHING);
    CHECK(frame.kind == WIRE_DONE && wire_get_u64(&frame, &seq) && seq == 0);
    say(bob, "resource a\nrequest p a\nrelease p a\n");
    frame = subscribe(ann, WIRE_EVERYTHING | WIRE_DEADLOCKS);
    CHECK(frame.kind == WIRE_DONE && wire_get_u64(&frame, &seq) && seq == 2);
    frame = subscribe(eve, WIRE_DEADLOCKS);
    CHECK(frame.kind == WIRE_DONE && frame.size == 0);
    service_become_standby(world.service, "b:7420");
    frame = subscribe(ann, WIRE_MY_GRANTS);
    CHECK(frame.kind == WIRE_DONE && frame.size == 0);
    frame = subscribe(ann, WIRE_MY_DEADLOCKS);
    CHECK(error_code(&frame) == WIRE_NOT_LEADER);
    frame = subscribe(eve, WIRE_EVERYTHING);
    CHECK(error_code(&frame) == WIRE_NOT_LEADER);
    say(bob, "subscribe deadlocks\n");
    CHECK_MSG(heard(bob, "\"code\":18") && heard(bob, "the leader is b:7420"), "%s", hears(bob));
    say(bob, "subscribe none\n");
    CHECK(heard(bob, "\"ok\""));
    world_close(&world);
}

int main(void)
{
    subscribing_is_answered();
    grants_are_told_whole();
    a_large_deadlock_is_told_in_part();
    members_of_a_large_cycle();
    any_member_ends_a_cycle();
    a_cycle_takes_no_memory();
    the_silent_are_told_nothing();
    notices_do_not_split_answers();
    incidents_of_units();
    events_are_told_whole();
    return test_done();
}
