/* The command line's common part: what every command gets, says and returns.
 *
 * One file a command (gen.c, detect/check.c, ...), each with a `struct command`;
 * table.c has the one table of them. A command parses its options with
 * cli_parse, writes data to cli->out, says everything else with cli_say, and
 * returns an exit code. To add a command: write its file, name it in
 * commands.h and table.c, list it in meson.build, write its man page.
 */
#pragma once

#include "cli/base/options.h"
#include "cli/base/progress.h"
#include "foundation/base/io/output.h"
#include "foundation/base/json/json_write.h"
#include "output/show/style.h"

#include <gordian/gordian.h>

enum exit_code {
    EXIT_NOTHING = 0,     /* nothing found */
    EXIT_FOUND = 1,       /* a deadlock was found */
    EXIT_MISUSE = 2,      /* bad use or bad input */
    EXIT_UNAVAILABLE = 3, /* an engine that was asked for is not here */
    EXIT_BROKEN = 4,      /* out of memory, or reading or writing failed */
    EXIT_INCOMPLETE = 5,  /* nothing found, but not everything was seen */
};

/* TRY and THEN (error.h) for exit codes: return one that says something, or run the call unless a
 * step before it failed. */
#define TRY_CODE(call)                                                                             \
    do {                                                                                           \
        int tried = (call);                                                                        \
        if (tried != EXIT_NOTHING)                                                                 \
            return tried;                                                                          \
    } while (0)
#define THEN_CODE(code, call)                                                                      \
    do {                                                                                           \
        if ((code) == EXIT_NOTHING)                                                                \
            (code) = (call);                                                                       \
    } while (0)

struct cli;

struct command {
    const char *name;
    const char *operands;                               /* as in the usage line: "[FILE]" */
    const char *summary;                                /* one line, for the list of commands */
    const char *about;                                  /* paragraphs for --help */
    int (*run)(struct cli *cli, int argc, char **argv); /* argv[0]: the first argument */
    const char *missing; /* NULL, or why this program cannot do it: "built without ..." */
    const char *part;    /* NULL, or the program that does it: parts/part.h */
};

enum color_choice {
    COLOR_AUTO,
    COLOR_ALWAYS,
    COLOR_NEVER,
};

struct cli {
    const struct command *command; /* NULL before one is known */
    struct output out;             /* standard output */
    bool out_is_terminal;
    struct progress progress;

    /* the common options */
    bool json, quiet, verbose, help, version, dump_options;
    unsigned color; /* enum color_choice */
    const char *engine;

    /* How this process was started, for a command that starts another. */
    bool pipe_was_ignored;   /* SIGPIPE */
    unsigned streams_filled; /* bit fd: the standard stream was closed, and is filled now */
    char **words;            /* its arguments, all of them */

    /* Where messages go instead of standard error, a text of whole lines each: the log of a
     * service must never wait for whatever reads its standard error. NULL: standard error. */
    void (*take_message)(void *context, const char *text, size_t length);
    void *message_context;
};

void cli_init(struct cli *cli);

/* Colours: as --color says; on "auto" when stdout is a terminal and NO_COLOR is not set. */
struct style cli_style(const struct cli *cli);

/* Parses the command's own options (ending in one without a name) and the
 * common ones, and serves --help and --version. On success the operands come
 * first in argv and their count is returned; otherwise -1, and *code is what
 * to exit with. */
int cli_parse(struct cli *cli, const struct option *own, int argc, char **argv, int *code);
/* The same for a command whose operands are another command: stops at the first operand and
 * returns its index. */
int cli_parse_before(struct cli *cli, const struct option *own, int argc, char **argv, int *code);
/* The same for what stands before the command: stops at the first operand. */
int cli_parse_leading(struct cli *cli, int argc, char **argv, int *code);

/* Is this gordian-mpi? Only there are engines of this name. */
bool cli_is_mpi(void);

/* The lines of --version after the first; NULL in programs that do some commands only. */
extern void (*const cli_write_features)(struct output *out);

/* What a command that this program lacks does: says why. */
int cli_missing(struct cli *cli, int argc, char **argv);

/* Bad use: the message, where to look, EXIT_MISUSE. */
int cli_misuse(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line on stderr, after what stdout has so far: "gordian detect: ...". */
void cli_say(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line about a place in an input: "FILE:LINE:COLUMN: error: ...". */
void cli_say_at(struct cli *cli, const char *file, uint64_t line, uint64_t column,
                const char *message);
/* Says what went wrong, with the place if it has one; returns the exit code for it. */
int cli_fail(struct cli *cli, const char *file, const gordian_error *error);
/* The same for what fails most often, with EXIT_BROKEN: memory, or a file that cannot be written.
 */
int cli_no_memory(struct cli *cli);
int cli_cannot_write(struct cli *cli, const char *path, int why);
/* Makes the file and lets `write` fill it. */
typedef gordian_status cli_writer(void *context, struct output *out, gordian_error *error);
gordian_status cli_write_file(const char *path, cli_writer *write, void *context,
                              gordian_error *error);
/* Names of files for one thing after the other: "graph.svg", then "graph-2.svg", ... */
void cli_numbered_path(const char *path, uint64_t number, char *whole, size_t size);
/* Standard output for the library. */
gordian_writer cli_writer_out(struct cli *cli);
/* Shows this text as progress; `cli` is a struct cli. */
void cli_show_progress(void *cli, const char *text);
/* Converts a source to a gordian_form on stdout; returns the exit code. */
int cli_convert(struct cli *cli, const gordian_source *source, const char *name, unsigned form);
/* Flushes stdout: `code`, or EXIT_BROKEN (said, unless the reader has gone) if writing failed. */
int cli_finish(struct cli *cli, int code);

/* Servers of debugging information are asked where DEBUGINFOD_URLS names some; but not for minutes,
 * unless that was asked for. */
void cli_bound_servers(void);
