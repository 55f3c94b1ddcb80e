/*
 * Avoidance by example: what textbooks say about their states, the reference trace, and every way
 * in which a call can be declined. Each with every engine.
 */
#include "test.h"

#include <gordian/gordian.h>
#include <inttypes.h>
#include <string.h>

#define P_MAX 8
#define R_MAX 4

/* A state as textbooks give it: units there are, what everybody has, and may want at most. */
struct book {
    unsigned processes, resources;
    uint64_t total[R_MAX];
    uint64_t held[P_MAX][R_MAX];
    uint64_t most[P_MAX][R_MAX];
};

static size_t wants_of(const uint64_t *units, unsigned resources, gordian_want *wants)
{
    size_t count = 0;
    for (uint32_t j = 0; j < resources; j++)
        if (units[j] > 0)
            wants[count++] = (gordian_want){.units = units[j], .resource = j};
    return count;
}

static gordian_bank *open_bank(const char *engine, bool queue)
{
    gordian_bank_options options;
    gordian_bank *bank;
    gordian_bank_options_init(&options);
    options.engine = engine;
    options.queue = queue;
    REQUIRE(gordian_bank_open(&bank, &options, NULL) == GORDIAN_OK);
    return bank;
}

static gordian_bank *open_book(const struct book *book, const char *engine)
{
    gordian_bank *bank = open_bank(engine, false);
    gordian_want wants[R_MAX];
    gordian_answer answer;
    gordian_answer_init(&answer, GORDIAN_DETAIL_VERDICT);
    for (unsigned j = 0; j < book->resources; j++)
        CHECK(gordian_bank_add_resource(bank, NULL, book->total[j], NULL, NULL) == GORDIAN_OK);
    for (unsigned i = 0; i < book->processes; i++) {
        uint32_t id = GORDIAN_NONE;
        size_t count = wants_of(book->most[i], book->resources, wants);
        CHECK(gordian_bank_add_process(bank, NULL, wants, count, &id, &answer, NULL) == GORDIAN_OK);
        CHECK(answer.verdict == GORDIAN_VERDICT_CHANGED && id == i);
        count = wants_of(book->held[i], book->resources, wants);
        if (count == 0)
            continue;
        CHECK(gordian_bank_request(bank, id, wants, count, &answer, NULL) == GORDIAN_OK);
        CHECK(answer.verdict == GORDIAN_VERDICT_GRANTED); /* part of a safe state: safe */
    }
    return bank;
}

/* Can everybody finish in this order? By the public numbers alone. */
static bool works(gordian_bank *bank, const uint32_t *sequence, size_t count)
{
    uint32_t resources = gordian_bank_resource_limit(bank);
    uint64_t work[R_MAX];
    for (uint32_t j = 0; j < resources; j++)
        work[j] = gordian_bank_free_units(bank, j);
    for (size_t k = 0; k < count; k++)
        for (uint32_t j = 0; j < resources; j++) {
            uint64_t held = gordian_bank_held(bank, sequence[k], j);
            if (gordian_bank_claim(bank, sequence[k], j) - held > work[j])
                return false;
            work[j] += held;
        }
    return true;
}

/* The order given by the book works, as does the bank's own. */
static void check_order(gordian_bank *bank, const uint32_t *published, size_t count)
{
    uint32_t own[P_MAX];
    CHECK(works(bank, published, count));
    CHECK(gordian_bank_sequence(bank, own, P_MAX) == count);
    CHECK(works(bank, own, count));
}

static void ask(gordian_bank *bank, uint32_t process, const uint64_t *units, gordian_answer *answer)
{
    gordian_want wants[R_MAX];
    size_t count = wants_of(units, R_MAX, wants);
    CHECK(gordian_bank_request(bank, process, wants, count, answer, NULL) == GORDIAN_OK);
}

/* ------------------------------------------------------------------ textbooks */

