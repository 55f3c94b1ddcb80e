/* Who blocks how many, worked out in slices. */
#include "service/serve/http/blockers.h"
#include "service_world.h"

#define MANY (3 * BLOCKERS_SLICE)

/* Turns of the loop until something new was found. */
static const struct blockers_system *find(struct blockers *blockers, struct world *world)
{
    struct served *served = world->service->systems[0];
    const struct blockers_system *known = blockers_ask(blockers, served);
    REQUIRE(known);
    uint64_t before = known->found;
    world->now += 10;
    for (int i = 0; i < 1000 && (known->found == 0 || known->found == before); i++)
        blockers_tick(blockers);
    CHECK(known->found > 0 && known->worked <= BLOCKERS_SLICE);
    return known;
}

static const struct blockers_root *root_named(const struct blockers_system *known,
                                              const struct served *served, const char *name)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    for (uint32_t i = 0; i < known->top_count; i++)
        if (strcmp(served_process_label(served, known->top[i].process, buffer), name) == 0)
            return &known->top[i];
    return NULL;
}

/* Everybody waits for what number i / 4 has: 0 to 3 for nobody. */
static void a_forest(void)
{
    struct world world;
    struct blockers blockers;
    world_open(&world, NULL);
    blockers_init(&blockers, world.service);
    struct talker *ann = world_connect(&world);
    static uint32_t behind[MANY];
    for (unsigned i = 0; i < MANY; i++)
        say(ann, "resource q%u\nrequest p%u q%u\n", i, i, i);
    for (unsigned i = 4; i < MANY; i++)
        say(ann, "request p%u q%u\n", i, i / 4);
    forget(ann);
    for (unsigned i = MANY; i-- > 4;)
        behind[i / 4] += behind[i] + 1;
    find(&blockers, &world);
    const struct blockers_system *known = find(&blockers, &world);
    struct served *served = world.service->systems[0];
    for (unsigned i = 0; i < MANY; i++) {
        char name[16];
        int length = snprintf(name, sizeof name, "p%u", i);
        uint32_t process = served_find_process(served, name, (size_t)length);
        CHECK_MSG(blockers_behind(known, process) == behind[i], "%s: %u, not %u", name,
                  blockers_behind(known, process), behind[i]);
    }
    CHECK(known->top_count == 3 && known->top[0].behind >= known->top[1].behind);
    const struct blockers_root *two = root_named(known, served, "p2");
    CHECK(two && two->behind == behind[2] && !two->circle);
    /* whoever gives up is behind nobody any more */
    say(ann, "exit p2\n");
    find(&blockers, &world);
    known = find(&blockers, &world);
    CHECK(!root_named(known, served, "p2") && root_named(known, served, "p8"));
    /* nobody asks any more */
    world_pass(&world, BLOCKERS_MS + 1000);
    blockers_tick(&blockers);
    CHECK(blockers.systems[0] == NULL);
    blockers_free(&blockers);
    world_close(&world);
}

/* A deadlock counts as one, with all that wait behind it; who waits for itself is one, too. */
static void a_circle(void)
{
    struct world world;
    struct blockers blockers;
    world_open(&world, NULL);
    blockers_init(&blockers, world.service);
    struct talker *ann = world_connect(&world);
    for (unsigned i = 0; i < 5; i++)
        say(ann, "resource q%u\nrequest p%u q%u\n", i, i, i);
    for (unsigned i = 0; i < 5; i++)
        say(ann, "request p%u q%u\n", i, (i + 1) % 5);
    say(ann, "request a q3\nrequest b q3\nresource c\nrequest a2 c\n");
    say(ann, "resource two 2\nrequest self two=2\nrequest self two\nrequest behind two\n");
    const struct blockers_system *known = find(&blockers, &world);
    struct served *served = world.service->systems[0];
    const struct blockers_root *three = root_named(known, served, "p3"),
                               *self = root_named(known, served, "self");
    CHECK(known->top_count == 2);
    CHECK(three && three->circle && three->behind == 4 + 2);
    CHECK(self && self->circle && self->behind == 1);
    say(ann, "exit p4\nexit self\n");
    known = find(&blockers, &world);
    CHECK(!root_named(known, served, "self") && known->top_count == 1);
    blockers_free(&blockers);
    world_close(&world);
}

int main(void)
{
    a_forest();
    a_circle();
    return test_done();
}
