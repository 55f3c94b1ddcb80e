/* Requests that wait: order, fairness, and threads that sleep until they are served. */
#include "foundation/base/clock.h"
#include "foundation/base/random.h"
#include "test.h"

#include <gordian/gordian.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

static gordian_bank *open_bank(const char *engine, uint32_t patience)
{
    gordian_bank_options options;
    gordian_bank *bank;
    gordian_bank_options_init(&options);
    CHECK(options.patience == 16 && !options.queue);
    options.engine = engine;
    options.queue = true;
    options.patience = patience;
    REQUIRE(gordian_bank_open(&bank, &options, NULL) == GORDIAN_OK);
    return bank;
}

static uint32_t join(gordian_bank *bank, uint32_t resource, uint64_t units)
{
    gordian_want claim = {units, resource};
    uint32_t id = GORDIAN_NONE;
    CHECK(gordian_bank_add_process(bank, NULL, &claim, 1, &id, NULL, NULL) == GORDIAN_OK);
    return id;
}

static gordian_verdict ask(gordian_bank *bank, uint32_t process, uint32_t resource, uint64_t units,
                           gordian_answer *answer)
{
    gordian_want want = {units, resource};
    CHECK(gordian_bank_request(bank, process, &want, 1, answer, NULL) == GORDIAN_OK);
    return answer->verdict;
}

static size_t give(gordian_bank *bank, uint32_t process, uint32_t resource, uint64_t units,
                   gordian_answer *answer)
{
    gordian_want want = {units, resource};
    CHECK(gordian_bank_release(bank, process, &want, 1, answer, NULL) == GORDIAN_OK);
    CHECK(answer->verdict == GORDIAN_VERDICT_RELEASED);
    return answer->served_count;
}

/* ------------------------------------------------------------------ order and fairness */

static void test_order(const char *engine)
{
    gordian_bank *bank = open_bank(engine, 16);
    gordian_answer answer;
    uint32_t r, p[5];
    gordian_answer_init(&answer, GORDIAN_DETAIL_VERDICT);
    gordian_bank_add_resource(bank, "r", 4, &r, NULL);
    for (int i = 0; i < 5; i++)
        p[i] = join(bank, r, 4);
    CHECK(ask(bank, p[0], r, 4, &answer) == GORDIAN_VERDICT_GRANTED);
    CHECK(ask(bank, p[1], r, 3, &answer) == GORDIAN_VERDICT_UNAVAILABLE && answer.waits);
    CHECK(ask(bank, p[2], r, 1, &answer) == GORDIAN_VERDICT_UNAVAILABLE && answer.waits);
    CHECK(ask(bank, p[3], r, 2, &answer) == GORDIAN_VERDICT_UNAVAILABLE && answer.waits);
    CHECK(ask(bank, p[2], r, 1, &answer) == GORDIAN_VERDICT_REFUSED &&
          answer.reason == GORDIAN_REASON_IS_WAITING);
    CHECK(gordian_bank_is_waiting(bank, p[1]) && !gordian_bank_is_waiting(bank, p[4]));
    /* One comes back: p2 would fit, but p0 may still want it. */
    CHECK(give(bank, p[0], r, 1, &answer) == 0);
    /* All comes back: p1 is served, then p2 would take what p1 may still want, p3 does not fit. */
    CHECK(give(bank, p[0], r, 3, &answer) == 1 && answer.served[0] == p[1]);
    gordian_bank_cancel(bank, p[2], &answer, NULL);
    CHECK(answer.verdict == GORDIAN_VERDICT_CANCELLED && answer.served_count == 0);
    CHECK(ask(bank, p[2], r, 2, &answer) == GORDIAN_VERDICT_UNAVAILABLE &&
          answer.waits); /* behind p3 now */
    gordian_bank_exit(bank, p[1], &answer, NULL);
    CHECK(answer.verdict == GORDIAN_VERDICT_EXITED && answer.served_count == 1 &&
          answer.served[0] == p[3]);
    gordian_bank_set_units(bank, r, 6, &answer, NULL);
    CHECK(answer.verdict == GORDIAN_VERDICT_CHANGED && answer.served_count == 1 &&
          answer.served[0] == p[2]);
    gordian_answer_free(&answer);
    gordian_bank_close(bank);
}

