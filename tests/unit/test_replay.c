/* Reading traces and snapshots: the grammar and its errors, replay, refusals and where they
 * point, processes that come and go, every allocation failing once. */
#include "alloc/failing.h"
#include "foundation/base/random.h"
#include "test.h"

#include <gordian/gordian.h>

#include <errno.h>
#include <string.h>

/* ---- text as a source, and an allocator that counts and fails on demand */

struct text_source {
    const char *text;
    size_t length, at;
    size_t piece; /* bytes a read gives at most; 0: all there is */
};

static ptrdiff_t read_text(void *context, char *buffer, size_t size)
{
    struct text_source *source = context;
    size_t count = source->length - source->at;
    if (count > size)
        count = size;
    if (source->piece && count > source->piece)
        count = source->piece;
    memcpy(buffer, source->text + source->at, count);
    source->at += count;
    return (ptrdiff_t)count;
}

static ptrdiff_t read_nothing(void *context, char *buffer, size_t size)
{
    (void)context, (void)buffer, (void)size;
    errno = EISDIR;
    return -1;
}

/* ---- a replay under test */

struct rig {
    struct text_source text;
    gordian_source source;
    gordian_system *system;
    gordian_replay *replay;
    gordian_step step;
    gordian_error error;
};

static void rig_open(struct rig *rig, const char *text)
{
    *rig = (struct rig){.text = {.text = text, .length = strlen(text)}};
    rig->source = (gordian_source){read_text, &rig->text};
    gordian_status status = gordian_open(&rig->system, NULL, NULL);
    REQUIRE(status == GORDIAN_OK);
    status = gordian_replay_open(&rig->replay, rig->system, &rig->source, NULL);
    REQUIRE(status == GORDIAN_OK);
}

static void rig_close(struct rig *rig)
{
    gordian_replay_close(rig->replay);
    gordian_close(rig->system);
}

static gordian_status rig_next(struct rig *rig)
{
    return gordian_replay_next(rig->replay, &rig->step, &rig->error);
}

/* Replays to the end; the last step stays in the rig. */
static gordian_status rig_run(struct rig *rig)
{
    gordian_status status;
    do
        status = rig_next(rig);
    while (status == GORDIAN_OK);
    return status;
}

/* ---- lines that are not part of the format */

struct bad_line {
    const char *text;
    uint64_t line, column;
    const char *message;
};

