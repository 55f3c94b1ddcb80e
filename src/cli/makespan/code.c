/* A kernel's code as a string of letters: PTX, a .cu by way of nvcc, or the project's own kernel.
 */
#include "base/memory.h"
#include "base/reader.h"
#include "cli/input.h"
#include "cli/makespan/makespan.h"
#include "ptx/own.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIST_MAX 200u

/* The lists that options give. */
struct lists {
    struct ptx_named loops[LIST_MAX], values[LIST_MAX];
    struct ptx_code calls[LIST_MAX];
    size_t loop_count, value_count, call_count;
    char *letters; /* of the calls, each with a NUL */
};

/* ------------------------------------------------------------------ lists */

/* "NAME=N,NAME=N" */
static int read_named(struct makespan *makespan, const char *option, const char *text,
                      struct ptx_named *list, size_t *count)
{
    for (bool more = text != NULL; more;) {
        size_t length = strcspn(text, ","), name = 0;
        const char *why = "is not NAME=N";
        while (name < length && text[name] != '=')
            name++;
        if (*count == LIST_MAX)
            return cli_misuse(makespan->cli, "--%s: more than %u names", option, LIST_MAX);
        if (name == 0 || name == length ||
            !parse_u64(text + name + 1, length - name - 1, &list[*count].value, &why))
            return cli_misuse(makespan->cli, "--%s: '%.*s' %s", option,
                              (int)(length < 60 ? length : 60), text, why);
        list[*count].name = text;
        list[(*count)++].length = name;
        more = text[length] == ',';
        text += length + more;
    }
    return EXIT_NOTHING;
}

/* "NAME=LETTERS,NAME=-": writes the letters to `to`, a NUL after each; `to` NULL: only tells how
 * much there is to write. */
static int read_calls(struct makespan *makespan, struct lists *lists, char *to, size_t *size)
{
    const char *text = makespan->calls;
    *size = lists->call_count = 0;
    for (bool more = true; more;) {
        size_t length = strcspn(text, ","), name = 0, count;
        gordian_error error = {0};
        while (name < length && text[name] != '=')
            name++;
        if (name == 0 || name == length)
            return cli_misuse(makespan->cli, "--call: '%.*s' is not NAME=LETTERS",
                              (int)(length < 60 ? length : 60), text);
        if (lists->call_count == LIST_MAX)
            return cli_misuse(makespan->cli, "--call: more than %u names", LIST_MAX);
        const char *letters = text + name + 1;
        size_t written = length - name - 1;
        if (written == 1 && *letters == '-')
            written = 0;
        if (ptx_letters(letters, written, PTX_STRING_MAX, to ? to + *size : NULL, &count, &error))
            return cli_misuse(makespan->cli, "--call: '%.*s': %s", (int)(length < 60 ? length : 60),
                              text, error.message);
        lists->calls[lists->call_count++] =
            (struct ptx_code){.name = text, .length = name, .letters = to ? to + *size : NULL};
        *size += count + 1;
        if (to)
            to[*size - 1] = '\0';
        more = text[length] == ',';
        text += length + more;
    }
    return EXIT_NOTHING;
}

static int read_lists(struct makespan *makespan, struct lists *lists)
{
    int code = read_named(makespan, "loop", makespan->loops, lists->loops, &lists->loop_count);
    if (code == EXIT_NOTHING)
        code = read_named(makespan, "set", makespan->values, lists->values, &lists->value_count);
    size_t size = 0;
    if (code != EXIT_NOTHING || !makespan->calls)
        return code;
    code = read_calls(makespan, lists, NULL, &size);
    if (code != EXIT_NOTHING)
        return code;
    lists->letters = malloc(size);
    if (!lists->letters) {
        cli_say(makespan->cli, "out of memory");
        return EXIT_BROKEN;
    }
    return read_calls(makespan, lists, lists->letters, &size);
}

/* ------------------------------------------------------------------ the table of units */

