/* Many steps of a trace at once against one after the other, the lines of which are read the long
 * way: a '=' in a comment behind each sees to that. The text comes in pieces cut anywhere. */
#include "foundation/base/random.h"
#include "test.h"

#include <gordian/gordian.h>

#include <stdio.h>
#include <string.h>

#define TEXT_ROOM 200000
#define STEP_ROOM 100
#define MOST      40 /* processes, and resources */

/* ---- texts */

struct pieces {
    const char *text;
    size_t length, at;
    struct random random;
    size_t most; /* bytes at once */
};

static ptrdiff_t read_pieces(void *context, char *buffer, size_t size)
{
    struct pieces *pieces = context;
    size_t count = pieces->length - pieces->at;
    size_t most = 1 + random_below(&pieces->random, pieces->most);
    count = count < most ? count : most;
    count = count < size ? count : size;
    memcpy(buffer, pieces->text + pieces->at, count);
    pieces->at += count;
    return (ptrdiff_t)count;
}

struct texts {
    char plain[TEXT_ROOM], marked[TEXT_ROOM];
    size_t plain_length, marked_length;
    struct random random;
    unsigned processes, resources;
    unsigned odd;          /* lines in a hundred that are not plain */
    unsigned width;        /* of names; 0: as long as the number is */
    bool calm;             /* hardly anybody waits, and little is refused */
    unsigned holder[MOST]; /* by resource, if it is: one more than the process, or 0 */
    const char *ending;    /* of lines */
};

/* Names of any length that differ at their end, or at their beginning. */
static const char *draw_name(struct texts *texts, char kind, unsigned number, char name[300])
{
    static const unsigned widths[] = {2, 7, 8, 9, 15, 16, 17, 40, 254, 255};
    unsigned width = texts->width;
    if (width == 1) /* each of its own */
        width = widths[number % (sizeof widths / sizeof *widths)];
    if (number % 2)
        sprintf(name, "%c%0*u", kind, width > 1 ? (int)width - 1 : 1, number);
    else
        sprintf(name, "%c%u%.*s", kind, number, width > 3 ? (int)width - 3 : 0,
                "................................................................................"
                "................................................................................"
                "................................................................................"
                "..............................");
    return name;
}

static const char *a_process(struct texts *texts, char name[300])
{
    return draw_name(texts, 'p', (unsigned)random_below(&texts->random, texts->processes), name);
}

static const char *a_resource(struct texts *texts, char name[300])
{
    return draw_name(texts, 'q', (unsigned)random_below(&texts->random, texts->resources), name);
}

/* Lines that are not plain: other words, wrong ones, wrong names. */
static size_t draw_odd(struct texts *texts, char *line)
{
    char p[300], q[300], more[300];
    unsigned which = (unsigned)random_below(&texts->random, 400);
    a_process(texts, p);
    a_resource(texts, q);
    a_resource(texts, more);
    if (which < 60)
        return (size_t)sprintf(line, "exit %s", p);
    if (which < 120)
        return (size_t)sprintf(line, "cancel %s", p);
    if (which < 160)
        return (size_t)sprintf(line, "release %s %s to %s", p, q, a_process(texts, more));
    if (which < 200)
        return (size_t)sprintf(line, "# request %s %s", p, q);
    if (which < 230)
        return (size_t)sprintf(line, "request\t%s   %s # %s", p, q, more);
    if (which < 250)
        return (size_t)sprintf(line, "request %s %s=1", p, q);
    if (which < 270)
        return (size_t)sprintf(line, "request %s %s %s", p, q, more);
    if (which < 290)
        return (size_t)sprintf(line, "process %s priority=3 cost=2", p);
    if (which < 310)
        return (size_t)sprintf(line, "resource x%s%.*s", q, which & 1, "2");
    if (which < 330)
        return (size_t)sprintf(line, "request %s nowhere", p);
    if (which < 350)
        return (size_t)sprintf(line, "release nobody %s", q);
    if (which < 370)
        return (size_t)sprintf(line, "release %s %s", p, "nothing");
    if (which < 390)
        return (size_t)sprintf(line, "%s", which & 1 ? "" : " \t ");
    if (which < 396)
        return (size_t)sprintf(line, "resource y%s 2", q);
    if (which == 396)
        return (size_t)sprintf(line, "request %s %300s", p, "far-too-long");
    if (which == 397)
        return (size_t)sprintf(line, "request p%0300u %s", 7, q);
    if (which == 398)
        return (size_t)sprintf(line, "wat %s %s", p, q);
    memcpy(line, "request \0 q", 11);
    return 11;
}