/* Silberschatz, Galvin, Gagne: Operating System Concepts, the example of the banker's algorithm. */
static void test_silberschatz(const char *engine)
{
    static const struct book book = {
        .processes = 5,
        .resources = 3,
        .total = {10, 5, 7},
        .held = {{0, 1, 0}, {2, 0, 0}, {3, 0, 2}, {2, 1, 1}, {0, 0, 2}},
        .most = {{7, 5, 3}, {3, 2, 2}, {9, 0, 2}, {2, 2, 2}, {4, 3, 3}},
    };
    gordian_bank *bank = open_book(&book, engine);
    gordian_answer answer;
    gordian_answer_init(&answer, GORDIAN_DETAIL_REASONS);
    check_order(bank, (uint32_t[]){1, 3, 4, 2, 0}, 5);

    ask(bank, 1, (uint64_t[R_MAX]){1, 0, 2}, &answer);
    CHECK(answer.verdict == GORDIAN_VERDICT_GRANTED &&
          works(bank, answer.sequence, answer.sequence_count));
    check_order(bank, (uint32_t[]){1, 3, 4, 0, 2}, 5);

    ask(bank, 4, (uint64_t[R_MAX]){3, 3, 0}, &answer); /* not available */
    CHECK(answer.verdict == GORDIAN_VERDICT_UNAVAILABLE && answer.lack_count == 1);
    CHECK(answer.lacks[0].process == 4 && answer.lacks[0].resource == 0 &&
          answer.lacks[0].units == 1);

    ask(bank, 0, (uint64_t[R_MAX]){0, 2, 0}, &answer); /* available, but unsafe */
    CHECK(answer.verdict == GORDIAN_VERDICT_UNSAFE && !answer.waits);
    /* Nobody can finish with the 2, 1, 0 that would be left. */
    CHECK(answer.stuck_count == 5 && answer.stuck[0] == 0 && answer.stuck[4] == 4);
    CHECK(answer.lacks[0].process == 0 && answer.lacks[0].resource == 0 &&
          answer.lacks[0].units == 5);
    check_order(bank, (uint32_t[]){1, 3, 4, 0, 2}, 5); /* nothing has changed */
    gordian_answer_free(&answer);
    gordian_bank_close(bank);
}

/* The same book: twelve tape drives. */
static void test_tape_drives(const char *engine)
{
    static const struct book book = {.processes = 3,
                                     .resources = 1,
                                     .total = {12},
                                     .held = {{5}, {2}, {2}},
                                     .most = {{10}, {4}, {9}}};
    gordian_bank *bank = open_book(&book, engine);
    gordian_answer answer;
    gordian_answer_init(&answer, GORDIAN_DETAIL_REASONS);
    check_order(bank, (uint32_t[]){1, 0, 2}, 3);
    ask(bank, 2, (uint64_t[R_MAX]){1}, &answer);
    CHECK(answer.verdict == GORDIAN_VERDICT_UNSAFE);
    /* Only P1 can finish; then there are 4, P0 may want 5, P2 may want 6. */
    CHECK(answer.stuck_count == 2 && answer.stuck[0] == 0 && answer.stuck[1] == 2);
    CHECK(answer.lack_count == 2 && answer.lacks[0].units == 1 && answer.lacks[1].units == 2);
    gordian_answer_free(&answer);
    gordian_bank_close(bank);
}

/* Tanenbaum: Modern Operating Systems, the banker for one resource and for several. */
static void test_tanenbaum(const char *engine)
{
    static const struct book one = {.processes = 4,
                                    .resources = 1,
                                    .total = {10},
                                    .held = {{1}, {1}, {2}, {4}},
                                    .most = {{6}, {5}, {4}, {7}}};
    static const struct book several = {
        .processes = 5,
        .resources = 4,
        .total = {6, 3, 4, 2},
        .held = {{3, 0, 1, 1}, {0, 1, 0, 0}, {1, 1, 1, 0}, {1, 1, 0, 1}, {0, 0, 0, 0}},
        .most = {{4, 1, 1, 1}, {0, 2, 1, 2}, {4, 2, 1, 0}, {1, 1, 1, 1}, {2, 1, 1, 0}},
    };
    gordian_answer answer;
    gordian_answer_init(&answer, GORDIAN_DETAIL_REASONS);

    gordian_bank *bank = open_book(&one, engine);
    check_order(bank, (uint32_t[]){2, 3, 1, 0}, 4); /* C, then D or B, and so on */
    ask(bank, 1, (uint64_t[R_MAX]){1}, &answer);    /* B asks for one more */
    CHECK(answer.verdict == GORDIAN_VERDICT_UNSAFE && answer.stuck_count == 4);
    gordian_bank_close(bank);

    bank = open_book(&several, engine);
    check_order(bank, (uint32_t[]){3, 0, 1, 2, 4}, 5);
    ask(bank, 1, (uint64_t[R_MAX]){0, 0, 1, 0}, &answer); /* B: a printer */
    CHECK(answer.verdict == GORDIAN_VERDICT_GRANTED);
    check_order(bank, (uint32_t[]){3, 4, 0, 1, 2}, 5);    /* D, A or E, the rest */
    ask(bank, 4, (uint64_t[R_MAX]){0, 0, 1, 0}, &answer); /* E: the last printer */
    CHECK(answer.verdict == GORDIAN_VERDICT_UNSAFE && answer.stuck_count == 5);
    gordian_bank_close(bank);
    gordian_answer_free(&answer);
}

