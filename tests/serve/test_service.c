/* The service, driven without sockets: sessions, leases, duplicates, gaps, notices,
 * incidents, what is malformed. */
#define _GNU_SOURCE /* memmem */
#include "service_world.h"

#include "service/serve/core/service_internal.h"

/* ------------------------------------------------------------------ lines */

static void lines_work(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world);
    say(ann, "resource a\nresource b 2\n");
    CHECK(hears(ann)[0] == '\0'); /* a declaration that is taken is not answered */
    say(ann, "request p a\n");
    CHECK(strcmp(hears(ann), "{\"seq\":1,\"op\":\"request\",\"process\":\"p\",\"result\":"
                             "\"granted\"}\n") == 0);
    say(ann, "request q a\n");
    CHECK(heard(ann, "\"seq\":2") && heard(ann, "\"blocked\""));
    say(ann, "release p a\n");
    CHECK(heard(ann, "\"released\"") && heard(ann, "\"granted_to\":[\"q\"]"));
    CHECK(!heard(ann, "{\"granted\"")); /* what one does oneself one is not told */
    say(ann, "release p a\n");
    CHECK(heard(ann, "\"error\"") && heard(ann, "\"message\""));
    say(ann, "request new nowhere\n");
    CHECK(heard(ann, "resource 'nowhere' was never declared"));
    say(ann, "exit new\n"); /* it did not come into being */
    CHECK(heard(ann, "process 'new' was never seen"));
    say(ann, "frobnicate\n");
    CHECK(heard(ann, "{\"error\":\"unknown word") && heard(ann, "\"line\":9,\"column\":1"));
    say(ann, "request p\n");
    CHECK(heard(ann, "\"line\":10") && heard(ann, "expected a resource name"));
    say(ann, "what-if p a\n");
    CHECK(heard(ann, "{\"what_if\":\"p\",\"result\":\"blocked\"}"));
    say(ann, "what-if p a=0\n");
    CHECK(heard(ann, "units must be a whole number, at least 1"));
    say(ann, "what-if p a b nowhere\n");
    CHECK(heard(ann, "no resource of this name") && heard(ann, "\"column\":15"));
    say(ann, "state q\n");
    CHECK(heard(ann, "\"holds\":{\"a\":1}"));
    say(ann, "# nothing\n\n   \n");
    CHECK(hears(ann)[0] == '\0');
    say(ann, "resource a\n"); /* the same again is fine, another is not */
    CHECK(hears(ann)[0] == '\0');
    say(ann, "resource a 5\n");
    CHECK(heard(ann, "exists already"));
    say(ann, "ping\n");
    CHECK(heard(ann, "{\"pong\":true}"));
    say(ann, "quit\n");
    CHECK(heard(ann, "\"ok\":\"quit\"") && ann->client.closing);
    world_close(&world);
}

static void lines_come_in_pieces(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world);
    const char *text = "resource a\n@1 request p a\n";
    size_t wanted, length = strlen(text), start = 0;
    for (size_t end = 1; end <= length; end++) {
        size_t used = service_take(&ann->client, text + start, end - start, SIZE_MAX, &wanted);
        CHECK(used == 0 || text[start + used - 1] == '\n');
        CHECK(wanted == end - start - used + 1);
        start += used;
    }
    CHECK(start == length && heard(ann, "granted"));
    say(ann, "@1 request p a\n"); /* the same number: not applied again */
    CHECK(heard(ann, "\"result\":\"duplicate\"") && !heard(ann, "seq"));
    say(ann, "@1 request other a\n");
    CHECK(heard(ann, "duplicate") && world.service->systems[0]->process_count == 1);
    say(ann, "@3 request p a\n");
    CHECK(heard(ann, "event 2 is missing") && heard(ann, "\"code\":7"));
    say(ann, "@x request p a\n");
    CHECK(heard(ann, "number of an event"));
    say(ann, "@2 release p a\n");
    CHECK(heard(ann, "released"));
    world_close(&world);
}

