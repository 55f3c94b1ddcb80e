/* The store of a process that is killed: at any moment, at any write, and after writes that failed.
 * What was acknowledged is there, and nothing that was left behind is taken for damage. */
#define _GNU_SOURCE /* fallocate */
#include "failing_calls.h"
#include "store_world.h"

#include <sys/mman.h>

/* What the victim says, where its end does not matter. */
struct said {
    _Atomic uint64_t committed;
    _Atomic bool ready;
};

/* What happens to it once it runs: see failing_calls.h. */
struct trouble {
    int full_in, full_for, sync_in;
};

static void live(struct world *world, struct said *said, uint64_t seed,
                 const struct trouble *trouble)
{
    struct store *store;
    struct random random;
    gordian_error error = {0};
    random_seed(&random, seed);
    if (world_open(world, &store, NULL, &error) != GORDIAN_OK || test_failed) {
        fprintf(stderr, "a child cannot start: %s\n", error.message);
        _exit(3);
    }
    said->committed = store_committed(store);
    said->ready = true;
    if (trouble) {
        failing_full_for = trouble->full_for;
        failing_full_in = trouble->full_in;
        failing_sync_in = trouble->sync_in;
    }
    for (;;) {
        world_append(world, store, (unsigned)random_below(&random, 40));
        if (random_chance(&random, 20) &&
            store_incident(store, &(struct incident){.id = world->number + 1, .system = "s"}))
            _exit(4);
        if (store_snapshot_due(store))
            world_snapshot(world, store, (size_t)random_below(&random, 2000000));
        store_seal(store);
        store_poll(store);
        said->committed = store_committed(store);
        if (random_chance(&random, 10))
            usleep(1000);
        if (store_last(store) - store_committed(store) > 5000)
            usleep(20000);
    }
}

/* ---- at any moment */

/* One life after the other in one folder, of which each begins with what the last one left. */
struct lives {
    struct world world;
    struct random random;
    struct said *said;
};

