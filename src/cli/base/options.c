#include "cli/base/options.h"

#include "foundation/base/io/output.h"
#include "foundation/base/io/reader.h"
#include "foundation/base/nearest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELP_COLUMN 29

/* State of the parser, and its error. */
struct parser {
    const struct option *const *tables;
    int argc, next;
    char **argv;
    char *complaint;
    size_t size;
};

static const struct option *find_name(const struct parser *parser, const char *name, size_t length)
{
    for (size_t t = 0; parser->tables[t]; t++)
        for (const struct option *option = parser->tables[t]; option->name; option++)
            if (strlen(option->name) == length && memcmp(option->name, name, length) == 0)
                return option;
    return NULL;
}

static const struct option *find_letter(const struct parser *parser, char letter)
{
    for (size_t t = 0; parser->tables[t]; t++)
        for (const struct option *option = parser->tables[t]; option->name; option++)
            if (option->letter && option->letter == letter)
                return option;
    return NULL;
}

/* ------------------------------------------------------------------ suggestions */

const char *nearest_word(const char *typed, const char *const *words)
{
    struct nearest nearest = {.typed = typed, .length = strlen(typed)};
    for (; *words; words++)
        nearest_offer(&nearest, *words);
    return nearest_found(&nearest);
}

#define TYPED_MAX 40 /* characters of it in messages */

static bool unknown_name(struct parser *parser, const char *name, size_t length)
{
    struct nearest nearest = {.typed = name, .length = length};
    int shown = length < TYPED_MAX ? (int)length : TYPED_MAX;
    for (size_t t = 0; parser->tables[t]; t++)
        for (const struct option *option = parser->tables[t]; option->name; option++)
            if (option->help)
                nearest_offer(&nearest, option->name);
    const char *found = nearest_found(&nearest);
    snprintf(parser->complaint, parser->size, "unknown option '--%.*s'%s%s%s", shown, name,
             found ? "; did you mean '--" : "", found ? found : "", found ? "'?" : "");
    return false;
}

/* ------------------------------------------------------------------ values */

static bool take_number(const char *text, uint64_t most, uint64_t *value, const char **why)
{
    static const char units[] = "kMGT";
    size_t length = strlen(text);
    const char *unit = length > 1 ? strchr(units, text[length - 1]) : NULL;
    if (unit)
        length--;
    if (!parse_u64(text, length, value, why))
        return false;
    for (int i = 0; unit && i <= unit - units; i++)
        if (__builtin_mul_overflow(*value, 1000, value)) {
            *why = "is too large";
            return false;
        }
    if (*value > most) {
        *why = "is too large";
        return false;
    }
    return true;
}

double options_seconds(const char *text)
{
    char *end;
    if (strspn(text, "0123456789.") != strlen(text))
        return -1;
    double value = strtod(text, &end);
    return end != text && !*end && value < 1e9 ? value : -1;
}

bool options_duration(const char *text, uint64_t *ms)
{
    static const char letters[] = "smhd";
    static const uint64_t factors[] = {1000, 60000, 3600000, 86400000};
    size_t length = strlen(text);
    const char *why, *letter = length ? strchr(letters, text[length - 1]) : NULL;
    uint64_t factor = letter ? factors[letter - letters] : 1000;
    if (!parse_u64(text, length - (letter != NULL), ms, &why) || *ms > UINT64_MAX / 2 / factor)
        return false;
    *ms *= factor;
    return true;
}

static bool take_choice(const struct option *option, const char *text)
{
    for (unsigned i = 0; option->choices[i]; i++) {
        if (strcmp(option->choices[i], text) == 0) {
            *(unsigned *)option->target = i;
            return true;
        }
    }
    return false;
}

static bool bad_choice(struct parser *parser, const struct option *option, const char *text)
{
    struct nearest nearest = {.typed = text, .length = strlen(text)};
    int used = snprintf(parser->complaint, parser->size, "--%s: '%.40s' is not one of",
                        option->name, text);
    for (size_t i = 0; option->choices[i] && used >= 0 && (size_t)used < parser->size; i++) {
        nearest_offer(&nearest, option->choices[i]);
        used += snprintf(parser->complaint + used, parser->size - (size_t)used, "%s %s",
                         i ? "," : "", option->choices[i]);
    }
    if (nearest_found(&nearest) && used >= 0 && (size_t)used < parser->size)
        snprintf(parser->complaint + used, parser->size - (size_t)used, "; did you mean '%s'?",
                 nearest_found(&nearest));
    return false;
}

static bool add_to_list(struct parser *parser, const struct option *option, const char *text)
{
    struct option_texts *list = option->target;
    size_t had = list->text ? strlen(list->text) : 0, length = strlen(text);
    char *longer = realloc(list->text, had + length + 2);
    if (!longer) {
        snprintf(parser->complaint, parser->size, "--%s: out of memory", option->name);
        return false;
    }
    if (list->text)
        longer[had++] = list->between;
    memcpy(longer + had, text, length + 1);
    list->text = longer;
    return true;
}

