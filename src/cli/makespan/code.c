/* Code of a kernel as a string of letters: from PTX, a .cu file (with nvcc), or the project's own
 * kernel. */
#include "cli/base/input.h"
#include "cli/makespan/makespan.h"
#include "foundation/base/error.h"
#include "foundation/base/io/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIST_MAX 200u

/* The lists from options. */
struct lists {
    gordian_ptx_named loops[LIST_MAX], values[LIST_MAX];
    gordian_ptx_call calls[LIST_MAX];
    char *letters[LIST_MAX]; /* of the calls */
    size_t loop_count, value_count, call_count;
    gordian_ptx_table *table;
    char *free, text[]; /* copies of the options, to be split into names */
};

/* ------------------------------------------------------------------ lists */

gordian_status makespan_letters(const char *text, char **letters, gordian_error *error)
{
    size_t length = strcmp(text, "-") == 0 ? 0 : strlen(text), count = 0;
    const size_t most = GORDIAN_MAKESPAN_MAX_LENGTH;
    gordian_status status = gordian_ptx_letters(text, length, most, NULL, &count, error);
    TRY(status);
    *letters = calloc(1, count + 1);
    if (*letters)
        return gordian_ptx_letters(text, length, most, *letters, &count, error);
    *error = (gordian_error){.status = GORDIAN_STATUS_MEMORY, .message = "out of memory"};
    return GORDIAN_STATUS_MEMORY;
}

static struct lists *lists_open(const struct makespan *makespan)
{
    const char *const options[] = {makespan->loops, makespan->values, makespan->calls,
                                   makespan->unit};
    size_t capacity = 0;
    for (size_t i = 0; i < 4; i++)
        capacity += options[i] ? strlen(options[i]) + 1 : 0;
    struct lists *lists = calloc(1, sizeof *lists + capacity);
    if (lists)
        lists->free = lists->text;
    return lists;
}

/* Returns a copy of the option; NULL: not given. */
static char *copy_option(struct lists *lists, const char *text)
{
    char *copy = lists->free;
    if (!text)
        return NULL;
    lists->free = stpcpy(copy, text) + 1;
    return copy;
}

/* "NAME=N,NAME=N" */
static int read_named(struct makespan *makespan, const char *option, char *rest,
                      gordian_ptx_named *list, size_t *count)
{
    for (char *item; (item = strsep(&rest, ","));) {
        const char *why = "is not NAME=N";
        char *equals = strchr(item, '=');
        if (*count == LIST_MAX)
            return cli_misuse(makespan->cli, "--%s: more than %u names", option, LIST_MAX);
        if (!equals || equals == item ||
            !parse_u64(equals + 1, strlen(equals + 1), &list[*count].value, &why))
            return cli_misuse(makespan->cli, "--%s: '%.60s' %s", option, item, why);
        *equals = '\0';
        list[(*count)++].name = item;
    }
    return EXIT_NOTHING;
}

/* "NAME=LETTERS,NAME=-" */
static int read_calls(struct makespan *makespan, struct lists *lists, char *rest)
{
    for (char *item; (item = strsep(&rest, ","));) {
        gordian_error error = {0};
        char *equals = strchr(item, '=');
        if (!equals || equals == item)
            return cli_misuse(makespan->cli, "--call: '%.60s' is not of the form NAME=LETTERS",
                              item);
        if (lists->call_count == LIST_MAX)
            return cli_misuse(makespan->cli, "--call: more than %u names", LIST_MAX);
        char **letters = &lists->letters[lists->call_count];
        gordian_status status = makespan_letters(equals + 1, letters, &error);
        if (status == GORDIAN_STATUS_INPUT)
            return cli_misuse(makespan->cli, "--call: '%.60s': %s", item, error.message);
        if (status != GORDIAN_OK)
            return cli_fail(makespan->cli, NULL, &error);
        *equals = '\0';
        lists->calls[lists->call_count++] = (gordian_ptx_call){item, *letters};
    }
    return EXIT_NOTHING;
}

static int read_lists(struct makespan *makespan, struct lists *lists)
{
    int code = read_named(makespan, "loop", copy_option(lists, makespan->loops), lists->loops,
                          &lists->loop_count);
    THEN_CODE(code, read_named(makespan, "set", copy_option(lists, makespan->values), lists->values,
                               &lists->value_count));
    THEN_CODE(code, read_calls(makespan, lists, copy_option(lists, makespan->calls)));
    return code;
}

/* ------------------------------------------------------------------ the table of units */

/* "PATTERN=LETTERS,..." */
static int add_units(struct makespan *makespan, struct lists *lists)
{
    char *rest = copy_option(lists, makespan->unit);
    for (char *item; (item = strsep(&rest, ","));) {
        gordian_error error = {0};
        char *equals = strchr(item, '=');
        if (!equals)
            return cli_misuse(makespan->cli, "--unit: '%.60s' is not of the form PATTERN=LETTERS",
                              item);
        *equals = '\0';
        if (gordian_ptx_table_add(lists->table, item, equals + 1, &error) != GORDIAN_OK)
            return cli_fail(makespan->cli, "--unit", &error);
    }
    return EXIT_NOTHING;
}

