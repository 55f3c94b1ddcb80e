/* Traces replayed into a bank, and read as plans: what each line comes to, where an error is and
 * what is said about it; a failed line changes nothing; every allocation fails once. */
#include "alloc/failing.h"
#include "test.h"

#include <gordian/gordian.h>

#include <stdarg.h>
#include <string.h>

struct text_source {
    const char *text;
    size_t next, length;
};

/* In pieces of uneven size. */
static ptrdiff_t read_text(void *context, char *buffer, size_t size)
{
    struct text_source *source = context;
    size_t count = source->length - source->next;
    size_t piece = 1 + source->next % 13;
    count = count > piece ? piece : count;
    count = count > size ? size : count;
    memcpy(buffer, source->text + source->next, count);
    source->next += count;
    return (ptrdiff_t)count;
}

static gordian_source source_of(struct text_source *text)
{
    return (gordian_source){read_text, text};
}

/* ------------------------------------------------------------------ a replay as text */

struct log {
    char text[16384];
    size_t used;
};

static void put(struct log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct log *log, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int count = vsnprintf(log->text + log->used, sizeof log->text - log->used, format, arguments);
    va_end(arguments);
    REQUIRE(count >= 0 && (size_t)count < sizeof log->text - log->used);
    log->used += (size_t)count;
}

static void put_processes(struct log *log, const char *title, gordian_bank *bank,
                          const uint32_t *processes, size_t count)
{
    char name[GORDIAN_NAME_MAX + 1];
    if (count)
        put(log, "%s", title);
    for (size_t i = 0; i < count; i++)
        put(log, " %s", gordian_bank_process_name(bank, processes[i], name));
}

static const char *what(const gordian_bank_step *step)
{
    return step->kind == GORDIAN_LINE_EVENT     ? gordian_op_text(step->op)
           : step->kind == GORDIAN_LINE_PROCESS ? "process"
                                                : "resource";
}

/* "4:1 2 request p unsafe, waits, stuck p q", "5:9 ... error: message". */
static void put_step(struct log *log, gordian_bank *bank, const gordian_bank_step *step,
                     const gordian_answer *answer)
{
    put(log, "%d:%d %d %s %s %s", (int)step->line, (int)step->column, (int)step->seq, what(step),
        step->name, gordian_verdict_text(answer->verdict));
    put(log, "%s", answer->waits ? ", waits" : "");
    put_processes(log, ", served", bank, answer->served, answer->served_count);
    put_processes(log, ", stuck", bank, answer->stuck, answer->stuck_count);
    if (step->message)
        put(log, ": %s", step->message);
    put(log, "\n");
}

/* Who has what, as it stands. */
static void put_state(struct log *log, gordian_bank *bank)
{
    char name[GORDIAN_NAME_MAX + 1];
    uint32_t resources = gordian_bank_resource_limit(bank);
    for (uint32_t r = 0; r < resources; r++)
        if (gordian_bank_resource_name(bank, r, name))
            put(log, "%s %d/%d\n", name, (int)gordian_bank_free_units(bank, r),
                (int)gordian_bank_units(bank, r));
    for (uint32_t p = 0; p < gordian_bank_process_limit(bank); p++) {
        if (!gordian_bank_process_name(bank, p, name))
            continue;
        put(log, "%s%s", name, gordian_bank_is_waiting(bank, p) ? " waits" : "");
        for (uint32_t r = 0; r < resources; r++)
            if (gordian_bank_claim(bank, p, r))
                put(log, " %d/%d", (int)gordian_bank_held(bank, p, r),
                    (int)gordian_bank_claim(bank, p, r));
        put(log, "\n");
    }
}