static const struct bad_line bad_lines[] = {
    {"reqest p q", 1, 1,
     "unknown word 'reqest': expected resource, process, request, release, cancel, exit, hold, "
     "wait, await or act; did you mean 'request'?"},
    {"resource q\n\n  frobnicate p", 3, 3,
     "unknown word 'frobnicate': expected resource, process, request, release, cancel, exit, "
     "hold, wait, await or act"},
    {"await p", 1, 8, "expected a process name after 'await p'"},
    {"await p 2 of a", 1, 9, "2 acts of 1 processes: name at least as many processes"},
    {"await p any of", 1, 15, "expected a process name after 'await p any of'"},
    {"await p a=1", 1, 9, "the name of a process cannot contain '='"},
    {"act p to q", 1, 7, "expected 'for' or the end of the line after one process, not 'to'"},
    {"act p for", 1, 10, "expected a process name after 'act p for'"},
    {"act p for q r", 1, 13, "expected the end of the line after the process it is for, not 'r'"},
    {"x", 1, 1, "unknown word 'x': expected"},
    {"Exit p", 1, 1, "did you mean 'exit'?"},
    {"re\x01quest p", 1, 1, "unknown word 're\\x01quest'"},
    {"resource", 1, 9, "expected a resource name after 'resource'"},
    {"process # nobody", 1, 8, "expected a process name after 'process'"},
    {"request", 1, 8, "expected a process name after 'request'"},
    {"request p0", 1, 11, "expected a resource name after 'request p0'"},
    {"wait p0  ", 1, 8, "expected a resource name after 'wait p0'"},
    {"hold p0\r\n", 1, 8, "expected a resource name after 'hold p0'"},
    {"release p0", 1, 11, "expected a resource name after 'release p0'"},
    {"release p0 q to", 1, 16, "expected a process name after 'release p0 q to'"},
    {"release p0 q q2", 1, 14, "expected 'to' or the end of the line after one resource, not 'q2'"},
    {"release p0 q to p1 p2", 1, 20, "expected the end of the line after the hand-over, not 'p2'"},
    {"hold p0 q q2", 1, 11, "expected the end of the line after one resource, not 'q2'"},
    {"cancel", 1, 7, "expected a process name after 'cancel'"},
    {"cancel p q", 1, 10, "expected the end of the line after one process, not 'q'"},
    {"exit p now", 1, 8, "expected the end of the line after one process, not 'now'"},
    {"resource q 1 2", 1, 14, "expected the end of the line after the units, not '2'"},
    {"resource q 0", 1, 12, "'0': units must be a whole number from 1 to 18446744073709551615"},
    {"resource q -1", 1, 12, "'-1': units must be"},
    {"resource q 18446744073709551616", 1, 12, "'18446744073709551616': units must be"},
    {"resource q many", 1, 12, "'many': units must be"},
    {"resource q=3", 1, 10, "'q=3': the name of a resource cannot contain '='"},
    {"exit p=3", 1, 6, "'p=3': the name of a process cannot contain '='"},
    {"release p q to =", 1, 16, "'=': the name of a process cannot contain '='"},
    {"request p q1 q1=-3", 1, 14,
     "'q1=-3': units must be a whole number from 1 to 18446744073709551615"},
    {"request p q1=0", 1, 11, "'q1=0': units must be"},
    {"request p q1=1=2", 1, 11, "'q1=1=2': units must be"},
    {"request p q1=99999999999999999999", 1, 11, "units must be"},
    {"request p q1=", 1, 11, "'q1=': expected a number of units after '='"},
    {"hold p =4", 1, 8, "'=4': expected a resource name before '='"},
    {"wait p =", 1, 8, "'=': expected a resource name before '='"},
    {"resource q\nresource r\nresource q 2", 3, 10, "resource 'q' was declared before, at line 1"},
    {"process p fast", 1, 11, "'fast': expected key=value"},
    {"process p priority=", 1, 11, "'priority=': expected a value after '='"},
    {"process p =3", 1, 11, "'=3': expected a key before '='"},
    {"process p cost=1 speed=3", 1, 18, "unknown attribute 'speed': expected priority= or cost="},
    {"process p cost=1.5", 1, 11,
     "'cost=1.5': cost must be a whole number from -9223372036854775808"},
    {"process p priority=9223372036854775808", 1, 11, "priority must be a whole number"},
};

static void malformed_lines(void)
{
    for (size_t i = 0; i < sizeof bad_lines / sizeof *bad_lines; i++) {
        const struct bad_line *bad = &bad_lines[i];
        struct rig rig;
        rig_open(&rig, bad->text);
        CHECK_MSG(rig_run(&rig) == GORDIAN_STATUS_INPUT, "%s", bad->text);
        CHECK_MSG(rig.error.line == bad->line && rig.error.column == bad->column, "%s: at %d:%d",
                  bad->text, (int)rig.error.line, (int)rig.error.column);
        CHECK_MSG(strstr(rig.error.message, bad->message), "%s: %s", bad->text, rig.error.message);
        CHECK(gordian_process_limit(rig.system) == 0);
        rig_close(&rig);
    }
    /* The message may be declined. */
    struct rig rig;
    rig_open(&rig, "request");
    CHECK(gordian_replay_next(rig.replay, &rig.step, NULL) == GORDIAN_STATUS_INPUT);
    rig_close(&rig);
}

static void names_at_the_limit(void)
{
    char name[GORDIAN_NAME_MAX + 2], text[1000];
    memset(name, 'n', sizeof name);
    struct rig rig;
    snprintf(text, sizeof text, "resource %.255s\nrequest %.255s %.255s=1\n", name, name, name);
    rig_open(&rig, text);
    CHECK(rig_next(&rig) == GORDIAN_OK && rig.step.result.outcome == GORDIAN_OUTCOME_GRANTED);
    CHECK(strlen(rig.step.process) == GORDIAN_NAME_MAX);
    rig_close(&rig);
    static const char *const over[] = {"resource %.256s", "exit %.256s", "request p q %.256s=1",
                                       "release p q to %.256s", "process %.256s"};
    static const unsigned columns[] = {10, 6, 13, 16, 9};
    for (size_t i = 0; i < sizeof over / sizeof *over; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(text, sizeof text, over[i], name);
#pragma GCC diagnostic pop
        rig_open(&rig, text);
        CHECK(rig_run(&rig) == GORDIAN_STATUS_INPUT);
        CHECK(rig.error.column == columns[i]);
        CHECK_MSG(strstr(rig.error.message, "name of 256 bytes: at most 255"), "%s",
                  rig.error.message);
        rig_close(&rig);
    }
}

