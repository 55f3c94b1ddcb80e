/*
 * Every n-th allocation fails, for every n: nothing may leak, nothing may be half done.
 *
 * A play is a fixed row of calls. It is played once undisturbed; then again for n = 1, 2, ... with
 * the n-th allocation failing (once alone, once with all that follow). The call that
 * runs out of memory must leave the system as it was, must succeed when tried again with memory,
 * and every answer of the whole play must be the same as in the undisturbed one.
 */
#include "dump.h"
#include "failing.h"
#include "test.h"

#include <inttypes.h>
#include <string.h>

#define CALLS_MAX 20000

struct play {
    struct failing memory;
    gordian_allocator allocator;
    const char *engine;
    gordian_system *system;
    struct text log, before, after;
    gordian_error error;
    size_t call;
    size_t *allocations; /* of the undisturbed play: how many there were before each call */
    bool undisturbed;
};

/* ------------------------------------------------------------------ trying */

/* The state before a call, taken only where the failure is due in this very call (or was due
 * before and did no harm: shortcuts do without memory). */
static void note_state(struct play *play)
{
    REQUIRE(play->call + 1 < CALLS_MAX);
    if (play->undisturbed)
        play->allocations[play->call] = play->memory.calls;
    play->before.used = 0;
    size_t next = play->allocations[play->call + 1];
    bool due =
        play->memory.calls < play->memory.fail_at && (next == 0 || next >= play->memory.fail_at);
    bool past = play->memory.fail_at && play->memory.failures > 0;
    if (!play->undisturbed && (due || past))
        dump_system(&play->before, play->system);
    play->call++;
}

/* Did the call just made run out of memory? Then nothing may have changed, and from now on there
 * is memory again. */
static bool ran_out(struct play *play, gordian_status status)
{
    if (status != GORDIAN_STATUS_MEMORY)
        return false;
    CHECK(play->memory.failures > 0);
    CHECK(play->error.status == GORDIAN_STATUS_MEMORY);
    play->after.used = 0;
    dump_system(&play->after, play->system);
    CHECK_MSG(play->before.used == play->after.used &&
                  (play->before.used == 0 ||
                   memcmp(play->before.bytes, play->after.bytes, play->after.used) == 0),
              "engine %s, call %zu, allocation %zu: the state has changed\n--- before\n%.*s--- "
              "after\n%.*s",
              play->engine, play->call, play->memory.fail_at, (int)play->before.used,
              play->before.used ? play->before.bytes : "", (int)play->after.used,
              play->after.used ? play->after.bytes : "");
    play->memory.fail_at = 0;
    return true;
}

/* Makes a call, twice if need be. */
#define TRY(expected, expression)                                                                  \
    do {                                                                                           \
        note_state(play);                                                                          \
        gordian_status status_ = (expression);                                                     \
        if (ran_out(play, status_))                                                                \
            status_ = (expression);                                                                \
        CHECK_MSG(status_ == (expected), "engine %s, call %zu, allocation %zu: %s", play->engine,  \
                  play->call, play->memory.fail_at, gordian_status_text(status_));                 \
    } while (0)

#define ERROR (&play->error)

static void begin(struct play *play)
{
    gordian_options options;
    gordian_options_init(&options);
    options.shared = strcmp(play->engine, "shared") == 0;
    options.engine = options.shared ? "sparse" : play->engine;
    options.allocator = &play->allocator;
    play->system = NULL;
    TRY(GORDIAN_OK, gordian_open(&play->system, &options, ERROR));
    REQUIRE(play->system);
}

static void end(struct play *play)
{
    dump_system(&play->log, play->system);
    gordian_close(play->system);
    play->system = NULL;
    CHECK_MSG(play->memory.live_bytes == 0 && play->memory.live_blocks == 0,
              "engine %s, call %zu, allocation %zu: %zu bytes in %zu blocks left", play->engine,
              play->call, play->memory.fail_at, play->memory.live_bytes, play->memory.live_blocks);
}

static uint32_t process(struct play *play, const char *name)
{
    uint32_t id = GORDIAN_NONE;
    TRY(GORDIAN_OK, gordian_add_process(play->system, name, &id, ERROR));
    return id;
}

