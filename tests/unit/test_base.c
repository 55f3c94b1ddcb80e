/* The base: names, sorting, the nearest word, random numbers, output, JSON, the text reader. */
#include "alloc/failing.h"
#include "foundation/base/io/output.h"
#include "foundation/base/io/reader.h"
#include "foundation/base/io/temporary.h"
#include "foundation/base/json/json_write.h"
#include "foundation/base/memory.h"
#include "foundation/base/names/interner.h"
#include "foundation/base/nearest.h"
#include "foundation/base/random.h"
#include "foundation/base/sort.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* ---- names */

static void name_of(uint32_t number, char name[300])
{
    /* every length from 1 up, and many that share a long beginning or end */
    switch (number % 4) {
    case 0:
        snprintf(name, 300, "%x", number);
        break;
    case 1:
        snprintf(name, 300, "process-with-a-long-name-%u", number);
        break;
    case 2:
        snprintf(name, 300, "%u-at-the-end", number);
        break;
    default:
        snprintf(name, 300, "%0*u", (int)(number % GORDIAN_NAME_MAX) + 1, number);
    }
}

static void names_basics(void)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct names names;
    names_init(&names, &memory);
    CHECK(names_find(&names, "p", 1) == GORDIAN_NONE);
    CHECK(strcmp(names_text(&names, 7), "") == 0);
    names_drop(&names, 7);
    CHECK(names_put(&names, 7, "p7 and more", 2));
    CHECK(names_find(&names, "p7", 2) == 7);
    CHECK(names_find(&names, "p7 ", 3) == GORDIAN_NONE);
    CHECK(names_find(&names, "p", 1) == GORDIAN_NONE);
    CHECK(names_find(&names, "p7\0", 3) == GORDIAN_NONE);
    CHECK(names_find(&names, "", 0) == GORDIAN_NONE);
    CHECK(strcmp(names_text(&names, 7), "p7") == 0);
    CHECK(strcmp(names_text(&names, 6), "") == 0);
    char longest[GORDIAN_NAME_MAX + 1];
    memset(longest, 'x', sizeof longest);
    CHECK(names_put(&names, 0, longest, GORDIAN_NAME_MAX));
    CHECK(names_find(&names, longest, GORDIAN_NAME_MAX) == 0);
    CHECK(names_find(&names, longest, GORDIAN_NAME_MAX + 1) == GORDIAN_NONE);
    CHECK(strlen(names_text(&names, 0)) == GORDIAN_NAME_MAX);
    names_drop(&names, 0);
    CHECK(names_find(&names, longest, GORDIAN_NAME_MAX) == GORDIAN_NONE);
    names_drop(&names, 0);
    CHECK(names_find(&names, "p7", 2) == 7);
    names_free(&names);
    CHECK(names_find(&names, "p7", 2) == GORDIAN_NONE);
}

/* Random puts and drops against a plain array: which id has which number's name. */
static void names_against_array(uint64_t seed)
{
    enum { IDS = 3000, STEPS = 100000 };
    static uint32_t number_of[IDS]; /* 0: no name */
    static uint32_t id_of[2 * IDS];
    struct random random;
    random_seed(&random, seed);
    gordian_allocator memory = memory_allocator(NULL);
    struct names names;
    names_init(&names, &memory);
    memset(number_of, 0, sizeof number_of);
    memset(id_of, 0xff, sizeof id_of);
    char name[300];
    for (int step = 0; step < STEPS; step++) {
        uint32_t id = (uint32_t)random_below(&random, IDS);
        uint32_t number = 1 + (uint32_t)random_below(&random, 2 * IDS - 1);
        name_of(number, name);
        CHECK(names_find(&names, name, strlen(name)) == id_of[number]);
        if (number_of[id]) {
            name_of(number_of[id], name);
            CHECK(strcmp(names_text(&names, id), name) == 0);
            names_drop(&names, id);
            id_of[number_of[id]] = GORDIAN_NONE;
            number_of[id] = 0;
        } else if (id_of[number] == GORDIAN_NONE) {
            CHECK(names_put(&names, id, name, strlen(name)));
            number_of[id] = number;
            id_of[number] = id;
        }
    }
    for (uint32_t number = 1; number < 2 * IDS; number++) {
        name_of(number, name);
        CHECK(names_find(&names, name, strlen(name)) == id_of[number]);
    }
    names_free(&names);
}