/* ---- events */

static void plain_events(void)
{
    struct rig rig;
    rig_open(&rig, "# two of them\r\n"
                   "resource q\nresource r 3 # three\n"
                   "request p0 q\n"
                   "  request p1 q\n"
                   "process p1 priority=-4 cost=9\n"
                   "hold p2 r=2\n"
                   "request p0 r\n"
                   "wait p3 r=2 q r\n"
                   "release p0 q to p1\n"
                   "cancel p3\n"
                   "exit p2");
    struct {
        const char *process;
        gordian_op op;
        gordian_outcome outcome;
        uint64_t line, column;
    } expected[] = {
        {"p0", GORDIAN_OP_REQUEST, GORDIAN_OUTCOME_GRANTED, 4, 1},
        {"p1", GORDIAN_OP_REQUEST, GORDIAN_OUTCOME_BLOCKED, 5, 3},
        {"p2", GORDIAN_OP_HOLD, GORDIAN_OUTCOME_GRANTED, 7, 1},
        {"p0", GORDIAN_OP_REQUEST, GORDIAN_OUTCOME_GRANTED, 8, 1},
        {"p3", GORDIAN_OP_WAIT, GORDIAN_OUTCOME_BLOCKED, 9, 1},
        {"p0", GORDIAN_OP_RELEASE, GORDIAN_OUTCOME_RELEASED, 10, 1},
        {"p3", GORDIAN_OP_CANCEL, GORDIAN_OUTCOME_CANCELLED, 11, 1},
        {"p2", GORDIAN_OP_EXIT, GORDIAN_OUTCOME_EXITED, 12, 1},
    };
    size_t count = sizeof expected / sizeof *expected;
    for (size_t i = 0; i < count; i++) {
        CHECK(rig_next(&rig) == GORDIAN_OK);
        CHECK(rig.step.seq == i + 1);
        CHECK(strcmp(rig.step.process, expected[i].process) == 0);
        CHECK(rig.step.event.op == expected[i].op);
        CHECK_MSG(rig.step.result.outcome == expected[i].outcome, "event %zu: %u", i + 1,
                  rig.step.result.outcome);
        CHECK(rig.step.line == expected[i].line && rig.step.column == expected[i].column);
        CHECK(!rig.step.message);
        if (i == 4) {
            CHECK(rig.step.event.want_count == 3 && rig.step.event.wants[0].units == 2);
        } else if (i == 5) {
            size_t served;
            CHECK(rig.step.result.served_count == 1);
            CHECK(gordian_served(rig.system, &served)[0] == rig.step.event.to && served == 1);
            CHECK(strcmp(gordian_process_name(rig.system, rig.step.event.to), "p1") == 0);
        }
    }
    CHECK(rig_next(&rig) == GORDIAN_STATUS_END);
    CHECK(rig_next(&rig) == GORDIAN_STATUS_END);
    uint32_t p1 = gordian_find_process(rig.system, "p1", 2);
    CHECK(gordian_priority(rig.system, p1) == -4 && gordian_cost(rig.system, p1) == 9);
    rig_close(&rig);
}

/* The last event of each is refused: where it points, and what it says. */
struct refused {
    const char *text;
    uint64_t column;
    gordian_refusal refusal;
    const char *message;
};

