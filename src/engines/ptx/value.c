/* Evaluates integer instructions (value.h). */
#include "engines/ptx/value.h"

#include <stdio.h>
#include <string.h>

#define OPERANDS 5u

struct evaluation {
    const gordian_ptx *ptx;
    const struct ptx_function *function;
    const struct ptx_instruction *instruction;
    const gordian_ptx_question *question;
    ptx_reader read;
    ptx_missing missing; /* NULL: not called */
    void *context;
    const char *name; /* the opcode; its stem ends at the first dot */
    size_t length, stem;
    struct {
        uint32_t first, count; /* tokens */
    } operands[OPERANDS];
    size_t count;
};

struct type {
    uint32_t bits; /* 1: a predicate; 0: an unsupported type */
    bool is_signed;
};

/* ------------------------------------------------------------------ the opcode */

static bool evaluated_stem_is(const struct evaluation *e, const char *word)
{
    return strlen(word) == e->stem && memcmp(e->name, word, e->stem) == 0;
}

/* Part `index` of the opcode, between dots; 0: the stem. */
static bool opcode_part(const struct evaluation *e, size_t index, const char **text, size_t *length)
{
    size_t at = 0;
    for (;; index--) {
        size_t end = at;
        while (end < e->length && e->name[end] != '.')
            end++;
        *text = e->name + at;
        *length = end - at;
        if (index == 0)
            return true;
        if (end == e->length)
            return false;
        at = end + 1;
    }
}

static bool has_part(const struct evaluation *e, const char *word)
{
    const char *text;
    size_t length;
    for (size_t i = 1; opcode_part(e, i, &text, &length); i++)
        if (length == strlen(word) && memcmp(text, word, length) == 0)
            return true;
    return false;
}

static struct type parse_type(const char *text, size_t length)
{
    struct type type = {0, false};
    if (length == 4 && memcmp(text, "pred", 4) == 0)
        type.bits = 1;
    if (length < 2 || length > 3 || !strchr("usb", text[0]))
        return type;
    static const struct {
        const char *digits;
        uint32_t bits;
    } sizes[] = {{"8", 8}, {"16", 16}, {"32", 32}, {"64", 64}};
    type.is_signed = text[0] == 's';
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (length == strlen(sizes[i].digits) + 1 &&
            memcmp(text + 1, sizes[i].digits, length - 1) == 0)
            type.bits = sizes[i].bits;
    return type;
}

/* Type `index` among the parts, from 0. */
static struct type nth_type(const struct evaluation *e, size_t index)
{
    const char *text;
    size_t length;
    for (size_t i = 1; opcode_part(e, i, &text, &length); i++) {
        struct type type = parse_type(text, length);
        if (type.bits && index-- == 0)
            return type;
    }
    return (struct type){0, false};
}

static uint64_t cut_to_type(uint64_t value, struct type type)
{
    return type.bits == 64 ? value : value & ((UINT64_C(1) << type.bits) - 1);
}

/* Sign-extends a value to 64 bits. */
static int64_t extend_sign(uint64_t value, struct type type)
{
    value = cut_to_type(value, type);
    if (type.bits < 64 && value >> (type.bits - 1) & 1)
        value |= ~((UINT64_C(1) << type.bits) - 1);
    return (int64_t)value;
}

/* ------------------------------------------------------------------ operands */

static bool parse_ptx_number(const char *text, size_t length, uint64_t *value)
{
    uint64_t base = 10, sum = 0;
    if (length > 0 && (text[length - 1] == 'U' || text[length - 1] == 'u'))
        length--;
    if (length > 1 && text[0] == '0') {
        char mark = length > 2 ? text[1] : '\0';
        base = mark == 'x' || mark == 'X' ? 16 : mark == 'b' || mark == 'B' ? 2 : 8;
        text += base == 8 ? 0 : 2;
        length -= base == 8 ? 0 : 2;
    }
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        uint64_t digit = c >= '0' && c <= '9'   ? (uint64_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint64_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint64_t)(c - 'A' + 10)
                                                : 99;
        if (digit >= base || __builtin_mul_overflow(sum, base, &sum) ||
            __builtin_add_overflow(sum, digit, &sum))
            return false;
    }
    *value = sum;
    return length > 0;
}

/* Returns a value given by the question. */
static bool value_given(const struct evaluation *e, const char *name, size_t length,
                        uint64_t *value)
{
    for (size_t i = 0; i < e->question->value_count; i++) {
        const gordian_ptx_named *known = &e->question->values[i];
        if (strlen(known->name) == length && memcmp(known->name, name, length) == 0) {
            *value = known->value;
            return true;
        }
    }
    return false;
}

