/* Converts values to data, functions and predicates. */
#include "engines/compose/treo/treo_internal.h"

#include <stdio.h>
#include <string.h>

gordian_status value_symbol(struct treo *treo, uint32_t module, const struct token *token,
                            const struct value *value, uint32_t *symbol)
{
    char text[TREO_NAME_MAX + 60];
    gordian_error why = {0};
    if (!value_as_text(value, text, sizeof text))
        return treo_complain(treo, module, token, "expected a datum");
    gordian_status status = data_symbol(&treo->circuit->data, text, strlen(text), symbol, &why);
    if (status == GORDIAN_STATUS_INPUT)
        return treo_complain(treo, module, token, "%s", why.message);
    return status == GORDIAN_OK ? status : fail_memory(treo->error);
}

/* The context in which a function is built. */
struct making {
    struct treo *treo;
    uint32_t module;
    bool predicate;
    struct mentions *found;
    uint32_t arity; /* number of arguments in the call */
};

/* Adds a symbol of a table or a list. */
static gordian_status found_symbol(const struct making *making, const struct value *value,
                                   uint32_t *symbol)
{
    struct mentions *found = making->found;
    if (value->kind == VALUE_ANY) {
        *symbol = FUNCTION_ANY_DATUM;
        return making->predicate
                   ? treo_complain(making->treo, making->module, found->token,
                                   "the table of a predicate has no *: any and none are built in")
                   : GORDIAN_OK;
    }
    TRY(value_symbol(making->treo, making->module, found->token, value, symbol));
    found->symbols[found->count++] = *symbol;
    return GORDIAN_OK;
}

/* Allocates space for all symbols that a table can mention. */
static bool found_room(const struct making *making, size_t most)
{
    making->found->symbols =
        arena_alloc(&making->treo->arena, (most + 1) * sizeof *making->found->symbols);
    return making->found->symbols != NULL;
}

/* The results in the table of a predicate are not data, so they are not added to the domain. */
static gordian_status truth_symbol(const struct making *making, const struct value *value,
                                   uint32_t *symbol)
{
    char text[TREO_NAME_MAX + 60];
    struct treo *treo = making->treo;
    bool fine = value_as_text(value, text, sizeof text);
    if (!fine || (strcmp(text, "true") != 0 && strcmp(text, "false") != 0))
        return treo_complain(treo, making->module, making->found->token,
                             "the table of a predicate has rows such as [0,true] and [1,false]");
    return data_symbol(&treo->circuit->data, text, strlen(text), symbol, treo->error);
}

/* Reads a row of a table: [a,b], [[a,b],c]; `width` symbols. */
static gordian_status table_row(const struct making *making, const struct value *row, size_t width,
                                uint32_t *symbols)
{
    bool nested = row->count == 2 && row->items[0].kind == VALUE_LIST;
    size_t arguments = nested ? row->items[0].count : row->count - 1;
    if (row->kind != VALUE_LIST || row->count < 2 || arguments + 1 != width)
        return treo_complain(making->treo, making->module, making->found->token,
                             "a table has rows such as [0,1], all of the same length");
    for (size_t i = 0; i < width; i++) {
        const struct value *value = i == arguments ? &row->items[row->count - 1]
                                    : nested       ? &row->items[0].items[i]
                                                   : &row->items[i];
        if (i == arguments && value->kind == VALUE_ANY)
            return treo_complain(making->treo, making->module, making->found->token,
                                 "a function gives a datum, not *");
        TRY(making->predicate && i == arguments ? truth_symbol(making, value, &symbols[i])
                                                : found_symbol(making, value, &symbols[i]));
    }
    return GORDIAN_OK;
}

/* A predicate may also be a table whose results are true and false: keeps the rows that are
 * true. */
static void keep_true_rows(const struct data *data, struct function *function)
{
    uint32_t kept = 0, arity = function->arity;
    for (uint32_t r = 0; r < function->row_count; r++) {
        const uint32_t *row = function->rows + (size_t)r * (arity + 1);
        const char *result = data_text(data, row[arity]);
        if (strcmp(result, "true") == 0)
            memmove(function->rows + (size_t)kept++ * arity, row, arity * sizeof *row);
    }
    function->row_count = kept;
    function->kind = FUNCTION_MEMBER;
}