static const struct refused refused_events[] = {
    {"resource q\nrelease p q", 9, GORDIAN_REFUSAL_UNKNOWN_PROCESS, "process 'p' was never seen"},
    {"cancel p", 8, GORDIAN_REFUSAL_UNKNOWN_PROCESS, "process 'p' was never seen"},
    {"exit nobody", 6, GORDIAN_REFUSAL_UNKNOWN_PROCESS, "process 'nobody' was never seen"},
    {"request p q9", 11, GORDIAN_REFUSAL_UNKNOWN_RESOURCE, "resource 'q9' was never declared"},
    {"resource q\nrequest p q q8=2 q9", 13, GORDIAN_REFUSAL_UNKNOWN_RESOURCE,
     "resource 'q8' was never declared"},
    {"resource q\nhold p q\nrelease p r", 11, GORDIAN_REFUSAL_UNKNOWN_RESOURCE,
     "resource 'r' was never declared"},
    {"resource q 2\nrequest p q=3", 11, GORDIAN_REFUSAL_OVER_TOTAL, "q"},
    {"resource r\nresource q 2\nrequest p q r q", 0, GORDIAN_REFUSAL_NONE, NULL},
    {"resource r\nresource q 2\nrequest p q r q=2 r", 15, GORDIAN_REFUSAL_OVER_TOTAL, "q"},
    {"resource r\nresource q 18446744073709551615\nrequest p r q=18446744073709551615 q", 36,
     GORDIAN_REFUSAL_OVER_TOTAL, "q"},
    {"resource q\nresource r\nhold p q\nrequest w q\nrequest w r", 9, GORDIAN_REFUSAL_IS_WAITING,
     "w"},
    {"resource q\nhold p q\ncancel p", 8, GORDIAN_REFUSAL_NOT_WAITING, "p"},
    {"resource q\nprocess p\nrelease p q", 11, GORDIAN_REFUSAL_NOT_HELD, "q"},
    {"resource q 2\nhold p q\nrelease p q=2", 11, GORDIAN_REFUSAL_NOT_HELD, "q"},
    {"resource q\nhold p q\nhold p2 q", 9, GORDIAN_REFUSAL_NOT_FREE, "q"},
    {"resource q\nprocess p2\nhold p q\nrelease p q to p2", 16, GORDIAN_REFUSAL_BAD_HAND_OVER,
     "p2"},
    {"resource q\nhold p q\nrelease p q to p3", 16, GORDIAN_REFUSAL_BAD_HAND_OVER,
     "process 'p3' was never seen"},
};

static void refusals(void)
{
    for (size_t i = 0; i < sizeof refused_events / sizeof *refused_events; i++) {
        const struct refused *expected = &refused_events[i];
        struct rig rig;
        rig_open(&rig, expected->text);
        CHECK(rig_run(&rig) == GORDIAN_STATUS_END);
        CHECK_MSG(rig.step.result.refusal == expected->refusal, "%s: %u", expected->text,
                  rig.step.result.refusal);
        if (expected->refusal != GORDIAN_REFUSAL_NONE) {
            CHECK(rig.step.result.outcome == GORDIAN_OUTCOME_REFUSED);
            CHECK_MSG(rig.step.column == expected->column, "%s: column %d", expected->text,
                      (int)rig.step.column);
            CHECK_MSG(rig.step.message && strstr(rig.step.message, expected->message), "%s: %s",
                      expected->text, rig.step.message ? rig.step.message : "no message");
        }
        rig_close(&rig);
    }
}

/* A process whose only event was refused has never been. */
static void refused_processes_are_not_born(void)
{
    struct rig rig;
    rig_open(&rig, "resource q\nrequest p q=2\nexit p\nhold p x\ncancel p\nwait p q q\n"
                   "request p q\nexit p\n");
    for (int i = 0; i < 5; i++) {
        CHECK(rig_next(&rig) == GORDIAN_OK && rig.step.result.outcome == GORDIAN_OUTCOME_REFUSED);
        CHECK(rig.step.event.process == GORDIAN_NONE);
        CHECK(strcmp(rig.step.process, "p") == 0);
        CHECK(gordian_find_process(rig.system, "p", 1) == GORDIAN_NONE);
    }
    CHECK(rig_next(&rig) == GORDIAN_OK && rig.step.result.outcome == GORDIAN_OUTCOME_GRANTED);
    CHECK(rig_next(&rig) == GORDIAN_OK && rig.step.result.outcome == GORDIAN_OUTCOME_EXITED);
    CHECK(rig.step.seq == 7);
    rig_close(&rig);
}

static void a_failing_source(void)
{
    gordian_source source = {read_nothing, NULL};
    gordian_system *system;
    gordian_replay *replay;
    gordian_step step;
    gordian_error error;
    gordian_status status = gordian_open(&system, NULL, NULL);
    REQUIRE(status == GORDIAN_OK);
    status = gordian_replay_open(&replay, system, &source, NULL);
    REQUIRE(status == GORDIAN_OK);
    CHECK(gordian_replay_next(replay, &step, &error) == GORDIAN_STATUS_IO);
    CHECK_MSG(strstr(error.message, strerror(EISDIR)), "%s", error.message);
    gordian_replay_close(replay);
    gordian_close(system);
    gordian_replay_close(NULL);
}

