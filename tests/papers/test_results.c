/* Results: read, merged, written; and lines that are wrong. */
#include "lab/papers/results.h"
#include "test.h"

#include <math.h>
#include <string.h>

static const char one[] =
    "{\"run\":1,\"system\":\"Linux\",\"cpu\":\"A \\\"B\\\" "
    "\\u00e9\",\"cores\":2,\"compiler\":\"gcc\","
    "\"flags\":\"-O2\",\"commit\":\"abc\",\"date\":\"2026-01-01\"}\n"
    "{\"measure\":\"m\",\"x\":1,\"y\":2,\"value\":10,\"p99\":11,\"samples\":3,\"run\":1}\n"
    "{\"measure\":\"m\",\"x\":2,\"y\":2,\"value\":20,\"samples\":3,\"run\":1}\n";
static const char other[] =
    "{\"run\":1,\"system\":\"Linux\",\"cpu\":\"C\",\"cores\":16,\"device\":\"NVIDIA H200\","
    "\"compiler\":\"gcc\",\"flags\":\"-O2\",\"commit\":\"def\",\"date\":\"2026-02-02\"}\n"
    "{\"measure\":\"m\",\"x\":2,\"y\":2,\"value\":5,\"samples\":9,\"run\":1}\n"
    "{\"measure\":\"g\",\"x\":2,\"y\":2,\"value\":1.5,\"samples\":9,\"run\":1}\n";

static void read_good(struct results *results, const char *text)
{
    gordian_error error = {0};
    CHECK_MSG(results_read(results, text, strlen(text), &error) == GORDIAN_OK, "%llu:%llu: %s",
              (unsigned long long)error.line, (unsigned long long)error.column, error.message);
}

static void test_merge(void)
{
    struct results results, again;
    struct output out;
    results_init(&results);
    results_init(&again);
    read_good(&results, one);
    CHECK(strcmp(results.runs[0].cpu, "A \"B\" \xc3\xa9") == 0);
    read_good(&results, other);
    CHECK(results.run_count == 2 && results.value_count == 3);
    const struct results_value *value = results_find(&results, "m", 2, 2);
    REQUIRE(value);
    CHECK(value->value == 5 && value->run == 1 && value->samples == 9);
    value = results_find(&results, "m", 1, 2);
    REQUIRE(value);
    CHECK(value->value == 10 && value->p99 == 11 && value->run == 0);
    CHECK(!results_find(&results, "m", 1, 1));
    REQUIRE(output_open(&out, OUTPUT_MEMORY));
    results_write(&results, &out);
    gordian_error error = {0};
    CHECK(results_read(&again, out.buffer, out.used, &error) == GORDIAN_OK);
    CHECK(again.run_count == 2 && again.value_count == 3);
    CHECK(strcmp(again.runs[1].device, "NVIDIA H200") == 0 && again.runs[1].cores == 16);
    /* A run of which nothing is left is not written. */
    struct output less;
    read_good(&again, one);
    read_good(&again, one);
    REQUIRE(output_open(&less, OUTPUT_MEMORY));
    results_write(&again, &less);
    size_t runs = 0;
    for (size_t i = 0; i < less.used; i++)
        runs += i + 7 <= less.used && memcmp(&less.buffer[i], "{\"run\":", 7) == 0;
    CHECK_MSG(runs == 2, "%zu", runs); /* g is left of the second, all else is of the last */
    output_close(&less);
    output_close(&out);
    results_free(&results);
    results_free(&again);
}

static void test_wrong_lines(void)
{
    static const char *const wrong[] = {
        "nonsense\n",
        "{\"run\":2}\n",
        "{\"run\":1\n",
        "{\"run\":1} more\n",
        "{\"run\":1,}\n",
        "{\"run\":1 \"x\":2}\n",
        "{\"run\":one}\n",
        "{\"run\":\"1\"}\n",
        "{\"run\":{}}\n",
        "{run:1}\n",
        "{\"run\":1,\"cpu\":\"\\u00g0\"}\n",
        "{\"run\":1,\"cpu\":\"\\ud800\"}\n",
        "{\"run\":1,\"cpu\":\"\\q\"}\n",
        "{\"run\":1,\"cpu\":\"open}\n",
        "{\"measure\":\"m\",\"x\":1,\"y\":1,\"value\":1,\"run\":1}\n",
        "{\"run\":1}\n{\"measure\":\"m\",\"x\":1,\"y\":1,\"value\":1,\"run\":2}\n",
        "{\"run\":1}\n{\"measure\":\"m\",\"x\":1,\"value\":1,\"run\":1}\n",
        "{\"run\":1}\n{\"measure\":\"m\",\"x\":1,\"y\":1,\"value\":0,\"run\":1}\n",
        "{\"run\":1}\n{\"measure\":\"m\",\"x\":1,\"y\":1,\"value\":1e999,\"run\":1}\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct results results;
        gordian_error error = {0};
        results_init(&results);
        CHECK_MSG(results_read(&results, wrong[i], strlen(wrong[i]), &error) ==
                      GORDIAN_STATUS_INPUT,
                  "%s", wrong[i]);
        CHECK_MSG(error.line > 0 && error.column > 0, "%s", wrong[i]);
        results_free(&results);
    }
}

/* Cut off anywhere, or with a byte changed, it is read or refused. */
static void test_damaged(void)
{
    char text[sizeof one];
    for (size_t i = 0; i < sizeof one - 1; i++) {
        struct results results;
        gordian_error error = {0};
        results_init(&results);
        gordian_status status = results_read(&results, one, i, &error);
        CHECK(status == GORDIAN_OK || status == GORDIAN_STATUS_INPUT);
        memcpy(text, one, sizeof one);
        text[i] = i % 3 == 0 ? '\0' : i % 3 == 1 ? '"' : '\\';
        status = results_read(&results, text, sizeof one - 1, &error);
        CHECK(status == GORDIAN_OK || status == GORDIAN_STATUS_INPUT);
        results_free(&results);
    }
}

int main(void)
{
    test_merge();
    test_wrong_lines();
    test_damaged();
    return test_done();
}
