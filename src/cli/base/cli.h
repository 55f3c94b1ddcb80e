/* Command-line interface: what all commands have in common.
 *
 * Each command has a file (gen.c, detect/check.c, ...) with a `struct command`; table.c has the
 * table
 * of commands. A command parses its options with cli_parse, writes data to cli->out, writes
 * messages
 * with cli_say, and returns an exit code. To add a command: write its file, add it to commands.h,
 * table.c and meson.build, and write its manual page. */
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
    EXIT_MISUSE = 2,      /* usage error or bad input */
    EXIT_UNAVAILABLE = 3, /* a requested engine is not available */
    EXIT_BROKEN = 4,      /* out of memory, or an I/O error */
    EXIT_INCOMPLETE = 5,  /* nothing found, but the search is incomplete */
};

/* TRY and THEN (foundation/base/error.h) for exit codes: return any but EXIT_NOTHING, or run the
 * call unless an earlier step failed. */
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
    const char *missing; /* NULL, or why it is missing in this program: "built without ..." */
    const char *part;    /* NULL, or the program that implements it: parts/part.h */
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

    /* State of this process at its start, for commands that start another one. */
    bool pipe_was_ignored;   /* SIGPIPE */
    unsigned streams_filled; /* bit fd: this standard stream was closed and is replaced */
    char **words;            /* all arguments of the process */

    /* Receives messages (whole lines) instead of standard error: a service must never block on the
     * reader of its standard error. NULL: standard error. */
    void (*take_message)(void *context, const char *text, size_t length);
    void *message_context;
};

void cli_init(struct cli *cli);

/* Colours as --color says. For "auto": if stdout is a terminal and NO_COLOR is not set. */
struct style cli_style(const struct cli *cli);

/* Parses the command's own options (a table that ends with a nameless option) and the common ones;
 * handles --help and --version. Returns the number of operands, which are then first in argv; or
 * -1, and *code is the exit code. */
int cli_parse(struct cli *cli, const struct option *own, int argc, char **argv, int *code);
/* The same for a command whose operands are another command: stops at the first operand and returns
 * its index. */
int cli_parse_before(struct cli *cli, const struct option *own, int argc, char **argv, int *code);
/* The same for options before the command: stops at the first operand. */
int cli_parse_leading(struct cli *cli, int argc, char **argv, int *code);

/* Is this gordian-mpi? Only it has engines of that name. */
bool cli_is_mpi(void);

/* Writes the lines of --version after the first; NULL in helper programs. */
extern void (*const cli_write_features)(struct output *out);

/* Runs a command that is missing in this program: reports the reason. */
int cli_missing(struct cli *cli, int argc, char **argv);

/* Prints a usage error and a hint; returns EXIT_MISUSE. */
int cli_misuse(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints a line to stderr, after flushing stdout: "gordian detect: ...". */
void cli_say(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints an error with its position in an input: "FILE:LINE:COLUMN: error: ...". */
void cli_say_at(struct cli *cli, const char *file, uint64_t line, uint64_t column,
                const char *message);
/* Prints an error, with its position if it has one; returns its exit code. */
int cli_fail(struct cli *cli, const char *file, const gordian_error *error);
/* The same for out of memory, and for files that cannot be written. Return EXIT_BROKEN. */
int cli_no_memory(struct cli *cli);
int cli_cannot_write(struct cli *cli, const char *path, int why);
/* Creates a file and fills it by calling `write`. */
typedef gordian_status cli_writer(void *context, struct output *out, gordian_error *error);
gordian_status cli_write_file(const char *path, cli_writer *write, void *context,
                              gordian_error *error);
/* Names of numbered files: "graph.svg", then "graph-2.svg", ... */
void cli_numbered_path(const char *path, uint64_t number, char *whole, size_t size);
/* A writer to standard output. */
gordian_writer cli_writer_out(struct cli *cli);
/* Prints progress; `cli` is a struct cli. */
void cli_show_progress(void *cli, const char *text);
/* Converts a source to a gordian_form on stdout; returns the exit code. */
int cli_convert(struct cli *cli, const gordian_source *source, const char *name, unsigned form);
/* Flushes stdout. Returns `code`, or EXIT_BROKEN if writing failed (reported, unless the reader has
 * closed the pipe). */
int cli_finish(struct cli *cli, int code);

/* Limits the time for servers of debugging information (DEBUGINFOD_URLS), unless the user has set
 * limits. */
void cli_bound_servers(void);
