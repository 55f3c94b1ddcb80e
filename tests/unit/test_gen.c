/* Generators: every kind makes the events it promises, all of them valid, the same for a seed,
 * with the shape it claims; bad options are refused with a message and nothing is written. */
#include "engines/compose/treo/treo.h"
#include "foundation/base/random.h"
#include "sources/gen/gen.h"
#include "test.h"

#include <string.h>

static struct gen_options options_of(const char *kind)
{
    struct gen_options options;
    gen_options_init(&options);
    options.kind = kind;
    return options;
}

static bool is_life(const struct gen_kind *kind)
{
    return strstr(kind->uses, "hand-overs") != NULL;
}

/* ------------------------------------------------------------------ replaying */

struct tally {
    size_t outcomes[GORDIAN_OUTCOME_REFUSED + 1];
    size_t handed_over, deadlocked, last; /* last: the last event's outcome */
    gordian_model model;
};

static struct tally replay(const struct gen_trace *trace)
{
    struct tally tally = {.last = 0};
    gordian_system *system;
    uint32_t id;
    REQUIRE(gordian_open(&system, NULL, NULL) == GORDIAN_OK);
    for (uint32_t q = 0; q < trace->resources; q++)
        REQUIRE(gordian_add_resource(system, NULL, trace->units[q], &id, NULL) == GORDIAN_OK);
    for (uint32_t p = 0; p < trace->processes; p++)
        REQUIRE(gordian_add_process(system, NULL, &id, NULL) == GORDIAN_OK);
    for (size_t i = 0; i < trace->event_count; i++) {
        gordian_result result;
        REQUIRE(gordian_feed(system, &trace->events[i], &result, NULL) == GORDIAN_OK);
        tally.outcomes[result.outcome]++;
        tally.last = result.outcome;
        tally.handed_over +=
            trace->events[i].op == GORDIAN_OP_RELEASE && trace->events[i].to != GORDIAN_NONE;
    }
    const uint32_t *processes;
    REQUIRE(gordian_deadlocked(system, &processes, &tally.deadlocked, NULL) == GORDIAN_OK);
    tally.model = gordian_system_model(system);
    gordian_close(system);
    return tally;
}