static uint32_t resource(struct play *play, const char *name, uint64_t units)
{
    uint32_t id = GORDIAN_NONE;
    TRY(GORDIAN_OK, gordian_add_resource(play->system, name, units, &id, ERROR));
    return id;
}

static void feed(struct play *play, const gordian_event *event)
{
    gordian_result result = {0};
    size_t count;
    TRY(GORDIAN_OK, gordian_feed(play->system, event, &result, ERROR));
    const uint32_t *served = gordian_served(play->system, &count);
    count = result.served_count; /* a shared system's list may be an older one's if this is 0 */
    text_add(&play->log, "%s p%" PRIu32 " %s", gordian_op_text(event->op), event->process,
             gordian_outcome_text((gordian_outcome)result.outcome));
    dump_ids(&play->log, "served", served, count);
    text_add(&play->log, "\n");
}

static void request(struct play *play, uint32_t who, uint32_t what, uint64_t units)
{
    feed(play, &(gordian_event){.op = GORDIAN_OP_REQUEST,
                                .process = who,
                                .resource = what,
                                .to = GORDIAN_NONE,
                                .units = units});
}

static void release(struct play *play, uint32_t who, uint32_t what, uint64_t units, uint32_t to)
{
    feed(play,
         &(gordian_event){
             .op = GORDIAN_OP_RELEASE, .process = who, .resource = what, .to = to, .units = units});
}

static void simple(struct play *play, gordian_op op, uint32_t who)
{
    feed(play, &(gordian_event){.op = op, .process = who, .to = GORDIAN_NONE});
}

/* ------------------------------------------------------------------ questions */

static void ask(struct play *play, uint32_t who)
{
    const uint32_t *list = NULL;
    size_t count = 0;
    TRY(GORDIAN_OK, gordian_waits_for(play->system, who, &list, &count, ERROR));
    dump_ids(&play->log, "waits for", list, count);
    TRY(GORDIAN_OK, gordian_deadlocked(play->system, &list, &count, ERROR));
    dump_ids(&play->log, "deadlocked", list, count);
    bool dead = false;
    for (size_t i = 0; i < count; i++)
        dead |= list[i] == who;
    gordian_witness witness = {0};
    TRY(dead ? GORDIAN_OK : GORDIAN_STATUS_INPUT,
        gordian_explain(play->system, who, &witness, ERROR));
    dump_edges(&play->log, witness.cycle ? "cycle" : "witness", witness.edges, witness.count);
    text_add(&play->log, "\n");
}

static void take_snapshot(struct play *play)
{
    gordian_snapshot *snapshot = NULL;
    gordian_report report = {0};
    TRY(GORDIAN_OK, gordian_snapshot_take(&snapshot, play->system, ERROR));
    REQUIRE(snapshot);
    TRY(GORDIAN_OK, gordian_snapshot_check(snapshot, &report, ERROR));
    dump_report(&play->log, &report);
    for (size_t i = 0; i < report.part_count; i++) {
        const gordian_edge *edges = NULL;
        size_t count = 0;
        TRY(GORDIAN_OK, gordian_snapshot_edges(snapshot, &report.parts[i], &edges, &count, ERROR));
        dump_edges(&play->log, "edges", edges, count);
    }
    gordian_snapshot_close(snapshot);
}

static void recover(struct play *play, gordian_policy policy)
{
    gordian_victim victim = {0};
    const uint32_t *list;
    size_t count = 0;
    for (;;) {
        TRY(GORDIAN_OK, gordian_deadlocked(play->system, &list, &count, ERROR));
        TRY(count ? GORDIAN_OK : GORDIAN_STATUS_END,
            gordian_recover_one(play->system, policy, &victim, ERROR));
        if (count == 0)
            return;
        text_add(&play->log, "victim p%" PRIu32 " %" PRId64, victim.process, victim.weight);
        dump_edges(&play->log, "frees", victim.frees, victim.frees_count);
        dump_ids(&play->log, "serves", victim.served, victim.served_count);
        text_add(&play->log, "\n");
    }
}

/* ------------------------------------------------------------------ plays */

#define CROWD 24