static gordian_status table_function(const struct making *making, const struct value *table,
                                     uint32_t *number)
{
    struct treo *treo = making->treo;
    const struct value *first = table->count > 0 ? &table->items[0] : NULL;
    size_t width = 2;
    if (first && first->count > 0)
        width = first->count == 2 && first->items[0].kind == VALUE_LIST ? first->items[0].count + 1
                                                                        : first->count;
    if (width < 2 || width > FUNCTION_ARITY + 1)
        return treo_complain(treo, making->module, making->found->token,
                             "a function takes 1 to %u arguments", FUNCTION_ARITY);
    struct function function = {
        .kind = FUNCTION_TABLE, .arity = (uint8_t)(width - 1), .row_count = (uint32_t)table->count};
    function.rows = arena_alloc(&treo->arena, (table->count + 1) * width * sizeof *function.rows);
    if (!function.rows || !found_room(making, table->count * width))
        return fail_memory(treo->error);
    for (size_t r = 0; r < table->count; r++)
        TRY(table_row(making, &table->items[r], width, function.rows + r * width));
    if (making->predicate)
        keep_true_rows(&treo->circuit->data, &function);
    return data_function(&treo->circuit->data, &function, number, treo->error);
}

/* <0,2>: the predicate that holds for these data. */
static gordian_status list_predicate(const struct making *making, const struct value *list,
                                     uint32_t *number)
{
    struct treo *treo = making->treo;
    struct function function = {
        .kind = FUNCTION_MEMBER, .arity = 1, .row_count = (uint32_t)list->count};
    function.rows = arena_alloc(&treo->arena, (list->count + 1) * sizeof *function.rows);
    if (!function.rows || !found_room(making, list->count))
        return fail_memory(treo->error);
    for (size_t i = 0; i < list->count; i++)
        TRY(found_symbol(making, &list->items[i], &function.rows[i]));

    return data_function(&treo->circuit->data, &function, number, treo->error);
}

static gordian_status function_of(const struct making *making, const struct value *value,
                                  uint32_t *function);

static gordian_status named_function(const struct making *making, const char *name,
                                     uint32_t *number)
{
    struct treo *treo = making->treo;
    const struct value *defined = scope_find(treo->defines, name);
    /* A name that is defined as a name must be the name of a built-in function. */
    if (defined && defined->kind != VALUE_TEXT)
        return function_of(making, defined, number);
    name = defined ? defined->text : name;
    gordian_status status =
        data_builtin(&treo->circuit->data, name, strlen(name), number, treo->error);
    if (status == GORDIAN_STATUS_END) {
        /* The message suggests a definition with the right number of arguments: f={[[0,0],0]
         * [[1,1],1]}. */
        bool plain = true, several = making->arity > 1;
        char table[120] = "", row[2][40] = {"0", "1"};
        for (const char *at = name; *at; at++)
            plain &= (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == '_' ||
                     (at > name && ((*at >= '0' && *at <= '9') || (*at == '.' && at[1] > '9')));
        for (uint32_t i = 1; i < making->arity && i < 8; i++) {
            strcat(row[0], ",0");
            strcat(row[1], ",1");
        }
        if (making->predicate)
            snprintf(table, sizeof table, several ? "{[[%s],true] [[%s],false]}" : "<%s,%s>",
                     row[0], row[1]);
        else
            snprintf(table, sizeof table, several ? "{[[%s],0] [[%s],1]}" : "{[%s,1] [%s,0]}",
                     row[0], row[1]);
        return treo_complain(making->treo, making->module, making->found->token,
                             "there is no built-in %s '%.60s': define it with --define "
                             "'%s%.60s%s=%s' (%s)",
                             making->predicate ? "predicate" : "function", name, plain ? "" : "\"",
                             name, plain ? "" : "\"", table,
                             making->predicate
                                 ? several ? "arguments, does it hold" : "where it holds"
                             : several ? "arguments, result"
                                       : "argument, result");
    }
    return status;
}

static gordian_status function_of(const struct making *making, const struct value *value,
                                  uint32_t *function)
{
    if (value->kind == VALUE_TABLE)
        return table_function(making, value, function);
    if (value->kind == VALUE_LIST && making->predicate)
        return list_predicate(making, value, function);
    if (value->kind == VALUE_NUMBER && making->predicate) {
        struct value item = *value;
        const struct value list = {.kind = VALUE_LIST, .items = &item, .count = 1};
        return list_predicate(making, &list, function);
    }
    if (value->kind == VALUE_TEXT)
        return named_function(making, value->text, function);
    return treo_complain(making->treo, making->module, making->found->token,
                         making->predicate
                             ? "expected a predicate: a list of data, a table, or the name "
                               "of a built-in one"
                             : "expected a function: a table such as {[0,1] [1,0]}, or the "
                               "name of a built-in one");
}

gordian_status value_function(struct treo *treo, uint32_t module, const struct value *value,
                              bool predicate, uint32_t arity, uint32_t *function,
                              struct mentions *found)
{
    struct making making = {treo, module, predicate, found, arity};
    return function_of(&making, value, function);
}
