/* What a token is good for: the systems there are for it, and what all sessions that show it may
 * have together. */
#include "quota_world.h"
#include "service/serve/auth/auth.h"

static struct service_grant grants[] = {
    {.rights = SERVICE_WRITE, .holder = "shop", .systems = "shop-*,stock"},
    {.rights = SERVICE_WRITE, .holder = "small", .systems = "", .max_names = 4, .max_systems = 1},
    {.rights = SERVICE_WRITE, .holder = "slow", .systems = "", .max_events = 10},
    {.rights = SERVICE_WRITE, .holder = "lean", .systems = "", .max_memory = 64 << 10},
};

static void ask_token(void *context, const char *token, size_t length, struct service_grant *grant)
{
    (void)context;
    for (size_t i = 0; i < sizeof grants / sizeof *grants; i++)
        if (strlen(grants[i].holder) == length && memcmp(grants[i].holder, token, length) == 0)
            *grant = grants[i];
}

static void with_tokens(struct service_options *options)
{
    options->authorise = ask_token;
    options->fits = auth_fits;
}

static struct talker *connect_with(struct world *world, const char *token)
{
    struct talker *talker = world_connect_as(world, SERVICE_NOTHING);
    say(talker, "hello token=%s lease=100\n", token);
    CHECK(heard(talker, "\"hello\""));
    forget(talker);
    return talker;
}

/* Other systems are not there for it, whatever it does. */
static void a_token_is_bound_to_systems(void)
{
    struct world world;
    world_open(&world, with_tokens);
    struct talker *root = world_connect(&world), *ann = connect_with(&world, "shop");
    say(root, "open shop-1 detect\nopen other detect\n");
    say(ann, "systems\n");
    CHECK_MSG(heard(ann, "shop-1") && !heard(ann, "other") && !heard(ann, "default"), "%s",
              hears(ann));
    forget(ann);
    say(ann, "resource q\n");
    CHECK_MSG(heard(ann, "no system is in use"), "%s", hears(ann));
    static const char *const wrong[] = {"use default\n", "use other\n", "close other\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        forget(ann);
        say(ann, "%s", wrong[i]);
        CHECK_MSG(heard(ann, "there is no system"), "%s: %s", wrong[i], hears(ann));
    }
    forget(ann);
    say(ann, "use shop-1\nresource q\nrequest p q\nopen stock detect\n");
    CHECK(heard(ann, "granted") && heard(ann, "\"ok\":\"open\"") && !heard(ann, "error"));
    struct talker *bob = connect_with(&world, "shop");
    say(bob, "open stocks detect\n");
    CHECK(heard(bob, "does not permit this system") && world.service->system_count == 4);
    world_close(&world);
}

/* The binary form, too. */
static void frames_are_bound_to_systems(void)
{
    struct world world;
    unsigned char bytes[200];
    world_open(&world, with_tokens);
    struct talker *ann = world_connect_as(&world, SERVICE_NOTHING);
    struct wire_frame frame = hello_as(ann, NULL, 0, 0, "shop");
    CHECK(frame.kind == WIRE_WELCOME);
    struct wire_text name = {"default", 7};
    give(ann, bytes, wire_put_name(bytes, sizeof bytes, WIRE_USE, name));
    frame = next_frame(ann);
    CHECK(error_code(&frame) == WIRE_NO_SYSTEM);
    world_close(&world);
}

/* However many sessions it opens; and after a restart. */
static void names_are_counted_together(void)
{
    struct world world;
    world_open(&world, with_tokens);
    struct talker *ann = connect_with(&world, "small"), *bob = connect_with(&world, "small"),
                  *root = world_connect(&world);
    say(ann, "process a\nprocess b\n");
    say(bob, "process c\nresource q\n");
    CHECK(!heard(ann, "error") && !heard(bob, "error"));
    say(bob, "resource r\n");
    CHECK_MSG(heard(bob, "the limit is 4"), "%s", hears(bob));
    say(root, "resource r\nprocess d\nprocess e\n");
    CHECK(!heard(root, "error"));
    say(ann, "forget a\nprocess f\n");
    CHECK_MSG(!heard(ann, "error"), "%s", hears(ann));
    say(ann, "open one detect\n");
    say(bob, "open two detect\n");
    CHECK(!heard(ann, "error") && heard(bob, "the limit is 1"));

    struct world again;
    world_open(&again, with_tokens);
    world_replay(&world, again.service, 0, world.record_count);
    service_resume(again.service);
    struct talker *eve = connect_with(&again, "small");
    say(eve, "process g\n");
    CHECK_MSG(heard(eve, "the limit is 4"), "%s", hears(eve));
    forget(eve);
    world_pass(&again, 200000); /* all leases end, and what they had goes; but resources stay */
    CHECK(again.service->session_count == 0);
    struct talker *ida = connect_with(&again, "small");
    say(ida, "process g\nprocess h\n");
    CHECK_MSG(!heard(ida, "error"), "%s", hears(ida));
    world_close(&again);
    world_close(&world);
}

static void events_are_counted_together(void)
{
    struct world world;
    world_open(&world, with_tokens);
    struct talker *ann = connect_with(&world, "slow"), *bob = connect_with(&world, "slow");
    say(ann, "resource q\n");
    for (int i = 0; i < 20; i++)
        say(i % 2 ? ann : bob, "request p%d q\n", i);
    CHECK_MSG(world.service->counters.events <= 11, "%llu events",
              (unsigned long long)world.service->counters.events);
    CHECK(service_backpressure_ms(&ann->client) > 0 && service_backpressure_ms(&bob->client) > 0);
    world_close(&world);
}

static void memory_is_counted_together(void)
{
    struct world world;
    world_open(&world, with_tokens);
    bool refused = false;
    for (int i = 0; i < 8 && !refused; i++) {
        struct talker *ann = connect_with(&world, "lean");
        for (int j = 0; j < 40 && !refused; j++) {
            say(ann, "process a-rather-long-name-of-a-process-%d-%d\n", i, j);
            refused = heard(ann, "memory quota of the token");
            forget(ann);
        }
    }
    uint64_t sum = 0;
    for (uint32_t i = 0; i < world.service->session_limit; i++)
        sum += world.service->accounts[i];
    CHECK_MSG(refused && sum <= 80 << 10, "%llu bytes", (unsigned long long)sum);
    world_close(&world);
}

int main(void)
{
    a_token_is_bound_to_systems();
    frames_are_bound_to_systems();
    names_are_counted_together();
    events_are_counted_together();
    memory_is_counted_together();
    return test_done();
}