/* The example of the encyclopedia's article on the banker's algorithm. */
static void test_encyclopedia(const char *engine)
{
    static const struct book book = {.processes = 3,
                                     .resources = 4,
                                     .total = {6, 5, 7, 6},
                                     .held = {{1, 2, 2, 1}, {1, 0, 3, 3}, {1, 2, 1, 0}},
                                     .most = {{3, 3, 2, 2}, {1, 2, 3, 4}, {1, 3, 5, 0}}};
    gordian_bank *bank = open_book(&book, engine);
    gordian_answer answer;
    gordian_answer_init(&answer, GORDIAN_DETAIL_REASONS);
    check_order(bank, (uint32_t[]){0, 1, 2}, 3);
    ask(bank, 2, (uint64_t[R_MAX]){0, 0, 2, 0}, &answer);
    CHECK(answer.verdict == GORDIAN_VERDICT_UNAVAILABLE);
    ask(bank, 1, (uint64_t[R_MAX]){0, 1, 0, 0}, &answer);
    CHECK(answer.verdict == GORDIAN_VERDICT_UNSAFE && answer.stuck_count == 3);
    ask(bank, 2, (uint64_t[R_MAX]){0, 0, 1, 0}, &answer);
    CHECK(answer.verdict == GORDIAN_VERDICT_GRANTED);
    check_order(bank, (uint32_t[]){0, 1, 2}, 3);
    gordian_answer_free(&answer);
    gordian_bank_close(bank);
}

/* ------------------------------------------------------------------ the reference trace */

static size_t read_wants(gordian_bank *bank, char **words, size_t count, gordian_want *wants)
{
    for (size_t k = 0; k < count; k++) {
        char *equals = strchr(words[k], '=');
        REQUIRE(equals);
        wants[k].resource = gordian_bank_find_resource(bank, words[k], (size_t)(equals - words[k]));
        wants[k].units = strtoull(equals + 1, NULL, 10);
    }
    return count;
}

/* Plays one line; the verdict, or 0 if it is a declaration. */
static gordian_verdict play_line(gordian_bank *bank, char *line)
{
    char *words[16], *save = NULL;
    size_t count = 0;
    gordian_want wants[16];
    gordian_answer answer;
    gordian_answer_init(&answer, GORDIAN_DETAIL_VERDICT);
    for (char *word = strtok_r(line, " \n", &save); word && count < 16;
         word = strtok_r(NULL, " \n", &save))
        words[count++] = word;
    REQUIRE(count >= 2);
    if (strcmp(words[0], "resource") == 0) {
        CHECK(gordian_bank_add_resource(bank, words[1], strtoull(words[2], NULL, 10), NULL, NULL) ==
              GORDIAN_OK);
        return 0;
    }
    size_t wanted = read_wants(bank, words + 2, count - 2, wants);
    if (strcmp(words[0], "process") == 0) {
        CHECK(gordian_bank_add_process(bank, words[1], wants, wanted, NULL, &answer, NULL) ==
                  GORDIAN_OK &&
              answer.verdict == GORDIAN_VERDICT_CHANGED);
        return 0;
    }
    uint32_t process = gordian_bank_find_process(bank, words[1], strlen(words[1]));
    gordian_status status = strcmp(words[0], "request") == 0
                                ? gordian_bank_request(bank, process, wants, wanted, &answer, NULL)
                                : gordian_bank_release(bank, process, wants, wanted, &answer, NULL);
    CHECK(status == GORDIAN_OK);
    return answer.verdict;
}

