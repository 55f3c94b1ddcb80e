/*
 * A soak: many threads, one system, and no wake-up is lost.
 *
 *     soak-shared [SECONDS [THREADS]]     0, or nothing: one round of each kind
 *
 * Threads lock rows, sleep until served, are cancelled, chosen as victims, leave and come again. A
 * watchdog looks at them all the while. Its verdicts depend on no clock:
 *
 *   - Lost: a thread sleeps although its wait has ended. That it has ended is what the system
 *     says, or what the recorder was told, which is somebody else's word. Whoever ends a wait
 *     wakes the sleeper before its call returns; so the watchdog lets all calls go by that were
 *     under way, and then asks the kernel whether the thread sleeps. One that was woken does not,
 *     however long it has to wait for a core.
 *   - Not served: somebody waits for what is free.
 *   - Stuck: all threads sleep, and all their processes wait.
 *
 * With LOSES_WAKES (loses.h) the library loses some, and the watchdog has to find one.
 */
#define _GNU_SOURCE
#include "foundation/base/clock.h"
#include "foundation/base/random.h"
#include "must.h"

#include <gordian/gordian.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

#ifdef LOSES_WAKES
#define LOSES true
#else
#define LOSES false
#endif

#define ROWS         4
#define AT_ONCE      3 /* rows of a transaction, at most */
#define THREADS      8
#define THREADS_MOST 256
#define REST_NS      2000000 /* between two looks of the watchdog */

/* ------------------------------------------------------------------ who is there */

/* What the recorder was told of a process. */
struct waits {
    _Atomic uint64_t begun, ended;
    _Atomic uint32_t how; /* a gordian_status: the last one's end */
};

struct world {
    gordian_system *system;
    struct waits waits[THREADS_MOST]; /* by process */
    _Atomic uint64_t inside[ROWS];    /* who use a row now */
    uint64_t units;                   /* of a row */
    unsigned threads;
    unsigned long turns; /* of each thread */
    bool recorded;
    _Atomic unsigned finished;
};

struct member {
    struct world *world;
    pthread_t thread;
    struct random random;
    _Atomic uint32_t process;
    _Atomic long task;       /* the kernel's number of the thread */
    _Atomic uint64_t calls;  /* odd: in a call that may wake others */
    _Atomic uint64_t awaits; /* odd: in gordian_await_grant without a limit */
    _Atomic bool done;
    unsigned long waited, cancelled, victim;
};

static void begin_call(struct member *member)
{
    atomic_fetch_add(&member->calls, 1);
}

static void end_call(struct member *member)
{
    atomic_fetch_add(&member->calls, 1);
}

/* ------------------------------------------------------------------ the recorder */

static void note_end(struct world *world, uint32_t process, gordian_status how)
{
    struct waits *waits = &world->waits[process];
    atomic_store(&waits->how, how);
    atomic_fetch_add(&waits->ended, 1);
}

static void note_record(void *context, const gordian_record *record)
{
    struct world *world = context;
    if (record->kind != GORDIAN_LINE_EVENT)
        return;
    struct waits *waits = &world->waits[record->event.process];
    switch ((gordian_outcome)record->result.outcome) {
    case GORDIAN_OUTCOME_BLOCKED:
    case GORDIAN_OUTCOME_DEADLOCK:
    case GORDIAN_OUTCOME_DOOMED:
        atomic_fetch_add(&waits->begun, 1);
        break;
    case GORDIAN_OUTCOME_CANCELLED:
        note_end(world, record->event.process, GORDIAN_STATUS_CANCELLED);
        break;
    case GORDIAN_OUTCOME_EXITED:
        if (atomic_load(&waits->begun) != atomic_load(&waits->ended))
            note_end(world, record->event.process, GORDIAN_STATUS_VICTIM);
        break;
    default:
        break;
    }
    for (uint32_t i = 0; i < record->result.served_count; i++)
        note_end(world, record->served[i], GORDIAN_OK);
}