static gordian_status replay(const char *trace, bool queue, const char *engine,
                             const gordian_allocator *allocator, struct log *log)
{
    struct text_source text = {trace, 0, strlen(trace)};
    gordian_source source = source_of(&text);
    gordian_bank *bank = NULL;
    gordian_bank_replay *reader = NULL;
    gordian_bank_step step;
    gordian_answer answer;
    gordian_error error = {0};
    gordian_bank_options options;
    log->used = 0;
    gordian_bank_options_init(&options);
    options.queue = queue;
    options.engine = engine;
    options.allocator = allocator;
    gordian_answer_init(&answer, GORDIAN_DETAIL_REASONS);
    gordian_status status = gordian_bank_open(&bank, &options, &error);
    if (status == GORDIAN_OK)
        status = gordian_bank_replay_open(&reader, bank, &source, &error);
    while (status == GORDIAN_OK) {
        status = gordian_bank_replay_next(reader, &step, &answer, &error);
        if (status == GORDIAN_OK &&
            answer.incomplete) /* the line has been taken, but the lists are lost */
            status = error.status = GORDIAN_STATUS_MEMORY;
        else if (status == GORDIAN_OK)
            put_step(log, bank, &step, &answer);
    }
    if (status == GORDIAN_STATUS_INPUT)
        put(log, "%d:%d: %s\n", (int)error.line, (int)error.column, error.message);
    if (status != GORDIAN_STATUS_MEMORY)
        put_state(log, bank);
    CHECK(status == GORDIAN_STATUS_END || error.status == status);
    gordian_bank_replay_close(reader);
    gordian_answer_free(&answer);
    gordian_bank_close(bank);
    return status;
}

static void expect(const char *trace, bool queue, const char *expected)
{
    static const char *const engines[] = {"holt", "dense"};
    static struct log log;
    for (size_t i = 0; i < 2; i++) {
        replay(trace, queue, engines[i], NULL, &log);
        CHECK_MSG(log.used == strlen(expected) && memcmp(log.text, expected, log.used) == 0,
                  "%s\n--- expected\n%s--- got\n%.*s", engines[i], expected, (int)log.used,
                  log.text);
    }
}

/* ------------------------------------------------------------------ what lines come to */

static void test_events(void)
{
    expect("# two jobs\n"
           "resource gpu 3\n"
           "process a gpu=2\n"
           "process b gpu=2\n"
           "process c gpu=2\n"
           "request a gpu\n"
           "request b gpu\n"
           "request c gpu\n"
           "request a gpu=1\n"
           "request c gpu\n"
           "exit a\n"
           "hold c gpu\n",
           false,
           "2:1 0 resource gpu changed\n"
           "3:1 0 process a changed\n"
           "4:1 0 process b changed\n"
           "5:1 0 process c changed\n"
           "6:1 1 request a granted\n"
           "7:1 2 request b granted\n"
           "8:1 3 request c unsafe, stuck a b c\n"
           "9:1 4 request a granted\n"
           "10:1 5 request c unavailable\n"
           "11:1 6 exit a exited\n"
           "12:1 7 hold c granted\n"
           "gpu 1/3\n"
           "b 1/2\n"
           "c 1/2\n");
    /* The same with a queue: who is denied waits, and is served when it can be. */
    expect("resource gpu 3\nprocess a gpu=2\nprocess b gpu=2\nprocess c gpu=2\n"
           "request a gpu\nrequest b gpu\nrequest c gpu\nrequest c gpu\nrelease a gpu\n"
           "request a gpu=2\ncancel a\ncancel a\nexit c\n",
           true,
           "1:1 0 resource gpu changed\n2:1 0 process a changed\n3:1 0 process b changed\n"
           "4:1 0 process c changed\n5:1 1 request a granted\n6:1 2 request b granted\n"
           "7:1 3 request c unsafe, waits, stuck a b c\n"
           "8:9 4 request c error: process 'c' waits: it may only cancel or exit\n"
           "9:1 5 release a released, served c\n"
           "10:1 6 request a unavailable, waits\n"
           "11:1 7 cancel a cancelled\n"
           "12:8 8 cancel a error: process 'a' does not wait: there is nothing to cancel\n"
           "13:1 9 exit c exited\n"
           "gpu 2/3\na 0/2\nb 1/2\n");
}

