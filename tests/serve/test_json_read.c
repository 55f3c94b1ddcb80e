/* Looking things up in the service's lines: what is there is found, and no text can lead astray. */
#include "base/random.h"
#include "cli/service/json_read.h"
#include "cli/service/witness_read.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static struct json_value line(const char *text)
{
    return json_line(text, strlen(text));
}

static void test_members(void)
{
    struct json_value object =
        line(" {\"a\":1, \"b\" : [ \"x\" , {\"a\":2} ,[]], \"c\":{\"d\":\"}\\\"]\"},"
             "\"t\":true,\"n\":null,\"e\":\"\"} \n");
    struct json_value value, item;
    char text[32];
    uint64_t number;
    CHECK(json_member_number(object, "a", &number) && number == 1);
    CHECK(json_member(object, "b", &value));
    struct json_value rest = json_items(value);
    CHECK(json_item(&rest, &item) && json_string(item, text, sizeof text) &&
          strcmp(text, "x") == 0);
    CHECK(json_item(&rest, &item) && json_member_number(item, "a", &number) && number == 2);
    CHECK(json_item(&rest, &item) && item.length == 2);
    CHECK(!json_item(&rest, &item));
    CHECK(json_member(object, "c", &value) && json_member_string(value, "d", text, sizeof text));
    CHECK(strcmp(text, "}\"]") == 0);
    CHECK(json_member(object, "t", &value) && json_is(value, "true"));
    CHECK(json_member(object, "n", &value) && json_is(value, "null"));
    CHECK(json_member_string(object, "e", text, sizeof text) && !*text);
    CHECK(!json_member(object, "d", &value));
    CHECK(!json_member(line("[1]"), "a", &value));
    CHECK(!json_member_string(object, "a", text, sizeof text));
    CHECK(!json_member_number(object, "b", &number) && number == 0);
}

static void check_string(const char *json, const char *expected)
{
    char text[64];
    CHECK(json_string(line(json), text, sizeof text));
    CHECK_MSG(strcmp(text, expected) == 0, "%s: %s", json, text);
}

static void test_strings(void)
{
    char text[8];
    check_string("\"\"", "");
    check_string("\"a\\n\\t\\\\\\/\\\"b\"", "a\n\t\\/\"b");
    check_string("\"\\u0041\\u00e9\\u20ac\"", "A\xc3\xa9\xe2\x82\xac");
    check_string("\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80");
    check_string("\"caf\xc3\xa9\"", "caf\xc3\xa9");
    CHECK(json_string(line("\"0123456789\""), text, sizeof text));
    CHECK(strcmp(text, "0123456") == 0);
    CHECK(!json_string(line("17"), text, sizeof text));
    uint64_t number;
    CHECK(json_number(line("18446744073709551615"), &number) && number == UINT64_MAX);
    CHECK(!json_number(line("18446744073709551616"), &number));
    CHECK(!json_number(line("-1"), &number) && !json_number(line("1.5"), &number));
}

static void test_witness(void)
{
    struct told_witness told;
    told_witness_init(&told);
    CHECK(told_witness_read(&told, line("[\"p\",\"q\",\"r\",\"s\"]")));
    CHECK(told.witness.cycle && told.witness.count == 4 && told.members == 2);
    CHECK(told.edges[0].waits && !told.edges[1].waits && told.edges[1].process == 1 &&
          told.edges[1].resource == 0 && told.edges[3].process == 0);
    CHECK(strcmp(process_label(&told.labels, told_witness_find(&told, "r")), "r") == 0);
    CHECK(told_witness_read(&told, line("[{\"process\":\"p\",\"waits\":\"q\",\"units\":2},"
                                        "{\"process\":\"p\",\"holds\":\"q\",\"units\":1}]")));
    CHECK(!told.witness.cycle && told.witness.count == 2 && told.members == 1 &&
          told.edges[0].units == 2);
    CHECK(!told_witness_read(&told, line("[]")));
    CHECK(!told_witness_read(&told, line("[\"p\"]")));
    CHECK(!told_witness_read(&told, line("[{\"process\":\"p\"}]")));
    CHECK(!told_witness_read(&told, line("null")));
    told_witness_free(&told);
}

/* In memory of exactly its size, so that a sanitizer sees every step beyond it. */
static void look_at(const char *text, size_t length)
{
    char *copy = malloc(length ? length : 1);
    struct json_value object, value, item;
    struct told_witness told;
    char buffer[40];
    uint64_t number;
    REQUIRE(copy != NULL);
    memcpy(copy, text, length);
    object = json_line(copy, length);
    told_witness_init(&told);
    static const char *const keys[] = {"result", "witness", "a", "", "deadlocked"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (!json_member(object, keys[i], &value))
            continue;
        CHECK(value.text >= copy && value.text + value.length <= copy + length);
        json_string(value, buffer, sizeof buffer);
        json_number(value, &number);
        told_witness_read(&told, value);
        for (struct json_value rest = json_items(value); json_item(&rest, &item);)
            json_string(item, buffer, sizeof buffer);
    }
    told_witness_free(&told);
    free(copy);
}

static void test_noise(void)
{
    static const char good[] =
        "{\"seq\":4,\"result\":\"dead\\u00e9\\\"lock\",\"deadlocked\":[\"a\","
        "\"b\"],\"witness\":[\"b\",\"q\",\"a\",\"r\"],\"a\":[{\"process\":"
        "\"p\",\"waits\":\"q\",\"units\":1}]}";
    struct random random;
    for (size_t cut = 0; cut < sizeof good; cut++)
        look_at(good, cut);
    random_seed(&random, 1);
    for (int round = 0; round < 6000; round++) {
        char text[sizeof good];
        memcpy(text, good, sizeof good);
        for (unsigned changes = 1 + (unsigned)random_below(&random, 6); changes > 0; changes--)
            text[random_below(&random, sizeof good)] =
                "{}[]\",:\\u0a\n \xff"[random_below(&random, 14)];
        look_at(text, sizeof good - 1);
    }
}

int main(void)
{
    test_members();
    test_strings();
    test_witness();
    test_noise();
    return test_done();
}