static void add_crowd(struct play *play, uint32_t *processes, uint32_t *resources, uint64_t units)
{
    char name[32];
    for (uint32_t i = 0; i < CROWD; i++) {
        snprintf(name, sizeof name, "process-%" PRIu32, i);
        processes[i] = process(play, i % 3 ? name : NULL);
        snprintf(name, sizeof name, "resource-%" PRIu32, i);
        resources[i] = resource(play, i % 4 ? name : NULL, i % 5 == 0 ? units : 1);
    }
    TRY(GORDIAN_OK, gordian_set_priority(play->system, processes[3], -7, ERROR));
    TRY(GORDIAN_OK, gordian_set_cost(play->system, processes[5], 9, ERROR));
}

/* A ring of waits, built from its end and closed; then given up, and half of it again. */
static void play_ring(struct play *play, uint64_t units)
{
    uint32_t p[CROWD], q[CROWD];
    begin(play);
    add_crowd(play, p, q, units);
    for (uint32_t i = 0; i < CROWD; i++)
        request(play, p[i], q[i], i % 5 == 0 ? units : 1);
    for (uint32_t i = CROWD - 1; i > 0; i--)
        request(play, p[i - 1], q[i], 1);
    ask(play, p[3]);
    request(play, p[CROWD - 1], q[0], 1);
    ask(play, p[7]);
    take_snapshot(play);
    simple(play, GORDIAN_OP_CANCEL, p[4]);
    ask(play, p[2]);
    simple(play, GORDIAN_OP_EXIT, p[9]);
    request(play, p[4], q[5], 1);
    release(play, p[4], q[4], 1, GORDIAN_NONE);
    request(play, p[9], q[20], 1);
    recover(play, GORDIAN_POLICY_CHEAPEST);
    uint32_t late = process(play, "late");
    request(play, late, q[11], 1);
    simple(play, GORDIAN_OP_EXIT, late);
    TRY(GORDIAN_OK, gordian_remove_process(play->system, late, ERROR));
    end(play);
}

static void play_single(struct play *play)
{
    play_ring(play, 1);
}

static void play_multi(struct play *play)
{
    play_ring(play, 3);
}

/* Many waiters for one resource, in batches, with hand-overs. */
static void play_batches(struct play *play)
{
    gordian_event events[3 * CROWD];
    gordian_result results[3 * CROWD] = {{0}};
    uint32_t p[CROWD], q[CROWD];
    begin(play);
    TRY(GORDIAN_OK, gordian_reserve(play->system, 8, 40, ERROR));
    add_crowd(play, p, q, 2);
    size_t count = 0, taken = 0;
    for (uint32_t i = 0; i < CROWD; i++) {
        events[count++] = (gordian_event){.op = GORDIAN_OP_REQUEST,
                                          .process = p[i],
                                          .resource = q[i],
                                          .to = GORDIAN_NONE,
                                          .units = 1};
        events[count++] = (gordian_event){.op = GORDIAN_OP_REQUEST,
                                          .process = p[i],
                                          .resource = q[0],
                                          .to = GORDIAN_NONE,
                                          .units = 1};
    }
    events[count++] = (gordian_event){.op = GORDIAN_OP_EXIT, .process = p[0], .to = GORDIAN_NONE};
    events[count++] = (gordian_event){.op = GORDIAN_OP_EXIT, .process = p[1], .to = GORDIAN_NONE};
    while (taken < count) {
        size_t done = 0;
        play->call++; /* no state is compared: a batch may stop half way, `done` says where */
        gordian_status status = gordian_feed_batch(play->system, events + taken, count - taken,
                                                   results + taken, &done, ERROR);
        CHECK(status == GORDIAN_OK ||
              (status == GORDIAN_STATUS_MEMORY && play->memory.failures > 0));
        CHECK(status == GORDIAN_OK ? done == count - taken : done < count - taken);
        taken += done;
        play->memory.fail_at = status != GORDIAN_OK ? 0 : play->memory.fail_at;
    }
    for (size_t i = 0; i < count; i++)
        text_add(&play->log, "%d/%" PRIu32 " ", results[i].outcome, results[i].served_count);
    ask(play, p[5]);
    release(play, p[3], q[0], 1, p[20]);
    end(play);
}

/* One that holds more than its record has room for: without memory for a longer list the graph
 * keeps the rest. */