/* ------------------------------------------------------------------ those who wait */

/* Breaks what its request has closed. */
static void recover_all(struct member *member)
{
    gordian_victim victim;
    begin_call(member);
    while (gordian_recover_one(member->world->system, GORDIAN_POLICY_FEWEST_HELD, &victim, NULL) ==
           GORDIAN_OK)
        ;
    end_call(member);
}

/* Gives up after a moment, unless it is served first. */
static gordian_status await_briefly(struct member *member)
{
    gordian_system *system = member->world->system;
    begin_call(member);
    gordian_status status = gordian_await_grant(system, atomic_load(&member->process),
                                                random_below(&member->random, 50000), NULL);
    if (status == GORDIAN_STATUS_END && random_below(&member->random, 2) == 0) {
        CHECK(gordian_cancel(system, atomic_load(&member->process), NULL, NULL) == GORDIAN_OK);
        status = gordian_await_grant(system, atomic_load(&member->process), 0, NULL);
        CHECK(status != GORDIAN_STATUS_END);
    }
    end_call(member);
    return status;
}

static gordian_status await_end(struct member *member)
{
    struct world *world = member->world;
    gordian_status status = GORDIAN_STATUS_END;
    if (random_below(&member->random, 16) == 0)
        status = await_briefly(member);
    if (status == GORDIAN_STATUS_END) {
        atomic_fetch_add(&member->awaits, 1);
        status =
            gordian_await_grant(world->system, atomic_load(&member->process), UINT64_MAX, NULL);
        atomic_fetch_add(&member->awaits, 1);
    }
    if (world->recorded) {
        struct waits *waits = &world->waits[atomic_load(&member->process)];
        CHECK(atomic_load(&waits->begun) == atomic_load(&waits->ended) &&
              atomic_load(&waits->how) == status);
    }
    return status;
}

static gordian_status lock_row(struct member *member, uint32_t row)
{
    gordian_outcome outcome = 0;
    begin_call(member);
    REQUIRE(gordian_request(member->world->system, atomic_load(&member->process), row, 1, &outcome,
                            NULL) == GORDIAN_OK);
    end_call(member);
    if (outcome == GORDIAN_OUTCOME_GRANTED)
        return GORDIAN_OK;
    CHECK(outcome != GORDIAN_OUTCOME_REFUSED);
    if (outcome == GORDIAN_OUTCOME_DEADLOCK)
        recover_all(member);
    gordian_status status = await_end(member);
    member->waited++;
    member->cancelled += status == GORDIAN_STATUS_CANCELLED;
    member->victim += status == GORDIAN_STATUS_VICTIM;
    CHECK(status == GORDIAN_OK || status == GORDIAN_STATUS_CANCELLED ||
          status == GORDIAN_STATUS_VICTIM);
    return status;
}

static void unlock_row(struct member *member, uint32_t row)
{
    gordian_outcome outcome = 0;
    begin_call(member);
    CHECK(gordian_release(member->world->system, atomic_load(&member->process), row, 1, &outcome,
                          NULL) == GORDIAN_OK &&
          outcome == GORDIAN_OUTCOME_RELEASED);
    end_call(member);
}

static void use_rows(struct member *member, const uint32_t *rows, uint32_t count)
{
    struct world *world = member->world;
    for (uint32_t i = 0; i < count; i++)
        CHECK(atomic_fetch_add(&world->inside[rows[i]], 1) < world->units);
    if (random_below(&member->random, 4) == 0)
        sched_yield();
    for (uint32_t i = 0; i < count; i++)
        atomic_fetch_sub(&world->inside[rows[i]], 1);
}

