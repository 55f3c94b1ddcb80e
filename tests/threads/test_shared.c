/*
 * Many threads, one system.
 *
 * Interleavings: threads make random events of processes of their own, and cancel and recover
 * everybody's; the library records the order. A plain system that is fed the events in that
 * order must give every answer, serve the same processes in the same order, and end up in the
 * same state.
 *
 * Sleepers: threads lock, sleep until served, and change what the locks protect without any other
 * care: the thread sanitizer sees whether that is safe, and a wake-up that is lost ends in a time
 * limit.
 */
#include "foundation/base/random.h"
#include "must.h"

#include <gordian/gordian.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

/* ------------------------------------------------------------------ the order */

#define WANTS_MOST 3

struct entry {
    gordian_record record;
    gordian_want wants[WANTS_MOST];
    uint32_t *served;
};

/* What one thread has been told. */
struct journal {
    struct entry *entries;
    size_t count, room;
};

static _Thread_local struct journal *my_journal;

static void write_down(void *context, const gordian_record *record)
{
    (void)context;
    struct journal *journal = my_journal;
    if (journal->count == journal->room) {
        journal->room = journal->room ? 2 * journal->room : 1024;
        journal->entries = realloc(journal->entries, journal->room * sizeof *journal->entries);
        REQUIRE(journal->entries);
    }
    struct entry *entry = &journal->entries[journal->count++];
    *entry = (struct entry){.record = *record};
    for (size_t i = 0; record->event.wants && i < record->event.want_count; i++)
        entry->wants[i] = record->event.wants[i];
    uint32_t served = record->result.served_count;
    if (served) {
        entry->served = malloc(served * sizeof *entry->served);
        REQUIRE(entry->served);
        memcpy(entry->served, record->served, served * sizeof *entry->served);
    }
}

static const gordian_recorder recorder = {write_down, NULL};

static void forget_journal(struct journal *journal)
{
    for (size_t i = 0; i < journal->count; i++)
        free(journal->entries[i].served);
    journal->count = 0;
}

/* ------------------------------------------------------------------ interleavings */

#define THREADS   8
#define MINE      4 /* processes of a thread */
#define RESOURCES 24

enum mix {
    MIX_SINGLE,
    MIX_MULTI,
    MIX_GENERAL,
    MIX_ACTS, /* and they await each other */
    MIXES,
};

struct round {
    gordian_system *system;
    enum mix mix;
    uint32_t events; /* of each thread */
    uint32_t resources;
    bool polite;
    pthread_barrier_t start; /* so that none is done before the last has begun */
};

struct player {
    pthread_t thread;
    struct round *round;
    struct random random;
    uint32_t processes[MINE];
    struct journal journal;
    gordian_event last; /* and what it was answered */
    gordian_result told;
};

static uint64_t units_of(const struct round *round, uint32_t resource)
{
    return round->mix == MIX_SINGLE ? 1 : 1 + resource % 3;
}

/* Mostly what was asked for is given back or up at once, so that there is something to be had: most
 * events meet nobody, and go from hand to hand the short way. */
static bool follow_up(struct player *player, gordian_event *event)
{
    if (!player->round->polite || player->last.op != GORDIAN_OP_REQUEST ||
        random_below(&player->random, 10) == 0)
        return false;
    *event = player->last;
    event->wants = NULL; /* one of them, if there were several */
    player->last.op = 0;
    event->op =
        player->told.outcome == GORDIAN_OUTCOME_GRANTED ? GORDIAN_OP_RELEASE : GORDIAN_OP_CANCEL;
    return true;
}

/* Somebody awaits some of all processes, or acts. */
static gordian_event random_act(struct player *player, gordian_want *wants)
{
    struct random *random = &player->random;
    gordian_event event = {.op = GORDIAN_OP_ACT,
                           .process = player->processes[random_below(random, MINE)],
                           .resource = GORDIAN_NONE,
                           .to = GORDIAN_NONE};
    if (random_below(random, 3)) {
        if (random_below(random, 3) == 0)
            event.to = (uint32_t)random_below(random, THREADS * MINE);
        return event;
    }
    event.op = GORDIAN_OP_AWAIT;
    event.want_count = 1 + random_below(random, WANTS_MOST);
    event.units = 1 + random_below(random, event.want_count);
    event.wants = wants;
    for (size_t i = 0; i < event.want_count; i++)
        wants[i] = (gordian_want){1, (uint32_t)random_below(random, THREADS * MINE)};
    return event;
}

