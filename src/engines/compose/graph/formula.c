/* Parser of CTL and LTL formulas (formula.h). */
#include "engines/compose/graph/formula.h"

#include "engines/compose/circuit/text_fault.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 200u

struct reader {
    struct formula *formula;
    const gordian_circuit *circuit;
    const char *text, *at;
    bool linear; /* LTL */
    unsigned depth;
    gordian_status status;
    gordian_error *error;
};

/* ------------------------------------------------------------------ pieces */

static void complain_here(struct reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void complain_here(struct reader *reader, const char *format, ...)
{
    va_list arguments;
    if (reader->status != GORDIAN_OK)
        return;
    va_start(arguments, format);
    reader->status = fail_at_list(reader->error, GORDIAN_STATUS_INPUT, 1,
                                  (uint64_t)(reader->at - reader->text) + 1, format, arguments);
    va_end(arguments);
}

static void deepen(struct reader *reader)
{
    if (++reader->depth > DEPTH_MAX)
        complain_here(reader, "nested more than %u deep", DEPTH_MAX);
}

static void skip_formula_blanks(struct reader *reader)
{
    while (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\n')
        reader->at++;
}

static bool accept_mark(struct reader *reader, const char *mark)
{
    skip_formula_blanks(reader);
    if (reader->status != GORDIAN_OK || strncmp(reader->at, mark, strlen(mark)) != 0)
        return false;
    reader->at += strlen(mark);
    return true;
}

static void expect_mark(struct reader *reader, const char *mark)
{
    if (!accept_mark(reader, mark))
        complain_here(reader, "expected '%s'", mark);
}

static size_t formula_word_length(const char *text)
{
    return strspn(text, TEXT_LETTERS TEXT_DIGITS "_.");
}

static bool accept_word(struct reader *reader, const char *word)
{
    skip_formula_blanks(reader);
    if (reader->status != GORDIAN_OK || formula_word_length(reader->at) != strlen(word) ||
        strncmp(reader->at, word, strlen(word)) != 0)
        return false;
    reader->at += strlen(word);
    return true;
}

/* A word, or any text in backquotes or quotes. */
static bool read_quoted(struct reader *reader, char *buffer, size_t size)
{
    skip_formula_blanks(reader);
    char quote = *reader->at == '`' || *reader->at == '"' ? *reader->at : '\0';
    const char *start = reader->at + (quote != '\0');
    const char *end = quote ? strchr(start, quote) : start + formula_word_length(start);
    size_t length = end ? (size_t)(end - start) : 0;
    if (reader->status != GORDIAN_OK || !end || (length == 0 && !quote) || length + 1 > size) {
        complain_here(reader, "expected a name");
        buffer[0] = '\0';
        return false;
    }
    memcpy(buffer, start, length);
    buffer[length] = '\0';
    reader->at = end + (quote != '\0');
    return true;
}

/* ------------------------------------------------------------------ nodes */

static uint32_t add_formula_node(struct reader *reader, enum formula_kind kind, uint32_t left,
                                 uint32_t right)
{
    struct formula *formula = reader->formula;
    if (reader->status != GORDIAN_OK)
        return 0;
    if (!memory_extend(&formula->memory, formula->nodes, formula->room, formula->count)) {
        reader->status = fail_memory(reader->error);
        return 0;
    }
    formula->nodes[formula->count] =
        (struct formula_node){.kind = (uint8_t)kind, .left = left, .right = right};
    return (uint32_t)formula->count++;
}

static uint32_t negate(struct reader *reader, uint32_t node)
{
    return add_formula_node(reader, FORMULA_NOT, node, 0);
}

static uint32_t add_named(struct reader *reader, enum formula_kind kind, uint32_t left,
                          const char *name)
{
    uint32_t node = add_formula_node(reader, kind, left, 0);
    if (reader->status != GORDIAN_OK)
        return 0;
    if (reader->circuit &&
        names_find(&reader->circuit->names, name, strlen(name)) == GORDIAN_NONE) {
        complain_here(reader, "the circuit has no name '%.80s'", name);
        return 0;
    }
    char *copy = memory_copy_text(&reader->formula->memory, name);
    reader->formula->nodes[node].name = copy;
    if (!copy)
        reader->status = fail_memory(reader->error);
    return node;
}

/* A[f U g]: there is no path on which g never holds, or f fails before g holds. */
static uint32_t always_until(struct reader *reader, uint32_t f, uint32_t g)
{
    uint32_t not_g = negate(reader, g);
    uint32_t neither = add_formula_node(reader, FORMULA_AND, negate(reader, f), not_g);
    uint32_t fails = add_formula_node(reader, FORMULA_EU, not_g, neither);
    uint32_t never = add_formula_node(reader, FORMULA_EG, not_g, 0);
    return negate(reader, add_formula_node(reader, FORMULA_OR, fails, never));
}

/* ------------------------------------------------------------------ memory and control states */

static const struct automaton *automaton_of(const struct reader *reader, uint32_t factor)
{
    return factor_shape(reader->circuit, factor)->automaton;
}

/* #2 behind a cell, or else the only automaton with that cell. */
static uint32_t find_factor(struct reader *reader, const char *cell)
{
    uint32_t found = GORDIAN_NONE, count = 0;
    if (!reader->circuit) {
        complain_here(reader, "a graph has no memory: names and 'deadlock' only");
        return GORDIAN_NONE;
    }
    if (!cell || accept_mark(reader, "#")) {
        char *end;
        unsigned long number = strtoul(reader->at, &end, 10);
        if (number < 1 || number > reader->circuit->factor_count) {
            complain_here(reader, "automata are numbered 1 to %zu", reader->circuit->factor_count);
            return GORDIAN_NONE;
        }
        reader->at = end;
        found = (uint32_t)number - 1;
        if (!cell ||
            automaton_find_cell(automaton_of(reader, found), cell, strlen(cell)) != GORDIAN_NONE)
            return found;
        count = 0;
    } else {
        for (uint32_t f = 0; f < reader->circuit->factor_count; f++)
            if (automaton_find_cell(automaton_of(reader, f), cell, strlen(cell)) != GORDIAN_NONE) {
                found = f;
                count++;
            }
    }
    if (count != 1)
        complain_here(reader,
                      count ? "%u automata have a cell '%.60s': write $%.60s#N with the number "
                              "that --explain shows"
                            : "%u automata have a cell '%.60s'%.0s",
                      count, cell, cell);
    return found;
}

/* Does `field` of the automaton (0: control state, 1 + c: cell c) have this value in a local
 * state? */
static bool local_is(const struct reader *reader, uint32_t factor, uint32_t state, size_t field,
                     const char *wanted)
{
    const struct shape *shape = factor_shape(reader->circuit, factor);
    const struct automaton *automaton = shape->automaton;
    const uint32_t *values = shape->values + (size_t)state * (1 + automaton->cell_count);
    char number[12];
    if (field > 0)
        return strcmp(data_value_text(&reader->circuit->data, values[field]), wanted) == 0;
    snprintf(number, sizeof number, "%u", values[0]);
    const char *name = automaton->states[values[0]].name;
    return strcmp(name ? name : number, wanted) == 0;
}

static uint32_t read_local(struct reader *reader, uint32_t factor, size_t field)
{
    char wanted[GORDIAN_NAME_MAX + 1];
    bool differs = accept_mark(reader, "!=");
    if (!differs)
        expect_mark(reader, "=");
    if (!read_quoted(reader, wanted, sizeof wanted))
        return 0;
    uint32_t node = add_formula_node(reader, FORMULA_LOCAL, 0, 0);
    if (reader->status != GORDIAN_OK)
        return 0;
    uint32_t count = factor_shape(reader->circuit, factor)->state_count;
    uint8_t *states = memory_alloc(&reader->formula->memory, count + 1);
    if (!states) {
        reader->status = fail_memory(reader->error);
        return 0;
    }
    for (uint32_t s = 0; s < count; s++)
        states[s] = local_is(reader, factor, s, field, wanted) != differs;
    reader->formula->nodes[node].factor = factor;
    reader->formula->nodes[node].states = states;
    reader->formula->nodes[node].state_count = count;
    return node;
}

static uint32_t read_cell(struct reader *reader)
{
    char cell[GORDIAN_NAME_MAX + 1];
    if (!read_quoted(reader, cell, sizeof cell))
        return 0;
    uint32_t factor = find_factor(reader, cell);
    if (reader->status != GORDIAN_OK)
        return 0;
    return read_local(reader, factor,
                      1 + automaton_find_cell(automaton_of(reader, factor), cell, strlen(cell)));
}

/* ------------------------------------------------------------------ the grammar */

static uint32_t read_formula(struct reader *reader);
static uint32_t read_unary(struct reader *reader);

/* E[f U g], A[f U g] */
static uint32_t read_until(struct reader *reader, bool always)
{
    expect_mark(reader, "[");
    uint32_t f = read_formula(reader);
    if (!accept_word(reader, "U"))
        complain_here(reader, "expected 'U'");
    uint32_t g = read_formula(reader);
    expect_mark(reader, "]");
    return always ? always_until(reader, f, g) : add_formula_node(reader, FORMULA_EU, f, g);
}

static uint32_t read_temporal(struct reader *reader, char path, char when)
{
    uint32_t f = read_unary(reader);
    if (path == 'A')
        f = negate(reader, f);
    if (when == 'F' || when == 'G') /* EF, EG of f; AF f is !EG !f, AG f is !EF !f */
        when = (path == 'A') == (when == 'F') ? 'G' : 'F';
    uint32_t node = when == 'X'   ? add_formula_node(reader, FORMULA_EX, f, 0)
                    : when == 'G' ? add_formula_node(reader, FORMULA_EG, f, 0)
                                  : 0;
    if (when == 'F') {
        uint32_t always = add_formula_node(reader, FORMULA_TRUE, 0, 0);
        node = add_formula_node(reader, FORMULA_EU, always, f);
    }
    return path == 'A' ? negate(reader, node) : node;
}

/* Does an operand follow, and not an infix operator or the end? */
static bool operand_follows(struct reader *reader)
{
    static const char *const words[] = {"U", "W", "R", "V"};
    skip_formula_blanks(reader);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (formula_word_length(reader->at) == 1 && *reader->at == *words[i])
            return false;
    return *reader->at && !strchr(")]&|-", *reader->at) && strncmp(reader->at, "<->", 3) != 0;
}

/* <a> f, [a] f. In LTL they refer to the step of the run, and <a> alone means that it fires a. */
static uint32_t read_step(struct reader *reader, bool every)
{
    char name[GORDIAN_NAME_MAX + 1];
    if (!read_quoted(reader, name, sizeof name))
        return 0;
    expect_mark(reader, every ? "]" : ">");
    if (!reader->linear) {
        uint32_t f = read_unary(reader);
        uint32_t step = add_named(reader, FORMULA_STEP, every ? negate(reader, f) : f, name);
        return every ? negate(reader, step) : step;
    }
    uint32_t fires = add_named(reader, FORMULA_FIRES, 0, name);
    if (!every && !operand_follows(reader))
        return fires;
    uint32_t then = add_formula_node(reader, FORMULA_NEXT, read_unary(reader), 0);
    return every ? add_formula_node(reader, FORMULA_OR, negate(reader, fires), then)
                 : add_formula_node(reader, FORMULA_AND, fires, then);
}

/* G f is false R f, F f is true U f. */
static uint32_t read_when(struct reader *reader, bool always)
{
    uint32_t left = add_formula_node(reader, always ? FORMULA_FALSE : FORMULA_TRUE, 0, 0);
    return add_formula_node(reader, always ? FORMULA_RELEASE : FORMULA_UNTIL, left,
                            read_unary(reader));
}

/* Operators of LTL only; *found: there was one. */
static uint32_t read_linear(struct reader *reader, bool *found)
{
    *found = true;
    if (accept_word(reader, "X"))
        return add_formula_node(reader, FORMULA_NEXT, read_unary(reader), 0);
    if (accept_word(reader, "G"))
        return read_when(reader, true);
    if (accept_word(reader, "F"))
        return read_when(reader, false);
    if (accept_mark(reader, "["))
        return accept_mark(reader, "]") ? read_when(reader, true) : read_step(reader, true);
    if (accept_mark(reader, "<"))
        return accept_mark(reader, ">") ? read_when(reader, false) : read_step(reader, false);
    *found = false;
    return 0;
}

static uint32_t read_branching(struct reader *reader, bool *found)
{
    static const char *const words[] = {"EX", "EF", "EG", "AX", "AF", "AG"};
    *found = true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (accept_word(reader, words[i]))
            return read_temporal(reader, words[i][0], words[i][1]);
    if (accept_word(reader, "E"))
        return read_until(reader, false);
    if (accept_word(reader, "A"))
        return read_until(reader, true);
    if (accept_mark(reader, "<"))
        return read_step(reader, false);
    if (accept_mark(reader, "["))
        return read_step(reader, true);
    *found = false;
    return 0;
}

static uint32_t read_operator(struct reader *reader)
{
    bool found;
    uint32_t temporal =
        reader->linear ? read_linear(reader, &found) : read_branching(reader, &found);
    if (found)
        return temporal;
    if (accept_mark(reader, "!"))
        return negate(reader, read_unary(reader));
    if (accept_mark(reader, "(")) {
        uint32_t inner = read_formula(reader);
        expect_mark(reader, ")");
        return inner;
    }
    char name[GORDIAN_NAME_MAX + 1];
    if (accept_word(reader, "true"))
        return add_formula_node(reader, FORMULA_TRUE, 0, 0);
    if (accept_word(reader, "false"))
        return add_formula_node(reader, FORMULA_FALSE, 0, 0);
    if (accept_word(reader, "deadlock"))
        return add_formula_node(reader, FORMULA_DEADLOCK, 0, 0);
    if (accept_mark(reader, "$"))
        return read_cell(reader);
    if (accept_mark(reader, "@")) {
        uint32_t factor = find_factor(reader, NULL);
        return reader->status == GORDIAN_OK ? read_local(reader, factor, 0) : 0;
    }
    return read_quoted(reader, name, sizeof name) ? add_named(reader, FORMULA_NAME, 0, name) : 0;
}

static uint32_t read_unary(struct reader *reader)
{
    deepen(reader);
    uint32_t node = reader->status == GORDIAN_OK ? read_operator(reader) : 0;
    reader->depth--;
    return node;
}

/* f U g, f W g, f R g of LTL, right-associative. f W g is g R (f || g). */
static uint32_t read_pair(struct reader *reader)
{
    uint32_t left = read_unary(reader);
    bool until = reader->linear && accept_word(reader, "U");
    bool weak = reader->linear && !until && accept_word(reader, "W");
    bool release =
        reader->linear && !until && !weak && (accept_word(reader, "R") || accept_word(reader, "V"));
    if (!until && !weak && !release)
        return left;
    deepen(reader);
    uint32_t right = reader->status == GORDIAN_OK ? read_pair(reader) : 0;
    reader->depth--;
    if (until)
        return add_formula_node(reader, FORMULA_UNTIL, left, right);
    return weak ? add_formula_node(reader, FORMULA_RELEASE, right,
                                   add_formula_node(reader, FORMULA_OR, left, right))
                : add_formula_node(reader, FORMULA_RELEASE, left, right);
}

/* Operands of && or ||, in LTL also & or |. && binds tighter. */
static uint32_t read_joined(struct reader *reader, enum formula_kind kind)
{
    const char *mark = kind == FORMULA_AND ? "&&" : "||";
    uint32_t left = kind == FORMULA_AND ? read_pair(reader) : read_joined(reader, FORMULA_AND);
    while (accept_mark(reader, mark) || (reader->linear && accept_mark(reader, mark + 1))) {
        uint32_t right = kind == FORMULA_AND ? read_pair(reader) : read_joined(reader, FORMULA_AND);
        left = add_formula_node(reader, kind, left, right);
    }
    return left;
}

static uint32_t read_formula(struct reader *reader)
{
    deepen(reader);
    uint32_t left = read_joined(reader, FORMULA_OR);
    if (accept_mark(reader, "->")) {
        uint32_t right = read_formula(reader);
        left = add_formula_node(reader, FORMULA_OR, negate(reader, left), right);
    } else if (accept_mark(reader, "<->")) {
        uint32_t right = read_formula(reader);
        uint32_t both = add_formula_node(reader, FORMULA_AND, left, right);
        uint32_t neither =
            add_formula_node(reader, FORMULA_AND, negate(reader, left), negate(reader, right));
        left = add_formula_node(reader, FORMULA_OR, both, neither);
    }
    reader->depth--;
    return left;
}

gordian_status formula_read(struct formula *formula, const char *text, bool linear,
                            const gordian_circuit *circuit, const gordian_allocator *memory,
                            gordian_error *error)
{
    *formula = (struct formula){.memory = *memory};
    struct reader reader = {.formula = formula,
                            .circuit = circuit,
                            .text = text,
                            .at = text,
                            .linear = linear,
                            .error = error};
    formula->top = read_formula(&reader);
    skip_formula_blanks(&reader);
    if (reader.status == GORDIAN_OK && *reader.at)
        complain_here(&reader, "expected the end of the formula");
    return reader.status;
}

void formula_free(struct formula *formula)
{
    for (size_t i = 0; i < formula->count; i++)
        memory_free_all(&formula->memory, formula->nodes[i].name, formula->nodes[i].states);
    memory_free(&formula->memory, formula->nodes);
    *formula = (struct formula){.memory = formula->memory};
}