static void make_transaction(struct member *member)
{
    uint32_t rows[ROWS], count = 1 + (uint32_t)random_below(&member->random, AT_ONCE), held = 0;
    gordian_status status = GORDIAN_OK;
    for (uint32_t i = 0; i < ROWS; i++) { /* a random order */
        uint32_t j = (uint32_t)random_below(&member->random, i + 1);
        rows[i] = rows[j];
        rows[j] = i;
    }
    while (held < count && status == GORDIAN_OK) {
        status = lock_row(member, rows[held]);
        held += status == GORDIAN_OK;
    }
    if (status == GORDIAN_STATUS_VICTIM)
        return;
    use_rows(member, rows, held);
    bool last_first = random_below(&member->random, 2) == 0;
    for (uint32_t i = 0; i < held; i++)
        unlock_row(member, rows[last_first ? held - 1 - i : i]);
}

static void enter_world(struct member *member)
{
    uint32_t process = 0;
    REQUIRE(gordian_add_process(member->world->system, NULL, &process, NULL) == GORDIAN_OK);
    REQUIRE(process < THREADS_MOST);
    atomic_store(&member->process, process);
}

/* Now and then somebody's wait is given up, or somebody leaves and another comes. */
static void meddle_once(struct member *member)
{
    gordian_system *system = member->world->system;
    uint64_t luck = random_below(&member->random, 64);
    begin_call(member);
    if (luck < 3) {
        uint32_t whose = (uint32_t)random_below(&member->random, member->world->threads);
        CHECK(gordian_cancel(system, whose, NULL, NULL) == GORDIAN_OK);
    } else if (luck == 3) {
        CHECK(gordian_remove_process(system, atomic_load(&member->process), NULL) == GORDIAN_OK);
        enter_world(member);
    }
    end_call(member);
}

static void *be_member(void *context)
{
    struct member *member = context;
#ifdef __linux__
    atomic_store(&member->task, syscall(SYS_gettid));
#endif
    for (unsigned long i = 0; i < member->world->turns; i++) {
        make_transaction(member);
        meddle_once(member);
    }
    atomic_store(&member->done, true);
    atomic_fetch_add(&member->world->finished, 1);
    return NULL;
}

/* ------------------------------------------------------------------ the watchdog */

/* Does the kernel say that it sleeps? The thread sanitizer has locks of its own to sleep on, and
 * where there is no futex nobody sleeps for long: nothing to be seen there. */
static bool task_sleeps(struct member *member)
{
#if defined(__linux__) && !defined(__SANITIZE_THREAD__)
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/self/task/%ld/stat", atomic_load(&member->task));
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    bool read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    const char *name_end = read ? strrchr(line, ')') : NULL;
    return name_end && name_end[1] == ' ' && name_end[2] == 'S';
#else
    (void)member;
    return false;
#endif
}

static bool is_over(struct member *member)
{
    struct world *world = member->world;
    uint32_t process = atomic_load(&member->process);
    struct waits *waits = &world->waits[process];
    return gordian_await_grant(world->system, process, 0, NULL) != GORDIAN_STATUS_END ||
           (world->recorded && atomic_load(&waits->begun) == atomic_load(&waits->ended));
}

/* Lets every call come to its end that is under way now. */
static void let_calls_end(struct member *members, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint64_t seen = atomic_load(&members[i].calls);
        while (seen % 2 == 1 && atomic_load(&members[i].calls) == seen)
            sched_yield();
    }
}

/* Its number of calls goes up when it returns, so what is seen in between is seen of one call. */
static bool is_lost(struct member *members, unsigned count, struct member *member)
{
    uint64_t seen = atomic_load(&member->awaits);
    if (seen % 2 == 0 || !is_over(member))
        return false;
    let_calls_end(members, count);
    return task_sleeps(member) && atomic_load(&member->awaits) == seen;
}

/* Does somebody wait for what is free? Under the lock. */
static bool is_unserved(gordian_system *system, uint32_t row)
{
    gordian_edge edges[THREADS_MOST];
    size_t count = gordian_waiters(system, row, edges, THREADS_MOST);
    for (size_t i = 0; i < count; i++)
        if (edges[i].units <= gordian_free_units(system, row))
            return true;
    return false;
}

