/* Input of `gordian compose`: reads files and their imports, and reports errors. */
#include "cli/compose/compose.h"

#include "cli/base/input.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ errors */

/* Shows the line, and a caret below the position. */
static void show_line(const char *line, uint32_t caret)
{
    if (!line[0])
        return;
    fputs("    ", stderr);
    print_safely(stderr, line);
    fprintf(stderr, "\n    %*s^\n", (int)caret, "");
}

/* Shows where a parameter from there is used incorrectly. */
static void show_inner(const gordian_fault *fault)
{
    if (!fault->inner_file[0])
        return;
    print_safely(stderr, fault->inner_file);
    fprintf(stderr, ":%llu:%llu: it is used here\n", (unsigned long long)fault->inner_line,
            (unsigned long long)fault->inner_column);
    show_line(fault->inner_text, fault->inner_caret);
}

static int say_fault(struct compose *compose, const char *path, const gordian_fault *fault,
                     const gordian_error *error)
{
    int code = cli_fail(compose->cli, fault->file[0] ? fault->file : path, error);
    if (error->line) {
        show_line(fault->line, fault->caret);
        show_inner(fault);
    }
    return code;
}

/* Reports that --max-memory was reached during reading. */
static int refuse_size(struct compose *compose, const char *path)
{
    cli_say(compose->cli, "%s: reading it takes more memory than --max-memory allows", path);
    return EXIT_INCOMPLETE;
}

/* ------------------------------------------------------------------ inputs */

static gordian_status read_subject(struct compose *compose, struct subject *subject,
                                   const gordian_source *source, const char *main, const char *data,
                                   gordian_fault *fault, gordian_error *error)
{
    gordian_circuit *circuit;
    gordian_circuit_options options;
    if (subject->format == GORDIAN_FORMAT_AUT) {
        gordian_status status =
            gordian_graph_read(&subject->graph, subject->path, source, &compose->reading.memory,
                               &subject->cut, fault, error);
        if (subject->cut && !compose->cli->quiet)
            cli_say(compose->cli, "%s: the file is truncated: using the part that was read",
                    subject->path);
        return status;
    }
    gordian_circuit_options_init(&options);
    options.main = main;
    options.data = data;
    options.files = true;
    options.folders = compose->folders.text;
    options.define = compose->defines;
    options.allocator = &compose->reading.memory;
    bool known = subject->format == GORDIAN_FORMAT_CA || subject->format == GORDIAN_FORMAT_PNML;
    gordian_format format = known ? subject->format : GORDIAN_FORMAT_TREO;
    gordian_status status =
        gordian_circuit_read(&circuit, format, subject->path, source, &options, fault, error);
    if (status == GORDIAN_OK)
        subject_take(subject, circuit);
    if (status == GORDIAN_OK && !compose->cli->quiet) {
        for (const char *note = gordian_circuit_notes(circuit); *note;) {
            size_t length = strcspn(note, "\n");
            cli_say(compose->cli, "%.*s", (int)length, note);
            note += length + 1;
        }
    }
    return status;
}

/* Opens, reads and parses. If it returns EXIT_MISUSE with error->status set, `fault` and `error`
 * describe the error; other errors were reported. */
static int read_path(struct compose *compose, struct subject *subject, const char *path,
                     const char *main, const char *data, gordian_fault *fault, gordian_error *error)
{
    struct input input;
    *subject = (struct subject){.path = path, .format = gordian_format_of(path)};
    TRY_CODE(input_open(&input, compose->cli, path));
    subject->path = input.name;
    gordian_status status = read_subject(compose, subject, &input.source, main, data, fault, error);
    input_close(&input);
    return status == GORDIAN_OK ? EXIT_NOTHING : EXIT_MISUSE;
}