static gordian_event random_event(struct player *player, gordian_want *wants)
{
    static const gordian_op ops[] = {GORDIAN_OP_REQUEST, GORDIAN_OP_REQUEST, GORDIAN_OP_REQUEST,
                                     GORDIAN_OP_REQUEST, GORDIAN_OP_RELEASE, GORDIAN_OP_RELEASE,
                                     GORDIAN_OP_RELEASE, GORDIAN_OP_RELEASE, GORDIAN_OP_HOLD,
                                     GORDIAN_OP_CANCEL};
    struct random *random = &player->random;
    if (player->round->mix == MIX_ACTS && random_below(random, 3) == 0)
        return random_act(player, wants);
    gordian_event event = {.op = ops[random_below(random, sizeof ops / sizeof *ops)],
                           .process = player->processes[random_below(random, MINE)],
                           .resource = (uint32_t)random_below(random, player->round->resources),
                           .to = GORDIAN_NONE,
                           .units = 1};
    if (player->round->mix >= MIX_GENERAL && event.op == GORDIAN_OP_REQUEST) {
        event.want_count = 1 + random_below(random, WANTS_MOST);
        for (size_t i = 0; i < event.want_count; i++)
            wants[i] = (gordian_want){1, (uint32_t)random_below(random, player->round->resources)};
        event.wants = random_below(random, 2) ? wants : NULL;
        event.resource = wants[random_below(random, event.want_count)].resource;
    }
    if (random_below(random, 50) == 0)
        event.op = GORDIAN_OP_EXIT;
    if (event.op == GORDIAN_OP_RELEASE && random_below(random, 20) == 0)
        event.to = (uint32_t)random_below(random, THREADS * MINE);
    if (random_below(random, 500) == 0)
        event.resource = GORDIAN_NONE;
    return event;
}

/* Gives back one of what a process holds, so that not all is held in the end. */
static void give_back(struct player *player, uint32_t process)
{
    gordian_edge edges[RESOURCES];
    gordian_system *system = player->round->system;
    size_t count = gordian_holdings(system, process, edges, RESOURCES);
    if (count == 0 || gordian_is_waiting(system, process))
        return;
    if (count > RESOURCES) /* awaits, too */
        count = RESOURCES;
    const gordian_edge *edge = &edges[random_below(&player->random, count)];
    CHECK(gordian_release(system, process, edge->resource, edge->units, NULL, NULL) == GORDIAN_OK);
}

/* Calls that any thread may make about any process. */
static void meddle(struct player *player)
{
    gordian_system *system = player->round->system;
    uint32_t process = (uint32_t)random_below(&player->random, THREADS * MINE);
    gordian_victim victim;
    const uint32_t *list;
    size_t count;
    gordian_outcome outcome;
    gordian_snapshot *snapshot;
    gordian_event what = {.op = GORDIAN_OP_REQUEST,
                          .process = process,
                          .resource = process % player->round->resources,
                          .to = GORDIAN_NONE,
                          .units = 1};
    switch (random_below(&player->random, 8)) {
    case 0:
        CHECK(gordian_cancel(system, process, NULL, NULL) == GORDIAN_OK);
        break;
    case 1:
        gordian_lock(system);
        while (gordian_recover_one(system, GORDIAN_POLICY_YOUNGEST, &victim, NULL) == GORDIAN_OK)
            CHECK(victim.served_count <= THREADS * MINE);
        CHECK(gordian_deadlocked(system, &list, &count, NULL) == GORDIAN_OK && count == 0);
        gordian_unlock(system);
        break;
    case 2:
        CHECK(gordian_what_if(system, &what, 1, &outcome, NULL) == GORDIAN_OK);
        break;
    case 3:
        REQUIRE(gordian_snapshot_take(&snapshot, system, NULL) == GORDIAN_OK);
        gordian_snapshot_close(snapshot);
        break;
    case 4:
        CHECK(gordian_free_units(system, what.resource) <= gordian_units(system, what.resource));
        break;
    case 5:
        CHECK(gordian_await_grant(system, process, 0, NULL) != GORDIAN_STATUS_INPUT);
        break;
    default:
        give_back(player, player->processes[random_below(&player->random, MINE)]);
        break;
    }
}

