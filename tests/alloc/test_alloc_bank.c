/*
 * Every n-th allocation of a bank fails, for every n: nothing may leak, nothing may be half done.
 *
 * A play is a fixed row of calls, drawn from a seed. It is played once undisturbed; then again for
 * n = 1, 2, ... with the n-th allocation failing (once alone, once with all that follow). The call
 * that runs out of memory must leave the bank as it was and succeed when tried again with memory;
 * one that only has no memory for the lists of its answer must say so, and have taken effect. All
 * answers, and the state every few calls, must be as in the undisturbed play.
 */
#include "dump.h"
#include "failing.h"
#include "foundation/base/random.h"
#include "test.h"

#include <inttypes.h>
#include <string.h>

#define CALLS     120
#define PROCESSES 9
#define RESOURCES 24 /* enough for rows to be gapless */

struct play {
    struct failing memory;
    gordian_allocator allocator;
    const char *engine;
    bool queue;
    gordian_bank *bank;
    struct random random;
    gordian_answer answer;
    struct text log, before, after;
    size_t ran_out, incomplete;
};

static void dump_bank(struct text *text, gordian_bank *bank)
{
    if (!bank) {
        text_add(text, "no bank\n");
        return;
    }
    char name[GORDIAN_NAME_MAX + 1];
    uint32_t processes = gordian_bank_process_limit(bank);
    uint32_t resources = gordian_bank_resource_limit(bank);
    for (uint32_t j = 0; j < resources; j++) {
        bool there = gordian_bank_resource_name(bank, j, name);
        text_add(text, "%s %" PRIu64 "/%" PRIu64 "; ", there ? name : "-",
                 gordian_bank_free_units(bank, j), gordian_bank_units(bank, j));
    }
    for (uint32_t i = 0; i < processes; i++) {
        bool there = gordian_bank_process_name(bank, i, name);
        text_add(text, "\n  %s%s", there ? name : "-",
                 gordian_bank_is_waiting(bank, i) ? " waits" : "");
        gordian_edge wants[RESOURCES];
        size_t wanted = gordian_bank_pending(bank, i, wants, RESOURCES);
        for (size_t k = 0; k < wanted && k < RESOURCES; k++)
            text_add(text, " %" PRIu32 "?%" PRIu64, wants[k].resource, wants[k].units);
        for (uint32_t j = 0; j < resources; j++)
            if (gordian_bank_claim(bank, i, j) > 0)
                text_add(text, " %" PRIu32 "=%" PRIu64 "/%" PRIu64, j,
                         gordian_bank_held(bank, i, j), gordian_bank_claim(bank, i, j));
    }
    text_add(text, "\n");
}

/* ------------------------------------------------------------------ calls */

struct call {
    unsigned kind;
    uint32_t process, resource;
    uint64_t units;
    char name[16];
    gordian_want wants[RESOURCES];
    size_t count;
};

static struct call draw_call(struct play *play, unsigned number)
{
    struct random *random = &play->random;
    struct call call = {.kind = number < RESOURCES ? 0
                                : number < RESOURCES + PROCESSES
                                    ? 1
                                    : (unsigned)random_below(random, 20),
                        .process = (uint32_t)random_below(random, PROCESSES),
                        .resource = (uint32_t)random_below(random, RESOURCES),
                        .units = 2 + random_below(random, 8)};
    snprintf(call.name, sizeof call.name, "n%u", number);
    bool claims = call.kind == 1 || call.kind == 2;
    for (uint32_t j = 0; j < RESOURCES; j++)
        if (claims ? call.process % 2 || random_chance(random, 30) : random_chance(random, 10))
            call.wants[call.count++] =
                (gordian_want){1 + random_below(random, 2), RESOURCES - 1 - j};
    return call;
}

static gordian_status make(struct play *play, const struct call *call, gordian_error *error)
{
    gordian_bank *bank = play->bank;
    gordian_answer *answer = &play->answer;
    gordian_verdict verdicts[2];
    gordian_bank_request_item items[2] = {{call->process, call->wants, call->count},
                                          {(call->process + 1) % PROCESSES, call->wants, 1}};
    switch (call->kind) {
    case 0:
        return gordian_bank_add_resource(bank, call->name, call->units, NULL, error);
    case 1:
        return gordian_bank_add_process(bank, call->name, call->wants, call->count, NULL, answer,
                                        error);
    case 2:
        return gordian_bank_set_claims(bank, call->process, call->wants, call->count, answer,
                                       error);
    case 3:
        return gordian_bank_set_units(bank, call->resource, call->units, answer, error);
    case 4:
        return gordian_bank_exit(bank, call->process, answer, error);
    case 5:
        return gordian_bank_try(bank, call->process, call->wants, call->count, answer, error);
    case 6:
        return gordian_bank_commit(bank, call->process, answer, error);
    case 7:
        return gordian_bank_cancel(bank, call->process, answer, error);
    case 8:
        return gordian_bank_what_if(bank, items, 2, verdicts, error);
    case 9:
        return gordian_bank_reserve(bank, 2 * PROCESSES + (uint32_t)call->units, RESOURCES, error);
    case 10:
    case 11:
    case 12:
        return gordian_bank_release(bank, call->process, call->wants, call->count, answer, error);
    default:
        return gordian_bank_request(bank, call->process, call->wants, call->count, answer, error);
    }
}