static void test_several(void)
{
    expect("resource x 5\nresource y 5\nprocess p x=3 y=2 x=1 priority=-7 cost=2\n"
           "request p x=2 y x\nrelease p y x=2\nrelease p x x\n",
           false,
           "1:1 0 resource x changed\n2:1 0 resource y changed\n3:1 0 process p changed\n"
           "4:1 1 request p granted\n5:1 2 release p released\n"
           "6:13 3 release p error: process 'p' holds 1 of 'x', not 2\n"
           "x 4/5\ny 5/5\np 1/4 0/2\n");
    /* A resource may be called as an attribute is, or `to`. */
    expect("resource cost 2\nresource to 2\nprocess p cost=1 to=2 priority=3\nrequest p cost to=2\n"
           "release p to=1 cost\nrelease p to\nrelease p to to q\n",
           false,
           "1:1 0 resource cost changed\n2:1 0 resource to changed\n3:1 0 process p changed\n"
           "4:1 1 request p granted\n5:1 2 release p released\n6:1 3 release p released\n"
           "7:14: 'to': not allowed in an avoidance trace\n"
           "cost 2/2\nto 2/2\np 0/1 0/2\n");
}

static void test_errors(void)
{
    expect("resource x 4\nprocess p x=5\nrequest p x\nprocess p x=2 y=1\nprocess p x=2\n"
           "process p x=3 x=2\nrequest p y\nrequest p x=3\nrequest p x x x\nrequest p x=2\n"
           "process p x=1\nprocess p\nrelease p x=3\nexit q\nrelease q x\ncancel q\n"
           "resource z\nrequest p z\nrelease p z\nresource x 1\nresource x 2\nexit p\nexit p\n",
           false,
           "1:1 0 resource x changed\n"
           "2:11 0 process p error: the claim of 'p' can never fit: 5 of 'x', which has only 4 in "
           "all\n"
           "3:9 1 request p error: process 'p' was never declared, or has exited\n"
           "4:15 1 process p error: resource 'y' was never declared\n"
           "5:1 1 process p changed\n"
           "6:15 1 process p error: the claim of 'p' can never fit: 5 of 'x', which has only 4 in "
           "all\n"
           "7:11 2 request p error: resource 'y' was never declared\n"
           "8:11 3 request p error: process 'p' claimed 2 of 'x' and holds 0: it may not request 3 "
           "more\n"
           "9:15 4 request p error: process 'p' claimed 2 of 'x' and holds 0: it may not request 3 "
           "more\n"
           "10:1 5 request p granted\n"
           "11:11 5 process p error: process 'p' holds 2 of 'x': its claim cannot be 1\n"
           "12:9 5 process p error: process 'p' holds 2 of 'x': its claim cannot be 0\n"
           "13:11 6 release p error: process 'p' holds 2 of 'x', not 3\n"
           "14:6 7 exit q error: process 'q' was never declared, or has exited\n"
           "15:9 8 release q error: process 'q' was never declared, or has exited\n"
           "16:8 9 cancel q error: process 'q' was never declared, or has exited\n"
           "17:1 9 resource z changed\n"
           "18:11 10 request p error: process 'p' did not claim any of 'z'\n"
           "19:11 11 release p error: process 'p' holds 0 of 'z', not 1\n"
           "20:10 11 resource x error: the units of 'x' cannot be 1: there is a claim of 2\n"
           "21:1 11 resource x changed\n"
           "22:1 12 exit p exited\n"
           "23:6 13 exit p error: process 'p' was never declared, or has exited\n"
           "x 2/2\nz 1/1\n");
}

/* Claims and totals change while the system runs, as far as it stays safe. */
static void test_changes(void)
{
    expect("resource x 3\nprocess p x=1\nprocess q x=3\nrequest p x\nrequest q x=2\n"
           "process p x=2\nresource x 4\nprocess p x=2\nresource x 3\nrequest q x\n"
           "request p x\nresource x 5\n",
           true,
           "1:1 0 resource x changed\n2:1 0 process p changed\n3:1 0 process q changed\n"
           "4:1 1 request p granted\n5:1 2 request q granted\n"
           "6:1 2 process p unsafe, stuck p q\n"
           "7:1 2 resource x changed\n8:1 2 process p changed\n"
           "9:1 2 resource x unsafe, stuck p q\n"
           "10:1 3 request q granted\n11:1 4 request p unavailable, waits\n"
           "12:1 4 resource x changed, served p\n"
           "x 0/5\np 2/2\nq 3/3\n");
}