/* Somebody who comes, takes what it can get, and goes. */
static void visit(struct player *player)
{
    gordian_system *system = player->round->system;
    uint32_t guest;
    gordian_outcome outcome;
    REQUIRE(gordian_add_process(system, NULL, &guest, NULL) == GORDIAN_OK);
    for (uint32_t q = 0; q < player->round->resources; q++)
        CHECK(gordian_request(system, guest, q, 1, &outcome, NULL) == GORDIAN_OK);
    CHECK(gordian_exit(system, guest, &outcome, NULL) == GORDIAN_OK);
    CHECK(outcome == GORDIAN_OUTCOME_EXITED);
    CHECK(gordian_remove_process(system, guest, NULL) == GORDIAN_OK);
}

static void *play_thread(void *context)
{
    struct player *player = context;
    my_journal = &player->journal;
    pthread_barrier_wait(&player->round->start);
    for (uint32_t i = 0; i < player->round->events; i++) {
        gordian_want wants[WANTS_MOST];
        gordian_event event;
        if (!follow_up(player, &event))
            player->last = event = random_event(player, wants);
        CHECK(gordian_feed(player->round->system, &event, &player->told, NULL) == GORDIAN_OK);
        uint64_t luck = random_below(&player->random, 1000);
        if (luck < 60)
            meddle(player);
        else if (luck == 60)
            visit(player);
        else if (luck == 61)
            sched_yield();
    }
    return NULL;
}

/* ---- replaying */

static void replay_entry(gordian_system *plain, const struct entry *entry)
{
    const gordian_record *record = &entry->record;
    uint32_t id = GORDIAN_NONE;
    gordian_event event = record->event;
    gordian_result result;
    size_t count;
    if (record->kind != GORDIAN_LINE_EVENT) {
        gordian_status status =
            record->kind == GORDIAN_LINE_PROCESS
                ? (record->gone ? gordian_remove_process(plain, record->id, NULL)
                                : gordian_add_process(plain, NULL, &id, NULL))
                : (record->gone ? gordian_remove_resource(plain, record->id, NULL)
                                : gordian_add_resource(plain, NULL, record->units, &id, NULL));
        CHECK(status == GORDIAN_OK && (record->gone || id == record->id));
        return;
    }
    event.wants = event.wants ? entry->wants : NULL;
    CHECK(gordian_feed(plain, &event, &result, NULL) == GORDIAN_OK);
    const uint32_t *served = gordian_served(plain, &count);
    CHECK_MSG(result.outcome == record->result.outcome &&
                  result.refusal == record->result.refusal &&
                  result.served_count == record->result.served_count &&
                  (count == 0 || memcmp(served, entry->served, count * sizeof *served) == 0),
              "place %llu: %s of p%u, q%u: %s, refusal %u, %u served; recorded %s, %u, %u",
              (unsigned long long)record->place, gordian_op_text(event.op), event.process,
              event.resource, gordian_outcome_text(result.outcome), result.refusal,
              result.served_count, gordian_outcome_text(record->result.outcome),
              record->result.refusal, record->result.served_count);
}

static int compare_edges(const void *a, const void *b)
{
    const gordian_edge *one = a, *other = b;
    return (one->resource > other->resource) - (one->resource < other->resource);
}

/* Who holds what, and who waits for what in which order. */
static void compare_states(gordian_system *one, gordian_system *other)
{
    gordian_edge mine[THREADS * MINE + RESOURCES], theirs[THREADS * MINE + RESOURCES];
    const size_t room = sizeof mine / sizeof *mine;
    for (uint32_t p = 0; p < gordian_process_limit(one); p++) {
        size_t count = gordian_holdings(one, p, mine, room);
        REQUIRE(gordian_holdings(other, p, theirs, room) == count);
        qsort(mine, count, sizeof *mine, compare_edges);
        qsort(theirs, count, sizeof *theirs, compare_edges);
        for (size_t i = 0; i < count; i++)
            CHECK(mine[i].resource == theirs[i].resource && mine[i].units == theirs[i].units);
    }
    for (uint32_t q = 0; q < gordian_resource_limit(one); q++) {
        size_t count = gordian_waiters(one, q, mine, room);
        REQUIRE(gordian_waiters(other, q, theirs, room) == count);
        for (size_t i = 0; i < count; i++)
            CHECK(mine[i].process == theirs[i].process && mine[i].units == theirs[i].units);
        CHECK(gordian_free_units(one, q) == gordian_free_units(other, q));
    }
}