static bool operand_value(const struct evaluation *e, size_t index, uint64_t *value)
{
    if (index >= e->count)
        return false;
    uint32_t at = e->operands[index].first, count = e->operands[index].count;
    bool negative = count == 2 && ptx_is_mark(e->ptx, at, '-');
    bool inverted = count == 2 && ptx_is_mark(e->ptx, at, '!');
    if (negative || inverted)
        at++;
    else if (count != 1)
        return false;
    const struct ptx_token *token = &e->ptx->tokens[at];
    const char *text = ptx_text(e->ptx, at);
    if (token->kind != PTX_WORD)
        return false;
    uint32_t number = ptx_register(e->ptx, e->function, e->instruction->scope, at);
    if (number != PTX_NONE) {
        if (!e->read(e->context, number, value))
            return false;
    } else if (*text >= '0' && *text <= '9') {
        if (!parse_ptx_number(text, token->length, value))
            return false;
    } else if (ptx_is(e->ptx, at, "WARP_SZ")) {
        *value = 32;
    } else if (!value_given(e, text, token->length, value)) {
        if (*text == '%' && e->missing)
            e->missing(e->context, text, token->length);
        return false;
    }
    if (negative)
        *value = -*value;
    if (inverted)
        *value = !*value;
    return true;
}

/* ld.param: the question gives the value of a kernel parameter, by name (with an offset as written)
 * or by number. */
static bool load_parameter(const struct evaluation *e, uint64_t *value)
{
    if (e->count != 2 || !has_part(e, "param") || !e->function->entry)
        return false;
    uint32_t at = e->operands[1].first, count = e->operands[1].count;
    if (count < 3 || !ptx_is_mark(e->ptx, at, '['))
        return false;
    const char *name = ptx_text(e->ptx, at + 1);
    const struct ptx_token *end = &e->ptx->tokens[at + count - 1];
    size_t whole = (size_t)(e->ptx->text.bytes + end->at - name);
    if (value_given(e, name, whole, value))
        return true;
    if (count != 3)
        return false;
    for (uint32_t i = 0; i < e->function->parameter_count; i++) {
        uint32_t token = e->function->parameters[i];
        char number[12];
        if (e->ptx->tokens[token].length != whole ||
            memcmp(ptx_text(e->ptx, token), name, whole) != 0)
            continue;
        size_t digits = (size_t)snprintf(number, sizeof number, "%u", i);
        if (value_given(e, number, digits, value))
            return true;
        if (e->missing)
            e->missing(e->context, number, digits);
        return false;
    }
    return false;
}

/* ------------------------------------------------------------------ instructions */

static bool compare_values(const struct evaluation *e, struct type type, uint64_t a, uint64_t b,
                           uint64_t *value)
{
    const char *how;
    size_t length;
    int64_t x = extend_sign(a, type), y = extend_sign(b, type);
    opcode_part(e, 1, &how, &length);
    a = cut_to_type(a, type);
    b = cut_to_type(b, type);
    if (length != 2)
        return false;
    bool less = type.is_signed ? x < y : a < b;
    if (memcmp(how, "eq", 2) == 0)
        *value = a == b;
    else if (memcmp(how, "ne", 2) == 0)
        *value = a != b;
    else if (memcmp(how, "lt", 2) == 0 || memcmp(how, "lo", 2) == 0)
        *value = less;
    else if (memcmp(how, "le", 2) == 0 || memcmp(how, "ls", 2) == 0)
        *value = less || a == b;
    else if (memcmp(how, "gt", 2) == 0 || memcmp(how, "hi", 2) == 0)
        *value = !less && a != b;
    else if (memcmp(how, "ge", 2) == 0 || memcmp(how, "hs", 2) == 0)
        *value = !less;
    else
        return false;
    return true;
}

static bool set_predicate(const struct evaluation *e, struct type type, uint64_t a, uint64_t b,
                          uint64_t *value)
{
    if (e->operands[0].count != 1 || !compare_values(e, type, a, b, value))
        return false;
    if (e->count == 3)
        return true;
    uint64_t c;
    if (!operand_value(e, 3, &c))
        return false;
    if (has_part(e, "and"))
        *value &= c;
    else if (has_part(e, "or"))
        *value |= c;
    else if (has_part(e, "xor"))
        *value ^= c;
    else
        return false;
    return true;
}

static bool shift_value(const struct evaluation *e, struct type type, uint64_t a, uint64_t b,
                        uint64_t *value)
{
    uint64_t by = b & UINT32_MAX;
    if (evaluated_stem_is(e, "shl"))
        *value = by >= type.bits ? 0 : a << by;
    else if (type.is_signed)
        *value = (uint64_t)(extend_sign(a, type) >> (by >= type.bits ? type.bits - 1 : by));
    else
        *value = by >= type.bits ? 0 : cut_to_type(a, type) >> by;
    return true;
}