static void play_shared_list(struct play *play)
{
    uint32_t q[3 * CROWD];
    begin(play);
    uint32_t who = process(play, NULL), other = process(play, NULL);
    for (uint32_t i = 0; i < 3 * CROWD; i++) {
        q[i] = resource(play, NULL, 1);
        request(play, who, q[i], 1);
    }
    request(play, other, q[2], 1);
    for (uint32_t i = 0; i < 3 * CROWD; i += 2)
        release(play, who, q[i], 1, GORDIAN_NONE);
    simple(play, GORDIAN_OP_EXIT, who);
    end(play);
}

/* Requests for several things; systems that become general under way. */
static void play_general(struct play *play)
{
    uint32_t p[CROWD], q[CROWD];
    begin(play);
    add_crowd(play, p, q, 4);
    for (uint32_t i = 0; i < CROWD; i++) {
        gordian_want wants[6];
        for (uint32_t j = 0; j < 6; j++)
            wants[j] = (gordian_want){1, q[(i + j * (i % 3)) % CROWD]};
        if (i % 3 == 0)
            wants[5].resource = q[i]; /* the same six times over: too many, or just right */
        feed(play, &(gordian_event){.op = GORDIAN_OP_REQUEST,
                                    .process = p[i],
                                    .to = GORDIAN_NONE,
                                    .wants = wants,
                                    .want_count = i % 3 == 0 ? 1 + i % 4 : 6});
    }
    ask(play, p[10]);
    for (uint32_t i = 0; i < CROWD; i++) {
        gordian_want wants[] = {{1, q[(i + 1) % CROWD]}, {1, q[(i + 7) % CROWD]}};
        feed(play, &(gordian_event){.op = GORDIAN_OP_WAIT,
                                    .process = p[i],
                                    .to = GORDIAN_NONE,
                                    .wants = wants,
                                    .want_count = 2});
    }
    for (uint32_t i = 0; i < CROWD; i += 5)
        ask(play, p[i]);
    take_snapshot(play);
    simple(play, GORDIAN_OP_CANCEL, p[11]);
    simple(play, GORDIAN_OP_EXIT, p[12]);
    recover(play, GORDIAN_POLICY_FEWEST_HELD);
    end(play);
}

static void await(struct play *play, uint32_t who, uint64_t needed, const uint32_t *others,
                  size_t count)
{
    gordian_want wants[CROWD];
    for (size_t i = 0; i < count; i++)
        wants[i] = (gordian_want){1, others[i]};
    feed(play, &(gordian_event){.op = GORDIAN_OP_AWAIT,
                                .process = who,
                                .to = GORDIAN_NONE,
                                .units = needed,
                                .wants = wants,
                                .want_count = count});
}

/* Everybody awaits those behind it, some twice; acts, ends and recovery serve them. */
static void play_acts(struct play *play)
{
    uint32_t p[CROWD], q[CROWD];
    gordian_outcome outcome = 0;
    begin(play);
    add_crowd(play, p, q, 1);
    request(play, p[20], q[3], 1);
    for (uint32_t i = 0; i + 8 < CROWD; i++)
        await(play, p[i], 1 + i % 3, p + i + 1, 3 + i % 5);
    for (uint32_t i = 0; i < 8; i++)
        await(play, p[i], 2, p + 12, CROWD - 12);
    ask(play, p[1]);
    take_snapshot(play);
    feed(play, &(gordian_event){.op = GORDIAN_OP_ACT, .process = p[17], .to = p[2]});
    for (uint32_t i = 16; i < CROWD; i++)
        simple(play, GORDIAN_OP_ACT, p[i]);
    simple(play, GORDIAN_OP_CANCEL, p[5]);
    simple(play, GORDIAN_OP_EXIT, p[9]);
    request(play, p[20], q[4], 1);
    TRY(GORDIAN_OK, gordian_await(play->system, p[20], p + 21, 3, 3, &outcome, ERROR));
    TRY(GORDIAN_OK, gordian_await(play->system, p[21], p + 20, 1, 1, &outcome, ERROR));
    text_add(&play->log, "%s\n", gordian_outcome_text(outcome));
    await(play, p[22], 1, p + 20, 2);
    ask(play, p[21]);
    ask(play, p[22]);
    recover(play, GORDIAN_POLICY_YOUNGEST);
    end(play);
}