static int open_table(struct makespan *makespan, struct lists *lists)
{
    gordian_error error = {0};
    if (gordian_ptx_table_open(&lists->table, NULL, &error) != GORDIAN_OK)
        return cli_fail(makespan->cli, NULL, &error);
    int code = EXIT_NOTHING;
    if (makespan->table) {
        struct input input;
        code = input_open(&input, makespan->cli, makespan->table);
        TRY_CODE(code);
        if (gordian_ptx_table_read(lists->table, &input.source, &error) != GORDIAN_OK)
            code = cli_fail(makespan->cli, input.name, &error);
        input_close(&input);
    }
    return code == EXIT_NOTHING ? add_units(makespan, lists) : code;
}

/* ------------------------------------------------------------------ the question */

static void fill_question(const struct makespan *makespan, const struct lists *lists,
                          gordian_ptx_question *question)
{
    question->entry = makespan->entry;
    question->path = makespan->path;
    question->from = makespan->from;
    question->to = makespan->to;
    question->avoid = makespan->avoid;
    question->loops = lists->loops;
    question->loop_count = lists->loop_count;
    question->values = lists->values;
    question->value_count = lists->value_count;
    question->calls = lists->calls;
    question->call_count = lists->call_count;
}

static int ask_code(struct makespan *makespan, const struct lists *lists)
{
    gordian_ptx_question question;
    gordian_error error = {0};
    gordian_ptx_question_init(&question);
    if (makespan->own)
        gordian_ptx_own_question(makespan->code, (gordian_ptx_event)makespan->event, makespan->size,
                                 makespan->size, makespan->multiprocessors, &question);
    else
        fill_question(makespan, lists, &question);
    question.table = lists->table;
    question.only_loops = makespan->list_loops;
    for (size_t i = 0; i < LETTERS; i++) /* weight of a cycle of each letter */
        makespan_units_of(makespan, (char)('A' + i), &question.weights[i]);
    if (gordian_ptx_ask(makespan->code, &question, &makespan->ptx, &error) != GORDIAN_OK)
        return cli_fail(makespan->cli, makespan->source, &error);
    makespan->kernel = makespan->ptx.letters;
    return EXIT_NOTHING;
}

/* ------------------------------------------------------------------ files */

static int open_own(struct makespan *makespan)
{
    gordian_error error = {0};
    makespan->source = "osdda.cu";
    if (gordian_ptx_open_own(&makespan->code, NULL, &error) != GORDIAN_OK)
        return cli_fail(makespan->cli, "--own", &error);
    return EXIT_NOTHING;
}

static int open_file(struct makespan *makespan, const char *path, struct input *input)
{
    int code;
    size_t length = strlen(path);
    if (length <= 3 || strcmp(path + length - 3, ".cu") != 0 || access(path, R_OK) != 0) {
        code = input_open(input, makespan->cli, path); /* reports errors */
        makespan->source = input->name;
        return code;
    }
    int fd = makespan_compile(makespan, path, &code);
    snprintf(makespan->made_name, sizeof makespan->made_name, "PTX of %s", path);
    makespan->source = makespan->made_name;
    if (fd >= 0)
        input_take(input, makespan->cli, fd, makespan->source);
    return code;
}

int makespan_read_code(struct makespan *makespan, const char *path)
{
    struct input input = {.fd = -1};
    gordian_error error = {0};
    struct lists *lists = lists_open(makespan);
    if (!lists)
        return cli_no_memory(makespan->cli);
    int code = path ? open_file(makespan, path, &input) : open_own(makespan);
    THEN_CODE(code, read_lists(makespan, lists));
    THEN_CODE(code, open_table(makespan, lists));
    if (code == EXIT_NOTHING && path &&
        gordian_ptx_read(&makespan->code, &input.source, NULL, &error) != GORDIAN_OK)
        code = cli_fail(makespan->cli, makespan->source, &error);
    THEN_CODE(code, ask_code(makespan, lists));
    input_close(&input);
    for (size_t i = 0; lists && i < lists->call_count; i++)
        free(lists->letters[i]);
    if (lists)
        gordian_ptx_table_close(lists->table);
    free(lists);
    return code;
}

uint64_t makespan_any_path(const struct makespan *makespan)
{
    uint64_t units[LETTERS], repeats;
    if (!makespan->code)
        return UINT64_MAX;
    for (size_t i = 0; i < LETTERS; i++)
        units[i] = makespan_units_of(makespan, (char)('A' + i), &repeats);
    return gordian_ptx_any_path(&makespan->ptx, units, makespan->scheduler_count, makespan->warps);
}