static bool divide_values(const struct evaluation *e, struct type type, uint64_t a, uint64_t b,
                          uint64_t *value)
{
    int64_t x = extend_sign(a, type), y = extend_sign(b, type);
    a = cut_to_type(a, type);
    b = cut_to_type(b, type);
    if (b == 0 || (type.is_signed && y == -1)) /* the latter may overflow */
        return false;
    bool rest = evaluated_stem_is(e, "rem");
    if (type.is_signed)
        *value = (uint64_t)(rest ? x % y : x / y);
    else
        *value = rest ? a % b : a / b;
    return true;
}

/* mul.lo, mul.wide. Wide results are exact in 64 bits. */
static bool multiply_values(const struct evaluation *e, struct type type, uint64_t a, uint64_t b,
                            uint64_t *value)
{
    bool wide = has_part(e, "wide");
    if (!wide && !has_part(e, "lo"))
        return false;
    if (wide && type.is_signed) {
        a = (uint64_t)extend_sign(a, type);
        b = (uint64_t)extend_sign(b, type);
    } else {
        a = cut_to_type(a, type);
        b = cut_to_type(b, type);
    }
    *value = a * b;
    if (!evaluated_stem_is(e, "mad"))
        return true;
    uint64_t c;
    if (!operand_value(e, 3, &c))
        return false;
    *value += c;
    return true;
}

static bool two_operands(const struct evaluation *e, struct type type, uint64_t a, uint64_t b,
                         uint64_t *value)
{
    bool less = type.is_signed ? extend_sign(a, type) < extend_sign(b, type)
                               : cut_to_type(a, type) < cut_to_type(b, type);
    if (evaluated_stem_is(e, "add"))
        *value = a + b;
    else if (evaluated_stem_is(e, "sub"))
        *value = a - b;
    else if (evaluated_stem_is(e, "and"))
        *value = a & b;
    else if (evaluated_stem_is(e, "or"))
        *value = a | b;
    else if (evaluated_stem_is(e, "xor"))
        *value = a ^ b;
    else if (evaluated_stem_is(e, "min"))
        *value = less ? a : b;
    else if (evaluated_stem_is(e, "max"))
        *value = less ? b : a;
    else if (evaluated_stem_is(e, "shl") || evaluated_stem_is(e, "shr"))
        return shift_value(e, type, a, b, value);
    else if (evaluated_stem_is(e, "div") || evaluated_stem_is(e, "rem"))
        return divide_values(e, type, a, b, value);
    else if (evaluated_stem_is(e, "mul") || evaluated_stem_is(e, "mad"))
        return multiply_values(e, type, a, b, value);
    else if (evaluated_stem_is(e, "setp"))
        return set_predicate(e, type, a, b, value);
    else
        return false;
    return true;
}

static bool one_operand(const struct evaluation *e, struct type type, uint64_t a, uint64_t *value)
{
    if (evaluated_stem_is(e, "mov") || evaluated_stem_is(e, "cvta"))
        *value = a;
    else if (evaluated_stem_is(e, "not"))
        *value = type.bits == 1 ? !a : ~a;
    else if (evaluated_stem_is(e, "neg"))
        *value = -a;
    else if (evaluated_stem_is(e, "abs"))
        *value = extend_sign(a, type) < 0 ? -(uint64_t)extend_sign(a, type) : a;
    else if (evaluated_stem_is(e, "cvt") && nth_type(e, 1).bits)
        *value = nth_type(e, 1).is_signed ? (uint64_t)extend_sign(a, nth_type(e, 1))
                                          : cut_to_type(a, nth_type(e, 1));
    else
        return false;
    return true;
}

static bool evaluate_instruction(const struct evaluation *e, uint64_t *value)
{
    struct type type = nth_type(e, 0);
    uint64_t a, b, c;
    if (type.bits == 0 || has_part(e, "sat") || has_part(e, "cc"))
        return false;
    if (evaluated_stem_is(e, "ld"))
        return load_parameter(e, value);
    if (!operand_value(e, 1, &a))
        return false;
    if (e->count == 2)
        return one_operand(e, type, a, value);
    if (!operand_value(e, 2, &b))
        return false;
    if (evaluated_stem_is(e, "selp")) {
        if (!operand_value(e, 3, &c))
            return false;
        *value = c ? a : b;
        return true;
    }
    return two_operands(e, type, a, b, value);
}