/* Whoever holds a resource gives it back; or somebody takes it. */
static size_t draw_calm(struct texts *texts, char *line)
{
    unsigned resource = (unsigned)random_below(&texts->random, texts->resources);
    unsigned process = (unsigned)random_below(&texts->random, texts->processes);
    unsigned *holder = &texts->holder[resource];
    const char *verb = *holder ? "release" : "request";
    char p[300], q[300];
    if (*holder)
        process = *holder - 1;
    *holder = *holder ? 0 : process + 1;
    return (size_t)sprintf(line, "%s %s %s", verb, draw_name(texts, 'p', process, p),
                           draw_name(texts, 'q', resource, q));
}

static size_t draw_line(struct texts *texts, char *line)
{
    static const char *const verbs[] = {"request", "request", "request", "release",
                                        "release", "release", "hold",    "wait"};
    char p[300], q[300];
    if (random_below(&texts->random, 100) < texts->odd)
        return draw_odd(texts, line);
    if (texts->calm && random_below(&texts->random, 100))
        return draw_calm(texts, line);
    return (size_t)sprintf(line, "%s %s %s", verbs[random_below(&texts->random, 8)],
                           a_process(texts, p), a_resource(texts, q));
}

static void add_line(struct texts *texts, const char *line, size_t length)
{
    memcpy(texts->plain + texts->plain_length, line, length);
    memcpy(texts->marked + texts->marked_length, line, length);
    texts->plain_length += length;
    texts->marked_length += length;
    texts->plain_length += (size_t)sprintf(texts->plain + texts->plain_length, "%s", texts->ending);
    texts->marked_length +=
        (size_t)sprintf(texts->marked + texts->marked_length, " #=%s", texts->ending);
}

static void draw_texts(struct texts *texts, uint64_t seed)
{
    static const unsigned widths[] = {0, 0, 1, 7, 8, 9, 15, 16, 17, 255};
    char line[2000], name[300];
    struct random *random = &texts->random;
    random_seed(random, seed);
    texts->plain_length = texts->marked_length = 0;
    texts->processes = 1 + (unsigned)random_below(random, seed % 3 ? MOST : 6);
    texts->resources = 1 + (unsigned)random_below(random, seed % 5 ? MOST : 6);
    texts->odd = seed % 4 ? (unsigned)random_below(random, 12) : 0;
    texts->width = widths[random_below(random, sizeof widths / sizeof *widths)];
    texts->ending = seed % 7 ? "\n" : "\r\n";
    texts->calm = random_below(random, 2);
    memset(texts->holder, 0, sizeof texts->holder);
    unsigned lines = (unsigned)random_below(random, texts->width == 255 ? 200 : 600);
    for (unsigned q = 0; q < texts->resources; q++)
        if (random_below(random, 20))
            add_line(texts, line,
                     (size_t)sprintf(line, "resource %s%s", draw_name(texts, 'q', q, name),
                                     seed % 6 ? "" : " 2"));
    for (unsigned i = 0; i < lines; i++)
        add_line(texts, line, draw_line(texts, line));
    if (seed % 2) /* a newline may lack */
        texts->plain_length -= strlen(texts->ending);
}

/* ---- replays */

struct replayed {
    struct pieces pieces;
    gordian_source source;
    gordian_system *system;
    gordian_replay *replay;
    gordian_error error;
};

static void open_replay(struct replayed *replayed, const char *text, size_t length, uint64_t seed)
{
    *replayed = (struct replayed){.pieces = {.text = text, .length = length}};
    replayed->pieces.most = seed % 3 ? TEXT_ROOM : 400;
    random_seed(&replayed->pieces.random, seed);
    replayed->source = (gordian_source){read_pieces, &replayed->pieces};
    gordian_status status = gordian_open(&replayed->system, NULL, NULL);
    REQUIRE(status == GORDIAN_OK);
    status = gordian_replay_open(&replayed->replay, replayed->system, &replayed->source, NULL);
    REQUIRE(status == GORDIAN_OK);
}

static void close_replay(struct replayed *replayed)
{
    gordian_replay_close(replayed->replay);
    gordian_close(replayed->system);
}