/* Ever new names in bounded memory, as long as old ones go. */
static void names_are_recycled(void)
{
    enum { LIVE = 1000 };
    gordian_allocator memory = memory_allocator(NULL);
    struct names names;
    names_init(&names, &memory);
    char name[32];
    size_t room = 0;
    for (uint32_t i = 0; i < 300000; i++) {
        names_drop(&names, i % LIVE);
        int length = snprintf(name, sizeof name, "worker-%07u", i);
        CHECK(names_put(&names, i % LIVE, name, (size_t)length));
        if (i == 10000)
            room = names.text_room;
    }
    CHECK(names.text_room == room);
    CHECK(names.table.used == LIVE);
    names_free(&names);
}

/* Many names, no removal: none lost, and little memory beside the text itself. */
static void names_many(void)
{
    enum { COUNT = 300000 };
    gordian_allocator memory = memory_allocator(NULL);
    struct names names;
    names_init(&names, &memory);
    char name[32];
    for (uint32_t i = 0; i < COUNT; i++) {
        int length = snprintf(name, sizeof name, "p%u", i);
        CHECK(names_put(&names, i, name, (size_t)length));
    }
    unsigned wrong = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        int length = snprintf(name, sizeof name, "p%u", i);
        wrong += names_find(&names, name, (size_t)length) != i;
        wrong += strcmp(names_text(&names, i), name) != 0;
    }
    CHECK(wrong == 0);
    CHECK(names.table.slot_count * sizeof *names.table.slots <= 11u * COUNT);
    CHECK(names.text_used <= 16u * COUNT + 8);
    names_free(&names);
}

static void names_reserved(void)
{
    enum { COUNT = 1000 };
    struct failing failing = {.for_good = true};
    gordian_allocator memory = {failing_resize, &failing};
    struct names names;
    names_init(&names, &memory);
    CHECK(names_reserve(&names, COUNT, COUNT * 5));
    failing.fail_at = failing.calls + 1;
    char name[8];
    for (uint32_t i = 0; i < COUNT; i++) {
        int length = snprintf(name, sizeof name, "p%04u", i);
        CHECK(names_put(&names, i, name, (size_t)length));
    }
    CHECK(names_find(&names, "p0999", 5) == 999);
    CHECK(!names_put(&names, COUNT * 100, "new", 3));
    CHECK(names_find(&names, "new", 3) == GORDIAN_NONE);
    names_free(&names);
    CHECK(failing.live_blocks == 0);
}

/* Every allocation fails once: nothing changes, nothing leaks. */
static void names_out_of_memory(void)
{
    char name[300];
    for (size_t fail_at = 1;; fail_at++) {
        struct failing failing = {.fail_at = fail_at, .for_good = true};
        gordian_allocator memory = {failing_resize, &failing};
        struct names names;
        names_init(&names, &memory);
        bool failed = false;
        for (uint32_t i = 1; i < 500; i++) {
            name_of(i, name);
            if (names_put(&names, i, name, strlen(name)))
                continue;
            failed = true;
            CHECK(names_find(&names, name, strlen(name)) == GORDIAN_NONE);
            CHECK(names.table.used == i - 1);
            failing.fail_at = 0;
            CHECK(names_put(&names, i, name, strlen(name)));
        }
        for (uint32_t i = 1; i < 500; i++) {
            name_of(i, name);
            CHECK(names_find(&names, name, strlen(name)) == i);
        }
        names_free(&names);
        CHECK(failing.live_blocks == 0);
        if (!failed)
            break;
    }
}

static void names_validity(void)
{
    const char *why;
    char longest[GORDIAN_NAME_MAX + 1];
    memset(longest, 'n', sizeof longest);
    CHECK(names_valid("p", 1, &why) && !why);
    CHECK(names_valid("\xc3\xa9t\xc3\xa9:/.-+'\"", 12, &why));
    CHECK(names_valid(longest, GORDIAN_NAME_MAX, &why));
    CHECK(!names_valid(longest, GORDIAN_NAME_MAX + 1, &why) && strstr(why, "255"));
    CHECK(!names_valid("", 0, &why) && strstr(why, "empty"));
    CHECK(!names_valid("a b", 3, &why) && strstr(why, "blank"));
    CHECK(!names_valid("a\n", 2, &why) && strstr(why, "blank"));
    CHECK(!names_valid("a#b", 3, &why) && strstr(why, "'#'"));
    CHECK(!names_valid("a=b", 3, &why) && strstr(why, "'='"));
    CHECK(!names_valid("a\0b", 3, &why) && strstr(why, "NUL"));
}

