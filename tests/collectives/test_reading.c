/* Values from JSON and from pickles: what is read, what is refused and where; and what a job says
 * of dumps written by hand. */
#include "foundation/base/json/json_read.h"
#include "must.h"
#include "sources/collectives/collectives.h"
#include "sources/collectives/pickle.h"

#include <stdint.h>
#include <string.h>

/* ------------------------------------------------------------------ JSON */

static gordian_status read_json(struct arena *arena, const char *text, const struct value **value,
                                gordian_error *error)
{
    *error = (gordian_error){0};
    return json_read(value, arena, text, strlen(text), error);
}

static void json_values(struct arena *arena)
{
    const struct value *value;
    gordian_error error;
    must(read_json(arena, " {\"a\": [1, -2.5, true, null], \"b\\u00e9\\n\": \"\\ud83d\\ude00\"} ",
                   &value, &error),
         &error);
    const struct value *list = value_find(value, "a");
    REQUIRE(value_is(list, VALUE_LIST) && list->count == 4);
    CHECK(value_integer(list->items[0], 0) == 1);
    CHECK(list->items[1]->kind == VALUE_REAL && list->items[1]->real == -2.5);
    CHECK(list->items[2]->kind == VALUE_BOOL && list->items[2]->integer == 1);
    CHECK(list->items[3]->kind == VALUE_NONE);
    CHECK(value_says(value_find(value, "b\xc3\xa9\n"), "\xf0\x9f\x98\x80"));
    must(read_json(arena, "1758610505947721376", &value, &error), &error);
    CHECK(value_integer(value, 0) == INT64_C(1758610505947721376));
    must(read_json(arena, "\"-12\"", &value, &error), &error);
    CHECK(value_integer(value, 0) == -12);
    must(read_json(arena, "\"-12x\"", &value, &error), &error);
    CHECK(value_integer(value, 7) == 7);
}

static void json_faults(struct arena *arena)
{
    static const struct {
        const char *text;
        uint64_t line, column;
    } faults[] = {
        {"", 1, 1},          {"{", 1, 2},   {"[1,]", 1, 4},      {"[1 2]", 1, 4},
        {"{\"a\" 1}", 1, 6}, {"\"a", 1, 3}, {"\"\\x\"", 1, 2},   {"01", 1, 1},
        {"1.", 1, 1},        {"tru", 1, 1}, {"[]\n]", 2, 1},     {"{1:2}", 1, 2},
        {"\"a\nb\"", 1, 3},  {"-", 1, 1},   {"\"\\u12\"", 1, 2},
    };
    const struct value *value;
    gordian_error error;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        CHECK_MSG(read_json(arena, faults[i].text, &value, &error) == GORDIAN_STATUS_INPUT,
                  "'%s' was read", faults[i].text);
        CHECK_MSG(error.line == faults[i].line && error.column == faults[i].column,
                  "'%s': %llu:%llu", faults[i].text, (unsigned long long)error.line,
                  (unsigned long long)error.column);
    }
    char deep[2 * JSON_DEPTH_MOST + 3];
    memset(deep, '[', JSON_DEPTH_MOST + 1);
    memset(deep + JSON_DEPTH_MOST + 1, ']', JSON_DEPTH_MOST + 1);
    deep[2 * JSON_DEPTH_MOST + 2] = '\0';
    CHECK(read_json(arena, deep, &value, &error) == GORDIAN_STATUS_INPUT);
    deep[2 * JSON_DEPTH_MOST + 1] = '\0';
    CHECK(read_json(arena, deep + 1, &value, &error) == GORDIAN_OK);
}

/* ------------------------------------------------------------------ pickles */

#define PICKLE(text) (const uint8_t *)(text), sizeof(text) - 1