static void banks_work(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world), *bob = world_connect(&world);
    say(ann, "open bank avoid queue=yes patience=3\n");
    CHECK(heard(ann, "\"ok\":\"open\",\"system\":\"bank\""));
    say(ann, "resource r 10\nprocess a r=8\nprocess b r=9\nrequest a r=4\n");
    CHECK(heard(ann, "\"granted\"") && heard(ann, "\"sequence\""));
    say(ann, "request b r=4\n");
    CHECK(heard(ann, "\"unsafe\"") && heard(ann, "\"waits\":true") && heard(ann, "\"stuck\""));
    say(bob, "use bank\nprocess c r=1\nrequest c r=7\n");
    CHECK(heard(bob, "\"error\""));
    say(ann, "release a r=4\n");
    CHECK(heard(ann, "\"granted_to\":[\"b\"]"));
    say(ann, "exit b\nexit a\n");
    CHECK(heard(ann, "exited"));
    CHECK(service_find(world.service, "bank", 4)->process_count == 1);
    say(ann, "process q z=1\n");
    CHECK(heard(ann, "resource 'z' was never declared"));
    say(ann, "resource r 20\n");
    CHECK(hears(ann)[0] == '\0' && served_units(service_find(world.service, "bank", 4), 0) == 20);
    /* another configuration is another system */
    say(bob, "open bank avoid queue=no\n");
    CHECK(heard(bob, "\"code\":5"));
    say(bob, "open bank avoid patience=3\n");
    CHECK(heard(bob, "\"ok\""));
    say(bob, "open other avoid recover=youngest\n");
    CHECK(heard(bob, "\"column\":18"));
    say(bob, "close bank\n");
    CHECK(heard(bob, "other clients use"));
    say(ann, "use default\nclose bank\n");
    CHECK(heard(ann, "other clients use"));
    say(bob, "use default\n");
    say(ann, "close bank\nuse bank\nclose default\n");
    CHECK(heard(ann, "\"ok\":\"close\"") && heard(ann, "no system of this name") &&
          heard(ann, "\"code\":15"));
    world_close(&world);
}

/* ------------------------------------------------------------------ sessions */

static void numbers_count(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world);
    struct wire_welcome welcome = hello(ann, 60000, 0);
    CHECK(welcome.version == 1 && welcome.last == 0 && welcome.durability == WIRE_BATCH);
    uint32_t q = declare(ann, WIRE_RESOURCE, "q", 1), p = declare(ann, WIRE_PROCESS, "p", 0);
    CHECK(declare(ann, WIRE_PROCESS, "p", 0) == p);
    CHECK(send_event(ann, 1, GORDIAN_OP_REQUEST, p, q) == GORDIAN_OUTCOME_GRANTED);
    CHECK(send_event(ann, 1, GORDIAN_OP_REQUEST, p, q) == WIRE_DUPLICATE);
    CHECK(send_event(ann, 2, GORDIAN_OP_RELEASE, p, q) == GORDIAN_OUTCOME_RELEASED);
    gordian_event four[4];
    for (int i = 0; i < 4; i++)
        four[i] = (gordian_event){.op = i % 2 ? GORDIAN_OP_REQUEST : GORDIAN_OP_RELEASE,
                                  .process = p,
                                  .resource = q,
                                  .units = 1,
                                  .to = GORDIAN_NONE};
    struct wire_frame frame = send_events(ann, 2, four, 4); /* 2 is known, 3 to 5 are not */
    struct wire_results results;
    struct wire_result result;
    unsigned expected[] = {WIRE_DUPLICATE, GORDIAN_OUTCOME_GRANTED, GORDIAN_OUTCOME_RELEASED,
                           GORDIAN_OUTCOME_GRANTED};
    CHECK(frame.kind == WIRE_RESULTS && wire_get_results(&frame, &results) && results.first == 2);
    for (int i = 0; i < 4; i++)
        CHECK(wire_next_result(&results, &result) && result.outcome == expected[i]);
    frame = send_events(ann, 7, four, 1);
    CHECK(error_code(&frame) == WIRE_GAP && !ann->client.closing);
    CHECK(world.service->counters.duplicates == 2);
    /* the connection is lost; the session goes on */
    hang_up(ann);
    ann = world_connect(&world);
    frame = hello_as(ann, welcome.session, 60000, 0, "");
    CHECK(frame.kind == WIRE_WELCOME && wire_get_welcome(&frame, &welcome) && welcome.last == 5);
    CHECK(send_event(ann, 5, GORDIAN_OP_REQUEST, p, q) == WIRE_DUPLICATE);
    CHECK(send_event(ann, 6, GORDIAN_OP_RELEASE, p, q) == GORDIAN_OUTCOME_RELEASED);
    /* taken over by another connection */
    struct talker *bob = world_connect(&world);
    frame = hello_as(bob, welcome.session, 60000, 0, "");
    CHECK(frame.kind == WIRE_WELCOME && ann->client.closing && ann->woken);
    uint8_t nobody[WIRE_SESSION_SIZE] = {1};
    frame = hello_as(bob, nobody, 0, 0, "");
    CHECK(error_code(&frame) == WIRE_NO_SESSION);
    world_close(&world);
}