/* ---- sorting */

enum { SORTED_MAX = 5000, SORTED_WORDS = 3 };

struct sortable {
    uint64_t key;
    uint64_t place; /* where it was */
};

static bool key_before(const void *context, const void *left, const void *right)
{
    (void)context;
    return ((const struct sortable *)left)->key < ((const struct sortable *)right)->key;
}

/* `context`: how often it was called. */
static int compare_keys(const void *left, const void *right, void *context)
{
    uint64_t a = ((const struct sortable *)left)->key, b = ((const struct sortable *)right)->key;
    ++*(unsigned *)context;
    return (a > b) - (a < b);
}

static void check_sorted(const struct sortable *list, size_t count, uint64_t sum, bool stable)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < count; i++) {
        sum -= list[i].key * (list[i].place + 1);
        wrong += i > 0 && list[i - 1].key > list[i].key;
        wrong +=
            stable && i > 0 && list[i - 1].key == list[i].key && list[i - 1].place > list[i].place;
    }
    CHECK_MSG(wrong == 0 && sum == 0, "%zu records", count);
}

/* The same records in every way there is; `mask` makes some keys equal. */
static void sort_records(size_t count, uint64_t mask, struct random *random)
{
    static struct sortable list[SORTED_MAX], other[SORTED_MAX], spare[SORTED_MAX];
    uint64_t sum = 0;
    unsigned calls = 0;
    for (size_t i = 0; i < count; i++) {
        list[i] = (struct sortable){random_next(random) & mask, i};
        sum += list[i].key * (i + 1);
    }
    memcpy(other, list, sizeof list);
    sort_in_place(other, count, sizeof *other, key_before, NULL);
    check_sorted(other, count, sum, false);
    memcpy(other, list, sizeof list);
    sort_with(other, count, sizeof *other, compare_keys, &calls);
    check_sorted(other, count, sum, false);
    CHECK(count < 2 || calls > 0);
    check_sorted(sort_by_number(list, spare, count), count, sum, true);
}

static void sort_numbers(size_t count, size_t words, uint64_t mask, struct random *random)
{
    static uint64_t list[SORTED_MAX * SORTED_WORDS];
    uint64_t sum = 0;
    unsigned wrong = 0;
    for (size_t i = 0; i < count * words; i++)
        sum += list[i] = random_next(random) & mask;
    sort_words(list, count, words);
    for (size_t i = 0; i < count; i++) {
        const uint64_t *now = list + i * words, *before = now - words;
        size_t w = words - 1;
        while (i > 0 && w > 0 && before[w] == now[w])
            w--;
        wrong += i > 0 && before[w] > now[w];
        for (w = 0; w < words; w++)
            sum -= now[w];
    }
    CHECK_MSG(wrong == 0 && sum == 0, "%zu numbers of %zu words", count, words);
}

static void sorting(void)
{
    static const size_t counts[] = {0, 1, 2, 3, 31, 32, 33, 1000, SORTED_MAX};
    static const uint64_t masks[] = {0, 7, 0xff00, UINT32_MAX, UINT64_MAX};
    struct random random;
    random_seed(&random, 1);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (size_t m = 0; m < sizeof masks / sizeof *masks; m++) {
            sort_records(counts[c], masks[m], &random);
            for (size_t words = 1; words <= SORTED_WORDS; words++)
                sort_numbers(counts[c], words, masks[m], &random);
        }
}

/* ---- the nearest word */

static const char *nearest_of(const char *typed)
{
    static const char *const words[] = {"request", "release", "cancel", "exit"};
    struct nearest nearest = {.typed = typed, .length = strlen(typed)};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        nearest_offer(&nearest, words[i]);
    const char *found = nearest_found(&nearest);
    return found ? found : "";
}

static void nearest_words(void)
{
    CHECK(strcmp(nearest_of("reqeust"), "request") == 0);
    CHECK(strcmp(nearest_of("relase"), "release") == 0);
    CHECK(strcmp(nearest_of("exits"), "exit") == 0);
    CHECK(strcmp(nearest_of("xeit"), "exit") == 0);
    CHECK(strcmp(nearest_of("philosopher"), "") == 0);
    CHECK(strcmp(nearest_of(""), "") == 0);
    CHECK(strcmp(nearest_of("a-word-that-is-longer-than-forty-characters"), "") == 0);
}