static struct tally replay_kind(const struct gen_options *options, size_t *events)
{
    struct gen_trace trace;
    gordian_error error;
    gordian_status status = gen_events(options, &trace, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s: %s", options->kind, error.message);
    if (status != GORDIAN_OK)
        exit(1);
    struct tally tally = replay(&trace);
    *events = trace.event_count;
    gen_trace_free(&trace);
    return tally;
}

static void test_all_valid(void)
{
    for (const struct gen_kind *kind = gen_kinds; kind->name; kind++)
        for (uint64_t seed = 1; seed <= 20 && !kind->claims && kind->stream && !kind->write;
             seed++) {
            struct gen_options options = options_of(kind->name);
            options.seed = seed;
            options.processes = 2 + (uint32_t)seed;
            if (is_life(kind)) {
                options.cancels = 5;
                options.exits = 3;
                options.hand_overs = 30;
                options.deadlocks = (unsigned)seed * 5;
                options.events = 2000;
            }
            if (strstr(kind->uses, "units"))
                options.units = 2; /* few enough for the smallest to meet each other */
            size_t events;
            struct tally tally = replay_kind(&options, &events);
            CHECK_MSG(tally.outcomes[GORDIAN_OUTCOME_REFUSED] == 0, "%s, seed %d", kind->name,
                      (int)seed);
            CHECK_MSG(!is_life(kind) || events == 2000, "%s: %zu events", kind->name, events);
            if (is_life(kind)) {
                CHECK_MSG(tally.handed_over > 0, "%s", kind->name);
                CHECK_MSG(tally.outcomes[GORDIAN_OUTCOME_EXITED] > 0, "%s", kind->name);
                CHECK_MSG(tally.outcomes[GORDIAN_OUTCOME_CANCELLED] > 0, "%s", kind->name);
            }
        }
}

/* With no deadlock to be left standing, none is; with all of them, some kinds end in one. */
static void test_deadlocks(void)
{
    for (const struct gen_kind *kind = gen_kinds; kind->name; kind++) {
        if (!is_life(kind))
            continue;
        size_t deadlocks = 0, left = 0, events;
        for (uint64_t seed = 1; seed <= 20; seed++) {
            struct gen_options options = options_of(kind->name);
            options.seed = seed;
            options.processes = 6;
            options.events = 3000 + seed;
            struct tally tally = replay_kind(&options, &events);
            CHECK_MSG(tally.deadlocked == 0, "%s, seed %d", kind->name, (int)seed);
            CHECK_MSG(tally.outcomes[GORDIAN_OUTCOME_DOOMED] == 0, "%s", kind->name);
            deadlocks += tally.outcomes[GORDIAN_OUTCOME_DEADLOCK];
            options.deadlocks = 100;
            left += replay_kind(&options, &events).deadlocked;
        }
        CHECK_MSG(deadlocks > 0, "%s never deadlocks", kind->name);
        CHECK_MSG(left > 0, "%s leaves no deadlock", kind->name);
    }
}

static void test_models(void)
{
    size_t events;
    struct gen_options options = options_of("random");
    CHECK(replay_kind(&options, &events).model == GORDIAN_MODEL_SINGLE_UNIT);
    options = options_of("multi");
    CHECK(replay_kind(&options, &events).model == GORDIAN_MODEL_MULTI_UNIT);
    options = options_of("pool");
    CHECK(replay_kind(&options, &events).model == GORDIAN_MODEL_MULTI_UNIT);
    options = options_of("general");
    CHECK(replay_kind(&options, &events).model == GORDIAN_MODEL_GENERAL);
    options = options_of("readers-writers");
    CHECK(replay_kind(&options, &events).model == GORDIAN_MODEL_GENERAL);
}

/* Contention is the share of requests that meet something taken. */
static void test_contention(void)
{
    size_t events;
    for (unsigned percent = 10; percent <= 40; percent += 10) {
        struct gen_options options = options_of("random");
        options.processes = 500;
        options.resources = 1000;
        options.contention = percent;
        options.events = 50000;
        struct tally tally = replay_kind(&options, &events);
        size_t blocked =
            tally.outcomes[GORDIAN_OUTCOME_BLOCKED] + tally.outcomes[GORDIAN_OUTCOME_DEADLOCK];
        size_t requests = blocked + tally.outcomes[GORDIAN_OUTCOME_GRANTED];
        double share = 100.0 * (double)blocked / (double)requests;
        CHECK_MSG(share > percent - 3 && share < percent + 3, "%u%% asked for, %.1f%% blocked",
                  percent, share);
    }
}

/* ------------------------------------------------------------------ shapes */

static void test_chain(void)
{
    const char *const orders[] = {"tail", "head", "random"};
    const uint32_t sizes[] = {1, 2, 3, 100};
    for (size_t o = 0; o < 3; o++)
        for (size_t s = 0; s < 4; s++) {
            struct gen_options options = options_of("chain");
            struct gen_trace trace;
            options.processes = sizes[s];
            options.order = orders[o];
            REQUIRE(gen_events(&options, &trace, NULL) == GORDIAN_OK);
            CHECK(trace.event_count == 2 * (size_t)sizes[s]);
            struct tally tally = replay(&trace);
            CHECK(tally.outcomes[GORDIAN_OUTCOME_GRANTED] == sizes[s]);
            CHECK(tally.outcomes[GORDIAN_OUTCOME_BLOCKED] == sizes[s] - 1);
            CHECK(tally.last == GORDIAN_OUTCOME_DEADLOCK);
            CHECK(tally.deadlocked == sizes[s]);
            gen_trace_free(&trace);
        }
}

/* What tells the two orders apart: in `tail` each blocks on one that is blocked already, in
 * `head` each blocks on one that still runs. */
static void test_chain_orders(void)
{
    for (int head = 0; head < 2; head++) {
        enum { COUNT = 50 };
        struct gen_options options = options_of("chain");
        struct gen_trace trace;
        bool blocked[COUNT] = {false};
        uint32_t holder[COUNT];
        options.processes = COUNT;
        options.order = head ? "head" : "tail";
        REQUIRE(gen_events(&options, &trace, NULL) == GORDIAN_OK);
        for (size_t i = 0; i < COUNT; i++)
            holder[trace.events[i].resource] = trace.events[i].process;
        for (size_t i = COUNT; i + 1 < 2 * COUNT; i++) {
            uint32_t next = holder[trace.events[i].resource];
            bool first = i == COUNT;
            CHECK(blocked[next] == (!head && !first));
            blocked[trace.events[i].process] = true;
        }
        gen_trace_free(&trace);
    }
}

struct snapshot_sink {
    gordian_snapshot *snapshot;
    size_t holds, waits;
};

static gordian_status snapshot_begin(void *context, uint32_t processes, uint32_t resources,
                                     const uint64_t *units, uint64_t units_each,
                                     gordian_error *error)
{
    struct snapshot_sink *sink = context;
    uint32_t id;
    for (uint32_t q = 0; q < resources; q++)
        REQUIRE(gordian_snapshot_add_resource(sink->snapshot, units ? units[q] : units_each, &id,
                                              error) == GORDIAN_OK);
    for (uint32_t p = 0; p < processes; p++)
        REQUIRE(gordian_snapshot_add_process(sink->snapshot, &id, error) == GORDIAN_OK);
    return GORDIAN_OK;
}

static gordian_status snapshot_event(void *context, const gordian_event *event,
                                     gordian_error *error)
{
    struct snapshot_sink *sink = context;
    if (event->op == GORDIAN_OP_HOLD) {
        sink->holds++;
        return gordian_snapshot_hold(sink->snapshot, event->process, event->resource, event->units,
                                     error);
    }
    sink->waits++;
    if (event->op != GORDIAN_OP_WAIT)
        return GORDIAN_STATUS_INPUT;
    if (!event->wants)
        return gordian_snapshot_wait(sink->snapshot, event->process, event->resource, event->units,
                                     error);
    for (size_t i = 0; i < event->want_count; i++)
        if (gordian_snapshot_wait(sink->snapshot, event->process, event->wants[i].resource,
                                  event->wants[i].units, error) != GORDIAN_OK)
            return GORDIAN_STATUS_INPUT;
    return GORDIAN_OK;
}

static void take_snapshot(struct gen_options *options, struct snapshot_sink *sink,
                          gordian_report *report)
{
    struct gen_sink to = {sink, snapshot_begin, snapshot_event};
    gordian_error error;
    options->snapshot = true;
    REQUIRE(gordian_snapshot_open(&sink->snapshot, NULL, NULL) == GORDIAN_OK);
    gordian_status status = gen_stream(options, &to, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s: %s", options->kind, error.message);
    REQUIRE(gordian_snapshot_check(sink->snapshot, report, NULL) == GORDIAN_OK);
}

static void test_chains_snapshot(void)
{
    const uint64_t cycles[] = {0, 1, 7, 50};
    for (size_t i = 0; i < 4; i++) {
        struct gen_options options = options_of("chains");
        struct snapshot_sink sink = {NULL, 0, 0};
        gordian_report report;
        options.processes = 1000;
        options.resources = 1500;
        options.length = 20;
        options.cycles = cycles[i];
        take_snapshot(&options, &sink, &report);
        CHECK(sink.holds == 1000);
        CHECK(sink.waits == 950 + cycles[i]);
        CHECK(report.part_count == cycles[i]);
        CHECK(report.deadlocked_count == 20 * cycles[i]);
        for (size_t k = 0; k < report.part_count; k++)
            CHECK(report.parts[k].process_count == 20);
        gordian_snapshot_close(sink.snapshot);
    }
}

/* A snapshot is the state its events lead to: as many are deadlocked. */
static void test_snapshot_is_state(void)
{
    for (const struct gen_kind *kind = gen_kinds; kind->name; kind++)
        for (uint64_t seed = 1; seed <= 5 && !kind->claims && kind->stream && !kind->write;
             seed++) {
            struct gen_options options = options_of(kind->name);
            struct snapshot_sink sink = {NULL, 0, 0};
            gordian_report report;
            size_t events;
            options.seed = seed;
            options.processes = 30;
            if (is_life(kind)) {
                options.deadlocks = 20;
                options.events = 400;
            }
            size_t expected = replay_kind(&options, &events).deadlocked;
            take_snapshot(&options, &sink, &report);
            CHECK_MSG(report.deadlocked_count == expected, "%s: %zu, not %zu", kind->name,
                      report.deadlocked_count, expected);
            gordian_snapshot_close(sink.snapshot);
        }
}

static void test_hot(void)
{
    struct gen_options options = options_of("hot");
    size_t events;
    options.processes = 10;
    options.resources = 3;
    options.events = 501;
    struct tally tally = replay_kind(&options, &events);
    CHECK(events == 501);
    CHECK(tally.outcomes[GORDIAN_OUTCOME_GRANTED] == 3);
    CHECK(tally.outcomes[GORDIAN_OUTCOME_RELEASED] == 246);
    CHECK(tally.outcomes[GORDIAN_OUTCOME_BLOCKED] == 7 + 245);
    CHECK(tally.deadlocked == 0);
}

/* ------------------------------------------------------------------ text */

static gordian_status write_text(const struct gen_options *options, struct output *out,
                                 gordian_error *error)
{
    REQUIRE(output_open(out, -1));
    return gen_write(options, out, error);
}

static uint64_t digest(const struct output *out)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    for (size_t i = 0; i < out->used; i++)
        hash = (hash ^ (unsigned char)out->buffer[i]) * UINT64_C(1099511628211);
    return hash;
}

static void test_text(void)
{
    static const char expected[] = "# gordian gen chain: seed 1, 3 processes, 3 resources\n"
                                   "resource q0\nresource q1\nresource q2\n"
                                   "request p0 q2\nrequest p1 q0\nrequest p2 q1\n"
                                   "request p1 q1\nrequest p0 q0\nrequest p2 q2\n";
    struct gen_options options = options_of("chain");
    struct output out;
    options.processes = 3;
    CHECK(write_text(&options, &out, NULL) == GORDIAN_OK);
    CHECK_MSG(out.used == strlen(expected) && memcmp(out.buffer, expected, out.used) == 0, "%.*s",
              (int)out.used, out.buffer);
    output_close(&out);
}

struct text_source {
    const char *text;
    size_t left;
};

static ptrdiff_t read_text(void *context, char *buffer, size_t size)
{
    struct text_source *source = context;
    size_t count = size < source->left ? size : source->left;
    memcpy(buffer, source->text, count);
    source->text += count;
    source->left -= count;
    return (ptrdiff_t)count;
}

/* The text of every kind, read back as a trace: no line is refused. */
static void test_text_reads_back(void)
{
    for (const struct gen_kind *kind = gen_kinds; kind->name; kind++)
        for (int snapshot = 0; snapshot < 2 && !kind->claims && kind->stream; snapshot++) {
            struct gen_options options = options_of(kind->name);
            struct output out;
            gordian_system *system;
            gordian_replay *reader;
            gordian_step step;
            gordian_error error = {.status = GORDIAN_OK};
            gordian_status status;
            options.processes = 20;
            options.snapshot = snapshot;
            if (is_life(kind))
                options.exits = options.cancels = options.hand_overs = options.deadlocks = 10;
            REQUIRE(write_text(&options, &out, NULL) == GORDIAN_OK);
            struct text_source text = {out.buffer, out.used};
            gordian_source source = {read_text, &text};
            REQUIRE(gordian_open(&system, NULL, NULL) == GORDIAN_OK);
            REQUIRE(gordian_replay_open(&reader, system, &source, NULL) == GORDIAN_OK);
            while ((status = gordian_replay_next(reader, &step, &error)) == GORDIAN_OK)
                CHECK_MSG(step.result.outcome != GORDIAN_OUTCOME_REFUSED, "%s, line %d: %s",
                          kind->name, (int)step.line, step.message);
            CHECK_MSG(status == GORDIAN_STATUS_END, "%s, line %d: %s", kind->name, (int)error.line,
                      error.message);
            gordian_replay_close(reader);
            gordian_close(system);
            output_close(&out);
        }
}

/* What became of the lines of a kind for avoidance, replayed into a bank. */
struct bank_tally {
    size_t verdicts[GORDIAN_VERDICT_REFUSED + 1];
    uint64_t events;
};

static struct bank_tally replay_bank(const struct gen_options *options)
{
    struct bank_tally tally = {.events = 0};
    struct output out;
    gordian_bank *bank;
    gordian_bank_replay *reader;
    gordian_bank_step step;
    gordian_answer answer;
    gordian_status status;
    gordian_bank_options bank_options;
    gordian_bank_options_init(&bank_options);
    bank_options.queue = options->queue;
    gordian_answer_init(&answer, GORDIAN_DETAIL_VERDICT);
    REQUIRE(write_text(options, &out, NULL) == GORDIAN_OK);
    struct text_source text = {out.buffer, out.used};
    gordian_source source = {read_text, &text};
    REQUIRE(gordian_bank_open(&bank, &bank_options, NULL) == GORDIAN_OK);
    REQUIRE(gordian_bank_replay_open(&reader, bank, &source, NULL) == GORDIAN_OK);
    while ((status = gordian_bank_replay_next(reader, &step, &answer, NULL)) == GORDIAN_OK) {
        CHECK_MSG(answer.verdict != GORDIAN_VERDICT_REFUSED, "%s, line %d: %s", options->kind,
                  (int)step.line, step.message);
        tally.verdicts[answer.verdict]++;
        tally.events = step.seq;
    }
    CHECK(status == GORDIAN_STATUS_END);
    gordian_bank_replay_close(reader);
    gordian_bank_close(bank);
    gordian_answer_free(&answer);
    output_close(&out);
    return tally;
}

/* Kinds for avoidance: no line is refused, everything that can happen does. */
static void test_banks(void)
{
    size_t verdicts[GORDIAN_VERDICT_REFUSED + 1] = {0};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct gen_options options = options_of("bank");
        options.seed = seed;
        options.processes = 1 + (uint32_t)seed;
        options.resources = 1 + (uint32_t)seed % 5;
        options.exits = 2;
        options.changes = 5;
        options.queue = seed % 2;
        options.cancels = options.queue ? 20 : 0;
        struct bank_tally tally = replay_bank(&options);
        CHECK(tally.events == 1000);
        for (size_t i = 0; i <= GORDIAN_VERDICT_REFUSED; i++)
            verdicts[i] += tally.verdicts[i];
    }
    for (size_t i = GORDIAN_VERDICT_GRANTED; i < GORDIAN_VERDICT_REFUSED; i++)
        CHECK_MSG(verdicts[i] > 0, "never %s", gordian_verdict_text((gordian_verdict)i));
    struct gen_options options = options_of("bank-rounds");
    struct bank_tally tally = replay_bank(&options);
    CHECK(tally.events == 1000 && tally.verdicts[GORDIAN_VERDICT_UNSAFE] == 300);
    CHECK(tally.verdicts[GORDIAN_VERDICT_GRANTED] == 400 &&
          tally.verdicts[GORDIAN_VERDICT_RELEASED] == 300);
    options = options_of("bank-textbook");
    tally = replay_bank(&options);
    CHECK(tally.events == 8 && tally.verdicts[GORDIAN_VERDICT_GRANTED] == 6);
    CHECK(tally.verdicts[GORDIAN_VERDICT_UNAVAILABLE] == 1 &&
          tally.verdicts[GORDIAN_VERDICT_UNSAFE] == 1);
}