static void leases_end(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world), *bob = world_connect(&world);
    hello(ann, 1000, 0);
    hello(bob, 0, 0);
    uint32_t q = declare(ann, WIRE_RESOURCE, "q", 1), p = declare(ann, WIRE_PROCESS, "p", 0);
    uint32_t b = declare(bob, WIRE_PROCESS, "b", 0);
    const struct served *served = world.service->systems[0];
    CHECK(send_event(ann, 1, GORDIAN_OP_REQUEST, p, q) == GORDIAN_OUTCOME_GRANTED);
    CHECK(send_event(bob, 1, GORDIAN_OP_REQUEST, b, q) == GORDIAN_OUTCOME_BLOCKED);
    world_pass(&world, 999);
    CHECK(!ann->client.closing);
    CHECK(send_event(ann, 0, GORDIAN_OP_CANCEL, p, 0) ==
          GORDIAN_OUTCOME_REFUSED); /* a sign of life */
    world_pass(&world, 999);
    CHECK(!ann->client.closing && served->process_count == 2);
    forget(bob);
    world_pass(&world, 2); /* silent for longer than its lease */
    CHECK(ann->client.closing && served->process_count == 1);
    struct wire_frame frame = next_frame(bob);
    uint32_t granted = GORDIAN_NONE;
    CHECK(frame.kind == WIRE_GRANTED && wire_get_u32(&frame, &granted) && granted == b);
    CHECK(world.service->session_count == 1 && world.service->counters.leases_ended == 1);
    /* bob's session ends with its connection */
    hang_up(bob);
    world_pass(&world, 1);
    CHECK(served->process_count == 0 && world.service->session_count == 0);
    CHECK(served_free_units(served, q) == 1 && served->counters.lost == 2);
    world_close(&world);
}

static void some_are_kept(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world);
    hello(ann, 0, WIRE_KEEP);
    uint32_t q = declare(ann, WIRE_RESOURCE, "q", 1), p = declare(ann, WIRE_PROCESS, "p", 0);
    send_event(ann, 1, GORDIAN_OP_REQUEST, p, q);
    hang_up(ann);
    world_pass(&world, 1);
    struct served *served = world.service->systems[0];
    CHECK(served->process_count == 1 && served_free_units(served, q) == 0);
    CHECK(served->processes[p].owner == GORDIAN_NONE && world.service->session_count == 0);
    /* whoever uses it next owns it */
    struct talker *bob = world_connect(&world);
    hello(bob, 0, 0);
    CHECK(declare(bob, WIRE_PROCESS, "p", 0) == p);
    CHECK(served->processes[p].owner != GORDIAN_NONE);
    hang_up(bob);
    world_pass(&world, 1);
    CHECK(served->process_count == 0);
    /* or the system keeps */
    struct talker *eve = world_connect(&world);
    say(eve, "open keeper detect on-loss=keep\nresource r\nrequest x r\nquit\n");
    hang_up(eve);
    world_pass(&world, 1);
    served = service_find(world.service, "keeper", 6);
    CHECK(served && served->process_count == 1 && served_free_units(served, 0) == 0);
    world_close(&world);
}

