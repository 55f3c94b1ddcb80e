/* The texts that `gordian compose` reads: the file, what it imports, and what is wrong with it. */
#include "cli/compose/compose.h"

#include "base/error.h"
#include "base/memory.h"
#include "cli/input.h"
#include "compose/join.h"
#include "compose/treo/treo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum compose_format compose_format_of(const char *path)
{
    static const struct {
        const char *ending;
        enum compose_format format;
    } formats[] = {
        {".aut", FORMAT_AUT}, {".ca", FORMAT_CA}, {".dot", FORMAT_DOT}, {".treo", FORMAT_TREO}};
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        size_t tail = strlen(formats[i].ending);
        if (length > tail && strcmp(path + length - tail, formats[i].ending) == 0)
            return formats[i].format;
    }
    return FORMAT_NONE;
}

/* ------------------------------------------------------------------ what is wrong */

/* The line itself, and a caret below the place. */
static void show_line(const struct fault *fault)
{
    if (!fault->line[0])
        return;
    fputs("    ", stderr);
    print_safely(stderr, fault->line);
    fprintf(stderr, "\n    %*s^\n", (int)fault->caret, "");
}

static int say_fault(struct compose *compose, const char *path, const struct fault *fault,
                     const gordian_error *error)
{
    int code = cli_fail(compose->cli, fault->file[0] ? fault->file : path, error);
    if (error->line)
        show_line(fault);
    return code;
}

/* ------------------------------------------------------------------ imports */

static ptrdiff_t read_fd(void *context, char *buffer, size_t size)
{
    const int *fd = context;
    for (;;) {
        ssize_t count = read(*fd, buffer, size);
        if (count >= 0 || errno != EINTR)
            return count;
    }
}

