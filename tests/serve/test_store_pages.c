/* Incidents by the page, and questions that a thread answers. (What is kept in memory has narrower
 * bounds, and answers at once.) */
#include "store_world.h"

/* ---- pages, for readers beside the loop */

#define MANY (2 * INCIDENTS_WINDOW + 100)

/* The ids of a page, and the next one's `before`; 0: there is none. */
static uint64_t read_page(struct store *store, const struct incidents_filter *filter, char *text,
                          size_t size)
{
    struct output out;
    struct json json;
    gordian_error error = {0};
    REQUIRE(output_open(&out, -1));
    json_begin(&json, &out);
    CHECK(incidents_page(store_incidents(store), filter, &json, &error) == GORDIAN_OK);
    json_end(&json);
    snprintf(text, size, "%.*s", (int)out.used, out.buffer);
    output_close(&out);
    const char *next = strstr(text, "\"next\":");
    return next ? strtoull(next + 7, NULL, 10) : 0;
}

static void add_many(struct world *world, struct store *store)
{
    for (uint64_t id = 1; id <= MANY; id++) {
        const struct incident one = {.id = id,
                                     .system = id == 5 ? "rare" : "usual",
                                     .at = 1000 + id,
                                     .ended = id == 7 ? 0 : 2000 + id,
                                     .processes = id == 3 ? "[\"p\"]" : "[\"q\"]"};
        CHECK(store_incident(store, &one) == GORDIAN_OK);
        if (id % 500 == 0 || id == MANY)
            world_keep(world, store, 1);
    }
}

/* However many there are, a page looks at so many of them. */
static void test_pages_are_bounded(void)
{
    struct world world;
    struct store *store;
    gordian_error error = {0};
    char text[4096];
    world_make(&world);
    world.options.keep_incidents_ms = 0; /* all of them are very old */
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    add_many(&world, store);
    struct incidents_filter filters[] = {{.process = "p", .limit = 10},
                                         {.system = "rare", .limit = 10},
                                         {.until = 1006, .system = "rare", .limit = 10}};
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        uint64_t next = read_page(store, &filters[i], text, sizeof text);
        CHECK(next == MANY - INCIDENTS_WINDOW + 1 && strstr(text, "\"incidents\":[]"));
        filters[i].before = next;
        next = read_page(store, &filters[i], text, sizeof text);
        CHECK(next == MANY - 2 * INCIDENTS_WINDOW + 1 && strstr(text, "\"incidents\":[]"));
        filters[i].before = next;
        next = read_page(store, &filters[i], text, sizeof text);
        CHECK(next == 0 && strstr(text, i == 0 ? "\"id\":3," : "\"id\":5,"));
    }
    /* those that stand have an index; what is too old is not looked for */
    const struct incidents_filter open = {.open = true, .limit = 10};
    CHECK(read_page(store, &open, text, sizeof text) == 0 && strstr(text, "\"id\":7,"));
    const struct incidents_filter late = {.process = "p", .since = 1000 + MANY + 1, .limit = 10};
    CHECK(read_page(store, &late, text, sizeof text) == 0);
    /* a full page goes on where it ended */
    const struct incidents_filter two = {.limit = 2};
    CHECK(read_page(store, &two, text, sizeof text) == MANY - 1);
    store_close(store);
    world_remove(&world);
}

/* ---- questions: a thread answers them, the loop never waits */

static void note_done(void *context)
{
    ++*(unsigned *)context;
}

/* What a page has is what the answer has. */
static void take_page(struct question *question, const char *expected)
{
    struct output out;
    gordian_error error = {0};
    REQUIRE(question_is_answered(question));
    REQUIRE(question_answer(question, &out, &error) == GORDIAN_OK);
    CHECK(out.used > 0 && out.buffer[out.used - 1] == '\n');
    out.buffer[out.used - 1] = '\0';
    CHECK_MSG(strstr(out.buffer, expected) != NULL, "%s", out.buffer);
    output_close(&out);
    question_forget(question);
}

static void ask_too_much(struct questions *questions, struct question *asked[QUESTIONS_MAX],
                         unsigned *done)
{
    char name[] = "rare"; /* is copied */
    const struct incidents_filter filter = {.system = name, .before = 100, .limit = 10};
    for (size_t i = 0; i < QUESTIONS_MAX; i++)
        REQUIRE((asked[i] = questions_ask(questions, &filter, i % 2 ? 0 : 7, note_done, done)));
    memset(name, 'x', 4);
    CHECK(questions_ask(questions, &filter, 0, note_done, done) == NULL);
    for (size_t i = 0; i < QUESTIONS_MAX; i += 4) /* asked, looked at or answered */
        question_forget(asked[i]);
}

static void test_questions(void)
{
    struct world world;
    struct store *store;
    struct question *asked[QUESTIONS_MAX];
    gordian_error error = {0};
    unsigned done = 0;
    world_make(&world);
    world.options.keep_incidents_ms = 0;
    REQUIRE(world_open(&world, &store, NULL, &error) == GORDIAN_OK);
    add_many(&world, store);
    struct questions *questions = store_questions(store);
    ask_too_much(questions, asked, &done);
    WORLD_WAIT(store, done == QUESTIONS_MAX * 3 / 4);
    for (size_t i = 0; i < QUESTIONS_MAX; i++)
        if (i % 4)
            take_page(asked[i], i % 2 ? "\"incidents\":[{\"id\":5," : "\"id\":7,");
    REQUIRE((asked[0] = questions_ask(questions, NULL, MANY + 1, NULL, NULL)));
    WORLD_WAIT(store, question_is_answered(asked[0]));
    struct output out;
    CHECK(question_answer(asked[0], &out, &error) == GORDIAN_STATUS_END);
    /* one that is forgotten by nobody, and never answered, goes with the store */
    CHECK(questions_ask(questions, NULL, 1, note_done, &done));
    store_close(store);
    world_remove(&world);
}

int main(void)
{
    test_pages_are_bounded();
    test_questions();
    return test_done();
}
