/* --define: definitions of functions and predicates that a circuit only names. */
#include "cli/compose/compose.h"

#include "cli/base/input.h"
#include "foundation/base/error.h"
#include "foundation/base/io/text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Appends the content of a file. */
static int append_file(struct compose *compose, struct output *to, const char *path)
{
    struct input input;
    struct text text;
    gordian_error error = {0};
    TRY_CODE(input_open(&input, compose->cli, path));
    gordian_status status = text_read(&text, input.name, &input.source, NULL, &error);
    input_close(&input);
    if (status != GORDIAN_OK)
        return cli_fail(compose->cli, path, &error);
    output_bytes(to, text.bytes, text.size);
    text_free(&text);
    return EXIT_NOTHING;
}

/* Appends f=TABLE unchanged, and f=FILE with the content of the file. */
static int append_define(struct compose *compose, struct output *to, const char *text,
                         size_t length)
{
    char path[1024];
    const char *equals = memchr(text, '=', length);
    if (!equals)
        snprintf(path, sizeof path, "%.*s", (int)length, text);
    else
        snprintf(path, sizeof path, "%.*s", (int)(length - (size_t)(equals + 1 - text)),
                 equals + 1);
    if (path[strspn(path, " \t")] && access(path, F_OK) == 0) {
        if (equals)
            output_bytes(to, text, (size_t)(equals + 1 - text));
        return append_file(compose, to, path);
    }
    if (!equals && length > 0)
        return append_file(compose, to, path); /* reports that there is no such file */
    output_bytes(to, text, length);
    return EXIT_NOTHING;
}

int defines_read(struct compose *compose, char **text)
{
    struct output all;
    int code = EXIT_NOTHING;
    *text = NULL;
    if (!compose->define.text)
        return EXIT_NOTHING;
    bool fine = output_open(&all, OUTPUT_MEMORY);
    for (const char *rest = compose->define.text; fine && *rest && code == EXIT_NOTHING;) {
        size_t length = strcspn(rest, ";");
        code = append_define(compose, &all, rest, length);
        output_text(&all, ";\n");
        rest += length + (rest[length] == ';');
    }
    output_char(&all, '\0');
    if (code == EXIT_NOTHING && fine && !all.failure)
        *text = strdup(all.buffer);
    if (fine)
        output_close(&all);
    if (code == EXIT_NOTHING && !*text)
        return cli_no_memory(compose->cli);
    return code;
}
