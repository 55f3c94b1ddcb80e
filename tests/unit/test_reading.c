/* The text reader against one that looks at a byte at a time, on random and hostile texts; and the
 * short way of taking plain lines against the long one. */
#include "engines/detect/check/snapshot_text.h"
#include "foundation/base/io/reader.h"
#include "foundation/base/memory.h"
#include "foundation/base/random.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- a source that gives pieces of any size */

struct pieces {
    const char *text;
    size_t length, at;
    struct random random;
    bool whole; /* as much as is asked for */
};

static ptrdiff_t read_pieces(void *context, char *buffer, size_t size)
{
    struct pieces *pieces = context;
    size_t count = pieces->length - pieces->at;
    size_t most = pieces->whole ? size : 1 + random_below(&pieces->random, 300);
    count = count < most ? count : most;
    count = count < size ? count : size;
    memcpy(buffer, pieces->text + pieces->at, count);
    pieces->at += count;
    return (ptrdiff_t)count;
}

/* ---- what the reader is to say, a byte at a time */

struct slow {
    const char *text;
    size_t length, at;
    uint64_t line;
};

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

/* Does the line text[begin..end) read as the reader's? */
static void same_line(const struct slow *slow, size_t begin, size_t end,
                      const struct reader *reader)
{
    size_t count = 0;
    CHECK(reader->line == slow->line);
    for (size_t at = begin; at < end && slow->text[at] != '#';) {
        if (is_blank(slow->text[at])) {
            at++;
            continue;
        }
        size_t start = at;
        while (at < end && slow->text[at] != '#' && !is_blank(slow->text[at]))
            at++;
        REQUIRE(count < reader->word_count);
        const gordian_word *word = &reader->words[count++];
        CHECK(word->column == start - begin + 1 && word->length == at - start &&
              memcmp(word->text, slow->text + start, at - start) == 0);
        CHECK(reader->equals || !memchr(word->text, '=', word->length));
    }
    CHECK(count == reader->word_count);
}

/* The next line with words, or what is wrong with it. */
static gordian_status slow_next(struct slow *slow, size_t *begin, size_t *end, uint64_t *column)
{
    while (slow->at < slow->length) {
        const char *newline = memchr(slow->text + slow->at, '\n', slow->length - slow->at);
        *begin = slow->at;
        *end = newline ? (size_t)(newline - slow->text) : slow->length;
        slow->at = *end + 1;
        slow->line++;
        const char *nul = memchr(slow->text + *begin, '\0', *end - *begin);
        *column = nul ? (uint64_t)(nul - slow->text) - *begin + 1 : 0;
        if (nul)
            return GORDIAN_STATUS_INPUT;
        for (size_t i = *begin; i < *end && slow->text[i] != '#'; i++)
            if (!is_blank(slow->text[i]))
                return GORDIAN_OK;
    }
    return GORDIAN_STATUS_END;
}

static void same_text(const char *text, size_t length, uint64_t seed)
{
    struct slow slow = {.text = text, .length = length};
    struct pieces pieces = {.text = text, .length = length, .whole = seed % 2};
    gordian_allocator memory = memory_allocator(NULL);
    struct reader reader;
    gordian_error error = {0};
    random_seed(&pieces.random, seed);
    gordian_status status =
        reader_open(&reader, &(gordian_source){read_pieces, &pieces}, &memory, &error);
    REQUIRE(status == GORDIAN_OK);
    gordian_status expected;
    do {
        size_t begin = 0, end = 0;
        uint64_t column = 0;
        expected = slow_next(&slow, &begin, &end, &column);
        status = reader_next(&reader, &error);
        REQUIRE(status == expected);
        if (status == GORDIAN_OK)
            same_line(&slow, begin, end, &reader);
        if (status == GORDIAN_STATUS_INPUT)
            CHECK(error.line == slow.line && error.column == column);
    } while (expected == GORDIAN_OK);
    reader_close(&reader);
}

/* Bytes that matter, more or less often. */
static size_t random_text(struct random *random, char *text, size_t room)
{
    static const char bytes[] = "ab=c \t\r##\n\n xyz\x01\x7f\xff";
    size_t length = random_below(random, room);
    unsigned newlines = 1 + random_below(random, 200), nuls = random_below(random, 5);
    for (size_t i = 0; i < length; i++) {
        text[i] = bytes[random_below(random, sizeof bytes - 1)];
        if (text[i] == '#' && random_below(random, 3))
            text[i] = 'w';
        if (text[i] == '\n' && random_below(random, newlines))
            text[i] = ' ';
        if (nuls == 1 && random_below(random, 2000) == 0)
            text[i] = '\0';
    }
    return length;
}

