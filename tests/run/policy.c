/* The decision table of sources/run/judge/verdict_policy.h, row by row. */
#include "sources/run/judge/verdict_policy.h"
#include "test.h"

#include <signal.h>

#define HANDLER .handlers = true, .ends_calls = true
#define ARMED   .timers = POLICY_TIMERS_ARMED

static const struct row {
    const char *what;
    struct policy_facts facts;
    enum policy_word word;
    bool ends;
} rows[] = {
    {"a cycle of owners",
     {.argument = POLICY_CYCLE, .waits = POLICY_FIRM, .locked = true},
     POLICY_PROVED,
     true},
    {"the same, with a handler",
     {.waits = POLICY_FIRM, .locked = true, HANDLER},
     POLICY_PROVED,
     false},
    {"the same, with a timer", {.waits = POLICY_FIRM, .locked = true, ARMED}, POLICY_PROVED, false},
    {"the same, and timers unknown",
     {.waits = POLICY_FIRM, .locked = true, .timers = POLICY_TIMERS_UNKNOWN},
     POLICY_PROVED,
     false},
    {"the same, and a handler was seen to act",
     {.waits = POLICY_FIRM, .locked = true, HANDLER, .handler_acted = true},
     POLICY_LIKELY,
     false},
    {"a cycle through calls", {.waits = POLICY_CALL, .locked = true}, POLICY_PROVED, true},
    {"the same, with an alarm",
     {.waits = POLICY_CALL, .locked = true, ARMED},
     POLICY_LIKELY,
     false},
    {"the same, with an io_uring",
     {.waits = POLICY_CALL, .locked = true, .ring = true},
     POLICY_LIKELY,
     false},
    {"the same, with a handler",
     {.waits = POLICY_CALL, .locked = true, HANDLER},
     POLICY_LIKELY,
     false},
    {"the same, with SA_RESTART",
     {.waits = POLICY_CALL, .locked = true, .handlers = true},
     POLICY_PROVED,
     false},
    {"calls that read, with a handler",
     {.waits = POLICY_CALL, .reads = true, HANDLER},
     POLICY_NOTHING,
     false},
    {"calls that read, with an alarm",
     {.waits = POLICY_CALL, .reads = true, ARMED},
     POLICY_LIKELY,
     false},
    {"a cycle through a semaphore, with a handler",
     {.waits = POLICY_POSTED, .locked = true, HANDLER},
     POLICY_LIKELY,
     false},
    {"an owner that has ended",
     {.argument = POLICY_ENDED, .waits = POLICY_FIRM, .locked = true},
     POLICY_PROVED,
     true},
    {"the same, and a thread runs",
     {.argument = POLICY_ENDED, .waits = POLICY_FIRM, .locked = true, .others_run = true},
     POLICY_LIKELY,
     false},
    {"none left", {.argument = POLICY_NONE_LEFT, .waits = POLICY_FIRM}, POLICY_PROVED, true},
    {"the same, with an alarm",
     {.argument = POLICY_NONE_LEFT, .waits = POLICY_FIRM, ARMED},
     POLICY_LIKELY,
     false},
    {"the same, with a handler and no lock",
     {.argument = POLICY_NONE_LEFT, .waits = POLICY_FIRM, HANDLER},
     POLICY_NOTHING,
     false},
    {"the same, with a handler and a lock",
     {.argument = POLICY_NONE_LEFT, .waits = POLICY_FIRM, .locked = true, HANDLER},
     POLICY_LIKELY,
     false},
    {"the same, and a handler was seen to act",
     {.argument = POLICY_NONE_LEFT,
      .waits = POLICY_FIRM,
      .locked = true,
      HANDLER,
      .handler_acted = true},
     POLICY_LIKELY,
     false},
    {"none left, in a core",
     {.argument = POLICY_NONE_LEFT,
      .waits = POLICY_FIRM,
      .unasked = true,
      .timers = POLICY_TIMERS_UNKNOWN},
     POLICY_LIKELY,
     false},
    {"none left, of a runtime",
     {.argument = POLICY_NONE_LEFT, .scheduled = true},
     POLICY_NOTHING,
     false},
    {"one that parks",
     {.argument = POLICY_NONE_LEFT, .waits = POLICY_POSTED, .parks = true},
     POLICY_NOTHING,
     false},
    {"a thread that waits for itself",
     {.argument = POLICY_SELF, .waits = POLICY_FIRM, .locked = true},
     POLICY_PROVED,
     true},
    {"the same, with a handler",
     {.argument = POLICY_SELF, .waits = POLICY_FIRM, .locked = true, HANDLER},
     POLICY_LIKELY,
     false},
    {"the same, and others run",
     {.argument = POLICY_SELF, .waits = POLICY_FIRM, .locked = true, .as_signal = true},
     POLICY_LIKELY,
     false},
    {"Python's main thread",
     {.waits = POLICY_FIRM | POLICY_ACQUIRE, .locked = true},
     POLICY_LIKELY,
     false},
    {"holders by evidence",
     {.waits = POLICY_FIRM, .locked = true, .evidence = true},
     POLICY_LIKELY,
     false},
    {"memory that is lent",
     {.waits = POLICY_FIRM, .locked = true, .lent = true},
     POLICY_LIKELY,
     false},
};

static uint64_t bit_of(int number)
{
    return UINT64_C(1) << (number - 1);
}

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct policy policy = policy_decide(&rows[i].facts);
        CHECK_MSG(policy.word == rows[i].word, "row %zu, %s: %d", i, rows[i].what, policy.word);
        CHECK_MSG(policy.ends == rows[i].ends, "row %zu, %s: %d", i, rows[i].what, policy.ends);
        CHECK_MSG(!policy.why == (policy.word != POLICY_LIKELY), "row %zu, %s", i, rows[i].what);
    }
    /* Handlers of runtimes, and of what only looks like one. */
    CHECK(policy_runtime("python3.11") == bit_of(SIGINT) && policy_runtime("pythonic") == 0);
    CHECK(policy_runtime("libjvm.so") & bit_of(SIGTERM) && policy_schedules("libjvm.so"));
    CHECK(policy_runtime("node") & bit_of(SIGUSR1) && policy_runtime("nodes") == 0);
    CHECK(!(policy_runtime("node") & bit_of(SIGUSR2)) && !policy_schedules("node"));
    /* Timers are asked for only where they matter. */
    const struct policy_facts cycle = {.waits = POLICY_FIRM, .locked = true};
    const struct policy_facts call = {.waits = POLICY_CALL, .locked = true};
    CHECK(!policy_needs_timers(&cycle, false) && policy_needs_timers(&cycle, true));
    CHECK(policy_needs_timers(&call, false));
    /* All signals blocked by libc or by the watcher: the thread's own mask is not known. */
    CHECK(policy_is_shielded(~UINT64_C(0)) && policy_is_shielded(~(UINT64_C(1) << 32)));
    CHECK(!policy_is_shielded(0x7fffffff) && !policy_is_shielded(0));
    return test_done();
}