/* A 1 MiB line that is right, and one that is not. */
static void long_lines(void)
{
    size_t size = 1u << 20;
    char *text = malloc(size + 100);
    REQUIRE(text);
    size_t used = (size_t)sprintf(text, "resource q 1000000\nrequest p");
    while (used < size)
        used += (size_t)sprintf(text + used, " q=1");
    struct rig rig;
    rig_open(&rig, text);
    CHECK(rig_next(&rig) == GORDIAN_OK && rig.step.result.outcome == GORDIAN_OUTCOME_GRANTED);
    CHECK(rig.step.event.want_count > 200000);
    rig_close(&rig);
    strcat(text, " q=x");
    rig_open(&rig, text);
    CHECK(rig_next(&rig) == GORDIAN_STATUS_INPUT &&
          strstr(rig.error.message, "'q=x': units must be"));
    CHECK(rig.error.line == 2 && rig.error.column > size - 100);
    rig_close(&rig);
    memset(text + 19, 'x', size);
    rig_open(&rig, text);
    CHECK(rig_next(&rig) == GORDIAN_STATUS_INPUT && strstr(rig.error.message, "xxx...'"));
    rig_close(&rig);
    free(text);
}

/* ---- processes that come and go */

/* Text made as it is read: a deadlock of `a` and `b`, from which the test recovers; `count`
 * processes that each take and exit, one that does so again and again in between; and at
 * last lines of the test's own. */
struct stream {
    uint32_t next, count;
    const char *last;
    char line[200];
    size_t length, at;
};

static size_t next_of_stream(struct stream *stream)
{
    char *line = stream->line;
    uint32_t i = stream->next++;
    if (i == 0)
        return (size_t)sprintf(line, "resource q\nresource x\nresource y\nprocess idle\n"
                                     "request a x\nrequest b y\nrequest a y\nrequest b x\n"
                                     "request early q\nexit early\n");
    if (i <= stream->count)
        return (size_t)sprintf(line, "request w%u q\nexit w%u\nrequest again q\nexit again\n", i,
                               i);
    if (i == stream->count + 1)
        return (size_t)sprintf(line, "%s", stream->last);
    return 0;
}

static ptrdiff_t read_stream(void *context, char *buffer, size_t size)
{
    struct stream *stream = context;
    if (stream->at == stream->length) {
        stream->length = next_of_stream(stream);
        stream->at = 0;
    }
    size_t count = stream->length - stream->at < size ? stream->length - stream->at : size;
    memcpy(buffer, stream->line + stream->at, count);
    stream->at += count;
    return (ptrdiff_t)count;
}

/* Replays the stream; the test's own lines must end as `expected` says: '.' exited,
 * '?' unknown. */
static void stream_ends(uint32_t count, const char *last, const char *expected)
{
    struct stream stream = {.count = count, .last = last};
    gordian_source source = {read_stream, &stream};
    gordian_system *system;
    gordian_replay *replay;
    gordian_step step = {0};
    gordian_status status = gordian_open(&system, NULL, NULL);
    REQUIRE(status == GORDIAN_OK);
    status = gordian_replay_open(&replay, system, &source, NULL);
    REQUIRE(status == GORDIAN_OK);
    uint64_t refused = 0, before = 6 + 4 * (uint64_t)count;
    while (gordian_replay_next(replay, &step, NULL) == GORDIAN_OK) {
        if (step.result.outcome == GORDIAN_OUTCOME_DEADLOCK) {
            gordian_victim victim;
            CHECK(gordian_recover_one(system, GORDIAN_POLICY_YOUNGEST, &victim, NULL) ==
                  GORDIAN_OK);
            CHECK(strcmp(gordian_process_name(system, victim.process), "b") == 0);
        }
        if (step.seq <= before) {
            refused += step.result.outcome == GORDIAN_OUTCOME_REFUSED;
            continue;
        }
        char wanted = expected[step.seq - before - 1];
        unsigned refusal = wanted == '?' ? GORDIAN_REFUSAL_UNKNOWN_PROCESS : GORDIAN_REFUSAL_NONE;
        CHECK_MSG(step.result.refusal == refusal, "%s", step.process);
    }
    CHECK(refused == 0);
    CHECK(step.seq == before + strlen(expected));
    CHECK_MSG(gordian_process_limit(system) <= GORDIAN_LINGER + 8, "%u processes",
              gordian_process_limit(system));
    gordian_replay_close(replay);
    gordian_close(system);
}

