/*
 * Several systems in several threads at once: the library has no globals, so they must not notice
 * each other. Every thread has its own system, with one engine or another, and plays the same
 * random events; all must come to the same answers. The thread sanitizer watches.
 */
#include "foundation/base/random.h"
#include "test.h"

#include <gordian/gordian.h>
#include <pthread.h>
#include <string.h>

#define THREADS   6
#define PROCESSES 40
#define RESOURCES 30
#define EVENTS    20000

struct worker {
    pthread_t thread;
    const char *engine;
    bool general; /* requests for several things */
    uint64_t hash;
    const char *problem; /* NULL: none */
};

static void mix(struct worker *worker, uint64_t value)
{
    worker->hash = (worker->hash ^ value) * UINT64_C(0x100000001b3);
}

static bool set_up(struct worker *worker, gordian_system **system)
{
    gordian_options options;
    gordian_options_init(&options);
    options.engine = worker->engine;
    if (gordian_open(system, &options, NULL) != GORDIAN_OK)
        return false;
    for (uint32_t i = 0; i < PROCESSES + RESOURCES; i++) {
        uint32_t id;
        char name[16];
        snprintf(name, sizeof name, "n%u", i);
        gordian_status status = i < PROCESSES
                                    ? gordian_add_process(*system, name, &id, NULL)
                                    : gordian_add_resource(*system, name, 1 + i % 3, &id, NULL);
        if (status != GORDIAN_OK)
            return false;
    }
    return true;
}

/* Anything may come: most of it makes sense often enough. */
static gordian_event random_event(struct random *random, bool general, gordian_want *wants)
{
    static const gordian_op ops[] = {GORDIAN_OP_REQUEST, GORDIAN_OP_REQUEST, GORDIAN_OP_REQUEST,
                                     GORDIAN_OP_RELEASE, GORDIAN_OP_RELEASE, GORDIAN_OP_CANCEL,
                                     GORDIAN_OP_EXIT,    GORDIAN_OP_HOLD};
    gordian_event event = {.op = ops[random_below(random, 8)],
                           .process = (uint32_t)random_below(random, PROCESSES),
                           .resource = (uint32_t)random_below(random, RESOURCES),
                           .to = GORDIAN_NONE,
                           .units = 1};
    if (general && event.op == GORDIAN_OP_REQUEST) {
        for (int i = 0; i < 3; i++)
            wants[i] = (gordian_want){1, (uint32_t)random_below(random, RESOURCES)};
        event.wants = wants;
        event.want_count = 1 + random_below(random, 3);
    }
    return event;
}

static bool ask(struct worker *worker, gordian_system *system)
{
    const uint32_t *list;
    size_t count;
    gordian_snapshot *snapshot;
    gordian_report report;
    if (gordian_deadlocked(system, &list, &count, NULL) != GORDIAN_OK)
        return false;
    for (size_t i = 0; i < count; i++)
        mix(worker, list[i]);
    gordian_witness witness;
    if (count > 0 && gordian_explain(system, list[0], &witness, NULL) != GORDIAN_OK)
        return false;
    if (gordian_snapshot_take(&snapshot, system, NULL) != GORDIAN_OK)
        return false;
    bool fine = gordian_snapshot_check(snapshot, &report, NULL) == GORDIAN_OK;
    for (size_t i = 0; fine && i < report.part_count; i++)
        mix(worker, report.parts[i].process_count);
    gordian_snapshot_close(snapshot);
    return fine;
}

static bool recover(struct worker *worker, gordian_system *system)
{
    gordian_victim victim;
    gordian_status status;
    while ((status = gordian_recover_one(system, GORDIAN_POLICY_YOUNGEST, &victim, NULL)) ==
           GORDIAN_OK)
        mix(worker, victim.process);
    return status == GORDIAN_STATUS_END;
}

static const char *play(struct worker *worker, gordian_system *system)
{
    struct random random;
    random_seed(&random, 42);
    for (uint32_t i = 0; i < EVENTS; i++) {
        gordian_want wants[3];
        gordian_event event = random_event(&random, worker->general, wants);
        gordian_result result;
        size_t count;
        if (gordian_feed(system, &event, &result, NULL) != GORDIAN_OK)
            return "gordian_feed failed";
        mix(worker, result.outcome);
        const uint32_t *served = gordian_served(system, &count);
        for (size_t j = 0; j < count; j++)
            mix(worker, served[j]);
        if (i % 50 == 0 && !ask(worker, system))
            return "a question failed";
        if (i % 200 == 0 && !recover(worker, system))
            return "recovery failed";
    }
    return NULL;
}

static void *work(void *context)
{
    struct worker *worker = context;
    gordian_system *system = NULL;
    worker->problem =
        set_up(worker, &system) ? play(worker, system) : "the system cannot be set up";
    gordian_close(system);
    return NULL;
}

static void all_at_once(bool general)
{
    static const char *const any[] = {"sparse", "matrix", "reduce"};
    static const char *const for_general[] = {"sparse", "reduce", "auto"};
    struct worker workers[THREADS] = {0};
    for (int i = 0; i < THREADS; i++) {
        workers[i].engine = general ? for_general[i % 3] : any[i % 3];
        workers[i].general = general;
        REQUIRE(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_join(workers[i].thread, NULL) == 0);
    for (int i = 0; i < THREADS; i++) {
        CHECK_MSG(!workers[i].problem, "thread %d, engine %s: %s", i, workers[i].engine,
                  workers[i].problem ? workers[i].problem : "");
        CHECK_MSG(workers[i].hash != 0 && workers[i].hash == workers[0].hash,
                  "thread %d, engine %s: other answers than engine %s", i, workers[i].engine,
                  workers[0].engine);
    }
}

int main(void)
{
    all_at_once(false);
    all_at_once(true);
    return test_done();
}
