#include "sources/collectives/pickle.h"

#include "foundation/base/error.h"

#include <stdlib.h>

enum opcode {
    OPCODE_PROTO = 0x80,
    OPCODE_STOP = '.',
    OPCODE_FRAME = 0x95,
    OPCODE_MARK = '(',
    OPCODE_POP = '0',
    OPCODE_POP_MARK = '1',
    OPCODE_DUP = '2',
    OPCODE_NONE = 'N',
    OPCODE_TRUE = 0x88,
    OPCODE_FALSE = 0x89,
    OPCODE_INT1 = 'K',
    OPCODE_INT2 = 'M',
    OPCODE_INT4 = 'J',
    OPCODE_LONG1 = 0x8a,
    OPCODE_FLOAT = 'G',
    OPCODE_TEXT1 = 0x8c,
    OPCODE_TEXT4 = 'X',
    OPCODE_TEXT8 = 0x8d,
    OPCODE_BYTES1 = 'U',
    OPCODE_BYTES4 = 'T',
    /* of protocols 0 and 1: a line of text follows */
    OPCODE_INT_LINE = 'I',
    OPCODE_LONG_LINE = 'L',
    OPCODE_FLOAT_LINE = 'F',
    OPCODE_TEXT_LINE = 'V',
    OPCODE_BYTES_LINE = 'S',
    OPCODE_PUT_LINE = 'p',
    OPCODE_GET_LINE = 'g',
    OPCODE_LIST = 'l',
    OPCODE_DICT = 'd',
    OPCODE_EMPTY_LIST = ']',
    OPCODE_EMPTY_DICT = '}',
    OPCODE_EMPTY_TUPLE = ')',
    OPCODE_TUPLE = 't',
    OPCODE_TUPLE1 = 0x85,
    OPCODE_TUPLE2 = 0x86,
    OPCODE_TUPLE3 = 0x87,
    OPCODE_APPEND = 'a',
    OPCODE_APPENDS = 'e',
    OPCODE_SETITEM = 's',
    OPCODE_SETITEMS = 'u',
    OPCODE_PUT1 = 'q',
    OPCODE_PUT4 = 'r',
    OPCODE_GET1 = 'h',
    OPCODE_GET4 = 'j',
    OPCODE_MEMOIZE = 0x94,
};

#define PROTOCOL_MOST 5

/* Those that are refused, by their names. */
static const struct {
    uint8_t code;
    const char *name;
} strangers[] = {
    {'c', "GLOBAL"},     {'R', "REDUCE"},        {'b', "BUILD"},
    {'i', "INST"},       {'o', "OBJ"},           {0x81, "NEWOBJ"},
    {0x92, "NEWOBJ_EX"}, {0x93, "STACK_GLOBAL"}, {0x82, "EXT1"},
    {0x83, "EXT2"},      {0x84, "EXT4"},         {'P', "PERSID"},
    {'Q', "BINPERSID"},  {0x97, "NEXT_BUFFER"},  {0x98, "READONLY_BUFFER"},
    {0x8b, "LONG4"},     {'B', "BINBYTES"},      {'C', "SHORT_BINBYTES"},
    {0x8e, "BINBYTES8"}, {0x96, "BYTEARRAY8"},   {0x8f, "EMPTY_SET"},
    {0x90, "ADDITEMS"},  {0x91, "FROZENSET"},
};

struct machine {
    struct arena *arena;
    const uint8_t *bytes;
    size_t size, at;
    size_t opcode; /* where the present one is */
    struct value **stack;
    size_t count, room;
    size_t *marks; /* places of the stack */
    size_t mark_count, mark_room;
    struct value **memo;
    size_t memo_count, memo_room;
    gordian_error *error;
};

static gordian_status machine_fault(struct machine *machine, const char *what)
{
    return fail(machine->error, GORDIAN_STATUS_INPUT, "byte %zu: %s", machine->opcode, what);
}

static gordian_status refuse_opcode(struct machine *machine, uint8_t code)
{
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        if (strangers[i].code == code)
            return fail(machine->error, GORDIAN_STATUS_INPUT,
                        "byte %zu: the opcode %s makes no plain data: refused", machine->opcode,
                        strangers[i].name);
    return fail(machine->error, GORDIAN_STATUS_INPUT, "byte %zu: there is no opcode 0x%02x",
                machine->opcode, code);
}

static gordian_status push_value(struct machine *machine, struct value *value)
{
    if (!value ||
        !memory_extend(&machine->arena->memory, machine->stack, machine->room, machine->count))
        return fail_memory(machine->error);
    machine->stack[machine->count++] = value;
    return GORDIAN_OK;
}

