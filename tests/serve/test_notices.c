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

int main(void)
{
    the_silent_are_told_nothing();
    notices_do_not_split_answers();
    incidents_of_units();
    events_are_told_whole();
    return test_done();
}