int subject_read(struct compose *compose, struct subject *subject, const char *path,
                 const char *main, const char *data)
{
    gordian_fault fault = {.caret = 0};
    gordian_error error = {0};
    gordian_format format = gordian_format_of(path);
    if (format == GORDIAN_FORMAT_DOT)
        return cli_misuse(compose->cli, "'%.200s': pictures can be written, but not read", path);
    if (format == GORDIAN_FORMAT_MCRL2 || format == GORDIAN_FORMAT_PROMELA)
        return cli_misuse(compose->cli, "'%.200s': this format can be written, but not read", path);
    if (main && (format == GORDIAN_FORMAT_AUT || format == GORDIAN_FORMAT_CA ||
                 format == GORDIAN_FORMAT_PNML))
        return cli_misuse(compose->cli, "'%.200s' has no components: --main is for .treo", path);
    if (data && format == GORDIAN_FORMAT_AUT)
        return cli_misuse(compose->cli, "'%.200s' is already composed: --data cannot be used",
                          path);
    int code = read_path(compose, subject, path, main, data, &fault, &error);
    if (code == EXIT_NOTHING || error.status == GORDIAN_OK)
        return code;
    if (error.status == GORDIAN_STATUS_MEMORY && compose->reading.refused)
        return refuse_size(compose, subject->path);
    return say_fault(compose, subject->path, &fault, &error);
}

/* ------------------------------------------------------------------ several inputs */

/* Checks that the inputs can be composed together; 0: yes. */
static int check_together(struct compose *compose, char **paths, size_t count)
{
    size_t texts = 0;
    for (size_t i = 0; i < count; i++) {
        gordian_format format = gordian_format_of(paths[i]);
        texts += format != GORDIAN_FORMAT_CA && format != GORDIAN_FORMAT_PNML;
        if (format == GORDIAN_FORMAT_AUT)
            return cli_misuse(compose->cli,
                              "'%.200s' is already composed: only circuits (.treo, .ca) can be "
                              "composed with others",
                              paths[i]);
    }
    if (compose->main && texts != 1)
        return cli_misuse(compose->cli, "--main needs exactly one .treo, but there are %zu", texts);
    return EXIT_NOTHING;
}

static int join_parts(struct compose *compose, struct subject *subject, const struct subject *parts,
                      size_t count)
{
    gordian_error error = {0};
    gordian_allocator memory = memory_allocator(NULL);
    gordian_circuit *joined;
    const gordian_circuit **circuits = memory_zeroed(&memory, count * sizeof *circuits);
    gordian_status status = circuits ? GORDIAN_OK : fail_memory(&error);
    for (size_t i = 0; i < count && circuits; i++)
        circuits[i] = parts[i].circuit;
    THEN(status, gordian_circuit_join(&joined, circuits, count, compose->data,
                                      &compose->reading.memory, &error));
    memory_free(&memory, circuits);
    if (status == GORDIAN_STATUS_MEMORY && compose->reading.refused)
        return refuse_size(compose, subject->path);
    if (status != GORDIAN_OK)
        return cli_fail(compose->cli, NULL, &error);
    subject_take(subject, joined);
    return EXIT_NOTHING;
}

int subjects_read(struct compose *compose, struct subject *subject, char **paths, size_t count)
{
    if (count == 1)
        return subject_read(compose, subject, paths[0], compose->main, compose->data);
    gordian_allocator memory = memory_allocator(NULL);
    *subject = (struct subject){.path = "the files together", .format = GORDIAN_FORMAT_CA};
    int code = check_together(compose, paths, count);
    TRY_CODE(code);
    struct subject *parts = memory_zeroed(&memory, count * sizeof *parts);
    if (!parts)
        return cli_no_memory(compose->cli);
    for (size_t i = 0; i < count && code == EXIT_NOTHING; i++) {
        gordian_format format = gordian_format_of(paths[i]);
        bool treo = format != GORDIAN_FORMAT_CA && format != GORDIAN_FORMAT_PNML;
        code =
            subject_read(compose, &parts[i], paths[i], treo ? compose->main : NULL, compose->data);
    }
    THEN_CODE(code, join_parts(compose, subject, parts, count));
    for (size_t i = 0; i < count; i++)
        subject_free(&parts[i]);
    memory_free(&memory, parts);
    return code;
}

void subject_take(struct subject *subject, gordian_circuit *circuit)
{
    gordian_circuit_close(subject->circuit);
    subject->circuit = circuit;
    gordian_circuit_describe(circuit, &subject->info);
}

const char *subject_title(const struct subject *subject)
{
    return subject->circuit ? subject->info.title : subject->path;
}

void subject_free(struct subject *subject)
{
    gordian_circuit_close(subject->circuit);
    gordian_graph_close(subject->graph);
    *subject = (struct subject){0};
}