/* "PATTERN=LETTERS,..." */
static int add_units(struct makespan *makespan, struct ptx_table *table)
{
    const char *text = makespan->unit;
    for (bool more = text != NULL; more;) {
        size_t length = strcspn(text, ","), pattern = 0;
        gordian_error error = {0};
        while (pattern < length && text[pattern] != '=')
            pattern++;
        if (pattern == length)
            return cli_misuse(makespan->cli, "--unit: '%.*s' is not PATTERN=LETTERS",
                              (int)(length < 60 ? length : 60), text);
        gordian_status status = ptx_table_add_line(table, text, pattern, text + pattern + 1,
                                                   length - pattern - 1, &error);
        if (status != GORDIAN_OK)
            return cli_fail(makespan->cli, "--unit", &error);
        more = text[length] == ',';
        text += length + more;
    }
    return EXIT_NOTHING;
}

static int open_table(struct makespan *makespan, struct ptx_table **table)
{
    gordian_error error = {0};
    if (ptx_table_open(table, NULL, &error) != GORDIAN_OK)
        return cli_fail(makespan->cli, NULL, &error);
    int code = EXIT_NOTHING;
    if (makespan->table) {
        struct input input;
        code = input_open(&input, makespan->cli, makespan->table);
        if (code != EXIT_NOTHING)
            return code;
        if (ptx_table_add(*table, &input.source, &error) != GORDIAN_OK)
            code = cli_fail(makespan->cli, input.name, &error);
        input_close(&input);
    }
    return code == EXIT_NOTHING ? add_units(makespan, *table) : code;
}

/* ------------------------------------------------------------------ asking */

static int ask(struct makespan *makespan, const struct ptx *ptx,
               const struct ptx_question *question)
{
    gordian_error error = {0};
    if (ptx_string(&makespan->ptx, ptx, question, NULL, &error) != GORDIAN_OK)
        return cli_fail(makespan->cli, makespan->source, &error);
    makespan->has_ptx = true;
    makespan->kernel = makespan->ptx.letters;
    return EXIT_NOTHING;
}

/* What a cycle of each letter counts. */
static void weigh(const struct makespan *makespan, struct ptx_question *question)
{
    for (size_t i = 0; i < LETTERS; i++) {
        uint32_t repeats;
        makespan_units_of(makespan, (char)('A' + i), &repeats);
        question->weights[i] = repeats;
    }
}

static int ask_file(struct makespan *makespan, const struct ptx *ptx, struct lists *lists,
                    struct ptx_table *table)
{
    struct ptx_question question = {.entry = makespan->entry,
                                    .table = table,
                                    .path = makespan->path,
                                    .from = makespan->from,
                                    .to = makespan->to,
                                    .avoid = makespan->avoid,
                                    .loops = lists->loops,
                                    .loop_count = lists->loop_count,
                                    .values = lists->values,
                                    .value_count = lists->value_count,
                                    .calls = lists->calls,
                                    .call_count = lists->call_count,
                                    .only_loops = makespan->list_loops};
    weigh(makespan, &question);
    return ask(makespan, ptx, &question);
}

static int ask_own(struct makespan *makespan, const struct ptx *ptx, struct ptx_table *table)
{
    struct own_question own;
    own_ask(&own, (enum own_event)makespan->event, makespan->size, makespan->size,
            own_blocks(makespan->size, makespan->multiprocessors));
    struct ptx_question question = {.entry = own.entry,
                                    .table = table,
                                    .from = own.from,
                                    .to = own.to,
                                    .avoid = own.avoid,
                                    .loops = own.loops,
                                    .loop_count = own.loop_count,
                                    .extra_loops = true,
                                    .only_loops = makespan->list_loops};
    weigh(makespan, &question);
    return ask(makespan, ptx, &question);
}