static void lives_begin(struct lives *lives, enum store_durability durability, uint64_t seed)
{
    lives->said =
        mmap(NULL, sizeof *lives->said, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(lives->said != MAP_FAILED);
    world_make(&lives->world);
    lives->world.options.durability = durability;
    random_seed(&lives->random, seed + durability);
}

/* What was acknowledged is there. */
static void lives_check(struct lives *lives)
{
    struct store *store;
    gordian_error error = {0};
    const struct world *world = &lives->world;
    gordian_status status = world_open(&lives->world, &store, NULL, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
    REQUIRE(status == GORDIAN_OK);
    CHECK_MSG(world->options.durability == STORE_NONE || world->number >= lives->said->committed,
              "record %llu, not %llu", (unsigned long long)world->number,
              (unsigned long long)lives->said->committed);
    store_close(store);
}

static void lives_end(struct lives *lives)
{
    world_remove(&lives->world);
    munmap(lives->said, sizeof *lives->said);
}

static void test_killed(enum store_durability durability)
{
    struct lives lives;
    lives_begin(&lives, durability, 77);
    lives.world.options.snapshot_bytes = 50000;
    for (unsigned round = world_scale(8); round > 0; round--) {
        int status;
        lives.said->ready = false;
        lives.said->committed = 0;
        uint64_t seed = random_next(&lives.random);
        pid_t child = fork();
        if (child == 0)
            live(&lives.world, lives.said, seed, NULL);
        REQUIRE(child > 0);
        for (unsigned i = 0; i < 60000 && !lives.said->ready; i++)
            usleep(10000);
        CHECK(lives.said->ready);
        usleep((unsigned)random_below(&lives.random, 60000));
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        CHECK(WIFSIGNALED(status));
        lives_check(&lives);
    }
    lives_end(&lives);
}

/* Killed at any write, or after one that failed, again and again: the next one starts from what the
 * last one left, with whatever was unfinished under what it writes. */
static void test_killed_writing(enum store_durability durability)
{
    struct lives lives;
    struct random *random = &lives.random;
    lives_begin(&lives, durability, 99);
    lives.world.options.snapshot_bytes = 5000;
    lives.world.options.retry_ms = 1;
    for (unsigned round = world_scale(20); round > 0; round--) {
        int status, patience = random_chance(random, 50) ? 60 : 1500;
        uint64_t seed = random_next(random), until = random_below(random, (uint64_t)patience);
        struct trouble trouble = {
            .full_in = (int)random_below(random, until + 1),
            .full_for = random_chance(random, 50) ? 1 : (int)random_below(random, 40),
            .sync_in = random_chance(random, 50) ? 0 : (int)random_below(random, 30),
        };
        pid_t child = fork();
        if (child == 0) {
            failing_death_in = (int)until + 1;
            live(&lives.world, lives.said, seed, &trouble);
        }
        REQUIRE(child > 0);
        waitpid(child, &status, 0);
        REQUIRE(WIFSIGNALED(status));
        if (round % 4 == 1)
            lives_check(&lives);
    }
    lives_end(&lives);
}

/* ---- after a write that failed
 *
 * Of a large batch half is in the journal when the disk is full, or all of it when a sync fails.
 * What comes next is shorter, and must not leave the rest of it behind. */

static void fail_and_go_on(struct world *world)
{
    struct store *store;
    struct store_figures figures;
    gordian_error error = {0};
    REQUIRE(world_open(world, &store, NULL, &error) == GORDIAN_OK);
    world_keep(world, store, 20);
    if (world->options.durability == STORE_FULL)
        failing_sync_in = 1;
    else
        failing_full_for = 1;
    world_append(world, store, 3000);
    store_seal(store);
    WORLD_WAIT(store, (store_figures(store, &figures), figures.failures > 0));
    WORLD_WAIT(store, store_committed(store) == store_last(store));
    world_keep(world, store, 1);
    WORLD_WAIT(store, (store_figures(store, &figures), figures.lag_records == 0));
}

/* The same, and killed before the next try: what was not acknowledged is left out. */
static void fail_and_die(struct world *world)
{
    struct store *store;
    struct store_figures figures;
    gordian_error error = {0};
    world->options.retry_ms = 1000000;
    REQUIRE(world_open(world, &store, NULL, &error) == GORDIAN_OK);
    world_keep(world, store, 20);
    WORLD_WAIT(store, (store_figures(store, &figures), figures.lag_records == 0));
    failing_full_for = 1;
    world_append(world, store, 3000);
    store_seal(store);
    WORLD_WAIT(store, (store_figures(store, &figures), figures.failures > 0));
}

static void test_leftovers(enum store_durability durability)
{
    struct world world;
    struct store *store;
    gordian_error error = {0};
    world_make(&world);
    world.options.durability = durability;
    for (unsigned round = 1; round <= 2; round++) {
        world_die(&world, fail_and_go_on);
        gordian_status status = world_open(&world, &store, NULL, &error);
        CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
        REQUIRE(status == GORDIAN_OK);
        CHECK_MSG(world.number == 3021 * round, "%llu records", (unsigned long long)world.number);
        store_close(store);
    }
    struct store_found found;
    world_die(&world, fail_and_die);
    REQUIRE(world_open(&world, &store, &found, &error) == GORDIAN_OK);
    CHECK(world.number == 2 * 3021 + 20 && found.cut && strstr(found.note, "unfinished"));
    store_close(store);
    world_remove(&world);
}

int main(void)
{
    test_killed(STORE_BATCH);
    test_killed(STORE_FULL);
    test_killed(STORE_NONE);
    if (getenv("GORDIAN_TEST_POSTGRES"))
        return test_done(); /* the rest fails writes to files */
    test_killed_writing(STORE_BATCH);
    test_killed_writing(STORE_FULL);
    test_killed_writing(STORE_NONE);
    test_leftovers(STORE_BATCH);
    test_leftovers(STORE_FULL);
    test_leftovers(STORE_NONE);
    return test_done();
}