/* hello once more changes the session there is. */
static void hello_again(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world);
    say(ann, "resource q\nrequest p q\nhello lease=5\n");
    CHECK(heard(ann, "\"session\"") && world.service->session_count == 1);
    say(ann, "hello lease=4294968\n"); /* more milliseconds than there are */
    CHECK(heard(ann, "expected seconds"));
    say(ann, "hello lease=4294967296ms\n");
    CHECK(heard(ann, "expected seconds"));
    hang_up(ann);
    world_pass(&world, 4000);
    CHECK(world.service->systems[0]->process_count == 1);
    world_pass(&world, 2000);
    CHECK(world.service->systems[0]->process_count == 0);
    /* a clock that is set back makes no wait last for ever */
    ann = world_connect(&world);
    say(ann, "request a q\nrequest b q\n");
    world.now -= 3600000;
    say(ann, "state b\n");
    CHECK(heard(ann, "\"waiting\":true") && heard(ann, "\"waited_ms\":0,") &&
          heard(ann, "\"since_ms\":17000"));
    world_close(&world);
}

/* Short questions with long answers: the rest waits until these have been read. */
static void answers_are_bounded(void)
{
    struct world world;
    static char text[20000 * 5];
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world);
    for (size_t i = 0; i < sizeof text; i += 5)
        memcpy(text + i, "help\n", 5);
    size_t wanted = 1, turns = 0;
    for (size_t used = 0; used < sizeof text; turns++) {
        size_t took =
            service_take(&ann->client, text + used, sizeof text - used, SIZE_MAX, &wanted);
        used += took;
        CHECK(took > 0 && ann->client.out.used < 5 << 20);
        CHECK(wanted == (used == sizeof text));
        ann->client.out.used = 0;
    }
    CHECK(turns > 1 && world.service->counters.lines == 20000);
    world_close(&world);
}

/* Dropping takes several turns when there is much to drop. */
static void many_are_dropped(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world);
    char name[32];
    struct wire_welcome welcome = hello(ann, 0, 0);
    for (int i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "p%d", i);
        declare(ann, WIRE_PROCESS, name, 0);
        forget(ann);
        ann->client.out.used = ann->read = 0;
    }
    hang_up(ann);
    service_tick(world.service);
    CHECK(world.service->systems[0]->process_count > 0);
    /* a session that is ending is not to be had any more */
    struct talker *bob = world_connect(&world);
    struct wire_frame frame = hello_as(bob, welcome.session, 60000, 0, "");
    CHECK(error_code(&frame) == WIRE_NO_SESSION);
    world_pass(&world, 1);
    CHECK(world.service->systems[0]->process_count == 0 && world.service->session_count == 0);
    world_close(&world);
}

/* The order in which free places are taken, as a snapshot has it: each once, and all of them. */
static void free_places_have_an_order(void)
{
    struct world world;
    world_open(&world, NULL);
    const uint32_t too_few[] = {0, 1}, twice[] = {1, 0, 1}, order[] = {1, 2, 0};
    REQUIRE(!session_reserve_slots(world.service, 3, NULL));
    CHECK(!session_order_free(world.service, too_few, 2));
    CHECK(!session_order_free(world.service, twice, 3));
    CHECK(session_order_free(world.service, order, 3));
    for (int i = 0; i < 3; i++) {
        struct talker *talker = world_connect(&world);
        hello(talker, 0, 0);
        CHECK(talker->client.session == order[i]);
    }
    CHECK(session_order_free(world.service, NULL, 0));
    CHECK(!session_order_free(world.service, order, 1)); /* it is taken */
    world_close(&world);
}

/* ------------------------------------------------------------------ incidents */