static size_t replay_all(struct round *round, struct journal *const *journals, size_t count)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += journals[i]->count;
    const struct entry **order = calloc(total + 1, sizeof *order);
    REQUIRE(order);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < journals[i]->count; j++) {
            const struct entry *entry = &journals[i]->entries[j];
            REQUIRE(entry->record.place < total && !order[entry->record.place]);
            order[entry->record.place] = entry;
        }
    gordian_system *plain;
    REQUIRE(gordian_open(&plain, NULL, NULL) == GORDIAN_OK);
    for (size_t i = 0; i < total; i++)
        replay_entry(plain, order[i]);
    compare_states(plain, round->system);
    gordian_close(plain);
    free(order);
    return total;
}

static void set_up(struct round *round, struct player *players)
{
    gordian_options options;
    gordian_error error;
    gordian_options_init(&options);
    options.shared = true;
    options.recorder = &recorder;
    must(gordian_open(&round->system, &options, &error), &error);
    for (uint32_t q = 0; q < round->resources; q++)
        must(gordian_add_resource(round->system, NULL, units_of(round, q), NULL, &error), &error);
    for (uint32_t i = 0; i < THREADS * MINE; i++)
        must(gordian_add_process(round->system, NULL, &players[i / MINE].processes[i % MINE],
                                 &error),
             &error);
}