/* A due head is passed only by those who hold something. */
static void test_due(const char *engine)
{
    gordian_bank *bank = open_bank(engine, 2);
    gordian_answer answer;
    uint32_t r, big, holder, small[4];
    gordian_verdict verdict;
    gordian_answer_init(&answer, GORDIAN_DETAIL_REASONS);
    gordian_bank_add_resource(bank, "r", 8, &r, NULL);
    big = join(bank, r, 8);
    holder = join(bank, r, 3);
    for (int i = 0; i < 4; i++)
        small[i] = join(bank, r, 1);
    CHECK(ask(bank, holder, r, 1, &answer) == GORDIAN_VERDICT_GRANTED);
    CHECK(ask(bank, big, r, 8, &answer) == GORDIAN_VERDICT_UNAVAILABLE && answer.waits &&
          answer.reason == GORDIAN_REASON_NONE && answer.lack_count == 1);
    CHECK(ask(bank, small[0], r, 1, &answer) == GORDIAN_VERDICT_GRANTED); /* passed once */
    CHECK(ask(bank, small[1], r, 1, &answer) == GORDIAN_VERDICT_GRANTED); /* twice: due */
    CHECK(ask(bank, small[2], r, 1, &answer) == GORDIAN_VERDICT_UNAVAILABLE && answer.waits &&
          answer.reason == GORDIAN_REASON_OUT_OF_TURN && answer.lack_count == 0);
    gordian_want one = {1, r};
    CHECK(gordian_bank_try(bank, small[3], &one, 1, &answer, NULL) == GORDIAN_OK);
    CHECK(answer.verdict == GORDIAN_VERDICT_UNAVAILABLE &&
          answer.reason == GORDIAN_REASON_OUT_OF_TURN);
    gordian_bank_request_item item = {small[3], &one, 1};
    CHECK(gordian_bank_what_if(bank, &item, 1, &verdict, NULL) == GORDIAN_OK &&
          verdict == GORDIAN_VERDICT_UNAVAILABLE);
    CHECK(ask(bank, holder, r, 2, &answer) ==
          GORDIAN_VERDICT_GRANTED); /* it may be the one waited for */
    CHECK(give(bank, small[0], r, 1, &answer) == 0);
    CHECK(ask(bank, small[0], r, 1, &answer) == GORDIAN_VERDICT_UNAVAILABLE && answer.waits);
    CHECK(give(bank, small[1], r, 1, &answer) == 0);
    CHECK(give(bank, holder, r, 3, &answer) == 1 && answer.served[0] == big);
    CHECK(give(bank, big, r, 8, &answer) == 2 && answer.served[0] == small[2] &&
          answer.served[1] == small[0]);
    gordian_answer_free(&answer);
    gordian_bank_close(bank);
}

/* If the due one goes, those held back for it are served. */
static void test_due_goes(const char *engine)
{
    gordian_bank *bank = open_bank(engine, 0);
    gordian_answer answer;
    uint32_t r, big, holder, small;
    gordian_answer_init(&answer, GORDIAN_DETAIL_VERDICT);
    gordian_bank_add_resource(bank, "r", 3, &r, NULL);
    big = join(bank, r, 3);
    holder = join(bank, r, 1);
    small = join(bank, r, 1);
    CHECK(ask(bank, holder, r, 1, &answer) == GORDIAN_VERDICT_GRANTED);
    CHECK(ask(bank, big, r, 3, &answer) == GORDIAN_VERDICT_UNAVAILABLE);
    CHECK(ask(bank, small, r, 1, &answer) == GORDIAN_VERDICT_UNAVAILABLE &&
          answer.reason == GORDIAN_REASON_OUT_OF_TURN);
    gordian_bank_cancel(bank, big, &answer, NULL);
    CHECK(answer.served_count == 1 && answer.served[0] == small);
    gordian_answer_free(&answer);
    gordian_bank_close(bank);
}

/* One wants everything, the others come and go so that something is always out. How many steps
 * until it is served? */
static unsigned steps_until_served(const char *engine, uint32_t patience, unsigned limit)
{
    gordian_bank *bank = open_bank(engine, patience);
    gordian_answer answer;
    uint32_t r, big, small[4];
    bool has[4] = {false};
    unsigned steps = 0;
    gordian_answer_init(&answer, GORDIAN_DETAIL_VERDICT);
    gordian_bank_add_resource(bank, "r", 4, &r, NULL);
    big = join(bank, r, 4);
    for (int i = 0; i < 4; i++)
        small[i] = join(bank, r, 1);
    has[0] = ask(bank, small[0], r, 1, &answer) == GORDIAN_VERDICT_GRANTED;
    CHECK(ask(bank, big, r, 4, &answer) == GORDIAN_VERDICT_UNAVAILABLE);
    for (unsigned i = 1; steps < limit && gordian_bank_is_waiting(bank, big); i++, steps++) {
        unsigned next = i % 4, last = (i + 3) % 4; /* one comes before the other goes */
        if (!has[next] && !gordian_bank_is_waiting(bank, small[next]))
            has[next] = ask(bank, small[next], r, 1, &answer) == GORDIAN_VERDICT_GRANTED;
        if (has[last])
            give(bank, small[last], r, 1, &answer);
        has[last] = false;
    }
    gordian_answer_free(&answer);
    gordian_bank_close(bank);
    return steps;
}