static void incidents_are_told(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world), *bob = world_connect(&world),
                  *eve = world_connect(&world);
    say(ann, "resource a\nresource b\nrequest p a\nsubscribe mine\n");
    say(bob, "request q b\n");
    say(eve, "subscribe deadlocks\n");
    say(ann, "request p b\n");
    forget(ann);
    forget(eve);
    say(bob, "request q a\n");
    CHECK(heard(bob, "\"deadlock\"") && heard(bob, "\"witness\":[\"q\",\"a\",\"p\",\"b\"]"));
    CHECK(heard(ann, "{\"incident\":{\"id\":1") && heard(eve, "{\"incident\":{\"id\":1"));
    CHECK(world.note_count == 1 && world.notes[0].id == 1 && !world.notes[0].ended &&
          world.notes[0].replay && strcmp(world.notes[0].requester, "q") == 0);
    say(eve, "request late a\n");
    CHECK(heard(eve, "\"doomed\"") && world.note_count == 1);
    forget(ann);
    forget(eve);
    say(bob, "cancel q\n");
    CHECK(heard(eve, "\"how\":\"cancelled\"") && heard(ann, "\"how\":\"cancelled\""));
    CHECK(world.note_count == 2 && world.notes[1].ended == world.now &&
          strcmp(world.notes[1].how, "cancelled") == 0);
    say(bob, "request q a\n");
    CHECK(heard(bob, "\"deadlock\"") && world.notes[2].id == 2);
    hang_up(bob); /* lost: its process goes, and p gets what it waits for */
    world_pass(&world, 1);
    CHECK(strcmp(world.notes[3].how, "lost") == 0);
    CHECK(heard(ann, "{\"granted\":\"p\""));
    CHECK(world.service->systems[0]->incident_count == 0);
    /* those of a system that is closed end with it */
    say(ann, "open other detect\nresource a\nresource b\nrequest x a\nrequest y b\nrequest x b\n");
    say(ann, "request y a\nuse default\nclose other\n");
    CHECK(heard(ann, "\"ok\":\"close\"") && world.notes[4].id == 3 && !world.notes[4].ended);
    CHECK(world.note_count == 6 && world.notes[5].id == 3 && world.notes[5].ended == world.now &&
          strcmp(world.notes[5].how, "closed") == 0);
    world_close(&world);
}

/* Where units are counted, one of a deadlock may be let run while it stands; if it is deadlocked
 * again, that is another one. */
static void who_ran_is_told_anew(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world);
    say(ann, "resource x 4\nresource z\nresource w\nresource u\nresource v\nrequest r z\n"
             "request m x\nrequest m w\nrequest k x\nrequest l x\nrequest p x\nrequest p v\n"
             "request q u\nrequest m z\nrequest k z\nrequest l z\nrequest p w\nrequest q v\n");
    CHECK(world.note_count == 0);
    say(ann, "request r x=3\n");
    CHECK(heard(ann, "\"deadlock\"") && world.note_count == 1 && world.notes[0].id == 1);
    say(ann, "cancel m\nrelease m w\n");
    CHECK(heard(ann, "\"granted_to\":[\"p\"]") && world.note_count == 1); /* k, l and r stand */
    say(ann, "request p u\n");
    CHECK(world.note_count == 2 && world.notes[1].id == 2 && !world.notes[1].ended &&
          strcmp(world.notes[1].requester, "p") == 0);
    say(ann, "cancel p\n");
    CHECK(world.note_count == 3 && world.notes[2].id == 2 && world.notes[2].ended);
    CHECK(world.service->systems[0]->incident_count == 1);
    say(ann, "exit r\n");
    CHECK(world.note_count == 4 && world.notes[3].id == 1 && world.notes[3].ended);
    world_close(&world);
}