/* ------------------------------------------------------------------ text */

static const char trace_text[] =
    "resource fork\nresource spoon 2\nresource oven 3\n"
    "process ann priority=4 cost=2\nprocess bob\n"
    "request ann fork\nrequest bob spoon=2\nrequest cyd oven\nrequest cyd oven=2\n"
    "request ann spoon\nrequest bob fork\nrelease cyd oven=3\nrequest dan knife\n"
    "request eve oven fork\ncancel bob\nrelease bob spoon to ann\nexit eve\nexit ann\n";

static const char snapshot_text[] =
    "resource a 2\nresource b\nprocess one\nhold one a\nhold two a\nhold three b\n"
    "wait one b\nwait two b\nwait three a\nwait four a b\n";

struct source {
    const char *text;
    size_t at;
};

static ptrdiff_t read_text(void *context, char *buffer, size_t size)
{
    struct source *source = context;
    size_t left = strlen(source->text) - source->at;
    size_t count = left < size ? left : size;
    memcpy(buffer, source->text + source->at, count);
    source->at += count;
    return (ptrdiff_t)count;
}

/* A replay that fails is over; the whole of it again must give the same. */
static bool replay_once(struct play *play)
{
    struct source source = {trace_text, 0};
    gordian_source reading = {read_text, &source};
    gordian_replay *replay = NULL;
    gordian_step step;
    begin(play);
    size_t logged = play->log.used;
    gordian_status status = gordian_replay_open(&replay, play->system, &reading, ERROR);
    while (status == GORDIAN_OK) {
        status = gordian_replay_next(replay, &step, ERROR);
        if (status == GORDIAN_OK)
            text_add(&play->log, "%" PRIu64 " %s %s %s\n", step.seq, step.process,
                     gordian_outcome_text((gordian_outcome)step.result.outcome),
                     step.message ? step.message : "");
    }
    gordian_replay_close(replay);
    CHECK(status == GORDIAN_STATUS_END ||
          (status == GORDIAN_STATUS_MEMORY && play->memory.failures > 0));
    if (status == GORDIAN_STATUS_END) {
        end(play);
        return true;
    }
    play->log.used = logged;
    play->memory.fail_at = 0;
    gordian_close(play->system);
    play->system = NULL;
    return false;
}

static void play_replay(struct play *play)
{
    if (!replay_once(play))
        CHECK(replay_once(play));
}

static void play_snapshot(struct play *play)
{
    gordian_snapshot *snapshot = NULL;
    gordian_names *names = NULL;
    gordian_report report = {0};
    struct source source = {snapshot_text, 0};
    gordian_source reading = {read_text, &source};
    TRY(GORDIAN_OK, (source.at = 0,
                     gordian_snapshot_read(&snapshot, &names, &reading, &play->allocator, ERROR)));
    REQUIRE(snapshot && names);
    text_add(&play->log, "%s %s\n", gordian_names_process(names, 1),
             gordian_names_resource(names, 1));
    TRY(GORDIAN_OK, gordian_snapshot_check(snapshot, &report, ERROR));
    dump_report(&play->log, &report);
    uint32_t more = 0, extra = 0;
    TRY(GORDIAN_OK, gordian_snapshot_add_process(snapshot, &more, ERROR));
    TRY(GORDIAN_OK, gordian_snapshot_add_resource(snapshot, 1, &extra, ERROR));
    TRY(GORDIAN_OK, gordian_snapshot_hold(snapshot, more, extra, 1, ERROR));
    TRY(GORDIAN_OK, gordian_snapshot_wait(snapshot, more, extra, 1, ERROR));
    TRY(GORDIAN_OK, gordian_snapshot_check(snapshot, &report, ERROR));
    dump_report(&play->log, &report);
    gordian_names_close(names);
    gordian_snapshot_close(snapshot);
    CHECK(play->memory.live_bytes == 0 && play->memory.live_blocks == 0);
}