static bool is_stuck(const gordian_step *step)
{
    return step->result.outcome == GORDIAN_OUTCOME_DEADLOCK ||
           step->result.outcome == GORDIAN_OUTCOME_DOOMED;
}

static void same_step(const gordian_step *one, const gordian_step *other)
{
    CHECK_MSG(one->seq == other->seq && one->line == other->line && one->column == other->column,
              "event %llu: %llu:%llu instead of %llu:%llu", (unsigned long long)one->seq,
              (unsigned long long)one->line, (unsigned long long)one->column,
              (unsigned long long)other->line, (unsigned long long)other->column);
    CHECK(one->event.op == other->event.op && one->event.process == other->event.process &&
          one->event.resource == other->event.resource && one->event.to == other->event.to &&
          one->event.units == other->event.units &&
          one->event.want_count == other->event.want_count);
    CHECK(one->result.outcome == other->result.outcome &&
          one->result.refusal == other->result.refusal &&
          one->result.served_count == other->result.served_count);
    CHECK(strcmp(one->process, other->process) == 0);
    CHECK(!one->message == !other->message &&
          (!one->message || strcmp(one->message, other->message) == 0));
}

/* The next step the long way; whom it served are the first of `served`. */
static void same_next(struct replayed *slow, const gordian_step *step, const uint32_t *served)
{
    gordian_step expected;
    size_t count;
    gordian_status status = gordian_replay_next(slow->replay, &expected, &slow->error);
    REQUIRE(status == GORDIAN_OK);
    same_step(step, &expected);
    const uint32_t *others = gordian_served(slow->system, &count);
    CHECK(step->result.outcome == GORDIAN_OUTCOME_REFUSED || count == step->result.served_count);
    for (size_t i = 0; i < step->result.served_count; i++)
        CHECK(served[i] == others[i]);
}

static void same_dead(struct replayed *fast, struct replayed *slow)
{
    const uint32_t *one, *other;
    size_t count, others;
    REQUIRE(!gordian_deadlocked(fast->system, &one, &count, NULL));
    REQUIRE(!gordian_deadlocked(slow->system, &other, &others, NULL));
    REQUIRE(count == others);
    CHECK(count == 0 || memcmp(one, other, count * sizeof *one) == 0);
}

static void same_victims(struct replayed *fast, struct replayed *slow)
{
    gordian_victim one, other;
    gordian_status status;
    do {
        status = gordian_recover_one(fast->system, GORDIAN_POLICY_YOUNGEST, &one, NULL);
        gordian_status expected =
            gordian_recover_one(slow->system, GORDIAN_POLICY_YOUNGEST, &other, NULL);
        REQUIRE(status == expected);
        CHECK(status != GORDIAN_OK || one.process == other.process);
    } while (status == GORDIAN_OK);
}

/* The names change behind the replay's back. */
static void meddle(struct random *random, struct replayed *fast, struct replayed *slow)
{
    uint32_t process = (uint32_t)random_below(random, MOST), one, other;
    gordian_status status = gordian_exit(fast->system, process, NULL, NULL);
    gordian_status expected = gordian_exit(slow->system, process, NULL, NULL);
    REQUIRE(status == expected);
    status = gordian_remove_process(fast->system, process, NULL);
    expected = gordian_remove_process(slow->system, process, NULL);
    REQUIRE(status == expected);
    status = gordian_add_process(fast->system, "p1", &one, NULL);
    expected = gordian_add_process(slow->system, "p1", &other, NULL);
    REQUIRE(status == expected && (status != GORDIAN_OK || one == other));
}

/* ---- both */

/* None that follows one somebody should have looked at. */
static void check_end(const gordian_step *steps, size_t count, size_t room)
{
    CHECK(count > 0 && count <= room);
    for (size_t i = 0; i + 1 < count; i++)
        CHECK(!is_stuck(&steps[i]));
    for (size_t i = 0; i < count; i++)
        CHECK(steps[i].result.outcome != GORDIAN_OUTCOME_REFUSED || count == 1);
}