static void random_texts(void)
{
    static char text[4096];
    for (uint64_t seed = 0; seed < test_scaled(20000); seed++) {
        struct random random;
        random_seed(&random, seed);
        same_text(text, random_text(&random, text, seed % 7 ? 600 : sizeof text), seed);
    }
}

/* Lines about as long as what is looked at ahead, and as the buffer; with many words and with few;
 * with a newline at the end and without. */
static void long_lines(void)
{
    static const size_t lengths[] = {63,    64,    65,     2047,   2048,  65535,
                                     65536, 65537, 131071, 131072, 400000};
    char *text = malloc(3 * 400000 + 64);
    REQUIRE(text);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (unsigned kind = 0; kind < 8; kind++) {
            size_t used = 0;
            for (unsigned line = 0; line < 3; line++) {
                for (size_t at = 0; at < lengths[i]; at++)
                    text[used++] = kind & 1 && at % 2 ? ' ' : 'x';
                text[used++] = '\n';
                if (kind & 2)
                    used += (size_t)sprintf(text + used, "a b # c\n");
            }
            same_text(text, used - (kind >> 2), i + kind);
        }
    free(text);
}

static void small_texts(void)
{
    static const char *const texts[] = {
        "", "\n", "a", "a\n", "\r\n", "a\r\nb c\r\n", "#", "# a", "a#", "a #=\nb", "\n\n\n a",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (uint64_t seed = 0; seed < 4; seed++)
            same_text(texts[i], strlen(texts[i]), seed);
    for (uint64_t seed = 0; seed < 4; seed++)
        same_text("a b\nc\0d\n", 8, seed);
}

/* ---- plain lines: with a '=' in a comment behind each, none is taken the short way */

static void add_line(struct random *random, char *line)
{
    static const char *const verbs[] = {"request", "request", "release", "release",
                                        "hold",    "wait",    "cancel",  "exit"};
    unsigned choice = random_below(random, 60);
    unsigned p = random_below(random, 12), q = random_below(random, 8),
             q2 = random_below(random, 9);
    if (choice == 0)
        sprintf(line, "resource q%u", q2 + 20 * (p % 9));
    else if (choice == 1)
        sprintf(line, "request p%u q%u q%u", p, q, q2);
    else if (choice == 2)
        sprintf(line, "release p%u q%u to p%u", p, q, q2);
    else if (choice == 3)
        sprintf(line, "  process p%u", p);
    else if (choice == 4 && random_below(random, 8) == 0)
        sprintf(line, "wat p%u q%u", p, q);
    else if (choice > 56)
        sprintf(line, "%s p%u", verbs[6 + q % 2], p);
    else
        sprintf(line, "%s%s p%u q%u", choice > 50 ? "\t" : "", verbs[random_below(random, 6)], p,
                q);
}

static void add_snapshot_line(struct random *random, char *line)
{
    unsigned choice = random_below(random, 100);
    unsigned p = random_below(random, 40), q = random_below(random, 300);
    if (choice < 60)
        sprintf(line, "resource q%u", q);
    else if (choice < 62)
        sprintf(line, "process p%u", p);
    else
        sprintf(line, "%s p%u q%u", choice < 70 ? "hold" : "wait", p, q);
}

struct texts {
    char plain[20000], marked[30000];
    size_t plain_length, marked_length;
};

/* The same lines twice. */
static void draw_texts(struct random *random, struct texts *texts, bool snapshot)
{
    texts->plain_length = texts->marked_length = 0;
    unsigned lines = random_below(random, snapshot ? 60 : 400);
    for (unsigned i = 0; i < lines + 8; i++) {
        char line[100];
        if (i < 8)
            sprintf(line, "resource q%u", snapshot ? 1000 + i : i);
        else
            (snapshot ? add_snapshot_line : add_line)(random, line);
        texts->plain_length += (size_t)sprintf(texts->plain + texts->plain_length, "%s\n", line);
        texts->marked_length +=
            (size_t)sprintf(texts->marked + texts->marked_length, "%s #=\n", line);
    }
}

struct replayed {
    gordian_bytes bytes;
    gordian_source source;
    gordian_system *system;
    gordian_replay *replay;
    gordian_step step;
    gordian_error error;
};

static void replay_open(struct replayed *replayed, const char *text, size_t length)
{
    *replayed = (struct replayed){.bytes = {text, length}};
    replayed->source = gordian_source_bytes(&replayed->bytes);
    gordian_status status = gordian_open(&replayed->system, NULL, NULL);
    REQUIRE(status == GORDIAN_OK);
    status = gordian_replay_open(&replayed->replay, replayed->system, &replayed->source, NULL);
    REQUIRE(status == GORDIAN_OK);
}

static void replay_close(struct replayed *replayed)
{
    gordian_replay_close(replayed->replay);
    gordian_close(replayed->system);
}

static void same_step(const gordian_step *one, const gordian_step *other)
{
    CHECK(one->seq == other->seq && one->line == other->line && one->column == other->column);
    CHECK(one->event.op == other->event.op && one->event.process == other->event.process &&
          one->event.resource == other->event.resource && one->event.to == other->event.to &&
          one->event.units == other->event.units);
    CHECK(one->result.outcome == other->result.outcome &&
          one->result.served_count == other->result.served_count);
    CHECK(strcmp(one->process, other->process) == 0);
    CHECK(strcmp(one->message ? one->message : "", other->message ? other->message : "") == 0);
}

static void same_error(const gordian_error *one, const gordian_error *other)
{
    CHECK_MSG(one->line == other->line && one->column == other->column &&
                  strcmp(one->message, other->message) == 0,
              "%s instead of %s", one->message, other->message);
}

static void same_replays(const struct texts *texts)
{
    struct replayed one, other;
    gordian_status status;
    replay_open(&one, texts->plain, texts->plain_length);
    replay_open(&other, texts->marked, texts->marked_length);
    do {
        status = gordian_replay_next(one.replay, &one.step, &one.error);
        gordian_status expected = gordian_replay_next(other.replay, &other.step, &other.error);
        REQUIRE(status == expected);
        if (status == GORDIAN_OK)
            same_step(&one.step, &other.step);
        if (status == GORDIAN_STATUS_INPUT)
            same_error(&one.error, &other.error);
    } while (status == GORDIAN_OK);
    replay_close(&one);
    replay_close(&other);
}

struct taken {
    gordian_snapshot *snapshot;
    gordian_names *names;
    gordian_error error;
    gordian_status status;
};

static void take_snapshot(struct taken *taken, const char *text, size_t length)
{
    gordian_bytes bytes = {text, length};
    gordian_source source = gordian_source_bytes(&bytes);
    *taken = (struct taken){0};
    taken->status =
        gordian_snapshot_read(&taken->snapshot, &taken->names, &source, NULL, &taken->error);
}

static void same_report(const struct taken *one, const struct taken *other)
{
    gordian_report left, right;
    CHECK(gordian_snapshot_check(one->snapshot, &left, NULL) == GORDIAN_OK);
    CHECK(gordian_snapshot_check(other->snapshot, &right, NULL) == GORDIAN_OK);
    REQUIRE(left.deadlocked_count == right.deadlocked_count);
    for (size_t i = 0; i < left.deadlocked_count; i++)
        CHECK(left.deadlocked[i] == right.deadlocked[i]);
    uint32_t processes = gordian_snapshot_processes(one->snapshot);
    uint32_t resources = gordian_snapshot_resources(one->snapshot);
    CHECK(processes == gordian_snapshot_processes(other->snapshot));
    CHECK(resources == gordian_snapshot_resources(other->snapshot));
    for (uint32_t p = 0; p < processes; p++)
        CHECK(strcmp(gordian_names_process(one->names, p),
                     gordian_names_process(other->names, p)) == 0);
    for (uint32_t q = 0; q < resources; q++)
        CHECK(strcmp(gordian_names_resource(one->names, q),
                     gordian_names_resource(other->names, q)) == 0);
}

static void same_snapshots(const struct texts *texts)
{
    struct taken one, other;
    take_snapshot(&one, texts->plain, texts->plain_length);
    take_snapshot(&other, texts->marked, texts->marked_length);
    REQUIRE(one.status == other.status);
    if (one.status == GORDIAN_OK)
        same_report(&one, &other);
    else
        same_error(&one.error, &other.error);
    gordian_snapshot_close(one.snapshot);
    gordian_names_close(one.names);
    gordian_snapshot_close(other.snapshot);
    gordian_names_close(other.names);
}

static void plain_lines(void)
{
    static struct texts texts;
    for (uint64_t seed = 0; seed < test_scaled(4000); seed++) {
        struct random random;
        random_seed(&random, seed);
        draw_texts(&random, &texts, false);
        same_replays(&texts);
        draw_texts(&random, &texts, true);
        same_snapshots(&texts);
    }
}

/* ---- many threads */

/* Resources, each held once at most, and processes that wait once at most, in any order that works;
 * sometimes a line that spoils it. */
static size_t draw_plain(struct random *random, char *text, bool *spoiled)
{
    unsigned count = 1 + (unsigned)random_below(random, 60);
    unsigned names = random_below(random, 2) ? 1000000000 : 1;
    size_t used = 0;
    *spoiled = random_below(random, 4) == 0;
    unsigned spoil = *spoiled ? (unsigned)random_below(random, count) : count;
    for (unsigned i = 0; i < count; i++) {
        unsigned resource = i * names, process = (i * 7 + 3) % count;
        used += (size_t)sprintf(text + used, "%sresource q%u\n", i % 9 ? "" : "# so\n\n", resource);
        if (random_below(random, 3))
            used += (size_t)sprintf(text + used, "hold p%u q%u\n", process, resource);
        if (random_below(random, 3))
            used += (size_t)sprintf(text + used, "\twait p%u  q%u \r\n", i,
                                    (unsigned)random_below(random, i + 1) * names);
        static const char *const spoils[] = {
            "resource q0",  "wait p0 nowhere", "hold p0 q0\nhold p1 q0", "resource r 2",
            "request p q0", "process pz",      "wait pz q0\nwait pz q0"};
        if (i == spoil)
            used += (size_t)sprintf(text + used, "%s\n", spoils[random_below(random, 7)]);
    }
    return used - random_below(random, 2); /* the last newline may lack */
}

static gordian_status take_parallel(struct taken *taken, int fd, size_t length, unsigned threads,
                                    size_t piece)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct source_file file = {fd, 0, length};
    *taken = (struct taken){0};
    gordian_status status = gordian_snapshot_open(&taken->snapshot, NULL, NULL);
    taken->names = memory_zeroed(&memory, sizeof *taken->names);
    REQUIRE(status == GORDIAN_OK && taken->names);
    taken->names->memory = memory;
    names_init(&taken->names->processes, &memory);
    names_init(&taken->names->resources, &memory);
    sharded_interner_init(&taken->names->process_interner, &memory);
    sharded_interner_init(&taken->names->resource_interner, &memory);
    return snapshot_read_parallel(taken->snapshot, taken->names, &file,
                                  &(struct snapshot_split){threads, piece}, &memory);
}