/* What is above the last mark may be used, not what lies below. */
static size_t stack_floor(const struct machine *machine)
{
    return machine->mark_count ? machine->marks[machine->mark_count - 1] : 0;
}

static bool stack_has(const struct machine *machine, size_t count)
{
    return machine->count - stack_floor(machine) >= count;
}

/* `width` bytes behind the opcode as a number; false: there are fewer. */
static bool take_number(struct machine *machine, unsigned width, uint64_t *number)
{
    if (machine->size - machine->at < width)
        return false;
    *number = 0;
    for (unsigned i = 0; i < width; i++)
        *number |= (uint64_t)machine->bytes[machine->at + i] << 8 * i;
    machine->at += width;
    return true;
}

/* ------------------------------------------------------------------ simple ones */

static gordian_status push_simple(struct machine *machine, enum value_kind kind, int64_t integer)
{
    struct value *value = value_new(machine->arena, kind);
    if (value && kind < VALUE_LIST)
        value->integer = integer;
    return push_value(machine, value);
}

static gordian_status push_integer(struct machine *machine, unsigned width)
{
    uint64_t number;
    if (!take_number(machine, width, &number))
        return machine_fault(machine, "the file ends within a number");
    if (width == 4)
        number = (uint64_t)(int64_t)(int32_t)(uint32_t)number;
    return push_simple(machine, VALUE_INTEGER, (int64_t)number);
}

