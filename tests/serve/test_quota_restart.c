/* Quotas after a restart: what a session has added counts for it as before, whether the journal or
 * a snapshot has brought it back, and not any longer once it has ended. */
#include "foundation/base/random.h"
#include "quota_world.h"

#define LEASE     100000
#define PROCESSES 9
#define RESOURCES 7
#define SYSTEMS   3

static void few(struct service_options *options)
{
    options->limits.session_names = PROCESSES;
    options->limits.session_resources = RESOURCES;
    options->limits.session_systems = SYSTEMS;
}

/* ------------------------------------------------------------------ ways to come back */

static gordian_status load(void *context, const char *name, const void *bytes, size_t length,
                           gordian_error *error)
{
    return service_load_section(context, name, bytes, length, error);
}

static void save_to(struct service *from, struct service *to)
{
    gordian_error error = {0};
    gordian_status status = service_save(from, load, to, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
}

static void by_journal(struct world *before, struct world *after)
{
    world_replay(before, after->service, 0, before->record_count);
}

static void by_snapshot(struct world *before, struct world *after)
{
    save_to(before->service, after->service);
}

/* A snapshot of some moment, and what came behind it. */
static void by_both(struct world *before, struct world *after)
{
    struct world between;
    size_t half = before->record_count / 2;
    world_open(&between, few);
    world_replay(before, between.service, 0, half);
    save_to(between.service, after->service);
    world_replay(before, after->service, half, before->record_count);
    world_close(&between);
}

/* A snapshot of a service that came back from one. */
static void by_two_snapshots(struct world *before, struct world *after)
{
    struct world between;
    world_open(&between, few);
    save_to(before->service, between.service);
    save_to(between.service, after->service);
    world_close(&between);
}

static void (*const ways_back[])(struct world *, struct world *) = {
    by_journal,
    by_snapshot,
    by_both,
    by_two_snapshots,
};

#define WAYS_BACK (sizeof ways_back / sizeof *ways_back)

/* ------------------------------------------------------------------ using it up */

static bool add_one(struct talker *talker, uint8_t what, unsigned number)
{
    char name[64];
    snprintf(name, sizeof name, "%s-%u-%u", what == WIRE_PROCESS ? "process" : "resource",
             talker->client.session, number);
    return add(talker, what, name, 1, NULL, 0) != GORDIAN_NONE;
}

static bool open_one(struct talker *talker, unsigned number)
{
    char name[64];
    uint32_t system = talker->client.system;
    snprintf(name, sizeof name, "system-%u-%u", talker->client.session, number);
    bool opened = open_system(talker, name, number % 2 ? 1 : 2, "");
    talker->client.system = system;
    return opened;
}

/* How much it may still add, of each kind; afterwards it is at its limits. */
static void check_left(struct talker *talker, unsigned processes, unsigned resources,
                       unsigned systems)
{
    static unsigned next;
    unsigned p = 0, q = 0, s = 0;
    while (p < 20 && add_one(talker, WIRE_PROCESS, next++))
        p++;
    while (q < 20 && add_one(talker, WIRE_RESOURCE, next++))
        q++;
    while (s < 20 && open_one(talker, next++))
        s++;
    CHECK_MSG(p == processes && q == resources && s == systems,
              "%u processes, %u resources, %u systems, not %u, %u, %u", p, q, s, processes,
              resources, systems);
}

static void drop_one(struct talker *talker, uint8_t what, uint32_t id)
{
    unsigned char bytes[32];
    read_all(talker);
    give(talker, bytes, wire_put_remove(bytes, sizeof bytes, what, &id, 1));
    CHECK(next_frame(talker).kind == WIRE_DONE);
}

/* A resource and a system of this session. */
static uint32_t a_resource_of(const struct talker *talker)
{
    const struct service *service = talker->world->service;
    const struct served *served = system_of(talker);
    uint32_t q = 0;
    while (q < served_resource_limit(served) &&
           quota_adder(service, served, q) != talker->client.session)
        q++;
    CHECK(q < served_resource_limit(served));
    return q;
}

static void close_one(struct talker *talker)
{
    const struct service *service = talker->world->service;
    unsigned char bytes[200];
    for (uint32_t i = 0; i < service->system_limit; i++) {
        const struct served *served = service->systems[i];
        if (!served || quota_opener(service, served) != talker->client.session)
            continue;
        read_all(talker);
        give(talker, bytes,
             wire_put_name(bytes, sizeof bytes, WIRE_CLOSE,
                           (struct wire_text){served->name, strlen(served->name)}));
        CHECK(next_frame(talker).kind == WIRE_DONE);
        return;
    }
    CHECK(false);
}

static struct talker *come_back(struct world *world, const struct wire_welcome *welcome)
{
    struct talker *talker = world_connect(world);
    struct wire_frame frame = hello_as(talker, welcome->session, LEASE, 0, "");
    CHECK(frame.kind == WIRE_WELCOME);
    talker->client.system = 0; /* the first one: "default" */
    return talker;
}

/* ------------------------------------------------------------------ tests */

/* Ann has all she may have, Cy nothing; then comes a restart. */
static void check_way(void (*way)(struct world *, struct world *))
{
    struct world before, after;
    world_open(&before, few);
    world_open(&after, few);
    struct talker *ann = world_connect(&before), *cy = world_connect(&before);
    struct wire_welcome anns = hello(ann, LEASE, 0), cys = hello(cy, LEASE, 0);
    check_left(ann, PROCESSES, RESOURCES, SYSTEMS);
    uint64_t taken = account(ann);
    way(&before, &after);
    service_resume(after.service);
    ann = come_back(&after, &anns);
    cy = come_back(&after, &cys);
    CHECK_MSG(account(ann) == taken, "%llu, was %llu", (unsigned long long)account(ann),
              (unsigned long long)taken);
    check_left(ann, 0, 0, 0);
    check_left(cy, PROCESSES, RESOURCES, SYSTEMS);
    /* what it gives up, or others take away from it, it may have again */
    drop_one(cy, WIRE_RESOURCE, a_resource_of(ann));
    drop_one(ann, WIRE_RESOURCE, a_resource_of(ann));
    close_one(ann);
    check_left(ann, 0, 2, 1);
    check_left(cy, 0, 0, 0);
    /* its end frees what it had; what it added stays, and is nobody's */
    uint32_t names = system_of(ann)->resource_count;
    hang_up(ann);
    world_pass(&after, LEASE + 1000);
    ann = world_connect(&after);
    hello(ann, LEASE, 0);
    check_left(ann, PROCESSES, RESOURCES, SYSTEMS);
    CHECK(system_of(ann)->resource_count == names + RESOURCES);
    world_close(&before);
    world_close(&after);
}

/* The same for memory. */
static void little(struct service_options *options)
{
    options->limits.session_memory = 4 << 20;
}

static void test_memory(void)
{
    for (size_t i = 0; i < WAYS_BACK; i++) {
        struct world before, after;
        world_open(&before, little);
        world_open(&after, little);
        struct talker *ann = world_connect(&before);
        struct wire_welcome anns = hello(ann, LEASE, 0);
        unsigned next = 0;
        CHECK(open_one(ann, next++));
        while (next < 100000 && add_one(ann, WIRE_RESOURCE, next))
            next++;
        uint64_t taken = account(ann);
        CHECK(next > 1000 && next < 100000 && taken > 3 << 20);
        ways_back[i](&before, &after);
        service_resume(after.service);
        ann = come_back(&after, &anns);
        CHECK(account(ann) == taken);
        CHECK(!add_one(ann, WIRE_RESOURCE, next) && !open_one(ann, next));
        close_one(ann);
        CHECK(account(ann) < taken && add_one(ann, WIRE_RESOURCE, next));
        world_close(&before);
        world_close(&after);
    }
}

/* ------------------------------------------------------------------ older snapshots */

struct rewriting {
    const struct service *from;
    struct service *to;
    size_t cut; /* so many bytes of the owners are left out; SIZE_MAX: all, as in version 1 */
};

/* Takes the owners out again: one byte for the opener and for each resource. */
static gordian_status rewrite(void *context, const char *name, const void *bytes, size_t length,
                              gordian_error *error)
{
    const struct rewriting *rewriting = context;
    const struct served *served;
    unsigned char copy[4096];
    struct bytes_in in = {.at = bytes, .end = (const uint8_t *)bytes + length};
    REQUIRE(length < sizeof copy);
    memcpy(copy, bytes, length);
    if (strcmp(name, "service") == 0) {
        CHECK(copy[0] == 5);
        copy[0] = rewriting->cut == SIZE_MAX ? 1 : 2;
        /* nor did these have the newest number of a grant, which is the last of it */
        for (length--; length > 0 && copy[length - 1] & 0x80;)
            length--;
        CHECK(copy[length - 1] == 0); /* the one session's token: none */
        return service_load_section(rewriting->to, name, copy, length - 1, error);
    }
    served = service_system(rewriting->from, (uint32_t)strtoul(name + strlen("system "), NULL, 10));
    size_t head = bytes_take_u64(&in), all = 1 + served->resource_count;
    size_t cut = rewriting->cut < all ? rewriting->cut : all;
    cut += cut ? 2 : 0; /* labels, of which there are none, come behind them */
    REQUIRE(head < 128 && cut <= head);
    copy[0] = (unsigned char)(head - cut);
    memmove(copy + 1 + head - cut, copy + 1 + head, length - 1 - head);
    return service_load_section(rewriting->to, name, copy, length - cut, error);
}

static void test_older_snapshot(void)
{
    for (size_t cut = 0; cut < 3; cut++) {
        struct world before, after;
        gordian_error error = {0};
        world_open(&before, few);
        world_open(&after, few);
        struct talker *ann = world_connect(&before);
        struct wire_welcome anns = hello(ann, LEASE, 0);
        check_left(ann, PROCESSES, RESOURCES, SYSTEMS);
        struct rewriting rewriting = {before.service, after.service, cut == 2 ? SIZE_MAX : cut};
        gordian_status status = service_save(before.service, rewrite, &rewriting, &error);
        CHECK_MSG(status == (cut == 1 ? GORDIAN_STATUS_INPUT : GORDIAN_OK), "%s", error.message);
        if (cut != 1) {
            service_resume(after.service);
            ann = come_back(&after, &anns);
            check_left(ann, 0, cut ? RESOURCES : 0, cut ? SYSTEMS : 0);
        }
        world_close(&before);
        world_close(&after);
    }
}

/* One of a version that is not known yet. */
static void test_newer_snapshot(void)
{
    struct world world;
    gordian_error error = {0};
    world_open(&world, NULL);
    CHECK(service_load_section(world.service, "service", "\x06\x01\x00\x00\x00", 5, &error) ==
          GORDIAN_STATUS_INPUT);
    CHECK_MSG(strstr(error.message, "version"), "%s", error.message);
    world_close(&world);
}

int main(void)
{
    for (size_t i = 0; i < WAYS_BACK; i++)
        check_way(ways_back[i]);
    test_memory();
    test_older_snapshot();
    test_newer_snapshot();
    return test_done();
}