/* ---- random numbers */

static void random_numbers(void)
{
    struct random random;
    random_seed(&random, 0);
    CHECK(random.state[0] == UINT64_C(0xe220a8397b1dcdaf)); /* splitmix64's published start */
    CHECK(random_next(&random) == UINT64_C(0x99ec5f36cb75f2b4));
    random.state[0] = 1, random.state[1] = 2, random.state[2] = 3, random.state[3] = 4;
    CHECK(random_next(&random) == 11520); /* xoshiro256**'s published reference */
    CHECK(random_next(&random) == 0);
    CHECK(random_next(&random) == 1509978240);

    unsigned seen[6] = {0}, chances = 0;
    for (int i = 0; i < 60000; i++) {
        uint64_t value = random_below(&random, 6);
        REQUIRE(value < 6);
        seen[value]++;
        chances += random_chance(&random, 30) != 0;
    }
    for (int i = 0; i < 6; i++)
        CHECK_MSG(seen[i] > 9500 && seen[i] < 10500, "%d came %u times", i, seen[i]);
    CHECK_MSG(chances > 17400 && chances < 18600, "%u", chances);
    CHECK(random_below(&random, 1) == 0);
    CHECK(!random_chance(&random, 0) && random_chance(&random, 100));
    /* a bound above half the range draws again often: no value may fall outside */
    for (int i = 0; i < 1000; i++)
        CHECK(random_below(&random, (UINT64_C(1) << 63) + 1) <= UINT64_C(1) << 63);
}

/* ---- output */

static bool collected(const struct output *out, const char *text)
{
    return out->used == strlen(text) && memcmp(out->buffer, text, out->used) == 0;
}

static void output_in_memory(void)
{
    struct output out;
    bool opened = output_open(&out, -1);
    REQUIRE(opened);
    output_text(&out, "a");
    output_char(&out, ' ');
    output_u64(&out, 0);
    output_char(&out, ' ');
    output_u64(&out, UINT64_MAX);
    output_char(&out, ' ');
    output_i64(&out, INT64_MIN);
    output_bytes(&out, " xyz", 2);
    output_format(&out, "[%5s|%d]", "b", -7);
    CHECK(collected(&out, "a 0 18446744073709551615 -9223372036854775808 x[    b|-7]"));
    out.used = 0;
    for (int i = 0; i < 100000; i++)
        output_format(&out, "%d,", i % 10);
    CHECK(out.used == 200000 && out.buffer[199999] == ',' && out.buffer[199998] == '9');
    CHECK(output_close(&out) && out.failure == 0);
}

static void output_to_file(void)
{
    char path[PATH_MAX];
    int fd;
    REQUIRE(temporary_file("gordian-test", "", path, sizeof path, &fd, NULL) == GORDIAN_OK);
    unlink(path);
    struct output out;
    bool opened = output_open(&out, fd);
    REQUIRE(opened);
    static char large[200000];
    memset(large, 'L', sizeof large);
    output_text(&out, "first ");
    output_bytes(&out, large, sizeof large);
    output_format(&out, "%.*s", 150000, large);
    for (int i = 0; i < 50000; i++)
        output_u64(&out, 1234);
    CHECK(output_close(&out));
    off_t expected = 6 + 200000 + 150000 + 200000;
    CHECK(lseek(fd, 0, SEEK_END) == expected);
    char end[8] = "";
    CHECK(pread(fd, end, 4, expected - 4) == 4 && strcmp(end, "1234") == 0);
    CHECK(pread(fd, end, 7, 0) == 7 && memcmp(end, "first L", 7) == 0);
    close(fd);
}

static void output_failing(void)
{
    struct output out;
    int full = open("/dev/full", O_WRONLY);
    if (full >= 0) {
        bool full_opened = output_open(&out, full);
        REQUIRE(full_opened);
        output_text(&out, "lost");
        CHECK(!output_flush(&out) && out.failure == ENOSPC);
        output_text(&out, "dropped");
        CHECK(!output_close(&out) && out.failure == ENOSPC);
        close(full);
    }
    int closed = dup(2);
    close(closed);
    bool opened = output_open(&out, closed);
    REQUIRE(opened);
    for (int i = 0; i < 100000; i++)
        output_text(&out, "lost");
    output_format(&out, "%d", 7);
    CHECK(!output_close(&out) && out.failure == EBADF);
}