static void play_snapshot_by_hand(struct play *play)
{
    gordian_snapshot *snapshot = NULL;
    gordian_report report = {0};
    TRY(GORDIAN_OK, gordian_snapshot_open(&snapshot, &play->allocator, ERROR));
    REQUIRE(snapshot);
    for (uint32_t i = 0; i < CROWD; i++) {
        uint32_t p = GORDIAN_NONE, q = GORDIAN_NONE;
        TRY(GORDIAN_OK, gordian_snapshot_add_process(snapshot, &p, ERROR));
        TRY(GORDIAN_OK, gordian_snapshot_add_resource(snapshot, 1, &q, ERROR));
        CHECK(p == i && q == i);
        TRY(GORDIAN_OK, gordian_snapshot_hold(snapshot, p, q, 1, ERROR));
    }
    for (uint32_t i = 0; i < CROWD; i++)
        TRY(GORDIAN_OK, gordian_snapshot_wait(snapshot, i, i < 6 ? (i + 1) % 6 : i - 6, 1, ERROR));
    TRY(GORDIAN_OK, gordian_snapshot_check(snapshot, &report, ERROR));
    dump_report(&play->log, &report);
    gordian_snapshot_close(snapshot);
    CHECK(play->memory.live_bytes == 0 && play->memory.live_blocks == 0);
}

/* ------------------------------------------------------------------ every n */

typedef void play_function(struct play *play);

/* Plays with allocation number `fail_at` failing; returns whether one did. */
static bool perform(play_function *function, struct play *play, size_t fail_at, bool for_good)
{
    play->memory = (struct failing){.fail_at = fail_at, .for_good = for_good};
    play->allocator = (gordian_allocator){failing_resize, &play->memory};
    play->log.used = 0;
    play->call = 0;
    play->system = NULL;
    play->undisturbed = fail_at == 0;
    function(play);
    return play->memory.failures > 0;
}

static void fail_everywhere(const char *name, play_function *function, const char *engine)
{
    struct play first = {.engine = engine, .allocations = calloc(CALLS_MAX, sizeof(size_t))};
    struct play play = {.engine = engine, .allocations = first.allocations};
    size_t stride = test_stride();
    REQUIRE(first.allocations);
    CHECK(!perform(function, &first, 0, false));
    REQUIRE(first.memory.calls > 0);
    for (int for_good = 0; for_good < 2; for_good++) {
        size_t n = 1 + (size_t)for_good % stride;
        while (perform(function, &play, n, for_good)) {
            CHECK_MSG(play.log.used == first.log.used &&
                          memcmp(play.log.bytes, first.log.bytes, play.log.used) == 0,
                      "%s, engine %s, allocation %zu: other answers than undisturbed\n--- "
                      "undisturbed\n%s--- got\n%s",
                      name, engine, n, first.log.bytes, play.log.bytes);
            n += stride;
        }
        CHECK_MSG(n > first.memory.calls && n <= first.memory.calls + stride,
                  "%s, engine %s: %zu of %zu allocations", name, engine, n, first.memory.calls);
        if (test_failed)
            break;
    }
    PLAY_FREE(&first);
    PLAY_FREE(&play);
    free(first.allocations);
}

int main(void)
{
    gordian_engine_info info;
    for (size_t i = 0; gordian_engine(i, &info) == GORDIAN_OK; i++) {
        if (strcmp(info.family, "detect") != 0 || !info.available)
            continue;
        fail_everywhere("single", play_single, info.name);
        fail_everywhere("multi", play_multi, info.name);
        fail_everywhere("batches", play_batches, info.name);
        if (strcmp(info.name, "matrix") != 0) { /* which cannot judge these */
            fail_everywhere("general", play_general, info.name);
            fail_everywhere("acts", play_acts, info.name);
            fail_everywhere("replay", play_replay, info.name);
        }
    }
    fail_everywhere("single", play_single, "shared");
    fail_everywhere("list", play_shared_list, "shared");
    fail_everywhere("multi", play_multi, "shared");
    fail_everywhere("batches", play_batches, "shared");
    fail_everywhere("general", play_general, "shared");
    fail_everywhere("acts", play_acts, "shared");
    fail_everywhere("snapshot", play_snapshot, "-");
    fail_everywhere("snapshot by hand", play_snapshot_by_hand, "-");
    return test_done();
}