/* Circuits of any size are read as what they should be: as many automata and, but for the random
 * ones, as many names. They have no events. */
static void test_circuits(void)
{
    static const struct {
        const char *kind;
        uint32_t names, more, factors; /* names: of each automaton, and so many more */
    } kinds[] = {{"circuit", 0, 0, 1},
                 {"circuit-chain", 1, 1, 1},
                 {"circuit-apart", 2, 0, 1},
                 {"circuit-ring", 1, 0, 1},
                 {"circuit-dining", 4, 0, 2}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct gen_options options = options_of(kinds[i].kind);
        struct gen_trace trace;
        CHECK(gen_events(&options, &trace, NULL) == GORDIAN_STATUS_INPUT);
        for (uint64_t seed = 1; seed <= 100; seed++) {
            struct output out;
            struct text text;
            gordian_circuit *circuit = NULL;
            gordian_circuit_options reading = {.main = NULL};
            gordian_error error = {0};
            options.seed = seed;
            options.processes = 5 + (uint32_t)seed * 7 % 200;
            REQUIRE(write_text(&options, &out, &error) == GORDIAN_OK);
            REQUIRE(text_copy(&text, "gen", out.buffer, out.used, NULL, NULL) == GORDIAN_OK);
            gordian_status status = treo_read(&circuit, &text, &reading, NULL, &error);
            CHECK_MSG(status == GORDIAN_OK, "%s, seed %d: %s", kinds[i].kind, (int)seed,
                      error.message);
            if (circuit) { /* names with several writers add mergers to the random ones */
                CHECK(circuit->factor_count >= (size_t)kinds[i].factors * options.processes);
                CHECK(!kinds[i].names ||
                      circuit->name_count == kinds[i].names * options.processes + kinds[i].more);
            }
            gordian_circuit_close(circuit);
            text_free(&text);
            output_close(&out);
        }
    }
}

