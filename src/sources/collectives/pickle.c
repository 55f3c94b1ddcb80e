/* Pickle parser: a stack machine for the opcodes that make plain data. */
#include "sources/collectives/pickle.h"

#include "foundation/base/error.h"

#include <stdlib.h>

#define PROTOCOL_MOST 5
#define IN_NUMBER     "the file ends within a number"
#define IN_TEXT       "the file ends within a text"

struct machine {
    struct arena *arena;
    const uint8_t *bytes;
    size_t size, at;
    size_t opcode; /* offset of the current opcode */
    struct value **stack;
    size_t count, capacity;
    size_t *marks; /* indexes into the stack */
    size_t mark_count, mark_capacity;
    struct value **memo;
    size_t memo_count, memo_capacity;
    gordian_error *error;
};

static gordian_status machine_fault(struct machine *machine, const char *what)
{
    return fail(machine->error, GORDIAN_STATUS_INPUT, "byte %zu: %s", machine->opcode, what);
}

static gordian_status push_value(struct machine *machine, struct value *value)
{
    if (!value ||
        !memory_extend(&machine->arena->memory, machine->stack, machine->capacity, machine->count))
        return fail_memory(machine->error);
    machine->stack[machine->count++] = value;
    return GORDIAN_OK;
}

/* Returns the lower end of the usable stack, which is above the last mark. */
static size_t stack_floor(const struct machine *machine)
{
    return machine->mark_count ? machine->marks[machine->mark_count - 1] : 0;
}

static gordian_status need_values(struct machine *machine, size_t count)
{
    return machine->count - stack_floor(machine) >= count
               ? GORDIAN_OK
               : machine_fault(machine, "the stack has too few values");
}