static void victims_are_chosen(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world);
    say(ann, "open auto detect recover=priority\nresource a\nresource b\n"
             "process p priority=1\nprocess q priority=9\n"
             "request p a\nrequest q b\nrequest p b\n");
    say(ann, "request q a\n");
    CHECK(heard(ann, "\"deadlock\"") && heard(ann, "\"recovered\":[{\"process\":\"p\"") &&
          heard(ann, "\"granted_to\":[\"q\"]"));
    CHECK(world.note_count == 2 && strcmp(world.notes[1].how, "recovered") == 0 &&
          strcmp(world.notes[1].victim, "p") == 0);
    const struct served *served = service_find(world.service, "auto", 4);
    CHECK(served->waiting == 0 && served->counters.recovered == 1 && served->incident_count == 0);
    /* in the binary form whom recovery serves is with the event's result */
    struct talker *bob = world_connect(&world);
    hello(bob, 0, 0);
    unsigned char bytes[64];
    give(bob, bytes, wire_put_name(bytes, sizeof bytes, WIRE_USE, (struct wire_text){"auto", 4}));
    uint32_t c = declare(bob, WIRE_RESOURCE, "c", 1), d = declare(bob, WIRE_RESOURCE, "d", 1);
    uint32_t x = declare(bob, WIRE_PROCESS, "x", 0), y = declare(bob, WIRE_PROCESS, "y", 0);
    send_event(bob, 1, GORDIAN_OP_REQUEST, x, c);
    send_event(bob, 2, GORDIAN_OP_REQUEST, y, d);
    send_event(bob, 3, GORDIAN_OP_REQUEST, x, d);
    gordian_event last = {
        .op = GORDIAN_OP_REQUEST, .process = y, .resource = c, .units = 1, .to = GORDIAN_NONE};
    struct wire_frame frame = send_events(bob, 4, &last, 1);
    struct wire_results results;
    struct wire_result result;
    uint32_t served_id = GORDIAN_NONE;
    CHECK(wire_get_results(&frame, &results) && wire_next_result(&results, &result));
    CHECK(result.outcome == GORDIAN_OUTCOME_DEADLOCK && result.served == 1 &&
          wire_next_served(&results, &served_id) && served_id == x);
    CHECK(next_frame(bob).kind == 0); /* and not told twice */
    world_close(&world);
}

static void everything_is_told(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world), *eve = world_connect(&world);
    say(ann, "resource a\n");
    say(eve, "subscribe all\n");
    forget(eve);
    say(ann, "request p a\n");
    CHECK(heard(eve,
                "{\"event\":{\"system\":\"default\",\"seq\":1,\"op\":\"request\",\"process\":\"p\","
                "\"wants\":[{\"resource\":\"a\",\"units\":1}],"
                "\"result\":\"granted\"}}"));
    /* of several events in one frame each tells whom it has served */
    say(ann, "resource b\nresource c\nrequest p b\nrequest p c\n");
    say(ann, "request x a\nrequest y b\nrequest z c\n");
    const struct served *served = world.service->systems[0];
    gordian_event releases[3];
    for (uint32_t i = 0; i < 3; i++) {
        char name[] = {(char)('a' + i), '\0'};
        releases[i] = (gordian_event){.op = GORDIAN_OP_RELEASE,
                                      .process = served_find_process(served, "p", 1),
                                      .resource = served_find_resource(served, name, 1),
                                      .units = 1,
                                      .to = GORDIAN_NONE};
    }
    struct talker *bob = world_connect(&world);
    hello(bob, 0, 0);
    forget(eve);
    send_events(bob, 1, releases, 3);
    CHECK(heard(eve, "\"granted_to\":[\"x\"]") && heard(eve, "\"granted_to\":[\"y\"]") &&
          heard(eve, "\"granted_to\":[\"z\"]"));
    say(eve, "subscribe none\n");
    forget(eve);
    say(ann, "release x a\n");
    CHECK(hears(eve)[0] == '\0');
    say(eve, "subscribe deadlocks,nonsense\n");
    CHECK(heard(eve, "error"));
    world_close(&world);
}

/* ------------------------------------------------------------------ what is wrong */