static void test_reference(const char *engine, const char *folder)
{
    char path[1024], line[1024], expected[1024], word[64];
    snprintf(path, sizeof path, "%s/avoid.trace", folder);
    FILE *trace = fopen(path, "r");
    snprintf(path, sizeof path, "%s/avoid.expected.jsonl", folder);
    FILE *answers = fopen(path, "r");
    REQUIRE(trace && answers);
    gordian_bank *bank = open_bank(engine, false);
    size_t events = 0;
    while (fgets(line, sizeof line, trace)) {
        gordian_verdict verdict = play_line(bank, line);
        if (!verdict)
            continue;
        REQUIRE(fgets(expected, sizeof expected, answers));
        snprintf(word, sizeof word, "\"result\": \"%s\"", gordian_verdict_text(verdict));
        events++;
        CHECK_MSG(strstr(expected, word), "%s: event %zu: %s instead of %s", engine, events, word,
                  expected);
    }
    CHECK(events == 300 && !fgets(expected, sizeof expected, answers));
    gordian_bank_close(bank);
    fclose(trace);
    fclose(answers);
}

/* ------------------------------------------------------------------ what is declined */

static gordian_reason declined(const gordian_answer *answer, uint32_t at)
{
    CHECK(answer->verdict == GORDIAN_VERDICT_REFUSED);
    CHECK_MSG(answer->at == at, "at %" PRIu32 " instead of %" PRIu32, answer->at, at);
    return answer->reason;
}

static void test_declined_requests(const char *engine)
{
    gordian_bank *bank = open_bank(engine, false);
    gordian_answer answer;
    uint32_t a, b, p;
    gordian_answer_init(&answer, GORDIAN_DETAIL_REASONS);
    gordian_bank_add_resource(bank, "a", 5, &a, NULL);
    gordian_bank_add_resource(bank, "b", 5, &b, NULL);
    gordian_want claim = {.units = 3, .resource = a};
    gordian_bank_add_process(bank, "p", &claim, 1, &p, &answer, NULL);

#define REQUEST(process, ...)                                                                      \
    gordian_bank_request(bank, process, (gordian_want[]){__VA_ARGS__},                             \
                         sizeof(gordian_want[]){__VA_ARGS__} / sizeof(gordian_want), &answer,      \
                         NULL)
#define RELEASE(process, ...)                                                                      \
    gordian_bank_release(bank, process, (gordian_want[]){__VA_ARGS__},                             \
                         sizeof(gordian_want[]){__VA_ARGS__} / sizeof(gordian_want), &answer,      \
                         NULL)
    REQUEST(p + 1, {1, a});
    CHECK(declined(&answer, 1) == GORDIAN_REASON_UNKNOWN_PROCESS);
    REQUEST(p, {1, a}, {1, 7});
    CHECK(declined(&answer, 1) == GORDIAN_REASON_UNKNOWN_RESOURCE);
    REQUEST(p, {0, a});
    CHECK(declined(&answer, 0) == GORDIAN_REASON_NO_UNITS);
    gordian_bank_request(bank, p, NULL, 0, &answer, NULL);
    CHECK(declined(&answer, 0) == GORDIAN_REASON_NO_UNITS);
    REQUEST(p, {1, b});
    CHECK(declined(&answer, 0) == GORDIAN_REASON_OVER_CLAIM);
    REQUEST(p, {2, a}, {2, a}); /* adds up */
    CHECK(declined(&answer, 1) == GORDIAN_REASON_OVER_CLAIM);
    REQUEST(p, {1, a}, {UINT64_MAX, a}); /* would be 0 if it wrapped round */
    CHECK(declined(&answer, 1) == GORDIAN_REASON_OVER_CLAIM);
    REQUEST(p, {1, a}, {1, a});
    CHECK(answer.verdict == GORDIAN_VERDICT_GRANTED && gordian_bank_held(bank, p, a) == 2);
    RELEASE(p, {1, a}, {2, a});
    CHECK(declined(&answer, 1) == GORDIAN_REASON_BELOW_HELD);
    RELEASE(p, {1, b});
    CHECK(declined(&answer, 0) == GORDIAN_REASON_BELOW_HELD);
    CHECK(gordian_bank_held(bank, p, a) == 2 && gordian_bank_free_units(bank, a) == 3);
    gordian_bank_cancel(bank, p, &answer, NULL);
    CHECK(declined(&answer, 0) == GORDIAN_REASON_NOT_WAITING);
    gordian_bank_commit(bank, p, &answer, NULL);
    CHECK(declined(&answer, 0) == GORDIAN_REASON_NO_TRIAL);
    gordian_bank_exit(bank, 9, &answer, NULL);
    CHECK(declined(&answer, 0) == GORDIAN_REASON_UNKNOWN_PROCESS);
    CHECK(gordian_bank_acquire(bank, p, &claim, 1, 0, &answer, NULL) == GORDIAN_STATUS_INPUT);
    gordian_answer_free(&answer);
    gordian_bank_close(bank);
}