static void close_taken(struct taken *taken)
{
    gordian_snapshot_close(taken->snapshot);
    gordian_names_close(taken->names);
}

static void parallel_reading(void)
{
    static char text[20000];
    FILE *file = tmpfile();
    REQUIRE(file);
    for (uint64_t seed = 0; seed < test_scaled(300); seed++) {
        struct random random;
        struct taken one, many;
        bool spoiled;
        random_seed(&random, seed);
        size_t length = draw_plain(&random, text, &spoiled);
        REQUIRE(ftruncate(fileno(file), 0) == 0 &&
                pwrite(fileno(file), text, length, 0) == (ssize_t)length);
        take_snapshot(&one, text, length);
        gordian_status status = take_parallel(&many, fileno(file), length, 1 + seed % 5,
                                              1 + random_below(&random, 300));
        CHECK(status == (spoiled ? GORDIAN_STATUS_END : GORDIAN_OK));
        if (status == GORDIAN_OK)
            same_report(&one, &many);
        else
            CHECK(gordian_snapshot_processes(many.snapshot) == 0);
        close_taken(&one);
        close_taken(&many);
    }
    fclose(file);
}

/* A file that is shorter than it was: not read by many, and one thread finds its end. */
static void shrunk_file(void)
{
    FILE *file = tmpfile();
    struct taken many;
    REQUIRE(file && fputs("resource a\nresource b\n", file) >= 0 && fflush(file) == 0);
    CHECK(take_parallel(&many, fileno(file), 1000, 2, 64) == GORDIAN_STATUS_END);
    close_taken(&many);
    fclose(file);
}

int main(void)
{
    small_texts();
    random_texts();
    long_lines();
    plain_lines();
    parallel_reading();
    shrunk_file();
    return test_done();
}
