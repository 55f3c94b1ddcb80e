#include "cli/base/cli.h"

#include "foundation/base/error.h"
#include "foundation/base/io/source.h"
#include "foundation/base/nearest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const color_choices[] = {"auto", "always", "never", NULL};

#define COMMON_COUNT 8

/* The options of every command. */
static void common_options(struct cli *cli, struct option table[COMMON_COUNT + 1])
{
    const struct option common[COMMON_COUNT + 1] = {
        {"json", 'j', NULL, "print one JSON object per line", OPTION_FLAG, &cli->json},
        {"engine", 'e', "NAME", "use this engine ('gordian info' lists them;\ndefault: auto)",
         OPTION_WORD, &cli->engine},
        {"quiet", 'q', NULL, "print only results: no progress, no warnings", OPTION_FLAG,
         &cli->quiet},
        {"verbose", 'v', NULL, "print everything", OPTION_FLAG, &cli->verbose},
        {"color", 0, "WHEN", "colours: auto (on a terminal), always, never", OPTION_CHOICE,
         &cli->color, color_choices},
        {"help", 'h', NULL, "print this help", OPTION_FLAG, &cli->help},
        {"version", 'V', NULL, "print the version", OPTION_FLAG, &cli->version},
        {"dump-options", 0, NULL, NULL, OPTION_FLAG, &cli->dump_options},
        {0},
    };
    memcpy(table, common, sizeof common);
}

void cli_init(struct cli *cli)
{
    *cli = (struct cli){.engine = "auto", .color = COLOR_AUTO};
    cli->out_is_terminal = isatty(STDOUT_FILENO);
}

/* ------------------------------------------------------------------ messages */

static void name_program(const struct cli *cli, FILE *to)
{
    fputs(cli->command ? "gordian " : "gordian", to);
    if (cli->command)
        fputs(cli->command->name, to);
}

/* A message under construction: to standard error, or in memory for cli->take_message. */
struct message {
    FILE *to;
    char *text;
    size_t length;
};

static void begin_message(struct cli *cli, struct message *message)
{
    *message = (struct message){.to = stderr};
    /* On a terminal, flush standard output before the message. */
    progress_clear(&cli->progress);
    if (cli->out_is_terminal)
        output_flush(&cli->out);
    if (cli->take_message)
        message->to = open_memstream(&message->text, &message->length);
}

/* Without memory the message is lost. */
static void end_message(struct cli *cli, struct message *message)
{
    if (!cli->take_message || !message->to)
        return;
    if (fclose(message->to) == 0)
        cli->take_message(cli->message_context, message->text, message->length);
    free(message->text);
}

static void write_line(const struct cli *cli, FILE *to, const char *format, va_list arguments)
{
    char message[1024];
    if (!to)
        return;
    vsnprintf(message, sizeof message, format, arguments);
    name_program(cli, to);
    fputs(": ", to);
    print_safely(to, message);
    fputc('\n', to);
}

void cli_say(struct cli *cli, const char *format, ...)
{
    struct message message;
    va_list arguments;
    va_start(arguments, format);
    begin_message(cli, &message);
    write_line(cli, message.to, format, arguments);
    end_message(cli, &message);
    va_end(arguments);
}

void cli_say_at(struct cli *cli, const char *file, uint64_t line, uint64_t column, const char *text)
{
    struct message message;
    begin_message(cli, &message);
    if (message.to) {
        print_safely(message.to, file);
        fprintf(message.to, ":%llu:%llu: error: ", (unsigned long long)line,
                (unsigned long long)column);
        print_safely(message.to, text);
        fputc('\n', message.to);
    }
    end_message(cli, &message);
}

static bool wants_color(const struct cli *cli)
{
    if (cli->color != COLOR_AUTO)
        return cli->color == COLOR_ALWAYS;
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return cli->out_is_terminal && !(no_color && *no_color) &&
           !(terminal && strcmp(terminal, "dumb") == 0);
}

struct style cli_style(const struct cli *cli)
{
    return style_make(wants_color(cli));
}

int cli_misuse(struct cli *cli, const char *format, ...)
{
    struct message message;
    va_list arguments;
    va_start(arguments, format);
    begin_message(cli, &message);
    write_line(cli, message.to, format, arguments);
    va_end(arguments);
    if (message.to) {
        fputs("try '", message.to);
        name_program(cli, message.to);
        fputs(" --help'\n", message.to);
    }
    end_message(cli, &message);
    return EXIT_MISUSE;
}