static void pickle_values(struct arena *arena)
{
    static const char bytes[] =
        "\x80\x02}q\x00(X\x01\x00\x00\x00"
        "aq\x01](K\x05M\x00\x01J\xfe\xff\xff\xff\x8a\x02\x00\x80"
        "G\x3f\xf8\x00\x00\x00\x00\x00\x00NX\x01\x00\x00\x00xeX\x01\x00\x00\x00"
        "b(h\x01\x88\x89tu.";
    const struct value *value = NULL;
    gordian_error error = {0};
    must(pickle_read(&value, arena, PICKLE(bytes), &error), &error);
    const struct value *list = value_find(value, "a"), *tuple = value_find(value, "b");
    REQUIRE(value_is(list, VALUE_LIST) && list->count == 7);
    CHECK(value_integer(list->items[0], 0) == 5);
    CHECK(value_integer(list->items[1], 0) == 256);
    CHECK(value_integer(list->items[2], 0) == -2);
    CHECK(value_integer(list->items[3], 0) == -32768);
    CHECK(list->items[4]->real == 1.5);
    CHECK(list->items[5]->kind == VALUE_NONE);
    CHECK(value_says(list->items[6], "x"));
    REQUIRE(value_is(tuple, VALUE_LIST) && tuple->count == 3);
    CHECK(value_says(tuple->items[0], "a"));
    CHECK(tuple->items[1]->integer == 1 && tuple->items[2]->integer == 0);
    /* Every beginning of it is refused, none is read beyond its end. */
    for (size_t size = 0; size < sizeof bytes - 1; size++) {
        uint8_t *copy = malloc(size + !size);
        REQUIRE(copy);
        memcpy(copy, bytes, size);
        error = (gordian_error){0};
        CHECK(pickle_read(&value, arena, copy, size, &error) == GORDIAN_STATUS_INPUT);
        CHECK(error.message[0]);
        free(copy);
    }
}

/* Protocols 0 and 1: lines of text, and containers from what lies above a mark. */
static void pickle_lines(struct arena *arena)
{
    static const char bytes[] =
        "(dp0\nVa\\u20ac\xe9\np1\n(lp2\nI5\naI-7\naI01\naI00\naL12345678901234L\na"
        "L99999999999999999999L\naL-99999999999999999999L\naF-2.5e1\naNasS'q\\'\\n\\x41'\n"
        "(g1\nI1\n(I2\nI3\n1ts.";
    const struct value *value = NULL;
    gordian_error error = {0};
    must(pickle_read(&value, arena, PICKLE(bytes), &error), &error);
    const struct value *list = value_find(value, "a\xe2\x82\xac\xc3\xa9");
    const struct value *tuple = value_find(value, "q'\nA");
    REQUIRE(value_is(list, VALUE_LIST) && list->count == 9);
    CHECK(value_integer(list->items[0], 0) == 5 && value_integer(list->items[1], 0) == -7);
    CHECK(list->items[2]->kind == VALUE_BOOL && list->items[2]->integer == 1);
    CHECK(list->items[3]->kind == VALUE_BOOL && list->items[3]->integer == 0);
    CHECK(value_integer(list->items[4], 0) == INT64_C(12345678901234));
    CHECK(value_integer(list->items[5], 0) == INT64_MAX);
    CHECK(value_integer(list->items[6], 0) == INT64_MIN);
    CHECK(list->items[7]->kind == VALUE_REAL && list->items[7]->real == -25);
    CHECK(list->items[8]->kind == VALUE_NONE);
    REQUIRE(value_is(tuple, VALUE_LIST) && tuple->count == 2);
    CHECK(value_says(tuple->items[0], "a\xe2\x82\xac\xc3\xa9"));
    for (size_t size = 0; size < sizeof bytes - 1; size++) {
        uint8_t *copy = malloc(size + !size);
        REQUIRE(copy);
        memcpy(copy, bytes, size);
        error = (gordian_error){0};
        CHECK(pickle_read(&value, arena, copy, size, &error) == GORDIAN_STATUS_INPUT);
        free(copy);
    }
}

