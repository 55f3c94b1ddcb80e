/* The data domain of a circuit: symbols, and functions and predicates on them. */
#include "engines/compose/circuit/data.h"

#include "foundation/base/error.h"
#include "foundation/base/io/output.h"
#include "foundation/base/io/reader.h"
#include "foundation/base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void data_init(struct data *data, const gordian_allocator *memory)
{
    *data = (struct data){.memory = *memory};
    names_init(&data->texts, memory);
}

void data_free(struct data *data)
{
    for (size_t i = 0; i < data->function_count; i++)
        memory_free(&data->memory, data->functions[i].rows);
    memory_free_all(&data->memory, data->functions, data->index, data->domain, data->kept);
    names_free(&data->texts);
}

gordian_status data_symbol(struct data *data, const char *text, size_t length, uint32_t *symbol,
                           gordian_error *error)
{
    uint32_t found = names_find(&data->texts, text, length);
    if (found != GORDIAN_NONE) {
        *symbol = found;
        return GORDIAN_OK;
    }
    if (length == 4 && memcmp(text, "null", 4) == 0)
        return fail(error, GORDIAN_STATUS_INPUT, "'null' is the empty cell, not a datum");
    if (length > GORDIAN_NAME_MAX)
        return fail(error, GORDIAN_STATUS_INPUT, "the datum '%.40s..' has more than %d bytes", text,
                    GORDIAN_NAME_MAX);
    for (size_t i = 0; i < length; i++) /* a quoted text, and a line, cannot contain these */
        if (text[i] == '"' || (unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return fail(error, GORDIAN_STATUS_INPUT,
                        "the datum '%.*s' has a quote or a control character in it",
                        (int)(length > 40 ? 40 : length), text);
    uint32_t fresh = data->symbol_count;
    if (fresh == GORDIAN_NONE - 1 ||
        !memory_grow_zeroed(&data->memory, &data->index, &data->index_room, (size_t)fresh + 1,
                            sizeof *data->index) ||
        !names_put(&data->texts, fresh, text, length))
        return fail_memory(error);
    data->index[fresh] = 0;
    data->symbol_count++;
    *symbol = fresh;
    return GORDIAN_OK;
}

static gordian_status add_to_domain(struct data *data, uint32_t symbol, gordian_error *error)
{
    if (data->index[symbol])
        return GORDIAN_OK;
    if (data->domain_size == DATA_MAX)
        return fail(error, GORDIAN_STATUS_INPUT, "more than %u data values", DATA_MAX);
    if (!memory_extend(&data->memory, data->domain, data->domain_room, data->domain_size))
        return fail_memory(error);
    data->domain[data->domain_size++] = symbol;
    data->index[symbol] = data->domain_size;
    return GORDIAN_OK;
}

gordian_status data_use(struct data *data, uint32_t symbol, gordian_error *error)
{
    if (data->listed && !data->index[symbol])
        return fail(error, GORDIAN_STATUS_INPUT, "'%s' is not among the data values",
                    data_text(data, symbol));
    return add_to_domain(data, symbol, error);
}

gordian_status data_keep(struct data *data, uint32_t symbol, gordian_error *error)
{
    if (!memory_extend(&data->memory, data->kept, data->kept_room, data->kept_count))
        return fail_memory(error);
    data->kept[data->kept_count++] = symbol;
    return GORDIAN_OK;
}

gordian_status data_list(struct data *data, const char *text, gordian_error *error)
{
    while (*text) {
        const char *quoted = *text == '"' ? strchr(text + 1, '"') : NULL;
        size_t length = quoted ? (size_t)(quoted - text) + 1 : strcspn(text, ", \t");
        if (length > 0) {
            uint32_t symbol;
            TRY(quoted ? data_symbol(data, text + 1, length - 2, &symbol, error)
                       : data_symbol(data, text, length, &symbol, error));
            if (data->index[symbol])
                return fail(error, GORDIAN_STATUS_INPUT, "the datum '%s' is listed twice",
                            data_text(data, symbol));
            TRY(add_to_domain(data, symbol, error));
        }
        text += length;
        text += strspn(text, ", \t");
    }
    if (data->domain_size == 0)
        return fail(error, GORDIAN_STATUS_INPUT, "no data values: there must be at least one");
    data->listed = true;
    return GORDIAN_OK;
}

gordian_status data_close(struct data *data, gordian_error *error)
{
    if (data->domain_size == 0) {
        uint32_t zero;
        TRY(data_symbol(data, "0", 1, &zero, error));
        TRY(add_to_domain(data, zero, error));
    }
    data->port_size = data->domain_size;
    for (size_t i = 0; i < data->kept_count; i++)
        TRY(add_to_domain(data, data->kept[i], error));
    return GORDIAN_OK;
}

gordian_status data_function(struct data *data, const struct function *function, uint32_t *number,
                             gordian_error *error)
{
    size_t width = function->arity + (function->kind == FUNCTION_TABLE);
    size_t size = width * function->row_count * sizeof *function->rows;
    uint32_t *rows = NULL;
    for (size_t i = 0; i < data->function_count; i++) {
        const struct function *known = &data->functions[i];
        if (known->kind == function->kind && known->arity == function->arity &&
            known->row_count == function->row_count &&
            (size == 0 || memcmp(known->rows, function->rows, size) == 0)) {
            *number = (uint32_t)i;
            return GORDIAN_OK;
        }
    }
    if (!memory_extend(&data->memory, data->functions, data->function_room, data->function_count))
        return fail_memory(error);
    if (size > 0) {
        rows = memory_alloc(&data->memory, size);
        if (!rows)
            return fail_memory(error);
        memcpy(rows, function->rows, size);
    }
    *number = (uint32_t)data->function_count;
    data->functions[data->function_count] = *function;
    data->functions[data->function_count++].rows = rows;
    return GORDIAN_OK;
}

static const struct {
    const char *name;
    enum function_kind kind;
} builtins[] = {
    {"even", FUNCTION_EVEN},    {"odd", FUNCTION_ODD},      {"any", FUNCTION_ANY},
    {"none", FUNCTION_NONE},    {"id", FUNCTION_ID},        {"identity", FUNCTION_ID},
    {"succ", FUNCTION_SUCC},    {"pred", FUNCTION_PRED},    {"add", FUNCTION_ADD},
    {"sub", FUNCTION_SUBTRACT}, {"mul", FUNCTION_MULTIPLY}, {"div", FUNCTION_DIVIDE},
    {"mod", FUNCTION_MODULO},   {"+", FUNCTION_ADD},        {"-", FUNCTION_SUBTRACT},
    {"*", FUNCTION_MULTIPLY},   {"/", FUNCTION_DIVIDE},     {"%", FUNCTION_MODULO},
};

gordian_status data_builtin(struct data *data, const char *name, size_t length, uint32_t *number,
                            gordian_error *error)
{
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++) {
        if (strlen(builtins[i].name) != length || memcmp(builtins[i].name, name, length) != 0)
            continue;
        struct function function = {.kind = (uint8_t)builtins[i].kind,
                                    .arity = builtins[i].kind >= FUNCTION_ADD ? 2 : 1};
        return data_function(data, &function, number, error);
    }
    return GORDIAN_STATUS_END;
}

const char *data_builtin_name(uint8_t kind)
{
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (builtins[i].kind == kind)
            return builtins[i].name;
    return NULL;
}

const char *data_text(const struct data *data, uint32_t symbol)
{
    return names_text(&data->texts, symbol);
}

const char *data_value_text(const struct data *data, uint32_t value)
{
    return value ? data_text(data, data->domain[value - 1]) : "null";
}

void data_show(const char *text, struct output *out)
{
    if (*text && *text != '\'' && !text[strcspn(text, " ,|=#")]) {
        output_text(out, text);
        return;
    }
    output_char(out, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '|' || *text == '%')
            output_format(out, "%%%02x", (unsigned char)*text);
        else
            output_char(out, *text);
    }
    output_char(out, '\'');
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

size_t data_read_shown(const char *text, size_t length, char *buffer, size_t size)
{
    size_t used = 0;
    bool quoted = length >= 2 && text[0] == '\'' && text[length - 1] == '\'';
    for (size_t i = quoted; i < length - quoted && used < size; i++) {
        int high = quoted && text[i] == '%' && i + 3 < length ? hex_digit(text[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
        buffer[used++] = low >= 0 ? (char)(high * 16 + low) : text[i];
        i += low >= 0 ? 2 : 0;
    }
    return used;
}

bool data_number(const char *text, int64_t *number)
{
    const char *why;
    return parse_i64(text, strlen(text), number, &why);
}

/* Is the number even (0) or odd (1)? A text that is not a number is neither. */
static bool has_parity(const char *text, unsigned parity)
{
    int64_t number;
    return data_number(text, &number) && ((uint64_t)number & 1) == parity;
}

static uint32_t apply_rows(const struct data *data, const struct function *function,
                           const uint32_t *arguments)
{
    bool table = function->kind == FUNCTION_TABLE;
    size_t width = (size_t)function->arity + table;
    for (uint32_t r = 0; r < function->row_count; r++) {
        const uint32_t *row = function->rows + r * width;
        uint32_t i = 0;
        while (i < function->arity &&
               (row[i] == FUNCTION_ANY_DATUM || row[i] == data->domain[arguments[i] - 1]))
            i++;
        if (i == function->arity)
            return table ? data->index[row[i]] : 1;
    }
    return 0;
}

uint32_t data_value_of(const struct data *data, int64_t number)
{
    char text[24];
    size_t length = (size_t)snprintf(text, sizeof text, "%" PRId64, number);
    uint32_t symbol = names_find(&data->texts, text, length);
    uint32_t value = symbol == GORDIAN_NONE ? 0 : data->index[symbol];
    return value <= data->port_size ? value : 0;
}

bool function_compute(const struct function *function, int64_t left, int64_t right, int64_t *result)
{
    switch ((enum function_kind)function->kind) {
    case FUNCTION_ADD:
        return !__builtin_add_overflow(left, right, result);
    case FUNCTION_SUBTRACT:
        return !__builtin_sub_overflow(left, right, result);
    case FUNCTION_MULTIPLY:
        return !__builtin_mul_overflow(left, right, result);
    default:
        if (right == 0 || (left == INT64_MIN && right == -1))
            return false;
        *result = function->kind == FUNCTION_DIVIDE ? left / right : left % right;
        return true;
    }
}

/* Returns 0 if an argument is not a number. */
static uint32_t apply_arithmetic(const struct data *data, const struct function *function,
                                 const uint32_t *arguments)
{
    int64_t numbers[2], result;
    for (int i = 0; i < 2; i++)
        if (!data_number(data_value_text(data, arguments[i]), &numbers[i]))
            return 0;
    return function_compute(function, numbers[0], numbers[1], &result) ? data_value_of(data, result)
                                                                       : 0;
}

uint32_t function_apply(const struct data *data, uint32_t number, const uint32_t *arguments)
{
    const struct function *function = &data->functions[number];
    uint32_t size = data->port_size;
    switch ((enum function_kind)function->kind) {
    case FUNCTION_TABLE:
    case FUNCTION_MEMBER:
        return apply_rows(data, function, arguments);
    case FUNCTION_EVEN:
        return has_parity(data_value_text(data, arguments[0]), 0);
    case FUNCTION_ODD:
        return has_parity(data_value_text(data, arguments[0]), 1);
    case FUNCTION_ANY:
        return 1;
    case FUNCTION_NONE:
        return 0;
    case FUNCTION_ID:
        return arguments[0];
    case FUNCTION_SUCC:
        return arguments[0] == size ? 1 : arguments[0] + 1;
    case FUNCTION_PRED:
        return arguments[0] == 1 ? size : arguments[0] - 1;
    case FUNCTION_ADD:
    case FUNCTION_SUBTRACT:
    case FUNCTION_MULTIPLY:
    case FUNCTION_DIVIDE:
    case FUNCTION_MODULO:
        return apply_arithmetic(data, function, arguments);
    }
    return 0;
}