/* A line that is not part of the format ends it; what stood before has taken effect. */
static void test_bad_lines(void)
{
    expect("resource x 4\nprocess p x=2\nrequest p x\nprocess p x=z\n", false,
           "1:1 0 resource x changed\n2:1 0 process p changed\n3:1 1 request p granted\n"
           "4:11: 'x=z': a claim must be a whole number from 0 to 18446744073709551615\n"
           "x 3/4\np 1/2\n");
    expect("resource x 0\n", false,
           "1:12: '0': units must be a whole number from 1 to 18446744073709551615\n");
    expect("resource x\nprocess p x\n", false,
           "1:1 0 resource x changed\n2:11: 'x': expected key=value\nx 1/1\n");
    expect("resource x\nprocess p x=99999999999999999999\n", false,
           "1:1 0 resource x changed\n2:11: 'x=99999999999999999999': a claim must be a whole "
           "number from 0 to 18446744073709551615\nx 1/1\n");
    expect("resource x\nprocess p x=1\nrelease p x=1 to q\n", false,
           "1:1 0 resource x changed\n2:1 0 process p changed\n"
           "3:15: 'to': not allowed in an avoidance trace\nx 1/1\np 0/1\n");
    expect("requst p x\n", false,
           "1:1: unknown word 'requst': expected resource, process, request, release, cancel, "
           "exit, hold or wait; did you mean 'request'?\n");
    /* Sums that do not fit into 64 bits never fit a total either. */
    expect("resource x 18446744073709551615\n"
           "process p x=18446744073709551615 x=1\nprocess q x=18446744073709551615\n"
           "request q x=18446744073709551615 x=1\nrequest q x\n",
           false,
           "1:1 0 resource x changed\n"
           "2:34 0 process p error: units of 'x' would add up to more than 18446744073709551615\n"
           "3:1 0 process q changed\n"
           "4:34 1 request q error: process 'q' claimed 18446744073709551615 of 'x' and holds 0: "
           "it may not request 18446744073709551615 more\n"
           "5:1 2 request q granted\n"
           "x -2/-1\nq 1/-1\n");
}

/* ------------------------------------------------------------------ plans */

static gordian_status read_plan(const char *trace, const gordian_allocator *allocator,
                                gordian_plan **plan, gordian_error *error)
{
    struct text_source text = {trace, 0, strlen(trace)};
    gordian_source source = source_of(&text);
    return gordian_plan_read(plan, &source, allocator, error);
}

static void test_plan(void)
{
    gordian_plan *plan;
    gordian_plan_answer answer;
    gordian_error error = {0};
    REQUIRE(
        read_plan("resource x 1\nresource y 9\nprocess p x=9 cost=1\nprocess q y=2\n"
                  "request p x=4\nprocess p x=3 y=2\nprocess r y=7\nexit r\nexit z\nresource x 4\n",
                  NULL, &plan, &error) == GORDIAN_OK);
    REQUIRE(gordian_plan_solve(plan, &answer, &error) == GORDIAN_OK);
    CHECK(answer.pool_count == 2 && answer.safe);
    CHECK(answer.pools[0].units == 4 && answer.pools[0].claims == 3);
    CHECK(answer.pools[1].units == 9 && answer.pools[1].claims == 4);
    CHECK(answer.pools[1].claimants == 2 && answer.pools[1].least == 3);
    CHECK(strcmp(gordian_plan_process_name(plan, 1), "q") == 0);
    gordian_plan_close(plan);
}

