/* Labels: set and taken away in both forms, limits, quotas, rights, hostile texts, restarts; and
 * the table of them against a plain one. */
#include "foundation/base/names/interner.h"
#include "foundation/base/random.h"
#include "service_world.h"

#define LEASE 60000

static struct tags *tags_here(struct world *world)
{
    return &world->service->systems[0]->tags;
}

/* ---- the table */

#define IDS    20
#define KEYS   20 /* more than one may have */
#define VALUES 3

static int model[TAGS_SIDES][IDS][KEYS]; /* the value; 0: none */

static unsigned count_model(int of, uint32_t id)
{
    unsigned count = 0;
    for (int key = 0; key < KEYS; key++)
        count += model[of][id][key] != 0;
    return count;
}

static void check_model(const struct tags *tags)
{
    for (int of = 0; of < TAGS_SIDES; of++)
        for (uint32_t id = 0; id < IDS; id++)
            CHECK(tags_count(tags, (enum tags_of)of, id) == count_model(of, id));
    for (int key = 0; key < KEYS; key++)
        for (int value = 1; value <= VALUES; value++) {
            char text[40];
            snprintf(text, sizeof text, "k%d:%d", key, value);
            uint32_t number = tags_find(tags, text), users[TAGS_SIDES] = {0};
            for (int of = 0; of < TAGS_SIDES; of++)
                for (uint32_t id = 0; id < IDS; id++) {
                    bool has = model[of][id][key] == value;
                    users[of] += has;
                    CHECK(tags_has(tags, (enum tags_of)of, id, number) == has || !has);
                    CHECK(!has || tags_has(tags, (enum tags_of)of, id, number));
                }
            CHECK((number == GORDIAN_NONE) == (users[0] + users[1] == 0));
            for (int of = 0; of < TAGS_SIDES; of++)
                CHECK(tags_users(tags, (enum tags_of)of, number) == users[of]);
        }
}

static void change_model(struct tags *tags, struct random *random)
{
    int of = (int)random_below(random, TAGS_SIDES), next[KEYS];
    uint32_t id = (uint32_t)random_below(random, IDS);
    char buffers[4][40];
    struct wire_text texts[4];
    size_t count = 1 + (size_t)random_below(random, 4);
    unsigned has = 0;
    bool fits = true;
    gordian_error error = {0};
    memcpy(next, model[of][id], sizeof next);
    for (size_t i = 0; i < count; i++) {
        int key = (int)random_below(random, KEYS), value = (int)random_below(random, VALUES + 1);
        snprintf(buffers[i], sizeof *buffers, value ? "k%d:%d" : "k%d:", key, value);
        texts[i] = (struct wire_text){buffers[i], strlen(buffers[i])};
        next[key] = value;
        has = 0;
        for (int k = 0; k < KEYS; k++)
            has += next[k] != 0;
        fits &= has <= TAGS_MAX;
    }
    gordian_status status = tags_change(tags, (enum tags_of)of, id, texts, count, &error);
    CHECK(status == (fits ? GORDIAN_OK : GORDIAN_STATUS_INPUT));
    if (fits)
        memcpy(model[of][id], next, sizeof next);
}

static void test_table(void)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct random random;
    struct tags tags;
    random_seed(&random, 7);
    tags_init(&tags, &memory);
    for (unsigned i = 0; i < 4000; i++) {
        change_model(&tags, &random);
        if (random_below(&random, 40) == 0) {
            int of = (int)random_below(&random, TAGS_SIDES);
            uint32_t id = (uint32_t)random_below(&random, IDS);
            tags_drop(&tags, (enum tags_of)of, id);
            memset(model[of][id], 0, sizeof model[of][id]);
        }
        if (i % 50 == 0)
            check_model(&tags);
    }
    check_model(&tags);
    CHECK(tags.limit <= KEYS * VALUES + 4); /* numbers come back */
    tags_free(&tags);
}

/* ---- the two forms */

static uint16_t send_label(struct talker *talker, uint8_t what, uint32_t id, const char *text,
                           size_t length)
{
    unsigned char bytes[400];
    struct wire_text texts[] = {{text, length}};
    const struct wire_label label = {what, id, texts, 1};
    forget(talker);
    give(talker, bytes, wire_put_label(bytes, sizeof bytes, &label));
    struct wire_frame frame = next_frame(talker);
    CHECK(frame.kind == WIRE_DONE || frame.kind == WIRE_ERROR);
    return error_code(&frame);
}