static void test_declined_claims(const char *engine)
{
    gordian_bank *bank = open_bank(engine, false);
    gordian_answer answer;
    uint32_t a, b, p, q = 0;
    gordian_answer_init(&answer, GORDIAN_DETAIL_REASONS);
    gordian_bank_add_resource(bank, "a", 5, &a, NULL);
    gordian_bank_add_resource(bank, "b", UINT64_MAX, &b, NULL);

    /* Said when it is declared: it can never fit. */
    gordian_want claims[] = {{3, a}, {1, b}, {3, a}};
    CHECK(gordian_bank_add_process(bank, "p", claims, 3, &q, &answer, NULL) == GORDIAN_OK);
    CHECK(declined(&answer, 2) == GORDIAN_REASON_NEVER_FITS && q == GORDIAN_NONE);
    CHECK(gordian_bank_find_process(bank, "p", 1) == GORDIAN_NONE);
    gordian_want huge[] = {{UINT64_MAX, b}, {1, b}};
    gordian_bank_add_process(bank, "p", huge, 2, &q, &answer, NULL);
    CHECK(declined(&answer, 1) == GORDIAN_REASON_TOO_MANY);
    CHECK(gordian_bank_add_process(bank, "p", claims, 2, &p, &answer, NULL) == GORDIAN_OK);
    CHECK(gordian_bank_add_process(bank, "p", claims, 2, &q, &answer, NULL) ==
          GORDIAN_STATUS_INPUT);

    gordian_bank_request(bank, p, claims, 2, &answer, NULL);
    CHECK(answer.verdict == GORDIAN_VERDICT_GRANTED);
    gordian_want lower[] = {{1, b}, {2, a}};
    gordian_bank_set_claims(bank, p, lower, 2, &answer, NULL);
    CHECK(declined(&answer, 1) == GORDIAN_REASON_BELOW_HELD);
    gordian_bank_set_claims(bank, p, lower, 1, &answer, NULL); /* a is left out */
    CHECK(declined(&answer, 1) == GORDIAN_REASON_BELOW_HELD);
    gordian_bank_set_units(bank, a, 2, &answer, NULL);
    CHECK(declined(&answer, 0) == GORDIAN_REASON_NEVER_FITS);
    gordian_bank_set_units(bank, 5, 2, &answer, NULL);
    CHECK(declined(&answer, 0) == GORDIAN_REASON_UNKNOWN_RESOURCE);
    CHECK(gordian_bank_remove_resource(bank, a, NULL) == GORDIAN_STATUS_INPUT);
    gordian_bank_set_units(bank, a, 3, &answer, NULL);
    CHECK(answer.verdict == GORDIAN_VERDICT_CHANGED && gordian_bank_free_units(bank, a) == 0);
    gordian_bank_exit(bank, p, &answer, NULL);
    CHECK(answer.verdict == GORDIAN_VERDICT_EXITED && gordian_bank_free_units(bank, a) == 3);
    gordian_bank_set_units(bank, a, 0, &answer, NULL);
    CHECK(answer.verdict == GORDIAN_VERDICT_CHANGED && gordian_bank_units(bank, a) == 0);
    CHECK(gordian_bank_remove_resource(bank, a, NULL) == GORDIAN_OK);
    CHECK(gordian_bank_find_resource(bank, "a", 1) == GORDIAN_NONE);
    gordian_answer_free(&answer);
    gordian_bank_close(bank);
}