static void pickle_faults(struct arena *arena)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *says;
    } faults[] = {
        {"\x80\x02"
         "cos\nsystem\n.",
         14, "byte 2: opcode GLOBAL"},
        {"\x80\x02)R.", 5, "byte 3: opcode REDUCE"},
        {"\x80\x02}}b.", 6, "byte 4: opcode BUILD"},
        {"\x80\x02(ix\ny\n.", 9, "byte 3: opcode INST"},
        {"\x80\x02(o.", 5, "byte 3: opcode OBJ"},
        {"\x80\x02)\x81.", 5, "byte 3: opcode NEWOBJ"},
        {"\x80\x02\xff.", 4, "byte 2: unknown opcode 0xff"},
        {"\x80\x09N.", 4, "protocol"},
        {"\x80\x02.", 3, "exactly one value"},
        {"\x80\x02"
         "a.",
         4, "too few values"},
        {"\x80\x02NNs.", 6, "too few values"},
        {"\x80\x02Ne.", 5, "no mark"},
        {"\x80\x02(e.", 5, "no list"},
        {"\x80\x02}(Nu.", 7, "without a value"},
        {"\x80\x02h\x05.", 5, "memo"},
        {"\x80\x02Nr\xff\xff\xff\x7f.", 9, "memo"},
        {"\x80\x02]N(a.", 7, "too few values"},
        {"\x80\x02X\xff\xff\xff\xff.", 8, "ends within a text"},
        {"\x80\x02\x8d\xff\xff\xff\xff\xff\xff\xff\xff.", 12, "ends within a text"},
        {"(cos\nsystem\n.", 13, "byte 1: opcode GLOBAL"},
        {"(S'true'\nios\nsystem\n.", 21, "byte 9: opcode INST"},
        {"(V\\u12\n.", 8, "escape sequence"},
        {"(V\\U00110000\n.", 14, "escape sequence"},
        {"(Sx\n.", 5, "quotes"},
        {"(S'\\q'\n.", 8, "escape sequence"},
        {"(I5", 3, "ends within a line"},
        {"(I5x\n.", 6, "not a number"},
        {"(L\n.", 4, "not a number"},
        {"(F1.5.\n.", 8, "not a number"},
        {"(I1\nd.", 6, "without a value"},
        {"(Np-1\n.", 7, "not a number"},
        {"(Np99999\n.", 10, "memo"},
        {"(g0\n.", 5, "memo"},
        {"1.", 2, "no mark"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const struct value *value;
        gordian_error error = {0};
        gordian_status status =
            pickle_read(&value, arena, (const uint8_t *)faults[i].bytes, faults[i].size, &error);
        CHECK_MSG(status == GORDIAN_STATUS_INPUT && strstr(error.message, faults[i].says),
                  "case %zu: %s", i, error.message);
    }
}

/* ------------------------------------------------------------------ names of files, dumps */

static void file_names(void)
{
    CHECK(training_rank_of("x/_dump_12") == 12);
    CHECK(training_rank_of("nccl_trace_rank_7.json") == 7);
    CHECK(training_rank_of("0") == 0);
    CHECK(training_rank_of("a9/truth") == GORDIAN_NONE);
    CHECK(training_rank_of("dump_99999999") == GORDIAN_NONE);
    CHECK(training_rank_of("notes.txt") == GORDIAN_NONE);
    CHECK(training_rank_of("rank3_host12") == 3);
    CHECK(training_rank_of("host7/rank-10.host12.json") == 10);
    CHECK(training_rank_of("host12_RANK_4.pickle") == 4);
    CHECK(training_rank_of("rank") == GORDIAN_NONE);
    CHECK(training_rank_of("rank99999999") == GORDIAN_NONE);
    CHECK(training_rank_of("ranking_8") == 8);
}

#define CONFIG                                                                                     \
    "\"version\":\"2.9\",\"pg_config\":{\"0\":{\"desc\":\"all\",\"ranks\":\"[0, 1, 2]\"}},"