static bool take_value(struct parser *parser, const struct option *option, const char *text)
{
    uint64_t value = 0, most = UINT64_MAX;
    const char *why = NULL;
    switch (option->kind) {
    case OPTION_FLAG:
        *(bool *)option->target = true;
        return true;
    case OPTION_TEXT:
    case OPTION_FILE:
    case OPTION_FOLDER:
    case OPTION_WORD:
        *(const char **)option->target = text;
        return true;
    case OPTION_LIST:
    case OPTION_FOLDERS:
        return add_to_list(parser, option, text);
    case OPTION_CHOICE:
        return take_choice(option, text) || bad_choice(parser, option, text);
    case OPTION_PERCENT:
        most = 100;
        break;
    case OPTION_U32:
        most = UINT32_MAX;
        break;
    case OPTION_U64:
        break;
    }
    if (!take_number(text, most, &value, &why)) {
        snprintf(parser->complaint, parser->size, "--%s: '%.40s' %s", option->name, text, why);
        return false;
    }
    if (option->kind == OPTION_U64)
        *(uint64_t *)option->target = value;
    else if (option->kind == OPTION_U32)
        *(uint32_t *)option->target = (uint32_t)value;
    else
        *(unsigned *)option->target = (unsigned)value;
    return true;
}

/* Takes the value from the next word. */
static bool take_next(struct parser *parser, const struct option *option)
{
    if (parser->next == parser->argc) {
        snprintf(parser->complaint, parser->size, "option '--%s' needs an argument: %s",
                 option->name, option->argument);
        return false;
    }
    return take_value(parser, option, parser->argv[parser->next++]);
}

static bool take_long(struct parser *parser, const char *text)
{
    const char *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : strlen(text);
    const struct option *option = find_name(parser, text, length);
    if (!option)
        return unknown_name(parser, text, length);
    if (option->kind == OPTION_FLAG && equals) {
        snprintf(parser->complaint, parser->size, "option '--%s' takes no argument", option->name);
        return false;
    }
    if (option->kind == OPTION_FLAG || equals)
        return take_value(parser, option, equals ? equals + 1 : NULL);
    return take_next(parser, option);
}

static bool take_letters(struct parser *parser, const char *text)
{
    for (; *text; text++) {
        const struct option *option = find_letter(parser, *text);
        if (!option) {
            snprintf(parser->complaint, parser->size, "unknown option '-%c'", *text);
            return false;
        }
        if (option->kind == OPTION_FLAG) {
            take_value(parser, option, NULL);
            continue;
        }
        return text[1] ? take_value(parser, option, text + 1) : take_next(parser, option);
    }
    return true;
}

int options_parse(const struct option *const tables[], int argc, char **argv, bool leading,
                  char *complaint, size_t size)
{
    struct parser parser = {tables, argc, 0, argv, complaint, size};
    int operands = 0;
    bool ended = false;
    while (parser.next < argc) {
        char *word = argv[parser.next++];
        if (ended || word[0] != '-' || word[1] == '\0') {
            if (leading)
                return parser.next - 1;
            argv[operands++] = word;
        } else if (strcmp(word, "--") == 0) {
            ended = true;
        } else if (!(word[1] == '-' ? take_long(&parser, word + 2)
                                    : take_letters(&parser, word + 1))) {
            return -1;
        }
    }
    return leading ? argc : operands;
}

struct option *options_append(struct option *table, const struct option *options, size_t count)
{
    memcpy(table, options, count * sizeof *options);
    return table + count;
}

/* ------------------------------------------------------------------ help */

static void help_text(const char *text, size_t column, struct output *out)
{
    if (column + 2 > HELP_COLUMN) {
        output_char(out, '\n');
        column = 0;
    }
    for (bool more = true; more;) {
        output_format(out, "%*s", (int)(HELP_COLUMN - column), "");
        size_t length = strcspn(text, "\n");
        output_bytes(out, text, length);
        output_char(out, '\n');
        more = text[length] == '\n';
        text += length + more;
        column = 0;
    }
}

void options_help(const struct option *table, struct output *out)
{
    for (const struct option *option = table; option->name; option++) {
        if (!option->help)
            continue;
        char head[80];
        int column =
            snprintf(head, sizeof head, option->letter ? "  -%c, --%s%s%s" : "  %c   --%s%s%s",
                     option->letter ? option->letter : ' ', option->name,
                     option->argument ? " " : "", option->argument ? option->argument : "");
        output_text(out, head);
        help_text(option->help, (size_t)column, out);
    }
}

void options_dump(const struct option *table, struct output *out)
{
    static const char *const kinds[] = {
        [OPTION_FLAG] = "none",      [OPTION_TEXT] = "text",    [OPTION_FILE] = "file",
        [OPTION_FOLDER] = "folder",  [OPTION_WORD] = "words",   [OPTION_LIST] = "text",
        [OPTION_FOLDERS] = "folder", [OPTION_U64] = "number",   [OPTION_U32] = "number",
        [OPTION_PERCENT] = "number", [OPTION_CHOICE] = "words",
    };
    for (const struct option *option = table; option->name; option++) {
        if (!option->help)
            continue;
        output_format(out, "%s\t%.1s\t%s\t%s\t", option->name, &option->letter,
                      option->argument ? option->argument : "", kinds[option->kind]);
        for (const char *const *word = option->choices; word && *word; word++)
            output_format(out, "%s%s", word == option->choices ? "" : " ", *word);
        output_char(out, '\t');
        for (const char *text = option->help; *text; text++)
            output_char(out, *text == '\n' ? ' ' : *text);
        output_char(out, '\n');
    }
}