/* ------------------------------------------------------------------ changes and helpers */

/* Two who have one of two each: what may be raised, taken away, and what is left to take. */
static void test_changes(const char *engine)
{
    gordian_bank *bank = open_bank(engine, false);
    gordian_answer answer;
    uint32_t r, p[2];
    uint64_t slack;
    gordian_answer_init(&answer, GORDIAN_DETAIL_REASONS);
    gordian_bank_add_resource(bank, "r", 4, &r, NULL);
    gordian_want two = {2, r}, three = {3, r}, four = {4, r}, one = {1, r};
    for (int i = 0; i < 2; i++) {
        gordian_bank_add_process(bank, NULL, &two, 1, &p[i], NULL, NULL);
        gordian_bank_request(bank, p[i], &one, 1, &answer, NULL);
        CHECK(answer.verdict == GORDIAN_VERDICT_GRANTED);
    }
    CHECK(gordian_bank_slack(bank, r, &slack, NULL) == GORDIAN_OK && slack == 1);
    CHECK(gordian_bank_slack(bank, r + 1, &slack, NULL) == GORDIAN_STATUS_INPUT);
    gordian_bank_set_claims(bank, p[0], &four, 1, &answer, NULL); /* when the other has finished */
    CHECK(answer.verdict == GORDIAN_VERDICT_CHANGED);
    gordian_bank_set_claims(bank, p[1], &four, 1, &answer, NULL);
    CHECK(answer.verdict == GORDIAN_VERDICT_UNSAFE && answer.stuck_count == 2 &&
          answer.lack_count == 2);
    CHECK(answer.lacks[0].units == 1 && answer.lacks[1].units == 1);
    CHECK(gordian_bank_claim(bank, p[1], r) == 2);
    gordian_bank_set_claims(bank, p[0], &three, 1, &answer, NULL);
    CHECK(answer.verdict == GORDIAN_VERDICT_CHANGED);
    gordian_bank_set_units(bank, r, 3, &answer, NULL);
    CHECK(answer.verdict == GORDIAN_VERDICT_CHANGED);
    CHECK(gordian_bank_slack(bank, r, &slack, NULL) == GORDIAN_OK && slack == 0);
    gordian_bank_set_claims(bank, p[0], &two, 1, &answer, NULL);
    gordian_bank_set_units(bank, r, 2, &answer, NULL); /* each would need the other's */
    CHECK(answer.verdict == GORDIAN_VERDICT_UNSAFE && answer.stuck_count == 2);
    gordian_bank_request(bank, p[0], &one, 1, &answer, NULL);
    CHECK(answer.verdict == GORDIAN_VERDICT_GRANTED);
    gordian_bank_set_units(bank, r, 2, &answer, NULL);
    CHECK(answer.verdict == GORDIAN_VERDICT_UNAVAILABLE && answer.lack_count == 1 &&
          answer.lacks[0].process == GORDIAN_NONE && answer.lacks[0].units == 1);
    gordian_answer_free(&answer);
    gordian_bank_close(bank);
}