/* Makes a call, twice if need be. */
static void try_call(struct play *play, unsigned number)
{
    struct call call = draw_call(play, number);
    gordian_error error;
    play->before.used = play->after.used = 0;
    if (play->memory.fail_at > 0) /* it may be this one */
        dump_bank(&play->before, play->bank);
    gordian_status status = make(play, &call, &error);
    if (status == GORDIAN_STATUS_MEMORY) {
        CHECK(play->memory.failures > 0 && error.status == GORDIAN_STATUS_MEMORY);
        dump_bank(&play->after, play->bank);
        CHECK_MSG(play->before.used == play->after.used &&
                      memcmp(play->before.bytes, play->after.bytes, play->after.used) == 0,
                  "engine %s, call %u, allocation %zu: the state has changed\n%s---\n%s",
                  play->engine, number, play->memory.fail_at, play->before.bytes,
                  play->after.bytes);
        play->memory.fail_at = 0;
        play->ran_out++;
        status = make(play, &call, &error);
    }
    bool answers = status == GORDIAN_OK && call.kind != 0 && call.kind != 8 && call.kind != 9;
    if (answers && play->answer.incomplete) {
        play->incomplete++;
        play->memory.fail_at = 0;
    }
    text_add(&play->log, "%u kind %u: %s %s %d\n", number, call.kind, gordian_status_text(status),
             answers ? gordian_verdict_text(play->answer.verdict) : "", play->answer.waits);
    if (number % 8 == 0 || number + 1 == CALLS)
        dump_bank(&play->log, play->bank);
}

/* ------------------------------------------------------------------ plays */

/* Plays with allocation number `fail_at` failing; returns whether one did. */
static bool perform(struct play *play, uint64_t seed, size_t fail_at, bool for_good)
{
    gordian_bank_options options;
    gordian_error error;
    play->memory = (struct failing){.fail_at = fail_at, .for_good = for_good};
    play->allocator = (gordian_allocator){failing_resize, &play->memory};
    play->log.used = 0;
    random_seed(&play->random, seed);
    gordian_answer_init(&play->answer, GORDIAN_DETAIL_REASONS);
    gordian_bank_options_init(&options);
    options.engine = play->engine;
    options.allocator = &play->allocator;
    options.queue = play->queue;
    gordian_status status = gordian_bank_open(&play->bank, &options, &error);
    if (status == GORDIAN_STATUS_MEMORY) {
        CHECK(!play->bank && play->memory.live_blocks == 0);
        play->memory.fail_at = 0;
        status = gordian_bank_open(&play->bank, &options, &error);
    }
    REQUIRE(status == GORDIAN_OK);
    for (unsigned number = 0; number < CALLS; number++)
        try_call(play, number);
    gordian_bank_close(play->bank);
    gordian_answer_free(&play->answer); /* outlives the bank */
    CHECK_MSG(play->memory.live_bytes == 0 && play->memory.live_blocks == 0,
              "engine %s, allocation %zu: %zu bytes left", play->engine, fail_at,
              play->memory.live_bytes);
    return play->memory.failures > 0;
}

static void fail_everywhere(const char *engine, bool queue, uint64_t seed)
{
    struct play first = {.engine = engine, .queue = queue};
    struct play play = {.engine = engine, .queue = queue};
    size_t stride = test_stride();
    CHECK(!perform(&first, seed, 0, false));
    for (int for_good = 0; for_good < 2 && test_failed == 0; for_good++) {
        size_t n = 1 + seed % stride;
        for (; perform(&play, seed, n, for_good); n += stride)
            CHECK_MSG(play.log.used == first.log.used &&
                          memcmp(play.log.bytes, first.log.bytes, play.log.used) == 0,
                      "engine %s, seed %" PRIu64 ", allocation %zu: other answers than undisturbed",
                      engine, seed, n);
        CHECK(n > first.memory.calls && n <= first.memory.calls + stride);
    }
    CHECK(play.ran_out > 0 && (play.incomplete > 0 || stride > 1));
    PLAY_FREE(&first);
    PLAY_FREE(&play);
}

int main(void)
{
    gordian_engine_info info;
    for (size_t i = 0; gordian_engine(i, &info) == GORDIAN_OK; i++) {
        if (strcmp(info.family, "avoid") != 0 || !info.available)
            continue;
        for (uint64_t seed = 1; seed <= 3; seed++)
            fail_everywhere(info.name, seed % 2, seed);
    }
    return test_done();
}