/* ---- JSON */

static void json_lines(void)
{
    struct output out;
    struct json json;
    bool opened = output_open(&out, -1);
    REQUIRE(opened);
    json_begin(&json, &out);
    json_key_text(&json, "op", "request");
    json_key_u64(&json, "seq", UINT64_MAX);
    json_key_i64(&json, "low", -5);
    json_open(&json, "names", '[');
    json_text(&json, "p0");
    json_u64(&json, 7);
    json_open(&json, NULL, '{');
    json_key_bool(&json, "yes", true);
    json_shut(&json);
    json_open(&json, NULL, '[');
    json_shut(&json);
    json_shut(&json);
    json_key_number(&json, "ratio", 0.125);
    json_key_number(&json, "nan", NAN);
    json_key_number(&json, "inf", INFINITY);
    json_key_null(&json, "none");
    json_open(&json, "left", '{');
    json_open(&json, "open", '[');
    json_end(&json);
    json_begin(&json, &out);
    json_name_u64(&json, "a\"b", 3);
    json_name_u64(&json, "\xff", 0);
    json_end(&json);
    CHECK(collected(&out, "{\"op\":\"request\",\"seq\":18446744073709551615,\"low\":-5,"
                          "\"names\":[\"p0\",7,{\"yes\":true},[]],\"ratio\":0.125,\"nan\":null,"
                          "\"inf\":null,\"none\":null,\"left\":{\"open\":[]}}\n"
                          "{\"a\\\"b\":3,\"\xef\xbf\xbd\":0}\n"));
    output_close(&out);
}

static void json_string_is(const char *text, const char *expected)
{
    struct output out;
    struct json json;
    char line[200];
    bool opened = output_open(&out, -1);
    REQUIRE(opened);
    json_begin(&json, &out);
    json_key_text(&json, "t", text);
    json_end(&json);
    snprintf(line, sizeof line, "{\"t\":\"%s\"}\n", expected);
    CHECK_MSG(collected(&out, line), "%.*s", (int)out.used, out.buffer);
    output_close(&out);
}

#define FFFD "\xef\xbf\xbd"

