/* The one option parser, driven by tables that also feed --help, the completions of shells
 * (scripts/completions) and the test of the manual pages.
 *
 *     struct option options[] = {
 *         {"all", 'a', NULL, "show every event", OPTION_FLAG, &all, NULL},
 *         {"seed", 's', "N", "start from this seed", OPTION_U64, &seed, NULL},
 *         {0},
 *     };
 *
 * --name=value, --name value, -nvalue, -n value; flags may be bundled (-qv); `--`
 * ends the options; `-` is an operand; options and operands may be mixed. Names are written
 * out: an abbreviation would change its meaning when an option is added.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output;

enum option_kind {
    OPTION_FLAG,    /* bool: set */
    OPTION_TEXT,    /* const char *: the argument as it stands */
    OPTION_FILE,    /* const char *: likewise, a path */
    OPTION_FOLDER,  /* const char *: likewise, of a folder */
    OPTION_WORD,    /* const char *: likewise, often one of `choices`, or one the command checks */
    OPTION_LIST,    /* struct option_texts: the arguments of all times it is given */
    OPTION_FOLDERS, /* struct option_texts: likewise, paths of folders */
    OPTION_U64,     /* uint64_t: a number; k, M, G, T for thousands */
    OPTION_U32,     /* uint32_t: likewise */
    OPTION_PERCENT, /* unsigned: 0 to 100 */
    OPTION_CHOICE,  /* unsigned: index into `choices` */
};

struct option_texts {
    char between; /* the arguments in `text` */
    char *text;   /* NULL: it was not given; the command's to free */
};

struct option {
    const char *name;     /* without the dashes; NULL ends a table */
    char letter;          /* 0: none */
    const char *argument; /* what --help calls it; NULL for a flag */
    const char *help;     /* '\n' starts another line; NULL: not for people */
    enum option_kind kind;
    void *target;
    const char *const *choices; /* OPTION_CHOICE, OPTION_WORD: NULL at the end */
};

/* Fills the targets. The operands end up first in argv; returns their count, or -1 with what
 * is wrong in `complaint`. `leading`: stops at the first operand and leaves it and the rest in
 * place; returns its index. */
int options_parse(const struct option *const tables[], int argc, char **argv, bool leading,
                  char *complaint, size_t size);

/* Copies options behind those of a table; returns the end of it. */
struct option *options_append(struct option *table, const struct option *options, size_t count);

/* The lines of --help for one table. */
void options_help(const struct option *table, struct output *out);
/* The same for programs, a line an option, with tabs between: name, letter, what its argument is
 * called, what it is (none, text, number, file, folder, or words), the words, the help. */
void options_dump(const struct option *table, struct output *out);

/* Seconds, with decimals, as OPTION_TEXT brings them; below 0: they are none. */
double options_seconds(const char *text);
/* 90s, 15m, 12h, 30d, or a number of seconds, in milliseconds; false: it is none of these. */
bool options_duration(const char *text, uint64_t *ms);

/* Which of the NULL-ended words is nearest to what was typed, or NULL if none is near. */
const char *nearest_word(const char *typed, const char *const *words);