static void nonsense_is_refused(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world);
    CHECK(give(ann, "\0", 1) == 0);
    give(ann, "\0GRX", 4);
    struct wire_frame frame = next_frame(ann);
    CHECK(error_code(&frame) == WIRE_MALFORMED && ann->client.closing);
    hang_up(ann);
    ann = world_connect(&world);
    give(ann, "\0GRD\2\0\0\0", 8);
    frame = next_frame(ann);
    CHECK(error_code(&frame) == WIRE_BAD_VERSION && ann->client.closing);
    hang_up(ann);
    static const struct {
        const char *bytes;
        size_t size;
        unsigned code;
    } cases[] = {
        {"\0\0\0\0", 4, WIRE_TOO_LARGE},
        {"\1\0\x10\0", 4, WIRE_TOO_LARGE},
        {"\1\0\0\0\x63", 5, WIRE_MALFORMED}, /* no such kind */
        {"\2\0\0\0\5\1", 6, WIRE_MALFORMED}, /* EVENTS cut short */
        {"\6\0\0\0\2\xff"
         "abcd",
         10, WIRE_MALFORMED},                              /* a name that is longer */
        {"\5\0\0\0\4\xff\xff\xff\xff", 9, WIRE_MALFORMED}, /* too many declarations */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ann = world_connect(&world);
        hello(ann, 0, 0);
        forget(ann);
        give(ann, cases[i].bytes, cases[i].size);
        frame = next_frame(ann);
        CHECK_MSG(error_code(&frame) == cases[i].code, "case %zu: %u", i, error_code(&frame));
        CHECK(ann->client.closing);
        hang_up(ann);
        world_pass(&world, 1);
    }
    ann = world_connect(&world);
    say(ann, "ping \1\2\3 \xff\n");
    CHECK(heard(ann, "pong"));
    give(ann, "ping\0\n", 6);
    CHECK(heard(ann, "error"));
    static char line[(1 << 20) + 10];
    memset(line, 'x', sizeof line);
    forget(ann);
    give(ann, line, sizeof line);
    CHECK(heard(ann, "larger than 1 MiB") && ann->client.closing);
    CHECK(world.service->systems[0]->process_count == 0);
    world_close(&world);
}

/* ------------------------------------------------------------------ the journal */

static void nothing_without_the_journal(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world);
    hello(ann, 60000, 0);
    uint32_t q = declare(ann, WIRE_RESOURCE, "q", 1), p = declare(ann, WIRE_PROCESS, "p", 0);
    world.broken = true;
    gordian_event event = {
        .op = GORDIAN_OP_REQUEST, .process = p, .resource = q, .units = 1, .to = GORDIAN_NONE};
    struct wire_frame frame = send_events(ann, 1, &event, 1);
    CHECK(error_code(&frame) == WIRE_NOT_KEPT && !ann->client.closing);
    CHECK(world.service->systems[0]->seq == 0);
    world.broken = false;
    CHECK(send_event(ann, 1, GORDIAN_OP_REQUEST, p, q) == GORDIAN_OUTCOME_GRANTED);
    /* no memory for a record that is of something applied: it is kept and tried again */
    size_t before = world.record_count;
    world.append_fails = true;
    CHECK(send_event(ann, 2, GORDIAN_OP_RELEASE, p, q) == GORDIAN_OUTCOME_RELEASED);
    CHECK(world.service->append_pending && ann->client.mark == before + 1);
    frame = send_events(ann, 3, &event, 1);
    CHECK(error_code(&frame) == WIRE_NOT_KEPT);
    /* until then nobody writes over it, not even who only says hello or leaves */
    struct talker *bob = world_connect(&world), *eve = world_connect(&world);
    frame = hello_as(bob, NULL, 1000, 0, "");
    CHECK(frame.kind == WIRE_ERROR && world.service->session_count == 1);
    say(eve, "hello\nresource r\nopen other detect\n");
    CHECK(!heard(eve, "\"ok\"") && world.service->system_count == 1);
    hang_up(eve);
    world.append_fails = false;
    service_tick(world.service);
    CHECK(!world.service->append_pending && world.record_count == before + 1);
    CHECK(send_event(ann, 3, GORDIAN_OP_REQUEST, p, q) == GORDIAN_OUTCOME_GRANTED);
    struct world other;
    world_open(&other, NULL);
    world_replay(&world, other.service, 0, world.record_count);
    compare_dumps(world.service, other.service, "what the journal brings back");
    world_close(&other);
    world_close(&world);
}

int main(void)
{
    lines_work();
    lines_come_in_pieces();
    banks_work();
    numbers_count();
    leases_end();
    some_are_kept();
    many_are_dropped();
    free_places_have_an_order();
    hello_again();
    answers_are_bounded();
    incidents_are_told();
    who_ran_is_told_anew();
    victims_are_chosen();
    everything_is_told();
    nonsense_is_refused();
    nothing_without_the_journal();
    return test_done();
}