static void test_forms(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world), *bob = world_connect(&world);
    say(ann, "resource q\nprocess p\n");
    say(ann, "label process p team:pay env:prod\n");
    CHECK(heard(ann, "{\"ok\":\"label\",\"system\":\"default\"}"));
    say(ann, "state p\n");
    CHECK(heard(ann, "\"labels\":[\"team:pay\",\"env:prod\"]"));
    say(ann, "label process p team:shop env:\n");
    say(ann, "state p\n");
    CHECK(heard(ann, "\"labels\":[\"team:shop\"]"));
    say(ann, "label process p team:\n");
    say(ann, "state p\n");
    CHECK(!heard(ann, "labels"));
    CHECK(tags_find(tags_here(&world), "team:shop") == GORDIAN_NONE);
    const char *const wrong[][2] = {
        {"label\n", "expected process or resource"},
        {"label process\n", "expected a name"},
        {"label process p\n", "expected a label"},
        {"label thing p a:b\n", "expected process or resource"},
        {"label process nobody a:b\n", "no process or resource of this name"},
        {"label process p ab\n", "KEY:VALUE"},
        {"label process p :b\n", "KEY:VALUE"},
        {"label process p a:b=c\n", "'='"},
        {"label process p a:1 a:2 b\n", "KEY:VALUE"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        size_t records = world.record_count;
        say(ann, "%s", wrong[i][0]);
        CHECK_MSG(heard(ann, wrong[i][1]) && heard(ann, "\"code\":6"), "%s%s", wrong[i][0],
                  hears(ann));
        CHECK(world.record_count == records);
    }
    CHECK(tags_here(&world)->limit == 0 || tags_find(tags_here(&world), "a:2") == GORDIAN_NONE);
    hello(bob, LEASE, 0);
    char key[NAMES_KEY_MAX + 4];
    memset(key, 'k', sizeof key);
    key[NAMES_KEY_MAX] = ':';
    CHECK(send_label(bob, WIRE_RESOURCE, 0, key, NAMES_KEY_MAX + 2) == 0);
    key[NAMES_KEY_MAX] = 'k';
    key[NAMES_KEY_MAX + 1] = ':';
    CHECK(send_label(bob, WIRE_RESOURCE, 0, key, NAMES_KEY_MAX + 3) == WIRE_BAD_VALUE);
    CHECK(send_label(bob, WIRE_RESOURCE, 0, "a:\0b", 4) == WIRE_BAD_VALUE);
    CHECK(send_label(bob, WIRE_RESOURCE, 0, "a: b", 4) == WIRE_BAD_VALUE);
    CHECK(send_label(bob, WIRE_RESOURCE, 7, "a:b", 3) == WIRE_BAD_VALUE);
    /* whatever else: it is told as JSON has it, and nothing more */
    CHECK(send_label(bob, WIRE_RESOURCE, 0, "x:\"}<script>\x01\xff", 14) == 0);
    say(ann, "state q\n");
    CHECK_MSG(heard(ann, "x:\\\"}<script>\\u0001"), "%s", hears(ann));
    for (int i = 0; i < 20; i++)
        say(ann, "label process p n%d:v\n", i);
    CHECK(heard(ann, "too many labels: at most 16"));
    CHECK(tags_count(tags_here(&world), TAGS_PROCESS, 0) == 16);
    world_close(&world);
}

/* Whose is not one's own takes a right; whoever only looks labels nothing. */
static void test_rights(void)
{
    struct world world;
    world_open(&world, NULL);
    struct talker *ann = world_connect(&world);
    struct talker *bob = world_connect_as(&world, SERVICE_READ | SERVICE_SEND);
    struct talker *eve = world_connect_as(&world, SERVICE_READ);
    say(ann, "resource q\nprocess p\n");
    say(bob, "label process p a:b\n");
    CHECK_MSG(heard(bob, "of other sessions"), "%s", hears(bob));
    say(eve, "label process p a:b\n");
    CHECK_MSG(heard(eve, "read-only"), "%s", hears(eve));
    bob->client.closing = false;
    say(ann, "label process p a:b\n");
    CHECK(heard(ann, "ok"));
    world_close(&world);
}

/* ---- quotas */

static void limit_memory(struct service_options *options)
{
    options->limits.session_memory = 1 << 20;
}