static size_t play_round(enum mix mix, uint64_t seed, uint32_t events, struct player *players)
{
    /* From a crowd around a few to hardly ever meeting anybody. */
    static const uint32_t sizes[] = {3, 8, RESOURCES, RESOURCES};
    struct round round = {
        .mix = mix, .events = events, .resources = sizes[seed % 4], .polite = seed % 8 >= 3};
    struct journal mine = {0}, *journals[THREADS + 1] = {&mine};
    my_journal = &mine;
    set_up(&round, players);
    REQUIRE(pthread_barrier_init(&round.start, NULL, THREADS) == 0);
    for (int i = 0; i < THREADS; i++) {
        players[i].round = &round;
        players[i].last.op = 0;
        random_seed(&players[i].random, seed * THREADS + (uint64_t)i);
        journals[i + 1] = &players[i].journal;
        REQUIRE(pthread_create(&players[i].thread, NULL, play_thread, &players[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_join(players[i].thread, NULL) == 0);
    size_t total = replay_all(&round, journals, THREADS + 1);
    for (int i = 0; i <= THREADS; i++)
        forget_journal(journals[i]);
    free(mine.entries);
    pthread_barrier_destroy(&round.start);
    gordian_close(round.system);
    return total;
}

static void interleavings(void)
{
    struct player players[THREADS] = {0};
#ifdef MEANWHILE_TEST /* which takes its time */
    const unsigned long wanted = test_scaled(500000);
#else
    const unsigned long wanted = test_scaled(test_is_short() ? 4000000 : 10000000);
#endif
    const uint32_t each = wanted < 200000 ? 500 : 5000; /* events of a thread and a round */
    unsigned long total = 0;
    for (uint64_t seed = 1; total < wanted && !test_failed; seed++)
        total += play_round((enum mix)((seed + seed / 4) % MIXES), seed, each, players);
    printf("%lu events\n", total);
    for (int i = 0; i < THREADS; i++)
        free(players[i].journal.entries);
}

/* ------------------------------------------------------------------ sleepers */

#define ROWS 5

struct bank {
    gordian_system *system;
    uint32_t rows[ROWS];
    int64_t balances[ROWS]; /* each protected by its row's lock alone */
    unsigned long quota;
};

struct teller {
    pthread_t thread;
    struct bank *bank;
    uint32_t process;
    struct random random;
    unsigned long done, victim;
};

/* False: it was a victim and holds nothing. */
static bool lock_row(struct teller *teller, uint32_t row)
{
    gordian_system *system = teller->bank->system;
    gordian_outcome outcome;
    gordian_victim victim;
    REQUIRE(gordian_request(system, teller->process, teller->bank->rows[row], 1, &outcome, NULL) ==
            GORDIAN_OK);
    if (outcome == GORDIAN_OUTCOME_GRANTED)
        return true;
    CHECK(outcome != GORDIAN_OUTCOME_REFUSED);
    if (outcome == GORDIAN_OUTCOME_DEADLOCK)
        while (gordian_recover_one(system, GORDIAN_POLICY_FEWEST_HELD, &victim, NULL) == GORDIAN_OK)
            ;
    gordian_status status = gordian_await_grant(system, teller->process, UINT64_MAX, NULL);
    CHECK(status == GORDIAN_OK || status == GORDIAN_STATUS_VICTIM);
    return status == GORDIAN_OK;
}

static void transfer(struct teller *teller, uint32_t from, uint32_t to)
{
    struct bank *bank = teller->bank;
    if (!lock_row(teller, from) || !lock_row(teller, to)) {
        teller->victim++;
        return;
    }
    bank->balances[from]--;
    bank->balances[to]++;
    teller->done++;
    gordian_outcome outcome;
    CHECK(gordian_release(bank->system, teller->process, bank->rows[from], 1, &outcome, NULL) ==
              GORDIAN_OK &&
          outcome == GORDIAN_OUTCOME_RELEASED);
    CHECK(gordian_release(bank->system, teller->process, bank->rows[to], 1, &outcome, NULL) ==
              GORDIAN_OK &&
          outcome == GORDIAN_OUTCOME_RELEASED);
}

static void *work_as_teller(void *context)
{
    struct teller *teller = context;
    while (teller->done < teller->bank->quota) {
        uint32_t from = (uint32_t)random_below(&teller->random, ROWS);
        transfer(teller, from,
                 (from + 1 + (uint32_t)random_below(&teller->random, ROWS - 1)) % ROWS);
    }
    return NULL;
}

static void open_shared(gordian_system **system)
{
    gordian_options options;
    gordian_error error;
    gordian_options_init(&options);
    options.shared = true;
    must(gordian_open(system, &options, &error), &error);
}

static void sleepers(void)
{
    struct bank bank = {.quota = test_scaled(20000)};
    struct teller tellers[THREADS] = {0};
    gordian_error error;
    int64_t sum = 0;
    open_shared(&bank.system);
    for (int i = 0; i < ROWS; i++)
        must(gordian_add_resource(bank.system, NULL, 1, &bank.rows[i], &error), &error);
    for (int i = 0; i < THREADS; i++) {
        tellers[i].bank = &bank;
        random_seed(&tellers[i].random, (uint64_t)i);
        must(gordian_add_process(bank.system, NULL, &tellers[i].process, &error), &error);
    }
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&tellers[i].thread, NULL, work_as_teller, &tellers[i]) == 0);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_join(tellers[i].thread, NULL) == 0);
    for (int i = 0; i < ROWS; i++)
        sum += bank.balances[i];
    CHECK(sum == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(tellers[i].done == bank.quota);
    gordian_close(bank.system);
}

/* ------------------------------------------------------------------ how a wait ends */

struct sleeper {
    gordian_system *system;
    uint32_t process;
    gordian_status status;
};

static void *sleep_in_thread(void *context)
{
    struct sleeper *sleeper = context;
    sleeper->status = gordian_await_grant(sleeper->system, sleeper->process, UINT64_MAX, NULL);
    return NULL;
}

/* Two processes, two resources, each holds one; b waits for a's. */
static gordian_system *two_who_wait(void)
{
    gordian_system *system;
    gordian_outcome outcome;
    open_shared(&system);
    for (int i = 0; i < 2; i++) {
        REQUIRE(gordian_add_process(system, i ? "b" : "a", NULL, NULL) == GORDIAN_OK);
        REQUIRE(gordian_add_resource(system, NULL, 1, NULL, NULL) == GORDIAN_OK);
    }
    for (uint32_t i = 0; i < 2; i++)
        CHECK(gordian_request(system, i, i, 1, &outcome, NULL) == GORDIAN_OK &&
              outcome == GORDIAN_OUTCOME_GRANTED);
    CHECK(gordian_request(system, 1, 0, 1, &outcome, NULL) == GORDIAN_OK &&
          outcome == GORDIAN_OUTCOME_BLOCKED);
    return system;
}

static gordian_status end_wait_by(void (*end)(gordian_system *system))
{
    gordian_system *system = two_who_wait();
    struct sleeper sleeper = {.system = system, .process = 1};
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, sleep_in_thread, &sleeper) == 0);
    end(system);
    REQUIRE(pthread_join(thread, NULL) == 0);
    CHECK(gordian_await_grant(system, 1, 0, NULL) == sleeper.status);
    gordian_close(system);
    return sleeper.status;
}