/* Nobody is left who could end a wait? Under the lock. */
static bool are_stuck(struct member *members, unsigned count)
{
    bool somebody = false;
    for (unsigned i = 0; i < count; i++) {
        if (atomic_load(&members[i].done))
            continue;
        if (atomic_load(&members[i].awaits) % 2 == 0 || is_over(&members[i]))
            return false;
        somebody = true;
    }
    return somebody;
}

static const char *find_fault(struct world *world, struct member *members)
{
    const char *fault = NULL;
    gordian_lock(world->system);
    for (uint32_t row = 0; row < ROWS; row++)
        if (is_unserved(world->system, row))
            fault = "not served: somebody waits for what is free";
    if (are_stuck(members, world->threads))
        fault = "stuck: all threads sleep, and all their processes wait";
    gordian_unlock(world->system);
    for (unsigned i = 0; i < world->threads; i++)
        if (is_lost(members, world->threads, &members[i]))
            fault = "lost: a thread sleeps whose wait has ended";
    return fault;
}

/* The threads of a world with a fault do not come to an end: the program does. */
static void watch_members(struct world *world, struct member *members)
{
    const struct timespec rest = {.tv_nsec = REST_NS};
    while (atomic_load(&world->finished) < world->threads) {
        const char *fault = find_fault(world, members);
        if (fault) {
            printf("%s\n", fault);
            exit(LOSES && strncmp(fault, "lost", 4) == 0 ? 0 : 1);
        }
        nanosleep(&rest, NULL);
    }
}

/* ------------------------------------------------------------------ rounds */

struct total {
    unsigned long rounds, waited, cancelled, victim;
};

static void open_world(struct world *world, const gordian_recorder *recorder)
{
    gordian_options options;
    gordian_error error;
    gordian_options_init(&options);
    options.shared = true;
    options.recorder = world->recorded ? recorder : NULL;
    must(gordian_open(&world->system, &options, &error), &error);
    for (uint32_t i = 0; i < ROWS; i++)
        must(gordian_add_resource(world->system, NULL, world->units, NULL, &error), &error);
}

static void play_round(unsigned threads, unsigned long turns, struct total *total)
{
    struct world world = {.threads = threads,
                          .turns = turns,
                          .units = total->rounds & 1 ? 2 : 1,
                          .recorded = total->rounds & 2};
    const gordian_recorder recorder = {note_record, &world};
    struct member *members = calloc(threads, sizeof *members);
    REQUIRE(members);
    open_world(&world, &recorder);
    for (unsigned i = 0; i < threads; i++) {
        members[i].world = &world;
        random_seed(&members[i].random, total->rounds * THREADS_MOST + i);
        enter_world(&members[i]);
    }
    for (unsigned i = 0; i < threads; i++)
        REQUIRE(pthread_create(&members[i].thread, NULL, be_member, &members[i]) == 0);
    watch_members(&world, members);
    for (unsigned i = 0; i < threads; i++) {
        REQUIRE(pthread_join(members[i].thread, NULL) == 0);
        total->waited += members[i].waited;
        total->cancelled += members[i].cancelled;
        total->victim += members[i].victim;
    }
    total->rounds++;
    gordian_close(world.system);
    free(members);
}

int main(int argc, char **argv)
{
    const uint64_t seconds = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    unsigned threads = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : THREADS;
    const unsigned long turns = seconds ? 20000 : test_scaled(5000);
    const uint64_t start = clock_ns();
    struct total total = {0};
    if (threads == 0 || threads > THREADS_MOST) {
        fprintf(stderr, "threads: 1 to %d\n", THREADS_MOST);
        return 2;
    }
    do
        play_round(threads, turns, &total);
    while ((total.rounds < 4 || clock_ns() - start < seconds * UINT64_C(1000000000)) &&
           test_failed == 0);
    printf("%lu rounds of %u threads, %lu waits, of which %lu cancelled and %lu victims; "
           "no wake-up lost\n",
           total.rounds, threads, total.waited, total.cancelled, total.victim);
    CHECK(!LOSES && total.waited > 0);
    return test_done();
}
