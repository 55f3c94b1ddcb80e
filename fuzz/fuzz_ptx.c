/* Any bytes as PTX: it is read or refused with a place; of what is read every kernel's paths add up
 * to what is said about them. */
#include "fuzz.h"
#include "ptx/ptx.h"

#include <string.h>

static void check_refusal(gordian_status status, const gordian_error *error)
{
    DEMAND(status == GORDIAN_STATUS_INPUT || status == GORDIAN_STATUS_MEMORY, "status %d: %s",
           status, error->message);
    DEMAND(error->message[0], "refused without a word");
}

static void check_answer(const struct ptx_answer *answer, bool longest)
{
    uint64_t counts[PTX_LETTERS] = {0}, all = 0;
    DEMAND(answer->count <= PTX_STRING_MAX, "%zu letters", answer->count);
    DEMAND(answer->letters || longest, "no letters");
    for (size_t i = 0; i < answer->count; i++) {
        char letter = answer->letters[i];
        DEMAND(letter >= 'A' && letter <= 'Z', "letter %d", letter);
        DEMAND(answer->lines[i] > 0, "a letter from nowhere");
        counts[letter - 'A']++;
    }
    if (!longest || !answer->letters)
        return;
    for (size_t i = 0; i < PTX_LETTERS; i++) {
        DEMAND(counts[i] <= answer->most[i], "%c: %llu on the path, %llu on any", (int)('A' + i),
               (unsigned long long)counts[i], (unsigned long long)answer->most[i]);
        all += counts[i];
    }
    DEMAND(all == answer->longest, "%llu letters, longest %llu", (unsigned long long)all,
           (unsigned long long)answer->longest);
    uint64_t units[PTX_LETTERS];
    for (size_t i = 0; i < PTX_LETTERS; i++)
        units[i] = 1 + i % 3;
    uint64_t alone = ptx_any_path_bound(answer, units, 0, 1);
    DEMAND(alone >= answer->longest, "one warp: bound %llu, longest %llu",
           (unsigned long long)alone, (unsigned long long)answer->longest);
}

static void ask(const struct ptx *ptx, const struct ptx_question *question)
{
    struct ptx_answer answer;
    gordian_error error = {0};
    gordian_status status = ptx_string(&answer, ptx, question, NULL, &error);
    if (status != GORDIAN_OK) {
        check_refusal(status, &error);
        return;
    }
    check_answer(&answer, !question->path);
    ptx_answer_free(&answer);
}

static void ask_all(const struct ptx *ptx, const struct ptx_table *table)
{
    static const struct ptx_named values[] = {{"0", 1, 7}, {"%tid.x", 6, 0}, {"%ntid.x", 7, 32}};
    static const struct ptx_named loops[] = {{"A", 1, 3}, {"B", 1, 2}, {"k", 1, 2}, {"k/1", 3, 1}};
    static const struct ptx_code calls[] = {{"f", 1, "LL"}};
    const char *name;
    size_t length;
    for (size_t i = 0; i < 4 && (name = ptx_entry(ptx, i, &length)); i++) {
        char entry[200];
        snprintf(entry, sizeof entry, "%.*s", (int)(length < 199 ? length : 199), name);
        struct ptx_question question = {.entry = entry, .table = table, .extra_loops = true};
        ask(ptx, &question);
        question.loops = loops;
        question.loop_count = sizeof loops / sizeof *loops;
        question.values = values;
        question.value_count = sizeof values / sizeof *values;
        question.calls = calls;
        question.call_count = 1;
        ask(ptx, &question);
        question.to = "B";
        ask(ptx, &question);
        question.from = "A";
        question.avoid = "C";
        ask(ptx, &question);
        question = (struct ptx_question){.entry = entry, .table = table, .path = "fall"};
        ask(ptx, &question);
        question.path = "A,B,A";
        ask(ptx, &question);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size, 0};
    gordian_source source = fuzz_source(&input);
    struct text text;
    struct ptx *ptx = NULL;
    struct ptx_table *table = NULL;
    gordian_error error = {0};
    if (text_read(&text, "input", &source, NULL, &error) != GORDIAN_OK)
        return 0;
    gordian_status status = ptx_read(&ptx, &text, NULL, &error);
    if (status != GORDIAN_OK)
        check_refusal(status, &error);
    else if (ptx_table_open(&table, NULL, &error) == GORDIAN_OK)
        ask_all(ptx, table);
    ptx_table_close(table);
    ptx_free(ptx);
    text_free(&text);
    return 0;
}