static void test_quota(void)
{
    struct world world;
    world_open(&world, limit_memory);
    struct talker *ann = world_connect(&world);
    say(ann, "hello lease=60\nresource q\nprocess p\n");
    uint64_t before = world.service->accounts[ann->client.session];
    say(ann, "label process p team:pay\nlabel resource q kind:lock\n");
    uint64_t with = world.service->accounts[ann->client.session];
    CHECK(with > before + 16 && with < before + 1000);
    say(ann, "label process p team:\nlabel resource q kind:\n");
    CHECK(world.service->accounts[ann->client.session] == before);
    say(ann, "label process p team:pay\nlabel resource q kind:lock\n");
    say(ann, "remove q\nforget p\n");
    say(ann, "resource q\nprocess p\n");
    CHECK(world.service->accounts[ann->client.session] == before);
    char value[200];
    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    bool full = false;
    for (unsigned i = 0; i < 1000 && !full; i++) {
        say(ann, "process p%u\n", i);
        for (unsigned j = 0; j < TAGS_MAX && !full; j++) {
            say(ann, "label process p%u k%u:%s%u\n", i, j, value, i);
            full = heard(ann, "\"code\":8");
        }
        ann->client.out.used = ann->read = 0;
    }
    CHECK(full);
    world_close(&world);
}

/* ---- restarts */

static gordian_status load(void *context, const char *name, const void *bytes, size_t length,
                           gordian_error *error)
{
    return service_load_section(context, name, bytes, length, error);
}

static void check_copy(struct world *world, struct world *copy)
{
    compare_dumps(world->service, copy->service, "the copy");
    for (uint32_t i = 0; i < world->service->session_limit; i++)
        if (world->service->sessions[i].in_use)
            CHECK(world->service->accounts[i] == copy->service->accounts[i]);
}

static void test_restart(void)
{
    struct world world, by_journal, by_snapshot;
    gordian_error error = {0};
    world_open(&world, NULL);
    world_open(&by_journal, NULL);
    world_open(&by_snapshot, NULL);
    struct talker *ann = world_connect(&world);
    say(ann, "hello lease=3600\n");
    say(ann, "open bank avoid\nresource r 4\nprocess c r=2\nprocess d r=2\n");
    say(ann, "label process c tier:1\nlabel process d tier:2\nlabel resource r x:y\nexit d\n");
    CHECK(tags_find(&world.service->systems[1]->tags, "tier:2") == GORDIAN_NONE);
    say(ann, "use default\nresource q1\nresource q2\nprocess p1\nprocess p2\n");
    say(ann, "label process p1 team:pay env:prod\nlabel process p2 team:pay\n");
    say(ann, "label resource q1 kind:\xd9\x87\xe2\x80\xae\nlabel process p1 env:\n");
    say(ann, "forget p2\nprocess p3\n"); /* gets its id, and none of its labels */
    CHECK(tags_count(tags_here(&world), TAGS_PROCESS, 1) == 0);
    world_replay(&world, by_journal.service, 0, world.record_count);
    check_copy(&world, &by_journal);
    CHECK(service_save(world.service, load, by_snapshot.service, &error) == GORDIAN_OK);
    check_copy(&world, &by_snapshot);
    CHECK(tags_find(tags_here(&by_snapshot), "team:pay") != GORDIAN_NONE);
    world_close(&world);
    world_close(&by_journal);
    world_close(&by_snapshot);
}

/* ---- a deadlock tells the labels of all that is in it */

static char kept[400];

static gordian_status keep_labels(void *context, const struct incident *incident)
{
    (void)context;
    if (incident->id & INCIDENT_LABELS)
        snprintf(kept, sizeof kept, "%llu %s",
                 (unsigned long long)(incident->id & ~INCIDENT_LABELS), incident->processes);
    return GORDIAN_OK;
}

static void keep_them(struct service_options *options)
{
    options->journal.incident = keep_labels;
}

static void test_incident(void)
{
    struct world world;
    world_open(&world, keep_them);
    struct talker *ann = world_connect(&world);
    say(ann, "resource q1\nresource q2\nresource q3\nprocess p1\nprocess p2\nprocess p3\n");
    say(ann, "label process p1 team:pay\nlabel process p2 team:pay env:prod\n");
    say(ann, "label resource q1 kind:lock\nlabel process p3 team:other\n");
    say(ann, "subscribe deadlocks\n");
    say(ann, "request p1 q1\nrequest p2 q2\nrequest p1 q2\nrequest p2 q1\n");
    CHECK_MSG(heard(ann, "\"labels\":["), "%s", hears(ann));
    CHECK(heard(ann, "\"team:pay\"") && heard(ann, "\"env:prod\"") && heard(ann, "\"kind:lock\""));
    CHECK(!heard(ann, "team:other"));
    CHECK_MSG(strncmp(kept, "1 [", 3) == 0 && strstr(kept, "\"kind:lock\""), "%s", kept);
    world_close(&world);
}

int main(void)
{
    test_table();
    test_forms();
    test_rights();
    test_quota();
    test_restart();
    test_incident();
    return test_done();
}
