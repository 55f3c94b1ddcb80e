/* Any bytes as PTX: it is read or refused with a place; of what is read every kernel's paths add up
 * to what is said about them. */
#include "fuzz.h"

#include <gordian/ptx.h>
#include <string.h>

static void check_refusal(gordian_status status, const gordian_error *error)
{
    DEMAND(status == GORDIAN_STATUS_INPUT || status == GORDIAN_STATUS_MEMORY, "status %d: %s",
           status, error->message);
    DEMAND(error->message[0], "refused without a word");
}

static void check_answer(const gordian_ptx_answer *answer, bool longest)
{
    uint64_t counts[GORDIAN_MAKESPAN_TYPES] = {0}, all = 0;
    DEMAND(answer->count <= GORDIAN_MAKESPAN_MAX_LENGTH, "%zu letters", answer->count);
    DEMAND(answer->letters || longest, "no letters");
    for (size_t i = 0; i < answer->count; i++) {
        char letter = answer->letters[i];
        DEMAND(letter >= 'A' && letter <= 'Z', "letter %d", letter);
        DEMAND(answer->lines[i] > 0, "a letter from nowhere");
        counts[letter - 'A']++;
    }
    if (!longest || !answer->letters)
        return;
    for (size_t i = 0; i < GORDIAN_MAKESPAN_TYPES; i++) {
        DEMAND(counts[i] <= answer->most[i], "%c: %llu on the path, %llu on any", (int)('A' + i),
               (unsigned long long)counts[i], (unsigned long long)answer->most[i]);
        all += counts[i];
    }
    DEMAND(all == answer->longest, "%llu letters, longest %llu", (unsigned long long)all,
           (unsigned long long)answer->longest);
    uint64_t units[GORDIAN_MAKESPAN_TYPES];
    for (size_t i = 0; i < GORDIAN_MAKESPAN_TYPES; i++)
        units[i] = 1 + i % 3;
    uint64_t alone = gordian_ptx_any_path(answer, units, 0, 1);
    DEMAND(alone >= answer->longest, "one warp: bound %llu, longest %llu",
           (unsigned long long)alone, (unsigned long long)answer->longest);
}

static void ask(gordian_ptx *ptx, const gordian_ptx_question *question)
{
    gordian_ptx_answer answer;
    gordian_error error = {0};
    gordian_status status = gordian_ptx_ask(ptx, question, &answer, &error);
    if (status != GORDIAN_OK) {
        check_refusal(status, &error);
        return;
    }
    check_answer(&answer, !question->path);
}

static void ask_all(gordian_ptx *ptx, const gordian_ptx_table *table)
{
    static const gordian_ptx_named values[] = {{"0", 7}, {"%tid.x", 0}, {"%ntid.x", 32}};
    static const gordian_ptx_named loops[] = {{"A", 3}, {"B", 2}, {"k", 2}, {"k/1", 1}};
    static const gordian_ptx_call calls[] = {{"f", "LL"}};
    const char *name;
    size_t length;
    for (size_t i = 0; i < 4 && (name = gordian_ptx_entry(ptx, i, &length)); i++) {
        char entry[200];
        snprintf(entry, sizeof entry, "%.*s", (int)(length < 199 ? length : 199), name);
        gordian_ptx_question question = {.entry = entry, .table = table, .extra_loops = true};
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
        question = (gordian_ptx_question){.entry = entry, .table = table, .path = "fall"};
        ask(ptx, &question);
        question.path = "A,B,A";
        ask(ptx, &question);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size, 0};
    gordian_source source = fuzz_source(&input);
    gordian_ptx *ptx;
    gordian_ptx_table *table = NULL;
    gordian_error error = {0};
    gordian_status status = gordian_ptx_read(&ptx, &source, NULL, &error);
    if (status != GORDIAN_OK)
        check_refusal(status, &error);
    else if (gordian_ptx_table_open(&table, NULL, &error) == GORDIAN_OK)
        ask_all(ptx, table);
    gordian_ptx_table_close(table);
    gordian_ptx_close(ptx);
    return 0;
}