static void lingering(void)
{
    /* `b`, `early`, w1 .. wN and `again` have exited: the oldest go when more than LINGER are
     * left. */
    stream_ends(GORDIAN_LINGER - 3, "exit b\nexit early\nexit w1\n", "...");
    stream_ends(GORDIAN_LINGER - 2, "exit b\nexit early\nexit w1\n", "?..");
    stream_ends(GORDIAN_LINGER - 1, "exit early\nexit w1\nexit idle\n", "?..");
    stream_ends(2 * GORDIAN_LINGER,
                "exit w100\nexit w65537\nexit w65538\nexit w131072\nexit again\nexit early\n"
                "exit a\nexit w65539\nexit idle\nexit w65540\n",
                "??...?.?.?");
}

/* ---- the same events through text and by hand */

static int compare_with_direct_feed(uint64_t seed)
{
    enum { EVENTS = 4000, P = 12, Q = 6 };
    static char text[EVENTS * 40];
    static gordian_event events[EVENTS];
    struct random random;
    random_seed(&random, seed);
    size_t used = 0;
    for (uint32_t q = 0; q < Q; q++)
        used += (size_t)sprintf(text + used, "resource q%u %u\n", q, 1 + q % 3);
    for (uint32_t p = 0; p < P; p++)
        used += (size_t)sprintf(text + used, "process p%u\n", p);
    for (size_t i = 0; i < EVENTS; i++) {
        uint32_t p = (uint32_t)random_below(&random, P), q = (uint32_t)random_below(&random, Q);
        uint32_t units = 1 + (uint32_t)random_below(&random, 2);
        gordian_event *event = &events[i];
        *event = (gordian_event){.process = p, .resource = q, .to = GORDIAN_NONE, .units = units};
        switch (random_below(&random, 8)) {
        case 0:
            event->op = GORDIAN_OP_CANCEL;
            used += (size_t)sprintf(text + used, "cancel p%u\n", p);
            break;
        case 1:
            event->op = GORDIAN_OP_EXIT;
            used += (size_t)sprintf(text + used, "exit p%u\n", p);
            break;
        case 2:
        case 3:
            event->op = GORDIAN_OP_RELEASE;
            if (random_chance(&random, 30))
                event->to = (uint32_t)random_below(&random, P);
            used += (size_t)sprintf(text + used, "release p%u q%u=%u", p, q, units);
            if (event->to != GORDIAN_NONE)
                used += (size_t)sprintf(text + used, " to p%u", event->to);
            used += (size_t)sprintf(text + used, "\n");
            break;
        default:
            event->op = GORDIAN_OP_REQUEST;
            used += (size_t)sprintf(text + used, "request p%u q%u=%u # %zu\n", p, q, units, i);
        }
    }
    struct rig rig;
    rig_open(&rig, text);
    rig.text.piece = 1 + seed * 7;
    gordian_system *direct;
    gordian_status status = gordian_open(&direct, NULL, NULL);
    REQUIRE(status == GORDIAN_OK);
    uint32_t id;
    for (uint32_t q = 0; q < Q; q++)
        gordian_add_resource(direct, NULL, 1 + q % 3, &id, NULL);
    for (uint32_t p = 0; p < P; p++)
        gordian_add_process(direct, NULL, &id, NULL);
    int wrong = 0;
    for (size_t i = 0; i < EVENTS; i++) {
        gordian_result result;
        wrong += rig_next(&rig) != GORDIAN_OK;
        wrong += gordian_feed(direct, &events[i], &result, NULL) != GORDIAN_OK;
        wrong += result.outcome != rig.step.result.outcome;
        wrong += result.refusal != rig.step.result.refusal;
        wrong += result.served_count != rig.step.result.served_count;
        wrong += (result.outcome == GORDIAN_OUTCOME_REFUSED) != (rig.step.message != NULL);
    }
    wrong += rig_next(&rig) != GORDIAN_STATUS_END;
    rig_close(&rig);
    gordian_close(direct);
    return wrong;
}

/* ---- memory that runs out */

static const char whole_trace[] = "resource q\nresource r 3\nprocess p0 priority=3 cost=2\n"
                                  "request p0 q\nrequest p1 q\nrequest p2 r=2 q\n"
                                  "release p0 q to p1\nhold p3 r\nwait p4 r=2 r=2\nexit p5\n"
                                  "request p6 r=2 r q q q q q\ncancel p2\nexit p1\nexit p1\n";