static void test_bad_plans(void)
{
    static const struct {
        const char *text;
        uint64_t line, column;
        const char *message;
    } bad[] = {
        {"resource x\nprocess p y=1\n", 2, 11, "resource 'y' was never declared"},
        {"resource x\nprocess p x=-1\n", 2, 11, "'x=-1': a claim must be"},
        {"resource x\nprocess p x=18446744073709551615\nprocess q x=1\n", 3, 9, "add up to more"},
        {"resource x\nprocess p x=18446744073709551615 x=9\n", 2, 9, "a claim of more than"},
        {"resource x 1 2\n", 1, 14, "expected the end of the line"},
        {"nothing\n", 1, 1, "unknown word 'nothing'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        gordian_plan *plan;
        gordian_error error = {0};
        CHECK(read_plan(bad[i].text, NULL, &plan, &error) == GORDIAN_STATUS_INPUT && !plan);
        CHECK_MSG(error.line == bad[i].line && error.column == bad[i].column, "%s: %d:%d",
                  bad[i].text, (int)error.line, (int)error.column);
        CHECK_MSG(strstr(error.message, bad[i].message), "'%s'", error.message);
    }
}

/* ------------------------------------------------------------------ no memory */

static const char long_trace[] =
    "resource a 9\nresource b 9\nresource c 9\nresource d\n"
    "process p a=3 b=4 c=5 d=1 priority=3\nprocess q a=9 c=9\nprocess r b=2 d=1\n"
    "request p a=3 b=2\nrequest q a=6 c=9\nrequest q a=7\nrequest r d\nrequest r d\nrequest p c=2\n"
    "request r b=2\nrelease q c=3 a\nexit q\nprocess q a=2 b=2 c=2 d=1\nprocess q\nresource b 12\n"
    "request p c=9\nrequest z a\nprocess p a=1\nrequest p e=1\nexit p\nexit r\n";

/* With the n-th allocation failing, up to the failure everything is as it would have been. */
static void test_no_memory(void)
{
    static struct log expected, log;
    CHECK(replay(long_trace, true, "holt", NULL, &expected) == GORDIAN_STATUS_END);
    for (int for_good = 0; for_good < 2; for_good++)
        for (size_t n = 1;; n++) {
            struct failing failing = {.fail_at = n, .for_good = for_good};
            gordian_allocator allocator = {failing_resize, &failing};
            gordian_status status = replay(long_trace, true, "holt", &allocator, &log);
            CHECK_MSG(failing.live_blocks == 0 && failing.live_bytes == 0, "allocation %zu leaks",
                      n);
            CHECK_MSG(status == GORDIAN_STATUS_MEMORY || status == GORDIAN_STATUS_END,
                      "allocation %zu: %s", n, gordian_status_text(status));
            if (status == GORDIAN_STATUS_MEMORY)
                CHECK_MSG(memcmp(log.text, expected.text, log.used) == 0, "allocation %zu:\n%.*s",
                          n, (int)log.used, log.text);
            if (failing.failures == 0)
                break;
        }
    for (size_t n = 1;; n++) {
        struct failing failing = {.fail_at = n};
        gordian_allocator allocator = {failing_resize, &failing};
        gordian_plan *plan;
        gordian_error error = {0};
        gordian_status status = read_plan("resource a 2\nresource b\nprocess p a=1 b=1\n"
                                          "process q a=1\nprocess q a=2 b=1\nexit p\n",
                                          &allocator, &plan, &error);
        gordian_plan_close(plan);
        CHECK(failing.live_blocks == 0);
        CHECK((status == GORDIAN_OK) == (failing.failures == 0));
        CHECK(status == GORDIAN_OK ||
              (status == GORDIAN_STATUS_MEMORY && error.status == GORDIAN_STATUS_MEMORY));
        if (failing.failures == 0)
            break;
    }
}

/* Callers who want no answer get the step all the same. */
static void test_no_answer(void)
{
    struct text_source text = {"resource x\nprocess p x=1\nrequest p x=2\n", 0, 38};
    gordian_source source = source_of(&text);
    gordian_bank *bank;
    gordian_bank_replay *reader;
    gordian_bank_step step;
    REQUIRE(gordian_bank_open(&bank, NULL, NULL) == GORDIAN_OK);
    REQUIRE(gordian_bank_replay_open(&reader, bank, &source, NULL) == GORDIAN_OK);
    CHECK(gordian_bank_replay_next(reader, &step, NULL, NULL) == GORDIAN_OK && !step.message);
    CHECK(gordian_bank_replay_next(reader, &step, NULL, NULL) == GORDIAN_OK && !step.message);
    CHECK(gordian_bank_replay_next(reader, &step, NULL, NULL) == GORDIAN_OK && step.message);
    CHECK(step.want_count == 1 && step.wants[0].units == 2 && step.process != GORDIAN_NONE);
    CHECK(gordian_bank_replay_next(reader, &step, NULL, NULL) == GORDIAN_STATUS_END);
    gordian_bank_replay_close(reader);
    gordian_bank_replay_close(NULL);
    gordian_bank_close(bank);
}

int main(void)
{
    test_events();
    test_several();
    test_errors();
    test_changes();
    test_bad_lines();
    test_plan();
    test_bad_plans();
    test_no_memory();
    test_no_answer();
    return test_done();
}