static void test_trials(const char *engine)
{
    gordian_bank *bank = open_bank(engine, false);
    gordian_answer answer;
    uint32_t r, p;
    gordian_verdict verdicts[3];
    gordian_answer_init(&answer, GORDIAN_DETAIL_REASONS);
    gordian_bank_add_resource(bank, "r", 3, &r, NULL);
    gordian_want claim = {3, r}, one = {1, r}, four = {4, r};
    gordian_bank_add_process(bank, NULL, &claim, 1, &p, NULL, NULL);
    gordian_bank_try(bank, p, &one, 1, &answer, NULL);
    CHECK(answer.verdict == GORDIAN_VERDICT_GRANTED && gordian_bank_held(bank, p, r) == 1);
    gordian_bank_request(bank, p, &one, 1, &answer, NULL);
    CHECK(declined(&answer, 1) == GORDIAN_REASON_ON_TRIAL);
    gordian_bank_release(bank, p, &one, 1, &answer, NULL);
    CHECK(declined(&answer, 1) == GORDIAN_REASON_ON_TRIAL);
    gordian_bank_cancel(bank, p, &answer, NULL);
    CHECK(answer.verdict == GORDIAN_VERDICT_CANCELLED && gordian_bank_held(bank, p, r) == 0);
    gordian_bank_try(bank, p, &one, 1, &answer, NULL);
    gordian_bank_commit(bank, p, &answer, NULL);
    CHECK(answer.verdict == GORDIAN_VERDICT_GRANTED && gordian_bank_held(bank, p, r) == 1);
    gordian_bank_request_item items[] = {{p, &one, 1}, {p, &four, 1}, {p, &claim, 1}};
    CHECK(gordian_bank_what_if(bank, items, 3, verdicts, NULL) == GORDIAN_OK);
    CHECK(verdicts[0] == GORDIAN_VERDICT_GRANTED && verdicts[1] == GORDIAN_VERDICT_REFUSED &&
          verdicts[2] == GORDIAN_VERDICT_REFUSED);
    CHECK(gordian_bank_held(bank, p, r) == 1);
    gordian_bank_try(bank, p, &one, 1, &answer, NULL);
    gordian_bank_exit(bank, p, &answer, NULL); /* with a grant on trial */
    CHECK(answer.verdict == GORDIAN_VERDICT_EXITED && gordian_bank_free_units(bank, r) == 3);
    gordian_answer_free(&answer);
    gordian_bank_close(bank);
}

/* A list of one edge, which is this. */
static bool is_edge(size_t count, const gordian_edge *edge, uint64_t units, uint32_t process,
                    uint32_t resource, bool waits)
{
    return count == 1 && edge->units == units && edge->process == process &&
           edge->resource == resource && edge->waits == waits;
}

static void test_edges(const char *engine)
{
    gordian_bank *bank = open_bank(engine, true);
    gordian_edge edges[2] = {{0}};
    uint32_t r, s, p, q;
    gordian_bank_add_resource(bank, "r", 3, &r, NULL);
    gordian_bank_add_resource(bank, "s", 1, &s, NULL);
    gordian_want claims[] = {{3, r}, {1, s}}, both[] = {{1, s}, {2, r}}, two = {2, r};
    gordian_bank_add_process(bank, NULL, claims, 2, &p, NULL, NULL);
    gordian_bank_add_process(bank, NULL, claims, 2, &q, NULL, NULL);
    CHECK(gordian_bank_holdings(bank, p, NULL, 0) == 0 &&
          gordian_bank_holders(bank, r, NULL, 0) == 0);
    gordian_bank_try(bank, p, &two, 1, NULL, NULL); /* on trial: it holds them, and does not wait */
    CHECK(is_edge(gordian_bank_holdings(bank, p, edges, 2), edges, 2, p, r, false));
    CHECK(is_edge(gordian_bank_holders(bank, r, edges, 2), edges, 2, p, r, false));
    CHECK(gordian_bank_pending(bank, p, NULL, 0) == 0);
    gordian_bank_commit(bank, p, NULL, NULL);
    gordian_bank_request(bank, q, both, 2, NULL, NULL); /* waits */
    CHECK(gordian_bank_pending(bank, q, NULL, 0) == 2);
    edges[1].process = GORDIAN_NONE;
    CHECK(gordian_bank_pending(bank, q, edges, 1) == 2 && edges[1].process == GORDIAN_NONE);
    CHECK(is_edge(1, edges, 2, q, r, true));
    CHECK(is_edge(gordian_bank_waiters(bank, s, edges, 2), edges, 1, q, s, true));
    gordian_bank_exit(bank, p, NULL, NULL); /* which serves it */
    CHECK(gordian_bank_pending(bank, q, NULL, 0) == 0 &&
          gordian_bank_waiters(bank, r, NULL, 0) == 0);
    CHECK(gordian_bank_holdings(bank, q, NULL, 0) == 2);
    CHECK(gordian_bank_holdings(bank, p, NULL, 0) == 0); /* not in use any more */
    CHECK(gordian_bank_pending(bank, 99, NULL, 0) == 0 &&
          gordian_bank_holders(bank, 99, NULL, 0) == 0 &&
          gordian_bank_waiters(bank, GORDIAN_NONE, NULL, 0) == 0);
    gordian_bank_close(bank);
}