static void replay_out_of_memory(void)
{
    for (size_t fail_at = 1;; fail_at++) {
        struct failing failing = {.fail_at = fail_at, .for_good = true};
        gordian_allocator allocator = {failing_resize, &failing};
        gordian_options options;
        gordian_options_init(&options);
        options.allocator = &allocator;
        struct text_source text = {.text = whole_trace, .length = sizeof whole_trace - 1};
        gordian_source source = {read_text, &text};
        gordian_system *system = NULL;
        gordian_replay *replay = NULL;
        gordian_step step;
        gordian_error error;
        gordian_status status = gordian_open(&system, &options, &error);
        if (status == GORDIAN_OK)
            status = gordian_replay_open(&replay, system, &source, &error);
        while (status == GORDIAN_OK)
            status = gordian_replay_next(replay, &step, &error);
        gordian_replay_close(replay);
        gordian_close(system);
        CHECK(failing.live_blocks == 0);
        if (status == GORDIAN_STATUS_END)
            break;
        CHECK(status == GORDIAN_STATUS_MEMORY && error.status == GORDIAN_STATUS_MEMORY);
        REQUIRE(fail_at < 10000);
    }
}

/* ---- snapshots */

static gordian_status read_snapshot(const char *text, const gordian_allocator *allocator,
                                    gordian_snapshot **snapshot, gordian_names **names,
                                    gordian_error *error)
{
    struct text_source source = {.text = text, .length = strlen(text), .piece = 11};
    return gordian_snapshot_read(snapshot, names, &(gordian_source){read_text, &source}, allocator,
                                 error);
}

static const char ring[] = "resource fork\nresource spoon\nresource cup 2\n"
                           "process ann cost=4\n"
                           "wait ann spoon\nwait bob fork\nhold bob spoon\nhold ann fork\n"
                           "hold eve cup\nwait eve cup=2\n";

static void snapshots(void)
{
    gordian_snapshot *snapshot;
    gordian_names *names;
    gordian_error error;
    gordian_status status = read_snapshot(ring, NULL, &snapshot, &names, &error);
    REQUIRE(status == GORDIAN_OK);
    CHECK(strcmp(gordian_names_process(names, 0), "ann") == 0);
    CHECK(strcmp(gordian_names_process(names, 1), "bob") == 0);
    CHECK(strcmp(gordian_names_process(names, 2), "eve") == 0);
    CHECK(strcmp(gordian_names_process(names, 3), "") == 0);
    CHECK(strcmp(gordian_names_resource(names, 1), "spoon") == 0);
    CHECK(strcmp(gordian_names_resource(names, GORDIAN_NONE), "") == 0);
    gordian_report report;
    CHECK(gordian_snapshot_check(snapshot, &report, &error) == GORDIAN_OK);
    CHECK(report.deadlocked_count == 3 && report.part_count == 2);
    gordian_snapshot_close(snapshot);
    gordian_names_close(names);
    gordian_names_close(NULL);

    status = read_snapshot("", NULL, &snapshot, &names, &error);
    REQUIRE(status == GORDIAN_OK);
    CHECK(gordian_snapshot_check(snapshot, &report, &error) == GORDIAN_OK);
    CHECK(report.deadlocked_count == 0 && report.part_count == 0);
    gordian_snapshot_close(snapshot);
    gordian_names_close(names);
}

static const struct bad_line bad_snapshots[] = {
    {"hold p q", 1, 8, "resource 'q' was never declared"},
    {"resource q\nwait p q r=2", 2, 10, "resource 'r' was never declared"},
    {"resource q\nhold a q\nhold b q", 3, 8, "'q': the holds of resource 'q' exceed its units"},
    {"resource q 3\nwait a q=4", 2, 8, "'q=4': more units than resource 'q' has"},
    {"resource q\nrequest p q", 2, 1, "'request' is an event: use gordian detect for traces"},
    {"resource q\n exit p", 2, 2, "'exit' is an event"},
    {"resource q\nresource q", 2, 10, "resource 'q' was declared before, at line 1"},
    {"process p speed=1", 1, 11, "unknown attribute 'speed'"},
    {"hold p", 1, 7, "expected a resource name after 'hold p'"},
    {"wat p q", 1, 1, "did you mean 'wait'?"},
};