/* One place to look for what is imported; GORDIAN_STATUS_END: it is not there. */
static gordian_status open_import(const char *folder, size_t length, const char *path,
                                  struct text *text, gordian_error *error)
{
    char whole[1024];
    if (snprintf(whole, sizeof whole, "%.*s%s", (int)length, folder, path) >= (int)sizeof whole)
        return GORDIAN_STATUS_END;
    int fd = open(whole, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return GORDIAN_STATUS_END;
    if (fd < 0)
        return fail(error, GORDIAN_STATUS_INPUT, "cannot read '%.200s': %s", whole,
                    strerror(errno));
    gordian_source source = {read_fd, &fd};
    gordian_status status = text_read(text, whole, &source, NULL, error);
    close(fd);
    return status;
}

/* The same beside a file. */
static gordian_status open_beside(const char *file, const char *path, struct text *text,
                                  gordian_error *error)
{
    const char *slash = strrchr(file, '/');
    return open_import(file, slash ? (size_t)(slash - file) + 1 : 0, path, text, error);
}

/* Beside the file that imports, beside the first one, where a.b in a section a is a/b.treo, and in
 * the folders of --include, which ':' separates. */
static gordian_status find_import(void *context, const char *from, const char *path,
                                  struct text *text, gordian_error *error)
{
    const struct compose *compose = context;
    gordian_status status = open_beside(from, path, text, error);
    if (status == GORDIAN_STATUS_END)
        status = open_beside(compose->root, path, text, error);
    for (const char *folder = compose->folder; folder && status == GORDIAN_STATUS_END;) {
        char name[700];
        size_t length = strcspn(folder, ":");
        snprintf(name, sizeof name, "%.*s/", (int)(length < 690 ? length : 690), folder);
        status = open_import(name, strlen(name), path, text, error);
        folder = folder[length] ? folder + length + 1 : NULL;
    }
    return status;
}

/* ------------------------------------------------------------------ subjects */

static gordian_status read_subject(struct compose *compose, struct subject *subject,
                                   const struct text *text, const char *main, const char *data,
                                   struct fault *fault, gordian_error *error)
{
    bool cut = false;
    gordian_status status;
    compose->root = subject->path;
    struct treo_options options = {
        .main = main, .data = data, .import = find_import, .context = compose};
    switch (subject->format) {
    case FORMAT_AUT:
        status = aut_read(&subject->graph, text, &cut, NULL, fault, error);
        if (cut && !compose->cli->quiet)
            cli_say(compose->cli, "%s: the end is missing; taking what there is", subject->path);
        return status;
    case FORMAT_CA:
        return ca_read(&subject->circuit, text, data, NULL, fault, error);
    default:
        return treo_read(&subject->circuit, text, &options, fault, error);
    }
}

/* Opens, reads, parses. `fault` and `error` say what is wrong if the code is EXIT_MISUSE and
 * error->status is set; otherwise it has been said. */
static int read_path(struct compose *compose, struct subject *subject, const char *path,
                     const char *main, const char *data, struct fault *fault, gordian_error *error)
{
    struct input input;
    struct text text;
    *subject = (struct subject){.path = path, .format = compose_format_of(path)};
    int code = input_open(&input, compose->cli, path);
    if (code != EXIT_NOTHING)
        return code;
    subject->path = input.name;
    gordian_status status = text_read(&text, input.name, &input.source, NULL, error);
    input_close(&input);
    if (status != GORDIAN_OK)
        return EXIT_MISUSE;
    status = read_subject(compose, subject, &text, main, data, fault, error);
    text_free(&text);
    return status == GORDIAN_OK ? EXIT_NOTHING : EXIT_MISUSE;
}

int subject_read(struct compose *compose, struct subject *subject, const char *path,
                 const char *main, const char *data)
{
    struct fault fault = {{0}, {0}, 0};
    gordian_error error = {0};
    enum compose_format format = compose_format_of(path);
    if (format == FORMAT_DOT)
        return cli_misuse(compose->cli, "'%.200s': pictures are written, not read", path);
    if (main && (format == FORMAT_AUT || format == FORMAT_CA))
        return cli_misuse(compose->cli, "'%.200s' has no components: --main is for .treo", path);
    if (data && format == FORMAT_AUT)
        return cli_misuse(compose->cli, "'%.200s' is composed already: --data is too late", path);
    int code = read_path(compose, subject, path, main, data, &fault, &error);
    if (code == EXIT_NOTHING || error.status == GORDIAN_OK)
        return code;
    return say_fault(compose, subject->path, &fault, &error);
}

/* ------------------------------------------------------------------ several at once */

/* What cannot be composed with others; 0: nothing. */
static int check_together(struct compose *compose, char **paths, size_t count)
{
    size_t texts = 0;
    for (size_t i = 0; i < count; i++) {
        enum compose_format format = compose_format_of(paths[i]);
        texts += format != FORMAT_CA;
        if (format == FORMAT_AUT)
            return cli_misuse(compose->cli,
                              "'%.200s' is composed already: only circuits (.treo, .ca) can be "
                              "composed with others",
                              paths[i]);
    }
    if (compose->main && texts != 1)
        return cli_misuse(compose->cli, "--main is for one .treo, here are %zu", texts);
    return EXIT_NOTHING;
}

static int join(struct compose *compose, struct subject *subject, const struct subject *parts,
                size_t count)
{
    gordian_error error = {0};
    gordian_allocator memory = memory_allocator(NULL);
    struct joint *joints = memory_zeroed(&memory, count * sizeof *joints);
    gordian_status status = joints ? GORDIAN_OK : fail_memory(&error);
    for (size_t i = 0; i < count && joints; i++)
        joints[i] = (struct joint){parts[i].circuit, parts[i].format != FORMAT_CA};
    if (status == GORDIAN_OK)
        status = circuits_join(&subject->circuit, joints, count, compose->data, NULL, &error);
    memory_free(&memory, joints);
    return status == GORDIAN_OK ? EXIT_NOTHING : cli_fail(compose->cli, NULL, &error);
}

int subjects_read(struct compose *compose, struct subject *subject, char **paths, size_t count)
{
    if (count == 1)
        return subject_read(compose, subject, paths[0], compose->main, compose->data);
    gordian_allocator memory = memory_allocator(NULL);
    *subject = (struct subject){.path = "the files together", .format = FORMAT_CA};
    int code = check_together(compose, paths, count);
    if (code != EXIT_NOTHING)
        return code;
    struct subject *parts = memory_zeroed(&memory, count * sizeof *parts);
    if (!parts) {
        gordian_error error = {0};
        fail_memory(&error);
        return cli_fail(compose->cli, NULL, &error);
    }
    for (size_t i = 0; i < count && code == EXIT_NOTHING; i++)
        code = subject_read(compose, &parts[i], paths[i],
                            compose_format_of(paths[i]) == FORMAT_CA ? NULL : compose->main,
                            compose->data);
    if (code == EXIT_NOTHING)
        code = join(compose, subject, parts, count);
    for (size_t i = 0; i < count; i++)
        subject_free(&parts[i]);
    memory_free(&memory, parts);
    return code;
}

void subject_free(struct subject *subject)
{
    circuit_free(subject->circuit);
    graph_free(subject->graph);
    *subject = (struct subject){0};
}