static void test_starvation(const char *engine)
{
    CHECK(steps_until_served(engine, UINT32_MAX, 5000) == 5000); /* it would starve */
    CHECK(steps_until_served(engine, 16, 5000) <= 16 + 4);
    CHECK(steps_until_served(engine, 0, 5000) <= 4);
}

/* ------------------------------------------------------------------ every wait ends */

#define CROWD 12
#define KINDS 4

/* A process of the crowd: borrows in a few steps, then gives everything back. */
struct member {
    uint32_t id;
    unsigned left;       /* requests until it gives back */
    unsigned long since; /* when its present wait began */
};

/* Lets one take its next step, if it does not wait. */
static void step(gordian_bank *bank, struct member *member, struct random *random,
                 gordian_answer *answer, unsigned long now)
{
    gordian_want wants[KINDS];
    size_t count = 0;
    bool gives = member->left == 0;
    for (uint32_t j = 0; j < KINDS; j++) {
        uint64_t held = gordian_bank_held(bank, member->id, j);
        uint64_t most = gives ? held : gordian_bank_claim(bank, member->id, j) - held;
        uint64_t units = gives ? held : most ? random_below(random, most + 1) : 0;
        if (units > 0)
            wants[count++] = (gordian_want){units, j};
    }
    if (gives)
        member->left = 1 + (unsigned)random_below(random, 4);
    else
        member->left--;
    member->since = now;
    if (count == 0)
        return;
    if (gives)
        gordian_bank_release(bank, member->id, wants, count, answer, NULL);
    else
        gordian_bank_request(bank, member->id, wants, count, answer, NULL);
    CHECK(answer->verdict != GORDIAN_VERDICT_REFUSED);
}

/* Under a heavy load nobody waits longer than it takes the others to go round a few times. */
static void test_every_wait_ends(const char *engine, uint32_t patience, uint64_t seed)
{
    gordian_bank *bank = open_bank(engine, patience);
    gordian_answer answer;
    struct random random;
    struct member crowd[CROWD];
    unsigned long longest = 0, waits = 0;
    gordian_answer_init(&answer, GORDIAN_DETAIL_VERDICT);
    random_seed(&random, seed);
    for (int j = 0; j < KINDS; j++)
        gordian_bank_add_resource(bank, NULL, 6, NULL, NULL);
    for (int i = 0; i < CROWD; i++) {
        gordian_want claims[KINDS];
        for (uint32_t j = 0; j < KINDS; j++) /* the first want most */
            claims[j] = (gordian_want){i < 2 ? 6 : 1 + random_below(&random, 3), j};
        crowd[i] = (struct member){.left = 2};
        gordian_bank_add_process(bank, NULL, claims, KINDS, &crowd[i].id, NULL, NULL);
    }
    for (unsigned long now = 1; now <= 30000; now++) {
        struct member *member = &crowd[random_below(&random, CROWD)];
        if (!gordian_bank_is_waiting(bank, member->id))
            step(bank, member, &random, &answer, now);
        unsigned waiting = 0;
        for (int i = 0; i < CROWD; i++) {
            bool waits_now = gordian_bank_is_waiting(bank, crowd[i].id);
            waiting += waits_now;
            if (waits_now && now - crowd[i].since > longest)
                longest = now - crowd[i].since;
        }
        waits += waiting;
        CHECK(waiting < CROWD);
    }
    CHECK(waits > 30000);
    CHECK_MSG(longest < 200 * (patience + CROWD), "%s, patience %u: %lu steps", engine, patience,
              longest);
    gordian_answer_free(&answer);
    gordian_bank_close(bank);
}

/* ------------------------------------------------------------------ sleeping */

struct thread {
    pthread_t thread;
    gordian_bank *bank;
    uint32_t process, resource;
    uint64_t units, timeout_ns;
    gordian_answer answer;
    gordian_status status;
};

static void *acquire(void *context)
{
    struct thread *thread = context;
    gordian_want want = {thread->units, thread->resource};
    gordian_answer_init(&thread->answer, GORDIAN_DETAIL_REASONS);
    thread->status = gordian_bank_acquire(thread->bank, thread->process, &want, 1,
                                          thread->timeout_ns, &thread->answer, NULL);
    return NULL;
}

static void start(struct thread *thread)
{
    REQUIRE(pthread_create(&thread->thread, NULL, acquire, thread) == 0);
}