static void malformed_snapshots(void)
{
    for (size_t i = 0; i < sizeof bad_snapshots / sizeof *bad_snapshots; i++) {
        const struct bad_line *bad = &bad_snapshots[i];
        gordian_snapshot *snapshot;
        gordian_names *names;
        gordian_error error = {0};
        CHECK(read_snapshot(bad->text, NULL, &snapshot, &names, &error) == GORDIAN_STATUS_INPUT);
        CHECK_MSG(error.line == bad->line && error.column == bad->column, "%s: at %d:%d", bad->text,
                  (int)error.line, (int)error.column);
        CHECK_MSG(strstr(error.message, bad->message), "%s: %s", bad->text, error.message);
    }
}

static void snapshot_out_of_memory(void)
{
    for (size_t fail_at = 1;; fail_at++) {
        struct failing failing = {.fail_at = fail_at, .for_good = true};
        gordian_allocator allocator = {failing_resize, &failing};
        gordian_snapshot *snapshot = NULL;
        gordian_names *names = NULL;
        gordian_error error;
        gordian_status status = read_snapshot(ring, &allocator, &snapshot, &names, &error);
        if (status == GORDIAN_OK) {
            gordian_snapshot_close(snapshot);
            gordian_names_close(names);
            CHECK(failing.live_blocks == 0);
            break;
        }
        CHECK(failing.live_blocks == 0);
        CHECK(status == GORDIAN_STATUS_MEMORY && error.status == GORDIAN_STATUS_MEMORY);
        REQUIRE(fail_at < 10000);
    }
}

/* ---- line by line */

static bool is_word(const gordian_word *word, const char *text)
{
    return word->length == strlen(text) && memcmp(word->text, text, word->length) == 0;
}

static void line_by_line(void)
{
    struct text_source text = {.piece = 3};
    text.text = "# nothing\nresource q 4\nprocess p priority=2\n  request p q=3 r\n"
                "release p q to s\nexit\n";
    text.length = strlen(text.text);
    gordian_source source = {read_text, &text};
    gordian_trace trace;
    gordian_error error = {0};
    REQUIRE(gordian_trace_open(&trace, &source, NULL, &error) == GORDIAN_OK);
    CHECK(gordian_trace_next(&trace, &error) == GORDIAN_OK);
    CHECK(trace.kind == GORDIAN_LINE_RESOURCE && trace.line == 2 && trace.units == 4);
    CHECK(is_word(&trace.name, "q") && trace.item_count == 0 && trace.word_count == 3);
    CHECK(gordian_trace_next(&trace, &error) == GORDIAN_OK);
    CHECK(trace.kind == GORDIAN_LINE_PROCESS && trace.item_count == 1);
    CHECK(is_word(&trace.items[0].name, "priority") && is_word(&trace.items[0].value, "2"));
    CHECK(gordian_trace_next(&trace, &error) == GORDIAN_OK);
    CHECK(trace.kind == GORDIAN_LINE_EVENT && trace.op == GORDIAN_OP_REQUEST);
    CHECK(trace.verb.column == 3 && trace.item_count == 2 && !trace.to.text);
    CHECK(trace.items[0].units == 3 && trace.items[1].units == 1 && !trace.items[1].value.text);
    CHECK(is_word(&trace.words[3], "r") && trace.words[3].column == 17);
    CHECK(gordian_trace_next(&trace, &error) == GORDIAN_OK && is_word(&trace.to, "s"));
    CHECK(gordian_trace_next(&trace, &error) == GORDIAN_STATUS_INPUT);
    CHECK(error.line == 6 && error.column == 5);
    CHECK(gordian_trace_next(&trace, &error) == GORDIAN_STATUS_END);
    gordian_trace_close(&trace);
    gordian_trace_close(&trace);
}

int main(void)
{
    line_by_line();
    malformed_lines();
    names_at_the_limit();
    plain_events();
    refusals();
    refused_processes_are_not_born();
    a_failing_source();
    long_lines();
    lingering();
    for (uint64_t seed = 1; seed <= 10; seed++) {
        int wrong = compare_with_direct_feed(seed);
        CHECK_MSG(wrong == 0, "seed %d: %d", (int)seed, wrong);
    }
    replay_out_of_memory();
    snapshots();
    malformed_snapshots();
    snapshot_out_of_memory();
    return test_done();
}