#define ENTRY(name, state, size)                                                                   \
    "\"entries\":[{\"record_id\":0,\"pg_id\":0,\"process_group\":[\"0\",\"all\"],"                 \
    "\"collective_seq_id\":5,\"profiling_name\":\"nccl:" name "\",\"state\":\"" state "\","        \
    "\"input_sizes\":[[" size "]],\"output_sizes\":[[" size "]],\"input_dtypes\":[\"Float\"]}]"

static void judge_texts(const char *const *texts, size_t count, struct training **job,
                        struct verdict *verdict)
{
    gordian_error error = {0};
    must(training_open(job, &error), &error);
    for (uint32_t i = 0; i < count; i++)
        if (texts[i])
            must(training_take(*job, i, texts[i], strlen(texts[i]), &error), &error);
    must(training_judge(*job, verdict, &error), &error);
}

/* What three ranks say, and who is to blame of what. */
static void three_ranks(const char *a, const char *b, const char *c, uint32_t culprit,
                        enum blame blame, size_t mismatches, size_t stalled)
{
    const char *const texts[] = {a, b, c};
    struct training *job = NULL;
    struct verdict verdict;
    judge_texts(texts, 3, &job, &verdict);
    CHECK(verdict.rank_count == 3 && verdict.cycle_count == 0);
    CHECK_MSG(verdict.culprit_count == (culprit != GORDIAN_NONE), "%zu culprits",
              verdict.culprit_count);
    if (culprit != GORDIAN_NONE && verdict.culprit_count)
        CHECK_MSG(verdict.culprits[0] == culprit && training_blame(job, culprit) == blame,
                  "rank %u: %s", verdict.culprits[0],
                  blame_text(training_blame(job, verdict.culprits[0])));
    CHECK(verdict.mismatch_count == mismatches);
    CHECK(verdict.stalled_count == stalled);
    training_close(job);
}

static void small_jobs(void)
{
    const char *in = "{" CONFIG ENTRY("all_reduce", "scheduled", "8") "}";
    const char *through = "{" CONFIG ENTRY("all_reduce", "completed", "8") "}";
    const char *larger = "{" CONFIG ENTRY("all_reduce", "scheduled", "9") "}";
    const char *other = "{" CONFIG ENTRY("all_gather", "scheduled", "8") "}";
    const char *exchange = "{" CONFIG ENTRY("all_to_all", "scheduled", "8") "}";
    const char *exchange2 = "{" CONFIG ENTRY("all_to_all", "scheduled", "9") "}";
    const char *none = "{" CONFIG "\"entries\":[]}";
    /* Nothing but a status, whose group is told by the order of names. */
    const char *status = "{" CONFIG "\"pg_status\":{\"0\":{\"last_enqueued_collective\":5,"
                         "\"last_completed_collective\":5}},\"entries\":[]}";
    three_ranks(in, in, none, 2, BLAME_ABSENT, 0, 0);
    three_ranks(in, in, NULL, 2, BLAME_SILENT, 0, 0);
    three_ranks(through, in, through, 1, BLAME_STUCK, 0, 0);
    three_ranks(status, in, status, 1, BLAME_STUCK, 0, 0);
    three_ranks(in, larger, in, 1, BLAME_MISMATCH, 1, 0);
    three_ranks(in, in, other, 2, BLAME_MISMATCH, 1, 0);
    three_ranks(exchange, exchange2, exchange, GORDIAN_NONE, BLAME_NONE, 0, 1);
    three_ranks(in, in, in, GORDIAN_NONE, BLAME_NONE, 0, 1);
    three_ranks(none, none, none, GORDIAN_NONE, BLAME_NONE, 0, 0);
}

int main(void)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct arena arena;
    arena_init(&arena, &memory);
    json_values(&arena);
    json_faults(&arena);
    pickle_values(&arena);
    pickle_lines(&arena);
    pickle_faults(&arena);
    arena_free(&arena);
    file_names();
    small_jobs();
    return test_done();
}