/* A seed's bytes are the same on every machine, today and tomorrow: these are they. */
static void test_same_bytes(void)
{
    static const struct {
        const char *kind;
        uint64_t digest;
    } known[] = {
        {"random", UINT64_C(0x5707b91fcec648bc)},
        {"multi", UINT64_C(0x997395beb75e01d8)},
        {"general", UINT64_C(0xc605345feb772491)},
        {"chain", UINT64_C(0xd7d7c67576428b62)},
        {"ring", UINT64_C(0x25877663ba064331)},
        {"chains", UINT64_C(0xa6489b329ac06736)},
        {"forest", UINT64_C(0x941459c43433ea71)},
        {"hot", UINT64_C(0xc2cb191a6695bdb3)},
        {"philosophers", UINT64_C(0xb07333e071675524)},
        {"readers-writers", UINT64_C(0xfdcc6edaeffff9cf)},
        {"pool", UINT64_C(0x88554b89ef042c69)},
        {"bank", UINT64_C(0xaa9fe6be5bd15a90)},
        {"bank-rounds", UINT64_C(0xc04d97f1cd647b04)},
        {"bank-textbook", UINT64_C(0x3fd88518528b9343)},
        {"circuit", UINT64_C(0xd4c4ce662b608f6c)},
        {"circuit-chain", UINT64_C(0x12f622d7ce94ca8d)},
        {"circuit-apart", UINT64_C(0x142358b2533bfbf6)},
        {"circuit-ring", UINT64_C(0x12efb68c56381717)},
        {"circuit-dining", UINT64_C(0xfc032cc5a866f7df)},
        {"collectives", UINT64_C(0x85eb481a075c1fda)},
        {"messages", UINT64_C(0xd290d9fc60b3bf10)},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct gen_options options = options_of(known[i].kind);
        struct output out;
        options.seed = 42;
        REQUIRE(write_text(&options, &out, NULL) == GORDIAN_OK);
        CHECK_MSG(digest(&out) == known[i].digest, "%s: 0x%llx", known[i].kind,
                  (unsigned long long)digest(&out));
        output_close(&out);
        CHECK_MSG(strcmp(gen_kinds[i].name, known[i].kind) == 0, "%s has no known bytes",
                  gen_kinds[i].name ? gen_kinds[i].name : "nothing");
    }
    CHECK(!gen_kinds[sizeof known / sizeof *known].name);
}

