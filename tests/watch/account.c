/* What a source (sources/watch/graph/source.h) spends on questions, with a server and a clock that
 * are made up: a calm time, then a storm in which each look takes 400 ms. Neither may the questions
 * take more than a small share of the time, nor may the looks be far apart. */
#include "sources/watch/graph/source.h"
#include "test.h"

#include <poll.h>
#include <stdio.h>

#define MILLISECOND UINT64_C(1000000)
#define SECOND      (1000 * MILLISECOND)

static void close_fake(struct connection *connection)
{
    (void)connection;
}

static enum driver_progress ask_fake(struct connection *connection, const char *sql)
{
    (void)connection;
    (void)sql;
    return DRIVER_BUSY;
}

static enum driver_progress go_on_fake(struct connection *connection, short revents)
{
    (void)connection;
    (void)revents;
    return DRIVER_READY;
}

static void wants_fake(const struct connection *connection, int *fd, short *events)
{
    (void)connection;
    *fd = -1;
    *events = 0;
}

static const char *value_fake(const struct connection *connection, size_t row, unsigned column)
{
    (void)connection;
    (void)row;
    (void)column;
    return NULL;
}

static const struct driver driver_fake = {
    .kind = "fake",
    .close = close_fake,
    .hang_up = close_fake,
    .ask = ask_fake,
    .go_on = go_on_fake,
    .wants = wants_fake,
    .value = value_fake,
};

static struct connection fake = {.driver = &driver_fake};

static void write_gate(const struct server_facts *facts, struct output *sql)
{
    (void)facts;
    output_text(sql, "gate");
}

static void write_part(unsigned part, const struct server_facts *facts, const struct scan *scan,
                       struct output *sql)
{
    (void)part;
    (void)facts;
    (void)scan;
    output_text(sql, "part");
}

static void read_part(unsigned part, const struct server_facts *facts,
                      const struct connection *answer, struct scan *scan)
{
    (void)part;
    (void)facts;
    (void)answer;
    (void)scan;
}

static const struct dialect dialect_fake = {
    .kind = "fake",
    .parts = 1,
    .gate = write_gate,
    .part = write_part,
    .read = read_part,
};

/* ------------------------------------------------------------------ time passes */

struct spell {
    uint64_t looks, longest; /* between the answers of two looks */
};

/* Lets time pass; each look takes `takes_ns` and has this many rows. */
static struct spell pass_time(struct source *source, uint64_t *now, uint64_t for_ns,
                              uint64_t takes_ns, size_t rows)
{
    struct spell spell = {0};
    uint64_t end = *now + for_ns, last = *now, before = source->looks;
    while (*now < end) {
        bool scanning = source->state == SOURCE_SCANNING;
        bool busy = scanning || source->state == SOURCE_GATE;
        if (busy)
            *now += scanning ? takes_ns : MILLISECOND / 4;
        else if (source->due > *now)
            *now = source->due;
        fake.rows = rows;
        source_step(source, busy ? POLLIN : 0, *now);
        if (source->looks > before + spell.looks) {
            spell.looks++;
            spell.longest = *now - last > spell.longest ? *now - last : spell.longest;
            last = *now;
        }
    }
    spell.longest = *now - last > spell.longest ? *now - last : spell.longest;
    return spell;
}

static struct source *open_source(const struct source_pace *pace)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct source *source = source_new(pace, &memory);
    REQUIRE(source);
    source->driver = &driver_fake;
    source->dialect = &dialect_fake;
    source->connection = &fake;
    source->state = SOURCE_RESTING;
    return source;
}

static void test_storm(bool calm_first)
{
    const struct source_pace pace = {.interval_ns = 200 * MILLISECOND, .patience_ns = 10 * SECOND};
    struct source *source = open_source(&pace);
    uint64_t now = SECOND;
    if (calm_first)
        pass_time(source, &now, 20 * SECOND, 2 * MILLISECOND, 3);
    uint64_t before = source->spent_ns;
    struct spell first = pass_time(source, &now, 20 * SECOND, 400 * MILLISECOND, 1500);
    uint64_t spent = source->spent_ns - before;
    printf("%s: %llu looks, %.1f s of questions in 20 s, %.1f s apart at most\n",
           calm_first ? "a storm after a calm" : "a storm at once", (unsigned long long)first.looks,
           (double)spent / 1e9, (double)first.longest / 1e9);
    CHECK(first.looks >= 3);
    CHECK(spent <= 3 * SECOND);
    CHECK(first.longest <= 6 * SECOND);
    struct spell after = pass_time(source, &now, 20 * SECOND, 2 * MILLISECOND, 3);
    CHECK(after.looks >= 20);
    source_close(source);
}

int main(void)
{
    test_storm(false);
    test_storm(true);
    return test_done();
}