int cli_fail(struct cli *cli, const char *file, const gordian_error *error)
{
    if (error->line && file)
        cli_say_at(cli, file, error->line, error->column, error->message);
    else if (file)
        cli_say(cli, "%s: %s", file, error->message);
    else
        cli_say(cli, "%s", error->message);
    switch (error->status) {
    case GORDIAN_OK:
    case GORDIAN_STATUS_END:
        return EXIT_NOTHING;
    case GORDIAN_STATUS_INPUT:
        return EXIT_MISUSE;
    case GORDIAN_STATUS_UNAVAILABLE:
        return EXIT_UNAVAILABLE;
    case GORDIAN_STATUS_MEMORY:
    case GORDIAN_STATUS_IO:
    case GORDIAN_STATUS_CANCELLED:
    case GORDIAN_STATUS_VICTIM:
        break;
    }
    return EXIT_BROKEN;
}

int cli_no_memory(struct cli *cli)
{
    cli_say(cli, "out of memory");
    return EXIT_BROKEN;
}

int cli_cannot_write(struct cli *cli, const char *path, int why)
{
    cli_say(cli, "cannot write '%s': %s", path, strerror(why));
    return EXIT_BROKEN;
}

void cli_numbered_path(const char *path, uint64_t number, char *whole, size_t size)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    size_t stem = dot && dot != name ? (size_t)(dot - path) : strlen(path);
    if (number == 1)
        snprintf(whole, size, "%s", path);
    else
        snprintf(whole, size, "%.*s-%llu%s", (int)stem, path, (unsigned long long)number,
                 path + stem);
}

gordian_status cli_write_file(const char *path, cli_writer *write, void *context,
                              gordian_error *error)
{
    struct output out;
    gordian_status status = GORDIAN_OK;
    int failure = 0;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        failure = errno;
    } else if (!output_open(&out, fd)) {
        failure = ENOMEM;
        close(fd);
    } else {
        status = write(context, &out, error);
        if (!output_close(&out))
            failure = out.failure;
        if (close(fd) < 0 && !failure)
            failure = errno;
    }
    if (status == GORDIAN_OK && failure)
        return fail(error, GORDIAN_STATUS_IO, "cannot write '%.200s': %s", path, strerror(failure));
    return status;
}

gordian_writer cli_writer_out(struct cli *cli)
{
    return output_as_writer(&cli->out);
}

void cli_show_progress(void *context, const char *text)
{
    struct cli *cli = context;
    if (cli->progress.wanted)
        progress_show(&cli->progress, "%s", text);
}

int cli_finish(struct cli *cli, int code)
{
    progress_clear(&cli->progress);
    if (output_close(&cli->out))
        return code;
    /* EPIPE: the reader has closed the pipe. */
    if (cli->out.failure != EPIPE)
        cli_say(cli, "cannot write to standard output: %s", strerror(cli->out.failure));
    return EXIT_BROKEN;
}

/* ------------------------------------------------------------------ options */

/* Removes common options that the command replaces. */
static void leave_out(struct option *common, const struct option *own)
{
    struct option *kept = common;
    for (; common->name; common++) {
        const struct option *same = own;
        while (same->name && strcmp(same->name, common->name) != 0)
            same++;
        if (!same->name)
            *kept++ = *common;
    }
    *kept = (struct option){0};
}

static void show_help(struct cli *cli, const struct option *own)
{
    struct option common[COMMON_COUNT + 1];
    common_options(cli, common);
    leave_out(common, own);
    struct output *out = &cli->out;
    const struct command *command = cli->command;
    output_format(out, "Usage: gordian %s [OPTION]...%s%s\n\n", command->name,
                  *command->operands ? " " : "", command->operands);
    output_text(out, command->about);
    if (own->name) {
        output_text(out, "\nOptions:\n");
        options_help(own, out);
    }
    output_text(out, "\nCommon options:\n");
    options_help(common, out);
    output_format(out, "\nThe manual: man gordian-%s\n", command->name);
}

#define ENGINES_MOST 40

/* Output for shell completions and the test of the manual pages: the command, its options, an empty
 * line, the common options. */