/* Nothing wraps round where numbers are as large as they get. */
static void test_large_numbers(const char *engine)
{
    gordian_bank *bank = open_bank(engine, false);
    gordian_answer answer;
    uint32_t r, p, q;
    uint64_t slack;
    gordian_answer_init(&answer, GORDIAN_DETAIL_REASONS);
    gordian_bank_add_resource(bank, "r", UINT64_MAX, &r, NULL);
    gordian_want all = {UINT64_MAX, r}, most = {UINT64_MAX - 1, r}, one = {1, r};
    gordian_bank_add_process(bank, NULL, &all, 1, &p, NULL, NULL);
    gordian_bank_add_process(bank, NULL, &all, 1, &q, NULL, NULL);
    gordian_bank_request(bank, p, &most, 1, &answer, NULL);
    CHECK(answer.verdict == GORDIAN_VERDICT_GRANTED);
    gordian_bank_request(bank, q, &one, 1, &answer, NULL);
    CHECK(answer.verdict == GORDIAN_VERDICT_UNSAFE && answer.lacks[0].units == 1 &&
          answer.lacks[1].units == UINT64_MAX - 1);
    gordian_bank_request(bank, q, &all, 1, &answer, NULL);
    CHECK(answer.verdict == GORDIAN_VERDICT_UNAVAILABLE && answer.lacks[0].units == UINT64_MAX - 1);
    CHECK(gordian_bank_slack(bank, r, &slack, NULL) == GORDIAN_OK && slack == 0);
    gordian_bank_request(bank, p, &one, 1, &answer, NULL);
    CHECK(answer.verdict == GORDIAN_VERDICT_GRANTED && gordian_bank_free_units(bank, r) == 0);
    gordian_bank_exit(bank, p, &answer, NULL);
    gordian_bank_request(bank, q, &all, 1, &answer, NULL);
    CHECK(answer.verdict == GORDIAN_VERDICT_GRANTED);
    gordian_answer_free(&answer);
    gordian_bank_close(bank);
}

static void test_engines(void)
{
    gordian_engine_info info;
    gordian_bank_options options;
    gordian_bank *bank = NULL;
    gordian_error error;
    bool holt = false, dense = false;
    for (size_t i = 0; gordian_engine(i, &info) == GORDIAN_OK; i++) {
        holt |= strcmp(info.family, "avoid") == 0 && strcmp(info.name, "holt") == 0;
        dense |= strcmp(info.family, "avoid") == 0 && strcmp(info.name, "dense") == 0;
    }
    CHECK(holt && dense);
    gordian_bank_options_init(&options);
    options.engine = "sparse"; /* of another family */
    CHECK(gordian_bank_open(&bank, &options, &error) == GORDIAN_STATUS_UNAVAILABLE && !bank);
    CHECK(gordian_bank_open(&bank, NULL, NULL) == GORDIAN_OK);
    char text[256];
    CHECK(strcmp(gordian_bank_engine_name(bank), "holt") == 0);
    CHECK(strcmp(gordian_bank_engine_note(bank, text, sizeof text), "") == 0);
    CHECK(gordian_bank_reserve(bank, 100, 100, NULL) == GORDIAN_OK);
    CHECK(gordian_bank_reserve(bank, UINT32_MAX, 100, &error) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_bank_add_resource(bank, "a b", 1, NULL, NULL) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_bank_process_name(bank, 0, text) == NULL);
    gordian_bank_add_process(bank, "p", NULL, 0, NULL, NULL, NULL);
    CHECK(strcmp(gordian_bank_process_name(bank, 0, text), "p") == 0);
    gordian_bank_close(bank);
    gordian_bank_close(NULL);
    gordian_answer_free(NULL);
}

int main(int argc, char **argv)
{
    gordian_engine_info info;
    REQUIRE(argc == 2);
    for (size_t i = 0; gordian_engine(i, &info) == GORDIAN_OK; i++) {
        if (strcmp(info.family, "avoid") != 0 || !info.available)
            continue;
        test_silberschatz(info.name);
        test_tape_drives(info.name);
        test_tanenbaum(info.name);
        test_encyclopedia(info.name);
        test_reference(info.name, argv[1]);
        test_declined_requests(info.name);
        test_declined_claims(info.name);
        test_changes(info.name);
        test_trials(info.name);
        test_edges(info.name);
        test_large_numbers(info.name);
    }
    test_engines();
    return test_done();
}
