/* Option parser, driven by tables that also provide --help, shell completions
 * (scripts/completions)
 * and the test of the manual pages.
 *
 *     struct option options[] = {
 *         {"all", 'a', NULL, "show every event", OPTION_FLAG, &all},
 *         {"seed", 's', "N", "start from this seed", OPTION_U64, &seed},
 *         {0},
 *     };
 *
 * --name=value, --name value, -nvalue, -n value; flags may be combined (-qv); `--` ends the
 * options;
 * `-` is an operand; options and operands may be mixed. Names cannot be abbreviated: an
 * abbreviation
 * would change its meaning when an option is added. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output;

enum option_kind {
    OPTION_FLAG,    /* bool: set to true */
    OPTION_TEXT,    /* const char *: the argument */
    OPTION_FILE,    /* const char *: a path */
    OPTION_FOLDER,  /* const char *: the path of a folder */
    OPTION_WORD,    /* const char *: often one of `choices`; the command checks it */
    OPTION_LIST,    /* struct option_texts: all arguments of a repeated option */
    OPTION_FOLDERS, /* struct option_texts: the same, paths of folders */
    OPTION_U64,     /* uint64_t; k, M, G, T are thousands */
    OPTION_U32,     /* uint32_t; the same */
    OPTION_PERCENT, /* unsigned: 0 to 100 */
    OPTION_CHOICE,  /* unsigned: index into `choices` */
};

struct option_texts {
    char between; /* separates the arguments in `text` */
    char *text;   /* NULL: not given; the command frees it */
};

struct option {
    const char *name;     /* without the dashes; NULL ends a table */
    char letter;          /* 0: none */
    const char *argument; /* its name in --help; NULL for a flag */
    const char *help;     /* '\n' begins another line; NULL: hidden */
    enum option_kind kind;
    void *target;
    const char *const *choices; /* for OPTION_CHOICE and OPTION_WORD; NULL at the end */
};

/* Sets the targets. Moves the operands to the start of argv and returns their number; -1:
 * `complaint` has the error. `leading`: stops at the first operand, does not move it, and returns
 * its index. */
int options_parse(const struct option *const tables[], int argc, char **argv, bool leading,
                  char *complaint, size_t size);

/* Appends options to a table; returns its new end. */
struct option *options_append(struct option *table, const struct option *options, size_t count);

/* Prints the options of a table for --help. */
void options_help(const struct option *table, struct output *out);
/* Prints them for programs, one line each, with tabs between the fields: name, letter, name of the
 * argument, its kind (none, text, number, file, folder, or words), the words, the help. */
void options_dump(const struct option *table, struct output *out);

/* Parses seconds with decimals; below 0: malformed. */
double options_seconds(const char *text);
/* Parses 90s, 15m, 12h, 30d, or a number of seconds into milliseconds; false: malformed. */
bool options_duration(const char *text, uint64_t *ms);

/* Returns the word of a NULL-terminated list that is nearest to what was typed; NULL: none is near.
 */
const char *nearest_word(const char *typed, const char *const *words);