static void by_release(gordian_system *system)
{
    CHECK(gordian_release(system, 0, 0, 1, NULL, NULL) == GORDIAN_OK);
}

static void by_cancel(gordian_system *system)
{
    CHECK(gordian_cancel(system, 1, NULL, NULL) == GORDIAN_OK);
}

static void by_recovery(gordian_system *system)
{
    gordian_outcome outcome;
    gordian_victim victim;
    CHECK(gordian_request(system, 0, 1, 1, &outcome, NULL) == GORDIAN_OK &&
          outcome == GORDIAN_OUTCOME_DEADLOCK);
    gordian_lock(system);
    CHECK(gordian_recover_one(system, GORDIAN_POLICY_YOUNGEST, &victim, NULL) == GORDIAN_OK);
    CHECK(victim.process == 1 && victim.frees_count == 1 && victim.served_count == 1);
    gordian_unlock(system);
    CHECK(gordian_await_grant(system, 0, UINT64_MAX, NULL) == GORDIAN_OK);
    CHECK(gordian_holdings(system, 1, NULL, 0) == 0 && gordian_holdings(system, 0, NULL, 0) == 2);
}

static void ends_of_waits(void)
{
    gordian_system *system = two_who_wait();
    CHECK(gordian_await_grant(system, 1, 0, NULL) == GORDIAN_STATUS_END);
    CHECK(gordian_await_grant(system, 1, 1000, NULL) == GORDIAN_STATUS_END);
    CHECK(gordian_await_grant(system, 0, UINT64_MAX, NULL) == GORDIAN_OK);
    CHECK(gordian_await_grant(system, 2, UINT64_MAX, NULL) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_await_grant(system, GORDIAN_NONE, UINT64_MAX, NULL) == GORDIAN_STATUS_INPUT);
    gordian_close(system);
    CHECK(end_wait_by(by_release) == GORDIAN_OK);
    CHECK(end_wait_by(by_cancel) == GORDIAN_STATUS_CANCELLED);
    CHECK(end_wait_by(by_recovery) == GORDIAN_STATUS_VICTIM);
}

/* What a shared system does not do, it says so. */
static void refusals(void)
{
    gordian_options options;
    gordian_system *system;
    gordian_error error;
    gordian_replay *replay;
    gordian_bytes bytes = {"", 0};
    gordian_source source = gordian_source_bytes(&bytes);
    gordian_options_init(&options);
    options.shared = true;
    options.engine = "reduce";
    CHECK(gordian_open(&system, &options, &error) == GORDIAN_STATUS_UNAVAILABLE && !system);
    options.engine = "sparse";
    must(gordian_open(&system, &options, &error), &error);
    CHECK(gordian_replay_open(&replay, system, &source, &error) == GORDIAN_STATUS_INPUT);
    gordian_close(system);
    must(gordian_open(&system, NULL, &error), &error);
    CHECK(gordian_await_grant(system, 0, 0, &error) == GORDIAN_STATUS_INPUT);
    gordian_lock(system);
    gordian_unlock(system);
    gordian_close(system);
}

/* Held in the short way and in the graph, more than a record has room for; given back from the
 * middle, by exit, and after others have asked. */
