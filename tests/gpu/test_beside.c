/*
 * Several systems on one device in one process: each has its resident kernel, and none may keep
 * another from being opened, used or closed. Drivers load modules and free memory only when no
 * kernel runs in the process, so a kernel that never left would stop everybody for ever.
 *
 *     test_beside [--device N]
 */
#include "device.h"
#include "foundation/base/clock.h"
#include "foundation/base/random.h"

#include <gordian/gordian.h>

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define SYSTEMS   3
#define PROCESSES 24
#define RESOURCES 16
#define PATIENCE  300 /* seconds: a hang is a failure, not a stuck test */

/* A system on the device and its model on the CPU. */
struct pair {
    gordian_system *device, *model;
    struct random random;
};

static gordian_system *open_one(const char *engine)
{
    gordian_options options;
    gordian_system *system = NULL;
    gordian_options_init(&options);
    options.engine = engine;
    DO(gordian_open(&system, &options, &error));
    REQUIRE(system != NULL);
    for (unsigned i = 0; i < PROCESSES; i++)
        DO(gordian_add_process(system, NULL, NULL, &error));
    for (unsigned i = 0; i < RESOURCES; i++)
        DO(gordian_add_resource(system, NULL, 1, NULL, &error));
    return system;
}

static void open_pair(struct pair *pair, uint64_t seed)
{
    random_seed(&pair->random, seed);
    pair->device = open_one("cuda");
    pair->model = open_one("sparse");
    CHECK_MSG(strcmp(gordian_engine_name(pair->device), "cuda") == 0, "%s",
              gordian_engine_name(pair->device));
}

static void close_pair(struct pair *pair)
{
    CHECK_MSG(strcmp(gordian_engine_name(pair->device), "cuda") == 0, "the device was given up");
    gordian_close(pair->device);
    gordian_close(pair->model);
}

static void step(struct pair *pair)
{
    gordian_result one, other;
    gordian_event event = {
        .op = random_chance(&pair->random, 55)   ? GORDIAN_OP_REQUEST
              : random_chance(&pair->random, 80) ? GORDIAN_OP_RELEASE
                                                 : GORDIAN_OP_CANCEL,
        .process = (uint32_t)random_below(&pair->random, PROCESSES),
        .resource = (uint32_t)random_below(&pair->random, RESOURCES),
        .units = 1,
        .to = GORDIAN_NONE,
    };
    DO(gordian_feed(pair->device, &event, &one, &error));
    DO(gordian_feed(pair->model, &event, &other, &error));
    CHECK_MSG(one.outcome == other.outcome && one.refusal == other.refusal &&
                  one.served_count == other.served_count,
              "%s, not %s", gordian_outcome_text(one.outcome), gordian_outcome_text(other.outcome));
    if (other.outcome == GORDIAN_OUTCOME_DEADLOCK) {
        event.op = GORDIAN_OP_EXIT;
        DO(gordian_feed(pair->device, &event, &one, &error));
        DO(gordian_feed(pair->model, &event, &other, &error));
    }
}

/* Turn by turn, with pauses in which the kernels leave, and one opened and closed in between. */
static void test_turns(unsigned turns)
{
    struct pair pairs[SYSTEMS], guest;
    for (unsigned i = 0; i < SYSTEMS; i++)
        open_pair(&pairs[i], i + 1);
    for (unsigned turn = 0; turn < turns; turn++) {
        struct pair *pair = &pairs[turn % SYSTEMS];
        for (uint64_t events = random_below(&pair->random, 40) + 1; events > 0; events--)
            step(pair);
        if (random_chance(&pair->random, 30))
            usleep((useconds_t)random_below(&pair->random, 12000));
        if (turn % 10 == 9) {
            open_pair(&guest, turn);
            step(&guest);
            step(pair);
            close_pair(&guest);
        }
    }
    for (unsigned i = 0; i < SYSTEMS; i++)
        close_pair(&pairs[i]);
}

/* One thread never lets its kernel rest; others come and go. */
static atomic_bool enough;

static void *keep_busy(void *context)
{
    struct pair *pair = context;
    while (!atomic_load(&enough))
        step(pair);
    return NULL;
}

/* Guests that are opened, used and closed one after another: milliseconds for each. */
static double time_guests(unsigned guests)
{
    struct pair guest;
    uint64_t start = clock_ns();
    for (unsigned i = 0; i < guests; i++) {
        open_pair(&guest, i);
        for (unsigned events = 0; events < 50; events++)
            step(&guest);
        close_pair(&guest);
    }
    return (double)(clock_ns() - start) / 1e6 / guests;
}

static void test_threads(unsigned guests)
{
    struct pair busy;
    pthread_t thread;
    open_pair(&busy, 77);
    double alone = time_guests(guests);
    atomic_store(&enough, false);
    REQUIRE(pthread_create(&thread, NULL, keep_busy, &busy) == 0);
    double beside = time_guests(guests);
    atomic_store(&enough, true);
    pthread_join(thread, NULL);
    close_pair(&busy);
    printf(
        "a system opened, given 50 events and closed: %.1f ms beside a resting one, %.1f ms beside "
        "a busy one\n",
        alone, beside);
}

int main(int argc, char **argv)
{
    bool emulated = device_wanted(argc, argv) < 0;
    if (emulated)
        REQUIRE(setenv("GORDIAN_EMULATE_GPU", "1", 1) == 0);
    alarm(PATIENCE);
    test_turns(emulated ? 60 : 2000);
    test_threads(emulated ? 4 : 20);
    return test_done();
}