/* Reads `width` bytes after the opcode as a number. `what`: the error if there are fewer. */
static gordian_status take_number(struct machine *machine, unsigned width, uint64_t *number,
                                  const char *what)
{
    *number = 0;
    if (machine->size - machine->at < width)
        return machine_fault(machine, what);
    const uint8_t *bytes = machine->bytes + machine->at;
    machine->at += width;
    *number = bytes[0];
    for (unsigned i = 1; i < width; i++)
        *number |= (uint64_t)bytes[i] << 8 * i;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ numbers and texts */

static gordian_status push_simple(struct machine *machine, enum value_kind kind, int64_t integer)
{
    struct value *value = value_new(machine->arena, kind);
    if (value && kind < VALUE_LIST)
        value->integer = integer;
    return push_value(machine, value);
}

static gordian_status push_real(struct machine *machine, double real)
{
    struct value *value = value_new(machine->arena, VALUE_REAL);
    if (value)
        value->real = real;
    return push_value(machine, value);
}

/* 0: None; 1: False; 2: True. */
static gordian_status do_constant(struct machine *machine, unsigned which)
{
    return push_simple(machine, which ? VALUE_BOOL : VALUE_NONE, which == 2);
}

static gordian_status do_empty(struct machine *machine, unsigned kind)
{
    return push_simple(machine, (enum value_kind)kind, 0);
}

static gordian_status do_integer(struct machine *machine, unsigned width)
{
    uint64_t number;
    TRY(take_number(machine, width, &number, IN_NUMBER));
    if (width == 4)
        number = (uint64_t)(int64_t)(int32_t)(uint32_t)number;
    return push_simple(machine, VALUE_INTEGER, (int64_t)number);
}

/* Reads a number of any length, with the sign in the last byte. Clamps numbers that do not fit in
 * 64 bits. */
static gordian_status do_long(struct machine *machine, unsigned width)
{
    uint64_t length, number = 0;
    TRY(take_number(machine, width, &length, IN_NUMBER));
    if (machine->size - machine->at < length)
        return machine_fault(machine, IN_NUMBER);
    const uint8_t *bytes = machine->bytes + machine->at;
    bool negative = length && bytes[length - 1] & 0x80;
    bool fits = length <= 8;
    machine->at += length;
    for (uint64_t i = 0; i < 8; i++)
        number |= (uint64_t)(i < length ? bytes[i] : negative ? 0xff : 0) << 8 * i;
    for (uint64_t i = 8; i < length && !fits; i++)
        if (bytes[i] != (number >> 63 ? 0xff : 0))
            return push_simple(machine, VALUE_INTEGER, negative ? INT64_MIN : INT64_MAX);
    return push_simple(machine, VALUE_INTEGER, (int64_t)number);
}

/* Reads a floating-point number, most significant byte first. */
static gordian_status do_real(struct machine *machine, unsigned width)
{
    uint64_t bits = 0;
    double real;
    if (machine->size - machine->at < width)
        return machine_fault(machine, IN_NUMBER);
    for (unsigned i = 0; i < width; i++)
        bits = bits << 8 | machine->bytes[machine->at++];
    memcpy(&real, &bits, sizeof real);
    return push_real(machine, real);
}

static gordian_status do_text(struct machine *machine, unsigned width)
{
    uint64_t length;
    TRY(take_number(machine, width, &length, IN_TEXT));
    if (machine->size - machine->at < length)
        return machine_fault(machine, IN_TEXT);
    if (length > UINT32_MAX)
        return machine_fault(machine, "a text of more than 4 GiB");
    struct value *value = value_new(machine->arena, VALUE_TEXT);
    if (value) {
        value->text = (const char *)machine->bytes + machine->at;
        value->count = (uint32_t)length;
    }
    machine->at += length;
    return push_value(machine, value);
}

/* ------------------------------------------------------------------ lines of protocols 0 and 1 */

#define FLOAT_MOST 64 /* longest text of a floating-point number */

/* Reads the bytes up to the end of the line and advances past it. */
static gordian_status take_line(struct machine *machine, const char **line, size_t *length)
{
    const uint8_t *from = machine->bytes + machine->at;
    const uint8_t *end = memchr(from, '\n', machine->size - machine->at);
    *line = "";
    *length = 0;
    if (!end)
        return machine_fault(machine, "the file ends within a line");
    *line = (const char *)from;
    *length = (size_t)(end - from);
    machine->at += *length + 1;
    return GORDIAN_OK;
}

/* Parses an integer. Clamps numbers that do not fit in 64 bits. */
static bool parse_integer(const char *line, size_t length, int64_t *number)
{
    bool negative = length && line[0] == '-';
    size_t at = negative;
    *number = 0;
    for (; at < length && line[at] >= '0' && line[at] <= '9'; at++)
        if (__builtin_mul_overflow(*number, 10, number) ||
            __builtin_sub_overflow(*number, line[at] - '0', number))
            *number = INT64_MIN; /* count downwards: the smallest number has no positive
                                    counterpart */
    if (!negative)
        *number = *number == INT64_MIN ? INT64_MAX : -*number;
    return at == length && length > negative;
}

/* "I01" and "I00" are booleans: numbers do not begin with 0. */
static gordian_status do_integer_line(struct machine *machine, unsigned is_long)
{
    const char *line;
    size_t length;
    int64_t number;
    TRY(take_line(machine, &line, &length));
    if (!is_long && length == 2 && line[0] == '0' && (line[1] == '0' || line[1] == '1'))
        return push_simple(machine, VALUE_BOOL, line[1] - '0');
    length -= is_long && length && line[length - 1] == 'L';
    if (!parse_integer(line, length, &number))
        return machine_fault(machine, "the line is not a number");
    return push_simple(machine, VALUE_INTEGER, number);
}

static gordian_status do_real_line(struct machine *machine, unsigned ignored)
{
    (void)ignored;
    const char *line;
    char text[FLOAT_MOST + 1], *end;
    size_t length;
    TRY(take_line(machine, &line, &length));
    if (length == 0 || length > FLOAT_MOST)
        return machine_fault(machine, "the line is not a number");
    memcpy(text, line, length);
    text[length] = '\0';
    double real = strtod(text, &end);
    if (*end)
        return machine_fault(machine, "the line is not a number");
    return push_real(machine, real);
}

static char *write_utf8(char *to, uint32_t code)
{
    static const uint8_t heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    int bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (int i = bytes - 1; i > 0; i--, code >>= 6)
        to[i] = (char)(0x80 | (code & 63));
    to[0] = (char)(heads[bytes] | code);
    return to + bytes;
}

/* Parses `count` hexadecimal digits as a character. False: they are not digits, or the character
 * does not exist. */
static bool take_code(const char *at, const char *end, int count, uint32_t *code)
{
    *code = 0;
    if (end - at < count)
        return false;
    for (int i = 0; i < count; i++) {
        char c = at[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return false;
        *code = *code << 4 | (uint32_t)digit;
    }
    if (*code >= 0xd800 && *code < 0xe000)
        *code = 0xfffd; /* half of a surrogate pair */
    return *code < 0x110000;
}

/* Decodes bytes as characters below 256, with the escapes \uXXXX and \UXXXXXXXX or, if `quoted`,
 * those of Python strings. Returns NULL if an escape is invalid. */
static char *unescape_line(const char *at, const char *end, char *to, bool quoted)
{
    static const char letters[] = "\\'\"abfnrtv", stand[] = "\\'\"\a\b\f\n\r\t\v";
    while (at < end) {
        uint32_t code = (uint8_t)*at++;
        if (code != '\\' || at == end) {
            to = write_utf8(to, code);
            continue;
        }
        const char *letter = quoted ? memchr(letters, *at, sizeof letters - 1) : NULL;
        int digits = quoted ? (*at == 'x' ? 2 : 0) : *at == 'u' ? 4 : *at == 'U' ? 8 : 0;
        if (letter) {
            code = (uint8_t)stand[letter - letters];
            at++;
        } else if (digits) {
            if (!take_code(at + 1, end, digits, &code))
                return NULL;
            at += 1 + digits;
        } else if (quoted) {
            return NULL;
        }
        to = write_utf8(to, code);
    }
    return to;
}

/* Every byte becomes at most two bytes of UTF-8. */
static gordian_status do_text_line(struct machine *machine, unsigned quoted)
{
    const char *line;
    size_t length;
    TRY(take_line(machine, &line, &length));
    if (quoted) {
        if (length < 2 || (line[0] != '\'' && line[0] != '"') || line[length - 1] != line[0])
            return machine_fault(machine, "the text has no quotes");
        line++;
        length -= 2;
    }
    if (length > UINT32_MAX / 2)
        return machine_fault(machine, "a text of more than 2 GiB");
    char *text = arena_alloc(machine->arena, 2 * length + 1);
    struct value *value = value_new(machine->arena, VALUE_TEXT);
    if (!text || !value)
        return fail_memory(machine->error);
    char *end = unescape_line(line, line + length, text, quoted);
    if (!end)
        return machine_fault(machine, "invalid escape sequence");
    value->text = text;
    value->count = (uint32_t)(end - text);
    return push_value(machine, value);
}

/* ------------------------------------------------------------------ lists and dictionaries */

static gordian_status do_mark(struct machine *machine, unsigned ignored)
{
    (void)ignored;
    if (!memory_extend(&machine->arena->memory, machine->marks, machine->mark_capacity,
                       machine->mark_count))
        return fail_memory(machine->error);
    machine->marks[machine->mark_count++] = machine->count;
    return GORDIAN_OK;
}

/* Removes the last mark. *from: the stack index at the mark. */
static gordian_status take_mark(struct machine *machine, size_t *from)
{
    *from = 0;
    if (machine->mark_count == 0)
        return machine_fault(machine, "there is no mark on the stack");
    *from = machine->marks[--machine->mark_count];
    return GORDIAN_OK;
}

/* Moves the stack from `from` on into a list, or into a dictionary as alternating keys and
 * values. */
static gordian_status move_items(struct machine *machine, size_t from, struct value *into)
{
    bool dict = into->kind == VALUE_DICT;
    uint32_t used = dict ? 2 * into->count : into->count;
    if (dict && (machine->count - from) % 2)
        return machine_fault(machine, "a key without a value");
    for (size_t i = from; i < machine->count; i++)
        if (!value_push(machine->arena, into, used++, machine->stack[i]))
            return fail_memory(machine->error);
    into->count = dict ? used / 2 : used;
    machine->count = from;
    return GORDIAN_OK;
}

/* Moves the stack from `from` on into the container below it. */
static gordian_status fill_container(struct machine *machine, size_t from, unsigned kind)
{
    if (from == stack_floor(machine) || machine->stack[from - 1]->kind != kind)
        return machine_fault(machine, kind == VALUE_LIST ? "no list to append to"
                                                         : "no dictionary to put items into");
    return move_items(machine, from, machine->stack[from - 1]);
}

static gordian_status do_fill_marked(struct machine *machine, unsigned kind)
{
    size_t from;
    TRY(take_mark(machine, &from));
    return fill_container(machine, from, kind);
}

/* Adds one item, or one key with its value, to the container below. */
static gordian_status do_fill(struct machine *machine, unsigned kind)
{
    size_t count = kind == VALUE_DICT ? 2 : 1;
    TRY(need_values(machine, count + 1));
    return fill_container(machine, machine->count - count, kind);
}

/* Makes a list or a dictionary of the stack from `from` on. */
static gordian_status make_container(struct machine *machine, size_t from, enum value_kind kind)
{
    struct value *value = value_new(machine->arena, kind);
    if (!value)
        return fail_memory(machine->error);
    TRY(move_items(machine, from, value));
    return push_value(machine, value);
}

static gordian_status do_make_marked(struct machine *machine, unsigned kind)
{
    size_t from;
    TRY(take_mark(machine, &from));
    return make_container(machine, from, (enum value_kind)kind);
}

static gordian_status do_make_tuple(struct machine *machine, unsigned count)
{
    TRY(need_values(machine, count));
    return make_container(machine, machine->count - count, VALUE_LIST);
}

/* ------------------------------------------------------------------ the memo */

/* Reads an index of `width` bytes; 0: a line of text. */
static gordian_status take_index(struct machine *machine, unsigned width, uint64_t *index)
{
    const char *line;
    size_t length;
    int64_t number;
    if (width)
        return take_number(machine, width, index, IN_NUMBER);
    TRY(take_line(machine, &line, &length));
    if (!parse_integer(line, length, &number) || number < 0)
        return machine_fault(machine, "the line is not a number");
    *index = (uint64_t)number;
    return GORDIAN_OK;
}

/* Picklers write indexes below the file's size. This limit bounds the memory. */
static gordian_status put_memo(struct machine *machine, uint64_t index)
{
    TRY(need_values(machine, 1));
    if (index > machine->size)
        return machine_fault(machine, "the memo index is too large");
    if (!memory_grow_zeroed(&machine->arena->memory, &machine->memo, &machine->memo_capacity,
                            (size_t)index + 1, sizeof *machine->memo))
        return fail_memory(machine->error);
    if (index >= machine->memo_count)
        machine->memo_count = (size_t)index + 1;
    machine->memo[index] = machine->stack[machine->count - 1];
    return GORDIAN_OK;
}

static gordian_status do_put(struct machine *machine, unsigned width)
{
    uint64_t index;
    TRY(take_index(machine, width, &index));
    return put_memo(machine, index);
}

static gordian_status do_memoize(struct machine *machine, unsigned ignored)
{
    (void)ignored;
    return put_memo(machine, machine->memo_count);
}

static gordian_status do_get(struct machine *machine, unsigned width)
{
    uint64_t index;
    TRY(take_index(machine, width, &index));
    if (index >= machine->memo_count || !machine->memo[index])
        return machine_fault(machine, "the memo is empty at this index");
    return push_value(machine, machine->memo[index]);
}

/* ------------------------------------------------------------------ the machine */

static gordian_status do_protocol(struct machine *machine, unsigned width)
{
    uint64_t protocol;
    TRY(take_number(machine, width, &protocol, "unknown protocol"));
    return protocol > PROTOCOL_MOST ? machine_fault(machine, "unknown protocol") : GORDIAN_OK;
}

/* A frame is a hint for reading ahead: all bytes are in memory already. */
static gordian_status do_frame(struct machine *machine, unsigned width)
{
    uint64_t length;
    return take_number(machine, width, &length, IN_NUMBER);
}

static gordian_status do_pop(struct machine *machine, unsigned ignored)
{
    (void)ignored;
    TRY(need_values(machine, 1));
    machine->count--;
    return GORDIAN_OK;
}

static gordian_status do_pop_mark(struct machine *machine, unsigned ignored)
{
    (void)ignored;
    return take_mark(machine, &machine->count);
}

static gordian_status do_repeat(struct machine *machine, unsigned ignored)
{
    (void)ignored;
    TRY(need_values(machine, 1));
    return push_value(machine, machine->stack[machine->count - 1]);
}

#define STOP '.'

/* The opcodes by code, with their functions and arguments. An opcode without a function is
 * refused. */
static const struct {
    const char *name;
    gordian_status (*run)(struct machine *machine, unsigned argument);
    unsigned argument;
} opcodes[256] = {
    [0x80] = {"PROTO", do_protocol, 1},
    [0x95] = {"FRAME", do_frame, 8},
    ['('] = {"MARK", do_mark, 0},
    ['0'] = {"POP", do_pop, 0},
    ['1'] = {"POP_MARK", do_pop_mark, 0},
    ['2'] = {"DUP", do_repeat, 0},
    ['N'] = {"NONE", do_constant, 0},
    [0x89] = {"NEWFALSE", do_constant, 1},
    [0x88] = {"NEWTRUE", do_constant, 2},
    ['K'] = {"BININT1", do_integer, 1},
    ['M'] = {"BININT2", do_integer, 2},
    ['J'] = {"BININT", do_integer, 4},
    [0x8a] = {"LONG1", do_long, 1},
    ['G'] = {"BINFLOAT", do_real, 8},
    [0x8c] = {"SHORT_BINUNICODE", do_text, 1},
    ['X'] = {"BINUNICODE", do_text, 4},
    [0x8d] = {"BINUNICODE8", do_text, 8},
    ['U'] = {"SHORT_BINSTRING", do_text, 1},
    ['T'] = {"BINSTRING", do_text, 4},
    /* protocols 0 and 1: a line of text follows */
    ['I'] = {"INT", do_integer_line, false},
    ['L'] = {"LONG", do_integer_line, true},
    ['F'] = {"FLOAT", do_real_line, 0},
    ['V'] = {"UNICODE", do_text_line, false},
    ['S'] = {"STRING", do_text_line, true},
    ['p'] = {"PUT", do_put, 0},
    ['g'] = {"GET", do_get, 0},
    ['q'] = {"BINPUT", do_put, 1},
    ['r'] = {"LONG_BINPUT", do_put, 4},
    ['h'] = {"BINGET", do_get, 1},
    ['j'] = {"LONG_BINGET", do_get, 4},
    [0x94] = {"MEMOIZE", do_memoize, 0},
    ['l'] = {"LIST", do_make_marked, VALUE_LIST},
    ['t'] = {"TUPLE", do_make_marked, VALUE_LIST},
    ['d'] = {"DICT", do_make_marked, VALUE_DICT},
    [0x85] = {"TUPLE1", do_make_tuple, 1},
    [0x86] = {"TUPLE2", do_make_tuple, 2},
    [0x87] = {"TUPLE3", do_make_tuple, 3},
    [']'] = {"EMPTY_LIST", do_empty, VALUE_LIST},
    [')'] = {"EMPTY_TUPLE", do_empty, VALUE_LIST},
    ['}'] = {"EMPTY_DICT", do_empty, VALUE_DICT},
    ['a'] = {"APPEND", do_fill, VALUE_LIST},
    ['e'] = {"APPENDS", do_fill_marked, VALUE_LIST},
    ['s'] = {"SETITEM", do_fill, VALUE_DICT},
    ['u'] = {"SETITEMS", do_fill_marked, VALUE_DICT},
    /* refused: these do not make plain data */
    ['c'] = {.name = "GLOBAL"},
    ['R'] = {.name = "REDUCE"},
    ['b'] = {.name = "BUILD"},
    ['i'] = {.name = "INST"},
    ['o'] = {.name = "OBJ"},
    [0x81] = {.name = "NEWOBJ"},
    [0x92] = {.name = "NEWOBJ_EX"},
    [0x93] = {.name = "STACK_GLOBAL"},
    [0x82] = {.name = "EXT1"},
    [0x83] = {.name = "EXT2"},
    [0x84] = {.name = "EXT4"},
    ['P'] = {.name = "PERSID"},
    ['Q'] = {.name = "BINPERSID"},
    [0x97] = {.name = "NEXT_BUFFER"},
    [0x98] = {.name = "READONLY_BUFFER"},
    [0x8b] = {.name = "LONG4"},
    ['B'] = {.name = "BINBYTES"},
    ['C'] = {.name = "SHORT_BINBYTES"},
    [0x8e] = {.name = "BINBYTES8"},
    [0x96] = {.name = "BYTEARRAY8"},
    [0x8f] = {.name = "EMPTY_SET"},
    [0x90] = {.name = "ADDITEMS"},
    [0x91] = {.name = "FROZENSET"},
};

static gordian_status refuse_opcode(struct machine *machine, uint8_t code)
{
    if (opcodes[code].name)
        return fail(machine->error, GORDIAN_STATUS_INPUT,
                    "byte %zu: opcode %s refused: it does not create plain data", machine->opcode,
                    opcodes[code].name);
    return fail(machine->error, GORDIAN_STATUS_INPUT, "byte %zu: unknown opcode 0x%02x",
                machine->opcode, code);
}

static gordian_status run_machine(struct machine *machine, const struct value **out)
{
    for (;;) {
        machine->opcode = machine->at;
        if (machine->at == machine->size)
            return machine_fault(machine, "the file ends before its STOP");
        uint8_t code = machine->bytes[machine->at++];
        if (code == STOP)
            break;
        if (!opcodes[code].run)
            return refuse_opcode(machine, code);
        TRY(opcodes[code].run(machine, opcodes[code].argument));
    }
    if (machine->count != 1 || machine->mark_count)
        return machine_fault(machine, "the stack does not hold exactly one value at STOP");
    *out = machine->stack[0];
    return GORDIAN_OK;
}

bool pickle_begins(const uint8_t *bytes, size_t size)
{
    return size >= 2 && (bytes[0] == 0x80 || bytes[0] == '(' || bytes[0] == '}' || bytes[0] == ']');
}

gordian_status pickle_read(const struct value **out, struct arena *arena, const uint8_t *bytes,
                           size_t size, gordian_error *error)
{
    struct machine machine = {.arena = arena, .bytes = bytes, .size = size, .error = error};
    gordian_status status = run_machine(&machine, out);
    memory_free_all(&arena->memory, machine.stack, machine.marks, machine.memo);
    return status;
}