static void test_seed_matters(void)
{
    struct gen_options options = options_of("random");
    struct output first, second;
    REQUIRE(write_text(&options, &first, NULL) == GORDIAN_OK);
    options.seed = 2;
    REQUIRE(write_text(&options, &second, NULL) == GORDIAN_OK);
    CHECK(digest(&first) != digest(&second));
    output_close(&first);
    output_close(&second);
}

/* ------------------------------------------------------------------ bad options */

static void refused(struct gen_options options, const char *expected)
{
    struct output out;
    gordian_error error = {.status = GORDIAN_OK};
    CHECK_MSG(write_text(&options, &out, &error) == GORDIAN_STATUS_INPUT, "%s", expected);
    CHECK(error.status == GORDIAN_STATUS_INPUT);
    CHECK_MSG(strstr(error.message, expected), "'%s' lacks '%s'", error.message, expected);
    CHECK(out.used == 0);
    output_close(&out);
}

static void test_bad_options(void)
{
    struct gen_options options = options_of("nonsense");
    refused(options, "unknown kind 'nonsense': one of random, ");
    options.kind = NULL;
    refused(options, "unknown kind");
    options = options_of("random");
    options.contention = 101;
    refused(options, "contention is a percentage, 0 to 100, not 101");
    options = options_of("random");
    options.processes = UINT32_MAX;
    refused(options, "processes is at most 2147483647");
    options = options_of("chain");
    options.contention = 50;
    refused(options, "kind 'chain' does not use contention: it uses processes");
    options = options_of("bank");
    options.cancels = 5;
    refused(options, "cancels needs queue");
    options = options_of("bank");
    options.changes = 100;
    refused(options, "at most 99 percent");
    struct gen_trace trace;
    options = options_of("bank");
    CHECK(gen_events(&options, &trace, NULL) == GORDIAN_STATUS_INPUT && !trace.events);
    options = options_of("chain");
    options.order = "sideways";
    refused(options, "unknown order 'sideways': one of tail, head, random");
    options = options_of("random");
    options.order = "tail";
    refused(options, "does not use order");
    options = options_of("chains");
    options.processes = 100;
    options.resources = 99;
    refused(options, "99 resources, 100 processes");
    options.resources = 0;
    options.length = 10;
    options.cycles = 11;
    refused(options, "11 cycles");
    options = options_of("philosophers");
    options.processes = 1;
    refused(options, "at least 2 philosophers");
    options = options_of("hot");
    options.resources = 2000;
    refused(options, "2000 resources, 1000 processes");
}

static void test_full_disk(void)
{
    FILE *full = fopen("/dev/full", "w");
    if (!full)
        return;
    struct gen_options options = options_of("random");
    struct output out;
    gordian_error error = {.status = GORDIAN_OK};
    options.events = 1000000;
    REQUIRE(output_open(&out, fileno(full)));
    CHECK(gen_write(&options, &out, &error) == GORDIAN_STATUS_IO);
    CHECK(strstr(error.message, "cannot write"));
    CHECK(!output_close(&out));
    fclose(full);
}

int main(void)
{
    test_all_valid();
    test_deadlocks();
    test_models();
    test_contention();
    test_chain();
    test_chain_orders();
    test_chains_snapshot();
    test_snapshot_is_state();
    test_hot();
    test_text();
    test_text_reads_back();
    test_banks();
    test_circuits();
    test_same_bytes();
    test_seed_matters();
    test_bad_options();
    test_full_disk();
    return test_done();
}