/* The most steps at once. */
static size_t same_replays(const struct texts *texts, uint64_t seed)
{
    struct replayed fast, slow;
    struct random random;
    gordian_step steps[STEP_ROOM];
    gordian_status status;
    size_t most = 0, count;
    open_replay(&fast, texts->plain, texts->plain_length, seed);
    open_replay(&slow, texts->marked, texts->marked_length, seed + 1);
    random_seed(&random, seed);
    for (;;) {
        size_t room = seed % 2 ? STEP_ROOM : 1 + random_below(&random, STEP_ROOM), served;
        status = random_below(&random, 20)
                     ? gordian_replay_many(fast.replay, steps, room, &count, &fast.error)
                     : gordian_replay_next(fast.replay, &steps[count = 0], &fast.error);
        if (status != GORDIAN_OK)
            break;
        count += count == 0;
        check_end(steps, count, room);
        most = count > most ? count : most;
        const uint32_t *list = gordian_served(fast.system, &served);
        for (size_t i = 0; i < count; list += steps[i++].result.served_count)
            same_next(&slow, &steps[i], list);
        if (is_stuck(&steps[count - 1])) {
            same_dead(&fast, &slow);
            if (seed % 3)
                same_victims(&fast, &slow);
        }
        if (seed % 4 == 1 && random_below(&random, 4) == 0)
            meddle(&random, &fast, &slow);
    }
    gordian_step last;
    gordian_status expected = gordian_replay_next(slow.replay, &last, &slow.error);
    REQUIRE(status == expected);
    if (status == GORDIAN_STATUS_INPUT)
        CHECK_MSG(fast.error.line == slow.error.line && fast.error.column == slow.error.column &&
                      strcmp(fast.error.message, slow.error.message) == 0,
                  "%s instead of %s", fast.error.message, slow.error.message);
    same_dead(&fast, &slow);
    CHECK(gordian_process_limit(fast.system) == gordian_process_limit(slow.system));
    close_replay(&fast);
    close_replay(&slow);
    return most;
}

static void random_traces(void)
{
    static struct texts texts;
    size_t most = 0;
    for (uint64_t seed = 0; seed < test_scaled(3000); seed++) {
        draw_texts(&texts, seed);
        size_t count = same_replays(&texts, seed);
        most = count > most ? count : most;
    }
    CHECK_MSG(most > 10, "never more than %zu steps at once", most);
}

/* A step for every kind of room, none too: nothing is lost. */
static void little_room(void)
{
    static const char text[] = "resource q\nrequest p q\nrelease p q\nrequest p q\n";
    struct replayed replayed;
    gordian_step step = {0};
    size_t count = 7;
    open_replay(&replayed, text, sizeof text - 1, 1);
    CHECK(gordian_replay_many(replayed.replay, NULL, 0, &count, NULL) == GORDIAN_OK && count == 0);
    for (uint64_t seq = 1; seq <= 3; seq++) {
        CHECK(gordian_replay_many(replayed.replay, &step, 1, &count, NULL) == GORDIAN_OK);
        CHECK(count == 1 && step.seq == seq && step.line == seq + 1 && step.column == 1);
    }
    CHECK(gordian_replay_many(replayed.replay, &step, 1, &count, NULL) == GORDIAN_STATUS_END);
    CHECK(count == 0);
    close_replay(&replayed);
}

/* Those that have exited are forgotten in time, and their names are new again. */
static void many_exits(void)
{
    struct replayed replayed;
    static char text[GORDIAN_LINGER * 70];
    gordian_step steps[STEP_ROOM];
    gordian_status status;
    size_t length = (size_t)sprintf(text, "resource q\n"), count;
    unsigned all = GORDIAN_LINGER + 1000;
    for (unsigned i = 0; i < all; i++) {
        length += (size_t)sprintf(text + length, "request p%u q\nrelease p%u q\n", i, i);
        if (i % 3 == 0) /* comes back, and is the last to go */
            length +=
                (size_t)sprintf(text + length, "exit p%u\nrequest p%u q\nrelease p%u q\n", i, i, i);
        length += (size_t)sprintf(text + length, "exit p%u\n", i);
    }
    REQUIRE(length < sizeof text);
    open_replay(&replayed, text, length, 1);
    do
        status = gordian_replay_many(replayed.replay, steps, STEP_ROOM, &count, NULL);
    while (status == GORDIAN_OK);
    CHECK(status == GORDIAN_STATUS_END);
    CHECK(gordian_find_process(replayed.system, "p0", 2) == GORDIAN_NONE);
    CHECK(gordian_find_process(replayed.system, "p2000", 5) != GORDIAN_NONE);
    CHECK(gordian_process_limit(replayed.system) <= GORDIAN_LINGER + 2);
    close_replay(&replayed);
}

int main(void)
{
    random_traces();
    little_room();
    many_exits();
    return test_done();
}
