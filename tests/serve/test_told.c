/* What the service tells in JSON: what is there is found, and no text can lead astray. */
#include "foundation/base/random.h"
#include "output/show/answer_json.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static struct arena arena;

static const struct value *line(const char *text)
{
    arena_free(&arena);
    return service_json_parse(&arena, text, strlen(text));
}

static void test_members(void)
{
    const struct value *object =
        line(" {\"a\":1, \"b\" : [ \"x\"], \"n\":null, \"big\":18446744073709551615,"
             "\"below\":-1, \"s\":\"}\\\"]\\u00e9\"} \n");
    CHECK(service_json_number(object, "a") == 1);
    CHECK(service_json_number(object, "big") == UINT64_MAX);
    CHECK(service_json_number(object, "below") == 0 && service_json_number(object, "s") == 0);
    CHECK(service_json_number(object, "nothing") == 0 && service_json_number(NULL, "a") == 0);
    CHECK(strcmp(service_json_text(object, "s"), "}\"]\xc3\xa9") == 0);
    CHECK(!*service_json_text(object, "a") && !*service_json_text(object, "n") &&
          !*service_json_text(object, "nothing"));
    CHECK(!*service_json_text(NULL, "s"));
    CHECK(!line("") && !line("{\"a\":1") && !line("{} {}"));
}

static bool read_line(struct parsed_witness *told, const char *text)
{
    return parsed_witness_read(told, line(text));
}

static void test_witness(void)
{
    struct parsed_witness told;
    parsed_witness_init(&told);
    CHECK(read_line(&told, "[\"p\",\"q\",\"r\",\"s\"]"));
    CHECK(told.witness.cycle && told.witness.count == 4 && told.members == 2);
    CHECK(told.edges[0].waits && !told.edges[1].waits && told.edges[1].process == 1 &&
          told.edges[1].resource == 0 && told.edges[3].process == 0);
    CHECK(strcmp(process_label(&told.labels, parsed_witness_find(&told, "r")), "r") == 0);
    CHECK(read_line(&told, "[{\"process\":\"p\",\"waits\":\"q\",\"units\":2},"
                           "{\"process\":\"p\",\"holds\":\"q\",\"units\":1}]"));
    CHECK(!told.witness.cycle && told.witness.count == 2 && told.members == 1 &&
          told.edges[0].units == 2);
    CHECK(read_line(&told, "[{\"process\":\"p\",\"awaits\":2,\"of\":[\"q\",\"r\"]},"
                           "{\"process\":\"q\",\"awaits\":1,\"of\":[\"p\"]}]"));
    CHECK(told.witness.count == 5 && told.members == 2 && told.edges[0].units == 2 &&
          told.edges[0].resource != told.edges[3].resource && !told.edges[2].waits);
    CHECK(strcmp(resource_label(&told.labels, 0), "an act") == 0 &&
          strcmp(told.labels.holding(told.labels.context, 1), "of") == 0);
    CHECK(!read_line(&told, "[{\"process\":\"p\",\"awaits\":1,\"of\":[7]}]"));
    CHECK(!read_line(&told, "[]"));
    CHECK(!read_line(&told, "[\"p\"]") && !read_line(&told, "[\"p\",\"q\",\"r\"]"));
    CHECK(!read_line(&told, "[{\"process\":\"p\"}]"));
    CHECK(!read_line(&told, "null") && !parsed_witness_read(&told, NULL));
    parsed_witness_free(&told);
}

/* In memory of exactly its size, so that a sanitizer sees every step beyond it. */
static void look_at(const char *text, size_t length)
{
    char *copy = malloc(length ? length : 1);
    struct parsed_witness told;
    REQUIRE(copy != NULL);
    memcpy(copy, text, length);
    arena_free(&arena);
    const struct value *object = service_json_parse(&arena, copy, length);
    parsed_witness_init(&told);
    static const char *const keys[] = {"result", "witness", "a", "", "deadlocked"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        service_json_text(object, keys[i]);
        service_json_number(object, keys[i]);
        parsed_witness_read(&told, value_find(object, keys[i]));
    }
    parsed_witness_free(&told);
    arena_free(&arena);
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
    test_witness();
    test_noise();
    arena_free(&arena);
    return test_done();
}