static int read_text(struct makespan *makespan)
{
    struct ptx *ptx = NULL;
    struct ptx_table *table = NULL;
    gordian_error error = {0};
    struct lists *lists = calloc(1, sizeof *lists);
    int code = EXIT_NOTHING;
    if (!lists) {
        cli_say(makespan->cli, "out of memory");
        return EXIT_BROKEN;
    }
    code = read_lists(makespan, lists);
    if (code == EXIT_NOTHING)
        code = open_table(makespan, &table);
    if (code == EXIT_NOTHING && ptx_read(&ptx, &makespan->text, NULL, &error) != GORDIAN_OK)
        code = cli_fail(makespan->cli, makespan->source, &error);
    if (code == EXIT_NOTHING)
        code =
            makespan->own ? ask_own(makespan, ptx, table) : ask_file(makespan, ptx, lists, table);
    ptx_free(ptx);
    ptx_table_close(table);
    free(lists->letters);
    free(lists);
    return code;
}

/* ------------------------------------------------------------------ files */

static ptrdiff_t read_fd(void *context, char *buffer, size_t size)
{
    for (;;) {
        ssize_t count = read(*(int *)context, buffer, size);
        if (count >= 0 || errno != EINTR)
            return count;
    }
}

static bool ends_in(const char *path, const char *end)
{
    size_t length = strlen(path), tail = strlen(end);
    return length > tail && strcmp(path + length - tail, end) == 0;
}

static int load_own(struct makespan *makespan)
{
    gordian_error error = {0};
    size_t size;
    const char *text = own_ptx(&size);
    makespan->source = "osdda.cu";
    if (!text) {
        cli_say(makespan->cli, "--own: built without nvcc, so the kernel's PTX is not here");
        return EXIT_UNAVAILABLE;
    }
    if (text_copy(&makespan->text, "own.ptx", text, size, NULL, &error) != GORDIAN_OK)
        return cli_fail(makespan->cli, NULL, &error);
    return EXIT_NOTHING;
}

static int load_file(struct makespan *makespan, const char *path)
{
    gordian_error error = {0};
    struct input input;
    int code;
    if (ends_in(path, ".cu")) {
        int fd = access(path, R_OK) == 0 ? makespan_compile(makespan, path, &code) : -1;
        if (fd < 0 && access(path, R_OK) != 0)
            return input_open(&input, makespan->cli, path); /* says why not */
        if (fd < 0)
            return code;
        gordian_source source = {read_fd, &fd};
        snprintf(makespan->made_name, sizeof makespan->made_name, "PTX of %s", path);
        makespan->source = makespan->made_name;
        gordian_status status = text_read(&makespan->text, path, &source, NULL, &error);
        close(fd);
        return status == GORDIAN_OK ? EXIT_NOTHING : cli_fail(makespan->cli, path, &error);
    }
    code = input_open(&input, makespan->cli, path);
    if (code != EXIT_NOTHING)
        return code;
    makespan->source = input.name;
    if (text_read(&makespan->text, input.name, &input.source, NULL, &error) != GORDIAN_OK)
        code = cli_fail(makespan->cli, input.name, &error);
    input_close(&input);
    return code;
}

int makespan_read_code(struct makespan *makespan, const char *path)
{
    int code = path ? load_file(makespan, path) : load_own(makespan);
    return code == EXIT_NOTHING ? read_text(makespan) : code;
}

void makespan_free_code(struct makespan *makespan)
{
    if (makespan->text.bytes)
        text_free(&makespan->text);
    if (makespan->has_ptx)
        ptx_answer_free(&makespan->ptx);
}

uint64_t makespan_any_path(const struct makespan *makespan)
{
    uint64_t units[LETTERS];
    uint32_t repeats;
    if (!makespan->has_ptx)
        return UINT64_MAX;
    for (size_t i = 0; i < LETTERS; i++)
        units[i] = makespan_units_of(makespan, (char)('A' + i), &repeats);
    return ptx_any_path_bound(&makespan->ptx, units, makespan->scheduler_count, makespan->warps);
}
