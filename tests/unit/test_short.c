/* What is done with many bytes, names or digits at once against one after the other: short names
 * looked up in batches, short texts quoted, numbers written. */
#include "foundation/base/json/json_write.h"
#include "foundation/base/memory.h"
#include "foundation/base/names/interner.h"
#include "foundation/base/random.h"
#include "test.h"

#include <stdio.h>

/* ---- names */

#define NAMES 300
#define BATCH 150

/* Of 1 to 20 bytes, or up to 255; many begin or end alike. */
static uint32_t draw_name(struct random *random, char name[GORDIAN_NAME_MAX + NAMES_SLACK])
{
    uint32_t length = 1 + (uint32_t)random_below(random, random_below(random, 8) ? 20 : 255);
    memset(name, 'n', length);
    for (unsigned i = 0; i < 2; i++)
        name[random_below(random, length)] = (char)('a' + random_below(random, 4));
    for (unsigned i = 0; i < NAMES_SLACK; i++) /* what is read behind it is not its */
        name[length + i] = (char)random_below(random, 256);
    return length;
}

struct known {
    char text[GORDIAN_NAME_MAX + NAMES_SLACK];
    uint32_t length;
    bool there;
};

static uint32_t find_slowly(const struct known *known, const char *name, uint32_t length)
{
    for (uint32_t id = 0; id < NAMES; id++)
        if (known[id].there && known[id].length == length &&
            memcmp(known[id].text, name, length) == 0)
            return id;
    return GORDIAN_NONE;
}

static void ask_batch(struct random *random, const struct names *names, const struct known *known)
{
    static struct known asked[BATCH];
    struct names_query queries[BATCH];
    size_t count = random_below(random, BATCH + 1);
    for (size_t i = 0; i < count; i++) {
        const struct known *one = &known[random_below(random, NAMES)];
        asked[i] = *one;
        if (one->length == 0 || random_below(random, 3) == 0)
            asked[i].length = draw_name(random, asked[i].text);
        queries[i] = names_ask(asked[i].text, asked[i].length);
    }
    names_find_all(names, queries, count);
    for (size_t i = 0; i < count; i++) {
        uint32_t expected = find_slowly(known, asked[i].text, asked[i].length);
        CHECK_MSG(queries[i].id == expected, "%.*s: %u, not %u", (int)asked[i].length,
                  asked[i].text, queries[i].id, expected);
        CHECK(names_find(names, asked[i].text, asked[i].length) == expected);
        CHECK(names_find_again(names, &queries[i]) == expected);
    }
}

static void names_in_batches(void)
{
    static struct known known[NAMES];
    gordian_allocator memory = memory_allocator(NULL);
    for (uint64_t seed = 0; seed < test_scaled(100); seed++) {
        struct random random;
        struct names names;
        random_seed(&random, seed);
        names_init(&names, &memory);
        memset(known, 0, sizeof known);
        for (unsigned step = 0; step < 100; step++) {
            ask_batch(&random, &names, known);
            for (unsigned i = 0; i < 10; i++) {
                uint32_t id = (uint32_t)random_below(&random, NAMES);
                struct known *one = &known[id];
                if (one->there) {
                    names_drop(&names, id);
                    one->there = false;
                    continue;
                }
                one->length = draw_name(&random, one->text);
                one->there = find_slowly(known, one->text, one->length) == GORDIAN_NONE;
                if (one->there)
                    REQUIRE(names_put(&names, id, one->text, one->length));
            }
        }
        names_free(&names);
    }
}

/* Names that differ in few places are spread as evenly as chance would: what most tables rely on.
 */
static void hashes_spread(void)
{
    static const char *const forms[] = {"p%u",       "%08u",           "thread-%u",
                                        "node-%03u", "proc%05u-of-1e", "0000000%09u"};
    enum { COUNT = 16384, PLACES = 65536 };
    for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
        static unsigned char low[PLACES], high[PLACES];
        unsigned taken[2] = {0};
        memset(low, 0, sizeof low);
        memset(high, 0, sizeof high);
        for (unsigned i = 0; i < COUNT; i++) {
            char name[40];
            snprintf(name, sizeof name, forms[form], i);
            uint64_t hash = short_hash(name, strlen(name));
            taken[0] += !low[hash % PLACES]++;
            taken[1] += !high[hash >> 48]++;
        }
        /* Chance takes 14 500 of 65 536 places. */
        CHECK_MSG(taken[0] > 13500 && taken[1] > 10000, "%s: %u, %u", forms[form], taken[0],
                  taken[1]);
    }
}

/* ---- texts */

static size_t quote(const char *text, char *to)
{
    struct output out;
    REQUIRE(output_open(&out, OUTPUT_MEMORY));
    json_quote(&out, text);
    size_t length = out.used;
    memcpy(to, out.buffer, length);
    to[length] = '\0';
    output_close(&out);
    return length;
}

/* Behind twenty bytes none is short. */
static void same_quoted(const char *text)
{
    char longer[64] = "xxxxxxxxxxxxxxxxxxxx", quoted[400], expected[400];
    strcat(longer, text);
    quote(text, quoted);
    quote(longer, expected);
    CHECK_MSG(expected[0] == quoted[0] && strcmp(expected + 21, quoted + 1) == 0, "%s, not %s",
              quoted, expected);
}

static void every_byte_quoted(void)
{
    for (size_t length = 0; length <= 18; length++)
        for (size_t at = 0; at < length; at++)
            for (unsigned byte = 1; byte < 256; byte++) {
                char text[20] = {0};
                memset(text, 'b', length);
                text[at] = (char)byte;
                same_quoted(text);
            }
    same_quoted("");
}

/* ---- numbers */

static void same_number(uint64_t number)
{
    char expected[30], text[30];
    struct output out;
    snprintf(expected, sizeof expected, "%llu", (unsigned long long)number);
    output_fixed(&out, text, sizeof text);
    output_u64(&out, number);
    output_fixed_end(&out);
    CHECK_MSG(strcmp(text, expected) == 0, "%s, not %s", text, expected);
}

static void numbers(void)
{
    struct random random;
    random_seed(&random, 1);
    for (uint64_t power = 1; power < UINT64_MAX / 10; power *= 10)
        for (uint64_t times = 1; times < 10; times++) {
            same_number(power * times - 1);
            same_number(power * times);
            same_number(power * times + 1);
        }
    for (unsigned long i = 0; i < test_scaled(100000); i++)
        same_number(random_next(&random) >> random_below(&random, 64));
    same_number(UINT64_MAX);
}

int main(void)
{
    names_in_batches();
    hashes_spread();
    every_byte_quoted();
    numbers();
    return test_done();
}