static void long_lists(void)
{
    enum { MANY = 300 };
    gordian_system *system;
    gordian_outcome outcome;
    uint32_t first, second;
    open_shared(&system);
    REQUIRE(gordian_add_process(system, NULL, &first, NULL) == GORDIAN_OK);
    REQUIRE(gordian_add_process(system, NULL, &second, NULL) == GORDIAN_OK);
    for (uint32_t q = 0; q < MANY; q++) {
        REQUIRE(gordian_add_resource(system, NULL, 1, NULL, NULL) == GORDIAN_OK);
        CHECK(gordian_request(system, first, q, 1, &outcome, NULL) == GORDIAN_OK &&
              outcome == GORDIAN_OUTCOME_GRANTED);
    }
    CHECK(gordian_remove_process(system, first, NULL) == GORDIAN_STATUS_INPUT);
    for (uint32_t q = 0; q < MANY; q += 3) {
        CHECK(gordian_free_units(system, q) == 0);
        gordian_edge edge;
        CHECK(gordian_holders(system, q + 1, &edge, 1) == 1 && edge.process == first);
        CHECK(gordian_release(system, first, q, 1, &outcome, NULL) == GORDIAN_OK &&
              outcome == GORDIAN_OUTCOME_RELEASED);
        CHECK(gordian_remove_resource(system, q + 1, NULL) == GORDIAN_STATUS_INPUT);
    }
    CHECK(gordian_holdings(system, first, NULL, 0) == MANY - MANY / 3);
    CHECK(gordian_request(system, second, 1, 1, &outcome, NULL) == GORDIAN_OK &&
          outcome == GORDIAN_OUTCOME_BLOCKED);
    CHECK(gordian_exit(system, first, &outcome, NULL) == GORDIAN_OK &&
          outcome == GORDIAN_OUTCOME_EXITED);
    CHECK(gordian_await_grant(system, second, UINT64_MAX, NULL) == GORDIAN_OK);
    for (uint32_t q = 0; q < MANY; q++)
        CHECK(gordian_free_units(system, q) == (q != 1));
    CHECK(gordian_remove_process(system, first, NULL) == GORDIAN_OK);
    CHECK(gordian_remove_resource(system, 5, NULL) == GORDIAN_OK);
    CHECK(gordian_request(system, second, 5, 1, &outcome, NULL) == GORDIAN_OK &&
          outcome == GORDIAN_OUTCOME_REFUSED);
    gordian_close(system);
}

/* One that goes from hand to hand over a ring leaves notes behind, of what others have by then and
 * of what it has again; they are neither lifted, nor given back with it, nor forgotten. */
static void old_notes(void)
{
    enum { AROUND = 5, STEPS = 1000 };
    gordian_system *system;
    gordian_outcome outcome;
    open_shared(&system);
    for (uint32_t i = 0; i < 3; i++)
        REQUIRE(gordian_add_process(system, NULL, NULL, NULL) == GORDIAN_OK);
    for (uint32_t i = 0; i < AROUND; i++)
        REQUIRE(gordian_add_resource(system, NULL, 1, NULL, NULL) == GORDIAN_OK);
    for (uint32_t i = 0; i < STEPS; i++) {
        CHECK(gordian_request(system, 0, i % AROUND, 1, &outcome, NULL) == GORDIAN_OK &&
              outcome == GORDIAN_OUTCOME_GRANTED);
        CHECK(i == 0 || gordian_release(system, 0, (i - 1) % AROUND, 1, NULL, NULL) == GORDIAN_OK);
    }
    const uint32_t last = (STEPS - 1) % AROUND, others = (last + 1) % AROUND;
    CHECK(gordian_request(system, 1, others, 1, &outcome, NULL) == GORDIAN_OK &&
          outcome == GORDIAN_OUTCOME_GRANTED);
    CHECK(gordian_request(system, 2, last, 1, &outcome, NULL) == GORDIAN_OK &&
          outcome == GORDIAN_OUTCOME_BLOCKED);
    CHECK(gordian_exit(system, 0, &outcome, NULL) == GORDIAN_OK &&
          outcome == GORDIAN_OUTCOME_EXITED);
    CHECK(gordian_await_grant(system, 2, UINT64_MAX, NULL) == GORDIAN_OK);
    CHECK(gordian_free_units(system, others) == 0 && gordian_free_units(system, last) == 0);
    CHECK(gordian_holdings(system, 1, NULL, 0) == 1 && gordian_holdings(system, 2, NULL, 0) == 1);
    CHECK(gordian_remove_process(system, 0, NULL) == GORDIAN_OK);
    CHECK(gordian_request(system, 2, others, 1, &outcome, NULL) == GORDIAN_OK &&
          outcome == GORDIAN_OUTCOME_BLOCKED);
    CHECK(gordian_release(system, 1, others, 1, &outcome, NULL) == GORDIAN_OK &&
          outcome == GORDIAN_OUTCOME_RELEASED);
    CHECK(gordian_await_grant(system, 2, UINT64_MAX, NULL) == GORDIAN_OK);
    gordian_close(system);
}

/* "sleepers": those alone, for as long as GORDIAN_TEST_SCALE says. */
int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "sleepers") == 0) {
        sleepers();
        return test_done();
    }
    refusals();
    long_lists();
    old_notes();
    ends_of_waits();
    sleepers();
    interleavings();
    return test_done();
}