static struct evaluation begin_evaluation(const gordian_ptx *ptx,
                                          const struct ptx_function *function,
                                          const struct ptx_instruction *instruction,
                                          const gordian_ptx_question *question, ptx_reader read,
                                          void *context)
{
    struct evaluation e = {.ptx = ptx,
                           .function = function,
                           .instruction = instruction,
                           .question = question,
                           .read = read,
                           .context = context,
                           .name = ptx_text(ptx, instruction->name),
                           .length = ptx->tokens[instruction->name].length};
    while (e.stem < e.length && e.name[e.stem] != '.')
        e.stem++;
    uint32_t at = e.instruction->first, end = at + e.instruction->count, start = at;
    uint32_t depth = 0;
    for (; at <= end && e.count < OPERANDS; at++) {
        if (at < end && (ptx_is_mark(e.ptx, at, '[') || ptx_is_mark(e.ptx, at, '{')))
            depth++;
        if (at < end && (ptx_is_mark(e.ptx, at, ']') || ptx_is_mark(e.ptx, at, '}')))
            depth--;
        if (at == end || (depth == 0 && ptx_is_mark(e.ptx, at, ','))) {
            e.operands[e.count].first = start;
            e.operands[e.count++].count = at - start;
            start = at + 1;
        }
    }
    return e;
}

/* %tid.x is below %ntid.x, %ctaid.x below %nctaid.x, %laneid below 32. */
static bool launch_bound(const struct evaluation *e, uint64_t *last)
{
    static const char *const below[][2] = {{"%tid.", "%ntid."}, {"%ctaid.", "%nctaid."}};
    uint32_t at = e->operands[1].first;
    const char *text = ptx_text(e->ptx, at);
    size_t length = e->ptx->tokens[at].length;
    if (!evaluated_stem_is(e, "mov") || e->count != 2 || e->operands[1].count != 1)
        return false;
    if (ptx_is(e->ptx, at, "%laneid")) {
        *last = 31;
        return true;
    }
    for (size_t i = 0; i < 2; i++) {
        char name[16];
        size_t stem = strlen(below[i][0]), other = strlen(below[i][1]);
        if (length != stem + 1 || memcmp(text, below[i][0], stem) != 0)
            continue;
        memcpy(name, below[i][1], other);
        name[other] = text[stem];
        return value_given(e, name, other + 1, last) && (*last)-- > 0;
    }
    return false;
}

/* Derives an upper bound from the operand that is known, if there is one. */
static bool masked_bound(const struct evaluation *e, struct type type, uint64_t *last)
{
    uint64_t a = 0, b = 0;
    bool left = operand_value(e, 1, &a), right = operand_value(e, 2, &b);
    if (left == right)
        return false;
    uint64_t known = cut_to_type(left ? a : b, type);
    *last = known;
    if (evaluated_stem_is(e, "and"))
        return true;
    if (evaluated_stem_is(e, "min"))
        return !type.is_signed;
    if (evaluated_stem_is(e, "rem"))
        return right && !type.is_signed && (*last)-- > 0;
    if (!evaluated_stem_is(e, "shr") || type.is_signed || !right)
        return false;
    *last = known >= type.bits ? 0 : cut_to_type(~UINT64_C(0), type) >> known;
    return true;
}

bool ptx_evaluate_bound(const gordian_ptx *ptx, const struct ptx_function *function,
                        const struct ptx_instruction *instruction,
                        const gordian_ptx_question *question, ptx_reader read, void *context,
                        uint64_t *last, bool *launch)
{
    struct evaluation e = begin_evaluation(ptx, function, instruction, question, read, context);
    struct type type = nth_type(&e, 0);
    uint64_t length;
    if (type.bits < 8 || e.count < 2)
        return false;
    *launch = launch_bound(&e, last);
    if (*launch)
        return true;
    if (e.count == 3)
        return masked_bound(&e, type, last);
    if (!evaluated_stem_is(&e, "bfe") || type.is_signed || !operand_value(&e, 3, &length))
        return false;
    *last = length >= type.bits ? cut_to_type(~UINT64_C(0), type) : (UINT64_C(1) << length) - 1;
    return true;
}

bool ptx_evaluate(const gordian_ptx *ptx, const struct ptx_function *function,
                  const struct ptx_instruction *instruction, const gordian_ptx_question *question,
                  ptx_reader read, ptx_missing missing, void *context, uint64_t *value)
{
    struct evaluation e = begin_evaluation(ptx, function, instruction, question, read, context);
    e.missing = missing;
    if (e.count < 2 || !evaluate_instruction(&e, value))
        return false;
    struct type type = nth_type(&e, 0);
    if (evaluated_stem_is(&e, "setp"))
        type.bits = 1;
    else if ((evaluated_stem_is(&e, "mul") || evaluated_stem_is(&e, "mad")) && has_part(&e, "wide"))
        type.bits = type.bits < 64 ? type.bits * 2 : 64;
    *value = cut_to_type(*value, type);
    return true;
}