static void json_strings(void)
{
    json_string_is("", "");
    json_string_is("a\"b\\c/", "a\\\"b\\\\c/");
    json_string_is("\n\t\r\b\f\x01\x1f\x7f", "\\n\\t\\r\\b\\f\\u0001\\u001f\x7f");
    json_string_is("\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x92", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x92");
    json_string_is("a\xff"
                   "b",
                   "a" FFFD "b");
    json_string_is("\xc3", FFFD); /* cut short */
    json_string_is("\xe2\x82", FFFD FFFD);
    json_string_is("\xc0\xaf", FFFD FFFD); /* overlong */
    json_string_is("\xe0\x80\x80", FFFD FFFD FFFD);
    json_string_is("\xed\xa0\x80", FFFD FFFD FFFD);         /* a surrogate */
    json_string_is("\xed\x9f\xbf", "\xed\x9f\xbf");         /* just below them */
    json_string_is("\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"); /* U+10FFFF */
    json_string_is("\xf4\x90\x80\x80", FFFD FFFD FFFD FFFD);
    json_string_is("\xf0\x8f\xbf\xbf", FFFD FFFD FFFD FFFD);
}

/* ---- the reader */

struct text_source {
    const char *text;
    size_t length, at;
    size_t piece;   /* bytes a read gives at most */
    int fail_errno; /* at the end: fail instead */
};

static ptrdiff_t read_text(void *context, char *buffer, size_t size)
{
    struct text_source *source = context;
    size_t count = source->length - source->at;
    if (count == 0 && source->fail_errno) {
        errno = source->fail_errno;
        return -1;
    }
    if (count > size)
        count = size;
    if (count > source->piece)
        count = source->piece;
    memcpy(buffer, source->text + source->at, count);
    source->at += count;
    return (ptrdiff_t)count;
}

static void open_text(struct reader *reader, struct text_source *text)
{
    gordian_allocator memory = memory_allocator(NULL);
    gordian_source source = {read_text, text};
    gordian_status status = reader_open(reader, &source, &memory, NULL);
    REQUIRE(status == GORDIAN_OK);
}

/* Lines as "line:column:word column:word ...;" joined. */
static void reads_as(const char *text, size_t length, const char *expected)
{
    for (size_t piece = 1; piece <= length + 1; piece++) {
        struct text_source source = {.text = text, .length = length, .piece = piece};
        struct reader reader;
        char got[1000];
        size_t used = 0;
        gordian_error error;
        open_text(&reader, &source);
        while (reader_next(&reader, &error) == GORDIAN_OK) {
            used += (size_t)sprintf(got + used, "%d:", (int)reader.line);
            for (size_t i = 0; i < reader.word_count; i++)
                used += (size_t)sprintf(got + used, "%u:%.*s ", reader.words[i].column,
                                        (int)reader.words[i].length, reader.words[i].text);
            got[used - 1] = ';';
        }
        got[used] = '\0';
        CHECK_MSG(strcmp(got, expected) == 0, "pieces of %zu: %s", piece, got);
        CHECK(reader_next(&reader, &error) == GORDIAN_STATUS_END);
        reader_close(&reader);
    }
}

static void reader_words(void)
{
    reads_as("", 0, "");
    reads_as("\n\n", 2, "");
    reads_as("# only\n \t\r\n#", 12, "");
    reads_as("a", 1, "1:1:a;");
    reads_as("a b\n", 4, "1:1:a 3:b;");
    reads_as("\n  a\t\tbc \r\n", 11, "2:3:a 6:bc;");
    reads_as("a#b c\nd # e\n#f\ng", 16, "1:1:a;2:1:d;4:1:g;");
    reads_as("q=3 \xc3\xa9", 6, "1:1:q=3 5:\xc3\xa9;");
    reads_as("a\r\nb\r\n\r\n", 8, "1:1:a;2:1:b;");
}

static void fails_as(const char *text, size_t length, gordian_status status, uint64_t line,
                     uint64_t column, const char *message)
{
    struct text_source source = {.text = text,
                                 .length = length,
                                 .piece = 7,
                                 .fail_errno = status == GORDIAN_STATUS_IO ? EIO : 0};
    struct reader reader;
    gordian_error error = {0};
    gordian_status got;
    open_text(&reader, &source);
    while ((got = reader_next(&reader, &error)) == GORDIAN_OK)
        ;
    CHECK(got == status && error.status == status);
    CHECK_MSG(error.line == line && error.column == column, "%d:%d", (int)error.line,
              (int)error.column);
    CHECK_MSG(strstr(error.message, message), "%s", error.message);
    reader_close(&reader);
}

static void reader_errors(void)
{
    fails_as("a\nb\0c\n", 6, GORDIAN_STATUS_INPUT, 2, 2, "NUL");
    fails_as("\0", 1, GORDIAN_STATUS_INPUT, 1, 1, "NUL");
    fails_as("a # b\0\n", 7, GORDIAN_STATUS_INPUT, 1, 6, "NUL");
    fails_as("a\nb\n", 4, GORDIAN_STATUS_IO, 0, 0, strerror(EIO));
}

/* A line as long as allowed, with and without its newline, and one byte more. */
static void reader_long_lines(void)
{
    size_t size = READER_LINE_MAX + 16;
    char *text = malloc(size);
    REQUIRE(text);
    memset(text, 'x', size);
    memcpy(text, "first\n", 6);
    text[6 + (1u << 20)] = ' ';
    for (int with_newline = 0; with_newline < 2; with_newline++) {
        size_t length = 6 + READER_LINE_MAX;
        text[length] = with_newline ? '\n' : 'x';
        struct text_source source = {
            .text = text, .length = length + (size_t)with_newline, .piece = size};
        struct reader reader;
        gordian_error error;
        open_text(&reader, &source);
        CHECK(reader_next(&reader, &error) == GORDIAN_OK && reader.word_count == 1);
        CHECK(reader_next(&reader, &error) == GORDIAN_OK && reader.word_count == 2);
        CHECK(reader.words[0].length == 1u << 20);
        CHECK(reader.words[1].column == (1u << 20) + 2);
        CHECK(reader.words[1].length == READER_LINE_MAX - (1u << 20) - 1);
        CHECK(reader_next(&reader, &error) == GORDIAN_STATUS_END);
        reader_close(&reader);

        text[length] = 'x';
        text[length + 1] = '\n';
        source = (struct text_source){
            .text = text, .length = length + 1 + (size_t)with_newline, .piece = size};
        open_text(&reader, &source);
        CHECK(reader_next(&reader, &error) == GORDIAN_OK);
        CHECK(reader_next(&reader, &error) == GORDIAN_STATUS_INPUT);
        CHECK(error.line == 2 && error.column == READER_LINE_MAX + 1);
        reader_close(&reader);
        text[length + 1] = 'x';
    }
    free(text);
}

static void reader_out_of_memory(void)
{
    size_t length = 300000;
    char *text = malloc(length);
    REQUIRE(text);
    for (size_t i = 0; i < length; i++)
        text[i] = i % 3 ? 'x' : ' ';
    for (size_t fail_at = 1;; fail_at++) {
        struct failing failing = {.fail_at = fail_at, .for_good = true};
        gordian_allocator memory = {failing_resize, &failing};
        struct text_source source = {.text = text, .length = length, .piece = length};
        struct reader reader;
        gordian_error error;
        gordian_status status =
            reader_open(&reader, &(gordian_source){read_text, &source}, &memory, &error);
        if (status == GORDIAN_OK)
            status = reader_next(&reader, &error);
        reader_close(&reader);
        CHECK(failing.live_blocks == 0);
        if (status == GORDIAN_OK)
            break;
        CHECK(status == GORDIAN_STATUS_MEMORY && error.status == GORDIAN_STATUS_MEMORY);
        REQUIRE(fail_at < 1000);
    }
    free(text);
}

static gordian_word word_of(const char *text)
{
    return (gordian_word){.text = text, .length = (uint32_t)strlen(text), .column = 5};
}

static void words_and_numbers(void)
{
    gordian_word word = word_of("q=3=4"), name, value;
    CHECK(word_is(&word, "q=3=4") && !word_is(&word, "q=3=") && !word_is(&word, "q=3=44"));
    word_split(&word, &name, &value);
    CHECK(word_is(&name, "q") && name.column == 5);
    CHECK(word_is(&value, "3=4") && value.column == 7);
    word = word_of("plain");
    word_split(&word, &name, &value);
    CHECK(word_is(&name, "plain") && !value.text);
    word = word_of("=");
    word_split(&word, &name, &value);
    CHECK(name.length == 0 && value.text && value.length == 0);

    uint64_t u;
    int64_t i;
    const char *why;
    CHECK(parse_u64("0", 1, &u, &why) && u == 0);
    CHECK(parse_u64("007", 3, &u, &why) && u == 7);
    CHECK(parse_u64("18446744073709551615", 20, &u, &why) && u == UINT64_MAX);
    CHECK(!parse_u64("18446744073709551616", 20, &u, &why) && strstr(why, "too large"));
    CHECK(!parse_u64("99999999999999999999999", 23, &u, &why) && strstr(why, "too large"));
    CHECK(!parse_u64("", 0, &u, &why) && strstr(why, "empty"));
    CHECK(!parse_u64("-3", 2, &u, &why) && strstr(why, "negative"));
    CHECK(!parse_u64("+3", 2, &u, &why) && strstr(why, "not a whole number"));
    CHECK(!parse_u64("1e3", 3, &u, &why) && !parse_u64(" 1", 2, &u, &why));
    CHECK(parse_i64("-9223372036854775808", 20, &i, &why) && i == INT64_MIN);
    CHECK(parse_i64("9223372036854775807", 19, &i, &why) && i == INT64_MAX);
    CHECK(!parse_i64("9223372036854775808", 19, &i, &why) && strstr(why, "too large"));
    CHECK(!parse_i64("-9223372036854775809", 20, &i, &why) && strstr(why, "too small"));
    CHECK(!parse_i64("-99999999999999999999", 21, &i, &why) && strstr(why, "too small"));
    CHECK(!parse_i64("-", 1, &i, &why) && !parse_i64("--1", 3, &i, &why));
    CHECK(!parse_i64("", 0, &i, &why) && strstr(why, "empty"));
}

int main(void)
{
    names_basics();
    for (uint64_t seed = 1; seed <= 5; seed++)
        names_against_array(seed);
    names_are_recycled();
    names_many();
    names_reserved();
    names_out_of_memory();
    names_validity();
    sorting();
    nearest_words();
    random_numbers();
    output_in_memory();
    output_to_file();
    output_failing();
    json_lines();
    json_strings();
    reader_words();
    reader_errors();
    reader_long_lines();
    reader_out_of_memory();
    words_and_numbers();
    return test_done();
}