/* Any length, the sign in the last byte; what does not fit 64 bits is as good as the nearest. */
static gordian_status push_long(struct machine *machine)
{
    uint64_t length, number = 0;
    if (!take_number(machine, 1, &length) || machine->size - machine->at < length)
        return machine_fault(machine, "the file ends within a number");
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

static gordian_status push_real(struct machine *machine)
{
    uint64_t bits = 0;
    double real;
    if (machine->size - machine->at < 8)
        return machine_fault(machine, "the file ends within a number");
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | machine->bytes[machine->at++];
    memcpy(&real, &bits, sizeof real);
    struct value *value = value_new(machine->arena, VALUE_REAL);
    if (value)
        value->real = real;
    return push_value(machine, value);
}

static gordian_status push_text(struct machine *machine, unsigned width)
{
    uint64_t length;
    if (!take_number(machine, width, &length) || machine->size - machine->at < length)
        return machine_fault(machine, "the file ends within a text");
    struct value *value = value_new(machine->arena, VALUE_TEXT);
    if (length > UINT32_MAX)
        return machine_fault(machine, "a text of more than 4 GiB");
    if (value) {
        value->text = (const char *)machine->bytes + machine->at;
        value->count = (uint32_t)length;
    }
    machine->at += length;
    return push_value(machine, value);
}

/* ------------------------------------------------------------------ lines of protocols 0 and 1 */

#define FLOAT_MOST 64 /* digits and signs of a number with a point */

/* The bytes up to the end of the line; moves behind it. */
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

/* A whole number; what does not fit 64 bits is as good as the nearest. */
static bool parse_integer(const char *line, size_t length, int64_t *number)
{
    bool negative = length && line[0] == '-';
    size_t at = negative;
    *number = 0;
    for (; at < length && line[at] >= '0' && line[at] <= '9'; at++)
        if (__builtin_mul_overflow(*number, 10, number) ||
            __builtin_sub_overflow(*number, line[at] - '0', number))
            *number = INT64_MIN; /* digits count downwards: the smallest number has no opposite */
    if (!negative)
        *number = *number == INT64_MIN ? INT64_MAX : -*number;
    return at == length && length > negative;
}

/* "I01" and "I00" are truths: numbers do not begin with 0. */
static gordian_status push_integer_line(struct machine *machine, bool is_long)
{
    const char *line;
    size_t length;
    int64_t number;
    TRY(take_line(machine, &line, &length));
    if (!is_long && length == 2 && line[0] == '0' && (line[1] == '0' || line[1] == '1'))
        return push_simple(machine, VALUE_BOOL, line[1] - '0');
    length -= is_long && length && line[length - 1] == 'L';
    if (!parse_integer(line, length, &number))
        return machine_fault(machine, "a line that is no number");
    return push_simple(machine, VALUE_INTEGER, number);
}

static gordian_status push_real_line(struct machine *machine)
{
    const char *line;
    char text[FLOAT_MOST + 1], *end;
    size_t length;
    TRY(take_line(machine, &line, &length));
    if (length == 0 || length > FLOAT_MOST)
        return machine_fault(machine, "a line that is no number");
    memcpy(text, line, length);
    text[length] = '\0';
    double real = strtod(text, &end);
    if (*end)
        return machine_fault(machine, "a line that is no number");
    struct value *value = value_new(machine->arena, VALUE_REAL);
    if (value)
        value->real = real;
    return push_value(machine, value);
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

/* `count` hexadecimal digits as a character; false: they are none, or there is no such character.
 */
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
        *code = 0xfffd; /* half a pair */
    return *code < 0x110000;
}

/* Bytes are characters below 256, except \uXXXX, \UXXXXXXXX and, where `quoted`, what strings of
 * Python have behind a backslash. NULL: an escape that means nothing. */
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

/* Every byte becomes at most two. */
static gordian_status push_text_line(struct machine *machine, bool quoted)
{
    const char *line;
    size_t length;
    TRY(take_line(machine, &line, &length));
    if (quoted) {
        if (length < 2 || (line[0] != '\'' && line[0] != '"') || line[length - 1] != line[0])
            return machine_fault(machine, "a text without its quotes");
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
        return machine_fault(machine, "a backslash that means nothing");
    value->text = text;
    value->count = (uint32_t)(end - text);
    return push_value(machine, value);
}

static gordian_status take_index_line(struct machine *machine, uint64_t *index)
{
    const char *line;
    size_t length;
    int64_t number;
    TRY(take_line(machine, &line, &length));
    if (!parse_integer(line, length, &number) || number < 0)
        return machine_fault(machine, "a line that is no number");
    *index = (uint64_t)number;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ lists and dictionaries */

static gordian_status set_mark(struct machine *machine)
{
    if (!memory_extend(&machine->arena->memory, machine->marks, machine->mark_room,
                       machine->mark_count))
        return fail_memory(machine->error);
    machine->marks[machine->mark_count++] = machine->count;
    return GORDIAN_OK;
}

/* Where what lies above the last mark begins; the mark is taken away. */
static bool take_mark(struct machine *machine, size_t *from)
{
    if (machine->mark_count == 0)
        return false;
    *from = machine->marks[--machine->mark_count];
    return true;
}

/* Moves what lies from `from` on to the container below it. */
static gordian_status fill_container(struct machine *machine, size_t from, enum value_kind kind)
{
    size_t count = machine->count - from;
    if (from == stack_floor(machine) || machine->stack[from - 1]->kind != kind)
        return machine_fault(machine, kind == VALUE_LIST ? "no list to append to"
                                                         : "no dictionary to put items into");
    if (kind == VALUE_DICT && count % 2)
        return machine_fault(machine, "a key without a value");
    struct value *into = machine->stack[from - 1];
    uint32_t used = kind == VALUE_DICT ? 2 * into->count : into->count;
    for (size_t i = 0; i < count; i++)
        if (!value_push(machine->arena, into, used++, machine->stack[from + i]))
            return fail_memory(machine->error);
    into->count = kind == VALUE_DICT ? used / 2 : used;
    machine->count = from;
    return GORDIAN_OK;
}

static gordian_status fill_marked(struct machine *machine, enum value_kind kind)
{
    size_t from;
    if (!take_mark(machine, &from))
        return machine_fault(machine, "no mark was set");
    return fill_container(machine, from, kind);
}

static gordian_status fill_few(struct machine *machine, size_t count, enum value_kind kind)
{
    if (!stack_has(machine, count + 1))
        return machine_fault(machine, "the stack has too little");
    return fill_container(machine, machine->count - count, kind);
}

/* What lies from `from` on becomes a tuple. */
static gordian_status make_tuple(struct machine *machine, size_t from)
{
    struct value *tuple = value_new(machine->arena, VALUE_LIST);
    if (!tuple)
        return fail_memory(machine->error);
    for (size_t i = from; i < machine->count; i++)
        if (!value_push(machine->arena, tuple, tuple->count++, machine->stack[i]))
            return fail_memory(machine->error);
    machine->count = from;
    return push_value(machine, tuple);
}

/* What lies above the last mark becomes a dictionary: key, value, key, ... */
static gordian_status make_dict(struct machine *machine)
{
    size_t from;
    if (!take_mark(machine, &from))
        return machine_fault(machine, "no mark was set");
    size_t count = machine->count - from;
    if (count % 2)
        return machine_fault(machine, "a key without a value");
    struct value *dict = value_new(machine->arena, VALUE_DICT);
    if (!dict)
        return fail_memory(machine->error);
    for (size_t i = 0; i < count; i++)
        if (!value_push(machine->arena, dict, (uint32_t)i, machine->stack[from + i]))
            return fail_memory(machine->error);
    dict->count = (uint32_t)(count / 2);
    machine->count = from;
    return push_value(machine, dict);
}

static gordian_status make_few(struct machine *machine, size_t count)
{
    if (!stack_has(machine, count))
        return machine_fault(machine, "the stack has too little");
    return make_tuple(machine, machine->count - count);
}

static gordian_status make_marked(struct machine *machine)
{
    size_t from;
    if (!take_mark(machine, &from))
        return machine_fault(machine, "no mark was set");
    return make_tuple(machine, from);
}

/* ------------------------------------------------------------------ the memo */

/* An index is below the file's size in all that a pickler writes, which bounds the memory. */
static gordian_status put_memo(struct machine *machine, uint64_t index)
{
    if (!stack_has(machine, 1))
        return machine_fault(machine, "the stack has too little");
    if (index > machine->size)
        return machine_fault(machine, "a place in the memo that no pickler uses");
    if (!memory_grow_zeroed(&machine->arena->memory, &machine->memo, &machine->memo_room,
                            (size_t)index + 1, sizeof *machine->memo))
        return fail_memory(machine->error);
    if (index >= machine->memo_count)
        machine->memo_count = (size_t)index + 1;
    machine->memo[index] = machine->stack[machine->count - 1];
    return GORDIAN_OK;
}

static gordian_status put_numbered(struct machine *machine, unsigned width)
{
    uint64_t index;
    if (!take_number(machine, width, &index))
        return machine_fault(machine, "the file ends within a number");
    return put_memo(machine, index);
}

static gordian_status put_line(struct machine *machine)
{
    uint64_t index;
    gordian_status status = take_index_line(machine, &index);
    return status == GORDIAN_OK ? put_memo(machine, index) : status;
}

static gordian_status get_memo(struct machine *machine, uint64_t index)
{
    if (index >= machine->memo_count || !machine->memo[index])
        return machine_fault(machine, "nothing was put there in the memo");
    return push_value(machine, machine->memo[index]);
}

static gordian_status get_numbered(struct machine *machine, unsigned width)
{
    uint64_t index;
    if (!take_number(machine, width, &index))
        return machine_fault(machine, "the file ends within a number");
    return get_memo(machine, index);
}

static gordian_status get_line(struct machine *machine)
{
    uint64_t index;
    gordian_status status = take_index_line(machine, &index);
    return status == GORDIAN_OK ? get_memo(machine, index) : status;
}

/* ------------------------------------------------------------------ the machine */

static gordian_status check_protocol(struct machine *machine)
{
    uint64_t protocol;
    if (!take_number(machine, 1, &protocol) || protocol > PROTOCOL_MOST)
        return machine_fault(machine, "a protocol that is not known");
    return GORDIAN_OK;
}

/* A frame says how many bytes follow that may be read at once: all of them are here. */
static gordian_status pass_frame(struct machine *machine)
{
    uint64_t length;
    if (!take_number(machine, 8, &length))
        return machine_fault(machine, "the file ends within a number");
    return GORDIAN_OK;
}

static gordian_status pop_value(struct machine *machine)
{
    if (!stack_has(machine, 1))
        return machine_fault(machine, "the stack has too little");
    machine->count--;
    return GORDIAN_OK;
}

static gordian_status pop_mark(struct machine *machine)
{
    size_t from;
    if (!take_mark(machine, &from))
        return machine_fault(machine, "no mark was set");
    machine->count = from;
    return GORDIAN_OK;
}

static gordian_status repeat_value(struct machine *machine)
{
    if (!stack_has(machine, 1))
        return machine_fault(machine, "the stack has too little");
    return push_value(machine, machine->stack[machine->count - 1]);
}

/* Those that push what a line of text says. */
static gordian_status do_line(struct machine *machine, uint8_t code)
{
    switch (code) {
    case OPCODE_INT_LINE:
        return push_integer_line(machine, false);
    case OPCODE_LONG_LINE:
        return push_integer_line(machine, true);
    case OPCODE_FLOAT_LINE:
        return push_real_line(machine);
    case OPCODE_TEXT_LINE:
        return push_text_line(machine, false);
    case OPCODE_BYTES_LINE:
        return push_text_line(machine, true);
    default:
        return refuse_opcode(machine, code);
    }
}

/* Those that push something simple. */
static gordian_status do_push(struct machine *machine, uint8_t code)
{
    switch (code) {
    case OPCODE_NONE:
        return push_simple(machine, VALUE_NONE, 0);
    case OPCODE_TRUE:
        return push_simple(machine, VALUE_BOOL, 1);
    case OPCODE_FALSE:
        return push_simple(machine, VALUE_BOOL, 0);
    case OPCODE_INT1:
        return push_integer(machine, 1);
    case OPCODE_INT2:
        return push_integer(machine, 2);
    case OPCODE_INT4:
        return push_integer(machine, 4);
    case OPCODE_LONG1:
        return push_long(machine);
    case OPCODE_FLOAT:
        return push_real(machine);
    case OPCODE_TEXT1:
    case OPCODE_BYTES1:
        return push_text(machine, 1);
    case OPCODE_TEXT4:
    case OPCODE_BYTES4:
        return push_text(machine, 4);
    case OPCODE_TEXT8:
        return push_text(machine, 8);
    default:
        return do_line(machine, code);
    }
}

/* Those that make and fill containers. */
static gordian_status do_container(struct machine *machine, uint8_t code)
{
    switch (code) {
    case OPCODE_EMPTY_LIST:
    case OPCODE_EMPTY_TUPLE:
        return push_simple(machine, VALUE_LIST, 0);
    case OPCODE_EMPTY_DICT:
        return push_simple(machine, VALUE_DICT, 0);
    case OPCODE_TUPLE:
    case OPCODE_LIST:
        return make_marked(machine);
    case OPCODE_DICT:
        return make_dict(machine);
    case OPCODE_TUPLE1:
    case OPCODE_TUPLE2:
    case OPCODE_TUPLE3:
        return make_few(machine, code - OPCODE_TUPLE1 + 1u);
    case OPCODE_APPEND:
        return fill_few(machine, 1, VALUE_LIST);
    case OPCODE_APPENDS:
        return fill_marked(machine, VALUE_LIST);
    case OPCODE_SETITEM:
        return fill_few(machine, 2, VALUE_DICT);
    case OPCODE_SETITEMS:
        return fill_marked(machine, VALUE_DICT);
    default:
        return do_push(machine, code);
    }
}

static gordian_status do_opcode(struct machine *machine, uint8_t code)
{
    switch (code) {
    case OPCODE_PROTO:
        return check_protocol(machine);
    case OPCODE_FRAME:
        return pass_frame(machine);
    case OPCODE_MARK:
        return set_mark(machine);
    case OPCODE_POP:
        return pop_value(machine);
    case OPCODE_POP_MARK:
        return pop_mark(machine);
    case OPCODE_DUP:
        return repeat_value(machine);
    case OPCODE_PUT1:
        return put_numbered(machine, 1);
    case OPCODE_PUT4:
        return put_numbered(machine, 4);
    case OPCODE_MEMOIZE:
        return put_memo(machine, machine->memo_count);
    case OPCODE_PUT_LINE:
        return put_line(machine);
    case OPCODE_GET1:
        return get_numbered(machine, 1);
    case OPCODE_GET4:
        return get_numbered(machine, 4);
    case OPCODE_GET_LINE:
        return get_line(machine);
    default:
        return do_container(machine, code);
    }
}

static gordian_status run_machine(struct machine *machine, const struct value **out)
{
    gordian_status status = GORDIAN_OK;
    while (status == GORDIAN_OK) {
        machine->opcode = machine->at;
        if (machine->at == machine->size)
            return machine_fault(machine, "the file ends before its STOP");
        uint8_t code = machine->bytes[machine->at++];
        if (code != OPCODE_STOP) {
            status = do_opcode(machine, code);
            continue;
        }
        if (machine->count != 1 || machine->mark_count)
            return machine_fault(machine, "STOP, and the stack does not hold one value");
        *out = machine->stack[0];
        return GORDIAN_OK;
    }
    return status;
}

bool pickle_begins(const uint8_t *bytes, size_t size)
{
    return size >= 2 && (bytes[0] == OPCODE_PROTO || bytes[0] == OPCODE_MARK ||
                         bytes[0] == OPCODE_EMPTY_DICT || bytes[0] == OPCODE_EMPTY_LIST);
}

gordian_status pickle_read(const struct value **out, struct arena *arena, const uint8_t *bytes,
                           size_t size, gordian_error *error)
{
    struct machine machine = {.arena = arena, .bytes = bytes, .size = size, .error = error};
    gordian_status status = run_machine(&machine, out);
    memory_free_all(&arena->memory, machine.stack, machine.marks, machine.memo);
    return status;
}