static void dump_options(struct cli *cli, const struct option *own)
{
    struct option common[COMMON_COUNT + 1];
    const char *engines[ENGINES_MOST + 1];
    common_options(cli, common);
    leave_out(common, own);
    /* The engines of the command's family, or all if it has none. */
    gordian_engine_info info;
    size_t count = 0, known;
    engines[count++] = "auto";
    for (int all = 0; all < 2 && count == 1; all++)
        for (size_t i = 0; gordian_engine(i, &info) == GORDIAN_OK && count < ENGINES_MOST; i++) {
            for (known = 1; known < count && strcmp(engines[known], info.name) != 0; known++)
                ;
            if (known == count && (all || strcmp(info.family, cli->command->name) == 0))
                engines[count++] = info.name;
        }
    engines[count] = NULL;
    for (struct option *option = common; option->name; option++)
        if (strcmp(option->name, "engine") == 0)
            option->choices = engines;
    output_format(&cli->out, "%s\t%s\t%s\n", cli->command->name, cli->command->operands,
                  cli->command->summary);
    options_dump(own, &cli->out);
    output_text(&cli->out, "\n");
    options_dump(common, &cli->out);
}

static const struct option no_options[] = {{0}};

static int parse_words(struct cli *cli, const struct option *own, int argc, char **argv,
                       bool leading, int *code)
{
    struct option common[COMMON_COUNT + 1];
    common_options(cli, common);
    const struct option *tables[] = {own, common, NULL};
    char complaint[300];
    int operands = options_parse(tables, argc, argv, leading, complaint, sizeof complaint);
    if (operands < 0) {
        *code = cli_misuse(cli, "%s", complaint);
        return -1;
    }
    if (cli->version) {
        output_format(&cli->out, "gordian %s\n", gordian_version());
        if (cli_write_features)
            cli_write_features(&cli->out);
        *code = EXIT_NOTHING;
        return -1;
    }
    return operands;
}

/* Checks the name of the engine: unknown names are a usage error, unlike engines that are not
 * available. Commands without a family of engines accept any name. */
static bool check_engine(struct cli *cli, int *code)
{
    gordian_engine_info info;
    struct nearest nearest = {.typed = cli->engine,
                              .length = cli->engine ? strlen(cli->engine) : 0};
    size_t engines = 0;
    if (!cli->engine || strcmp(cli->engine, "auto") == 0)
        return true;
    for (size_t i = 0; gordian_engine(i, &info) == GORDIAN_OK; i++) {
        if (strcmp(info.family, cli->command->name) != 0)
            continue;
        if (strcmp(info.name, cli->engine) == 0)
            return true;
        nearest_offer(&nearest, info.name);
        engines++;
    }
    if (engines == 0)
        return true;
    if (strcmp(cli->engine, "mpi") == 0) {
        cli_say(cli, "engine 'mpi' is not available: use gordian-mpi");
        *code = EXIT_UNAVAILABLE;
        return false;
    }
    const char *found = nearest_found(&nearest);
    *code = cli_misuse(cli, "unknown engine '%.40s'%s%s%s", cli->engine,
                       found ? "; did you mean '" : ": 'gordian info' lists them",
                       found ? found : "", found ? "'?" : "");
    return false;
}

static int parse_command(struct cli *cli, const struct option *own, int argc, char **argv,
                         bool leading, int *code)
{
    if (!own)
        own = no_options;
    int operands = parse_words(cli, own, argc, argv, leading, code);
    if (operands >= 0 && (cli->help || cli->dump_options)) {
        (cli->dump_options ? dump_options : show_help)(cli, own);
        *code = EXIT_NOTHING;
        return -1;
    }
    if (operands >= 0 && !check_engine(cli, code))
        return -1;
    progress_start(&cli->progress, !cli->quiet && isatty(STDERR_FILENO));
    return operands;
}

int cli_parse(struct cli *cli, const struct option *own, int argc, char **argv, int *code)
{
    return parse_command(cli, own, argc, argv, false, code);
}

int cli_parse_before(struct cli *cli, const struct option *own, int argc, char **argv, int *code)
{
    return parse_command(cli, own, argc, argv, true, code);
}

int cli_parse_leading(struct cli *cli, int argc, char **argv, int *code)
{
    return parse_words(cli, no_options, argc, argv, true, code);
}

int cli_missing(struct cli *cli, int argc, char **argv)
{
    if (argc == 1 && strcmp(argv[0], "--dump-options") == 0) {
        dump_options(cli, no_options);
        return EXIT_NOTHING;
    }
    /* Options are not checked, because this program does not know the options of a missing
     * command. */
    bool help = cli->help;
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        help = help || strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
    if (help) {
        show_help(cli, no_options);
        return EXIT_NOTHING;
    }
    cli_say(cli, "not available: %s", cli->command->missing);
    return EXIT_UNAVAILABLE;
}

void cli_bound_servers(void)
{
    setenv("DEBUGINFOD_TIMEOUT", "10", 0);
    setenv("DEBUGINFOD_MAXTIME", "30", 0);
}