/* For one who waits until somebody does something about it. */
static void start_and_see_it_wait(struct thread *thread)
{
    start(thread);
    while (!gordian_bank_is_waiting(thread->bank, thread->process))
        sched_yield();
}

static gordian_verdict end(struct thread *thread)
{
    pthread_join(thread->thread, NULL);
    CHECK(thread->status == GORDIAN_OK);
    gordian_verdict verdict = thread->answer.verdict;
    CHECK(!thread->answer.waits);
    CHECK(verdict != GORDIAN_VERDICT_GRANTED || thread->answer.sequence_count == 3);
    gordian_answer_free(&thread->answer);
    return verdict;
}

static void test_sleepers(const char *engine)
{
    gordian_bank *bank = open_bank(engine, 16);
    gordian_answer answer;
    uint32_t r, p, q;
    gordian_answer_init(&answer, GORDIAN_DETAIL_VERDICT);
    gordian_bank_add_resource(bank, "r", 2, &r, NULL);
    p = join(bank, r, 2);
    q = join(bank, r, 2);
    struct thread thread = {
        .bank = bank, .process = q, .resource = r, .units = 1, .timeout_ns = UINT64_MAX};
    join(bank, r, 2);
    CHECK(ask(bank, p, r, 2, &answer) == GORDIAN_VERDICT_GRANTED);

    start_and_see_it_wait(&thread); /* served by a release */
    CHECK(give(bank, p, r, 2, &answer) == 1 && answer.served[0] == q);
    CHECK(end(&thread) == GORDIAN_VERDICT_GRANTED && gordian_bank_held(bank, q, r) == 1);

    give(bank, q, r, 1, &answer); /* cancelled by another */
    ask(bank, p, r, 2, &answer);
    start_and_see_it_wait(&thread);
    gordian_bank_cancel(bank, q, &answer, NULL);
    CHECK(answer.verdict == GORDIAN_VERDICT_CANCELLED);
    CHECK(end(&thread) == GORDIAN_VERDICT_CANCELLED);

    uint64_t before = clock_ns(); /* out of time */
    thread.timeout_ns = 20000000;
    start(&thread);
    CHECK(end(&thread) == GORDIAN_VERDICT_UNAVAILABLE && clock_ns() - before >= 20000000);
    CHECK(!gordian_bank_is_waiting(bank, q));
    thread.timeout_ns = UINT64_MAX - 1; /* practically no limit, and no overflow */
    start_and_see_it_wait(&thread);
    gordian_bank_exit(bank, q, &answer, NULL); /* ended by another */
    CHECK(end(&thread) == GORDIAN_VERDICT_CANCELLED);
    gordian_bank_close(bank);
    gordian_answer_free(&answer);
}

/* The due one runs out of time: those held back for it are served then, not at the next return. */
static void test_due_gives_up(const char *engine)
{
    gordian_bank *bank = open_bank(engine, 0);
    gordian_answer answer;
    uint32_t r, holder, small;
    gordian_answer_init(&answer, GORDIAN_DETAIL_VERDICT);
    gordian_bank_add_resource(bank, "r", 3, &r, NULL);
    holder = join(bank, r, 1);
    small = join(bank, r, 1);
    struct thread big = {.bank = bank,
                         .process = join(bank, r, 3),
                         .resource = r,
                         .units = 3,
                         .timeout_ns = 300000000};
    CHECK(ask(bank, holder, r, 1, &answer) == GORDIAN_VERDICT_GRANTED);
    start(&big);
    for (uint64_t begun = clock_ns();
         !gordian_bank_is_waiting(bank, big.process) && clock_ns() - begun < 300000000;)
        sched_yield();
    ask(bank, small, r, 1, &answer); /* has to wait, unless this machine is very slow */
    CHECK(end(&big) == GORDIAN_VERDICT_UNAVAILABLE);
    CHECK(gordian_bank_held(bank, small, r) == 1 && !gordian_bank_is_waiting(bank, small));
    gordian_answer_free(&answer);
    gordian_bank_close(bank);
}

int main(void)
{
    gordian_engine_info info;
    for (size_t i = 0; gordian_engine(i, &info) == GORDIAN_OK; i++) {
        if (strcmp(info.family, "avoid") != 0 || !info.available)
            continue;
        test_order(info.name);
        test_due(info.name);
        test_due_goes(info.name);
        test_starvation(info.name);
        for (uint64_t seed = 1; seed <= 3; seed++) {
            test_every_wait_ends(info.name, 0, seed);
            test_every_wait_ends(info.name, 3, seed);
            test_every_wait_ends(info.name, 16, seed);
        }
        test_sleepers(info.name);
        test_due_gives_up(info.name);
    }
    return test_done();
}
